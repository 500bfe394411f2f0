"""The device as users see it: getting it, waiting for it, asking about it, debugging on it."""

from __future__ import annotations

from contextlib import suppress

from py_tensor.backend.device import (
    CPU_DEVICE,
    GPU_DEVICE,
    Backend,
    Device,
    default_device,
    parse,
    set_default_device,
)
from py_tensor.backend.host import host
from py_tensor.convert.conversion import tensor
from py_tensor.errors import DeviceError
from py_tensor.inspect.device_info import DeviceInfo
from py_tensor.ops.elementwise import ceil, sqrt


async def init() -> DeviceInfo:
    """Get the device, awaited; afterwards ops need not wait for it.

    Needed once where Python cannot block, and again there after the device was lost; elsewhere the
    device is taken at first use. Returns what `device_info` does, less the self-test, which takes
    a few kernels.
    """
    try:
        await _init_gpu()
    except DeviceError as error:
        GPU_DEVICE.absence = str(error)
        await _init_cpu()
        set_default_device(CPU_DEVICE)
    return _info(default_device())


async def _init_gpu() -> None:
    from py_tensor.backend.webgpu import WebGPU, acquire_async

    if not GPU_DEVICE.is_ready:
        made = await acquire_async()
        if not GPU_DEVICE.is_ready:  # others may have come here meanwhile
            GPU_DEVICE.use(made)
    elif isinstance(GPU_DEVICE.backend, WebGPU):
        await GPU_DEVICE.backend.revive_async()


async def _init_cpu() -> None:
    """Load NumPy, which nothing can wait for later where Python cannot block."""
    from py_tensor.backend.cpu import CPU

    numpy = await host.load_numpy_async()
    if not CPU_DEVICE.is_ready:
        CPU_DEVICE.use(CPU(numpy))


def device_info(device: str | Device | None = None) -> DeviceInfo:
    """What the device is: backend, adapter, features, limits, and its self-test.

    A dict, which prints as a table of what matters most.
    `"self_test"` tells for NaN, infinities, signed zero and integer overflow whether this device
    computes with them as NumPy does. `"subnormals"` tells what becomes of float32 numbers below
    2**-126: "kept" where arithmetic computes with them, "flushed" where it may take them, and give
    them, as 0. Comparisons, sorts, choices and copies see them on every device.
    After a loss a new device is asked for. Where there is none, `"lost"` says why, and what
    describes a device is left out.
    """
    place = parse(device)
    can_test = place is CPU_DEVICE or host.can_wait()
    if place is GPU_DEVICE and can_test:
        can_test = _revived()
    info = _info(place)
    if can_test:
        info["self_test"] = self_test(place)
        info["subnormals"] = "kept" if _keeps_subnormals(place) else "flushed"
    return info


def _revived() -> bool:
    """Whether there is a GPU device: another one, where that was lost."""
    from py_tensor.backend.webgpu import WebGPU

    backend = GPU_DEVICE.backend
    if isinstance(backend, WebGPU):
        with suppress(DeviceError):
            backend.revive()
        return not backend.unavailable
    return True


def _info(device: Device) -> DeviceInfo:
    info = DeviceInfo(device.backend.info())
    if device is CPU_DEVICE and GPU_DEVICE.absence:
        info["no_webgpu"] = GPU_DEVICE.absence
    return info


_tested: dict[tuple[str, int], dict[str, bool]] = {}


def self_test(device: Device) -> dict[str, bool]:
    """Whether a device computes with special values as NumPy does, by computing with them."""
    key = device.name, int(device.backend.info().get("generation", 0))
    if key not in _tested:
        _tested[key] = _run_self_test(device)
    return _tested[key]


def _run_self_test(device: Device) -> dict[str, bool]:
    nan, inf = float("nan"), float("inf")
    x = tensor([nan, inf, -inf, -0.0, 0.0, 1.0], device=device)
    most = tensor([2**31 - 1, -(2**31)], device=device)
    units = tensor([1, -1], device=device)
    summed = (x + x.flip()).tolist()
    return {
        "nan": [v != v for v in (x * 0).tolist()] == [True, True, True, False, False, False]
        and (x == x).tolist() == [False, True, True, True, True, True]
        and x.max().item() != x.max().item(),
        "infinity": summed[1:3] == [inf, -inf] and (1 / x).tolist()[3:5] == [-inf, inf],
        "signed_zero": str(x[3].item()) == "-0.0" and str((-x)[4].item()) == "-0.0",
        "integer_overflow": (most + units).tolist() == [-(2**31), 2**31 - 1],
    }


_keeping: dict[tuple[str, int], bool] = {}


def _keeps_subnormals(device: Device) -> bool:
    """Whether arithmetic computes with numbers below the least normal one."""
    key = device.name, int(device.backend.info().get("generation", 0))
    if key not in _keeping:
        x = tensor([1e-40], device=device)
        found = [x + x, x * 0.5, x / 2, sqrt(x), ceil(x)]
        _keeping[key] = all(y.item() != 0 for y in found)
    return _keeping[key]


def memory_info(device: str | Device | None = None) -> dict[str, int]:
    """Buffers and bytes in use, kept for reuse, and at their peak."""
    return parse(device).backend.memory_info()


def empty_cache() -> None:
    """Give the memory of buffers that no tensor uses back to the system."""
    for device in (CPU_DEVICE, GPU_DEVICE):
        if device.is_ready:
            device.backend.empty_cache()


def synchronize() -> None:
    """Wait until the default device has done all that was submitted.

    Submits the pending results of live tensors if some check that indices are in range.

    Raises
    ------
    IndexError
        For an index out of range in a tensor that no read has told of.
    WaitError
        Where Python cannot block; await `synchronize_async` there.
    """
    _with_checks(default_device()).synchronize()


async def synchronize_async() -> None:
    """The same, awaited."""
    await _with_checks(default_device()).synchronize_async()


def _with_checks(device: Device) -> Backend:
    """The backend of a device, to which what looks at indices was handed."""
    if device.has_checks:
        device.flush()
    return device.backend


def debug(
    *, sync: bool | None = None, poison: bool | None = None, wgsl: bool | None = None
) -> None:
    """Make errors easier to find, at the cost of speed.

    What is not given stays as it is.

    Parameters
    ----------
    sync : bool
        Submit and wait for each op at once, so that an error stands on the line that caused it.
    poison : bool
        Fill every buffer with NaN before it is used.
    wgsl : bool
        Print the WGSL of each kernel that a flush is the first to use. `pt.explain` gives that of
        any kernel.
    """
    for device in (CPU_DEVICE, GPU_DEVICE):
        device.debug(sync, poison, wgsl)
