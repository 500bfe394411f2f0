/** The status bar, and the banner with warnings that a visitor must know before trusting a timing. */

import { isOutdated, isServed } from "../../worker/files.js";
import { adapterName, isSoftware } from "./adapter.js";
import { inBytes } from "./bytes.js";
import { byId, h } from "./dom.js";
import { watchFigures } from "./figures.js";
import { readLocal, writeLocal } from "./local.js";
import { StatusPanel } from "./status_panel.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Info} Info */
/** @typedef {"busy" | "gpu" | "software" | "cpu" | "lost" | "failed"} State */
/** @typedef {[headline: string, explanation: string]} Warning */

/** @param {Engine} engine */
export function showStatus(engine) {
  document.getElementById("late")?.remove(); // the page has started
  const status = byId("status");
  const text = byId("status-text");
  const news = byId("status-news");
  const withGpu = byId("tagline-device").textContent;
  const amounts = byId("status-figures");
  const panel = new StatusPanel(engine);
  const progress = /** @type {HTMLProgressElement} */ (byId("boot-progress"));

  /** @param {State} state @param {string} words */
  const say = (state, words) => {
    status.dataset.state = state;
    if (text.textContent !== words) text.textContent = news.textContent = words;
    progress.hidden = state !== "busy";
  };

  /** @type {Info | null} */
  let info = null;
  /** Whether the banner offers to continue without the GPU. */
  let offersCpu = false;

  engine.addEventListener("progress", (event) => {
    const { text: words, fraction } = /** @type {CustomEvent} */ (event).detail;
    say("busy", words);
    progress.value = fraction;
    hideBanner();
  });
  engine.addEventListener("ready", (event) => {
    info = /** @type {CustomEvent<Info>} */ (event).detail;
    say(...stateOf(info));
    byId("tagline-device").textContent = taglineOf(info, withGpu);
    warnAbout(info);
  });
  watchFigures(engine, (figures) => {
    const gpu = figures.gpu ? [`GPU ${inBytes(figures.gpu.live_bytes)}`] : [];
    amounts.textContent = [...gpu, `Python ${inBytes(figures.heap)}`].join(" · ");
    panel.show(figures);
    if (!info || engine.broken) return;
    const [state, words] = stateOf(info);
    const isGone = figures.unavailable !== "" && !figures.isOnCpu;
    if (isGone !== offersCpu) {
      offersCpu = isGone;
      if (isGone) offerCpu(engine, figures.unavailable);
      else hideBanner();
    }
    if (figures.isOnCpu) say("cpu", "CPU · NumPy");
    else if (isGone) say("lost", "GPU device lost, and no other available");
    else if (figures.isLost) say("lost", "GPU device lost: old tensors are gone, new ones work");
    else say(state, figures.generation > 1 ? `${words}, restored after a loss` : words);
  });
  engine.addEventListener("missing", (event) => {
    void warnIfOutdated(/** @type {CustomEvent<{ path: string }>} */ (event).detail.path);
  });
  engine.addEventListener("slow", async () => {
    const { interpreter } = engine;
    if ((await isServed()) || engine.isReady || engine.broken || engine.interpreter !== interpreter) return;
    showBanner(
      "failed",
      [["The server of this page does not respond.", "Python continues as soon as it does."]],
      againButton(engine),
    );
  });
  engine.addEventListener("failed", async (event) => {
    const { error } = /** @type {CustomEvent<{ error: string }>} */ (event).detail;
    const { broken } = engine;
    say("failed", "Python did not start");
    amounts.textContent = "";
    const outdated = await isOutdated();
    if (engine.broken !== broken) return; // it was restarted in the meantime
    const again = againButton(engine);
    /** @type {Warning} */
    const failure = ["Python could not be started.", error];
    if (outdated) showBanner("failed", [failure, OUTDATED], reloadButton(), again);
    else showBanner("failed", [failure], again);
  });
}

/**
 * @param {Info} info
 * @param {string} withGpu
 * @returns {string} the beginning of the headline
 */
function taglineOf(info, withGpu) {
  if (info.backend !== "webgpu") {
    return "Tensors in Python, here computed on the CPU with NumPy. Python runs in this page";
  }
  if (!isSoftware(info)) return withGpu;
  const device = `a software adapter (${adapterName(info)})`;
  return `Tensors in Python, computed through WebGPU, here by ${device} on the CPU. Both run in this page`;
}

/** Request a GPU again; without one, the CPU becomes the default device. */
const GO_ON = 'await __import__("py_tensor").init(); None';

/**
 * @param {Engine} engine
 * @param {string} reason
 */
function offerCpu(engine, reason) {
  const goOn = h("button", { type: "button", className: "button", textContent: "Use the CPU device" });
  goOn.addEventListener("click", () => {
    goOn.disabled = true;
    void engine.run(GO_ON).finally(() => {
      goOn.disabled = false;
    });
  });
  /** @type {Warning} */
  const gone = [
    "The GPU device was lost, and the browser offers no other.",
    `${reason}. New tensors can use the “cpu” device; old ones are gone. Restarting the browser may bring the GPU back.`,
  ];
  showBanner("cpu", [gone], goOn, reloadButton());
}

/** @type {Warning} */
const OUTDATED = [
  "A newer version of this page is available.",
  "Parts that are not loaded yet are no longer on the server. Reloading restarts Python.",
];

