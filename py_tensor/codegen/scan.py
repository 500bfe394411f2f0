"""Scans: `cumsum` and similar ops.

The method is reduce-then-scan (Merrill and Grimshaw, Parallel scan for stream architectures, 2009).
Rows that are long, or too few to fill the device, are cut into slices. The first pass folds each
slice. The second scans these results, using this same module. The third scans each slice, starting
from the fold of all earlier slices. A short row takes one pass.

Sums are computed in nested parts, as in a reduction, so that no chain of additions is long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import XYZW, Binding
from py_tensor.codegen.emit import load_mode, text_for, wrapped
from py_tensor.codegen.map import bind, gathered, interface, store
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context, arrange, fold_slices
from py_tensor.codegen.reduce_wgsl import (
    CHAIN,
    SplitBody,
    indent,
    kept_space,
    load_modes,
    reduced_space,
)
from py_tensor.codegen.walk import Walk
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, ReduceStage, Scanned

ROUNDS = 4  # loads of each lane in a tile: the four parts of a vector


def lower_scan(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a scan: one, or those of all three passes over slices."""
    scanned = kernel.stages[0]
    assert isinstance(scanned, Scanned)
    stage = ReduceStage(scanned.element, (scanned.fold,))
    walk = _arrange(kernel, stage, context.profile)
    if walk.slices == 1:
        return [_dispatch(kernel, scanned, walk, None, context)]
    length = walk.slice_steps * (walk.width if walk.dims.by_rows else 1)
    folded = Kernel(kernel.kept, kernel.reduced, (stage,), Body(), (), kernel.label)
    first, sums = fold_slices(folded, length, context)
    slot = context.temporary(size_of(kernel.kept) * walk.slices * sums.dtype.itemsize)
    over_slices = replace(
        kernel,
        reduced=(walk.slices,),
        stages=(Scanned(Body.of([sums]), Accumulator(scanned.fold.op, 0, sums.dtype)),),
        spread_outputs=(Output(slot, 0, sums.dtype, sums.access, whole=False),),
    )
    return [
        first,
        *lower_scan(over_slices, context),
        _dispatch(kernel, scanned, walk, slot, context),
    ]


