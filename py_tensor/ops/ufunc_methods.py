"""Implementation of the ufunc methods `reduce`, `accumulate`, `reduceat` and `at`.

A function of two operands is reduced over an axis by calling it on parts of the tensor:

- A function in `ASSOCIATIVE` combines halves: the first half of the axis with the second, and so
  on, in log2(n) steps. `accumulate` takes as many steps, each over the whole tensor (W. D. Hillis
  and G. L. Steele, Data Parallel Algorithms, 1986).
- Any other function is applied along the axis in order, as in NumPy: an op in a kernel with one
  invocation per result; a composition by one call per element.

Sums, products, extremes, bitwise and logical functions, and differences have dedicated kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from math import prod as product_of
from operator import index as as_index
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, dropped, normalize_axes, normalize_axis, reduced
from py_tensor.codegen.writer import apply_text, wrapped
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise, Reduction
from py_tensor.ir.recording import is_recording
from py_tensor.ops.bitwise import bitwise_and, bitwise_or, bitwise_xor
from py_tensor.ops.creation import arange, full, zeros_like
from py_tensor.ops.define import LOOPS
from py_tensor.ops.elementwise import add, equal, maximum, negative, not_equal, subtract
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.gather import as_given, gathered, scattered, take
from py_tensor.ops.indexing import combine, getitem, has_no_arrays, setitem
from py_tensor.ops.kernel import kernel
from py_tensor.ops.movement import concat, converted, expand, permute, reshape, reshape_copy, sliced
from py_tensor.ops.operands import Operand, Scalar, copy_or_scalar, numbers_of
from py_tensor.ops.out import Out, dtype_into, stored_whole, writeable
from py_tensor.ops.record import build
from py_tensor.ops.reduction import CUMSUM, MAX, MIN, all, any, fold_by, max, min, scan_by, scanned
from py_tensor.ops.sorting import argsort
from py_tensor.tensors.tensor import Tensor, tensor_of

ASSOCIATIVE = {
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "hypot", "lcm",
    "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
    "multiply",
}  # fmt: skip

LEVELS = 3  # the number of halvings in one kernel

# -- Kernels ------------------------------------------------------------------------------------


def _numbers(x: Tensor, axis: int) -> Tensor:
    """Return the index of each element along an axis."""
    n = x.shape[axis]
    shape = tuple(n if a == axis else 1 for a in range(x.ndim))
    return expand(reshape(arange(n, device=x.device), shape), x.shape)


def _grad_extremes(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int]) -> tuple[Tensor]:
    """The gradient of an extreme goes to the first element that attains it."""
    (axis,) = attrs
    numbers = _numbers(x, axis)
    before = gathered(y, (axis,), (maximum(numbers - 1, 0),), axis, "")
    first = build(MAXIMA, (choose(not_equal(y, before), numbers, 0),), (axis,))
    return (scattered(zeros_like(x), (first,), g, (axis,), axis, "", "add", False),)


def _every_bit(dtype: DType) -> int:
    if dtype.is_bool:
        return 1
    return dtypes.integer_range(dtype)[1] if dtype.is_unsigned else -1


def _of_bits(function: Any, identity: Callable[[DType], int]) -> Reduction:
    return fold_by(function.__name__, function, identity, vjp=NOT_DIFFERENTIABLE)


def _dropping_axes(fold: Reduction, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return reshape(build(fold, (x,), axes), dropped(x.shape, axes))


AND = _of_bits(bitwise_and, _every_bit)
OR = _of_bits(bitwise_or, lambda dtype: 0)
XOR = _of_bits(bitwise_xor, lambda dtype: 0)
KERNELS: dict[str, Callable[[Tensor, tuple[int, ...]], Tensor]] = {
    "maximum": max, "minimum": min, "logical_and": all, "logical_or": any,
    "logical_xor": lambda x, axes: copy_or_scalar(_dropping_axes(XOR, x, axes)),
    "bitwise_and": partial(_dropping_axes, AND),
    "bitwise_or": partial(_dropping_axes, OR), "bitwise_xor": partial(_dropping_axes, XOR),
}  # fmt: skip
MAXIMA = scan_by("running max", "maximum", MAX, _grad_extremes)
MINIMA = scan_by("running min", "minimum", MIN, _grad_extremes)
XORS = scan_by("running bitwise_xor", "bitwise_xor", XOR)
SCANS = {
    "maximum": MAXIMA, "minimum": MINIMA, "logical_or": MAXIMA, "logical_and": MINIMA,
    "logical_xor": XORS, "bitwise_and": scan_by("running bitwise_and", "bitwise_and", AND),
    "bitwise_or": scan_by("running bitwise_or", "bitwise_or", OR), "bitwise_xor": XORS,
}  # fmt: skip

_IN_RANGE = {*SCANS, "fmax", "fmin"}
"""Functions whose results are within the range of their operands' dtype."""

