"""Branches: instructions that only one arm of a selection needs run only in that arm.

A body is straight-line code. If a `Select` chooses between computed values, the instructions that
only one of them needs are put in a branch. An element of a concatenation then costs only as much as
its own operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from py_tensor.base.shapes import Shape, size_of
from py_tensor.schedule.body import Address, Apply, Body, Gather, Mask, Select, Source, Within


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One side of the choice of instruction `select`; `parent` is the enclosing arm, if any."""

    select: int
    inside: bool
    parent: Arm | None
    depth: int


MAX_NESTED = 100  # nested arms; WGSL allows 127 nested braces
Arms = Sequence[Arm | None]
Box = tuple[tuple[int, int], ...]  # [first, end) along each dimension


def arms_of(body: Body, results: Iterable[int]) -> Arms:
    """Return the arm of each instruction; empty if no choice is between computed values.

    `results` are values used outside the body, as are those that no instruction uses.
    """
    instructions = body.instructions
    if not any(isinstance(i, Select) for i in instructions):
        return ()
    arms: list[Arm | None] = [None] * len(instructions)
    used = [False] * len(instructions)
    for n in results:
        used[n] = True

    def use(n: int, arm: Arm | None) -> None:
        arms[n] = _common(arms[n], arm) if used[n] else arm
        used[n] = True

    for n in range(len(instructions) - 1, -1, -1):
        i = instructions[n]
        if isinstance(i, Source) or (isinstance(i, Address) and i.checks):
            arms[n] = None  # an argument, or an index that is always checked
        home = arms[n]
        depth = 1 if home is None else home.depth + 1
        if isinstance(i, Select) and depth <= MAX_NESTED:
            mask, inside, outside = i.operands
            use(mask, home)
            use(inside, Arm(n, True, home, depth))
            use(outside, Arm(n, False, home, depth))
        else:
            for operand in i.operands:
                use(operand, home)
    branches: set[int] = set()
    for i, arm in zip(instructions, arms, strict=True):
        if isinstance(i, Apply | Gather):
            while arm is not None and arm.select not in branches:
                branches.add(arm.select)
                arm = arm.parent
    return [_within(branches, arm) for arm in arms] if branches else ()


def _within(branches: set[int], arm: Arm | None) -> Arm | None:
    """Return the innermost enclosing arm whose choice becomes a branch."""
    while arm is not None and arm.select not in branches:
        arm = arm.parent
    return arm


def _common(a: Arm | None, b: Arm | None) -> Arm | None:
    """Return the innermost arm that contains both arms."""
    while a is not b:
        if a is None or b is None:
            return None
        if a.depth >= b.depth:
            a = a.parent
        else:
            b = b.parent
    return a


def operations_of(body: Body, results: Iterable[int], extents: Shape) -> int:
    """Return the number of elementwise ops that a body with branches executes over a space."""
    points = size_of(extents)
    arms = arms_of(body, results)
    if not arms:
        return points * body.operations
    whole = tuple((0, n) for n in extents)
    by_arm: dict[Arm | None, tuple[int, Box]] = {None: (points, whole)}

    def reach(arm: Arm | None) -> tuple[int, Box]:
        """Return the number of points at which an arm is chosen, and a box that contains them."""
        if arm is None or arm in by_arm:
            return by_arm[arm]
        around, box = reach(arm.parent)
        choice = body.instructions[arm.select]
        assert isinstance(choice, Select)
        mask, *_ = choice.operands
        inner = _covered(body, mask, box)
        chosen = min(around, _part(body, mask, size_of(tuple(b - a for a, b in inner))))
        by_arm[arm] = (chosen, inner) if arm.inside else (around - chosen, box)
        return by_arm[arm]

    pairs = zip(body.instructions, arms, strict=True)
    return sum(reach(arm)[0] for i, arm in pairs if isinstance(i, Apply))


def _covered(body: Body, mask: int, box: Box) -> Box:
    """Return the part of a box in which a mask over coordinates of the space holds."""
    condition = body.instructions[mask]
    if isinstance(condition, Within):
        _, *also = condition.operands
        return _covered(body, also[0], box) if also else box
    if not isinstance(condition, Mask):
        return box
    covered = list(box)
    for d, low, high in condition.ranges:
        first, end = max(low, box[d][0]), min(high, box[d][1])
        covered[d] = first, max(first, end)
    return tuple(covered)


def _part(body: Body, mask: int, points: int) -> int:
    """Estimate the points at which conditions on uniformly distributed coordinates hold."""
    condition = body.instructions[mask]
    if not isinstance(condition, Within):
        return points
    value, *also = condition.operands
    address = body.instructions[value]
    assert isinstance(address, Address)
    extent = address.extents[0]
    left = points * (min(condition.high, extent) - condition.low) // extent
    return _part(body, also[0], left) if also else left
