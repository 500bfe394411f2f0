"""Reductions over any axes: primitives that keep their axes, and NumPy's functions on them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import FLOATING, LOGICAL, NUMERIC, REAL_FLOATING, SUMMED, Accepts, DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, dropped, normalize_axes, normalize_axis, reduced, size_of
from py_tensor.ir.bind import Recipes, Step, follow, step, steps
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Device, Meta
from py_tensor.ir.op import MAX_PLACES, Reduction, Scan
from py_tensor.ir.primitives import CAST, RESHAPE, SUM
from py_tensor.ops.complex import squared_length
from py_tensor.ops.composition import Composition
from py_tensor.ops.creation import full, ones_like
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import (
    absolute,
    add,
    equal,
    isnan,
    maximum,
    minimum,
    multiply,
    root_of_squares,
    subtract,
)
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.movement import converted, flip, pad_constant, permute, reshape, sliced
from py_tensor.ops.operands import Operand, Scalar, copy_or_scalar, node_of, number_like, tensors_of
from py_tensor.ops.out import Out, dtype_into, stored, stored_whole
from py_tensor.ops.record import build
from py_tensor.ops.rounding import round
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "array_equal",
    "count_nonzero", "max", "mean", "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip


Axes = int | tuple[int, ...] | None


def _rank_of_lowest(dtype: DType) -> tuple[int]:
    """Return the rank of -inf, as in `rank_f32` of `shaders/lib/order.wgsl`."""
    return (0x7F800000 ^ -0x80000000 ^ 0x7FFFFFFF,)


def _rank_of_highest(dtype: DType) -> tuple[int]:
    return (0x7F800000,)


def _grad_extreme(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor]:
    """The gradient goes in equal parts to all elements that attain the extreme."""
    hit = equal(x, y.expand(x.shape))
    share = converted(g / sum(hit, axes, keepdims=True), g.dtype)
    return (hit * share.expand(x.shape),)


def _grad_prod(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor]:
    """Multiply by the elements before and those after each: a quotient is wrong beside a 0."""
    order = (*(a for a in builtins.range(x.ndim) if a not in axes), *axes)
    moved, last = permute(x, order), x.ndim - len(axes)
    flat = reshape(moved, (*moved.shape[:last], -1))
    others = _product_before(flat, last) * flip(_product_before(flip(flat, last), last), last)
    of_flat = reshape(permute(g, order), (*moved.shape[:last], 1)) * others
    back = tuple(order.index(a) for a in builtins.range(x.ndim))
    return (permute(reshape(of_flat, moved.shape), back),)


def _product_before(x: Tensor, axis: int) -> Tensor:
    return _shifted(build(CUMPROD, (x,), (axis,)), axis, (1, 0), 1)


def _shifted(x: Tensor, axis: int, widths: tuple[int, int], fill: int) -> Tensor:
    """Pad an axis before or behind, and keep as many elements from the padded end."""
    pairs = [widths if a == axis else (0, 0) for a in builtins.range(x.ndim)]
    return sliced(pad_constant(x, pairs, fill), axis, widths[1], widths[1] + x.shape[axis])


def _grad_cumsum(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int]) -> tuple[Tensor]:
    return (flip(build(CUMSUM, (flip(g, attrs),), attrs), attrs),)


def _grad_cumprod(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int]) -> tuple[Tensor]:
    """Multiply the elements before each by a sum of products of those after it, without division.

    The sums ``s[i] = g[i] + x[i + 1] * s[i + 1]`` take steps of 1, 2, 4, ... elements.
    """
    (axis,) = attrs
    sums, factors, step = g, _shifted(x, axis, (0, 1), 1), 1
    while step < x.shape[axis]:
        sums = sums + factors * _shifted(sums, axis, (0, step), 0)
        factors = factors * _shifted(factors, axis, (0, step), 1)
        step *= 2
    return (_shifted(y, axis, (1, 0), 1) * sums,)


def _identity(dtype: DType) -> tuple[complex]:
    """Return -0 for floats, because 0 would change a first element of -0 to 0."""
    return (-dtypes.converter(dtype)(0),)


PROD = Reduction(
    "prod",
    components=("T",),
    identity=lambda dtype: (1,),
    element={"*": ("{x}",)},
    combine={
        "bool": ("{a0} & {b0}",),
        "64": ("mul_64({a0}, {b0})",),
        "complex64": ("mul_complex64({a0}, {b0})",),
        "*": ("{a0} * {b0}",),
    },
    result="{a0}",
    numpy=lambda np, x, axes: np.multiply.reduce(x, axis=axes, keepdims=True, dtype=x.dtype),
    rounds=True,
    vjp=_grad_prod,
)
CUMSUM = Scan(
    "cumsum",
    fold=replace(SUM, identity=_identity),
    numpy=lambda np, x, axis: np.cumsum(x, axis=axis, dtype=x.dtype),
    vjp=_grad_cumsum,
)
CUMPROD = Scan(
    "cumprod",
    fold=PROD,
    numpy=lambda np, x, axis: np.cumprod(x, axis=axis, dtype=x.dtype),
    vjp=_grad_cumprod,
)
MAX = Reduction(
    "max",
    components=("T",),
    identity=lambda dtype: (dtypes.ends_of(dtype)[0],),
    element={"*": ("{x}",)},
    combine={
        "bool": ("{a0} | {b0}",),
        "64": ("max_{t}({a0}, {b0})",),
        "complex64": ("max_{t}({a0}, {b0})",),
        "*": ("max({a0}, {b0})",),
    },
    result="{a0}",
    numpy=lambda np, x, axes: np.maximum.reduce(x, axis=axes, keepdims=True),
    vjp=_grad_extreme,
)
MIN = Reduction(
    "min",
    components=("T",),
    identity=lambda dtype: (dtypes.ends_of(dtype)[1],),
    element={"*": ("{x}",)},
    combine={
        "bool": ("{a0} & {b0}",),
        "64": ("min_{t}({a0}, {b0})",),
        "complex64": ("min_{t}({a0}, {b0})",),
        "*": ("min({a0}, {b0})",),
    },
    result="{a0}",
    numpy=lambda np, x, axes: np.minimum.reduce(x, axis=axes, keepdims=True),
    vjp=_grad_extreme,
)
# Floats are compared by rank: one instruction, instead of ten for NaN and signed zeros.
MAX_OF_FLOATS = replace(
    MAX,
    components=("i32",),
    identity=_rank_of_lowest,
    element={"f32": ("rank_f32({x})",)},
    combine={"f32": ("max({a0}, {b0})",)},
    result="f32_from_rank({a0})",
    accepts=REAL_FLOATING,
)
MIN_OF_FLOATS = replace(
    MIN,
    components=("i32",),
    identity=_rank_of_highest,
    element={"f32": ("rank_min_f32({x})",)},
    combine={"f32": ("min({a0}, {b0})",)},
    result="f32_from_rank({a0})",
    accepts=REAL_FLOATING,
)
ANY_TRUE = Reduction(
    "any",
    components=("T",),
    identity=lambda dtype: (False,),
    element={"*": ("{x}",)},
    combine={"*": ("{a0} | {b0}",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.logical_or.reduce(x, axis=axes, keepdims=True),
    accepts=LOGICAL,
    vjp=NOT_DIFFERENTIABLE,
)
ALL_TRUE = Reduction(
    "all",
    components=("T",),
    identity=lambda dtype: (True,),
    element={"*": ("{x}",)},
    combine={"*": ("{a0} & {b0}",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.logical_and.reduce(x, axis=axes, keepdims=True),
    accepts=LOGICAL,
    vjp=NOT_DIFFERENTIABLE,
)


def _arg(name: str, key: str, numpy: Callable[[Any, Any, tuple[int, ...]], Any]) -> Reduction:
    """Return the reduction to the index of the first largest order key; NaN has the largest.

    The bools of `argmax` are compared as uint32.
    """

    def larger(more: str, equal: str) -> tuple[str, str]:
        take = f"{more} | ({equal} & ({{b1}} < {{a1}}))"
        return f"select({{a0}}, {{b0}}, {take})", f"select({{a1}}, {{b1}}, {take})"

    of_words = larger("less_uint64({a0}, {b0})", "all({a0} == {b0})")
    return Reduction(
        name,
        components=("key", "u32"),
        identity=lambda dtype: (0, 2**32 - 1),
        element={"*": (f"{key}_{{t}}({{x}})", "{i}")},
        combine={
            "64": of_words,
            "complex64": of_words,
            "*": larger("({b0} > {a0})", "({b0} == {a0})"),
        },
        result="i32({a1})",
        numpy=numpy,
        indexed=True,
        gives=dtypes.int32,
        accepts=NUMERIC,
        vjp=NOT_DIFFERENTIABLE,
    )


def _numpy_arg(np: Any, x: Any, axes: tuple[int, ...], find: Callable[..., Any]) -> Any:
    """Return the index over several axes at once, in row-major order."""
    kept = [a for a in builtins.range(x.ndim) if a not in axes]
    flat = np.transpose(x, [*kept, *axes]).reshape([x.shape[a] for a in kept] + [-1])
    return np.expand_dims(find(flat, axis=-1), axes)


ARGMAX = _arg("argmax", "order_key", lambda np, x, axes: _numpy_arg(np, x, axes, np.argmax))
ARGMIN = _arg("argmin", "order_key_min", lambda np, x, axes: _numpy_arg(np, x, axes, np.argmin))


def _nothing_to_choose(op: str, axis: Axes, shape: Shape) -> ValueError:
    along = "" if axis is None else f" along axis {axis}"
    return ValueError(f"{op}: no elements to choose from{along} in shape {shape}")


def _reduce(
    op: Reduction,
    x: Tensor,
    axis: Axes,
    keepdims: bool,
    *,
    empty: Scalar | None,
) -> Tensor:
    """Record a reduction. `empty` is the result for no elements; None raises an error."""
    axes = normalize_axes(op.name, axis, x.ndim, of_scalar=True)
    node = node_of(x)
    steps = _recipes[op, node.meta, axes, bool(keepdims)]
    if steps is not None:
        return Tensor(follow(node, steps))
    shape = reduced(x.shape, axes)
    dtype = op.gives or x.dtype
    if not size_of(tuple(x.shape[a] for a in axes)):
        if empty is None:  # as in NumPy, even if the result is empty
            raise _nothing_to_choose(op.name, axis, x.shape)
        y = full(shape, empty, dtype=dtype, device=x.device)
    elif not axes:
        y = copy_or_scalar(converted(x, dtype))
    else:  # the result is empty
        y = build(op, (x,), axes)
    return y if keepdims else y.reshape(dropped(shape, axes))


def _steps_of(
    op: Reduction, meta: Meta, axes: tuple[int, ...], keepdims: bool
) -> tuple[Step, ...] | None:
    """Return the nodes from an operand to its reduction; None if nothing is reduced."""
    if not axes or not meta.size:
        return None
    if keepdims:
        return steps(meta, (op, axes))
    return steps(meta, (op, axes), (RESHAPE, dropped(reduced(meta.shape, axes), axes)))


_Key = tuple[Reduction, Meta, tuple[int, ...], bool]
_recipes = Recipes[_Key, tuple[Step, ...] | None](_steps_of)


def _by_axis(op: Reduction, x: Operand, axis: Axes, keepdims: bool) -> Tensor | None:
    """Return a reduction of a tensor over one axis or all, by one lookup; None in other cases."""
    if type(x) is not Tensor or not (axis is None or type(axis) is int):
        return None
    node = node_of(x)
    steps = _steps_by_axis[op, node.meta, axis, bool(keepdims)]
    return None if steps is None else Tensor(follow(node, steps))


def _steps_along(
    op: Reduction, meta: Meta, axis: int | None, keepdims: bool
) -> tuple[Step, ...] | None:
    """Return the nodes from an operand of any dtype to its reduction; None without a recipe."""
    dtype = _CONVERTED.get(op.name, op.accepts).check(op.name, meta.dtype)
    axes = normalize_axes(op.name, axis, len(meta.shape), of_scalar=True)
    if not axes or not meta.size or size_of(tuple(meta.shape[a] for a in axes)) > MAX_PLACES:
        return None
    before = () if meta.dtype is dtype else (step(CAST, meta, dtype),)
    op = _OF_FLOATS.get(op.name, op) if dtype.is_floating else op
    after = _steps_of(op, before[0][1] if before else meta, axes, keepdims)
    return None if after is None else (*before, *after)


_steps_by_axis = Recipes[tuple[Reduction, Meta, int | None, bool], tuple[Step, ...] | None](
    _steps_along
)


def _through(accepts: Accepts, x: Operand, op: str, dtype: object = None) -> Tensor:
    """Return the operand in the dtype in which the reduction computes."""
    x = tensor_of(x, op)
    target = dtypes.parse(dtype) if dtype is not None else accepts.check(op, x.dtype)
    return converted(x, target)


def _values_and_mask(x: Operand, axis: object) -> tuple[Operand, Operand]:
    """Return all values and the mask of a selection whose number of elements is not known yet.

    A reduction of these needs neither the number nor the elements. Other operands are returned with
    True.
    """
    selected = x._selected_by_mask if type(x) is Tensor else None  # pyright: ignore[reportPrivateUsage]
    if selected is None or not (axis is None or type(axis) in (int, tuple)):
        return x, True
    if axis not in (None, 0, -1, (0,), (-1,)) or not selected.count_reduction():
        return x, True
    return selected.values, selected.mask


def _fold(
    op: Reduction,
    accepts: Accepts,
    x: Operand,
    axis: Axes,
    keepdims: bool,
    *,
    dtype: object = None,
    out: Out = None,
    initial: Scalar | None = None,
    where: Operand = True,
    empty: Scalar | None,
) -> Tensor:
    """Return a reduction with NumPy's options."""
    if where is True and dtype is None and empty is not None:
        x, where = _values_and_mask(x, axis)
    if out is None and initial is None and where is True and dtype is None:
        reduction = _by_axis(op, x, axis, keepdims)
        if reduction is not None:
            return reduction
    name = op.name
    element_dtype = wider = None
    if dtype is None and out is not None and (accepts is SUMMED or initial is not None):
        x = tensor_of(x, name)
        wider = dtype_into(name, x.dtype, x.device, out)  # also that of `initial`
        if accepts is SUMMED:
            element_dtype, added = x.dtype, x.size if op is SUM else 0
            x = converted(x, dtype_into(name, x.dtype, x.device, out, added=added))
        else:
            x = converted(x, wider)
    x = _through(accepts, x, name, dtype)
    if name in _OF_FLOATS and x.dtype.is_floating:
        op = _OF_FLOATS[name]
    if initial is not None:
        initial = _start(name, initial, wider or x.dtype)
    if where is not True:
        # Omitted elements are replaced by the identity of the op, or its initial value.
        least = initial if empty is None else empty
        if least is None:
            raise ValueError(f"{name}: has no identity, so where needs initial")
        x = choose(where, x, least)
    if initial is not None and empty is None and not x.size:
        empty = initial
    y = _reduce(op, x, axis, keepdims, empty=empty)
    if element_dtype is not None:

        def compute(dtype: DType) -> Tensor:
            return _reduce(op, converted(x, dtype), axis, keepdims, empty=empty)

        y = as_floats(name, element_dtype, x.device, out, compute, y)
    if initial is not None:
        y = _WITH_INITIAL[name](y if wider is None else converted(y, wider), initial)
    return y if out is None else stored_whole(name, y, out)


