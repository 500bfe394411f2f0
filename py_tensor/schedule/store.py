"""Which nodes get a buffer: the cost rules for storing or recomputing values.

A node is stored if a tensor refers to it, if it ends a kernel, if a loop is cut after it, or if
computing it inside its consumers would cost more than storing it. `Program.loops` has the loops.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from math import prod
from typing import Any, NamedTuple, cast

from py_tensor.base.layout import Layout, compose, coordinates
from py_tensor.base.shapes import row_major
from py_tensor.ir.node import Node, Reason
from py_tensor.ir.op import Assign, Concat, Folding, is_flat, layout_of
from py_tensor.ir.program import Program
from py_tensor.schedule.body import Access, Load, Start
from py_tensor.schedule.kernel import FAULTS, MAX_BODY, Budget, Draft
from py_tensor.schedule.loops import cuts
from py_tensor.schedule.order import bottom

MAX_RECOMPUTED_COST = 64  # instructions per element that several kernels may each recompute
CHEAP_UNDER_EXPANSION = 4  # instructions that may be repeated for every broadcast copy
MANY_COPIES = 1 << 22  # elements whose repetition may cost more than another dispatch
MANY_SINKS = 6  # kernels that use a value; the search stops at this number
MANY_USES = 8  # more uses of a value are combined, one for each kernel
MAX_UNROLLED = 16  # most elements that a reduction folds as arithmetic in another kernel
MAX_EXAMINED = 32  # consumers that are examined
MAX_FOLLOWED = 4  # nested concatenations through which movement is followed to one operand
MANY_TIMES = 2.5  # store a value if one kernel would compute each element this often
TWICE = 2.0  # the same if other kernels compute it as well
SEVERAL_TIMES = 1.2  # the same with `computes_once`


Path = list[tuple[Node, bool]]  # see `Decisions.pieces`
# Of a value: the root of the kernel, a view, its number of points, and whether these include
# broadcast copies.
Use = tuple[int, int, float, bool]


class Needs(NamedTuple):
    """What a kernel needs to compute a value.

    Attributes
    ----------
    sources : frozenset of int
        The buffers that it reads, with `FAULTS` if it checks indices.
    inlined : frozenset of int
        The nodes that it computes inline.
    """

    sources: frozenset[int] = frozenset()
    inlined: frozenset[int] = frozenset()

    def joined(self, other: Needs) -> Needs:
        return Needs(self.sources | other.sources, self.inlined | other.inlined)


@dataclass(frozen=True, slots=True)
class Rules:
    """How a flush is planned: the limits of the device, and what earlier attempts have shown.

    Attributes
    ----------
    constants_differ : bool
        See `schedule`.
    spilled : dict
        Slots that are stored in any case -> why.
    apart : set of int
        Slots that get their own kernels.
    computes_once : bool
        Store shared values even if recomputing them is cheap.
    stores_pieces : bool
        Store small values that large kernels see through several views.
    rerolls : bool
        A kernel may run the iterations of a loop as a loop.
    """

    budget: Budget
    constants_differ: bool = False
    spilled: Mapping[int, Reason] = field(default_factory=dict[int, Reason])
    apart: frozenset[int] = frozenset()
    computes_once: bool = False
    stores_pieces: bool = False
    rerolls: bool = True


@dataclass(frozen=True, slots=True)
class Decisions:
    """The storage decisions for a flush; nothing changes them after `decide`.

    Attributes
    ----------
    program : Program
        What is decided about. Its nodes and slots are `order` and `slots` here.
    stored : set of int
        Slots that get a buffer, including the outputs of the program.
    unrolled : set of Node
        Reductions of a few elements, computed like elementwise ops.
    pieces : dict
        Movement of a concatenation that only sees one of its operands -> this operand, then its
        operand if it is such a concatenation too, and so on. With each, whether the movement has
        all of its elements in the same order.
    seen_by : dict
        The inverse of `pieces`, by slots.
    inline_gathers : set of Node
        Gathers that compute their operand at the indices instead of reading it from a buffer.
    spilled : set of int
        Slots stored because a kernel would grow too large; never merged into a consumer's kernel.
    needs : list of Needs
        For each slot, what computing the node inline takes.
    wide_selects : set of int
        Inline nodes that choose among more than two operands.
    segment : list of int
        For each slot, the number of its segment of the flush, which loop cuts divide.
    rerolled : list of range
        The loops whose iterations all run in one kernel; the step is the period.
    in_first : dict
        In such a loop: slot of a later iteration -> the same slot in the first iteration.
    iterations : dict
        In such a loop: slot of the first iteration -> number of iterations.
    merged_constants : dict
        In such a loop: slot of a constant -> equal constant of the first iteration.
    depth : list of int
        Nodes of equal depth can share a kernel.
    contractions : dict
        Anchors that are computed as a matrix product -> their operands over (kept, reduced).
    buffered : dict
        Slot -> the operands, over their axes, that it reads by indices (`Op.buffered`). They are
        `spilled`, so no kernel both computes and reads them.
    reasons : dict
        Slot -> why other kernels of the flush read it from a buffer, if it was stored for that.
    """

    order: list[Node]
    slots: dict[Node, int]
    program: Program
    rules: Rules
    stored: set[int]
    spilled: set[int]
    reasons: dict[int, Reason]
    needs: list[Needs] = field(default_factory=list[Needs])
    wide_selects: set[int] = field(default_factory=set[int])
    unrolled: set[Node] = field(default_factory=set[Node])
    pieces: dict[Node, Path] = field(default_factory=dict[Node, Path])
    seen_by: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    inline_gathers: set[Node] = field(default_factory=set[Node])
    segment: list[int] = field(default_factory=list[int])
    in_first: dict[int, int] = field(default_factory=dict[int, int])
    iterations: dict[int, int] = field(default_factory=dict[int, int])
    rerolled: list[range] = field(default_factory=list[range])
    merged_constants: dict[int, int] = field(default_factory=dict[int, int])
    depth: list[int] = field(default_factory=list[int])
    consumers: list[list[int]] = field(default_factory=list[list[int]])
    contractions: dict[int, tuple[Load, Load]] = field(default_factory=dict[int, tuple[Load, Load]])
    buffered: dict[int, tuple[Load, ...]] = field(default_factory=dict[int, tuple[Load, ...]])

    def map_of(self, slot: int) -> tuple[Layout, Start | None]:
        """Return the map of a movement node or an assignment, and what is added to its offset."""
        node, view = self.order[slot], self.program.free_views.get(slot)
        layout = Layout(*node.attrs) if isinstance(node.op, Assign) else layout_of(node)
        if view is None:
            return layout, None
        return replace(layout, offset=0), Start(self.program.starts[slot], view.alignment)

    def is_anchor(self, node: Node) -> bool:
        """Return whether the node, if pending, ends a kernel: its consumers see only its result."""
        return node.storage is None and (node.op.barrier or self.is_reduction(node))

    def is_loaded(self, node: Node) -> bool:
        """Return whether the kernels that use the node read it from a buffer."""
        return node.storage is not None or self.is_anchor(node) or self._is_stored(node)

    def is_written_in_pieces(self, node: Node) -> bool:
        """Return whether several kernels write the node, as one would read too many buffers."""
        cut = node.op.variadic and self.slots[node] in self.spilled
        return cut or node.op.is_written_in_pieces(node)

    def is_reduction(self, node: Node) -> bool:
        """Return whether the node is a pending reduction, whose consumers may join its kernel."""
        return node.storage is None and node.op.is_reduction and node not in self.unrolled

    def is_inline(self, node: Node) -> bool:
        """Return whether the node, if pending, can be computed inside its consumer's kernel."""
        return node.storage is None and (node.op.inline or node in self.unrolled)

    def shifts(self, node: Node) -> bool:
        """Return whether an inline node may be computed from its operands at other indices."""
        return node.op.shifts or node in self.unrolled or node in self.inline_gathers

    def reads_per_element(self, node: Node) -> int:
        """Return the number of elements of an operand that one element of an inline node uses."""
        return repeats_of(node) if node in self.unrolled else node.op.reads_per_element(node)

    def kernel_of(self, slot: int) -> tuple[Any, ...]:
        """Return a key that is equal for stored values that may share a kernel."""
        node = self.order[slot]
        if self.is_inline(node) and slot not in self.spilled:
            return self.depth[slot], node.meta.shape
        return (slot,)

    def words(self, node: Node) -> int:
        """Return the words of an anchor's accumulator that one dispatch may pass to another."""
        folds = isinstance(node.op, Folding) and self.slots[node] not in self.contractions
        return cast("Folding", node.op).words(node) if folds else 0

    def cost_of(self, node: Node) -> int:
        """Return the instructions per element of an inline node itself."""
        return repeats_of(node) if node in self.unrolled else node.op.cost

    def cost(self, slot: int, limit: int) -> int:
        """Return the instructions per element from stored values; stop counting above the limit."""
        cost = 0
        for node in self.below(slot):
            if self.is_inline(node) and (node is self.order[slot] or not self._is_stored(node)):
                cost += self.cost_of(node)
            if cost > limit:
                break
        return cost

    def operands(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that a pending node is computed from, given what is stored."""
        source, _ = self.piece(node)
        return node.inputs if source is None else (source,)

    def piece(self, node: Node) -> tuple[Node | None, bool]:
        """Return the first node on its path in `pieces` that a kernel would read or compute.

        None if movement reads its own operand. Also return whether the node has all of its
        elements in the same order.
        """
        path = self.pieces.get(node, ())
        piece: tuple[Node | None, bool] = None, is_flat(node)
        source = node.inputs[0] if path else None
        for step in path:
            if source is None or self._is_stored(source):
                break
            piece = step
            source = step[0]
        return piece

    def used_by(self, slot: int) -> list[int]:
        """Return the consumers of a node, as given by `operands`."""
        consumers = self.consumers[slot]
        if self.pieces:
            consumers = [*consumers, *self.seen_by.get(slot, ())]
            consumers = [x for x in consumers if self.order[slot] in self.operands(self.order[x])]
        return consumers

    def needs_of(self, slot: int, stored: Set[int]) -> Needs:
        """Return what a consumer of the node in `slot` needs for it, given what is stored."""
        return Needs(frozenset((slot,))) if slot in stored else self.needs[slot]

    def _is_stored(self, node: Node) -> bool:
        return self.slots[node] in self.stored

    def below(self, slot: int) -> Iterator[Node]:
        """Yield the node in `slot` and its pending ancestors, down to and including stored ones."""
        seen, stack = {slot}, [slot]
        while stack:
            seen_slot = stack.pop()
            node = self.order[seen_slot]
            yield node
            if seen_slot == slot or not self.is_loaded(node):
                for operand in self.operands(node):
                    other = self.slots[operand]
                    if operand.storage is None and other not in seen:
                        seen.add(other)
                        stack.append(other)

    def is_costly(self, slot: int, points: int) -> bool:
        """Return whether a pending value is costly to compute at up to `points` points."""
        node = self.order[slot]
        if node.storage is not None or slot in self.stored:
            return False
        limit = CHEAP_UNDER_EXPANSION if points <= 2 * node.meta.size else 1
        return self.cost(slot, limit) > limit


def decide(program: Program, rules: Rules) -> Decisions:
    """Apply the rules to the nodes of a flush, in linear time."""
    spilled = set(rules.spilled)
    stored = {*program.outputs, *spilled}
    reasons = dict(rules.spilled)
    d = Decisions(program.nodes, program.slots, program, rules, stored, spilled, reasons)
    _find_consumers(d)
    _find_contractions(d)
    _unroll(d)
    _find_buffered(d)
    _store_reread(d)
    _cut_loops(d, program)
    _unroll(d)  # again: reductions may be cheaper now that states of loops are stored
    _spill_large(d)
    _find_depths(d)
    stored_before = len(stored)
    _store_shared(d)
    # A kernel may now bind more buffers: it reads the stored value, and the buffers of that value
    # may still be needed by others.
    if len(stored) > stored_before:
        _spill_large(d)
        _find_depths(d)
    return d


def _store(d: Decisions, slot: int, reason: Reason, *, spill: bool = False) -> None:
    """Give a pending node a buffer; with `spill`, no consumer's kernel computes it."""
    d.stored.add(slot)
    d.reasons.setdefault(slot, reason)
    if spill:
        d.spilled.add(slot)


def _find_consumers(d: Decisions) -> None:
    d.consumers.extend([] for _ in d.order)
    for slot, node in enumerate(d.order):
        if node.storage is None:
            if node.op.reads_by_map:
                _find_pieces(d, node)
            for operand in node.inputs:
                d.consumers[d.slots[operand]].append(slot)


def _find_pieces(d: Decisions, node: Node) -> None:
    """Find the operands of nested concatenations that movement sees, if it only sees one."""
    layout, source = layout_of(node), node.inputs[0]
    ranges = tuple((0, n) for n in layout.shape)
    path: Path = []
    while len(path) < MAX_FOLLOWED and isinstance(source.op, Concat) and source.storage is None:
        split = coordinates(layout.strides, layout.offset, ranges, source.meta.shape)
        if split is None or d.is_written_in_pieces(source):
            break
        offsets, matrix = split
        axis: int = source.attrs
        reach = [row[axis] * (n - 1) for row, n in zip(matrix, layout.shape, strict=True)]
        low = offsets[axis] + sum(min(x, 0) for x in reach)
        high = offsets[axis] + sum(max(x, 0) for x in reach)
        stops = list(accumulate(operand.meta.shape[axis] for operand in source.inputs))
        number = bisect(stops, low)
        if high >= stops[number]:
            break
        source = source.inputs[number]
        units = row_major(source.meta.shape)
        start = stops[number] - source.meta.shape[axis]
        layout = Layout(
            layout.shape,
            tuple(sum(m * u for m, u in zip(row, units, strict=True)) for row in matrix),
            sum(o * u for o, u in zip(offsets, units, strict=True)) - start * units[axis],
        )
        path.append((source, layout.is_contiguous and layout.size == source.meta.size))
        d.seen_by.setdefault(d.slots[source], []).append(d.slots[node])
    if path:
        d.pieces[node] = path


def space_of(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of an anchor's operand: (kept, reduced)."""
    axes: tuple[int, ...] = node.attrs
    rank = len(node.inputs[0].meta.shape)
    return tuple(a for a in range(rank) if a not in axes), axes


def _find_contractions(d: Decisions) -> None:
    """Find matrix products, and store their operands.

    The search goes from the results down, so that a product that is an operand of another one is
    already stored. A short product with few rows or columns becomes arithmetic in the kernels that
    use it.
    """
    for slot, node in reversed(list(enumerate(d.order))):
        factors = _factors(d, node)
        if factors is None:
            continue
        kept, reduced = space_of(node)
        shape = factors[0].meta.shape
        a, b = (_trace(d, factor, kept + reduced) for factor in factors)
        rows = _moved(shape, kept, a, b)
        columns = _moved(shape, kept, b, a)
        if 1 < min(rows, columns) <= MAX_UNROLLED and _is_arithmetic(d, node):
            d.unrolled.add(node)
            continue
        pending = [x.slot for x in (a, b) if d.order[x.slot].storage is None]
        largest = max((d.order[x].meta.nbytes for x in pending), default=0)
        if rows > 1 and columns > 1 and largest <= d.rules.budget.max_bytes:
            d.contractions[slot] = a, b
            for operand in pending:
                _store(d, operand, Reason.FACTOR)


def _moved(shape: tuple[int, ...], kept: tuple[int, ...], one: Load, other: Load) -> int:
    """Return the product of the extents that move only one operand of a product."""
    strides = zip(kept, one.access.strides, other.access.strides, strict=False)
    return prod(shape[axis] for axis, moves, other_moves in strides if moves and not other_moves)


def repeats_of(node: Node) -> int:
    """Return the number of elements that a reduction folds into one."""
    return node.inputs[0].meta.size // max(1, node.meta.size)


def _unroll(d: Decisions) -> None:
    """Find the reductions of few elements that become arithmetic in their consumers' kernels."""
    for slot, node in enumerate(d.order):
        if d.is_reduction(node) and slot not in d.contractions and _is_arithmetic(d, node):
            d.unrolled.add(node)


def _is_arithmetic(d: Decisions, node: Node) -> bool:
    """Return whether a reduction, of products or not, becomes arithmetic in its consumers."""
    return (
        repeats_of(node) <= MAX_UNROLLED
        and (len(node.inputs) == 1 or not node.inputs[0].meta.dtype.is_bool)
        and cast("Folding", node.op).folding()[0].pairwise is not None
        and _cost_below(d, node) * repeats_of(node) <= MAX_RECOMPUTED_COST
        and _is_inner(d, d.slots[node])
        and not _follows_over_rows(d, node)
    )


def _cost_below(d: Decisions, node: Node) -> int:
    pending = (x for x in node.inputs if x.storage is None)
    return sum(d.cost(d.slots[x], MAX_RECOMPUTED_COST) for x in pending)


def _follows_over_rows(d: Decisions, node: Node) -> bool:
    """Return whether a reduction follows another one over the same rows that is not unrolled."""
    return any(
        d.is_reduction(x) and x.attrs == node.attrs
        for operand in node.inputs
        for x in islice(d.below(d.slots[operand]), MAX_EXAMINED)
    )


def _is_inner(d: Decisions, slot: int) -> bool:
    """Return whether other kernels compute with a reduction, and none of them runs over its rows.

    If the result, or its epilogue, is stored, its own kernel serves rows of every length. If the
    result is broadcast over the reduced shape, and that is not reduced along other axes, one kernel
    may run over the rows twice. Only the nearest consumers are examined.
    """
    node = d.order[slot]
    shape = node.inputs[0].meta.shape
    inner = False
    seen, stack = {slot}, [slot]
    while stack:
        value = stack.pop()
        wide = d.order[value].meta.shape == shape
        if value in d.stored:
            if wide or value == slot:
                return False
            if value not in d.reasons:
                continue
            inner = True  # other kernels of the flush use it
        if wide and not d.consumers[value]:
            return False
        for consumer in d.consumers[value]:
            above = d.order[consumer]
            if d.is_reduction(above):
                if wide and above.attrs == node.attrs:
                    return False
                inner = True
            elif d.is_anchor(above):
                if wide:
                    return False
                inner = True
            elif len(seen) > MAX_EXAMINED:
                return inner
            elif consumer not in seen:
                moves = above.op.reads_by_map and not is_flat(above)
                inner = inner or moves or d.shifts(above)
                seen.add(consumer)
                stack.append(consumer)
    return inner


def _find_buffered(d: Decisions) -> None:
    """Store the operands that ops read from buffers by indices, in separate kernels."""
    for slot, node in enumerate(d.order):
        buffered = node.op.buffered(node) if node.storage is None else ()
        if buffered:
            # Addresses inside a body can use any strides; other kernels need contiguous buffers.
            in_order = not node.op.inline
            operands = [
                _trace(d, x, tuple(range(len(x.meta.shape))), in_order=in_order) for x in buffered
            ]
            if _reads_through(d, node) and _is_computed(d, d.order[operands[0].slot]):
                d.inline_gathers.add(node)
                continue
            d.buffered[slot] = tuple(operands)
            for operand in operands:
                if d.order[operand.slot].storage is None:
                    _store(d, operand.slot, node.op.stored_because, spill=True)


def _reads_through(d: Decisions, node: Node) -> bool:
    """Return whether a gather acts like movement: its indices are stored and in range."""
    return node.op.reads_through(node) and all(
        d.order[d.slots[bottom(index)]].storage is not None for index in node.inputs[1:]
    )


def _is_computed(d: Decisions, node: Node) -> bool:
    """Return whether a node where movement begins is computed inline in its consumers."""
    if d.slots[node] in d.stored or d.is_written_in_pieces(node):
        return False
    return d.is_inline(node) or (node.storage is None and node.op.generates)


def _factors(d: Decisions, node: Node) -> tuple[Node, Node] | None:
    """Return the two operands of one shape whose product is summed; None for other reductions."""
    if not d.is_reduction(node) or not node.meta.dtype.is_word:
        return None
    fold, multiplied = cast("Folding", node.op).folding()
    if multiplied is not None:
        return node.inputs[0], node.inputs[1]
    product = node.inputs[0]
    if product.storage is None and product.op is fold.product and d.slots[product] not in d.stored:
        a, b = product.inputs
        return (a, b) if a.meta.shape == b.meta.shape == product.meta.shape else None
    return None


def _trace(d: Decisions, node: Node, axes: tuple[int, ...], *, in_order: bool = False) -> Load:
    """Follow movement to the node whose buffer will be read; `in_order` keeps row-major order."""
    units = row_major(node.meta.shape)
    strides, offset, start = tuple(units[a] for a in axes), 0, None
    ranges = tuple((0, node.meta.shape[a]) for a in axes)
    while node.storage is None and node.op.reads_by_map and d.slots[node] not in d.stored:
        if not is_flat(node):
            layout, added = d.map_of(d.slots[node])
            composed = compose(strides, offset, ranges, layout)
            if composed is None or in_order:
                break
            (strides, offset), start = composed, added
        node = node.inputs[0]
    return Load(d.slots[node], node.meta.dtype, Access(strides, offset, start))


def _spill_large(d: Decisions) -> None:
    """Store operands where a kernel would bind too many buffers or grow too long."""
    d.needs.clear()
    for slot, node in enumerate(d.order):
        needs = None
        if node.storage is None and node.op.generates:
            needs = Needs()
        elif node.storage is None and not d.is_written_in_pieces(node):
            needs = _fitting(d, slot, node)
        d.needs.append(Needs(frozenset((slot,))) if needs is None else needs)


def _fitting(d: Decisions, slot: int, node: Node) -> Needs | None:
    """Store operands until a kernel that computes a node fits.

    Returns what its consumers then need to compute it; None if they read the node itself.
    """
    is_anchor = d.is_anchor(node)
    while True:
        needs = Needs(frozenset((FAULTS,))) if node.op.notes_faults(node) else Needs()
        for operand in d.operands(node):
            needs = needs.joined(d.needs_of(d.slots[operand], d.stored))
        if is_anchor:
            draft = Draft(inside=needs.sources, words=d.words(node), work=node.op.work_buffers)
        else:
            # A node that chooses among many operands counts each of its choices.
            choices = sum([len(d.order[s].inputs) for s in needs.inlined & d.wide_selects])
            draft = Draft(around=needs.sources, length=len(needs.inlined) + choices + 1)
        excess = d.rules.budget.excess(draft)
        if excess is None:
            break
        if node.op.variadic:  # kernels write parts of it
            _store(d, slot, Reason.CONCAT, spill=True)
            return None
        spilled = _largest_operand(d, node)
        if spilled is None:
            break
        _store(d, spilled, excess, spill=True)
    if is_anchor:
        return None
    if not d.is_inline(node):
        return needs
    counted = d.in_first.get(slot, slot)
    if node.op.variadic and len(node.inputs) > 2:
        d.wide_selects.add(counted)
    return Needs(needs.sources, needs.inlined | {counted})


def _largest_operand(d: Decisions, node: Node) -> int | None:
    """Return the operand that needs the most buffers and nodes; None if none can be stored."""
    candidates: list[tuple[int, int, int]] = []
    for operand in node.inputs:
        lowest = bottom(operand)
        slot = d.slots[lowest]
        if d.is_inline(lowest) and slot not in d.stored:
            needs = d.needs_of(slot, d.stored)
            candidates.append((len(needs.sources), len(needs.inlined), slot))
    return max(candidates)[2] if candidates else None


def _store_reread(d: Decisions) -> None:
    """Store values that a kernel would use several times, or for many broadcast copies.

    A use is a kernel and the movement through which it sees the value. The search goes from the
    results down, so that uses multiply along a chain, and a stored value is a single use of
    everything below it.
    """
    views: dict[tuple[int, ...], int] = {}
    uses: list[frozenset[Use]] = [frozenset()] * len(d.order)
    copies = [1.0] * len(d.order)
    several = [False] * len(d.order)  # a kernel sees the value through several views

    def view_by(*moved: int) -> int:
        """Return the number of a view, which is composed from another view and a movement."""
        return views.setdefault(moved, len(views) + 1)

    for slot in range(len(d.order) - 1, -1, -1):
        node = d.order[slot]
        if node.storage is not None or node.op.generates:
            continue
        if d.is_written_in_pieces(node):
            _store(d, slot, Reason.CONCAT)
        reads: set[Use] = set()
        for consumer, times in Counter(d.used_by(slot)).items():
            above = d.order[consumer]
            ends = consumer in d.stored or d.is_anchor(above)
            seen = ((consumer, 0, _points(d, above, node), False),) if ends else uses[consumer]
            if d.is_written_in_pieces(above):  # once for each operand position
                position = slot if d.rules.stores_pieces else 0
                reads.add(
                    (consumer, view_by(0, above.key, position), times * node.meta.size, False)
                )
            elif d.shifts(above):
                lists = [d.slots[x] for x in above.inputs[1:]] if above in d.inline_gathers else []
                for number, operand in enumerate(above.inputs):
                    if operand is node:
                        share = above.op.share(above, number)
                        for kernel, view, points, expanded in seen:
                            for read in range(d.reads_per_element(above)):
                                moved = view_by(view, above.key, number, read, *lists)
                                reads.add((kernel, moved, points * share, expanded))
            elif above.op.reads_by_map and not is_flat(above):
                expands = above.meta.size > node.meta.size
                for kernel, view, points, expanded in seen:
                    moved = view_by(view, above.key)
                    reads.add((kernel, moved, points, expanded or expands))
            else:
                reads.update(seen)
            several[slot] |= not ends and several[consumer]
            several[slot] |= len({kernel for kernel, _, _, _ in reads}) < len(reads)
            if len(reads) > MANY_USES:
                reads = _together(reads, view_by(-1, *sorted(view for _, view, _, _ in reads)))
            beyond = 1.0 if ends else copies[consumer]
            if above.op.reads_by_map and node.meta.size:
                beyond *= above.meta.size / node.meta.size
            copies[slot] = max(copies[slot], beyond)
        uses[slot] = frozenset(reads)
        if d.is_inline(node) and slot not in d.stored:
            reason = _why_repeated(d, slot, copies[slot], reads)
            if d.rules.stores_pieces and several[slot] and _is_piece(d, slot, reads):
                reason = Reason.REREAD
            if reason is not None:
                _store(d, slot, reason)


def _together(uses: Iterable[Use], view: int) -> set[Use]:
    """Combine uses into one for each kernel, for the kernels that compute most."""
    points: dict[int, float] = {}
    expanded: dict[int, bool] = {}
    for kernel, _, more, expands in uses:
        points[kernel] = points.get(kernel, 0.0) + more
        expanded[kernel] = expanded.get(kernel, True) and expands
    most = sorted(points, key=lambda kernel: -points[kernel])[:MANY_USES]
    return {(kernel, view, points[kernel], expanded[kernel]) for kernel in most}


def _why_repeated(d: Decisions, slot: int, copies: float, uses: Iterable[Use]) -> Reason | None:
    """Return the reason to store a value that a kernel would compute too often, or None.

    A use counts in proportion to the points at which it computes the value, which may be fewer or
    more than the value's elements. Broadcast copies count at most once.
    """
    node = d.order[slot]
    if node.meta.nbytes > d.rules.budget.max_bytes or not node.meta.size:
        return None
    is_large = copies * node.meta.size >= MANY_COPIES
    cheap = 0 if d.rules.computes_once and is_large else CHEAP_UNDER_EXPANSION
    ancestors = islice(d.below(slot), 1, MAX_BODY)
    if copies >= 2 and (d.cost(slot, cheap) > cheap or any(map(d.is_loaded, ancestors))):
        return Reason.REPEATED
    counts: dict[int, float] = {}
    for kernel, _, points, expanded in uses:
        times = points / node.meta.size
        counts[kernel] = counts.get(kernel, 0.0) + (min(times, 1.0) if expanded else times)
    most, every = max(counts.values(), default=0.0), sum(counts.values())
    if most >= (SEVERAL_TIMES if d.rules.computes_once else MANY_TIMES):
        return Reason.REREAD
    return Reason.REREAD if most >= TWICE and every >= most + 1 else None


def _is_piece(d: Decisions, slot: int, uses: Iterable[Use]) -> bool:
    """Return whether kernels of many more points see a computed value where movement begins.

    A value that several branches of such a kernel use is computed at every point.
    """
    node = d.order[slot]
    if not node.op.operations(node) or node.meta.nbytes > d.rules.budget.max_bytes:
        return False
    above = [d.order[consumer] for consumer in d.used_by(slot)]
    moves = any(d.shifts(x) or (x.op.reads_by_map and not is_flat(x)) for x in above)
    roots = (d.order[kernel] for kernel, _, _, _ in uses)
    return moves and any(_points(d, x, x.inputs[0]) >= TWICE * node.meta.size for x in roots)


def _points(d: Decisions, root: Node, operand: Node) -> int:
    """Return the number of points at which the kernel of `root` computes its operand."""
    return operand.meta.size if d.is_anchor(root) else root.meta.size


def _cut_loops(d: Decisions, program: Program) -> None:
    """Cut loops between iterations, and store the values that later segments need."""
    last_use = [max(slots, default=-1) for slots in d.consumers]
    # Results alone do not end an iteration: one kernel can store those of several.
    factors = {operand.slot for pair in d.contractions.values() for operand in pair}
    ends = (d.stored - program.outputs) | d.spilled | (factors & d.stored)
    # A kernel that folds costly elements of several iterations would be too long.
    reductions = [slot for slot, node in enumerate(d.order) if d.is_reduction(node)]
    most = MAX_RECOMPUTED_COST
    ends |= {slot for slot in reductions if d.cost(slot, most) > most}
    boundaries, rerolled = cuts(
        program, last_use, d.stored, ends, MAX_BODY, rerolls=d.rules.rerolls
    )
    d.rerolled.extend(rerolled)
    for loop in rerolled:
        for slot in range(loop.start, loop.stop):
            first = loop.start + (slot - loop.start) % loop.step
            d.iterations[first] = len(loop)
            if slot != first:
                d.in_first[slot] = first
    if not d.rules.constants_differ:
        _equal_constants(d)
    starts = set(boundaries)
    d.segment.extend(accumulate(slot in starts for slot in range(len(d.order))))
    for slot, node in enumerate(d.order):
        below = bottom(node)
        crosses = last_use[slot] >= 0 and d.segment[last_use[slot]] != d.segment[slot]
        if crosses and d.is_inline(below) and below.meta.nbytes <= d.rules.budget.max_bytes:
            _store(d, d.slots[below], Reason.LOOP)


def _equal_constants(d: Decisions) -> None:
    """Find the constants that are equal in all iterations of a loop, so that one replaces all.

    Looking up a constant in each iteration takes a kernel as long as several ops. The plan is only
    valid while the constants are equal (`Plan.holds`).
    """
    copies: dict[int, list[int]] = {}
    for slot, first in d.in_first.items():
        if d.order[slot].op.constant:
            copies.setdefault(first, []).append(slot)
    for first, others in copies.items():
        value = d.order[first].attrs
        values = [d.order[slot].attrs for slot in others]
        # The texts of 0.0 and -0.0 differ; NaN equals nothing.
        if all(x == value and repr(x) == repr(value) for x in values):
            d.merged_constants.update(dict.fromkeys(others, first))


def _store_shared(d: Decisions) -> None:
    """Store values that cost more if several kernels recompute them."""
    sinks: list[frozenset[tuple[Any, ...]]] = [frozenset()] * len(d.order)
    for slot in range(len(d.order) - 1, -1, -1):
        node = d.order[slot]
        reached: frozenset[tuple[Any, ...]] = frozenset()
        for consumer in d.used_by(slot):
            ends = consumer in d.stored or d.is_anchor(d.order[consumer])
            if len(reached) < MANY_SINKS:
                reached |= frozenset((d.kernel_of(consumer),)) if ends else sinks[consumer]
        sinks[slot] = reached
        if d.is_inline(node) and slot not in d.stored and _is_worth_storing(d, slot, len(reached)):
            _store(d, slot, Reason.SHARED)


def _is_worth_storing(d: Decisions, slot: int, kernels: int) -> bool:
    """Apply the cost rule, in buffer accesses and in instructions per element.

    A stored value costs its reads once, one write, and one read in each kernel. A recomputed value
    costs its reads in each kernel.
    """
    if kernels < 2 or d.order[slot].meta.nbytes > d.rules.budget.max_bytes:
        return False
    sources, inlined = d.needs[slot]
    reads = len(sources - {FAULTS})
    cost = sum(d.cost_of(d.order[s]) * d.iterations.get(s, 1) for s in inlined)
    most = 0 if d.rules.computes_once else MAX_RECOMPUTED_COST
    return kernels * reads > reads + 1 + kernels or kernels * cost > most


def _find_depths(d: Decisions) -> None:
    """Compute depths: the maximum number of edges on a path that no kernel can span.

    If a node and its ancestor have equal depth, all edges between them keep the flat index, so one
    kernel can compute both.
    """
    d.depth.clear()
    for number, node in enumerate(d.order):
        depth = 0
        if node.storage is None:
            shifts = (node.op.reads_by_map and not d.piece(node)[1]) or d.shifts(node)
            for operand in d.operands(node):
                pending = operand.storage is None and not operand.op.constant
                slot = d.slots[operand]
                ends = d.is_anchor(operand) or slot in d.spilled
                ends = ends or d.segment[slot] != d.segment[number]
                depth = max(depth, d.depth[slot] + (pending and (shifts or ends)))
            if d.is_anchor(node):
                depth += 1
        d.depth.append(depth)
