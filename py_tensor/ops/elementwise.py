"""Elementwise ops: each one assignment, with its WGSL, its NumPy meaning and its derivative.

A vjp takes the incoming gradient, the result, the operands and the node's attributes, and returns a
gradient for each operand.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import ANY, FLOATING, LOGICAL, NUMERIC, REAL, REAL_FLOATING
from py_tensor.base.shapes import broadcast
from py_tensor.ir.arrays import has_integers, of_floats
from py_tensor.ir.node import FLAT, NOT_DIFFERENTIABLE
from py_tensor.ir.primitives import MUL, WHERE
from py_tensor.ops.define import add_operator, binary, comparison, function_of, unary, with_options
from py_tensor.ops.operands import (
    Operand,
    Scalar,
    as_ndarray,
    coerce,
    common_dtype,
    in_dtype,
    known,
    number_like,
    tensor_beside,
    tensors_of,
)
from py_tensor.ops.out import Out, stored
from py_tensor.ops.record import apply
from py_tensor.tensors.tensor import Tensor, install

__all__ = [
    "abs", "absolute", "add", "ceil", "clip", "cos", "div", "divide", "eq", "equal", "exp",
    "floor", "floor_divide", "ge", "greater", "greater_equal", "gt", "isfinite", "isinf",
    "isnan", "le", "less", "less_equal", "log", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "maximum", "minimum", "mod", "mul", "multiply", "ne", "negative",
    "not_equal", "positive", "pow", "power", "reciprocal", "relu", "remainder",
    "sigmoid", "sign", "sin", "sqrt", "square", "sub", "subtract", "tan", "tanh", "true_divide",
]  # fmt: skip


# -- One operand, floating point ----------------------------------------------------------------

elementary = partial(unary, FLOATING, ulp=4)
"""Defines a function of floats and complex numbers, which is not correctly rounded."""


@elementary(vjp=lambda g, y, x, _: (g * y,), cost=12)
def exp(x: Any) -> Any:
    """Exponential of each element."""


@elementary(vjp=lambda g, y, x, _: (g / x,), cost=12)
def log(x: Any) -> Any:
    """Natural logarithm of each element; -inf at 0, NaN for negative numbers."""


@elementary(vjp=lambda g, y, x, _: (g / (2 * y),), cost=4)
def sqrt(x: Any) -> Any:
    """Square root of each element; NaN for negative numbers."""


@elementary(vjp=lambda g, y, x, _: (g * cos(x),), cost=30)
def sin(x: Any) -> Any:
    """Sine of each element, in radians; accurate over the whole range."""


@elementary(vjp=lambda g, y, x, _: (-(g * sin(x)),), cost=30)
def cos(x: Any) -> Any:
    """Cosine of each element, in radians; accurate over the whole range."""


@elementary(vjp=lambda g, y, x, _: (g * (1 + y * y),), cost=34)
def tan(x: Any) -> Any:
    """Tangent of each element, in radians."""


@elementary(vjp=lambda g, y, x, _: (g * (1 - y * y),), cost=16)
def tanh(np: Any, x: Any) -> Any:
    """Hyperbolic tangent of each element."""
    tangent = np.asarray(np.tanh(x))
    if np.iscomplexobj(tangent):  # at an infinity, 0 with a sign, as in the standard
        infinite = np.isinf(x.real) & np.isfinite(x.imag)
        tangent.imag[infinite] = np.copysign(0, x.imag[infinite])
    return tangent


@unary(REAL_FLOATING, vjp=lambda g, y, x, _: (g * y * (1 - y),), cost=16, ulp=4)
def sigmoid(np: Any, x: Any) -> Any:
    """Logistic function ``1 / (1 + exp(-x))`` of each element."""
    e = np.exp(-np.abs(x))  # which cannot overflow
    return np.where(x >= 0, 1, e) / (1 + e)


@unary(dtypes.WITH_BOOL_AS_INT8, vjp=lambda g, y, x, _: (-(g * y * y),), cost=4, ulp=4)
def reciprocal(np: Any, x: Any) -> Any:
    """Reciprocal of each element; for integers an integer, which is 0 except for 1 and -1."""
    if has_integers(x):
        return x * (np.abs(x) == 1)
    return np.reciprocal(x) if np.iscomplexobj(x) else np.divide(1, x, dtype=x.dtype)


# -- One operand, any number --------------------------------------------------------------------


@unary(
    NUMERIC,
    {
        "f32": "neg_f32({0})",
        "u32": "(0u - {0})",
        # As in Tint. With naga's form, NVIDIA's driver drops the sign in the maximum of -x.
        "i32": "bitcast<i32>(~bitcast<u32>({0}) + 1u)",
        "64": "neg_64({0})",
        "complex64": "neg_complex64({0})",
    },
    vjp=lambda g, y, x, _: (-g,),
)
def negative(x: Any) -> Any:
    """Negative of each element; unsigned integers wrap around."""


@unary(NUMERIC, "{0}", vjp=lambda g, y, x, _: (g,))
def positive(np: Any, x: Any) -> Any:
    """Each element, unchanged."""
    return x


@unary(
    ANY,
    {
        "f32": "abs_f32({0})",
        "i32": "abs_i32({0})",
        "int64": "abs_int64({0})",
        "complex64": "abs_complex64({0})",
        "*": "{0}",
    },
    vjp=lambda g, y, x, _: (g * sign(x).conj(),),
    result=dtypes.real_of,
)
def abs(x: Any) -> Any:
    """Absolute value of each element; the lowest integer is unchanged, as in NumPy.

    The result for complex numbers is real.
    """


@unary(NUMERIC, vjp=lambda g, y, x, _: (_grad_direction(g, y, x) if x.dtype.is_complex else None,))
def sign(x: Any) -> Any:
    """Sign of each element: -1, 0 or 1; NaN stays NaN.

    For a complex number it is ``x / abs(x)``, or 0.
    """


def _grad_direction(g: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of ``x / abs(x)``, which changes only across the direction of x.

    At 0 it is 0, as for `abs`.
    """
    length = abs(x)
    is_zero = equal(length, 0)
    across = where(is_zero, 0, g - (g * y).real * y.conj())
    return across / where(is_zero, 1, length)


