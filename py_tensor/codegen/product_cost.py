"""How long a matrix product takes with a tile and in so many parts of k, and which are best.

A product takes what its busiest processor takes. The workgroups that run side by side there wait
for memory and at barriers together, so they take little more than a single one; how many they are
depends on the registers that an invocation has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from py_tensor.codegen.choices import Tile

# Fitted to 1530 times of 81 products on an H200: what is chosen by these is 3 % from the best of
# all tiles in the mean, as far as it was measured. The unit is a multiply-add of each invocation of
# the workgroups that run side by side, 0.8 ns.
LOAD = 108.0  # a vector of each invocation, by way of registers and workgroup memory
BEGIN = 4000.0  # a workgroup, until it multiplies
STORE = 0.44  # a result
DISPATCH = 12000.0  # one more, that adds up parts
BYTES = 33.0  # that a processor reads in one unit of time, from the cache for the most part
INVOCATIONS, REGISTERS = 2048, 65536  # of a processor
BESIDE = 80  # registers of an invocation, beside those of results and operands
WAVES = (1, 2, 4, 8)  # workgroups for each processor that parts of k are to make


def choose(
    tiles: Sequence[Tile], processors: int, m: int, n: int, batch: int, k: int
) -> tuple[Tile, int]:
    """The tile and the number of parts of k that take the least time."""
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
    """The time that a product takes, without that of a dispatch."""
    groups = -(-_count(tile, m, n, batch) * parts // processors)  # of the busiest processor
    slices = -(-k // (parts * tile.bk))
    read = (tile.bm + tile.bn) * tile.bk  # for a slice
    loads = read / (4 * tile.workgroup)
    work = tile.bk / tile.wk * tile.tm * tile.tn + LOAD * loads
    registers = tile.tm * tile.tn + tile.tm + tile.tn + 4 * loads + BESIDE
    beside = max(1, int(min(INVOCATIONS, REGISTERS / registers) / tile.workgroup))
    computed = (slices * work + BEGIN) * max(1.0, groups / beside)
    memory = groups * (4 * slices * read / BYTES + STORE * tile.bm * tile.bn)
    return computed + memory + (DISPATCH if parts > 1 else 0)
