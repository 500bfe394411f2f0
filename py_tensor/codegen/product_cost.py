"""How long a matrix product takes with a tile and in so many parts of k, and which are best.

Times are in instructions that one invocation issues. A processor runs several workgroups side by
side: a single one waits for memory and at barriers most of the time, and many share what the
processor can issue. So what counts is how many each processor gets, which is a whole number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from py_tensor.codegen.choices import Tile

# Fitted to 860 products of random shapes on an H200, with three tiles and 1 to 256 parts each: half
# of the times are within 5 % of these.
READ = 1.8  # a vector from workgroup memory
LOAD = 60.0  # a vector from memory, on its way through registers
BEGIN = 2900.0  # a workgroup, until it multiplies
ALONE, TOGETHER = 0.85, 0.26  # an instruction by itself; of each of many subgroups
STORE = 0.05  # a result, in a processor that has all of them to itself
DISPATCH = 14000.0  # one more, that adds up parts
BYTES = 1400.0  # that memory moves in the time of an instruction
SUBGROUP = 32
INVOCATIONS, REGISTERS = 2048, 65536  # of a processor
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
    loads = (tile.bm + tile.bn) * tile.bk / (4 * tile.workgroup)
    vectors = (tile.tm + tile.tn) / 4
    work = tile.bk / tile.wk * (tile.tm * tile.tn + READ * vectors) + LOAD * loads
    registers = tile.tm * tile.tn + tile.tm + tile.tn + 4 * loads + 30
    beside = max(1, int(min(INVOCATIONS, REGISTERS / registers) / tile.workgroup))
    rounds = max(1.0, groups / beside)
    subgroups = groups * tile.workgroup / SUBGROUP
    computed = slices * work * max(ALONE * rounds, TOGETHER * subgroups) + BEGIN * rounds
    computed += STORE * groups * tile.bm * tile.bn
    results = m * n * batch
    moved = 4 * batch * k * (m + n) + 4 * results * (1 if parts == 1 else 2 * parts + 1)
    return max(computed, moved / BYTES) + (DISPATCH if parts > 1 else 0)
