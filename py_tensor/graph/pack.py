"""Packing small elementwise kernels that are alike, and do not wait for each other, into one.

A dispatch takes microseconds by itself, more than small work does. So a loop over many small
tensors runs several of its steps at a time: horizontal fusion (Li et al., Automatic Horizontal
Fusion for GPU Kernels, 2022) of kernels that differ in their buffers and constants alone. How many
stand in one kernel depends on what they compute, not on how many there are, so that loops of any
length share their programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from py_tensor.graph.kernel import Body, Const, Gather, Kernel, Load, Output, copied
from py_tensor.graph.store import MAX_BODY
from py_tensor.shapes import size_of

SMALL = 1 << 14  # points, up to which launching a kernel is most of its time
FEWEST = 8  # kernels alike: for fewer, another program to compile does not pay
MOST = 8  # in one

_Form = tuple[object, ...]


@dataclass(slots=True)
class _Member:
    """A kernel, where it stands, and the buffers it reads in the order of its form."""

    kernel: Kernel
    place: int
    slots: tuple[int, ...]


def pack(kernels: list[Kernel], max_buffers: int) -> list[Kernel]:
    """Kernels that do the same in fewer dispatches.

    Parameters
    ----------
    kernels
        In an order in which each finds its operands computed; so are those returned.
    """
    if len(kernels) < FEWEST:
        return kernels
    packed: dict[int, Kernel | None] = {}  # by place; None: it stands in an earlier one
    for run in _runs(kernels):
        if len(run) >= FEWEST:
            for members in _divided(run, max_buffers):
                packed |= {member.place: None for member in members}
                packed[members[0].place] = _joined(members)
    found = (packed.get(place, kernel) for place, kernel in enumerate(kernels))
    return [kernel for kernel in found if kernel is not None]


def _runs(kernels: list[Kernel]) -> Iterator[list[_Member]]:
    """Kernels of one form, each of which could run where the first of them stands."""
    written: dict[int, int] = {}  # a slot, and the place of the kernel that writes it
    open_runs: dict[_Form, list[_Member]] = {}
    for place, kernel in enumerate(kernels):
        if not kernel.stages and size_of(kernel.kept) <= SMALL:
            form, slots = _form(kernel)
            ready = max((written.get(slot, -1) for slot in slots), default=-1)
            run = open_runs.get(form)
            if run is not None and ready >= run[0].place:
                yield run
                run = None
            if run is None:
                run = open_runs[form] = []
            run.append(_Member(kernel, place, slots))
        written |= dict.fromkeys(kernel.writes(), place)
    yield from open_runs.values()


def _form(kernel: Kernel) -> tuple[_Form, tuple[int, ...]]:
    """What a kernel computes, whichever its buffers and constants; and the buffers it reads."""
    numbers: dict[int, int] = {}  # of slots, in the order in which they turn up
    reads: dict[int, None] = {}
    code: list[object] = []
    for x in kernel.row.instructions:
        if isinstance(x, Load | Gather | Const):
            number = numbers.setdefault(x.slot, len(numbers))
            code.append(replace(x, slot=number))
            if not isinstance(x, Const):
                reads[x.slot] = None
        else:
            code.append(x)
    outputs = tuple(replace(output, slot=0) for output in kernel.outputs)
    return (kernel.kept, tuple(code), outputs), tuple(reads)


def _divided(run: list[_Member], max_buffers: int) -> Iterator[list[_Member]]:
    """Packs of two sizes, as many as find room and two, of members that share buffers alike.

    An operand is the same for all of a pack, or another one for each: a pack is therefore one of a
    few programs. What is left over stays by itself.
    """
    at = 0
    while at + 1 < len(run):
        size = _room(run, at, max_buffers)
        size = size if _is_alike(run[at : at + size]) and at + size <= len(run) else 2
        members = run[at : at + size]
        if size > 1 and _is_alike(members):
            yield members
            at += size
        else:
            at += 1


def _room(run: list[_Member], at: int, max_buffers: int) -> int:
    """How many kernels one may stand for, if they share the operands that the first two share."""
    first, second = run[at], run[at + 1]
    shared = sum(a == b for a, b in zip(first.slots, second.slots, strict=True))
    each = len(first.slots) - shared + len(first.kernel.outputs)
    by_buffers = (max_buffers - shared) // each
    return min(MOST, by_buffers, MAX_BODY // len(first.kernel.row.instructions))


def _is_alike(members: list[_Member]) -> bool:
    """Whether each operand is one for all or one for each, and no two operands are the same."""
    columns = [set(column) for column in zip(*(m.slots for m in members), strict=True)]
    distinct = all(len(column) in (1, len(members)) for column in columns)
    return distinct and len(set[int]().union(*columns)) == sum(map(len, columns))


def _joined(members: list[_Member]) -> Kernel:
    """One kernel with the outputs of all."""
    row = Body()
    outputs: list[Output] = []
    for member in members:
        kernel = member.kernel
        values = copied(kernel.row, [o.value for o in kernel.outputs], row.add)
        outputs += [replace(o, value=values[o.value]) for o in kernel.outputs]
    return replace(members[0].kernel, row=row, outputs=tuple(outputs))
