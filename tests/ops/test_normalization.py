"""softmax, log_softmax and layer_norm: every dtype, axis and layout, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tools import control
from tests.ops import references as ref
from tests.ops.compare import SMALLEST, same
from tests.ops.operands import LAYOUTS

Array = np.ndarray[Any, Any]
NAMES = ("softmax", "log_softmax", "layer_norm")
AXES = (-1, 0, 1, 2, -3, None, (0, 1), (0, 2), (2, 1, 0), ())


def softmax(x: Array, axis: Any = -1) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x: Array, axis: Any = -1) -> Array:
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def layer_norm(x: Array, axis: Any = -1, eps: float = 1e-5) -> Array:
    centred = x - x.mean(axis, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis, keepdims=True) + eps)


EXACT = {"softmax": softmax, "log_softmax": log_softmax, "layer_norm": layer_norm}


def check(name: str, x: pt.Tensor, array: Array, axis: Any, what: str) -> None:
    got = getattr(pt, name)(x, axis=axis)
    with np.errstate(all="ignore"):
        wide = EXACT[name](array.astype(np.float64), axis) if array.size else array
    dtype = ref.FLOATING[array.dtype.name]
    assert (str(got.dtype), got.shape) == (dtype, array.shape), what
    if not array.size:
        return
    bad = ~(np.abs(got.numpy() - wide) <= 1e-5 * np.abs(wide) + slack(name, array, axis))
    assert not bad.any(), f"{what}: {got.numpy()[bad]}, not {wide[bad]}"


def slack(name: str, array: Array, axis: Any) -> Any:
    """Return the tolerance for limits of float32: subnormal numbers and cancellation."""
    if name == "softmax":
        return SMALLEST
    largest = np.abs(array.astype(np.float64)).max(axis, keepdims=True)
    if name == "layer_norm":
        largest = largest / np.sqrt(array.astype(np.float64).var(axis, keepdims=True) + 1e-5)
    return 1e-6 * largest


def values(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    low = 0 if dtype in ("bool", "uint32", "uint64") else -6
    whole = rng.integers(low, 2 if dtype == "bool" else 7, shape)
    return (whole + rng.random(shape) if dtype.startswith("float") else whole).astype(dtype)


@pytest.mark.computes
@pytest.mark.parametrize("name", NAMES)
def test_axes_and_dtypes(name: str, device: str, rng: np.random.Generator) -> None:
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    for dtype in dtypes:
        array = values(dtype, (3, 5, 7), rng)
        x = pt.tensor(array, dtype=dtype, device=device)
        for axis in AXES:
            check(name, x, array, axis, f"{name} of {dtype} over {axis}")


@pytest.mark.computes
@pytest.mark.parametrize("name", NAMES)
def test_layouts(name: str, device: str, rng: np.random.Generator) -> None:
    for layout, make in LAYOUTS.items():
        x, array = make(values("float32", (200,), rng), rng, device)
        if array.ndim:
            check(name, x, array, -1, f"{name} of {layout}")
            check(name, x, array, 0, f"{name} of {layout}, first axis")
        check(name, x, array, None, f"{name} of {layout}, all axes")


@pytest.mark.computes
@pytest.mark.parametrize("n", [1, 2, 31, 64, 1025, 4099])
def test_lengths(n: int, device: str, rng: np.random.Generator) -> None:
    array = (rng.standard_normal((3, n)) * 20).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for name in NAMES:
        check(name, x, array, 1, f"{name} of rows of {n}")
        check(name, x.T, array.T, 0, f"{name} of columns of {n}")


@pytest.mark.computes
def test_values_beyond_the_range_of_exp(device: str) -> None:
    array = np.array([[1000.0, 999.0, -1000.0], [-1e30, -1e30, 3e38]], np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    np.testing.assert_allclose(pt.softmax(x).numpy(), softmax(array.astype(float)), rtol=1e-6)
    expected = log_softmax(array.astype(np.float64))
    np.testing.assert_allclose(pt.log_softmax(x).numpy(), expected, rtol=1e-6)


@pytest.mark.computes
@pytest.mark.parametrize("name", NAMES)
def test_non_finite_values_stay_in_their_row(name: str, device: str) -> None:
    array = np.zeros((80, 9), np.float32)
    array[3, 4], array[7, 2], array[9] = np.nan, np.inf, -np.inf
    got = getattr(pt, name)(pt.tensor(array, dtype=array.dtype, device=device)).numpy()
    rows = [3, 7, 9]
    assert np.isnan(got[rows]).all()
    assert np.isfinite(np.delete(got, rows, 0)).all()


@pytest.mark.computes
@pytest.mark.parametrize("axis", [-1, 0, (1, 2), (0, 2), None])
def test_weights(axis: Any, device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 6, 5)).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    axes = tuple(range(3)) if axis is None else np.atleast_1d(axis) % 3
    shape = tuple(array.shape[a] for a in axes)
    broadcast = tuple(n if a in axes else 1 for a, n in enumerate(array.shape))
    weight, bias = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    w, b = pt.tensor(weight, device=device), pt.tensor(bias, device=device)
    exact = layer_norm(array.astype(np.float64), axis, 1e-2)
    scaled = exact * weight.reshape(broadcast)
    shifted = scaled + bias.reshape(broadcast)
    for got, expected in (
        (pt.layer_norm(x, axis=axis, eps=1e-2), exact),
        (pt.layer_norm(x, w, axis=axis, eps=1e-2), scaled),
        (pt.layer_norm(x, w, b, axis, 1e-2), shifted),
        (pt.layer_norm(x, bias=b, axis=axis, eps=1e-2), exact + bias.reshape(broadcast)),
    ):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.computes
def test_equal_elements(device: str) -> None:
    x = pt.full((3, 4), 7.0, device=device)
    same(pt.layer_norm(x), np.zeros((3, 4), np.float32), "layer_norm of equal elements")
    same(pt.softmax(x), np.full((3, 4), 0.25, np.float32), "softmax of equal elements")


@pytest.mark.computes
def test_one_dispatch_each(device: str, rng: np.random.Generator) -> None:
    x = pt.tensor(rng.standard_normal((300, 129)).astype(np.float32), device=device).realize()
    w, b = (pt.full((129,), v, device=device).realize() for v in (2.0, 1.0))
    for make in (
        lambda: pt.softmax(x),
        lambda: pt.log_softmax(x),
        lambda: pt.layer_norm(x),
        lambda: pt.layer_norm(x, w, b),
    ):
        before = control.dispatches() if device == "webgpu" else 0
        make().realize()
        assert device == "cpu" or control.dispatches() == before + 1


@pytest.mark.computes
def test_errors(device: str) -> None:
    x = pt.ones((2, 3, 4), device=device)
    for name in NAMES:
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis 3.*3 axes"):
            getattr(pt, name)(x, axis=3)
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis -1.*0 axes"):
            getattr(pt, name)(x[0, 0, 0])
        with pytest.raises(TypeError, match=rf"^{name}: "):
            getattr(pt, name)("abc")
    with pytest.raises(pt.ShapeError, match=r"^layer_norm: .*\(3,\).*axes \(2,\).*\(2, 3, 4\)"):
        pt.layer_norm(x, pt.ones(3, device=device))
    with pytest.raises(pt.ShapeError, match=r"^layer_norm: .*\(4,\).*axes \(1, 2\).*\(3, 4\)"):
        pt.layer_norm(x, bias=pt.ones(4, device=device), axis=(1, 2))
    same(x.sum(), np.float32(24), "the session afterwards")
