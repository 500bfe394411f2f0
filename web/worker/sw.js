/**
 * The service worker: makes the page work offline, keeps builds from mixing, and makes the page cross-origin
 * isolated even if the host sets no headers.
 *
 * The page addresses its files below builds/BUILD/. A build is cached completely or not at all: every file in its
 * list (files.json, made by build.py), with the hash given there. So every later request of a page is answered from
 * its own build, even if the server has only a newer one. All other requests go to the server.
 *
 * Where the user allows packages from the internet (page/ui/packages.js), Python's worker gets a policy that names
 * their hosts. The page itself never does.
 *
 * A browser may damage its cache. So cached files are verified just like downloaded ones; a damaged file is deleted
 * and fetched again.
 */

/**
 * The headers of responses, the same as in serve.py; build.py fills them in.
 *
 * @type {Record<string, string>}
 */
const HEADERS = {};

/** The policy of a worker that may fetch packages from the internet: build.py writes it here. */
const PACKAGES_POLICY = "";

/**
 * Maps a file extension to its content type, the same as in serve.py; build.py fills it in.
 *
 * @type {Record<string, string>}
 */
const TYPES = {};

/**
 * @typedef {object} FilesOfBuild
 * @property {string} build
 * @property {Record<string, string>} files maps each path to its SHA-256
 * @property {string[]} onDemand files that are cached when first used
 * @property {string[]} onReturn those of onDemand that are also cached at the second visit
 *
 * @typedef {{ current: string | null, previous: string | null }} Kept the cached builds; open pages may use the
 *   previous one
 */

const SCOPE = new URL("./", self.location.href).href;
const FOLDER = "builds/";
/** Includes the scope, because the caches of an origin are shared by all its pages. */
const CACHE = `py_tensor ${SCOPE}`;
/** How long a visit waits for the server to name its build. */
const PATIENCE_MS = 200;
/** The delay before a new build is fetched, so that the page can start first. */
const FETCHED_AFTER_MS = 3000;
const DOWNLOADS_AT_A_TIME = 6;
/** The least time between two requests for the server's list, because a page requests many files at once. */
const LIST_REMEMBERED_MS = 5000;
/** The header with the hash of one of our own records: `kept`, or the list of a build. */
const DIGEST = "Content-SHA256";
const POLICY = "Content-Security-Policy";
/** Python's worker, and how a page asks for the one that may fetch packages (page/start.js). */
const [WORKER, WITH_PACKAGES] = ["worker/worker.js", "?packages=internet"];

/** Files that pages of uncached builds have requested since this worker started. @type {Set<string>} */
const used = new Set();

const worker = /** @type {any} */ (self);

worker.addEventListener("install", () => worker.skipWaiting());

// Once its build is cached, even the page of a first visit gets its later files from this worker.
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("message", (/** @type {any} */ event) => {
  if (event.data === "keep") event.waitUntil(keepServed());
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  /** @type {Request} */
  const request = event.request;
  const { origin, pathname, search } = new URL(request.url);
  if (request.method !== "GET" || !(origin + pathname).startsWith(SCOPE)) return;
  const path = (origin + pathname).slice(SCOPE.length);
  const [, build, file] = new RegExp(`^${FOLDER}([0-9a-f]+)/(.+)$`).exec(path) ?? [];
  if (build) {
    const asked = fileOf(build, file, request);
    const asksForPackages = file === WORKER && request.destination === "worker" && search === WITH_PACKAGES;
    const answered = asksForPackages ? asked.then((response) => withPackages(response, event.clientId)) : asked;
    event.respondWith(answered.catch(() => fetch(request)));
    event.waitUntil(asked.then(() => (used.has(file) ? keepUsed(file) : null)));
  } else if (request.mode === "navigate" && (path === "" || path === "index.html")) {
    const visit = answerVisit(request);
    event.respondWith(visit.then(({ response }) => response).catch(() => fetch(request)));
    event.waitUntil(visit.then(({ isCurrent }) => (isCurrent ? null : pause(FETCHED_AFTER_MS).then(keepServed))));
  } else {
    event.respondWith(fromServer(request));
  }
});

// Responses ----------------------------------------------------------------------------------------

/**
 * The page of the cached build, unless the server names another build within PATIENCE_MS.
 *
 * @param {Request} request
 * @returns {Promise<{ response: Response, isCurrent: boolean }>} isCurrent: there is no newer build to fetch
 */
