"""One Python session: a REPL without the terminal.

An input is compiled with top-level `await`, run in the session's namespace, and answered with an
`Outcome`. The session survives whatever the input does: every exception becomes text, including
interrupts and `SystemExit`. Nothing here needs a browser; the worker (worker.js) supplies the rest.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import codecs
import contextlib
import inspect
import io
import json
import linecache
import os
import signal
import sys
import traceback
import types
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from . import magics
from .failures import STANDARD_LIBRARY, Failure, clarify, describe, input_number

Emit = Callable[[str, str], None]
"""Takes ("stdout" or "stderr", text) while an input runs."""

Ask = Callable[[], str]
"""Waits for the user to type a line, and returns it with its newline; "" at the end of input."""

REMEMBERED_INPUTS = 1000
"""The number of inputs that tracebacks can still quote."""

NOTHING_TO_EXIT = "nothing to exit; reload the page to restart Python, or close the tab"


@dataclass(frozen=True)
class Outcome:
    """How an input ended. At most one of `result` and `error` is set."""

    ok: bool
    result: str | None = None
    """The repr of the last expression's value; None if there is no value to show."""
    error: str | None = None
    """The traceback, with only the user's own lines."""
    full_error: str | None = None
    """The traceback with every frame, if `error` omits some."""
    failure: Failure | None = None
    """`error` as data; None if it is not a traceback."""
    interrupted: bool = False
    rich: dict[str, Any] | None = None
    """The bundle that the page shows with, or instead of, `result`; see rich.py."""
    help: dict[str, Any] | None = None
    """The content of the help panel; see inspection.py."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Builtins:
    """Protects Python's builtins, which the page and the standard library need, from inputs.

    A builtin that an input replaces stays replaced while inputs run. One that an input deletes is
    restored after that input.
    """

    def __init__(self) -> None:
        self._names: dict[str, Any] = builtins.__dict__
        self._own = {name: value for name, value in self._names.items() if name != "_"}
        self._replaced: dict[str, Any] = {}
        self._deleted: list[str] = []

    def give(self) -> None:
        """Install the program's version of the builtins, before its code runs."""
        self._names.update(self._replaced)
        for name in self._deleted:
            del self._names[name]
        self._replaced, self._deleted = {}, []

    def take(self) -> None:
        """Restore the original builtins. Between `give` and `take` the session must call none."""
        for name, value in self._own.items():
            if name not in self._names:
                self._deleted.append(name)
                self._names[name] = value
            elif self._names[name] is not value:
                self._replaced[name] = self._names[name]
                self._names[name] = value

    def news(self) -> str:
        """Return a message about the builtins that the input deleted, if any; called at its end."""
        deleted, self._deleted = self._deleted, []
        if not deleted:
            return ""
        named = ", ".join([*deleted[:3], *(["..."] if len(deleted) > 3 else [])])
        return f"Deleted from builtins, and put back for the next input: {named}\n"


