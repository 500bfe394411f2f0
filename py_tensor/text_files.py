"""Text files of numbers, written and read on the host, without NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from importlib import import_module
from itertools import chain, islice
from typing import Any, cast
from warnings import warn

from py_tensor import dtypes
from py_tensor.dtypes import DType
from py_tensor.errors import DTypeError, ShapeError
from py_tensor.graph.node import Device
from py_tensor.ops.movement import reshape
from py_tensor.ops.operands import Operand
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["fromstring", "genfromtxt", "loadtxt", "savetxt"]

Converter = Callable[[str], Any]
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
_MISSING = {"b": False, "i": -1, "u": -1, "f": float("nan"), "c": complex("nan")}


# -- Writing ------------------------------------------------------------------------------------


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
        A tensor of one or two axes.
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
    ShapeError
        If the tensor is 0-d or has more than two axes.
    ValueError
        If the number of formats does not match the number of columns.
    """
    x = tensor_of(X, "savetxt")
    if x.ndim not in (1, 2):
        raise ShapeError(f"savetxt: takes one or two axes, not shape {x.shape}")
    is_complex = x.dtype.kind == "c"
    form = _row_format(fmt, 1 if x.ndim == 1 else x.shape[1], delimiter, is_complex)
    rows: list[Any] = x.tolist()
    rows = [[v] for v in rows] if x.ndim == 1 else rows
    mark = "\n" + comments
    lines = [comments + header.replace("\n", mark) + newline] if header else []
    for row in rows:
        values = chain.from_iterable((v.real, v.imag) for v in row) if is_complex else row
        line = form % tuple(values)
        lines.append((line.replace("+-", "-") if is_complex else line) + newline)
    if footer:
        lines.append(comments + footer.replace("\n", mark) + newline)
    _write("".join(lines), fname, encoding or "latin1")


def _row_format(fmt: Any, columns: int, delimiter: str, is_complex: bool) -> str:
    if isinstance(fmt, list | tuple):
        each = cast("Sequence[str]", fmt)
        if len(each) != columns:
            raise ValueError(
                f"savetxt: {len(each)} formats do not match {columns} columns: {fmt!r}"
            )
        return delimiter.join(each)
    if not isinstance(fmt, str):
        raise TypeError(f"savetxt: fmt must be a str or a sequence of str, not {fmt!r}")
    count = fmt.count("%")
    if count == 1:
        return delimiter.join([f" ({fmt}+{fmt}j)" if is_complex else fmt] * columns)
    if count != columns * (1 + is_complex):
        raise ValueError(f"savetxt: {count} formats do not match {columns} columns: {fmt!r}")
    return fmt


def _write(text: str, fname: Any, encoding: str) -> None:
    if isinstance(fname, str | os.PathLike):
        with _opened(os.fspath(fname), "wt", encoding) as file:
            file.write(text)
        return
    try:
        fname.write(text)
    except TypeError:  # a binary file
        fname.write(text.encode(encoding))


def _opened(name: str, mode: str, encoding: str | None) -> Any:
    """Open a text file; the suffix of its name determines the compression."""
    module = _COMPRESSED.get(os.path.splitext(name)[1])
    return (import_module(module).open if module else open)(name, mode, encoding=encoding)


