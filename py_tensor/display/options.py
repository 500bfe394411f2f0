"""The options of pictures and charts, and their checks, which run before anything is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import isfinite
from typing import Any, TypeVar, cast

from py_tensor.base.dtypes import DType
from py_tensor.display.colormaps import STOPS
from py_tensor.display.pictures import ImageOptions
from py_tensor.tensors.tensor import Tensor

KINDS = ("line", "area")
SCALES = ("linear", "log")

LARGEST_FLOAT32 = (2 - 2**-23) * 2.0**127
"""The largest finite float32."""

MAX_BINS = 1000
MAX_LEVELS = 50

COLOUR_NAMES = {
    **{"b": "light-dark(#0000ff, #8098ff)", "g": "light-dark(#008000, #4cc24c)", "r": "red"},
    **{"c": "light-dark(#008b8b, #2ec4c4)", "m": "light-dark(#8b008b, #e069e0)"},
    "y": "light-dark(#9a8500, #ffd700)",
    **{"k": "currentcolor", "black": "currentcolor", "w": "white"},
    **{"tab:blue": "#1f77b4", "tab:orange": "#ff7f0e", "tab:green": "#2ca02c"},
    **{"tab:red": "#d62728", "tab:purple": "#9467bd", "tab:brown": "#8c564b"},
    **{"tab:pink": "#e377c2", "tab:gray": "#7f7f7f", "tab:olive": "#bcbd22", "tab:cyan": "#17becf"},
    **{f"C{n}": f"var(--series-{n % 8})" for n in range(10)},
}
"""Matplotlib's colour names that CSS lacks or draws differently, as CSS colours.

Black is the text colour of the page. Some letters have two tones, for a light and a dark page,
because Matplotlib's blue is too dark on a dark page.
"""

PLAIN_COLOURS = (
    "aqua aquamarine beige blue blueviolet brown chocolate coral crimson cyan darkblue darkcyan "
    "darkgreen darkmagenta darkorange darkred darkviolet deeppink deepskyblue dodgerblue "
    "firebrick forestgreen fuchsia gold gray green grey hotpink indigo khaki lavender lightblue "
    "lightgray lightgreen lightgrey lime limegreen magenta maroon midnightblue navy olive orange "
    "orangered orchid pink plum purple rebeccapurple red royalblue salmon seagreen sienna silver "
    "skyblue slateblue slategray steelblue tan teal tomato turquoise violet white yellow"
)
"""The CSS colour names that are accepted."""


LINE_STYLES = {
    **{"-": "solid", "--": "dashed", "-.": "dashdot", ":": "dotted"},
    **{"solid": "solid", "dashed": "dashed", "dashdot": "dashdot", "dotted": "dotted"},
    **dict.fromkeys(("none", "None", " ", ""), "none"),
}
"""Matplotlib's line styles, by name and by symbol."""

MARKERS = {
    **{"o": "circle", ".": "point", ",": "pixel", "s": "square", "D": "diamond"},
    **{"d": "thin diamond", "^": "triangle up", "v": "triangle down", "<": "triangle left"},
    **{">": "triangle right", "p": "pentagon", "h": "hexagon", "*": "star", "+": "plus"},
    "x": "cross",
}
"""Matplotlib's marker symbols, and their descriptions."""

SEVERAL = "draw several curves as pt.plot(y1, 'k-o') + pt.plot(y2, 'b-')"
"""The hint of errors for several curves in one call, which Matplotlib allows."""

NO_MARKER = ("", " ", "none", "None")


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
    """The options of charts that consist of series."""

    label: str | Sequence[str] | None = None
    color: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class PlotOptions(SeriesOptions):
    """The options of `plotting.plot`."""

    kind: str = "line"
    linestyle: str | None = None
    linewidth: float | None = None
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class ScatterOptions(SeriesOptions):
    """The options of `plotting.scatter`."""

    c: Any = None
    s: float = 24.0
    marker: str | None = None
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


def image_options(op: str, options: Mapping[str, Any], dtype: DType) -> ImageOptions:
    """Return the checked options of a picture of a tensor of this dtype.

    Raises
    ------
    TypeError
        If an option is unknown or has the wrong type.
    ValueError
        If a bound is not finite or out of range for the dtype, `vmin` is not less than `vmax`,
        `cmap` is unknown, `scale` is not positive and finite, or `extent` has no width or height.
    """
    _check_names(op, options, ImageOptions)
    is_double = dtype.is_floating and dtype.has_64_bits
    largest = float("inf") if is_double else LARGEST_FLOAT32
    vmin, vmax = _bounds(op, options, largest)
    extent = _numbers(op, "extent", options.get("extent"))
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
        cmap=_choice(op, "cmap", options, tuple(STOPS), "viridis"),
        scale=_positive(op, "scale", options.get("scale")),
        colorbar=_flag(op, "colorbar", options.get("colorbar", False)),
        extent=extent,
        **_texts(op, options, ("title", "xlabel", "ylabel")),
    )


