"""How an op is defined: one assignment gives the function, the method, the node and its meaning.

    exp = unary("exp", FLOATING, "exp_f32({0})", lambda np, x: np.exp(x), vjp=..., doc="...")

What depends on shapes, dtypes and devices alone is decided once for each combination and kept as a
recipe, so that recording an op again costs one look-up.
"""

from __future__ import annotations

import inspect
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from operator import index as as_index
from typing import Any, Protocol, cast

from py_tensor import dtypes
from py_tensor.backend import bridge
from py_tensor.backend.device import Device
from py_tensor.dtypes import Accepts, DType
from py_tensor.errors import DeviceError, DTypeError, ShapeError
from py_tensor.graph.bind import (
    EMPTY,
    Recipe,
    Recipes,
    Step,
    bind,
    follow,
    is_traced,
    leaf,
    recipe,
    steps,
)
from py_tensor.graph.node import Meta, Node, key_of, meta_of
from py_tensor.graph.op import (
    NOT_DIFFERENTIABLE,
    Elementwise,
    Movement,
    NotDifferentiable,
    Op,
)
from py_tensor.graph.primitives import CAST, CONST, EXPAND, const
from py_tensor.shapes import Shape, broadcast, size_of
from py_tensor.tensor import Tensor, install, tensor_of

Scalar = bool | int | float
Operand = Any  # a Tensor, a Python scalar, or what `asarray` takes

Out = Any  # where a result is to be written: a Tensor, a NumPy array, a tuple of one, or None

# What definitions make.
Unary = Callable[..., Tensor]
Binary = Callable[..., Tensor]


class UnaryMethod(Protocol):
    """The method that `unary` makes."""

    def __call__(
        self, /, out: Out = None, *, where: Operand = True, dtype: object = None
    ) -> Tensor: ...


class BinaryMethod(Protocol):
    """A method that is the function `binary` makes."""

    def __call__(
        self, y: Operand, /, out: Out = None, *, where: Operand = True, dtype: object = None
    ) -> Tensor: ...


# What definitions give: numpy(np, *arrays), and vjp(g, y, *operands, None) with a gradient for each
# operand, or None.
OnArray = Callable[[Any, Any], Any]
OnArrays = Callable[[Any, Any, Any], Any]
UnaryVjp = Callable[[Tensor, Tensor, Tensor, None], tuple[Tensor | None]]
BinaryVjp = Callable[[Tensor, Tensor, Tensor, Tensor, None], tuple[Tensor | None, Tensor | None]]


# The meta and key of the result, and those of the number.
WithNumber = tuple[Meta, int, Meta, int]


REGISTRY: dict[str, Callable[..., Tensor]] = {}


def node_of(x: Tensor) -> Node:
    return x._node  # pyright: ignore[reportPrivateUsage]


def empty_node(meta: Meta) -> Node:
    return leaf(meta, EMPTY)


def filled(value: Scalar, meta: Meta, op: Movement = EXPAND) -> Tensor:
    """A tensor of one value, which `op` expands to the shape; takes no memory until stored."""
    node = constant(op.name, value, meta.dtype, meta.device)
    if not meta.size:
        return Tensor(empty_node(meta))
    return Tensor(bind(op, (node,), meta.shape) if meta.shape else node)


def as_array(x: Tensor) -> Tensor:
    """The tensor, of which a 0-d one is an array from now on, and no scalar."""
    if not node_of(x).meta.shape:
        x._owner()  # pyright: ignore[reportPrivateUsage]
    return x


def as_value(x: Tensor) -> Tensor:
    """A copy, which is a scalar if it is 0-d."""
    return x._value()  # pyright: ignore[reportPrivateUsage]


def number_of(op: str, name: str, value: object) -> Scalar:
    """A Python number, which may come as one of NumPy's; a tensor would have to be read."""
    number = number_like(value)
    if number is not None:
        return number
    if isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":
        raise dtypes.no_complex(op)
    raise TypeError(f"{op}: {name} is one number, not {type(value).__name__}")


