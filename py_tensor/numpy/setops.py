"""Set operations and unique elements. All of them wait for the GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from py_tensor.base import dtypes
from py_tensor.base.shapes import Shape, normalize_axis
from py_tensor.ops.creation import arange, full, ones, zeros
from py_tensor.ops.elementwise import isnan
from py_tensor.ops.gather import compress, flatnonzero, scatter, take, take_along_axis, values_where
from py_tensor.ops.movement import concat, converted, in_common_dtype, pad_constant, stack, widened
from py_tensor.ops.operands import Operand, known, tensor_beside
from py_tensor.ops.rearrange import moveaxis
from py_tensor.ops.reduction import cumsum
from py_tensor.ops.sorting import argsort, element_at, is_among, sort
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip

MIN_COUNTED = 2**14  # fewer elements are sorted in few dispatches
MAX_COMBINED = 2**12  # bins that fit the memory of a workgroup (`AdapterProfile.max_bins`)


def unique(
    ar: Operand,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the sorted unique elements; reads their number, and so waits for the GPU.

    Parameters
    ----------
    return_index, return_inverse, return_counts : bool
        Whether to also return, in a tuple and as int32, the index of the first occurrence of each,
        the index into the result for each element of `ar`, and the number of occurrences.
    axis : int, optional
        The axis along which whole slices are compared; None compares elements.
    equal_nan : bool
        Whether all NaN count as one element; NaN in slices with axes are always different.
    """
    x = tensor_of(ar, "unique")
    if axis is not None:
        axis = normalize_axis("unique", axis, x.ndim)
    # NumPy orders rows of float16 with NaN differently.
    is_alike = axis is None or not (x.dtype.is_floating and x.dtype.is_packed)
    if is_alike and 0 < x.size < MIN_COUNTED and (elements := known(x)) is not None:
        options = (return_inverse, return_counts, axis)
        _, *results = host.load_numpy().unique(elements, True, *options, equal_nan=equal_nan)
        results = [tensor_of(y, "unique", dtype=dtypes.int32, device=x.device) for y in results]
        values = take(x, results[0], axis)
        return _one_or_all([values, *results[0 if return_index else 1 :]])
    if axis is None or x.ndim == 1:
        axis = None
        slices = x.ravel()
        is_narrow = x.dtype.is_packed  # the range of the dtype is small: nothing is read
        fewest = MIN_COUNTED if is_narrow else max(MIN_COUNTED, x.device.read_work)
        if not x.dtype.is_inexact and x.size >= fewest:
            results = _counted(slices, x.shape, return_index, return_inverse, return_counts)
            if results is not None:
                return _one_or_all(results)
        order = argsort(slices) if return_index or return_inverse else None
        rows = sort(slices) if order is None else element_at(slices, order)
    else:
        slices = moveaxis(x, axis, 0)
        n = slices.shape[0]
        flat = slices.reshape(n, slices.size // n if n else 0)
        order = _order_of_rows(flat) if flat.size else arange(n, device=x.device)
        rows = take(flat, order, 0)
    n = slices.shape[0]
    same = _alike(rows) if equal_nan and axis is None else rows[1:] == rows[:-1]
    same = same if axis is None else same.all(1)
    starts = concat([ones(min(n, 1), dtypes.bool_, device=x.device), ~same])
    first_positions = flatnonzero(starts)
    first = None if order is None else take(order, first_positions)
    if axis is None:
        results = [take(rows, first_positions)]
    else:
        results = [moveaxis(take(slices, first, 0), 0, axis)]
    if return_index and first is not None:
        results.append(first)
    if return_inverse and order is not None:
        none = zeros(n, dtypes.int32, device=x.device)
        inverse = scatter(none, (0,), (order,), 0, cumsum(starts) - 1, unique=True, op="")
        results.append(inverse.reshape(x.shape) if axis is None else inverse)
    if return_counts:
        end = full(min(n, 1), n, dtypes.int32, device=x.device)
        results.append(concat([first_positions[1:], end]) - first_positions)
    return _one_or_all(results)


def _one_or_all(results: list[Tensor]) -> Any:
    return tuple(results) if len(results) > 1 else results[0]


def _alike(x: Tensor) -> Tensor:
    """Return whether each element along the first axis equals the one before, or both are NaN."""
    return (x[1:] == x[:-1]) | (isnan(x[1:]) & isnan(x[:-1]))


def _order_of_rows(x: Tensor) -> Tensor:
    """Return the indices that sort the rows of a matrix lexicographically.

    One sort replaces elements by their ranks within their columns; then two adjacent ranks become
    one number, and so on: k columns take as many sorts as k has bits, as in prefix doubling (Karp,
    Miller and Rosenberg, 1972).
    """
    n = x.shape[0]
    dtype = dtypes.int32 if n * n < 2**31 else dtypes.int64
    while x.shape[1] > 1:
        ranks = converted(_ranks(x), dtype)
        if ranks.shape[1] % 2:
            ranks = pad_constant(ranks, ((0, 0), (0, 1)))
        x = ranks[:, ::2] * n + ranks[:, 1::2]
    return argsort(x[:, 0])


def _ranks(x: Tensor) -> Tensor:
    """Return the number of distinct smaller elements in each column; a NaN equals a NaN.

    Of a complex number, each part that is NaN equals one that is NaN.
    """
    order = argsort(x, 0)
    rows = take_along_axis(x, order, 0)
    is_complex = x.dtype.is_complex
    same = _alike(rows.real) & _alike(rows.imag) if is_complex else _alike(rows)
    rises = concat([zeros((1, x.shape[1]), dtypes.bool_, device=x.device), ~same])
    positions = (order * x.shape[1] + arange(x.shape[1], device=x.device)).ravel()
    none = zeros(x.size, dtypes.int32, device=x.device)
    ranks = cumsum(rises, 0).ravel()
    return scatter(none, (0,), (positions,), 0, ranks, unique=True, op="").reshape(x.shape)


def _counted(
    x: Tensor, shape: Shape, has_index: bool, has_inverse: bool, has_counts: bool
) -> list[Tensor] | None:
    """Return `unique` of integers, by counting each possible value; None if there are too many.

    This is faster than a sort of many elements, although it reads the smallest and the largest one
    first if integers have more than 16 bits.
    """
    if x.dtype.is_packed:
        bounds = dtypes.integer_range(x.dtype)
    else:
        bounds = [int(bound) for bound in stack([x.min(), x.max()]).tolist()]
    span = bounds[1] - bounds[0] + 1
    if span > max(2 * x.size, 2**16):
        return None
    narrow = widened(x)

    def bins() -> Tensor:  # a function, because a tensor in a variable would be stored
        return converted(narrow - bounds[0], dtypes.int32)

    none = zeros(span, dtypes.int32, device=x.device)
    # Without counts every element writes 1; on a GPU, a workgroup combines those of few bins first.
    mode = "add" if has_counts else "max" if span <= MAX_COMBINED else "set"
    counts = scatter(none, (0,), (bins(),), 0, 1, mode, unique=mode == "set", op="")
    occurs = counts > 0
    has_places = has_index or has_counts
    occurring = flatnonzero(occurs) if has_places else arange(span, device=x.device)
    values = converted(converted(occurring, narrow.dtype) + bounds[0], x.dtype)
    results = [values if has_places else values_where(occurs, values)]
    if has_index:
        after = full(span, x.size, dtypes.int32, device=x.device)
        number = arange(x.size, device=x.device)
        results.append(take(scatter(after, (0,), (bins(),), 0, number, "min", op=""), occurring))
    if has_inverse:
        inverse = element_at(cumsum(occurs) - 1, bins())
        results.append(inverse.reshape(shape))
    if has_counts:
        results.append(take(counts, occurring))
    return results


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Operand) -> UniqueAllResult:
    """`unique` with all optional results; each NaN is separate. Waits for the GPU."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Operand) -> UniqueCountsResult:
    """`unique` with the counts; each NaN is separate. Waits for the GPU."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Operand) -> UniqueInverseResult:
    """`unique` with the inverse indices; each NaN is separate. Waits for the GPU."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Operand) -> Tensor:
    """Return the sorted unique elements; each NaN is separate. Waits for the GPU."""
    return unique(x, equal_nan=False)


def intersect1d(
    ar1: Operand, ar2: Operand, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Return the sorted unique elements that are in both operands. Waits for the GPU.

    Parameters
    ----------
    assume_unique : bool
        Whether no operand has an element twice, which saves finding the unique ones. Otherwise the
        result has the elements that occur twice in both operands together.
    return_indices : bool
        Whether to also return, in a tuple, the index of the first occurrence in `ar1` and in `ar2`.
    """
    pair = in_common_dtype("intersect1d", ar1, ar2)
    has_firsts = return_indices and not assume_unique
    results: list[Any] = [
        v.ravel() if assume_unique else unique(v, return_index=return_indices) for v in pair
    ]
    vectors: list[Tensor] = [x for x, _ in results] if has_firsts else results
    x = concat(vectors)
    order = argsort(x)  # stable
    x = x[order]
    same = x[1:] == x[:-1]
    common = compress(same, x[:-1])
    if not return_indices:
        return common
    indices = [compress(same, order[:-1]), compress(same, order[1:]) - vectors[0].size]
    if has_firsts:
        indices = [take(first, i) for (_, first), i in zip(results, indices, strict=True)]
    return common, *indices


