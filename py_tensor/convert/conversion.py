"""Conversion of lists, scalars, buffers and NumPy arrays to tensors; devices; pickles.

Operands of ops are converted here too, through `py_tensor.tensors.tensor.tensor_of`.
"""

from __future__ import annotations

import math
from array import array as packed
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from struct import unpack
from typing import Any, TypeGuard

from py_tensor.backends.choice import parse
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError, ShapeError, check_order
from py_tensor.base.shapes import Shape, check_rank, unravel
from py_tensor.ir.arrays import encoded, has_floats, has_integers
from py_tensor.ir.bind import leaf
from py_tensor.ir.node import Device, Meta, meta_of
from py_tensor.ir.primitives import constant
from py_tensor.ir.recording import check_constant, is_recording
from py_tensor.ops.assignment import flatiter
from py_tensor.ops.movement import converted, laid_out, reshape, stack
from py_tensor.ops.operands import Scalar, as_ndarray, coerce
from py_tensor.ops.record import empty_node
from py_tensor.runtime.device import MAX_AT_ONCE, with_backend
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, convert_by, install, public

__all__ = ["array", "asanyarray", "asarray", "ascontiguousarray", "tensor"]

_NESTED = {list, tuple, range}
_KINDS = dict(zip("?bhilqnBHILQNefd", "biiiiiiuuuuuufff", strict=True))
"""Maps buffer formats to NumPy's names of kinds."""


def tensor(data: Any, *, dtype: object = None, device: str | Device | None = None) -> Tensor:
    """Create a tensor with a copy of `data`.

    Parameters
    ----------
    data
        A Python scalar, another tensor, a NumPy array or any object with ``__array_interface__`` or
        ``__array__``, a buffer, or nested lists or tuples of these, which are stacked.
    dtype
        A tensor keeps its dtype by default. Other data is converted to the default precision on
        every device: NumPy's float64 becomes float32 (see `set_default_dtype`), complex128
        complex64, int64 int32 and uint64 uint32. Lists get the smallest dtype that fits all
        elements.
    device : {"webgpu", "cpu"}, optional
        By default the device of the tensors in `data`, else the default device.

    Raises
    ------
    ShapeError
        If lists are ragged.
    DTypeError
        If the device does not support the dtype, such as float64 on webgpu.
    OverflowError
        If an integer dtype cannot represent a number; the error gives its index.
    ValueError
        If NaN is converted to an integer dtype.
    TypeError
        If a Python complex number is converted to a real dtype.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.tensor([[1, 2], [3, 4]], dtype=pt.float32).sum(0)
    tensor([4., 6.])
    """
    return asarray(data, dtype, device=device, copy=True, op="tensor")


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    device: str | Device | None = None,
    like: Any = None,
) -> Tensor:
    """NumPy's name for `tensor`, with NumPy's parameters.

    Parameters
    ----------
    object, dtype, device
        As in `tensor`.
    copy, order
        As in `asarray`.
    subok, like
        Accepted; have no effect.
    ndmin
        The minimum number of axes; missing axes are leading axes of size 1.
    ndmax
        The maximum number of axes, if not 0.

    Raises
    ------
    ShapeError, DTypeError, OverflowError, ValueError
        As in `tensor` and `asarray`, and for more axes than `ndmax`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.array([1, 2, 3], ndmin=2)
    tensor([[1, 2, 3]])
    """
    x = asarray(object, dtype, order, device=device, copy=copy, op="array")
    if ndmax and x.ndim > ndmax:
        raise ShapeError(f"array: shape {x.shape} has more axes than ndmax, which is {ndmax}")
    return reshape(x, (1,) * (ndmin - x.ndim) + x.shape) if ndmin > x.ndim else x


