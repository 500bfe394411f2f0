/**
 * Code in a URL: `#code=`, then the UTF-8 text compressed by deflate-raw and encoded in base64url. If that does not
 * decode, the rest is the percent-encoded text itself: the form of older links, and of links typed by hand.
 */

const START = "#code=";
/** The largest code in a link: a small link could decompress to gigabytes. */
const MAX_BYTES = 1_000_000;

/**
 * @param {string} code
 * @returns {Promise<string>} the fragment of a URL, with its "#"
 */
export async function hashOf(code) {
  const packed = await through(new TextEncoder().encode(code), new CompressionStream("deflate-raw"));
  return (
    START +
    btoa(String.fromCharCode(...packed))
      .replaceAll("+", "-")
      .replaceAll("/", "_")
      .replaceAll("=", "")
  );
}

/**
 * @param {string} hash the fragment of a URL
 * @returns {Promise<string | null>} the code in it; null if there is none
 */
export async function codeOf(hash) {
  if (!hash.startsWith(START)) return null;
  const text = hash.slice(START.length);
  return (await unpacked(text)) ?? plain(text);
}

/** @param {string} text */
async function unpacked(text) {
  if (!/^[\w-]+$/.test(text)) return null;
  try {
    const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const code = new TextDecoder("utf-8", { fatal: true }).decode(
      await through(bytes, new DecompressionStream("deflate-raw")),
    );
    return code || null;
  } catch {
    return null;
  }
}

/** @param {string} text */
function plain(text) {
  try {
    return decodeURIComponent(text) || null;
  } catch {
    return null; // a damaged link: nothing to show
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {CompressionStream | DecompressionStream} transform
 * @returns {Promise<Uint8Array>}
 * @throws {RangeError} if the decompressed code is longer than allowed
 */
async function through(bytes, transform) {
  const chunks = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader(); // Safari's streams are not iterable
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.length;
    if (size > MAX_BYTES) throw new RangeError("too long for a link");
    chunks.push(read.value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
