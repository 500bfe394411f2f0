"""Writes the lists of public names that follow from the modules that define them.

usage: npm run names

- py_tensor/base/first_use.py: the modules that are imported when one of their names is first used.
- py_tensor/__init__.pyi and py_tensor/random/__init__.pyi, for type checkers: all public names.
- py_tensor/tensors/methods.pyi, for type checkers: the methods that ops install on Tensor, with the
  signatures of the installed functions; py_tensor/random/methods.pyi: those of generators.

The names in a module's `__all__` are public. A module with a function `__dir__` is a namespace,
such as `pt.linalg`; the names of any other module belong to the namespace that contains it, which
imports it or leaves that to the first use. tests/unit/test_typing.py compares the files with what
this module would write.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = "py_tensor"
RANDOM = f"{PACKAGE}.random"
FOLDER = ROOT / PACKAGE
FIRST_USE = FOLDER / "base" / "first_use.py"
WIDER = "  # pyright: ignore[reportIncompatibleMethodOverride]"
Imports = set[tuple[str, str]]  # a module and a name in it
OVERRIDES = ("__eq__", "__ne__")  # the methods of object return bool


class _Text:
    """A type as it is written; `inspect` prints a string with quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def first_use() -> str:
    """Return the text of first_use.py; it is written before the package is imported."""
    modules = _modules()
    tables = {
        "PACKAGE": _on_first_use(PACKAGE, modules),
        "RANDOM": _on_first_use(RANDOM, modules),
        "METHODS": {m.name: _methods_in(m) for m in modules.values() if m.space == RANDOM},
    }
    lines: list[str] = []
    for table, names in tables.items():
        lines.append(f"{table} = {{name: module for module, names in {{")
        lines += [f'    "{name}": "{" ".join(of_it)}",' for name, of_it in names.items() if of_it]
        lines.append("}.items() for name in names.split()}")
    return _page("The modules of names that are imported on first use", lines)


def stubs() -> dict[Path, str]:
    """Return the text of each file for type checkers."""
    modules = _modules()
    of_random = [*_exported(RANDOM, modules), *_functions(modules)]
    return {
        FOLDER / "__init__.pyi": _page("The public names", _exported(PACKAGE, modules)),
        FOLDER / "random" / "__init__.pyi": _page("The names of `random`", of_random),
        FOLDER / "random" / "methods.pyi": _page(
            "The methods of random generators", _methods_of_generators(modules)
        ),
        FOLDER / "tensors" / "methods.pyi": _page(
            "The methods that ops install on Tensor", _methods()
        ),
    }


def _page(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f'"""{title}; written by `npm run names`."""', "", *lines, ""])


# -- Modules -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Module:
    """The source of a module, the namespace that contains it, and the names in its `__all__`."""

    name: str
    body: list[ast.stmt]
    space: str
    public: list[str]

    @property
    def is_namespace(self) -> bool:
        return any(isinstance(n, ast.FunctionDef) and n.name == "__dir__" for n in self.body)


Modules = dict[str, _Module]


def _modules() -> Modules:
    """Return the modules of the package, by name."""
    modules: Modules = {}
    for path in sorted(FOLDER.rglob("*.py")):  # a package before its modules
        parts = path.relative_to(ROOT).with_suffix("").parts
        names = [".".join(parts[:n]) for n in range(1, len(parts) + (parts[-1] != "__init__"))]
        space = next((n for n in reversed(names[:-1]) if modules[n].is_namespace), "")
        body = ast.parse(path.read_text("utf-8")).body
        modules[names[-1]] = _Module(names[-1], body, space, _public(body))
    return modules


def _public(body: list[ast.stmt]) -> list[str]:
    """Return the names in the `__all__` of a module; none if it is not a literal."""
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            with suppress(ValueError):
                return ast.literal_eval(node.value)
    return []


def _is_export(node: ast.stmt) -> bool:
    """Return whether a statement of a namespace imports or defines public names."""
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name in ("*", node.names[0].asname)
    is_assignment = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) != "__all__"
    return is_assignment and re.match("_[^_]", ast.unparse(node)) is None


def _imported(node: ast.stmt) -> Iterator[str]:
    """Yield the modules that a statement imports, or imports from."""
    if isinstance(node, ast.ImportFrom):
        yield str(node.module)
        yield from (f"{node.module}.{name.name}" for name in node.names)


def _on_first_use(space: str, modules: Modules) -> dict[str, list[str]]:
    """Return the modules that a namespace imports on first use, and their names in it."""
    at_once = {name for node in modules[space].body for name in _imported(node)}
    inside = {m.name: m for m in modules.values() if m.space == space and m.name not in at_once}
    names = {n: [n.rpartition(".")[2]] if m.is_namespace else m.public for n, m in inside.items()}
    return {name: public for name, public in names.items() if public}


