"""Operands of the generated tests: values that break ops, and layouts that break kernels.

A layout makes a tensor from a flat pool of values, together with the NumPy array that it must
equal. The tensor is a view wherever the library can express one, so that kernels use its strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import py_tensor as pt

Array = Any
Made = tuple[Any, Array]  # a tensor and its expected values
Few = Callable[[Sequence[Any], int], Sequence[Any]]  # see the fixture `few`


def every(cases: Sequence[Any], count: int) -> Sequence[Any]:
    """Take all cases, where a fixture `few` would draw some."""
    return cases


def raised_to(name: str, dtype: str, device: str, powers: Array) -> Array:
    """Second operands of an op, without negative ones for integer `power` on the cpu device.

    Those raise there, as in NumPy.
    """
    if name != "power" or device != "cpu" or not dtype.startswith("int"):
        return powers
    return np.where(powers < 0, ~powers, powers)


LONG = 1031  # more than a workgroup, odd, and not a multiple of 4

SPECIAL: dict[str, list[Any]] = {
    "bool": [False, True],
    "int32": [
        0,
        1,
        -1,
        2,
        -2,
        3,
        7,
        -7,
        10,
        31,
        32,
        33,
        46341,
        65536,
        2**24 + 1,
        2**31 - 1,
        -(2**31),
        -(2**31) + 1,
    ],
    "uint32": [
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        65535,
        65536,
        2**24 + 1,
        2**31 - 1,
        2**31,
        2**31 + 1,
        2**32 - 2,
        2**32 - 1,
    ],
    "int8": [0, 1, -1, 2, -2, 3, 7, -7, 8, 15, 16, 64, 127, -127, -128],
    "int16": [0, 1, -1, 2, -3, 7, 15, 16, 31, 127, 128, 181, 182, -256, 32767, -32767, -32768],
    "uint8": [0, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 127, 128, 254, 255],
    "uint16": [0, 1, 2, 3, 7, 16, 17, 31, 32, 255, 256, 257, 32767, 32768, 65534, 65535],
    "int64": [
        *(0, 1, -1, 2, -3, 7, 31, 32, 33, 63, 64, 2**31, -(2**31), 2**32 - 1, 2**32, -(2**32)),
        *(2**40 + 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63) + 1, -(2**63)),
    ],
    "uint64": [
        *(0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 1),
        *(2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1),
    ],
    "float32": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        2.0,
        -3.0,
        3.1415927,
        0.1,
        -7.75,
        88.7,
        -88.7,
        1e-5,
        16777216.0,
        -16777217.0,
        2147483648.0,
        4294967296.0,
        1e10,
        -1e30,
        3.4028235e38,
        -3.4028235e38,
        1.1754944e-38,
        1e-40,
        -1e-45,
        float("inf"),
        float("-inf"),
        float("nan"),
    ],
}
SPECIAL["complex64"] = [complex(a, b) for a in SPECIAL["float32"][:4] for b in (0.0, -0.0, 1.5, -7)]
SPECIAL["complex64"] += [complex(a, b) for a in SPECIAL["float32"][-3:] for b in (1, math.inf)]
SPECIAL["float64"] = [*SPECIAL["float32"], 1e300, -1e-300, 5e-324, 1.7976931348623157e308]


def pool(dtype: str, rng: np.random.Generator, count: int = LONG) -> Array:
    """Special values first, then small ones, then arbitrary bits."""
    if dtype == "complex64":
        found = np.empty(count, dtype)
        found.real = rng.permutation(pool("float32", rng, count))
        found.imag = rng.permutation(pool("float32", rng, count))
        return found
    special = np.array(SPECIAL[dtype], dtype)
    if dtype == "bool":
        return np.concatenate([special, rng.random(count) < 0.5])[:count]
    half = count // 2
    if dtype.startswith("float"):
        width = {"float32": np.uint32, "float64": np.uint64}[dtype]
        small = (rng.standard_normal(half) * rng.choice([0.1, 1, 10], half)).astype(dtype)
        bits = rng.integers(0, np.iinfo(width).max, count, width, endpoint=True).view(dtype)
        return np.concatenate([special, small, bits])[:count]
    info = np.iinfo(dtype)
    small = rng.integers(0 if info.min == 0 else -12, 13, half).astype(dtype)
    bits = rng.integers(info.min, info.max, count, dtype, endpoint=True)
    return np.concatenate([special, small, bits])[:count]


def _take(values: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw values at random, special and others alike."""
    return rng.choice(values, shape)


