"""From one thread per element to a tiled product.

Three ways to compute a matrix product, the kernels they use, and their times.

In an elementwise op, each thread has its own elements. In a sum over rows, several threads
work together on a row. A matrix product can be written as both, a broadcast multiplication
and a sum. In two steps, it first stores every single product, n cubed numbers. As one
expression, or written `a @ b`, it is a kernel in which a workgroup loads a tile of both
matrices once and all its threads use it. The WGSL of each step is printed above the times.
"""

from time import perf_counter

import py_tensor as pt

SIZE = 256


def product_in_two_steps(a, b):
    """The product of (m, k) and (k, n), which stores all m * k * n products."""
    products = (a[:, :, None] * b).realize()
    return products.sum(1)


def product_in_one(a, b):
    """The same in one step: it is recognised, and the products are never stored."""
    return (a[:, :, None] * b).sum(1)


def entry_point(wgsl):
    """The code of each thread, without the functions that it calls."""
    return wgsl[wgsl.rindex("@compute") :]


def milliseconds(work):
    """The time of `work`, until the GPU has finished it."""
    pt.synchronize()
    start = perf_counter()
    work().realize()
    pt.synchronize()
    return 1000 * (perf_counter() - start)


a, b = pt.randn(SIZE, SIZE).realize(), pt.randn(SIZE, SIZE).realize()
steps = {
    "each element by itself": pt.exp(a),
    "a row, shared": a.sum(1),
    "a tile, shared": a @ b,
}
for title, result in steps.items():
    for kernel in pt.explain(result).kernels:
        print(f"\n== {title}: {kernel.name} ==\n{entry_point(kernel.wgsl)}")

print()
for product in (product_in_two_steps, product_in_one, pt.matmul):
    product(a, b).realize()  # compiles its kernels
    print(f"{product.__name__:21} {milliseconds(lambda p=product: p(a, b)):8.2f} ms")
