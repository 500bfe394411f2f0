"""Matrix products against float64, within the error bound of a float32 dot product."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import GPU_DEVICE
from py_tensor.codegen.adapter_profile import FLAT, FURTHER, LARGE, MEDIUM, SMALL, Tile
from tests.ops.compare import element, same

Array = Any
SIZES = (0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 127, 128, 129)
SAMPLE = 48  # random triples of sizes
FIXED = (
    (1, 1, 1),
    (0, 3, 4),
    (3, 0, 4),
    (3, 4, 0),
    (1, 129, 1),
    (129, 1, 129),
    (1, 129, 129),
    (129, 129, 1),
    (3, 65, 5),
    (64, 64, 64),
    (65, 65, 65),
    (63, 63, 63),
    (128, 128, 128),
    (129, 129, 129),
    (127, 1, 3),
    (16, 129, 17),
    (5, 16, 127),
)
EPS = 2.0**-24


def products(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the product in float64, and the error bound in float32: (K + 2) eps |a| @ |b|."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a @ b, (a.shape[-1] + 2) * EPS * (np.abs(a) @ np.abs(b)) + 1e-37


def near(got: Any, expected: Array, bound: Array, what: str) -> None:
    values = got.numpy()
    assert values.dtype == np.float32, f"{what}: dtype {values.dtype}"
    assert values.shape == expected.shape, f"{what}: shape {values.shape}, not {expected.shape}"
    off = np.abs(values - expected)
    bad = ~(off <= bound)
    if np.any(bad):
        at = element(bad)
        raise AssertionError(
            f"{what}: element {at} is {values[at]!r}, not {expected[at]!r} "
            f"+- {np.broadcast_to(bound, off.shape)[at]:.3g} "
            f"({np.count_nonzero(bad)} of {values.size} wrong)"
        )


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


@pytest.mark.computes
@pytest.mark.parametrize("form", ["a @ b", "a.T @ b", "a @ b.T", "a.T @ b.T"])
def test_sizes(form: str, device: str, rng: np.random.Generator) -> None:
    """Fixed difficult sizes and random ones, with every combination of transposition."""
    cube = list(itertools.product(SIZES, repeat=3))
    chosen = [*FIXED, *(cube[i] for i in rng.choice(len(cube), SAMPLE // 4, replace=False))]
    left, _, right = form.partition(" @ ")
    for m, k, n in chosen:
        a = random(rng, k, m).T if left == "a.T" else random(rng, m, k)
        b = random(rng, n, k).T if right == "b.T" else random(rng, k, n)
        x = (
            pt.tensor(np.ascontiguousarray(a.T), device=device).T
            if left == "a.T"
            else pt.tensor(a, device=device)
        )
        y = (
            pt.tensor(np.ascontiguousarray(b.T), device=device).T
            if right == "b.T"
            else pt.tensor(b, device=device)
        )
        near(x @ y, *products(a, b), f"{form}, M, K, N = {m}, {k}, {n}")


def operand(values: Array, transposed: bool, device: str) -> pt.Tensor:
    """Return a tensor of these values, stored in this order or transposed."""
    if transposed:
        return pt.tensor(np.ascontiguousarray(values.T), device=device).T
    return pt.tensor(values, device=device)


def force(monkeypatch: pytest.MonkeyPatch, tile: Tile, parts: int = 1) -> None:
    """Use this implementation for all products from now on."""
    monkeypatch.setattr("py_tensor.codegen.matmul.tile_for", lambda *_: (tile, parts))
    if GPU_DEVICE.is_ready:
        backend: Any = GPU_DEVICE.backend
        backend.programs.lowerings.clear()


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize("tile", [LARGE, MEDIUM, SMALL, *FURTHER], ids=str)
def test_tiles(
    tile: Tile, device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes beyond each tile, multiples of a vector or not, with operands in any layout."""
    whole = (tile.bm + 4, 2 * tile.bk + 4, tile.bn + 4)
    odd = (int(rng.integers(2, 2 * tile.bm)), int(rng.integers(5, 3 * tile.bk)), tile.bn - 1)
    for m, k, n in (whole, odd):
        parts = int(rng.integers(1, 4))
        force(monkeypatch, tile, parts)
        a, b, turned = random(rng, m, k), random(rng, k, n), rng.random(2) < 0.5
        x, y = operand(a, bool(turned[0]), device), operand(b, bool(turned[1]), device)
        what = f"M, K, N = {m}, {k}, {n}, {parts} parts, transposed: {turned}"
        near(x @ y, *products(a, b), what)


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize(("tile", "parts"), [(SMALL, 3), (FLAT, 1)], ids=str)
def test_operands_of_tiles(
    tile: Tile, parts: int, device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, strides, fused ops after the product, and NaN outside the operands."""
    force(monkeypatch, tile, parts)
    for m, n, k in ((6, 10, 2 * tile.bk + 1), (8, 12, 3 * tile.bk + 4)):
        a, b = random(rng, 2, 2 * m, k + 4), random(rng, 2, k + 4, n)
        a[..., k:] = np.nan
        b[..., k:, :] = np.inf
        a[:, 1::2] = np.nan
        x, y = pt.tensor(a, device=device)[:, ::2, :k], pt.tensor(b, device=device)[:, :k]
        expected, bound = products(a[:, ::2, :k], b[:, :k])
        what = f"M, K, N = {m}, {k}, {n}"
        near(x @ y, expected, bound, f"batches, {what}")
        near(x @ y[:1], *products(a[:, ::2, :k], b[:1, :k]), f"one right operand, {what}")
        flipped = products(a[:, ::2, :k][..., ::-1, ::-1], b[:, :k][:, ::-1])
        near(x[..., ::-1, ::-1] @ y[:, ::-1], *flipped, f"flipped, {what}")
        row, column = random(rng, n), random(rng, m, 1)
        slack = bound + 8 * EPS * (np.abs(expected) + np.abs(row) + np.abs(column))
        got = x @ y * pt.tensor(column, device=device) + pt.tensor(row, device=device)
        near(got, expected * column + row, slack * (np.abs(column) + 1), f"an epilogue, {what}")
        i, j = rng.integers(-9, 9, (m, k), np.int32), rng.integers(-9, 9, (k, n), np.int32)
        same(pt.tensor(i, device=device) @ pt.tensor(j, device=device), i @ j, f"integers, {what}")


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_short_products(k: int, device: str, rng: np.random.Generator) -> None:
    """Products with few terms are elementwise kernels."""
    for m, n in ((5, 3), (33, 64), (64, 33)):
        a, b, column = random(rng, 2, m, k), random(rng, 2, k, n), random(rng, m, 1)
        x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
        expected, bound = products(a, b)
        near(x @ y, expected, bound, f"M, K, N = {m}, {k}, {n}")
        near(x[0, ::-1] @ y[1], *products(a[0, ::-1], b[1]), f"flipped, M, K, N = {m}, {k}, {n}")
        turned = operand(a[1], True, device) @ operand(b[0], True, device)
        got = (turned + pt.tensor(column, device=device)).relu()
        total, slack = products(a[1], b[0])
        slack = slack + 8 * EPS * (np.abs(total) + np.abs(column))
        near(got, np.maximum(total + column, 0), slack, f"transposed, M, K, N = {m}, {k}, {n}")
    i, j = rng.integers(-9, 9, (7, k), np.int32), rng.integers(-9, 9, (k, 5), np.int32)
    same(pt.tensor(i, device=device) @ pt.tensor(j, device=device), i @ j, f"integers, K = {k}")


@pytest.mark.computes
def test_short_products_within_other_kernels(device: str, rng: np.random.Generator) -> None:
    """Few terms and few columns become part of the following elementwise kernel."""
    for m, k, n in ((300, 8, 16), (301, 3, 5), (4, 16, 77), (9, 2, 2)):
        a, b = random(rng, m, k), random(rng, k, n)
        x, y = pt.tensor(a, device=device), pt.tensor(np.ascontiguousarray(b.T), device=device).T
        product, bound = products(a, b)
        what = f"M, K, N = {m}, {k}, {n}"
        near((x @ y * -2).max(1), (product * -2).max(1), 2 * bound.max(1), f"max, {what}")
        same((x @ y).argmin(1), product.argmin(1).astype(np.int32), f"argmin, {what}")
        total = k * n * EPS * np.abs(product).sum(0) + bound.sum(0) * m
        near((x @ y + 1).sum(0), (product + 1).sum(0), total + m * EPS * m, f"sum, {what}")
        i, j = rng.integers(-9, 9, (m, k), np.int32), rng.integers(-9, 9, (k, n), np.int32)
        integers = pt.tensor(i, device=device) @ pt.tensor(j, device=device)
        same(integers.max(0), (i @ j).max(0), f"integers, {what}")


@pytest.mark.computes
def test_vectors(device: str, rng: np.random.Generator) -> None:
    for k, n in ((1, 1), (5, 3), (64, 65), (129, 17), (1031, 3), (3, 1031)):
        a, b, v = random(rng, k), random(rng, k, n), random(rng, k)
        x, y, w = (pt.tensor(t, device=device) for t in (a, b, v))
        near(x @ w, *products(a, v), f"vector {k} @ vector")
        near(x @ y, *products(a, b), f"vector {k} @ matrix {k, n}")
        near(y.T @ x, *products(b.T, a), f"matrix {n, k} @ vector")
        near(x.flip() @ y, *products(a[::-1], b), f"flipped vector {k} @ matrix {k, n}")
        near(pt.dot(x, w), *products(a, v), f"dot of vectors of {k}")
    batch, v = random(rng, 3, 4, 5), random(rng, 5)
    near(
        pt.tensor(batch, device=device) @ pt.tensor(v, device=device),
        *products(batch, v),
        "batch @ vector",
    )
    v = random(rng, 4)
    near(
        pt.tensor(v, device=device) @ pt.tensor(batch, device=device),
        *products(v, batch),
        "vector @ batch",
    )


@pytest.mark.computes
def test_tall_matrices_by_vectors(device: str, rng: np.random.Generator) -> None:
    """Odd sizes, views, batches, and following ops."""
    odd = int(rng.integers(256, 400)), int(rng.integers(1, 600))
    for m, k in ((256, 1), (264, 4), (257, 255), (300, 1031), odd):
        what = f"M, K = {m}, {k}"
        a, v, bias = random(rng, m, k), random(rng, k), random(rng, m)
        a[-1] = np.nan  # must not leak into other rows
        for transposed in (False, True):
            x, w = operand(a, transposed, device), pt.tensor(v, device=device)
            near((x @ w)[:-1], *products(a[:-1], v), what)
            near((w @ x.T)[:-1], *products(a[:-1], v), f"vector first, {what}")
            near((x[::-1] @ w.flip())[1:], *products(a[-2::-1], v[::-1]), f"flipped, {what}")
        product, bound = products(a[:-1], v)
        slack = 8 * EPS * (np.abs(product) + np.abs(bias[:-1]))
        shifted = x @ w * 2 + pt.tensor(bias, device=device)
        near(shifted[:-1], product * 2 + bias[:-1], 2 * bound + slack, f"scaled, a bias, {what}")
        i, j = (rng.integers(-9, 9, s, dtype=np.int32) for s in ((m, k), (k,)))
        same(pt.tensor(i, device=device) @ pt.tensor(j, device=device), i @ j, what)
    batch, vectors = random(rng, 5, 67, 33), random(rng, 5, 33, 1)
    x, w = pt.tensor(batch, device=device), pt.tensor(vectors, device=device)
    near(x @ w, *products(batch, vectors), "a batch of columns")
    near(w.mT @ x.mT, *products(vectors.swapaxes(1, 2), batch.swapaxes(1, 2)), "rows")
    near(x @ w[0, :, 0], *products(batch, vectors[0, :, 0]), "a batch by one vector")


BATCHES = (
    ((2,), (2,)),
    ((3,), (1,)),
    ((), (4,)),
    ((2, 1), (3,)),
    ((2, 3), (2, 3)),
    ((1, 1), (2, 2)),
    ((0,), (1,)),
    ((5, 1, 2), (3, 1)),
)


@pytest.mark.computes
def test_batches(device: str, rng: np.random.Generator) -> None:
    for i, (left, right) in enumerate(BATCHES):
        m, k, n = ((4, 5, 3), (17, 16, 33), (8, 64, 4))[i % 3]
        a, b = random(rng, *left, m, k), random(rng, *right, k, n)
        x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
        near(pt.matmul(x, y), *products(a, b), f"matmul of {a.shape} and {b.shape}")
        near(
            y.mT @ x.mT,
            *products(b.swapaxes(-1, -2), a.swapaxes(-1, -2)),
            f"transposes of {a.shape}, {b.shape}",
        )


@pytest.mark.computes
def test_operands_that_are_views(device: str, rng: np.random.Generator) -> None:
    a, b = random(rng, 40, 70), random(rng, 70, 50)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    for name, left, right in (
        ("sliced", lambda t: t[3:20, 5:65], lambda t: t[5:65, 1:]),
        ("with steps", lambda t: t[::3, ::2], lambda t: t[::2, 1::3]),
        ("flipped", lambda t: t[::-1, ::-1], lambda t: t[::-1]),
        ("flipped one way", lambda t: t, lambda t: t[:, ::-1]),
        ("one row", lambda t: t[7:8], lambda t: t),
        ("one column", lambda t: t, lambda t: t[:, 3:4]),
    ):
        near(left(x) @ right(y), *products(left(a), right(b)), f"operands {name}")
    row = pt.tensor(a[:1], device=device).expand(9, 70)
    near(row @ y, *products(np.broadcast_to(a[:1], (9, 70)), b), "left operand broadcast")
    column = pt.tensor(b[:, :1], device=device).expand(70, 9)
    near(x @ column, *products(a, np.broadcast_to(b[:, :1], (70, 9))), "right operand broadcast")
    near(x @ x.T, *products(a, a.T), "an operand with its own transpose")
    near((x * 2 + 1) @ y, *products(a * 2 + 1, b), "a pending left operand")
    near(x @ (y - 1).reshape(70, 50), *products(a, b - 1), "a pending right operand")
    near(
        x.pad(((1, 2), (0, 0))) @ y,
        *products(np.pad(a, ((1, 2), (0, 0))), b),
        "a padded left operand",
    )
    near(
        x[:, :6].pad(((0, 0), (2, 3))) @ y[:11],
        *products(np.pad(a[:, :6], ((0, 0), (2, 3))), b[:11]),
        "K padded",
    )


@pytest.mark.computes
def test_epilogues(device: str, rng: np.random.Generator) -> None:
    """Ops fused after the product, and other uses of it."""
    for m, k, n in ((5, 7, 3), (64, 64, 64), (33, 20, 65)):
        a, b, bias, other = random(rng, m, k), random(rng, k, n), random(rng, n), random(rng, m, n)
        x, y, v, w = (pt.tensor(t, device=device) for t in (a, b, bias, other))
        product, bound = products(a, b)
        what = f"of {m}, {k}, {n}"
        slack = 8 * EPS * (np.abs(product) + np.abs(bias) + np.abs(other) + 1)
        near(x @ y + v, product + bias, bound + slack, f"a bias {what}")
        near(
            (x @ y + v).relu(),
            np.maximum(product + bias, 0),
            bound + slack,
            f"bias and relu {what}",
        )
        near(
            x @ y * 2 - w,
            product * 2 - other,
            2 * bound + 2 * slack,
            f"scaled, minus a matrix {what}",
        )
        near(
            pt.where(w > 0, x @ y, w),
            np.where(other > 0, product, other),
            bound + slack,
            f"where {what}",
        )
        near((x @ y).T + w.T, (product + other).T, (bound + slack).T, f"transposed {what}")
        kept = x @ y
        near(kept + 1, product + 1, bound + slack, f"a kept product plus 1 {what}")
        near(kept, product, bound, f"the kept product {what}")
        total = np.abs(product).sum() * EPS * 64 + bound.sum()
        near((x @ y).sum(), product.sum(), total, f"the product's sum {what}")
        near((x @ y).max(0), product.max(0), bound.max(0), f"the product's max {what}")
    a, b, c = random(rng, 20, 30), random(rng, 30, 10), random(rng, 10, 40)
    x, y, z = (pt.tensor(t, device=device) for t in (a, b, c))
    first, bound = products(a, b)
    near(
        x @ y @ z,
        first @ c,
        bound @ np.abs(c) + 14 * EPS * (np.abs(first) @ np.abs(c)),
        "a chain of three",
    )


@pytest.mark.computes
def test_integers(device: str, rng: np.random.Generator) -> None:
    """Products are exact and wrap around."""
    for dtype in ("int32", "uint32"):
        for m, k, n in ((3, 4, 5), (17, 65, 33), (1, 129, 1), (64, 64, 64)):
            info = np.iinfo(dtype)
            a = rng.integers(info.min, info.max, (m, k), dtype, endpoint=True)
            b = rng.integers(info.min, info.max, (k, n), dtype, endpoint=True)
            with np.errstate(over="ignore"):
                same(
                    pt.tensor(a, device=device) @ pt.tensor(b, device=device),
                    a @ b,
                    f"{dtype}, {m}, {k}, {n}",
                )
    a, b = rng.integers(-9, 9, (5, 6)).astype(np.int32), random(rng, 6, 3)
    near(
        pt.tensor(a, device=device) @ pt.tensor(b, device=device),
        *products(a, b),
        "int32 @ float32",
    )
    flags = pt.tensor([[True, False]], device=device)
    same(flags @ pt.tensor([[2], [3]], device=device), np.array([[2]], np.int32), "bool @ int32")


@pytest.mark.computes
def test_special_values_pass_through(device: str) -> None:
    a, b = np.eye(5, dtype=np.float32), np.ones((5, 5), np.float32)
    a[1, 2], a[3, 3] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        same(
            pt.tensor(a, device=device) @ pt.tensor(b, device=device),
            a @ b,
            "NaN and infinity in the left operand",
        )
        same(
            pt.tensor(b, device=device) @ pt.tensor(a, device=device),
            b @ a,
            "NaN and infinity in the right operand",
        )


@pytest.mark.computes
def test_no_cubic_intermediate(device: str, rng: np.random.Generator) -> None:
    """Products by broadcasting, and by `fused_multiply_add`, store no n³ intermediate."""
    a, b = random(rng, 20, 30), random(rng, 30, 17)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    expected, bound = products(a, b)
    near((x[:, :, None] * y[None, :, :]).sum(1), expected, bound, "the sum of a broadcast product")
    got = pt.reshape(x, (20, 30, 1)).fused_multiply_add(y.reshape(1, 30, 17), 1)
    near(got, expected[:, None], bound[:, None], "fused_multiply_add")
    near(
        x.fused_multiply_add(x, (0, 1)),
        (a.astype(float) ** 2).sum(keepdims=True),
        700 * EPS * (a**2).sum(),
        "of two axes",
    )
    near(
        x.fused_multiply_add(x.flip(1), 1),
        (a * a[:, ::-1]).sum(1, keepdims=True, dtype=float),
        40 * EPS * np.abs(a * a[:, ::-1]).sum(1, keepdims=True),
        "with a flipped operand",
    )
    near(
        x.fused_multiply_add(y.T[:1, :], 0),
        (a.astype(float) * b.T[:1]).sum(0, keepdims=True),
        40 * EPS * np.abs(a * b.T[:1]).sum(0, keepdims=True),
        "of the first axis",
    )
    near(x[:, :0].fused_multiply_add(x[:, :0], 1), np.zeros((20, 1)), np.zeros(1), "of nothing")
    near(
        pt.fused_multiply_add(x, y.T[0], ()),
        a.astype(float) * b.T[0],
        np.abs(a * b.T[0]) * 2 * EPS,
        "over no axes",
    )
    flags = pt.tensor([True, True, False], device=device)
    same(flags.fused_multiply_add(flags, 0), np.array([2], np.int32), "of bools")


@pytest.mark.computes
def test_dot(device: str, rng: np.random.Generator) -> None:
    a, b = random(rng, 6, 7), random(rng, 7, 5)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    near(pt.dot(x, y), *products(a, b), "dot of matrices")
    same(pt.dot(x, 2), a * 2, "dot with a scalar")
    for first, second in (
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((4,), (2, 4, 3)),
        ((5, 4), (2, 4, 3)),
        ((2, 3, 4), (5, 4, 6)),
        ((2, 1, 3, 4), (5, 2, 4, 1)),
        ((2, 3, 0), (5, 0, 6)),
        ((0, 3, 4), (5, 4, 6)),
        ((2, 3, 4), ()),
        ((), (2, 3, 4)),
        ((), ()),
    ):
        a, b = (rng.integers(1, 9, shape).astype(np.int32) for shape in (first, second))
        x, y = (pt.asarray(v, device=device) for v in (a, b))
        same(pt.dot(x, y), np.dot(a, b), f"dot of {first} and {second}")
        same(x.dot(y.astype("float32")), a.dot(b).astype(np.float32), "of two dtypes")
    a, b = (rng.integers(1, 9, shape).astype(np.int32) for shape in ((4, 3, 2), (3, 4, 5)))
    x, y = (pt.tensor(v, device=device) for v in (a, b))
    same(x.T.dot(y.swapaxes(0, 2)), a.T.dot(b.swapaxes(0, 2)), "dot of views")
    for second in ((7,), (6, 5), (2, 6, 7)):
        with pytest.raises(pt.ShapeError, match=r"^dot"):
            pt.dot(pt.ones((2, 3, 4), device=device), pt.ones(second, device=device))


@pytest.mark.computes
def test_shapes_that_do_not_fit(device: str) -> None:
    x, y = pt.ones((3, 4), device=device), pt.ones((5, 6), device=device)
    for make, match in (
        (lambda: x @ y, r"^matmul: .*\(3, 4\).*4.*\(5, 6\).*5"),
        (lambda: x @ pt.tensor(2.0, device=device), r"^matmul: .*\(3, 4\).*\(\)"),
        (
            lambda: pt.ones((2, 3, 4), device=device) @ pt.ones((3, 4, 5), device=device),
            r"^matmul: .*\(2,\).*\(3,\)",
        ),
        (lambda: x.fused_multiply_add(y, 0), r"^fused_multiply_add: .*\(3, 4\).*\(5, 6\)"),
        (lambda: x.fused_multiply_add(x, 2), r"^fused_multiply_add: axis 2"),
    ):
        with pytest.raises(pt.ShapeError, match=match):
            make()
    same(
        x @ pt.ones((4, 1), device=device), np.full((3, 1), 4, np.float32), "the session afterwards"
    )


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize("parts", [2, 7, 64])
@pytest.mark.parametrize(
    ("m", "k", "n", "batch"),
    [(5, 512, 7, ()), (64, 1024, 32, ()), (3, 517, 4, (2,)), (8, 2050, 8, ())],
)
def test_long_sums_in_parts(
    parts: int,
    m: int,
    k: int,
    n: int,
    batch: tuple[int, ...],
    device: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last part may be shorter, and there are no more parts than slices."""
    force(monkeypatch, SMALL, parts)
    a = rng.standard_normal((*batch, m, k)).astype(np.float32)
    b = rng.standard_normal((*batch, k, n)).astype(np.float32)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    near(x @ y, *products(a, b), "product")
    bias = rng.standard_normal(n).astype(np.float32)
    expected, bound = products(a, b)
    got = pt.maximum(x @ y + pt.tensor(bias, device=device), 0)
    near(got, np.maximum(expected + bias, 0), bound + 1e-6, "with an epilogue")
    turned = x.swapaxes(-1, -2) + 0
    near(turned.swapaxes(-1, -2) @ y, expected, bound, "transposed operand")
    whole = pt.tensor(a.astype(np.int32), device=device) @ pt.tensor(
        b.astype(np.int32), device=device
    )
    same(whole, a.astype(np.int32) @ b.astype(np.int32), "integers")


@pytest.mark.computes
def test_bools(device: str, rng: np.random.Generator) -> None:
    """Products of bools say whether any pair is true, in every product function."""
    for left, right in (
        *(((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2))),
        *(((0, 4), (4, 5)), ((3, 0), (0, 2)), ((70, 300), (300, 65))),
    ):
        a, b = rng.random(left) < 0.3, rng.random(right) < 0.3
        x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
        what = f"bools, {left} and {right}"
        same(x @ y, a @ b, what)
        same(pt.dot(x, y), np.dot(a, b), f"dot of {what}")
        if b.ndim < 3:
            same(pt.tensordot(x, y, 1), np.tensordot(a, b, 1), f"tensordot of {what}")
    a = rng.random((5, 6)) < 0.4
    x = pt.tensor(a, device=device)
    same(pt.inner(x, x), np.inner(a, a), "inner of bools")
    same(pt.vdot(x, x), np.vdot(a, a), "vdot of bools")
    same(pt.einsum("ij,kj->ik", x, x), np.einsum("ij,kj->ik", a, a), "einsum of bools")
    same(pt.convolve(x[0], x[1]), np.convolve(a[0], a[1]), "convolve of bools")


@pytest.mark.parametrize(
    ("a", "b"),
    [((30, 20), (20, 40)), ((20,), (20, 40)), ((30, 20), (20,)), ((3, 1, 9, 8), (5, 8, 7))],
    ids=str,
)
def test_products_past_the_address_space(
    a: Any, b: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy in 32-bit Pyodide cannot contract 2**29 terms."""
    monkeypatch.setattr("py_tensor.ir.arrays.ADDRESSABLE", 4 * 700)
    for dtype in ("float32", "int32", "bool"):
        x, y = (rng.integers(0, 2, shape).astype(dtype) for shape in (a, b))
        found = pt.tensor(x, device="cpu") @ pt.tensor(y, device="cpu")
        np.testing.assert_array_equal(found.numpy(), x @ y)
        assert found.dtype == dtype
