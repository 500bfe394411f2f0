"""What a distribution is defined by: rules for its parameters, and a function of its draw.

Parameters are numbers, lists, arrays or tensors, and broadcast. Values on the host are checked.
Elements of tensors are not checked: invalid ones give NaN or an arbitrary number.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc, signature
from typing import Any, Concatenate, NamedTuple, ParamSpec

from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import ShapeError
from py_tensor.base.shapes import Shape, broadcast, parse_shape
from py_tensor.ir.bind import bind
from py_tensor.ir.node import Device, meta_of
from py_tensor.ir.op import Elementwise
from py_tensor.ir.primitives import const
from py_tensor.ops.define import declared
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand, lift, number_like, numbers_of, on_one_device
from py_tensor.ops.out import stored_whole, target_of
from py_tensor.ops.record import empty_node
from py_tensor.random import threefry
from py_tensor.random.bit_generator import BitGenerator
from py_tensor.random.generator import Core
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

Size = Any  # an int, a tuple of ints, or None


@dataclass(frozen=True)
class Rule:
    """A condition on one parameter, or on several.

    Attributes
    ----------
    words : str
        The condition in words, for errors.
    breaks : callable
        The test of numbers, or of NumPy arrays.
    dtype : DType, optional
        The dtype to which lists and arrays are converted.
    error : type
        The exception for a broken rule.
    """

    words: str
    breaks: Callable[..., Any]
    dtype: DType | None = None
    error: type[Exception] = ValueError


_RULES: dict[str, Callable[[Any], Any]] = {
    "a number": lambda v: False,
    "at least 0": lambda v: v < 0,
    "above 0": lambda v: v <= 0,
    "above 1": lambda v: (v <= 1) | (v != v),
    "above 0 and up to 1": lambda v: (v <= 0) | (v > 1) | (v != v),
    "from 0 to 1": lambda v: (v < 0) | (v > 1) | (v != v),
    "from 0 to below 1": lambda v: (v < 0) | (v >= 1) | (v != v),
    "from 0 to 2147020237": lambda v: (v < 0) | (v > 2147020237) | (v != v),
    "an int from 0 to 2147483647": lambda v: (v < 0) | (v >= 2**31) | (v % 1 != 0),
    "an int from 0 to below 1000000000": lambda v: (v < 0) | (v >= 10**9) | (v % 1 != 0),
}
RULES = {words: Rule(words, breaks) for words, breaks in _RULES.items()}
"""The rules for one parameter, by their words."""

Parameter = tuple[str, Operand, Rule | str]  # a parameter: its name, value and rule


class Draw(NamedTuple):
    """Random numbers to draw.

    Attributes
    ----------
    source : BitGenerator
        The source of random words.
    shape, device
        The shape and the device of the numbers.
    dtype : DType
        The dtype of floating numbers: float64 if a parameter of the distribution is float64. The
        dtype of integers does not depend on it.
    """

    source: BitGenerator
    shape: Shape
    device: Device
    dtype: DType = dtypes.float32

    def by(self, op: Elementwise, *parameters: Any) -> Tensor:
        """Draw one word per element, and apply an op to it, or to its counter, and parameters."""
        kinds = (*op.leading[3:], self.dtype) if op.leading else (dtypes.uint32,) * len(parameters)
        result = meta_of(self.shape, op.result(kinds[-1] if kinds else dtypes.uint32), self.device)
        # Simple ops may be computed in a reduction of them, so their size is not limited here.
        limited = result if op.leading else meta_of((), result.dtype, self.device)
        self.device.check(op.name, limited)
        if not result.size:
            return Tensor(empty_node(result))
        numbers = self.source.numbered(self.shape, self.device)
        if op in threefry.OF_ONE_WORD:  # other ops take the counter and the key
            numbers = (bind(threefry.random_bits, numbers),)
        for value, kind in zip(parameters, kinds, strict=True):
            if type(value) is int and kind.is_unsigned:
                numbers += (const(value, kind, self.device),)
            else:
                numbers += (lift(op.name, value, self.shape, kind, self.device),)
        return Tensor(bind(op, numbers))

    def uniforms(self) -> Tensor:
        """Draw uniform numbers in [0, 1): multiples of 2**-24, or of 2**-53 in float64."""
        if not self.dtype.has_64_bits:
            return self.by(threefry.uniform_from_bits)
        self.device.check("random", meta_of((), self.dtype, self.device))
        high, low = (converted(self.by(threefry.random_bits) >> n, self.dtype) for n in (5, 6))
        return (high * 2.0**26 + low) * 2.0**-53

    def normals(self) -> Tensor:
        if not self.dtype.has_64_bits:
            return self.by(threefry.random_normal)
        radius = (-2 * (-self.uniforms()).log1p()).sqrt()
        return radius * (self.uniforms() * 6.283185307179586).cos()

    def exponentials(self) -> Tensor:
        if not self.dtype.has_64_bits:
            return self.by(threefry.exponential_from_bits)
        return -(-self.uniforms()).log1p()

    def centered(self) -> Tensor:
        """Draw uniform nonzero numbers in (-1/2, 1/2); in float64, odd multiples of 2**-54."""
        if not self.dtype.has_64_bits:
            return self.by(threefry.centered_from_bits)
        return self.uniforms() - (0.5 - 2.0**-54)


# The sections that the docstrings of all distributions share.
def _sections() -> None:
    """size : int or tuple of ints, optional
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
        If a parameter is not a real number.
    """  # noqa: D205


FLOATS = "Of the default dtype, or float64 if a parameter is float64."
COUNTS = "Of dtype int32."
_FLOATING = (dtypes.float32, dtypes.float64)


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
P = ParamSpec("P")


def distribution(
    *joint: Rule, gives: str = FLOATS, **words: str
) -> Callable[[Callable[Concatenate[Draw, P], Tensor]], Callable[Concatenate[Core, P], Tensor]]:
    """Return a decorator that makes a method of `Generator` from a function of a draw.

    The function declares the parameters of the method. It is called with a `Draw` and the checked
    parameters of the distribution, without `size`, `dtype` and `out`. The docstring is completed
    by the sections that all distributions share, unless there is a `dtype`.

    Parameters
    ----------
    joint
        Rules for all parameters together; they are checked first.
    gives : str
        The description of the result's dtype.
    words
        The rules of the parameters, in their order: keys of `RULES`.
    """
    rules = {name: RULES[key] for name, key in words.items()}

    def made(function: Callable[..., Tensor]) -> Any:
        op = function.__name__

        def drawn(
            self: Core, *, size: Any, dtype: Any = None, out: Any = None, **options: Any
        ) -> Tensor:
            values = [options.pop(name) for name in rules]
            for rule in joint:
                check_together(op, rule, *values)
            target = target_of(op, out)
            shape = target.shape if size is None and target is not None else size
            parameters = zip(rules, values, rules.values(), strict=True)
            draw, checked_values = draw_of(self, op, shape, *parameters)
            if dtype is not None or target is not None:
                draw = _for_output(op, draw, dtype, target)
            return stored_whole(op, function(draw, *checked_values, **options), target)

        declaration = signature(function)
        _, *parameters = declaration.parameters.values()
        doc = function.__doc__ and cleandoc(function.__doc__)
        if doc and "dtype" not in declaration.parameters:  # -OO removes docstrings
            head = "\n" if rules else "\n\nParameters\n----------\n"
            doc += head + cleandoc(str(_sections.__doc__)).format(gives=gives)
        of_method = declaration.replace(parameters=[_SELF, *parameters])
        return declared(op, of_method, drawn, doc)

    return made


def _for_output(op: str, draw: Draw, dtype: object, out: Any) -> Draw:
    """Return a draw in a dtype, for a destination.

    Raises
    ------
    TypeError
        If the dtype is not float32 or float64, or not the dtype of `out`.
    """
    tensor = out if isinstance(out, Tensor) else None
    default = draw.dtype if tensor is None else tensor.dtype
    kind = default if dtype is None else dtypes.parse(dtype)
    if kind not in _FLOATING or (tensor is not None and tensor.dtype is not kind):
        raise TypeError(f"{op}: dtype must be float32 or float64, and match out, not {kind}")
    return draw._replace(dtype=kind, device=draw.device if tensor is None else tensor.device)


def draw_of(
    generator: Core, op: str, size: Size, *parameters: Parameter
) -> tuple[Draw, tuple[Any, ...]]:
    """Return the draw of checked parameters, and these; elements of tensors are not checked.

    Raises
    ------
    ValueError
        If a number, or an element of a list or a NumPy array, breaks its rule, or if the parameters
        do not broadcast to the size.
    TypeError
        If a parameter is not real.
    """
    values, device, dtype = checked(op, *parameters)
    shapes = [x.shape for x in values if isinstance(x, Tensor)]
    shape = broadcast(op, *shapes) if shapes else ()
    return Draw(generator.bit_generator, sized(op, size, shape), device, dtype), values


def checked(op: str, *parameters: Parameter) -> tuple[tuple[Any, ...], Device, DType]:
    """Return the checked parameters, the device and the dtype; they need not broadcast."""
    tensors = [value for _, value, _ in parameters if isinstance(value, Tensor)]
    device = on_one_device(op, tensors)[0].device if tensors else default_device()
    values = tuple([_checked(op, *parameter, device) for parameter in parameters])
    floats = [x.dtype for x in values if isinstance(x, Tensor) and x.dtype.is_floating]
    is_wide = any(dtype.has_64_bits for dtype in floats)
    return values, device, dtypes.float64 if is_wide else dtypes.DEFAULT.floating


def sized(op: str, size: Size, shape: Shape) -> Shape:
    """Return the shape of a draw: the size, or by default the broadcast shape of the parameters."""
    if size is None:
        return shape
    asked = parse_shape(op, size)
    if broadcast(op, asked, shape) != asked:
        raise ShapeError(f"{op}: size {asked} does not match parameters of shape {shape}")
    return asked


def _checked(op: str, name: str, value: Operand, rule: Rule | str, device: Device) -> Any:
    rule = RULES[rule] if isinstance(rule, str) else rule
    number = number_like(value)
    if number is not None:
        if isinstance(number, complex):
            raise TypeError(f"{op}: {name} must be a real number, not {number}")
        if rule.breaks(number):
            raise ValueError(f"{op}: {name} must be {rule.words}, not {number}")
        return number
    if not isinstance(value, Tensor):
        if hasattr(value, "__array_interface__"):
            broken = value[rule.breaks(value)].tolist()
        else:
            broken = [v for v in numbers_of(op, value)[0] if rule.breaks(v)]
        if broken:
            raise ValueError(f"{op}: {name} must be {rule.words}, not {broken[0]}")
        value = tensor_of(value, op, dtype=rule.dtype, device=device)
    dtypes.REAL.check(op, value.dtype)
    return value


def check_together(op: str, rule: Rule, *values: Operand) -> None:
    """Raise an error if parameters break a joint rule; skip the check if one is a tensor."""
    if any(isinstance(value, Tensor) for value in values):
        return
    if any(hasattr(value, "__array_interface__") for value in values):
        np = host.load_numpy()
        arrays = np.broadcast_arrays(*values)
        broken = np.stack(arrays, -1)[rule.breaks(*arrays)].tolist()
    else:
        known = [numbers_of(op, value) for value in values]
        shape = broadcast(op, *(shape for _, shape in known))
        rows = zip(*(_spread(*one, shape) for one in known), strict=True)
        broken = [row for row in rows if rule.breaks(*row)]
    if broken:
        raise rule.error(f"{op}: {rule.words}, not {', '.join(map(str, broken[0]))}")


def _spread(numbers: list[Any], shape: Shape, target: Shape) -> list[Any]:
    """Return the elements of an array broadcast to a shape."""
    indices = [0]
    for n, wide in zip((1,) * (len(target) - len(shape)) + shape, target, strict=True):
        indices = [index * n + (i if n > 1 else 0) for index in indices for i in range(wide)]
    return [numbers[index] for index in indices]
