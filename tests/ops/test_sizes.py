"""Extreme sizes: grids, dispatches, bindings and indices beyond their usual limits.

Large operands are made on the device, so that a test costs little more than its kernel.
"""

from __future__ import annotations

import gc
from functools import partial

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.codegen.adapter_profile import AdapterProfile

pytestmark = pytest.mark.alone

MIB = 2**20


def check_ramp(x: pt.Tensor, scale: float, *, at: tuple[int, ...]) -> None:
    """Check that `x` is scale * i at flat index i, for some indices including the edges."""
    for i in at:
        assert float(x[i]) == np.float32(scale) * np.float32(i), f"element {i}"


@pytest.mark.computes
def test_more_workgroups_than_a_grid_dimension_holds(device: str) -> None:
    n = 65536 * 256 + 3  # one element to an invocation, 256 to a workgroup: 65,537 workgroups
    x = pt.arange(n, device=device, dtype=pt.float32).reshape(n, 1) * pt.ones((1, 1), device=device)
    flat = (x[::-1] * 0.5)[::-1].reshape(-1)
    flat.realize()
    check_ramp(flat, 0.5, at=(0, 1, 255, 256, 65535 * 256 - 1, 65535 * 256, n - 2, n - 1))


@pytest.mark.computes
def test_more_rows_than_a_grid_dimension_holds(device: str) -> None:
    rows = 70001
    x = pt.arange(rows * 5, device=device).reshape(rows, 5)
    x.realize()
    want = np.arange(rows * 5, dtype=np.int64).reshape(rows, 5).sum(1).astype(np.int32)
    np.testing.assert_array_equal(x.sum(1).numpy(), want)
    np.testing.assert_array_equal(x.T.sum(0).numpy(), want)


@pytest.mark.computes
@pytest.mark.parametrize("mib", [129, 257])
def test_buffers_past_the_default_limits(device: str, mib: int) -> None:
    n = mib * MIB // 4 + 1
    x = pt.arange(n, device=device, dtype=pt.int32)
    x.realize()
    y = x + 1
    y.realize()
    picked = [0, 1, n // 2, n - 2, n - 1]
    assert [int(y[i]) for i in picked] == [i + 1 for i in picked]
    assert int((y - x).sum()) == n
    del x, y
    gc.collect()
    pt.empty_cache()


@pytest.mark.computes
def test_sum_of_2_to_the_25_ones_is_exact(device: str) -> None:
    x = pt.ones(2**25, device=device) * 1.0
    x.realize()
    assert float(x.sum()) == 2**25


@pytest.mark.computes
def test_twelve_operands_in_one_expression(device: str, rng: np.random.Generator) -> None:
    arrays = [rng.standard_normal((9, 5), dtype=np.float32) for _ in range(12)]
    tensors = [pt.tensor(a, device=device) for a in arrays]
    got = tensors[0]
    want = arrays[0].astype(np.float64)
    for t, a in zip(tensors[1:], arrays[1:], strict=True):
        got, want = got * 0.5 + t, want * 0.5 + a
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.computes
@pytest.mark.parametrize("rank", [8, 9, 32, 48, 63, 64])
def test_many_axes(rank: int, device: str, rng: np.random.Generator) -> None:
    """Axes of more than one element among axes of one, in random order."""
    shape = tuple(map(int, rng.permutation([3, 3, 2, 2, 2, 2, 2, 2, *(1,) * (rank - 8)])))
    order, axes = tuple(map(int, rng.permutation(rank))), tuple(range(0, rank, 2))
    a = rng.standard_normal(shape, dtype=np.float32)
    x = pt.tensor(a, device=device)
    y, b = x.permute(order), a.transpose(order)
    wide, c = x.sum(axes, keepdims=True), a.sum(axes, dtype=np.float64, keepdims=True)
    near = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5)
    near((y * 2).numpy(), b * 2)
    near((y + wide.permute(order)).numpy(), b + c.transpose(order))
    near(y.sum(axes).numpy(), b.sum(axes, dtype=np.float64))
    near(pt.cumsum(y, axis=-1).numpy(), np.cumsum(b, axis=-1))
    rows = b.reshape(b.shape[0], -1)  # NumPy sorts arrays of up to 32 axes
    near(pt.sort(y, axis=0).numpy(), np.sort(rows, axis=0).reshape(b.shape))
    near(pt.take(y, [0, 0], axis=-1).numpy(), np.take(b, [0, 0], axis=-1))
    near(y[y > 0].numpy(), b[b > 0])
    near(pt.concat([y, y], axis=1).numpy(), np.concatenate([b, b], axis=1))
    near((y @ y.mT).numpy(), b @ b.swapaxes(-1, -2))
    near((y @ y[(0,) * (rank - 1)]).numpy(), b @ b[(0,) * (rank - 1)])
    z, d = y.copy(), b.copy()
    z[z > 0] = 2
    d[d > 0] = 2
    near(z.numpy(), d)
    pt.put(z, [0, -1], 9)
    np.put(d, [0, -1], 9)
    near(z.numpy(), d)
    y[..., 0] = b[..., 0] = 5
    near(x.numpy(), a)  # both views write through
    with pytest.raises(pt.ShapeError, match="at most 64"):
        x.reshape(*shape, *(1,) * 57)


