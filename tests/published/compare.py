"""The verdict on a program: whether its values equal NumPy's, and which kind of gap stopped it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

RTOL = 1e-3
OF_LARGEST = 1e-4  # relative to an array's largest value: float64 has become float32
LEAST = 1e-37  # below this, float32 underflows

REASONS = (
    ("missing name", r"module 'py_tensor[\w.]*' has no attribute '(\w+)'"),
    ("missing name", r"cannot import name '(\w+)' from 'py_tensor"),
    ("missing name", r"No module named 'py_tensor\.(\w+)'"),
    ("missing method", r"'Tensor' object has no attribute '(\w+)'"),
    ("host array", r"^(np\.\w+: takes .*)"),
    ("assignment", r"(tensors are immutable|does not support item assignment|__setitem__)"),
    ("mask", r"(boolean|mask)"),
    ("argument", r"(\w*\(?\)? ?got an unexpected keyword argument '\w+')"),
    ("argument", r"(\w+\(\) (?:takes|missing) .*)"),
    ("dtype", r"(float64|int64|complex|dtype|data type)"),
    ("index", r"(^getitem\b|index)"),
)
"""Kind and pattern of a message; the first match counts."""


def differing(expected: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, str]:
    """Return the names whose values are not the expected ones, with the differences.

    Integers and bools must be equal if both are such; other values must be close: within `RTOL`, or
    `OF_LARGEST` of the array's largest finite value. NaN equals NaN.
    """
    wrong: dict[str, str] = {}
    for name, value in expected.items():
        other = found.get(name)
        if other is None:
            wrong[name] = "missing"
        elif list(value["shape"]) != list(other["shape"]):
            wrong[name] = f"shape {tuple(other['shape'])}, not {tuple(value['shape'])}"
        elif (text := _distance(value, other)) is not None:
            wrong[name] = text
    return wrong


def _distance(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    x, y = _values(expected), _values(found)
    if expected["kind"] in "biu" and found["kind"] in "biu":
        unequal = int(np.count_nonzero(x != y))
        return f"{unequal} of {x.size} unequal" if unequal else None
    largest = np.max(np.abs(x[np.isfinite(x)]), initial=0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        if np.allclose(y, x, RTOL, OF_LARGEST * largest + LEAST, equal_nan=True):
            return None
        apart = np.abs(y - x)
        off = float(np.max(apart[np.isfinite(apart)], initial=0.0))
    return f"off by {off:.3g}, largest {largest:.3g}"


def _values(recorded: Mapping[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(recorded["data"]), np.complex128)


def reason(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind of a gap, and the missing feature in the words of the error."""
    for kind, pattern in REASONS:
        if match := re.search(pattern, error["message"], re.IGNORECASE):
            exact = kind.startswith("missing") or kind == "argument"
            return kind, match[1] if exact else _general(error["message"])
    return "other", f"{error['type']}: {_general(error['message'])}"


def _general(message: str) -> str:
    """Return a message without the numbers of a particular case."""
    return re.sub(r"\d+", "N", message)[:90]
