"""What one kernel computes, independent of WGSL: iteration space, stages, bodies, outputs.

A kernel iterates over `kept` dimensions and, if it reduces, over `reduced` dimensions inside each.
Its `stages` run over the whole space in sequence and leave accumulators. After them, its `row` body
runs once per point of the kept dimensions, and its `spread` body once more over the whole space.
Both have outputs. A kernel without stages is elementwise. A kernel that scans or sorts has a single
stage of that kind, and its spread body passes on the result. A kernel that scatters has a single
such stage and nothing else.

Also whether a kernel fits a device: the buffers that it binds, and the length of its code. Every
pass that makes a kernel larger describes it as a `Draft` and asks the `Budget` of the device.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self, cast

from py_tensor.base.dtypes import DType
from py_tensor.base.shapes import size_of
from py_tensor.ir.node import Reason
from py_tensor.ir.op import Reduction, Scan, Scatter, Sort
from py_tensor.schedule.body import Access, Body, Check
from py_tensor.schedule.branches import operations_of

MAX_BODY = 96  # ops inlined into one kernel: limits compile time and registers
_NOTHING: frozenset[int] = frozenset()
FAULTS = -1  # the slot of the buffer that records out-of-range indices, if there are checks


class Draft(NamedTuple):
    """What a kernel, finished or not, needs of a device.

    A kernel that folds takes one dispatch or two. The first of two stores the words of its
    accumulators, each of which counts as a buffer, and the second reads them.

    Attributes
    ----------
    inside, around : set of int
        The slots that its stages read, and those that its other bodies read. The buffer of indices
        out of range (`FAULTS`) is one of them where indices are checked.
    outputs : int
        Buffers for its results.
    words : int
        Words of its accumulators, if it may take two dispatches.
    work : int
        Other buffers that a dispatch binds.
    length : int
        Ops inlined into it.
    """

    inside: Set[int] = _NOTHING
    around: Set[int] = _NOTHING
    outputs: int = 1
    words: int = 0
    work: int = 0
    length: int = 0

    @property
    def buffers(self) -> int:
        """The most storage buffers that one of its dispatches binds."""
        inside, around, outputs, words, work, _ = self
        together = len(inside | around) + outputs + work
        return max(together, max(len(inside), len(around) + outputs) + words) if words else together


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a kernel.

    Attributes
    ----------
    max_buffers, max_bytes : int
        How many buffers it may bind, and the size limit of each.
    """

    max_buffers: int
    max_bytes: int = 2**62

    def excess(self, draft: Draft) -> Reason | None:
        """Return the limit that a kernel exceeds; None if it fits."""
        if draft.buffers > self.max_buffers:
            return Reason.BUFFERS
        return Reason.LONG if draft.length > MAX_BODY else None

    def fits(self, draft: Draft) -> bool:
        """Return whether a kernel exceeds no limit."""
        return self.excess(draft) is None


@dataclass(frozen=True, slots=True)
class Accumulator:
    """An accumulator: a reduction of one value of the stage's body.

    `index` is the value's flat index along the reduced axes, if the reduction uses it.
    """

    op: Reduction
    value: int
    dtype: DType  # of the value
    index: int | None = None

    @property
    def rounds(self) -> bool:
        """Whether the result depends on the order of folding."""
        return self.op.rounds and self.dtype.is_inexact

    @property
    def components(self) -> list[DType]:
        """The dtypes of the components, as `Reduction.components` names them."""
        return self.op.dtypes(self.dtype)

    @property
    def words(self) -> int:
        """The words of all components together."""
        return sum(dtype.words for dtype in self.components)


class Stage:
    """Work of a kernel over its whole space; the base class of all kinds of stages.

    Attributes
    ----------
    family : str
        The name for kernels with such a stage; "" if their programs name it.
    unfused_because : Reason, optional
        Why `schedule/row_fusion.py` fuses no other kernel with one that has such a stage.
    work_buffers : int
        Buffers that a dispatch binds besides operands, accumulators and results.
    """

    __slots__ = ()
    family: ClassVar[str] = ""
    unfused_because: ClassVar[Reason | None] = Reason.STAGES
    work_buffers: ClassVar[int] = 0

    def bodies(self) -> tuple[Body, ...]:
        """Return the code evaluated at each point."""
        return ()

    def with_bodies(self, change: Callable[[Body], Body]) -> Self:
        return self

    def with_slots(self, number: Callable[[int], int]) -> Self:
        """Return the same stage for nodes in other slots; every field with slots is replaced."""
        raise NotImplementedError(f"{type(self).__name__}: has no with_slots")

    def accumulators(self) -> tuple[Accumulator, ...]:
        return ()

    @property
    def operations(self) -> int:
        """Operations for one point outside its bodies."""
        return len(self.accumulators())

    def ops(self) -> list[str]:
        """Return the names of the ops that it applies to the values of its bodies."""
        return [fold.op.name for fold in self.accumulators()]

    def bases(self) -> set[int]:
        """Return the slots whose elements results keep where the stage does not write."""
        return set()

    def sources(self) -> set[int]:
        """Return the slots that it reads at the points of the space."""
        return set[int]().union(*(body.slots() for body in self.bodies()))

    def bound(self) -> set[int]:
        """Return `sources`, with `FAULTS` if it checks indices."""
        return self.sources().union(*map(bound, self.bodies()))

    def writes(self) -> set[int]:
        """Return the slots that the stage itself writes; they are not outputs of the kernel."""
        return set()

    def written(self, points: int) -> int:
        """Return the bytes written to those slots."""
        return 0

    @property
    def buffers(self) -> int:
        """Buffers that a dispatch binds besides operands, accumulators and outputs."""
        return len(self.writes()) + self.work_buffers


