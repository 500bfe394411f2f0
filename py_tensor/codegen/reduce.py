"""Reductions: which dimension the lanes lie along, how rows are shared out and sliced.

After KERNELS.md section 5.2: lanes lie along the dimension that is contiguous in memory, be it
reduced ("rows") or kept ("columns"); where there are too few rows to fill the device, rows are cut
into slices and a second kernel folds the partial results. Each invocation keeps several
accumulators, so that a sum's error grows like pairwise summation's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from py_tensor.codegen.emit import load_mode, padded, padded_class, rank_class
from py_tensor.codegen.map import accesses, mask_dims
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Dispatch, Programs
from py_tensor.codegen.reduce_wgsl import part_dtypes, write
from py_tensor.codegen.walk import Dimensions, Walk
from py_tensor.graph.kernel import Access, Body, Fold, Kernel, Load, Output, Stage
from py_tensor.layout import Merged, merge_dims
from py_tensor.shapes import row_major, size_of

MAX_REDUCED = 2**31  # points that one pass folds per row: its index must fit 32 bits
MAX_SLICES = 1024
MAX_STEPS = 2**20  # of one invocation, where slices can help it
MAX_COLUMN_LANES = 8
NewTemporary = Callable[[int], int]  # bytes -> slot


@dataclass(slots=True)
class Context:
    """What lowering a kernel needs from its surroundings."""

    profile: Profile
    programs: Programs
    temporary: NewTemporary


def lower_reduce(kernel: Kernel, context: Context) -> list[Dispatch]:
    """The dispatches of a kernel with one stage: one, or more where its rows are sliced."""
    stage = kernel.stages[0]
    assert isinstance(stage, Stage)
    longest = max(kernel.reduced, default=0)
    if longest > MAX_REDUCED:
        return _fold_sections(kernel, stage, kernel.reduced.index(longest), context)
    leading = 0
    while size_of(kernel.reduced[leading:]) > MAX_REDUCED:
        leading += 1
    if not leading:
        return _fold(kernel, stage, None, context)
    kept = kernel.kept + kernel.reduced[:leading]
    first, loads = _partial(kernel, kept, kernel.reduced[leading:], 1, context)
    second = _with_reduced(kernel, kernel.reduced[:leading])
    return _fold(first, stage, None, context) + _fold(second, stage, loads, context)


def _fold_sections(kernel: Kernel, stage: Stage, axis: int, context: Context) -> list[Dispatch]:
    """Fold a reduced axis that is too long for one pass section after section, then the results."""
    extent, dim = kernel.reduced[axis], len(kernel.kept) + axis
    starts = range(0, extent, MAX_REDUCED)
    whole, loads = _partial(kernel, kernel.kept, kernel.reduced, len(starts), context)
    size = size_of(kernel.kept)
    dispatches: list[Dispatch] = []
    for number, start in enumerate(starts):
        reduced = list(kernel.reduced)
        reduced[axis] = min(MAX_REDUCED, extent - start)
        part = replace(stage, element=stage.element.moved(dim, start))
        outputs = tuple(
            replace(o, access=Access(o.access.strides, number * size)) for o in whole.outputs
        )
        section = replace(whole, reduced=tuple(reduced), stages=(part,), outputs=outputs)
        dispatches += lower_reduce(section, context)
    second = _with_reduced(kernel, (len(starts),))
    return [*dispatches, *_fold(second, stage, _by_slice(loads, kernel.kept), context)]


def _with_reduced(kernel: Kernel, reduced: tuple[int, ...]) -> Kernel:
    return Kernel(kernel.kept, reduced, kernel.stages, kernel.row, kernel.outputs, kernel.label)


def _partial(
    kernel: Kernel,
    kept: tuple[int, ...],
    reduced: tuple[int, ...],
    slices: int,
    context: Context,
) -> tuple[Kernel, tuple[Load, ...]]:
    """A first pass that stores accumulators, slice after slice, and the loads of the second."""
    access, size = Access(row_major(kept), 0), size_of(kept)
    loads: list[Load] = []
    outputs: list[Output] = []
    for dtype in (d for fold in kernel.folds() for d in part_dtypes(fold)):
        slot = context.temporary(dtype.stored_itemsize * size * slices)
        loads.append(Load(slot, dtype, access))
        outputs.append(Output(slot, len(outputs), dtype, access, whole=False))
    return Kernel(kept, reduced, kernel.stages, Body(), tuple(outputs), kernel.label), tuple(loads)


def _fold(
    kernel: Kernel, stage: Stage, partials: tuple[Load, ...] | None, context: Context
) -> list[Dispatch]:
    """One pass over the space; two where it is worth slicing the rows."""
    if partials is not None:
        element = Body(list(partials))
        walk = arrange(kernel, [element], context.profile)
        return [_dispatch(kernel, walk, element, context, merges=True)]
    whole = arrange(kernel, [stage.element], context.profile)
    walk = _sliced(whole, kernel, context.profile)
    if walk.slices == 1:
        return [_dispatch(kernel, walk, stage.element, context)]
    first, loads = _partial(kernel, kernel.kept, kernel.reduced, walk.slices, context)
    second = _with_reduced(kernel, (walk.slices,))
    return [
        _dispatch(first, walk, stage.element, context),
        *_fold(second, stage, _by_slice(loads, kernel.kept), context),
    ]


def fold_slices(kernel: Kernel, length: int, context: Context) -> tuple[Dispatch, Load]:
    """The fold of every `length` points of the one reduced dimension, each by itself.

    Parameters
    ----------
    kernel
        With one stage of one fold, whose accumulator has one part.
    length
        A multiple of 4.

    Returns
    -------
    The dispatch, and a load of its results over the kept dimensions and the slices.
    """
    stage = kernel.stages[0]
    assert isinstance(stage, Stage)
    whole = arrange(kernel, [stage.element], context.profile)
    by_rows = whole.dims.by_rows
    steps = length // (whole.width if by_rows else 1)
    lanes = context.profile.lanes(steps)
    lanes = lanes if by_rows else min(lanes, MAX_COLUMN_LANES)
    walk = replace(
        whole,
        lanes=lanes,
        rows_per_group=whole.workgroup // lanes,
        slices=-(-whole.steps // steps),
        slice_steps=steps,
        slice_stride=size_of(kernel.kept),
    )
    first, loads = _partial(kernel, kernel.kept, kernel.reduced, walk.slices, context)
    return _dispatch(first, walk, stage.element, context), _by_slice(loads, kernel.kept)[0]


def _by_slice(loads: tuple[Load, ...], kept: tuple[int, ...]) -> tuple[Load, ...]:
    """Loads of partial results that lie slice after slice, the slice as the reduced dimension."""
    access = Access((*row_major(kept), size_of(kept)), 0)
    return tuple(replace(load, access=access) for load in loads)


def _dispatch(
    kernel: Kernel, walk: Walk, element: Body, context: Context, *, merges: bool = False
) -> Dispatch:
    """One pass that folds `element`; with `merges`, it is the loads of partial results."""
    written = write(kernel, walk, element, merges=merges)
    folding = replace(kernel, stages=(Stage(element, tuple(kernel.folds())),))
    return Dispatch(
        context.programs.get(
            "reduce", kernel.label, written.bindings, written.regions, walk.variant(merges=merges)
        ),
        tuple(b.slot for b in written.bindings),
        tuple(written.params.values),
        tuple(written.params.consts),
        walk.groups,
        4,
        size_of(kernel.kept) * (size_of(kernel.reduced) * element.cost + kernel.row.cost),
        folding.operations(),
        folding.traffic(),
    )


def arrange(kernel: Kernel, bodies: Sequence[Body], profile: Profile) -> Walk:
    """Order and merge the dimensions, and choose width and lanes, for bodies over the whole space.

    The rows are not sliced.
    """
    by_rows, kept_order, reduced_order = _orders(kernel, bodies)
    kept, reduced = _merge(kernel, bodies, kept_order, reduced_order)
    dims = Dimensions(
        rank=len(kernel.kept),
        kept=kept,
        reduced=reduced,
        kept_extents=padded(kept.extents, rank_class(len(kept.extents)), 1),
        reduced_extents=padded(
            reduced.extents, padded_class(len(reduced.extents), len(kernel.reduced)), 1
        ),
        by_rows=by_rows,
    )
    width = _width(dims, bodies, kernel.folds())
    steps = size_of(dims.reduced_extents) // (width if by_rows else 1)
    most_lanes = profile.lanes(steps)
    lanes = most_lanes if by_rows else min(most_lanes, MAX_COLUMN_LANES)
    return Walk(
        dims=dims,
        workgroup=profile.workgroup,
        unroll=profile.unroll,
        levels=profile.levels,
        width=width,
        steps=steps,
        rows=size_of(dims.kept_extents) // (1 if by_rows else width),
        lanes=lanes,
        rows_per_group=profile.workgroup // lanes,
        slices=1,
        slice_steps=max(1, steps),
        slice_stride=0,
    )


def is_by_rows(kernel: Kernel, bodies: Sequence[Body]) -> bool:
    """Whether neighbours in memory belong to the same row."""
    return _orders(kernel, bodies)[0]


def _orders(kernel: Kernel, bodies: Sequence[Body]) -> tuple[bool, list[int], list[int]]:
    """Whether lanes lie along a reduced dimension, and the orders of both kinds of dimensions.

    The load with the largest footprint decides, or a gather, which reads another element at every
    point; dimensions are walked as it lies in memory.
    """
    rank, extents = len(kernel.kept), kernel.kept + kernel.reduced
    kept_order, reduced_order = list(range(rank)), list(range(len(kernel.reduced)))
    read = [(x.access.footprint(extents), x) for body in bodies for x in body.loads()]
    read += [(size_of(extents), x) for body in bodies for x in body.gathers()]
    if not read:
        return True, kept_order, reduced_order

    strides = max(read, key=lambda found: found[0])[1].access.strides
    inner_kept = _least_step(strides[:rank], kernel.kept)
    inner_reduced = _least_step(strides[rank:], kernel.reduced)
    by_rows = inner_kept is None or (inner_reduced is not None and inner_reduced <= inner_kept)
    reduced_order.sort(key=lambda d: -abs(strides[rank + d]))
    if not by_rows:
        kept_order.sort(key=lambda d: -abs(strides[d]))
    return by_rows, kept_order, reduced_order


def _least_step(strides: Sequence[int], extents: Sequence[int]) -> int | None:
    steps = [abs(s) for s, n in zip(strides, extents, strict=True) if n > 1 and s]
    return min(steps, default=None)


def _merge(
    kernel: Kernel, bodies: Sequence[Body], kept_order: list[int], reduced_order: list[int]
) -> tuple[Merged, Merged]:
    rank = len(kernel.kept)
    inside = [strides for body in bodies for strides in accesses(body)]
    inside += [o.access.strides for o in kernel.spread_outputs]
    around = [*accesses(kernel.row), *(o.access.strides for o in kernel.outputs)]
    dims = frozenset(d for body in bodies for d in mask_dims(body))
    kept_masks = mask_dims(kernel.row) | {d for d in dims if d < rank}
    reduced_masks = frozenset(d - rank for d in dims if d >= rank)
    return (
        # Partial results are stored in the order of the kept dimensions themselves.
        merge_dims(
            kernel.kept,
            [*(s[:rank] for s in inside), *around, row_major(kernel.kept)],
            kept_order,
            kept_masks,
        ),
        merge_dims(kernel.reduced, [s[rank:] for s in inside], reduced_order, reduced_masks),
    )


def _width(dims: Dimensions, bodies: Sequence[Body], folds: Sequence[Fold]) -> int:
    """How many neighbours an invocation loads at once: 4, where some load gives vectors."""
    loads = [i for body in bodies for i in body.instructions if isinstance(i, Load)]
    inner = (dims.reduced_extents if dims.by_rows else dims.kept_extents)[-1]
    vectors = inner % 4 == 0 and any(
        load_mode(dims.space_strides(x.access.strides), x.access.offset, 4) == "v" for x in loads
    )
    parts = sum(len(fold.op.parts) for fold in folds)
    return 4 if vectors and parts <= 3 else 1


def _sliced(walk: Walk, kernel: Kernel, profile: Profile) -> Walk:
    """Cut rows into slices where there are too few of them to fill the device."""
    groups = walk.groups
    worthwhile = walk.steps // (4 * walk.lanes * profile.unroll)  # slices with work to share
    if profile.software:
        groups = max(1, walk.rows // 16)
        worthwhile = walk.steps // 256
    wanted = max(-(-profile.wanted_groups // groups), walk.steps // (walk.lanes * MAX_STEPS))
    slices = max(1, min(wanted, worthwhile, MAX_SLICES))
    slice_steps = max(1, -(-walk.steps // slices))
    slices = max(1, -(-walk.steps // slice_steps))
    if slices == 1:
        return walk
    stride = size_of(kernel.kept)
    return replace(walk, slices=slices, slice_steps=slice_steps, slice_stride=stride)
