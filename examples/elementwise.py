"""Elementwise and broadcasting.

Two interfering circular waves, computed by broadcasting a row against a column.

A row of shape (n,) and a column of shape (n, 1) broadcast to shape (n, n) without copying.
Here the distances of every pixel from two points become two circular waves. Each line only
records a computation. `pt.explain` names the kernels that run when the picture is drawn:
short ones for the rows and columns, and one for everything else, which runs once for each
pixel.
"""

import py_tensor as pt

SIZE = 480


def times_table(n):
    """The products of all pairs of numbers from 1 to n, shape (n, n)."""
    numbers = pt.arange(1, n + 1)
    return numbers.reshape(n, 1) * numbers


def waves(size):
    """Waves from two points that add up and cancel, shape (size, size)."""
    x = pt.linspace(-3, 3, size)
    y = x.reshape(size, 1)
    left = pt.sqrt((x + 1) ** 2 + y**2)
    right = pt.sqrt((x - 1) ** 2 + y**2)
    return pt.sin(12 * left) / (1 + left) + pt.sin(12 * right) / (1 + right)


print(times_table(6))
picture = waves(SIZE)
for kernel in pt.explain(picture).kernels:
    print(f"kernel {kernel.number}: {kernel.name}")
pt.imshow(picture)
