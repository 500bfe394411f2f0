"""In and out: tensors from lists, scalars, buffers and NumPy arrays; other devices; text."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, TypeGuard

from py_tensor import dtypes, layout
from py_tensor.backend.device import Device, parse
from py_tensor.dtypes import DType
from py_tensor.errors import DTypeError, ShapeError
from py_tensor.graph.node import Meta, make, meta_of
from py_tensor.graph.primitives import COPY, EDGES, leaf
from py_tensor.ops.define import as_array, coerce, common_dtype, empty_node, node_of
from py_tensor.ops.indexing import getitem
from py_tensor.ops.movement import concat, converted, stack
from py_tensor.printing import (
    DEFAULT_OPTIONS,
    PrintOptions,
    edge_indices,
    format_str,
    format_tensor,
)
from py_tensor.shapes import MAX_RANK, Shape, check_rank, size_of
from py_tensor.tensor import Tensor

_print_options = DEFAULT_OPTIONS
_CODES = {"?": dtypes.bool_, "f": dtypes.float32, "d": dtypes.float64}


def tensor(data: Any, *, dtype: object = None, device: str | Device | None = None) -> Tensor:
    """A tensor with a copy of `data`.

    Parameters
    ----------
    data
        A Python scalar, another tensor, anything with the buffer protocol or
        ``__array_interface__`` (a NumPy array), or nested lists or tuples of any of these, which
        are stacked.
    dtype
        By default that of `data`; of lists the least dtype that holds all, where Python scalars
        and those NumPy scalars that are not of 32 bits count as bool, int32 or float32.
    device : {"webgpu", "cpu"}, optional
        By default that of the tensors in `data`, else the default device.

    Raises
    ------
    ShapeError
        For ragged lists.
    DTypeError
        For a dtype that the device does not have: float64 and int64 on webgpu.
    OverflowError
        For a number that the integer dtype cannot hold.
    ValueError
        For NaN in an integer dtype.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.tensor([[1, 2], [3, 4]], dtype=pt.float32).sum(0)
    tensor([4., 6.])
    """
    made = _make(data, dtype, device, "tensor")
    return as_array(made.copy() if made is data else made)


def asarray(data: Any, *, dtype: object = None, device: Any = None, op: str = "asarray") -> Tensor:
    """`tensor`, but a tensor of the wanted dtype and device is given back itself."""
    return _make(data, dtype, device, op)


def drawable(data: Any, op: str) -> Tensor:
    """A tensor to draw from anything that `asarray` takes.

    Arrays of others are drawn on the CPU, in their own dtype where that device has it, else as
    int32, float32 or float64.
    """
    if isinstance(data, Tensor) or not (_is_array(data) and hasattr(data, "astype")):
        return asarray(data, op=op)
    kind, size = data.dtype.kind, data.dtype.itemsize
    if kind in "iu" and size < 4:
        data = data.astype("int32")
    elif kind == "u" and size == 8:
        data = data.astype("float64")
    elif kind == "f" and size not in (4, 8):
        data = data.astype("float32")
    return _make(data, None, "cpu", op)


def _make(data: Any, dtype: object, device: str | Device | None, op: str) -> Tensor:
    target = None if dtype is None else dtypes.parse(dtype)
    if isinstance(data, Tensor):
        here = data if target is None or target.rank > data.dtype.rank else converted(data, target)
        moved = here if device is None else to_device(here, device)
        return moved if target is None else converted(moved, target)
    if _is_nested(data):
        if _holds_tensors_alone(data):
            return _make(_stacked(data, op), dtype, device, op)
        return _from_nested(data, target, parse(device), op)
    place = parse(device)
    if isinstance(data, bool | int | float):
        return _from_values([data], (), target or dtypes.of_scalar(data), place, op)
    if hasattr(data, "__array_interface__"):
        return _from_interface(data, target, place, op)
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(
            f"{op}: takes scalars, nested lists, buffers and arrays, not {type(data).__name__}"
        ) from None
    return _from_buffer(view, target, place, op)


def _from_values(values: list[Any], shape: Shape, dtype: DType, device: Device, op: str) -> Tensor:
    """From a flat list of Python scalars."""
    meta = meta_of(shape, dtype, device)
    device.backend.check(op, meta)
    if not meta.size:
        return Tensor(empty_node(meta))
    return _uploaded(memoryview(_packed(values, dtype, op)).cast("B"), meta)


def _packed(values: list[Any], dtype: DType, op: str) -> bytes | array[Any]:
    """Python scalars as elements; each must fit, but floats past the largest become infinite."""
    try:
        if dtype is dtypes.bool_:
            return bytes(map(bool, values))
        return array(dtype.typecode, map(int, values) if dtype.kind in "iu" else values)
    except (OverflowError, ValueError):
        pass  # which of them it was is said below
    for value in values:
        dtypes.check_range(op, value, dtype)
    return array(dtype.typecode, map(_to_float32, values))


def _uploaded(data: memoryview, meta: Meta) -> Tensor:
    """A tensor of elements given as bytes in row-major order."""
    meta.device.note_upload(meta.nbytes)
    return Tensor(leaf(meta, meta.device.backend.upload(data, meta)))


def _to_float32(value: float) -> float:
    """Values past the largest float32 become infinite, as NumPy rounds them."""
    return value if abs(value) < 3.4028235677973366e38 or value != value else value * float("inf")


def _from_nested(data: Sequence[Any], dtype: DType | None, device: Device, op: str) -> Tensor:
    if data and all(_is_array(x) and _is_alike(x, data[0]) for x in data):
        from py_tensor.backend.bridge import load_numpy

        return _from_interface(load_numpy().stack(data), dtype, device, op)
    shape = check_rank(op, _shape_of(data))
    values: list[Any] = []
    kinds: set[DType] = set()
    _flatten(data, shape, values, kinds, op)
    return _from_values(values, shape, dtype or _widest(kinds), device, op)


def _is_nested(data: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(data, list | tuple | range)


def _is_array(data: Any) -> bool:
    return hasattr(data, "__array_interface__") and data.ndim > 0


def _is_alike(x: Any, y: Any) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype


def _holds_tensors_alone(data: Sequence[Any]) -> bool:
    return bool(data) and all(
        _holds_tensors_alone(x) if _is_nested(x) else isinstance(x, Tensor) for x in data
    )


def _stacked(data: Sequence[Any], op: str) -> Tensor:
    """Nested lists of tensors as one, without reading them."""
    parts = [_stacked(x, op) if _is_nested(x) else x for x in data]
    for x in parts[1:]:
        if x.shape != parts[0].shape:
            raise _ragged(op, parts[0].shape, x.shape)
    dtype = common_dtype(op, coerce(op, parts))
    return stack([converted(x, dtype) for x in parts])


def _shape_of(data: Any) -> Shape:
    """The shape that the first element at each level suggests."""
    shape: list[int] = []
    while _is_nested(data):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return (*shape, *getattr(data, "shape", ()))


def _flatten(data: Any, shape: Shape, values: list[Any], kinds: set[DType], op: str) -> None:
    """Append the scalars in row-major order; nesting is at most as deep as a tensor's rank."""
    if isinstance(data, bool | int | float):
        if shape:
            raise _ragged(op, shape, ())
        values.append(data)
        kinds.add(dtypes.of_scalar(data))
    elif _is_nested(data):
        if not shape or len(data) != shape[0]:
            raise _ragged(op, shape, (len(data),))
        for item in data:
            _flatten(item, shape[1:], values, kinds, op)
    elif hasattr(data, "dtype"):
        if tuple(data.shape) != shape:
            raise _ragged(op, shape, tuple(data.shape))
        found = data.reshape(-1).tolist()
        values.extend(found)
        kinds.update(_dtypes_of(data, found, op))
    else:
        raise TypeError(f"{op}: a list holds scalars, not {type(data).__name__}")


