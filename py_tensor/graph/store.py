"""Which nodes get a buffer: the rules of cost by which shared and large work is stored or redone.

A node is stored if somebody holds it, if it is a reduction, contraction or concatenation that its
consumer cannot take in, or if inlining it into its consumers would cost more than to store it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any, cast

from py_tensor.graph.kernel import FAULTS
from py_tensor.graph.node import Node
from py_tensor.graph.op import Folding, layout_of
from py_tensor.graph.order import Request, bottom
from py_tensor.graph.reasons import Notes, Reason
from py_tensor.graph.repetition import cuts
from py_tensor.layout import compose
from py_tensor.shapes import row_major

MAX_BODY = 96  # ops inlined into one kernel: bounds compile time and registers
MAX_RECOMPUTED_COST = 64  # instructions per element that several kernels may each compute anew
CHEAP_UNDER_EXPANSION = 4  # instructions that may be repeated for every broadcast copy
MANY_SINKS = 6
MANY_PLACES = 8
MANY_TIMES = 2.5  # at which one kernel would compute an element again


Place = tuple[int, int, int, bool]  # a kernel's root, a view, points, whether they repeat elements


@dataclass(frozen=True, slots=True)
class Operand:
    """What is read of a stored node, and by which strides.

    Those of a contraction's operand go over (kept, reduced), those of a gather's over its axes.
    """

    slot: int
    strides: tuple[int, ...]
    offset: int


@dataclass(slots=True)
class Decisions:
    """What is stored, and why it matters to the builder.

    Attributes
    ----------
    stored : set of int
        Slots that get a buffer, `wanted` included; reductions and the like may join later.
    cut : set of int
        Stored because a kernel would grow too large: never merged into a consumer's kernel.
    sources : list of frozenset
        The buffers that inlining the node reads; `FAULTS` where it notes indices out of range.
    part : list of int
        In which part of a loop each node lies, where loops are cut.
    depth : list of int
        Nodes of equal depth can share a kernel.
    contractions : dict
        Anchors that are computed as a matrix product.
    buffered : dict
        What a node reads from buffers by indices, as `Op.buffered` names it. It is in `cut`: no
        kernel both computes it and reads it so.
    notes : dict
        Why a slot is stored, where that was decided here.
    """

    order: list[Node]
    slots: dict[Node, int]
    stored: set[int]
    cut: set[int] = field(default_factory=set[int])
    sources: list[frozenset[int]] = field(default_factory=list[frozenset[int]])
    inlined: list[frozenset[int]] = field(default_factory=list[frozenset[int]])
    part: list[int] = field(default_factory=list[int])
    depth: list[int] = field(default_factory=list[int])
    consumers: list[list[int]] = field(default_factory=list[list[int]])
    contractions: dict[int, tuple[Operand, Operand]] = field(
        default_factory=dict[int, tuple[Operand, Operand]]
    )
    buffered: dict[int, tuple[Operand, ...]] = field(default_factory=dict[int, tuple[Operand, ...]])
    max_bytes: int = 2**62  # of one buffer
    notes: Notes = field(default_factory=dict[int, Reason])

    def store(self, slot: int, reason: Reason) -> None:
        """Give a pending node a buffer."""
        self.stored.add(slot)
        self.notes.setdefault(slot, reason)

    def kernel_of(self, slot: int) -> tuple[Any, ...]:
        """Equal for stored values that one kernel computes, as far as it has room for them."""
        node = self.order[slot]
        if is_inline(node) and not node.op.shifts and slot not in self.cut:
            return self.depth[slot], node.meta.shape
        return (slot,)

    def cost(self, slot: int, limit: int) -> int:
        """Instructions for an element, from what is stored; past the limit they are not counted."""
        found, seen, stack = 0, {slot}, [slot]
        while stack and found <= limit:
            node = self.order[stack.pop()]
            found += node.op.cost if node.op.inline else 0
            for operand in node.inputs:
                below = self.slots[operand]
                if operand.storage is None and below not in self.stored and below not in seen:
                    seen.add(below)
                    if not is_anchor(operand):
                        stack.append(below)
        return found

    def is_costly(self, slot: int, points: int) -> bool:
        """Whether a value is much to compute at so many points rather than at its own."""
        node = self.order[slot]
        if node.storage is not None or slot in self.stored:
            return False
        limit = CHEAP_UNDER_EXPANSION if points <= 2 * node.meta.size else 1
        return self.cost(slot, limit) > limit


def is_anchor(node: Node) -> bool:
    """Whether the node, if pending, ends a kernel: its consumers see only its result."""
    return node.storage is None and (node.op.folds or node.op.barrier)


def is_folded(node: Node) -> bool:
    """Whether the node, if pending, is a reduction, whose consumers may join its kernel."""
    return node.storage is None and node.op.folds


def is_inline(node: Node) -> bool:
    """Whether the node, if pending, can be computed inside its consumer's kernel."""
    return node.storage is None and node.op.inline


