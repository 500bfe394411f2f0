"""Generating bodies: the value of a node in a kernel, down to its loads.

A kernel sees a node through a view: an affine map from its space to the node's flat indices, into
which movement is composed. If the result is not affine, another kernel writes the moved node to a
buffer, which is read instead.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import cast

from py_tensor.base.layout import Layout, Range, canonical_strides, compose, coordinates
from py_tensor.base.shapes import Shape, row_major
from py_tensor.ir import op as ops
from py_tensor.ir.node import Node, Op, Reason
from py_tensor.schedule.body import (
    Access,
    Address,
    Apply,
    Body,
    Check,
    Const,
    Convert,
    Gather,
    Index,
    Load,
    Mask,
    Select,
    Start,
    Within,
)
from py_tensor.schedule.kernel import Draft
from py_tensor.schedule.store import Decisions

VALUES_PER_OP = 2  # values of a body, at most: every other one is a load, a constant or moved
MAX_VIEWS = 16  # views through which one kernel computes a node; with more, the node is stored


@dataclass(frozen=True, slots=True)
class IndexMap:
    """How a kernel sees a node: its flat index over the space, and where that is in range.

    After the dimensions of the space, strides and ranges have one more entry for each of `along`,
    whose coordinate is the value of an index at the point. `start` is that of `access`.
    """

    strides: tuple[int, ...]
    offset: int
    ranges: tuple[Range, ...]
    along: tuple[Along, ...] = ()
    start: Start | None = None

    @property
    def access(self) -> Access:
        """The address where the coordinates of `along` are 0."""
        rank = len(self.strides) - len(self.along)
        return Access(self.strides[:rank], self.offset, self.start)


Key = tuple[int, IndexMap]  # a value: the node in a slot, seen through a view


@dataclass(frozen=True, slots=True)
class Along:
    """An axis; its coordinate is the value of the node in a slot, seen through a view: `index`."""

    index: Key
    extent: int


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a node whose elements come from another node.

    Attributes
    ----------
    slot : int
        The other node.
    widths : tuple of (int, int)
        The widths of the node before and after the window along each axis.
    units : tuple of int, optional
        The strides through the other node; None if it has the shape of the window.
    first : int
        The flat index in the other node of the window's first element.
    """

    slot: int
    widths: tuple[Range, ...]
    units: tuple[int, ...] | None = None
    first: int = 0


def index_map(
    strides: tuple[int, ...],
    offset: int,
    ranges: tuple[Range, ...],
    along: tuple[Along, ...],
    extents: Shape,
    start: Start | None = None,
) -> IndexMap:
    """Return the map over a space of these extents; maps that see the same elements are equal.

    The coordinate of a range of one point is part of the offset. A coordinate of stride 0 is in
    range everywhere; it is dropped if it is that of an index.
    """
    rank = len(extents)
    kept_strides: list[int] = []
    kept_ranges: list[Range] = []
    kept_along: list[Along] = []
    for d, (stride, (low, high)) in enumerate(zip(strides, ranges, strict=True)):
        moves = stride != 0 and high - low > 1
        if not moves:
            offset += stride * low
        if d < rank:
            kept_strides.append(stride if moves else 0)
            kept_ranges.append((low, high) if moves else (0, extents[d]))
        elif moves:
            kept_strides.append(stride)
            kept_ranges.append((low, high))
            kept_along.append(along[d - rank])
    return IndexMap(tuple(kept_strides), offset, tuple(kept_ranges), tuple(kept_along), start)


def permuted(shape: Shape, axes: Sequence[int]) -> tuple[Shape, IndexMap]:
    """Return the extents of a space over the axes in this order, and its view of a node."""
    units = row_major(shape)
    extents = tuple(shape[a] for a in axes)
    strides = canonical_strides(tuple(units[a] for a in axes), extents)
    return extents, IndexMap(strides, 0, tuple((0, n) for n in extents))


def identity(extents: Shape) -> IndexMap:
    """Return the flat index of the space itself."""
    return permuted(extents, range(len(extents)))[1]


def window_of(layout: Layout, shape: Shape) -> tuple[Range, ...] | None:
    """Return the widths before and after a view along each axis of a shape.

    None unless the view is a window: contiguous ranges in order.
    """
    window = layout.window_of(shape)
    return window[1] if window is not None and window[0].is_contiguous else None


