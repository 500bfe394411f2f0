"""Reductions over any axes, and cumulative sums and products along an axis."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import FLOATING, NUMERIC, REAL_FLOATING, SUMMED, Accepts, DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, dropped, normalize_axes, normalize_axis, reduced, size_of
from py_tensor.ir.bind import Recipes, Step, follow, steps
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Device, Meta
from py_tensor.ir.op import Elementwise, Reduction, Scan
from py_tensor.ir.primitives import CAST, RESHAPE, SUM
from py_tensor.ops.arithmetic import round
from py_tensor.ops.complex import root_of_squares, squared_length
from py_tensor.ops.creation import full, ones_like
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import add, logical_and, logical_or, maximum, minimum, multiply
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.movement import along_axis, as_floating, converted, flip, pad_constant, sliced
from py_tensor.ops.operands import Operand, Scalar, copy_or_scalar, node_of, number_like, tensors_of
from py_tensor.ops.out import Out, dtype_into, stored, stored_whole
from py_tensor.ops.record import Composition, build
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "array_equal", "count_nonzero", "cumprod",
    "cumsum", "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "ptp", "std",
    "sum", "var",
]  # fmt: skip


Axes = int | tuple[int, ...] | None


# The ranks of -inf and inf, as in `rank_f32` of `shaders/lib/order.wgsl`.
RANK_OF_LOWEST = 0x7F800000 ^ -0x80000000 ^ 0x7FFFFFFF
RANK_OF_HIGHEST = 0x7F800000


def _grad_extreme(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor]:
    """The gradient goes in equal parts to all elements that attain the extreme."""
    hit = x == y.expand(x.shape)
    share = converted(g / sum(hit, axes, keepdims=True), g.dtype)
    return (hit * share.expand(x.shape),)


def _grad_prod(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor]:
    """Multiply by the elements before and those after each: a quotient is wrong beside a 0."""
    order = (*(a for a in builtins.range(x.ndim) if a not in axes), *axes)
    moved, last = x.permute(order), x.ndim - len(axes)
    flat = moved.reshape((*moved.shape[:last], -1))
    others = _product_before(flat, last) * flip(_product_before(flip(flat, last), last), last)
    of_flat = g.permute(order).reshape((*moved.shape[:last], 1)) * others
    back = tuple(order.index(a) for a in builtins.range(x.ndim))
    return (of_flat.reshape(moved.shape).permute(back),)


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


# -- Definitions --------------------------------------------------------------------------------


def fold_by(
    name: str, function: Any, identity: Callable[[DType], Scalar], **traits: Any
) -> Reduction:
    """Return the op that reduces with an elementwise function of two operands."""
    op: Elementwise = function.op
    combine = {kind: (text.format("{a0}", "{b0}", t="{t}"),) for kind, text in op.wgsl.items()}
    return Reduction(
        name,
        components=("T",),
        identity=lambda dtype: (identity(dtype),),
        element={"*": ("{x}",)},
        combine=combine,
        result="{a0}",
        numpy=lambda np, x, axes: getattr(np, op.name).reduce(
            x, axis=axes, keepdims=True, dtype=x.dtype
        ),
        accepts=op.accepts,
        **traits,
    )


@dataclass(frozen=True, slots=True, eq=False)
class reduction:  # noqa: N801 - a decorator
    """Creates the public function and the method of a declared reduction, with NumPy's options.

    The function has the name and the docstring of the declaration. With `combine` it takes
    `initial`, and if it converts integers to wider ones (`SUMMED`), also `dtype`.

    Attributes
    ----------
    op, of_floats : Reduction
        The op, and that for floats if it is another one.
    accepts : Accepts
        The accepted dtypes, and those in which it computes; by default those of the op.
    empty
        The result for no elements; None raises an error.
    combine : callable, optional
        The function of two operands that combines a result with `initial`.
    """

    op: Reduction
    _: KW_ONLY
    empty: Scalar | None = None
    accepts: Accepts | None = None
    combine: Callable[..., Tensor] | None = None
    of_floats: Reduction | None = None

    def __call__(self, declared: Any) -> Callable[..., Tensor]:
        name = self.op.name

        def of_sums(
            a: Operand,
            axis: Axes = None,
            dtype: object = None,
            out: Out = None,
            keepdims: bool = False,
            initial: Scalar | None = None,
            where: Operand = True,
        ) -> Tensor:
            return _fold(self, a, axis, keepdims, dtype, out, initial, where)

        def of_extremes(
            a: Operand,
            axis: Axes = None,
            out: Out = None,
            keepdims: bool = False,
            initial: Scalar | None = None,
            where: Operand = True,
        ) -> Tensor:
            return _fold(self, a, axis, keepdims, None, out, initial, where)

        def of_truths(
            a: Operand,
            axis: Axes = None,
            out: Out = None,
            keepdims: bool = False,
            *,
            where: Operand = True,
        ) -> Tensor:
            return _fold(self, a, axis, keepdims, None, out, None, where)

        def of_positions(
            a: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
        ) -> Tensor:
            x = a
            if type(axis) is not int or not getattr(x, "ndim", 0):
                x = tensor_of(x, name)
                axis = axis if axis is None else normalize_axis(name, axis, x.ndim, of_scalar=True)
                if not x.ndim:  # the index in an axis of one element
                    x, axis, keepdims = x.reshape((1,)), 0, False
            return _fold(self, x, axis, keepdims, None, out, None, True)

        function: Any = of_extremes if self.combine is not None else of_truths
        if self.op.indexed:
            function = of_positions
        elif self.accepts is SUMMED:
            function = of_sums
        function.__name__ = function.__qualname__ = name
        function.__doc__ = inspect.cleandoc(declared.__doc__ or "")
        register(function, self.op)
        return function


def _no_elements(op: str, axis: Axes, shape: Shape) -> ValueError:
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if isinstance(axis, int):
        axis %= len(shape)
    along = "" if axis is None else f" along axis {axis}"
    return ValueError(f"{op}: no elements to choose from{along} in shape {shape}")


def _steps_of(
    defined: reduction, meta: Meta, axis: Axes, keepdims: bool, dtype: DType | None
) -> tuple[Step, ...] | None:
    """Return the nodes from an operand to its reduction in a dtype; None if nothing is reduced."""
    op = defined.op
    accepts = defined.accepts or op.accepts
    target = accepts.check(op.name, meta.dtype) if dtype is None else dtype
    axes = normalize_axes(op.name, axis, len(meta.shape), of_scalar=True)
    if not axes or not meta.size:
        return None
    cast = () if meta.dtype is target else ((CAST, target),)
    folded = defined.of_floats if target.is_floating and defined.of_floats else op
    shape = () if keepdims else ((RESHAPE, dropped(meta.shape, axes)),)
    return steps(meta, *cast, (folded, axes), *shape)


_Key = tuple[reduction, Meta, Axes, bool, DType | None]
_recipes = Recipes[_Key, tuple[Step, ...] | None](_steps_of)


def _reduce(
    defined: reduction, x: Tensor, axis: Axes, keepdims: bool, *, empty: Scalar | None
) -> Tensor:
    """Record a reduction in the dtype of the elements. `empty` is the result for no elements."""
    op = defined.op
    axes = normalize_axes(op.name, axis, x.ndim, of_scalar=True)
    node = node_of(x)
    steps = _recipes[defined, node.meta, axes, bool(keepdims), x.dtype]
    if steps is not None:
        return Tensor(follow(node, steps))
    shape = reduced(x.shape, axes)
    dtype = op.gives or x.dtype
    if not size_of(tuple(x.shape[a] for a in axes)):
        if empty is None:  # as in NumPy, even if the result is empty
            raise _no_elements(op.name, axis, x.shape)
        y = full(shape, empty, dtype=dtype, device=x.device)
    elif not axes:
        y = copy_or_scalar(converted(x, dtype))
    else:  # the result is empty
        y = build(op, (x,), axes)
    return y if keepdims else y.reshape(dropped(shape, axes))


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
    defined: reduction,
    x: Operand,
    axis: Axes,
    keepdims: bool,
    dtype: object,
    out: Out,
    initial: Scalar | None,
    where: Operand,
) -> Tensor:
    """Return a reduction with NumPy's options."""
    # A tensor without an alias is no selection.
    if where is True and dtype is None and type(x) is Tensor and x._alias is not None:  # pyright: ignore[reportPrivateUsage]
        x, where = (x, True) if defined.empty is None else _values_and_mask(x, axis)
    is_plain = out is None and initial is None and where is True and dtype is None
    if is_plain and type(x) is Tensor and (axis is None or type(axis) is int):
        node = node_of(x)
        steps = _recipes[defined, node.meta, axis, bool(keepdims), None]
        if steps is not None:
            return Tensor(follow(node, steps))
    accepts, empty, name = defined.accepts or defined.op.accepts, defined.empty, defined.op.name
    element_dtype = wider = None
    x = tensor_of(x, name)
    if dtype is None and out is not None and (accepts is SUMMED or initial is not None):
        wider = dtype_into(name, x.dtype, x.device, out)  # also that of `initial`
        if accepts is SUMMED:
            element_dtype, added = x.dtype, x.size if defined.op is SUM else 0
            x = converted(x, dtype_into(name, x.dtype, x.device, out, added=added))
        else:
            x = converted(x, wider)
    x = converted(x, accepts.check(name, x.dtype) if dtype is None else dtypes.parse(dtype))
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

    def compute(dtype: DType) -> Tensor:
        return _reduce(defined, converted(x, dtype), axis, keepdims, empty=empty)

    y = compute(x.dtype)
    if element_dtype is not None:
        y = as_floats(name, element_dtype, x.device, out, compute, y)
    if initial is not None:
        assert defined.combine is not None
        y = defined.combine(y if wider is None else converted(y, wider), initial)
    return y if out is None else stored_whole(name, y, out)


