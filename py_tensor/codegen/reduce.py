"""Reductions: which dimension lanes lie along, and how rows are shared and sliced.

Lanes lie along the dimension that is contiguous in memory, whether it is reduced ("rows") or kept
("columns"). If there are too few rows to fill the device, rows are cut into slices, and a second
kernel folds the partial results. Each invocation keeps several accumulators, so the error of a sum
grows like that of pairwise summation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from py_tensor.base.dtypes import uint32
from py_tensor.base.layout import Merged, merge_dims
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.adapter_profile import COSTLY, AdapterProfile
from py_tensor.codegen.emit import mode_of, padded_class, rank_class
from py_tensor.codegen.map import accesses, mask_dims
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce_wgsl import ReduceWriter
from py_tensor.codegen.walk import Dimensions, Padded, Walk
from py_tensor.codegen.writer import Context, stage_of
from py_tensor.schedule.body import Access, Body, Load
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, ReduceStage

MAX_REDUCED = 2**31  # points that one pass folds per row: its index must fit 32 bits
MAX_SLICES = 1024  # to keep the device busy
MAX_STEPS = 2**14  # per invocation, if slices allow; lavapipe stops loops after 65,535 iterations
COLUMN_LANES = 8  # lanes per row where rows are adjacent in memory and fill a workgroup
MIN_COLUMN_STEPS = 4  # steps of an invocation in that case


def lower_reduce(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel with one stage: one, or several if its rows are sliced."""
    stage = stage_of(kernel, ReduceStage)
    longest = max(kernel.reduced, default=0)
    if longest > MAX_REDUCED:
        return _fold_sections(kernel, stage, kernel.reduced.index(longest), context)
    leading = 0
    while size_of(kernel.reduced[leading:]) > MAX_REDUCED:
        leading += 1
    if not leading:
        return _fold(kernel, stage, context)
    kept = kernel.kept + kernel.reduced[:leading]
    first, slots = _partial(kernel, kept, kernel.reduced[leading:], 1, context)
    words = [Load(slot, uint32, Access(row_major(kept), 0)) for slot in slots]
    second = merge(kernel, kernel.reduced[:leading], words, context)
    return [*_fold(first, stage, context), second]


def _fold_sections(
    kernel: Kernel, stage: ReduceStage, axis: int, context: Context
) -> list[Dispatch]:
    """Fold a reduced axis that is too long for one pass in sections, then fold their results."""
    extent, dim = kernel.reduced[axis], len(kernel.kept) + axis
    starts = range(0, extent, MAX_REDUCED)
    whole, slots = _partial(kernel, kernel.kept, kernel.reduced, len(starts), context)
    size = size_of(kernel.kept)
    dispatches: list[Dispatch] = []
    for number, start in enumerate(starts):
        reduced = list(kernel.reduced)
        reduced[axis] = min(MAX_REDUCED, extent - start)
        section_stage = replace(stage, element=stage.element.moved(dim, start))
        outputs = tuple(
            replace(o, access=Access(o.access.strides, number * size)) for o in whole.outputs
        )
        section = replace(whole, reduced=tuple(reduced), stages=(section_stage,), outputs=outputs)
        dispatches += lower_reduce(section, context)
    access = Access((*row_major(kernel.kept), size), 0)
    words = [Load(slot, uint32, access) for slot in slots]
    return [*dispatches, merge(kernel, (len(starts),), words, context)]


def _partial(
    kernel: Kernel, kept: tuple[int, ...], reduced: tuple[int, ...], parts: int, context: Context
) -> tuple[Kernel, list[int]]:
    """Return a kernel that stores its accumulators over `kept`, and the slots of their buffers.

    There is a buffer for each word of the accumulators, with room for `parts` such kernels.
    """
    access, size = Access(row_major(kept), 0), size_of(kept)
    words = range(kernel.accumulated_words)
    slots = [context.temporary(uint32.itemsize * size * parts) for _ in words]
    outputs = tuple(Output(slot, n, uint32, access, whole=False) for n, slot in enumerate(slots))
    return Kernel(kept, reduced, kernel.stages, Body(), outputs, kernel.label), slots


def _fold(kernel: Kernel, stage: ReduceStage, context: Context) -> list[Dispatch]:
    """Return one pass over the space, or two if slicing the rows is worthwhile."""
    walk = _sliced(arrange(kernel, [stage.element], context.profile), context.profile)
    if walk.slices == 1:
        return [_dispatch(kernel, walk, stage.element, context)]
    first, words = _fold_slices(kernel, walk, stage, context)
    return [first, merge(kernel, (walk.slices,), words, context)]


