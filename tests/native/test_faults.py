"""Faults of the GPU, injected into calls on demand, as in `tests/browser/test_faults.py`.

wgpu-native reports an error during the call that caused it, and so do the calls here.
"""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import threading
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.backends import native_device
from py_tensor.backends.kinds import GPU_DEVICE
from py_tensor.backends.native_device import Device
from py_tensor.backends.webgpu import WebGPU
from py_tensor.runtime.connection import CHECKED_ALLOCATION
from py_tensor.tools.control import stats

MESSAGES = {
    "validation": "Validation Error\n\nCaused by:\n  In {call}, label = '{label}'\n    for a test",
    "out-of-memory": "Out of Memory\n\nCaused by:\n  In {call}, label = '{label}'\n",
    "lost": "Validation Error\n\nCaused by:\n  Parent device is lost\n",
}


class Faults:
    """Faults of the next calls of a device, in turn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.struck = 0
        self._armed: list[tuple[str, str, int]] = []
        for call in ("create_buffer", "create_pipeline", "create_bind_group", "submit"):
            patch.setattr(Device, call, self._failing(call, getattr(Device, call)))

    def arm(self, kind: str, call: str, after: int = 0) -> None:
        """Make a call fail, after a number of calls of its kind that do not."""
        self._armed.append((kind, call, after))

    def _failing(self, call: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def made(device: Device, *arguments: Any) -> Any:
            kind = self._due(call)
            if kind == "throw":
                raise RuntimeError("thrown for a test")
            if kind is not None:
                label = str(arguments[-1]) if arguments else ""
                message = MESSAGES[kind].format(call=call, label=label)
                device.errors.append(native_device.error_of(kind, message))
            return real(device, *arguments)

        return made

    def _due(self, call: str) -> str | None:
        for position, (kind, armed, after) in enumerate(self._armed):
            if armed == call:
                if after:
                    self._armed[position] = kind, armed, after - 1
                    return None
                del self._armed[position]
                self.struck += 1
                return kind
        return None


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


@pytest.fixture
def kept() -> Iterator[pt.Tensor]:
    """A tensor that must survive the test's faults intact."""
    kept = pt.arange(5) * 2
    kept.realize()
    pt.synchronize()
    yield kept
    assert kept.tolist() == [0, 2, 4, 6, 8]
    assert (kept + 1).tolist() == [1, 3, 5, 7, 9]


@pytest.fixture
def _unsuspecting() -> None:
    """Restore the state before memory first ran out, after which every new buffer is checked."""
    backend().checked_allocation = CHECKED_ALLOCATION
    pt.empty_cache()


def backend() -> WebGPU:
    found = GPU_DEVICE.backend
    assert isinstance(found, WebGPU)
    return found


def lose() -> None:
    backend().bridge.loseDevice()


@pytest.mark.parametrize(
    ("call", "op"), [("create_bind_group", pt.exp), ("create_pipeline", pt.tanh)]
)
def test_a_validation_error_names_the_op_and_stays_with_its_results(
    faults: Faults, kept: pt.Tensor, call: str, op: Callable[[pt.Tensor], pt.Tensor]
) -> None:
    faults.arm("validation", call)
    if call == "create_pipeline":  # compiling ahead is the first attempt, whose error is ignored
        faults.arm("validation", call)
    bad = op(pt.rand(7))
    bad.realize()
    later = bad + 1
    for x in (bad, later, bad.sum(), bad):
        with pytest.raises(pt.GPUError, match=op.__name__):
            x.tolist()
    assert faults.struck == (2 if call == "create_pipeline" else 1)


def test_wgsl_that_does_not_compile_names_the_line(kept: pt.Tensor) -> None:
    broken = pt.kernel(
        "broken", "y[index] = x[index] + nowhere;", inputs=("x",), outputs={"y": "x"}
    )
    y = broken(pt.ones(3))
    with pytest.raises(pt.GPUError, match=r"broken: (?s:.*)WGSL line \d+: .*nowhere"):
        y.tolist()


