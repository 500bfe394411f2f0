/**
 * One session is open in one tab: a tab holds a lock of the session's name until it is closed, reloaded or dead.
 * Where the browser has no locks (pages that are not served securely), no session is ever open elsewhere.
 */

const PREFIX = "py_tensor session ";

/**
 * @param {string} id
 * @param {number} patience ms; the page that was here before may not be gone yet
 * @returns {Promise<(() => void) | null>} gives the session up; null where another tab has it
 */
export function claim(id, patience) {
  if (!navigator.locks) return Promise.resolve(() => {});
  const options = patience ? { signal: AbortSignal.timeout(patience) } : { ifAvailable: true };
  return new Promise((resolve) => {
    const hold = (/** @type {Lock | null} */ lock) =>
      lock ? new Promise((release) => resolve(() => release(undefined))) : resolve(null);
    navigator.locks.request(PREFIX + id, options, hold).catch(() => resolve(null));
  });
}

/** @returns {Promise<Set<string>>} the sessions that some tab has open */
export async function openSessions() {
  const held = (await navigator.locks?.query())?.held ?? [];
  return new Set(held.flatMap(({ name }) => (name?.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [])));
}