def chart_options(op: str, kind: type[AnyOptions], options: Mapping[str, Any]) -> AnyOptions:
    """Return the checked options of a chart of `op`, as an instance of `kind`.

    Raises
    ------
    TypeError
        If an option is unknown or has the wrong type.
    ValueError
        If a value is unknown or out of range.
    """
    _check_names(op, options, kind)
    vmin, vmax = _bounds(op, options, LARGEST_FLOAT32)
    checked: dict[str, Any] = {
        "label": _label(op, options.get("label")),
        "color": _colours(op, options.get("color")),
        "kind": _choice(op, "kind", options, KINDS, "line"),
        "xscale": _choice(op, "xscale", options, SCALES, "linear"),
        "yscale": _choice(op, "yscale", options, SCALES, "linear"),
        "cmap": _choice(op, "cmap", options, tuple(STOPS), "viridis"),
        "vmin": vmin,
        "vmax": vmax,
        "linestyle": _line_style(op, options.get("linestyle")),
        "linewidth": _positive(op, "linewidth", options.get("linewidth")),
        "marker": _marker(op, options.get("marker")),
        "s": _positive(op, "s", options.get("s", 24.0)),
        "c": options.get("c"),
        "width": _positive(op, "width", options.get("width", 0.8)),
        "bins": _bins(op, options.get("bins")),
        "range": _range(op, options.get("range")),
        "density": _flag(op, "density", options.get("density", False)),
        "levels": _levels(op, options.get("levels")),
        **_texts(op, options, ("title", "xlabel", "ylabel")),
    }
    return kind(**{field.name: checked[field.name] for field in fields(kind)})


def either(op: str, name: str, value: Any, alias: str, other: Any) -> Any:
    """Return the value of an option that has two names.

    Raises
    ------
    TypeError
        If it is given under both names.
    """
    if value is not None and other is not None:
        raise TypeError(f"{op}: got both {name} and {alias}, which are one option")
    return other if value is None else value


def format_options(op: str, fmt: Any) -> dict[str, str | None]:
    """Return the colour, line style and marker of a format string such as ``"r--o"``.

    The three parts are in any order; a part that is not given is None. As in Matplotlib, a marker
    without a line style draws no line.

    Raises
    ------
    TypeError
        If `fmt` is not a str.
    ValueError
        If a part is unknown, or given twice.
    """
    text = _text(op, "fmt", fmt)
    chosen: dict[str, str | None] = {"color": None, "linestyle": None, "marker": None}
    if len(text) > 2 and _css_colour(text) is not None:
        return chosen | {"color": text}
    rest = text
    while rest:
        name, sign = next(
            ((name, sign) for name, signs in _SIGNS for sign in signs if rest.startswith(sign)),
            (None, ""),
        )
        if name is None:
            raise ValueError(
                f"{op}: {rest!r} in the format string {text!r} is not a colour"
                " (b g r c m y k w C0 to C9), a line style (- -- -. :) or a marker"
                f" ({' '.join(MARKERS)})"
            )
        if chosen[name] is not None:
            both = f"{chosen[name]!r} and {sign!r}"
            raise ValueError(f"{op}: the format string {text!r} gives the {name} twice, {both}")
        chosen[name] = sign
        rest = rest.removeprefix(sign)
    if chosen["marker"] is not None and chosen["linestyle"] is None:
        chosen["linestyle"] = "none"
    return chosen


_SIGNS = (
    ("linestyle", ("--", "-.", "-", ":")),
    ("color", (*(f"C{n}" for n in range(10)), *"bgrcmykw")),
    ("marker", tuple(MARKERS)),
)
"""The parts of a format string, in the order in which `format_options` searches for them."""


def _line_style(op: str, value: Any) -> str | None:
    if value is None:
        return None
    name = LINE_STYLES.get(_text(op, "linestyle", value))
    if name is None:
        known = ", ".join(repr(style) for style in LINE_STYLES if style.strip())
        raise ValueError(f"{op}: linestyle must be one of {known}, not {value!r}")
    return name


def _marker(op: str, value: Any) -> str | None:
    """Return one of `MARKERS`, "" for no marker, or None for the default."""
    if value is None or _text(op, "marker", value) in MARKERS:
        return value
    if value in NO_MARKER and op != "scatter":
        return ""
    known = ", ".join(f"{sign!r} ({look})" for sign, look in MARKERS.items())
    none = "" if op == "scatter" else " or 'none'"
    raise ValueError(f"{op}: marker must be one of {known}{none}, not {value!r}")


