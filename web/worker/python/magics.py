"""`%time`, `%timeit`, `%profile` and their like: lines that begin with a percent sign.

An input is split into parts before it is compiled: plain Python, and code that a magic has to do
with. Each keeps its lines and columns, so that a traceback shows what the user typed. `%name` takes
the statement that follows it, over as many lines as that has; `%%name`, in the first line, the rest
of the input.
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
from py_tensor.backend.device import CPU_DEVICE, GPU_DEVICE
from py_tensor.graph.node import Node

LEAST_SECONDS = 0.2
"""A run of %timeit is of so many loops that it takes this long."""
RUNS = 7
MOST_NODES, MOST_BYTES = 256, 1 << 26
"""What the loops of %timeit have left is computed together, up to so much at once."""

_MAGIC = re.compile(r"(%%?)([A-Za-z]\w*)[ \t]*")
_OPTIONS = re.compile(r"-([nr])[ \t]*(\d+)[ \t]*")


@dataclass(frozen=True)
class Part:
    """Some lines of an input."""

    tree: ast.Module
    magic: str = ""
    """What they are for; "" where they are plain Python."""
    options: tuple[tuple[str, int], ...] = ()


class Runner(Protocol):
    """What a magic needs of the session."""

    namespace: dict[str, Any]

    async def execute(self, tree: ast.Module, filename: str) -> None:
        """Run the tree; where its last statement is an expression, display its value."""
        ...

    def task_of(self, work: Awaitable[Any]) -> Awaitable[Any]:
        """A task of its own, which an interrupt can cancel."""
        ...

    def can_block(self) -> bool:
        """Whether Python can wait for the GPU by a plain call."""
        ...


Magic = Callable[[Runner, Part, str], Awaitable[None]]
"""Takes the session, the code, and the file name of the input."""


# -- splitting an input --------------------------------------------------------------------------


def split(source: str, filename: str) -> list[Part]:
    """The parts of an input, in order; one where it has no magic.

    Raises
    ------
    SyntaxError
        Where the input is neither Python nor a magic that there is.
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
    """Where the next magic begins: at a line that looks like one, after code that is whole.

    Within a bracket or a string such a line is none.
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
    """The magic at line `first`, and the line at which it ends, which is at most `end`."""
    name, column = match[2], match.end()
    if name not in MAGICS:
        where = (filename, first + 1, 1, lines[first], first + 1, match.end(2) + 1)
        raise SyntaxError(f"unknown magic %{name}; available: {names()}", where)
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
    """Of the code after the magic at line `first` what belongs to it, and the line after that.

    It is the statement that begins on the line of the magic, and what follows on its last line.
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
    """Lines from line `first` of the input on, whose first one lacks `column` characters."""
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
    """Have an error in code that lacks the first characters of a line point at the whole line."""
    if error.lineno == line:
        error.text = source.split("\n")[line - 1]
        error.offset = None if error.offset is None else error.offset + column
    if error.end_lineno == line and error.end_offset is not None:
        error.end_offset += column


# -- the magics ----------------------------------------------------------------------------------


async def _time(runner: Runner, part: Part, filename: str) -> None:
    """Run the code once, and print how long it took, to the end of its work on the GPU.

    That is the work for the value of the last expression, which is shown afterwards, and for all
    tensors that names hold. A tensor that the code drops is not computed, as anywhere else.

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
    """Run the code, and print what each of its kernels took on the GPU's own clock.

    Examples
    --------
    >>> %profile pt.softmax(pt.rand(512, 512))
    """
    with _value_kept(runner), pt.profile() as profile:
        await _run(runner, part, filename)
    print(profile)


async def _run(runner: Runner, part: Part, filename: str) -> ast.Module:
    """Run the code, its last value kept; what is returned displays that value, if there is one.

    A tensor that nothing holds would never be computed, and to display one takes time of its own.
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
    """Where the block keeps a value, it is gone afterwards."""
    try:
        yield
    finally:
        runner.namespace.pop(_VALUE, None)


