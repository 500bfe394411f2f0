/**
 * The form of a run of the benchmarks as JSON, in JSON Schema (2020-12; `validate.js` knows the keywords used here).
 * docs/benchmarks.md tells the same in words. What the command line writes (`tests/perf/bench/report.py`) has it too.
 */

/** Grows when a reader has to know. */
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
  description: "What one kernel made for it reaches on this device.",
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
  description: "What one contender did with a case. Times are seconds for one op.",
  required: ["status"],
  properties: {
    status: {
      enum: ["measured", "missing", "skipped", "wrong", "failed"],
      description:
        "missing: it has nothing for this case; skipped: no time was left; wrong: its answer; failed: an exception.",
    },
    reason: { ...maybeText, description: "Of a status that is not measured." },
    first: { ...seconds, description: "The very first call, with all that it compiles and plans." },
    compile: { ...maybeSeconds, description: "The part of it until kernels were compiled; null: not known." },
    samples: { ...samples, description: "One for each round." },
    calls: { ...count, description: "Calls in each sample." },
    warm_ups: { ...count, description: "Samples before the first round." },
    settled: { type: "boolean", description: "Whether the last two of those agreed within 10 %." },
    error: { type: ["number", "null"], minimum: 0, description: "The largest relative error against float64." },
    gpu: { ...maybeSeconds, description: "The kernels alone by the GPU's own clock; null: not known." },
    dispatches: { ...maybeCount, description: "Of one call; null: not known." },
    submits: { ...maybeCount, description: "Of one call; null: not known." },
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
    extent: { ...count, description: "The place of this size on an axis." },
    flops: { ...count, description: "Of one call." },
    bytes: { ...count, description: "That one call must move at least; 0 where that says nothing." },
    unit: { enum: ["GB/s", "GFLOP/s"], description: "Of the rate that says something about this case." },
    ops: { ...count, description: "Independent ops that one call stands for." },
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
    name: { ...text, description: "What its owner calls it." },
    date: { ...text, description: "ISO 8601." },
    browser: text,
    adapter: {
      type: ["object", "null"],
      description: "What WebGPU says of it; null: there is none.",
      properties: { vendor: text, architecture: text, device: text, description: text },
    },
    software: { type: "boolean", description: "Whether the adapter is the CPU in disguise." },
    versions: { type: "object", additionalProperties: text, description: "Of every contender, by name." },
    environment: {
      type: "object",
      description: "What else the page knows of where it ran.",
      properties: {
        features: { type: "array", items: text, maxItems: 200 },
        limits: { type: "object", additionalProperties: { type: "number" } },
        pyodide: text,
        python: text,
        jspi: { type: "boolean", description: "Whether Python can wait." },
        crossOriginIsolated: { type: "boolean", description: "Whether the clock steps by 5 µs, else 100 µs." },
        userAgent: text,
        cores: count,
      },
    },
    choice: {
      type: "object",
      description: "What was chosen to run.",
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
        problem: { ...text, description: "Why one of them is not there." },
      },
    },
    results: { type: "array", items: result, maxItems: 2000 },
  },
};
