"""How an op is defined: one assignment gives the function, the method, the node and its meaning.

    exp = unary("exp", FLOATING, "exp_f32({0})", lambda np, x: np.exp(x), vjp=..., doc="...")

What depends on shapes, dtypes and devices alone is decided once for each combination and kept as a
recipe, so that recording an op again costs one look-up.
"""

from __future__ import annotations

import inspect
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from py_tensor import dtypes
from py_tensor.dtypes import Accepts, DType
from py_tensor.graph.bind import EMPTY, Recipe, Recipes, bind, follow, is_traced, leaf, recipe
from py_tensor.graph.node import Meta, Node, key_of, meta_of
from py_tensor.graph.op import NOT_DIFFERENTIABLE, Elementwise, Movement, NotDifferentiable, Op
from py_tensor.graph.primitives import CONST, EXPAND, constant
from py_tensor.ops.operands import (
    Operand,
    Scalar,
    coerce,
    common_dtype,
    device_of,
    in_dtype,
    lift,
    node_of,
    steps_to,
    takes,
)
from py_tensor.ops.out import Out, assign_result, stored
from py_tensor.shapes import broadcast, size_of
from py_tensor.tensor import Tensor, install

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


def empty_node(meta: Meta) -> Node:
    return leaf(meta, EMPTY)


def filled(value: Scalar, meta: Meta, op: Movement = EXPAND) -> Tensor:
    """A tensor of one value, which `op` expands to the shape; takes no memory until stored."""
    node = constant(op.name, value, meta.dtype, meta.device)
    if not meta.size:
        return Tensor(empty_node(meta))
    return Tensor(bind(op, (node,), meta.shape) if meta.shape else node)


def build(op: Op, inputs: Sequence[Tensor], attrs: Any) -> Tensor:
    """An op on tensors."""
    return Tensor(bind(op, tuple(map(node_of, inputs)), attrs))


def apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
    """Record an elementwise op on any operands: coerced, promoted, broadcast."""
    kinds: list[Any] = [op]
    given: list[Any] = []
    for x in operands:
        if type(x) is Tensor:
            node = node_of(x)
            given.append(node)
            kinds.append(node.meta)
        elif type(x) is float:
            given.append(x)
            kinds.append(float)
        else:
            return _apply(op, operands)
    key = tuple(kinds)
    applied = _applied.get(key)
    if applied is None and key not in _applied:
        applied = _applied.keep(key, _recipe(*key))
    if applied is None:
        return _apply(op, operands)
    recipe, constant = applied
    nodes = [
        follow(x, steps) if type(x) is Node else Node(CONST, (), x, *constant)
        for x, steps in zip(given, recipe.before, strict=True)
    ]
    return Tensor(Node(op, tuple(nodes), None, recipe.meta, recipe.key))


# What `_recipe` gives, by an op, and a meta for each tensor and `float` for each number.
_applied = Recipes[tuple[Any, ...], tuple[Recipe, tuple[Meta, int]] | None]()


def _apply(op: Elementwise, operands: Sequence[Operand]) -> Tensor:
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


def _recipe(op: Elementwise, *kinds: Any) -> tuple[Recipe, tuple[Meta, int]] | None:
    """The recipe of an op on operands, each a meta or `float`; and the meta and key of a number.

    None where `_apply` does more: where numbers have to be converted, or there are no elements.
    """
    metas = [kind for kind in kinds if kind is not float]
    rest = [kind for kind in kinds[op.conditions :] if kind is not float]
    if is_traced() or float in kinds[: op.conditions] or not metas:
        return None
    if any(m.device is not metas[0].device or not m.size for m in metas):
        return None
    dtype = rest[0].dtype if rest else dtypes.of_scalar(0.0)
    for meta in rest[1:]:
        dtype = dtypes.promote(op.name, dtype, meta.dtype)
    if float in kinds:
        dtype = dtypes.with_scalar(dtype, 0.0)
    dtype = op.accepts.check(op.name, dtype)
    if float in kinds and dtype.kind != "f":
        return None
    shape = broadcast(op.name, *(m.shape for m in metas))
    wanted = [dtypes.bool_] * op.conditions + [dtype] * (len(kinds) - op.conditions)
    constant = meta_of((), dtype, metas[0].device)
    before = tuple(
        () if kind is float else steps_to(kind, shape, target)
        for kind, target in zip(kinds, wanted, strict=True)
    )
    given = tuple(constant if kind is float else kind for kind in kinds)
    return recipe(op, before, given), (constant, key_of(CONST, None, constant))


def _with_number(op: Elementwise, meta: Meta) -> WithNumber | None:
    """What an op on a tensor of this meta and a number does; None unless it computes in floats."""
    found = _recipe(op, meta, float) if meta.dtype.kind == "f" else None
    if found is None or found[0].before[0]:
        return None
    return found[0].meta, found[0].key, *found[1]


def register(function: Any, op: Op | None = None, *, method: bool = True) -> None:
    """List a public function under its name, with the op it records; make it a method as well."""
    if op is not None:
        function.op = op
    REGISTRY[function.__name__] = function
    if method:
        install(function.__name__, function)


def _finish(
    function: Any, name: str, doc: str, op: Op | None = None, *, method: bool = False
) -> Any:
    """Name, document and register a public function made by a definition."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = inspect.cleandoc(doc)
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
                found = _recipe(op, node.meta)
                if found is None:
                    return apply(op, (x,))
                recipe = recipes.keep(node.meta, found[0])
            if recipe.before[0]:
                node = follow(node, recipe.before[0])
            return Tensor(Node(op, (node,), None, recipe.meta, recipe.key))
        return apply(op, (x,))

    return _finish(function, op.name, doc, op, method=method)


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
    decide: Callable[[int, int], bool] = getattr(python_operator, operator)
    op = Elementwise(
        name, _mapping(wgsl), numpy, accepts, dtypes.bool_, vjp=NOT_DIFFERENTIABLE, decide=decide
    )

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
        found = _recipe(op, a.meta, b.meta)
        return None if found is None else recipes.keep((a.meta, b.meta), found[0])

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
    return _finish(function, op.name, doc, op)


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

    return _finish(function, name, doc)


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

    return _finish(function, name, doc)


_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
_OF_UNLIKE = {"eq": False, "ne": True}  # what each element gives beside None or text, as in NumPy


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
    unlike = _OF_UNLIKE.get(operator)
    if operator == "mul":
        function = _repeating(function)

    def mixed(self: Tensor, other: Operand) -> Any:
        if unlike is not None and (other is None or isinstance(other, str | bytes)):
            return filled(unlike, meta_of(self.shape, dtypes.bool_, self.device))
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
