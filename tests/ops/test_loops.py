"""Users' loops over elements that become loops within a kernel (`schedule/reroll.py`)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt

Array = np.ndarray[Any, Any]


def same(got: pt.Tensor, expected: Array) -> None:
    np.testing.assert_allclose(got.numpy(), expected, rtol=2e-4, atol=2e-5)


def spring(xp: Any, x: Any, v: Any, passes: int) -> list[Any]:
    a = x
    for _ in range(passes):
        a = -x * 1.5 - 0.1 * v
        v = v + 0.01 * a
        x = x + 0.01 * v
    return [x, v, a]


def swapped(xp: Any, x: Any, v: Any, passes: int) -> list[Any]:
    """Each pass uses the result of two passes before."""
    for _ in range(passes):
        x, v = v, x * 0.5 + v * 0.4
    return [x, v]


def series(xp: Any, x: Any, v: Any, passes: int) -> list[Any]:
    """Different constants in each pass."""
    total, term = x * 0, x * 0 + 1
    for n in range(1, passes):
        term = term * x * (1 / n)
        total = total + term * (1.0 if n % 3 else -1.0)
    return [total, term]


def escaping(xp: Any, x: Any, v: Any, passes: int) -> list[Any]:
    zx, zy, count = x * 0, v * 0, x * 0
    for _ in range(passes):
        inside = zx * zx + zy * zy < 4
        count = count + xp.where(inside, 1, 0)
        zx, zy = (
            xp.where(inside, zx * zx - zy * zy + x, zx),
            xp.where(inside, 2 * zx * zy + v, zy),
        )
    return [count]


def minimized(xp: Any, x: Any, v: Any, passes: int) -> list[Any]:
    """Return a sum after the loop, which is split off from it."""
    for _ in range(passes):
        x = xp.minimum(x - 0.05 * (xp.sin(x) + 2 * v), 3)
    return [x.sum(-1)]


@pytest.mark.computes
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 33), (4, 1024)])
@pytest.mark.parametrize("program", [spring, swapped, series, escaping, minimized])
def test_loops(
    program: Callable[..., list[Any]],
    shape: tuple[int, ...],
    device: str,
    rng: np.random.Generator,
) -> None:
    if program is minimized and not shape:
        shape = (2,)
    x, v = (rng.uniform(-0.5, 0.5, shape).astype(np.float32) for _ in range(2))
    for passes in (3, 40, 151):
        wide = [a.astype(np.float64) for a in (x, v)]
        tensors = [pt.tensor(a, device=device) for a in (x, v)]
        with np.errstate(all="ignore"):
            expected = program(np, *wide, passes)
        for got, right in zip(program(pt, *tensors, passes), expected, strict=True):
            if program is escaping:
                # One pass more or less is correct if it depends on rounding.
                near = [
                    program(np, wide[0] * (1 + a), wide[1] * (1 + b), passes)[0]
                    for size in (3e-6, 1e-5, 1e-4)
                    for a, b in itertools.product((-size, size), repeat=2)
                ]
                stable = np.all([a == right for a in near], axis=0)
                np.testing.assert_array_equal(got.numpy()[stable], right[stable])
            else:
                same(got, np.asarray(right))


@pytest.mark.computes
def test_constants_that_were_equal_may_differ(device: str, rng: np.random.Generator) -> None:
    """The plan of a loop with equal constants is not reused for different constants."""

    def program(xp: Any, x: Any, factors: list[float]) -> Any:
        for factor in factors:
            x = x * factor + 1.5
        return x

    a = rng.uniform(-1, 1, 9).astype(np.float32)
    x = pt.tensor(a, device=device)
    draw = random.Random(int(rng.integers(1 << 30)))
    for factors in ([0.5] * 90, [0.0] * 90, [-0.0] * 90, [0.25] * 89 + [0.5]):
        same(program(pt, x, factors), program(np, a.astype(np.float64), factors))
    for _ in range(3):
        factors = [draw.uniform(-1, 1) for _ in range(90)]
        same(program(pt, x, factors), program(np, a.astype(np.float64), factors))
    zeros = [0.0] * 89 + [-0.0]
    got = pt.tensor(np.ones(3, np.float32), device=device)
    for factor in zeros:
        got = got * factor
    assert np.signbit(got.numpy()).all()
    ended = [0.5] * 60 + [float("nan")] + [0.5] * 60
    assert np.isnan(program(pt, x, ended).numpy()).all()


@pytest.mark.computes
def test_values_that_a_loop_keeps(device: str, rng: np.random.Generator) -> None:
    a = rng.uniform(-1, 1, 50).astype(np.float32)
    x, right = pt.tensor(a, device=device), a.astype(np.float64)
    kept: list[tuple[pt.Tensor, Array]] = []
    for n in range(120):
        x, right = pt.cos(x) * 0.5 + x, np.cos(right) * 0.5 + right
        if n % 37 == 5:
            kept.append((x, right))
    pt.realize(x, *(got for got, _ in kept))
    for got, expected in (*kept, (x, right)):
        same(got, expected)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "bool"])
def test_conversions_within_a_loop(dtype: str, device: str, rng: np.random.Generator) -> None:
    a = (rng.integers(0, 20, 33) / 4).astype(np.float32)  # all values are exact

    def program(xp: Any, x: Any) -> Any:
        total = x * 0
        for _ in range(80):
            x = x + 0.75
            x = xp.where(x > 5, x - 5, x)
            total = total + x.astype(dtype).astype("float32")
        return total

    np.testing.assert_array_equal(program(pt, pt.tensor(a, device=device)), program(np, a))


@pytest.mark.computes
def test_an_early_value_is_used_after_the_loop(device: str, rng: np.random.Generator) -> None:
    a = rng.uniform(-1, 1, 50).astype(np.float32)
    for early in (0, 80, 297, 298):
        x, right = pt.tensor(a, device=device), a.astype(np.float64)
        y, kept = x, right
        for n in range(300):
            x, right = pt.cos(x) * 0.5 + x * 0.5, np.cos(right) * 0.5 + right * 0.5
            if n == early:
                y, kept = x, right
        z = x + y * 2
        del x, y
        same(z, right + kept * 2)


@pytest.mark.computes
def test_loops_in_kernels_that_fold(
    device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short loops, which are otherwise unrolled, are loops here; constants come from a table."""
    monkeypatch.setattr("py_tensor.schedule.reroll.MIN_REROLLED", 12)
    a = rng.uniform(-0.5, 0.5, (9, 70)).astype(np.float32)

    def program(xp: Any, x: Any) -> Any:
        y = x * 0
        for n in range(20):
            x, y = x * (0.5 + 0.02 * n) - y, x - 0.1  # stays bounded
        return x * y

    x, right = pt.tensor(a, device=device), program(np, a.astype(np.float64))
    same(program(pt, x), right)
    same(program(pt, x).sum(1), right.sum(1))
    same(program(pt, x).sum(), np.asarray(right.sum()))
    same(program(pt, x).cumsum(1), right.cumsum(1))
    shifted = np.exp(right - right.max(1, keepdims=True))
    y = program(pt, x)
    e = pt.exp(y - y.max(1, keepdims=True))
    same(e / e.sum(1, keepdims=True), shifted / shifted.sum(1, keepdims=True))
    same(program(pt, x.sum(1)), program(np, a.astype(np.float64).sum(1)))
    same(program(pt, x @ x.T), program(np, a.astype(np.float64) @ a.T.astype(np.float64)))
    np.testing.assert_array_equal(pt.argsort(program(pt, x), 1).numpy().shape, a.shape)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["int32", "uint32", "bool"])
