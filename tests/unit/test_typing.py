"""The list of methods that type checkers read is the list of what definitions install."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.tensor import INSTALLED, Tensor
from py_tensor.typing import Methods

METHODS = {name: value for name, value in vars(Methods).items() if inspect.isfunction(value)}
PROPERTIES = {name for name, value in vars(Methods).items() if isinstance(value, property)}
INHERITED = {"__hash__"}  # object's, which a class that defines == must name again


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of each parameter but the tensor itself."""
    _, *rest = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in rest]


def test_every_method_is_typed_and_every_typed_method_is_there() -> None:
    assert pt.Tensor is Tensor
    assert {*METHODS, *PROPERTIES} - INHERITED == INSTALLED


@pytest.mark.parametrize("name", sorted(METHODS))
def test_signature(name: str) -> None:
    typed, installed = parameters(METHODS[name]), parameters(getattr(Tensor, name))
    if name.startswith("__"):  # Python calls operators, with nothing but positions
        assert len(typed) == len(installed)
    else:
        assert typed == installed
