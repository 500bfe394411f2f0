"""A GPU device of wgpu-native: WebGPU's C interface, through the cffi objects of the package wgpu.

wgpu's own classes take several µs per call; calling the C function directly takes about 0.3 µs.

wgpu-native reports an error during the call that causes it. `Device.errors` collects these errors,
and the caller takes them from there. wgpu-native ends the process if invalid commands are
submitted, so `submit` drops commands if there was an error while they were encoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import RLock
from typing import Any

from py_tensor.backends.interrupts import released

_wgpu: Any = import_module("wgpu.backends.wgpu_native")
ffi: Any = _wgpu.ffi
lib: Any = _wgpu.lib

FEATURES = {
    "timestamp-query": lib.WGPUFeatureName_TimestampQuery,
    "subgroups": lib.WGPUNativeFeature_Subgroup,
    "shader-f16": lib.WGPUFeatureName_ShaderF16,
}
"""Optional features that are requested if the adapter has them."""
MAP_READ, COPY_SRC, COPY_DST = 0x01, 0x04, 0x08  # buffer usages
UNIFORM, STORAGE, QUERY_RESOLVE = 0x40, 0x80, 0x200
COMPUTE = 4  # the visibility of a binding
UNCHECKED = 0  # runtime checks of a shader: no bounds checks of indices, no bounds of loops

KINDS = {
    lib.WGPUErrorType_Validation: "validation",
    lib.WGPUErrorType_OutOfMemory: "out-of-memory",
}
LOST = "Parent device is lost"
_LABEL = re.compile(r"label = '([^']+)'|(?:ComputePipeline|BindGroup|Buffer) with '([^']+)' label")
_LINE = re.compile(r"wgsl:(\d+):\d+")


class AbsentError(Exception):
    """No device is available; the message says why."""


@dataclass(frozen=True)
class Error:
    """An error that wgpu-native reported during a call.

    Attributes
    ----------
    kind : str
        "validation", "out-of-memory", "internal" or "lost".
    label : str
        The label of the object concerned; "" if unknown.
    line : int
        The line of the WGSL, from 1; 0 if the error is not about WGSL.
    """

    kind: str
    label: str
    message: str
    line: int


def error_of(kind: str, message: str) -> Error:
    label, line = _LABEL.search(message), _LINE.search(message)
    kind = "lost" if LOST in message else kind
    name = "" if label is None else label[1] or label[2]
    return Error(kind, name, message.strip(), 0 if line is None else int(line[1]))


class Device:
    """The device of an adapter, and its queue.

    Handles are C pointers. The code that creates an object must release it.

    Attributes
    ----------
    adapter : dict
        The identity of the adapter.
    features : list of str
    limits : dict
    errors : list of Error
        The errors since `take_errors` was last called.
    submitted : int
        The number of the last submission, 0 before the first.
    lock : RLock
        Released during waits: the bridge's.
    """

    def __init__(self, lock: RLock) -> None:
        self.lock = lock
        self.errors: list[Error] = []
        self.submitted = 0
        adapter = _request_adapter()
        try:
            self.adapter, self._is_vulkan = _identity(adapter)
            self.features = [
                n for n, f in FEATURES.items() if lib.wgpuAdapterHasFeature(adapter, f)
            ]
            limits = _new("Limits")
            lib.wgpuAdapterGetLimits(adapter, limits)
            names = [name for name, _ in ffi.typeof(limits[0]).fields if name != "nextInChain"]
            self.limits: dict[str, int] = {name: getattr(limits, name) for name in names}
            self._handle = self._request(adapter, limits)
        finally:
            lib.wgpuAdapterRelease(adapter)
        self._queue = lib.wgpuDeviceGetQueue(self._handle)

    def _request(self, adapter: Any, limits: Any) -> Any:
        answers: list[tuple[Any, str]] = []

        @ffi.callback("WGPURequestDeviceCallback")
        def note_device(_status: int, device: Any, message: Any, *_: Any) -> None:
            answers.append((device, _text(message)))

        @ffi.callback("WGPUUncapturedErrorCallback")
        def note_error(_device: Any, kind: int, message: Any, *_: Any) -> None:
            self.errors.append(error_of(KINDS.get(kind, "internal"), _text(message)))

        @ffi.callback("WGPUDeviceLostCallback")
        def note_loss(_device: Any, _reason: int, message: Any, *_: Any) -> None:
            self.errors.append(Error("lost", "", _text(message), 0))

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

    def take_errors(self) -> list[Error]:
        """Return and clear the errors: the first of each kind, causes before effects."""
        if not self.errors:
            return []
        taken, self.errors = self.errors, []
        first = {error.kind: error for error in reversed(taken)}
        order = ("lost", "out-of-memory", "validation", "internal")
        return [first[kind] for kind in order if kind in first]

    def destroy(self) -> None:
        lib.wgpuDeviceDestroy(self._handle)

    def release(self) -> None:
        lib.wgpuQueueRelease(self._queue)
        lib.wgpuDeviceRelease(self._handle)

    # -- Buffers --------------------------------------------------------------------------------

    def create_buffer(self, size: int, usage: int, label: str) -> Any:
        name = _view(label)
        descriptor = _new("BufferDescriptor", label=name, size=size, usage=usage)
        return lib.wgpuDeviceCreateBuffer(self._handle, descriptor)

    def write(self, buffer: Any, offset: int, data: Any, size: int) -> None:
        """Write host data to a GPU buffer; later submissions see it.

        `data` is an address or a Python buffer.
        """
        source = ffi.cast("void *", data) if isinstance(data, int) else ffi.from_buffer(data)
        lib.wgpuQueueWriteBuffer(self._queue, buffer, offset, source, size)

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
        of_group = lib.wgpuDeviceCreateBindGroupLayout(self._handle, descriptor)
        groups = ffi.new("WGPUBindGroupLayout[]", [of_group])
        descriptor = _new(
            "PipelineLayoutDescriptor", bindGroupLayoutCount=1, bindGroupLayouts=groups
        )
        return of_group, lib.wgpuDeviceCreatePipelineLayout(self._handle, descriptor)

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
            module = lib.wgpuDeviceCreateShaderModuleTrusted(self._handle, descriptor, UNCHECKED)
        else:
            module = lib.wgpuDeviceCreateShaderModule(self._handle, descriptor)
        stage = {"module": module, "entryPoint": entry}
        descriptor = _new("ComputePipelineDescriptor", label=name, layout=layout, compute=stage)
        pipeline = lib.wgpuDeviceCreateComputePipeline(self._handle, descriptor)
        lib.wgpuShaderModuleRelease(module)
        return pipeline

    def create_bind_group(
        self, layout: Any, ranges: Sequence[tuple[Any, int, int]], label: str
    ) -> Any:
        """Create a bind group of ranges: (buffer, offset, size) each."""
        name = _view(label)
        entries = ffi.new(
            "WGPUBindGroupEntry[]",
            [
                {"binding": number, "buffer": buffer, "offset": offset, "size": size}
                for number, (buffer, offset, size) in enumerate(ranges)
            ],
        )
        descriptor = _new(
            "BindGroupDescriptor",
            label=name,
            layout=layout,
            entryCount=len(entries),
            entries=entries,
        )
        return lib.wgpuDeviceCreateBindGroup(self._handle, descriptor)

    # -- Submitting -----------------------------------------------------------------------------

    def create_encoder(self) -> Any:
        return lib.wgpuDeviceCreateCommandEncoder(self._handle, ffi.NULL)

    def submit(self, encoder: Any) -> bool:
        """Submit the encoded commands unless `errors` has any; return whether that was done."""
        commands = lib.wgpuCommandEncoderFinish(encoder, ffi.NULL)
        lib.wgpuCommandEncoderRelease(encoder)
        is_valid = not self.errors
        if is_valid:
            pointer = ffi.new("WGPUCommandBuffer[]", [commands])
            self.submitted = lib.wgpuQueueSubmitForIndex(self._queue, 1, pointer)
        lib.wgpuCommandBufferRelease(commands)
        return is_valid

    def is_idle(self) -> bool:
        """Return whether the GPU has completed everything that was submitted."""
        return bool(lib.wgpuDevicePoll(self._handle, False, ffi.NULL) & 1)

    def wait(self, submission: int) -> None:
        """Wait until the GPU has completed a submission and all before it.

        Other threads may use the device meanwhile.
        """
        index, handle = ffi.new("WGPUSubmissionIndex *", submission), self._handle
        lib.wgpuDeviceAddRef(handle)  # another thread may release a lost device meanwhile
        try:
            with released(self.lock):
                lib.wgpuDevicePoll(handle, True, index)
        finally:
            lib.wgpuDeviceRelease(handle)

    # -- Reading --------------------------------------------------------------------------------

    def map(self, buffer: Any, size: int) -> Mapping:
        """Start to map a buffer for reading."""
        mapping = Mapping()
        _mappings.add(mapping)
        told = _new(
            "BufferMapCallbackInfo",
            mode=lib.WGPUCallbackMode_AllowSpontaneous,
            callback=_note_mapped,
            userdata1=mapping.handle,
        )
        lib.wgpuBufferMapAsync(buffer, lib.WGPUMapMode_Read, 0, size, told[0])
        return mapping

    @property
    def timestamp_period(self) -> float:
        """The unit of timestamps, in ns."""
        return lib.wgpuQueueGetTimestampPeriod(self._queue)

    def create_query_set(self, count: int) -> Any:
        """Create a query set for this many timestamps."""
        descriptor = _new("QuerySetDescriptor", type=lib.WGPUQueryType_Timestamp, count=count)
        return lib.wgpuDeviceCreateQuerySet(self._handle, descriptor)


class Mapping:
    """A mapping of a buffer; `status` is None until it completes, then WebGPU's status."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.message = ""
        self.handle = ffi.new_handle(self)

    @property
    def failed(self) -> bool:
        return self.status != lib.WGPUMapAsyncStatus_Success


