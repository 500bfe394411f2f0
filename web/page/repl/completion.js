/** Completions at the caret: requested from Python, shown while typing, accepted with Tab. */

import { h } from "../ui/dom.js";
import { inline } from "../ui/prose.js";
import {
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completionStatus,
  EditorView,
  keymap,
  Prec,
  selectedCompletion,
  setSelectedCompletion,
  startCompletion,
} from "../vendor/codemirror.js";

/** @typedef {import("@codemirror/autocomplete").CompletionContext} CompletionContext */
/** @typedef {import("@codemirror/autocomplete").CompletionResult} CompletionResult */

/**
 * @typedef {(method: string, args: Record<string, unknown>) => Promise<any>} Query `Engine.query`
 *
 * @typedef {object} Option (completion.py)
 * @property {string} label
 * @property {string} kind
 * @property {string} [apply] the text to insert, if it differs from the label
 *
 * @typedef {{ prefix: string, options: Option[] }} Found
 */

const AFTER_A_DOT = /[\w)\]}"']\.\w*$/;
/** The order of kinds among equally good matches. @type {Record<string, number>} */
const BOOST = { argument: 20, key: 20, value: 5, keyword: -5 };

/** The editors whose list was opened by Tab, so that its first entry is selected. @type {WeakSet<EditorView>} */
const asked = new WeakSet();

/**
 * The list opens by itself after a dot; nothing in it is selected then, so that Enter runs. Where Tab opens it, its
 * first entry is selected, and Enter or Tab takes it.
 *
 * @param {Query} query
 */
export function completions(query) {
  return [
    Prec.highest(keymap.of([{ key: "Enter", run: leaveWhatIsTyped }])),
    autocompletion({
      override: [(context) => source(query, context)],
      selectOnOpen: false,
      icons: false,
      activateOnTypingDelay: 50,
    }),
    EditorView.updateListener.of(({ view }) => {
      if (!asked.has(view)) return;
      const status = completionStatus(view.state);
      if (status !== "pending") asked.delete(view);
      if (status === "active") view.dispatch({ effects: setSelectedCompletion(0) });
    }),
  ];
}

/**
 * If the selected name is already complete at the caret, Enter runs the input.
 *
 * @param {EditorView} view
 */
function leaveWhatIsTyped(view) {
  const { head } = view.state.selection.main;
  const label = selectedCompletion(view.state)?.label;
  if (label && /\w*$/.exec(view.state.sliceDoc(0, head))?.[0] === label) closeCompletion(view);
  return false;
}

/**
 * @param {Query} query
 * @param {CompletionContext} context
 * @returns {Promise<CompletionResult | null>}
 */
async function source(query, { state, pos, explicit }) {
  const before = state.sliceDoc(0, pos);
  if (!explicit && !AFTER_A_DOT.test(before)) return null;
  /** @type {Found | null} */
  const found = await query("complete", { before, after: state.sliceDoc(pos) });
  if (!found) return null;
  const isPrivate = found.prefix.startsWith("_");
  return {
    from: pos - found.prefix.length,
    options: found.options.map(({ label, kind, apply }) => ({
      label,
      apply,
      detail: kind,
      boost: BOOST[kind] ?? 0,
      info: () => describe(query, before, label),
    })),
    validFor: (text) => /^\w*$/.test(text) && text.startsWith("_") === isPrivate,
  };
}

/**
 * @param {Query} query
 * @param {string} before
 * @param {string} label
 */
async function describe(query, before, label) {
  /** @type {{ title: string, summary: string } | null} */
  const found = await query("describe", { before, label });
  if (!found) return null;
  return h("div", {}, h("code", { className: "signature" }, found.title), h("p", {}, ...inline(found.summary)));
}

/**
 * Tab when it completes: accepts the selected entry of the list. Otherwise it inserts the common prefix of all matches
 * and opens the list, or selects its first entry.
 *
 * @param {Query} query
 * @param {EditorView} view
 * @returns {Promise<boolean>} whether there was something to complete
 */
export async function complete(query, view) {
  if (selectedCompletion(view.state)) return acceptCompletion(view);
  const { state } = view;
  const pos = state.selection.main.head;
  /** @type {Found | null} */
  const found = await query("complete", { before: state.sliceDoc(0, pos), after: state.sliceDoc(pos) });
  if (view.state.doc !== state.doc) return true; // the user typed on
  if (!found) return false;
  const { prefix, options } = found;
  const isOpen = completionStatus(view.state) === "active";
  const text = options.length === 1 ? (options[0].apply ?? options[0].label) : sharedBeginning(options, prefix);
  if (text !== prefix) {
    view.dispatch({
      changes: { from: pos - prefix.length, to: pos, insert: text },
      selection: { anchor: pos - prefix.length + text.length },
      userEvent: "input.complete",
    });
  }
  if (options.length === 1) {
    closeCompletion(view);
  } else if (isOpen && text === prefix) {
    view.dispatch({ effects: setSelectedCompletion(0) });
  } else {
    asked.add(view);
    startCompletion(view);
  }
  return true;
}

/**
 * @param {Option[]} options
 * @param {string} prefix
 * @returns {string} the longest common prefix of the labels that begin with `prefix`
 */
function sharedBeginning(options, prefix) {
  const labels = options.map(({ label }) => label).filter((label) => label.startsWith(prefix));
  if (labels.length < options.length) return prefix; // some differ in case
  return labels.reduce((shared, label) => {
    let length = 0;
    while (length < shared.length && shared[length] === label[length]) length++;
    return shared.slice(0, length);
  });
}