async function answerVisit(request) {
  const { current } = await readKept();
  if (current === null) return { response: await fromServer(request), isCurrent: true }; // the page will ask to keep it
  const served = await Promise.race([servedBuild(), pause(PATIENCE_MS)]).catch(() => null);
  if (served && served !== current) {
    const response = await fromServer(request).catch(() => null);
    if (response?.ok) return { response, isCurrent: false };
  }
  return { response: await fileOf(current, "index.html", request), isCurrent: served === current };
}

/**
 * The server's version of a file. The browser revalidates its HTTP cache, which may hold an older build's file.
 *
 * @param {Request} request
 */
async function fromServer(request) {
  const response = await fetch(new Request(request, { cache: "no-cache" }));
  const hasPolicy = request.mode === "navigate" || request.destination === "worker";
  return hasPolicy && response.type === "basic" ? answer(response, response.body) : response;
}

/**
 * A file of a build. If the build is cached, its on-demand files are fetched at first use.
 *
 * @param {string} build
 * @param {string} path
 * @param {Request} request
 * @returns {Promise<Response>}
 */
async function fileOf(build, path, request) {
  const list = await readList(build);
  if (!list) {
    used.add(path);
    return (await unchanged(build, path)) ?? fromServer(request);
  }
  if (!(path in list.files)) return new Response(null, { status: 404, statusText: "Not Found" });
  const found = await keptFile(list, path);
  if (found) return forPage(found, path, list);
  const file = await download(list, path);
  if (!file) {
    // A file of a complete build is missing only if it was damaged: the next visit must use the server.
    if (!list.onDemand.includes(path)) await caches.delete(CACHE);
    return new Response(null, { status: 410, statusText: "Gone" });
  }
  // If there is no room in the cache, the file is used anyway.
  await put(cacheOf(build), path, file.clone()).catch(() => {});
  return forPage(file, path, list);
}

/**
 * A file of a build that is not cached yet, if the cached build has the same file.
 *
 * @param {string} build
 * @param {string} path
 * @returns {Promise<Response | undefined>}
 */
async function unchanged(build, path) {
  const { current } = await readKept();
  if (current === null) return undefined;
  const [older, list] = await Promise.all([readList(current), servedList(build).catch(() => null)]);
  return list && older?.files[path] === list.files[path] ? keptFile(older, path) : undefined;
}

/**
 * @param {Response} response the server's response
 * @param {BodyInit | null} body
 * @returns {Response} a response with our headers; the host's own policy, if it sets one, applies besides ours
 */
function answer(response, body) {
  const { status, statusText } = response;
  const headers = new Headers(HEADERS);
  const type = response.headers.get("Content-Type");
  if (type !== null) headers.set("Content-Type", type);
  for (const policy of policiesOf(response)) if (policy !== HEADERS[POLICY]) headers.append(POLICY, policy);
  return new Response(body, { status, statusText, headers });
}

/**
 * Python's worker, allowed to fetch packages where a page has started it. What runs in a worker can start one with any
 * address too, but cannot make the choice of the user.
 *
 * @param {Response} response
 * @param {string} clientId of who starts it
 */
async function withPackages(response, clientId) {
  const client = await worker.clients.get(clientId);
  if (client?.type !== "window" || response.headers.get(POLICY) !== HEADERS[POLICY]) return response;
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.set(POLICY, PACKAGES_POLICY);
  return new Response(response.body, { status, statusText, headers });
}

/**
 * @param {Response} file a file of the list
 * @param {string} path
 * @param {FilesOfBuild} list
 * @returns {Promise<Response>} the file to serve: in the page itself, file addresses are those of the build
 */
async function forPage(file, path, list) {
  return path === "index.html" ? answer(file, addressed(await file.text(), list)) : file;
}

// Cached builds ------------------------------------------------------------------------------------

/** @type {Promise<void> | null} */
let keeping = null;

/** Cache the server's current build, or continue one that is partly cached. */
function keepServed() {
  keeping ??= keepList().finally(() => {
    keeping = null;
  });
  return keeping;
}

async function keepList() {
  /** @type {FilesOfBuild} */
  const list = await (await fromServer(new Request(`${SCOPE}files.json`))).json();
  let kept = await readKept();
  if (list.build !== kept.current) {
    await removeAllBut([kept.current, kept.previous, list.build]); // remove the rest of earlier attempts, for room
    if (!(await readList(list.build))) await downloadAll(list, kept.current);
    kept = { current: list.build, previous: kept.current };
    await write(CACHE, "kept", kept);
  } else {
    for (const path of list.onReturn) await fileOf(list.build, path, new Request(addressOf(list.build, path)));
  }
  await removeAllBut([kept.current, kept.previous]);
}