def as_floats(
    op: str, source: DType, device: Device, out: Out, compute: Callable[[DType], Tensor], y: Tensor
) -> Tensor:
    """Return a sum or a product `y` of integers for an `out` of floats, which do not wrap around.

    Parameters
    ----------
    source
        The dtype of the elements; for those of floats `y` is returned unchanged.
    compute
        Computes `y` in a dtype.
    """
    floating = dtype_into(op, source, device, out)
    if source.is_inexact or not floating.is_floating:
        return y
    if y.dtype.is_floating:  # NaN is 0 times a product that is too large
        return choose(y.isnan(), 0.0, y)
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


# -- Sums and products --------------------------------------------------------------------------


@reduction(SUM, accepts=SUMMED, combine=add, empty=0)
def sum(a: Any) -> Any:
    """Sum over `axis` (an int, a tuple, or None for all); an empty sum is 0.

    8- and 16-bit integers are summed in int32 or uint32, bools in int32. Integer sums wrap around.
    With `out` and no `dtype`, the sum is computed in the common dtype of `a` and `out`; integers
    for an `out` of floats are summed exactly. `initial` is added, and elements where `where` is
    false are ignored.
    """


PROD = fold_by("prod", multiply, lambda dtype: 1, rounds=True, vjp=_grad_prod)


