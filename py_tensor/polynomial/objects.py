"""Polynomial classes, whose variable can be mapped from a domain to a window.

`Series` is a polynomial in any basis. A basis is defined by a three-term recurrence,
``P[n+1] = (a * x + b) * P[n] - c * P[n-1]`` from ``P[0] = 1``: powers, and those of `bases.py`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from py_tensor import dtypes
from py_tensor.backend.host import host
from py_tensor.convert.conversion import tensor
from py_tensor.ops import creation
from py_tensor.ops.movement import as_floating, ravel
from py_tensor.ops.operands import Operand, numbers_of, whole_number
from py_tensor.ops.reduction import max, min
from py_tensor.polynomial import powers as functions
from py_tensor.tensor import Tensor

Pair = tuple[Any, Any]
Step = tuple[float, float, float]
S = TypeVar("S", bound="Series")


def _pair(op: str, name: str, given: Any) -> Pair:
    numbers, _ = numbers_of(op, given)
    if len(numbers) != 2:
        raise ValueError(f"{op}: {name} must be two numbers, not {given!r}")
    low, high = (x if isinstance(x, complex) else float(x) for x in numbers)
    return low, high


def _in_single(pair: Pair) -> array[float]:
    """Round two numbers to the precision of float32 and complex64 tensors."""
    return array("f", [part for x in map(complex, pair) for part in (x.real, x.imag)])


class _Interval:
    """An attribute of polynomials and of their classes: two numbers, read as a tensor."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, polynomial: Series | None, owner: type[Series]) -> Tensor:
        pair: Pair = getattr(owner if polynomial is None else polynomial, f"_{self._name}")
        if polynomial is None:
            made = tensor(pair)
        else:
            coef = polynomial.coef
            is_complex = any(isinstance(x, complex) for x in pair)
            real = dtypes.real_of(coef.dtype)
            made = tensor(
                pair, dtype=dtypes.complex_of(real) if is_complex else real, device=coef.device
            )
        made.flags.writeable = False
        return made

    def __set__(self, polynomial: Series, given: Any) -> None:
        op = type(polynomial).__name__
        setattr(polynomial, f"_{self._name}", _pair(op, self._name, given))


