/** Image filters on a dropped or chosen picture, or on the camera. Nothing leaves the page. */

import { isSoftware } from "../ui/adapter.js";
import { h } from "../ui/dom.js";
import { LivePicture } from "./live_picture.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("./gallery.js").Example} Example */

/** Longer side of a picture, in pixels. */
const STILL = 480;
const MOVING = { hardware: 480, software: 240 };
/** Interval between updates of the timing of a moving picture. */
const TOLD_EVERY_MS = 500;
const INVITATION = "Drop or paste a picture here. It stays on this machine.";
const NO_CAMERA = "This browser does not offer a camera to this page.";
/** Messages by name of the error. @type {Record<string, string>} */
const REFUSALS = {
  NotAllowedError: "Camera access was denied. You can allow it in the browser's settings for this page.",
  NotFoundError: "No camera found.",
  NotReadableError: "Another program is using the camera.",
};
const FILTERS = { none: "Original", blur: "Blur", sharpen: "Sharpen", emboss: "Emboss", edges: "Edges" };

export class Filters {
  /**
   * @param {Engine} engine
   * @param {Example} example
   */
  constructor(engine, example) {
    this.engine = engine;
    this.picture = new LivePicture(engine, example, "The filtered picture");
    this.filter = "edges";
    this.asked = 0; // incremented when the camera starts or stops
    /** Canvas from which the pixels are read for Python. */
    this.source = new OffscreenCanvas(1, 1);
    this.source.getContext("2d", { willReadFrequently: true });
    this.figures = h("p", { className: "note state figures" });
    this.toldAt = 0;
    /** The error of the last drawing. @type {string | null} */
    this.problem = null;
    this.state = h("p", { className: "note state", role: "status" }, INVITATION);
    this.video = h("video", { muted: true, playsInline: true });
    this.file = h("input", { type: "file", accept: "image/*", className: "visually-hidden", id: "picture-file" });
    this.file.addEventListener("change", () => this.file.files?.[0] && this.open(this.file.files[0]));
    const choose = h("label", { className: "button", htmlFor: "picture-file" }, "Choose a picture");
    this.cameraButton = h("button", { type: "button", className: "button", textContent: "Use the camera" });
    this.cameraButton.addEventListener("click", () => (this.stream ? this.stopCamera() : this.startCamera()));
    const actions = h("div", { className: "actions" }, this.choices(), this.file, choose, this.cameraButton);
    const { element, savers } = this.picture;
    this.element = h("div", { className: "live drop" }, element, savers, actions, this.figures, this.state);
    this.onPaste = (/** @type {ClipboardEvent} */ event) => {
      const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
      if (file) this.open(file);
    };
    this.listen();
  }

  choices() {
    const select = h("select", { className: "button" });
    select.setAttribute("aria-label", "Filter");
    for (const [value, words] of Object.entries(FILTERS)) {
      select.append(h("option", { value, textContent: words, selected: value === this.filter }));
    }
    select.addEventListener("change", () => {
      this.filter = select.value;
      this.draw();
    });
    return select;
  }

