"""Reductions over any axes: primitives that keep their axes, and NumPy's functions on them."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from py_tensor import dtypes
from py_tensor.dtypes import DType
from py_tensor.errors import ShapeError
from py_tensor.graph.node import Meta, meta_of
from py_tensor.graph.op import NOT_DIFFERENTIABLE, Reduction
from py_tensor.graph.primitives import RESHAPE, SUM
from py_tensor.ops.define import (
    ANY,
    FLOATING,
    INTEGRAL_AS_INT,
    LOGICAL,
    RECIPES,
    Accepts,
    Operand,
    Step,
    build,
    follow,
    node_of,
    register,
    step,
)
from py_tensor.ops.elementwise import absolute, equal, isfinite, sqrt, square, subtract, where
from py_tensor.shapes import dropped, normalize_axes, normalize_axis, reduced, size_of
from py_tensor.tensor import Tensor

__all__ = [
    "all", "allclose", "any", "argmax", "argmin", "array_equal", "count_nonzero", "isclose", "max",
    "mean", "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip


Axes = int | tuple[int, ...] | None


def _lowest(dtype: DType) -> float:
    return (
        -math.inf
        if dtype.kind == "f"
        else 0
        if dtype.kind == "b"
        else dtypes.integer_range(dtype)[0]
    )


def _highest(dtype: DType) -> float:
    return (
        math.inf
        if dtype.kind == "f"
        else 1
        if dtype.kind == "b"
        else dtypes.integer_range(dtype)[1]
    )


def _rank_of_lowest(dtype: DType) -> tuple[int]:
    """The rank of -inf, as `rank_f32` of `shaders/lib/order.wgsl` has it."""
    return (0x7F800000 ^ -0x80000000 ^ 0x7FFFFFFF,)


def _rank_of_highest(dtype: DType) -> tuple[int]:
    return (0x7F800000,)


def _grad_extreme(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor]:
    """The gradient goes in equal parts to all elements that attain the extreme."""
    hit = where(equal(x, y.expand(x.shape)), 1.0, 0.0)
    return (hit * (g / sum(hit, axes, keepdims=True)).expand(x.shape),)


def _grad_prod(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor]:
    """Right where no element is 0; where one is, the product of the others is taken anew."""
    zero = equal(x, 0)
    zeros = sum(zero, axes, keepdims=True)
    others = prod(where(zero, 1.0, x), axes, keepdims=True)
    through = where(
        zero,
        where(equal(zeros, 1), others, 0.0),
        where(equal(zeros, 0), y / where(zero, 1.0, x), 0.0),
    )
    return (g.expand(x.shape) * through,)


PROD = Reduction(
    "prod",
    parts=("T",),
    identity=lambda dtype: (1,),
    element={"*": ("{x}",)},
    combine={"bool": ("{a0} & {b0}",), "*": ("{a0} * {b0}",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.prod(x, axis=axes, keepdims=True, dtype=x.dtype),
    rounds=True,
    vjp=_grad_prod,
)
MAX = Reduction(
    "max",
    parts=("T",),
    identity=lambda dtype: (_lowest(dtype),),
    element={"*": ("{x}",)},
    combine={"bool": ("{a0} | {b0}",), "*": ("max({a0}, {b0})",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.max(x, axis=axes, keepdims=True),
    vjp=_grad_extreme,
)
MIN = Reduction(
    "min",
    parts=("T",),
    identity=lambda dtype: (_highest(dtype),),
    element={"*": ("{x}",)},
    combine={"bool": ("{a0} & {b0}",), "*": ("min({a0}, {b0})",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.min(x, axis=axes, keepdims=True),
    vjp=_grad_extreme,
)
# Of floats, the ranks are compared: one instruction, where NaN and signs of zero would take ten.
MAX_OF_FLOATS = replace(
    MAX,
    parts=("i32",),
    identity=_rank_of_lowest,
    element={"f32": ("rank_f32({x})",)},
    combine={"f32": ("max({a0}, {b0})",)},
    result="f32_from_rank({a0})",
)
MIN_OF_FLOATS = replace(
    MIN,
    parts=("i32",),
    identity=_rank_of_highest,
    element={"f32": ("rank_min_f32({x})",)},
    combine={"f32": ("min({a0}, {b0})",)},
    result="f32_from_rank({a0})",
)
ANY_TRUE = Reduction(
    "any",
    parts=("T",),
    identity=lambda dtype: (False,),
    element={"*": ("{x}",)},
    combine={"*": ("{a0} | {b0}",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.any(x, axis=axes, keepdims=True),
    vjp=NOT_DIFFERENTIABLE,
)
ALL_TRUE = Reduction(
    "all",
    parts=("T",),
    identity=lambda dtype: (True,),
    element={"*": ("{x}",)},
    combine={"*": ("{a0} & {b0}",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.all(x, axis=axes, keepdims=True),
    vjp=NOT_DIFFERENTIABLE,
)


def _arg(name: str, key: str, numpy: Callable[[Any, Any, tuple[int, ...]], Any]) -> Reduction:
    """The index of the largest order key, the first of equal ones; NaN has the largest key of all.

    The bools of `argmax` are compared as uint32.
    """
    take = "({b0} > {a0}) | (({b0} == {a0}) & ({b1} < {a1}))"
    return Reduction(
        name,
        parts=("u32", "u32"),
        identity=lambda dtype: (0, 2**32 - 1),
        element={kind: (f"{key}_{kind}({{x}})", "{i}") for kind in ("f32", "i32", "u32")},
        combine={"*": (f"select({{a0}}, {{b0}}, {take})", f"select({{a1}}, {{b1}}, {take})")},
        result="i32({a1})",
        numpy=numpy,
        indexed=True,
        vjp=NOT_DIFFERENTIABLE,
    )


def _numpy_arg(np: Any, x: Any, axes: tuple[int, ...], find: Callable[..., Any]) -> Any:
    """The index along several axes at once counts their elements in row-major order."""
    kept = [a for a in builtins.range(x.ndim) if a not in axes]
    flat = np.transpose(x, [*kept, *axes]).reshape([x.shape[a] for a in kept] + [-1])
    return np.expand_dims(find(flat, axis=-1), axes)


ARGMAX = _arg("argmax", "order_key", lambda np, x, axes: _numpy_arg(np, x, axes, np.argmax))
ARGMIN = _arg("argmin", "order_key_min", lambda np, x, axes: _numpy_arg(np, x, axes, np.argmin))


def _as_tensor(x: Operand, op: str) -> Tensor:
    from py_tensor.interop import asarray

    return x if isinstance(x, Tensor) else asarray(x, op=op)


def _reduce(
    op: Reduction,
    x: Tensor,
    axis: Axes,
    keepdims: bool,
    result: DType | None = None,
    *,
    empty: float | bool | None,
) -> Tensor:
    """Record a reduction. `empty` is what no elements at all reduce to; None raises."""
    axes = normalize_axes(op.name, axis, x.ndim)
    node = node_of(x)
    steps = _steps(op, node.meta, axes, result or x.dtype, bool(keepdims))
    if steps is not None:
        return Tensor(follow(node, steps))
    shape = reduced(x.shape, axes)
    dtype = result or x.dtype
    if not size_of(tuple(x.shape[a] for a in axes)):
        if empty is None and size_of(shape):
            raise ValueError(
                f"{op.name}: no elements to choose from along axis {axis} of shape {x.shape}"
            )
        from py_tensor.ops.creation import full

        y = full(shape, empty or 0, dtype=dtype, device=x.device)
    elif not axes:
        y = x.astype(dtype)
    else:  # no results
        y = build(op, (x,), axes, shape, dtype, x.device)
    return y if keepdims else y.reshape(dropped(shape, axes))


@lru_cache(RECIPES)
def _steps(
    op: Reduction, meta: Meta, axes: tuple[int, ...], dtype: DType, keepdims: bool
) -> tuple[Step, ...] | None:
    """The nodes from an operand to its reduction; None where nothing is reduced."""
    if not axes or not meta.size:
        return None
    shape = reduced(meta.shape, axes)
    made = meta_of(shape, dtype, meta.device)
    steps = [step(op, axes, made)]
    if not keepdims:
        steps.append(step(RESHAPE, None, meta_of(dropped(shape, axes), dtype, meta.device)))
    return tuple(steps)


def _through(accepts: Accepts, x: Operand, op: str, dtype: object = None) -> Tensor:
    """The operand in the dtype that the reduction computes in."""
    x = _as_tensor(x, op)
    target = dtypes.parse(dtype) if dtype is not None else accepts.check(op, x.dtype)
    return x.astype(target)


def sum(x: Operand, axis: Axes = None, *, dtype: object = None, keepdims: bool = False) -> Tensor:
    """Sum over `axis` (an int, a tuple, or None for all).

    Integers keep their dtype and wrap around; bools are counted in int32; no elements sum to 0.
    """
    x = _through(INTEGRAL_AS_INT, x, "sum", dtype)
    return _reduce(SUM, x, axis, keepdims, empty=0)


def prod(x: Operand, axis: Axes = None, *, dtype: object = None, keepdims: bool = False) -> Tensor:
    """Product over `axis`; dtypes as in `sum`; no elements have the product 1."""
    x = _through(INTEGRAL_AS_INT, x, "prod", dtype)
    return _reduce(PROD, x, axis, keepdims, empty=1)


def max(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Largest element over `axis`; NaN where there is one. Raises ValueError for no elements."""
    x = _through(ANY, x, "max")
    op = MAX_OF_FLOATS if x.dtype.kind == "f" else MAX
    return _reduce(op, x, axis, keepdims, empty=None)


