/**
 * The setting that lets Python download packages from the internet: off until the user turns it on in this browser.
 *
 * When it is on, the content security policy of Python's worker also allows the hosts in package_hosts.js; the policy
 * of the page stays the same. The service worker (sw.js) sends the worker's policy, so the setting needs a service
 * worker.
 *
 * It shows only facts that the page itself knows: the stored setting, and how the worker was started. A program in the
 * worker can forge any message.
 */

import { PACKAGE_HOSTS } from "../../worker/package_hosts.js";
import { serviceWorkerControls } from "../boot/service_worker.js";
import { allowPackages, isAllowed } from "../start.js";
import { h } from "./dom.js";

/** @typedef {import("../engine.js").Engine} Engine */

const OFF =
  "Off: micropip installs only wheels that are hosted on this site or added as files. When this is on, Python and every " +
  "program that you run here can also send data to and receive data from these hosts, and no others:";
const ON =
  "On: Python and every program that you run here can also send data to and receive data from these hosts, and no others:";

export class PackagesSetting {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.isWaiting = false;
    this.words = h("p", {});
    const hosts = PACKAGE_HOSTS.map(([address, what]) => h("li", {}, `${address} (${what})`));
    this.news = h("p", { role: "status" });
    this.problem = h("p", { className: "problem", role: "alert" });
    this.button = h("button", { type: "button", className: "button", id: "packages-switch" });
    this.button.addEventListener("click", () => void this.change());
    this.lost = h("p", {}, "Restarts Python: all variables are lost.");
    this.element = h(
      "section",
      { className: "packages" },
      h("h2", {}, "Packages from the internet"),
      this.words,
      h("ul", {}, ...hosts),
      this.news,
      this.problem,
      h("div", { className: "status-actions" }, this.button, this.lost),
    );
    window.addEventListener("storage", () => this.draw()); // another tab changed it
    this.draw();
  }

  /** Whether Python was started with the wider policy. */
  get isOn() {
    return this.engine.interpreter?.allowsPackages ?? false;
  }

  draw() {
    const isStored = isAllowed();
    const isPending = isStored !== this.isOn;
    this.words.textContent = this.isOn ? ON : OFF;
    this.button.textContent = isStored ? "Turn off" : "Turn on";
    this.button.setAttribute("aria-busy", String(this.isWaiting));
    this.lost.hidden = isPending; // the button then undoes a change that has not taken effect
    this.news.textContent = this.isWaiting ? "Waiting for the service worker…" : isPending ? whenItTakesEffect() : "";
  }

  async change() {
    if (this.isWaiting) return;
    this.problem.textContent = "";
    const isWanted = !isAllowed();
    try {
      if (isWanted && !(await this.isControlled())) {
        throw new Error("This needs the page’s service worker, which is not running. Reload the page, then try again.");
      }
      allowPackages(isWanted);
      if (isWanted !== this.isOn) this.engine.restart();
    } catch (error) {
      this.problem.textContent = /** @type {Error} */ (error).message;
    }
    this.draw();
  }

  async isControlled() {
    this.isWaiting = true;
    this.draw();
    try {
      return await serviceWorkerControls();
    } finally {
      this.isWaiting = false;
    }
  }
}

/** A page that was loaded without the service worker (by Shift-reload) cannot start a worker with the wider policy. */
function whenItTakesEffect() {
  const canRestart = !isAllowed() || navigator.serviceWorker?.controller;
  return `Takes effect when ${canRestart ? "Python restarts" : "the page is reloaded"}.`;
}
