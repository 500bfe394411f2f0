"""Which nodes a flush computes, in which order, and what else needs them.

A request has the nodes. Uses outside it decide which leaves it may overwrite, and which nodes it
also computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import attrgetter

from py_tensor.ir.node import Node
from py_tensor.ir.program import Program

PREVIEWED_BYTES = 1 << 26  # tensors up to this size are stored even if only their edges are shown
PREVIEWED_NODES = 32  # ops of an expression that is computed again to show its edges
_number = attrgetter("number")
FEW = 16  # pending nodes outside a flush that are searched even for the smallest flush
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
    while stack:
        for operand in stack.pop().inputs:
            if operand not in needed and operand.storage is None:
                needed.add(operand)
                if operand.inputs:
                    stack.append(operand)
    slots: dict[Node, int] = {}
    for node in sorted(needed, key=_number):
        for operand in node.inputs:
            if operand not in slots:  # a leaf: pending operands have smaller numbers
                slots[operand] = len(slots)
        slots[node] = len(slots)
    for node in roots:
        slots.setdefault(node, len(slots))
    return slots


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
    live = [node for node in order if node.retains > node.releases and node.storage is None]
    for node in live:
        if node.meta.nbytes <= most:
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


class Uses(dict[Node, int]):
    """Node -> how often it is an operand of pending nodes and their ancestors.

    Walking over everything that is pending for each of many requests would take quadratic time.
    Instead, each node is counted once, when a request is made while many nodes are pending. The
    table keeps its nodes alive, and all their operands have been counted. It must be replaced by an
    empty one when a pending node is removed from its device other than by a completed flush.

    Attributes
    ----------
    is_changing : bool
        Set while counts change. If it is still set afterwards, an interrupt has corrupted them.
    """

    __slots__ = ("_youngest", "is_changing")

    def __init__(self) -> None:
        super().__init__()
        self.is_changing = False
        self._youngest: Node | None = None  # the newest pending node that is counted

    def count(self, pending: Iterable[Node], inside: Container[Node]) -> None:
        """Count the operands of pending nodes (newest last) and of their ancestors.

        Nodes `inside` the flush will soon not be pending any more.
        """
        self.is_changing = True
        stack: list[Node] = []
        nodes = list(pending)  # another thread may record nodes while this runs
        for node in reversed(nodes):
            if node is self._youngest:
                break  # it and all older nodes were counted before
            if node not in self:
                stack.append(node)
        self._youngest = next((node for node in reversed(nodes) if node not in inside), None)
        self.update(dict.fromkeys(stack, 0))
        while stack:
            for operand in stack.pop().inputs:
                count = self.get(operand)
                if count is None:
                    self[operand] = 1
                    stack.append(operand)
                else:
                    self[operand] = count + 1
        self.is_changing = False

    def counted(self, order: Iterable[Node]) -> list[tuple[Node, tuple[Node, ...]]]:
        """Return the nodes among `order` that were counted, and their operands."""
        return [(node, node.inputs) for node in order if node in self]

    def outside(self, order: list[Node]) -> set[int]:
        """Return the slots of a flush that are operands of counted nodes outside it."""
        inside = Counter([x for _, operands in self.counted(order) for x in operands])
        return {slot for slot, node in enumerate(order) if self.get(node, 0) > inside[node]}

    def remove(
        self, counted: list[tuple[Node, tuple[Node, ...]]], pending: Mapping[Node, int]
    ) -> None:
        """Remove the nodes that a flush computed, and those that only they used.

        `counted` is the result of the method `counted` for the order of the flush, before it ran.
        """
        self.is_changing = True
        for node, operands in reversed(counted):
            if node.storage is None and (self[node] or node in pending):
                continue
            for operand in operands:
                self[operand] -= 1
            if not self[node]:
                del self[node]
        self.is_changing = False


def overwritable_leaves(
    request: Request,
    pending: Mapping[Node, int],
    uses: Uses,
    others: Callable[[], Iterable[Node]],
    may_overwrite: Callable[[Node], bool],
) -> frozenset[int]:
    """Return the large leaves of a request that cannot be read after it.

    A leaf can be read through a tensor that holds it or a view of it; `ref_count` has both. It can
    also be read by a pending node that has it as an operand. Nodes of the flush drop their operands
    when they are stored. Its intermediate results do not need their operands afterwards, unless a
    node outside the flush has such a result as an operand.

    Parameters
    ----------
    others : callable
        Returns nodes that may still be computed besides pending ones: those that the request was
        made for, and those of other requests in progress. Nodes of the flush may be among them.
    may_overwrite : callable
        Whether the backend can overwrite the elements of a stored node.
    """
    program = request.program
    order, slots, wanted = program.nodes, program.slots, program.outputs
    leaves = [
        slot
        for slot, node in enumerate(order)
        if node.storage is not None
        and node.meta.nbytes >= OVERWRITTEN_BYTES
        and not node.ref_count
        and may_overwrite(node)
    ]
    if not leaves:
        return frozenset()
    kept = _shared(request, pending, uses)
    outside: list[Node] = []
    for node in others():
        if node in slots:
            kept.add(slots[node])
        else:
            outside.append(node)
    kept |= _reached(slots, outside)
    for slot in range(len(order) - 1, -1, -1):
        node = order[slot]
        lives_on = node.storage is None and slot not in wanted
        if lives_on and (slot in kept or node.ref_count or node in pending):
            kept.update([slots[operand] for operand in node.inputs])
    return frozenset(leaves) - kept


def dependents(request: Request, pending: Mapping[Node, int], uses: Uses) -> list[Node]:
    """Return the pending nodes outside a flush that need its intermediate results.

    If they were not computed too, the intermediate results would be recomputed for each of them.
    Also, in a loop that reads one of several interdependent states, the expressions of the other
    states would grow in every iteration.
    """
    program = request.program
    order, slots = program.nodes, program.slots
    if request.previews or not _outside(request, pending):
        return []
    passing = [
        node
        for node in order
        if node.inputs and not node.ref_count and not _will_be_stored(program, node)
    ]
    if not passing:
        return []
    shared = _shared(request, pending, uses)
    needed = [node for node in passing if slots[node] in shared]
    if not needed:
        return []
    # list(): another thread may record nodes while this runs.
    outside = [
        node
        for node in list(pending)
        if node.ref_count and node.meta.nbytes <= request.max_bytes and node not in slots
    ]
    return _needing(slots, needed, outside)


def _outside(request: Request, pending: Mapping[Node, int]) -> int:
    """Count the pending nodes outside a flush.

    If they are few, those that need none of its intermediate results are left out: nodes without
    operands, and views of its outputs.
    """
    count = len(pending) - sum(map(pending.__contains__, request.live))
    if 0 < count <= FEW:
        slots, outputs = request.program.slots, request.program.outputs
        # list(): another thread may record nodes while this runs.
        outside = [node for node in list(pending) if node.inputs and node not in slots]
        return sum(slots.get(bottom(node)) not in outputs for node in outside)
    return count


def _will_be_stored(program: Program, node: Node) -> bool:
    below = bottom(node)
    return below.storage is not None or program.slots[below] in program.outputs


def _shared(request: Request, pending: Mapping[Node, int], uses: Uses) -> set[int]:
    """Return the slots of a flush that are operands of pending nodes outside, or ancestors."""
    count = _outside(request, pending)
    if count <= 0:
        return set()
    if count <= max(FEW, len(request.program.nodes)):
        slots = request.program.slots
        return _reached(slots, [node for node in list(pending) if node not in slots])
    uses.count(pending, request.program.slots)
    return uses.outside(request.program.nodes)


def _reached(slots: dict[Node, int], outside: Iterable[Node]) -> set[int]:
    """Return the slots of a flush that nodes outside, or their ancestors, have as operands.

    The search stops at nodes of the flush.
    """
    reached: set[int] = set()
    nodes = list(outside)
    seen = set(nodes)
    for node in nodes:  # grows during the loop
        for operand in node.inputs:
            if operand in slots:
                reached.add(slots[operand])
            elif operand.inputs and operand not in seen:
                seen.add(operand)
                nodes.append(operand)
    return reached


def _needing(slots: dict[Node, int], needed: Iterable[Node], outside: list[Node]) -> list[Node]:
    """Return the nodes of `outside` that reach some of `needed` without passing the flush."""
    needing = set(needed)
    done: set[Node] = set()
    stack = outside[::-1]
    while stack:
        node = stack[-1]
        rest = [x for x in node.inputs if x.inputs and x not in done and x not in slots]
        if rest and node not in done:
            stack += rest
            continue
        stack.pop()
        done.add(node)
        if not needing.isdisjoint(node.inputs):
            needing.add(node)
    return [node for node in outside if node in needing]
