"""Scatter: writing values at indices, with a result that does not depend on execution order.

Assignment keeps the last of several values for one element: a first pass finds the greatest
position. Values that may be combined in any order use atomic operations; with few elements, each
workgroup first combines its own values. Float sums are added in the order of the values. Two-word
elements have no atomic operations and are combined in order too. For that, the addresses are
sorted, which makes values of equal address neighbours (a run), and one invocation combines a run. A
long run is cut into chunks, whose results are combined in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from py_tensor.base.dtypes import DType, in_words, int32, uint32
from py_tensor.base.layout import merge_dims
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.emit import BodyCode, Space, decode_coordinates
from py_tensor.codegen.map import (
    Sweep,
    accesses,
    bind,
    copying,
    gathered,
    interface,
    lower_map,
    mask_dims,
    result,
)
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context
from py_tensor.codegen.reduce_wgsl import load_modes
from py_tensor.codegen.sort import lower_sort
from py_tensor.schedule.body import NOWHERE, Access, Accumulated, Body, Convert, Load, copied
from py_tensor.schedule.kernel import Kernel, Output, Scattered, Sorted

FIRST = 1  # position in params of the first workgroup's number
LONG = 2**22  # from this many values on, chunks are longer, so that long runs have fewer chunks
GROUP = 256  # chunks of a group
MIN_FOR_EACH = 16  # values per element on average, for workgroups to combine their own first

# The operation that combines a value with an integer element.
_ATOMIC = {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax"}
# The same for elements that are combined in order; "t" is their type.
_IN_ORDER = {"add": "add_64(x, y)", "min": "min_{t}(x, y)", "max": "max_{t}(x, y)"}
# For floats: the new element, and the condition under which the old one stays.
_FLOAT = {
    "add_atomic": ("bitcast<f32>(old) + value", "false"),
    "min": ("value", "rank_min_f32(value) >= rank_min_f32(bitcast<f32>(old))"),
    "max": ("value", "rank_f32(value) <= rank_f32(bitcast<f32>(old))"),
}


def lower_scatter(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel that scatters: a copy of the base, then the passes.

    In place, base and target are the same slot and nothing is copied.
    """
    stage = _stage(kernel)
    if stage.dtype.is_packed and stage.mode != "set":
        return _in_words(kernel, stage, context)
    copies: list[Dispatch] = []
    if stage.into != stage.target:
        copies = [_copied(stage.into, stage.dtype, stage.target, stage.dtype, kernel, context)]
    return [*copies, *_Passes(kernel, context).dispatches()]


def _copied(
    source: int, dtype: DType, target: int, to: DType, kernel: Kernel, context: Context
) -> Dispatch:
    """Return a copy of the whole base, or of its unpacked form, converted to dtype `to`."""
    copy = copying(source, dtype, target, to, _stage(kernel).size, kernel.label)
    return lower_map(copy, context.profile, context.programs)


def _in_words(kernel: Kernel, stage: Scattered, context: Context) -> list[Dispatch]:
    """Combine packed elements on a copy with one word per element, then pack the result."""
    unpacked = in_words(stage.dtype)
    words = context.temporary(stage.size * unpacked.itemsize)
    element = Body(list(stage.element.instructions))
    value = element.add(Convert(unpacked, stage.value))
    over = replace(stage, element=element, value=value, dtype=unpacked, into=words, target=words)
    return [
        _copied(stage.into, stage.dtype, words, unpacked, kernel, context),
        *lower_scatter(replace(kernel, stages=(over,)), context),
        _copied(words, unpacked, stage.target, stage.dtype, kernel, context),
    ]


