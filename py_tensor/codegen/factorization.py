"""Matrix decompositions and linear systems: elimination, reflections, and Jacobi rotations.

A workgroup factors a panel: a few columns of each matrix. Other workgroups then update the columns
beside it with a triangular solve and a matrix product (Golub and Van Loan, Matrix Computations,
3.4, 4.2 and 5.2). All dispatches of a decomposition belong to one kernel, so the planner treats
them as a unit. Small matrices are factored completely in workgroup memory.

Matrices are stored column-major. Right-hand sides are extra columns, which elimination transforms
along with the others. A matrix without a decomposition gives infinities or NaN.

Eigenvectors and singular vectors are computed by Jacobi rotations. Small Hermitian matrices are
diagonalized in workgroup memory, with all sweeps in one dispatch. For singular vectors, columns are
made orthogonal by the one-sided method (Hestenes, Inversion of matrices by biorthogonalization,
1958), block by block. A workgroup takes two blocks of columns, rotates their Gram matrix once
through all pairs of columns, and multiplies the blocks by these rotations. One dispatch covers as
many disjoint pairs of blocks as possible: a round of a tournament (Brent and Luk, 1985). Longer
columns move to the front, which speeds up convergence (de Rijk, 1989). Convergence is quadratic at
the end, and a dispatch skips matrices in which the last sweep rotated nothing, so the fixed number
of sweeps can be generous. Matrices of two blocks take one dispatch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, complex64, float32, uint32
from py_tensor.codegen import lower
from py_tensor.codegen.library import template, unrolled
from py_tensor.codegen.map import copying, lower_map, mapped
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.schedule.body import Access, Body, Index
from py_tensor.schedule.kernel import Kernel, Output, Stage

TILE = 64  # rows and columns of a product that a workgroup computes
SPAN = 32  # right-hand sides of a triangular system that a workgroup solves
FEW_ROWS, SOME_ROWS = 32, 128  # up to this many rows, workgroups are smaller
COST = 4  # instructions for a term of a product
MAX_TERMS = 4096  # per product: lavapipe limits loop iterations, see `Factorization.panel`
TEAM = 32  # rows of the largest matrix that is factored whole, in workgroup memory
SIDES = {float32: 32, complex64: 16}  # largest side of a rotated matrix; two fit in 16 KiB
MIN_SIDE = 8
INVOCATIONS = 64  # minimum size of a workgroup
SWEEPS = 24
EPS = 2.0**-23
ROUND = 6  # position in params of the number of the round, which that of the sweep follows
READ, WRITTEN = False, True  # how a dispatch uses a buffer

# The results of functions for complex numbers; templates have the functions for real ones.
_COMPLEX = {
    "minus_product": "vec2f(fma(a.y, b.y, fma(-a.x, b.x, x.x)), "
    "fma(-a.y, b.x, fma(-a.x, b.y, x.y)))",
    "plus_product": "vec2f(fma(-a.y, b.y, fma(a.x, b.x, x.x)), fma(a.y, b.x, fma(a.x, b.y, x.y)))",
    "product": "mul_complex64(a, b)",
    # Infinities do not matter to rotations, so these do less than `product` and `magnitude`.
    "plain_product": "vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)",
    "norm": "sqrt_f32(x.x * x.x + x.y * x.y)",
    "quotient": "divide_complex64(a, b)",
    "times": "a * b",
    "divided_by_real": "vec2f(divide_f32(a.x, b), divide_f32(a.y, b))",
    "conjugate": "vec2f(x.x, -x.y)",
    "size": "abs_f32(x.x) + abs_f32(x.y)",
    "magnitude": "abs_complex64(x)",
    "square": "x.x * x.x + x.y * x.y",
    "signed": "sign_complex64(x)",
    "real_part": "x.x",
    "real": "vec2f(x, 0.0)",
}
_FUNCTION = re.compile(r"^(fn (\w+)\(.*\) -> \w+) \{ return (.*); \}$", re.MULTILINE)


@cache
def number_functions(name: str, dtype: DType) -> list[str]:
    """Return the type of numbers, and the functions of it that a template has in its example."""
    lines = [f"alias Number = {dtype.storage};"]
    for head, function, real in _FUNCTION.findall(template(name)):
        if function in _COMPLEX:
            value = _COMPLEX[function] if dtype.is_complex else real
            lines.append(f"{head} {{ return {value}; }}")
    return lines


@dataclass(frozen=True, slots=True)
class _Decomposition(Stage):
    """A decomposition of a batch of matrices, from one buffer to another.

    Attributes
    ----------
    source, target : int
        The slots of the operand and of the result.
    """

    source: int
    target: int
    dtype: DType

    def with_slots(self, number: Callable[[int], int]) -> Self:
        return replace(self, source=number(self.source), target=number(self.target))

    def sources(self) -> set[int]:
        return {self.source}

    def writes(self) -> set[int]:
        return {self.target}


@dataclass(frozen=True, slots=True)
class Factorization(_Decomposition):
    """A decomposition by elimination or reflections.

    Attributes
    ----------
    kind : str
        "solve": each matrix is followed by its right-hand sides, which become the solutions.
        "det", "slogdet": the result is the determinant, or its sign and logarithm. "cholesky": the
        rows become those of the lower triangle. "qr": columns of the identity, then of the matrix,
        become the two factors.
    matrices : int
    length : int
        Elements of a column.
    columns : int
        Columns of each matrix, with right-hand sides or the identity.
    identity : int
        The number of columns that belong to the identity.
    """

    kind: str
    matrices: int
    length: int
    columns: int
    identity: int

    family: ClassVar[str] = "factorization"
    work_buffers: ClassVar[int] = 1

    def ops(self) -> list[str]:
        return [self.kind]

    def written(self, points: int) -> int:
        """Return the bytes written, and as many read."""
        return 2 * self.size * self.dtype.itemsize

    @property
    def stride(self) -> int:
        """Elements of a matrix."""
        return self.length * self.columns

    @property
    def size(self) -> int:
        return self.matrices * self.stride

    @property
    def panel(self) -> int:
        """Columns of a panel: three square blocks of this size fit into workgroup memory.

        QR of long columns uses narrower panels, because lavapipe stops the loops of an invocation
        after 65,535 iterations in total.
        """
        most = 16 if self.dtype.is_complex else 32
        if self.kind != "qr":
            return most
        return max(1, min(most, 2**18 >> (self.length - 1).bit_length()))


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of each matrix in a buffer.

    `first` is its start in a matrix. `stride` is the distance of the matrices, and `step` that of
    neighbouring columns.
    """

    slot: int
    stride: int
    first: int
    step: int

    @property
    def position(self) -> tuple[int, int, int]:
        """The parameters of a program for this block."""
        return self.stride, self.first, self.step


