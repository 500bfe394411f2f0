/**
 * Withholds Cache Storage from the programs that run in a worker.
 *
 * The service worker verifies the files in it against lists that are in it too, so a program could replace a script of
 * the page there: at a later visit that would run in the page, under the page's policy. Nothing that Python's worker
 * runs needs it.
 */
export function withholdCaches() {
  withhold(self, "caches");
  withhold(navigator, "storageBuckets"); // each has its own
}

/**
 * @param {object} object
 * @param {string} name
 */
function withhold(object, name) {
  for (let holder = object; holder; holder = Object.getPrototypeOf(holder)) Reflect.deleteProperty(holder, name);
}
