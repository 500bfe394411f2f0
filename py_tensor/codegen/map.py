"""Elementwise kernels: choosing how wide each invocation works, and writing the WGSL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from py_tensor.codegen.blocks import ACROSS, ALONG, Blocks, Strides, crossed_dim
from py_tensor.codegen.emit import (
    BodyCode,
    Space,
    address,
    decode_coordinates,
    encode,
    load_mode,
    padded,
    rank_class,
)
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Binding, Dispatch, Params, Programs
from py_tensor.dtypes import DType
from py_tensor.graph.kernel import Body, Index, Kernel, Load, Mask, Output
from py_tensor.layout import merge_dims
from py_tensor.shapes import size_of


def mask_dims(body: Body) -> frozenset[int]:
    """The dimensions whose coordinate a mask of the body asks for."""
    return frozenset(d for i in body.instructions if isinstance(i, Mask) for d, _, _ in i.ranges)


def accesses(body: Body) -> list[tuple[int, ...]]:
    return [i.access.strides for i in body.instructions if isinstance(i, Load | Index)]


def bind(loads: list[tuple[Load, bool]], outputs: list[tuple[Output, bool]]) -> list[Binding]:
    """One binding for each buffer read and each written; a buffer is a vector if any use is.

    One that is both is read as it is written.
    """
    read: dict[int, Binding] = {}
    over = {output.slot for output, _ in outputs}
    for load, vector in loads:
        if load.slot in over:
            continue
        vector = vector or (load.slot in read and read[load.slot].vector)
        read[load.slot] = Binding(load.slot, load.dtype, vector, writable=False)
    written = [Binding(o.slot, o.dtype, vector, writable=True) for o, vector in outputs]
    return [*read.values(), *written]


def interface(
    bindings: Sequence[Binding], params: Params, constants: dict[str, int], *code: str
) -> str:
    """Everything of a kernel that stands before its entry point."""
    lines = [f"const {name} = {value}u;" for name, value in constants.items()]
    lines += [b.declaration(n) for n, b in enumerate(bindings)]
    lines.append(params.declaration(len(bindings)))
    return "\n".join([*lines, *code])


def returns(dtypes: Sequence[DType], name: str = "Results") -> tuple[str, str]:
    """The type of a function with these results, and its declaration if it needs one."""
    if len(dtypes) == 1:
        return str(dtypes[0].wgsl), ""
    fields = ", ".join(f"r{n}: {dtype.wgsl}" for n, dtype in enumerate(dtypes))
    return name, f"struct {name} {{ {fields} }}"


def store(
    params: Params,
    space: Space,
    outputs: Sequence[Output],
    bindings: Sequence[Binding],
    lanes: int,
    value: Callable[[int, int], str],
) -> list[str]:
    """Statements that store every output's `value(number of the output, lane)`."""
    statements: list[str] = []
    written = {b.slot: number for number, b in enumerate(bindings) if b.writable}
    for n, output in enumerate(outputs):
        values = [encode(output.dtype, value(n, lane)) for lane in range(lanes)]
        number, storage = written[output.slot], output.dtype.storage
        if bindings[number].vector:
            where = address(params, space, output.access, 4)
            statements.append(f"b{number}[{where}] = vec4<{storage}>({', '.join(values)});")
            continue
        statements.append(f"let o{n} = {address(params, space, output.access)};")
        step = params.add(space.strides(output.access.strides)[-1]) if lanes > 1 else "0u"
        statements += [
            f"b{number}[o{n} + {lane}u * {step}] = {v};" for lane, v in enumerate(values)
        ]
    return statements


def field_of(results: Sequence[object], number: int) -> str:
    """How result `number` is taken out of what a function with these results returned."""
    return f".r{number}" if len(results) > 1 else ""


