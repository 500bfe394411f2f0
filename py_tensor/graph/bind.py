"""Creating nodes: the only place where an op, operands and attributes become a node.

The meta of a result depends only on the op, the attributes and the operands' metas; it is inferred
once for each combination. A recipe is the sequence of nodes that a function records for operands of
given metas. It is computed once, so recording it again takes one lookup and the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from py_tensor.graph.node import NOT_DIFFERENTIABLE, Meta, Node, Op, key_of

EMPTY = object()  # the storage of a node without elements
LEAF = Op("leaf", vjp=NOT_DIFFERENTIABLE)
ARGUMENT = Op("argument", vjp=NOT_DIFFERENTIABLE)  # of a traced function
RECIPES = 4096  # recipes of a function; a full table is cleared
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# An op on one operand: the op, its attributes, and the meta and key of the result.
Step = tuple[Op, Any, Meta, int]

_inferred: dict[tuple[Any, ...], tuple[Meta, int]] = {}
_INFERRED = 1 << 14  # entries; a full table is cleared


class Recipes(dict[K, V]):
    """A cache of recipes by the operands' metas.

    A missing entry is made by ``make(key)``, or ``make(*key)`` for a tuple. `__missing__` calls it,
    so that an error it raises is not chained to a KeyError.
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[..., V] | None = None) -> None:
        self.make = make
        _tables.append(self)

    def __missing__(self, key: K) -> V:
        if self.make is None:
            raise KeyError(key)
        made = self.make(*cast("tuple[Any, ...]", key)) if type(key) is tuple else self.make(key)
        return self.keep(key, made)

    def keep(self, key: K, value: V) -> V:
        if len(self) >= RECIPES:
            self.clear()
        self[key] = value
        return value


_tables: list[Recipes[Any, Any]] = []


def forget() -> None:
    """Drop all recipes and inferred metas, because their preconditions change."""
    _inferred.clear()
    for table in _tables:
        table.clear()


def bind(op: Op, inputs: tuple[Node, ...], attrs: Any = None) -> Node:
    """Create a node that applies an op; a node without elements is a leaf.

    Raises
    ------
    ShapeError, DTypeError
        See `Op.infer`.
    """
    meta, key = _result(op, tuple([x.meta for x in inputs]), attrs)
    return Node(op, inputs, attrs, meta, key) if meta.size else leaf(meta, EMPTY)


def _result(op: Op, metas: tuple[Meta, ...], attrs: Any) -> tuple[Meta, int]:
    found = _inferred.get((op, attrs, metas))
    if found is None:
        if len(_inferred) >= _INFERRED:
            _inferred.clear()
        meta = op.infer(metas, attrs)
        structure = (attrs, len(metas)) if op.variadic else attrs
        found = _inferred[op, attrs, metas] = meta, key_of(op, structure, meta)
    return found


def bind_known(op: Op, inputs: tuple[Node, ...], attrs: Any, meta: Meta) -> Node:
    """Like `bind`, but the caller gives the meta of the result; nothing is inferred or cached."""
    return Node(op, inputs, attrs, meta, key_of(op, attrs, meta))


def generate(op: Op, attrs: Any, meta: Meta) -> Node:
    """Create a node without operands; the value of a constant is not part of its key."""
    return Node(op, (), attrs, meta, key_of(op, None if op.constant else attrs, meta))


def leaf(meta: Meta, storage: Any) -> Node:
    """Create a node whose elements are stored already."""
    node = Node(LEAF, (), None, meta, leaf_key(meta))
    node.storage = storage
    return node


def argument(meta: Meta, source: Node | None = None) -> Node:
    """Create a node without elements; `source` has them, on another device, if they are known."""
    return Node(ARGUMENT, (), source, meta, key_of(ARGUMENT, None, meta))


def leaf_key(meta: Meta) -> int:
    """Return the structural key of a leaf; it depends on the meta only."""
    if not meta.leaf_key:
        meta.leaf_key = key_of(LEAF, None, meta)
    return meta.leaf_key


def step(op: Op, meta: Meta, attrs: Any = None) -> Step:
    """Return the step that applies an op to an operand of this meta."""
    return op, attrs, *_result(op, (meta,), attrs)


def steps(meta: Meta, *applied: tuple[Op, Any]) -> tuple[Step, ...]:
    """Return the steps that apply ops with their attributes in sequence."""
    found: list[Step] = []
    for op, attrs in applied:
        found.append(step(op, meta, attrs))
        meta = found[-1][2]
    return tuple(found)


def follow(node: Node, steps: tuple[Step, ...]) -> Node:
    """Record the nodes of the steps, and return the last; a node without elements is a leaf."""
    for op, attrs, meta, key in steps:
        node = Node(op, (node,), attrs, meta, key) if meta.size else leaf(meta, EMPTY)
    return node


@dataclass(frozen=True, slots=True)
class Recipe:
    """The nodes that a function records for operands of given metas.

    Attributes
    ----------
    before : tuple
        For each operand, the steps that prepare it for the op.
    op, attrs, meta, key
        The node of the op.
    after : tuple
        The steps from that node to the result.
    """

    before: tuple[tuple[Step, ...], ...]
    op: Op
    attrs: Any
    meta: Meta
    key: int
    after: tuple[Step, ...] = ()


def recipe(
    op: Op,
    before: tuple[tuple[Step, ...], ...],
    metas: tuple[Meta, ...],
    attrs: Any = None,
    *after: tuple[Op, Any],
) -> Recipe:
    """Make the recipe of an op on operands of given metas, each after its steps."""
    taken = tuple(s[-1][2] if s else meta for s, meta in zip(before, metas, strict=True))
    meta, key = _result(op, taken, attrs)
    return Recipe(before, op, attrs, meta, key, steps(meta, *after))


def record(recipe: Recipe, *operands: Node) -> Node:
    """Record the nodes of a recipe, and return the result."""
    inputs = tuple(map(follow, operands, recipe.before))
    return follow(Node(recipe.op, inputs, recipe.attrs, recipe.meta, recipe.key), recipe.after)
