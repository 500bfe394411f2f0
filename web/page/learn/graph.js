/**
 * The graph of an expression, drawn in layers: each node below its operands.
 *
 * After K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system structures",
 * IEEE Transactions on Systems, Man, and Cybernetics 11, 1981: an edge that crosses a layer has its own position in it,
 * and layers are sorted by the positions of their neighbours.
 */

import { h, svg } from "../ui/dom.js";
import { figure } from "./figure.js";

/** @typedef {import("./learn.js").GraphNode} GraphNode */
/** @typedef {{ x: number, y: number }} Point */

/**
 * @typedef {object} Place position in a layer, of a node or of an edge that crosses it
 * @property {number} layer
 * @property {number} width
 * @property {Place[]} above where its edges come from
 * @property {Place[]} below where they go
 * @property {number} x of its centre
 */

const BOX = { width: 128, height: 40 };
const GAP = { x: 20, y: 30 };
const PASSING = 8;
/** Width of a character, relative to the font size. */
const LONGEST_NAME = 192;
const MAX_DRAWN = 60;
const SWEEPS = 4;

/**
 * Layers of the nodes, by the longest path from a leaf: leaves at the top, the result at the bottom.
 *
 * @param {GraphNode[]} nodes operands first
 * @param {Record<string, string>} names of some nodes, by their numbers
 * @returns {HTMLElement}
 */
export function graphDiagram(nodes, names) {
  if (nodes.length > MAX_DRAWN) return h("p", { className: "caption" }, `${nodes.length} nodes are too many to draw.`);
  /** @type {Place[]} */
  const places = layersOf(nodes).map((layer) => ({ layer, width: BOX.width, above: [], below: [], x: 0 }));
  const ways = nodes.flatMap(({ inputs }, i) => [...new Set(inputs)].map((j) => wayBetween(places[j], places[i])));
  const layers = [...Map.groupBy([...new Set([...places, ...ways.flat()])], ({ layer }) => layer)]
    .sort(([a], [b]) => a - b)
    .map(([, members]) => members);
  for (let sweep = 0; sweep < SWEEPS; sweep++) sortLayers(layers, sweep % 2 === 0);
  const width = place(layers);
  const height = layers.length * (BOX.height + GAP.y) - GAP.y + 2;
  const boxes = nodes.map((node, i) => box(node, names[i], places[i], i === nodes.length - 1));
  const words = `A graph of ${nodes.length} nodes: ${nodes.map(({ op }) => op).join(", ")}.`;
  return figure(words, width + 2, height, ...ways.map(edge), ...boxes);
}

/**
 * @param {GraphNode[]} nodes
 * @returns {number[]} the layer of each; a leaf is placed right above its first user
 */
function layersOf(nodes) {
  /** @type {number[]} */
  const layers = [];
  for (const { inputs } of nodes) layers.push(inputs.length ? Math.max(...inputs.map((i) => layers[i])) + 1 : 0);
  for (const [i, { inputs }] of nodes.entries()) {
    const users = nodes.flatMap((user, j) => (user.inputs.includes(i) ? [layers[j]] : []));
    if (!inputs.length && users.length) layers[i] = Math.min(...users) - 1;
  }
  return layers;
}

/**
 * @param {Place} from
 * @param {Place} to
 * @returns {Place[]} the edge from one to the other, with a position in each layer between them
 */
function wayBetween(from, to) {
  const way = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer++) {
    way.push({ layer, width: PASSING, above: [], below: [], x: 0 });
  }
  way.push(to);
  for (let i = 1; i < way.length; i++) {
    way[i].above.push(way[i - 1]);
    way[i - 1].below.push(way[i]);
  }
  return way;
}

/**
 * Sort each layer by the mean position of neighbours in the layer sorted before it.
 *
 * @param {Place[][]} layers
 * @param {boolean} isDownwards
 */
function sortLayers(layers, isDownwards) {
  for (const layer of isDownwards ? layers : layers.toReversed()) {
    line(layer, 0);
    for (const member of layer) {
      const neighbours = isDownwards ? member.above : member.below;
      if (neighbours.length) member.x = neighbours.reduce((sum, { x }) => sum + x, 0) / neighbours.length;
    }
    layer.sort((a, b) => a.x - b.x);
    line(layer, 0);
  }
}

/**
 * Stacks the layers, with their centres aligned.
 *
 * @param {Place[][]} layers
 * @returns {number} the width of the widest layer
 */
function place(layers) {
  const widest = Math.max(...layers.map(widthOf));
  for (const layer of layers) line(layer, 1 + widest / 2);
  return widest;
}

/**
 * Places the members of a layer side by side.
 *
 * @param {Place[]} layer
 * @param {number} middle
 */
function line(layer, middle) {
  let x = middle - widthOf(layer) / 2;
  for (const member of layer) {
    member.x = x + member.width / 2;
    x += member.width + GAP.x;
  }
}

/** @param {Place[]} layer */
function widthOf(layer) {
  return layer.reduce((sum, { width }) => sum + width + GAP.x, -GAP.x);
}

/** @param {Place[]} way */
function edge(way) {
  let path = "";
  for (let i = 1; i < way.length; i++) {
    const [from, to] = [way[i - 1], way[i]];
    const [y1, y2] = [top(from) + BOX.height, top(to)];
    const middle = (y1 + y2) / 2;
    path += `${i === 1 ? "M" : "L"}${from.x} ${y1} C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${y2} `;
  }
  return svg("path", { class: "edge", d: path.trimEnd() });
}

/** @param {Place} place */
function top({ layer }) {
  return 1 + layer * (BOX.height + GAP.y);
}

/**
 * @param {GraphNode} node
 * @param {string | undefined} given its name
 * @param {Place} place
 * @param {boolean} isResult
 */
function box(node, given, place, isResult) {
  const kind = isResult
    ? "result"
    : node.stored
      ? "stored"
      : node.value !== null
        ? "constant"
        : node.moves
          ? "moves"
          : "op";
  const name = node.value ?? given ?? (node.stored ? "stored" : node.op);
  const y = top(place);
  return svg(
    "g",
    { class: `node ${kind}` },
    svg("rect", { x: place.x - BOX.width / 2, y, rx: 7, ...BOX }),
    svg("text", { class: "name", x: place.x, y: y + 17, "font-size": Math.min(12, LONGEST_NAME / name.length) }, name),
    svg("text", { class: "shape", x: place.x, y: y + 32 }, `${node.dtype} [${node.shape.join(", ")}]`),
  );
}