def test_loops_of_integers(dtype: str, device: str, rng: np.random.Generator) -> None:
    a, b = (rng.integers(0, 2 if dtype == "bool" else 99, 11).astype(dtype) for _ in range(2))
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    with np.errstate(over="ignore"):
        for _ in range(100):
            if dtype == "bool":
                x, y, a, b = x ^ y, ~x | y, a ^ b, ~a | b
            else:
                x, y, a, b = x * 3 + y, x ^ y, a * a.dtype.type(3) + b, a ^ b
    np.testing.assert_array_equal(x.numpy(), a)
    np.testing.assert_array_equal(y.numpy(), b)


def filtered(xp: Any, xs: Any, move: Any, see: Any) -> list[Any]:
    """A Kalman filter: the state and its covariance after noisy measurements of positions."""
    state, spread, one = move[0] * 0, xp.eye(4, dtype=xs.dtype), xp.eye(2, dtype=xs.dtype)
    for k in range(len(xs)):
        state, spread = move @ state, move @ spread @ move.T + 0.01
        expected = see @ spread @ see.T + 0.5 * one
        a, b, c, d = (expected[i, j] for i in range(2) for j in range(2))
        inverse = xp.stack([xp.stack([d, -b]), xp.stack([-c, a])]) / (a * d - b * c)
        gain = spread @ see.T @ inverse
        state = state + gain @ (xs[k, :2] - see @ state)
        spread = spread - gain @ see @ spread
    return [state, spread]


@pytest.mark.computes
def test_a_filter_over_rows(device: str, rng: np.random.Generator) -> None:
    a = rng.normal(size=(90, 3)).astype(np.float32)
    move = np.eye(4, dtype=np.float32) + 0.1 * np.eye(4, k=2, dtype=np.float32)
    see = np.eye(2, 4, dtype=np.float32)
    tensors = [pt.tensor(x, device=device) for x in (a, move, see)]
    for count in (3, 20, 90):
        expected = filtered(np, *(x.astype(np.float64) for x in (a[:count], move, see)))
        computed = filtered(pt, tensors[0][:count], *tensors[1:])
        for got, right in zip(computed, expected, strict=True):
            same(got, right)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "float16", "int64", "bool"])
