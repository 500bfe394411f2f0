"""A cost model for matrix products: the best tile and number of parts of k.

The time of a product is that of its busiest processor. A single workgroup spends part of its time
waiting for memory and at barriers; concurrent workgroups use that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from py_tensor.codegen.choices import Tile

# Fitted to 586 timings of 76 products on an H200. Half of the timings are within 9 % of the model,
# and the chosen tiles are on average 1.4 % slower than the best. The unit of time is 0.8 ns.
LOAD = 82.0  # for each invocation to load a vector through registers into workgroup memory
BEGIN = 1100.0  # start-up of a workgroup, until it multiplies
STORE = 0.5  # to store a result
DISPATCH = 10900.0  # the second dispatch, which adds up the parts
BYTES = 58.0  # bytes that a processor reads per unit of time, mostly from the cache
# The time of one multiply-add in every invocation: a fixed part, and a part for every 128
# invocations on the processor, counted over all its workgroups.
ALONE, EACH = 0.34, 0.49
WAVES = (1, 2, 4, 8)  # numbers of workgroups per processor to aim at by splitting k


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
    """Yield the numbers of parts to consider; each part has at least one slice."""
    yield 1
    count, most = _count(tile, m, n, batch), -(-k // tile.bk)
    for waves in WAVES:
        parts = min(waves * processors // count, most)
        if parts > 1:
            yield parts


def cost(tile: Tile, parts: int, processors: int, m: int, n: int, batch: int, k: int) -> float:
    """Return the time of a product without the overhead of its first dispatch."""
    groups = -(-_count(tile, m, n, batch) * parts // processors)  # on the busiest processor
    slices = -(-k // (parts * tile.bk))
    read = (tile.bm + tile.bn) * tile.bk  # for a slice
    loads = read / (4 * tile.workgroup)
    work = tile.bk / tile.wk * tile.tm * tile.tn + LOAD * loads
    computed = (slices * work + BEGIN) * (ALONE + EACH * groups * tile.workgroup / 128)
    memory = groups * (4 * slices * read / BYTES + STORE * tile.bm * tile.bn)
    return computed + memory + (DISPATCH if parts > 1 else 0)
