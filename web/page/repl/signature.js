/** The signature of a call, shown above the line while its arguments are typed. */

import { cutLabel } from "../ui/bounds.js";
import { h } from "../ui/dom.js";
import { inline } from "../ui/prose.js";
import { EditorView, keymap, Prec, StateEffect, StateField, showTooltip } from "../vendor/codemirror.js";

/** @typedef {import("./completion.js").Query} Query */

/**
 * @typedef {object} Signature (completion.py)
 * @property {string} name
 * @property {string[]} parameters
 * @property {number | null} active index of the parameter at the caret
 * @property {string} summary
 *
 * @typedef {import("@codemirror/view").Tooltip & { name: string }} SignatureTooltip
 */

/** Parameters shown: the one at the caret is among them. */
const MAX_PARAMETERS = 60;

/** @type {import("@codemirror/state").StateEffectType<SignatureTooltip | null>} */
const show = StateEffect.define();

/** @type {StateField<SignatureTooltip | null>} */
const shown = StateField.define({
  /** @returns {SignatureTooltip | null} */
  create: () => null,
  update(tooltip, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(show)) return effect.value;
    }
    if (!tooltip || transaction.newDoc.length === 0) return null;
    return transaction.docChanged ? { ...tooltip, pos: transaction.changes.mapPos(tooltip.pos) } : tooltip;
  },
  provide: (field) => showTooltip.from(field),
});

/** @param {Query} query */
export function signatures(query) {
  const guide = new Guide(query);
  return [
    shown,
    EditorView.updateListener.of((update) => guide.follow(update)),
    Prec.highest(keymap.of([{ key: "Escape", run: (view) => guide.hide(view) }])),
  ];
}

/** It opens when a bracket or comma is typed, and then follows the caret. */
class Guide {
  /** @param {Query} query */
  constructor(query) {
    this.query = query;
    this.asked = 0;
    this.isWaiting = false;
  }

  /** @param {import("@codemirror/view").ViewUpdate} update */
  async follow({ view, docChanged, selectionSet, transactions }) {
    if (!docChanged && !selectionSet) return;
    const { head } = view.state.selection.main;
    const isOpen = this.isWaiting || view.state.field(shown) !== null;
    const isTyped = transactions.some((transaction) => transaction.isUserEvent("input.type"));
    if (!isOpen && !(isTyped && /[(,]/.test(view.state.sliceDoc(head - 1, head)))) return;
    const question = ++this.asked;
    this.isWaiting = true;
    /** @type {Signature | null} */
    const found = await this.query("signature", { before: view.state.sliceDoc(0, head) });
    if (question !== this.asked) return;
    this.isWaiting = false;
    const previous = view.state.field(shown);
    if (!found && !previous) return;
    const pos = previous && previous.name === found?.name ? previous.pos : head - 1;
    view.dispatch({ effects: show.of(found && tooltip(found, pos)) });
  }

  /**
   * @param {EditorView} view
   * @returns {boolean} false: Escape also has its other effects
   */
  hide(view) {
    this.asked++; // ignore an answer that is still pending
    this.isWaiting = false;
    if (view.state.field(shown)) view.dispatch({ effects: show.of(null) });
    return false;
  }
}

/**
 * @param {Signature} signature
 * @param {number} pos
 * @returns {SignatureTooltip}
 */
function tooltip(signature, pos) {
  const { name } = signature;
  return { name, pos, above: true, create: () => ({ dom: rendered(signature) }) };
}

/** @param {Signature} signature */
function rendered({ name, parameters, active, summary }) {
  const first = Math.max(0, (active ?? 0) - MAX_PARAMETERS / 2);
  const texts = parameters.slice(first, first + MAX_PARAMETERS).map(cutLabel);
  const parts = texts.flatMap((parameter, i) => [
    i ? ", " : "",
    first + i === active ? h("strong", {}, parameter) : parameter,
  ]);
  if (first > 0) parts.unshift("…, ");
  if (first + texts.length < parameters.length) parts.push(", …");
  const head = `${cutLabel(name)}(`;
  const dom = h("div", { className: "cm-signature" }, h("code", { className: "signature" }, head, ...parts, ")"));
  if (summary) dom.append(h("p", {}, ...inline(cutLabel(summary))));
  return dom;
}