# -- Folds --------------------------------------------------------------------------------------


def computed_in(function: Any, name: str, x: Tensor, dtype: object, out: Out) -> DType:
    """Return the dtype for reducing with a function, whose results are operands of later calls.

    Without `dtype`, `out` widens it unless no result can exceed the dtype of the elements.

    Raises
    ------
    DTypeError
        If the result's dtype differs from that of the operands, as for a comparison of numbers.
    """
    loop = LOOPS.get(function.__name__)
    if loop is None:
        raise DTypeError(f"{name}: needs operands of one dtype")
    wanted = None if dtype is None else dtypes.parse(dtype)
    source = x.dtype if out is None else _into(function, name, x, out)
    target = loop.accepts.check(name, wanted or source)
    gives = loop.result(target)
    if gives.is_bool and (wanted or source).is_bool:  # a comparison of bools, computed in int32
        return gives
    if gives is not target or (wanted is not None and target is not wanted):
        raise DTypeError(f"{name}: returns {gives}, not {wanted or target}")
    return target


def _into(function: Any, name: str, x: Tensor, out: Out) -> DType:
    if function.__name__ in _IN_RANGE:
        return x.dtype
    is_exact = function.__name__ == "add" or (
        function.__name__ == "subtract"
        and not (x.dtype.is_unsigned and x.dtype.is_wide)  # int64 lacks its differences
    )
    return dtype_into(name, x.dtype, x.device, out, added=x.size if is_exact else 0)


def _halved(function: Any, x: Tensor) -> Tensor:
    """Reduce over axis 0, which is not empty, with an associative function; keeps the axis.

    A kernel combines only a few levels, because code for all levels would grow with the axis.
    """
    rest: Tensor | None = None
    level = 0
    while (n := x.shape[0]) > 1:
        if level and level % LEVELS == 0:
            x.realize()
        level += 1
        half = n // 2
        if n % 2:
            last = sliced(x, 0, n - 1, n)
            rest = last if rest is None else function(rest, last)
        x = function(sliced(x, 0, 0, half), sliced(x, 0, half, 2 * half))
    return x if rest is None else function(x, rest)


def reduced_by(
    function: Any,
    array: Operand,
    axis: object,
    dtype: object,
    out: Out,
    keepdims: bool,
    initial: Scalar | None,
    where: Operand,
) -> Tensor:
    """Reduce over axes with a function of two operands, with NumPy's options."""
    name = f"{function.__name__}.reduce"
    x = tensor_of(array, name)
    x = converted(x, computed_in(function, name, x, dtype, out))
    axes = normalize_axes(name, axis, x.ndim, of_scalar=True)
    associative = function.__name__ in ASSOCIATIVE
    if len(axes) > 1 and not associative:
        raise ValueError(f"{name}: is not reorderable, so it takes one axis, not {axes}")
    is_and = function.__name__ == "bitwise_and"
    identity = _every_bit(x.dtype) if is_and else function.identity
    start = identity if initial is None else initial
    if where is not True and start is None:
        raise ValueError(f"{name}: has no identity, so where needs initial")
    shape = reduced(x.shape, axes)
    kept = dropped(shape, axes)
    n = product_of(x.shape[a] for a in axes)
    if axes and not n and start is None:
        raise ValueError(f"{name}: no elements along axis {axis} of shape {x.shape}")
    chosen = None if where is True else expand(tensor_of(where, name), x.shape)
    if chosen is not None and associative:
        x, chosen = choose(chosen, x, start if identity is None else identity), None
    first = None if start is None else full(kept, start, dtype=x.dtype, device=x.device)
    if axes and not n:
        assert first is not None
        y = first
    else:
        # The identity changes one element, such as -1 to hypot(0, -1), and none of several.
        first = None if initial is None and n > 1 else first
        y = _folded(function, x, axes, chosen, first)
    return stored_whole(name, reshape(y, shape) if keepdims else y, out)


