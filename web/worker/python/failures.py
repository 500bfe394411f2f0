"""An exception as data for the page: the message, and the relevant lines of the user's code.

It is made from the same `traceback.TracebackException` as the traceback's text, so the two agree.
Columns are those that Python records for each instruction (PEP 657). Nothing here needs a browser.
"""

from __future__ import annotations

import asyncio
import linecache
import os
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal

STANDARD_LIBRARY = (str(Path(asyncio.__file__).parents[1]) + os.sep, "<frozen ")
"""Prefixes of the file names of its frames."""

INPUT = re.compile(r"<input (\d+)>")
"""The file name of an input."""

LINES = 5
"""The most lines shown of a statement."""
CHARACTERS = 160
"""The most characters shown of the marked part of a line, and on either side of it."""
OUTERMOST, INNERMOST = 3, 5
"""The numbers of the user's frames kept at either end of a traceback."""
CHAIN = 4
"""The depth to which causes and nested groups are described."""
EXCEPTIONS = 10
"""The most exceptions shown of a group."""


@dataclass(frozen=True)
class Line:
    """A source line, split into the marked part and the text around it."""

    number: int
    before: str
    marked: str
    """The code at fault; empty if that is the whole statement."""
    after: str


@dataclass(frozen=True)
class Place:
    """One place in the user's code."""

    input: int | None
    """The number of the input; None for a file."""
    file: str
    function: str
    """"<module>" at the top level."""
    lines: tuple[Line, ...]
    """The statement, without its indentation."""
    repeated: int = 0
    """The number of further nested calls from the same place."""
    skipped: int = 0
    """The number of places omitted just before this one."""


@dataclass(frozen=True)
class Failure:
    """An exception, with the exceptions that led to it."""

    type: str
    message: str
    """Everything that Python says about it, including suggestions and notes."""
    input: int
    """The number of the input that failed."""
    places: tuple[Place, ...]
    """Places in the user's code, innermost last."""
    hides: bool
    """Whether the traceback has frames that are omitted here."""
    link: Literal["cause", "context"] | None = None
    """Whether `origin` is the cause (`raise ... from`), or was being handled."""
    origin: Failure | None = None
    exceptions: tuple[Failure, ...] = ()
    """The members of a group."""


UNFETCHED = re.compile(r"Can't fetch (?:metadata for|wheel from) '([^']*)'")
"""The start of micropip's message about a package that no index, or no host, has."""

INSTALLER = re.compile(r"[!%]?(pip|conda|mamba)\s+\w")
"""The start of a shell command that installs a package."""

SHELL = re.compile(
    r"\s*(?:[\w, ]+=\s*)?!(?!=)|\s*%%?(?:bash|sh|system|sx|ls|ll|dir|cd|pwd|cat|mkdir|rm|cp|mv)\b"
)
"""The start of any other shell command."""

NO_SHELL = "no shell here; os.listdir() lists files"

NOT_ALLOWED = (
    "to install packages of PyPI, turn on “Packages from the internet” in the status panel (top"
    " right); a wheel of pure Python can be dropped on the page"
)
ALLOWED = (
    "install packages of PyPI and of Pyodide's distribution with"
    " `import micropip; await micropip.install(name)`"
)
NOT_FOUND = "neither Python's library, the editor's files nor this site have it"
UNREACHABLE = "PyPI does not have it, or PyPI cannot be reached"
REFUSED = "the server of this site does not allow it (by its Content-Security-Policy)"


@dataclass
class Packages:
    """Whether Python may fetch packages from the internet."""

    are_allowed: bool = False
    """Whether the user allows packages."""
    are_refused: bool = False
    """Whether the policy of the site allows them."""

    @property
    def words(self) -> str:
        """How to install packages."""
        return ALLOWED if self.are_allowed else NOT_ALLOWED

    def reason(self, otherwise: str) -> str:
        """Return why a download failed: `otherwise` if packages are allowed."""
        if self.are_refused:
            return REFUSED
        return otherwise if self.are_allowed else NOT_ALLOWED


packages = Packages()


