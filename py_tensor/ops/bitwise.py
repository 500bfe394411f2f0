"""Bitwise ops and the operators ``& | ^ ~ << >>``; divisors, multiples and packed bits.

On bools, bitwise ops are logical ops, for combining masks.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts
from py_tensor.base.errors import DTypeError, check_option
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import CpuOp
from py_tensor.ops.creation import arange
from py_tensor.ops.define import binary, unary
from py_tensor.ops.elementwise import not_equal, where
from py_tensor.ops.movement import along_axis, converted, expand_dims, pad_constant, reshape_copy
from py_tensor.ops.operands import Operand, whole_number
from py_tensor.ops.rearrange import moveaxis
from py_tensor.ops.record import build
from py_tensor.ops.reduction import sum
from py_tensor.tensors.tensor import Tensor, install

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm", "left_shift",
    "packbits", "right_shift", "unpackbits",
]  # fmt: skip


INTEGERS = Accepts("iu", lambda dtype: dtype, "int dtypes")
BITS = Accepts("biu", lambda dtype: dtype, "bool and int dtypes")
BITS_AS_INT = Accepts("biu", dtypes.WITH_BOOL_AS_INT8.compute, "bool and int dtypes")


def _shifted(np: Any, shift: Any, x: Any, y: Any, beyond: Any) -> Any:
    """Shift `x` by `y`; return `beyond` for counts that are negative or at least the bit width.

    NumPy takes a 64-bit count modulo 2**32 on platforms with 32-bit addresses, such as Pyodide.
    """
    inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
    shifted = shift(x, np.where(inside, y, 0).astype(y.dtype))
    return np.where(inside, shifted, np.asarray(beyond).astype(x.dtype))


_of_two = partial(binary, vjp=NOT_DIFFERENTIABLE)


@_of_two(BITS, "{0} & {1}", operator="and")
def bitwise_and(x: Any, y: Any) -> Any:
    """Bitwise AND; for bools, whether both are true."""


@_of_two(BITS, "{0} | {1}", operator="or")
def bitwise_or(x: Any, y: Any) -> Any:
    """Bitwise OR; for bools, whether either is true."""


@_of_two(BITS, {"bool": "{0} != {1}", "*": "{0} ^ {1}"}, operator="xor")
def bitwise_xor(x: Any, y: Any) -> Any:
    """Bitwise XOR; for bools, whether they differ."""


@unary(BITS, {"bool": "!{0}", "*": "~{0}"}, vjp=NOT_DIFFERENTIABLE)
def invert(x: Any) -> Any:
    """Bitwise NOT; for bools, whether the element is false."""


@_of_two(BITS_AS_INT, operator="lshift")
def left_shift(np: Any, x: Any, y: Any) -> Any:
    """Shift the bits of `x1` left by `x2`; 0 if `x2` is negative or at least the bit width."""
    return _shifted(np, np.left_shift, x, y, 0)


@_of_two(BITS_AS_INT, operator="rshift")
def right_shift(np: Any, x: Any, y: Any) -> Any:
    """Shift the bits of `x1` right by `x2`, keeping the sign; a negative `x2` shifts all out."""
    return _shifted(np, np.right_shift, x, y, np.where(x < 0, -1, 0))


@_of_two(INTEGERS, cost=200)
def gcd(x: Any, y: Any) -> Any:
    """Greatest common divisor of the absolute values; ``gcd(0, x)`` is ``abs(x)``."""


@_of_two(INTEGERS, cost=220)
def lcm(x: Any, y: Any) -> Any:
    """Least common multiple of the absolute values, with wraparound; 0 if either is 0."""


@unary(
    BITS_AS_INT, "count_bits_{t}({0})", vjp=NOT_DIFFERENTIABLE, result=dtypes.uint8, method=False
)
def bitwise_count(x: Any) -> Any:
    """Number of bits set in the absolute value of each element, as uint8."""


# -- Packing --------------------------------------------------------------------------------------

_PACK = CpuOp(
    "packbits",
    vjp=NOT_DIFFERENTIABLE,
    result=lambda metas, bitorder: (
        (*metas[0].shape[:-1], -(-metas[0].shape[-1] // 8)),
        dtypes.uint8,
    ),
    numpy=lambda np, given, bitorder: np.packbits(*given, -1, bitorder),
)
_UNPACK = CpuOp(
    "unpackbits",
    vjp=NOT_DIFFERENTIABLE,
    result=lambda metas, bitorder: ((*metas[0].shape[:-1], 8 * metas[0].shape[-1]), dtypes.uint8),
    numpy=lambda np, given, bitorder: np.unpackbits(*given, -1, bitorder=bitorder),
)


def _places(op: str, bitorder: str, device: object) -> Tensor:
    """Return the bit position of each of eight elements in a byte; 0 is the lowest bit."""
    check_option(op, "bitorder", bitorder, ("big", "little"))
    ends = (7, -1, -1) if bitorder == "big" else (0, 8, 1)
    return arange(*ends, device=device)


def packbits(a: Operand, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Pack eight elements along `axis` into each byte (uint8): a bit is 1 if the element is not 0.

    The last byte is padded with zeros.

    Parameters
    ----------
    axis : optional
        None packs the flattened elements.
    bitorder : {"big", "little"}
        Whether the first of eight elements is the most or the least significant bit.

    Raises
    ------
    DTypeError
        If the elements are neither integers nor bools.
    """
    x, along = along_axis("packbits", a, axis, of_scalar=True)
    if x.dtype.is_inexact:
        raise DTypeError(f"packbits: takes integers or bools, not {x.dtype}")
    bits = moveaxis(not_equal(x, 0), along, -1)
    shifts = _places("packbits", bitorder, x.device)
    if x.device.computes_cpu_ops and x.size:
        return moveaxis(build(_PACK, (bits,), bitorder), -1, along)
    bits = pad_constant(bits, [*[(0, 0)] * (bits.ndim - 1), (0, -bits.shape[-1] % 8)])
    bits = reshape_copy(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    values = sum(where(bits, 1 << shifts, 0), -1)
    return moveaxis(converted(values, dtypes.uint8), -1, along)


def unpackbits(
    a: Operand, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tensor:
    """Unpack each byte into eight elements (uint8, 0 or 1) along `axis`.

    Parameters
    ----------
    axis : optional
        None unpacks the flattened bytes.
    count : optional
        The number of bits to return along the axis, padded with zeros; a negative count drops bits
        at the end.
    bitorder : {"big", "little"}
        As in `packbits`.

    Raises
    ------
    DTypeError
        If the elements are not uint8.
    ValueError
        If a negative count drops more bits than there are.
    """
    x, along = along_axis("unpackbits", a, axis, of_scalar=True)
    if x.dtype is not dtypes.uint8:
        raise DTypeError(f"unpackbits: takes uint8, not {x.dtype}")
    rows = moveaxis(x, along, -1)
    shifts = _places("unpackbits", bitorder, x.device)
    n = 8 * rows.shape[-1]
    if x.device.computes_cpu_ops and x.size:
        bits = build(_UNPACK, (rows,), bitorder)
    else:
        bytes_ = expand_dims(converted(rows, dtypes.int32), -1)
        bits = bitwise_and(right_shift(bytes_, shifts), 1)
        bits = converted(reshape_copy(bits, (*rows.shape[:-1], n)), dtypes.uint8)
    wanted = n if count is None else whole_number("unpackbits", "count", count)
    wanted = wanted + n if wanted < 0 else wanted
    if wanted < 0:
        raise ValueError(f"unpackbits: count {count} is outside {n} bits")
    if wanted > n:
        bits = pad_constant(bits, [*[(0, 0)] * (bits.ndim - 1), (0, wanted - n)])
    return moveaxis(bits[..., :wanted], -1, along)


install("__invert__", invert)

# Names of the array API, and NumPy's alias.
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
bitwise_invert = bitwise_not = invert
