"""From one thread per element to a tiled product.

Three ways to compute a matrix product, the kernels they use, and their times.

An elementwise op gives each thread elements of its own. A sum over rows has threads that
work together on a row. A matrix product can be written as those two, a broadcast multiply
and a sum; done in two steps, it stores every single product first, n cubed numbers. Left as
one expression, or written `a @ b`, it is a kernel in which a workgroup loads a tile of both
matrices once and all its threads use it. The WGSL of each step is printed above the times.
"""

from time import perf_counter

import py_tensor as pt

SIZE = 256


def product_in_two_steps(a, b):
    """The product of (m, k) and (k, n) by way of all its m * k * n products."""
    products = (a[:, :, None] * b).realize()
    return products.sum(1)


def product_in_one(a, b):
    """The same without a stop: it is recognised, and the products are never stored."""
    return (a[:, :, None] * b).sum(1)


def entry_point(wgsl):
    """What each thread runs, without the functions that it calls."""
    return wgsl[wgsl.rindex("@compute") :]


def milliseconds(work):
    """What `work` takes until the GPU is done with it."""
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
