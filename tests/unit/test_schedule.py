"""The kernels of a flush: what is fused, what is stored, and the cost of planning them."""

from __future__ import annotations

import inspect
import operator
import random
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import fields
from functools import reduce
from types import FrameType
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base.dtypes import float32
from py_tensor.base.shapes import Shape, size_of
from py_tensor.ir.program import Program
from py_tensor.ops.gather import gather_nd, scatter
from py_tensor.runtime import device as devices
from py_tensor.runtime.device import LazyDevice
from py_tensor.schedule import build
from py_tensor.schedule.body import Access, Body, Load
from py_tensor.schedule.build import in_cycles, in_order, schedule
from py_tensor.schedule.kernel import MAX_BODY, Budget, Contraction, Kernel, Output, Scattered
from py_tensor.schedule.order import make_request
from py_tensor.schedule.reroll import rerolled_length
from py_tensor.schedule.store import Decisions, Rules, decide
from tests.unit import simulate
from tests.unit.fake_bridge import GPU

Expression = Callable[..., pt.Tensor]


def kernels(expression: Expression, *shapes: tuple[int, ...], max_buffers: int = 8) -> list[Kernel]:
    """Return the kernels of an expression on random operands; the result is checked."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype("float32") for shape in shapes]
    place = simulate.device(max_buffers)
    found = expression(*(pt.tensor(a, device=place) for a in arrays)).numpy()
    expected = expression(*(pt.tensor(a, device=CPU_DEVICE) for a in arrays)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    return simulate.kernels_of(place)


def added(*xs: pt.Tensor) -> pt.Tensor:
    return reduce(operator.add, xs)


def layer_norm(x: pt.Tensor, w: pt.Tensor, b: pt.Tensor) -> pt.Tensor:
    centred = x - pt.mean(x, -1, keepdims=True)
    return centred / pt.sqrt(pt.mean(centred * centred, -1, keepdims=True) + 1e-5) * w + b


def costly(x: pt.Tensor) -> pt.Tensor:
    return pt.sin(pt.exp(pt.tanh(x)))


def softmax(x: pt.Tensor) -> pt.Tensor:
    e = pt.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("count", "expression", "shapes"),
    [
        (1, lambda x, y: pt.exp(x * 2 + y) - pt.tanh(x) / 3, [(4, 5), (5,)]),
        (1, lambda x: pt.mean(x, 1), [(4, 5)]),
        (1, lambda x: pt.sqrt(pt.mean(x * x, 1) + 1), [(4, 5)]),
        (1, lambda x: x.sum(0) + x.max(0), [(4, 5)]),
        (1, lambda x: pt.relu(x.sum((0, 2))) * 2 + x.max((0, 2)), [(4, 5, 3)]),
        (1, lambda a, b, c: pt.relu(a @ b + c), [(4, 5), (5, 6), (6,)]),
        (1, lambda a, b: (a[:, :, None] * b[None, :, :]).sum(1), [(4, 5), (5, 6)]),
        (1, lambda a, b: a.T @ b.T, [(5, 4), (6, 5)]),
        (1, lambda a, b: a @ b, [(5,), (5,)]),
        (
            1,
            lambda x: pt.flip(x.permute((1, 0)), 0)[::2].pad(((1, 1), (0, 2)), constant_values=3),
            [(4, 5)],
        ),
        (1, lambda x: x.reshape(20)[3:].expand((2, 17)) + 1, [(4, 5)]),
        (1, lambda x: x.T.reshape(20), [(4, 5)]),
        (1, lambda x: pt.exp(x.T.reshape(20) * 2).reshape(2, 10), [(4, 5)]),
        (2, lambda x: x.T.reshape(20)[::2], [(4, 5)]),
        (1, lambda x: x.sum(0), [(4, 5)]),
        (1, lambda x: pt.var(x, 1), [(4, 5)]),
        (1, softmax, [(4, 5)]),
        (1, layer_norm, [(4, 5), (5,), (5,)]),
        (1, lambda x, y: pt.concat([x, y + 1]), [(4, 5), (4, 5)]),
            (1, lambda x, y: pt.concat([costly(x), costly(y)]), [(4, 5), (2, 5)]),
            (2, lambda x, y: pt.concat([costly(x), costly(y)]), [(400, 500), (400, 500)]),
            (1, lambda *x: pt.concat([v + 1 for v in x]), [(4, 5)] * 5),
            (5, lambda *x: pt.concat([v + 1 for v in x]), [(400, 500)] * 5),
        (1, lambda x: x - x.max(), [(4, 5)]),
        (2, lambda x: x.sum(0) + x.sum(1)[:40], [(50, 40)]),
            (1, lambda x: x.sum(0) + x.sum(1)[:4], [(5, 4)]),
            (1, lambda x: pt.roll(x.sum(0), 1) * 2, [(5, 4)]),
            (1, lambda p: ((p[:, None] - p[None]) ** 2).sum(2).sum(1), [(40, 3)]),
        (2, lambda a, b, c: a @ b @ c, [(4, 5), (5, 6), (6, 3)]),
    ],
)  # fmt: skip
def test_number_of_kernels(
    count: int, expression: Expression, shapes: list[tuple[int, ...]]
) -> None:
    found = kernels(expression, *shapes)
    assert len(found) == count, [k.label for k in found]


def test_creation_needs_no_buffers() -> None:
    found = kernels(
        lambda x: x + pt.arange(5, device=x.device) * pt.ones((4, 5), device=x.device), (4, 5)
    )
    assert len(found) == 1
    assert len(found[0].reads()) == 1


def test_matrix_products_are_contractions() -> None:
    for expression in (
        lambda a, b: a @ b,
        lambda a, b: (a[:, :, None] * b[None, :, :]).sum(1),
        lambda a, b: a.T.permute((1, 0)) @ b.permute((1, 0)).T,
    ):
        (kernel,) = kernels(expression, (3, 4), (4, 5))
        assert isinstance(kernel.stages[0], Contraction)
        assert (kernel.kept, kernel.reduced) == ((3, 5), (4,))


def test_batches_broadcast_without_a_copy() -> None:
    (kernel,) = kernels(lambda a, b: a @ b, (2, 1, 3, 4), (5, 4, 6))
    assert isinstance(kernel.stages[0], Contraction)
    assert kernel.kept == (2, 5, 3, 6)


@pytest.mark.parametrize("max_buffers", [4, 8, 10])
@pytest.mark.parametrize("operands", [7, 8, 9, 10, 12, 30])
def test_many_operands(operands: int, max_buffers: int) -> None:
    found = kernels(added, *[(3, 4)] * operands, max_buffers=max_buffers)
    assert len(found) == max(1, -(-(operands - 1) // (max_buffers - 2)))


@pytest.mark.parametrize("max_buffers", [4, 8, 10])
def test_rows_of_many_elements(max_buffers: int) -> None:
    """Rows that the planner expects to compute from the two vectors may be stored instead."""

    def outer(x: pt.Tensor, y: pt.Tensor) -> pt.Tensor:
        x, y = x.astype("uint16"), y.astype("uint8")
        return pt.stack([pt.stack([x[i] * y[j] for j in range(2)]) for i in range(30)])

    found = kernels(outer, (30,), (2,), max_buffers=max_buffers)
    assert all(kernel.draft().buffers <= max_buffers for kernel in found)


def test_many_operands_of_a_reduction() -> None:
    def expression(*xs: pt.Tensor) -> pt.Tensor:
        return sum(xs[1:], xs[0]).sum(0)

    assert len(kernels(expression, *[(3, 4)] * 12, max_buffers=8)) == 2
    assert len(kernels(expression, *[(3, 4)] * 12, max_buffers=10)) == 2


def test_views_that_are_not_affine_count_as_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buffer of a view is known only once its kernel is built, which is then planned again."""
    plans: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Decisions:
        plans[-1] += 1
        return decide(*arguments, **options)

    monkeypatch.setattr(build, "decide", counted)

    def planned(f: Expression, max_buffers: int) -> list[Kernel]:
        plans.append(0)
        return kernels(f, (24,), max_buffers=max_buffers)

    def expression(x: pt.Tensor) -> pt.Tensor:
        return added(*(x.reshape(n, 24 // n).T.reshape(24) for n in (1, 2, 3, 4, 6, 8, 12, 24)))

    for max_buffers in (4, 8):  # `check` in simulate.py counts them
        planned(expression, max_buffers)
        planned(lambda x: expression(x).reshape(4, 6).sum(0) + 1, max_buffers)
        planned(lambda x: expression(x) * x.sum() + x, max_buffers)
    assert max(plans) <= 4


@pytest.fixture
def unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "MAX_PENDING_NODES", 1 << 30)


def chain(place: LazyDevice, length: int) -> pt.Tensor:
    """Additions of 1, written differently and without a repeating pattern."""
    x = pt.tensor([1.0, 2.0], device=place)
    for kind in random.Random(5).choices(range(3), k=length):
        x = (x + 1, 1 + x, x - -1)[kind]
    return x


@pytest.mark.usefixtures("unflushed")
def test_a_long_chain_is_cut_into_kernels_of_bounded_size() -> None:
    place = simulate.device()
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 60)
    try:
        assert chain(place, 1000).tolist() == [1001, 1002]
    finally:
        sys.setrecursionlimit(before)
    found = simulate.kernels_of(place)
    assert 1000 // MAX_BODY <= len(found) <= 1000 // MAX_BODY + 2
    assert max(len(k.row.instructions) for k in found) <= 2 * MAX_BODY + 2


@pytest.mark.usefixtures("unflushed")
def test_a_loop_is_one_kernel_that_is_written_as_one() -> None:
    place = simulate.device()
    x, v = pt.tensor([1.0, 2.0], device=place), pt.tensor([1.0, 0.0], device=place)
    for _ in range(200):
        v = v - x * 0.5
        x = x + v
    pt.realize(x, v)
    found = simulate.kernels_of(place)
    assert len(found) <= 2
    lengths = [rerolled_length(k.row, [o.value for o in k.outputs]) for k in found]
    assert max(lengths) <= 8
    assert sum(k.row.operations for k in found) == 600


@pytest.mark.usefixtures("unflushed")
@pytest.mark.parametrize("states", [2, 8, 12])
@pytest.mark.parametrize("early", [None, 5, 80, 98])
def test_no_loop_becomes_a_kernel_of_straight_code(states: int, early: int | None) -> None:
    """Values of an early pass may be used after the loop, and there may be many states."""
    place = simulate.device(8)
    xs = [pt.tensor([1.0 + n, 2.0], device=place) for n in range(states)]
    kept = xs[0]
    for n in range(100):
        xs = [(a + b) * 0.5 + 0.1 for a, b in zip(xs, xs[1:] + xs[:1], strict=True)]
        kept = xs[0] if n == early else kept
    xs[0] = xs[0] + kept
    del kept
    pt.realize(*xs)
    for k in simulate.kernels_of(place):
        assert rerolled_length(k.row, [o.value for o in k.outputs]) <= 2 * MAX_BODY


@pytest.mark.usefixtures("unflushed")
def test_a_loop_whose_values_are_kept_is_cut() -> None:
    place = simulate.device()
    x, kept = pt.tensor([1.0, 2.0], device=place), []
    for _ in range(200):
        x = x * 0.5 + 1
        kept.append(x)
    pt.realize(*kept)
    assert max(len(k.row.instructions) for k in simulate.kernels_of(place)) <= 2 * MAX_BODY


def diamonds(place: LazyDevice, length: int) -> pt.Tensor:
    """Every node is used twice, so recomputing at every use grows as 2**n."""
    x = pt.tensor([1.0, 2.0], device=place)
    for _ in range(length // 2):
        x = x * 0.25 + x * 0.5
    return x


def rows(place: LazyDevice, length: int) -> pt.Tensor:
    x = pt.tensor(np.ones((3, 4), "float32"), device=place)
    for _ in range(length // 8):
        x = softmax(x)
    return x


def test_building_kernels_changes_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """What turns out to need a buffer is only noted by the builder."""
    decided: list[tuple[Decisions, dict[str, Any]]] = []

    def copied(decisions: Decisions) -> dict[str, Any]:
        names = [field.name for field in fields(decisions) if field.name != "program"]
        return {name: copy(getattr(decisions, name)) for name in names}

    def remembered(program: Program, rules: Rules) -> Decisions:
        decisions = decide(program, rules)
        decided.append((decisions, copied(decisions)))
        return decisions

    monkeypatch.setattr(build, "decide", remembered)
    kernels(lambda x: pt.exp(x).reshape(6, 4).T.reshape(24) + x.sum() * x.max(), (24,))
    kernels(lambda x: pt.softmax(x.reshape(4, 6), 1).T @ x.reshape(4, 6), (24,))
    assert len(decided) >= 2
    for decisions, before in decided:
        assert copied(decisions) == before


def test_a_sum_of_many_tensors_is_planned_once(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of one op over different operands is not a loop to be planned from a part of it."""
    planned: list[int] = []

    def counted(program: Program, *arguments: Any, **named: Any) -> Any:
        planned.append(len(program.nodes))
        return schedule(program, *arguments, **named)

    monkeypatch.setattr("py_tensor.schedule.passes.schedule", counted)
    for count in (7, 12, 40):
        xs = [gpu.tensor(*range(9)) for _ in range(count)]
        planned.clear()
        pt.realize(added(*xs))
        assert planned == [2 * count - 1]


@pytest.mark.usefixtures("unflushed")
@pytest.mark.parametrize(("grow", "nodes"), [(chain, 4_000), (diamonds, 2_000), (rows, 2_000)])
def test_planning_is_linear(grow: Callable[[LazyDevice, int], pt.Tensor], nodes: int) -> None:
    """Twice as many nodes execute about twice as many lines of Python."""

    def lines(length: int) -> int:
        program = make_request([grow(simulate.device(execute=False), length)._node]).program
        ran = 0

        def trace(_frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
            nonlocal ran
            ran += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            schedule(program, Budget(8))
        finally:
            sys.settrace(before)
        return ran

    assert lines(nodes) < 2.05 * lines(nodes // 2)


def test_diamonds_are_computed_once() -> None:
    place = simulate.device()
    x = diamonds(place, 80)
    np.testing.assert_allclose(x.numpy(), np.array([1, 2]) * 0.75**40, rtol=1e-5)
    assert sum(len(k.row.instructions) for k in simulate.kernels_of(place)) < 300


def test_a_live_intermediate_is_a_second_output() -> None:
    place = simulate.device()
    x = pt.tensor([1.0, -2.0], device=place)
    y = pt.exp(x)
    z = y * 2 + 1
    dead = pt.tanh(x)
    del dead
    z.realize()
    (kernel,) = simulate.kernels_of(place)
    assert len(kernel.outputs) == 2
    assert "tanh" not in kernel.label
    backend: Any = place.backend
    flushes = len(backend.requests)
    assert y.tolist() == pytest.approx(np.exp([1.0, -2.0]))
    assert len(backend.requests) == flushes


def test_a_live_reduction_is_a_second_output() -> None:
    place = simulate.device()
    x = pt.tensor(np.ones((3, 4), "float32"), device=place)
    total = x.sum(0)
    y = pt.sqrt(total)
    y.realize()
    (kernel,) = simulate.kernels_of(place)
    assert len(kernel.outputs) == 2
    assert total.tolist() == [3, 3, 3, 3]


def test_dropped_nodes_are_not_computed() -> None:
    place = simulate.device()
    x = pt.tensor(np.ones((3, 4), "float32"), device=place)
    live = pt.exp(x)
    for _ in range(10):
        pt.tanh(x).sum()
    place.flush()
    assert [k.label for k in simulate.kernels_of(place)] == ["exp"]
    assert live._node.storage is not None


def test_independent_results_of_one_flush() -> None:
    place = simulate.device()
    xs = [pt.tensor([float(n)], device=place) for n in range(20)]
    ys = [x.expand((n + 1,)) + 1 for n, x in enumerate(xs)]
    pt.realize(*ys)
    assert len(simulate.kernels_of(place)) == 20
    assert [y.tolist() for y in ys] == [[n + 1] * (n + 1) for n in range(20)]


def test_views_of_a_pending_tensor_share_its_storage() -> None:
    place = simulate.device()
    x = pt.exp(pt.tensor(np.ones((3, 4), "float32"), device=place))
    views = [x.T, x.reshape(12), pt.flip(x, 0)]
    pt.realize(*views)
    assert len(simulate.kernels_of(place)) == 1
    assert len(simulate.kernels_of(place)[0].outputs) == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[1:].__iadd__(1),
        lambda x: x.__setitem__(slice(1, None), x[1:].__iadd__(1)),  # the same as x[1:] += 1
        lambda x: x.T.__setitem__((..., 0), x.T[..., 0].__imul__(x[1])),
        lambda x: x.__setitem__((2, slice(None)), x[2] - x[2, 1] * x[0]),
    ],
)
def test_a_write_is_one_kernel(write: Callable[[pt.Tensor], object]) -> None:
    place = simulate.device()
    x = pt.tensor(np.ones((4, 4), "float32"), device=place).realize()
    write(x)
    x.realize()
    assert len(simulate.kernels_of(place)) == 1


def test_a_fused_intermediate_of_any_size() -> None:
    """It has 2**34 elements, which are never stored."""
    place = simulate.device(execute=False)
    n = 2**17
    x, y = (pt.full((n,), v, device=place).realize() for v in (1.0, 2.0))
    total = (pt.exp(x[:, None] - y[None, :])).sum(1)
    total.realize()
    (kernel,) = simulate.kernels_of(place)
    assert (kernel.kept, kernel.reduced) == ((n,), (n,))
    assert size_of(kernel.kept + kernel.reduced) > 2**32


def test_kernels_do_not_depend_on_the_clock_or_on_hashes() -> None:
    def labels() -> list[str]:
        place = simulate.device()
        x = pt.tensor(np.ones((3, 4), "float32"), device=place)
        live = [softmax(x + n) for n in range(5)]
        pt.realize(*live)
        return [
            f"{k.label} {sorted(k.reads())} {sorted(k.writes())}"
            for k in simulate.kernels_of(place)
        ]

    assert labels() == labels()


def test_reading_a_flat_view_copies_nothing() -> None:
    place = simulate.device()
    pt.tensor(np.ones((3, 4), "float32"), device=place).sum(0).numpy()
    (kernel,) = simulate.kernels_of(place)
    assert len(kernel.outputs) == 1


def test_joined_kernels_stay_small() -> None:
    place = simulate.device(10)
    place.backend.fits = lambda kernel: True  # type: ignore[attr-defined]
    x = pt.tensor(np.ones((4, 5), np.float32), device=place)
    y = x
    for _ in range(30):
        y = x - (x * y).max(1, keepdims=True)
    y.realize()
    found = simulate.kernels_of(place)
    assert 5 <= len(found) < 15
    assert max(len(kernel.accumulators()) for kernel in found) <= 6
    np.testing.assert_array_equal(y.numpy(), 1 - (np.arange(30) % 2 == 0)[-1:] * np.ones((4, 5)))


def put(x: pt.Tensor, y: pt.Tensor, mode: str = "add") -> pt.Tensor:
    """Store the rows of `y` at positions of `x`, with duplicates."""
    n = x.shape[0]
    places = pt.tensor([3 * k % n - n * (k % 2) for k in range(y.shape[0])], device=x.device)
    return scatter(x, (0,), (places,), 0, y, mode)


@pytest.mark.parametrize("mode", ["set", "add", "min", "max"])
@pytest.mark.parametrize(
    ("count", "expression", "shapes"),
    [
        (1, lambda x, y, mode: put(x, y, mode), [(4, 5), (7, 5)]),
        (1, lambda x, y, mode: put(x, pt.exp(y) - 1, mode), [(4, 5), (7, 5)]),
        (1, lambda x, y, mode: put(x.reshape(2, 10), y.T, mode), [(4, 5), (10, 3)]),
        (2, lambda x, y, mode: put(x * 2, y, mode), [(4, 5), (7, 5)]),
        (2, lambda x, y, mode: put(x.T, y, mode), [(5, 4), (7, 5)]),
        (2, lambda x, y, mode: put(x, y, mode) * 2 + x, [(4, 5), (7, 5)]),
        (2, lambda x, y, mode: put(x, y, mode).sum(0), [(4, 5), (7, 5)]),
        (2, lambda x, y, mode: put(put(x, y, mode), y + 1, mode), [(4, 5), (7, 5)]),
        (2, lambda x, y, mode: put(x, y.cumsum(0), mode), [(4, 5), (7, 5)]),
        (
            1,
            lambda x, y, mode: put(x, x.take(pt.arange(3, device=x.device), 0) + 1, mode),
            [(4, 5)] * 2,
        ),
        (
            2,
            lambda x, y, mode: put(pt.zeros_like(x), y.pad(((1, 2), (0, 0))), mode),
            [(4, 5), (7, 5)],
        ),
    ],
)
def test_scatters(mode: str, count: int, expression: Expression, shapes: list[Any]) -> None:
    found = kernels(lambda *xs: expression(*xs, mode), *shapes)
    assert len(found) == count
    assert sum(isinstance(stage, Scattered) for k in found for stage in k.stages) >= 1


def test_a_scatter_binds_no_more_than_it_may() -> None:
    for max_buffers in (8, 10):
        found = kernels(
            lambda x, *ys: put(x, added(*ys)), (4, 5), *[(7, 5)] * 12, max_buffers=max_buffers
        )
        assert all(k.draft().buffers <= max_buffers for k in found)
        assert len(found) > 1


@pytest.mark.parametrize("max_buffers", [8, 10])
@pytest.mark.parametrize("shapes", [((5,), ()), ((4, 5), (1, 5), (4, 1)), ((2, 1, 3),)])
def test_any_number_of_indices_fits(shapes: tuple[Shape, ...], max_buffers: int) -> None:
    """The plan is checked by the simulator, which also computes it."""
    rng = np.random.default_rng()
    place = simulate.device(max_buffers)
    for count in range(1, 9):
        dtypes = rng.choice(["int8", "uint8", "int32", "uint32", "int64", "uint64"], count)
        indices = [
            rng.integers(0, 3, shapes[n % len(shapes)]).astype(dtype)
            for n, dtype in enumerate(dtypes)
        ]
        keys = tuple(indices), tuple(pt.tensor(index, device=place) for index in indices)
        a = rng.standard_normal((3,) * count).astype("float32")
        x = pt.tensor(a, device=place)
        np.testing.assert_array_equal((x[keys[1]] * 2).numpy(), a[keys[0]] * 2)
        values = rng.standard_normal(a[keys[0]].shape).astype("float32")
        a[keys[0]] = values * 2
        x[keys[1]] = pt.tensor(values, device=place) * 2
        np.testing.assert_array_equal(x.numpy(), a)
        np.add.at(a, keys[0], values)
        cast("Any", pt.add).at(x, keys[1], pt.tensor(values, device=place))
        np.testing.assert_allclose(x.numpy(), a, rtol=1e-5)


def test_gathers_by_several_indices_are_inlined() -> None:
    def expression(x: pt.Tensor, y: pt.Tensor) -> pt.Tensor:
        i = pt.arange(6, device=x.device).reshape(2, 3) - 2
        j = pt.arange(3, device=x.device)
        return gather_nd(x, (0, 2), (i, -j - 1), 1) * 2 + gather_nd(y, (1,), (j,), 0).sum()

    assert len(kernels(expression, (4, 2, 5), (3, 6))) == 2


def test_a_check_takes_the_place_of_a_buffer() -> None:
    """Kernels that check indices in tensors bind one more buffer, and ignore padding."""
    found = kernels(
        lambda x, *ys: added(*(x.take(pt.arange(3, device=x.device), 0).pad(1) + y for y in ys)),
        (4, 5),
        *[(5, 7)] * 12,
    )
    assert any(k.checks() for k in found)
    assert all(k.draft().buffers <= 8 for k in found)


def test_a_kernel_that_only_waits_for_a_cycle_keeps_its_outputs() -> None:
    """The rows of the product would be one kernel with its epilogue, which waits for them."""
    place = simulate.device(10)
    x, w, p, m = (pt.tensor(np.eye(4, dtype="float32"), device=place) for _ in range(4))
    pt.realize(x, w, p, m)
    shifted = x @ w + 1
    shifted = shifted - shifted.max(1, keepdims=True)
    loss = shifted - pt.log(pt.exp(shifted).sum(1, keepdims=True))
    m = m * 0.9 + x.T @ loss
    pt.realize(loss.sum(), p - m, m)
    found = simulate.kernels_of(place)
    assert len(found) == 4
    assert max(len(kernel.outputs) for kernel in found) == 2


def kernel_of(reads: set[int], slot: int) -> Kernel:
    at = Access((), 0)
    row = Body.of([Load(read, float32, at) for read in sorted(reads)])
    return Kernel((), (), (), row, (Output(slot, 0, float32, at),), str(slot))


@pytest.mark.parametrize("seed", range(50))
def test_kernels_in_cycles(seed: int) -> None:
    """A kernel is in a cycle if it is reached from itself, maybe directly."""
    source = random.Random(seed)
    count = source.randint(1, 12)
    reads = [
        set(source.sample(range(count), source.randint(0, min(2, count)))) for _ in range(count)
    ]
    reached = [set(before) for before in reads]
    for middle in range(count):
        for before in reached:
            if middle in before:
                before |= reached[middle]
    kernels = [kernel_of(before, number) for number, before in enumerate(reads)]
    expected = [str(number) for number in range(count) if number in reached[number]]
    assert [kernel.label for kernel in in_cycles(kernels)] == expected
    assert (len(in_order(kernels)) == count) == (not expected)
