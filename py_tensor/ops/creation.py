"""Making tensors out of nothing: constants and ranges, computed where they are used."""

from __future__ import annotations

import math
from typing import Any

from py_tensor import dtypes
from py_tensor.backend.device import Device, parse
from py_tensor.dtypes import DType
from py_tensor.graph.node import make, meta_of
from py_tensor.graph.primitives import EXPAND, const, index
from py_tensor.ops.define import Operand, Scalar, empty_node, register
from py_tensor.ops.elementwise import equal, floor, where
from py_tensor.ops.movement import astype, tensor_of
from py_tensor.shapes import Shape, parse_shape
from py_tensor.tensor import Tensor

__all__ = [
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def full(
    shape: int | Shape,
    fill_value: Scalar,
    *,
    dtype: object = None,
    device: str | Device | None = None,
) -> Tensor:
    """A tensor of one value, by default in the value's own dtype; takes no memory until stored."""
    target = dtypes.of_scalar(fill_value) if dtype is None else dtypes.parse(dtype)
    place = parse(device)
    sizes = parse_shape("full", shape)
    meta = meta_of(sizes, target, place)
    place.backend.check("full", meta_of((), target, place))
    dtypes.check_range("full", fill_value, target)
    if not meta.size:
        return Tensor(empty_node(meta))
    value = const(_as_kind(fill_value, target), target, place)
    return Tensor(make(EXPAND, (value,), None, meta) if sizes else value)


def _as_kind(value: Scalar, dtype: DType) -> Scalar:
    return (
        bool(value) if dtype is dtypes.bool_ else float(value) if dtype.kind == "f" else int(value)
    )


def zeros(
    shape: int | Shape, *, dtype: object = None, device: str | Device | None = None
) -> Tensor:
    """A tensor of zeros, float32 by default."""
    return full(shape, 0, dtype=dtypes.DEFAULT_FLOAT if dtype is None else dtype, device=device)


def ones(shape: int | Shape, *, dtype: object = None, device: str | Device | None = None) -> Tensor:
    """A tensor of ones, float32 by default."""
    return full(shape, 1, dtype=dtypes.DEFAULT_FLOAT if dtype is None else dtype, device=device)


def empty(
    shape: int | Shape, *, dtype: object = None, device: str | Device | None = None
) -> Tensor:
    """A tensor whose elements do not matter; they are zero, which costs nothing until stored."""
    return zeros(shape, dtype=dtype, device=device)


def _like(x: Operand, value: Scalar, dtype: object, device: str | Device | None) -> Tensor:
    x = tensor_of(x, "full_like")
    return full(x.shape, value, dtype=dtype or x.dtype, device=device or x.device)


def full_like(
    x: Operand, fill_value: Scalar, *, dtype: object = None, device: Any = None
) -> Tensor:
    """`full` with the shape, dtype and device of `x`."""
    return _like(x, fill_value, dtype, device)


def zeros_like(x: Operand, *, dtype: object = None, device: Any = None) -> Tensor:
    """Zeros with the shape, dtype and device of `x`."""
    return _like(x, 0, dtype, device)


def ones_like(x: Operand, *, dtype: object = None, device: Any = None) -> Tensor:
    """Ones with the shape, dtype and device of `x`."""
    return _like(x, 1, dtype, device)


def empty_like(x: Operand, *, dtype: object = None, device: Any = None) -> Tensor:
    """`empty` with the shape, dtype and device of `x`."""
    return _like(x, 0, dtype, device)


def eye(
    n: int, m: int | None = None, *, k: int = 0, dtype: object = None, device: Any = None
) -> Tensor:
    """An ``n x m`` tensor (`m` defaults to `n`) with ones on the `k`-th diagonal."""
    columns = n if m is None else m
    rows = arange(n, device=device).reshape(n, 1)
    target = dtypes.DEFAULT_FLOAT if dtype is None else dtypes.parse(dtype)
    return astype(equal(rows + k, arange(columns, device=device).reshape(1, columns)), target)


def arange(
    start: Scalar,
    stop: Scalar | None = None,
    step: Scalar = 1,
    *,
    dtype: object = None,
    device: Any = None,
) -> Tensor:
    """``start, start + step, ...`` below `stop`; of ints int32, else float32.

    Raises
    ------
    ValueError
        For a step of 0.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        default, count = dtypes.DEFAULT_INT, len(range(start, stop, step))
    else:
        default, count = dtypes.DEFAULT_FLOAT, max(0, math.ceil((stop - start) / step))
    target = dtypes.parse(dtype) if dtype else default
    return _ramp("arange", count, start, step, target, parse(device))


def _ramp(op: str, count: int, start: Scalar, step: Scalar, dtype: DType, device: Device) -> Tensor:
    """``start + i * step`` for i below `count`."""
    device.backend.check(op, meta_of((), dtype, device))
    if not count:
        return Tensor(empty_node(meta_of((0,), dtype, device)))
    numbers = Tensor(index((count,), device))
    if dtype.kind in "iu":
        last = int(start) + (count - 1) * int(step)
        for value in (int(start), last):
            dtypes.check_range(op, value, dtype)
    numbers = astype(numbers, dtypes.int32 if dtype is dtypes.bool_ else dtype)
    scaled = numbers if step == 1 else numbers * _wrapped(step, numbers.dtype)
    starts_plain = start == 0 and step > 0
    return astype(scaled if starts_plain else scaled + _wrapped(start, numbers.dtype), dtype)


def _wrapped(value: Scalar, dtype: DType) -> Scalar:
    """A negative step of an unsigned range counts by wrapping around."""
    return int(value) % 2**32 if dtype is dtypes.uint32 else value


def linspace(
    start: Scalar,
    stop: Scalar,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: object = None,
    device: Any = None,
) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, float32 by default.

    The last one is exactly `stop`, unless `endpoint` is False.
    """
    if num < 0:
        raise ValueError(f"linspace: num must not be negative, got {num}")
    place = parse(device)
    target = dtypes.DEFAULT_FLOAT if dtype is None else dtypes.parse(dtype)
    floating = dtypes.floating(target)
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else 0.0
    values = _ramp("linspace", num, float(start), step, floating, place)
    if endpoint and num > 1:
        last = equal(arange(num, device=place), num - 1)
        values = where(last, float(stop), values)
    return astype(floor(values) if target.kind in "iu" else values, target)


for _function in (
    full, zeros, ones, empty, full_like, zeros_like, ones_like, empty_like, eye, arange, linspace,
):  # fmt: skip
    register(_function, method=False)
