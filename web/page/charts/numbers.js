/** Numbers in words: the values under the pointer, and in descriptions. */

/**
 * A number as a short string.
 *
 * @param {number} value
 */
export function short(value) {
  const size = Math.abs(value);
  const isExtreme = size >= 1e6 || (size < 1e-4 && value !== 0); // it has too many zeros to read
  return isExtreme ? scientific(value) : plain(String(Number(value.toPrecision(6))));
}

/**
 * At most four digits, and a power of ten.
 *
 * @param {number} value
 */
function scientific(value) {
  return plain(
    value
      .toExponential(3)
      .replace(/\.?0*e/, "e")
      .replace("e+", "e"),
  );
}

/** @param {string} text with a hyphen for a minus sign */
function plain(text) {
  return text === "-0" ? "0" : text.replaceAll("-", "−");
}
