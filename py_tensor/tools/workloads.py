"""Workloads for tuning: expressions whose exact results NumPy computes.

Elements are small odd integers, so every sum is exact in float32 in any order, and a result is
either bitwise correct or wrong. The rows of an operand repeat after 29, and the columns of the
right operand of a product after 31, so the expected results take a fraction of a second. Kernels
work in powers of two, so displacing or omitting an element gives wrong results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from py_tensor.runtime.host import host

ROWS, COLUMNS = 29, 31  # the periods of the rows of an operand, and of the columns of another
ELEMENTS = (-3, -1, 1, 3)


@dataclass(frozen=True)
class Workload:
    """An expression, its operands as NumPy arrays of float32, and the bytes of its result."""

    expression: Callable[..., Any]
    operands: tuple[Any, ...]
    expected: bytes


Make = Callable[[], Workload]
"""Makes a workload only when it is called for, because its operands are large."""


@dataclass(frozen=True)
class Workloads:
    """The workloads on which the values of a parameter are timed, and the best one is checked."""

    timed: tuple[Make, ...]
    further: tuple[Make, ...] = ()


def workloads_for(parameter: str, software: bool) -> Workloads:
    """Return the workloads that depend on a parameter, in sizes for the kind of adapter."""
    return (_ON_SOFTWARE if software else _ON_GPU)[parameter]


# -- Kinds of workloads --------------------------------------------------------------------------


def product(m: int, n: int, k: int, *, transposed: bool = False) -> Make:
    """Return a product of an m x k and a k x n matrix; `transposed`: both are stored transposed."""

    def make() -> Workload:
        left, right = _elements(m, ROWS, k), _elements(n, COLUMNS, k).T
        expected = _repeated(left @ right, m, n).tobytes()
        a, b = _repeated(left, m, k), _repeated(right, k, n)
        if transposed:
            return Workload(lambda x, y: x.T @ y.T, (a.T.copy(), b.T.copy()), expected)
        return Workload(lambda x, y: x @ y, (a, b), expected)

    return make


def _over_rows(expression: Callable[..., Any], operands: int = 1) -> Callable[[int, int], Make]:
    """Return a kind of workload whose operands have some rows of some length."""

    def make(rows: int, length: int) -> Workload:
        arrays = [
            _repeated(_elements(seed, ROWS, length), rows, length) for seed in range(operands)
        ]
        return Workload(expression, tuple(arrays), expression(*arrays).tobytes())

    return lambda rows, length: partial(make, rows, length)


def _centred(x: Any) -> Any:
    """Return three passes over each row, as in softmax.

    The maximum of each row is subtracted, and then the mean square of the result. The length of a
    row is a power of two, so means are exact.
    """
    below = x - x.max(-1, keepdims=True)
    return below - (below * below).mean(-1, keepdims=True)


row_sums = _over_rows(lambda x: x.sum(-1))
column_sums = _over_rows(lambda x: x.sum(0))
whole_sum = _over_rows(lambda x: x.sum())
centred = _over_rows(_centred)
map_of_two = _over_rows(lambda x, y: x * y + x, operands=2)


def _elements(seed: int, rows: int, columns: int) -> Any:
    np = host.load_numpy()
    return np.random.default_rng(seed).choice(np.float32(ELEMENTS), (rows, columns))


def _repeated(unit: Any, rows: int, columns: int) -> Any:
    """Return a matrix that repeats another one cyclically."""
    np = host.load_numpy()
    return unit[np.ix_(np.arange(rows) % unit.shape[0], np.arange(columns) % unit.shape[1])]


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