def scattering_over(kernel: Kernel, context: Context) -> tuple[list[Dispatch], Kernel]:
    """Make the kernel overwrite its base; return the dispatches to run before, and the kernel.

    Values and indices that depend on elements of the base are computed and stored first.
    """
    stage = _stage(kernel)
    stored = replace(stage, into=stage.target)
    if stage.into not in stage.element.slots():
        return [], replace(kernel, stages=(stored,))
    access = Access(row_major(kernel.kept), 0)
    outputs: list[Output] = []
    element = Body()
    values: list[int] = []
    for value, dtype in ((stage.at, uint32), (stage.value, stage.dtype)):
        slot = context.temporary(size_of(kernel.kept) * dtype.itemsize)
        outputs.append(Output(slot, value, dtype, access, whole=False))
        values.append(element.add(Load(slot, dtype, access)))
    first = Kernel(kernel.kept, (), (), stage.element, tuple(outputs), kernel.label)
    stored = replace(stored, element=element, at=values[0], value=values[1])
    return (
        [lower_map(first, context.profile, context.programs)],
        replace(kernel, stages=(stored,)),
    )


def _none(mode: str, dtype: DType) -> int:
    """Return the identity of an operation that combines values."""
    lowest = -(2**31) if dtype.is_signed else 0
    return {"add": 0, "max": lowest, "min": lowest + 2**32 - 1}[mode]


def _stage(kernel: Kernel) -> Scattered:
    stage = kernel.stages[0]
    assert isinstance(stage, Scattered)
    return stage


