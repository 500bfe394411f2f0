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

from py_tensor.base.dtypes import DType, int64, uint32, uint64
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape

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


def cast(np: Any, x: Array, dtype: DType) -> Array:
    """Convert with the same results as `shaders/lib/convert.wgsl`.

    In NumPy, converting a float outside the integer's range depends on the processor. Here and on
    the GPU the results are those of x86-64: int32 and int64 get their minimum, uint32 wraps through
    int64, as does uint64 below 2^63, and integers of 8 and 16 bits wrap through int32.
    """
    if np.iscomplexobj(x) and not (dtype.is_complex or dtype.is_bool):
        x = x.real
    if dtype.is_integer and has_floats(x):
        x = _INTEGERS_OF_FLOATS.get(dtype, _int32_of_floats)(np, x)
    return x.astype(dtype.host)


def _int32_of_floats(np: Any, x: Array) -> Array:
    inside = (x > -2147483649.0) & (x < 2147483648.0)
    return np.where(inside, x, -2147483648.0).astype(np.int32)


def _int64_of_floats(np: Any, x: Array) -> Array:
    inside = np.abs(x) < 2.0**63
    least = np.int64(-(2**63))
    return np.where(inside, np.where(inside, x, 0.0).astype(np.int64), least)


def _uint64_of_floats(np: Any, x: Array) -> Array:
    large = (x >= 2.0**63) & (x < 2.0**64)
    above = np.where(large, x, 0.0).astype(np.uint64)
    below = _int64_of_floats(np, x).astype(np.uint64)
    return np.where(large, above, np.where(x >= 2.0**64, np.uint64(0), below))


_INTEGERS_OF_FLOATS: dict[DType, Callable[[Any, Array], Array]] = {
    uint32: lambda np, x: np.where(np.abs(x) < 2.0**63, x, 0.0).astype(np.int64),
    int64: _int64_of_floats,
    uint64: _uint64_of_floats,
}


def computed(run: Run, node: Any, *operands: Array) -> Array:
    """Return the result of a node's op, rounded to a dtype that NumPy does not have."""
    array = node.op.compute(run, node, *operands)
    return array if node.meta.dtype.is_numpys else fitted(run, node, array)


def fitted(run: Run, node: Any, array: Array) -> Array:
    """Return the result of a node's op, rounded to its dtype, which NumPy does not have."""
    if node.op.reads_by_map:
        return array
    dtype = node.meta.dtype
    rounded = decoded(run.np, encoded(run.np, array, dtype), dtype)
    if not node.op.writes:
        return rounded
    array[...] = rounded  # it may be the array of an operand, which is overwritten
    return array


def encoded(np: Any, x: Array, dtype: DType) -> Array:
    """Return an array of the cpu device with the bytes that elements have in memory."""
    if dtype.is_numpys:
        return x
    words = np.ascontiguousarray(x, dtype.host).view(np.uint32)
    nearest = (words + 0x7FFF + (words >> 16 & 1)) >> 16  # ties to even
    is_nan = words & 0x7FFFFFFF > 0x7F800000
    bits = np.where(is_nan, words >> 16 & 0x8000 | 0x7FC0, nearest)
    return bits.reshape(x.shape).astype(np.uint16)


def decoded(np: Any, x: Array, dtype: DType) -> Array:
    """Return the array of the cpu device for elements as in memory: the inverse of `encoded`."""
    if dtype.is_numpys:
        return x.view(dtype.name)
    return (x.view(np.uint16).astype(np.uint32) << 16).view(dtype.host)


def has_integers(x: Any) -> bool:
    """Return whether a NumPy array or scalar has an integer dtype."""
    return x.dtype.kind in "iu"


def has_floats(x: Any) -> bool:
    """Return whether a NumPy array or scalar has a real floating dtype."""
    return x.dtype.kind == "f"


def of_floats(name: str) -> Callable[[Any, Array], Array]:
    """Return NumPy's function of this name for inexact arrays; others are returned unchanged."""
    return lambda np, x: getattr(np, name)(x) if x.dtype.kind in "fc" else x


