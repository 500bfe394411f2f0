"""Ties the session to Pyodide: what the worker (worker.js) calls."""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.util
import json
import os
import sys
import types
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pyodide
import pyodide.ffi
import pyodide.webloop
from pyodide.ffi import ConversionError, can_run_sync, run_sync

from . import benchmarks
from .interrupts import Interrupts
from .loader import Load, VendoredFinder
from .session import Ask, Emit, Session, redirect_streams

Request = Callable[[], Awaitable[str | None]]
"""Asks the page for a line; None where the page has nowhere to type it."""

RECURSION_LIMIT = 500
"""Below Python's 1,000: a recursion that passes through C (`__repr__` that calls `repr`, a sort key
that sorts) takes up the stack of the worker at about 700, which kills Python instead of raising."""


class Console:
    """The worker's handle on Python: text in, JSON out."""

    def __init__(self, emit: Emit, request: Request, packages: str, load: Load) -> None:
        sys.setrecursionlimit(RECURSION_LIMIT)
        redirect_streams(emit, asking(request))
        providers = json.loads(packages)
        self._interrupts = Interrupts(providers)
        self._interrupts.install()
        finder = VendoredFinder(providers, load, self._interrupts.held)
        sys.meta_path.append(finder)
        importlib.import_module("py_tensor.backend.bridge")  # it waits by Pyodide's own
        pyodide.ffi.run_sync = pyodide.webloop.run_sync = interruptible_run_sync
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = (
            main  # so that pickling, dataclasses and the like find their module
        )
        self._session = Session(main.__dict__, hidden_folders(), can_run_sync, finder.load_imports)
        sys.displayhook = self._session.display

    async def start(self) -> str:
        """Import the library, find the device, and say what was found."""
        import py_tensor as pt

        self._session.namespace["pt"] = pt
        problem = None
        try:
            device = await pt.init()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            pt.set_default_device("cpu")
            device = pt.device_info()
        info = {
            "version": getattr(pt, "__version__", ""),
            "python": sys.version.split()[0],
            "jspi": can_run_sync(),
            "problem": problem,
            "device": device,
            "suites": benchmarks.describe(),
        }
        gc.freeze()  # collections pass over what is there for good: each full one took 10 ms
        return json.dumps(info, default=str)

    async def run(self, source: str) -> str:
        return (await self._session.run(source)).to_json()

    async def benchmark(self, config: str, report: Callable[[str], None]) -> str:
        """Run what `config` (JSON) says; every step goes to `report` as JSON."""

        async def work() -> None:
            chosen = benchmarks.Config(**json.loads(config))
            await benchmarks.run(chosen, lambda step: report(json.dumps(step)), can_run_sync)

        return (await self._session.call(work)).to_json()

    def resize(self, columns: int) -> None:
        """Fit what is printed from now on into so many columns."""
        import py_tensor as pt

        os.environ["COLUMNS"] = str(columns)  # for shutil.get_terminal_size, hence argparse
        pt.set_printoptions(linewidth=columns)

    def interrupt(self) -> None:
        if not self._interrupts.hold():
            self._session.interrupt()


def hidden_folders() -> list[str]:
    """Where the frames live that a user's traceback leaves out."""
    specs = (importlib.util.find_spec(name) for name in ("py_tensor", "pyodide", "_pyodide"))
    found = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]
    return [str(folder) for folder in (*found, Path(__file__).parent)]


def asking(request: Request) -> Ask:
    """What reads a line for sys.stdin: it waits until the page has one."""

    def ask() -> str:
        line = interruptible_run_sync(request()) if can_run_sync() else None
        if not isinstance(line, str):
            raise OSError(
                "there is no input to read here: assign the value instead of asking for it"
            )
        return line

    return ask


def interruptible_run_sync(awaitable: Awaitable[Any]) -> Any:
    """`run_sync` as a task, which Ctrl-C can cancel; Pyodide's own waits for its promise alone.

    What the task raises does not pass through JavaScript: Pyodide would print it on the way.
    """
    begun, result = False, None
    error: BaseException | None = None

    async def wait() -> None:
        nonlocal begun, result, error
        begun = True
        try:
            result = await awaitable
        except asyncio.CancelledError as cancelled:
            error = KeyboardInterrupt().with_traceback(cancelled.__traceback__)
        except BaseException as raised:
            error = raised

    try:
        run_sync(wait())
        if error is not None:
            raise error
    except ConversionError:
        if begun:
            raise
        # A coroutine can be converted; but an interrupt on the way there turns into this error.
        raise KeyboardInterrupt from None
    finally:
        error = None  # it refers to this frame
    return result