def _dtypes_of(data: Any, values: list[Any], op: str) -> set[DType]:
    """What a tensor, an array or a NumPy scalar adds to a list: its dtype, or its values'."""
    own = dtypes.BY_NAME.get(data.dtype.name)
    if own is not None and (own.on_gpu or data.ndim):
        return {own}
    if not all(isinstance(v, bool | int | float) for v in values):
        raise TypeError(f"{op}: a list holds bools, ints and floats, not {data.dtype}")
    return set(map(dtypes.of_scalar, values))


def _ragged(op: str, expected: Shape, found: Shape) -> ShapeError:
    what = (
        f"a sequence of {found[0]}"
        if len(found) == 1
        else "a scalar"
        if not found
        else f"shape {found}"
    )
    wanted = f"one of {expected[0]}" if expected else "a scalar"
    return ShapeError(f"{op}: the lists are ragged: {what} where {wanted} was expected")


def _widest(kinds: set[DType]) -> DType:
    result = dtypes.DEFAULT_FLOAT if not kinds else min(kinds, key=lambda d: d.rank)
    for dtype in kinds:
        result = dtypes.promote("tensor", result, dtype)
    return result


def _from_interface(data: Any, dtype: DType | None, device: Device, op: str) -> Tensor:
    """From a NumPy array or scalar, through NumPy's own conversions."""
    from py_tensor.backend.bridge import load_numpy

    np = load_numpy()
    given = np.asarray(data)
    name = given.dtype.name
    target = dtype or dtypes.BY_NAME.get(name)
    if target is None:
        known = ", ".join(dtypes.BY_NAME)
        raise DTypeError(f"{op}: NumPy's {name} has no counterpart here ({known}); give a dtype")
    meta = meta_of(check_rank(op, tuple(given.shape)), target, device)
    device.backend.check(op, meta)
    if not meta.size:
        return Tensor(empty_node(meta))
    with np.errstate(all="ignore"):
        flat = np.ascontiguousarray(given.astype(target.name, copy=False)).reshape(-1)
    return _uploaded(memoryview(flat.view("u1")), meta)


