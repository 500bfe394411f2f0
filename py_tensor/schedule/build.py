"""Grouping nodes into kernels, from the stored results to the bodies that compute them.

The builder starts at the wanted results and works towards the leaves. A kernel includes everything
between its root and the buffers that it reads. A stored node becomes a load, and gets its own
kernel if none computes it yet.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Collection, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import cast

from py_tensor.base.dtypes import DType, uint32
from py_tensor.base.layout import canonical_strides
from py_tensor.base.shapes import Shape, row_major, size_of
from py_tensor.ir import op as ops
from py_tensor.ir.node import Node, Notes, Op, Reason
from py_tensor.ir.program import Program
from py_tensor.schedule.body import Access, Accumulated, Apply, Body, Gather, Index, Load
from py_tensor.schedule.evaluate import (
    Evaluator,
    StoredSlots,
    identity,
    permuted,
    strides_over_result,
    window_of,
)
from py_tensor.schedule.kernel import (
    MAX_BODY,
    Accumulator,
    Budget,
    Contraction,
    Draft,
    Kernel,
    Output,
    ReduceStage,
    Scanned,
    Scattered,
    Sorted,
    Stage,
    Whole,
)
from py_tensor.schedule.reroll import rerolled_length
from py_tensor.schedule.row_fusion import without_outputs
from py_tensor.schedule.store import Decisions, Needs, Rules, decide, space_of

MAX_SIBLINGS = 16  # stored values using one node that are considered for the same kernel
MAX_REPEATED = 2  # most operations of all kernels, relative to computing each node once
MAX_WRITTEN = 3 * MAX_BODY  # instructions of a body, counting one iteration of each loop


def schedule(
    program: Program, budget: Budget, *, constants_differ: bool = False
) -> tuple[list[Kernel], Decisions, Notes]:
    """Return the kernels of a program in dependency order, the decisions, and the reasons.

    Kernels with several outputs can wait for each other in a cycle. A view that is not an affine
    map, or a value that is stored because of another kernel, needs a buffer that was not counted.
    Storing such a value may leave a reduction unused in the kernel that folds it. These flushes are
    planned again: with each output of such a kernel separately, or with the value stored from the
    start. This terminates, because a kernel of one output depends only on its ancestors, and a
    kernel whose operands are all counted fits: whoever records a node sees to it that its operands
    alone fit every device (as indexing does for many indices). The cost rules consider one value at
    a time. If all kernels together do far more operations than the nodes themselves, the rules are
    applied again more strictly.

    With `constants_differ`, constants that are equal in all iterations of a loop may differ next
    time.
    """
    attempt = _attempt(program, Rules(budget, constants_differ=constants_differ))
    while isinstance(attempt, Rules):
        attempt = _attempt(program, attempt)
    return attempt


def _attempt(program: Program, rules: Rules) -> tuple[list[Kernel], Decisions, Notes] | Rules:
    """Return what `schedule` returns, or the rules by which to plan again."""
    builder = Builder(program, rules)
    kernels = builder.build()
    loops = builder.decisions.rerolled
    if loops and any(_is_long(k) or _ends_within(k, loops) for k in kernels):
        return replace(rules, rerolls=False)
    if not rules.computes_once and _repeats_much(program.nodes, kernels):
        return replace(rules, computes_once=rules.stores_pieces, stores_pieces=True)
    ordered = in_order(kernels)
    cyclic = [] if len(ordered) == len(kernels) else in_cycles(kernels)
    stuck = [kernel for kernel in cyclic if len(kernel.outputs) > 1]
    wide = [kernel for kernel in kernels if not rules.budget.fits(kernel.draft())]
    if not stuck and not wide and not builder.idle:
        assert len(ordered) == len(kernels)
        kernels = _without_idle_outputs(ordered, program.outputs)
        return kernels, builder.decisions, builder.notes | builder.reasons
    apart = rules.apart.union(builder.idle, *(kernel.writes() for kernel in stuck))
    spilled = dict(rules.spilled)
    for kernel in wide:
        uncounted = builder.uncounted_operands(kernel)
        spilled |= uncounted
        apart |= set[int]() if uncounted else kernel.writes()
    stricter = replace(rules, spilled=spilled, apart=apart)
    assert stricter != rules, f"a kernel exceeds {rules.budget}"
    return stricter


def _repeats_much(order: list[Node], kernels: list[Kernel]) -> bool:
    """Return whether kernels do far more operations than computing each node once.

    If a window is assigned by a kernel over the whole, only the window counts, because `assign` has
    decided that this is worthwhile.
    """
    done = 0.0
    for kernel in kernels:
        node = order[_first_write(kernel)]
        is_written = isinstance(node.op, ops.Assign) and kernel.in_place_target is None
        share = size_of(node.attrs[0]) / node.meta.size if is_written else 1.0
        done += share * kernel.operations()
    return done > MAX_REPEATED * sum(x.op.operations(x) for x in order if x.storage is None)


def _is_long(kernel: Kernel) -> bool:
    """Return whether a body is too long because the iterations of a loop could not be rerolled."""
    asked = [(kernel.row, [x.value for x in kernel.outputs])]
    asked.append((kernel.spread, [x.value for x in kernel.spread_outputs]))
    folds = kernel.accumulators()
    folded = {n for fold in folds for n in (fold.value, fold.index) if n is not None}
    asked += [(body, folded) for stage in kernel.stages for body in stage.bodies()]
    return any(
        len(body.instructions) > MAX_WRITTEN and rerolled_length(body, results_asked) > MAX_WRITTEN
        for body, results_asked in asked
    )


def _ends_within(kernel: Kernel, loops: list[range]) -> bool:
    """Return whether an iteration of a loop other than the last stores something."""
    return any(x.start <= slot < x.stop - x.step for x in loops for slot in kernel.writes())


def _without_idle_outputs(kernels: list[Kernel], wanted: Set[int]) -> list[Kernel]:
    """Remove outputs that are neither wanted nor read by a later kernel; `kernels` are in order."""
    needed = set(wanted)
    without: list[Kernel] = []
    for kernel in reversed(kernels):
        idle = {output.slot for output in kernel.outputs} - needed
        if 0 < len(idle) < len(kernel.outputs):
            shorter = without_outputs(kernel, idle)
            if _results_in(shorter.row) == _results_in(kernel.row):  # every fold is still used
                kernel = shorter
        needed |= kernel.reads()
        without.append(kernel)
    return without[::-1]


def _results_in(body: Body) -> set[int]:
    """Return the accumulators that a row body uses."""
    return {x.number for x in body.instructions if isinstance(x, Accumulated)}


def in_order(kernels: list[Kernel]) -> list[Kernel]:
    """Sort kernels so that each follows the writers of what it reads; drop those behind cycles."""
    sorter = TopologicalSorter(_writers(kernels))
    with suppress(CycleError):  # the sorter still returns what does not depend on a cycle
        sorter.prepare()
    result: list[Kernel] = []
    ready: list[tuple[int, int]] = []
    while True:
        for number in sorter.get_ready():
            heapq.heappush(ready, (_first_write(kernels[number]), number))
        if not ready:
            return result
        number = heapq.heappop(ready)[1]
        result.append(kernels[number])
        sorter.done(number)


def in_cycles(kernels: list[Kernel]) -> list[Kernel]:
    """Return the kernels that wait for themselves, but not those that only wait for such kernels.

    These are the strongly connected components (Tarjan, Depth-first search and linear graph
    algorithms, 1972) of several kernels, or of one that reads what it writes.
    """
    before = _writers(kernels)
    numbers: dict[int, int] = {}  # kernel -> its position in the search
    lowest: dict[int, int] = {}  # kernel on `path` -> the first kernel on `path` that it waits for
    path: list[int] = []  # kernels whose component is not complete
    cyclic: set[int] = set()
    stack = list(range(len(kernels)))
    while stack:
        kernel = stack[-1]
        if kernel not in numbers:
            numbers[kernel] = lowest[kernel] = len(numbers)
            path.append(kernel)
            stack += [writer for writer in before[kernel] if writer not in numbers]
            continue
        stack.pop()
        if kernel not in lowest:  # another kernel had put it on the stack, too
            continue
        lowest[kernel] = min(lowest[n] for n in (kernel, *before[kernel]) if n in lowest)
        if lowest[kernel] == numbers[kernel]:
            component = [path.pop()]
            while component[-1] != kernel:
                component.append(path.pop())
            if len(component) > 1 or kernel in before[kernel]:
                cyclic.update(component)
            for member in component:
                del lowest[member]
    return [kernel for number, kernel in enumerate(kernels) if number in cyclic]


def _writers(kernels: list[Kernel]) -> dict[int, set[int]]:
    """Return for the number of each kernel those of the kernels that write what it reads."""
    writers: dict[int, list[int]] = {}
    for number, kernel in enumerate(kernels):
        for slot in kernel.writes():
            writers.setdefault(slot, []).append(number)
    return {
        number: {writer for slot in kernel.reads() for writer in writers.get(slot, ())}
        for number, kernel in enumerate(kernels)
    }


def _first_write(kernel: Kernel) -> int:
    return min(kernel.writes())


class Builder(StoredSlots):
    """Builds the kernels of a program, through a family for each node.

    Attributes
    ----------
    kernels : list of Kernel
        The kernels made so far, in no particular order.
    """

    def __init__(self, program: Program, rules: Rules) -> None:
        super().__init__(decide(program, rules))
        self.program = program
        self.idle: set[int] = set()  # folded in a kernel that does not use them
        self.unstored: dict[int, tuple[Kernel, int]] = {}
        self.users: dict[int, list[int]] = {}  # inlined slot -> stored slots that use it
        for slot in sorted(self.stored):
            for inlined in self.decisions.needs[slot].inlined:
                self.users.setdefault(inlined, []).append(slot)
        self.notes: Notes = {}  # for `pt.explain` alone
        self.kernels: list[Kernel] = []

    def build(self) -> list[Kernel]:
        for slot in self.program.outputs:
            self.need(slot)
        while self.needed:
            slot = -heapq.heappop(self.needed)
            if slot not in self.produced:
                self.produced.add(slot)
                op = self.order[slot].op
                family = next(family for family in FAMILIES if isinstance(op, family.of))
                family.build(self, slot, self.order[slot])
        return self.kernels

    def need(self, slot: int, reason: Reason | None = None) -> None:
        """Also add an output for a reduction that was only used inside its kernel."""
        if slot in self.unstored:
            kernel, value = self.unstored.pop(slot)
            draft = kernel.draft()
            if self.rules.budget.fits(draft._replace(outputs=draft.outputs + 1)):
                access = Access(row_major(kernel.kept), 0)
                kernel.outputs += (Output(slot, value, kernel.row.dtype(value), access),)
            else:
                self.produced.discard(slot)
        super().need(slot, reason)

    def inline(self, slot: int, node: Node) -> None:
        """Build the kernel of a reduction, or of an inline node and reductions before it."""
        anchors = [slot] if self.decisions.is_reduction(node) else self._fusable_anchors(slot)
        if anchors:
            self._reduce(slot, anchors)
        else:
            self._map(slot, node)

    def _map(self, slot: int, node: Node) -> None:
        row = Evaluator(self, self._space(node), root=slot)
        row.demand(slot)
        for other in self._siblings(slot):
            if row.takes(other):
                row.demand(other)
        value = row.value(slot)
        self._add(row, (), (), [(slot, value), *row.extra], row.access_of_outputs())

    def _siblings(self, root: int) -> list[int]:
        """Return other stored values that share inlined nodes with the kernel of `root`."""
        d = self.decisions
        if root in self.rules.apart:
            return []
        users: set[int] = set()
        for inlined in d.needs[root].inlined:
            # Later ones have a kernel: values are built from the last to the first.
            earlier = bisect_left(self.users.get(inlined, ()), root)
            users.update(self.users.get(inlined, ())[max(0, earlier - MAX_SIBLINGS) : earlier])
        kind = d.kernel_of(root)
        return sorted(user for user in users - self.produced if d.kernel_of(user) == kind)

    def _space(self, node: Node) -> Shape:
        """Return the shape to iterate over: that of the operand where movement of the node begins.

        The flat indices are the same. Over this shape the movement is an affine map, which it may
        not be over the shape after a reshape.
        """
        d = self.decisions
        while (
            node.storage is None and (ops.is_flat(node) or d.is_inline(node)) and not d.shifts(node)
        ):
            operands = [x for x in node.inputs if not x.op.constant]
            if len(operands) != 1:
                break
            node = operands[0]
            if self.slots[node] in self.stored:
                break
        return node.meta.shape

    def concat(self, slot: int, node: Node) -> None:
        """Build one kernel, or several that each write some of the operands.

        Several are used if there are many operands, or if a large result has costly operands. Each
        of them can load and store vectors.
        """
        if not self.decisions.is_written_in_pieces(node) and (
            node.meta.size <= ops.MAX_CHOSEN
            or not any(self.decisions.is_costly(self.slots[x], node.meta.size) for x in node.inputs)
        ):
            self._map(slot, node)
            return
        self.notes.setdefault(slot, Reason.CONCAT)
        axis: int = node.attrs
        shape, units = node.meta.shape, row_major(node.meta.shape)
        start = 0
        for group in self._written_together(node):
            extents = (*shape[:axis], sum(x.meta.shape[axis] for x in group), *shape[axis + 1 :])
            row = Evaluator(self, extents, root=None)
            value = row.concat_piece(slot, node, group)
            access = Access(canonical_strides(units, extents), start * units[axis])
            self._add(row, (), (), [(slot, value)], access)
            start += extents[axis]

    def _written_together(self, node: Node) -> list[list[Node]]:
        """Group the operands of a concatenation by the kernel that writes them.

        A kernel for several operands loads what all of them need at each element, so it must have
        few elements.
        """
        groups: list[list[Node]] = []
        elements, needs = 0, Needs()
        for operand in node.inputs:
            if not operand.meta.size:
                continue
            needs_of_operand = self.decisions.needs_of(self.slots[operand], self.stored)
            elements, needs = elements + operand.meta.size, needs.joined(needs_of_operand)
            draft = Draft(around=needs.sources, length=len(needs.inlined) + 1)
            is_full = elements > ops.MAX_CHOSEN or not self.rules.budget.fits(draft)
            if not groups or is_full or len(groups[-1]) == ops.MAX_JOINED:
                groups.append([])
                elements, needs = operand.meta.size, needs_of_operand
            groups[-1].append(operand)
        return groups

    def assign(self, slot: int, node: Node) -> None:
        """Assign a value to a window of another, by a kernel over the whole or over the window.

        A kernel over the whole is used if the window is at least a quarter of it. Otherwise the
        window's offset is a parameter, and a kernel writes only the window: into the buffer of the
        whole or into a copy, which takes one more dispatch.
        """
        whole, value = node.inputs
        layout, start = self.decisions.map_of(slot)
        if start is None and window_of(layout, whole.meta.shape) is not None:
            self._map(slot, node)
            return
        base, written = self.slots[whole], self.slots[value]
        access = Access(canonical_strides(layout.strides, layout.shape), layout.offset, start)
        covers = layout.size == whole.meta.size
        row = Evaluator(self, layout.shape, root=None)
        number = row.value(written)
        overwrites = not covers and self._is_overwritable(whole)
        if overwrites and any(
            x.slot == base and (isinstance(x, Gather) or x.access != access)
            for x in row.body.instructions
            if isinstance(x, Load | Gather)
        ):
            # The kernel would read what it writes, so the value is stored first.
            self.need(written, Reason.OVERWRITES)
            row = Evaluator(self, layout.shape, root=None)
            number = row.value(written)
        kernel = self._add(row, (), (), [(slot, number)], access)
        if not covers:
            self.need(base)
            kernel.in_place_target = Whole(base, whole.meta.size)

    def _is_overwritable(self, node: Node) -> bool:
        """Return whether the kernel that is the last to read a node may overwrite its elements."""
        slot, program = self.slots[node], self.program
        if node.storage is None:
            return slot not in program.outputs
        return slot in program.overwritable

    def scan(self, slot: int, node: Node) -> None:
        fold = cast("ops.Scan", node.op).fold
        self.along(slot, node, lambda body, n, dtype: Scanned(body, Accumulator(fold, n, dtype)))

    def sort(self, slot: int, node: Node) -> None:
        dtype = node.inputs[0].meta.dtype
        # The number of low bits in which keys can differ.
        bits = int(dtype.highest).bit_length() if dtype.is_bool or dtype.is_unsigned else 32
        options = node.attrs[1], cast("ops.Sort", node.op).indices, min(bits, 32)
        self.along(slot, node, lambda body, n, dtype: Sorted(body, n, dtype, *options))

    def along(self, slot: int, node: Node, stage: Callable[[Body, int, DType], Stage]) -> None:
        """Build a kernel with a stage along one axis that produces a value at every point."""
        operand, axis = node.inputs[0], node.attrs[0]
        shape = operand.meta.shape
        extents, view = permuted(shape, [*(a for a in range(len(shape)) if a != axis), axis])
        element = Evaluator(self, extents, root=None)
        value, dtype = element.value(self.slots[operand], view), operand.meta.dtype
        passed = stage(element.body, value, dtype)
        spread = Body.of([Accumulated(0, node.meta.dtype)])
        output = Output(slot, 0, node.meta.dtype, view.access)
        label = "_".join(dict.fromkeys([*_names(element.body), node.op.name]))
        self.kernels.append(
            Kernel(extents[:-1], extents[-1:], (passed,), Body(), (), label, spread, (output,))
        )

    def scatter(self, slot: int, node: Node) -> None:
        """Build a kernel over the values that writes each at its indices."""
        axes: tuple[int, ...] = node.attrs[0]
        _, at, op, mode, unique = node.attrs
        values, shape = node.inputs[1], node.meta.shape
        base = self.decisions.buffered[slot][0].slot
        self.need(base)
        element = Evaluator(self, values.meta.shape, root=None)
        whole, units = identity(element.extents), row_major(shape)
        value = element.value(self.slots[values], whole)
        indices = [element.value(self.slots[index], whole) for index in node.inputs[2:]]
        steps = strides_over_result(units, axes, at, len(element.extents))
        access = Access(canonical_strides(steps, element.extents), 0)
        along = tuple(units[a] for a in axes)
        target = element.address_of(indices, access, shape, axes, along, op, whole, clips=False)
        stage = Scattered(
            element.body, target, value, base, slot, node.meta.dtype, node.meta.size, mode, unique
        )
        label = "_".join(dict.fromkeys([*_names(element.body), "scatter"]))
        self.kernels.append(Kernel(element.extents, (), (stage,), Body(), (), label))

    def _reduce(self, slot: int, anchors: list[int]) -> None:
        """Build a kernel that folds the anchors, all over one space, and then runs its row body."""
        first = self.order[anchors[0]]
        kept_axes, reduced_axes = space_of(first)
        shape = first.inputs[0].meta.shape
        kept = tuple(shape[a] for a in kept_axes)
        reduced = tuple(shape[a] for a in reduced_axes)
        factors = self.decisions.contractions.get(anchors[0])
        if factors is not None:
            stage = Contraction(Body(list(factors)))
            for load in factors:
                self.need(load.slot)
        else:
            stage = self._stage(anchors, shape, kept_axes + reduced_axes)
        row = Evaluator(self, kept, root=slot)
        for number, anchor in enumerate(anchors):
            self.produced.add(anchor)
            accumulated = Accumulated(number, self.order[anchor].meta.dtype)
            row.accumulated[anchor] = row.body.add(accumulated)
        row.inside = stage.bound()
        value = row.value(slot)
        inner = [anchor for anchor in anchors if anchor != slot]
        self.idle |= set(inner) - row.used_accumulators - self.stored
        outputs = [(anchor, row.accumulated[anchor]) for anchor in inner if anchor in self.stored]
        kernel = self._add(
            row, reduced, (stage,), [(slot, value), *outputs, *row.extra], row.access_of_outputs()
        )
        for anchor in inner:
            if anchor not in self.stored:
                self.unstored[anchor] = kernel, row.accumulated[anchor]

    def _stage(self, anchors: list[int], shape: Shape, axes: tuple[int, ...]) -> ReduceStage:
        extents, view = permuted(shape, axes)
        element = Evaluator(self, extents, root=None)
        folds: list[Accumulator] = []
        reduced = tuple(shape[a] for a in axes[len(axes) - len(self.order[anchors[0]].attrs) :])
        along = Index(uint32, Access((0,) * (len(axes) - len(reduced)) + row_major(reduced), 0))
        for anchor in anchors:
            node = self.order[anchor]
            values = [element.value(self.slots[operand], view) for operand in node.inputs]
            dtype = node.inputs[0].meta.dtype
            op, product = cast("ops.Folding", node.op).folding()
            if product is not None:
                values = [element.body.add(Apply(product, dtype, tuple(values)))]
            index = element.body.add(along) if op.indexed else None
            folds.append(Accumulator(op, values[0], dtype, index))
        return ReduceStage(element.body, tuple(folds))

    def _fusable_anchors(self, root: int) -> list[int]:
        """Return reductions over one space whose every consumer lies between them and `root`."""
        if root in self.rules.apart:
            return []
        d = self.decisions
        members, reductions = {root}, set[int]()
        stack = [root]
        while stack and len(members) <= MAX_BODY:
            for operand in self.order[stack.pop()].inputs:
                slot = self.slots[operand]
                has_its_size = operand.meta.size == self._size(root)
                if slot in members or operand.storage is not None or not has_its_size:
                    continue
                if d.is_reduction(operand) and slot not in d.spilled:
                    reductions.add(slot)
                elif (
                    self.spans(slot, root)
                    and (d.is_inline(operand) or ops.is_flat(operand))
                    and not d.shifts(operand)
                ):
                    members.add(slot)
                    stack.append(slot)
        candidates: list[int] = []
        for slot in sorted(reductions, key=lambda slot: (-d.depth[slot], slot)):
            if slot not in self.produced and slot not in self.rules.apart:
                if members.issuperset(d.consumers[slot]):
                    candidates.append(slot)
                else:
                    self.notes.setdefault(slot, Reason.SEVERAL)
        return self._of_one_space(candidates, root) if candidates else []

    def _of_one_space(self, candidates: list[int], root: int) -> list[int]:
        """Return the candidates over the space of the first, as long as their buffers fit."""
        d = self.decisions
        first = self.order[candidates[0]]
        space = first.inputs[0].meta.shape, first.attrs
        chosen: list[int] = []
        inside: frozenset[int] = frozenset()
        for slot in candidates:
            node = self.order[slot]
            if d.depth[slot] != d.depth[candidates[0]]:
                continue
            if (node.inputs[0].meta.shape, node.attrs) != space:
                self.notes.setdefault(slot, Reason.AXES)
                continue
            factors = d.contractions.get(slot, ())
            read = [x.slot for x in factors] or [self.slots[x] for x in node.inputs]
            more = inside.union(*(d.needs_of(x, self.stored).sources for x in read))
            excess = self.rules.budget.excess(self._draft(root, {*chosen, slot}, more))
            if excess is not None:
                self.notes.setdefault(slot, excess)
                continue
            if factors:
                return chosen or [slot]
            inside = more
            chosen.append(slot)
        return chosen

    def _draft(self, root: int, anchors: Collection[int], inside: frozenset[int]) -> Draft:
        """Return what a kernel needs that folds the anchors and computes the root from them."""
        d = self.decisions
        return Draft(
            inside=inside,
            around=d.needs[root].sources.difference(anchors),
            outputs=1 + sum(a in self.stored for a in anchors if a != root),
            words=sum(d.words(self.order[a]) for a in anchors),
        )

    def uncounted_operands(self, kernel: Kernel) -> dict[int, Reason]:
        """Return what a kernel reads although the rules did not count it, and why it is stored."""
        counted = set(self.rules.spilled).union(
            *(self.decisions.needs[slot].sources for slot in kernel.writes())
        )
        return {s: self.reasons[s] for s in kernel.reads() & self.reasons.keys() - counted}

    def _size(self, slot: int) -> int:
        return self.order[slot].meta.size

    def _add(
        self,
        row: Evaluator,
        reduced: tuple[int, ...],
        stages: tuple[Stage, ...],
        outputs: list[tuple[int, int]],
        access: Access,
    ) -> Kernel:
        size = size_of(row.extents)
        written = tuple(
            Output(s, v, row.body.dtype(v), access, size == self._size(s)) for s, v in outputs
        )
        names: list[str] = []
        for stage in stages:
            names += [name for body in stage.bodies() for name in _names(body)] + stage.ops()
        names += _names(row.body)
        label = "_".join(dict.fromkeys(names)) or "copy"
        kernel = Kernel(row.extents, reduced, stages, row.body, written, label)
        self.kernels.append(kernel)
        return kernel


def _names(body: Body) -> list[str]:
    return [i.op.name for i in body.instructions if isinstance(i, Apply)]


@dataclass(frozen=True, slots=True)
class Family:
    """How kernels for a class of ops are built.

    Attributes
    ----------
    of : type
        The class of the ops.
    build : callable
        ``build(builder, slot, node)`` adds kernels to `Builder.kernels` that compute the node.
    """

    of: type[Op]
    build: Callable[[Builder, int, Node], None]


# The first family that a node's op belongs to builds its kernels.
FAMILIES = [
    Family(ops.Concat, Builder.concat),
    Family(ops.Assign, Builder.assign),
    Family(ops.Scatter, Builder.scatter),
    Family(ops.Scan, Builder.scan),
    Family(ops.Sort, Builder.sort),
    Family(Op, Builder.inline),
]
