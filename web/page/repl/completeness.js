/**
 * Whether an input is complete, from Python's lexical structure alone: brackets, strings, f-strings
 * with their fields, comments, joined lines and blocks. The answer is needed on the keystroke, too soon to ask Python;
 * test_repl.py compares the answers with Python's own.
 */

/**
 * @typedef {{ kind: "bracket", close: string } | { kind: "field" }
 *   | { kind: "f-string" | "format", quote: string }} Open something that must still be closed
 *
 * @typedef {object} LogicalLine
 * @property {number} start index of its first token
 * @property {boolean} isIndented
 * @property {string} last its last token
 */

/** A Map, because an object also has names such as "constructor". */
const CLOSE = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);
const F_PREFIX = /^(f|fr|rf)$/i;
const CONTINUES_A_BLOCK = /(elif|else|except|finally)\b/y;
const CODE =
  /(?<blank>[ \t\f]+|#[^\n]*)|(?<join>\\\n[ \t]*)|(?<newline>\n)|(?<prefix>\w*)(?<quote>"""|'''|["'])|\w+|./sy;
/** The part of a line such as `%time x` before its code (magics.py). */
const MAGIC = /%%?[a-z]\w*[ \t]*(-[a-z][ \t]*\d+[ \t]*)*/iy;
const LITERAL = /\{\{|\}\}|\\N\{[^}\n]*\}|\\[^{}]|[^{}\\"'\n]+|./sy;
/** The text from after an opening quote to the closing quote. @type {Record<string, RegExp>} */
const REST = {
  '"': /(?:\\.|[^\\\n"])*"/sy,
  "'": /(?:\\.|[^\\\n'])*'/sy,
  '"""': /(?:\\.|"(?!"")|[^\\"])*"""/sy,
  "'''": /(?:\\.|'(?!'')|[^\\'])*'''/sy,
};
const ENDS_IN_A_JOIN = /(?:\\.|[^\\\n])*\\\n?$/sy;

/**
 * Whether Enter should run this, rather than begin another line. As in a terminal, an empty line ends an indented
 * block. Input that cannot become valid counts as complete: running it reports the error.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function isComplete(text) {
  const scanner = new Scanner(text);
  scanner.scan();
  const [first, last] = [scanner.lines.at(0), scanner.lines.at(-1)];
  if (scanner.isBroken || first?.isIndented) return true;
  if (scanner.isCut || scanner.open.length) return false;
  if (scanner.isCell) return last !== undefined && /\n[ \t]*$/.test(text);
  if (!last) return true;
  if (last.last === ":" || text[last.start] === "@") return false;
  if (/\n[ \t]*$/.test(text)) return true;
  return !last.isIndented && !matchAt(CONTINUES_A_BLOCK, text, last.start);
}

class Scanner {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    /** @type {Open[]} innermost last */
    this.open = [];
    /** @type {LogicalLine[]} the lines that are not blank */
    this.lines = [];
    /** @type {LogicalLine | null} */
    this.line = null;
    /** The start of the code after the last magic. */
    this.margin = 0;
    /** The first line is a magic that takes all following lines. */
    this.isCell = /^%%[a-z]/i.test(text);
    /** The text ends within a multi-line string or with a backslash. */
    this.isCut = false;
    this.isBroken = false;
  }

  scan() {
    while (this.at < this.text.length && !this.isBroken && !this.isCut) {
      const inner = this.open.at(-1);
      if (inner && "quote" in inner) this.literal(inner);
      else this.code(inner);
    }
  }

  /** @param {Open | undefined} inner */
  code(inner) {
    const start = this.at;
    if (!inner && (start === 0 || this.text[start - 1] === "\n") && this.match(MAGIC)) {
      this.margin = this.at;
      return;
    }
    const match = /** @type {RegExpExecArray} */ (this.match(CODE));
    const { blank, join, newline, prefix, quote } = match.groups ?? {};
    if (newline && !inner) this.line = null;
    if (join) this.isCut = this.at === this.text.length;
    if (blank || join || newline) return;
    this.note(start, match[0]);
    if (quote) this.string(prefix, quote);
    else if (match[0] === "\\") this.backslash();
    else this.punctuation(match[0], inner);
  }

  /**
   * @param {number} start
   * @param {string} token
   */
  note(start, token) {
    if (!this.line) {
      const isIndented = start !== this.margin && /[ \t]/.test(this.text[start - 1] ?? "");
      this.line = { start, isIndented, last: token };
      this.lines.push(this.line);
    }
    this.line.last = token;
  }

  /** A backslash that is not a line continuation. */
  backslash() {
    if (this.at === this.text.length) this.isCut = true;
    else this.isBroken = true;
  }

  /**
   * @param {string} token
   * @param {Open | undefined} inner
   */
  punctuation(token, inner) {
    const close = CLOSE.get(token);
    if (close) {
      this.open.push({ kind: "bracket", close });
    } else if (token === ":" && inner?.kind === "field") {
      this.open.push({ kind: "format", quote: this.innermostQuote() });
    } else if (token === ")" || token === "]" || token === "}") {
      this.close(token, inner);
    }
  }

  /**
   * @param {string} token
   * @param {Open | undefined} inner
   */
  close(token, inner) {
    const expected = inner?.kind === "bracket" ? inner.close : "}";
    if (inner && token === expected) this.open.pop();
    else this.isBroken = true;
  }

  innermostQuote() {
    const string = this.open.findLast((open) => open.kind === "f-string");
    return string && "quote" in string ? string.quote : "";
  }

  /**
   * @param {string} prefix
   * @param {string} quote
   */
  string(prefix, quote) {
    if (F_PREFIX.test(prefix)) this.open.push({ kind: "f-string", quote });
    else if (!this.match(REST[quote])) this.unterminated(quote);
  }

  /** @param {string} quote */
  unterminated(quote) {
    if (quote.length === 3 || matchAt(ENDS_IN_A_JOIN, this.text, this.at)) this.isCut = true;
    else this.isBroken = true;
  }

  /** @param {Open & { quote: string }} inner an f-string, or a format specifier within one */
  literal(inner) {
    if (inner.kind === "f-string" && this.text.startsWith(inner.quote, this.at)) {
      this.at += inner.quote.length;
      this.open.pop();
      this.note(this.at, inner.quote);
      return;
    }
    const [token] = /** @type {RegExpExecArray} */ (this.match(LITERAL));
    if (token === "{") {
      this.open.push({ kind: "field" });
    } else if (inner.kind === "format" && token.startsWith("}")) {
      this.at += 1 - token.length; // the second brace does not belong to it
      this.open.splice(-2);
    } else if (token === "}" || (token === "\n" && inner.quote.length === 1)) {
      this.isBroken = true;
    } else if (token === "\\") {
      this.backslashInLiteral();
    }
  }

  /** A backslash before a brace, or at the very end. */
  backslashInLiteral() {
    this.isCut = this.at === this.text.length;
  }

  /** @param {RegExp} pattern */
  match(pattern) {
    const found = matchAt(pattern, this.text, this.at);
    if (found) this.at += found[0].length;
    return found;
  }
}

/**
 * @param {RegExp} pattern a sticky one
 * @param {string} text
 * @param {number} at
 */
function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
