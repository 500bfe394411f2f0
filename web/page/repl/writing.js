/** The extensions of every code field: keys, undo, colours, brackets, indentation. */

import {
  bracketMatching,
  classHighlighter,
  closeBrackets,
  closeBracketsKeymap,
  defaultKeymap,
  EditorState,
  EditorView,
  highlightSpecialChars,
  history,
  historyKeymap,
  indentOnInput,
  indentUnit,
  keymap,
  Prec,
  syntaxHighlighting,
} from "../vendor/codemirror.js";
import { endsInString } from "./text.js";
import { theme } from "./theme.js";

/** Only brackets outside strings are closed automatically; quotes are not. */
const CLOSED = Prec.high(
  EditorState.languageData.of((state, pos) => {
    const isInString = endsInString(state.sliceDoc(state.doc.lineAt(pos).from, pos));
    return [{ closeBrackets: { brackets: isInString ? [] : ["(", "[", "{"] } }];
  }),
);

/**
 * Replace a selection by typed text: Chromium's default would add inline styles, which the page's content security
 * policy blocks.
 *
 * @param {InputEvent} event
 * @param {EditorView} view
 */
function typedOver({ inputType, isComposing, data }, view) {
  if (inputType !== "insertText" || isComposing || !data || view.state.selection.main.empty) return false;
  typeText(view, data);
  return true;
}

/**
 * Replace the selection as if the text had been typed: brackets are closed and typed over.
 *
 * @param {EditorView} view
 * @param {string} text
 */
export function typeText(view, text) {
  const { state } = view;
  const { from, to } = state.selection.main;
  const insert = () => state.update(state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
  const isHandled = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert));
  if (!isHandled) view.dispatch(insert());
}

export const writing = [
  keymap.of([...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
  history(),
  highlightSpecialChars(), // otherwise code from a link could look different from what it runs
  syntaxHighlighting(classHighlighter),
  bracketMatching(),
  closeBrackets(),
  CLOSED,
  indentUnit.of("    "),
  indentOnInput(),
  EditorView.lineWrapping,
  EditorView.domEventHandlers({ beforeinput: typedOver }),
  theme,
];
