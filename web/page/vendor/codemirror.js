/** What the page uses of CodeMirror 6. The build replaces this file by one that holds the packages themselves. */

export {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionStatus,
  selectedCompletion,
  setSelectedCompletion,
  startCompletion,
} from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
export { pythonLanguage } from "@codemirror/lang-python";
export { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { closeSearchPanel, findNext, findPrevious, openSearchPanel, search } from "@codemirror/search";
export { Compartment, EditorState, MapMode, Prec, StateEffect, StateField, Transaction } from "@codemirror/state";
export {
  Decoration,
  EditorView,
  GutterMarker,
  gutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
  showTooltip,
  WidgetType,
} from "@codemirror/view";
export { classHighlighter, highlightCode } from "@lezer/highlight";
