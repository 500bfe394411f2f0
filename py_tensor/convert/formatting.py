"""`repr` and `str` of tensors, and print options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.shapes import MAX_RANK
from py_tensor.convert.printing import Elements, PrintOptions, format_str, format_tensor
from py_tensor.ir.bind import bind
from py_tensor.ir.primitives import COPY, EDGES, RESHAPE
from py_tensor.ops.indexing import getitem
from py_tensor.ops.movement import concat
from py_tensor.ops.operands import node_of
from py_tensor.tensors.tensor import Tensor, install

__all__ = ["get_printoptions", "set_printoptions"]

_print_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    suppress: bool | None = None,
    nanstr: str | None = None,
    infstr: str | None = None,
    formatter: Mapping[str, Callable[[Any], str]] | None = None,
    sign: str | None = None,
    floatmode: str | None = None,
    *,
    legacy: bool | None = None,
    override_repr: Callable[[Any], str] | None = None,
) -> None:
    """Set print options; None means unchanged, except for `formatter` and `override_repr`.

    Parameters
    ----------
    precision : int
        Digits after the decimal point.
    threshold : int
        The largest number of elements that is printed without summarizing.
    edgeitems : int
        The number of elements printed at each end of an axis in a summary.
    linewidth : int
        The maximum line length in characters.
    suppress : bool
        Whether to print small numbers without exponents.
    nanstr, infstr : str
        The text for NaN and for infinity.
    formatter : dict
        Functions that format a Python number, by "bool", "int", "float",
        "complexfloat", the same kinds with "_kind", or "all".
    sign : {"-", "+", " "}
        The sign of positive numbers: none, a plus sign or a space.
    floatmode : {"maxprec", "maxprec_equal", "fixed", "unique"}
        "unique": as many digits as identify each float. "maxprec": the same, but at most
        `precision` digits; "maxprec_equal": with the same number for all elements. "fixed": exactly
        `precision` digits.
    legacy : bool
        Must be False: the format is that of current NumPy.
    override_repr : callable
        A function that returns the `repr` of a tensor.

    Raises
    ------
    ValueError, TypeError
        If a value is not valid for an option.
    """
    global _print_options
    options = changed(
        precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth,
        suppress=suppress, nanstr=nanstr, infstr=infstr, sign=sign, floatmode=floatmode,
        legacy=legacy,
    )  # fmt: skip
    _print_options = replace(options, formatter=formatter, override_repr=override_repr)


def changed(**options: Any) -> PrintOptions:
    """Return the current options, updated with those that are not None."""
    return replace(_print_options, **{k: v for k, v in options.items() if v is not None})


def get_printoptions() -> dict[str, Any]:
    """Return the print options as a dict for `set_printoptions`."""
    return {name: getattr(_print_options, name) for name in PrintOptions.__dataclass_fields__}


def _str(x: Tensor) -> str:
    return format_str(elements(x, _print_options), _print_options)


async def _repr_async(x: Tensor) -> str:
    """Asynchronous version of `repr`, for hosts in which Python cannot block."""
    await x._find_async()  # pyright: ignore[reportPrivateUsage]
    options = _print_options
    shown = x if x.size <= options.threshold else _corners(x, options.edgeitems)
    values = dtypes.values_of(await shown._read_async(), x.dtype)  # pyright: ignore[reportPrivateUsage]
    return format_tensor(Elements(x.shape, x.dtype.name, values), _suffix(x), options)


def _repr(x: Tensor) -> str:
    return repr_of(x, _print_options)


def repr_of(x: Tensor, options: PrintOptions) -> str:
    """Return the `repr` of a tensor with some options."""
    if options.override_repr is not None:
        return options.override_repr(x)
    return format_tensor(elements(x, options), _suffix(x), options)


def elements(x: Tensor, options: PrintOptions) -> Elements:
    """Return the shape and the dtype of a tensor, and the elements to show."""
    meta = node_of(x).meta
    shown = x if meta.size <= options.threshold else _corners(x, options.edgeitems)
    values = dtypes.values_of(shown._read(), meta.dtype)  # pyright: ignore[reportPrivateUsage]
    return Elements(meta.shape, meta.dtype.name, values)


def _corners(x: Tensor, items: int) -> Tensor:
    """Return the first and last `items` along each longer axis, by one gather if possible."""
    node = node_of(x)
    sizes = node.meta.shape
    long = tuple([axis for axis, n in enumerate(sizes) if n > 2 * items])
    if len(sizes) + len(long) > MAX_RANK:
        whole, n = (slice(None),) * long[0], sizes[long[0]]
        ends = (getitem(x, (*whole, s)) for s in (slice(items), slice(n - items, n)))
        return concat([_corners(end, items) for end in ends], long[0])
    shown = bind(COPY, (bind(EDGES, (node,), (long, items)),))
    node.meta.device.compute([shown])
    shape = tuple([2 * items if axis in long else n for axis, n in enumerate(sizes)])
    return Tensor(bind(RESHAPE, (shown,), shape))


def _suffix(x: Tensor) -> str:
    """Return the dtype and the device as text, if they are not the default for such elements."""
    meta = node_of(x).meta
    dtype, texts = meta.dtype, list[str]()
    # The dtypes of Python's numbers; without elements, only that of an empty list.
    defaults = [dtypes.DEFAULT.floating]
    if meta.size:
        defaults += dtypes.bool_, dtypes.DEFAULT_INT, dtypes.DEFAULT.complex
    if not any(dtype is default for default in defaults):
        texts.append(f"dtype={dtype}")
    if meta.device is not default_device():
        texts.append(f"device='{meta.device}'")
    return ", ".join(texts)


install("__repr__", _repr)
install("__str__", _str)
install("__repr_async__", _repr_async)
