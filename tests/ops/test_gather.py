"""take and take_along_axis: axes, layouts, dtypes, kinds of indices, fusion with other ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tools import control
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.operands import LAYOUTS, Few, pool

Array = np.ndarray[Any, Any]
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (4,), (7,), (0,), (2, 3), (3, 1, 2))
INDICES = ("int32", "uint32")


def some(n: int, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    """Return indices of an axis of size n, including negative ones."""
    return rng.integers(0 if dtype == "uint32" else -n, n, shape).astype(dtype)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.ANY_DTYPES)
def test_take(dtype: str, device: str, rng: np.random.Generator) -> None:
    array = rng.choice(pool(dtype, rng), (3, 5, 8))
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for kind in INDICES:
        for axis in (None, 0, 1, 2, -1, -3):
            n = array.size if axis is None else array.shape[axis]
            for shape in SHAPES:
                at = some(n, shape, kind, rng)
                got = pt.take(x, pt.tensor(at, device=device), axis)
                same(got, array.take(at, axis), f"take of {dtype} at {kind}{shape}, axis {axis}")
    same(x.take([2, 0], 0), array.take([2, 0], 0), "as a method")


@pytest.mark.computes
def test_modes_of_take_and_put(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 6)).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    at = rng.integers(-15, 15, (3, 4)).astype(np.int32)
    for mode in ("wrap", "clip"):
        for axis in (None, 0, 1):
            for given in (at, at.tolist(), pt.tensor(at, device=device)):
                expected = np.take(array, at, axis, mode=mode)
                same(x.take(given, axis, mode=mode), expected, f"take, {mode}, axis {axis}")
        y, a = x.copy(), array.copy()
        y.put(pt.tensor(at, device=device), [1, 2, 3], mode)
        a.put(at, [1, 2, 3], mode)
        same(y, a, f"put, {mode}")
        with pytest.raises(IndexError, match=r"^take: "):
            pt.zeros((0, 3), device=device).take([0], 0, mode=mode).numpy()


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.ANY_DTYPES)
def test_take_along_axis(dtype: str, device: str, rng: np.random.Generator) -> None:
    array = rng.choice(pool(dtype, rng), (3, 5, 8))
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for axis in (0, 1, 2, -1):
        for m in (0, 1, 4, 9):
            shape = list(array.shape)
            shape[axis] = m
            for broadcast in (None, 0, 1, 2):
                if broadcast is not None and broadcast != axis % 3:
                    shape[broadcast] = 1
                at = some(array.shape[axis], tuple(shape), "int32", rng)
                got = pt.take_along_axis(x, pt.tensor(at, device=device), axis)
                same(got, np.take_along_axis(array, at, axis), f"{dtype} at {shape}, axis {axis}")
    flat = some(array.size, (7,), "int32", rng)
    same(pt.take_along_axis(x, flat, None), np.take_along_axis(array, flat, None), "flattened")


@pytest.mark.computes
def test_layouts(device: str, rng: np.random.Generator) -> None:
    """Layouts of the operand and of the indices."""
    for layout, make in LAYOUTS.items():
        x, array = make(pool("float32", rng), rng, device)
        for axis in (None, *range(array.ndim)):
            n = array.size if axis is None else array.shape[axis]
            if n:
                at = some(n, (5,), "int32", rng)
                got = pt.take(x, pt.tensor(at, device=device), axis)
                same(got, array.take(at, axis), f"take of {layout}, axis {axis}")
        data = np.arange(300, dtype=np.float32) / 8
        t, at = make(rng.integers(-300, 300, 500).astype(np.int32), rng, device)
        same(pt.tensor(data, device=device).take(t), data.take(at), f"take at {layout}")


@pytest.mark.computes
def test_indices_that_lie_on_the_host(device: str) -> None:
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for given in (1, -1, [0, 2, -3], [], [[0, 1], [2, 2]], (1, 1), range(3), [True + 1]):
        at = np.asarray(given, np.int64)
        same(x.take(given, 1), array.take(at, 1), f"take at {given}")
        same(x.take(at, 1), array.take(at, 1), f"take at an array of {given}")
    along = np.take_along_axis(array, np.array([[[1]], [[0]]]), -1)
    same(pt.take_along_axis(x, [[[1]], [[0]]]), along, "take_along_axis at a list")
    same(pt.take([5, 6, 7], [2, 0]), np.array([7, 5], np.int32), "of a list")


@pytest.mark.computes
def test_indexing_by_a_tensor(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal((6, 3)).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for shape in ((4,), (2, 5), (0,)):
        at = some(6, shape, "int32", rng)
        same(x[pt.tensor(at, device=device)], array[at], f"x[{shape}]")
    one = pt.tensor(2, device=device)
    same(x[one], array[2], "x[0-d]")
    same(x[x > 0], array[array > 0], "x[mask]")


@pytest.mark.computes
def test_out_of_range(device: str) -> None:
    x = pt.tensor(np.arange(12, dtype=np.int32).reshape(3, 4), device=device)
    for name in ("take", "take_along_axis"):
        for at in ([[3]], [[-4]], [[0, 99]], np.array([[-4]])):
            with pytest.raises(IndexError, match=rf"^{name}: index (3|-4|99) .*axis 0 .*\(3, 4\)"):
                getattr(pt, name)(x, at, axis=0)
    for given, clipped in (
        ([5, -9, 1, -(2**31), 2**31 - 1], [2, 0, 1, 0, 2]),
        ([3, 1], [2, 1]),
        ([0, -4], [0, 0]),
    ):
        at = pt.tensor(given, device=device)
        y = x.take(at, 0)
        with pytest.raises(
            IndexError, match=r"(?m)^take: index (5|-9|3|-4) is .*axis 0 .*\(3, 4\)$"
        ):
            y.numpy()
        same(y, x.numpy()[clipped], "read again")
    high = pt.tensor([2**32 - 1, 1], dtype=pt.uint32, device=device)
    y = pt.take_along_axis(x, high.reshape(1, 2), 1)
    with pytest.raises(
        IndexError, match=r"^take_along_axis: index 4294967295 is .*axis 1 .*\(3, 4\)"
    ):
        y.tolist()
    same(y, x.numpy()[:, [3, 1]], "read again")
    empty = pt.zeros((0, 2), device=device)
    with pytest.raises(IndexError, match=r"^take: .*axis 0 of shape \(0, 2\)"):
        empty.take([0], 0)
    with pytest.raises(IndexError, match=r"^take: .*axis 0 of shape \(0, 2\)"):
        empty.take(pt.tensor([0], device=device), 0)
    same(empty.take([], 0), np.zeros((0, 2), np.float32), "nothing of nothing")


def compute(x: pt.Tensor) -> None:
    """Wait for it, without a read."""
    x.realize()
    pt.synchronize()


@pytest.mark.computes
def test_out_of_range_in_any_kernel(kernels: str, device: str, few: Few) -> None:
    """Raised once, at the next wait; all other tensors stay usable."""
    x = pt.tensor(np.arange(40, dtype=np.float32).reshape(8, 5), device=device)
    bad, good = pt.tensor([0, 8, 7], device=device), pt.tensor([0, 1, 7], device=device)
    other = (x * 2).realize()
    cases = {
        "an expression": lambda t: x.take(t, 0) * 2,
        "reduced": lambda t: x.take(t, 0).sum(),
        "along rows": lambda t: pt.softmax(x.take(t, 0)),
        "a scan": lambda t: x.take(t, 0).cumsum(0),
        "a sort": lambda t: pt.sort(x.take(t, 0), 1),
        "a long sort": lambda t: pt.sort(pt.concat([x.take(t, 0).ravel()] * 300)),
        "around a product": lambda t: (x.T @ x) + x.take(t, 0)[1:2],
        "an operand of one": lambda t: x.take(t, 0) @ x.T,
        "another gather": lambda t: x.take(t, 0).take(good % 3, 0),
        "reshaped": lambda t: x.take(t, 0).T.reshape(15) + 1,
    }
    for what, make in few(list(cases.items()), 4):
        y, z = make(bad), x + 1
        message = r"(?m)^take: index 8 is out of range for axis 0 of shape \(8, 5\)$"
        with pytest.raises(IndexError, match=message) as raised:
            compute(y)
        (note,) = raised.value.__notes__
        assert "the index was used on the line of this error or on an earlier one" in note
        pt.synchronize()
        same(z, x.numpy() + 1, f"{what}: another tensor")
        assert np.isfinite(y.numpy()).all(), what
        assert make(good).numpy().size, what
    same(other, x.numpy() * 2, "a tensor of before")


@pytest.mark.computes
def test_out_of_range_in_an_unused_result(device: str) -> None:
    """Any later read raises, once, even if the result is not needed."""
    array = np.arange(40, dtype=np.float32).reshape(8, 5)
    other = pt.ones(3, device=device) + 1
    stored = (pt.ones(3, device=device) * 7).realize()

    def assigned(x: pt.Tensor, t: pt.Tensor) -> None:
        x[t] = 1
        x[:] = 0

    uses: dict[str, Callable[[pt.Tensor, pt.Tensor], object]] = {
        "dropped": lambda x, t: x[t],
        "dropped with what was made of it": lambda x, t: (x[t] * 2).sum(),
        "read in part": lambda x, t: x[t][:2].numpy(),
        "shown in part": lambda x, t: (x[t] + 1).T[1].tolist(),
        "along an axis": lambda x, t: pt.take_along_axis(x[:, :3], t.reshape(1, 3), 0),
        "written over": assigned,
        "put over": lambda x, t: (pt.put_along_axis(x[:, :3], t.reshape(1, 3), 1, 0), x.fill(2)),
        "written in part": lambda x, t: x.__setitem__((slice(2), slice(None)), x[t][:2]),
        "into what is written over": lambda x, t: (
            x.__setitem__((slice(3), slice(None)), x[t]),
            x.fill(0),
        ),
    }
    for what, use in uses.items():
        for reads in (other + 0, stored):
            for place in (8, -9):
                x = pt.tensor(array, dtype=array.dtype, device=device)
                t = pt.tensor([0, 1, place], device=device)

                def run(use: Any = use, x: Any = x, t: Any = t, reads: Any = reads) -> None:
                    use(x, t)
                    reads.numpy()

                with pytest.raises(IndexError, match=rf"{place} is out of range for axis 0 of"):
                    run()
                run(t=t % 8)
                run(lambda x, t: x + 1)
                assert np.isfinite(x.numpy()).all(), what


@pytest.mark.computes
def test_indices_of_elements_that_are_not_needed(
    kernels: str, device: str, rng: np.random.Generator
) -> None:
    """Indices outside the result's elements or in padding may have any value."""
    for n in (1, 3, 5, 255, 257):
        x = pt.tensor(np.arange(n, dtype=np.float32), device=device)
        t = pt.tensor(rng.integers(-n, n, n).astype(np.int32), device=device)
        index = (t * 3) // 3
        expected = np.arange(n, dtype=np.float32)[t.numpy()]
        same(x.take(index), expected, f"{n} elements")
        same(x.take(index).pad(3), np.pad(expected, 3), f"{n} elements, padded")
        same(x.take(index).pad((0, 2)).sum(), expected.sum(dtype=np.float32), "padded and summed")
        wide = x.take(index)[::-1].pad((2, 1)) + x.take(index).pad((2, 1))
        same(wide, np.pad(expected[::-1] + expected, (2, 1)), "twice")
        joined = pt.concat([x.take(index), x.take(index) + 1])
        same(joined, np.concatenate([expected, expected + 1]), "side by side")


