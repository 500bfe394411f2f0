"""A plan: the commands of one flush over numbered buffers, made once per signature.

These are pure functions from lowered dispatches to arrays of integers. Temporary buffers share
memory if their uses do not overlap.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from py_tensor.base.dtypes import DType, float32
from py_tensor.codegen.codec import to_words
from py_tensor.codegen.lower import Lowered
from py_tensor.codegen.program import Dispatch, Offset, Program, groups_for
from py_tensor.codegen.slabs import Kind, size_class
from py_tensor.ir import program as graph
from py_tensor.ir.node import Node
from py_tensor.schedule.body import Check
from py_tensor.schedule.kernel import FAULTS

# The commands of the stream; `web/bridge` reads them.
CREATE, DESTROY, UPLOAD, DISPATCH, FILL, SUBMIT, START, FETCH, CLEAR, CHECK = range(1, 11)
FIRST_START = 16  # dispatches before the first START (an idle GPU may begin); later gaps double
MAX_NAMED = 4  # programs of a flush that messages name
PARAM_WINDOW = 1 << 20  # bytes of parameters after which the bridge submits in between
PARAM_ALIGNMENT = 64  # words: the offset alignment of a uniform binding, 256 bytes


@dataclass(frozen=True, slots=True)
class Measure:
    """The kernel, operations and bytes of a dispatch."""

    program: Program
    operations: int
    traffic: int


@dataclass(slots=True)
class Plan:
    """Commands over numbered buffers, and the constants to patch into their parameters.

    The order of the buffers is: leaves, slabs, outputs that are slices of slabs, other outputs, the
    buffer that records out-of-range indices, temporaries.

    Attributes
    ----------
    commands : array of u32
        The commands; dispatches contain the numbers of their buffers.
    params : array of u32
        The parameters of all dispatches.
    consts : list of (position, slot of the constant node, dtype)
        Where constants are patched into `params`.
    offsets : list of (position, slot of the view, Offset)
        Where offsets of views are patched into `params`.
    leaves : list of int
        The slots of the leaves.
    slabs : list of Kind
        Buffers from the pool that each hold several outputs.
    slices : list of int
        The slots of those outputs, slab by slab.
    outputs : list of int
        The slots of the outputs that have their own buffers.
    positions : dict
        Slot of an output that does not overwrite a leaf -> the number of its buffer.
    replaced : list of (slot, slot of a leaf)
        Outputs that overwrite the buffer of a leaf.
    kinds : list of Kind
        Those of the buffers from `outputs` on: outputs, faults, temporaries.
    dispatches : list of Measure
    cuts : list of int
        Positions of SUBMIT, at which the commands may be sent in parts.
    has_floats_only : bool
        Whether every constant is a float32.
    largest : int
        The bytes of the largest buffer that it takes.
    label : str
        What the flush computes, for messages.
    work : int
        Estimated number of instructions.
    last_iteration : (int, int), optional
        See `Request.last_iteration`.
    equal : dict
        Slot of a constant -> slot of the constant with the same value that replaces it. The plan is
        only valid if they are equal.
    checks : tuple of Check
        The index check that each word of the faults buffer belongs to.
    """

    commands: array[int]
    params: array[int]
    consts: list[tuple[int, int, DType]] = field(default_factory=list[tuple[int, int, DType]])
    offsets: list[tuple[int, int, Offset]] = field(default_factory=list[tuple[int, int, Offset]])
    leaves: list[int] = field(default_factory=list[int])
    slabs: list[Kind] = field(default_factory=list[Kind])
    slices: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    positions: dict[int, int] = field(default_factory=dict[int, int])
    replaced: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    kinds: list[Kind] = field(default_factory=list[Kind])
    programs: list[Program] = field(default_factory=list[Program])
    dispatches: list[Measure] = field(default_factory=list["Measure"])
    cuts: list[int] = field(default_factory=list[int])
    has_floats_only: bool = False
    largest: int = 0
    label: str = ""
    work: int = 0
    last_iteration: tuple[int, int] | None = None
    equal: Mapping[int, int] = field(default_factory=dict[int, int])
    checks: tuple[Check, ...] = ()

    def holds(self, order: Sequence[Node]) -> bool:
        """Return whether the constants that the plan assumes equal are equal in this order."""
        ones, others = (
            _bits([order[slot].attrs for slot in slots])
            for slots in (self.equal, self.equal.values())
        )
        return ones == others and (
            self.has_floats_only
            or all(
                order[slot].attrs == order[other].attrs
                for slot, other in self.equal.items()
                if order[slot].meta.dtype.is_wide
            )
        )

    @property
    def is_submitted_at_once(self) -> bool:
        """Whether the flush is one submission, so that it runs as a whole or not at all."""
        return not self.cuts and self.params.itemsize * len(self.params) <= PARAM_WINDOW

    def repeated(self, times: int) -> Plan:
        """Return a plan that runs all commands `times` times in sequence, in one flush."""
        if times == 1:
            return self
        return replace(
            self,
            commands=self.commands * times,
            cuts=[],
            dispatches=self.dispatches * times,
            work=self.work * times,
        )

    def patched(self, order: Sequence[Node]) -> array[int]:
        """Return the parameters, with the values of constant nodes and the offsets of views."""
        if not (self.consts or self.offsets):
            return self.params
        params = self.params[:]
        for position, slot, (beyond, scale) in self.offsets:
            params[position] = (order[slot].attrs[2] + beyond) // scale % 2**32
        if self.has_floats_only:  # the usual case, converted in one step
            values = array("f", [order[slot].attrs for _, slot, _ in self.consts])
            words = array("I", values.tobytes())
            for (position, _, _), word in zip(self.consts, words, strict=True):
                params[position] = word
            return params
        for position, slot, dtype in self.consts:
            for n, word in enumerate(to_words(order[slot].attrs, dtype)):
                params[position + n] = word
        return params


def make_plan(
    program: graph.Program,
    lowered: Lowered,
    submit_work: int,
    most_work: int,
    dispatch_work: int = 0,
) -> Plan:
    """Lay out the commands of a flush.

    Parameters
    ----------
    submit_work, most_work : int
        Estimated instructions after which to submit, and above which to split a dispatch. Drivers
        reset a device that is busy for two seconds.
    dispatch_work : int
        The fixed cost of a dispatch, in instructions.
    """
    pieces = [p for d in lowered.dispatches for p in d.pieces(most_work)]
    plan = Plan(array("I"), array("I"))
    number = _assign_buffers(plan, program, lowered, pieces)
    blocks: dict[tuple[int, ...], int] = {}
    checked = () if not lowered.checks else (number[FAULTS], 4 * len(lowered.checks))
    if checked:
        plan.commands.extend((CLEAR, *checked))
    work = 0
    starts = FIRST_START
    for n, dispatch in enumerate(pieces):
        if work and work + dispatch.work > submit_work:
            plan.cuts.append(len(plan.commands))
            plan.commands.append(SUBMIT)
            work = 0
        elif n == starts and not lowered.replaced:
            plan.commands.append(START)
            starts += n + FIRST_START
        work += dispatch.work
        _append(plan, dispatch, _place_params(plan, dispatch, blocks), number)
    if checked:
        plan.commands.extend((CHECK, *checked))
        plan.checks = lowered.checks
    plan.programs = list(dict.fromkeys(p.program for p in pieces))
    plan.dispatches = [Measure(p.program, p.operations, p.traffic) for p in pieces]
    plan.label = ", ".join(dict.fromkeys(p.label for p in plan.programs[:MAX_NAMED]))
    plan.has_floats_only = all(dtype is float32 for _, _, dtype in plan.consts)
    plan.largest = max((kind.nbytes for kind in (*plan.slabs, *plan.kinds)), default=0)
    plan.work = sum(dispatch_work + p.work for p in pieces)
    return plan


def _bits(numbers: Sequence[complex]) -> bytes:
    """Return numbers as float64 bytes, to compare thousands fast; exact for 32 bits."""
    try:
        return array("d", cast("Sequence[float]", numbers)).tobytes()
    except TypeError:  # some are complex
        return array("d", [component for x in numbers for component in (x.real, x.imag)]).tobytes()


def largest_temporary(program: graph.Program, lowered: Lowered) -> tuple[int, str]:
    """Return the bytes of the largest temporary buffer, and the name of its op."""
    sizes = [
        (_nbytes(program, lowered, slot), _name(program, dispatch, slot))
        for dispatch in lowered.dispatches
        for slot in dispatch.slots
        if _is_temporary(program, slot) and slot not in lowered.slabs
    ]
    return max(sizes, default=(0, ""))


def _name(program: graph.Program, dispatch: Dispatch, slot: int) -> str:
    return dispatch.program.label if slot < 0 else program.nodes[slot].op.name


def _append(plan: Plan, dispatch: Dispatch, offset: int, number: dict[int, int]) -> None:
    """Append a DISPATCH command."""
    size = 4 * len(dispatch.params)
    head = DISPATCH, dispatch.program.number, 4 * offset, size, *groups_for(dispatch.count)
    plan.commands.extend((*head, len(dispatch.slots), *(number[slot] for slot in dispatch.slots)))


def _place_params(plan: Plan, dispatch: Dispatch, blocks: dict[tuple[int, ...], int]) -> int:
    """Append a dispatch's parameters, or reuse an equal block without constants."""
    known = None if dispatch.patches else blocks.get(dispatch.params)
    if known is not None:
        return known
    offset = len(plan.params)
    plan.params.extend(dispatch.params)
    plan.params.extend([0] * (-len(plan.params) % PARAM_ALIGNMENT))
    for position, slot, kind in dispatch.patches:
        if isinstance(kind, Offset):
            plan.offsets.append((offset + position, slot, kind))
        else:
            plan.consts.append((offset + position, slot, kind))
    if not dispatch.patches:
        blocks[dispatch.params] = offset
    return offset


