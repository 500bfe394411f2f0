/** The colours of values. */

/**
 * @typedef {object} Colours what values look like
 * @property {string[]} stops evenly spaced, each #rrggbb, from the smallest value
 * @property {[number, number]} range the values of the first and the last; equal if there is only one value
 * @property {number[]} [levels] the values that are drawn, if they are few
 */

/**
 * @param {string[]} stops
 * @param {number} at from 0 to 1
 * @returns {[number, number, number]} red, green, blue, from 0 to 255
 */
export function channelsAt(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [stops[low], stops[low + 1]].map((stop) => Number.parseInt(stop.slice(1), 16));
  const mixed = [16, 8, 0].map((shift) => {
    const [x, y] = [(from >> shift) & 255, (to >> shift) & 255];
    return Math.floor(x + (y - x) * (place - low) + 0.5);
  });
  return [mixed[0], mixed[1], mixed[2]];
}

/**
 * @param {Colours} colours
 * @param {number} value
 */
export function colourOf({ stops, range: [low, high] }, value) {
  const share = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
  return `rgb(${channelsAt(stops, share).join(" ")})`;
}
