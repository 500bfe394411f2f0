"""Discrete Fourier transforms along one dimension, in one or more passes.

The length of a transform is the product of the lengths of its passes, and the length of a pass is a
product of radices up to 16 (Cooley and Tukey, An algorithm for the machine calculation of complex
Fourier series, 1965). A pass views the data as a matrix and transforms its columns. It stores the
results where the next pass reads its columns, so the last pass leaves everything in order
(Stockham, High-speed convolution and correlation, 1966).

A pass has one stage per radix. In a stage, each invocation computes butterflies of that radix in
registers. Invocations exchange elements between stages through workgroup memory. On a software
adapter each pass has one radix and no exchange, because barriers are costly there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, count
from typing import ClassVar

from py_tensor.base.dtypes import complex64, float32
from py_tensor.base.shapes import size_of
from py_tensor.codegen import lower
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.walk import dimensions
from py_tensor.codegen.writer import Context, Writer, braced, stage_of
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import BodyStage, Kernel

MAX_RADIX = 16
MAX_INVOCATIONS = 256  # per workgroup
MIN_COLUMNS = 4  # neighbouring columns per workgroup where columns are not contiguous
WANTED_GROUPS = 256  # with fewer workgroups, each takes fewer columns
COST = 40  # instructions per element and stage


@dataclass(frozen=True, slots=True)
class Transformed(BodyStage):
    """A stage that transforms along the reduced dimension into accumulator 0 of the spread body.

    Attributes
    ----------
    value : int
        The value of the element body to transform, complex64 or float32.
    inner : int
        The stride of the transformed axis in the result.
    is_inverse : bool
    scale : float
        The factor of every result.
    """

    element: Body
    value: int
    inner: int
    is_inverse: bool
    scale: float

    family: ClassVar[str] = "fourier"
    work_buffers: ClassVar[int] = 1  # between passes

    @property
    def operations(self) -> int:
        return 10

    def ops(self) -> list[str]:
        return ["ifft" if self.is_inverse else "fft"]


def has_radices(n: int) -> bool:
    """Return whether a length is a product of radices: it has no prime factor above 13."""
    # All prime factors then occur in this multiple of the radices, and often enough in its power.
    return pow(math.lcm(*range(1, MAX_RADIX + 1)), n.bit_length(), n) == 0


@cache
def radices(length: int) -> tuple[int, ...]:
    """Return the radices of a pass, descending: as few as possible, then as equal as possible."""
    for number in count(1):
        options = combinations_with_replacement(range(MAX_RADIX, 0, -1), number)
        if products := [x for x in options if math.prod(x) == length]:
            return min(products, key=lambda x: x[0])
    raise AssertionError


def invocations_of(length: int) -> int:
    """Return the invocations per column; each does one butterfly of the largest radix at a time."""
    return length // radices(length)[0]


@cache
def passes(n: int, inner: int, tile: int) -> tuple[int, ...]:
    """Return the lengths of the passes for a transform of `n` elements.

    Contiguous elements that fit a tile take one pass. Where elements are strided, a tile is at
    least `MIN_COLUMNS` wide. A tile of 0 means one radix per pass.
    """
    if not tile:
        return _largest(n)
    if n <= tile and inner == 1 and invocations_of(n) <= MAX_INVOCATIONS:
        return (n,)
    most = tile // MIN_COLUMNS
    fits = MAX_INVOCATIONS // MIN_COLUMNS
    divisors = [d for d in range(2, most + 1) if n % d == 0 and invocations_of(d) <= fits]
    lengths: list[int] = []
    while n > 1:
        usable = [d for d in divisors if n % d == 0]
        count = math.ceil(math.log(n) / math.log(usable[-1]) - 1e-9)
        balanced = n ** (1 / count) - 1e-9
        lengths.append(next((d for d in usable if d >= balanced), usable[-1]))
        n //= lengths[-1]
    return tuple(lengths)


def _largest(n: int) -> tuple[int, ...]:
    """Factor a number into radices, the largest possible first."""
    if n == 1:
        return ()
    radix = next(r for r in range(MAX_RADIX, 1, -1) if n % r == 0)
    return (radix, *_largest(n // radix))


# -- Dispatches ---------------------------------------------------------------------------------


def lower_fourier(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel that transforms: one for each pass."""
    stage = stage_of(kernel, Transformed)
    n, points = kernel.reduced[0], size_of(kernel.kept + kernel.reduced)
    lengths = passes(n, stage.inner, _tile(context.profile))
    dispatches: list[Dispatch] = []
    source, before = -1, 1
    for length in lengths:
        is_last = before * length == n
        output = kernel.spread_outputs[0].slot
        target = output if is_last else context.temporary(points * complex64.itemsize)
        dispatches.append(_Pass(kernel, context, length, before).transform(source, target))
        source, before = target, before * length
    return dispatches


