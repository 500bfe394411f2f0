"""Fusing kernels over the same rows: softmax, normalizations and variances become one kernel each.

A reduction, computations with its results, and later uses of the same rows can be one kernel that
traverses each row several times. The row is then loaded from memory once, and from the cache
afterwards. This pass works on finished kernels; kernels that cannot be fused are unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from dataclasses import replace

from py_tensor.base.layout import canonical_strides
from py_tensor.base.shapes import Shape, row_major
from py_tensor.ir.node import Notes, Reason
from py_tensor.schedule.body import (
    Access,
    Accumulated,
    Addressed,
    Body,
    Gather,
    Instruction,
    Load,
    Mask,
    copied,
)
from py_tensor.schedule.kernel import Budget, Kernel, Output, ReduceStage

MAX_PARTS = 6  # parts of all accumulators: each takes 1 KiB of the 16 KiB that every device has
Fits = Callable[[Kernel], bool]


def fuse_rows(
    kernels: list[Kernel], wanted: Set[int], budget: Budget, fits: Fits
) -> tuple[list[Kernel], Notes]:
    """Fuse kernels so that they do the same work with fewer traversals of memory.

    Also returns why reductions are not fused.

    Parameters
    ----------
    kernels
        Kernels in dependency order; so are the kernels returned.
    wanted
        The slots that must be stored even if no kernel reads them.
    fits
        Whether a kernel may traverse its rows several times: they must be short and many.
    """
    if not any(kernel.stages for kernel in kernels):
        return kernels, {}
    fuser = _Fuser(wanted, budget, fits)
    return fuser.fused(kernels), fuser.notes


class _Fuser:
    def __init__(self, wanted: Set[int], budget: Budget, fits: Fits) -> None:
        self.wanted = wanted
        self.budget = budget
        self.fits = fits
        self.notes: Notes = {}
        self.done: list[Kernel | None] = []  # None: fused with a later kernel
        self.writer: dict[int, int] = {}  # slot -> position in `done` of its writer
        self.read_by: dict[int, list[int]] = {}  # slot -> positions in `done` of its readers
        self.left = Counter[int]()  # slot -> kernels, done or not, that read its buffer

    def fused(self, kernels: list[Kernel]) -> list[Kernel]:
        for kernel in kernels:
            self.left.update(kernel.reads())
        for kernel in kernels:
            self._append(self._with_producers(kernel))
        return [kernel for kernel in self.done if kernel is not None]

    def _append(self, kernel: Kernel) -> None:
        for slot in kernel.writes():
            self.writer[slot] = len(self.done)
        for slot in kernel.reads():
            self.read_by.setdefault(slot, []).append(len(self.done))
        self.done.append(kernel)

    def _with_producers(self, kernel: Kernel) -> Kernel:
        """Return the kernel fused with kernels that reduce the rows it reads, the latest first."""
        while True:
            numbers = {self.writer[slot] for slot in kernel.reads() if slot in self.writer}
            for number in sorted(numbers, reverse=True):
                joined = self._joined(number, kernel)
                if isinstance(joined, Kernel):
                    self.done[number] = None
                    kernel = joined
                    break
                self._note(number, kernel, joined)
            else:
                return kernel

    def _note(self, number: int, consumer: Kernel, reason: Reason) -> None:
        """Record why a kernel is not fused."""
        producer = self.done[number]
        assert producer is not None
        for slot in producer.writes() & consumer.reads() if producer.stages else ():
            self.notes.setdefault(slot, reason)

    def _joined(self, number: int, consumer: Kernel) -> Kernel | Reason:
        """Fuse two kernels, or return the reason why not."""
        producer = self.done[number]
        assert producer is not None
        if not producer.stages:
            return Reason.SHAPE
        if self._is_awaited(producer):
            return Reason.ORDER
        joined = join(producer, consumer)
        if isinstance(joined, Reason):
            return joined
        if sum(len(fold.op.components) for fold in joined.accumulators()) > MAX_PARTS:
            return Reason.LONG
        if not self.fits(joined):
            return Reason.ROWS
        passed = producer.writes() & consumer.reads()
        unread = {slot for slot in passed if self.left[slot] == 1} - self.wanted
        joined = without_outputs(joined, unread)
        length = sum(len(body.instructions) for body in (*joined.bodies(), joined.row))
        excess = self.budget.excess(joined.draft()._replace(length=length))
        if excess is not None:
            return excess
        self.left.update(joined.reads())
        self.left.subtract([*producer.reads(), *consumer.reads()])
        return joined

    def _is_awaited(self, producer: Kernel) -> bool:
        """Return whether an earlier kernel reads its results, so that it cannot move later."""
        readers = (n for slot in producer.writes() for n in self.read_by.get(slot, ()))
        return any(self.done[n] is not None for n in readers)


def join(producer: Kernel, consumer: Kernel) -> Kernel | Reason:
    """Fuse two kernels, or return why they do not use the same rows.

    The producer reduces rows, and the consumer uses each result only at points of its own row.
    """
    for stage in (*producer.stages, *consumer.stages):
        if stage.unfused_because is not None:
            return stage.unfused_because
    joined = None
    if not producer.spread_outputs and consumer.in_place_target is None:
        joined = (_join_reduction if consumer.stages else _join_map)(producer, consumer)
    if joined is None:
        return Reason.AXES if consumer.stages else Reason.SHAPE
    return joined


def _join_reduction(producer: Kernel, consumer: Kernel) -> Kernel | None:
    if (producer.kept, producer.reduced) != (consumer.kept, consumer.reduced):
        return None
    joiner = _Joiner(producer)
    stages = [joiner.stage(stage) for stage in consumer.stages if isinstance(stage, ReduceStage)]
    row = joiner.body(consumer.row, producer.kept, into=producer.row)
    spread = joiner.body(consumer.spread, producer.kept + producer.reduced)
    if row is None or spread is None or any(stage is None for stage in stages):
        return None
    return replace(
        producer,
        stages=(*producer.stages, *(stage for stage in stages if stage is not None)),
        row=row[0],
        outputs=(*producer.outputs, *_moved(consumer.outputs, row[1])),
        spread=spread[0],
        spread_outputs=_moved(consumer.spread_outputs, spread[1]),
        label=_label(producer, consumer),
    )


def _join_map(producer: Kernel, consumer: Kernel) -> Kernel | None:
    """Fuse an elementwise consumer, whose dimensions are a permutation of the producer's."""
    order = _order(producer, consumer)
    if order is None:
        return None
    positions = {d: n for n, d in enumerate(order)}

    def moved(instruction: Instruction) -> Instruction:
        if isinstance(instruction, Mask):
            ranges = ((positions[d], low, high) for d, low, high in instruction.ranges)
            return Mask(tuple(ranges))
        if isinstance(instruction, Addressed):
            return replace(instruction, access=instruction.access.permuted(order))
        return instruction

    extents = producer.kept + producer.reduced
    spread = _Joiner(producer).body(consumer.row, extents, moved=moved)
    if spread is None:
        return None
    outputs = tuple(replace(o, access=o.access.permuted(order)) for o in consumer.outputs)
    return replace(
        producer,
        spread=spread[0],
        spread_outputs=_moved(outputs, spread[1]),
        label=_label(producer, consumer),
    )