def min(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Smallest element over `axis`; NaN where there is one. Raises ValueError for no elements."""
    x = _through(ANY, x, "min")
    op = MIN_OF_FLOATS if x.dtype.kind == "f" else MIN
    return _reduce(op, x, axis, keepdims, empty=None)


def any(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether any element over `axis` is nonzero."""
    return _reduce(ANY_TRUE, _through(LOGICAL, x, "any"), axis, keepdims, empty=False)


def all(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether all elements over `axis` are nonzero."""
    return _reduce(ALL_TRUE, _through(LOGICAL, x, "all"), axis, keepdims, empty=True)


def _arg_reduce(op: Reduction, x: Operand, axis: int | None, keepdims: bool) -> Tensor:
    x = _as_tensor(x, op.name)
    x = x.astype(dtypes.uint32) if x.dtype is dtypes.bool_ else x
    axes = None if axis is None else normalize_axis(op.name, axis, x.ndim)
    if _count(x, axes, op.name) > 2**31:
        raise ShapeError(f"{op.name}: the index along axis {axes} of {x.shape} does not fit int32")
    if not x.ndim:
        x = x.reshape((1,))
        return _reduce(op, x, 0, False, dtypes.int32, empty=None)
    return _reduce(op, x, axes, keepdims, dtypes.int32, empty=None)


def argmax(x: Operand, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Index (int32) of the first largest element along `axis`, or in the whole flattened tensor.

    The first NaN counts as largest. Raises ValueError for no elements, and ShapeError for more than
    2**31 of them.
    """
    return _arg_reduce(ARGMAX, x, axis, keepdims)


def argmin(x: Operand, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Index (int32) of the first smallest element; the first NaN counts as smallest."""
    return _arg_reduce(ARGMIN, x, axis, keepdims)


def _count(x: Tensor, axis: Axes, op: str) -> int:
    return size_of(tuple(x.shape[a] for a in normalize_axes(op, axis, x.ndim)))


def mean(x: Operand, axis: Axes = None, *, dtype: object = None, keepdims: bool = False) -> Tensor:
    """Mean over `axis`, in floating point; NaN of no elements."""
    x = _through(FLOATING, x, "mean", dtype)
    count = _count(x, axis, "mean")  # first, so that a wrong axis is this op's error
    return sum(x, axis, keepdims=keepdims) / float(count)


def var(
    x: Operand,
    axis: Axes = None,
    *,
    correction: float = 0,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Variance over `axis`: the mean square of the distances from the mean, in two passes.

    Parameters
    ----------
    correction : float
        The divisor is the number of elements less this; `ddof` is NumPy's name for it.
    """
    return _variance("var", x, axis, correction if ddof is None else ddof, keepdims)


def _variance(op: str, x: Operand, axis: Axes, correction: float, keepdims: bool) -> Tensor:
    x = _through(FLOATING, x, op)
    divisor = _count(x, axis, op) - correction
    centred = subtract(x, mean(x, axis, keepdims=True))
    return sum(square(centred), axis, keepdims=keepdims) / float(builtins.max(divisor, 0))


def std(
    x: Operand,
    axis: Axes = None,
    *,
    correction: float = 0,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Standard deviation over `axis`: the square root of `var`."""
    return sqrt(_variance("std", x, axis, correction if ddof is None else ddof, keepdims))


def isclose(
    a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether ``|a - b| <= atol + rtol * |b|`` elementwise; infinities are close to themselves."""
    a, b = _as_tensor(a, "isclose"), _as_tensor(b, "isclose")
    near = (
        absolute(a.astype(dtypes.floating(a.dtype)) - b) <= atol + rtol * absolute(b)
    ) & isfinite(b)
    near = near | equal(a, b)
    return near | ((a != a) & (b != b)) if equal_nan else near


def allclose(
    a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds everywhere; reads the answer back."""
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a: Operand, b: Operand, equal_nan: bool = False) -> bool:
    """Whether two tensors have one shape and equal elements; reads the answer back."""
    a, b = _as_tensor(a, "array_equal"), _as_tensor(b, "array_equal")
    if a.shape != b.shape:
        return False
    same = equal(a, b)
    return bool(all(same | ((a != a) & (b != b)) if equal_nan else same))


def count_nonzero(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The number (int32) of elements over `axis` that are not zero; NaN is not."""
    x = _through(LOGICAL, x, "count_nonzero")
    return sum(x, axis, keepdims=keepdims)


def ptp(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The largest element over `axis` less the smallest. Raises ValueError for no elements."""
    return subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


for _function, _op in (
    (sum, SUM), (prod, PROD), (max, MAX), (min, MIN), (any, ANY_TRUE), (all, ALL_TRUE),
    (argmax, ARGMAX), (argmin, ARGMIN), (mean, None), (var, None), (std, None),
):  # fmt: skip
    register(_function, _op)
for _function in (isclose, array_equal, count_nonzero, ptp):
    register(_function, method=False)
register(allclose, method=False)
