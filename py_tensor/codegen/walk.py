"""How a reduction walks its space: the order of the dimensions, and what each invocation takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from py_tensor.codegen.emit import padded
from py_tensor.layout import Merged

VARIANTS = (
    *("vectors along rows", "vectors along columns", "elements", "slices"),
    *("vectors along rows of blocks", "vectors along columns of blocks", "elements of blocks"),
)
"""Ways to go over the points of a row, which are one run in memory or blocks of several dimensions;
and the fold of what slices of rows came to."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The dimensions of a space, ordered as they are walked and merged where that is possible.

    Attributes
    ----------
    rank : int
        Number of kept dimensions before merging.
    kept, reduced : Merged
        Dimensions after merging; `kept_extents` and `reduced_extents` with 1s in front.
    by_rows : bool
        The last reduced dimension is the last of the space, not the last kept one, and vectors lie
        along it. Where no vectors are loaded, it is always this order: one program serves both.
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
        """Over both kinds of dimensions, the lanes' dimension last."""
        kept, reduced = self.kept_strides(strides), self.reduced_strides(strides)
        return kept + reduced if self.by_rows else reduced + kept

    def flat_strides(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Strides over the kept dimensions, as they were before, of the rows' own numbers."""
        strides, step = [0] * self.rank, 1
        for d in (d for group in reversed(self.kept.groups) for d in reversed(group)):
            strides[d], step = step, step * kept[d]
        return tuple(strides)

    def kept_dim(self, dim: int) -> int:
        """Where a kept dimension stands among `kept_strides`."""
        return self.kept.position(dim) + len(self.kept_extents) - len(self.kept.extents)

    def space_dim(self, dim: int) -> int:
        """Where a dimension of the whole space stands among `space_strides`."""
        kept, reduced = len(self.kept_extents), len(self.reduced_extents)
        if dim < self.rank:
            return self.kept_dim(dim) + (0 if self.by_rows else reduced)
        place = self.reduced.position(dim - self.rank) + reduced - len(self.reduced.extents)
        return place + (kept if self.by_rows else 0)


@dataclass(frozen=True, slots=True)
class Walk:
    """How the invocations of one dispatch share a space that is reduced.

    Attributes
    ----------
    levels : int
        Levels of parts between an element and an invocation's accumulator, where a fold rounds.
    width : int
        Neighbours along the last dimension that an invocation loads at once.
    steps, rows : int
        Points to fold and points kept, counted in units of `width` along the last dimension.
    lanes : int
        Invocations to a row, a power of two; parameters of the program, as all that follows.
    lanes_apart : bool
        Neighbouring invocations belong to neighbouring rows, not to the same one.
    slices, slice_steps : int
        Parts each row is cut into, and the steps of a part.
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
        """Rows, or vectors of rows, to a workgroup."""
        return self.workgroup // self.lanes

    @property
    def groups(self) -> int:
        """Workgroups: each has some rows, or slices of them."""
        return -(-self.rows // self.rows_per_group) * self.slices

    @property
    def variant(self) -> str:
        """What each invocation loads at once: one of `VARIANTS`."""
        if self.width == 1:
            name = "elements"
        else:
            name = "vectors along rows" if self.dims.by_rows else "vectors along columns"
        return name if len(self.dims.reduced_extents) == 1 else f"{name} of blocks"

    def cut(self, slice_steps: int) -> Walk:
        """The same walk over rows in slices of so many steps."""
        steps = max(1, slice_steps)
        return replace(self, slices=max(1, -(-self.steps // steps)), slice_steps=steps)
