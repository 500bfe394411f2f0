"""What NumPy's elementwise functions have besides: `reduce`, `accumulate`, `reduceat` and so on.

``pt.add.reduce(x)`` is a sum along the first axis. What the methods compute is in `folds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from py_tensor.ops.define import ON_UFUNC, UFUNCS
from py_tensor.ops.movement import reshape
from py_tensor.ops.operands import Operand, Scalar
from py_tensor.ops.out import Out
from py_tensor.ops.reduction import Axes, all, any, max, min, prod, sum
from py_tensor.ops.scan import cumprod, cumsum
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["ufunc"]  # all else that it defines are attributes of functions


class _Ufuncs(type):
    def __instancecheck__(cls, value: object) -> bool:
        return callable(value) and isinstance(getattr(value, "nin", None), int)


class ufunc(metaclass=_Ufuncs):  # noqa: N801 - NumPy's name
    """What an elementwise function is an instance of: ``isinstance(pt.add, pt.ufunc)``.

    Those of two operands and one result have `reduce`, `accumulate`, `reduceat`, `outer` and `at`,
    and those of one operand have `at`, with NumPy's options. A `reduce` or an `accumulate` along an
    axis of n elements is

    - one kernel, or two, for sums, products, differences, extremes, bitwise and logical functions;
    - about log2(n) ops for `fmax`, `fmin`, `gcd`, `lcm`, `hypot`, `logaddexp` and `logaddexp2`;
    - one kernel for ops whose results depend on the order of elements, as `divide` and `power`. An
      invocation goes along the whole axis for one result: a long one takes long where there are few
      results. It has no derivative;
    - n ops for `fmod`, `heaviside`, `float_power` and comparisons of bools, and with `where` for
      all whose results depend on the order.

    `at` of other functions than `add`, `subtract`, `maximum` and `minimum` reads one number: how
    often the element is named that is named most. It takes as many ops, or the logarithm of that
    where the order does not matter.

    Attributes
    ----------
    nin, nout, nargs : int
        How many operands it takes, how many results it gives, and both together.
    identity
        What changes no other operand, or None.
    types : list of str
        The dtypes of operands and results by NumPy's letters, as ``"ff->f"``, where operands of
        one dtype are computed in it: on the device "cpu", which has all dtypes.
    ntypes : int
        Their number.
    signature : str or None
        The axes that it works on, as ``"(n?,k),(k,m?)->(n?,m?)"``; None for an elementwise one.
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
        """The elements along `axis` combined; None combines all of them.

        Parameters
        ----------
        dtype
            What is computed in, and the result's dtype. By default that of the elements, and of a
            sum or a product as `pt.sum` has it.
        initial : number, optional
            What comes before the elements; by default the identity of the function.
        where
            Which elements are combined. A function without an identity needs `initial` as well.

        Raises
        ------
        ValueError
            For no elements and nothing to begin with, and for several axes where the order of
            elements counts.
        DTypeError
            For a function that gives another dtype than it takes.
        """
        if fold is None or fold in (max, min, all, any):
            from py_tensor.ops.folds import reduced_by

            return reduced_by(function, fold, array, axis, dtype, out, keepdims, initial, where)
        given = {"dtype": dtype, "initial": initial, "where": None if where is True else where}
        options = {name: value for name, value in given.items() if value is not None}
        axis = () if axis in (0, -1) and not getattr(array, "ndim", 1) else axis
        return fold(array, axis, out=out, keepdims=keepdims, **options)

    return reduce


def _accumulate_of(function: Any) -> Callable[..., Tensor]:
    scan = SCANS.get(function.__name__)

    def accumulate(
        array: Operand, /, axis: int = 0, dtype: object = None, out: Out = None
    ) -> Tensor:
        """The elements along `axis`, each combined with all before it.

        Raises
        ------
        DTypeError
            For a function that gives another dtype than it takes.
        """
        if scan is not None and getattr(array, "ndim", 1):
            return scan(array, axis, dtype, out)
        from py_tensor.ops.folds import accumulated_by

        return accumulated_by(function, array, axis, dtype, out)

    return accumulate


def _reduceat_of(function: Any) -> Callable[..., Tensor]:
    def reduceat(
        array: Operand, /, indices: Any, axis: int = 0, dtype: object = None, out: Out = None
    ) -> Tensor:
        """The slices along `axis` combined, from each index to the next, and to the end.

        Parameters
        ----------
        indices
            Integers; a tensor is read. From one that is not below the next the slice is its own
            alone.

        Raises
        ------
        IndexError
            For indices out of range.
        DTypeError
            For a function that gives another dtype than it takes.
        """
        from py_tensor.ops.folds import reduced_at

        return reduced_at(function, array, indices, axis, dtype, out)

    return reduceat


def _outer_of(function: Any) -> Callable[..., Tensor]:
    name = f"{function.__name__}.outer"

    def outer(A: Operand, B: Operand, /, **options: Any) -> Tensor:  # noqa: N803 - NumPy's names
        """The function of each element of `A` with each of `B`, whose axes come last."""
        a, b = tensor_of(A, name), tensor_of(B, name)
        return function(reshape(a, a.shape + (1,) * b.ndim), b, **options)

    return outer


def _at_of(function: Any) -> Callable[..., None]:
    def at(a: Tensor, indices: Any, b: Operand | None = None, /, *, atomic: bool = False) -> None:
        """Combine values with the elements that an index names, in place.

        Each element as often as it is named, where ``x[i] += v`` does so once, and in the order of
        the values; sums with `atomic` in any order, which is faster and not repeatable. A function
        of one operand takes no values.

        Raises
        ------
        IndexError
            As ``x[indices]`` does.
        DTypeError
            For results that the tensor's dtype does not hold.
        """
        from py_tensor.ops.folds import applied_at

        applied_at(function, a, indices, b, atomic)

    return at


_MAKERS = (_reduce_of, _accumulate_of, _reduceat_of, _outer_of, _at_of)


def _refusing(function: Any, method: str) -> Callable[..., NoReturn]:
    """What stands for a method that a function has not."""

    def refused(*operands: Any, **options: Any) -> NoReturn:
        what = "of two operands and one result" if method != "outer" else "of two operands"
        raise ValueError(f"{function.__name__}.{method}: only elementwise functions {what} have it")

    return refused


def _has(function: Any, method: str) -> bool:
    if function.signature is not None or (method != "outer" and function.nout > 1):
        return False
    return function.nin == 2 or method == "at"


def _give_methods() -> None:
    while UFUNCS:
        function = UFUNCS.pop()
        for method, make in zip(METHODS, _MAKERS, strict=True):
            given = make(function) if _has(function, method) else _refusing(function, method)
            setattr(function, method, given)


ON_UFUNC.append(_give_methods)
_give_methods()
