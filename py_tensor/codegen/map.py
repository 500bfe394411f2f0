"""Elementwise kernels: choosing the vector width of each invocation, and writing the WGSL.

With transposed operands, each invocation computes a 4 by 4 block. A transposed operand is read
along its own contiguous dimension as four vectors. Four vectors of the result need the columns of
these, so both reads and writes move whole vectors. Neighbouring invocations are arranged so that
both fill whole cache lines. This needs no workgroup memory and no barriers, unlike the classic form
(Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", 2009).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from py_tensor.base.dtypes import DType
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.walk import (
    Space,
    Sweep,
    address,
    advance_coordinates,
    decode_coordinates,
    load_modes,
    mode_of,
)
from py_tensor.codegen.writer import BodyCode, Context, Writer, braced
from py_tensor.schedule.body import Access, Body, Convert, Instruction, Load
from py_tensor.schedule.kernel import Kernel, Output
from py_tensor.schedule.reroll import loops_in

BYTES = 16  # bytes of a vector, in a kernel that only uses one-byte elements
# In this order: a contiguous run of vectors, vectors along the last dimension, blocks for
# transposed operands, single elements, and single elements with a loop for each.
VARIANTS = ("run", "vectors", "blocks", "elements", "loop")
ACROSS, ALONG = 8, 4  # blocks of a tile: 32 invocations read runs of 128 bytes, write runs of 64


def copying(
    source: int, dtype: DType, target: int, to: DType, size: int, label: str = "copy"
) -> Kernel:
    """Return the kernel that copies a buffer to another one, converted to dtype `to`."""
    access = Access((1,), 0)
    body = Body()
    value = body.add(Load(source, dtype, access))
    if to is not dtype:
        value = body.add(Convert(to, (value,)))
    return mapped((size,), body, label, Output(target, value, to, access))


def mapped(kept: Shape, body: Body, label: str, *outputs: Output) -> Kernel:
    """Return the elementwise kernel of a body."""
    return Kernel(kept, (), (), body, outputs, label)


def writing_over(
    kernel: Kernel, last: Mapping[int, int], context: Context
) -> tuple[list[Dispatch], Kernel, dict[int, int]]:
    """Let outputs overwrite operands in `last`; see `lower.Family.over`.

    Every load of such an operand must be of the element that is stored at the same point, so that
    no invocation reads what another one writes. Operands of gathers are therefore never
    overwritten. The returned kernel loads from the output's slot instead.
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

    def moved(x: Instruction) -> Instruction:
        return replace(x, slot=slots.get(x.slot, x.slot)) if isinstance(x, Load) else x

    return body.changed(moved)


