"""Faults of the GPU, of memory, of JavaScript and of the user's patience, on a fake bridge."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import py_tensor
import py_tensor as pt
from py_tensor.backend.webgpu import CHECKED_ALLOCATION
from py_tensor.errors import DeviceLostError, GPUError
from tests.unit.fake_bridge import GPU


def data(x: pt.Tensor) -> bytes:
    return bytes(x._read())


def expression(x: pt.Tensor) -> pt.Tensor:
    """Several kernels, a temporary, a constant, two outputs."""
    y = pt.exp(x - x.max()) * 2
    return y / y.sum()


def test_the_fake_bridge_tells_results_apart(gpu: GPU) -> None:
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


# -- An error that comes to light later ---------------------------------------------------------


def test_a_late_error_reaches_what_was_computed_from_it(gpu: GPU) -> None:
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
    gpu.device.sync_each_op = gpu.backend.sync_each_op = True
    x = gpu.tensor(1, 2)
    gpu.bridge.faults = ["validation"]
    with pytest.raises(GPUError, match="refused"):
        pt.exp(x)
    assert data(pt.tanh(x))


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


def test_a_device_lost_in_a_flush(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = x + 1
    gpu.bridge.faults = ["lost"]
    with pytest.raises(DeviceLostError):
        y.realize()
    assert data(gpu.tensor(1, 2) + 1)


def test_what_needs_no_old_tensor_survives_a_loss(gpu: GPU) -> None:
    y = pt.arange(5, device=gpu.device) * 2
    gpu.bridge.faults = ["lost"]
    first = data(y)
    assert gpu.backend.generation == 2
    assert first == data(pt.arange(5, device=gpu.device) * 2)


def test_lost_again_and_again(gpu: GPU) -> None:
    for number in range(1, 5):
        x = gpu.tensor(number)
        gpu.bridge.loseDevice()
        with pytest.raises(DeviceLostError):
            data(x + 1)
        del x
    assert data(gpu.tensor(1) + 1)
    assert gpu.is_clean()


# -- Memory -------------------------------------------------------------------------------------


def test_out_of_memory_empties_the_pool_and_tries_once_more(gpu: GPU) -> None:
    gpu.tensor(1, 2)  # leaves its buffer in the pool
    large = CHECKED_ALLOCATION // 4
    gpu.bridge.memory_faults = 1
    y = pt.full((large,), 1.0, device=gpu.device)
    assert len(gpu.bridge.buffers) == 1
    y.realize()
    assert gpu.backend.memory_info()["live_buffers"] == 1
    assert len(gpu.bridge.buffers) == 1
    del y
    assert gpu.is_clean()


def test_out_of_memory_raises_and_leaves_all_else_usable(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    y = pt.full((CHECKED_ALLOCATION // 4,), 1.0, device=gpu.device) + 1
    gpu.bridge.memory_faults = 2
    with pytest.raises(MemoryError, match="no room for a buffer of 64 MiB"):
        y.realize()
    assert data(x + 1)
    y.realize()
    del x, y
    assert gpu.is_clean()


def test_more_than_the_device_allows(gpu: GPU) -> None:
    with pytest.raises(MemoryError, match=r"largest buffer of this device is 1\.00 GiB"):
        pt.full((2**29,), 1.0, device=gpu.device).realize()
    assert gpu.tensor(1).tolist() == [1]


def test_ten_thousand_steps_in_constant_memory(gpu: GPU) -> None:
    x = gpu.tensor(1, 2)
    for step in range(1000):
        x = x * 0.5 + 1
        if step % 10 == 0:
            x.realize()
    x.realize()
    assert len(gpu.bridge.buffers) <= 4
    assert gpu.backend.stats()["plans"] <= 4
    del x
    assert gpu.is_clean()


# -- Interrupts ---------------------------------------------------------------------------------


class Interrupter:
    """Raises KeyboardInterrupt at the k-th line of py_tensor that runs."""

    def __init__(self, folder: str, at: int) -> None:
        self.folder = os.path.join(os.path.dirname(py_tensor.__file__), folder)
        self.left = at
        self.where = ""

    def __enter__(self) -> None:
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        # An exception in a finalizer is lost, whatever is done about it.
        inside = code.co_filename.startswith(self.folder) and code.co_name != "__del__"
        return self._line if inside else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._line


def interrupted_at_every_line(
    gpu: GPU, folder: str, step: int, work: Callable[[], list[pt.Tensor]]
) -> int:
    """Interrupt the computation of `work()` at every `step`-th line; how many times that was."""
    expected = [data(x) for x in work()]
    pt.realize(*work())  # so that each time the plan is there, unless `work` forgets it
    gc.collect()
    gc.disable()
    gc.freeze()  # what pytest holds is none of the collector's business here
    try:
        for count in range(1, 100_000):
            gpu.device.flush()  # so that no automatic one falls into this
            results = work()
            interrupter = Interrupter(folder, 1 + (count - 1) * step)
            try:
                with interrupter:
                    pt.realize(*results)
            except KeyboardInterrupt:
                pass
            assert [data(x) for x in results] == expected, interrupter.where
            del results
            assert gpu.is_clean(), interrupter.where
            if not interrupter.where:
                return count
    finally:
        gc.unfreeze()
        gc.enable()
    raise AssertionError("it never came to its end")


def work_of(gpu: GPU) -> Callable[[], list[pt.Tensor]]:
    def work() -> list[pt.Tensor]:
        x = gpu.tensor(1, 2, 3)
        return [expression(x), x + 1, pt.tanh(x.sum())]

    return work


def test_interrupts_at_every_line_of_a_flush(gpu: GPU) -> None:
    assert interrupted_at_every_line(gpu, "backend", 1, work_of(gpu)) > 50


def test_interrupts_while_planning(gpu: GPU) -> None:
    """At some lines of the scheduler and of codegen; the plan is forgotten each time."""
    work = work_of(gpu)

    def forgetful() -> list[pt.Tensor]:
        gpu.backend._plans.clear()
        return work()

    for folder in ("graph", "codegen"):
        assert interrupted_at_every_line(gpu, folder, 211, forgetful) > 5
