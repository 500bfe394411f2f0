"""Everything that belongs to one native device, and the execution of the command stream.

This is the counterpart of `web/bridge` in JavaScript, whose `stream.js` documents the commands and
whose README lists the invariants of both.
"""

from __future__ import annotations

import os
from array import array
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread
from types import MethodType
from typing import Any

from py_tensor.backends.native_device import (
    COPY_DST,
    COPY_SRC,
    MAP_READ,
    QUERY_RESOLVE,
    STORAGE,
    UNIFORM,
    Device,
    Mapping,
    destroy_buffer,
    ffi,
    lib,
)
from py_tensor.runtime.plan import (
    CHECK,
    CLEAR,
    CREATE,
    DESTROY,
    DISPATCH,
    FETCH,
    FILL,
    PARAM_WINDOW,
    START,
    SUBMIT,
    UPLOAD,
)

LENGTHS = {CREATE: 4, DESTROY: 2, UPLOAD: 5, DISPATCH: 8, FILL: 4, SUBMIT: 1, START: 1} | {
    FETCH: 3,
    CLEAR: 3,
    CHECK: 3,
}
FILLED_AT_ONCE = 1 << 20  # bytes
MAX_BIND_GROUPS = 4096  # bind groups; the oldest are dropped
MAX_IDLE, MAX_IDLE_BYTES, MIN_STAGING = 8, 64 << 20, 4096  # limits of idle staging buffers
MAX_POLLS = 10_000  # until the callback of a mapping that another thread polled for
TIMED_AT_ONCE, MAX_SETS = 2048, 32  # dispatches of a query set, and query sets of a timer


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
    """A compiled pipeline; its bind groups are keyed by (size of the parameters, buffer ids...)."""

    source: Source
    layout: Any
    compiled: Any
    groups: dict[tuple[int, ...], Any] = field(default_factory=dict[tuple[int, ...], Any])