def _assign_buffers(
    plan: Plan, program: graph.Program, lowered: Lowered, pieces: Sequence[Dispatch]
) -> dict[int, int]:
    """Number the buffers of the flush, with as few temporaries as the order of uses allows.

    Dispatches are visited from last to first. A temporary can then use the buffer that later
    becomes an output, and a chain needs only one buffer besides its input and its output.
    """
    origin: dict[int, int] = {}  # overwriting slot -> the slot that first had the buffer
    for slot, over in lowered.replaced.items():
        origin[slot] = origin.get(over, over)
    result = {first: slot for slot, first in origin.items() if slot in program.outputs}
    first_use: dict[int, int] = {}
    last_use: dict[int, int] = {}
    buffers: list[list[int]] = []  # the buffers of each dispatch, by the slot that first has them
    for n, dispatch in enumerate(pieces):
        buffers.append(list(dict.fromkeys(origin.get(slot, slot) for slot in dispatch.slots)))
        for slot in buffers[-1]:
            first_use.setdefault(slot, n)
            last_use[slot] = n
    outputs: list[int] = []
    for slot, slots in lowered.slabs.items():
        plan.slabs.append(Kind(lowered.temporaries[-1 - slot], len(slots)))
        plan.slices += slots
    sliced = set(plan.slices)
    for slot in last_use:
        if slot in sliced:
            continue
        if not _is_temporary(program, slot) and slot not in program.outputs:
            plan.leaves.append(slot)
            if slot in result:
                plan.replaced.append((result[slot], slot))
        elif slot in program.outputs or slot in result:
            outputs.append(slot)
            plan.outputs.append(result.get(slot, slot))
    plan.kinds = [_kind(program, lowered, slot) for slot in plan.outputs]
    numbered = [*plan.leaves, *lowered.slabs, *plan.slices, *outputs]
    if lowered.checks:  # in use from the first command to the last
        numbered.append(FAULTS)
        plan.kinds.append(_kind(program, lowered, FAULTS))
    number = {slot: n for n, slot in enumerate(numbered)}
    first = len(plan.leaves) + len(plan.slabs)
    plan.positions = {s: first + n for n, s in enumerate((*plan.slices, *plan.outputs))}
    sized = len(numbered) - len(plan.kinds)  # the number of the first buffer in `kinds`
    free: dict[Kind, list[int]] = {}
    for n in range(len(pieces) - 1, -1, -1):
        for slot in buffers[n]:
            if slot not in number:
                kind = _kind(program, lowered, slot)
                if reusable := free.get(kind):
                    number[slot] = reusable.pop()
                else:
                    number[slot] = sized + len(plan.kinds)
                    plan.kinds.append(kind)
        for slot in buffers[n]:
            if slot == FAULTS and lowered.checks:
                continue
            if first_use[slot] == n and number[slot] >= sized:
                kind = plan.kinds[number[slot] - sized]
                free.setdefault(kind, []).append(number[slot])
    return number | {slot: number[first] for slot, first in origin.items()}


def _is_temporary(program: graph.Program, slot: int) -> bool:
    return slot < 0 or (program.nodes[slot].storage is None and slot not in program.outputs)


def _kind(program: graph.Program, lowered: Lowered, slot: int) -> Kind:
    return Kind(size_class(_nbytes(program, lowered, slot)))


def _nbytes(program: graph.Program, lowered: Lowered, slot: int) -> int:
    if slot < 0:
        return lowered.temporaries[-1 - slot]
    meta = program.nodes[slot].meta
    return meta.size * meta.dtype.itemsize