def strides_over_result(
    strides: tuple[int, ...], axes: tuple[int, ...], at: int, rank: int
) -> tuple[int, ...]:
    """Return the strides of a gather's operand over its result; 0 for the axes of the indices."""
    rest = [s for a, s in enumerate(strides) if a not in axes]
    return (*rest[:at], *(0,) * (rank - len(rest)), *rest[at:])


def seen_window(
    view: IndexMap, whole: Shape, window: Window, extents: Shape
) -> tuple[tuple[tuple[int, int, int], ...], IndexMap | None] | None:
    """Return the ranges of the space inside a window of `whole`, and the inner node's view there.

    That view is None if the window is not seen. The result is None if a coordinate that bounds the
    window depends on several dimensions.
    """
    widths = window.widths
    shape = tuple(n - low - high for n, (low, high) in zip(whole, widths, strict=True))
    split = coordinates(view.strides, view.offset, view.ranges, whole)
    if split is None:
        return None
    offsets, matrix = split
    ranges, conditions = list(view.ranges), set[int]()
    for axis, (before, _) in enumerate(widths):
        low, high = before - offsets[axis], before + shape[axis] - offsets[axis]
        dims = [d for d, row in enumerate(matrix) if row[axis]]
        if len(dims) > 1 and whole[axis] != shape[axis]:
            return None
        if not dims and not low <= 0 < high:
            return (), None
        if len(dims) == 1:
            d, step = dims[0], matrix[dims[0]][axis]
            narrowed = _solve(step, low, high)
            bounded = max(ranges[d][0], narrowed[0]), min(ranges[d][1], narrowed[1])
            if bounded[0] >= bounded[1]:
                return (), None
            if bounded != ranges[d]:
                ranges[d] = bounded
                conditions.add(d)
    units = row_major(shape) if window.units is None else window.units
    strides = tuple(sum(m * u for m, u in zip(row, units, strict=True)) for row in matrix)
    offset = window.first + sum(
        (o - b) * u for o, (b, _), u in zip(offsets, widths, units, strict=True)
    )
    mask = tuple((d, *ranges[d]) for d in sorted(conditions))
    return mask, index_map(strides, offset, tuple(ranges), view.along, extents)