def clarify(error: BaseException) -> None:
    """Add the available alternatives to an error about a package, a parameter or `np`, in place."""
    if type(error) is TypeError:
        from py_tensor.tools.hints import clarify_arguments

        clarify_arguments(error)
    elif type(error) is NameError and error.name in ("np", "numpy"):
        _clarify_numpy(error, error.name)
    elif type(error) is ValueError and (found := UNFETCHED.match(str(error))):
        reason = packages.reason(UNREACHABLE)
        error.args = (f"micropip: '{found[1]}' cannot be installed: {reason}",)
    elif isinstance(error, OSError) and _is_download_of_micropip(error):
        error.args = (f"micropip: {error}: {packages.reason('check the network connection')}",)
    elif isinstance(error, ImportError | SyntaxError) and _lacks_package(error):
        found = f": {NOT_FOUND}" if isinstance(error, ImportError) else ""
        error.msg = f"{error.msg}{found}; {packages.words}"
    elif isinstance(error, SyntaxError) and SHELL.match(error.text or ""):
        error.msg = NO_SHELL


def _clarify_numpy(error: NameError, name: str) -> None:
    """Say how to import NumPy, and name the library's equivalent of the requested name."""
    import py_tensor

    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = linecache.getline(frame.filename, frame.lineno or 0)
    found = re.match(r"\s*\.\s*(\w+)((?:\.\w+)*)", text[_column(text, frame.end_colno) or 0 :])
    numpy = "numpy" if name == "numpy" else "numpy as np"
    ways = f"`import {numpy}` (arrays) or `import py_tensor as {name}` (tensors)"
    own = f", or use pt.{found[1]}{found[2]}" if found and found[1] in dir(py_tensor) else ""
    error.args = (f"name '{name}' is not defined; first {ways}{own}",)
    error.name = None  # so that Python does not suggest a name that is spelled alike


def _is_download_of_micropip(error: OSError) -> bool:
    """Return whether a download by micropip failed; loader.py handles those by Pyodide."""
    if isinstance(error, ConnectionError):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    return any("/site-packages/micropip/" in frame.f_code.co_filename for frame, _ in frames)


def _lacks_package(error: ImportError | SyntaxError) -> bool:
    """Return whether a package is missing, or the input is a shell command to install one."""
    if isinstance(error, ImportError):
        is_whole = "." not in (error.name or "")
        return is_whole and str(error) == f"No module named '{error.name}'"
    text = (error.text or "").lstrip()
    return INSTALLER.match(text) is not None and packages.words not in error.msg


def describe(
    report: traceback.TracebackException, error: BaseException, number: int, depth: int = CHAIN
) -> Failure:
    """Convert a traceback to data.

    Parameters
    ----------
    report
        The traceback of `error`, with the frames to consider.
    number
        The number of the input that failed.
    depth
        How deep to follow causes and groups.
    """
    stack = list(report.stack or ())
    places = list(_places(stack))
    hides = len(places) < len(stack)
    if isinstance(error, SyntaxError) and (place := _syntax_place(report)):
        places.append(place)
    skipped = len(places) - OUTERMOST - INNERMOST
    if skipped > 0:
        places[OUTERMOST:-INNERMOST] = []
        places[OUTERMOST] = replace(places[OUTERMOST], skipped=skipped)
    link, origin = _origin(report, error) if depth else (None, None)
    inner = report.exceptions if depth and isinstance(error, BaseExceptionGroup) else None
    return Failure(
        type=type(error).__qualname__,
        message=_message(report, error),
        input=number,
        places=tuple(places),
        hides=hides or skipped > 0,
        link=link,
        origin=describe(*origin, number, depth - 1) if origin else None,
        exceptions=tuple(
            describe(part, each, number, depth - 1)
            for part, each in zip((inner or ())[:EXCEPTIONS], _members(error), strict=False)
        ),
    )


def _origin(
    report: traceback.TracebackException, error: BaseException
) -> tuple[
    Literal["cause", "context"] | None, tuple[traceback.TracebackException, BaseException] | None
]:
    """Return the cause, or else the exception being handled, by the rules of Python's traceback."""
    if report.__cause__ is not None and error.__cause__ is not None:
        return "cause", (report.__cause__, error.__cause__)
    shown = report.__context__ is not None and not report.__suppress_context__
    if shown and report.__context__ is not None and error.__context__ is not None:
        return "context", (report.__context__, error.__context__)
    return None, None


def _members(error: BaseException) -> tuple[BaseException, ...]:
    return error.exceptions if isinstance(error, BaseExceptionGroup) else ()