@unary(
    dtypes.WITH_BOOL_AS_INT8,
    {
        "f32": "square_f32({0})",
        "64": "mul_64({0}, {0})",
        "complex64": "mul_complex64({0}, {0})",
        "*": "{0} * {0}",
    },
    vjp=lambda g, y, x, _: (g * (2 * x),),
)
def square(x: Any) -> Any:
    """Square of each element."""


@unary(
    dtypes.REAL_NUMERIC,
    {
        "f32": "relu_f32({0})",
        "i32": "max({0}, 0)",
        "int64": "max_int64({0}, vec2u(0u))",
        "*": "{0}",
    },
    vjp=lambda g, y, x, _: (where(y > 0, g, 0),),
)
def relu(np: Any, x: Any) -> Any:
    """Rectified linear unit: each element, or 0 if it is negative; NaN stays NaN."""
    return np.maximum(x, x.dtype.type(0))


@unary(REAL, {"f32": "floor_f32({0})", "*": "{0}"}, vjp=FLAT)
def floor(np: Any, x: Any) -> Any:
    """Largest integer not greater than each element, in the same dtype."""
    return of_floats("floor")(np, x)


@unary(REAL, {"f32": "ceil_f32({0})", "*": "{0}"}, vjp=FLAT)
def ceil(np: Any, x: Any) -> Any:
    """Smallest integer not less than each element, in the same dtype."""
    return of_floats("ceil")(np, x)


# -- One operand, true or false -----------------------------------------------------------------

predicate = partial(unary, vjp=NOT_DIFFERENTIABLE, result=dtypes.bool_)


@predicate(ANY, {"f32": "is_nan({0})", "complex64": "is_nan_complex64({0})", "*": "false"})
def isnan(x: Any) -> Any:
    """Whether each element is NaN."""


@predicate(ANY, {"f32": "is_inf({0})", "complex64": "is_inf({0}.x) | is_inf({0}.y)", "*": "false"})
def isinf(x: Any) -> Any:
    """Whether each element is infinite."""


@predicate(
    ANY, {"f32": "is_finite({0})", "complex64": "is_finite({0}.x) & is_finite({0}.y)", "*": "true"}
)
def isfinite(x: Any) -> Any:
    """Whether each element is neither NaN nor infinite."""


@unary(LOGICAL, "!{0}", vjp=NOT_DIFFERENTIABLE)
def logical_not(x: Any) -> Any:
    """Whether each element is zero; NaN is not zero."""


# -- Two operands: arithmetic -------------------------------------------------------------------


