"""Long loops are planned from a few of their iterations."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.ir.program import Program
from py_tensor.runtime.device import LazyDevice
from py_tensor.schedule.kernel import Budget, Kernel
from py_tensor.schedule.loops import KEPT, repeated, shorten
from py_tensor.schedule.order import make_request
from tests.unit import kernel_spec, simulate
from tests.unit.fake_bridge import GPU

Step = Callable[[Random, list[pt.Tensor]], pt.Tensor]
SIZE = 4

# Steps of a iteration of a random loop; values have shape (SIZE, SIZE) and stay small.
STEPS: list[Step] = [
    lambda r, xs: r.choice(xs) + r.choice(xs),
    lambda r, xs: r.choice(xs) - r.choice(xs) * 0.5,
    lambda r, xs: pt.maximum(r.choice(xs), r.choice(xs)),
    lambda r, xs: pt.roll(r.choice(xs), 1, r.choice([0, 1])) - r.choice(xs),
    lambda r, xs: pt.pad(r.choice(xs)[1:, :-1], ((1, 0), (0, 1))),
    lambda r, xs: r.choice(xs).T,
    lambda r, xs: r.choice(xs) - r.choice(xs).mean(r.choice([0, 1]), keepdims=True),
    lambda r, xs: r.choice(xs) + r.choice(xs).sum() * 0.125,
    lambda r, xs: r.choice(xs) @ r.choice(xs) * 0.125,
    lambda r, xs: pt.cumsum(r.choice(xs), r.choice([0, 1])) * 0.25,
    lambda r, xs: pt.where(r.choice(xs) < 1, r.choice(xs), 2.0),
    lambda r, xs: r.choice(xs)[pt.argmax(r.choice(xs), 1)],
]


# What iteration n of a loop reads of a table of 16 rows, each of shape (SIZE, SIZE) or wider.
ROWS: list[Callable[[pt.Tensor, int], list[pt.Tensor]]] = [
    lambda rows, n: [],
    lambda rows, n: [rows[n][:, :SIZE]],
    lambda rows, n: [rows[::-1][n][:, -SIZE:], rows[n + 1][:, :SIZE]],
    lambda rows, n: [rows[n : n + 2].sum(0)[:, :SIZE], rows[n, :, 1, None] + rows[n, 0, :SIZE]],
]


def advanced(out: pt.Tensor, n: int, x: pt.Tensor) -> None:
    out[n + 1] = bounded(out[n] + x)


def averaged(out: pt.Tensor, n: int, x: pt.Tensor) -> None:
    out[n + 2, :, 1:] = bounded(out[n + 1, :, :-1] - out[n, :, 1:] + x[:, 1:])


def set_elements(out: pt.Tensor, n: int, x: pt.Tensor) -> None:
    out[n, 1, 2] = x.sum()
    out[n + 1, 0, ::-2] = x[0, :2] + out[n, 1, 2]


def summed(out: pt.Tensor, n: int, x: pt.Tensor) -> None:
    out[n % 3] += x
    out[:, 0, 0] = bounded(out[:, 0, 1] + 1)


def kept_apart(out: pt.Tensor, n: int, x: pt.Tensor) -> None:
    """Read what was there before it is overwritten, after it is."""
    before, copy = out[n], out.copy()
    out[n] = x
    out[-1 - n] = bounded(before + out[n] + copy[n + 1])


# What iteration n of a loop writes to an array of 17 of its values.
WRITES: list[Callable[[pt.Tensor, int, pt.Tensor], object]] = [
    lambda out, n, x: None,
    lambda out, n, x: out.__setitem__(n, x),
    lambda out, n, x: out.__setitem__(-1 - n, 2.0),
    lambda out, n, x: out[::-1].__setitem__((n, slice(1, -1)), x[1:-1]),
    lambda out, n, x: out.__setitem__((slice(None), n % SIZE, 1), out[:, 2, n % SIZE] + x[0, 0]),
    lambda out, n, x: out.__setitem__(5, out[5] + x),
    advanced,
    averaged,
    set_elements,
    summed,
    kept_apart,
]


def a_loop(seed: int, place: LazyDevice) -> list[pt.Tensor]:
    """A random loop: its body, the values carried between iterations, and those used later."""
    source = Random(seed)
    start = np.random.default_rng(seed).integers(-3, 4, (3, SIZE, SIZE)).astype(np.float32)
    fixed, *states = (pt.tensor(x, device=place) for x in start)
    table = np.random.default_rng(seed).integers(-3, 4, (16, SIZE, SIZE + source.randint(0, 1)))
    rows = pt.tensor(table.astype(np.float32), device=place)
    rows = rows + 1 if source.random() < 0.3 else rows
    ahead = [fixed, fixed * 2 + 1][: source.randint(1, 2)]
    body, iterations = source.getrandbits(32), source.randint(KEPT + 1, KEPT + 8)
    length, extra = source.randint(1, 5), source.randint(0, 3)
    older, kept = states[0], list[pt.Tensor]()
    values = states
    read, write = source.choice(ROWS), source.choice(WRITES)
    out = pt.zeros((17, SIZE, SIZE), device=place)
    out = rows[:1, :, :SIZE] + out if source.random() < 0.3 else out
    watches = source.random() < 0.3
    for n in range(iterations):
        inner = Random(body)
        values = [*states, *ahead, older, *read(rows, n)]
        for _ in range(length):
            values.append(inner.choice(STEPS)(inner, values))
        older = states[0] if extra == 1 else older
        states = [bounded(values[-1]), bounded(inner.choice(values))]
        write(out, n, states[0])
        if watches:
            states[1] = bounded(out[n] + states[1])
        if extra == 2:
            kept.append(states[1])
    if extra == 3:
        states.append(values[-2])
    return [*states, states[0].sum() - states[1].max(), older + fixed, bounded(out), *kept]


def bounded(x: pt.Tensor) -> pt.Tensor:
    """Keep values small, so that float sums stay exact."""
    return pt.clip(pt.floor(x), -8.0, 8.0)


class Shortening(simulate.Simulator):
    """A simulated backend that plans loops from a few iterations where possible."""

    shortened = 0

    def planned(self, program: Program) -> list[Kernel]:
        short = shorten(program)
        if short is None:
            return super().planned(program)
        kernels = super().planned(short.program)
        found = repeated(short, kernels)
        if found is None:
            return super().planned(program)
        if not found.check_dependencies(kernels, [[] for _ in kernels]):
            return super().planned(program)
        self.shortened += 1
        kernels = found.applied(kernels, Kernel.with_slots)
        kernel_spec.check(kernels, program, Budget(self.max_buffers))
        return kernels


@pytest.mark.parametrize("part", range(8))
def test_random_loops_compute_the_right_values(part: int, source: Random) -> None:
    """Any values may be carried between iterations, or used in each of them or after the loop."""
    for _ in range(25):
        seed = source.getrandbits(32)
        backend = Shortening()
        place = LazyDevice("webgpu")
        place.use(backend)
        found, expected = a_loop(seed, place), a_loop(seed, CPU_DEVICE)
        pt.realize(*found)
        for number, (x, y) in enumerate(zip(found, expected, strict=True)):
            assert np.array_equal(x.numpy(), y.numpy()), f"result {number} of the loop {seed}"


def filtered(xs: pt.Tensor, start: int, iterations: int) -> list[pt.Tensor]:
    """A Kalman filter of a position from rows `start`, ... of noisy ones, with a constant gain."""
    device = xs.device
    move = pt.tensor([[1.0, 0.1], [0.0, 1.0]], device=device)
    state, spread = pt.zeros(2, device=device), pt.eye(2, device=device)
    for k in range(start, start + iterations):
        state, spread = move @ state, move @ spread @ move.T + 0.01
        gain = spread[:, 0] / (spread[0, 0] + 0.5)
        state = state + gain * (xs[k].mean() - state[0])
        spread = spread - gain[:, None] * spread[0]
    return [state, spread]


def test_a_loop_over_rows_is_planned_from_a_few_iterations(gpu: GPU) -> None:
    xs = pt.zeros((60, 7), device=gpu.device)
    pt.realize(xs)
    planned: set[tuple[int, ...]] = set()
    for iterations in (10, 25):
        results = filtered(xs, 0, iterations)
        gpu.device.collect()
        short = shorten(make_request([x._node for x in results]).program)
        assert short is not None
        planned.add(short.program.form)
        pt.realize(*results)
    assert len(planned) == 1


def test_a_plan_serves_other_rows(gpu: GPU) -> None:
    odd, even = (pt.zeros((60, columns), device=gpu.device) for columns in (7, 8))
    pt.realize(odd, even)
    before = gpu.backend.planned
    for start in range(9):
        pt.realize(*filtered(odd, start, 20))
    assert gpu.backend.planned == before + 1
    for start in (0, 7):  # these rows are loaded as vectors
        pt.realize(*filtered(even, start, 20))
    assert gpu.backend.planned == before + 2


def test_a_row_is_assigned_after_a_loop_that_reads_it() -> None:
    backend = Shortening()
    device = LazyDevice("webgpu")
    device.use(backend)
    table, w = pt.zeros((64, SIZE, SIZE), device=device), pt.eye(SIZE, device=device)
    pt.realize(table, w)
    x = w
    for _ in range(20):
        x = pt.maximum(pt.roll(x, 1, 0) @ w, x - table[3])
    table[3] = x
    pt.realize(x, table)
    assert backend.shortened


def test_a_row_written_from_others_of_a_small_tensor(gpu: GPU) -> None:
    """It takes a copy, as a small buffer is not overwritten, and one kernel, which reads it."""
    x = pt.zeros((64, 8), device=gpu.device)
    pt.realize(x)
    for k in range(3):
        before = gpu.bridge.counts["dispatches"]
        x[k + 1] = x[k] * 0.5 + 1
        pt.realize(x)
        assert gpu.bridge.counts["dispatches"] == before + 2


@pytest.mark.parametrize("iterations", [KEPT, KEPT + 3, 40])
def test_which_loops_are_shortened(iterations: int) -> None:
    backend = Shortening()
    place = LazyDevice("webgpu")
    place.use(backend)
    x = start = pt.tensor(np.eye(SIZE, dtype=np.float32), device=place)
    for _ in range(iterations):
        x = pt.maximum(pt.roll(x, 1, 0) @ start, x - 1)
    pt.realize(x)
    assert backend.shortened == (iterations > KEPT)
    assert len(backend.kernels) == 2 * iterations
    assert len({kernel.label for kernel in backend.kernels}) == 2