/** @param {(string | null)[]} builds */
async function removeAllBut(builds) {
  const wanted = builds.map((build) => cacheOf(build ?? ""));
  const ours = (await caches.keys()).filter((name) => name.startsWith(cacheOf("")));
  for (const build of lists.keys()) if (!builds.includes(build)) lists.delete(build);
  await Promise.all(ours.filter((name) => !wanted.includes(name)).map((name) => caches.delete(name)));
}

/**
 * Cache all files of a build. The list is stored last, so it marks the build as complete.
 *
 * @param {FilesOfBuild} list
 * @param {string | null} olderBuild a cached build, from which unchanged files are copied
 */
async function downloadAll(list, olderBuild) {
  const older = olderBuild === null ? undefined : await readList(olderBuild);
  const paths = Object.keys(list.files);

  const next = async () => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
      if (await keptFile(list, path)) continue;
      const known = older?.files[path] === list.files[path] ? await keptFile(older, path) : undefined;
      const isOnDemand = list.onDemand.includes(path);
      const file = known ?? (await download(list, path, isOnDemand && !used.has(path)));
      if (file) await put(cacheOf(list.build), path, file);
      else if (!isOnDemand) throw new Error(`${path} is not part of build ${list.build}`);
    }
  };
  await Promise.all(Array.from({ length: DOWNLOADS_AT_A_TIME }, next));
  await write(cacheOf(list.build), "files.json", list);
}

/**
 * @param {FilesOfBuild} list
 * @param {string} path
 * @param {boolean} isIdle whether to take the file only from the browser's HTTP cache, which has it if a page used it
 * @returns {Promise<Response | null>} null if the file does not match the list
 */
async function download(list, path, isIdle = false) {
  /** @param {string} build */
  const downloadFrom = async (build) => {
    const asked = fetch(addressOf(build, path), {
      mode: "same-origin",
      cache: isIdle ? "only-if-cached" : "no-cache",
    });
    const response = await (isIdle ? asked.catch(() => null) : asked);
    if (!response?.ok) return null;
    const bytes = await response.arrayBuffer();
    return (await hashOf(bytes)) === list.files[path] ? keepable(response, path, bytes) : null;
  };
  const file = await downloadFrom(list.build);
  if (file || isIdle) return file;
  // The server's current build may have the same file, for example NumPy.
  const served = await servedBuild();
  return served && served !== list.build ? downloadFrom(served) : null;
}

/**
 * Cache a file that a page used before its build was cached. The browser's HTTP cache has it, so it is only
 * revalidated.
 *
 * @param {string} path
 */
async function keepUsed(path) {
  await keeping?.catch(() => {});
  const { current } = await readKept();
  const list = current === null ? undefined : await readList(current);
  if (!list?.onDemand.includes(path)) return;
  await fileOf(list.build, path, new Request(addressOf(list.build, path)));
}

/**
 * @param {string} html
 * @param {FilesOfBuild} list
 * @returns {string} the page with its file addresses below builds/BUILD/ (the same replacement as in build.py)
 */
function addressed(html, { build, files }) {
  return html.replaceAll(/\b(src|href)="([^"]+)"/g, (whole, attribute, path) =>
    path in files ? `${attribute}="${FOLDER}${build}/${path}"` : whole,
  );
}

/** @type {Map<string, FilesOfBuild>} lists of cached builds that have been read */
const lists = new Map();

/** @returns {Promise<Kept>} null for a build without a list, which is incomplete */
async function readKept() {
  /** @type {Kept | undefined} */
  const kept = await read(CACHE, "kept");
  const whole = async (/** @type {string | null | undefined} */ build) => {
    return build && (await readList(build)) ? build : null;
  };
  return { current: await whole(kept?.current), previous: await whole(kept?.previous) };
}

/**
 * @param {string} build
 * @returns {Promise<FilesOfBuild | undefined>} the list of a completely cached build
 */
async function readList(build) {
  const found = lists.get(build) ?? (await read(cacheOf(build), "files.json"));
  if (found) lists.set(build, found);
  return found;
}

// Reading and writing caches -----------------------------------------------------------------------

/**
 * @param {FilesOfBuild} list
 * @param {string} path
 * @returns {Promise<Response | undefined>} the cached file, if it exists and matches the list
 */
