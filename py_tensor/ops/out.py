"""Storing results: the options `out` and `where`, and in-place operators."""

from __future__ import annotations

from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType, check_cast, is_of_kind, warn_of_loss
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import expands
from py_tensor.ir.bind import follow
from py_tensor.ir.node import Device
from py_tensor.ir.primitives import WHERE
from py_tensor.ops.operands import Operand, node_of, on_one_device, steps_to
from py_tensor.ops.record import apply
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of, traced_write

SAME_KIND = "same_kind"  # NumPy's default rule for storing results
Out = Any  # the target of a result: a Tensor, a NumPy array, a tuple of one, or None

_SYMBOLS = {
    "iadd": "+", "isub": "-", "imul": "*", "itruediv": "/", "ifloordiv": "//", "imod": "%",
    "ipow": "**", "imatmul": "@", "iand": "&", "ior": "|", "ixor": "^", "ilshift": "<<",
    "irshift": ">>",
}  # fmt: skip


def check_kind(op: str, source: DType, target: DType, instead: str) -> None:
    """Raise DTypeError if the target's kind cannot hold the kind of a dtype."""
    if not is_of_kind(source, target):
        raise DTypeError(f"{op}: {source} cannot be stored in {target}; {instead}")


def writeable(op: str, x: Any) -> Tensor:
    """Return the target of a write, or raise TypeError or ValueError if it cannot be written to."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: can only write to a tensor, not to {type(x).__name__}")
    x._check_writeable(op)  # pyright: ignore[reportPrivateUsage]
    return x


def store(op: str, target: Tensor, result: Tensor, casting: str = SAME_KIND) -> Tensor:
    """Write the result of an op to a tensor, and return the tensor, for `out` and ``+=``.

    Raises
    ------
    ValueError
        If the target is read-only, or the result does not broadcast to its shape.
    DTypeError
        If `casting` does not allow it: by default, if the target's kind of dtype cannot hold the
        result's, such as a float for an integer tensor.
    """
    target._check_writeable(op)  # pyright: ignore[reportPrivateUsage]
    if node_of(result).meta is node_of(target).meta:
        return _written(op, target, result)
    symbol = _SYMBOLS.get(op)
    instead = f"write x = x {symbol} y" if symbol else f"pass an out of {result.dtype}"
    if casting == SAME_KIND:
        check_kind(op, result.dtype, target.dtype, instead)
    else:
        check_cast(op, result.dtype, target.dtype, casting)
    # An in-place operator does not broadcast its result, while `out` may be larger.
    fits = result.shape == target.shape if symbol else expands(result.shape, target.shape)
    if not fits:
        raise ShapeError(
            f"{op}: a result of shape {result.shape} cannot be stored in one of {target.shape}"
        )
    return _written(op, target, result)


def _written(op: str, target: Tensor, result: Tensor) -> Tensor:
    """Overwrite a tensor with a result, broadcast and converted; return the tensor."""
    if result.device.depth > target.device.depth:
        raise traced_write(op)
    node = node_of(on_one_device(op, (target, result))[1])
    warn_of_loss(node.meta.dtype, target.dtype)
    if node.meta is not node_of(target).meta:
        node = follow(node, steps_to(node.meta, target.shape, target.dtype))
    layout = target._layout  # pyright: ignore[reportPrivateUsage]
    target._assign(layout, node)  # pyright: ignore[reportPrivateUsage]
    return target


def stored(
    op: str, result: Tensor, out: Out, condition: Operand = True, casting: str = SAME_KIND
) -> Tensor:
    """Apply `out` and `where` to a result.

    Where `condition` is false, `out` keeps its elements; without `out` they are 0. If `out` is a
    NumPy array, the result is read.
    """
    target = target_of(op, out)
    if target is not None and not isinstance(target, Tensor):
        where = condition if condition is True else tensor_of(condition, op).numpy()
        return _stored_on_host(result, target, casting, where)
    if condition is not True:
        result = apply(WHERE, (condition, result, False if target is None else target))
    return result if target is None else store(op, target, result, casting)


def stored_whole(op: str, result: Tensor, out: Out, casting: str = "unsafe") -> Tensor:
    """Apply `out` to the result of a function that is not elementwise.

    As in NumPy, `out` has the shape of the result, and a dtype that `casting` allows: by default
    any, to which the result is converted.

    Raises
    ------
    ValueError
        If `out` is read-only, or has another shape.
    TypeError
        If `casting` does not allow its dtype.
    """
    target = target_of(op, out)
    if target is None:
        return result
    if isinstance(target, Tensor):
        target._check_writeable(op)  # pyright: ignore[reportPrivateUsage]
    if tuple(target.shape) != result.shape:
        raise ShapeError(f"{op}: out has shape {target.shape}, but the result has {result.shape}")
    if isinstance(target, Tensor):
        check_cast(op, result.dtype, target.dtype, casting)
        return _written(op, target, result)
    return _stored_on_host(result, target, casting)


def dtype_into(op: str, source: DType, device: Device, out: Out, *, added: int = 0) -> DType:
    """Return the dtype in which a reduction or scan into `out` computes if it is given none.

    As in NumPy, it is the common dtype of the elements and `out`, but never float64 on the GPU.
    Up to `added` integers are added as integers: in 64 bits, or in int32 if it holds the sums.
    """
    target = target_of(op, out)
    wanted = None if target is None else dtypes.BY_NAME.get(target.dtype.name)
    if wanted is None:
        return source
    if not wanted.on_gpu and not device.uses_numpy:
        wanted = dtypes.complex64 if wanted.is_complex else dtypes.float32
    if source.is_inexact:
        # NumPy's floats hold all integers of 8, 16 and 32 bits; with 64 bits they are float64.
        exact = {1: dtypes.float16, 2: dtypes.float32, 4: dtypes.float64, 8: dtypes.float64}
        if wanted.is_integer and device.uses_numpy:
            wanted = exact[wanted.itemsize]
        return dtypes.promote(source, wanted)
    common = dtypes.promote(source, wanted)
    if wanted.is_unsigned and wanted.has_64_bits:  # it wraps around like int64
        return wanted
    if source.has_64_bits and (added or wanted.is_signed):
        return source
    common = dtypes.real_of(common)
    if added and (common.is_floating or common.has_64_bits):
        return dtypes.int32 if added << 8 * source.itemsize <= 2**31 else dtypes.int64
    return common


def target_of(op: str, out: Out) -> Any:
    """Return the target to write to: a tensor, a NumPy array, or None."""
    target: Any = cast("Any", out)[0] if isinstance(out, tuple) else out
    if target is None or isinstance(target, Tensor) or hasattr(target, "__array_interface__"):
        return target
    raise TypeError(f"{op}: out must be a tensor or an array, not {type(target).__name__}")


def _stored_on_host(result: Tensor, out: Any, casting: str, where: Any = True) -> Any:
    host.load_numpy().copyto(out, result.numpy(), casting=casting, where=where)
    return out
