"""The reference for every op: its NumPy function in float64, its dtypes and its error bound.

It is written independently of the ops' own records, so that the tests fail if those are wrong.
An op without an entry here fails `test_registry.py`. An error bound over 4 ulp
needs a reason here, and the op's definition cannot loosen it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Array = Any

DTYPES = ("bool", "int32", "uint32", "int64", "uint64", "float32")  # on every device
ANY_DTYPES = (*DTYPES, "complex64")  # tested in test_complex
WIDE_DTYPES = ("float64",)  # only on the cpu; test_complex tests complex128

SMALL_DTYPES = (
    "int8",
    "int16",
    "uint8",
    "uint16",
)  # on every device; tested in test_small_integers

# -- Promotion: NumPy's, but with float32 instead of float64 ------------------------------------

_ORDER = (*DTYPES, *SMALL_DTYPES, *WIDE_DTYPES)


def common_dtype(a: str, b: str) -> str:
    """Return the common dtype of operands of two dtypes."""
    found = np.promote_types(a, b).name
    return "float32" if found == "float64" and found not in (a, b) else found


# A Python scalar is weak: it only widens the kind (bool < int < float).
WITH_SCALAR: dict[tuple[str, str], str] = {
    **{(d, "bool"): d for d in _ORDER},
    **{(d, "int"): "int32" if d == "bool" else d for d in _ORDER},
    **{(d, "float"): d if d.startswith("float") else "float32" for d in _ORDER},
}

# -- Dtypes of operands and results --------------------------------------------------------------

SAME = {d: d for d in _ORDER}
NUMBERS = {d: d for d in _ORDER if d != "bool"}
BITS = {d: d for d in _ORDER if not d.startswith("float")}
WHOLE = {d: "int8" if d == "bool" else d for d in BITS}
INTEGERS = {d: d for d in BITS if d != "bool"}
COUNTS: dict[str, str] = {d: "uint8" for d in WHOLE}  # noqa: C420
COUNTED = {**SAME, "bool": "int32"}
AS_INT8 = {**SAME, "bool": "int8"}  # NumPy has no loop for bools
SUMMED = COUNTED | {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
FLOATING = {d: d if d.startswith("float") else "float32" for d in _ORDER}
TRUTH: dict[str, str] = {d: "bool" for d in _ORDER}  # noqa: C420 - whose keys would be literals
INDEX: dict[str, str] = {d: "int32" for d in _ORDER}  # noqa: C420


@dataclass(frozen=True)
class Entry:
    """One elementwise op.

    Attributes
    ----------
    reference
        Takes arrays of the wide type (float64; long double for float64; int64, uint64; bool).
    dtypes
        (Promoted) dtype of the operands -> dtype of the result; dtypes that are missing must raise.
    compute
        Dtype of the operands -> dtype to which they are converted first.
    ulp
        The largest error in float32 and float64.
    reason
        The reason for an error above 4.
    float64_ulp
        The largest error in float64, if NumPy's is larger.
    zero_sign
        False: the sign of a zero result is unspecified (as in NumPy).
    """

    reference: Callable[..., Array]
    dtypes: Mapping[str, str]
    compute: Mapping[str, str] = field(default_factory=dict)
    ulp: float = 0.5
    reason: str = ""
    float64_ulp: float = 1.0
    zero_sign: bool = True


def wide(a: Array, dtype: str) -> Array:
    """Return an operand in the type used by the references."""
    others = {"bool": np.bool_, "uint64": np.uint64}
    to = {"float32": np.float64, "float64": np.longdouble, **others}.get(dtype, np.int64)
    return np.asarray(a).astype(to)


def _floating(reference: Callable[..., Array], ulp: float, reason: str = "") -> Entry:
    return Entry(reference, FLOATING, FLOATING, ulp, reason)


def _truth(reference: Callable[..., Array]) -> Entry:
    return Entry(reference, TRUTH)


def _kind(x: Array) -> str:
    return np.asarray(x).dtype.kind


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(np.isnan(x), np.nan, np.where(x >= 0, 1 / (1 + e), e / (1 + e)))


def _nextafter(x: Array, y: Array) -> Array:
    """In the operands' own type."""
    own = np.float32 if x.dtype == np.float64 else np.float64
    return np.nextafter(x.astype(own), y.astype(own))


def _acosh(x: Array) -> Array:
    """NaN below 1, where Pyodide's C library returns a number."""
    return np.where(x < 1, np.nan, np.arccosh(np.where(x < 1, 1, x)))


