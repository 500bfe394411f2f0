"""Trees: nested containers whose leaves are tensors, arrays and numbers.

A derivative with respect to a tree is a tree of the same structure. These are inner nodes:

- dicts, in the order of their sorted keys; lists, tuples and named tuples; None, which has no leaf,
- dataclasses, in the order of their fields. A field without a tensor or an array in it, such as a
  number of heads or a function, is part of the structure, and so is one made by `static`. One made
  by `state` holds what is no parameter, such as running statistics, a counter, or a generator,
- what `register` makes one.

Tensors, NumPy's arrays and Python's numbers are leaves. Everything else is part of the structure.

>>> import py_tensor as pt
>>> leaves, structure = pt.tree.flatten({"w": pt.ones(2), "b": [3.0, None]})
>>> leaves
[3.0, tensor([1., 1.])]
>>> pt.tree.unflatten(structure, [0, 1])
{'b': [0, None], 'w': 1}
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

from py_tensor.tensors.tensor import Tensor

__all__ = ["flatten", "leaves", "map", "paths", "register", "state", "static", "structure",
           "unflatten"]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


_LEAF, _CONSTANT = "leaf", "constant"


@dataclass(frozen=True, slots=True)
class Registered:
    """How a class is flattened: see `register`."""

    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Hashable, Sequence[Any]], Any]


_registered: dict[type, Registered] = {}


def _type_of(x: object) -> Any:
    return type(x)


class Constant:
    """A value that is part of a structure; two are equal if the values are."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return self.value is other.value or (
            type(self.value) is type(other.value) and bool(self.value == other.value)
        )

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:
            return hash(_type_of(self.value))  # equal values have one type

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Structure:
    """The structure of a tree: everything but its leaves.

    Attributes
    ----------
    kind : type or str
        The class of the container; "leaf", or "constant" for what has no leaf.
    names : tuple
        What leads to each child: keys, positions or the names of fields.
    children : tuple of Structure
    rest : Hashable
        What else the container consists of.
    states : tuple of str
        Those of the names that are fields made by `state`.
    """

    kind: type | str
    names: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()
    rest: Hashable = None
    states: tuple[str, ...] = ()

    @cached_property
    def size(self) -> int:
        """The number of leaves."""
        return int(self.kind is _LEAF) + sum(child.size for child in self.children)

    def are_states(self, inside: bool = False) -> Iterator[bool]:
        """Yield for each leaf whether it is in a field made by `state`."""
        if self.kind is _LEAF:
            yield inside
        for name, child in zip(self.names, self.children, strict=True):
            yield from child.are_states(inside or name in self.states)

    def paths(self, above: str = "") -> Iterator[str]:
        """Yield for each leaf where it is, such as ".layers[2].bias"."""
        if self.kind is _LEAF:
            yield above
        is_class = dataclasses.is_dataclass(self.kind)
        for name, child in zip(self.names, self.children, strict=True):
            yield from child.paths(f"{above}.{name}" if is_class else f"{above}[{name!r}]")

    def __repr__(self) -> str:
        if self.kind is _LEAF:
            return "*"
        if self.kind is _CONSTANT:
            return repr(self.rest)
        assert isinstance(self.kind, type)
        pairs = zip(self.names, self.children, strict=True)
        return f"{self.kind.__name__}({', '.join(f'{name}: {child}' for name, child in pairs)})"


LEAF = Structure(_LEAF)


def register(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Hashable, Sequence[Any]], Any],
) -> None:
    """Make the instances of a class inner nodes of trees.

    Parameters
    ----------
    cls : type
        Its subclasses are not registered with it.
    flatten : callable
        ``flatten(x)`` returns the children, and what else `x` consists of, which is hashable.
    unflatten : callable
        ``unflatten(rest, children)`` makes an instance of what `flatten` returned.
    """
    _registered[cls] = Registered(flatten, unflatten)


def state(**options: Any) -> Any:
    """Return a field of a dataclass for what is no parameter, such as running statistics.

    Functions that are differentiated or compiled may write to it. Options are those of
    `dataclasses.field`.
    """
    return dataclasses.field(metadata={"state": True}, **options)


def static(**options: Any) -> Any:
    """Return a field of a dataclass that is part of the structure, whatever it holds.

    Options are those of `dataclasses.field`.
    """
    return dataclasses.field(metadata={"static": True}, **options)


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a tree, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree."""
    return flatten(tree)[0]


def structure(tree: Any) -> Structure:
    """Return the structure of a tree: everything but its leaves."""
    return flatten(tree)[1]


def paths(tree: Any) -> list[str]:
    """Return where each leaf of a tree is, such as ".layers[2].bias"."""
    return list(structure(tree).paths())


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return a tree of the results of a function of the leaves of one or several trees.

    A leaf for which another tree has None stays as it is: a gradient has None for what is not
    differentiated.

    Raises
    ------
    TypeError
        If the trees differ in structure; the error says where.
    """
    first, common = flatten(tree)
    columns = [first, *(matching_or_none("tree.map", common, other) for other in others)]
    rows = zip(*columns, strict=True)
    return unflatten(
        common, [row[0] if any(x is None for x in row) else function(*row) for row in rows]
    )