def union1d(ar1: Operand, ar2: Operand) -> Tensor:
    """Return the sorted unique elements that are in either operand. Waits for the GPU."""
    a, b = in_common_dtype("union1d", ar1, ar2)
    return unique(concat([a, b], None))


def setdiff1d(ar1: Operand, ar2: Operand, assume_unique: bool = False) -> Tensor:
    """Return the sorted unique elements of `ar1` that are not in `ar2`. Waits for the GPU.

    With `assume_unique` the elements keep the order of `ar1`.
    """
    x = tensor_beside("setdiff1d", ar1, ar2)
    x = x.ravel() if assume_unique else unique(x)
    return compress(is_among("setdiff1d", x, ar2, invert=True), x)


def setxor1d(ar1: Operand, ar2: Operand, assume_unique: bool = False) -> Tensor:
    """Return the sorted unique elements in exactly one operand. Waits for the GPU.

    With `assume_unique`, these are the elements that occur once in both operands together.
    """
    pair = in_common_dtype("setxor1d", ar1, ar2)
    x = sort(concat([v.ravel() if assume_unique else unique(v) for v in pair]))
    end = ones(1, dtypes.bool_, device=x.device)
    differs = concat([end, x[1:] != x[:-1], end])
    return compress(differs[1:] & differs[:-1], x) if x.size else x