def _arrange(kernel: Kernel, stage: ReduceStage, profile: AdapterProfile) -> Walk:
    """Return the walk of the last pass."""
    whole = arrange(replace(kernel, stages=(stage,)), [stage.element], profile)
    lanes = 1 if whole.lanes_apart else profile.scan_lanes(whole.steps)
    slices = profile.scan_slices(whole.rows, whole.steps, lanes)
    unit = ROUNDS * lanes if lanes > 1 else 4  # whole tiles, and whole vectors
    return replace(whole, lanes=lanes).cut(-(-whole.steps // (slices * unit)) * unit)


def _dispatch(
    kernel: Kernel, scanned: Scanned, walk: Walk, carry: int | None, context: Context
) -> Dispatch:
    """Return one scan pass; `carry` is the buffer of scanned results of slices, if sliced."""
    if carry is None:  # a placeholder, so that one program serves whole rows and slices
        carry = context.temporary(4 * scanned.fold.dtype.itemsize)
    form = _Tiles if walk.lanes > 1 else _Serial
    writer = form(kernel, scanned, walk, carry)
    regions = writer.regions()
    return Dispatch(
        context.programs.get(
            writer.template, kernel.label, writer.bindings, regions, writer.variant
        ),
        tuple(b.slot for b in writer.bindings),
        tuple(writer.params.values),
        tuple(writer.params.consts),
        writer.groups,
        4,
        size_of(kernel.kept + kernel.reduced) * (scanned.element.cost + 2),
        kernel.operations(),
        kernel.traffic(),
    )


@dataclass(slots=True)
class _Steps:
    """The statements that load and store one point of the pass, or `width` neighbours."""

    before: list[str]  # run once in each invocation
    load: list[str]  # declare value0, value1, ... at `j`
    store: list[str]  # store result0, result1, ...


class _Writer:
    """The common part of both forms: bindings, parameters, functions, loads and stores."""

    template = ""

    def __init__(self, kernel: Kernel, scanned: Scanned, walk: Walk, carry: int) -> None:
        self.walk = walk
        self.size = size_of(kernel.kept)
        self.output: Output = kernel.spread_outputs[0]
        self.fold = scanned.fold
        self.kind = str(self.fold.dtype.wgsl)
        self.params = Params()
        for value in (walk.rows, walk.slices, walk.slice_steps, walk.steps, 0):
            self.params.add(value)
        modes = load_modes(scanned.element, walk.dims.space_strides, walk.width)
        strides = walk.dims.space_strides(self.output.access.strides)
        vector = load_mode(strides, self.output.access.offset, walk.width) == "v"
        self.bindings = bind(
            [*((x, m == "v") for x, m in modes.items()), *gathered(scanned.element)],
            [(self.output, vector)],
        )
        self.carry = Binding(carry, self.fold.dtype, walk.columns == 4, writable=False)
        self.bindings.append(self.carry)
        self.element = SplitBody(
            walk,
            scanned.element,
            {self.fold.value},
            self.params,
            self.bindings,
            "",
            lambda number, lane: "",
        )

    def interface(self, *more: str) -> str:
        kind = self.kind
        texts = text_for(self.fold.op.combine, self.fold.dtype)
        combine = texts[0].format(a0="x", b0="y", t=kind)
        return interface(
            self.bindings,
            self.params,
            {"WORKGROUP": self.walk.workgroup},
            f"fn combine(x: {kind}, y: {kind}) -> {kind} {{ return {combine}; }}",
            *self.element.functions("element", [self.element.value(self.fold.value)], kind),
            *more,
        )

    def start(self) -> tuple[list[str], _Steps]:
        """Return statements that find the row, its start values acc0, acc1, ..., and the steps."""
        columns = self.walk.columns
        split, names = kept_space(self.params, self.walk)
        (identity,) = self.fold.op.identity(self.fold.dtype)
        none = self.params.value(identity, self.fold.dtype)
        lines = [*split, f"let none = {none};"]
        lines += [f"var acc{n} = none;" for n in range(columns)]
        size = self.params.add(self.size // columns)
        lines += [
            "if (slice > 0u) {",
            f"  let carried = b{len(self.bindings) - 1}[(slice - 1u) * {size} + row];",
        ]
        fields = [f"carried.{c}" for c in XYZW] if self.carry.vector else ["carried"]
        lines += [f"  acc{n} = {x};" for n, x in enumerate(fields)]
        lines.append("}")
        steps = self._steps(names)
        return [*lines, *steps.before], steps

    def _steps(self, names: list[str]) -> _Steps:
        inner, space = reduced_space(self.params, self.walk, names)
        before = self.element.before(names)
        load = self.element.arguments(space, "a").call("element", "value")
        stores = store(
            self.params,
            space,
            [self.output],
            self.bindings,
            self.walk.width,
            lambda n, lane: wrapped(self.fold.dtype, f"result{lane}"),
        )
        return _Steps([*before, *space.hoisted], [*inner, *load], [*inner, *stores])


class _Serial(_Writer):
    """One invocation per slice: `shaders/kernels/scan_serial.wgsl`."""

    template = "scan_serial"

    @property
    def variant(self) -> str:
        return f"{self.walk.variant}, one by one"

    @property
    def groups(self) -> int:
        return -(-self.walk.rows * self.walk.slices // self.walk.workgroup)

    def regions(self) -> dict[str, str]:
        start, steps = self.start()
        scan = self._levels(steps)
        return {
            "interface": self.interface(),
            "start": indent(start, 1),
            "scan": indent(scan, 1),
        }

    def _levels(self, steps: _Steps) -> list[str]:
        """Scan parts of `CHAIN` points; `CHAIN` parts make a larger part."""
        columns = range(self.walk.columns)
        chain = self._chain(steps)
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

    def _chain(self, steps: _Steps) -> list[str]:
        """Scan the points up to `stop`, loading several before they are used."""
        walk, lines, unroll = self.walk, list[str](), self.walk.unroll
        if unroll > 1:
            lines.append(f"for (; at + {unroll - 1}u < stop; at += {unroll}u) {{")
            for u in range(unroll):
                lines += [f"  var e{u}_{n} = none;" for n in range(walk.width)]
                kept = [f"e{u}_{n} = value{n};" for n in range(walk.width)]
                lines += self._at(f"at + {u}u", [*steps.load, *kept])
            for u in range(unroll):
                kept = [f"let value{n} = e{u}_{n};" for n in range(walk.width)]
                lines += self._at(f"at + {u}u", [*kept, *self._folded(), *steps.store])
            lines.append("}")
        lines += ["for (; at < stop; at++) {"]
        return [*lines, *self._at("at", [*steps.load, *self._folded(), *steps.store]), "}"]

    def _at(self, j: str, lines: list[str]) -> list[str]:
        return ["  {", f"    let j = {j};", *(f"    {line}" for line in lines), "  }"]

    def _folded(self) -> list[str]:
        """Fold in the values; neighbours belong to the same row or to different rows."""
        lines: list[str] = []
        for n in range(self.walk.width):
            row = 0 if self.walk.dims.by_rows else n
            lines.append(f"part{row} = combine(part{row}, value{n});")
            lines.append(f"let result{n} = combine(sofar{row}, part{row});")
        return lines


class _Tiles(_Writer):
    """Several lanes per slice: `shaders/kernels/scan_tiles.wgsl`."""

    template = "scan_tiles"

    @property
    def variant(self) -> str:
        return f"{self.walk.variant}, in tiles"

    @property
    def groups(self) -> int:
        return self.walk.groups

    def regions(self) -> dict[str, str]:
        walk = self.walk
        start, steps = self.start()
        shared = f"var<workgroup> shared_sums: array<Four, {2 * walk.workgroup}>;"
        if self.fold.dtype.is_wide:
            fields = ", ".join(f"{c}: {self.kind}" for c in XYZW)
            shared = f"struct Four {{ {fields} }}\n{shared}"
        else:
            shared = f"alias Four = vec4<{self.kind}>;\n{shared}"
        lanes = self.params.add(walk.lanes)
        row_at = self.params.add(walk.lanes.bit_length() - 1)
        return {
            "interface": self.interface(shared),
            "lanes": indent([f"let lanes = {lanes};", f"let row_at = {row_at};"], 1),
            "start": indent(start, 1),
            "load": indent(self._load(steps), 2),
            "share": indent(self._share(), 2),
            "place": indent(self._place(), 2),
            "store": indent(self._store(steps), 2),
        }

    def _at(self, k: int, lines: list[str]) -> list[str]:
        """Return statements for the k-th load of a lane, if it lies in the slice."""
        return [
            "{",
            f"  let j = tile + lane + {k}u * lanes;",
            "  if (inside && j < last) {",
            *(f"    {line}" for line in lines),
            "  }",
            "}",
        ]

    def _load(self, steps: _Steps) -> list[str]:
        """Load neighbours and scan them; x1_2 belongs to the third element of the second load."""
        lines: list[str] = []
        for k in range(ROUNDS):
            lines += [f"var x{k}_{n} = none;" for n in range(self.walk.width)]
            kept = [f"x{k}_{n} = value{n};" for n in range(self.walk.width)]
            lines += self._at(k, [*steps.load, *kept])
        for k in range(ROUNDS):
            for n in range(1, self.walk.width):
                lines.append(f"x{k}_{n} = combine(x{k}_{n - 1}, x{k}_{n});")
        return lines

    def _share(self) -> list[str]:
        """Scan over the lanes, with steps 1, 2, 4, ...

        Hillis and Steele, Data parallel algorithms, 1986.
        """
        size = 2 * self.walk.workgroup
        last = self.walk.width - 1
        each = ", ".join(f"combine(far.{c}, sums.{c})" for c in XYZW)
        other = f"shared_sums[(invocation + half + {size}u - apart) % {size}u]"
        return [
            f"var sums = Four({', '.join(f'x{k}_{last}' for k in range(ROUNDS))});",
            "shared_sums[invocation] = sums;",
            "workgroupBarrier();",
            "var half = 0u;",  # the start of the newest sums in `shared_sums`
            "for (var apart = 1u; apart < lanes; apart *= 2u) {",
            "  if (lane >= apart) {",
            f"    let far = {other};",
            f"    sums = Four({each});",
            "  }",
            "  half = WORKGROUP - half;",
            "  shared_sums[invocation + half] = sums;",
            "  workgroupBarrier();",
            "}",
            "var before = Four(none, none, none, none);",
            "if (lane >= 1u) { before = shared_sums[invocation + half - 1u]; }",
            "let all = shared_sums[invocation - lane + half + lanes - 1u];",
        ]

    def _place(self) -> list[str]:
        """Compute the start value of each of the four loads, and of the next tile."""
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

    def _store(self, steps: _Steps) -> list[str]:
        lines: list[str] = []
        for k in range(ROUNDS):
            combined = [
                f"let result{n} = combine(prefix{k}, x{k}_{n});" for n in range(self.walk.width)
            ]
            lines += self._at(k, [*combined, *steps.store])
        return lines