def _spacing(x: Array) -> Array:
    """In the operands' own type."""
    return np.spacing(x.astype(np.float32 if x.dtype == np.float64 else np.float64))


def _of_magnitudes(numpy: Callable[..., Array], x: Array, y: Array) -> Array:
    """Computed on the magnitudes of integers, in an unsigned type."""
    a, b = (np.abs(v).astype(np.uint64) for v in (x, y))
    return numpy(a, b).astype(x.dtype)


def _gcd(x: Array, y: Array) -> Array:
    return _of_magnitudes(np.gcd, x, y)


def _lcm(x: Array, y: Array) -> Array:
    return _of_magnitudes(np.lcm, x, y)


def _i0(x: Array) -> Array:
    return np.where(np.isinf(x), np.inf, np.i0(x.astype(np.float64)))


def _reciprocal(x: Array) -> Array:
    return 1 / x if _kind(x) == "f" else np.where(np.abs(x) == 1, x, 0)


def _relu(x: Array) -> Array:
    return np.where((x > 0) | np.isnan(x), x, 0) if _kind(x) == "f" else np.maximum(x, 0)


def _rounded(name: str) -> Callable[[Array], Array]:
    return lambda x: getattr(np, name)(x) if _kind(x) == "f" else x


def _add(x: Array, y: Array) -> Array:
    return x | y if _kind(x) == "b" else x + y


def _multiply(x: Array, y: Array) -> Array:
    return x & y if _kind(x) == "b" else x * y


def _floor_divide(x: Array, y: Array) -> Array:
    if _kind(x) == "f":
        return np.floor_divide(x, y)
    return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y)))


def _remainder(x: Array, y: Array) -> Array:
    if _kind(x) == "f":
        return np.remainder(x, y)
    return np.where(y == 0, 0, np.remainder(x, np.where(y == 0, 1, y)))


def _fmod(x: Array, y: Array) -> Array:
    if _kind(x) == "f":
        return np.fmod(x, y)
    return np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y)))


def _power(x: Array, y: Array) -> Array:
    """Raise integers by squaring modulo 2**64; a negative exponent gives the truncated quotient.

    For floats as in C99 and the array API. NumPy 2.3 and later compute a square root if a row has
    the single exponent 0.5, which gives NaN for -inf and -0 for -0.
    """
    if _kind(x) == "f":
        rooted = ((x == -np.inf) | (x == 0)) & (y == 0.5)
        return np.where(rooted, np.abs(x), np.power(x, y))
    to = np.uint64 if x.dtype == np.uint64 else np.int64
    x, y = np.broadcast_arrays(np.asarray(x, to), np.asarray(y, to))
    result, base, left = np.ones_like(x), x.copy(), np.maximum(y, to(0))
    while np.any(left):
        result = np.where(left & to(1), result * base, result)
        base, left = base * base, left >> to(1)
    if to is np.uint64:
        return result
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y & 1, -1, 1), 0))
    return np.where(y < 0, inverse, result)


def _left_shift(x: Array, y: Array) -> Array:
    """0 if the count is negative, or at least the width."""
    inside = (y >= 0) & (y < 64)  # NumPy uses the count modulo 2**32 on 32-bit systems
    return np.where(inside, np.left_shift(x, np.where(inside, y, y.dtype.type(0))), 0)


def _right_shift(x: Array, y: Array) -> Array:
    inside = (y >= 0) & (y < 64)
    beyond = np.where(x < 0, x.dtype.type(0) - x.dtype.type(1), x.dtype.type(0))
    return np.where(inside, np.right_shift(x, np.where(inside, y, y.dtype.type(0))), beyond)


