"""A GPU device of wgpu-native: WebGPU's C interface, through the cffi objects of the package wgpu.

wgpu's own classes take several µs per call; calling the C function directly takes about 0.3 µs.

wgpu-native reports an error during the call that causes it. `Device.errors` collects these errors,
and the caller takes them from there. wgpu-native ends the process if invalid commands are
submitted, so `submit` drops commands if there was an error while they were encoded.

Calls must be atomic: here is what defers Ctrl-C during them, and what releases a lock meanwhile.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from signal import SIGINT
from types import FrameType, MethodType
from typing import Any, Literal, ParamSpec, TypeVar

from py_tensor.runtime.failures import Failure

P = ParamSpec("P")
T = TypeVar("T")

_wgpu: Any = import_module("wgpu.backends.wgpu_native")
ffi: Any = _wgpu.ffi
gpu: Any = _wgpu.gpu
lib: Any = _wgpu.lib

FEATURES = {
    "timestamp-query": lib.WGPUFeatureName_TimestampQuery,
    "subgroups": lib.WGPUNativeFeature_Subgroup,
    "shader-f16": lib.WGPUFeatureName_ShaderF16,
}
"""Optional features that are requested if the adapter has them."""
MAP_READ, COPY_SRC, COPY_DST = 0x01, 0x04, 0x08  # buffer usages
UNIFORM, STORAGE, QUERY_RESOLVE = 0x40, 0x80, 0x200
USAGES = {
    "storage": STORAGE | COPY_SRC | COPY_DST,
    "parameters": UNIFORM | COPY_DST,
    "staging": MAP_READ | COPY_DST,
    "timestamps": QUERY_RESOLVE | COPY_SRC,
}
"""The kinds of buffers."""
COMPUTE = 4  # the visibility of a binding
MAX_IDLE, MAX_IDLE_BYTES, MIN_STAGING = 8, 64 << 20, 4096  # limits of idle staging buffers
TIMED_AT_ONCE, MAX_SETS = 2048, 32  # dispatches of a query set, and query sets of a timer
MAX_POLLS = 10_000  # until the callback of a mapping that another thread polled for
UNCHECKED = 0  # runtime checks of a shader: no bounds checks of indices, no bounds of loops

KINDS = {
    lib.WGPUErrorType_Validation: "validation",
    lib.WGPUErrorType_OutOfMemory: "out-of-memory",
}
LOST = "Parent device is lost"
_LABEL = re.compile(r"(?:label = |(?:ComputePipeline|BindGroup|Buffer) with )'([^']+)'")
_LINE = re.compile(r"wgsl:(\d+):\d+")


# -- What must be atomic --------------------------------------------------------------------------

# `signal` wraps this module with enums, which adds 5 us to each change of a handler.
_signal: Any = import_module("_signal")
_NUMBER = int(SIGINT)
_main = threading.main_thread().ident
_is_deferring = False
_handler: Any = None  # the program's own, while interrupts are deferred


def uninterruptible(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an interrupt during it is raised when it returns.

    Otherwise Python may raise an interrupt between any two steps of the main thread: in a callback
    of a C library, or after a command is encoded but before that is recorded.
    """

    @wraps(function)
    def uninterruptible_function(*args: P.args, **kwargs: P.kwargs) -> T:
        global _is_deferring, _handler
        if _is_deferring or threading.get_ident() != _main:
            return function(*args, **kwargs)
        handler = _signal.getsignal(_NUMBER)
        if not callable(handler):
            return function(*args, **kwargs)
        noted: list[tuple[int, FrameType | None]] = []

        def note(number: int, frame: FrameType | None) -> None:
            noted.append((number, frame))

        _handler = handler
        _signal.signal(_NUMBER, note)
        try:
            _is_deferring = True
            return function(*args, **kwargs)
        finally:
            _is_deferring = False
            _signal.signal(_NUMBER, handler)
            if noted:
                handler(*noted[0])

    return uninterruptible_function


