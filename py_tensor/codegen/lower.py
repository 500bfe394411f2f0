"""Lowering of kernels to dispatches: the only place that selects a family of kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from py_tensor.base.dtypes import uint32
from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.map import copying, lower_map, with_loads, writing_over
from py_tensor.codegen.matmul import lower_contraction
from py_tensor.codegen.program import Dispatch, LoweredKernel, Programs, keep
from py_tensor.codegen.reduce import lower_reduce
from py_tensor.codegen.rows import lower_rows
from py_tensor.codegen.scan import lower_scan
from py_tensor.codegen.scatter import lower_scatter, scattering_over
from py_tensor.codegen.slabs import size_class
from py_tensor.codegen.sort import lower_sort
from py_tensor.codegen.writer import Context
from py_tensor.schedule.body import Check
from py_tensor.schedule.kernel import (
    FAULTS,
    Contraction,
    Kernel,
    ReduceStage,
    Scanned,
    Scattered,
    Sorted,
    Stage,
)


@dataclass(frozen=True, slots=True)
class Lowered:
    """Dispatches in order.

    Attributes
    ----------
    temporaries : tuple of int
        The bytes of each buffer that does not belong to a node: slots -1, -2, ... These pass data
        between dispatches, or are slabs. The first is `FAULTS`.
    replaced : dict of int to int
        Slot -> the slot whose buffer it overwrites.
    slabs : dict of int to tuple of int
        Slot of a slab -> the slots of the nodes in its slices.
    checks : tuple of Check
        The index check that each word of the `FAULTS` buffer belongs to; without checks there is
        no such buffer.
    """

    dispatches: tuple[Dispatch, ...]
    temporaries: tuple[int, ...]
    replaced: dict[int, int] = field(default_factory=dict[int, int])
    slabs: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    checks: tuple[Check, ...] = ()


def lower_each(
    kernels: Sequence[Kernel],
    profile: AdapterProfile,
    programs: Programs,
    overwritable: Mapping[int, int] | None = None,
) -> tuple[list[LoweredKernel], tuple[Check, ...]]:
    """Return the lowering of each kernel, in this order, and the index checks.

    `overwritable` gives the bytes of the slots that are not needed after their last use here.
    """
    checks = tuple(dict.fromkeys(check for kernel in kernels for check in kernel.checks()))
    words = {check: n for n, check in enumerate(checks)}
    last_use = {slot: n for n, kernel in enumerate(kernels) for slot in kernel.reads()}
    known = overwritable or {}
    lowered: list[LoweredKernel] = []
    for n, kernel in enumerate(kernels):
        last = {s: known[s] for s in kernel.reads() & known.keys() if last_use[s] == n}
        lowered.append(_lowered(kernel, last, Context(profile, programs, words)))
    return lowered, checks


def assembled(kernels: Iterable[LoweredKernel], checks: tuple[Check, ...]) -> Lowered:
    """Return the dispatches of all kernels, each with its own temporary buffers."""
    sizes = [len(checks) * uint32.itemsize]  # the size of `FAULTS`
    dispatches: list[Dispatch] = []
    replaced: dict[int, int] = {}
    slabs: dict[int, tuple[int, ...]] = {}
    for kernel in kernels:
        beyond = 1 - len(sizes)  # the shift of the slots of its temporaries
        if kernel.temporaries and beyond:

            def other(slot: int, beyond: int = beyond) -> int:
                return slot + beyond if slot < FAULTS else slot

            dispatches += [x.renamed(other) for x in kernel.dispatches]
        else:
            dispatches += kernel.dispatches
        if kernel.slab:
            slabs[FAULTS - len(sizes)] = kernel.slab
        sizes += kernel.temporaries
        replaced.update(kernel.replaced)
    return Lowered(tuple(dispatches), tuple(sizes), replaced, slabs, checks)


def _lowered(kernel: Kernel, last: Mapping[int, int], context: Context) -> LoweredKernel:
    """Lower a kernel that may overwrite the slots in `last` (slot -> bytes)."""
    dispatches: list[Dispatch] = []
    replaced: dict[int, int] = {}
    slab: tuple[int, ...] = ()
    if kernel.in_place_target is not None:
        (output,), whole = kernel.outputs, kernel.in_place_target
        if whole.slot in last:
            replaced[output.slot] = whole.slot
            # It overwrites the elements that it reads, so it reads them from its output.
            kernel = replace(kernel, row=with_loads(kernel.row, {whole.slot: output.slot}))
        else:
            copy = copying(whole.slot, output.dtype, output.slot, output.dtype, whole.size)
            dispatches += _dispatches(copy, context)
    elif last and not kernel.slab and (over := _family_of(kernel).over) is not None:
        dispatches, kernel, replaced = over(kernel, last, context)
    if kernel.slab:
        slab = tuple(output.slot for output in kernel.outputs)
        kernel = _in_slab(kernel, context)
    dispatches += _dispatches(kernel, context)
    temporaries = tuple(context.temporaries)
    return LoweredKernel(tuple(dispatches), temporaries, tuple(replaced.items()), slab)


def _in_slab(kernel: Kernel, context: Context) -> Kernel:
    """Return the kernel with its outputs in the slices of a slab.

    The start of a slice is added to the offset of its output, so it is a parameter of the program.
    """
    itemsize = kernel.outputs[0].dtype.itemsize
    nbytes = size_class(size_of(kernel.kept) * itemsize)
    slot, step = context.temporary(nbytes * len(kernel.outputs)), nbytes // itemsize
    outputs = tuple(
        replace(o, slot=slot, access=replace(o.access, offset=o.access.offset + n * step))
        for n, o in enumerate(kernel.outputs)
    )
    return replace(kernel, outputs=outputs)


def _dispatches(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel, from the cache if an equal kernel was lowered before.

    Slots are only names. The cached lowering is that of the kernel with its slots renumbered
    0, 1, ... in order of appearance, and the key contains everything else, also the words of its
    checks. Kernels that differ in a size, a stride or a dtype therefore have different keys.
    """
    numbers = defaultdict[int, int](count().__next__)  # 0, 1, ... in order of first lookup
    renamed = kernel.with_slots(numbers.__getitem__)
    profile, programs = context.profile, context.programs
    key = profile, renamed, *map(context.words.get, kernel.checks())
    lowering = programs.lowerings.get(key)
    if lowering is None:
        apart = Context(replace(profile, used=set()), programs, context.words)
        dispatches = _family_of(kernel).lower(renamed, apart)
        used = frozenset(apart.profile.used)
        lowering = LoweredKernel(tuple(dispatches), tuple(apart.temporaries), used=used)
        keep(programs.lowerings, key, lowering)
    profile.used.update(lowering.used)
    slots = dict(enumerate(numbers)) | {FAULTS: FAULTS}
    for n, nbytes in enumerate(lowering.temporaries, 1):
        slots[FAULTS - n] = context.temporary(nbytes)
    return [x.renamed(slots.__getitem__) for x in lowering.dispatches]


