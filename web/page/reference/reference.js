/** The reference: every public function with an example, with a search, one entry at a time. */

import { button, byId, focusHeading, h, howToRun } from "../ui/dom.js";
import { codeBlock, highlightedPython } from "../ui/highlight.js";
import { InPlace } from "../ui/in_place.js";
import { inline, paragraphs } from "../ui/prose.js";
import { showConsole } from "../ui/tabs.js";
import { codeOf, programOf, sessionParts } from "./doctest.js";
import { loadReference } from "./entries.js";

/**
 * @typedef {object} Entry (web/build/reference.py)
 * @property {string} name
 * @property {string} section
 * @property {string} call
 * @property {string[]} aliases
 * @property {string} text
 * @property {{ title: string, items: { name: string, type: string, text: string }[] }[]} sections
 * @property {[term: string, text: string][]} facts
 * @property {string} example a session with prompts
 */

/** @param {import("../views.js").Parts} parts */
export function open(parts) {
  return new Reference(parts);
}

class Reference {
  /** @param {import("../views.js").Parts} parts */
  constructor(parts) {
    this.parts = parts;
    /** The example programs as edited, by name. @type {Map<string, InPlace>} */
    this.programs = new Map();
    this.repl = parts.repl;
    this.root = byId("panel-reference");
    /** The name of the function that is shown, or "". */
    this.path = "";
    /** The entry in the page. @type {Entry | undefined} */
    this.drawn = undefined;
    this.ready = this.load();
  }

  async load() {
    const { entries, absent } = await loadReference();
    this.entries = entries;
    this.absent = absent;
    this.search = h("input", { type: "search", placeholder: "Search", autocomplete: "off", spellcheck: false });
    this.search.maxLength = 100; // each word is compared with every entry
    this.search.setAttribute("aria-label", "Search the reference");
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => this.onSearchKey(event));
    this.count = h("p", { className: "count" });
    this.count.setAttribute("role", "status");
    this.list = h("nav", { className: "index" });
    this.list.setAttribute("aria-label", "Functions");
    this.list.addEventListener("keydown", (event) => this.onListKey(event));
    this.article = h("article", { className: "reading entry-page" });
    const title = h("h2", { className: "title" }, "Reference"); // above the list, if the article is below it
    const side = h("div", { className: "side" }, title, this.search, this.count, this.list);
    this.root.replaceChildren(h("div", { className: "reference" }, side, this.article));
    this.find();
  }

  /** @param {string} path the name of a function, or "" */
  async show(path) {
    await this.ready;
    this.path = path;
    const entry = this.entry();
    this.root.firstElementChild?.classList.toggle("has-entry", Boolean(entry));
    this.markCurrent();
    this.drawn = undefined;
    this.draw(false);
    if (!entry) return;
    this.list?.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
    window.scrollTo({ top: 0 });
    if (!this.root.querySelector(".side")?.contains(document.activeElement)) focusHeading(this.article);
  }

  /** @param {Entry} entry */
  page(entry) {
    const code = codeOf(entry.example);
    const file = `example_${entry.name.replaceAll(".", "_")}.py`;
    const title = `the example of ${entry.name}`;
    const label = `Example of ${entry.name}`;
    const program =
      this.programs.get(entry.name) ??
      new InPlace(this.parts, title, label, programOf(entry.example), sessionBlock(entry.example), file);
    this.programs.set(entry.name, program);
    const open = button("Open in the console", "button", () => {
      showConsole();
      this.repl.offer(code, `The example of ${entry.name} is at the prompt. To run it, ${howToRun()}.`);
    });
    return [
      h("p", { className: "crumbs" }, h("a", { href: "#reference" }, "All functions"), ` · ${entry.section}`),
      h("h2", { tabIndex: -1, className: "name" }, entry.name),
      h("p", { className: "call" }, h("code", {}, highlightedPython(entry.call))),
      ...(entry.aliases.length ? [h("p", { className: "aliases" }, "Also ", ...listed(entry.aliases))] : []),
      ...paragraphs(entry.text),
      ...(entry.facts.length ? [facts(entry.facts)] : []),
      ...entry.sections.flatMap(section),
      ...(entry.example ? [h("h3", {}, "Example"), program.place, program.running] : []),
      ...(entry.example ? [h("div", { className: "actions" }, ...program.buttons, open)] : []),
    ];
  }

  /** The entry that is shown. */
  entry() {
    return this.entries?.find(({ name }) => name === this.path);
  }

  markCurrent() {
    for (const link of this.links()) {
      if (link.dataset.name === this.path) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** Show the entries that match the search, in the index and in the list of all functions. */
  find() {
    const words = this.search?.value.trim() ?? "";
    const groups = words ? found(this.entries ?? [], words) : bySection(this.entries ?? []);
    this.groups = groups;
    this.list?.replaceChildren(...groups.map(group));
    this.markCurrent();
    const count = groups.reduce((sum, [, members]) => sum + members.length, 0);
    if (this.count) this.count.textContent = words ? (count ? `${count} found` : "No matches.") : "";
    this.draw(words !== "" && count === 0);
  }

  /** @param {boolean} isInVain whether a search found nothing; then no entry is shown */
  draw(isInVain) {
    const entry = isInVain ? undefined : this.entry();
    if (entry && entry === this.drawn) return;
    this.drawn = entry;
    this.article?.replaceChildren(...(entry ? this.page(entry) : this.introduction()));
  }

  introduction() {
    const words = this.search?.value.trim();
    if (!words) return introduction(this.path, this.groups ?? []);
    const absent = Object.entries(this.absent ?? {}).filter(([name]) => isMeant(name, words.toLowerCase()));
    const names = Map.groupBy(absent, ([, instead]) => instead);
    return [
      h("h2", {}, `Search: ${words}`),
      ...[...names].map(([instead, pairs]) => {
        const missing = pairs.flatMap(([name], i) => [i ? " or " : "There is no ", h("code", {}, name)]);
        return h("p", {}, ...missing, `: ${instead}.`);
      }),
      ...(this.groups?.length || absent.length ? overviewOf(this.groups ?? []) : [h("p", {}, "No matches.")]),
    ];
  }

  /** @param {KeyboardEvent} event Enter opens the first match, Down moves to it */
  onSearchKey(event) {
    const first = this.links()[0];
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    } else if (event.key === "Enter" && first) {
      first.click();
    }
  }

  /** @param {KeyboardEvent} event Up and Down move through the list, and from its top to the search */
  onListKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const links = this.links();
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement)) + step;
    if (at < 0) this.search?.focus();
    else links[at]?.focus();
  }

  /** @returns {HTMLAnchorElement[]} the visible entries */
  links() {
    return [...(this.list?.querySelectorAll("a") ?? [])];
  }
}

