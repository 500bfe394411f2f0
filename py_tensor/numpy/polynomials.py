"""Polynomials as vectors of coefficients, from the highest power to the lowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from py_tensor.adapters.polynomial import Call, Hosted, Method, adapted, called
from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError
from py_tensor.ops.creation import zeros_like
from py_tensor.ops.movement import converted, members_of, pad_constant, ravel, widened
from py_tensor.ops.operands import Operand, Scalar, number_like, tensor_beside
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "poly", "poly1d", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval",
    "roots",
]  # fmt: skip


def _coefficients(op: str, p: Operand) -> Tensor:
    """Return the coefficients of a polynomial, given as a vector, a number or a `poly1d`."""
    x = tensor_of(getattr(p, "coeffs", p), op)
    if x.ndim > 1:
        raise ShapeError(f"{op}: coefficients must be a vector, not of shape {x.shape}")
    return ravel(x)


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


def _by_numpy(op: str, *polynomials: Operand, **options: Any) -> Any:
    """Return what NumPy's function `op` computes on the host, in double precision."""
    for p in polynomials:
        _coefficients(op, p)  # checks the shape
    return adapted(op, getattr(host.load_numpy(), op))(*polynomials, **options)


def polyadd(a1: Operand, a2: Operand) -> Any:
    """Return the sum of two polynomials, computed on the host."""
    return _by_numpy("polyadd", a1, a2)


def polysub(a1: Operand, a2: Operand) -> Any:
    """Return the difference of two polynomials, computed on the host."""
    return _by_numpy("polysub", a1, a2)


def polymul(a1: Operand, a2: Operand) -> Any:
    """Return the product of two polynomials without leading zeros, computed on the host."""
    return _by_numpy("polymul", a1, a2)


def polydiv(u: Operand, v: Operand) -> tuple[Any, Any]:
    """Return the quotient and the remainder of two polynomials, computed on the host."""
    return _by_numpy("polydiv", u, v)


def _for_steps(p: Operand, m: int) -> Operand:
    """Return coefficients for `m` products with integers, which widen floats of 16 bits."""
    has_floats = isinstance(p, Tensor) and p.dtype.is_floating
    return converted(p, dtypes.at_least_single(p.dtype)) if m and has_floats else p


def polyder(p: Operand, m: int = 1) -> Any:
    """Return the `m`-th derivative of a polynomial, computed on the host."""
    return _by_numpy("polyder", _for_steps(p, m), m=m)


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
    return _by_numpy("polyint", _for_steps(p, m), m=m, k=k)


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
    if not x.size:
        return 1.0
    x = converted(x, dtypes.at_least_single(x.dtype))
    return adapted("poly", host.load_numpy().poly)(x if x.ndim else ravel(x))


# -- A polynomial as an object ------------------------------------------------------------------


class poly1d(Hosted):  # noqa: N801 - NumPy's name
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

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        options: Any = {} if variable is None else {"variable": variable}
        made = called(Call("poly1d"), "poly1d", self.numpys(), [c_or_r, r], options)
        self.coeffs, self.variable = made.coeffs, made.variable

    @classmethod
    def numpys(cls) -> Any:
        return host.load_numpy().poly1d

    def to_numpy(self, call: Call) -> Any:
        return self.numpys()(call.to_numpy(self.coeffs), variable=self.variable)

    @classmethod
    def from_numpy(cls, call: Call, result: Any) -> poly1d:
        made = cls.__new__(cls)
        made.coeffs, made.variable = call.from_numpy(result.coeffs), result.variable
        return made

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

    def __repr__(self) -> str:
        return f"poly1d({repr(self.coeffs).removeprefix('tensor(')}"


for _name in (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__", "__pow__", "__neg__", "__pos__", "__eq__", "__ne__", "__str__", "deriv",
    "integ",
):  # fmt: skip
    setattr(poly1d, _name, Method(_name))
