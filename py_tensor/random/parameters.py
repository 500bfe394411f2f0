"""Parameters of distributions, checked and moved to one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from typing import Any, NamedTuple, TypeVar

from py_tensor import dtypes
from py_tensor.backend.choice import default_device
from py_tensor.dtypes import DType
from py_tensor.errors import ShapeError
from py_tensor.graph.node import Device
from py_tensor.ops.operands import Operand, number_like, numbers_of, on_one_device, whole_number
from py_tensor.shapes import Shape, broadcast, parse_shape
from py_tensor.tensor import Tensor, tensor_of

Size = Any  # an int, a tuple of ints, or None
Method = TypeVar("Method", bound=Callable[..., Tensor])


@dataclass(frozen=True)
class Rule:
    """A condition on a parameter: its words for errors, and the test of a number or an array."""

    words: str
    is_broken: Callable[[Any], Any]
    dtype: DType | None = None  # the dtype to which lists and arrays are converted


ANY = Rule("a number", lambda v: False)
NOT_NEGATIVE = Rule("at least 0", lambda v: v < 0)
POSITIVE = Rule("above 0", lambda v: v <= 0)
CHANCE = Rule("from 0 to 1", lambda v: (v < 0) | (v > 1) | (v != v))

Given = tuple[str, Operand, Rule]


class Draw(NamedTuple):
    """The description of a draw.

    Attributes
    ----------
    values : tuple
        The parameters: numbers, and tensors on the device.
    shape, device
        The shape and the device of the result.
    dtype : DType
        The dtype of the random numbers: float64 if a parameter is float64.
    """

    values: tuple[Any, ...]
    shape: Shape
    device: Device
    dtype: DType


_SHAPE = """
size : int or tuple of ints, optional
    The shape of the result; by default the broadcast shape of the parameters.

Returns
-------
Tensor
    {gives}

Raises
------
ValueError
    If a host value is out of its range, or the parameters do not broadcast to `size`.
TypeError
    If a parameter is not a real number."""


def distribution(gives: str) -> Callable[[Method], Method]:
    """Append the sections that all distributions share to the docstring of a method."""

    def completed(method: Method) -> Method:
        if method.__doc__:  # Python removes docstrings with -OO
            method.__doc__ = cleandoc(method.__doc__) + _SHAPE.format(gives=gives)
        return method

    return completed


def draw_of(op: str, size: Size, *given: Given) -> Draw:
    """Return the draw of checked parameters; elements of tensors are not checked.

    Raises
    ------
    ValueError
        If a number, or an element of a list or a NumPy array, breaks its rule, or if the parameters
        do not broadcast to the size.
    TypeError
        If a parameter is not real.
    """
    values, device, dtype = checked(op, *given)
    shape = broadcast(op, *(x.shape for x in values if isinstance(x, Tensor)))
    return Draw(values, sized(op, size, shape), device, dtype)


def checked(op: str, *given: Given) -> tuple[tuple[Any, ...], Device, DType]:
    """Return the checked parameters, the device and the dtype; they need not broadcast."""
    device = _device(op, [value for _, value, _ in given if isinstance(value, Tensor)])
    values = tuple(_checked(op, *parameter, device) for parameter in given)
    given_dtypes = [x.dtype for x in values if isinstance(x, Tensor)]
    is_double = any(dtype.is_floating and dtype.has_64_bits for dtype in given_dtypes)
    return values, device, dtypes.float64 if is_double else dtypes.DEFAULT.floating


def sized(op: str, size: Size, shape: Shape) -> Shape:
    """Return the shape of a draw: the size, or by default the broadcast shape of the parameters."""
    if size is None:
        return shape
    asked = parse_shape(op, size)
    if broadcast(op, asked, shape) != asked:
        raise ShapeError(f"{op}: size {asked} does not match parameters of shape {shape}")
    return asked


FLOATS = "Of the default dtype, or float64 if a parameter is float64."
COUNTS = "Of dtype int32."


def _device(op: str, tensors: list[Tensor]) -> Device:
    return on_one_device(op, tensors)[0].device if tensors else default_device()


def _checked(op: str, name: str, value: Operand, rule: Rule, device: Device) -> Any:
    number = number_like(value)
    if number is not None:
        if isinstance(number, complex):
            raise TypeError(f"{op}: {name} must be a real number, not {number}")
        if rule.is_broken(number):
            raise ValueError(f"{op}: {name} must be {rule.words}, not {number}")
        return number
    if not isinstance(value, Tensor):
        if hasattr(value, "__array_interface__"):
            broken = value[rule.is_broken(value)].tolist()
        else:
            broken = [v for v in numbers_of(op, value)[0] if rule.is_broken(v)]
        if broken:
            raise ValueError(f"{op}: {name} must be {rule.words}, not {broken[0]}")
        value = tensor_of(value, op, dtype=rule.dtype, device=device)
    dtypes.REAL.check(op, value.dtype)
    return value


def count_of(op: str, name: str, value: Any) -> int:
    """Return a value as a nonnegative int."""
    count = whole_number(op, name, value)
    if count < 0:
        raise ValueError(f"{op}: {name} must be at least 0, not {count}")
    return count


def check_together(
    op: str,
    words: str,
    breaks: Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any],
    *given: Operand,
    error: type[Exception] = ValueError,
) -> None:
    """Raise an error if parameters break a joint rule; skip the check if one is a tensor.

    Parameters
    ----------
    breaks
        Returns whether numbers, or elements of NumPy arrays, break the rule.
    """
    is_broken: Callable[..., Any] = breaks
    if any(isinstance(value, Tensor) for value in given):
        return
    if any(hasattr(value, "__array_interface__") for value in given):
        np = import_module("numpy")
        arrays = np.broadcast_arrays(*given)
        broken = np.stack(arrays, -1)[is_broken(*arrays)].tolist()
    else:
        known = [numbers_of(op, value) for value in given]
        shape = broadcast(op, *(shape for _, shape in known))
        rows = zip(*(_spread(*one, shape) for one in known), strict=True)
        broken = [row for row in rows if is_broken(*row)]
    if broken:
        raise error(f"{op}: {words}, not {', '.join(map(str, broken[0]))}")


def _spread(numbers: list[Any], shape: Shape, target: Shape) -> list[Any]:
    """Return the elements of an array broadcast to a shape."""
    places = [0]
    for n, wide in zip((1,) * (len(target) - len(shape)) + shape, target, strict=True):
        places = [place * n + (i if n > 1 else 0) for place in places for i in range(wide)]
    return [numbers[place] for place in places]
