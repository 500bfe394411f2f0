"""Where a sequence of operations repeats: a user's loop records its body in each iteration."""

from __future__ import annotations

from collections.abc import Sequence

from py_tensor.graph.node import Node

MIN_PASSES = 3  # fewest equal passes that count as a loop


Loop = tuple[int, int, int]  # the first slot, the end, and the period


def repetitions(order: list[Node], operands: Sequence[Sequence[int]]) -> list[Loop]:
    """Return the consecutive repeated parts of `order`.

    Two nodes match if their keys are equal and each operand is at the same distance, or is the same
    node. The period is guessed from the last position of a node with such operands, which takes
    linear time.
    """
    keys = [node.key for node in order]
    found: list[Loop] = []
    last: dict[tuple[int, ...], int] = {}  # key and operands -> last position of such a node

    def signature(n: int) -> tuple[int, ...]:
        """Return a node's key and operands: leaves by slot, others by distance."""
        seen = (n - x if order[x].storage is None else ~x for x in operands[n])
        return keys[n], *seen

    def matches(n: int, before: int) -> bool:
        if keys[n] != keys[before]:
            return False
        for x, y in zip(operands[n], operands[before], strict=True):
            if x != y and x - y != n - before:
                return False
        return True

    first = period = 0  # the start and the period of the current repetition
    for n in range(len(order)):
        if period and matches(n, n - period):
            continue
        _note(found, first, n, period)
        last.update((signature(m), m) for m in range(n - period, n))
        now = signature(n)
        before = last.get(now)
        period = n - before if before is not None and matches(n, before) else 0
        first = n - period
        last[now] = n
    _note(found, first, len(order), period)
    return found


def _note(found: list[Loop], first: int, end: int, period: int) -> None:
    first = max(first, found[-1][1]) if found else first
    if period and end - first >= MIN_PASSES * period:
        found.append((first, end, period))
