"""Makes a random program from steps of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.programs.elementwise import Elementwise
from tests.ops.programs.folds import Folds
from tests.ops.programs.movement import Movement
from tests.ops.programs.program import Program

# Step -> relative frequency.
STEPS = {
    "leaf": 1.2,
    "unary": 2.5,
    "binary": 5,
    "scalar": 1,
    "compare": 0.8,
    "logical": 0.5,
    "where": 1,
    "cast": 0.6,
    "reduce": 3,
    "normalize": 1.2,
    "matmul": 0.7,
    "permute": 0.8,
    "flip": 0.5,
    "reshape": 0.8,
    "expand": 0.7,
    "slice": 1.2,
    "pad": 0.5,
    "crop": 0.3,
    "concat": 0.6,
    "stack": 0.3,
}
MOVES = {
    "leaf": 0.1,
    "permute": 1,
    "flip": 1,
    "reshape": 1.3,
    "expand": 1,
    "slice": 1.3,
    "pad": 0.7,
    "crop": 0.7,
}


class Maker(Elementwise, Folds, Movement):
    """A maker with all kinds of steps."""

    def grow(self, lines: int, choices: dict[str, float]) -> Program:
        """Add steps until there are that many lines."""
        names = list(choices)
        weights = np.array([choices[n] for n in names])
        weights /= weights.sum()
        while len(self.lines) < lines:
            getattr(self, f"_{names[self.rng.choice(len(names), p=weights)]}")()
            self._tame()
        return self.program


def make(seed: Any, lines: int, *, movement_only: bool = False) -> Program:
    """Return a program of about `lines` lines, determined by the seed."""
    maker = Maker(seed)
    program, rng = maker.grow(lines, MOVES if movement_only else STEPS), maker.rng
    last = len(program.lines) - 1
    keep = rng.choice([0.15, 0.5, 1.0])
    program.live = {i for i in range(last + 1) if rng.random() < keep} | {last}
    if rng.random() < 0.25:
        at = int(rng.integers(last + 1))
        chosen = [i for i in range(at + 1) if i in program.live]
        if chosen:
            program.realized[at] = tuple(chosen[-3:])
    return program