def writing_over(kernel: Kernel, spare: Mapping[int, int]) -> tuple[Kernel, dict[int, int]]:
    """The kernel with outputs that stand where operands stood, and which replaces which.

    `spare` has the bytes of the slots that may be written over. An operand's every load must be of
    the very element that is stored, so that no invocation reads what another one writes. In the
    kernel that is returned such loads are of the output's own slot.
    """
    replaced: dict[int, int] = {}
    points = size_of(kernel.kept)
    for output in kernel.outputs:
        for slot in sorted(spare.keys() - set(replaced.values())):
            loads = [load for load in kernel.row.loads() if load.slot == slot]
            if (
                output.whole
                and spare[slot] == points * output.dtype.stored_itemsize
                and all(x.dtype.storage == output.dtype.storage for x in loads)
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


def lower_map(kernel: Kernel, profile: Profile, programs: Programs) -> Dispatch:
    """The dispatch of a kernel without stages."""
    maps = [*accesses(kernel.row), *(o.access.strides for o in kernel.outputs)]
    merged = merge_dims(kernel.kept, maps, range(len(kernel.kept)), mask_dims(kernel.row))
    rank = rank_class(len(merged.extents))
    extents = padded(merged.extents, rank, 1)

    def strides(of: tuple[int, ...]) -> tuple[int, ...]:
        return padded(merged.strides(of), rank, 0)

    width = _width(kernel.outputs, extents, strides)
    loads = kernel.row.loads()
    modes = {x: load_mode(strides(x.access.strides), x.access.offset, width) for x in loads}
    crossed = crossed_dim(loads, extents, strides, modes) if width == 4 else None
    blocks = None if crossed is None else Blocks(crossed, extents, strides)
    bindings = bind(
        [(x, modes[x] == "v" or (blocks is not None and modes[x] == "g")) for x in loads],
        [(o, width == 4) for o in kernel.outputs],
    )
    code = BodyCode(
        kernel.row, bindings, {**modes}, lambda d: merged.position(d) + rank - len(merged.extents)
    )
    params = Params()
    if blocks is None:
        items = size_of((*extents[:-1], -(-extents[-1] // width)))
    else:
        items = size_of(blocks.tiles()) * ACROSS * ALONG
    params.add(items)
    params.add(0)  # the first workgroup's number
    kind, declaration = returns([o.dtype for o in kernel.outputs])
    compute = code.function("compute", params, [f"v{o.value}" for o in kernel.outputs], kind)
    if blocks is None:
        work = _vectors(kernel, code, params, extents, strides, width)
    else:
        work = _blocks(kernel, code, params, blocks, modes)
    regions = {
        "interface": interface(
            bindings, params, {"WORKGROUP": profile.workgroup}, declaration, compute
        ),
        "work": "\n".join(f"  {line}" for line in work),
    }
    return Dispatch(
        programs.get("map", kernel.label, bindings, regions),
        tuple(b.slot for b in bindings),
        tuple(params.values),
        tuple(params.consts),
        -(-items // profile.workgroup),
        1,
        size_of(kernel.kept) * kernel.row.cost,
        kernel.operations(),
        kernel.traffic(),
    )


def _vectors(
    kernel: Kernel,
    code: BodyCode,
    params: Params,
    extents: tuple[int, ...],
    strides: Strides,
    width: int,
) -> list[str]:
    """Compute `width` neighbours along the last dimension."""
    steps = (*extents[:-1], -(-extents[-1] // width))
    split, names = decode_coordinates(params, steps, "item", "c")
    space = Space(names, strides, width)
    return [*split, *_computed(kernel, code, params, space, {})]


def _blocks(
    kernel: Kernel, code: BodyCode, params: Params, blocks: Blocks, modes: dict[Load, str]
) -> list[str]:
    """Compute four rows of four neighbours, the transposed operands loaded ahead."""
    lines, names = blocks.place(params)
    loaded: dict[Load, list[str]] = {}
    for n, load in enumerate(load for load, mode in modes.items() if mode == "g"):
        statements, loaded[load] = blocks.load(params, names, load, code.binding(load), f"t{n}")
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
    """Load what is not loaded yet, compute, and store."""
    arguments = code.arguments(params, space, space.width, "a", loaded=loaded)
    calls = [f"let r{lane} = compute({', '.join(a)});" for lane, a in enumerate(arguments.lanes)]
    stores = store(
        params,
        space,
        kernel.outputs,
        code.bindings,
        space.width,
        lambda n, lane: f"r{lane}{field_of(kernel.outputs, n)}",
    )
    return [*arguments.statements, *calls, *stores]


def _width(outputs: Sequence[Output], extents: tuple[int, ...], strides: Strides) -> int:
    """Four elements at a time where every output's rows are made of whole vectors.

    A single row may end within a vector if the output ends there too: what lies behind it is
    padding.
    """
    whole = len(extents) == 1 and all(o.whole for o in outputs)
    if extents[-1] % 4 and not whole:
        return 1
    modes = {load_mode(strides(o.access.strides), o.access.offset, 4) for o in outputs}
    return 4 if modes <= {"v"} else 1
