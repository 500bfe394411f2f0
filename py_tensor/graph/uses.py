"""Other uses of the nodes of a flush: what it may overwrite, and what is computed with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping

from py_tensor.graph.node import Node
from py_tensor.graph.order import OVERWRITTEN_BYTES, Request, bottom

FEW = 16  # pending nodes outside a flush, however small, that are looked through for it


class Uses(dict[Node, int]):
    """How often each node is an operand of what pending nodes are made of.

    To walk through all that is pending for each of many requests would take time quadratic in its
    size. So each node is counted once, when a request is made among many pending nodes. A node
    that is here is counted, with all its operands; and it is kept alive. Whoever takes a pending
    one from its device but by a flush that came to its end has to begin with an empty table.

    Attributes
    ----------
    is_changing : bool
        Set while counts are changed; where it stays set, an interrupt has left them wrong.
    """

    __slots__ = ("_youngest", "is_changing")

    def __init__(self) -> None:
        super().__init__()
        self.is_changing = False
        self._youngest: Node | None = None  # of the pending nodes that are counted

    def count(self, pending: Iterable[Node], inside: Container[Node]) -> None:
        """Count what pending nodes, youngest last, and their ancestors have as operands.

        Those that are `inside` a flush soon are pending no more.
        """
        self.is_changing = True
        stack: list[Node] = []
        nodes = list(pending)  # finalizers may take nodes out while this runs
        for node in reversed(nodes):
            if node is self._youngest:
                break  # it was pending then, and so was all that is older
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
        """Those of the nodes that were counted, and their operands."""
        return [(node, node.inputs) for node in order if node in self] if self else []

    def outside(self, order: list[Node]) -> set[int]:
        """The slots of those nodes of a flush that are operands of counted ones outside."""
        inside = Counter([x for _, operands in self.counted(order) for x in operands])
        return {slot for slot, node in enumerate(order) if self.get(node, 0) > inside[node]}

    def remove(
        self, counted: list[tuple[Node, tuple[Node, ...]]], pending: Mapping[Node, int]
    ) -> None:
        """Take out what a flush computed, and what was there for nothing else.

        `counted` is what the method of that name gave for the order of the flush before.
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

    A tensor reads what it holds, and so do the views of it that tensors hold: both count as
    `live`. A pending node reads its operands: those of the flush drop theirs as they are stored,
    and what is computed in passing is needed no more, unless something outside has it as an
    operand.

    Parameters
    ----------
    others : callable
        Gives whatever may still be computed beside pending nodes: the nodes that the request was
        made for, and those that others compute now. Nodes of the flush may be among them.
    may_overwrite : callable
        Whether the backend can write over the elements of a stored node.
    """
    order, slots, wanted = request.order, request.slots, request.wanted
    leaves = [
        slot
        for slot, node in enumerate(order)
        if node.storage is not None
        and node.meta.nbytes >= OVERWRITTEN_BYTES
        and not node.live
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
        if lives_on and (slot in kept or node.live or node in pending):
            kept.update([slots[operand] for operand in node.inputs])
    return frozenset(leaves) - kept


def dependents(request: Request, pending: Mapping[Node, int], uses: Uses) -> list[Node]:
    """Those of the pending nodes outside a flush that need what it computes in passing.

    Without them that would be computed again with each, and in a loop that reads one of several
    states that depend on each other, the expressions of the others would grow by every round.
    """
    order, slots = request.order, request.slots
    if not _outside(request, pending):
        return []
    passing = [
        node
        for node in order
        if node.inputs and not node.live and not _will_be_stored(request, node)
    ]
    if not passing or request.previews:
        return []
    shared = _shared(request, pending, uses)
    needed = [node for node in passing if slots[node] in shared]
    if not needed:
        return []
    # list(): finalizers may take nodes out while this runs.
    outside = [
        node
        for node in list(pending)
        if node.live and node.meta.nbytes <= request.max_bytes and node not in slots
    ]
    return _needing(slots, needed, outside)


def _outside(request: Request, pending: Mapping[Node, int]) -> int:
    """How many pending nodes are no part of a flush; of few, those alone that have operands."""
    count = len(pending) - sum(map(pending.__contains__, request.live))
    if 0 < count <= FEW:
        # list(): finalizers may take nodes out while this runs.
        return sum(bool(node.inputs) and node not in request.slots for node in list(pending))
    return count


def _will_be_stored(request: Request, node: Node) -> bool:
    below = bottom(node)
    return below.storage is not None or request.slots[below] in request.wanted


def _shared(request: Request, pending: Mapping[Node, int], uses: Uses) -> set[int]:
    """The slots of those nodes of a flush that are operands of what pending nodes outside need."""
    count = _outside(request, pending)
    if count <= 0:
        return set()
    if count <= max(FEW, len(request.order)):
        slots = request.slots
        return _reached(slots, [node for node in list(pending) if node not in slots])
    uses.count(pending, request.slots)
    return uses.outside(request.order)


def _reached(slots: dict[Node, int], outside: Iterable[Node]) -> set[int]:
    """The slots of those nodes of a flush that are operands of nodes outside and their ancestors.

    Goes no further than the flush.
    """
    found: set[int] = set()
    nodes = list(outside)
    seen = set(nodes)
    for node in nodes:  # grows on the way
        for operand in node.inputs:
            if operand in slots:
                found.add(slots[operand])
            elif operand.inputs and operand not in seen:
                seen.add(operand)
                nodes.append(operand)
    return found


def _needing(slots: dict[Node, int], needed: Iterable[Node], outside: list[Node]) -> list[Node]:
    """Those nodes outside a flush that need some of its nodes, by a path with no other of them."""
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
