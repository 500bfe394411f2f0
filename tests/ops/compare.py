"""Compares results: exactly, or in units in the last place of the float64 reference."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from py_tensor.base import dtypes

if find_spec("ml_dtypes") is not None:
    import ml_dtypes

    BFLOAT16: Any = ml_dtypes.bfloat16
else:
    BFLOAT16 = None

Array = Any
IN_NUMPY = [d.name for d in dtypes.ALL if d.is_numpys or BFLOAT16 is not None]
"""The dtypes with which NumPy can compare here."""
SMALLEST = 2.0**-126  # smallest normal float32; devices may flush smaller numbers to zero


def element(where: Array) -> tuple[int, ...]:
    """Return the index of the first true element."""
    return tuple(int(n) for n in np.argwhere(where)[0])


def same(tensor: Any, expected: Array, what: str) -> None:
    """Check shape, dtype and every bit of the values; all NaNs count as equal."""
    got = tensor.numpy()
    expected = np.asarray(expected)
    assert got.shape == expected.shape == tensor.shape, (
        f"{what}: shape {got.shape}, not {expected.shape}"
    )
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, not {expected.dtype}"
    if got.dtype.kind == "c":
        got, expected = parts_of(got), parts_of(expected)
    if got.dtype.kind == "V":  # bfloat16
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    bad = got != expected
    if got.dtype.kind == "f":
        bad &= ~(np.isnan(got) & np.isnan(expected))
        bad |= (np.signbit(got) != np.signbit(expected)) & (got == 0) & (expected == 0)
    if np.any(bad):
        at = element(bad)
        raise AssertionError(
            f"{what}: element {at} is {got[at]!r}, not {expected[at]!r} "
            f"({np.count_nonzero(bad)} of {got.size} are wrong)"
        )


def parts_of(numbers: Array) -> Array:
    """Real and imaginary parts, along a last axis of two."""
    return np.stack([numbers.real, numbers.imag], -1)


def ulp_of(reference: Array, dtype: str) -> Array:
    """The spacing of `dtype`'s numbers at each reference; at least that of normal numbers."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        size = np.minimum(np.abs(reference), float(info.max))
        exponent = np.floor(np.log2(np.maximum(size, float(info.smallest_normal))))
    return 2.0 ** (exponent - info.nmant)


def ulps_off(got: Array, reference: Array, dtype: str, *, zero_sign: bool = True) -> Array:
    """The error of each element in ulp; infinite where NaN, infinity or the sign of zero differ.

    Values that overflow the dtype must be infinite, except within half an ulp of the limit; a
    subnormal may have been flushed to zero.
    """
    wide = np.float64 if dtype == "float32" else np.longdouble
    reference = np.asarray(reference, wide)
    with np.errstate(all="ignore"):
        got64 = np.asarray(got, wide)
        rounded = reference.astype(dtype)
        off = np.abs(got64 - reference) / ulp_of(reference, dtype)
        off = np.where(np.isnan(reference) & np.isnan(got64), 0.0, off)
        off = np.where(np.isnan(reference) != np.isnan(got64), np.inf, off)
        off = np.where(np.isinf(rounded) & (got64 == rounded), 0.0, off)
        at_border = np.isfinite(got64) & np.isinf(rounded) & np.isfinite(reference)
        largest = float(np.finfo(dtype).max)
        off = np.where(at_border & (np.abs(got64) < largest), np.inf, off)
        flushed = (got64 == 0) & (np.abs(reference) < float(np.finfo(dtype).smallest_normal))
        off = np.where(flushed, 0.0, off)
        zero = (reference == 0) & (got64 == 0) & (np.signbit(reference) != np.signbit(got64))
        return np.where(zero & zero_sign, np.inf, off)
