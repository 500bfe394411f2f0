"""The text of tensors and numbers in forms that are asked for: NumPy's functions of those names."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from operator import index
from typing import Any

from py_tensor.convert import formatting
from py_tensor.convert.printing import positional, scientific
from py_tensor.ops.operands import Operand
from py_tensor.tensor import Tensor, tensor_of

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
    """The elements as text, in brackets.

    Parameters
    ----------
    a
        Read: all of its elements, or those at the edges of a large one.
    separator : str
        What stands between elements.
    prefix, suffix : str
        What will stand before and behind, of which the lengths count.
    max_line_width, suppress_small
        What `set_printoptions` calls linewidth and suppress; all others have its names. By default
        they are as they were set there.

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
    width = max(1, options.linewidth - len(suffix))
    return formatting.rows(x, separator, prefix, replace(options, linewidth=width))


def array_repr(
    arr: Tensor,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """`repr` of a tensor, with some of the options of `array2string`."""
    x = tensor_of(arr, "array_repr")
    return formatting.text(x, "repr", _some(max_line_width, precision, suppress_small))


def array_str(
    a: Tensor,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """`str` of a tensor, with some of the options of `array2string`."""
    x = tensor_of(a, "array_str")
    return formatting.text(x, "str", _some(max_line_width, precision, suppress_small))


def _some(linewidth: int | None, precision: int | None, suppress: bool | None) -> Any:
    return formatting.changed(linewidth=linewidth, precision=precision, suppress=suppress)


def get_printoptions() -> dict[str, Any]:
    """The options of printing by name, as `set_printoptions` takes them."""
    return formatting.options_now()


@contextmanager
def printoptions(*args: Any, **kwargs: Any) -> Generator[dict[str, Any], None, None]:
    """`set_printoptions` within a block of `with`; it gives the options there.

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
    """A number as text without an exponent.

    Parameters
    ----------
    x
        A number of Python's, or one element of a tensor, which is read.
    precision : int, optional
        The most digits behind the point; with `unique` False that many.
    unique : bool
        Whether the least digits are printed that identify `x` among the numbers of its dtype.
    fractional : bool
        Whether `precision` and `min_digits` count behind the point, or count all digits.
    trim : {"k", ".", "0", "-"}
        What is left of zeros at the end: all; none; one, if there is no other digit behind the
        point; none, and no point either.
    sign : bool
        Whether positive numbers have a sign.
    pad_left, pad_right : int, optional
        Least numbers of characters before and behind the point.
    min_digits : int, optional
        The least digits with `unique`.

    Raises
    ------
    ValueError
        For a negative count, and for `min_digits` beyond `precision`.
    TypeError
        With `unique` False without a precision, and for another `trim`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.format_float_positional(pt.pi, precision=3), pt.format_float_positional(2.0, trim="-")
    ('3.142', '2')
    """
    op = "format_float_positional"
    _check(op, precision, unique, trim, min_digits, (pad_left, pad_right))
    if precision == 0 and not fractional:
        raise ValueError(f"{op}: precision must be at least 1 unless fractional=True")
    return positional(
        *_number(x, op), precision=precision, unique=unique, fractional=fractional, trim=trim,
        sign=sign, pad_left=pad_left or 0, pad_right=pad_right, min_digits=min_digits or 0,
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
    """A number as text with an exponent.

    Parameters
    ----------
    x, precision, unique, trim, sign, pad_left, min_digits
        As those of `format_float_positional`.
    exp_digits : int, optional
        The least digits of the exponent, by default two.
    """
    op = "format_float_scientific"
    _check(op, precision, unique, trim, min_digits, (pad_left, exp_digits))
    return scientific(
        *_number(x, op), precision=precision, unique=unique, trim=trim, sign=sign,
        pad_left=pad_left or 0, exp_digits=2 if exp_digits is None else exp_digits,
        min_digits=min_digits or 0,
    )  # fmt: skip


def _number(x: Any, op: str) -> tuple[str, float]:
    """The dtype and the value of a floating number; integers are float64."""
    name = str(getattr(x, "dtype", "float64"))
    if name.startswith("complex"):
        raise TypeError(f"{op}: takes real numbers, not {name}")
    return name if name in ("float16", "float32") else "float64", float(x)


def _check(
    op: str,
    precision: int | None,
    unique: bool,
    trim: str,
    min_digits: int | None,
    pads: tuple[int | None, ...],
) -> None:
    if any(n is not None and n < 0 for n in (precision, min_digits, *pads)):
        raise ValueError(f"{op}: numbers of digits must be at least 0")
    if trim not in ("k", ".", "0", "-"):
        raise TypeError(f"{op}: trim must be 'k', '.', '0' or '-', not {trim!r}")
    if not unique and precision is None:
        raise TypeError(f"{op}: needs a precision with unique=False")
    if precision and min_digits and min_digits > precision:
        raise ValueError(f"{op}: min_digits {min_digits} is greater than precision {precision}")


def base_repr(number: Any, base: int = 2, padding: int = 0) -> str:
    """An integer as text to a base from 2 to 36, with `padding` zeros before it.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.base_repr(-255, 16)
    '-FF'
    """
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if not 2 <= base <= len(digits):
        raise ValueError(f"base_repr: base must be from 2 to 36, not {base}")
    left, text = abs(int(number)), ""
    while left:
        left, digit = divmod(left, base)
        text = digits[digit] + text
    return ("-" if number < 0 else "") + "0" * padding + text or "0"


def binary_repr(num: Any, width: int | None = None) -> str:
    """An integer as text to the base 2.

    Parameters
    ----------
    width : int, optional
        The number of digits, at least. Negative numbers are their two's complement of that width,
        and have a sign without it.

    Raises
    ------
    ValueError
        For a width that is too small.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.binary_repr(5, 4), pt.binary_repr(-5), pt.binary_repr(-5, 4)
    ('0101', '-101', '1011')
    """
    number = index(num)
    if width is None:
        return f"{number:b}"
    needed = number.bit_length() if number >= 0 else (-number - 1).bit_length() + 1
    if width < needed and number:
        raise ValueError(f"binary_repr: {number} has {needed} digits, more than the width {width}")
    return f"{number if number >= 0 else number + 2**width:0{max(width, 1)}b}"