def _restore_handler() -> None:
    """Stop deferring in a process that another thread forked while the main one deferred."""
    global _is_deferring, _main
    _main = threading.get_ident()
    if _is_deferring:
        _is_deferring = False
        _signal.signal(_NUMBER, _handler)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_handler)


@contextmanager
def released(lock: Any) -> Generator[None]:
    """Release an RLock, however often this thread has acquired it, while the context is active.

    Does nothing if this thread does not hold it. An interrupt in the context would leave the lock
    in an unknown state: use it in `uninterruptible` code.
    """
    if lock is None or not lock._is_owned():
        yield
        return
    acquired = lock._release_save()  # as `threading.Condition` does
    try:
        yield
    finally:
        lock._acquire_restore(acquired)


# -- The device -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Range:
    """A buffer, or a slice of one."""

    buffer: Any
    offset: int
    size: int


class StreamError(Exception):
    """A command that WebGPU would reject, or a buffer that could not be mapped."""


class AbsentError(Exception):
    """No device is available; the message says why."""


def error_of(kind: str, message: str) -> Failure:
    """Return an error as a failure of no flush yet.

    Its kind is "validation", "out-of-memory", "internal" or "lost". Its label is that of the object
    concerned, "" if unknown. It has a line, from 1, if it is about WGSL.
    """
    label, line = _LABEL.search(message), _LINE.search(message)
    failure: Failure = {
        "kind": "lost" if LOST in message else kind,
        "label": "" if label is None else label[1],
        "message": message.strip(),
    }
    return failure if line is None else failure | {"line": int(line[1])}