def test_out_of_memory_empties_the_pool_and_tries_once_more(
    faults: Faults, kept: pt.Tensor
) -> None:
    spare = [pt.rand(1000 + i) for i in range(5)]
    pt.realize(*spare)
    pt.synchronize()
    del spare
    assert pt.memory_info()["pooled_buffers"] > 0
    faults.arm("out-of-memory", "create_buffer")
    big = pt.rand(17 * 2**20)
    big.realize()
    assert 0 <= float(big[5]) < 1
    assert faults.struck == 1


def test_out_of_memory_twice_raises_and_nothing_is_lost(faults: Faults, kept: pt.Tensor) -> None:
    pt.empty_cache()
    gc.collect()
    faults.arm("out-of-memory", "create_buffer")
    faults.arm("out-of-memory", "create_buffer")
    big = pt.rand(19 * 2**20)
    with pytest.raises(MemoryError, match="MiB"):
        big.realize()
    assert 0 <= float(big[5]) < 1  # it is still pending, and now there is memory


@pytest.mark.usefixtures("_unsuspecting")
def test_out_of_memory_in_a_small_flush(faults: Faults, kept: pt.Tensor) -> None:
    """It is reported later, and has no effect when the user tries again."""
    faults.arm("out-of-memory", "create_buffer")
    bad = pt.tan(pt.linspace(0, 1, 301))
    bad.realize()
    later = bad + 1
    for x in (bad, later, bad.sum()):
        with pytest.raises(MemoryError, match="tan: "):
            x.tolist()
    assert faults.struck == 1
    for _ in range(5):
        again = pt.tan(pt.linspace(0, 1, 301))
        assert again.tolist()[0] == 0
        assert abs(again.sum().item() - 184.95) < 1
    faults.arm("out-of-memory", "create_buffer")  # from now on every new buffer is checked
    more = pt.cos(pt.linspace(0, 1, 70001))
    assert more.tolist()[0] == 1
    assert faults.struck == 2


def test_a_throw_in_the_middle_of_a_flush_leaves_it_pending(
    faults: Faults, kept: pt.Tensor
) -> None:
    faults.arm("throw", "create_bind_group")
    y = kept * 3
    with pytest.raises(pt.GPUError, match="thrown for a test"):
        y.realize()
    assert y.tolist() == [0, 6, 12, 18, 24]


def test_an_index_out_of_range_is_reported_once(kept: pt.Tensor) -> None:
    where = pt.tensor([1, 7]) + 0
    found = kept[where].realize()
    with pytest.raises(IndexError, match="7"):
        found.tolist()
    assert found.tolist() == [2, 8]


@pytest.mark.parametrize("how", ["lost by the driver", "destroyed"])
def test_a_lost_device_is_replaced(faults: Faults, how: str) -> None:
    old = pt.arange(4)
    old.realize()
    pt.synchronize()
    generation = pt.device_info()["generation"]
    if how == "destroyed":
        lose()
    else:
        faults.arm("lost", "submit")
    for attempt in range(3):
        with pytest.raises(pt.DeviceLostError):
            (old + attempt).tolist()
    new = pt.tensor([1, 2, 3])
    assert (new * 2).tolist() == [2, 4, 6]
    with pytest.raises(pt.DeviceLostError, match="lost"):
        (old + 1).tolist()
    assert pt.device_info()["generation"] == generation + 1
    assert pt.rand(5).sum().item() > 0


@pytest.mark.parametrize("made", ["uploaded", "computed", "computed from lost ones"])
def test_a_lost_device_is_replaced_for_a_large_tensor(made: str) -> None:
    """A tensor so large that memory is checked before the flush."""
    old = pt.arange(4)
    old.realize()
    generation = pt.device_info()["generation"]
    lose()
    n = 17 * 2**20
    if made == "uploaded":
        new = pt.tensor(array("f", bytes(4 * n)))
    else:
        if made != "computed":
            with pytest.raises(pt.DeviceLostError):
                (pt.full((n,), 2.0) + old[0]).realize()
        new = pt.full((n,), 2.0) * 3
    assert new[5].item() == (0 if made == "uploaded" else 6)
    assert pt.device_info()["generation"] == generation + 1
    del new
    pt.empty_cache()