/** @typedef {[title: string, members: Entry[]]} Group */

/**
 * Whether a missing name matches the search.
 *
 * @param {string} name `pt.grad` or `x.grad`
 * @param {string} words in lower case
 */
function isMeant(name, words) {
  const bare = words.replace(/\(\)$/, "");
  return name === bare || name.replace(/^\w+\./, "") === bare;
}

/**
 * @param {Entry[]} entries
 * @returns {Group[]}
 */
function bySection(entries) {
  return [...Map.groupBy(entries, ({ section: title }) => title)];
}

/**
 * @param {Entry[]} entries
 * @param {string} words
 * @returns {Group[]} entries whose name matches, best first; then those whose text contains all the words
 */
function found(entries, words) {
  const parts = words.toLowerCase().split(/\s+/);
  /** @type {[entry: Entry, rank: number][]} */
  const ranked = entries.map((entry) => [entry, rankOf(entry, words)]);
  const named = ranked.filter(([, rank]) => rank < UNNAMED).sort(([, a], [, b]) => a - b);
  const others = ranked.filter(
    ([entry, rank]) => rank === UNNAMED && parts.every((part) => textOf(entry).includes(part)),
  );
  /** @type {Group[]} */
  const groups = [
    ["By name", named.map(([entry]) => entry)],
    ["In the text", others.map(([entry]) => entry)],
  ];
  return groups.filter(([, members]) => members.length);
}

const UNNAMED = 4;

/**
 * Names count with and without what is before their last dot: `Tensor.T` is found by `T`.
 *
 * @param {Entry} entry
 * @param {string} words
 * @returns {number} 0 if the name is equal, 1 except for its case, 2 if it begins so, 3 if it contains the words
 */
