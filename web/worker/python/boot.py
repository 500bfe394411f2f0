"""The session's connection to Pyodide: the interface that the worker (worker.js) calls."""

from __future__ import annotations

import asyncio
import builtins
import gc
import importlib
import importlib.util
import json
import os
import sys
import types
import warnings
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyodide
import pyodide.ffi
import pyodide.webloop
import pyodide_js
from pyodide.ffi import ConversionError, can_run_sync, run_sync, to_js

from . import benchmarks, failures, status
from .completion import Completer
from .inspection import help_on
from .interrupts import Interrupts
from .loader import Load, VendoredFinder, of_library, of_stdlib, raising
from .modules import OwnModules
from .rich import Port, Rich
from .session import NOTHING_TO_EXIT, Ask, Emit, Outcome, Session, redirect_streams

if TYPE_CHECKING:
    from . import contenders

Request = Callable[[], Awaitable[str | None]]
"""Asks the page for a line; None if the page has no input field."""

RECURSION_LIMIT = 500
"""Below Python's default of 1,000. Recursion through C (a `__repr__` that calls `repr`, a sort key
that sorts) overflows the worker's stack at a depth of about 700, which kills Python instead of
raising an exception."""


class Console:
    """The worker's interface to Python: text in, JSON out."""

    def __init__(
        self,
        emit: Emit,
        request: Request,
        packages: str,
        load: Load,
        fetch: Callable[[str], Any],
        port: Port,
        end_promises: Callable[[bool], None],
        allows_packages: bool,
    ) -> None:
        sys.setrecursionlimit(RECURSION_LIMIT)
        redirect_streams(emit, asking(request))
        providers = json.loads(packages)
        global _interrupts
        self._interrupts = _interrupts = Interrupts(providers, end_promises)
        # The awaiter of a task sees its interrupt; the page does not need to be told.
        asyncio.get_event_loop()._keyboard_interrupt_handler = lambda: None  # type: ignore[attr-defined]
        finder = VendoredFinder(providers, load, self._interrupts.deferred)
        sys.meta_path.append(of_library(fetch, self._interrupts.deferred))
        sys.meta_path.append(of_stdlib(fetch, self._interrupts.deferred))
        sys.meta_path.append(finder)
        importlib.import_module("py_tensor.runtime.host").host.wait_by(run_sync_of_bridge)
        failures.packages.are_allowed = allows_packages
        pyodide_js.loadPackage = raising(pyodide_js.loadPackage)  # micropip takes it from there
        os.environ["MPLBACKEND"] = "module://py_tensor.display.matplotlib"
        pyodide.ffi.run_sync = pyodide.webloop.run_sync = interruptible_run_sync
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main  # so that pickle, dataclasses and others find the module
        self._rich = Rich(port, interruptible_run_sync, can_run_sync, flush_output)
        self._rich.install()
        self._session = Session(
            main.__dict__,
            hidden_folders(),
            can_run_sync,
            finder.load_imports,
            self._rich.describe,
            self._interrupts.has_recorded,
            self._interrupts.check,
            _read_selections,
        )
        self._modules = OwnModules(os.getcwd())
        self._interrupts.install(self._session)
        builtins.exit = builtins.quit = Quit()
        warnings.formatwarning = format_warning
        sys.displayhook = self._session.display
        completer = Completer(main.__dict__, providers)
        self._answers: dict[str, Callable[..., Any]] = {
            "complete": completer.complete,
            "describe": completer.describe,
            "signature": completer.signature,
            "figures": status.figures,
            "device": status.device,
            "variables": self._variables,
            "drawing": self._rich.drawings.again,
        }

    async def start(self) -> str:
        """Import the library, request the device, and return a description as JSON."""
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
        gc.freeze()  # each full collection otherwise scans permanent objects: 10 ms
        return json.dumps(info, default=str)

    async def run(self, source: str, number: int) -> str:
        """Run an input; by its number the page calls `forget`."""
        self._rich.begin(number)
        self._modules.refresh()
        try:
            return (await self._session.run(source)).to_json()
        finally:
            self._modules.note()

    async def help(self, request: str) -> str:
        """Find the content of the help panel; `request` is the page's command as JSON."""
        given = json.loads(request)
        expression = given["expression"]
        if given["isCall"] and "help" in self._session.namespace:  # the user redefined it
            return await self.run(given["source"], given["id"])
        found: dict[str, Any] | str = ""

        async def look() -> None:
            nonlocal found
            try:
                names = self._session.namespace
                found = help_on(names, expression, source=given["wantsSource"])
            except Exception as error:  # the inspected object may raise anything
                found = f"Help on {expression} failed with {type(error).__name__}: {error}"

        outcome = await self._session.call(look)
        if not outcome.ok:
            return outcome.to_json()
        if isinstance(found, dict):
            return Outcome(True, help=found).to_json()
        if given["isCall"]:
            return await self.run(given["source"], given["id"])
        return Outcome(False, error=found).to_json()

    async def benchmark(self, config: str, report: Callable[[str], None], links: Any) -> str:
        """Run the benchmarks in `config` (JSON); report every step to `report` as JSON.

        `config` holds the fields of `measuring.Config`, whether the adapter is `software`, and
        whether to measure the device's `limits` first. `links` (web/worker/peers/link.js) connects
        to the other libraries.
        """
        given = json.loads(config)
        software, limits = given.pop("software"), given.pop("limits")

        def tell(step: dict[str, Any]) -> None:
            report(json.dumps(step))

        async def ask(name: str, method: str, about: dict[str, Any], arrays: Sequence[Any]) -> Any:
            return json.loads(
                await links.ask(name, method, json.dumps(about), to_js([*arrays], depth=2))
            )

        async def work() -> None:
            import py_tensor as pt

            from . import contenders, measuring

            def peer(name: str) -> contenders.Peer:
                return contenders.Peer(name, ask, lambda: links.isOpen(name), software=software)

            chosen = measuring.Config.of(given)
            if limits:
                tell({"event": "limits", **await measured_limits(ask, software=software)})
            those = contenders.contenders(
                chosen.contenders, pt, can_run_sync, peer, software=software
            )
            await measuring.run(chosen, those, tell)

        return (await self._session.call(work)).to_json()

    async def view(self, request: str) -> str:
        """Show a view of a tensor; `request` is the page's command as JSON."""
        return (await self._session.call(lambda: self._rich.view(request))).to_json()

    async def draw(self, request: str, frame: Any) -> str:
        """Show a live picture of the gallery.

        `request` is the page's command as JSON; `frame` a Uint32Array of pixels, or None.
        """
        pixels = None if frame is None else frame.to_memoryview()
        return (await self._session.call(lambda: self._rich.draw(request, pixels))).to_json()

    def change(self, number: int, value: str) -> str:
        """Record that the user changed a control; `value` is JSON.

        Returns the numbers of the functions to run, as JSON, or "null" if the control is gone.
        """
        from py_tensor import ui

        return json.dumps(ui.changed(number, json.loads(value)))

    def forget(self, number: int) -> None:
        """Drop the functions that an input gave to controls: its output is gone."""
        if (ui := sys.modules.get("py_tensor.ui")) is not None:
            ui.forget(("input", number))

    async def react(self, number: int) -> str:
        """Call the function with this number, because a control has changed."""
        from py_tensor import ui

        self._rich.begin()
        return (await self._session.react(lambda: ui.run(number))).to_json()

    def query(self, method: str, arguments: str) -> str:
        """Answer a question about the session, between inputs, or draw: JSON in and out.

        Awaits and prints nothing. The answer is "null" if it fails or is unknown.
        """
        try:
            return json.dumps(self._answers[method](**json.loads(arguments)))
        except BaseException:  # the inspected object may raise anything; ignore late interrupts
            return "null"

    def _variables(self) -> dict[str, Any]:
        from . import variables

        return variables.listed(self._session.namespace)

    def resize(self, columns: int, width: float, height: float) -> None:
        """Set the line width of all later output, and the size of the console in CSS pixels."""
        import py_tensor as pt

        os.environ["COLUMNS"] = str(columns)  # for shutil.get_terminal_size, which argparse uses
        os.environ["TQDM_NCOLS"] = str(columns)  # tqdm does not query the terminal size here
        pt.set_printoptions(linewidth=columns)
        self._rich.drawings.resize(width, height)

    def refuse_packages(self) -> None:
        """Note that the policy of this site blocks a host of packages."""
        failures.packages.are_refused = True

    def begin(self) -> None:
        """Note that a command begins."""
        self._interrupts.begin()

    def interrupt(self) -> None:
        """Interrupt what the program waits for."""
        self._interrupts.told()