@dataclass(slots=True)
class Range:
    """A buffer, or a slice of one."""

    buffer: Any
    offset: int
    size: int


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
        self._ranges: dict[int, Range] = {}
        self._sources = sources
        self._counts = counts
        self._layouts: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.pipelines: dict[int, Pipeline] = {}
        self.groups: OrderedDict[tuple[int, ...], None] = OrderedDict()  # (pipeline, *key)
        self._users: dict[int, set[tuple[int, ...]]] = {}  # buffer id -> its bind groups
        self._most = device.limits["maxComputeWorkgroupsPerDimension"]
        self._params = device.create_buffer(PARAM_WINDOW, UNIFORM | COPY_DST, "parameters")
        self._block = self._block_size = 0
        self._start = self._end = 0  # the part of the block that is in the uniform buffer
        self._encoder: Any = None
        self._pass: Any = None
        self._in_pass: Pipeline | None = None
        self._offset = ffi.new("uint32_t[1]")
        self._to_destroy: list[Any] = []

    def end(self) -> None:
        """Release the device and everything that belongs to it."""
        self.is_over = True
        self._abandon()
        for group in [g for p in self.pipelines.values() for g in p.groups.values()]:
            lib.wgpuBindGroupRelease(group)
        for pipeline in self.pipelines.values():
            lib.wgpuComputePipelineRelease(pipeline.compiled)
        for of_group, of_pipeline in self._layouts.values():
            lib.wgpuBindGroupLayoutRelease(of_group)
            lib.wgpuPipelineLayoutRelease(of_pipeline)
        for buffer in [self._params, *(b for b, _, _ in self.buffers.values())]:
            lib.wgpuBufferRelease(buffer)
        self.staging.end()
        self.device.destroy()
        self.device.release()

    # -- The stream -----------------------------------------------------------------------------

    def replay(self, stream: Sequence[int], table: Any, block: int, size: int) -> None:
        """Execute commands and submit them.

        After an exception, unsubmitted commands are dropped, and only the CREATE and DESTROY
        commands in the rest of the stream are executed. The same buffers then exist as after a
        successful flush.
        """
        self._block, self._block_size = block, size
        self._start = self._end = 0
        position, end = 0, len(stream)
        try:
            while position < end:
                position += self._perform(stream, position, table)
            self.submit()
            for readback in (self.ahead, *self.checks):
                if readback is not None:
                    readback.map()
        except BaseException as error:
            self._abandon()
            self.drop_ahead()
            self.checks.clear()
            if position < end and isinstance(error, Exception):
                error.add_note(self._label_at(stream, position))
            self._keep_table(stream, position)
            raise

    def _perform(self, stream: Sequence[int], command_start: int, table: Any) -> int:
        """Execute the command at a position; return its length."""
        command = stream[command_start]
        if command == DISPATCH:
            end = command_start + 8 + stream[command_start + 7]
            self._dispatch(
                stream,
                command_start,
                [table[position] for position in stream[command_start + 8 : end]],
            )
            return end - command_start
        match stream[command_start : command_start + LENGTHS.get(command, 1)]:
            case [op, number, size, slices] if op == CREATE:
                self.create_buffer(number, size, slices)
            case [op, number] if op == DESTROY:
                self.destroy_buffer(number)
            case [op, number, offset, start, size] if op == UPLOAD:
                self.submit()  # queue writes take effect before all later submissions
                self._upload(self.range(number), offset, start, size)
            case [op, number, value, size] if op == FILL:
                self.submit()
                self._fill(self.range(number), value, size)
            case [op] if op == SUBMIT:
                self.submit()
            case [op] if op == START:
                if self._encoder is not None and self.device.is_idle():
                    self.submit()
            case [op, position, size] if op == FETCH:
                self.ahead = Readback(self, table[position], 0, size)
            case [op, position, size] if op == CLEAR:
                target_range = self.range(table[position])
                self._close_pass()
                lib.wgpuCommandEncoderClearBuffer(
                    self._open(), target_range.buffer, target_range.offset, size
                )
            case [op, position, size] if op == CHECK:
                self.checks.append(Readback(self, table[position], 0, size))
            case _:
                raise LookupError(f"unknown command {command}")
        return LENGTHS[command]

    def _keep_table(self, stream: Sequence[int], position: int) -> None:
        """Execute CREATE and DESTROY after the command that failed."""
        while position < len(stream) and stream[position] in LENGTHS:
            position += LENGTHS[stream[position]] + (
                stream[position + 7] if stream[position] == DISPATCH else 0
            )
            match stream[position : position + 4]:
                case [op, number, size, slices] if op == CREATE:
                    self.create_buffer(number, size, slices)
                case [op, number, *_] if op == DESTROY:
                    self.destroy_buffer(number)
                case _:
                    pass

    def _label_at(self, stream: Sequence[int], position: int) -> str:
        """Return the label of the pipeline or the buffer that the command at a position uses."""
        if stream[position] == DISPATCH:
            source = self._sources.get(stream[position + 1])
            return f"pipeline {stream[position + 1]}" if source is None else source.label
        return (
            f"buffer {stream[position + 1]}"
            if stream[position] in (CREATE, DESTROY, UPLOAD, FILL)
            else ""
        )

    # -- Dispatches -----------------------------------------------------------------------------

    def _dispatch(self, stream: Sequence[int], position: int, ids: list[int]) -> None:
        _, number, offset, size, x, y, z, count = stream[position : position + 8]
        pipeline = self.pipelines.get(number) or self._keep(number, self._compiled(number))
        if max(x, y, z) > self._most:
            limit = f"exceed the limit of {self._most} per dimension"
            raise StreamError(f"{x} x {y} x {z} workgroups {limit}")
        if count != pipeline.source.buffers:
            raise StreamError(f"the pipeline takes {pipeline.source.buffers} buffers, not {count}")
        if offset < self._start or offset + size > self._end:
            self._move_window(offset, size)
        key = (max(16, -(-size // 16) * 16), *ids)
        group = pipeline.groups.get(key)
        if group is None:
            group = self._make_group(number, pipeline, key)
        if self.timer is not None:
            self._close_pass()
        if self._pass is None:
            self._open_pass(number)
        if pipeline is not self._in_pass:
            lib.wgpuComputePassEncoderSetPipeline(self._pass, pipeline.compiled)
            self._in_pass = pipeline
        self._offset[0] = offset - self._start
        lib.wgpuComputePassEncoderSetBindGroup(self._pass, 0, group, 1, self._offset)
        lib.wgpuComputePassEncoderDispatchWorkgroups(self._pass, x, y, z)
        self._counts["dispatches"] += 1

    def _move_window(self, offset: int, size: int) -> None:
        """Write the parameters from an offset of the block on into the uniform buffer."""
        if offset + size > self._block_size or size > PARAM_WINDOW:
            raise LookupError(f"the block has no parameters at {offset}")
        if self._end:
            self.submit()
        self._start, self._end = offset, min(self._block_size, offset + PARAM_WINDOW)
        self.device.write(self._params, 0, self._block + offset, self._end - offset)

    def _make_group(self, number: int, pipeline: Pipeline, key: tuple[int, ...]) -> Any:
        size, *ids = key
        ranges = [self.range(each) for each in ids]
        _refuse_aliases(ids, ranges, pipeline.source.writable)
        bound = [(used.buffer, used.offset, used.size) for used in ranges]
        bound.append((self._params, 0, size))
        group = self.device.create_bind_group(pipeline.layout, bound, pipeline.source.label)
        if len(self.groups) >= MAX_BIND_GROUPS:
            self._forget_group(next(iter(self.groups)))
        pipeline.groups[key] = group
        name = (number, *key)
        self.groups[name] = None
        for each in ids:
            self._users.setdefault(each, set()).add(name)
        return group

    def _forget_group(self, name: tuple[int, ...]) -> None:
        number, *key = name
        del self.groups[name]
        lib.wgpuBindGroupRelease(self.pipelines[number].groups.pop(tuple(key)))
        for each in key[1:]:
            users = self._users.get(each)
            if users is not None:
                users.discard(name)
                if not users:
                    del self._users[each]

    # -- Pipelines ------------------------------------------------------------------------------

    def _compiled(self, number: int) -> Pipeline:
        """Compile a pipeline; several threads may do so at a time."""
        source = self._sources.get(number)
        if source is None:
            raise LookupError(f"pipeline {number} is not defined")
        of_group, of_pipeline = self._layout(source)
        is_trusted = not source.is_foreign
        compiled = self.device.create_pipeline(of_pipeline, source.wgsl, is_trusted, source.label)
        return Pipeline(source, of_group, compiled)

    def _keep(self, number: int, pipeline: Pipeline) -> Pipeline:
        self._counts["compiles"] += 1
        self.pipelines[number] = pipeline
        return pipeline

    def compile_all(self, numbers: Sequence[int]) -> None:
        """Compile pipelines in parallel; drop all after an error, so that a flush reports it."""
        new = [n for n in dict.fromkeys(numbers) if n in self._sources and n not in self.pipelines]
        for number in new:
            self._layout(self._sources[number])
        if len(new) == 1:
            self._keep(new[0], self._compiled(new[0]))
        elif new:
            for number, pipeline in self._compiled_in_threads(new).items():
                self._keep(number, pipeline)
        if self.device.take_errors():
            for number in new:
                self.drop_pipeline(number)

    def _compiled_in_threads(self, numbers: Sequence[int]) -> dict[int, Pipeline]:
        """Compile pipelines, one in each thread at a time.

        Not by `concurrent.futures`: a fork in another thread holds its lock while it waits for the
        device's, which this thread has.
        """
        left, compiled, errors = deque(numbers), dict[int, Pipeline](), list[BaseException]()

        def work() -> None:
            try:
                while left:
                    number = left.popleft()
                    compiled[number] = self._compiled(number)
            except IndexError:  # another thread was faster
                pass
            except BaseException as error:
                errors.append(error)
                left.clear()

        threads = [Thread(target=work) for _ in range(min(len(numbers), (os.cpu_count() or 1) + 1))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:  # also after Ctrl-C: the caller may drop what they use
            left.clear()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return compiled

    def drop_pipeline(self, number: int) -> None:
        pipeline = self.pipelines.get(number)
        if pipeline is not None:
            for key in list(pipeline.groups):
                self._forget_group((number, *key))
            del self.pipelines[number]
            lib.wgpuComputePipelineRelease(pipeline.compiled)

    def _layout(self, source: Source) -> tuple[Any, Any]:
        key = source.buffers, source.writable
        layouts = self._layouts.get(key)
        if layouts is None:
            layouts = self._layouts[key] = self.device.create_layouts(*key)
        return layouts

    # -- Buffers --------------------------------------------------------------------------------

    def range(self, number: int) -> Range:
        known = self._ranges.get(number)
        if known is None:
            raise LookupError(f"buffer {number} does not exist")
        return known

    def create_buffer(self, number: int, size: int, slices: int) -> None:
        """Create a buffer, or a slab, whose slices have the ids after its own."""
        usage = STORAGE | COPY_SRC | COPY_DST
        buffer = self.device.create_buffer(size, usage, f"buffer {number}")
        self.buffers[number] = buffer, size, slices
        self._ranges[number] = Range(buffer, 0, size)
        for n in range(slices):
            slice_size = size // slices
            self._ranges[number + 1 + n] = Range(buffer, n * slice_size, slice_size)

    def destroy_buffer(self, number: int) -> None:
        """Destroy a buffer and its slices, if it exists, once nothing is left to submit."""
        buffer, _, slices = self.buffers.pop(number, (None, 0, 0))
        if buffer is None:
            return
        for each in range(number, number + 1 + slices):
            del self._ranges[each]
            for name in list(self._users.get(each, ())):
                self._forget_group(name)
        self._to_destroy.append(buffer)
        if self._encoder is None:
            self._destroy_unneeded()

    def _destroy_unneeded(self) -> None:
        while self._to_destroy:
            destroy_buffer(self._to_destroy.pop())

    def _upload(self, target_range: Range, offset: int, start: int, size: int) -> None:
        source, target = self._block + start, target_range.offset + offset
        whole = size - size % 4
        if whole:
            self.device.write(target_range.buffer, target, source, whole)
        if whole < size:
            rest = bytes(ffi.buffer(ffi.cast("char *", source + whole), size - whole))
            self.device.write(target_range.buffer, target + whole, rest.ljust(4, b"\0"), 4)

    def _fill(self, target_range: Range, value: int, size: int) -> None:
        pattern = array("I", [value]) * (min(size, FILLED_AT_ONCE) // 4)
        for offset in range(0, size, FILLED_AT_ONCE):
            count = min(FILLED_AT_ONCE, size - offset)
            self.device.write(target_range.buffer, target_range.offset + offset, pattern, count)

    # -- Recording ------------------------------------------------------------------------------

    def copy(self, source: Range, offset: int, target: Any, size: int) -> None:
        self._close_pass()
        start = source.offset + offset
        lib.wgpuCommandEncoderCopyBufferToBuffer(
            self._open(), source.buffer, start, target, 0, size
        )

    def submit(self) -> None:
        """Submit the encoded commands, if there are any and there was no error."""
        if self._encoder is None:
            return
        self._close_pass()
        encoder, self._encoder = self._encoder, None
        if self.device.submit(encoder):
            self._counts["submits"] += 1
        self._destroy_unneeded()

    def _abandon(self) -> None:
        self._close_pass()
        if self._encoder is not None:
            lib.wgpuCommandEncoderRelease(self._encoder)
            self._encoder = None
        self._destroy_unneeded()

    def _open(self) -> Any:
        if self._encoder is None:
            self._encoder = self.device.create_encoder()
        return self._encoder

    def _open_pass(self, pipeline: int) -> None:
        descriptor = ffi.NULL if self.timer is None else self.timer.next(pipeline)
        self._pass = lib.wgpuCommandEncoderBeginComputePass(self._open(), descriptor)
        self._in_pass = None

    def _close_pass(self) -> None:
        if self._pass is not None:
            ended, self._pass = self._pass, None
            lib.wgpuComputePassEncoderEnd(ended)
            lib.wgpuComputePassEncoderRelease(ended)

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

    def drop_ahead(self) -> None:
        self.ahead = None


@dataclass(slots=True)
class StagingBuffer:
    """A staging buffer, and its mapping, if that was started."""

    size: int
    handle: Any
    mapping: Mapping | None = None


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
        source = session.range(number)
        self._staging = session.staging.take(self._copied)
        self.__del__ = MethodType(session.staging.returned.append, self._staging)
        session.copy(source, offset, self._staging.handle, self._copied)

    def map(self) -> None:
        """Start to map the copy; it must be submitted."""
        self._staging.mapping = self._session.device.map(self._staging.handle, self._copied)

    def arrived(self) -> Any:
        """Wait for the copy and return its memory, which is valid as long as this object.

        Raises
        ------
        StreamError
            If it could not be mapped.
        """
        mapping, device = self._staging.mapping, self._session.device
        assert mapping is not None
        for _ in range(MAX_POLLS):
            if mapping.status is not None:
                break
            # Another thread may have polled at the same time: then it calls back, a little later.
            device.wait(device.submitted)
        if self._session.is_over:
            raise StreamError("the device was lost")
        if mapping.failed:
            raise StreamError(mapping.message or "the buffer was not mapped")
        return lib.wgpuBufferGetConstMappedRange(self._staging.handle, 0, self._copied)


class Staging:
    """Buffers that the GPU copies into and the host maps; a bounded number is kept idle.

    Attributes
    ----------
    returned : deque of StagingBuffer
        What deleted readbacks used; `collect` unmaps and keeps, or destroys, these buffers.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._idle: list[StagingBuffer] = []  # oldest first
        self.returned: deque[StagingBuffer] = deque()
        self.count = self.size = 0

    def take(self, size: int) -> StagingBuffer:
        """Return an unmapped buffer of at least this size."""
        self.collect()
        for position, idle in enumerate(self._idle):
            if size <= idle.size <= 4 * max(size, MIN_STAGING):
                return self._idle.pop(position)
        # Powers of two, so that reads of slightly different sizes share buffers.
        rounded = size if size > MAX_IDLE_BYTES else 1 << (max(size, MIN_STAGING) - 1).bit_length()
        buffer = self._device.create_buffer(rounded, MAP_READ | COPY_DST, "staging")
        self.count += 1
        self.size += rounded
        return StagingBuffer(rounded, buffer)

    def collect(self) -> None:
        """Take back the buffers of deleted readbacks."""
        while self.returned:
            buffer = self.returned.popleft()
            mapping, buffer.mapping = buffer.mapping, None
            if mapping is not None and (mapping.status is None or mapping.failed):
                self._discard(buffer)
                continue
            if mapping is not None:
                lib.wgpuBufferUnmap(buffer.handle)
            self._idle.append(buffer)
        while len(self._idle) > MAX_IDLE or sum(b.size for b in self._idle) > MAX_IDLE_BYTES:
            self._discard(self._idle.pop(0))

    def _discard(self, buffer: StagingBuffer) -> None:
        destroy_buffer(buffer.handle)
        self.count -= 1
        self.size -= buffer.size

    def end(self) -> None:
        for buffer in [*self._idle, *self.returned]:
            lib.wgpuBufferRelease(buffer.handle)
        self._idle.clear()
        self.returned.clear()


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
        self._writes = ffi.new(
            "WGPUPassTimestampWrites *",
            {
                "querySet": self._sets[-1],
                "beginningOfPassWriteIndex": 2 * number,
                "endOfPassWriteIndex": 2 * number + 1,
            },
        )
        return ffi.new("WGPUComputePassDescriptor *", {"timestampWrites": self._writes})

    def collect(self) -> list[tuple[int, int, int]]:
        """Return pipeline, begin and end of each dispatch, in ns since the first began.

        Nothing is known after a loss of the device.
        """
        if self._session.is_over:
            self._release()
            return []
        stamps: list[int] = []
        for number, queries in enumerate(self._sets):
            left = len(self._pipelines) - number * TIMED_AT_ONCE
            stamps += self._read(queries, 2 * min(TIMED_AT_ONCE, left))
        self._release()
        period = self._session.device.timestamp_period
        times = [int((stamp - stamps[0]) * period) for stamp in stamps]
        return [(p, times[2 * n], times[2 * n + 1]) for n, p in enumerate(self._pipelines)]

    def _release(self) -> None:
        while self._sets:
            lib.wgpuQuerySetRelease(self._sets.pop())

    def _read(self, queries: Any, count: int) -> list[int]:
        session, size = self._session, 8 * count
        usage = QUERY_RESOLVE | COPY_SRC
        resolved = session.device.create_buffer(size, usage, "timestamps")
        staging = session.device.create_buffer(size, MAP_READ | COPY_DST, "timestamps to read")
        encoder = session.device.create_encoder()
        lib.wgpuCommandEncoderResolveQuerySet(encoder, queries, 0, count, resolved, 0)
        lib.wgpuCommandEncoderCopyBufferToBuffer(encoder, resolved, 0, staging, 0, size)
        session.device.submit(encoder)
        session.device.map(staging, size)
        session.device.wait(session.device.submitted)
        memory = lib.wgpuBufferGetConstMappedRange(staging, 0, size)
        stamps: list[int] = ffi.unpack(ffi.cast("uint64_t *", memory), count)
        for buffer in (resolved, staging):
            destroy_buffer(buffer)
        return stamps


def _refuse_aliases(ids: Sequence[int], ranges: Sequence[Range], writable: int) -> None:
    """Raise if a dispatch binds one buffer twice and at least one binding is writable."""
    for i, one in enumerate(ranges):
        other = next(j for j, earlier in enumerate(ranges) if earlier.buffer == one.buffer)
        if other < i and (writable >> i | writable >> other) & 1:
            same = ids[other] == ids[i]
            what = f"buffer {ids[i]}" if same else f"the buffer of {ids[other]} and {ids[i]}"
            raise StreamError(f"{what} is bound at {other} and at {i}, and one of them is writable")
