"""Elementwise kernels: choosing the vector width of each invocation, and writing the WGSL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from py_tensor.base.dtypes import DType
from py_tensor.base.layout import Merged, merge_dims
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.blocks import Blocks, crossed_dim
from py_tensor.codegen.emit import (
    MAX_PADDED,
    BodyCode,
    Space,
    advance_coordinates,
    decode_coordinates,
    load_modes,
    mode_of,
    rank_class,
)
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.walk import Padded, accesses, mask_dims
from py_tensor.codegen.writer import Context, Writer, gathered, returns
from py_tensor.schedule.body import Access, Body, Convert, Load
from py_tensor.schedule.kernel import Kernel, Output
from py_tensor.schedule.reroll import loops_in

BYTES = 16  # bytes of a vector, in a kernel that only uses one-byte elements
# In this order: a contiguous run of vectors, vectors along the last dimension, blocks for
# transposed operands, single elements, and single elements with a loop for each.
VARIANTS = ("run", "vectors", "blocks", "elements", "loop")


def copying(
    source: int, dtype: DType, target: int, to: DType, size: int, label: str = "copy"
) -> Kernel:
    """Return the kernel that copies a buffer to another one, converted to dtype `to`."""
    access = Access((1,), 0)
    body = Body()
    value = body.add(Load(source, dtype, access))
    if to is not dtype:
        value = body.add(Convert(to, value))
    return mapped((size,), body, label, Output(target, value, to, access))


def mapped(kept: Shape, body: Body, label: str, *outputs: Output) -> Kernel:
    """Return the elementwise kernel of a body."""
    return Kernel(kept, (), (), body, outputs, label)


class Sweep(Padded):
    """The dimensions that an elementwise kernel iterates over; few ranks, for few programs.

    If every access is one contiguous run, there is one dimension. Otherwise there are as many as
    the expression has, even if its sizes let some of them be merged: the leading ones then have
    extent 1, and `decode_coordinates` skips them.
    """

    __slots__ = ()

    @staticmethod
    def over(kept: Shape, body: Body, outputs: Sequence[Output] = ()) -> Sweep:
        """Return a sweep over the dimensions of a body and its outputs, merged where possible."""
        maps = [*accesses(body), *(o.access.strides for o in outputs)]
        merged = merge_dims(kept, maps, range(len(kept)), mask_dims(body))
        count = len(merged.extents)
        if count > 1 or any(merged.strides(m) != (1,) * count for m in maps):
            count = max(count, min(len(kept), MAX_PADDED))
        return Sweep.to(merged, rank_class(max(1, count)))

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over these dimensions; a single element has stride 1."""
        return super().strides(of) if self.merged.extents else (1,)

    def steps(self, width: int) -> tuple[int, ...]:
        """Return extents in steps of `width` along the last dimension."""
        return (*self.extents[:-1], -(-self.extents[-1] // width))

    def with_second_last(self, dim: int) -> Sweep:
        """Return the same sweep with dimension `dim` moved to the second-last place."""
        moved = dim - (len(self.extents) - len(self.merged.extents))
        count = len(self.merged.extents)
        order = [d for d in range(count - 1) if d != moved] + [moved, count - 1]
        extents, groups = self.merged.extents, self.merged.groups
        merged = Merged(tuple(extents[d] for d in order), tuple(groups[d] for d in order))
        return Sweep.to(merged, len(self.extents))


def writing_over(
    kernel: Kernel, last: Mapping[int, int], context: Context
) -> tuple[list[Dispatch], Kernel, dict[int, int]]:
    """Let outputs overwrite operands in `last`; see `lower.Family.over`.

    Every load of such an
    operand must be of the element that is stored at the same point, so that no invocation reads
    what another one writes. Operands of gathers are therefore never overwritten. The returned
    kernel loads from the output's slot instead.
    """
    replaced: dict[int, int] = {}
    points = size_of(kernel.kept)
    anywhere = {gather.slot for gather in kernel.row.gathers()}
    for output in kernel.outputs:
        for slot in sorted(last.keys() - anywhere - set(replaced.values())):
            loads = [load for load in kernel.row.loads() if load.slot == slot]
            if (
                output.whole
                and last[slot] == points * output.dtype.itemsize
                and all(output.dtype.is_stored_like(x.dtype) for x in loads)
                and all(x.access == output.access for x in loads)
            ):
                replaced[output.slot] = slot
                break
    if not replaced:
        return [], kernel, {}
    row = with_loads(kernel.row, {slot: output for output, slot in replaced.items()})
    return [], replace(kernel, row=row), replaced


def with_loads(body: Body, slots: Mapping[int, int]) -> Body:
    """Return the body with loads from other slots: those of each key instead from its value."""
    # Not `add`: values keep their numbers.
    return Body(
        [
            replace(x, slot=slots.get(x.slot, x.slot)) if isinstance(x, Load) else x
            for x in body.instructions
        ]
    )


def lower_map(kernel: Kernel, context: Context) -> Dispatch:
    """Return the dispatch of a kernel without stages."""
    profile, row = context.profile, kernel.row
    sweep = Sweep.over(kernel.kept, row, kernel.outputs)
    loads = row.loads()
    has_wide_loads = any(load.dtype.is_wide for load in loads)
    beyond = not row.checks() and not has_wide_loads
    loops = loops_in(row, [o.value for o in kernel.outputs])
    vectors = profile.takes_vectors(row.cost) and not loops
    widths = (BYTES, 4) if vectors and profile.takes_vectors(4 * row.cost) else (4,)
    takes = (n for n in widths if vectors and _takes(kernel, sweep, n, beyond))
    width = next(takes, 1)
    modes = load_modes(row, sweep.strides, width)
    crossed = crossed_dim(loads, sweep.extents, sweep.strides, modes) if width == 4 else None
    blocks = None
    if crossed is not None and not has_wide_loads:
        sweep = sweep.with_second_last(crossed)
        blocks = Blocks(sweep.extents, sweep.strides)
    writer = Writer(kernel, context)
    vector_modes = "v" if blocks is None else "vg"
    reads = [(x, mode in vector_modes) for x, mode in modes.items()]
    stored = [(o, width > 1) for o in kernel.outputs]
    writer.bind_loads([*reads, *gathered(row)], stored, max(width, 4))
    code = BodyCode(row, writer.bindings, writer.params, modes, sweep.position, noted=[])
    items = size_of(sweep.steps(width)) if blocks is None else blocks.items()
    writer.params.add(items)
    kind, declaration = returns([o.dtype for o in kernel.outputs])
    compute = code.function("compute", [o.value for o in kernel.outputs], kind)
    writer.code += [declaration, *code.declarations(), compute]
    variant = "loop" if loops else _variant(sweep, width, blocks)
    workgroup, turns = profile.map_workgroup, profile.map_turns(variant)
    writer.constants |= {"WORKGROUP": workgroup, "TURNS": turns}
    ahead: list[str] = []
    if turns > 1 and not loops:
        # Parameters that every turn reads are copied once, before the first turn.
        writer.params = code.params = writer.params.copied("given")
        ahead.append("let given = params;")
    if blocks is None:
        step = workgroup if turns > 1 else 0
        split, work = _vectors(writer, code, sweep, width, step)
        ahead += split
    else:
        work = _blocks(writer, code, blocks)
    regions = {"ahead": ahead, "work": [*work, *code.reports()]}
    return writer.dispatch(
        "map",
        variant,
        -(-items // (workgroup * turns)),
        work=size_of(kernel.kept) * row.cost,
        regions=regions,
    )


def _variant(sweep: Sweep, width: int, blocks: Blocks | None) -> str:
    """Return one of `VARIANTS`."""
    if blocks is not None:
        return "blocks"
    if width == 1:
        return "elements"
    return "run" if len(sweep.extents) == 1 else "vectors"


def _vectors(
    writer: Writer, code: BodyCode, sweep: Sweep, width: int, step: int
) -> tuple[list[str], list[str]]:
    """Find the coordinates of the first item; compute `width` neighbours along the last dimension.

    If `step` is not 0, the coordinates are then advanced by that many items.
    """
    params, steps = writer.params, sweep.steps(width)
    source = "item" if len(steps) == 1 else "first"
    split, names = decode_coordinates(params, steps, source, "c")
    work = _computed(writer, code, Space(names, sweep.strides, width), {})
    return split, [*work, *(advance_coordinates(params, steps, step, names) if step else [])]


def _blocks(writer: Writer, code: BodyCode, blocks: Blocks) -> list[str]:
    """Compute four rows of four neighbours, after loading the transposed operands."""
    lines, names = blocks.place(writer.params)
    loaded: dict[Load, list[str]] = {}
    for n, load in enumerate(load for load, mode in code.modes.items() if mode == "g"):
        statements, loaded[load] = blocks.load(names, load, code, f"t{n}")
        lines += statements
    row = _computed(writer, code, blocks.row_space(names), loaded)
    return [*lines, "for (var i = 0u; i < 4u; i++) {", *(f"  {line}" for line in row), "}"]


def _computed(
    writer: Writer, code: BodyCode, space: Space, loaded: dict[Load, list[str]]
) -> list[str]:
    """Load the remaining arguments, compute, and store."""
    arguments = code.arguments(space, space.width, "a", loaded=loaded)
    return writer.store_results(space, writer.kernel.outputs, "compute", arguments)


def _takes(kernel: Kernel, sweep: Sweep, width: int, beyond: bool) -> bool:
    """Return whether every output can be stored in whole vectors of `width`.

    If `beyond` is set, a single row may end inside a vector, because the elements after the end of
    the output are padding. It is not set for kernels that check indices, which must not compute
    extra points. Vectors of more than four are only for kernels that read and write one-byte
    elements, all in vectors.
    """
    extents, outputs = sweep.extents, kernel.outputs
    whole = beyond and size_of(extents[:-1]) == 1 and all(o.whole for o in outputs)
    if extents[-1] % width and not whole:
        return False

    def mode(x: Output | Load) -> str:
        return mode_of(x, sweep.strides, width)

    if width > 4:
        loads = kernel.row.loads()
        has_longer = any(width > 4 * x.dtype.per_word for x in (*loads, *outputs))
        if has_longer or kernel.row.gathers():
            return False
        if any(mode(load) == "g" for load in loads):
            return False
    return all(mode(output) == "v" for output in outputs)
