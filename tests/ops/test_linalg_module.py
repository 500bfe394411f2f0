"""`pt.linalg`: norms, powers and chains of products, against NumPy's."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.test_compositions import compare

SPECIAL = [[np.nan, 1.0], [np.inf, -np.inf], [0.0, -0.0]]


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_norms(device: str, rng: np.random.Generator) -> None:
    orders: tuple[Any, ...] = (None, 1, 2, np.inf, -np.inf, 0, 3, -1, 0.5)
    for array in (rng.standard_normal((3, 4, 2)), rng.integers(-4, 5, (3, 4, 2)), [SPECIAL]):
        values = np.asarray(array, np.float32)
        x = pt.tensor(values, device=device)
        wide = values.astype(np.float64)
        for order in orders:
            for axis in (0, 1, -1):
                what = f"order {order}, axis {axis}"
                compare(pt.linalg.norm(x, order, axis), np.linalg.norm(wide, order, axis), what)
        for order in (None, "fro", 1, -1, np.inf, -np.inf):
            for axes in ((0, 1), (2, 1), (-1, 0)):
                for keepdims in (False, True):
                    expected = np.linalg.norm(wide, order, axes, keepdims)
                    got = pt.linalg.norm(x, order, axes, keepdims)
                    compare(got, expected, f"order {order} of matrices, {axes}, {keepdims}")
        compare(pt.linalg.norm(x), np.linalg.norm(wide), "all elements")
        compare(
            pt.linalg.norm(x, keepdims=True),
            cast("Any", np.linalg).norm(wide, keepdims=True),
            "kept",
        )
        compare(pt.linalg.vector_norm(x, axis=(0, 2)), np.linalg.vector_norm(wide, axis=(0, 2)), "")
        compare(pt.linalg.matrix_norm(x, ord=1), np.linalg.matrix_norm(wide, ord=1), "matrix_norm")
    compare(pt.linalg.norm([3, 4]), np.float64(5), "of a list")


@pytest.mark.computes
def test_powers_and_chains(device: str, rng: np.random.Generator) -> None:
    square = rng.standard_normal((2, 3, 3)).astype(np.float32)
    x = pt.tensor(square, device=device)
    for n in range(7):
        expected = np.linalg.matrix_power(square.astype(np.float64), n)
        compare(pt.linalg.matrix_power(x, n), expected, f"to the {n}")
    whole = pt.tensor([[1, 1], [1, 0]], device=device)
    assert pt.linalg.matrix_power(whole, 30).tolist()[0][1] == 832040
    parts = [rng.standard_normal(s).astype(np.float32) for s in ((10, 30), (30, 5), (5, 60), (60,))]
    for chain in (parts, parts[:3], parts[:2], [parts[0][0], *parts[1:]]):
        tensors = [pt.tensor(part, device=device) for part in chain]
        expected = np.linalg.multi_dot([part.astype(np.float64) for part in chain])
        got = pt.linalg.multi_dot(tensors).numpy()
        np.testing.assert_allclose(got, expected, 1e-4, 1e-3)
    half: Any = 1.5
    for call, error in (
        (lambda: pt.linalg.matrix_power(x[0, :2], 2), pt.linalg.LinAlgError),
        (lambda: pt.linalg.matrix_power(x, half), TypeError),
        (lambda: pt.linalg.multi_dot([x[0]]), ValueError),
        (lambda: pt.linalg.multi_dot([x, x]), pt.linalg.LinAlgError),
        (lambda: pt.linalg.norm(x, 1), pt.ShapeError),
        (lambda: pt.linalg.norm(x, "no", (0, 1)), ValueError),
        (lambda: pt.linalg.norm(x, "fro", 0), ValueError),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.computes
def test_diagonals_of_the_last_axes(device: str, rng: np.random.Generator) -> None:
    linalg = cast("Any", np.linalg)  # NumPy has them from version 2 on
    for shape in ((3, 4), (2, 3, 3), (2, 5, 3, 4)):
        array = rng.integers(-9, 10, shape).astype(np.float32)
        x = pt.tensor(array, device=device)
        for offset in (-1, 0, 2):
            what = f"{shape}, offset {offset}"
            compare(
                pt.linalg.diagonal(x, offset=offset), linalg.diagonal(array, offset=offset), what
            )
            compare(pt.linalg.trace(x, offset=offset), linalg.trace(array, offset=offset), what)


@pytest.mark.computes
def test_conditions_of_singular_matrices(device: str) -> None:
    """Infinite, but NaN if the matrix contains NaN; for each matrix of a stack separately."""
    stack = np.array(
        [[[1, 2], [3, 4]], [[1, 1], [1, 1]], [[0, 0], [0, 0]], [[np.nan, 1], [2, 3]]], np.float32
    )
    orders: tuple[Any, ...] = (None, 1, -1, 2, -2, np.inf, -np.inf, "fro")
    for p in orders:
        given = stack[:3] if p in (None, 2, -2) else stack  # NumPy finds no singular values of NaN
        with np.errstate(all="ignore"):
            expected = np.array([np.linalg.cond(m.astype(np.float64), p) for m in given])
        got = pt.linalg.cond(pt.tensor(given, device=device), p).numpy()
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), err_msg=f"cond by {p}")
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-4)
        if p != -2:
            assert (got[1:3] > 1e6).all(), (p, got)


def test_operands_that_are_not_matrices(device: str) -> None:
    x, refuses = pt.ones((2, 3), device=device), pt.linalg.LinAlgError
    for call, words in (
        (lambda: pt.linalg.cond(x[:, :0]), r"^cond: .*\(2, 0\)"),
        (lambda: pt.linalg.cond(x[0]), r"^cond: .*\(3,\)"),
        (lambda: pt.linalg.tensorinv(x, 1), r"^tensorinv: .*\(2,\) and \(3,\)"),
        (lambda: pt.linalg.multi_dot([x, x[0], x]), "^multi_dot: "),
        (lambda: pt.linalg.lstsq(x, x[0]), r"^lstsq: .*\(2, 3\) and \(3,\)"),
        (lambda: pt.linalg.lstsq(x[0], x[0]), r"^lstsq: takes matrices"),
        (lambda: pt.linalg.eigh(x[0, 0]), r"^eigh: .*\(\)"),
    ):
        with pytest.raises(refuses, match=words):
            call()


@pytest.mark.computes
def test_ranks_of_vectors(device: str) -> None:
    for values in ([0.0, 2.0], [0.0, 0.0], 3.0, 0.0, []):
        got = pt.linalg.matrix_rank(pt.tensor(values, device=device))
        assert got.dtype is pt.int32
        assert int(got) == np.linalg.matrix_rank(np.array(values)), values
