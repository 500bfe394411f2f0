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
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, complex64, float32, uint32
from py_tensor.codegen import lower
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.map import copying, interface, lower_map
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context
from py_tensor.schedule.body import Access, Body, Index
from py_tensor.schedule.kernel import Kernel, Output, Stage

SIDES = {float32: 32, complex64: 16}  # largest side of a rotated matrix; two fit in 16 KiB
MIN_SIDE = 8
INVOCATIONS = 64  # minimum size of a workgroup
SWEEPS = 24
EPS = 2.0**-23
FIRST = 1  # position in params of the first workgroup's number
_NUMBERS = {
    float32: """
alias number = f32;
fn number_of(x: f32) -> f32 { return x; }
fn real_of(x: f32) -> f32 { return x; }
fn size_of(x: f32) -> f32 { return abs(x); }
fn conjugate(x: f32) -> f32 { return x; }
fn product(x: f32, y: f32) -> f32 { return x * y; }""",
    complex64: """
alias number = vec2f;
fn number_of(x: f32) -> vec2f { return vec2f(x, 0.0); }
fn real_of(x: vec2f) -> f32 { return x.x; }
fn size_of(x: vec2f) -> f32 { return sqrt_f32(x.x * x.x + x.y * x.y); }
fn conjugate(x: vec2f) -> vec2f { return vec2f(x.x, -x.y); }
fn product(x: vec2f, y: vec2f) -> vec2f {
  return vec2f(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}""",
}


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
    (stage,), (count,) = kernel.stages, kernel.kept
    assert isinstance(stage, Rotated)
    writer = _Writer(kernel, stage, count, context)
    if stage.length is None:
        return [writer.dispatch(stage.rows, 2, passes=1, sweeps=SWEEPS, least=1e-6)]
    size = count * stage.rows * stage.n
    copy = copying(stage.operand, stage.dtype, stage.target, stage.dtype, size, kernel.label)
    dispatches = [lower_map(copy, context.profile, context.programs)]
    blocks = max(2, -(-stage.n // writer.side) * 2)
    if blocks == 2:
        return [*dispatches, writer.dispatch(stage.length, 2, passes=SWEEPS)]
    dispatches.append(writer.cleared())
    for sweep in range(SWEEPS):
        for round_number in range(blocks - 1):
            dispatches.append(writer.dispatch(stage.length, blocks, round_number, sweep))
    return dispatches


class _Writer:
    """The program for matrices of one size, and its dispatches."""

    def __init__(self, kernel: Kernel, stage: Rotated, count: int, context: Context) -> None:
        self.kernel, self.stage, self.count, self.context = kernel, stage, count, context
        self.side = min(SIDES[stage.dtype], max(MIN_SIDE, 1 << (stage.n - 1).bit_length()))
        self.units = max(1, INVOCATIONS * 4 // self.side**2)
        bindings = [Binding(stage.target, stage.dtype, vector=False, writable=True)]
        code = ["fn last_sweep(item: u32) -> u32 { return 0u; }"]
        code.append("fn note_sweep(item: u32, sweep: u32) {}")
        if stage.length is None:
            bindings.append(Binding(stage.operand, stage.dtype, vector=False, writable=False))
        elif stage.n > self.side:
            slot = context.temporary(count * uint32.itemsize)
            bindings.append(Binding(slot, uint32, vector=False, writable=True, atomic=True))
            code = ["fn last_sweep(item: u32) -> u32 { return atomicLoad(&b1[item]); }"]
            code.append("fn note_sweep(item: u32, sweep: u32) { atomicMax(&b1[item], sweep); }")
        self.bindings = bindings
        source = 1 if stage.length is None else 0
        loaded = bindings[source].element(source, stage.dtype, "at")
        stored = bindings[0].put(0, stage.dtype, "at", "x")
        is_hermitian = "true" if stage.length is None else "false"
        self.code = [
            f"const IS_HERMITIAN = {is_hermitian};",
            _NUMBERS[stage.dtype],
            f"fn load_element(at: u32) -> number {{ return {loaded}; }}",
            f"fn store_element(at: u32, x: number) {{ {stored} }}",
            *code,
        ]

    def cleared(self) -> Dispatch:
        """Clear the record of the last sweep that rotated anything in each matrix."""
        zero, access = Body.of([Index(uint32, Access((0,), 0))]), Access((1,), 0)
        output = Output(self.bindings[-1].slot, 0, uint32, access)
        cleared = Kernel((self.count,), (), (), zero, (output,), self.kernel.label)
        return lower_map(cleared, self.context.profile, self.context.programs)

    def dispatch(
        self,
        length: int,
        blocks: int,
        at: int = 0,
        sweep: int = 0,
        *,
        passes: int = 1,
        sweeps: int = 1,
        least: float = 1e-12,
    ) -> Dispatch:
        """Return the dispatch of round `at` of a sweep, or of several passes or sweeps.

        Diagonal elements below `least` count as `least` in the test whether a pair is orthogonal.
        """
        stage, side, params = self.stage, self.side, Params()
        units = self.count * blocks // 2
        tolerance = EPS if stage.length is None else EPS * max(4, math.sqrt(length))
        params.extend(units, 0, stage.n, length, stage.rows, blocks, at, sweep, passes, sweeps)
        params.value(tolerance, float32)
        params.value(least, float32)
        constants = {"SIDE": side, "UNITS": self.units}
        regions = {"interface": interface(self.bindings, params, constants, *self.code)}
        work = units * passes * side**2 * (length + stage.rows + 8 * side * sweeps)
        return Dispatch(
            self.context.programs.get(
                "jacobi", self.kernel.label, self.bindings, regions, f"{side} columns"
            ),
            tuple(b.slot for b in self.bindings),
            tuple(params.values),
            tuple(params.consts),
            count=-(-units // self.units),
            first=FIRST,
            work=work,
            operations=work,
            traffic=self.kernel.traffic(),
        )


lower.FAMILIES.insert(0, lower.Family(lower.begins(Rotated), lower_jacobi))
