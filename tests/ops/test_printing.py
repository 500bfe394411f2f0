"""Printing large tensors computes only the elements at their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.convert.printing import Elements, edge_indices, format_str, format_tensor
from py_tensor.schedule.order import topological
from py_tensor.tools import control

SHAPES: tuple[tuple[int, ...], ...] = (
    (1001,),
    (40, 50),
    (2, 1000),
    (1000, 6, 2),
    (20, 30, 7),
    (7, 8, 9, 10),
    (7, 7, 7, 7, 7),
    (3, 7, 1, 8, 2, 9, 2),
    (2, 2, 2, 2, 2, 2, 2, 20),
    (7, 1, 7, 1, 7, 1, 7, 3),
)


def shown(a: Any, form: str, suffix: str) -> str:
    """Return the text of a large array, made from its edges."""
    kept = [edge_indices(n, 3) or range(n) for n in a.shape]
    values = a[np.ix_(*kept)].reshape(-1).tolist()
    kind = {"b": "bool", "f": "float32"}.get(a.dtype.kind, "int")
    elements = Elements(a.shape, kind, values)
    return format_str(elements) if form == "str" else format_tensor(elements, suffix)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "bool"])
def test_edges(dtype: str, device: str, rng: np.random.Generator) -> None:
    before = pt.default_device()
    pt.set_default_device(device)
    suffix = "dtype=uint32" if dtype == "uint32" else ""
    try:
        for shape in SHAPES:
            a = rng.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
            x = pt.tensor(a)
            assert repr(x) == shown(a, "repr", suffix), shape
            assert str(x) == shown(a, "str", suffix), shape
            assert repr(x.T) == shown(a.T, "repr", suffix), f"{shape}, transposed"
            both = np.maximum(a, a[::-1])
            assert repr(pt.maximum(x, x[::-1])) == shown(both, "repr", suffix), f"{shape}, pending"
    finally:
        pt.set_default_device(before)


def pending(x: Any) -> bool:
    return x._node.storage is None


def dispatches_of(x: pt.Tensor) -> int:
    before = control.dispatches()
    assert f"shape={x.shape}" in repr(x)
    return control.dispatches() - before


@pytest.mark.computes
def test_printing_computes_the_shown_elements(device: str) -> None:
    """A tensor larger than the device can store prints; a large one is left pending."""
    if device == "cpu":  # it computes whole tensors
        assert repr(pt.rand(300, 300, device=device) + 1)
        return
    noise = pt.rand(20_000, 20_000)
    x = noise + 1
    assert dispatches_of(x) == 1
    assert dispatches_of(pt.rand(20_000, 20_000) + 1) == 1
    y = pt.rand(5000, 5000)
    z = y * 2
    assert dispatches_of(z) == 1
    assert pending(y)
    assert pending(z)
    assert dispatches_of(z.T[::-1]) == 1
    assert pending(z)
    edges = z[:3, -3:].numpy()
    assert np.array_equal(edges, z.numpy()[:3, -3:])


@pytest.mark.computes
def test_printing_stores_expensive_tensors(device: str) -> None:
    """Small tensors, reductions and long expressions are computed once."""
    if device == "cpu":  # it stores everything
        assert repr(pt.rand(300, 300, device=device).sum(0))
        return
    small = pt.rand(300, 300) + 1
    assert dispatches_of(small) == 2
    assert not pending(small)
    normalized = pt.rand(4200, 4200)
    normalized = normalized / normalized.sum(1, keepdims=True)
    repr(normalized)
    assert not pending(normalized)
    x = pt.rand(4200, 4200)
    for _ in range(40):
        x = x * 0.5 + 1
        repr(x)
        assert sum(node.storage is None for node in topological([x._node])) < 80
