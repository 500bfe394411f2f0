"""Finding repeated nodes in a flush: a user's loop records its body in each pass.

A long expression must be cut into several kernels. A loop is cut between passes, with as many
passes per kernel as fit, so that all parts of it use the same few kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set

from py_tensor.graph.node import Node
from py_tensor.graph.order import Request, bottom

MIN_PASSES = 3  # fewest equal passes that count as a loop


Loop = tuple[int, int, int]  # the first slot, the end, and the period


def repetitions(order: Sequence[Node], slots: dict[Node, int]) -> list[Loop]:
    """Return the consecutive repeated parts of `order`.

    Two nodes match if their keys are equal and each operand is at the same distance, or is the same
    node. The period is guessed from the last position of a node with such operands, which takes
    linear time.
    """
    keys = [node.key for node in order]
    operands = [[slots[x] for x in node.inputs] for node in order]
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


def loops_of(request: Request) -> list[Loop]:
    """Return where the nodes of a request repeat, cached."""
    if request.loops is None:
        request.loops = repetitions(request.order, request.slots)
    return request.loops


def _note(found: list[Loop], first: int, end: int, period: int) -> None:
    first = max(first, found[-1][1]) if found else first
    if period and end - first >= MIN_PASSES * period:
        found.append((first, end, period))


def last_pass(request: Request) -> tuple[int, int] | None:
    """Return two slots that are one pass apart, if a request ends within a loop."""
    found = loops_of(request)
    if not found:
        return None
    first, end, period = found[-1]
    return (first, first + period) if end > len(request.order) - period else None


def cuts(
    request: Request,
    last_use: Sequence[int],
    stored: Collection[int],
    ends: Set[int],
    most: int,
    rerolls: Callable[[Node], bool],
) -> tuple[list[int], list[range]]:
    """Return the slots before which loops are cut, so that no part inlines more than `most` nodes.

    If values are stored within a pass anyway, each part is one pass. If a kernel can run the passes
    as a loop, the part is all passes; these parts are also returned, as ranges whose step is the
    period.

    Parameters
    ----------
    last_use : sequence of int
        For each slot, the last slot that has it as an operand.
    stored : collection of int
        The slots that have a buffer in any case. A loop is cut at the position in a pass after
        which the fewest bytes of other values are needed.
    ends : set of int
        The slots that are stored for their consumers within a pass.
    rerolls : callable
        Whether a loop in a kernel may contain such a node.
    """
    order, slots = request.order, request.slots
    found: list[int] = []
    rerolled: list[range] = []
    for first, end, period in loops_of(request):
        inlined = max(1, _inlined(order[first : first + period]))
        if not ends.isdisjoint(range(first + period, first + 2 * period)):
            passes = 1
        elif inlined * (end - first) > most * period:
            passes = max(1, most // inlined)
        else:
            continue
        nbytes = [0] * (period + 1)  # by position in the second pass; differences at first
        for slot in range(first, first + 2 * period):
            needed = bottom(order[slot])
            if needed.storage is None and not needed.op.generates and slots[needed] not in stored:
                begin = max(0, slot + 1 - first - period)
                stop = min(period, last_use[slot] + 1 - first - period)
                if begin < stop:
                    nbytes[begin] += needed.meta.nbytes
                    nbytes[stop] -= needed.meta.nbytes
        for place in range(1, period):
            nbytes[place] += nbytes[place - 1]
        start = first + min(range(period), key=nbytes.__getitem__)
        ahead = start - period
        starts = ahead >= (found[-1] if found else 0) and all(
            one.key == other.key
            for one, other in zip(order[ahead:start], order[start:], strict=False)
        )  # one more pass precedes the loop, with other start values
        if passes > 1 and all(map(rerolls, order[start : start + period])):
            if starts and all(map(rerolls, order[ahead:start])):
                start = ahead
            stop = end - (end - start) % period
            within = range(start, stop - period)
            kept = any(slot in within for slot in stored)
            if not kept and all(last_use[slot] < stop for slot in within):
                found += [start, stop]
                rerolled.append(range(start, stop, period))
                continue
        if passes == 1 and starts:
            found.append(ahead)
        before = _inlined(order[found[-1] if found else 0 : start])  # counts towards the first part
        start += max(0, passes - -(-before // inlined)) * period
        found += range(start, end, passes * period)
    return found, rerolled


def _inlined(nodes: Iterable[Node]) -> int:
    return sum(node.storage is None and node.op.inline for node in nodes)
