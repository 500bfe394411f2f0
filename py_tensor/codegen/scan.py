"""Scans: `cumsum` and similar ops.

The method is reduce-then-scan (Merrill and Grimshaw, Parallel scan for stream architectures, 2009).
Rows that are long, or too few to fill the device, are cut into slices. The first pass folds each
slice. The second scans these results, using this same module. The third scans each slice, starting
from the fold of all earlier slices. A short row takes one pass.

Sums are computed in nested parts, as in a reduction, so that no chain of additions is long.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import XYZW, Binding
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce import CHAIN, SplitBody, WalkWriter, fold_slices
from py_tensor.codegen.walk import Walk, arrange, mode_of
from py_tensor.codegen.writer import Context, braced, stage_of, text_for, wrapped
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, ReduceStage, Scanned

ROUNDS = 4  # loads of each lane in a tile: the four parts of a vector


def lower_scan(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a scan: one, or those of all three passes over slices."""
    scanned = stage_of(kernel, Scanned)
    stage = ReduceStage(scanned.element, (scanned.fold,))
    walk = _arrange(kernel, stage, context.profile)
    if walk.slices == 1:
        # A placeholder for the results of slices, so that one program serves whole rows, too.
        carry = context.temporary(4 * scanned.fold.dtype.itemsize)
        return [_dispatch(kernel, walk, carry, context)]
    length = walk.slice_steps * (walk.width if walk.dims.by_rows else 1)
    folded = Kernel(kernel.kept, kernel.reduced, (stage,), Body(), (), kernel.label)
    first, sums = fold_slices(folded, length, context)
    slot = context.temporary(size_of(kernel.kept) * walk.slices * sums.dtype.itemsize)
    stages = (Scanned(Body.of([sums]), Accumulator(scanned.fold.op, 0, sums.dtype)),)
    outputs = (Output(slot, 0, sums.dtype, sums.access, whole=False),)
    over_slices = replace(kernel, reduced=(walk.slices,), stages=stages, spread_outputs=outputs)
    scans = lower_scan(over_slices, context)
    return [first, *scans, _dispatch(kernel, walk, slot, context)]


