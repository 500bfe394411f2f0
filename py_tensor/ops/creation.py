"""Creation functions: constants and ranges, computed where they are used.

With ``order="F"`` the result is a column-major view of a tensor. `subok` and `like`, which NumPy's
functions have, are accepted and have no effect: results are tensors.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, cast

from py_tensor import dtypes
from py_tensor.backend.device import Device, parse
from py_tensor.dtypes import DType
from py_tensor.errors import ShapeError, check_order
from py_tensor.graph.node import meta_of
from py_tensor.graph.op import Movement
from py_tensor.graph.primitives import COMPLEX, EXPAND, RESHAPE, index
from py_tensor.ops.composition import Composition
from py_tensor.ops.define import apply, build, empty_node, filled, register
from py_tensor.ops.elementwise import equal, floor, where
from py_tensor.ops.movement import (
    as_floating,
    converted,
    expand,
    expand_dims,
    in_common_dtype,
    laid_out,
)
from py_tensor.ops.operands import (
    Operand,
    Real,
    Scalar,
    as_ndarray,
    is_array_like,
    number_of,
    real_number_of,
    whole_number,
)
from py_tensor.shapes import Shape, normalize_axis, parse_shape
from py_tensor.tensor import Tensor, tensor_of

__all__ = [
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def _maker(name: str) -> Movement:
    """Return the op that names a created tensor in the graph and in errors about its size.

    The tensor may exceed the device's memory and still be used in an expression.
    """
    return replace(EXPAND, name=name)


FULL, ZEROS, ONES, EMPTY = map(_maker, ("full", "zeros", "ones", "empty"))
FULL_LIKE, ZEROS_LIKE, ONES_LIKE, EMPTY_LIKE = map(
    _maker, ("full_like", "zeros_like", "ones_like", "empty_like")
)
EYE, ARANGE, LINSPACE = (replace(RESHAPE, name=name) for name in ("eye", "arange", "linspace"))
P = ParamSpec("P")


def _takes_shape(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Raise an error with a hint if sizes are passed as separate arguments."""

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> Tensor:
        if len(args) > 1 and all(isinstance(n, int) for n in args):
            name = function.__name__
            raise TypeError(f"{name}: takes one shape tuple: pt.{name}({args})")
        return function(*args, **options)

    return checked


def _filled(op: Movement, shape: object, value: Scalar, dtype: DType, device: Any) -> Tensor:
    place = parse(device)
    sizes = parse_shape(op.name, shape)
    if value in (0, 1) and type(value) is int:
        made = _filled_with_int((), op, sizes, value, dtype, place)
    else:
        made = _filled_with(op, sizes, value, dtype, place)
    return made if sizes else as_ndarray(made)


def _filled_with(op: Movement, sizes: Shape, value: Scalar, dtype: DType, place: Device) -> Tensor:
    place.backend.check(op.name, meta_of((), dtype, place))
    return filled(value, meta_of(sizes, dtype, place), op)


_filled_with_int = Composition(_filled_with)


def _parsed(dtype: object) -> DType:
    return dtypes.DEFAULT.floating if dtype is None else dtypes.parse(dtype)