@pytest.mark.parametrize("width", [1, 3, 8, 17, 32])
def test_loops_over_rows(width: int, dtype: str, device: str, rng: np.random.Generator) -> None:
    """What an iteration reads begins at any element; values are small, so that all are exact."""
    a = rng.integers(0, 2 if dtype == "bool" else 4, (40, width)).astype(dtype)

    def program(xp: Any, xs: Any, start: int) -> list[Any]:
        x = (xs[0] * 0).astype("float32")
        columns = (xs[:6, 0] * 0).astype("float32")
        for k in range(start, start + 9):
            x = xp.roll(x, 1) * 0.5 + xs[k] + xs[::-1][k] - xs[k, ::-1]
            x = x + xs[k : k + 2].sum(0) * xs[k + 2, k % width] - xs[k + 3 : k : -2][1]
            columns = columns[::-1] * 0.5 + xs[k : k + 6, -1 - k % width]
            columns = columns + (xs[k : k + 2, : width // 2] @ xs[k + 2, : width // 2]).sum()
        return [x, columns]

    xs = pt.tensor(a, device=device)
    for start in (0, 1, 5, 22):
        for got, expected in zip(program(pt, xs, start), program(np, a, start), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.computes
def test_rows_of_a_pending_table_that_stand_still(device: str) -> None:
    """One plan serves two loops over different rows, each the same row in every iteration.

    The shortened program has fewer views of the table than make them free.
    """
    a, w = pt.ones((40, 8), device=device), pt.zeros((8, 8), device=device)
    pt.realize(a, w)
    for row in (3, 5, 0):
        table = pt.cumsum(a, 0) * 1
        x = a[0]
        for _ in range(12):
            x = x @ w + table[row]
        same(x, np.full(8, row + 1, np.float32))


def advanced(xp: Any, u: Any, xs: Any, k: int) -> None:
    u[k + 1] = u[k] * 0.5 + xp.roll(u[k], 1) - xs[k]


def reversed_steps(xp: Any, u: Any, xs: Any, k: int) -> None:
    u[-1 - k, ::-1] = u[-k] - xs[k] * 2
    u[2 * k % 30 : 40 : 9, 0] = u[-1 - k, -1]


def columns(xp: Any, u: Any, xs: Any, k: int) -> None:
    width = u.shape[1]
    u[:, k % width] = u[:, (k + 1) % width] * 0.5 + xs[:, k % width]
    u[k, 1:-1] += xs[k, 1:-1]


def in_place(xp: Any, u: Any, xs: Any, k: int) -> None:
    u[k] += xs[k]
    u[k] *= 2
    u[3] = u[3] * 0.5 + u[k]
    u[k, k % u.shape[1]] = 7


def read_later(xp: Any, u: Any, xs: Any, k: int) -> None:
    """What was there before it is overwritten is used after it is."""
    before, copy = u[k] + 0, u.copy()
    u[k] = xs[k]
    u[k + 1 : k + 3] = before * 0.5 + copy[k + 1 : k + 3] - u[k]


WRITES = [advanced, reversed_steps, columns, in_place, read_later]


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("width", [3, 8, 17, 32])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_loops_that_assign_to_rows(
    write: Any, width: int, dtype: str, device: str, rng: np.random.Generator
) -> None:
    """The same plan serves other rows; all values are exact."""
    a, b = (rng.integers(-2, 3, (40, width)).astype(dtype) for _ in range(2))

    def program(xp: Any, u: Any, xs: Any, start: int) -> list[Any]:
        total = xs[0] * 0
        for k in range(start, start + 9):
            write(xp, u, xs, k)
            total = total + u[k]
        return [u, total]

    for base in (a, a + b):
        for start in (0, 1, 5, 22):
            u, xs = pt.tensor(base, device=device), pt.tensor(b, device=device)
            snapshot = u.copy() if start == 5 else None
            expected = program(np, base.copy(), b, start)
            computed = program(pt, u if start else u * 1, xs, start)
            for got, right in zip(computed, expected, strict=True):
                np.testing.assert_array_equal(got.numpy(), right)
            if snapshot is not None:
                np.testing.assert_array_equal(snapshot.numpy(), base)


@pytest.mark.computes
def test_long_trajectories(device: str, rng: np.random.Generator) -> None:
    """Several flushes, each of which begins at another row, and large arrays that are kept."""
    a = rng.integers(-8, 8, (700, 40, 20)).astype(np.float32)
    xs = pt.tensor(a, device=device)
    for kept in (False, True):
        out, right = pt.zeros((700, 40, 20), device=device), np.zeros((700, 40, 20), np.float32)
        x, y, copies = xs[0], a[0], list[tuple[pt.Tensor, Array]]()
        for k in range(699):
            x, y = pt.roll(x, 1, 1) * 0.5 + xs[k], np.roll(y, 1, 1) * np.float32(0.5) + a[k]
            x, y = pt.floor(x), np.floor(y)
            out[k + 1], right[k + 1] = x, y
            if kept and k % 200 == 150:
                copies.append((out.copy(), right.copy()))
        for got, expected in (*copies, (out, right)):
            np.testing.assert_array_equal(got.numpy(), expected)
