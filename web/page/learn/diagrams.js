/** The drawings of "How it works", as SVG. Colours come from classes, so that they follow the scheme. */

import { h, svg } from "../ui/dom.js";
import { figure, scroller } from "./figure.js";

/** In the drawing of the queue: the number of runs that fit, and the width for them. */
const MAX_RUNS = 3;
const GPU_TIME = 162;

/** Number of workgroups, and of threads of each, that are drawn. */
const MAX_THREADS = 8;

/** @typedef {import("./learn.js").Command} Command */

/**
 * The first and the last workgroup, and the index with which each thread starts. If there are many threads, only the
 * first and last ones are drawn.
 *
 * @param {number} groups
 * @param {number} threads of each
 */
export function threadsDiagram(groups, threads) {
  const [size, pitch] = [22, 28];
  const numbers = threads > MAX_THREADS ? [0, 1, 2, 3, 4, null, threads - 1] : [...Array(threads).keys()];
  const width = Math.max(numbers.length * pitch, 96) + 2;
  const parts = [];
  let x = 1;
  for (const group of groups > 1 ? [0, groups - 1] : [0]) {
    if (group > 1) {
      parts.push(svg("text", { class: "count", x: x + 10, y: 84 }, "…"));
      x += 34;
    }
    parts.push(svg("rect", { class: "group", x, y: 58, width, height: 44, rx: 7 }));
    parts.push(svg("text", { class: "shape", x: x + width / 2, y: 120 }, `workgroup ${group.toLocaleString("en")}`));
    for (const [i, number] of numbers.entries()) {
      const left = x + 4 + i * pitch + (width - 2 - numbers.length * pitch) / 2;
      const middle = left + size / 2;
      if (number === null) {
        parts.push(svg("text", { class: "count", x: middle, y: 84 }, "…"));
        continue;
      }
      parts.push(svg("rect", { class: "cell", x: left, y: 4, width: size, height: size, rx: 4 }));
      parts.push(svg("path", { class: "edge", d: `M${middle} 66 V30` }));
      parts.push(svg("circle", { class: "thread", cx: middle, cy: 80, r: 11 }));
      parts.push(svg("text", { class: "count", x: middle, y: 84 }, String(number)));
    }
    x += width + 14;
  }
  const words = `${counted(groups, "workgroup")} of ${counted(threads, "thread")}, each with its own elements.`;
  return figure(words, x - 12, 126, ...parts);
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Eight values reduced to one in three levels. */
export function treeDiagram() {
  const values = [3, 1, 7, 0, 4, 1, 6, 3];
  const parts = [];
  const pitch = 56;
  let row = values;
  for (let level = 0; row.length; level++) {
    const y = 4 + level * 44;
    if (level) {
      parts.push(svg("path", { class: "barrier", d: `M0 ${y - 11} H448` }));
      parts.push(svg("text", { class: "side", x: 456, y: y - 7 }, "barrier"));
    }
    for (const [i, value] of row.entries()) {
      const x = 8 + i * pitch;
      if (level) {
        parts.push(svg("path", { class: "edge", d: `M${x + 15} ${y - 16} V${y}` }));
        const other = x + row.length * pitch + 15;
        parts.push(
          svg("path", {
            class: "edge",
            d: `M${other} ${y - 16} C${other} ${y} ${x + 60} ${y + 13} ${x + 31} ${y + 13}`,
          }),
        );
      }
      parts.push(svg("rect", { class: level ? "cell sum" : "cell", x, y, width: 30, height: 26, rx: 5 }));
      parts.push(svg("text", { class: "count", x: x + 15, y: y + 18 }, String(value)));
    }
    const half = row.length / 2;
    row = half >= 1 ? row.slice(0, half).map((value, i) => value + row[i + half]) : [];
  }
  return figure(
    "Eight numbers are summed in three levels, with half the threads each time and a barrier in between.",
    510,
    170,
    ...parts,
  );
}

/**
 * @param {Command[]} commands
 * @returns {HTMLElement}
 */
export function streamDiagram(commands) {
  const rows = commands.slice(0, 8).map(({ words, program, groups, buffers }) => {
    const meaning = program
      ? `run ${program} in ${groups.join(" × ")} workgroups on buffers ${buffers.join(", ")}`
      : "submit the commands recorded so far";
    return h(
      "tr",
      {},
      h("td", {}, h("span", { className: "words" }, ...words.map((word) => h("code", {}, String(word))))),
      h("td", {}, meaning),
    );
  });
  const rest = commands.length - rows.length;
  if (rest > 0) rows.push(h("tr", {}, h("td", {}, `… ${rest} more`), h("td", {})));
  const head = h("tr", {}, h("th", { scope: "col" }, "Numbers"), h("th", { scope: "col" }, "Meaning"));
  return scroller(h("table", { className: "stream" }, h("thead", {}, head), h("tbody", {}, ...rows)));
}

/**
 * Python continues while the GPU works, and waits when it reads.
 *
 * @param {number} runs of kernels
 */
export function queueDiagram(runs) {
  const drawn = Math.min(runs, MAX_RUNS);
  const last = runs > drawn ? "…" : `run ${runs}`;
  /** @type {{ name: string, bars: [x: number, width: number, words: string, kind: string][] }[]} */
  const lanes = [
    {
      name: "Python",
      bars: [
        [0, 110, "records", ""],
        [110, 40, "plan", ""],
        [150, 120, "records more", ""],
        [270, 110, "waits", "idle"],
        [380, 60, "prints", ""],
      ],
    },
    {
      name: "JavaScript",
      bars: [
        [150, 40, "send", "js"],
        [352, 40, "copy", "js"],
      ],
    },
    {
      name: "GPU",
      bars: Array.from({ length: drawn }, (_, i) => {
        const width = GPU_TIME / drawn;
        return [190 + i * width, width, i === drawn - 1 ? last : `run ${i + 1}`, "gpu"];
      }),
    },
  ];
  const parts = lanes.flatMap(({ name, bars }, lane) => {
    const y = 6 + lane * 40;
    return [
      svg("text", { class: "side", x: 0, y: y + 18 }, name),
      ...bars.flatMap(([x, width, words, kind]) => [
        svg("rect", { class: `bar ${kind}`, x: 84 + x, y, width: width - 2, height: 28, rx: 5 }),
        svg("text", { class: "count", x: 83 + x + width / 2, y: y + 18 }, words),
      ]),
    ];
  });
  parts.push(svg("text", { class: "shape", x: 300, y: 140 }, "time →"));
  const words = "Python records operations and sends them. The GPU computes while Python records more, until a read.";
  return figure(words, 528, 146, ...parts);
}
