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
from functools import cache
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, uint32
from py_tensor.codegen import lower
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.map import copying, interface, lower_map
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context
from py_tensor.schedule.kernel import Kernel, Stage

TILE = 64  # rows and columns of a product that a workgroup computes
SPAN = 32  # right-hand sides of a triangular system that a workgroup solves
FEW_ROWS, SOME_ROWS = 32, 128  # up to this many rows, workgroups are smaller
COST = 4  # instructions for a term of a product
MAX_TERMS = 4096  # per product: lavapipe limits loop iterations, see `Factorization.panel`
TEAM = 32  # rows of the largest matrix that is factored whole, in workgroup memory

_REAL = {
    "minus_product": "(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }",
    "plus_product": "(x: Number, a: Number, b: Number) -> Number { return fma(a, b, x); }",
    "product": "(a: Number, b: Number) -> Number { return a * b; }",
    "quotient": "(a: Number, b: Number) -> Number { return divide_f32(a, b); }",
    "times": "(a: Number, b: f32) -> Number { return a * b; }",
    "divided_by_real": "(a: Number, b: f32) -> Number { return divide_f32(a, b); }",
    "conjugate": "(x: Number) -> Number { return x; }",
    "size": "(x: Number) -> f32 { return abs_f32(x); }",
    "magnitude": "(x: Number) -> f32 { return abs_f32(x); }",
    "square": "(x: Number) -> f32 { return x * x; }",
    "signed": "(x: Number) -> Number { return sign_f32(x); }",
    "real_part": "(x: Number) -> f32 { return x; }",
    "real": "(x: f32) -> Number { return x; }",
}
_COMPLEX = {
    "minus_product": "(x: Number, a: Number, b: Number) -> Number { return "
    "vec2f(fma(a.y, b.y, fma(-a.x, b.x, x.x)), fma(-a.y, b.x, fma(-a.x, b.y, x.y))); }",
    "plus_product": "(x: Number, a: Number, b: Number) -> Number { return "
    "vec2f(fma(-a.y, b.y, fma(a.x, b.x, x.x)), fma(a.y, b.x, fma(a.x, b.y, x.y))); }",
    "product": "(a: Number, b: Number) -> Number { return mul_complex64(a, b); }",
    "quotient": "(a: Number, b: Number) -> Number { return divide_complex64(a, b); }",
    "times": "(a: Number, b: f32) -> Number { return a * b; }",
    "divided_by_real": "(a: Number, b: f32) -> Number "
    "{ return vec2f(divide_f32(a.x, b), divide_f32(a.y, b)); }",
    "conjugate": "(x: Number) -> Number { return vec2f(x.x, -x.y); }",
    "size": "(x: Number) -> f32 { return abs_f32(x.x) + abs_f32(x.y); }",
    "magnitude": "(x: Number) -> f32 { return abs_complex64(x); }",
    "square": "(x: Number) -> f32 { return x.x * x.x + x.y * x.y; }",
    "signed": "(x: Number) -> Number { return sign_complex64(x); }",
    "real_part": "(x: Number) -> f32 { return x.x; }",
    "real": "(x: f32) -> Number { return vec2f(x, 0.0); }",
}


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
class _Part:
    """A part of a buffer: `first` is its start in each matrix, `stride` the matrices' distance."""

    slot: int
    stride: int
    first: int


