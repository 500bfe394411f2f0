/** Two views in one page, by the ARIA tabs pattern; the address says which (#benchmarks). */

import { byId } from "./dom.js";

const VIEWS = ["console", "benchmarks"];

export function setUpTabs() {
  const tabs = VIEWS.map((view) => byId(`tab-${view}`));

  /** @param {string} view */
  const show = (view) => {
    for (const [i, name] of VIEWS.entries()) {
      const isShown = name === view;
      tabs[i].setAttribute("aria-selected", String(isShown));
      tabs[i].tabIndex = isShown ? 0 : -1;
      byId(`panel-${name}`).hidden = !isShown;
    }
  };

  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener("click", () => {
      history.replaceState(null, "", i === 0 ? location.pathname : `#${VIEWS[i]}`);
      show(VIEWS[i]);
    });
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = tabs[(i + 1) % tabs.length];
      other.focus();
      other.click();
    });
  }
  const showHash = () => show(location.hash === "#benchmarks" ? "benchmarks" : "console");
  window.addEventListener("hashchange", showHash);
  showHash();
}
