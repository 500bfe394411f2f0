"""Everything that determines the choice of kernels: adapter limits, adapter kind and tuning.

The lists of values for tuning are closed: no other value is ever compiled, and stored choices can
only name these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from py_tensor.codegen.library import Implementations

CHEAP = 48  # a body of at most this many instructions may be repeated in a program
COSTLY = 96  # a body of more instructions is written once, for one element, in few programs

# -- Tuning parameters --------------------------------------------------------------------------


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


# -- Profiles -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ByKind:
    """An attribute with one value for software adapters and another for GPUs.

    That of the class itself is the one for GPUs.
    """

    software: int
    gpu: int

    def __get__(self, profile: AdapterProfile | None, owner: object) -> int:
        return self.software if profile is not None and profile.software else self.gpu


@dataclass(frozen=True, slots=True)
class AdapterProfile:
    """Choices that depend on the adapter.

    Attributes
    ----------
    max_buffers : int
        Storage buffers that one kernel may bind.
    software : bool
        The adapter runs on a CPU, where a barrier costs each invocation thousands of instructions,
        so few invocations share their work.
    workgroup_memory : int
        Bytes of shared memory that a workgroup may use.
    implementations : Implementations
        The faster implementations of library functions that are correct on this device.
    choices : Choices or None
        The value of each tuning parameter; None: the defaults for this kind of adapter.
    used : set of str
        The tuning parameters that a plan depends on.
    """

    max_buffers: int = 8
    software: bool = False
    workgroup_memory: int = 16384
    implementations: Implementations = ()
    choices: Choices | None = None
    used: set[str] = field(default_factory=set[str], compare=False, repr=False)

    def use(self, *parameters: str) -> Choices:
        """Return the choices, and record that a plan depends on these parameters."""
        self.used.update(parameters)
        return self.chosen

    @property
    def chosen(self) -> Choices:
        """The value of every parameter, used or not."""
        return self.choices or defaults(self.software)

    def choosing(self, choices: Choices | None) -> AdapterProfile:
        """Return the profile with these choices, except for parameters already in use."""
        used = {name: getattr(self.chosen, name) for name in self.used}
        choices = replace(choices or defaults(self.software), **used)
        return replace(self, choices=None if choices == defaults(self.software) else choices)

    def trying(self, choices: Choices) -> AdapterProfile:
        """Return the profile with these choices, for plans outside the session."""
        return replace(self, choices=choices, used=set())

    workgroup = _ByKind(software=64, gpu=256)
    """Invocations per workgroup; every WebGPU device allows 256."""

    @property
    def map_workgroup(self) -> int:
        """Invocations per workgroup of an elementwise kernel."""
        return self.use("map_workgroup").map_workgroup

    def map_turns(self, variant: str) -> int:
        """Return how many vectors or elements an elementwise invocation computes in sequence.

        With several turns, single elements share the divisions that find their coordinates. A
        software adapter checks the bounds of every read of a parameter, so one read for all turns
        is cheaper. It also executes every group of four invocations, whether they have work or
        not. On SwiftShader, a product of 1024 squared, a padding of it by 1, and a sum of 16
        elements take 3.9, 5.5 and 0.017 ms with 4 invocations of 128 turns, and 5.8, 11.7 and 0.026
        ms with 64 invocations of 8 turns.
        """
        if self.software:
            return 512 // self.map_workgroup
        return 4 if variant == "elements" else 1

    def takes_vectors(self, cost: int) -> bool:
        """Return whether a body with this many instructions is unrolled for four elements.

        The compiler of a software adapter is slow on long code, and it inlines every function. A
        hand-written Fourier transform of 256 points (40 kernels with sines) compiles in 13 s with
        vectors and in 4 s without.
        """
        return not self.software or cost <= CHEAP

    def unrolls(self, cost: int) -> int:
        """Return how many points, or vectors, a reduction has in flight for a body of this cost.

        The body is written once for each, and once more for the remainder. The compiler of an
        NVIDIA driver takes seconds for a kernel with 20 copies of a body of 400 instructions.
        """
        return self.unroll if cost <= CHEAP else 1

    reduce_workgroup = _ByKind(software=4, gpu=256)
    """Invocations per workgroup of a reduction or a scan.

    A software adapter executes every group of four invocations, whether they have work or not:
    on SwiftShader, a sum of 16 elements takes 10 µs with 4 invocations and 19 µs with 64.
    """

    @property
    def wanted_groups(self) -> int:
        """The number of workgroups that keeps the whole adapter busy."""
        return self.use("reduce_groups").reduce_groups

    @property
    def unroll(self) -> int:
        """Independent loads that each invocation of a reduction keeps in flight."""
        return self.use("unroll").unroll

    @property
    def min_slice(self) -> int:
        """The fewest steps per invocation for which cutting a row into slices is worthwhile."""
        return 256 if self.software else 4 * self.unroll

    levels = _ByKind(software=4, gpu=2)
    """Levels of partial sums in each invocation; more where few invocations fold long parts."""

    submit_work = _ByKind(software=10**9, gpu=2 * 10**11)
    """Estimated instructions after which to submit: far less than two seconds' work."""

    pending_work = _ByKind(software=3 * 10**8, gpu=3 * 10**10)
    """Elements that pending ops may visit before they are computed: a fraction of a second.

    This keeps a loop without reads from building up a backlog that outlasts an interrupt.
    """

    ahead_work = _ByKind(software=3 * 10**8, gpu=2 * 10**8)
    """Elements visited by live results at which they are computed while recording continues.

    This is half a millisecond on a large GPU. A software adapter gains nothing from it, because
    it runs on the same cores as the recording.
    """

    read_work = _ByKind(software=0, gpu=2**21)
    """32-bit integers that are sorted in about the time that reading a result takes.

    On an H100 a read costs 0.3 ms, or 0.9 ms in a browser; sorting 1 M integers takes 0.25 ms,
    and 16 M take 1.6 ms.
    """

    dispatch_work = _ByKind(software=20_000, gpu=10**6)
    """The fixed cost of a dispatch, in instructions."""

    few_flushes = _ByKind(software=2, gpu=8)
    """Flushes that may always be in flight, because each wait costs as much as a small flush."""

    light_work = _ByKind(software=3 * 10**7, gpu=10**10)
    """Instructions, about ten milliseconds, up to which more flushes may be in flight together."""

    def lanes(self, steps: int) -> int:
        """Return the number of invocations that share one row of `steps` loads.

        On an H200, softmax, layer norm and sum over rows of 4096 take 171, 106 and 24.9 µs with 64
        lanes, 163, 95 and 24.9 µs with 128, and 165, 99 and 26.2 µs with 256.
        """
        if self.software:
            return self.reduce_workgroup
        if steps <= 64:
            return self.use("short_row_lanes").short_row_lanes
        return self.use("row_lanes").row_lanes if steps <= 2048 else 256

    def scan_lanes(self, steps: int) -> int:
        """Return the number of invocations that share one row of a scan, in tiles of 4 loads."""
        if self.software:
            return 1
        return next((lanes for lanes in (4, 32) if steps <= 4 * lanes), 256)

    def scan_slices(self, rows: int, steps: int, lanes: int) -> int:
        """Return the number of slices to cut each row of a scan into.

        A workgroup scans the tiles of its slice in sequence; an invocation that has a slice to
        itself scans its elements in sequence. Slices are short enough that errors do not add up.
        Otherwise there are only as many as keep the device busy, because every slice is read twice.
        """
        if lanes > 1:
            tiles = -(-steps // (4 * lanes))
            wanted = max(-(-self.wanted_groups // rows), -(-tiles // 16))
            return 1 if tiles <= 4 else min(tiles, wanted)
        invocations, shortest = (1024, 256) if self.software else (65536, 64)
        return max(1, min(-(-invocations // rows), -(-steps // shortest), 65536))

    max_bins = _ByKind(software=0, gpu=4096)
    """The maximum number of elements that a workgroup accumulates in its memory (16 KiB)."""

    def revisits(self, rows: int, elements: int) -> bool:
        """Return whether one kernel may pass over rows of this length several times.

        Each workgroup processes its own rows: they must fit its cache, and there must be enough
        rows to fill the device.
        """
        enough = rows >= 64 if self.software else rows * elements < 2**18 or rows >= 256
        return elements <= 2**15 and enough

    max_terms = _ByKind(software=16, gpu=4)
    """The maximum number of terms of a matrix product computed by an elementwise kernel.

    Such a kernel takes only the time of storing its results.
    """

    def has_tiles(self, results: int, terms: int) -> bool:
        """Return whether a product uses tiles instead of a reduction.

        A software adapter takes 0.3 s to compile the tiled kernel and 0.03 s for a reduction. Few
        results also make few tiles, which do not fill the device.
        """
        return not self.software or (results >= 2**10 and results * terms >= 2**21)