def matching_or_none(op: str, common: Structure, tree: Any) -> list[Any]:
    """Return the leaves of a tree, in which None may stand for any part of a structure.

    Raises
    ------
    TypeError
        If the rest has another structure; the error names `op`.
    """
    if tree is None:
        return [None] * common.size
    if not common.children:
        return matching(op, common, tree)
    other = structure(tree)
    if other.kind is not common.kind or not set(common.names) >= set(other.names):
        where, expected, got = _difference(common, other, "")
        raise TypeError(f"{op}: the trees differ at {where or 'the root'}: {expected} and {got}")
    leaves: list[Any] = []
    is_class = dataclasses.is_dataclass(_type_of(tree))
    for name, child in zip(common.names, common.children, strict=True):
        subtree = getattr(tree, name) if is_class else tree[name]
        leaves += matching_or_none(op, child, subtree)
    return leaves


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Return the tree of a structure with these leaves.

    Raises
    ------
    ValueError
        If their number is not that of the structure.
    """
    in_order = list(leaves)
    if len(in_order) != structure.size:
        raise ValueError(
            f"tree.unflatten: the structure has {structure.size} leaves, not {len(in_order)}"
        )
    return _unflatten(structure, iter(in_order))


def matching(op: str, structure: Structure, tree: Any) -> list[Any]:
    """Return the leaves of a tree that must have a structure.

    Raises
    ------
    TypeError
        If it has another one; the error names `op`, and says where they differ.
    """
    leaves, other = flatten(tree)
    if other != structure:
        where, expected, got = _difference(structure, other, "")
        raise TypeError(f"{op}: the trees differ at {where or 'the root'}: {expected} and {got}")
    return leaves


def _difference(one: Structure, two: Structure, path: str) -> tuple[str, Structure, Structure]:
    """Return the innermost place where two structures differ, and what each has there."""
    if one.kind is two.kind and one.names == two.names:
        step = ".{}" if dataclasses.is_dataclass(one.kind) else "[{!r}]"
        for name, child, other in zip(one.names, one.children, two.children, strict=True):
            if child != other:
                return _difference(child, other, path + step.format(name))
    return path, one, two


def is_leaf(x: object) -> bool:
    """Return whether an object is a tensor, an array or a number."""
    if type(x) is Tensor or isinstance(x, int | float | complex):
        return True
    return is_array(x)


def is_array(x: object) -> bool:
    """Return whether an object is a tensor or NumPy's."""
    return type(x) is Tensor or (
        hasattr(x, "__array_interface__") and type(x).__module__.partition(".")[0] == "numpy"
    )


_WITHOUT_ELEMENTS: Any = type, FunctionType


def _values_of(x: Any) -> Iterable[Any]:
    """Return the attributes of an object that is neither a class nor a function."""
    return () if isinstance(x, _WITHOUT_ELEMENTS) else getattr(x, "__dict__", {}).values()


def _has_fields(kind: Any) -> bool:
    return hasattr(kind, "_fields")


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    kind = _type_of(tree)
    if is_leaf(tree):
        leaves.append(tree)
        return LEAF
    if kind is dict:
        try:
            names = tuple(sorted(tree))
        except TypeError:
            names = tuple(tree)  # in their order, as they cannot be compared
        return Structure(dict, names, tuple([_flatten(tree[name], leaves) for name in names]))
    if kind is list or (issubclass(kind, tuple) and (kind is tuple or _has_fields(kind))):
        items: Any = tree
        children = tuple([_flatten(child, leaves) for child in items])
        return Structure(_type_of(tree), tuple(range(len(children))), children)
    if kind in _registered:
        children, rest = _registered[kind].flatten(tree)
        made = tuple([_flatten(child, leaves) for child in children])
        return Structure(_type_of(tree), tuple(range(len(made))), made, rest)
    if dataclasses.is_dataclass(tree):
        return _flatten_dataclass(tree, leaves)
    if isinstance(tree, dict | list | set | deque) or any(is_array(x) for x in _values_of(tree)):
        raise TypeError(
            f"tree: a {kind.__name__} is no node of a tree; use a dict, a list or a dataclass, or"
            " make it one by pt.tree.register"
        )
    return Structure(_CONSTANT, rest=Constant(tree))


def _flatten_dataclass(tree: Any, leaves: list[Any]) -> Structure:
    children: dict[str, Structure] = {}
    constants: list[tuple[str, Constant]] = []
    states: list[str] = []
    for each in dataclasses.fields(tree):
        if not hasattr(tree, each.name):
            continue  # `__init__` has not set it
        value = getattr(tree, each.name)
        inside: list[Any] = []
        child = None if each.metadata.get("static") else _flatten(value, inside)
        if child is None or not any(is_array(x) for x in inside):
            constants.append((each.name, Constant(value)))
            continue
        leaves += inside
        children[each.name] = child
        if each.metadata.get("state"):
            states.append(each.name)
    return Structure(
        _type_of(tree), tuple(children), tuple(children.values()), tuple(constants), tuple(states)
    )


def _unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind: Any = structure.kind
    if kind is _LEAF:
        return next(leaves)
    if kind is _CONSTANT:
        assert isinstance(structure.rest, Constant)
        return structure.rest.value
    children = [_unflatten(child, leaves) for child in structure.children]
    if kind is dict:
        return dict(zip(structure.names, children, strict=True))
    if kind is list:
        return children
    if kind is tuple:
        return tuple(children)
    if kind in _registered:
        return _registered[kind].unflatten(structure.rest, children)
    if hasattr(kind, "_fields"):
        return kind(*children)
    # Not by `__init__`, whose parameters may be others, and which may change what it gets.
    made = object.__new__(kind)
    rest: Any = structure.rest
    for name, constant in rest:
        object.__setattr__(made, name, constant.value)
    for name, child in zip(structure.names, children, strict=True):
        object.__setattr__(made, name, child)
    return made
