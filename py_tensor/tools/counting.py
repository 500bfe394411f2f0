"""Device counters for the project's tests."""

from __future__ import annotations

from typing import Any

from py_tensor.backends.choice import default_device
from py_tensor.tools.control import debug


def stats() -> dict[str, int]:
    """Return counts since the device was created: dispatches, flushes, submits, compiles, plans."""
    backend: Any = default_device().backend
    return backend.stats()


def dispatches() -> int:
    """Return the number of dispatches so far; on the cpu device, of computed nodes."""
    counted = stats()
    return counted["dispatches"] if "dispatches" in counted else counted["computed"]


def poison(on: bool) -> None:
    """Fill every buffer with NaN before it is used."""
    debug(poison=on)
