"""Operands of ops: conversion of arguments to Python numbers, tensors and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.backend.device import CPU_DEVICE, Device
from py_tensor.backend.host import host
from py_tensor.dtypes import DType
from py_tensor.errors import DeviceError, DTypeError, ShapeError
from py_tensor.graph.bind import Step, follow, steps
from py_tensor.graph.node import Meta, Node, meta_of
from py_tensor.graph.op import Op
from py_tensor.graph.primitives import CAST, EXPAND, constant
from py_tensor.shapes import Shape
from py_tensor.tensor import Tensor, tensor_of

Real = bool | int | float
Scalar = Real | complex
Operand = Any  # a Tensor, a Python scalar, or anything that `asarray` accepts


def node_of(x: Tensor) -> Node:
    return x._node  # pyright: ignore[reportPrivateUsage]


def as_ndarray(x: Tensor) -> Tensor:
    """Mark the tensor as an array: a 0-d tensor is then not a scalar."""
    if not node_of(x).meta.shape:
        x._owner()  # pyright: ignore[reportPrivateUsage]
    return x


def copy_or_scalar(x: Tensor) -> Tensor:
    """Return a copy, which is a scalar if it is 0-d."""
    return x._copy_or_scalar()  # pyright: ignore[reportPrivateUsage]


def takes(y: object) -> bool:
    """Return whether an operator accepts the other operand instead of deferring to it."""
    return (
        isinstance(y, Tensor | Scalar | list | tuple)
        or hasattr(y, "__buffer__")
        or (hasattr(y, "dtype") and not takes_numbers(y))
    )


def takes_numbers(y: object) -> bool:
    """Return whether an object has operators but is not an array, like SciPy's sparse matrices."""
    return hasattr(y, "__array_priority__") and not (
        hasattr(y, "__array__") or hasattr(y, "__array_ufunc__") or hasattr(y, "__dlpack__")
    )


def is_array_like(value: object) -> bool:
    """Return whether a value is a tensor, a list or an array with axes, rather than a number."""
    return isinstance(value, Tensor | list | tuple | range) or bool(getattr(value, "ndim", 0))


def number_of(op: str, name: str, value: object) -> Scalar:
    """Return a Python number, also from a NumPy scalar; tensors are not accepted."""
    number = number_like(value)
    if number is not None:
        return number
    raise TypeError(f"{op}: {name} must be one number, not {type(value).__name__}")


def real_number_of(op: str, name: str, value: object) -> Real:
    """Like `number_of`, but complex numbers are not accepted."""
    number = number_of(op, name, value)
    if isinstance(number, complex):
        raise TypeError(f"{op}: {name} must be a real number, not {number}")
    return number


def whole_number(op: str, name: str, value: Any) -> int:
    """Return a Python int, also from a NumPy scalar or a 0-d tensor.

    Raises
    ------
    TypeError
        If the argument is anything else; the message names the op and the argument.
    """
    try:
        return as_index(value)
    except TypeError:
        raise TypeError(f"{op}: {name} must be an int, not {value!r}") from None


def number_like(value: object) -> Scalar | None:
    """Return a Python number, also from a NumPy scalar; None for anything else."""
    if isinstance(value, Scalar):
        return value
    if not isinstance(value, Tensor) and _is_number(value):
        given = cast("Any", value)
        found = float(given) if given.dtype.kind == "f" else given.item()
        return found if isinstance(found, Scalar) else None
    return None


def int_like(value: Any) -> int | None:
    """Return a Python int, also from a NumPy scalar; None for anything else."""
    is_int = hasattr(value, "__index__") and not getattr(value, "ndim", 0)
    return as_index(value) if is_int else None


def numbers_of(op: str, given: Any) -> tuple[list[Any], Shape]:
    """Return the elements of an operand as Python numbers, and its shape; a tensor is read."""
    if isinstance(given, list | tuple | range):
        parts = [numbers_of(op, part) for part in cast("list[Any]", given)]
        shapes = {shape for _, shape in parts} or {()}
        if len(shapes) > 1:
            raise ShapeError(f"{op}: the lists are ragged: parts of shapes {sorted(shapes)}")
        return [n for numbers, _ in parts for n in numbers], (len(parts), *shapes.pop())
    number = number_like(given)
    if number is not None:
        return [number], ()
    if not hasattr(given, "tolist"):
        raise TypeError(f"{op}: takes numbers, not {type(given).__name__}")
    return given.reshape(-1).tolist(), tuple(given.shape)


def known(x: Tensor) -> Any:
    """Return the elements as a NumPy array if the host has them, to check them.

    Elements are checked on the cpu device, where each function raises the same errors as NumPy's.
    On the GPU nothing is read to raise an error; each function's docstring documents the result,
    mostly NaN.

    Returns
    -------
    ndarray or None
        Read-only. None on the GPU, and on a host that has no NumPy yet and cannot wait for it.
    """
    if x.device is not CPU_DEVICE or not (CPU_DEVICE.is_ready or host.can_wait()):
        return None
    np = host.load_numpy()
    read = x._read()  # pyright: ignore[reportPrivateUsage]
    return np.frombuffer(read, dtype=x.dtype.name, count=x.size).reshape(x.shape)


