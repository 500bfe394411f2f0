/** The theme of the prompt. The colours are custom properties of the page, which are inherited by its shadow root. */

import { EditorView } from "../vendor/codemirror.js";

/** Colours of CodeMirror's highlighting classes; style.css has the same for the rest of the page. */
const CODE = {
  ".tok-keyword, .tok-meta": { color: "var(--code-keyword)" },
  ".tok-bool, .tok-atom, .tok-number": { color: "var(--code-number)" },
  ".tok-string, .tok-string2": { color: "var(--code-string)" },
  ".tok-comment": { color: "var(--muted)", fontStyle: "italic" },
  ".tok-definition, .tok-typeName, .tok-className": { color: "var(--code-name)" },
};

/** Position below or above the list of completions, overriding the position that CodeMirror writes into the element. */
const BELOW = { top: "100% !important", bottom: "auto !important" };
const ABOVE = { top: "auto !important", bottom: "100% !important" };

export const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "var(--mono)",
    fontSize: "var(--code-size)",
    fontVariantLigatures: "none",
    lineHeight: "1.5",
    overflow: "visible",
  },
  ".cm-content": { padding: "0", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0" },
  ".cm-gutters": { border: "0", backgroundColor: "transparent", color: "var(--accent)" },
  ".cm-prompts .cm-gutterElement": { minWidth: "0", padding: "0 1ch 0 0", textAlign: "left" },
  ".cm-placeholder": { color: "var(--muted)", fontStyle: "italic" },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--accent-soft)",
    outline: "1px solid color-mix(in oklab, var(--accent) 50%, transparent)",
  },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--error-soft)", color: "var(--error)" },
  ...CODE,

  ".cm-tooltip": {
    border: "1px solid var(--line)",
    borderRadius: "8px",
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    boxShadow: "0 4px 18px rgb(0 0 0 / 14%)",
    zIndex: "10",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    padding: "4px",
    maxHeight: "15em",
    minWidth: "14rem",
    fontFamily: "var(--mono)",
    fontSize: "var(--code-size)",
    scrollbarWidth: "thin",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    display: "flex",
    gap: "1.5rem",
    justifyContent: "space-between",
    padding: "2px 8px",
    borderRadius: "5px",
    lineHeight: "1.5",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--ink)",
    outline: "1px solid color-mix(in oklab, var(--accent) 45%, transparent)",
    outlineOffset: "-1px",
  },
  ".cm-completionDetail": {
    margin: "0",
    color: "var(--muted)",
    fontFamily: "var(--sans)",
    fontSize: "0.75rem",
    fontStyle: "normal",
    lineHeight: "1.75",
  },
  ".cm-completionMatchedText": { color: "var(--accent)", textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo, .cm-signature": {
    maxWidth: "min(30rem, 70vw)",
    padding: "6px 10px",
    fontFamily: "var(--sans)",
    fontSize: "0.8125rem",
    lineHeight: "1.45",
  },
  // On a narrow screen it would cover the list, and its position is relative to the list's edge.
  ".cm-completionInfo.cm-completionInfo-right-narrow": { left: "0", ...BELOW },
  ".cm-completionInfo.cm-completionInfo-left-narrow": { right: "0", ...BELOW },
  ".cm-tooltip-above .cm-completionInfo.cm-completionInfo-right-narrow": ABOVE,
  ".cm-tooltip-above .cm-completionInfo.cm-completionInfo-left-narrow": ABOVE,
  ".signature": {
    overflowWrap: "anywhere",
    whiteSpace: "pre-wrap",
  },
  code: { fontFamily: "var(--mono)", fontSize: "0.8125rem" },
  ".signature strong": { color: "var(--accent)" },
  p: { margin: "3px 0 0", color: "var(--muted)" },
});