def _fold_slices(
    kernel: Kernel, walk: Walk, stage: ReduceStage, context: Context
) -> tuple[Dispatch, list[Load]]:
    """Return the fold of every slice, and loads of its accumulators over (kept..., slice)."""
    size = size_of(kernel.kept)
    nbytes = kernel.accumulated_words * walk.slices * size * uint32.itemsize
    slot = context.temporary(nbytes)
    strides = (*walk.dims.flat_strides(kernel.kept), size)
    accesses: list[Access] = []
    for dtype in (dtype for fold in kernel.accumulators() for dtype in fold.components):
        apart, first = tuple(dtype.words * s for s in strides), len(accesses) * walk.slices * size
        accesses += [Access(apart, first + word) for word in range(dtype.words)]
    if stage.element.cost > COSTLY or any(o.dtype.is_wide for o in kernel.outputs[:1]):
        kernel = replace(kernel, row=Body(), outputs=())
    first = _dispatch(kernel, walk, stage.element, context, slot)
    return first, [Load(slot, uint32, access) for access in accesses]


def merge(
    kernel: Kernel, reduced: tuple[int, ...], words: Sequence[Load], context: Context
) -> Dispatch:
    """Fold the partial results of the rows.

    Parameters
    ----------
    kernel
        The folds and the outputs; the body of its stage is not used.
    reduced
        The number of parts of each row.
    words
        Loads of the accumulators' words, over the kept dimensions and `reduced`.
    """
    element = Body(list(words))
    merging = replace(kernel, reduced=reduced)
    walk = arrange(merging, [element], context.profile, vectors=False)
    return _dispatch(merging, walk, element, context, merges=True)


