"""Python's overhead for small work, counted in calls, which do not depend on the machine."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import py_tensor
import py_tensor as pt
from py_tensor.ir.node import Node
from py_tensor.runtime import device as devices
from py_tensor.runtime.connection import MAX_IN_FLIGHT
from py_tensor.runtime.device import MAX_PENDING_NODES
from py_tensor.schedule.order import topological
from tests.unit.fake_bridge import GPU

FOLDER = os.path.dirname(py_tensor.__file__) + os.sep
PLANNING = (
    *("codegen", "schedule/build", "schedule/evaluate", "schedule/row_fusion", "schedule/store"),
    "base/layout",
)


def calls(action: Callable[[], object]) -> Counter[str]:
    """Count the calls of py_tensor functions by `action`, by module, and of C functions in them."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event in ("call", "c_call") and file.startswith(FOLDER):
            found[file.removeprefix(FOLDER).removesuffix(".py")] += 1

    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def independent(gpu: GPU, count: int) -> list[pt.Tensor]:
    """Too few of one shape to be packed into one kernel."""
    xs = [gpu.tensor(*range(size)) for size in range(1, 16)]
    return [xs[n % 15] + xs[n % 15] for n in range(count)]


def layers(gpu: GPU, count: int) -> list[pt.Tensor]:
    """`count` matrix products, each fused with the following ops: one kernel each."""
    x = pt.full((8, 8), 0.5, device=gpu.device).realize()
    w = pt.full((8, 8), 0.25, device=gpu.device).realize()
    for step in range(count):
        x = (x @ w * (1 + step)).tanh()
    return [x]


def reductions(gpu: GPU, count: int) -> list[pt.Tensor]:
    """Return sums that depend on each other."""
    x = gpu.tensor(*range(16))
    for _ in range(count):
        x = x - x.sum()
    return [x]


Grow = Callable[[GPU, int], list[pt.Tensor]]


@pytest.mark.parametrize(("grow", "most"), [(independent, 30), (layers, 90), (reductions, 80)])
def test_a_body_seen_before_is_not_planned_again(gpu: GPU, grow: Grow, most: int) -> None:
    """A body of about a hundred kernels, submitted by one call into JavaScript."""
    count = 150 if grow is reductions else 100  # some of which share a kernel
    pt.realize(*grow(gpu, count))
    results = grow(gpu, count)
    planned, before = gpu.backend.planned, dict(gpu.bridge.counts)
    found = calls(lambda: pt.realize(*results))
    assert gpu.backend.planned == planned
    assert gpu.bridge.counts["flushes"] == before["flushes"] + 1
    assert 95 <= gpu.bridge.counts["dispatches"] - before["dispatches"] <= 101
    assert not [module for module in found if module.startswith(PLANNING) and found[module] > 300]
    assert found.total() <= most * 100


def test_a_steady_loop_uses_the_same_buffers(gpu: GPU) -> None:
    """Equal buffers let the bridge reuse its bind groups."""
    used: list[set[int]] = []
    results: list[pt.Tensor] = []
    for _ in range(30):
        results = independent(gpu, 100)
        pt.realize(*results)
        used.append({y._node.storage.number for y in results})
    assert gpu.backend.planned == 1
    assert used[2] == used[-1]
    assert len(gpu.bridge.buffers) <= 2 * (15 + 100)


