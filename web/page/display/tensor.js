/** The facts line below a tensor, and the views that it opens. */

import { inBytes } from "../ui/bytes.js";
import { copyText } from "../ui/copying.js";
import { button, h } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { discard } from "./bundles.js";
import { drawImage } from "./image_figure.js";
import { pageButton } from "./pager.js";
import { Plot } from "./plot.js";
import { saveRow, saversOf } from "./saving.js";
import { drawTable } from "./table.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").Form} Form */
/** @typedef {import("./bundles.js").HeatmapBundle} HeatmapBundle */
/** @typedef {import("./bundles.js").Plane} Plane */
/** @typedef {import("./bundles.js").TensorBundle} TensorBundle */
/** @typedef {import("./bundles.js").ViewName} ViewName */
/** @typedef {import("./draw.js").Place} Place */

/** @type {Record<ViewName, string>} */
const NAMES = { table: "Table", plot: "Plot", heatmap: "Heat map", histogram: "Histogram", image: "Image" };

/** @type {Record<Form, [words: string, label: string]>} */
const FORMS = {
  npy: [".npy", "Save as .npy"],
  csv: [".csv", "Save as .csv"],
  list: ["Copy as list", "Copy as list"],
};

const LOST = "This tensor was lost when Python restarted.";

export class TensorPanel {
  /**
   * @param {TensorBundle} bundle
   * @param {Place} place
   */
  constructor(bundle, place) {
    this.bundle = bundle;
    this.place = place;
    this.interpreter = place.engine.interpreter; // a new Python starts the numbers of its tensors again
    /** @type {ViewName | null} */
    this.open = null;
    this.asked = 0;
    this.buttons = bundle.views.map((name) => this.buttonOf(name));
    const facts = h("span", { className: "tensor-facts" }, factsOf(bundle));
    const line = h("div", { className: "tensor-line" }, facts);
    if (this.buttons.length) line.append(h("span", { className: "view-buttons" }, ...this.buttons));
    this.view = h("div", { className: "view", hidden: true });
    this.view.setAttribute("role", "group");
    this.element = h("div", { className: "tensor" }, line, ...this.savers(line), this.view);
  }

  /**
   * @param {HTMLElement} line gets the button that opens them
   * @returns {HTMLElement[]}
   */
  savers(line) {
    const forms = this.bundle.forms ?? []; // there may be none for an earlier visit
    if (!forms.length) return [];
    const row = saveRow(
      forms.map((form) => {
        const [words, label] = FORMS[form];
        return { words, label, save: () => this.save(form) };
      }),
    );
    row.hidden = true;
    const toggle = button("Save", "save-button", () => {
      this.place.around(() => {
        row.hidden = !row.hidden;
      });
      toggle.ariaExpanded = String(!row.hidden);
    });
    toggle.ariaExpanded = "false";
    line.append(toggle);
    return [row];
  }

  /**
   * @param {Form} form
   * @returns {Promise<string>} the message to show
   */
  async save(form) {
    if (this.interpreter !== this.place.engine.interpreter) return LOST;
    /** @type {Bundle | null} */
    let answer = null;
    const outcome = await this.place.engine.view(
      this.bundle.number,
      form,
      {},
      {
        onAnswer: (bundle) => {
          answer = bundle;
        },
      },
    );
    const file = /** @type {Bundle | null} */ (answer);
    if (!outcome.ok || !file) return lastLine(outcome.error);
    if (file.kind !== "file") return "text" in file ? String(file.text) : "";
    if (form === "list") {
      return (await copyText(file.text)) ? "Copied." : "";
    }
    const type = form === "csv" ? "text/csv" : "application/octet-stream";
    saveFile(`tensor.${form}`, type, new Blob([file.bytes ?? file.text]));
    return "";
  }

  /** @param {ViewName} name */
  buttonOf(name) {
    const button = h("button", { type: "button", className: "view-button", textContent: NAMES[name] });
    button.ariaPressed = "false";
    button.addEventListener("click", () => {
      if (this.open === name) this.close();
      else this.show(name, {});
    });
    button.dataset.view = name;
    return button;
  }

  close() {
    this.asked++;
    this.mark(null);
    this.place.around(() => {
      this.view.hidden = true;
      this.view.replaceChildren();
    });
  }

  /** @param {ViewName | null} name */
  mark(name) {
    this.open = name;
    for (const button of this.buttons) button.ariaPressed = String(button.dataset.view === name);
  }

