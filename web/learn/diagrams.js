/** The drawings of "How it works", as SVG. Colours come from classes, so that they follow the scheme. */

import { h, svg } from "../ui/dom.js";
import { figure, scroller } from "./figure.js";

/** In the drawing of the queue: so many runs fit, into so much room. */
const MOST_RUNS = 3;
const GPU_TIME = 162;

/** @typedef {import("./learn.js").Command} Command */

/** Elements in a row, a thread to each, workgroups around them. */
export function threadsDiagram() {
  const [count, size, pitch] = [16, 22, 28];
  const parts = [];
  for (let group = 0; group < 2; group++) {
    const x = 1 + group * 8 * pitch + group * 14;
    parts.push(svg("rect", { class: "group", x, y: 58, width: 8 * pitch + 2, height: 44, rx: 7 }));
    parts.push(svg("text", { class: "shape", x: x + 4 * pitch, y: 120 }, `workgroup ${group}`));
  }
  for (let i = 0; i < count; i++) {
    const x = 5 + i * pitch + (i >= 8 ? 14 : 0);
    parts.push(svg("rect", { class: "cell", x, y: 4, width: size, height: size, rx: 4 }));
    parts.push(svg("path", { class: "edge", d: `M${x + size / 2} 66 V30` }));
    parts.push(svg("circle", { class: "thread", cx: x + size / 2, cy: 80, r: 11 }));
    parts.push(svg("text", { class: "count", x: x + size / 2, y: 84 }, String(i)));
  }
  return figure("Sixteen threads in two workgroups of eight, each with an element of its own.", 480, 126, ...parts);
}

/** Eight values that become one in three levels. */
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
    "Eight numbers are summed in three levels, half of the threads each time; all wait in between.",
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
      : "submit what there is so far";
    return h(
      "tr",
      {},
      h("td", {}, h("span", { className: "words" }, ...words.map((word) => h("code", {}, String(word))))),
      h("td", {}, meaning),
    );
  });
  const rest = commands.length - rows.length;
  if (rest > 0) rows.push(h("tr", {}, h("td", {}, `… ${rest} more`), h("td", {})));
  const head = h("tr", {}, h("th", { scope: "col" }, "Numbers"), h("th", { scope: "col" }, "What they say"));
  return scroller(h("table", { className: "stream" }, h("thead", {}, head), h("tbody", {}, ...rows)));
}

/**
 * Python goes on while the GPU works, and waits where it reads.
 *
 * @param {number} runs of kernels
 */
export function queueDiagram(runs) {
  const drawn = Math.min(runs, MOST_RUNS);
  const last = runs > drawn ? "…" : `run ${runs}`;
  /** @type {{ name: string, bars: [x: number, width: number, words: string, kind: string][] }[]} */
  const lanes = [
    {
      name: "Python",
      bars: [
        [0, 110, "notes", ""],
        [110, 40, "plan", ""],
        [150, 120, "notes more", ""],
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
  const words = "Python notes operations and sends them; the GPU computes while Python notes more, until it reads.";
  return figure(words, 528, 146, ...parts);
}