class Quit:
    """The object behind `exit` and `quit`."""

    def __repr__(self) -> str:
        return NOTHING_TO_EXIT

    def __call__(self, code: object = None) -> None:
        raise SystemExit(code)


_format_warning = warnings.formatwarning


def format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Return a warning's text, without file and line if it comes from the page's own code."""
    if filename.startswith(str(Path(__file__).parent)):
        return f"{category.__name__}: {message}\n"
    return _format_warning(message, category, filename, lineno, line)


def _read_selections() -> None:
    """Read the sizes of selections by masks, because the page shows the shapes of variables."""
    gather = sys.modules.get("py_tensor.ops.gather")
    if gather is not None:
        gather.read_selections()


def flush_output() -> None:
    """Send buffered output."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


async def measured_limits(ask: contenders.Ask, *, software: bool) -> dict[str, Any]:
    """Return the results of probes.js as `limits`; `problem` says why any is missing."""
    try:
        return {"limits": await ask("limits", "probe", {"software": software}, [])}
    except Exception as error:
        return {"limits": {"problem": str(error)}}


def hidden_folders() -> list[str]:
    """Return the folders whose frames are omitted from tracebacks."""
    specs = (importlib.util.find_spec(name) for name in ("py_tensor", "pyodide", "_pyodide"))
    found = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]
    return [str(folder) for folder in (*found, Path(__file__).parent)]


