"""Scans: `cumsum` and similar ops.

The method is reduce-then-scan (Merrill and Grimshaw, Parallel scan for stream architectures, 2009).
Rows that are long, or too few to fill the device, are cut into slices. The first pass folds each
slice. The second scans these results, using this same module. The third scans each slice, starting
from the fold of all earlier slices. A short row takes one pass.

Sums are computed in nested parts, as in a reduction, so that no chain of additions is long.
"""

from __future__ import annotations

from dataclasses import replace

from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import XYZW, Binding
from py_tensor.codegen.emit import mode_of, text_for, wrapped
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce import arrange, fold_slices
from py_tensor.codegen.reduce_wgsl import CHAIN, SplitBody, kept_space, reduced_space
from py_tensor.codegen.walk import Walk
from py_tensor.codegen.writer import Context, Writer, indent, stage_of
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, ReduceStage, Scanned

ROUNDS = 4  # loads of each lane in a tile: the four parts of a vector


def lower_scan(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a scan: one, or those of all three passes over slices."""
    scanned = stage_of(kernel, Scanned)
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
    writer = form(kernel, scanned, walk, carry, context)
    return writer.dispatch(
        writer.template,
        f"{walk.variant}, {writer.order}",
        writer.groups,
        work=size_of(kernel.kept + kernel.reduced) * (scanned.element.cost + 2),
        regions=writer.regions(),
    )


class _Writer(Writer):
    """The common part of both forms: bindings, parameters, functions, loads and stores.

    Attributes
    ----------
    load, save : list of str
        Statements that declare value0, value1, ... at `j`, and that store result0, result1, ...
    """

    template = ""
    order = ""  # of the elements, for the variant

    def __init__(
        self, kernel: Kernel, scanned: Scanned, walk: Walk, carry: int, context: Context
    ) -> None:
        sizes = walk.rows, walk.slices, walk.slice_steps, walk.steps
        super().__init__(kernel, context, *sizes)
        self.walk = walk
        self.output: Output = kernel.spread_outputs[0]
        self.fold = scanned.fold
        self.kind = str(self.fold.dtype.wgsl)
        self.constants["WORKGROUP"] = walk.workgroup
        strides = walk.dims.space_strides
        vector = mode_of(self.output, strides, walk.width) == "v"
        self.bind_bodies([(scanned.element, strides, walk.width)], [(self.output, vector)])
        self.carry = Binding(carry, self.fold.dtype, walk.columns == 4, writable=False)
        self.bindings.append(self.carry)
        self.element_body = SplitBody(self, walk, scanned.element, {self.fold.value})
        self.load: list[str] = []
        self.save: list[str] = []

    def regions(self) -> dict[str, str]:
        """Return the regions of the template; complete the parameters and the code."""
        raise NotImplementedError

    @property
    def groups(self) -> int:
        return self.walk.groups

    def start(self) -> list[str]:
        """Return statements that find the row and its start values acc0, acc1, ...

        Also write the functions that fold and that compute an element, and `load` and `save`.
        """
        columns, kind, body = self.walk.columns, self.kind, self.element_body
        split, names = kept_space(self.params, self.walk)
        (identity,) = self.fold.op.identity(self.fold.dtype)
        none = self.params.value(identity, self.fold.dtype)
        lines = [*split, f"let none = {none};"]
        lines += [f"var acc{n} = none;" for n in range(columns)]
        size = self.params.add(size_of(self.kernel.kept) // columns)
        carry = f"b{len(self.bindings) - 1}"
        lines += ["if (slice > 0u) {", f"  let carried = {carry}[(slice - 1u) * {size} + row];"]
        fields = [f"carried.{c}" for c in XYZW] if self.carry.vector else ["carried"]
        lines += [*(f"  acc{n} = {x};" for n, x in enumerate(fields)), "}"]
        inner, space = reduced_space(self.params, self.walk, names)
        lines += body.before(names)
        self.load = [*inner, *body.arguments(space, "a").call("element", "value")]

        def result(number: int, lane: int) -> str:
            return wrapped(self.fold.dtype, f"result{lane}")

        self.save = [*inner, *self.store(space, [self.output], self.walk.width, result)]
        texts = text_for(self.fold.op.combine, self.fold.dtype)
        combine = texts[0].format(a0="x", b0="y", t=kind)
        self.code.append(f"fn combine(x: {kind}, y: {kind}) -> {kind} {{ return {combine}; }}")
        self.code += body.functions("element", [body.value(self.fold.value)], kind)
        return [*lines, *space.hoisted]


class _Serial(_Writer):
    """One invocation per slice: `shaders/kernels/scan_serial.wgsl`."""

    template = "scan_serial"
    order = "one by one"

    @property
    def groups(self) -> int:
        return -(-self.walk.rows * self.walk.slices // self.walk.workgroup)

    def regions(self) -> dict[str, str]:
        start = self.start()
        return {"start": indent(start, 1), "scan": indent(self._levels(), 1)}

    def _levels(self) -> list[str]:
        """Scan parts of `CHAIN` points; `CHAIN` parts make a larger part."""
        columns = range(self.walk.columns)
        chain = self._chain()
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

    def _chain(self) -> list[str]:
        """Scan the points up to `stop`, loading several before they are used."""
        walk, lines, unroll = self.walk, list[str](), self.walk.unroll
        if unroll > 1:
            lines.append(f"for (; at + {unroll - 1}u < stop; at += {unroll}u) {{")
            for u in range(unroll):
                lines += [f"  var e{u}_{n} = none;" for n in range(walk.width)]
                kept = [f"e{u}_{n} = value{n};" for n in range(walk.width)]
                lines += self._at(f"at + {u}u", [*self.load, *kept])
            for u in range(unroll):
                kept = [f"let value{n} = e{u}_{n};" for n in range(walk.width)]
                lines += self._at(f"at + {u}u", [*kept, *self._folded(), *self.save])
            lines.append("}")
        lines += ["for (; at < stop; at++) {"]
        return [*lines, *self._at("at", [*self.load, *self._folded(), *self.save]), "}"]

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
    order = "in tiles"

    def regions(self) -> dict[str, str]:
        self.params.extend(self.walk.lanes, self.walk.lanes.bit_length() - 1)
        start = self.start()
        fields = ", ".join(f"{c}: {self.kind}" for c in XYZW)
        is_vector = not self.fold.dtype.is_wide
        four = f"alias Four = vec4<{self.kind}>;" if is_vector else f"struct Four {{ {fields} }}"
        self.code.append(four)
        return {
            "start": indent(start, 1),
            "load": indent(self._load(), 2),
            "store": indent(self._store(), 2),
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

    def _load(self) -> list[str]:
        """Load neighbours and scan them; x1_2 belongs to the third element of the second load."""
        lines: list[str] = []
        for k in range(ROUNDS):
            lines += [f"var x{k}_{n} = none;" for n in range(self.walk.width)]
            kept = [f"x{k}_{n} = value{n};" for n in range(self.walk.width)]
            lines += self._at(k, [*self.load, *kept])
        for k in range(ROUNDS):
            for n in range(1, self.walk.width):
                lines.append(f"x{k}_{n} = combine(x{k}_{n - 1}, x{k}_{n});")
        last = [f"x{k}_{self.walk.width - 1}" for k in range(ROUNDS)]
        return [*lines, f"var sums = Four({', '.join(last)});"]

    def _store(self) -> list[str]:
        lines: list[str] = []
        for k in range(ROUNDS):
            combined = [
                f"let result{n} = combine(prefix{k}, x{k}_{n});" for n in range(self.walk.width)
            ]
            lines += self._at(k, [*combined, *self.save])
        return lines
