"""Programs as values: made of traced outputs, planned, and recorded again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base.dtypes import float32
from py_tensor.ir.program import Program, program_of
from py_tensor.runtime.plan import Plan
from py_tensor.runtime.trace import trace_on
from py_tensor.schedule.kernel import Budget
from py_tensor.schedule.order import make_request
from py_tensor.schedule.passes import schedules
from tests.unit import simulate
from tests.unit.fake_bridge import GPU


def body(x: pt.Tensor, y: pt.Tensor) -> tuple[pt.Tensor, pt.Tensor]:
    for _ in range(12):  # constants are equal in all iterations, and most of these are left out
        x = pt.roll(x + y, 1, 0) * 0.5
    return x, x.sum(0) - y


def traced(gpu: GPU) -> Program:
    trace = trace_on(gpu.device)
    inputs = [trace.argument((8, 8), float32) for _ in range(2)]
    results = body(*map(pt.Tensor, inputs))
    program = program_of([x._node for x in results], inputs)
    assert program is not None
    return program


def test_a_traced_program_has_the_plan_of_a_flush(gpu: GPU) -> None:
    program = traced(gpu)
    x, y = (pt.zeros((8, 8), device=gpu.device) + n for n in range(2))
    pt.realize(x, y)
    results = body(x, y)
    gpu.device.collect()
    flush = make_request([x._node for x in results]).program
    assert program.inputs == [0, 1]
    assert sorted(program.nodes[slot].meta.shape for slot in program.outputs) == [(8, 8), (8, 8)]
    plans = [gpu.backend.plan_for(gpu.backend.profile, x) for x in (program, flush)]
    made = [[(x.program.label, x.operations, x.traffic) for x in p.dispatches] for p in plans]
    assert made[0] == made[1]
    assert len(made[0]) >= 12


def test_planning_does_not_change_a_program(gpu: GPU) -> None:
    program = traced(gpu)
    before = list(program.nodes), dict(program.slots), list(program.outputs), program.key
    states = [(node.op, node.attrs, node.inputs, node.storage, node.key) for node in program.nodes]
    for constants_differ in (False, True):
        for _ in schedules(
            program, Budget(8, 2**30), lambda _: True, constants_differ=constants_differ
        ):
            pass
    assert before == (program.nodes, program.slots, list(program.outputs), program.key)
    after = [(node.op, node.attrs, node.inputs, node.storage, node.key) for node in program.nodes]
    assert states == after


def test_only_closed_lists_are_programs() -> None:
    place = simulate.device()
    x, y = (pt.tensor([n], device=place) for n in (0.0, 1.0))
    z = pt.exp(x) + y
    nodes = [t._node for t in (x, y, z)]
    assert program_of([nodes[2]], nodes[:2]) is not None
    assert program_of([nodes[2]], nodes[:1]) is None, "y is stored and not an input"
    assert program_of([nodes[0]], nodes[:2]) is None, "an output is an input"
    assert program_of([nodes[2]], [nodes[0], nodes[0], nodes[1]]) is None


def test_recording_a_program_again() -> None:
    place = simulate.device()
    x, y, u, v = (pt.tensor([n], device=place) for n in (0.0, 1.0, 2.0, 3.0))
    z = (pt.exp(x) + y) * 2
    program = program_of([z._node], [x._node, y._node])
    assert program is not None
    nodes = [u._node, v._node]
    for make, operands in program.steps():
        nodes.append(make(tuple(nodes[slot] for slot in operands)))
    (slot,) = program.outputs
    np.testing.assert_allclose(pt.Tensor(nodes[slot]).numpy(), [2 * np.exp(2.0) + 6], rtol=1e-6)


def forms(xs: pt.Tensor, read: Callable[[pt.Tensor, int], pt.Tensor], *rows: int) -> int:
    """Return how many forms the programs have that read these rows."""
    nodes = [read(xs, n)._node for n in rows]
    xs.device.collect()
    programs = [make_request([node]).program for node in nodes]
    assert len({program.key for program in programs}) == len(rows)
    return len({program.form for program in programs})


def test_the_form_leaves_out_offsets_of_views(gpu: GPU) -> None:
    odd, even, flat = (pt.zeros(s, device=gpu.device) for s in ((40, 7), (40, 8), 320))
    pt.realize(odd, even, flat)
    for xs in (odd, even):
        assert forms(xs, lambda xs, n: xs[n] + 1, 0, 1, 2, 3) == 1
        assert forms(xs, lambda xs, n: xs[n : n + 2].T * 2, 0, 1, 2, 3) == 1
        assert forms(xs, lambda xs, n: xs[:20, n] + 1, 0, 1, 2, 3) == 1
        assert forms(xs, lambda xs, n: xs[n, ::-1] + xs[::-1][n], 0, 1, 2, 3) == 1
        assert forms(xs, lambda xs, n: xs[n, n] + 1, 0, 1, 2, 3) == 1
        assert forms(xs, assigned, 0, 1, 2, 3) == 1
    # Kernels load vectors from some of these, or store them.
    assert forms(even, lambda xs, n: xs[1, n : n + 4] + 1, 0, 1, 2, 4) == 2
    assert forms(flat, lambda xs, n: xs[n : n + 4] + 1, 0, 1, 2, 4) == 2
    assert forms(flat, assigned, 0, 1, 2, 4) == 1
    assert forms(flat, lambda xs, n: assigned(xs, slice(n, n + 4)), 0, 1, 2, 4) == 2
    # It matters whether a kernel reads the elements that it writes.
    assert forms(odd, lambda xs, n: assigned(xs, n, 3), 0, 1, 2, 3) == 2


def assigned(xs: pt.Tensor, key: int | slice, source: int | slice | None = None) -> pt.Tensor:
    copy = xs.copy()
    copy[key] = xs[key if source is None else source] * 2 + copy[key]
    return copy


def test_the_form_has_other_offsets(gpu: GPU) -> None:
    """Views of most elements, of what no buffer holds, and of what is written by index."""
    xs = pt.zeros((40, 8), device=gpu.device)
    pt.realize(xs)
    assert forms(xs, lambda xs, n: xs[n : n + 30] + 1, 0, 1, 2) == 3
    assert forms(xs, lambda xs, n: (xs + 1)[n] * 2, 0, 1, 2) == 3

    def written(xs: pt.Tensor, n: int) -> pt.Tensor:
        copy = xs.copy()
        copy[[0, 1]] = copy[n]
        return copy

    assert forms(xs, written, 0, 1, 2) == 3


READS: list[Callable[[pt.Tensor, int], pt.Tensor]] = [
    lambda xs, n: pt.exp(xs[n]) + xs[n + 1],
    lambda xs, n: xs[n : n + 8, :4] @ xs[n : n + 4],
    lambda xs, n: xs[:9, n : n + 4].T @ xs[:9, :4],
    lambda xs, n: pt.cumsum(xs[n, ::-1], 0) * xs[::-1][n].sum(),
    lambda xs, n: pt.sort(xs[:60, n]) + xs[n, n],
    lambda xs, n: xs[n][pt.argsort(xs[n + 1])] - xs[0],
    lambda xs, n: xs[n : n + 3].T.max(0) - pt.concat([xs[n, :2], xs[n + 9, :1]]),
    lambda xs, n: pt.roll(xs[n], 1) * pt.pad(xs[n + 1, 1:], (0, 1)),
    lambda xs, n: xs[n : n + 4] - xs[n : n + 4].mean(1, keepdims=True),
    lambda xs, n: assigned(assigned(xs, n), n + 1, n),
    lambda xs, n: assigned(xs, slice(n + 4, n, -2), slice(n, n + 4, 2)),
]


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "int64"])
@pytest.mark.parametrize("columns", [7, 8, 16])
def test_plans_of_one_form_are_equal(columns: int, dtype: str, gpu: GPU) -> None:
    """Whichever of them is made, it serves all programs of the form."""
    xs = pt.zeros((80, columns), dtype=dtype, device=gpu.device)
    pt.realize(xs)
    for read in READS:
        made: dict[tuple[int, ...], Plan] = {}
        for n in range(5):
            node = read(xs, n)._node
            gpu.device.collect()
            program = make_request([node]).program
            plan = gpu.backend.plan_for(gpu.backend.profile, program)
            first = made.setdefault(program.form, plan)
            assert first.commands == plan.commands
            assert first.patched(program.nodes) == plan.patched(program.nodes)
        assert len(made) <= 3
