"""Discrete Fourier transforms along one dimension, in one or more passes.

The length of a transform is the product of the lengths of its passes, and the length of a pass is a
product of radices up to 16 (Cooley and Tukey, An algorithm for the machine calculation of complex
Fourier series, 1965). A pass views the data as a matrix and transforms its columns. It stores the
results where the next pass reads its columns, so the last pass leaves everything in order
(Stockham, High-speed convolution and correlation, 1966). Within a pass, invocations exchange
elements through workgroup memory after each radix.

On a software adapter each pass has one radix and no exchange, because barriers are costly there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

from py_tensor.base.dtypes import complex64, float32
from py_tensor.base.shapes import size_of
from py_tensor.codegen import lower
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.fourier_wgsl import MAX_RADIX, Form, invocations_of, radices
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.walk import dimensions
from py_tensor.codegen.writer import Context, Writer, stage_of
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import BodyStage, Kernel

MAX_PRIME = 13  # the largest prime factor of a length
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

    def with_slots(self, number: Callable[[int], int]) -> Self:
        return self.with_bodies(lambda body: body.with_slots(number))

    @property
    def operations(self) -> int:
        return 10

    def ops(self) -> list[str]:
        return ["ifft" if self.is_inverse else "fft"]

    @property
    def work_buffers(self) -> int:
        return 1  # between passes


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
    divisors = [d for d in range(2, most + 1) if n % d == 0]
    divisors = [d for d in divisors if invocations_of(d) * MIN_COLUMNS <= MAX_INVOCATIONS]
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
    for number, length in enumerate(lengths):
        is_last = number == len(lengths) - 1
        output = kernel.spread_outputs[0].slot
        target = output if is_last else context.temporary(points * complex64.itemsize)
        writer = _Writer(kernel, context, length, before, is_last)
        dispatches.append(writer.transform(source, target))
        source, before = target, before * length
    return dispatches


def _tile(profile: AdapterProfile) -> int:
    """Return how many elements a workgroup exchanges, one component at a time; 0 if none."""
    if profile.software:
        return 0
    return 4096 if profile.workgroup_memory >= 4 * (4096 + 128) else 2048


class _Writer(Writer):
    """One pass; `before` is the product of the lengths of earlier passes."""

    def __init__(
        self, kernel: Kernel, context: Context, length: int, before: int, is_last: bool
    ) -> None:
        super().__init__(kernel, context)
        stage = stage_of(kernel, Transformed)
        self.stage, self.length, self.before, self.is_last = stage, length, before, is_last
        self.points = size_of(kernel.kept + kernel.reduced)

    def transform(self, source: int, target: int) -> Dispatch:
        """Return the dispatch.

        It reads the results of the previous pass from slot `source`; the first pass reads the
        operand instead.
        """
        stage, length = self.stage, self.length
        columns, (n,) = self.points // length, self.kernel.reduced
        form = self._form(columns)
        self.params.extend(columns, stage.inner, n // length, n, self.before)
        self.params.value(1 / (self.before * length), float32)
        if self.before == 1:
            self._load_operand()
        else:
            name = self.bind(source, complex64)
            self.code.append(f"fn load({_AT}) -> vec2f {{ return {name}[{_PLACE}]; }}")
        self._put(target)
        self.code += [form.shared(), _SPREAD]
        self.constants |= form.constants()
        stages = len(radices(length))
        return self.dispatch(
            "fourier",
            "columns",
            -(-columns // form.columns),
            work=self.points * (COST * stages + stage.element.cost),
            operations=self.points * stage.operations * stages,
            regions={"stages": form.stages()},
        )

    def _form(self, columns: int) -> Form:
        """Return the form of the pass; with few workgroups, each takes fewer columns."""
        length, inner, profile = self.length, self.stage.inner, self.context.profile
        tile, invocations = _tile(profile), invocations_of(length)
        across = self.kernel.reduced[0] > length or inner > 1
        if tile:
            together = max(1, min(tile // length, MAX_INVOCATIONS // invocations))
            together = 1 << together.bit_length() - 1
            least = MIN_COLUMNS if across else max(1, 64 // invocations)
            while together > least and columns < together * WANTED_GROUPS:
                together //= 2
        else:
            together = profile.map_workgroup
        return Form(length, together, across, self.before > 1 or inner > 1, self.before == 1)

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
        if self.is_last:
            scale = self.params.value(self.stage.scale, float32)
            value = f"{self._exchanged('value')} * {scale}"
        self.code.append(f"fn put({_AT}, value: vec2f) {{ {name}[{_PLACE}] = {value}; }}")

    def _exchanged(self, value: str) -> str:
        """Swap real and imaginary parts in an inverse transform.

        It is a forward one with these parts swapped before and after.
        """
        return f"exchanged({value}, {self.params.add(self.stage.is_inverse)} != 0u)"


_AT = "place: Column, j: u32"
_PLACE = "(place.outer * params[1].x + j) * params[0].z + place.inner"
_SPREAD = "fn spread_out(cell: u32) -> u32 { return cell + (cell >> 5u); }"


lower.FAMILIES.insert(0, lower.Family(lower.begins(Transformed), lower_fourier))