class Session:
    """Runs inputs one after another in one namespace.

    Parameters
    ----------
    namespace
        The globals of every input.
    hidden
        Folders whose frames tracebacks omit: those of the library, of Pyodide and of the page.
    can_block
        Whether a blocking read works now (in Pyodide: `can_run_sync`). If not, the value of the
        last expression is shown through its type's `__repr_async__`, if it has one.
    prepare
        Awaited with each input before it runs. An interrupt does not cancel it.
    describe
        Returns the bundle to show with the repr of the last expression's value, or None.
    is_interrupted
        Returns whether an interrupt arrived while no code of the input was running. It must be a
        Python function that calls no builtins: Python handles signals where it begins, and then
        none until the program begins.
    check
        Raises KeyboardInterrupt if `is_interrupted()`.
    finish
        Called at the end of an input that did not fail.

    Set `sys.displayhook` to its `display`.

    Attributes
    ----------
    runner : asyncio.Task or None
        The task that runs the input.
    task : asyncio.Future or None
        The task that the input awaits, if any.
    tasks_before : set of asyncio.Task
        The tasks that existed when the input began.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        hidden: Sequence[str] = (),
        can_block: Callable[[], bool] = lambda: True,
        prepare: Callable[[str], Awaitable[None]] | None = None,
        describe: Callable[[Any], dict[str, Any] | None] = lambda value: None,
        is_interrupted: Callable[[], bool] = lambda: False,
        check: Callable[[], None] = lambda: None,
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        self.namespace = namespace
        self._hidden = tuple(os.path.join(folder, "") for folder in hidden)
        self.can_block = can_block
        self._prepare = prepare
        self._describe = describe
        self._is_interrupted = is_interrupted
        self._check = check
        self._finish = finish
        self._builtins = Builtins()
        self._inputs = 0
        self._shown: str | None = None
        self._rich: dict[str, Any] | None = None
        self._unread: Any = None
        self._unread_at: tuple[types.FrameType, int, int] | None = None
        self._running = False
        self._interrupted = False
        self.runner: asyncio.Task[Any] | None = None
        self.task: asyncio.Future[Any] | None = None
        self.tasks_before: set[asyncio.Task[Any]] = set()

    # -- running ---------------------------------------------------------------------------------

    async def run(self, source: str) -> Outcome:
        """Run one input to its end. Never raises, unless interrupted in its own last lines."""

        async def evaluate() -> Outcome:
            self._shown = self._rich = self._unread = self._unread_at = None
            if self._prepare is not None:
                await self._prepare(source)
            await self._evaluate(source)
            if self._unread is not None:
                await self._display_async(self._unread)
            return Outcome(True, result=self._shown, rich=self._rich)

        return await self._guarded(evaluate)

    async def call(self, function: Callable[[], Any]) -> Outcome:
        """Await `function()` with the same guards as `run`: interruptible, errors as text."""

        async def evaluate() -> Outcome:
            await self.task_of(function())
            return Outcome(True)

        return await self._guarded(evaluate)

    async def react(self, function: Callable[[], Awaitable[Any]]) -> Outcome:
        """Await `function()`, which calls code of the program, as if it were an input."""

        async def evaluate() -> Outcome:
            task = self.task_of(function())
            self._builtins.give()
            try:
                await task
            finally:
                self._builtins.take()
            return Outcome(True)

        return await self._guarded(evaluate)

    def interrupt(
        self, program: Set[asyncio.Future[Any] | None], spared: Set[asyncio.Future[Any] | None]
    ) -> Set[asyncio.Task[Any]]:
        """Cancel the tasks that the running input started or awaits, except the spared ones.

        If tasks await each other, only the innermost is cancelled, because the exception propagates
        to the others. A task that awaits a spared one is not cancelled either. (A loop is ended by
        a signal, not here.)

        Returns the cancelled tasks; each receives a CancelledError.
        """
        if not self._running:
            return frozenset()
        self._interrupted = True
        tasks = {t for t in asyncio.all_tasks() if t in program or t not in self.tasks_before}
        others = tasks | spared
        ended = {t for t in tasks - spared if others.isdisjoint(awaited_by(t) - {t})}
        for task in ended:
            task.cancel()
        return ended

    def task_of(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        """Start `work` as a task that `interrupt` can cancel."""
        self.task = asyncio.ensure_future(work)
        try:
            self._check()
        except KeyboardInterrupt:
            self.task.cancel()  # the interrupt arrived while the task was being created
            raise
        return self.task

    async def _guarded(self, evaluate: Callable[[], Any]) -> Outcome:
        self.runner = asyncio.current_task()
        self.tasks_before = asyncio.all_tasks()
        self._interrupted = False
        self._running = True
        try:
            self._builtins.take()  # in case an interrupt at the end of the last input prevented it
            self._check()
            outcome = await evaluate()
            self._finish()
            return outcome
        except BaseException as error:
            return self._failure(error)
        finally:
            self._running = False
            self.runner = self.task = None
            self.tasks_before = set()
            with contextlib.suppress(Exception):  # the input may have replaced the stream
                sys.stderr.write(self._builtins.news())
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()

    def display(self, value: Any) -> None:
        """Show the repr of a value and assign it to `_`, unless it is None.

        The last expression calls this from its own frame, so that the traceback of an error in the
        repr includes the input's line.
        """
        self._builtins.take()
        try:
            if value is not None:
                self._display(value, sys._getframe(1))
        finally:
            self._builtins.give()

    def _display(self, value: Any, caller: types.FrameType) -> None:
        builtins._ = None  # type: ignore[attr-defined]
        if hasattr(type(value), "__repr_async__") and not self.can_block():
            self._unread = value
            self._unread_at = caller, caller.f_lasti, caller.f_lineno
            return
        self._shown = repr(value)
        self._rich = self._describe(value)
        builtins._ = value  # type: ignore[attr-defined]

    async def _display_async(self, value: Any) -> None:
        try:
            self._shown = await self.task_of(value.__repr_async__())
        except BaseException as error:
            if self._unread_at:  # add the expression's frame, which has already returned
                error.__traceback__ = types.TracebackType(error.__traceback__, *self._unread_at)
            raise
        self._rich = self._describe(value)
        builtins._ = value  # type: ignore[attr-defined]

    async def _evaluate(self, source: str) -> None:
        """Run the parts of an input: plain code, and code with a magic."""
        filename = self._remember(source)
        try:
            parts = magics.split(source, filename)
            # Compile all parts before any runs: a SyntaxError must not leave an input half run.
            codes = [_compile(part.tree, filename) for part in parts]
        except BaseException as error:
            error.__traceback__ = None  # the error itself points at the input
            raise
        for part, code in zip(parts, codes, strict=True):
            if part.magic:
                await magics.MAGICS[part.magic](self, part, filename)
            else:
                await self._execute(code)

    async def execute(self, tree: ast.Module, filename: str) -> None:
        """Run the statements; display the last one's value if it is an expression."""
        await self._execute(_compile(tree, filename))

    async def _execute(self, codes: Sequence[types.CodeType]) -> None:
        evaluate = eval
        for code in codes:
            task = None
            if code.co_flags & inspect.CO_COROUTINE:
                task = self.task_of(eval(code, self.namespace))
            self._builtins.give()
            try:
                if task is not None:
                    await task
                elif not self._is_interrupted():  # no signal is handled from here to the program
                    evaluate(code, self.namespace)
            finally:
                self._builtins.take()
            self._check()

    # -- tracebacks ------------------------------------------------------------------------------

    def _remember(self, source: str) -> str:
        """Give the input a file name under which tracebacks and `inspect` find its lines."""
        self._inputs += 1
        linecache.cache.pop(_filename(self._inputs - REMEMBERED_INPUTS), None)
        filename = _filename(self._inputs)
        # Without a modification time, linecache.checkcache() keeps the entry.
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        return filename

    def _failure(self, error: BaseException) -> Outcome:
        error = _as_raised(error)
        interrupted = self._interrupted and isinstance(error, asyncio.CancelledError)
        if interrupted:
            error = KeyboardInterrupt().with_traceback(error.__traceback__)
        if isinstance(error, SystemExit):  # no traceback, as in Python itself
            reason = NOTHING_TO_EXIT if error.code is None else error.code
            return Outcome(False, error=f"SystemExit: {reason}")
        failure = None
        try:
            with _uninterrupted() if isinstance(error, KeyboardInterrupt) else nullcontext():
                try:
                    short, full, failure = self._format(error)
                except KeyboardInterrupt:
                    if not isinstance(error, KeyboardInterrupt):
                        raise
                    short, full, failure = self._format(error)  # another one came just before
        except BaseException as second:  # a broken __str__, or a stack overflow
            short = f"{type(error).__name__} (its traceback failed with {type(second).__name__})\n"
            full = short
        return Outcome(
            False,
            error=short.rstrip("\n"),
            full_error=None if full == short else full.rstrip("\n"),
            failure=failure,
            interrupted=isinstance(error, KeyboardInterrupt),
        )

    def _format(self, error: BaseException) -> tuple[str, str, Failure]:
        """Return the user's traceback, the one with every frame, and the first one as data."""
        clarify(error)
        full = traceback.TracebackException.from_exception(error)
        _drop_frames(full, _is_own_file)
        full_text = "".join(full.format())
        _drop_frames(full, self._is_hidden_file)
        if isinstance(error, KeyboardInterrupt):
            _end_at_users_line(full)
        return "".join(full.format()), full_text, describe(full, error, self._inputs)

    def _is_hidden_file(self, filename: str) -> bool:
        return filename.startswith(self._hidden)


