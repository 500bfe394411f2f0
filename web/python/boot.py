"""Ties the session to Pyodide: what the worker (worker.js) calls."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pyodide
import pyodide.ffi
from pyodide.ffi import can_run_sync, run_sync

from . import benchmarks, loader
from .session import Emit, Session, redirect_streams, rethrow_swallowed_interrupts

RECURSION_LIMIT = 500
"""Below Python's 1,000: a recursion that passes through C (`__repr__` that calls `repr`, a sort key
that sorts) takes up the stack of the worker at about 700, which kills Python instead of raising."""


class Console:
    """The worker's handle on Python: text in, JSON out."""

    def __init__(self, emit: Emit, packages: str, load: loader.Load) -> None:
        sys.setrecursionlimit(RECURSION_LIMIT)
        redirect_streams(emit)
        rethrow_swallowed_interrupts()
        loader.install(json.loads(packages), load)
        pyodide.ffi.run_sync = interruptible_run_sync
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = (
            main  # so that pickling, dataclasses and the like find their module
        )
        self._session = Session(main.__dict__, hidden_folders(), can_run_sync)

    async def start(self) -> str:
        """Import the library, find the device, and say what was found."""
        import py_tensor as pt

        self._session.namespace["pt"] = pt
        problem = None
        try:
            await pt.init()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            pt.set_default_device("cpu")
        info = {
            "version": getattr(pt, "__version__", ""),
            "python": sys.version.split()[0],
            "jspi": can_run_sync(),
            "problem": problem,
            "device": pt.device_info(),
            "suites": benchmarks.describe(),
        }
        return json.dumps(info, default=str)

    async def run(self, source: str) -> str:
        return (await self._session.run(source)).to_json()

    async def benchmark(self, config: str, report: Callable[[str], None]) -> str:
        """Run what `config` (JSON) says; every step goes to `report` as JSON."""

        async def work() -> None:
            chosen = benchmarks.Config(**json.loads(config))
            await benchmarks.run(chosen, lambda step: report(json.dumps(step)), can_run_sync)

        return (await self._session.call(work)).to_json()

    def is_complete(self, source: str) -> bool:
        return self._session.is_complete(source)

    def interrupt(self) -> None:
        self._session.interrupt()


def hidden_folders() -> list[str]:
    """Where the frames live that a user's traceback leaves out."""
    specs = (importlib.util.find_spec(name) for name in ("py_tensor", "pyodide", "_pyodide"))
    found = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]
    return [str(folder) for folder in (*found, Path(__file__).parent)]


def interruptible_run_sync(awaitable: Awaitable[Any]) -> Any:
    """`run_sync` as a task, which Ctrl-C can cancel; Pyodide's own waits for its promise alone.

    Where Ctrl-C falls into Pyodide's conversion of the task, that alone fails, and this tells why.
    """
    begun = False

    async def wait() -> Any:
        nonlocal begun
        begun = True
        return await awaitable

    try:
        return run_sync(wait())
    except pyodide.ffi.ConversionError:
        if begun:
            raise
        raise KeyboardInterrupt from None