def summed_in(np: Any, x: Array) -> Any:
    """Return NumPy's dtype in which elements are added: float32 for float16, else their own."""
    return np.float32 if x.dtype.kind == "f" and x.itemsize < 4 else x.dtype


def moved(np: Any, x: Array, layout: Layout) -> Array:
    """Return a read-only view of `x`, given a map to its flat indices."""
    if not layout.size:
        return np.empty(layout.shape, x.dtype)
    view = _by_layout(np, np.ascontiguousarray(x), layout)
    view.flags.writeable = False
    return view


def broadcast_for_product(np: Any, x: Array, layout: Layout) -> Array:
    """Return `moved` for an operand of `contracted`.

    If the view would have more bytes than NumPy can address, it has length 1 along its broadcast
    axes. On a 32-bit platform, the product of two 1000 x 1000 matrices is such a case.
    """
    if layout.size * x.itemsize > ADDRESSABLE:
        shape = (n if s else 1 for n, s in zip(layout.shape, layout.strides, strict=True))
        layout = Layout(tuple(shape), layout.strides, layout.offset)
    return moved(np, x, layout)


def assigned(np: Any, whole: Array, value: Array, layout: Layout, *, copy: bool) -> Array:
    """Return `whole` with a value assigned to the elements that a layout selects."""
    written = np.array(whole, order="C") if copy else whole
    _by_layout(np, written, layout)[...] = value
    return written


def _by_layout(np: Any, x: Array, layout: Layout) -> Array:
    """Return a view of a contiguous array, given a map to its flat indices."""
    size = x.itemsize
    strides = tuple([size * s for s in layout.strides])
    return np.ndarray(layout.shape, x.dtype, x, size * layout.offset, strides)


def gathered(
    run: Run, x: Array, indices: tuple[Array, ...], axes: tuple[int, ...], at: int, op: str
) -> Array:
    """Return the elements of `x` that indices select along some axes; see `Gather`."""
    np, shape = run.np, indices[0].shape
    resolved, _ = _resolved(run, x, indices, axes, op)
    if not _same_for_other_axes(x, resolved, axes, at):
        along_axes = _with_other_axes(np, x, resolved, axes, at, len(shape))
        key = tuple([np.broadcast_to(index, shape) for index in along_axes])
        if len(key) > _MAX_INDICES:
            key = (key[0] * x.shape[1] + key[1], *key[2:])
            x = x.reshape(-1, *x.shape[2:])
        return np.ascontiguousarray(x[key])
    varying = slice(at, len(shape) - x.ndim + at + len(axes))
    key = [
        np.broadcast_to(index.reshape(index.shape[varying]), shape[varying]) for index in resolved
    ]
    if len(key) == 1 and x.flags.c_contiguous:  # of other layouts, NumPy copies the whole array
        return np.take(x, key[0], at, mode="clip")  # skips another check of the indices
    return np.ascontiguousarray(x[(slice(None),) * at + tuple(key)])


