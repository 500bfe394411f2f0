"""Bodies: the straight-line code of a kernel for one point.

A `Body` is evaluated at every point of a space. Instructions refer to earlier ones by number.
Addresses are affine in the coordinates of the point, or computed from earlier values (`Address`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, cast

from py_tensor.base.dtypes import DType, bool_, uint32
from py_tensor.base.shapes import Shape, size_of
from py_tensor.ir.op import Elementwise

NOWHERE = 2**32 - 1  # the address for an index out of range


class Source:
    """An instruction that uses no earlier value."""

    __slots__ = ()
    operands: tuple[int, ...] = ()

    def renumbered(self, values: Mapping[int, int]) -> Self:
        return self


class Computed:
    """An instruction that uses earlier values, by number."""

    __slots__ = ()
    operands: tuple[int, ...]

    def renumbered(self, values: Mapping[int, int]) -> Self:
        """Return the instruction with each operand n replaced by values[n]."""
        operands = tuple([values[n] for n in self.operands])
        return replace(cast("Any", self), operands=operands)


class Start(NamedTuple):
    """The offset of the free view in a slot, which `alignment` divides; see `Program`."""

    slot: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Access:
    """An affine address: ``offset + sum(strides[d] * i[d])`` over the dimensions of the space.

    If it has a `start`, each flush adds that. Accesses with different starts are never equal.
    """

    strides: tuple[int, ...]
    offset: int
    start: Start | None = None

    def moved(self, dim: int, by: int) -> Access:
        """Return the same addresses where dimension `dim` counts from `by`."""
        return self.over(self.strides, by * self.strides[dim])

    def over(self, strides: tuple[int, ...], beyond: int = 0) -> Access:
        """Return addresses with other strides, `beyond` elements further."""
        return Access(strides, self.offset + beyond, self.start)

    def with_slots(self, number: Callable[[int], int]) -> Access:
        """Return the same addresses for nodes in other slots."""
        if self.start is None:
            return self
        return replace(self, start=self.start._replace(slot=number(self.start.slot)))

    def is_aligned(self, width: int) -> bool:
        """Return whether the address at the origin is a multiple of `width`."""
        return not (self.offset % width or (self.start and self.start.alignment % width))

    def footprint(self, extents: tuple[int, ...]) -> int:
        """Return the largest possible number of distinct addresses over these extents."""
        return size_of(tuple(n for n, s in zip(extents, self.strides, strict=True) if s))

    def permuted(self, order: Sequence[int]) -> Access:
        """Return the same addresses over the dimensions in another order."""
        return self.over(tuple(self.strides[d] for d in order))


@dataclass(frozen=True, slots=True)
class Load(Source):
    """An element of the buffer of the node in `slot`."""

    slot: int
    dtype: DType
    access: Access


@dataclass(frozen=True, slots=True)
class Index(Source):
    """The value of an affine address itself, as an integer."""

    dtype: DType
    access: Access


@dataclass(frozen=True, slots=True)
class Check:
    """The report for an index out of range.

    Attributes
    ----------
    op : str
        The function that the user called.
    axis, shape
        The indexed axis, and the shape of the indexed tensor.
    signed : bool
        The index is an int32, not a uint32.
    wide : bool
        The index had 64 bits and was clamped to int32.
    """

    op: str
    axis: int
    shape: Shape
    signed: bool
    wide: bool = False

    def message_of_bits(self, word: int) -> str:
        index = word - 2**32 if self.signed and word >= 2**31 else word
        if self.wide and word in (2**31 - 1, 2**31):
            return self.message(f"{index} or {'more' if index > 0 else 'less'}")
        return self.message(index)

    def message(self, index: int | str) -> str:
        where = self.op if self.op == "index" else f"{self.op}: index"
        return f"{where} {index} is out of range for axis {self.axis} of shape {self.shape}"


@dataclass(frozen=True, slots=True)
class Address(Computed):
    """The address ``access + sum(strides[j] * index[j])``, as uint32; the operands are the indices.

    A negative index counts from the end of its axis.

    Attributes
    ----------
    extents, strides : tuple of int
        For each index, the length of its axis, and the stride along it.
    clips : bool
        An index out of range is clamped. Otherwise its address is `NOWHERE`.
    checks : tuple of Check
        One for each index; empty if all are known to be in range. An index out of range is recorded
        in a word of the buffer `kernel.FAULTS`, which lowering chooses.
    guarded : bool
        There is one more operand: indices are only checked where it is true.
    """

    access: Access
    operands: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    clips: bool
    checks: tuple[Check, ...] = ()
    guarded: bool = False

    dtype = uint32


@dataclass(frozen=True, slots=True)
class Gather(Computed):
    """The element, at an address given by an earlier value, of the buffer of a node."""

    slot: int
    dtype: DType
    operands: tuple[int]


@dataclass(frozen=True, slots=True)
class Mask(Source):
    """Whether coordinates lie in ranges: (dimension, low, high) means [low, high)."""

    ranges: tuple[tuple[int, int, int], ...]

    dtype = bool_

    def moved(self, dim: int, start: int) -> Mask:
        """Return the same mask where dimension `dim` counts from `start`."""
        return Mask(
            tuple(
                (d, max(0, low - start), max(0, high - start)) if d == dim else (d, low, high)
                for d, low, high in self.ranges
            )
        )


@dataclass(frozen=True, slots=True)
class Within(Computed):
    """Whether an earlier uint32 value lies in [low, high), and a condition, if given, holds."""

    low: int
    high: int
    operands: tuple[int] | tuple[int, int]

    dtype = bool_


@dataclass(frozen=True, slots=True)
class Const(Source):
    """The scalar of the constant node in `slot`."""

    slot: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply(Computed):
    """An elementwise op on earlier values of the body."""

    op: Elementwise
    dtype: DType
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Convert(Computed):
    """An earlier value converted to `dtype`."""

    dtype: DType
    operands: tuple[int]


@dataclass(frozen=True, slots=True)
class Select(Computed):
    """Of the operands (mask, inside, outside), the second where the mask holds, else the third."""

    dtype: DType
    operands: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Accumulated(Source):
    """The result of the accumulator with this number."""

    number: int
    dtype: DType


Addressed = Load | Index | Address  # instructions with an affine address
Instruction = Addressed | Gather | Mask | Within | Const | Apply | Convert | Select | Accumulated


@dataclass(slots=True)
class Body:
    """Straight-line code; a value is the position of its instruction. Equal values are shared.

    Bodies are equal if their instructions are.

    `noted` is a cache of facts about the code that do not depend on its slots; see `reroll.py`.
    """

    instructions: list[Instruction] = field(default_factory=list[Instruction])
    _known: dict[Instruction, int] = field(default_factory=dict[Instruction, int], compare=False)
    noted: dict[object, Any] = field(default_factory=dict[object, Any], compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(tuple(self.instructions))

    @classmethod
    def of(cls, instructions: Iterable[Instruction]) -> Body:
        body = cls()
        for instruction in instructions:
            body.add(instruction)
        return body

    def add(self, instruction: Instruction) -> int:
        """Add `instruction` unless an equal one is there; return its value."""
        number = self._known.get(instruction)
        if number is None:
            number = self._known[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return number

    def dtype(self, value: int) -> DType:
        return self.instructions[value].dtype

    @property
    def cost(self) -> int:
        """The approximate number of instructions for one point."""
        return 1 + sum(i.op.cost if isinstance(i, Apply) else 1 for i in self.instructions)

    def moved(self, dim: int, start: int) -> Body:
        """Return the same code where dimension `dim` counts from `start`."""

        def move(x: Instruction) -> Instruction:
            if isinstance(x, Mask):
                return x.moved(dim, start)
            if isinstance(x, Addressed):
                return replace(x, access=x.access.moved(dim, start))
            return x

        return self.changed(move)

    def with_slots(self, number: Callable[[int], int]) -> Body:
        """Return the same code for nodes in other, distinct slots."""
        # Not `add`: values keep their numbers.
        return Body([_in_slot(x, number) for x in self.instructions], noted=self.noted)

    def changed(self, change: Callable[[Instruction], Instruction]) -> Body:
        """Return the same code with other instructions; values keep their numbers."""
        return Body([change(x) for x in self.instructions])

    @property
    def operations(self) -> int:
        return sum(isinstance(i, Apply) for i in self.instructions)

    def loads(self) -> list[Load]:
        return [i for i in self.instructions if isinstance(i, Load)]

    def slots(self) -> set[int]:
        """Return the slots of the nodes whose buffers this code reads."""
        # A tuple: the instructions of all kernels are examined often, and `|` makes an object.
        return {i.slot for i in self.instructions if isinstance(i, (Load, Gather))}

    def gathers(self) -> list[Gather]:
        return [i for i in self.instructions if isinstance(i, Gather)]

    def addresses(self) -> list[Address]:
        return [i for i in self.instructions if isinstance(i, Address)]

    def checks(self) -> list[Check]:
        return [check for i in self.instructions if isinstance(i, Address) for check in i.checks]


def _in_slot(x: Instruction, number: Callable[[int], int]) -> Instruction:
    """Return the instruction for a node in another slot."""
    match x:
        case Load():
            return Load(number(x.slot), x.dtype, x.access.with_slots(number))
        case Address():
            return replace(x, access=x.access.with_slots(number)) if x.access.start else x
        case Const():
            return Const(number(x.slot), x.dtype)
        case Gather():
            return Gather(number(x.slot), x.dtype, x.operands)
        case _:
            return x


def copied(source: Body, roots: Iterable[int], add: Callable[[Instruction], int]) -> dict[int, int]:
    """Copy `roots` and what they need to another body; return the new number of each value."""
    needed = set(roots)
    for n in range(len(source.instructions) - 1, -1, -1):
        if n in needed:
            needed.update(source.instructions[n].operands)
    values: dict[int, int] = {}
    for n in sorted(needed):
        values[n] = add(source.instructions[n].renumbered(values))
    return values
