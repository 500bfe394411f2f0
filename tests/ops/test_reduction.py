"""Every reduction: axes, lengths, layouts, dtypes, special values, several reductions together."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import element, same
from tests.ops.operands import pool

Array = Any
EPS = 2.0**-24
LENGTHS = (0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4097)
CHOICES = (None, 0, 1, 2, -1, -3, (0, 1), (0, 2), (1, 2), (-1, 0), (2, 1, 0), ())
PICK = ("argmax", "argmin")


def tame(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Values whose sums are exact in float32, and whose products do not over- or underflow."""
    if dtype == "bool":
        return rng.random(shape) < 0.7
    low = 0 if dtype.startswith("uint") else -4
    return rng.integers(low, 5, shape).astype(dtype)


def check(name: str, got: Any, array: Array, axis: Any, keepdims: bool, what: str) -> None:
    """A reduction against NumPy's in 64 bits, within the error of a float32 sum."""
    fold = ref.REDUCTIONS[name]
    dtype, where = array.dtype.name, f"{name}({axis}, keepdims={keepdims}), {what}"
    result = fold.dtypes[dtype]
    given = array.astype({"f": np.float64, "b": np.int64}.get(array.dtype.kind, np.int64))
    given = (
        given.astype(np.float32).astype(np.float64)
        if result == "float32" and dtype != "float32"
        else given
    )
    if name in ("max", "min", *PICK):
        given = array
    with np.errstate(all="ignore"):
        expected = np.asarray(fold.numpy(given, axis=axis, keepdims=keepdims))
        size = np.abs(given.astype(np.float64))
        if result.startswith("float") and name not in ("max", "min"):
            n = array.size // max(expected.size, 1)
            if name == "sum":
                bound = EPS * (2 + n) * np.sum(size, axis=axis, keepdims=keepdims)
            elif name == "prod":
                bound = 2 * EPS * (n + 1) * np.abs(expected)
            elif name == "mean":
                bound = EPS * (4 + n) * np.mean(size, axis=axis, keepdims=keepdims)
            else:
                scale = np.mean(size**2, axis=axis, keepdims=keepdims)
                bound = (
                    EPS
                    * (16 + n)
                    * (
                        scale
                        if name == "var"
                        else np.sqrt(scale) + scale / np.maximum(expected, 1e-3)
                    )
                )
        else:
            bound = None
    if bound is None:
        same(got, expected.astype(result), where)
        return
    values = got.numpy()
    assert values.dtype.name == result == str(got.dtype), (
        f"{where}: dtype {values.dtype}, not {result}"
    )
    assert values.shape == expected.shape == got.shape, (
        f"{where}: shape {values.shape}, not {expected.shape}"
    )
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(values - expected) <= bound)
    bad &= ~((values == expected) | (np.isnan(values) & np.isnan(expected)))
    if np.any(bad):
        at = element(bad)
        raise AssertionError(
            f"{where}: element {at} is {values[at]!r}, not {expected[at]!r} "
            f"({np.count_nonzero(bad)} of {bad.size} are wrong)"
        )


def choices(name: str) -> list[Any]:
    return [c for c in CHOICES if ref.REDUCTIONS[name].tuples or not isinstance(c, tuple)]


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.REDUCTIONS)
def test_axes(name: str, device: str, rng: np.random.Generator) -> None:
    """Every choice of axes of a 3-D tensor."""
    shape = (3, 5, 7)
    for dtype in ref.DTYPES:
        array = tame(dtype, shape, rng)
        x = pt.tensor(array, dtype=array.dtype, device=device)
        for axis in choices(name):
            for keep in (False, True):
                got = getattr(x, name)(axis, keepdims=keep)
                check(name, got, array, axis, keep, f"{dtype} {shape}")
        check(name, getattr(pt, name)(x), array, None, False, f"{dtype}, as a function")


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.REDUCTIONS)
def test_lengths(name: str, device: str, rng: np.random.Generator) -> None:
    """The last, the first and a middle axis of each length, and the whole tensor."""
    fold = ref.REDUCTIONS[name]
    for n in LENGTHS:
        for shape, axis in (((2, n), 1), ((n, 3), 0), ((2, n, 2), 1), ((n,), None)):
            if name == "prod":
                array = np.where(rng.random(shape) < 0.5, -1, 1).astype(np.float32)
                if n:
                    array[(0,) * len(shape)] = 3
            else:
                array = tame("float32", shape, rng)
            x = pt.tensor(array, dtype=array.dtype, device=device)
            what = f"float32 {shape}"
            if not n and fold.empty == "raises":
                along = "" if axis is None else f" along axis {axis}"
                with pytest.raises(ValueError, match=rf"^{name}: .*{along} in shape \("):
                    getattr(x, name)(axis)
                continue
            got = getattr(x, name)(axis)
            if not n:
                kept = tuple(s for a, s in enumerate(shape) if axis is not None and a != axis)
                same(got, np.full(kept, fold.empty, fold.dtypes["float32"]), f"{name} of {what}")
            else:
                check(name, got, array, axis, False, what)


