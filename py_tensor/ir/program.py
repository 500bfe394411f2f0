"""Programs: closed lists of nodes by position, planned, replayed and compared as values.

Also where a sequence of operations repeats: a user's loop records its body in each iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import gcd
from operator import attrgetter
from typing import Any, NamedTuple

from py_tensor.base.shapes import size_of
from py_tensor.ir.bind import ARGUMENT, EMPTY, Maker, leaf, maker_of
from py_tensor.ir.node import Meta, Node, Op, key_of
from py_tensor.ir.op import Assign, View

MIN_ITERATIONS = 3  # fewest equal iterations that count as a loop
MIN_RATIO = 4  # what is viewed has more than so many times the elements of a free view
MIN_VIEWS = 9  # of a result, from which number on they are free
LARGE_VIEW = 1 << 14  # elements from which on it matters most how they are loaded
FAR = 64  # larger distances are not distinguished when a period is guessed
_number = attrgetter("number")
_key = attrgetter("key")
_inputs = attrgetter("inputs")

Loop = tuple[int, int, int]  # the first position, the end, and the period
Step = tuple[Maker, tuple[int, ...]]  # the maker of a node, and the positions of its operands


class FreeView(NamedTuple):
    """A view that a node is, or that it assigns to, whose offset is a parameter of kernels.

    Attributes
    ----------
    key : int
        The key of the node without the offset.
    alignment : int
        The largest vector of neighbours that may be loaded or stored there.
    is_overwritten : bool
        Another node is the first that writes to what is viewed, and it assigns to the same view.
    """

    key: int
    alignment: int
    is_overwritten: bool


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
    known_views : dict, optional
        The free views, if they are those of a longer program, which this one stands for.
    """

    nodes: list[Node]
    slots: dict[Node, int]
    outputs: Set[int]
    overwritable: frozenset[int] = frozenset()
    known_views: dict[int, FreeView] | None = None

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
    def form(self) -> tuple[int, ...]:
        """The key without the offsets of free views; programs with equal forms can use one plan."""
        form = list(self.key)
        for slot, view in self.free_views.items():
            form[slot] = -view.key if slot in self.outputs else view.key
        return tuple(form)

    @cached_property
    def operands(self) -> list[tuple[int, ...]]:
        """The positions of the operands of each node."""
        slots = self.slots
        return [tuple([slots[x] for x in node.inputs]) for node in self.nodes]

    @cached_property
    def free_views(self) -> dict[int, FreeView]:
        """The views whose offset is no part of the form: each flush passes it to the kernels.

        These are the small views that the program assigns to, and small views of what kernels read
        from a buffer: leaves, the results of such assignments, and results with many views, such as
        a table that is computed before a loop over its rows: the last state of a loop may be a
        result, too. If the program also writes elsewhere to what is viewed, its views keep theirs.
        """
        if self.known_views is not None:
            return self.known_views
        pending = [(slot, node) for slot, node in enumerate(self.nodes) if node.inputs]
        views = [(slot, node.inputs[0]) for slot, node in pending if isinstance(node.op, View)]
        assigned = self._small_views(slot for slot, node in pending if isinstance(node.op, Assign))
        fixed = {x.inputs[0] for slot, x in pending if x.op.writes and slot not in assigned}
        counts = Counter(base for _, base in views)

        def is_read(base: Node) -> bool:
            below = self.slots[base]
            is_table = below in self.outputs and counts[base] >= MIN_VIEWS
            return base not in fixed and (base.storage is not None or below in assigned or is_table)

        return assigned | self._small_views(slot for slot, base in views if is_read(base))

    def _small_views(self, slots: Iterable[int]) -> dict[int, FreeView]:
        """Return the views that these nodes are, or assign to, if they are small."""
        views: dict[int, FreeView] = {}
        for slot in slots:
            node = self.nodes[slot]
            base = node.inputs[0]
            writer = self.nodes[self.writers.get(self.slots[base], slot)]
            is_overwritten = writer is not node and writer.attrs == node.attrs
            view = _free_view(node.op, node.attrs, node.meta, base.meta, is_overwritten)
            if view is not None:
                views[slot] = view
        return views

    @cached_property
    def starts(self) -> dict[int, int]:
        """For each free view, the one that names the parameter with its offset.

        The first assignment to a node and the equal views of that node share a parameter. It is
        named after the first of them: the assignment itself may come after a loop that reads the
        same elements, and would not be the same node for a shortened loop.
        """
        first: dict[int, int] = {}
        starts: dict[int, int] = {}
        for slot, view in sorted(self.free_views.items()):
            base = self.slots[self.nodes[slot].inputs[0]]
            is_shared = view.is_overwritten or self.writers.get(base) == slot
            starts[slot] = first.setdefault(base, slot) if is_shared else slot
        return starts

    @cached_property
    def writers(self) -> dict[int, int]:
        """The position of the first node that writes to a node, by that of the latter."""
        nodes = reversed(list(enumerate(self.nodes)))
        return {self.slots[x.inputs[0]]: n for n, x in nodes if x.op.writes and x.inputs}

    @cached_property
    def keys(self) -> list[int]:
        """The key of each node, without the offset of a free view."""
        keys = list(map(_key, self.nodes))
        for slot, view in self.free_views.items():
            keys[slot] = view.key
        return keys

    @cached_property
    def loops(self) -> list[Loop]:
        """The consecutive parts that repeat."""
        return repetitions(self.keys, self.operands, MIN_ITERATIONS, frozenset(self.inputs))

    @property
    def inputs(self) -> list[int]:
        """The positions of the leaves."""
        return [slot for slot, node in enumerate(self.nodes) if node.storage is not None]

    def steps(self) -> tuple[Step, ...]:
        """Return how to record the nodes again, on other inputs of the same metas."""
        pairs = zip(self.nodes, self.operands, strict=True)
        return tuple((maker_of(node), at) for node, at in pairs if node.storage is None)


