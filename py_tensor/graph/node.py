"""The graph: immutable nodes, each with a structural key computed at its creation."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from py_tensor.dtypes import DType
from py_tensor.layout import Layout
from py_tensor.shapes import Shape, size_of

if TYPE_CHECKING:
    from py_tensor.backend.device import Device
    from py_tensor.graph.op import Op

_TABLE_LIMIT = 1 << 16  # entries; a full table is cleared, which only costs time


class Meta:
    """Shape, dtype and device of a node: one object for each combination, compared by identity."""

    __slots__ = (
        "device", "dtype", "layout", "leaf_key", "nbytes", "shape", "size",
    )  # fmt: skip

    def __init__(self, shape: Shape, dtype: DType, device: Device) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.layout = Layout.contiguous(shape)
        self.size = size_of(shape)
        self.nbytes = self.size * dtype.itemsize
        self.leaf_key = 0  # the key of leaves with this meta, once one was made

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


_metas: dict[tuple[Shape, DType, Device], Meta] = {}
_keys: dict[tuple[Op, Any, Meta], int] = {}
_next_key = count(1).__next__
_next_number = count().__next__


def meta_of(shape: Shape, dtype: DType, device: Device) -> Meta:
    """Return the one Meta for this combination."""
    found = _metas.get((shape, dtype, device))
    if found is None:
        if len(_metas) >= _TABLE_LIMIT:
            _metas.clear()
        # Another thread may have made it meanwhile.
        found = _metas.setdefault((shape, dtype, device), Meta(shape, dtype, device))
    return found


def key_of(op: Op, attrs: Any, meta: Meta) -> int:
    """Return the structural key of a node without its operands.

    Nodes with equal keys compute the same and have equally many operands: for a variadic op,
    `attrs` includes that number. Keys are never reused. After the table is cleared, a structure
    gets a new key, and its plan is made again.
    """
    found = _keys.get((op, attrs, meta))
    if found is None:
        if len(_keys) >= _TABLE_LIMIT:
            _keys.clear()
        found = _keys.setdefault((op, attrs, meta), _next_key())
    return found


DROPPED: deque[Node] = deque()
"""A node for each tensor that ceased to hold it; a device counts these (`Device.collect`)."""


class Node:
    """One op applied to operands.

    A node never changes its value. Only these change: `storage`, when the node is computed (it then
    drops its operands and becomes a leaf), and the counts of how often tensors have taken and
    dropped it.

    Attributes
    ----------
    op, inputs, attrs
        The computation. A constant's value is in `attrs` but not part of the key, so that one plan
        serves every value.
    meta : Meta
    key : int
        The structural key, without operands.
    number : int
        The position in the order of recording; operands come first.
    storage : object or None
        The backend's handle of the computed elements, which are contiguous.
    taken, dropped : int
        How often a tensor began and ceased to hold this node, or a view of its stored elements.
        Calling a node adds it to `DROPPED`, from where `Device.collect` counts it.
    """

    __slots__ = ("attrs", "dropped", "inputs", "key", "meta", "number", "op", "storage", "taken")

    def __init__(self, op: Op, inputs: tuple[Node, ...], attrs: Any, meta: Meta, key: int) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.meta = meta
        self.key = key
        self.number = _next_number()
        self.storage: Any = None
        self.taken = 0
        self.dropped = 0

    # Tensors call this when they are deleted (`Tensor.__del__`). A finalizer must not run any
    # Python code: an interrupt in it would be lost, and it may come while any lock is held. An
    # uncached `lru_cache` turns a function implemented in C into a method implemented in C.
    __call__ = lru_cache(maxsize=0)(DROPPED.append)

    def over(self, inputs: tuple[Node, ...]) -> Node:
        """Return a copy with other operands for planning; it is not computed and has no number."""
        node = Node.__new__(Node)
        node.op, node.inputs, node.attrs = self.op, inputs, self.attrs
        node.meta, node.key, node.storage = self.meta, self.key, None
        return node

    @property
    def live(self) -> int:
        """An upper bound of the number of tensors that hold it, or a view of its elements."""
        return self.taken - self.dropped

    def __repr__(self) -> str:
        state = "realized" if self.storage is not None else "pending"
        return f"<{self.op.name} {self.meta} {state}>"
