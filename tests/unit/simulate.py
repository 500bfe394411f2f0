"""A device that executes scheduled kernels with NumPy, one point at a time.

It follows a `Kernel` literally: every address is looked up in a flat buffer, every element records
whether it was written, and a value read from outside a buffer, or from an unwritten element, must
not reach an output. So a wrong schedule gives a wrong result here, as it would on a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np

from py_tensor.base.errors import DTypeError
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.lower import Lowered, assembled, lower_each
from py_tensor.codegen.program import Programs
from py_tensor.codegen.walk import is_by_rows
from py_tensor.ir import arrays
from py_tensor.ir.bind import LEAF
from py_tensor.ir.node import Meta, Node, key_of
from py_tensor.ir.program import Program
from py_tensor.runtime.connection import picked
from py_tensor.runtime.device import LazyDevice
from py_tensor.schedule.body import (
    NOWHERE,
    Access,
    Accumulated,
    Address,
    Addressed,
    Apply,
    Body,
    Const,
    Convert,
    Gather,
    Index,
    Load,
    Mask,
    Select,
    Within,
)
from py_tensor.schedule.kernel import (
    Accumulator,
    Budget,
    Contraction,
    Kernel,
    Output,
    ReduceStage,
    Scanned,
    Scattered,
    Sorted,
)
from py_tensor.schedule.order import Request
from py_tensor.schedule.passes import after_each_pass
from tests.unit import kernel_spec

Array = np.ndarray[Any, Any]
LARGEST = 1 << 20  # points of the space that are executed


@dataclass
class Buffer:
    """A flat buffer, and which of its elements were written."""

    data: Array
    written: Array

    @classmethod
    def of(cls, data: Array) -> Buffer:
        return cls(data, np.ones(data.shape, bool))


@dataclass
class Value:
    """A value at every point of a space, and where it is defined."""

    data: Array
    defined: Array


class Simulator:
    """A backend whose `compute` schedules for WebGPU and interprets the kernels."""

    def __init__(
        self, max_buffers: int = 8, *, execute: bool = True, programs: Programs | None = None
    ) -> None:
        self.max_buffers = max_buffers
        self.execute = execute
        self.lock = RLock()
        self.max_bytes = 1 << 30
        self.pending_work = self.ahead_work = 2**62
        self.read_work = 0
        self.eager = None
        self.programs = programs  # if set, kernels are lowered too
        self.kernels: list[Kernel] = []  # of the last flush
        self.requests: list[Request] = []

    def fits(self, kernel: Kernel) -> bool:
        """Every other flush may fuse rows."""
        fits = self.programs is None or is_by_rows(kernel, kernel.bodies())
        return fits and len(self.requests) % 2 == 1

    def info(self) -> dict[str, Any]:
        return {"backend": "webgpu"}

    def check(self, op: str, meta: Meta) -> None:
        if not meta.dtype.on_gpu:
            raise DTypeError(f"{op}: {meta.dtype} is not available")

    def upload(self, data: memoryview, meta: Meta) -> Buffer:
        return Buffer.of(np.frombuffer(bytes(data), meta.dtype.name))

    def may_overwrite(self, node: Node) -> bool:
        return True

    def compute(self, request: Request) -> None:
        self.requests.append(request)
        self.kernels = self.planned(request.program)
        if self.programs is not None:
            profile = AdapterProfile(self.max_buffers, software=len(self.requests) % 2 == 0)
            lowered = assembled(*lower_each(self.kernels, profile, self.programs))
            check_dispatches(lowered, self.max_buffers)
        buffers = run(self.kernels, request.program) if self.execute else {}
        for slot in request.program.outputs:
            node = request.program.nodes[slot]
            node.storage = buffers.get(slot, ())
            node.key, node.inputs = key_of(LEAF, None, node.meta), ()
            if self.execute:
                assert node.storage.written.all(), f"{node}: elements that nothing wrote"

    def planned(self, program: Program) -> list[Kernel]:
        """Return the kernels of a program, by all passes over the graph."""
        budget = Budget(self.max_buffers, self.max_bytes)
        passes = after_each_pass(program, budget, self.fits)
        return kernel_spec.checked((x.kernels for x in passes), program, budget)

    def is_lost(self, node: Node) -> bool:
        return False

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        if not node.meta.size:
            return memoryview(b"")
        data: Any = np.ascontiguousarray(node.storage.data)
        found = memoryview(data.view("u1"))
        return found if layout is None else picked(found, layout, node.meta.dtype.itemsize)

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        return self.read(node, layout)

    def synchronize(self) -> None: ...
    async def synchronize_async(self) -> None: ...
    def empty_cache(self) -> None: ...
    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None: ...

    def memory_info(self) -> dict[str, int]:
        return {}


def device(
    max_buffers: int = 8, *, execute: bool = True, programs: Programs | None = None
) -> LazyDevice:
    """Return a simulated webgpu device; with `execute` false its kernels are only checked."""
    made = LazyDevice("webgpu")
    made.use(Simulator(max_buffers, execute=execute, programs=programs))
    return made


def kernels_of(place: LazyDevice) -> list[Kernel]:
    """Return the kernels of a simulated device's last flush."""
    backend = place.backend
    assert isinstance(backend, Simulator)
    return backend.kernels


