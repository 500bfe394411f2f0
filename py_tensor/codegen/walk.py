"""How a reduction iterates over its space: the order of dimensions and each invocation's share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from py_tensor.base.layout import Merged
from py_tensor.codegen.emit import padded

VARIANTS = (
    *("vectors along rows", "vectors along columns", "elements", "slices"),
    *("vectors along rows of blocks", "vectors along columns of blocks", "elements of blocks"),
)
"""Ways to iterate over the points of a row, which are one run in memory or blocks of several
dimensions; "slices" folds the results of slices."""


@dataclass(frozen=True, slots=True)
class Padded:
    """Merged dimensions, padded in front with dimensions of extent 1."""

    merged: Merged
    extents: tuple[int, ...]

    @classmethod
    def to(cls, merged: Merged, count: int) -> Self:
        """Return merged dimensions, padded to this many."""
        return cls(merged, padded(merged.extents, count, 1))

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over these dimensions."""
        return padded(self.merged.strides(of), len(self.extents), 0)

    def position(self, dim: int) -> int:
        """Return the position of a dimension of the kernel that was not merged with others."""
        return self.merged.position(dim) + len(self.extents) - len(self.merged.extents)


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

    def kept_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return self.kept.strides(strides[: self.rank])

    def space_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides over both kinds of dimensions, with the lanes' dimension last."""
        kept, reduced = self.kept_strides(strides), self.reduced.strides(strides[self.rank :])
        return kept + reduced if self.by_rows else reduced + kept

    def flat_strides(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides of a row's number over the kept dimensions before merging."""
        strides, step = [0] * self.rank, 1
        for d in (d for group in reversed(self.kept.merged.groups) for d in reversed(group)):
            strides[d], step = step, step * kept[d]
        return tuple(strides)

    def space_dim(self, dim: int) -> int:
        """Return the position of a dimension of the whole space in `space_strides`."""
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
