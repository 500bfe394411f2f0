"""Recording ops on operands: tensors, arrays and numbers, which are promoted and broadcast.

Decisions that depend only on shapes, dtypes and devices are made once for each combination and
cached as a recipe, so recording an op again costs one lookup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts, DType
from py_tensor.base.errors import DeviceError
from py_tensor.base.shapes import broadcast
from py_tensor.ir.bind import (
    EMPTY,
    Maker,
    Recipes,
    Step,
    ValueMaker,
    bind,
    follow,
    leaf,
    recipe,
    value_maker,
)
from py_tensor.ir.node import Device, Meta, Node, Op, meta_of
from py_tensor.ir.op import Elementwise, Movement
from py_tensor.ir.primitives import CONST, EXPAND, constant
from py_tensor.ops.operands import (
    Operand,
    Scalar,
    coerce,
    common_dtype,
    device_of,
    lift,
    node_of,
    on_one_device,
    steps_to,
)
from py_tensor.tensors.tensor import Tensor


def empty_node(meta: Meta) -> Node:
    return leaf(meta, EMPTY)


def filled(value: Scalar, meta: Meta, op: Movement = EXPAND) -> Tensor:
    """Return a tensor of one value that `op` expands to a shape; no memory until stored."""
    node = constant(op.name, value, meta.dtype, meta.device)
    if not meta.size:
        return Tensor(empty_node(meta))
    return Tensor(bind(op, (node,), meta.shape) if meta.shape else node)


def build(op: Op, inputs: Sequence[Tensor], attrs: Any) -> Tensor:
    """Record an op on tensors."""
    try:
        return Tensor(bind(op, tuple(map(node_of, inputs)), attrs))
    except DeviceError:
        inputs = on_one_device(op.name, inputs)
    return Tensor(bind(op, tuple(map(node_of, inputs)), attrs))


def apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
    """Record an elementwise op on operands, which are coerced, promoted and broadcast."""
    kinds: list[Any] = []
    for x in operands:
        kind: Any = type(x)  # pyright: ignore[reportUnknownVariableType]
        if kind is Tensor:
            kinds.append(x._node.meta)  # pyright: ignore[reportPrivateUsage]
        elif kind is int or isinstance(x, float):  # includes NumPy's float64
            kinds.append(kind if kind is int else float)
        else:
            return _apply(op, operands)
    recorded = _applied[op, *kinds]
    if recorded is None:
        if Meta in map(type, kinds) or op.leading:
            return _apply(op, operands)
        first: Any = operands[0]
        low, high, convert, make_number = _first_numbers[kinds[0], default_device()]
        if kinds[0] is int and not low <= first <= high:
            return _apply(op, operands)
        return apply(op, (Tensor(make_number(convert(first), ())), *operands[1:]))
    before, make, (low, high, convert, make_number) = recorded
    nodes: list[Node] = []
    for x, steps in zip(operands, before, strict=True):
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            nodes.append(follow(node, steps) if steps else node)
        elif isinstance(x, float) or low <= x <= high:
            nodes.append(make_number(convert(x), ()))
        else:
            return _apply(op, operands)
    return Tensor(make(tuple(nodes)))


def _apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
    coerced = coerce(op.name, operands, len(op.leading))
    if not all(isinstance(x, Tensor | Scalar) for x in operands):
        return apply(op, coerced)  # there may be a recipe
    return Tensor(bind(op, lifted(op.name, op.accepts, coerced, op.leading)))


def lifted(
    op: str,
    accepts: Accepts,
    operands: Sequence[Tensor | Scalar],
    leading: tuple[DType, ...] = (),
) -> tuple[Node, ...]:
    """Return the inputs of an elementwise op: operands in one shape and dtype; constants are 0-d.

    The first ones are in the dtypes `leading`. At least one operand is a tensor, see `coerce`.
    """
    shape = broadcast(op, *(x.shape for x in operands if isinstance(x, Tensor)))
    rest = operands[len(leading) :]
    dtype, device = accepts.check(op, common_dtype(op, rest)), device_of(operands)
    device.check(op, meta_of((), dtype, device))
    wanted = *leading, *([dtype] * len(rest))
    return tuple(lift(op, x, shape, d, device) for x, d in zip(operands, wanted, strict=True))


# The conversion of a Python number beside tensors: the accepted ints, and how its node is made.
# These are plain tuples, because unpacking one is faster than reading attributes.
Number = tuple[int, int, Callable[[Any], Scalar], ValueMaker]
# The recipe of an elementwise op for operands of given kinds: the steps from each operand to the
# op's input, none for a number; the maker of the op's node; and that of a number.
Recorded = tuple[tuple[tuple[Step, ...], ...], Maker, Number]


def recipe_of(op: Elementwise, *kinds: Any) -> Recorded | None:
    """Return the recipe of an op for operands, each a meta, or `float` or `int` for a number.

    None if `apply` has to do more: for numbers only, several devices, or no elements.
    """
    metas = [kind for kind in kinds if type(kind) is Meta]
    numbers = [kind for kind in kinds if type(kind) is not Meta]
    if not metas:
        return None
    if any(type(kind) is not Meta for kind in kinds[: len(op.leading)]):
        return None
    if any(m.device is not metas[0].device or not m.size for m in metas):
        return None
    rest = kinds[len(op.leading) :]
    tensors = [kind.dtype for kind in rest if type(kind) is Meta]
    dtype = tensors[0] if tensors else dtypes.of_scalar(numbers[0](0))
    for other in tensors[1:]:
        dtype = dtypes.promote(dtype, other)
    for kind in numbers:
        dtype = dtypes.with_scalar(dtype, kind(0))
    dtype = op.accepts.check(op.name, dtype)
    metas[0].device.check(op.name, meta_of((), dtype, metas[0].device))
    shape = broadcast(op.name, *(m.shape for m in metas))
    wanted = [*op.leading, *([dtype] * len(rest))]
    before = tuple(
        steps_to(kind, shape, target) if type(kind) is Meta else ()
        for kind, target in zip(kinds, wanted, strict=True)
    )
    of_number = meta_of((), dtype, metas[0].device)
    made = recipe(op, before, tuple(k if type(k) is Meta else of_number for k in kinds))
    return before, made.make, _number(of_number)


def _number(meta: Meta) -> Number:
    dtype = meta.dtype
    low, high = dtypes.integers_held(dtype)
    return low, high, dtypes.converter(dtype), value_maker(CONST, meta)


def _number_of(kind: type, device: Device) -> Number:
    return _number(meta_of((), dtypes.of_scalar(kind(0)), device))


# The conversion of the first of several numbers, by its type.
_first_numbers = Recipes[tuple[type, Device], Number](_number_of)
# The results of `recipe_of`, by op and kinds of operands.
_applied = Recipes[tuple[Any, ...], Recorded | None](recipe_of)
