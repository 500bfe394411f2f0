"""Creating nodes: the only place where an op, operands and attributes become a node.

What follows from the operands' metas alone, an op infers once for each combination. A recipe is a
sequence of such results, so that what a function records for operands of given metas is worked out
once: recording it again is one look-up and its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from py_tensor.graph.node import Meta, Node, key_of
from py_tensor.graph.op import NOT_DIFFERENTIABLE, Op

EMPTY = object()  # the storage of a node without elements
LEAF = Op("leaf", vjp=NOT_DIFFERENTIABLE)
RECIPES = 4096  # kept of a function
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# An op on one operand: itself, its attributes, and the meta and key of the result.
Step = tuple[Op, Any, Meta, int]
# What makes a node in place of `Node`: hook(op, inputs, attributes, meta, key).
Hook = Callable[[Op, tuple[Node, ...], Any, Meta, int], Node]

_make: Hook = Node
_inferred: dict[tuple[Any, ...], tuple[Meta, int]] = {}
_INFERRED = 1 << 14  # entries; past it the table starts anew


class Recipes(dict[K, V]):
    """What is kept for operands of given metas; nothing while nodes are traced.

    What is not there is made by `make` of its key, or of the parts of a tuple. What that raises
    follows from no KeyError, which would be shown above it.
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
        if _make is Node:
            self[key] = value
        return value


_tables: list[Recipes[Any, Any]] = []


@contextmanager
def tracing(hook: Hook) -> Generator[None]:
    """Have `hook` make each node that an op records, in place of `Node`.

    Functions keep no recipes meanwhile, so that none of them is followed past it.
    """
    global _make
    before, _make = _make, hook
    _forget_recipes()
    try:
        yield
    finally:
        _make = before


def forget() -> None:
    """Drop all recipes and inferred metas, for a change of what they follow from."""
    _inferred.clear()
    _forget_recipes()


def _forget_recipes() -> None:
    for table in _tables:
        table.clear()


def is_traced() -> bool:
    return _make is not Node


def bind(op: Op, inputs: tuple[Node, ...], attrs: Any = None) -> Node:
    """A node that applies an op; one without elements is a leaf, and needs no computing.

    Raises
    ------
    ShapeError, DTypeError
        As `Op.infer` does.
    """
    meta, key = _result(op, tuple([x.meta for x in inputs]), attrs)
    return _make(op, inputs, attrs, meta, key) if meta.size else leaf(meta, EMPTY)


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
    """`bind` where the caller knows the meta of the result: nothing is inferred, or kept for it."""
    return _make(op, inputs, attrs, meta, key_of(op, attrs, meta))


def generate(op: Op, attrs: Any, meta: Meta) -> Node:
    """A node without operands: what its op generates is no part of the key of a constant."""
    return _make(op, (), attrs, meta, key_of(op, None if op.constant else attrs, meta))


def leaf(meta: Meta, storage: Any) -> Node:
    """A node whose elements are there already."""
    node = Node(LEAF, (), None, meta, leaf_key(meta))
    node.storage = storage
    return node


def leaf_key(meta: Meta) -> int:
    """The structural key of a node whose elements are there: its meta is all that matters."""
    if not meta.leaf_key:
        meta.leaf_key = key_of(LEAF, None, meta)
    return meta.leaf_key


def step(op: Op, meta: Meta, attrs: Any = None) -> Step:
    """An op applied to an operand of this meta."""
    return op, attrs, *_result(op, (meta,), attrs)


def steps(meta: Meta, *applied: tuple[Op, Any]) -> tuple[Step, ...]:
    """Ops and their attributes, applied one after the other; none where nothing would change."""
    found: list[Step] = []
    for op, attrs in applied:
        found.append(step(op, meta, attrs))
        meta = found[-1][2]
    return tuple(found)


def follow(node: Node, steps: tuple[Step, ...]) -> Node:
    """The last node of the steps; one without elements is a leaf, as `bind` makes it."""
    for op, attrs, meta, key in steps:
        node = _make(op, (node,), attrs, meta, key) if meta.size else leaf(meta, EMPTY)
    return node


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a function records for operands of given metas.

    Attributes
    ----------
    before : tuple
        The steps from each operand to what the op's node takes.
    op, attrs, meta, key
        That node.
    after : tuple
        The steps from it to the result.
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
    """The recipe of an op on operands of given metas, each after its steps."""
    taken = tuple(s[-1][2] if s else meta for s, meta in zip(before, metas, strict=True))
    meta, key = _result(op, taken, attrs)
    return Recipe(before, op, attrs, meta, key, steps(meta, *after))


def record(recipe: Recipe, *operands: Node) -> Node:
    """The nodes of a recipe."""
    inputs = tuple(map(follow, operands, recipe.before))
    return follow(_make(recipe.op, inputs, recipe.attrs, recipe.meta, recipe.key), recipe.after)