class BodyStage(Stage):
    """A stage that evaluates a body, `element`."""

    __slots__ = ()
    element: Body

    def bodies(self) -> tuple[Body, ...]:
        return (self.element,)

    def with_bodies(self, change: Callable[[Body], Body]) -> Self:
        return replace(cast("Any", self), element=change(self.element))

    def with_slots(self, number: Callable[[int], int]) -> Self:
        """Return the same stage for nodes in other slots; no other field contains slots."""
        return self.with_bodies(lambda body: body.with_slots(number))


@dataclass(frozen=True, slots=True)
class ReduceStage(BodyStage):
    """A stage that reduces the whole space: `element` is evaluated at each point and folded."""

    element: Body
    folds: tuple[Accumulator, ...]

    unfused_because: ClassVar[Reason | None] = None

    def accumulators(self) -> tuple[Accumulator, ...]:
        return self.folds


@dataclass(frozen=True, slots=True)
class Scanned(BodyStage):
    """A stage that scans along the one reduced dimension.

    Accumulator 0 in the spread body is the fold of all points up to and including this one.
    """

    element: Body
    fold: Accumulator

    family: ClassVar[str] = "scan"
    work_buffers: ClassVar[int] = Scan.work_buffers

    def accumulators(self) -> tuple[Accumulator, ...]:
        return (self.fold,)

    def ops(self) -> list[str]:
        return [f"running {self.fold.op.name}"]


@dataclass(frozen=True, slots=True)
class Sorted(BodyStage):
    """A stage that sorts along the one reduced dimension.

    Accumulator 0 in the spread body is the sorted value at this point, or its original position
    (int32). The sort is stable, and NaN is the largest value. Only the lowest `bits` of a key
    matter; fewer bits take fewer dispatches.
    """

    element: Body
    value: int
    dtype: DType  # of the value
    descending: bool
    indices: bool
    bits: int

    family: ClassVar[str] = "sort"
    work_buffers: ClassVar[int] = Sort.work_buffers

    def ops(self) -> list[str]:
        return ["argsort" if self.indices else "sort"]


@dataclass(frozen=True, slots=True)
class Scattered(BodyStage):
    """A stage that writes or combines values at addresses of a buffer initialized from a base.

    It is the only stage of a kernel over the values, which has no other outputs.

    Attributes
    ----------
    at, value : int
        The address of a value, and the value.
    into, target : int
        The slots of the base and of the result.
    dtype : DType
        The dtype of values, base and result.
    size : int
        The number of elements of the base.
    mode : str
        One of `SCATTER_MODES`.
    unique : bool
        No two values have the same address.
    """

    element: Body
    at: int
    value: int
    into: int
    target: int
    dtype: DType
    size: int
    mode: str
    unique: bool

    family: ClassVar[str] = "scatter"
    work_buffers: ClassVar[int] = Scatter.work_buffers

    def with_slots(self, number: Callable[[int], int]) -> Self:
        element, into, target = self.element.with_slots(number), self.into, self.target
        return replace(self, element=element, into=number(into), target=number(target))

    def ops(self) -> list[str]:
        return [f"scatter {self.mode}"]

    def bases(self) -> set[int]:
        return {self.into}

    def writes(self) -> set[int]:
        return {self.target}

    def written(self, points: int) -> int:
        return points * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Contraction(BodyStage):
    """The sum over the reduced dimensions of the product of two loads; accumulator 0.

    The two loads are the instructions of `element`.
    """

    element: Body

    unfused_because: ClassVar[Reason | None] = Reason.PRODUCT

    @property
    def operations(self) -> int:
        return 2

    def ops(self) -> list[str]:
        return ["matmul"]


@dataclass(frozen=True, slots=True)
class Output:
    """A value of the row body, stored in the buffer of the node in `slot`.

    `whole` promises that the output fills the buffer, so that anything after its end is padding.
    """

    slot: int
    value: int
    dtype: DType
    access: Access
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Whole:
    """A stored node that a kernel overwrites in part, and its number of elements."""

    slot: int
    size: int