def _is_number(x: object) -> bool:
    """Return whether `x` is a NumPy scalar or a 0-d array."""
    return getattr(x, "ndim", None) == 0 and hasattr(x, "dtype")


def coerce(op: str, operands: Sequence[Operand]) -> list[Tensor | Scalar]:
    """Convert operands to Python scalars and at least one tensor, all on one device.

    NumPy scalars beside tensors are as weak as Python's, except integers beside tensors of 8- or
    16-bit integers with fewer bits. Arrays are converted to the default precision, except beside a
    64-bit tensor.
    """
    result: list[Tensor | Scalar] = []
    device: Device | None = None
    for x in operands:
        if isinstance(x, Tensor):
            if device is not None and x.device is not device:
                raise DeviceError(
                    f"{op}: operands on {device} and {x.device}; move one with x.to(device)"
                )
            device = x.device
    wide = widest(operands)
    for x in operands:
        if isinstance(x, Tensor | Scalar):
            result.append(x)
        elif device is not None and _is_number(x):
            strong = _is_wider(x, operands)
            result.append(
                tensor_of(x, op, device=device) if strong else number_of(op, "an operand", x)
            )
        else:
            result.append(beside(wide, x, op, device))
    if not any(isinstance(x, Tensor) for x in result):
        result[0] = tensor_of(result[0], op)
    return result


def widest(operands: Sequence[Operand]) -> DType | None:
    """Return the dtype of a 64-bit tensor among the operands (complex: 64 bits per part)."""
    given = (x.dtype for x in operands if isinstance(x, Tensor))
    return next((dtype for dtype in given if dtypes.real_of(dtype).itemsize == 8), None)


def beside(wide: DType | None, x: Operand, op: str, device: Device | None) -> Tensor:
    """Convert an array or a list to a tensor; `wide` is the dtype of a 64-bit tensor beside it.

    An array beside a 64-bit tensor keeps its dtype. Integers in a list get the dtype of the tensor
    if it can represent them.
    """
    own = getattr(getattr(x, "dtype", None), "name", None) if wide else None
    if wide is None or wide.kind in "fc" or own is not None:
        return tensor_of(x, op, dtype=dtypes.BY_NAME.get(own or ""), device=device)
    try:
        found = tensor_of(x, op, device=device)
    except OverflowError:
        return tensor_of(x, op, dtype=wide, device=device)
    if found.dtype is not dtypes.int32:
        return found
    try:
        return tensor_of(x, op, dtype=wide, device=device)
    except OverflowError:  # negative, beside uint64
        return found


def _is_wider(number: Any, operands: Sequence[Operand]) -> bool:
    """Return whether a NumPy integer has more bits than the 8- or 16-bit integers beside it."""
    given = [x.dtype for x in operands if isinstance(x, Tensor)]
    return (
        number.dtype.kind in "iu"
        and number.dtype.itemsize > max(dtype.itemsize for dtype in given)
        and all(dtype.is_small for dtype in given)
        and (number.dtype.kind == "i" or all(dtype.kind == "u" for dtype in given))
    )


def common_dtype(op: str, operands: Sequence[Tensor | Scalar]) -> DType:
    """Return the promoted dtype of the tensors, then of the scalars, which are weak."""
    tensors = [x.dtype for x in operands if isinstance(x, Tensor)]
    dtype = tensors[0]
    for other in tensors[1:]:
        dtype = dtypes.promote(dtype, other)
    for x in operands:
        if not isinstance(x, Tensor):
            dtype = dtypes.with_scalar(dtype, x)
    return dtype


def device_of(operands: Sequence[Tensor | Scalar]) -> Device:
    return next(x.device for x in operands if isinstance(x, Tensor))


def in_dtype(op: str, x: Operand, dtype: object) -> Tensor:
    """Return an operand converted to the dtype in which the caller wants to compute.

    Raises
    ------
    OverflowError
        If the dtype cannot hold a Python int.
    """
    target = dtypes.parse(dtype)
    given = tensor_of(x, op, dtype=target if isinstance(x, int) and target.kind in "iu" else None)
    if given.dtype is target:
        return given
    if given.dtype.kind == "c" and target.kind != "c":
        raise DTypeError(f"{op}: cannot convert {given.dtype} to {target}; use x.real")
    given.device.backend.check(op, meta_of((), target, given.device))
    return Tensor(follow(node_of(given), steps_to(node_of(given).meta, given.shape, target)))


def steps_to(meta: Meta, shape: Shape, dtype: DType) -> tuple[Step, ...]:
    """Return the cast and the expansion from `meta` to a shape and a dtype."""
    applied: list[tuple[Op, Any]] = []
    if meta.dtype is not dtype:
        applied.append((CAST, dtype))
    if meta.shape != shape:
        applied.append((EXPAND, shape))
    return steps(meta, *applied)


def lift(op: str, x: Tensor | Scalar, shape: Shape, dtype: DType, device: Device) -> Node:
    """Return an operand as the input node of an elementwise op: a constant stays 0-d."""
    if isinstance(x, Tensor):
        node = node_of(x)
        return follow(node, steps_to(node.meta, shape, dtype))
    return constant(op, x, dtype, device)
