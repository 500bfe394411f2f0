"""Packing bits into bytes and unpacking them."""

from __future__ import annotations

from operator import index as as_index

from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import CpuOp
from py_tensor.ops.bitwise import bitwise_and, right_shift
from py_tensor.ops.creation import arange
from py_tensor.ops.elementwise import not_equal, where
from py_tensor.ops.movement import along_axis, converted, expand_dims, pad_constant, reshape_copy
from py_tensor.ops.operands import Operand
from py_tensor.ops.rearrange import moveaxis
from py_tensor.ops.record import build
from py_tensor.ops.reduction import sum
from py_tensor.tensors.tensor import Tensor

__all__ = ["packbits", "unpackbits"]


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
    if bitorder not in ("big", "little"):
        raise ValueError(f"{op}: bitorder must be 'big' or 'little', not {bitorder!r}")
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
    wanted = n if count is None else as_index(count)
    wanted = wanted + n if wanted < 0 else wanted
    if wanted < 0:
        raise ValueError(f"unpackbits: count {count} is outside {n} bits")
    if wanted > n:
        bits = pad_constant(bits, [*[(0, 0)] * (bits.ndim - 1), (0, wanted - n)])
    return moveaxis(bits[..., :wanted], -1, along)
