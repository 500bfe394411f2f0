"""Threefry2x32 with 20 rounds, as used by JAX, and draws from one or two of its words.

John K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The WGSL functions
are in `shaders/lib/rng.wgsl` and give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from py_tensor.base.dtypes import WORDS, DType, float32, int32
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise, OnArrays

MASK = 0xFFFFFFFF
"""The bits of a word."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(np: Any, index: Any, t: Any, key0: Any, key1: Any) -> tuple[Any, Any]:
    """Return both words for the counter (index, t)."""
    x0 = index.astype(np.uint32) + key0
    x1 = np.zeros_like(x0) + np.uint32(t) + key1
    keys = (key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA))
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def fraction(np: Any, bits: Any) -> Any:
    """Return (bits + 1/2) / 2**32, rounded to float32."""
    return ((bits + 0.5) * 2.0**-32).astype(np.float32).astype(np.float64)


def centered(np: Any, bits: Any) -> Any:
    signed = bits.astype(np.int32) + 0.5
    return (signed * 2.0**-32).astype(np.float32).astype(np.float64)


def opened(np: Any, bits: Any) -> Any:
    """Return an odd multiple of 2**-24 between 0 and 1."""
    return ((bits >> np.uint32(9)) + 0.5) * 2.0**-23


def normal(np: Any, a: Any, b: Any) -> Any:
    """Apply the Box-Muller transform to two words: a radius from (0, 1], an angle from [0, 1)."""
    u = fraction(np, a)
    v = (b >> np.uint32(8)).astype(np.float64) * 2.0**-24
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


drawn = partial(Elementwise, accepts=WORDS, vjp=NOT_DIFFERENTIABLE)
"""Create an op that draws random numbers from words and parameters."""


def _op(
    wgsl: str, name: str, gives: DType | None = None, cost: int = 1
) -> Callable[[OnArrays], Elementwise]:
    """Return a decorator that makes an op of its NumPy function."""
    return lambda function: drawn(name, {"*": wgsl}, function, gives=gives, cost=cost)


@_op("random_bits({0}, {1}, {2})", "random_bits", cost=60)
def random_bits(np: Any, index: Any, key0: Any, key1: Any) -> Any:
    return threefry(np, index, 0, key0, key1)[0]


@_op("uniform_from_bits({0})", "rand", float32)
def uniform_from_bits(np: Any, bits: Any) -> Any:
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


@_op("random_normal({0}, {1}, {2})", "randn", float32, cost=110)
def random_normal(np: Any, index: Any, key0: Any, key1: Any) -> Any:
    return normal(np, *threefry(np, index, 0, key0, key1))


@_op("exponential_from_bits({0})", "standard_exponential", float32, cost=30)
def exponential_from_bits(np: Any, bits: Any) -> Any:
    large = bits >= 2**31
    tail = fraction(np, np.where(large, ~bits, bits))
    return -np.where(large, np.log(tail), np.log1p(-tail))


# Numbers between -1/2 and 1/2, with full precision near 0.
centered_from_bits = _op("centered_from_bits({0})", "centered", float32, cost=8)(centered)


@_op("randint_from_bits({0}, bitcast<i32>({1}), {2})", "randint", int32, cost=8)
def randint_from_bits(np: Any, bits: Any, low: Any, span: Any) -> Any:
    high = (bits.astype(np.uint64) * span.astype(np.uint64)) >> np.uint64(32)
    return low.astype(np.int32) + high.astype(np.uint32).astype(np.int32)


# For the full range of int32: its span does not fit a word, and the word itself is the result.
@_op("bitcast<i32>({0} + {1})", "randint", int32)
def any_int32(np: Any, bits: Any, low: Any) -> Any:
    return (bits + low).astype(np.int32)


@_op("{0} + {1}", "offset")
def offset(np: Any, x: Any, y: Any) -> Any:
    return x + y


OF_ONE_WORD = {
    uniform_from_bits, exponential_from_bits, centered_from_bits, randint_from_bits, any_int32
}  # fmt: skip
"""The ops whose first operand is a word; the other ops that draw take its counter and the key."""
