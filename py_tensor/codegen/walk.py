"""The dimensions that kernels iterate over, and how the invocations of a reduction share them.

Lanes of a reduction lie along the dimension that is contiguous in memory, whether it is reduced
("rows") or kept ("columns").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from py_tensor.base.layout import Merged, merge_dims
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.adapter_profile import COSTLY, AdapterProfile
from py_tensor.codegen.program import Params
from py_tensor.schedule.body import Access, Addressed, Body, Load, Mask
from py_tensor.schedule.kernel import Accumulator, Kernel, Output, ReduceStage

RANKS = (1, 2, 4, 8, 16, 32, 64)
MAX_PADDED = 4  # lower ranks are padded to at most this many dimensions
VARIANTS = (
    *("vectors along rows", "vectors along columns", "elements", "slices"),
    *("vectors along rows of blocks", "vectors along columns of blocks", "elements of blocks"),
)
"""Ways to iterate over the points of a row, which are one run in memory or blocks of several
dimensions; "slices" folds the results of slices."""
COLUMN_LANES = 8  # lanes per row where rows are adjacent in memory and fill a workgroup
MIN_COLUMN_STEPS = 4  # steps of an invocation in that case


def rank_class(rank: int) -> int:
    """Return the rank rounded up to one that programs exist for; added dimensions have size 1."""
    return next(r for r in RANKS if rank <= r)


def padded_class(count: int, rank: int, *, is_run: bool) -> int:
    """Return the number of dimensions to iterate over when merging leaves `count` of `rank`.

    It is one for a contiguous run, or the rank of the expression. Otherwise, sizes that happen to
    let dimensions merge would need more programs. `decode_coordinates` skips the added dimensions.
    """
    return rank_class(count if is_run else max(count, min(rank, MAX_PADDED)))


class Axes(Protocol):
    """The dimensions that a kernel iterates over, made of those of a body."""

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return the strides of an access over these dimensions."""
        ...

    def position(self, dim: int) -> int:
        """Return the position of a dimension of the body that a mask depends on."""
        ...


@dataclass(slots=True)
class Space:
    """A point of the dimensions that a kernel iterates over; lanes lie along the last one.

    Attributes
    ----------
    coordinates : list of str
        WGSL of each coordinate; the last counts steps of `width` elements.
    axes : Axes
    width : int
        Elements per step of the last coordinate.
    outer : frozenset of int
        Coordinates that do not change inside the loop around the code.
    hoisted : list of str
        Statements to place before that loop: they compute the part of each address that depends on
        `outer` only.
    """

    coordinates: list[str]
    axes: Axes
    width: int
    outer: frozenset[int] = frozenset()
    hoisted: list[str] = field(default_factory=list[str])


def address(params: Params, space: Space, access: Access, scale: int = 1) -> str:
    """Return WGSL of an affine address, as the index of a vector of `scale` elements."""
    strides = space.axes.strides(access.strides)
    last = len(strides) - 1
    outer, inner = [params.offset(access, scale)], list[str]()
    for d, (c, s) in enumerate(zip(space.coordinates, strides, strict=True)):
        step = s * (space.width if d == last else 1) // scale
        (outer if d in space.outer else inner).append(f"{c} * {params.add(step)}")
    if space.outer:
        name = f"base{len(space.hoisted)}"
        space.hoisted.append(f"let {name} = {' + '.join(outer)};")
        outer = [name]
    return " + ".join(outer + inner)


def mode_of(x: Load | Output, axes: Axes, width: int) -> str:
    """Return how `width` neighbours are loaded or stored.

    "v" is one vector, which two-word elements never are; "s" one scalar; "g" one by one.
    """
    *outer, inner = axes.strides(x.access.strides)
    if inner == 0:
        return "s"
    if width == 1 or inner != 1 or x.dtype.is_wide or not x.access.is_aligned(width):
        return "g"
    return "g" if any(s % width for s in outer) else "v"


def load_modes(body: Body, axes: Axes, width: int) -> dict[Load, str]:
    """Return the mode of each load of a body."""
    return {x: mode_of(x, axes, width) for x in body.loads()}


def decode_coordinates(
    params: Params, extents: Sequence[int], source: str, name: str
) -> tuple[list[str], list[str]]:
    """Return statements that split a linear index into coordinates, and the coordinates' names.

    With more than two dimensions, the divisions for the leading ones are skipped at run time if
    these all have extent 1. A program for many dimensions is then just as fast for few.
    """
    rank = len(extents)
    if rank == 1:
        return [], [source]
    names = [f"{name}{d}" for d in range(rank)]
    last = params.add(extents[-1])
    # On some devices, `%` would be a second division.
    statements = [
        f"var {names[-2]} = {source} / {last};",
        f"var {names[-1]} = {source} - {names[-2]} * {last};",
    ]
    if rank == 2:
        return statements, names
    statements += [f"var {c} = 0u;" for c in names[:-2]]
    statements.append(f"if ({params.add(size_of(tuple(extents[:-2])))} > 1u) {{")
    rest = names[-2]
    for d in range(rank - 2, 0, -1):
        extent = params.add(extents[d])
        statements.append(f"  let {name}_{d} = {rest} / {extent};")
        statements.append(f"  {names[d]} = {rest} - {name}_{d} * {extent};")
        rest = f"{name}_{d}"
    return [*statements, f"  {names[0]} = {rest};", "}"], names