UNARY: dict[str, Entry] = {
    "exp": _floating(np.exp, 4),
    "log": _floating(np.log, 4),
    "exp2": _floating(np.exp2, 4),
    "expm1": _floating(np.expm1, 4),
    "log2": _floating(np.log2, 4),
    "log10": _floating(np.log10, 4),
    "log1p": _floating(np.log1p, 4),
    "sinh": _floating(np.sinh, 4),
    "cosh": _floating(np.cosh, 4),
    "asin": _floating(np.arcsin, 4),
    "acos": _floating(np.arccos, 4),
    "atan": _floating(np.arctan, 4),
    "asinh": _floating(np.arcsinh, 4),
    "acosh": _floating(_acosh, 4),
    "atanh": _floating(np.arctanh, 4),
    "erf": _floating(np.vectorize(math.erf, otypes=[np.float64]), 4),
    "sqrt": _floating(np.sqrt, 4),
    "sin": _floating(np.sin, 4),
    "cos": _floating(np.cos, 4),
    "tan": _floating(np.tan, 4),
    "tanh": _floating(np.tanh, 4),
    "sigmoid": _floating(_sigmoid, 4),
    "reciprocal": Entry(_reciprocal, AS_INT8, AS_INT8, 4),
    "negative": Entry(np.negative, NUMBERS),
    "positive": Entry(lambda x: x, NUMBERS),
    "conjugate": Entry(lambda x: x, SAME),
    "abs": Entry(np.abs, SAME),
    "sign": Entry(np.sign, NUMBERS, zero_sign=False),
    "square": Entry(np.square, AS_INT8, AS_INT8),
    "relu": Entry(_relu, NUMBERS, zero_sign=False),
    "floor": Entry(_rounded("floor"), SAME),
    "ceil": Entry(_rounded("ceil"), SAME),
    "trunc": Entry(_rounded("trunc"), SAME),
    "round": Entry(_rounded("rint"), SAME),
    "isnan": _truth(np.isnan),
    "isinf": _truth(np.isinf),
    "isfinite": _truth(np.isfinite),
    "invert": Entry(np.invert, BITS),
    "logical_not": _truth(lambda x: x == 0),
    "signbit": Entry(np.signbit, TRUTH, FLOATING),
    "fabs": _floating(np.fabs, 0.5),
    "rint": _floating(np.rint, 0.5),
    "fix": Entry(_rounded("trunc"), SAME),
    "cbrt": replace(_floating(np.cbrt, 2), float64_ulp=4.0),  # glibc states 4 for x86-64
    "i0": _floating(_i0, 4),
    "spacing": Entry(_spacing, FLOATING, FLOATING, ulp=1),
    "isneginf": _truth(lambda x: x == -np.inf),
    "isposinf": _truth(lambda x: x == np.inf),
    "bitwise_count": Entry(np.bitwise_count, COUNTS, WHOLE),
    "radians": _floating(np.radians, 4),
    "degrees": _floating(np.degrees, 4),
}
BINARY: dict[str, Entry] = {
    "add": Entry(_add, SAME),
    "subtract": Entry(np.subtract, NUMBERS),
    "multiply": Entry(_multiply, SAME),
    "divide": _floating(np.divide, 4),
    "floor_divide": Entry(_floor_divide, AS_INT8, AS_INT8, ulp=4),
    "remainder": Entry(_remainder, AS_INT8, AS_INT8, ulp=4),
    "power": Entry(_power, AS_INT8, AS_INT8, ulp=4),
    "maximum": Entry(np.maximum, SAME, zero_sign=False),
    "minimum": Entry(np.minimum, SAME, zero_sign=False),
    "bitwise_and": Entry(np.bitwise_and, BITS),
    "bitwise_or": Entry(np.bitwise_or, BITS),
    "bitwise_xor": Entry(np.bitwise_xor, BITS),
    "left_shift": Entry(_left_shift, WHOLE, WHOLE),
    "right_shift": Entry(_right_shift, WHOLE, WHOLE),
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "logical_and": _truth(lambda x, y: (x != 0) & (y != 0)),
    "logical_or": _truth(lambda x, y: (x != 0) | (y != 0)),
    "logical_xor": _truth(lambda x, y: (x != 0) ^ (y != 0)),
    "arctan2": _floating(np.arctan2, 4),
    "hypot": _floating(np.hypot, 4),
    "copysign": _floating(np.copysign, 0.5),
    "nextafter": Entry(_nextafter, FLOATING, FLOATING, ulp=1),
    "heaviside": _floating(np.heaviside, 0.5),
    "float_power": _floating(_power, 4),
    "fmax": Entry(np.fmax, SAME, zero_sign=False),
    "fmin": Entry(np.fmin, SAME, zero_sign=False),
    "fmod": Entry(_fmod, AS_INT8, AS_INT8, ulp=4),
    "gcd": Entry(_gcd, INTEGERS),
    "lcm": Entry(_lcm, INTEGERS),
}
NO_METHODS = {"signbit", "fabs", "rint", "fix", "radians", "degrees", "cbrt", "i0", "spacing"}
NO_METHODS |= {"isneginf", "isposinf", "bitwise_count"}
"""Ops of one operand that are not methods, here and in NumPy."""
NEARLY = {"logaddexp", "logaddexp2"}
"""Elementwise ops without a bound in ulp, because of cancellation in a difference."""