def _message(report: traceback.TracebackException, error: BaseException) -> str:
    """Return the text after the exception's name."""
    if isinstance(error, SyntaxError):
        notes = getattr(report, "__notes__", None) or ()
        return "\n".join([report.msg or "invalid syntax", *map(str, notes)])
    text = "".join(report.format_exception_only()).rstrip("\n")
    module = type(error).__module__
    name = type(error).__qualname__
    name = name if module in ("builtins", "__main__") else f"{module}.{name}"
    return text.removeprefix(name).removeprefix(":").strip("\n").removeprefix(" ")


# -- places --------------------------------------------------------------------------------------


def input_number(filename: str) -> int | None:
    """Return the number of the input with this file name; None for other files."""
    found = INPUT.fullmatch(filename)
    return int(found[1]) if found else None


def _places(stack: list[traceback.FrameSummary]) -> Iterator[Place]:
    """Yield the places in the user's code, one for each run of equal frames."""
    own = (frame for frame in stack if _is_users(frame))
    for _, alike in groupby(own, lambda frame: (frame.filename, frame.lineno, frame.name)):
        frame, *others = alike
        yield Place(
            input=input_number(frame.filename),
            file=frame.filename,
            function=frame.name,
            lines=_lines(frame),
            repeated=len(others),
        )


def _is_users(frame: traceback.FrameSummary) -> bool:
    if input_number(frame.filename) is not None:
        return True
    if frame.filename.startswith(STANDARD_LIBRARY) or "site-packages" in frame.filename:
        return False
    return bool(frame.line)  # generated code has no source line


def _lines(frame: traceback.FrameSummary) -> tuple[Line, ...]:
    """Return the statement's lines, with the range that Python blames."""
    first = frame.lineno or 1
    last = max(first, frame.end_lineno or first)
    texts = [linecache.getline(frame.filename, n).rstrip() for n in range(first, last + 1)]
    if not any(texts):
        return ()
    begin = _column(texts[0], frame.colno)
    end = _column(texts[-1], frame.end_colno)
    return _marked(first, texts, begin, end)


def _syntax_place(report: traceback.TracebackException) -> Place | None:
    """Return the place of a syntax error."""
    text, filename = report.text, report.filename or ""
    if not text or report.lineno is None or not report.offset:
        return None
    first = int(report.lineno)
    whole = linecache.getline(filename, first).rstrip() or text.rstrip()
    begin = report.offset - 1
    end = (report.end_offset or 0) - 1
    on_one_line = getattr(report, "end_lineno", None) in (None, report.lineno)
    end = end if on_one_line and end > begin else begin + 1
    # Pad the line: the error may be past its end.
    lines = _marked(first, [whole.ljust(end)], begin, end, even_if_all=True)
    return Place(input_number(filename), filename, "<module>", lines)


def _column(text: str, offset: int | None) -> int | None:
    """Convert an offset in UTF-8 bytes to one in characters."""
    if offset is None:
        return None
    return len(text.encode()[:offset].decode(errors="replace"))


def _marked(
    first: int, texts: list[str], begin: int | None, end: int | None, even_if_all: bool = False
) -> tuple[Line, ...]:
    """Split lines at the columns of the marked code, and shorten them for display.

    `begin` is a column of the first line, `end` one of the last; None marks nothing.
    """
    indents = [len(text) - len(text.lstrip()) for text in texts if text]
    common = min(indents, default=0)
    lines: list[Line] = []
    for i, text in enumerate(texts[:LINES]):
        start = begin if i == 0 else len(text) - len(text.lstrip())
        stop = end if i == len(texts) - 1 else len(text)
        if start is None or stop is None:
            start = stop = len(text)
        at = min(max(start, common), len(text))
        to = min(max(stop, at), len(text))
        before, marked, after = text[common:at], text[at:to], text[to:]
        lines.append(Line(first + i, _tail(before), _head(marked), _head(after)))
    if not even_if_all and not any(line.before.strip() or line.after.strip() for line in lines):
        whole = [
            Line(line.number, line.before + line.marked + line.after, "", "") for line in lines
        ]
        return tuple(whole)
    return tuple(lines)


def _head(text: str) -> str:
    return text if len(text) <= CHARACTERS else text[:CHARACTERS] + "…"


def _tail(text: str) -> str:
    return text if len(text) <= CHARACTERS else "…" + text[-CHARACTERS:]