@reduction(PROD, accepts=SUMMED, combine=multiply, empty=1)
def prod(a: Any) -> Any:
    """Product over `axis`; an empty product is 1; dtypes and options as in `sum`."""


def scan_by(name: str, function: str, fold: Reduction, vjp: Any = NOT_DIFFERENTIABLE) -> Scan:
    """Return the op that scans with an elementwise function, which `fold` reduces with."""

    def on_arrays(np: Any, x: Any, axis: int) -> Any:
        return getattr(np, function).accumulate(x, axis, x.dtype)

    return Scan(name, fold=fold, numpy=on_arrays, vjp=vjp)


def _identity(dtype: DType) -> tuple[complex]:
    """Return -0 for floats, because 0 would change a first element of -0 to 0."""
    return (-dtypes.converter(dtype)(0),)


CUMSUM = scan_by("cumsum", "add", replace(SUM, identity=_identity), _grad_cumsum)
CUMPROD = scan_by("cumprod", "multiply", PROD, _grad_cumprod)

# -- Extremes -----------------------------------------------------------------------------------

MAX = fold_by("max", maximum, lambda dtype: dtypes.ends_of(dtype)[0], vjp=_grad_extreme)
MIN = fold_by("min", minimum, lambda dtype: dtypes.ends_of(dtype)[1], vjp=_grad_extreme)


