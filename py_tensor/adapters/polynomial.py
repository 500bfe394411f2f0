"""NumPy's functions and classes of polynomials, called with tensors.

NumPy computes on copies of the tensors on the host, in double precision. Results are tensors on the
device of the tensors among the arguments, in their floating dtype. Values at the elements of a
tensor are computed on its device if the coefficients are a vector.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce, wraps
from inspect import signature
from types import ModuleType
from typing import Any, cast
from warnings import warn

from py_tensor.adapters.hosted import from_host, naming
from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.errors import RankWarning
from py_tensor.convert.host_arrays import on_host
from py_tensor.ir.node import Device
from py_tensor.ir.recording import check_constant
from py_tensor.ops.movement import converted
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor


class Call:
    """One call of a function of NumPy: the conversion of its arguments and results."""

    def __init__(self, op: str, *tensors: Tensor) -> None:
        self._op = op
        self._tensors = [*tensors]
        self._classes: dict[type, type[Hosted]] = {}  # NumPy's class -> ours

    @property
    def device(self) -> Device:
        return self._tensors[0].device if self._tensors else default_device()

    @property
    def dtype(self) -> dtypes.DType:
        """The common floating dtype of the tensors, by default that of new tensors."""
        floating = [dtypes.real_of(x.dtype) for x in self._tensors if x.dtype.is_inexact]
        return reduce(dtypes.promote, floating) if floating else dtypes.DEFAULT.floating

    def result_of(self, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Return the result of a function of NumPy for tensors."""
        arguments = [self.to_numpy(x) for x in args]
        named = {name: self.to_numpy(x) for name, x in options.items()}
        result = _result(self._op, function, arguments, named)
        if self._op.endswith("mapparms"):  # an offset and a scale: numbers, as in NumPy
            return tuple(x.item() if hasattr(x, "item") else x for x in result)
        return self.from_numpy(result)

    def to_numpy(self, x: Any) -> Any:
        """Return what NumPy gets for an argument."""
        if isinstance(x, Tensor):
            self._tensors.append(x)
            check_constant(x._node, self._op)  # pyright: ignore[reportPrivateUsage]
            array = on_host(x).astype(dtypes.doubled(x.dtype).name)
            return array if array.ndim else array[()]  # a number, which NumPy's classes ask for
        if isinstance(x, Hosted):
            self._classes[type(x).numpys()] = type(x)
            return x.to_numpy(self)
        if isinstance(x, type) and issubclass(x, Hosted):
            self._classes[x.numpys()] = x
            return x.numpys()
        if isinstance(x, list | tuple):
            items = [self.to_numpy(item) for item in cast("Sequence[Any]", x)]
            return items if isinstance(x, list) else tuple(items)
        return cast("object", x)

    def from_numpy(self, result: Any) -> Any:
        """Return what the caller gets for a result of NumPy."""
        np, numpys = host.load_numpy(), cast("type[Any]", type(result))
        if isinstance(result, list | tuple):
            items = [self.from_numpy(item) for item in cast("Sequence[Any]", result)]
            return items if isinstance(result, list) else tuple(items)
        kind = self._classes.get(numpys) or classes().get(numpys.__name__)
        if kind is not None:
            return kind.from_numpy(self, result)
        if isinstance(result, np.ndarray | np.inexact):
            dtype = self._dtype_of(result)
            return from_host(self._op, result.astype(dtype.host), dtype, self.device)
        return result.item() if isinstance(result, np.generic) else result

    def _dtype_of(self, result: Any) -> dtypes.DType:
        """Return the dtype for an array; integers of 64 bits are narrowed, and wrap around."""
        dtype = dtypes.parse(result.dtype.name)
        if dtype.is_inexact:
            return dtypes.complex_of(self.dtype) if dtype.is_complex else self.dtype
        wide = dtype.is_signed and dtype.is_wide
        operand_dtypes = [x.dtype for x in self._tensors]
        return reduce(dtypes.promote, operand_dtypes, dtypes.DEFAULT_INT) if wide else dtype


def adapted(op: str, function: Callable[..., Any], call: Call | None = None) -> Callable[..., Any]:
    """Return a function of NumPy for tensors; its errors name `op`.

    `call` has converted the object of which it is a method.
    """

    @wraps(function)
    def function_of_tensors(*args: Any, **options: Any) -> Any:
        if op.endswith("val") and args and isinstance(args[0], Tensor):
            return _values(op, function, *args, **options)
        return (call or Call(op)).result_of(function, args, options)

    return function_of_tensors


