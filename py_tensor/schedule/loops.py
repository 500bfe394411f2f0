"""Loops that a program repeats: where kernels end, and planning from a few iterations.

A long expression must be cut into several kernels. If a loop is cut between iterations (`cuts`),
all parts of it use the same few kernels.

A program with a loop is planned without most of its iterations. If the kernels of an iteration are
then those of the iteration before, with each slot one iteration later, the omitted iterations have
the same kernels too, and copies of these with other slots are inserted. The planning time then
depends on the length of an iteration, not on the number of iterations, and loops of any length have
the same programs.

Why the copies are correct: the iterations are equal node by node. An operand of a node is either
the same node in all iterations (it stays), or the node one iteration later (it moves);
`repetitions` ensures that each does the same in all iterations. Operands that stay are older than
the second iteration. No copied kernel uses a moving operand from the first iteration
(`_reaches_back`). Therefore one rule renames all slots: those of the second iteration and later
move, all older ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import TypeVar

from py_tensor.ir.node import Node, Notes, Reason
from py_tensor.ir.op import is_flat
from py_tensor.ir.program import Program, steps
from py_tensor.schedule.kernel import Kernel
from py_tensor.schedule.order import bottom
from py_tensor.schedule.pack import is_packed

KEPT = 5  # iterations: the first, two until kernels repeat, the repeating one, and the last

T = TypeVar("T")


def is_rerolled(node: Node) -> bool:
    """Return whether a loop in a kernel may contain a node.

    That is so if it uses only the element at its own index of each operand.
    """
    if node.storage is not None:
        return False
    if bottom(node).op.constant or is_flat(node):
        return True
    moves = node.op.reads_by_map or node.op.shifts or node.op.generates
    return node.op.inline and not moves and not node.op.buffered(node)


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
    *,
    rerolls: bool,
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
    rerolls : bool
        A kernel may run the iterations of a loop as a loop.
    """
    order, slots, keys = program.nodes, program.slots, program.keys
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
            one == other for one, other in zip(keys[ahead:start], keys[start:], strict=False)
        )  # one more iteration precedes the loop, with other start values
        if rerolls and iterations > 1 and all(map(is_rerolled, order[start : start + period])):
            if starts and all(map(is_rerolled, order[ahead:start])):
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


@dataclass(frozen=True, slots=True)
class Shortened:
    """A program with iterations of a loop left out.

    Attributes
    ----------
    program, whole : Program
        The shortened program, and the original one.
    first, period : int
        The slot where the first iteration begins, and the number of nodes of an iteration.
    kept, skipped : int
        The number of iterations kept, and of those left out.
    steps : list of list of int
        For each node of an iteration, the difference of its operands' slots from the iteration
        before: 0 or the period.
    begin, end : int
        The range of the kernels that the omitted iterations repeat, once `repeated` found it.
    """

    program: Program
    whole: Program
    first: int
    period: int
    kept: int
    skipped: int
    steps: list[list[int]]
    begin: int = 0
    end: int = 0

    @property
    def second(self) -> int:
        """The slot where the second iteration begins."""
        return self.first + self.period

    def renumber(self, iterations: int) -> Callable[[int], int]:
        """Return the function that moves a slot by this many iterations."""
        second, by = self.second, iterations * self.period
        return lambda slot: slot if slot < second else slot + by

    def applied(self, items: Sequence[T], move: Callable[[T, Callable[[int], int]], T]) -> list[T]:
        """Extend a list with one item per kernel to the kernels of the whole program."""
        copies = list(items[: self.end])
        once = items[self.begin : self.end]
        for n in range(1, self.skipped + 1):
            copies += [move(x, self.renumber(n)) for x in once]
        return [*copies, *(move(x, self.renumber(self.skipped)) for x in items[self.end :])]

    def repeats(self, items: Sequence[T], move: Callable[[T, Callable[[int], int]], T]) -> bool:
        """Return whether items, one per kernel, repeat like the kernels."""
        renumbered = self.renumber(1)
        before = items[2 * self.begin - self.end : self.begin]
        after = items[self.begin : self.end]
        return all(move(a, renumbered) == b for a, b in zip(before, after, strict=True))

    def outside(self, equal: Mapping[int, int]) -> dict[int, int] | None:
        """Translate slots outside the loop to the whole program; None if any is inside."""
        end = self.first + self.kept * self.period
        if any(self.first <= slot < end for pair in equal.items() for slot in pair):
            return None
        renumbered = self.renumber(self.skipped)
        return {renumbered(slot): renumbered(other) for slot, other in equal.items()}

    def translate_notes(self, notes: Mapping[int, Reason]) -> Notes:
        """Return the reasons for the whole program; omitted iterations have those of kept ones."""
        third, by = self.second + self.period, self.skipped * self.period
        translated = Notes()
        for slot in range(len(self.whole.nodes)):
            kept = slot if slot < third else max(slot - by, third + (slot - third) % self.period)
            if kept in notes:
                translated[slot] = notes[kept]
        return translated

    def check_dependencies(self, kernels: Sequence[Kernel], lost: Sequence[Iterable[int]]) -> bool:
        """Return whether all that is read was computed before, and all that is computed is needed.

        This only checks the order of reads and writes. `repetitions` and `_reaches_back` ensure
        that the values are correct. `lost` has the slots that each kernel overwrites.
        """
        uses = [
            (kernel.reads(), kernel.writes(), set(over))
            for kernel, over in zip(kernels, lost, strict=True)
        ]
        whole = self.whole
        there = {slot for slot, node in enumerate(whole.nodes) if node.storage is not None}
        needed, written = set(whole.outputs), set[int]()
        for reads, writes, over in self.applied(uses, _moved_sets):
            if not reads <= there:
                return False
            there |= writes
            there -= over
            needed |= reads
            written |= writes
        return whole.outputs <= there and written <= needed


