"""Exports a tensor from the page: as a NumPy file, as CSV, or as a list in Python syntax."""

from __future__ import annotations

import io
from math import isfinite, prod
from struct import Struct
from typing import Any

import py_tensor as pt

MAX_IN_CSV = 1_000_000
MAX_IN_LIST = 100_000
"""The most elements; more would be too large for an editor or the clipboard."""

Content = tuple[dict[str, Any], Any]
"""A bundle, and the bytes of its file or None."""

DIGITS = {pt.float16: (Struct("e"), range(3, 6)), pt.float32: (Struct("f"), range(6, 10))}
"""The packer of each dtype, and the numbers of significant digits to try for a round trip."""


async def saved(x: pt.Tensor, form: str, blocking: bool) -> Content:
    """Return a tensor as "npy", "csv" or "list"; a message if it has too many elements for that.

    A row of the CSV is the last axis; a 1-d tensor is a column, as in `numpy.savetxt`. The list is
    a Python expression.
    """
    most = {"csv": MAX_IN_CSV, "list": MAX_IN_LIST}.get(form, x.size)
    if x.size > most:
        what = "CSV" if form == "csv" else "A list"
        text = f"{what} is made of up to {most:,} elements, and this tensor has {x.size:,}."
        return {"kind": "text", "text": f"{text} Save it as .npy."}, None
    if form == "npy":
        return {"kind": "file", "text": ""}, await _npy(x, blocking)
    values = (await _flat(x, blocking)).tolist()
    words = [_word(value, x.dtype, form) for value in values]
    text = _csv(words, x.shape) if form == "csv" else _list(words, x.shape)
    return {"kind": "file", "text": text}, None


async def _flat(x: pt.Tensor, blocking: bool) -> Any:
    flat = x.reshape(x.size)
    return flat if blocking else await flat.to_numpy_async()


async def _npy(x: pt.Tensor, blocking: bool) -> bytes:
    file = io.BytesIO()
    if blocking:
        pt.save(file, x)
    else:
        import numpy

        numpy.save(file, await x.to_numpy_async())
    return file.getvalue()


def _word(value: Any, dtype: Any, form: str) -> str:
    """Return a number in the fewest digits that its dtype needs for a round trip."""
    if isinstance(value, complex):
        part = pt.float32 if dtype is pt.complex64 else pt.float64
        real, imag = (_word(each, part, "csv") for each in (value.real, value.imag))
        if form == "list":
            return f"complex({_quoted(real)}, {_quoted(imag)})"
        return f"{real}{'' if imag[0] == '-' else '+'}{imag}j"
    if not isinstance(value, float):
        return str(value)
    if not isfinite(value):
        return _quoted(repr(value)) if form == "list" else repr(value)
    packer, digits = DIGITS.get(dtype, (None, ()))
    for n in digits:
        short = float(f"{value:.{n}g}")
        try:
            if packer and packer.unpack(packer.pack(short))[0] == value:
                return repr(short)
        except OverflowError:  # rounded beyond the dtype's largest value
            continue
    return repr(value)


def _quoted(word: str) -> str:
    """Return an expression for NaN or infinity, which have no literal in Python."""
    return f"float('{word}')" if word.strip("-") in {"nan", "inf"} else word


def _csv(words: list[str], shape: tuple[int, ...]) -> str:
    columns = shape[-1] if len(shape) > 1 else 1
    starts = range(0, len(words), columns or 1)
    return "".join(",".join(words[i : i + columns]) + "\n" for i in starts)


def _list(words: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return words[0]
    if len(shape) == 1:
        return f"[{', '.join(words)}]"
    size = prod(shape[1:])
    parts = (words[i * size : (i + 1) * size] for i in range(shape[0]))
    return f"[{', '.join(_list(part, shape[1:]) for part in parts)}]"
