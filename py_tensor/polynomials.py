"""Polynomials as vectors of coefficients, from the highest power to the lowest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import index as as_index
from typing import Any

from py_tensor import dtypes
from py_tensor.backend.host import host
from py_tensor.decompositions import eigvals
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import arange, ones, zeros, zeros_like
from py_tensor.ops.define import register
from py_tensor.ops.hosted import from_host
from py_tensor.ops.movement import (
    concat,
    converted,
    in_common_dtype,
    members_of,
    ravel,
    widened,
)
from py_tensor.ops.operands import Operand, Scalar, number_like, numbers_of, tensor_beside
from py_tensor.ops.products import convolve
from py_tensor.tensor import Tensor, tensor_of

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
    given = [getattr(v, "coeffs", v) for v in (p, q)]
    first, second = in_common_dtype(op, *given)
    return _coefficients(op, first), _coefficients(op, second)


def _like(found: Tensor, *given: Operand) -> Any:
    """Return coefficients as a `poly1d` if any operand is one."""
    kinds: list[Any] = [type(p) for p in given if hasattr(p, "coeffs")]
    return kinds[0](found) if kinds else found


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
        found: Any = type(x)([0])
    else:
        x = tensor_beside("polyval", x, p)
        # NumPy makes an int64 array of a list of ints.
        has_ints = x.dtype.is_bool and any(type(number_like(c)) is not bool for c in coefficients)
        if (x.dtype.is_small or has_ints) and not isinstance(p, Tensor):
            x = widened(x)
        found = zeros_like(x)
    for coefficient in coefficients:
        found = found * x + coefficient
    return found


# -- Arithmetic ---------------------------------------------------------------------------------


def _of_length(x: Tensor, n: int) -> Tensor:
    """Return coefficients padded with leading zeros to length n."""
    return concat([zeros(n - x.size, x.dtype, device=x.device), x]) if x.size < n else x


def _aligned(op: str, p: Operand, q: Operand) -> tuple[Tensor, Tensor]:
    a, b = _pair(op, p, q)
    n = max(a.size, b.size)
    return _of_length(a, n), _of_length(b, n)


def polyadd(a1: Operand, a2: Operand) -> Any:
    """Return the sum of two polynomials."""
    a, b = _aligned("polyadd", a1, a2)
    return _like(a + b, a1, a2)


def polysub(a1: Operand, a2: Operand) -> Any:
    """Return the difference of two polynomials."""
    a, b = _aligned("polysub", a1, a2)
    return _like(a - b, a1, a2)


def polymul(a1: Operand, a2: Operand) -> Any:
    """Return the product of two polynomials; tensors are read to remove leading zeros."""
    a, b = (without_zeros("polymul", p) for p in (a1, a2))
    return _like(convolve(*in_common_dtype("polymul", a, b)), a1, a2)


def polydiv(u: Operand, v: Operand) -> tuple[Any, Any]:
    """Return the quotient and the remainder of two polynomials, without leading zeros.

    The length of the remainder depends on the coefficients, so they are read and divided on the
    host by NumPy.
    """
    a, b = _pair("polydiv", u, v)
    target = dtypes.floating(a.dtype)
    quotient, rest = (
        from_host("polydiv", found, target, a.device)
        for found in host.load_numpy().polydiv(a.tolist(), b.tolist())
    )
    return _like(quotient, u, v), _like(rest, u, v)


def _times(op: str, m: Any) -> int:
    count = as_index(m)
    if count < 0:
        raise ValueError(f"{op}: m must be at least 0, not {m}")
    return count


def polyder(p: Operand, m: int = 1) -> Any:
    """Return the `m`-th derivative of a polynomial."""
    x = _coefficients("polyder", p)
    for _ in range(_times("polyder", m)):
        x = x[:-1] * arange(x.size - 1, 0, -1, device=x.device)
    return _like(x, p)


def polyint(p: Operand, m: int = 1, k: Any = None) -> Any:
    """Return the `m`-th antiderivative of a polynomial.

    Parameters
    ----------
    k : optional
        The constant of each integration: one number, or `m` of them; 0 by default.

    Raises
    ------
    ValueError
        If there are fewer than `m` constants, or `m` is negative.
    """
    x = _coefficients("polyint", p)
    count = _times("polyint", m)
    given = zeros(count, device=x.device) if k is None else _coefficients("polyint", k, x.device)
    if given.size == 1:
        given = given * ones(count, device=x.device)
    if given.size < count:
        raise ValueError(f"polyint: {given.size} constants do not match {count} integrations")
    for i in range(count):
        x = concat([x / arange(x.size, 0, -1, device=x.device), given[i : i + 1]])
    return _like(x, p)


# -- Zeros --------------------------------------------------------------------------------------


def roots(p: Operand) -> Tensor:
    """Return the roots of a polynomial, computed on the host by NumPy; waits for the GPU.

    The result is complex if any root is complex.
    """
    x = _coefficients("roots", p)
    np = host.load_numpy()
    found = np.roots(x.tolist())
    target = dtypes.at_least_single(dtypes.real_of(x.dtype))
    target = dtypes.complex_of(target) if np.iscomplexobj(found) else target
    return from_host("roots", found, target, x.device)


def poly(seq_of_zeros: Operand) -> Any:
    """Return the monic polynomial with the given roots, or a matrix's characteristic polynomial.

    Without roots, the result is the number 1.0. Complex roots are read; if they are in conjugate
    pairs, the coefficients are real.

    Raises
    ------
    ShapeError
        If the argument is neither a vector nor a square matrix.
    """
    x = tensor_of(seq_of_zeros, "poly")
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        x = eigvals(x)
    elif x.ndim > 1:
        raise ShapeError(f"poly: takes a vector of roots or a square matrix, not shape {x.shape}")
    if not x.size:
        return 1.0
    x = converted(ravel(x), dtypes.at_least_single(x.dtype))
    one = ones(1, x.dtype, device=x.device)
    found = one
    for i in range(x.size):
        found = convolve(found, concat([one, -x[i : i + 1]]))
    if x.dtype.is_complex and _are_paired(x.tolist()):
        return found.real.copy()
    return found


def _are_paired(numbers: list[complex]) -> bool:
    def in_order(values: list[complex]) -> list[complex]:
        return sorted(values, key=lambda v: (v.real, v.imag))

    return in_order(numbers) == in_order([v.conjugate() for v in numbers])


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
        self.coeffs = _of_length(self.coeffs, power + 1)
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
        found = poly1d([1])
        for _ in range(_times("poly1d", power)):
            found = found * self
        return found

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
        return _in_two_lines(self._terms())

    def _terms(self) -> str:
        """Return the terms in one line, with powers as ``**``."""
        found = ""
        for power, value in zip(range(self.o, -1, -1), self.coeffs.tolist(), strict=True):
            number = _shown(value)
            if number == "0" and (power or found):
                continue
            name = {0: "", 1: f" {self.variable}"}.get(power, f" {self.variable}**{power}")
            sign = "" if not found else " - " if number.startswith("-") else " + "
            found += sign + (number.removeprefix("-") if found else number) + name
        return found


def _shown(value: complex) -> str:
    """Format a coefficient with four significant digits."""
    if not isinstance(value, complex):
        return f"{value:.4g}"
    if not value.imag:
        return f"{value.real:.4g}"
    return f"({value.real:.4g} + {value.imag:.4g}j)" if value.real else f"{value.imag:.4g}j"


MAX_COLUMNS = 70


def _in_two_lines(terms: str) -> str:
    """Move the exponents to a line above the terms, and break lines at `MAX_COLUMNS`."""
    parts = re.split(r"\*\*(\d+)", terms)
    lines: list[tuple[str, str]] = []
    above = below = ""
    for text, power in zip(parts[::2], parts[1::2], strict=False):
        raised, plain = " " * (len(text) - 1) + power, text + " " * (len(power) - 1)
        if len(below) + len(plain) > MAX_COLUMNS or len(above) + len(raised) > MAX_COLUMNS:
            lines.append((above, below))
            above = below = ""
        above, below = above + raised, below + plain
    lines.append((above, below))
    return " " + "\n ".join(f"{above}\n{below}" for above, below in lines) + parts[-1]


for _function in (
    poly, polyadd, polyder, polydiv, polyint, polymul, polysub, polyval, roots,
):  # fmt: skip
    register(_function, method=False)
