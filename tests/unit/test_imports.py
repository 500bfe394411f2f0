"""The package's imports go to lower layers, and never form a cycle.

Imports within functions and those for type checkers count too, except those in the stubs (`.pyi`),
which a program writes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "py_tensor"

LAYERS = (
    *("base", "ir", "schedule", "codegen", "runtime", "backends", "tensors", "tree", "ops"),
    *("convert", "transforms", "adapters", "linalg", "numpy", "fft", "emath", "testing"),
    *("random", "polynomial", "lib", "typing", "display", "ui", "tools", PACKAGE),
)
"""The folders of the package, lowest first."""


class Import(NamedTuple):
    """One module's import of another, named relative to the package, which itself is ""."""

    importer: str
    imported: str


def modules() -> dict[str, Path]:
    """Return the package's modules, by their names relative to it."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imports_of(importer: str, source: str, known: Mapping[str, object]) -> Iterator[Import]:
    """Yield the modules of the package that a module's source imports."""

    def visit(node: ast.AST) -> Iterator[Import]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in names(node):
                if name.partition(".")[0] == PACKAGE:
                    below = name.removeprefix(PACKAGE).removeprefix(".")
                    yield Import(importer, below)
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    def names(node: ast.Import | ast.ImportFrom) -> set[str]:
        if isinstance(node, ast.Import):
            return {alias.name for alias in node.names}
        assert node.level == 0, f"{importer}: a relative import, line {node.lineno}"
        module = str(node.module)
        below = {alias.name: f"{module}.{alias.name}" for alias in node.names}
        return {
            path if path.removeprefix(f"{PACKAGE}.") in known else module for path in below.values()
        }

    yield from visit(ast.parse(source))


def layer_of(module: str) -> int:
    top = module.partition(".")[0] or PACKAGE
    return LAYERS.index(top)


def is_upward(found: Import) -> bool:
    return layer_of(found.imported) > layer_of(found.importer)


@pytest.fixture(scope="module")
def imports() -> set[Import]:
    known = modules()
    texts = {name: path.read_text("utf-8") for name, path in known.items()}
    return {found for name, text in texts.items() for found in imports_of(name, text, known)}


def test_every_module_is_in_a_folder_with_a_layer() -> None:
    assert {name.partition(".")[0] for name in modules()} == {"", *LAYERS} - {PACKAGE}


def test_imports_are_from_lower_layers(imports: set[Import]) -> None:
    upward = {(i.importer, i.imported) for i in imports if is_upward(i)}
    assert upward == set()


def test_imports_close_no_circle(imports: set[Import]) -> None:
    below: dict[str, set[str]] = {}
    for found in imports:
        below.setdefault(found.importer, set()).add(found.imported)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(" > ".join(error.args[1]))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import py_tensor.ops.define", ["ops.define"]),
        ("from py_tensor.base import dtypes as d", ["base.dtypes"]),
        ("from py_tensor import __version__", [""]),
        ("from py_tensor.ops.record import apply, build", ["ops.record"]),
        ("class A:\n  def f(self):\n    import py_tensor", [""]),
        ("async def f():\n  from py_tensor.ops import define", ["ops.define"]),
        ("if A:\n  import py_tensor\nelse:\n  import py_tensor.base.dtypes", ["", "base.dtypes"]),
        ("import inspect, py_tensors", []),
    ],
)  # fmt: skip
def test_what_counts_as_an_import(source: str, expected: list[str]) -> None:
    assert [i.imported for i in imports_of("base.shapes", source, modules())] == expected


def private_names(importer: str, source: str) -> Iterator[str]:
    """Yield what a module imports of the package that is not in an `__all__`."""
    folder = importer.partition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith(f"{PACKAGE}."))
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{PACKAGE}."):
            module = str(node.module)
            if module.split(".")[1] not in (folder, "display"):
                public = getattr(import_module(module), "__all__", ())
                yield from (f"{module}.{a.name}" for a in node.names if a.name not in public)


@pytest.mark.parametrize("name", [n for n in modules() if n.partition(".")[0] in ("display", "ui")])
def test_displays_and_controls_use_public_names(name: str) -> None:
    assert list(private_names(name, modules()[name].read_text("utf-8"))) == []


def test_private_names_are_detected() -> None:
    source = "from py_tensor.tensors.tensor import Tensor, tensor_of\nimport py_tensor.ir.node"
    expected = ["py_tensor.tensors.tensor.tensor_of", "py_tensor.ir.node"]
    assert list(private_names("display.screen", source)) == expected


def test_imports_from_higher_layers_are_detected() -> None:
    assert is_upward(Import("ir.node", "ops.define"))
    assert is_upward(Import("base.shapes", ""))
    assert not is_upward(Import("ops.define", "ir.node"))
    assert not is_upward(Import("ops.out", "ops.elementwise"))
