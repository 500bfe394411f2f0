"""Chebyshev, Legendre, Hermite and Laguerre polynomials, with NumPy's names.

A basis is defined by a three-term recurrence. Values (by Clenshaw's algorithm, A note on the
summation of Chebyshev series, 1955), Vandermonde matrices and fits are computed with the recurrence
on the tensors' device. Operations on coefficients only are computed by NumPy on the host in
float64, which reads the coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any, ClassVar, TypeVar, cast

from py_tensor import dtypes
from py_tensor.backend.device import default_device
from py_tensor.backend.host import host
from py_tensor.fitting import cut_of, points, shortest, warn_of_rank, weighted, weights_of
from py_tensor.graph.node import Device
from py_tensor.linalg import svdvals
from py_tensor.ops.creation import zeros
from py_tensor.ops.hosted import from_host
from py_tensor.ops.movement import (
    as_floating,
    expand_dims,
    in_common_dtype,
    reshape,
    stack,
)
from py_tensor.ops.operands import Operand, known, whole_number
from py_tensor.ops.reduction import sum
from py_tensor.polynomial.objects import Series, Step
from py_tensor.polynomial.powers import values_at
from py_tensor.tensor import Tensor, tensor_of


class Basis:
    """The functions of one basis, by their names in NumPy.

    Parameters
    ----------
    module
        The name of NumPy's module.
    prefix
        The prefix of the names of functions.
    step : callable
        ``step(n)`` returns a, b and c of ``P[n+1] = (a * x + b) * P[n] - c * P[n-1]``.
    """

    def __init__(self, module: str, prefix: str, step: Callable[[int], Step]) -> None:
        self.module, self.prefix, self.step = module, prefix, step
        self._found: dict[str, Any] = {}

    def named(self, name: str) -> Any:
        """Return the function or the constant with a name in NumPy's module."""
        if name not in self._found:
            self._found[name] = self._made(name)
        return self._found[name]

    def _made(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module 'py_tensor.polynomial.{self.module}' has no {name!r}")
        own = _OWN.get(name.removeprefix(self.prefix)) if name.startswith(self.prefix) else None
        theirs = getattr(getattr(host.load_numpy().polynomial, self.module), name)
        if not callable(theirs):
            return theirs.tolist()
        made = partial(own, self, name) if own is not None else partial(_on_host, name, theirs)
        update_wrapper(made, theirs)
        made.__doc__ = own.__doc__ if own is not None else f"NumPy's `{name}`, on the host."
        return made

    def names(self) -> list[str]:
        """Return the names in NumPy's module."""
        return [*getattr(host.load_numpy().polynomial, self.module).__all__]

    def of(self, short: str) -> Any:
        """Return the function whose name is the prefix and `short`."""
        return self.named(self.prefix + short)


# -- On the host --------------------------------------------------------------------------------


def _on_host(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a NumPy function on copies of tensors; return tensors on their device."""
    given: list[Tensor] = []
    arrays = [_to_host(v, given) for v in args]
    named = {key: _to_host(v, given) for key, v in options.items()}
    found = function(*arrays, **named)
    wide = any(dtypes.real_of(x.dtype) is dtypes.float64 for x in given)
    device = given[0].device if given else default_device()
    return _from_host(name, found, wide, device)


def _to_host(value: Any, given: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        given.append(value)
        array = value.numpy()
        return array.astype("complex128" if value.dtype.kind == "c" else "float64")
    if isinstance(value, list | tuple):
        return [_to_host(part, given) for part in cast("list[Any]", value)]
    if not callable(value):
        return value
    function = cast("Callable[..., Any]", value)

    def called(places: Any, *args: Any) -> Any:
        return _to_host(function(tensor_of(places, "interpolate"), *args), given)

    return called


def _from_host(name: str, found: Any, wide: bool, device: Device) -> Any:
    if isinstance(found, tuple):
        return tuple(_from_host(name, part, wide, device) for part in cast("list[Any]", found))
    kind = found.dtype.kind
    dtype = dtypes.float64 if wide else dtypes.DEFAULT.floating
    target = {"c": dtypes.complex_of(dtype), "i": dtypes.DEFAULT_INT}.get(kind, dtype)
    return from_host(name, found, target, device)


# -- On the device of the tensors ---------------------------------------------------------------


def _val(basis: Basis, op: str, x: Operand, c: Operand, tensor: bool = True) -> Tensor:
    """Evaluate a polynomial at the elements of `x`, by Clenshaw's algorithm.

    Parameters
    ----------
    c
        The coefficients along the first axis; other axes are for several polynomials.
    tensor : bool
        Whether to evaluate each polynomial at each element; otherwise the other axes of `c`
        broadcast against `x`.
    """
    places, given = in_common_dtype(op, x, as_floating(c, op))
    if not given.ndim:
        given = reshape(given, 1)
    if tensor and places.ndim:
        given = reshape(given, (*given.shape, *(1,) * places.ndim))
    found, before = given[-1] + places * 0, places * 0
    for k in range(given.shape[0] - 2, -1, -1):
        (a, b, _), (_, _, c) = basis.step(k), basis.step(k + 1)
        found, before = given[k] + (places * a + b) * found - before * c, found
    return found


def _val2d(basis: Basis, op: str, x: Operand, y: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial in two variables at points; `c` has an axis for each variable."""
    return _valnd(basis, op, (x, y), c)


def _val3d(basis: Basis, op: str, x: Operand, y: Operand, z: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial in three variables at points."""
    return _valnd(basis, op, (x, y, z), c)


def _valnd(basis: Basis, op: str, pts: Sequence[Operand], c: Operand) -> Tensor:
    """Evaluate a polynomial in any number of variables at points."""
    return values_at(op, partial(_val, basis, op), pts, c)


def _grid2d(basis: Basis, op: str, x: Operand, y: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial on the grid of `x` and `y`."""
    return _val(basis, op, y, _val(basis, op, x, c))


def _grid3d(basis: Basis, op: str, x: Operand, y: Operand, z: Operand, c: Operand) -> Tensor:
    """Evaluate a polynomial on the grid of `x`, `y` and `z`."""
    return _val(basis, op, z, _grid2d(basis, op, x, y, c))


def _vander(basis: Basis, op: str, x: Operand, deg: int) -> Tensor:
    """Return the basis polynomials from 0 to `deg` at each element, along a last axis.

    Raises
    ------
    ValueError
        If the degree is negative.
    """
    order = whole_number(op, "deg", deg)
    if order < 0:
        raise ValueError(f"{op}: deg must be at least 0, not {deg}")
    places = as_floating(x, op)
    places = places if places.ndim else reshape(places, 1)
    found = [places * 0 + 1]
    for k in range(order):
        a, b, c = basis.step(k)
        following = (places * a + b) * found[-1]
        found.append(following - found[-2] * c if k else following)
    return stack(found, -1)


def _vander2d(basis: Basis, op: str, x: Operand, y: Operand, deg: Sequence[int]) -> Tensor:
    """Return the products of basis polynomials in x and y at points, along a last axis."""
    a, b = (_vander(basis, op, v, n) for v, n in zip((x, y), deg, strict=True))
    both = expand_dims(a, -1) * expand_dims(b, -2)
    return reshape(both, (*both.shape[:-2], -1))


def _vander3d(
    basis: Basis, op: str, x: Operand, y: Operand, z: Operand, deg: Sequence[int]
) -> Tensor:
    """Return the products of basis polynomials in x, y and z at points, along a last axis."""
    first, *others = deg
    beside = _vander2d(basis, op, y, z, others)
    both = expand_dims(_vander(basis, op, x, first), -1) * expand_dims(beside, -2)
    return reshape(both, (*both.shape[:-2], -1))


def _fit(
    basis: Basis,
    op: str,
    x: Operand,
    y: Operand,
    deg: int | Sequence[int],
    rcond: float | None = None,
    full: bool = False,
    w: Operand | None = None,
) -> Any:
    """Fit a polynomial to points by least squares.

    If several polynomials fit equally well, the result is that of NumPy, and a `RankWarning` is
    issued on the cpu device; on the GPU the rank is not read.

    Parameters
    ----------
    x, y
        The points: a vector, and a vector or a matrix with one column for each polynomial.
    deg : int or list of int
        The degree, or the indices of the basis polynomials to use.
    rcond : optional
        Singular values smaller than `rcond` times the largest count as 0; by default the number of
        points times the precision of the dtype.
    full : bool
        Whether to also return a list of the sums of squared residuals, the rank, the singular
        values and `rcond`. The rank is read.
    w : optional
        Weights for the residual of each point.

    Raises
    ------
    TypeError
        If the shapes do not match.
    ValueError
        If a degree is negative.
    """
    several = isinstance(deg, Sequence) or bool(getattr(deg, "ndim", 0))
    degrees = sorted(map(int, cast("Sequence[int]", deg))) if several else None
    highest = degrees[-1] if degrees else whole_number(op, "deg", deg)
    if min(degrees or [highest]) < 0:
        raise ValueError(f"{op}: deg must be at least 0, not {deg}")
    x, y = points(op, x, y)
    weights = None if w is None else weights_of(op, w, x)
    columns = _vander(basis, op, x, highest)
    columns = weighted(columns if degrees is None else columns[:, degrees], weights)
    values = weighted(y if y.ndim == 2 else expand_dims(y, 1), weights)
    cut, order = cut_of(x, rcond), columns.shape[1]
    found, rank = shortest(columns, values, cut)
    if degrees is not None:
        none = zeros((highest + 1, found.shape[1]), found.dtype, device=x.device)
        none[degrees] = found
        found, kept = none, found
    else:
        kept = found
    best = found if y.ndim == 2 else found[:, 0]
    if not full:
        warn_of_rank(op, known(rank), order)
        return best
    count, rest = int(rank), sum((values - columns @ kept) ** 2, 0)
    sizes = svdvals(columns / sum(columns * columns, 0) ** 0.5)
    return best, [rest if count == order < x.size else rest[:0], count, sizes, cut]


def _weight(basis: Basis, op: str, x: Operand) -> Tensor:
    """Return the weight function of the orthogonal basis at each element."""
    theirs = getattr(getattr(host.load_numpy().polynomial, basis.module), op)
    return theirs(as_floating(x, op))  # uses ufuncs, which NumPy dispatches to the tensor


_OWN: dict[str, Callable[..., Any]] = {
    "fit": _fit, "grid2d": _grid2d, "grid3d": _grid3d, "val": _val, "val2d": _val2d,
    "val3d": _val3d, "valnd": _valnd, "vander": _vander, "vander2d": _vander2d,
    "vander3d": _vander3d, "weight": _weight,
}  # fmt: skip


CHEBYSHEV = Basis("chebyshev", "cheb", lambda n: (2.0 if n else 1.0, 0.0, 1.0))
LEGENDRE = Basis("legendre", "leg", lambda n: ((2 * n + 1) / (n + 1), 0.0, n / (n + 1)))
HERMITE = Basis("hermite", "herm", lambda n: (2.0, 0.0, 2.0 * n))
HERMITE_E = Basis("hermite_e", "herme", lambda n: (1.0, 0.0, float(n)))
LAGUERRE = Basis("laguerre", "lag", lambda n: (-1 / (n + 1), (2 * n + 1) / (n + 1), n / (n + 1)))


# -- Objects ------------------------------------------------------------------------------------

C = TypeVar("C", bound="Chebyshev")


class _InBasis(Series):
    """A polynomial in the basis `basis_of`, with the attributes of `Polynomial`."""

    basis_of: ClassVar[Basis]

    @classmethod
    def _of(cls, name: str) -> Callable[..., Any]:
        return cls.basis_of.of(name)

    @classmethod
    def _step(cls, n: int) -> Step:
        return cls.basis_of.step(n)


class Chebyshev(_InBasis):
    """A series of Chebyshev polynomials of the first kind; otherwise like `Polynomial`."""

    basis_name = "T"
    basis_of = CHEBYSHEV

    @classmethod
    def interpolate(
        cls: type[C],
        func: Callable[..., Any],
        deg: int,
        domain: Any = None,
        args: Sequence[Any] = (),
    ) -> C:
        """Interpolate a function of tensors at the Chebyshev points of a domain."""
        made = cls([0], domain)
        (low, high), (left, right) = made._domain, cls._window
        scale = (high - low) / (right - left)
        offset = low - scale * left

        def there(places: Tensor) -> Any:
            return func(places * scale + offset, *args)

        return cls(cls._of("interpolate")(there, deg), domain)


class Legendre(_InBasis):
    """A series of Legendre polynomials; otherwise like `Polynomial`."""

    basis_name = "P"
    basis_of = LEGENDRE


class Hermite(_InBasis):
    """A series of physicists' Hermite polynomials; otherwise like `Polynomial`."""

    basis_name = "H"
    basis_of = HERMITE


class HermiteE(_InBasis):
    """A series of probabilists' Hermite polynomials; otherwise like `Polynomial`."""

    basis_name = "He"
    basis_of = HERMITE_E


class Laguerre(_InBasis):
    """A series of Laguerre polynomials; otherwise like `Polynomial`."""

    _domain = (0.0, 1.0)
    _window = (0.0, 1.0)
    basis_name = "L"
    basis_of = LAGUERRE