async def _timeit(runner: Runner, part: Part, filename: str) -> None:
    """Run the code again and again, and print the mean and spread of what one loop takes.

    A run ends when the GPU has done the work of all its loops, and its time is divided by their
    number: every loop's work is counted in full, and the one wait for it in parts. That is the work
    for the value of the last expression, and for the tensors that names hold at the end of a loop.
    A tensor that the code drops before is not computed, as anywhere else. Code that reads a
    tensor (`x.sum().item()`) waits in every loop. What has to be compiled first is not counted.

    Parameters
    ----------
    -n : loops in a run
        Without it, as many as take 0.2 s.
    -r : runs
        7 without it.

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
        """For so many loops, until the GPU has done all of their work."""
        await _finish(runner)
        begin = time.perf_counter()
        result = function(itertools.repeat(None, count), *left.pending, left.keep)
        if isinstance(result, types.CoroutineType):
            await runner.task_of(result)
        left.compute()
        await _finish(runner)
        return time.perf_counter() - begin

    await seconds(1)  # what is compiled is no part of any loop
    count = options.get("n", 0)
    if count and left.found:
        await seconds(min(count, MOST_NODES))  # as many at once as will be compiled as one
    if not count:
        count = 1
        while (took := await seconds(count)) < LEAST_SECONDS:
            count = next_count(count, took)
    times = [await seconds(count) / count for _ in range(max(1, options.get("r", RUNS)))]
    print(summary(times, count))


async def _who(runner: Runner, part: Part, filename: str) -> None:
    """Print the names that were defined here, with the type of each."""
    names = _own_names(runner)
    width = max(map(len, names), default=0)
    for name in sorted(names):
        print(f"{name:{width}}  {type(runner.namespace[name]).__name__}")
    if not names:
        print("Nothing is defined.")


async def _reset(runner: Runner, part: Part, filename: str) -> None:
    """Forget the names that were defined here."""
    for name in _own_names(runner):
        del runner.namespace[name]


MAGICS: dict[str, Magic] = {
    "time": _time,
    "timeit": _timeit,
    "profile": _profile,
    "who": _who,
    "reset": _reset,
}
NEED_CODE = {"time", "timeit", "profile"}


def names() -> str:
    """All of them, for a sentence."""
    return ", ".join(f"%{name}" for name in MAGICS)


def usage(magic: str) -> str:
    """What follows its name: ` [-n LOOPS] [-r RUNS] code`."""
    name = magic.lstrip("%")
    options = " [-n LOOPS] [-r RUNS]" if name == "timeit" else ""
    return options + (" code" if name in NEED_CODE else "")


def _own_names(runner: Runner) -> list[str]:
    """Those that inputs defined: the session itself defines pt and what has underscores."""
    return [
        name
        for name, value in runner.namespace.items()
        if not name.startswith("__") and not (name == "pt" and isinstance(value, types.ModuleType))
    ]


# -- what is timed -------------------------------------------------------------------------------

_VALUE = "__value__"
"""Holds the value of the last expression, so that it is computed."""


def _module(body: list[ast.stmt]) -> ast.Module:
    return ast.fix_missing_locations(ast.Module(body, []))


def _loop(tree: ast.Module, runner: Runner, filename: str) -> Callable[..., Any]:
    """`timeit(loops, gpu, cpu, keep)`, which runs the code once for each item of `loops`.

    After each, if one of the mappings `gpu` and `cpu` is not empty, it calls `keep`: tensors are
    lazy, and one that the next loop drops would never be computed. What the code assigns is the
    function's own. It is a coroutine function if the code awaits.
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
    """The tensors that loops have left uncomputed, kept until they are computed together.

    So the loops cost what they would in a program that keeps its results: to compute what each
    has left by itself can take longer than to run it.
    """

    def __init__(self) -> None:
        self.found = False
        """Whether there ever were any."""
        self._kept: dict[Node, pt.Tensor] = {}
        self._nbytes = 0

    @property
    def pending(self) -> tuple[Mapping[Node, int], Mapping[Node, int]]:
        """What there is to keep: on the GPU, and on the CPU."""
        return GPU_DEVICE.pending, CPU_DEVICE.pending

    def keep(self) -> None:
        """Keep what a loop has left, and compute all that is kept once it is much."""
        self.found = True
        for pending in self.pending:
            for node in reversed(list(pending)):  # of which finalizers may take some away meanwhile
                if node in self._kept:
                    break
                self._kept[node] = pt.Tensor(node)
                self._nbytes += node.meta.nbytes
        if len(self._kept) >= MOST_NODES or self._nbytes >= MOST_BYTES:
            self.compute()

    def compute(self) -> None:
        _flush()
        self._kept.clear()
        self._nbytes = 0


def next_count(count: int, seconds: float) -> int:
    """The least of 1, 2, 5, 10, ... above `count` that is likely to take `LEAST_SECONDS`.

    `seconds` is what `count` loops took.
    """
    wanted = max(count + 1, count * LEAST_SECONDS / max(seconds, 1e-9))
    power = 10 ** math.floor(math.log10(wanted))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= wanted)


def _flush() -> None:
    """Have all that a tensor holds computed, on whichever device it is."""
    for device in (GPU_DEVICE, CPU_DEVICE):
        if device.pending:
            device.flush()


async def _finish(runner: Runner) -> None:
    """The same, and wait until the GPU has done it."""
    _flush()
    for device in (GPU_DEVICE, CPU_DEVICE):
        if not device.is_ready:
            continue
        if runner.can_block():
            device.backend.synchronize()
        else:
            await device.backend.synchronize_async()


def summary(times: Sequence[float], count: int) -> str:
    """The seconds per loop of some runs of `count` loops each, in the words of IPython."""
    import statistics  # here, as its import takes time that a first visit does not have

    loops = f"{count:,} loop{'s' if count > 1 else ''} each"
    runs = f"{len(times)} run{'s' if len(times) > 1 else ''}"
    mean, spread = duration(statistics.fmean(times)), duration(statistics.pstdev(times))
    return f"{mean} ± {spread} per loop (mean ± std. dev. of {runs}, {loops})"


def duration(seconds: float) -> str:
    """In three digits: 1.23 ms."""
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale:  # which would be shown as 1e+03 of the next unit
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
