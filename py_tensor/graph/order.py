"""The nodes of a flush, their order, and the signature under which its plan is cached."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, count
from math import copysign
from operator import attrgetter

from py_tensor.graph.node import Node

PREVIEWED_BYTES = 1 << 26  # up to which a tensor is stored even if only its edges are shown
PREVIEWED_NODES = 32
_number = attrgetter("number")
_key = attrgetter("key")
_inputs = attrgetter("inputs")
OVERWRITTEN_BYTES = 1 << 20  # from which on a leaf that nobody needs any more may be written over


@dataclass(slots=True, eq=False, weakref_slot=True)
class Request:
    """The nodes of a flush, operands first, and the slots whose elements are to be stored.

    Attributes
    ----------
    slots : dict
        The position of each node in `order`: a table of this request, so that several may be made
        at a time.
    live : sequence of Node
        Those that tensors hold and nothing has computed.
    overwritable : frozenset of int
        Large leaves that nobody can read once the flush is done: no tensor, no pending node.
    recorded : Node, optional
        One that is no part of the flush and about to become pending.
    read : int, optional
        The slot that is read as soon as it is computed.
    checks : set of Node
        Those that look at indices, of which every element is computed.
    previews : bool
        Only the edges of large tensors are shown, which need not be stored for that.
    last_pass : (int, int), optional
        Two slots a pass apart, where the flush is known to end within a loop.
    loops : list, optional
        Where nodes repeat, once `repetition.py` has looked.
    varies : bool
        Constants that passes of a loop have alike may be other ones the next time.
    equal : dict
        Else, as planning leaves it: the constants that had the value of another, and that one.
    """

    order: list[Node]
    slots: dict[Node, int]
    wanted: set[int]
    max_bytes: int = 2**62  # of one buffer
    live: Sequence[Node] = ()
    overwritable: frozenset[int] = frozenset()
    recorded: Node | None = None
    read: int | None = None
    checks: Set[Node] = frozenset()
    previews: bool = False
    last_pass: tuple[int, int] | None = None
    varies: bool = False
    loops: list[tuple[int, int, int]] | None = None
    equal: dict[int, int] = field(default_factory=dict[int, int])

    def signature(self) -> tuple[int, ...]:
        """Equal signatures have equal plans: structure, sharing, what is stored or overwritable.

        The operands of all nodes follow each other; how many each has, its key tells.
        """
        parts = list(map(_key, self.order))
        for slot in self.wanted:
            parts[slot] = -parts[slot]
        parts += map(self.slots.__getitem__, chain.from_iterable(map(_inputs, self.order)))
        parts.append(len(self.order))
        parts += [-1, *sorted(self.overwritable)] if self.overwritable else ()
        parts += [-2] if self.varies else ()
        return tuple(parts)


def is_equal(one: Node, other: Node) -> bool:
    """Whether two constants have the same value: zeros of one sign, and no NaN."""
    a, b = one.attrs, other.attrs
    if type(a) is complex or type(b) is complex:
        return a == b and repr(a) == repr(b)
    return a == b and (a != 0 or copysign(1, a) == copysign(1, b))


def topological(roots: Iterable[Node]) -> list[Node]:
    """The pending ancestors of `roots` and the leaves they read, operands first."""
    return list(_slots(roots))


def _slots(roots: Iterable[Node]) -> dict[Node, int]:
    """What `topological` returns, with the position of each node.

    Pending nodes stand as they were recorded, so that the passes of a loop follow each other; a
    leaf stands before the first that reads it. Linear in nodes and edges but for the sorting.
    """
    roots = list(roots)
    found = {node for node in roots if node.storage is None}
    stack = list(found)
    readers: dict[Node, Node] = {}  # of each leaf the first node that reads it
    while stack:
        node = stack.pop()
        for operand in node.inputs:
            if operand in found:  # first: another thread may have computed it since
                continue
            if operand.storage is not None:
                first = readers.get(operand)
                if first is None or node.number < first.number:
                    readers[operand] = node
            else:
                found.add(operand)
                if operand.inputs:
                    stack.append(operand)
    if len(found) == 1 and len(roots) == 1:  # one op, computed at once
        order = [*readers, *roots]
        return dict(zip(order, count()))
    pending = sorted(found, key=_number)
    order = list[Node]()
    start = 0
    for reader in sorted(set(readers.values()), key=_number):
        end = bisect_left(pending, reader.number, start, key=_number)
        order += pending[start:end]
        order += dict.fromkeys([x for x in reader.inputs if readers.get(x) is reader])
        start = end
    order += pending[start:]
    order += dict.fromkeys([x for x in roots if x.storage is not None and x not in readers])
    return dict(zip(order, count()))


def make_request(roots: Iterable[Node], max_bytes: int = 2**62) -> Request:
    """Create the request to realize `roots`; they and every live ancestor are stored.

    `max_bytes` is the largest buffer of the device.
    """
    roots = list(roots)
    slots = _slots(roots)
    order = list(slots)
    wanted: set[int] = set()
    # One too large to be stored is not: a consumer can do without, or raises by itself.
    previews = is_preview(order)
    most = min(max_bytes, PREVIEWED_BYTES) if previews else max_bytes
    live = [node for node in order if node.taken > node.dropped and node.storage is None]
    for node in live:
        if node.meta.nbytes <= most:
            if node.op.inline:  # as most are: no view, and no constant
                wanted.add(slots[node])
            else:
                _want(slots, node, wanted)
    for root in roots:
        if slots[root] not in wanted:
            _want(slots, root, wanted, root=True)
    return Request(order, slots, wanted, max_bytes, live, previews=previews)


def computed_whole(request: Request) -> set[Node]:
    """Return the nodes of a flush whose elements are all computed."""
    whole = {request.order[slot] for slot in request.wanted}
    for node in reversed(request.order):
        if node.storage is None and node in whole:
            whole.update(node.op.reads_whole(node))
    return whole


def is_preview(order: list[Node]) -> bool:
    """Whether a flush shows the edges of what takes few steps, none of which needs whole tensors.

    It then leaves large tensors pending: showing the edges anew is cheaper than storing all. The
    bound on the steps keeps a loop that prints from building up an ever longer expression.
    """
    pending: list[Node] = []
    shows = False
    for node in order:
        if node.storage is None and not node.op.constant:
            pending.append(node)
            shows = shows or node.op.previews
            if len(pending) > PREVIEWED_NODES:
                return False
    return shows and all(
        n.op.reads_by_map or n.op.generates or (n.op.inline and not n.op.buffered(n))
        for n in pending
    )


def _want(slots: dict[Node, int], node: Node, wanted: set[int], *, root: bool = False) -> None:
    """Mark what has to be stored for the elements of a node to be available.

    A view needs no storage of its own where its operand is stored; of a pending operand no larger
    than the view, the operand is stored. Constants and index ranges are stored only when asked
    for by name: to compute them anew is cheaper than to read them.
    """
    below = bottom(node)
    if below.storage is not None or node.meta.size == 0:
        return
    if slots[below] in wanted and not root:
        return
    if below.op.generates:
        if root:
            wanted.add(slots[node])
        return
    wanted.add(slots[below if below.meta.size <= node.meta.size else node])


def bottom(node: Node) -> Node:
    """Return the pending or stored node at the start of a chain of movement ops."""
    while node.storage is None and node.op.reads_by_map:
        node = node.inputs[0]
    return node
