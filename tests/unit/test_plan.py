"""Plans: which buffers share memory, the layout of parameters, the work of one submit."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pytest

import py_tensor as pt
from py_tensor.base.dtypes import DType, float32, int32
from py_tensor.codegen.codec import from_words, to_words
from py_tensor.codegen.lower import Lowered
from py_tensor.codegen.program import Dispatch, Offset, groups_for
from py_tensor.codegen.program import Program as Shader
from py_tensor.ir.bind import EMPTY, bind, leaf
from py_tensor.ir.node import Node, meta_of
from py_tensor.ir.primitives import VIEW, const
from py_tensor.ir.program import Program
from py_tensor.runtime.plan import DISPATCH, START, SUBMIT, Plan, make_plan
from tests.unit import simulate

PLACE = simulate.device(execute=False)


@dataclass
class Command:
    """A DISPATCH of a plan, with the numbers of its buffers."""

    program: int
    offset: int
    size: int
    groups: int
    buffers: list[int]
    submit: int


def dispatches(plan: Plan) -> Iterator[Command]:
    at, submit = 0, 0
    while at < len(plan.commands):
        if plan.commands[at] in (SUBMIT, START):
            submit, at = submit + (plan.commands[at] == SUBMIT), at + 1
            continue
        _, program, offset, size, x, y, z, count = plan.commands[at : at + 8]
        assert plan.commands[at] == DISPATCH
        buffers = plan.commands[at + 8 : at + 8 + count].tolist()
        yield Command(program, offset, size, x * y * z, buffers, submit)
        at += 8 + count


def random_flush(source: Random) -> tuple[Program, Lowered]:
    """Dispatches that each write one new buffer and read some existing ones."""
    order: list[Node] = []
    wanted: set[int] = set()
    for _ in range(source.randint(1, 3)):
        order.append(leaf(meta_of((source.choice((4, 100)),), float32, PLACE), ()))
    readable = list(range(len(order)))
    constant = len(order)
    order.append(const(1.5, float32, PLACE))
    found: list[Dispatch] = []
    sizes: list[int] = []
    for number in range(source.randint(1, 25)):
        if source.random() < 0.3:
            sizes.append(source.choice((16, 300, 5000)))
            target = -len(sizes)
        else:
            target = len(order)
            order.append(pt.zeros(source.choice((4, 90, 2000)), device=PLACE)._node)
            if source.random() < 0.4:
                wanted.add(target)
        reads = source.sample(readable, min(len(readable), source.randint(1, 3)))
        slots = (*reads, target)
        program = Shader(number + 1, "p", "", len(slots), 1 << len(reads))
        params = tuple(source.randint(0, 3) for _ in range(source.choice((3, 70))))
        consts = ((2, constant, float32),) if source.random() < 0.2 else ()
        count = source.randint(1, 200_000)
        work = source.randint(1, 1000)
        found.append(Dispatch(program, slots, params, consts, count, work, 2 * work, 3 * work))
        readable.append(target)
    return Program(order, {}, wanted), Lowered(tuple(found), tuple(sizes))


def test_buffers_share_memory_only_after_their_last_use(source: Random) -> None:
    """Running the plan on shared buffers reads the same values as on separate ones."""
    reused = 0
    for _ in range(150):
        program, lowered = random_flush(source)
        plan = make_plan(program, lowered, 10**9, 10**9)
        holds: dict[int, int] = dict(enumerate(plan.leaves))
        for dispatch, command in zip(lowered.dispatches, dispatches(plan), strict=True):
            assert len(set(command.buffers)) == len(set(dispatch.slots))
            *reads, target = zip(dispatch.slots, command.buffers, strict=True)
            for slot, buffer in reads:
                assert holds[buffer] == slot
            holds[target[1]] = target[0]
        for buffer, slot in enumerate(plan.outputs, len(plan.leaves)):
            assert holds[buffer] == slot
        buffers = len(plan.leaves) + len(plan.kinds)
        assert set(holds) == set(range(buffers))
        slots = {s for d in lowered.dispatches for s in d.slots}
        reused += len(slots) - buffers
    assert reused > 100


def test_buffers_are_large_enough(source: Random) -> None:
    for _ in range(100):
        program, lowered = random_flush(source)
        plan = make_plan(program, lowered, 10**9, 10**9)
        size = dict(enumerate([kind.nbytes for kind in plan.kinds], len(plan.leaves)))
        for dispatch, command in zip(lowered.dispatches, dispatches(plan), strict=True):
            for slot, buffer in zip(dispatch.slots, command.buffers, strict=True):
                if buffer in size:
                    assert size[buffer] >= nbytes(program, lowered, slot)


def test_a_chain_needs_one_buffer_besides_input_and_output() -> None:
    order = [leaf(meta_of((100,), float32, PLACE), ())]
    order += [pt.zeros(100, device=PLACE)._node for _ in range(20)]
    found: list[Dispatch] = []
    for n in range(20):
        program = Shader(n + 1, "p", "", 2, 2)
        found.append(Dispatch(program, (n, n + 1), (1,), (), 1, 1, 1, 1))
    plan = make_plan(Program(order, {}, {20}), Lowered(tuple(found), ()), 10**9, 10**9)
    assert len(plan.kinds) == 2
    buffers = [command.buffers for command in dispatches(plan)]
    assert all(a[1] == b[0] != b[1] for a, b in pairwise(buffers))
    assert buffers[-1][1] == 1  # the output, after the one leaf


def nbytes(program: Program, lowered: Lowered, slot: int) -> int:
    return lowered.temporaries[-1 - slot] if slot < 0 else program.nodes[slot].meta.nbytes


def test_parameters(source: Random) -> None:
    for _ in range(100):
        program, lowered = random_flush(source)
        plan = make_plan(program, lowered, 10**9, 10**9)
        params = plan.patched(program.nodes)
        for dispatch, command in zip(lowered.dispatches, dispatches(plan), strict=True):
            assert command.offset % 256 == 0
            assert command.size == 4 * len(dispatch.params)
            first = command.offset // 4
            given = list(dispatch.params)
            for position, _, dtype in dispatch.patches:
                assert isinstance(dtype, DType)
                given[position : position + 1] = to_words(1.5, dtype)
            assert params[first : first + len(given)].tolist() == given
        assert len(plan.params) % 64 == 0


def test_equal_parameters_are_stored_once() -> None:
    program = Shader(1, "p", "", 1, 1)
    order = [pt.zeros(4, device=PLACE)._node for _ in range(6)]
    same = tuple(Dispatch(program, (n,), (7, 8), (), 1, 1, 1, 1) for n in range(6))
    plan = make_plan(Program(order, {}, set(range(6))), Lowered(same, ()), 10, 10)
    assert len(plan.params) == 64
    assert plan.programs == [program]


@pytest.mark.parametrize(("submit_work", "dispatch_work"), [(1000, 1000), (300, 100), (2000, 70)])
def test_work_is_bounded(source: Random, submit_work: int, dispatch_work: int) -> None:
    """No submit or dispatch exceeds its limit of work, unless it is a single workgroup."""
    for _ in range(50):
        program, lowered = random_flush(source)
        plan = make_plan(program, lowered, submit_work, dispatch_work)
        pieces = [p for d in lowered.dispatches for p in d.pieces(dispatch_work)]
        work: dict[int, list[int]] = {}
        for piece, command in zip(pieces, dispatches(plan), strict=True):
            assert piece.count == 1 or piece.work <= dispatch_work + piece.work // piece.count
            assert command.groups >= piece.count
            work.setdefault(command.submit, []).append(piece.work)
        assert all(sum(w) <= submit_work or len(w) == 1 for w in work.values())


def starts(plan: Plan) -> list[int]:
    """Return the number of dispatches before each START."""
    found: list[int] = []
    at = count = 0
    while at < len(plan.commands):
        if plan.commands[at] == START:
            found.append(count)
            at += 1
        else:
            count += 1
            at += 8 + plan.commands[at + 7]
    return found


def test_a_long_flush_may_start_early_unless_it_writes_over_operands() -> None:
    order = [leaf(meta_of((100,), float32, PLACE), ())]
    order += [pt.zeros(100, device=PLACE)._node for _ in range(120)]
    program = Shader(1, "p", "", 2, 2)
    chain = tuple(Dispatch(program, (n, n + 1), (1,), (), 1, 1, 1, 1) for n in range(120))
    for count, expected in ((16, []), (17, [16]), (49, [16, 48]), (120, [16, 48, 112])):
        flush = Program(order, {}, {count})
        assert starts(make_plan(flush, Lowered(chain[:count], ()), 10**9, 10**9)) == expected
        over = Lowered(chain[:count], (), {count: 0})
        assert starts(make_plan(flush, over, 10**9, 10**9)) == []


def test_pieces_cover_every_workgroup_once(source: Random) -> None:
    program = Shader(1, "p", "", 1, 1)
    for _ in range(60):
        count, work = source.randint(1, 5000), source.randint(1, 10**6)
        limit = source.choice((1, 100, 10**4, 10**7))
        whole = Dispatch(program, (0,), (0, 5, 6), (), count, work, 2 * work, 3 * work)
        pieces = whole.pieces(limit)
        covered = [g for p in pieces for g in range(p.params[0], p.params[0] + p.count)]
        assert covered == list(range(count))
        assert all(p.params[1:] == (5, 6) for p in pieces)
        assert sum(p.work for p in pieces) <= work


def test_grids(source: Random) -> None:
    counts = [
        0,
        1,
        65535,
        65536,
        65537,
        2**24 + 1,
        65535**2,
        *(source.randint(1, 2**30) for _ in range(200)),
    ]
    for count in counts:
        x, y, z = groups_for(count)
        assert max(x, y, z) <= 65535
        assert count <= x * y * z <= count + y
        assert bool(x * y * z) == bool(count)


@pytest.mark.parametrize("value", [1.5, -0.0, 1e300, -1e300, float("inf"), 1e-46, 3])
def test_constants_are_patched_as_they_are_packed(value: float) -> None:
    order = [const(value, float32, PLACE), const(7, int32, PLACE)]
    floats = Plan(array("I"), array("I", [0, 0]), consts=[(1, 0, float32)], has_floats_only=True)
    assert floats.patched(order).tolist() == [0, *to_words(value, float32)]
    mixed = Plan(array("I"), array("I", [0, 0]), consts=[(1, 0, float32), (0, 1, int32)])
    assert mixed.patched(order).tolist() == [7, *to_words(value, float32)]
    assert mixed.params.tolist() == [0, 0]
    order = [const(2**40 + 3, pt.int64, PLACE)]
    wide = Plan(array("I"), array("I", [9, 0, 0]), consts=[(1, 0, pt.int64)])
    assert wide.patched(order).tolist() == [9, 3, 2**8]


def test_offsets_of_views_are_patched() -> None:
    order = [bind(VIEW, (leaf(meta_of((64,), float32, PLACE), EMPTY),), ((4,), (1,), 24))]
    plan = Plan(
        array("I"), array("I", [5, 0, 0]), offsets=[(1, 0, Offset(4, 4)), (2, 0, Offset(-3, 1))]
    )
    assert plan.patched(order).tolist() == [5, 7, 21]
    plan.consts, order = [(0, 1, float32)], [*order, const(1.0, float32, PLACE)]
    plan.has_floats_only = True
    assert plan.patched(order).tolist() == [*to_words(1.0, float32), 7, 21]


def test_constants_that_differ_only_in_64_bits() -> None:
    order = [const(x, pt.int64, PLACE) for x in (2**53, 2**53 + 1, 2**53)]
    assert not Plan(array("I"), array("I"), equal={0: 1}).holds(order)
    assert Plan(array("I"), array("I"), equal={0: 2}).holds(order)


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1.0, 0x3F800000), (-0.0, 0x80000000), (1e300, 0x7F800000), (-1e300, 0xFF800000)],
)
def test_constants_as_bits(value: float, bits: int) -> None:
    assert to_words(value, float32) == [bits]
    assert to_words(-1, int32) == [2**32 - 1]
    assert to_words(True, pt.bool) == [1]
    assert to_words(-2, pt.int64) == [2**32 - 2, 2**32 - 1]
    assert to_words(2**63 + 1, pt.uint64) == [1, 2**31]
    assert from_words(float32, "w") == "bitcast<f32>(w)"
    assert from_words(pt.int64, "w", "v") == "vec2u(w, v)"
