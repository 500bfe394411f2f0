/** The list of saved runs: which one is shown, which one it is compared with, and the actions on each. */

import { adapterName } from "../ui/adapter.js";
import { h } from "../ui/dom.js";
import { scroller } from "./table.js";

/** @typedef {import("./runs.js").Kept} Kept */
/** @typedef {import("./runs.js").KeptRuns} KeptRuns */

/**
 * @typedef {object} Actions
 * @property {(kept: Kept) => void} show
 * @property {(kept: Kept | null) => void} compare
 * @property {(kept: Kept, name: string) => void} rename
 * @property {(kept: Kept) => void} remove
 */

/**
 * @param {KeptRuns} runs
 * @param {Kept | null} shown
 * @param {Kept | null} compared
 * @param {Actions} actions
 * @returns {HTMLElement}
 */
export function keptTable(runs, shown, compared, actions) {
  const titles = ["Show", "Compare", "Name", "Where", "When", ""];
  const head = h("tr", {}, ...titles.map((title) => h("th", { scope: "col", textContent: title })));
  const body = h("tbody");
  for (const kept of runs.all) {
    const { run } = kept;
    const name = run.name ?? "Unnamed";
    const isShown = kept === shown;
    const show = h("input", { type: "radio", name: "shown-run", checked: isShown });
    show.setAttribute("aria-label", `Show ${name}`);
    show.addEventListener("change", () => actions.show(kept));
    const compare = h("input", { type: "checkbox", checked: kept === compared, disabled: isShown || !shown });
    compare.setAttribute("aria-label", `Compare with ${name}`);
    compare.addEventListener("change", () => actions.compare(compare.checked ? kept : null));
    const field = h("input", { type: "text", className: "run-name", value: name, maxLength: 80 });
    field.size = Math.min(Math.max(name.length, 12), 36);
    field.setAttribute("aria-label", `Name of ${name}`);
    field.addEventListener("change", () => actions.rename(kept, field.value.trim() || name));
    const remove = h("button", { type: "button", className: "button quiet", textContent: "Delete" });
    remove.setAttribute("aria-label", `Delete ${name}`);
    remove.addEventListener("click", () => actions.remove(kept));
    const where = [adapterName(run), run.browser].filter(Boolean).join(", ");
    const when = new Date(run.date).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const cells = [show, compare, field, where, when, remove].map((content) => h("td", {}, content));
    for (const [i, part] of [show, compare, field, remove].entries()) part.dataset.part = `${i}`;
    const row = h("tr", { className: isShown ? "current" : "" }, ...cells);
    row.dataset.key = kept.id;
    body.append(row);
  }
  return scroller("Saved runs", h("table", { className: "results kept" }, h("thead", {}, head), body));
}
