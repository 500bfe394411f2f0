"""`%time`, `%timeit`, `%profile` and other magics: lines that begin with a percent sign.

Before an input is compiled, it is split into plain Python and the code of each magic. Each part
keeps its lines and columns, so that a traceback shows what the user typed. `%name` applies to the
statement that follows it, which may span several lines; `%%name`, on a first line, to the rest of
the input.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import re
import time
import types
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import py_tensor as pt
from py_tensor.ir.node import Node
from py_tensor.runtime.registry import devices

MIN_SECONDS = 0.2
"""The minimum duration of a run of %timeit, which sets the number of loops."""
RUNS = 7
MAX_NODES, MAX_BYTES = 256, 1 << 26
"""%timeit computes pending results of its loops together once there are this many."""

OF_JUPYTER = ("matplotlib", "config", "load_ext", "autoreload")
"""Magics that configure Jupyter; their arguments are not code."""

_MAGIC = re.compile(r"(%%?)([A-Za-z]\w*)[ \t]*")
_OPTIONS = re.compile(r"-([nr])[ \t]*(\d+)[ \t]*")


@dataclass(frozen=True)
class Part:
    """Some lines of an input."""

    tree: ast.Module
    magic: str = ""
    """The magic that they belong to; "" for plain Python."""
    options: tuple[tuple[str, int], ...] = ()


class Runner(Protocol):
    """The part of the session that magics use."""

    namespace: dict[str, Any]

    async def execute(self, tree: ast.Module, filename: str) -> None:
        """Run the tree; if its last statement is an expression, display its value."""
        ...

    def task_of(self, work: Awaitable[Any]) -> Awaitable[Any]:
        """Start `work` as a task that an interrupt can cancel."""
        ...

    def can_block(self) -> bool:
        """Return whether Python can block until the GPU is done."""
        ...


Magic = Callable[[Runner, Part, str], Awaitable[None]]
"""Takes the session, the code, and the file name of the input."""


# -- splitting an input --------------------------------------------------------------------------


def split(source: str, filename: str) -> list[Part]:
    """Split an input into parts, in order; without magics there is one part.

    Raises
    ------
    SyntaxError
        If a part is not valid Python, or the magic is unknown or lacks its code.
    """
    if not any(line.startswith("%") for line in source.split("\n")):
        return [Part(ast.parse(source, filename))]
    lines = source.split("\n")
    parts: list[Part] = []
    first = 0
    while first < len(lines):
        match = _MAGIC.match(lines[first])
        end = len(lines) if match and match[1] == "%%" else _end(lines, first, match, filename)
        if match:
            part, end = _magic_part(lines, first, end, match, filename)
            parts.append(part)
        else:
            parts.append(Part(_parsed(lines[first:end], first, 0, source, filename)))
        first = end
    return parts


def _end(lines: list[str], first: int, match: re.Match[str] | None, filename: str) -> int:
    """Return the next line that begins a magic: it looks like one and follows complete code.

    A line inside a bracket or a string does not begin a magic.
    """
    column = match.end() if match else 0
    for end in range(first + 1, len(lines)):
        if _MAGIC.match(lines[end]):
            try:
                ast.parse("\n".join([lines[first][column:], *lines[first + 1 : end]]), filename)
            except SyntaxError:
                continue
            return end
    return len(lines)


def _magic_part(
    lines: list[str], first: int, end: int, match: re.Match[str], filename: str
) -> tuple[Part, int]:
    """Return the magic at line `first`, and the line where it ends, at most `end`."""
    name, column = match[2], match.end()
    if name not in MAGICS:
        where = (filename, first + 1, 1, lines[first], first + 1, match.end(2) + 1)
        raise SyntaxError(f"unknown magic %{name}; available: {names()}", where)
    if name in OF_JUPYTER:
        return Part(ast.Module([], []), name), first + 1
    options: list[tuple[str, int]] = []
    while option := _OPTIONS.match(lines[first], column):
        options.append((option[1], int(option[2])))
        column = option.end()
    source = "\n".join(lines)
    tree = _parsed(
        [lines[first][column:], *lines[first + 1 : end]], first, column, source, filename
    )
    if match[1] == "%" and tree.body:
        tree, end = _first_statement(tree, first, end)
    if name in NEED_CODE and not tree.body:
        where = (filename, first + 1, 1, lines[first], first + 1, len(lines[first]) + 1)
        raise SyntaxError(f"%{name} needs code to run: %{name} x @ x", where)
    return Part(tree, name, tuple(options)), end


def _first_statement(tree: ast.Module, first: int, end: int) -> tuple[ast.Module, int]:
    """Return the code that belongs to the magic at line `first`, and the line after it.

    This is the statement that begins on the magic's line, and all else on that statement's last
    line.
    """
    kept: list[ast.stmt] = []
    last = first + 1  # lines of the tree count from 1
    for statement in tree.body:
        if statement.lineno > last:
            return ast.Module(kept, []), last
        kept.append(statement)
        last = statement.end_lineno or last
    return tree, end


def _parsed(lines: list[str], first: int, column: int, source: str, filename: str) -> ast.Module:
    """Parse the lines from line `first` of the input; the first one lacks `column` characters."""
    try:
        tree = ast.parse("\n" * first + "\n".join(lines), filename)
    except SyntaxError as error:
        _shift_error(error, first + 1, column, source)
        raise
    for node in ast.walk(tree):
        if isinstance(
            node, ast.expr | ast.stmt | ast.ExceptHandler | ast.arg | ast.keyword | ast.alias
        ):
            if node.lineno == first + 1:
                node.col_offset += column
            if node.end_lineno == first + 1 and node.end_col_offset is not None:
                node.end_col_offset += column
    return tree


def _shift_error(error: SyntaxError, line: int, column: int, source: str) -> None:
    """Adjust an error in code that lacks the start of its first line, so that it fits the input."""
    if error.lineno == line:
        error.text = source.split("\n")[line - 1]
        error.offset = None if error.offset is None else error.offset + column
    if error.end_lineno == line and error.end_offset is not None:
        error.end_offset += column


# -- the magics ----------------------------------------------------------------------------------


async def _time(runner: Runner, part: Part, filename: str) -> None:
    """Run the code once, and print how long it took, including its work on the GPU.

    That is the work for the value of the last expression, which is displayed afterwards, and for
    all tensors that variables hold. A tensor that the code drops is never computed, as usual.

    Examples
    --------
    >>> x = pt.rand(512, 512)
    >>> %time y = x @ x
    """
    with _value_kept(runner):
        await _finish(runner)
        begin = time.perf_counter()
        display = await _run(runner, part, filename)
        await _finish(runner)
        print(f"Wall time: {duration(time.perf_counter() - begin)}")
        await runner.execute(display, filename)


async def _profile(runner: Runner, part: Part, filename: str) -> None:
    """Run the code, and print the time of each of its kernels, measured by the GPU.

    Examples
    --------
    >>> %profile pt.softmax(pt.rand(512, 512))
    """
    with _value_kept(runner), pt.profile() as profile:
        await _run(runner, part, filename)
    print(profile)


async def _run(runner: Runner, part: Part, filename: str) -> ast.Module:
    """Run the code and keep its last value; return code that displays the value, if any.

    A tensor that nothing holds would never be computed, and displaying it must not be timed.
    """
    *body, last = part.tree.body
    if not isinstance(last, ast.Expr):
        await runner.execute(part.tree, filename)
        return ast.Module([], [])
    kept = ast.Assign([ast.Name(_VALUE, ast.Store())], last.value)
    display = ast.Expr(ast.copy_location(ast.Name(_VALUE, ast.Load()), last.value))
    await runner.execute(_module([*body, ast.copy_location(kept, last)]), filename)
    return _module([ast.copy_location(display, last)])


@contextlib.contextmanager
def _value_kept(runner: Runner) -> Iterator[None]:
    """Remove the value that the block keeps, at its end."""
    try:
        yield
    finally:
        runner.namespace.pop(_VALUE, None)


async def _timeit(runner: Runner, part: Part, filename: str) -> None:
    """Run the code many times, and print the mean and standard deviation of the time per loop.

    A run ends when the GPU has finished the work of all its loops. Its time is divided by their
    number: every loop's work is counted in full, and the one wait is shared. The work is that for
    the value of the last expression, and for the tensors that variables hold at the end of a loop.
    A tensor that the code drops before then is never computed, as usual. Code that reads a tensor
    (`x.sum().item()`) waits in every loop. Compilation is not included.

    Parameters
    ----------
    -n : loops per run
        By default, as many as take 0.2 s.
    -r : runs
        7 by default.

    Examples
    --------
    >>> x = pt.rand(512, 512)
    >>> %timeit x @ x
    >>> %timeit -n 100 -r 3 (x + 1).sum().item()
    """
    options = dict(part.options)
    function = _loop(part.tree, runner, filename)
    left = Leftovers()

    async def seconds(count: int) -> float:
        """Return the time of `count` loops, until the GPU has finished all of their work."""
        await _finish(runner)
        begin = time.perf_counter()
        result = function(itertools.repeat(None, count), *left.pending, left.keep)
        if isinstance(result, types.CoroutineType):
            await runner.task_of(result)
        left.compute()
        await _finish(runner)
        return time.perf_counter() - begin

    await seconds(1)  # compile outside of the timed runs
    count = options.get("n", 0)
    if count and left.found:
        await seconds(min(count, MAX_NODES))  # also compile the largest joint computation
    if not count:
        count = 1
        while (took := await seconds(count)) < MIN_SECONDS:
            count = next_count(count, took)
    times = [await seconds(count) / count for _ in range(max(1, options.get("r", RUNS)))]
    print(summary(times, count))


async def _who(runner: Runner, part: Part, filename: str) -> None:
    """Print the names that you have defined, with their types."""
    names = _own_names(runner)
    width = max(map(len, names), default=0)
    for name in sorted(names):
        print(f"{name:{width}}  {type(runner.namespace[name]).__name__}")
    if not names:
        print("Nothing is defined.")


async def _reset(runner: Runner, part: Part, filename: str) -> None:
    """Delete the names that you have defined."""
    for name in _own_names(runner):
        del runner.namespace[name]


async def _without_effect(runner: Runner, part: Part, filename: str) -> None:
    """Do nothing: notebooks set up Jupyter with it, and this page needs no set-up.

    Figures appear below their code, and edited files are imported again.
    """


MAGICS: dict[str, Magic] = {
    "time": _time,
    "timeit": _timeit,
    "profile": _profile,
    "who": _who,
    "reset": _reset,
    **dict.fromkeys(OF_JUPYTER, _without_effect),
}
NEED_CODE = {"time", "timeit", "profile"}


def names() -> str:
    """Return a list of all magics, for messages."""
    return ", ".join(f"%{name}" for name in MAGICS if name not in OF_JUPYTER)


def usage(magic: str) -> str:
    """Return the usage after the magic's name: ` [-n LOOPS] [-r RUNS] code`."""
    name = magic.lstrip("%")
    options = " [-n LOOPS] [-r RUNS]" if name == "timeit" else ""
    return options + (" code" if name in NEED_CODE else "")


