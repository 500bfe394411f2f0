"""The number of programs compiled for one expression over many shapes is bounded.

Each row of the table is an expression over random shapes of one rank, including sizes that are 1,
odd or large. Each of its distinct kernels may have at most `MOST` programs, for a GPU and for a
software adapter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

import py_tensor as pt
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.lower import lower_each
from py_tensor.codegen.program import Program, Programs
from py_tensor.codegen.rows import fits
from py_tensor.ir.bind import leaf
from py_tensor.ir.node import meta_of
from py_tensor.runtime.device import LazyDevice
from py_tensor.schedule.kernel import Budget
from py_tensor.schedule.order import make_request
from py_tensor.schedule.passes import kernels_of
from tests.unit import simulate

Shape = tuple[int, ...]
MOST = {"map": 5, "reduce": 6, "rows": 6, "matmul": 28, "scan": 6, "sort": 1, "radix": 5}
"""Programs of one kernel, by family.

An elementwise kernel processes one contiguous run of memory, by elements or by vectors; by vectors,
it may follow one dimension or two, and an operand may give one value for all four elements of a
vector. A reduction goes by vectors along rows, by vectors along columns, or by elements, over rows
that are one run in memory or several; and it combines the results of slices of rows. A scan goes
along rows in tiles or along columns one by one, by vectors or by elements, and then along the
results of slices. A radix sort counts and moves: first the operand, then intermediate data, finally
into the result. Gathers are elementwise kernels, and so are products of up to four terms, one for
each number of them. Other products have the seven tiles that fit in 16 KiB, each by vectors or by
elements, and each with the ops after the product or, if its sum is split into parts, without.
"""
SHAPES = 50
SIZES: dict[int, tuple[int, ...]] = {
    1: (1, 7, 64, 1000, 4097, 100_000, 1_000_003, 2**20, 2**24),
    2: (1, 1, 2, 3, 5, 8, 16, 17, 31, 64, 100, 127, 256, 255, 1000, 1024, 4096, 8191, 65536),
    3: (1, 1, 2, 3, 5, 8, 16, 17, 31, 64, 100, 127, 256, 255, 1000, 1024),
    4: (1, 1, 2, 3, 4, 5, 8, 16, 17, 31, 64, 100),
}


@dataclass(frozen=True)
class Row:
    """An expression, its ranks, and the shapes of its operands.

    Attributes
    ----------
    shapes : callable
        From a random shape of the rank, and one more size, to the shapes of the operands.
    indices : bool
        One more operand follows, of int32.
    """

    name: str
    ranks: tuple[int, ...]
    f: Callable[..., pt.Tensor]
    shapes: Callable[[Shape, int], list[Shape]]
    indices: bool = False


def one(s: Shape, n: int) -> list[Shape]:
    return [s]


def two(s: Shape, n: int) -> list[Shape]:
    return [s, s]


def softmax(x: pt.Tensor) -> pt.Tensor:
    e = pt.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: pt.Tensor, w: pt.Tensor) -> pt.Tensor:
    centred = x - pt.mean(x, -1, keepdims=True)
    return centred / pt.sqrt(pt.mean(centred * centred, -1, keepdims=True) + 1e-5) * w


def swapped(s: Shape) -> Shape:
    return (*s[:-2], s[-1], s[-2])


R = Row
ANY, MATRICES, BATCHES = (1, 2, 3, 4), (2, 3, 4), (3, 4)
TABLE = (
    R("scaled", ANY, lambda x: x * 2 + 1, one),
    R("two operands", ANY, lambda x, y: x * y + pt.exp(x), two),
    R("last row", MATRICES, lambda x, y: x + y, lambda s, n: [s, s[-1:]]),
    R("column", MATRICES, lambda x, y: x * y, lambda s, n: [s, (*s[:-1], 1)]),
    R(
        "row and column",
        MATRICES,
        lambda x, y, z: x * y + z,
        lambda s, n: [s, s[-1:], (*s[:-1], 1)],
    ),
    R("outer", MATRICES, lambda x, y: x * y, lambda s, n: [s[-1:], (*s[:-1], 1)]),
    R(
        "some axes of one",
        ANY,
        lambda x, y: x * y,
        lambda s, n: [s, tuple(1 if n >> d & 1 else m for d, m in enumerate(s))],
    ),
    R("transposed", MATRICES, lambda x, y: x.swapaxes(-1, -2) + y, lambda s, n: [swapped(s), s]),
    R("all axes reversed", MATRICES, lambda x, y: x.T * y, lambda s, n: [s[::-1], s]),
    R("flipped", ANY, lambda x: pt.flip(x) + 1, one),
    R("padded", ANY, lambda x: x.pad(1), one),
    R("sum of last", ANY, lambda x: x.sum(-1), one),
    R(
        "sum of first",
        MATRICES,
        lambda x: x.sum(0),
        one,
    ),
    R(
        "sum of middle",
        BATCHES,
        lambda x: x.sum(1),
        one,
    ),
    R("sum of all", MATRICES, lambda x: x.sum(), one),
    R(
        "max of last",
        ANY,
        lambda x: x.max(-1),
        one,
    ),
    R("mean of last", ANY, lambda x: pt.mean(x, -1), one),
    R(
        "argmax of last",
        ANY,
        lambda x: pt.argmax(x, -1),
        one,
    ),
    R(
        "argmax of first",
        MATRICES,
        lambda x: pt.argmax(x, 0),
        one,
    ),
    R("softmax", ANY, softmax, one),
    R(
        "layer norm",
        MATRICES,
        layer_norm,
        lambda s, n: [s, s[-1:]],
    ),
    R(
        "matmul",
        (2,),
        lambda a, b: a @ b,
        lambda s, n: [s, (s[1], n)],
    ),
    R(
        "matmul, bias, relu",
        (2,),
        lambda a, b, c: pt.relu(a @ b + c),
        lambda s, n: [s, (s[1], n), (n,)],
    ),
    R(
        "A.T @ B",
        (2,),
        lambda a, b: a.T @ b,
        lambda s, n: [s, (s[0], n)],
    ),
    R(
        "A @ B.T",
        (2,),
        lambda a, b: a @ b.T,
        lambda s, n: [s, (n, s[1])],
    ),
    R(
        "batches",
        BATCHES,
        lambda a, b: a @ b,
        lambda s, n: [s, (*s[:-2], s[-1], n)],
    ),
    R(
        "batches by a matrix",
        BATCHES,
        lambda a, b: a @ b,
        lambda s, n: [s, (s[-1], n)],
    ),
    R(
        "matrix by vector",
        (2,),
        lambda a, b: a @ b,
        lambda s, n: [s, s[-1:]],
    ),
    R("vector by matrix", (2,), lambda a, b: a @ b, lambda s, n: [s[:1], s]),
    R("sum of products", ANY, lambda x, y: (x * y).sum(), two),
    R("sum of a weighted last", MATRICES, lambda x, w: (x * w).sum(-1), lambda s, n: [s, s[-1:]]),
    R("sum of first and last", BATCHES, lambda x: x.sum((0, -1)), one),
    R("sum of transposed", MATRICES, lambda x: x.T.sum(-1), one),
    R(
        "mean of first, and a row",
        MATRICES,
        lambda x, w: pt.mean(x, 0) + w,
        lambda s, n: [s, s[1:]],
    ),
    R("variance", ANY, lambda x: x.var(-1), one),
    R("cumsum of last", ANY, lambda x: x.cumsum(-1), one),
    R("cumsum of first", MATRICES, lambda x: x.cumsum(0), one),
    R("cumsum of products", MATRICES, lambda x, y: (x * y).cumsum(1), two),
    R("sort", ANY, lambda x: pt.sort(x), one),
    R("sort of first", MATRICES, lambda x: pt.sort(x, 0), one),
    R("argsort", ANY, lambda x: x.argsort(-1), one),
    R("take of first", ANY, lambda x, at: x.take(at, 0), one, indices=True),
    R("take of last", ANY, lambda x, at: x.take(at, -1), one, indices=True),
    R("indexed", ANY, lambda x, at: x[at], one, indices=True),
)
CASES = [(row, rank) for row in TABLE for rank in row.ranks]


def programs_of(
    row: Row, rank: int, profile: AdapterProfile, source: Random, known: Programs
) -> set[Program]:
    """Return the programs to which the expression is lowered for random shapes."""
    place = simulate.device(execute=False)
    place.backend.max_bytes = 2**40
    found: set[Program] = set()
    for _ in range(SHAPES):
        shape = tuple(source.choice(SIZES[rank]) for _ in range(rank))
        shapes = row.shapes(shape, source.choice(SIZES[3]))
        operands = [stored(s, place, pt.float32) for s in shapes]
        if row.indices:
            operands.append(stored(source.choice([(3,), (100,), (4, 50)]), place, pt.int32))
        result = row.f(*operands)
        result.device.collect()
        wanted = make_request([result._to_read()]).program
        kernels = kernels_of(wanted, Budget(profile.max_buffers), fits(profile)).kernels
        lowered, _ = lower_each(kernels, profile, known)
        found |= {dispatch.program for kernel in lowered for dispatch in kernel.dispatches}
    return found


def stored(shape: Shape, place: LazyDevice, dtype: pt.DType) -> pt.Tensor:
    return pt.Tensor(leaf(meta_of(shape, dtype, place), ()))


def counts(programs: set[Program]) -> dict[tuple[str, str], int]:
    """Return the number of programs of each kernel; a kernel is a family and its computation."""
    return Counter((p.family.partition("_")[0], p.label) for p in programs)


@pytest.mark.parametrize("software", [False, True], ids=["gpu", "software"])
@pytest.mark.parametrize(("row", "rank"), CASES, ids=lambda x: getattr(x, "name", None))
def test_few_programs_for_any_shapes(row: Row, rank: int, software: bool, source: Random) -> None:
    known, profile = Programs(), AdapterProfile(max_buffers=10, software=software)
    state = source.getstate()
    found = programs_of(row, rank, profile, source, known)
    for (family, label), count in counts(found).items():
        variants = sorted(p.variant for p in found if p.label == label)
        assert count <= MOST[family], f"{family} {label}: {variants}"
    source.setstate(state)
    assert programs_of(row, rank, profile, source, known) == found
    assert len(known) == len(found)
