"""One Python session: what a terminal's REPL does with an input, without the terminal.

An input is compiled with top-level `await`, run in the session's namespace, and answered by an
`Outcome`. Whatever the input does, the session goes on: every exception becomes text, interrupts
and `SystemExit` included. Nothing here needs a browser; the worker (worker.js) supplies what does.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import codecs
import codeop
import contextlib
import inspect
import io
import json
import linecache
import os
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Emit = Callable[[str, str], None]
"""Takes ("stdout" or "stderr", text) while an input runs."""

REMEMBERED_INPUTS = 1000
"""How many inputs tracebacks can still quote."""


@dataclass(frozen=True)
class Outcome:
    """How an input ended. Exactly one of `result` and `error` can be set."""

    ok: bool
    result: str | None = None
    """repr of the last expression's value; None when there is no value to show."""
    error: str | None = None
    """The traceback, the user's own lines alone."""
    full_error: str | None = None
    """The traceback with every frame, where `error` leaves some out."""
    interrupted: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Session:
    """Runs inputs one after another in one namespace.

    Parameters
    ----------
    namespace
        The globals of every input.
    hidden
        Folders whose frames a traceback leaves out: the library's own, and the machinery's.
    can_block
        Whether a blocking read works now (in Pyodide: `can_run_sync`). Where it does not, the value
        of the last expression is shown through its type's `__repr_async__`, if it has one.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        hidden: Sequence[str] = (),
        can_block: Callable[[], bool] = lambda: True,
    ) -> None:
        self.namespace = namespace
        self._hidden = tuple(os.path.join(folder, "") for folder in hidden)
        self._can_block = can_block
        self._inputs = 0
        self._running = False
        self._interrupted = False
        self._tasks_before: set[asyncio.Task[Any]] = set()

    # -- running ---------------------------------------------------------------------------------

    async def run(self, source: str) -> Outcome:
        """Run one input to its end. Never raises, except when interrupted in its last lines."""

        async def evaluate() -> Outcome:
            value = await self._evaluate(source)
            text = await self._display(value)
            return Outcome(True, result=text)

        return await self._guarded(evaluate)

    async def call(self, function: Callable[[], Any]) -> Outcome:
        """Await `function()` under the same guards: interruptible, errors as text."""

        async def evaluate() -> Outcome:
            await function()
            return Outcome(True)

        return await self._guarded(evaluate)

    def interrupt(self) -> None:
        """End what the running input awaits. (A loop is ended by a signal, not from here.)"""
        if self._running:
            self._interrupted = True
            for task in asyncio.all_tasks() - self._tasks_before:
                task.cancel()

    async def _guarded(self, evaluate: Callable[[], Any]) -> Outcome:
        self._tasks_before = asyncio.all_tasks()
        self._interrupted = False
        self._running = True
        try:
            return await evaluate()
        except BaseException as error:
            return self._failure(error)
        finally:
            self._running = False
            self._tasks_before = set()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # the input may have put anything there
                    stream.flush()

    async def _evaluate(self, source: str) -> Any:
        """Run the statements; the value is that of the last one, if it is an expression."""
        try:
            statements, expression = _compile(source, self._remember(source))
        except BaseException as error:
            error.__traceback__ = None  # it points at the input: no frame adds to that
            raise
        await self._execute(statements)
        return await self._execute(expression) if expression else None

    async def _execute(self, code: types.CodeType) -> Any:
        result = eval(code, self.namespace)
        if not code.co_flags & inspect.CO_COROUTINE:
            return result
        # A task of its own, which interrupt() can cancel.
        return await asyncio.ensure_future(result)

    async def _display(self, value: Any) -> str | None:
        """repr of a value that is not None, which `_` then holds."""
        if value is None:
            return None
        builtins._ = None  # type: ignore[attr-defined]
        in_a_task = getattr(type(value), "__repr_async__", None)
        if in_a_task is None or self._can_block():
            text = repr(value)
        else:
            text = await asyncio.ensure_future(in_a_task(value))
        builtins._ = value  # type: ignore[attr-defined]
        return text

    # -- is the input complete? ------------------------------------------------------------------

    def is_complete(self, source: str) -> bool:
        """Whether Enter should run this, rather than begin another line.

        As in a terminal, an indented block is ended by an empty line. What cannot become valid
        however it goes on counts as complete: running it says what is wrong.
        """
        compiler = codeop.CommandCompiler()
        compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for the run to show
            try:
                if compiler(source, "<input>", "exec") is None:
                    return False
                return not _is_open_block(source)
            except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
                return True

    # -- tracebacks ------------------------------------------------------------------------------

    def _remember(self, source: str) -> str:
        """Name the input, and let tracebacks and `inspect` find its lines."""
        self._inputs += 1
        linecache.cache.pop(_filename(self._inputs - REMEMBERED_INPUTS), None)
        filename = _filename(self._inputs)
        # No modification time: linecache.checkcache() then leaves the entry alone.
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        return filename

    def _failure(self, error: BaseException) -> Outcome:
        interrupted = self._interrupted and isinstance(error, asyncio.CancelledError)
        if interrupted:
            error = KeyboardInterrupt().with_traceback(error.__traceback__)
        if isinstance(error, SystemExit):  # as Python itself: no traceback
            code = "" if error.code is None else f": {error.code}"
            return Outcome(False, error=f"SystemExit{code}")
        try:
            short, full = self._format(error)
        except BaseException as second:  # a broken __str__, or no stack left
            short = f"{type(error).__name__} (its traceback failed with {type(second).__name__})\n"
            full = short
        return Outcome(
            False,
            error=short.rstrip("\n"),
            full_error=None if full == short else full.rstrip("\n"),
            interrupted=isinstance(error, KeyboardInterrupt),
        )

    def _format(self, error: BaseException) -> tuple[str, str]:
        full = traceback.TracebackException.from_exception(error)
        _drop_frames(full, _is_own_file)
        full_text = "".join(full.format())
        _drop_frames(full, self._is_hidden_file)
        return "".join(full.format()), full_text

    def _is_hidden_file(self, filename: str) -> bool:
        return filename.startswith(self._hidden)


def _filename(number: int) -> str:
    return f"<input {number}>"


def _compile(source: str, filename: str) -> tuple[types.CodeType, types.CodeType | None]:
    """The statements, and the last one apart if it is an expression.

    Both are compiled before either runs: a SyntaxError must not leave half an input done.
    """

    def code(tree: ast.Module | ast.Expression, mode: str) -> types.CodeType:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return compile(tree, filename, mode, flags=flags, dont_inherit=True)

    tree = ast.parse(source, filename)
    if not tree.body or not isinstance(last := tree.body[-1], ast.Expr):
        return code(tree, "exec"), None
    del tree.body[-1]
    return code(tree, "exec"), code(ast.Expression(last.value), "eval")


def _is_open_block(source: str) -> bool:
    """Whether the source ends inside an indented block that another line could continue."""
    statements = ast.parse(source).body
    if not statements:
        return False
    last = statements[-1]
    spans_lines = last.end_lineno != last.lineno
    reaches_the_end = last.end_lineno == len(source.splitlines()) and not source.endswith("\n")
    return spans_lines and reaches_the_end and hasattr(last, "body")


def _is_own_file(filename: str) -> bool:
    return filename == __file__


def _drop_frames(report: traceback.TracebackException, is_dropped: Callable[[str], bool]) -> None:
    """Take frames out of a traceback, its causes and its groups, in place."""
    pending, seen = [report], set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        kept = [frame for frame in part.stack or () if not is_dropped(frame.filename)]
        # Without a stack (a SyntaxError, mostly) there is no "Traceback" line either.
        part.stack = traceback.StackSummary.from_list(kept) if kept else None  # type: ignore[assignment]
        pending.extend(p for p in (part.__cause__, part.__context__) if p is not None)
        pending.extend(part.exceptions or ())


# -- output --------------------------------------------------------------------------------------


class _Pipe(io.RawIOBase):
    """Hands what is written to it to `emit` as text."""

    def __init__(self, name: str, emit: Emit) -> None:
        self._name = name
        self._emit = emit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        chunk = bytes(data)
        if text := self._decoder.decode(chunk):
            self._emit(self._name, text)
        return len(chunk)


def output_stream(name: str, emit: Emit) -> io.TextIOWrapper:
    """A replacement for sys.stdout or sys.stderr: buffered by lines, as on a terminal."""
    buffer = io.BufferedWriter(_Pipe(name, emit))
    return io.TextIOWrapper(buffer, "utf-8", errors="backslashreplace", line_buffering=True)


class _NoInput(io.TextIOBase):
    """sys.stdin where nothing can be typed in while Python runs."""

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        raise OSError("there is no input to read here: assign the value instead of asking for it")

    def read(self, size: int | None = -1, /) -> str:
        return self.readline()


def redirect_streams(emit: Emit) -> None:
    """Have Python's output go to `emit`, and its input say that there is none."""
    sys.stdout = sys.__stdout__ = output_stream("stdout", emit)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = output_stream("stderr", emit)  # type: ignore[misc]
    sys.stdin = sys.__stdin__ = _NoInput()  # type: ignore[assignment, misc]


# -- interrupts ----------------------------------------------------------------------------------


def rethrow_swallowed_interrupts() -> None:
    """See to it that a KeyboardInterrupt is not lost in a finalizer or a weakref callback.

    Python reports such an exception as unraisable and goes on. Here it is raised once more, in the
    code that the finalizer interrupted. (Sending the signal again is no cure: where a loop spends
    its time in finalizers, it lands in the next one.)
    """
    report = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            _interrupt_frames(sys._getframe(1))
        else:
            report(unraisable)

    sys.unraisablehook = hook


def _interrupt_frames(frame: types.FrameType | None) -> None:
    """Raise KeyboardInterrupt at this frame's next line, or on return in one of its callers."""
    if sys.gettrace() is not None:  # a debugger's; it would be lost
        return
    frames = []
    while frame is not None and frame.f_code.co_filename != __file__:
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
