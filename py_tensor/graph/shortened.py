"""Planning a loop of many passes from a plan of five.

A request with a loop in it is planned without most of the passes. If the kernels of a pass are then
those of the pass before, with each slot one pass later, the passes that were left out have the same
kernels too. Copies of these with other slots are inserted. So planning takes time in the length of
a pass, and not in the number of passes, and a loop of any length has the same programs.

Why the copies are right: the passes are equal node by node. An operand of a node is either the same
node in all passes (it stays), or the node one pass later (it moves); `_steps_of` checks that each
operand does the same in all passes. Operands that stay are older than the second pass. No kernel
that is copied takes an operand that moves from the first pass (`_reaches_back`). So one rule
renames all slots: those of the second pass and later ones move, all older ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from py_tensor.graph.kernel import Kernel
from py_tensor.graph.order import Request
from py_tensor.graph.pack import is_packed
from py_tensor.graph.reasons import Notes, Reason
from py_tensor.graph.repetition import loops_of
from py_tensor.graph.store import rerolls

KEPT = 5  # passes: one that begins, two on the way to what repeats, that one, and one that ends

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shortened:
    """A request with passes of a loop left out.

    Attributes
    ----------
    request, whole : Request
        The short one, and the one that it was made of.
    first, period : int
        Where the first pass begins, and the nodes of a pass.
    kept, left_out : int
        Passes.
    steps : list of int
        By how much the slot of each operand of a pass differs from that in the pass before: 0, or
        the period.
    """

    request: Request
    whole: Request
    first: int
    period: int
    kept: int
    left_out: int
    steps: list[int]

    @property
    def second(self) -> int:
        """Where the second pass begins."""
        return self.first + self.period

    def mover(self, passes: int) -> Callable[[int], int]:
        """What gives the slot so many passes further on."""
        second, by = self.second, passes * self.period
        return lambda slot: slot if slot < second else slot + by


@dataclass(frozen=True, slots=True)
class Repeated:
    """Which kernels of a shortened request those of the passes left out are like.

    Attributes
    ----------
    begin, end : int
        Those from `begin` on, up to `end`.
    """

    short: Shortened
    begin: int
    end: int

    def applied(self, items: Sequence[T], move: Callable[[T, Callable[[int], int]], T]) -> list[T]:
        """What there is one of for each kernel, for those of the whole request."""
        found = list(items[: self.end])
        once = items[self.begin : self.end]
        for n in range(1, self.short.left_out + 1):
            mover = self.short.mover(n)
            found += [move(x, mover) for x in once]
        mover = self.short.mover(self.short.left_out)
        return [*found, *(move(x, mover) for x in items[self.end :])]

    def repeats(self, items: Sequence[T], move: Callable[[T, Callable[[int], int]], T]) -> bool:
        """Whether what there is one of for each kernel repeats as the kernels do."""
        mover = self.short.mover(1)
        before = items[2 * self.begin - self.end : self.begin]
        after = items[self.begin : self.end]
        return all(move(a, mover) == b for a, b in zip(before, after, strict=True))

    def outside(self, equal: Mapping[int, int]) -> dict[int, int] | None:
        """Slots outside of the loop, as those of the whole request; None if some lie within."""
        short = self.short
        end = short.first + short.kept * short.period
        if any(short.first <= slot < end for pair in equal.items() for slot in pair):
            return None
        mover = short.mover(short.left_out)
        return {mover(slot): mover(other) for slot, other in equal.items()}

    def noted(self, notes: Mapping[int, Reason]) -> Notes:
        """The reasons of the whole request: what holds of a pass holds of those left out."""
        short, found = self.short, Notes()
        for slot, reason in notes.items():
            found[short.mover(short.left_out)(slot)] = reason
        middle = range(short.second, short.first + short.kept * short.period)
        for slot in middle:
            if slot in notes:
                for passes in range(short.left_out):
                    found.setdefault(short.mover(passes)(slot), notes[slot])
        return found

    def is_sound(self, kernels: Sequence[Kernel], lost: Sequence[Iterable[int]]) -> bool:
        """Whether all that is read was computed before, and what is computed is needed.

        This checks the order of reads and writes alone. That the values are right follows from
        `_steps_of` and `_reaches_back`.

        `lost` has the slots that each kernel writes over.
        """
        uses = [
            (kernel.reads(), kernel.writes(), set(over))
            for kernel, over in zip(kernels, lost, strict=True)
        ]
        whole = self.short.whole
        there = {slot for slot, node in enumerate(whole.order) if node.storage is not None}
        needed, written = set(whole.wanted), set[int]()
        for reads, writes, over in self.applied(uses, _moved_sets):
            if not reads <= there:
                return False
            there |= writes
            there -= over
            needed |= reads
            written |= writes
        return whole.wanted <= there and written <= needed


_Uses = tuple[set[int], ...]


def _moved_sets(uses: _Uses, move: Callable[[int], int]) -> _Uses:
    return tuple(set(map(move, slots)) for slots in uses)


def shorten(request: Request) -> Shortened | None:
    """The request with the passes left out of one loop, the longest that allows it."""
    for first, end, period in sorted(loops_of(request), key=lambda x: x[0] - x[1]):
        passes = (end - first) // period
        # Else a kernel can have all passes as a loop of its own.
        if passes > KEPT and not all(map(rerolls, request.order[end - period : end])):
            found = _shortened(request, first, period, passes)
            if found is not None:
                return found
    return None


def _shortened(request: Request, first: int, period: int, passes: int) -> Shortened | None:
    order, slots = request.order, request.slots
    steps = _steps_of(request, first, period, passes)
    if steps is None:
        return None
    second, end = first + period, first + passes * period
    # What is needed of a pass besides what the next one takes from it must be the same for all in
    # the middle; of the last two it may be more.
    asked = {slots[x] for node in order[end:] for x in node.inputs}
    beyond = {slot for slot in asked if second <= slot < end}
    middle = [slot for slot in request.wanted if second <= slot < end - 2 * period]
    places = {(slot - first) % period for slot in middle}
    late = {(s - first) % period for s in request.wanted if end - 2 * period <= s < end - period}
    if len(middle) != len(places) * (passes - 3) or any(x < end - 2 * period for x in beyond):
        return None
    kept = KEPT + (late != places or any(slot < end - period for slot in beyond))
    if passes <= kept or any(second <= slot < end for slot in request.overwritable):
        return None
    by = (passes - kept) * period
    nodes = order[: end - by]
    for node in order[end:]:
        if node.storage is None:
            operands = [slots[x] for x in node.inputs]
            node = node.over(tuple(nodes[s if s < second else s - by] for s in operands))
        nodes.append(node)
    early = end - by - 2 * period  # from here on the passes stand for the last ones
    wanted = {slot for slot in request.wanted if slot < early}
    wanted |= {slot - by for slot in request.wanted if slot >= end - 2 * period}
    overwritable = frozenset(slot if slot < second else slot - by for slot in request.overwritable)
    short = Request(
        nodes,
        {node: slot for slot, node in enumerate(nodes)},
        wanted,
        request.max_bytes,
        overwritable=overwritable,
        varies=request.varies,
        loops=[
            (start if start <= first else start - by, stop if stop <= first else stop - by, length)
            for start, stop, length in loops_of(request)
        ],
    )
    return Shortened(short, request, first, period, kept, passes - kept, steps)


def _steps_of(request: Request, first: int, period: int, passes: int) -> list[int] | None:
    """What each operand of a pass is moved by from one to the next, where it is always the same.

    None where it is not, or where one that stays is no older than the second pass.
    """
    slots = request.slots

    def operands(number: int) -> list[int]:
        start = first + number * period
        return [slots[x] for node in request.order[start : start + period] for x in node.inputs]

    before, now = operands(1), operands(2)
    steps = [b - a for a, b in zip(before, now, strict=True)]
    for number in range(3, passes):
        before, now = now, operands(number)
        if [b - a for a, b in zip(before, now, strict=True)] != steps:
            return None
    stays = (slot for slot, step in zip(now, steps, strict=True) if not step)
    return None if any(slot >= first + period for slot in stays) else steps


def repeated(short: Shortened, kernels: Sequence[Kernel]) -> Repeated | None:
    """The kernels of a pass that are those of the one before, a pass further on."""
    move = short.mover(1)
    firsts = [min(kernel.writes()) for kernel in kernels]
    places: dict[int, int] = {}
    for n, slot in enumerate(firsts):
        places.setdefault(slot, n)
    for n, slot in enumerate(firsts):
        begin = places.get(slot + short.period, 0) if slot >= short.second else 0
        end = 2 * begin - n
        if n < begin and end <= len(kernels):
            pairs = zip(kernels[n:begin], kernels[begin:end], strict=True)
            if all(_is_moved(one, other, move) for one, other in pairs):
                usable = (
                    _is_in_all(firsts[n:begin], places, short)
                    and not _reaches_back(short, kernels, begin)
                    and not _packs(kernels, n, begin, end)
                )
                return Repeated(short, begin, end) if usable else None
    return None


def _is_in_all(written: Sequence[int], known: Collection[int], short: Shortened) -> bool:
    """Whether all passes but the first write what this one does: else some kernels hold several."""
    return all(
        slot in known for last in written for slot in range(last, short.second - 1, -short.period)
    )


def moved_kernel(kernel: Kernel, move: Callable[[int], int]) -> Kernel:
    """A kernel that repeats, in another pass."""
    found = kernel.with_slots(move)
    assert found is not None
    return found


def _is_moved(one: Kernel, other: Kernel, move: Callable[[int], int]) -> bool:
    moved = one.with_slots(move)
    return moved is not None and moved.structure() == other.structure()


def _reaches_back(short: Shortened, kernels: Sequence[Kernel], begin: int) -> bool:
    """Whether kernels from `begin` on take what the first pass left for that of the one before."""
    order, slots = short.request.order, short.request.slots
    second, end = short.second, short.first + short.kept * short.period
    stored = set[int]().union(*(kernel.writes() for kernel in kernels))
    counts = [0]
    for node in order[second : second + short.period]:
        counts.append(counts[-1] + len(node.inputs))
    stack = [s for kernel in kernels[begin:] for s in kernel.writes() if s >= second]
    seen = set(stack)
    while stack:
        at = stack.pop()
        start = counts[(at - second) % short.period] if at < end else None
        for number, operand in enumerate(order[at].inputs):
            slot = slots[operand]
            if slot < second:
                if start is not None and short.steps[start + number]:
                    return True
            elif operand.storage is None and slot not in stored and slot not in seen:
                seen.add(slot)
                stack.append(slot)
    return False


def _packs(kernels: Sequence[Kernel], first: int, begin: int, end: int) -> bool:
    """Whether a kernel of a pass need not wait for that of the pass before.

    Then `pack.py` may make one of several of them, of as many as there are.
    """
    written = {slot: n for n, kernel in enumerate(kernels) for slot in kernel.writes()}
    return any(
        is_packed(kernels[n])
        and max((written.get(s, -1) for s in kernels[n].reads()), default=-1) < n - begin + first
        for n in range(begin, end)
    )
