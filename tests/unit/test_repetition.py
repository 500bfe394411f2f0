"""Where sequences of operations repeat."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from py_tensor.ir.program import repetitions

Sequence = tuple[list[str], list[list[int]]]


def forward(iterations: int) -> Sequence:
    """``y = f(g(y, x), y)``, where `x` is the first position."""
    keys, operands, y = ["leaf"], list[list[int]]([[]]), 0
    for _ in range(iterations):
        keys += ["g", "f"]
        operands += [[y, 0], [len(operands), y]]
        y = len(operands) - 1
    return keys, operands


def with_backward(iterations: int, step: int = 2) -> Sequence:
    """A second loop that reads the values of the first, last first."""
    keys, operands = forward(iterations)
    z, last = 0, len(keys) - 1
    for n in range(iterations):
        keys += ["h", "k"]
        operands += [[z, last - step * n], [len(operands), 0]]
        z = len(operands) - 1
    return keys, operands


def test_a_loop_is_found_from_its_first_iteration_with_earlier_values() -> None:
    assert repetitions(*forward(9), 3, {0}) == [(3, 19, 2)]
    assert repetitions(*forward(3), 3, {0}) == []


def test_values_from_before_may_be_read_in_reverse() -> None:
    assert repetitions(*with_backward(9), 3, {0}) == [(3, 19, 2), (20, 37, 2)]


def test_reading_at_no_constant_step_ends_a_loop() -> None:
    keys, operands = with_backward(9)
    operands[19 + 2 * 6][1] -= 1
    assert repetitions(keys, operands, 3, {0}) == [(3, 19, 2), (20, 31, 2)]


def test_any_constant_may_take_the_place_of_another() -> None:
    keys = ["f"] * 8
    operands = [[n - 1, -2 - n] for n in range(8)]
    assert repetitions(keys, operands, 3) == []
    assert repetitions(keys, operands, 3, constants=range(-9, -1)) == [(1, 8, 1)]


def test_guesses_that_fail_at_once_take_linear_time() -> None:
    """The same slices of `x`, in one function and then in another: each guesses a long period."""

    class Counted(list[list[int]]):
        reads = 0

        def __getitem__(self, key: Any) -> Any:
            Counted.reads += 1
            return super().__getitem__(key)

    keys: list[Hashable] = ["leaf"]
    operands = Counted([[]])
    for f in ("exp", "sin"):
        for n in range(500):
            keys += [("slice", n), f]
            operands += [[0], [len(operands)]]
    repetitions(keys, operands, 3, {0})
    assert Counted.reads < 20 * len(keys)


def test_what_never_repeats_ends_a_loop() -> None:
    keys: list[str | None] = ["f"] * 12
    keys[6] = None
    operands = [[n - 1] for n in range(12)]
    assert repetitions(keys, operands, 3) == [(1, 6, 1), (7, 12, 1)]