def _check_names(op: str, options: Mapping[str, Any], kind: type[Any]) -> None:
    known = [field.name for field in fields(kind)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(
            f"{op}: unknown option {', '.join(unknown)}; the options are {', '.join(known)}"
        )


def _bound(op: str, name: str, value: Any, largest: float) -> float | None:
    number = _number(op, name, value)
    if number is None or (isfinite(number) and abs(number) <= largest):
        return number
    what = "a finite number" if largest > LARGEST_FLOAT32 else "a finite float32"
    raise ValueError(f"{op}: {name} must be {what}, not {value}")


def _bounds(
    op: str, options: Mapping[str, Any], largest: float
) -> tuple[float | None, float | None]:
    vmin, vmax = (_bound(op, name, options.get(name), largest) for name in ("vmin", "vmax"))
    if vmin is not None and vmax is not None and not vmin < vmax:
        raise ValueError(f"{op}: vmin must be less than vmax, got {vmin:g} and {vmax:g}")
    return vmin, vmax


def _number(op: str, name: str, value: Any) -> float | None:
    """Return a number; raise TypeError for a tensor, because reading it may wait for a GPU."""
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
    """Return finite numbers as a tuple, from any iterable except a tensor or a str."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        raise TypeError(f"{op}: {name} must be numbers, not a tensor; use x.tolist()")
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise TypeError(f"{op}: {name} must be numbers, not {_shown(value)}")
    checked = [_number(op, name, each) for each in value]
    kept = tuple(each for each in checked if each is not None and isfinite(each))
    if len(kept) < len(checked):
        raise ValueError(f"{op}: {name} must be finite, not {checked}")
    return kept


def _rising(op: str, name: str, values: tuple[float, ...], least: int) -> tuple[float, ...]:
    if len(values) < least or not all(a < b for a, b in pairwise(values)):
        raise ValueError(
            f"{op}: {name} must be increasing numbers (at least {least}), not {values}"
        )
    return values


def _count(op: str, name: str, value: Any, most: int) -> int:
    if not 1 <= value <= most:
        raise ValueError(f"{op}: {name} must be from 1 to {most}, not {value}")
    return int(value)


def _bins(op: str, value: Any) -> int | tuple[float, ...] | None:
    if value is None:
        return None
    if hasattr(value, "__index__") and not isinstance(value, bool | Tensor):
        return _count(op, "bins", value.__index__(), MAX_BINS)
    return _rising(op, "bins", cast("tuple[float, ...]", _numbers(op, "bins", value)), 2)


def _range(op: str, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    ends = cast("tuple[float, ...]", _numbers(op, "range", value))
    if len(ends) != 2:
        raise ValueError(f"{op}: range must be (low, high), not {len(ends)} numbers")
    low, high = _rising(op, "range", ends, 2)
    return low, high


def _levels(op: str, value: Any) -> int | tuple[float, ...] | None:
    if value is None:
        return None
    if hasattr(value, "__index__") and not isinstance(value, bool | Tensor):
        return _count(op, "levels", value.__index__(), MAX_LEVELS)
    return _rising(op, "levels", cast("tuple[float, ...]", _numbers(op, "levels", value)), 1)


def _colours(op: str, value: Any) -> str | Sequence[str] | None:
    if value is None or isinstance(value, str):
        return None if value is None else _colour(op, value)
    if not isinstance(value, list | tuple):
        raise TypeError(f"{op}: color must be a str or a list of str, not {_shown(value)}")
    return [_colour(op, one) for one in cast("Sequence[Any]", value)]


def _colour(op: str, value: Any) -> str:
    """Return a colour as CSS; raise ValueError if it is unknown."""
    name = _text(op, "color", value)
    css = _css_colour(name)
    if css is None:
        raise ValueError(
            f"{op}: color must be a name such as 'red' or 'C1', or '#rrggbb', not {name!r}"
        )
    return css


def _css_colour(name: str) -> str | None:
    """Return a colour as CSS, or None if the name is unknown."""
    if name in PLAIN_COLOURS.split() or re.fullmatch("#([0-9a-fA-F]{3}){1,2}", name):
        return name
    return COLOUR_NAMES.get(name)


def _texts(op: str, options: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: _text(op, name, options.get(name, "")) for name in names}


def _text(op: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{op}: {name} must be a str, not {_shown(value)}")
    return value


def _choice(
    op: str, name: str, options: Mapping[str, Any], known: Sequence[str], usual: str
) -> str:
    value = _text(op, name, options.get(name, usual))
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
    """Return the type of a value, and the value itself if it is short."""
    text = repr(value) if isinstance(value, str | bytes | int | float) else ""
    return f"{type(value).__name__} {text}" if 0 < len(text) <= 40 else type(value).__name__
