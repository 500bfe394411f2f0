"""Which nodes a flush concerns, in what order, and the signature under which its plan is kept."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from py_tensor.graph.node import Node
from py_tensor.graph.primitives import EDGES

_walks = itertools.count(2)

GLANCED_BYTES = 1 << 26  # up to which a tensor is stored even if only its edges are shown
GLANCED_NODES = 32
OVERWRITTEN_BYTES = 1 << 20  # from which on a leaf that nobody needs any more may be written over


@dataclass(slots=True)
class Request:
    """The nodes of a flush, operands first, and the slots whose elements are to be stored.

    Attributes
    ----------
    spare : frozenset of int
        Large leaves that nobody can read once the flush is done: no tensor, no pending node.
    read : int, optional
        The slot that is read as soon as it is computed.
    """

    order: list[Node]
    wanted: set[int]
    max_bytes: int = 2**62  # of one buffer
    spare: frozenset[int] = frozenset()
    read: int | None = None

    def signature(self) -> tuple[int, ...]:
        """Equal signatures have equal plans: structure, sharing, what is stored, what is spare.

        The operands of all nodes follow each other; how many each has, its key tells.
        """
        parts = [node.key for node in self.order]
        for slot in self.wanted:
            parts[slot] = -parts[slot]
        append = parts.append
        for node in self.order:
            for operand in node.inputs:
                append(operand.slot)
        append(len(self.order))
        parts += [-1, *sorted(self.spare)] if self.spare else ()
        return tuple(parts)


def topological(roots: Iterable[Node]) -> list[Node]:
    """The pending ancestors of `roots` and the leaves they read, operands first.

    Sets each node's `slot` to its position. Linear in nodes and edges, without recursion.
    """
    order: list[Node] = []
    count = 0
    begun = -next(_walks)  # the slot of a node that stands on the stack under its operands
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        slot = node.slot
        if 0 <= slot < count and order[slot] is node:
            continue
        if slot != begun and node.inputs:
            node.slot = begun
            stack.append(node)
            stack += node.inputs
            continue
        node.slot = count
        order.append(node)
        count += 1
    return order


def request(roots: Iterable[Node], max_bytes: int = 2**62) -> Request:
    """What it takes to realize `roots`: they and every live ancestor are stored.

    `max_bytes` is the largest buffer of the device.
    """
    roots = list(roots)
    order = topological(roots)
    wanted: set[int] = set()
    # One too large to be stored is not: a consumer can do without, or raises by itself.
    most = min(max_bytes, GLANCED_BYTES) if _is_glance(order) else max_bytes
    large: list[int] = []
    for slot in [n.slot for n in order if n.live or n.storage is not None]:
        node = order[slot]
        if node.storage is not None:
            if node.meta.stored_nbytes >= OVERWRITTEN_BYTES:
                large.append(slot)
        elif node.meta.stored_nbytes <= most:
            if node.op.inline:  # as most are: no view, and no constant
                wanted.add(slot)
            else:
                _want(order, slot, wanted)
    for root in roots:
        if root.slot not in wanted:
            _want(order, root.slot, wanted, root=True)
    spare = _spare(order, wanted, large) if large else frozenset[int]()
    return Request(order, wanted, max_bytes, spare)


def _references(objects: Sequence[object], position: int) -> int:
    """References to one of `objects`: those of whoever holds it, of the sequence, and of this call.

    So exact a question can only be asked where no local name refers to the object.
    """
    return sys.getrefcount(objects[position])


_OWN_REFERENCES = _references([object()], 0)


def uses_of(order: list[Node]) -> list[int]:
    """How often each node is an operand of pending ones among them."""
    uses = [0] * len(order)
    for node in order:
        if node.storage is None:
            for operand in node.inputs:
                uses[operand.slot] += 1
    return uses


def _spare(order: list[Node], wanted: set[int], leaves: list[int]) -> frozenset[int]:
    """Those of `leaves` to which nothing refers but nodes of this flush that let go of them.

    A node that is stored drops its operands. One that is computed in passing lives on if anything
    else refers to it: a tensor, or a pending node that is no part of the flush.
    """
    uses = uses_of(order)
    kept = [False] * len(order)  # by a node that lives on
    for slot in range(len(order) - 1, -1, -1):
        if order[slot].storage is not None or slot in wanted:
            continue
        if kept[slot] or _references(order, slot) > _OWN_REFERENCES + uses[slot]:
            for number in [operand.slot for operand in order[slot].inputs]:
                kept[number] = True
    return frozenset(
        slot
        for slot in leaves
        if not kept[slot]
        and _references(order, slot) == _OWN_REFERENCES + uses[slot]
        and _references([order[slot].storage], 0) == _OWN_REFERENCES + 1
    )


def dependents(request: Request, pending: Mapping[Node, int]) -> list[Node]:
    """Those of the pending nodes outside a flush that need what it computes in passing.

    Without them that would be computed again with each, and in a loop that reads one of several
    states that depend on each other, the expressions of the others would grow by every round.
    """
    order, wanted = request.order, request.wanted
    if len(pending) <= sum(1 for node in order if node.live and node.storage is None):
        return []  # all are inside
    passing = [
        slot
        for slot, node in enumerate(order)
        if node.inputs and not node.live and not _will_be_at_hand(node, wanted)
    ]
    uses = uses_of(order)
    shared = {
        id(order[slot])
        for slot in passing
        if _references(order, slot) > _OWN_REFERENCES + uses[slot]
    }
    if not shared or _is_glance(order):
        return []
    inside = set(map(id, order))
    # list(): finalizers may take nodes out while this runs.
    outside = [
        node
        for node in list(pending)
        if id(node) not in inside and node.live and node.meta.stored_nbytes <= request.max_bytes
    ]
    needs: list[bool] = []
    for node in topological(outside):
        operands = () if node.storage is not None else node.inputs
        needs.append(id(node) in shared or any(needs[operand.slot] for operand in operands))
    found = [node for node in outside if needs[node.slot]]
    for slot, node in enumerate(order):
        node.slot = slot  # the walk gave other numbers, and the request may stay as it is
    return found


def _will_be_at_hand(node: Node, wanted: set[int]) -> bool:
    below = bottom(node)
    return below.storage is not None or below.slot in wanted


def _is_glance(order: list[Node]) -> bool:
    """Whether a flush shows the edges of what takes few steps, none of which needs whole tensors.

    It then leaves large tensors pending: showing the edges anew is cheaper than storing all. The
    bound on the steps keeps a loop that prints from building up an ever longer expression.
    """
    pending: list[Node] = []
    for node in order:
        if node.storage is None and not node.op.constant:
            pending.append(node)
            if len(pending) > GLANCED_NODES:
                return False
    return any(n.op is EDGES for n in pending) and all(
        n.op.reads_by_map or n.op.generates or (n.op.inline and not n.op.buffered(n))
        for n in pending
    )


def _want(order: list[Node], slot: int, wanted: set[int], *, root: bool = False) -> None:
    """Mark what has to be stored for the node in `slot` to be at hand.

    A view needs no storage of its own where its operand is stored; of a pending operand no larger
    than the view, the operand is stored. Constants and index ranges are stored only when asked
    for by name: to compute them anew is cheaper than to read them.
    """
    node = order[slot]
    below = bottom(node)
    if below.storage is not None or node.meta.size == 0:
        return
    if below.slot in wanted and not root:
        return
    if below.op.generates:
        if root:
            wanted.add(slot)
        return
    wanted.add(below.slot if below.meta.size <= node.meta.size else slot)


def bottom(node: Node) -> Node:
    """The pending or stored node that a chain of movement starts from."""
    while node.storage is None and node.op.reads_by_map:
        node = node.inputs[0]
    return node