def as_floats(
    op: str, source: DType, device: Device, out: Out, compute: Callable[[DType], Tensor], y: Tensor
) -> Tensor:
    """Return a sum or a product `y` of integers for an `out` of floats, which do not wrap around.

    Parameters
    ----------
    own
        The dtype of the elements; for those of floats `y` is returned unchanged.
    compute
        Computes `y` in a dtype.
    """
    floating = dtype_into(op, source, device, out)
    if source.is_inexact or not floating.is_floating:
        return y
    if y.dtype.is_floating:  # NaN is 0 times a product that is too large
        return choose(isnan(y), 0.0, y)
    if not source.has_64_bits:
        return y
    exact = converted(y, floating)
    return exact + round((compute(floating) - exact) * 2.0**-64) * 2.0**64


def _start(op: str, initial: Any, dtype: DType) -> Any:
    """Return the initial value of a reduction as a number of its dtype, as in NumPy.

    A tensor is converted.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If the dtype cannot hold the number.
    """
    number = number_like(initial, dtype)
    if number is None:
        return converted(tensor_of(initial, op), dtype)
    if dtype.is_complex:
        return number
    if isinstance(number, complex):
        raise DTypeError(f"{op}: initial must be a real number, not {number}")
    number = dtypes.converter(dtype)(number)
    dtypes.check_range(op, number, dtype)
    return number


