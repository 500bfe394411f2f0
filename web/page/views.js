/**
 * The views of the page, in the order of their tabs. The first one is part of the main bundle. The others are loaded
 * when first opened: their scripts and style sheets are separate bundles. The build writes a tab and a panel for each
 * view into the page.
 */

/**
 * @typedef {object} Parts the parts of the page that views use
 * @property {import("./engine.js").Engine} engine
 * @property {import("./repl/console.js").Console} repl
 * @property {import("./editor/toggle.js").EditorToggle} editor
 */

/**
 * @typedef {object} View
 * @property {(path: string) => void | Promise<void>} show the part of the URL after the view's name; "" is its first
 *   page
 * @property {() => void} [leave] called when another view is shown
 */

/**
 * @typedef {object} Entry
 * @property {string} name used in the URL (#gallery, #gallery/mandelbrot), and in the ids of its tab and panel
 * @property {string} heading label of its tab
 * @property {string[]} styles paths of its style sheets, within the page's folder
 * @property {() => Promise<{ open: (parts: Parts) => View }>} [load]
 */

/** The editor, opened beside the console (editor/toggle.js). */
export const EDITOR = {
  styles: ["page/editor/code.css", "page/editor/editor.css"],
  load: () => import("./editor/pane.js"),
};

/** Edits a program of a view in place. */
export const PROGRAM = { styles: ["page/editor/code.css"], load: () => import("./editor/program.js") };

const READING = "page/ui/reading.css";

/** A URL that names no view shows the first one. @type {Entry[]} */
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
