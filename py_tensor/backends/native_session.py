"""Everything that belongs to one native device, and the execution of the command stream.

This is the counterpart of `web/bridge` in JavaScript, whose `stream.js` documents the commands and
whose README lists the invariants of both.
"""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Thread
from types import MethodType
from typing import Any

from py_tensor.backends.native_device import Device, Range, ffi, lib, text_of
from py_tensor.runtime import plan

FILLED_AT_ONCE = 1 << 20  # bytes
MAX_BIND_GROUPS = 4096  # bind groups; the oldest are dropped
MAX_IDLE, MAX_IDLE_BYTES, MIN_STAGING = 8, 64 << 20, 4096  # limits of idle staging buffers
MAX_POLLS = 10_000  # until the callback of a mapping that another thread polled for
TIMED_AT_ONCE, MAX_SETS = 2048, 32  # dispatches of a query set, and query sets of a timer
TIMES = -2  # the id of the buffer for timestamps


class StreamError(Exception):
    """A command that WebGPU would reject, or a buffer that could not be mapped."""


@dataclass(slots=True)
class Source:
    """The source of a pipeline."""

    wgsl: str
    label: str
    buffers: int
    writable: int
    is_foreign: bool


@dataclass(slots=True)
class Pipeline:
    """A compiled pipeline."""

    source: Source
    layout: Any
    handle: Any


class Ranges(dict[int, Range]):
    """Buffers and slices by id."""

    def __missing__(self, number: int) -> Range:
        raise LookupError(f"buffer {number} does not exist")