def asarray(
    a: Any,
    dtype: object = None,
    order: str | None = None,
    *,
    device: str | Device | None = None,
    copy: bool | None = None,
    like: Any = None,
    op: str = "asarray",
) -> Tensor:
    """Like `tensor`, but returns the input if it already matches.

    Parameters
    ----------
    a, dtype, device
        As in `tensor`.
    copy
        None copies unless `a` is a tensor with the requested dtype and device. True always copies.
        False raises an error if a copy is needed.
    order : {None, "K", "A", "C", "F"}
        "C" copies a view that is not row-major. "F" copies a tensor that is not column-major; the
        copy is a view of a tensor with reversed axes. Copies for other orders are row-major.
    like
        Accepted; has no effect.
    op
        The function name in errors.

    Raises
    ------
    ShapeError, DTypeError, OverflowError
        As in `tensor`.
    ValueError
        If NaN is converted to an integer dtype, or `copy` is False and a copy is needed.
    """
    check_order(op, order)
    data = _given_by(a)
    x = _make(data, dtype, device, op)
    if x is not data and copy is False:
        words = f"{type(data).__name__} to this tensor without a copy"
        raise ValueError(f"{op}: cannot convert {words}")
    kind = order and order.upper()
    fits = (kind != "F" or x.flags.f_contiguous) and (kind != "C" or x.flags.c_contiguous)
    if x is data and not (copy or x.is_scalar) and fits:
        return x
    if x is data and copy is False:
        raise ValueError(f"{op}: cannot change a tensor to order {order} without a copy")
    return laid_out(as_ndarray(x.copy() if x is data else x), order)


def _given_by(data: Any) -> Any:
    """Return the elements of a flat iterator, or the result of `__array__`.

    Tensors and objects with other interfaces are unchanged.
    """
    if isinstance(data, flatiter):
        return data.copy()
    gives = getattr(data, "__array__", None)
    if gives is None or isinstance(data, Tensor | type) or hasattr(data, "__array_interface__"):
        return data
    return gives()


asanyarray = asarray


def ascontiguousarray(
    a: Any, dtype: object = None, *, device: str | Device | None = None, like: Any = None
) -> Tensor:
    """Convert to a tensor in row-major order with at least one axis, copying if needed."""
    x = asarray(a, dtype, "C", device=device, op="ascontiguousarray")
    return x if x.ndim else x.reshape(1)


def drawable(data: Any, op: str) -> Tensor:
    """Convert anything that `asarray` accepts to a tensor to draw.

    Arrays of other libraries are put on the CPU, where 64-bit values keep their precision: with 32
    bits, timestamps would coincide.

    Raises
    ------
    TypeError
        If the elements are complex.
    """
    if isinstance(data, Tensor) or not _is_array(data):
        x = asarray(data, op=op)
    else:
        x = _make(data, dtypes.BY_NAME.get(data.dtype.name), "cpu", op)
    if x.dtype.is_complex:
        raise TypeError(f"{op}: takes real numbers, not {x.dtype}; use z.real, z.imag or abs(z)")
    return x


def _make(data: Any, dtype: object, device: str | Device | None, op: str) -> Tensor:
    target = None if dtype is None else dtypes.parse(dtype)
    if isinstance(data, Tensor):
        here = data if target is None or target.rank > data.dtype.rank else converted(data, target)
        moved = here if device is None else to(here, device)
        return moved if target is None else converted(moved, target)
    if _is_nested(data):
        return _from_nested(data, target, device, op)
    target_device = parse(device)
    if isinstance(data, Scalar):
        return _from_values([data], (), target or dtypes.of_scalar(data), target_device, op)
    if isinstance(data, str):
        number: list[Any] = []
        _flatten(data, (), number, {}, target, op)  # without a dtype, it raises an error
        return _from_values(number, (), target or dtypes.DEFAULT.floating, target_device, op)
    if hasattr(data, "__array_interface__"):
        return _from_array(data, target, target_device, op)
    try:
        view = memoryview(data)
    except TypeError:
        words = f"not {type(data).__name__}{_hint_for(data)}"
        raise TypeError(f"{op}: takes scalars, nested lists, buffers and arrays, {words}") from None
    if isinstance(data, bytes) and target is None:
        raise DTypeError(f"{op}: bytes (buffer format 'B') may be text; pass a dtype")
    return _from_buffer(view, target, target_device, op)


def _hint_for(data: Any) -> str:
    if hasattr(data, "to_py"):  # Pyodide's proxy of a JavaScript object
        return "; use its .to_py(), a buffer for a typed array and a list for an Array"
    return "; use list(...)" if isinstance(data, Iterable) else ""


