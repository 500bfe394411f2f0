"""Hoisting: moving code that is constant along a row out of the loop over the row.

Not every browser's compiler does this. Without it, dividing a sum by the row length would be
repeated for every element.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from py_tensor.schedule.body import (
    Access,
    Accumulated,
    Addressed,
    Body,
    Const,
    Instruction,
    Mask,
    copied,
)


@dataclass(slots=True)
class Hoisted:
    """A body in two parts.

    Attributes
    ----------
    outer : Body
        Runs once per row, over the kept dimensions.
    results : list of int
        The values of `outer` that `inner` uses: there, ``Accumulated(-1 - n)`` is result n.
    inner : Body
        Runs at every point.
    values : dict
        Root -> its number in `inner`.
    """

    outer: Body = field(default_factory=Body)
    results: list[int] = field(default_factory=list[int])
    inner: Body = field(default_factory=Body)
    values: dict[int, int] = field(default_factory=dict[int, int])


def hoist(body: Body, roots: set[int], rank: int, *, loads: bool = True) -> Hoisted:
    """Split a body over a space whose first `rank` dimensions are kept.

    `roots` are the values that are used outside the body. With ``loads=False`` no load is moved.
    This is for rows of a single point: every load could be moved out of these, and they would need
    a different program from longer rows.
    """
    invariant: list[bool] = []
    for i in body.instructions:
        movable = loads or not isinstance(i, Addressed)
        invariant.append(
            movable and _is_invariant(i, rank) and all(invariant[a] for a in i.operands)
        )
    split = Hoisted()
    passed: dict[int, int] = {}  # invariant values that the inner part needs, in order

    def value(n: int) -> int:
        """Return the value of the inner part that is value n of the body."""
        if n not in split.values:
            i = body.instructions[n]
            if invariant[n] and not isinstance(i, Const | Accumulated):
                i = Accumulated(-1 - passed.setdefault(n, len(passed)), i.dtype)
            split.values[n] = split.inner.add(i)
        return split.values[n]

    for n, i in enumerate(body.instructions):
        if not invariant[n]:
            split.values[n] = split.inner.add(i.renumbered({a: value(a) for a in i.operands}))
    split.values = {n: value(n) for n in roots}

    def over_rows(i: Instruction) -> int:
        if isinstance(i, Addressed):
            i = replace(i, access=Access(i.access.strides[:rank], i.access.offset))
        return split.outer.add(i)

    outer = copied(body, passed, over_rows)
    split.results = [outer[n] for n in passed]
    return split


def _is_invariant(i: Instruction, rank: int) -> bool:
    """Return whether the instruction itself does not depend on the reduced dimensions."""
    if isinstance(i, Addressed):
        return not any(i.access.strides[rank:])
    if isinstance(i, Mask):
        return all(d < rank for d, _, _ in i.ranges)
    return True
