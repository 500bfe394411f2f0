"""Runs programs with NumPy and with another module, and minimizes those that differ."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from types import CodeType
from typing import Any

import numpy as np

import py_tensor as pt
from py_tensor.runtime.device import LazyDevice
from tests.differential.evaluating import CATEGORIES, Names, execute, execute_numpy
from tests.differential.operands import ARRAYS, INDEX
from tests.differential.programs import Program, make


class InvalidProgramError(Exception):
    """A statement fails for a reason unrelated to arrays, such as a missing name."""


class DifferenceError(AssertionError):
    """A program with different results, and the difference."""


class NumPyArrays:
    """NumPy, or a module with a subclass of its arrays."""

    def __init__(self, module: Any = np) -> None:
        self.module = module

    def execute(self, statement: CodeType, names: Names) -> Exception | None:
        return execute_numpy(statement, names)

    def to_numpy(self, x: Any) -> np.ndarray:
        return np.asarray(x)


class Tensors:
    """py_tensor, on its default device."""

    module: Any = pt

    def execute(self, statement: CodeType, names: Names) -> Exception | None:
        return execute(statement, names)

    def to_numpy(self, x: Any) -> np.ndarray:
        return x.numpy()


Arrays = NumPyArrays | Tensors


@contextmanager
def tensors_on(device: str | LazyDevice) -> Iterator[Tensors]:
    """py_tensor with a default device."""
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        yield Tensors()
    finally:
        pt.set_default_device(before)


@dataclass(frozen=True)
class Difference:
    """A difference between NumPy and the other module, detected after a statement.

    Attributes
    ----------
    kind
        Equal for probably equal causes: "values", "memory", or which side raises which error.
    """

    statement: str
    problem: str
    kind: str


def difference(program: Program, other: Arrays) -> Difference | None:
    """Run a program on both sides.

    Raises
    ------
    InvalidProgramError
        If NumPy itself cannot run the program.
    """
    numpy = NumPyArrays()
    expected: Names = {"np": np}
    got: Names = {"np": other.module}

    def step(statement: str, compare: bool) -> Difference | None:
        code = compile(statement, "<program>", "exec")
        raised = numpy.execute(code, expected)
        if raised is not None and not isinstance(raised, CATEGORIES):
            raise InvalidProgramError(statement) from raised
        other_raised = other.execute(code, got)
        problem = _of_errors(raised, other_raised, statement, expected)
        if problem is not None:
            return Difference(statement, problem, f"{type(other_raised).__name__} of {statement}")
        problem = _of_values(expected, got, other) if compare else None
        return None if problem is None else Difference(statement, problem, "values")

    last = len(program.statements)
    for count, statement in enumerate(program.statements, 1):
        found = step(statement, compare=count % program.interval == 0 or count == last)
        if found is not None:
            return found
    arrays = [n for n in ARRAYS if isinstance(expected.get(n), np.ndarray)]
    for x, y in combinations(arrays, 2):
        shared = np.shares_memory(expected[x], expected[y])
        try:
            problem = None if other.module.shares_memory(got[x], got[y]) == shared else "is wrong"
        except Exception as error:
            problem = f"raised {_shown(error)}"
        if problem:
            problem = f"shares_memory({x}, {y}) {problem}; NumPy: {shared}"
            return Difference("(the end)", problem, "memory")
    for number, x in enumerate(arrays, 101):
        written = f"~{x}" if expected[x].dtype == bool else str(number)
        found = step(f"{x}[...] = {written}", compare=True)
        if found is not None:
            return found
    return None


def _of_errors(
    expected: Exception | None, got: Exception | None, statement: str, names: Names
) -> str | None:
    """Compare the errors of a statement: ours must be in NumPy's categories, or more.

    `names` are NumPy's variables, which a statement that raises leaves as they were.
    """
    if got is None:
        return None if expected is None else f"raised nothing; NumPy: {_shown(expected)}"
    if expected is None:
        return f"raised {_shown(got)}"
    wanted = tuple(c for c in CATEGORIES if isinstance(expected, c))
    if all(isinstance(got, c) for c in wanted):
        return None
    other = _other_error(expected, statement, names)
    if other is not None and isinstance(got, tuple(c for c in CATEGORIES if isinstance(other, c))):
        return None
    return f"raised {_shown(got)}; NumPy: {_shown(expected)}"


class _Key:
    def __getitem__(self, key: Any) -> Any:
        return key


def _other_error(error: Exception, statement: str, names: Names) -> Exception | None:
    """Return the other error of an assignment whose integer index and value are both invalid.

    Which one NumPy detects first depends on its order of iteration. The statement is executed again
    without the fault that NumPy reported.
    """
    tree = ast.parse(statement).body[0]
    if isinstance(tree, ast.Assign) and len(tree.targets) == 1:
        target = tree.targets[0]
    elif isinstance(tree, ast.AugAssign):
        target = tree.target
    else:
        return None
    if not isinstance(target, ast.Subscript):
        return None
    again = {**names, "index": _Key()}
    again["x"] = eval(ast.unparse(target.value), again).copy()
    again["key"] = eval(ast.unparse(ast.Subscript(ast.Name("index"), target.slice)), again)
    value = ast.unparse(tree.value)
    if isinstance(error, IndexError):
        again["key"] = _in_range(again["key"])
    else:
        value = "False"
    operator = ast.unparse(tree)[len(ast.unparse(target)) :].split("=")[0]
    return execute_numpy(f"x[key]{operator}= {value}", again)


def _in_range(key: Any) -> Any:
    """Return a key with zeros in all lists and arrays of integers."""
    if isinstance(key, tuple):
        return tuple(_in_range(part) for part in key)
    integers = isinstance(key, list | np.ndarray) and np.asarray(key).dtype.kind in "iu"
    return np.zeros_like(key) if integers else key


def _of_values(expected: Names, got: Names, other: Arrays) -> str | None:
    """Return the first name whose value is not NumPy's."""
    for name, value in expected.items():
        if name in ("np", INDEX) or name.startswith("__") or callable(value):
            continue
        if not isinstance(value, np.ndarray | np.generic):
            if got[name] != value:
                return f"{name} is {got[name]!r}; NumPy: {value!r}"
            continue
        try:
            x = other.to_numpy(got[name])
        except Exception as error:
            return f"{name} cannot be read: {_shown(error)}"
        if x.shape != value.shape or x.dtype != value.dtype or not np.array_equal(x, value):
            return f"{name} is\n{_array(x)}\nNumPy:\n{_array(np.asarray(value))}"
    return None


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _array(x: np.ndarray) -> str:
    return f"{x.tolist()} of {x.dtype}, {x.shape}"


def shrink(program: Program, other: Arrays, kind: str) -> Program:
    """Delete statements while the rest still has a difference of this kind."""

    def differs(statements: tuple[str, ...]) -> bool:
        try:
            found = difference(replace(program, statements=statements), other)
        except InvalidProgramError:
            return False
        return found is not None and found.kind == kind

    kept = program.statements
    size = len(kept) // 2
    while size:
        before = kept
        for start in reversed(range(0, len(kept), size)):
            rest = kept[:start] + kept[start + size :]
            if differs(rest):
                kept = rest
        if size > 1 or kept == before:
            size //= 2
    return replace(program, statements=kept)


def check(seed: int, other: Arrays) -> None:
    """Run the program of a seed.

    Raises
    ------
    DifferenceError
        If the two sides differ; with the smallest such program found.
    """
    program = make(seed)
    found = difference(program, other)
    if found is None:
        return
    smallest = shrink(program, other, found.kind)
    left = difference(smallest, other)
    if left is None:  # it depends on more than the program
        smallest, left = program, found
    raise DifferenceError(
        f"program --seed {seed} differs; it is compared after every {program.interval} statements."
        f"\nThe smallest found:\n\n{smallest.text()}\n\nat: {left.statement}\n{left.problem}"
    )