def test_debug_raises_at_once(device: str) -> None:
    x, bad = pt.ones(3, device=device), pt.tensor([7], device=device)
    pt.debug(sync=True)
    try:
        with pytest.raises(
            IndexError, match=r"^take: index 7 is out of range for axis 0 of shape \(3,\)"
        ):
            x.take(bad)
    finally:
        pt.debug(sync=False)
    same(x.take(bad * 0), np.ones(1, "f4"), "the session afterwards")


@pytest.mark.computes
def test_errors(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for name in ("take", "take_along_axis"):
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis 2\b.*2 axes"):
            getattr(pt, name)(x, [[0]], axis=2)
        for at in ([[0.5]], [[True]], pt.ones((1, 1), device=device), np.ones((1, 1)), "a", None):
            with pytest.raises(pt.DTypeError, match=rf"^{name}: indices must be integers, not "):
                getattr(pt, name)(x, at, axis=0)
    with pytest.raises(pt.ShapeError, match=r"^take: .*65 axes"):
        x.take(pt.zeros((1,) * 64, pt.int32, device=device), 0)
    with pytest.raises(pt.ShapeError, match=r"^take_along_axis: .*\(2,\).*2 axes.*\(2, 3\)"):
        pt.take_along_axis(x, [0, 1])
    with pytest.raises(pt.ShapeError, match=r"^take_along_axis: .*do not broadcast"):
        pt.take_along_axis(x, [[0], [0], [0]])
    same(x.sum(), np.float32(6), "the session afterwards")


@pytest.mark.computes
def test_one_dispatch(device: str, rng: np.random.Generator) -> None:
    """Computing the indices and using the elements is fused into one kernel."""
    a = rng.integers(-9, 9, (70, 12)).astype(np.float32)
    at = rng.integers(0, 35, 50).astype(np.int32)
    x, t = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(at, device=device)
    cases = {
        "an expression of it": (lambda: pt.take(x, t, 0) * 2 + 1, a[at] * 2 + 1),
        "computed indices": (lambda: pt.take(x, t * 2 + 1, 0), a[at * 2 + 1]),
        "generated indices": (lambda: pt.take(x, pt.arange(0, 70, 3, device=device), 0), a[::3]),
        "of a view": (lambda: pt.take(x.T[:, ::-1], t, 1), a.T[:, ::-1][:, at]),
        "a view of it": (lambda: pt.take(x, t, 0).T[::-1], a[at].T[::-1]),
        "reduced": (lambda: pt.take(x, t, 0).sum(1), a[at].sum(1)),
        "reduced over rows": (lambda: pt.take(x, t, 0).sum(0), a[at].sum(0)),
        "less the first of each row": (lambda: pt.take(x, t, 0) - x[:50, :1], a[at] - a[:50, :1]),
        "two gathers": (lambda: pt.take(x, t, 0) + pt.take(x, t + 5, 0), a[at] + a[at + 5]),
    }
    for what, (make, expected) in cases.items():
        pt.realize(x, t)
        before = control.dispatches() if device == "webgpu" else 0
        got = make().realize()
        assert device == "cpu" or control.dispatches() == before + 1, what
        same(got, np.ascontiguousarray(expected), what)


@pytest.mark.computes
def test_operands_that_are_pending(device: str, rng: np.random.Generator) -> None:
    """A pending operand is stored before the gather, however else it is used."""
    a = rng.integers(-9, 9, (40, 6)).astype(np.float32)
    at = rng.integers(-40, 40, 40).astype(np.int32)
    x, t = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(at, device=device)
    y, b = x * 2 + 1, a * 2 + 1
    same(y.take(t, 0) + y, b[at] + b, "and used as it is")
    same(x.sum(1).take(t), a.sum(1)[at], "a reduction")
    rows, sums = x.sum(1), a.sum(1)
    same(rows.take(t) + rows, sums[at] + sums, "a reduction, and used as it is")
    same(x - x.max(1).take(t).reshape(40, 1), a - a.max(1)[at].reshape(40, 1), "beside its rows")
    same((x @ x.T).take(t, 1), (a @ a.T)[:, at], "a product")
    same(x.cumsum(0).take(t, 0), a.cumsum(0)[at], "a scan")
    same(x.take(x.argsort(0)[:, 0], 0), a[np.argsort(a[:, 0], kind="stable")], "by a sort")
    same(x.take(t, 0).take(t, 0), a[at][at], "twice")
    same(x.take(t.take(t), 0), a[at[at]], "indices that are gathered")
    same(pt.concat([x, y]).take(t, 0), np.concatenate([a, b])[at], "joined")
    same(x.pad(1).take(t, 0), np.pad(a, 1)[at], "padded")
    same(x.take(t, 0).pad(1), np.pad(a[at], 1), "padded afterwards")
    same(pt.zeros((3, 2), device=device).take([1, 1], 0), np.zeros((2, 2), "f4"), "of zeros")
    same(pt.arange(9, device=device).take(t % 9), np.arange(9, dtype="i4")[at % 9], "of a range")
    same(x.T.reshape(240).take(t), a.T.reshape(240)[at], "of what has to be copied")
    same(x.take(t, 0).reshape(6, 40) + y.reshape(6, 40), (a[at] + b).reshape(6, 40), "reshaped")
    order = x.argsort(1)
    same(pt.take_along_axis(x, order), np.sort(a), "in the order of a sort")
    best = x.argmax(1).expand_dims(1)
    same(pt.take_along_axis(x, best, 1)[:, 0], a.max(1), "the largest")
    soft = pt.softmax(x).take(t, 0) - x
    exact = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    np.testing.assert_allclose(soft.numpy(), exact[at] - a, rtol=1e-5, atol=1e-5)


@pytest.mark.computes
def test_many_rows(device: str, rng: np.random.Generator) -> None:
    a = rng.integers(-99, 99, (5000, 33)).astype(np.float32)
    at = rng.integers(0, 5000, 70_001).astype(np.int32)
    x, t = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(at, device=device)
    same(x[t].sum(), np.float32(a[at].sum(dtype=np.float64)), "2,310,033 elements")
    same(x.take(t)[::999], a.take(at)[::999], "of the flattened tensor")


@pytest.mark.computes
@pytest.mark.parametrize("n", [1, 5, 130])
def test_index_lists_of_pending_values(device: str, rng: np.random.Generator, n: int) -> None:
    """Only elements selected by a list are computed, also through movement ops."""
    array = rng.standard_normal((n, 6)).astype(np.float32)
    array[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    x = pt.tensor(array, dtype=array.dtype, device=device)
    rows = [int(i) for i in rng.integers(-n, n, 7)]
    columns = [5, -6, 0, 3, 3, -1, 2]
    expressions: list[Callable[[Any, Any], Any]] = [
        lambda xp, a: (a * 2)[rows] + 1,
        lambda xp, a: (a * 2)[rows, columns],
        lambda xp, a: (a + a[::-1])[rows][:, columns] * a[rows[:1]][:, :1],
        lambda xp, a: xp.take(xp.abs(a), [rows, rows], 0).sum(1),
        lambda xp, a: xp.roll(a, 2, 1)[:, columns],
        lambda xp, a: xp.pad(a * 2, ((1, 2), (0, 0)), constant_values=7)[[0, -1, -2, 1, *rows]],
        lambda xp, a: xp.concatenate([a * 2, a[:1] - 1])[[n, *rows, -1]],
        lambda xp, a: xp.where(a > 0, a, -a).T[columns].T[rows],
        lambda xp, a: (a.sum(1, keepdims=True) * 2 + xp.zeros_like(a))[rows],
    ]
    for number, expression in enumerate(expressions):
        with np.errstate(all="ignore"):
            expected = expression(np, array)
        found = expression(pt, x).numpy()
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5, err_msg=f"expression {number}")
    taken = pt.arange(n * 6, device=device).reshape(n, 6)[rows, columns]
    same(taken, np.arange(n * 6, dtype=np.int32).reshape(n, 6)[rows, columns], "of what is counted")


def test_indices_into_tensors_without_elements(device: str) -> None:
    """On the cpu device they are checked at once, on the GPU only if the axis itself is empty."""
    x, y = pt.zeros((3, 0), device=device), pt.zeros((0, 3), device=device)
    index = pt.asarray([2, 5], device=device)
    inside = pt.asarray([2, -3], device=device)
    calls: tuple[Callable[[pt.Tensor], Any], ...] = (
        lambda i: x[i],
        lambda i: y[:, i],
        lambda i: pt.take(x, i, 0),
        lambda i: pt.compress(i >= 2, pt.zeros((0, 3), device=device), 1),
        lambda i: x.__setitem__(i, 1),
        lambda i: vars(pt.add)["at"](x, i, 1),
    )
    for call in calls:
        call(inside)
    for call in (*calls[:3], *calls[4:]):
        if device == "cpu":
            with pytest.raises(IndexError, match=r"5 is out of range for axis \d of shape"):
                call(index)
        else:
            call(index)
    assert pt.take(y, index, 1).shape == pt.take(y, [7, 8], 1).shape == (0, 2)
    assert pt.take(pt.zeros((0, 0), device=device), [0], 1).shape == (0, 1)
    assert y.compress([True] * 5, 1).shape == (0, 5)
    for condition in ([False, False, False, True], [True] * 4):
        if device == "cpu":
            with pytest.raises(IndexError, match=r"^compress: index 3"):
                x.compress(condition, 0)
    for call in (
        lambda: y[inside],
        lambda: pt.compress([True], y, 0),
        lambda: pt.take(y, index, 0),
    ):
        with pytest.raises(IndexError, match="has no elements to take"):
            call()
