"""Faults of the GPU, lack of memory, JavaScript exceptions and interrupts, on a fake bridge."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import warnings
from array import array
from collections.abc import Callable, Sequence
from dis import findlinestarts
from linecache import getline
from types import FrameType
from typing import Any, TypeVar

import pytest

import py_tensor
import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.backends.webgpu import WebGPU, acquire
from py_tensor.base.errors import DeviceError, DeviceLostError, GPUError
from py_tensor.runtime.connection import CHECKED_ALLOCATION, MAX_IN_FLIGHT
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.failures import UNCAPTURED
from py_tensor.runtime.host import host
from py_tensor.tools import control as session
from tests.unit.fake_bridge import GPU, FakeBridge, new_gpu


def data(x: pt.Tensor) -> bytes:
    return bytes(x._read())


def expression(x: pt.Tensor) -> pt.Tensor:
    """Several kernels, a temporary, a constant, two outputs."""
    y = pt.exp(x - x.max()) * 2
    return y / pt.concat([y, y]).sum()


def test_the_fake_bridge_distinguishes_results(gpu: GPU) -> None:
    x, y = gpu.tensor(1, 2), gpu.tensor(1, 2)
    assert data(pt.exp(x)) == data(pt.exp(y))
    assert data(pt.exp(x)) != data(pt.tanh(x))
    assert data(x * 2) != data(x * 3)
    assert data(expression(x)) == data(expression(y))
    assert x.tolist() == [1, 2]
    del x, y
    assert gpu.is_clean()


# -- A flush that throws ------------------------------------------------------------------------


def test_a_flush_that_throws_leaves_the_graph_as_it_was(gpu: GPU) -> None:
    x = gpu.tensor(1, 2, 3)
    expected = data(expression(x))
    y = expression(x)
    gpu.bridge.faults = ["throw"]
    with pytest.raises(GPUError, match="thrown for a test"):
        y.realize()
    assert y._node.storage is None
    assert data(y) == expected
    assert data(x * 2)
    del x, y
    assert gpu.is_clean()


def test_an_upload_that_throws_loses_no_buffer(gpu: GPU) -> None:
    gpu.bridge.faults = ["throw"]
    with pytest.raises(GPUError, match="thrown"):
        gpu.tensor(1, 2)
    assert gpu.tensor(1, 2).tolist() == [1, 2]
    assert gpu.is_clean()


def test_a_flush_that_throws_keeps_frozen_objects_frozen(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    gc.freeze()
    try:
        gpu.bridge.faults = ["throw"]
        with pytest.raises(GPUError):
            (x + 1).realize()
        assert gpu.tensor(3).tolist() == [3]
        assert x.tolist() == [1, 2]
        assert gc.get_freeze_count(), "what the user froze stays so"
    finally:
        gc.unfreeze()


def test_many_flushes_that_throw(gpu: GPU) -> None:
    x = gpu.tensor(1, 2, 3)
    y = expression(x)
    for _ in range(20):
        gpu.bridge.faults = ["throw"]
        with pytest.raises(GPUError):
            y.realize()
    assert len(gpu.bridge.buffers) < 20
    assert data(y) == data(expression(x))
    del x, y
    assert gpu.is_clean()


# -- An error that is reported later ------------------------------------------------------------


def test_a_late_error_affects_dependent_results(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    before = pt.tanh(x).realize()
    y, z = pt.exp(x), x + 1
    gpu.bridge.faults = ["validation"]
    pt.realize(y, z)
    after = (y * 3).realize()
    unread = y + z
    for bad in (y, z, after, y, after):
        with pytest.raises(GPUError, match="refused for a test"):
            data(bad)
    with pytest.raises(GPUError, match="refused for a test"):
        data(unread)
    for good in (x, before, x * 5, before + 1):
        assert data(good)
    assert x.tolist() == [1, 2]
    del x, before, y, z, after, unread, bad, good
    assert gpu.is_clean()


def test_the_message_names_the_op(gpu: GPU) -> None:
    y = pt.exp(gpu.tensor(1, 2))
    gpu.bridge.faults = ["validation"]
    with pytest.raises(GPUError, match=r"^exp"):
        data(y)


def test_an_error_found_by_another_read(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = pt.exp(x)
    gpu.bridge.faults = ["validation"]
    y.realize()
    assert x.tolist() == [1, 2]
    with pytest.raises(GPUError, match="refused"):
        data(y)


def test_awaited_reads(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = pt.exp(x)
    gpu.bridge.faults = ["validation"]

    async def both() -> list[Any]:
        reads = (y._read_async(), x._read_async())
        return list(await asyncio.gather(*reads, return_exceptions=True))

    bad, good = asyncio.run(both())
    assert isinstance(bad, GPUError)
    assert memoryview(good).cast("B").cast("f").tolist() == [1, 2]


def test_sync_debugging_raises_on_the_users_line(gpu: GPU) -> None:
    gpu.device.debug(sync=True)
    x = gpu.tensor(1, 2)
    gpu.bridge.faults = ["validation"]
    with pytest.raises(GPUError, match="refused"):
        pt.exp(x)
    assert data(pt.tanh(x))


def test_sync_debugging_waits_for_uploads(gpu: GPU) -> None:
    gpu.device.debug(sync=True)
    gpu.bridge.faults = ["out-of-memory"]
    with pytest.raises(MemoryError, match=r"^tensor: the GPU is out of memory"):
        gpu.tensor(1, 2)
    assert gpu.tensor(1, 2).tolist() == [1, 2]


def test_debugging_applies_to_every_device(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """It applies whatever the default device is, and to devices created later."""
    later = LazyDevice("webgpu")
    monkeypatch.setattr(session, "devices", lambda: (gpu.device, later, CPU_DEVICE))
    pt.debug(sync=True, poison=True)
    later.use(new_gpu().backend)
    for device in (gpu.device, later):
        backend = device.backend
        assert isinstance(backend, WebGPU)
        assert device.sync_each_op
        assert (backend.sync_each_op, backend.poison) == (True, True)
    pt.debug(sync=False, poison=False)
    assert not pt.tensor(1, device="cpu").device.sync_each_op


# -- Reports that must not be lost --------------------------------------------------------------


def test_a_cancelled_read_loses_no_report(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = pt.exp(x)
    gpu.bridge.faults = ["validation"]
    y.realize()

    async def cancelled() -> None:
        read = asyncio.ensure_future(x._read_async())
        await asyncio.sleep(0)
        read.cancel()
        with pytest.raises(asyncio.CancelledError):
            await read

    asyncio.run(cancelled())
    gpu.bridge.waits = [""]
    with pytest.raises(GPUError, match="refused"):
        data(y)


def test_the_memory_of_a_cancelled_read_is_kept_until_that_very_read_has_ended(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)

    async def cancelled() -> None:
        read = asyncio.ensure_future(x._read_async())
        await asyncio.sleep(0)
        read.cancel()
        with pytest.raises(asyncio.CancelledError):
            await read

    asyncio.run(cancelled())
    (target,) = gpu.backend._targets
    assert x.tolist() == [1, 2]
    assert list(gpu.backend._targets) == [target]
    gpu.bridge.reading.clear()
    assert gpu.tensor(3).tolist() == [3]
    assert not gpu.backend._targets


def test_what_is_not_known_to_be_done_is_bounded_without_a_read(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    for _ in range(3 * MAX_IN_FLIGHT):
        x = (x + 1).realize()
        assert len(gpu.backend.unsettled) <= MAX_IN_FLIGHT
    assert len(gpu.backend.unsettled) > MAX_IN_FLIGHT // 4


def test_of_heavy_flushes_a_few_are_under_way(gpu: GPU) -> None:
    x = pt.full((1 << 28,), 1.0, device=gpu.device).realize()
    for _ in range(100):
        x = (pt.tanh(x) + pt.exp(x)).realize()
    assert len(gpu.backend.unsettled) <= 16
    gpu.backend.synchronize()
    assert gpu.backend.work == 0


def test_a_late_error_that_a_drain_brings_to_light(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = pt.exp(x)
    gpu.bridge.faults = ["validation"]
    y.realize()
    for _ in range(MAX_IN_FLIGHT + 1):
        (x + 1).realize()
    assert not gpu.bridge.unnoted
    with pytest.raises(GPUError, match="refused"):
        data(y)


def test_a_failure_is_warned_of_once(gpu: GPU) -> None:
    failure = {"flush": UNCAPTURED, "kind": "validation", "label": "stray", "message": "odd"}
    gpu.bridge.fail(failure)
    both = gpu.bridge.synchronize().wait(), gpu.bridge.synchronize().wait()
    assert both[0] == both[1]
    with pytest.warns(RuntimeWarning, match="stray: odd"):
        gpu.backend._settle(both[0], 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gpu.backend._settle(both[1], 0)
        gpu.bridge.fail(failure | {"kind": "lost"})
        gpu.backend._settle(gpu.bridge.synchronize().wait(), 0)


# -- A lost device ------------------------------------------------------------------------------


def test_a_lost_device(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    pending, realized = pt.exp(x), pt.tanh(x).realize()
    gpu.bridge.loseDevice()
    for old in (realized, x, pending, realized + 1, x):
        with pytest.raises(DeviceLostError):
            data(old)
    generation = gpu.backend.generation
    new = gpu.tensor(3, 4)
    assert gpu.backend.generation == generation + 1
    assert new.tolist() == [3, 4]
    assert data(new + 1)
    for old in (realized, x, pending, x + 1, x + new):
        with pytest.raises(DeviceLostError):
            data(old)
    del x, pending, realized, new, old
    assert gpu.is_clean()


def test_a_loss_after_which_there_is_no_device(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tensor and device_info report it, until there is a device again."""
    monkeypatch.setattr(session, "self_test", lambda device: {"nan": True})
    monkeypatch.setattr(session, "_keeps_subnormals", lambda device: True)
    assert session.device_info(gpu.device)["adapter"] == {
        "isFallbackAdapter": False,
        "vendor": "fake",
    }
    x = gpu.tensor(1, 2)
    gpu.bridge.loseDevice()
    gpu.bridge.missing = "no adapter"
    info = gpu.backend.info()
    assert "requests a new device" in info["lost"]
    assert "adapter" not in info
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"lost.* no other is available: no adapter.*'cpu'"):
            gpu.tensor(3)
        with pytest.raises(DeviceLostError):
            data(x)
        info = session.device_info(gpu.device)
        assert info["lost"] == "no adapter"
        assert not {"adapter", "limits", "features", "self_test"} & info.keys()
        assert repr(info).splitlines() == ["webgpu", "device lost  no adapter"]
    gpu.bridge.missing = ""
    info = session.device_info(gpu.device)  # it requests a device again
    assert (info["generation"], info["adapter"]["vendor"]) == (2, "fake")
    assert gpu.tensor(3).tolist() == [3]
    assert not gpu.backend.unavailable


