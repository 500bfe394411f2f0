/**
 * What tfjs and jax-js write for each case (`cases.py`), by its name: the best way that each library
 * offers. A case that is not here, or not for a library, is left out for it.
 *
 * tfjs's operands stay; intermediate tensors are tidied up by whoever calls. jax-js's operands are
 * used up, so a second use needs a `.ref`. Operands that are transposed come as they lie in memory.
 */

import { jit, nn, numpy as np } from "@jax-js/jax";
import * as tf from "@tensorflow/tfjs-core";

/** @typedef {tf.Tensor} T */
/** @typedef {import("@jax-js/jax").Array} A */
/** @typedef {{ tfjs?: (...x: any[]) => T | T[], "jax-js"?: (...x: any[]) => A | A[] }} Form */

/** @type {Form} */
const matmul = { tfjs: (x, y) => tf.matMul(x, y), "jax-js": (x, y) => np.matmul(x, y) };

/** @param {number} [axis] all, where it is left out @returns {Form} */
function sum(axis) {
  return { tfjs: (x) => tf.sum(x, axis), "jax-js": (x) => np.sum(x, axis) };
}

/** Every pair of the first 20 operands with the last 10. @param {(a: any, b: any) => any} add */
function additions(add) {
  return (/** @type {any[]} */ ...x) => x.slice(0, 20).flatMap((a) => x.slice(20).map((b) => add(a, b)));
}

/**
 * @param {(x: any, w: any) => any} multiply
 * @param {(x: any) => any} sum
 */
function hundredProducts(multiply, sum) {
  return (/** @type {any} */ x, /** @type {any} */ w) => {
    let y = x;
    for (let i = 0; i < 100; i++) y = multiply(y, w);
    return sum(y);
  };
}

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

/** @param {A} x @param {A} row @param {A} column */
function jaxTwelveOps(x, row, column) {
  let t = np.add(np.multiply(x.ref, row.ref), column.ref);
  t = np.maximum(np.subtract(np.multiply(t, x.ref), row.ref), column.ref);
  t = np.subtract(np.multiply(np.add(np.multiply(t, 0.5), x.ref), column), x);
  return np.multiply(np.absolute(np.minimum(t, row)), 2);
}

/** @type {Record<string, Form>} */
export const FORMS = {
  matmul,
  "x.T @ y": {
    tfjs: (x, y) => tf.matMul(x, y, true),
    "jax-js": (x, y) => np.matmul(np.transpose(x), y),
  },
  "x @ y.T": {
    tfjs: (x, y) => tf.matMul(x, y, false, true),
    "jax-js": (x, y) => np.matmul(x, np.transpose(y)),
  },
  "batched matmul": matmul,
  "matrix @ vector": { tfjs: (x, y) => tf.dot(x, y), "jax-js": (x, y) => np.matmul(x, y) },
  "vector @ matrix": { tfjs: (x, y) => tf.dot(x, y), "jax-js": (x, y) => np.matmul(x, y) },

  exp: { tfjs: (x) => tf.exp(x), "jax-js": (x) => np.exp(x) },
  mul: { tfjs: (x, y) => tf.mul(x, y), "jax-js": (x, y) => np.multiply(x, y) },
  "mul, transposed": {
    tfjs: (x, y) => tf.mul(x, tf.transpose(y)),
    "jax-js": (x, y) => np.multiply(x, np.transpose(y)),
  },
  add: { tfjs: (x, y) => tf.add(x, y), "jax-js": (x, y) => np.add(x, y) },
  "tanh(x*y + exp(-x))": {
    tfjs: (x, y) => tf.tanh(tf.add(tf.mul(x, y), tf.exp(tf.neg(x)))),
    "jax-js": jit((/** @type {A} */ x, /** @type {A} */ y) =>
      np.tanh(np.add(np.multiply(x.ref, y), np.exp(np.negative(x)))),
    ),
  },
  "12 ops": { tfjs: twelveOps, "jax-js": jit(jaxTwelveOps) },

  "sum of all": sum(),
  "max of all": { tfjs: (x) => tf.max(x), "jax-js": (x) => np.max(x) },
  "mean of all": { tfjs: (x) => tf.mean(x), "jax-js": (x) => np.mean(x) },
  "argmax of all": { tfjs: (x) => tf.argMax(x), "jax-js": (x) => np.argmax(x) },
  "sum()": sum(),
  "sum(0)": sum(0),
  "sum(1)": sum(1),
  "sum of the middle": sum(1),
  "sum(-1)": sum(-1),

  softmax: { tfjs: (x) => tf.softmax(x), "jax-js": jit((/** @type {A} */ x) => nn.softmax(x)) },
  "log-softmax": { tfjs: (x) => tf.logSoftmax(x), "jax-js": jit((/** @type {A} */ x) => nn.logSoftmax(x)) },
  "layer norm": { tfjs: layerNorm, "jax-js": jit((/** @type {A} */ x) => nn.standardize(x, -1)) },
  variance: { tfjs: (x) => tf.moments(x, -1).variance, "jax-js": jit((/** @type {A} */ x) => np.var_(x, -1)) },

  "transposed copy": { tfjs: (x) => tf.transpose(x), "jax-js": (x) => np.transpose(x) },
  concat: { tfjs: (x, y) => tf.concat([x, y]), "jax-js": (x, y) => np.concatenate([x, y]) },
  "pad by 1": {
    tfjs: (x) =>
      tf.pad(x, [
        [1, 1],
        [1, 1],
      ]),
    "jax-js": (x) => np.pad(x, 1),
  },
  "every second column": {
    tfjs: (x) => tf.stridedSlice(x, [0, 0], x.shape, [1, 2]),
    "jax-js": (x) => np.reshape(x, [x.shape[0], x.shape[1] / 2, 2]).slice([], [], 0),
  },
  "every second row": {
    tfjs: (x) => tf.stridedSlice(x, [0, 0], x.shape, [2, 1]),
    "jax-js": (x) => np.reshape(x, [x.shape[0] / 2, 2, x.shape[1]]).slice([], 0),
  },
  "take rows": { tfjs: (x, i) => tf.gather(x, i), "jax-js": (x, i) => np.take(x, i, 0) },
  "take elements": { tfjs: (x, i) => tf.gather(x, i), "jax-js": (x, i) => np.take(x, i, 0) },

  cumsum: { tfjs: (x) => tf.cumsum(x), "jax-js": (x) => np.cumsum(x) },
  sort: { "jax-js": (x) => np.sort(x) },

  "200 additions": {
    tfjs: additions((a, b) => tf.add(a, b)),
    "jax-js": additions((a, b) => np.add(a.ref, b.ref)),
  },
  "float((x*2).sum())": { tfjs: (x) => tf.sum(tf.mul(x, 2)), "jax-js": (x) => np.sum(np.multiply(x, 2)) },
  "float of 100 kernels": {
    tfjs: hundredProducts(tf.matMul, tf.sum),
    "jax-js": hundredProducts((y, w) => np.matmul(y, w.ref), np.sum),
  },
};
