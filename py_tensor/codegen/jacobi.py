"""Eigenvectors and singular vectors by Jacobi rotations.

Small Hermitian matrices are diagonalized in workgroup memory, with all sweeps in one dispatch.

For singular vectors, columns are made orthogonal by the one-sided method (Hestenes, Inversion of
matrices by biorthogonalization, 1958), block by block. A workgroup takes two blocks of columns,
rotates their Gram matrix once through all pairs of columns, and multiplies the blocks by these
rotations. One dispatch covers as many disjoint pairs of blocks as possible: a round of a tournament
(Brent and Luk, 1985). Longer columns move to the front, which speeds up convergence (de Rijk,
1989). Convergence is quadratic at the end, and a dispatch skips matrices in which the last sweep
rotated nothing, so the fixed number of sweeps can be generous. Matrices of two blocks take one
dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, complex64, float32, uint32
from py_tensor.codegen import lower
from py_tensor.codegen.map import copying, lower_map, mapped
from py_tensor.codegen.numbers import number_functions
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.schedule.body import Access, Body, Index
from py_tensor.schedule.kernel import Kernel, Output, Stage

SIDES = {float32: 32, complex64: 16}  # largest side of a rotated matrix; two fit in 16 KiB
MIN_SIDE = 8
INVOCATIONS = 64  # minimum size of a workgroup
SWEEPS = 24
EPS = 2.0**-23
ROUND = 6  # position in params of the number of the round, which that of the sweep follows


@dataclass(frozen=True, slots=True)
class Rotated(Stage):
    """Matrices whose columns are rotated.

    Attributes
    ----------
    operand, target : int
        Slots.
    dtype : DType
    rows, n : int
        Rows and columns of a matrix.
    length : int or None
        The number of leading rows in which the columns become orthogonal. None for a Hermitian
        matrix; its eigenvectors and then its eigenvalues are stored.
    """

    operand: int
    target: int
    dtype: DType
    rows: int
    n: int
    length: int | None

    family: ClassVar[str] = "jacobi"

    def with_slots(self, number: Callable[[int], int]) -> Self:
        return replace(self, operand=number(self.operand), target=number(self.target))

    def ops(self) -> list[str]:
        return ["rotations"]

    def sources(self) -> set[int]:
        return {self.operand}

    def writes(self) -> set[int]:
        return {self.target}

    def written(self, points: int) -> int:
        return 2 * points * self.rows * self.n * self.dtype.itemsize


def lower_jacobi(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return one dispatch for small matrices, otherwise one for each round of each sweep."""
    stage, (count,) = stage_of(kernel, Rotated), kernel.kept
    rotations = _Rotations(kernel, stage, count, context)
    if stage.length is None:
        return [rotations.dispatch(stage.rows, 2, passes=1, sweeps=SWEEPS, least=1e-6)]
    size = count * stage.rows * stage.n
    copy = copying(stage.operand, stage.dtype, stage.target, stage.dtype, size, kernel.label)
    dispatches = [lower_map(copy, context)]
    blocks = max(2, -(-stage.n // rotations.side) * 2)
    if blocks == 2:
        return [*dispatches, rotations.dispatch(stage.length, 2, passes=SWEEPS)]
    assert rotations.sweeps is not None
    zero, access = Body.of([Index(uint32, Access((0,), 0))]), Access((1,), 0)
    cleared = Output(rotations.sweeps, 0, uint32, access)
    dispatches.append(lower_map(mapped((count,), zero, kernel.label, cleared), context))
    first = rotations.dispatch(stage.length, blocks)
    before, after = first.params[:ROUND], first.params[ROUND + 2 :]
    rounds = product(range(SWEEPS), range(blocks - 1))
    dispatches += [replace(first, params=(*before, n, sweep, *after)) for sweep, n in rounds]
    return dispatches


class _Rotations:
    """The dispatches of the program for matrices of one size."""

    def __init__(self, kernel: Kernel, stage: Rotated, count: int, context: Context) -> None:
        self.kernel, self.stage, self.count, self.context = kernel, stage, count, context
        self.side = min(SIDES[stage.dtype], max(MIN_SIDE, 1 << (stage.n - 1).bit_length()))
        self.units = max(1, INVOCATIONS * 4 // self.side**2)
        self.is_hermitian = stage.length is None
        # The buffer for the last sweep that rotated anything in each matrix, if that is several.
        self.sweeps: int | None = None
        if not self.is_hermitian and stage.n > self.side:
            self.sweeps = context.temporary(count * uint32.itemsize)

    def dispatch(
        self, length: int, blocks: int, *, passes: int = 1, sweeps: int = 1, least: float = 1e-12
    ) -> Dispatch:
        """Return the dispatch of the first round of a sweep, or of several passes or sweeps.

        Diagonal elements below `least` count as `least` in the test whether a pair is orthogonal.
        """
        stage, side = self.stage, self.side
        units = self.count * blocks // 2
        sizes = units, stage.n, length, stage.rows, blocks
        writer = Writer(self.kernel, self.context, *sizes, 0, 0, passes, sweeps)
        writer.params.value(EPS * (1 if self.is_hermitian else max(4, math.sqrt(length))), float32)
        writer.params.value(least, float32)
        writer.constants |= {"SIDE": side, "UNITS": self.units, "IS_HERMITIAN": self.is_hermitian}
        self._declare(writer)
        work = units * passes * side**2 * (length + stage.rows + 8 * side * sweeps)
        return writer.dispatch(
            "jacobi", f"{side} columns", -(-units // self.units), work=work, operations=work
        )

    def _declare(self, writer: Writer) -> None:
        """Add the bindings, and the functions that the template calls."""
        stage, dtype = self.stage, self.stage.dtype
        writer.code += number_functions("jacobi", dtype)
        put = writer.put(stage.target, dtype, "at", "x")
        if self.is_hermitian:
            writer.bind(stage.operand, dtype)
        last, note = "return 0u;", ""
        if self.sweeps is not None:
            name = writer.bind(self.sweeps, uint32, writable=True, atomic=True)
            last, note = f"return atomicLoad(&{name}[item]);", f"atomicMax(&{name}[item], sweep);"
        source = int(self.is_hermitian)
        loaded = writer.bindings[source].element(source, dtype, "at")
        writer.function("load_element(at: u32) -> Number", f"return {loaded};")
        writer.function("store_element(at: u32, x: Number)", put)
        writer.function("last_sweep(item: u32) -> u32", last)
        writer.function("note_sweep(item: u32, sweep: u32)", note)


lower.FAMILIES.insert(0, lower.Family(lower.begins(Rotated), lower_jacobi))
