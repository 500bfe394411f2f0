"""Creating nodes: the only place where an op, operands and attributes become a node.

The meta of a result depends only on the op, the attributes and the operands' metas; it is inferred
once for each combination. A maker is `Node` with all arguments but the operands. A recipe has the
makers of the nodes that a function records for operands of given metas. It is computed once, so
recording it again takes one lookup and the nodes.

A node that is computed becomes a leaf and drops its operands (`set_storage`), so that their memory
can be used again, unless a recording keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, Node, Op, key_of
from py_tensor.ir.recording import RECORDINGS

EMPTY = object()  # the storage of a node without elements
LEAF = Op("leaf", vjp=NOT_DIFFERENTIABLE)
ARGUMENT = Op("argument", vjp=NOT_DIFFERENTIABLE)  # of a traced function
RECIPES, INFERRED = 1 << 12, 1 << 14  # entries of a table; a full one is cleared
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Maker = Callable[[tuple[Node, ...]], Node]
# Makes a node from its value in `attrs`, which is not part of the key, and no operands.
ValueMaker = Callable[[Any, tuple[()]], Node]
# An op on one operand: the maker and the meta of the result.
Step = tuple[Maker, Meta]


class Recipes(dict[K, V]):
    """A cache of recipes by the operands' metas.

    A missing entry is made by ``make(key)``, or ``make(*key)`` for a tuple. `__missing__` calls it,
    so that an error it raises is not chained to a KeyError.
    """

    __slots__ = ("limit", "make")

    def __init__(self, make: Callable[..., V] | None = None, limit: int = RECIPES) -> None:
        self.make = make
        self.limit = limit
        _tables.append(self)

    def __missing__(self, key: K) -> V:
        if self.make is None:
            raise KeyError(key)
        made = self.make(*cast("tuple[Any, ...]", key)) if type(key) is tuple else self.make(key)
        return self.keep(key, made)

    def keep(self, key: K, value: V) -> V:
        if len(self) >= self.limit:
            self.clear()
        self[key] = value
        return value


_tables: list[Recipes[Any, Any]] = []


def forget() -> None:
    """Drop all recipes and inferred metas, because their preconditions change."""
    for table in _tables:
        table.clear()


def bind(op: Op, inputs: tuple[Node, ...], attrs: Any = None) -> Node:
    """Create a node that applies an op; a node without elements is a leaf.

    Raises
    ------
    ShapeError, DTypeError
        See `Op.infer`.
    """
    meta, key = _results[op, tuple([x.meta for x in inputs]), attrs]
    return Node(op, meta, key, attrs, inputs) if meta.size else leaf(meta, EMPTY)


def _result(op: Op, metas: tuple[Meta, ...], attrs: Any) -> tuple[Meta, int]:
    """Return the meta and the key of a node for operands of these metas."""
    meta = op.infer(metas, attrs)
    return meta, key_of(op, (attrs, len(metas)) if op.variadic else attrs, meta)


_results = Recipes[tuple[Op, tuple[Meta, ...], Any], tuple[Meta, int]](_result, INFERRED)


def bind_known(op: Op, inputs: tuple[Node, ...], attrs: Any, meta: Meta) -> Node:
    """Like `bind`, but the caller gives the meta of the result; nothing is inferred or cached."""
    return Node(op, meta, key_of(op, attrs, meta), attrs, inputs)


def generate(op: Op, attrs: Any, meta: Meta) -> Node:
    """Create a node without operands; the value of a constant is not part of its key."""
    return Node(op, meta, key_of(op, None if op.constant else attrs, meta), attrs, ())


def leaf(meta: Meta, storage: Any, op: Op = LEAF) -> Node:
    """Create a node whose elements are stored already; `op` is what has computed them."""
    node = Node(op, meta, leaf_key(meta), None, ())
    node.storage = storage
    return node


def argument(meta: Meta, source: object = None) -> Node:
    """Create a node without elements; `source` is a tensor that has them, if they are known."""
    return Node(ARGUMENT, meta, key_of(ARGUMENT, None, meta), source, ())


def leaf_key(meta: Meta) -> int:
    """Return the structural key of a leaf; it depends on the meta only."""
    if not meta.leaf_key:
        meta.leaf_key = key_of(LEAF, None, meta)
    return meta.leaf_key


def maker_of(node: Node) -> Maker:
    """Return the maker of nodes like this one, on other operands of the same metas."""
    return partial(Node, node.op, node.meta, node.key, node.attrs)


def value_maker(op: Op, meta: Meta) -> ValueMaker:
    """Return the maker of constants of a meta."""
    return partial(Node, op, meta, key_of(op, None, meta))


def step(op: Op, meta: Meta, attrs: Any = None) -> Step:
    """Return the step that applies an op to an operand of this meta."""
    result, key = _results[op, (meta,), attrs]
    return partial(Node, op, result, key, attrs), result


def steps(meta: Meta, *applied: tuple[Op, Any]) -> tuple[Step, ...]:
    """Return the steps that apply ops with their attributes in sequence."""
    made: list[Step] = []
    for op, attrs in applied:
        made.append(step(op, meta, attrs))
        meta = made[-1][1]
    return tuple(made)


def follow(node: Node, steps: tuple[Step, ...]) -> Node:
    """Record the nodes of the steps, and return the last; a node without elements is a leaf."""
    for make, meta in steps:
        node = make((node,)) if meta.size else leaf(meta, EMPTY)
    return node


@dataclass(frozen=True, slots=True)
class Recipe:
    """The nodes that a function records for operands of given metas.

    Attributes
    ----------
    before : tuple
        For each operand, the steps that prepare it for the op.
    make : callable
        The maker of the op's node.
    after : tuple
        The steps from that node to the result.
    meta : Meta
        That of the result.
    """

    before: tuple[tuple[Step, ...], ...]
    make: Maker
    after: tuple[Step, ...]
    meta: Meta


def recipe(
    op: Op,
    before: tuple[tuple[Step, ...], ...],
    metas: tuple[Meta, ...],
    attrs: Any = None,
    *after: tuple[Op, Any],
) -> Recipe:
    """Make the recipe of an op on operands of given metas, each after its steps."""
    taken = tuple(s[-1][1] if s else meta for s, meta in zip(before, metas, strict=True))
    meta, key = _results[op, taken, attrs]
    last = steps(meta, *after)
    return Recipe(before, partial(Node, op, meta, key, attrs), last, last[-1][1] if last else meta)


def record(recipe: Recipe, *operands: Node) -> Node:
    """Record the nodes of a recipe, and return the result."""
    inputs = tuple(map(follow, operands, recipe.before))
    return follow(recipe.make(inputs), recipe.after)


def set_storage(node: Node, storage: Any) -> None:
    """Make a node a leaf, because its elements are computed."""
    node.storage = storage  # first: any node with storage is a leaf
    if RECORDINGS and node.inputs:
        for reference in tuple(RECORDINGS):
            if (recording := reference()) is not None:
                recording.keep(node)
    node.key = node.meta.leaf_key or leaf_key(node.meta)
    node.inputs = ()