def number_like(value: object) -> Scalar | None:
    """A Python number, also where it comes as one of NumPy's; None for anything else."""
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, Tensor) and _is_number(value):
        given = cast("Any", value)
        found = float(given) if given.dtype.kind == "f" else given.item()
        return found if isinstance(found, bool | int | float) else None
    return None


def int_like(value: Any) -> int | None:
    """A Python int, also where it comes as one of NumPy's; None for anything else."""
    is_int = hasattr(value, "__index__") and not getattr(value, "ndim", 0)
    return as_index(value) if is_int else None


def numbers_of(op: str, given: Any) -> tuple[list[Any], Shape]:
    """The elements of an operand as Python numbers, and its shape; a tensor is read."""
    if isinstance(given, list | tuple | range):
        parts = [numbers_of(op, part) for part in cast("list[Any]", given)]
        shapes = {shape for _, shape in parts} or {()}
        if len(shapes) > 1:
            raise ShapeError(f"{op}: the lists are ragged: parts of shapes {sorted(shapes)}")
        return [n for numbers, _ in parts for n in numbers], (len(parts), *shapes.pop())
    number = number_like(given)
    if number is not None:
        return [number], ()
    if not hasattr(given, "tolist"):
        raise TypeError(f"{op}: takes numbers, not {type(given).__name__}")
    return given.reshape(-1).tolist(), tuple(given.shape)


def _is_number(x: object) -> bool:
    """Whether it is a NumPy scalar, or an array without axes."""
    return getattr(x, "ndim", None) == 0 and hasattr(x, "dtype")


def build(op: Op, inputs: Sequence[Tensor], attrs: Any) -> Tensor:
    """An op on tensors."""
    return Tensor(bind(op, tuple(map(node_of, inputs)), attrs))


def steps_to(meta: Meta, shape: Shape, dtype: DType) -> tuple[Step, ...]:
    """The cast and the expansion that lead from `meta` to a shape and a dtype."""
    applied: list[tuple[Op, Any]] = []
    if meta.dtype is not dtype:
        applied.append((CAST, dtype))
    if meta.shape != shape:
        applied.append((EXPAND, shape))
    return steps(meta, *applied)


def _is_wider(number: Any, operands: Sequence[Operand]) -> bool:
    """Whether one of NumPy's integers has more bits than integers of 8 and 16 bits beside it."""
    given = [x.dtype for x in operands if isinstance(x, Tensor)]
    return (
        number.dtype.kind in "iu"
        and number.dtype.itemsize > max(dtype.itemsize for dtype in given)
        and all(dtype.is_small for dtype in given)
        and (number.dtype.kind == "i" or all(dtype.kind == "u" for dtype in given))
    )


def coerce(op: str, operands: Sequence[Operand]) -> list[Tensor | Scalar]:
    """Operands as tensors and Python scalars, at least one of them a tensor; on one device.

    NumPy's scalars beside tensors are as weak as Python's, but for integers beside tensors of
    integers of fewer bits, 8 or 16. Arrays come in at the default precision, but beside a tensor of
    64 bits in their own.
    """
    result: list[Tensor | Scalar] = []
    device: Device | None = None
    wide = False
    for x in operands:
        if isinstance(x, Tensor):
            if device is not None and x.device is not device:
                raise DeviceError(
                    f"{op}: operands on {device} and {x.device}; move one with x.to(device)"
                )
            device = x.device
            wide = wide or x.dtype.itemsize == 8
    for x in operands:
        if isinstance(x, Tensor | bool | int | float):
            result.append(x)
        elif device is not None and _is_number(x):
            strong = _is_wider(x, operands)
            result.append(
                tensor_of(x, op, device=device) if strong else number_of(op, "an operand", x)
            )
        else:
            own = getattr(getattr(x, "dtype", None), "name", None) if wide else None
            found = dtypes.BY_NAME.get(own or "")
            result.append(tensor_of(x, op, dtype=found, device=device))
    if not any(isinstance(x, Tensor) for x in result):
        result[0] = tensor_of(result[0], op)
    return result


