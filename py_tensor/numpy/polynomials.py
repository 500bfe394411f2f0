"""Polynomials as vectors of coefficients, from the highest power to the lowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import takewhile
from operator import index as as_index
from operator import mul
from typing import Any, cast

from py_tensor.adapters.hosted import from_host, naming
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import ShapeError
from py_tensor.convert.host_arrays import on_host
from py_tensor.ir.node import Device
from py_tensor.ops.creation import zeros, zeros_like
from py_tensor.ops.movement import (
    converted,
    in_common_dtype,
    members_of,
    pad_constant,
    ravel,
    widened,
)
from py_tensor.ops.operands import Operand, Scalar, number_like, numbers_of, tensor_beside
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "poly", "poly1d", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval",
    "roots",
]  # fmt: skip


def _coefficients(op: str, p: Operand, device: Any = None) -> Tensor:
    """Return the coefficients of a polynomial, given as a vector, a number or a `poly1d`."""
    x = tensor_of(getattr(p, "coeffs", p), op, device=device)
    if x.ndim > 1:
        raise ShapeError(f"{op}: coefficients must be a vector, not of shape {x.shape}")
    return ravel(x)


def _pair(op: str, p: Operand, q: Operand) -> tuple[Tensor, Tensor]:
    coefficients = [getattr(v, "coeffs", v) for v in (p, q)]
    first, second = in_common_dtype(op, *coefficients)
    return _coefficients(op, first), _coefficients(op, second)


def _like(coefficients: Tensor, *given: Operand) -> Any:
    """Return coefficients as a `poly1d` if any operand is one."""
    kinds: list[Any] = [type(p) for p in given if hasattr(p, "coeffs")]
    return kinds[0](coefficients) if kinds else coefficients


def without_zeros(op: str, p: Operand) -> Tensor:
    """Remove leading zeros, but keep the last coefficient; a tensor is read, a list is not."""
    x = _coefficients(op, p)
    values = numbers_of(op, p if isinstance(p, list | tuple) else x)[0]
    zeros_before = len(list(takewhile(lambda v: v == 0, values[:-1])))
    return x[zeros_before:].copy() if zeros_before else x


def polyval(p: Sequence[Scalar] | Operand, x: Operand) -> Any:
    """Evaluate a polynomial at each element of `x`, by Horner's rule.

    If `x` is a `poly1d`, return the composition.
    """
    p = getattr(p, "coeffs", p)
    coefficients = list(members_of("polyval", p))
    if hasattr(x, "coeffs"):
        total: Any = type(x)([0])
    else:
        x = tensor_beside("polyval", x, p)
        # NumPy makes an int64 array of a list of ints.
        has_ints = x.dtype.is_bool and any(type(number_like(c)) is not bool for c in coefficients)
        if (x.dtype.is_small or has_ints) and not isinstance(p, Tensor):
            x = widened(x)
        total = zeros_like(x)
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


# -- Computed by NumPy --------------------------------------------------------------------------


def _by_numpy(op: str, *tensors: Tensor, **options: Any) -> Any:
    """Return what NumPy's function `op` computes on the host, in double precision."""
    device, dtype = tensors[0].device, tensors[0].dtype
    wide = {"f": "float64", "c": "complex128"}.get(dtype.kind, dtype.name)
    with naming(op):
        results = getattr(host.load_numpy(), op)(
            *(on_host(x).astype(wide) for x in tensors), **options
        )
    arrays = cast("tuple[Any, ...]", results if isinstance(results, tuple) else (results,))
    made = [_from_host(op, y, dtype, device) if y.shape else y.item() for y in arrays]
    return tuple(made) if len(made) > 1 else made[0]


def _from_host(op: str, array: Any, dtype: DType, device: Device) -> Tensor:
    """Convert NumPy's result of coefficients of `dtype`; integers wrap around."""
    target = _dtype_of(array, dtype)
    wrapped = array.astype(target.host) if target.is_integer else array
    return from_host(op, wrapped, target, device)


def _dtype_of(array: Any, dtype: DType) -> DType:
    """Return the dtype for NumPy's result of coefficients of `dtype`."""
    if array.dtype.kind == "c":
        return dtypes.complex_of(dtype)
    if array.dtype.kind == "f":
        return dtypes.floating(dtypes.real_of(dtype))
    result = dtypes.parse(array.dtype.name)
    return dtypes.promote(dtype, dtypes.DEFAULT_INT) if result is dtypes.int64 else result


def polyadd(a1: Operand, a2: Operand) -> Any:
    """Return the sum of two polynomials, computed on the host."""
    return _like(_by_numpy("polyadd", *_pair("polyadd", a1, a2)), a1, a2)


def polysub(a1: Operand, a2: Operand) -> Any:
    """Return the difference of two polynomials, computed on the host."""
    return _like(_by_numpy("polysub", *_pair("polysub", a1, a2)), a1, a2)


def polymul(a1: Operand, a2: Operand) -> Any:
    """Return the product of two polynomials without leading zeros, computed on the host."""
    return _like(_by_numpy("polymul", *_pair("polymul", a1, a2)), a1, a2)


def polydiv(u: Operand, v: Operand) -> tuple[Any, Any]:
    """Return the quotient and the remainder of two polynomials, computed on the host."""
    quotient, rest = _by_numpy("polydiv", *_pair("polydiv", u, v))
    return _like(quotient, u, v), _like(rest, u, v)


def _for_steps(op: str, p: Operand, m: int) -> Tensor:
    """Return coefficients for `m` products with integers, which widen floats of 16 bits."""
    x = _coefficients(op, p)
    return converted(x, dtypes.at_least_single(x.dtype)) if m and x.dtype.is_floating else x