/**
 * A part of the page could not be loaded: report it if the reason is that the server has a newer build.
 *
 * @param {string} [path] of the file that could not be loaded, within the page's folder
 * @returns {Promise<boolean>} whether that is the reason
 */
export async function warnIfOutdated(path) {
  const outdated = await isOutdated(path);
  if (outdated) showBanner("outdated", [OUTDATED], reloadButton());
  return outdated;
}

/** @param {Engine} engine */
function againButton(engine) {
  const again = h("button", { type: "button", className: "button", textContent: "Try again" });
  again.addEventListener("click", () => engine.restart());
  return again;
}

function reloadButton() {
  const reload = h("button", { type: "button", className: "button", textContent: "Reload" });
  reload.addEventListener("click", () => location.reload());
  return reload;
}

/**
 * @param {Info} info
 * @returns {[State, string]}
 */
function stateOf(info) {
  if (info.backend !== "webgpu") return ["cpu", "CPU · NumPy"];
  if (isSoftware(info)) return ["software", `${adapterName(info)} · software adapter`];
  return ["gpu", `${adapterName(info)} · WebGPU`];
}

/** The `localStorage` key of `hidden`. */
const HIDDEN = "py_tensor.hidden_warnings";

/** Dismissed warnings, which are not shown again until they change, for example because the adapter does. */
let hidden = readLocal(HIDDEN) ?? "";

/** @param {string} said */
function rememberHidden(said) {
  hidden = said;
  writeLocal(HIDDEN, said);
}

/** @param {Info} info */
function warnAbout(info) {
  const warnings = warningsOf(info);
  const said = JSON.stringify(warnings);
  if (said === hidden) return;
  if (hidden) rememberHidden("");
  if (warnings.length === 0) return;
  const hide = h("button", { type: "button", className: "button", textContent: "Hide" });
  hide.addEventListener("click", () => {
    rememberHidden(said);
    hideBanner();
    /** @type {HTMLElement | null} */ (document.querySelector("[role=tab][aria-selected=true]"))?.focus();
  });
  showBanner(info.backend === "webgpu" ? "software" : "cpu", warnings, hide);
}

const TURN_ON = "If this machine has a GPU, turn on graphics acceleration in the browser’s settings.";

/**
 * @param {Info} info
 * @returns {Warning[]} features that this browser or this host lacks, and what to do
 */
function warningsOf(info) {
  /** @type {Warning[]} */
  const warnings = [];
  if (info.backend !== "webgpu") {
    warnings.push(["No WebGPU here: everything runs on the CPU.", withoutWebGPU(info)]);
  } else if (isSoftware(info)) {
    warnings.push([
      "Software adapter, not a GPU.",
      `${adapterName(info)} runs on the CPU. Results are correct but slow. ${TURN_ON}`,
    ]);
  }
  if (info.backend === "webgpu" && !info.jspi) {
    warnings.push([
      "Blocking reads are not supported in this browser (no JSPI).",
      "Results still show up. To read a value inside your code, use await x.to_numpy_async().",
    ]);
  }
  if (!info.crossOriginIsolated) {
    warnings.push(["A Python loop cannot be interrupted here (no cross-origin isolation).", withoutIsolation()]);
  }
  return warnings;
}

/** @param {Info} info */
function withoutWebGPU({ problem }) {
  if (problem) return `The GPU could not be used (${problem}).`;
  const advice = "Tensors are on the “cpu” device, which uses NumPy.";
  if (!window.isSecureContext) return `${advice} Browsers offer WebGPU only to https: and localhost pages.`;
  if (navigator.gpu) return `${advice} ${TURN_ON}`; // it offers no adapter
  return `${advice} Chrome, Edge and Safari 26 support WebGPU on machines with a GPU.`;
}

function withoutIsolation() {
  const way = "Ctrl-C interrupts waiting code. For a running loop, it offers to restart Python.";
  if (window.top !== window) return `${way} Open this page in its own tab for full interrupts.`;
  if (!window.isSecureContext) return `${way} Browsers isolate only https: and localhost pages.`;
  return `${way} To enable it, allow this page to use a service worker, or have its host send COOP and COEP headers.`;
}

/** On small screens, the warning about a software adapter takes one line until it is expanded. */
const NARROW = "(max-width: 40rem)";

/** Of two banners the more urgent one is shown: the page stays outdated until it is reloaded. */
const URGENCY = { software: 0, cpu: 0, outdated: 1, failed: 2 };

/**
 * @param {keyof typeof URGENCY} kind
 * @param {Warning[]} warnings
 * @param {HTMLElement[]} actions
 */
function showBanner(kind, warnings, ...actions) {
  const banner = byId("banner");
  const shown = banner.hidden ? kind : /** @type {keyof typeof URGENCY} */ (banner.dataset.kind);
  if (URGENCY[shown] > URGENCY[kind]) return;
  banner.dataset.kind = kind;
  const isFolded = kind === "software" && matchMedia(NARROW).matches;
  const words = warnings.map(([headline, explanation]) =>
    isFolded
      ? h("details", {}, h("summary", {}, h("strong", {}, headline)), h("p", {}, explanation))
      : h("p", {}, h("strong", {}, headline), ` ${explanation}`),
  );
  const text = h("div", { className: "words" }, ...words);
  banner.replaceChildren(h("div", { className: "banner-text" }, text, ...actions));
  banner.hidden = false;
}

function hideBanner() {
  const banner = byId("banner");
  if (banner.dataset.kind !== "outdated") banner.hidden = true;
}
