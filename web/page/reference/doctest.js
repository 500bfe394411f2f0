/** Doctest sessions: inputs after prompts, and their outputs. */

/**
 * @param {string} session
 * @returns {{ code: string, output: string }[]}
 */
export function sessionParts(session) {
  /** @type {{ code: string[], output: string[] }[]} */
  const parts = [];
  for (const line of session.split("\n")) {
    if (line.startsWith(">>> ")) parts.push({ code: [line.slice(4)], output: [] });
    else if (/^\.\.\.( |$)/.test(line)) parts.at(-1)?.code.push(line.slice(4));
    else parts.at(-1)?.output.push(line);
  }
  return parts.map(({ code, output }) => ({ code: code.join("\n"), output: output.join("\n").trimEnd() }));
}

/**
 * @param {string} session
 * @returns {string} its inputs, as one piece of code
 */
export function codeOf(session) {
  return sessionParts(session)
    .map(({ code }) => code)
    .join("\n");
}

/**
 * @param {string} session
 * @returns {string} its inputs as a program, with a cell break after each input that has output
 */
export function programOf(session) {
  /** @type {string[][]} */
  const cells = [[]];
  for (const { code, output } of sessionParts(session)) {
    cells.at(-1)?.push(code);
    if (output) cells.push([]);
  }
  const texts = cells.filter((lines) => lines.length).map((lines) => `${lines.join("\n")}\n`);
  return texts.length > 1 ? texts.map((text) => `# %%\n${text}`).join("\n") : texts.join("");
}