class _Writer:
    """The interface of one program: bindings, parameters, and the functions a template calls."""

    def __init__(self, kernel: Kernel, *values: int) -> None:
        """`values` are the values of the body that the program computes."""
        self.kernel = kernel
        self.stage = _stage(kernel)
        self.bodies: dict[int, tuple[Body, int]] = {}
        for value in values:
            body = Body()
            self.bodies[value] = body, copied(self.stage.element, [value], body.add)[value]
        element = self.stage.element
        maps = accesses(element)
        dims = range(len(kernel.kept))
        merged = merge_dims(kernel.kept, maps, dims, mask_dims(element))
        self.sweep = Sweep.over(merged, len(kernel.kept), maps)
        computed = [body for body, _ in self.bodies.values()]
        loads = [(load, False) for body in computed for load in body.loads()]
        self.bindings = bind([*loads, *gathered(*computed)], [])
        self.params = Params()
        self.constants = {"NOWHERE": NOWHERE}
        self.code: list[str] = []

    def bind(self, slot: int, dtype: DType, *, writable: bool = False, atomic: bool = False) -> str:
        """Add a binding for a buffer; return its name."""
        self.bindings.append(Binding(slot, dtype, False, writable, atomic))
        return f"b{len(self.bindings) - 1}"

    def put(self, stage: Scattered) -> str:
        """Return a statement that stores the value of an item in the target."""
        self.bindings.append(result(stage.target, stage.dtype))
        return self.bindings[-1].put(len(self.bindings) - 1, stage.dtype, "at", "value_at(item)")

    def computes(self, name: str, value: int, kind: str) -> None:
        """Add a function that computes a value of the body from the number of an item."""
        body, number = self.bodies[value]
        modes = load_modes(body, self.sweep.strides, 1)
        code = BodyCode(body, self.bindings, {**modes}, self.sweep.position)
        self.code.append(code.function(f"{name}_of", self.params, [number], kind))
        split, names = decode_coordinates(self.params, self.sweep.extents, "item", "c")
        arguments = code.arguments(self.params, Space(names, self.sweep.strides, 1), 1, "a")
        call = f"return {name}_of({', '.join(arguments.lanes[0])});"
        self.function(f"{name}_at(item: u32) -> {kind}", [*split, *arguments.statements, call])

    def function(self, head: str, lines: list[str]) -> None:
        self.code.append("\n".join([f"fn {head} {{", *(f"  {line}" for line in lines), "}"]))

    def dispatch(
        self, template: str, variant: str, items: int, cost: int, context: Context
    ) -> Dispatch:
        """Return a dispatch of the program with `items` invocations of `cost` instructions each."""
        workgroup = context.profile.workgroup
        regions = {
            "interface": interface(
                self.bindings, self.params, {"WORKGROUP": workgroup, **self.constants}, *self.code
            )
        }
        body = self.stage.element
        return Dispatch(
            context.programs.get(template, self.kernel.label, self.bindings, regions, variant),
            tuple(b.slot for b in self.bindings),
            tuple(self.params.values),
            tuple(self.params.consts),
            -(-items // workgroup),
            FIRST,
            items * cost,
            size_of(self.kernel.kept) * body.operations,
            self.kernel.traffic(),
        )


@dataclass(frozen=True)
class _Runs:
    """Values sorted by address, cut into chunks, with chunks cut into groups.

    A run may continue into the next chunk. The head of a chunk is the combination of its leading
    values that have one address. The buffer of heads has those of the chunks, then those of the
    groups.

    Attributes
    ----------
    combined : str
        WGSL that combines two values, x and y.
    places, order, heads : int
        Slots of the addresses, of the sorted order of the values, and of the heads.
    chunk, chunks : int
        Values of a chunk, and the number of chunks.
    """

    combined: str
    places: int
    order: int
    heads: int
    chunk: int
    chunks: int

    @property
    def groups(self) -> int:
        return -(-self.chunks // GROUP)


@dataclass(slots=True)
class _Passes:
    """The passes of a scatter over its values."""

    kernel: Kernel
    context: Context
    dispatched: list[Dispatch] = field(default_factory=list[Dispatch])

    @property
    def size(self) -> int:
        return size_of(self.kernel.kept)

    def dispatches(self) -> list[Dispatch]:
        stage = _stage(self.kernel)
        if stage.mode == "set":
            self._set(stage)
        elif stage.dtype.is_wide:
            mode = "add" if stage.mode == "add_atomic" else stage.mode
            if mode == "add" and stage.dtype.is_complex:
                self._combine_in_order(stage, "x + y")
            else:
                self._combine_in_order(stage, _IN_ORDER[mode].format(t=stage.dtype.wgsl))
        elif not stage.dtype.is_floating:
            self._combine_integers(stage)
        elif stage.mode == "add" and not stage.unique:
            self._combine_in_order(stage, "x + y")
        else:
            self._combine_floats(stage, "add_atomic" if stage.mode == "add" else stage.mode)
        return self.dispatched

    def _pass(
        self, variant: str, put: Callable[[_Writer], list[str]], *, values: bool = True
    ) -> None:
        """Add a pass that runs the statements `put` for every value whose address is in range."""
        stage = _stage(self.kernel)
        used = (stage.at, stage.value) if values else (stage.at,)
        writer = _Writer(self.kernel, *used)
        writer.params.extend(self.size, 0)
        writer.computes("place", stage.at, "u32")
        if values:
            writer.computes("value", stage.value, str(stage.dtype.wgsl))
        writer.function("put(at: u32, item: u32)", put(writer))
        cost = stage.element.cost + 8
        self.dispatched.append(writer.dispatch("scatter", variant, self.size, cost, self.context))

    def _set(self, stage: Scattered) -> None:
        """Write the last of the values for each element."""
        if stage.unique:
            self._pass("one value each", lambda writer: [writer.put(stage)])
            return
        last = self.context.temporary(stage.size * uint32.itemsize)

        def winner(writer: _Writer) -> str:
            return writer.bind(last, uint32, writable=True, atomic=True)

        def clear(writer: _Writer) -> list[str]:
            return [f"atomicStore(&{winner(writer)}[at], 0u);"]

        def claim(writer: _Writer) -> list[str]:
            return [f"atomicMax(&{winner(writer)}[at], item + 1u);"]

        def write(writer: _Writer) -> list[str]:
            name = writer.bind(last, uint32)
            return [f"if ({name}[at] == item + 1u) {{ {writer.put(stage)} }}"]

        self._pass("clear", clear, values=False)
        self._pass("claim", claim, values=False)
        self._pass("last value", write)

    def _combine_integers(self, stage: Scattered) -> None:
        mode = "add" if stage.mode == "add_atomic" else stage.mode
        bins = self.context.profile.max_bins
        if stage.size <= bins and stage.size * MIN_FOR_EACH <= self.size:
            self._combine_in_bins(stage, mode)
            return

        def put(writer: _Writer) -> list[str]:
            name = writer.bind(stage.target, stage.dtype, writable=True, atomic=True)
            return [f"{_ATOMIC[mode]}(&{name}[at], value_at(item));"]

        self._pass(mode, put)

    def _combine_in_bins(self, stage: Scattered, mode: str) -> None:
        """Combine values in any order, first within each workgroup and then across workgroups."""
        profile, kind = self.context.profile, str(stage.dtype.wgsl)
        writer = _Writer(self.kernel, stage.at, stage.value)
        chunk = profile.workgroup * -(-self.size // (profile.workgroup * profile.wanted_groups))
        writer.params.extend(self.size, 0, chunk, stage.size)
        writer.constants["BINS"] = profile.max_bins
        writer.code.append(f"alias Element = {kind};")
        writer.code.append("var<workgroup> bins: array<atomic<Element>, BINS>;")
        writer.computes("place", stage.at, "u32")
        writer.computes("value", stage.value, kind)
        none = writer.params.value(_none(mode, stage.dtype), stage.dtype)
        target = writer.bind(stage.target, stage.dtype, writable=True, atomic=True)
        writer.function("none() -> Element", [f"return {none};"])
        arguments = "at: u32, value: Element"
        writer.function(f"combine({arguments})", [f"{_ATOMIC[mode]}(&bins[at], value);"])
        writer.function(f"put({arguments})", [f"{_ATOMIC[mode]}(&{target}[at], value);"])
        invocations = profile.workgroup * -(-self.size // chunk)
        cost = chunk // profile.workgroup * (stage.element.cost + 8)
        self.dispatched.append(
            writer.dispatch("scatter_bins", mode, invocations, cost, self.context)
        )

    def _combine_floats(self, stage: Scattered, mode: str) -> None:
        new, stays = _FLOAT[mode]

        def put(writer: _Writer) -> list[str]:
            name = writer.bind(stage.target, uint32, writable=True, atomic=True)
            return [
                "let value = value_at(item);",
                f"var old = atomicLoad(&{name}[at]);",
                "loop {",
                f"  if ({stays}) {{ break; }}",
                f"  let swap = atomicCompareExchangeWeak(&{name}[at], old, bitcast<u32>({new}));",
                "  if (swap.exchanged) { break; }",
                "  old = swap.old_value;",
                "}",
            ]

        self._pass(mode, put)

    def _combine_in_order(self, stage: Scattered, combined: str) -> None:
        """Combine values in order; `combined` is WGSL that combines x and a later y."""
        size, context = self.size, self.context
        addresses = context.temporary(size * uint32.itemsize)
        order = context.temporary(size * int32.itemsize)
        self._store_places(stage, addresses)
        access = Access((1,), 0)
        bits = stage.size.bit_length()  # NOWHERE alone has all of them set, so it sorts last
        sort = Kernel(
            (),
            (size,),
            (Sorted(Body.of([Load(addresses, uint32, access)]), 0, uint32, False, True, bits),),
            Body(),
            (),
            self.kernel.label,
            Body.of([Accumulated(0, int32)]),
            (Output(order, 0, int32, access, whole=False),),
        )
        self.dispatched += lower_sort(sort, context)
        chunk = 64 if size < LONG else 256
        chunks = -(-size // chunk)
        heads = context.temporary((chunks + -(-chunks // GROUP)) * stage.dtype.itemsize)
        runs = _Runs(combined, addresses, order, heads, chunk, chunks)
        if chunks > 1:
            self._combine_heads(stage, runs)
        if chunks > GROUP:
            self._combine_heads_of_groups(stage, runs)
        self._combine_runs(stage, runs)

    def _store_places(self, stage: Scattered, addresses: int) -> None:
        body = Body()
        value = copied(stage.element, [stage.at], body.add)[stage.at]
        access = Access(row_major(self.kernel.kept), 0)
        output = Output(addresses, value, uint32, access, whole=False)
        kernel = Kernel(self.kernel.kept, (), (), body, (output,), self.kernel.label)
        self.dispatched.append(lower_map(kernel, self.context.profile, self.context.programs))

    def _combine_heads(self, stage: Scattered, runs: _Runs) -> None:
        """Combine the leading values of each chunk that have one address."""
        writer = _Writer(self.kernel, stage.value)
        writer.params.extend(runs.chunks, 0, self.size, runs.chunk)
        self._read_values(writer, runs)
        heads = writer.bind(runs.heads, stage.dtype, writable=True)
        writer.function("store_head(chunk: u32, total: Element)", [f"{heads}[chunk] = total;"])
        self._add(writer, "scatter_heads", "values", runs.chunks, runs.chunk)

    def _combine_heads_of_groups(self, stage: Scattered, runs: _Runs) -> None:
        """Combine the leading heads of each group of chunks that have one address."""
        writer = _Writer(self.kernel)
        writer.params.extend(runs.groups, 0, runs.chunks, GROUP)
        self._combine(writer, runs)
        addresses, order = writer.bind(runs.places, uint32), writer.bind(runs.order, int32)
        heads = writer.bind(runs.heads, stage.dtype, writable=True)
        first, behind = writer.params.add(runs.chunk), writer.params.add(runs.chunks)
        writer.function("place_of(p: u32) -> u32", [f"return {addresses}[{order}[p * {first}]];"])
        writer.function("sorted_value(p: u32) -> Element", [f"return {heads}[p];"])
        writer.function(
            "store_head(group: u32, total: Element)", [f"{heads}[{behind} + group] = total;"]
        )
        self._add(writer, "scatter_heads", "heads", runs.groups, GROUP)

    def _combine_runs(self, stage: Scattered, runs: _Runs) -> None:
        """Combine every run with the element at its address, in the chunk where the run begins."""
        writer = _Writer(self.kernel, stage.value)
        writer.params.extend(runs.chunks, 0, self.size, runs.chunk)
        self._read_values(writer, runs)
        heads = writer.bind(runs.heads, stage.dtype)
        target = writer.bind(stage.target, stage.dtype, writable=True)
        writer.constants["GROUP"] = GROUP
        writer.function("head_of(chunk: u32) -> Element", [f"return {heads}[chunk];"])
        writer.function("load_element(at: u32) -> Element", [f"return {target}[at];"])
        writer.function("store_element(at: u32, total: Element)", [f"{target}[at] = total;"])
        self._add(writer, "scatter_add", "in order", runs.chunks, runs.chunk)

    def _read_values(self, writer: _Writer, runs: _Runs) -> None:
        self._combine(writer, runs)
        writer.computes("value", writer.stage.value, "Element")
        addresses, order = writer.bind(runs.places, uint32), writer.bind(runs.order, int32)
        writer.function("place_of(p: u32) -> u32", [f"return {addresses}[{order}[p]];"])
        writer.function("sorted_value(p: u32) -> Element", [f"return value_at(u32({order}[p]));"])

    def _combine(self, writer: _Writer, runs: _Runs) -> None:
        writer.code.append(f"alias Element = {writer.stage.dtype.wgsl};")
        writer.function("combined(x: Element, y: Element) -> Element", [f"return {runs.combined};"])

    def _add(
        self, writer: _Writer, template: str, variant: str, invocations: int, length: int
    ) -> None:
        cost = length * (writer.stage.element.cost + 8)
        self.dispatched.append(writer.dispatch(template, variant, invocations, cost, self.context))
