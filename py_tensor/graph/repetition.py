"""Where the nodes of a flush repeat: a loop of the user's, whose body is recorded in each pass.

A long expression has to be cut into kernels somewhere. A loop is cut between passes, so many at a
time as a kernel takes: then all parts of it are the same few kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set

from py_tensor.graph.node import Node
from py_tensor.graph.order import bottom

FEWEST_PASSES = 3  # that are alike before they count as a loop


def repetitions(order: Sequence[Node], slots: dict[Node, int]) -> list[tuple[int, int, int]]:
    """The parts of `order` that repeat, as (first, end, period), one behind the other.

    Two nodes are alike that have equal keys, and each operand as far before them, or the same one.
    The period is guessed from where a node with such operands was seen last: linear in the nodes.
    """
    found: list[tuple[int, int, int]] = []
    last: dict[tuple[int, ...], int] = {}  # where a node was seen, by its key and operands
    first = period = 0  # of what is alike so far
    for n, node in enumerate(order):
        looks = node.key, *[_looks_of(x, slots[x], n) for x in node.inputs]
        if not period or not _alike(order, slots, n, n - period):
            _note(found, first, n, period)
            before = last.get(looks)
            alike = before is not None and _alike(order, slots, n, before)
            period = n - before if before is not None and alike else 0
            first = n - period
        last[looks] = n
    _note(found, first, len(order), period)
    return found


def _looks_of(operand: Node, slot: int, n: int) -> int:
    """An operand as the node in slot `n` sees it: a leaf by its slot, all else by how far it is."""
    return n - slot if operand.storage is None else ~slot


def _note(found: list[tuple[int, int, int]], first: int, end: int, period: int) -> None:
    first = max(first, found[-1][1]) if found else first
    if period and end - first >= FEWEST_PASSES * period:
        found.append((first, end, period))


def _alike(order: Sequence[Node], slots: dict[Node, int], n: int, before: int) -> bool:
    one, other = order[n], order[before]
    if one.key != other.key or (one.storage is None) != (other.storage is None):
        return False
    if one.storage is not None:
        return True
    return all(
        a is b or slots[a] - slots[b] == n - before
        for a, b in zip(one.inputs, other.inputs, strict=True)
    )


def last_pass(order: Sequence[Node], slots: dict[Node, int]) -> tuple[int, int] | None:
    """Two slots a pass apart, where `order` ends within a loop."""
    found = repetitions(order, slots)
    if not found:
        return None
    first, end, period = found[-1]
    return (first, first + period) if end > len(order) - period else None


def cuts(
    order: Sequence[Node],
    slots: dict[Node, int],
    last_use: Sequence[int],
    stored: Collection[int],
    ends: Set[int],
    most: int,
    rerolls: Callable[[Node], bool],
) -> tuple[list[int], list[range]]:
    """The slots before which loops are cut, so that no part inlines more than `most` nodes.

    A part is one pass where values are stored within a pass anyway. It is all passes where a kernel
    can have them as a loop: those parts are given too, as ranges with the period as step.

    Parameters
    ----------
    last_use : sequence of int
        The last slot whose node has this one as an operand.
    stored : collection of int
        What has a buffer in any case. A loop is cut at that place of a pass behind which the fewest
        bytes of other values are needed.
    ends : set of int
        What is stored for its consumers within a pass.
    rerolls : callable
        Whether a loop of a kernel may hold such a node.
    """
    found: list[int] = []
    rerolled: list[range] = []
    for first, end, period in repetitions(order, slots):
        inlined = max(1, _inlined(order[first : first + period]))
        if not ends.isdisjoint(range(first + period, first + 2 * period)):
            passes = 1
        elif inlined * (end - first) > most * period:
            passes = max(1, most // inlined)
        else:
            continue
        nbytes = [0] * (period + 1)  # by the place in the second pass: first the differences
        for slot in range(first, first + 2 * period):
            needed = bottom(order[slot])
            if needed.storage is None and not needed.op.generates and slots[needed] not in stored:
                begin = max(0, slot + 1 - first - period)
                stop = min(period, last_use[slot] + 1 - first - period)
                if begin < stop:
                    nbytes[begin] += needed.meta.stored_nbytes
                    nbytes[stop] -= needed.meta.stored_nbytes
        for place in range(1, period):
            nbytes[place] += nbytes[place - 1]
        start = first + min(range(period), key=nbytes.__getitem__)
        if passes > 1 and all(map(rerolls, order[start : start + period])):
            ahead = start - period
            if ahead >= (found[-1] if found else 0) and all(
                one.key == other.key and rerolls(one)
                for one, other in zip(order[ahead:start], order[start:], strict=False)
            ):
                start = ahead  # one more pass, which starts from other values
            stop = end - (end - start) % period
            within = range(start, stop - period)
            kept = any(slot in within for slot in stored)
            if not kept and all(last_use[slot] < stop for slot in within):
                found += [start, stop]
                rerolled.append(range(start, stop, period))
                continue
        before = _inlined(order[found[-1] if found else 0 : start])  # as many passes as that is
        start += max(0, passes - -(-before // inlined)) * period
        found += range(start, end, passes * period)
    return found, rerolled


def _inlined(nodes: Iterable[Node]) -> int:
    return sum(node.storage is None and node.op.inline for node in nodes)
