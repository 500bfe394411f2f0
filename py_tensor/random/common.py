"""The most common draws: uniform, normal and exponential numbers, integers, orders and choices."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from operator import index as as_index
from typing import Any

from py_tensor.backends.choice import default_device, parse
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.shapes import Shape, normalize_axis, parse_shape, size_of
from py_tensor.ir.node import Device
from py_tensor.ops.creation import zeros
from py_tensor.ops.elementwise import where
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand, int_like, number_like, numbers_of, whole_number
from py_tensor.ops.out import stored_whole
from py_tensor.random import threefry
from py_tensor.random.define import Draw, Rule, Size, check_together, distribution, draw_of
from py_tensor.random.generator import Core
from py_tensor.random.threefry import MASK, random_bits
from py_tensor.tensors.tensor import Tensor, tensor_of

# -- Distributions with parameters ----------------------------------------------------------------


def _overflows(low: Any, high: Any) -> Any:
    span = high - low
    return (span != span) | (abs(span) > dtypes.DEFAULT.floating.highest)


_ORDERED = Rule("high must not be below low", operator.gt)
_SPAN = Rule("high - low must be finite in the default dtype", _overflows, error=OverflowError)


@distribution(_ORDERED, _SPAN, low="a number", high="a number")
def uniform(draw: Draw, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the uniform distribution over [low, high).

    Parameters
    ----------
    low : float or array_like
        The lower limit.
    high : float or array_like
        The upper limit, not below `low`. Raises OverflowError if their difference is infinite.
        The limits are not checked if either is a tensor.
    """
    result = draw.uniforms() * (high - low) + low
    return where(result >= high, low, result)  # rounding may give `high` itself