# -- Reading ------------------------------------------------------------------------------------


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
    quotechar: None = None,
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
    quotechar
        Must be None: quoted numbers are not supported.
    like
        Accepted; has no effect.
    device : {"webgpu", "cpu"}, optional

    Raises
    ------
    ValueError
        If a text is not a number of the dtype, or lines differ in the number of columns.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.loadtxt(["1 2  # the first", "3 4"], dtype=int)
    tensor([[1, 2],
            [3, 4]])
    """
    if quotechar is not None:
        raise ValueError(f"loadtxt: quotechar must be None, not {quotechar!r}")
    own, marks = dtypes.parse(dtype), _marks("loadtxt", comments)
    columns = _columns(usecols)
    with _lines(fname, encoding) as lines:
        rows = (_words(line, marks, delimiter) for line in islice(lines, skiprows, None))
        found = [*islice(filter(None, rows), max_rows)]
    width = len(found[0]) if found else 0
    values: list[Any] = []
    for at, row in enumerate(found):
        if columns is None and len(row) != width:
            raise ValueError(
                f"loadtxt: row {at} has {len(row)} columns, but earlier ones have {width}"
            )
        values += _numbers("loadtxt", row, at, columns, own, converters)
    if not found:
        warn(f"loadtxt: no numbers in {fname!r}", UserWarning, stacklevel=2)
    count = len(columns) if columns is not None else width
    x = tensor_of(values, "loadtxt", dtype=own, device=cast("Any", device))
    shaped = reshape(x, (len(found), count) if found else (0,))
    return _shaped("loadtxt", shaped, ndmin, unpack)


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
        None selects the smallest of int32, float32 and complex64 that fits all numbers.
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
        Must be None and False: tensors have no fields and no masks. The other options for names,
        and `autostrip`, have no effect.
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
    if skip_footer and max_rows is not None:
        raise ValueError("genfromtxt: takes either skip_footer or max_rows, not both")
    marks, columns = _marks("genfromtxt", comments), _columns(usecols)
    with _lines(fname, encoding) as lines:
        rows = (_fields(line, marks, delimiter) for line in islice(lines, skip_header, None))
        found = [*islice(filter(None, rows), max_rows)]
    found = found[: len(found) - skip_footer] if skip_footer else found
    if not found:
        warn(f"genfromtxt: no numbers in {fname!r}", UserWarning, stacklevel=2)
    width = len(found[0]) if found else 0
    needed = max((c if c >= 0 else -1 - c for c in columns), default=0) if columns else 0
    wrong = [len(r) <= needed if columns else len(r) != width for r in found]
    if any(wrong):
        text = f"genfromtxt: lines without {width} columns: {[n for n, w in enumerate(wrong) if w]}"
        if invalid_raise:
            raise ValueError(text)
        warn(text, UserWarning, stacklevel=2)
        found = [row for row, bad in zip(found, wrong, strict=True) if not bad]
    kept = range(width) if columns is None else [c % width if width else c for c in columns]
    own = dtypes.parse(dtype) if dtype is not None else _least(found, kept)
    missing = _missing(missing_values)
    values: list[Any] = []
    for row in found:
        for place, column in enumerate(kept):
            fill = _filling(filling_values, place, column, own)
            named = converters or {}
            convert = named.get(column) or named.get(column - width) or _read_loosely(own)
            if not loose and row[column].strip() in missing:
                values.append(fill)
                continue
            try:
                values.append(convert(row[column]))
            except ValueError:
                if not loose:
                    raise ValueError(
                        f"genfromtxt: {row[column]!r} in column {column} is not {own}"
                    ) from None
                values.append(fill)
    x = tensor_of(values, "genfromtxt", dtype=own, device=cast("Any", device))
    shaped = reshape(x, (len(found), len(kept)) if found else (0,))
    return _shaped("genfromtxt", shaped, ndmin, bool(unpack))


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
    own = dtypes.parse(dtype)
    words = string.split(sep.strip() or None)
    if words and not words[-1].strip():
        words.pop()
    if count > len(words):
        raise ValueError(f"fromstring: the text has {len(words)} numbers, not {count}")
    words = words if count < 0 else words[:count]
    values = _numbers("fromstring", words, 0, None, own, None)
    return tensor_of(values, "fromstring", dtype=own, device=cast("Any", device))


# -- Lines, words and numbers -------------------------------------------------------------------


def _lines(fname: Any, encoding: str | None) -> Any:
    """Return a context manager for the lines of a file, or of an iterable of lines."""
    if isinstance(fname, str | os.PathLike):
        return closing(_opened(os.fspath(fname), "rt", encoding))
    return nullcontext(_decoded(fname, encoding or "latin1"))


def _decoded(lines: Iterable[str | bytes], encoding: str) -> Iterator[str]:
    for line in lines:
        yield line.decode(encoding) if isinstance(line, bytes) else line


def _marks(op: str, comments: str | Sequence[str] | None) -> tuple[str, ...]:
    marks = (comments,) if isinstance(comments, str) else tuple(comments or ())
    if "" in marks:
        raise ValueError(f"{op}: comments must not be empty; use None for no comments")
    return marks


def _columns(usecols: int | Sequence[int] | None) -> list[int] | None:
    if usecols is None:
        return None
    return [usecols] if isinstance(usecols, int) else [*usecols]


def _without_comment(line: str, marks: tuple[str, ...]) -> str:
    for mark in marks:
        line = line.partition(mark)[0]
    return line


def _words(line: str, marks: tuple[str, ...], delimiter: str | None) -> list[str]:
    line = _without_comment(line, marks).rstrip("\r\n")
    return line.split(delimiter) if line.strip() else []


def _fields(
    line: str, marks: tuple[str, ...], delimiter: str | int | Sequence[int] | None
) -> list[str]:
    """Return words separated by a delimiter, or pieces of fixed widths."""
    if delimiter is None or isinstance(delimiter, str):
        text = _without_comment(line, marks).strip(" \r\n")
        return text.split(delimiter) if text else []
    text = _without_comment(line, marks).rstrip("\r\n")
    widths = [delimiter] * -(-len(text) // delimiter) if isinstance(delimiter, int) else delimiter
    ends = [sum(widths[: n + 1]) for n in range(len(widths))]
    return [text[end - n : end] for end, n in zip(ends, widths, strict=True)] if text else []


def _converter(dtype: DType) -> Converter:
    if dtype.kind == "b":
        return lambda text: float(text) != 0
    return int if dtype.kind in "iu" else float if dtype.kind == "f" else _complex


def _read_loosely(dtype: DType) -> Converter:
    """Like `_converter`, but also accepts the names of bools."""
    plain = _converter(dtype)
    names = {"true": 1, "false": 0} if dtype.kind == "b" else {}
    return lambda text: names[key] if (key := text.strip().lower()) in names else plain(text)


def _complex(text: str) -> complex:
    return complex(text.strip())


def _numbers(
    op: str,
    row: list[str],
    at: int,
    columns: list[int] | None,
    dtype: DType,
    converters: dict[int, Converter] | Converter | None,
) -> list[Any]:
    """Return the numbers in a row, or in some of its columns."""
    plain = _converter(dtype)
    own = converters if callable(converters) else None
    named = cast("dict[int, Converter]", converters if isinstance(converters, dict) else {})
    kept = range(len(row)) if columns is None else columns
    found: list[Any] = []
    for column in kept:
        if not -len(row) <= column < len(row):
            raise ValueError(f"{op}: row {at} has {len(row)} columns and no column {column}")
        place = column % len(row)
        convert = own or named.get(place) or named.get(place - len(row)) or plain
        try:
            found.append(convert(row[place]))
        except ValueError:
            raise ValueError(
                f"{op}: {row[place]!r} in row {at}, column {place}, is not {dtype}"
            ) from None
    return found


def _missing(given: Any) -> set[str]:
    values = cast("dict[Any, Any]", given).values() if isinstance(given, dict) else given
    if values is None:
        return {""}
    if isinstance(values, str):
        return {"", *values.split(",")}
    return {"", *map(str, cast("Iterable[Any]", values))}


def _filling(given: Any, place: int, column: int, dtype: DType) -> Any:
    if isinstance(given, dict):
        given = cast("dict[int, Any]", given).get(column)
    elif isinstance(given, list | tuple):
        each = cast("Sequence[Any]", given)
        given = each[place] if place < len(each) else None
    return _MISSING[dtype.kind] if given is None else given


def _least(rows: list[list[str]], columns: Iterable[int]) -> DType:
    """Return the smallest default dtype that holds all numbers of a file."""
    words = [row[column] for column in columns for row in rows]
    found = [word.strip().lower() for word in words if word.strip()]
    if found and all(word in ("true", "false") for word in found):
        return dtypes.bool_
    for dtype in (dtypes.DEFAULT_INT, dtypes.DEFAULT.floating, dtypes.DEFAULT.complex):
        convert = _read_loosely(dtype)
        try:
            for word in filter(str.strip, words):
                convert(word)
        except ValueError:
            continue
        return dtype
    raise DTypeError("genfromtxt: some text is not a number; pass a dtype to read it as missing")


def _shaped(op: str, x: Tensor, ndmin: int, unpack: bool) -> Tensor:
    """Remove axes of size 1, down to `ndmin` axes, and transpose if requested."""
    if ndmin not in (0, 1, 2):
        raise ValueError(f"{op}: ndmin must be 0, 1 or 2, not {ndmin!r}")
    if x.ndim > ndmin:
        x = reshape(x, tuple(n for n in x.shape if n != 1))
    if x.ndim < ndmin:
        x = reshape(x, (-1,) if ndmin == 1 else (x.size, 1) if x.ndim else (1, 1))
    return x.T if unpack else x
