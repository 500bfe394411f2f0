"""The Game of Life.

Cells live and die by the number of their neighbours.

A cell is born with three neighbours and survives with two or three. The neighbours of all
cells are counted at once: the board is shifted by one in the eight directions, and the
shifted boards are added. A shift is a slice of the board with a margin around it and costs
nothing, so a generation is one kernel that reads nine cells and writes one.
"""

import py_tensor as pt

SIZE = 256
GENERATIONS = 300


def neighbours(cells):
    """The number of living neighbours of each cell; there are none beyond the edge."""
    height, width = cells.shape
    margin = pt.pad(cells, 1)
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    return sum(margin[i : i + height, j : j + width] for i, j in shifts)


def generation(cells):
    """The cells one generation later; 1 is alive, 0 is dead."""
    count = neighbours(cells)
    return pt.where((count == 3) | ((count == 2) & (cells == 1)), 1.0, 0.0)


cells = pt.where(pt.rand(SIZE, SIZE) < 0.3, 1.0, 0.0)
view = pt.display(cells, cmap="gray", scale=2)
for _ in range(GENERATIONS):
    cells = generation(cells)
    view.update(cells)