def _from_values(
    values: Sequence[Any], shape: Shape, dtype: DType, device: Device, op: str
) -> Tensor:
    """Create a tensor from Python scalars in row-major order."""
    meta = _checked(op, shape, dtype, device)
    return _uploaded(_packed(values, shape, dtype, op), meta)


def _packed(values: Sequence[Any], shape: Shape, dtype: DType, op: str) -> bytes | packed[Any]:
    """Pack Python scalars as elements; each must fit, except that large floats become infinite."""
    try:
        return dtype.packed(values)
    except (OverflowError, TypeError):
        pass  # Floats for an integer dtype, or values out of range, are handled below.
    for number, value in enumerate(values):
        dtypes.check_range(op, value, dtype, _place(number, shape))
    return dtype.packed([*map(int, values)])


def _place(number: int, shape: Shape) -> str:
    """Return a description of the position of an element, for errors."""
    index = unravel(number, shape)
    if not index:
        return ""
    return f" at index {index[0] if len(index) == 1 else index}"


def _uploaded(data: Any, meta: Meta) -> Tensor:
    """Upload the bytes of elements in row-major order as a tensor; beside a trace, below it."""
    if not meta.size:
        return Tensor(empty_node(meta))
    device = meta.device.storing
    if device is not meta.device:
        meta = meta_of(meta.shape, meta.dtype, device)
    return Tensor(leaf(meta, device.upload(memoryview(data).cast("B"), meta)))


def from_bytes(op: str, data: bytes, shape: Shape, dtype: DType, device: Device) -> Tensor:
    """Create a tensor from the bytes of its elements in row-major order.

    Raises
    ------
    ShapeError
        If there are too many axes.
    DTypeError
        If the device does not support the dtype.
    """
    return _uploaded(data, _checked(op, check_rank(op, shape), dtype, device))


def _checked(op: str, shape: Shape, dtype: DType, device: Device) -> Meta:
    """Return the meta of a new tensor, which its device must support."""
    meta = meta_of(shape, dtype, device)
    device.check(op, meta)
    return meta


def _from_known(
    elements: Sequence[Any], shape: Shape, dtype: DType | None, op: str
) -> Tensor | None:
    """Create a tensor from Python numbers and 0-d tensors that the cpu device has computed.

    Return None for other elements, or if the conversion to `dtype` needs a check or a warning.
    """
    if is_recording() or len(elements) > MAX_AT_ONCE or not (dtype is None or dtype.is_floating):
        return None
    values, kinds = list[Any](), dict[DType, None]()
    for x in elements:
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            meta = node.meta
            if node.storage is None or meta.shape or meta.device is not CPU_DEVICE:
                return None
            kinds[meta.dtype] = None
            values.append(node.storage.item())
        elif isinstance(x, Scalar):
            kinds[dtypes.of_scalar(x)] = None
            values.append(x)
        else:
            return None
    widest = _widest(kinds)
    if dtype is not None and widest.is_complex:
        return None
    return _from_values(values, shape, dtype or widest, CPU_DEVICE, op)


def _from_nested(
    data: Sequence[Any], dtype: DType | None, device: str | Device | None, op: str
) -> Tensor:
    """Create a tensor from nested lists; tensors in them are operands, or are read."""
    shape = check_rank(op, _shape_of(data))
    elements, types = _joined(data, shape)
    if Tensor in types:
        if device is None or parse(device) is CPU_DEVICE:
            known = _from_known(elements, shape, dtype, op)
            if known is not None:
                return known
        inner = next(x.device for x in elements if type(x) is Tensor)
        are_numbers = types <= {Tensor, bool, int, float, complex}
        if _holds_tensors_alone(data) or (are_numbers and _needs_operands(elements)):
            return _make(_stacked(data, inner, op), dtype, device, op)
        device = inner if device is None else device
    if all(issubclass(t, Scalar) for t in types):
        values, kinds = elements, dict.fromkeys(map(_of_type, types))
    elif _are_alike(elements, types):
        array = host.load_numpy().array(elements).reshape(shape)
        return _from_array(array, dtype, parse(device), op)
    else:
        values, kinds = list[Any](), dict[DType, None]()
        _flatten(data, shape, values, kinds, dtype, op)
    return _from_values(values, shape, dtype or _widest(kinds), parse(device), op)


