"""The kinds of devices, and the devices of each kind.

A kind is added by `register`, which makes its device 0. Others are made when they are first named.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock

from py_tensor.base.errors import DeviceError
from py_tensor.ir.node import name_of
from py_tensor.runtime.device import Backend, LazyDevice

WRITING = RLock()
"""Held while a cell or a view changes its node, a generator its counter, or the table of devices
gets one. It is the last lock that a thread acquires: no code that holds it waits, or uses a device.
"""


def _acquire_at_fork(lock: RLock) -> None:
    """Let a fork acquire a lock, before those for which this was called earlier."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            # Methods in C: an interrupt cannot come between them.
            before=lock.acquire,
            after_in_parent=lock.release,
            after_in_child=lock.release,
        )


_acquire_at_fork(WRITING)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of device.

    Attributes
    ----------
    name : str
        The name of its device 0; the others are "NAME:1", "NAME:2" and so on.
    make_backend : callable
        Makes the backend of a device, given its index, when the device is first used.
    count : callable
        Returns the number of devices, which need not be available.
    computes_cpu_ops : bool
        Whether NumPy computes here: the device has all dtypes, and a forked process can use it.
    """

    name: str
    make_backend: Callable[[int], Backend]
    count: Callable[[], int] = lambda: 1
    computes_cpu_ops: bool = False


_kinds: dict[str, Kind] = {}
_devices: dict[str, LazyDevice] = {}


def register(kind: Kind) -> LazyDevice:
    """Add a kind of device; return its device 0."""
    _kinds[kind.name] = kind
    return _device(kind, 0)


def named(name: str) -> LazyDevice:
    """Return the device of a name, such as "webgpu" or "webgpu:1".

    Raises
    ------
    DeviceError
        If there is none.
    """
    return _devices.get(name) or _find(name)


def devices() -> tuple[LazyDevice, ...]:
    """Return the devices that were named, and device 0 of each kind."""
    return tuple(_devices.values())


def all_devices() -> list[LazyDevice]:
    """Return all devices of all kinds; not all need be available."""
    return [_device(kind, index) for kind, index in _kinds_and_indices()]


def _find(name: str) -> LazyDevice:
    for kind, index in _kinds_and_indices():
        if name in (name_of(kind.name, index), f"{kind.name}:{index}"):
            return _device(kind, index)
    raise unknown(name)


def unknown(device: object) -> DeviceError:
    """Return the error for what is not the name of a device."""
    *others, last = (repr(name_of(kind.name, index)) for kind, index in _kinds_and_indices())
    return DeviceError(f"unknown device {device!r}; the devices are {', '.join(others)} and {last}")


def _kinds_and_indices() -> list[tuple[Kind, int]]:
    return [(kind, index) for kind in list(_kinds.values()) for index in range(kind.count())]


def _device(kind: Kind, index: int) -> LazyDevice:
    """Return a device of a kind, the same one each time."""
    device = LazyDevice(
        kind.name, index, make_backend=kind.make_backend, computes_cpu_ops=kind.computes_cpu_ops
    )
    with WRITING:
        if device.name in _devices:
            return _devices[device.name]
        for other in _devices.values():  # all have the options of `pt.debug`
            device.debug(other.sync_each_op, other.poison, other.wgsl)
        if device.waits and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=device.note_fork)
        _acquire_at_fork(device.lock)
        _devices[device.name] = device
        # A thread that needs two devices acquires the lock of the cpu device first, so a fork does.
        for other in _devices.values():
            if not other.waits and device.waits:
                _acquire_at_fork(other.lock)
    return device
