"""User-defined kernels: a WGSL body with named buffers, shapes and numbers, run in one dispatch.

The depth of its nesting is bounded: compilers recurse, and overflow the native stack.
"""

from __future__ import annotations

import re
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
MAX_NESTING = 48  # naga overflows 256 KiB, a small stack of a thread, at 64 to 128 parentheses

_COMMENT = re.compile(r"//[^\n\v\f\r\x85\u2028\u2029]*|/\*")  # these characters end a line of WGSL
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_SPACE = re.compile(r"[\s\u200e\u200f]+")  # the two direction marks are also spaces of WGSL
_TOKEN = re.compile(
    r"(?P<operand>[0-9]\w*(?:\.[0-9]\w*)?|[\w\x80-\U0010ffff]+)"
    r"|(?P<logic>&&|\|\|)|(?P<less><(?![<=]))|(?P<prefix>[-!~&*])"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}>])|(?P<end>[;,])|(?P<operator>[+/%|^=<.])"
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


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
        inputs, outputs = moved(self.inputs), moved(self.outputs)
        return replace(self, inputs=inputs, outputs=outputs, numbers=numbers)

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
    def buffers(self) -> int:
        """Results, also those that no node has, and operands that are given several times."""
        return len(self.inputs) + len(self.outputs) - len(self.sources())


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
    groups, regions = -(-count // stage.workgroup), {"body": "\n".join([*lines, stage.body])}
    dispatch = writer.dispatch("custom", "as written", groups, work=count * COST, regions=regions)
    return [*before, dispatch, *after]


# -- The depth of a user's WGSL -------------------------------------------------------------------


@dataclass(slots=True)
class _Level:
    """What is open around the current token: its closing bracket, and what nests without one."""

    closing: str
    around: int  # the number of levels around it
    prefixes: int = 0  # operators before one operand, as in - - - x
    operators: int = 0  # between the operands of one expression, as in x + y + z
    branches: int = 0  # consecutive "else if"

    @property
    def depth(self) -> int:
        """The number of levels; compilers use less of the stack for some without a bracket."""
        return self.around + self.prefixes + self.operators // 4 + self.branches // 2


def _close(levels: list[_Level], bracket: str) -> None:
    """Close the last level, if the bracket closes it."""
    if bracket == levels[-1].closing:
        levels.pop()
        levels[-1].prefixes = 0
        if bracket == "}":
            levels[-1].operators = 0


def nesting_of(wgsl: str) -> int:
    """Return the number of nested brackets, operators, templates and "else if".

    A "<" after an operand opens a level, as compilers take it for a template's in many cases. What
    cannot be in a template closes the level.
    """
    levels = [_Level("", 0)]
    deepest = 0
    kind = text = ""
    for token in _TOKEN.finditer(_SPACE.sub(" ", _without_comments(wgsl))):
        before, previous = kind, text
        kind, text = token.lastgroup or "", token.group()
        follows_operand = before in ("operand", "close")
        if (kind in ("logic", "end") and text != ",") or text in (")", "]", "{", "}"):
            # These levels were opened by a "less than", like the "<" of a template.
            while levels[-1].closing == ">":
                _close(levels, ">")
        if (
            (kind == "less" and before != "operand")
            or (kind == "prefix" and follows_operand)
            or (text == ">" and levels[-1].closing != ">")
        ):
            kind = "operator"
        level = levels[-1]
        if kind in ("operator", "logic", "less") or (text == "[" and before == "close"):
            level.operators += 1
        if kind == "prefix":
            level.prefixes += 1
        elif kind in ("open", "less"):
            levels.append(_Level(_CLOSING[text], level.depth + 1))
        elif kind == "close":
            _close(levels, text)
        elif kind == "end":
            level.prefixes = level.operators = 0
        elif kind == "operand":
            level.prefixes = 0
            if text == "if" and previous == "else":
                level.branches += 1
        if text in ("if", ";") and previous != "else":
            level.branches = 0
        deepest = max(deepest, levels[-1].depth)
    return deepest


def _without_comments(wgsl: str) -> str:
    """Return the text with a space for each comment; comments in ``/* */`` nest."""
    kept: list[str] = []
    end = 0
    while comment := _COMMENT.search(wgsl, end):
        kept.append(wgsl[end : comment.start()])
        end = comment.end()
        depth = int(comment.group() == "/*")
        while depth:
            edge = _BLOCK_EDGE.search(wgsl, end)
            if edge is None:
                return " ".join(kept)
            depth += 1 if edge.group() == "/*" else -1
            end = edge.end()
    return " ".join([*kept, wgsl[end:]])


lower.FAMILIES.insert(0, lower.Family(lower.begins(CustomPass), lower_custom))
