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
from collections.abc import Container, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

IMPORT_MACHINERY = "<frozen importlib"
"""How the file names of its frames begin."""

SESSION = str(Path(__file__).with_name("session.py"))


class Interrupts:
    """Handles SIGINT, by which the page interrupts what runs.

    Parameters
    ----------
    whole
        Top-level modules. No import of them or of anything in them is broken off.
    """

    def __init__(self, whole: Container[str]) -> None:
        self._whole = whole
        self._holds = 0
        self._came = False

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
                _thread.interrupt_main()

    def hold(self) -> bool:
        """Keep an interrupt that came now for the end of the block that holds it, if one does."""
        self._came = self._holds > 0
        return self._came

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.hold():
            return
        importer = self._importer(frame)
        if importer is None:
            signal.default_int_handler(signum, frame)
        _interrupt_frames(importer)

    def _importer(self, frame: FrameType | None) -> FrameType | None:
        """The frame that began an import which runs to its end; None where none is under way."""
        found = None
        while frame is not None:
            if _imported(frame).partition(".")[0] in self._whole:
                found = frame
            frame = frame.f_back
        while found is not None and found.f_code.co_filename.startswith(IMPORT_MACHINERY):
            found = found.f_back
        return found


def _imported(frame: FrameType) -> str:
    """The module whose import this frame is; "" for other frames."""
    code = frame.f_code
    if code.co_name == "_find_and_load" and code.co_filename.startswith(IMPORT_MACHINERY):
        return str(frame.f_locals["name"])
    return ""


def _interrupt_frames(frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt at this frame's next line, or on return in one of its callers."""
    if sys.gettrace() is not None:  # a debugger's; it would be lost
        return
    frames: list[FrameType] = []
    while frame is not None and frame.f_code.co_filename != SESSION:
        frames.append(frame)
        frame = frame.f_back

    def interrupt(*_: object) -> None:
        sys.settrace(None)
        while frames:
            frames.pop().f_trace = None
        raise KeyboardInterrupt

    for traced in frames:
        traced.f_trace = interrupt
    if frames:
        sys.settrace(lambda *_: None)
