"""A polynomial as an object, whose variable may be mapped from a domain to a window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py_tensor.backend.host import host
from py_tensor.ops import creation
from py_tensor.ops.movement import as_floating, ravel
from py_tensor.ops.operands import Operand, numbers_of, whole_number
from py_tensor.ops.reduction import max, min
from py_tensor.polynomial import polynomial as functions
from py_tensor.tensor import Tensor

Pair = tuple[Any, Any]


def _pair(name: str, given: Any) -> Pair:
    numbers, _ = numbers_of("Polynomial", given)
    if len(numbers) != 2:
        raise ValueError(f"Polynomial: {name} has two ends, not {given!r}")
    return (numbers[0], numbers[1])


class Polynomial:
    """A polynomial that is called, added, multiplied, differentiated, fitted and printed.

    Parameters
    ----------
    coef
        The coefficients, that of the lowest power first.
    domain, window : optional
        Pairs of numbers: the variable is mapped from the one to the other; both (-1, 1) by default,
        which changes nothing.
    symbol : str
        The letter that is printed.

    Attributes
    ----------
    coef : Tensor
    domain, window : tuple
        Of Python's numbers.

    Examples
    --------
    >>> import py_tensor as pt
    >>> p = pt.polynomial.Polynomial([1, 0, 2])
    >>> print(p)
    1.0 + 0.0·x + 2.0·x²
    >>> float(p(3))
    19.0
    """

    __hash__ = None  # type: ignore[assignment] - coefficients can be assigned

    def __init__(
        self, coef: Operand, domain: Any = None, window: Any = None, symbol: str = "x"
    ) -> None:
        self.coef = functions.coefficients_of("Polynomial", coef).copy()
        self.domain = (-1.0, 1.0) if domain is None else _pair("domain", domain)
        self.window = (-1.0, 1.0) if window is None else _pair("window", window)
        self.symbol = symbol

    # -- What it is -----------------------------------------------------------------------------

    def degree(self) -> int:
        """The number of coefficients less 1."""
        return self.coef.size - 1

    def mapparms(self) -> Pair:
        """The offset and the scale by which the domain is mapped to the window."""
        (low, high), (left, right) = self.domain, self.window
        scale = (right - left) / (high - low)
        return left - scale * low, scale

    def copy(self) -> Polynomial:
        return self._like(self.coef)

    def _like(self, coef: Operand) -> Polynomial:
        return Polynomial(coef, self.domain, self.window, self.symbol)

    def _host(self) -> Any:
        """NumPy's, by which it is printed."""
        made = host.load_numpy().polynomial.Polynomial
        return made(self.coef.tolist(), list(self.domain), list(self.window), self.symbol)

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

    def has_samecoef(self, other: Polynomial) -> bool:
        """Whether the coefficients are equal: they are read."""
        return self.coef.tolist() == other.coef.tolist()

    def has_samedomain(self, other: Polynomial) -> bool:
        return self.domain == other.domain

    def has_samewindow(self, other: Polynomial) -> bool:
        return self.window == other.window

    def has_sametype(self, other: object) -> bool:
        return isinstance(other, Polynomial)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polynomial):
            return NotImplemented
        return self._is_beside(other) and self.has_samecoef(other)

    def _is_beside(self, other: Polynomial) -> bool:
        mine, theirs = ((p.domain, p.window, p.symbol) for p in (self, other))
        return mine == theirs

    def _coefficients_of(self, other: Any) -> Any:
        """What another operand is to be combined with.

        Raises
        ------
        TypeError
            For a polynomial with another domain, window or symbol.
        """
        if not isinstance(other, Polynomial):
            return other
        if not self._is_beside(other):
            raise TypeError("Polynomial: domains, windows or symbols differ")
        return other.coef

    # -- Arithmetic -----------------------------------------------------------------------------

    def __call__(self, arg: Any) -> Any:
        """The values at elements; of another polynomial, the composition."""
        offset, scale = self.mapparms()
        if not isinstance(arg, Polynomial):
            x = as_floating(arg, "Polynomial")
            return functions.polyval(
                x if (offset, scale) == (0, 1) else x * scale + offset, self.coef
            )
        inner, found = arg * scale + offset, arg._like([0])
        for i in range(self.degree(), -1, -1):
            found = found * inner + self.coef[i]
        return found

    def __neg__(self) -> Polynomial:
        return self._like(-self.coef)

    def __pos__(self) -> Polynomial:
        return self

    def __add__(self, other: Any) -> Polynomial:
        return self._like(functions.polyadd(self.coef, self._coefficients_of(other)))

    def __sub__(self, other: Any) -> Polynomial:
        return self._like(functions.polysub(self.coef, self._coefficients_of(other)))

    def __rsub__(self, other: Any) -> Polynomial:
        return self._like(functions.polysub(other, self.coef))

    def __mul__(self, other: Any) -> Polynomial:
        return self._like(functions.polymul(self.coef, self._coefficients_of(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Polynomial:
        if isinstance(other, Polynomial | list | tuple) or getattr(other, "ndim", 0):
            raise TypeError("Polynomial: / divides by numbers; // and % by polynomials")
        return self._like(self.coef / other)

    def __divmod__(self, other: Any) -> tuple[Polynomial, Polynomial]:
        quotient, rest = functions.polydiv(self.coef, self._coefficients_of(other))
        return self._like(quotient), self._like(rest)

    def __rdivmod__(self, other: Any) -> tuple[Polynomial, Polynomial]:
        quotient, rest = functions.polydiv(other, self.coef)
        return self._like(quotient), self._like(rest)

    def __floordiv__(self, other: Any) -> Polynomial:
        return divmod(self, other)[0]

    def __rfloordiv__(self, other: Any) -> Polynomial:
        return self.__rdivmod__(other)[0]

    def __mod__(self, other: Any) -> Polynomial:
        return divmod(self, other)[1]

    def __rmod__(self, other: Any) -> Polynomial:
        return self.__rdivmod__(other)[1]

    def __pow__(self, other: int) -> Polynomial:
        return self._like(functions.polypow(self.coef, other))

    # -- Calculus, zeros, fewer coefficients ----------------------------------------------------

    def deriv(self, m: int = 1) -> Polynomial:
        """The derivative, `m` times over."""
        return self._like(functions.polyder(self.coef, m, self.mapparms()[1]))

    def integ(self, m: int = 1, k: Any = (), lbnd: Any = None) -> Polynomial:
        """The antiderivative, `m` times over; see `polynomial.polyint`."""
        offset, scale = self.mapparms()
        bound = 0 if lbnd is None else offset + scale * lbnd
        return self._like(functions.polyint(self.coef, m, k, bound, 1 / scale))

    def roots(self) -> Tensor:
        """The zeros, in the domain; on the host by NumPy."""
        offset, scale = self.mapparms()
        return (functions.polyroots(self.coef) - offset) / scale

    def trim(self, tol: float = 0) -> Polynomial:
        """Without the last coefficients up to `tol`: they are read."""
        return self._like(functions.polytrim(self.coef, tol))

    def truncate(self, size: int) -> Polynomial:
        """The first `size` coefficients."""
        count = whole_number("Polynomial", "size", size)
        if count < 1:
            raise ValueError(f"Polynomial: the size is {size}; it is at least 1")
        return self._like(self.coef[:count])

    def cutdeg(self, deg: int) -> Polynomial:
        """Without the powers above `deg`."""
        return self.truncate(deg + 1)

    def linspace(self, n: int = 100, domain: Any = None) -> tuple[Tensor, Tensor]:
        """`n` places over the domain, or another one, and the values there."""
        low, high = self.domain if domain is None else _pair("domain", domain)
        places = creation.linspace(low, high, n, device=self.coef.device)
        return places, self(places)

    def convert(self, domain: Any = None, kind: Any = None, window: Any = None) -> Polynomial:
        """The same polynomial with another domain and window, by default (-1, 1)."""
        if kind not in (None, Polynomial):
            raise TypeError("Polynomial: powers are the only basis")
        return self(Polynomial.identity(domain, window, self.symbol))

    # -- Made otherwise -------------------------------------------------------------------------

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
        """The polynomial that fits points best; its domain is from the least `x` to the largest.

        That is read, unless a domain is given; an empty list stands for the window. See
        `polynomial.polyfit`.
        """
        places = as_floating(x, "Polynomial")
        if domain is None:
            domain = (min(places).item(), max(places).item())
            if domain[0] == domain[1]:
                domain = (domain[0] - 1, domain[1] + 1)
        elif isinstance(domain, list | tuple) and not domain:
            domain = window
        made = cls([0], domain, window, symbol)
        offset, scale = made.mapparms()
        found = functions.polyfit(places * scale + offset, y, deg, rcond, full, w)
        return (made._like(found[0]), found[1]) if full else made._like(found)

    @classmethod
    def fromroots(
        cls, roots: Operand, domain: Any = (), window: Any = None, symbol: str = "x"
    ) -> Polynomial:
        """The polynomial with these zeros; of a domain None they are read for their range."""
        x = ravel(as_floating(roots, "Polynomial"))
        if domain is None:
            domain = (min(x).item(), max(x).item())
        elif isinstance(domain, list | tuple) and not domain:
            domain = window
        made = cls([0], domain, window, symbol)
        offset, scale = made.mapparms()
        return made._like(functions.polyfromroots(x * scale + offset) / scale**x.size)

    @classmethod
    def identity(cls, domain: Any = None, window: Any = None, symbol: str = "x") -> Polynomial:
        """The polynomial whose value is its variable."""
        made = cls([0], domain, window, symbol)
        offset, scale = made.mapparms()
        return made._like([-offset / scale, 1 / scale])

    @classmethod
    def basis(
        cls, deg: int, domain: Any = None, window: Any = None, symbol: str = "x"
    ) -> Polynomial:
        """The power `deg` of the variable."""
        order = whole_number("Polynomial", "deg", deg)
        if order < 0:
            raise ValueError(f"Polynomial: the degree is {deg}; it is at least 0")
        return cls([0] * order + [1], domain, window, symbol)

    @classmethod
    def cast(cls, series: Any, domain: Any = None, window: Any = None) -> Polynomial:
        """Another polynomial's, with another domain and window."""
        return series.convert(domain, cls, window)
