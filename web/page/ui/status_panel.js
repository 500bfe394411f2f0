/** The panel that a click on the status opens: device, memory and Python, and a Restart button. */

import { inBytes } from "./bytes.js";
import { byId, h } from "./dom.js";
import { PackagesSetting } from "./packages.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Info} Info */
/** @typedef {import("./figures.js").Figures} Figures */
/** @typedef {{ title: string, rows: Row[] }} Device */
/** @typedef {[label: string, text: string]} Row */

const GAP = 6;
const MARGIN = 8;

export class StatusPanel {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.element = byId("status-panel");
    this.button = byId("status-button");
    /** @type {Info | null} */
    this.info = null;
    /** @type {Figures | null} */
    this.figures = null;
    /** @type {Device | null} as last reported */
    this.device = null;
    /** Whether a pointer presses here: a button that is moved or replaced in the meantime gets no click event. */
    this.isPressed = false;
    const [memory, python, rows] = [h("dl"), h("dl"), h("dl")];
    this.lists = { memory, python, rows };
    this.title = h("h2", { className: "device-title" });
    this.packages = new PackagesSetting(engine);
    // The button comes first: what changes while the panel is open does not move it.
    const ofPython = [h("h2", {}, "Python"), this.actions(), python];
    this.element.append(...ofPython, h("h2", {}, "Memory"), memory, this.packages.element, this.title, rows);
    this.listen();
  }

  listen() {
    this.element.addEventListener("toggle", (event) => {
      const isOpen = /** @type {ToggleEvent} */ (event).newState === "open";
      this.button.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) this.open();
    });
    this.engine.addEventListener("ready", (event) => {
      this.info = /** @type {CustomEvent<Info>} */ (event).detail;
      this.device = null;
      if (this.isOpen) void this.open();
    });
    for (const type of ["progress", "ready", "spare", "change"])
      this.engine.addEventListener(type, () => this.drawIfOpen());
    window.addEventListener("resize", () => this.place());
    this.element.addEventListener("pointerdown", () => {
      this.isPressed = true;
    });
    for (const type of ["pointerup", "pointercancel"])
      window.addEventListener(type, () => {
        this.isPressed = false;
        setTimeout(() => this.drawIfOpen()); // after the click event
      });
  }

  /** @param {Figures} figures */
  show(figures) {
    const before = this.figures;
    const wasOnCpu = before ? before.isOnCpu : this.info?.backend !== "webgpu";
    const isOther = (before && before.generation !== figures.generation) || wasOnCpu !== figures.isOnCpu;
    this.figures = figures;
    if (isOther) this.device = null; // the device shown has been lost, or no longer the default
    if (isOther && this.isOpen) void this.open();
    else this.drawIfOpen();
  }

  get isOpen() {
    return this.element.matches(":popover-open");
  }

  async open() {
    this.draw();
    if (!this.device || this.figures?.isOnCpu) this.device = await this.engine.query("device", {});
    this.drawIfOpen();
  }

  drawIfOpen() {
    if (this.isOpen) this.draw();
  }

  draw() {
    if (this.isPressed) return;
    this.lists.memory.replaceChildren(...elementsOf(this.memory()));
    this.lists.python.replaceChildren(...elementsOf(this.python()));
    this.packages.draw();
    this.title.textContent = this.device?.title ?? "";
    this.lists.rows.replaceChildren(...elementsOf(this.device?.rows ?? []));
    this.place();
  }

  /** @returns {Row[]} */
  memory() {
    if (!this.figures) return [];
    const { gpu, heap } = this.figures;
    /** @type {Row[]} */
    const rows = [["Python", inBytes(heap)]];
    if (!gpu) return rows;
    const parts = [
      `${inBytes(gpu.live_bytes)} in use`,
      `${inBytes(gpu.pooled_bytes)} kept for reuse`,
      `peak ${inBytes(gpu.peak_bytes)}`,
    ];
    return [["GPU", parts.join(", ")], ...rows];
  }

  /** @returns {Row[]} */
  python() {
    if (!this.info) return [];
    const { python, pyodide, version, boot, jspi, crossOriginIsolated } = this.info;
    return [
      ["versions", `py_tensor ${version}, Python ${python}, Pyodide ${pyodide}`],
      ["startup", boot === "snapshot" ? "from a snapshot of an earlier visit" : "fresh"],
      ["blocking reads", jspi ? "supported (JSPI)" : "not supported (no JSPI): use await"],
      [
        "Ctrl-C",
        crossOriginIsolated ? "interrupts loops and waits" : "interrupts waits only (the page is not isolated)",
      ],
      [
        "restart",
        this.engine.spare ? "instant (a standby Python is ready)" : "a few seconds (no standby Python is ready)",
      ],
    ];
  }

  actions() {
    const restart = h("button", { type: "button", className: "button danger", id: "restart-now" }, "Restart Python");
    restart.addEventListener("click", () => {
      this.element.hidePopover();
      this.engine.restart();
    });
    const words = h("p", {}, "You lose all variables but keep the transcript.");
    return h("div", { className: "status-actions" }, restart, words);
  }

  /** Below the button, aligned with its right end if the window is wide enough. */
  place() {
    if (!this.isOpen) return;
    const { bottom, right } = this.button.getBoundingClientRect();
    const width = this.element.offsetWidth;
    const left = Math.min(right - width, document.documentElement.clientWidth - width - MARGIN);
    this.element.style.top = `${bottom + GAP}px`;
    this.element.style.left = `${Math.max(MARGIN, left)}px`;
    this.element.style.maxHeight = `${window.innerHeight - bottom - GAP - MARGIN}px`;
  }
}

/** @param {Row[]} rows */
function elementsOf(rows) {
  return rows.flatMap(([label, text]) => [h("dt", {}, label), h("dd", {}, text)]);
}
