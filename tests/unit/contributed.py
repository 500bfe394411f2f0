"""Tests of a copy of the package to which the ops of CONTRIBUTING.md were added.

`test_contributing.py` makes the copy and runs these tests in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.codegen.program import Programs
from py_tensor.runtime.device import LazyDevice
from tests.unit import simulate

pt: Any = py_tensor
pt.set_default_device("cpu")  # ignore any GPU of this machine
NUMBERS = np.array([0, -0.0, 90, -360, 1e30, 3e-42, np.inf, -np.inf, np.nan], np.float32)


def a_device(name: str) -> LazyDevice:
    return CPU_DEVICE if name == "cpu" else simulate.device(programs=Programs())


@pytest.mark.parametrize("device", ["cpu", "simulated"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (9,), (3, 5)])
def test_values(shape: tuple[int, ...], device: str) -> None:
    rng = np.random.default_rng()
    a = NUMBERS if shape == NUMBERS.shape else rng.normal(0, 400, shape).astype(np.float32)
    x = pt.tensor(a, device=a_device(device))
    for found in (pt.deg2rad(x), x.deg2rad(), pt.deg2rad(x + 0) * 1):
        np.testing.assert_allclose(found.numpy(), np.deg2rad(a), rtol=2e-7, atol=1e-44)


@pytest.mark.parametrize("device", ["cpu", "simulated"])
def test_derivative(device: str) -> None:
    rng = np.random.default_rng()
    place = a_device(device)
    a, g = rng.normal(0, 400, 7), rng.normal(size=7).astype(np.float32)
    x, upstream = (pt.tensor(v, device=place) for v in (a.astype(np.float32), g))
    (found,) = pt.deg2rad.op.vjp(upstream, pt.deg2rad(x), x, None)
    step = 1e-3
    slope = (np.deg2rad(a + step) - np.deg2rad(a - step)) / (2 * step)
    np.testing.assert_allclose(found.numpy(), g * slope, rtol=1e-6)


def test_code() -> None:
    """The op is fused, and its WGSL is in the kernel."""
    programs = Programs()
    place = simulate.device(programs=programs)
    x = pt.tensor(np.ones(8, np.float32), device=place)
    (pt.deg2rad(x) + 1).numpy()
    (kernel,) = simulate.kernels_of(place)
    assert kernel.label == "deg2rad_add"
    (program,) = programs._known.values()
    assert "* 0.017453292" in program.wgsl


@pytest.mark.parametrize("device", ["cpu", "simulated"])
def test_reduction(device: str) -> None:
    a = np.random.default_rng().normal(size=(4, 5, 70)) > 0
    x = pt.tensor(a, device=a_device(device))
    for axis in (None, 0, -1, (0, 2)):
        expected = np.logical_xor.reduce(a, axis)
        np.testing.assert_array_equal(pt.parity(x, axis).numpy(), expected)
        np.testing.assert_array_equal(x.astype("float32").parity(axis).numpy(), expected)
    odd = pt.parity(x, 1, keepdims=True, where=x[:1]).numpy()
    np.testing.assert_array_equal(odd, np.logical_xor.reduce(a & a[:1], 1, keepdims=True))
    assert not pt.parity(x[:0, 0, 0])
    with pytest.raises(TypeError, match="initial"):
        pt.parity(x, initial=True)


@pytest.mark.parametrize("device", ["cpu", "simulated"])
def test_composed_function(device: str) -> None:
    a = np.random.default_rng().normal(size=(4, 5, 70)).astype(np.float32)
    x = pt.tensor(a, device=a_device(device))
    for axis in (None, 1, (0, 2)):
        squares = a.astype(float) ** 2
        expected = np.sqrt(squares.mean(axis, keepdims=True))
        values = pt.root_mean_square(x, axis, keepdims=True).numpy()
        np.testing.assert_allclose(values, expected, rtol=1e-6)
    with pytest.raises(pt.ShapeError, match="axis"):
        pt.root_mean_square(x, 3)


@pytest.mark.parametrize("shapes", [((1, 1), (1, 1)), ((5, 3), (70, 3)), ((2, 40), (1, 40))])
def test_distances(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    rng = np.random.default_rng()
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    x, y = (pt.tensor(v, device="cpu") for v in (a, b))
    expected = ((a[:, None].astype(float) - b) ** 2).sum(-1)
    np.testing.assert_allclose(pt.squared_distances(x, y).numpy(), expected, rtol=1e-5)


def test_kernel_of_distances() -> None:
    """Kernels of its operand run before it, and those that use the result after it."""
    programs = Programs()
    place = simulate.device(execute=False, programs=programs)
    x, y = (pt.tensor(np.ones(shape, np.float32), device=place) for shape in ((5, 3), (70, 3)))
    pt.realize(pt.squared_distances(x * 2, y) + 1)
    assert [k.label for k in simulate.kernels_of(place)] == ["multiply", "squared_distances", "add"]
    (program,) = (p for p in programs._known.values() if p.family == "distances")
    assert (program.label, program.variant) == ("squared_distances", "pairs")
    assert program.wgsl.count("@binding") == 4


def test_pass() -> None:
    """Its kernels satisfy the spec, compute the same, and have different labels."""
    a = np.random.default_rng().normal(size=(5, 5)).astype(np.float32)
    device = simulate.device(programs=Programs())
    x = pt.tensor(a, device=device)
    values = (pt.sin(x @ x) @ x).numpy()
    np.testing.assert_allclose(values, np.sin(a @ a) @ a, rtol=1e-4, atol=1e-5)
    device = simulate.device(execute=False, programs=Programs())
    x = pt.tensor(a, device=device)
    pt.realize(pt.squared_distances(x, x + 1), pt.squared_distances(x + 2, x))
    labels = [kernel.label for kernel in simulate.kernels_of(device)]
    assert len(set(labels)) == len(labels)
    assert {"squared_distances", "squared_distances_2"} <= set(labels)


def test_errors() -> None:
    with pytest.raises(pt.ShapeError, match=r"^squared_distances: shapes \(2, 3\) and \(2, 4\)"):
        pt.squared_distances(pt.zeros((2, 3)), pt.zeros((2, 4)))
    with pytest.raises(pt.DTypeError, match=r"^squared_distances: takes float32, not int32"):
        pt.squared_distances(pt.zeros((2, 3), pt.int32), pt.zeros((2, 3)))
