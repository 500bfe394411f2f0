"""Elementwise kernels: choosing the vector width of each invocation, and writing the WGSL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from py_tensor.base.dtypes import DType
from py_tensor.base.layout import Merged, merge_dims
from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.blocks import ACROSS, ALONG, Blocks, crossed_dim
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.emit import (
    MAX_PADDED,
    Arguments,
    BodyCode,
    Space,
    address,
    advance_coordinates,
    decode_coordinates,
    mode_of,
    padded,
    rank_class,
)
from py_tensor.codegen.program import FAULT_WORDS, Dispatch, Params, Programs
from py_tensor.schedule.body import (
    Access,
    Address,
    Addressed,
    Body,
    Check,
    Convert,
    Gather,
    Load,
    Mask,
)
from py_tensor.schedule.kernel import Kernel, Output
from py_tensor.schedule.reroll import loops_in

BYTES = 16  # bytes of a vector, in a kernel that only uses one-byte elements
# In this order: a contiguous run of vectors, vectors along the last dimension, blocks for
# transposed operands, single elements, and single elements with a loop for each.
VARIANTS = ("run", "vectors", "blocks", "elements", "loop")


def mask_dims(body: Body) -> frozenset[int]:
    """Return the dimensions whose coordinates the masks of the body depend on."""
    return frozenset(d for i in body.instructions if isinstance(i, Mask) for d, _, _ in i.ranges)


def accesses(body: Body) -> list[tuple[int, ...]]:
    return [i.access.strides for i in body.instructions if isinstance(i, Addressed)]


def gathered(*bodies: Body) -> list[tuple[Gather | Check, bool]]:
    """Return the gathers and index checks of bodies, for `bind`; they never use vectors."""
    reads: list[tuple[Gather | Check, bool]] = []
    for body in bodies:
        for i in body.instructions:
            match i:
                case Gather():
                    reads.append((i, False))
                case Address():
                    reads += [(check, False) for check in i.checks]
                case _:
                    pass
    return reads


def bind(
    loads: Sequence[tuple[Load | Gather | Check, bool]],
    outputs: Sequence[tuple[Output, bool]],
    lanes: int = 4,
) -> list[Binding]:
    """Return one binding for each buffer; it holds vectors of `lanes` elements if any use does.

    A buffer that is read and written has the binding of the output. Several outputs may share a
    buffer. Outputs come last, after the buffer that records out-of-range indices.
    """
    read: dict[int, Binding] = {}
    over = {output.slot for output, _ in outputs}
    faults: list[Binding] = []
    for load, vector in loads:
        if isinstance(load, Check):
            faults = [FAULT_WORDS]
            continue
        if load.slot in over:
            continue
        vector = vector or (load.slot in read and read[load.slot].vector)
        read[load.slot] = Binding(load.slot, load.dtype, vector, writable=False, lanes=lanes)
    written = {o.slot: result(o.slot, o.dtype, lanes if vector else 0) for o, vector in outputs}
    return [*read.values(), *faults, *written.values()]


def result(slot: int, dtype: DType, lanes: int = 0) -> Binding:
    """Return the binding of an output: vectors of `lanes` elements, or single elements."""
    atomic = dtype.is_packed and not lanes
    return Binding(slot, dtype, lanes > 0, writable=True, atomic=atomic, lanes=lanes or 4)


def interface(
    bindings: Sequence[Binding], params: Params, constants: dict[str, int], *code: str
) -> str:
    """Return the declarations of a kernel, which precede its entry point."""
    lines = [f"const {name} = {value}u;" for name, value in constants.items()]
    lines += [b.declaration(n) for n, b in enumerate(bindings)]
    lines.append(params.declaration(len(bindings)))
    return "\n".join([*lines, *code])


def returns(dtypes: Sequence[DType], name: str = "Results") -> tuple[str, str]:
    """Return the type of a function with these results, and its declaration if it needs one."""
    if len(dtypes) == 1:
        return str(dtypes[0].wgsl), ""
    fields = ", ".join(f"r{n}: {dtype.wgsl}" for n, dtype in enumerate(dtypes))
    return name, f"struct {name} {{ {fields} }}"


def copying(
    source: int, dtype: DType, target: int, to: DType, size: int, label: str = "copy"
) -> Kernel:
    """Return the kernel that copies a buffer to another one, converted to dtype `to`."""
    access = Access((1,), 0)
    body = Body()
    value = body.add(Load(source, dtype, access))
    if to is not dtype:
        value = body.add(Convert(to, value))
    output = Output(target, value, to, access)
    return Kernel((size,), (), (), body, (output,), label)


def store(
    params: Params,
    space: Space,
    outputs: Sequence[Output],
    bindings: Sequence[Binding],
    lanes: int,
    value: Callable[[int, int], str],
) -> list[str]:
    """Return statements that store every output's `value(number of the output, lane)`."""
    statements: list[str] = []
    written = {b.slot: number for number, b in enumerate(bindings) if b.writable}
    for n, output in enumerate(outputs):
        values = [value(n, lane) for lane in range(lanes)]
        number = written[output.slot]
        binding = bindings[number]
        if binding.vector:
            where = address(params, space, output.access, binding.lanes)
            statements.append(binding.put_vector(number, output.dtype, where, values))
            continue
        statements.append(f"let o{n} = {address(params, space, output.access)};")
        step = params.add(space.strides(output.access.strides)[-1]) if lanes > 1 else "0u"
        statements += [
            binding.put(number, output.dtype, f"o{n} + {lane}u * {step}", v)
            for lane, v in enumerate(values)
        ]
    return statements


