"""The generator behind the functions of `py_tensor.random`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from py_tensor.random.bit_generator import Seed
from py_tensor.random.generator import Generator

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
    function.__module__, function.__qualname__ = "py_tensor.random", method.__name__  # for pickles
    return function


def manual_seed(seed: Seed) -> Generator:
    """Reseed the generator behind `rand`, `randn` and `randint`, and return it."""
    global _default
    _default = Generator(seed)
    return _default


rand = function_of(Generator.rand)
randint = function_of(Generator.randint)
randn = function_of(Generator.randn)
