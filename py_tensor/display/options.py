"""The options of pictures and charts, and their checks, which run before anything is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from math import isfinite
from typing import Any, cast

from py_tensor.base.dtypes import DType, float32
from py_tensor.display.colormaps import STOPS
from py_tensor.tensors.tensor import Tensor

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

NONE = ("none", "None", " ", "")
"""Matplotlib's words for no line and no marker."""

LINE_STYLES = {
    **{"-": "solid", "--": "dashed", "-.": "dashdot", ":": "dotted"},
    **{"solid": "solid", "dashed": "dashed", "dashdot": "dashdot", "dotted": "dotted"},
    **dict.fromkeys(NONE, "none"),
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

Check = Callable[[str, str, Any], Any]
"""Returns the checked value of an option, for the name of the function, its own name and a value.

It raises TypeError for a wrong type, and ValueError for a value that is unknown or out of range.
"""


_CHART = "title xlabel ylabel xscale yscale"
_SERIES = f"{_CHART} label color"
NAMES = {
    "plot": f"{_SERIES} kind linestyle linewidth marker",
    "scatter": f"{_SERIES} c s marker cmap vmin vmax",
    "bar": f"{_SERIES} width",
    "hist": f"{_SERIES} bins range density",
    "contour": f"{_CHART} levels cmap color",
    **dict.fromkeys(
        ("imshow", "display"), "vmin vmax cmap scale colorbar title xlabel ylabel extent"
    ),
}
"""The options of each function."""


def _line_style(op: str, name: str, value: Any) -> str:
    style = LINE_STYLES.get(_text(op, name, value))
    if style is None:
        known = ", ".join(repr(style) for style in LINE_STYLES if style.strip())
        raise ValueError(f"{op}: {name} must be one of {known}, not {value!r}")
    return style


def _marker(op: str, name: str, value: Any) -> str:
    """Return one of `MARKERS`, or "" for no marker."""
    if _text(op, name, value) in MARKERS:
        return value
    if value in NONE and op != "scatter":
        return ""
    known = ", ".join(f"{sign!r} ({look})" for sign, look in MARKERS.items())
    none = "" if op == "scatter" else " or 'none'"
    raise ValueError(f"{op}: {name} must be one of {known}{none}, not {value!r}")


def _number(op: str, name: str, value: Any) -> float:
    """Return a number; raise TypeError for a tensor, because reading it may wait for a GPU."""
    if isinstance(value, Tensor):
        raise TypeError(f"{op}: {name} must be a number, not a tensor; use float(x)")
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{op}: {name} must be a number, not {type_text(value)}") from None
    except OverflowError:
        raise ValueError(f"{op}: {name} must be finite, not {type_text(value)}") from None


def _positive(op: str, name: str, value: Any) -> float:
    number = _number(op, name, value)
    if not 0 < number < float("inf"):
        raise ValueError(f"{op}: {name} must be positive and finite, not {number:g}")
    return number


def _flag(op: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{op}: {name} must be True or False, not {type_text(value)}")
    return value


def _numbers(op: str, name: str, value: Any, names: Sequence[str] = ()) -> tuple[float, ...]:
    """Return finite numbers as a tuple, from any iterable except a tensor or a str.

    `names` are those of the numbers, if only so many are right.
    """
    if isinstance(value, Tensor):
        raise TypeError(f"{op}: {name} must be numbers, not a tensor; use x.tolist()")
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise TypeError(f"{op}: {name} must be numbers, not {type_text(value)}")
    checked = tuple([_number(op, name, each) for each in value])
    if not all(map(isfinite, checked)):
        raise ValueError(f"{op}: {name} must be finite, not {list(checked)}")
    if names and len(checked) != len(names):
        raise ValueError(f"{op}: {name} must be ({', '.join(names)}), not {len(checked)} numbers")
    return checked


def _rising(op: str, name: str, values: tuple[float, ...], least: int) -> tuple[float, ...]:
    if len(values) < least or not all(a < b for a, b in pairwise(values)):
        raise ValueError(
            f"{op}: {name} must be increasing numbers (at least {least}), not {values}"
        )
    return values


def _count_or_numbers(most: int, least: int) -> Check:
    """Check a count of at most `most`, or at least `least` increasing numbers."""

    def check(op: str, name: str, value: Any) -> int | tuple[float, ...]:
        if not hasattr(value, "__index__") or isinstance(value, bool | Tensor):
            return _rising(op, name, _numbers(op, name, value), least)
        if not 1 <= value.__index__() <= most:
            raise ValueError(f"{op}: {name} must be from 1 to {most}, not {value.__index__()}")
        return value.__index__()

    return check


def _range(op: str, name: str, value: Any) -> tuple[float, ...]:
    return _rising(op, name, _numbers(op, name, value, ("low", "high")), 2)


def _extent(op: str, name: str, value: Any) -> tuple[float, ...]:
    ends = _numbers(op, name, value, ("left", "right", "bottom", "top"))
    if ends[0] == ends[1] or ends[2] == ends[3]:
        raise ValueError(f"{op}: {name} must have a width and a height, not {ends}")
    return ends


def _one_or_several(op: str, name: str, value: Any) -> str | list[str]:
    """Check one or several colours, or labels."""
    check, each = (_colour, name) if name == "color" else (_text, f"each {name}")
    if isinstance(value, str):
        return check(op, name, value)
    if op == "contour" or not isinstance(value, list | tuple):
        several = "" if op == "contour" else " or a list of str"
        raise TypeError(f"{op}: {name} must be a str{several}, not {type_text(value)}")
    return [check(op, each, one) for one in cast("Sequence[Any]", value)]


def _colour(op: str, name: str, value: Any) -> str:
    """Return a colour as CSS; raise ValueError if it is unknown."""
    css = _css_colour(_text(op, name, value))
    if css is None:
        raise ValueError(
            f"{op}: {name} must be a name such as 'red' or 'C1', or '#rrggbb', not {value!r}"
        )
    return css


def _css_colour(name: str) -> str | None:
    """Return a colour as CSS, or None if the name is unknown."""
    if name in PLAIN_COLOURS.split() or re.fullmatch("#([0-9a-fA-F]{3}){1,2}", name):
        return name
    return COLOUR_NAMES.get(name)


def _text(op: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{op}: {name} must be a str, not {type_text(value)}")
    return value


def _one_of(*known: str) -> Check:
    def check(op: str, name: str, value: Any) -> str:
        if _text(op, name, value) not in known:
            raise ValueError(f"{op}: {name} must be one of {', '.join(known)}, not {value!r}")
        return value

    return check


def type_text(value: Any) -> str:
    """Return the type of a value, and the value itself if it is short."""
    text = repr(value) if isinstance(value, str | bytes | int | float) else ""
    return f"{type(value).__name__} {text}" if 0 < len(text) <= 40 else type(value).__name__


def _unchecked(op: str, name: str, value: Any) -> Any:
    return value


def _option(check: Check, default: Any = None) -> Any:
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True, slots=True)
class Options:
    """The options of pictures and charts, of which each function has those in `NAMES`."""

    title: str = _option(_text, "")
    xlabel: str = _option(_text, "")
    ylabel: str = _option(_text, "")
    xscale: str = _option(_one_of("linear", "log"), "linear")
    yscale: str = _option(_one_of("linear", "log"), "linear")
    label: str | Sequence[str] | None = _option(_one_or_several)
    color: str | Sequence[str] | None = _option(_one_or_several)
    kind: str = _option(_one_of("line", "area"), "line")
    linestyle: str | None = _option(_line_style)
    linewidth: float | None = _option(_positive)
    marker: str | None = _option(_marker)
    c: Any = field(default=None, metadata={"check": _unchecked})
    s: float = _option(_positive, 24.0)
    cmap: str = _option(_one_of(*STOPS), "viridis")
    vmin: float | None = _option(_number)
    vmax: float | None = _option(_number)
    width: float = _option(_positive, 0.8)
    bins: int | tuple[float, ...] | None = _option(_count_or_numbers(1000, 2))
    range: tuple[float, float] | None = _option(_range)
    density: bool = _option(_flag, False)
    levels: int | tuple[float, ...] | None = _option(_count_or_numbers(50, 1))
    scale: float | None = _option(_positive)
    colorbar: bool = _option(_flag, False)
    extent: tuple[float, float, float, float] | None = _option(_extent)


PLAIN = Options()

_CHECKS: dict[str, Check] = {each.name: each.metadata["check"] for each in fields(Options)}


def checked_options(op: str, options: Mapping[str, Any], dtype: DType = float32) -> Options:
    """Return the checked options of the function `op`.

    Raises
    ------
    TypeError
        If an option is unknown or has the wrong type.
    ValueError
        If a value is unknown or out of range, a bound is not a finite number of `dtype`, or `vmin`
        is not less than `vmax`.
    """
    names = NAMES[op].split()
    unknown = [name for name in options if name not in names]
    if unknown:
        raise TypeError(
            f"{op}: unknown option {', '.join(unknown)}; the options are {', '.join(names)}"
        )
    checked: dict[str, Any] = {
        name: None if value is getattr(PLAIN, name) is None else _CHECKS[name](op, name, value)
        for name, value in options.items()
    }
    limit = dtype if dtype.is_floating and dtype.has_64_bits else float32
    bounds = [(n, checked[n]) for n in ("vmin", "vmax") if checked.get(n) is not None]
    for name, bound in bounds:
        if not abs(bound) <= limit.highest:  # NaN is not, too
            raise ValueError(f"{op}: {name} must be a finite {limit}, not {options[name]}")
    if len(bounds) == 2 and not checked["vmin"] < checked["vmax"]:
        vmin, vmax = checked["vmin"], checked["vmax"]
        raise ValueError(f"{op}: vmin must be less than vmax, got {vmin:g} and {vmax:g}")
    return Options(**checked)


def format_options(op: str, text: str) -> dict[str, str | None]:
    """Return the colour, line style and marker of a format string such as ``"r--o"``.

    The three parts are in any order; a part that is not given is None. As in Matplotlib, a marker
    without a line style draws no line.

    Raises
    ------
    ValueError
        If a part is unknown, or given twice.
    """
    chosen: dict[str, str | None] = {"color": None, "linestyle": None, "marker": None}
    if len(text) > 2 and _css_colour(text) is not None:
        return chosen | {"color": text}
    end = 0
    while end < len(text):
        match = _SIGN.match(text, end)
        if match is None:
            raise ValueError(
                f"{op}: {text[end:]!r} in the format string {text!r} is not a colour"
                " (b g r c m y k w C0 to C9), a line style (- -- -. :) or a marker"
                f" ({' '.join(MARKERS)})"
            )
        name, sign, end = str(match.lastgroup), match[0], match.end()
        if chosen[name] is not None:
            both = f"{chosen[name]!r} and {sign!r}"
            raise ValueError(f"{op}: the format string {text!r} gives the {name} twice, {both}")
        chosen[name] = sign
    if chosen["marker"] is not None and chosen["linestyle"] is None:
        chosen["linestyle"] = "none"
    return chosen


_SIGN = re.compile(
    rf"(?P<linestyle>--|-\.|-|:)|(?P<color>C\d|[bgrcmykw])|(?P<marker>[{re.escape(''.join(MARKERS))}])",
    re.ASCII,
)
"""A part of a format string."""
