"""Functions composed of several ops, whose nodes are cached for operands of given metas.

The first call runs the function. The nodes between its operands and its result are cached, and
later calls create only those nodes, without intermediate tensors or argument parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from py_tensor.backend.device import deferring
from py_tensor.graph.bind import Recipes
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.op import Op
from py_tensor.ops.operands import node_of
from py_tensor.tensor import Tensor

# A node: its op, attributes, meta and key, and the positions of its operands among earlier nodes.
_Made = tuple[Op, Any, Meta, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The nodes between operands and a result, the result last.

    `tensors` and `elements` are what a device counts for the intermediate nodes.
    """

    made: tuple[_Made, ...]
    tensors: int
    elements: int


class Composition:
    """A function of tensors and hashable arguments that records ops.

    `compose` must depend only on its operands' nodes: it must not read elements, nor return a view
    or an operand. It receives new tensors, which no other code can write to meanwhile.
    """

    __slots__ = ("_compose", "_recipes")

    def __init__(self, compose: Callable[..., Tensor]) -> None:
        self._compose = compose
        self._recipes = Recipes[tuple[Hashable, ...], _Recipe]()

    def __call__(self, operands: tuple[Tensor, ...], *arguments: Hashable) -> Tensor:
        nodes = [node_of(x) for x in operands]
        key = (*[node.meta for node in nodes], *arguments)
        recipe = self._recipes.get(key)
        if recipe is not None:
            device = recipe.made[-1][2].device
            if not device.sync_each_op:
                device.count(recipe.tensors, recipe.elements)
                return Tensor(_follow(recipe.made, nodes))
        with deferring():
            result = self._compose(*map(Tensor, nodes), *arguments)
        made = node_of(result)
        if recipe is None:
            found = _recipe_between(made, nodes)
            if found is not None:
                self._recipes.keep(key, found)
        made.meta.device.settle(made)
        return result


def _follow(made: tuple[_Made, ...], nodes: list[Node]) -> Node:
    """Create the nodes of a recipe for these operands; return the last one."""
    for op, attrs, meta, key, places in made:
        if len(places) == 1:
            inputs = (nodes[places[0]],)
        else:
            inputs = tuple([nodes[place] for place in places])
        nodes.append(Node(op, inputs, attrs, meta, key))
    return nodes[-1]


def _recipe_between(result: Node, operands: list[Node]) -> _Recipe | None:
    """Return the recipe between operands and a result.

    None if it does not follow from the operands' metas: if it contains stored elements, for example
    after an intermediate flush, or if one node is passed as two operands.
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
    tensors = elements = 0
    for node in sorted(found, key=attrgetter("number")):
        inputs = tuple([places[operand] for operand in node.inputs])
        made.append((node.op, node.attrs, node.meta, node.key, inputs))
        places[node] = len(places)
        if not (node is result or node.op.reads_by_map or node.op.constant):
            tensors += 1
            elements += node.op.work(node)
    return _Recipe(tuple(made), tensors, elements)
