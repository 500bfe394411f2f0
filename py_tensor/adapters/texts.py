"""Text of tensors and numbers, and text files of numbers: NumPy's functions on the host."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from operator import index
from typing import Any

from py_tensor.adapters.hosted import from_host, naming
from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError, check_option
from py_tensor.convert import formatting
from py_tensor.convert.host_arrays import on_host
from py_tensor.convert.printing import format_rows, format_str, in_double
from py_tensor.ir.node import Device
from py_tensor.ops.operands import Operand
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "array2string", "array_repr", "array_str", "base_repr", "binary_repr",
    "format_float_positional", "format_float_scientific", "fromstring", "genfromtxt",
    "loadtxt", "printoptions", "savetxt",
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
    return format_rows(shown, options, separator=separator, prefix=prefix)


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
    return format_str(formatting.elements(x, options), options)


def _some(linewidth: int | None, precision: int | None, suppress: bool | None) -> Any:
    return formatting.changed(linewidth=linewidth, precision=precision, suppress=suppress)


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
    before = formatting.get_printoptions()
    formatting.set_printoptions(*args, **kwargs)
    try:
        yield formatting.get_printoptions()
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
            _number(x, precision, min_digits, total=not fractional) if unique else _read(x),
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
            _number(x, precision, min_digits, scientific=True) if unique else _read(x),
            precision, unique, trim, sign, pad_left, exp_digits, min_digits,
        )  # fmt: skip


def _read(x: Any) -> Any:
    """Return a number for NumPy, with the dtype of a tensor's element."""
    return on_host(x)[()] if isinstance(x, Tensor) else x


def _number(
    x: Any, most: int | None, least: int | None, *, scientific: bool = False, total: bool = False
) -> Any:
    """Return a number for NumPy whose shortest digits are those of a tensor's element."""
    value = _read(x)
    if not isinstance(x, Tensor) or x.dtype.is_numpys or x.ndim or not isfinite(value):
        return value
    if total:  # the one before the point too, if there is an exponent
        most, least = (None if n is None else max(0, n - 1) for n in (most, least))
    is_scientific = scientific or total
    return in_double(x.dtype.name, float(value), most, least, is_scientific=is_scientific)


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


Converter = Callable[[str], Any]


