"""k-means, live.

Six centres move to the means of their clusters and divide the plane.

Each point belongs to the nearest of k centres, and each centre moves to the mean of its
points, repeatedly (S. P. Lloyd, 1982). Broadcasting gives the distances of all points from
all centres. The means are a matrix product with a table of which point belongs to which
centre. The result depends on where the centres start: run it again.
"""

import py_tensor as pt

POINTS = 20_000
CLUSTERS = 6
TURNS = 20
SIZE = 320


def clouds(count, clusters):
    """Points around random centres, shape (count, 2)."""
    middles = pt.rand(clusters, 2) * 1.6 - 0.8
    return middles[pt.randint(0, clusters, count)] + 0.09 * pt.randn(count, 2)


def nearest(points, centres):
    """The number of the nearest centre for each point, shape (n,), int32."""
    offsets = points[:, None, :] - centres
    return (offsets * offsets).sum(2).argmin(1)


def means(points, labels, centres):
    """The mean of the points of each centre, shape (k, 2); a centre without points stays."""
    belongs = (labels[:, None] == pt.arange(len(centres))).astype(pt.float32)
    counts = belongs.sum(0)[:, None]
    return pt.where(counts > 0, belongs.T @ points / pt.maximum(counts, 1), centres)


def regions(centres, size):
    """The nearest centre of each pixel of the square from -1 to 1, shape (size, size)."""
    along = pt.linspace(-1, 1, size)
    pixels = pt.stack(pt.meshgrid(along, -along), axis=-1).reshape(size * size, 2)
    return nearest(pixels, centres).reshape(size, size)


def density(points, size):
    """The density of points around each pixel of that square, from 0 to 1."""
    pixels = pt.linspace(-1, 1, size).reshape(size, 1)
    rows = pt.exp(-(((pixels + points[:, 1]) * size / 4) ** 2))
    columns = pt.exp(-(((pixels - points[:, 0]) * size / 4) ** 2))
    found = rows @ columns.T
    return found / found.max()


def picture(centres, glow):
    """Each region in a colour of the rainbow, brightened by `glow`, shape (size, size, 3)."""
    share = regions(centres, len(glow))[:, :, None] / len(centres)
    rainbow = 0.6 + 0.4 * pt.cos(2 * pt.pi * (share - pt.tensor([0, 1 / 3, 2 / 3])))
    return rainbow * (0.2 + 0.8 * glow[:, :, None])


points = clouds(POINTS, CLUSTERS).realize()
centres = points[:CLUSTERS]
glow = pt.sqrt(density(points, SIZE)).realize()
view = pt.display(picture(centres, glow))
for _ in range(TURNS):
    moved = means(points, nearest(points, centres), centres).realize()
    shift = abs(moved - centres).max().item()
    centres = moved
    view.update(picture(centres, glow))
    if shift < 1e-4:
        break
print(f"the centres after the last step:\n{pt.round(centres, 3)}")