def scattered(
    run: Run,
    base: Array,
    values: Array,
    indices: tuple[Array, ...],
    axes: tuple[int, ...],
    at: int,
    op: str,
    mode: str,
) -> Array:
    """Return `base` with values written or combined at the indices, in order; see `Scatter`."""
    np, shape = run.np, indices[0].shape
    resolved, inside = _resolved(run, base, indices, axes, op)
    is_kept = run.overwrite and base.flags.c_contiguous  # otherwise a reshape copies
    result = base if is_kept else np.array(base, order="C")
    before, behind = 1, 1
    if mode == "set" and _same_for_other_axes(base, resolved, axes, at):
        after = at + len(axes)
        before, behind = math.prod(base.shape[:at]), math.prod(base.shape[after:])
        varying = slice(at, len(shape) - base.ndim + after)
        resolved = [flat.reshape(flat.shape[varying]) for flat in resolved]
        inside = None if inside is None else inside.reshape(inside.shape[varying])
        shape, sizes = shape[varying], base.shape[at:after]
    else:
        resolved = _with_other_axes(np, base, resolved, axes, at, len(shape))
        sizes = base.shape
    flat = resolved[0]
    for n, other in zip(sizes[1:], resolved[1:], strict=True):
        flat = flat * n + other
    flat = np.broadcast_to(flat, shape).reshape(-1)
    values = values.reshape(before, flat.size, behind)
    if inside is not None:
        inside = np.broadcast_to(inside, shape).reshape(-1)
        flat, values = flat[inside], values[:, inside]
    target = result.reshape(before, math.prod(sizes), behind)
    if before == behind == 1:  # NumPy is much faster with a single index
        target, values, key = target.reshape(-1), values.reshape(-1), flat
    else:
        key = slice(None), flat
    if mode == "set":
        target[key] = values
    else:
        combine = {"min": np.minimum, "max": np.maximum}.get(mode, np.add)
        combine.at(target, key, values)
    return result


def _resolved(
    run: Run, x: Array, indices: tuple[Array, ...], axes: tuple[int, ...], op: str
) -> tuple[list[Array], Array | None]:
    """Return nonnegative, clipped indices, and a mask of those in range (None if all are).

    Both have length 1 along the axes on which the given indices are broadcast.
    """
    np, inside = run.np, None
    resolved: list[Array] = []
    for axis, index in zip(axes, indices, strict=True):
        n = x.shape[axis]
        varying = tuple([slice(None) if s else slice(1) for s in index.strides])
        numbers = index[varying].astype(np.int64, copy=False)
        lowest, highest = (numbers.min(), numbers.max()) if numbers.size else (0, 0)
        # Negative indices count from the end.
        positive = np.where(numbers < 0, numbers + n, numbers) if lowest < 0 else numbers
        if not -n <= lowest <= highest < n:
            good = (positive >= 0) & (positive < n)
            if op:
                run.note(op, axis, x.shape, int(numbers[~good].reshape(-1)[0]))
            positive = np.clip(positive, 0, n - 1)
            inside = good if inside is None else inside & good
        resolved.append(positive.astype(np.intp, copy=False))
    return resolved, inside


def _same_for_other_axes(x: Array, indices: list[Array], axes: tuple[int, ...], at: int) -> bool:
    """Return whether adjacent axes are indexed in place, in the same way along all other axes."""
    k, others = len(axes), x.ndim - len(axes)
    if axes != tuple(range(at, at + k)):
        return False
    ndim = indices[0].ndim
    rest = [*range(at), *range(ndim - (others - at), ndim)]
    return all(index.shape[dim] == 1 for index in indices for dim in rest)


def _with_other_axes(
    np: Any, x: Array, indices: list[Array], axes: tuple[int, ...], at: int, ndim: int
) -> list[Array]:
    """Return an index for each axis of `x`: those given, and the whole range for the others."""
    along_axes: list[Array] = [None] * x.ndim
    for axis, index in zip(axes, indices, strict=True):
        along_axes[axis] = index
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    dims = [*range(at), *range(ndim - (len(rest) - at), ndim)]
    for axis, dim in zip(rest, dims, strict=True):
        shape = [-1 if d == dim else 1 for d in range(ndim)]
        along_axes[axis] = np.arange(x.shape[axis]).reshape(shape)
    return along_axes


ADDRESSABLE = sys.maxsize  # bytes of an array
_MAX_INDICES = 63  # NumPy's limit for an index; arrays may have up to 64 axes