@distribution(loc="a number", scale="at least 0")
def normal(draw: Draw, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the normal distribution with mean `loc` and standard deviation `scale`.

    Parameters
    ----------
    loc : float or array_like
        The mean.
    scale : float or array_like
        Not negative.
    """
    return draw.normals() * scale + loc


@distribution(mean="a number", sigma="at least 0")
def lognormal(draw: Draw, mean: Operand = 0.0, sigma: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the log-normal distribution: numbers whose logarithms are normal.

    Parameters
    ----------
    mean : float or array_like
        The mean of the logarithms.
    sigma : float or array_like
        The standard deviation of the logarithms; not negative.
    """
    return (draw.normals() * sigma + mean).exp()


@distribution(scale="at least 0")
def exponential(draw: Draw, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the exponential distribution of mean `scale`.

    Uses inversion.

    Parameters
    ----------
    scale : float or array_like
        Not negative.
    """
    return draw.exponentials() * scale


# -- Without parameters, or with `out` -------------------------------------------------------------


def rand(self: Core, *shape: Any, device: str | Device | None = None) -> Tensor:
    """Draw from the uniform distribution over [0, 1), in the default dtype.

    float32 numbers are multiples of 2**-24. ``rand(2, 3)`` and ``rand((2, 3))`` are equivalent.
    """
    return _plain(self, "rand", shape, device).uniforms()


def randn(self: Core, *shape: Any, device: str | Device | None = None) -> Tensor:
    """Draw from the standard normal distribution (Box-Muller), in the default dtype."""
    return _plain(self, "randn", shape, device).normals()


def _plain(self: Core, op: str, args: tuple[Any, ...], device: str | Device | None) -> Draw:
    """Return a draw in the default dtype, of the shape in ``rand(2, 3)`` or ``rand((2, 3))``."""
    shape = parse_shape(op, args[0] if len(args) == 1 else args)
    return Draw(self.bit_generator, shape, parse(device), dtypes.DEFAULT.floating)


@distribution()
def random(draw: Draw, size: Size = None, dtype: object = None, out: Any = None) -> Tensor:
    """Draw from the uniform distribution over [0, 1).

    Parameters
    ----------
    size : int or tuple of ints, optional
        The shape of the result; by default the shape of `out`, or ().
    dtype : optional
        float32 or, on the cpu device, float64; by default `get_default_dtype()`.
    out : Tensor or NumPy array, optional
        The destination, which sets the shape and dtype.

    Returns
    -------
    Tensor
        Multiples of 2**-24, or of 2**-53 in float64.

    Raises
    ------
    TypeError
        If the dtype is not supported or not the dtype of `out`.
    ValueError
        If the size is not the shape of `out`.
    """
    return draw.uniforms()


def random_sample(self: Core, size: Size = None) -> Tensor:
    """Draw from the uniform distribution over [0, 1), in the default dtype."""
    return self.random(size)


@distribution()
def standard_normal(draw: Draw, size: Size = None, dtype: object = None, out: Any = None) -> Tensor:
    """Draw from the standard normal distribution.

    Uses the transform of G. E. P. Box and M. E. Muller, "A note on the generation of random
    normal deviates", 1958. In float32 no number is above 6.8.

    Parameters
    ----------
    size, dtype, out : optional
        As in `random`, with the same errors.
    """
    return draw.normals()


@distribution()
def standard_exponential(
    draw: Draw, size: Size = None, dtype: object = None, method: str = "zig", out: Any = None
) -> Tensor:
    """Draw from the exponential distribution of mean 1, using inversion.

    Parameters
    ----------
    size, dtype, out : optional
        As in `random`, with the same errors.
    method : {"zig", "inv"}
        Accepted; has no effect.

    Raises
    ------
    ValueError
        If the method is unknown.
    """
    check_option("standard_exponential", "method", method, ("zig", "inv"))
    return draw.exponentials()


# -- Integers -------------------------------------------------------------------------------------


def randint(
    self: Core,
    low: Operand,
    high: Operand | None = None,
    size: Size = None,
    dtype: object = None,
    *,
    device: str | Device | None = None,
) -> Tensor:
    """Draw integers from `low` (inclusive) to `high` (exclusive).

    If `high` is None, draw from 0 to `low`. Parameters and errors are as in `integers`.
    """
    return drawn_integers(self, "randint", low, high, size, dtype, False, device)


def integers(
    self: Core,
    low: Operand,
    high: Operand | None = None,
    size: Size = None,
    dtype: object = None,
    endpoint: bool = False,
) -> Tensor:
    """Draw integers from `low` to `high`, which is excluded unless `endpoint` is true.

    If `high` is None, draw from 0 to `low`. A range that does not fit int32 takes two words of
    the stream for each element.

    Parameters
    ----------
    low, high : int or array_like of ints
        Arrays broadcast. Tensors are not read: where `low` is not below `high`, the result is
        arbitrary.
    size : int or tuple of ints, optional
        The shape of the result; by default the broadcast shape of the bounds.
    dtype : optional
        An integer dtype or bool; int32 by default.
    endpoint : bool
        Whether `high` is included.

    Returns
    -------
    Tensor
        The probability of each value has an error of at most 2**-32, or 2**-64 for a wide
        range.

    Raises
    ------
    TypeError
        If a bound has a fraction or is a tuple, or `dtype` is another dtype.
    ValueError
        If a range is empty or does not fit the dtype.
    """
    return drawn_integers(self, "integers", low, high, size, dtype, endpoint, None)


def drawn_integers(
    core: Core, op: str, low: Any, high: Any, size: Size, dtype: object, endpoint: bool, device: Any
) -> Tensor:
    low, high = (0, low) if high is None else (low, high)
    kind = dtypes.int32 if dtype is None else dtypes.parse(dtype)
    if kind.is_inexact:
        raise TypeError(f"{op}: dtype must be an integer dtype or bool, not {kind}")
    if _is_array(low) or _is_array(high):
        return converted(_between_arrays(core, op, low, high, size, kind, endpoint), kind)
    first, stop = _bounds(op, low, high, kind, endpoint)
    shape = parse_shape(op, () if size is None else size)
    draw = Draw(core.bit_generator, shape, parse(device))
    if first < -(2**31) or stop > 2**31:
        drawn = _of_64_bits(draw, first % 2**64, stop - first)
    elif stop - first == 2**32:
        drawn = draw.by(threefry.any_int32, first % 2**32)
    else:
        drawn = draw.by(threefry.randint_from_bits, first % 2**32, stop - first)
    return converted(drawn, kind)


def _bounds(op: str, low: Any, high: Any, kind: DType, endpoint: bool) -> tuple[int, int]:
    """Return the first int of a range and the one after its last; raise if a dtype lacks one."""
    try:
        first, stop = _whole(low), _whole(high) + endpoint
    except TypeError:
        raise TypeError(
            f"{op}: low and high must be ints, not {low!r} and {high!r};"
            f" pass a shape as size: {op}(low, high, size) or {op}(high, size=size)"
        ) from None
    if first >= stop:
        raise ValueError(f"{op}: [{first}, {stop}) is empty: low must be less than high")
    least, most = dtypes.integer_range(kind)
    if first < least or stop - 1 > most:
        hint = "" if kind.is_wide else "; use dtype='int64'"
        raise ValueError(f"{op}: [{first}, {stop}) is outside the range of {kind}{hint}")
    return first, stop


def _outside(least: int, most: int) -> Callable[[Any], Any]:
    return lambda v: (v < least) | (v > most)


def _between_arrays(
    core: Core, op: str, low: Any, high: Any, size: Size, kind: DType, endpoint: bool
) -> Tensor:
    """Draw integers between bounds, at least one of which is an array."""
    least, most = dtypes.integer_range(kind)
    stop = most + (not endpoint)
    has_large = kind.is_unsigned and not kind.is_packed  # numbers that int32 lacks
    wide = kind if kind.is_wide else dtypes.int64 if has_large else None
    first = Rule(f"of {kind}", _outside(least, most), wide)
    last = Rule(f"up to {stop}", _outside(least, stop), wide)
    draw, values = draw_of(core, op, size, ("low", low, first), ("high", high, last))
    is_empty = Rule("low must be below high", operator.gt if endpoint else operator.ge)
    check_together(op, is_empty, low, high)
    is_wide = any(isinstance(v, Tensor) and v.dtype.is_wide for v in values) or kind.is_wide
    signed = dtypes.int64 if is_wide else dtypes.int32  # first: float bounds may be negative
    words = dtypes.uint64 if is_wide else dtypes.uint32
    start, end = (
        converted(converted(value, signed), words)
        if isinstance(value, Tensor)
        else _whole(value) % 2 ** (32 * words.words)
        for value in values
    )
    span = end - start + endpoint
    if is_wide:
        return _of_64_bits(draw, start, span)
    return draw.by(threefry.randint_from_bits, start, span)


def _of_64_bits(draw: Draw, low: Any, span: Any) -> Tensor:
    """Draw uint64 numbers from a range of length `span` that starts at `low`, modulo 2**64."""
    above, below = (converted(draw.by(threefry.random_bits), dtypes.uint64) for _ in range(2))
    drawn = (above << 32) | below
    if isinstance(span, Tensor) or span < 2**64:
        drawn = _upper_product(drawn, span)
    return drawn + low


def _is_array(bound: object) -> bool:
    """Return whether a bound is a tensor, a list, or an array with at least one axis."""
    return isinstance(bound, Tensor | list) or getattr(bound, "ndim", 0) > 0


def _whole(bound: Any) -> int:
    """Return an integer bound as an int; a float with an integer value is accepted."""
    number = number_like(bound)
    is_whole = isinstance(number, float) and number.is_integer()
    return int(bound) if is_whole else as_index(bound)


def _upper_product(x: Tensor, factor: Any) -> Tensor:
    """Return the upper 64 bits of the products of uint64 with factors below 2**64."""
    above, below = x >> 32, x & MASK
    crossed, straight = above * (factor & MASK), below * (factor >> 32)
    middle = (below * (factor & MASK) >> 32) + (crossed & MASK) + (straight & MASK)
    return above * (factor >> 32) + (crossed >> 32) + (straight >> 32) + (middle >> 32)


# -- Orders and choices ---------------------------------------------------------------------------


def permutation(self: Core, x: Operand, axis: int = 0) -> Tensor:
    """Permute the slices of `x` along `axis` randomly; for an int, permute a range.

    The slices are sorted by random 32-bit words. Two slices with the same word keep their
    order, so the probability of that order is 1/2 + 2**-33.

    Parameters
    ----------
    x : int or array_like
        Of any dtype; an int means the numbers below it, on the default device.
    axis : int
        The axis along which slices are moved.

    Returns
    -------
    Tensor
        With the shape and dtype of `x`.

    Raises
    ------
    AxisError
        If `x` does not have this axis.
    """
    count = int_like(x)
    if count is not None:
        return _order(self, (max(count, 0),), 0, default_device())
    x = tensor_of(x, "permutation")
    axis = normalize_axis("permutation", axis, x.ndim)
    return x.take(_order(self, (x.shape[axis],), 0, x.device), axis) if x.size else x.copy()


def _order(self: Core, shape: Shape, axis: int, device: Device) -> Tensor:
    """Return the indices along an axis in random order."""
    if not size_of(shape):
        return zeros(shape, dtypes.int32, device=device)
    return Draw(self.bit_generator, shape, device).by(random_bits).argsort(axis)


def permuted(self: Core, x: Operand, *, axis: int | None = None, out: Any = None) -> Tensor:
    """Permute the elements along `axis`, each line independently; None permutes all.

    Parameters
    ----------
    x : array_like
        Of any dtype.
    axis : int, optional
        By default all elements are permuted.
    out : Tensor or NumPy array, optional
        The destination, with the shape of `x`; it may be `x`.

    Raises
    ------
    AxisError
        If `x` does not have this axis.
    ValueError
        If `out` has a different shape.
    """
    x = tensor_of(x, "permuted")
    flat = x if axis is not None else x.reshape(x.size)
    line = normalize_axis("permuted", axis or 0, flat.ndim)
    flat = take_along_axis(flat, _order(self, flat.shape, line, x.device), line)
    return stored_whole("permuted", flat.reshape(x.shape), out)


def shuffle(self: Core, x: Any, axis: int = 0) -> None:
    """Shuffle the slices of `x` along `axis` in place.

    For a list or a NumPy array, the order is read and the elements are moved on the host.

    Parameters
    ----------
    x : Tensor, NumPy array or list
        The object to shuffle.
    axis : int
        The axis along which slices are moved.

    Raises
    ------
    AxisError
        If an array does not have this axis.
    NotImplementedError
        If `axis` is used with a list.
    """
    if isinstance(x, Tensor):
        x[...] = self.permutation(x, axis)
    elif hasattr(x, "__array_interface__"):
        axis = normalize_axis("shuffle", axis, x.ndim)
        x[...] = x.take(self.permutation(x.shape[axis]).numpy(), axis)
    elif axis:
        raise NotImplementedError("shuffle: axis is only for arrays, not for a list")
    else:
        x[:] = [x[i] for i in self.permutation(len(x)).tolist()]


def choice(
    self: Core,
    a: Operand,
    size: Size = None,
    replace: bool = True,
    p: Operand | None = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Tensor:
    """Draw random slices of `a` along `axis`; for an int, numbers below it.

    Parameters
    ----------
    a : int or array_like
        Of any dtype; an int means the numbers below it, on the default device.
    size : int or tuple of ints, optional
        Replaces `axis` in the shape of the result; by default that axis is removed.
    replace : bool
        Whether a slice can be drawn more than once. Without replacement, all slices are sorted
        by random numbers, and the first ones are taken.
    p : optional
        The probability of each slice, by default uniform. Slices with probability 0 are never
        drawn. Without replacement, the number of nonzero probabilities is read and checked.
    shuffle : bool
        Accepted; samples without replacement are always in random order.

    Raises
    ------
    ValueError
        If the sample is larger than the population without replacement, the population is
        empty, or host probabilities are negative or do not sum to 1.
    """
    number = int_like(a)
    if number is not None and number < 0:
        raise ValueError(f"choice: a must be at least 0, not {number}")
    pool = tensor_of(a, "choice") if number is None else None
    if pool is not None and not pool.ndim:
        raise ValueError(f"choice: a must be an int or have at least 1 axis, not {a!r}")
    device = pool.device if pool is not None else default_device()
    dimensions = pool.shape if pool is not None else (number or 0,)
    axis = normalize_axis("choice", axis, len(dimensions))
    n, shape = dimensions[axis], parse_shape("choice", () if size is None else size)
    count = size_of(shape)
    if (count and not n) or (not replace and count > n):
        raise ValueError(f"choice: cannot draw {count} of {n} elements with replace={replace}")
    chances = None if p is None else _chances(p, n, device)
    if not count:
        indices = zeros(shape, dtypes.int32, device=device)
    elif not replace:
        indices = _race(self, n, chances, count, device).reshape(shape)
    elif chances is None:
        indices = self.randint(0, n, shape, device=device)
    else:
        indices = _weighted(self, chances, shape)
    return indices if pool is None else pool.take(indices, axis)


def _weighted(self: Core, chances: Tensor, shape: Shape) -> Tensor:
    """Draw indices with probabilities proportional to weights."""
    order = (chances == 0).argsort()  # zeros last, so that rounding never selects them
    sums = chances.take(order).cumsum()
    drawn = sums.searchsorted(self.rand(shape, device=chances.device) * sums[-1], "right")
    return order.take(drawn.minimum((chances > 0).sum() - 1))


def _race(self: Core, n: int, chances: Tensor | None, count: int, device: Device) -> Tensor:
    """Draw indices without replacement: those of the smallest exponential times."""
    if chances is None:
        return _order(self, (n,), 0, device)[:count]
    if (others := int((chances > 0).sum())) < count:
        raise ValueError(f"choice: cannot draw {count} of {others} elements with nonzero p")
    times = Draw(self.bit_generator, (n,), device, chances.dtype).exponentials()
    return (times / chances).argsort()[:count]


def bytes(self: Core, length: int) -> builtins.bytes:
    """Return random bytes, computed on the host: the words in little-endian byte order.

    Parameters
    ----------
    length : int
        The number of bytes. Raises ValueError if it is negative.
    """
    count = whole_number("bytes", "length", length, 0)
    words = Draw(self.bit_generator, (-(-count // 4),), parse("cpu")).by(random_bits)
    return words.numpy().tobytes()[:count]


def _chances(p: Operand, n: int, device: Device) -> Tensor:
    """Return the checked probabilities of n slices as a tensor."""
    chances = tensor_of(p, "choice", device=device)
    if chances.shape != (n,):
        raise ShapeError(f"choice: p of shape {chances.shape} does not match {n} elements")
    if not isinstance(p, Tensor):
        numbers, _ = numbers_of("choice", p)
        broken = [number for number in numbers if not number >= 0]
        if broken:
            raise ValueError(f"choice: p must be at least 0, not {broken[0]}")
        total = math.fsum(numbers)
        known = dtypes.BY_NAME.get(str(getattr(p, "dtype", "")), dtypes.float64)
        eps = 2.0 ** (1 - (known.digits or dtypes.float64.digits))
        if abs(total - 1) > math.sqrt(eps):  # as in NumPy
            raise ValueError(f"choice: the sum of p must be 1, not {total}")
    return chances
