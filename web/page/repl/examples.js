/** The strip of examples: a click writes one into the console and runs it. */

/** @typedef {{ label: string, code: string }} Example */

/** @type {Example[]} */
export const EXAMPLES = [
  { label: "Column sums", code: "pt.linspace(1, 20, 20).reshape(4, 5).sum(0)" },
  {
    label: "Matrix product",
    code: "a, b = pt.rand(512, 512), pt.rand(512, 512)\n(a @ b).mean()   # about 512 / 4",
  },
  {
    label: "Softmax",
    code: "x = pt.randn(4, 6)\ne = pt.exp(x - x.max(axis=1, keepdims=True))\ne / e.sum(axis=1, keepdims=True)",
  },
  {
    label: "Estimate of π",
    code: "x, y = pt.rand(1_000_000), pt.rand(1_000_000)\n4 * (x * x + y * y < 1).astype(pt.float32).mean()",
  },
  {
    label: "A picture",
    code:
      "x, y = pt.linspace(-3, 3, 768), pt.linspace(-2, 2, 512).reshape(-1, 1)\n" +
      'pt.imshow(pt.sin(3 * x * y) * pt.cos(x * x - y * y), cmap="magma")',
  },
  { label: "An error", code: "pt.ones((8, 3, 4)) + pt.ones((5, 4))" },
  { label: "This device", code: 'pt.device_info()["adapter"]' },
];