def lower_map(kernel: Kernel, context: Context) -> Dispatch:
    """Return the dispatch of a kernel without stages."""
    profile, row = context.profile, kernel.row
    sweep = Sweep.over(kernel.kept, row, kernel.outputs)
    loops = loops_in(row, [o.value for o in kernel.outputs])
    width = 1 if loops else _width(kernel, sweep, profile)
    modes = load_modes(row, sweep, width)
    crossed = None
    if width == 4 and not _has_wide_loads(row):
        crossed = _crossed_dim([x for x, mode in modes.items() if mode == "g"], sweep)
    if crossed is not None:
        sweep = sweep.permuted(crossed, -1)
    writer = Writer(kernel, context)
    stored = [(o, width > 1) for o in kernel.outputs]
    in_blocks = [] if crossed is None else [(x, mode != "s") for x, mode in modes.items()]
    writer.bind_bodies([(row, sweep, width)], stored, in_blocks, max(width, 4))
    code = BodyCode(writer, row, sweep, width, noted=[])
    steps = sweep.steps(width) if crossed is None else (*_tiles(sweep), ACROSS, ALONG)
    items = size_of(steps)
    writer.params.add(items)
    code.function("compute", [o.value for o in kernel.outputs])
    writer.code += code.declarations()
    variant = "run" if len(sweep.extents) == 1 else "vectors"
    if crossed is not None:
        variant = "blocks"
    elif width == 1:
        variant = "loop" if loops else "elements"
    workgroup, turns = profile.map_workgroup, profile.map_turns(variant)
    writer.constants |= {"WORKGROUP": workgroup, "TURNS": turns}
    ahead: list[str] = []
    if turns > 1 and not loops:
        # Parameters that every turn reads are copied once, before the first turn.
        writer.params.name = "given"
        ahead.append("let given = params;")
    if crossed is None:
        work = _vectors(writer, code, sweep, ahead, workgroup if turns > 1 else 0)
    else:
        work = _blocks(writer, code, sweep)
    regions = {"ahead": ahead, "work": [*work, *code.reports()]}
    groups, cost = -(-items // (workgroup * turns)), size_of(kernel.kept) * row.cost
    return writer.dispatch("map", variant, groups, work=cost, regions=regions)


def _vectors(
    writer: Writer, code: BodyCode, sweep: Sweep, ahead: list[str], step: int
) -> list[str]:
    """Compute neighbours along the last dimension; find the coordinates of the first item `ahead`.

    If `step` is not 0, the coordinates are then advanced by that many items.
    """
    params, outputs, steps = writer.params, writer.kernel.outputs, sweep.steps(code.width)
    source = "item" if len(steps) == 1 else "first"
    split, names = decode_coordinates(params, steps, source, "c")
    ahead += split
    space = Space(names, sweep, code.width)
    work = writer.store_results(space, outputs, "compute", code.arguments(space, "a"))
    return [*work, *(advance_coordinates(params, steps, step, names) if step else [])]


def _crossed_dim(loads: Sequence[Load], sweep: Sweep) -> int | None:
    """Return the dimension along which operands that are no vectors along the last are contiguous.

    None if blocks do not help.
    """
    sizes = sweep.extents
    for dim in range(len(sizes) - 1 if loads and sizes[-1] % 4 == 0 else 0):
        if sizes[dim] % 4 == 0 and all(_has_vectors_along(dim, load, sweep) for load in loads):
            return dim
    return None


def _has_vectors_along(dim: int, load: Load, sweep: Sweep) -> bool:
    """Return whether a load reads whole vectors along `dim`, which is not the last dimension."""
    steps = sweep.strides(load.access.strides)
    others = (*steps[:dim], *steps[dim + 1 :])
    return steps[dim] == 1 and load.access.is_aligned(4) and all(s % 4 == 0 for s in others)


def _tiles(sweep: Sweep) -> tuple[int, ...]:
    """Return the number of tiles of 8 by 4 blocks along each dimension."""
    *outer, rows, columns = sweep.extents
    return (*outer, -(-rows // (4 * ACROSS)), -(-columns // (4 * ALONG)))


def _blocks(writer: Writer, code: BodyCode, sweep: Sweep) -> list[str]:
    """Compute four rows of four neighbours, after loading the transposed operands."""
    split, names = decode_coordinates(writer.params, _tiles(sweep), "tile", "c")
    rows, columns = (writer.params.add(extent // 4) for extent in sweep.extents[-2:])
    *outer, row, column = names
    lines = [
        f"let tile = item / {ACROSS * ALONG}u;",
        *split,
        f"let across = {row} * {ACROSS}u + item % {ACROSS}u;",
        f"let along = {column} * {ALONG}u + item / {ACROSS}u % {ALONG}u;",
        f"if (across >= {rows} || along >= {columns}) {{ continue; }}",
    ]
    loaded: dict[Load, list[str]] = {}
    for n, load in enumerate(load for load, mode in code.modes.items() if mode == "g"):
        statements, loaded[load] = _columns(outer, load, code, sweep, f"t{n}")
        lines += statements
    space = Space([*outer, "(across * 4u + i)", "along"], sweep, 4)
    arguments = code.arguments(space, "a", loaded=loaded)
    computed = writer.store_results(space, writer.kernel.outputs, "compute", arguments)
    return [*lines, *braced("for (var i = 0u; i < 4u; i++)", computed)]


def _columns(
    outer: list[str], load: Load, code: BodyCode, sweep: Sweep, name: str
) -> tuple[list[str], list[str]]:
    """Return statements that load a block's columns, and the four elements of row `i`."""
    number = code.writer.binding(load.slot)
    by_columns = sweep.permuted(-1, -2)  # the dimension along which it is contiguous comes last
    statements: list[str] = []
    for column in range(4):
        space = Space([*outer, f"(along * 4u + {column}u)", "across"], by_columns, 4)
        index = address(code.params, space, load.access, 4)
        statements.append(f"let {name}_{column} = b{number}[{index}];")
    columns = (f"{name}_{column}" for column in range(4))
    return statements, [code.bindings[number].lane(load.dtype, x, "i") for x in columns]


def _has_wide_loads(body: Body) -> bool:
    return any(load.dtype.is_wide for load in body.loads())


def _width(kernel: Kernel, sweep: Sweep, profile: AdapterProfile) -> int:
    """Return how many neighbours an invocation computes at once."""
    cost = kernel.row.cost
    widths = (BYTES, 4) if profile.takes_vectors(4 * cost) else (4,)
    takes = (n for n in widths if profile.takes_vectors(cost) and _takes(kernel, sweep, n))
    return next(takes, 1)


def _takes(kernel: Kernel, sweep: Sweep, width: int) -> bool:
    """Return whether every output can be stored in whole vectors of `width`.

    A single row may end inside a vector, because the elements after the end of the output are
    padding. But kernels that check indices must not compute extra points. Vectors of more than four
    are only for kernels that read and write one-byte elements, all in vectors.
    """
    row, extents, outputs = kernel.row, sweep.extents, kernel.outputs
    if extents[-1] % width:
        beyond = not row.checks() and not _has_wide_loads(row) and all(o.whole for o in outputs)
        if not beyond or size_of(extents[:-1]) != 1:
            return False
    loads = row.loads() if width > 4 else []
    if width > 4 and (
        row.gathers() or any(width > 4 * x.dtype.per_word for x in (*loads, *outputs))
    ):
        return False
    modes = [mode_of(load, sweep, width) for load in loads]
    return "g" not in modes and all(mode_of(o, sweep, width) == "v" for o in outputs)