@binary(
    ANY,
    {"bool": "{0} | {1}", "64": "add_64({0}, {1})", "*": "{0} + {1}"},
    vjp=lambda g, y, a, b, _: (g, g),
    operator="add",
)
def add(x: Any, y: Any) -> Any:
    """Elementwise sum; for bools, whether either is true."""


@binary(
    NUMERIC,
    {
        "f32": "subtract_f32({0}, {1})",
        "64": "sub_64({0}, {1})",
        "complex64": "{0} + neg_complex64({1})",
        "*": "{0} - {1}",
    },
    vjp=lambda g, y, a, b, _: (g, -g),
    operator="sub",
)
def subtract(x: Any, y: Any) -> Any:
    """Elementwise difference; integers wrap around."""


multiply = function_of(
    MUL, operator="mul", doc="Elementwise product; for bools, whether both are true."
)


@binary(
    FLOATING, vjp=lambda g, y, a, b, _: (g / b, -(g * y / b)), operator="truediv", cost=6, ulp=4
)
def divide(x: Any, y: Any) -> Any:
    """Elementwise quotient as a float: int32 operands give float32."""


_quotient = partial(binary, dtypes.REAL_WITH_BOOL_AS_INT8, cost=30, ulp=4)


@_quotient(vjp=FLAT, operator="floordiv")
def floor_divide(x: Any, y: Any) -> Any:
    """Quotient rounded down to an integer; an integer divided by 0 gives 0."""


@_quotient(vjp=lambda g, y, a, b, _: (g, -(g * floor(a / b))), operator="mod")
def remainder(x: Any, y: Any) -> Any:
    """Remainder of floor division, with the sign of the divisor; an integer modulo 0 is 0."""


def _grad_power(g: Tensor, y: Tensor, a: Tensor, b: Tensor, _: None) -> tuple[Tensor, Tensor]:
    """Return 0 for a base of 0 with the exponent 0, and for the exponent of a base up to 0."""
    is_one = equal(a, 0) & equal(b, 0)
    base = where(not_equal(a, 0) if a.dtype.is_complex else a > 0, a, 1)
    return g * b * a ** where(is_one, 0, b - 1), g * base**b * log(base)


@binary(dtypes.WITH_BOOL_AS_INT8, "pow_{t}({0}, {1})", vjp=_grad_power, cost=40, name="power")
def _power(np: Any, x: Any, y: Any) -> Any:
    """`power`, without its checks."""
    if has_integers(x):
        return _integer_power(np, x, y)
    return np.power(x, y) if np.iscomplexobj(x) else _float_power(np, x, y)


def _extreme(name: str, of_bools: str) -> dict[str, str]:
    """Return the WGSL of the larger or the smaller operand, by "max" or "min"."""
    pairs = f"{name}_{{t}}({{0}}, {{1}})"
    return {
        "f32": f"{name}imum_f32({{0}}, {{1}})", "bool": of_bools, "64": pairs, "complex64": pairs,
        "*": f"{name}({{0}}, {{1}})",
    }  # fmt: skip


def _grad_extreme(g: Tensor, y: Tensor, a: Tensor, b: Tensor, _: None) -> tuple[Tensor, Tensor]:
    """The operand that is selected gets the gradient; equal operands get half of it each."""
    share = where(equal(a, b), g / 2, g)
    return where(equal(y, a), share, 0), where(equal(y, b), share, 0)


@binary(ANY, _extreme("max", "{0} | {1}"), vjp=_grad_extreme)
def maximum(x: Any, y: Any) -> Any:
    """Elementwise maximum; NaN if either element is NaN."""


@binary(ANY, _extreme("min", "{0} & {1}"), vjp=_grad_extreme)
def minimum(x: Any, y: Any) -> Any:
    """Elementwise minimum; NaN if either element is NaN."""


def _grad_at_least(g: Tensor, y: Tensor, a: Tensor, b: Tensor, _: None) -> tuple[Tensor, Tensor]:
    return where(a >= b, g, 0), where(a < b, g, 0)


def _grad_at_most(g: Tensor, y: Tensor, a: Tensor, b: Tensor, _: None) -> tuple[Tensor, Tensor]:
    return where(a <= b, g, 0), where(a > b, g, 0)


