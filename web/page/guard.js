/**
 * Reports a module of the page that does not load, because then no module runs. This is the only classic script, so it
 * depends on nothing. If it does not load either, or the server does not answer, index.html and style.css show the
 * element `late`.
 */

{
  const fail = () => {
    const banner = document.getElementById("banner");
    const status = document.getElementById("status");
    if (!banner || !status || "pyTensor" in window) return; // otherwise the page reports errors itself
    const again = Object.assign(document.createElement("button"), { type: "button", className: "button" });
    again.textContent = "Try again";
    again.addEventListener("click", () => location.reload());
    const words = Object.assign(document.createElement("p"), { className: "words" });
    words.textContent = "Part of this page could not be loaded. The server may be gone, or have a newer version.";
    const text = Object.assign(document.createElement("div"), { className: "banner-text" });
    text.append(words, again);
    banner.dataset.kind = "failed";
    banner.replaceChildren(text);
    banner.hidden = false;
    status.dataset.state = "failed";
    document.getElementById("status-text")?.replaceChildren("The page did not load");
    for (const id of ["late", "boot-progress"]) document.getElementById(id)?.remove();
  };

  // An error event of a script element: this module, or one that it imports, did not load.
  const listener = (/** @type {Event} */ { target }) => {
    if (target instanceof HTMLScriptElement) fail();
  };
  addEventListener("error", listener, { capture: true });
}
