"""Text files of numbers, written and read on the host by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from py_tensor.adapters.hosted import from_host, naming
from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError
from py_tensor.convert.host_arrays import on_host
from py_tensor.ir.node import Device
from py_tensor.ops.operands import Operand
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["fromstring", "genfromtxt", "loadtxt", "savetxt"]

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
            fname,
            "int64" if is_narrow else target.host,
            comments,
            delimiter,
            converters,
            skiprows,
            usecols,
            unpack,
            ndmin,
            encoding,
            max_rows,
            quotechar=quotechar,
        )
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
                source,
                read_dtype,
                comments,
                delimiter,
                skip_header,
                skip_footer,
                converters,
                missing_values,
                filling_values,
                usecols,
                autostrip=autostrip,
                loose=loose,
                invalid_raise=invalid_raise,
                max_rows=max_rows,
                encoding=encoding,
                ndmin=2,
            )

    if ndmin not in (0, 1, 2):
        raise ValueError(f"genfromtxt: ndmin must be 0, 1 or 2, not {ndmin!r}")
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