def common_dtype(op: str, operands: Sequence[Tensor | Scalar]) -> DType:
    """The promoted dtype: tensors among themselves, then scalars, which are weak."""
    tensors = [x.dtype for x in operands if isinstance(x, Tensor)]
    dtype = tensors[0]
    for other in tensors[1:]:
        dtype = dtypes.promote(op, dtype, other)
    for x in operands:
        if not isinstance(x, Tensor):
            dtype = dtypes.with_scalar(dtype, x)
    return dtype


def device_of(operands: Sequence[Tensor | Scalar]) -> Device:
    return next(x.device for x in operands if isinstance(x, Tensor))


def lift(op: str, x: Tensor | Scalar, shape: Shape, dtype: DType, device: Device) -> Node:
    """An operand as the node an elementwise op takes: a constant stays 0-d."""
    if isinstance(x, Tensor):
        node = node_of(x)
        return follow(node, steps_to(node.meta, shape, dtype))
    return constant(op, x, dtype, device)


def constant(op: str, value: Scalar, dtype: DType, device: Device) -> Node:
    """A Python number in a dtype that must hold it."""
    dtypes.check_range(op, value, dtype)
    convert = {"f": float, "b": bool}.get(dtype.kind, int)
    return const(convert(value), dtype, device)


def apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
    """Record an elementwise op on any operands: coerced, promoted, broadcast."""
    given = coerce(op.name, operands)
    shape = broadcast(op.name, *(x.shape for x in given if isinstance(x, Tensor)))
    rest = given[op.conditions :]
    scalars = [x for x in rest if not isinstance(x, Tensor)]
    if len(scalars) == len(rest):
        dtype = dtypes.with_scalar(dtypes.of_scalar(scalars[0]), scalars[-1])
    else:
        dtype = common_dtype(op.name, rest)
    dtype = op.accepts.check(op.name, dtype)
    for x in scalars:
        dtypes.check_range(op.name, x, dtype)
    device = device_of(given)
    if not size_of(shape):
        return Tensor(empty_node(meta_of(shape, op.gives or dtype, device)))
    kinds = [dtypes.bool_] * op.conditions + [dtype] * len(rest)
    nodes = tuple(lift(op.name, x, shape, d, device) for x, d in zip(given, kinds, strict=True))
    if all(node.meta.shape != shape for node in nodes):  # constants alone: one of them is expanded
        nodes = (follow(nodes[0], steps_to(nodes[0].meta, shape, nodes[0].meta.dtype)), *nodes[1:])
    return Tensor(bind(op, nodes))


def _recipe(op: Elementwise, metas: tuple[Meta, ...]) -> Recipe | None:
    """The recipe of an op on tensors; None where `apply` does more."""
    if is_traced() or not all(m.size for m in metas):
        return None
    dtype = metas[0].dtype
    for m in metas[1:]:
        dtype = dtypes.promote(op.name, dtype, m.dtype)
    dtype = op.accepts.check(op.name, dtype)
    shape = broadcast(op.name, *(m.shape for m in metas))
    return recipe(op, tuple(steps_to(m, shape, dtype) for m in metas), metas)


def _with_number(op: Elementwise, meta: Meta) -> WithNumber | None:
    """What an op on a tensor of this meta and a number does; None unless it computes in floats."""
    dtype = meta.dtype
    if is_traced() or dtype.kind != "f" or not meta.size:
        return None
    if op.accepts.check(op.name, dtype) is not dtype:
        return None
    constant = meta_of((), dtype, meta.device)
    made = op.infer((meta, constant), None)
    return made, key_of(op, None, made), constant, key_of(CONST, None, constant)


