"""Loops found in straight-line code compute the same as that code."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from py_tensor.base.dtypes import float32
from py_tensor.ir.primitives import MUL
from py_tensor.schedule.body import Access, Apply, Body, Const, Load, Source
from py_tensor.schedule.reroll import Before, Current, Loop, Operand, Outside, Varying, loops_in

ADD = replace(MUL, name="add")
MODULUS = 1_000_003  # numbers stay small, and products of different values stay different


def computed(body: Body, values: dict[int, int], loops: list[Loop]) -> dict[int, int]:
    """Return the values of a body for these sources, with its loops executed as loops."""
    found = dict(values)
    starts = {loop.iterations[0][0]: loop for loop in loops}
    inside = {n for loop in loops for row in loop.iterations for n in row}
    for n, i in enumerate(body.instructions):
        if n in starts:
            found |= run(body, starts[n], found)
        elif n not in inside and isinstance(i, Apply):
            found[n] = applied(i, [found[a] for a in i.operands])
    return found


def applied(i: Apply, operands: list[int]) -> int:
    a, b = operands
    return ((a + 2 * b + 1) if i.op is ADD else (a * b + 3 * a)) % MODULUS


def run(body: Body, loop: Loop, outside: dict[int, int]) -> dict[int, int]:
    """Return the values that are used after the loop."""
    earlier = {before: outside[value] for before, value in loop.initial.items()}
    passed: list[list[int]] = []
    for constants in loop.constants:
        own: list[int] = []

        def value(operand: Operand, own: list[int] = own, row: list[int] = constants) -> int:
            match operand:
                case Outside():
                    return outside[operand.value]
                case Current():
                    return own[operand.position]
                case Before():
                    return earlier[operand]
                case Varying():
                    return outside[row[operand.number]]

        for n, operands in zip(loop.iterations[0], loop.operands, strict=True):
            i = body.instructions[n]
            assert isinstance(i, Apply)
            own.append(applied(i, [value(x) for x in operands]))
        passed.append(own)
        for before in sorted(earlier, key=lambda x: -x.back):
            nearer = Before(before.position, before.back - 1)
            earlier[before] = own[before.position] if before.back == 1 else earlier[nearer]
    found: dict[int, int] = {}
    for x in loop.used:
        found[loop.iterations[-x.back][x.position]] = passed[-x.back][x.position]
    return found


def load(body: Body, slot: int) -> int:
    return body.add(Load(slot, float32, Access((1,), 0)))


def recorded(choose: random.Random) -> tuple[Body, list[int]]:
    """Return the nodes of a random loop over some states, between other code; and the requests."""
    body = Body()
    states = [load(body, n) for n in range(choose.randint(1, 3))]
    fixed = [load(body, 10), body.add(Const(11, float32))]
    fixed.append(body.add(Apply(MUL, float32, (fixed[0], states[0]))))
    steps = [
        (choose.choice([ADD, MUL]), choose.randrange(99), choose.randrange(99), choose.random())
        for _ in range(choose.randint(2, 8))
    ]
    targets = [choose.randrange(len(states)) for _ in steps]
    older = list(states)
    iterations = choose.randint(2, 60)
    for turn in range(iterations):
        own, before = list[int](), list(states)
        for n, ((op, a, b, kind), target) in enumerate(zip(steps, targets, strict=True)):
            pool = [*own, *states, *fixed, *(older if choose_far(steps) else [])]
            left, right = pool[a % len(pool)], pool[b % len(pool)]
            if kind < 0.3:  # a different constant in each iteration
                right = body.add(Const(100 + turn * len(steps) + n, float32))
            own.append(body.add(Apply(op, float32, (left, right))))
            if kind > 0.5:
                states[target] = own[-1]
        states[choose_state(steps, states)] = own[-1]
        older = before
    ends = [body.add(Apply(ADD, float32, (states[0], states[-1])))]
    return body, [*dict.fromkeys([*states, *ends])]


def choose_far(steps: Sequence[tuple[object, int, int, float]]) -> bool:
    return steps[0][1] % 3 == 0


def choose_state(steps: Sequence[tuple[object, int, int, float]], states: list[int]) -> int:
    return steps[0][2] % len(states)


@pytest.mark.parametrize("block", range(20))
def test_loops_compute_what_the_code_computes(block: int) -> None:
    rerolled = 0
    for seed in range(50 * block, 50 * block + 50):
        choose = random.Random(seed)
        body, results = recorded(choose)
        sources = {
            n: choose.randrange(MODULUS)
            for n, i in enumerate(body.instructions)
            if isinstance(i, Source)
        }
        loops = loops_in(body, results)
        rerolled += bool(loops)
        expected, found = computed(body, sources, []), computed(body, sources, loops)
        assert {n: found[n] for n in results} == {n: expected[n] for n in results}, seed
    assert rerolled >= 5


def test_a_value_kept_of_an_earlier_iteration_ends_a_loop() -> None:
    body = Body()
    x = load(body, 0)
    values = [x]
    for _ in range(200):
        x = body.add(Apply(MUL, float32, (x, values[0])))
        x = body.add(Apply(ADD, float32, (x, x)))
        values.append(x)
    (loop,) = loops_in(body, [x])
    assert 199 <= len(loop.iterations) <= 200
    assert not loops_in(body, [x, values[100]])


def test_a_loop_may_look_two_iterations_back() -> None:
    body = Body()
    x, y = load(body, 0), load(body, 1)
    for _ in range(100):
        x, y = y, body.add(Apply(MUL, float32, (x, y)))
    (loop,) = loops_in(body, [x, y])
    assert {before.back for before in loop.initial} == {1, 2}
    assert [before.back for before in loop.used] == [1, 2]


def test_short_code_is_no_loop() -> None:
    body = Body()
    x = load(body, 0)
    for _ in range(30):
        x = body.add(Apply(MUL, float32, (x, x)))
    assert not loops_in(body, [x])
