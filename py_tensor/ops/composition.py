"""Functions composed of several ops, whose nodes are cached for operands of given metas.

The first call runs the function. The nodes between its operands and its result are cached, and
later calls create only those nodes, without intermediate tensors or argument parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from py_tensor.backend.device import deferring
from py_tensor.graph.bind import ARGUMENT, Maker, Recipes, maker_of
from py_tensor.graph.node import Device, Node
from py_tensor.ops.operands import node_of, on_one_device
from py_tensor.tensor import Tensor

R = TypeVar("R", bound=Tensor | tuple[Tensor, ...])
# The maker of a node, and the positions of its operands among earlier nodes.
_Made = tuple[Maker, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The nodes between operands and results.

    `results` are the positions of the results, among the operands and then the nodes. `tensors` and
    `elements` are what a device counts for the other nodes.
    """

    made: tuple[_Made, ...]
    results: tuple[int, ...]
    is_tuple: bool
    tensors: int
    elements: int
    device: Device


class Composition(Generic[R]):
    """A function of tensors and hashable arguments that records ops; a decorator.

    `compose` returns a tensor or a tuple of distinct tensors. It must depend only on its operands'
    metas and its arguments, of which equal ones must record the same: it must not read elements,
    nor return an operand. It receives new tensors, which no other code can write to meanwhile. The
    results are new tensors, even where it returns views.
    """

    __slots__ = ("_compose", "_recipes")

    def __init__(self, compose: Callable[..., R]) -> None:
        self._compose = compose
        self._recipes = Recipes[tuple[Hashable, ...], _Recipe]()

    def __call__(self, operands: tuple[Tensor, ...], *arguments: Hashable) -> R:
        nodes = [node_of(x) for x in operands]
        key = (*[node.meta for node in nodes], *arguments)
        recipe = self._recipes.get(key)
        if recipe is not None:
            device = recipe.device
            if not device.sync_each_op:
                device.count(recipe.tensors, recipe.elements)
                if not recipe.is_tuple:
                    _follow(recipe.made, nodes)
                    return cast("R", Tensor(nodes[-1]))
                # Other results need the operands while one is computed: nothing may write to them.
                _held = [*map(Tensor, nodes)]
                _follow(recipe.made, nodes)
                return cast("R", tuple([Tensor(nodes[place]) for place in recipe.results]))
        if any(node.meta.device is not nodes[0].meta.device for node in nodes):
            return self(tuple(on_one_device(self._compose.__name__, operands)), *arguments)
        with deferring():
            result: Any = self._compose(*map(Tensor, nodes), *arguments)
        is_tuple = type(result) is tuple
        results = cast("tuple[Tensor, ...]", result if is_tuple else (result,))
        made = [node_of(x) for x in results]
        if recipe is None:
            with made[0].meta.device.lock:  # another thread may store these nodes
                recipe = _recipe_between(made, nodes, is_tuple)
            if recipe is not None:
                self._recipes.keep(key, recipe)
        owned = tuple([x if x.base is None else Tensor(node_of(x)) for x in results])
        for node in made:
            node.meta.device.settle(node)
        return cast("R", owned if is_tuple else owned[0])


def _follow(made: tuple[_Made, ...], nodes: list[Node]) -> None:
    """Create the nodes of a recipe and append them to those of its operands."""
    for make, places in made:
        if len(places) == 1:
            inputs = (nodes[places[0]],)
        else:
            inputs = tuple([nodes[place] for place in places])
        nodes.append(make(inputs))


def _recipe_between(results: list[Node], operands: list[Node], is_tuple: bool) -> _Recipe | None:
    """Return the recipe between operands and results.

    None if it does not follow from the operands' metas: if it contains stored elements, for example
    after an intermediate flush, or those of another device, or if one node is passed as two
    operands.
    """
    places = {node: place for place, node in enumerate(operands)}
    if len(places) < len(operands) or any(result in places for result in results):
        return None
    found = {*results}
    stack = [*found]
    while stack:
        node = stack.pop()
        if node.storage is not None or node.op is ARGUMENT:
            return None
        for operand in node.inputs:
            if operand not in found and operand not in places:
                found.add(operand)
                stack.append(operand)
    made: list[_Made] = []
    tensors = elements = 0
    for node in sorted(found, key=attrgetter("number")):
        inputs = tuple([places[operand] for operand in node.inputs])
        made.append((maker_of(node), inputs))
        places[node] = len(places)
        if not (node in results or node.op.reads_by_map or node.op.constant):
            tensors += 1
            elements += node.op.work(node)
    at = tuple([places[x] for x in results])
    return _Recipe(tuple(made), at, is_tuple, tensors, elements, results[0].meta.device)
