"""The ufunc methods of elementwise functions: `reduce`, `accumulate`, `reduceat` and others.

``pt.add.reduce(x)`` is a sum along the first axis. The methods are implemented in `ufunc_methods`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from py_tensor.ops.define import ON_UFUNC, UFUNCS
from py_tensor.ops.movement import reshape
from py_tensor.ops.operands import Operand, Scalar, as_arrays
from py_tensor.ops.out import Out
from py_tensor.ops.reduction import Axes, all, any, max, min, prod, sum
from py_tensor.ops.scan import cumprod, cumsum
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


FOLDS: dict[str, Callable[..., Tensor]] = {
    "add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": all,
    "logical_or": any,
}  # fmt: skip
SCANS = {"add": cumsum, "multiply": cumprod}
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


def _reduce_of(function: Any) -> Callable[..., Tensor]:
    fold = FOLDS.get(function.__name__)

    def reduce(
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
        if fold is None or fold in (max, min, all, any):
            from py_tensor.ops.ufunc_methods import reduced_by

            return reduced_by(function, fold, array, axis, dtype, out, keepdims, initial, where)
        passed = {"dtype": dtype, "initial": initial, "where": None if where is True else where}
        options = {name: value for name, value in passed.items() if value is not None}
        return fold(array, axis, out=out, keepdims=keepdims, **options)

    return reduce


def _accumulate_of(function: Any) -> Callable[..., Tensor]:
    scan = SCANS.get(function.__name__)

    def accumulate(
        array: Operand, /, axis: int = 0, dtype: object = None, out: Out = None
    ) -> Tensor:
        """Accumulate the function along `axis`.

        Raises
        ------
        DTypeError
            If the result of the function has a different dtype than its operands.
        """
        if scan is not None and getattr(array, "ndim", 1):
            return scan(array, axis, dtype, out)
        from py_tensor.ops.ufunc_methods import accumulated_by

        return accumulated_by(function, array, axis, dtype, out)

    return accumulate


def _reduceat_of(function: Any) -> Callable[..., Tensor]:
    def reduceat(
        array: Operand, /, indices: Any, axis: int = 0, dtype: object = None, out: Out = None
    ) -> Tensor:
        """Reduce the slices along `axis` between consecutive indices, and to the end.

        Parameters
        ----------
        indices
            Integers; a tensor is read. If an index is not below the next one, its slice is that
            element only.

        Raises
        ------
        IndexError
            If an index is out of range.
        DTypeError
            If the result of the function has a different dtype than its operands.
        """
        from py_tensor.ops.ufunc_methods import reduced_at

        return reduced_at(function, array, indices, axis, dtype, out)

    return reduceat


def _outer_of(function: Any) -> Callable[..., Tensor]:
    name = f"{function.__name__}.outer"

    def outer(A: Operand, B: Operand, /, **options: Any) -> Tensor:  # noqa: N803 - NumPy's names
        """Apply the function to all pairs of elements of `A` and `B`; the axes of `B` come last."""
        a, b = as_arrays(name, (A, B))
        return function(reshape(a, a.shape + (1,) * b.ndim), b, **options)

    return outer


def _at_of(function: Any) -> Callable[..., None]:
    def at(a: Tensor, indices: Any, b: Operand | None = None, /, *, atomic: bool = False) -> None:
        """Apply the function in place to the elements at the indices.

        A repeated index applies the function once for each occurrence, in the order of the values,
        while ``x[i] += v`` applies it once. Sums with `atomic` are in any order, which is faster
        and not reproducible. A function of one operand takes no values.

        Raises
        ------
        IndexError
            As for ``x[indices]``.
        DTypeError
            If the results cannot be stored in the tensor's dtype.
        """
        from py_tensor.ops.ufunc_methods import applied_at

        applied_at(function, a, indices, b, atomic)

    return at


_MAKERS = (_reduce_of, _accumulate_of, _reduceat_of, _outer_of, _at_of)


def _refusing(function: Any, method: str) -> Callable[..., NoReturn]:
    """Return a stand-in that raises an error, for a method that a function lacks."""

    def refused(*operands: Any, **options: Any) -> NoReturn:
        what = "of two operands and one result" if method != "outer" else "of two operands"
        raise ValueError(f"{function.__name__}.{method}: only for elementwise functions {what}")

    return refused


def _has(function: Any, method: str) -> bool:
    if function.signature is not None or (method != "outer" and function.nout > 1):
        return False
    return function.nin == 2 or method == "at"


def _give_methods() -> None:
    while UFUNCS:
        function = UFUNCS.pop()
        for method, make in zip(METHODS, _MAKERS, strict=True):
            method_function = (
                make(function) if _has(function, method) else _refusing(function, method)
            )
            setattr(function, method, method_function)


ON_UFUNC.append(_give_methods)
_give_methods()