def _of_ranks(op: Reduction, rank: str, identity: int) -> Reduction:
    """Return an op that compares floats by rank: one instruction instead of ten for NaN and -0."""

    def start(dtype: DType) -> tuple[int]:
        return (identity,)

    return replace(
        op,
        components=("i32",),
        identity=start,
        element={"f32": (f"{rank}({{x}})",)},
        combine={"f32": op.combine["*"]},
        result="f32_from_rank({a0})",
        accepts=REAL_FLOATING,
    )


@reduction(MAX, of_floats=_of_ranks(MAX, "rank_f32", RANK_OF_LOWEST), combine=maximum)
def max(a: Any) -> Any:
    """Maximum over `axis`; NaN if an element is NaN.

    `initial` is one more candidate; it is required with `where`.

    Raises
    ------
    ValueError
        If there are no elements and no `initial`.
    """


@reduction(MIN, of_floats=_of_ranks(MIN, "rank_min_f32", RANK_OF_HIGHEST), combine=minimum)
def min(a: Any) -> Any:
    """Minimum over `axis`; NaN if an element is NaN. Options and errors as in `max`."""


def _arg(name: str, key: str) -> Reduction:
    """Return the reduction to the index of the first largest order key; NaN has the largest."""

    def larger(more: str, equal: str) -> tuple[str, str]:
        take = f"{more} | ({equal} & ({{b1}} < {{a1}}))"
        return f"select({{a0}}, {{b0}}, {take})", f"select({{a1}}, {{b1}}, {take})"

    def on_arrays(np: Any, x: Any, axes: tuple[int, ...]) -> Any:
        """Return the index over several axes at once, in row-major order."""
        kept = [a for a in builtins.range(x.ndim) if a not in axes]
        flat = np.transpose(x, [*kept, *axes]).reshape([x.shape[a] for a in kept] + [-1])
        return np.expand_dims(getattr(np, name)(flat, axis=-1), axes)

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
        numpy=on_arrays,
        indexed=True,
        gives=dtypes.int32,
        accepts=NUMERIC,
        vjp=NOT_DIFFERENTIABLE,
    )


# Bools are compared as uint32.
_BOOLS_IN_WORDS = Accepts(
    "biufc", lambda dtype: dtypes.in_words(dtype) if dtype.is_bool else dtype, NUMERIC.words
)


@reduction(_arg("argmax", "order_key"), accepts=_BOOLS_IN_WORDS)
def argmax(a: Any) -> Any:
    """Index (int32) of the first largest element along `axis`, or in the flattened tensor.

    NaN counts as the largest. Raises ValueError for no elements and ShapeError for more than 2**31.
    """


@reduction(_arg("argmin", "order_key_min"), accepts=_BOOLS_IN_WORDS)
def argmin(a: Any) -> Any:
    """Index (int32) of the first smallest element; NaN counts as the smallest."""


# -- Truth --------------------------------------------------------------------------------------


@reduction(fold_by("any", logical_or, lambda dtype: False, vjp=NOT_DIFFERENTIABLE), empty=False)
def any(a: Any) -> Any:
    """Return whether any element over `axis` is nonzero."""


@reduction(fold_by("all", logical_and, lambda dtype: True, vjp=NOT_DIFFERENTIABLE), empty=True)
def all(a: Any) -> Any:
    """Return whether all elements over `axis` are nonzero."""


# -- Means --------------------------------------------------------------------------------------


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
    x = tensor_of(a, "mean")
    if dtype is None and out is not None:
        common = dtype_into("mean", x.dtype, x.device, out)
        are_integers = x.dtype.is_integer and common.is_integer
        dtype = x.dtype if are_integers else float_into("mean", x, out)
    x = x if dtype is None else converted(x, dtypes.parse(dtype))
    if dtype is not None and not x.dtype.is_inexact:
        y = _truncated_mean(x, axis, keepdims, where)
    elif where is True:
        is_plain = axis is None or type(axis) is int
        axes = axis if is_plain else normalize_axes("mean", axis, x.ndim)
        y = _mean((x,), axes, bool(keepdims))
    else:
        y = _floating_mean(x, axis, keepdims, where)
    return stored_whole("mean", y, out)


