"""The ufunc methods of elementwise functions: `reduce`, `accumulate`, `reduceat` and others.

``pt.add.reduce(x)`` is a sum along the first axis. The methods are implemented in `ufunc_methods`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from py_tensor.ops.define import UFUNC_METHODS, UFUNCS, give_methods
from py_tensor.ops.movement import reshape
from py_tensor.ops.operands import Operand, Scalar, as_arrays
from py_tensor.ops.out import Out
from py_tensor.ops.reduction import Axes, cumprod, cumsum, prod, sum
from py_tensor.tensors.tensor import Tensor

__all__ = ["ufunc"]  # all other definitions become attributes of functions


class _Ufuncs(type):
    def __instancecheck__(cls, value: object) -> bool:
        return callable(value) and isinstance(getattr(value, "nin", None), int)


class ufunc(metaclass=_Ufuncs):  # noqa: N801 - NumPy's name
    """The class of elementwise functions: ``isinstance(pt.add, pt.ufunc)``.

    Functions of two operands and one result have the methods `reduce`, `accumulate`, `reduceat`,
    `outer` and `at`; functions of one operand have `at`. Options are as in NumPy. The cost of
    `reduce` or `accumulate` along an axis of n elements is

    - one kernel, or two, for sums, products, differences, extremes, bitwise and logical functions;
    - about log2(n) ops for `fmax`, `fmin`, `gcd`, `lcm`, `hypot`, `logaddexp` and `logaddexp2`;
    - one kernel for functions that are not reorderable, such as `divide` and `power`. An
      invocation loops over the whole axis for one result, which is slow for a long axis with few
      results. It has no derivative;
    - n ops for `fmod`, `heaviside`, `float_power` and comparisons of bools, and with `where` for
      all functions that are not reorderable.

    For functions other than `add`, `subtract`, `maximum` and `minimum`, `at` reads one number: the
    largest count of a repeated index. It takes that many ops, or the logarithm of it if the
    function is reorderable.

    Attributes
    ----------
    nin, nout, nargs : int
        The number of operands, the number of results, and their sum.
    identity
        The identity element, or None.
    types : list of str
        The supported signatures as NumPy's type characters, such as ``"ff->f"``, on the device
        "cpu", which has all dtypes.
    ntypes : int
        The number of `types`.
    signature : str or None
        The core axes, such as ``"(n?,k),(k,m?)->(n?,m?)"``; None for an elementwise function.
    """

    def __new__(cls, *given: Any) -> NoReturn:
        raise TypeError("ufunc: cannot be called; use pt.vectorize or pt.frompyfunc")


FOLDS = {"add": sum, "multiply": prod}
SCANS = {"add": cumsum, "multiply": cumprod}


def _check_has(function: Any, method: str) -> None:
    """Raise ValueError if a function has no such method."""
    is_of_two = function.nin == 2 and (function.nout == 1 or method == "outer")
    is_at_of_one = method == "at" and function.nout == 1
    if function.signature is not None or not (is_of_two or is_at_of_one):
        what = "of two operands and one result" if method != "outer" else "of two operands"
        raise ValueError(f"{function.__name__}.{method}: only for elementwise functions {what}")


def reduce(
    function: Any,
    array: Operand,
    /,
    axis: Axes = 0,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Reduce the elements along `axis`; None reduces over all axes.

    Parameters
    ----------
    dtype
        The dtype to compute in and of the result. By default the dtype of the elements, or with
        `out` the common one; for a sum or a product as in `pt.sum`.
    initial : number, optional
        The start value; by default the identity of the function.
    where
        The elements to include. A function without an identity needs `initial` too.

    Raises
    ------
    ValueError
        If there are no elements and no start value, or several axes and the function is not
        reorderable.
    DTypeError
        If the result of the function has a different dtype than its operands.
    """
    fold = FOLDS.get(function.__name__)
    if fold is not None:
        return fold(array, axis, dtype, out, keepdims, initial, where)
    _check_has(function, "reduce")
    from py_tensor.ops.ufunc_methods import reduced_by

    return reduced_by(function, array, axis, dtype, out, keepdims, initial, where)


def accumulate(
    function: Any, array: Operand, /, axis: int = 0, dtype: object = None, out: Out = None
) -> Tensor:
    """Accumulate the function along `axis`.

    Raises
    ------
    DTypeError
        If the result of the function has a different dtype than its operands.
    """
    _check_has(function, "accumulate")
    if function.__name__ in SCANS and getattr(array, "ndim", 1):
        return SCANS[function.__name__](array, axis, dtype, out)
    from py_tensor.ops.ufunc_methods import accumulated_by

    return accumulated_by(function, array, axis, dtype, out)


def reduceat(
    function: Any,
    array: Operand,
    /,
    indices: Any,
    axis: int = 0,
    dtype: object = None,
    out: Out = None,
) -> Tensor:
    """Reduce the slices along `axis` between consecutive indices, and to the end.

    Parameters
    ----------
    indices
        Integers; a tensor is read. If an index is not below the next one, its slice is that element
        only.

    Raises
    ------
    IndexError
        If an index is out of range.
    DTypeError
        If the result of the function has a different dtype than its operands.
    """
    _check_has(function, "reduceat")
    from py_tensor.ops.ufunc_methods import reduced_at

    return reduced_at(function, array, indices, axis, dtype, out)


def outer(function: Any, A: Operand, B: Operand, /, **options: Any) -> Tensor:  # noqa: N803
    """Apply the function to all pairs of elements of `A` and `B`; the axes of `B` come last."""
    _check_has(function, "outer")
    a, b = as_arrays(f"{function.__name__}.outer", (A, B))
    return function(reshape(a, a.shape + (1,) * b.ndim), b, **options)


def at(
    function: Any, a: Tensor, indices: Any, b: Operand | None = None, /, *, atomic: bool = False
) -> None:
    """Apply the function in place to the elements at the indices.

    A repeated index applies the function once for each occurrence, in the order of the values,
    while ``x[i] += v`` applies it once. Sums with `atomic` are in any order, which is faster and
    not reproducible. A function of one operand takes no values.

    Raises
    ------
    IndexError
        As for ``x[indices]``.
    DTypeError
        If the results cannot be stored in the tensor's dtype.
    """
    _check_has(function, "at")
    from py_tensor.ops.ufunc_methods import applied_at

    applied_at(function, a, indices, b, atomic)


UFUNC_METHODS.update({f.__name__: f for f in (reduce, accumulate, reduceat, outer, at)})
for _function in UFUNCS:
    give_methods(_function)
