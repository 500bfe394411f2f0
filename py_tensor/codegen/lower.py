"""From kernels to dispatches: the one place that picks a family of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.map import lower_map, writing_over
from py_tensor.codegen.matmul import roles_of
from py_tensor.codegen.program import Dispatch, Programs
from py_tensor.codegen.reduce import Context, lower_reduce
from py_tensor.codegen.rows import lower_rows
from py_tensor.codegen.scan import lower_scan
from py_tensor.codegen.scatter import lower_scatter, scattering_over
from py_tensor.codegen.slabs import in_slab, slab_of
from py_tensor.codegen.sort import lower_sort
from py_tensor.codegen.split_k import lower_product
from py_tensor.dtypes import uint32
from py_tensor.graph.body import Access, Apply, Body, Check, Load, Place
from py_tensor.graph.kernel import (
    FAULTS,
    Contraction,
    Fold,
    Kernel,
    Output,
    Pass,
    Scanned,
    Scattered,
    Sorted,
    Stage,
    Whole,
)
from py_tensor.graph.primitives import MUL, SUM


@dataclass(frozen=True, slots=True)
class Lowered:
    """Dispatches in order.

    Attributes
    ----------
    temporaries : tuple of int
        The bytes of each buffer that is no node's: slot -1, -2, ... Dispatches need it between
        them, or it is a slab.
    replaced : dict of int to int
        Slots whose elements are written over those of another slot, into the same buffer.
    slabs : dict of int to tuple of int
        The slot of each slab, and the slots of the nodes in its slices.
    checks : tuple of Check
        What each word of the buffer `FAULTS` notes; there is none without any.
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
    """Lower kernels that are in order.

    `overwritable` has the bytes of those slots that nobody needs after their last use here.
    """
    sizes: list[int] = []
    replaced: dict[int, int] = {}
    slabs: dict[int, tuple[int, ...]] = {}

    def temporary(nbytes: int) -> int:
        sizes.append(nbytes)
        return -len(sizes)

    checks = tuple(dict.fromkeys(check for kernel in kernels for check in kernel.checks()))
    if checks:
        faults = temporary(len(checks) * uint32.stored_itemsize)
        assert faults == FAULTS
        numbers = {check: n for n, check in enumerate(checks)}
        kernels = [_with_words(kernel, numbers) for kernel in kernels]
    context = Context(profile, programs, temporary)
    last_use = {slot: n for n, kernel in enumerate(kernels) for slot in kernel.reads()}
    dispatches: list[Dispatch] = []
    for n, kernel in enumerate(kernels):
        if kernel.over is not None:
            (output,), whole = kernel.outputs, kernel.over
            if overwritable and whole.slot in overwritable and last_use[whole.slot] == n:
                replaced[output.slot] = whole.slot
            else:
                dispatches.append(lower_map(_copy(whole, output), profile, programs))
            # What it reads of the whole is what it writes over: it reads that there.
            kernel = replace(kernel, row=_reading(kernel.row, whole.slot, output.slot))
        elif overwritable and not kernel.slab and (over := _family_of(kernel).over) is not None:
            slots = kernel.reads() & overwritable.keys()
            last = {slot: overwritable[slot] for slot in slots if last_use[slot] == n}
            ahead, kernel, pairs = over(kernel, last, context)
            dispatches += ahead
            replaced |= pairs
        if kernel.slab:
            assert not replaced.keys() & kernel.writes(), "a slab is written once"
            slot = temporary(slab_of(kernel).nbytes)
            slabs[slot] = tuple(output.slot for output in kernel.outputs)
            kernel = in_slab(kernel, slot)
        dispatches += _family_of(kernel).lower(kernel, context)
    return Lowered(tuple(dispatches), tuple(sizes), replaced, slabs, checks)


def _with_words(kernel: Kernel, numbers: Mapping[Check, int]) -> Kernel:
    """The kernel with the word in which each of its checks notes an index out of range."""

    def body(given: Body) -> Body:
        # Not `add`: values keep their numbers.
        return Body(
            [
                replace(x, words=tuple(numbers[check] for check in x.checks))
                if isinstance(x, Place)
                else x
                for x in given.instructions
            ]
        )

    stages = tuple(stage.with_bodies(body) for stage in kernel.stages)
    return replace(kernel, stages=stages, row=body(kernel.row), spread=body(kernel.spread))


