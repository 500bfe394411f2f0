/** The sections of "How it works": what each says, and what it shows of the reader's expression. */

import { h } from "../ui/dom.js";
import { codeBlock, highlightedWgsl } from "../ui/highlight.js";
import { counted as count, queueDiagram, streamDiagram, threadsDiagram, treeDiagram } from "./diagrams.js";
import { graphDiagram } from "./graph.js";

/** @typedef {import("./learn.js").Trace} Trace */
/** @typedef {import("./learn.js").Kernel} Kernel */

/**
 * @typedef {object} Section
 * @property {string} key of its address
 * @property {string} title
 * @property {string[]} text paragraphs
 * @property {() => Element} [diagram] that is the same for every expression
 * @property {(trace: Trace) => (Element | string)[]} yours what it shows of the reader's expression
 */

/** @type {Section[]} */
export const SECTIONS = [
  {
    key: "graph",
    title: "Python only takes notes",
    text: [
      "An operation checks shapes and types at once, so that a mistake is reported on its own line. Then it notes what is to be done, as a node that points to its operands, and returns. No number is computed yet.",
      "Numbers like the 2 in `x * 2` are nodes too. So are changes of shape, which cost nothing: they are arithmetic on indices, and later disappear into the kernels that read through them.",
    ],
    yours: (trace) => [
      graphDiagram(trace.nodes, trace.names),
      caption(`The graph of your expression. It took ${microseconds(trace.microseconds.record)} to write down.`),
    ],
  },
  {
    key: "kernels",
    title: "Nodes become kernels",
    text: [
      "When something is read, its graph is cut into kernels: programs that the GPU runs from end to end. Memory is what a GPU waits for, so that as much as possible goes into one kernel. A chain of elementwise operations reads its inputs once and writes its result once, however long it is; a sum takes in what comes before it and what follows.",
      "A kernel ends where other threads must have finished first, and where a value that several need is cheaper to keep than to compute again.",
    ],
    yours: (trace) => (trace.kernels.length ? trace.kernels.map(kernelCard) : [caption(noKernels(trace))]),
  },
  {
    key: "threads",
    title: "A thread for each element",
    text: [
      "A GPU does not loop over elements: it starts a thread for each of them, or for a few, by the thousand. Threads come in workgroups, which share a little fast memory. Each thread knows its number and nothing else; from the number follows which elements are its own.",
      "This is the text of the kernel, in WebGPU's language. Sizes and constants are parameters, so that the same compiled kernel serves every shape.",
    ],
    yours: (trace) => trace.kernels.map((kernel) => wgslOf(kernel, trace)),
  },
  {
    key: "together",
    title: "Threads that work together",
    text: [
      "Adding up a million numbers one after the other would leave the GPU idle. Addition may be done in any order, so that each thread adds a slice of its own, and then half of the threads add the other half's results to theirs, again and again: a tree. Between two levels stands a barrier, where all threads of a workgroup wait for each other.",
      "A matrix product goes further. Each number of a row is needed for every column: a workgroup loads a square tile of both matrices once, and all its threads use it. The gallery has that walk from one thread per element to tiles.",
    ],
    diagram: () => h("div", {}, treeDiagram(), caption("How eight numbers are added up: a sketch.")),
    yours: (trace) => trace.kernels.filter(({ family }) => family !== "map").map(howItShares),
  },
  {
    key: "stream",
    title: "One list of numbers goes to JavaScript",
    text: [
      "Python runs in WebAssembly and the GPU is reached through JavaScript. Each call between the two costs as much as a small kernel, so there is one for all kernels together: a list of whole numbers that stand for programs, workgroups and buffers. It is made once for a graph of this form, and found again when the form comes back.",
    ],
    yours: (trace) =>
      trace.stream
        ? [
            streamDiagram(trace.stream.commands),
            caption(
              `${trace.stream.commands.flatMap(({ words }) => words).length} numbers, and ${trace.stream.parameters} ` +
                `bytes of parameters. Planning took ${microseconds(trace.microseconds.plan ?? 0)}; next time it is a look-up.`,
            ),
          ]
        : [caption(noKernels(trace))],
  },
  {
    key: "queue",
    title: "The queue",
    text: [
      "JavaScript records the commands and submits them to the GPU's queue. The GPU takes one after the other, and a kernel that reads what another writes waits for it. Python does not wait: it notes further operations meanwhile.",
    ],
    yours: (trace) => {
      const runs = runsOf(trace).length;
      if (!trace.stream || !runs) return [caption(noKernels(trace))];
      const times = runs === 1 ? "One run of a kernel" : `${runs} runs of kernels`;
      const { parts } = trace.stream;
      const submissions = parts === 1 ? "one submission" : `${parts} submissions, as it takes long`;
      return [queueDiagram(runs), caption(`${times}, in ${submissions}. The times are a sketch.`)];
    },
  },
  {
    key: "read",
    title: "Reading back",
    text: [
      "Printing needs numbers, so Python waits here, and here alone. The result is copied into memory that JavaScript may look at, and from there into Python's. Everything in between never left the GPU.",
    ],
    yours: (trace) => [
      codeBlock(trace.shown, "Your result"),
      caption(`From the first kernel to the last digit: ${microseconds(trace.microseconds.read)}.`),
    ],
  },
];