Over = tuple[list[Dispatch], Kernel, dict[int, int]]


@dataclass(frozen=True, slots=True)
class Family:
    """How kernels of one kind are lowered to dispatches.

    Attributes
    ----------
    matches : callable
        Whether a kernel is of this kind.
    lower : callable
        ``lower(kernel, context)`` returns the dispatches.
    over : callable, optional
        ``over(kernel, last, context)`` lets a kernel overwrite operands that it is the last to
        read; `last` maps their slots to bytes. Returns the dispatches that must run before, the
        kernel, and a map from each output's slot to the slot that it overwrites.
    """

    matches: Callable[[Kernel], bool]
    lower: Callable[[Kernel, Context], list[Dispatch]]
    over: Callable[[Kernel, Mapping[int, int], Context], Over] | None = None


def begins(kind: type[Stage]) -> Callable[[Kernel], bool]:
    """Return a predicate for kernels: whether the first stage is a pass of this kind."""
    return lambda kernel: bool(kernel.stages) and isinstance(kernel.stages[0], kind)


def _family_of(kernel: Kernel) -> Family:
    return next(family for family in FAMILIES if family.matches(kernel))


# The first family that matches a kernel lowers it.
FAMILIES = [
    Family(lambda x: not x.stages, lambda x, context: [lower_map(x, context)], writing_over),
    Family(begins(Contraction), lower_contraction),
    Family(begins(Scanned), lower_scan),
    Family(begins(Sorted), lower_sort),
    Family(begins(Scattered), lower_scatter, scattering_over),
    Family(lambda kernel: kernel.revisits, lower_rows),
    Family(begins(ReduceStage), lower_reduce),
]
