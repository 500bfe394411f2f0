"""The arms of selects: which instructions they contain, their cost, and their WGSL."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base.dtypes import float32
from py_tensor.ir.primitives import COPY, MUL
from py_tensor.schedule.body import Access, Apply, Body, Instruction, Load, Mask, Select
from py_tensor.schedule.branches import arms_of, operations_of
from tests.unit import simulate
from tests.unit.fake_bridge import GPU

HERE = Access((1,), 0)
X, Y = Load(0, float32, HERE), Load(1, float32, HERE)


def step(value: int) -> Apply:
    return Apply(COPY, float32, (value,))


def sides(body: Body, results: tuple[int, ...] = ()) -> dict[int, tuple[int, bool]]:
    found = arms_of(body, results)
    return {n: (arm.select, arm.inside) for n, arm in enumerate(found) if arm is not None}


def choice(*more: Instruction) -> Body:
    """Return one op in [0, 3), two elsewhere, followed by more ops."""
    mask = Mask(((0, 0, 3),))
    chosen = Select(float32, (2, 3, 5))
    return Body.of([X, Y, mask, step(0), step(1), step(4), chosen, *more])


def test_instructions_of_one_arm_are_in_its_branch() -> None:
    assert sides(choice()) == {3: (6, True), 4: (6, False), 5: (6, False)}
    assert operations_of(choice(), (), (10,)) == 3 + 2 * 7
    assert operations_of(choice(), (), (2,)) == 2


def test_shared_instructions_are_always_computed() -> None:
    used_later = choice(Apply(MUL, float32, (6, 4)))
    assert sides(used_later) == {3: (6, True), 5: (6, False)}
    assert operations_of(used_later, (), (10,)) == 3 + 7 + 2 * 10
    asked_for = choice()
    assert sides(asked_for, (3, 6)) == {4: (6, False), 5: (6, False)}
    in_both = Body.of([X, Mask(((0, 0, 3),)), step(0), step(2), Select(float32, (1, 2, 3))])
    assert sides(in_both) == {3: (4, False)}


def test_arms_within_arms() -> None:
    body = Body.of(
        [
            *choice().instructions,
            Mask(((0, 5, 9),)),
            step(6),
            Select(float32, (7, 8, 0)),
        ]
    )
    assert sides(body) == {
        3: (6, True), 4: (6, False), 5: (6, False), 6: (9, True), 8: (9, True),
    }  # fmt: skip
    assert operations_of(body, (), (10,)) == 4 + 2 * 4


def test_no_branch_for_loads() -> None:
    body = Body.of([X, Y, Mask(((0, 0, 3),)), Select(float32, (2, 0, 1)), step(3)])
    assert not arms_of(body, ())
    assert operations_of(body, (), (10,)) == 10


@pytest.mark.parametrize("count", [2, 5, 16])
def test_operations_of_a_concatenation(source: random.Random, count: int) -> None:
    """Each operand's ops run only for its own part, whatever uses the whole."""
    place = simulate.device(10)
    x = np.random.default_rng(source.getrandbits(32)).standard_normal((64, 5)).astype("f")
    whole = pt.asarray(x, device=place)

    def joined(xp: Any, a: Any) -> Any:
        return xp.concat([xp.exp(a[60 - 3 * n :][: n % 3 + 1]) * n for n in range(count)]) + 1

    found = joined(pt, whole)
    np.testing.assert_allclose(found.numpy(), joined(np, x), rtol=1e-5)
    (kernel,) = simulate.kernels_of(place)
    assert kernel.operations() == 3 * found.size


def test_a_branch_in_wgsl(gpu: GPU) -> None:
    x, y = (gpu.tensor(1, 2, 3) for _ in range(2))
    (kernel,) = pt.explain(pt.concat([pt.exp(x), y, pt.tanh(y)]) * 2).kernels
    body = kernel.wgsl[kernel.wgsl.index("fn compute") :]
    exp, other, tanh, end = (body.index(s) for s in ("exp_f32", "} else {", "tanh_f32", "* v"))
    assert exp < other < tanh < end
    assert "select(" not in body[:end]