# op -> Python's operator, on tensors of every dtype the op takes.
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "power": lambda x, y: x**y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}

# -- Reductions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """One reduction: NumPy's function, the dtypes, and the empty result ("raises", or a value)."""

    numpy: Callable[..., Array]
    dtypes: Mapping[str, str]
    empty: float | str
    tuples: bool = True


REDUCTIONS: dict[str, Fold] = {
    "sum": Fold(np.sum, SUMMED, 0),
    "prod": Fold(np.prod, SUMMED, 1),
    "max": Fold(np.max, SAME, "raises"),
    "min": Fold(np.min, SAME, "raises"),
    "any": Fold(np.any, TRUTH, False),
    "all": Fold(np.all, TRUTH, True),
    "argmax": Fold(np.argmax, INDEX, "raises", tuples=False),
    "argmin": Fold(np.argmin, INDEX, "raises", tuples=False),
    "mean": Fold(np.mean, FLOATING, float("nan")),
    "var": Fold(np.var, FLOATING, float("nan")),
    "std": Fold(np.std, FLOATING, float("nan")),
}

# -- Other ops: op -> the test module with its reference ---------------------------------------

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("where", "clip", "isclose", "allclose", "astype", "divmod"), "test_elementwise"
    ),
    **dict.fromkeys(("array_equal", "count_nonzero", "ptp"), "test_reduction"),
    **dict.fromkeys(("cumsum", "cumprod", "cumulative_sum", "cumulative_prod"), "test_scan"),
    **dict.fromkeys(("take", "take_along_axis"), "test_gather"),
    **dict.fromkeys(
        ("argwhere", "bincount", "compress", "extract", "flatnonzero", "nonzero"), "test_scatter"
    ),
    **dict.fromkeys(("sort", "argsort"), "test_sorting"),
    **dict.fromkeys(
        ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"), "test_assignment"
    ),
    **dict.fromkeys(
        ("array_split", "copy", "diagonal", "may_share_memory", "shares_memory"), "test_views"
    ),
    **dict.fromkeys(("softmax", "log_softmax", "layer_norm"), "test_normalization"),
    **dict.fromkeys(
        (
            "moveaxis",
            "repeat",
            "tile",
            "roll",
            "vstack",
            "hstack",
            "meshgrid",
            "outer",
            "tril",
            "triu",
            "diag",
            "trace",
        ),
        "test_movement",
    ),
    **dict.fromkeys(
        (
            *("as_strided", "diag_indices", "fromfunction", "fromiter", "geomspace", "identity"),
            *("indices", "logspace", "sliding_window_view", "tri", "tril_indices", "triu_indices"),
        ),
        "test_grids",
    ),
    **dict.fromkeys(("fused_multiply_add", "matmul", "dot"), "test_matmul"),
    **dict.fromkeys(
        (
            *("poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul"),
            *("polysub", "roots"),
        ),
        "test_polynomials",
    ),
    **dict.fromkeys(("rand", "randn", "randint"), "test_random"),
    **dict.fromkeys(("frexp", "ldexp", "modf"), "test_parts"),
    **dict.fromkeys(
        (
            *("diag_indices_from", "einsum_path", "histogramdd", "mask_indices", "packbits"),
            *("real_if_close", "sort_complex", "trim_zeros", "unpackbits", "unwrap"),
        ),
        "test_numeric_names",
    ),
    **dict.fromkeys(("bartlett", "blackman", "hamming", "hanning", "kaiser"), "test_tapers"),
    **dict.fromkeys(
        (
            "full",
            "zeros",
            "ones",
            "empty",
            "full_like",
            "zeros_like",
            "ones_like",
            "empty_like",
            "eye",
            "arange",
            "linspace",
        ),
        "test_creation",
    ),
    **dict.fromkeys(
        (
            "reshape",
            "ravel",
            "permute",
            "transpose",
            "swapaxes",
            "expand",
            "broadcast_to",
            "squeeze",
            "expand_dims",
            "flip",
            "crop",
            "pad",
            "split",
            "matrix_transpose",
            "concat",
            "concatenate",
            "stack",
            "flatten",
        ),
        "test_movement",
    ),
}
