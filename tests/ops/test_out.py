"""Reductions and scans into an `out` whose dtype is wider than that of the elements."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.operands import Few

Call = Callable[[Any, Any, Any], Any]
WIDER = {
    "bool": "int8 int32 int64 uint64 float32",
    "int8": "int16 int32 int64 float32 complex64 float64",
    "uint8": "int16 uint16 int32 int64 uint64 float32",
    "int16": "int32 int64 float32",
    "uint16": "int32 uint32 int64 uint64 float32",
    "int32": "int64 float32 complex64 float64",
    "uint32": "int64 uint64 float32",
    "int64": "float32 float64",
    "uint64": "float32",
    "float16": "float32 complex64 float64",
    "float32": "complex64 float64 complex128",
}
PAIRS = [(own, wider) for own, every in WIDER.items() for wider in every.split()]
REDUCTIONS: dict[str, Call] = {
    "sum": lambda np, x, out: np.sum(x, axis=0, out=out),
    "sum as a method": lambda np, x, out: x.sum(0, out=out),
    "sum into a tuple": lambda np, x, out: np.add.reduce(x, out=(out,)),
    "sum with options": lambda np, x, out: np.sum(x, 0, initial=2, where=x != 0, out=out),
    "nansum": lambda np, x, out: np.nansum(x, axis=0, out=out),
    "mean": lambda np, x, out: np.mean(x, axis=0, out=out),
    "nanmean": lambda np, x, out: np.nanmean(x, axis=0, out=out),
    "prod": lambda np, x, out: np.prod(x, axis=0, out=out),
    "nanprod": lambda np, x, out: np.nanprod(x, axis=0, out=out),
    "max": lambda np, x, out: np.max(x, axis=0, out=out),
    "ptp": lambda np, x, out: np.ptp(x, axis=0, out=out),
    "median": lambda np, x, out: np.median(x, axis=0, out=out),
    "any": lambda np, x, out: np.any(x, axis=0, out=out),
    "var": lambda np, x, out: np.var(x, axis=0, out=out),
    "nanstd": lambda np, x, out: np.nanstd(x, axis=0, out=out),
    "einsum": lambda np, x, out: np.einsum("ij->j", x, out=out),
    "einsum of two": lambda np, x, out: np.einsum("ij,ij->j", x, x, out=out),
    "add.reduce": lambda np, x, out: np.add.reduce(x, out=out),
    "subtract.reduce": lambda np, x, out: np.subtract.reduce(x, out=out),
    "multiply.reduce": lambda np, x, out: np.multiply.reduce(x, out=out),
    "minimum.reduce": lambda np, x, out: np.minimum.reduce(x, out=out),
    "bitwise_or.reduce": lambda np, x, out: np.bitwise_or.reduce(x, out=out),
    "lcm.reduce": lambda np, x, out: np.lcm.reduce(x, out=out),
}
SCANS: dict[str, Call] = {
    "cumsum": lambda np, x, out: np.cumsum(x, axis=0, out=out),
    "cumsum as a method": lambda np, x, out: x.cumsum(0, out=out),
    "nancumsum": lambda np, x, out: np.nancumsum(x, axis=0, out=out),
    "cumulative_sum": lambda np, x, out: np.cumulative_sum(x, axis=0, out=out),
    "cumprod": lambda np, x, out: np.cumprod(x, axis=0, out=out),
    "nancumprod": lambda np, x, out: np.nancumprod(x, axis=0, out=out),
    "cumulative_prod": lambda np, x, out: np.cumulative_prod(x, axis=0, out=out),
    "add.accumulate": lambda np, x, out: np.add.accumulate(x, out=out),
    "subtract.accumulate": lambda np, x, out: np.subtract.accumulate(x, out=out),
    "maximum.accumulate": lambda np, x, out: np.maximum.accumulate(x, out=out),
    "add.reduceat": lambda np, x, out: np.add.reduceat(x, [0, 2, 1, 0], out=out),
    "subtract.reduceat": lambda np, x, out: np.subtract.reduceat(x, [0, 2, 1, 0], out=out),
    "multiply.reduceat": lambda np, x, out: np.multiply.reduceat(x, [0, 2, 1, 0], out=out),
    "logical_and.reduceat": lambda np, x, out: np.logical_and.reduceat(x, [0, 2, 1, 0], out=out),
}
SPREADS = ("var", "nanstd")
"""For these, NumPy squares float16 in float16, and wraps around in an `out` of integers."""

WRAPPING = ("einsum", "einsum of two", "subtract.reduce", "subtract.accumulate")
WRAPPING += ("add.reduceat", "subtract.reduceat")
"""These add 64-bit integers as such, also where NumPy has float64."""


def numbers(dtype: str, name: str, rng: np.random.Generator) -> Any:
    """Elements whose sums, and some products, exceed the range of their dtype."""
    shape = (4, 3)
    if dtype == "bool":
        return rng.random(shape) < 0.8
    if "float" in dtype:
        most = 50 if name in SPREADS else 60000
        return rng.uniform(0.5, most, shape).astype(dtype)
    ends = np.iinfo(dtype)
    most = {"lcm.reduce": 9, "einsum of two": min(ends.max, 2**29)}.get(name, ends.max)
    x = rng.integers(max(ends.min, -most), most, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, x.dtype.type(most), x)


@pytest.mark.computes
@pytest.mark.parametrize("name", [*REDUCTIONS, *SCANS])
def test_wider_outs(name: str, device: str, few: Few, rng: np.random.Generator) -> None:
    call = REDUCTIONS.get(name) or SCANS[name]
    left = len(PAIRS) if device == "cpu" else len(few(range(5), 2))
    for own, wider in rng.permutation(PAIRS).tolist():
        if not left:
            break
        if device == "webgpu" and wider in ("float64", "complex128"):
            continue
        if name in (*SPREADS, "median") and np.dtype(wider).kind in "iu":
            continue
        if name in WRAPPING and own.endswith("int64"):
            continue
        x = numbers(own, name, rng)
        expected = np.zeros(x.shape if name in SCANS else x.shape[1:], wider)
        out = pt.zeros(expected.shape, wider, device=device)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(np, x, expected)
        except TypeError:
            continue
        left -= 1
        got = call(pt, pt.tensor(x, dtype=own, device=device), out)
        what = f"{name} of {own} into {wider}:\n{x}"
        assert got is out, what
        if expected.dtype.kind in "biu":
            np.testing.assert_array_equal(out.numpy(), expected, what)
            continue
        error = 2e-3 if own == "float16" and name in SPREADS else 1e-5
        most = np.max(np.abs(expected), where=np.isfinite(expected), initial=0)
        np.testing.assert_allclose(out.numpy(), expected, error, error * most, err_msg=what)


@pytest.mark.computes
def test_sums_of_integers_into_floats_are_exact(device: str) -> None:
    """They are added as integers, because float32 does not hold these elements."""
    ours: Any = pt
    x = pt.tensor([2**30 + 1, 2**30, -(2**31) + 2], dtype="int32", device=device)
    out = pt.zeros((), "float32", device=device)
    for call in (
        lambda: pt.sum(x, out=out),
        lambda: ours.add.reduce(x, out=out),
        lambda: pt.trace(pt.diag(x), out=out),
    ):
        call()
        assert out.item() == 3
    running = pt.zeros(3, "float32", device=device)
    assert pt.cumsum(x, out=running).tolist() == [2.0**30, 2.0**31, 3]
    long = pt.tensor([2**40 + 1, -(2**40), 2**62, -(2**62)], dtype="int64", device=device)
    assert pt.sum(long, out=out).item() == 1
    assert pt.cumsum(long[:3], out=running).tolist() == [2.0**40, 1, 2.0**62]
    assert pt.einsum("i->", x, out=out).item() == 3


@pytest.mark.computes
def test_products_of_integers_that_are_too_large_for_floats(device: str) -> None:
    x = pt.arange(40, dtype="int32", device=device)
    out = pt.ones((), "float32", device=device)
    assert pt.prod(x, out=out).item() == 0
    assert pt.prod(x[1:], out=out).item() == float("inf")
    running = pt.zeros(40, "float32", device=device)
    expected = np.zeros(40, "float32")
    with np.errstate(over="ignore"):
        np.cumprod(x.numpy()[::-1], out=expected)
    np.testing.assert_allclose(pt.cumprod(x[::-1], out=running).numpy(), expected, 1e-5)


@pytest.mark.computes
def test_arrays_of_numpy(device: str) -> None:
    """On the GPU, float64 stands for float32."""
    ours: Any = pt
    x = pt.full((4,), 2**30, "int32", device=device)
    for dtype in ("int64", "float64"):
        out = np.zeros((), dtype)
        assert pt.sum(x, out=out) is out
        assert out == 2**32
        assert ours.add.reduce(x, out=(out,)) is out
        whole = np.zeros(4, dtype)
        pt.cumsum(x, out=whole)
        assert whole.tolist() == [2**30, 2**31, 3 * 2**30, 2**32]
    mean = np.zeros((), "int64")
    pt.mean(x + 1, out=mean)
    assert mean == 2**30 + 1


INITIAL: list[Any] = [300, -1, 0.5, np.int32(-1), np.int64(70_000), np.float32(2.5)]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum"])
def test_an_initial_value_is_of_the_wider_dtype(
    name: str, device: str, few: Few, rng: np.random.Generator
) -> None:
    pairs = [(own, wider) for own, wider in PAIRS if np.dtype(wider).kind in "if"]
    for own, wider in few(pairs, 4):
        if wider == "float64" and device != "cpu":
            continue
        a = np.array([1, 2, 3, 7]).astype(own)
        x = pt.tensor(a, dtype=own, device=device)
        for i in rng.choice(len(INITIAL), 2, replace=False):  # each needs kernels of its own
            initial = INITIAL[i]
            is_float = isinstance(initial, float | np.floating)
            if np.dtype(wider).kind == "i" and (is_float or initial > np.iinfo(wider).max):
                continue
            for where in (True, a > 2):
                expected, out = np.zeros((), wider), pt.zeros((), dtype=wider, device=device)
                getattr(np, name)(a, out=expected, initial=initial, where=where)
                mask = where if where is True else pt.tensor(where, device=device)
                getattr(pt, name)(x, out=out, initial=initial, where=mask)
                what = f"{own} into {wider}, {initial!r}"
                np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6, err_msg=what)


def test_initial_integers_of_numpy_wrap_around(device: str) -> None:
    x = pt.tensor([1, 2, 7], dtype="uint8", device=device)
    wrapped: list[Any] = [np.int32(-1), np.int64(256)]
    assert int(pt.max(x, initial=wrapped[0])) == 255
    assert int(pt.min(x, initial=wrapped[1])) == 0


@pytest.mark.filterwarnings("ignore:overflow")
def test_differences_of_uint64_into_floats(device: str) -> None:
    a = np.array([1, 2, 2**63], np.uint64)
    x = pt.tensor(a, dtype="uint64", device=device)
    for method in ("reduce", "accumulate"):
        shape = () if method == "reduce" else (3,)
        expected, out = np.zeros(shape, np.float32), pt.zeros(shape, device=device)
        getattr(np.subtract, method)(a, out=expected)
        getattr(pt.subtract, method)(x, out=out)
        np.testing.assert_array_equal(out.numpy(), expected)
