"""The option `axes` of vector and matrix products, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt

CALLS: dict[str, list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]]] = {
    "matmul": [
        ((3, 2), (4, 3), {"axes": [(1, 0), (1, 0), (1, 0)]}),
        ((5, 2, 3), (3, 5, 7), {"axes": [(1, 2), (0, 2), (2, 0)]}),
        ((3, 2), (3,), {"axes": [(-1, 0), (0,), (0,)]}),
        ((3, 2), (3,), {"axes": [(1, 0), 0, 0]}),
        ((3,), (4, 3), {"axes": [0, (1, 0), 0]}),
        ((3,), (3,), {"axes": [0, (0,), ()]}),
    ],
    "matvec": [((5, 2, 3), (3, 5), {"axes": [(1, 2), 0, 0]})],
    "vecmat": [((3, 5), (3, 4, 5), {"axes": [0, (0, 1), -1]})],
    "vecdot": [
        ((2, 3), (2, 3), {"axes": [0, 0]}),
        ((2, 3), (3, 2), {"axes": [(0,), 1, ()]}),
        ((2, 3), (2, 3), {"axes": [0, 0, 0], "keepdims": True}),
        ((2, 3), (3, 2), {"axes": [0, 1], "keepdims": True}),
        ((2, 3), (2, 3), {"axis": 0, "keepdims": True}),
    ],
}


@pytest.mark.computes
@pytest.mark.parametrize("name", CALLS)
def test_axes(name: str, device: str, rng: np.random.Generator) -> None:
    for left, right, options in CALLS[name]:
        for dtype in ("float32", "complex64"):
            a, b = (rng.integers(-4, 5, shape).astype(dtype) for shape in (left, right))
            if dtype == "complex64":
                a, b = a * np.complex64(1 + 2j), b * np.complex64(2 - 1j)
            x, y = (pt.tensor(v, device=device) for v in (a, b))
            expected = getattr(np, name)(a, b, **options)
            got = getattr(pt, name)(x, y, **options)
            what = f"{name} of {left} and {right}, {options}"
            assert got.shape == expected.shape, what
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, err_msg=what)
            out = pt.zeros(expected.shape, dtype=dtype, device=device)
            assert getattr(pt, name)(x, y, out=out, **options) is out
            np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6, err_msg=what)
            mine = getattr(np, name)(x, y, **options)
            assert isinstance(mine, pt.Tensor), what


def test_invalid_calls(device: str) -> None:
    x: Any = pt.ones((2, 2), device=device)
    matmul: Any = pt.matmul
    matvec: Any = pt.matvec
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: matmul(x, x, axis=0), TypeError, "matmul: axis is not supported"),
        (lambda: matmul(x, x, keepdims=True), TypeError, "matmul: keepdims is not supported"),
        (lambda: matvec(x, x, axes=(0, 0)), TypeError, r"matvec: axes must be .*, not \(0, 0\)"),
        (lambda: matmul(x, x, axes=[(0, 1)] * 2), ValueError, "matmul: axes must have an entry"),
        (lambda: matmul(x[0], x[0], axes=[0, 0]), ValueError, "matmul: axes must have an entry"),
        (lambda: matmul(x, x, axes=[0, (0, 1), 0]), ValueError, "matmul: an entry .* not 0"),
        (lambda: matmul(x, x, axes=[(0, 5)] * 3), pt.AxisError, ".*axis 5"),
        (lambda: pt.vecdot(x, x, axes=[0, 0], axis=1), TypeError, "vecdot: takes axis or axes"),
        (lambda: matmul(x[0, 0], x, axes=[(), (0, 1), 0]), pt.ShapeError, "matmul: .* one axis"),
    ]
    for call, error, match in wrong:
        with pytest.raises(error, match=f"^{match}"):
            call()
