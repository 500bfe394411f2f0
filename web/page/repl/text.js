/** Pure functions on typed and pasted text. */

const PROMPT = /^\s*(>>> ?|\.\.\. ?)/;
const IPYTHON_INPUT = /^\s*In ?\[\d*\]: ?/;
const IPYTHON_MORE = /^\s*\.{3,}: ?/;
const INDENT = "    ";

/**
 * Whether this was copied from a terminal or from documentation, that is, begins with a prompt.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function isTranscript(text) {
  return /^\s*>>>/.test(text);
}

/**
 * The text to insert into the prompt for a paste. For a transcript it is the code without the outputs; the prompts
 * stay, because they separate the inputs. Common indentation is removed.
 *
 * @param {string} text
 * @returns {string}
 */
export function pasted(text) {
  const plain = withPlainPrompts(text.replaceAll(/\r\n?/g, "\n").replaceAll("\u00a0", " "));
  if (!isTranscript(plain)) return dedented(plain).trimEnd();
  return plain
    .split("\n")
    .filter((line) => PROMPT.test(line))
    .map((line) => line.trimStart())
    .join("\n");
}

/**
 * A transcript of IPython with the prompts of Python; any other text as it is.
 *
 * @param {string} text
 * @returns {string}
 */
function withPlainPrompts(text) {
  if (!IPYTHON_INPUT.test(text)) return text;
  return text
    .split("\n")
    .flatMap((line) => {
      if (IPYTHON_INPUT.test(line)) return [line.replace(IPYTHON_INPUT, ">>> ")];
      return IPYTHON_MORE.test(line) ? [line.replace(IPYTHON_MORE, "... ")] : [];
    })
    .join("\n");
}

/**
 * Remove the indentation common to all lines.
 *
 * @param {string} text
 * @returns {string}
 */
function dedented(text) {
  const lines = text.replace(/^(?:[ \t]*\n)+/, "").split("\n");
  const indents = lines.filter((line) => line.trim()).map((line) => /^[ \t]*/.exec(line)?.[0] ?? "");
  const margin = indents.reduce((shared, indent) => {
    let length = 0;
    while (length < shared.length && shared[length] === indent[length]) length++;
    return shared.slice(0, length);
  }, indents[0] ?? "");
  return lines.map((line) => (line.trim() ? line.slice(margin.length) : "")).join("\n");
}

/**
 * The inputs in an entered text: one, or one for each block of a transcript. A line without a prompt continues the
 * block before it.
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

/** @typedef {{ expression: string, wantsSource: boolean, isCall: boolean }} HelpRequest */

/** A longer input is not a request for help: the time for the pattern grows with the square of the length. */
const MAX_HELP = 1000;

const HELP =
  /^(?:(?<before>\?\??)\s*(?<one>\S.*)|(?<two>.*[^?\s])\s*(?<after>\?\??)|(?<call>help)\(\s*(?<three>NAME)?\s*\))$/;
const NAME = /[^\W\d]\w*(?:\.\w+|\[[^\][]*\])*/;
const HELP_REQUEST = new RegExp(HELP.source.replaceAll("NAME", NAME.source));

/**
 * @param {string} source an input
 * @returns {boolean} whether it asks for the list of keys
 */
export function asksForKeys(source) {
  return /^\?\??$/.test(source.trim());
}

/**
 * `name?`, `?name`, `name??` (with the source), `help(name)`, each with any expression but the last; `help()`.
 *
 * @param {string} source an input
 * @returns {HelpRequest | null} null if it is not a request for help
 */
export function helpRequest(source) {
  const groups = source.length <= MAX_HELP ? HELP_REQUEST.exec(source.trim())?.groups : null;
  if (!groups) return null;
  const { before, one, two, after, call, three } = groups;
  const expression = one ?? two ?? three ?? "";
  if (/[?#]/.test(withoutStrings(expression))) return null;
  return { expression, wantsSource: (before ?? after) === "??", isCall: call !== undefined };
}

/**
 * The indentation of the line after `line`: deeper after a colon and in a bracket, less deep after the end of a block.
 *
 * @param {string} line
 * @returns {string}
 */
export function nextIndent(line) {
  const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
  const code = withoutStrings(line).replace(/#.*$/, "").trimEnd();
  const opened = (code.match(/[([{]/g)?.length ?? 0) - (code.match(/[)\]}]/g)?.length ?? 0);
  if (code.endsWith(":") || opened > 0) return indent + INDENT;
  if (/^\s*(return|pass|break|continue|raise)\b/.test(code)) return indent.slice(INDENT.length);
  return indent;
}

/**
 * @param {string} line
 * @returns {boolean} whether a string that begins in the line does not end in it
 */
export function endsInString(line) {
  return /^[^#'"]*['"]/.test(withoutStrings(line).replaceAll("''", ""));
}

/**
 * The spaces from the end of `line` to the next indentation stop.
 *
 * @param {string} line
 * @returns {string}
 */
export function toNextStep(line) {
  return " ".repeat(INDENT.length - (line.length % INDENT.length));
}

/**
 * @param {string} line
 * @returns {string} with each string that ends in it replaced by an empty string
 */
function withoutStrings(line) {
  return line.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, "''");
}
