/**
 * The tfjs implementation of each benchmark case, by name: the best way that tfjs offers. Cases without an entry are
 * left out for it. Operands are kept; the caller tidies up intermediate tensors. Transposed operands are passed with
 * their shape in memory.
 */

import * as tf from "../vendor/tfjs.js";

/** @typedef {import("@tensorflow/tfjs-core").Tensor} T */
/** @typedef {(...x: any[]) => T | T[]} Case */

/** @type {Case} */
const matmul = (x, y) => tf.matMul(x, y);

/** @param {number} [axis] all axes if omitted @returns {Case} */
const sum = (axis) => (x) => tf.sum(x, axis);

/** @param {T} x */
function layerNorm(x) {
  const { mean, variance } = tf.moments(x, -1, true);
  return tf.div(tf.sub(x, mean), tf.sqrt(tf.add(variance, 1e-5)));
}

/** @param {T} x @param {T} row @param {T} column */
function twelveOps(x, row, column) {
  let t = tf.add(tf.mul(x, row), column);
  t = tf.maximum(tf.sub(tf.mul(t, x), row), column);
  t = tf.sub(tf.mul(tf.add(tf.mul(t, 0.5), x), column), x);
  return tf.mul(tf.abs(tf.minimum(t, row)), 2);
}

/** Every pair of the first 20 operands with the last 10. @type {Case} */
const additions = (...x) => x.slice(0, 20).flatMap((a) => x.slice(20).map((b) => tf.add(a, b)));

/** @type {Case} */
function hundredProducts(x, w) {
  let y = x;
  for (let i = 0; i < 100; i++) y = tf.matMul(y, w);
  return tf.sum(y);
}

/** @type {Record<string, Case>} */
export const CASES = {
  matmul,
  "x.T @ y": (x, y) => tf.matMul(x, y, true),
  "x @ y.T": (x, y) => tf.matMul(x, y, false, true),
  "batched matmul": matmul,
  "16 rows @ matrix": matmul,
  "16 columns @ 16 rows": matmul,
  "matrix @ vector": (x, y) => tf.dot(x, y),
  "vector @ matrix": (x, y) => tf.dot(x, y),

  exp: (x) => tf.exp(x),
  mul: (x, y) => tf.mul(x, y),
  "mul, transposed": (x, y) => tf.mul(x, tf.transpose(y)),
  add: (x, y) => tf.add(x, y),
  "tanh(x*y + exp(-x))": (x, y) => tf.tanh(tf.add(tf.mul(x, y), tf.exp(tf.neg(x)))),
  "12 ops": twelveOps,

  "sum of all": sum(),
  "max of all": (x) => tf.max(x),
  "mean of all": (x) => tf.mean(x),
  "argmax of all": (x) => tf.argMax(x),
  "sum()": sum(),
  "sum(0)": sum(0),
  "sum(1)": sum(1),
  "sum of the middle": sum(1),
  "sum(-1)": sum(-1),

  softmax: (x) => tf.softmax(x),
  "log-softmax": (x) => tf.logSoftmax(x),
  "layer norm": layerNorm,
  variance: (x) => tf.moments(x, -1).variance,

  "transposed copy": (x) => tf.transpose(x),
  concat: (x, y) => tf.concat([x, y]),
  "pad by 1": (x) =>
    tf.pad(x, [
      [1, 1],
      [1, 1],
    ]),
  "every second column": (x) => tf.stridedSlice(x, [0, 0], x.shape, [1, 2]),
  "every second row": (x) => tf.stridedSlice(x, [0, 0], x.shape, [2, 1]),
  "take rows": (x, i) => tf.gather(x, i),
  "take elements": (x, i) => tf.gather(x, i),

  cumsum: (x) => tf.cumsum(x),

  "200 additions": additions,
  "float((x*2).sum())": (x) => tf.sum(tf.mul(x, 2)),
  "float of 100 kernels": hundredProducts,
};
