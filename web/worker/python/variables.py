"""The variables of the session, as the page lists them.

Listing them runs no user code and computes no tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import py_tensor as pt
from py_tensor.schedule.order import bottom

from .inspection import value_text

MOST = 200
"""The most variables listed."""

PLAIN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)
"""Types whose size `sys.getsizeof` gives without running user code."""


LIBRARIES = ("builtins", "functools", "numpy", "py_tensor")
"""Packages whose callable objects count as functions, not as data."""


def listed(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name, shape or value, type, device and bytes of each variable, by name.

    Names with a leading underscore, modules, functions and classes are omitted.
    """
    found = [(name, value) for name, value in namespace.items() if _is_listed(name, value)]
    found.sort(key=lambda pair: pair[0].casefold())
    rows = [{"name": name, **_row(value)} for name, value in found[:MOST]]
    return {"rows": rows, "more": len(found) - len(rows)}


def _is_listed(name: str, value: Any) -> bool:
    if name.startswith("_"):
        return False
    kind: Any = type(value)  # not isinstance(), which may run the value's __class__ property
    package = str(kind.__module__).partition(".")[0]
    is_function = callable(value) and package in LIBRARIES
    return not is_function and not issubclass(kind, ModuleType | type)


def _row(value: Any) -> dict[str, Any]:
    if type(value) is pt.Tensor:
        return _tensor(value)
    numpy = sys.modules.get("numpy")
    kind: Any = type(value)
    if numpy is not None and issubclass(kind, numpy.ndarray | numpy.generic):
        return _array(value, numpy.ndarray if issubclass(kind, numpy.ndarray) else numpy.generic)
    is_plain = kind in PLAIN or value is None
    return {
        "value": (is_plain and value_text(value)) or "",
        "type": kind.__name__,
        "device": "",
        "bytes": sys.getsizeof(value) if is_plain else None,
        "note": "",
    }


def _tensor(x: pt.Tensor) -> dict[str, Any]:
    selected = x._selected_by_mask
    if selected is not None:  # of a task that runs beside the inputs
        values = selected.values
        return {**_tensor(values), "value": "(?,)", "bytes": None, "note": "not computed yet"}
    node = getattr(x, "_node", None)  # a view may have no node until its next use
    is_view = x.base is not None
    is_pending = node is not None and x.size > 0 and _is_pending(bottom(node))
    return {
        "value": _shape(x.shape),
        "type": f"{x.dtype} tensor",
        "device": str(x.device),
        "bytes": x.nbytes,
        "note": "view" if is_view else "not computed yet" if is_pending else "",
    }


def _is_pending(below: Any) -> bool:
    """Return whether the elements at the start of a chain of movement ops are still to be computed.

    Constants and index ranges are not stored: kernels and reads compute them as they need them.
    """
    return below.storage is None and not below.op.generates


def _array(a: Any, owner: Any) -> dict[str, Any]:
    """Return a NumPy array or scalar, read through `owner`: subclasses may override attributes."""
    shape, dtype, size = (getattr(owner, name).__get__(a) for name in ("shape", "dtype", "nbytes"))
    is_scalar = owner.__name__ == "generic"
    return {
        "value": str(owner.item(a)) if is_scalar and dtype.kind in "biufc" else _shape(shape),
        "type": f"{dtype} {'scalar' if is_scalar else 'array'}",
        "device": "NumPy",
        "bytes": int(size),
        "note": "view" if not is_scalar and owner.base.__get__(a) is not None else "",
    }


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(map(int, shape))) if shape else "scalar"
