"""The WGSL of one pass of a Fourier transform, for the region of `shaders/kernels/fourier.wgsl`.

A pass has one stage per radix. In a stage, each invocation computes butterflies of that radix in
registers (Cooley and Tukey). Invocations exchange elements between stages through workgroup memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

MAX_RADIX = 16


@cache
def factors(n: int) -> tuple[int, ...]:
    """Return the prime factors of a number, ascending."""
    primes: list[int] = []
    factor = 2
    while factor * factor <= n:
        while n % factor == 0:
            primes.append(factor)
            n //= factor
        factor += 1
    return (*primes, n) if n > 1 else tuple(primes)


@cache
def radices(length: int) -> tuple[int, ...]:
    """Return the radices of a pass, descending: as few as possible, then as equal as possible."""
    best = min(_products(length, MAX_RADIX), key=lambda found: (len(found), found[0]))
    return tuple(best)


def _products(length: int, most: int) -> Iterator[list[int]]:
    """Yield all descending lists of factors up to `most` whose product is `length`."""
    if length <= most:
        yield [length]
    for radix in range(min(most, length // 2), 1, -1):
        if length % radix == 0:
            yield from ([radix, *rest] for rest in _products(length // radix, radix))


def invocations_of(length: int) -> int:
    """Return the invocations per column; each does one butterfly of the largest radix at a time."""
    return length // radices(length)[0]


def butterfly(values: list[str], prefix: str, lines: list[str]) -> list[str]:
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
    rows = [butterfly(values[j::b], f"{prefix}{j}_", lines) for j in range(b)]
    results = [""] * n
    for k in range(a):
        column = [_turned(rows[j][k], j * k, n, f"{prefix}t{j}_{k}", lines) for j in range(b)]
        results[k::a] = butterfly(column, f"{prefix}c{k}_", lines)
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


@dataclass(frozen=True, slots=True)
class Form:
    """Everything that the text of a pass depends on.

    Attributes
    ----------
    length, columns : int
        Elements of a column, and columns per workgroup.
    loads_across, stores_across : bool
        Neighbouring invocations load (or store) neighbouring columns rather than neighbours within
        a column.
    is_first : bool
        It is the first pass, so the loaded elements need no twiddle factors.
    """

    length: int
    columns: int
    loads_across: bool
    stores_across: bool
    is_first: bool

    @property
    def radices(self) -> tuple[int, ...]:
        """The radix of each stage."""
        return radices(self.length)

    @property
    def last(self) -> int:
        """The number of the last stage."""
        return len(self.radices) - 1

    @property
    def invocations(self) -> int:
        return invocations_of(self.length)

    @property
    def workgroup(self) -> int:
        return self.invocations * self.columns

    def constants(self) -> dict[str, int]:
        return {"COLUMNS": self.columns, "LENGTH": self.length, "WORKGROUP": self.workgroup}

    def shared(self) -> str:
        """Return the declaration of the exchange memory; gaps avoid bank conflicts."""
        if not self.last:
            return ""
        size = self.length * self.columns
        return f"var<workgroup> shared_parts: array<f32, {size + size // 32}>;"

    def stages(self) -> list[str]:
        """Return statements of the whole pass."""
        lines: list[str] = []
        values: list[list[str]] = []
        for number, radix in enumerate(self.radices):
            if number in (0, self.last):
                lines += self._place(number)
            turns = range(self._turns(number))
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

    def _turns(self, number: int) -> int:
        """Return the number of butterflies of a stage that an invocation computes."""
        return -(-self.length // (self.radices[number] * self.invocations))

    def _together(self, number: int) -> int:
        """Return the product of the radices of the stages before this one."""
        return math.prod(self.radices[:number])

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
        for m in range(self._turns(number)):
            index = self._index(m, number)
            inner = body(m, index)
            if (m + 1) * self.invocations <= count:
                lines += inner
            else:
                lines += [f"if ({index} < {count}u) {{", *(f"  {line}" for line in inner), "}"]
        return lines

    def _load(self, names: list[list[str]]) -> list[str]:
        apart = self.length // self.radices[0]

        def loaded(m: int, at: str) -> list[str]:
            lines: list[str] = []
            for q, name in enumerate(names[m]):
                j = f"{at} + {q * apart}u"
                value = f"load(place0, place0.first + ({j}) * step)"
                if not self.is_first:
                    root = f"root_of_unity(turn * ({j}), whole, inverse)"
                    value = f"turned_by({value}, {root})"
                lines.append(f"{name} = {value};")
            return lines

        lines = self._each(0, loaded)
        if not self.is_first:
            lines = ["let turn = place0.first % before;", *lines]
        return ["if (place0.is_inside) {", *(f"  {line}" for line in lines), "}"]

    def _transformed(self, m: int, number: int, names: list[str], lines: list[str]) -> list[str]:
        """Multiply the values of a butterfly by twiddle factors, and return their transform."""
        mark, together = f"y{number}_{m}_", self._together(number)
        if number:
            lines.append(f"let {mark}k = {self._index(m, number)} % {together}u;")
            n = together * self.radices[number]
            for q, name in enumerate(names[1:], 1):
                root = f"root_of_unity({mark}k * {q}u, {n}u, {1 / n!r})"
                lines.append(f"{name} = turned_by({name}, {root});")
        return butterfly(names, mark, lines)

    def _exchange(self, number: int, values: list[list[str]], names: list[list[str]]) -> list[str]:
        """Exchange the results of the stage before, in the order in which this one reads them."""
        together, before = self._together(number - 1), self._together(number)
        apart = self.length // self.radices[number]

        lines: list[str] = []
        for component in "xy":

            def put(m: int, at: str, component: str = component) -> list[str]:
                first = f"{at} / {together}u * {before}u + {at} % {together}u"
                return [
                    f"{self._cell(f'{first} + {q * together}u', number - 1)} = {value}.{component};"
                    for q, value in enumerate(values[m])
                ]

            def take(m: int, at: str, component: str = component) -> list[str]:
                return [
                    f"{name}.{component} = {self._cell(f'{at} + {q * apart}u', number)};"
                    for q, name in enumerate(names[m])
                ]

            lines += ["workgroupBarrier();"] if number > 1 or component == "y" else []
            lines += self._each(number - 1, put)
            lines += ["workgroupBarrier();", *self._each(number, take)]
        return lines

    def _cell(self, element: str, number: int) -> str:
        """Return the place in workgroup memory of an element of an invocation's column."""
        lane = f"lane{self._owner(number)}"
        if self.loads_across or self.stores_across:
            return f"shared_parts[spread_out(({element}) * COLUMNS + {lane})]"
        return f"shared_parts[spread_out({lane} * LENGTH + {element})]"

    def _store(self, values: list[list[str]]) -> list[str]:
        column, together = f"place{self.last}", self._together(self.last)

        def stored(m: int, at: str) -> list[str]:
            return [
                f"put({column}, first + ({at} + {q * together}u) * before, {value});"
                for q, value in enumerate(values[m])
            ]

        lines = self._each(self.last, stored)
        first = f"let first = {column}.first / before * whole + {column}.first % before;"
        return [f"if ({column}.is_inside) {{", *(f"  {x}" for x in [first, *lines]), "}"]
