"""Results that NumPy computes on the host for tensors of any device; `pt.explain` reports them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from py_tensor.base.dtypes import DType
from py_tensor.ir.node import Device, Node
from py_tensor.runtime.pool import Storage
from py_tensor.tensors.tensor import Tensor, tensor_of

R = TypeVar("R")


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


def hosted(parameters: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return a decorator for a function with NumPy's parameters, such as ``"x, base=2"``.

    The function gets all arguments by name, and its errors name it.
    """
    declared = signature(eval(f"lambda {parameters}: None"))

    def decorate(call: Callable[..., R]) -> Callable[..., R]:
        op = call.__qualname__.removesuffix(".__init__")

        @wraps(call)
        def function(*args: Any, **options: Any) -> R:
            with naming(op):
                bound = declared.bind(*args, **options)
                bound.apply_defaults()
                return call(**bound.arguments)

        result = signature(call).return_annotation
        function.__signature__ = declared.replace(return_annotation=result)  # type: ignore
        return function

    return decorate


_RENAMED = (
    AttributeError, IndexError, OverflowError, TypeError, ValueError, ZeroDivisionError,
)  # fmt: skip


def computed_by(node: Node) -> str | None:
    """Return the function that computed a node's elements on the host, if any."""
    storage = node.storage
    return (storage.source or None) if isinstance(storage, Storage) else None