def _solve(step: int, low: int, high: int) -> Range:
    """Return the i for which ``low <= step * i < high``."""
    if step > 0:
        return -(-low // step), -(-high // step)
    return -((high - 1) // -step), -low // -step + 1


class StoredSlots:
    """What gets a buffer: what was decided, and what building the kernels turns out to need.

    Attributes
    ----------
    order, slots
        The nodes of the program, and the position of each.
    rules : Rules
    decisions : Decisions
    stored : set of int
        The slots that get a buffer: those decided, and those that `need` adds.
    reasons : dict
        Slot -> why other kernels read it from a buffer; `Decisions.reasons` and those of `need`.
    produced : set of int
        The slots that a kernel computes already.
    needed : heap of int
        The negated slots that need a kernel, if they are not in `produced`.
    """

    def __init__(self, decisions: Decisions) -> None:
        self.order = decisions.order
        self.slots = decisions.slots
        self.rules = decisions.rules
        self.decisions = decisions
        self.stored = set(decisions.stored)
        self.reasons = dict(decisions.reasons)
        self.produced: set[int] = set()
        self.needed: list[int] = []

    def need(self, slot: int, reason: Reason | None = None) -> None:
        """Ensure that the node in `slot` is stored in a buffer, with its own kernel if needed.

        A reason is given for values that were to be computed inline, until a kernel that uses them
        turned out to be unable to. Reductions need none: why they are not fused is in `notes`.
        """
        if self.order[slot].storage is not None:
            return
        if reason is not None:
            self.reasons.setdefault(slot, reason)
        self.stored.add(slot)
        if slot not in self.produced:
            heapq.heappush(self.needed, -slot)

    def spans(self, slot: int, root: int) -> bool:
        """Return whether the kernel of `root` may compute the node in `slot`, stored or not."""
        d = self.decisions
        if slot not in self.stored:
            return True
        return (
            slot not in self.rules.apart
            and slot not in d.spilled
            and slot not in self.produced
            and not d.is_written_in_pieces(self.order[slot])
            and d.depth[slot] == d.depth[root]
        )


_slot = cast("Callable[[Key], int]", itemgetter(0))
Make = Callable[[list[int]], int]


class Evaluator:
    """Writes one body: the values of nodes as seen from a space of the given extents."""

    def __init__(self, builder: StoredSlots, extents: Shape, root: int | None) -> None:
        self.builder = builder
        self.slots = builder.slots
        self.extents = extents
        self.root = root
        self.body = Body()
        self.accumulated: dict[int, int] = {}
        self.used_accumulators: set[int] = set()  # the slots in `accumulated` that are used
        self.inside: set[int] = set()  # the slots that the stages read
        self.extra: list[tuple[int, int]] = []
        self._identity = identity(extents)
        self._merged: set[int] = set()
        self._values: dict[Key, int] = {}
        self._steps: dict[Key, tuple[list[Key], Make]] = {}
        self._views = Counter[int]()  # the number of views of each slot
        self._reads = set(builder.decisions.needs[root].sources) if root is not None else set[int]()

    def access_of_outputs(self) -> Access:
        """Return the address of outputs: the flat index, because outputs are contiguous."""
        return self._identity.access

    def value(self, slot: int, view: IndexMap | None = None) -> int:
        """Write everything that was demanded, and return the value of the node in `slot`.

        Values are written in the order of recording, so that a recorded loop repeats in the body.
        Loads and constants are written where they are first used.
        """
        root = self.demand(slot, view)
        for wanted in (*sorted((k for k in self._steps if self._steps[k][0]), key=_slot), root):
            stack = [wanted]
            while stack:
                key = stack[-1]
                if key not in self._steps:
                    stack.pop()
                    continue
                needs, make = self._steps[key]
                missing = [need for need in needs if need not in self._values]
                if missing:  # leaves, and indices recorded after what they select
                    stack += reversed(missing)
                    continue
                del self._steps[key]  # breaks a cycle: `make` refers to this object
                self._values[key] = made = make([self._values[need] for need in needs])
                if key[0] in self._merged and key[1] == self._identity:
                    self.extra.append((key[0], made))
        return self._values[root]

    def demand(self, slot: int, view: IndexMap | None = None) -> Key:
        """Find everything that the value of the node in `slot` needs, down to its loads."""
        root = (slot, view or self._identity)
        self._demand([root])
        return root

    def _demand(self, keys: Iterable[Key]) -> None:
        """Find everything that these values need.

        Later nodes come first, so that all views of a node are known before those of its operands.
        """
        waiting: dict[int, dict[IndexMap, None]] = {}
        latest: list[int] = []

        def wait(keys: Iterable[Key]) -> None:
            for key in keys:
                if key not in self._values and key not in self._steps:
                    slot, view = key
                    if slot not in waiting:
                        waiting[slot] = {}
                        heapq.heappush(latest, -slot)
                    waiting[slot][view] = None

        wait(keys)
        while latest:
            slot = -heapq.heappop(latest)
            views = waiting.pop(slot)
            self._views[slot] += len(views)
            if self._views[slot] > MAX_VIEWS and self._may_store(slot):
                self.builder.need(slot, Reason.REREAD)
            for view in views:
                self._steps[slot, view] = step = self._step(slot, view)
                wait(step[0])

    def _may_store(self, slot: int) -> bool:
        """Return whether another kernel may compute an inline node, and this one read it."""
        node, d = self.builder.order[slot], self.builder.decisions
        moves = node.op.reads_by_map or node.op.generates
        return d.is_inline(node) and not moves and node.meta.nbytes <= d.rules.budget.max_bytes

    def _step(self, slot: int, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the values that a value needs, and the function that makes it from these."""
        node = self.builder.order[slot]
        if slot in self.accumulated and view == self._identity:
            self.used_accumulators.add(slot)
            return [], lambda values: self.accumulated[slot]
        if node.op.constant and node.storage is None:
            one = self.builder.decisions.merged_constants.get(slot, slot)
            return [], lambda values: self.body.add(Const(one, node.meta.dtype))
        is_stored = slot in self.builder.stored or self.builder.decisions.is_anchor(node)
        is_loaded = slot != self.root and is_stored
        if node.storage is not None:
            return self._load(slot, node, view)
        if is_loaded:
            reads = self._reads_with(slot) if view == self._identity else None
            if reads is None:
                return self._load(slot, node, view)
            self._merge(slot, reads)
        assert view.start is None, "free views are of stored nodes"
        step = Evaluator.moved if node.op.reads_by_map else _STEPS[type(node.op)]
        return step(self, slot, node, view)

    def _merge(self, slot: int, reads: set[int]) -> None:
        """Make a stored node one more output of this kernel, which then reads these slots."""
        self._reads = reads
        self._merged.add(slot)
        self.builder.produced.add(slot)

    def takes(self, slot: int) -> bool:
        """Return whether a stored node can be one more output of this kernel."""
        return self._reads_with(slot) is not None

    def _reads_with(self, slot: int) -> set[int] | None:
        """Return the slots that the kernel reads if it also stores the node in `slot`.

        None if it cannot compute the node or has no room for it.
        """
        b = self.builder
        node, d = b.order[slot], b.decisions
        if self.root is None or not d.is_inline(node) or not b.spans(slot, self.root):
            return None
        if d.shifts(node) and node.meta.shape != self.extents:
            return None  # its coordinates may not be affine here
        reads = (self._reads - {slot}) | d.needs[slot].sources
        draft = Draft(
            inside=self.inside,
            around=reads.difference(self.accumulated),
            outputs=len(self._merged) + 2 + len(self.accumulated),
            words=sum(d.words(b.order[anchor]) for anchor in self.accumulated),
            length=-(-self._written() // VALUES_PER_OP),
        )
        return reads if d.rules.budget.fits(draft) else None

    def _written(self) -> int:
        """Return the number of values so far, counting one iteration of each rerolled loop."""
        in_first = self.builder.decisions.in_first
        if not in_first:
            return len(self._values) + len(self._steps)
        return len({in_first.get(slot, slot) for slot, _ in (*self._values, *self._steps)})

    def _load_materialized(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Load the result of movement that is not affine here; another kernel stores it."""
        self.builder.need(slot, Reason.VIEW)
        return self._load(slot, node, view)

    def _load(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Load an element of a buffer."""
        self.builder.need(slot)
        dtype = node.meta.dtype
        if not view.along:
            return [], lambda values: self.body.add(Load(slot, dtype, view.access))

        def make(values: list[int]) -> int:
            return self.body.add(Gather(slot, dtype, (self._address(view, values),)))

        return [a.index for a in view.along], make

    def _address(self, view: IndexMap, indices: list[int]) -> int:
        """Return the flat index, with the coordinates along some axes given by values."""
        extents = tuple(a.extent for a in view.along)
        strides = view.strides[len(self.extents) :]
        return self.body.add(Address(view.access, tuple(indices), extents, strides, clips=True))

    def _composed(
        self, view: IndexMap, layout: Layout, start: Start | None = None
    ) -> IndexMap | None:
        """Return the view of a movement's operand, given that of its result; None if not affine."""
        composed = compose(view.strides, view.offset, view.ranges, layout)
        if composed is None:
            return None
        return index_map(*composed, view.ranges, view.along, self.extents, start)

    def index(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        dtype = node.meta.dtype
        if not view.along:
            return [], lambda values: self.body.add(Index(dtype, view.access))
        return [a.index for a in view.along], lambda values: self.body.add(
            Convert(dtype, (self._address(view, values),))
        )

    def moved(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the operand, seen through the movement's map."""
        if ops.is_flat(node):
            return [(self.slots[node.inputs[0]], view)], lambda values: values[0]
        inner = self._composed(view, *self.builder.decisions.map_of(slot))
        if inner is None:
            return self._load_materialized(slot, node, view)
        return [(self.slots[node.inputs[0]], inner)], lambda values: values[0]

    def convert(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        needs = [(self.slots[node.inputs[0]], view)]
        return needs, lambda values: self.body.add(Convert(node.meta.dtype, (values[0],)))

    def apply(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        needs = [(self.slots[operand], view) for operand in node.inputs]
        op, dtype = cast("ops.Elementwise", node.op), node.meta.dtype
        return needs, lambda values: self.body.add(Apply(op, dtype, tuple(values)))

    def unrolled(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return a reduction of few elements, or of products of them, written out as arithmetic."""
        axes: tuple[int, ...] = node.attrs
        fold, multiplied = cast("ops.Folding", node.op).folding()
        op = fold.pairwise
        assert op is not None
        shape = node.inputs[0].meta.shape
        units = row_major(shape)
        needs: list[Key] = []
        for coordinate in product(*(range(shape[a]) for a in axes)):
            first = sum(i * units[a] for i, a in zip(coordinate, axes, strict=True))
            seen = self._composed(view, Layout(node.meta.shape, units, first))
            if seen is None:
                return self._load_materialized(slot, node, view)
            needs += [(self.slots[operand], seen) for operand in node.inputs]

        def make(values: list[int]) -> int:
            dtype = node.inputs[0].meta.dtype
            if multiplied is not None:
                pairs = zip(values[::2], values[1::2], strict=True)
                values = [self.body.add(Apply(multiplied, dtype, pair)) for pair in pairs]
            folded = values[0]
            for value in values[1:]:
                folded = self.body.add(Apply(op, node.meta.dtype, (folded, value)))
            return folded

        return needs, make

    def gather(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the operand at indices along some axes, and at the point along the others."""
        axes: tuple[int, ...] = node.attrs[0]
        _, at, op = node.attrs
        split = coordinates(view.strides, view.offset, view.ranges, node.meta.shape)
        if split is None or (op and view.along):
            return self._load_materialized(slot, node, view)
        offsets, matrix = split
        operand = node.inputs[0]
        shape = operand.meta.shape
        decisions = self.builder.decisions
        if node in decisions.inline_gathers:
            contiguous = Access(row_major(shape), 0)
            source = Load(self.slots[operand], operand.meta.dtype, contiguous)
        else:
            source = decisions.buffered[slot][0]
        units = source.access.strides
        steps = strides_over_result(units, axes, at, len(node.meta.shape))
        strides = tuple(sum(m * s for m, s in zip(row, steps, strict=True)) for row in matrix)
        strides += tuple(units[a] for a in axes)
        offset = source.access.offset + sum(o * s for o, s in zip(offsets, steps, strict=True))
        indices = [(self.slots[index], view) for index in node.inputs[1:]]
        along = tuple(Along(index, shape[a]) for index, a in zip(indices, axes, strict=True))
        ranges = view.ranges + tuple((0, a.extent) for a in along)
        start = source.access.start
        inner = index_map(strides, offset, ranges, view.along + along, self.extents, start)
        if node in decisions.inline_gathers:
            return [(source.slot, inner)], lambda values: values[0]
        if not op:
            return self._load(source.slot, node, inner)
        self.builder.need(source.slot)

        def make(values: list[int]) -> int:
            steps = tuple(units[a] for a in axes)
            address = self.address_of(
                values, inner.access, shape, axes, steps, op, view, clips=True
            )
            return self.body.add(Gather(source.slot, node.meta.dtype, (address,)))

        return indices, make

    def address_of(
        self,
        indices: list[int],
        access: Access,
        shape: Shape,
        axes: tuple[int, ...],
        strides: tuple[int, ...],
        op: str,
        view: IndexMap,
        *,
        clips: bool,
    ) -> int:
        """Return the address of the element that indices select along the axes of a shape.

        Indices are not checked where the view is out of range, because their values are arbitrary
        there.
        """
        extents = tuple(shape[a] for a in axes)
        operands = tuple(indices)
        checks: tuple[Check, ...] = ()
        if op:
            dtypes = map(self.body.dtype, indices)
            checks = tuple(
                Check(op, a, shape, dtype.wgsl != "u32", dtype.is_wide)
                for a, dtype in zip(axes, dtypes, strict=True)
            )
            narrowed = tuple(
                (d, low, high)
                for d, (low, high) in enumerate(view.ranges)
                if (low, high) != (0, self.extents[d])
            )
            operands += (self.body.add(Mask(narrowed)),) if narrowed else ()
        guarded = len(operands) > len(axes)
        return self.body.add(Address(access, operands, extents, strides, clips, checks, guarded))

    def assigned(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the assigned value inside its window, the original outside."""
        whole, value = node.inputs
        widths = window_of(Layout(*node.attrs), whole.meta.shape)
        assert widths is not None, "only a window is assigned by a kernel over the whole"
        window = Window(self.slots[value], widths)
        return self._chosen(slot, node, view, [window], (self.slots[whole], view))

    def padded(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the operand inside its window, the fill value outside."""
        operand, fill = node.inputs
        window = Window(self.slots[operand], node.attrs)
        return self._chosen(slot, node, view, [window], (self.slots[fill], view))

    def joined(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the operand whose part of the axis contains the coordinates."""
        windows = self._side_by_side(node.inputs, node.attrs, node.meta.shape)
        return self._chosen(slot, node, view, windows)

    def concat_piece(self, slot: int, node: Node, operands: Sequence[Node]) -> int:
        """Return the value of consecutive operands of a concatenation, which fill the space."""
        windows = self._side_by_side(operands, node.attrs, self.extents)
        step = self._chosen(slot, node, self._identity, windows, shape=self.extents)
        self._steps[slot, self._identity] = step
        self._demand(step[0])
        return self.value(slot)

    def _side_by_side(self, operands: Sequence[Node], axis: int, shape: Shape) -> list[Window]:
        windows: list[Window] = []
        start = 0
        for operand in operands:
            stop = start + operand.meta.shape[axis]
            widths = tuple((start, n - stop) if a == axis else (0, 0) for a, n in enumerate(shape))
            windows.append(Window(self.slots[operand], widths))
            start = stop
        return windows

    def rolled(self, slot: int, node: Node, view: IndexMap) -> tuple[list[Key], Make]:
        """Return the operand at a shifted position, wrapping around at its end."""
        operand = self.slots[node.inputs[0]]
        units = row_major(node.meta.shape)
        sides = [
            [((0, by), by * unit), ((n - by, 0), 0)] if by else [((0, 0), 0)]
            for n, by, unit in zip(node.meta.shape, node.attrs, units, strict=True)
        ]
        windows = [
            Window(operand, tuple(w for w, _ in chosen), units, sum(first for _, first in chosen))
            for chosen in product(*sides)
        ]
        return self._chosen(slot, node, view, windows)

    def _chosen(
        self,
        slot: int,
        node: Node,
        view: IndexMap,
        windows: Sequence[Window],
        outside: Key | None = None,
        shape: Shape | None = None,
    ) -> tuple[list[Key], Make]:
        """Return the value from the first window that contains the coordinates.

        `outside` is the value outside all windows; without it, the windows cover the shape: that of
        the node unless it is given.
        """
        needs: list[Key] = []
        masks: list[tuple[tuple[int, int, int], ...]] = []
        for window in windows:
            seen = seen_window(view, shape or node.meta.shape, window, self.extents)
            if seen is None:
                return self._load_materialized(slot, node, view)
            ranges, inner = seen
            if inner is not None:
                needs.append((window.slot, inner))
                masks.append(ranges)
                if not ranges:
                    break
        else:
            if outside is not None:
                needs.append(outside)
            elif not needs:  # the value is never used, so any element will do
                nowhere = (0,) * len(view.strides)
                nothing = index_map(nowhere, 0, view.ranges, view.along, self.extents)
                needs.append((windows[0].slot, nothing))

        rank = len(self.extents)
        asked = sorted({d - rank for ranges in masks for d, _, _ in ranges if d >= rank})

        def make(values: list[int]) -> int:
            indices, values = dict(zip(asked, values, strict=False)), values[len(asked) :]
            chosen = values[-1]
            for ranges, value in reversed(list(zip(masks, values[:-1], strict=False))):
                mask = self._mask(ranges, view, indices)
                chosen = self.body.add(Select(node.meta.dtype, (mask, value, chosen)))
            return chosen

        return [*(view.along[n].index for n in asked), *needs], make

    def _mask(
        self, ranges: tuple[tuple[int, int, int], ...], view: IndexMap, indices: dict[int, int]
    ) -> int:
        """Return whether coordinates are in range: those of the space, and those of indices."""
        rank = len(self.extents)
        nowhere = Access((0,) * rank, 0)
        of_space = tuple(one for one in ranges if one[0] < rank)
        mask = self.body.add(Mask(of_space)) if of_space else None
        for d, low, high in ranges[len(of_space) :]:
            index, extent = indices[d - rank], view.along[d - rank].extent
            coordinate = self.body.add(Address(nowhere, (index,), (extent,), (1,), clips=True))
            operands = (coordinate,) if mask is None else (coordinate, mask)
            mask = self.body.add(Within(low, high, operands))
        assert mask is not None
        return mask


# The method that writes the ops of each class into a body, apart from movement.
_STEPS: dict[type[Op], Callable[[Evaluator, int, Node, IndexMap], tuple[list[Key], Make]]] = {
    ops.Assign: Evaluator.assigned,
    ops.Cast: Evaluator.convert,
    ops.Concat: Evaluator.joined,
    ops.Contract: Evaluator.unrolled,
    ops.Count: Evaluator.index,
    ops.Elementwise: Evaluator.apply,
    ops.Gather: Evaluator.gather,
    ops.Pad: Evaluator.padded,
    ops.Reduction: Evaluator.unrolled,
    ops.Roll: Evaluator.rolled,
}