def _own_names(runner: Runner) -> list[str]:
    """Return the names that inputs have defined, without `pt` and names that begin with "__"."""
    return [
        name
        for name, value in runner.namespace.items()
        if not name.startswith("__") and not (name == "pt" and isinstance(value, types.ModuleType))
    ]


# -- the timed loop ------------------------------------------------------------------------------

_VALUE = "__value__"
"""Holds the value of the last expression, so that it is computed."""


def _module(body: list[ast.stmt]) -> ast.Module:
    return ast.fix_missing_locations(ast.Module(body, []))


def _loop(tree: ast.Module, runner: Runner, filename: str) -> Callable[..., Any]:
    """Compile `timeit(loops, gpu, cpu, keep)`, which runs the code once for each item of `loops`.

    After each run it calls `keep` if one of the mappings `gpu` and `cpu` is not empty: tensors are
    lazy, and one that the next loop drops would never be computed. Names that the code assigns are
    local to the function. It is a coroutine function if the code awaits.
    """
    *body, last = tree.body
    if isinstance(last, ast.Expr):
        kept = ast.Assign([ast.Name(_VALUE, ast.Store())], last.value)
        last = ast.copy_location(kept, last)
    awaits = any(isinstance(n, ast.Await | ast.AsyncFor | ast.AsyncWith) for n in ast.walk(tree))
    head = "async def" if awaits else "def"
    module = ast.parse(
        f"{head} timeit(__loops__, __gpu__, __cpu__, __keep__):\n"
        " for __loop__ in __loops__:\n"
        "  if __gpu__ or __cpu__: __keep__()"
    )
    ast.increment_lineno(module, tree.body[0].lineno - 1)
    module.body[0].body[0].body[:0] = [*body, last]  # type: ignore[attr-defined]
    made: dict[str, Any] = {}
    code = compile(_module(module.body), filename, "exec", dont_inherit=True)
    exec(code, runner.namespace, made)
    return made["timeit"]