def decode_padded(
    params: Params, extents: Sequence[int], source: str, name: str
) -> tuple[list[str], list[str]]:
    """Like `decode_coordinates`, without any division if all extents but the last are 1."""
    if len(extents) == 1:
        return [], [source]
    split, coordinates = decode_coordinates(params, extents, source, f"{name}_")
    names = [f"{name}{d}" for d in range(len(extents))]
    statements = [*(f"var {c} = 0u;" for c in names[:-1]), f"var {names[-1]} = {source};"]
    statements.append(f"if ({params.add(size_of(tuple(extents[:-1])))} > 1u) {{")
    taken = [f"{c} = {value};" for c, value in zip(names, coordinates, strict=True)]
    return [*statements, *(f"  {line}" for line in (*split, *taken)), "}"], names


def advance_coordinates(
    params: Params, extents: Sequence[int], step: int, names: Sequence[str]
) -> list[str]:
    """Return division-free statements that advance coordinates by `step` of the index."""
    if len(extents) == 1:
        return []
    statements: list[str] = []
    carry = ""
    for d in range(len(extents) - 1, 0, -1):
        extent, name = params.add(extents[d]), names[d]
        statements.append(f"{name} += {params.add(step % extents[d])}{carry};")
        statements.append(f"let over{d} = {name} >= {extent};")
        statements.append(f"{name} -= select(0u, {extent}, over{d});")
        carry = f" + select(0u, 1u, over{d})"
        step //= extents[d]
    return [*statements, f"{names[0]} += {params.add(step)}{carry};"]


def mask_dims(body: Body) -> frozenset[int]:
    """Return the dimensions whose coordinates the masks of the body depend on."""
    return frozenset(d for i in body.instructions if isinstance(i, Mask) for d, _, _ in i.ranges)


def accesses(body: Body) -> list[tuple[int, ...]]:
    return [i.access.strides for i in body.instructions if isinstance(i, Addressed)]


