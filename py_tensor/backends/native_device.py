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
from py_tensor.runtime.failures import Failure

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
UNCHECKED = 0  # runtime checks of a shader: no bounds checks of indices, no bounds of loops

KINDS = {
    lib.WGPUErrorType_Validation: "validation",
    lib.WGPUErrorType_OutOfMemory: "out-of-memory",
}
LOST = "Parent device is lost"
_LABEL = re.compile(r"(?:label = |(?:ComputePipeline|BindGroup|Buffer) with )'([^']+)'")
_LINE = re.compile(r"wgsl:(\d+):\d+")


@dataclass(slots=True)
class Range:
    """A buffer, or a slice of one."""

    buffer: Any
    offset: int
    size: int


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
    """The device of an adapter, and its queue.

    Handles are C pointers. The code that creates an object must release it.

    Attributes
    ----------
    adapter : dict
        The identity of the adapter.
    features : list of str
    limits : dict
    errors : list of Failure
        The errors since `take_errors` was last called.
    submitted : int
        The number of the last submission, 0 before the first.
    lock : RLock, optional
        Released during waits: the bridge's.
    """

    def __init__(self) -> None:
        self.lock: RLock | None = None
        self.errors: list[Failure] = []
        self.submitted = 0
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

    def release(self) -> None:
        lib.wgpuDeviceDestroy(self.handle)
        lib.wgpuQueueRelease(self.queue)
        lib.wgpuDeviceRelease(self.handle)

    # -- Buffers --------------------------------------------------------------------------------

    def create_buffer(self, size: int, kind: str, label: str = "") -> Any:
        name = _view(label or kind)
        descriptor = _new("BufferDescriptor", label=name, size=size, usage=USAGES[kind])
        return lib.wgpuDeviceCreateBuffer(self.handle, descriptor)

    def write(self, buffer: Any, offset: int, data: Any, size: int) -> None:
        """Write host data to a GPU buffer; later submissions see it.

        `data` is an address or a Python buffer.
        """
        source = ffi.cast("void *", data) if isinstance(data, int) else ffi.from_buffer(data)
        lib.wgpuQueueWriteBuffer(self.queue, buffer, offset, source, size)

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
        groups = ffi.new("WGPUBindGroupLayout[]", [of_group])
        descriptor = _new(
            "PipelineLayoutDescriptor", bindGroupLayoutCount=1, bindGroupLayouts=groups
        )
        return of_group, lib.wgpuDeviceCreatePipelineLayout(self.handle, descriptor)

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
        return pipeline

    def create_bind_group(self, layout: Any, ranges: Sequence[Range], label: str) -> Any:
        name = _view(label)
        entries = ffi.new(
            "WGPUBindGroupEntry[]",
            [
                {"binding": n, "buffer": r.buffer, "offset": r.offset, "size": r.size}
                for n, r in enumerate(ranges)
            ],
        )
        descriptor = _new(
            "BindGroupDescriptor",
            **{"label": name, "layout": layout, "entryCount": len(entries), "entries": entries},
        )
        return lib.wgpuDeviceCreateBindGroup(self.handle, descriptor)

    def create_query_set(self, count: int) -> Any:
        """Create a query set for this many timestamps."""
        descriptor = _new("QuerySetDescriptor", type=lib.WGPUQueryType_Timestamp, count=count)
        return lib.wgpuDeviceCreateQuerySet(self.handle, descriptor)

    # -- Submitting -----------------------------------------------------------------------------

    def submit(self, encoder: Any) -> bool:
        """Submit the encoded commands unless `errors` has any; return whether that was done."""
        commands = lib.wgpuCommandEncoderFinish(encoder, ffi.NULL)
        lib.wgpuCommandEncoderRelease(encoder)
        is_valid = not self.errors
        if is_valid:
            pointer = ffi.new("WGPUCommandBuffer[]", [commands])
            self.submitted = lib.wgpuQueueSubmitForIndex(self.queue, 1, pointer)
        lib.wgpuCommandBufferRelease(commands)
        return is_valid

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
