"""The Mandelbrot set.

The points c for which z = z² + c never runs away, in a fringe of those that take long.

Every pixel is a number c. From z = 0 it repeats z = z² + c and counts the steps until z is
further than 2 from the origin; those that never leave are the set. The loop is Python's,
the pixels are the GPU's: each turn adds a few operations to what is pending, and eight
turns are computed by one kernel, the same one each time.
"""

import py_tensor as pt

SIZE = 480
STEPS = 96
TURNS = 8  # of the loop that are one kernel


def escape_times(x, y, width, size, steps):
    """The steps for which each point of a square stays near, shape (size, size), int32.

    The square has its centre at x + yi and sides of length `width`; its first row is the top.
    """
    across = pt.linspace(-0.5, 0.5, size) * width
    c_re, c_im = x + across, (y - across).reshape(size, 1)
    re = im = pt.zeros((size, size))
    times = pt.zeros((size, size), dtype=pt.int32)
    for step in range(steps):
        stays = re * re + im * im < 4
        times = times + stays
        re, im = (
            pt.where(stays, re * re - im * im + c_re, re),
            pt.where(stays, 2 * re * im + c_im, im),
        )
        if step % TURNS == TURNS - 1:
            pt.realize(times, re, im)
    return times


times = escape_times(-0.65, 0.0, 2.6, SIZE, STEPS)
pt.imshow(pt.log(times.astype(pt.float32)), cmap="magma")
