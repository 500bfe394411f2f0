"""Functions composed of several ops, whose nodes are cached for operands of given metas.

The first call runs the function. The nodes between its operands and its result are cached, and
later calls create only those nodes, without intermediate tensors or argument parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from py_tensor.ir.bind import Recipes
from py_tensor.ir.node import Device, Node
from py_tensor.ir.program import Step, program_of
from py_tensor.ops.operands import node_of, on_one_device
from py_tensor.runtime.device import deferring
from py_tensor.tensors.tensor import Tensor

R = TypeVar("R", bound=Tensor | tuple[Tensor, ...])


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The steps from operands to results.

    `results` are the positions of the results. `tensors` and `elements` are what a device counts
    for the other nodes.
    """

    steps: tuple[Step, ...]
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
                    _follow(recipe.steps, nodes)
                    return cast("R", Tensor(nodes[-1]))
                # Other results need the operands while one is computed: nothing may write to them.
                _held = [*map(Tensor, nodes)]
                _follow(recipe.steps, nodes)
                return cast("R", tuple([Tensor(nodes[slot]) for slot in recipe.results]))
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
            node.meta.device.record_deferred(node)
        return cast("R", owned if is_tuple else owned[0])


def _follow(steps: tuple[Step, ...], nodes: list[Node]) -> None:
    """Record the nodes of a program and append them to those of its inputs."""
    for make, operands in steps:
        if len(operands) == 1:
            inputs = (nodes[operands[0]],)
        else:
            inputs = tuple([nodes[slot] for slot in operands])
        nodes.append(make(inputs))


def _recipe_between(results: list[Node], operands: list[Node], is_tuple: bool) -> _Recipe | None:
    """Return the recipe between operands and results.

    None if it does not follow from the operands' metas; see `program_of`.
    """
    program = program_of(results, operands)
    if program is None:
        return None
    unheld = [
        node
        for slot, node in enumerate(program.nodes)
        if node.storage is None
        and slot not in program.outputs
        and not (node.op.reads_by_map or node.op.constant)
    ]
    return _Recipe(
        program.steps(),
        tuple(program.outputs),
        is_tuple,
        len(unheld),
        sum(node.op.work(node) for node in unheld),
        results[0].meta.device,
    )
