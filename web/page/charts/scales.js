/** Scales and ticks of a chart. Pure. */

/** @typedef {{ value: number, text: string }} Tick one without text is a minor one */
/**
 * @typedef {object} Axis
 * @property {(value: number) => number} at position from 0, the lower end, to 1
 * @property {Tick[]} ticks
 * @property {number} low the value at the lower end
 * @property {number} high
 */

/** The largest step between ticks: a few steps span the whole range of floats. */
const LARGEST_STEP = Number.MAX_VALUE / 4;

/**
 * @param {number} low
 * @param {number} high
 * @param {number} wanted about how many ticks
 * @param {boolean} [isWhole] all values are integers, so the ticks are too
 * @returns {Axis}
 */
export function linearAxis(low, high, wanted, isWhole = false) {
  const [from, to] = spread(low, high);
  const span = to / 2 - from / 2; // from halves, because the full span may overflow to infinity
  const about = Math.min((span / wanted) * 2 || LARGEST_STEP, LARGEST_STEP);
  let ticks = ticksAt(from, to, Math.max(niceStep(about), isWhole ? 1 : 0));
  // A single tick is not enough.
  if (ticks.length < 2) ticks = ticksAt(from, to, Math.max(niceStep(about / 2), isWhole ? 1 : 0));
  return { at: (value) => (value / 2 - from / 2) / span, ticks, low: from, high: to };
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} step
 */
function ticksAt(from, to, step) {
  const write = writerOf(step, Math.max(Math.abs(from), Math.abs(to)));
  /** @type {Tick[]} */
  const ticks = [];
  for (let n = Math.ceil(from / step - 1e-9); n <= to / step + 1e-9 && ticks.length < 50; n++) {
    ticks.push({ value: n * step, text: write(n * step) });
  }
  return ticks;
}

/**
 * Formats ticks so that neighbours differ, with one format for the whole axis.
 *
 * @param {number} step between two ticks
 * @param {number} most the largest of them
 * @returns {(value: number) => string}
 */
function writerOf(step, most) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const digits = Math.floor(Math.log10(most)) - Math.floor(Math.log10(step) + 1e-9);
  if (most < 1e6 && decimals <= 6) return (value) => plain(value.toFixed(decimals));
  if (digits <= 3) return scientific;
  if (most < 1e12 && decimals <= 3) return (value) => plain(value.toFixed(decimals));
  return (value) => (value === 0 ? "0" : plain(value.toExponential(Math.min(digits, 20)).replace("e+", "e")));
}

/**
 * @param {number} low above 0
 * @param {number} high
 * @param {number} wanted
 * @returns {Axis}
 */
export function logAxis(low, high, wanted) {
  const [from, to] = low === high ? [low / 2, high * 2] : [low, high];
  const [bottom, top] = [Math.log10(from), Math.log10(to)];
  const every = Math.max(1, Math.ceil((top - bottom) / wanted));
  const factors = top - bottom < 1 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : top - bottom < 3 ? [1, 2, 5] : [1];
  /** @type {number[]} */
  const values = [];
  for (let n = Math.floor(bottom); n <= top; n += 1) {
    if (n % every !== 0) continue;
    for (const factor of factors) {
      const value = Number(`${factor}e${n}`);
      if (value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9)) values.push(value);
    }
  }
  const write = values.some(isExtreme) ? scientific : short;
  const ticks = values.map((value) => ({ value, text: write(value) }));
  if (factors.length === 1 && top - bottom <= 8) ticks.push(...minorTicks(from, to));
  return { at: (value) => (Math.log10(value) - bottom) / (top - bottom), ticks, low: from, high: to };
}

/**
 * The ticks between powers of ten.
 *
 * @param {number} low
 * @param {number} high
 */
function minorTicks(low, high) {
  /** @type {Tick[]} */
  const ticks = [];
  for (let n = Math.floor(Math.log10(low)); 10 ** n <= high; n++) {
    for (let factor = 2; factor < 10; factor++) {
      const value = Number(`${factor}e${n}`);
      if (value >= low && value <= high) ticks.push({ value, text: "" });
    }
  }
  return ticks;
}

/**
 * A logarithmic axis from one power of ten to another.
 *
 * @param {number[]} values positive, not empty
 * @param {(value: number) => string} [write]
 * @returns {Axis}
 */
export function decades(values, write = short) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9));
  const step = Math.ceil((high - low) / 6);
  const ticks = [];
  for (let power = low; power <= high; power += step) ticks.push({ value: 10 ** power, text: write(10 ** power) });
  return { at: (value) => (Math.log10(value) - low) / (high - low), ticks, low: 10 ** low, high: 10 ** high };
}

/**
 * A logarithmic axis with these ticks, and room beyond the first and the last.
 *
 * @param {Tick[]} ticks of positive, ascending values; a single one is put in the middle
 * @param {number} wanted the largest number of labels
 * @returns {Axis}
 */
export function through(ticks, wanted) {
  const [first, last] = [Math.log(ticks[0].value), Math.log(ticks[ticks.length - 1].value)];
  const room = (last - first) / 8 || Math.LN2;
  const [low, high] = [first - room, last + room];
  const every = Math.max(1, Math.ceil(ticks.length / wanted));
  return {
    at: (value) => (Math.log(value) - low) / (high - low),
    ticks: ticks.map(({ value, text }, i) => ({ value, text: i % every ? "" : text })),
    low: Math.exp(low),
    high: Math.exp(high),
  };
}

/**
 * Names at 0, 1, 2 and so on.
 *
 * @param {string[]} names
 * @param {number} wanted the largest number of labels
 * @returns {Axis}
 */
export function namedAxis(names, wanted) {
  const every = Math.max(1, Math.ceil(names.length / Math.max(1, wanted)));
  const ticks = names.flatMap((text, value) => (value % every ? [] : [{ value, text }]));
  const high = Math.max(1, names.length) - 0.5;
  return { at: (value) => (value + 0.5) / (high + 0.5), ticks, low: -0.5, high };
}

/**
 * A number as a short string.
 *
 * @param {number} value
 */
export function short(value) {
  return isExtreme(value) ? scientific(value) : plain(String(Number(value.toPrecision(6))));
}

/** @param {number} value whether it has too many zeros to read */
function isExtreme(value) {
  const size = Math.abs(value);
  return size >= 1e6 || (size < 1e-4 && value !== 0);
}

/**
 * At most four digits, and a power of ten.
 *
 * @param {number} value
 */
function scientific(value) {
  if (value === 0) return "0";
  const text = value.toExponential(3);
  return plain(text.replace(/\.?0*e/, "e").replace("e+", "e"));
}

/** @param {string} text with a hyphen for a minus sign */
function plain(text) {
  return /^-0(?:\.0*)?$/.test(text) ? text.slice(1) : text.replaceAll("-", "−");
}

/**
 * Widens the range of a single value.
 *
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]}
 */
function spread(low, high) {
  if (low < high) return [low, high];
  const room = Math.abs(low) / 2 || 1;
  return [Math.max(low - room, -Number.MAX_VALUE), Math.min(high + room, Number.MAX_VALUE)];
}

/**
 * The nearest of 1, 2, 5, 10, ... times a power of ten, by ratio.
 *
 * @param {number} wanted
 */
function niceStep(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted));
  const ratio = wanted / power;
  const factor = ratio < Math.SQRT2 ? 1 : ratio < Math.sqrt(10) ? 2 : ratio < Math.sqrt(50) ? 5 : 10;
  return factor * power;
}
