/**
 * The jax-js implementation of each benchmark case, by name: the best way that jax-js offers, with `jit` where that
 * helps. Cases without an entry are left out for it. Operands are consumed, so a second use needs `.ref`. Transposed
 * operands are passed with their shape in memory.
 */

import { jit, nn, numpy as np } from "../vendor/jax.js";

/** @typedef {import("@jax-js/jax").Array} A */
/** @typedef {(...x: any[]) => A | A[]} Case */

/** @type {Case} */
const matmul = (x, y) => np.matmul(x, y);

/** @param {number} [axis] all axes if omitted @returns {Case} */
const sum = (axis) => (x) => np.sum(x, axis);

/** @param {A} x @param {A} row @param {A} column */
function twelveOps(x, row, column) {
  let t = np.add(np.multiply(x.ref, row.ref), column.ref);
  t = np.maximum(np.subtract(np.multiply(t, x.ref), row.ref), column.ref);
  t = np.subtract(np.multiply(np.add(np.multiply(t, 0.5), x.ref), column), x);
  return np.multiply(np.absolute(np.minimum(t, row)), 2);
}

/** Every pair of the first 20 operands with the last 10. @type {Case} */
const additions = (...x) => x.slice(0, 20).flatMap((a) => x.slice(20).map((b) => np.add(a.ref, b.ref)));

/** @type {Case} */
function hundredProducts(x, w) {
  let y = x;
  for (let i = 0; i < 100; i++) y = np.matmul(y, w.ref);
  return np.sum(y);
}

/** @type {Record<string, Case>} */
export const CASES = {
  matmul,
  "x.T @ y": (x, y) => np.matmul(np.transpose(x), y),
  "x @ y.T": (x, y) => np.matmul(x, np.transpose(y)),
  "batched matmul": matmul,
  "16 rows @ matrix": matmul,
  "16 columns @ 16 rows": matmul,
  "matrix @ vector": matmul,
  "vector @ matrix": matmul,

  exp: (x) => np.exp(x),
  mul: (x, y) => np.multiply(x, y),
  "mul, transposed": (x, y) => np.multiply(x, np.transpose(y)),
  add: (x, y) => np.add(x, y),
  "tanh(x*y + exp(-x))": jit((/** @type {A} */ x, /** @type {A} */ y) =>
    np.tanh(np.add(np.multiply(x.ref, y), np.exp(np.negative(x)))),
  ),
  "12 ops": jit(twelveOps),

  "sum of all": sum(),
  "max of all": (x) => np.max(x),
  "mean of all": (x) => np.mean(x),
  "argmax of all": (x) => np.argmax(x),
  "sum()": sum(),
  "sum(0)": sum(0),
  "sum(1)": sum(1),
  "sum of the middle": sum(1),
  "sum(-1)": sum(-1),

  softmax: jit((/** @type {A} */ x) => nn.softmax(x)),
  "log-softmax": jit((/** @type {A} */ x) => nn.logSoftmax(x)),
  "layer norm": jit((/** @type {A} */ x) => nn.standardize(x, -1)),
  variance: jit((/** @type {A} */ x) => np.var_(x, -1)),

  "transposed copy": (x) => np.transpose(x),
  concat: (x, y) => np.concatenate([x, y]),
  "pad by 1": (x) => np.pad(x, 1),
  "every second column": (x) => np.reshape(x, [x.shape[0], x.shape[1] / 2, 2]).slice([], [], 0),
  "every second row": (x) => np.reshape(x, [x.shape[0] / 2, 2, x.shape[1]]).slice([], 0),
  "take rows": (x, i) => np.take(x, i, 0),
  "take elements": (x, i) => np.take(x, i, 0),

  cumsum: (x) => np.cumsum(x),
  sort: (x) => np.sort(x),

  "200 additions": additions,
  "float((x*2).sum())": (x) => np.sum(np.multiply(x, 2)),
  "float of 100 kernels": hundredProducts,
};
