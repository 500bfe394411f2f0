/** The sections of "How it works": the text of each, and what it shows about the user's expression. */

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
 * @property {(trace: Trace) => (Element | string)[]} yours what it shows about the user's expression
 */

/** @type {Section[]} */
export const SECTIONS = [
  {
    key: "graph",
    title: "Python only records",
    text: [
      "An operation checks shapes and types at once, so an error points at the right line. Then it records what to compute, as a node that points to its operands, and returns. Nothing is computed yet.",
      "Constants such as the 2 in `x * 2` are nodes too. So are changes of shape. They cost nothing: they are index arithmetic, folded into the kernels that read through them.",
    ],
    yours: (trace) => [
      graphDiagram(trace.nodes, trace.names),
      caption(`The graph of your expression. Recording it took ${microseconds(trace.microseconds.record)}.`),
      ...(trace.device === "cpu" ? [caption(COMPUTED_AT_ONCE)] : []),
    ],
  },
  {
    key: "kernels",
    title: "Nodes become kernels",
    text: [
      "When a value is read, its graph is split into kernels, the programs that the GPU runs. GPUs mostly wait on memory, so each kernel does as much as possible. A chain of elementwise operations reads its inputs once and writes its result once, however long it is. A sum absorbs the operations before and after it.",
      "A kernel ends where threads must wait for all others, or where storing a shared value is cheaper than computing it again.",
    ],
    yours: (trace) => (trace.kernels.length ? trace.kernels.map(kernelCard) : [caption(noKernels(trace))]),
  },
  {
    key: "threads",
    title: "One thread per element",
    text: [
      "A GPU does not loop over elements. It starts thousands of threads, one for each element or for a few. Threads are grouped into workgroups, which share a little fast memory. A thread knows only its index, and computes from it which elements to process.",
      "The source of a kernel is in WGSL, the shader language of WebGPU. Sizes and constants are parameters, so one compiled kernel serves every shape.",
    ],
    yours: (trace) =>
      trace.kernels.length ? trace.kernels.map((kernel) => wgslOf(kernel, trace)) : [caption(noKernels(trace))],
  },
  {
    key: "together",
    title: "Threads that work together",
    text: [
      "Adding a million numbers one by one would leave the GPU idle. Addition can be reordered, so each thread adds its own slice. Then half of the threads add the other half's results to theirs, again and again, as a tree. At the barrier between two levels, all threads of a workgroup wait for each other.",
      "A matrix product shares more: every column needs every number of a row. A workgroup loads a square tile of both matrices once, and all its threads use it. The gallery shows the steps from one thread per element to tiles.",
    ],
    diagram: () => h("div", {}, treeDiagram(), caption("How eight numbers are added (sketch).")),
    yours: (trace) => trace.kernels.filter(({ family }) => family !== "map").map(howItShares),
  },
  {
    key: "stream",
    title: "One list of numbers goes to JavaScript",
    text: [
      "Python runs in WebAssembly and reaches the GPU through JavaScript. Each call between the two costs as much as a small kernel, so one call covers all kernels: a list of integers that encodes programs, workgroups and buffers. The list is built once per graph structure and then reused.",
    ],
    yours: (trace) =>
      trace.stream
        ? [
            streamDiagram(trace.stream.commands),
            caption(
              `${trace.stream.commands.flatMap(({ words }) => words).length} numbers, and ${trace.stream.parameters} ` +
                `bytes of parameters. Planning took ${microseconds(trace.microseconds.plan ?? 0)}; the next time is a lookup.`,
            ),
          ]
        : [caption(noKernels(trace))],
  },
  {
    key: "queue",
    title: "The queue",
    text: [
      "JavaScript records the commands and submits them to the GPU's queue. The GPU runs them in order, and a kernel that reads another's output waits for it. Python does not wait: it goes on recording.",
    ],
    yours: (trace) => {
      const runs = runsOf(trace).length;
      if (!trace.stream || !runs) return [caption(noKernels(trace))];
      const times = runs === 1 ? "1 dispatch" : `${runs} dispatches`;
      const { parts } = trace.stream;
      const submissions = parts === 1 ? "one submission" : `${parts} submissions, because it takes long`;
      return [queueDiagram(runs), caption(`${times}, in ${submissions}. Times are not to scale.`)];
    },
  },
  {
    key: "read",
    title: "Reading back",
    text: [
      "Printing needs values, so this is the one place where Python waits. The result is copied to memory that JavaScript can read, and from there to Python. Intermediate results never leave the GPU.",
    ],
    yours: (trace) => [
      codeBlock(trace.shown, "Your result"),
      caption(`From the first kernel to the printed result: ${microseconds(trace.microseconds.read)}.`),
    ],
  },
];

const COMPUTED_AT_ONCE = "The cpu device computes small operations at once, so their results are stored nodes.";

/** @param {Trace} trace */
function noKernels({ device }) {
  return device === "cpu"
    ? "Computed on the CPU with NumPy, one op at a time, so there are no kernels to show."
    : "Nothing to compute: the result is already stored.";
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
    ["reason", [...new Set(outputs.flatMap(({ reasons }) => reasons))].join("; ")],
    [
      "runs",
      dispatches > 1 ? `${dispatches} dispatches, because one cannot see what another writes while it runs` : "",
    ],
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
 * @returns {import("./learn.js").Command[]} the commands that run a kernel
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
  const whole = h("details", { className: "whole" }, h("summary", {}, "The whole kernel and the functions it calls"));
  whole.addEventListener("toggle", () => {
    if (whole.childElementCount === 1) whole.append(codeBlock(highlightedWgsl(wgsl), `All WGSL of kernel ${number}`));
  });
  return h(
    "div",
    { className: "kernel-code" },
    caption(`Kernel ${number}, ${name}: entry point.${runs}`),
    ...(begun ? [threadsDiagram(begun.groups, begun.threads)] : []),
    codeBlock(highlightedWgsl(wgsl.slice(Math.max(0, at))), `WGSL of kernel ${number}`),
    whole,
  );
}

/**
 * @param {string} name
 * @param {string} wgsl
 * @param {Trace} trace
 * @returns {{ groups: number, threads: number } | null} its dispatch size; null if it runs more than once
 */
function threadsOf(name, wgsl, trace) {
  const runs = runsOf(trace).filter(({ program }) => program === name);
  const size = /const WORKGROUP = (\d+)u;/.exec(wgsl);
  if (runs.length !== 1 || !size) return null;
  return { groups: runs[0].groups.reduce((product, n) => product * n, 1), threads: Number(size[1]) };
}

/** @type {Record<string, string>} */
const SHARES = {
  reduce: "is a reduction: its threads share the rows or columns being reduced",
  rows: "makes several passes over each row; the row is loaded once, and the threads share their results",
  matmul: "is a matrix product: a workgroup's threads share tiles of both operands",
  scan: "is a scan: slices are reduced first, then each one starts from the total before it",
  sort: "sorts: threads exchange elements, in workgroup memory if a row fits",
};

/** @param {Kernel} kernel */
function howItShares({ number, family }) {
  return caption(`Kernel ${number} ${SHARES[family] ?? "divides the work among its threads"}.`);
}

/** @param {number} value */
function microseconds(value) {
  return value < 1000 ? `${value.toFixed(0)} µs` : `${(value / 1000).toFixed(1)} ms`;
}