def awaited_by(task: asyncio.Future[Any]) -> Set[asyncio.Future[Any]]:
    """Return the task, what it awaits, what that awaits in turn, and so on."""
    found: set[asyncio.Future[Any]] = set()
    pending = [task]
    while pending:
        future = pending.pop()
        if future in found:
            continue
        found.add(future)
        pending.extend(getattr(future, "_children", ()))  # the futures of asyncio.gather()
        if (waiter := getattr(future, "_fut_waiter", None)) is not None:
            pending.append(waiter)
    return found


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore SIGINT: users may press Ctrl-C several times."""
    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _filename(number: int) -> str:
    return f"<input {number}>"


def _compile(tree: ast.Module, filename: str) -> Sequence[types.CodeType]:
    """Compile the statements; a last expression is compiled separately, to display its value."""

    def code(tree: ast.Module | ast.Interactive, mode: str) -> types.CodeType:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return compile(tree, filename, mode, flags=flags, dont_inherit=True)

    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return (code(tree, "exec"),)
    *statements, last = tree.body
    return code(ast.Module(statements, []), "exec"), code(ast.Interactive([last]), "single")


def _as_raised(error: BaseException) -> BaseException:
    """The StopIteration of an input, which Python has replaced in the session's own coroutine."""
    cause = error.__cause__
    if type(error) is not RuntimeError or not isinstance(cause, StopIteration):
        return error
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    is_of_input = any(input_number(frame.f_code.co_filename) is not None for frame in frames)
    return error if is_of_input else cause


