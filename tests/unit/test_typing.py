"""The methods declared for type checkers are those that the op definitions install."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.ops import bitwise, complex, define, elementwise, rounding, transcendental
from py_tensor.tensor import INSTALLED, Tensor
from py_tensor.typing import Methods

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    name: getattr(define, protocol).__call__
    for module in (bitwise, complex, elementwise, rounding, transcendental)
    for name, protocol in inspect.get_annotations(module.Methods).items()
}
OTHERS = {name: value for name, value in vars(Methods).items() if inspect.isfunction(value)}
METHODS = OTHERS | ELEMENTWISE
PROPERTIES = {name for name, value in vars(Methods).items() if isinstance(value, property)}
INHERITED = {"__hash__"}  # inherited from object, but redefined by a class that defines ==


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return each parameter except the tensor itself, without its type."""
    _, *rest = inspect.signature(function).parameters.values()
    return [p.replace(annotation=p.empty) for p in rest]


def test_every_method_is_typed_and_every_typed_method_is_there() -> None:
    assert pt.Tensor is Tensor
    assert not OTHERS.keys() & ELEMENTWISE.keys()
    assert {*METHODS, *PROPERTIES} - INHERITED == INSTALLED


@pytest.mark.parametrize("name", sorted(METHODS))
def test_signature(name: str) -> None:
    typed, installed = parameters(METHODS[name]), parameters(getattr(Tensor, name))
    if name.startswith("__"):  # Python calls operators with positional arguments only
        operands, options = installed[: len(typed)], installed[len(typed) :]
        assert [p.default for p in typed] == [p.default for p in operands]
        assert all(p.default is not p.empty for p in options)
    else:
        assert typed == installed