def is_flat(node: Node) -> bool:
    """Whether a movement keeps every flat index: a reshape, or a permutation that moves nothing."""
    return (
        node.op.reads_by_map
        and node.meta.size == node.inputs[0].meta.size
        and layout_of(node).is_contiguous
    )


def decide(request: Request, max_buffers: int, cut: set[int]) -> Decisions:
    """Apply the rules to the nodes of a flush, those of `cut` stored; linear in their number."""
    decisions = Decisions(
        request.order,
        request.slots,
        request.wanted | cut,
        set(cut),
        max_bytes=request.max_bytes,
    )
    decisions.notes.update((slot, Reason.BUFFERS) for slot in cut)
    _consumers(decisions)
    _contractions(decisions)
    _buffered(decisions)
    _store_reread(decisions)
    _cut_loops(decisions)
    _cut_large(decisions, max_buffers)
    _depths(decisions)
    _store_shared(decisions)
    return decisions


def _consumers(d: Decisions) -> None:
    d.consumers = [[] for _ in d.order]
    for slot, node in enumerate(d.order):
        if node.storage is None:
            for operand in node.inputs:
                d.consumers[d.slots[operand]].append(slot)


def space_of(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of an anchor's operand: (kept, reduced)."""
    axes: tuple[int, ...] = node.attrs
    rank = len(node.inputs[0].meta.shape)
    return tuple(a for a in range(rank) if a not in axes), axes


def _contractions(d: Decisions) -> None:
    """Find the products of matrices, and store their operands."""
    for slot, node in enumerate(d.order):
        factors = _factors(d, node)
        if factors is None:
            continue
        kept, reduced = space_of(node)
        shape = factors[0].meta.shape
        a, b = (_trace(d, factor, kept + reduced) for factor in factors)
        rows = any(shape[k] > 1 and a.strides[i] and not b.strides[i] for i, k in enumerate(kept))
        columns = any(
            shape[k] > 1 and b.strides[i] and not a.strides[i] for i, k in enumerate(kept)
        )
        large = any(
            d.order[o.slot].storage is None and d.order[o.slot].meta.stored_nbytes > d.max_bytes
            for o in (a, b)
        )
        if rows and columns and not large:
            d.contractions[slot] = a, b
            for operand in (a, b):
                if d.order[operand.slot].storage is None:
                    d.store(operand.slot, Reason.FACTOR)


def _buffered(d: Decisions) -> None:
    """Store what ops read from buffers by indices, apart from what does that."""
    for slot, node in enumerate(d.order):
        buffered = node.op.buffered(node) if node.storage is None else ()
        if buffered:
            # An address inside a body can follow any map; a pass of its own reads buffers in order.
            trace = _trace if node.op.inline else _in_order
            found = [trace(d, x, tuple(range(len(x.meta.shape)))) for x in buffered]
            d.buffered[slot] = tuple(found)
            for operand in found:
                if d.order[operand.slot].storage is None:
                    d.store(operand.slot, node.op.stored_because)
                    d.cut.add(operand.slot)


def _factors(d: Decisions, node: Node) -> tuple[Node, Node] | None:
    """The two operands, of one shape, whose product is summed."""
    if not is_folded(node) or node.meta.dtype.kind == "b":
        return None
    fold, multiplied = cast("Folding", node.op).folding()
    if multiplied is not None:
        return node.inputs[0], node.inputs[1]
    product = node.inputs[0]
    if product.storage is None and product.op is fold.product and d.slots[product] not in d.stored:
        a, b = product.inputs
        return (a, b) if a.meta.shape == b.meta.shape == product.meta.shape else None
    return None


def _trace(d: Decisions, node: Node, axes: tuple[int, ...]) -> Operand:
    """Follow movement down to the node whose buffer will be read."""
    units = row_major(node.meta.shape)
    strides, offset = tuple(units[a] for a in axes), 0
    ranges = tuple((0, node.meta.shape[a]) for a in axes)
    while node.storage is None and node.op.reads_by_map and d.slots[node] not in d.stored:
        if not is_flat(node):
            composed = compose(strides, offset, ranges, layout_of(node))
            if composed is None:
                break
            strides, offset = composed
        node = node.inputs[0]
    return Operand(d.slots[node], strides, offset)


def _in_order(d: Decisions, node: Node, axes: tuple[int, ...]) -> Operand:
    """The node whose buffer holds the elements in their order."""
    units = row_major(node.meta.shape)
    while node.storage is None and d.slots[node] not in d.stored and is_flat(node):
        node = node.inputs[0]
    return Operand(d.slots[node], units, 0)


def _cut_large(d: Decisions, max_buffers: int) -> None:
    """Store operands where a kernel would bind too many buffers or grow too long."""
    for slot, node in enumerate(d.order):
        if node.storage is not None:
            d.sources.append(frozenset((slot,)))
            d.inlined.append(frozenset())
        elif node.op.generates:
            d.sources.append(frozenset())
            d.inlined.append(frozenset())
        elif node.op.is_written_by_parts(node):
            d.sources.append(frozenset((slot,)))
            d.inlined.append(frozenset())
        elif is_anchor(node):
            _cut_reduced(d, node, max_buffers)
            d.sources.append(frozenset((slot,)))
            d.inlined.append(frozenset())
        else:
            sources, inlined = _needs(d, node)
            while len(sources) >= max_buffers or len(inlined) >= MAX_BODY:
                reason = Reason.BUFFERS if len(sources) >= max_buffers else Reason.LONG
                if not _cut_one(d, node, reason):
                    break
                sources, inlined = _needs(d, node)
            d.sources.append(sources)
            d.inlined.append(inlined | {slot} if is_inline(node) else inlined)


def _cut_reduced(d: Decisions, node: Node, max_buffers: int) -> None:
    """A pass binds buffers beside what it reads: parts of accumulators, places, the result."""
    beside = node.op.work_buffers
    while len(_needs(d, node)[0]) + beside > max_buffers and _cut_one(d, node, Reason.BUFFERS):
        pass


def _needs_through(d: Decisions, slot: int) -> tuple[frozenset[int], frozenset[int]]:
    """What a consumer of `slot` reads and inlines through it."""
    if slot in d.stored:
        return frozenset((slot,)), frozenset()
    return d.sources[slot], d.inlined[slot]


def _needs(d: Decisions, node: Node) -> tuple[frozenset[int], frozenset[int]]:
    """The buffers that a kernel reads to compute a node, and the nodes that it computes inline."""
    sources: frozenset[int] = frozenset()
    inlined: frozenset[int] = frozenset()
    for operand in node.inputs:
        more, code = _needs_through(d, d.slots[operand])
        sources, inlined = sources | more, inlined | code
    if node.op.notes_faults(node):
        sources |= {FAULTS}
    return sources, inlined


def _cut_one(d: Decisions, node: Node, reason: Reason) -> bool:
    """Store the operand that brings the most; False where there is none left to store."""
    candidates: list[tuple[int, int, int]] = []
    for operand in node.inputs:
        lowest = bottom(operand)
        slot = d.slots[lowest]
        if is_inline(lowest) and slot not in d.stored:
            sources, inlined = _needs_through(d, slot)
            candidates.append((len(sources), len(inlined), slot))
    if not candidates:
        return False
    slot = max(candidates)[2]
    d.store(slot, reason)
    d.cut.add(slot)
    return True


def _store_reread(d: Decisions) -> None:
    """Store what one kernel would compute at several places.

    A place is a kernel and the movement through which it sees the value. From the results down, so
    that places multiply along a chain; and what is stored is one place for all below it.
    """
    views: dict[tuple[int, ...], int] = {}
    places: list[frozenset[Place]] = [frozenset()] * len(d.order)
    for slot in range(len(d.order) - 1, -1, -1):
        node = d.order[slot]
        if node.storage is not None or node.op.generates:
            continue
        if node.op.is_written_by_parts(node):
            d.store(slot, Reason.CONCAT)
        found: set[Place] = set()
        for number, consumer in enumerate(d.consumers[slot]):
            above = d.order[consumer]
            ends = consumer in d.stored or is_anchor(above)
            seen = ((consumer, 0, _points(above, node), False),) if ends else places[consumer]
            if above.op.shifts or (above.op.reads_by_map and not is_flat(above)):
                operand = number if above.op.shifts else 0  # one node may be several operands
                expands = above.op.reads_by_map and above.meta.size > node.meta.size
                for kernel, view, points, expanded in seen:
                    for place in range(above.op.places(above)):
                        moved = view, above.key, operand, place
                        number_of_view = views.setdefault(moved, len(views) + 1)
                        found.add((kernel, number_of_view, points, expanded or expands))
            else:
                found.update(seen)
            if len(found) > MANY_PLACES:
                break
        places[slot] = frozenset(islice(found, MANY_PLACES))
        if is_inline(node) and slot not in d.stored and _is_reread(d, node, found):
            d.store(slot, Reason.REREAD)


def _is_reread(d: Decisions, node: Node, places: Iterable[Place]) -> bool:
    """Whether some kernel computes each element of a value more often than a few times.

    A place that sees a part of the value counts as that part, and one that computes it for all
    points of a larger space as so many; but copies by broadcasting count as one.
    """
    if node.meta.stored_nbytes > d.max_bytes or not node.meta.size:
        return False
    counts: dict[int, float] = {}
    for kernel, _, points, expanded in places:
        times = points / node.meta.size
        counts[kernel] = counts.get(kernel, 0.0) + (min(times, 1.0) if expanded else times)
    return max(counts.values(), default=0.0) >= MANY_TIMES


def _points(root: Node, operand: Node) -> int:
    """The points at which the kernel of `root` computes its operand."""
    if is_anchor(root) or root.op.is_written_by_parts(root):
        return operand.meta.size
    return root.meta.size


def _cut_loops(d: Decisions) -> None:
    """Cut loops between passes, and store what later parts need of earlier ones."""
    last_use = [max(found, default=-1) for found in d.consumers]
    starts = set(cuts(d.order, d.slots, last_use, d.stored, MAX_BODY))
    d.part = list(accumulate(slot in starts for slot in range(len(d.order))))
    for slot, node in enumerate(d.order):
        below = bottom(node)
        crosses = last_use[slot] >= 0 and d.part[last_use[slot]] != d.part[slot]
        if crosses and is_inline(below) and below.meta.stored_nbytes <= d.max_bytes:
            d.store(d.slots[below], Reason.LOOP)


def _store_shared(d: Decisions) -> None:
    """Store what several kernels, or many broadcast copies, would compute anew at a higher cost."""
    sinks: list[frozenset[tuple[Any, ...]]] = [frozenset()] * len(d.order)
    copies = [1.0] * len(d.order)
    for slot in range(len(d.order) - 1, -1, -1):
        node = d.order[slot]
        reached: frozenset[tuple[Any, ...]] = frozenset()
        repeated = 1.0
        for consumer in d.consumers[slot]:
            above = d.order[consumer]
            ends = consumer in d.stored or is_anchor(above)
            if len(reached) < MANY_SINKS:
                reached |= frozenset((d.kernel_of(consumer),)) if ends else sinks[consumer]
            if above.op.reads_by_map and node.meta.size:
                beyond = 1.0 if consumer in d.stored else copies[consumer]
                repeated = max(repeated, beyond * above.meta.size / node.meta.size)
            elif not ends:
                repeated = max(repeated, copies[consumer])
        sinks[slot], copies[slot] = reached, repeated
        if is_inline(node) and slot not in d.stored:
            reason = _worth_storing(d, slot, len(reached), repeated)
            if reason is not None:
                d.store(slot, reason)


def _worth_storing(d: Decisions, slot: int, kernels: int, copies: float) -> Reason | None:
    """The rule of cost, in buffer accesses per element and in instructions.

    Stored, a value costs what it reads, one write, and a read in each kernel; recomputed, what it
    reads in each kernel.
    """
    if d.order[slot].meta.stored_nbytes > d.max_bytes:
        return None
    reads = len(d.sources[slot] - {FAULTS})
    cost = sum(d.order[s].op.cost for s in d.inlined[slot])
    if copies >= 2 and (cost > CHEAP_UNDER_EXPANSION or _has_pending_source(d, slot)):
        return Reason.REPEATED
    recomputes = kernels * reads <= reads + 1 + kernels and kernels * cost <= MAX_RECOMPUTED_COST
    return Reason.SHARED if kernels > 1 and not recomputes else None


def _has_pending_source(d: Decisions, slot: int) -> bool:
    return any(d.order[s].storage is None for s in d.sources[slot] if s != FAULTS)


def _depths(d: Decisions) -> None:
    """Count, along each path, the edges that no kernel can span.

    Two nodes of equal depth, one the other's ancestor, are joined only by edges inside which the
    flat index stays the same, so that one kernel can compute both.
    """
    for at, node in enumerate(d.order):
        depth = 0
        if node.storage is None:
            shifts = (node.op.reads_by_map and not is_flat(node)) or node.op.shifts
            for operand in node.inputs:
                pending = operand.storage is None and not operand.op.constant
                slot = d.slots[operand]
                ends = is_anchor(operand) or slot in d.cut
                ends = ends or d.part[slot] != d.part[at]
                depth = max(depth, d.depth[slot] + (pending and (shifts or ends)))
            if is_anchor(node):
                depth += 1
        d.depth.append(depth)
