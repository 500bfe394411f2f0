"""Which nodes a flush concerns, in what order, and the signature under which its plan is kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from py_tensor.graph.node import Node
from py_tensor.graph.primitives import EDGES

_walks = itertools.count(2)

GLANCED_BYTES = 1 << 26  # up to which a tensor is stored even if only its edges are shown
GLANCED_NODES = 32
OVERWRITTEN_BYTES = 1 << 20  # from which on a leaf that nobody needs any more may be written over


@dataclass(slots=True, eq=False, weakref_slot=True)
class Request:
    """The nodes of a flush, operands first, and the slots whose elements are to be stored.

    Attributes
    ----------
    spare : frozenset of int
        Large leaves that nobody can read once the flush is done: no tensor, no pending node.
    recorded : Node, optional
        One that is no part of the flush and about to become pending.
    read : int, optional
        The slot that is read as soon as it is computed.
    """

    order: list[Node]
    wanted: set[int]
    max_bytes: int = 2**62  # of one buffer
    spare: frozenset[int] = frozenset()
    recorded: Node | None = None
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
    for slot in [n.slot for n in order if n.live and n.storage is None]:
        node = order[slot]
        if node.meta.stored_nbytes <= most:
            if node.op.inline:  # as most are: no view, and no constant
                wanted.add(slot)
            else:
                _want(order, slot, wanted)
    for root in roots:
        if root.slot not in wanted:
            _want(order, root.slot, wanted, root=True)
    return Request(order, wanted, max_bytes)


def uses_of(order: list[Node]) -> list[int]:
    """How often each node is an operand of pending ones among them."""
    uses = [0] * len(order)
    for node in order:
        if node.storage is None:
            for operand in node.inputs:
                uses[operand.slot] += 1
    return uses


def spare_leaves(
    request: Request, holders: Iterable[Node], may_overwrite: Callable[[Node], bool]
) -> frozenset[int]:
    """The large leaves of a request that nobody can read once it is carried out.

    A tensor reads what it holds, and so do the views of it that tensors hold: both count as
    `live`. A pending node reads its operands: those of the flush drop theirs as they are stored,
    and what is computed in passing is needed no more, unless something outside reaches it.

    Parameters
    ----------
    holders : iterable of Node
        Whatever may still be computed: the pending nodes, and those that others compute now.
        Called for only if there is a leaf in question; nodes of the flush may be among them.
    may_overwrite : callable
        Whether the backend can write over the elements of a stored node.
    """
    order, wanted = request.order, request.wanted
    leaves = [
        slot
        for slot, node in enumerate(order)
        if node.storage is not None
        and not node.live
        and node.meta.stored_nbytes >= OVERWRITTEN_BYTES
        and may_overwrite(node)
    ]
    if not leaves:
        return frozenset()
    kept = [False] * len(order)
    outside: list[Node] = []
    for node in holders:
        if _is_inside(node, order):
            kept[node.slot] = True
        else:
            outside.append(node)
    for slot in _reached(order, outside):
        kept[slot] = True
    for slot in range(len(order) - 1, -1, -1):
        node = order[slot]
        if node.storage is None and slot not in wanted and (kept[slot] or node.live):
            for operand in node.inputs:
                kept[operand.slot] = True
    return frozenset(slot for slot in leaves if not kept[slot])


def _is_inside(node: Node, order: list[Node]) -> bool:
    """Whether a node is part of the request that was made last."""
    return 0 <= node.slot < len(order) and order[node.slot] is node


def _reached(order: list[Node], outside: Iterable[Node]) -> set[int]:
    """The slots of those nodes of a flush that are operands of nodes outside and their ancestors.

    Goes no further than the flush, and leaves slots as they are.
    """
    found: set[int] = set()
    count = len(order)
    nodes = list(outside)
    seen = set(nodes)
    for node in nodes:  # grows on the way
        for operand in node.inputs:
            slot = operand.slot
            if 0 <= slot < count and order[slot] is operand:
                found.add(slot)
            elif operand.inputs and operand not in seen:
                seen.add(operand)
                nodes.append(operand)
    return found


def _needing(order: list[Node], needed: Iterable[Node], outside: list[Node]) -> list[Node]:
    """Those nodes outside a flush that need some of its nodes, by a path with no other of them."""
    needing = set(needed)
    done: set[Node] = set()
    stack = outside[::-1]
    while stack:
        node = stack[-1]
        rest = [
            operand
            for operand in node.inputs
            if operand.inputs and operand not in done and not _is_inside(operand, order)
        ]
        if rest and node not in done:
            stack += rest
            continue
        stack.pop()
        done.add(node)
        if not needing.isdisjoint(node.inputs):
            needing.add(node)
    return [node for node in outside if node in needing]


def dependents(request: Request, pending: Mapping[Node, int]) -> list[Node]:
    """Those of the pending nodes outside a flush that need what it computes in passing.

    Without them that would be computed again with each, and in a loop that reads one of several
    states that depend on each other, the expressions of the others would grow by every round.
    """
    order, wanted = request.order, request.wanted
    if len(pending) <= sum(1 for node in order if node.live and node.storage is None):
        return []  # all are inside
    passing = [
        node
        for node in order
        if node.inputs and not node.live and not _will_be_at_hand(node, wanted)
    ]
    if not passing or _is_glance(order):
        return []
    # list(): finalizers may take nodes out while this runs.
    outside = [
        node
        for node in list(pending)
        if node.live
        and node.meta.stored_nbytes <= request.max_bytes
        and not _is_inside(node, order)
    ]
    reached = _reached(order, outside)
    shared = [node for node in passing if node.slot in reached]
    return _needing(order, shared, outside) if shared else []


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