def full(
    shape: int | Shape,
    fill_value: Operand,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> Tensor:
    """Return a tensor filled with one value, by default in the value's dtype.

    It takes no memory until it is stored. A value that is a tensor, array or list is broadcast to
    the shape; a tensor is not read.

    Raises
    ------
    OverflowError, ValueError
        If the dtype cannot represent the value.
    ShapeError
        If the value does not broadcast to the shape.
    TypeError
        If the value is not a number or an array.
    """
    check_order("full", order, "CF")
    if is_array_like(fill_value):
        target = None if dtype is None else dtypes.parse(dtype)
        place = None if device is None else parse(device)
        made = expand(tensor_of(fill_value, "full", dtype=target, device=place), shape).copy()
        return laid_out(made, order)
    value = number_of("full", "fill_value", fill_value)
    target = _own(fill_value, value) if dtype is None else dtypes.parse(dtype)
    return laid_out(_filled(FULL, shape, value, target, device), order)


def _own(given: Any, value: Scalar) -> DType:
    """Return the dtype of a number that may be a NumPy scalar."""
    own = getattr(given, "dtype", None)
    if own is None:
        return dtypes.of_scalar(value)
    return dtypes.of_host("full", own.kind, own.itemsize, own.name)


@_takes_shape
def zeros(
    shape: int | Shape,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> Tensor:
    """Return a tensor of zeros, float32 by default."""
    check_order("zeros", order, "CF")
    return laid_out(_filled(ZEROS, shape, 0, _parsed(dtype), device), order)


@_takes_shape
def ones(
    shape: int | Shape,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> Tensor:
    """Return a tensor of ones, float32 by default."""
    check_order("ones", order, "CF")
    return laid_out(_filled(ONES, shape, 1, _parsed(dtype), device), order)


@_takes_shape
def empty(
    shape: int | Shape,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> Tensor:
    """Return a tensor of zeros, which take no memory until stored; NumPy's is uninitialized."""
    check_order("empty", order, "CF")
    return laid_out(_filled(EMPTY, shape, 0, _parsed(dtype), device), order)


def _like(
    op: Movement,
    x: Operand,
    value: Scalar,
    dtype: object,
    shape: int | Shape | None,
    device: Any,
    order: str,
) -> Tensor:
    x = tensor_of(x, op.name)
    target = x.dtype if dtype is None else dtypes.parse(dtype)
    made = _filled(op, x.shape if shape is None else shape, value, target, device or x.device)
    return laid_out(made, order)


def full_like(
    a: Operand,
    fill_value: Operand,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Shape | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Like `full`, with the shape, dtype and device of `a` as defaults."""
    check_order("full_like", order)
    if is_array_like(fill_value):
        a = tensor_of(a, "full_like")
        sizes = a.shape if shape is None else shape
        made = full(sizes, fill_value, dtype or a.dtype, device=device or a.device)
        return laid_out(made, order)
    fill_value = number_of("full_like", "fill_value", fill_value)
    return _like(FULL_LIKE, a, fill_value, dtype, shape, device, order)


def zeros_like(
    a: Operand,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Shape | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Return zeros, with the shape, dtype and device of `a` as defaults."""
    check_order("zeros_like", order)
    return _like(ZEROS_LIKE, a, 0, dtype, shape, device, order)


def ones_like(
    a: Operand,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Shape | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Return ones, with the shape, dtype and device of `a` as defaults."""
    check_order("ones_like", order)
    return _like(ONES_LIKE, a, 1, dtype, shape, device, order)


def empty_like(
    prototype: Operand,
    /,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Shape | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Like `empty`, with the shape, dtype and device of `prototype` as defaults."""
    check_order("empty_like", order)
    return _like(EMPTY_LIKE, prototype, 0, dtype, shape, device, order)


def _named(op: Movement, x: Tensor) -> Tensor:
    """Return the same tensor with the op of the function that created it."""
    return build(op, (x,), x.shape)


def eye(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: object = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Return an ``N x M`` tensor (`M` defaults to `N`) with ones on the `k`-th diagonal."""
    check_order("eye", order, "CF")
    sizes = parse_shape("eye", (N, N if M is None else M))
    k = whole_number("eye", "k", k)
    k = builtins.max(-sizes[0], builtins.min(k, sizes[1]))  # no diagonals beyond these
    return laid_out(_identity((), sizes, k, _parsed(dtype), parse(device)), order)


@Composition
def _identity(sizes: Shape, k: int, dtype: DType, device: Device) -> Tensor:
    rows, columns = (arange(size, device=device) for size in sizes)
    hit = equal(expand_dims(rows + k, 1), columns)
    return _named(EYE, converted(hit, dtype))


def arange(
    start: Real,
    stop: Real | None = None,
    step: Real | None = 1,
    *,
    dtype: object = None,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Return ``start, start + step, ...`` below `stop`; int32 for ints, else float32.

    With an integer dtype the length is the same, and the first two numbers are truncated to find
    the start and the step, as in NumPy: ``arange(0, 2, 0.5, dtype=int)`` is four zeros.

    Raises
    ------
    ValueError
        If `step` is 0 or the range has no finite length.
    OverflowError
        If the dtype cannot represent the integers.
    TypeError
        If an end or the step is not a number, or a range of bools has more than 2 elements.
    MemoryError, ShapeError
        If there are 2**31 elements or more.
    """
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if type(start) is type(stop) is type(step) is int:
        target = dtypes.DEFAULT_INT if dtype is None else dtypes.parse(dtype)
        return _int_range((), start, stop, step, target, parse(device))
    start, stop, step = (_whole(_number("arange", v)) for v in (start, stop, step))
    whole = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    default = dtypes.DEFAULT_INT if whole else dtypes.DEFAULT.floating
    return _range(
        start, stop, step, default if dtype is None else dtypes.parse(dtype), parse(device)
    )


def _range(start: Real, stop: Real, step: Real, target: DType, place: Device) -> Tensor:
    if step == 0:
        raise ValueError("arange: step must not be 0")
    count = _steps(start, stop, step)
    if target is dtypes.bool_ and count > 2:
        raise TypeError(f"arange: a range of bools has at most 2 elements, not {count}")
    if target.kind in "iu":
        start, second = int(start), int(start + step)
        for value in (start, second)[:count]:  # the rest may wrap around at 8 and 16 bits
            dtypes.check_range("arange", value, target)
        step = second - start
    return _named(ARANGE, _ramp("arange", count, start, step, target, place))


_int_range = Composition(_range)  # only for ints, because equal numbers of other types may differ


def _number(op: str, value: Any) -> Real:
    """Convert an end or a step of a range; a tensor of one element is read when it is used."""
    if isinstance(value, Tensor):
        return cast("Real", value)
    return real_number_of(op, "an end or a step", value)


def _whole(value: Real) -> Real:
    """Read an integer or bool tensor as a Python int, because the range's dtype depends on it."""
    is_whole = isinstance(value, Tensor) and value.dtype.kind != "f"
    return int(value) if is_whole else value


def _steps(start: Real, stop: Real, step: Real) -> int:
    """Return the length of a range, exact for integers."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return max(0, -((start - stop) // step))
    try:
        return max(0, math.ceil((stop - start) / step))
    except (OverflowError, ValueError):
        raise ValueError(f"arange: from {start} to {stop} by {step} has no finite length") from None


def _ramp(op: str, count: int, start: Real, step: Real, dtype: DType, device: Device) -> Tensor:
    """Return ``start + i * step`` for i below `count`."""
    device.backend.check(op, meta_of((), dtype, device))
    if count >= 2**31:  # i is an int32
        device.backend.check(op, meta_of((count,), dtype, device))
        raise ShapeError(f"{op}: {count} elements of {dtype}; at most 2**31 - 1 are supported")
    if not count:
        return Tensor(empty_node(meta_of((0,), dtype, device)))
    numbers = Tensor(index((count,), device))
    computed = dtype if dtype.itemsize >= 4 else dtypes.int32  # others wrap around, as in NumPy
    if dtype.kind in "iu":
        last = int(start) + (count - 1) * int(step)
        for value in (int(start), last):
            dtypes.check_range(op, value, computed)
    numbers = converted(numbers, computed)
    scaled = numbers if step == 1 else numbers * _wrapped(step, numbers.dtype)
    starts_plain = start == 0 and step > 0
    return converted(scaled if starts_plain else scaled + _wrapped(start, numbers.dtype), dtype)


def _wrapped(value: Real, dtype: DType) -> Real:
    """Return a number of a range; a negative step of an unsigned one wraps around."""
    return int(value) % 2 ** (8 * dtype.itemsize) if dtype.kind == "u" else value


def linspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: object = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`, by default float32 or complex64.

    The last one is exactly `stop` unless `endpoint` is False. With `retstep` the result is a pair:
    the numbers, and the step as a Python number, NaN if there is none. If `start` or `stop` has
    axes, they broadcast and the numbers are along a new `axis`. The step is a tensor if `start` or
    `stop` is one or has axes.

    With an integer dtype numbers are rounded down; the result is exact if the ends are ints.
    """
    if is_array_like(start) or is_array_like(stop):
        return _between(start, stop, num, endpoint, retstep, dtype, axis, device)
    normalize_axis("linspace", axis, 1)
    start, stop = (number_of("linspace", "an end", v) for v in (start, stop))
    if isinstance(start, complex) or isinstance(stop, complex):
        target = dtypes.DEFAULT.complex if dtype is None else dtypes.parse(dtype)
        (real, step), (imag, turn) = (
            linspace(*ends, num, endpoint, True, dtypes.real_of(target), device=device)
            for ends in ((start.real, stop.real), (start.imag, stop.imag))
        )
        made = converted(apply(COMPLEX, (real, imag)), target)
        return (made, complex(step, turn)) if retstep else made
    num = whole_number("linspace", "num", num)
    if num < 0:
        raise ValueError(f"linspace: num must be at least 0, not {num}")
    place = parse(device)
    target = _parsed(dtype)
    floating = dtypes.floating(target)
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else 0.0
    if target.kind in "iu" and (wide := _dtype_of_products(start, stop, num)) is not None:
        distance = int(stop) - int(start)
        values = arange(num, dtype=wide, device=place) * distance // max(gaps, 1) + int(start)
    else:
        values = _ramp("linspace", num, float(start), step, floating, place)
        if endpoint and num > 1:
            last = equal(arange(num, device=place), num - 1)
            values = where(last, float(stop), values)
        values = floor(values) if target.kind in "iu" else values
    found = _named(LINSPACE, converted(values, target))
    return (found, step if gaps > 0 else math.nan) if retstep else found


def _dtype_of_products(start: Real, stop: Real, num: int) -> DType | None:
    """Return the dtype in which `linspace` between ints is exact, or None."""
    if not (isinstance(start, int) and isinstance(stop, int)):
        return None
    most = max(abs(start), abs(stop), num * abs(stop - start))
    return next((d for d in (dtypes.int32, dtypes.int64) if dtypes.holds(d, most)), None)


def _between(
    start: Operand,
    stop: Operand,
    num: int,
    endpoint: bool,
    retstep: bool,
    dtype: object,
    axis: int,
    device: Any,
) -> Any:
    """`linspace` between ends that are tensors or have axes."""
    if device is not None and not any(isinstance(v, Tensor) for v in (start, stop)):
        start = tensor_of(start, "linspace", device=parse(device))
    given = in_common_dtype("linspace", start, stop)
    low, high = (as_floating(v, "linspace") for v in given)
    target = low.dtype if dtype is None else dtypes.parse(dtype)
    if target in (dtypes.float64, dtypes.complex128):  # keep the digits of ends that are ints
        low, high = (converted(v, dtypes.promote(v.dtype, target)) for v in (low, high))
    count = whole_number("linspace", "num", num)
    if count < 0:
        raise ValueError(f"linspace: num must be at least 0, not {num}")
    gaps = count - 1 if endpoint else count
    step = (high - low) / builtins.max(gaps, 1)
    rank = step.ndim
    places = arange(count, device=step.device)
    places = places.reshape(count, *(1,) * rank)
    if target.kind in "iu" and all(v.dtype.kind in "biu" for v in given):
        first, last = (converted(v, dtypes.int64) for v in given)
        found = first + converted(places, dtypes.int64) * (last - first) // builtins.max(gaps, 1)
    else:
        found = low + converted(places, dtypes.real_of(step.dtype)) * step
        if endpoint and count > 1:
            found = where(equal(places, gaps), high, found)
        found = floor(found) if target.kind in "iu" else found
    found = converted(found, target)
    at = normalize_axis("linspace", axis, rank + 1)
    found = found.transpose((*range(1, at + 1), 0, *range(at + 1, rank + 1)))
    return (found, step if gaps > 0 else step * math.nan) if retstep else found


for _function in (
    full, zeros, ones, empty, full_like, zeros_like, ones_like, empty_like, eye, arange, linspace,
):  # fmt: skip
    register(_function, method=False)
