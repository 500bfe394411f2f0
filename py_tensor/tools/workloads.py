"""Workloads for tuning: expressions whose exact results are known without a GPU.

Elements are small odd integers, so every sum is exact in float32 in any order, and a result is
either bitwise correct or wrong. The rows of an operand repeat after 29, and the columns of the
right operand of a product after 31, so Python computes the expected results in a fraction of a
second. Kernels work in powers of two, so displacing or omitting an element gives wrong results.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from operator import mul
from random import Random
from typing import Any, ParamSpec

from py_tensor.base.shapes import Shape
from py_tensor.tensors.tensor import Tensor

ROWS, COLUMNS = 29, 31  # the periods of the rows of an operand, and of the columns of another
ELEMENTS = (-3, -1, 1, 3)


@dataclass(frozen=True)
class Matrix:
    """Elements in row-major order, as float32."""

    shape: Shape
    data: memoryview


@dataclass(frozen=True)
class Workload:
    """An expression, its operands, and the bytes of its result."""

    expression: Callable[[Any], Tensor] | Callable[[Any, Any], Tensor]
    operands: tuple[Matrix, ...]
    expected: bytes


P = ParamSpec("P")
Make = Callable[[], Workload]


@dataclass(frozen=True)
class Workloads:
    """The workloads on which the values of a parameter are timed, and the best one is checked."""

    timed: tuple[Make, ...]
    further: tuple[Make, ...] = ()


def workloads_for(parameter: str, software: bool) -> Workloads:
    """Return the workloads that depend on a parameter, in sizes for the kind of adapter."""
    return (_ON_SOFTWARE if software else _ON_GPU)[parameter]


# -- Kinds of workloads --------------------------------------------------------------------------


def _made_later(make: Callable[P, Workload]) -> Callable[P, Make]:
    """Make a workload only when it is called for, because its operands are large."""
    return lambda *args, **options: partial(make, *args, **options)


@_made_later
def product(m: int, n: int, k: int, *, transposed: bool = False) -> Workload:
    """Return a product of an m x k and a k x n matrix; `transposed`: both are stored transposed."""
    random = Random(m)
    left, right = _rows(random, ROWS, k), _rows(random, COLUMNS, k)
    table = [[_dot(row, column) for column in right] for row in left]
    expected = bytes(_repeated([_cycled(row, n) for row in table], m))
    if transposed:
        a, b = Matrix((k, m), _across(left, m)), Matrix((n, k), _repeated(right, n))
        return Workload(lambda x, y: x.T @ y.T, (a, b), expected)
    a, b = Matrix((m, k), _repeated(left, m)), Matrix((k, n), _across(right, n))
    return Workload(lambda x, y: x @ y, (a, b), expected)


@_made_later
def row_sums(rows: int, length: int) -> Workload:
    values = _rows(Random(length), ROWS, length)
    totals = _cycled([sum(row) for row in values], rows)
    return Workload(lambda x: x.sum(-1), (_matrix(values, rows),), _packed(totals))


@_made_later
def column_sums(rows: int, length: int) -> Workload:
    values = _rows(Random(length), ROWS, length)
    times = [len(range(first, rows, ROWS)) for first in range(ROWS)]
    totals = [_dot(times, column) for column in zip(*values, strict=True)]
    return Workload(lambda x: x.sum(0), (_matrix(values, rows),), _packed(totals))


@_made_later
def whole_sum(rows: int, length: int) -> Workload:
    values = _rows(Random(length), ROWS, length)
    total = sum(_cycled([sum(row) for row in values], rows))
    return Workload(lambda x: x.sum(), (_matrix(values, rows),), _packed([total]))


@_made_later
def centred(rows: int, length: int) -> Workload:
    """Return three passes over each row, as in softmax.

    The maximum of each row is subtracted, and then the mean square of the result. `length` is a
    power of two, so means are exact.
    """
    values = _rows(Random(length), ROWS, length)
    results: list[list[float]] = []
    for row in values:
        highest = max(row)
        square = sum((x - highest) ** 2 for x in row) / length
        results.append([x - highest - square for x in row])
    return Workload(_centred, (_matrix(values, rows),), bytes(_repeated(results, rows)))


def _centred(x: Tensor) -> Tensor:
    below = x - x.max(-1, keepdims=True)
    return below - (below * below).mean(-1, keepdims=True)


@_made_later
def map_of_two(rows: int, length: int) -> Workload:
    random = Random(length)
    left, right = _rows(random, ROWS, length), _rows(random, ROWS, length)
    results = [
        [x * y + x for x, y in zip(*pair, strict=True)] for pair in zip(left, right, strict=True)
    ]
    operands = _matrix(left, rows), _matrix(right, rows)
    return Workload(lambda x, y: x * y + x, operands, bytes(_repeated(results, rows)))


_ODD_PRODUCTS = (product(261, 135, 67), product(260, 132, 68, transposed=True))
_ON_GPU = {
    "large_tile": Workloads((product(2048, 2048, 512),), _ODD_PRODUCTS),
    "medium_tile": Workloads((product(1024, 1024, 512),), _ODD_PRODUCTS),
    "small_tile": Workloads((product(512, 512, 512),), _ODD_PRODUCTS),
    "processors": Workloads((product(768, 768, 512), product(64, 64, 2**14))),
    "row_lanes": Workloads(
        (centred(2048, 4096), row_sums(4096, 4096)), (centred(67, 512), row_sums(67, 1021))
    ),
    "short_row_lanes": Workloads(
        (row_sums(2**17, 128),), (row_sums(1001, 61), column_sums(61, 1001))
    ),
    "unroll": Workloads(
        (whole_sum(4096, 4096), row_sums(4096, 4096)),
        (row_sums(67, 1021), column_sums(1021, 67)),
    ),
    "reduce_groups": Workloads(
        (whole_sum(4096, 4096), column_sums(4096, 4096)), (column_sums(8191, 67),)
    ),
    "map_workgroup": Workloads((map_of_two(2048, 4096),), (map_of_two(1021, 67),)),
}
_ON_SOFTWARE = {
    "unroll": Workloads((whole_sum(512, 1024), row_sums(512, 1024)), (row_sums(67, 1021),)),
    "reduce_groups": Workloads((whole_sum(2048, 1024),), (column_sums(8191, 67),)),
    "map_workgroup": Workloads((map_of_two(512, 1024),), (map_of_two(1021, 67),)),
}


# -- Elements -------------------------------------------------------------------------------------


def _rows(random: Random, count: int, length: int) -> list[list[int]]:
    return [random.choices(ELEMENTS, k=length) for _ in range(count)]


def _dot(x: Iterable[int], y: Iterable[int]) -> int:
    return sum(map(mul, x, y))


def _cycled(values: Sequence[int], count: int) -> list[int]:
    """Return `count` values by repeating these cyclically."""
    return list(islice(cycle(values), count))


def _packed(values: Iterable[float]) -> bytes:
    return array("f", values).tobytes()


def _matrix(values: Sequence[Sequence[float]], rows: int) -> Matrix:
    return Matrix((rows, len(values[0])), _repeated(values, rows))


def _repeated(values: Sequence[Sequence[float]], rows: int) -> memoryview:
    """Return the elements of `rows` rows by repeating these cyclically."""
    unit = b"".join(map(_packed, values))
    return _cut(unit, len(unit) // len(values) * rows)


def _across(values: Sequence[Sequence[int]], columns: int) -> memoryview:
    """Return the elements of `columns` columns by repeating these cyclically."""
    rows = (_cut(_packed(row), 4 * columns) for row in zip(*values, strict=True))
    return memoryview(b"".join(rows))


def _cut(unit: bytes, nbytes: int) -> memoryview:
    return memoryview(unit * -(-nbytes // len(unit)))[:nbytes]
