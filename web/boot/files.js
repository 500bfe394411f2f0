/** The page's own files, as its workers get them. */

/**
 * @param {string} path within the page's folder
 * @returns {string} its URL
 */
export function urlOf(path) {
  return new URL(`../${path}`, import.meta.url).href;
}

/**
 * @param {string} path within the page's folder
 * @returns {Promise<Response>} rejected, with the path, where the server does not have it
 */
export async function fetchFile(path) {
  const response = await fetch(urlOf(path));
  if (!response.ok) {
    throw new Error(`${path} could not be loaded (${response.status} ${response.statusText})`);
  }
  return response;
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
