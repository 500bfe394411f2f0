"""The Mandelbrot set.

The points c for which z = z² + c stays bounded, and how fast the others escape.

Each pixel is a number c. Starting from z = 0, z = z² + c is repeated, and the steps until z
is more than 2 from the origin are counted; the points that never leave are the set. The
loop runs in Python and the pixels are computed on the GPU: each iteration adds a few
operations to what is pending, and one kernel computes eight iterations, the same one each
time. The program shows four sliders with the picture: moving one computes it again.
"""

import py_tensor as pt

SIZE = 480
STEPS = 96
TURNS = 8  # iterations of the loop in one kernel


def escape_times(x, y, width, size, steps):
    """The steps for which each point of a square stays bounded, shape (size, size), int32.

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


def picture(x, y, zoom, steps):
    """Show the square around x + yi; each step of `zoom` halves its sides."""
    times = escape_times(x, y, 2.6 / 2**zoom, SIZE, steps)
    pt.imshow(pt.log(times.astype(pt.float32)))


pt.ui.interact(
    picture,
    x=pt.ui.slider(-2.0, 0.6, 0.001, value=-0.65, label="Real part"),
    y=pt.ui.slider(-1.3, 1.3, 0.001, value=0.0, label="Imaginary part"),
    zoom=pt.ui.slider(0.0, 10.0, 0.1, label="Zoom"),
    steps=pt.ui.slider(8, 512, 8, value=STEPS, label="Steps"),
)