@dataclass(slots=True)
class _Steps:
    """The dispatches of one decomposition."""

    stage: Factorization
    label: str
    context: Context
    dispatched: list[Dispatch] = field(default_factory=list[Dispatch])

    def temporary(self, elements: int, dtype: DType | None = None) -> int:
        """Return a buffer with `elements` elements for each matrix."""
        size = (dtype or self.stage.dtype).itemsize
        return self.context.temporary(self.stage.matrices * elements * size)

    def copy(self, target: int) -> None:
        stage, context = self.stage, self.context
        kernel = copying(stage.source, stage.dtype, target, stage.dtype, stage.size, self.label)
        self.dispatched.append(lower_map(kernel, context.profile, context.programs))

    def run(
        self,
        template: str,
        bindings: list[Binding],
        values: tuple[int, ...],
        names: str,
        groups: int,
        work: int,
        *code: str,
        constants: dict[str, int] | None = None,
        regions: dict[str, str] | None = None,
    ) -> None:
        """Add a dispatch; `values` are its parameters after the first workgroup and `matrices`."""
        stage = self.stage
        params = Params()
        params.extend(0, stage.matrices, *values)
        numbers = _COMPLEX if stage.dtype.is_complex else _REAL
        lines = [f"alias Number = {stage.dtype.storage};"]
        lines += [f"fn {name}{numbers[name]}" for name in names.split()]
        text = interface(bindings, params, constants or {}, *lines, *code)
        program = self.context.programs.get(
            template, self.label, bindings, {"interface": text, **(regions or {})}, template
        )
        slots = tuple(binding.slot for binding in bindings)
        work *= stage.matrices * stage.dtype.words**2
        moved = 2 * stage.matrices * stage.length * stage.panel * stage.dtype.itemsize
        dispatch = Dispatch(
            program, slots, tuple(params.values), (), groups, 0, COST * work, 2 * work, moved
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
            "minus_product product quotient size real",
            stage.matrices,
            rows * width * width,
            constants={"WORKGROUP": workgroup, "PANEL": stage.panel, "ROWS": at_a_time},
            regions=_elements(at_a_time),
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
            "minus_product conjugate times divided_by_real real_part real",
            stage.matrices * max(1, -(-below // (TILE - panel))),
            (below + width) * width**2,
            constants={"WORKGROUP": workgroup, "PANEL": panel, "EACH": each},
            regions=_columns(each),
        )

    def reflect(self, a: _Part, v: _Part, s: _Part, start: int, width: int) -> None:
        """Clear a panel of `a` below the diagonal by reflections; store their vectors and products.

        The vectors go to `v`, and their inner products to `s`.
        """
        length, panel = self.stage.length, self.stage.panel
        self.run(
            "factor_reflect",
            [self.bound(x.slot) for x in (a, v, s)],
            (length, start, width, a.stride, a.first, v.stride, v.first, s.stride, s.first),
            "plus_product minus_product conjugate square magnitude size divided_by_real real",
            self.stage.matrices,
            2 * (length - start) * width * width,
            constants={"WORKGROUP": max(self.workgroup(2 * length), panel), "PANEL": panel},
        )

    def substitute(
        self,
        x: _Part,
        count: int,
        step: int,
        triangle: _Part,
        pitch: int,
        width: int,
        *,
        exchanges: int | None = None,
        unit: bool = False,
        backward: bool = False,
        by_rows: bool = False,
        conjugate: bool = False,
    ) -> None:
        """Solve a triangular system of `width` equations for `count` right-hand sides.

        Right-hand sides are `step` elements apart; columns (or rows) of the triangle are `pitch`
        apart.
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
            (count, width, x.stride, x.first, step, triangle.stride, triangle.first, pitch),
            "minus_product quotient conjugate",
            self.stage.matrices * -(-count // SPAN),
            count * width * width,
            f"const BY_ROWS = {_flag(by_rows)};",
            f"const BACKWARD = {_flag(backward)};",
            f"const EXCHANGES = {_flag(exchanges is not None)};",
            f"fn divided(x: Number, diagonal: Number) -> Number {{ return {divided}; }}",
            f"fn triangle(at: u32) -> Number {{ return {element}; }}",
            f"fn place(at: u32) -> u32 {{ return {exchange}; }}",
            constants={
                "WORKGROUP": min(4 * SPAN, self.context.profile.workgroup),
                "PANEL": self.stage.panel,
            },
        )

    def product(
        self,
        c: _Part,
        c_step: int,
        shape: tuple[int, int, int],
        a: _Part,
        a_step: int,
        b: _Part,
        b_step: int,
        *,
        put: str = "-=",
        adjoint: bool = False,
        lower: bool = False,
    ) -> None:
        """Multiply `a`, or its adjoint, by `b`, and assign the product to `c`.

        `put` is the assignment operator. The shape is (rows, columns, terms). A step is the
        distance from one column to the next. With `lower`, tiles below the diagonal are skipped.
        """
        rows, columns, terms = shape
        slots = list(dict.fromkeys((c.slot, a.slot, b.slot)))
        bindings = [self.bound(slot, writable=slot == c.slot) for slot in slots]
        left, right = (f"b{slots.index(x.slot)}[at]" for x in (a, b))
        left = f"conjugate({left})" if adjoint else left
        by_row, by_term = (a_step, 1) if adjoint else (1, a_step)
        self.run(
            "factor_product",
            bindings,
            (
                *(rows, columns, terms, a.stride, a.first, by_row, by_term),
                *(b.stride, b.first, b_step, c.stride, c.first, c_step),
            ),
            "plus_product conjugate",
            self.stage.matrices * -(-rows // TILE) * -(-columns // TILE),
            rows * columns * terms,
            f"const STEP = {8 if self.stage.dtype.is_complex else 16}u;",
            f"const LEFT_BY_ROWS = {_flag(adjoint)};",
            f"const LOWER = {_flag(lower)};",
            f"fn left(at: u32) -> Number {{ return {left}; }}",
            f"fn right(at: u32) -> Number {{ return {right}; }}",
            f"fn put(at: u32, x: Number) {{ b0[at] {put} x; }}",
            regions=_TILE,
        )

    def panels(self, count: int) -> list[tuple[int, int]]:
        """Return the start and the width of each panel of `count` columns."""
        size = self.stage.panel
        return [(start, min(size, count - start)) for start in range(0, count, size)]

    # -- Small matrices -------------------------------------------------------------------------

    def small(self, columns: int) -> tuple[dict[str, int], int] | None:
        """Return the constants for factoring matrices in workgroup memory, and the workgroups.

        None if the matrices are too large. `columns` is rounded up to a power of two, so that few
        programs are needed.
        """
        stage, n = self.stage, self.stage.length
        team = 1 << (n - 1).bit_length()
        # The extra column keeps the teams in different memory banks.
        room = team * ((1 << (columns - 1).bit_length()) + (team < TEAM))
        memory = self.context.profile.workgroup_memory
        units = min(max(1, 64 // team), memory // (room * stage.dtype.itemsize + 4 * team))
        if n > TEAM or not units:
            return None
        return {"TEAM": team, "UNITS": units, "ROOM": room}, -(-stage.matrices // units)

    def eliminate_small(self, target: int, exchanges: int | None) -> bool:
        """Eliminate small matrices; also solve if there is no `exchanges`. False if too large."""
        stage = self.stage
        small = self.small(stage.columns)
        if small is None:
            return False
        constants, groups = small
        bindings = [self.bound(stage.source, writable=False), self.bound(target)]
        note = "fn note_exchanges(at: u32, count: u32) {}"
        if exchanges is not None:
            bindings.append(self.bound(exchanges, uint32))
            note = "fn note_exchanges(at: u32, count: u32) { b2[at] = count; }"
        self.run(
            "factor_small",
            bindings,
            (stage.stride, stage.length, stage.columns),
            "minus_product product quotient size real",
            groups,
            stage.length**2 * stage.columns,
            f"const SOLVES = {_flag(exchanges is None)};",
            note,
            constants=constants | {"PANEL": stage.panel},
        )
        return True

    def cholesky_small(self) -> bool:
        """Factor small matrices in workgroup memory; False if they are too large."""
        stage = self.stage
        small = self.small(stage.length)
        if small is None:
            return False
        constants, groups = small
        del constants["ROOM"]
        self.run(
            "factor_small_triangle",
            [self.bound(stage.source, writable=False), self.bound(stage.target)],
            (stage.stride, stage.length),
            "minus_product conjugate square divided_by_real real_part real",
            groups,
            stage.length**3,
            constants=constants,
        )
        return True

    # -- Elimination ----------------------------------------------------------------------------

    def eliminate(self, work: int, exchanges: int) -> None:
        """Reduce matrices to upper triangles by elimination with row exchanges.

        Right-hand sides are transformed along with them.
        """
        n, stride = self.stage.length, self.stage.stride
        for start, width in self.panels(n):
            self.panel(work, exchanges, start, width)
            after = start + width
            if not (count := self.stage.columns - after):
                continue
            corner = _Part(work, stride, start * (n + 1))
            strip = _Part(work, stride, after * n + start)
            self.substitute(strip, count, n, corner, n, width, exchanges=exchanges, unit=True)
            if rows := n - after:
                rest = _Part(work, stride, after * (n + 1))
                below = _Part(work, stride, start * n + after)
                self.product(rest, n, (rows, count, width), below, n, strip, n)

    def substitute_back(self, work: int) -> None:
        """Turn the right-hand sides after elimination into solutions (back substitution)."""
        n, stride = self.stage.length, self.stage.stride
        count = self.stage.columns - n
        for start, width in reversed(self.panels(n)):
            corner = _Part(work, stride, start * (n + 1))
            solved = _Part(work, stride, n * n + start)
            self.substitute(solved, count, n, corner, n, width, backward=True)
            if start:
                sides, above = _Part(work, stride, n * n), _Part(work, stride, start * n)
                self.product(sides, n, (start, count, width), above, n, solved, n)

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
            "product magnitude size signed real",
            -(-stage.matrices // 64),
            32 * stage.length,
            f"const LOGARITHM = {_flag(stage.kind == 'slogdet')};",
            constants={"WORKGROUP": 64, "PANEL": stage.panel},
        )

    # -- Cholesky -------------------------------------------------------------------------------

    def cholesky(self) -> None:
        """Factor blocks on the diagonal; the rows below each are the right-hand sides of its solve.

        Matrices are row-major here.
        """
        if self.cholesky_small():
            return
        n, stride, target = self.stage.length, self.stage.stride, self.stage.target
        work = self.temporary(stride)
        self.copy(work)
        for start, width in self.panels(n):
            self.columns(work, target, start, width)
            after = start + width
            if rows := n - after:
                below = _Part(target, stride, after * n + start)
                rest = _Part(work, stride, after * (n + 1))
                shape = rows, rows, width
                self.product(rest, n, shape, below, n, below, n, adjoint=True, lower=True)

    # -- QR -------------------------------------------------------------------------------------

    def qr(self) -> None:
        """Clear the columns by reflections, then apply these to the identity in reverse order."""
        stage, work, panel = self.stage, self.stage.target, self.stage.panel
        m, identity = stage.length, stage.identity
        panels = self.panels(min(m, stage.columns - identity))
        size, room = len(panels) * panel, panel * stage.columns
        vectors, products = self.temporary(size * m), self.temporary(size * panel)
        z = _Part(self.temporary(room), room, 0)
        self.copy(work)
        parts: list[tuple[_Part, _Part]] = []
        for start, width in panels:
            a = _Part(work, stage.stride, (identity + start) * m + start)
            v = _Part(vectors, size * m, start * (m + 1))
            s = _Part(products, size * panel, start * panel)
            parts.append((v, s))
            self.reflect(a, v, s, start, width)
            if rest := stage.columns - identity - start - width:
                a = replace(a, first=a.first + width * m)
                self.reflected(a, rest, v, s, z, (m - start, width), adjoint=True)
        if not identity:
            return
        for (start, width), (v, s) in zip(reversed(panels), reversed(parts), strict=True):
            q = _Part(work, stage.stride, start * (m + 1))
            self.reflected(q, identity - start, v, s, z, (m - start, width), adjoint=False)

    def reflected(
        self,
        a: _Part,
        columns: int,
        v: _Part,
        s: _Part,
        z: _Part,
        shape: tuple[int, int],
        *,
        adjoint: bool,
    ) -> None:
        """Apply the product of a panel's reflections, or its adjoint, to columns of `a`.

        The shape is that of the matrix of their vectors.
        """
        m, panel = self.stage.length, self.stage.panel
        rows, width = shape
        for first in range(0, rows, MAX_TERMS):
            terms = width, columns, min(MAX_TERMS, rows - first)
            left, right = (replace(x, first=x.first + first) for x in (v, a))
            put = "+=" if first else "="
            self.product(z, panel, terms, left, m, right, m, put=put, adjoint=True)
        whole = not adjoint
        self.substitute(
            z, columns, panel, s, panel, width, backward=whole, by_rows=whole, conjugate=adjoint
        )
        self.product(a, m, (rows, columns, width), v, m, z, panel)


def _flag(value: bool) -> str:
    return "true" if value else "false"


@cache
def _elements(rows: int) -> dict[str, str]:
    """Return the regions of a panel's column, unrolled over the rows of an invocation."""
    load: list[str] = []
    four: list[str] = []
    one: list[str] = []
    last: list[str] = []
    for n in range(rows):
        load.append(f"let r{n} = min(i + {n}u * WORKGROUP, count - 1u);")
        load.append(f"var x{n} = b0[column + r{n}];")
        four.append(f"x{n} = reduced(x{n}, at + r{n}, length, c * PANEL + j);")
        one.append(f"x{n} = minus_product(x{n}, b0[at + r{n}], corner[c * PANEL + j]);")
        last.append(f"if (r{n} == i + {n}u * WORKGROUP && r{n} >= j) {{")
        last.append(
            f"  if (j > 0u) {{ x{n} = finished(x{n}, at + r{n}, column + r{n}, c * PANEL + j); }}"
        )
        last.append(f"  let key{n} = bitcast<u32>(size(x{n}));")
        last.append(f"  if (key{n} > best) {{ best = key{n}; row = r{n}; }}")
        last.append("}")
    parts = {"load": load, "four": four, "one": one, "last": last}
    return {name: "\n".join(lines) for name, lines in parts.items()}


@cache
def _columns(each: int) -> dict[str, str]:
    """Return the regions of a panel's columns, unrolled over the elements of an invocation."""
    load: list[str] = []
    show: list[str] = []
    step: list[str] = []
    finish: list[str] = []
    for n in range(each):
        load.append(f"let row{n} = row + {n}u * ABREAST;")
        load.append(f"let at{n} = select(others, base, row{n} < PANEL) + row{n} * length;")
        load.append(f"let is_block{n} = row{n} < PANEL;")
        load.append(
            f"let is_own{n} = column < width && select(row{n} < end, row{n} < width, is_block{n});"
        )
        load.append(f"var x{n} = Number();")
        load.append(f"if (is_own{n}) {{ x{n} = b0[at{n}]; }}")
        show.append(f"shown[turn + row{n}] = x{n};")
        step.append(f"x{n} = minus_product(x{n}, shown[turn + row{n}], factor);")
        finish.append(f"if (is_own{n} && (!is_block{n} || first == 0u)) {{")
        finish.append(f"  if (row{n} == column) {{ x{n} = real(root); }}")
        finish.append(f"  else {{ x{n} = divided_by_real(x{n}, root); }}")
        finish.append(f"  b1[at{n}] = x{n};")
        finish.append("}")
    parts = {"load": load, "show": show, "step": step, "finish": finish}
    return {name: "\n".join(lines) for name, lines in parts.items()}


def _unrolled() -> dict[str, str]:
    """Return the regions of a product's tile, unrolled: 4 rows and 4 columns per invocation."""
    spots = [(r, c) for r in range(4) for c in range(4)]
    step = [f"let a{n} = lefts[(i + {n}u * SIDE) * PITCH + k];" for n in range(4)]
    step += [f"let b{n} = rights[(j + {n}u * SIDE) * PITCH + k];" for n in range(4)]
    step += [f"s{r}{c} = plus_product(s{r}{c}, a{r}, b{c});" for r, c in spots]
    finish = [
        f"if (row + i + {r}u * SIDE < rows && column + j + {c}u * SIDE < columns) "
        f"{{ put(c + (column + j + {c}u * SIDE) * params[3].z + row + i + {r}u * SIDE, s{r}{c}); }}"
        for r, c in spots
    ]
    start = [f"var s{r}{c} = Number();" for r, c in spots]
    return {
        name: "\n".join(x) for name, x in (("start", start), ("step", step), ("finish", finish))
    }


_TILE = _unrolled()


def lower_factorization(kernel: Kernel, context: Context) -> list[Dispatch]:
    (stage,) = kernel.stages
    assert isinstance(stage, Factorization)
    steps = _Steps(stage, kernel.label, context)
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
