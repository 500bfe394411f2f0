/** A page of a tensor's elements, and the buttons that go to other pages. */

import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { pageButton } from "./pager.js";

/** @typedef {import("./bundles.js").TableBundle} TableBundle */

/**
 * @param {TableBundle} bundle
 * @param {(change: Record<string, number>) => void} go
 * @returns {HTMLElement[]}
 */
export function drawTable(bundle, go) {
  const { cells, row, column, isVector } = bundle;
  const across = cells[0].map((_, i) => h("th", { scope: "col" }, isVector ? "" : String(column + i)));
  const head = h("thead", {}, h("tr", {}, h("td"), ...across));
  const lines = cells.map((line, i) =>
    h("tr", {}, h("th", { scope: "row" }, String(row + i)), ...line.map((text) => h("td", {}, text))),
  );
  const table = h("table", { className: "elements" }, ...(isVector ? [] : [head]), h("tbody", {}, ...lines));
  const scroller = h("div", { className: "table-scroller" }, table);
  scroller.setAttribute("role", "region");
  scroller.ariaLabel = "Elements";
  focusableWhileItScrolls(scroller);
  const pagers = [
    pager("rows", bundle.height, row, bundle.rows, (to) => go({ row: to })),
    pager("columns", bundle.width, column, bundle.columns, (to) => go({ column: to })),
  ].flat();
  return [...(pagers.length ? [h("div", { className: "pager" }, ...pagers)] : []), scroller];
}

/**
 * @param {"rows" | "columns"} name
 * @param {number} size total number
 * @param {number} from the first one shown
 * @param {number} step number on a page
 * @param {(to: number) => void} go
 */
function pager(name, size, from, step, go) {
  if (size <= step) return [];
  const last = Math.floor((size - 1) / step) * step;
  const to = Math.min(from + step, size) - 1;
  return [
    pageButton(`First ${name}`, "«", from > 0, () => go(0)),
    pageButton(`Previous ${name}`, "‹", from > 0, () => go(from - step)),
    h("span", {}, `${name} ${from}–${to} of ${size.toLocaleString("en")}`),
    pageButton(`Next ${name}`, "›", from < last, () => go(from + step)),
    pageButton(`Last ${name}`, "»", from < last, () => go(last)),
  ];
}
