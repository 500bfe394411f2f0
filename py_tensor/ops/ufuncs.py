"""What NumPy's elementwise functions have besides: `reduce`, `accumulate`, `reduceat`, `outer`.

``pt.add.reduce(x)`` is a sum along the first axis; `at`, which writes, is in `assignment`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from itertools import pairwise
from operator import index as as_index
from typing import Any

from py_tensor.ops import arithmetic, bitwise, elementwise
from py_tensor.ops.define import REGISTRY, Operand, Out, Scalar, numbers_of, stored
from py_tensor.ops.movement import concat, reshape, split
from py_tensor.ops.reduction import Axes, all, any, max, min, prod, sum
from py_tensor.ops.scan import cumprod, cumsum
from py_tensor.shapes import normalize_axis
from py_tensor.tensor import Tensor, tensor_of

__all__: list[str] = []  # what it defines are attributes of functions


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
        Integers that rise throughout; a tensor is read.

    Raises
    ------
    ValueError
        For indices out of range, or that do not rise.
    """
    op = "add.reduceat"
    x = tensor_of(x, op)
    at = normalize_axis(op, axis, x.ndim)
    n = x.shape[at]
    starts = [as_index(i) for i in numbers_of(op, indices)[0]]
    if builtins.any(low >= high for low, high in pairwise((-1, *starts, n))):
        raise ValueError(f"{op}: takes indices that rise from 0 to below {n}, not {starts}")
    parts = split(x, starts, at)[1:]
    found = [sum(part, at, dtype, keepdims=True) for part in parts]
    return stored(op, concat(found, at), out)


FOLDS = {
    "add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": all,
    "logical_or": any,
}  # fmt: skip
SCANS = {"add": cumsum, "multiply": cumprod}

for _name in (*arithmetic.__all__, *bitwise.__all__, *elementwise.__all__):
    _function: Any = REGISTRY.get(_name)
    if _function is None:
        continue
    if _function.__code__.co_posonlyargcount == 2:
        _function.outer = _outer_of(_function)
    if _name in FOLDS:
        _function.reduce = _reduce_by(FOLDS[_name])
    if _name in SCANS:
        _function.accumulate = _accumulate_by(SCANS[_name])
vars(elementwise.add)["reduceat"] = _reduceat
