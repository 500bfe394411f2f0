"""NumPy's `testing` assertions for tensors: both sides are read and compared by NumPy.

Messages, options and the meaning of equality are NumPy's. Tensors are accepted wherever NumPy takes
arrays, also in lists and dicts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from inspect import signature
from typing import Any, cast

from py_tensor.base.dtypes import DType, parse
from py_tensor.convert.host_arrays import on_host
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor

__all__ = [
    "assert_", "assert_allclose", "assert_almost_equal", "assert_approx_equal",
    "assert_array_almost_equal", "assert_array_almost_equal_nulp", "assert_array_equal",
    "assert_array_less", "assert_array_max_ulp", "assert_equal", "assert_no_warnings",
    "assert_raises", "assert_raises_regex", "assert_string_equal", "assert_warns",
    "suppress_warnings",
]  # fmt: skip

Assertion = Callable[..., Any]


def __dir__() -> list[str]:
    return __all__


def _read(value: Any, is_strict: bool) -> Any:
    """Replace tensors by arrays for NumPy, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        array = value.numpy() if is_strict else on_host(value)
        return array[()] if value.is_scalar else array
    if isinstance(value, list | tuple):
        items = cast("list[Any] | tuple[Any, ...]", value)
        return (
            type(items)(_read(each, is_strict) for each in items)
            if type(items) in (list, tuple)
            else items
        )
    if isinstance(value, dict):
        return {key: _read(each, is_strict) for key, each in cast("dict[Any, Any]", value).items()}
    return value


def _numpys(assertion: Assertion) -> Assertion:
    """Return NumPy's assertion of the same name, for tensors."""
    name = assertion.__name__

    @wraps(assertion)
    def numpys(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True  # pytest then shows the caller
        is_strict = bool(options.get("strict"))  # then dtypes are compared too
        return getattr(_testing(), name)(
            *(_read(value, is_strict) for value in args),
            **{key: _read(value, is_strict) for key, value in options.items()},
        )

    del numpys.__wrapped__  # whose parameters are not those
    numpys.__doc__ = f"{assertion.__doc__}\n\nThe parameters are those of ``numpy.testing.{name}``."
    return numpys


def _testing() -> Any:
    host.load_numpy()
    from numpy import testing

    return testing


def _in_ulps(limit: str) -> Callable[[Assertion], Assertion]:
    """Return a decorator for assertions about ULPs: those of the host's dtype may be smaller."""

    def made(assertion: Assertion) -> Assertion:
        numpys = _numpys(assertion)

        @wraps(numpys)
        def scaled(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            bound = signature(getattr(_testing(), numpys.__name__)).bind(*args, **options)
            bound.apply_defaults()
            kinds = {getattr(x, "dtype", None) for x in bound.args[:2]}
            kind = kinds.pop()
            if kinds or not isinstance(kind, DType) or kind.is_numpys:
                return numpys(*args, **options)
            scale = 2 ** (parse(kind.host).digits - kind.digits)
            bound.arguments[limit] *= scale
            try:
                ulps = numpys(*bound.args, **bound.kwargs)
            except AssertionError as error:
                error.add_note(f"A ULP of {kind} counts as {scale} of {kind.host}.")
                raise
            return ulps if ulps is None else ulps / scale

        return scaled

    return made


@_numpys
def assert_allclose(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless ``abs(x - y) <= atol + rtol * abs(y)``."""


@_numpys
def assert_array_equal(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless all elements are equal, or both NaN."""


@_numpys
def assert_equal(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless two objects are equal: tensors, numbers, or lists of them."""


@_numpys
def assert_almost_equal(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless ``abs(x - y) < 1.5 * 10 ** -decimal``; `decimal` is 7."""


@_numpys
def assert_approx_equal(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless `significant` digits are equal."""


@_numpys
def assert_array_almost_equal(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless ``abs(x - y) < 1.5 * 10 ** -decimal``; `decimal` is 6."""


@_numpys
def assert_array_less(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless each element of `x` is less than that of `y`."""


@_in_ulps("nulp")
def assert_array_almost_equal_nulp(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless elements differ by at most `nulp` spacings of the larger ones."""


@_in_ulps("maxulp")
def assert_array_max_ulp(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless there are at most `maxulp` numbers between elements."""


@_numpys
def assert_string_equal(*args: Any, **options: Any) -> Any:
    """Raise AssertionError, with a diff, unless two texts are equal."""


@_numpys
def assert_(*args: Any, **options: Any) -> Any:
    """Raise AssertionError unless `val` is true, also with `python -O`."""


@_numpys
def assert_raises(*args: Any, **options: Any) -> Any:
    """Raise AssertionError if a function or a `with` block does not raise an exception."""


@_numpys
def assert_raises_regex(*args: Any, **options: Any) -> Any:
    """Like `assert_raises`, and match the message with a regular expression."""


@_numpys
def assert_no_warnings(*args: Any, **options: Any) -> Any:
    """Raise AssertionError if a function or a `with` block warns; return its result."""


# NumPy 2.4 deprecates its own functions of these two names.


def assert_warns(
    warning_class: Any, func: Assertion | None = None, *args: Any, **kwargs: Any
) -> Any:
    """Raise AssertionError unless a function or a `with` block warns; return its result."""
    context = _warning(warning_class)
    if func is None:
        return context
    with context:
        return func(*args, **kwargs)


@contextmanager
def _warning(category: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not any(issubclass(one.category, category) for one in caught):
        raise AssertionError(f"No warning of {category} was raised")


class suppress_warnings(AbstractContextManager["suppress_warnings"]):  # noqa: N801 - NumPy's name
    """Suppress warnings in a `with` block or in a decorated function.

    Parameters
    ----------
    forwarding_rule : str
        How to treat all other warnings, as an action of Python's warning filters.
    """

    def __init__(self, forwarding_rule: Any = "always") -> None:
        self._rule = forwarding_rule
        self._filters: list[tuple[Any, str]] = []
        self._context: warnings.catch_warnings[Any] | None = None

    def filter(self, category: Any = Warning, message: str = "", module: object = None) -> None:
        """Suppress warnings of a category whose text matches a regular expression."""
        self._filters.append((category, message))
        if self._context is not None:
            warnings.filterwarnings("ignore", message, category)

    def __enter__(self) -> suppress_warnings:
        self._context = warnings.catch_warnings()
        self._context.__enter__()
        warnings.simplefilter(self._rule)
        for category, message in self._filters:
            warnings.filterwarnings("ignore", message, category)
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._context is not None
        self._context.__exit__(*error)
        self._context = None

    def __call__(self, function: Assertion) -> Assertion:
        @wraps(function)
        def quiet(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return quiet
