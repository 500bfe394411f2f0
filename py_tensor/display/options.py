"""The options of pictures and charts: every check of them, before anything is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import isfinite
from typing import Any, TypeVar, cast

from py_tensor import dtypes
from py_tensor.display.colormaps import STOPS
from py_tensor.dtypes import DType
from py_tensor.tensor import Tensor

KINDS = ("line", "area")
SCALES = ("linear", "log")

LARGEST_FLOAT32 = (2 - 2**-23) * 2.0**127
"""Of float32."""

MOST_BINS = 1000
MOST_LEVELS = 50

COLOUR_NAMES = {
    **{"b": "blue", "g": "green", "r": "red", "c": "darkcyan", "m": "darkmagenta", "y": "gold"},
    **{"k": "currentcolor", "black": "currentcolor", "w": "white"},
    **{"tab:blue": "#1f77b4", "tab:orange": "#ff7f0e", "tab:green": "#2ca02c"},
    **{"tab:red": "#d62728", "tab:purple": "#9467bd", "tab:brown": "#8c564b"},
    **{"tab:pink": "#e377c2", "tab:gray": "#7f7f7f", "tab:olive": "#bcbd22", "tab:cyan": "#17becf"},
    **{f"C{n}": f"var(--series-{n % 8})" for n in range(10)},
}
"""What matplotlib calls by other names than CSS. Black is the colour of the page's text."""

PLAIN_COLOURS = (
    "aqua aquamarine beige blue blueviolet brown chocolate coral crimson cyan darkblue darkcyan "
    "darkgreen darkmagenta darkorange darkred darkviolet deeppink deepskyblue dodgerblue "
    "firebrick forestgreen fuchsia gold gray green grey hotpink indigo khaki lavender lightblue "
    "lightgray lightgreen lightgrey lime limegreen magenta maroon midnightblue navy olive orange "
    "orangered orchid pink plum purple rebeccapurple red royalblue salmon seagreen sienna silver "
    "skyblue slateblue slategray steelblue tan teal tomato turquoise violet white yellow"
)
"""Those of CSS that are known by their names."""


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """The options of `screen.imshow`."""

    vmin: float | None = None
    vmax: float | None = None
    cmap: str = "viridis"
    scale: float | None = None
    colorbar: bool = False
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    extent: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class ChartOptions:
    """The options of every chart."""

    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    xscale: str = "linear"
    yscale: str = "linear"


@dataclass(frozen=True, slots=True)
class SeriesOptions(ChartOptions):
    """The options of charts of series."""

    label: str | Sequence[str] | None = None
    color: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class PlotOptions(SeriesOptions):
    """The options of `plotting.plot`."""

    kind: str = "line"


@dataclass(frozen=True, slots=True)
class ScatterOptions(SeriesOptions):
    """The options of `plotting.scatter`."""

    c: Any = None
    s: float = 24.0
    cmap: str = "viridis"
    vmin: float | None = None
    vmax: float | None = None


@dataclass(frozen=True, slots=True)
class BarOptions(SeriesOptions):
    """The options of `plotting.bar`."""

    width: float = 0.8


@dataclass(frozen=True, slots=True)
class HistOptions(SeriesOptions):
    """The options of `plotting.hist`."""

    bins: int | tuple[float, ...] | None = None
    range: tuple[float, float] | None = None
    density: bool = False


@dataclass(frozen=True, slots=True)
class ContourOptions(ChartOptions):
    """The options of `plotting.contour`."""

    levels: int | tuple[float, ...] | None = None
    cmap: str = "viridis"
    color: str | None = None


AnyOptions = TypeVar("AnyOptions", bound=ChartOptions)


def image_options(op: str, given: Mapping[str, Any], dtype: DType) -> ImageOptions:
    """The options of a picture of a tensor of this dtype.

    Raises
    ------
    TypeError
        For an unknown name, and for a value of another type.
    ValueError
        For a bound that is not finite or that the values' dtype cannot hold, where `vmin` is not
        less than `vmax`, for an unknown `cmap`, for a `scale` that is not positive and finite, and
        for an `extent` without width or height.
    """
    _check_names(op, given, ImageOptions)
    largest = float("inf") if dtype is dtypes.float64 else LARGEST_FLOAT32
    vmin, vmax = _bounds(op, given, largest)
    extent = _numbers(op, "extent", given.get("extent"))
    if extent is not None:
        if len(extent) != 4:
            raise ValueError(
                f"{op}: extent must be (left, right, bottom, top), not {len(extent)} numbers"
            )
        if extent[0] == extent[1] or extent[2] == extent[3]:
            raise ValueError(f"{op}: extent must have a width and a height, not {extent}")
    return ImageOptions(
        vmin,
        vmax,
        cmap=_choice(op, "cmap", given, tuple(STOPS), "viridis"),
        scale=_positive(op, "scale", given.get("scale")),
        colorbar=_flag(op, "colorbar", given.get("colorbar", False)),
        extent=extent,
        **_texts(op, given, ("title", "xlabel", "ylabel")),
    )


