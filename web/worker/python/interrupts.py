"""Delivers interrupts: at once, unless one would be lost or leave something half done.

While no code of the program runs (in the event loop's code, or the session's), an interrupt is
recorded, and raised at the end of what the program waits for.

NumPy cannot be imported again after an interrupted import: its C modules load once per process. So
the import of a vendored package always completes, as does unpacking its wheel; the interrupt is
raised in the code that imported it.
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
"""The prefix of the file names of its frames."""

SESSION = str(Path(__file__).with_name("session.py"))

PAGE = {f"{__package__}.boot", __name__}
"""The modules that start a program and wait for it."""


@dataclass(eq=False)
class Wait:
    """A task that blocks in the middle of a step.

    Cancelling the task would take effect only at its next `await`, if at all.
    """

    task: asyncio.Task[Any] | None
    awaited: asyncio.Task[Any] | None = None
    """The task it waits for; None if it waits for a promise."""
    is_noted: bool = False
    """Whether to raise an interrupt when the wait ends."""
    is_ended: bool = False
    """Whether an interrupt cancelled `awaited`; a CancelledError from it is then the interrupt."""


class Interrupts:
    """Handles SIGINT, the signal by which the page interrupts a program.

    An interrupt arrives twice: as the signal, and as a message, which `told` handles.

    Parameters
    ----------
    whole
        Top-level modules. Imports of these and of their submodules are never interrupted.
    end_promises
        Rejects the page's promises that Python waits for; with True, also those of the bridge.
    """

    def __init__(self, whole: Container[str], end_promises: Callable[[bool], None]) -> None:
        self._whole = whole
        self._end_promises = end_promises
        self._is_owed = False  # a signal has arrived, but not yet the page's message about it
        self._is_ending = False  # the signal has ended the waits: the message adds nothing
        self._is_noted = False  # an interrupt is recorded, to be raised at the next chance
        self._heard: set[asyncio.Task[Any] | None] = set()  # the tasks in which it was raised
        self._waits: set[Wait] = set()
        self._deferring = 0
        self._came = False

    def install(self, session: Session) -> None:
        """Handle interrupts of this session's inputs.

        Also ensure that a KeyboardInterrupt is not lost in a finalizer or weakref callback. Python
        reports such an exception as unraisable and continues. Here it is raised again, in the code
        that the finalizer interrupted. (Sending the signal again would not help: in a loop that
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
        """Note that a command begins, and forget interrupts of the one before."""
        self._is_noted = self._is_owed = self._is_ending = self._came = False
        self._heard.clear()

    def has_recorded(self) -> bool:
        """Return whether an interrupt is recorded."""
        return self._is_noted

    def check(self) -> None:
        """Raise a recorded interrupt."""
        if self._is_noted:
            self._raised_in(self._session.runner)
            raise KeyboardInterrupt

    def _raised_in(self, task: asyncio.Task[Any] | None) -> None:
        """Record that the interrupt is raised in this task, which may not be the program's."""
        if task in self._program():
            self._is_noted = False
        if self._is_owed:
            self._heard.add(task)

    def told(self) -> None:
        """Handle the page's message: end the waits, unless the signal that came with it has."""
        is_new = not self._is_ending
        self._is_ending = self._is_owed = False
        if is_new and not self.defer():
            self._end_waits()
        self._heard.clear()

    def _end_waits(self) -> None:
        """End what the running input awaits. If that does not reach the program, record it.

        A task that blocks in the middle of a step is interrupted when the wait ends, even if its
        result has arrived. Tasks left by earlier inputs continue, unless the program awaits them.
        So do tasks in which the signal was raised: they are already cleaning up.
        """
        runner, older = self._session.runner, self._session.tasks_before
        if runner is None:  # no input is running
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
        """Return the program's task, and everything it waits for."""
        return self._reached({self._session.runner, self._session.task})

    def _reached(self, tasks: Set[asyncio.Future[Any] | None]) -> Set[asyncio.Future[Any] | None]:
        """Return the tasks, and those that they await or wait for in the middle of a step."""
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
        """The block waits for the program; raise an interrupt that arrives meanwhile at its end."""
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
        """Defer interrupts of the block, and of tasks that run while it waits, to its end."""
        self._deferring += 1
        try:
            yield
        finally:
            self._deferring -= 1
            if self._came and not self._deferring:
                self._came = False
                self._deliver(sys._getframe())

    def defer(self) -> bool:
        """Defer an interrupt that has just arrived, if a block defers; return whether one does."""
        self._came = self._deferring > 0
        return self._came

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._is_owed = True
        if not self.defer():
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        if self._is_between(frame):  # raised here, it would be lost, or leave a task behind
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

        Not at its next line: if that line is the head of a loop, CPython (3.12, 3.13) skips an
        exception handler around the loop. If no frame belongs to the program, or a debugger is
        tracing, the interrupt is recorded.
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
        """Return whether this is code of asyncio, Pyodide or the session that no program called."""
        return all(_is_loops(frame) or _is_sessions(frame) for frame in _frames(frame))

    def _importer(self, frame: FrameType | None) -> FrameType | None:
        """Return the frame that began an import that must complete; None if there is none."""
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
    """Return whether the frame is of the standard library or the page's own modules."""
    if frame.f_code.co_filename.startswith(STANDARD_LIBRARY):
        return True
    return frame.f_globals.get("__name__") in PAGE


def _imported(frame: FrameType) -> str:
    """Return the module that this frame imports; "" for other frames."""
    code = frame.f_code
    if code.co_name == "_find_and_load" and code.co_filename.startswith(IMPORT_MACHINERY):
        return str(frame.f_locals["name"])
    return ""
