"""User-defined kernels: a WGSL body with named buffers, shapes and numbers, run in one dispatch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, in_words
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen import lower
from py_tensor.codegen.map import copying, lower_map
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.schedule.body import Const
from py_tensor.schedule.kernel import Kernel, Stage

COST = 64  # assumed instructions of an invocation


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor that the body refers to; an output that is not requested has no slot."""

    name: str
    slot: int | None
    shape: Shape
    dtype: DType


@dataclass(frozen=True, slots=True)
class CustomPass(Stage):
    """A user-defined pass.

    Attributes
    ----------
    name, body : str
    inputs, outputs : tuple of Buffer
    numbers : tuple
        The name and the constant of each number.
    workgroup : int
        Invocations per workgroup.
    """

    name: str
    body: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    numbers: tuple[tuple[str, Const], ...]
    workgroup: int

    family: ClassVar[str] = "custom"

    def with_slots(self, number: Callable[[int], int]) -> Self:
        def moved(buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
            return tuple(x if x.slot is None else replace(x, slot=number(x.slot)) for x in buffers)

        numbers = tuple((name, replace(x, slot=number(x.slot))) for name, x in self.numbers)
        return replace(
            self, inputs=moved(self.inputs), outputs=moved(self.outputs), numbers=numbers
        )

    def ops(self) -> list[str]:
        return [self.name]

    def sources(self) -> set[int]:
        return {x.slot for x in self.inputs if x.slot is not None}

    def writes(self) -> set[int]:
        return {x.slot for x in self.outputs if x.slot is not None}

    def written(self, points: int) -> int:
        """Return the bytes of outputs and operands, because it is unknown what the body loads."""
        return sum(size_of(x.shape) * x.dtype.itemsize for x in (*self.inputs, *self.outputs))

    @property
    def work_buffers(self) -> int:
        """Results that no node has, and operands that are given several times."""
        return len(self.inputs) + len(self.outputs) - len(self.sources()) - len(self.writes())


def lower_custom(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return one dispatch with an invocation for each point of the kernel.

    Packed tensors are unpacked to one element per word for the body: operands are copied before the
    dispatch, results after it.
    """
    stage = stage_of(kernel, CustomPass)
    (count,) = kernel.kept
    writer = Writer(kernel, context, count)
    params = writer.params
    lines: list[str] = []
    for x in (*stage.inputs, *stage.outputs):
        if x.shape:
            sizes = ", ".join(params.add(n) for n in x.shape)
            lines.append(f"  let {x.name}_shape = array<u32, {len(x.shape)}>({sizes});")
    lines += [f"  let {name} = {params.const(const)};" for name, const in stage.numbers]
    before: list[Dispatch] = []
    after: list[Dispatch] = []
    for x in (*stage.inputs, *stage.outputs):
        slot, dtype, size = x.slot, x.dtype, size_of(x.shape)
        writable = x in stage.outputs
        if slot is None or dtype.is_packed:
            dtype = in_words(dtype)
            words = context.temporary(size * dtype.itemsize)
            if slot is not None:
                ends = (words, dtype, slot, x.dtype) if writable else (slot, x.dtype, words, dtype)
                copied = lower_map(copying(*ends, size, kernel.label), context)
                (after if writable else before).append(copied)
            slot = words
        writer.bind(slot, dtype, writable=writable)
    writer.constants["WORKGROUP"] = stage.workgroup
    writer.names = [x.name for x in (*stage.inputs, *stage.outputs)]
    dispatch = writer.dispatch(
        "custom",
        "as written",
        -(-count // stage.workgroup),
        work=count * COST,
        regions={"body": "\n".join([*lines, stage.body])},
    )
    return [*before, dispatch, *after]


lower.FAMILIES.insert(0, lower.Family(lower.begins(CustomPass), lower_custom))