def _result(op: str, function: Callable[..., Any], args: list[Any], options: dict[str, Any]) -> Any:
    """Return NumPy's result for NumPy's arguments; errors name `op`."""
    with naming(op):
        if not op.endswith("fit"):
            return function(*args, **options)
        bound = signature(function).bind(*args, **options)
        is_full = bound.arguments.get("full", False)
        bound.arguments["full"] = True  # so that NumPy does not warn: its class is another one
        coefficients, facts = function(*bound.args, **bound.kwargs)
    rank, order = facts[1], len(facts[2])
    if not is_full:
        warn_of_rank(op, rank, order)
        return coefficients
    residuals, _, singular, cut = facts
    return coefficients, [residuals, int(rank), singular, float(cut)]


def warn_of_rank(op: str, rank: int, order: int) -> None:
    """Warn if the rank is less than the number of coefficients."""
    if rank < order:
        words = f"{op}: the rank, {rank}, is less than the number of coefficients, {order}"
        warn(words, RankWarning, stacklevel=3)


def _values(
    op: str, function: Callable[..., Any], x: Tensor, c: Any, tensor: bool = True
) -> Tensor:
    """Return values at the elements of a tensor."""
    call = Call(op)
    coefficients = host.load_numpy().asarray(call.to_numpy(c))
    if coefficients.ndim != 1:
        return call.from_numpy(_result(op, function, [call.to_numpy(x), coefficients, tensor], {}))
    real = dtypes.real_of(x.dtype)
    if not x.dtype.is_inexact or dtypes.promote(call.dtype, real) is not real:
        dtype = call.dtype if not x.dtype.is_complex else dtypes.complex_of(call.dtype)
        x = converted(x, dtype)
    # NumPy's function adds and multiplies whatever it gets: here a tensor and NumPy's scalars.
    return _result(op, function, [x, coefficients], {})


# -- Classes ------------------------------------------------------------------------------------


class Hosted:
    """An object of one of NumPy's classes, with tensors.

    A class has ``numpys()``, which returns NumPy's class; ``x.to_numpy(call)``, which returns
    NumPy's object; and ``from_numpy(call, result)``, which returns the object for NumPy's.
    """

    __hash__ = None  # type: ignore[assignment] - coefficients can be assigned
    __array_ufunc__ = None  # NumPy's arrays leave operators to this class
    numpys: Callable[..., Any]
    to_numpy: Callable[..., Any]
    from_numpy: Callable[..., Any]


class Method:
    """A method of NumPy's class, with its docstring and parameters."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, series: Hosted | None, owner: type[Hosted]) -> Callable[..., Any]:
        is_operator = self._name.startswith("__")
        call = Call(owner.__name__ if is_operator else f"{owner.__name__}.{self._name}")
        method = getattr(call.to_numpy(owner if series is None else series), self._name)
        return adapted(self._name, method, call)


class _Interval:
    """An attribute of polynomials and of their classes: two numbers, read as a tensor."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, series: Series | None, owner: type[Series]) -> Tensor:
        if series is None:
            ends = Call(owner.__name__).from_numpy(getattr(owner.numpys(), self._name))
        else:
            ends = Call(owner.__name__, series.coef).from_numpy(getattr(series, f"_{self._name}"))
        ends.flags.writeable = False
        return ends

    def __set__(self, series: Series, value: Any) -> None:
        np = host.load_numpy()
        op = type(series).__name__
        ends = np.asarray(Call(op).to_numpy(value))
        if ends.shape != (2,):
            raise ValueError(f"{op}: {self._name} must be two numbers, not {value!r}")
        single, double = "FD" if np.iscomplexobj(ends) else "fd"
        if not series.coef.dtype.has_64_bits:  # as exact as the tensor that one reads
            ends = ends.astype(single)
        setattr(series, f"_{self._name}", ends.astype(double))


