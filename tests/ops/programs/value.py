"""The value of a line with a bound on its error, and the effect of each step on both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

EPS = 2.0**-24  # half an ulp, relative
TINY = 2.0**-120  # below this, results may flush to zero

Array = Any


@dataclass(frozen=True)
class Value:
    """The expected value of a line: float64 (or int64, bool) elements, and each one's tolerance."""

    ref: Array
    error: Array
    dtype: str

    @property
    def exact(self) -> bool:
        return not np.any(self.error)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ref.shape


def floating(ref: Array, error: Array, *operands: Value, ulps: float = 1.0) -> Value:
    """Return a float32 result: exact if the operands are exact and the result is representable."""
    ref = np.asarray(ref, np.float64)
    if all(v.exact for v in operands) and ulps <= 1 and np.array_equal(ref.astype(np.float32), ref):
        return Value(ref, np.zeros_like(ref), "float32")
    error = np.broadcast_to(np.asarray(error, np.float64), ref.shape)
    return Value(ref, error + 2 * ulps * EPS * np.abs(ref) + ulps * EPS * error + TINY, "float32")


def exact(ref: Array, dtype: str) -> Value:
    ref = np.asarray(ref)
    if dtype == "int32":
        ref = ref.astype(np.int64).astype(np.int32).astype(np.int64)
    elif dtype == "bool":
        ref = ref.astype(bool)
    return Value(ref, np.zeros(ref.shape), dtype)


def moved(v: Value, move: Callable[[Array], Array]) -> Value:
    """Return a movement, applied to values and errors."""
    return Value(
        np.ascontiguousarray(move(v.ref)).reshape(move(v.ref).shape),
        np.array(move(np.broadcast_to(v.error, v.ref.shape))),
        v.dtype,
    )


def total_of(v: Value, axes: tuple[int, ...], keep: bool) -> Value:
    ref = v.ref.sum(axis=axes, keepdims=keep)
    if v.dtype != "float32":
        return exact(ref, "int32")
    size = np.abs(v.ref).sum(axis=axes, keepdims=keep)
    if v.exact and np.all(v.ref == np.rint(v.ref)) and np.all(size < 2**24):
        return Value(ref, np.zeros_like(ref), "float32")
    n = math.prod(v.shape[a] for a in axes) if axes else 1
    error = v.error.sum(axis=axes, keepdims=keep)
    return Value(ref, error + EPS * (8 + min(n, 64)) * (size + error) + TINY, "float32")


def product_of(a: Value, b: Value) -> Value:
    error = np.abs(a.ref) * b.error + np.abs(b.ref) * a.error + a.error * b.error
    return floating(a.ref * b.ref, error, a, b)
