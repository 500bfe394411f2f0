"""The generator behind the functions of `py_tensor.random`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from py_tensor.graph.node import Device
from py_tensor.ops.define import register
from py_tensor.ops.operands import Operand
from py_tensor.random.bit_generator import Seed
from py_tensor.random.generator import Generator
from py_tensor.random.parameters import Size
from py_tensor.tensor import Tensor

__all__ = ["manual_seed", "rand", "randint", "randn"]

P = ParamSpec("P")
R = TypeVar("R")
_default = Generator()


def default_generator() -> Generator:
    """Return the generator behind the functions."""
    return _default


def function_of(method: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Return a function that calls a method of the default generator."""

    @wraps(method)
    def function(*args: P.args, **options: P.kwargs) -> R:
        return method(_default, *args, **options)

    called = signature(method)
    vars(function)["__signature__"] = called.replace(parameters=[*called.parameters.values()][1:])
    return function


def manual_seed(seed: Seed) -> Generator:
    """Reseed the generator behind `rand`, `randn` and `randint`, and return it."""
    global _default
    _default = Generator(seed)
    return _default


def rand(*shape: Any, device: str | Device | None = None) -> Tensor:
    """Draw float32 numbers from the uniform distribution over [0, 1): `rand(2, 3)`."""
    return _default.rand(*shape, device=device)


def randn(*shape: Any, device: str | Device | None = None) -> Tensor:
    """Draw float32 numbers from the standard normal distribution."""
    return _default.randn(*shape, device=device)


def randint(
    low: Operand,
    high: Operand | None = None,
    size: Size = None,
    dtype: object = None,
    *,
    device: str | Device | None = None,
) -> Tensor:
    """Draw integers from `low` (inclusive) to `high` (exclusive).

    If `high` is None, draw from 0 to `low`. The result has `dtype`, int32 by default.
    """
    return _default.randint(low, high, size, dtype, device=device)


for _function in (rand, randn, randint):
    register(_function, method=False)
