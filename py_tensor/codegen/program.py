"""The interface between codegen and the backend: programs, and dispatches that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from py_tensor.base.dtypes import DType, uint32
from py_tensor.codegen.codec import Binding, from_words, to_words
from py_tensor.codegen.library import Implementations, fill
from py_tensor.schedule.body import Access, Const
from py_tensor.schedule.kernel import FAULTS

_WORD = 2**32
ROWS = (64, 256, 1024, 4096)  # sizes in vectors of a block with rows; every device allows the last


class Offset(NamedTuple):
    """A parameter: the offset of a view plus `beyond` elements, in vectors of `scale` elements."""

    beyond: int
    scale: int


# A parameter that each flush sets: its position, the slot of a constant or of a view, and how.
Patch = tuple[int, int, DType | Offset]


@dataclass(slots=True)
class Params:
    """The uniform block of a kernel: u32 values, and which of them each flush sets.

    `name` is the WGSL variable that the values are read from. `rows` are lists of constants that
    the kernel indexes at run time. The declaration appends them after all other values, because
    their number varies.
    """

    values: list[int] = field(default_factory=list[int])
    patches: list[Patch] = field(default_factory=list[Patch])
    name: str = "params"
    rows: list[tuple[int, list[Const]]] = field(default_factory=list[tuple[int, list[Const]]])

    def add(self, value: int) -> str:
        """Append a value, in two's complement if negative; return the WGSL that reads it."""
        self.values.append(value % _WORD)
        return self.at(len(self.values) - 1)

    def offset(self, access: Access, scale: int) -> str:
        """Append the offset of an access, in vectors of `scale` elements; return its WGSL."""
        if access.start is not None:
            offset = Offset(access.offset, scale)
            self.patches.append((len(self.values), access.start.slot, offset))
        return self.add(access.offset // scale)

    def extend(self, *values: int) -> None:
        for value in values:
            self.add(value)

    def at(self, position: int) -> str:
        return f"{self.name}[{position // 4}].{'xyzw'[position % 4]}"

    def value(self, value: complex, dtype: DType) -> str:
        """Append a value of a dtype; return the WGSL that reads it in that type."""
        return from_words(dtype, *map(self.add, to_words(value, dtype)))

    def const(self, const: Const) -> str:
        """Reserve a place for a constant; return the WGSL that reads it in the constant's type."""
        self.patches.append((len(self.values), const.slot, const.dtype))
        return self.value(0, const.dtype)

    def row(self, consts: list[Const]) -> str:
        """Reserve places for constants; return the WGSL of the position of the first."""
        self.rows.append((len(self.values), consts))
        return self.add(0)

    def found(self, position: str) -> str:
        """Return the WGSL that reads the value at a computed position."""
        return f"{self.name}[{position} / 4u][{position} % 4u]"

    def declaration(self, binding: int) -> str:
        """Return WGSL that declares the block; blocks with rows are padded to a few sizes."""
        rows = bool(self.rows)
        while self.rows:
            position, consts = self.rows.pop()
            self.values[position] = len(self.values)
            for const in consts:
                self.const(const)
        size = max(1, -(-len(self.values) // 4))
        if rows:
            size = next((n for n in ROWS if size <= n), size)
            self.extend(*[0] * (4 * size - len(self.values)))
        return f"@group(0) @binding({binding}) var<uniform> params: array<vec4u, {size}>;"


FAULT_WORDS = Binding(FAULTS, uint32, writable=True, atomic=True)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A WGSL program, which serves every size.

    Attributes
    ----------
    family : str
        The name of its template.
    variant : str
        The variant of the family, for `pt.explain`.
    """

    number: int
    label: str
    wgsl: str
    buffers: int
    writable: int  # bit mask
    family: str = ""
    variant: str = ""

    def listing(self) -> str:
        """Return the WGSL, after a comment line with its label, family and variant."""
        return f"// {self.label}: {self.family}, {self.variant}\n{self.wgsl}"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of a program.

    Attributes
    ----------
    slots : tuple of int
        The buffer of each binding, numbered as in `Binding.slot`.
    params : tuple of int
        The first is the number of the first workgroup.
    patches : tuple of Patch
    count : int
        Workgroups. The grid may hold a few more, which do nothing.
    work : int
        Estimated instructions, to bound the work of a submit.
    operations, traffic : int
        Arithmetic operations and bytes moved, for reports.
    """

    program: Program
    slots: tuple[int, ...]
    params: tuple[int, ...]
    patches: tuple[Patch, ...]
    count: int
    work: int
    operations: int
    traffic: int

    def renamed(self, number: Callable[[int], int]) -> Dispatch:
        """Return the same dispatch for buffers, constants and views in other slots."""
        # Not `replace`, which is slower: it runs for every dispatch of every plan.
        patches = tuple((position, number(slot), kind) for position, slot, kind in self.patches)
        slots, count, work = tuple(map(number, self.slots)), self.count, self.work
        return Dispatch(
            self.program, slots, self.params, patches, count, work, self.operations, self.traffic
        )

    def pieces(self, limit: int) -> list[Dispatch]:
        """Split into dispatches of at most `limit` work each, as far as whole workgroups allow."""
        pieces = min(-(-self.work // limit), self.count)
        if pieces <= 1:
            return [self]
        size = -(-self.count // pieces)
        starts = range(0, self.count, size)
        return [self._piece(start, min(size, self.count - start)) for start in starts]

    def _piece(self, start: int, count: int) -> Dispatch:
        whole = self.work, self.operations, self.traffic
        costs = (n * count // self.count for n in whole)
        params = start, *self.params[1:]
        return Dispatch(self.program, self.slots, params, self.patches, count, *costs)


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """The lowering of one kernel.

    Attributes
    ----------
    dispatches : tuple of Dispatch
        In order. Slots below `FAULTS` are the kernel's temporaries.
    temporaries : tuple of int
        The bytes of each temporary, from slot ``FAULTS - 1`` down.
    replaced : tuple of (int, int)
        (slot, slot whose buffer it overwrites), ...
    slab : tuple of int
        The slots of the nodes in the slices of the first temporary, if that is a slab.
    used : frozenset of str
        The tuning parameters that it depends on, if it is in the cache of `Programs`.
    """

    dispatches: tuple[Dispatch, ...]
    temporaries: tuple[int, ...] = ()
    replaced: tuple[tuple[int, int], ...] = ()
    slab: tuple[int, ...] = ()
    used: frozenset[str] = frozenset()

    def with_slots(self, number: Callable[[int], int]) -> LoweredKernel:
        """Return the lowering of the same kernel for nodes in other slots."""

        def other(slot: int) -> int:
            return number(slot) if slot >= 0 else slot  # not those of temporaries

        dispatches = tuple(x.renamed(other) for x in self.dispatches)
        replaced = tuple((number(slot), number(over)) for slot, over in self.replaced)
        return LoweredKernel(dispatches, self.temporaries, replaced, tuple(map(other, self.slab)))


# -- Buffers ------------------------------------------------------------------------------------


# -- Programs -----------------------------------------------------------------------------------

MAX_GROUPS = 65535
_PROGRAM_LIMIT = 4096


def keep(cache: dict[Any, Any], key: object, value: object) -> None:
    """Add an entry to a cache; if it is full, drop the oldest."""
    if len(cache) >= _PROGRAM_LIMIT:
        del cache[next(iter(cache))]
    cache[key] = value


class Programs:
    """A cache of programs by template and regions.

    The text contains structure and variant, never a size. Sizes, strides and constants are
    parameters, so a new size finds its program here.

    Attributes
    ----------
    lowerings : dict
        The cached lowerings; see `lower.py` for their keys.
    """

    def __init__(self) -> None:
        self._implementations: Implementations = ()
        self.lowerings: dict[object, LoweredKernel] = {}
        self._known: dict[tuple[str, ...], Program] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._known)

    def take(self, implementations: Implementations) -> None:
        """Use these implementations of library functions; drop the programs with others."""
        if implementations != self._implementations:
            self._known.clear()
            self.lowerings.clear()
            self._implementations = implementations

    def get(
        self,
        template: str,
        label: str,
        bindings: Sequence[Binding],
        regions: dict[str, str],
        variant: str = "",
    ) -> Program:
        key = template, *regions.values()
        program = self._known.get(key)
        if program is None:
            self._count += 1
            mask = sum(1 << n for n, binding in enumerate(bindings) if binding.writable)
            wgsl = fill(template, regions, self._implementations)
            program = Program(self._count, label, wgsl, len(bindings), mask, template, variant)
            keep(self._known, key, program)
        return program


def groups_for(count: int) -> tuple[int, int, int]:
    """Return a grid of at least `count` workgroups within the limit of each dimension."""
    rows = -(-count // MAX_GROUPS)
    return (-(-count // rows), rows, 1) if count else (0, 1, 1)