/** @param {Trace} trace */
function noKernels({ device }) {
  return device === "cpu"
    ? "The CPU computes this by NumPy, op by op: there is no kernel to show. With WebGPU there would be."
    : "There is nothing to compute: all of it is stored already.";
}

/** @param {string} words */
function caption(words) {
  return h("p", { className: "caption" }, words);
}

/** @param {Kernel} kernel */
function kernelCard({ number, name, family, variants, ops, inputs, outputs, dispatches, traffic, operations }) {
  const rows = [
    ["fuses", counted(ops)],
    ["kind", `${family}: ${variants.join("; ")}`],
    ["reads", inputs.map((value) => `${value.name} ${shapeOf(value)}${origin(value)}`).join(", ") || "nothing"],
    ["writes", outputs.map((value) => `${value.name} ${shapeOf(value)}`).join(", ")],
    ["because", [...new Set(outputs.flatMap(({ reasons }) => reasons))].join("; ")],
    ["runs", dispatches > 1 ? `${dispatches} times, as one run cannot see all that another one writes` : ""],
    ["moves", `${traffic.toLocaleString("en")} bytes for ${operations.toLocaleString("en")} operations`],
  ];
  return h(
    "div",
    { className: "kernel" },
    h("p", { className: "kernel-name" }, h("span", { className: "number" }, String(number)), h("code", {}, name)),
    h(
      "dl",
      { className: "facts" },
      ...rows.filter(([, text]) => text).flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]),
    ),
  );
}

/** @param {{ kernel: number | null }} value */
function origin({ kernel }) {
  return kernel === null ? "" : ` of kernel ${kernel}`;
}

/** @param {{ dtype: string, shape: number[] }} value */
function shapeOf({ dtype, shape }) {
  return `${dtype}[${shape.join(", ")}]`;
}

/** @param {string[]} ops */
function counted(ops) {
  const counts = new Map();
  for (const op of ops) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts].map(([op, n]) => (n > 1 ? `${op} ×${n}` : op)).join(", ") || "nothing: it copies";
}

/**
 * @param {Trace} trace
 * @returns {import("./learn.js").Command[]} those that run a kernel
 */
function runsOf({ stream }) {
  return (stream?.commands ?? []).filter(({ program }) => program);
}

/**
 * @param {Kernel} kernel
 * @param {Trace} trace
 */
function wgslOf({ number, name, wgsl }, trace) {
  const at = wgsl.lastIndexOf("@compute");
  const begun = threadsOf(name, wgsl, trace);
  const runs = begun ? ` It runs in ${count(begun.groups, "workgroup")} of ${count(begun.threads, "thread")}.` : "";
  const whole = h("details", { className: "whole" }, h("summary", {}, "The whole kernel, with what it calls"));
  whole.addEventListener("toggle", () => {
    if (whole.childElementCount === 1) whole.append(codeBlock(highlightedWgsl(wgsl), `All WGSL of kernel ${number}`));
  });
  return h(
    "div",
    { className: "kernel-code" },
    caption(`Kernel ${number}, ${name}: where each thread begins.${runs}`),
    ...(begun ? [threadsDiagram(begun.groups, begun.threads)] : []),
    codeBlock(highlightedWgsl(wgsl.slice(Math.max(0, at))), `WGSL of kernel ${number}`),
    whole,
  );
}

/**
 * @param {string} name
 * @param {string} wgsl
 * @param {Trace} trace
 * @returns {{ groups: number, threads: number } | null} what it is given; null where it runs more than once
 */
function threadsOf(name, wgsl, trace) {
  const runs = runsOf(trace).filter(({ program }) => program === name);
  const size = /const WORKGROUP = (\d+)u;/.exec(wgsl);
  if (runs.length !== 1 || !size) return null;
  return { groups: runs[0].groups.reduce((product, n) => product * n, 1), threads: Number(size[1]) };
}

/** @type {Record<string, string>} */
const SHARES = {
  reduce: "folds many elements into one: its threads share the rows or columns that are summed",
  rows: "passes over each row more than once: the row comes from memory once, and its threads share what they found",
  matmul: "is a matrix product: a workgroup's threads share tiles of both operands",
  scan: "leaves a running value at every place: slices are folded first, then each begins where the one before ended",
  sort: "sorts: threads exchange places, in workgroup memory where a row fits",
};

/** @param {Kernel} kernel */
function howItShares({ number, family }) {
  return caption(`Kernel ${number} ${SHARES[family] ?? "shares work between its threads"}.`);
}

/** @param {number} value */
function microseconds(value) {
  return value < 1000 ? `${value.toFixed(0)} µs` : `${(value / 1000).toFixed(1)} ms`;
}