def _arrange(kernel: Kernel, stage: ReduceStage, profile: AdapterProfile) -> Walk:
    """Return the walk of the last pass."""
    whole = arrange(replace(kernel, stages=(stage,)), [stage.element], profile)
    lanes = 1 if whole.lanes_apart else profile.scan_lanes(whole.steps)
    slices = profile.scan_slices(whole.rows, whole.steps, lanes)
    unit = ROUNDS * lanes if lanes > 1 else 4  # whole tiles, and whole vectors
    return replace(whole, lanes=lanes).cut(-(-whole.steps // (slices * unit)) * unit)


def _dispatch(kernel: Kernel, walk: Walk, carry: int, context: Context) -> Dispatch:
    """Return one scan pass; `carry` is the buffer of scanned results of slices."""
    sizes = walk.rows, walk.slices, walk.slice_steps, walk.steps
    if walk.lanes > 1:
        lanes = walk.lanes, walk.lanes.bit_length() - 1
        writer = _Tiles(kernel, walk, carry, context, *sizes, *lanes)
        template, order, groups = "scan_tiles", "in tiles", walk.groups
    else:
        writer = _Serial(kernel, walk, carry, context, *sizes)
        template, order = "scan_serial", "one by one"
        groups = -(-walk.rows * walk.slices // walk.workgroup)
    work = size_of(kernel.kept + kernel.reduced) * (writer.body.cost + 2)
    variant, regions = f"{walk.variant}, {order}", writer.regions()
    return writer.dispatch(template, variant, groups, work=work, regions=regions)


class _Writer(WalkWriter):
    """The common part of both forms: bindings, parameters, functions, loads and stores.

    Attributes
    ----------
    load, save : list of str
        Statements that declare value0, value1, ... at `j`, and that store result0, result1, ...
    """

    def __init__(
        self, kernel: Kernel, walk: Walk, carry: int, context: Context, *sizes: int
    ) -> None:
        super().__init__(kernel, walk, context, *sizes)
        scanned = stage_of(kernel, Scanned)
        self.fold, self.body = scanned.fold, scanned.element
        self.kind = str(self.fold.dtype.wgsl)
        (output,), dims = kernel.spread_outputs, walk.dims
        vector = mode_of(output, dims, walk.width) == "v"
        self.bind_bodies([(scanned.element, dims, walk.width)], [(output, vector)])
        self.bindings.append(Binding(carry, self.fold.dtype, walk.columns))
        self.start = self._start()

    def _start(self) -> list[str]:
        """Return statements that find the row and its start values acc0, acc1, ...

        Also write the functions that fold and that compute an element, and `load` and `save`.
        """
        columns, width, dtype = self.walk.columns, self.walk.width, self.fold.dtype
        body = SplitBody(self, self.body, {self.fold.value})
        (identity,) = self.fold.op.identity(dtype)
        lines = [*self.split, f"let none = {self.params.value(identity, dtype)};"]
        lines += self.lanes("var acc# = none;", columns)
        size = self.params.add(size_of(self.kernel.kept) // columns)
        carried = f"let carried = b{len(self.bindings) - 1}[(slice - 1u) * {size} + row];"
        fields = [f".{c}" for c in XYZW] if columns > 1 else [""]
        starts = [f"acc{n} = carried{field};" for n, field in enumerate(fields)]
        lines += braced("if (slice > 0u)", [carried, *starts])
        self.load = body.arguments().call("element", "value")
        outputs = self.kernel.spread_outputs
        saved = self.store(
            body.space, outputs, width, lambda _, lane: wrapped(dtype, f"result{lane}")
        )
        self.save = [*body.coordinates, *saved]
        (text,) = text_for(self.fold.op.combine, dtype)
        head = f"combine(x: {self.kind}, y: {self.kind}) -> {self.kind}"
        self.function(head, f"return {text.format(a0='x', b0='y', t=self.kind)};")
        body.define("element", [self.fold.value])
        return [*lines, *body.before()]

    @staticmethod
    def lanes(statement: str, count: int) -> list[str]:
        """Return a statement for each of `count` lanes, whose number stands at each #."""
        return [statement.replace("#", str(n)) for n in range(count)]


class _Serial(_Writer):
    """One invocation per slice: `shaders/kernels/scan_serial.wgsl`."""

    def regions(self) -> dict[str, list[str]]:
        """Scan parts of `CHAIN` points; `CHAIN` parts make a larger part."""
        columns = self.walk.columns
        inner = [
            f"let stop = min(end, at + {CHAIN}u);",
            *self.lanes("let sofar# = combine(acc#, large#);", columns),
            *self.lanes("var part# = none;", columns),
            *self._chain(),
            *self.lanes("large# = combine(large#, part#);", columns),
        ]
        outer = [
            f"let end = min(last, at + {CHAIN * CHAIN}u);",
            *self.lanes("var large# = none;", columns),
            *braced("while (at < end)", inner),
            *self.lanes("acc# = combine(acc#, large#);", columns),
        ]
        return {"start": self.start, "scan": braced("while (at < last)", outer)}

    def _chain(self) -> list[str]:
        """Scan the points up to `stop`, loading several before they are used."""
        width, unroll, lines = self.walk.width, self.walk.unroll, list[str]()
        if unroll > 1:
            for u in range(unroll):
                lines += self.lanes(f"var e{u}_# = none;", width)
                kept = self.lanes(f"e{u}_# = value#;", width)
                lines += self._at(f"at + {u}u", [*self.load, *kept])
            for u in range(unroll):
                kept = self.lanes(f"let value# = e{u}_#;", width)
                lines += self._at(f"at + {u}u", [*kept, *self._folded(), *self.save])
            lines = braced(f"for (; at + {unroll - 1}u < stop; at += {unroll}u)", lines)
        each = self._at("at", [*self.load, *self._folded(), *self.save])
        return [*lines, *braced("for (; at < stop; at++)", each)]

    def _at(self, j: str, lines: Iterable[str]) -> list[str]:
        return braced("", [f"let j = {j};", *lines])

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

    def regions(self) -> dict[str, list[str]]:
        fields = ", ".join(f"{c}: {self.kind}" for c in XYZW)
        is_vector = not self.fold.dtype.is_wide
        four = f"alias Four = vec4<{self.kind}>;" if is_vector else f"struct Four {{ {fields} }}"
        self.code.append(four)
        return {"start": self.start, "load": self._load(), "store": self._store()}

    def _at(self, k: int, lines: Iterable[str]) -> list[str]:
        """Return statements for the k-th load of a lane, if it lies in the slice."""
        guarded = braced("if (inside && j < last)", lines)
        return braced("", [f"let j = tile + lane + {k}u * lanes;", *guarded])

    def _load(self) -> list[str]:
        """Load neighbours and scan them; x1_2 belongs to the third element of the second load."""
        lines, width = list[str](), self.walk.width
        for k in range(ROUNDS):
            lines += self.lanes(f"var x{k}_# = none;", width)
            lines += self._at(k, [*self.load, *self.lanes(f"x{k}_# = value#;", width)])
        for k in range(ROUNDS):
            for n in range(1, width):
                lines.append(f"x{k}_{n} = combine(x{k}_{n - 1}, x{k}_{n});")
        last = [f"x{k}_{width - 1}" for k in range(ROUNDS)]
        return [*lines, f"var sums = Four({', '.join(last)});"]

    def _store(self) -> list[str]:
        lines: list[str] = []
        for k in range(ROUNDS):
            results = self.lanes(f"let result# = combine(prefix{k}, x{k}_#);", self.walk.width)
            lines += self._at(k, [*results, *self.save])
        return lines
