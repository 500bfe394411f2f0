"""Which nodes a flush computes, and their order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import count
from math import copysign
from operator import attrgetter

from py_tensor.ir.node import Node
from py_tensor.ir.program import Program

PREVIEWED_BYTES = 1 << 26  # tensors up to this size are stored even if only their edges are shown
PREVIEWED_NODES = 32  # ops of an expression that is computed again to show its edges
_number = attrgetter("number")
OVERWRITTEN_BYTES = 1 << 20  # leaves from this size on may be overwritten once they are unused


@dataclass(slots=True, eq=False, weakref_slot=True)
class Request:
    """The program of a flush, and what the device knows beside it.

    Attributes
    ----------
    max_bytes : int
        The size limit of a buffer.
    live : sequence of Node
        The nodes that tensors hold and that are not computed yet.
    previews : bool
        Only the edges of large tensors are shown, so these need not be stored.
    recorded : Node, optional
        A node that is not part of the flush but is about to become pending.
    read : int, optional
        The slot that is read as soon as it is computed.
    checks : set of Node
        The nodes that check indices and are computed whole.
    last_iteration : (int, int), optional
        Set by the backend: two slots that are one iteration apart, if the flush ends in a loop.
    """

    program: Program
    max_bytes: int = 2**62
    live: Sequence[Node] = ()
    previews: bool = False
    recorded: Node | None = None
    read: int | None = None
    checks: Set[Node] = frozenset()
    last_iteration: tuple[int, int] | None = None


def is_equal(one: Node, other: Node) -> bool:
    """Return whether two constants are equal, with the same sign of zero; NaN never is."""
    a, b = one.attrs, other.attrs
    if type(a) is complex or type(b) is complex:
        return a == b and repr(a) == repr(b)
    return a == b and (a != 0 or copysign(1, a) == copysign(1, b))


def topological(roots: Iterable[Node]) -> list[Node]:
    """Return the pending ancestors of `roots` and the leaves they read, operands first."""
    return list(_slots(roots))


def _slots(roots: Iterable[Node]) -> dict[Node, int]:
    """Return the nodes that `topological` returns, with the position of each.

    Pending nodes are in the order of recording, so that the iterations of a loop are consecutive. A
    leaf precedes its first reader. Apart from sorting, this is linear in nodes and edges.
    """
    roots = list(roots)
    needed = {node for node in roots if node.storage is None}
    stack = list(needed)
    readers: dict[Node, Node] = {}  # leaf -> its first reader
    while stack:
        node = stack.pop()
        for operand in node.inputs:
            if operand in needed:  # tested first, as another thread may have computed it meanwhile
                continue
            if operand.storage is not None:
                first = readers.get(operand)
                if first is None or node.number < first.number:
                    readers[operand] = node
            else:
                needed.add(operand)
                if operand.inputs:
                    stack.append(operand)
    if len(needed) == 1 and len(roots) == 1:  # a single op
        order = [*readers, *roots]
        return dict(zip(order, count()))
    pending = sorted(needed, key=_number)
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
    """Create the request to compute `roots`; they and every live ancestor are stored.

    `max_bytes` is the largest buffer of the device.
    """
    roots = list(roots)
    slots = _slots(roots)
    order = list(slots)
    wanted: set[int] = set()
    # A node too large for a buffer is not stored. Its consumers do without it or raise an error.
    previews = is_preview(order)
    most = min(max_bytes, PREVIEWED_BYTES) if previews else max_bytes
    live = [node for node in order if node.taken > node.dropped and node.storage is None]
    for node in live:
        if node.meta.nbytes <= most:
            if node.op.inline:  # the common case: neither a view nor a constant
                wanted.add(slots[node])
            else:
                _want(slots, node, wanted)
    for root in roots:
        if slots[root] not in wanted:
            _want(slots, root, wanted, root=True)
    return Request(Program(order, slots, wanted), max_bytes, live, previews)


def computed_whole(request: Request) -> set[Node]:
    """Return the nodes of a flush that are computed whole."""
    nodes = request.program.nodes
    whole = {nodes[slot] for slot in request.program.outputs}
    for node in reversed(nodes):
        if node.storage is None and node in whole:
            whole.update(node.op.reads_whole(node))
    return whole


def is_preview(order: list[Node]) -> bool:
    """Return whether a flush shows the edges of a short expression that needs no whole tensors.

    Large tensors then stay pending, because recomputing the edges is cheaper than storing the
    tensors. The limit on the number of nodes keeps a loop that prints from growing its expression
    forever.
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
    """Mark what must be stored so that the elements of a node are available.

    A view of a stored operand needs no storage. If a pending operand is no larger than the view,
    the operand is stored. Constants and index ranges are stored only if they are roots, because
    recomputing them is cheaper than reading them.
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
    while node.op.reads_by_map:
        inputs = node.inputs  # read first: a node that another thread stores loses its operands
        if node.storage is not None:
            break
        node = inputs[0]
    return node
