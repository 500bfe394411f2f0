"""Recording ops on operands: tensors, arrays and numbers, which are promoted and broadcast.

Decisions that depend only on shapes, dtypes and devices are made once for each combination and
cached as a recipe, so recording an op again costs one lookup. `Composition` does the same for
functions composed of several ops: the first call runs the function. The nodes between its operands
and its result are cached, and later calls create only those nodes, without intermediate tensors or
argument parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.errors import DeviceError
from py_tensor.base.shapes import broadcast
from py_tensor.ir import program
from py_tensor.ir.bind import EMPTY, Maker, Recipes, Step, bind, follow, leaf, recipe, value_maker
from py_tensor.ir.node import Device, Meta, Node, Op, meta_of
from py_tensor.ir.op import Elementwise
from py_tensor.ir.primitives import CONST, EXPAND, constant
from py_tensor.ops.operands import Operand, Scalar, coerce, lifted, node_of, on_one_device, steps_to
from py_tensor.runtime.device import deferring
from py_tensor.tensors.tensor import Tensor


def empty_node(meta: Meta) -> Node:
    return leaf(meta, EMPTY)


def filled(value: Scalar, meta: Meta) -> Tensor:
    """Return a tensor of one value; no memory until stored."""
    node = constant(EXPAND.name, value, meta.dtype, meta.device)
    return Tensor(bind(EXPAND, (node,), meta.shape) if meta.shape else node)


def build(op: Op, inputs: Sequence[Tensor], attrs: Any) -> Tensor:
    """Record an op on tensors."""
    try:
        return Tensor(bind(op, tuple(map(node_of, inputs)), attrs))
    except DeviceError:
        inputs = on_one_device(op.name, inputs)
    return Tensor(bind(op, tuple(map(node_of, inputs)), attrs))


def apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
    """Record an elementwise op on operands, which are coerced, promoted and broadcast."""
    kinds: list[Any] = []
    for x in operands:
        kind: Any = type(x)  # pyright: ignore[reportUnknownVariableType]
        if kind is Tensor:
            kinds.append(x._node.meta)  # pyright: ignore[reportPrivateUsage]
        elif kind is int or isinstance(x, float):  # includes NumPy's float64
            kinds.append(kind if kind is int else float)
        else:
            return _apply(op, operands)
    recorded = _applied[op, *kinds]
    if recorded is None:
        if Meta in map(type, kinds) or op.leading:
            return _apply(op, operands)
        first: Any = operands[0]
        low, high, convert, make_number = _first_numbers[kinds[0], default_device()]
        if kinds[0] is int and not low <= first <= high:
            return _apply(op, operands)
        return apply(op, (Tensor(make_number(convert(first), ())), *operands[1:]))
    before, make, (low, high, convert, make_number) = recorded
    nodes: list[Node] = []
    for x, steps in zip(operands, before, strict=True):
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            nodes.append(follow(node, steps) if steps else node)
        elif isinstance(x, float) or low <= x <= high:
            nodes.append(make_number(convert(x), ()))
        else:
            return _apply(op, operands)
    return Tensor(make(tuple(nodes)))


def _apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
    coerced = coerce(op.name, operands, len(op.leading))
    if not all(isinstance(x, Tensor | Scalar) for x in operands):
        return apply(op, coerced)  # there may be a recipe
    return Tensor(bind(op, lifted(op.name, op.accepts, coerced, op.leading)))


# The conversion of a Python number beside tensors: the accepted ints, and how its node is made.
# These are plain tuples, because unpacking one is faster than reading attributes.
Number = tuple[int, int, Callable[[Any], Scalar], Callable[..., Node]]
# The recipe of an elementwise op for operands of given kinds: the steps from each operand to the
# op's input, none for a number; the maker of the op's node; and that of a number.
Recorded = tuple[tuple[tuple[Step, ...], ...], Maker, Number]


def recipe_of(op: Elementwise, *kinds: Any) -> Recorded | None:
    """Return the recipe of an op for operands, each a meta, or `float` or `int` for a number.

    None if `apply` has to do more: for numbers only, several devices, or no elements.
    """
    metas = [kind for kind in kinds if type(kind) is Meta]
    numbers = [kind for kind in kinds if type(kind) is not Meta]
    if not metas or any(type(kind) is not Meta for kind in kinds[: len(op.leading)]):
        return None
    if any(m.device is not metas[0].device or not m.size for m in metas):
        return None
    rest = kinds[len(op.leading) :]
    tensors = [kind.dtype for kind in rest if type(kind) is Meta]
    dtype = dtypes.common(tensors) if tensors else dtypes.of_scalar(numbers[0](0))
    for kind in numbers:
        dtype = dtypes.with_scalar(dtype, kind(0))
    dtype = op.accepts.check(op.name, dtype)
    metas[0].device.check(op.name, meta_of((), dtype, metas[0].device))
    shape = broadcast(op.name, *(m.shape for m in metas))
    wanted = [*op.leading, *([dtype] * len(rest))]
    before = tuple(
        steps_to(kind, shape, target) if type(kind) is Meta else ()
        for kind, target in zip(kinds, wanted, strict=True)
    )
    of_number = meta_of((), dtype, metas[0].device)
    made = recipe(op, before, tuple(k if type(k) is Meta else of_number for k in kinds))
    return before, made.make, _number(of_number)


def _number(meta: Meta) -> Number:
    dtype = meta.dtype
    low, high = dtypes.integers_held(dtype)
    return low, high, dtypes.converter(dtype), value_maker(CONST, meta)


def _number_of(kind: type, device: Device) -> Number:
    return _number(meta_of((), dtypes.of_scalar(kind(0)), device))


# The conversion of the first of several numbers, by its type.
_first_numbers = Recipes[tuple[type, Device], Number](_number_of)
# The results of `recipe_of`, by op and kinds of operands.
_applied = Recipes[tuple[Any, ...], Recorded | None](recipe_of)


# -- Functions of several ops ----------------------------------------------------------------------

R = TypeVar("R", bound=Tensor | tuple[Tensor, ...])


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The steps from operands to results.

    `results` are the positions of the results. `tensors` and `elements` are what a device counts
    for the other nodes.
    """

    steps: tuple[program.Step, ...]
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


def _follow(steps: tuple[program.Step, ...], nodes: list[Node]) -> None:
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
    between = program.program_of(results, operands)
    if between is None:
        return None
    unheld = [
        node
        for slot, node in enumerate(between.nodes)
        if node.storage is None
        and slot not in between.outputs
        and not (node.op.reads_by_map or node.op.constant)
    ]
    return _Recipe(
        between.steps(),
        tuple(between.outputs),
        is_tuple,
        len(unheld),
        sum(node.op.work(node) for node in unheld),
        results[0].meta.device,
    )