# The limits of `clip`, whose derivative is 1 at its bounds.
_AT_LEAST = replace(cast("Any", maximum).op, vjp=_grad_at_least)
_AT_MOST = replace(cast("Any", minimum).op, vjp=_grad_at_most)


def _float_power(np: Any, x: Any, y: Any) -> Any:
    """`np.power`, without its use of the square root for rows with the single exponent 0.5.

    The square root of -inf is NaN, where IEEE 754 and other exponents give inf, and that of -0 is
    -0 instead of 0. Also, with NumPy a signaling NaN to the power of 0, and 1 to the power of a
    signaling NaN, are NaN, where a quiet NaN gives 1.
    """
    rooted = ((x == -np.inf) | (x == 0)) & (y == 0.5)
    powers = np.where(rooted, np.abs(x), np.power(x, y))
    return np.where((x == 1) | (y == 0), 1, powers)


def _integer_power(np: Any, x: Any, y: Any) -> Any:
    """Wrap-around power; a negative exponent gives 0, except for the bases 1 and -1."""
    safe = np.where(y < 0, 0, y).astype(x.dtype)
    odd = np.where(y & 1, x, x.dtype.type(1))
    return np.where(y < 0, np.where(np.abs(x) == 1, odd, 0), np.power(x, safe))


def _raised(x: Operand, y: Operand) -> Tensor:
    """Raise each element of `x1` to the power of the element of `x2`.

    Raises
    ------
    ValueError
        If an integer is raised to a negative integer power. Exponents in a GPU tensor are not read:
        such a result is 0 there, except for the bases 1 and -1.
    """
    if isinstance(x, Tensor) and x.dtype.is_complex and isinstance(y, int | float):
        known = {2: square, 0.5: sqrt, -1: reciprocal}.get(y)  # NumPy uses these shortcuts too
        if known is not None:
            return known(x)
    if isinstance(y, int) and not isinstance(y, bool) and isinstance(x, Tensor):
        if y == 2 and not x.dtype.is_bool:
            return square(x)
        if y < 0 and not x.dtype.is_inexact:
            raise ValueError(
                "power: integers to a negative integer power are not supported; use a float: x **"
                f" {y}.0"
            )
    if isinstance(y, Tensor):
        is_known = y.dtype.is_signed and y.device.computes_cpu_ops
    else:
        is_known = type(y) is not float and type(y) is not int and not isinstance(y, Scalar)
    if is_known and _has_negative_powers(x, y):
        raise ValueError(
            "power: integers to negative integer powers are not supported; make one a float"
        )
    return _power(x, y)


def _has_negative_powers(x: Operand, y: Operand) -> bool:
    """Return whether an exponent that the host knows is negative, and all operands are integers."""
    operands = coerce("power", (x, y))
    number = number_like(y)
    if not common_dtype(operands).is_integer:
        return False
    if isinstance(number, int):
        return number < 0
    powers = known(cast("Tensor", operands[1]))
    return powers is not None and bool((powers < 0).any())


power = with_options(
    "power", _raised, nin=2, accepts=dtypes.WITH_BOOL_AS_INT8, op=cast("Any", _power).op,
    doc=_raised.__doc__, ulp=4, operator="pow",
)  # fmt: skip


def _power_of(x: Operand, y: Operand) -> Tensor:
    """``**``, which squares bools in int8, where `power` gives int32, as in NumPy."""
    return square(x) if type(y) is int and y == 2 else _raised(x, y)


add_operator("pow", _power_of)

# -- Two operands: comparison and logic ---------------------------------------------------------

equal = comparison(
    "equal",
    "eq",
    ANY,
    {
        "f32": "eq_f32({0}, {1})",
        "64": "all({0} == {1})",
        "complex64": "eq_{t}({0}, {1})",
        "*": "{0} == {1}",
    },
    doc="Whether the elements are equal; NaN is not equal to anything.",
)
not_equal = comparison(
    "not_equal",
    "ne",
    ANY,
    {
        "f32": "ne_f32({0}, {1})",
        "64": "any({0} != {1})",
        "complex64": "!eq_{t}({0}, {1})",
        "*": "{0} != {1}",
    },
    doc="Whether the elements are not equal.",
)


def _is_less(x: str, y: str, symbol: str) -> dict[str, str]:
    """Return the WGSL of ``x < y``; `symbol` is its operator, for the operands in their order."""
    pairs = f"less_{{t}}({x}, {y})"
    return {
        "f32": f"lt_f32({x}, {y})", "64": pairs, "complex64": pairs, "*": f"{{0}} {symbol} {{1}}"
    }  # fmt: skip


