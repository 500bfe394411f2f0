"""The one module that touches JavaScript: finding the bridge, calling it, waiting for it.

In a page that registered the bridge as the module `py_tensor_bridge`, that one is used; any other
Pyodide host gets the self-contained script that the wheel carries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from py_tensor.errors import DeviceError, WaitError

IN_PYODIDE = sys.platform == "emscripten"

_ffi: Any = import_module("pyodide.ffi") if IN_PYODIDE else None
# As it is when this is imported: what a host puts in its place later, to interrupt what waits, is
# not needed for the bridge's promises, which end by themselves when it is told to.
_run_sync: Any = getattr(_ffi, "run_sync", None)


def wait_by(run_sync: Callable[[Any], Any]) -> None:
    """Have the library wait by a host's function, which does what Pyodide's `run_sync` does."""
    global _run_sync
    _run_sync = run_sync


@cache
def load() -> Any:
    """The bridge object of `web/bridge`, whose methods take and give integers and strings.

    Raises
    ------
    DeviceError
        Outside Pyodide.
    """
    if not IN_PYODIDE:
        raise DeviceError("the webgpu device exists only under Pyodide, in a browser with WebGPU")
    try:
        return import_module("py_tensor_bridge")
    except ModuleNotFoundError:
        script = (files("py_tensor") / "bridge.js").read_text(encoding="utf-8")
        create = import_module("pyodide.code").run_js(script)
        return create(import_module("pyodide_js"))


def can_wait() -> bool:
    """Whether Python can block on a promise here (JSPI, under `runPythonAsync`)."""
    return IN_PYODIDE and bool(_ffi.can_run_sync())


def wait(promise: Any, what: str) -> Any:
    """Block until the promise, one of the bridge's, is fulfilled; its value.

    Raises
    ------
    WaitError
        Where Python cannot block; the message names what to await instead.
    """
    check_can_wait(what)
    return _run_sync(promise)


def check_can_wait(what: str) -> None:
    """Raise WaitError where Python cannot block."""
    if not can_wait():
        raise WaitError(
            f"{what} has to wait for the GPU, and Python cannot block here;"
            " write `await pt.init()` once, and `await x.to_numpy_async()` to read a tensor"
        )


def load_numpy() -> Any:
    """NumPy, fetched first where the host has it and has not loaded it."""
    try:
        return import_module("numpy")
    except ModuleNotFoundError:
        if not IN_PYODIDE:
            raise DeviceError(
                "the cpu device computes with NumPy, which is not installed"
            ) from None
    if not can_wait():
        raise WaitError(
            "NumPy is not loaded, and Python cannot block here to load it;"
            ' write `await pyodide.loadPackage("numpy")` in JavaScript first'
        )
    _ffi.run_sync(import_module("pyodide_js").loadPackage("numpy"))
    return import_module("numpy")


async def load_numpy_async() -> Any:
    """The same, awaited."""
    if IN_PYODIDE and find_spec("numpy") is None:
        await import_module("pyodide_js").loadPackage("numpy")
    return load_numpy()
