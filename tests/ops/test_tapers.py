"""Window functions, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt


@pytest.mark.computes
@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name: str, device: str) -> None:
    for size in (-1, 0, 1, 2, 3, 4, 51, 1000):
        check(getattr(pt, name)(size, device=device), getattr(np, name)(size), f"{name}({size})")


@pytest.mark.computes
def test_kaiser(device: str, rng: np.random.Generator) -> None:
    for size in (0, 1, 2, 3, 12, 101):
        for beta in (0, 1, 5.0, -6.0, 8.6, float(rng.uniform(0, 20)), 60.0):
            got = pt.kaiser(size, beta, device=device)
            check(got, np.kaiser(size, beta), f"kaiser({size}, {beta})")


def check(got: Any, expected: Any, what: str) -> None:
    assert got.shape == expected.shape, what
    assert got.dtype is pt.float32, what
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=2e-6, err_msg=what)
