"""Charts that are shown: `pt.plot`, `pt.scatter`, `pt.bar`, `pt.hist` and `pt.contour`.

Their names and arguments are those of matplotlib, where it has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from py_tensor.backend.device import GPU_DEVICE
from py_tensor.display.charts import (
    Chart,
    bar_chart,
    contour_chart,
    hist_chart,
    plot_chart,
    scatter_chart,
)
from py_tensor.display.options import (
    BarOptions,
    ChartOptions,
    ContourOptions,
    HistOptions,
    PlotOptions,
    ScatterOptions,
    chart_options,
)
from py_tensor.display.screen import ChartContent, Display, Options
from py_tensor.errors import ShapeError

_Draw = Callable[..., Chart]

_OPS: dict[str, tuple[type[ChartOptions], _Draw]] = {
    "plot": (PlotOptions, plot_chart),
    "scatter": (ScatterOptions, scatter_chart),
    "bar": (BarOptions, bar_chart),
    "hist": (HistOptions, hist_chart),
    "contour": (ContourOptions, contour_chart),
}
"""Of each function its options, and what draws its values."""

_VALUES = {"hist": 1, "contour": 3}
"""How many the others take; two."""


def _content(op: str, value: Any, kept: Options, given: Options) -> ChartContent:
    """How an op shows a value, or a tuple of as many as it takes."""
    kind, draw = _OPS[op]
    options = chart_options(op, kind, kept | given)
    most = _VALUES.get(op, 2)
    values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    if len(values) not in (1, most):
        told = {1: "x", 2: "y or a pair (x, y)", 3: "z or (x, y, z)"}[most]
        raise ShapeError(f"{op}: takes {told}, not a tuple of {len(values)}")
    chart = draw(*values, *[None] * (most - len(values)), options)
    on_gpu = any(x.device is GPU_DEVICE for x in chart.tensors())
    return ChartContent(chart.bundle, lambda: on_gpu)


def _shown(op: str, values: Sequence[Any], options: Options) -> Display:
    given = [list(cast("Any", v)) if isinstance(v, tuple) else v for v in values]
    while len(given) > 1 and given[-1] is None:
        given.pop()
    return Display(partial(_content, op), tuple(given) if len(given) > 1 else given[0], options)


def plot(
    x: Any,
    y: Any = None,
    *,
    label: Any = None,
    color: Any = None,
    kind: str = "line",
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw one or several lines.

    Of a line of more than 2000 points, the least and the largest of each of 1000 slices are drawn;
    those are found on the series' device.

    Parameters
    ----------
    x, y
        ``plot(y)`` draws y against its indices, ``plot(x, y)`` against the 1-D x. y is 1-D, or 2-D
        with a series in each column, or a list of series, or a dict of label and series.
    label : str or list of str, optional
        What the legend calls the series.
    color : str or list of str, optional
        A name of matplotlib or CSS, such as ``"red"``, ``"C1"`` or ``"k"``, or ``"#rrggbb"``. By
        default each series has its own.
    kind : {"line", "area"}
        ``"area"`` fills what lies between a line and 0.
    title, xlabel, ylabel : str
    xscale, yscale : {"linear", "log"}
        On a log axis, values that are not positive are left out.

    Returns
    -------
    Display
        Whose ``update(y)`` or ``update((x, y))`` draws other series in the same style. The sum of
        two charts, ``pt.plot(y) + pt.scatter(x, z)``, is one with the series of both.

    Raises
    ------
    ShapeError
        For series that are not 1-D, and where x and y differ in length.
    TypeError
        For an option of another type.
    ValueError
        For an unknown kind, scale or colour, and for more than 20 series.
    """
    options = {"label": label, "color": color, "kind": kind}
    return _shown("plot", (x, y), options | _about(title, xlabel, ylabel, xscale, yscale))


