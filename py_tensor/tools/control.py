"""The user's interface to the device: requests, waits, information and debugging."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py_tensor.backends.choice import check_default, default_device, parse, set_default_device
from py_tensor.backends.kinds import CPU_DEVICE, GPU_DEVICE
from py_tensor.base import dtypes
from py_tensor.base.errors import DeviceError, DTypeError
from py_tensor.convert.conversion import tensor
from py_tensor.convert.host_arrays import release_copies
from py_tensor.ir import bind
from py_tensor.ops.elementwise import ceil, sqrt
from py_tensor.runtime.device import Backend, LazyDevice, with_backend
from py_tensor.runtime.host import finish, host
from py_tensor.runtime.registry import devices
from py_tensor.tensors.tensor import public
from py_tensor.tools.device_info import DeviceInfo

__all__ = [
    "debug", "device_info", "empty_cache", "get_default_dtype", "init", "memory_info",
    "set_default_dtype", "show_config", "synchronize", "synchronize_async",
]  # fmt: skip


async def init() -> DeviceInfo:
    """Request the device; afterwards ops need not wait for it.

    Needed once if Python cannot block, and again after the device was lost; otherwise the device is
    requested at first use. Returns the result of `device_info` without the self-test, which runs a
    few kernels.
    """
    try:
        await _init_gpu()
    except DeviceError as error:
        GPU_DEVICE.absence = str(error)
        await host.load_numpy_async()  # because the backend, when it is made, may not wait for it
        set_default_device(CPU_DEVICE)
    return _info(default_device())


async def _init_gpu() -> None:
    from py_tensor.backends.webgpu import WebGPU
    from py_tensor.runtime.connection import request_device

    if not GPU_DEVICE.is_ready:
        GPU_DEVICE.check_fork()
        bridge = host.load_bridge(GPU_DEVICE.index)
        made = WebGPU(bridge, await request_device(bridge))
        if not GPU_DEVICE.is_ready:  # another task may have requested it meanwhile
            GPU_DEVICE.use(made)
    elif isinstance(GPU_DEVICE.backend, WebGPU):
        await GPU_DEVICE.backend.revive(blocking=False)


def device_info(device: str | LazyDevice | None = None) -> DeviceInfo:
    """Return information about the device: backend, adapter, features, limits and self-test.

    The result is a dict that prints as a table of the most useful entries. `"self_test"` tells
    whether this device handles NaN, infinities, signed zero and integer overflow as NumPy does.
    `"subnormals"` is "kept" if arithmetic supports float32 numbers below 2**-126, or "flushed" if
    operands and results may be flushed to 0. Comparisons, sorts, selections and copies preserve
    them on every device. After a device loss a new device is requested. If there is none, `"lost"`
    is the reason, and the entries that describe a device are missing.
    """
    lazy = with_backend(parse(device))
    can_test = not lazy.waits or (host.can_wait() and _revived(lazy))
    info = _info(lazy)
    if can_test:
        info.update(_tests_of(lazy))
    return info


def _revived(device: LazyDevice) -> bool:
    """Return whether a GPU device exists; request a new one if it was lost."""
    from py_tensor.backends.webgpu import WebGPU

    backend = device.backend
    if isinstance(backend, WebGPU):
        with suppress(DeviceError):
            finish(backend.revive(blocking=True))
        return not backend.unavailable
    return True


def _info(device: LazyDevice) -> DeviceInfo:
    info = DeviceInfo(device.backend.info())
    if device is CPU_DEVICE and GPU_DEVICE.absence:
        info["no_webgpu"] = GPU_DEVICE.absence
    return info


_tested: dict[tuple[str, int], dict[str, Any]] = {}


def _tests_of(device: LazyDevice) -> dict[str, Any]:
    """Return the entries for how a device computes with special values, tested once."""
    key = device.name, int(device.backend.info().get("generation", 0))
    if key not in _tested:
        subnormals = "kept" if _keeps_subnormals(device) else "flushed"
        _tested[key] = {"self_test": self_test(device), "subnormals": subnormals}
    return _tested[key]


def self_test(device: LazyDevice) -> dict[str, bool]:
    """Test whether a device computes with special values as NumPy does."""
    nan, inf = float("nan"), float("inf")
    x = tensor([nan, inf, -inf, -0.0, 0.0, 1.0], dtype=dtypes.float32, device=device)
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


def _keeps_subnormals(device: LazyDevice) -> bool:
    """Return whether arithmetic preserves subnormal numbers."""
    x = tensor([1e-40], dtype=dtypes.float32, device=device)
    return all(y.item() != 0 for y in (x + x, x * 0.5, x / 2, sqrt(x), ceil(x)))


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Show the versions of py_tensor, Python and NumPy, and the default device.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Whether to print the entries or to return them as a dict.

    Raises
    ------
    AttributeError
        If the mode is unknown.
    """
    import json
    import platform

    if mode not in ("stdout", "dicts"):
        raise AttributeError(f"show_config: mode must be 'stdout' or 'dicts', not {mode!r}")
    entries = {
        "py_tensor": public().__version__,
        "python": f"{platform.python_version()} ({platform.machine()})",
        "numpy": host.load_numpy().__version__,
        "device": dict(device_info()),
    }
    if mode == "dicts":
        return entries
    print(json.dumps(entries, indent=2, default=str))
    return None


