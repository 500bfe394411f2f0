/** Pure functions on what is typed and pasted. */

const PROMPT = /^(>>> ?|\.\.\. ?)/;
const INDENT = "    ";

/**
 * Text copied from a terminal or from documentation has prompts, and output in between: keep the
 * code alone. Other text is returned as it is.
 *
 * @param {string} text
 * @returns {string}
 */
export function withoutPrompts(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const first = lines.find((line) => line.trim());
  if (!first?.trimStart().startsWith(">>>")) return text.replaceAll("\r\n", "\n");
  return lines
    .map((line) => line.trimStart())
    .filter((line) => PROMPT.test(line))
    .map((line) => line.replace(PROMPT, ""))
    .join("\n");
}

/**
 * The indentation with which the line after `line` begins.
 *
 * @param {string} line
 * @returns {string}
 */
export function nextIndent(line) {
  const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
  const code = line.replace(/#.*$/, "").trimEnd();
  if (code.endsWith(":")) return indent + INDENT;
  if (/^\s*(return|pass|break|continue|raise)\b/.test(code)) return indent.slice(INDENT.length);
  return indent;
}

/**
 * A guess whether a line can be run, for when Python is too busy to be asked: it must be one line
 * and leave nothing open.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function looksComplete(text) {
  if (text.includes("\n")) return /\n[ \t]*$/.test(text);
  const opened = (text.match(/[([{]/g) ?? []).length;
  const closed = (text.match(/[)\]}]/g) ?? []).length;
  return opened <= closed && !/[:\\]\s*$/.test(text) && !/'''|"""/.test(text);
}