@pytest.mark.computes
@pytest.mark.parametrize("inner", [1, 2, 3, 5, 7])
def test_small_inner_dimensions(device: str, inner: int, rng: np.random.Generator) -> None:
    a = rng.standard_normal((1031, inner), dtype=np.float32)
    b = rng.standard_normal((inner, 1031), dtype=np.float32)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    np.testing.assert_array_equal((x + y.T).numpy(), a + b.T)
    for axis in (0, 1):
        want = a.sum(axis, dtype=np.float64)
        np.testing.assert_allclose(x.sum(axis).numpy(), want, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(x.max(axis).numpy(), a.max(axis))
    np.testing.assert_allclose((y @ x).numpy(), b.astype("f8") @ a.astype("f8"), atol=2e-4)


@pytest.mark.computes
def test_a_fused_intermediate_past_2_to_the_32(device: str) -> None:
    # 66000 * 66000 is past 2**32, and 17 GiB as float32; the cpu device computes it in memory.
    n = 66000 if device == "webgpu" else 660
    x = pt.arange(n, device=device).reshape(n, 1)
    y = pt.arange(n, device=device).reshape(1, n)
    wide = (x % 7) * (y % 5)  # live but never stored
    row = wide.max(1)
    np.testing.assert_array_equal(row.numpy(), (np.arange(n) % 7) * 4)
    assert int(row.sum()) == 4 * int((np.arange(n) % 7).sum())


@pytest.mark.computes
def test_a_tensor_larger_than_the_device_allows(device: str) -> None:
    n = 200_000 if device == "webgpu" else 2_000
    x = pt.ones((n, n), device=device)
    if device == "webgpu":  # the cpu device is only limited by memory
        with pytest.raises(
            MemoryError, match=r"exp: float32 of shape \(200000, 200000\) needs 149"
        ):
            pt.exp(x).realize()
    assert float(pt.exp(x[::7, :9]).max()) == pytest.approx(np.e)
    assert pt.ones(3, device=device).tolist() == [1, 1, 1]


@pytest.mark.computes
def test_a_long_loop_uses_constant_memory(device: str) -> None:
    x = pt.rand(1000, device=device)
    x.realize()

    def run(steps: int) -> int:
        nonlocal x
        for _ in range(steps):
            x = x * 0.5 + 1.0
        x.realize()
        pt.synchronize()
        return pt.memory_info()["device_buffers"] if device == "webgpu" else 0

    before = run(10_000)  # by now the pool has all the buffers the loop needs
    assert run(10_000) <= before
    assert float(x[0]) == pytest.approx(2.0)


@pytest.mark.computes
@pytest.mark.parametrize("size", [1, 5, 16, 1023])
def test_many_small_tensors(device: str, size: int, rng: np.random.Generator) -> None:
    """Several similar results share a kernel; each has its own values."""
    a, b = rng.standard_normal((2, 9, size), dtype=np.float32)
    xs, ys = ([pt.tensor(row, device=device) for row in rows] for rows in (a, b))
    sums = [x + y for x in xs for y in ys]
    scaled = [x * n - y for n, (x, y) in enumerate(zip(xs, ys, strict=True))]
    pt.realize(*sums, *scaled)
    np.testing.assert_array_equal(pt.stack(sums).numpy(), (a[:, None] + b).reshape(81, size))
    n = np.arange(9, dtype=np.float64)[:, None]
    expected = a * n - b
    np.testing.assert_allclose(pt.stack(scaled).numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.computes
def test_ten_thousand_pending_nodes(device: str) -> None:
    x = pt.zeros(16, device=device)
    live = [x + i for i in range(10_000)]
    assert float(live[9_999][3]) == 9_999
    assert float(live[1][0]) == 1


@pytest.mark.computes
def test_a_reduction_of_an_operand_that_fills_a_buffer(device: str) -> None:
    """If there is no memory to compute the operand early, it is not stored."""
    n = 2**28 if device == "webgpu" else 2**20
    assert float(pt.ones(n, device=device).sum()) == n


@pytest.mark.computes
def test_a_scan_that_fills_a_buffer_to_the_last_byte(device: str) -> None:
    """It also has more elements than float32 can count."""
    n = 2**26 if device == "webgpu" else 2**20
    counted = pt.ones(n, pt.int32, device=device).cumsum()
    counted.realize()
    for i in (0, 1, 4095, 4096, 65535 * 256, 2**24, 2**24 + 1, 2**25 - 1, n - 2, n - 1):
        if i < n:
            assert int(counted[i]) == i + 1, f"element {i}"
    rows = pt.ones((70_001, 5), pt.int32, device=device)
    assert bool((rows.cumsum(1) == pt.arange(1, 6, device=device)).all())
    assert rows.cumsum(0)[-1].tolist() == [70_001] * 5
    del counted
    gc.collect()
    pt.empty_cache()


@pytest.mark.computes
@pytest.mark.parametrize("limit", ["workgroups in a row of the grid", "work of a dispatch"])
def test_scans_sorts_and_gathers_in_pieces(
    limit: str,
    kernels: str,
    device: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Grids of several rows and split dispatches, as for huge tensors."""
    if limit == "work of a dispatch":
        monkeypatch.setattr(AdapterProfile, "submit_work", property(lambda profile: 20_000))
    else:
        monkeypatch.setattr("py_tensor.codegen.program.MAX_GROUPS", 3)
    a = rng.integers(-999, 999, (3, 9001)).astype(np.float32)
    many = rng.integers(-99, 99, (1500, 40)).astype(np.int32)
    x, y = pt.tensor(a, device=device), pt.tensor(many, device=device)
    np.testing.assert_array_equal(x.cumsum().numpy(), a.cumsum())
    np.testing.assert_array_equal(x.cumsum(1).numpy(), a.cumsum(1))
    np.testing.assert_array_equal(y.cumsum(1).numpy(), many.cumsum(1))
    np.testing.assert_array_equal(y.cumsum(0).numpy(), many.cumsum(0))
    np.testing.assert_array_equal(pt.sort(x).numpy(), np.sort(a))
    np.testing.assert_array_equal(x.argsort().numpy(), np.argsort(a, kind="stable"))
    np.testing.assert_array_equal(pt.sort(y).numpy(), np.sort(many))
    at = rng.integers(-1500, 1500, 2000).astype(np.int32)
    np.testing.assert_array_equal(y[pt.tensor(at, device=device)].numpy(), many[at])