def fold_slices(kernel: Kernel, length: int, context: Context) -> tuple[Dispatch, Load]:
    """Fold every `length` points of the one reduced dimension separately.

    Parameters
    ----------
    kernel
        A kernel with one stage of one fold, whose accumulator has one part, and no outputs.
    length
        A multiple of 4, less than the extent of the dimension.

    Returns
    -------
    The dispatch, and a load of its results over the kept dimensions and the slices.
    """
    stage = stage_of(kernel, ReduceStage)
    profile = context.profile
    whole = arrange(kernel, [stage.element], profile)
    steps = length // (whole.width if whole.dims.by_rows else 1)
    lanes = _lanes(profile, whole.rows, steps, apart=whole.lanes_apart)
    first, words = _fold_slices(kernel, replace(whole, lanes=lanes).cut(steps), stage, context)
    (fold,) = stage.folds
    strides = tuple(s // fold.dtype.words for s in words[0].access.strides)
    return first, Load(words[0].slot, fold.dtype, Access(strides, 0))


def _dispatch(
    kernel: Kernel,
    walk: Walk,
    element: Body,
    context: Context,
    partial: int | None = None,
    *,
    merges: bool = False,
) -> Dispatch:
    """Return one pass that folds `element`; with `merges`, its values are loads of partial results.

    If rows are sliced, `partial` is the buffer for the results of the slices.
    """
    writer = ReduceWriter(kernel, walk, element, context, partial, merges=merges)
    folding = replace(kernel, stages=(ReduceStage(element, tuple(kernel.accumulators())),))
    stored = 0
    if partial is not None:  # the row body and the outputs are those of the next pass
        folding = replace(folding, row=Body(), outputs=())
        words = kernel.accumulated_words * walk.slices * size_of(kernel.kept)
        stored = words * uint32.itemsize
    return writer.dispatch(
        "reduce",
        "slices" if merges else walk.variant,
        walk.groups,
        work=size_of(kernel.kept) * (size_of(kernel.reduced) * element.cost + kernel.row.cost),
        operations=folding.operations(),
        traffic=folding.traffic() + stored,
        regions=writer.regions(),
    )


def arrange(
    kernel: Kernel,
    bodies: Sequence[Body],
    profile: AdapterProfile,
    *,
    vectors: bool = True,
    in_order: bool = False,
) -> Walk:
    """Order and merge the dimensions, and choose width and lanes, for bodies over the whole space.

    The rows are not sliced. `in_order` keeps them in row-major order of the kept dimensions.
    """
    rank = len(kernel.kept)
    by_rows, kept_order, reduced_order = _orders(kernel, bodies)
    if in_order:
        kept_order = list(range(rank))
    kept, reduced = _merge(kernel, bodies, kept_order, reduced_order)
    dims = Dimensions(
        rank=rank,
        kept=Padded.to(kept, rank_class(max(1, rank))),
        reduced=Padded.to(reduced, padded_class(len(reduced.extents), len(kernel.reduced))),
        by_rows=by_rows,
    )
    longest = max(body.cost for body in bodies)
    vectors = vectors and longest <= COSTLY and not kernel.has_wide
    vectors = vectors and profile.takes_vectors(sum(body.cost for body in bodies))
    width = _width(dims, bodies, kernel.accumulators()) if vectors else 1
    if width == 1:
        dims = replace(dims, by_rows=True)
        # With kept dimensions there are two kinds of programs with vectors, and only one with
        # elements, whether or not the reduced dimensions merge.
        if rank:
            count = rank_class(max(1, len(kernel.reduced)))
            dims = replace(dims, reduced=Padded.to(reduced, count))
    steps = size_of(dims.reduced.extents) // (width if by_rows else 1)
    rows = size_of(dims.kept.extents) // (1 if by_rows else width)
    return Walk(
        dims=dims,
        workgroup=profile.reduce_workgroup,
        unroll=profile.unrolls(longest),
        levels=profile.levels,
        width=width,
        steps=steps,
        rows=rows,
        lanes=_lanes(profile, rows, steps, apart=not by_rows),
        lanes_apart=not by_rows,
        slices=1,
        slice_steps=max(1, steps),
    )


def dimensions(
    kernel: Kernel, body: Body, profile: AdapterProfile, *, in_order: bool = False
) -> Dimensions:
    """Return the dimensions over which a body is computed one element at a time."""
    whole = replace(kernel, stages=(ReduceStage(body, ()),))
    return arrange(whole, [body], profile, vectors=False, in_order=in_order).dims


def _lanes(profile: AdapterProfile, rows: int, steps: int, *, apart: bool) -> int:
    """Return the number of invocations that share a row of `steps` steps."""
    most = profile.lanes(steps)
    if not apart:
        return min(most, _power(steps))
    # Neighbours in memory belong to different rows, which come first in a workgroup.
    workgroup = profile.reduce_workgroup
    wide = workgroup // min(_power(rows), max(4, workgroup // COLUMN_LANES))
    return min(most, wide, _power(-(-steps // MIN_COLUMN_STEPS)))


def _power(n: int) -> int:
    """Return the smallest power of two >= n."""
    return 1 << max(0, n - 1).bit_length()


def is_by_rows(kernel: Kernel, bodies: Sequence[Body]) -> bool:
    """Return whether neighbours in memory belong to the same row."""
    return _orders(kernel, bodies)[0]


def _orders(kernel: Kernel, bodies: Sequence[Body]) -> tuple[bool, list[int], list[int]]:
    """Return whether lanes lie along a reduced dimension, and the orders of both groups.

    The read with the largest footprint decides; a gather counts as one element per point.
    Dimensions are ordered by its strides.
    """
    rank, extents = len(kernel.kept), kernel.kept + kernel.reduced
    kept_order, reduced_order = list(range(rank)), list(range(len(kernel.reduced)))
    read = [(x.access.footprint(extents), x) for body in bodies for x in body.loads()]
    read += [(size_of(extents), x) for body in bodies for x in body.addresses()]
    if not read or size_of(kernel.reduced) == 1:
        return True, kept_order, reduced_order

    strides = max(read, key=lambda sized: sized[0])[1].access.strides
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
        merge_dims(kernel.kept, [*(s[:rank] for s in inside), *around], kept_order, kept_masks),
        merge_dims(kernel.reduced, [s[rank:] for s in inside], reduced_order, reduced_masks),
    )


def _width(dims: Dimensions, bodies: Sequence[Body], folds: Sequence[Accumulator]) -> int:
    """Return the number of neighbours that an invocation loads at once.

    It is 4 only if every load is a vector or a single value for all. Mixing further modes would
    double the number of programs that an expression needs.
    """
    loads = [i for body in bodies for i in body.instructions if isinstance(i, Load)]
    inner = (dims.reduced.extents if dims.by_rows else dims.kept.extents)[-1]
    modes = {mode_of(x, dims.space_strides, 4) for x in loads}
    components = sum(len(fold.op.components) for fold in folds)
    return 4 if inner % 4 == 0 and "v" in modes and "g" not in modes and components <= 3 else 1


def _sliced(walk: Walk, profile: AdapterProfile) -> Walk:
    """Cut rows into slices where there are too few of them to fill the device."""
    worthwhile = walk.steps // (walk.lanes * profile.min_slice)
    wanted = min(-(-profile.wanted_groups // walk.groups), MAX_SLICES)
    wanted = max(wanted, walk.steps // (walk.lanes * MAX_STEPS))
    slices = max(1, min(wanted, worthwhile))
    return walk.cut(-(-walk.steps // slices))
