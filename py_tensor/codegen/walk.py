"""How a reduction walks its space: the order of the dimensions, and what each invocation takes."""

from __future__ import annotations

from dataclasses import dataclass

from py_tensor.codegen.emit import padded
from py_tensor.layout import Merged


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
        The lanes lie along the last reduced dimension, not along the last kept one.
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
        Neighbours along the lanes' dimension that an invocation loads at once.
    steps, rows : int
        Points to fold and points kept, counted in units of `width` along the lanes' dimension.
    lanes, rows_per_group : int
        Invocations to a row, and rows to a workgroup.
    slices, slice_steps, slice_stride : int
        Parts each row is cut into, the steps of a part, and how far apart their results lie.
    """

    dims: Dimensions
    workgroup: int
    unroll: int
    levels: int
    width: int
    steps: int
    rows: int
    lanes: int
    rows_per_group: int
    slices: int
    slice_steps: int
    slice_stride: int

    @property
    def columns(self) -> int:
        """Neighbouring rows that an invocation folds side by side."""
        return 1 if self.dims.by_rows else self.width

    @property
    def groups(self) -> int:
        """Workgroups."""
        return -(-self.rows // self.rows_per_group) * self.slices

    @property
    def manner(self) -> str:
        """What each invocation loads, and how many share a row, in words."""
        lanes = f", {self.lanes} lanes" if self.lanes > 1 else ""
        return ("vectors" if self.width == 4 else "elements") + lanes

    def variant(self, *, merges: bool) -> str:
        """How a pass goes over memory, in words; with `merges`, over partial results."""
        words = ["rows" if self.dims.by_rows else "columns", self.manner]
        words += ["in slices"] if self.slices > 1 else []
        words += ["of slices"] if merges else []
        return ", ".join(words)

    def row_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Of what happens once per row: the slice comes first."""
        return (self.slice_stride, *self.dims.kept_strides(strides))

    def row_dim(self, dim: int) -> int:
        """Where a kept dimension stands among `row_strides`."""
        return 1 + self.dims.kept_dim(dim)
