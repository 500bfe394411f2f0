"""Programs: closed lists of nodes by position, planned, replayed and compared as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter

from py_tensor.ir.bind import ARGUMENT, EMPTY, Maker, leaf, maker_of
from py_tensor.ir.node import Node
from py_tensor.ir.repetition import Loop, repetitions

MIN_ITERATIONS = 3  # fewest equal iterations that count as a loop
_number = attrgetter("number")
_key = attrgetter("key")
_inputs = attrgetter("inputs")

Step = tuple[Maker, tuple[int, ...]]  # the maker of a node, and the positions of its operands


@dataclass(frozen=True, eq=False)
class Program:
    """Nodes in an order in which operands come first, and which of them are the results.

    The inputs are the nodes that have a storage: leaves. The list is closed: all operands of its
    nodes are in it. Nothing writes into a program; what is derived from it is computed once, and
    before a flush, in which nodes drop their operands.

    Attributes
    ----------
    slots : dict
        The position of each node. It is kept here, not in the nodes, so that several programs may
        exist at a time.
    outputs : set of int
        The positions of the results; `program_of` keeps the order of its results.
    overwritable : frozenset of int
        Large inputs that nothing can read after the program ran, so a plan may overwrite them.
    """

    nodes: list[Node]
    slots: dict[Node, int]
    outputs: Set[int]
    overwritable: frozenset[int] = frozenset()

    @cached_property
    def key(self) -> tuple[int, ...]:
        """The structure, sharing, outputs and overwritable inputs, but no values of constants.

        Programs with equal keys can use one plan. The operands of all nodes are concatenated; a
        node's key implies their number.
        """
        parts = list(map(_key, self.nodes))
        for slot in self.outputs:
            parts[slot] = -parts[slot]
        parts += map(self.slots.__getitem__, chain.from_iterable(map(_inputs, self.nodes)))
        parts.append(len(self.nodes))
        parts += [-1, *sorted(self.overwritable)] if self.overwritable else ()
        return tuple(parts)

    @cached_property
    def operands(self) -> list[tuple[int, ...]]:
        """The positions of the operands of each node."""
        slots = self.slots
        return [tuple([slots[x] for x in node.inputs]) for node in self.nodes]

    @cached_property
    def loops(self) -> list[Loop]:
        """The consecutive parts that repeat."""
        keys = [node.key for node in self.nodes]
        return repetitions(keys, self.operands, MIN_ITERATIONS, frozenset(self.inputs))

    @property
    def inputs(self) -> list[int]:
        """The positions of the leaves."""
        return [slot for slot, node in enumerate(self.nodes) if node.storage is not None]

    def steps(self) -> tuple[Step, ...]:
        """Return how to record the nodes again, on other inputs of the same metas."""
        pairs = zip(self.nodes, self.operands, strict=True)
        return tuple((maker_of(node), at) for node, at in pairs if node.storage is None)


def program_of(outputs: Iterable[Node], inputs: Sequence[Node]) -> Program | None:
    """Return the program that computes `outputs` from `inputs`, which are its first nodes.

    Its nodes are copies on leaves without elements, so it keeps no tensor alive. None if it would
    not be closed, because the outputs need stored elements or arguments that are not among
    `inputs`, if an output is an input, or if one node is passed as two inputs.
    """
    outputs = list(outputs)
    slots = {node: slot for slot, node in enumerate(inputs)}
    if len(slots) < len(inputs) or any(node in slots for node in outputs):
        return None
    between = {*outputs}
    stack = [*between]
    while stack:
        node = stack.pop()
        if node.storage is not None or node.op is ARGUMENT:
            return None
        for operand in node.inputs:
            if operand not in between and operand not in slots:
                between.add(operand)
                stack.append(operand)
    nodes = [leaf(node.meta, EMPTY) for node in inputs]
    for node in sorted(between, key=_number):
        slots[node] = len(nodes)
        nodes.append(node.over(tuple([nodes[slots[x]] for x in node.inputs])))
    positions = {node: slot for slot, node in enumerate(nodes)}
    return Program(nodes, positions, dict.fromkeys([slots[x] for x in outputs]).keys())