def set_default_dtype(dtype: object) -> None:
    """Set the floating dtype of Python's floats and of tensors that are created without a dtype.

    With float64, which only the cpu device has, programs compute in NumPy's precision: float64 and
    complex128 arrays keep their dtype, quotients and means of integers are float64, and random
    numbers are drawn in float64. Existing tensors, and operations on float32 tensors, keep their
    dtype. Integers default to int32 in any case. On a GPU, operations that would give float64, such
    as the quotient of integers, raise DTypeError.

    Parameters
    ----------
    dtype
        float32, the initial value, or float64. The default complex dtype changes with it.

    Raises
    ------
    DTypeError
        If the dtype is neither float32 nor float64, or is float64 and the default device is a GPU.

    Examples
    --------
    >>> import py_tensor as pt
    >>> before = pt.default_device()
    >>> pt.set_default_device("cpu")
    >>> pt.set_default_dtype("float64")
    >>> (pt.arange(3) / 3).dtype
    py_tensor.float64
    >>> pt.set_default_dtype("float32")
    >>> pt.set_default_device(before)
    """
    target = dtypes.parse(dtype)
    if not target.is_floating or target.is_packed:
        raise DTypeError(f"set_default_dtype: dtype must be float32 or float64, not {target}")
    check_default(default_device(), target)
    try:
        dtypes.DEFAULT.floating, dtypes.DEFAULT.complex = target, dtypes.complex_of(target)
    finally:  # after an interrupt as well
        bind.forget()


def get_default_dtype() -> dtypes.DType:
    """Return the floating dtype that `set_default_dtype` set, float32 by default."""
    return dtypes.DEFAULT.floating


def memory_info(device: str | LazyDevice | None = None) -> dict[str, int]:
    """Return the number of buffers and bytes in use, cached for reuse, and at their peak."""
    lazy = with_backend(parse(device))
    lazy.collect()
    return lazy.backend.memory_info()


def empty_cache() -> None:
    """Release the memory of cached buffers, and of host copies for NumPy, that nothing uses."""
    release_copies()
    for device in devices():
        if device.is_ready:
            device.collect()
            device.backend.empty_cache()


def synchronize(device: str | LazyDevice | None = None) -> None:
    """Wait until a device, by default the default one, has finished all submitted work.

    Pending results of live tensors are submitted if any of them checks indices.

    Raises
    ------
    IndexError
        If an index in a tensor was out of range and no read has raised it yet.
    WaitError
        If Python cannot block; await `synchronize_async` instead.
    """
    _with_checks(with_backend(parse(device))).synchronize()


async def synchronize_async(device: str | LazyDevice | None = None) -> None:
    """Asynchronous version of `synchronize`."""
    await _with_checks(with_backend(parse(device))).synchronize_async()


def _with_checks(device: LazyDevice) -> Backend:
    """Return the backend of a device, after submitting pending results that check indices."""
    if device.checks:
        device.flush()
    return device.backend


def debug(
    *, sync: bool | None = None, poison: bool | None = None, wgsl: bool | None = None
) -> None:
    """Set debugging options, which make errors easier to find and programs slower.

    Options that are not given are unchanged.

    Parameters
    ----------
    sync : bool
        Submit each op immediately and wait for it, so an error is raised on the line that caused
        it.
    poison : bool
        Fill every buffer with NaN before it is used.
    wgsl : bool
        Print the WGSL of each kernel when it is first used. `pt.explain` returns the WGSL of any
        kernel.
    """
    for device in devices():
        device.debug(sync, poison, wgsl)


# -- For tests -------------------------------------------------------------------------------------


def stats() -> dict[str, int]:
    """Return counts since the device was created: dispatches, flushes, submits, compiles, plans."""
    backend: Any = default_device().backend
    return backend.stats()


def dispatches() -> int:
    """Return the number of dispatches so far; on the cpu device, of computed nodes."""
    counted = stats()
    return counted["dispatches"] if "dispatches" in counted else counted["computed"]