@dataclass(slots=True, unsafe_hash=True)  # it only changes while `Builder` makes it
class Kernel:
    """One kernel; equal kernels compute the same from the same slots.

    Attributes
    ----------
    kept, reduced : tuple of int
        Extents. Accesses of the stages and of the spread body are over ``kept + reduced``, those of
        the row body over ``kept``.
    stages : tuple
        Accumulators are numbered across all stages; a stage may use those of earlier stages.
    label : str
        The ops that it computes, for messages.
    slab : bool
        Whether the outputs share one buffer. They have the same size, and all are results of the
        flush.
    in_place_target : Whole, optional
        The node whose elements the single output keeps where the kernel does not write.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    stages: tuple[Stage, ...]
    row: Body
    outputs: tuple[Output, ...]
    label: str
    spread: Body = field(default_factory=Body)
    spread_outputs: tuple[Output, ...] = ()
    slab: bool = False
    in_place_target: Whole | None = None

    @property
    def revisits(self) -> bool:
        """Whether it traverses its rows more than once."""
        return len(self.stages) > 1 or bool(self.spread_outputs)

    def bodies(self) -> list[Body]:
        """Return the bodies that run over the whole space."""
        return [*(body for stage in self.stages for body in stage.bodies()), self.spread]

    def reads(self) -> set[int]:
        sources = (stage.sources() for stage in self.stages)
        return self.row.slots().union(self.spread.slots(), self.bases(), *sources)

    def writes(self) -> set[int]:
        outputs = {output.slot for output in (*self.outputs, *self.spread_outputs)}
        return outputs.union(*(stage.writes() for stage in self.stages))

    def bases(self) -> set[int]:
        """Return the slots whose elements results keep where the kernel does not write."""
        slots = set[int]().union(*(stage.bases() for stage in self.stages))
        return slots if self.in_place_target is None else slots | {self.in_place_target.slot}

    def checks(self) -> list[Check]:
        return [check for body in (self.row, *self.bodies()) for check in body.checks()]

    def accumulators(self) -> list[Accumulator]:
        return [fold for stage in self.stages for fold in stage.accumulators()]

    def with_slots(self, number: Callable[[int], int]) -> Kernel:
        """Return the same kernel for nodes in other, distinct slots."""
        whole = self.in_place_target

        def stored(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
            slots = ((o, number(o.slot), o.access.with_slots(number)) for o in outputs)
            return tuple(replace(o, slot=slot, access=access) for o, slot, access in slots)

        return replace(
            self,
            stages=tuple(stage.with_slots(number) for stage in self.stages),
            row=self.row.with_slots(number),
            outputs=stored(self.outputs),
            spread=self.spread.with_slots(number),
            spread_outputs=stored(self.spread_outputs),
            in_place_target=None if whole is None else replace(whole, slot=number(whole.slot)),
        )

    def operations(self) -> int:
        """Return the number of elementwise ops and folding steps over all points."""
        space = self.kept + self.reduced
        done = size_of(space) * sum(stage.operations for stage in self.stages)
        inside = (body for stage in self.stages for body in stage.bodies())
        done += sum(operations_of(body, (), space) for body in inside)
        done += operations_of(self.spread, [o.value for o in self.spread_outputs], space)
        return done + operations_of(self.row, [o.value for o in self.outputs], self.kept)

    @property
    def accumulated_words(self) -> int:
        """The words of all accumulators together."""
        return sum(fold.words for fold in self.accumulators())

    @property
    def has_wide(self) -> bool:
        """Whether it loads, folds or stores elements of two words.

        Gathers do not count, because they read elements one by one anyway.
        """
        loads = [x for body in (*self.bodies(), self.row) for x in body.loads()]
        stored = (*self.outputs, *self.spread_outputs)
        return any(x.dtype.is_wide for x in (*loads, *self.accumulators(), *stored))

    def traffic(self) -> int:
        """Return the bytes read and written, if each byte is moved once."""
        read: dict[int, int] = {}
        whole = self.kept + self.reduced
        spaces = [*((body, whole) for body in self.bodies()), (self.row, self.kept)]
        loads = [(load, extents) for body, extents in spaces for load in body.loads()]
        for load, extents in loads:
            moved = load.access.footprint(extents) * load.dtype.itemsize
            read[load.slot] = max(read.get(load.slot, 0), moved)
        for body, extents in spaces:
            for gather in body.gathers():
                moved = size_of(extents) * gather.dtype.itemsize
                read[gather.slot] = read.get(gather.slot, 0) + moved
        written = sum(size_of(self.kept) * o.dtype.itemsize for o in self.outputs)
        written += sum(size_of(whole) * o.dtype.itemsize for o in self.spread_outputs)
        written += sum(stage.written(size_of(whole)) for stage in self.stages)
        return sum(read.values()) + written

    def draft(self) -> Draft:
        """Return what it needs of a device, apart from its length."""
        inside = set[int]().union(*(stage.bound() for stage in self.stages))
        around = bound(self.row) | bound(self.spread)
        if self.in_place_target is not None:
            around.add(self.in_place_target.slot)
        outputs = (1 if self.slab else len(self.outputs)) + len(self.spread_outputs)
        outputs += sum(stage.buffers for stage in self.stages)
        return Draft(inside, around, outputs, 0 if self.revisits else self.accumulated_words)


def bound(body: Body) -> set[int]:
    """Return the slots of the buffers that a body binds, with `FAULTS` if it checks indices."""
    return body.slots() | {FAULTS} if body.checks() else body.slots()
