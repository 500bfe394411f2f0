"""Packing similar, independent elementwise kernels into one.

A dispatch has a fixed cost of microseconds, which is more than small work takes. A loop over many
small tensors therefore runs several steps at a time. This is horizontal fusion (Li et al.,
Automatic Horizontal Fusion for GPU Kernels, 2022) of kernels that only differ in their buffers and
constants. The number of kernels in a pack depends on what they compute, not on how many there are,
so that loops of any length share programs.

Results that outlive the flush share one buffer, a slab, which leaves more bindings for operands. A
slab lives as long as any result in it, so a single result keeps at most `MAX_PACK` times its bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from itertools import count

from py_tensor.base.shapes import size_of
from py_tensor.schedule.body import Body, copied
from py_tensor.schedule.kernel import Budget, Draft, Kernel, Output

SMALL = 1 << 14  # points up to which a kernel's time is mostly its launch
MIN_SIMILAR = 8  # similar kernels: with fewer, compiling another program does not pay off
MAX_PACK = 8  # kernels in a pack, and slices of a slab
MAX_CODE = 96  # instructions of a pack; SwiftShader compiles 4 sinh in 0.5 s, 8 in minutes

_Structure = tuple[Kernel, bool]


@dataclass(slots=True)
class _Member:
    """A kernel, its position, and the buffers that it reads in the order of its structure."""

    kernel: Kernel
    position: int
    slots: tuple[int, ...]
    slab: bool  # whether its results may be in a slab
    faults: int  # buffers for out-of-range indices: 0 or 1


def pack(kernels: list[Kernel], wanted: Set[int], budget: Budget) -> list[Kernel]:
    """Pack kernels so that the same work takes fewer dispatches.

    Parameters
    ----------
    kernels
        Kernels in dependency order; so are the kernels returned.
    wanted
        The slots that outlive the flush.
    """
    if len(kernels) < MIN_SIMILAR:
        return kernels
    packed: dict[int, Kernel | None] = {}  # by position; None: part of an earlier kernel
    for run in _runs(kernels, wanted):
        if len(run) >= MIN_SIMILAR:
            for members in _divided(run, budget):
                packed |= {member.position: None for member in members}
                packed[min(member.position for member in members)] = _joined(members)
    merged = (packed.get(number, kernel) for number, kernel in enumerate(kernels))
    return [kernel for kernel in merged if kernel is not None]


def is_packed(kernel: Kernel) -> bool:
    """Return whether a kernel can be packed."""
    return not kernel.stages and kernel.in_place_target is None and size_of(kernel.kept) <= SMALL


def _runs(kernels: list[Kernel], wanted: Set[int]) -> Iterator[list[_Member]]:
    """Yield groups of kernels of one structure that could all run in the first one's position."""
    written: dict[int, int] = {}  # slot -> position of the kernel that writes it
    open_runs: dict[_Structure, list[_Member]] = {}
    for number, kernel in enumerate(kernels):
        if is_packed(kernel):
            slab = _fits_slab(kernel, wanted)
            numbers = defaultdict[int, int](count().__next__)  # by slot, in order of appearance
            structure = kernel.with_slots(numbers.__getitem__), slab
            slots = tuple(filter(kernel.reads().__contains__, numbers))
            ready = max((written.get(slot, -1) for slot in slots), default=-1)
            run = open_runs.get(structure)
            if run is not None and ready >= run[0].position:
                yield run
                run = None
            if run is None:
                run = open_runs[structure] = []
            run.append(_Member(kernel, number, slots, slab, 1 if kernel.checks() else 0))
        written |= dict.fromkeys(kernel.writes(), number)
    yield from open_runs.values()


def _fits_slab(kernel: Kernel, wanted: Set[int]) -> bool:
    """Return whether its outputs may share a buffer: whole results with the same storage layout."""
    first = kernel.outputs[0].dtype
    return (
        all(output.dtype.is_stored_like(first) for output in kernel.outputs)
        and 2 * len(kernel.outputs) <= MAX_PACK
        and all(output.whole and output.slot in wanted for output in kernel.outputs)
    )


def _divided(run: list[_Member], budget: Budget) -> Iterator[list[_Member]]:
    """Divide a run into packs of the largest size that fits, then of size two.

    An operand is either the same for the whole pack or different for each member, so there are few
    programs. Consecutive members are packed first. The remaining ones may share an operand, such as
    those at the ends of rows of an outer product. What is left after that forms pairs or stays
    unpacked.
    """
    left = run
    for column in (None, *reversed(range(len(run[0].slots)))):
        packs, left = _in_order(left, budget, column)
        yield from packs
    yield from _in_order(left, budget, most=2)[0]


def _in_order(
    members: list[_Member], budget: Budget, column: int | None = None, most: int = MAX_PACK
) -> tuple[list[list[_Member]], list[_Member]]:
    """Return packs of consecutive members, of the largest size that fits, and what is left over.

    With a `column`, members are grouped by this operand instead, whatever their positions.
    """
    packs: list[list[_Member]] = []
    left: list[_Member] = []
    if column is not None:
        members = sorted(members, key=lambda member: member.slots[column])
    start = 0
    while start < len(members):
        size = min(most, _room(members[start : start + 2], budget))
        group = members[start : start + size]
        shares = column is None or group[0].slots[column] == group[-1].slots[column]
        if 1 < len(group) == size and shares and _is_alike(group):
            packs.append(group)
            start += size
        else:
            left.append(members[start])
            start += 1
    return packs, sorted(left, key=lambda member: member.position)


def _room(two: list[_Member], budget: Budget) -> int:
    """Return the number of kernels that fit in a pack, if they share operands like these two."""
    first, last = two[0], two[-1]
    shared = sum(a == b for a, b in zip(first.slots, last.slots, strict=True))
    each, outputs = len(first.slots) - shared, len(first.kernel.outputs)
    most = min(MAX_PACK // (outputs if first.slab else 1), MAX_CODE // first.kernel.row.cost)

    def fits(members: int) -> bool:
        read = frozenset(range(shared + members * each + first.faults))
        return budget.fits(Draft(around=read, outputs=1 if first.slab else members * outputs))

    return next((members for members in range(most, 1, -1) if fits(members)), 1)


def _is_alike(members: list[_Member]) -> bool:
    """Return whether each operand is common to all or distinct for each, without overlap."""
    columns = [set(column) for column in zip(*(m.slots for m in members), strict=True)]
    distinct = all(len(column) in (1, len(members)) for column in columns)
    return distinct and len(set[int]().union(*columns)) == sum(map(len, columns))


def _joined(members: list[_Member]) -> Kernel:
    """Return one kernel with the outputs of all members."""
    row = Body()
    outputs: list[Output] = []
    for member in members:
        kernel = member.kernel
        values = copied(kernel.row, [o.value for o in kernel.outputs], row.add)
        outputs += [replace(o, value=values[o.value]) for o in kernel.outputs]
    return replace(members[0].kernel, row=row, outputs=tuple(outputs), slab=members[0].slab)
