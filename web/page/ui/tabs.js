/**
 * The tabs of the views (../views.js), by the ARIA tabs pattern. The URL's fragment names the view, and the page within
 * it:
 * #gallery, #gallery/mandelbrot, #reference/softmax.
 */

import { VIEWS } from "../views.js";
import { byId, h, markMore } from "./dom.js";
import { warnIfOutdated } from "./status.js";
import { loadStyles } from "./styles.js";

/** @typedef {import("../views.js").Entry} Entry */
/** @typedef {import("../views.js").Parts} Parts */
/** @typedef {import("../views.js").View} View */

const [FIRST] = VIEWS;

/** Show the console, as if its tab had been chosen. */
export function showConsole() {
  byId("tab-console").click();
}

/** @param {Parts} parts */
export function setUpTabs(parts) {
  const tabs = new Tabs(parts);
  window.addEventListener("hashchange", () => tabs.showAddress());
  tabs.showAddress();
}

class Tabs {
  /** @param {Parts} parts */
  constructor(parts) {
    this.parts = parts;
    this.tabs = VIEWS.map(({ name }) => byId(`tab-${name}`));
    this.shown = "";
    /** @type {Record<string, Promise<View>>} */
    this.views = {};
    /** @type {Record<string, string>} the last page of each view */
    this.paths = {};
    for (const [i, tab] of this.tabs.entries()) {
      tab.addEventListener("click", () => this.choose(VIEWS[i].name));
      tab.addEventListener("keydown", (event) => this.onKey(event, i));
    }
    markMore(/** @type {HTMLElement} */ (this.tabs[0].parentElement));
  }

  /** @param {string} view shown at its last page; if chosen again, at its first page */
  choose(view) {
    const path = view === this.shown ? "" : (this.paths[view] ?? "");
    const address = view === FIRST.name ? location.pathname + location.search : `#${path ? `${view}/${path}` : view}`;
    if (new URL(address, location.href).href !== location.href) history.pushState(null, "", address);
    this.show(view, path);
  }

  showAddress() {
    const [view, ...rest] = location.hash.slice(1).split("/");
    if (VIEWS.some(({ name }) => name === view)) this.show(view, decoded(rest.join("/")));
    else this.show(FIRST.name, "");
  }

  /**
   * @param {string} view
   * @param {string} path
   */
  async show(view, path) {
    if (view !== this.shown) this.leave();
    this.shown = view;
    this.paths[view] = path;
    for (const [i, { name }] of VIEWS.entries()) {
      const isShown = name === view;
      this.tabs[i].setAttribute("aria-selected", String(isShown));
      this.tabs[i].tabIndex = isShown ? 0 : -1;
      if (isShown) this.tabs[i].scrollIntoView({ block: "nearest", inline: "nearest" });
      byId(`panel-${name}`).hidden = !isShown;
    }
    const entry = VIEWS.find(({ name }) => name === view);
    if (!entry?.load) return;
    this.views[view] ??= this.open(entry.load, entry.styles);
    try {
      const made = await this.views[view];
      if (this.shown === view && this.paths[view] === path) await made.show(path);
    } catch (error) {
      delete this.views[view];
      const outdated = await warnIfOutdated();
      if (view in this.views) return; // it was chosen again in the meantime
      const words = outdated
        ? `A newer version of this page is available; reload to see this part (${error}).`
        : `This part of the page could not be loaded (${error}). Select it again to retry.`;
      byId(`panel-${view}`).replaceChildren(h("p", { className: "note" }, words));
    }
  }

  /**
   * @param {NonNullable<Entry["load"]>} load
   * @param {string[]} styles
   */
  async open(load, styles) {
    const [{ open }] = await Promise.all([load(), loadStyles(...styles)]);
    return open(this.parts);
  }

  async leave() {
    const name = this.shown;
    const left = await this.views[name]?.catch(() => null);
    if (this.shown !== name) left?.leave?.(); // unless it was chosen again while it loaded
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} i
   */
  onKey(event, i) {
    const last = VIEWS.length - 1;
    /** @type {Record<string, number>} */
    const targets = { ArrowLeft: i === 0 ? last : i - 1, ArrowRight: i === last ? 0 : i + 1, Home: 0, End: last };
    const target = this.tabs[targets[event.key]];
    if (!target) return;
    event.preventDefault();
    target.focus();
    target.click();
  }
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
