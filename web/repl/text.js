/** Pure functions on what is typed and pasted. */

const PROMPT = /^\s*(>>> ?|\.\.\. ?)/;
const INDENT = "    ";

/**
 * Whether this was copied from a terminal or from documentation: it begins with a prompt.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function isTranscript(text) {
  return /^\s*>>>/.test(text);
}

/**
 * What of a paste goes into the prompt. From a transcript that is its code, without the output in
 * between; the prompts stay, as they part one input from the next.
 *
 * @param {string} text
 * @returns {string}
 */
export function pasted(text) {
  const plain = text.replaceAll("\r\n", "\n");
  if (!isTranscript(plain)) return plain.replace(/\n+$/, "");
  return plain
    .split("\n")
    .filter((line) => PROMPT.test(line))
    .map((line) => line.trimStart())
    .join("\n");
}

/**
 * The inputs in what was entered: one, or each block of a transcript. A line without a prompt goes
 * on with the block before it.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function inputsOf(text) {
  if (!isTranscript(text)) return [text.trimEnd()];
  /** @type {string[][]} */
  const blocks = [];
  for (const line of text.trim().split("\n")) {
    if (isTranscript(line)) blocks.push([]);
    blocks.at(-1)?.push(line.replace(PROMPT, ""));
  }
  return blocks.map((lines) => lines.join("\n").trimEnd()).filter(Boolean);
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
 * Each line one step further in, or out.
 *
 * @param {string} lines
 * @param {boolean} isOutwards
 * @returns {string}
 */
export function indented(lines, isOutwards) {
  return isOutwards ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^/gm, INDENT);
}

/**
 * The spaces from the end of `line` to the next step of the indentation.
 *
 * @param {string} line
 * @returns {string}
 */
export function toNextStep(line) {
  return " ".repeat(INDENT.length - (line.length % INDENT.length));
}
