"""`repr` and `str` of tensors, and the options of both: what is read, and what is said of it."""

from __future__ import annotations

from typing import Any

from py_tensor import dtypes
from py_tensor.backend.device import default_device
from py_tensor.convert.printing import (
    DEFAULT_OPTIONS,
    PrintOptions,
    edge_indices,
    format_str,
    format_tensor,
)
from py_tensor.graph.bind import bind
from py_tensor.graph.primitives import COPY, EDGES
from py_tensor.ops.indexing import getitem
from py_tensor.ops.movement import concat
from py_tensor.ops.operands import node_of
from py_tensor.shapes import MAX_RANK, size_of
from py_tensor.tensor import Tensor, install

_print_options = DEFAULT_OPTIONS


def set_printoptions(**options: Any) -> None:
    """Change how tensors are printed: precision, threshold, edgeitems, linewidth, suppress.

    They mean what they mean in `numpy.set_printoptions`.
    """
    global _print_options
    current = {name: getattr(_print_options, name) for name in PrintOptions.__dataclass_fields__}
    _print_options = PrintOptions(**(current | options))


def _repr(x: Tensor) -> str:
    return _text(x, "repr")


def _str(x: Tensor) -> str:
    return _text(x, "str")


async def _repr_async(x: Tensor) -> str:
    """`repr` for hosts in which Python cannot block."""
    shown, edge = _edges(x)
    values = shown._flat(await shown._read_async())  # pyright: ignore[reportPrivateUsage]
    return _format(x, values, edge, "repr")


def _text(x: Tensor, form: str) -> str:
    shown, edge = _edges(x)
    values = shown._flat(shown._read())  # pyright: ignore[reportPrivateUsage]
    return _format(x, values, edge, form)


def _edges(x: Tensor) -> tuple[Tensor, bool]:
    """What is shown: all of a small tensor, the corners of a large one, in row-major order."""
    if x.size <= _print_options.threshold:
        return x, False
    return _corners(x, _print_options.edgeitems), True


def _corners(x: Tensor, items: int) -> Tensor:
    """The first and last `items` along each longer axis; one gather where the rank allows."""
    long = [axis for axis, n in enumerate(x.shape) if edge_indices(n, items) is not None]
    if x.ndim + len(long) > MAX_RANK:
        whole, n = (slice(None),) * long[0], x.shape[long[0]]
        ends = (getitem(x, (*whole, s)) for s in (slice(items), slice(n - items, n)))
        return concat([_corners(end, items) for end in ends], long[0])
    shown = bind(COPY, (bind(EDGES, (node_of(x),), (tuple(long), items)),))
    x.device.compute([shown])
    shape = tuple(2 * items if a in long else n for a, n in enumerate(x.shape))
    return Tensor(shown).reshape(shape)


def _format(x: Tensor, values: list[Any], edge: bool, form: str) -> str:
    kind = {"b": "bool", "f": x.dtype.name, "c": x.dtype.name}.get(x.dtype.kind, "int")
    if form == "str":
        return format_str(x.shape, kind, values, edge=edge, options=_print_options)
    return format_tensor(
        x.shape, kind, values, edge=edge, suffix=_suffix(x), options=_print_options
    )


def _suffix(x: Tensor) -> str:
    """dtype and device, where they are not what a tensor of such elements has by default."""
    parts: list[str] = []
    plain = {
        "b": dtypes.bool_,
        "i": dtypes.DEFAULT_INT,
        "f": dtypes.DEFAULT_FLOAT,
        "c": dtypes.DEFAULT_COMPLEX,
    }.get(x.dtype.kind)
    if x.dtype is not plain or not size_of(x.shape):
        parts.append(f"dtype={x.dtype}" if x.dtype is not dtypes.DEFAULT_FLOAT or x.size else "")
    if x.device is not default_device():
        parts.append(f"device='{x.device}'")
    return ", ".join(p for p in parts if p)


install("__repr__", _repr)
install("__str__", _str)
install("__repr_async__", _repr_async)
