"""When an interrupt takes effect: at once, unless it would leave something half done for good.

A NumPy whose import was broken off cannot be imported again: its C modules load once per process.
So the import of a vendored package runs to its end, as does unpacking its wheel, and what waits for
the interrupt is the code behind it.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

IMPORT_MACHINERY = "<frozen importlib"
"""How the file names of its frames begin."""

SESSION = str(Path(__file__).with_name("session.py"))

EVENT_LOOP = {"asyncio", "pyodide", "_pyodide"}
"""The packages whose code runs by itself while the program waits."""
WAITS = f"{__package__}.boot"
"""The module whose code waits for the program."""


class Interrupts:
    """Handles SIGINT, by which the page interrupts what runs.

    Parameters
    ----------
    whole
        Top-level modules. No import of them or of anything in them is broken off.
    is_running
        Whether a program runs, or waits.

    Attributes
    ----------
    seen : int
        How many came while the program waited. A wait at whose end it is another number than at its
        beginning was interrupted, even where what it waited for has come.
    """

    def __init__(self, whole: Container[str], is_running: Callable[[], bool]) -> None:
        self._whole = whole
        self._is_running = is_running
        self._is_owed = False  # a signal came, and the page's message of it did not yet
        self._is_raised = False
        self._is_own = False
        self._holds = 0
        self._came = False
        self.seen = 0

    def install(self) -> None:
        """Also see to it that a KeyboardInterrupt is not lost in a finalizer or weakref callback.

        Python reports such an exception as unraisable and goes on. Here it is raised once more, in
        the code that the finalizer interrupted. (Sending the signal again is no cure: where a loop
        spends its time in finalizers, it lands in the next one.)
        """
        signal.signal(signal.SIGINT, self._handle)
        report = sys.unraisablehook

        def hook(unraisable: Any) -> None:
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                _interrupt_frames(sys._getframe(1))
            else:
                report(unraisable)

        sys.unraisablehook = hook

    def begin(self) -> None:
        """A command begins; what interrupted the one before is over."""
        self._is_owed = self._is_raised = False

    def raised(self) -> None:
        """Note that it is raised in the program: the page's message tells nothing new."""
        self._is_raised = self._is_owed

    def is_news(self) -> bool:
        """Whether an interrupt that the page tells of was not raised in the program already."""
        raised, self._is_raised, self._is_owed = self._is_raised, False, False
        return not raised

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let the block run to its end, and tasks that run while it waits; then deliver."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if self._came and not self._holds:
                self._came, self._is_own = False, True
                _thread.interrupt_main()

    def hold(self) -> bool:
        """Keep an interrupt that came now for the end of the block that holds it, if one does."""
        self._came = self._holds > 0
        return self._came

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._is_owed = self._is_owed or not self._is_own
        self._is_own = False
        if self.hold():
            return
        frames = list(_frames(frame))
        if any(f.f_code.co_filename == SESSION for f in frames):
            self.raised()
        elif all(map(_is_loops, frames)) and self._is_running():  # raised there, it would be lost
            self.seen += 1
            return
        importer = self._importer(frame)
        if importer is None:
            signal.default_int_handler(signum, frame)
        _interrupt_frames(importer)

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


def _is_loops(frame: FrameType) -> bool:
    """Whether it is of the event loop's own code."""
    module = str(frame.f_globals.get("__name__"))
    return module == WAITS or module.partition(".")[0] in EVENT_LOOP


def _imported(frame: FrameType) -> str:
    """The module whose import this frame is; "" for other frames."""
    code = frame.f_code
    if code.co_name == "_find_and_load" and code.co_filename.startswith(IMPORT_MACHINERY):
        return str(frame.f_locals["name"])
    return ""


def _interrupt_frames(frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt at this frame's next instruction, or in one of its callers.

    Not at its next line: where that is the line of the loop that goes round, CPython (3.12, 3.13)
    passes the handler around the loop by.
    """
    if sys.gettrace() is not None:  # a debugger's; it would be lost
        return
    frames: list[FrameType] = []
    while frame is not None and frame.f_code.co_filename != SESSION:
        frames.append(frame)
        frame = frame.f_back

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
    if frames:
        sys.settrace(lambda *_: None)