def _is_at_most(x: str, y: str, symbol: str) -> dict[str, str]:
    """Return the WGSL of ``x <= y``, like `_is_less`."""
    return {
        "f32": f"le_f32({x}, {y})", "64": f"!less_{{t}}({y}, {x})",
        "complex64": f"less_equal_{{t}}({x}, {y})", "*": f"{{0}} {symbol} {{1}}",
    }  # fmt: skip


_order = partial(comparison, accepts=dtypes.INTEGRAL_AS_INT)
less = _order("less", "lt", wgsl=_is_less("{0}", "{1}", "<"), doc="Whether ``x1 < x2``.")
less_equal = _order(
    "less_equal", "le", wgsl=_is_at_most("{0}", "{1}", "<="), doc="Whether ``x1 <= x2``."
)
greater = _order("greater", "gt", wgsl=_is_less("{1}", "{0}", ">"), doc="Whether ``x1 > x2``.")
greater_equal = _order(
    "greater_equal", "ge", wgsl=_is_at_most("{1}", "{0}", ">="), doc="Whether ``x1 >= x2``."
)
_logical = partial(binary, LOGICAL, vjp=NOT_DIFFERENTIABLE)


@_logical("{0} & {1}")
def logical_and(x: Any, y: Any) -> Any:
    """Whether both elements are nonzero."""


@_logical("{0} | {1}")
def logical_or(x: Any, y: Any) -> Any:
    """Whether either element is nonzero."""


@_logical("{0} != {1}")
def logical_xor(x: Any, y: Any) -> Any:
    """Whether exactly one element is nonzero."""


# -- Three operands -----------------------------------------------------------------------------


def where(condition: Operand, x: Operand, y: Operand, /) -> Tensor:
    """Return elements of `x` where `condition` is nonzero, else of `y`; all three broadcast.

    The public function of this name takes a condition alone, too (`py_tensor.ops.gather.where`).
    """
    return as_ndarray(apply(WHERE, (condition, x, y)))


def clip(
    a: Operand,
    min: Operand | None = None,
    max: Operand | None = None,
    out: Out = None,
    *,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
    **options: Any,
) -> Tensor:
    """Limit each element to the range from `min` to `max`; None means no limit.

    `a_min` and `a_max` are NumPy's older names for these. A Python int outside the range of an
    integer dtype means no limit on that side. `options` are those of elementwise functions.
    """
    min = a_min if min is None else min
    max = a_max if max is None else max
    x = a if isinstance(a, Scalar) else tensor_beside("clip", a, min, max)
    if options:
        x = positive(x, **{name: v for name, v in options.items() if name != "where"})
    kinds = {v.dtype if isinstance(v, Tensor) else None for v in (x, min, max)}
    if not (min is None or max is None or (len(kinds) == 1 and None not in kinds)):
        others = [v for v in (min, max) if not isinstance(v, Scalar)]
        if others:  # the dtype of all three, in which a Python number is a limit too
            x = in_dtype("clip", x, common_dtype(coerce("clip", (x, *others))))
    if isinstance(x, Tensor) and x.dtype.is_integer:
        low, high = dtypes.integer_range(x.dtype)
        min = None if isinstance(min, int) and min < low else min
        max = None if isinstance(max, int) and max > high else max
    arrays = [v for v in (x, min, max) if not (v is None or isinstance(v, Scalar))]
    if len(arrays) > 1:  # first, for an error that names this op
        broadcast("clip", *[v.shape for v in tensors_of("clip", arrays)])
    result: Any = x if min is None else apply(_AT_LEAST, (x, min))
    result = result if max is None else apply(_AT_MOST, (result, max))
    where = options.get("where", True)
    return stored("clip", positive(result) if result is x else result, out, where)


install("clip", clip)
install("__neg__", negative)
install("__pos__", positive)
install("__abs__", abs)

# The array API's aliases, and short names.
absolute, pow = abs, power
sub, mul, div, true_divide, mod = subtract, multiply, divide, divide, remainder
eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal
for _name, _function in (
    ("add", add), ("sub", sub), ("mul", mul), ("div", div), ("pow", power), ("eq", eq),
    ("maximum", maximum), ("minimum", minimum),
):  # fmt: skip
    install(_name, _function)