def savetxt(
    fname: Any,
    X: Operand,  # noqa: N803 - NumPy's name
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    """Write a matrix to a text file with a line for each row; a vector is written as a column.

    Parameters
    ----------
    fname : str, path or file
        A path that ends in ``.gz``, ``.bz2`` or ``.xz`` is compressed.
    X
        A tensor of at most two axes.
    fmt : str or sequence of str
        The format of a number for Python's operator ``%``; one for all, one for each column, or one
        for a whole row. For complex numbers one format is used for both parts.
    delimiter, newline : str
        The separators between numbers and between lines.
    header, footer : str
        Text before and after the numbers, prefixed with `comments`.
    encoding : str, optional
        The encoding of the file, by default latin1.

    Raises
    ------
    ValueError
        If the tensor has more than two axes, or the number of formats does not match the number of
        columns.
    """
    np = host.load_numpy()
    x = on_host(tensor_of(X, "savetxt"))
    with naming("savetxt"):
        np.savetxt(
            fname, x, fmt, delimiter, newline, header, footer, comments, encoding or "latin1"
        )


def loadtxt(
    fname: Any,
    dtype: object = float,
    comments: str | Sequence[str] | None = "#",
    delimiter: str | None = None,
    converters: dict[int, Converter] | Converter | None = None,
    skiprows: int = 0,
    usecols: int | Sequence[int] | None = None,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    max_rows: int | None = None,
    *,
    quotechar: str | None = None,
    like: Any = None,
    device: str | Device | None = None,
) -> Tensor:
    """Load a text file of numbers with the same number of columns in each line.

    Parameters
    ----------
    fname : str, path, file or iterable of str
        A path that ends in ``.gz``, ``.bz2`` or ``.xz`` is decompressed.
    comments
        The string, or strings, that start a comment.
    delimiter : str, optional
        The separator between columns; by default white space.
    converters
        A function that converts text to a number, or a dict of functions by column.
    skiprows : int
        Lines to skip first, including comments.
    usecols
        The columns to read; negative ones count from the end.
    unpack : bool
        Whether to transpose the result, so that it has a row for each column.
    ndmin : {0, 1, 2}
        The minimum number of axes; axes of length 1 are removed otherwise.
    encoding : str, optional
        The encoding of the file.
    max_rows : int, optional
        The number of rows to read.
    quotechar : str, optional
        The quotation mark around texts that may have separators in them.
    like
        Accepted; has no effect.
    device : {"webgpu", "cpu"}, optional

    Raises
    ------
    ValueError
        If a text is not a number of the dtype, or lines differ in the number of columns.
    OverflowError
        If the dtype cannot hold a number.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.loadtxt(["1 2  # the first", "3 4"], dtype=int)
    tensor([[1, 2],
            [3, 4]])
    """
    np, target = host.load_numpy(), dtypes.parse(dtype)
    # In WebAssembly NumPy reads 300 as 44 for uint8; here the conversion checks the range.
    is_narrow = target.is_integer and target.itemsize < 8
    with naming("loadtxt"):
        array = np.loadtxt(
            fname, "int64" if is_narrow else target.host, comments, delimiter, converters, skiprows,
            usecols, unpack, ndmin, encoding, max_rows, quotechar=quotechar,
        )  # fmt: skip
    return from_host("loadtxt", array, target, parse(device))


def genfromtxt(
    fname: Any,
    dtype: object = float,
    comments: str | None = "#",
    delimiter: str | int | Sequence[int] | None = None,
    skip_header: int = 0,
    skip_footer: int = 0,
    converters: dict[int, Converter] | None = None,
    missing_values: Any = None,
    filling_values: Any = None,
    usecols: int | Sequence[int] | None = None,
    names: None = None,
    excludelist: None = None,
    deletechars: str = "",
    replace_space: str = "_",
    autostrip: bool = False,
    case_sensitive: bool = True,
    defaultfmt: str = "f%i",
    unpack: bool | None = None,
    usemask: bool = False,
    loose: bool = True,
    invalid_raise: bool = True,
    max_rows: int | None = None,
    encoding: str | None = None,
    *,
    ndmin: int = 0,
    like: Any = None,
    device: str | Device | None = None,
) -> Tensor:
    """Load a text file of numbers, with support for missing values.

    Parameters
    ----------
    fname, comments, usecols, unpack, encoding, ndmin, device
        As in `loadtxt`.
    dtype
        None selects the smallest of bool, int32, float32 and complex64 that fits all numbers.
    delimiter
        The separator between columns, or their widths: one for all or one for each.
    skip_header, skip_footer : int
        Lines to skip at the start, and rows to skip at the end.
    converters
        Functions that convert text to a number, by column.
    missing_values
        The string, or strings, that mark a missing number if `loose` is False.
    filling_values
        The value for missing numbers: one value, one for each column, or a dict by column. By
        default NaN, -1 for integers, or False.
    names, usemask
        Must be None and False: tensors have no fields and no masks. The other options for names
        have no effect.
    loose : bool
        Whether text that is not a number counts as missing.
    invalid_raise : bool
        Whether a line with a wrong number of columns raises ValueError (True) or is skipped
        (False).
    max_rows : int, optional
        The number of rows to read.

    Raises
    ------
    ValueError
        If `invalid_raise` is True and a line has a wrong number of columns, or if `loose` is False
        and text is not a number.
    DTypeError
        If `names` or `usemask` is used.
    """
    if names is not None or usemask:
        raise DTypeError("genfromtxt: names and usemask are not supported")
    np = host.load_numpy()
    is_path = isinstance(fname, str) or hasattr(fname, "__fspath__")
    source = fname if is_path else [*fname]

    def read(read_dtype: str | None) -> Any:
        with naming("genfromtxt"):
            return np.genfromtxt(
                source, read_dtype, comments, delimiter, skip_header, skip_footer, converters,
                missing_values, filling_values, usecols, autostrip=autostrip, loose=loose,
                invalid_raise=invalid_raise, max_rows=max_rows, encoding=encoding, ndmin=2,
            )  # fmt: skip

    check_option("genfromtxt", "ndmin", ndmin, (0, 1, 2))
    rows = read(_least_dtype(read) if dtype is None else dtypes.parse(dtype).host)
    if rows.dtype.names:  # converters give columns their own dtypes
        rows = np.concatenate([rows[name] for name in rows.dtype.names], 1)
    rows = rows if ndmin == 2 else np.squeeze(rows)
    rows = np.atleast_1d(rows) if ndmin == 1 else rows
    read_dtype = rows.dtype
    default = dtypes.of_host("genfromtxt", read_dtype.kind, read_dtype.itemsize, read_dtype.name)
    target = default if dtype is None else dtypes.parse(dtype)
    return from_host("genfromtxt", rows.T if unpack else rows, target, parse(device))


def _least_dtype(read: Callable[[str | None], Any]) -> str:
    """Return NumPy's dtype that holds the numbers of all columns, which `read` gives one each."""
    words = "genfromtxt: some text is not a number; pass a dtype to read it as missing"
    try:
        common = read(None).dtype
    except TypeError as error:
        if "to a dtype is not allowed" in str(error):  # NumPy 2.4 fails at such a text
            raise DTypeError(words) from None
        raise
    if common.names == ():  # no text at all
        return "int64"
    if common.names:
        common = host.load_numpy().result_type(*[common[name] for name in common.names])
    if common.kind not in "biufc":
        raise DTypeError(words)
    return common.name


def fromstring(
    string: str,
    dtype: object = float,
    count: int = -1,
    *,
    sep: str,
    like: Any = None,
    device: str | Device | None = None,
) -> Tensor:
    """Create a vector from the numbers in a string.

    Parameters
    ----------
    string : str
    count : int
        The number of elements; -1 for all.
    sep : str
        The separator between numbers, in addition to white space.
    like
        Accepted; has no effect.
    device : {"webgpu", "cpu"}, optional

    Raises
    ------
    ValueError
        If the text is not a number of the dtype, there are fewer than `count` numbers, or `sep` is
        empty; use `frombuffer` for bytes.
    """
    if not sep:
        raise ValueError("fromstring: sep must not be empty; use pt.frombuffer for bytes")
    np, target = host.load_numpy(), dtypes.parse(dtype)
    words = string.split(sep.strip() or None)
    if words and not words[-1].strip():
        words.pop()
    if count > len(words):
        raise ValueError(f"fromstring: the text has {len(words)} numbers, not {count}")
    with naming("fromstring"):  # NumPy's function warns of a text that is not a number
        array = np.array(words if count < 0 else words[:count], object)
        array = (array.astype(float) if target.is_bool else array).astype(target.host)
    return from_host("fromstring", array, target, parse(device))
