/** A session as a Python script that runs outside of the page. */

import { pythonLanguage } from "../vendor/codemirror.js";
import { isComplete } from "./completeness.js";

/** @typedef {ReturnType<typeof pythonLanguage.parser.parse>["topNode"]} SyntaxNode */

export const IMPORT = "import py_tensor as pt";
/** An input that is a request for help. */
const HELP = /^\s*\?|^[^\n#"']*\?{1,2}\s*$/;
/** The line of a magic, such as `%timeit -n 3 x` (magics.py): it begins with the part before its code. */
const MAGIC =
  /^%(%?)(time|timeit|profile|who|reset|matplotlib|config|load_ext|autoreload)\b[ \t]*(?:-[nr][ \t]*\d+[ \t]*)*/;
/** Magics that run their code once, as a script does. */
const RUNS_ONCE = /^(?:time|profile)$/;
const REPEATS = /^timeit$/;
/** One of several names of an import statement. */
const NAMED_MICROPIP = /\bmicropip(?:\s+as\s+\w+)?\s*,\s*|\s*,\s*micropip(?:\s+as\s+\w+)?\b/;
const PAGE_ONLY = "# micropip is only in Pyodide. Elsewhere, install these packages with pip.\n";
const RUN = "_runner.run(_input())";
const RUNNER = "import asyncio\n\n_runner = asyncio.Runner()";
const INDENT = "    ";

/**
 * @param {string[]} sources of inputs, in order
 * @returns {string} a script of them. Requests for help, most magics and statements that use micropip are comments. A
 *   statement with `await` is in a function, since Python allows it nowhere else.
 */
export function scriptOf(sources) {
  const inputs = sources.map((source) => (HELP.test(source) ? commented(source) : runnable(withoutMagics(source))));
  const head = inputs.some((code) => code.includes(RUN)) ? [IMPORT, RUNNER] : [IMPORT];
  const [first, ...rest] = inputs.join("\n\n").split(PAGE_ONLY);
  const code = rest.length ? first + PAGE_ONLY + rest.join("") : first; // it is said once
  return `${[...head, code].filter(Boolean).join("\n\n")}\n`;
}

/** @param {string} code */
function commented(code) {
  return code.replace(/^(?=.)/gm, "# ");
}

// Magics -------------------------------------------------------------------------------------------

/**
 * @param {string} source
 * @returns {string} Python: the code of magics that time it, without the magic; other magics as comments
 */
function withoutMagics(source) {
  const lines = source.split("\n");
  /** @type {string[]} */
  const parts = [];
  let first = 0;
  for (let end = 1; end <= lines.length; end++) {
    const part = lines.slice(first, end).join("\n");
    const isCell = MAGIC.exec(part)?.[1] === "%";
    const isEnd = !isCell && MAGIC.test(lines[end] ?? "") && isComplete(`${part.replace(MAGIC, "")}\n`);
    if (end < lines.length && !isEnd) continue; // a line in a string or a bracket begins no magic
    parts.push(withoutMagic(part));
    first = end;
  }
  return parts.join("\n");
}

/** @param {string} part of an input, with at most one magic, in its first line */
function withoutMagic(part) {
  const [prefix, percent, name] = MAGIC.exec(part) ?? [];
  if (prefix === undefined) return part;
  const code = part.slice(prefix.length);
  if (RUNS_ONCE.test(name)) return code.replace(/^\n/, "");
  if (percent) return commented(part);
  const statement = REPEATS.test(name) ? pythonLanguage.parser.parse(code).topNode.firstChild : null;
  const rest = statement ? prefix.length + code.slice(0, statement.to).trimEnd().length : 0;
  const at = part.indexOf("\n", rest);
  return at < 0 ? commented(part) : commented(part.slice(0, at)) + part.slice(at);
}

// Statements that do not run in a script -----------------------------------------------------------

/**
 * @param {string} source
 * @returns {string}
 */
function runnable(source) {
  let [code, at] = ["", 0];
  const { topNode } = pythonLanguage.parser.parse(source);
  for (let node = topNode.firstChild; node; node = node.nextSibling) {
    const { from, to } = node;
    const statement = source.slice(from, to).trimEnd();
    const { isAwaiting, isPageOnly, names, strings } = partsOf(node, source);
    if (!isAwaiting && !isPageOnly) continue;
    code += source.slice(at, from);
    at = from + statement.length;
    const others = node.name === "ImportStatement" ? statement.replace(NAMED_MICROPIP, "") : statement;
    if (isPageOnly) code += others === statement ? PAGE_ONLY + commented(statement) : others;
    else {
      const isText = (/** @type {number} */ place) => strings.some((one) => one.from < place && place < one.to);
      const type = node.name === "AssignStatement" ? node.getChild("TypeDef") : null; // a global has none
      const indented = statement.replace(/^(?=.)/gm, (_, place) => (isText(from + place) ? "" : INDENT));
      const body = type ? indented.replace(source.slice(type.from, type.to), "") : indented;
      const outer = names.size ? `${INDENT}global ${[...names].join(", ")}\n` : "";
      code += `async def _input():\n${outer}${body}\n\n${RUN}`;
    }
  }
  return code + source.slice(at);
}

/**
 * @param {SyntaxNode} node a statement at the top of `source`
 * @param {string} source
 */
function partsOf(node, source) {
  /** All names, of variables or not. @type {Set<string>} */
  const names = new Set();
  /** @type {{ from: number, to: number }[]} */
  const strings = [];
  let [depth, isAwaiting, isPageOnly] = [0, false, false];
  const isFunction = (/** @type {string} */ name) => name === "FunctionDefinition" || name === "LambdaExpression";
  node.cursor().iterate(
    ({ name, from, to }) => {
      if (isFunction(name)) depth += 1;
      if (/String$/.test(name)) strings.push({ from, to });
      if (name === "VariableName") names.add(source.slice(from, to));
      if (depth) return;
      if (name === "AwaitExpression" || name === "async") isAwaiting = true;
      if (name === "VariableName" && source.slice(from, to) === "micropip") isPageOnly = true;
    },
    ({ name }) => {
      if (isFunction(name)) depth -= 1;
    },
  );
  return { names, strings, isAwaiting, isPageOnly };
}
