"""Trees: what is a leaf, what is structure, and what errors say."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import py_tensor as pt


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Linear:
    weight: Any
    bias: Any
    units: int = 3
    mean: Any = pt.tree.state(default=None)  # noqa: RUF009 - it makes a field
    table: Any = pt.tree.static(default=None)  # noqa: RUF009


class Pair:
    def __init__(self, one: Any, two: Any, name: str) -> None:
        self.one, self.two, self.name = one, two, name


pt.tree.register(
    Pair,
    lambda pair: ((pair.one, pair.two), pair.name),
    lambda name, parts: Pair(parts[0], parts[1], str(name)),
)


def test_leaves_and_structure() -> None:
    x, y = pt.ones(2, device="cpu"), np.zeros(3)
    tree: dict[str, Any] = {"b": [x, None, (1, "text")], "a": Point(y, 2.5), "f": print}
    leaves, structure = pt.tree.flatten(tree)
    assert [id(leaf) for leaf in leaves[:1]] == [id(y)]
    assert leaves[1:] == [2.5, x, 1]
    assert pt.tree.paths(tree) == ["['a'][0]", "['a'][1]", "['b'][0]", "['b'][2][0]"]
    again = pt.tree.unflatten(structure, leaves)
    assert list(again) == ["a", "b", "f"]
    assert type(again["a"]) is Point
    assert again["b"] == [x, None, (1, "text")]
    assert again["f"] is print
    assert pt.tree.flatten(again)[1] == structure
    assert hash(pt.tree.flatten(again)[1]) == hash(structure)
    assert (
        pt.tree.structure({"b": [x, None, (1, "other")], "a": tree["a"], "f": print}) != structure
    )
    assert pt.tree.structure([]) != pt.tree.structure(())
    assert pt.tree.leaves(pt.tree.map(lambda a, b: (a, b)[1], [1, 2], [3, 4])) == [3, 4]


def test_dataclasses() -> None:
    """Fields without a tensor, and static ones, are part of the structure."""
    x = pt.ones(2, device="cpu")
    layer = Linear([x, 1], 0.5, mean=x * 2, table=x * 3)
    leaves, structure = pt.tree.flatten(layer)
    assert leaves[1] == 1
    assert len(leaves) == 3  # bias holds no tensor
    assert list(structure.are_states()) == [False, False, True]
    assert list(structure.paths()) == [".weight[0]", ".weight[1]", ".mean"]
    made = pt.tree.unflatten(structure, [1, 2, 3])
    assert (made.weight, made.bias, made.units, made.mean) == ([1, 2], 0.5, 3, 3)
    assert made.table is layer.table
    assert pt.tree.structure(Linear([x, 1], 0.7, mean=x, table=layer.table)) != structure
    assert (
        repr(pt.tree.structure([layer, x]))
        == "list(0: Linear(weight: list(0: *, 1: *), mean: *), 1: *)"
    )


def test_registered_classes() -> None:
    tree = [Pair(1, {"x": 2}, "name")]
    leaves, structure = pt.tree.flatten(tree)
    assert leaves == [1, 2]
    made = pt.tree.unflatten(structure, [3, 4])[0]
    assert (made.one, made.two, made.name) == (3, {"x": 4}, "name")
    assert pt.tree.structure([Pair(1, {"x": 2}, "other")]) != structure


def test_errors() -> None:
    with pytest.raises(ValueError, match="has 2 leaves, not 1"):
        pt.tree.unflatten(pt.tree.structure([1, 2]), [1])
    with pytest.raises(TypeError, match=r"tree.map: the trees differ at the root: \* and list"):
        pt.tree.map(max, {"a": [1, 2]}, {"a": [1, [2]]})
    for tree in (OrderedDict(a=1), deque([1]), SimpleNamespace(x=pt.ones(2, device="cpu"))):
        with pytest.raises(TypeError, match=r"is no node of a tree; .* pt.tree.register"):
            pt.tree.flatten([tree])


def test_none_leaves_what_a_map_gets() -> None:
    """So a gradient is subtracted from parameters beside integers and state."""
    x = pt.ones(2, device="cpu")
    params = {"layer": Linear(x, 2, mean=x * 2), "n": 3}
    gradient = {"layer": Linear(x * 5, 2), "n": None}
    made = pt.tree.map(lambda p, g: p - g, params, gradient)
    assert made["n"] == 3
    assert made["layer"].weight.tolist() == [-4, -4]
    assert made["layer"].mean.tolist() == [2, 2]
