"""What one kernel computes, before it is known how: iteration space, bodies, outputs.

A kernel iterates over `kept` dimensions and, where it reduces, over `reduced` dimensions inside
each. Its `stages` run over the whole space and leave accumulators, its `row` body runs once per
point of the kept dimensions, after the stages, and gives the outputs. A kernel without stages is
elementwise. There is at most one stage today; nothing here assumes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from py_tensor.dtypes import DType, bool_
from py_tensor.graph.op import Elementwise, Reduction


@dataclass(frozen=True, slots=True)
class Access:
    """An affine address: ``offset + sum(strides[d] * i[d])`` over the dimensions of the space."""

    strides: tuple[int, ...]
    offset: int

    def moved(self, dim: int, start: int) -> Access:
        """The same addresses where dimension `dim` counts from `start`."""
        return Access(self.strides, self.offset + start * self.strides[dim])


@dataclass(frozen=True, slots=True)
class Load:
    """An element of the buffer of the node in `slot`."""

    slot: int
    dtype: DType
    access: Access


@dataclass(frozen=True, slots=True)
class Index:
    """The value of an affine address itself, as an integer."""

    dtype: DType
    access: Access


@dataclass(frozen=True, slots=True)
class Mask:
    """Whether each named coordinate lies in [low, high): (dimension, low, high)."""

    ranges: tuple[tuple[int, int, int], ...]

    dtype = bool_

    def moved(self, dim: int, start: int) -> Mask:
        """The same mask where dimension `dim` counts from `start`."""
        return Mask(
            tuple(
                (d, max(0, low - start), max(0, high - start)) if d == dim else (d, low, high)
                for d, low, high in self.ranges
            )
        )


@dataclass(frozen=True, slots=True)
class Const:
    """The scalar held by the constant node in `slot`."""

    slot: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """An elementwise op on earlier values of the body."""

    op: Elementwise
    dtype: DType
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Convert:
    """An earlier value converted to `dtype`."""

    dtype: DType
    arg: int


@dataclass(frozen=True, slots=True)
class Select:
    """`inside` where the mask holds, else `outside`."""

    dtype: DType
    mask: int
    inside: int
    outside: int


@dataclass(frozen=True, slots=True)
class Accumulated:
    """The result of the accumulator with this number, in the row body."""

    number: int
    dtype: DType


Instruction = Load | Index | Mask | Const | Apply | Convert | Select | Accumulated


@dataclass(slots=True)
class Body:
    """Straight-line code; a value is the position of its instruction. Equal ones are shared."""

    instructions: list[Instruction] = field(default_factory=list[Instruction])
    _known: dict[Instruction, int] = field(default_factory=dict[Instruction, int])

    def add(self, instruction: Instruction) -> int:
        """The value of `instruction`, added unless it is there."""
        found = self._known.get(instruction)
        if found is None:
            found = self._known[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return found

    def dtype(self, value: int) -> DType:
        return self.instructions[value].dtype

    @property
    def cost(self) -> int:
        """Instructions for one point, roughly."""
        return 1 + sum(i.op.cost if isinstance(i, Apply) else 1 for i in self.instructions)

    def moved(self, dim: int, start: int) -> Body:
        """The same code where dimension `dim` counts from `start`."""

        def move(x: Instruction) -> Instruction:
            if isinstance(x, Mask):
                return x.moved(dim, start)
            if isinstance(x, Load | Index):
                return replace(x, access=x.access.moved(dim, start))
            return x

        # Not `add`: values keep their numbers.
        return Body([move(x) for x in self.instructions])

    def slots(self) -> set[int]:
        """The nodes whose buffers this code reads."""
        return {i.slot for i in self.instructions if isinstance(i, Load)}


@dataclass(frozen=True, slots=True)
class Fold:
    """An accumulator: a reduction of one value of the stage's body.

    `index` is the value's flat index along the reduced axes, where the reduction asks for it.
    """

    op: Reduction
    value: int
    dtype: DType  # of the value
    index: int | None = None

    @property
    def rounds(self) -> bool:
        """Whether the order of folding matters to the result."""
        return self.op.rounds and self.dtype.kind == "f"


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass over the whole space: `element` is evaluated at each point and folded."""

    element: Body
    folds: tuple[Fold, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """The sum over the reduced dimensions of the product of two loads; accumulator 0."""

    a: Load
    b: Load


@dataclass(frozen=True, slots=True)
class Output:
    """A value of the row body, stored in the buffer of the node in `slot`.

    `whole` promises that the outputs fill the buffer: what lies behind the last one is padding.
    """

    slot: int
    value: int
    dtype: DType
    access: Access
    whole: bool = True


@dataclass(slots=True)
class Kernel:
    """One kernel.

    Attributes
    ----------
    kept, reduced : tuple of int
        Extents. Accesses of a stage run over ``kept + reduced``, those of the row body and of the
        outputs over ``kept``.
    label : str
        The ops it computes, for messages.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    stages: tuple[Stage | Contraction, ...]
    row: Body
    outputs: tuple[Output, ...]
    label: str

    def reads(self) -> set[int]:
        slots = self.row.slots()
        for stage in self.stages:
            if isinstance(stage, Contraction):
                slots |= {stage.a.slot, stage.b.slot}
            else:
                slots |= stage.element.slots()
        return slots

    def folds(self) -> list[Fold]:
        return [fold for s in self.stages if isinstance(s, Stage) for fold in s.folds]

    def buffers(self) -> int:
        """The most storage buffers that a dispatch of it may bind, in one pass or in two.

        Two passes hand over every part of every accumulator.
        """
        parts = sum(len(fold.op.parts) for fold in self.folds())
        inside = {slot for s in self.stages if isinstance(s, Stage) for slot in s.element.slots()}
        return max(
            len(self.reads()) + len(self.outputs),
            len(inside) + parts,
            len(self.row.slots()) + parts + len(self.outputs),
        )

    def writes(self) -> set[int]:
        return {output.slot for output in self.outputs}