def _truncated_mean(x: Tensor, axis: Axes, keepdims: bool, where: Operand) -> Tensor:
    """Return the mean of integers or bools, rounded towards 0."""
    wide = dtypes.uint64 if x.dtype.is_unsigned else dtypes.int64
    total = sum(x, axis, wide, None, keepdims, where=where)
    count = _counted(x, axis, "mean", keepdims, where)
    count = converted(count, wide) if isinstance(count, Tensor) else int(count)
    quotient = builtins.abs(total) // count
    return converted(choose(total < 0, -quotient, quotient), x.dtype)


def _floating_mean(x: Tensor, axis: Axes, keepdims: bool, where: Operand = True) -> Tensor:
    x, axes = as_floating(x, "mean"), normalize_axes("mean", axis, x.ndim)
    if not x.ndim:  # `where` may have more axes, over which the default reduces, too
        axes = axis
    wide = converted(x, dtypes.in_words(x.dtype))  # as in NumPy: a sum may overflow float16
    total = sum(wide, axes, keepdims=keepdims, where=where)
    return converted(total / _counted(x, axes, "mean", keepdims, where), x.dtype)


_mean = Composition(_floating_mean)


def float_into(op: str, x: Tensor, out: Out) -> DType:
    """Return the dtype in which a mean of `x` into `out` computes: the common one, as a float."""
    return dtype_into(op, dtypes.floating(x.dtype), x.device, out)


def _counted(x: Tensor, axis: Axes, op: str, keepdims: bool, where: Operand) -> float | Tensor:
    """Return the number of elements in a mean."""
    if where is True:
        return float(size_of(tuple(x.shape[a] for a in normalize_axes(op, axis, x.ndim))))
    ones = ones_like(x, dtypes.real_of(dtypes.in_words(x.dtype)))
    return sum(choose(where, ones, 0.0), axis, keepdims=keepdims)


def _spread(name: str, finish: Callable[[Tensor], Tensor]) -> Any:
    """Return the public function that applies `finish` to the variance."""

    def function(
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
            The divisor is the number of elements minus `ddof`; `correction` is the array API's
            name.
        where
            Elements where `where` is false are ignored.
        mean : optional
            The mean with kept axes, if already known.
        """
        missing = ddof if correction is None else correction
        is_plain = type(missing) in (int, float) and missing == missing and mean is None
        x = a
        if is_plain and where is True and dtype is None:
            x, where = _values_and_mask(x, axis)
        x = tensor_of(x, name)
        if dtype is None:
            dtype = FLOATING.check(name, x.dtype) if out is None else float_into(name, x, out)
        x = converted(x, dtypes.parse(dtype))
        axes = normalize_axes(name, axis, x.ndim)
        if is_plain and where is True:
            variance = _whole_variance((x,), axes, missing, bool(keepdims))
        else:
            variance = _variance(x, axes, missing, keepdims, where, mean)
        return stored_whole(name, finish(variance), out)

    function.__name__ = function.__qualname__ = name
    return function


def _variance(
    x: Tensor,
    axes: Axes,
    ddof: float,
    keepdims: bool,
    where: Operand = True,
    center: Operand = None,
) -> Tensor:
    if center is None:
        center = mean(x, axes, keepdims=True, where=where)
    count = _counted(x, axes, "var", keepdims, where)
    largest = maximum if isinstance(count, Tensor) else builtins.max
    total = sum(squared_length(x - center), axes, keepdims=keepdims, where=where)
    variance, real = total / largest(count - ddof, 0.0), dtypes.real_of(x.dtype)
    return converted(variance, real) if real.is_floating else variance


_whole_variance = Composition(_variance)
var = _spread("var", lambda variance: variance)
std = _spread("std", root_of_squares)
std.__doc__ = "Standard deviation over `axis`: the square root of `var`."


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
    same = a == b
    return bool(all(same | ((a != a) & (b != b)) if equal_nan else same))


def count_nonzero(a: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Number (int32) of nonzero elements over `axis`; NaN is nonzero."""
    a, where = _values_and_mask(a, axis)
    x = converted(tensor_of(a, "count_nonzero"), dtypes.bool_)
    return sum(x, axis, keepdims=keepdims, where=where)


def ptp(a: Operand, axis: Axes = None, out: Out = None, keepdims: bool = False) -> Tensor:
    """Range over `axis`: maximum minus minimum. Raises ValueError for no elements."""
    x = tensor_of(a, "ptp")
    if out is not None:
        x = converted(x, dtype_into("ptp", x.dtype, x.device, out))
    axes = normalize_axes("ptp", axis, x.ndim, of_scalar=True)
    if not size_of(tuple(x.shape[i] for i in axes)):
        raise _no_elements("ptp", axis, x.shape)
    y = max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)
    return stored("ptp", y, out)


