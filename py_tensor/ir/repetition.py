"""Where a sequence of operations repeats: a user's loop records its body in each iteration."""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence

FAR = 64  # larger distances are not distinguished when a period is guessed

Loop = tuple[int, int, int]  # the first position, the end, and the period


def repetitions(
    keys: Sequence[Hashable],
    operands: Sequence[Sequence[int]],
    least: int,
    leaves: Container[int] = (),
    constants: Container[int] = (),
) -> list[Loop]:
    """Return the consecutive parts of a sequence that repeat at least `least` times.

    Two operations match if their keys are equal and each operand is the same, is one period later,
    or comes from before the loop and moves by a constant step in each iteration, as the backward
    iteration of a loop reads the values of the forward iteration. The period is guessed from the
    last position of an operation with such a key and such distances, which takes linear time.

    Parameters
    ----------
    keys
        Equal for operations that do the same; None for those that never repeat.
    operands
        The positions of the operands; negative for what is not in the sequence.
    leaves
        The positions of operands that one loop is likely to use in every iteration.
    constants
        Operands, outside the sequence, of which another may take the place in each iteration.
    """
    loops: list[Loop] = []
    last: dict[tuple[Hashable, ...], int] = {}  # key and distances -> last such position

    def signatures(n: int) -> tuple[tuple[Hashable, ...], ...]:
        """Return what to look for: first with the same constants, then with any."""
        seen = [x if x < 0 else ~x if x in leaves else min(n - x, FAR) for x in operands[n]]
        return (keys[n], *seen), (keys[n], *[0 if x in constants else x for x in seen])

    def matches(n: int, period: int, first: int) -> bool:
        """Return whether the operation at `n` repeats that of the iteration before."""
        before = n - period
        if keys[n] is None or keys[n] != keys[before]:
            return False
        oldest, after = before - period, n + period
        for number, (x, y) in enumerate(zip(operands[n], operands[before], strict=True)):
            if x in constants and y in constants:
                continue
            moves = x - y == period and y >= 0
            if x != y and not moves and not (0 <= x < first and 0 <= y < first):
                return False
            if oldest >= first:  # each operand moves by one step in all iterations
                if x - y != y - operands[oldest][number]:
                    return False
            elif x != y and not moves:  # the first step is unusual: look ahead for the second
                if after >= len(keys) or keys[after] != keys[n]:
                    return False
                if x - y != operands[after][number] - x:
                    return False
        return True

    first = period = 0  # the start and the period of the current repetition
    for n in range(len(keys)):
        if period and matches(n, period, first):
            continue
        _note(loops, first, n, period, least)
        # What matched was not recorded: its last period is. Where a guess failed at once, there is
        # nothing to record, or each failure would take time in proportion to its period.
        unrecorded = range(max(n, first + 2 * period + 1) - period, n) if period else ()
        last.update((x, m) for m in unrecorded for x in signatures(m))
        now = signatures(n)
        before = next((last[x] for x in now if x in last), n)
        is_guess = before < n and matches(n, n - before, before)
        period = n - before if is_guess else 0
        first = n - period
        last.update(dict.fromkeys(now, n))
    _note(loops, first, len(keys), period, least)
    return loops


def _note(loops: list[Loop], first: int, end: int, period: int, least: int) -> None:
    first = max(first, loops[-1][1]) if loops else first
    if period and end - first >= least * period:
        loops.append((first, end, period))


def steps(operands: Sequence[Sequence[int]], end: int, period: int) -> list[list[int]]:
    """Return how far the operands of each operation of a loop move in an iteration."""
    pairs = zip(operands[end - period : end], operands[end - 2 * period :], strict=False)
    return [[x - y for x, y in zip(row, before, strict=True)] for row, before in pairs]