class Device:
    """The device of an adapter, its queue, and the commands that are being encoded.

    Handles are C pointers. The methods `create_...` return some that `free` releases.

    Attributes
    ----------
    adapter : dict
        The identity of the adapter.
    features : list of str
    limits : dict
    errors : list of Failure
        The errors since `take_errors` was last called.
    submitted, completed : int
        The numbers of the last submission, and of the last that is known to be complete; 0 before.
    lock : RLock, optional
        Released during waits: the bridge's.
    is_over : bool
        Whether the device was released after its loss.
    counts : dict
        Counts of submits and so on, which outlive the device.
    compute_pass : cdata, optional
        The open pass.
    staging : set of Staging
        The buffers for reading.
    idle : deque of Staging
        Those of them that no readback uses, oldest first.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts
        self.lock: threading.RLock | None = None
        self.errors: list[Failure] = []
        self.submitted = self.completed = 0
        self.is_over = False
        self.compute_pass: Any = None
        self.staging: set[Staging] = set()
        self.idle: deque[Staging] = deque()
        self._encoder: Any = None
        self._releases: dict[Any, Callable[[Any], None]] = {}  # by handle
        adapter = _request_adapter()
        info, handle = adapter.info, adapter._internal
        self.adapter = {
            "vendor": info["vendor"],
            "architecture": info["architecture"],
            "device": info["device"],
            "description": info["device"],
            "isFallbackAdapter": info["adapter_type"] == "CPU",
        }
        self._is_vulkan = info["backend_type"] == "Vulkan"
        self.features = [n for n, f in FEATURES.items() if lib.wgpuAdapterHasFeature(handle, f)]
        limits = _new("Limits")
        lib.wgpuAdapterGetLimits(handle, limits)
        names = [name for name, _ in ffi.typeof(limits[0]).fields if name != "nextInChain"]
        self.limits: dict[str, int] = {name: getattr(limits, name) for name in names}
        self.handle = self._request(handle, limits)
        self.queue = lib.wgpuDeviceGetQueue(self.handle)

    def _request(self, adapter: Any, limits: Any) -> Any:
        """Request the device from an adapter, which calls back at once."""
        answers: list[tuple[Any, str]] = []

        @ffi.callback("WGPURequestDeviceCallback")
        def note_device(_status: int, device: Any, message: Any, *_: Any) -> None:
            answers.append((device, text_of(message)))

        @ffi.callback("WGPUUncapturedErrorCallback")
        def note_error(_device: Any, kind: int, message: Any, *_: Any) -> None:
            self.errors.append(error_of(KINDS.get(kind, "internal"), text_of(message)))

        @ffi.callback("WGPUDeviceLostCallback")
        def note_loss(_device: Any, _reason: int, message: Any, *_: Any) -> None:
            self.errors.append({"kind": "lost", "label": "", "message": text_of(message)})

        self._callbacks = note_error, note_loss  # keeps them alive while the device may call them
        features = ffi.new("WGPUFeatureName[]", [FEATURES[name] for name in self.features])
        mode = lib.WGPUCallbackMode_AllowSpontaneous
        descriptor = _new(
            "DeviceDescriptor",
            requiredFeatureCount=len(features),
            requiredFeatures=features,
            requiredLimits=limits,
            deviceLostCallbackInfo={"mode": mode, "callback": note_loss},
            uncapturedErrorCallbackInfo={"callback": note_error},
        )
        told = _new("RequestDeviceCallbackInfo", mode=mode, callback=note_device)
        lib.wgpuAdapterRequestDevice(adapter, descriptor, told[0])
        [(device, message)] = answers
        if not device:
            raise AbsentError(f"the adapter returned no device: {message}")
        return device

    def take_errors(self) -> list[Failure]:
        """Return and clear the errors: the first of each kind, causes before effects."""
        errors, self.errors = self.errors, []
        first = {error["kind"]: error for error in reversed(errors)}
        order = ("lost", "out-of-memory", "validation", "internal")
        return [first[kind] for kind in order if kind in first]

    def _own(self, handle: Any, release: Callable[[Any], None]) -> Any:
        self._releases[handle] = release
        return handle

    def free(self, handle: Any) -> None:
        self._releases.pop(handle)(handle)

    def release(self) -> None:
        """Release the device and everything that belongs to it."""
        self.is_over = True
        self.abandon()
        _abandoned.update(staging for staging in self.staging if staging.state == "pending")
        for handle in list(self._releases):
            self.free(handle)
        lib.wgpuDeviceDestroy(self.handle)
        lib.wgpuQueueRelease(self.queue)
        lib.wgpuDeviceRelease(self.handle)

    # -- Buffers --------------------------------------------------------------------------------

    def create_buffer(self, size: int, kind: str, label: str = "") -> Any:
        name = _view(label or kind)
        descriptor = _new("BufferDescriptor", label=name, size=size, usage=USAGES[kind])
        buffer = lib.wgpuDeviceCreateBuffer(self.handle, descriptor)
        return self._own(buffer, lib.wgpuBufferRelease)

    def write(self, target: Range, offset: int, data: Any, size: int) -> None:
        """Write host data to a GPU buffer; later submissions see it.

        `data` is an address or a Python buffer.
        """
        source = ffi.cast("void *", data) if isinstance(data, int) else ffi.from_buffer(data)
        lib.wgpuQueueWriteBuffer(self.queue, target.buffer, target.offset + offset, source, size)

    def take_staging(self, size: int) -> Staging:
        """Return an unmapped buffer for reading at least this many bytes; few are kept idle."""
        idle = self.idle  # finalizers append to it, in any thread
        # Powers of two, so that reads of slightly different sizes share buffers.
        rounded = size if size > MAX_IDLE_BYTES else 1 << (max(size, MIN_STAGING) - 1).bit_length()
        while len(idle) > MAX_IDLE or sum(staging.size for staging in [*idle]) > MAX_IDLE_BYTES:
            self._release_staging(idle.popleft())
        for _ in range(len(idle)):
            staging = idle.popleft()
            if staging.state:
                self._release_staging(staging)
            elif staging.size == rounded:
                return staging
            else:
                idle.append(staging)
        staging = Staging(self, rounded)
        self.staging.add(staging)
        return staging

    def _release_staging(self, staging: Staging) -> None:
        self.staging.remove(staging)
        self.free(staging.handle)

    # -- Pipelines ------------------------------------------------------------------------------

    def create_layouts(self, buffers: int, writable: int) -> tuple[Any, Any]:
        """Return the layouts of a bind group and a pipeline: storage buffers, then parameters.

        `writable` has a bit for each buffer that is written.
        """
        storage, read = lib.WGPUBufferBindingType_Storage, lib.WGPUBufferBindingType_ReadOnlyStorage
        types = [{"type": storage if writable >> n & 1 else read} for n in range(buffers)]
        types.append({"type": lib.WGPUBufferBindingType_Uniform, "hasDynamicOffset": 1})
        entries = ffi.new(
            "WGPUBindGroupLayoutEntry[]",
            [{"binding": n, "visibility": COMPUTE, "buffer": t} for n, t in enumerate(types)],
        )
        descriptor = _new("BindGroupLayoutDescriptor", entryCount=len(entries), entries=entries)
        of_group = lib.wgpuDeviceCreateBindGroupLayout(self.handle, descriptor)
        self._own(of_group, lib.wgpuBindGroupLayoutRelease)
        groups = ffi.new("WGPUBindGroupLayout[]", [of_group])
        descriptor = _new(
            "PipelineLayoutDescriptor", bindGroupLayoutCount=1, bindGroupLayouts=groups
        )
        of_pipeline = lib.wgpuDeviceCreatePipelineLayout(self.handle, descriptor)
        return of_group, self._own(of_pipeline, lib.wgpuPipelineLayoutRelease)

    def create_pipeline(self, layout: Any, wgsl: str, is_trusted: bool, label: str) -> Any:
        """Create a compute pipeline with the entry point "main".

        A trusted pipeline has no index checks and no loop bounds: with them, a matrix product takes
        up to 1.6 times as long. On Vulkan, the driver still checks accesses to buffers, because
        wgpu requests `robustBufferAccess`. On other backends no program is trusted.
        """
        name, code, entry = _view(label), _view(wgsl), _view("main")
        source = _new(
            "ShaderSourceWGSL", chain={"sType": lib.WGPUSType_ShaderSourceWGSL}, code=code
        )
        chained = ffi.cast("WGPUChainedStruct *", source)
        descriptor = _new("ShaderModuleDescriptor", nextInChain=chained, label=name)
        if is_trusted and self._is_vulkan:
            module = lib.wgpuDeviceCreateShaderModuleTrusted(self.handle, descriptor, UNCHECKED)
        else:
            module = lib.wgpuDeviceCreateShaderModule(self.handle, descriptor)
        stage = {"module": module, "entryPoint": entry}
        descriptor = _new("ComputePipelineDescriptor", label=name, layout=layout, compute=stage)
        pipeline = lib.wgpuDeviceCreateComputePipeline(self.handle, descriptor)
        lib.wgpuShaderModuleRelease(module)
        return self._own(pipeline, lib.wgpuComputePipelineRelease)

    def create_bind_group(self, layout: Any, ranges: Sequence[Range], label: str) -> Any:
        name = _view(label)
        entries = ffi.new(
            "WGPUBindGroupEntry[]",
            [
                {"binding": n, "buffer": r.buffer, "offset": r.offset, "size": r.size}
                for n, r in enumerate(ranges)
            ],
        )
        fields = {"layout": layout, "entryCount": len(entries), "entries": entries}
        descriptor = _new("BindGroupDescriptor", label=name, **fields)
        group = lib.wgpuDeviceCreateBindGroup(self.handle, descriptor)
        return self._own(group, lib.wgpuBindGroupRelease)

    def create_query_set(self, count: int) -> Any:
        """Create a query set for this many timestamps."""
        descriptor = _new("QuerySetDescriptor", type=lib.WGPUQueryType_Timestamp, count=count)
        queries = lib.wgpuDeviceCreateQuerySet(self.handle, descriptor)
        return self._own(queries, lib.wgpuQuerySetRelease)

    # -- Submitting -----------------------------------------------------------------------------

    def outside_pass(self) -> Any:
        """Return the encoder, without an open pass."""
        if self._encoder is None:
            self._encoder = lib.wgpuDeviceCreateCommandEncoder(self.handle, ffi.NULL)
        elif self.compute_pass is not None:
            ended, self.compute_pass = self.compute_pass, None
            lib.wgpuComputePassEncoderEnd(ended)
            lib.wgpuComputePassEncoderRelease(ended)
        return self._encoder

    def submit(self) -> bool:
        """Submit what is encoded, unless there is nothing or `errors` has any; return if it did."""
        if self._encoder is None:
            return False
        encoder, self._encoder = self.outside_pass(), None
        commands = lib.wgpuCommandEncoderFinish(encoder, ffi.NULL)
        lib.wgpuCommandEncoderRelease(encoder)
        is_valid = not self.errors
        if is_valid:
            self.counts["submits"] += 1
            pointer = ffi.new("WGPUCommandBuffer[]", [commands])
            self.submitted = lib.wgpuQueueSubmitForIndex(self.queue, 1, pointer)
        lib.wgpuCommandBufferRelease(commands)
        return is_valid

    def abandon(self) -> None:
        """Drop what is encoded."""
        if self._encoder is not None:
            encoder, self._encoder = self.outside_pass(), None
            lib.wgpuCommandEncoderRelease(encoder)

    def is_idle(self) -> bool:
        """Return whether the GPU has completed everything that was submitted."""
        return bool(lib.wgpuDevicePoll(self.handle, False, ffi.NULL) & 1)

    def wait(self, submission: int) -> None:
        """Wait until the GPU has completed a submission and all before it.

        Other threads may use the device meanwhile.
        """
        index, handle = ffi.new("WGPUSubmissionIndex *", submission), self.handle
        lib.wgpuDeviceAddRef(handle)  # another thread may release a lost device meanwhile
        try:
            with released(self.lock):
                lib.wgpuDevicePoll(handle, True, index)
        finally:
            lib.wgpuDeviceRelease(handle)
        self.completed = max(self.completed, submission)


# -- Reading --------------------------------------------------------------------------------------


class Staging:
    """A buffer that the GPU copies into and the host maps.

    Attributes
    ----------
    state : str
        "" if it is not mapped, "pending" or "mapped"; after an error, its message.
    callback_info : cdata
        How wgpu-native reports the end of a mapping.
    """

    def __init__(self, device: Device, size: int) -> None:
        self.size = size
        self.handle = device.create_buffer(size, "staging")
        self.state = ""
        self._me = ffi.new_handle(self)
        mode = lib.WGPUCallbackMode_AllowSpontaneous
        fields = {"mode": mode, "callback": _note_mapped, "userdata1": self._me}
        self.callback_info = ffi.new("WGPUBufferMapCallbackInfo *", fields)[0]


_abandoned: set[Staging] = set()
"""Buffers of lost devices, kept alive because wgpu-native may still call back with them."""


@ffi.callback("WGPUBufferMapCallback")
def _note_mapped(status: int, message: Any, pointer: Any, _: Any) -> None:
    is_mapped = status == lib.WGPUMapAsyncStatus_Success
    state = "mapped" if is_mapped else text_of(message) or "the buffer was not mapped"
    ffi.from_handle(pointer).state = state


class Readback:
    """A copy of a part of a buffer to the host; the constructor encodes the copy.

    Its staging buffer is idle again when the object is deleted.
    """

    # The finalizer is a function implemented in C, as for tensors (`Node.__call__`).
    __slots__ = ("__del__", "__weakref__", "_copied", "_device", "_staging")

    def __init__(self, device: Device, source: Range, offset: int, size: int) -> None:
        self._device = device
        self._copied = -(-size // 4) * 4  # only whole words can be copied
        self._staging = device.take_staging(self._copied)
        self.__del__ = MethodType(device.idle.append, self._staging)
        encoder, start = device.outside_pass(), source.offset + offset
        lib.wgpuCommandEncoderCopyBufferToBuffer(
            encoder, source.buffer, start, self._staging.handle, 0, self._copied
        )

    def map(self) -> None:
        """Start to map the copy, which was submitted."""
        staging, mode = self._staging, lib.WGPUMapMode_Read
        staging.state = "pending"
        lib.wgpuBufferMapAsync(staging.handle, mode, 0, self._copied, staging.callback_info)

    def write_to(self, target: Any, size: int) -> None:
        """Wait for the copy, which was submitted, and write its first bytes to memory.

        Raises
        ------
        StreamError
            If it could not be mapped.
        """
        staging, device = self._staging, self._device
        if not staging.state:
            self.map()
        for _ in range(MAX_POLLS):
            if staging.state != "pending" or device.is_over:
                break
            # Another thread may poll at the same time: then it calls back, a little later.
            device.wait(device.submitted)
        if device.is_over:
            raise StreamError("the device was lost")
        if staging.state != "mapped":
            raise StreamError(staging.state)
        memory = lib.wgpuBufferGetConstMappedRange(staging.handle, 0, self._copied)
        ffi.memmove(target, memory, size)
        lib.wgpuBufferUnmap(staging.handle)
        staging.state = ""

    def numbers(self, typecode: Literal["I", "Q"] = "I") -> list[int]:
        """Wait for the copy and return it as numbers."""
        numbers = array(typecode)
        numbers.frombytes(bytes(self._copied))
        self.write_to(ffi.from_buffer(numbers), self._copied)
        return numbers.tolist()


# -- Timing ---------------------------------------------------------------------------------------


class Timer:
    """Times each dispatch on the GPU, by timestamps around a pass of its own."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._sets: list[Any] = []
        self._pipelines: list[int] = []

    def next(self, pipeline: int) -> Any:
        """Return the descriptor of the pass of the next dispatch; NULL if no room is left."""
        number = len(self._pipelines) % TIMED_AT_ONCE
        if number == 0:
            if len(self._sets) == MAX_SETS:
                return ffi.NULL
            self._sets.append(self._device.create_query_set(2 * TIMED_AT_ONCE))
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
            if self._device.is_over:
                return []
            left = 2 * len(self._pipelines) - len(stamps)
            stamps += self._read(queries, min(2 * TIMED_AT_ONCE, left))
            self._device.free(queries)
        period = lib.wgpuQueueGetTimestampPeriod(self._device.queue)
        times = [int((stamp - stamps[0]) * period) for stamp in stamps]
        return [(p, times[2 * n], times[2 * n + 1]) for n, p in enumerate(self._pipelines)]

    def _read(self, queries: Any, count: int) -> list[int]:
        device = self._device
        resolved = device.create_buffer(8 * count, "timestamps")
        encoder = device.outside_pass()
        lib.wgpuCommandEncoderResolveQuerySet(encoder, queries, 0, count, resolved, 0)
        readback = Readback(device, Range(resolved, 0, 8 * count), 0, 8 * count)
        device.submit()
        device.free(resolved)
        return readback.numbers("Q")


# -- Calls ----------------------------------------------------------------------------------------


def _request_adapter() -> Any:
    """Request the adapter that wgpu-native prefers for high performance."""
    try:
        return gpu.request_adapter_sync(power_preference="high-performance")
    except RuntimeError:
        raise AbsentError(
            "wgpu found no adapter; install the GPU's driver for Vulkan, Metal or Direct3D 12"
            " (without a GPU: Debian's mesa-vulkan-drivers)"
        ) from None


def _new(name: str, **fields: Any) -> Any:
    """Allocate a WebGPU struct; the caller must keep alive what its fields point to."""
    return ffi.new(f"WGPU{name} *", fields)


def _view(text: str) -> dict[str, Any]:
    """Return a WebGPU string; the caller must keep it alive until the call that reads it."""
    data = ffi.from_buffer(text.encode())
    return {"data": data, "length": len(data)}


def text_of(view: Any) -> str:
    return ffi.string(view.data, view.length).decode(errors="replace") if view.data else ""
