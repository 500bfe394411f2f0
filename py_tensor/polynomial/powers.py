"""Polynomials as vectors of coefficients, from the lowest power to the highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import Any

from py_tensor import fitting, polynomials
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import arange, zeros
from py_tensor.ops.elementwise import abs
from py_tensor.ops.movement import (
    as_floating,
    concat,
    converted,
    expand_dims,
    flip,
    in_common_dtype,
    ravel,
    reshape,
    stack,
)
from py_tensor.ops.operands import Operand, Scalar, number_of, whole_number
from py_tensor.ops.rearrange import moveaxis
from py_tensor.ops.reduction import prod
from py_tensor.ops.sorting import sort
from py_tensor.tensor import Tensor, tensor_of

__all__ = [
    "polyadd", "polycompanion", "polyder", "polydiv", "polydomain", "polyfit", "polyfromroots",
    "polygrid2d", "polygrid3d", "polyint", "polyline", "polymul", "polymulx", "polyone", "polypow",
    "polyroots", "polysub", "polytrim", "polyval", "polyval2d", "polyval3d", "polyvalfromroots",
    "polyvalnd", "polyvander", "polyvander2d", "polyvander3d", "polyx", "polyzero",
]  # fmt: skip


def coefficients_of(op: str, c: Operand) -> Tensor:
    """Return coefficients in floating point; raise ShapeError unless they are a nonempty vector."""
    x = as_floating(c, op)
    if x.ndim > 1 or not x.size:
        raise ShapeError(f"{op}: coefficients must be a nonempty vector, not of shape {x.shape}")
    return ravel(x)


def _trimmed(op: str, falling: Tensor) -> Tensor:
    """Return coefficients from the lowest power, without trailing zeros; reads them."""
    return flip(polynomials.without_zeros(op, falling)).copy()


# -- Arithmetic ---------------------------------------------------------------------------------


def polyadd(c1: Operand, c2: Operand) -> Tensor:
    """Return the sum of two polynomials; tensors are read to remove trailing zeros."""
    a, b = (flip(coefficients_of("polyadd", c)) for c in (c1, c2))
    return _trimmed("polyadd", polynomials.polyadd(a, b))


def polysub(c1: Operand, c2: Operand) -> Tensor:
    """Return the difference of two polynomials; tensors are read to remove trailing zeros."""
    a, b = (flip(coefficients_of("polysub", c)) for c in (c1, c2))
    return _trimmed("polysub", polynomials.polysub(a, b))


def polymul(c1: Operand, c2: Operand) -> Tensor:
    """Return the product of two polynomials; tensors are read to remove trailing zeros."""
    a, b = (flip(coefficients_of("polymul", c)) for c in (c1, c2))
    return _trimmed("polymul", polynomials.polymul(a, b))


def polymulx(c: Operand) -> Tensor:
    """Multiply a polynomial by its variable."""
    x = coefficients_of("polymulx", c)
    return concat([zeros(1, x.dtype, device=x.device), x])


def polydiv(c1: Operand, c2: Operand) -> tuple[Tensor, Tensor]:
    """Return quotient and remainder without trailing zeros, computed on the host by NumPy.

    Raises
    ------
    ZeroDivisionError
        If the divisor is 0.
    """
    a, b = (
        polynomials.without_zeros("polydiv", flip(coefficients_of("polydiv", c))) for c in (c1, c2)
    )
    if b.size == 1 and b.tolist() == [0]:
        raise ZeroDivisionError("polydiv: the divisor is 0")
    quotient, rest = polynomials.polydiv(a, b)
    return _trimmed("polydiv", quotient), _trimmed("polydiv", rest)


def polypow(c: Operand, pow: int, maxpower: int | None = None) -> Tensor:
    """Raise a polynomial to a power.

    Raises
    ------
    ValueError
        If the power is negative or above `maxpower`.
    """
    x, power = coefficients_of("polypow", c), whole_number("polypow", "pow", pow)
    if power < 0 or (maxpower is not None and power > maxpower):
        raise ValueError(f"polypow: pow must be from 0 to maxpower, not {power}")
    found = arange(1, 2, dtype=x.dtype, device=x.device)
    for _ in range(power):
        found = polymul(found, x)
    return found


def polytrim(c: Operand, tol: Scalar = 0) -> Tensor:
    """Remove trailing coefficients of magnitude up to `tol`; reads the coefficients.

    Raises
    ------
    ValueError
        If `tol` is negative.
    """
    if isinstance(tol, complex):
        tol = tol.real
    if tol < 0:
        raise ValueError(f"polytrim: tol must be at least 0, not {tol}")
    x = coefficients_of("polytrim", c)
    above = (abs(x) > tol).tolist()
    kept = len(above) - above[::-1].index(True) if True in above else 0
    return x[:kept].copy() if kept else x[:1] * 0


def polyline(off: Scalar, scl: Scalar) -> Tensor:
    """Return the coefficients of ``off + scl * x``."""
    given = [number_of("polyline", "a coefficient", v) for v in (off, scl)]
    return tensor_of(given if scl != 0 else given[:1], "polyline")


# -- Calculus -----------------------------------------------------------------------------------


def polyder(c: Operand, m: int = 1, scl: Scalar = 1, axis: int = 0) -> Tensor:
    """Return the `m`-th derivative; `scl` multiplies each; coefficients are along `axis`."""
    x = moveaxis(as_floating(c, "polyder"), axis, 0)
    count = whole_number("polyder", "m", m)
    if count < 0:
        raise ValueError(f"polyder: m must be at least 0, not {m}")
    for _ in range(count):
        powers = arange(1, x.shape[0], device=x.device)
        rest = x[1:] * reshape(powers, (-1, *(1,) * (x.ndim - 1))) * scl
        x = rest if x.shape[0] > 1 else x * 0
    return moveaxis(x, 0, axis)


def polyint(
    c: Operand,
    m: int = 1,
    k: Sequence[Scalar] | Scalar = (),
    lbnd: Scalar = 0,
    scl: Scalar = 1,
    axis: int = 0,
) -> Tensor:
    """Return the `m`-th antiderivative; the coefficients are along `axis`.

    Parameters
    ----------
    k : optional
        The value of each antiderivative at `lbnd`: a list of up to `m` numbers; the others are 0.
    scl
        The factor for each result, before its constant is added.

    Raises
    ------
    ValueError
        If `m` is negative, or there are more than `m` constants.
    """
    x = moveaxis(as_floating(c, "polyint"), axis, 0)
    count = whole_number("polyint", "m", m)
    constants = list(k) if isinstance(k, Sequence) else [k]
    if count < 0 or len(constants) > count:
        raise ValueError(f"polyint: {len(constants)} constants do not match {m} integrations")
    constants += [0] * (count - len(constants))
    for constant in constants:
        powers = arange(1, x.shape[0] + 1, device=x.device)
        risen = x * scl / reshape(powers, (-1, *(1,) * (x.ndim - 1)))
        risen = concat([x[:1] * 0, risen])
        at_bound = polyval(lbnd, risen)
        x = concat([expand_dims(constant - at_bound, 0), risen[1:]])
    return moveaxis(x, 0, axis)


# -- Values -------------------------------------------------------------------------------------


def polyval(x: Operand, c: Operand, tensor: bool = True) -> Tensor:
    """Evaluate a polynomial at the elements of `x`, by Horner's rule.

    Parameters
    ----------
    c
        The coefficients along the first axis; other axes are for several polynomials.
    tensor : bool
        Whether to evaluate each polynomial at each element; otherwise the other axes of `c`
        broadcast against `x`.
    """
    places, given = in_common_dtype("polyval", x, as_floating(c, "polyval"))
    if not given.ndim:
        given = reshape(given, 1)
    if tensor and places.ndim:
        given = reshape(given, (*given.shape, *(1,) * places.ndim))
    found = given[-1] + places * 0
    for power in range(given.shape[0] - 2, -1, -1):
        found = given[power] + found * places
    return found


def polyval2d(x: Operand, y: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial in two variables at points; the axes of `c` are the powers."""
    return values_at("polyval2d", polyval, (x, y), c)


