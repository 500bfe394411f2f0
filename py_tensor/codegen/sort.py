"""Sorting along one dimension, by unsigned order keys (`shaders/lib/order.wgsl`).

A short row is sorted by one workgroup. Longer rows use a radix sort, starting at the least
significant digit of the keys (Satish, Harris and Garland, Designing efficient sorting algorithms
for manycore GPUs, 2009). Each pass counts the digits in every tile, scans the counts, and moves the
elements and, for `argsort`, their positions. The passes move the elements' own bits, not the keys:
-0 and 0 have the same key and keep their sign. Elements of two words are sorted by the lower word
and then by the upper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from py_tensor.base.dtypes import DType, int32, uint32, uint64
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.codec import as_words, from_words
from py_tensor.codegen.map import lower_map, mapped
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.scan import lower_scan
from py_tensor.codegen.walk import Space, address, decode_padded, dimensions
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.ir.primitives import SORT_KEY, SUM
from py_tensor.schedule.body import Access, Accumulated, Address, Apply, Body, Gather, Load
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, Scanned, Sorted, Stage

SHORT = 4  # elements per invocation where one workgroup sorts a row
TILE = 8  # elements per invocation in a tile of a radix sort
DIGIT_BITS = 4  # bits of the keys per pass; its counters fit in 16 KiB of workgroup memory
_KEY = {"f32": "order_key_f32({})", "i32": "order_key_i32({})", "bool": "u32({})"}


def lower_sort(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel that sorts."""
    if stage_of(kernel, Sorted).dtype.is_wide:
        return _by_words(kernel, context)
    rows, (length,) = size_of(kernel.kept), kernel.reduced
    most = SHORT * context.profile.workgroup
    if length > most:
        return _Radix(kernel, context).dispatches()
    width = 1 << max(0, length - 1).bit_length()
    writer = _Writer(kernel, context, rows, length, width)
    writer.read(None)
    writer.write_result("store_result(row: u32, at: u32, raw: u32, place: u32)")
    cost = width.bit_length() ** 2
    return [writer.sorting("sort_bitonic", -(-rows * width // most), cost)]


def _by_words(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Sort elements of two words: first by the lower word, then by the upper.

    Complex elements are sorted by the words of their keys.
    """
    stage, space = stage_of(kernel, Sorted), kernel.kept + kernel.reduced
    flat = Access(row_major(space), 0)
    values, first, second = (context.temporary(size_of(space) * n) for n in (8, 4, 4))

    def stored(body: Body, output: Output) -> Dispatch:
        return lower_map(mapped(space, body, kernel.label, output), context)

    def taken(body: Body, source: int, dtype: DType, index: int, *, step: int = 1) -> int:
        """Return the element at a position of each row; with a step of 2, its upper word."""
        rows = Access((*(step * s for s in flat.strides[:-1]), 0), step - 1)
        address = body.add(Address(rows, (index,), kernel.reduced, (step,), clips=True))
        return body.add(Gather(source, dtype, (address,)))

    def in_order(body: Body, value: int, target: int) -> list[Dispatch]:
        dtype = body.dtype(value)
        by_word = replace(stage, element=body, value=value, dtype=dtype, indices=True)
        output = Output(target, 0, int32, flat, whole=False)
        spread = Body.of([Accumulated(0, int32)])
        ordered = replace(kernel, stages=(by_word,), spread=spread, spread_outputs=(output,))
        return lower_sort(ordered, context)

    first_output = Output(values, stage.value, stage.dtype, flat, whole=False)
    dispatches = [stored(stage.element, first_output)]
    keys = values
    if stage.dtype.is_complex:
        keys = context.temporary(size_of(space) * 8)
        made = Body.of([Load(values, stage.dtype, flat), Apply(SORT_KEY, uint64, (0,))])
        dispatches.append(stored(made, Output(keys, 1, uint64, flat, whole=False)))
    lower = Body.of([Load(keys, uint32, Access(tuple(2 * s for s in flat.strides), 0))])
    dispatches += in_order(lower, 0, first)
    upper = Body()
    word = int32 if stage.dtype.is_signed else uint32
    of_upper = taken(upper, keys, word, upper.add(Load(first, int32, flat)), step=2)
    dispatches += in_order(upper, of_upper, second)
    last = Body()
    ordered = taken(last, first, int32, last.add(Load(second, int32, flat)))
    ordered = ordered if stage.indices else taken(last, values, stage.dtype, ordered)
    return [*dispatches, stored(last, replace(kernel.spread_outputs[0], value=ordered))]


def row_kernel(stage: Stage, length: int, dtype: DType, target: int, label: str) -> Kernel:
    """Return the kernel of a pass along one row; it stores the result of the pass."""
    output = Output(target, 0, dtype, Access((1,), 0), whole=False)
    spread = Body.of([Accumulated(0, dtype)])
    return Kernel((), (length,), (stage,), Body(), (), label, spread, (output,))


@dataclass(slots=True)
class _Words:
    """Slots of the buffers between passes: the bits of the elements, and their positions."""

    raw: int
    place: int | None


class _Writer(Writer):
    """A program that sorts, and the functions that its template calls."""

    def __init__(self, kernel: Kernel, context: Context, *params: int) -> None:
        super().__init__(kernel, context, *params)
        self.stage = stage_of(kernel, Sorted)
        self.dims = dimensions(kernel, self.stage.element, context.profile)
        self.constants["WORKGROUP"] = context.profile.workgroup

    def read(self, words: _Words | None) -> None:
        """Add `load_raw`, which reads or computes an element of a row, and the key of its bits.

        The element is that of the kernel's operands, or one that the previous pass stored.
        """
        stage, dtype = self.stage, self.stage.dtype
        if words is None:
            statements, value = self.element_of_row(self.dims, stage.element, stage.value)
            (bits,) = as_words(dtype, value)
        else:
            statements, bits = [], _word(self.bind(words.raw, uint32), "j")
        self.function("load_raw(row: u32, j: u32) -> u32", *statements, f"return {bits};")
        key = _KEY.get(str(dtype.wgsl), "{}").format(from_words(dtype, "raw"))
        flipped = self.params.add(-1 if stage.descending else 0)
        self.function("key_of(raw: u32) -> u32", f"return {key} ^ {flipped};")

    def write_word(self, head: str, value: str, slot: int | None) -> None:
        """Add a function that stores its argument for the next pass, if there is a slot."""
        lines: list[str] = []
        if slot is not None:
            lines = [f"{_word(self.bind(slot, uint32, writable=True), 'at')} = {value};"]
        self.function(head, *lines)

    def write_result(self, head: str) -> None:
        """Add a function that stores result `at` of a row: an element `raw`, or its `place`."""
        (output,) = self.kernel.spread_outputs
        value = "i32(place)" if self.stage.indices else from_words(output.dtype, "raw")
        split, names = decode_padded(self.params, self.dims.kept.extents, "row", "k")
        space = Space([*names, "at"], self.dims, 1)
        where = address(self.params, space, output.access)
        put = self.put(output.slot, output.dtype, where, value)
        self.function(head, *split, put)

    def sorting(self, template: str, groups: int, cost: int) -> Dispatch:
        """Return a dispatch of the program, with `cost` instructions for each element."""
        size = size_of(self.kernel.kept + self.kernel.reduced)
        element = self.stage.element
        work, operations = size * (element.cost + cost), size * element.operations
        return self.dispatch(template, template, groups, work=work, operations=operations)


def _word(name: str, at: str) -> str:
    return f"{name}[row * params[0].z + {at}]"


class _Radix:
    """The passes of a radix sort.

    Attributes
    ----------
    groups : int
        Tiles of all rows.
    runs : int
        The number of runs: a run is one digit in one tile of one row.
    """

    def __init__(self, kernel: Kernel, context: Context) -> None:
        self.kernel, self.context, self.stage = kernel, context, stage_of(kernel, Sorted)
        self.rows, (self.length,) = size_of(kernel.kept), kernel.reduced
        self.tiles = -(-self.length // (TILE * context.profile.workgroup))  # of a row
        self.groups = self.rows * self.tiles
        self.runs = self.groups << DIGIT_BITS
        self.dispatched: list[Dispatch] = []

    def dispatches(self) -> list[Dispatch]:
        shifts, words = range(0, self.stage.bits, DIGIT_BITS), None
        for shift in shifts:
            ends = self._added_up(self._counted(words, shift))
            target = None if shift == shifts[-1] else self._words()
            self._moved(words, ends, target, shift)
            words = target
        return self.dispatched

    def _temporary(self, words: int) -> int:
        return self.context.temporary(words * uint32.itemsize)

    def _words(self) -> _Words:
        size = self.rows * self.length
        position = self._temporary(size) if self.stage.indices else None
        return _Words(self._temporary(size), position)

    def _writer(self, words: _Words | None, shift: int) -> _Writer:
        """Return a program that reads the operand, or the words of the previous pass."""
        writer = _Writer(self.kernel, self.context, self.rows, self.length, self.tiles, shift)
        writer.constants["TILE"] = TILE * self.context.profile.workgroup
        writer.read(words)
        return writer

    def _counted(self, words: _Words | None, shift: int) -> int:
        """Count each digit in each tile; return the slot of the counts by row, digit and tile."""
        writer = self._writer(words, shift)
        counts = self._temporary(self.runs)
        name = writer.bind(counts, uint32, writable=True)
        writer.function("store_count(run: u32, count: u32)", f"{name}[run] = count;")
        self.dispatched.append(writer.sorting("radix_count", self.groups, 10))
        return counts

    def _added_up(self, counts: int) -> int:
        """Scan the counts; return the slot of the end of each run, over all rows."""
        element = Body.of([Load(counts, uint32, Access((1,), 0))])
        ends = self._temporary(self.runs)
        scanned = Scanned(element, Accumulator(SUM, 0, uint32))
        scan = row_kernel(scanned, self.runs, uint32, ends, self.kernel.label)
        self.dispatched += lower_scan(scan, self.context)
        return ends

    def _moved(self, words: _Words | None, ends: int, target: _Words | None, shift: int) -> None:
        """Move every element, or its position, into its run; the last pass writes the result."""
        writer, indices = self._writer(words, shift), self.stage.indices
        position = "j"
        if words is not None and words.place is not None:
            position = _word(writer.bind(words.place, uint32), "j")
        writer.function("load_place(row: u32, j: u32) -> u32", f"return {position};")
        name = writer.bind(ends, uint32)
        writer.function("end_of(run: u32) -> u32", f"return {name}[run];")
        writer.constants["MOVES_PLACES"] = indices
        slots = {"raw": target and target.raw, "place": target and target.place}
        results = [target is None and not indices, target is None and indices]
        for (value, slot), is_result in zip(slots.items(), results, strict=True):
            head = f"store_{value}(row: u32, at: u32, {value}: u32)"
            if is_result:
                writer.write_result(head)
            else:
                writer.write_word(head, value, slot)
        self.dispatched.append(writer.sorting("radix_scatter", self.groups, 40))
