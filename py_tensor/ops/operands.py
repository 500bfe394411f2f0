"""Operands of ops: conversion of arguments to Python numbers, tensors and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import attrgetter
from operator import index as as_index
from typing import Any, cast

from py_tensor.backends.choice import default_device
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts, DType
from py_tensor.base.errors import DeviceError, DTypeError, ShapeError
from py_tensor.base.shapes import Shape, broadcast
from py_tensor.ir.arrays import decoded, has_floats, has_integers
from py_tensor.ir.bind import Step, follow, steps
from py_tensor.ir.node import Device, Meta, Node, Op, meta_of
from py_tensor.ir.primitives import CAST, EXPAND, constant
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

Real = bool | int | float
Scalar = Real | complex
Operand = Any  # a Tensor, a Python scalar, or anything that `asarray` accepts


node_of: Callable[[Tensor], Node] = attrgetter("_node")


def as_ndarray(x: Tensor) -> Tensor:
    """Mark the tensor as an array: a 0-d tensor is then not a scalar."""
    if not node_of(x).meta.shape:
        x._owner()  # pyright: ignore[reportPrivateUsage]
    return x


def copy_or_scalar(x: Tensor) -> Tensor:
    """Return a copy, which is a scalar if it is 0-d."""
    return x._copy_or_scalar()  # pyright: ignore[reportPrivateUsage]


def takes(y: object) -> bool:
    """Return whether an operator accepts the other operand."""
    return (
        isinstance(y, Tensor | Scalar | list | tuple | range | memoryview | bytearray)
        or hasattr(y, "__buffer__")
        or (hasattr(y, "dtype") and not takes_numbers(y))
    )


def goes_first(y: object) -> bool:
    """Return whether the other operand's operator comes first, because it holds arrays itself.

    Objects of dask, pandas and xarray, and masked arrays, come first for NumPy's arrays too.
    """
    return getattr(y, "__array_priority__", 0) > Tensor.__array_priority__


def takes_numbers(y: object) -> bool:
    """Return whether an object has operators but is not an array, like SciPy's sparse matrices."""
    return hasattr(y, "__array_priority__") and not (
        hasattr(y, "__array__") or hasattr(y, "__array_ufunc__") or hasattr(y, "__dlpack__")
    )


def is_array_like(value: object) -> bool:
    """Return whether a value is a tensor, a list or an array with axes, rather than a number."""
    return isinstance(value, Tensor | list | tuple | range) or bool(getattr(value, "ndim", 0))


def number_of(op: str, name: str, value: object, stored_in: DType | None = None) -> Scalar:
    """Like `number_like`, but anything else is an error; tensors are not accepted."""
    number = number_like(value, stored_in)
    if number is not None:
        return number
    raise TypeError(f"{op}: {name} must be one number, not {type(value).__name__}")


def real_number_of(op: str, name: str, value: object) -> Real:
    """Like `number_of`, but complex numbers are not accepted."""
    number = number_of(op, name, value)
    if isinstance(number, complex):
        raise TypeError(f"{op}: {name} must be a real number, not {number}")
    return number


def whole_number(op: str, name: str, value: Any, least: int | None = None) -> int:
    """Return a Python int, also from a NumPy scalar or a 0-d tensor.

    Raises
    ------
    TypeError
        If the argument is anything else; the message names the op and the argument.
    ValueError
        If it is below `least`.
    """
    try:
        number = as_index(value)
    except TypeError:
        raise TypeError(f"{op}: {name} must be an int, not {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{op}: {name} must be at least {least}, not {number}")
    return number


def number_like(value: object, stored_in: DType | None = None) -> Scalar | None:
    """Return a Python number, also from a NumPy scalar; None for anything else.

    A NumPy integer wraps around in the dtype that it is stored in, as in NumPy.
    """
    if isinstance(value, Scalar):
        return value
    if isinstance(value, Tensor) or not _is_number(value):
        return None
    scalar = cast("Any", value)
    number = float(scalar) if has_floats(scalar) else scalar.item()
    if stored_in is not None and stored_in.is_integer and type(number) is int:
        low, high = dtypes.integer_range(stored_in)
        return (number - low) % (high - low + 1) + low
    return number if isinstance(number, Scalar) else None


def own_dtype(op: str, number: object) -> DType:
    """Return the dtype of a Python or NumPy number alone."""
    if isinstance(number, Scalar):
        return dtypes.of_scalar(number)
    host_dtype = cast("Any", number).dtype
    return dtypes.of_host(op, host_dtype.kind, host_dtype.itemsize, host_dtype.name)