def asking(request: Request) -> Ask:
    """Return a function that reads a line for sys.stdin: it waits until the page sends one."""

    def ask() -> str:
        line = interruptible_run_sync(request()) if can_run_sync() else None
        if not isinstance(line, str):
            raise OSError("input() is not available here; assign the value instead")
        return line

    return ask


_interrupts: Interrupts
"""The interrupts of the only console."""


def run_sync_of_bridge(promise: Any) -> Any:
    """Pyodide's `run_sync`, for promises that the bridge rejects on an interrupt.

    An interrupt after the promise has settled, but before Python resumes, counts as well.
    """
    with _interrupts.waiting():
        try:
            return run_sync(promise)
        except ConversionError:
            # A promise is always convertible; an interrupt during the conversion raises this error.
            raise KeyboardInterrupt from None


def interruptible_run_sync(awaitable: Awaitable[Any]) -> Any:
    """`run_sync` on a task that Ctrl-C can cancel; Pyodide's own waits only for its promise.

    An exception of the task does not pass through JavaScript, where Pyodide would print it. An
    interrupt before the task begins or after it is done counts as well.
    """
    is_begun, result = False, None
    error: BaseException | None = None

    async def work() -> None:
        nonlocal is_begun, result, error
        is_begun = True
        try:
            result = await awaitable
        except BaseException as raised:
            error = raised

    try:
        with _interrupts.waiting() as wait:
            wait.awaited = task = asyncio.ensure_future(work())
            try:
                run_sync(task)
            except ConversionError:
                if is_begun:
                    raise
                # A task is always convertible; an interrupt during the conversion raises this.
                raise KeyboardInterrupt from None
            finally:
                if not is_begun:
                    task.cancel()
                    if asyncio.iscoroutine(awaitable):
                        awaitable.close()
            if error is not None:
                raise error
    finally:
        error = None  # break the reference cycle: its traceback refers to this frame
    return result
