"""The most common distributions: uniform, normal, exponential, and integers."""

from __future__ import annotations

from operator import index as as_index
from typing import Any

from py_tensor import dtypes
from py_tensor.backend.choice import parse
from py_tensor.dtypes import DType
from py_tensor.graph.bind import bind
from py_tensor.graph.node import Device, meta_of
from py_tensor.graph.op import Elementwise
from py_tensor.graph.primitives import const
from py_tensor.ops.elementwise import cos, exp, sqrt, where
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand, lift, number_like
from py_tensor.ops.out import stored_whole
from py_tensor.ops.record import empty_node
from py_tensor.ops.transcendental import log1p
from py_tensor.random import threefry
from py_tensor.random.bit_generator import BitGenerator, Seed, Threefry, bits, numbered
from py_tensor.random.parameters import (
    ANY,
    FLOATS,
    NOT_NEGATIVE,
    Draw,
    Given,
    Rule,
    Size,
    check_together,
    distribution,
    draw_of,
)
from py_tensor.random.threefry import MASK
from py_tensor.shapes import Shape, parse_shape, size_of
from py_tensor.tensor import Tensor

_FLOATS = (dtypes.float32, dtypes.float64)


class Core:
    """A stream of random words, and the draws that need one or two words per element.

    Parameters
    ----------
    bit_generator : BitGenerator or seed, optional
        The source of random words, or a seed for a `BitGenerator`.
    """

    def __init__(self, bit_generator: BitGenerator | Seed = None) -> None:
        is_made = isinstance(bit_generator, BitGenerator)
        self.bit_generator = bit_generator if is_made else Threefry(bit_generator)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self.bit_generator.key})"

    # -- Words ------------------------------------------------------------------------------------

    def _words(self, shape: Shape, device: Device) -> Tensor:
        """Draw one word (uint32) per element."""
        return Tensor(bits(self.bit_generator, shape, device))

    def _draw(self, op: Elementwise, shape: Shape, dtype: DType, device: Any, *more: int) -> Tensor:
        """Apply an op to one word per element; `NORMAL` takes the counters and the key."""
        place = parse(device)
        meta = meta_of(shape, dtype, place)
        place.check(op.name, meta_of((), dtype, place))
        if not meta.size:
            return Tensor(empty_node(meta))
        numbers = numbered(self.bit_generator, shape, place)
        drawn = numbers if op is threefry.NORMAL else (bind(threefry.BITS, numbers),)
        constants = (const(value, dtypes.uint32, place) for value in more)
        return Tensor(bind(op, (*drawn, *constants)))

    def _drawn_by(self, op: Elementwise, draw: Draw, *parameters: Operand) -> Tensor:
        """Apply an op to the counter of each element and to parameters."""
        result = meta_of(draw.shape, op.result(draw.dtype), draw.device)
        draw.device.check(op.name, result)
        if not result.size:
            return Tensor(empty_node(result))
        numbers = numbered(self.bit_generator, draw.shape, draw.device)
        kinds = [*op.leading[len(numbers) :], draw.dtype]
        given = [
            lift(op.name, value, draw.shape, kind, draw.device)
            for value, kind in zip(parameters, kinds, strict=True)
        ]
        return Tensor(bind(op, (*numbers, *given)))

    def _uniforms(self, draw: Draw) -> Tensor:
        """Draw uniform numbers in [0, 1): multiples of 2**-24, or of 2**-53 in float64."""
        if not draw.dtype.has_64_bits:
            return self._draw(threefry.UNIFORM, draw.shape, draw.dtype, draw.device)
        draw.device.check("random", meta_of((), draw.dtype, draw.device))
        if not size_of(draw.shape):
            return Tensor(empty_node(meta_of(draw.shape, draw.dtype, draw.device)))
        high, low = (
            converted(self._words(draw.shape, draw.device) >> shift, draw.dtype) for shift in (5, 6)
        )
        return (high * 2.0**26 + low) * 2.0**-53

    def _normals(self, draw: Draw) -> Tensor:
        if not draw.dtype.has_64_bits:
            return self._draw(threefry.NORMAL, draw.shape, draw.dtype, draw.device)
        radius = sqrt(-2 * log1p(-self._uniforms(draw)))
        return radius * cos(self._uniforms(draw) * 6.283185307179586)

    def _exponentials(self, draw: Draw) -> Tensor:
        if not draw.dtype.has_64_bits:
            return self._draw(threefry.EXPONENTIAL, draw.shape, draw.dtype, draw.device)
        return -log1p(-self._uniforms(draw))

    def _centered(self, draw: Draw) -> Tensor:
        """Draw uniform nonzero numbers in (-1/2, 1/2); in float64, odd multiples of 2**-54."""
        if not draw.dtype.has_64_bits:
            return self._draw(threefry.CENTERED, draw.shape, draw.dtype, draw.device)
        return self._uniforms(draw) - (0.5 - 2.0**-54)

    def _filled(
        self, op: str, fill: Any, size: Size, dtype: object, out: Any, *given: Given
    ) -> Tensor:
        """Return the result of `fill(draw)` in a floating dtype, stored in `out` if given.

        Raises
        ------
        TypeError
            If the dtype is not float32 or float64, or not the dtype of `out`.
        ValueError
            If the size is not the shape of `out`.
        """
        inside = out if isinstance(out, Tensor) else None
        draw = draw_of(op, out.shape if size is None and out is not None else size, *given)
        default = draw.dtype if inside is None else inside.dtype
        kind = default if dtype is None else dtypes.parse(dtype)
        if kind not in _FLOATS or (inside is not None and inside.dtype is not kind):
            raise TypeError(f"{op}: dtype must be float32 or float64, and match out, not {kind}")
        on = draw.device if inside is None else inside.device
        return stored_whole(op, fill(draw._replace(dtype=kind, device=on)), out)

    # -- Names of this library --------------------------------------------------------------------

    def rand(self, *shape: Any, device: str | Device | None = None) -> Tensor:
        """Draw from the uniform distribution over [0, 1), in the default dtype.

        float32 numbers are multiples of 2**-24. ``rand(2, 3)`` and ``rand((2, 3))`` are equivalent.
        """
        return self._uniforms(_plain_draw("rand", shape, device))

    def randn(self, *shape: Any, device: str | Device | None = None) -> Tensor:
        """Draw from the standard normal distribution (Box-Muller), in the default dtype."""
        return self._normals(_plain_draw("randn", shape, device))

    def randint(
        self,
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
        return self._integers("randint", low, high, size, dtype, device=device)

    def _integers(
        self,
        op: str,
        low: Operand,
        high: Operand | None,
        size: Size,
        dtype: object,
        endpoint: bool = False,
        device: str | Device | None = None,
    ) -> Tensor:
        start, end = (0, low) if high is None else (low, high)
        kind = dtypes.int32 if dtype is None else dtypes.parse(dtype)
        if kind.is_inexact:
            raise TypeError(f"{op}: dtype must be an integer dtype or bool, not {kind}")
        if _is_array(start) or _is_array(end):
            return self._between(op, start, end, size, kind, endpoint)
        try:
            first, stop = _whole(start), _whole(end) + endpoint
        except TypeError:
            raise TypeError(
                f"{op}: low and high must be ints, not {low!r} and {high!r};"
                f" pass a shape as size: {op}(low, high, size) or {op}(high, size=size)"
            ) from None
        if first >= stop:
            raise ValueError(f"{op}: [{first}, {stop}) is empty: low must be less than high")
        least, most = _held(kind)
        if first < least or stop - 1 > most:
            more = "" if kind.is_wide else "; use dtype='int64'"
            raise ValueError(f"{op}: [{first}, {stop}) is outside the range of {kind}{more}")
        shape = parse_shape(op, () if size is None else size)
        if first < -(2**31) or stop > 2**31:
            found = self._of_64_bits(shape, parse(device), first, stop - first)
        elif stop - first == 2**32:
            found = self._draw(threefry.RANDINT_ANY, shape, dtypes.int32, device, first % 2**32)
        else:
            bounds = first % 2**32, stop - first
            found = self._draw(threefry.RANDINT, shape, dtypes.int32, device, *bounds)
        return converted(found, kind)

    def _between(
        self, op: str, low: Operand, high: Operand, size: Size, kind: DType, endpoint: bool
    ) -> Tensor:
        """Draw integers between bounds, at least one of which is an array."""
        least, most = _held(kind)
        stop = most + (not endpoint)
        has_large = kind.is_unsigned and not kind.is_packed  # numbers that int32 lacks
        arrays = kind if kind.is_wide else dtypes.int64 if has_large else None
        draw = draw_of(
            op,
            size,
            ("low", low, Rule(f"of {kind}", lambda v: (v < least) | (v > most), arrays)),
            ("high", high, Rule(f"up to {stop}", lambda v: (v < least) | (v > stop), arrays)),
        )
        check_together(
            op, "low must be below high", lambda a, b: a > b if endpoint else a >= b, low, high
        )
        bounds = [value for value in draw.values if isinstance(value, Tensor)]
        wide = kind.is_wide or any(value.dtype.is_wide for value in bounds)
        words = dtypes.uint64 if wide else dtypes.uint32
        whole = dtypes.int64 if wide else dtypes.int32  # signed: float bounds may be negative
        start, end = (
            converted(converted(value, whole), words)
            if isinstance(value, Tensor)
            else _whole(value) % 2 ** (32 * words.words)
            for value in draw.values
        )
        span = end - start + endpoint
        if wide:
            return converted(self._of_64_bits(draw.shape, draw.device, start, span), kind)
        if not size_of(draw.shape):
            return Tensor(empty_node(meta_of(draw.shape, kind, draw.device)))
        given = [lift(op, value, draw.shape, dtypes.uint32, draw.device) for value in (start, span)]
        words = bits(self.bit_generator, draw.shape, draw.device)
        return converted(Tensor(bind(threefry.RANDINT, (words, *given))), kind)

    def _of_64_bits(self, shape: Shape, device: Device, low: Any, span: Any) -> Tensor:
        """Draw uint64 numbers from a range of length `span` that starts at `low`, modulo 2**64."""
        if not size_of(shape):
            return Tensor(empty_node(meta_of(shape, dtypes.uint64, device)))
        above, below = (converted(self._words(shape, device), dtypes.uint64) for _ in range(2))
        drawn = (above << 32) | below
        if isinstance(span, Tensor) or span < 2**64:
            drawn = _upper_product(drawn, span)
        return drawn + (low if isinstance(low, Tensor) else low % 2**64)

    # -- Names of NumPy ---------------------------------------------------------------------------

    def random(self, size: Size = None, dtype: object = None, out: Any = None) -> Tensor:
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
        return self._filled("random", self._uniforms, size, dtype, out)

    def random_sample(self, size: Size = None) -> Tensor:
        """Draw from the uniform distribution over [0, 1), in the default dtype."""
        return self.random(size)

    @distribution(FLOATS)
    def uniform(self, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the uniform distribution over [low, high).

        Parameters
        ----------
        low : float or array_like
            The lower limit.
        high : float or array_like
            The upper limit, not below `low`. Raises OverflowError if their difference is infinite.
            The limits are not checked if either is a tensor.
        """
        check_together("uniform", "high must not be below low", lambda a, b: b < a, low, high)
        return self._uniform("uniform", low, high, size)

    def _uniform(self, op: str, low: Operand, high: Operand, size: Size) -> Tensor:
        check_together(
            op,
            f"high - low must be a {dtypes.DEFAULT.floating}",
            lambda a, b: (b - a != b - a) | (abs(b - a) > dtypes.DEFAULT.floating.highest),
            low,
            high,
            error=OverflowError,
        )
        draw = draw_of(op, size, ("low", low, ANY), ("high", high, ANY))
        low, high = draw.values
        found = self._uniforms(draw) * (high - low) + low
        return where(found >= high, low, found)  # rounding may give `high` itself

    def standard_normal(self, size: Size = None, dtype: object = None, out: Any = None) -> Tensor:
        """Draw from the standard normal distribution.

        Uses the transform of G. E. P. Box and M. E. Muller, "A note on the generation of random
        normal deviates", 1958. In float32 no number is above 6.8.

        Parameters
        ----------
        size, dtype, out : optional
            As in `random`, with the same errors.
        """
        return self._filled("standard_normal", self._normals, size, dtype, out)

    @distribution(FLOATS)
    def normal(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the normal distribution with mean `loc` and standard deviation `scale`.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            Not negative.
        """
        draw = draw_of("normal", size, ("loc", loc, ANY), ("scale", scale, NOT_NEGATIVE))
        loc, scale = draw.values
        return self._normals(draw) * scale + loc

    @distribution(FLOATS)
    def lognormal(self, mean: Operand = 0.0, sigma: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the log-normal distribution: numbers whose logarithms are normal.

        Parameters
        ----------
        mean : float or array_like
            The mean of the logarithms.
        sigma : float or array_like
            The standard deviation of the logarithms; not negative.
        """
        draw = draw_of("lognormal", size, ("mean", mean, ANY), ("sigma", sigma, NOT_NEGATIVE))
        mean, sigma = draw.values
        return exp(self._normals(draw) * sigma + mean)

    def standard_exponential(
        self, size: Size = None, dtype: object = None, method: str = "zig", out: Any = None
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
        if method not in ("zig", "inv"):
            raise ValueError(f"standard_exponential: method must be 'zig' or 'inv', not {method!r}")
        return self._filled("standard_exponential", self._exponentials, size, dtype, out)

    @distribution(FLOATS)
    def exponential(self, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the exponential distribution of mean `scale`.

        Uses inversion.

        Parameters
        ----------
        scale : float or array_like
            Not negative.
        """
        draw = draw_of("exponential", size, ("scale", scale, NOT_NEGATIVE))
        return self._exponentials(draw) * draw.values[0]

    def integers(
        self,
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
        return self._integers("integers", low, high, size, dtype, endpoint)


def _shape(op: str, given: tuple[Any, ...]) -> Shape:
    """Return the shape given by ``rand(2, 3)`` or ``rand((2, 3))``."""
    return parse_shape(op, given[0] if len(given) == 1 else given)


def _plain_draw(op: str, given: tuple[Any, ...], device: str | Device | None) -> Draw:
    """Return a draw without parameters, in the default dtype."""
    return Draw((), _shape(op, given), parse(device), dtypes.DEFAULT.floating)


def _is_array(bound: object) -> bool:
    """Return whether a bound is a tensor, a list, or an array with at least one axis."""
    return isinstance(bound, Tensor | list) or getattr(bound, "ndim", 0) > 0


def _whole(bound: Any) -> int:
    """Return an integer bound as an int; a float with an integer value is accepted."""
    number = number_like(bound)
    is_whole = isinstance(number, float) and number.is_integer()
    return int(bound) if is_whole else as_index(bound)


def _held(dtype: DType) -> tuple[int, int]:
    return int(dtype.lowest), int(dtype.highest)


def _upper_product(x: Tensor, factor: Any) -> Tensor:
    """Return the upper 64 bits of the products of uint64 with factors below 2**64."""
    above, below = x >> 32, x & MASK
    crossed, straight = above * (factor & MASK), below * (factor >> 32)
    middle = (below * (factor & MASK) >> 32) + (crossed & MASK) + (straight & MASK)
    return above * (factor >> 32) + (crossed >> 32) + (straight >> 32) + (middle >> 32)