def int_like(value: Any) -> int | None:
    """Return a Python int, also from a NumPy scalar; None for anything else."""
    is_int = hasattr(value, "__index__") and not getattr(value, "ndim", 0)
    return as_index(value) if is_int else None


def numbers_of(op: str, operand: Any) -> tuple[list[Any], Shape]:
    """Return the elements of an operand as Python numbers, and its shape; a tensor is read."""
    if isinstance(operand, list | tuple | range):
        listed = [numbers_of(op, item) for item in cast("list[Any]", operand)]
        shapes = {shape for _, shape in listed} or {()}
        if len(shapes) > 1:
            raise ShapeError(f"{op}: the lists are ragged: parts of shapes {sorted(shapes)}")
        return [n for numbers, _ in listed for n in numbers], (len(listed), *shapes.pop())
    number = number_like(operand)
    if number is not None:
        return [number], ()
    if not hasattr(operand, "tolist"):
        raise TypeError(f"{op}: takes numbers, not {type(operand).__name__}")
    return operand.reshape(-1).tolist(), tuple(operand.shape)


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
    bits = np.frombuffer(read, f"u{x.dtype.alignment}")
    return decoded(np, bits, x.dtype).reshape(x.shape)


def _is_number(x: object) -> bool:
    """Return whether `x` is a NumPy scalar or a 0-d array."""
    return getattr(x, "ndim", None) == 0 and hasattr(x, "dtype")


def on_one_device(op: str, operands: Iterable[Any]) -> list[Any]:
    """Return operands on one device: beside a traced tensor, others become arguments of its trace.

    Raises
    ------
    DeviceError
        If they are on several devices that compute.
    """
    result = [*operands]
    devices = dict.fromkeys(x.device for x in result if isinstance(x, Tensor))
    if len(devices) < 2:
        return result
    first = next(iter(devices))
    deepest = max(devices, key=lambda device: device.depth)
    for number, x in enumerate(result):
        if isinstance(x, Tensor) and x.device is not deepest:
            node = deepest.lifted(node_of(x), Tensor(node_of(x)))
            if node is None:
                other = x.device if deepest is first else deepest
                raise DeviceError(
                    f"{op}: operands on {first} and {other}; move one with x.to(device)"
                )
            result[number] = Tensor(node)
    return result


def tensor_beside(op: str, x: Operand, *others: Operand) -> Tensor:
    """Convert an operand to a tensor on the device of the first tensor among the others."""
    if isinstance(x, Tensor):
        return x
    return tensor_of(x, op, device=next((v.device for v in others if isinstance(v, Tensor)), None))


def tensors_of(op: str, operands: Iterable[Operand]) -> list[Tensor]:
    """Convert each operand by itself, to tensors on one device: that of the tensors among them."""
    values = [*operands]
    device = next((x.device for x in values if isinstance(x, Tensor)), None)

    def converted(x: Operand) -> Tensor:
        number = None if type(x) is bool else number_like(x)
        if not isinstance(number, int) or dtypes.holds(dtypes.int32, number):
            return tensor_of(x, op, device=device)
        wide_dtypes = (dtypes.int64, dtypes.uint64)
        dtype = next((dtype for dtype in wide_dtypes if dtypes.holds(dtype, number)), None)
        # A number beyond 64 bits is a float, as beside floats in NumPy.
        return tensor_of(number if dtype else float(number), op, dtype=dtype, device=device)

    return on_one_device(op, [x if isinstance(x, Tensor) else converted(x) for x in values])


def coerce(op: str, operands: Sequence[Operand], leading: int = 0) -> list[Tensor | Scalar]:
    """Convert operands to Python scalars and at least one tensor, all on one device.

    Beside arrays, NumPy's bools, floats and complex numbers are as weak as Python's, and its
    integers promote like arrays of their dtype: one that changes the common dtype is returned as a
    tensor. Without arrays beside it, a NumPy number has its own dtype. Arrays are converted to the
    default precision, except beside a 64-bit tensor. The first `leading` operands, such as a
    condition, do not affect the others' dtypes.
    """
    device: Device | None = None
    has_others = False
    for x in operands:
        if isinstance(x, Tensor):
            if device is not None and x.device is not device:
                return coerce(op, on_one_device(op, operands), leading)
            device = x.device
        elif not isinstance(x, Scalar):
            has_others = True
    result = _converted(op, operands, leading, device) if has_others else [*operands]
    if device is None and not any(isinstance(x, Tensor) for x in result):
        result[0] = tensor_of(result[0], op)
    return result


