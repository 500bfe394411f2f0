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
from dataclasses import replace

from py_tensor.base.dtypes import in_words, int32, uint32
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.map import copying, lower_map, mapped
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.sort import lower_sort, row_kernel
from py_tensor.codegen.walk import Space, Sweep, decode_coordinates
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
    dispatches: list[Dispatch] = []
    if stage.into != stage.target:
        base = stage.into, stage.dtype, stage.target, stage.dtype
        dispatches = [lower_map(copying(*base, stage.size, kernel.label), context)]
    dtype, ordered = stage.dtype, stage.mode == "add" and not stage.unique
    stage = replace(stage, mode="add") if stage.mode == "add_atomic" else stage
    passes = _Passes(kernel, stage, context)
    if stage.mode == "set":
        return dispatches + passes.set()
    if dtype.is_wide or (dtype.is_floating and ordered):
        return dispatches + _Runs(kernel, stage, context).dispatches()
    if dtype.is_floating:
        return [*dispatches, passes.combine_floats()]
    return [*dispatches, passes.combine()]


def _in_words(kernel: Kernel, stage: Scattered, context: Context) -> list[Dispatch]:
    """Combine packed elements on a copy with one word per element, then pack the result."""
    size, packed, unpacked = stage.size, stage.dtype, in_words(stage.dtype)
    words = context.temporary(size * unpacked.itemsize)
    element = Body(list(stage.element.instructions))
    value = element.add(Convert(unpacked, (stage.value,)))
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
        self.bind_bodies([(body, self.sweep, 1) for body, _ in self.bodies.values()])
        self.constants |= {"WORKGROUP": context.profile.workgroup, "NOWHERE": NOWHERE}

    def computes(self, name: str, value: int) -> None:
        """Add a function that computes a value of the body from the number of an item."""
        body, number = self.bodies[value]
        split, names = decode_coordinates(self.params, self.sweep.extents, "item", "c")
        statements, call = self.element(f"{name}_of", body, number, Space(names, self.sweep, 1))
        head = f"{name}_at(item: u32) -> {body.dtype(number).wgsl}"
        self.function(head, *split, *statements, f"return {call};")

    def scattering(self, template: str, variant: str, items: int, length: int = 1) -> Dispatch:
        """Return a dispatch of the program with `items` invocations for `length` values each."""
        element, groups = self.stage.element, -(-items // self.context.profile.workgroup)
        work = items * length * (element.cost + 8)
        operations = size_of(self.kernel.kept) * element.operations
        return self.dispatch(template, variant, groups, work=work, operations=operations)


class _Passes:
    """The passes of a scatter that combines `size` values in any order."""

    def __init__(self, kernel: Kernel, stage: Scattered, context: Context) -> None:
        self.kernel, self.stage, self.context = kernel, stage, context
        self.size = size_of(kernel.kept)

    def _writer(self, *sizes: int, values: bool = True) -> _Writer:
        """Return a program with an invocation for each value, or for each address alone."""
        stage = self.stage
        used = (stage.at, stage.value) if values else (stage.at,)
        writer = _Writer(self.kernel, self.context, used, self.size, *sizes)
        writer.computes("place", stage.at)
        if values:
            writer.computes("value", stage.value)
        return writer

    def _put(self, writer: _Writer, variant: str, *statements: str) -> Dispatch:
        """Return a pass that runs statements for every value whose address is in range."""
        writer.function("put(at: u32, item: u32)", *statements)
        return writer.scattering("scatter", variant, self.size)

    def set(self) -> list[Dispatch]:
        """Write the last of the values for each element."""
        stage = self.stage
        if stage.unique:
            writer = self._writer()
            put = writer.put(stage.target, stage.dtype, "at", "value_at(item)")
            return [self._put(writer, "one value each", put)]
        last = self.context.temporary(stage.size * uint32.itemsize)
        dispatches: list[Dispatch] = []
        firsts = {"clear": "atomicStore({}, 0u);", "claim": "atomicMax({}, item + 1u);"}
        for variant, put in firsts.items():
            writer = self._writer(values=False)
            name = writer.bind(last, uint32, writable=True, atomic=True)
            dispatches.append(self._put(writer, variant, put.format(f"&{name}[at]")))
        writer = self._writer()
        name = writer.bind(last, uint32)
        put = writer.put(stage.target, stage.dtype, "at", "value_at(item)")
        put = f"if ({name}[at] == item + 1u) {{ {put} }}"
        return [*dispatches, self._put(writer, "last value", put)]

    def combine(self) -> Dispatch:
        """Combine integers by atomic operations."""
        stage = self.stage
        if stage.size <= min(self.context.profile.max_bins, self.size // MIN_FOR_EACH):
            return self._combine_in_bins()
        writer = self._writer()
        target = writer.bind(stage.target, stage.dtype, writable=True, atomic=True)
        put = f"{_ATOMIC[stage.mode]}(&{target}[at], value_at(item));"
        return self._put(writer, stage.mode, put)

    def _combine_in_bins(self) -> Dispatch:
        """Combine integers first within each workgroup and then across workgroups."""
        stage, profile = self.stage, self.context.profile
        each = -(-self.size // (profile.workgroup * profile.wanted_groups))
        chunk = profile.workgroup * each
        writer = self._writer(chunk, stage.size)
        writer.constants["BINS"] = profile.max_bins
        writer.code.append(f"alias Element = {stage.dtype.wgsl};")
        writer.code.append("var<workgroup> bins: array<atomic<Element>, BINS>;")
        lowest = -(2**31) if stage.dtype.is_signed else 0
        identity = {"add": 0, "max": lowest, "min": lowest + 2**32 - 1}[stage.mode]
        none = writer.params.value(identity, stage.dtype)
        target = writer.bind(stage.target, stage.dtype, writable=True, atomic=True)
        writer.function("none() -> Element", f"return {none};")
        for name, bins in {"combine": "bins", "put": target}.items():
            combined = f"{_ATOMIC[stage.mode]}(&{bins}[at], value);"
            writer.function(f"{name}(at: u32, value: Element)", combined)
        invocations = profile.workgroup * -(-self.size // chunk)
        return writer.scattering("scatter_bins", stage.mode, invocations, each)

    def combine_floats(self) -> Dispatch:
        """Combine floats by comparing and exchanging their bits."""
        mode = "add_atomic" if self.stage.mode == "add" else self.stage.mode
        new, stays = _FLOAT[mode]
        writer = self._writer()
        target = writer.bind(self.stage.target, uint32, writable=True, atomic=True)
        return self._put(
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


class _Runs(_Passes):
    """Values sorted by address, cut into chunks, with chunks cut into groups.

    A run may continue into the next chunk. The head of a chunk is the combination of its leading
    values that have one address. The buffer of heads has those of the chunks, then those of the
    groups.

    Attributes
    ----------
    addresses, order, heads : int
        Slots of the addresses, of the sorted order of the values, and of the heads.
    chunk, chunks : int
        Values of a chunk, and the number of chunks.
    """

    def __init__(self, kernel: Kernel, stage: Scattered, context: Context) -> None:
        super().__init__(kernel, stage, context)
        self.chunk = 64 if self.size < LONG else 256
        self.chunks = -(-self.size // self.chunk)
        heads = self.chunks + -(-self.chunks // GROUP)
        self.addresses, self.order = (context.temporary(self.size * 4) for _ in range(2))
        self.heads = context.temporary(heads * stage.dtype.itemsize)

    def dispatches(self) -> list[Dispatch]:
        """Sort the values by address, then combine those of each address in order."""
        stage, label, body = self.stage, self.kernel.label, Body()
        value = copied(stage.element, [stage.at], body.add)[stage.at]
        access = Access(row_major(self.kernel.kept), 0)
        output = Output(self.addresses, value, uint32, access, whole=False)
        dispatches = [lower_map(mapped(self.kernel.kept, body, label, output), self.context)]
        bits = stage.size.bit_length()  # NOWHERE alone has all of them set, so it sorts last
        element = Body.of([Load(self.addresses, uint32, Access((1,), 0))])
        by_address = Sorted(element, 0, uint32, descending=False, indices=True, bits=bits)
        ordered = row_kernel(by_address, self.size, int32, self.order, label)
        dispatches += lower_sort(ordered, self.context)
        if self.chunks > 1:
            dispatches.append(self._combine_heads())
        if self.chunks > GROUP:
            dispatches.append(self._combine_heads_of_groups())
        return [*dispatches, self._combine()]

    def _writer(self, *sizes: int, values: bool = True) -> _Writer:
        """Return a program that reads values in order, or only the address of each chunk."""
        stage, mode = self.stage, self.stage.mode
        writer = _Writer(self.kernel, self.context, (stage.value,) if values else (), *sizes)
        writer.code.append(f"alias Element = {stage.dtype.wgsl};")
        in_floats = mode == "add" and not stage.dtype.is_integer
        combined = "x + y" if in_floats else _IN_ORDER[mode].format(t=stage.dtype.wgsl)
        writer.function("combined(x: Element, y: Element) -> Element", f"return {combined};")
        if values:
            writer.computes("value", stage.value)
        addresses, order = writer.bind(self.addresses, uint32), writer.bind(self.order, int32)
        step = f" * {writer.params.add(self.chunk)}" if not values else ""
        writer.function("place_of(p: u32) -> u32", f"return {addresses}[{order}[p{step}]];")
        if values:
            value = f"value_at(u32({order}[p]))"
            writer.function("sorted_value(p: u32) -> Element", f"return {value};")
        return writer

    def _combine_heads(self) -> Dispatch:
        """Combine the leading values of each chunk that have one address."""
        writer = self._writer(self.chunks, self.size, self.chunk)
        heads = writer.bind(self.heads, self.stage.dtype, writable=True)
        writer.function("store_head(chunk: u32, total: Element)", f"{heads}[chunk] = total;")
        return writer.scattering("scatter_heads", "values", self.chunks, self.chunk)

    def _combine_heads_of_groups(self) -> Dispatch:
        """Combine the leading heads of each group of chunks that have one address."""
        groups = -(-self.chunks // GROUP)
        writer = self._writer(groups, self.chunks, GROUP, values=False)
        heads = writer.bind(self.heads, self.stage.dtype, writable=True)
        behind = f"{heads}[{writer.params.add(self.chunks)} + group]"
        writer.function("sorted_value(p: u32) -> Element", f"return {heads}[p];")
        writer.function("store_head(group: u32, total: Element)", f"{behind} = total;")
        return writer.scattering("scatter_heads", "heads", groups, GROUP)

    def _combine(self) -> Dispatch:
        """Combine every run with the element at its address, in the chunk where the run begins."""
        writer = self._writer(self.chunks, self.size, self.chunk)
        heads = writer.bind(self.heads, self.stage.dtype)
        target = writer.bind(self.stage.target, self.stage.dtype, writable=True)
        writer.constants["GROUP"] = GROUP
        writer.function("head_of(chunk: u32) -> Element", f"return {heads}[chunk];")
        writer.function("load_element(at: u32) -> Element", f"return {target}[at];")
        writer.function("store_element(at: u32, total: Element)", f"{target}[at] = total;")
        return writer.scattering("scatter_add", "in order", self.chunks, self.chunk)