def _reading(body: Body, slot: int, instead: int) -> Body:
    """The body where what is loaded of one node comes from the buffer of another."""
    # Not `add`: values keep their numbers.
    return Body(
        [
            replace(x, slot=instead) if isinstance(x, Load) and x.slot == slot else x
            for x in body.instructions
        ]
    )


def _copy(whole: Whole, target: Output) -> Kernel:
    """The kernel that copies all elements to where another one writes some of them anew."""
    access = Access((1,), 0)
    row = Body.of([Load(whole.slot, target.dtype, access)])
    output = replace(target, value=0, access=access, whole=True)
    return Kernel((whole.size,), (), (), row, (output,), "copy")


Over = tuple[list[Dispatch], Kernel, dict[int, int]]


@dataclass(frozen=True, slots=True)
class Family:
    """How kernels of one kind become dispatches.

    Attributes
    ----------
    matches : callable
        Whether a kernel is of this kind.
    lower : callable
    over : callable, optional
        ``over(kernel, last, context)`` has a kernel write over what it is the last to read: those
        slots, with their bytes, are `last`. It gives dispatches that run before, the kernel, and
        which slot replaces which.
    """

    matches: Callable[[Kernel], bool]
    lower: Callable[[Kernel, Context], list[Dispatch]]
    over: Callable[[Kernel, Mapping[int, int], Context], Over] | None = None


def begins(kind: type[Pass]) -> Callable[[Kernel], bool]:
    """Whether a kernel's first stage is a pass of this kind."""
    return lambda kernel: bool(kernel.stages) and isinstance(kernel.stages[0], kind)


def _family_of(kernel: Kernel) -> Family:
    return next(family for family in FAMILIES if family.matches(kernel))


def _lower_map(kernel: Kernel, context: Context) -> list[Dispatch]:
    return [lower_map(kernel, context.profile, context.programs)]


def _map_over(kernel: Kernel, last: Mapping[int, int], context: Context) -> Over:
    if kernel.slab:
        return [], kernel, {}
    return [], *writing_over(kernel, last)


def _scatter_over(kernel: Kernel, last: Mapping[int, int], context: Context) -> Over:
    (base,) = kernel.bases()
    (target,) = kernel.writes()
    return (*scattering_over(kernel, context), {target: base}) if base in last else ([], kernel, {})


def _lower_contraction(kernel: Kernel, context: Context) -> list[Dispatch]:
    roles = None if context.profile.software else roles_of(kernel)
    if roles is not None:
        return lower_product(kernel, roles, context)
    return lower_reduce(_as_reduction(kernel), context)


def _lower_rows(kernel: Kernel, context: Context) -> list[Dispatch]:
    return [lower_rows(kernel, context)]


# The first that matches a kernel lowers it.
FAMILIES = [
    Family(lambda kernel: not kernel.stages, _lower_map, _map_over),
    Family(begins(Contraction), _lower_contraction),
    Family(begins(Scanned), lower_scan),
    Family(begins(Sorted), lower_sort),
    Family(begins(Scattered), lower_scatter, _scatter_over),
    Family(lambda kernel: kernel.revisits, _lower_rows),
    Family(begins(Stage), lower_reduce),
]


def _as_reduction(kernel: Kernel) -> Kernel:
    """A contraction that tiles do not serve, as a sum of products."""
    contraction = kernel.stages[0]
    assert isinstance(contraction, Contraction)
    element = Body()
    a, b = element.add(contraction.a), element.add(contraction.b)
    dtype = contraction.a.dtype
    fold = Fold(SUM, element.add(Apply(MUL, dtype, (a, b))), dtype)
    return Kernel(
        kernel.kept,
        kernel.reduced,
        (Stage(element, (fold,)),),
        kernel.row,
        kernel.outputs,
        kernel.label,
    )
