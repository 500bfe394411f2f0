"""Float64 arithmetic on every device: ops on the bits of numbers, which are uint64 tensors.

A GPU has no float64, but NumPy's ranges and bin edges are float64 before they are rounded. These
ops compute the same float64 numbers in integers (`shaders/lib/float64.wgsl`), so that the rounded
results are NumPy's too. Subnormal float64 numbers become zeros there.
"""

from __future__ import annotations

import math
import struct
from functools import partial
from typing import Any

from py_tensor.base.dtypes import REAL_NUMERIC, WORDS, DType, float32, int32, int64, uint64
from py_tensor.ir.arrays import cast
from py_tensor.ir.bind import Maker, Recipes, ValueMaker, bind, maker_of, value_maker
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Device, Node
from py_tensor.ir.op import Elementwise, OnArrays
from py_tensor.ir.primitives import CONST, const, index
from py_tensor.ops.elementwise import equal, where
from py_tensor.ops.movement import converted
from py_tensor.ops.record import apply, build
from py_tensor.tensors.tensor import Tensor

BLOCK = 1 << 15


def _ramp(np: Any, i: Any, start: Any, step: Any) -> Any:
    """Return ``start + i * step`` in float64, in NumPy's order of roundings."""
    sums = np.asarray(i * step)
    sums += start
    return sums


def _rounded_ramp(np: Any, i: Any, start: Any, step: Any, known: Any) -> Any:
    sums = _ramp(np, i, start, step).astype("f") if i.size <= BLOCK else _blocks(np, i, start, step)
    known_index, _ = words = known.reshape(1).view("i")
    if known_index >= 0:
        np.copyto(sums, words.view("f")[1], where=i == known_index)
    return sums


def _blocks(np: Any, i: Any, start: Any, step: Any) -> Any:
    """Compute in blocks that fit the cache, because float64 numbers take twice the memory."""
    rounded = np.empty(i.shape, "f")
    numbers, results = i.reshape(-1), rounded.reshape(-1)
    exact = np.empty(BLOCK)
    for first in range(0, i.size, BLOCK):
        block = numbers[first : first + BLOCK]
        sums = exact[: block.size]
        sums[:] = block  # faster than a product with integers
        sums *= step
        if start or np.signbit(step):  # 0 * step is -0.0 then
            sums += start
        results[first : first + BLOCK] = sums
    return rounded


def _only_on_gpu(np: Any, *operands: Any) -> Any:
    raise NotImplementedError("ramp: the cpu device computes EXACT_RAMP")


def _on_bits(
    name: str, wgsl: str, numpy: OnArrays, *, gives: DType = uint64, leading: tuple[DType, ...] = ()
) -> Elementwise:
    """Return an op whose last operands are the bits of float64 numbers, which `numpy` gets."""

    def on_arrays(np: Any, *operands: Any) -> Any:
        numbers = [x.view("d") for x in operands[len(leading) :]]
        y = np.asarray(numpy(np, *operands[: len(leading)], *numbers))
        return y.view("Q") if gives is uint64 else y

    return Elementwise(
        name,
        wgsl={"uint64": wgsl},
        numpy=on_arrays,
        accepts=WORDS,
        gives=gives,
        leading=leading,
        cost=4,
        vjp=NOT_DIFFERENTIABLE,
    )


def _division(np: Any, i: Any, count: Any, low: Any, high: Any) -> Any:
    return np.where(i == count, high, i * ((high - low) / count) + low)


def _ceil(np: Any, x: Any) -> Any:
    """Return float64 numbers rounded up, as the nearest int64."""
    integral = np.ceil(x)
    nearest = np.clip(integral, -(2.0**63), 2.0**63).astype("q")
    return np.where(integral >= 2.0**63, np.int64(2**63 - 1), nearest)


def _floor_as(dtype: DType, np: Any, x: Any) -> Any:
    return cast(np, np.floor(x), dtype)


def _above(np: Any, x: Any) -> Any:
    near = x.astype("f")
    return np.where(near < x, np.nextafter(near, np.float32(np.inf)), near)


def _order_key(x: Any) -> Any:
    """Return the magnitude with the sign of a number; -0 and 0 are alike."""
    sign = x >> 63
    return (x ^ (sign & (2**63 - 1))) - sign


