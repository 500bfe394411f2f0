"""Making nodes: what ops infer, and who can stand in front of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.errors import DTypeError, ShapeError
from py_tensor.graph.bind import bind, tracing
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.op import Op
from py_tensor.graph.primitives import CONCAT, CONTRACT, MUL, PAD

RECORDED: dict[str, tuple[Callable[[pt.Tensor], pt.Tensor], list[str]]] = {
    "unary": (lambda x: pt.exp(x), ["exp"]),
    "binary": (lambda x: x + x, ["add"]),
    "a number": (lambda x: x * 2.0, ["const", "multiply"]),
    "a cast": (lambda x: pt.sqrt(x > 0), ["const", "greater", "astype", "sqrt"]),
    "broadcast": (lambda x: x[0] + x, ["view", "expand", "add"]),
    "reduction": (lambda x: x.sum(0), ["sum", "reshape"]),
    "product": (
        lambda x: x @ x,
        ["reshape", "expand", "reshape", "expand", "fused_multiply_add", "reshape"],
    ),
    "where": (lambda x: pt.where(x > 0, x, 1.0), ["const", "greater", "const", "where"]),
    "random": (
        lambda x: pt.random.Generator(1).rand(2, device="cpu"),
        ["index", "const", "offset", "const", "const", "random_bits", "rand"],
    ),
    "concat": (lambda x: pt.concat([x, x]), ["concat"]),
    "sort": (lambda x: pt.sort(x), ["sort"]),
    "pad": (lambda x: pt.pad(x, 1), ["const", "pad"]),
}


@pytest.mark.parametrize("what", RECORDED)
@pytest.mark.parametrize("seen", [False, True], ids=["at first", "seen before"])
def test_a_hook_makes_every_node(what: str, seen: bool) -> None:
    f, expected = RECORDED[what]
    x = pt.tensor([[3.0, 1.0], [2.0, 4.0]], device="cpu")
    before = f(x).tolist() if seen else None
    names: list[str] = []

    def hook(op: Op, inputs: tuple[Node, ...], attrs: Any, meta: Meta, key: int) -> Node:
        names.append(op.name)
        return Node(op, inputs, attrs, meta, key)

    with tracing(hook):
        f(x)
        assert sorted(names) == sorted(expected)
    names.clear()
    assert before is None or f(x).tolist() == before
    f(x)
    assert not names


def test_an_op_refuses_operands_that_do_not_fit() -> None:
    x, y = (pt.ones(shape, device="cpu")._node for shape in ((2, 3), (3, 2)))
    whole = pt.ones((2, 3), dtype=pt.int32, device="cpu")._node
    with pytest.raises(ShapeError, match=r"^multiply: operands of shapes \(2, 3\) and \(3, 2\)$"):
        bind(MUL, (x, y))
    with pytest.raises(ShapeError, match=r"^fused_multiply_add: operands .* are not alike$"):
        bind(CONTRACT, (x, y), (0,))
    with pytest.raises(ShapeError, match=r"^concat: shapes \(2, 3\) and \(3, 2\) differ beside"):
        bind(CONCAT, (x, y), 0)
    with pytest.raises(DTypeError, match=r"^pad: fills float32 with one float32, not int32"):
        bind(PAD, (x, whole), ((0, 0), (1, 1)))


def test_what_has_no_elements_is_a_leaf() -> None:
    x = pt.ones((0, 3), device="cpu")._node
    made = bind(MUL, (x, x))
    assert made.op.name == "leaf"
    assert made.meta is x.meta