_mappings: set[Mapping] = set()
"""Mappings in progress; kept alive because wgpu-native will call back with them."""


@ffi.callback("WGPUBufferMapCallback")
def _note_mapped(status: int, message: Any, mapping: Any, _: Any) -> None:
    mapped: Mapping = ffi.from_handle(mapping)
    _mappings.discard(mapped)
    mapped.status, mapped.message = status, _text(message)


def destroy_buffer(buffer: Any) -> None:
    """Destroy and release a buffer; no unsubmitted command may use it."""
    lib.wgpuBufferDestroy(buffer)
    lib.wgpuBufferRelease(buffer)


def _request_adapter() -> Any:
    """Request the adapter that wgpu-native prefers for high performance."""
    adapters: list[Any] = []

    @ffi.callback("WGPURequestAdapterCallback")
    def note(_status: int, adapter: Any, *_: Any) -> None:
        adapters.append(adapter)

    high = lib.WGPUPowerPreference_HighPerformance
    options = _new("RequestAdapterOptions", powerPreference=high)
    mode = lib.WGPUCallbackMode_AllowSpontaneous
    told = _new("RequestAdapterCallbackInfo", mode=mode, callback=note)
    instance = lib.wgpuCreateInstance(_new("InstanceDescriptor"))
    lib.wgpuInstanceRequestAdapter(instance, options, told[0])
    lib.wgpuInstanceRelease(instance)
    if not adapters or not adapters[0]:
        raise AbsentError(
            "wgpu found no adapter; install the GPU's driver for Vulkan, Metal or Direct3D 12"
            " (without a GPU: Debian's mesa-vulkan-drivers)"
        )
    return adapters[0]


def _identity(adapter: Any) -> tuple[dict[str, Any], bool]:
    """Return the identity of an adapter, with a browser's keys, and whether it uses Vulkan."""
    info = _new("AdapterInfo")
    lib.wgpuAdapterGetInfo(adapter, info)
    identity = {
        "vendor": _text(info.vendor),
        "architecture": _text(info.architecture),
        "device": _text(info.device),
        "description": _text(info.device),
        "isFallbackAdapter": info.adapterType == lib.WGPUAdapterType_CPU,
    }
    is_vulkan = info.backendType == lib.WGPUBackendType_Vulkan
    lib.wgpuAdapterInfoFreeMembers(info[0])
    return identity, is_vulkan


def _new(name: str, **fields: Any) -> Any:
    """Allocate a WebGPU struct; the caller must keep alive what its fields point to."""
    return ffi.new(f"WGPU{name} *", fields)


def _view(text: str) -> dict[str, Any]:
    """Return a WebGPU string; the caller must keep it alive until the call that reads it."""
    data = ffi.from_buffer(text.encode())
    return {"data": data, "length": len(data)}


def _text(view: Any) -> str:
    return ffi.string(view.data, view.length).decode(errors="replace") if view.data else ""