@dataclass(frozen=True, slots=True)
class Padded:
    """Merged dimensions, padded in front with dimensions of extent 1."""

    merged: Merged
    extents: tuple[int, ...]

    @classmethod
    def to(cls, merged: Merged, count: int) -> Self:
        """Return merged dimensions, padded to this many."""
        return cls(merged, (1,) * (count - len(merged.extents)) + merged.extents)

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over these dimensions."""
        return (0,) * (len(self.extents) - len(self.merged.extents)) + self.merged.strides(of)

    def position(self, dim: int) -> int:
        """Return the position of a dimension of the kernel that was not merged with others."""
        return self.merged.position(dim) + len(self.extents) - len(self.merged.extents)


class Sweep(Padded):
    """The dimensions that an elementwise kernel iterates over; few ranks, for few programs.

    If every access is one contiguous run, there is one dimension. Otherwise there are as many as
    the expression has, even if its sizes let some of them be merged: the leading ones then have
    extent 1, and `decode_coordinates` skips them.
    """

    __slots__ = ()

    @staticmethod
    def over(kept: Shape, body: Body, outputs: Sequence[Output] = ()) -> Sweep:
        """Return a sweep over the dimensions of a body and its outputs, merged where possible."""
        maps = [*accesses(body), *(o.access.strides for o in outputs)]
        merged = merge_dims(kept, maps, range(len(kept)), mask_dims(body))
        count = len(merged.extents)
        is_run = count <= 1 and all(merged.strides(m) == (1,) * count for m in maps)
        return Sweep.to(merged, padded_class(count, len(kept), is_run=is_run))

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over these dimensions; a single element has stride 1."""
        return super().strides(of) if self.merged.extents else (1,)

    def steps(self, width: int) -> tuple[int, ...]:
        """Return extents in steps of `width` along the last dimension."""
        return (*self.extents[:-1], -(-self.extents[-1] // width))

    def permuted(self, second_last: int, last: int) -> Sweep:
        """Return the same sweep with these dimensions moved to the end; -1 is the last one."""
        merged, count = self.merged, len(self.merged.extents)
        moved = [d % len(self.extents) - len(self.extents) + count for d in (second_last, last)]
        order = [*(d for d in range(count) if d not in moved), *moved]
        extents = tuple(merged.extents[d] for d in order)
        groups = tuple(merged.groups[d] for d in order)
        return Sweep.to(Merged(extents, groups), len(self.extents))


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The dimensions of a space, in iteration order and merged where possible.

    Attributes
    ----------
    rank : int
        Number of kept dimensions before merging.
    kept, reduced : Padded
    by_rows : bool
        The last dimension of the space, along which vectors lie, is a reduced one, not a kept one.
        It is always set if no vectors are loaded, so that one program serves both orders.
    """

    rank: int
    kept: Padded
    reduced: Padded
    by_rows: bool

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides over both kinds of dimensions, with the lanes' dimension last."""
        kept, reduced = self.kept.strides(of[: self.rank]), self.reduced.strides(of[self.rank :])
        return kept + reduced if self.by_rows else reduced + kept

    def flat_strides(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides of a row's number over the kept dimensions before merging."""
        strides, step = [0] * self.rank, 1
        for d in (d for group in reversed(self.kept.merged.groups) for d in reversed(group)):
            strides[d], step = step, step * kept[d]
        return tuple(strides)

    def position(self, dim: int) -> int:
        """Return the position of a dimension of the whole space in `strides`."""
        if dim < self.rank:
            return self.kept.position(dim) + (0 if self.by_rows else len(self.reduced.extents))
        position = self.reduced.position(dim - self.rank)
        return position + (len(self.kept.extents) if self.by_rows else 0)


@dataclass(frozen=True, slots=True)
class Walk:
    """How the invocations of one dispatch share the space of a reduction.

    Attributes
    ----------
    levels : int
        Levels of partial results between an element and an invocation's accumulator, if a fold
        rounds.
    width : int
        Neighbours along the last dimension that an invocation loads at once.
    steps, rows : int
        Points to fold and points kept, counted in units of `width` along the last dimension.
    lanes : int
        Invocations per row, a power of two. This and the following are parameters of the program.
    lanes_apart : bool
        Neighbouring invocations belong to neighbouring rows, not to the same row.
    slices, slice_steps : int
        The number of slices of each row, and the steps of a slice.
    """

    dims: Dimensions
    workgroup: int
    unroll: int
    levels: int
    width: int
    steps: int
    rows: int
    lanes: int
    lanes_apart: bool
    slices: int = 1
    slice_steps: int = 1

    @property
    def columns(self) -> int:
        """Neighbouring rows that an invocation folds side by side."""
        return 1 if self.dims.by_rows else self.width

    @property
    def rows_per_group(self) -> int:
        """Rows, or vectors of rows, per workgroup."""
        return self.workgroup // self.lanes

    @property
    def placing(self) -> tuple[int, ...]:
        """The parameters by which an invocation finds its lane and its row in the workgroup.

        Neighbouring invocations read neighbours in memory, which are lanes of one row or different
        rows. Lanes of a row are some invocations apart. All these numbers are powers of two.
        """
        lanes, rows = self.lanes.bit_length() - 1, self.rows_per_group.bit_length() - 1
        lane_at, row_at = (rows, 0) if self.lanes_apart else (0, lanes)
        return self.lanes, self.rows_per_group, 1 << lane_at, lane_at, row_at

    @property
    def groups(self) -> int:
        """Workgroups: each has some rows, or slices of them."""
        return -(-self.rows // self.rows_per_group) * self.slices

    @property
    def variant(self) -> str:
        """The entry of `VARIANTS` for this walk."""
        if self.width == 1:
            name = "elements"
        else:
            name = "vectors along rows" if self.dims.by_rows else "vectors along columns"
        return name if len(self.dims.reduced.extents) == 1 else f"{name} of blocks"

    def cut(self, slice_steps: int) -> Walk:
        """Return the same walk with rows cut into slices of this many steps."""
        steps = max(1, slice_steps)
        return replace(self, slices=max(1, -(-self.steps // steps)), slice_steps=steps)


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
    count = len(reduced.extents)
    inner = Padded.to(reduced, padded_class(count, len(kernel.reduced), is_run=count <= 1))
    dims = Dimensions(rank, Padded.to(kept, rank_class(rank)), inner, by_rows)
    longest = max(body.cost for body in bodies)
    vectors = vectors and longest <= COSTLY and not kernel.has_wide
    vectors = vectors and profile.takes_vectors(sum(body.cost for body in bodies))
    width = _width(dims, bodies, kernel.accumulators()) if vectors else 1
    if width == 1:
        dims = replace(dims, by_rows=True)
        # With kept dimensions there are two kinds of programs with vectors, and only one with
        # elements, whether or not the reduced dimensions merge.
        if rank:
            dims = replace(dims, reduced=Padded.to(reduced, rank_class(len(kernel.reduced))))
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
        lanes=lanes_of(profile, rows, steps, apart=not by_rows),
        lanes_apart=not by_rows,
    ).cut(steps)


def dimensions(
    kernel: Kernel, body: Body, profile: AdapterProfile, *, in_order: bool = False
) -> Dimensions:
    """Return the dimensions over which a body is computed one element at a time."""
    whole = replace(kernel, stages=(ReduceStage(body, ()),))
    return arrange(whole, [body], profile, vectors=False, in_order=in_order).dims


def lanes_of(profile: AdapterProfile, rows: int, steps: int, *, apart: bool) -> int:
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
    loads = [x for body in bodies for x in body.loads()]
    inner = (dims.reduced.extents if dims.by_rows else dims.kept.extents)[-1]
    modes = {mode_of(x, dims, 4) for x in loads}
    components = sum(len(fold.op.components) for fold in folds)
    return 4 if inner % 4 == 0 and "v" in modes and "g" not in modes and components <= 3 else 1
