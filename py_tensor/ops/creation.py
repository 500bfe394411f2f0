"""Creation functions: constants and ranges, computed where they are used.

With ``order="F"`` the result is a column-major view of a tensor. `subok` and `like`, which NumPy's
functions have, are accepted and have no effect: results are tensors.
"""

from __future__ import annotations

import builtins
import math
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import ShapeError, check_order
from py_tensor.base.shapes import Shape, normalize_axis, parse_shape
from py_tensor.ir.bind import Recipes, Step, ValueMaker, follow, steps, value_maker
from py_tensor.ir.node import Device, Meta, meta_of
from py_tensor.ir.op import Movement
from py_tensor.ir.primitives import COMPLEX, CONST, EXPAND, RESHAPE, index
from py_tensor.ops import float64_bits
from py_tensor.ops.elementwise import equal, floor, maximum, where
from py_tensor.ops.movement import as_floating, converted, in_common_dtype, laid_out, widened
from py_tensor.ops.operands import (
    Operand,
    Real,
    Scalar,
    as_ndarray,
    is_array_like,
    number_of,
    numbers_of,
    own_dtype,
    real_number_of,
    whole_number,
    widest,
)
from py_tensor.ops.record import Composition, apply, build, empty_node
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def _maker(name: str) -> Movement:
    """Return the op that names a created tensor in the graph and in errors about its size.

    The tensor may exceed the device's memory and still be used in an expression.
    """
    return replace(EXPAND, name=name)


FULL, FULL_LIKE, EMPTY_LIKE = map(_maker, ("full", "full_like", "empty_like"))
EYE, ARANGE, LINSPACE = (replace(RESHAPE, name=name) for name in ("eye", "arange", "linspace"))


# The type of Python's numbers in a dtype, the maker of a number, and the steps to a shape.
Filling = tuple[Callable[[Any], Scalar], ValueMaker, tuple[Step, ...]]


def _filling(op: Movement, shape: Shape, dtype: DType, device: Device) -> Filling:
    meta, sizes = meta_of((), dtype, device), parse_shape(op.name, shape)
    device.check(op.name, meta)
    to_shape = steps(meta, (op, sizes)) if sizes else ()
    return dtypes.converter(dtype), value_maker(CONST, meta), to_shape


_fillings = Recipes[tuple[Movement, Shape, DType, Device], Filling](_filling)


def _filled(
    op: Movement, shape: object, value: Scalar, dtype: DType, order: str, device: Any
) -> Tensor:
    """Return a tensor of one value, which the dtype can hold."""
    target, sizes = parse(device), cast("Shape", shape)
    # A recipe checks its shape once. Ints alone: a float or a bool in a shape may equal an int.
    if type(shape) is not tuple or not {int}.issuperset(map(type, sizes)):
        sizes = parse_shape(op.name, sizes)
    convert, make, to_shape = _fillings[op, sizes, dtype, target]
    made = Tensor(follow(make(convert(value), ()), to_shape))
    made = made if sizes else as_ndarray(made)
    return made if order == "C" else laid_out(made, order)


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
    return _full(FULL, shape, fill_value, dtype, order, device)


def _full(
    op: Movement, shape: object, fill_value: Operand, dtype: object, order: str, device: Any
) -> Tensor:
    target = None if dtype is None else dtypes.parse(dtype)
    if not isinstance(fill_value, Scalar) and is_array_like(fill_value):
        on_device = None if device is None else parse(device)
        value = tensor_of(fill_value, op.name, dtype=target, device=on_device)
        return laid_out(value.expand(shape).copy(), order)
    number = number_of(op.name, "fill_value", fill_value, target)
    target = target or own_dtype(op.name, fill_value)
    dtypes.check_range(op.name, number, target)
    return _filled(op, shape, number, target, order, device)


def _constant(name: str, value: int, doc: str) -> Callable[..., Tensor]:
    """Return the public function that creates a tensor of one value."""
    op = _maker(name)

    def function(
        shape: int | Shape,
        dtype: object = None,
        order: str = "C",
        *,
        device: str | Device | None = None,
        like: Any = None,
    ) -> Tensor:
        if isinstance(dtype, int):
            sizes = (shape, dtype, order) if isinstance(order, int) else (shape, dtype)
            raise TypeError(f"{name}: takes one shape tuple: pt.{name}({sizes})")
        if order != "C":
            check_order(name, order, "CF")
        return _filled(op, shape, value, _parsed(dtype), order, device)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return function


zeros = _constant("zeros", 0, "Return a tensor of zeros, float32 by default.")
ones = _constant("ones", 1, "Return a tensor of ones, float32 by default.")
empty = _constant(
    "empty",
    0,
    "Return a tensor of zeros, which take no memory until stored; NumPy's is uninitialized.",
)


