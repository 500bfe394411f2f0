"""The methods that type checkers know are those that the op definitions install."""

from __future__ import annotations

import ast

import py_tensor as pt
from py_tensor.tensor import INSTALLED, Tensor
from web.build import methods

TEXT = methods.TARGET.read_text("utf-8")


def test_the_stubs_are_up_to_date() -> None:
    assert methods.page() == TEXT, "run `npm run methods`"
    assert methods.page_of_generators() == methods.GENERATORS.read_text("utf-8")


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
    assert line in methods.GENERATORS.read_text("utf-8")
