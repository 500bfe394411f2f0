"""A cost model for matrix products: the best tile and number of parts of k.

The time of a product is that of its busiest processor. A single workgroup waits for memory and at
barriers for part of its time; concurrent workgroups use that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from py_tensor.codegen.choices import Tile

# Fitted to 586 times of 76 products on an H200: half of the times are within 9 % of these, and what
# is chosen by them is 1.4 % from the best in the mean. The unit is 0.8 ns.
LOAD = 82.0  # a vector of each invocation, by way of registers and workgroup memory
BEGIN = 1100.0  # a workgroup, until it multiplies
STORE = 0.5  # a result
DISPATCH = 10900.0  # one more, that adds up parts
BYTES = 58.0  # that a processor reads in one unit of time, from the cache for the most part
# What a multiply-add of each invocation takes: by itself, and for each 128 invocations that a
# processor has of all workgroups.
ALONE, EACH = 0.34, 0.49
WAVES = (1, 2, 4, 8)  # workgroups for each processor that parts of k are to make


def choose(
    tiles: Sequence[Tile], processors: int, m: int, n: int, batch: int, k: int
) -> tuple[Tile, int]:
    """Return the tile and the number of parts of k with the lowest cost."""
    options = (
        (cost(tile, parts, processors, m, n, batch, k), number, parts)
        for number, tile in enumerate(tiles)
        for parts in _parts(tile, processors, m, n, batch, k)
    )
    _, number, parts = min(options)
    return tiles[number], parts


def _count(tile: Tile, m: int, n: int, batch: int) -> int:
    return -(-m // tile.bm) * -(-n // tile.bn) * batch


def _parts(tile: Tile, processors: int, m: int, n: int, batch: int, k: int) -> Iterator[int]:
    """The numbers of parts to look at, each of them of a slice at least."""
    yield 1
    count, most = _count(tile, m, n, batch), -(-k // tile.bk)
    for waves in WAVES:
        parts = min(waves * processors // count, most)
        if parts > 1:
            yield parts


def cost(tile: Tile, parts: int, processors: int, m: int, n: int, batch: int, k: int) -> float:
    """Return the time of a product without the overhead of a dispatch."""
    groups = -(-_count(tile, m, n, batch) * parts // processors)  # of the busiest processor
    slices = -(-k // (parts * tile.bk))
    read = (tile.bm + tile.bn) * tile.bk  # for a slice
    loads = read / (4 * tile.workgroup)
    work = tile.bk / tile.wk * tile.tm * tile.tn + LOAD * loads
    computed = (slices * work + BEGIN) * (ALONE + EACH * groups * tile.workgroup / 128)
    memory = groups * (4 * slices * read / BYTES + STORE * tile.bm * tile.bn)
    return computed + memory + (DISPATCH if parts > 1 else 0)