def _converted(
    op: str, operands: Sequence[Operand], leading: int, device: Device | None
) -> list[Tensor | Scalar]:
    """Convert operands that include arrays or NumPy numbers; see `coerce`."""
    wide = widest(operands[leading:])
    arrays = [
        x if isinstance(x, Tensor | Scalar) or _is_number(x) else beside(wide, x, op, device)
        for x in operands
    ]
    beside_them = [x.dtype for x in arrays[leading:] if isinstance(x, Tensor)]
    common = dtypes.common(beside_them) if beside_them else None
    result: list[Tensor | Scalar] = []
    for position, x in enumerate(arrays):
        if isinstance(x, Tensor | Scalar):
            result.append(x)
            continue
        value = number_of(op, "an operand", x)
        if position < leading or (common is not None and not has_integers(x)):
            result.append(value)
            continue
        number_dtype = dtypes.BY_NAME[x.dtype.name] if wide else own_dtype(op, x)
        dtype = number_dtype if common is None else dtypes.promote(common, number_dtype)
        is_weak = dtype is common
        result.append(
            value if is_weak else Tensor(constant(op, value, dtype, device or default_device()))
        )
    return result


def as_arrays(op: str, operands: Sequence[Operand]) -> list[Tensor]:
    """Convert operands to tensors on one device; a number has its own dtype, as in `asarray`."""
    coerced = coerce(op, operands)
    dtype = common_dtype([x for x in coerced if isinstance(x, Tensor)])
    result: list[Operand] = []
    for x, operand in zip(coerced, operands, strict=True):
        if isinstance(x, int) and not isinstance(operand, Scalar):  # NumPy's, of a narrower dtype
            result.append(Tensor(constant(op, x, dtype, device_of(coerced))))
        else:
            result.append(x if isinstance(x, Tensor) else operand)
    return tensors_of(op, result)


def widest(operands: Sequence[Operand]) -> DType | None:
    """Return the dtype of a 64-bit tensor among the operands (complex: 64 bits per part)."""
    all_dtypes = (x.dtype for x in operands if isinstance(x, Tensor))
    return next((dtype for dtype in all_dtypes if dtype.has_64_bits), None)


def beside(wide: DType | None, x: Operand, op: str, device: Device | None) -> Tensor:
    """Convert an array or a list to a tensor; `wide` is the dtype of a 64-bit tensor beside it.

    An array beside a 64-bit tensor keeps its dtype. Integers in a list get the dtype of the tensor
    if it can represent them.
    """
    host_dtype = getattr(getattr(x, "dtype", None), "name", None) if wide else None
    if wide is None or wide.is_inexact or host_dtype is not None:
        return tensor_of(x, op, dtype=dtypes.BY_NAME.get(host_dtype or ""), device=device)
    try:
        converted_operand = tensor_of(x, op, device=device)
    except OverflowError:
        return tensor_of(x, op, dtype=wide, device=device)
    if converted_operand.dtype is not dtypes.DEFAULT_INT:
        return converted_operand
    try:
        return tensor_of(x, op, dtype=wide, device=device)
    except OverflowError:  # negative, beside uint64
        return converted_operand


def common_dtype(operands: Sequence[Tensor | Scalar]) -> DType:
    """Return the promoted dtype of the tensors, then of the scalars, which are weak."""
    types = [x.dtype for x in operands if isinstance(x, Tensor)]
    scalars = [x for x in operands if not isinstance(x, Tensor)]
    dtype = dtypes.common(types) if types else dtypes.of_scalar(scalars[0])
    return reduce(dtypes.with_scalar, scalars, dtype)


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
    operand = tensor_of(x, op, dtype=target if isinstance(x, int) and target.is_integer else None)
    if operand.dtype is target:
        return operand
    if operand.dtype.is_complex and not target.is_complex:
        raise DTypeError(f"{op}: cannot convert {operand.dtype} to {target}; use x.real")
    operand.device.check(op, meta_of((), target, operand.device))
    return Tensor(follow(node_of(operand), steps_to(node_of(operand).meta, operand.shape, target)))


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


def lifted(
    op: str, accepts: Accepts, operands: Sequence[Tensor | Scalar], leading: tuple[DType, ...] = ()
) -> tuple[Node, ...]:
    """Return the inputs of an elementwise op: operands in one shape and dtype; constants are 0-d.

    The first ones are in the dtypes `leading`. At least one operand is a tensor, see `coerce`.
    """
    shape = broadcast(op, *(x.shape for x in operands if isinstance(x, Tensor)))
    rest = operands[len(leading) :]
    dtype, device = accepts.check(op, common_dtype(rest)), device_of(operands)
    device.check(op, meta_of((), dtype, device))
    wanted = *leading, *([dtype] * len(rest))
    return tuple(lift(op, x, shape, d, device) for x, d in zip(operands, wanted, strict=True))