_SYMBOLS = {
    "iadd": "+", "isub": "-", "imul": "*", "itruediv": "/", "ifloordiv": "//", "imod": "%",
    "ipow": "**", "imatmul": "@", "iand": "&", "ior": "|", "ixor": "^", "ilshift": "<<",
    "irshift": ">>",
}  # fmt: skip
_KINDS = "buif"  # a result is stored in a tensor of the same or a later kind


def check_kind(op: str, given: DType, target: DType, instead: str) -> None:
    """Raise DTypeError where a dtype's kind is beyond that of where it is to be stored."""
    if _KINDS.index(given.kind) > _KINDS.index(target.kind):
        raise DTypeError(f"{op}: {given} cannot be stored in {target}; {instead}")


def store(op: str, target: Tensor, result: Tensor) -> Tensor:
    """Write the result of an op to a tensor, which is returned: what `out` and ``+=`` do.

    Raises
    ------
    ValueError
        If the target is read-only, or the result does not broadcast to its shape.
    DTypeError
        If the result's kind of dtype is beyond the target's: a float for an integer tensor.
    """
    target._check_writeable(op)  # pyright: ignore[reportPrivateUsage]
    symbol = _SYMBOLS.get(op)
    instead = f"write x = x {symbol} y" if symbol else f"give an out of {result.dtype}"
    check_kind(op, result.dtype, target.dtype, instead)
    if target.shape != broadcast(op, target.shape, result.shape):
        raise ShapeError(
            f"{op}: a result of shape {result.shape} cannot be stored in one of {target.shape}"
        )
    return _written(target, result)


def _written(target: Tensor, result: Tensor) -> Tensor:
    """A tensor with a result in it, which broadcasts to its shape and is converted."""
    node = follow(node_of(result), steps_to(node_of(result).meta, target.shape, target.dtype))
    layout = target._layout  # pyright: ignore[reportPrivateUsage]
    target._assign(layout, node)  # pyright: ignore[reportPrivateUsage]
    return target


def assign_result(op: str, target: Tensor, result: Tensor) -> Tensor:
    """What an in-place operator returns: the tensor, written to.

    A scalar in NumPy's sense, as sums and elements are, never changes: a name is bound anew.
    """
    return result if target.is_scalar else store(op, target, result)


def stored(op: str, result: Tensor, out: Out, condition: Operand = True) -> Tensor:
    """A result as `out` and `where` ask for it.

    Where `condition` is false stands what `out` held; without `out`, 0. For an array of NumPy's as
    `out`, the result is read.
    """
    given = _target(op, out)
    if given is not None and not isinstance(given, Tensor):
        held = condition if condition is True else tensor_of(condition, op).numpy()
        return _stored_on_host(result, given, "same_kind", held)
    if condition is not True:
        from py_tensor.ops.elementwise import where

        result = where(condition, result, False if given is None else given)
    return result if given is None else store(op, given, result)


def stored_whole(op: str, result: Tensor, out: Out) -> Tensor:
    """The result of a function that is not elementwise, as `out` asks for it.

    As in NumPy, `out` has the shape of the result, and any dtype, to which the result is converted.

    Raises
    ------
    ValueError
        If `out` is read-only, or has another shape.
    """
    target = _target(op, out)
    if target is None:
        return result
    if isinstance(target, Tensor):
        target._check_writeable(op)  # pyright: ignore[reportPrivateUsage]
    if tuple(target.shape) != result.shape:
        raise ShapeError(f"{op}: out has shape {target.shape}, and the result {result.shape}")
    if isinstance(target, Tensor):
        return _written(target, result)
    return _stored_on_host(result, target, "unsafe")


def _target(op: str, out: Out) -> Any:
    """What is to be written to: a tensor, an array of NumPy's, or None."""
    given: Any = cast("Any", out)[0] if isinstance(out, tuple) else out
    if given is None or isinstance(given, Tensor) or hasattr(given, "__array_interface__"):
        return given
    raise TypeError(f"{op}: out is a tensor or an array, not {type(given).__name__}")


