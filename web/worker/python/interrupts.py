"""When an interrupt takes effect: at once, unless it would be lost, or leave something half done.

Where no program runs (in the event loop's code, in the session's) it is noted, and raised at the
end of what the program waits for.

A NumPy whose import was broken off cannot be imported again: its C modules load once per process.
So the import of a vendored package runs to its end, as does unpacking its wheel, and what waits for
the interrupt is the code behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Container, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from .failures import STANDARD_LIBRARY
from .session import Session, awaited_by

IMPORT_MACHINERY = "<frozen importlib"
"""How the file names of its frames begin."""

SESSION = str(Path(__file__).with_name("session.py"))

PAGE = {f"{__package__}.boot", __name__}
"""The modules that begin a program, and wait for it."""


@dataclass(eq=False)
class Wait:
    """A task that waits in the middle of a step.

    Cancelled, it would hear of it only at an `await` after that, if ever.
    """

    task: asyncio.Task[Any] | None
    awaited: asyncio.Task[Any] | None = None
    """What it waits for; None where that is a promise."""
    is_noted: bool = False
    """Whether an interrupt is to be raised at its end."""
    is_ended: bool = False
    """Whether what it waits for hears of an interrupt; that this was cancelled is one, then."""


class Interrupts:
    """Handles SIGINT, by which the page interrupts what runs.

    Parameters
    ----------
    whole
        Top-level modules. No import of them or of anything in them is broken off.
    end_promises
        Ends those of the page that Python waits for; with True, those of the bridge as well.
    """

    def __init__(self, whole: Container[str], end_promises: Callable[[bool], None]) -> None:
        self._whole = whole
        self._end_promises = end_promises
        self._is_owed = False  # a signal came, and the page's message of it did not yet
        self._is_ending = False  # so the message tells nothing new: what waits was told
        self._is_noted = False  # to be raised at the next chance: nobody has heard of it
        self._heard: set[asyncio.Task[Any] | None] = set()  # in which a signal was raised
        self._waits: set[Wait] = set()
        self._deferring = 0
        self._came = False

    def install(self, session: Session) -> None:
        """Handle those of what this session runs.

        Also see to it that a KeyboardInterrupt is not lost in a finalizer or weakref callback.

        Python reports such an exception as unraisable and goes on. Here it is raised once more, in
        the code that the finalizer interrupted. (Sending the signal again is no cure: where a loop
        spends its time in finalizers, it lands in the next one.)
        """
        self._session = session
        signal.signal(signal.SIGINT, self._handle)
        report = sys.unraisablehook

        def hook(unraisable: Any) -> None:
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                self._interrupt_frames(sys._getframe(1))
            else:
                report(unraisable)

        sys.unraisablehook = hook

    def begin(self) -> None:
        """A command begins; what interrupted the one before is over."""
        self._is_noted = self._is_owed = self._is_ending = self._came = False
        self._heard.clear()

    def check(self) -> None:
        """Raise one that was noted."""
        if self._is_noted:
            self._raised_in(self._session.runner)
            raise KeyboardInterrupt

    def _raised_in(self, task: asyncio.Task[Any] | None) -> None:
        """Note that it is raised in this task, which need not be the program's."""
        if task in self._program():
            self._is_noted = False
        if self._is_owed:
            self._heard.add(task)

    def told(self) -> None:
        """End what waits, as the page says.

        Not where the signal, which the page sends with it, has ended what waits.
        """
        is_new = not self._is_ending
        self._is_ending = self._is_owed = False
        if is_new and not self.defer():
            self._end_waits()
        self._heard.clear()

    def _end_waits(self) -> None:
        """End what the running input awaits. If the program will not hear of it, it is noted.

        What has waited in the middle of a step hears of it at the end of that, even if what it
        waited for has come. What earlier inputs left behind goes on, unless the program awaits it;
        so does what tidies up already, as the signal was raised in it.
        """
        runner, older = self._session.runner, self._session.tasks_before
        if runner is None:  # no input has begun
            self._is_noted = True
            return
        program, tidying = self._program(), self._reached(self._heard)
        waits = {
            wait
            for wait in self._waits
            if wait.task not in tidying and (wait.task in program or wait.task not in older)
        }
        others = self._waits - waits
        spared = {runner, *tidying, *(w.task for w in waits), *(w.awaited for w in others)}
        ended = self._session.interrupt(program, spared)
        for wait in waits:
            if wait.awaited is None or wait.awaited.done():
                wait.is_noted = True
            else:
                wait.is_ended |= not ended.isdisjoint(awaited_by(wait.awaited))
        noted = {wait.task for wait in waits if wait.is_noted}
        self._is_noted = program.isdisjoint({*ended, *noted, *self._heard})
        is_needed = any(wait.awaited is None and wait.task in tidying for wait in others)
        self._end_promises(bool(noted) or not is_needed)

    def _program(self) -> Set[asyncio.Future[Any] | None]:
        """The program's task, and all that it waits for."""
        return self._reached({self._session.runner, self._session.task})

    def _reached(self, tasks: Set[asyncio.Future[Any] | None]) -> Set[asyncio.Future[Any] | None]:
        """These, and what they wait for, by `await` or by a wait in the middle of a step."""
        found: set[asyncio.Future[Any] | None] = set()
        pending = list(tasks)
        while pending:
            future = pending.pop()
            if future is None or future in found:
                continue
            awaited = awaited_by(future)
            pending += [wait.awaited for wait in self._waits if wait.task in awaited]
            found |= awaited
        return found

    @contextlib.contextmanager
    def waiting(self) -> Iterator[Wait]:
        """The block waits for the program; what comes meanwhile is raised at its end."""
        wait = Wait(asyncio.current_task())
        try:
            self._waits.add(wait)
            yield wait
        except KeyboardInterrupt:
            self._raised_in(wait.task)
            raise
        except BaseException as error:
            is_told = wait.is_ended and isinstance(error, asyncio.CancelledError)
            if is_told or wait.is_noted:
                self._raised_in(wait.task)
                raise KeyboardInterrupt().with_traceback(error.__traceback__) from None
            raise
        finally:
            self._waits.discard(wait)
        if wait.is_noted or (self._is_noted and wait.task in self._program()):
            self._raised_in(wait.task)
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Let the block run to its end, and tasks that run while it waits; then deliver."""
        self._deferring += 1
        try:
            yield
        finally:
            self._deferring -= 1
            if self._came and not self._deferring:
                self._came = False
                self._deliver(sys._getframe())

    def defer(self) -> bool:
        """Keep an interrupt that came now for the end of the block that defers it, if one does."""
        self._came = self._deferring > 0
        return self._came

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._is_owed = True
        if not self.defer():
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        if self._is_between(frame):  # raised there, it would be lost, or leave a task behind
            self._end_waits()
            self._is_ending = self._is_owed and not self._is_noted
            return
        is_runners = any(map(_is_sessions, _frames(frame)))
        self._raised_in(self._session.runner if is_runners else asyncio.current_task())
        importer = self._importer(frame)
        if importer is None:
            raise KeyboardInterrupt
        self._interrupt_frames(importer)

    def _interrupt_frames(self, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt at the program's next instruction, in this frame or its callers.

        Not at its next line: where that is the line of the loop that goes round, CPython (3.12,
        3.13) passes the handler around the loop by. Where no frame is the program's, or a debugger
        traces, it is noted.
        """
        frames = list(_frames(frame))
        while frames and (_is_loops(frames[-1]) or _is_sessions(frames[-1])):
            frames.pop()
        frames = [frame for frame in frames if not _is_sessions(frame)]
        if not frames or sys.gettrace() is not None:
            self._is_noted = True
            return

        def interrupt(frame: FrameType, event: str, argument: object) -> Any:
            if event != "opcode":
                return interrupt
            sys.settrace(None)
            for traced in frames:
                traced.f_trace = None
                traced.f_trace_opcodes = False
            frames.clear()
            raise KeyboardInterrupt

        for traced in frames:
            traced.f_trace = interrupt
            traced.f_trace_opcodes = True
        sys.settrace(lambda *_: None)

    @staticmethod
    def _is_between(frame: FrameType | None) -> bool:
        """Whether this is code of asyncio's, Pyodide's or the session's that no program called."""
        return all(_is_loops(frame) or _is_sessions(frame) for frame in _frames(frame))

    def _importer(self, frame: FrameType | None) -> FrameType | None:
        """The frame that began an import which runs to its end; None where none is under way."""
        found = None
        for outer in _frames(frame):
            if _imported(outer).partition(".")[0] in self._whole:
                found = outer
        while found is not None and found.f_code.co_filename.startswith(IMPORT_MACHINERY):
            found = found.f_back
        return found


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_sessions(frame: FrameType) -> bool:
    return frame.f_code.co_filename == SESSION


def _is_loops(frame: FrameType) -> bool:
    """Whether it is of code that runs by itself while a program waits: asyncio's, Pyodide's."""
    if frame.f_code.co_filename.startswith(STANDARD_LIBRARY):
        return True
    return frame.f_globals.get("__name__") in PAGE


def _imported(frame: FrameType) -> str:
    """The module whose import this frame is; "" for other frames."""
    code = frame.f_code
    if code.co_name == "_find_and_load" and code.co_filename.startswith(IMPORT_MACHINERY):
        return str(frame.f_locals["name"])
    return ""
