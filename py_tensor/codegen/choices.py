"""The tuning parameters of kernels and their values; the first value is the default.

The lists are closed: no other value is ever compiled, and stored choices can only name these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Tile:
    """How a workgroup computes its part of a matrix product.

    Attributes
    ----------
    wx, wy : int
        Invocations along columns and rows.
    tm, tn : int
        Rows and columns of results that each invocation keeps in registers.
    bk : int
        Depth of the slices in workgroup memory.
    wk : int
        Invocations that share each result: each computes a part of every slice.
    """

    wx: int
    wy: int
    tm: int
    tn: int
    bk: int
    wk: int = 1

    def __str__(self) -> str:
        """Return the size of a workgroup's tile, its depth, and the size per invocation."""
        more = f", {self.wk} along k" if self.wk > 1 else ""
        return f"{self.bm}x{self.bn}x{self.bk}/{self.tm}x{self.tn}{more}"

    @property
    def bm(self) -> int:
        return self.wy * self.tm

    @property
    def bn(self) -> int:
        return self.wx * self.tn

    @property
    def workgroup(self) -> int:
        return self.wx * self.wy * self.wk

    @property
    def staged(self) -> int:
        """Elements through which invocations exchange results: a vector for each, and padding."""
        return 4 * (self.workgroup + 8)

    @property
    def memory(self) -> int:
        """Bytes of workgroup memory for both operands' tiles and for the exchange of results."""
        return 4 * (self.bk * (self.bm + 4 + self.bn + 4) + self.staged)

    def constants(self) -> dict[str, int]:
        sizes = {"BM": self.bm, "BN": self.bn, "BK": self.bk, "TM": self.tm}
        invocations = {"WX": self.wx, "WY": self.wy, "WK": self.wk, "ACROSS": min(8, self.wx)}
        return sizes | invocations | {"WORKGROUP": self.workgroup, "GROUPED": 8}


# Chosen from 34 tiles by timing 81 products on an H200: the best of these is on average 2 % slower
# than the best of all, and at most 17 %. LARGE takes 400 µs for 2048 squared and 3051 µs for 4096
# squared, HALF 69 µs for 1024, MEDIUM 31 µs for 640, SMALL 21 µs for 512.
LARGE = Tile(16, 16, 8, 8, 16)
HALF = Tile(8, 16, 8, 8, 16)
MEDIUM = Tile(16, 8, 8, 4, 32, 2)
SMALL = Tile(8, 8, 4, 4, 32, 4)
# For few rows or few columns, where reading operands dominates: for any k, short k and long k.
FLAT, FLAT_SHORT, FLAT_LONG = Tile(32, 4, 4, 4, 16), Tile(64, 1, 8, 4, 8), Tile(32, 2, 4, 4, 32, 4)
TALL, TALL_SHORT, TALL_LONG = Tile(4, 32, 4, 4, 16), Tile(2, 64, 4, 4, 8), Tile(2, 32, 4, 4, 32, 4)
LEAST = Tile(4, 4, 4, 4, 64, 16)  # for few results
# For software adapters, where barriers cost thousands of instructions except in a workgroup of one
# SIMD group. SwiftShader takes 0.29 s for 512 squared, and 1.66 s with a reduction.
ON_SIMD = Tile(2, 2, 4, 4, 8)
FURTHER = HALF, FLAT, FLAT_SHORT, FLAT_LONG, TALL, TALL_SHORT, TALL_LONG, LEAST

Value = Tile | int


@dataclass(frozen=True, slots=True)
class Choices:
    """A value for every parameter; the defaults of this class are those for a GPU.

    Attributes
    ----------
    large_tile, medium_tile, small_tile : Tile
        Tiles of matrix products.
    processors : int
        Workgroups that run at full speed side by side.
    row_lanes, short_row_lanes : int
        Invocations that share a row of a reduction or of a softmax: rows of up to 2048 loads, and
        rows of up to 64.
    unroll : int
        Independent loads that each invocation of a reduction keeps in flight.
    reduce_groups : int
        Workgroups into which a few long rows are cut to keep the device busy.
    map_workgroup : int
        Invocations per workgroup of an elementwise kernel.
    """

    large_tile: Tile = LARGE
    medium_tile: Tile = MEDIUM
    small_tile: Tile = SMALL
    processors: int = 132
    row_lanes: int = 128
    short_row_lanes: int = 8
    unroll: int = 4
    reduce_groups: int = 1024
    map_workgroup: int = 256

    def named(self) -> dict[str, str]:
        """Return the values as text, which `value_of` reads."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}


ON_GPU = Choices()
ON_SOFTWARE = Choices(unroll=1, reduce_groups=4, map_workgroup=4)

_LARGE_TILES = LARGE, HALF, Tile(16, 16, 8, 8, 8), Tile(16, 16, 8, 4, 16), Tile(16, 16, 4, 4, 16)
_MEDIUM_TILES = MEDIUM, Tile(16, 8, 8, 4, 32), Tile(16, 8, 8, 4, 16), Tile(8, 8, 8, 8, 16), SMALL
_GPU_VALUES: Mapping[str, tuple[Value, ...]] = {
    "large_tile": _LARGE_TILES,
    "medium_tile": _MEDIUM_TILES,
    "small_tile": (SMALL, Tile(8, 8, 4, 4, 32), Tile(8, 8, 4, 4, 16), Tile(16, 8, 4, 4, 32)),
    "processors": (132, 8, 32),
    "row_lanes": (128, 32, 64, 256),
    "short_row_lanes": (8, 4, 16, 32),
    "unroll": (4, 1, 2, 8),
    "reduce_groups": (1024, 256, 512),
    "map_workgroup": (256, 64, 128),
}
_SOFTWARE_VALUES: Mapping[str, tuple[Value, ...]] = {
    "unroll": (1, 2, 4),
    "reduce_groups": (4, 2, 8, 16),
    "map_workgroup": (4, 16, 64),
}


def defaults(software: bool) -> Choices:
    """Return the choices for an untuned adapter; `software` means that it runs on a CPU."""
    return ON_SOFTWARE if software else ON_GPU


def tuning_parameters(software: bool) -> Mapping[str, tuple[Value, ...]]:
    """Return the parameters for a kind of adapter, each with its values, the default first.

    They are in tuning order: later ones depend on earlier ones.
    """
    return _SOFTWARE_VALUES if software else _GPU_VALUES


def value_of(name: str, text: str, software: bool) -> Value:
    """Parse the text of a parameter's value.

    Raises
    ------
    ValueError
        If the parameter or the value does not exist on this kind of adapter.
    """
    values = tuning_parameters(software).get(name)
    if values is None:
        known = ", ".join(tuning_parameters(software))
        raise ValueError(f"unknown tuning parameter {name!r}; known parameters: {known}")
    for value in values:
        if str(value) == text:
            return value
    raise ValueError(f"{name} must be one of {', '.join(map(str, values))}, not {text!r}")


def kept_choices(record: str, software: bool) -> Choices | None:
    """Return the choices in a stored record; None if it has none or cannot be parsed.

    Parameters
    ----------
    record : str
        JSON, ``{"choices": {name of a parameter: text of a value}, ...}``. Any text is accepted.
    """
    try:
        texts: Any = json.loads(record)["choices"].items()
        values = {name: value_of(name, text, software) for name, text in texts}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return replace(defaults(software), **values) if values else None
