"""Devices are entries of a registry, which holds several of a kind, and kinds that others add."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends import choice
from py_tensor.backends.cpu import CPU
from py_tensor.backends.kinds import CPU_DEVICE, _make_webgpu
from py_tensor.backends.webgpu import WebGPU
from py_tensor.runtime import registry
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import Kind, named, register
from tests.environment import ROOT
from tests.unit.fake_bridge import FakeBridge


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds and devices that a test adds are not there for the next one."""
    kinds: dict[str, Kind] = vars(registry)["_kinds"]
    monkeypatch.setattr(registry, "_kinds", {"cpu": kinds["cpu"]})
    monkeypatch.setattr(registry, "_devices", {"cpu": CPU_DEVICE})
    monkeypatch.setattr(choice, "_default", CPU_DEVICE)


@pytest.fixture
def bridges(monkeypatch: pytest.MonkeyPatch) -> list[FakeBridge]:
    """The bridges of two devices of the kind webgpu."""
    bridges = [FakeBridge(), FakeBridge()]
    monkeypatch.setattr(host, "load_bridge", bridges.__getitem__)
    register(Kind("webgpu", _make_webgpu, lambda: len(bridges)))
    return bridges


def backend_of(name: str) -> WebGPU:
    backend = named(name).backend
    assert isinstance(backend, WebGPU)
    return backend


def data(x: pt.Tensor) -> bytes:
    return bytes(x._read())


@pytest.mark.usefixtures("bridges")
def test_names() -> None:
    first, second = named("webgpu"), named("webgpu:1")
    assert named("webgpu:0") is first
    assert named("webgpu:1") is second is not first
    assert [str(first), str(second), repr(second)] == ["webgpu", "webgpu:1", "device('webgpu:1')"]
    assert [(d.kind, d.index) for d in (first, second)] == [("webgpu", 0), ("webgpu", 1)]
    assert named("cpu:0") is CPU_DEVICE
    assert registry.devices() == (CPU_DEVICE, first, second)


@pytest.mark.usefixtures("bridges")
@pytest.mark.parametrize(
    "name",
    [
        *("webgpu:2", "webgpu:-1", "webgpu:01", "webgpu:", "webgpu: 1", "webgpu:1:0", "cpu:1"),
        *("", ":", "gpu", "WEBGPU", "webgpu1", "webgpu:" + "9" * 5000, 3, b"cpu"),
    ],
)
def test_a_name_that_no_device_has(name: Any) -> None:
    with pytest.raises(pt.DeviceError) as error:
        pt.ones(2, device=name)
    devices = "'cpu', 'webgpu' and 'webgpu:1'"
    assert str(error.value) == f"unknown device {name!r}; the devices are {devices}"
    assert [str(device) for device in registry.devices()] == ["cpu", "webgpu"]  # it made none


def test_elements_of_both(bridges: list[FakeBridge]) -> None:
    x = pt.tensor([1.5, -0.0, float("nan")], device="webgpu:0")
    y = x.to("webgpu:1")
    assert [str(v.device) for v in (x, y)] == ["webgpu", "webgpu:1"]
    assert data(x) == data(y) == np.array([1.5, -0.0, np.nan], np.float32).tobytes()
    assert data(x * 2) == data(y * 2)  # a digest of the program and its operands
    assert [bridge.counts["dispatches"] for bridge in bridges] == [1, 1]
    pt.set_default_device("webgpu:1")
    assert pt.arange(3).device is y.device


@pytest.mark.usefixtures("bridges")
@pytest.mark.parametrize("call", [pt.add, pt.matmul, pt.maximum, lambda a, b: pt.concat([a, b])])
@pytest.mark.parametrize("devices", [("webgpu", "webgpu:1"), ("webgpu:1", "cpu")])
def test_operands_on_two_devices(call: Any, devices: tuple[str, str]) -> None:
    a, b = (pt.ones(3, device=device) for device in devices)
    words = rf"operands on {devices[0]} and {devices[1]}; move one with x\.to\(device\)$"
    with pytest.raises(pt.DeviceError, match=words):
        call(a, b)


def test_what_belongs_to_one_device(bridges: list[FakeBridge]) -> None:
    first, second = (backend_of(name) for name in ("webgpu", "webgpu:1"))
    for attribute in ("lock", "pool", "unsettled", "programs", "phases", "bridge"):
        assert getattr(first, attribute) is not getattr(second, attribute), attribute
    kept = [pt.ones(3, device=name) + 1 for name in ("webgpu", "webgpu:1")]
    expected = [data(x) for x in kept]
    bridges[1].loseDevice()
    with pytest.raises(pt.DeviceLostError):
        data(kept[1] * 2)
    assert data(kept[0]) == expected[0]
    assert data(pt.ones(3, device="webgpu:1") + 1) == expected[1]
    assert [first.generation, second.generation] == [1, 2]