def _is_own_file(filename: str) -> bool:
    return filename == __file__


def _drop_frames(report: traceback.TracebackException, is_dropped: Callable[[str], bool]) -> None:
    """Remove frames from a traceback, its causes and its groups, in place."""
    pending, seen = [report], set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        kept = [frame for frame in part.stack or () if not is_dropped(frame.filename)]
        # Without a stack (usually a SyntaxError) there is no "Traceback" line either.
        part.stack = traceback.StackSummary.from_list(kept) if kept else None  # type: ignore[assignment]
        pending.extend(p for p in (part.__cause__, part.__context__) if p is not None)
        pending.extend(part.exceptions or ())


def _end_at_users_line(report: traceback.TracebackException) -> None:
    """Remove the waiting code below the user's line from an interrupt's traceback, in place."""
    stack = list(report.stack or ())
    while stack and (stack[-1].filename.startswith(STANDARD_LIBRARY) or not stack[-1].line):
        stack.pop()  # generated code has no source line
    report.stack = traceback.StackSummary.from_list(stack) if stack else None  # type: ignore[assignment]
    report.__cause__ = report.__context__ = None


# -- streams -------------------------------------------------------------------------------------


class _Pipe(io.RawIOBase):
    """Passes the bytes written to it to `emit` as text."""

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
    """Return a replacement for sys.stdout or sys.stderr: line-buffered, as on a terminal."""
    buffer = io.BufferedWriter(_Pipe(name, emit))
    return io.TextIOWrapper(buffer, "utf-8", errors="backslashreplace", line_buffering=True)


class _Keyboard(io.RawIOBase):
    """Reads the lines that `ask` returns."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            sys.stdout.flush()  # show the prompt
            self._rest = self._ask().encode()
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


class _InputStream(io.TextIOWrapper):
    def close(self) -> None:
        """Stay open: a program may close sys.stdin, but the session needs it for later inputs."""


def redirect_streams(emit: Emit, ask: Ask) -> None:
    """Redirect Python's output to `emit`, and take its input from `ask`."""
    sys.stdout = sys.__stdout__ = output_stream("stdout", emit)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = output_stream("stderr", emit)  # type: ignore[misc]
    source = io.BufferedReader(_Keyboard(ask))
    sys.stdin = sys.__stdin__ = _InputStream(source, "utf-8")  # type: ignore[misc]