class Session:
    """A device, and its buffers, pipelines and bind groups.

    Attributes
    ----------
    ahead : Readback, optional
        The copy that the last flush made for the next read.
    checks : list of Readback
        The checks of the current flush, to be read once it is done.
    timer : Timer, optional
        Set while dispatches are timed; each dispatch then has its own pass.
    """

    def __init__(self, device: Device, sources: dict[int, Source], counts: dict[str, int]) -> None:
        self.device = device
        self.ahead: Readback | None = None
        self.checks: list[Readback] = []
        self.timer: Timer | None = None
        self.is_over = False
        self.staging = Staging(device)
        self.buffers: dict[int, tuple[Any, int, int]] = {}  # id -> buffer, size, slices
        self.ranges = Ranges()
        self._sources = sources
        self._counts = counts
        self._layouts: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.pipelines: dict[int, Pipeline] = {}
        # Keys are the pipeline, the size of the parameters and the ids of the buffers.
        self.groups: dict[tuple[int, ...], Any] = {}
        self._users: dict[int, set[tuple[int, ...]]] = {}  # buffer id -> keys of its bind groups
        self._most = device.limits["maxComputeWorkgroupsPerDimension"]
        self._params = device.create_buffer(plan.PARAM_WINDOW, "parameters")
        self._table: Any = None  # of the ids of buffers, and the block of host data
        self._block = self._block_size = 0
        self._start = self._end = 0  # the part of the block that is in the uniform buffer
        self._encoder: Any = None
        self._pass: Any = None
        self._in_pass: Pipeline | None = None
        self._offset = ffi.new("uint32_t[1]")

    def end(self) -> None:
        """Release the device and everything that belongs to it."""
        self.is_over = True
        self._abandon()
        for group in self.groups.values():
            lib.wgpuBindGroupRelease(group)
        for pipeline in self.pipelines.values():
            lib.wgpuComputePipelineRelease(pipeline.handle)
        for of_group, of_pipeline in self._layouts.values():
            lib.wgpuBindGroupLayoutRelease(of_group)
            lib.wgpuPipelineLayoutRelease(of_pipeline)
        staging = [buffer.handle for buffer in self.staging.buffers]
        for handle in [self._params, *staging, *(b for b, _, _ in self.buffers.values())]:
            lib.wgpuBufferRelease(handle)
        self.device.release()

    def sizes(self) -> dict[str, int]:
        """Return what `Bridge.stats` reports about it."""
        return {
            "buffers": len(self.buffers),
            "bufferBytes": sum(size for _, size, _ in self.buffers.values()),
            "stagingBuffers": len(self.staging.buffers),
            "stagingBytes": sum(buffer.size for buffer in self.staging.buffers),
            "pipelines": len(self.pipelines),
            "bindGroups": len(self.groups),
        }

    # -- The stream -----------------------------------------------------------------------------

    def replay(self, stream: Sequence[int], table: Any, block: int, size: int) -> None:
        """Execute commands and submit them.

        After an exception, unsubmitted commands are dropped, and only the CREATE and DESTROY
        commands in the rest of the stream are executed. The same buffers then exist as after a
        successful flush.
        """
        self._block, self._block_size, self._table = block, size, table
        self._start = self._end = 0
        commands, method, operands = _commands(stream), None, [0]
        try:
            for method, operands in commands:
                method(self, *operands)
            method = None
            self.submit()
            for readback in (self.ahead, *self.checks):
                if readback is not None:
                    readback.map()
        except BaseException as error:
            self._abandon()
            self.ahead = None
            self.checks.clear()
            if method is Session.dispatch and operands[0] in self._sources:
                error.add_note(self._sources[operands[0]].label)
            for method, operands in commands:
                if method in (Session.create_buffer, Session.destroy_buffer):
                    method(self, *operands)
            raise

    def fetch_ahead(self, position: int, size: int) -> None:
        self.ahead = Readback(self, self._table[position], 0, size)

    def check(self, position: int, size: int) -> None:
        self.checks.append(Readback(self, self._table[position], 0, size))

    def start(self) -> None:
        """Submit what is encoded if the GPU is idle."""
        if self._encoder is not None and self.device.is_idle():
            self.submit()

    # -- Dispatches -----------------------------------------------------------------------------

    def dispatch(
        self, number: int, offset: int, size: int, x: int, y: int, z: int, count: int, *bound: int
    ) -> None:
        """Encode a dispatch; `bound` has the positions of its buffers in the table."""
        pipeline = self.pipelines.get(number) or self._compile(number)
        if max(x, y, z) > self._most:
            limit = f"exceed the limit of {self._most} per dimension"
            raise StreamError(f"{x} x {y} x {z} workgroups {limit}")
        if count != pipeline.source.buffers:
            raise StreamError(f"the pipeline takes {pipeline.source.buffers} buffers, not {count}")
        if offset < self._start or offset + size > self._end:
            self._move_window(offset, size)
        key = (number, max(16, -(-size // 16) * 16), *[self._table[n] for n in bound])
        group = self.groups.get(key) or self._make_group(pipeline, key)
        if self._pass is None or self.timer is not None:
            self._open_pass(number)
        if pipeline is not self._in_pass:
            lib.wgpuComputePassEncoderSetPipeline(self._pass, pipeline.handle)
            self._in_pass = pipeline
        self._offset[0] = offset - self._start
        lib.wgpuComputePassEncoderSetBindGroup(self._pass, 0, group, 1, self._offset)
        lib.wgpuComputePassEncoderDispatchWorkgroups(self._pass, x, y, z)
        self._counts["dispatches"] += 1

    def _move_window(self, offset: int, size: int) -> None:
        """Write the parameters from an offset of the block on into the uniform buffer."""
        if offset + size > self._block_size or size > plan.PARAM_WINDOW:
            raise LookupError(f"the block has no parameters at {offset}")
        if self._end:
            self.submit()
        self._start, self._end = offset, min(self._block_size, offset + plan.PARAM_WINDOW)
        self.device.write(self._params, 0, self._block + offset, self._end - offset)

    def _make_group(self, pipeline: Pipeline, key: tuple[int, ...]) -> Any:
        _, size, *ids = key
        ranges = [self.ranges[number] for number in ids]
        _refuse_aliases(ids, ranges, pipeline.source.writable)
        ranges.append(Range(self._params, 0, size))
        group = self.device.create_bind_group(pipeline.layout, ranges, pipeline.source.label)
        if len(self.groups) >= MAX_BIND_GROUPS:
            self._drop_group(next(iter(self.groups)))
        self.groups[key] = group
        for number in ids:
            self._users.setdefault(number, set()).add(key)
        return group

    def _drop_group(self, key: tuple[int, ...]) -> None:
        lib.wgpuBindGroupRelease(self.groups.pop(key))
        for number in set(key[2:]):
            self._users[number].remove(key)
            if not self._users[number]:
                del self._users[number]

    # -- Pipelines ------------------------------------------------------------------------------

    def _compile(self, number: int) -> Pipeline:
        """Compile a pipeline; several threads may do so at a time."""
        source = self._sources.get(number)
        if source is None:
            raise LookupError(f"pipeline {number} is not defined")
        of_group, of_pipeline = self._layout(source)
        is_trusted = not source.is_foreign
        handle = self.device.create_pipeline(of_pipeline, source.wgsl, is_trusted, source.label)
        pipeline = self.pipelines[number] = Pipeline(source, of_group, handle)
        self._counts["compiles"] += 1
        return pipeline

    def _layout(self, source: Source) -> tuple[Any, Any]:
        key = source.buffers, source.writable
        if key not in self._layouts:
            self._layouts[key] = self.device.create_layouts(*key)
        return self._layouts[key]

    def compile_all(self, numbers: Sequence[int]) -> None:
        """Compile pipelines in parallel; drop all after an error, so that a flush reports it.

        Not by `concurrent.futures`: a fork in another thread holds its lock while it waits for the
        device's, which this thread has.
        """
        new = [n for n in dict.fromkeys(numbers) if n in self._sources and n not in self.pipelines]
        for number in new:
            self._layout(self._sources[number])  # here, because threads would make it twice
        left = iter(new)

        def work() -> None:
            for number in left:  # which the threads share
                self._compile(number)

        threads = [Thread(target=work) for _ in range(min(len(new) - 1, os.cpu_count() or 1))]
        for thread in threads:
            thread.start()
        try:
            work()
        finally:
            for thread in threads:
                thread.join()
        if self.device.take_errors():
            for number in new:
                self.drop_pipeline(number)

    def drop_pipeline(self, number: int) -> None:
        pipeline = self.pipelines.pop(number, None)
        if pipeline is not None:
            for key in [key for key in self.groups if key[0] == number]:
                self._drop_group(key)
            lib.wgpuComputePipelineRelease(pipeline.handle)

    # -- Buffers --------------------------------------------------------------------------------

    def create_buffer(self, number: int, size: int, slices: int) -> None:
        """Create a buffer, or a slab, whose slices have the ids after its own."""
        buffer = self.device.create_buffer(size, "storage", f"buffer {number}")
        self.buffers[number] = buffer, size, slices
        self.ranges[number] = Range(buffer, 0, size)
        for n in range(slices):
            slice_size = size // slices
            self.ranges[number + 1 + n] = Range(buffer, n * slice_size, slice_size)

    def destroy_buffer(self, number: int) -> None:
        """Release a buffer and its slices, if it exists; encoded commands keep its memory."""
        buffer, _, slices = self.buffers.pop(number, (None, 0, 0))
        if buffer is None:
            return
        for each in range(number, number + 1 + slices):
            del self.ranges[each]
            for key in list(self._users.get(each, ())):
                self._drop_group(key)
        lib.wgpuBufferRelease(buffer)

    def upload(self, number: int, offset: int, start: int, size: int) -> None:
        self.submit()  # queue writes take effect before all later submissions
        target, data = self.ranges[number], self._block + start
        padded = -(-size // 4) * 4
        if padded > size:  # only whole words can be written
            data = bytes(ffi.buffer(ffi.cast("char *", data), size)).ljust(padded, b"\0")
        self.device.write(target.buffer, target.offset + offset, data, padded)

    def fill(self, number: int, value: int, size: int) -> None:
        self.submit()
        target = self.ranges[number]
        pattern = array("I", [value]) * (min(size, FILLED_AT_ONCE) // 4)
        for offset in range(0, size, FILLED_AT_ONCE):
            count = min(FILLED_AT_ONCE, size - offset)
            self.device.write(target.buffer, target.offset + offset, pattern, count)

    def clear(self, position: int, size: int) -> None:
        target = self.ranges[self._table[position]]
        encoder = self.outside_pass()
        lib.wgpuCommandEncoderClearBuffer(encoder, target.buffer, target.offset, size)

    # -- Recording ------------------------------------------------------------------------------

    def outside_pass(self) -> Any:
        """Return the encoder, without an open pass."""
        if self._encoder is None:
            self._encoder = lib.wgpuDeviceCreateCommandEncoder(self.device.handle, ffi.NULL)
        elif self._pass is not None:
            ended, self._pass = self._pass, None
            lib.wgpuComputePassEncoderEnd(ended)
            lib.wgpuComputePassEncoderRelease(ended)
        return self._encoder

    def _open_pass(self, pipeline: int) -> None:
        """Open a pass, after the end of the last one."""
        descriptor = ffi.NULL if self.timer is None else self.timer.next(pipeline)
        self._pass = lib.wgpuCommandEncoderBeginComputePass(self.outside_pass(), descriptor)
        self._in_pass = None

    def submit(self) -> None:
        """Submit the encoded commands, if there are any and there was no error."""
        if self._encoder is not None:
            encoder, self._encoder = self.outside_pass(), None
            self._counts["submits"] += self.device.submit(encoder)

    def _abandon(self) -> None:
        if self._encoder is not None:
            encoder, self._encoder = self.outside_pass(), None
            lib.wgpuCommandEncoderRelease(encoder)

    # -- Reading --------------------------------------------------------------------------------

    def fetch(self, number: int, offset: int, size: int) -> Readback:
        """Return a copy of a part of a buffer: the one made ahead if it matches, else a new one."""
        ahead = self.ahead
        if ahead is not None and ahead.part == (number, offset, size):
            self.ahead = None
            return ahead
        readback = Readback(self, number, offset, size)
        self.submit()
        readback.map()
        return readback


class StagingBuffer:
    """A buffer that the GPU copies into and the host maps.

    Attributes
    ----------
    state : str
        "unmapped", "pending" or "mapped"; after an error, its message.
    callback_info : cdata
        How wgpu-native reports the end of a mapping.
    """

    def __init__(self, device: Device, size: int) -> None:
        self.size = size
        self.handle = device.create_buffer(size, "staging")
        self.state = "unmapped"
        self._me = ffi.new_handle(self)
        mode = lib.WGPUCallbackMode_AllowSpontaneous
        fields = {"mode": mode, "callback": _note_mapped, "userdata1": self._me}
        self.callback_info = ffi.new("WGPUBufferMapCallbackInfo *", fields)[0]


_mapping: set[StagingBuffer] = set()
"""Buffers that are being mapped; kept alive because wgpu-native will call back with them."""


@ffi.callback("WGPUBufferMapCallback")
def _note_mapped(status: int, message: Any, pointer: Any, _: Any) -> None:
    staging: StagingBuffer = ffi.from_handle(pointer)
    _mapping.discard(staging)
    is_mapped = status == lib.WGPUMapAsyncStatus_Success
    staging.state = "mapped" if is_mapped else text_of(message) or "the buffer was not mapped"


class Readback:
    """A copy of a part of a buffer to the host; the constructor records the copy.

    Its staging buffer is returned when the object is collected.
    """

    # The finalizer is a function implemented in C, as for tensors (`Node.__call__`).
    __slots__ = ("__del__", "_copied", "_session", "_staging", "part")

    def __init__(self, session: Session, number: int, offset: int, size: int) -> None:
        self._session = session
        self.part = number, offset, size
        self._copied = -(-size // 4) * 4
        source = session.ranges[number]
        self._staging = session.staging.take(self._copied)
        self.__del__ = MethodType(session.staging.returned.append, self._staging)
        encoder, start = session.outside_pass(), source.offset + offset
        lib.wgpuCommandEncoderCopyBufferToBuffer(
            encoder, source.buffer, start, self._staging.handle, 0, self._copied
        )

    def map(self) -> None:
        """Start to map the copy; it must be submitted."""
        staging = self._staging
        staging.state = "pending"
        _mapping.add(staging)
        lib.wgpuBufferMapAsync(
            staging.handle, lib.WGPUMapMode_Read, 0, self._copied, staging.callback_info
        )

    def arrived(self) -> Any:
        """Wait for the copy and return its memory, which is valid as long as this object.

        Raises
        ------
        StreamError
            If it could not be mapped.
        """
        staging, device = self._staging, self._session.device
        for _ in range(MAX_POLLS):
            if staging.state != "pending":
                break
            # Another thread may have polled at the same time: then it calls back, a little later.
            device.wait(device.submitted)
        if self._session.is_over:
            raise StreamError("the device was lost")
        if staging.state != "mapped":
            raise StreamError(staging.state)
        return lib.wgpuBufferGetConstMappedRange(staging.handle, 0, self._copied)

    def numbers(self, ctype: str = "uint32_t") -> list[int]:
        """Wait for the copy and return it as numbers of a type of C."""
        memory = ffi.cast(f"{ctype} *", self.arrived())
        return ffi.unpack(memory, self._copied // ffi.sizeof(ctype))


class Staging:
    """The staging buffers of a device; a bounded number is kept idle.

    Attributes
    ----------
    buffers : set of StagingBuffer
    returned : deque of StagingBuffer
        What deleted readbacks used; `collect` unmaps and keeps, or releases, these buffers.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._idle: list[StagingBuffer] = []  # oldest first
        self.buffers: set[StagingBuffer] = set()
        self.returned: deque[StagingBuffer] = deque()

    def take(self, size: int) -> StagingBuffer:
        """Return an unmapped buffer of at least this size."""
        self.collect()
        for position, idle in enumerate(self._idle):
            if size <= idle.size <= 4 * max(size, MIN_STAGING):
                return self._idle.pop(position)
        # Powers of two, so that reads of slightly different sizes share buffers.
        rounded = size if size > MAX_IDLE_BYTES else 1 << (max(size, MIN_STAGING) - 1).bit_length()
        buffer = StagingBuffer(self._device, rounded)
        self.buffers.add(buffer)
        return buffer

    def collect(self) -> None:
        """Take back the buffers of deleted readbacks."""
        while self.returned:
            buffer = self.returned.popleft()
            if buffer.state == "mapped":
                lib.wgpuBufferUnmap(buffer.handle)
                buffer.state = "unmapped"
            if buffer.state == "unmapped":
                self._idle.append(buffer)
            else:
                self._release(buffer)
        while len(self._idle) > MAX_IDLE or sum(b.size for b in self._idle) > MAX_IDLE_BYTES:
            self._release(self._idle.pop(0))

    def _release(self, buffer: StagingBuffer) -> None:
        self.buffers.remove(buffer)
        lib.wgpuBufferRelease(buffer.handle)


class Timer:
    """Times each dispatch on the GPU, by timestamps around a pass of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sets: list[Any] = []
        self._pipelines: list[int] = []

    def next(self, pipeline: int) -> Any:
        """Return the descriptor of the pass of the next dispatch; NULL if no room is left."""
        number = len(self._pipelines) % TIMED_AT_ONCE
        if number == 0:
            if len(self._sets) == MAX_SETS:
                return ffi.NULL
            self._sets.append(self._session.device.create_query_set(2 * TIMED_AT_ONCE))
        self._pipelines.append(pipeline)
        positions = {"beginningOfPassWriteIndex": 2 * number, "endOfPassWriteIndex": 2 * number + 1}
        self._writes = ffi.new(
            "WGPUPassTimestampWrites *", {"querySet": self._sets[-1], **positions}
        )
        return ffi.new("WGPUComputePassDescriptor *", {"timestampWrites": self._writes})

    def collect(self) -> list[tuple[int, int, int]]:
        """Return pipeline, begin and end of each dispatch, in ns since the first began.

        Nothing is known after a loss of the device.
        """
        stamps: list[int] = []
        for queries in self._sets:
            if not self._session.is_over:
                left = 2 * len(self._pipelines) - len(stamps)
                stamps += self._read(queries, min(2 * TIMED_AT_ONCE, left))
            lib.wgpuQuerySetRelease(queries)
        if self._session.is_over:
            return []
        period = lib.wgpuQueueGetTimestampPeriod(self._session.device.queue)
        times = [int((stamp - stamps[0]) * period) for stamp in stamps]
        return [(p, times[2 * n], times[2 * n + 1]) for n, p in enumerate(self._pipelines)]

    def _read(self, queries: Any, count: int) -> list[int]:
        session, size = self._session, 8 * count
        resolved = session.device.create_buffer(size, "timestamps")
        session.ranges[TIMES] = Range(resolved, 0, size)
        encoder = session.outside_pass()
        lib.wgpuCommandEncoderResolveQuerySet(encoder, queries, 0, count, resolved, 0)
        stamps = session.fetch(TIMES, 0, size).numbers("uint64_t")
        lib.wgpuBufferRelease(session.ranges.pop(TIMES).buffer)
        return stamps


COMMANDS: dict[int, tuple[int, Callable[..., None]]] = {
    plan.CREATE: (4, Session.create_buffer),
    plan.DESTROY: (2, Session.destroy_buffer),
    plan.UPLOAD: (5, Session.upload),
    plan.DISPATCH: (8, Session.dispatch),  # and the positions of its buffers
    plan.FILL: (4, Session.fill),
    plan.SUBMIT: (1, Session.submit),
    plan.START: (1, Session.start),
    plan.FETCH: (3, Session.fetch_ahead),
    plan.CLEAR: (3, Session.clear),
    plan.CHECK: (3, Session.check),
}
"""Commands: the number of their words, and what executes them."""


def _commands(stream: Sequence[int]) -> Iterator[tuple[Callable[..., None], Sequence[int]]]:
    """Yield what executes each command of a stream, and its operands."""
    position = 0
    while position < len(stream):
        op = stream[position]
        if op not in COMMANDS:
            raise LookupError(f"unknown command {op}")
        words, method = COMMANDS[op]
        end = position + words + (stream[position + 7] if op == plan.DISPATCH else 0)
        yield method, stream[position + 1 : end]
        position = end


def _refuse_aliases(ids: Sequence[int], ranges: Sequence[Range], writable: int) -> None:
    """Raise if a dispatch binds one buffer twice and at least one binding is writable."""
    for i, one in enumerate(ranges):
        other = next(j for j, earlier in enumerate(ranges) if earlier.buffer == one.buffer)
        if other < i and (writable >> i | writable >> other) & 1:
            same = ids[other] == ids[i]
            what = f"buffer {ids[i]}" if same else f"the buffer of {ids[other]} and {ids[i]}"
            raise StreamError(f"{what} is bound at {other} and at {i}, and one of them is writable")