def _stored_on_host(result: Tensor, out: Any, casting: str, held: Any = True) -> Any:
    bridge.load_numpy().copyto(out, result.numpy(), casting=casting, where=held)
    return out


def register(function: Any, op: Op | None = None, *, method: bool = True) -> None:
    """List a public function under its name, with the op it records; make it a method as well."""
    if op is not None:
        function.op = op
    REGISTRY[function.__name__] = function
    if method:
        install(function.__name__, function)


def _finish(function: Any, op: Op, name: str, doc: str, signature: str, method: bool) -> Any:
    """Name, document and register a public function made by a definition."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = inspect.cleandoc(doc)
    function.__text_signature__ = signature
    register(function, op, method=method)
    return function


def _mapping(wgsl: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"*": wgsl} if isinstance(wgsl, str) else wgsl


def unary(
    name: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str],
    numpy: OnArray,
    *,
    vjp: UnaryVjp | NotDifferentiable,
    doc: str,
    result: DType | None = None,
    cost: int = 1,
    method: bool = True,
) -> Unary:
    """Define an elementwise op of one operand."""
    op = Elementwise(name, _mapping(wgsl), numpy, accepts, result, vjp=vjp, cost=cost)
    return unary_of(op, doc=doc, method=method)


def unary_of(op: Elementwise, *, doc: str, method: bool = True) -> Unary:
    """The public function of an op of one operand that stands elsewhere, as `unary` makes it."""
    recipes = Recipes[Meta, Recipe]()

    def function(
        x: Operand, /, out: Out = None, *, where: Operand = True, dtype: object = None
    ) -> Tensor:
        if out is not None or where is not True or dtype is not None:
            x = x if dtype is None else in_dtype(op.name, x, dtype)
            return stored(op.name, function(x), out, where)
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            try:
                recipe = recipes[node.meta]
            except KeyError:
                recipe = (
                    None  # what is raised below shall not be shown as raised while handling this
                )
            if recipe is None:
                recipe = _recipe(op, (node.meta,))
                if recipe is None:
                    return apply(op, (x,))
                recipes.keep(node.meta, recipe)
            if recipe.before[0]:
                node = follow(node, recipe.before[0])
            return Tensor(Node(op, (node,), None, recipe.meta, recipe.key))
        return apply(op, (x,))

    signature = "(x, /, out=None, *, where=True, dtype=None)"
    return _finish(function, op, op.name, doc, signature, method)


def binary(
    name: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str],
    numpy: OnArrays,
    *,
    vjp: BinaryVjp | NotDifferentiable,
    doc: str,
    result: DType | None = None,
    cost: int = 1,
    operator: str | None = None,
) -> Binary:
    """Define an elementwise op of two operands.

    `operator` also defines the methods ``__{operator}__`` and ``__r{operator}__``.
    """
    op = Elementwise(name, _mapping(wgsl), numpy, accepts, result, vjp=vjp, cost=cost)
    return binary_of(op, doc=doc, operator=operator)


def comparison(
    name: str,
    operator: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str],
    numpy: OnArrays,
    *,
    doc: str,
) -> Binary:
    """Define an elementwise comparison, and its method ``__{operator}__``.

    A Python integer that the tensor's dtype cannot hold lies on one side of all that it can.
    """
    op = Elementwise(name, _mapping(wgsl), numpy, accepts, dtypes.bool_, vjp=NOT_DIFFERENTIABLE)
    decide: Callable[[int, int], bool] = getattr(python_operator, operator)

    def record(x: Operand, y: Operand) -> Tensor:
        given = coerce(name, (x, y))
        decided = _decided(decide, given[0], given[1])
        return apply(op, given) if decided is None else decided

    return binary_of(op, doc=doc, operator=operator, record=record)


def _decided(
    decide: Callable[[int, int], bool], x: Tensor | Scalar, y: Tensor | Scalar
) -> Tensor | None:
    """A comparison with an integer out of range: for all elements the same as for 0."""
    tensor, scalar = (x, y) if isinstance(x, Tensor) else (y, x)
    if not isinstance(tensor, Tensor) or not isinstance(scalar, int) or tensor.dtype.kind == "f":
        return None
    if dtypes.holds(dtypes.DEFAULT_INT if tensor.dtype.kind == "b" else tensor.dtype, scalar):
        return None
    value = decide(0, scalar) if tensor is x else decide(scalar, 0)
    return filled(value, meta_of(tensor.shape, dtypes.bool_, tensor.device))


def binary_of(
    op: Elementwise,
    *,
    doc: str,
    operator: str | None = None,
    record: Binary | None = None,
) -> Binary:
    """The public function of an op of two operands that stands elsewhere, as `binary` makes it.

    `record` stands in for `apply` where the operands are not two tensors.
    """
    recipes = Recipes[tuple[Meta, Meta], Recipe]()
    with_numbers = Recipes[Meta, WithNumber | None]()

    def recipe_of(a: Node, b: Node) -> Recipe | None:
        recipe = _recipe(op, (a.meta, b.meta))
        return None if recipe is None else recipes.keep((a.meta, b.meta), recipe)

    def with_number(x: Operand, y: Operand) -> Tensor | None:
        """The op on a tensor in floating point and a Python number; None for all else."""
        tensor, number = (x, y) if type(x) is Tensor else (y, x)
        if type(tensor) is not Tensor or (type(number) is not float and type(number) is not int):
            return None
        node = tensor._node  # pyright: ignore[reportPrivateUsage]
        recipe = with_numbers.get(node.meta)
        if recipe is None and node.meta not in with_numbers:
            recipe = with_numbers.keep(node.meta, _with_number(op, node.meta))
        if recipe is None or (type(number) is int and not dtypes.holds(node.meta.dtype, number)):
            return None
        meta, key, constant_meta, constant_key = recipe
        constant = Node(CONST, (), float(number), constant_meta, constant_key)
        nodes = (node, constant) if tensor is x else (constant, node)
        return Tensor(Node(op, nodes, None, meta, key))

    def any_operands(x: Operand, y: Operand) -> Tensor:
        return apply(op, (x, y))

    def recording(other: Callable[[Any, Any], Any]) -> Binary:
        """The op, which leaves to `other` what is not two tensors.

        Made once for the function and once for the operator: a call within a call would cost as
        much as a third of all the rest.
        """

        def function(x: Operand, y: Operand, /) -> Tensor:
            if type(x) is Tensor and type(y) is Tensor:
                a, b = x._node, y._node  # pyright: ignore[reportPrivateUsage]
                try:
                    recipe = recipes[a.meta, b.meta]
                except KeyError:
                    recipe = None
                if recipe is None:
                    recipe = recipe_of(a, b)
                    if recipe is None:
                        return any_operands(x, y)
                first, second = recipe.before
                if first:
                    a = follow(a, first)
                if second:
                    b = follow(b, second)
                return Tensor(Node(op, (a, b), None, recipe.meta, recipe.key))
            recorded = with_number(x, y)
            return other(x, y) if recorded is None else recorded

        return function

    plain = recording(record or any_operands)

    def function(
        x: Operand,
        y: Operand,
        /,
        out: Out = None,
        *,
        where: Operand = True,
        dtype: object = None,
    ) -> Tensor:
        if dtype is not None:
            x, y = in_dtype(op.name, x, dtype), in_dtype(op.name, y, dtype)
        result = plain(x, y)
        return result if out is None and where is True else stored(op.name, result, out, where)

    if operator is not None:
        _install_operator(operator, plain, recording)
    signature = "(x, y, /, out=None, *, where=True, dtype=None)"
    return _finish(function, op, op.name, doc, signature, method=False)


def _recorded(
    name: str,
    accepts: Accepts,
    operands: Sequence[Operand],
    compose: Callable[..., Tensor],
    out: Out,
    where: Operand,
    dtype: object,
) -> Tensor:
    """What `compose` makes of operands in one dtype, which broadcast."""
    given = coerce(name, operands)
    shape = broadcast(name, *(x.shape for x in given if isinstance(x, Tensor)))
    common = common_dtype(name, given)
    target = accepts.check(name, common) if dtype is None else dtypes.parse(dtype)
    device = device_of(given)
    device.backend.check(name, meta_of((), target, device))
    nodes = [lift(name, x, shape, target, device) for x in given]
    return stored(name, compose(*map(Tensor, nodes)), out, where)


def composed_unary(
    name: str, accepts: Accepts, compose: Callable[[Tensor], Tensor], *, doc: str
) -> Unary:
    """An elementwise function of one operand that is made of others, with NumPy's options."""

    def function(
        x: Operand, /, out: Out = None, *, where: Operand = True, dtype: object = None
    ) -> Tensor:
        return _recorded(name, accepts, (x,), compose, out, where, dtype)

    return _composed(function, name, doc)


