"""What NumPy's elementwise functions have besides: `reduce`, `accumulate`, `reduceat`, `outer`.

``pt.add.reduce(x)`` is a sum along the first axis; `at`, which writes, is in `assignment`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from operator import index as as_index
from typing import Any, NoReturn

from py_tensor import dtypes
from py_tensor.errors import DTypeError
from py_tensor.graph.op import Scan
from py_tensor.ops import arithmetic, bitwise, elementwise
from py_tensor.ops.creation import arange, zeros_like
from py_tensor.ops.define import REGISTRY, build
from py_tensor.ops.elementwise import equal, maximum, negative, not_equal, remainder, where
from py_tensor.ops.gather import gathered
from py_tensor.ops.indexing import getitem
from py_tensor.ops.movement import concat, converted, expand, reshape
from py_tensor.ops.operands import Operand, Scalar, numbers_of
from py_tensor.ops.out import Out, stored, stored_whole
from py_tensor.ops.reduction import MAX, MIN, Axes, all, any, max, min, prod, sum
from py_tensor.ops.scan import CUMSUM, cumprod, cumsum, scanned
from py_tensor.ops.scatter import scattered
from py_tensor.shapes import normalize_axis
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["ufunc"]  # all else that it defines are attributes of functions


class _Ufuncs(type):
    def __instancecheck__(cls, value: object) -> bool:
        return callable(value) and isinstance(getattr(value, "nin", None), int)


class ufunc(metaclass=_Ufuncs):  # noqa: N801 - NumPy's name
    """What an elementwise function is an instance of: ``isinstance(pt.add, pt.ufunc)``.

    Attributes
    ----------
    nin, nout, nargs : int
        How many operands it takes, how many results it gives, and both together.
    identity
        What changes no other operand, or None.
    """

    def __new__(cls, *given: Any) -> NoReturn:
        raise TypeError("ufunc: makes none; pt.vectorize and pt.frompyfunc do, of a function")


def _outer_of(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = f"{function.__name__}.outer"

    def outer(x: Operand, y: Operand, /, **options: Any) -> Tensor:
        """The function of each element of `x` with each of `y`, whose axes come last."""
        a, b = tensor_of(x, name), tensor_of(y, name)
        return function(reshape(a, a.shape + (1,) * b.ndim), b, **options)

    return outer


def _reduce_by(fold: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def reduce(
        x: Operand,
        /,
        axis: Axes = 0,
        dtype: object = None,
        out: Out = None,
        keepdims: bool = False,
        initial: Scalar | None = None,
        where: Operand = True,
    ) -> Tensor:
        """The elements along `axis` combined; None combines all of them."""
        given = {"dtype": dtype, "initial": initial, "where": None if where is True else where}
        options = {name: value for name, value in given.items() if value is not None}
        return fold(x, axis, out=out, keepdims=keepdims, **options)

    return reduce


def _accumulate_by(scan: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def accumulate(x: Operand, /, axis: int = 0, dtype: object = None, out: Out = None) -> Tensor:
        """The elements along `axis`, each combined with all before it."""
        return scan(x, axis, dtype, out)

    return accumulate


def _reduceat(
    x: Operand, indices: Any, /, axis: int = 0, dtype: object = None, out: Out = None
) -> Tensor:
    """The sums of the slices along `axis` from each index to the next, and to the end.

    Parameters
    ----------
    indices
        Integers; a tensor is read. From one that is not below the next the slice is its own alone.

    Raises
    ------
    IndexError
        For indices out of range.
    """
    op = "add.reduceat"
    x = tensor_of(x, op)
    at = normalize_axis(op, axis, x.ndim)
    n = x.shape[at]
    starts = [as_index(i) for i in numbers_of(op, indices)[0]]
    wrong = next((i for i in starts if not 0 <= i < n), None)
    if wrong is not None:
        raise IndexError(f"{op}: {wrong} is out of range for axis {at} of shape {x.shape}")
    before = (slice(None),) * at
    slices = [slice(i, j if i < j else i + 1) for i, j in pairwise((*starts, n))]
    found = [sum(getitem(x, (*before, part)), at, dtype, keepdims=True) for part in slices]
    none = [cumsum(getitem(x, (*before, slice(0))), at, dtype)]
    return stored(op, concat(found or none, at), out)


def _numbers(x: Tensor, axis: int) -> Tensor:
    """The place of each element along an axis."""
    n = x.shape[axis]
    shape = tuple(n if a == axis else 1 for a in range(x.ndim))
    return expand(reshape(arange(n, device=x.device), shape), x.shape)


def _grad_extremes(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int]) -> tuple[Tensor]:
    """What an extreme gets goes to the element that it was first."""
    (axis,) = attrs
    numbers = _numbers(x, axis)
    before = gathered(y, (axis,), (maximum(numbers - 1, 0),), axis, "")
    first = build(MAXIMA, (where(not_equal(y, before), numbers, 0),), (axis,))
    return (scattered(zeros_like(x), (axis,), (first,), axis, g, "add", False, ""),)


MAXIMA = Scan(
    "maxima",
    fold=replace(MAX, combine={**MAX.combine, "f32": ("maximum_f32({a0}, {b0})",)}),
    numpy=lambda np, x, axis: np.maximum.accumulate(x, axis=axis),
    vjp=_grad_extremes,
)
MINIMA = Scan(
    "minima",
    fold=replace(MIN, combine={**MIN.combine, "f32": ("minimum_f32({a0}, {b0})",)}),
    numpy=lambda np, x, axis: np.minimum.accumulate(x, axis=axis),
    vjp=_grad_extremes,
)
# What makes the running results of elementwise functions of two operands.
RUNNING = {
    "maximum": MAXIMA,
    "minimum": MINIMA,
    "logical_or": MAXIMA,
    "logical_and": MINIMA,
    "logical_xor": CUMSUM,
    "subtract": CUMSUM,
}


def running(
    function: str, x: Operand, axis: int = 0, dtype: object = None, out: Out = None
) -> Tensor:
    """The elements along `axis`, each combined with all before it by a function in `RUNNING`.

    Raises
    ------
    DTypeError
        For a difference of bools, and another dtype than bool of what is logical.
    """
    name = f"{function}.accumulate"
    x = tensor_of(x, name)
    at = normalize_axis(name, axis, x.ndim)
    logical = function.startswith("logical")
    target = dtypes.bool_ if logical else x.dtype
    if dtype is not None:
        target = dtypes.parse(dtype)
    if logical != (target is dtypes.bool_) and (logical or function == "subtract"):
        raise DTypeError(f"{name}: gives {'bool' if logical else 'numbers'}, not {target}")
    x = converted(x, target)
    if function == "subtract":
        x = where(equal(_numbers(x, at), 0), x, negative(x))
    elif function == "logical_xor":  # whether an odd number of them is nonzero
        x = remainder(scanned(CUMSUM, name, x, at, dtypes.int32), 2)
        return stored_whole(name, converted(x, target), out)
    return stored_whole(name, scanned(RUNNING[function], name, x, at, target), out)


def _refusing(name: str, method: str, there: Iterable[str]) -> Callable[..., NoReturn]:
    """What stands for a method that a function has not."""

    def refused(
        x: Operand, /, *values: Any, axis: Axes = 0, dtype: object = None, out: Out = None
    ) -> NoReturn:
        known = ", ".join(f"pt.{function}.{method}" for function in there)
        raise TypeError(
            f"{name}.{method}: there is no such method, but {known};"
            f" np.{name}.{method} takes x.numpy()"
        )

    return refused


FOLDS = {
    "add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": all,
    "logical_or": any,
}  # fmt: skip
SCANS = {"add": cumsum, "multiply": cumprod, **{name: partial(running, name) for name in RUNNING}}
METHODS: dict[str, dict[str, Any]] = {
    "reduce": {name: _reduce_by(fold) for name, fold in FOLDS.items()},
    "accumulate": {name: _accumulate_by(scan) for name, scan in SCANS.items()},
    "reduceat": {"add": _reduceat},
    "at": dict.fromkeys(("add", "subtract", "maximum", "minimum")),  # which are in `assignment`
}

for _name in (*arithmetic.__all__, *bitwise.__all__, *elementwise.__all__):
    _function: Any = REGISTRY.get(_name)
    if _function is None or _function.__code__.co_posonlyargcount != 2:
        continue
    _function.outer = _outer_of(_function)
    for _method, _of in METHODS.items():
        if _name not in _of:
            setattr(_function, _method, _refusing(_name, _method, _of))
        elif _of[_name] is not None:
            setattr(_function, _method, _of[_name])
