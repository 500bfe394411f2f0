"""Gray-Scott patterns.

Two substances react and diffuse; spots grow and divide like cells.

One substance feeds the other, which consumes it to make more of itself. Both diffuse, the
first twice as fast. Two numbers determine whether a few drops grow into spots, worms or
waves. Two sliders set them, and the loop reads the sliders in each step: move them while it
runs. The equations are those of P. Gray and S. K. Scott (1984), with the constants of J. E.
Pearson, "Complex Patterns in a Simple System" (Science, 1993).
"""

import py_tensor as pt

SIZE = 200
FRAMES = 1000
STEPS_PER_FRAME = 16
FEED, KILL = 0.0367, 0.0649  # try 0.025 and 0.06, or 0.055 and 0.062


def laplacian(x):
    """The sum of the differences of its four neighbours from each point; 0 beyond the edge."""
    margin = pt.pad(x, 1)
    return margin[:-2, 1:-1] + margin[2:, 1:-1] + margin[1:-1, :-2] + margin[1:-1, 2:] - 4 * x


def step(u, v, feed, kill):
    """Both substances after one time step."""
    reaction = u * v * v
    return (
        u + 0.16 * laplacian(u) - reaction + feed * (1 - u),
        v + 0.08 * laplacian(v) + reaction - (feed + kill) * v,
    )


def drops(size, count):
    """Squares of the second substance at random places in the first; two of shape (size, size)."""
    at = pt.arange(size)
    rows, columns = pt.randint(0, size, (2, count, 1))
    near_row, near_column = abs(at - rows) < 5, abs(at - columns) < 5
    wet = (near_row[:, :, None] & near_column[:, None, :]).any(0)
    return pt.where(wet, 0.5, 1.0), pt.where(wet, 0.25, 0.0)


feed = pt.ui.slider(0.01, 0.08, 0.0001, value=FEED, label="Feed")
kill = pt.ui.slider(0.045, 0.07, 0.0001, value=KILL, label="Kill")
pt.display(feed)
pt.display(kill)
u, v = drops(SIZE, 12)
view = pt.display(v, vmin=0, vmax=0.4, scale=2)
for _ in range(FRAMES):
    for _ in range(STEPS_PER_FRAME):
        u, v = step(u, v, feed.value, kill.value)
    view.update(v)
