"""Solvers and matrix decompositions: residuals, and values against NumPy in float64."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.operands import Few

Array = Any
EPS = 2.0**-23
DTYPES = ("float32", "complex64")
SQUARES = (1, 2, 5)
SHAPES = ((4, 4), (5, 3), (3, 4), (1, 3))


def matrices(rng: np.random.Generator, dtype: str, *shape: int) -> Array:
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if dtype == "complex64" else a).astype(dtype)


def adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def wide(x: Any) -> Array:
    """Return a result in 64 bits."""
    found = x.numpy()
    return found.astype(np.complex128 if found.dtype.kind == "c" else np.float64)


def close(got: Any, expected: Array, what: str, size: float = 1.0) -> None:
    """Assert an error of at most 10 n eps, `size` times, relative to the largest element."""
    found = wide(got) if isinstance(got, pt.Tensor) else got
    assert found.shape == np.shape(expected), f"{what}: shape {found.shape}"
    n = max(found.shape[-2:], default=1)
    bound = 10 * max(n, 2) * EPS * size * max(np.max(np.abs(expected), initial=0), 1)
    apart = np.max(np.abs(found - expected), initial=0)
    assert apart <= bound, f"{what}: off by {apart:.3g}, bound {bound:.3g}"


def each_close(found: Array, expected: Array, what: str, sizes: Array) -> None:
    """`close` for each matrix, or each number, along the first axis."""
    axes = tuple(range(1, found.ndim))
    n = max(found.shape[1:], default=1)
    scale = np.maximum(np.max(np.abs(expected), axis=axes), 1)
    apart = np.max(np.abs(found - expected), axis=axes)
    wrong = np.flatnonzero(~(apart <= 10 * max(n, 2) * EPS * sizes * scale))
    assert not wrong.size, f"{what}: {wrong} are off by {apart[wrong]}"


def orthonormal(got: Any, what: str) -> None:
    """Columns of length 1, at right angles."""
    a = wide(got)
    close(
        adjoint(a) @ a,
        np.broadcast_to(np.eye(a.shape[-1]), (*a.shape[:-2], *a.shape[-1:] * 2)),
        what,
    )


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_equations(dtype: str, device: str, rng: np.random.Generator) -> None:
    for n in SQUARES:
        a, b = matrices(rng, dtype, 2, n, n), matrices(rng, dtype, 2, n, 3)
        a += 2 * np.eye(n, dtype=dtype)
        x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
        condition = float(np.max(np.linalg.cond(a)))
        close(a @ wide(pt.linalg.solve(x, y)), b, f"solve {n}", condition)
        close(a @ wide(pt.linalg.inv(x)), np.broadcast_to(np.eye(n), a.shape), "inv", condition)
        exact = np.linalg.det(a.astype(np.complex128))
        close(pt.linalg.det(x), exact if dtype == "complex64" else exact.real, "det", condition)
        sign, logarithm = pt.linalg.slogdet(x)
        close(wide(sign) * np.exp(wide(logarithm)), exact, "slogdet", condition)
        close(a[0] @ wide(pt.linalg.solve(x[0], y[0, :, 0])), b[0, :, 0], "a vector", condition)
    pivoted = pt.tensor([[0.0, 1.0], [2.0, 0.0]], device=device)
    close(pt.linalg.inv(pivoted), np.array([[0, 0.5], [1, 0]]), "a pivot that is 0")
    assert pt.linalg.det(pivoted).item() == -2
    many = matrices(rng, dtype, 3, 1, 2, 2) + 3 * np.eye(2, dtype=dtype)
    right = matrices(rng, dtype, 4, 2, 1)
    found = pt.linalg.solve(pt.tensor(many, device=device), pt.tensor(right, device=device))
    close(many @ wide(found), np.broadcast_to(right, (3, 4, 2, 1)), "batches that broadcast", 4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [64, 65, 100, 129])
def test_cholesky_by_panels(dtype: str, n: int, device: str, rng: np.random.Generator) -> None:
    """Matrices with more rows below the diagonal block than a workgroup has invocations."""
    a = matrices(rng, dtype, 2, n, n)
    a = (a @ adjoint(a) + n * np.eye(n)).astype(dtype)
    low = wide(pt.linalg.cholesky(pt.tensor(a, device=device)))
    assert not np.triu(low, 1).any()
    error = np.abs(low @ adjoint(low) - a).max() / np.abs(a).max()
    assert error <= 10 * n * np.finfo(np.float32).eps
    if device != "cpu":
        a[1] = -a[1]
        assert np.isnan(pt.linalg.cholesky(pt.tensor(a, device=device)).numpy()[1]).any()


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_definite_and_symmetric_matrices(dtype: str, device: str, rng: np.random.Generator) -> None:
    for n in SQUARES:
        a = matrices(rng, dtype, 2, n, n)
        a = (a @ adjoint(a) + n * np.eye(n)).astype(dtype)
        x = pt.tensor(a, device=device)
        low = pt.linalg.cholesky(x)
        close(wide(low) @ adjoint(wide(low)), a, f"cholesky {n}")
        assert not np.triu(low.numpy(), 1).any()
        up = wide(pt.linalg.cholesky(x, upper=True))
        close(adjoint(up) @ up, a, "an upper triangle")
        mixed = (a - 2 * n * np.eye(n)).astype(dtype)  # of both signs
        values, vectors = pt.linalg.eigh(pt.tensor(mixed, device=device))
        close(values, np.linalg.eigvalsh(mixed.astype(np.complex128)), f"eigenvalues {n}")
        orthonormal(vectors, f"eigenvectors {n}")
        v = wide(vectors)
        close(v * wide(values)[..., None, :] @ adjoint(v), mixed, f"eigh {n}")
    alike = pt.tensor(np.eye(4), device=device) * 3
    close(pt.linalg.eigvalsh(alike), np.full(4, 3.0), "equal eigenvalues")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonal_factors(
    shape: tuple[int, int], dtype: str, device: str, rng: np.random.Generator
) -> None:
    a = matrices(rng, dtype, 2, *shape)
    x, count = pt.tensor(a, device=device), min(shape)
    for mode in ("reduced", "complete"):
        q, r = pt.linalg.qr(x, mode=mode)
        close(wide(q) @ wide(r), a, f"qr, {mode}")
        orthonormal(q, f"Q, {mode}")
        assert not np.tril(r.numpy(), -1).any()
    for full in (True, False):
        u, s, vh = pt.linalg.svd(x, full_matrices=full)
        close(s, np.linalg.svd(a.astype(np.complex128), compute_uv=False), "singular values")
        orthonormal(u, "U")
        orthonormal(vh.mT.conj(), "V")
        close(wide(u)[..., :count] * wide(s)[..., None, :] @ wide(vh)[..., :count, :], a, "svd")
    close(
        wide(pt.linalg.pinv(x)) @ a @ wide(pt.linalg.pinv(x)), wide(pt.linalg.pinv(x)), "pinv", 99
    )
    assert pt.linalg.matrix_rank(x).tolist() == [count, count]


@pytest.mark.computes
def test_ranks_and_least_squares(device: str, rng: np.random.Generator) -> None:
    low = (rng.standard_normal((6, 2)) @ rng.standard_normal((2, 4))).astype(np.float32)
    x = pt.tensor(low, device=device)
    assert pt.linalg.matrix_rank(x, rtol=1e-5).item() == 2
    u, _, vh = pt.linalg.svd(x)
    orthonormal(u, "U of a matrix of rank 2")
    orthonormal(vh.mT, "V of a matrix of rank 2")
    a = rng.standard_normal((20, 3)).astype(np.float32)
    b = rng.standard_normal(20).astype(np.float32)
    found = pt.linalg.lstsq(pt.tensor(a, device=device), pt.tensor(b, device=device))
    exact = np.linalg.lstsq(a.astype(float), b.astype(float), rcond=None)
    close(found[0], exact[0], "least squares", 4)
    close(found[1], exact[1], "residuals", 4)
    assert found[2] == 3
    close(found[3], exact[3], "singular values")
    square = pt.tensor(a[:3], device=device)
    for order in (2, -2, "nuc"):
        wanted: Any = order
        expected = np.linalg.norm(a.astype(float), wanted)
        close(pt.linalg.norm(pt.tensor(a, device=device), order), np.asarray(expected), "norm")
    condition = np.linalg.cond(a[:3].astype(float))
    for order in (None, 1, "fro"):
        p: Any = order
        expected = np.linalg.cond(a[:3].astype(float), p)
        close(pt.linalg.cond(square, p) / expected, np.asarray(1.0), "cond", condition)
    cubed = np.linalg.matrix_power(a[:3].astype(float), -3)
    got = pt.linalg.matrix_power(square, -3)
    close(wide(got) / np.max(np.abs(cubed)), cubed / np.max(np.abs(cubed)), "a power", condition)
    values, vectors = pt.linalg.eig(square)
    v = wide(vectors)
    close(a[:3] @ v, v * wide(values)[None, :], "eig", 9)


def test_invalid_operands(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for name in ("inv", "det", "slogdet", "cholesky", "eigh", "eig"):
        with pytest.raises(pt.linalg.LinAlgError, match=rf"^{name}: takes square matrices"):
            getattr(pt.linalg, name)(x)
    for name in ("qr", "svd", "pinv"):
        with pytest.raises(
            pt.linalg.LinAlgError, match=rf"^{name}: takes matrices, not shape \(3,\)"
        ):
            getattr(pt.linalg, name)(x[0])
    for a_shape, b_shape in (
        ((2, 2), (3, 2)),
        ((4, 4), (5,)),
        ((2, 4, 4), (3,)),
        ((4, 4), ()),
        ((2, 4, 4), (3, 4, 1)),
    ):
        a, b = (pt.ones(shape, device=device) for shape in (a_shape, b_shape))
        words = re.escape(f"solve: b of shape {b_shape} does not match a of shape {a_shape}")
        with pytest.raises(pt.ShapeError, match=f"^{words}$"):
            pt.linalg.solve(a, b)
    a = np.asarray([[1, 2], [3, 4], [5, 7]], np.float32)
    for mine, theirs in zip(
        pt.linalg.qr(pt.tensor(a, device=device), "raw"), np.linalg.qr(a, "raw"), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), theirs, 1e-5)
    with pytest.raises(ValueError, match=r"^qr: mode"):
        pt.linalg.qr(x, mode="other")
    assert pt.linalg.inv(pt.zeros((0, 3, 3), device=device)).shape == (0, 3, 3)
    assert (
        pt.linalg.solve(pt.zeros((0, 0), device=device), pt.zeros((0, 2), device=device)).size == 0
    )


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_many_small_matrices(dtype: str, device: str, rng: np.random.Generator, few: Few) -> None:
    """Sizes around the largest that fit a workgroup, with few and many right-hand sides."""
    for n in few((1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33), 4):
        count = 67
        a = matrices(rng, dtype, count, n, n)
        a[1] = a[0][::-1]  # pivots elsewhere
        a[2] = np.eye(n)[:, ::-1]
        condition = np.linalg.cond(a)
        x = pt.tensor(a, device=device)
        for sides in (1, 5, 70):
            b = matrices(rng, dtype, count, n, sides)
            found = wide(pt.linalg.solve(x, pt.tensor(b, device=device)))
            each_close(a @ found, b, f"solve {n}, {sides}", condition)
        exact = np.linalg.det(a.astype(np.complex128))
        each_close(wide(pt.linalg.det(x)), exact, f"det {n}", condition)
        definite = (a @ adjoint(a) + np.eye(n)).astype(dtype)
        low = wide(pt.linalg.cholesky(pt.tensor(definite, device=device)))
        close(low @ adjoint(low), definite, f"cholesky {n}")
        a[:, :, n // 2] = 0
        assert not pt.linalg.det(pt.tensor(a, device=device)).numpy().any()


@pytest.mark.computes
def test_many_rows(device: str, rng: np.random.Generator) -> None:
    a = matrices(rng, "float32", 10_000, 70)
    q, r = pt.linalg.qr(pt.tensor(a, device=device))
    apart = np.linalg.norm(wide(q) @ wide(r) - a) / np.linalg.norm(a)
    assert apart <= 10 * 70 * EPS
    orthonormal(q, "Q of many rows")
