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
from collections.abc import Container, Iterator
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
    """What it waits for; None where that is a promise, or has not begun."""
    is_noted: bool = False
    """Whether an interrupt is to be raised at its end."""

    @property
    def is_over(self) -> bool:
        """Whether no task is left to hear of an interrupt in its place."""
        return self.awaited is None or self.awaited.done()


class Interrupts:
    """Handles SIGINT, by which the page interrupts what runs.

    Parameters
    ----------
    whole
        Top-level modules. No import of them or of anything in them is broken off.
    """

    def __init__(self, whole: Container[str]) -> None:
        self._whole = whole
        self._is_owed = False  # a signal came, and the page's message of it did not yet
        self._is_raised = False  # so the message tells nothing new
        self._is_ending = False  # what waits was told already
        self._is_noted = False  # to be raised at the next chance: nobody has heard of it
        self._waits: set[Wait] = set()
        self._ended: set[asyncio.Task[Any]] = set()
        self._holds = 0
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
        self._is_noted = self._is_owed = self._is_raised = self._is_ending = self._came = False
        self._waits.clear()
        self._ended.clear()

    def check(self) -> None:
        """Raise one that was noted."""
        if self._is_noted:
            self._raised()
            raise KeyboardInterrupt

    def _raised(self) -> None:
        """Note that it is raised in the program."""
        self._is_noted = False
        self._is_raised = self._is_owed

    def told(self) -> bool:
        """End what waits, as the page says; whether there was something to do.

        Not where the signal, which the page sends with it, was raised in the program: it may be
        tidying up.
        """
        raised, ending = self._is_raised, self._is_ending
        self._is_raised = self._is_ending = self._is_owed = False
        if raised or self.hold():
            return False
        if not ending:
            self._end_waits()
        return True

    def _end_waits(self) -> bool:
        """End what the program awaits; whether it will hear of it. If not, the interrupt is noted.

        What has waited in the middle of a step hears of it at the end of that, even if what it
        waited for has come.
        """
        ended = self._session.interrupt({wait.task for wait in self._waits})
        self._ended |= ended
        over = [wait for wait in self._waits if wait.is_over]
        for wait in over:
            wait.is_noted = True
        is_heard = bool(over) or not ended.isdisjoint(self._roots())
        self._is_noted = not is_heard
        return is_heard

    def _roots(self) -> set[asyncio.Future[Any] | None]:
        """The program's own task, and those for which it blocks: their code is the program's."""
        return {self._session.task, *(wait.awaited for wait in self._waits)}

    def _is_awaited(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether the program hears what is raised in this task."""
        return any(task in awaited_by(root) for root in self._roots() if root is not None)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[Wait]:
        """The block waits for the program; what comes meanwhile is raised at its end."""
        wait = Wait(asyncio.current_task())
        self._waits.add(wait)
        try:
            yield wait
        except KeyboardInterrupt:
            self._raised()
            raise
        except BaseException as error:
            is_ended = isinstance(error, asyncio.CancelledError) and wait.awaited in self._ended
            if is_ended or wait.is_noted:
                self._raised()
                raise KeyboardInterrupt().with_traceback(error.__traceback__) from None
            raise
        finally:
            self._waits.discard(wait)
        self._is_noted |= wait.is_noted
        self.check()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let the block run to its end, and tasks that run while it waits; then deliver."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if self._came and not self._holds:
                self._came = False
                self._deliver(sys._getframe())

    def hold(self) -> bool:
        """Keep an interrupt that came now for the end of the block that holds it, if one does."""
        self._came = self._holds > 0
        return self._came

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._is_owed = True
        if not self.hold():
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        if self._is_between(frame):  # raised there, it would be lost, or leave a task behind
            self._is_ending = self._end_waits() and self._is_owed
            return
        if self._is_awaited(asyncio.current_task()) or any(map(_is_sessions, _frames(frame))):
            self._raised()
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