# -- Cumulative -----------------------------------------------------------------------------------


def scanned(
    op: Scan, name: str, x: Operand, axis: int | None, dtype: object, out: Out = None
) -> Tensor:
    """Return a cumulative op in `dtype`, by default that of a sum into `out`."""
    x, along = along_axis(name, x, axis, of_scalar=True)
    if dtype is not None:
        target = dtypes.parse(dtype)
    else:
        element_dtype = x.dtype
        if out is not None:
            element_dtype = dtype_into(
                name, element_dtype, x.device, out, added=x.size if op is CUMSUM else 0
            )
        target = SUMMED.check(name, element_dtype)
    if target.is_packed:  # for bools: whether any, or all, elements so far are nonzero
        x = converted(x, target)
        return converted(scanned(op, name, x, along, dtypes.in_words(target)), target)

    def compute(dtype: DType) -> Tensor:
        return build(op, (converted(x, dtype),), (along,))

    y = compute(target)
    if dtype is None and out is not None:
        return as_floats(name, x.dtype, x.device, out, compute, y)
    return y


def cumsum(a: Operand, axis: int | None = None, dtype: object = None, out: Out = None) -> Tensor:
    """Cumulative sum along `axis`; None sums over the flattened tensor.

    Dtypes are as in `sum`. Floats are summed pairwise, so errors grow more slowly with the length
    of the axis than in NumPy.
    """
    return stored_whole("cumsum", scanned(CUMSUM, "cumsum", a, axis, dtype, out), out)


def cumprod(a: Operand, axis: int | None = None, dtype: object = None, out: Out = None) -> Tensor:
    """Cumulative product along `axis`; None multiplies over the flattened tensor.

    Dtypes are as in `prod`. Elements after a 0 are NaN if a partial product there overflows.
    """
    return stored_whole("cumprod", scanned(CUMPROD, "cumprod", a, axis, dtype, out), out)


_DOC = """Array API version of `{}`; `include_initial` prepends a {}.

Raises
------
ShapeError
    If there are several axes and `axis` is None.
"""


def _of_standard(op: Scan, name: str, identity: int) -> Callable[..., Tensor]:
    """Return the function of the array API standard for a scan."""

    def function(
        x: Operand,
        /,
        *,
        axis: int | None = None,
        dtype: object = None,
        out: Out = None,
        include_initial: bool = False,
    ) -> Tensor:
        x = tensor_of(x, name)
        if axis is None and x.ndim > 1:
            raise ShapeError(f"{name}: shape {x.shape} has {x.ndim} axes; pass axis")
        y = scanned(op, name, x, axis, dtype, out)
        if include_initial:
            along = normalize_axis(name, 0 if axis is None else axis, y.ndim)
            y = pad_constant(y, [(int(a == along), 0) for a in builtins.range(y.ndim)], identity)
        return stored_whole(name, y, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(op.name, identity)
    return function


cumulative_sum = _of_standard(CUMSUM, "cumulative_sum", 0)
cumulative_prod = _of_standard(CUMPROD, "cumulative_prod", 1)

amax, amin = max, min
for _function in (mean, var, std):
    register(_function)
for _function, _op in ((cumsum, CUMSUM), (cumprod, CUMPROD)):
    register(_function, _op)
