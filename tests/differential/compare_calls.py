"""Compares a call in NumPy and in another module: its result, or the exception it raises."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.differential.evaluating import CATEGORIES

ERRORS = (*CATEGORIES, ArithmeticError, RuntimeError, NotImplementedError)
INTEGERS = {"int64": "int32", "uint64": "uint32"}
NARROW = {**INTEGERS, "complex128": "complex64", "float64": "float32", "float16": "float32"}
"""The dtype here that corresponds to one of NumPy's; it may have fewer bits."""
WIDE = {**INTEGERS, "float32": "float64", "float16": "float64"}
"""The same if the default dtype is float64: small integers do not give smaller floats."""


def evaluate(text: str, module: Any) -> Any:
    """Return the result of an expression, as NumPy arrays; or the error."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _read(eval(text, {"np": module, "nan": math.nan, "inf": math.inf}))
        except ERRORS as error:
            return error


def _read(found: Any) -> Any:
    if isinstance(found, tuple | list):
        return [_read(x) for x in found]
    return found.numpy() if hasattr(found, "to_numpy_async") else found


def difference(
    got: Any,
    expected: Any,
    names: Mapping[str, str] = NARROW,
    tolerance: float = 2e-5,
    ours: Mapping[str, str] = NARROW,
) -> str:
    """Return how a result differs from NumPy's; "" if it does not.

    Parameters
    ----------
    names, ours
        The corresponding dtypes for NumPy's and the other module's.
    tolerance
        For floats and complex numbers, relative to the largest; at least 4e-3 for float16.
    """
    if isinstance(expected, Exception) or isinstance(got, Exception):
        alike = isinstance(expected, Exception) and isinstance(got, Exception)
        return "" if alike else f"{got!r}; NumPy: {expected!r}"
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            return f"{got!r}; NumPy: {expected!r}"
        pairs = zip(got, expected, strict=True)
        return next(filter(None, (difference(*pair, names, tolerance, ours) for pair in pairs)), "")
    if isinstance(expected, str):
        return "" if got == expected else f"{got!r}; NumPy: {expected!r}"
    x, y = np.asarray(got), np.asarray(expected)
    first, second = ours.get(x.dtype.name, x.dtype.name), names.get(y.dtype.name, y.dtype.name)
    if x.shape != y.shape or first != second:
        return f"{x!r}; NumPy: {y!r}"
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        y = y.astype(x.dtype)  # integers wrap around
    if y.dtype.name == "float16":
        tolerance = 4e-3
    elif y.dtype.kind not in "fc":
        tolerance = 0
    scale = np.max(np.abs(y), initial=1, where=np.isfinite(y)) if tolerance else 1
    if np.allclose(x, y, tolerance, tolerance * scale, equal_nan=True):
        return ""
    return f"{x!r}; NumPy: {y!r}"


def check(text: str, module: Any) -> None:
    """Evaluate a call both ways.

    Raises
    ------
    AssertionError
        If a result is not NumPy's, or only one of the two raises.
    """
    found = difference(evaluate(text, module), evaluate(text, np))
    if found:
        raise AssertionError(f"{text} is {found}")