def _like(
    op: Movement, a: Operand, value: Operand, dtype: object, order: str, shape: object, device: Any
) -> Tensor:
    """Return a tensor of one value, with the shape, dtype and device of `a` as defaults."""
    check_order(op.name, order)
    a = tensor_of(a, op.name)
    target = a.dtype if dtype is None else dtypes.parse(dtype)
    return _full(op, a.shape if shape is None else shape, value, target, order, device or a.device)


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
    return _like(FULL_LIKE, a, fill_value, dtype, order, shape, device)


def _constant_like(name: str, value: int, doc: str) -> Callable[..., Tensor]:
    """Return the public function that creates a tensor of one value, like another tensor."""
    op = _maker(name)

    def function(
        a: Operand,
        dtype: object = None,
        order: str = "K",
        subok: bool = True,
        shape: int | Shape | None = None,
        *,
        device: Any = None,
    ) -> Tensor:
        return _like(op, a, value, dtype, order, shape, device)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return function


_DEFAULTS = "with the shape, dtype and device of `a` as defaults."
zeros_like = _constant_like("zeros_like", 0, f"Return zeros, {_DEFAULTS}")
ones_like = _constant_like("ones_like", 1, f"Return ones, {_DEFAULTS}")


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
    return _like(EMPTY_LIKE, prototype, 0, dtype, order, shape, device)


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
    hit = equal((rows + k).reshape((-1, 1)), columns)
    return _named(EYE, converted(hit, dtype))