def _joined(data: Sequence[Any], shape: Shape) -> tuple[Sequence[Any], set[type]]:
    """Return the elements of nested lists, and the set of their types.

    The types include a list type if the nesting does not match `shape`. This avoids a Python loop
    over the elements, which would take most of the time.
    """
    for n in shape[1:]:
        if not set(map(type, data)) <= _NESTED or set(map(len, data)) != {n}:
            break
        data = list(chain.from_iterable(data))
    return data, set(map(type, data))


def _of_type(scalar: type) -> DType:
    """Return the dtype of the scalars of a Python type or of a subclass of one."""
    plain = next(kind for kind in (bool, int, float, complex) if issubclass(scalar, kind))
    return dtypes.of_scalar(plain(0))


def _are_alike(values: Sequence[Any], types: set[type]) -> bool:
    """Return whether all values are NumPy arrays or scalars with the same shape and dtype."""
    first = values[0]
    return (
        len(types) == 1
        and hasattr(first, "__array_interface__")
        and all(x.shape == first.shape and x.dtype == first.dtype for x in values)
    )


def _is_nested(data: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(data, list | tuple | range)


def _is_array(data: Any) -> bool:
    return hasattr(data, "__array_interface__") and data.ndim > 0


def _holds_tensors_alone(data: Sequence[Any]) -> bool:
    return bool(data) and all(
        _holds_tensors_alone(x) if _is_nested(x) else isinstance(x, Tensor) for x in data
    )


def _needs_operands(values: Sequence[Any]) -> bool:
    """Return whether tensors among values must be operands of the result, not be read."""
    return is_recording() or any(isinstance(x, Tensor) and x.device.depth for x in values)


def _stacked(data: Sequence[Any], device: Device, op: str) -> Tensor:
    """Join nested lists of tensors and numbers into one tensor, without reading them."""
    tensors: list[Tensor] = []
    for x in data:
        if _is_nested(x):
            tensors.append(_stacked(x, device, op))
        elif isinstance(x, Tensor):
            tensors.append(x)
        else:
            tensors.append(Tensor(constant(op, x, dtypes.of_scalar(x), device)))
    for x in tensors[1:]:
        if x.shape != tensors[0].shape:
            raise _ragged(op, f"shape {tensors[0].shape}", f"shape {x.shape}")
    dtype = _widest({x.dtype: None for x in tensors})
    operands: list[Any] = coerce(op, tensors)  # an error about devices names `op`
    return stack([converted(x, dtype) for x in operands])


def _shape_of(data: Any) -> Shape:
    """Return the shape of nested lists, from the first item at each level."""
    shape: list[int] = []
    while _is_nested(data):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return (*shape, *getattr(data, "shape", ()))


_READ: dict[Callable[[Any], Any], Callable[[Any], Any]] = {
    float: lambda x: math.nan if x is None else float(x),
    complex: lambda x: complex(math.nan, math.nan) if x is None else complex(x),
    int: int,
}
"""The conversion of text, None, Decimal and similar values, by Python's type of the dtype."""


def _flatten(
    data: Any,
    shape: Shape,
    values: list[Any],
    kinds: dict[DType, None],
    dtype: DType | None,
    op: str,
) -> None:
    """Append the scalars in row-major order; nesting is at most as deep as a tensor's rank."""
    if isinstance(data, Scalar):
        if shape:
            raise _ragged(op, f"a sequence of length {shape[0]}", "a scalar")
        values.append(data)
        kinds[dtypes.of_scalar(data)] = None
    elif _is_nested(data):
        if not shape:
            raise _ragged(op, "a scalar", f"a sequence of length {len(data)}")
        if len(data) != shape[0]:
            raise _ragged(op, f"a sequence of length {shape[0]}", f"length {len(data)}")
        for item in data:
            _flatten(item, shape[1:], values, kinds, dtype, op)
    elif hasattr(data, "shape"):
        if tuple(data.shape) != shape:
            raise _ragged(op, f"shape {shape}", f"shape {tuple(data.shape)}")
        kinds[data.dtype if isinstance(data, Tensor) else _of_array(data, op)] = None
        values.extend(data.reshape(-1).tolist())
    elif dtype is not None and not shape and (read := _READ.get(dtypes.converter(dtype))):
        try:
            values.append(read(data))
        except (TypeError, ValueError):
            error = ValueError if isinstance(data, str) else TypeError
            words = f"must be scalars, and {data!r} is not {dtype}"
            raise error(f"{op}: list elements {words}") from None
    else:
        if isinstance(data, str | bytes):
            raise dtypes.no_text(op)
        raise TypeError(f"{op}: list elements must be scalars, not {type(data).__name__}")


def _of_array(data: Any, op: str) -> DType:
    """Return the dtype to which a NumPy array or scalar is converted."""
    host_dtype = data.dtype
    return dtypes.of_host(op, host_dtype.kind, host_dtype.itemsize, f"NumPy's {host_dtype.name}")


def _ragged(op: str, expected: str, got: str) -> ShapeError:
    return ShapeError(f"{op}: the lists are ragged: expected {expected}, got {got}")


def _widest(kinds: Mapping[DType, None]) -> DType:
    """Return the common dtype. The order matters, because promotion is not associative."""
    return reduce(dtypes.promote, kinds) if kinds else dtypes.DEFAULT.floating


def _from_array(data: Any, dtype: DType | None, device: Device, op: str) -> Tensor:
    """Create a tensor from a NumPy array or scalar, using NumPy's conversions."""
    np = host.load_numpy()
    array = np.asarray(data)
    target = dtype or _of_array(array, op)
    if array.dtype.name == dtypes.bfloat16.name:
        array = array.astype(dtypes.bfloat16.host)
    shape = check_rank(op, tuple(array.shape))
    meta = _checked(op, shape, target, device)
    with np.errstate(all="ignore"):
        if array.size and target.is_integer and (has_integers(array) or has_floats(array)):
            _check_elements(np, array, target, op)
        flat = np.ascontiguousarray(array.astype(target.host, copy=False)).reshape(-1)
    return _uploaded(encoded(np, flat, target).view("u1"), meta)


def _check_elements(np: Any, array: Any, dtype: DType, op: str) -> None:
    """Raise an error if an integer dtype cannot hold an element of an array."""
    if np.can_cast(array.dtype, dtype.name):
        return
    low, high = dtypes.integer_range(dtype)
    whole = array if has_integers(array) else np.trunc(array.astype("float64"))
    if not low <= whole.min().item() <= whole.max().item() <= high:
        number = int(np.argmin((whole >= low) & (whole < high + 1)))
        where = _place(number, array.shape)
        dtypes.check_range(op, array.reshape(-1)[number].item(), dtype, where)


def _from_buffer(view: memoryview, dtype: DType | None, device: Device, op: str) -> Tensor:
    """Create a tensor from any buffer; its format determines the dtype."""
    order, code = view.format[:-1], view.format[-1:]
    is_complex = order.endswith("Z")
    order = order.removesuffix("Z")
    kind = _KINDS.get(code, "") if order in ("", "@", "=", "<", ">", "!") else ""
    kind = "c" if is_complex and kind == "f" else kind
    stored = dtypes.of_host(op, kind, view.itemsize, f"the buffer format {view.format!r}")
    shape, target = check_rank(op, tuple(view.shape or ())), dtype or stored
    meta = _checked(op, shape, target, device)
    data = view.tobytes()
    same = (kind, view.itemsize) == (target.kind, target.itemsize)
    if same and order not in (">", "!"):
        return _uploaded(data, meta)
    values = unpack(f"{order}{len(data) // view.itemsize * (1 + is_complex)}{code}", data)
    if is_complex:
        values = tuple(map(complex, values[::2], values[1::2]))
    return _uploaded(_packed(values, shape, target, op), meta)


def to(x: Tensor, device: str | Device) -> Tensor:
    """Move the tensor to another device; return self if it is already there."""
    target = parse(device)
    if target is x.device or (x.device.depth and target is x.device.storing):
        return x
    if target.depth:
        node = x._node  # pyright: ignore[reportPrivateUsage]
        lifted = target.lifted(node, Tensor(node))
        if lifted is not None:
            return Tensor(lifted)
    check_constant(x._node, "to")  # pyright: ignore[reportPrivateUsage]
    meta = _checked("to", x.shape, x.dtype, target)
    return _uploaded(x._read(), meta)  # pyright: ignore[reportPrivateUsage]


def to_device(x: Tensor, device: str | Device, /, *, stream: Any = None) -> Tensor:
    """The array API standard's name for `to`; `stream` must be None."""
    if stream is not None:
        raise ValueError(f"to_device: stream must be None, not {stream!r}")
    return to(x, device)


def _namespace(x: Tensor, /, *, api_version: str | None = None) -> Any:
    """Return the namespace of the array API standard: this library."""
    if api_version not in (None, *API_VERSIONS):
        known = ", ".join(API_VERSIONS)
        words = f"must be one of {known}, not {api_version!r}"
        raise ValueError(f"__array_namespace__: api_version {words}")
    return public()


API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the array API standard; each includes the names of the earlier ones."""


def _dlpack(
    x: Tensor,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Export the elements in host memory, for `from_dlpack` of other libraries.

    A C-contiguous tensor on the cpu device shares its memory, read-only; a later write to the
    tensor goes to new memory. DLPack before 1.0 has no read-only flag, so a consumer without
    `max_version` gets a copy, as for any other tensor.

    Raises
    ------
    BufferError
        If `copy` is False and a copy is needed, or another device is requested.
    """
    if dl_device is not None and tuple(dl_device) != _HOST:
        raise BufferError(f"__dlpack__: can only export to host memory, not to device {dl_device}")
    check_constant(x._node, "__dlpack__")  # pyright: ignore[reportPrivateUsage]
    node, layout = x._stored()  # pyright: ignore[reportPrivateUsage]
    may_share = node.meta.device is CPU_DEVICE and layout is None and (max_version or (0,))[0] > 0
    if copy is False and not may_share:
        raise BufferError(
            "__dlpack__: copy=False needs a C-contiguous tensor on the cpu device,"
            " and a consumer of read-only memory (DLPack 1.0 or later)"
        )
    backend: Any = with_backend(node.meta.device).backend
    shared = may_share and x.size
    data = backend.share(node) if shared else x._read()  # pyright: ignore[reportPrivateUsage]
    # NumPy exports the bits of a dtype that it does not have.
    exported = x.dtype.name if x.dtype.is_numpys else f"u{x.itemsize}"
    flat = host.load_numpy().frombuffer(data, exported, x.size)
    options = {} if max_version is None else {"max_version": max_version}
    capsule = flat.reshape(x.shape).__dlpack__(copy=copy or not may_share, **options)
    if not x.dtype.is_numpys:
        from py_tensor.convert.dlpack import BFLOAT, UNSIGNED, recoded  # ctypes loads slowly

        recoded(capsule, UNSIGNED, BFLOAT)
    return capsule


_HOST = (1, 0)  # DLPack's device type of the CPU, and the device index


def _dlpack_device(x: Tensor, /) -> tuple[int, int]:
    """Return the device of `__dlpack__`'s elements: the host."""
    return _HOST


def _reduced(x: Tensor) -> tuple[Any, ...]:
    """Return the content of a pickle; the tensor is restored on the default device."""
    check_constant(x._node, "pickle")  # pyright: ignore[reportPrivateUsage]
    data = bytes(x._read())  # pyright: ignore[reportPrivateUsage]
    return _restored, (data, x.shape, x.dtype.name)


def _restored(data: bytes, shape: Shape, dtype: str) -> Tensor:
    """Restore a tensor from a pickle."""
    return from_bytes("pickle", data, shape, dtypes.parse(dtype), parse(None))


convert_by(asarray)
install("to", to)
install("to_device", to_device)
install("__array_namespace__", _namespace)
install("__dlpack__", _dlpack)
install("__dlpack_device__", _dlpack_device)
install("__reduce__", _reduced)