function keptFile(list, path) {
  return intact(cacheOf(list.build), path, (response) => hasOurHeaders(response, path) && list.files[path]);
}

/**
 * @param {string} cacheName
 * @param {string} path
 * @returns {Promise<any>} the record, if it exists and is intact
 */
async function read(cacheName, path) {
  const found = await intact(cacheName, path, (response) => response.headers.get(DIGEST));
  return found?.json();
}

/**
 * @param {string} cacheName
 * @param {string} path
 * @param {unknown} value
 */
async function write(cacheName, path, value) {
  const text = JSON.stringify(value);
  const digest = await hashOf(new TextEncoder().encode(text));
  await put(cacheName, path, new Response(text, { headers: { [DIGEST]: digest } }));
}

/**
 * Read an entry of a cache and verify it. A damaged entry is deleted and treated as missing.
 *
 * @param {string} cacheName
 * @param {string} path
 * @param {(response: Response) => string | null | false} digestOf returns the expected SHA-256
 * @returns {Promise<Response | undefined>} the original response, which may carry the browser's compiled code
 */
async function intact(cacheName, path, digestOf) {
  const find = () => caches.match(SCOPE + path, { cacheName });
  try {
    const [found, checked] = await Promise.all([find(), find()]);
    if (!found || !checked) return undefined;
    const bytes = await checked.arrayBuffer();
    if (found.status === 200 && (await hashOf(bytes)) === digestOf(found)) return found;
  } catch {
    // The entry is unreadable.
  }
  const cache = await caches.open(cacheName).catch(() => null);
  await cache?.delete(SCOPE + path).catch(() => {});
  return undefined;
}

/**
 * @param {string} cacheName
 * @param {string} path
 * @param {Response} response
 */
async function put(cacheName, path, response) {
  const cache = await caches.open(cacheName);
  await cache.put(SCOPE + path, response);
}

/**
 * @param {Response} response the server's response
 * @param {string} path
 * @param {ArrayBuffer} bytes
 * @returns {Response} a response whose content type is that of its extension, whatever the host sends
 */
function keepable(response, path, bytes) {
  const kept = answer(response, bytes);
  kept.headers.set("Content-Type", typeOf(path));
  return kept;
}

/**
 * @param {Response} response
 * @param {string} path
 * @returns {boolean} whether `keepable` may have made it; it may have the host's policy, too
 */
function hasOurHeaders({ headers }, path) {
  const wanted = { ...HEADERS, "Content-Type": typeOf(path) };
  const others = Object.entries(wanted).filter(([name]) => name !== POLICY);
  const hasPolicy = policiesOf({ headers }).includes(HEADERS[POLICY]);
  return hasPolicy && others.every(([name, value]) => headers.get(name) === value);
}

/**
 * @param {{ headers: Headers }} response
 * @returns {string[]} its policies, all of which apply
 */
function policiesOf({ headers }) {
  return headers.get(POLICY)?.split(/, */) ?? [];
}

/** @param {string} path */
function typeOf(path) {
  return TYPES[/\.[^./]*$/.exec(path)?.[0] ?? ""] ?? TYPES[""];
}

/**
 * @param {string} build
 * @param {string} path
 */
function addressOf(build, path) {
  return `${SCOPE}${FOLDER}${build}/${path}`;
}

/** @param {string} build */
function cacheOf(build) {
  return `${CACHE} ${build}`;
}

/** @type {Promise<FilesOfBuild> | null} */
let served = null;
let servedAskedAt = Number.NEGATIVE_INFINITY;

/**
 * @param {string} build
 * @returns {Promise<FilesOfBuild | null>} its list, if this is the server's build
 */
async function servedList(build) {
  const known = await served?.catch(() => null);
  if (known?.build !== build && performance.now() - servedAskedAt > LIST_REMEMBERED_MS) {
    servedAskedAt = performance.now();
    served = fromServer(new Request(`${SCOPE}files.json`)).then((response) => response.json());
  }
  const list = await served;
  return list?.build === build ? list : null;
}

/** @returns {Promise<string | undefined>} the server's build */
async function servedBuild() {
  const response = await fetch(`${SCOPE}build.json`, { cache: "no-cache" });
  return (await response.json()).build;
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * @param {BufferSource} bytes
 * @returns {Promise<string>} the SHA-256 in hexadecimal
 */
async function hashOf(bytes) {
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
