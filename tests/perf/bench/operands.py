"""The operands of a case: made with NumPy, served as files, and the same for every library."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.perf.bench.cases import Operand

Array = npt.NDArray[Any]

WHOLE = 2**24
"""Larger operands are computed where they are used: each number of a column plus a whole row,"""
ROW = 2**20
"""which has this many elements."""
PEAK = 5 / 7
"""The relative position of the largest element, which is unique, so that argmax has one answer."""


@dataclass(frozen=True)
class Made:
    """An operand: `parts[0]`, or that row plus the column `parts[1]`; then reshaped and viewed.

    Bytes are added modulo 256; bools are combined by logical or.
    """

    operand: Operand
    parts: tuple[Array, ...]

    @property
    def array(self) -> Array:
        """The whole operand, as passed to the op."""
        row, *column = self.parts
        whole = row + column[0][:, None] if column else row
        whole = whole.reshape(self.operand.shape)
        return whole.T if self.operand.transposed else whole


def make(operand: Operand, seed: int) -> Made:
    """Return an operand's random elements."""
    rng = np.random.default_rng(seed)
    elements = int(np.prod(operand.shape))
    if operand.below:
        return Made(operand, (rng.integers(0, operand.below, elements, dtype=np.int32),))
    if operand.dtype != "float32":
        sizes = (elements,) if elements <= WHOLE else (ROW, elements // ROW)
        high = 2 if operand.dtype == "bool" else 256
        return Made(operand, tuple(rng.integers(0, high, n).astype(operand.dtype) for n in sizes))
    if elements <= WHOLE:
        return Made(operand, (_uniform(rng, elements, operand.scale),))
    rows = elements // ROW
    if rows * ROW != elements:
        raise ValueError(f"an operand of {elements} elements, which is no multiple of {ROW}")
    column = rng.permutation(np.arange(1, rows + 1, dtype=np.float32))  # all different
    row = _uniform(rng, ROW, operand.scale / 2)
    return Made(operand, (row, column * np.float32(operand.scale / 2 / rows)))


def _uniform(rng: np.random.Generator, elements: int, scale: float) -> Array:
    """Return numbers in (0, scale], so that relative errors exist; one is twice `scale`."""
    array = np.float32(1) - rng.random(elements, dtype=np.float32)
    array[int(PEAK * elements)] = 2
    return array * np.float32(scale)


class Served:
    """Puts operands into a folder that the page's server serves, for as long as a case runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._numbers = itertools.count()  # so that no cache returns an older file
        folder.mkdir(parents=True)

    def specs(self, operands: Sequence[Made]) -> list[dict[str, Any]]:
        """Return the data that the page needs: `files` (URLs), `format`, `shape`, `transposed`."""
        return [
            {
                "files": [self._put(part) for part in made.parts],
                "format": np.dtype("int32" if made.operand.below else made.operand.dtype).char,
                "shape": list(made.operand.shape),
                "transposed": made.operand.transposed,
            }
            for made in operands
        ]

    def _put(self, part: Array) -> str:
        name = f"{next(self._numbers)}.bin"
        part.tofile(self._folder / name)
        return f"{self._url}{name}"

    def clear(self) -> None:
        for path in self._folder.iterdir():
            path.unlink()