# The float32 nearest to start + i * step in float64, for (i, start, step, known); and the same for
# words that `rounded_ramp` computes, faster on a GPU. `known` is an index and its number. The costs
# are 35 and more, but a range, like those below and the ends of a histogram, is to be computed in
# the kernel that uses it and not stored before.
EXACT_RAMP = _on_bits(
    "ramp",
    "select(f32_from_float64(ramp_float64({0}, {1}, {2})), bitcast<f32>({3}.y),"
    " {0} == bitcast<i32>({3}.x))",
    _rounded_ramp,
    gives=float32,
    leading=(int32,),
)
_TERMS_OF_RAMP = "ramp_f32({0}, {1}, {2}, {3}, {4}, {5}, {6})"
RAMP = _on_bits("ramp", _TERMS_OF_RAMP, _only_on_gpu, gives=float32, leading=(int32,))
# The bits of start + i * step for (i, start, step); of number i of those that divide an interval
# into parts, for (i, parts, low, high); and of x - y.
RAMP_BITS = _on_bits("ramp", "ramp_float64({0}, {1}, {2})", _ramp, leading=(int32,))
DIVISION = _on_bits(
    "division", "division_float64({0}, {1}, {2}, {3})", _division, leading=(int32, int32)
)
SUBTRACT = _on_bits("subtract", "sub_float64({0}, {1})", lambda np, x, y: x - y)
FROM_REAL = Elementwise(
    "float64_bits",
    wgsl={"*": "float64_from_{t}({0})"},
    numpy=lambda np, x: np.asarray(x.astype("d")).view("Q"),
    accepts=REAL_NUMERIC,
    gives=uint64,
    cost=2,
    vjp=NOT_DIFFERENTIABLE,
)
# The nearest int64 above, the nearest float32 of all and above, and an int64 that orders like the
# number.
CEIL = _on_bits("ceil", "ceil_float64({0})", _ceil, gives=int64)
# The largest integer at most each number; one that does not fit gives what `astype` gives.
FLOORS = {
    dtype: _on_bits("floor", f"{name}_floor_float64({{0}})", partial(_floor_as, dtype), gives=dtype)
    for name, dtype in (("i32", int32), ("int64", int64), ("uint64", uint64))
}
TO_FLOAT32 = _on_bits(
    "float32", "f32_from_float64({0})", lambda np, x: x.astype("f"), gives=float32
)
TO_FLOAT32_ABOVE = _on_bits("float32_above", "f32_above_float64({0})", _above, gives=float32)
ORDER_KEY = _on_bits(
    "order_key", "order_key_float64({0})", lambda np, x: _order_key(x.view("q")), gives=int64
)


def single(x: float) -> float:
    """Return the nearest float32, ties to even, as a Python float."""
    return float32.rounded(x)


def single_above(x: float) -> float:
    """Return the smallest float32 that is at least a finite x, as a Python float."""
    near = single(x)
    if near >= x:
        return near
    bits = struct.unpack("<i", struct.pack("<f", near))[0]
    return struct.unpack("<f", struct.pack("<i", bits + (1 if near >= 0 else -1)))[0]


def bits_of(x: float) -> int:
    return int.from_bytes(struct.pack("<d", x), "little")


def order_key_of(x: float) -> int:
    """Return `ORDER_KEY` of a Python number."""
    return _order_key(struct.unpack("<q", struct.pack("<d", x))[0])


def constant_bits(x: float, device: Device) -> Tensor:
    return Tensor(const(bits_of(x), uint64, device))


def float64_bits(x: Tensor) -> Tensor:
    """Return the bits of the float64 numbers nearest to real numbers."""
    return build(FROM_REAL, (x,), None)


def divided(low: Tensor, high: Tensor, numbers: Tensor, parts: int) -> Tensor:
    """Return the bits of numbers that divide intervals, given as bits, into equal parts."""
    return apply(DIVISION, (numbers, Tensor(const(parts, int32, numbers.device)), low, high))


def divided_step(low: Tensor, high: Tensor, parts: int) -> Tensor:
    """Return the bits of the distance between these numbers."""
    one = Tensor(const(1, int32, low.device))
    return divided(constant_bits(0.0, low.device), apply(SUBTRACT, (high, low)), one, parts)


