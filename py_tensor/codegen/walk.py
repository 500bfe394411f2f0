"""How a reduction iterates over its space: the order of dimensions and each invocation's share."""

from __future__ import annotations

from dataclasses import dataclass, replace

from py_tensor.base.layout import Merged
from py_tensor.codegen.emit import padded

VARIANTS = (
    *("vectors along rows", "vectors along columns", "elements", "slices"),
    *("vectors along rows of blocks", "vectors along columns of blocks", "elements of blocks"),
)
"""Ways to iterate over the points of a row, which are one run in memory or blocks of several
dimensions; "slices" folds the results of slices."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The dimensions of a space, in iteration order and merged where possible.

    Attributes
    ----------
    rank : int
        Number of kept dimensions before merging.
    kept, reduced : Merged
        Dimensions after merging; `kept_extents` and `reduced_extents` are padded in front with 1s.
    by_rows : bool
        The last dimension of the space, along which vectors lie, is a reduced one, not a kept one.
        It is always set if no vectors are loaded, so that one program serves both orders.
    """

    rank: int
    kept: Merged
    reduced: Merged
    kept_extents: tuple[int, ...]
    reduced_extents: tuple[int, ...]
    by_rows: bool

    def kept_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return padded(self.kept.strides(strides[: self.rank]), len(self.kept_extents), 0)

    def reduced_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return padded(self.reduced.strides(strides[self.rank :]), len(self.reduced_extents), 0)

    def space_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides over both kinds of dimensions, with the lanes' dimension last."""
        kept, reduced = self.kept_strides(strides), self.reduced_strides(strides)
        return kept + reduced if self.by_rows else reduced + kept

    def flat_strides(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides of a row's number over the kept dimensions before merging."""
        strides, step = [0] * self.rank, 1
        for d in (d for group in reversed(self.kept.groups) for d in reversed(group)):
            strides[d], step = step, step * kept[d]
        return tuple(strides)

    def kept_dim(self, dim: int) -> int:
        """Return the position of a kept dimension in `kept_strides`."""
        return self.kept.position(dim) + len(self.kept_extents) - len(self.kept.extents)

    def space_dim(self, dim: int) -> int:
        """Return the position of a dimension of the whole space in `space_strides`."""
        kept, reduced = len(self.kept_extents), len(self.reduced_extents)
        if dim < self.rank:
            return self.kept_dim(dim) + (0 if self.by_rows else reduced)
        position = self.reduced.position(dim - self.rank) + reduced - len(self.reduced.extents)
        return position + (kept if self.by_rows else 0)


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
    slices: int
    slice_steps: int

    @property
    def columns(self) -> int:
        """Neighbouring rows that an invocation folds side by side."""
        return 1 if self.dims.by_rows else self.width

    @property
    def rows_per_group(self) -> int:
        """Rows, or vectors of rows, per workgroup."""
        return self.workgroup // self.lanes

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
        return name if len(self.dims.reduced_extents) == 1 else f"{name} of blocks"

    def cut(self, slice_steps: int) -> Walk:
        """Return the same walk with rows cut into slices of this many steps."""
        steps = max(1, slice_steps)
        return replace(self, slices=max(1, -(-self.steps // steps)), slice_steps=steps)
