"""Writes the methods that are not in a class's source, for type checkers.

usage: npm run methods

py_tensor/methods.pyi has the methods that ops install on Tensor, and py_tensor/random/methods.pyi
those of random generators. A method has the signature of the function that is installed.
tests/unit/test_typing.py compares the files with what this module would write.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Any

import py_tensor as pt
from py_tensor.random.generator import METHODS, Core
from py_tensor.tensor import INSTALLED

PACKAGE = Path(__file__).parents[2] / "py_tensor"
TARGET = PACKAGE / "methods.pyi"
GENERATORS = PACKAGE / "random" / "methods.pyi"
HEAD = '"""The methods that ops install on Tensor; written by `npm run methods`."""\n'
HEAD_OF_GENERATORS = (
    '"""The methods of random generators; written by `npm run methods`."""\n\nimport builtins'
)
WIDER = "  # pyright: ignore[reportIncompatibleMethodOverride]"
Imports = set[tuple[str, str]]  # a module and a name in it
OVERRIDES = ("__eq__", "__ne__")  # the methods of object return bool


class _Text:
    """A type as it is written; `inspect` prints a string with quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def page() -> str:
    """Return the text of the file for Tensor."""
    imports: Imports = set()
    lines = ["def __hash__(self) -> int: ..."]  # Python would remove it beside __eq__
    for name in sorted(INSTALLED):
        value = inspect.getattr_static(pt.Tensor, name)
        if isinstance(value, property):
            lines += ["@property", _definition(name, value.fget, imports, 0)]
            if value.fset is not None:
                lines += [f"@{name}.setter", _definition(name, value.fset, imports, 1)]
        else:
            lines.append(_definition(name, value, imports))
    return _text(HEAD, imports, lines)


def page_of_generators() -> str:
    """Return the text of the file for random generators."""
    imports: Imports = set()
    names = sorted(" ".join(METHODS.values()).split())
    lines = [_definition(name, getattr(Core, name), imports) for name in names]
    return _text(HEAD_OF_GENERATORS, imports, lines)


def _text(head: str, imports: Imports, lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    names: dict[str, list[str]] = {}
    for source, name in sorted(imports):
        names.setdefault(source, []).append(name)
    heads = [f"from {source} import {', '.join(of_it)}" for source, of_it in names.items()]
    return "\n".join([head, *heads, "", "class Methods:", body])


def _definition(
    name: str, function: Any, imports: set[tuple[str, str]], most: int | None = None
) -> str:
    """Return the definition of a method with at most so many operands; add its imports."""
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    if name.startswith("__"):  # Python calls operators with positional arguments only
        others = [p for p in others if "out" not in signature.parameters or p.default is p.empty]
    parameters = [Parameter("self", first.kind)]
    for p in others[:most]:
        default = p.default if _is_literal(p.default) else _Text("...")
        parameters.append(
            p.replace(annotation=_typed(function, p.annotation, imports), default=default)
        )
    result = function.__name__ if inspect.isclass(function) else signature.return_annotation
    returned = _typed(function, result, imports)
    typed = signature.replace(parameters=parameters, return_annotation=returned)
    start = "async def" if inspect.iscoroutinefunction(function) else "def"
    return f"{start} {name}{typed}: ...{WIDER if name in OVERRIDES else ''}"


def _is_literal(value: object) -> bool:
    return value is Parameter.empty or isinstance(value, int | float | str | None)


def _typed(function: Any, annotation: str, imports: Imports) -> _Text:
    """Return an annotation, and add the imports of the names in it."""
    module = sys.modules[inspect.unwrap(function).__module__]
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Name) and node.id in _imports(module):
            imports.add((_imports(module)[node.id], node.id))
        elif isinstance(node, ast.Name) and node.id in vars(module) and node.id != "builtins":
            imports.add((module.__name__, node.id))
    return _Text(annotation)


@cache
def _imports(module: Any) -> dict[str, str]:
    """Return the source of each name that a module imports, also for type checkers only."""
    return {
        name.name: str(node.module)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.asname is None
    }


if __name__ == "__main__":
    TARGET.write_text(page(), "utf-8")
    GENERATORS.write_text(page_of_generators(), "utf-8")
