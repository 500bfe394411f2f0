/**
 * The views of the page, in the order of their tabs. What the first one needs is there from the beginning; the others
 * come when they are first opened: their scripts and style sheets are bundles of their own. The build writes a tab and
 * a panel for each view into the page.
 */

/**
 * @typedef {object} Parts what a view works with
 * @property {import("./engine.js").Engine} engine
 * @property {import("./repl/console.js").Console} repl
 * @property {import("./editor/toggle.js").EditorToggle} editor
 */

/**
 * @typedef {object} View
 * @property {(path: string) => void | Promise<void>} show what follows the view's name in the address; "" is its first page
 * @property {() => void} [leave] another view is shown
 */

/**
 * @typedef {object} Entry
 * @property {string} name in the address (#gallery, #gallery/mandelbrot), and in the ids of its tab and its panel
 * @property {string} heading what its tab says
 * @property {string[]} styles its style sheets, within the page's folder
 * @property {() => Promise<{ open: (parts: Parts) => View }>} [load]
 */

/** The editor, which the console opens beside itself (editor/toggle.js). */
export const EDITOR = {
  styles: ["page/editor/code.css", "page/editor/editor.css"],
  load: () => import("./editor/pane.js"),
};

/** What has a program of a view edited where it stands. */
export const PROGRAM = { styles: ["page/editor/code.css"], load: () => import("./editor/program.js") };

const READING = "page/ui/reading.css";

/** An address that names none is of the first one. @type {Entry[]} */
export const VIEWS = [
  { name: "console", heading: "Console", styles: ["page/index.css"] },
  {
    name: "gallery",
    heading: "Gallery",
    styles: [READING, "page/gallery/gallery.css"],
    load: () => import("./gallery/gallery.js"),
  },
  {
    name: "learn",
    heading: "How it works",
    styles: [READING, "page/learn/learn.css"],
    load: () => import("./learn/learn.js"),
  },
  {
    name: "reference",
    heading: "Reference",
    styles: [READING, "page/reference/reference.css"],
    load: () => import("./reference/reference.js"),
  },
  {
    name: "benchmarks",
    heading: "Benchmarks",
    styles: ["page/bench/bench.css"],
    load: () => import("./bench/panel.js"),
  },
];