class Series:
    """A polynomial in the basis of the class; see `Polynomial`.

    Attributes
    ----------
    basis_name : str
        The printed prefix of a basis polynomial's index; None for powers.
    """

    _domain: Pair = (-1.0, 1.0)
    _window: Pair = (-1.0, 1.0)
    domain = _Interval()
    window = _Interval()
    basis_name: str | None = None

    def __init_subclass__(cls) -> None:
        """Keep the numbers of `domain` and `window` if the class sets them."""
        for name in ("domain", "window"):
            if name in cls.__dict__:
                setattr(cls, f"_{name}", _pair(cls.__name__, name, cls.__dict__[name]))
                delattr(cls, name)

    @classmethod
    def _of(cls, name: str) -> Callable[..., Any]:
        """Return the basis's function of coefficients: "add", "mul" and so on."""
        raise NotImplementedError

    @classmethod
    def _step(cls, n: int) -> Step:
        """Return the numbers a, b and c of the recurrence."""
        raise NotImplementedError

    __hash__ = None  # type: ignore[assignment] - coefficients can be assigned

    def __init__(
        self, coef: Operand, domain: Any = None, window: Any = None, symbol: str = "x"
    ) -> None:
        name = type(self).__name__
        self.coef = functions.coefficients_of(name, coef).copy()
        if domain is not None:
            self.domain = domain
        if window is not None:
            self.window = window
        self.symbol = symbol

    # -- Properties -----------------------------------------------------------------------------

    def degree(self) -> int:
        """Return the number of coefficients minus 1."""
        return self.coef.size - 1

    def mapparms(self) -> Pair:
        """Return the offset and the scale that map the domain to the window."""
        (low, high), (left, right) = self._domain, self._window
        scale = (right - left) / (high - low)
        return left - scale * low, scale

    def copy(self: S) -> S:
        return self._like(self.coef)

    def _like(self: S, coef: Operand) -> S:
        return type(self)(coef, self._domain, self._window, self.symbol)

    def _host(self) -> Any:
        """Return NumPy's object, which formats the text."""
        made = getattr(host.load_numpy().polynomial, type(self).__name__)
        return made(self.coef.tolist(), list(self._domain), list(self._window), self.symbol)

    def __repr__(self) -> str:
        return repr(self._host())

    def __str__(self) -> str:
        return str(self._host())

    def __format__(self, fmt: str) -> str:
        return format(self._host(), fmt)

    def __len__(self) -> int:
        return self.coef.size

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.coef)

    def has_samecoef(self, other: Series) -> bool:
        """Return whether the coefficients are equal; reads them."""
        return self.coef.tolist() == other.coef.tolist()

    def has_samedomain(self, other: Series) -> bool:
        return self._has_same("_domain", other)

    def has_samewindow(self, other: Series) -> bool:
        return self._has_same("_window", other)

    def _has_same(self, name: str, other: Series) -> bool:
        """Compare two numbers in double precision only if both polynomials have it."""
        mine, theirs = getattr(self, name), getattr(other, name)
        if mine == theirs:
            return True
        precisions = [dtypes.real_of(p.coef.dtype) for p in (self, other)]
        return dtypes.float32 in precisions and _in_single(mine) == _in_single(theirs)

    def has_sametype(self, other: object) -> bool:
        return type(other) is type(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Series):
            return NotImplemented
        return not self._differences(other) and self.has_samecoef(other)

    def _differences(self, other: Series) -> list[str]:
        """Return which properties of two polynomials differ, so that they cannot be added."""
        alike = {
            "bases": self.has_sametype(other),
            "domains": self.has_samedomain(other),
            "windows": self.has_samewindow(other),
            "symbols": self.symbol == other.symbol,
        }
        return [name for name, is_same in alike.items() if not is_same]

    def _coefficients_of(self, other: Any) -> Any:
        """Return the coefficients of another polynomial; other operands are unchanged.

        Raises
        ------
        TypeError
            If the polynomials differ in basis, domain, window or symbol.
        """
        if not isinstance(other, Series):
            return other
        differences = self._differences(other)
        if differences:
            raise TypeError(f"{type(self).__name__}: {', '.join(differences)} differ")
        return other.coef

    # -- Arithmetic -----------------------------------------------------------------------------

    def __call__(self, arg: Any) -> Any:
        """Return the values at the elements of a tensor, or the composition with a polynomial."""
        offset, scale = self.mapparms()
        if not isinstance(arg, Series):
            x = as_floating(arg, type(self).__name__)
            places = x if (offset, scale) == (0, 1) else x * scale + offset
            return self._of("val")(places, self.coef)
        inner: Any = arg * scale + offset
        found: Any = arg._like([0])
        before: Any = found
        for k in range(self.degree(), -1, -1):  # Clenshaw's algorithm
            (a, b, _), (_, _, c) = self._step(k), self._step(k + 1)
            found, before = (inner * a + b) * found + self.coef[k] - before * c, found
        return found

    def __neg__(self: S) -> S:
        return self._like(-self.coef)

    def __pos__(self: S) -> S:
        return self

    def __add__(self: S, other: Any) -> S:
        return self._like(self._of("add")(self.coef, self._coefficients_of(other)))

    def __sub__(self: S, other: Any) -> S:
        return self._like(self._of("sub")(self.coef, self._coefficients_of(other)))

    def __rsub__(self: S, other: Any) -> S:
        return self._like(self._of("sub")(other, self.coef))

    def __mul__(self: S, other: Any) -> S:
        return self._like(self._of("mul")(self.coef, self._coefficients_of(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self: S, other: Any) -> S:
        if isinstance(other, Series | list | tuple) or getattr(other, "ndim", 0):
            raise TypeError(
                f"{type(self).__name__}: / takes a number; use // and % for polynomials"
            )
        return self._like(self.coef / other)

    def __divmod__(self: S, other: Any) -> tuple[S, S]:
        quotient, rest = self._of("div")(self.coef, self._coefficients_of(other))
        return self._like(quotient), self._like(rest)

    def __rdivmod__(self: S, other: Any) -> tuple[S, S]:
        quotient, rest = self._of("div")(other, self.coef)
        return self._like(quotient), self._like(rest)

    def __floordiv__(self: S, other: Any) -> S:
        return divmod(self, other)[0]

    def __rfloordiv__(self: S, other: Any) -> S:
        return self.__rdivmod__(other)[0]

    def __mod__(self: S, other: Any) -> S:
        return divmod(self, other)[1]

    def __rmod__(self: S, other: Any) -> S:
        return self.__rdivmod__(other)[1]

    def __pow__(self: S, other: int) -> S:
        return self._like(self._of("pow")(self.coef, other))

    # -- Calculus, zeros, fewer coefficients ----------------------------------------------------

    def deriv(self: S, m: int = 1) -> S:
        """Return the `m`-th derivative."""
        return self._like(self._of("der")(self.coef, m, self.mapparms()[1]))

    def integ(self: S, m: int = 1, k: Any = (), lbnd: Any = None) -> S:
        """Return the `m`-th antiderivative; see `polynomial.polyint`."""
        offset, scale = self.mapparms()
        bound = 0 if lbnd is None else offset + scale * lbnd
        return self._like(self._of("int")(self.coef, m, k, bound, 1 / scale))

    def roots(self) -> Tensor:
        """Return the roots in the domain, computed on the host by NumPy."""
        offset, scale = self.mapparms()
        return (self._of("roots")(self.coef) - offset) / scale

    def trim(self: S, tol: float = 0) -> S:
        """Remove trailing coefficients of magnitude up to `tol`; reads the coefficients."""
        return self._like(self._of("trim")(self.coef, tol))

    def truncate(self: S, size: int) -> S:
        """Truncate to the first `size` coefficients."""
        count = whole_number(type(self).__name__, "size", size)
        if count < 1:
            raise ValueError(f"{type(self).__name__}: size must be at least 1, not {size}")
        return self._like(self.coef[:count])

    def cutdeg(self: S, deg: int) -> S:
        """Truncate to the degree `deg`."""
        return self.truncate(deg + 1)

    def linspace(self, n: int = 100, domain: Any = None) -> tuple[Tensor, Tensor]:
        """Return `n` points over a domain, by default the polynomial's, and the values there."""
        low, high = self._domain if domain is None else _pair(type(self).__name__, "domain", domain)
        places = creation.linspace(low, high, n, device=self.coef.device)
        return places, self(places)

    def convert(self, domain: Any = None, kind: Any = None, window: Any = None) -> Any:
        """Convert to another class of polynomials, or to another domain and window.

        By default the domain and the window are those of the class.
        """
        kind = kind or type(self)
        if not (isinstance(kind, type) and issubclass(kind, Series)):
            raise TypeError(
                f"{type(self).__name__}: kind must be a class of polynomials, not {kind!r}"
            )
        return self(kind.identity(domain, window, self.symbol))

    # -- Constructors ---------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        x: Operand,
        y: Operand,
        deg: int,
        domain: Any = None,
        rcond: float | None = None,
        full: bool = False,
        w: Operand | None = None,
        window: Any = None,
        symbol: str = "x",
    ) -> Any:
        """Fit points by least squares; the default domain is the range of `x`.

        The range is read unless a domain is given; an empty list means the default domain of the
        class. See `polynomial.polyfit`.
        """
        places = as_floating(x, cls.__name__)
        if domain is None:
            domain = (min(places).item(), max(places).item())
            if domain[0] == domain[1]:
                domain = (domain[0] - 1, domain[1] + 1)
        elif isinstance(domain, list | tuple) and not domain:
            domain = None
        made = cls([0], domain, window, symbol)
        offset, scale = made.mapparms()
        found = cls._of("fit")(places * scale + offset, y, deg, rcond, full, w)
        return (made._like(found[0]), found[1]) if full else made._like(found)

    @classmethod
    def fromroots(
        cls: type[S], roots: Operand, domain: Any = (), window: Any = None, symbol: str = "x"
    ) -> S:
        """Create a polynomial from its roots; if the domain is None, their range is read."""
        x = ravel(as_floating(roots, cls.__name__))
        if domain is None:
            domain = (min(x).item(), max(x).item())
        elif isinstance(domain, list | tuple) and not domain:
            domain = None
        made = cls([0], domain, window, symbol)
        offset, scale = made.mapparms()
        return made._like(cls._of("fromroots")(x * scale + offset) / scale**x.size)

    @classmethod
    def identity(cls: type[S], domain: Any = None, window: Any = None, symbol: str = "x") -> S:
        """Create the identity polynomial."""
        made = cls([0], domain, window, symbol)
        offset, scale = made.mapparms()
        a, b, _ = cls._step(0)
        return made._like([-(offset + b / a) / scale, 1 / (scale * a)])

    @classmethod
    def basis(
        cls: type[S], deg: int, domain: Any = None, window: Any = None, symbol: str = "x"
    ) -> S:
        """Create the basis polynomial of degree `deg`."""
        order = whole_number(cls.__name__, "deg", deg)
        if order < 0:
            raise ValueError(f"{cls.__name__}: deg must be at least 0, not {deg}")
        return cls([0] * order + [1], domain, window, symbol)

    @classmethod
    def cast(cls, series: Any, domain: Any = None, window: Any = None) -> Any:
        """Convert another polynomial to this class, optionally with another domain and window."""
        return series.convert(domain, cls, window)


class Polynomial(Series):
    """A power series: it can be evaluated, added, multiplied, differentiated and fitted.

    Parameters
    ----------
    coef
        The coefficients from the lowest power to the highest.
    domain, window : optional
        Pairs of numbers: the variable is mapped from the domain to the window. Both are (-1, 1) by
        default, the identity.
    symbol : str
        The name of the variable when printed.

    Attributes
    ----------
    coef : Tensor
    domain, window : Tensor
        Two numbers. Elements cannot be assigned; a new pair can.

    Examples
    --------
    >>> import py_tensor as pt
    >>> p = pt.polynomial.Polynomial([1, 0, 2])
    >>> print(p)
    1.0 + 0.0·x + 2.0·x²
    >>> float(p(3))
    19.0
    """

    @classmethod
    def _of(cls, name: str) -> Callable[..., Any]:
        return getattr(functions, f"poly{name}")

    @classmethod
    def _step(cls, n: int) -> Step:
        return 1.0, 0.0, 0.0
