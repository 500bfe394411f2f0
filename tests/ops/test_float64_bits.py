"""Float64 arithmetic in integers, against NumPy's float64: every bit is the same."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import py_tensor as pt
from py_tensor.base.dtypes import parse
from py_tensor.ir.arrays import cast
from py_tensor.ir.op import Elementwise
from py_tensor.ops import float64_bits as ops
from py_tensor.ops.record import apply, build

np: Any = numpy
TINY = np.finfo(float).tiny
SPECIALS = [0, -0.0, 1, -1, 0.1, 2**53, 2**53 + 2, 2**63, -(2**63), 1e308, -1e308, np.inf, -np.inf]
SPECIALS += [np.nan, 3.4028235e38, 3.4028236e38, 1e-45, 7e-46, 2.0**-149, 2.0**-150, 1e-300, 0.5]


def numbers(rng: numpy.random.Generator, n: int) -> Any:
    """Draw normal numbers: near 1, of all magnitudes, and special ones; neighbours are related."""
    near = rng.integers(-(2**53), 2**53, n) * 2.0 ** rng.integers(-60, -40, n)
    wide = rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n)
    short = rng.integers(-(2**25), 2**25, n) * 2.0 ** rng.integers(-170, 130, n)
    found = np.concatenate([near, wide, short, -near + near[0], rng.choice(SPECIALS, n)])
    return np.where(np.abs(found) < TINY, 0, found)


def bits(x: Any, device: str) -> pt.Tensor:
    return pt.tensor(x.view("Q"), dtype="uint64", device=device)


def check(got: pt.Tensor, expected: Any, what: str) -> None:
    """Compare bits; subnormal numbers are zeros with their sign, and any NaN is NaN."""
    found, expected = (
        np.where(np.abs(v) < TINY, np.copysign(0, v), v) for v in (got.numpy().view("d"), expected)
    )
    same = found.view("Q") == expected.view("Q")
    same |= np.isnan(found) & np.isnan(expected)
    same |= (found == 0) & (np.abs(expected) == TINY)  # rounded up from below
    assert same.all(), (what, found[~same][:5], expected[~same][:5])


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_arithmetic(device: str, rng: numpy.random.Generator) -> None:
    x = numbers(rng, 400)
    y = rng.permutation(x)
    y = np.where(rng.random(x.size) < 0.3, x * (1 + rng.integers(-4, 5, x.size) * 2.0**-52), y)
    y = np.where(np.abs(y) < TINY, 0, y)
    check(apply(ops.SUBTRACT, (bits(x, device), bits(y, device))), x - y, "x - y")
    i = rng.integers(0, 2 ** rng.integers(1, 31, x.size)).astype(np.int32)
    i[:5] = 0, 1, 2**31 - 1, 2**24 + 1, 3
    step = x * 2.0**-30
    step = np.where(np.abs(step) < TINY, 0, step)
    numbers_of_i = pt.tensor(i, device=device)
    product = i * step
    usual = (np.abs(product) >= 2 * TINY) | (product == 0) | np.isnan(product)
    got = apply(ops.RAMP_BITS, (numbers_of_i, bits(y, device), bits(step, device)))
    check(got[np.flatnonzero(usual)], (product + y)[usual], "start + i * step")
    parts = int(rng.choice([1, 3, 10, 1000, 2**31 - 1, int(rng.integers(1, 2**31))]))
    at = np.minimum(i, parts).astype(np.int32)
    width = (y - x) / parts
    product = at * width
    usual = (np.abs(product) >= 2 * TINY) | (y == x) | np.isnan(product)
    usual &= (np.abs(width) >= 2 * TINY) | (y == x) | np.isnan(width)
    expected = np.where(at == parts, y, product + x)
    got = ops.divided(bits(x, device), bits(y, device), pt.tensor(at, device=device), parts)
    check(got[np.flatnonzero(usual)], expected[usual], f"parts of {parts}")


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_conversions(device: str, rng: numpy.random.Generator) -> None:
    for dtype in ("int32", "uint32", "int64", "uint64"):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = rng.integers(low, high, 500, dtype=dtype, endpoint=True)
        x = x >> rng.integers(0, 8 * x.itemsize, x.size).astype(dtype)
        x[:4] = low, high, high - 1, 0
        check(ops.float64_bits(pt.tensor(x, dtype=dtype, device=device)), x.astype(float), dtype)
    single = rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32)
    check(ops.float64_bits(pt.tensor(single, device=device)), single.astype(float), "float32")

    def converted(op: Elementwise) -> Any:
        return build(op, (bits(x, device),), None).numpy()

    x = numbers(rng, 400)
    nearest = x.astype(np.float32)
    np.testing.assert_array_equal(converted(ops.TO_FLOAT32), nearest)
    ordinary = np.isfinite(nearest)
    x, nearest = x[ordinary], nearest[ordinary]
    above = np.where(nearest < x, np.nextafter(nearest, np.float32(np.inf)), nearest)
    np.testing.assert_array_equal(converted(ops.TO_FLOAT32_ABOVE), above)
    assert [ops.single_above(v) for v in x.tolist()] == above.tolist()
    for dtype in ("int8", "uint16", "int32", "uint32", "int64", "uint64"):
        target = parse(dtype)
        down = ops.floored(bits(x, device), target).numpy()
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        fits = (np.floor(x) >= low) & (x < high + 1)
        np.testing.assert_array_equal(down[fits], np.floor(x[fits]).astype(dtype))
        overflows = cast(np, np.floor(x[~fits]), target)
        np.testing.assert_array_equal(down[~fits], overflows)
    x = x[np.abs(x) < 2.0**63]
    np.testing.assert_array_equal(converted(ops.CEIL), np.ceil(x).astype(np.int64))
    x = np.sort(x[x != 0])
    keys = converted(ops.ORDER_KEY)
    assert (np.diff(keys.astype(object)) > 0).tolist() == (np.diff(x) > 0).tolist()
    assert [ops.order_key_of(v) for v in x.tolist()] == keys.tolist()
    x = np.array([1e19, -1e19, np.inf, -np.inf])
    assert converted(ops.CEIL).tolist() == [2**63 - 1, -(2**63)] * 2