def test_a_timer_of_a_lost_device_has_no_times() -> None:
    pt.ones(3).realize()
    bridge = backend().bridge
    assert bridge.startTimer()
    (pt.arange(5) * 3).realize()
    times: Any = bridge.stopTimer()
    lose()
    assert times.wait() == "[]"


@pytest.mark.parametrize("other", ["read", "synchronize"])
def test_a_loss_with_two_waiters(other: str) -> None:
    async def program() -> None:
        kept = (pt.arange(5) * 2).realize()
        second = kept.to_numpy_async() if other == "read" else pt.synchronize_async()
        waiting = asyncio.gather(kept.to_numpy_async(), second, return_exceptions=True)
        lose()
        ended = await waiting
        assert [type(error) for error in ended] == [pt.DeviceLostError] * 2, ended

        async def anew(n: int) -> Any:
            return await (pt.arange(n) + 1).to_numpy_async()

        await pt.init()
        made = await asyncio.gather(anew(3), anew(5))
        assert [x.tolist() for x in made] == [[1, 2, 3], [1, 2, 3, 4, 5]]

    asyncio.run(program())


def test_reads_awaited_at_once_and_cancelled() -> None:
    async def program() -> None:
        a, b = pt.arange(1000), pt.ones(5)
        x, y, z = await asyncio.gather(*(t.to_numpy_async() for t in (a * 2, b, a + b.sum())))
        assert x[999] == 1998
        assert y.tolist() == [1] * 5
        assert z[10] == 15
        for _ in range(20):
            task = asyncio.ensure_future((pt.rand(100000) * 2).to_numpy_async())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (pt.arange(10) + 1).sum().item() == 55

    asyncio.run(program())
    staging = stats()["stagingBuffers"]
    assert staging <= 9


def flushes_and_reads() -> None:
    x = pt.rand(64, 64)
    while True:
        x = (x @ x).sum(0) * 0.01 + pt.rand(64, 64)
        x.realize()
        if random.random() < 0.3:
            x.tolist()


def uploads() -> None:
    values = array("f", bytes(2**20))
    while True:
        pt.tensor(values)
        if random.random() < 0.1:
            pt.synchronize()


def large_allocations() -> None:
    while True:
        x = pt.zeros((17 * 2**20,)).realize()
        del x
        pt.empty_cache()


@pytest.mark.parametrize("loop", [flushes_and_reads, uploads, large_allocations])
def test_interrupts_at_random_points(loop: Callable[[], None]) -> None:
    """Each of many interrupts ends the loop, and later results are right."""
    for number in range(12):
        timer = threading.Timer(0.04 + 0.023 * number, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            loop()
        assert (pt.arange(10) * 2).sum().item() == 90
    gc.collect()
    pt.empty_cache()
    info = pt.memory_info()
    assert info["live_buffers"] <= 4, info
    assert info["device_buffers"] == info["live_buffers"], info


def test_programs_of_users_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own programs are not checked."""
    trusted: dict[str, bool] = {}
    real = Device.create_pipeline

    def noted(device: Device, layout: Any, wgsl: str, is_trusted: bool, label: str) -> Any:
        trusted[label] = is_trusted
        return real(device, layout, wgsl, is_trusted, label)

    monkeypatch.setattr(Device, "create_pipeline", noted)
    code = "y[index] = x[index] + 1.0;"
    mine = pt.kernel("mine", code, inputs=("x",), outputs={"y": "x"})
    (mine(pt.ones(3)) * 1.5).tolist()
    assert trusted["mine"] is False
    assert any(trusted.values())