def _folded(
    function: Any, x: Tensor, axes: tuple[int, ...], chosen: Tensor | None, first: Tensor | None
) -> Tensor:
    """Reduce `first` and the elements of a tensor, of which there are some along the axes.

    With `chosen`, which omits elements, there is a `first`.
    """
    name = function.__name__
    if name in ASSOCIATIVE or not axes:
        y = _reordered(function, x, axes)
        return y if first is None else function(first, y)
    rows, kept = _rows(x, axes), dropped(x.shape, axes)
    if name == "subtract" and chosen is None:
        minuend, rest = (rows[0], rows[1:]) if first is None else (first, rows)
        return subtract(minuend, rest.sum(0, x.dtype))
    if chosen is None and _is_kernel(function, x):
        whole = rows if first is None else concat([reshape(first, (1, *kept)), rows])
        y = reshape(_in_order(function.op, reshape(whole, (1, len(whole), -1)), False), kept)
    else:
        masks = None if chosen is None else _rows(chosen, axes)
        y = rows[0] if first is None else first
        for k in range(1 if first is None else 0, rows.shape[0]):
            following = function(y, rows[k])
            y = following if masks is None else choose(masks[k], following, y)
    return copy_or_scalar(y) if rows.shape[0] == 1 else y


def _reordered(function: Any, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Reduce elements with an associative function, or none of them over no axes."""
    if not axes:
        return copy_or_scalar(x)
    if function.__name__ in KERNELS:
        return KERNELS[function.__name__](x, axes)
    rows = _rows(x, axes)
    y = reshape(_halved(function, rows), rows.shape[1:])
    return copy_or_scalar(y) if rows.shape[0] == 1 else y


def _rows(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return a tensor with the axes to reduce as its first one."""
    order = (*axes, *(a for a in range(x.ndim) if a not in axes))
    return reshape(
        permute(x, order), (product_of(x.shape[a] for a in axes), *dropped(x.shape, axes))
    )


def _along_one(name: str, array: Operand, axis: int) -> tuple[Tensor, int]:
    """Return an operand, and a nonnegative axis of it."""
    x = tensor_of(array, name)
    if not x.ndim:
        raise TypeError(f"{name}: needs at least 1 axis, got a 0-d tensor")
    return x, normalize_axis(name, axis, x.ndim)


def accumulated_by(function: Any, array: Operand, axis: int, dtype: object, out: Out) -> Tensor:
    """Combine each element along an axis with all before it."""
    name = f"{function.__name__}.accumulate"
    x, along = _along_one(name, array, axis)
    target = computed_in(function, name, x, dtype, out)
    return stored_whole(name, _running(function, name, converted(x, target), along), out)


def _running(function: Any, name: str, x: Tensor, along: int) -> Tensor:
    n = x.shape[along]
    if not x.size:
        return copy_or_scalar(x)
    if function.__name__ in SCANS:
        return scanned(SCANS[function.__name__], name, x, along, x.dtype)
    if function.__name__ == "subtract":
        x = choose(equal(_numbers(x, along), 0), x, negative(x))
        return scanned(CUMSUM, name, x, along, x.dtype)
    if n == 1:
        return copy_or_scalar(x)
    if function.__name__ in ASSOCIATIVE:
        step = 1
        while step < n:
            combined = function(sliced(x, along, 0, n - step), sliced(x, along, step, n))
            x = concat([sliced(x, along, 0, step), combined], along)
            step *= 2
        return x
    if _is_kernel(function, x):
        rows = reshape(x, (product_of(x.shape[:along]), n, -1))
        return reshape(_in_order(function.op, rows, True), x.shape)
    results = [sliced(x, along, 0, 1)]
    for k in range(1, n):
        results.append(function(results[-1], sliced(x, along, k, k + 1)))
    return concat(results, along)


MAX_IN_ORDER = 1 << 16  # the most elements in an invocation's loop, to limit a dispatch's time


def _is_kernel(function: Any, x: Tensor) -> bool:
    """Return whether a dedicated kernel, without derivative, reduces with the function in order."""
    op = getattr(function, "op", None)
    is_op = isinstance(op, Elementwise) and op.result(x.dtype) is x.dtype
    return is_op and not x.dtype.is_bool and x.size > 0 and not is_recording()


def _in_order(op: Elementwise, x: Tensor, running: bool) -> Tensor:
    """Apply an op in order along the middle one of three axes; return the last result or all."""
    pieces: list[Tensor] = []
    for start in range(0, x.shape[1], MAX_IN_ORDER):
        piece = sliced(x, 1, start, start + MAX_IN_ORDER)
        piece = concat([pieces[-1][:, -1:], piece], 1) if pieces else piece
        y = _serial(op, x.dtype, running)(piece)
        pieces.append(y[:, 1:] if pieces and running else y)
    return concat(pieces, 1) if running and len(pieces) > 1 else pieces[-1]


def _of_one(shape: Shape) -> Shape:
    return shape[0], 1, shape[2]


def _columns(shape: Shape) -> int:
    return shape[0] * shape[2]


@cache
def _serial(op: Elementwise, dtype: DType, running: bool) -> Callable[[Tensor], Tensor]:
    """Return the kernel: an invocation loops over the middle axis for an index of the others."""

    def fold(np: Any, x: Any) -> Any:
        on_arrays: Any = op.numpy
        y = x[:, :1]
        results = [y]
        for k in range(1, x.shape[1]):
            y = on_arrays(np, y, x[:, k : k + 1]).astype(x.dtype)
            results.append(y)
        return np.concatenate(results, 1) if running else y

    step = wrapped(dtype, apply_text(op, dtype, ("folded", "x[at]"))) if dtype.on_gpu else ""
    store = "y[at] = folded;" if running else ""
    return kernel(
        op.name,
        f"""
        let inner = x_shape[2];
        var at = index / inner * x_shape[1] * inner + index % inner;
        var folded = x[at];
        {store}
        for (var k = 1u; k < x_shape[1]; k++) {{
          at += inner;
          folded = {step};
          {store}
        }}
        {"" if running else "y[index] = folded;"}
        """,
        inputs={"x": dtype},
        outputs={"y": ("x" if running else _of_one, "x")},
        dispatch=_columns,
        numpy=fold,
    )


def reduced_at(
    function: Any, array: Operand, indices: Any, axis: int, dtype: object, out: Out
) -> Tensor:
    """Reduce the slices along an axis between consecutive indices, and to the end.

    Slices of the same length are reduced together.
    """
    name = f"{function.__name__}.reduceat"
    x, along = _along_one(name, array, axis)
    n = x.shape[along]
    numbers, shape = numbers_of(name, indices)
    if len(shape) != 1:
        raise ShapeError(f"{name}: indices must be 1-D, not of shape {shape}")
    starts = [as_index(i) for i in numbers]
    wrong = next((i for i in starts if not 0 <= i < n), None)
    if wrong is not None:
        raise IndexError(
            f"{name}: index {wrong} is out of range for axis {along} of shape {x.shape}"
        )
    if dtype is None and out is not None and function.__name__ not in _IN_RANGE:
        dtype = _into(function, name, x, out)
    summed = function.reduce(sliced(x, along, 0, 1), along, dtype, keepdims=True)
    of_length: dict[int, list[int]] = {}
    for number, (i, j) in enumerate(pairwise((*starts, n))):
        of_length.setdefault(j - i if i < j else 1, []).append(number)
    reduced = [sliced(summed, along, 0, 0)]
    order: list[int] = []
    for length, numbers_of_length in of_length.items():
        order += numbers_of_length
        first = [starts[number] for number in numbers_of_length]
        if len(first) == 1:
            slices = sliced(x, along, first[0], first[0] + length)
            slices = reshape(slices, (*x.shape[:along], 1, *slices.shape[along:]))
        else:
            index = reshape(tensor_of(first, name, device=x.device), (-1, 1))
            slices = take(x, index + arange(length, device=x.device), along)
        if length > 1:
            reduced.append(function.reduce(slices, along + 1, dtype))
        else:
            elements = reshape(slices, dropped(slices.shape, (along + 1,)))
            reduced.append(converted(elements, summed.dtype))
    y = concat(reduced, along)
    if order != sorted(order):
        y = take(y, sorted(range(len(order)), key=order.__getitem__), along)
    return stored_whole(name, y, out)


# -- Writing ------------------------------------------------------------------------------------

_SCATTERED = {"add": "add", "subtract": "add", "maximum": "max", "minimum": "min"}


def applied_at(function: Any, a: Any, indices: Any, b: Operand | None, atomic: bool) -> None:
    """Apply a function in place to indexed elements, once for each occurrence of an index."""
    name = f"{function.__name__}.at"
    a = writeable(name, a)
    if (b is None) != (function.nin == 1):
        raise TypeError(f"{name}: takes {'no values' if function.nin == 1 else 'values'}")
    values: list[Tensor] = [] if b is None else [as_given(a, b, name)]
    scatters = function.__name__ in _SCATTERED
    if scatters and dtypes.is_of_kind(values[0].dtype, a.dtype):  # they take values
        _scatter(function, name, a, indices, values[0], atomic)
    elif has_no_arrays(indices):
        setitem(a, indices, function(getitem(a, indices), *values))
    else:
        _apply_each(function, a, indices, *values)


def _scatter(
    function: Any, name: str, a: Tensor, indices: Any, values: Tensor, atomic: bool
) -> None:
    mode = _SCATTERED[function.__name__]
    if mode == "add" and atomic:
        mode = "add_atomic"
    values = converted(values, a.dtype)
    if function.__name__ == "subtract":
        if a.dtype.is_bool:
            raise DTypeError(f"{name}: takes int and float dtypes, not bool")
        combine(a, indices, negative(values), mode, add)
    else:
        combine(a, indices, values, mode, function)


def _apply_each(function: Any, a: Tensor, indices: Any, *operand: Tensor) -> None:
    """Apply the function at each index, also at repeated indices.

    The largest count of a repeated index is read. If the order does not matter, the values for one
    element are combined first, in as many steps as the logarithm of that count. Otherwise each
    round applies one value per element.
    """
    targets = getitem(reshape(arange(a.size, device=a.device), a.shape), indices)
    if not targets.size:
        return
    values = [reshape_copy(expand(v, targets.shape), (targets.size,)) for v in operand]
    targets = reshape_copy(targets, (targets.size,))
    order = argsort(targets)
    targets, *values = (take(v, order) for v in (targets, *values))  # by elements, in order
    numbers = arange(targets.size, device=a.device)
    goes_on = concat([numbers[:1] > 0, equal(targets[1:], targets[:-1])])
    rank = numbers - build(MAXIMA, (choose(goes_on, 0, numbers),), (0,))
    times = int(max(rank)) + 1
    if times == 1:
        setitem(a, indices, function(getitem(a, indices), *operand))
        return
    y = reshape_copy(a, (a.size,))
    target = None
    if function.__name__ in ASSOCIATIVE:  # which takes values
        common = dtypes.promote(a.dtype, values[0].dtype)
        target = LOOPS[function.__name__].accepts.check(function.__name__, common)
    if target is not None and dtypes.is_of_kind(target, a.dtype):
        running, step = converted(values[0], target), 1
        while step < times:  # the values of each element so far, combined
            combined = function(running[:-step], running[step:])
            combined = choose(rank[step:] >= step, combined, running[step:])
            running = concat([running[:step], combined])
            step *= 2
        result = function(take(y, targets), running)
        setitem(y, targets, result)  # for repeated elements the last result remains
    else:
        y = concat([y, y[:1]])  # one more element, for values that are not written in a round
        for time in range(times):
            result = function(take(y, targets), *values)
            setitem(y, choose(equal(rank, time), targets, a.size), result)
        y = y[:-1]
    setitem(a, Ellipsis, reshape(y, a.shape))
