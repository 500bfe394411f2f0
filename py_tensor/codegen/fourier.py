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
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Self

from py_tensor.base.dtypes import DType, complex64, float32
from py_tensor.base.shapes import size_of
from py_tensor.codegen import lower
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.emit import BodyCode, Space, decode_padded
from py_tensor.codegen.fourier_wgsl import (
    MAX_RADIX,
    Form,
    factors,
    invocations_of,
    radices,
)
from py_tensor.codegen.map import interface
from py_tensor.codegen.program import FAULT_WORDS, Dispatch, Params
from py_tensor.codegen.reduce import Context, arrange
from py_tensor.codegen.reduce_wgsl import indent, load_modes
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import BodyStage, Kernel, ReduceStage

FIRST = 0  # position in params of the first workgroup's number
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
    divisors = sorted(
        d for d in _divisors(n) if d <= most and invocations_of(d) * MIN_COLUMNS <= MAX_INVOCATIONS
    )
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


def _divisors(n: int) -> set[int]:
    divisors = {1}
    for factor in factors(n):
        divisors |= {d * factor for d in divisors}
    return divisors - {1}


# -- Dispatches ---------------------------------------------------------------------------------


def lower_fourier(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel that transforms: one for each pass."""
    stage = kernel.stages[0]
    assert isinstance(stage, Transformed)
    n, points = kernel.reduced[0], size_of(kernel.kept + kernel.reduced)
    lengths = passes(n, stage.inner, _tile(context.profile))
    dispatches: list[Dispatch] = []
    source, before = -1, 1
    for number, length in enumerate(lengths):
        is_last = number == len(lengths) - 1
        output = kernel.spread_outputs[0].slot
        target = output if is_last else context.temporary(points * complex64.itemsize)
        one_pass = _Pass(kernel, stage, length, before, source, target, is_last)
        dispatches.append(one_pass.dispatch(context))
        source, before = target, before * length
    return dispatches


def _tile(profile: AdapterProfile) -> int:
    """Return how many elements a workgroup exchanges, one component at a time; 0 if none."""
    if profile.software:
        return 0
    return 4096 if profile.workgroup_memory >= 4 * (4096 + 128) else 2048


@dataclass(frozen=True, slots=True)
class _Pass:
    """One pass; `before` is the product of the lengths of earlier passes.

    `source` is the slot of the previous pass's results. The first pass reads the operand instead.
    """

    kernel: Kernel
    stage: Transformed
    length: int
    before: int
    source: int
    target: int
    is_last: bool

    def dispatch(self, context: Context) -> Dispatch:
        kernel, stage = self.kernel, self.stage
        points = size_of(kernel.kept + kernel.reduced)
        columns = points // self.length
        form = self._form(columns, context.profile)
        params = Params()
        step = kernel.reduced[0] // self.length
        params.extend(0, columns, stage.inner, step, kernel.reduced[0], self.before)
        params.value(1 / (self.before * self.length), float32)
        bindings: list[Binding] = []
        code = [self._operand(bindings, params, context)] if self.before == 1 else []
        if self.before > 1:
            bindings.append(Binding(self.source, complex64, vector=False, writable=False))
            code.append(f"fn load({_AT}) -> vec2f {{ return b0[{_PLACE}]; }}")
        code += [self._put(bindings, params), form.shared(), _SPREAD]
        regions = {
            "interface": interface(bindings, params, form.constants(), *code),
            "stages": indent(form.stages(), 1),
        }
        work = points * (COST * len(radices(self.length)) + stage.element.cost)
        return Dispatch(
            context.programs.get("fourier", kernel.label, bindings, regions, "columns"),
            tuple(b.slot for b in bindings),
            tuple(params.values),
            tuple(params.consts),
            -(-columns // form.columns),
            FIRST,
            work,
            points * stage.operations * len(radices(self.length)),
            kernel.traffic(),
        )

    def _form(self, columns: int, profile: AdapterProfile) -> Form:
        """Return the form of the pass; with few workgroups, each takes fewer columns."""
        length, stage = self.length, self.stage
        tile, invocations = _tile(profile), invocations_of(length)
        across = self.kernel.reduced[0] > length or stage.inner > 1
        if tile:
            together = max(1, min(tile // length, MAX_INVOCATIONS // invocations))
            together = 1 << together.bit_length() - 1
            least = MIN_COLUMNS if across else max(1, 64 // invocations)
            while together > least and columns < together * WANTED_GROUPS:
                together //= 2
        else:
            together = profile.map_workgroup
        return Form(
            length,
            together,
            across,
            self.before > 1 or stage.inner > 1,
            self.before == 1,
        )

    def _operand(self, bindings: list[Binding], params: Params, context: Context) -> str:
        """Return `load` for the first pass: it reads the operand; an inverse swaps its parts."""
        kernel, stage = self.kernel, self.stage
        body = stage.element
        whole = replace(kernel, stages=(ReduceStage(body, ()),))
        walk = arrange(whole, [body], context.profile, vectors=False, in_order=True)
        dims = walk.dims
        for slot, dtype in dict.fromkeys(
            (x.slot, x.dtype) for x in [*body.loads(), *body.gathers()]
        ):
            bindings.append(Binding(slot, dtype, vector=False, writable=False))
        if body.checks():
            bindings.append(FAULT_WORDS)
        modes = load_modes(body, dims.space_strides, 1)
        code = BodyCode(body, bindings, {**modes}, dims.space_dim)
        dtype = body.dtype(stage.value)
        element = code.function("element", params, [stage.value], str(dtype.wgsl))
        split, names = decode_padded(params, dims.kept_extents, "row", "k")
        space = Space([*names, "j"], dims.space_strides, 1)
        arguments = code.arguments(params, space, 1, "a")
        value = f"element({', '.join(arguments.lanes[0])})"
        lines = [
            "let row = place.outer * params[0].z + place.inner;",
            *split,
            *arguments.statements,
            f"return {_exchanged(_as_complex(value, dtype), self._flag(params))};",
        ]
        return f"{element}\nfn load({_AT}) -> vec2f {{\n{indent(lines, 1)}\n}}"

    def _put(self, bindings: list[Binding], params: Params) -> str:
        """Return `put`, which stores a result; the last pass scales it and undoes the swap."""
        number = len(bindings)
        bindings.append(Binding(self.target, complex64, vector=False, writable=True))
        value = "value"
        if self.is_last:
            scale = params.value(self.stage.scale, float32)
            value = f"{_exchanged('value', self._flag(params))} * {scale}"
        return f"fn put({_AT}, value: vec2f) {{ b{number}[{_PLACE}] = {value}; }}"

    def _flag(self, params: Params) -> str:
        return params.add(self.stage.is_inverse)


_AT = "place: Column, j: u32"
_PLACE = "(place.outer * params[1].x + j) * params[0].z + place.inner"
_SPREAD = "fn spread_out(cell: u32) -> u32 { return cell + (cell >> 5u); }"


def _as_complex(value: str, dtype: DType) -> str:
    return value if dtype.is_complex else f"vec2f({value}, 0.0)"


def _exchanged(value: str, flag: str) -> str:
    """Swap real and imaginary parts if `flag` is set.

    An inverse transform is a forward one with these parts swapped before and after.
    """
    return f"exchanged({value}, {flag} != 0u)"


lower.FAMILIES.insert(0, lower.Family(lower.begins(Transformed), lower_fourier))