def in_order(np: Any, x: Array, axis: int, descending: bool, indices: bool) -> Array:
    """Sort the elements along an axis, stably, or return their positions.

    NaN is the largest element, and -0 equals 0. The array is reshaped to three axes, because NumPy
    does not sort arrays of more than 32.
    """
    n = x.shape[axis]
    before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis:][1:])
    rows = x.reshape(before, n, behind)
    if not indices and not _has_equal_zeros(np, rows):
        # Equal elements are identical. NumPy's stable sort is the fastest only for small integers.
        ordered = np.sort(rows, axis=1, kind="stable" if x.itemsize < 4 else None)
        return (np.flip(ordered, 1) if descending else ordered).reshape(x.shape)
    if x.itemsize == 4:
        order = _by_packed_keys(np, rows, descending)
    else:
        order = np.argsort(np.flip(rows, 1) if descending else rows, axis=1, kind="stable")
        order = n - 1 - np.flip(order, 1) if descending else order
    ordered = order.astype(np.int32) if indices else np.take_along_axis(rows, order, 1)
    return ordered.reshape(x.shape)


def _has_equal_zeros(np: Any, x: Array) -> bool:
    """Return whether `x` contains -0, which equals 0 but has other bits."""
    if np.iscomplexobj(x):
        return _has_equal_zeros(np, x.real) or _has_equal_zeros(np, x.imag)
    return has_floats(x) and ((x == 0) & np.signbit(x)).any()


def _by_packed_keys(np: Any, rows: Array, descending: bool) -> Array:
    """Return the stable order along axis 1 of float32, int32 or uint32.

    NumPy sorts 64-bit integers several times as fast as it finds a stable order. The upper half of
    each integer orders the elements, and the lower half is the position.
    """
    if has_floats(rows):
        bits = (rows + 0).view(np.uint32)  # the sum turns -0 into 0
        keys = np.where(bits >> 31, ~bits, bits | 0x80000000)
        keys[np.isnan(rows)] = 0xFFFFFFFF
    else:
        keys = rows.view(np.uint32) ^ (0x80000000 if rows.dtype == np.int32 else 0)
    positions = np.arange(rows.shape[1], dtype=np.uint64)[:, None]
    packed = (~keys if descending else keys).astype(np.uint64) << np.uint64(32) | positions
    packed.sort(axis=1)
    return (packed & np.uint64(0xFFFFFFFF)).astype(np.intp)


def contracted(np: Any, a: Array, b: Array, shape: Shape, axes: tuple[int, ...]) -> Array:
    """Return the sum of a * b over `axes`, kept as length 1, computed by a matrix product.

    The axes along which an operand is broadcast (stride 0) determine its matrix. The operand may
    have length 1 along them instead of the length in `shape`.
    """
    fixed = tuple([not s for s in a.strides]), tuple([not s for s in b.strides])
    product = _product_of(shape, *fixed, axes)
    left, right = (
        _part(np, x, parts, shape).transpose(order).reshape(matrix)
        for x, (parts, order, matrix) in ((a, product.left), (b, product.right))
    )
    product_of_both = np.matmul(left, right).reshape(product.shape)
    return product_of_both.transpose(product.order).reshape(product.kept)


def _part(np: Any, x: Array, parts: tuple[slice, ...], shape: Shape) -> Array:
    """Return a part of an operand of this shape, some axes of which may have length 1."""
    piece = x[parts]
    if x.shape == shape:
        return piece
    sizes = [1 if range_of_axis.stop else n for range_of_axis, n in zip(parts, shape, strict=True)]
    return np.broadcast_to(piece, sizes)


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
    shape: Shape, a_fixed: tuple[bool, ...], b_fixed: tuple[bool, ...], axes: tuple[int, ...]
) -> _Product:
    """Return the product for two operands of one shape, given their broadcast axes."""
    dims = range(len(shape))
    kept = [d for d in dims if d not in axes]
    a_only = [d for d in kept if b_fixed[d] and not a_fixed[d]]
    b_only = [d for d in kept if a_fixed[d] and not b_fixed[d]]
    both = [d for d in kept if d not in a_only and d not in b_only]

    def matrix(
        left_out: list[int], *groups: list[int]
    ) -> tuple[tuple[slice, ...], list[int], list[int]]:
        order = [*both, *(d for group in groups for d in group)]
        batch = [both] if len(shape) > _MAX_INDICES - 2 else [[d] for d in both]
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