  /**
   * @param {ViewName} name
   * @param {Record<string, number>} where
   */
  async show(name, where) {
    const asked = ++this.asked;
    this.mark(name);
    if (this.interpreter !== this.place.engine.interpreter) {
      this.fill(name, { kind: "text", text: LOST }, where);
      return;
    }
    this.view.ariaBusy = "true";
    const outcome = await this.place.engine.view(this.bundle.number, name, where, {
      onAnswer: (bundle) => (asked === this.asked ? this.fill(name, bundle, where) : discard(bundle)),
    });
    if (asked !== this.asked) return;
    this.view.ariaBusy = "false";
    if (!outcome.ok) this.fill(name, { kind: "text", text: lastLine(outcome.error) }, where);
  }

  /**
   * @param {ViewName} name
   * @param {Bundle} bundle
   * @param {Record<string, number>} where
   */
  fill(name, bundle, where) {
    const focused = document.activeElement;
    const action = focused instanceof HTMLElement && this.view.contains(focused) ? focused.dataset.action : undefined;
    const go = (/** @type {Record<string, number>} */ change) => this.show(name, { ...where, ...change });
    this.place.around(() => {
      this.view.hidden = false;
      this.view.ariaLabel = NAMES[name];
      this.view.replaceChildren(...drawView(bundle, go, this.place));
    });
    if (action) refocus(this.view, action);
  }
}

/**
 * @param {Bundle} bundle
 * @param {(change: Record<string, number>) => void} go moves to another part of the tensor
 * @param {Place} place
 * @returns {HTMLElement[]}
 */
function drawView(bundle, go, place) {
  switch (bundle.kind) {
    case "table":
      return [...planeChooser(bundle, go), ...drawTable(bundle, go)];
    case "heatmap":
      return [
        ...planeChooser(bundle, go),
        ...savable(bundle, drawImage({ figure: null, ...bundle }, place).element, ...meansOf(bundle)),
      ];
    case "image":
      return savable(bundle, drawImage({ figure: null, ...bundle }, place).element);
    case "plot":
      return savable(bundle, new Plot(bundle, place).element);
    default:
      return [h("p", { className: "note" }, "text" in bundle ? String(bundle.text) : "")];
  }
}

/**
 * @param {Bundle} bundle
 * @param {HTMLElement} picture
 * @param {HTMLElement[]} below
 */
function savable(bundle, picture, ...below) {
  return [picture, ...below, ...saversOf(bundle, () => picture)];
}

/**
 * @param {Plane} plane
 * @param {(change: Record<string, number>) => void} go
 */
function planeChooser({ plane, planes, index }, go) {
  if (planes < 2) return [];
  const name = `[${index.join(", ")}, …]`;
  return [
    h(
      "div",
      { className: "pager" },
      pageButton("Previous plane", "‹", plane > 0, () => go({ plane: plane - 1, row: 0, column: 0 })),
      h("span", {}, `Plane ${name}, ${plane + 1} of ${planes.toLocaleString("en")}`),
      pageButton("Next plane", "›", plane + 1 < planes, () => go({ plane: plane + 1, row: 0, column: 0 })),
    ),
  ];
}

/** @param {HeatmapBundle} bundle */
function meansOf({ of, width, height }) {
  if (of.width === width && of.height === height) return [];
  const [rows, columns] = of.blocks.map((count) => count.toLocaleString("en"));
  const [down, across] = of.steps.map((step) => step.toLocaleString("en"));
  const isPart = of.steps.some((step) => step > 1);
  const part = isPart ? `, taken from 1 in ${down} rows and 1 in ${across} columns` : "";
  const size = `${of.height.toLocaleString("en")} × ${of.width.toLocaleString("en")}`;
  const text = `${size}. Each pixel is the mean of ${rows} × ${columns} elements${part}.`;
  return [h("p", { className: "plotted-note" }, text)];
}

/**
 * After a page turn, focus the button that was used, or its counterpart on the last page.
 *
 * @param {HTMLElement} view
 * @param {string} action
 */
function refocus(view, action) {
  const buttons = [...view.querySelectorAll("button")];
  const same = buttons.find((button) => button.dataset.action === action);
  if (same && !same.disabled) same.focus();
  else buttons.find((button) => !button.disabled)?.focus();
}

/** @param {TensorBundle} bundle */
function factsOf({ shape, dtype, device, bytes }) {
  const tuple = `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`; // as in Python, and in the list of variables
  return [shape.length ? tuple : "scalar", dtype, device, inBytes(bytes)].join(" · ");
}

/** @param {string | null} error a traceback */
function lastLine(error) {
  return error?.trimEnd().split("\n").at(-1) ?? "Python gave no answer.";
}