def check_dispatches(lowered: Lowered, max_buffers: int) -> None:
    """Assert WebGPU's requirements for dispatches."""
    for d in lowered.dispatches:
        writes = [s for n, s in enumerate(d.slots) if d.program.writable >> n & 1]
        assert len(d.slots) == d.program.buffers <= max_buffers
        assert len(set(d.slots)) == len(d.slots), f"{d.program.label}: a buffer bound twice"
        assert writes
        assert d.count > 0
        assert d.work > 0
        assert all(0 <= word < 2**32 for word in d.params)
        assert all(0 < position < len(d.params) for position, _, _ in d.patches)


# -- The interpreter ----------------------------------------------------------------------------


def run(kernels: list[Kernel], program: Program) -> dict[int, Buffer]:
    """Execute kernels in order; the buffers by slot."""
    buffers = {
        slot: node.storage for slot, node in enumerate(program.nodes) if node.storage is not None
    }
    with np.errstate(all="ignore"):
        for kernel in (_with_offsets(kernel, program) for kernel in kernels):
            for output in (*kernel.outputs, *kernel.spread_outputs):
                meta = program.nodes[output.slot].meta
                empty = Buffer(np.zeros(meta.size, meta.dtype.name), np.zeros(meta.size, bool))
                buffers.setdefault(output.slot, empty)
            if kernel.in_place_target is not None:
                (output,), whole = kernel.outputs, buffers[kernel.in_place_target.slot]
                assert whole.written.all()
                assert whole.data.size == kernel.in_place_target.size
                at = addresses(output.access, kernel.kept).reshape(-1)
                written = np.ones(whole.data.size, bool)
                written[at] = False
                buffers[output.slot] = Buffer(whole.data.copy(), written)
            _run(kernel, program, buffers)
    return buffers


def _with_offsets(kernel: Kernel, program: Program) -> Kernel:
    """Return a kernel whose addresses include the offsets of free views."""

    def added(x: Any) -> Any:
        if not isinstance(x, Addressed | Output) or x.access.start is None:
            return x
        slot, alignment = x.access.start
        offset = program.nodes[slot].attrs[2]
        assert offset % alignment == 0
        return replace(x, access=Access(x.access.strides, x.access.offset + offset))

    outputs = tuple(added(x) for x in kernel.outputs)
    stages = [x.with_bodies(lambda body: body.changed(added)) for x in kernel.stages]
    row, spread = kernel.row.changed(added), kernel.spread.changed(added)
    return replace(kernel, stages=tuple(stages), row=row, outputs=outputs, spread=spread)


def _run(kernel: Kernel, program: Program, buffers: dict[int, Buffer]) -> None:
    whole = kernel.kept + kernel.reduced
    assert size_of(whole) <= LARGEST, f"{kernel.label}: a space of {size_of(whole)} points"
    accumulated: list[Value] = []
    for stage in kernel.stages:
        if isinstance(stage, Scattered):
            values = _evaluate(stage.element, whole, program, buffers, accumulated)
            _scatter(stage, values, program, buffers)
        elif isinstance(stage, Contraction):
            accumulated.append(_contract(stage, kernel, buffers))
        elif isinstance(stage, Scanned | Sorted):
            values = _evaluate(stage.element, whole, program, buffers, accumulated)
            accumulated.append(_along(stage, values))
        elif isinstance(stage, ReduceStage):
            values = _evaluate(stage.element, whole, program, buffers, accumulated)
            accumulated += [_fold(fold, values, kernel) for fold in stage.accumulators()]
        else:
            raise TypeError(f"{kernel.label}: no simulation of {type(stage).__name__}")
    row = _evaluate(kernel.row, kernel.kept, program, buffers, accumulated)
    for output in kernel.outputs:
        _store(output, row[output.value], kernel, kernel.kept, buffers[output.slot])
    spread = _evaluate(kernel.spread, whole, program, buffers, accumulated)
    for output in kernel.spread_outputs:
        _store(output, spread[output.value], kernel, whole, buffers[output.slot])


