"""Running folds: `cumsum` and the like.

Reduce, then scan (KERNELS.md, section 5.3; Merrill and Grimshaw, Parallel scan for stream
architectures, 2009): rows that are long, or too few to fill the device, are cut into slices. One
pass folds each slice, a second, by this same module, makes running folds of those results, and a
third goes along the slices again, each from what those before it fold to. A short row takes one
pass.

Sums go in parts and parts of parts, as in a reduction: no chain of additions is long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from py_tensor.codegen.emit import BodyCode, Space
from py_tensor.codegen.map import bind, interface, store
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Dispatch, Params, from_bits, to_bits
from py_tensor.codegen.reduce import Context, arrange, fold_slices
from py_tensor.codegen.reduce_wgsl import (
    CHAIN,
    Pass,
    SplitBody,
    indent,
    kept_space,
    load_modes,
    reduced_space,
)
from py_tensor.graph.kernel import Access, Body, Fold, Kernel, Load, Output, Scanned, Stage
from py_tensor.shapes import row_major, size_of

ROUNDS = 4  # loads of each lane in a tile: the four parts of a vector


def lower_scan(kernel: Kernel, context: Context) -> list[Dispatch]:
    """The dispatches of a kernel that scans: one, or those that find where slices go on from."""
    p = _arrange(kernel, context.profile)
    if p.slices == 1:
        return [_dispatch(kernel, p, None, context)]
    stage = _stage(kernel)
    length = p.slice_steps * (p.width if p.by_rows else 1)
    folded = Kernel(kernel.kept, kernel.reduced, (stage,), Body(), (), kernel.label)
    first, sums = fold_slices(folded, length, context)
    slot = context.temporary(size_of(kernel.kept) * p.slices * sums.dtype.stored_itemsize)
    element = Scanned(Body.of([sums]), Fold(stage.folds[0].op, 0, sums.dtype))
    output = replace(kernel.spread_outputs[0], slot=slot, access=sums.access, whole=False)
    over_slices = replace(kernel, reduced=(p.slices,), stages=(element,), spread_outputs=(output,))
    p.slice_stride = size_of(kernel.kept)
    carry = Load(slot, sums.dtype, Access(row_major(kernel.kept), 0))
    return [first, *lower_scan(over_slices, context), _dispatch(kernel, p, carry, context)]


def _stage(kernel: Kernel) -> Stage:
    scanned = kernel.stages[0]
    assert isinstance(scanned, Scanned)
    return Stage(scanned.element, (scanned.fold,))


def _arrange(kernel: Kernel, profile: Profile) -> Pass:
    """How the last pass walks its space."""
    stage = _stage(kernel)
    p = arrange(replace(kernel, stages=(stage,)), [stage.element], profile)
    p.lanes = profile.scan_lanes(p.steps) if p.by_rows else 1
    p.rows_per_group = profile.workgroup // p.lanes
    slices = profile.scan_slices(p.rows, p.steps, p.lanes)
    unit = ROUNDS * p.lanes if p.lanes > 1 else 4  # whole tiles, and whole vectors
    p.slice_steps = -(-p.steps // (slices * unit)) * unit
    p.slices = -(-p.steps // p.slice_steps)
    return p


def _dispatch(kernel: Kernel, p: Pass, carry: Load | None, context: Context) -> Dispatch:
    """One pass; with slices, `carry` is what the points up to the end of a slice fold to."""
    writer = _Tiles(kernel, p, carry) if p.lanes > 1 else _Serial(kernel, p, carry)
    regions = writer.regions()
    per_group = p.rows_per_group if p.lanes > 1 else p.workgroup
    count = (
        -(-p.rows // per_group) * p.slices if p.lanes > 1 else -(-p.rows * p.slices // per_group)
    )
    return Dispatch(
        context.programs.get(writer.template, kernel.label, writer.bindings, regions),
        tuple(b.slot for b in writer.bindings),
        tuple(writer.params.values),
        tuple(writer.params.consts),
        count,
        4,
        size_of(kernel.kept + kernel.reduced) * (p.element.cost + 2),
        kernel.operations(),
        kernel.traffic(),
    )


@dataclass(slots=True)
class _Walk:
    """The WGSL of one point of the pass, or of `width` neighbours: loaded, and stored."""

    before: list[str]  # once for each invocation
    load: list[str]  # declares value0, value1, ... at `j`
    store: list[str]  # of result0, result1, ...


class _Writer:
    """What both forms share: bindings, parameters, functions, and what is done at each point."""

    template = ""

    def __init__(self, kernel: Kernel, p: Pass, carry: Load | None) -> None:
        self.p = p
        self.output: Output = kernel.spread_outputs[0]
        (self.fold,) = p.stage.folds
        self.kind = str(self.fold.dtype.wgsl)
        self.params = Params()
        for value in (p.rows, p.slices, p.slice_steps, p.steps, 0):
            self.params.add(value)
        self.carry = Body() if carry is None else Body.of([carry])
        modes = load_modes(p.element, p.space_strides, p.width)
        carry_modes = load_modes(self.carry, p.result_strides, p.columns)
        strides = p.space_strides(self.output.access.strides)
        aligned = load_modes(
            Body.of([Load(0, self.output.dtype, self.output.access)]), lambda _: strides, 4
        )
        vector = p.width == 4 and "v" in aligned.values()
        self.bindings = bind(
            [(x, m == "v") for x, m in (*modes.items(), *carry_modes.items())],
            [(self.output, vector)],
        )
        self.element = SplitBody(
            p, self.params, self.bindings, {self.fold.value}, "", lambda number, lane: ""
        )
        self.carried = BodyCode(self.carry, self.bindings, {**carry_modes}, p.row_dim)

    def interface(self, constants: dict[str, int], *more: str) -> str:
        combine = self.combined("x", "y")
        kind = self.kind
        return interface(
            self.bindings,
            self.params,
            {"WORKGROUP": self.p.workgroup, **constants},
            f"fn combine(x: {kind}, y: {kind}) -> {kind} {{ return {combine}; }}",
            *self.element.functions("element", [self.element.value(self.fold.value)], kind),
            *more,
        )

    def combined(self, x: str, y: str) -> str:
        """The fold of two values, or of two vectors of values."""
        texts = self.fold.op.combine.get(self.kind) or self.fold.op.combine["*"]
        return texts[0].format(a0=x, b0=y)

    def start(self) -> tuple[list[str], _Walk]:
        """The row, what its slice goes on from as acc0, acc1, ..., and the walk along it."""
        p = self.p
        split, names = kept_space(self.params, p)
        (identity,) = self.fold.op.identity(self.fold.dtype)
        none = from_bits(self.params.add(to_bits(identity, self.fold.dtype)), self.fold.dtype)
        lines = [*split, f"let none = {none};"]
        lines += [f"var acc{n} = none;" for n in range(p.columns)]
        if self.carry.instructions:
            space = Space(["(slice - 1u)", *names], p.result_strides, p.columns)
            arguments = self.carried.arguments(self.params, space, p.columns, "c")
            given = [f"acc{n} = {lane[0]};" for n, lane in enumerate(arguments.lanes)]
            lines += [
                "if (slice > 0u) {",
                *(f"  {x}" for x in (*arguments.statements, *given)),
                "}",
            ]
        walk = self._walk(names)
        return [*lines, *walk.before], walk

    def _walk(self, names: list[str]) -> _Walk:
        p = self.p
        inner, space = reduced_space(self.params, p, names)
        before = self.element.before(names)
        arguments = self.element.arguments(space, "a")
        calls = [
            f"let value{lane} = element({', '.join(args)});"
            for lane, args in enumerate(arguments.lanes)
        ]
        stores = store(
            self.params,
            space,
            [self.output],
            self.bindings,
            p.width,
            lambda n, lane: f"result{lane}",
        )
        load = [*inner, *arguments.statements, *calls]
        return _Walk([*before, *space.hoisted], load, [*inner, *stores])


class _Serial(_Writer):
    """An invocation to each slice: `shaders/kernels/scan_serial.wgsl`."""

    template = "scan_serial"

    def regions(self) -> dict[str, str]:
        start, walk = self.start()
        scan = self._levels(walk)
        return {
            "interface": self.interface({}),
            "start": indent(start, 1),
            "scan": indent(scan, 1),
        }

    def _levels(self, walk: _Walk) -> list[str]:
        """Parts of `CHAIN` points, `CHAIN` of them to a larger part, and so on."""
        columns = range(self.p.columns)
        chain = self._chain(walk)
        inner = [
            f"let stop = min(end, at + {CHAIN}u);",
            *(f"let sofar{n} = combine(acc{n}, large{n});" for n in columns),
            *(f"var part{n} = none;" for n in columns),
            *chain,
            *(f"large{n} = combine(large{n}, part{n});" for n in columns),
        ]
        outer = [
            f"let end = min(last, at + {CHAIN * CHAIN}u);",
            *(f"var large{n} = none;" for n in columns),
            "while (at < end) {",
            *(f"  {line}" for line in inner),
            "}",
            *(f"acc{n} = combine(acc{n}, large{n});" for n in columns),
        ]
        return ["while (at < last) {", *(f"  {line}" for line in outer), "}"]

    def _chain(self, walk: _Walk) -> list[str]:
        """The points up to `stop`, some loaded ahead of their use."""
        p, lines, unroll = self.p, list[str](), self.p.unroll
        if unroll > 1:
            lines.append(f"for (; at + {unroll - 1}u < stop; at += {unroll}u) {{")
            for u in range(unroll):
                lines += [f"  var e{u}_{n} = none;" for n in range(p.width)]
                given = [f"e{u}_{n} = value{n};" for n in range(p.width)]
                lines += self._at(f"at + {u}u", [*walk.load, *given])
            for u in range(unroll):
                given = [f"let value{n} = e{u}_{n};" for n in range(p.width)]
                lines += self._at(f"at + {u}u", [*given, *self._folded(), *walk.store])
            lines.append("}")
        lines += ["for (; at < stop; at++) {"]
        return [*lines, *self._at("at", [*walk.load, *self._folded(), *walk.store]), "}"]

    def _at(self, j: str, lines: list[str]) -> list[str]:
        return ["  {", f"    let j = {j};", *(f"    {line}" for line in lines), "  }"]

    def _folded(self) -> list[str]:
        """Fold the values in; neighbours lie along the row, or belong to rows of their own."""
        lines: list[str] = []
        for n in range(self.p.width):
            row = 0 if self.p.by_rows else n
            lines.append(f"part{row} = combine(part{row}, value{n});")
            lines.append(f"let result{n} = combine(sofar{row}, part{row});")
        return lines


class _Tiles(_Writer):
    """A workgroup to each slice: `shaders/kernels/scan_tiles.wgsl`."""

    template = "scan_tiles"

    def regions(self) -> dict[str, str]:
        p = self.p
        start, walk = self.start()
        shared = f"var<workgroup> shared_sums: array<vec4<{self.kind}>, {2 * p.workgroup}>;"
        constants = {"LANES": p.lanes, "ROWS": p.rows_per_group}
        return {
            "interface": self.interface(constants, shared),
            "start": indent(start, 1),
            "load": indent(self._load(walk), 2),
            "share": indent(self._share(), 2),
            "place": indent(self._place(), 2),
            "store": indent(self._store(walk), 2),
        }

    def _at(self, k: int, lines: list[str]) -> list[str]:
        """The k-th load of a lane's, if it lies in the slice."""
        return [
            "{",
            f"  let j = tile + lane + {k * self.p.lanes}u;",
            "  if (inside && j < last) {",
            *(f"    {line}" for line in lines),
            "  }",
            "}",
        ]

    def _load(self, walk: _Walk) -> list[str]:
        """Load neighbours, and fold them: x1_2 is the third element of the second load."""
        lines: list[str] = []
        for k in range(ROUNDS):
            lines += [f"var x{k}_{n} = none;" for n in range(self.p.width)]
            given = [f"x{k}_{n} = value{n};" for n in range(self.p.width)]
            lines += self._at(k, [*walk.load, *given])
        for k in range(ROUNDS):
            for n in range(1, self.p.width):
                lines.append(f"x{k}_{n} = combine(x{k}_{n - 1}, x{k}_{n});")
        return lines

    def _share(self) -> list[str]:
        """Fold over the lanes, 1, 2, 4, ... apart (Hillis and Steele, Data parallel algorithms)."""
        p, size = self.p, 2 * self.p.workgroup
        last = p.width - 1
        lines = [
            f"var sums = vec4<{self.kind}>({', '.join(f'x{k}_{last}' for k in range(ROUNDS))});",
            "shared_sums[invocation] = sums;",
            "workgroupBarrier();",
        ]
        apart, half = 1, 0  # where in the memory the newest sums begin
        while apart < p.lanes:
            other = f"shared_sums[(invocation + {half + size - apart}u) % {size}u]"
            half = p.workgroup - half
            lines += [
                f"if (lane >= {apart}u) {{ sums = {self.combined(other, 'sums')}; }}",
                f"shared_sums[(invocation + {half}u) % {size}u] = sums;",
                "workgroupBarrier();",
            ]
            apart *= 2
        left = f"shared_sums[(invocation + {half + size - 1}u) % {size}u]"
        return [
            *lines,
            f"var before = vec4<{self.kind}>(none);",
            f"if (lane >= 1u) {{ before = {left}; }}",
            f"let all = shared_sums[(invocation - lane + {half + p.lanes - 1}u) % {size}u];",
        ]

    def _place(self) -> list[str]:
        """What each of the four loads goes on from, and the next tile."""
        return [
            "let round1 = all.x;",
            "let round2 = combine(round1, all.y);",
            "let round3 = combine(round2, all.z);",
            "let prefix0 = combine(acc0, before.x);",
            "let prefix1 = combine(acc0, combine(round1, before.y));",
            "let prefix2 = combine(acc0, combine(round2, before.z));",
            "let prefix3 = combine(acc0, combine(round3, before.w));",
            "acc0 = combine(acc0, combine(round3, all.w));",
        ]

    def _store(self, walk: _Walk) -> list[str]:
        lines: list[str] = []
        for k in range(ROUNDS):
            given = [f"let result{n} = combine(prefix{k}, x{k}_{n});" for n in range(self.p.width)]
            lines += self._at(k, [*given, *walk.store])
        return lines
