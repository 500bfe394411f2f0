/**
 * Acquires a device, handles its loss, and acquires another.
 *
 * A device and everything that belongs to it form a Session. There is at most one, and none after a loss.
 */

import { messageOf, UNATTRIBUTED } from "./failures.js";
import { explain } from "./scopes.js";
import { Session } from "./session.js";
import { tryDevice } from "./trial.js";

/** @type {readonly GPUFeatureName[]} requested if the adapter has them */
const OPTIONAL_FEATURES = ["timestamp-query", "subgroups", "shader-f16"];

/** The time between two requests for an adapter, in ms: a GPU can take seconds to become available. */
const RETRY = 100;

/** @typedef {ConstructorParameters<typeof Session>[1]} SessionContext */

/**
 * Storage for tuning choices beyond the session, by adapter (JSON that identifies it).
 *
 * @typedef {object} ChoiceStore
 * @property {(adapter: string) => Promise<string | null>} find the stored text; null if there is none
 * @property {(adapter: string, text: string) => Promise<unknown>} keep stores a text; "" deletes it
 */

export class Connection {
  /** @type {Session | null} */
  session = null;
  generation = 0;
  /** Why there is no session. */
  loss = "no device was acquired";
  isFallback = false;
  #info = "";
  /** @type {Promise<string> | null} */
  #acquiring = null;
  #gpu;
  #patience;
  /** The time since which there has been no adapter, in ms: callers share one period of patience. */
  #missingSince = 0;
  #context;
  #failures;
  #choiceStore;
  /** The adapter of the last device, as JSON. */
  #adapter = "";

  /**
   * @param {GPU | undefined} gpu
   * @param {number} patience ms
   * @param {SessionContext} context
   * @param {import("./failures.js").FailureLog} failures
   * @param {ChoiceStore} [choiceStore]
   */
  constructor(gpu, patience, context, failures, choiceStore) {
    this.#gpu = gpu;
    this.#patience = patience;
    this.#context = context;
    this.#failures = failures;
    this.#choiceStore = choiceStore;
  }

  /**
   * @param {string} [trial] WGSL for `tryDevice`; without it, no implementation is trusted
   * @param {number} [counts] the number of counters in the trial
   * @returns {Promise<string>} JSON
   */
  acquire(trial = "", counts = 0) {
    if (this.session) return Promise.resolve(this.#info);
    this.#acquiring ??= this.#connect(trial, counts)
      .catch((error) => JSON.stringify({ ok: false, reason: messageOf(error) }))
      .finally(() => {
        this.#acquiring = null;
      });
    return this.#acquiring;
  }

  /**
   * Stores choices for the next session with the current adapter.
   *
   * @param {string} text "" to delete the stored choices
   * @returns {Promise<string>} the reason if they are not stored, else ""
   */
  async keepChoices(text) {
    if (!this.#choiceStore) return "this host has no storage";
    try {
      await this.#choiceStore.keep(this.#adapter, text);
      return "";
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Destroys the device. */
  lose() {
    const { session } = this;
    if (session === null) return;
    session.device.destroy();
    this.#end(session, "the device was destroyed on request");
  }

  /**
   * @param {string} trial
   * @param {number} counts
   */
  async #connect(trial, counts) {
    if (!this.#gpu) throw new Error("this browser has no WebGPU (navigator.gpu is undefined)");
    const adapter = await this.#requestAdapter(this.#gpu);
    const { vendor, architecture, device: name, description, isFallbackAdapter } = adapter.info;
    const identity = { vendor, architecture, device: name, description, isFallbackAdapter };
    this.#adapter = JSON.stringify(identity);
    const choices = this.#choiceStore?.find(this.#adapter).catch(() => null);
    const device = await adapter.requestDevice({
      label: "py_tensor",
      requiredFeatures: OPTIONAL_FEATURES.filter((name) => adapter.features.has(name)),
      requiredLimits: numbersOf(adapter.limits),
    });
    const wrong = trial ? await tryDevice(device, trial, counts) : [];
    const kept = (await choices) ?? null;
    const session = new Session(device, this.#context);
    this.session = session;
    this.isFallback = isFallbackAdapter;
    this.#info = JSON.stringify({
      ok: true,
      generation: ++this.generation,
      adapter: identity,
      features: [...device.features].sort(),
      limits: numbersOf(device.limits),
      wrong,
      choices: kept,
    });
    device.addEventListener("uncapturederror", (event) => this.#recordUncaptured(session, event));
    device.lost.then(({ message }) => this.#end(session, message || "no reason given"));
    return this.#info;
  }

  /** @param {GPU} gpu */
  async #requestAdapter(gpu) {
    for (;;) {
      const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
      if (adapter) {
        this.#missingSince = 0;
        return adapter;
      }
      this.#missingSince ||= performance.now();
      if (performance.now() - this.#missingSince >= this.#patience) {
        throw new Error(`WebGPU is available but offers no adapter (tried for ${this.#patience / 1000} s)`);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY));
    }
  }

  /**
   * Ends a session once: a late report about an earlier device is ignored.
   *
   * @param {Session} session
   * @param {string} message
   */
  #end(session, message) {
    if (this.session !== session) return;
    this.session = null;
    this.loss = `the GPU device was lost: ${message}`;
    this.#failures.record({ flush: UNATTRIBUTED, kind: "lost", label: "", message: this.loss });
  }

  /**
   * @param {Session} session
   * @param {GPUUncapturedErrorEvent} event
   */
  async #recordUncaptured(session, event) {
    event.preventDefault(); // keep it out of the console: Python reports it
    const { error } = event;
    const kind =
      error instanceof GPUOutOfMemoryError
        ? "out-of-memory"
        : error instanceof GPUValidationError
          ? "validation"
          : "internal";
    this.#failures.record(await explain(error, kind, session.pipelines, UNATTRIBUTED));
  }
}

/**
 * @param {GPUSupportedLimits} limits its properties are inherited, so a spread would not copy them
 * @returns {Record<string, number>}
 */
function numbersOf(limits) {
  /** @type {Record<string, number>} */
  const numbers = {};
  for (const name in limits) {
    const value = limits[/** @type {keyof GPUSupportedLimits} */ (name)];
    if (typeof value === "number") numbers[name] = value;
  }
  return numbers;
}
