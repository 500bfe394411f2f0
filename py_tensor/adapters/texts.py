"""Text of tensors and numbers: NumPy's functions for formatting."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from operator import index
from typing import Any

from py_tensor.adapters.hosted import naming
from py_tensor.convert import formatting
from py_tensor.convert.host_arrays import on_host
from py_tensor.convert.printing import format_rows, format_str, in_double
from py_tensor.ops.operands import Operand
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "array2string", "array_repr", "array_str", "base_repr", "binary_repr",
    "format_float_positional", "format_float_scientific", "get_printoptions", "printoptions",
]  # fmt: skip


# -- Tensors ------------------------------------------------------------------------------------


def array2string(
    a: Operand,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: dict[str, Any] | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    sign: str | None = None,
    floatmode: str | None = None,
    suffix: str = "",
    legacy: bool | None = None,
) -> str:
    """Return the elements as a string in brackets.

    Parameters
    ----------
    a
        The tensor. All elements are read, or only those at the edges of a large tensor.
    separator : str
        The separator between elements.
    prefix, suffix : str
        The text before and after, whose length is used for wrapping.
    max_line_width, suppress_small
        `linewidth` and `suppress` of `set_printoptions`; the other options have the same names. The
        defaults are the current options.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.array2string(pt.tensor([1.5, 2.25]), separator=", ", floatmode="fixed", precision=1)
    '[1.5, 2.2]'
    """
    x = tensor_of(a, "array2string")
    options = formatting.changed(
        linewidth=max_line_width, precision=precision, suppress=suppress_small,
        threshold=threshold, edgeitems=edgeitems, sign=sign, floatmode=floatmode, legacy=legacy,
        **({} if formatter is None else {"formatter": formatter}),
    )  # fmt: skip
    if not x.size:
        return "[]"
    options = replace(options, linewidth=max(1, options.linewidth - len(suffix)))
    shown = formatting.elements(x, options)
    return format_rows(*shown, separator=separator, prefix=prefix, options=options)


def array_repr(
    arr: Tensor,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the `repr` of a tensor, with some options of `array2string`."""
    x = tensor_of(arr, "array_repr")
    return formatting.repr_of(x, _some(max_line_width, precision, suppress_small))


def array_str(
    a: Tensor,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the `str` of a tensor, with some options of `array2string`."""
    x = tensor_of(a, "array_str")
    options = _some(max_line_width, precision, suppress_small)
    return format_str(*formatting.elements(x, options), options=options)


def _some(linewidth: int | None, precision: int | None, suppress: bool | None) -> Any:
    return formatting.changed(linewidth=linewidth, precision=precision, suppress=suppress)


def get_printoptions() -> dict[str, Any]:
    """Return the print options as a dict for `set_printoptions`."""
    return formatting.options_now()


@contextmanager
def printoptions(*args: Any, **kwargs: Any) -> Generator[dict[str, Any], None, None]:
    """Context manager that sets print options, and returns them.

    Examples
    --------
    >>> import py_tensor as pt
    >>> with pt.printoptions(precision=2):
    ...     print(pt.tensor([2.0]) / 3)
    [0.67]
    """
    before = formatting.options_now()
    formatting.set_printoptions(*args, **kwargs)
    try:
        yield formatting.options_now()
    finally:
        formatting.set_printoptions(**before)


# -- Numbers ------------------------------------------------------------------------------------


def format_float_positional(
    x: Any,
    precision: int | None = None,
    unique: bool = True,
    fractional: bool = True,
    trim: str = "k",
    sign: bool = False,
    pad_left: int | None = None,
    pad_right: int | None = None,
    min_digits: int | None = None,
) -> str:
    """Format a number in positional notation.

    Parameters
    ----------
    x
        A Python number, or one element of a tensor, which is read.
    precision : int, optional
        The maximum number of digits after the point, or the exact number if `unique` is False.
    unique : bool
        Whether to print the shortest digits that identify `x` in its dtype.
    fractional : bool
        Whether `precision` and `min_digits` count digits after the point, or all digits.
    trim : {"k", ".", "0", "-"}
        How to treat trailing zeros: "k" keeps all; "." removes all; "0" keeps one if no other digit
        is after the point; "-" removes all and a trailing point.
    sign : bool
        Whether to print the sign of positive numbers.
    pad_left, pad_right : int, optional
        The minimum number of characters before and after the point.
    min_digits : int, optional
        The minimum number of digits with `unique`.

    Raises
    ------
    ValueError
        If a count is negative, or `min_digits` exceeds `precision`.
    TypeError
        If `unique` is False without a precision, or `trim` is unknown.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.format_float_positional(pt.pi, precision=3), pt.format_float_positional(2.0, trim="-")
    ('3.142', '2')
    """
    np = host.load_numpy()
    with naming("format_float_positional"):
        return np.format_float_positional(
            _number(x, precision, min_digits, counts_all=not fractional) if unique else _read(x),
            precision, unique, fractional, trim, sign, pad_left, pad_right, min_digits,
        )  # fmt: skip


def format_float_scientific(
    x: Any,
    precision: int | None = None,
    unique: bool = True,
    trim: str = "k",
    sign: bool = False,
    pad_left: int | None = None,
    exp_digits: int | None = None,
    min_digits: int | None = None,
) -> str:
    """Format a number in scientific notation.

    Parameters
    ----------
    x, precision, unique, trim, sign, pad_left, min_digits
        As in `format_float_positional`.
    exp_digits : int, optional
        The minimum number of digits of the exponent, by default two.
    """
    np = host.load_numpy()
    with naming("format_float_scientific"):
        return np.format_float_scientific(
            _number(x, precision, min_digits, is_scientific=True) if unique else _read(x),
            precision, unique, trim, sign, pad_left, exp_digits, min_digits,
        )  # fmt: skip


def _read(x: Any) -> Any:
    """Return a number for NumPy, with the dtype of a tensor's element."""
    return on_host(x)[()] if isinstance(x, Tensor) else x


def _number(
    x: Any,
    most: int | None,
    least: int | None,
    *,
    is_scientific: bool = False,
    counts_all: bool = False,
) -> Any:
    """Return a number for NumPy whose shortest digits are those of a tensor's element."""
    value = _read(x)
    if not isinstance(x, Tensor) or x.dtype.is_numpys or x.ndim or not isfinite(value):
        return value
    if counts_all:  # the one before the point too, if there is an exponent
        most, least = (None if n is None else max(0, n - 1) for n in (most, least))
    return in_double(
        x.dtype.name, float(value), most, least, is_scientific=is_scientific or counts_all
    )


def base_repr(number: Any, base: int = 2, padding: int = 0) -> str:
    """Format an integer in a base from 2 to 36, with `padding` leading zeros.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.base_repr(-255, 16)
    '-FF'
    """
    with naming("base_repr"):
        return host.load_numpy().base_repr(int(number), base, padding)


def binary_repr(num: Any, width: int | None = None) -> str:
    """Format an integer in binary.

    Parameters
    ----------
    width : int, optional
        The minimum number of digits. Negative numbers are in two's complement of that width;
        without a width they have a sign.

    Raises
    ------
    ValueError
        If the width is too small.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.binary_repr(5, 4), pt.binary_repr(-5), pt.binary_repr(-5, 4)
    ('0101', '-101', '1011')
    """
    with naming("binary_repr"):
        return host.load_numpy().binary_repr(index(num), width)
