"""Elementwise kernels with transposed operands: each invocation computes a 4 by 4 block.

A transposed operand is read along its own contiguous dimension as four vectors. Four vectors of the
result need the columns of these, so both reads and writes move whole vectors. Neighbouring
invocations are arranged so that both fill whole cache lines. This needs no workgroup memory and no
barriers, unlike the classic form (Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA",
2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py_tensor.base.shapes import size_of
from py_tensor.codegen.emit import BodyCode, Space, Strides, address, decode_coordinates
from py_tensor.codegen.program import Params
from py_tensor.schedule.body import Load

ACROSS, ALONG = 8, 4  # blocks of a tile: 32 invocations read runs of 128 bytes, write runs of 64


def transposed(load: Load, strides: Strides, dim: int) -> bool:
    """Return whether a load reads whole vectors along `dim`, which is not the last dimension."""
    steps, offset = strides(load.access.strides), load.access.offset
    others = (*steps[:dim], *steps[dim + 1 :], offset)
    return steps[dim] == 1 and all(s % 4 == 0 for s in others)


def crossed_dim(
    loads: Sequence[Load], extents: tuple[int, ...], strides: Strides, modes: dict[Load, str]
) -> int | None:
    """Return the dimension along which the transposed operands are contiguous.

    All other operands must be vectors along the last dimension, or scalars. None if blocks do not
    help.
    """
    gathered = [load for load in loads if modes[load] == "g"]
    if not gathered or extents[-1] % 4:
        return None
    for dim in range(len(extents) - 1):
        if extents[dim] % 4 == 0 and all(transposed(load, strides, dim) for load in gathered):
            return dim
    return None


@dataclass(frozen=True, slots=True)
class Blocks:
    """Iteration over blocks: 4 rows along the second-last dimension, 4 columns along the last."""

    extents: tuple[int, ...]
    strides: Strides

    def tiles(self) -> tuple[int, ...]:
        """Return the number of tiles of 8 by 4 blocks along each dimension."""
        tiles = list(self.extents)
        tiles[-2] = -(-self.extents[-2] // (4 * ACROSS))
        tiles[-1] = -(-self.extents[-1] // (4 * ALONG))
        return tuple(tiles)

    def items(self) -> int:
        """Return the number of blocks, with those beyond the edges."""
        return size_of(self.tiles()) * ACROSS * ALONG

    def place(self, params: Params) -> tuple[list[str], list[str]]:
        """Return statements that find an invocation's block, and the names of its coordinates."""
        split, names = decode_coordinates(params, self.tiles(), "tile", "c")
        rows, columns = (params.add(self.extents[d] // 4) for d in (-2, -1))
        lines = [
            f"let tile = item / {ACROSS * ALONG}u;",
            *split,
            f"let across = {names[-2]} * {ACROSS}u + item % {ACROSS}u;",
            f"let along = {names[-1]} * {ALONG}u + item / {ACROSS}u % {ALONG}u;",
            f"if (across >= {rows} || along >= {columns}) {{ continue; }}",
        ]
        names = list(names)
        names[-2], names[-1] = "across", "along"
        return lines, names

    def load(
        self, names: list[str], load: Load, code: BodyCode, name: str
    ) -> tuple[list[str], list[str]]:
        """Return statements that load a block's columns, and the four elements of row `i`."""
        number = code.binding(load)
        binding = code.bindings[number]
        # The dimension along which it is contiguous comes last.
        *outer, row, last = range(len(names))
        order = [*outer, last, row]

        def strides(of: tuple[int, ...]) -> tuple[int, ...]:
            steps = self.strides(of)
            return tuple(steps[d] for d in order)

        statements: list[str] = []
        for column in range(4):
            coordinates = [*names[:-1], f"(along * 4u + {column}u)"]
            space = Space([coordinates[d] for d in order], strides, 4)
            index = address(code.params, space, load.access, 4)
            statements.append(f"let {name}_{column} = b{number}[{index}];")
        rows = (f"{name}_{column}" for column in range(4))
        return statements, [binding.lane(load.dtype, row, "i") for row in rows]

    def row_space(self, names: list[str]) -> Space:
        """Return the space of row `i` of a block: four elements along the last dimension."""
        rows = list(names)
        rows[-2] = "(across * 4u + i)"
        return Space(rows, self.strides, 4)
