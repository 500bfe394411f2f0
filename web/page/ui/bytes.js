/** Formats amounts of memory. */

const UNITS = ["bytes", "KiB", "MiB", "GiB"];

/**
 * @param {number} bytes
 * @returns {string} such as "1.5 MiB": powers of 1024
 */
export function inBytes(bytes) {
  if (bytes === 1) return "1 byte";
  let unit = 0;
  let size = bytes;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit && size < 100 ? 1 : 0;
  return `${Number(size.toFixed(digits))} ${UNITS[unit]}`;
}