def floored(bits: Tensor, dtype: DType) -> Tensor:
    """Return numbers rounded down and converted to an integer dtype, with NumPy's overflows."""
    wide = dtype if dtype in FLOORS else int32 if dtype.is_packed else int64
    return converted(build(FLOORS[wide], (bits,), None), dtype)


def to_float32(bits: Tensor) -> Tensor:
    return build(TO_FLOAT32, (bits,), None)


_KNOWN = struct.Struct("<if")  # an index and the number there
_TERMS = struct.Struct("<IfIfIf4fif")
_WORD, _WORDS = struct.Struct("<Q"), struct.Struct("<6Q")


def rounded_ramp(
    count: int, start: float, step: float, device: Device, stop: float | None = None
) -> Tensor:
    """Return float32 numbers ``start + i * step``, computed in float64, for i below `count`.

    The last one is `stop`, if that is given. On a GPU, the sums are exact to 2**-52 of the largest
    number, and then rounded once (`shaders/lib/ramp.wgsl`). A result may differ from NumPy's only
    if the float64 number is that near to the middle between two float32 numbers. The number nearest
    to 0, which has few digits left if start and step cancel, is computed here.
    """
    words = None if device.uses_numpy else _terms(count, start, step, stop)
    if words is not None:
        return Tensor(_ramp_of(RAMP, count, device, words))
    known = _KNOWN.pack(*((-1, 0.0) if stop is None else (count - 1, single(stop))))
    words = bits_of(start), bits_of(step), *_WORD.unpack(known)
    return Tensor(_ramp_of(EXACT_RAMP, count, device, words))


def _terms(count: int, start: float, step: float, stop: float | None) -> tuple[int, ...] | None:
    """Return the operands of `RAMP`; None if its numbers would be less exact."""
    length = (count - 1) * step
    sizes = (abs(start), abs(length), abs(start + length))
    largest = max(sizes)
    # Outside this range, a unit or a number may be outside the range of float32.
    if not all(size < 2.0**127 for size in sizes) or largest < 2.0**-70:
        return None
    step = step if length else 0.0
    nearest = round(min(max(-start / step, 0), count - 1)) if step else 0
    value = start + nearest * step
    if stop is not None and nearest == count - 1:
        value = stop
    elif stop is not None:
        error = largest * 2.0**-49
        if single(stop - error) != single(stop + error):
            return None
    exponent = math.frexp(largest)[1]
    terms: list[float] = []
    rests: list[float] = []
    for x in (start, step * 4096, step):
        units = math.ldexp(x, 52 - exponent)
        whole = round(units)
        terms += (whole % 2**32, units * 2.0**-29)
        rests.append(units - whole)
    terms += (*rests, math.ldexp(1.0, exponent - 52), nearest, single(value))
    return _WORDS.unpack(_TERMS.pack(*terms))


# The makers of the nodes of `rounded_ramp`: the indices, each constant, and the result.
_RAMPS = Recipes[tuple[Elementwise, int, Device], tuple[Maker, ValueMaker, Maker]]()


def _ramp_of(op: Elementwise, count: int, device: Device, words: tuple[int, ...]) -> Node:
    """Return the node of a ramp on indices and these constants."""
    known = _RAMPS.get((op, count, device))
    if known is not None:
        make_indices, make_word, make = known
        return make((make_indices(()), *[make_word(word, ()) for word in words]))
    operands = [index((count,), device), *[const(word, uint64, device) for word in words]]
    node = bind(op, tuple(operands))
    makers = maker_of(operands[0]), value_maker(CONST, operands[1].meta), maker_of(node)
    _RAMPS.keep((op, count, device), makers)
    return node


def ramp_bits(
    count: int, start: float, step: float, device: Device, stop: float | None = None
) -> Tensor:
    """Return the same float64 numbers as their bits."""
    numbers = Tensor(index((count,), device))
    made = apply(RAMP_BITS, (numbers, constant_bits(start, device), constant_bits(step, device)))
    if stop is None:
        return made
    return where(equal(numbers, count - 1), constant_bits(stop, device), made)
