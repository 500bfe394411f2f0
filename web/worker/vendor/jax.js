/** What the benchmarks use of jax-js. The build replaces this file by one that holds the package itself. */

export { defaultDevice, getWebGPUDevice, init, jit, nn, numpy } from "@jax-js/jax";
export { version } from "../../../node_modules/@jax-js/jax/package.json";
