"""Loop rerolling: turning repeated straight-line code from a user's loop into a loop in the body.

A body of many iterations is long and slow to compile. As a loop, it has the length of one
iteration, and one program serves any number of iterations. Compilers know this transformation as
loop rerolling (the LoopReroll pass of LLVM). Here the code has no branches and no stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from py_tensor.ir.repetition import repetitions
from py_tensor.schedule.body import Apply, Body, Const, Convert, Select, Source
from py_tensor.schedule.store import MAX_BODY

MIN_REROLLED = MAX_BODY  # instructions of all iterations; shorter code is not rerolled
MIN_ITERATIONS = 4
MAX_BACK = 2  # a value may come from up to this many iterations earlier


@dataclass(frozen=True, slots=True)
class Given:
    """An operand that is the same in each iteration: a value from outside the loop."""

    value: int


@dataclass(frozen=True, slots=True)
class Own:
    """The value at a position in the same iteration."""

    place: int


@dataclass(frozen=True, slots=True)
class Before:
    """The value at a position in the iteration `back` iterations earlier."""

    place: int
    back: int


@dataclass(frozen=True, slots=True)
class Varying:
    """A constant that differs between iterations: number `number` in `Loop.constants`."""

    number: int


Operand = Given | Own | Before | Varying


@dataclass(slots=True)
class Loop:
    """A part of a body that consists of equal consecutive iterations.

    Attributes
    ----------
    iterations : list of list of int
        The values of each iteration, in order.
    operands : list of tuple
        The operands at each position of an iteration.
    initial : dict
        `Before` -> the value that it has before the first iteration.
    constants : list of list of int
        For each iteration, the constants that vary.
    used : list of Before
        The values that are used after the loop, as a following iteration would refer to them.
    """

    iterations: list[list[int]]
    operands: list[tuple[Operand, ...]] = field(default_factory=list[tuple[Operand, ...]])
    initial: dict[Before, int] = field(default_factory=dict[Before, int])
    constants: list[list[int]] = field(default_factory=list[list[int]])
    used: list[Before] = field(default_factory=list[Before])

    def given(self) -> list[int]:
        """Return the values from outside the loop."""
        givens = [x.value for row in self.operands for x in row if isinstance(x, Given)]
        return [*givens, *self.initial.values()]


def loops_in(body: Body, results: Iterable[int]) -> list[Loop]:
    """Return the loops of a body, in order; `results` are the values used outside the body."""
    if len(body.instructions) < MIN_REROLLED:
        return []
    # The length identifies the code, because a body only grows.
    key = len(body.instructions), frozenset(results)
    loops: list[Loop] | None = body.noted.get(key)
    if loops is None:
        loops = body.noted[key] = _Reroller(body, set(results)).loops()
    return loops


def rerolled_length(body: Body, results: Iterable[int]) -> int:
    """Return the number of instructions when loops are rerolled, counting one iteration of each."""
    repeated = sum((len(x.iterations) - 1) * len(x.iterations[0]) for x in loops_in(body, results))
    return sum(not isinstance(i, Source) for i in body.instructions) - repeated


class _Reroller:
    """Finds loops among the instructions that compute, which are listed in `code`.

    A place is a position in `code`.
    """

    def __init__(self, body: Body, results: set[int]) -> None:
        self.body = body
        self.code = [n for n, i in enumerate(body.instructions) if not isinstance(i, Source)]
        self.place = {n: p for p, n in enumerate(self.code)}
        self.kinds = [self._kind(n) for n in self.code]
        self.last_use = [-1] * len(self.code)  # for each place, the last place that uses its value
        for p, n in enumerate(self.code):
            for operand in body.instructions[n].operands:
                if operand in self.place:
                    self.last_use[self.place[operand]] = p
        for n in results & self.place.keys():
            self.last_use[self.place[n]] = len(self.code)

    def loops(self) -> list[Loop]:
        loops: list[Loop] = []
        free = 0  # the first place after the loops found so far
        operands = [
            [self.place.get(x, ~x) for x in self._operands(p)] for p in range(len(self.code))
        ]
        # Any constant may take the place of another: a loop can look up a value in each iteration.
        constants = {~n for n, i in enumerate(self.body.instructions) if isinstance(i, Const)}
        runs = repetitions(self.kinds, operands, MIN_ITERATIONS, constants=constants)
        for first, end, period in runs:
            if end - first < MIN_REROLLED or first < free:
                continue
            if (made := self._loop(free, first, end, period)) is not None:
                loops.append(made)
                free = self.place[made.iterations[-1][-1]] + 1
        return loops

    def _kind(self, n: int) -> tuple[object, ...] | None:
        """Return a key that is equal for the same operation; None if not rerollable."""
        i = self.body.instructions[n]
        if not isinstance(i, Apply | Convert | Select):
            return None
        op = i.op if isinstance(i, Apply) else type(i)
        return op, i.dtype, *map(self.body.dtype, i.operands)

    def _same_op(self, p: int, q: int) -> bool:
        kind = self.kinds[p]
        return kind is not None and kind == self.kinds[q]

    def _operands(self, p: int) -> tuple[int, ...]:
        return self.body.instructions[self.code[p]].operands

    def _shifted(self, a: int, b: int, by: int) -> bool:
        return a in self.place and b in self.place and self.place[a] - self.place[b] == by

    def _are_constants(self, *values: int) -> bool:
        return all(isinstance(self.body.instructions[v], Const) for v in values)

    def _loop(self, free: int, first: int, end: int, period: int) -> Loop | None:
        """Return the loop of a run, extended by a preceding iteration with other start values."""
        initial = self._iteration_ahead(first, period) if first - period >= free else None
        if initial is not None:
            first -= period
        count = (end - first) // period
        for iterations in range(count, max(count - MAX_BACK, MIN_ITERATIONS) - 1, -1):
            stop = first + iterations * period
            if all(self.last_use[p] < stop for p in range(first, stop - MAX_BACK * period)):
                return self._built(first, iterations, period, initial or {})
        return None

    def _iteration_ahead(self, first: int, period: int) -> dict[int, int] | None:
        """Return the start values of the iteration before a run; None if it differs."""
        initial: dict[int, int] = {}
        for p in range(first, first + period):
            if not self._same_op(p, p - period):
                return None
            rows = (self._operands(x) for x in (p, p - period, p + period))
            for a, b, after in zip(*rows, strict=True):
                # Constants that differ only from those of the first iteration would need a table.
                if a == b or (a != after and self._are_constants(a, b)):
                    continue
                came, start = self.place.get(a, -1), self.place.get(b, -1)
                if came - start == period and start >= first - period:
                    continue
                if not first - period <= came < first or start >= first - period:
                    return None
                if initial.setdefault(came - first + period, b) != b:
                    return None
        return initial

    def _built(
        self, first: int, iterations: int, period: int, ahead: dict[int, int]
    ) -> Loop | None:
        """Return the loop, if each operand follows one pattern through all iterations."""
        starts = range(first, first + iterations * period, period)
        loop = Loop([self.code[s : s + period] for s in starts], constants=[[] for _ in starts])
        stop = starts.stop
        loop.used = [
            Before(place, back)
            for back in range(1, MAX_BACK + 1)
            for place in range(period)
            if self.last_use[stop - back * period + place] >= stop
        ]
        for place in range(period):
            columns = zip(*(self._operands(s + place) for s in starts), strict=True)
            operands: list[Operand] = []
            for column in columns:
                operand = self._operand(loop, column, first, period, ahead)
                if operand is None:
                    return None
                operands.append(operand)
            loop.operands.append(tuple(operands))
        for before in [x for x in loop.initial if x.back > 1]:
            for back in range(1, before.back):  # its value moves through these
                if not self._starts(loop, Before(before.place, back), first, period, ahead):
                    return None
        return loop

    def _operand(
        self, loop: Loop, column: Sequence[int], first: int, period: int, ahead: dict[int, int]
    ) -> Operand | None:
        """Return the operand with these values in the iterations; None if they have no pattern."""
        value = column[1]
        if all(x == value for x in column):
            return Given(value) if self.place.get(value, -1) < first else None
        if self._are_constants(*column):
            for constants, x in zip(loop.constants, column, strict=True):
                constants.append(x)
            return Varying(len(loop.constants[0]) - 1)
        if not all(self._shifted(b, a, period) for a, b in pairwise(column[1:])):
            return None
        back, place = divmod(self.place[value] - first - period, period)
        if not back:
            return Own(place) if self._shifted(value, column[0], period) else None
        before = Before(place, -back)
        if -back > MAX_BACK or not self._starts(loop, before, first, period, ahead):
            return None
        return before if loop.initial[before] == column[0] else None

    def _starts(
        self, loop: Loop, before: Before, first: int, period: int, ahead: dict[int, int]
    ) -> bool:
        """Record the start value of an operand from earlier iterations; False if unknown."""
        if before.back == 1 and before.place in ahead:
            loop.initial[before] = ahead[before.place]
            return True
        at = first - before.back * period + before.place
        if at < 0 or (ahead and before.back > 1):
            return False
        loop.initial[before] = self.code[at]
        return True
