"""Loop rerolling: turning repeated straight-line code from a user's loop into a loop in the body.

A body of many iterations is long and slow to compile. As a loop, it has the length of one
iteration, and one program serves any number of iterations. Compilers know this transformation as
loop rerolling (the LoopReroll pass of LLVM). Here the code has no branches and no stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from py_tensor.ir.program import repetitions
from py_tensor.schedule.body import Apply, Body, Const, Convert, Select, Source
from py_tensor.schedule.kernel import MAX_BODY

MIN_REROLLED = MAX_BODY  # instructions of all iterations; shorter code is not rerolled
MIN_ITERATIONS = 4
MAX_BACK = 2  # a value may come from up to this many iterations earlier


@dataclass(frozen=True, slots=True)
class Outside:
    """An operand that is the same in each iteration: a value from outside the loop."""

    value: int


@dataclass(frozen=True, slots=True)
class Current:
    """The value at a position in the same iteration."""

    position: int


@dataclass(frozen=True, slots=True)
class Before:
    """The value at a position in the iteration `back` iterations earlier."""

    position: int
    back: int


@dataclass(frozen=True, slots=True)
class Varying:
    """A constant that differs between iterations: number `number` in `Loop.constants`."""

    number: int


Operand = Outside | Current | Before | Varying


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

    def outside(self) -> list[int]:
        """Return the values from outside the loop."""
        same = [x.value for row in self.operands for x in row if isinstance(x, Outside)]
        return [*same, *self.initial.values()]


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
    """Finds loops among the instructions that compute.

    Attributes
    ----------
    code : list of int
        The values of these instructions. All other lists have an entry for each of them, too.
    operands : list of list of int
        The positions of the operands in `code`; ``~value`` for values that are not computed.
    last_use : list of int
        The last position that uses a value; the end of the code if the body returns it.
    """

    def __init__(self, body: Body, results: set[int]) -> None:
        self.body = body
        instructions = body.instructions
        self.code = [n for n, i in enumerate(instructions) if not isinstance(i, Source)]
        positions = {n: position for position, n in enumerate(self.code)}
        self.operands = [
            [positions.get(x, ~x) for x in instructions[n].operands] for n in self.code
        ]
        self.constants = {~n for n, i in enumerate(instructions) if isinstance(i, Const)}
        self.kinds = [self._kind(n) for n in self.code]
        self.last_use = [-1] * len(self.code)
        for position, operands in enumerate(self.operands):
            for operand in operands:
                if operand >= 0:
                    self.last_use[operand] = position
        for n in results & positions.keys():
            self.last_use[positions[n]] = len(self.code)

    def _kind(self, n: int) -> tuple[object, ...] | None:
        """Return a key that is equal for the same operation; None if not rerollable."""
        i = self.body.instructions[n]
        if not isinstance(i, Apply | Convert | Select):
            return None
        op = i.op if isinstance(i, Apply) else type(i)
        return op, i.dtype, *map(self.body.dtype, i.operands)

    def loops(self) -> list[Loop]:
        loops: list[Loop] = []
        free = 0  # the first position after the loops so far
        # Any constant may take the place of another: a loop can look up a value in each iteration.
        for first, end, period in repetitions(
            self.kinds, self.operands, MIN_ITERATIONS, constants=self.constants
        ):
            if end - first < MIN_REROLLED or first < free:
                continue
            starts = [first]
            if first - period >= free and self._is_preceded(first, period):
                starts.insert(0, first - period)
            for start in starts:
                iterations = self._iterations(start, end, period)
                if iterations and (loop := self._loop(iterations)) is not None:
                    loops.append(loop)
                    free = iterations.stop
                    break
        return loops

    def _is_preceded(self, first: int, period: int) -> bool:
        """Return whether the iteration before a run does the same, perhaps with other values."""
        for position in range(first, first + period):
            kind = self.kinds[position]
            if kind is None or kind != self.kinds[position - period]:
                return False
            columns = (self.operands[position + by] for by in (-period, 0, period))
            for before, operand, after in zip(*columns, strict=True):
                # Constants that differ only from those of the first iteration would need a table.
                if before != operand == after and self.constants.issuperset((before, operand)):
                    return False
        return True

    def _iterations(self, first: int, end: int, period: int) -> range:
        """Return the starts of the iterations, without the last ones if these are used later.

        Empty if too few are left: only values of the last `MAX_BACK` iterations may be used later.
        """
        count = (end - first) // period
        for iterations in range(count, max(count - MAX_BACK, MIN_ITERATIONS) - 1, -1):
            stop = first + iterations * period
            if all(last < stop for last in self.last_use[first : stop - MAX_BACK * period]):
                return range(first, stop, period)
        return range(0)

    def _loop(self, starts: range) -> Loop | None:
        """Return the loop, if each operand follows one pattern through all iterations."""
        period, stop = starts.step, starts.stop
        loop = Loop([self.code[s : s + period] for s in starts], constants=[[] for _ in starts])
        loop.used = [
            Before(position, back)
            for back in range(1, MAX_BACK + 1)
            for position in range(period)
            if self.last_use[stop - back * period + position] >= stop
        ]
        for position in range(period):
            operands: list[Operand] = []
            for column in zip(*(self.operands[s + position] for s in starts), strict=True):
                operand = self._operand(loop, column, starts)
                if operand is None:
                    return None
                operands.append(operand)
            loop.operands.append(tuple(operands))
        return loop

    def _operand(self, loop: Loop, column: Sequence[int], starts: range) -> Operand | None:
        """Return the operand with these positions in the iterations; None if it has no pattern.

        Values from before the loop, which the first iterations use, are noted in the loop.
        """
        last = column[-1]
        if column.count(last) == len(column):
            return Outside(self._value(last)) if last < starts[0] else None
        if self.constants.issuperset(column):
            for constants, constant in zip(loop.constants, column, strict=True):
                constants.append(~constant)
            return Varying(len(loop.constants[0]) - 1)
        ahead, position = divmod(last - starts[-1], starts.step)
        if not 0 <= -ahead <= MAX_BACK:
            return None
        if column[-ahead:] != tuple(range(starts[0] + position, last + 1, starts.step)):
            return None
        for back, start in enumerate(reversed(column[:-ahead]), 1):
            initial = loop.initial.setdefault(Before(position, back), self._value(start))
            if start >= starts[0] or initial != self._value(start):
                return None
        return Before(position, -ahead) if ahead else Current(position)

    def _value(self, position: int) -> int:
        return self.code[position] if position >= 0 else ~position
