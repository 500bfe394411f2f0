"""The base of all kinds of steps: chooses lines, shapes and axes; adds lines and leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.programs.program import Line, Program
from tests.ops.programs.value import Value, floating

LARGEST = 64.0  # values are scaled back to this magnitude
MAX_ELEMENTS = 6000
SHAPES = [
    (),
    (1,),
    (2,),
    (3,),
    (5,),
    (7,),
    (4, 4),
    (3, 5),
    (5, 1),
    (1, 7),
    (2, 3, 4),
    (4, 1, 3),
    (7, 3, 2),
    (16,),
    (33,),
    (8, 16),
    (17, 5),
    (3, 65),
    (64, 8),
    (2, 2, 2, 3),
    (1, 1),
    (257,),
    (2, 130),
    (5, 3, 31),
]


class Base:
    """A growing program, and the random generator that makes its choices."""

    def __init__(self, seed: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = Program(seed)
        self.lines = self.program.lines
        self.base = self._shape()
        self._leaf()

    def _shape(self) -> tuple[int, ...]:
        return SHAPES[self.rng.integers(len(SHAPES))]

    def _chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def _pick(self, test: Callable[[Value], bool] = lambda v: True) -> int | None:
        """Return a line whose value passes the test; recent lines are more likely."""
        found = [i for i, line in enumerate(self.lines) if test(line.value)]
        if not found:
            return None
        weights = np.array([1.0 + i for i in found])
        return int(found[self.rng.choice(len(found), p=weights / weights.sum())])

    def _value(self, i: int) -> Value:
        return self.lines[i].value

    def _add(self, text: str, inputs: tuple[int, ...], value: Value) -> int | None:
        if value.ref.size > MAX_ELEMENTS or value.ref.ndim > 8:
            return None
        self.lines.append(Line(text, inputs, value))
        return len(self.lines) - 1

    def _tame(self) -> None:
        """Scale the newest value down, exactly, if it has grown."""
        i = len(self.lines) - 1
        v = self._value(i)
        if v.dtype != "float32" or not v.ref.size:
            return
        size = float(np.abs(v.ref).max())
        if size > LARGEST:
            factor = 2.0 ** -math.ceil(math.log2(size / 4))
            self._add(f"v{i} * {factor!r}", (i,), floating(v.ref * factor, v.error * factor, v))

    def _float_line(self) -> int:
        i = self._pick(lambda v: v.dtype == "float32")
        return self._leaf() if i is None else i

    def _axes(self, v: Value) -> tuple[int, ...]:
        rank = len(v.shape)
        count = int(self.rng.integers(1, rank + 1)) if self._chance(0.4) else 1
        return tuple(sorted(self.rng.choice(rank, size=min(count, rank), replace=False).tolist()))

    def _leaf(self) -> int:
        shape = self.base if self._chance(0.6) else self._shape()
        kind = self.rng.choice(
            ["normal", "ints", "int32", "bool", "arange", "full"],
            p=[0.35, 0.35, 0.1, 0.08, 0.07, 0.05],
        )
        if kind == "arange":
            n = math.prod(shape)
            ref = np.arange(n, dtype=np.float64).reshape(shape)
            text = f"pt.arange({n}, dtype=pt.float32, device=device).reshape({shape})"
            index = self._add(text, (), Value(ref, np.zeros(shape), "float32"))
        elif kind == "full":
            x = float(self.rng.integers(-3, 4))
            ref = np.full(shape, x)
            text = f"pt.full({shape}, {x}, device=device)"
            index = self._add(text, (), Value(ref, np.zeros(shape), "float32"))
        else:
            dtype = "float32" if kind in ("normal", "ints") else str(kind)
            if kind == "normal":
                data = self.rng.standard_normal(shape, dtype=np.float32)
            elif kind == "bool":
                data = self.rng.random(shape) < 0.5
            else:
                data = self.rng.integers(-5, 6, shape).astype(dtype)
            data = np.asarray(data)
            wide = {"float32": np.float64, "int32": np.int64, "bool": bool}[dtype]
            name = f"d{len(self.lines)}"
            self.program.data[name] = data
            value = Value(data.astype(wide), np.zeros(shape), dtype)
            index = self._add(f"pt.tensor({name}, device=device)", (), value)
        assert index is not None
        return index
