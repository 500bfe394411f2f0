"""The names that type checkers know are the public ones, and the methods those that ops install."""

from __future__ import annotations

import ast
import importlib
from types import ModuleType
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.tensors.tensor import INSTALLED, Tensor
from web.build import names

TEXT = (names.FOLDER / "tensors" / "methods.pyi").read_text("utf-8")
GENERATORS = (names.FOLDER / "random" / "methods.pyi").read_text("utf-8")


def test_the_written_files_are_up_to_date() -> None:
    for file, text in {**names.stubs(), names.FIRST_USE: names.first_use()}.items():
        assert file.read_text("utf-8") == text, f"{file}: run `npm run names`"


def declared(namespace: ModuleType) -> dict[str, Any]:
    """Return the public names in the stub of a namespace; None for those that it defines itself."""
    found: dict[str, Any] = {}
    stub = names.ROOT.joinpath(*namespace.__name__.split("."), "__init__.pyi")
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            module = importlib.import_module(str(node.module))
            found |= {name: getattr(module, name) for name in module.__all__}
        elif isinstance(node, ast.ImportFrom) and node.names[0].asname:
            name = node.names[0].name
            found[name] = importlib.import_module(f"{node.module}.{name}")
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.Assign):
            targets = (n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
            found |= dict.fromkeys(target.id for target in targets)
    return found


@pytest.mark.parametrize("namespace", [pt, pt.random])
def test_type_checkers_know_the_public_names(namespace: ModuleType) -> None:
    types = declared(namespace)
    assert {n for n in types if n[0] != "_"} == {n for n in dir(namespace) if n[0] != "_"}
    for name, value in types.items():
        assert value is None or getattr(namespace, name) is value, name


def test_the_stub_has_every_method() -> None:
    assert pt.Tensor is Tensor
    *_, declared = ast.parse(TEXT).body
    assert isinstance(declared, ast.ClassDef)
    names = {node.name for node in declared.body if isinstance(node, ast.FunctionDef)}
    names |= {node.name for node in declared.body if isinstance(node, ast.AsyncFunctionDef)}
    assert names - {"__hash__"} == INSTALLED


def test_definitions_in_the_stub() -> None:
    """Operators have no options; elementwise methods have, and types come with their imports."""
    for line in (
        "from py_tensor.ops.operands import Operand, Scalar",
        "    def __abs__(self, /) -> Tensor: ...",
        "    def __radd__(self, y: Operand, /) -> Tensor: ...",
        "    def __iadd__(self, other: Operand) -> Tensor: ...",
        "    async def __repr_async__(self) -> str: ...",
        "    @property\n    def flat(self) -> flatiter: ...",
        "    @flat.setter\n    def flat(self, value: Operand) -> None: ...",
        "    def T(self, /) -> Tensor: ...",
        "    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Tensor: ...",
        "    def exp(self, /, out: Out = None, *, where: Operand = True, casting: str = ",
    ):
        assert line in TEXT
    line = "    def poisson(self, lam: Operand = 1.0, size: Size = None) -> Tensor: ..."
    assert line in GENERATORS