Layout = Callable[[Array, np.random.Generator, str], Made]


def _of(
    shape: tuple[int, ...], view: Callable[[Any], Any] = lambda x: x, numpy: Any = None
) -> Layout:
    """Return values of a shape, moved by `view`; NumPy's by `numpy` if the two libraries differ."""

    def layout(values: Array, rng: np.random.Generator, device: str) -> Made:
        array = np.asarray(_take(values, shape, rng))
        return view(pt.tensor(array, dtype=array.dtype, device=device)), (numpy or view)(array)

    return layout


def _whole(values: Array, rng: np.random.Generator, device: str) -> Made:
    return pt.tensor(values, dtype=values.dtype, device=device), values


LAYOUTS: dict[str, Layout] = {
    f"all {LONG} values": _whole,
    "contiguous": _of((5, 8)),
    "transposed": _of((7, 5), lambda x: x.T),
    "permuted": _of((2, 5, 3), lambda x: x.transpose(1, 2, 0)),
    "sliced": _of((11, 9), lambda x: x[1:, 2:8]),
    "sliced with a step": _of((11, 16), lambda x: x[1::3, ::2]),
    "flipped": _of((5, 7), lambda x: x[::-1, ::-1]),
    "reversed with a step": _of((33,), lambda x: x[::-2]),
    "broadcast": _of((7, 1), lambda x: x.expand(7, 5), lambda a: np.broadcast_to(a, (7, 5))),
    "broadcast leading": _of((6,), lambda x: x.expand(3, 6), lambda a: np.broadcast_to(a, (3, 6))),
    "0-d": _of(()),
    "0-d by an index": _of((4, 3), lambda x: x[2, 1]),
    "empty": _of((0, 3)),
    "1 element": _of((1,)),
    "2 elements": _of((2,)),
    "3 elements": _of((1, 3)),
    "5 elements": _of((5, 1)),
    "7 elements": _of((7,)),
    "reshaped": _of((6, 4), lambda x: x.T.reshape(3, 8)),
    "padded": _of(
        (3, 5), lambda x: x.pad(1, constant_values=1), lambda a: np.pad(a, 1, constant_values=1)
    ),
}

# Layouts for two operands: name -> (first, second), whose shapes broadcast.
PAIRS: dict[str, tuple[Layout, Layout]] = {
    "contiguous, contiguous": (_of((5, 8)), _of((5, 8))),
    "contiguous, transposed": (_of((5, 7)), _of((7, 5), lambda x: x.T)),
    "flipped, sliced": (_of((5, 7), lambda x: x[::-1]), _of((9, 21), lambda x: x[2:7, ::3])),
    "column, row": (_of((5, 1)), _of((1, 7))),
    "matrix, row": (_of((5, 7)), _of((7,))),
    "row, matrix": (_of((7,)), _of((5, 7), lambda x: x[:, ::-1])),
    "0-d, matrix": (_of(()), _of((5, 7))),
    "matrix, 0-d": (_of((5, 8)), _of((3,), lambda x: x[1])),
    "0-d, 0-d": (_of(()), _of(())),
    "stride 0, stride 0": (
        _of((7, 1), lambda x: x.expand(7, 5), lambda a: np.broadcast_to(a, (7, 5))),
        _of((5,), lambda x: x.expand(7, 5), lambda a: np.broadcast_to(a, (7, 5))),
    ),
    "3-D, permuted": (_of((2, 3, 5)), _of((5, 2, 3), lambda x: x.transpose(1, 2, 0))),
    "empty, empty": (_of((0, 3)), _of((0, 3))),
    "empty, row": (_of((0, 3)), _of((3,))),
    "1, 1": (_of((1,)), _of((1,))),
    "2, 2": (_of((2,)), _of((2,))),
    "3, 1": (_of((3,)), _of((1,))),
    "5, 5": (_of((5,)), _of((5,), lambda x: x.flip(), np.flip)),
    "7, 7": (_of((7,)), _of((14,), lambda x: x[1::2])),
}


def all_pairs(a: Array, b: Array, dtype_a: str, dtype_b: str) -> tuple[Array, Array]:
    """Return every pair of special values, then the rest of both pools in order."""
    first, second = (np.array(SPECIAL[d], d) for d in (dtype_a, dtype_b))
    x, y = np.meshgrid(first, second)
    n = min(len(a), len(b))
    return np.concatenate([x.ravel(), a[:n]]), np.concatenate([y.ravel(), b[::-1][:n]])
