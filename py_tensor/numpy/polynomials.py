"""Polynomials as vectors of coefficients, from the highest power to the lowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from py_tensor.adapters.polynomial import Call, Hosted, Method, adapted, warn_of_rank
from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError
from py_tensor.linalg.decompositions import LinAlgError, by_singular_values, svdvals
from py_tensor.numpy.grids import vander
from py_tensor.ops import movement
from py_tensor.ops.creation import zeros, zeros_like
from py_tensor.ops.elementwise import sqrt, where
from py_tensor.ops.movement import concat, converted, in_common_dtype, pad_constant, widened
from py_tensor.ops.operands import Operand, Scalar, known, number_like, tensor_beside, whole_number
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "poly", "poly1d", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul",
    "polysub", "polyval", "roots",
]  # fmt: skip


def _coefficients(op: str, p: Operand) -> Tensor:
    """Return the coefficients of a polynomial, given as a vector, a number or a `poly1d`."""
    x = tensor_of(getattr(p, "coeffs", p), op)
    if x.ndim > 1:
        raise ShapeError(f"{op}: coefficients must be a vector, not of shape {x.shape}")
    return x.ravel()


def polyval(p: Sequence[Scalar] | Operand, x: Operand) -> Any:
    """Evaluate a polynomial at each element of `x`, by Horner's rule.

    If `x` is a `poly1d`, return the composition.
    """
    p = getattr(p, "coeffs", p)
    coefficients = list(movement.members_of("polyval", p))
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
    return adapted("poly", host.load_numpy().poly)(x if x.ndim else x.ravel())


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
        made = Call("poly1d").result_of(self.numpys(), [c_or_r, r], options)
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
        power = whole_number("poly1d", "a power", power, 0)
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


def polyfit(
    x: Operand,
    y: Operand,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Operand | None = None,
    cov: bool | str = False,
) -> Any:
    """Fit a polynomial of degree `deg` to points by least squares.

    `x` is mapped to [-1, 1] and its powers are made orthogonal, so points far from 0 are fitted as
    well as others. If the rank is less than the number of coefficients, many polynomials fit
    equally well. The result is then the one that NumPy returns: the vector of coefficients, each
    scaled by the norm of its column of powers, is the shortest. On the cpu device a `RankWarning`
    is issued in that case, unless the rank is returned (`full`); on the GPU the rank is not read.

    Parameters
    ----------
    x, y
        The points: a vector, and a vector or a matrix with one column for each polynomial.
    rcond : optional
        Singular values smaller than `rcond` times the largest count as 0; by default the number of
        points times the precision of the dtype.
    full : bool
        Whether to also return the sums of squared residuals, the rank, the singular values of the
        matrix of powers of `x`, and `rcond`. The rank is read.
    w : optional
        Weights for the residual of each point.
    cov : bool or "unscaled"
        Whether to also return the covariance of the coefficients; "unscaled" takes the weights as
        the inverse standard deviations of the points.

    Raises
    ------
    TypeError
        If the shapes do not match.
    ValueError
        If `deg` is negative, or if `cov` is True and there are not more points than coefficients.
    LinAlgError
        On the cpu device, if a point is NaN, or if `cov` is requested and the rank is deficient. On
        the GPU the result is NaN, or the covariance for the effective rank.
    """
    order = whole_number("polyfit", "deg", deg, 0) + 1
    x, y = _points("polyfit", x, y)
    weights = None if w is None else _weights_of("polyfit", w, x)
    if cov and cov != "unscaled" and not full and x.size <= order:
        raise ValueError(f"polyfit: the covariance needs more than {order} points, not {x.size}")
    low, high = x.min(), x.max()
    half = where(low == high, 1.0, (high - low) / 2)
    middle = (low + high) / 2
    powers = _weighted(vander((x - middle) / half, order), weights)
    values = _weighted(y if y.ndim == 2 else y[:, None], weights)
    cut = x.size * dtypes.epsilon(x.dtype) if rcond is None else float(rcond)
    across = _orthonormal(powers)
    inverse, rank, _ = by_singular_values(across.T @ powers, cut)
    coefficients = inverse @ (across.T @ values)
    rest = ((values - powers @ coefficients) ** 2).sum(0)
    change = _change(1 / half, -middle / half, order)
    coefficients = change @ coefficients
    columns, lengths = _normalized(_weighted(vander(x, order), weights))
    ranks = known(rank)
    if ranks is None or ranks < order:
        shortest, _, _ = by_singular_values(columns, cut, values)
        coefficients = where(rank < order, shortest / lengths[:, None], coefficients)
    coefficients = coefficients if y.ndim == 2 else coefficients[:, 0]
    if full:
        count = int(rank)
        rest = rest if count == order < x.size else rest[:0]
        return coefficients, rest, count, svdvals(columns), cut
    if cov and ranks is not None and ranks < order:
        raise LinAlgError(f"polyfit: the covariance needs full rank, {order}, not {ranks}")
    if ranks is not None:
        warn_of_rank("polyfit", ranks, order)
    if not cov:
        return coefficients
    spread = change @ inverse
    spread = spread @ spread.T
    spread = spread if y.ndim == 1 else spread[..., None]
    if cov != "unscaled":
        spread = spread * (rest if y.ndim == 2 else rest[0]) / (x.size - order)
    return coefficients, spread


def _normalized(powers: Tensor) -> tuple[Tensor, Tensor]:
    """Return columns divided by their norms, and the norms, with 1 for 0."""
    lengths = sqrt((powers * powers).sum(0))
    lengths = where(lengths > 0, lengths, 1.0)
    return powers / lengths, lengths


def _points(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    a, b = (converted(v, dtypes.at_least_single(v.dtype)) for v in in_common_dtype(op, x, y))
    if a.ndim != 1 or not a.size or b.ndim not in (1, 2) or b.shape[0] != a.size:
        raise TypeError(f"{op}: x of shape {a.shape} does not match y of shape {b.shape}")
    return a, b


def _weights_of(op: str, w: Operand, x: Tensor) -> Tensor:
    weights = tensor_of(w, op, device=x.device)
    if weights.shape != x.shape:
        raise TypeError(f"{op}: weights of shape {weights.shape} do not match {x.size} points")
    return converted(weights, x.dtype)


def _weighted(x: Tensor, weights: Tensor | None) -> Tensor:
    return x if weights is None else x * weights[:, None]


def _orthonormal(x: Tensor) -> Tensor:
    """Return orthonormal columns with the same span, by Gram-Schmidt with repeated subtractions.

    (Giraud, Langou and Rozloznik, The loss of orthogonality in the Gram-Schmidt process, 2005.)
    """
    basis = x[:, :0]
    for i in range(x.shape[1]):
        column = x[:, i : i + 1]
        for _ in range(2 if i else 0):
            column = column - basis @ (basis.T @ column)
        size = sqrt((column * column).sum())
        column = column / where(size > 0, size, 1.0)
        basis = concat([basis, column], 1)
    return basis


def _change(a: Tensor, b: Tensor, order: int) -> Tensor:
    """Return the matrix that converts coefficients in powers of ``a x + b`` to powers of `x`."""
    row = pad_constant(zeros(order - 1, a.dtype, device=a.device), (0, 1), 1)
    rows = [row]
    for _ in range(order - 1):
        row = concat([row[1:], row[:1] * 0]) * a + row * b
        rows.append(row)
    return movement.stack(rows[::-1], 1)
