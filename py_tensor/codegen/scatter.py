"""Scatter: writing values at indices, with a result that does not depend on execution order.

Assignment keeps the last of several values for one element: a first pass finds the greatest
position. Values that may be combined in any order use atomic operations; with few elements, each
workgroup first combines its own values. Float sums are added in the order of the values. Two-word
elements have no atomic operations and are combined in order too. For that, the addresses are
sorted, which makes values of equal address neighbours (a run), and one invocation combines a run. A
long run is cut into chunks, whose results are combined in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from py_tensor.base.dtypes import DType, in_words, int32, uint32
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.emit import Space, decode_coordinates
from py_tensor.codegen.map import Sweep, copying, lower_map, mapped
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.sort import lower_sort, row_kernel
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.schedule.body import NOWHERE, Access, Body, Convert, Load, copied
from py_tensor.schedule.kernel import Kernel, Output, Scattered, Sorted

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
    stage = stage_of(kernel, Scattered)
    if stage.dtype.is_packed and stage.mode != "set":
        return _in_words(kernel, stage, context)
    copies: list[Dispatch] = []
    if stage.into != stage.target:
        base = stage.into, stage.dtype, stage.target, stage.dtype
        copies = [lower_map(copying(*base, stage.size, kernel.label), context)]
    return [*copies, *_Passes(kernel, context).dispatches()]


def _in_words(kernel: Kernel, stage: Scattered, context: Context) -> list[Dispatch]:
    """Combine packed elements on a copy with one word per element, then pack the result."""
    size, packed, unpacked = stage.size, stage.dtype, in_words(stage.dtype)
    words = context.temporary(size * unpacked.itemsize)
    element = Body(list(stage.element.instructions))
    value = element.add(Convert(unpacked, stage.value))
    over = replace(stage, element=element, value=value, dtype=unpacked, into=words, target=words)
    return [
        lower_map(copying(stage.into, packed, words, unpacked, size, kernel.label), context),
        *lower_scatter(replace(kernel, stages=(over,)), context),
        lower_map(copying(words, unpacked, stage.target, packed, size, kernel.label), context),
    ]


def scattering_over(
    kernel: Kernel, last: Mapping[int, int], context: Context
) -> tuple[list[Dispatch], Kernel, dict[int, int]]:
    """Make the kernel overwrite its base, if that is in `last`; see `lower.Family.over`.

    Values and indices that depend on elements of the base are computed and stored first.
    """
    stage = stage_of(kernel, Scattered)
    if stage.into not in last:
        return [], kernel, {}
    dispatches: list[Dispatch] = []
    stored = replace(stage, into=stage.target)
    if stage.into in stage.element.slots():
        access = Access(row_major(kernel.kept), 0)
        outputs: list[Output] = []
        element = Body()
        values: list[int] = []
        for value, dtype in ((stage.at, uint32), (stage.value, stage.dtype)):
            slot = context.temporary(size_of(kernel.kept) * dtype.itemsize)
            outputs.append(Output(slot, value, dtype, access, whole=False))
            values.append(element.add(Load(slot, dtype, access)))
        first = mapped(kernel.kept, stage.element, kernel.label, *outputs)
        dispatches.append(lower_map(first, context))
        stored = replace(stored, element=element, at=values[0], value=values[1])
    return dispatches, replace(kernel, stages=(stored,)), {stage.target: stage.into}


def _none(mode: str, dtype: DType) -> int:
    """Return the identity of an operation that combines values."""
    lowest = -(2**31) if dtype.is_signed else 0
    return {"add": 0, "max": lowest, "min": lowest + 2**32 - 1}[mode]


class _Writer(Writer):
    """A program that computes some values of the body of a kernel that scatters."""

    def __init__(self, kernel: Kernel, context: Context, values: Sequence[int], *params: int):
        super().__init__(kernel, context, *params)
        self.stage = stage_of(kernel, Scattered)
        self.bodies: dict[int, tuple[Body, int]] = {}
        for value in values:
            body = Body()
            self.bodies[value] = body, copied(self.stage.element, [value], body.add)[value]
        self.sweep = Sweep.over(kernel.kept, self.stage.element)
        self.bind_bodies([(body, self.sweep.strides, 1) for body, _ in self.bodies.values()])
        self.constants |= {"WORKGROUP": context.profile.workgroup, "NOWHERE": NOWHERE}

    def computes(self, name: str, value: int, kind: str) -> None:
        """Add a function that computes a value of the body from the number of an item."""
        body, number = self.bodies[value]
        split, names = decode_coordinates(self.params, self.sweep.extents, "item", "c")
        space, dim = Space(names, self.sweep.strides, 1), self.sweep.position
        statements, call = self.element(f"{name}_of", body, number, space, dim, kind)
        self.function(f"{name}_at(item: u32) -> {kind}", *split, *statements, f"return {call};")

    def scattering(self, template: str, variant: str, items: int, length: int = 1) -> Dispatch:
        """Return a dispatch of the program with `items` invocations for `length` values each."""
        element = self.stage.element
        return self.dispatch(
            template,
            variant,
            -(-items // self.context.profile.workgroup),
            work=items * length * (element.cost + 8),
            operations=size_of(self.kernel.kept) * element.operations,
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


class _Passes:
    """The passes of a scatter over its values."""

    def __init__(self, kernel: Kernel, context: Context) -> None:
        self.kernel, self.context = kernel, context
        self.dispatched: list[Dispatch] = []
        self.stage = stage_of(self.kernel, Scattered)
        self.mode = "add" if self.stage.mode == "add_atomic" else self.stage.mode
        self.size = size_of(self.kernel.kept)

    def dispatches(self) -> list[Dispatch]:
        stage, dtype = self.stage, self.stage.dtype
        if self.mode == "set":
            self._set()
        elif dtype.is_wide or (dtype.is_floating and stage.mode == "add" and not stage.unique):
            self._combine_in_order()
        elif dtype.is_floating:
            self._combine_floats()
        elif self._fits_bins():
            self._combine_in_bins()
        else:
            writer = self._writer()
            target = writer.bind(stage.target, dtype, writable=True, atomic=True)
            self._put(writer, self.mode, f"{_ATOMIC[self.mode]}(&{target}[at], value_at(item));")
        return self.dispatched

    def _writer(self, *, values: bool = True) -> _Writer:
        """Return a program with an invocation for each value, or for each address alone."""
        stage = self.stage
        used = (stage.at, stage.value) if values else (stage.at,)
        writer = _Writer(self.kernel, self.context, used, self.size)
        writer.computes("place", stage.at, "u32")
        if values:
            writer.computes("value", stage.value, str(stage.dtype.wgsl))
        return writer

    def _put(self, writer: _Writer, variant: str, *statements: str) -> None:
        """Add a pass that runs statements for every value whose address is in range."""
        writer.function("put(at: u32, item: u32)", *statements)
        self.dispatched.append(writer.scattering("scatter", variant, self.size))

    def _set(self) -> None:
        """Write the last of the values for each element."""
        stage = self.stage
        if stage.unique:
            writer = self._writer()
            put = writer.put(stage.target, stage.dtype, "at", "value_at(item)")
            self._put(writer, "one value each", put)
            return
        last = self.context.temporary(stage.size * uint32.itemsize)
        firsts = {"clear": "atomicStore({}, 0u);", "claim": "atomicMax({}, item + 1u);"}
        for variant, put in firsts.items():
            writer = self._writer(values=False)
            name = writer.bind(last, uint32, writable=True, atomic=True)
            self._put(writer, variant, put.format(f"&{name}[at]"))
        writer = self._writer()
        name = writer.bind(last, uint32)
        put = writer.put(stage.target, stage.dtype, "at", "value_at(item)")
        self._put(writer, "last value", f"if ({name}[at] == item + 1u) {{ {put} }}")

    def _fits_bins(self) -> bool:
        size = self.stage.size
        return size <= self.context.profile.max_bins and size * MIN_FOR_EACH <= self.size

    def _combine_in_bins(self) -> None:
        """Combine values in any order, first within each workgroup and then across workgroups."""
        stage, mode, profile = self.stage, self.mode, self.context.profile
        chunk = profile.workgroup * -(-self.size // (profile.workgroup * profile.wanted_groups))
        used = stage.at, stage.value
        writer = _Writer(self.kernel, self.context, used, self.size, chunk, stage.size)
        writer.constants["BINS"] = profile.max_bins
        writer.code.append(f"alias Element = {stage.dtype.wgsl};")
        writer.code.append("var<workgroup> bins: array<atomic<Element>, BINS>;")
        writer.computes("place", stage.at, "u32")
        writer.computes("value", stage.value, str(stage.dtype.wgsl))
        none = writer.params.value(_none(mode, stage.dtype), stage.dtype)
        target = writer.bind(stage.target, stage.dtype, writable=True, atomic=True)
        writer.function("none() -> Element", f"return {none};")
        arguments = "at: u32, value: Element"
        writer.function(f"combine({arguments})", f"{_ATOMIC[mode]}(&bins[at], value);")
        writer.function(f"put({arguments})", f"{_ATOMIC[mode]}(&{target}[at], value);")
        invocations = profile.workgroup * -(-self.size // chunk)
        each = chunk // profile.workgroup
        self.dispatched.append(writer.scattering("scatter_bins", mode, invocations, each))

    def _combine_floats(self) -> None:
        mode = "add_atomic" if self.mode == "add" else self.mode
        new, stays = _FLOAT[mode]
        writer = self._writer()
        target = writer.bind(self.stage.target, uint32, writable=True, atomic=True)
        self._put(
            writer,
            mode,
            "let value = value_at(item);",
            f"var old = atomicLoad(&{target}[at]);",
            "loop {",
            f"  if ({stays}) {{ break; }}",
            f"  let swap = atomicCompareExchangeWeak(&{target}[at], old, bitcast<u32>({new}));",
            "  if (swap.exchanged) { break; }",
            "  old = swap.old_value;",
            "}",
        )

    def _combine_in_order(self) -> None:
        """Sort the values by address, then combine those of each address in order."""
        stage, size, context = self.stage, self.size, self.context
        combined = "x + y"
        if self.mode != "add" or stage.dtype.is_integer:
            combined = _IN_ORDER[self.mode].format(t=stage.dtype.wgsl)
        addresses = context.temporary(size * uint32.itemsize)
        order = context.temporary(size * int32.itemsize)
        self._store_places(addresses)
        bits = stage.size.bit_length()  # NOWHERE alone has all of them set, so it sorts last
        element = Body.of([Load(addresses, uint32, Access((1,), 0))])
        by_address = Sorted(element, 0, uint32, descending=False, indices=True, bits=bits)
        sort = row_kernel(by_address, size, int32, order, self.kernel.label)
        self.dispatched += lower_sort(sort, context)
        chunk = 64 if size < LONG else 256
        chunks = -(-size // chunk)
        heads = context.temporary((chunks + -(-chunks // GROUP)) * stage.dtype.itemsize)
        runs = _Runs(combined, addresses, order, heads, chunk, chunks)
        if chunks > 1:
            self._combine_heads(runs)
        if chunks > GROUP:
            self._combine_heads_of_groups(runs)
        self._combine_runs(runs)

    def _store_places(self, addresses: int) -> None:
        body = Body()
        value = copied(self.stage.element, [self.stage.at], body.add)[self.stage.at]
        access = Access(row_major(self.kernel.kept), 0)
        output = Output(addresses, value, uint32, access, whole=False)
        kernel = mapped(self.kernel.kept, body, self.kernel.label, output)
        self.dispatched.append(lower_map(kernel, self.context))

    def _combine_heads(self, runs: _Runs) -> None:
        """Combine the leading values of each chunk that have one address."""
        writer = self._reading_values(runs)
        heads = writer.bind(runs.heads, self.stage.dtype, writable=True)
        writer.function("store_head(chunk: u32, total: Element)", f"{heads}[chunk] = total;")
        self.dispatched.append(
            writer.scattering("scatter_heads", "values", runs.chunks, runs.chunk)
        )

    def _combine_heads_of_groups(self, runs: _Runs) -> None:
        """Combine the leading heads of each group of chunks that have one address."""
        writer = _Writer(self.kernel, self.context, (), runs.groups, runs.chunks, GROUP)
        self._combine(writer, runs)
        addresses, order = writer.bind(runs.places, uint32), writer.bind(runs.order, int32)
        heads = writer.bind(runs.heads, self.stage.dtype, writable=True)
        first, behind = writer.params.add(runs.chunk), writer.params.add(runs.chunks)
        writer.function("place_of(p: u32) -> u32", f"return {addresses}[{order}[p * {first}]];")
        writer.function("sorted_value(p: u32) -> Element", f"return {heads}[p];")
        writer.function(
            "store_head(group: u32, total: Element)", f"{heads}[{behind} + group] = total;"
        )
        self.dispatched.append(writer.scattering("scatter_heads", "heads", runs.groups, GROUP))

    def _combine_runs(self, runs: _Runs) -> None:
        """Combine every run with the element at its address, in the chunk where the run begins."""
        writer = self._reading_values(runs)
        heads = writer.bind(runs.heads, self.stage.dtype)
        target = writer.bind(self.stage.target, self.stage.dtype, writable=True)
        writer.constants["GROUP"] = GROUP
        writer.function("head_of(chunk: u32) -> Element", f"return {heads}[chunk];")
        writer.function("load_element(at: u32) -> Element", f"return {target}[at];")
        writer.function("store_element(at: u32, total: Element)", f"{target}[at] = total;")
        self.dispatched.append(
            writer.scattering("scatter_add", "in order", runs.chunks, runs.chunk)
        )

    def _reading_values(self, runs: _Runs) -> _Writer:
        """Return a program with an invocation for each chunk, which reads values in order."""
        counts = runs.chunks, self.size, runs.chunk
        writer = _Writer(self.kernel, self.context, (self.stage.value,), *counts)
        self._combine(writer, runs)
        writer.computes("value", self.stage.value, "Element")
        addresses, order = writer.bind(runs.places, uint32), writer.bind(runs.order, int32)
        writer.function("place_of(p: u32) -> u32", f"return {addresses}[{order}[p]];")
        writer.function("sorted_value(p: u32) -> Element", f"return value_at(u32({order}[p]));")
        return writer

    def _combine(self, writer: _Writer, runs: _Runs) -> None:
        writer.code.append(f"alias Element = {writer.stage.dtype.wgsl};")
        writer.function("combined(x: Element, y: Element) -> Element", f"return {runs.combined};")
