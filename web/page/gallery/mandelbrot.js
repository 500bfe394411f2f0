/** A zoomable Mandelbrot set: the example's own function computes each view. */

import { button, h } from "../ui/dom.js";
import { LivePicture } from "./live_picture.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("./gallery.js").Example} Example */

const SIZE = 480;
const HOME = { x: -0.65, y: 0, width: 2.6 };
const ZOOM = 3;
const SHIFT = 0.25;
/** Below this width, neighbouring pixels are equal in float32. */
const SMALLEST_WIDTH = 2e-4;

export class MandelbrotZoom {
  /**
   * @param {Engine} engine
   * @param {Example} example
   */
  constructor(engine, example) {
    this.view = HOME;
    /** @type {typeof HOME | null} the view being drawn */
    this.drawing = null;
    const label = "The Mandelbrot set. Arrow keys move, plus and minus zoom.";
    this.picture = new LivePicture(engine, example, label, "application");
    const { element } = this.picture;
    element.classList.add("zoomable");
    element.tabIndex = 0;
    element.setAttribute("aria-describedby", "mandelbrot-state");
    element.addEventListener("click", (event) => this.zoomAt(event));
    element.addEventListener("keydown", (event) => this.onKey(event));
    this.state = h("p", { className: "note state", id: "mandelbrot-state" }, "Drawn as soon as Python is ready.");
    this.state.setAttribute("role", "status");
    this.picture.onSlow = (blocker) => {
      const stop = button("Stop it", "stop-it", () => void engine.interrupt(blocker));
      this.state.replaceChildren(...(blocker ? [`Waiting for ${blocker.name} · `, stop] : ["Computing the picture."]));
    };
    const controls = [
      button("Zoom in", "button", () => this.zoom(1 / ZOOM)),
      button("Zoom out", "button", () => this.zoom(ZOOM)),
      button("Start again", "button", () => this.go(HOME)),
    ];
    this.element = h(
      "div",
      { className: "live" },
      element,
      this.picture.savers,
      h("div", { className: "actions" }, ...controls),
      this.state,
    );
  }

  start() {
    this.isShown = true;
    this.draw();
  }

  stop() {
    this.isShown = false;
  }

  /** @param {MouseEvent} event a click, whose position becomes the centre */
  zoomAt(event) {
    const { left, top, width } = this.picture.element.getBoundingClientRect();
    const [across, down] = [(event.clientX - left) / width - 0.5, (event.clientY - top) / width - 0.5];
    const { view } = this;
    const factor = event.shiftKey ? ZOOM : 1 / ZOOM;
    this.go({ x: view.x + across * view.width, y: view.y - down * view.width, width: view.width * factor });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { x, y, width } = this.view;
    const far = SHIFT * width;
    /** @type {Record<string, () => void>} */
    const moves = {
      ArrowLeft: () => this.go({ x: x - far, y, width }),
      ArrowRight: () => this.go({ x: x + far, y, width }),
      ArrowUp: () => this.go({ x, y: y + far, width }),
      ArrowDown: () => this.go({ x, y: y - far, width }),
      "+": () => this.zoom(1 / ZOOM),
      "-": () => this.zoom(ZOOM),
    };
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }

  /** @param {number} factor of the width */
  zoom(factor) {
    this.go({ ...this.view, width: this.view.width * factor });
  }

  /** @param {typeof HOME} view */
  go(view) {
    this.view = { ...view, width: Math.min(HOME.width, Math.max(SMALLEST_WIDTH, view.width)) };
    this.draw();
  }

  /** Draw the view, and once more if it changed in the meantime. */
  async draw() {
    if (this.drawing) return;
    while (this.isShown && this.drawing !== this.view) {
      /** @type {typeof HOME} */
      const view = this.view;
      this.drawing = view;
      const steps = Math.round(96 + 32 * Math.log2(HOME.width / view.width));
      const since = performance.now();
      const problem = await this.picture.draw({ ...view, size: SIZE, steps });
      const took = (performance.now() - since).toFixed(0);
      const { x, y, width } = view;
      const real = x.toFixed(5).replace("-", "−");
      const sign = y < 0 ? "−" : "+";
      this.state.textContent =
        problem ??
        `About ${real} ${sign} ${Math.abs(y).toFixed(5)} i, ${width.toPrecision(2)} wide, ${steps} steps: ${took} ms`;
      if (problem) break;
    }
    this.drawing = null;
  }
}