_Uses = tuple[set[int], ...]


def _moved_sets(uses: _Uses, move: Callable[[int], int]) -> _Uses:
    return tuple(set(map(move, slots)) for slots in uses)


def shorten(program: Program) -> Shortened | None:
    """Shorten the longest loop of a program that allows it; None if there is none."""
    for first, end, period in sorted(program.loops, key=lambda x: x[0] - x[1]):
        iterations = (end - first) // period
        pending = [x for x in program.nodes[end - period : end] if x.storage is None]
        # If all nodes can be rerolled, one kernel runs many iterations. Leaves are no part of a
        # loop: a sum of many tensors is a chain of equal additions, each with its own leaf.
        if iterations > KEPT and not all(map(is_rerolled, pending)):
            short = _shortened(program, first, period, iterations)
            if short is not None:
                return short
    return None


def _shortened(program: Program, first: int, period: int, iterations: int) -> Shortened | None:
    order = program.nodes
    second, end = first + period, first + iterations * period
    moves = steps(program.operands, end, period)
    last = zip(chain(*program.operands[end - period : end]), chain(*moves), strict=True)
    if not all(step == period or (not step and slot < second) for slot, step in last):
        return None
    # Apart from operands of the next iteration, the same nodes of every middle iteration must be
    # needed. Of the last two iterations, more may be needed.
    beyond = {slot for slot in chain(*program.operands[end:]) if second <= slot < end}
    middle = [slot for slot in program.outputs if second <= slot < end - 2 * period]
    offsets = {(slot - first) % period for slot in middle}
    late = {(s - first) % period for s in program.outputs if end - 2 * period <= s < end - period}
    if len(middle) != len(offsets) * (iterations - 3) or any(x < end - 2 * period for x in beyond):
        return None
    kept = KEPT + (late != offsets or any(slot < end - period for slot in beyond))
    if iterations <= kept or any(second <= slot < end for slot in program.overwritable):
        return None
    by = (iterations - kept) * period
    nodes = order[: end - by]

    def earlier(slot: int) -> int:
        return slot if slot < second else slot - by

    for node, operands in zip(order[end:], program.operands[end:], strict=True):
        moved = [nodes[earlier(slot)] for slot in operands]
        nodes.append(node.over(tuple(moved)) if node.storage is None else node)
    early = end - by - 2 * period  # the iterations from here on correspond to the last ones
    wanted = {slot for slot in program.outputs if slot < early}
    wanted |= {slot - by for slot in program.outputs if slot >= end - 2 * period}
    slots = {node: slot for slot, node in enumerate(nodes)}
    # Those of the whole program: whether views are free depends on their number, too.
    free = program.free_views
    later = ((slot, slot + by if slot >= end - by else slot) for slot in range(len(nodes)))
    views = {slot: free[original] for slot, original in later if original in free}
    short = Program(nodes, slots, wanted, frozenset(map(earlier, program.overwritable)), views)
    return Shortened(short, program, first, period, kept, iterations - kept, moves)


def repeated(short: Shortened, kernels: Sequence[Kernel]) -> Shortened | None:
    """Find the kernels of an iteration that equal those before with moved slots."""
    move = short.renumber(1)
    firsts = [min(kernel.writes()) for kernel in kernels]
    first_writers: dict[int, int] = {}
    for n, slot in enumerate(firsts):
        first_writers.setdefault(slot, n)
    for n, slot in enumerate(firsts):
        begin = first_writers.get(slot + short.period, 0) if slot >= short.second else 0
        end = 2 * begin - n
        if n < begin and end <= len(kernels):
            pairs = zip(kernels[n:begin], kernels[begin:end], strict=True)
            if all(one.with_slots(move) == other for one, other in pairs):
                usable = (
                    _is_in_all(firsts[n:begin], first_writers, short)
                    and not _reaches_back(short, kernels, begin)
                    and not _packs(kernels, n, begin, end)
                )
                return replace(short, begin=begin, end=end) if usable else None
    return None


def _is_in_all(written: Sequence[int], known: Container[int], short: Shortened) -> bool:
    """Return whether all iterations but the first write what this one does.

    If not, a kernel holds several iterations, and more iterations would have fewer kernels.
    """
    return all(
        slot in known for last in written for slot in range(last, short.second - 1, -short.period)
    )


def _reaches_back(short: Shortened, kernels: Sequence[Kernel], begin: int) -> bool:
    """Return whether kernels from `begin` on use a moving operand of the first iteration."""
    program, second = short.program, short.second
    end = short.first + short.kept * short.period
    stack = [s for kernel in kernels[begin:] for s in kernel.writes() if s >= second]
    seen = set[int]().union(*(kernel.writes() for kernel in kernels))
    while stack:
        user = stack.pop()
        for number, slot in enumerate(program.operands[user]):
            if slot < second:
                if user < end and short.steps[(user - second) % short.period][number]:
                    return True
            elif program.nodes[slot].storage is None and slot not in seen:
                seen.add(slot)
                stack.append(slot)
    return False


def _packs(kernels: Sequence[Kernel], first: int, begin: int, end: int) -> bool:
    """Return whether a kernel of an iteration does not depend on that of the iteration before.

    Then `pack.py` may pack the kernels of several iterations, and how many depends on their number.
    """
    written = {slot: n for n, kernel in enumerate(kernels) for slot in kernel.writes()}
    return any(
        is_packed(kernels[n])
        and max((written.get(s, -1) for s in kernels[n].reads()), default=-1) < n - begin + first
        for n in range(begin, end)
    )
