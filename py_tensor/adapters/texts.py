"""Text of tensors and numbers, and text files of numbers: NumPy's functions on the host."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from operator import index
from typing import Any

from py_tensor.adapters.hosted import from_host, hosted, naming
from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError, check_option
from py_tensor.convert import formatting
from py_tensor.convert.host_arrays import on_host
from py_tensor.convert.printing import format_rows, format_str, in_double
from py_tensor.ops.operands import Operand, own_dtype
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "array2string", "array_repr", "array_str", "base_repr", "binary_repr",
    "format_float_positional", "format_float_scientific", "fromstring", "genfromtxt",
    "get_printoptions", "loadtxt", "printoptions", "savetxt",
]  # fmt: skip


# -- Tensors ------------------------------------------------------------------------------------


@hosted(
    "a, max_line_width=None, precision=None, suppress_small=None, separator=' ', prefix='', *,"
    " formatter=None, threshold=None, edgeitems=None, sign=None, floatmode=None, suffix='',"
    " legacy=None"
)
def array2string(a: Operand, separator: str, prefix: str, suffix: str, **options: Any) -> str:
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
    changed = _changed(**options)
    if not x.size:
        return "[]"
    changed = replace(changed, linewidth=max(1, changed.linewidth - len(suffix)))
    shown = formatting.elements(x, changed)
    return format_rows(*shown, separator=separator, prefix=prefix, options=changed)


@hosted("arr, max_line_width=None, precision=None, suppress_small=None")
def array_repr(arr: Tensor, **options: Any) -> str:
    """Return the `repr` of a tensor, with some options of `array2string`."""
    return formatting.repr_of(tensor_of(arr, "array_repr"), _changed(**options))


@hosted("a, max_line_width=None, precision=None, suppress_small=None")
def array_str(a: Tensor, **options: Any) -> str:
    """Return the `str` of a tensor, with some options of `array2string`."""
    changed = _changed(**options)
    return format_str(*formatting.elements(tensor_of(a, "array_str"), changed), options=changed)


def _changed(max_line_width: Any, suppress_small: Any, **options: Any) -> Any:
    return formatting.changed(linewidth=max_line_width, suppress=suppress_small, **options)


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


@hosted(
    "x, precision=None, unique=True, fractional=True, trim='k', sign=False, pad_left=None,"
    " pad_right=None, min_digits=None"
)
def format_float_positional(x: Any, **options: Any) -> str:
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
    number = _number(x, options, is_scientific=False)
    return host.load_numpy().format_float_positional(number, **options)


@hosted(
    "x, precision=None, unique=True, trim='k', sign=False, pad_left=None, exp_digits=None,"
    " min_digits=None"
)
def format_float_scientific(x: Any, **options: Any) -> str:
    """Format a number in scientific notation.

    Parameters
    ----------
    x, precision, unique, trim, sign, pad_left, min_digits
        As in `format_float_positional`.
    exp_digits : int, optional
        The minimum number of digits of the exponent, by default two.
    """
    number = _number(x, options, is_scientific=True)
    return host.load_numpy().format_float_scientific(number, **options)


def _number(x: Any, options: dict[str, Any], *, is_scientific: bool) -> Any:
    """Return a number for NumPy whose shortest digits are those of a tensor's element."""
    if not isinstance(x, Tensor):
        return x
    value, least, most = on_host(x)[()], options["min_digits"], options["precision"]
    if not options["unique"] or x.dtype.is_numpys or x.ndim or not isfinite(value):
        return value
    if not options.get("fractional", True):  # the one before the point counts, with an exponent
        most, least = (None if n is None else max(0, n - 1) for n in (most, least))
        is_scientific = True
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


@hosted(
    "fname, X, fmt='%.18e', delimiter=' ', newline='\\n', header='', footer='', comments='# ',"
    " encoding=None"
)
def savetxt(fname: Any, X: Operand, encoding: Any, **options: Any) -> None:  # noqa: N803
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
    x = on_host(tensor_of(X, "savetxt"))
    host.load_numpy().savetxt(fname, x, encoding=encoding or "latin1", **options)


@hosted(
    "fname, dtype=float, comments='#', delimiter=None, converters=None, skiprows=0, usecols=None,"
    " unpack=False, ndmin=0, encoding=None, max_rows=None, *, quotechar=None, like=None,"
    " device=None"
)
def loadtxt(fname: Any, dtype: object, like: Any, device: Any, **options: Any) -> Tensor:
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
    target = dtypes.parse(dtype)
    # In WebAssembly NumPy reads 300 as 44 for uint8; here the conversion checks the range.
    is_narrow = target.is_integer and target.itemsize < 8
    array = host.load_numpy().loadtxt(fname, "int64" if is_narrow else target.host, **options)
    return from_host("loadtxt", array, target, parse(device))


@hosted(
    "fname, dtype=float, comments='#', delimiter=None, skip_header=0, skip_footer=0,"
    " converters=None, missing_values=None, filling_values=None, usecols=None, names=None,"
    " excludelist=None, deletechars='', replace_space='_', autostrip=False, case_sensitive=True,"
    " defaultfmt='f%i', unpack=None, usemask=False, loose=True, invalid_raise=True, max_rows=None,"
    " encoding=None, *, ndmin=0, like=None, device=None"
)
def genfromtxt(fname: Any, dtype: object, device: Any, **options: Any) -> Tensor:
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
    unpack, ndmin, _ = (options.pop(name) for name in ("unpack", "ndmin", "like"))
    if options["names"] is not None or options["usemask"]:
        raise DTypeError("genfromtxt: names and usemask are not supported")
    np = host.load_numpy()
    is_path = isinstance(fname, str) or hasattr(fname, "__fspath__")
    source = fname if is_path else [*fname]

    def read(read_dtype: str | None) -> Any:
        return np.genfromtxt(source, read_dtype, ndmin=2, **options)

    check_option("genfromtxt", "ndmin", ndmin, (0, 1, 2))
    rows = read(_least_dtype(read) if dtype is None else dtypes.parse(dtype).host)
    if rows.dtype.names:  # converters give columns their own dtypes
        rows = np.concatenate([rows[name] for name in rows.dtype.names], 1)
    rows = rows if ndmin == 2 else np.squeeze(rows)
    rows = np.atleast_1d(rows) if ndmin == 1 else rows
    target = own_dtype("genfromtxt", rows) if dtype is None else dtypes.parse(dtype)
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


@hosted("string, dtype=float, count=-1, *, sep, like=None, device=None")
def fromstring(string: str, dtype: object, count: int, sep: str, like: Any, device: Any) -> Tensor:
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
    # NumPy's function warns of a text that is not a number.
    array = np.array(words if count < 0 else words[:count], object)
    array = (array.astype(float) if target.is_bool else array).astype(target.host)
    return from_host("fromstring", array, target, parse(device))
