/**
 * Where the worker begins: what Python is made of is asked for before the worker's own modules are, which are many.
 * What the page says meanwhile is kept for them.
 */

import "./boot/first_parts.js";

/** @type {MessageEvent[]} */
const early = [];

/** @param {MessageEvent} event */
function keep(event) {
  early.push(event);
}

self.addEventListener("message", keep);
try {
  await import("./worker.js");
} catch (error) {
  reportError(error); // the page hears of it
}
self.removeEventListener("message", keep);
for (const { data } of early) self.dispatchEvent(new MessageEvent("message", { data }));
