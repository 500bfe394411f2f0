"""`pt.show_config`: the versions and devices that a bug report needs."""

from __future__ import annotations

import json
import platform
from typing import Any

from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import public
from py_tensor.tools.control import device_info

__all__ = ["show_config"]


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