def composed_binary(
    name: str, accepts: Accepts, compose: Callable[[Tensor, Tensor], Tensor], *, doc: str
) -> Binary:
    """An elementwise function of two operands that is made of others, with NumPy's options."""

    def function(
        x: Operand,
        y: Operand,
        /,
        out: Out = None,
        *,
        where: Operand = True,
        dtype: object = None,
    ) -> Tensor:
        return _recorded(name, accepts, (x, y), compose, out, where, dtype)

    return _composed(function, name, doc)


def _composed(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = inspect.cleandoc(doc)
    register(function, method=False)
    return function


def in_dtype(op: str, x: Operand, dtype: object) -> Tensor:
    """An operand converted to a dtype that the caller asked to compute in."""
    given = tensor_of(x, op)
    target = dtypes.parse(dtype)
    if given.dtype is target:
        return given
    given.device.backend.check(op, meta_of((), target, given.device))
    return Tensor(follow(node_of(given), steps_to(node_of(given).meta, given.shape, target)))


_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}


def takes(y: object) -> bool:
    """Whether an operator accepts the other operand, or leaves it to that operand's own."""
    return (
        isinstance(y, Tensor | bool | int | float | complex | list | tuple)
        or hasattr(y, "__buffer__")
        or hasattr(y, "dtype")
    )