def scatter(
    x: Any,
    y: Any = None,
    *,
    c: Any = None,
    s: float = 24.0,
    label: Any = None,
    color: Any = None,
    cmap: str = "viridis",
    vmin: float | None = None,
    vmax: float | None = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw points.

    Of more than 2000, every second is drawn, or every third, and so on.

    Parameters
    ----------
    x, y
        As in `plot`.
    c : optional
        A number for each point: points get its colour, and the chart a colour bar.
    s : float
        The area of a point, in CSS pixels.
    cmap, vmin, vmax
        The colours of `c`, as in `imshow`. The least and the largest are found on its device.
    label, color, title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        As that of `plot`.

    Raises
    ------
    ShapeError
        As in `plot`, and where `c` has another length.
    TypeError
        For an option of another type.
    ValueError
        As in `plot`, and as in `imshow` for the colours.
    """
    options: Options = {"c": c, "s": s, "label": label, "color": color, "cmap": cmap}
    options |= {"vmin": vmin, "vmax": vmax}
    return _shown("scatter", (x, y), options | _about(title, xlabel, ylabel, xscale, yscale))


def bar(
    x: Any,
    height: Any = None,
    *,
    width: float = 0.8,
    label: Any = None,
    color: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw bars; those of several series side by side.

    Parameters
    ----------
    x : optional
        Where the bars stand, or a list of str with their names. ``bar(height)`` puts them at 0, 1,
        2 and so on; a dict of names and numbers has both.
    height
        1-D, or several series as in `plot`: at most 2000 bars each.
    width : float
        Of a bar, or of those that stand side by side, in units of x.
    label, color, title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        As that of `plot`.

    Raises
    ------
    ShapeError, TypeError
        As in `plot`.
    ValueError
        As in `plot`, for more than 2000 bars, and for a width that is not positive and finite.
    """
    options = {"width": width, "label": label, "color": color}
    return _shown("bar", (x, height), options | _about(title, xlabel, ylabel, xscale, yscale))


def hist(
    x: Any,
    *,
    bins: Any = None,
    range: Any = None,
    density: bool = False,
    label: Any = None,
    color: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw a histogram. The elements are counted on their device.

    An element lies in the bin of the last edge that it is not below; the last bin has its upper
    edge, too, as in `histogram`. What is not finite is counted apart.

    Parameters
    ----------
    x
        1-D, or several series as in `plot`, which share the bins.
    bins : int or sequence of float, optional
        How many, up to 1000, or their rising edges. By default ``2 * n ** (1 / 3)`` for n elements
        (Rice's rule), up to 48; those of integers hold the same number of integers each.
    range : (float, float), optional
        The outer edges; by default the least and the largest finite element.
    density : bool
        The bars have an area of 1 instead of the counts.
    label, color, title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        Whose ``update(x)`` counts other elements in the same style.

    Raises
    ------
    ShapeError, TypeError
        As in `plot`.
    ValueError
        As in `plot`, and for edges or a range that do not rise.
    """
    options: Options = {"bins": bins, "range": range, "density": density, "label": label}
    options |= {"color": color, **_about(title, xlabel, ylabel, xscale, yscale)}
    return _shown("hist", (x,), options)


def contour(
    x: Any,
    y: Any = None,
    z: Any = None,
    *,
    levels: Any = None,
    cmap: str = "viridis",
    color: str | None = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw the lines along which a function of two variables has one value.

    Of a grid of more than 128 rows or columns, every second is used, or every third, and so on. The
    lines are found by marching squares, where they are drawn.

    Parameters
    ----------
    x, y, z
        ``contour(z)`` draws the 2-D z against its column and row indices, ``contour(x, y, z)``
        against x and y: 1-D, of the columns and of the rows, or 2-D as `meshgrid` gives them.
    levels : int or sequence of float, optional
        About how many values, up to 50, or the rising values; by default 8. The least and the
        largest element are found on z's device.
    cmap
        Their colours, which a colour bar explains.
    color : str, optional
        One for all lines instead.
    title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        Whose ``update(z)`` or ``update((x, y, z))`` draws other values in the same style.

    Raises
    ------
    ShapeError
        For a z that is not 2-D, or not at least 2 by 2, and for x or y that do not fit it.
    TypeError
        For an option of another type, and for x and y without z.
    ValueError
        For an unknown colour or colour map, for levels that do not rise, and where x or y is not
        finite.
    """
    options: Options = {"levels": levels, "cmap": cmap, "color": color}
    if y is not None and z is None:
        raise TypeError("contour: takes z, or x, y and z")
    return _shown("contour", (x, y, z), options | _about(title, xlabel, ylabel, xscale, yscale))


def _about(title: str, xlabel: str, ylabel: str, xscale: str, yscale: str) -> Options:
    return {
        "title": title,
        "xlabel": xlabel,
        "ylabel": ylabel,
        "xscale": xscale,
        "yscale": yscale,
    }
