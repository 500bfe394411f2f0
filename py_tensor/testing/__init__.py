"""NumPy's `testing` assertions for tensors: both sides are read and compared by NumPy.

Messages, options and the meaning of equality are NumPy's. Tensors are accepted wherever NumPy takes
arrays, also in lists and dicts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
    if type(value) in (list, tuple):
        items = cast("list[Any] | tuple[Any, ...]", value)
        return type(items)(_read(each, is_strict) for each in items)
    if isinstance(value, dict):
        return {key: _read(each, is_strict) for key, each in cast("dict[Any, Any]", value).items()}
    return value


def _numpys(name: str, what: str, limit: str | None = None) -> Assertion:
    """Return NumPy's assertion of a name, for tensors.

    `limit` is the name of a parameter in ULPs, of which those of the host's dtype may be smaller.
    """

    def assertion(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True  # pytest then shows the caller
        numpys, scale = getattr(host.load_numpy().testing, name), 1
        if limit is not None:
            bound = signature(numpys).bind(*args, **options)
            bound.apply_defaults()
            scale = _ulp_ratio(*bound.args[:2])
            bound.arguments[limit] *= scale
            args, options = bound.args, bound.kwargs
        is_strict = bool(options.get("strict"))  # then dtypes are compared too
        try:
            result = numpys(*_read(args, is_strict), **_read(options, is_strict))
        except AssertionError as error:
            if scale > 1:
                kind = args[0].dtype
                error.add_note(f"A ULP of {kind} counts as {scale} of {kind.host}.")
            raise
        return result if scale == 1 or result is None else result / scale

    assertion.__name__ = assertion.__qualname__ = name
    assertion.__doc__ = f"""Raise AssertionError {what}.

    The parameters are those of ``numpy.testing.{name}``.
    """
    return assertion


def _ulp_ratio(x: Any, y: Any) -> int:
    """Return how many ULPs of the host's dtype one of the dtype of two tensors is."""
    kind = getattr(x, "dtype", None)
    if kind is not getattr(y, "dtype", None) or not isinstance(kind, DType) or kind.is_numpys:
        return 1
    return 2 ** (parse(kind.host).digits - kind.digits)


assert_ = _numpys("assert_", "unless `val` is true, also with `python -O`")
assert_allclose = _numpys("assert_allclose", "unless ``abs(x - y) <= atol + rtol * abs(y)``")
assert_almost_equal = _numpys("assert_almost_equal", "unless `abs(x - y) < 1.5 * 10**-decimal` (7)")
assert_approx_equal = _numpys("assert_approx_equal", "unless `significant` digits are equal")
assert_array_almost_equal = _numpys(
    "assert_array_almost_equal", "unless `abs(x - y) < 1.5 * 10**-decimal` for each element"
)
assert_array_equal = _numpys("assert_array_equal", "unless elements are equal or both NaN")
assert_array_less = _numpys(
    "assert_array_less", "unless each element of `x` is less than that of `y`"
)
assert_equal = _numpys("assert_equal", "unless two tensors, numbers or lists of them are equal")
assert_no_warnings = _numpys("assert_no_warnings", "if a function or a `with` block warns")
assert_raises = _numpys("assert_raises", "unless a function or a `with` block raises the exception")
assert_raises_regex = _numpys(
    "assert_raises_regex", "unless it is raised with a message that matches"
)
assert_string_equal = _numpys("assert_string_equal", "with a diff, unless two texts are equal")
assert_array_max_ulp = _numpys(
    "assert_array_max_ulp", "unless there are at most `maxulp` numbers between elements", "maxulp"
)
assert_array_almost_equal_nulp = _numpys(
    "assert_array_almost_equal_nulp",
    "unless elements differ by at most `nulp` spacings of the larger",
    "nulp",
)


def _deprecated(name: str, *args: Any) -> Any:
    """Return what one of NumPy's utilities gives, which NumPy 2.4 deprecates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(host.load_numpy().testing, name)(*args)


def assert_warns(warning_class: Any, func: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Raise AssertionError unless a function or a `with` block warns; return its result."""
    context = _deprecated("assert_warns", warning_class)
    if func is None:
        return context
    with context:
        return func(*args, **kwargs)


def suppress_warnings(forwarding_rule: str = "always") -> Any:
    """Suppress warnings in a `with` block or in a decorated function, by filters.

    The result is NumPy's object, with the methods `filter` and `record`. The rule is how all other
    warnings are treated: an action of Python's warning filters.
    """
    return _deprecated("suppress_warnings", forwarding_rule)