  listen() {
    this.element.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.element.classList.add("over");
    });
    this.element.addEventListener("dragleave", () => this.element.classList.remove("over"));
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.element.classList.remove("over");
      const file = event.dataTransfer?.files[0];
      if (file) this.open(file);
    });
  }

  start() {
    document.addEventListener("paste", this.onPaste);
    this.take(testCard(), STILL);
    this.draw();
  }

  stop() {
    document.removeEventListener("paste", this.onPaste);
    this.stopCamera();
  }

  /** @param {Blob} file */
  async open(file) {
    const asked = this.stopCamera();
    /** @type {ImageBitmap} */
    let picture;
    try {
      picture = await createImageBitmap(file);
    } catch {
      if (asked === this.asked) this.state.textContent = "The browser cannot read this file as a picture.";
      return;
    }
    if (asked === this.asked) this.take(picture, STILL);
    picture.close();
    if (asked !== this.asked) return; // another picture, or the camera, was asked for since
    this.state.textContent = "";
    await this.draw();
  }

  async startCamera() {
    const asked = this.stopCamera();
    /** @type {MediaStream} */
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, facingMode: "user" } });
    } catch (error) {
      if (asked === this.asked) this.state.textContent = REFUSALS[/** @type {Error} */ (error).name] ?? NO_CAMERA;
      return;
    }
    if (asked !== this.asked) {
      end(stream); // the page was left, or the camera requested again, before permission
      return;
    }
    this.stream = stream;
    this.cameraButton.textContent = "Stop the camera";
    this.state.textContent = "Camera images stay on this machine.";
    stream.getVideoTracks()[0].addEventListener("ended", () => this.loseCamera(stream));
    this.video.srcObject = stream;
    await this.video.play().catch(() => {}); // stopped in the meantime
    await this.show(stream);
  }

  /** @param {MediaStream} stream its frames are filtered until it is stopped, or a filter fails */
  async show(stream) {
    const info = await this.engine.ready.catch(() => null); // the drawing shows the reason
    const longest = info && !isSoftware(info) ? MOVING.hardware : MOVING.software;
    try {
      while (this.stream === stream) {
        await nextFrame(this.video);
        if (this.stream !== stream) break;
        this.take(this.video, longest);
        if (!(await this.draw())) break;
      }
    } finally {
      if (this.stream === stream) this.stopCamera();
    }
  }

  /** @param {MediaStream} stream ended by the browser or the user */
  loseCamera(stream) {
    if (this.stream !== stream) return;
    this.stopCamera();
    this.state.textContent = "The camera has stopped.";
  }

  /** @returns {number} identifies requests from now on, to tell them from earlier ones */
  stopCamera() {
    if (this.stream) end(this.stream);
    this.stream = undefined;
    this.video.srcObject = null;
    this.cameraButton.textContent = "Use the camera";
    this.asked += 1;
    return this.asked;
  }

  /**
   * Keep a picture to filter, scaled down to the needed size.
   *
   * @param {ImageBitmap | HTMLVideoElement | OffscreenCanvas} picture
   * @param {number} longest side, in pixels
   */
  take(picture, longest) {
    const [width, height] =
      picture instanceof HTMLVideoElement ? [picture.videoWidth, picture.videoHeight] : [picture.width, picture.height];
    const scale = Math.min(1, longest / Math.max(width, height));
    this.source.width = Math.max(1, Math.round(width * scale));
    this.source.height = Math.max(1, Math.round(height * scale));
    this.source.getContext("2d")?.drawImage(picture, 0, 0, this.source.width, this.source.height);
  }

  /** @returns {Promise<boolean>} whether it succeeded; also draws what was requested in the meantime */
  async draw() {
    this.wanted = true;
    if (this.isDrawing) return true;
    this.isDrawing = true;
    try {
      /** @type {string | null} */
      let problem = null;
      while (this.wanted && problem === null) {
        this.wanted = false;
        problem = await this.drawOnce();
      }
      return problem === null;
    } finally {
      this.isDrawing = false;
    }
  }

  /** @returns {Promise<string | null>} why there is no picture */
  async drawOnce() {
    const { width, height } = this.source;
    const pixels = this.source.getContext("2d")?.getImageData(0, 0, width, height);
    if (!pixels) return null;
    const since = performance.now();
    const frame = new Uint32Array(pixels.data.buffer);
    const problem = await this.picture.draw({ filter: this.filter, height, width }, frame);
    const now = performance.now();
    if (problem !== null || this.problem) this.state.textContent = problem ?? "";
    this.problem = problem;
    if (problem === null && (!this.stream || now - this.toldAt > TOLD_EVERY_MS)) {
      this.figures.textContent = `${width} × ${height} pixels in ${(now - since).toFixed(0)} ms`;
      this.toldAt = now;
    }
    return problem;
  }
}

/** @param {MediaStream} stream */
function end(stream) {
  for (const track of stream.getTracks()) track.stop();
}

/**
 * @param {HTMLVideoElement} video
 * @returns {Promise<unknown>} resolves when the next picture is available; not while the page is hidden
 */
function nextFrame(video) {
  return new Promise((resolve) => {
    if ("requestVideoFrameCallback" in video) video.requestVideoFrameCallback(resolve);
    else requestAnimationFrame(resolve);
  });
}

/** The picture that is filtered until the user provides one. */
function testCard() {
  const card = new OffscreenCanvas(STILL, 300);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (card.getContext("2d"));
  const sky = context.createLinearGradient(0, 0, 0, 300);
  sky.addColorStop(0, "#264d7a");
  sky.addColorStop(0.7, "#e8b07a");
  context.fillStyle = sky;
  context.fillRect(0, 0, STILL, 300);
  context.fillStyle = "#fff1c9";
  context.beginPath();
  context.arc(340, 120, 44, 0, 2 * Math.PI);
  context.fill();
  for (const [i, colour] of ["#45607a", "#2f455c", "#1b2a3a"].entries()) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(0, 300);
    for (let x = 0; x <= STILL; x += 8) {
      context.lineTo(x, 190 + 34 * i + 30 * Math.sin(x / (60 - 12 * i) + 2 * i) + 9 * Math.sin(x / 13 + i));
    }
    context.lineTo(STILL, 300);
    context.fill();
  }
  return card;
}
