/**
 * The setting that lets Python fetch packages from the internet: off until the user turns it on, in this browser.
 *
 * The policy of Python's worker is wider then, by the hosts that stand here; the page's own never is. The service worker
 * sends that policy (sw.js), so the setting needs one.
 */

import { serviceWorkerControls } from "../boot/service_worker.js";
import { allowPackages } from "../start.js";
import { h } from "./dom.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Info} Info */

const OFF =
  "Off: micropip installs only wheels that are hosted on this site or added as files. " +
  "When this is on, Python and every program that you run here can also contact these hosts, and no others:";
const ON = "On: Python and every program that you run here can also contact these hosts, and no others:";

export class PackagesSetting {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.words = h("p", {});
    this.hosts = h("ul", {});
    this.problem = h("p", { className: "problem", role: "alert" });
    this.button = h("button", { type: "button", className: "button", id: "packages-switch" });
    this.button.addEventListener("click", () => void this.change());
    const lost = h("p", {}, "Restarts Python: all variables are lost.");
    const actions = h("div", { className: "status-actions" }, this.button, lost);
    this.element = h(
      "section",
      { className: "packages" },
      h("h2", {}, "Packages from the internet"),
      this.words,
      this.hosts,
      this.problem,
      actions,
    );
    this.isOn = false;
  }

  /** @param {Info} info of the Python that runs */
  draw({ allowsPackages, pyodide }) {
    this.isOn = allowsPackages;
    this.words.textContent = allowsPackages ? ON : OFF;
    this.hosts.replaceChildren(
      h("li", {}, "https://pypi.org and https://files.pythonhosted.org (PyPI)"),
      h("li", {}, `https://cdn.jsdelivr.net/pyodide/v${pyodide}/full/ (Pyodide’s packages)`),
    );
    this.button.textContent = allowsPackages ? "Turn off" : "Turn on";
  }

  async change() {
    this.problem.textContent = "";
    this.button.disabled = true;
    try {
      if (!this.isOn && !(await serviceWorkerControls())) {
        throw new Error("This needs the page’s service worker, which does not run. Reload the page, then try again.");
      }
      allowPackages(!this.isOn);
      this.engine.restart();
    } catch (error) {
      this.problem.textContent = /** @type {Error} */ (error).message;
    } finally {
      this.button.disabled = false;
    }
  }
}