def test_init_continues_with_the_cpu_without_a_device(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "GPU_DEVICE", gpu.device)
    chosen: list[LazyDevice] = []
    monkeypatch.setattr(session, "set_default_device", chosen.append)
    gpu.bridge.loseDevice()
    gpu.bridge.missing = "no adapter"
    asyncio.run(session.init())
    assert chosen == [session.CPU_DEVICE]
    assert "no adapter" in gpu.device.absence


def test_a_device_lost_in_a_flush(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = x + 1
    gpu.bridge.faults = ["lost"]
    with pytest.raises(DeviceLostError):
        y.realize()
    assert data(gpu.tensor(1, 2) + 1)


def test_work_without_old_tensors_survives_a_loss(gpu: GPU) -> None:
    y = pt.arange(5, device=gpu.device) * 2
    gpu.bridge.faults = ["lost"]
    first = data(y)
    assert gpu.backend.generation == 2
    assert first == data(pt.arange(5, device=gpu.device) * 2)


@pytest.mark.parametrize("indexed", [False, True])
def test_pending_nodes_after_a_loss_affect_nothing_else(gpu: GPU, indexed: bool) -> None:
    """Neither a flush nor a read of a new tensor computes them or their index checks."""
    x, t = gpu.tensor(1, 2, 3), pt.tensor([1], device=gpu.device)
    old = x.take(t) if indexed else x + 1
    x.take(t)
    gpu.bridge.loseDevice()
    new = gpu.tensor(3, 4)
    live = new * 2
    assert data(new + 1)
    assert new[0].item() == 3
    gpu.device.flush()
    assert live._node.storage is not None
    for _ in range(2000):
        live = live + 1
    assert data(live)
    with pytest.raises(DeviceLostError):
        data(old)
    assert data(new + 1)
    del x, t, old, new, live
    assert gpu.is_clean()


def test_lost_again_and_again(gpu: GPU) -> None:
    for number in range(1, 5):
        x = gpu.tensor(number)
        gpu.bridge.loseDevice()
        with pytest.raises(DeviceLostError):
            data(x + 1)
        del x
    assert data(gpu.tensor(1) + 1)
    assert gpu.is_clean()


def test_a_loss_found_by_a_large_tensor(gpu: GPU) -> None:
    large = array("f", bytes(CHECKED_ALLOCATION))
    old = gpu.tensor(1, 2)
    gpu.bridge.loseDevice()
    new = pt.tensor(large, device=gpu.device)
    assert new.realize().nbytes == CHECKED_ALLOCATION
    assert gpu.backend.generation == 2
    with pytest.raises(DeviceLostError):
        data(old)
    del new, old
    assert gpu.is_clean()


@pytest.mark.parametrize("when", ["before", "in the allocation", "in the flush"])
def test_a_loss_found_by_a_large_result(gpu: GPU, when: str) -> None:
    def lose() -> None:
        match when:
            case "before":
                gpu.bridge.loseDevice()
            case "in the allocation":
                gpu.bridge.allocations = ["lost"]
            case _:
                gpu.bridge.faults = ["lost"]

    old = gpu.tensor(1)
    large = pt.full((CHECKED_ALLOCATION // 4,), 1.0, device=gpu.device)
    of_old = large + old
    lose()
    with pytest.raises(DeviceLostError):
        of_old.realize()
    del of_old
    large.realize()
    lose()
    new = (pt.full((CHECKED_ALLOCATION // 4,), 2.0, device=gpu.device) + 1).realize()
    assert data(gpu.tensor(3) + 1)
    assert gpu.memory_info()["device_buffers"] == len(gpu.bridge.buffers)
    del old, large, new
    assert gpu.is_clean()


def test_a_device_lost_twice_in_one_flush(gpu: GPU) -> None:
    y = pt.arange(5, device=gpu.device) * 2
    gpu.bridge.faults = ["lost", "lost"]
    with pytest.raises(DeviceLostError, match="try again"):
        y.realize()
    assert data(y)


@pytest.mark.parametrize("waits", ["reads", "a read and a synchronize"])
def test_a_loss_with_two_waiters(gpu: GPU, waits: str) -> None:
    x, y = gpu.tensor(1, 2), gpu.tensor(3, 4)

    async def both() -> list[Any]:
        second = y._read_async() if waits == "reads" else gpu.backend.synchronize_async()
        waiting = asyncio.gather(x._read_async(), second, return_exceptions=True)
        await asyncio.sleep(0)
        gpu.bridge.loseDevice()
        return list(await waiting)

    async def anew(value: float) -> list[float]:
        await asyncio.sleep(0)
        return gpu.tensor(value).tolist()

    async def again() -> list[Any]:
        return list(await asyncio.gather(anew(5), anew(6)))

    assert [type(error) for error in asyncio.run(both())] == [DeviceLostError] * 2
    assert asyncio.run(again()) == [[5], [6]]
    assert gpu.bridge.generation == gpu.backend.generation == 2


def test_tensors_made_and_read_while_a_new_device_is_awaited(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new device exists before the code that requested it resumes."""
    old = gpu.tensor(1, 2)
    made: list[pt.Tensor] = []
    struck = False

    def wait(promise: Any, what: str, lock: object) -> Any:
        nonlocal struck
        if what == "finding the GPU again" and not struck:
            struck = True
            with pytest.raises(DeviceLostError):
                data(old)
            made.append(gpu.tensor(5, 6))
        return promise.wait()

    monkeypatch.setattr(host, "wait", wait)
    gpu.bridge.loseDevice()
    new = gpu.tensor(3, 4)
    assert [new.tolist(), made[0].tolist()] == [[3, 4], [5, 6]]
    assert gpu.bridge.generation == gpu.backend.generation == 2


def test_a_lost_device_is_replaced_by_init_where_nothing_can_wait(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "GPU_DEVICE", gpu.device)
    monkeypatch.setattr(host, "can_wait", lambda: False)
    gpu.bridge.loseDevice()
    asyncio.run(session._init_gpu())
    assert gpu.backend.generation == 2
    assert asyncio.run((gpu.tensor(1) + 1)._read_async())
    asyncio.run(session._init_gpu())
    assert gpu.backend.generation == 2


def test_two_inits_at_once_are_one_device(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    place, bridge = LazyDevice("webgpu"), FakeBridge()
    monkeypatch.setattr(session, "GPU_DEVICE", place)
    monkeypatch.setattr(host, "load_bridge", lambda index: bridge)
    backends: list[object] = []

    async def init() -> None:
        await session._init_gpu()
        backends.append(place.backend)

    async def both() -> None:
        await asyncio.gather(init(), init())

    asyncio.run(both())
    assert bridge.generation == 1
    assert backends[0] is backends[1]


# -- Memory -------------------------------------------------------------------------------------


def test_out_of_memory_empties_the_pool_and_tries_once_more(gpu: GPU) -> None:
    gpu.tensor(1, 2)  # leaves its buffer in the pool
    large = CHECKED_ALLOCATION // 4
    gpu.bridge.allocations = ["out-of-memory"]
    y = pt.full((large,), 1.0, device=gpu.device)
    assert len(gpu.bridge.buffers) == 1
    y.realize()
    assert gpu.memory_info()["live_buffers"] == 1
    assert len(gpu.bridge.buffers) == 1
    del y
    assert gpu.is_clean()


def test_out_of_memory_raises_and_leaves_all_else_usable(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = pt.full((CHECKED_ALLOCATION // 4,), 1.0, device=gpu.device) + 1
    gpu.bridge.allocations = ["out-of-memory"] * 2
    with pytest.raises(MemoryError, match="no room for a buffer of 64 MiB"):
        y.realize()
    assert data(x + 1)
    y.realize()
    del x, y
    assert gpu.is_clean()


def test_out_of_memory_in_a_small_flush(gpu: GPU) -> None:
    """It is reported later: only the results raise, and the next try succeeds."""
    x = gpu.tensor(1, 2)
    gpu.tensor(1, 2, *range(98))  # leaves its buffer in the pool
    y = expression(x)
    gpu.bridge.faults = ["out-of-memory"]
    y.realize()
    z = y + 1
    for bad in (y, z, y):
        with pytest.raises(MemoryError, match=r"^max_subtract.*, sum.*: the GPU is out of"):
            data(bad)
    again = expression(x)
    assert data(again) == data(expression(gpu.tensor(1, 2)))
    assert not gpu.bridge.unnoted
    assert x.tolist() == [1, 2]
    del y, z, bad
    assert data(x + 3)
    assert gpu.bridge.invalid.isdisjoint(gpu.backend.pool._kinds)
    del x, again
    assert gpu.is_clean()


def test_the_first_error_is_reported(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    gpu.bridge.faults = ["out-of-memory"]
    y = pt.exp(x).realize()
    z = pt.tanh(y).realize()  # also fails, because it reads a missing buffer
    assert x.tolist() == [1, 2]
    with pytest.raises(MemoryError, match=r"^exp: "):
        data(z)


def test_a_buffer_that_was_not_made_is_never_used_again(gpu: GPU) -> None:
    """A buffer that the pool reused before the report is not reused again either."""
    x = gpu.tensor(1, 2)
    expected = data(expression(x))
    gpu.empty_cache()
    gpu.bridge.faults = ["out-of-memory"]
    first = expression(x).realize()
    second = expression(x).realize()  # reuses the temporaries of the first
    for bad in (first, second):
        with pytest.raises(MemoryError, match="out of memory"):
            data(bad)
    del first, second, bad
    for _ in range(5):
        assert data(expression(x)) == expected
    assert gpu.bridge.invalid.isdisjoint(gpu.backend.pool._kinds)
    del x
    assert gpu.is_clean()


def test_once_memory_ran_out_small_buffers_are_checked_too(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    gpu.bridge.faults = ["out-of-memory"]
    with pytest.raises(MemoryError):
        data(x + 1)
    y = x + 2
    gpu.bridge.allocations = ["out-of-memory"] * 2
    with pytest.raises(MemoryError, match="no room"):
        y.realize()
    gpu.bridge.allocations = ["out-of-memory"]
    assert data(y) == data(x + 2)


def test_results_near_an_odd_limit_do_not_share_a_buffer_too_small(gpu: GPU) -> None:
    """Both are in one size class, whose full size the device does not allow."""
    limit = 2**27 + 3 * 16
    odd = new_gpu(limit + 7)
    for nbytes in (2**27 + 16, limit):
        x = pt.full((nbytes // 4,), 1.0, device=odd.device).realize()
        assert odd.bridge.buffers[x._node.storage.number] == limit
        del x
    with pytest.raises(MemoryError, match=f"largest buffer of this device is {limit} bytes"):
        pt.full((limit // 4 + 1,), 1.0, device=odd.device).realize()
    assert odd.is_clean()


def test_an_intermediate_result_that_fits_no_buffer(gpu: GPU) -> None:
    half = pt.arange(2**27, dtype=pt.float32, device=gpu.device)
    joined = pt.concat([half] * 5)
    with pytest.raises(MemoryError, match=r"concat.*: an intermediate result needs 2\.50 GiB"):
        joined.sum().realize()
    assert data(half.sum())


def test_more_than_the_device_allows(gpu: GPU) -> None:
    with pytest.raises(MemoryError, match=r"largest buffer of this device is 1\.00 GiB"):
        pt.full((2**29,), 1.0, device=gpu.device).realize()
    assert gpu.tensor(1).tolist() == [1]


def test_a_write_to_a_tensor_larger_than_a_buffer(gpu: GPU) -> None:
    """A part cannot be written, and the tensor is unchanged; the whole can be written."""
    x = pt.zeros((2**16, 2**16), device=gpu.device)
    _ = gpu.tensor(1).tolist()
    with pytest.raises(MemoryError, match=r"^setitem: "):
        x[0, 0] = 1
    assert len(x[5, :3].tolist()) == 3
    x[:] = 2
    assert len(x[5, :3].tolist()) == 3


def test_ten_thousand_steps_in_constant_memory(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    for step in range(10_000):
        x = x * 0.5 + 1
        if step % 10 == 0:
            x.realize()
    x.realize()
    assert len(gpu.bridge.buffers) <= 4
    assert gpu.backend.stats()["plans"] <= 20  # automatic flushes may occur between any two steps
    del x
    assert gpu.is_clean()


# -- Interrupts ---------------------------------------------------------------------------------


class Interrupter:
    """Raises KeyboardInterrupt at the k-th line of py_tensor that runs."""

    def __init__(self, folders: Sequence[str], at: int) -> None:
        package = os.path.dirname(py_tensor.__file__)
        self.folders = tuple([os.path.join(package, folder, "") for folder in folders])
        self.left = at
        self.where = ""

    def __enter__(self) -> None:
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        inside = code.co_filename.startswith(self.folders) and code not in UNINTERRUPTED
        return self._line if inside else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line" and not _leaves_a_with(frame):
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._line


def _leaves_a_with(frame: FrameType) -> bool:
    """Return whether a `with` is about to be left, where no interrupt comes: it would stay open."""
    code, line = frame.f_code, frame.f_lineno
    if not getline(code.co_filename, line).lstrip().startswith("with "):
        return False
    # The line starts once where the `with` is entered, and again at each way out, further down.
    return frame.f_lasti > min(start for start, at in findlinestarts(code) if at == line)


# An interrupt comes at a call, which these have none of where it would matter.
UNINTERRUPTED = {
    vars(LazyDevice)[name].__code__ for name in ("collect", "forget_unheld", "_forget")
}

GRAPH = ("ir", "schedule")
DEVICES = ("runtime", "backends")
T = TypeVar("T")


def interrupted_at_every_line(
    gpu: GPU,
    folders: Sequence[str],
    prepare: Callable[[], T],
    act: Callable[[T], object],
    check: Callable[[T], None],
    step: int = 1,
) -> int:
    """Interrupt `act` at every `step`-th line; return the number of interrupts.

    Each time, `check` must pass afterwards, and no buffer may be lost.
    """
    gc.collect()
    gc.disable()
    gc.freeze()  # keep the collector from scanning pytest's objects each time
    try:
        for count in range(1, 100_000):
            gpu.device.flush()  # so that no automatic collection occurs here
            state = prepare()
            interrupter = Interrupter(folders, 1 + (count - 1) * step)
            try:
                with interrupter:
                    act(state)
            except KeyboardInterrupt:
                pass
            forget_faults(gpu)
            try:
                check(state)
                del state
                assert gpu.is_clean()
            except Exception as error:
                error.add_note(f"interrupted at {interrupter.where}")
                raise
            if not interrupter.where:
                return count
    finally:
        gc.unfreeze()
        gc.enable()
    raise AssertionError("it never came to its end")


def forget_faults(gpu: GPU) -> None:
    """Clear faults that did not occur, and end interrupted reads."""
    for planned in (gpu.bridge.faults, gpu.bridge.allocations, gpu.bridge.waits):
        planned.clear()
    gpu.bridge.reading.clear()
    gpu.backend.checked_allocation = CHECKED_ALLOCATION


def work_of(gpu: GPU) -> list[pt.Tensor]:
    x = gpu.tensor(1, 2, 3)
    return [expression(x), x + 1, pt.tanh(x.sum())]


def realize(results: list[pt.Tensor]) -> None:
    pt.realize(*results)


def checker(gpu: GPU) -> Callable[[list[pt.Tensor]], None]:
    """Check that results are those of `work_of`."""
    expected = [data(x) for x in work_of(gpu)]

    def check(results: list[pt.Tensor]) -> None:
        assert [data(x) for x in results] == expected

    return check


def test_interrupts_at_every_line_of_a_flush(gpu: GPU) -> None:
    check = checker(gpu)
    realize(work_of(gpu))  # so that the plan exists each time
    assert interrupted_at_every_line(gpu, DEVICES, lambda: work_of(gpu), realize, check) > 50


def test_interrupts_while_planning(gpu: GPU) -> None:
    """Interrupts occur at some lines of the scheduler and of codegen, without cached plans."""

    def forgetful() -> list[pt.Tensor]:
        gpu.backend._plans.clear()
        gpu.backend.programs.lowerings.clear()
        return work_of(gpu)

    check = checker(gpu)
    for folders in (GRAPH, ("codegen",)):
        assert interrupted_at_every_line(gpu, folders, forgetful, realize, check, step=211) > 5


def test_interrupts_at_every_line_of_the_first_use(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare() -> tuple[LazyDevice, FakeBridge]:
        bridge = FakeBridge()
        monkeypatch.setattr(host, "load_bridge", lambda index: bridge)
        return LazyDevice("webgpu", make_backend=acquire), bridge

    def check(state: tuple[LazyDevice, FakeBridge]) -> None:
        place, bridge = state
        assert pt.tensor([1, 2], device=place).tolist() == [1, 2]
        assert bridge.generation == 1

    assert interrupted_at_every_line(gpu, DEVICES, prepare, lambda s: s[0].backend, check) > 30


def test_interrupts_at_every_line_of_an_upload(gpu: GPU) -> None:
    def upload(made: list[pt.Tensor]) -> None:
        made.append(gpu.tensor(1, 2, 3))

    def check(made: list[pt.Tensor]) -> None:
        assert all(x.tolist() == [1, 2, 3] for x in [*made, gpu.tensor(1, 2, 3)])

    assert interrupted_at_every_line(gpu, DEVICES, list[pt.Tensor], upload, check) > 30


def test_interrupts_at_every_line_of_a_read(gpu: GPU) -> None:
    """No result, report of a failure, or written memory is lost."""

    def prepare() -> list[pt.Tensor]:
        good, bad = gpu.tensor(1, 2), gpu.tensor(3, 4) + 1
        gpu.bridge.faults = ["validation"]
        bad.realize()
        return [good, bad]

    def check(tensors: list[pt.Tensor]) -> None:
        good, bad = tensors
        with pytest.raises(GPUError, match="refused"):
            data(bad)
        assert good.tolist() == [1, 2]
        assert not gpu.backend._targets
        assert not gpu.bridge.unnoted

    assert interrupted_at_every_line(gpu, DEVICES, prepare, lambda x: data(x[0]), check) > 20


@pytest.mark.parametrize("answers", [[], ["out-of-memory"], ["lost"]])
def test_interrupts_at_every_line_of_a_large_allocation(gpu: GPU, answers: list[str]) -> None:
    def prepare() -> list[pt.Tensor]:
        gpu.tensor(1)  # leaves its buffer in the pool
        result = pt.full((CHECKED_ALLOCATION // 4,), 1.0, device=gpu.device) + 1
        gpu.bridge.allocations = [*answers]
        return [result]

    def check(results: list[pt.Tensor]) -> None:
        realize(results)
        assert gpu.tensor(1, 2).tolist() == [1, 2]

    assert interrupted_at_every_line(gpu, DEVICES, prepare, realize, check) > 30


@pytest.mark.parametrize("found_by", ["upload", "compute"])
def test_interrupts_at_every_line_of_a_revival(gpu: GPU, found_by: str) -> None:
    def prepare() -> pt.Tensor:
        gpu.tensor(1)  # leaves its buffer in the pool
        pending = pt.arange(5, device=gpu.device) * 2
        gpu.bridge.loseDevice()
        return pending

    def act(pending: pt.Tensor) -> None:
        if found_by == "upload":
            gpu.tensor(1, 2)
        else:
            pending.realize()

    def check(pending: pt.Tensor) -> None:
        assert gpu.tensor(1, 2).tolist() == [1, 2]
        assert data(pending)
        assert gpu.backend.generation == gpu.bridge.generation

    assert interrupted_at_every_line(gpu, DEVICES, prepare, act, check) > 30


def test_interrupts_at_every_line_of_a_drain(gpu: GPU) -> None:
    def prepare() -> list[pt.Tensor]:
        x = gpu.tensor(1)
        while len(gpu.backend.unsettled) < MAX_IN_FLIGHT:
            (x + 1).realize()
        return [x, x + 1]

    def check(tensors: list[pt.Tensor]) -> None:
        assert len(gpu.backend.unsettled) <= MAX_IN_FLIGHT + 1
        assert tensors[0].tolist() == [1]

    assert interrupted_at_every_line(gpu, DEVICES, prepare, realize, check) > 50


@pytest.mark.parametrize("what", ["read", "synchronize", "drain", "allocate", "acquire"])
def test_a_wait_that_is_interrupted(gpu: GPU, what: str) -> None:
    x = gpu.tensor(1, 2)
    large = pt.full((CHECKED_ALLOCATION // 4,), 1.0, device=gpu.device)
    tensors = [x, large]
    del x, large

    def act() -> None:
        x, large = tensors
        match what:
            case "read":
                x.tolist()
            case "synchronize":
                gpu.backend.synchronize()
            case "drain":
                for _ in range(MAX_IN_FLIGHT + 1):
                    (x + 1).realize()
            case "allocate":
                large.realize()
            case _:
                gpu.bridge.loseDevice()
                gpu.tensor(1)

    if what == "allocate":
        gpu.bridge.allocations = ["interrupted"]
    else:
        gpu.bridge.waits = ["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        act()
    if what != "acquire":
        assert tensors[0].tolist() == [1, 2]
    assert gpu.tensor(3).tolist() == [3]
    tensors.pop().realize()
    tensors.clear()
    assert gpu.is_clean()


def test_an_index_out_of_range_is_raised_once_and_spoils_nothing(gpu: GPU) -> None:
    x, t = gpu.tensor(1, 2, 3), pt.tensor([5, -7], device=gpu.device)
    gpu.bridge.bad_words = [(0, 2**32 - 7)]
    y = x.take(t)
    z = y + 1
    pt.realize(y, z)
    with pytest.raises(
        IndexError, match=r"^take: index -7 is out of range for axis 0 of shape \(3,\)"
    ):
        gpu.backend.synchronize()
    assert gpu.bridge.failures() == ""
    assert len(y.tolist()) == len(z.tolist()) == 2
    pooled = gpu.memory_info()["pooled_buffers"]
    gpu.bridge.bad_words = [(0, 5)]
    y = x.take(t).realize()
    other = x + 1
    with pytest.raises(IndexError, match=r"^take: index 5 "):
        other.tolist()
    assert len(other.tolist()) == 3
    assert gpu.memory_info()["pooled_buffers"] >= pooled, "no failure of the GPU"


def test_an_index_out_of_range_is_reported_after_an_interrupt(gpu: GPU) -> None:
    x, t = gpu.tensor(1, 2, 3), pt.tensor([5], device=gpu.device)
    gpu.bridge.bad_words = [(0, 5)]
    y = x.take(t).realize()
    gpu.bridge.waits = ["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        y.tolist()
    with pytest.raises(IndexError, match=r"^take: index 5 "):
        y.tolist()
    assert len(y.tolist()) == 1


def test_an_index_out_of_range_with_sync_debugging(gpu: GPU) -> None:
    x, t = gpu.tensor(1, 2, 3), pt.tensor([5], device=gpu.device)
    t.realize()
    gpu.backend.debug(sync=True, poison=False, wgsl=False)
    gpu.bridge.bad_words = [(0, 5)]
    with pytest.raises(IndexError, match=r"^take: index 5 "):
        x.take(t).realize()