def arange(
    start: Real | None = None,
    stop: Real | None = None,
    step: Real | None = 1,
    *,
    dtype: object = None,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Return ``start, start + step, ...`` below `stop`; int32 for ints, else float32.

    Floats are NumPy's float64 numbers, rounded once, or for float16 first to float32; on a GPU,
    numbers near the middle between two float32 numbers may differ as in `linspace`. Ends and steps
    that are int64 tensors give int64.

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
    if stop is None:
        raise TypeError("arange: needs stop")
    start = 0 if start is None else start
    step = 1 if step is None else step
    if type(start) is type(stop) is type(step) is int:
        target = dtypes.DEFAULT_INT if dtype is None else dtypes.parse(dtype)
        return _int_range((), start, stop, step, target, parse(device))
    wide = widest((start, stop, step))
    start, stop, step = (_number("arange", v) for v in (start, stop, step))
    whole = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    integer = wide if wide and wide.is_signed else dtypes.DEFAULT_INT
    default = integer if whole else dtypes.DEFAULT.floating
    return _range(
        start, stop, step, default if dtype is None else dtypes.parse(dtype), parse(device)
    )


def _range(start: Real, stop: Real, step: Real, target: DType, device: Device) -> Tensor:
    if step == 0:
        raise ValueError("arange: step must not be 0")
    count = _steps(start, stop, step)
    if target.is_bool and count > 2:
        raise TypeError(f"arange: a range of bools has at most 2 elements, not {count}")
    if target.is_integer:
        start, second = int(start), int(start + step)
        for value in (start, second)[:count]:  # the rest may wrap around at 8 and 16 bits
            dtypes.check_range("arange", value, target)
        step = second - start
    else:  # NumPy takes the difference of the first two numbers
        start = float(start)
        step = (start + float(step)) - start
    return _named(ARANGE, _ramp("arange", meta_of((count,), target, device), start, step))


_int_range = Composition(_range)  # only for ints, because equal numbers of other types may differ


def _number(op: str, value: Any) -> Real:
    """Convert an end or a step of a range; a tensor of one element is read."""
    if isinstance(value, Tensor):
        return float(value) if value.dtype.is_floating else int(value)
    return real_number_of(op, "an end or a step", value)


def _steps(start: Real, stop: Real, step: Real) -> int:
    """Return the length of a range, exact for integers."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return max(0, -((start - stop) // step))
    try:
        return max(0, math.ceil((stop - start) / step))
    except (OverflowError, ValueError):
        raise ValueError(f"arange: from {start} to {stop} by {step} has no finite length") from None


def _ramp(op: str, meta: Meta, start: Real, step: Real, stop: float | None = None) -> Tensor:
    """Return ``start + i * step`` for each index i, rounded down for an integer dtype.

    The last number is `stop`, if that is given.
    """
    (count,), dtype, device = meta.shape, meta.dtype, meta.device
    device.check(op, meta_of((), dtype, device))
    if count >= 2**31:  # i is an int32
        device.check(op, meta)
        raise ShapeError(f"{op}: {count} elements of {dtype}; at most 2**31 - 1 are supported")
    if not count:
        return Tensor(empty_node(meta))
    if dtype.is_integer and isinstance(start, int) and isinstance(step, int):
        return _int_ramp(op, meta, start, step)
    start, step = float(start), float(step)
    last = start + (count - 1) * step
    is_whole = all(v.is_integer() and abs(v) < 2**31 for v in (start, step, last))
    if is_whole and stop in (None, last) and not _is_minus_zero(start) and not _is_minus_zero(stop):
        of_ints = meta_of((count,), dtypes.int32, device)
        return converted(_int_ramp(op, of_ints, int(start), int(step)), dtype)
    if dtype.is_integer:
        return float64_bits.floored(float64_bits.ramp_bits(count, start, step, device, stop), dtype)
    real = dtypes.real_of(dtypes.floating(dtype))
    if real.has_64_bits:
        values = converted(Tensor(index((count,), device)), real) * step + start
        if stop is not None:
            values = where(equal(Tensor(index((count,), device)), count - 1), stop, values)
    else:
        values = float64_bits.rounded_ramp(count, start, step, device, stop)
    return converted(values, dtype)


def _is_minus_zero(x: float | None) -> bool:
    return x == 0 and math.copysign(1, x) < 0


def _int_ramp(op: str, meta: Meta, start: int, step: int) -> Tensor:
    computed = dtypes.widened(meta.dtype)  # small integers wrap around, as in NumPy
    for value in (start, start + (meta.size - 1) * step):
        dtypes.check_range(op, value, computed)
    numbers = converted(Tensor(index(meta.shape, meta.device)), computed)
    scaled = numbers if step == 1 else numbers * _wrapped(step, computed)
    starts_plain = start == 0 and step > 0
    return converted(scaled if starts_plain else scaled + _wrapped(start, computed), meta.dtype)


def _wrapped(value: int, dtype: DType) -> int:
    """Return a number of a range; a negative step of an unsigned one wraps around."""
    return value % 2 ** (8 * dtype.itemsize) if dtype.is_unsigned else value


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

    Numbers are NumPy's float64 numbers, rounded once, or for float16 first to float32. On a GPU, a
    number between Python numbers may be rounded the other way if its float64 number is within about
    2**-52 of the largest end from the middle between two float32 numbers. Ends that NumPy promotes
    to float32 or float16 are computed in that dtype. With an integer dtype numbers are rounded
    down, and those that do not fit convert as by `astype`; the result is exact if the ends are
    ints.
    """
    if is_array_like(start) or is_array_like(stop):
        spaced, step = _between(start, stop, num, endpoint, dtype, axis, device)
        return (spaced, step) if retstep else spaced
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
    num, gaps = _counts(num, endpoint)
    on_device, target = parse(device), _parsed(dtype)
    low, high = float(start), float(stop)
    step = (high - low) / max(gaps, 1)
    end = high if endpoint and num > 1 else None
    wide = _dtype_of_products(start, stop, num) if num and target.is_integer else None
    is_double = target.is_floating and target.has_64_bits
    if step == 0 and low != high and is_double:  # the step underflows
        values = arange(num, dtype=target, device=on_device) / gaps * (high - low) + low
    elif wide is None:
        values = _ramp("linspace", meta_of((num,), target, on_device), low, step, end)
    else:
        distance = int(stop) - int(start)
        values = arange(num, dtype=wide, device=on_device) * distance // max(gaps, 1) + int(start)
    spaced = _named(LINSPACE, converted(values, target))
    return (spaced, step if gaps > 0 else math.nan) if retstep else spaced


def _counts(num: object, endpoint: bool) -> tuple[int, int]:
    """Return the numbers of points and of intervals of `linspace`."""
    count = whole_number("linspace", "num", num, 0)
    return count, count - 1 if endpoint else count


def _dtype_of_products(start: Real, stop: Real, num: int) -> DType | None:
    """Return the dtype in which `linspace` between ints is exact, or None."""
    if not (isinstance(start, int) and isinstance(stop, int)):
        return None
    most = max(abs(start), abs(stop), num * abs(stop - start))
    return next((d for d in (dtypes.int32, dtypes.int64) if dtypes.holds(d, most)), None)


def _beside_halves(number: Operand, other: Operand) -> Operand:
    """Return a Python number beside an array of small floats in its dtype; others unchanged."""
    half = dtypes.BY_NAME.get(getattr(getattr(other, "dtype", None), "name", ""))
    if half is None or not (half.is_floating and half.is_small):
        return number
    if type(number) not in (int, float):
        return number
    device = other.device if isinstance(other, Tensor) else None
    return tensor_of(number, "linspace", dtype=half, device=device)


def _between(
    start: Operand, stop: Operand, num: int, endpoint: bool, dtype: object, axis: int, device: Any
) -> tuple[Tensor, Tensor]:
    """Return `linspace` between ends that are tensors or have axes, and the step."""
    start, stop = _beside_halves(start, stop), _beside_halves(stop, start)
    placed: Operand = start
    if device is not None and not any(isinstance(v, Tensor) for v in (start, stop)):
        placed = tensor_of(start, "linspace", device=parse(device))
    ends = in_common_dtype("linspace", placed, stop)
    low, high = (as_floating(v, "linspace") for v in ends)
    target = low.dtype if dtype is None else dtypes.parse(dtype)
    if target.is_inexact and target.has_64_bits:  # keep the digits of ends that are ints
        low, high = (converted(v, dtypes.promote(v.dtype, target)) for v in (low, high))
    count, gaps = _counts(num, endpoint)
    intervals, distance = builtins.max(gaps, 1), high - low
    step = distance / intervals
    rank = step.ndim
    counted = arange(count, device=step.device).reshape(count, *(1,) * rank)
    is_single = step.dtype.is_floating and not step.dtype.has_64_bits
    bits = _bits_of_ends(start, stop, low, high) if is_single else None
    if target.is_integer and all(not v.dtype.is_inexact for v in ends):
        first, last = (converted(v, dtypes.int64) for v in ends)
        spaced = first + converted(counted, dtypes.int64) * (last - first) // intervals
    elif bits is not None:
        exact = float64_bits.divided(*bits, counted, intervals)
        to_float32, floored = float64_bits.to_float32, float64_bits.floored
        spaced = floored(exact, target) if target.is_integer else to_float32(exact)
        step = converted(to_float32(float64_bits.divided_step(*bits, intervals)), step.dtype)
    else:
        numbers = converted(counted, dtypes.real_of(step.dtype))
        # As NumPy does, for steps that underflow; one step of zero changes how all are rounded.
        has_zero_step = equal(step, 0).any()
        # NumPy divides complex numbers by a real one by multiplying with its reciprocal.
        shares = numbers * (1 / intervals) if step.dtype.is_complex else numbers / intervals
        product = where(has_zero_step, shares * distance, numbers * step)
        # `maximum` rounds the product before the sum, as NumPy does; GPUs would fuse the two.
        spaced = low + (product if step.dtype.is_complex else maximum(product, -math.inf))
        if endpoint and count > 1:
            spaced = where(equal(counted, gaps), high, spaced)
        spaced = floor(spaced) if target.is_integer else spaced
    spaced = converted(spaced, target)
    new_axis = normalize_axis("linspace", axis, rank + 1)
    spaced = spaced.transpose((*range(1, new_axis + 1), 0, *range(new_axis + 1, rank + 1)))
    return spaced, step if gaps > 0 else step * math.nan


def _bits_of_ends(start: Any, stop: Any, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return real ends as the bits of float64 numbers; None if NumPy computes in another dtype.

    `low` and `high` are the same ends in the common dtype.
    """
    ends = [_end(v, x.device) for v, x in ((start, low), (stop, high))]
    types = [(v.dtype.kind, v.dtype.itemsize) for v in ends if hasattr(v, "dtype")]
    types += [("f", 8) for v in ends if type(v) is array]
    has_floats = any(kind == "f" for kind, _ in types)
    if has_floats and all(size < (8 if kind == "f" else 4) for kind, size in types):
        return None  # float32 or float16, to which NumPy also promotes small integers
    first, last = ends
    return _bits_of_end(first, low), _bits_of_end(last, high)


def _end(value: Any, device: Device) -> Any:
    """Return an end as a tensor, a NumPy array or number, a Python number or an array of float64.

    Lists are float64 in NumPy, except lists of bools.
    """
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, list | tuple | range):
        numbers, _ = numbers_of("linspace", value)
        if not numbers or any(type(n) is not bool for n in numbers):
            return array("d", numbers)
    elif hasattr(getattr(value, "dtype", None), "kind"):
        return value
    return tensor_of(value, "linspace", device=device)


def _bits_of_end(end: Any, converted_end: Tensor) -> Tensor:
    shape, device = converted_end.shape, converted_end.device
    if isinstance(end, Tensor):
        return float64_bits.float64_bits(widened(end))
    if not shape:
        return float64_bits.constant_bits(float(end), device)
    if type(end) is array:
        bits: Any = memoryview(cast("array[float]", end)).cast("B").cast("Q")
    else:
        bits = host.load_numpy().asarray(end, "d", order="C").view("Q")
    return tensor_of(bits, "linspace", dtype=dtypes.uint64, device=device).reshape(shape)