def sum(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Sum over `axis` (an int, a tuple, or None for all); an empty sum is 0.

    8- and 16-bit integers are summed in int32 or uint32, bools in int32. Integer sums wrap around.
    With `out` and no `dtype`, the sum is computed in the common dtype of `a` and `out`; integers
    for an `out` of floats are summed exactly. `initial` is added, and elements where `where` is
    false are ignored.
    """
    return _fold(
        SUM, SUMMED, a, axis, keepdims, dtype=dtype, out=out, initial=initial,
        where=where, empty=0,
    )  # fmt: skip


def prod(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Product over `axis`; an empty product is 1; dtypes and options as in `sum`."""
    return _fold(
        PROD, SUMMED, a, axis, keepdims, dtype=dtype, out=out, initial=initial,
        where=where, empty=1,
    )  # fmt: skip


def max(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Maximum over `axis`; NaN if an element is NaN.

    `initial` is one more candidate; it is required with `where`.

    Raises
    ------
    ValueError
        If there are no elements and no `initial`.
    """
    return _fold(
        MAX, MAX.accepts, a, axis, keepdims, out=out, initial=initial, where=where, empty=None
    )


def min(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Minimum over `axis`; NaN if an element is NaN. Options and errors as in `max`."""
    return _fold(
        MIN, MIN.accepts, a, axis, keepdims, out=out, initial=initial, where=where, empty=None
    )


def any(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Tensor:
    """Return whether any element over `axis` is nonzero."""
    return _fold(ANY_TRUE, ANY_TRUE.accepts, a, axis, keepdims, out=out, where=where, empty=False)


def all(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Tensor:
    """Return whether all elements over `axis` are nonzero."""
    return _fold(ALL_TRUE, ALL_TRUE.accepts, a, axis, keepdims, out=out, where=where, empty=True)


_OF_FLOATS = {"max": MAX_OF_FLOATS, "min": MIN_OF_FLOATS}
_ARG_ACCEPTS = Accepts(
    "biufc",
    lambda dtype: dtypes.in_words(dtype) if dtype.is_bool else dtype,
    ARGMAX.accepts.words,
)
# The dtypes that these accept, and the dtype that they convert to.
_CONVERTED = {"sum": SUMMED, "prod": SUMMED, "argmax": _ARG_ACCEPTS, "argmin": _ARG_ACCEPTS}
_WITH_INITIAL: dict[str, Callable[..., Tensor]] = {
    "sum": add, "prod": multiply, "max": maximum, "min": minimum,
}  # fmt: skip


def _arg_reduce(op: Reduction, x: Operand, axis: int | None, keepdims: bool) -> Tensor:
    index = _by_axis(op, x, axis, keepdims)
    if index is not None:
        return index
    x = _through(_ARG_ACCEPTS, x, op.name)
    axes = None if axis is None else normalize_axis(op.name, axis, x.ndim, of_scalar=True)
    if not x.ndim:
        return _reduce(op, x.reshape((1,)), 0, False, empty=None)
    if _count(x, axes, op.name) > MAX_PLACES:
        raise ShapeError(f"{op.name}: the index along axis {axes} of {x.shape} does not fit int32")
    return _reduce(op, x, axes, keepdims, empty=None)


def argmax(
    a: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Tensor:
    """Index (int32) of the first largest element along `axis`, or in the whole flattened tensor.

    NaN counts as the largest. Raises ValueError for no elements and ShapeError for more than 2**31.
    """
    return stored_whole("argmax", _arg_reduce(ARGMAX, a, axis, keepdims), out)


def argmin(
    a: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Tensor:
    """Index (int32) of the first smallest element; NaN counts as the smallest."""
    return stored_whole("argmin", _arg_reduce(ARGMIN, a, axis, keepdims), out)


def _count(x: Tensor, axis: Axes, op: str) -> int:
    return size_of(tuple(x.shape[a] for a in normalize_axes(op, axis, x.ndim)))


def mean(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Tensor:
    """Mean over `axis` as a float; NaN for no elements.

    Elements where `where` is false are ignored. With an integer `dtype`, or for integers with an
    `out` of integers, the mean is exact and truncated.
    """
    if where is True and dtype is None:
        a, where = _values_and_mask(a, axis)
    if dtype is None and out is not None:
        a = tensor_of(a, "mean")
        common = dtype_into("mean", a.dtype, a.device, out)
        are_integers = a.dtype.is_integer and common.is_integer
        dtype = a.dtype if are_integers else float_into("mean", a, out)
    if where is True and dtype is None and (axis is None or type(axis) is int):
        return stored_whole("mean", _mean((tensor_of(a, "mean"),), axis, bool(keepdims)), out)
    x = _through(FLOATING, a, "mean", dtype)
    if not x.dtype.is_inexact:
        return stored_whole("mean", _truncated_mean(x, axis, keepdims, where), out)
    if where is True:
        axes = normalize_axes("mean", axis, x.ndim)
        return stored_whole("mean", _mean((x,), axes, bool(keepdims)), out)
    count = _counted(x, axis, "mean", keepdims, where)
    total = sum(_summable(x), axis, keepdims=keepdims, where=where)
    return stored_whole("mean", converted(total / count, x.dtype), out)


def _truncated_mean(x: Tensor, axis: Axes, keepdims: bool, where: Operand) -> Tensor:
    """Return the mean of integers or bools, rounded towards 0."""
    wide = dtypes.uint64 if x.dtype.is_unsigned else dtypes.int64
    total = sum(x, axis, wide, None, keepdims, where=where)
    count = _counted(x, axis, "mean", keepdims, where)
    count = converted(count, wide) if isinstance(count, Tensor) else int(count)
    quotient = absolute(total) // count
    return converted(choose(total < 0, -quotient, quotient), x.dtype)


@Composition
def _mean(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    x, axes = _through(FLOATING, x, "mean"), normalize_axes("mean", axes, x.ndim)
    total = sum(_summable(x), axes, keepdims=keepdims)
    return converted(total / float(_count(x, axes, "mean")), x.dtype)


def float_into(op: str, x: Tensor, out: Out) -> DType:
    """Return the dtype in which a mean of `x` into `out` computes: the common one, as a float."""
    return dtype_into(op, dtypes.floating(x.dtype), x.device, out)


def _summable(x: Tensor) -> Tensor:
    """Convert float16 to float32, as NumPy's mean does, because the sum may overflow float16."""
    return converted(x, dtypes.in_words(x.dtype))


def _counted(x: Tensor, axis: Axes, op: str, keepdims: bool, where: Operand) -> float | Tensor:
    """Return the number of elements in a mean."""
    count = _count(x, axis, op)
    if where is True:
        return float(count)
    ones = ones_like(_summable(x), dtypes.real_of(_summable(x).dtype))
    return sum(choose(where, ones, 0.0), axis, keepdims=keepdims)


def var(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    mean: Operand | None = None,
    correction: float | None = None,
) -> Tensor:
    """Variance over `axis`: mean squared deviation from the mean, computed in two passes.

    Parameters
    ----------
    ddof : float
        The divisor is the number of elements minus `ddof`; `correction` is the array API's name.
    where
        Elements where `where` is false are ignored.
    mean : optional
        The mean with kept axes, if already known.
    """
    correction = ddof if correction is None else correction
    variance = _variance("var", a, axis, correction, keepdims, where, dtype, mean, out)
    return stored_whole("var", variance, out)


def _variance(
    op: str,
    x: Operand,
    axis: Axes,
    correction: float,
    keepdims: bool,
    where: Operand,
    dtype: object,
    around: Operand | None,
    out: Out,
) -> Tensor:
    is_number = type(correction) in (int, float) and correction == correction
    is_plain = is_number and around is None
    if is_plain and where is True and dtype is None:
        x, where = _values_and_mask(x, axis)
    if dtype is None and out is not None:
        x = tensor_of(x, op)
        dtype = float_into(op, x, out)
    x = _through(FLOATING, x, op, dtype)
    axes = normalize_axes(op, axis, x.ndim)
    if is_plain and where is True:
        return _whole_variance((x,), axes, correction, bool(keepdims))
    count = _counted(x, axes, op, keepdims, where)
    if isinstance(count, Tensor):
        divisor = maximum(count - correction, 0.0)
    else:
        divisor = builtins.max(count - correction, 0.0)
    middle = mean(x, axes, keepdims=True, where=where) if around is None else around
    centred = subtract(x, middle)
    total = sum(squared_length(centred), axes, keepdims=keepdims, where=where)
    return converted(total / divisor, dtypes.real_of(x.dtype))


@Composition
def _whole_variance(x: Tensor, axes: tuple[int, ...], correction: float, keepdims: bool) -> Tensor:
    centred = subtract(x, mean(x, axes, keepdims=True))
    divisor = builtins.max(_count(x, axes, "var") - correction, 0.0)
    return sum(squared_length(centred), axes, keepdims=keepdims) / divisor


def std(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    mean: Operand | None = None,
    correction: float | None = None,
) -> Tensor:
    """Standard deviation over `axis`: the square root of `var`."""
    correction = ddof if correction is None else correction
    variance = _variance("std", a, axis, correction, keepdims, where, dtype, mean, out)
    return stored_whole("std", root_of_squares(variance), out)


def array_equal(a1: Operand, a2: Operand, equal_nan: bool = False) -> bool:
    """Return whether two tensors have the same shape and elements; reads the result.

    Operands that are not arrays of numbers are unequal to any tensor.
    """
    try:
        a, b = tensors_of("array_equal", (a1, a2))
    except (TypeError, ValueError):
        return False
    if a.shape != b.shape:
        return False
    same = equal(a, b)
    return bool(all(same | ((a != a) & (b != b)) if equal_nan else same))


def count_nonzero(a: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Number (int32) of nonzero elements over `axis`; NaN is nonzero."""
    a, where = _values_and_mask(a, axis)
    x = _through(LOGICAL, a, "count_nonzero")
    return sum(x, axis, keepdims=keepdims, where=where)


def ptp(a: Operand, axis: Axes = None, out: Out = None, keepdims: bool = False) -> Tensor:
    """Range over `axis`: maximum minus minimum. Raises ValueError for no elements."""
    x = tensor_of(a, "ptp")
    if out is not None:
        x = converted(x, dtype_into("ptp", x.dtype, x.device, out))
    axes = normalize_axes("ptp", axis, x.ndim, of_scalar=True)
    if not size_of(tuple(x.shape[i] for i in axes)):
        raise _nothing_to_choose("ptp", axis, x.shape)
    y = subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))
    return stored("ptp", y, out)


amax, amin = max, min
for _function, _op in (
    (sum, SUM), (prod, PROD), (max, MAX), (min, MIN), (any, ANY_TRUE), (all, ALL_TRUE),
    (argmax, ARGMAX), (argmin, ARGMIN), (mean, None), (var, None), (std, None),
):  # fmt: skip
    register(_function, _op)
for _function in (array_equal, count_nonzero, ptp):
    register(_function, method=False)
