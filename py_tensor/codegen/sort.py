"""Sorting along one dimension, by unsigned order keys (`shaders/lib/order.wgsl`).

A short row is sorted by one workgroup. Longer rows use a radix sort, starting at the least
significant digit of the keys (Satish, Harris and Garland, Designing efficient sorting algorithms
for manycore GPUs, 2009). Each pass counts the digits in every tile, scans the counts, and moves the
elements and, for `argsort`, their positions. The passes move the elements' own bits, not the keys:
-0 and 0 have the same key and keep their sign. Elements of two words are sorted by the lower word
and then by the upper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from py_tensor.base.dtypes import DType, int32, uint32, uint64
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import Binding, as_words, from_words
from py_tensor.codegen.emit import BodyCode, Space, address, decode_padded
from py_tensor.codegen.map import interface, lower_map, result
from py_tensor.codegen.program import FAULT_WORDS, Dispatch, Params
from py_tensor.codegen.reduce import Context, arrange
from py_tensor.codegen.reduce_wgsl import load_modes
from py_tensor.codegen.scan import lower_scan
from py_tensor.codegen.walk import Dimensions
from py_tensor.ir.primitives import SORT_KEY, SUM
from py_tensor.schedule.body import Access, Accumulated, Address, Apply, Body, Gather, Load
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, ReduceStage, Scanned, Sorted

FIRST = 2  # position in params of the first workgroup's number
SHORT = 4  # elements per invocation where one workgroup sorts a row
TILE = 8  # elements per invocation in a tile of a radix sort
DIGIT_BITS = 4  # bits of the keys per pass; its counters fit in 16 KiB of workgroup memory
_KEY = {"f32": "order_key_f32({})", "i32": "order_key_i32({})", "bool": "u32({})"}


def lower_sort(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel that sorts."""
    if _stage(kernel).dtype.is_wide:
        return _by_words(kernel, context)
    rows, (length,) = size_of(kernel.kept), kernel.reduced
    most = SHORT * context.profile.workgroup
    if length > most:
        return _Radix(kernel, context).dispatches()
    writer = _Writer(kernel, context.profile)
    width = 1 << max(0, length - 1).bit_length()
    writer.add_params(rows, length, 0, width)
    writer.read_operand()
    writer.key()
    writer.write_result("store_result", "row: u32, at: u32, raw: u32, place: u32")
    cost = width.bit_length() ** 2
    return [writer.dispatch("sort_bitonic", -(-rows * width // most), cost, context)]


def _by_words(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Sort elements of two words: first by the lower word, then by the upper.

    Complex elements are sorted by the words of their keys.
    """
    stage, space = _stage(kernel), kernel.kept + kernel.reduced
    flat = Access(row_major(space), 0)
    values, first, second = (context.temporary(size_of(space) * n) for n in (8, 4, 4))

    def mapped(body: Body, output: Output) -> Dispatch:
        stored = Kernel(space, (), (), body, (output,), kernel.label)
        return lower_map(stored, context.profile, context.programs)

    def taken(body: Body, source: int, dtype: DType, index: int, *, step: int = 1) -> int:
        """Return the element at a position of each row; with a step of 2, its upper word."""
        rows = Access((*(step * s for s in flat.strides[:-1]), 0), step - 1)
        address = body.add(Address(rows, (index,), kernel.reduced, (step,), clips=True))
        return body.add(Gather(source, dtype, address))

    def in_order(body: Body, value: int, target: int) -> list[Dispatch]:
        dtype = body.dtype(value)
        by_word = replace(stage, element=body, value=value, dtype=dtype, indices=True)
        output = Output(target, 0, int32, flat, whole=False)
        spread = Body.of([Accumulated(0, int32)])
        return lower_sort(
            replace(kernel, stages=(by_word,), spread=spread, spread_outputs=(output,)), context
        )

    dispatches = [
        mapped(stage.element, Output(values, stage.value, stage.dtype, flat, whole=False))
    ]
    keys = values
    if stage.dtype.is_complex:
        keys = context.temporary(size_of(space) * 8)
        made = Body.of([Load(values, stage.dtype, flat), Apply(SORT_KEY, uint64, (0,))])
        dispatches.append(mapped(made, Output(keys, 1, uint64, flat, whole=False)))
    lower = Body.of([Load(keys, uint32, Access(tuple(2 * s for s in flat.strides), 0))])
    dispatches += in_order(lower, 0, first)
    upper = Body()
    word = int32 if stage.dtype.is_signed else uint32
    of_upper = taken(upper, keys, word, upper.add(Load(first, int32, flat)), step=2)
    dispatches += in_order(upper, of_upper, second)
    last = Body()
    ordered = taken(last, first, int32, last.add(Load(second, int32, flat)))
    ordered = ordered if stage.indices else taken(last, values, stage.dtype, ordered)
    return [*dispatches, mapped(last, replace(kernel.spread_outputs[0], value=ordered))]


def _stage(kernel: Kernel) -> Sorted:
    stage = kernel.stages[0]
    assert isinstance(stage, Sorted)
    return stage


def _dimensions(kernel: Kernel, profile: AdapterProfile) -> Dimensions:
    """Return the merged kept dimensions, then the sorted dimension."""
    element = _stage(kernel).element
    walk = arrange(replace(kernel, stages=(ReduceStage(element, ()),)), [element], profile)
    return replace(walk.dims, by_rows=True)


@dataclass(slots=True)
class _Words:
    """Slots of the buffers between passes: the bits of the elements, and their positions."""

    raw: int
    place: int | None


class _Writer:
    """The interface of one program: bindings, parameters, and the functions a template calls."""

    def __init__(self, kernel: Kernel, profile: AdapterProfile) -> None:
        self.kernel = kernel
        self.profile = profile
        self.stage = _stage(kernel)
        self.dims = _dimensions(kernel, profile)
        self.output: Output = kernel.spread_outputs[0]
        self.params = Params()
        self.bindings: list[Binding] = []
        self.constants: dict[str, int] = {"WORKGROUP": profile.workgroup}
        self.code: list[str] = []

    def add_params(self, *values: int) -> None:
        for value in values:
            self.params.add(value)

    def bind(self, slot: int, dtype: DType, *, writable: bool = False) -> str:
        """Add a binding for a buffer; return its name."""
        self.bindings.append(Binding(slot, dtype, vector=False, writable=writable))
        return f"b{len(self.bindings) - 1}"

    def read_operand(self) -> None:
        """Add `load_raw`, which computes an element of a row from the kernel's operands."""
        body, dims = self.stage.element, self.dims
        reads = (*body.loads(), *body.gathers())
        for slot, dtype in dict.fromkeys((x.slot, x.dtype) for x in reads):
            self.bind(slot, dtype)
        if body.checks():
            self.bindings.append(FAULT_WORDS)
        modes = load_modes(body, dims.space_strides, 1)
        code = BodyCode(body, self.bindings, {**modes}, dims.space_dim)
        kind = str(self.stage.dtype.wgsl)
        self.code.append(code.function("element", self.params, [self.stage.value], kind))
        split, space = self._space("j")
        arguments = code.arguments(self.params, space, 1, "a")
        value = f"element({', '.join(arguments.lanes[0])})"
        (bits,) = as_words(self.stage.dtype, value)
        self.function(
            "load_raw(row: u32, j: u32) -> u32",
            [*split, *arguments.statements, f"return {bits};"],
        )

    def read_words(self, words: _Words) -> None:
        """Add `load_raw`, which reads the elements that the previous pass stored."""
        name = self.bind(words.raw, uint32)
        self.function("load_raw(row: u32, j: u32) -> u32", [f"return {self._word(name, 'j')};"])

    def read_places(self, words: _Words | None) -> None:
        position = "j"
        if words is not None and words.place is not None:
            position = self._word(self.bind(words.place, uint32), "j")
        self.function("load_place(row: u32, j: u32) -> u32", [f"return {position};"])

    def key(self) -> None:
        """Add `key_of`, which computes the sort key from the bits of an element."""
        dtype = self.stage.dtype
        key = _KEY.get(str(dtype.wgsl), "{}").format(from_words(dtype, "raw"))
        flipped = self.params.add(-1 if self.stage.descending else 0)
        key = f"{key} ^ {flipped}"
        self.function("key_of(raw: u32) -> u32", [f"return {key};"])

    def write_words(self, name: str, arguments: str, slot: int | None) -> None:
        """Add a function that stores its last argument for the next pass, if there is a slot."""
        lines: list[str] = []
        if slot is not None:
            value = arguments.split(", ")[-1].partition(":")[0]
            lines = [f"{self._word(self.bind(slot, uint32, writable=True), 'at')} = {value};"]
        self.function(f"{name}({arguments})", lines)

    def write_result(self, name: str, arguments: str) -> None:
        """Add a function that stores result `at` of a row: an element `raw`, or its `place`."""
        dtype = self.output.dtype
        value = "i32(place)" if self.stage.indices else from_words(dtype, "raw")
        number, target = len(self.bindings), result(self.output.slot, dtype)
        self.bindings.append(target)
        split, space = self._space("at")
        where = address(self.params, space, self.output.access)
        self.function(f"{name}({arguments})", [*split, target.put(number, dtype, where, value)])

    def dispatch(self, template: str, count: int, cost: int, context: Context) -> Dispatch:
        """Return a dispatch of the program, with `cost` instructions for each element."""
        regions = {"interface": interface(self.bindings, self.params, self.constants, *self.code)}
        size = size_of(self.kernel.kept + self.kernel.reduced)
        element = self.stage.element
        return Dispatch(
            context.programs.get(template, self.kernel.label, self.bindings, regions, template),
            tuple(b.slot for b in self.bindings),
            tuple(self.params.values),
            tuple(self.params.consts),
            count,
            FIRST,
            size * (element.cost + cost),
            size * element.operations,
            self.kernel.traffic(),
        )

    def _space(self, j: str) -> tuple[list[str], Space]:
        """Return statements that find a row's coordinates, and the space of all elements."""
        split, names = decode_padded(self.params, self.dims.kept_extents, "row", "k")
        return split, Space([*names, j], self.dims.space_strides, 1)

    def _word(self, name: str, at: str) -> str:
        return f"{name}[row * params[0].y + {at}]"

    def function(self, head: str, lines: list[str]) -> None:
        self.code.append("\n".join([f"fn {head} {{", *(f"  {line}" for line in lines), "}"]))


@dataclass(slots=True)
class _Radix:
    """The passes of a radix sort."""

    kernel: Kernel
    context: Context
    dispatched: list[Dispatch] = field(default_factory=list[Dispatch])

    def dispatches(self) -> list[Dispatch]:
        shifts = range(0, _stage(self.kernel).bits, DIGIT_BITS)
        words: _Words | None = None
        for shift in shifts:
            counts = self._counted(words, shift)
            ends = self._added_up(counts)
            last = shift == shifts[-1]
            target = None if last else self._words()
            self._moved(words, ends, target, shift)
            words = target
        return self.dispatched

    @property
    def tiles(self) -> int:
        """Tiles of each row."""
        return -(-self.kernel.reduced[0] // (TILE * self.context.profile.workgroup))

    @property
    def runs(self) -> int:
        """The number of runs: a run is one digit in one tile of one row."""
        return size_of(self.kernel.kept) * self.tiles << DIGIT_BITS

    def _temporary(self, words: int) -> int:
        return self.context.temporary(words * uint32.itemsize)

    def _words(self) -> _Words:
        size = size_of(self.kernel.kept + self.kernel.reduced)
        position = self._temporary(size) if _stage(self.kernel).indices else None
        return _Words(self._temporary(size), position)

    def _writer(self, words: _Words | None, shift: int) -> _Writer:
        """Return a program that reads the operand, or the words of the previous pass."""
        writer = _Writer(self.kernel, self.context.profile)
        writer.constants["TILE"] = TILE * self.context.profile.workgroup
        rows, (length,) = size_of(self.kernel.kept), self.kernel.reduced
        writer.add_params(rows, length, 0, self.tiles, shift)
        if words is None:
            writer.read_operand()
        else:
            writer.read_words(words)
        writer.key()
        return writer

    def _add(self, writer: _Writer, template: str, cost: int) -> None:
        groups = size_of(self.kernel.kept) * self.tiles
        self.dispatched.append(writer.dispatch(template, groups, cost, self.context))

    def _counted(self, words: _Words | None, shift: int) -> int:
        """Count each digit in each tile; return the slot of the counts by row, digit and tile."""
        writer = self._writer(words, shift)
        counts = self._temporary(self.runs)
        name = writer.bind(counts, uint32, writable=True)
        writer.function("store_count(run: u32, count: u32)", [f"{name}[run] = count;"])
        self._add(writer, "radix_count", 10)
        return counts

    def _added_up(self, counts: int) -> int:
        """Scan the counts; return the slot of the end of each run, over all rows."""
        access = Access((1,), 0)
        element = Body.of([Load(counts, uint32, access)])
        ends = self._temporary(self.runs)
        output = Output(ends, 0, uint32, access, whole=False)
        scan = Kernel(
            (),
            (self.runs,),
            (Scanned(element, Accumulator(SUM, 0, uint32)),),
            Body(),
            (),
            self.kernel.label,
            Body.of([Accumulated(0, uint32)]),
            (output,),
        )
        self.dispatched += lower_scan(scan, self.context)
        return ends

    def _moved(self, words: _Words | None, ends: int, target: _Words | None, shift: int) -> None:
        """Move every element, or its position, into its run; the last pass writes the result."""
        writer, indices = self._writer(words, shift), _stage(self.kernel).indices
        writer.read_places(words)
        name = writer.bind(ends, uint32)
        writer.function("end_of(run: u32) -> u32", [f"return {name}[run];"])
        writer.code.append(f"const MOVES_PLACES = {'true' if indices else 'false'};")
        raw, store_position = "row: u32, at: u32, raw: u32", "row: u32, at: u32, place: u32"
        if target is not None:
            writer.write_words("store_raw", raw, target.raw)
            writer.write_words("store_place", store_position, target.place)
        elif indices:
            writer.write_words("store_raw", raw, None)
            writer.write_result("store_place", store_position)
        else:
            writer.write_result("store_raw", raw)
            writer.write_words("store_place", store_position, None)
        self._add(writer, "radix_scatter", 40)
