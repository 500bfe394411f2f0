/**
 * A session is open in at most one tab: a tab holds a lock with the session's name until it is closed, reloaded or has
 * crashed. Without the Web Locks API (pages in insecure contexts), sessions are never considered open elsewhere.
 */

const PREFIX = "py_tensor session ";

/**
 * @param {string} id
 * @param {number} patience ms; time to wait, because the tab's previous page may not be gone yet
 * @returns {Promise<(() => void) | null>} releases the session; null if another tab has it
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

/** @returns {Promise<Set<string>>} the sessions that are open in any tab */
export async function openSessions() {
  const held = (await navigator.locks?.query())?.held ?? [];
  return new Set(held.flatMap(({ name }) => (name?.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [])));
}
