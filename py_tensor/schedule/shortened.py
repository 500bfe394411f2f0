"""Planning a loop of many iterations from a plan of five.

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

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from py_tensor.ir.program import Program
from py_tensor.ir.reasons import Notes, Reason
from py_tensor.ir.repetition import steps
from py_tensor.schedule.kernel import Kernel
from py_tensor.schedule.pack import is_packed
from py_tensor.schedule.store import rerolls

KEPT = 5  # iterations: the first, two until kernels repeat, the repeating one, and the last

T = TypeVar("T")


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
    """

    program: Program
    whole: Program
    first: int
    period: int
    kept: int
    skipped: int
    steps: list[list[int]]

    @property
    def second(self) -> int:
        """The slot where the second iteration begins."""
        return self.first + self.period

    def renumber(self, iterations: int) -> Callable[[int], int]:
        """Return the function that moves a slot by this many iterations."""
        second, by = self.second, iterations * self.period
        return lambda slot: slot if slot < second else slot + by


@dataclass(frozen=True, slots=True)
class Repeated:
    """The kernels of a shortened program that the omitted iterations repeat.

    Attributes
    ----------
    begin, end : int
        The range of these kernels.
    """

    short: Shortened
    begin: int
    end: int

    def applied(self, items: Sequence[T], move: Callable[[T, Callable[[int], int]], T]) -> list[T]:
        """Extend a list with one item per kernel to the kernels of the whole program."""
        copies = list(items[: self.end])
        once = items[self.begin : self.end]
        for n in range(1, self.short.skipped + 1):
            renumbered = self.short.renumber(n)
            copies += [move(x, renumbered) for x in once]
        renumbered = self.short.renumber(self.short.skipped)
        return [*copies, *(move(x, renumbered) for x in items[self.end :])]

    def repeats(self, items: Sequence[T], move: Callable[[T, Callable[[int], int]], T]) -> bool:
        """Return whether items, one per kernel, repeat like the kernels."""
        renumbered = self.short.renumber(1)
        before = items[2 * self.begin - self.end : self.begin]
        after = items[self.begin : self.end]
        return all(move(a, renumbered) == b for a, b in zip(before, after, strict=True))

    def outside(self, equal: Mapping[int, int]) -> dict[int, int] | None:
        """Translate slots outside the loop to the whole program; None if any is inside."""
        short = self.short
        end = short.first + short.kept * short.period
        if any(short.first <= slot < end for pair in equal.items() for slot in pair):
            return None
        renumbered = short.renumber(short.skipped)
        return {renumbered(slot): renumbered(other) for slot, other in equal.items()}

    def translate_notes(self, notes: Mapping[int, Reason]) -> Notes:
        """Return the reasons for the whole program; omitted iterations have those of kept ones."""
        short = self.short
        third, by = short.second + short.period, short.skipped * short.period
        translated = Notes()
        for slot in range(len(short.whole.nodes)):
            kept = slot if slot < third else max(slot - by, third + (slot - third) % short.period)
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
        whole = self.short.whole
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
        if iterations > KEPT and not all(map(rerolls, pending)):
            short = _shortened(program, first, period, iterations)
            if short is not None:
                return short
    return None


def _shortened(program: Program, first: int, period: int, iterations: int) -> Shortened | None:
    order, slots = program.nodes, program.slots
    second, end = first + period, first + iterations * period
    moves = steps(program.operands, end, period)
    last = zip(chain(*program.operands[end - period : end]), chain(*moves), strict=True)
    if not all(step == period or (not step and slot < second) for slot, step in last):
        return None
    # Apart from operands of the next iteration, the same nodes of every middle iteration must be
    # needed. Of the last two iterations, more may be needed.
    asked = {slots[x] for node in order[end:] for x in node.inputs}
    beyond = {slot for slot in asked if second <= slot < end}
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
    for node in order[end:]:
        if node.storage is None:
            operands = [slots[x] for x in node.inputs]
            node = node.over(tuple(nodes[s if s < second else s - by] for s in operands))
        nodes.append(node)
    early = end - by - 2 * period  # the iterations from here on correspond to the last ones
    wanted = {slot for slot in program.outputs if slot < early}
    wanted |= {slot - by for slot in program.outputs if slot >= end - 2 * period}
    overwritable = frozenset(slot if slot < second else slot - by for slot in program.overwritable)
    slots = {node: slot for slot, node in enumerate(nodes)}
    short = Program(nodes, slots, wanted, overwritable)
    return Shortened(short, program, first, period, kept, iterations - kept, moves)


def repeated(short: Shortened, kernels: Sequence[Kernel]) -> Repeated | None:
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
                return Repeated(short, begin, end) if usable else None
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