def _order(producer: Kernel, consumer: Kernel) -> list[int] | None:
    """Return the consumer's dimensions in the order of the producer's: kept, then reduced.

    The reduced dimensions are those along which the producer's results do not change.
    """
    results = producer.writes()
    loads = [i for i in consumer.row.instructions if isinstance(i, Load) and i.slot in results]
    long = [d for d, n in enumerate(consumer.kept) if n != 1]
    varying = {d for load in loads for d in long if load.access.strides[d]}
    kept = [d for d in long if d in varying]
    reduced = [d for d in long if d not in varying]
    order: list[int] = []
    short = [d for d, n in enumerate(consumer.kept) if n == 1]
    for extents, dims in ((producer.kept, kept), (producer.reduced, reduced)):
        if [consumer.kept[d] for d in dims] != [n for n in extents if n != 1]:
            return None
        for n in extents:
            if n == 1 and not short:
                return None
            order.append(short.pop() if n == 1 else dims.pop(0))
    return None if short else order


def _label(producer: Kernel, consumer: Kernel) -> str:
    return "_".join(dict.fromkeys((producer.label, consumer.label)))


def _moved(outputs: tuple[Output, ...], values: dict[int, int]) -> tuple[Output, ...]:
    return tuple(replace(o, value=values[o.value]) for o in outputs)


def without_outputs(kernel: Kernel, slots: set[int]) -> Kernel:
    """Return the kernel without some of its outputs, and without the code that only they need."""
    outputs = tuple(o for o in kernel.outputs if o.slot not in slots)
    row = Body()
    values = copied(kernel.row, [o.value for o in outputs], row.add)
    return replace(kernel, row=row, outputs=_moved(outputs, values))


class _Joiner:
    """Translates the consumer's bodies to the producer's space, with its results substituted."""

    def __init__(self, producer: Kernel) -> None:
        self.producer = producer
        self.folds = len(producer.accumulators())
        self.results = {o.slot: o.value for o in producer.outputs}

    def body(
        self,
        source: Body,
        extents: Shape,
        into: Body | None = None,
        moved: Callable[[Instruction], Instruction] = lambda instruction: instruction,
    ) -> tuple[Body, dict[int, int]] | None:
        """Return the body over a space of these extents, and the new number of each of its values.

        None if it reads a result of the producer that belongs to another row.
        """
        target = Body() if into is None else Body.of(into.instructions)
        fits = True

        def add(instruction: Instruction) -> int:
            nonlocal fits
            instruction = moved(instruction)
            if isinstance(instruction, Accumulated):
                number = instruction.number + self.folds
                return target.add(replace(instruction, number=number))
            if isinstance(instruction, Gather) and instruction.slot in self.results:
                fits = False
            if not isinstance(instruction, Load) or instruction.slot not in self.results:
                return target.add(instruction)
            fits = fits and self._is_own_row(instruction.access, extents)
            return self._result(target, self.results[instruction.slot], len(extents))

        values = copied(source, range(len(source.instructions)), add)
        return (target, values) if fits else None

    def stage(self, stage: ReduceStage) -> ReduceStage | None:
        joined = self.body(stage.element, self.producer.kept + self.producer.reduced)
        if joined is None:
            return None
        body, values = joined
        folds = (
            replace(f, value=values[f.value], index=None if f.index is None else values[f.index])
            for f in stage.folds
        )
        return ReduceStage(body, tuple(folds))

    def _is_own_row(self, access: Access, extents: Shape) -> bool:
        kept = self.producer.kept
        row_strides = row_major(kept) + (0,) * (len(extents) - len(kept))
        access = access.over(canonical_strides(access.strides, extents))
        return access == Access(canonical_strides(row_strides, extents), 0)

    def _result(self, target: Body, value: int, rank: int) -> int:
        """Copy the producer's row body up to this value, so that it is computed here."""
        beyond = (0,) * (rank - len(self.producer.kept))

        def add(instruction: Instruction) -> int:
            if isinstance(instruction, Addressed):
                wider = instruction.access.over(instruction.access.strides + beyond)
                instruction = replace(instruction, access=wider)
            return target.add(instruction)

        return copied(self.producer.row, [value], add)[value]
