"""Kernels that traverse the same rows several times, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tools import control

Array = np.ndarray[Any, Any]
SHAPES = [(64, 48), (70, 1), (100, 3), (257, 129), (300, 1024), (65, 4099), (5, 40_000), (1, 7)]


def softmax(x: Any, xp: Any, axis: int = -1) -> Any:
    e = xp.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x: Any, xp: Any) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(-1, keepdims=True))


def layer_norm(x: Any, xp: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-3)


def nearest_to_mean(x: Any, xp: Any) -> Any:
    return xp.abs(x - x.mean(-1, keepdims=True)).argmin(-1)


@pytest.mark.computes
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("expression", [softmax, log_softmax, layer_norm])
def test_normalized_rows(
    expression: Callable[..., Any], shape: tuple[int, int], device: str, rng: np.random.Generator
) -> None:
    a = rng.standard_normal(shape).astype(np.float32) * 3
    exact = expression(a.astype(np.float64), np)
    bound = 1e-5 * np.abs(exact) + 2e-6
    if expression is layer_norm:  # elements are rounded, and then divided by the deviation
        bound = bound + 2**-22 * np.abs(a).max(-1, keepdims=True) / np.sqrt(
            a.var(-1, keepdims=True) + 1e-3
        )
    assert np.all(np.abs(expression(pt.tensor(a, device=device), pt).numpy() - exact) <= bound)
    if device == "webgpu":  # NumPy adds a transposed array one by one: an error of 1e-4
        x = pt.tensor(a.T.copy()).T
        assert np.all(np.abs(expression(x, pt).numpy() - exact) <= bound)


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize("shape", [(300, 7), (257, 64), (3, 1024), (2, 9001)])
def test_lanes_that_share_a_row(
    shape: tuple[int, int], device: str, rng: np.random.Generator
) -> None:
    a = rng.standard_normal(shape).astype(np.float32)
    x = pt.tensor(a, device=device)
    for expression in (softmax, layer_norm):
        exact = expression(a.astype(np.float64), np)
        np.testing.assert_allclose(expression(x, pt).numpy(), exact, rtol=1e-5, atol=2e-6)
    np.testing.assert_array_equal(nearest_to_mean(x, pt).numpy(), nearest_to_mean(a, np))


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
def test_many_reductions_of_the_same_rows(device: str, rng: np.random.Generator) -> None:
    """A kernel includes no more of them than fit in workgroup memory."""
    a = rng.random((130, 64), dtype=np.float32)
    x, exact = pt.tensor(a, device=device), np.ones((130, 1))
    y: pt.Tensor = pt.ones((130, 1), device=device)
    for _ in range(40):
        y = (x * y).mean(1, keepdims=True) * 2
        exact = (a * exact).mean(1, keepdims=True, dtype=np.float64) * 2
    np.testing.assert_allclose(y.numpy(), exact, rtol=1e-5)


@pytest.mark.computes
@pytest.mark.parametrize("expression", [softmax, log_softmax, layer_norm, nearest_to_mean])
def test_one_dispatch_each(
    expression: Callable[..., Any], device: str, rng: np.random.Generator
) -> None:
    a = rng.standard_normal((300, 129)).astype(np.float32)
    x = pt.tensor(a, device=device).realize()
    before = control.dispatches() if device == "webgpu" else 0
    got = expression(x, pt).realize()
    if device == "webgpu":
        assert control.dispatches() == before + 1
    np.testing.assert_allclose(got.numpy(), expression(a, np), rtol=1e-4, atol=1e-5)


@pytest.mark.computes
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes(axis: int, device: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal((70, 33, 66)).astype(np.float32)
    got = softmax(pt.tensor(a, device=device), pt, axis)
    np.testing.assert_allclose(got.numpy(), softmax(a.astype(np.float64), np, axis), rtol=3e-6)


@pytest.mark.computes
def test_live_intermediates_are_stored_too(device: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal((128, 65)).astype(np.float32)
    x = pt.tensor(a, device=device)
    low, high = x.min(1, keepdims=True), x.max(1, keepdims=True)
    scaled = (x - low) / (high - low)
    total = scaled.sum(1)
    pt.realize(low, high, scaled, total)
    lowest, highest = a.min(1, keepdims=True), a.max(1, keepdims=True)
    np.testing.assert_array_equal(low.numpy(), lowest)
    np.testing.assert_array_equal(high.numpy(), highest)
    exact = (a.astype(np.float64) - lowest) / (highest - lowest)
    np.testing.assert_allclose(scaled.numpy(), exact, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(total.numpy(), exact.sum(1), rtol=1e-6)


@pytest.mark.computes
def test_special_values_stay_in_their_row(device: str) -> None:
    a = np.zeros((80, 9), np.float32)
    a[3, 4], a[7, 2], a[9] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = softmax(a, np)
    np.testing.assert_array_equal(softmax(pt.tensor(a, device=device), pt).numpy(), expected)