def test_computed_nodes_do_not_count_as_pending(gpu: GPU) -> None:
    """Explicit flushes make automatic ones unnecessary."""
    kept = gpu.tensor(*range(16))
    view = kept.reshape(4, 4)
    for _ in range(3 * MAX_PENDING_NODES // 200):
        results = [kept + 1 for _ in range(200)]
        pt.realize(*results)
    assert gpu.backend.planned == 1
    assert view.shape == (4, 4)


@pytest.mark.parametrize("op", [lambda x: x.sum(), lambda x: x.reshape(4, 4) @ x[:4]])
def test_views_of_computed_nodes_do_not_count_as_pending(
    gpu: GPU, op: Callable[[pt.Tensor], pt.Tensor]
) -> None:
    """The results of reductions and products are views of their kernels' outputs."""
    x = gpu.tensor(*range(16))
    results: list[pt.Tensor] = []
    for _ in range(3 * MAX_PENDING_NODES // 200):
        results = [op(x) for _ in range(200)]
        pt.realize(*results)
        assert not gpu.device._pending
    assert gpu.backend.planned == 1
    assert len(results) == 200  # live while the next ones are created


@pytest.mark.parametrize("grow", [independent, layers, reductions])
def test_planning_is_linear(monkeypatch: pytest.MonkeyPatch, gpu: GPU, grow: Grow) -> None:
    """Five times as many pending ops, about five times as many calls."""
    monkeypatch.setattr(devices, "MAX_PENDING_NODES", 1 << 30)
    gpu.device.use(gpu.backend)

    def planning(count: int) -> int:
        results = grow(gpu, count)
        return calls(lambda: pt.realize(*results)).total()

    planning(199)  # generates the programs, whose cost must not be counted
    few, many = planning(200), planning(1000)
    assert many < few * 5.5


def test_planning_takes_time_in_the_length_of_a_pass(
    monkeypatch: pytest.MonkeyPatch, gpu: GPU
) -> None:
    """The time does not grow with the number of passes, except for the cost of each dispatch."""
    monkeypatch.setattr(devices, "MAX_PENDING_NODES", 1 << 30)
    gpu.device.use(gpu.backend)

    def planning(count: int) -> Counter[str]:
        results = layers(gpu, count)
        return calls(lambda: pt.realize(*results))

    planning(9)
    few, many = planning(10), planning(200)
    for module in few:
        # These two give each dispatch its slots.
        if module.startswith(PLANNING) and module not in ("codegen/lower", "codegen/program"):
            assert many[module] < 2 * few[module] + 2000, module
    assert many.total() < few.total() + 190 * 200


def test_a_kernel_seen_before_is_not_written_again(gpu: GPU) -> None:
    """Within a flush and in later ones, only other sizes need new kernels."""
    pt.realize(*layers(gpu, 4))
    known = len(gpu.backend.programs.lowerings)
    x = pt.full((8, 8), 0.5, device=gpu.device).realize()
    again = calls(lambda: pt.realize(*layers(gpu, 3)))
    assert len(gpu.backend.programs.lowerings) == known
    assert not again["codegen/matmul"] + again["codegen/writer"]
    pt.realize(x @ x)
    assert len(gpu.backend.programs.lowerings) == known + 1


@pytest.mark.parametrize("grow", [layers, reductions])
def test_a_loop_of_many_passes_compiles_no_more_than_one_of_four(gpu: GPU, grow: Grow) -> None:
    pt.realize(*grow(gpu, 4))
    few = gpu.bridge.counts["compiles"]
    for count in (5, 6, 7, 20, 150):
        pt.realize(*grow(gpu, count))
    assert gpu.bridge.counts["compiles"] <= few + (grow is reductions)


def priced(gpu: GPU, passes: int) -> pt.Tensor:
    """Return the mean of a costly expression, summed over passes that differ in a constant."""
    s, t = (pt.full(4_000_000, x, device=gpu.device).realize() for x in (0.5, 0.25))
    total: pt.Tensor | float = 0
    for n in range(passes):
        spread = (pt.log(s / t) + n * t) / pt.sqrt(t)
        total = total + (s * pt.erf(spread) - pt.exp(-t) * pt.erf(spread - n)).mean()
    assert isinstance(total, pt.Tensor)
    return total


@pytest.mark.parametrize("passes", [4, 5, 8, 30])
def test_a_loop_of_costly_reductions_is_one_short_program(gpu: GPU, passes: int) -> None:
    """There are also kernels for the sums of slices, of the first pass and of the others."""
    made = priced(gpu, passes)
    before = dict(gpu.bridge.counts)
    made.realize()
    assert gpu.bridge.counts["compiles"] - before["compiles"] == 3
    assert gpu.bridge.counts["dispatches"] - before["dispatches"] == 2 * passes
    long = max((text for text, *_ in gpu.bridge.pipelines.values()), key=len)
    assert long.count("erf_f32(v") == 2
    assert long.count(" element(") == 1 + 1  # at its definition and at its use


def nodes() -> int:
    return sum(type(o) is Node for o in gc.get_objects())


def test_an_unread_loop_is_bounded(gpu: GPU) -> None:
    x = step = gpu.tensor(*range(16))
    gc.collect()
    others = nodes()  # of earlier tests
    most_nodes = 0
    for n in range(100_000):
        x = x + step
        if not n % 10_111:
            most_nodes = max(most_nodes, nodes() - others)
    gc.collect()
    assert most_nodes <= 3 * MAX_PENDING_NODES
    assert len(gpu.device._pending) <= MAX_PENDING_NODES
    assert len(gpu.backend.unsettled) <= MAX_IN_FLIGHT
    assert gpu.memory_info()["device_bytes"] <= 100 * 256
    assert gpu.backend.planned <= 4


def test_large_live_results_are_computed_while_more_is_recorded(gpu: GPU) -> None:
    """Flushes occur at the same points of each pass, so that they are planned once."""
    x = pt.ones((64, 64), device=gpu.device).realize()
    gpu.backend.ahead_work = 10 * x.size
    for loop in range(3):
        before, planned = gpu.bridge.counts.copy(), gpu.backend.planned
        results = [(x + n).tanh() for n in range(100)]
        ahead = gpu.bridge.counts["flushes"] - before["flushes"]
        assert 3 <= ahead <= 100 // devices.MIN_AHEAD
        pt.realize(*results)
        assert gpu.bridge.counts["dispatches"] - before["dispatches"] <= 100, "computed twice"
        assert loop == 0 or gpu.backend.planned == planned
        del results


def test_dropped_nodes_are_not_computed_ahead(gpu: GPU) -> None:
    x = pt.ones((64, 64), device=gpu.device).realize()
    gpu.backend.ahead_work = 10 * x.size
    y = x
    for n in range(40):
        y = y + n
    assert gpu.bridge.counts["flushes"] == 1  # of the operand
    live = [x * n for n in range(devices.NEWEST_KEPT)]
    z = x + y
    del live
    assert gpu.bridge.counts["flushes"] == 1
    z.realize()
    assert gpu.bridge.counts["dispatches"] == 2


def test_the_operand_of_a_sum_is_not_stored_by_a_flush_before_the_sum(gpu: GPU) -> None:
    a, b = (pt.ones((8, 8), device=gpu.device).realize() for _ in "ab")
    gpu.backend.pending_work = 500  # the products are 512
    gpu.device.use(gpu.backend)
    other = pt.exp(a)
    before = gpu.bridge.counts["dispatches"]
    product = (a[:, :, None] * b).sum(1)
    assert gpu.bridge.counts["dispatches"] == before + 1, "the flush"
    pt.realize(other, product)
    assert gpu.bridge.counts["dispatches"] == before + 2, "one kernel for products and sum"


@pytest.mark.parametrize("others", range(4))
def test_a_loop_whose_flushes_fall_on_a_sum_is_bounded(gpu: GPU, others: int) -> None:
    x = pt.ones((8, 8), device=gpu.device).realize()
    kept = [x + n for n in range(others)]  # so that flushes fall on each op of the loop
    for _ in range(3 * MAX_PENDING_NODES):
        x = x / x.sum()
    assert len(topological([x._node])) < 4 * MAX_PENDING_NODES
    del kept


def test_small_live_results_wait(gpu: GPU) -> None:
    x = gpu.tensor(1.0)
    live = [x + n for n in range(500)]
    assert gpu.bridge.counts["flushes"] == 1
    assert len(live) == 500
