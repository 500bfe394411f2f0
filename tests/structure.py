"""Prints how large the package is, and how long the path of data through it is.

    python -m tests.structure                    both, on every device of this machine
    python -m tests.structure --lines py_tensor  the code lines of a folder alone
    python -m tests.structure --dtypes           the lines that ask which dtype something is

The first table has the code lines of each folder: without blank lines, comments and docstrings.
The second has the functions that one statement calls, the files that these are in, the calls, and
those of them that lead to another folder: the first time (cold), and once it has been run (warm).
Lambdas and comprehensions are not counted. Between them are the lines that ask which dtype
something is (`dtype_questions`), without those of the table itself, `dtypes.py`.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import py_tensor as pt

PACKAGE = Path(pt.__file__).parent
WARM_UPS = 5

_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


# -- Code lines ---------------------------------------------------------------------------------


def code_lines(source: str) -> int:
    """Return the number of lines of Python that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for docstring in _docstrings(ast.parse(source)):
        lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            for statement in body if isinstance(body, list) else ():
                # A string below an assignment is documentation, too.
                value = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield statement


def lines_by_folder(package: Path) -> Counter[str]:
    """Return the code lines of each folder of a package; those of its own files are under "."."""
    lines: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        lines[folder_of(path, package)] += code_lines(path.read_text())
    return lines


def folder_of(path: Path, package: Path) -> str:
    """Return the name of the folder of a package that holds a file; "." for its own files."""
    inside = path.relative_to(package).parts
    return inside[0] if len(inside) > 1 else "."


# -- Questions about dtypes ----------------------------------------------------------------------

DTYPES = {
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
}  # fmt: skip
TRAITS = {
    "is_bool", "is_integer", "is_signed", "is_unsigned", "is_floating", "is_complex", "is_inexact",
    "is_small", "is_packed", "is_wide", "is_word", "has_64_bits",
}  # fmt: skip
_SIZES = {"itemsize", "typecode"}


def dtype_questions(source: str) -> set[int]:
    """Return the lines that ask for the identity of a dtype, rather than read one of its traits.

    These are comparisons, memberships and dictionaries with a dtype or the name of one, with
    letters of kinds, or with a size: ``x.dtype is float16``, ``kind in "fc"``, ``itemsize > 4``.
    Questions about dtypes of NumPy count, too.
    """
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr))
    return {node.lineno for node in nodes if _asks(node)}


def traits_read(source: str) -> set[int]:
    """Return the lines that read a trait with two values, such as ``x.dtype.is_complex``."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return {node.lineno for node in nodes if node.attr in TRAITS}


def _asks(node: ast.expr) -> bool:
    match node:
        case ast.Compare(left, _, others):
            return any(map(_identifies, (left, *others)))
        case ast.Call(ast.Attribute(_, "get" | "index"), [key, *_]) | ast.Subscript(_, key):
            return isinstance(key, ast.Attribute) and key.attr in ("kind", *_SIZES)
        case _:
            return False


def _identifies(side: ast.expr) -> bool:
    """Return whether a side of a comparison is a dtype, the kind of one, its name or its size."""
    match side:
        case ast.Tuple(items) | ast.Set(items) | ast.List(items):
            return any(map(_identifies, items))
        case ast.Attribute(ast.expr() as value, "kind"):
            return "dtype" in ast.unparse(value) or _is_a_dtype(value)
        case ast.Attribute(_, name) | ast.Name(name) | ast.Constant(name):
            return name in DTYPES or name in _SIZES
        case _:
            return False


def _is_a_dtype(value: ast.expr) -> bool:
    """Return whether a variable with a kind is a dtype; kernels and errors have a kind, too."""
    return isinstance(value, ast.Name) and value.id in ("own", "target", "given", "common", "wide")


def questions_by_module(
    package: Path, of: Callable[[str], set[int]] = dtype_questions
) -> dict[str, int]:
    """Return the number of lines that ask in each module but `dtypes.py`, if there are any."""
    counts = {
        str(path.relative_to(package)): len(of(path.read_text()))
        for path in sorted(package.rglob("*.py"))
        if path.name != "dtypes.py"
    }
    return {name: count for name, count in counts.items() if count}


def print_questions(package: Path) -> None:
    for text, of in (
        ("which dtype it is", dtype_questions),
        ("for a trait of a dtype", traits_read),
    ):
        counts = questions_by_module(package, of)
        print(f"{sum(counts.values()):7}  lines in {len(counts)} modules ask {text}")


# -- The path of data ---------------------------------------------------------------------------


class CallPath:
    """The functions of the package that are called between `__enter__` and `__exit__`."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.calls = self.switches = 0
        self._folder = ""

    def __enter__(self) -> CallPath:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        file = code.co_filename
        if event != "call" or code.co_name.startswith("<") or not file.startswith(str(PACKAGE)):
            return
        self.functions.add(code)
        self.calls += 1
        folder = folder_of(Path(file), PACKAGE)
        self.switches += folder != self._folder
        self._folder = folder

    def __str__(self) -> str:
        files = {code.co_filename for code in self.functions}
        return f"{len(self.functions):5}{len(files):7}{self.calls:7}{self.switches:9}"


def printed() -> None:
    str(pt.ones((2, 3)).sum(0))


def stencil() -> Callable[[], None]:
    u = pt.ones((64, 64)).realize()

    def work() -> None:
        u[1:-1, 1:-1] = u[:-2, 1:-1] * 0.25 + 1
        repr(u)

    return work


STATEMENTS: dict[str, Callable[[], Callable[[], None]]] = {
    "print(pt.ones((2, 3)).sum(0))": lambda: printed,
    "u[1:-1, 1:-1] = u[:-2, 1:-1] * .25 + 1; repr(u)": stencil,
}


def paths(work: Callable[[], Any]) -> tuple[CallPath, CallPath]:
    """Return the paths of the first run of some work, and of one after several."""
    cold, warm = CallPath(), CallPath()
    with cold:
        work()
    for _ in range(WARM_UPS):
        work()
    with warm:
        work()
    return cold, warm


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", metavar="FOLDER", type=Path, help="only count its code lines")
    parser.add_argument("--dtypes", action="store_true", help="only count questions about dtypes")
    options = parser.parse_args()
    if options.dtypes:
        print_questions(PACKAGE)
        for name, count in questions_by_module(PACKAGE).items():
            print(f"{count:7}  {name}")
        return
    lines = lines_by_folder(options.lines or PACKAGE)
    print("code lines")
    for folder, count in lines.most_common():
        print(f"{count:7}  {folder}")
    print(f"{lines.total():7}  in all")
    if options.lines:
        return
    print()
    print_questions(PACKAGE)
    print(f"\n{'':56}functions  files  calls  switches")
    for device in ("cpu", "webgpu"):
        try:
            pt.set_default_device(device)
        except pt.DeviceError as error:
            print(f"{device}: {error}")
            continue
        for statement, prepare in STATEMENTS.items():
            for state, path in zip(("cold", "warm"), paths(prepare()), strict=True):
                print(f"{device:7}{state:5} {statement:48}{path}")


if __name__ == "__main__":
    main()