def addresses(access: Access, extents: Shape) -> Array:
    """Return the address at every point of a space."""
    found = np.full(extents, access.offset, np.int64)
    for stride, coordinate in zip(access.strides, np.indices(extents, sparse=True), strict=True):
        found += stride * coordinate
    return found


def _load(load: Load, extents: Shape, buffers: dict[int, Buffer]) -> Value:
    buffer, at = buffers[load.slot], addresses(load.access, extents)
    assert buffer.data.dtype.name == load.dtype.name
    inside = (at >= 0) & (at < buffer.data.size)
    at = np.where(inside, at, 0)
    return Value(buffer.data[at], inside & buffer.written[at])


def _gather(i: Gather, at: Value, buffers: dict[int, Buffer]) -> Value:
    buffer, places = buffers[i.slot], at.data.astype(np.int64)
    assert buffer.data.dtype.name == i.dtype.name
    inside = (places >= 0) & (places < buffer.data.size)
    places = np.where(inside, places, 0)
    return Value(buffer.data[places], inside & buffer.written[places] & at.defined)


def _place(i: Address, values: list[Value], extents: Shape) -> Value:
    at, inside = addresses(i.access, extents), np.ones(extents, bool)
    defined = np.ones(extents, bool)
    for value, extent, stride in zip(i.operands, i.extents, i.strides, strict=False):
        places = values[value].data.astype(np.int64)
        places = np.where(places < 0, places + extent, places)
        inside &= (places >= 0) & (places < extent)
        at = at + stride * np.clip(places, 0, extent - 1)
        defined &= values[value].defined
    assert not i.checks or (inside | ~_guard(i, values, extents)).all(), "an index out of range"
    found = at if i.clips else np.where(inside, at, NOWHERE)
    return Value((found % 2**32).astype(np.uint32), defined)


def _guard(i: Address, values: list[Value], extents: Shape) -> Array:
    """Return where an index is used; elsewhere it may have any value."""
    return values[i.operands[-1]].data if i.guarded else np.ones(extents, bool)


def _evaluate(
    body: Body,
    extents: Shape,
    program: Program,
    buffers: dict[int, Buffer],
    accumulated: list[Value],
) -> list[Value]:
    """Return the value of every instruction at every point."""
    values: list[Value] = []
    everywhere = np.ones(extents, bool)
    for i in body.instructions:
        args = [values[n] for n in i.operands]
        match i:
            case Load():
                value = _load(i, extents, buffers)
            case Gather():
                value = _gather(i, args[0], buffers)
            case Address():
                value = _place(i, values, extents)
            case Index():
                numbers = addresses(i.access, extents) % 2**32
                value = Value(numbers.astype(i.dtype.name), everywhere)
            case Mask():
                value = Value(_mask(i, extents), everywhere)
            case Const():
                constant = np.array(program.nodes[i.slot].attrs, i.dtype.name)
                value = Value(np.broadcast_to(constant, extents), everywhere)
            case Apply():
                data = np.asarray(i.op.numpy(np, *(a.data for a in args))).astype(i.dtype.name)
                value = Value(data, np.logical_and.reduce([a.defined for a in args]))
            case Convert():
                (given,) = args
                value = Value(arrays.cast(np, given.data, i.dtype), given.defined)
            case Within():
                given, *conditions = args
                value = Value((given.data >= i.low) & (given.data < i.high), given.defined)
                for also in conditions:
                    value = Value(value.data & also.data, value.defined & also.defined)
            case Select():
                value = _select(*args)
            case Accumulated():
                value = _along_rows(accumulated[i.number], extents)
        assert value.data.dtype.name == i.dtype.name, i
        assert value.data.shape == extents
        values.append(value)
    return values


