/** The status line, and the banner that says what a visitor must know before trusting a timing. */

import { adapterName, isSoftware } from "./adapter.js";
import { byId, h } from "./dom.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../protocol.js").Info} Info */

/** @param {Engine} engine */
export function showStatus(engine) {
  const status = byId("status");
  const text = byId("status-text");
  const progress = /** @type {HTMLProgressElement} */ (byId("boot-progress"));

  /** @param {"busy" | "gpu" | "software" | "cpu" | "failed"} state @param {string} words */
  const say = (state, words) => {
    status.dataset.state = state;
    text.textContent = words;
    progress.hidden = state !== "busy";
  };

  engine.addEventListener("progress", (event) => {
    const { text: words, fraction } = /** @type {CustomEvent} */ (event).detail;
    say("busy", words);
    progress.value = fraction;
    hideBanner();
  });
  engine.addEventListener("ready", (event) => {
    const info = /** @type {CustomEvent<Info>} */ (event).detail;
    if (info.backend !== "webgpu") say("cpu", "CPU · NumPy");
    else if (isSoftware(info)) say("software", `${adapterName(info)} · software adapter`);
    else say("gpu", `${adapterName(info)} · WebGPU`);
    warnAbout(info);
  });
  engine.addEventListener("failed", (event) => {
    const { error } = /** @type {CustomEvent<{ error: string }>} */ (event).detail;
    say("failed", "Python did not start");
    const again = h("button", { type: "button", className: "button", textContent: "Try again" });
    again.addEventListener("click", () => engine.restart());
    showBanner("failed", "Python could not be started.", error, again);
  });
}

/** @param {Info} info */
function warnAbout(info) {
  if (info.backend !== "webgpu") {
    showBanner("cpu", "No WebGPU here: everything runs on the CPU.", withoutWebGPU(info));
  } else if (isSoftware(info)) {
    showBanner(
      "software",
      "Software adapter: this is not a GPU.",
      `${adapterName(info)} computes on the CPU: right answers, slowly. Timings here say nothing about WebGPU.`,
    );
  } else if (!info.jspi) {
    showBanner(
      "software",
      "This browser cannot wait inside Python (no JSPI).",
      "Results are shown all the same; to read one inside your code, use await x.to_numpy_async().",
    );
  }
}

/** @param {Info} info */
function withoutWebGPU({ problem }) {
  if (problem) return `The GPU could not be used (${problem}).`;
  const advice = "Tensors live on the device “cpu”, computed by NumPy.";
  if (!window.isSecureContext) return `${advice} Browsers offer WebGPU to https: and localhost pages alone.`;
  return `${advice} Chrome, Edge and Safari 26 have WebGPU, on a machine with a GPU.`;
}

/**
 * @param {"software" | "cpu" | "failed"} kind
 * @param {string} headline
 * @param {string} explanation
 * @param {HTMLElement[]} actions
 */
function showBanner(kind, headline, explanation, ...actions) {
  const banner = byId("banner");
  banner.dataset.kind = kind;
  const words = h("p", {}, h("strong", {}, headline), ` ${explanation}`);
  banner.replaceChildren(h("div", { className: "banner-text" }, words, ...actions));
  banner.hidden = false;
}

function hideBanner() {
  byId("banner").hidden = true;
}