def polyval3d(x: Operand, y: Operand, z: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial in three variables at points."""
    return values_at("polyval3d", polyval, (x, y, z), c)


def polyvalnd(pts: Sequence[Operand], c: Operand) -> Tensor:
    """Evaluate a polynomial in any number of variables at points.

    Parameters
    ----------
    pts
        The coordinates of the points: a tensor for each variable, with equal shapes.
    c
        The coefficients: the first axes are the powers of the variables.
    """
    return values_at("polyvalnd", polyval, pts, c)


def values_at(
    op: str, evaluate: Callable[..., Tensor], pts: Sequence[Operand], c: Operand
) -> Tensor:
    """Return a series in several variables at points; `evaluate` gives the values for one variable.

    Raises
    ------
    ShapeError
        If the coordinates differ in shape.
    """
    if not pts:
        raise ValueError(f"{op}: pts must have at least one coordinate")
    shapes = [tensor_of(v, op).shape for v in pts]
    if len(set(shapes)) > 1:
        raise ShapeError(f"{op}: coordinates must have the same shape, not {shapes}")
    first, *others = pts
    found = evaluate(first, c)
    for v in others:
        found = evaluate(v, found, tensor=False)
    return found


def polygrid2d(x: Operand, y: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial on the grid of `x` and `y`."""
    return polyval(y, polyval(x, c))


def polygrid3d(x: Operand, y: Operand, z: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial on the grid of `x`, `y` and `z`."""
    return polyval(z, polygrid2d(x, y, c))


def polyvalfromroots(x: Operand, r: Operand, tensor: bool = True) -> Tensor:
    """Evaluate the monic polynomial with the given roots.

    The roots are along the first axis of `r`; `tensor` as in `polyval`.
    """
    places, zero = in_common_dtype("polyvalfromroots", x, as_floating(r, "polyvalfromroots"))
    if not zero.ndim:
        zero = reshape(zero, 1)
    if tensor and places.ndim:
        zero = reshape(zero, (*zero.shape, *(1,) * places.ndim))
    return prod(places - zero, 0)


def polyvander(x: Operand, deg: int) -> Tensor:
    """Return the Vandermonde matrix: the powers of each element from 0 to `deg` along a last axis.

    Raises
    ------
    ValueError
        If the degree is negative.
    """
    order = whole_number("polyvander", "deg", deg)
    if order < 0:
        raise ValueError(f"polyvander: deg must be at least 0, not {deg}")
    base = as_floating(x, "polyvander")
    base = base if base.ndim else reshape(base, 1)
    powers = [base * 0 + 1]
    for _ in range(order):
        powers.append(powers[-1] * base)
    return stack(powers, -1)


def polyvander2d(x: Operand, y: Operand, deg: Sequence[int]) -> Tensor:
    """Return the Vandermonde matrix of points in two variables, along a last axis."""
    a, b = (polyvander(v, n) for v, n in zip((x, y), deg, strict=True))
    both = expand_dims(a, -1) * expand_dims(b, -2)
    return reshape(both, (*both.shape[:-2], -1))


def polyvander3d(x: Operand, y: Operand, z: Operand, deg: Sequence[int]) -> Tensor:
    """Return the Vandermonde matrix of points in three variables, along a last axis."""
    first, *others = deg
    both = expand_dims(polyvander(x, first), -1) * expand_dims(polyvander2d(y, z, others), -2)
    return reshape(both, (*both.shape[:-2], -1))


# -- Zeros and fits -----------------------------------------------------------------------------


def polyfromroots(roots: Operand) -> Tensor:
    """Return the monic polynomial with the given roots."""
    x = as_floating(roots, "polyfromroots")
    if x.ndim > 1:
        raise ShapeError(f"polyfromroots: takes a vector of roots, not shape {x.shape}")
    found = arange(1, 2, dtype=x.dtype, device=x.device)
    for i in range(x.size):
        found = concat([found[:1] * 0, found]) - concat([found * ravel(x)[i], found[:1] * 0])
    return found


def polyroots(c: Operand) -> Tensor:
    """Return the roots in ascending order, by NumPy on the host; complex if any root is complex."""
    x = coefficients_of("polyroots", c)
    return sort(polynomials.roots(flip(x)))


def polycompanion(c: Operand) -> Tensor:
    """Return the companion matrix, whose eigenvalues are the roots.

    Raises
    ------
    ValueError
        If there are fewer than two coefficients without trailing zeros.
    """
    x = polytrim(coefficients_of("polycompanion", c))
    if x.size < 2:
        raise ValueError(f"polycompanion: takes at least two coefficients, not {x.size}")
    n = x.size - 1
    places = arange(n, device=x.device)
    below = converted(expand_dims(places, 1) == places + 1, x.dtype)
    last = converted(places == n - 1, x.dtype)
    return below - expand_dims(x[:-1] / x[-1], 1) * last


def polyfit(
    x: Operand,
    y: Operand,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Operand | None = None,
) -> Any:
    """Fit a polynomial of degree `deg` to points by least squares; see `pt.polyfit`.

    With `full` the result is a pair: the coefficients, and a list of the sums of squared residuals,
    the rank, the singular values and `rcond`. A list of degrees, which NumPy accepts, raises
    TypeError.
    """
    order = as_index(deg)
    found = fitting.polyfit(x, y, order, rcond, full, w)
    if not full:
        return flip(found, 0).copy()
    best, *more = found
    return flip(best, 0).copy(), more


polyzero, polyone, polyx, polydomain = [0], [1], [0, 1], [-1, 1]
