/**
 * The JSON format of a benchmark run, as JSON Schema (2020-12; `validate.js` supports the keywords used here).
 * docs/benchmarks.md describes it. The command line (`tests/perf/bench/report.py`) writes the same format.
 */

/** Incremented when a change of the format affects readers. */
export const SCHEMA = 1;

const seconds = { type: "number", minimum: 0 };
const maybeSeconds = { type: ["number", "null"], minimum: 0 };
const count = { type: "number", minimum: 0 };
const maybeCount = { type: ["number", "null"], minimum: 0 };
const text = { type: "string", maxLength: 2000 };
const maybeText = { type: ["string", "null"], maxLength: 2000 };
const samples = { type: "array", items: { type: "number", exclusiveMinimum: 0 }, maxItems: 1000 };

const probe = {
  type: "object",
  description: "The result of a probe kernel on this device.",
  required: ["seconds"],
  properties: {
    unit: { enum: ["GB/s", "GFLOP/s"] },
    work: { ...count, description: "Bytes or flops of one dispatch." },
    dispatches: { ...count, description: "In a sample." },
    seconds: { ...samples, description: "For one dispatch, or one read, in each sample." },
  },
};

const outcome = {
  type: "object",
  description: "The result of one contender for a case. Times are seconds per op.",
  required: ["status"],
  properties: {
    status: {
      enum: ["measured", "missing", "skipped", "wrong", "failed"],
      description:
        "missing: the case is not supported; skipped: no time left; wrong: a wrong result; failed: an exception.",
    },
    reason: { ...maybeText, description: "The reason if the status is not measured." },
    first: { ...seconds, description: "The first call, including compilation and planning." },
    compile: { ...maybeSeconds, description: "Compile time within the first call; null: unknown." },
    samples: { ...samples, description: "One for each round." },
    calls: { ...count, description: "Calls in each sample." },
    warm_ups: { ...count, description: "Samples before the first round." },
    settled: { type: "boolean", description: "Whether the last two warm-ups agreed within 10 %." },
    error: { type: ["number", "null"], minimum: 0, description: "The largest error relative to float64." },
    gpu: { ...maybeSeconds, description: "Kernel time by GPU timestamps; null: unknown." },
    dispatches: { ...maybeCount, description: "Per call; null: unknown." },
    submits: { ...maybeCount, description: "Per call; null: unknown." },
  },
};

const result = {
  type: "object",
  description: "One case in one size.",
  required: ["suite", "case", "size", "flops", "bytes", "unit", "ops", "contenders"],
  properties: {
    suite: text,
    case: text,
    size: text,
    extent: { ...count, description: "The position of this size on an axis." },
    flops: { ...count, description: "Of one call." },
    bytes: { ...count, description: "The minimum that one call must move; 0 if not meaningful." },
    unit: { enum: ["GB/s", "GFLOP/s"], description: "The unit of the rate." },
    ops: { ...count, description: "Independent ops in one call." },
    contenders: { type: "object", additionalProperties: outcome, maxProperties: 20 },
  },
};

export const RUN = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "A run of py_tensor's benchmarks",
  type: "object",
  required: ["schema", "date", "adapter", "software", "versions", "results"],
  properties: {
    schema: { enum: [SCHEMA] },
    name: { ...text, description: "A name chosen by the user." },
    date: { ...text, description: "ISO 8601." },
    browser: text,
    adapter: {
      type: ["object", "null"],
      description: "WebGPU's adapter info; null: none.",
      properties: { vendor: text, architecture: text, device: text, description: text },
    },
    software: { type: "boolean", description: "Whether the adapter is a software adapter." },
    versions: { type: "object", additionalProperties: text, description: "Of every contender, by name." },
    environment: {
      type: "object",
      description: "The environment of the run.",
      properties: {
        features: { type: "array", items: text, maxItems: 200 },
        limits: { type: "object", additionalProperties: { type: "number" } },
        pyodide: text,
        python: text,
        jspi: { type: "boolean", description: "Whether Python can block." },
        crossOriginIsolated: { type: "boolean", description: "The clock resolution is 5 µs, else 100 µs." },
        userAgent: text,
        cores: count,
      },
    },
    choice: {
      type: "object",
      description: "The selected cases.",
      properties: { contenders: { type: "array", items: text, maxItems: 20 } },
    },
    probes: {
      type: "object",
      description:
        "The device's own limits: `copy` in bytes, `multiplyAdd` in flops, and how soon JavaScript has a number that " +
        "one small kernel computes, or 100 of them.",
      properties: {
        copy: probe,
        multiplyAdd: probe,
        readOfOne: probe,
        readOfHundred: probe,
        problem: { ...text, description: "The reason if one is missing." },
      },
    },
    results: { type: "array", items: result, maxItems: 2000 },
  },
};