@lru_cache(1 << 12)
def _free_view(op: Op, attrs: Any, meta: Meta, base: Meta, is_overwritten: bool) -> FreeView | None:
    """Return a view of `base` without its offset, for a node of this meta; None if it is not small.

    The views of a few elements of several rows have the same alignment: otherwise a loop over rows
    of an odd size would need kernels with vectors for every fourth row, and others for the rest.
    """
    shape, strides, offset = attrs
    if MIN_RATIO * size_of(shape) >= base.size:
        return None
    if len(base.shape) > 1 and size_of(shape) < LARGE_VIEW:
        offset = gcd(base.shape[-1], offset)
    is_run = any(s == 1 < n for n, s in zip(shape, strides, strict=True))
    most = 4 * meta.dtype.per_word if is_run else 0  # 0 for elements of two words
    alignment = next((n for n in (16, 4) if n <= most and offset % n == 0), 1)
    key = key_of(op, (shape, strides, -alignment, is_overwritten), meta)  # no valid attributes
    return FreeView(key, alignment, is_overwritten)


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


def repetitions(
    keys: Sequence[Hashable],
    operands: Sequence[Sequence[int]],
    least: int,
    leaves: Container[int] = (),
    constants: Container[int] = (),
) -> list[Loop]:
    """Return the consecutive parts of a sequence that repeat at least `least` times.

    Two operations match if their keys are equal and each operand is the same, is one period later,
    or comes from before the loop and moves by a constant step in each iteration, as the backward
    iteration of a loop reads the values of the forward iteration. The period is guessed from the
    last position of an operation with such a key and such distances, which takes linear time.

    Parameters
    ----------
    keys
        Equal for operations that do the same; None for those that never repeat.
    operands
        The positions of the operands; negative for what is not in the sequence.
    leaves
        The positions of operands that one loop is likely to use in every iteration.
    constants
        Operands, outside the sequence, of which another may take the place in each iteration.
    """
    loops: list[Loop] = []
    last: dict[tuple[Hashable, ...], int] = {}  # key and distances -> last such position

    def signatures(n: int) -> tuple[tuple[Hashable, ...], ...]:
        """Return what to look for: first with the same constants, then with any."""
        seen = [x if x < 0 else ~x if x in leaves else min(n - x, FAR) for x in operands[n]]
        return (keys[n], *seen), (keys[n], *[0 if x in constants else x for x in seen])

    def matches(n: int, period: int, first: int) -> bool:
        """Return whether the operation at `n` repeats that of the iteration before."""
        before = n - period
        if keys[n] is None or keys[n] != keys[before]:
            return False
        oldest, after = before - period, n + period
        for number, (x, y) in enumerate(zip(operands[n], operands[before], strict=True)):
            if x in constants and y in constants:
                continue
            moves = x - y == period and y >= 0
            if x != y and not moves and not (0 <= x < first and 0 <= y < first):
                return False
            if oldest >= first:  # each operand moves by one step in all iterations
                if x - y != y - operands[oldest][number]:
                    return False
            elif x != y and not moves:  # the first step is unusual: look ahead for the second
                if after >= len(keys) or keys[after] != keys[n]:
                    return False
                if x - y != operands[after][number] - x:
                    return False
        return True

    first = period = 0  # the start and the period of the current repetition
    for n in range(len(keys)):
        if period and matches(n, period, first):
            continue
        _note(loops, first, n, period, least)
        # What matched was not recorded: its last period is. Where a guess failed at once, there is
        # nothing to record, or each failure would take time in proportion to its period.
        unrecorded = range(max(n, first + 2 * period + 1) - period, n) if period else ()
        last.update((x, m) for m in unrecorded for x in signatures(m))
        now = signatures(n)
        before = next((last[x] for x in now if x in last), n)
        is_guess = before < n and matches(n, n - before, before)
        period = n - before if is_guess else 0
        first = n - period
        last.update(dict.fromkeys(now, n))
    _note(loops, first, len(keys), period, least)
    return loops


def _note(loops: list[Loop], first: int, end: int, period: int, least: int) -> None:
    first = max(first, loops[-1][1]) if loops else first
    if period and end - first >= least * period:
        loops.append((first, end, period))


def steps(operands: Sequence[Sequence[int]], end: int, period: int) -> list[list[int]]:
    """Return how far the operands of each operation of a loop move in an iteration."""
    pairs = zip(operands[end - period : end], operands[end - 2 * period :], strict=False)
    return [[x - y for x, y in zip(row, before, strict=True)] for row, before in pairs]