def chart_options(op: str, kind: type[AnyOptions], given: Mapping[str, Any]) -> AnyOptions:
    """The options of a chart, of the type that `op` has.

    Raises
    ------
    TypeError
        For an unknown name, and for a value of another type.
    ValueError
        For a value that is none of those known, or out of its range.
    """
    _check_names(op, given, kind)
    vmin, vmax = _bounds(op, given, LARGEST_FLOAT32)
    checked: dict[str, Any] = {
        "label": _label(op, given.get("label")),
        "color": _colours(op, given.get("color")),
        "kind": _choice(op, "kind", given, KINDS, "line"),
        "xscale": _choice(op, "xscale", given, SCALES, "linear"),
        "yscale": _choice(op, "yscale", given, SCALES, "linear"),
        "cmap": _choice(op, "cmap", given, tuple(STOPS), "viridis"),
        "vmin": vmin,
        "vmax": vmax,
        "s": _positive(op, "s", given.get("s", 24.0)),
        "c": given.get("c"),
        "width": _positive(op, "width", given.get("width", 0.8)),
        "bins": _bins(op, given.get("bins")),
        "range": _range(op, given.get("range")),
        "density": _flag(op, "density", given.get("density", False)),
        "levels": _levels(op, given.get("levels")),
        **_texts(op, given, ("title", "xlabel", "ylabel")),
    }
    return kind(**{field.name: checked[field.name] for field in fields(kind)})


def _check_names(op: str, given: Mapping[str, Any], kind: type[Any]) -> None:
    known = [field.name for field in fields(kind)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"{op}: unknown option {', '.join(unknown)}; known are {', '.join(known)}")


def _bound(op: str, name: str, value: Any, largest: float) -> float | None:
    number = _number(op, name, value)
    if number is None or (isfinite(number) and abs(number) <= largest):
        return number
    what = "a finite number" if largest > LARGEST_FLOAT32 else "a finite float32"
    raise ValueError(f"{op}: {name} must be {what}, not {value}")


def _bounds(op: str, given: Mapping[str, Any], largest: float) -> tuple[float | None, float | None]:
    vmin, vmax = (_bound(op, name, given.get(name), largest) for name in ("vmin", "vmax"))
    if vmin is not None and vmax is not None and not vmin < vmax:
        raise ValueError(f"{op}: vmin must be less than vmax, got {vmin:g} and {vmax:g}")
    return vmin, vmax


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


def _positive(op: str, name: str, value: Any) -> float | None:
    number = _number(op, name, value)
    if number is not None and not 0 < number < float("inf"):
        raise ValueError(f"{op}: {name} must be positive and finite, not {number:g}")
    return number


def _flag(op: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{op}: {name} must be True or False, not {_shown(value)}")
    return value


def _numbers(op: str, name: str, value: Any) -> tuple[float, ...] | None:
    """Finite numbers, of any sequence that is no tensor on a GPU."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        raise TypeError(f"{op}: {name} must be numbers, not a tensor; use x.tolist()")
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise TypeError(f"{op}: {name} must be numbers, not {_shown(value)}")
    found = [_number(op, name, each) for each in value]
    kept = tuple(each for each in found if each is not None and isfinite(each))
    if len(kept) < len(found):
        raise ValueError(f"{op}: {name} must be finite, not {found}")
    return kept


def _rising(op: str, name: str, values: tuple[float, ...], least: int) -> tuple[float, ...]:
    if len(values) < least or not all(a < b for a, b in pairwise(values)):
        raise ValueError(f"{op}: {name} must be {least} or more rising numbers, not {values}")
    return values


def _count(op: str, name: str, value: Any, most: int) -> int:
    if not 1 <= value <= most:
        raise ValueError(f"{op}: {name} must be from 1 to {most}, not {value}")
    return int(value)


def _bins(op: str, value: Any) -> int | tuple[float, ...] | None:
    if value is None:
        return None
    if hasattr(value, "__index__") and not isinstance(value, bool | Tensor):
        return _count(op, "bins", value.__index__(), MOST_BINS)
    return _rising(op, "bins", cast("tuple[float, ...]", _numbers(op, "bins", value)), 2)


def _range(op: str, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    found = cast("tuple[float, ...]", _numbers(op, "range", value))
    if len(found) != 2:
        raise ValueError(f"{op}: range must be (low, high), not {len(found)} numbers")
    low, high = _rising(op, "range", found, 2)
    return low, high


def _levels(op: str, value: Any) -> int | tuple[float, ...] | None:
    if value is None:
        return None
    if hasattr(value, "__index__") and not isinstance(value, bool | Tensor):
        return _count(op, "levels", value.__index__(), MOST_LEVELS)
    return _rising(op, "levels", cast("tuple[float, ...]", _numbers(op, "levels", value)), 1)


def _colours(op: str, value: Any) -> str | Sequence[str] | None:
    if value is None or isinstance(value, str):
        return None if value is None else _colour(op, value)
    if not isinstance(value, list | tuple):
        raise TypeError(f"{op}: color must be a str or a list of str, not {_shown(value)}")
    return [_colour(op, one) for one in cast("Sequence[Any]", value)]


def _colour(op: str, value: Any) -> str:
    """A colour of CSS."""
    name = _text(op, "color", value)
    if name in COLOUR_NAMES:
        return COLOUR_NAMES[name]
    if name in PLAIN_COLOURS.split() or re.fullmatch("#([0-9a-fA-F]{3}){1,2}", name):
        return name
    raise ValueError(
        f"{op}: color must be a name such as 'red' or 'C1', or '#rrggbb', not {name!r}"
    )


def _texts(op: str, given: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: _text(op, name, given.get(name, "")) for name in names}


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