@dataclass(frozen=True, slots=True)
class _Reflections:
    """The reflections of a panel: their vectors, the inner products of these, and work memory.

    `rows` and `width` are the shape of the matrix of the vectors.
    """

    vectors: _Block
    products: _Block
    work: _Block
    rows: int
    width: int


@dataclass(slots=True)
class _Steps:
    """The dispatches of one decomposition; `exchanges` is the buffer of row exchanges."""

    kernel: Kernel
    stage: Factorization
    context: Context
    exchanges: int | None = None
    dispatched: list[Dispatch] = field(default_factory=list[Dispatch])

    def temporary(self, elements: int, dtype: DType | None = None) -> int:
        """Return a buffer with `elements` elements for each matrix."""
        size = (dtype or self.stage.dtype).itemsize
        return self.context.temporary(self.stage.matrices * elements * size)

    def copy(self, target: int) -> None:
        stage, label = self.stage, self.kernel.label
        kernel = copying(stage.source, stage.dtype, target, stage.dtype, stage.size, label)
        self.dispatched.append(lower_map(kernel, self.context))

    def run(
        self,
        name: str,
        buffers: Mapping[int, bool],
        sizes: tuple[int, ...],
        groups: int,
        steps: int,
        constants: Mapping[str, int],
        *code: str,
        **counts: int,
    ) -> None:
        """Add a dispatch of the template with this name.

        `buffers` are slots in the order of the bindings, each `READ` or `WRITTEN`. `sizes` are its
        parameters after the number of matrices, `steps` the operations for each matrix, and
        `counts` those of `unrolled`.
        """
        stage, dtype = self.stage, self.stage.dtype
        writer = Writer(self.kernel, self.context, stage.matrices, *sizes)
        for slot, writable in buffers.items():
            kind = uint32 if slot == self.exchanges else dtype
            writer.bind(slot, kind, writable=writable)
        writer.constants |= constants
        writer.code += [*number_functions(name, dtype), *code]
        work = steps * stage.matrices * dtype.words**2
        traffic = 2 * stage.matrices * stage.length * stage.panel * dtype.itemsize
        regions = unrolled(name, **counts) if counts else None
        costs = {"work": COST * work, "operations": 2 * work, "traffic": traffic}
        self.dispatched.append(writer.dispatch(name, name, groups, **costs, regions=regions))

    def workgroup(self, rows: int) -> int:
        """Return the workgroup size for some rows; barriers of small workgroups are cheaper."""
        few = FEW_ROWS if rows <= FEW_ROWS else 64 if rows <= SOME_ROWS else 256
        return min(few, self.context.profile.workgroup)

    def panel(self, work: int, exchanges: int, start: int, width: int) -> None:
        """Eliminate the columns of a panel; `exchanges` receives the row exchanges."""
        stage, rows = self.stage, self.stage.length - start
        workgroup = self.workgroup(rows)
        at_a_time = 4 if rows > workgroup else 1
        buffers = {work: WRITTEN, exchanges: WRITTEN}
        sizes, steps = (stage.stride, stage.length, start, width), rows * width**2
        constants = {"WORKGROUP": workgroup, "PANEL": stage.panel, "ROWS": at_a_time}
        self.run("factor_panel", buffers, sizes, stage.matrices, steps, constants, N=at_a_time)

    def columns(self, work: int, target: int, start: int, width: int) -> None:
        """Factor a panel of the Cholesky decomposition: the diagonal block and the rows below."""
        stage = self.stage
        panel, workgroup = stage.panel, self.context.profile.workgroup
        each, below = TILE * panel // workgroup, stage.length - start - width
        buffers = {work: READ, target: WRITTEN}
        sizes, steps = (stage.stride, stage.length, start, width), (below + width) * width**2
        groups = stage.matrices * max(1, -(-below // (TILE - panel)))
        constants = {"WORKGROUP": workgroup, "PANEL": panel, "EACH": each}
        self.run("factor_columns", buffers, sizes, groups, steps, constants, N=each)

    def reflect(self, a: _Block, by: _Reflections, start: int) -> None:
        """Clear a panel of `a` below the diagonal by reflections, and store these."""
        length, panel, blocks = self.stage.length, self.stage.panel, (a, by.vectors, by.products)
        buffers = {x.slot: WRITTEN for x in blocks}
        sizes = length, start, by.width, *(n for x in blocks for n in (x.stride, x.first))
        constants = {"WORKGROUP": max(self.workgroup(2 * length), panel), "PANEL": panel}
        steps = 2 * (length - start) * by.width**2
        self.run("factor_reflect", buffers, sizes, self.stage.matrices, steps, constants)

    def substitute(self, x: _Block, count: int, triangle: _Block, width: int, form: str) -> None:
        """Solve a triangular system of `width` equations for `count` right-hand sides.

        The form of the triangle is "unit" (lower, with a diagonal of ones, after the rows of `x`
        were exchanged), "upper", "upper by rows" (its step is that of its rows), or "adjoint" (of
        an upper one).
        """
        buffers = {x.slot: WRITTEN}
        buffers.setdefault(triangle.slot, READ)
        element = f"b{len(buffers) - 1}[at]"
        element = f"conjugate({element})" if form == "adjoint" else element
        divided, exchange, is_unit = "quotient(x, diagonal)", "0u", form == "unit"
        if is_unit:
            assert self.exchanges is not None
            divided, exchange = "x", f"b{len(buffers)}[at]"
            buffers[self.exchanges] = READ
        workgroup = min(4 * SPAN, self.context.profile.workgroup)
        constants = {"WORKGROUP": workgroup, "PANEL": self.stage.panel}
        constants |= {"BY_ROWS": form == "upper by rows", "BACKWARD": form.startswith("upper")}
        constants["EXCHANGES"] = is_unit
        code = [
            f"fn divided(x: Number, diagonal: Number) -> Number {{ return {divided}; }}",
            f"fn triangle(at: u32) -> Number {{ return {element}; }}",
            f"fn place(at: u32) -> u32 {{ return {exchange}; }}",
        ]
        sizes, steps = (count, width, *x.position, *triangle.position), count * width**2
        groups = self.stage.matrices * -(-count // SPAN)
        self.run("factor_substitute", buffers, sizes, groups, steps, constants, *code)

    def product(
        self,
        c: _Block,
        shape: tuple[int, int, int],
        a: _Block,
        b: _Block,
        put: str = "-=",
        *,
        adjoint: bool = False,
        lower: bool = False,
    ) -> None:
        """Multiply `a`, or its adjoint, by `b`, and assign the product to `c`.

        `put` is the assignment operator. The shape is (rows, columns, terms). With `lower`, tiles
        below the diagonal are skipped.
        """
        rows, columns, terms = shape
        buffers = {c.slot: WRITTEN}
        for x in (a, b):
            buffers.setdefault(x.slot, READ)
        left, right = (f"b{list(buffers).index(x.slot)}[at]" for x in (a, b))
        left = f"conjugate({left})" if adjoint else left
        by_row, by_term = (a.step, 1) if adjoint else (1, a.step)
        code = [
            f"fn left(at: u32) -> Number {{ return {left}; }}",
            f"fn right(at: u32) -> Number {{ return {right}; }}",
            f"fn put(at: u32, x: Number) {{ b0[at] {put} x; }}",
        ]
        step = 8 if self.stage.dtype.is_complex else 16
        constants = {"STEP": step, "LEFT_BY_ROWS": adjoint, "LOWER": lower}
        sizes = (*shape, a.stride, a.first, by_row, by_term, *b.position, *c.position)
        groups = self.stage.matrices * -(-rows // TILE) * -(-columns // TILE)
        steps = rows * columns * terms
        self.run("factor_product", buffers, sizes, groups, steps, constants, *code, R=4, C=4)

    def block(self, slot: int, row: int, column: int) -> _Block:
        """Return the block that begins at an element of each matrix."""
        length = self.stage.length
        return _Block(slot, self.stage.stride, column * length + row, length)

    def panels(self, count: int) -> list[tuple[int, int]]:
        """Return the start and the width of each panel of `count` columns."""
        size = self.stage.panel
        return [(start, min(size, count - start)) for start in range(0, count, size)]

    # -- Small matrices -------------------------------------------------------------------------

    def factor_small(
        self, name: str, target: int, columns: int, *code: str, **constants: int
    ) -> bool:
        """Factor matrices in workgroup memory by this template; False if they are too large.

        `columns` is rounded up to a power of two, so that few programs are needed.
        """
        stage, n = self.stage, self.stage.length
        team = 1 << (n - 1).bit_length()
        # The extra column keeps the teams in different memory banks.
        room = team * ((1 << (columns - 1).bit_length()) + (team < TEAM))
        memory = self.context.profile.workgroup_memory
        units = min(max(1, 64 // team), memory // (room * stage.dtype.itemsize + 4 * team))
        if n > TEAM or not units:
            return False
        buffers = {stage.source: READ, target: WRITTEN}
        if self.exchanges is not None:
            buffers[self.exchanges] = WRITTEN
        constants = {"TEAM": team, "UNITS": units, "ROOM": room} | constants
        sizes, groups = (stage.stride, n, columns), -(-stage.matrices // units)
        self.run(name, buffers, sizes, groups, n * stage.stride, constants, *code)
        return True

    def eliminate_small(self, target: int) -> bool:
        """Eliminate small matrices; also solve if there are no `exchanges`. False if too large."""
        solves, columns = self.exchanges is None, self.stage.columns
        note = "" if solves else "b2[at] = count;"
        code = f"fn note_exchanges(at: u32, count: u32) {{ {note} }}"
        constants = {"PANEL": self.stage.panel, "SOLVES": solves}
        return self.factor_small("factor_small", target, columns, code, **constants)

    # -- Elimination ----------------------------------------------------------------------------

    def note_exchanges(self) -> int:
        """Add the buffer of row exchanges; return its slot."""
        self.exchanges = self.temporary(3 * self.stage.panel + 1, uint32)
        return self.exchanges

    def eliminate(self, work: int, exchanges: int) -> None:
        """Reduce copies of matrices to upper triangles by elimination with row exchanges.

        Right-hand sides are transformed along with them.
        """
        n = self.stage.length
        self.copy(work)
        for start, width in self.panels(n):
            self.panel(work, exchanges, start, width)
            after = start + width
            if not (count := self.stage.columns - after):
                continue
            corner, strip = self.block(work, start, start), self.block(work, start, after)
            self.substitute(strip, count, corner, width, "unit")
            if rows := n - after:
                rest, below = self.block(work, after, after), self.block(work, after, start)
                self.product(rest, (rows, count, width), below, strip)

    def solve(self) -> None:
        """Eliminate, then turn the right-hand sides into solutions (back substitution)."""
        n, work = self.stage.length, self.stage.target
        if self.eliminate_small(work):
            return
        self.eliminate(work, self.note_exchanges())
        count = self.stage.columns - n
        for start, width in reversed(self.panels(n)):
            corner, solved = self.block(work, start, start), self.block(work, start, n)
            self.substitute(solved, count, corner, width, "upper")
            if start:
                sides, above = self.block(work, 0, n), self.block(work, 0, start)
                self.product(sides, (start, count, width), above, solved)

    def determinants(self) -> None:
        stage = self.stage
        work, exchanges = self.temporary(stage.stride), self.note_exchanges()
        if not self.eliminate_small(work):
            self.eliminate(work, exchanges)
        buffers = {work: READ, exchanges: READ, stage.target: WRITTEN}
        sizes, steps = (stage.length, stage.stride), 32 * stage.length
        constants = {"WORKGROUP": 64, "PANEL": stage.panel, "LOGARITHM": stage.kind == "slogdet"}
        self.run("factor_determinant", buffers, sizes, -(-stage.matrices // 64), steps, constants)

    # -- Cholesky -------------------------------------------------------------------------------

    def cholesky(self) -> None:
        """Factor blocks on the diagonal; the rows below each are the right-hand sides of its solve.

        Matrices are row-major here.
        """
        n, target = self.stage.length, self.stage.target
        if self.factor_small("factor_small_triangle", target, n):
            return
        work = self.temporary(self.stage.stride)
        self.copy(work)
        for start, width in self.panels(n):
            self.columns(work, target, start, width)
            after = start + width
            if rows := n - after:
                rest, below = self.block(work, after, after), self.block(target, start, after)
                self.product(rest, (rows, rows, width), below, below, adjoint=True, lower=True)

    # -- QR -------------------------------------------------------------------------------------

    def qr(self) -> None:
        """Clear the columns by reflections, then apply these to the identity in reverse order."""
        stage, work, panel = self.stage, self.stage.target, self.stage.panel
        m, identity = stage.length, stage.identity
        panels = self.panels(min(m, stage.columns - identity))
        size, room = len(panels) * panel, panel * stage.columns
        vectors, products = self.temporary(size * m), self.temporary(size * panel)
        z = _Block(self.temporary(room), room, 0, panel)
        self.copy(work)
        done: list[tuple[int, _Reflections]] = []
        for start, width in panels:
            v = _Block(vectors, size * m, start * (m + 1), m)
            s = _Block(products, size * panel, start * panel, panel)
            reflections = _Reflections(v, s, z, m - start, width)
            done.append((start, reflections))
            self.reflect(self.block(work, start, identity + start), reflections, start)
            if rest := stage.columns - identity - start - width:
                a = self.block(work, start, identity + start + width)
                self.reflected(a, rest, reflections, adjoint=True)
        if identity:
            for start, reflections in reversed(done):
                q = self.block(work, start, start)
                self.reflected(q, identity - start, reflections, adjoint=False)

    def reflected(self, a: _Block, columns: int, by: _Reflections, *, adjoint: bool) -> None:
        """Apply the product of a panel's reflections, or its adjoint, to columns of `a`."""
        v, z, rows, width = by.vectors, by.work, by.rows, by.width
        for first in range(0, rows, MAX_TERMS):
            shape = width, columns, min(MAX_TERMS, rows - first)
            left, right = (replace(x, first=x.first + first) for x in (v, a))
            self.product(z, shape, left, right, "+=" if first else "=", adjoint=True)
        self.substitute(z, columns, by.products, width, "adjoint" if adjoint else "upper by rows")
        self.product(a, (rows, columns, width), v, z)


def lower_factorization(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel with a factorization."""
    stage = stage_of(kernel, Factorization)
    steps = _Steps(kernel, stage, context)
    by_kind = {"solve": steps.solve, "cholesky": steps.cholesky, "qr": steps.qr}
    by_kind.get(stage.kind, steps.determinants)()
    return steps.dispatched


# -- Rotations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rotated(_Decomposition):
    """Matrices whose columns are rotated.

    Attributes
    ----------
    rows, n : int
        Rows and columns of a matrix.
    length : int or None
        The number of leading rows in which the columns become orthogonal. None for a Hermitian
        matrix; its eigenvectors and then its eigenvalues are stored.
    """

    rows: int
    n: int
    length: int | None

    family: ClassVar[str] = "jacobi"

    def ops(self) -> list[str]:
        return ["rotations"]

    def written(self, points: int) -> int:
        return 2 * points * self.rows * self.n * self.dtype.itemsize


def lower_jacobi(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return one dispatch for small matrices, otherwise one for each round of each sweep."""
    stage, (count,) = stage_of(kernel, Rotated), kernel.kept
    side = min(SIDES[stage.dtype], max(MIN_SIDE, 1 << (stage.n - 1).bit_length()))
    if stage.length is None:
        return [_rotations(kernel, context, side, 2, sweeps=SWEEPS)]
    size = count * stage.rows * stage.n
    copy = copying(stage.source, stage.dtype, stage.target, stage.dtype, size, kernel.label)
    dispatches = [lower_map(copy, context)]
    blocks = max(2, -(-stage.n // side) * 2)
    if blocks == 2:
        return [*dispatches, _rotations(kernel, context, side, 2, passes=SWEEPS)]
    rotated = context.temporary(count * uint32.itemsize)
    zero = Body.of([Index(uint32, Access((0,), 0))])
    cleared = mapped((count,), zero, kernel.label, Output(rotated, 0, uint32, Access((1,), 0)))
    dispatches.append(lower_map(cleared, context))
    first = _rotations(kernel, context, side, blocks, rotated)
    before, after = first.params[:ROUND], first.params[ROUND + 2 :]
    rounds = product(range(SWEEPS), range(blocks - 1))
    dispatches += [replace(first, params=(*before, n, sweep, *after)) for sweep, n in rounds]
    return dispatches


def _rotations(
    kernel: Kernel,
    context: Context,
    side: int,
    blocks: int,
    rotated: int | None = None,
    *,
    passes: int = 1,
    sweeps: int = 1,
) -> Dispatch:
    """Return the dispatch of the first round of a sweep, or of several passes or sweeps.

    `side` is the number of columns of a matrix that is rotated in workgroup memory. `rotated` is
    the buffer for the last sweep that rotated anything in each matrix, if that is several.
    """
    stage, (count,) = stage_of(kernel, Rotated), kernel.kept
    is_hermitian, length = stage.length is None, stage.length or stage.rows
    units, at_once = count * blocks // 2, max(1, INVOCATIONS * 4 // side**2)
    sizes = units, stage.n, length, stage.rows, blocks
    writer = Writer(kernel, context, *sizes, 0, 0, passes, sweeps)
    writer.params.value(EPS * (1 if is_hermitian else max(4, math.sqrt(length))), float32)
    # Smaller diagonal elements count as this in the test whether a pair is orthogonal.
    writer.params.value(1e-6 if is_hermitian else 1e-12, float32)
    writer.constants |= {"SIDE": side, "UNITS": at_once, "IS_HERMITIAN": is_hermitian}
    writer.code += number_functions("jacobi", stage.dtype)
    put = writer.put(stage.target, stage.dtype, "at", "x")
    source = writer.bind(stage.source, stage.dtype) if is_hermitian else "b0"
    last, note = "return 0u;", ""
    if rotated is not None:
        name = writer.bind(rotated, uint32, writable=True, atomic=True)
        last, note = f"return atomicLoad(&{name}[item]);", f"atomicMax(&{name}[item], sweep);"
    writer.function("load_element(at: u32) -> Number", f"return {source}[at];")
    writer.function("store_element(at: u32, x: Number)", put)
    writer.function("last_sweep(item: u32) -> u32", last)
    writer.function("note_sweep(item: u32, sweep: u32)", note)
    work = units * passes * side**2 * (length + stage.rows + 8 * side * sweeps)
    variant, groups = f"{side} columns", -(-units // at_once)
    return writer.dispatch("jacobi", variant, groups, work=work, operations=work)


lower.FAMILIES.insert(0, lower.Family(lower.begins(Factorization), lower_factorization))
lower.FAMILIES.insert(0, lower.Family(lower.begins(Rotated), lower_jacobi))
