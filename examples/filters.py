"""Image filters.

Blur, sharpen, emboss or find edges in your own picture or the camera's.

A filter replaces each pixel by a weighted sum of the pixels around it. As in the Game of
Life, the whole picture is shifted: one slice for each weight, all added in one kernel. The
code below makes its own test picture; above, the same functions filter your picture or the
camera's.
"""

import py_tensor as pt

SIZE = 240
BLUR = [[a * b / 81 for b in (1, 2, 3, 2, 1)] for a in (1, 2, 3, 2, 1)]
SHARPEN = [[0, -1, 0], [-1, 5, -1], [0, -1, 0]]
EMBOSS = [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]
SLOPE = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]  # Sobel's; its transpose is the slope downwards


def convolve(image, weights):
    """The sum of the pixels around each pixel, weighted by `weights`; black beyond the edge.

    `image` has shape (height, width) or (height, width, channels), `weights` an odd number of rows
    and columns.
    """
    height, width = image.shape[:2]
    above, left = len(weights) // 2, len(weights[0]) // 2
    margin = pt.pad(image, [(above, above), (left, left), (0, 0)][: image.ndim])
    return sum(
        weight * margin[i : i + height, j : j + width]
        for i, row in enumerate(weights)
        for j, weight in enumerate(row)
        if weight
    )


def edges(image):
    """The slope of the brightness at each pixel."""
    across = convolve(image, SLOPE)
    down = convolve(image, list(zip(*SLOPE, strict=True)))
    return pt.sqrt(across**2 + down**2)


def test_picture(size):
    """A disc, a slope and a grid, from 0 (black) to 1 (white), shape (size, size)."""
    x = pt.linspace(-1, 1, size)
    y = x.reshape(size, 1)
    disc = (x + 0.3) ** 2 + (y + 0.2) ** 2 < 0.2
    grid = (pt.floor(8 * x) + pt.floor(8 * y)) % 2 == 0
    return pt.where(disc, 1.0, pt.where((x > 0.1) & (y > 0.1) & grid, 0.8, 0.3 * (1 + x)))


picture = test_picture(SIZE)
above = pt.hstack([picture, convolve(picture, BLUR)])
below = pt.hstack([convolve(picture, SHARPEN), edges(picture)])
pt.imshow(pt.vstack([above, below]), cmap="gray", vmin=0, vmax=1)
