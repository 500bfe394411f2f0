"""Keys: which kernels share a program, and which requests share a plan."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

import py_tensor as pt
from py_tensor.ir.bind import bind
from py_tensor.ir.primitives import CONCAT
from py_tensor.schedule.order import make_request
from tests.unit.fake_bridge import GPU

Expression = Callable[..., pt.Tensor]


def programs_of(
    gpu: GPU,
    sizes: list[list[int]],
    f: Expression,
    shapes: Callable[[list[int]], list[tuple[int, ...]]],
) -> int:
    """Number of programs after all these sizes."""
    for size in sizes:
        xs = [pt.zeros(s, device=gpu.device).realize() for s in shapes(size)]
        f(*xs).realize()
    return gpu.backend.stats()["programs"]


@pytest.mark.parametrize(
    ("most", "f", "shapes"),
    [
        (4, lambda x: x * 2 + 1, lambda s: [(s[0], s[1])]),
        (8, lambda x, y: x * y + pt.exp(x), lambda s: [(s[0], s[1]), (s[1],)]),
        (14, lambda x: x.sum(1), lambda s: [(s[0], s[1])]),
        (14, lambda x: x.max(0), lambda s: [(s[0], s[1])]),
        # Whole rows or slices, lanes, and the operand's layout; and the sums of the slices.
        (24, lambda x: x.cumsum(1), lambda s: [(s[0], s[1])]),
        (24, lambda x: x.cumsum(0), lambda s: [(s[0], s[1])]),
        # One dispatch, or counting, summing and moving: for the first, middle and last passes.
        (24, lambda x: pt.sort(x), lambda s: [(s[0], s[1])]),
        (24, lambda x: x.argsort(0), lambda s: [(s[0], s[1])]),
        (4, lambda x: x.take([0], 0) * 2, lambda s: [(s[0], s[1])]),
        # Three layouts of each operand, three tiles; and sums if a side has length 1.
        (40, lambda x, y: x @ y, lambda s: [(s[0], s[1]), (s[1], s[2])]),
    ],
)
def test_a_new_size_makes_no_new_program(
    gpu: GPU, source: Random, most: int, f: Expression, shapes: Callable[..., list[tuple[int, ...]]]
) -> None:
    """Only a few variants of width, lanes, tile and slices occur; a second pass adds none."""
    choices = (1, 2, 3, 5, 8, 17, 64, 100, 255, 1000, 4096)
    sizes = [[source.choice(choices) for _ in range(3)] for _ in range(50)]
    count = programs_of(gpu, sizes, f, shapes)
    assert count <= most
    gpu.backend._plans.clear()
    assert programs_of(gpu, sizes, f, shapes) == count


def signature(*results: pt.Tensor) -> tuple[int, ...]:
    results[0].device.collect()
    return make_request([x._node for x in results]).program.key


def test_a_signature_assigns_operands_to_nodes(gpu: GPU) -> None:
    """Two and three operands, or three and two, in the same order, are different."""
    a, b, c, d, e = (gpu.tensor(n) for n in range(5))

    def concats(*parts: tuple[pt.Tensor, ...]) -> tuple[int, ...]:
        nodes = [bind(CONCAT, tuple(x._node for x in part), 0) for part in parts]
        return make_request(nodes).program.key

    assert concats((a, b), (c, d, e)) != concats((a, b, c), (d, e))
    assert concats((a, b), (c, d, e)) == concats((b, a), (e, d, c))


def test_equal_structures_have_equal_keys(gpu: GPU) -> None:
    x, y = gpu.tensor(1, 2), gpu.tensor(3, 4)
    assert signature(pt.exp(x) + y) == signature(pt.exp(y) + x)
    assert signature(x * 2) == signature(y * 3)
    assert signature(x.sum()) == signature(y.sum())


def test_different_requests_have_different_keys(gpu: GPU) -> None:
    x, y, z = gpu.tensor(1, 2), gpu.tensor(3, 4), gpu.tensor(5, 6, 7)
    live = x + y
    different = [
        x + x,
        x + y,
        x - y,
        z + z,
        x * 2,
        x.sum(),
        x.max(),
        pt.flip(x),
        x.reshape(2, 1) + y,
        x.astype(pt.int32),
        x.astype(pt.bool),
        pt.exp(x) + y,
        y + pt.exp(x),
        pt.exp(live) + live,
        x.pad(1),
        x.pad((1, 2)),
        z[::2] + x,
        z[:2] + x,
    ]
    del live
    signatures = {signature(t) for t in different}
    assert len(signatures) == len(different)


def test_stored_nodes_are_part_of_the_key(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    dropped = signature(pt.exp(x) * 2)
    live = pt.exp(x)
    assert signature(live * 2) != dropped


def test_the_key_of_a_realized_node_is_a_leafs(gpu: GPU) -> None:
    x, y = gpu.tensor(1, 2), pt.exp(gpu.tensor(1, 2)).realize()
    assert signature(x + 1) == signature(y + 1)


def test_constants_share_a_plan(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    (x * 2 + 3).realize()
    before = gpu.backend.planned
    results = [x * n + n / 2 for n in range(10)]
    for y in results:
        y.realize()
    assert gpu.backend.planned == before
    assert len({bytes(y._read()) for y in results}) == 10


def test_a_loop_plans_once(gpu: GPU) -> None:
    x = gpu.tensor(1, 2, 3)
    planned = []
    for step in range(20):
        x = (x - x.sum() * (0.1 * step)).realize()
        planned.append(gpu.backend.planned)
    assert planned[1] == planned[-1]


def test_plans_are_bounded(gpu: GPU) -> None:
    from py_tensor.backends.webgpu import MAX_PLANS

    for n in range(1, MAX_PLANS + 30):
        (pt.zeros(n, device=gpu.device) + 1).realize()
    assert gpu.backend.stats()["plans"] <= MAX_PLANS
