/** The page's own files, as its workers get them. */

/**
 * @param {string} path within the page's folder
 * @returns {string} its URL
 */
export function urlOf(path) {
  return new URL(`../${path}`, import.meta.url).href;
}

/** A file did not come. */
export class NotLoaded extends Error {}

/**
 * @param {string} path within the page's folder
 * @returns {Promise<Response>} rejected where the server does not have it, or does not answer
 */
export function fetchFile(path) {
  return arrived(fetch(urlOf(path)), path);
}

/**
 * @param {Promise<Response>} asked
 * @param {string} name of what was asked for
 * @returns {Promise<Response>} one that has it
 * @throws {NotLoaded}
 */
export async function arrived(asked, name) {
  const response = await asked.catch((error) => {
    throw new NotLoaded(`${name} could not be loaded (${error.message})`);
  });
  if (response.ok) return response;
  throw new NotLoaded(`${name} could not be loaded (${response.status} ${response.statusText})`);
}

/** So long a server may take for a file that the worker stands still for. */
const STANDSTILL_MS = 60_000;

/**
 * A file for which the worker stands still, in a worker alone.
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
 * @param {Response} response a file that is gzip's, whatever its name
 * @returns {Response} what is in it
 */
export function unpacked({ body }) {
  return new Response(body?.pipeThrough(new DecompressionStream("gzip")));
}

/** Where the page lies on its host, and the build that this file is of: its address says both. */
const [, root, ownBuild] = /^(.*\/)builds\/([0-9a-f]+)\//.exec(import.meta.url) ?? [];

/** So long a server may take to say what it has: what is to be told meanwhile waits for it. */
const PATIENCE_MS = 2000;

/**
 * Whether a file of this build is gone, because the server has another build now.
 *
 * @param {string} [path] within the page's folder; any file tells whether the whole build is gone
 * @returns {Promise<boolean>} false as well where the server does not answer soon
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
    return status === 404 || status === 410; // the service worker's word for it
  } catch {
    return false;
  }
}

/** @returns {Promise<boolean>} whether this build is to be had: from the server, or from the service worker */
export async function isServed() {
  const options = /** @type {RequestInit} */ ({ cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  return fetch(urlOf("build.json"), options).then(
    () => true,
    () => false,
  );
}

/** @type {Promise<string> | undefined} */
let build;

/** @returns {Promise<string>} what tells this build of the page from every other one */
export function currentBuild() {
  build ??= fetchFile("build.json")
    .then((response) => response.json())
    .then((found) => found.build);
  return build;
}