def _exported(space: str, modules: Modules) -> Iterator[str]:
    """Yield statements that import or define all names of a namespace."""
    yield from (ast.unparse(node) for node in modules[space].body if _is_export(node))
    for name, public in _on_first_use(space, modules).items():
        if modules[name].is_namespace:
            yield f"from {space} import {public[0]} as {public[0]}"
        else:
            yield f"from {name} import *"


def _methods_in(module: _Module) -> list[str]:
    """Return the methods of generators that a module defines.

    They are the functions of `self`, and those that the decorator `distribution` makes.
    """
    return [
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_" and _is_method(node)
    ]


def _is_method(node: ast.FunctionDef) -> bool:
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    is_distribution = any(text.startswith("distribution(") for text in decorators)
    return is_distribution or [p.arg for p in node.args.args][:1] == ["self"]


# -- Methods and functions -----------------------------------------------------------------------


def _functions(modules: Modules) -> list[str]:
    """Return the definitions of the functions of `random` that are methods of its generator."""
    import py_tensor.random as random

    imported = [
        modules[m] for node in modules[RANDOM].body for m in _imported(node) if m in modules
    ]
    others = [name for module in imported for name in module.public]
    others += [name for names in _on_first_use(RANDOM, modules).values() for name in names]
    imports: Imports = set()
    names = sorted({*_names_of_methods(modules)} - {*others})
    lines = [_definition(name, getattr(random, name), imports) for name in names]
    return ["import builtins", *_import_lines(imports), "", *lines]


def _methods_of_generators(modules: Modules) -> list[str]:
    """Return the class of the methods of generators."""
    from py_tensor.random.generator import Core

    imports: Imports = set()
    names = sorted(_names_of_methods(modules))
    lines = [_method(name, getattr(Core, name), imports) for name in names]
    return ["import builtins", *_class(lines, imports)]


def _names_of_methods(modules: Modules) -> Iterator[str]:
    return (name for m in modules.values() if m.space == RANDOM for name in _methods_in(m))


def _methods() -> list[str]:
    """Return the class of the methods of tensors."""
    from py_tensor.tensors.tensor import INSTALLED, Tensor

    imports: Imports = set()
    lines = ["def __hash__(self) -> int: ..."]  # Python would remove it beside __eq__
    for name in sorted(INSTALLED):
        value = inspect.getattr_static(Tensor, name)
        if isinstance(value, property):
            lines += ["@property", _method(name, value.fget, imports, 0)]
            if value.fset is not None:
                lines += [f"@{name}.setter", _method(name, value.fset, imports, 1)]
        else:
            # `getattr` imports a method that is imported on first use
            lines.append(_method(name, getattr(Tensor, name), imports))
    return _class(lines, imports)


def _class(lines: list[str], imports: Imports) -> list[str]:
    return [*_import_lines(imports), "", "class Methods:", *(f"    {line}" for line in lines)]


def _import_lines(imports: Imports) -> list[str]:
    names: dict[str, list[str]] = {}
    for source, name in sorted(imports):
        names.setdefault(source, []).append(name)
    return [f"from {source} import {', '.join(of_it)}" for source, of_it in names.items()]


def _method(name: str, function: Any, imports: Imports, most: int | None = None) -> str:
    """Return the definition of a method with at most so many operands; add its imports."""
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    if name.startswith("__"):  # Python calls operators with positional arguments only
        others = [p for p in others if "out" not in signature.parameters or p.default is p.empty]
    parameters = [Parameter("self", first.kind), *others[:most]]
    text = _definition(name, function, imports, parameters)
    return text + (WIDER if name in OVERRIDES else "")


def _definition(
    name: str, function: Any, imports: Imports, parameters: list[Parameter] | None = None
) -> str:
    """Return the definition of a function, or of one with other parameters; add its imports."""
    signature = inspect.signature(function)
    typed: list[Parameter] = []
    for p in signature.parameters.values() if parameters is None else parameters:
        default = p.default if _is_literal(p.default) else _Text("...")
        annotation = p.annotation
        if annotation is not p.empty:
            annotation = _typed(function, annotation, imports)
        typed.append(p.replace(annotation=annotation, default=default))
    result = function.__name__ if inspect.isclass(function) else signature.return_annotation
    returned = _typed(function, result, imports)
    signature = signature.replace(parameters=typed, return_annotation=returned)
    start = "async def" if inspect.iscoroutinefunction(function) else "def"
    return f"{start} {name}{signature}: ..."


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
    FIRST_USE.write_text(first_use(), "utf-8")
    for file, text in stubs().items():
        file.write_text(text, "utf-8")
