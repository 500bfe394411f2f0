"""The shortest path through all layers: upload, one fused kernel, readback, an error."""

from __future__ import annotations

import numpy as np
import pytest

import py_tensor as pt


@pytest.mark.computes
def test_the_first_answer(device: str) -> None:
    x = pt.linspace(1, 20, 20, device=device).reshape(4, 5).sum(0)
    assert x.tolist() == [34.0, 38.0, 42.0, 46.0, 50.0]


@pytest.mark.computes
def test_random_operands_agree_with_numpy(device: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3, 5), dtype=np.float32)
    product = pt.tensor(a, device=device) * pt.tensor(b, device=device)
    np.testing.assert_array_equal(product.numpy(), a * b)  # one rounding: no tolerance needed


def test_shapes_that_do_not_broadcast_are_named(device: str) -> None:
    a, b = pt.ones((8, 3, 4), device=device), pt.ones((5, 4), device=device)
    with pytest.raises(pt.ShapeError, match=r"add: shapes \(8, 3, 4\) and \(5, 4\)"):
        _ = a + b
