"""NumPy implementations of ops, for the cpu device.

NumPy is passed as a parameter, so that it is only imported when it is used.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from py_tensor.layout import Layout
from py_tensor.shapes import Shape

Array = Any  # numpy.ndarray


@dataclass(frozen=True, slots=True)
class Run:
    """The context of an op's computation on arrays.

    Attributes
    ----------
    np : module
        NumPy.
    note : callable
        ``note(op, axis, shape, index)`` is called for an index out of range.
    overwrite : bool
        Whether the array of the first operand may be overwritten.
    """

    np: Any
    note: Callable[[str, int, Shape, int], None]
    overwrite: bool


def cast(np: Any, x: Array, dtype: str) -> Array:
    """Convert with the same results as `shaders/lib/convert.wgsl`.

    In NumPy, converting a float outside the integer's range depends on the processor. Here and on
    the GPU the results are those of x86-64: int32 and int64 get their least value, uint32 wraps
    through int64, as does uint64 below 2^63, and integers of 8 and 16 bits wrap through int32.
    """
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = x.real
    if x.dtype.kind == "f" and dtype in ("int8", "int16", "uint8", "uint16"):
        x = cast(np, x, "int32")
    if x.dtype.kind == "f" and dtype == "int32":
        inside = (x > -2147483649.0) & (x < 2147483648.0)
        return np.where(inside, x, -2147483648.0).astype(dtype)
    if x.dtype.kind == "f" and dtype == "uint32":
        inside = np.abs(x) < 2.0**63
        return np.where(inside, x, 0.0).astype(np.int64).astype(dtype)
    if x.dtype.kind == "f" and dtype == "int64":
        inside = np.abs(x) < 2.0**63
        least = np.int64(-(2**63))
        return np.where(inside, np.where(inside, x, 0.0).astype(np.int64), least)
    if x.dtype.kind == "f" and dtype == "uint64":
        large = (x >= 2.0**63) & (x < 2.0**64)
        above = np.where(large, x, 0.0).astype(np.uint64)
        below = cast(np, x, "int64").astype(np.uint64)
        return np.where(large, above, np.where(x >= 2.0**64, np.uint64(0), below))
    return x.astype(dtype)


def moved(np: Any, x: Array, layout: Layout) -> Array:
    """A read-only view of `x` by a map to its flat indices."""
    if not layout.size:
        return np.empty(layout.shape, x.dtype)
    view = _by_layout(np, np.ascontiguousarray(x), layout)
    view.flags.writeable = False
    return view


def broadcast_for_product(np: Any, x: Array, layout: Layout) -> Array:
    """`moved` for an operand of `contracted`.

    A view with more bytes than NumPy can address, as in 32 bits those of the product of two
    matrices of 1000 x 1000, has length 1 along the axes on which it is broadcast.
    """
    if layout.size * x.itemsize > ADDRESSABLE:
        still = (n if s else 1 for n, s in zip(layout.shape, layout.strides, strict=True))
        layout = Layout(tuple(still), layout.strides, layout.offset)
    return moved(np, x, layout)


def assigned(np: Any, whole: Array, value: Array, layout: Layout, *, copy: bool) -> Array:
    """`whole` with a value assigned to the elements that a layout selects."""
    written = np.array(whole, order="C") if copy else whole
    _by_layout(np, written, layout)[...] = value
    return written


def _by_layout(np: Any, x: Array, layout: Layout) -> Array:
    """A view of a contiguous array, by a map to its flat indices."""
    size = x.itemsize
    strides = tuple([size * s for s in layout.strides])
    return np.ndarray(layout.shape, x.dtype, x, size * layout.offset, strides)


def places(
    run: Run, x: Array, indices: tuple[Array, ...], axes: tuple[int, ...], at: int, op: str
) -> tuple[tuple[Array, ...], Array]:
    """Return a NumPy index into `indexable(x)`, clipped, and a mask of what is in range."""
    np = run.np
    found: list[Array] = [None] * x.ndim
    inside = np.ones(indices[0].shape, bool)
    for axis, given in zip(axes, indices, strict=True):
        n = x.shape[axis]
        place = from_the_end(np, given.astype(np.int64), n)
        good = (place >= 0) & (place < n)
        if not good.all():
            if op:
                run.note(op, axis, x.shape, int(given[~good].reshape(-1)[0]))
            place = np.clip(place, 0, n - 1)
            inside &= good
        found[axis] = place
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    behind = indices[0].ndim - (len(rest) - at)
    dims = [*range(at), *range(behind, indices[0].ndim)]
    for axis, dim in zip(rest, dims, strict=True):
        shape = [-1 if d == dim else 1 for d in range(indices[0].ndim)]
        found[axis] = np.arange(x.shape[axis]).reshape(shape)
    if len(found) > _MOST_INDICES:
        found[:2] = [found[0] * x.shape[1] + found[1]]
    return tuple(found), inside


ADDRESSABLE = sys.maxsize  # bytes of an array
_MOST_INDICES = 63  # NumPy's limit for an index; arrays may have up to 64 axes


def indexable(x: Array) -> Array:
    """An array of up to 63 axes with the same elements; a view if `x` is in C order."""
    return x.reshape(-1, *x.shape[2:]) if x.ndim > _MOST_INDICES else x


def from_the_end(np: Any, given: Array, n: int) -> Array:
    """Resolve negative indices along an axis of length n, which count from its end."""
    return np.where(given < 0, given + n, given)


def scattered(
    np: Any,
    base: Array,
    where: tuple[Array, ...],
    inside: Array,
    values: Array,
    mode: str,
    *,
    copy: bool,
) -> Array:
    """`base` with values written or combined at the positions in range, in their order."""
    result = np.array(base, order="C") if copy or base.ndim > _MOST_INDICES else base
    chosen = tuple(np.broadcast_to(place, inside.shape)[inside] for place in where)
    values = np.broadcast_to(values, inside.shape)[inside]
    if mode == "set":
        indexable(result)[chosen] = values
    else:
        combine = {"min": np.minimum, "max": np.maximum}.get(mode, np.add)
        combine.at(indexable(result), chosen, values)
    return result


def in_order(np: Any, x: Array, axis: int, descending: bool, indices: bool) -> Array:
    """Sort the elements along an axis, stably, or return their positions.

    Descending order is that of the reversed array, reversed. The array is sorted with three axes,
    because NumPy only sorts arrays of up to 32.
    """
    n = x.shape[axis]
    before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis:][1:])
    rows = x.reshape(before, n, behind)
    if not descending and not indices:
        return np.sort(rows, axis=1, kind="stable").reshape(x.shape)
    order = np.argsort(np.flip(rows, 1) if descending else rows, axis=1, kind="stable")
    order = n - 1 - np.flip(order, 1) if descending else order
    found = order.astype(np.int32) if indices else np.take_along_axis(rows, order, 1)
    return found.reshape(x.shape)


def contracted(np: Any, a: Array, b: Array, shape: Shape, axes: tuple[int, ...]) -> Array:
    """The sum of a * b over `axes`, kept as length 1, computed by a matrix product.

    Axes along which an operand is broadcast (stride 0) determine its matrix; they may have length 1
    in place of that in `shape`.
    """
    still = tuple([not s for s in a.strides]), tuple([not s for s in b.strides])
    product = _product_of(shape, *still, axes)
    left, right = (
        _part(np, x, parts, shape).transpose(order).reshape(matrix)
        for x, (parts, order, matrix) in ((a, product.left), (b, product.right))
    )
    found = np.matmul(left, right).reshape(product.shape)
    return found.transpose(product.order).reshape(product.kept)


def _part(np: Any, x: Array, parts: tuple[slice, ...], shape: Shape) -> Array:
    """A part of an operand of this shape, some axes of which may have length 1."""
    found = x[parts]
    if x.shape == shape:
        return found
    sizes = [1 if part.stop else n for part, n in zip(parts, shape, strict=True)]
    return np.broadcast_to(found, sizes)


@dataclass(frozen=True, slots=True)
class _Product:
    """How a contraction is computed as a matrix product.

    Attributes
    ----------
    left, right : tuple
        How to turn an operand into a matrix: index it, permute its axes, then reshape it.
    shape, order
        The shape of the product of the matrices, and the order of these axes in the result.
    kept
        The shape of the result.
    """

    left: tuple[tuple[slice, ...], list[int], list[int]]
    right: tuple[tuple[slice, ...], list[int], list[int]]
    shape: list[int]
    order: list[int]
    kept: list[int]


@lru_cache(1 << 10)
def _product_of(
    shape: Shape, a_still: tuple[bool, ...], b_still: tuple[bool, ...], axes: tuple[int, ...]
) -> _Product:
    """The product for two operands of one shape, given the axes along which each is broadcast."""
    dims = range(len(shape))
    kept = [d for d in dims if d not in axes]
    a_only = [d for d in kept if b_still[d] and not a_still[d]]
    b_only = [d for d in kept if a_still[d] and not b_still[d]]
    both = [d for d in kept if d not in a_only and d not in b_only]

    def matrix(
        left_out: list[int], *groups: list[int]
    ) -> tuple[tuple[slice, ...], list[int], list[int]]:
        order = [*both, *(d for group in groups for d in group)]
        batch = [both] if len(shape) > _MOST_INDICES - 2 else [[d] for d in both]
        return (
            tuple(slice(0, 1) if d in left_out else slice(None) for d in dims),
            [*order, *(d for d in dims if d not in order)],
            [math.prod(shape[d] for d in group) for group in (*batch, *groups)],
        )

    order = [*both, *a_only, *b_only]
    return _Product(
        matrix(b_only, a_only, list(axes)),
        matrix(a_only, list(axes), b_only),
        [shape[d] for d in order],
        [order.index(d) for d in kept],
        [1 if d in axes else shape[d] for d in dims],
    )
