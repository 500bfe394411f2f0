/** How workers fetch the page's own files. */

/**
 * @param {string} path within the page's folder
 * @returns {string} its URL
 */
export function urlOf(path) {
  return new URL(`../${path}`, import.meta.url).href;
}

/** A file could not be loaded. */
export class NotLoaded extends Error {}

/**
 * @param {string} path within the page's folder
 * @returns {Promise<Response>} rejected if the server does not have it, or does not respond
 */
export function fetchFile(path) {
  return arrived(fetch(urlOf(path)), path);
}

/**
 * @param {Promise<Response>} asked
 * @param {string} name of the file, for messages
 * @returns {Promise<Response>} a successful response
 * @throws {NotLoaded}
 */
export async function arrived(asked, name) {
  const response = await asked.catch((error) => {
    throw new NotLoaded(`${name} could not be loaded (${error.message})`);
  });
  if (response.ok) return response;
  throw new NotLoaded(`${name} could not be loaded (${response.status} ${response.statusText})`);
}

/** The timeout of a synchronous request. */
const STANDSTILL_MS = 60_000;

/**
 * Fetches a file synchronously, which is only possible in a worker.
 *
 * @param {string} path within the page's folder
 * @returns {Uint8Array}
 * @throws {NotLoaded}
 */
export function fetchNow(path) {
  const request = new XMLHttpRequest();
  request.open("GET", urlOf(path), false);
  request.responseType = "arraybuffer";
  request.timeout = STANDSTILL_MS;
  try {
    request.send();
  } catch {
    throw new NotLoaded("the server of this page did not answer");
  }
  if (request.status === 200) return new Uint8Array(request.response);
  throw new NotLoaded(`the server of this page answered ${request.status} ${request.statusText} for ${path}`);
}

/**
 * @param {Response} response a file in gzip format, whatever its name
 * @returns {Response} its contents
 */
export function unpacked({ body }) {
  return new Response(body?.pipeThrough(new DecompressionStream("gzip")));
}

/** The page's root on its host, and the build that this file belongs to, both from this file's URL. */
const [, root, ownBuild] = /^(.*\/)builds\/([0-9a-f]+)\//.exec(import.meta.url) ?? [];

/** The timeout for asking the server which build it has; messages to the user wait for this. */
const PATIENCE_MS = 2000;

/**
 * Whether a file of this build is missing because the server has another build now.
 *
 * @param {string} [path] within the page's folder; any file shows whether the whole build is gone
 * @returns {Promise<boolean>} also false if the server does not respond soon
 */
export async function isOutdated(path = "build.json") {
  if (!root) return false;
  /** @type {RequestInit} */
  const options = { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) };
  try {
    const served = await fetch(`${root}build.json`, options);
    if (!served.ok || (await served.json()).build === ownBuild) return false;
    const { status, body } = await fetch(urlOf(path), options);
    void body?.cancel();
    return status === 404 || status === 410; // 410 comes from the service worker
  } catch {
    return false;
  }
}

/** @returns {Promise<boolean>} whether this build is available from the server or the service worker */
export async function isServed() {
  const options = /** @type {RequestInit} */ ({ cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  return fetch(urlOf("build.json"), options).then(
    () => true,
    () => false,
  );
}

/** @type {Promise<string> | undefined} */
let build;

/** @returns {Promise<string>} the identifier of this build of the page */
export function currentBuild() {
  build ??= fetchFile("build.json")
    .then((response) => response.json())
    .then((found) => found.build);
  return build;
}