class Series(Hosted):
    """A polynomial in the basis of the class: NumPy's class of that name, with tensors.

    Attributes
    ----------
    coef : Tensor
        The coefficients, from the first basis polynomial on.
    domain, window : Tensor
        Two numbers each: the variable is mapped from the domain to the window. Elements cannot be
        assigned; a new pair can.
    symbol : str
        The name of the variable when printed.
    """

    domain = _Interval()
    window = _Interval()
    basis_name: str | None = None
    _own: dict[str, Any] = {}  # noqa: RUF012 - replaced, not changed: intervals that a class sets

    def __init_subclass__(cls, basis_name: str | None = None) -> None:
        cls.basis_name = basis_name or cls.basis_name
        ends = {name: cls.__dict__[name] for name in ("domain", "window") if name in cls.__dict__}
        for name in ends:
            delattr(cls, name)
        cls._own = {**cls._own, **ends}

    @classmethod
    @cache
    def numpys(cls) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - it is cached
        np = host.load_numpy()
        basis = next(c.__name__ for c in cls.__mro__ if c.__module__ == __name__)
        kind = getattr(np.polynomial, basis)
        ends = {name: np.asarray(Call(cls.__name__).to_numpy(v)) for name, v in cls._own.items()}
        return type(cls.__name__, (kind,), ends) if ends else kind

    def to_numpy(self, call: Call) -> Any:
        interval = {name: getattr(self, f"_{name}") for name in ("domain", "window")}
        return type(self).numpys()(call.to_numpy(self.coef), symbol=self.symbol, **interval)

    @classmethod
    def from_numpy(cls, call: Call, result: Any) -> Series:
        return cls(call.from_numpy(result.coef), result.domain, result.window, result.symbol)

    def __init__(
        self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x"
    ) -> None:
        call, kind = Call(type(self).__name__), type(self).numpys()
        made = _result(type(self).__name__, kind, [call.to_numpy(coef)], {"symbol": symbol})
        self.coef = call.from_numpy(made.coef)
        self.domain = kind.domain if domain is None else domain
        self.window = kind.window if window is None else window
        self.symbol = symbol

    def __call__(self, arg: Any) -> Any:
        """Return the values at the elements of a tensor, or the composition with a polynomial."""
        call, op = Call(type(self).__name__), type(self).__name__
        series = call.to_numpy(self)
        if not isinstance(arg, Tensor):
            return call.from_numpy(_result(op, series, [call.to_numpy(arg)], {}))
        offset, scale = series.mapparms()
        points = arg if (offset, scale) == (0, 1) else arg * scale + offset
        return _values(op, series._val, points, self.coef)

    def __len__(self) -> int:
        return self.coef.size

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.coef)


for _name in (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__divmod__", "__rdivmod__", "__pow__",
    "__neg__", "__pos__", "__eq__", "__ne__", "__repr__", "__str__", "__format__", "basis", "cast",
    "convert", "copy", "cutdeg", "degree", "deriv", "fit", "fromroots", "has_samecoef",
    "has_samedomain", "has_sametype", "has_samewindow", "identity", "integ", "linspace", "mapparms",
    "roots", "trim", "truncate",
):  # fmt: skip
    setattr(Series, _name, Method(_name))


class Polynomial(Series):
    """A power series; see `Series`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> p = pt.polynomial.Polynomial([1, 0, 2])
    >>> print(p)
    1.0 + 0.0·x + 2.0·x²
    >>> float(p(3))
    19.0
    """


class Chebyshev(Series, basis_name="T"):
    """A Chebyshev series; see `Series`."""


class Legendre(Series, basis_name="P"):
    """A Legendre series; see `Series`."""


class Hermite(Series, basis_name="H"):
    """A Hermite series, of the physicists' polynomials; see `Series`."""


class HermiteE(Series, basis_name="He"):
    """A Hermite series, of the probabilists' polynomials; see `Series`."""


class Laguerre(Series, basis_name="L"):
    """A Laguerre series; see `Series`."""


setattr(Chebyshev, "interpolate", Method("interpolate"))  # noqa: B010 - not a method for pyright


def classes() -> dict[str, type[Hosted]]:
    """Return the classes by name, without those of the user."""
    kinds = [*Hosted.__subclasses__(), *Series.__subclasses__()]
    return {kind.__name__: kind for kind in kinds if kind.__module__.startswith("py_tensor.")}


# -- Modules ------------------------------------------------------------------------------------


class _Module(ModuleType):
    """A module of `numpy.polynomial`, with its functions for tensors."""

    def __getattr__(self, name: str) -> Any:
        short = self.__name__.rpartition(".")[2]
        if not name.startswith("_"):
            value: Any = getattr(getattr(host.load_numpy().polynomial, short), name, None)
            if name in classes():
                return classes()[name]
            if callable(value):
                function = adapted(name, value)
                function.__module__ = self.__name__  # for pickles
                setattr(self, name, function)
                return function
            if hasattr(value, "tolist"):
                return value.tolist()
        return super().__getattribute__(name)  # raises AttributeError

    def __dir__(self) -> list[str]:
        """Return the public names."""
        short = self.__name__.rpartition(".")[2]
        return sorted(getattr(host.load_numpy().polynomial, short).__all__)


def module(name: str, doc: str) -> ModuleType:
    """Return a module of `py_tensor.polynomial`, which can also be imported by its name."""
    made = _Module(f"py_tensor.polynomial.{name}", f"{doc} They are NumPy's, for tensors.")
    sys.modules[made.__name__] = made
    return made