def _along_rows(value: Value, extents: Shape) -> Value:
    """Return a value per row, at every point of the rows."""
    ones = (1,) * (len(extents) - value.data.ndim)
    shape = value.data.shape + ones
    return Value(
        np.broadcast_to(value.data.reshape(shape), extents),
        np.broadcast_to(value.defined.reshape(shape), extents),
    )


def _mask(mask: Mask, extents: Shape) -> Array:
    coordinates = np.indices(extents, sparse=True)
    found = np.ones(extents, bool)
    for d, low, high in mask.ranges:
        found &= (coordinates[d] >= low) & (coordinates[d] < high)
    return found


def _select(mask: Value, inside: Value, outside: Value) -> Value:
    return Value(
        np.where(mask.data, inside.data, outside.data),
        mask.defined & np.where(mask.data, inside.defined, outside.defined),
    )


def _fold(fold: Accumulator, values: list[Value], kernel: Kernel) -> Value:
    axes = tuple(range(len(kernel.kept), len(kernel.kept + kernel.reduced)))
    if fold.index is not None:  # its NumPy function needs no such operand
        numbers = np.arange(size_of(kernel.reduced)).reshape(kernel.reduced)
        assert (values[fold.index].data == numbers).all()
    value = values[fold.value]
    data = np.asarray(fold.op.numpy(np, value.data, axes))
    result = data.astype("int32") if fold.op.indexed else data.astype(fold.dtype.name)
    return Value(result.reshape(kernel.kept), np.asarray(value.defined.all(axis=axes)))


def _along(stage: Scanned | Sorted, values: list[Value]) -> Value:
    """Return a value at every point that depends on others along the last dimension."""
    if isinstance(stage, Scanned):
        value = values[stage.fold.value]
        assert stage.fold.op.name in ("sum", "prod")
        running = np.cumsum if stage.fold.op.name == "sum" else np.cumprod
        data = running(value.data, axis=-1, dtype=value.data.dtype)
        return Value(data, np.logical_and.accumulate(value.defined, axis=-1))
    value = values[stage.value]
    data = arrays.in_order(np, value.data, -1, stage.descending, stage.indices)
    defined = value.defined.all(axis=-1, keepdims=True)
    return Value(data, np.broadcast_to(defined, data.shape))


def _scatter(
    stage: Scattered, values: list[Value], program: Program, buffers: dict[int, Buffer]
) -> None:
    base, at, value = buffers[stage.into], values[stage.at], values[stage.value]
    assert base.written.all()
    assert at.defined.all()
    inside = at.data != NOWHERE
    assert value.defined[inside].all()
    places = at.data[inside]
    if stage.unique:
        _, first, which = np.unique(places, return_index=True, return_inverse=True)
        given = value.data[inside]
        np.testing.assert_array_equal(given, given[first][which])
    meta = program.nodes[stage.target].meta
    assert stage.size == meta.size == base.data.size
    data = base.data.copy()
    if stage.mode == "set":
        data[places] = value.data[inside]
    else:
        combine = {"min": np.minimum, "max": np.maximum}.get(stage.mode, np.add)
        combine.at(data, places, value.data[inside])
    buffers[stage.target] = Buffer(data, np.ones(data.size, bool))


def _contract(stage: Contraction, kernel: Kernel, buffers: dict[int, Buffer]) -> Value:
    whole = kernel.kept + kernel.reduced
    axes = tuple(range(len(kernel.kept), len(whole)))
    a, b = (_load(x, whole, buffers) for x in stage.element.loads())
    total = np.sum(a.data * b.data, axis=axes, dtype=a.data.dtype)
    defined = (a.defined & b.defined).all(axis=axes)
    return Value(np.asarray(total), np.asarray(defined))


def _store(output: Output, value: Value, kernel: Kernel, extents: Shape, buffer: Buffer) -> None:
    at = addresses(output.access, extents).reshape(-1)
    assert value.defined.all(), f"{kernel.label}: stores what is not defined"
    assert len(np.unique(at)) == math.prod(extents), f"{kernel.label}: writes elements twice"
    assert not buffer.written[at].any(), f"{kernel.label}: overwrites"
    assert not output.whole or at.size == buffer.data.size, f"{kernel.label}: is not whole"
    buffer.data[at] = value.data.reshape(-1)
    buffer.written[at] = True
