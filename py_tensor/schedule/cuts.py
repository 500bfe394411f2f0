"""Cutting loops: between iterations, with as many iterations per kernel as fit.

A long expression must be cut into several kernels. If a loop is cut between iterations, all parts
of it use the same few kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from itertools import accumulate, chain

from py_tensor.ir.node import Node
from py_tensor.ir.program import Program
from py_tensor.ir.repetition import steps
from py_tensor.schedule.order import bottom


def last_iteration(program: Program) -> tuple[int, int] | None:
    """Return two slots that are one iteration apart, if a program ends within a loop."""
    if not program.loops:
        return None
    first, end, period = program.loops[-1]
    return (first, first + period) if end > len(program.nodes) - period else None


def cuts(
    program: Program,
    last_use: Sequence[int],
    stored: Collection[int],
    ends: Set[int],
    most: int,
    rerolls: Callable[[Node], bool],
) -> tuple[list[int], list[range]]:
    """Return the slots before which loops are cut, so that no part inlines more than `most` nodes.

    If values are stored within an iteration anyway, each part is one iteration. If a kernel can run
    the iterations as a loop, the part is all iterations; these parts are also returned, as ranges
    whose step is the period.

    Parameters
    ----------
    last_use : sequence of int
        For each slot, the last slot that has it as an operand.
    stored : collection of int
        The slots that have a buffer in any case. A loop is cut at the position in an iteration
        after which the fewest bytes of other values are needed.
    ends : set of int
        The slots that are stored for their consumers within an iteration.
    rerolls : callable
        Whether a loop in a kernel may contain such a node.
    """
    order, slots = program.nodes, program.slots
    boundaries: list[int] = []
    rerolled: list[range] = []
    for first, end, period in program.loops:
        inlined = max(1, _inlined(order[first : first + period]))
        if not {0, period}.issuperset(chain(*steps(program.operands, end, period))):
            continue  # it reads along another loop; kernels of several iterations are fewer
        if not ends.isdisjoint(range(first + period, first + 2 * period)):
            iterations = 1
        elif inlined * (end - first) > most * period:
            iterations = max(1, most // inlined)
        else:
            continue
        nbytes = [0] * (period + 1)  # by position in the second iteration; differences at first
        for slot in range(first, first + 2 * period):
            needed = bottom(order[slot])
            if needed.storage is None and not needed.op.generates and slots[needed] not in stored:
                begin = max(0, slot + 1 - first - period)
                stop = min(period, last_use[slot] + 1 - first - period)
                if begin < stop:
                    nbytes[begin] += needed.meta.nbytes
                    nbytes[stop] -= needed.meta.nbytes
        nbytes = list(accumulate(nbytes))
        start = first + min(range(period), key=nbytes.__getitem__)
        ahead = start - period
        starts = ahead >= (boundaries[-1] if boundaries else 0) and all(
            one.key == other.key
            for one, other in zip(order[ahead:start], order[start:], strict=False)
        )  # one more iteration precedes the loop, with other start values
        if iterations > 1 and all(map(rerolls, order[start : start + period])):
            if starts and all(map(rerolls, order[ahead:start])):
                start = ahead
            stop = end - (end - start) % period
            within = range(start, stop - period)
            kept = any(slot in within for slot in stored)
            if not kept and all(last_use[slot] < stop for slot in within):
                boundaries += [start, stop]
                rerolled.append(range(start, stop, period))
                continue
        if iterations == 1 and starts:
            boundaries.append(ahead)
        # Counts towards the first part.
        before = _inlined(order[boundaries[-1] if boundaries else 0 : start])
        start += max(0, iterations - -(-before // inlined)) * period
        boundaries += range(start, end, iterations * period)
    return boundaries, rerolled


def _inlined(nodes: Iterable[Node]) -> int:
    return sum(node.storage is None and node.op.inline for node in nodes)