@pytest.mark.parametrize("name", ref.REDUCTIONS)
def test_no_elements_and_no_results(name: str, device: str) -> None:
    """Empty shapes give NumPy's errors, or the shapes of its results."""
    for shape in ((0, 0), (0, 1), (1, 0), (0, 0, 2), (0, 3, 0)):
        x, a = pt.zeros(shape, device=device), np.zeros(shape, np.float32)
        for axis in range(len(shape)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = getattr(np, name)(a, axis)
            except ValueError:
                with pytest.raises(ValueError, match=f"^{name}: "):
                    getattr(pt, name)(x, axis)
            else:
                assert getattr(pt, name)(x, axis).shape == expected.shape, (shape, axis)


VIEWS = {
    "transposed": (lambda x: x.transpose(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "flipped": (lambda x: x[::-1, :, ::-1], lambda a: a[::-1, :, ::-1]),
    "sliced with a step": (lambda x: x[:, 1::2, ::-3], lambda a: a[:, 1::2, ::-3]),
    "broadcast": (
        lambda x: x[:, :1].expand(5, 9, 11),
        lambda a: np.broadcast_to(a[:, :1], (5, 9, 11)),
    ),
    "broadcast last": (
        lambda x: x[..., :1].expand(5, 7, 11),
        lambda a: np.broadcast_to(a[..., :1], (5, 7, 11)),
    ),
    "padded": (lambda x: x.pad(1), lambda a: np.pad(a, 1)),
    "pending": (lambda x: x * 2, lambda a: a * 2),
    "joined": (lambda x: pt.concat([x, x[::-1]], 1), lambda a: np.concatenate([a, a[::-1]], 1)),
}


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.REDUCTIONS)
def test_views(name: str, device: str, rng: np.random.Generator) -> None:
    array = tame("float32", (5, 7, 11), rng)
    if name == "prod":
        array = np.where(rng.random(array.shape) < 0.5, -1, 1).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for view, (ours, numpys) in VIEWS.items():
        given = numpys(array)
        if name == "prod" and view in ("padded", "pending"):
            continue
        for axis in (None, 0, 1, -1):
            check(name, getattr(ours(x), name)(axis), given, axis, False, view)


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.REDUCTIONS)
def test_dtypes(name: str, device: str, rng: np.random.Generator) -> None:
    """Arbitrary bits: integers wrap around, floats propagate NaN."""
    fold = ref.REDUCTIONS[name]
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    for dtype in dtypes:
        array = pool(dtype, rng, 130)
        if array.dtype.kind == "f":
            array = np.where(np.isfinite(array), np.clip(array, -2, 2), array)
        rows = np.resize(array[np.isfinite(array)], (5, 26))
        if name in ("var", "std", "mean") and dtype != "float32":
            whole = tame("uint32" if dtype.startswith("u") else "int32", (130,), rng)
            rows = np.resize(whole.astype(dtype), (5, 26))
        if name == "prod" and array.dtype.kind == "f":
            rows = np.sign(rows) + rows.dtype.type(0.5)
        x = pt.tensor(rows, dtype=dtype, device=device)
        with np.errstate(all="ignore"):
            if name in ("sum", "prod") and dtype.startswith(("int", "uint")):
                same(getattr(x, name)(1), fold.numpy(rows, axis=1, dtype=dtype), f"{name}, {dtype}")
            else:
                check(name, getattr(x, name)(1), rows, 1, False, dtype)
                check(name, getattr(x, name)(0, keepdims=True), rows, 0, True, dtype)


@pytest.mark.computes
def test_special_values(device: str) -> None:
    inf, nan = np.inf, np.nan
    rows = np.array(
        [
            [1, nan, 3, 2],
            [nan, nan, 0, 1],
            [-inf, -inf, -inf, -inf],
            [inf, 1, -inf, 2],
            [-0.0, 0.0, -0.0, 0.0],
            [nan, inf, -inf, 0],
            [3.4028235e38, 1, 2, -3.4028235e38],
            [0, 0, 0, nan],
        ],
        np.float32,
    )
    x = pt.tensor(rows, device=device)
    with np.errstate(all="ignore"):
        for name in ("sum", "prod", "mean"):
            expected = getattr(rows, name)(1)
            np.testing.assert_array_equal(getattr(x, name)(1).numpy(), expected, err_msg=name)
        for name in ("max", "min"):
            np.testing.assert_array_equal(
                getattr(x, name)(1).numpy(), getattr(rows, name)(1), err_msg=name
            )
            np.testing.assert_array_equal(
                getattr(x.T, name)(0).numpy(), getattr(rows, name)(1), err_msg=name
            )
        for name in ("any", "all", *PICK):
            np.testing.assert_array_equal(
                getattr(x, name)(1).numpy(), getattr(rows, name)(1), err_msg=name
            )
    long = np.full(5000, -np.inf, np.float32)
    assert pt.tensor(long, device=device).max().item() == -np.inf
    long[4321] = np.nan
    assert np.isnan(pt.tensor(long, device=device).max().item())
    assert pt.tensor(long, device=device).argmin().item() == 4321


@pytest.mark.computes
def test_the_first_of_equal_elements(device: str, rng: np.random.Generator) -> None:
    for n in (2, 7, 64, 257, 5000):
        for dtype in ref.DTYPES:
            array = np.asarray(rng.integers(0, 2 if dtype == "bool" else 3, (3, n))).astype(dtype)
            x = pt.tensor(array, dtype=array.dtype, device=device)
            for name, axis in itertools.product(PICK, (None, 0, 1)):
                expected = np.asarray(getattr(array, name)(axis)).astype(np.int32)
                same(getattr(x, name)(axis), expected, f"{name}({axis}) of {dtype} {array.shape}")
                same(
                    getattr(x[:, ::-1], name)(axis),
                    np.asarray(getattr(array[:, ::-1], name)(axis)).astype(np.int32),
                    f"{name}({axis}) of {dtype} {array.shape}, flipped",
                )
    many = np.full(9000, 7, np.int32)
    assert pt.tensor(many, device=device).argmax().item() == 0
    zeros = pt.tensor([0.0, -0.0, 0.0], device=device)
    assert (zeros.argmax().item(), zeros.argmin().item()) == (0, 0)


@pytest.mark.computes
def test_several_folds_together(device: str, rng: np.random.Generator) -> None:
    """Several reductions in one kernel: of one operand, of several, with ops around them."""
    for shape in ((3, 5), (33, 65), (7, 300), (300, 7)):
        a = rng.integers(-8, 9, shape).astype(np.float32)
        b = rng.integers(-8, 9, shape).astype(np.float32)
        x, y = (
            pt.tensor(a, dtype=a.dtype, device=device),
            pt.tensor(b, dtype=b.dtype, device=device),
        )
        for axis in (0, 1, (0, 1)):
            what = f"{shape}, axis {axis}"
            same(x.sum(axis) + x.max(axis), a.sum(axis) + a.max(axis), f"sum + max, {what}")
            same(
                x.sum(axis) + y.min(axis) * 2,
                a.sum(axis) + b.min(axis) * 2,
                f"sum of one, min of another, {what}",
            )
            same(
                (x * y).sum(axis) - (x + y).max(axis),
                (a * b).sum(axis) - (a + b).max(axis),
                f"of pending operands, {what}",
            )
            same(
                x - x.max(axis, keepdims=True),
                a - a.max(axis, keepdims=True),
                f"rows less their max, {what}",
            )
            centred = x - x.sum(axis, keepdims=True)
            same(
                centred.max(axis),
                (a - a.sum(axis, keepdims=True)).max(axis),
                f"a fold of a fold, {what}",
            )
            same(centred, a - a.sum(axis, keepdims=True), f"and its rows, {what}")
        same(x.sum(0).sum(), a.sum(), f"one axis after the other, {shape}")
        same(x.sum() + x.max(), a.sum() + a.max(), f"of everything, {shape}")
        same(x.sum(0) + x.T.sum(1), a.sum(0) * 2, f"along both layouts, {shape}")
        total, top, low = x.sum(1), x.max(1), x.min(1)
        pt.realize(total, top, low)
        same(total, a.sum(1), f"realized together: sum, {shape}")
        same(top, a.max(1), f"realized together: max, {shape}")
        same(low, a.min(1), f"realized together: min, {shape}")


@pytest.mark.computes
def test_softmax(device: str, rng: np.random.Generator) -> None:
    for shape in ((4, 3), (33, 65), (5, 1030)):
        a = rng.standard_normal(shape, dtype=np.float32) * 3
        x = pt.tensor(a, dtype=a.dtype, device=device)
        for axis in (0, 1):
            e = pt.exp(x - x.max(axis, keepdims=True))
            wide = np.exp(a.astype(np.float64) - a.max(axis, keepdims=True))
            expected = wide / wide.sum(axis, keepdims=True)
            got = (e / e.sum(axis, keepdims=True)).numpy()
            np.testing.assert_allclose(
                got, expected, rtol=3e-6, err_msg=f"softmax({axis}) of {shape}"
            )


@pytest.mark.computes
def test_variance_options(device: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal((6, 50)).astype(np.float32)
    x = pt.tensor(a, dtype=a.dtype, device=device)
    for ours, numpys in (
        ({"ddof": 1}, {"ddof": 1}),
        ({"correction": 1}, {"ddof": 1}),
        ({"correction": 0.5}, {"ddof": 0.5}),
    ):
        for name in ("var", "std"):
            got = getattr(x, name)(1, **ours).numpy()
            np.testing.assert_allclose(
                got,
                getattr(a.astype(float), name)(1, **numpys),
                rtol=1e-5,
                err_msg=f"{name} {ours}",
            )
    one = pt.tensor([3.0], device=device)
    assert np.isnan(one.var(ddof=1).item())
    assert one.var().item() == 0


@pytest.mark.computes
def test_dtype_argument(device: str) -> None:
    x = pt.tensor([1, 2, 3], device=device)
    same(x.sum(dtype=pt.float32), np.float32(6), "sum in float32")
    same(x.prod(dtype="float32"), np.float32(6), "prod in float32")
    same(
        pt.tensor([1.5, 2.5], device=device).sum(dtype=pt.int32),
        np.int32(3),
        "sum of floats in int32",
    )
    same(pt.tensor([True, True], device=device).mean(), np.float32(1), "mean of bools")


@pytest.mark.computes
def test_large_sums(device: str, rng: np.random.Generator) -> None:
    """Accuracy over millions of elements: many partial sums, none of them long."""
    n = 2**25
    assert pt.ones(n, device=device).sum().item() == n
    a = rng.random(1_000_000, dtype=np.float32)
    x = pt.tensor(a, dtype=a.dtype, device=device)
    exact = float(a.sum(dtype=np.float64))
    assert abs(x.sum().item() - exact) <= 1e-6 * exact, "sum of a million"
    assert abs(x.mean().item() - exact / a.size) <= 1e-6 * exact / a.size, "mean of a million"
    assert x.max().item() == a.max()
    assert x.argmax().item() == a.argmax()
    far = (1e6 + rng.standard_normal(1_000_000)).astype(np.float32)
    expected = float(far.astype(np.float64).var())
    # The mean is a float32, up to two ulp off; the error of NumPy's own float32 variance is 0.0043
    # here.
    rounding = (2 * float(np.spacing(np.float32(1e6)))) ** 2
    got = pt.tensor(far, device=device).var().item()
    assert abs(got - expected) <= rounding + 1e-4, f"var of 1e6 + N(0, 1): {got}, not {expected}"


@pytest.mark.computes
@pytest.mark.parametrize("n", [100_000, 1_000_000, 10_000_000])
def test_sums_of_equal_and_of_rising_values(device: str, n: int) -> None:
    """Rounding errors of one sign add up along a chain: no chain may be long."""
    tenth = pt.full((n,), 0.1, device=device)
    exact = n * float(np.float32(0.1))
    assert abs(tenth.sum().item() - exact) <= 1e-6 * exact
    assert abs(tenth.mean().item() - exact / n) <= 1e-6 * exact / n
    ramp = pt.arange(n, dtype=pt.float32, device=device)
    assert abs(ramp.mean().item() - (n - 1) / 2) <= 1e-6 * n / 2
    columns = tenth.reshape(n // 4, 4).sum(0)
    if device == "webgpu":  # NumPy adds columns one by one: an error of 2 % at 10,000,000
        np.testing.assert_allclose(columns.numpy(), exact / 4, rtol=1e-6)


@pytest.mark.computes
@pytest.mark.parametrize("extent", [101, 200, 777])
def test_axes_longer_than_one_pass_may_fold(
    device: str, extent: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("py_tensor.codegen.reduce.MAX_REDUCED", 100)
    a = rng.integers(-9, 9, (5, extent, 3)).astype(np.float32)
    x = pt.tensor(a, dtype=a.dtype, device=device)
    same(x.sum(1), a.sum(1), "sum")
    same(x[:, ::-1].max(1), a[:, ::-1].max(1), "max of a flipped axis")
    same(x.argmin(1), a.argmin(1).astype(np.int32), "argmin")
    same(x.argmax(), np.int32(a.argmax()), "argmax over all")
    padded = np.pad(a * 2 + 1, ((0, 0), (30, 170), (0, 0)), constant_values=3)
    same(
        (x * 2 + 1).pad(((0, 0), (30, 170), (0, 0)), constant_values=3).sum(1),
        padded.sum(1),
        "sum of a padded axis",
    )
    rising = pt.arange(extent, device=device, dtype=pt.float32)
    same((rising * 2).sum(), np.float32(extent * (extent - 1)), "sum of generated values")
    np.testing.assert_allclose(x.var().item(), a.astype(np.float64).var(), rtol=1e-5)


@pytest.mark.computes
def test_tall_and_wide(device: str, rng: np.random.Generator) -> None:
    for shape in ((2, 70_001), (70_001, 2), (3, 20_011, 2), (20_000, 7), (7, 20_000)):
        a = rng.integers(-4, 5, shape).astype(np.float32)
        x = pt.tensor(a, dtype=a.dtype, device=device)
        for axis in (None, *range(len(shape))):
            same(x.sum(axis), a.sum(axis, dtype=np.float32), f"sum({axis}) of {shape}")
            same(x.max(axis), np.asarray(a.max(axis)), f"max({axis}) of {shape}")


@pytest.mark.computes
def test_axes_that_are_wrong(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for name in ref.REDUCTIONS:
        for axis in (2, -3):
            with pytest.raises(pt.AxisError, match=rf"^{name}: axis {axis}\b.*2 axes"):
                getattr(x, name)(axis)
        if ref.REDUCTIONS[name].tuples:
            with pytest.raises(pt.AxisError, match=rf"^{name}: repeated axis.*\(0, -2\)"):
                getattr(x, name)((0, -2))
        with pytest.raises(TypeError, match=f"^{name}"):
            getattr(x, name)(0.5)
    with pytest.raises(ValueError, match=r"^max"):
        pt.zeros((0,), device=device).max()
    same(
        pt.zeros((0, 3), device=device).max(1),
        np.zeros(0, np.float32),
        "max over rows that are not there",
    )
    same(x.sum(), np.float32(6), "the session afterwards")


@pytest.mark.computes
def test_compositions(device: str) -> None:
    a = np.array([[0.0, -1.5, np.nan], [-0.0, 4.0, 2.0]], np.float32)
    x = pt.tensor(a, dtype=a.dtype, device=device)
    for axis in (None, 0, 1, (0, 1)):
        counted = np.asarray(np.count_nonzero(a, axis), np.int32)
        same(pt.count_nonzero(x, axis), counted, f"count_nonzero, {axis}")
        same(pt.ptp(x[:, :2], axis), np.asarray(np.ptp(a[:, :2], axis)), f"ptp, {axis}")
    assert pt.count_nonzero(x, 1, keepdims=True).shape == (2, 1)
    numbers = pt.tensor([3, -4, 9], device=device)
    same(pt.ptp(numbers), np.asarray(13, np.int32), "ptp of integers")
    with pytest.raises(ValueError, match=r"^ptp: no elements"):
        pt.ptp(numbers[:0])
    assert pt.array_equal(numbers, [3, -4, 9]) is True
    assert pt.array_equal(numbers, [3, -4, 8]) is False
    assert pt.array_equal(numbers, numbers[:2]) is False
    assert pt.array_equal(x, x) is False
    assert pt.array_equal(x, x, equal_nan=True) is True
