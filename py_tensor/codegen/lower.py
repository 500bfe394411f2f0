"""Lowering of kernels to dispatches: the only place that selects a family of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from py_tensor.base.dtypes import uint32
from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.map import copying, lower_map, writing_over
from py_tensor.codegen.matmul import as_map, roles_of
from py_tensor.codegen.program import Dispatch, Lowering, Programs
from py_tensor.codegen.reduce import Context, lower_reduce
from py_tensor.codegen.rows import lower_rows
from py_tensor.codegen.scan import lower_scan
from py_tensor.codegen.scatter import lower_scatter, scattering_over
from py_tensor.codegen.slabs import in_slab, slab_of
from py_tensor.codegen.sort import lower_sort
from py_tensor.codegen.split_k import lower_product
from py_tensor.ir.primitives import MUL, SUM
from py_tensor.schedule.body import (
    Address,
    Apply,
    Body,
    Check,
    Load,
)
from py_tensor.schedule.kernel import (
    FAULTS,
    Accumulator,
    Contraction,
    Kernel,
    ReduceStage,
    Scanned,
    Scattered,
    Sorted,
    Stage,
)


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """The lowering of one kernel.

    Attributes
    ----------
    dispatches : tuple of Dispatch
        In order. Slots below `FAULTS` are the kernel's temporaries.
    temporaries : tuple of int
        The bytes of each temporary, from slot ``FAULTS - 1`` down.
    replaced : tuple of (int, int)
        (slot, slot whose buffer it overwrites), ...
    slab : tuple of int
        The slots of the nodes in the slices of the first temporary, if that is a slab.
    """

    dispatches: tuple[Dispatch, ...]
    temporaries: tuple[int, ...] = ()
    replaced: tuple[tuple[int, int], ...] = ()
    slab: tuple[int, ...] = ()

    def with_slots(self, number: Callable[[int], int]) -> LoweredKernel:
        """Return the lowering of the same kernel for nodes in other slots."""

        def moved(slots: Iterable[int]) -> tuple[int, ...]:
            return tuple(number(slot) if slot >= 0 else slot for slot in slots)

        dispatches = tuple(
            x.with_slots(
                moved(x.slots), tuple((index, number(s), dtype) for index, s, dtype in x.consts)
            )
            for x in self.dispatches
        )
        replaced = tuple((number(slot), number(over)) for slot, over in self.replaced)
        return LoweredKernel(dispatches, self.temporaries, replaced, moved(self.slab))


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


def lower(
    kernels: Sequence[Kernel],
    profile: AdapterProfile,
    programs: Programs,
    overwritable: Mapping[int, int] | None = None,
) -> Lowered:
    """Lower kernels, in this order.

    `overwritable` gives the bytes of the slots that are not needed after their last use here.
    """
    return assembled(*lower_each(kernels, profile, programs, overwritable))


def lower_each(
    kernels: Sequence[Kernel],
    profile: AdapterProfile,
    programs: Programs,
    overwritable: Mapping[int, int] | None = None,
) -> tuple[list[LoweredKernel], tuple[Check, ...]]:
    """Return the lowering of each kernel, for `lower`, and the index checks."""
    checks = tuple(dict.fromkeys(check for kernel in kernels for check in kernel.checks()))
    if checks:
        numbers = {check: n for n, check in enumerate(checks)}
        kernels = [_with_words(kernel, numbers) for kernel in kernels]
    last_use = {slot: n for n, kernel in enumerate(kernels) for slot in kernel.reads()}
    lowered: list[LoweredKernel] = []
    for n, kernel in enumerate(kernels):
        known = overwritable or {}
        last = {s: known[s] for s in kernel.reads() & known.keys() if last_use[s] == n}
        lowered.append(_Lowerer(profile, programs).lowered(kernel, last))
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
            for x in kernel.dispatches:
                slots = tuple(s + beyond if s < FAULTS else s for s in x.slots)
                dispatches.append(x.with_slots(slots, x.consts))
        else:
            dispatches += kernel.dispatches
        if kernel.slab:
            slabs[FAULTS - len(sizes)] = kernel.slab
        sizes += kernel.temporaries
        replaced.update(kernel.replaced)
    return Lowered(tuple(dispatches), tuple(sizes), replaced, slabs, checks)


class _Lowerer:
    """Lowers one kernel."""

    def __init__(self, profile: AdapterProfile, programs: Programs) -> None:
        self.profile = profile
        self.programs = programs
        self.sizes: list[int] = []

    def lowered(self, kernel: Kernel, last: Mapping[int, int]) -> LoweredKernel:
        """Lower a kernel that may overwrite the slots in `last` (slot -> bytes)."""
        dispatches: list[Dispatch] = []
        replaced: dict[int, int] = {}
        slab: tuple[int, ...] = ()
        if kernel.in_place_target is not None:
            (output,), whole = kernel.outputs, kernel.in_place_target
            if whole.slot in last:
                replaced[output.slot] = whole.slot
            else:
                copy = copying(whole.slot, output.dtype, output.slot, output.dtype, whole.size)
                dispatches += self._dispatches(copy)
            # It overwrites the elements that it reads, so it reads them from its output.
            kernel = replace(kernel, row=_reading(kernel.row, whole.slot, output.slot))
        elif last and not kernel.slab and (over := _family_of(kernel).over) is not None:
            context = Context(self.profile, self.programs, self._temporary)
            dispatches, kernel, replaced = over(kernel, last, context)
        if kernel.slab:
            slot = self._temporary(slab_of(kernel).nbytes)
            slab = tuple(output.slot for output in kernel.outputs)
            kernel = in_slab(kernel, slot)
        dispatches += self._dispatches(kernel)
        return LoweredKernel(tuple(dispatches), tuple(self.sizes), tuple(replaced.items()), slab)

    def _temporary(self, nbytes: int) -> int:
        self.sizes.append(nbytes)
        return FAULTS - len(self.sizes)

    def _dispatches(self, kernel: Kernel) -> Sequence[Dispatch]:
        """Return the dispatches of a kernel, from the cache if an equal kernel was lowered before.

        Slots are only names. The cached lowering is that of the kernel with its slots renumbered
        0, 1, ... in order of appearance, and the key contains everything else. Kernels that differ
        in a size, a stride or a dtype therefore have different keys.
        """
        numbers = _Numbers()
        renamed = kernel.with_slots(numbers.__getitem__)
        if renamed is None:
            context = Context(self.profile, self.programs, self._temporary)
            return _family_of(kernel).lower(kernel, context)
        key = self.profile, renamed.structure()
        lowering = self.programs.lowerings.get(key)
        if lowering is None:
            lowering = _lowering_of(renamed, self.profile, self.programs)
            self.programs.keep(key, lowering)
        self.profile.used.update(lowering.used)
        slots = dict(enumerate(numbers)) | {FAULTS: FAULTS}
        for n, nbytes in enumerate(lowering.temporaries, 1):
            slots[FAULTS - n] = self._temporary(nbytes)
        return [
            x.with_slots(
                tuple(slots[s] for s in x.slots),
                tuple((index, slots[s], t) for index, s, t in x.consts),
            )
            for x in lowering.dispatches
        ]


class _Numbers(dict[int, int]):
    """Numbers for slots: 0, 1, ... in order of first lookup."""

    def __missing__(self, slot: int) -> int:
        self[slot] = number = len(self)
        return number


def _lowering_of(kernel: Kernel, profile: AdapterProfile, programs: Programs) -> Lowering:
    """Return the lowering of a kernel, with the tuning parameters that it depends on."""
    sizes: list[int] = []

    def temporary(nbytes: int) -> int:
        sizes.append(nbytes)
        return FAULTS - len(sizes)

    apart = replace(profile, used=set())
    dispatches = _family_of(kernel).lower(kernel, Context(apart, programs, temporary))
    return Lowering(tuple(dispatches), tuple(sizes), frozenset(apart.used))


def _with_words(kernel: Kernel, numbers: Mapping[Check, int]) -> Kernel:
    """Assign to each check of a kernel the word that records an out-of-range index."""

    def body(source: Body) -> Body:
        # Not `add`: values keep their numbers.
        return Body(
            [
                replace(x, words=tuple(numbers[check] for check in x.checks))
                if isinstance(x, Address)
                else x
                for x in source.instructions
            ]
        )

    stages = tuple(stage.with_bodies(body) for stage in kernel.stages)
    return replace(kernel, stages=stages, row=body(kernel.row), spread=body(kernel.spread))


def _reading(body: Body, slot: int, instead: int) -> Body:
    """Return the body with loads of `slot` changed to loads of `instead`."""
    # Not `add`: values keep their numbers.
    return Body(
        [
            replace(x, slot=instead) if isinstance(x, Load) and x.slot == slot else x
            for x in body.instructions
        ]
    )


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


def _lower_map(kernel: Kernel, context: Context) -> list[Dispatch]:
    return [lower_map(kernel, context.profile, context.programs)]


def _map_over(kernel: Kernel, last: Mapping[int, int], context: Context) -> Over:
    return [], *writing_over(kernel, last)


def _scatter_over(kernel: Kernel, last: Mapping[int, int], context: Context) -> Over:
    (base,) = kernel.bases()
    (target,) = kernel.writes()
    return (*scattering_over(kernel, context), {target: base}) if base in last else ([], kernel, {})


def _lower_contraction(kernel: Kernel, context: Context) -> list[Dispatch]:
    roles, terms = roles_of(kernel), size_of(kernel.reduced)
    if roles is not None:
        if 0 < terms <= context.profile.max_terms:
            return _lower_map(as_map(kernel), context)
        if context.profile.has_tiles(size_of(kernel.kept), terms):
            return lower_product(kernel, roles, context)
    return lower_reduce(_as_reduction(kernel), context)


def _lower_rows(kernel: Kernel, context: Context) -> list[Dispatch]:
    return [lower_rows(kernel, context)]


# The first family that matches a kernel lowers it.
FAMILIES = [
    Family(lambda kernel: not kernel.stages, _lower_map, _map_over),
    Family(begins(Contraction), _lower_contraction),
    Family(begins(Scanned), lower_scan),
    Family(begins(Sorted), lower_sort),
    Family(begins(Scattered), lower_scatter, _scatter_over),
    Family(lambda kernel: kernel.revisits, _lower_rows),
    Family(begins(ReduceStage), lower_reduce),
]


def _as_reduction(kernel: Kernel) -> Kernel:
    """Return a contraction as a reduction, a sum of products, where tiles do not apply."""
    contraction = kernel.stages[0]
    assert isinstance(contraction, Contraction)
    element = Body()
    a, b = element.add(contraction.a), element.add(contraction.b)
    dtype = contraction.a.dtype
    fold = Accumulator(SUM, element.add(Apply(MUL, dtype, (a, b))), dtype)
    return Kernel(
        kernel.kept,
        kernel.reduced,
        (ReduceStage(element, (fold,)),),
        kernel.row,
        kernel.outputs,
        kernel.label,
    )
