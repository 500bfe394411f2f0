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

/** Brackets alone, outside of strings: quotes are typed at both ends, as in a terminal. */
const CLOSED = Prec.high(
  EditorState.languageData.of((state, pos) => {
    const isInString = endsInString(state.sliceDoc(state.doc.lineAt(pos).from, pos));
    return [{ closeBrackets: { brackets: isInString ? [] : ["(", "[", "{"] } }];
  }),
);

/**
 * Text in place of a selection: Chromium's own way would put styles into the markup, which the page's policy refuses.
 *
 * @param {InputEvent} event
 * @param {EditorView} view
 */
function typedOver({ inputType, isComposing, data }, view) {
  const { state } = view;
  const { from, to, empty } = state.selection.main;
  if (inputType !== "insertText" || isComposing || !data || empty) return false;
  const insert = () => state.update(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
  const isHandled = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert));
  if (!isHandled) view.dispatch(insert());
  return true;
}

export const writing = [
  keymap.of([...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
  history(),
  highlightSpecialChars(), // or code from a link could look different from what it runs
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
