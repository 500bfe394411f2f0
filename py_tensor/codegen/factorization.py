"""Blocked matrix decompositions and linear systems.

A workgroup factors a panel: a few columns of each matrix. Other workgroups then update the columns
beside it with a triangular solve and a matrix product (Golub and Van Loan, Matrix Computations,
3.4, 4.2 and 5.2). All dispatches of a decomposition belong to one kernel, so the planner treats
them as a unit. Small matrices are factored completely in workgroup memory.

Matrices are stored column-major. Right-hand sides are extra columns, which elimination transforms
along with the others. A matrix without a decomposition gives infinities or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, uint32
from py_tensor.codegen import lower
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.library import unrolled
from py_tensor.codegen.map import copying, lower_map
from py_tensor.codegen.numbers import number_functions
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.schedule.kernel import Kernel, Stage

TILE = 64  # rows and columns of a product that a workgroup computes
SPAN = 32  # right-hand sides of a triangular system that a workgroup solves
FEW_ROWS, SOME_ROWS = 32, 128  # up to this many rows, workgroups are smaller
COST = 4  # instructions for a term of a product
MAX_TERMS = 4096  # per product: lavapipe limits loop iterations, see `Factorization.panel`
TEAM = 32  # rows of the largest matrix that is factored whole, in workgroup memory


@dataclass(frozen=True, slots=True)
class Factorization(Stage):
    """A decomposition of a batch of matrices.

    Attributes
    ----------
    kind : str
        "solve": each matrix is followed by its right-hand sides, which become the solutions.
        "det", "slogdet": the result is the determinant, or its sign and logarithm. "cholesky": the
        rows become those of the lower triangle. "qr": columns of the identity, then of the matrix,
        become the two factors.
    source, target : int
        The slots of the operand and of the result.
    matrices : int
    length : int
        Elements of a column.
    columns : int
        Columns of each matrix, with right-hand sides or the identity.
    identity : int
        The number of columns that belong to the identity.
    """

    kind: str
    source: int
    target: int
    dtype: DType
    matrices: int
    length: int
    columns: int
    identity: int

    family: ClassVar[str] = "factorization"

    def with_slots(self, number: Callable[[int], int]) -> Self:
        return replace(self, source=number(self.source), target=number(self.target))

    def ops(self) -> list[str]:
        return [self.kind]

    def sources(self) -> set[int]:
        return {self.source}

    def writes(self) -> set[int]:
        return {self.target}

    def written(self, points: int) -> int:
        """Return the bytes written, and as many read."""
        return 2 * self.size * self.dtype.itemsize

    @property
    def work_buffers(self) -> int:
        return 1

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


@dataclass(slots=True)
class _Steps:
    """The dispatches of one decomposition."""

    kernel: Kernel
    stage: Factorization
    context: Context
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
        bindings: list[Binding],
        values: tuple[int, ...],
        groups: int,
        work: int,
        *code: str,
        constants: dict[str, int],
        regions: dict[str, str] | None = None,
    ) -> None:
        """Add a dispatch of the template with this name.

        `values` are its parameters after the number of matrices.
        """
        stage, dtype = self.stage, self.stage.dtype
        writer = Writer(self.kernel, self.context, stage.matrices, *values)
        writer.bindings += bindings
        writer.constants |= constants
        writer.code += [*number_functions(name, dtype), *code]
        work *= stage.matrices * dtype.words**2
        dispatch = writer.dispatch(
            name,
            name,
            groups,
            work=COST * work,
            operations=2 * work,
            traffic=2 * stage.matrices * stage.length * stage.panel * dtype.itemsize,
            regions=regions,
        )
        self.dispatched.append(dispatch)

    def workgroup(self, rows: int) -> int:
        """Return the workgroup size for some rows; barriers of small workgroups are cheaper."""
        few = FEW_ROWS if rows <= FEW_ROWS else 64 if rows <= SOME_ROWS else 256
        return min(few, self.context.profile.workgroup)

    def bound(self, slot: int, dtype: DType | None = None, *, writable: bool = True) -> Binding:
        return Binding(slot, dtype or self.stage.dtype, vector=False, writable=writable)

    def panel(self, work: int, exchanges: int, start: int, width: int) -> None:
        """Eliminate the columns of a panel; `exchanges` receives the row exchanges."""
        stage, rows = self.stage, self.stage.length - start
        workgroup = self.workgroup(rows)
        at_a_time = 4 if rows > workgroup else 1
        self.run(
            "factor_panel",
            [self.bound(work), self.bound(exchanges, uint32)],
            (stage.stride, stage.length, start, width),
            stage.matrices,
            rows * width * width,
            constants={"WORKGROUP": workgroup, "PANEL": stage.panel, "ROWS": at_a_time},
            regions=unrolled("factor_panel", N=at_a_time),
        )

    def columns(self, work: int, target: int, start: int, width: int) -> None:
        """Factor a panel of the Cholesky decomposition: the diagonal block and the rows below."""
        stage = self.stage
        panel, workgroup = stage.panel, self.context.profile.workgroup
        each, below = TILE * panel // workgroup, stage.length - start - width
        self.run(
            "factor_columns",
            [self.bound(work, writable=False), self.bound(target)],
            (stage.stride, stage.length, start, width),
            stage.matrices * max(1, -(-below // (TILE - panel))),
            (below + width) * width**2,
            constants={"WORKGROUP": workgroup, "PANEL": panel, "EACH": each},
            regions=unrolled("factor_columns", N=each),
        )

    def reflect(self, a: _Block, v: _Block, s: _Block, start: int, width: int) -> None:
        """Clear a panel of `a` below the diagonal by reflections; store their vectors and products.

        The vectors go to `v`, and their inner products to `s`.
        """
        length, panel = self.stage.length, self.stage.panel
        self.run(
            "factor_reflect",
            [self.bound(x.slot) for x in (a, v, s)],
            (length, start, width, a.stride, a.first, v.stride, v.first, s.stride, s.first),
            self.stage.matrices,
            2 * (length - start) * width * width,
            constants={"WORKGROUP": max(self.workgroup(2 * length), panel), "PANEL": panel},
        )

    def substitute(
        self,
        x: _Block,
        count: int,
        triangle: _Block,
        width: int,
        *,
        exchanges: int | None = None,
        unit: bool = False,
        backward: bool = False,
        by_rows: bool = False,
        conjugate: bool = False,
    ) -> None:
        """Solve a triangular system of `width` equations for `count` right-hand sides.

        `by_rows` means that the step of the triangle is that of its rows.
        """
        is_inside = triangle.slot == x.slot
        bindings = [self.bound(x.slot)]
        if not is_inside:
            bindings.append(self.bound(triangle.slot, writable=False))
        exchange = "0u"
        if exchanges is not None:
            exchange = f"b{len(bindings)}[at]"
            bindings.append(self.bound(exchanges, uint32, writable=False))
        element = f"b{0 if is_inside else 1}[at]"
        element = f"conjugate({element})" if conjugate else element
        divided = "x" if unit else "quotient(x, diagonal)"
        self.run(
            "factor_substitute",
            bindings,
            (count, width, *_position(x), *_position(triangle)),
            self.stage.matrices * -(-count // SPAN),
            count * width * width,
            f"fn divided(x: Number, diagonal: Number) -> Number {{ return {divided}; }}",
            f"fn triangle(at: u32) -> Number {{ return {element}; }}",
            f"fn place(at: u32) -> u32 {{ return {exchange}; }}",
            constants={
                "WORKGROUP": min(4 * SPAN, self.context.profile.workgroup),
                "PANEL": self.stage.panel,
                "BY_ROWS": by_rows,
                "BACKWARD": backward,
                "EXCHANGES": exchanges is not None,
            },
        )

    def product(
        self,
        c: _Block,
        shape: tuple[int, int, int],
        a: _Block,
        b: _Block,
        *,
        put: str = "-=",
        adjoint: bool = False,
        lower: bool = False,
    ) -> None:
        """Multiply `a`, or its adjoint, by `b`, and assign the product to `c`.

        `put` is the assignment operator. The shape is (rows, columns, terms). With `lower`, tiles
        below the diagonal are skipped.
        """
        rows, columns, terms = shape
        slots = list(dict.fromkeys((c.slot, a.slot, b.slot)))
        bindings = [self.bound(slot, writable=slot == c.slot) for slot in slots]
        left, right = (f"b{slots.index(x.slot)}[at]" for x in (a, b))
        left = f"conjugate({left})" if adjoint else left
        by_row, by_term = (a.step, 1) if adjoint else (1, a.step)
        self.run(
            "factor_product",
            bindings,
            (*shape, a.stride, a.first, by_row, by_term, *_position(b), *_position(c)),
            self.stage.matrices * -(-rows // TILE) * -(-columns // TILE),
            rows * columns * terms,
            f"fn left(at: u32) -> Number {{ return {left}; }}",
            f"fn right(at: u32) -> Number {{ return {right}; }}",
            f"fn put(at: u32, x: Number) {{ b0[at] {put} x; }}",
            constants={
                "STEP": 8 if self.stage.dtype.is_complex else 16,
                "LEFT_BY_ROWS": adjoint,
                "LOWER": lower,
            },
            regions=unrolled("factor_product", R=4, C=4),
        )

    def block(self, slot: int, row: int, column: int) -> _Block:
        """Return the block that begins at an element of each matrix."""
        length = self.stage.length
        return _Block(slot, self.stage.stride, column * length + row, length)

    def panels(self, count: int) -> list[tuple[int, int]]:
        """Return the start and the width of each panel of `count` columns."""
        size = self.stage.panel
        return [(start, min(size, count - start)) for start in range(0, count, size)]

    # -- Small matrices -------------------------------------------------------------------------

    def small(self, columns: int) -> dict[str, int] | None:
        """Return the constants for factoring matrices in workgroup memory.

        None if the matrices are too large. `columns` is rounded up to a power of two, so that few
        programs are needed.
        """
        n = self.stage.length
        team = 1 << (n - 1).bit_length()
        # The extra column keeps the teams in different memory banks.
        room = team * ((1 << (columns - 1).bit_length()) + (team < TEAM))
        memory = self.context.profile.workgroup_memory
        units = min(max(1, 64 // team), memory // (room * self.stage.dtype.itemsize + 4 * team))
        return {"TEAM": team, "UNITS": units, "ROOM": room} if n <= TEAM and units else None

    def eliminate_small(self, target: int, exchanges: int | None) -> bool:
        """Eliminate small matrices; also solve if there is no `exchanges`. False if too large."""
        stage, small = self.stage, self.small(self.stage.columns)
        if small is None:
            return False
        bindings = [self.bound(stage.source, writable=False), self.bound(target)]
        note = ""
        if exchanges is not None:
            bindings.append(self.bound(exchanges, uint32))
            note = "b2[at] = count;"
        self.run(
            "factor_small",
            bindings,
            (stage.stride, stage.length, stage.columns),
            -(-stage.matrices // small["UNITS"]),
            stage.length**2 * stage.columns,
            f"fn note_exchanges(at: u32, count: u32) {{ {note} }}",
            constants=small | {"PANEL": stage.panel, "SOLVES": exchanges is None},
        )
        return True

    def cholesky_small(self) -> bool:
        """Factor small matrices in workgroup memory; False if they are too large."""
        stage, small = self.stage, self.small(self.stage.length)
        if small is None:
            return False
        self.run(
            "factor_small_triangle",
            [self.bound(stage.source, writable=False), self.bound(stage.target)],
            (stage.stride, stage.length),
            -(-stage.matrices // small["UNITS"]),
            stage.length**3,
            constants={name: small[name] for name in ("TEAM", "UNITS")},
        )
        return True

    # -- Elimination ----------------------------------------------------------------------------

    def eliminate(self, work: int, exchanges: int) -> None:
        """Reduce matrices to upper triangles by elimination with row exchanges.

        Right-hand sides are transformed along with them.
        """
        n = self.stage.length
        for start, width in self.panels(n):
            self.panel(work, exchanges, start, width)
            after = start + width
            if not (count := self.stage.columns - after):
                continue
            corner, strip = self.block(work, start, start), self.block(work, start, after)
            self.substitute(strip, count, corner, width, exchanges=exchanges, unit=True)
            if rows := n - after:
                rest, below = self.block(work, after, after), self.block(work, after, start)
                self.product(rest, (rows, count, width), below, strip)

    def substitute_back(self, work: int) -> None:
        """Turn the right-hand sides after elimination into solutions (back substitution)."""
        n = self.stage.length
        count = self.stage.columns - n
        for start, width in reversed(self.panels(n)):
            corner, solved = self.block(work, start, start), self.block(work, start, n)
            self.substitute(solved, count, corner, width, backward=True)
            if start:
                sides, above = self.block(work, 0, n), self.block(work, 0, start)
                self.product(sides, (start, count, width), above, solved)

    def solve(self) -> None:
        if self.eliminate_small(self.stage.target, None):
            return
        work, exchanges = self.stage.target, self.temporary(3 * self.stage.panel + 1, uint32)
        self.copy(work)
        self.eliminate(work, exchanges)
        self.substitute_back(work)

    def determinants(self) -> None:
        stage = self.stage
        work = self.temporary(stage.stride)
        exchanges = self.temporary(3 * stage.panel + 1, uint32)
        if not self.eliminate_small(work, exchanges):
            self.copy(work)
            self.eliminate(work, exchanges)
        self.run(
            "factor_determinant",
            [
                self.bound(work, writable=False),
                self.bound(exchanges, uint32, writable=False),
                self.bound(stage.target),
            ],
            (stage.length, stage.stride),
            -(-stage.matrices // 64),
            32 * stage.length,
            constants={"WORKGROUP": 64, "PANEL": stage.panel, "LOGARITHM": stage.kind == "slogdet"},
        )

    # -- Cholesky -------------------------------------------------------------------------------

    def cholesky(self) -> None:
        """Factor blocks on the diagonal; the rows below each are the right-hand sides of its solve.

        Matrices are row-major here.
        """
        if self.cholesky_small():
            return
        n, target = self.stage.length, self.stage.target
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
        parts: list[tuple[_Block, _Block]] = []
        for start, width in panels:
            a = self.block(work, start, identity + start)
            v = _Block(vectors, size * m, start * (m + 1), m)
            s = _Block(products, size * panel, start * panel, panel)
            parts.append((v, s))
            self.reflect(a, v, s, start, width)
            if rest := stage.columns - identity - start - width:
                a = replace(a, first=a.first + width * m)
                self.reflected(a, rest, v, s, z, (m - start, width), adjoint=True)
        if not identity:
            return
        for (start, width), (v, s) in zip(reversed(panels), reversed(parts), strict=True):
            q = self.block(work, start, start)
            self.reflected(q, identity - start, v, s, z, (m - start, width), adjoint=False)

    def reflected(
        self,
        a: _Block,
        columns: int,
        v: _Block,
        s: _Block,
        z: _Block,
        shape: tuple[int, int],
        *,
        adjoint: bool,
    ) -> None:
        """Apply the product of a panel's reflections, or its adjoint, to columns of `a`.

        The shape is that of the matrix of their vectors.
        """
        rows, width = shape
        for first in range(0, rows, MAX_TERMS):
            terms = width, columns, min(MAX_TERMS, rows - first)
            left, right = (replace(x, first=x.first + first) for x in (v, a))
            put = "+=" if first else "="
            self.product(z, terms, left, right, put=put, adjoint=True)
        whole = not adjoint
        self.substitute(z, columns, s, width, backward=whole, by_rows=whole, conjugate=adjoint)
        self.product(a, (rows, columns, width), v, z)


def _position(block: _Block) -> tuple[int, int, int]:
    return block.stride, block.first, block.step


def lower_factorization(kernel: Kernel, context: Context) -> list[Dispatch]:
    stage = stage_of(kernel, Factorization)
    steps = _Steps(kernel, stage, context)
    match stage.kind:
        case "solve":
            steps.solve()
        case "cholesky":
            steps.cholesky()
        case "qr":
            steps.qr()
        case _:
            steps.determinants()
    return steps.dispatched


lower.FAMILIES.insert(0, lower.Family(lower.begins(Factorization), lower_factorization))