function rankOf({ name, aliases }, words) {
  const names = [name, ...aliases].flatMap((each) => [each, each.replace(/^[\w.]+\.(?=\w+$)/, "")]);
  if (names.includes(words)) return 0;
  const [lower, wanted] = [names.map((each) => each.toLowerCase()), words.toLowerCase()];
  if (lower.includes(wanted)) return 1;
  if (lower.some((each) => each.startsWith(wanted))) return 2;
  return lower.some((each) => each.includes(wanted)) ? 3 : UNNAMED;
}

/** @param {Entry} entry */
function textOf({ name, aliases, text, section: title, sections, facts: pairs }) {
  const items = sections.flatMap((each) => each.items.flatMap((item) => [item.name, item.text]));
  return [name, ...aliases, title, text, ...items, ...pairs.flat()].join(" ").toLowerCase();
}

/** @param {Group} group */
function group([title, members]) {
  return h("section", {}, h("h2", {}, title), h("ul", {}, ...members.map((entry) => h("li", {}, link(entry)))));
}

/** @param {Entry} entry */
function link({ name }) {
  const parts = name.split(/(?<=[._])/); // a long name may break here
  const made = h("a", { href: `#reference/${name}` }, ...parts.flatMap((part) => [part, h("wbr")]));
  made.dataset.name = name;
  return made;
}

/**
 * @param {string} path of an unknown entry, or ""
 * @param {Group[]} groups of all entries
 */
function introduction(path, groups) {
  const count = groups.reduce((sum, [, members]) => sum + members.length, 0);
  const missing = path ? [h("p", { className: "note" }, `There is no function “${path}”.`)] : [];
  return [
    ...missing,
    h("h2", { className: "title" }, "Reference"),
    ...paragraphs(
      `${count} functions, methods and properties of \`pt\` (\`py_tensor\`). Names and meaning are NumPy's ` +
        "wherever NumPy has them. For `pt.random.Generator`, `pt.testing` " +
        "and `pt.lib.stride_tricks`, use `help` in the console.\n\nEvery entry has an example that the tests run. " +
        "Run here, it shares the variables of the console. " +
        "“Accuracy” is the largest error that the tests allow on any adapter, in units in the last place (ulp). " +
        "“dtypes” are those of GPU devices; `cpu` has `float64` and `complex128` too.",
    ),
    ...overviewOf(groups),
  ];
}

/** @param {Group[]} groups */
function overviewOf(groups) {
  return groups.length ? [h("div", { className: "overview" }, ...groups.flatMap(overview))] : [];
}

/** @param {Group} section */
function overview([title, members]) {
  const rows = members.flatMap(({ name, text }) => [
    h("dt", {}, h("a", { href: `#reference/${name}` }, h("code", {}, name))),
    h("dd", {}, ...inline(text.split("\n\n")[0].replaceAll("\n", " "))),
  ]);
  return [h("h3", {}, title), h("dl", { className: "summaries" }, ...rows)];
}

/** @param {[term: string, text: string][]} pairs */
function facts(pairs) {
  return h("dl", { className: "facts" }, ...pairs.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
}

/** @param {Entry["sections"][number]} section */
function section({ title, items }) {
  const rows = items.flatMap(({ name, type, text }) => {
    const kind = type ? [" ", h("span", { className: "type" }, type)] : [];
    return [h("dt", {}, h("code", {}, name), ...kind), h("dd", {}, ...inline(text))];
  });
  return [h("h3", {}, title), h("dl", { className: "terms" }, ...rows)];
}

/** @param {string} example */
function sessionBlock(example) {
  const fragment = document.createDocumentFragment();
  for (const { code, output } of sessionParts(example)) {
    for (const [i, line] of code.split("\n").entries()) {
      fragment.append(h("span", { className: "prompt" }, i ? "... " : ">>> "), highlightedPython(line), "\n");
    }
    if (output) fragment.append(`${output}\n`);
  }
  return codeBlock(fragment, "Example");
}

/** @param {string[]} names */
function listed(names) {
  return names.flatMap((name, i) => [...(i ? [", "] : []), h("code", {}, name)]);
}