class Leftovers:
    """Pending tensors of the loops, kept until they are computed together.

    So the loops cost what they would in a program that keeps its results. Computing each loop's
    tensors separately can take longer than the loop itself.
    """

    def __init__(self) -> None:
        self.found = False
        """Whether any loop has left a pending tensor."""
        self._kept: dict[Node, pt.Tensor] = {}
        self._nbytes = 0

    @property
    def pending(self) -> tuple[Mapping[Node, int], ...]:
        """The pending nodes of each device."""
        return tuple(device.pending for device in devices())

    def keep(self) -> None:
        """Keep a loop's pending tensors; compute all that are kept once there are many."""
        self.found = True
        for device in devices():
            device.collect()
            for node in reversed(list(device.pending)):  # a copy, because `Tensor` records nodes
                if node in self._kept:
                    break
                self._kept[node] = pt.Tensor(node)
                self._nbytes += node.meta.nbytes
        if len(self._kept) >= MAX_NODES or self._nbytes >= MAX_BYTES:
            self.compute()

    def compute(self) -> None:
        _flush()
        self._kept.clear()
        self._nbytes = 0


def next_count(count: int, seconds: float) -> int:
    """Return the smallest of 1, 2, 5, 10, ... above `count` that is likely to take `MIN_SECONDS`.

    `seconds` is the time of `count` loops.
    """
    wanted = max(count + 1, count * MIN_SECONDS / max(seconds, 1e-9))
    power = 10 ** math.floor(math.log10(wanted))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= wanted)


def _flush() -> None:
    """Compute all pending tensors, on all devices."""
    for device in devices():
        if device.pending:
            device.flush()


async def _finish(runner: Runner) -> None:
    """Compute all pending tensors, and wait until the GPU is done."""
    _flush()
    for device in devices():
        if not device.is_ready:
            continue
        if runner.can_block():
            device.backend.synchronize()
        else:
            await device.backend.synchronize_async()


def summary(times: Sequence[float], count: int) -> str:
    """Format the seconds per loop of runs of `count` loops each, as IPython does."""
    import statistics  # here: the import would slow down the first visit

    loops = f"{count:,} loop{'s' if count > 1 else ''} each"
    runs = f"{len(times)} run{'s' if len(times) > 1 else ''}"
    mean, spread = duration(statistics.fmean(times)), duration(statistics.pstdev(times))
    return f"{mean} ± {spread} per loop (mean ± std. dev. of {runs}, {loops})"


def duration(seconds: float) -> str:
    """Format a duration in three digits: 1.23 ms."""
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale:  # rounded, it would show as 1e+03 of the next smaller unit
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