def _repeating(multiply: Binary) -> Binary:
    """`*` as NumPy's scalars have it: of one and a list or a tuple, the sequence repeated."""

    def product(x: Operand, y: Operand, /) -> Any:
        for scalar, sequence in ((x, y), (y, x)):
            if isinstance(sequence, list | tuple) and cast(Tensor, scalar).is_scalar:
                return cast(Any, sequence) * python_operator.index(scalar)
        return multiply(x, y)

    return product


def _install_operator(
    operator: str, function: Binary, recording: Callable[[Callable[[Any, Any], Any]], Binary]
) -> None:
    reflected = operator not in _COMPARISONS
    if operator == "mul":
        function = _repeating(function)

    def mixed(self: Tensor, other: Operand) -> Any:
        if takes(other):
            return function(self, other)
        if reflected and isinstance(other, str | bytes):  # whose own would repeat the text
            raise TypeError(f"{operator}: a tensor and {type(other).__name__}")
        return NotImplemented

    def mirrored(self: Tensor, other: Operand) -> Any:
        return function(other, self) if takes(other) else NotImplemented

    def in_place(self: Tensor, other: Operand) -> Any:
        if not takes(other):
            return NotImplemented
        if not self.is_scalar:
            self._check_writeable(f"i{operator}")  # pyright: ignore[reportPrivateUsage]
        return assign_result(f"i{operator}", self, function(self, other))

    method: Any = recording(mixed)
    named = ((f"__{operator}__", method), (f"__r{operator}__", mirrored))
    for name, f in (*named, (f"__i{operator}__", in_place)) if reflected else named[:1]:
        f.__name__ = name
        install(name, f)
