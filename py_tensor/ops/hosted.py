"""Results that NumPy computes on the host for tensors of any device; `pt.explain` reports them."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from py_tensor.backend.device import Device
from py_tensor.backend.storage import Storage
from py_tensor.dtypes import DType
from py_tensor.graph.node import Node
from py_tensor.tensor import Tensor, tensor_of

_functions: WeakKeyDictionary[Storage, str] = WeakKeyDictionary()
"""By which function the elements in a buffer were computed."""


def from_host(op: str, found: Any, dtype: DType, device: Device) -> Tensor:
    """What NumPy found for the function `op`, as a tensor."""
    x = tensor_of(found, op, dtype=dtype, device=device)
    storage = x._node.storage  # pyright: ignore[reportPrivateUsage]
    if isinstance(storage, Storage):
        _functions[storage] = op
    return x


def computed_by(node: Node) -> str | None:
    """The function that had a node's elements computed on the host, if one had."""
    storage = node.storage
    return _functions.get(storage) if isinstance(storage, Storage) else None