def _from_buffer(view: memoryview, dtype: DType | None, device: Device, op: str) -> Tensor:
    """From any buffer; its format says the dtype."""
    code = view.format.lstrip("@=<|")
    found = _CODES.get(code)
    if code in "ilqnIBHLQNbhc" and found is None:
        signed = code.islower() and code != "c"
        found = {4: dtypes.int32 if signed else dtypes.uint32, 8: dtypes.int64}.get(view.itemsize)
    if found is None and dtype is None:
        raise DTypeError(f"{op}: no dtype has the buffer format {view.format!r}; give one")
    shape = check_rank(op, tuple(view.shape or ()))
    if found is None or (dtype is not None and dtype is not found):
        values = dtypes.typed(view, view.format).tolist() if view.contiguous else _listed(view)
        return _from_values(values, shape, dtype or dtypes.DEFAULT_FLOAT, device, op)
    meta = meta_of(shape, found, device)
    device.backend.check(op, meta)
    if not meta.size:
        return Tensor(empty_node(meta))
    return _uploaded(memoryview(view.tobytes()), meta)


def _listed(view: memoryview) -> list[Any]:
    flat: list[Any] = view.tolist()
    for _ in range(view.ndim - 1):
        flat = [value for row in flat for value in row]
    return flat


def to_device(x: Tensor, device: str | Device) -> Tensor:
    """The elements of `x` on another device; waits for them."""
    place = parse(device)
    if place is x.device:
        return x
    meta = meta_of(x.shape, x.dtype, place)
    place.backend.check("to", meta)
    if not meta.size:
        return Tensor(empty_node(meta))
    data = x._read()  # pyright: ignore[reportPrivateUsage]
    return _uploaded(data, meta)


# -- Text ---------------------------------------------------------------------------------------


def set_printoptions(**options: Any) -> None:
    """Change how tensors are printed: precision, threshold, edgeitems, linewidth, suppress.

    They mean what they mean in `numpy.set_printoptions`.
    """
    global _print_options
    current = {name: getattr(_print_options, name) for name in PrintOptions.__dataclass_fields__}
    _print_options = PrintOptions(**(current | options))


def text(x: Tensor, form: str) -> str:
    """`repr` or `str` of a tensor."""
    shown, edge = _edges(x)
    values = shown._flat(shown._read())  # pyright: ignore[reportPrivateUsage]
    return _format(x, values, edge, form)


async def text_async(x: Tensor, form: str) -> str:
    """The same, awaited."""
    shown, edge = _edges(x)
    values = shown._flat(await shown._read_async())  # pyright: ignore[reportPrivateUsage]
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
    split = layout.edges(x.shape, tuple(long), items)
    meta = meta_of(split.shape, x.dtype, x.device)
    edges = make(EDGES, (node_of(x),), (tuple(long), items), meta)
    shown = make(COPY, (edges,), None, meta)
    x.device.compute([shown])
    shape = tuple(2 * items if a in long else n for a, n in enumerate(x.shape))
    return Tensor(shown).reshape(shape)


def _format(x: Tensor, values: list[Any], edge: bool, form: str) -> str:
    kind = {"b": "bool", "f": x.dtype.name}.get(x.dtype.kind, "int")
    if form == "str":
        return format_str(x.shape, kind, values, edge=edge, options=_print_options)
    return format_tensor(
        x.shape, kind, values, edge=edge, suffix=_suffix(x), options=_print_options
    )


def _suffix(x: Tensor) -> str:
    """dtype and device, where they are not what a tensor of such elements has by default."""
    from py_tensor.backend.device import default_device

    parts: list[str] = []
    plain = {"b": dtypes.bool_, "i": dtypes.DEFAULT_INT, "f": dtypes.DEFAULT_FLOAT}.get(
        x.dtype.kind
    )
    if x.dtype is not plain or not size_of(x.shape):
        parts.append(f"dtype={x.dtype}" if x.dtype is not dtypes.DEFAULT_FLOAT or x.size else "")
    if x.device is not default_device():
        parts.append(f"device='{x.device}'")
    return ", ".join(p for p in parts if p)