def test_a_failure_is_of_its_device(bridges: list[FakeBridge]) -> None:
    x, y = (pt.ones(3, device=name).realize() for name in ("webgpu", "webgpu:1"))
    bridges[0].faults = ["validation"]
    failing, sound = (x + 1).realize(), (y + 1).realize()
    assert data(sound)
    named("webgpu:1").backend.synchronize()
    with pytest.raises(pt.GPUError):
        data(failing)


@pytest.mark.usefixtures("bridges")
def test_a_device_computes_while_another_is_locked() -> None:
    first, x = named("webgpu"), pt.ones(3, device="webgpu:1")
    with first.lock, ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: data(x + 1)).result(10)


@pytest.mark.usefixtures("bridges")
def test_options_apply_to_devices_that_are_named_later() -> None:
    pt.debug(poison=True)
    try:
        assert backend_of("webgpu:1").poison
    finally:
        pt.debug(poison=False)
    assert not backend_of("webgpu:1").poison


def test_the_devices_of_the_standard(bridges: list[FakeBridge]) -> None:
    info: Any = pt.__array_namespace_info__()
    assert [str(device) for device in info.devices()] == ["cpu", "webgpu", "webgpu:1"]
    registry._devices.pop("webgpu:1")
    bridges[1].loseDevice()
    bridges[1].missing = "no adapter"
    assert [str(device) for device in info.devices()] == ["cpu", "webgpu"]
    assert pt.device_info("webgpu")["generation"] == 1


@pytest.mark.parametrize("computes_cpu_ops", [True, False])
def test_a_kind_that_the_package_does_not_have(computes_cpu_ops: bool) -> None:
    made: list[int] = []

    def make(index: int) -> CPU:
        made.append(index)
        return CPU(np)

    register(Kind("lamp", make, lambda: 3, computes_cpu_ops=computes_cpu_ops))
    assert not made
    x = np.array([[3, -1], [np.inf, 0.5]], np.float32)
    y = pt.tensor(x, device="lamp:2")
    assert made == [2]
    np.testing.assert_array_equal((y.sum(0) * 2).numpy(), x.sum(0) * 2)
    np.testing.assert_array_equal(pt.sort(y).to("cpu").numpy(), np.sort(x))
    y[0] = 7
    assert y[0].tolist() == [7, 7]
    with pytest.raises(pt.DeviceError, match=r"operands on lamp:2 and lamp;"):
        _ = y + pt.ones(2, device="lamp")
    assert made == [2, 0]
    with pytest.raises(pt.DeviceError, match=r"'lamp', 'lamp:1' and 'lamp:2'$"):
        pt.ones(2, device="lamp:3")
    pt.set_default_device("lamp:1")
    assert str(pt.ones((64, 64)).device) == "lamp:1"
    assert "The lamp:1 device runs no kernels" in str(pt.explain(pt.ones((640, 64)) + 1))
    with pytest.raises(pt.DeviceError, match=r"^tune: the lamp:1 device has no kernels"):
        pt.tune()
    with pytest.raises(pt.DeviceError, match=r"^profile: "), pt.profile():
        pass
    assert pt.device_info()["backend"] == "cpu"
    pt.synchronize("lamp:1")


def test_a_fork_acquires_the_locks_of_devices_that_were_named_later() -> None:
    code = """
import os, sys, threading, time
import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.runtime.registry import Kind, named, register
from tests.unit.fake_bridge import new_gpu

register(Kind("lamp", lambda index: new_gpu().backend, lambda: 2))
lamp = named("lamp:1")
x = pt.ones(3, device=lamp) + 1
x.realize()
held = threading.Event()

def hold():
    with CPU_DEVICE.lock:  # in the order that the library acquires them
        held.set()
        time.sleep(0.3)
        with lamp.lock:
            time.sleep(0.3)

thread = threading.Thread(target=hold)
thread.start()
held.wait()
process = os.fork()
if not process:
    found = []
    def look():
        for lock in (CPU_DEVICE.lock, lamp.lock):
            found.append(lock.acquire(blocking=False))
            lock.release()
    looker = threading.Thread(target=look)
    looker.start()
    looker.join()
    try:
        pt.ones(3, device=lamp)
        (pt.ones(3, device=lamp) + 1).tolist()
    except pt.DeviceError as error:
        found.append("a forked process cannot use the lamp:1 device" in str(error))
    del x
    os._exit(0 if found == [True, True, True] else 1)
thread.join()
_, status = os.waitpid(process, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_device_in_every_thread() -> None:
    register(Kind("lamp", lambda index: CPU(np), lambda: 9))
    with ThreadPoolExecutor(8) as pool:
        for index in range(1, 9):
            found = list(pool.map(named, [f"lamp:{index}"] * 8))
            assert len({id(device) for device in found}) == 1
            assert isinstance(found[0], LazyDevice)