def store_results(
    params: Params,
    space: Space,
    outputs: Sequence[Output],
    bindings: Sequence[Binding],
    function: str,
    arguments: Arguments,
) -> list[str]:
    """Return statements that load arguments, call the function per lane, and store results."""

    def value(number: int, lane: int) -> str:
        return f"r{lane}{field_of(outputs, number)}"

    stores = store(params, space, outputs, bindings, len(arguments.lanes), value)
    return [*arguments.call(function, "r"), *stores]


def field_of(results: Sequence[object], number: int) -> str:
    """Return WGSL that selects result `number` from the value of a function with these results."""
    return f".r{number}" if len(results) > 1 else ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The dimensions that an elementwise kernel iterates over; few ranks, for few programs.

    If every access is one contiguous run, there is one dimension. Otherwise there are as many as
    the expression has, even if its sizes let some of them be merged: the leading ones then have
    extent 1, and `decode_coordinates` skips them.
    """

    merged: Merged
    extents: tuple[int, ...]

    @staticmethod
    def over(merged: Merged, rank: int, maps: Sequence[tuple[int, ...]]) -> Sweep:
        """Return a sweep over the merged dimensions of an expression of this rank."""
        count = len(merged.extents)
        if count > 1 or any(merged.strides(m) != (1,) * count for m in maps):
            count = max(count, min(rank, MAX_PADDED))
        return Sweep(merged, padded(merged.extents, rank_class(max(1, count)), 1))

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over these dimensions; a single element has stride 1."""
        merged_strides = self.merged.strides(of) or (1,)
        return padded(merged_strides, len(self.extents), 0)

    def steps(self, width: int) -> tuple[int, ...]:
        """Return extents in steps of `width` along the last dimension."""
        return (*self.extents[:-1], -(-self.extents[-1] // width))

    def position(self, dim: int) -> int:
        """Return the position of a dimension of the kernel that was not merged with others."""
        return self.merged.position(dim) + len(self.extents) - len(self.merged.extents)

    def with_second_last(self, dim: int) -> Sweep:
        """Return the same sweep with dimension `dim` moved to the second-last place."""
        moved = dim - (len(self.extents) - len(self.merged.extents))
        count = len(self.merged.extents)
        order = [d for d in range(count - 1) if d != moved] + [moved, count - 1]
        extents, groups = self.merged.extents, self.merged.groups
        merged = Merged(tuple(extents[d] for d in order), tuple(groups[d] for d in order))
        return Sweep(merged, padded(merged.extents, len(self.extents), 1))


def writing_over(kernel: Kernel, overwritable: Mapping[int, int]) -> tuple[Kernel, dict[int, int]]:
    """Let outputs overwrite operands; return the kernel, and output's slot -> operand's slot.

    `overwritable` maps the slots that may be overwritten to their bytes. Every load of such an
    operand must be of the element that is stored at the same point, so that no invocation reads
    what another one writes. Operands of gathers are therefore never overwritten. The returned
    kernel loads from the output's slot instead.
    """
    replaced: dict[int, int] = {}
    points = size_of(kernel.kept)
    anywhere = {gather.slot for gather in kernel.row.gathers()}
    for output in kernel.outputs:
        for slot in sorted(overwritable.keys() - anywhere - set(replaced.values())):
            loads = [load for load in kernel.row.loads() if load.slot == slot]
            if (
                output.whole
                and overwritable[slot] == points * output.dtype.itemsize
                and all(output.dtype.is_stored_like(x.dtype) for x in loads)
                and all(x.access == output.access for x in loads)
            ):
                replaced[output.slot] = slot
                break
    if not replaced:
        return kernel, {}
    targets = {slot: output for output, slot in replaced.items()}
    # Not `add`: values keep their numbers.
    row = Body(
        [
            replace(x, slot=targets.get(x.slot, x.slot)) if isinstance(x, Load) else x
            for x in kernel.row.instructions
        ]
    )
    return replace(kernel, row=row), replaced


def lower_map(kernel: Kernel, profile: AdapterProfile, programs: Programs) -> Dispatch:
    """Return the dispatch of a kernel without stages."""
    maps = [*accesses(kernel.row), *(o.access.strides for o in kernel.outputs)]
    merged = merge_dims(kernel.kept, maps, range(len(kernel.kept)), mask_dims(kernel.row))
    sweep = Sweep.over(merged, len(kernel.kept), maps)
    loads = kernel.row.loads()
    has_wide_loads = any(load.dtype.is_wide for load in loads)
    beyond = not kernel.row.checks() and not has_wide_loads
    loops = loops_in(kernel.row, [o.value for o in kernel.outputs])
    vectors = profile.takes_vectors(kernel.row.cost) and not loops
    widths = (BYTES, 4) if vectors and profile.takes_vectors(4 * kernel.row.cost) else (4,)
    takes = (n for n in widths if vectors and _takes(kernel, sweep, n, beyond))
    width = next(takes, 1)
    modes = {x: mode_of(x, sweep.strides, width) for x in loads}
    crossed = crossed_dim(loads, sweep.extents, sweep.strides, modes) if width == 4 else None
    blocks = None
    if crossed is not None and not has_wide_loads:
        sweep = sweep.with_second_last(crossed)
        blocks = Blocks(sweep.extents, sweep.strides)
    bindings = bind(
        [
            *((x, modes[x] == "v" or (blocks is not None and modes[x] == "g")) for x in loads),
            *gathered(kernel.row),
        ],
        [(o, width > 1) for o in kernel.outputs],
        max(width, 4),
    )
    code = BodyCode(kernel.row, bindings, {**modes}, sweep.position, noted=[])
    params = Params()
    if blocks is None:
        items = size_of(sweep.steps(width))
    else:
        items = size_of(blocks.tiles()) * ACROSS * ALONG
    params.add(items)
    params.add(0)  # the first workgroup's number
    kind, declaration = returns([o.dtype for o in kernel.outputs])
    compute = code.function("compute", params, [o.value for o in kernel.outputs], kind)
    compute = "\n".join([*code.declarations(), compute])
    variant = "loop" if loops else _variant(sweep, width, blocks)
    workgroup, turns = profile.map_workgroup, profile.map_turns(variant)
    # Parameters that every turn reads are copied once, before the first turn.
    turn_params = params.copied("given") if turns > 1 and not loops else params
    ahead = [f"let {turn_params.name} = params;"] if turn_params is not params else []
    if blocks is None:
        step = workgroup if turns > 1 else 0
        split, work = _vectors(kernel, code, turn_params, sweep, width, step)
        ahead += split
    else:
        work = _blocks(kernel, code, turn_params, blocks, modes)
    work += code.reports()
    constants = {"WORKGROUP": workgroup, "TURNS": turns}
    regions = {
        "interface": interface(bindings, params, constants, declaration, compute),
        "ahead": "\n".join(f"  {line}" for line in ahead),
        "work": "\n".join(f"    {line}" for line in work),
    }
    return Dispatch(
        programs.get("map", kernel.label, bindings, regions, variant),
        tuple(b.slot for b in bindings),
        tuple(params.values),
        tuple(params.consts),
        -(-items // (workgroup * turns)),
        1,
        size_of(kernel.kept) * kernel.row.cost,
        kernel.operations(),
        kernel.traffic(),
    )


def _variant(sweep: Sweep, width: int, blocks: Blocks | None) -> str:
    """Return one of `VARIANTS`."""
    if blocks is not None:
        return "blocks"
    if width == 1:
        return "elements"
    return "run" if len(sweep.extents) == 1 else "vectors"


def _vectors(
    kernel: Kernel, code: BodyCode, params: Params, sweep: Sweep, width: int, step: int
) -> tuple[list[str], list[str]]:
    """Find the coordinates of the first item; compute `width` neighbours along the last dimension.

    If `step` is not 0, the coordinates are then advanced by that many items.
    """
    steps = sweep.steps(width)
    if len(steps) == 1:
        return [], _computed(kernel, code, params, Space(["item"], sweep.strides, width), {})
    split, names = decode_coordinates(params, steps, "first", "c")
    work = _computed(kernel, code, params, Space(names, sweep.strides, width), {})
    return split, [*work, *(advance_coordinates(params, steps, step, names) if step else [])]


def _blocks(
    kernel: Kernel, code: BodyCode, params: Params, blocks: Blocks, modes: dict[Load, str]
) -> list[str]:
    """Compute four rows of four neighbours, after loading the transposed operands."""
    lines, names = blocks.place(params)
    loaded: dict[Load, list[str]] = {}
    for n, load in enumerate(load for load, mode in modes.items() if mode == "g"):
        statements, loaded[load] = blocks.load(params, names, load, code, f"t{n}")
        lines += statements
    row = _computed(kernel, code, params, blocks.row_space(names), loaded)
    return [*lines, "for (var i = 0u; i < 4u; i++) {", *(f"  {line}" for line in row), "}"]


def _computed(
    kernel: Kernel,
    code: BodyCode,
    params: Params,
    space: Space,
    loaded: dict[Load, list[str]],
) -> list[str]:
    """Load the remaining arguments, compute, and store."""
    arguments = code.arguments(params, space, space.width, "a", loaded=loaded)
    return store_results(params, space, kernel.outputs, code.bindings, "compute", arguments)


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