def polyder(p: Operand, m: int = 1) -> Any:
    """Return the `m`-th derivative of a polynomial, computed on the host."""
    return _like(_by_numpy("polyder", _for_steps("polyder", p, m), m=m), p)


def polyint(p: Operand, m: int = 1, k: Any = None) -> Any:
    """Return the `m`-th antiderivative of a polynomial, computed on the host.

    Parameters
    ----------
    k : optional
        The constant of each integration: one number, or `m` of them; 0 by default.

    Raises
    ------
    ValueError
        If there are fewer than `m` constants, or `m` is negative.
    """
    constants = None if k is None else host.load_numpy().reshape(*numbers_of("polyint", k))
    return _like(_by_numpy("polyint", _for_steps("polyint", p, m), m=m, k=constants), p)


def roots(p: Operand) -> Tensor:
    """Return the roots of a polynomial, computed on the host; complex if any root is."""
    x = _coefficients("roots", p)
    return _by_numpy("roots", converted(x, dtypes.at_least_single(x.dtype)))


def poly(seq_of_zeros: Operand) -> Any:
    """Return the monic polynomial with the given roots, or a matrix's characteristic polynomial.

    It is computed on the host. Without roots, the result is the number 1.0. If complex roots are in
    conjugate pairs, the coefficients are real.

    Raises
    ------
    ShapeError
        If the argument is neither a vector nor a square matrix.
    """
    x = tensor_of(seq_of_zeros, "poly")
    if x.ndim > 1 and (x.ndim > 2 or x.shape[0] != x.shape[1]):
        raise ShapeError(f"poly: takes a vector of roots or a square matrix, not shape {x.shape}")
    x = x if x.ndim else ravel(x)
    return _by_numpy("poly", converted(x, dtypes.at_least_single(x.dtype))) if x.size else 1.0


# -- A polynomial as an object ------------------------------------------------------------------


class poly1d:  # noqa: N801 - NumPy's name
    """A polynomial that can be called, added, multiplied and printed.

    Parameters
    ----------
    c_or_r
        The coefficients from the highest power to the lowest, or another polynomial. Leading zeros
        are removed, for which a tensor is read.
    r : bool
        Whether `c_or_r` are the roots of the polynomial.
    variable : str, optional
        The name of the variable when printed; "x" by default.

    Attributes
    ----------
    coeffs : Tensor
        Also as `c`, `coef` and `coefficients`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> p = pt.poly1d([1, 0, 2])
    >>> print(p)
       2
    1 x + 2
    >>> p * p
    poly1d([1, 0, 4, 0, 4])
    >>> float(p(3))
    11.0
    """

    __hash__ = None  # type: ignore[assignment] - coefficients can be assigned

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        self.variable = variable or getattr(c_or_r, "variable", "x")
        self.coeffs = poly(c_or_r) if r else without_zeros("poly1d", c_or_r)
        if not self.coeffs.size:
            self.coeffs = zeros(1, self.coeffs.dtype, device=self.coeffs.device)

    @property
    def c(self) -> Tensor:
        """The coefficients from the highest power to the lowest."""
        return self.coeffs

    coef = coefficients = c

    @property
    def o(self) -> int:
        """The degree."""
        return self.coeffs.size - 1

    order = o

    @property
    def r(self) -> Tensor:
        """The roots; see `roots`."""
        return roots(self.coeffs)

    roots = r

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.coeffs.__array__(dtype, copy=copy)

    def __call__(self, val: Operand) -> Any:
        return polyval(self.coeffs, val)

    def __len__(self) -> int:
        return self.o

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.coeffs)

    def __getitem__(self, power: int) -> Any:
        return self.coeffs[self.o - power] if 0 <= power <= self.o else self.coeffs[0] * 0

    def __setitem__(self, power: int, value: Scalar) -> None:
        if power < 0:
            raise ValueError(f"poly1d: a power must be at least 0, not {power}")
        if power > self.o:
            self.coeffs = pad_constant(self.coeffs, (power - self.o, 0))
        self.coeffs[self.o - power] = value

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> poly1d:
        return poly1d(polyadd(self, other))

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(polysub(self, other))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(polysub(other, self))

    def __mul__(self, other: Any) -> poly1d:
        return poly1d(polymul(self, other))

    def __pow__(self, power: int) -> poly1d:
        if power < 0:
            raise ValueError(f"poly1d: a power must be at least 0, not {power}")
        return reduce(mul, [self] * as_index(power), poly1d([1]))

    def __truediv__(self, other: Any) -> Any:
        is_number = getattr(other, "ndim", 0) == 0 and not isinstance(other, poly1d | list | tuple)
        return poly1d(self.coeffs / other) if is_number else polydiv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return polydiv(poly1d(other), self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            return NotImplemented
        return self.coeffs.tolist() == other.coeffs.tolist()

    __radd__, __rmul__ = __add__, __mul__

    def deriv(self, m: int = 1) -> poly1d:
        """Return the `m`-th derivative."""
        return poly1d(polyder(self.coeffs, m))

    def integ(self, m: int = 1, k: Any = 0) -> poly1d:
        """Return the `m`-th antiderivative; see `polyint`."""
        return poly1d(polyint(self.coeffs, m, k))

    def __repr__(self) -> str:
        return f"poly1d({repr(self.coeffs).removeprefix('tensor(')}"

    def __str__(self) -> str:
        return str(host.load_numpy().poly1d(on_host(self.coeffs), variable=self.variable))
