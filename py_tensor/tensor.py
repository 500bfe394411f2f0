"""The Tensor: a handle on a node. Ops, methods and operators are put on it by `py_tensor.ops`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from py_tensor.backend.device import Device
from py_tensor.dtypes import DType, typed
from py_tensor.graph.node import Meta, Node, make
from py_tensor.graph.op import Movement
from py_tensor.graph.order import bottom
from py_tensor.graph.primitives import CONST, COPY, INDEX
from py_tensor.graph.store import is_flat
from py_tensor.shapes import Shape, row_major

if TYPE_CHECKING:
    from py_tensor.typing import Methods
else:
    Methods = object


class Tensor(Methods):
    """An immutable n-dimensional array of one dtype on one device.

    Made by `pt.tensor`, `pt.zeros` and their like, and by ops. Ops check their operands at once
    and compute later: when somebody reads (`print`, `tolist`, `numpy`, `float`), at `realize`, or
    when much is pending.
    """

    __slots__ = ("__weakref__", "_node")
    __hash__ = object.__hash__  # == compares elements

    def __init__(self, node: Node) -> None:
        # In this order: an interrupt between the two costs a buffer, the other way a result.
        try:
            node.live += 1
        except AttributeError:
            raise TypeError(
                f"Tensor: tensors are made with pt.tensor(...), not of {type(node).__name__}"
            ) from None
        self._node = node
        if node.storage is None:
            node.meta.device.record(node)

    def __del__(self) -> None:
        try:
            node = self._node
        except AttributeError:  # interrupted in __init__
            return
        node.live -= 1
        if not node.live:
            node.meta.device.forget(node)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is not there, and what there is instead."""
            from py_tensor.absent import refuse_method

            refuse_method(name, self)

    # -- What it is -----------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The size of each axis."""
        return self._node.meta.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._node.meta.dtype

    @property
    def device(self) -> Device:
        """Where the elements live."""
        return self._node.meta.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._node.meta.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._node.meta.size

    @property
    def itemsize(self) -> int:
        """Bytes per element on the host."""
        return self._node.meta.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements on the host."""
        return self._node.meta.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis, of the contiguous host copy."""
        return tuple(self.itemsize * s for s in row_major(self.shape))

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: object) -> Tensor:
        return self  # it never changes

    def __reduce__(self) -> tuple[Any, ...]:
        """The elements, for pickling; where they are restored they go to the default device."""
        return _restored, (bytes(self._read()), self.shape, self.dtype.name)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        """Whether an element equals `value`, which broadcasts."""
        found: Any = self == value
        return bool(found.any()) if isinstance(found, Tensor) else False

    # -- Computing it ---------------------------------------------------------------------------

    def realize(self) -> Tensor:
        """Start computing the elements, without waiting for the GPU; returns self."""
        realize(self)
        return self

    def _to_read(self) -> Node:
        """A node with this tensor's elements, contiguous, that is computed where it is read."""
        node = self._node
        if node.meta.size == 0:
            return node
        while node.storage is None and is_flat(node):  # the same elements in the same order
            node = node.inputs[0]
        if node.storage is None:
            node.meta.device.backend.check(self._node.op.name, node.meta)
            if isinstance(node.op, Movement) or node.op is CONST or node.op is INDEX:
                node = make(COPY, (node,), None, node.meta)
        return node

    def _stored(self) -> Node:
        """A node with this tensor's elements, contiguous and computed, that is read next."""
        node = self._to_read()
        if node.storage is None and node.meta.size:
            node.meta.device.compute([node], read=node)
        return node

    def _read(self) -> memoryview:
        """The elements as bytes, waiting for the GPU."""
        node = self._stored()
        return node.meta.device.backend.read(node)

    async def _read_async(self) -> memoryview:
        node = self._stored()
        return await node.meta.device.backend.read_async(node)

    # -- Taking it out --------------------------------------------------------------------------

    def _flat(self, data: memoryview) -> list[Any]:
        return typed(data, self.dtype.typecode).tolist() if self.size else []

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars; of a 0-d tensor, the scalar."""
        return _nest(self._flat(self._read()), self.shape)

    def item(self) -> Any:
        """The only element, as a Python scalar.

        Raises
        ------
        ValueError
            If there is not exactly one element.
        """
        if self.size != 1:
            raise ValueError(
                f"item: a tensor of shape {self.shape} has {self.size} elements, not one"
            )
        return self._flat(self._read())[0]

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"bool: the truth of a tensor of shape {self.shape} is ambiguous; "
                "use any() or all()"
            )
        return bool(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError(
                f"only a 0-d integer tensor is an index, not {self.dtype} of shape {self.shape}"
            )
        return int(self.item())

    def _scalar(self, kind: str) -> Any:
        if self.ndim:
            raise TypeError(f"{kind}: only a 0-d tensor is a scalar, not one of shape {self.shape}")
        return self.item()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self.ndim else object.__format__(self, spec)

    def __buffer__(self, flags: int) -> memoryview:
        """The elements, read-only and contiguous, for `memoryview(x)` from Python 3.12 on."""
        if not self.size and self.ndim > 1:  # which a memoryview cannot say; NumPy asks __array__
            raise BufferError(f"a tensor of shape {self.shape} has no elements to look at")
        shape = self.shape if self.size else None
        return typed(self._read().toreadonly(), self.dtype.typecode, shape)

    def numpy(self) -> Any:
        """The elements as a new NumPy array of the same shape and dtype."""
        from py_tensor.backend.bridge import load_numpy

        return self._as_array(load_numpy(), self._read())

    async def to_numpy_async(self) -> Any:
        """The same, awaited: for hosts in which Python cannot block."""
        from py_tensor.backend.bridge import load_numpy_async

        return self._as_array(await load_numpy_async(), await self._read_async())

    def _as_array(self, np: Any, data: memoryview) -> Any:
        flat = np.frombuffer(data, dtype=self.dtype.name, count=self.size)
        return flat.reshape(self.shape).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("a tensor's elements cannot be seen by NumPy without a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from py_tensor.numpy_functions import of_ufunc

        return of_ufunc(ufunc.__name__, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        from py_tensor.numpy_functions import of_function

        return of_function(function, args, options)

    # -- Elsewhere ------------------------------------------------------------------------------

    def to(self, device: str | Device) -> Tensor:
        """The same elements on another device; self if it is there already."""
        from py_tensor.interop import to_device

        return to_device(self, device)

    def __setitem__(self, index: object, value: object) -> None:
        raise TypeError("tensors are immutable: make a new one with pt.where(mask, value, x)")

    def __repr__(self) -> str:
        from py_tensor.interop import text

        return text(self, "repr")

    def __str__(self) -> str:
        from py_tensor.interop import text

        return text(self, "str")

    async def __repr_async__(self) -> str:
        """`repr` for hosts in which Python cannot block."""
        from py_tensor.interop import text_async

        return await text_async(self, "repr")


def _nest(flat: list[Any], shape: Shape) -> Any:
    if not shape:
        return flat[0]
    if not flat:
        return _empty(shape)
    for n in reversed(shape[1:]):
        flat = [flat[i : i + n] for i in range(0, len(flat), n)]
    return flat


def _empty(shape: Shape) -> list[Any]:
    """Nested lists of a shape that holds no element."""
    return [_empty(shape[1:]) for _ in range(shape[0])] if len(shape) > 1 else []


def realize(*tensors: Tensor) -> None:
    """Start computing all of `tensors`, together, without waiting for the GPU.

    Raises
    ------
    MemoryError
        For one that is larger than the device's largest buffer.
    """
    by_device: dict[Device, list[Node]] = {}
    checked: Meta | None = None
    for x in tensors:
        node = x._node  # pyright: ignore[reportPrivateUsage]
        meta = node.meta
        if node.storage is None and meta.size:
            if meta is not checked:
                lowest = bottom(node)
                if lowest.storage is None and lowest.meta.size == meta.size:
                    meta.device.backend.check(node.op.name, meta)
                    checked = meta
            try:
                by_device[meta.device].append(node)
            except KeyError:
                by_device[meta.device] = [node]
    for device, nodes in by_device.items():
        device.compute(nodes)


Method = Callable[..., Any]
INSTALLED: set[str] = set()  # names of methods, operators and properties that definitions add


def install(name: str, function: Method | property) -> None:
    """Make `function` a method of Tensor; its first parameter is the tensor."""
    INSTALLED.add(name)
    setattr(Tensor, name, function)


__all__ = ["INSTALLED", "Tensor", "install", "realize"]


def _restored(data: bytes, shape: Shape, dtype: str) -> Tensor:
    """A tensor out of a pickle."""
    from py_tensor.dtypes import parse, typed
    from py_tensor.interop import tensor

    kind = parse(dtype)
    return tensor(typed(memoryview(data), kind.typecode), dtype=kind).reshape(shape)
