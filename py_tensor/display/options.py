"""The options of `imshow`, `plot` and `display`: every check of them, before anything is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.display.colormaps import STOPS
from py_tensor.dtypes import DType
from py_tensor.tensor import Tensor

KINDS = ("line", "scatter")
SCALES = ("linear", "log")

LARGEST = (2 - 2**-23) * 2.0**127
"""Of float32."""


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """Those of `screen.imshow`."""

    vmin: float | None = None
    vmax: float | None = None
    cmap: str = "viridis"
    scale: float | None = None


@dataclass(frozen=True, slots=True)
class ChartOptions:
    """Those of `screen.plot`."""

    label: str | Sequence[str] | None = None
    kind: str = "line"
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    xscale: str = "linear"
    yscale: str = "linear"


def image_options(op: str, given: Mapping[str, Any], dtype: DType) -> ImageOptions:
    """The options of a picture of a tensor of this dtype.

    Raises
    ------
    TypeError
        For an unknown name, and for a value of another type.
    ValueError
        For a bound that is not finite or that the values' dtype cannot hold, where `vmin` is not
        less than `vmax`, for an unknown `cmap`, and for a `scale` that is not positive and finite.
    """
    _check_names(op, given, ImageOptions)
    largest = float("inf") if dtype is dtypes.float64 else LARGEST
    vmin, vmax = (_bound(op, name, given.get(name), largest) for name in ("vmin", "vmax"))
    if vmin is not None and vmax is not None and not vmin < vmax:
        raise ValueError(f"{op}: vmin must be less than vmax, got {vmin:g} and {vmax:g}")
    scale = _number(op, "scale", given.get("scale"))
    if scale is not None and not 0 < scale < float("inf"):
        raise ValueError(f"{op}: scale must be positive and finite, not {scale:g}")
    return ImageOptions(vmin, vmax, _choice(op, "cmap", given, tuple(STOPS), "viridis"), scale)


def chart_options(op: str, given: Mapping[str, Any]) -> ChartOptions:
    """The options of a chart.

    Raises
    ------
    TypeError
        For an unknown name, and for a value of another type.
    ValueError
        For an unknown `kind`, `xscale` or `yscale`.
    """
    _check_names(op, given, ChartOptions)
    texts = {name: _text(op, name, given.get(name, "")) for name in ("title", "xlabel", "ylabel")}
    return ChartOptions(
        label=_label(op, given.get("label")),
        kind=_choice(op, "kind", given, KINDS, "line"),
        xscale=_choice(op, "xscale", given, SCALES, "linear"),
        yscale=_choice(op, "yscale", given, SCALES, "linear"),
        **texts,
    )


def _check_names(op: str, given: Mapping[str, Any], kind: type[Any]) -> None:
    known = [field.name for field in fields(kind)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"{op}: unknown option {', '.join(unknown)}; known are {', '.join(known)}")


def _bound(op: str, name: str, value: Any, largest: float) -> float | None:
    number = _number(op, name, value)
    if number is None or (isfinite(number) and abs(number) <= largest):
        return number
    what = "a finite number" if largest > LARGEST else "a finite float32"
    raise ValueError(f"{op}: {name} must be {what}, not {value}")


def _number(op: str, name: str, value: Any) -> float | None:
    """A number; a tensor is refused, as reading it would wait for the GPU."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        raise TypeError(f"{op}: {name} must be a number, not a tensor; use float(x)")
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{op}: {name} must be a number, not {_shown(value)}") from None
    except OverflowError:
        raise ValueError(f"{op}: {name} must be finite, not {_shown(value)}") from None


def _text(op: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{op}: {name} must be a str, not {_shown(value)}")
    return value


def _choice(op: str, name: str, given: Mapping[str, Any], known: Sequence[str], usual: str) -> str:
    value = _text(op, name, given.get(name, usual))
    if value not in known:
        raise ValueError(f"{op}: {name} must be one of {', '.join(known)}, not {value!r}")
    return value


def _label(op: str, value: Any) -> str | Sequence[str] | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        raise TypeError(f"{op}: label must be a str or a list of str, not {_shown(value)}")
    return [_text(op, "each label", one) for one in cast("Sequence[Any]", value)]


def _shown(value: Any) -> str:
    """A value's type, and the value where it is short."""
    text = repr(value) if isinstance(value, str | bytes | int | float) else ""
    return f"{type(value).__name__} {text}" if 0 < len(text) <= 40 else type(value).__name__
