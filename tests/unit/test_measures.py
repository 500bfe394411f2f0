"""The numbers of operations and of bytes that kernels report."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import py_tensor as pt
from tests.unit import simulate

N = 32 * 48


@pytest.mark.parametrize(
    ("expression", "operations", "numbers"),
    [
        (lambda x: x + 1, N, 2 * N),
        (lambda x: pt.exp(x * x), 2 * N, 2 * N),
        (lambda x: x + x[:1], N, 2 * N),  # a buffer counts once
        (lambda x: x.sum(1), N, N + 32),
        (lambda x: x @ x.T, 2 * 32 * N, N + 32 * 32),
        (lambda x: x - x.max(1, keepdims=True), 2 * N, 2 * N),
        (lambda x: x[::2] * 2, N // 2, N),
        (lambda x: pt.zeros((5, 7), device=x.device) + 1, 35, 35),
    ],
)
def test_measures(
    expression: Callable[[pt.Tensor], pt.Tensor], operations: int, numbers: int
) -> None:
    place = simulate.device()
    x = pt.tensor(np.ones((32, 48), np.float32), device=place)
    expression(x).realize()
    (kernel,) = simulate.kernels_of(place)
    assert kernel.operations() == operations
    assert kernel.traffic() == 4 * numbers