def _tile(profile: AdapterProfile) -> int:
    """Return how many elements a workgroup exchanges, one component at a time; 0 if none."""
    tile = 4096 if profile.workgroup_memory >= 4 * (4096 + 128) else 2048
    return 0 if profile.software else tile


class _Pass(Writer):
    """One pass; `before` is the product of the lengths of earlier passes.

    Attributes
    ----------
    length, columns : int
        Elements of a column, and columns per workgroup.
    invocations : int
        Invocations per column.
    last : int
        The number of the last stage.
    turns : list of int
        The number of butterflies of each stage that an invocation computes.
    together : list of int
        The product of the radices of the stages before each stage.
    loads_across, stores_across : bool
        Neighbouring invocations load (or store) neighbouring columns rather than neighbours within
        a column.
    """

    def __init__(self, kernel: Kernel, context: Context, length: int, before: int) -> None:
        super().__init__(kernel, context)
        self.stage = stage_of(kernel, Transformed)
        self.length, self.before, (self.n,) = length, before, kernel.reduced
        self.points = size_of(kernel.kept + kernel.reduced)
        self.radices, self.invocations = radices(length), invocations_of(length)
        self.last = len(self.radices) - 1
        self.turns = [-(-length // (radix * self.invocations)) for radix in self.radices]
        self.together = [math.prod(self.radices[:n]) for n in range(self.last + 1)]
        self.loads_across = self.n > length or self.stage.inner > 1
        self.stores_across = before > 1 or self.stage.inner > 1
        self.columns = self._columns(self.points // length)

    def _columns(self, columns: int) -> int:
        """Return the columns per workgroup; with few workgroups, each takes fewer columns."""
        tile, profile = _tile(self.context.profile), self.context.profile
        if not tile:
            return profile.map_workgroup
        together = max(1, min(tile // self.length, MAX_INVOCATIONS // self.invocations))
        together = 1 << together.bit_length() - 1
        least = MIN_COLUMNS if self.loads_across else max(1, 64 // self.invocations)
        while together > least and columns < together * WANTED_GROUPS:
            together //= 2
        return together

    def transform(self, source: int, target: int) -> Dispatch:
        """Return the dispatch.

        It reads the results of the previous pass from slot `source`; the first pass reads the
        operand instead.
        """
        stage, length, before = self.stage, self.length, self.before
        columns, stages = self.points // length, len(self.radices)
        self.params.extend(columns, stage.inner, self.n // length, self.n, before)
        self.params.value(1 / (before * length), float32)
        if before == 1:
            self._load_operand()
        else:
            name = self.bind(source, complex64)
            self.code.append(f"fn load({_AT}) -> vec2f {{ return {name}[{_PLACE}]; }}")
        self._put(target)
        if self.last:  # the exchange memory; gaps avoid bank conflicts
            size = length * self.columns
            self.code.append(f"var<workgroup> shared_parts: array<f32, {size + size // 32}>;")
        self.code.append(_SPREAD)
        workgroup = self.invocations * self.columns
        self.constants |= {"COLUMNS": self.columns, "LENGTH": length, "WORKGROUP": workgroup}
        groups, regions = -(-columns // self.columns), {"stages": self._stages()}
        work = self.points * (COST * stages + stage.element.cost)
        counts = {"work": work, "operations": self.points * stage.operations * stages}
        return self.dispatch("fourier", "columns", groups, **counts, regions=regions)

    def _load_operand(self) -> None:
        """Add `load` for the first pass: it reads the operand; an inverse swaps its parts."""
        body, value = self.stage.element, self.stage.value
        dims = dimensions(self.kernel, body, self.context.profile, in_order=True)
        statements, call = self.element_of_row(dims, body, value)
        call = call if body.dtype(value).is_complex else f"vec2f({call}, 0.0)"
        row = "let row = place.outer * params[0].z + place.inner;"
        result = f"return {self._exchanged(call)};"
        self.function(f"load({_AT}) -> vec2f", row, *statements, result)

    def _put(self, target: int) -> None:
        """Add `put`, which stores a result; the last pass scales it and undoes the swap."""
        name, value = self.bind(target, complex64, writable=True), "value"
        if self.before * self.length == self.n:
            scale = self.params.value(self.stage.scale, float32)
            value = f"{self._exchanged('value')} * {scale}"
        self.code.append(f"fn put({_AT}, value: vec2f) {{ {name}[{_PLACE}] = {value}; }}")

    def _exchanged(self, value: str) -> str:
        """Swap real and imaginary parts in an inverse transform.

        It is a forward one with these parts swapped before and after.
        """
        return f"exchanged({value}, {self.params.add(self.stage.is_inverse)} != 0u)"

    def _stages(self) -> list[str]:
        """Return statements of the whole pass."""
        lines: list[str] = []
        values: list[list[str]] = []
        for number, radix in enumerate(self.radices):
            if number in (0, self.last):
                lines += self._place(number)
            turns = range(self.turns[number])
            names = [[f"x{number}_{m}_{q}" for q in range(radix)] for m in turns]
            lines += [f"var {name} = vec2f();" for row in names for name in row]
            lines += self._exchange(number, values, names) if number else self._load(names)
            values = [self._transformed(m, number, names[m], lines) for m in turns]
        return [*lines, *self._store(values)]

    def _place(self, number: int) -> list[str]:
        """Return the column of an invocation and its part of the column, for loading or storing."""
        across = self.stores_across if number == self.last else self.loads_across
        lane, share = ("%", "/") if across else ("/", "%")
        by = self.columns if across else self.invocations
        lines = [
            f"let lane{number} = invocation {lane} {by}u;",
            f"let part{number} = invocation {share} {by}u;",
        ]
        if number == 0 or self.loads_across != self.stores_across:
            lines.append(f"let place{number} = column(tile + lane{number});")
        else:
            lines.append(f"let place{number} = place0;")
        return lines

    def _owner(self, number: int) -> int:
        """Return the stage whose assignment of invocations to columns this stage uses."""
        return number if number == self.last else 0

    def _index(self, m: int, number: int) -> str:
        """Return the number of an invocation's butterfly in its column."""
        return f"(part{self._owner(number)} + {m * self.invocations}u)"

    def _each(self, number: int, body: Callable[[int, str], list[str]]) -> list[str]:
        """Return statements for each butterfly of an invocation, guarded where not all have it."""
        lines: list[str] = []
        count = self.length // self.radices[number]
        for m in range(self.turns[number]):
            index = self._index(m, number)
            inner = body(m, index)
            is_whole = (m + 1) * self.invocations <= count
            lines += inner if is_whole else braced(f"if ({index} < {count}u)", inner)
        return lines

    def _load(self, names: list[list[str]]) -> list[str]:
        apart = self.length // self.radices[0]

        def loaded(m: int, at: str) -> list[str]:
            lines: list[str] = []
            for q, name in enumerate(names[m]):
                j = f"{at} + {q * apart}u"
                value = f"load(place0, place0.first + ({j}) * step)"
                if self.before > 1:
                    root = f"root_of_unity(turn * ({j}), whole, inverse)"
                    value = f"turned_by({value}, {root})"
                lines.append(f"{name} = {value};")
            return lines

        lines = self._each(0, loaded)
        if self.before > 1:
            lines = ["let turn = place0.first % before;", *lines]
        return braced("if (place0.is_inside)", lines)

    def _transformed(self, m: int, number: int, names: list[str], lines: list[str]) -> list[str]:
        """Multiply the values of a butterfly by twiddle factors, and return their transform."""
        mark, together = f"y{number}_{m}_", self.together[number]
        if number:
            lines.append(f"let {mark}k = {self._index(m, number)} % {together}u;")
            n = together * self.radices[number]
            for q, name in enumerate(names[1:], 1):
                root = f"root_of_unity({mark}k * {q}u, {n}u, {1 / n!r})"
                lines.append(f"{name} = turned_by({name}, {root});")
        return _butterfly(names, mark, lines)

    def _exchange(self, number: int, values: list[list[str]], names: list[list[str]]) -> list[str]:
        """Exchange the results of the stage before, in the order in which this one reads them."""
        together, before = self.together[number - 1], self.together[number]
        apart = self.length // self.radices[number]

        def put(m: int, at: str) -> list[str]:
            first = f"{at} / {together}u * {before}u + {at} % {together}u"
            return [
                f"{self._cell(f'{first} + {q * together}u', number - 1)} = {value}.#;"
                for q, value in enumerate(values[m])
            ]

        def take(m: int, at: str) -> list[str]:
            return [
                f"{name}.# = {self._cell(f'{at} + {q * apart}u', number)};"
                for q, name in enumerate(names[m])
            ]

        exchange = [*self._each(number - 1, put), "workgroupBarrier();", *self._each(number, take)]
        real, imaginary = ([line.replace("#", part) for line in exchange] for part in "xy")
        ahead = ["workgroupBarrier();"] if number > 1 else []
        return [*ahead, *real, "workgroupBarrier();", *imaginary]

    def _cell(self, element: str, number: int) -> str:
        """Return the place in workgroup memory of an element of an invocation's column."""
        lane = f"lane{self._owner(number)}"
        if self.loads_across or self.stores_across:
            return f"shared_parts[spread_out(({element}) * COLUMNS + {lane})]"
        return f"shared_parts[spread_out({lane} * LENGTH + {element})]"

    def _store(self, values: list[list[str]]) -> list[str]:
        column, together = f"place{self.last}", self.together[self.last]

        def stored(m: int, at: str) -> list[str]:
            return [
                f"put({column}, first + ({at} + {q * together}u) * before, {value});"
                for q, value in enumerate(values[m])
            ]

        lines = self._each(self.last, stored)
        first = f"let first = {column}.first / before * whole + {column}.first % before;"
        return braced(f"if ({column}.is_inside)", [first, *lines])


_AT = "place: Column, j: u32"
_PLACE = "(place.outer * params[1].x + j) * params[0].z + place.inner"
_SPREAD = "fn spread_out(cell: u32) -> u32 { return cell + (cell >> 5u); }"


# -- Butterflies --------------------------------------------------------------------------------


def _butterfly(values: list[str], prefix: str, lines: list[str]) -> list[str]:
    """Transform a few values; append the statements to `lines`, and return the result names."""
    n = len(values)
    if n == 1:
        return values
    if n == 2:
        x, y = values
        return _named(prefix, [f"{x} + {y}", f"{x} - {y}"], lines)
    # Four at a time, as pairs of pairs, has the fewest constant factors.
    a = next(a for a in (4, 2, 3, 5, 7, 11, 13) if n % a == 0 and (a, n) != (4, 4))
    if a == n:
        return _of_prime(values, prefix, lines)
    b = n // a
    rows = [_butterfly(values[j::b], f"{prefix}{j}_", lines) for j in range(b)]
    results = [""] * n
    for k in range(a):
        column = [_turned(rows[j][k], j * k, n, f"{prefix}t{j}_{k}", lines) for j in range(b)]
        results[k::a] = _butterfly(column, f"{prefix}c{k}_", lines)
    return results


def _named(prefix: str, texts: list[str], lines: list[str]) -> list[str]:
    lines += [f"let {prefix}{n} = {text};" for n, text in enumerate(texts)]
    return [f"{prefix}{n}" for n in range(len(texts))]


def _of_prime(values: list[str], prefix: str, lines: list[str]) -> list[str]:
    """Transform an odd number of values; sums and differences of pairs halve the products."""
    n, first = len(values), values[0]
    half = range(1, n // 2 + 1)
    sums = _named(f"{prefix}s", [f"{values[k]} + {values[n - k]}" for k in half], lines)
    apart = _named(f"{prefix}d", [f"{values[k]} - {values[n - k]}" for k in half], lines)
    along = [[math.cos(2 * math.pi * k * m / n) for k in half] for m in half]
    across = [[math.sin(2 * math.pi * k * m / n) for k in half] for m in half]
    even = _named(f"{prefix}e", [f"{first} + {_weighted(sums, row)}" for row in along], lines)
    odd = _named(f"{prefix}o", [_weighted(apart, row) for row in across], lines)
    sides = [f"vec2f({name}.y, -{name}.x)" for name in odd]
    front = [f"{x} + {side}" for x, side in zip(even, sides, strict=True)]
    back = [f"{x} - {side}" for x, side in zip(even, sides, strict=True)]
    return _named(prefix, [" + ".join([first, *sums]), *front, *reversed(back)], lines)


def _weighted(names: list[str], weights: list[float]) -> str:
    return " + ".join(f"{w:.10g} * {name}" for w, name in zip(weights, names, strict=True))


def _turned(value: str, k: int, n: int, name: str, lines: list[str]) -> str:
    """Multiply a value by the constant exp(-2 pi i k / n), and return the product's name."""
    k %= n
    if not k:
        return value
    match 4 * k / n:
        case 1:
            text = f"vec2f({value}.y, -{value}.x)"
        case 2:
            text = f"-{value}"
        case 3:
            text = f"vec2f(-{value}.y, {value}.x)"
        case _:
            angle = 2 * math.pi * k / n
            text = f"turned_by({value}, vec2f({math.cos(angle):.10g}, {-math.sin(angle):.10g}))"
    lines.append(f"let {name} = {text};")
    return name


lower.FAMILIES.insert(0, lower.Family(lower.begins(Transformed), lower_fourier))
