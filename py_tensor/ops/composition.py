"""Functions made of several ops: what they record is worked out once for operands of given metas.

The first call runs the function. What it recorded between its operands and its result is kept, and
later calls make those nodes alone: no tensor for what lies between, no parsing of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import Any

from py_tensor.graph.bind import Recipes
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.op import Op
from py_tensor.ops.operands import node_of
from py_tensor.tensor import Tensor

# A node: its op, attributes, meta and key, and the places of its operands among all before it.
_Made = tuple[Op, Any, Meta, int, tuple[int, ...]]


class Composition:
    """A function of tensors, and of arguments that can be hashed, which records ops.

    It reads nothing, and gives a tensor of its own: no view, and none of its operands.
    """

    __slots__ = ("_compose", "_recipes")

    def __init__(self, compose: Callable[..., Tensor]) -> None:
        self._compose = compose
        self._recipes = Recipes[tuple[Hashable, ...], tuple[_Made, ...]]()

    def __call__(self, operands: tuple[Tensor, ...], *arguments: Hashable) -> Tensor:
        nodes = [node_of(x) for x in operands]
        key = (*[node.meta for node in nodes], *arguments)
        recipe = self._recipes.get(key)
        if recipe is not None:
            return Tensor(_made(nodes, recipe))
        result = self._compose(*operands, *arguments)
        found = _recorded(node_of(result), nodes)
        if found is not None:
            self._recipes.keep(key, found)
        return result


def _made(nodes: list[Node], recipe: tuple[_Made, ...]) -> Node:
    """The last node of a recipe, for these operands."""
    for op, attrs, meta, key, places in recipe:
        if len(places) == 1:
            inputs = (nodes[places[0]],)
        else:
            inputs = tuple([nodes[place] for place in places])
        nodes.append(Node(op, inputs, attrs, meta, key))
    return nodes[-1]


def _recorded(result: Node, operands: list[Node]) -> tuple[_Made, ...] | None:
    """What lies between operands and a result.

    None where that does not follow from the operands' metas: where it holds stored elements, as
    when a flush came between, or where one operand stands for two.
    """
    places = {node: place for place, node in enumerate(operands)}
    if len(places) < len(operands) or result in places:
        return None
    found = {result}
    stack = [result]
    while stack:
        node = stack.pop()
        if node.storage is not None:
            return None
        for operand in node.inputs:
            if operand not in found and operand not in places:
                found.add(operand)
                stack.append(operand)
    made: list[_Made] = []
    for node in sorted(found, key=attrgetter("number")):
        inputs = tuple([places[operand] for operand in node.inputs])
        made.append((node.op, node.attrs, node.meta, node.key, inputs))
        places[node] = len(places)
    return tuple(made)
