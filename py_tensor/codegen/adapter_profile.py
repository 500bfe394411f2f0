"""Everything that determines the choice of kernels: adapter limits, adapter kind and tuning."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from py_tensor.codegen.choices import FURTHER, ON_SIMD, Choices, Tile, defaults
from py_tensor.codegen.library import Implementations
from py_tensor.codegen.product_cost import choose

MOST_IN_FLIGHT = 64  # flushes, however little they do
CHEAP = 48  # instructions of a body that may stand in a text several times
COSTLY = 96  # instructions of one that stands there once, for one element, and in few programs


@dataclass(frozen=True, slots=True)
class AdapterProfile:
    """Choices that depend on the adapter.

    Attributes
    ----------
    max_buffers : int
        Storage buffers that one kernel may bind.
    software : bool
        The adapter runs on a CPU, where a barrier costs each invocation thousands of instructions:
        few invocations share their work.
    workgroup_memory : int
        Bytes that a workgroup may share.
    implementations : Implementations
        The faster implementations of library functions that are correct on the device.
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

    def _use(self, *parameters: str) -> Choices:
        """The choices, to take the values of these parameters from."""
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

    @property
    def workgroup(self) -> int:
        """Invocations per workgroup; every WebGPU device allows 256."""
        return 64 if self.software else 256

    @property
    def map_workgroup(self) -> int:
        """Invocations per workgroup of an elementwise kernel."""
        return self._use("map_workgroup").map_workgroup

    def map_turns(self, variant: str) -> int:
        """Vectors or elements that an invocation of an elementwise kernel computes, each in turn.

        Single elements share the divisions that find their coordinates. A software adapter tests
        the bounds of every read of a parameter, which one for all turns saves, and goes through
        every four invocations of a workgroup, whether they have work or not. 1024 squared on
        SwiftShader, product and padding by 1, and a sum of 16 elements, in ms: 4 invocations of 128
        turns take 3.9, 5.5 and 0.017; 64 of 8 turns 5.8, 11.7 and 0.026.
        """
        if self.software:
            return 512 // self.map_workgroup
        return 4 if variant == "elements" else 1

    def takes_vectors(self, cost: int) -> bool:
        """Whether a body with this many instructions is unrolled for four elements.

        The compiler of a software adapter takes long over long code, and copies each function to
        where it is called.
        A Fourier transform of 256 points by hand, 40 kernels with sines, compiles for 13 s with
        vectors and for 4 s without.
        """
        return not self.software or cost <= CHEAP

    def unrolls(self, cost: int) -> int:
        """Points, or vectors, of a body of so many instructions that a reduction has in flight.

        A body is written that often, and once more for those left over. One of 400 instructions
        is seconds to the compiler of an NVIDIA driver where it stands in a kernel 20 times.
        """
        return self.unroll if cost <= CHEAP else 1

    @property
    def reduce_workgroup(self) -> int:
        """Invocations per workgroup of a reduction or a running fold.

        A software adapter goes through every four of them, whether they have work or not: a sum of
        16 elements takes 10 µs with 4 on SwiftShader, 19 with 64.
        """
        return 4 if self.software else self.workgroup

    @property
    def wanted_groups(self) -> int:
        """The number of workgroups that keeps the whole adapter busy."""
        return self._use("reduce_groups").reduce_groups

    @property
    def unroll(self) -> int:
        """Independent loads that each invocation of a reduction keeps in flight."""
        return self._use("unroll").unroll

    @property
    def least_slice(self) -> int:
        """Steps of an invocation of a reduction that are worth a slice of their row."""
        return 256 if self.software else 4 * self.unroll

    @property
    def levels(self) -> int:
        """Levels of partial sums in each invocation: with few invocations, each folds much."""
        return 4 if self.software else 2

    @property
    def submit_work(self) -> int:
        """Estimated instructions after which to submit: far less than two seconds of work."""
        return 10**9 if self.software else 2 * 10**11

    @property
    def pending_work(self) -> int:
        """Elements that pending ops may visit before they are computed: a fraction of a second.

        So a loop without reads builds up no backlog that would remain after an interrupt.
        """
        return 3 * 10**8 if self.software else 3 * 10**10

    @property
    def ahead_work(self) -> int:
        """Elements visited by live results, from which on they are computed while more is recorded.

        Half a millisecond of a large GPU. A software adapter works on the cores that record.
        """
        return self.pending_work if self.software else 2 * 10**8

    @property
    def dispatch_work(self) -> int:
        """Instructions for which a dispatch takes the time that it takes by itself."""
        return 20_000 if self.software else 10**6

    def is_crowded(self, flushes: int, work: int) -> bool:
        """Whether this many flushes in flight, with this much work, are too many.

        A few may be under way, whatever they do; more of them as long as all take some ten
        milliseconds at most. Each wait costs as much as a flush of small work.
        """
        few, light = (2, 3 * 10**7) if self.software else (8, 10**10)
        return flushes > few and (work > light or flushes > MOST_IN_FLIGHT)

    def lanes(self, steps: int) -> int:
        """Invocations that share one row of `steps` loads.

        Softmax, layer norm and sum of rows of 4096 on an H200, in µs: 64 lanes 171, 106, 24.9; 128
        lanes 163, 95, 24.9; 256 lanes 165, 99, 26.2.
        """
        if self.software:
            return self.reduce_workgroup
        if steps <= 64:
            return self._use("short_row_lanes").short_row_lanes
        return self._use("row_lanes").row_lanes if steps <= 2048 else 256

    def scan_lanes(self, steps: int) -> int:
        """Invocations that share one row of a running fold, in tiles of 4 loads each."""
        if self.software:
            return 1
        return next((lanes for lanes in (4, 32) if steps <= 4 * lanes), 256)

    def scan_slices(self, rows: int, steps: int, lanes: int) -> int:
        """The number of slices to cut rows into, for scans.

        A workgroup goes along several tiles of a row one after the other, an invocation that has
        one to itself along its elements: few enough that errors do not add up, and as few as keep
        the device busy, for every slice is read twice.
        """
        if lanes > 1:
            tiles = -(-steps // (4 * lanes))
            wanted = max(-(-self.wanted_groups // rows), -(-tiles // 16))
            return 1 if tiles <= 4 else min(tiles, wanted)
        invocations, shortest = (1024, 256) if self.software else (65536, 64)
        return max(1, min(-(-invocations // rows), -(-steps // shortest), 65536))

    @property
    def most_bins(self) -> int:
        """Elements for which a workgroup combines values in its own memory, in 16 KiB of it."""
        return 0 if self.software else 4096

    def revisits(self, rows: int, elements: int) -> bool:
        """Whether one kernel may pass over rows of this length several times.

        A workgroup has its rows to itself: they must fit its cache, and be enough for the device.
        """
        return elements <= 2**15 and (
            rows >= 64 if self.software else rows * elements < 2**18 or rows >= 256
        )

    @property
    def most_terms(self) -> int:
        """Terms of a product that is an elementwise kernel: its time is that of storing results."""
        return 16 if self.software else 4

    def has_tiles(self, results: int, terms: int) -> bool:
        """Whether a product uses tiles instead of a reduction.

        A software adapter takes 0.3 s to compile those, 0.03 s for a reduction; and few results
        are few tiles, that are computed one after the other.
        """
        return not self.software or (results >= 2**10 and results * terms >= 2**21)

    def product(self, m: int, n: int, batch: int, k: int) -> tuple[Tile, int]:
        """Return the tile of a matrix product, and the number of parts of its sum.

        At least one tile fits every adapter.
        """
        if self.software:
            return ON_SIMD, 1
        choices = self._use("large_tile", "medium_tile", "small_tile", "processors")
        tiles = choices.large_tile, choices.medium_tile, choices.small_tile, *FURTHER
        fitting = [tile for tile in tiles if tile.memory <= self.workgroup_memory]
        return choose(fitting, choices.processors, m, n, batch, k)
