"""Results that NumPy computes on the host for tensors of any device; `pt.explain` reports them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from py_tensor.base.dtypes import DType
from py_tensor.ir.node import Device, Node
from py_tensor.runtime.pool import Storage
from py_tensor.tensors.tensor import Tensor, tensor_of


def from_host(op: str, array: Any, dtype: DType, device: Device) -> Tensor:
    """Convert NumPy's result of the function `op` to a tensor."""
    x = tensor_of(array, op, dtype=dtype, device=device)
    storage = x._node.storage  # pyright: ignore[reportPrivateUsage]
    if isinstance(storage, Storage):
        storage.source = op
    return x


@contextmanager
def naming(op: str) -> Generator[None]:
    """Let the errors of NumPy name the function that was called."""
    try:
        yield
    except _RENAMED as error:
        words = str(error) or "the divisor is 0"
        if type(error) in _RENAMED and not words.startswith(f"{op}:"):
            error.args = (f"{op}: {words}",)  # the same error, with its cause and its traceback
        raise


_RENAMED = (
    AttributeError, IndexError, OverflowError, TypeError, ValueError, ZeroDivisionError,
)  # fmt: skip


def computed_by(node: Node) -> str | None:
    """Return the function that computed a node's elements on the host, if any."""
    storage = node.storage
    return (storage.source or None) if isinstance(storage, Storage) else None
