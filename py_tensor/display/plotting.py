"""Plotting functions: `pt.plot`, `pt.scatter`, `pt.bar`, `pt.hist` and `pt.contour`.

Names and arguments follow matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from py_tensor.base.errors import ShapeError
from py_tensor.convert.presentation import finish
from py_tensor.display.charts import (
    Chart,
    Json,
    bar_chart,
    contour_chart,
    hist_chart,
    joined,
    plot_chart,
    scatter_chart,
    summary,
)
from py_tensor.display.options import SEVERAL, checked_options, format_options
from py_tensor.display.screen import Changes, Content, Display, Screen

__all__ = ["bar", "contour", "hist", "plot", "scatter"]

_CHARTS: dict[str, tuple[Callable[..., Chart], Sequence[str]]] = {
    "plot": (plot_chart, ("x", "y")),
    "scatter": (scatter_chart, ("x", "y")),
    "bar": (bar_chart, ("x", "height")),
    "hist": (hist_chart, ("x",)),
    "contour": (contour_chart, ("x", "y", "z")),
}
"""What makes the chart of each function, and the parameters that are its values."""

_FORMS = {1: "x", 2: "y or a pair (x, y)", 3: "z or (x, y, z)"}
"""What a function with one, two or three values takes, for errors."""

_ALIASES = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
"""The short names of options of `plot`."""


def _content(op: str, value: Any, kept: Changes, changed: Changes) -> ChartContent:
    """Make the content of a plotting function from its value or tuple of values."""
    draw, names = _CHARTS[op]
    options = checked_options(op, kept | changed)
    values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    if len(values) not in (1, len(names)):
        raise ShapeError(f"{op}: takes {_FORMS[len(names)]}, not a tuple of {len(values)}")
    return ChartContent(draw(*values, *[None] * (len(names) - len(values)), options))


class ChartContent(Content):
    """A chart, or the sum of some, computed once; a sum uses the computed values."""

    def __init__(self, *charts: Chart | ChartContent) -> None:
        super().__init__(None)
        self._charts = charts
        self._drawn: Json | None = None

    def must_wait(self) -> bool:
        return self._drawn is None and any(chart.must_wait() for chart in self._charts)

    async def text(self, blocking: bool) -> str:
        return summary(await self.drawn(blocking))

    async def bundle(self, screen: Screen, blocking: bool) -> tuple[Json, Any]:
        return await self.drawn(blocking), None

    async def drawn(self, blocking: bool) -> Json:
        """Return the chart as JSON values."""
        if self._drawn is None:
            drawn = joined([await chart.drawn(blocking) for chart in self._charts])
            if self._drawn is None:  # the chart may be shown in two places
                self._drawn, self._charts = drawn, ()  # frees the tensors of the charts
        return self._drawn

    def mimes(self) -> dict[str, str]:
        from py_tensor.display.drawing import svg_of

        bundle = finish(self.drawn(blocking=True))
        return {"text/plain": summary(bundle), "image/svg+xml": svg_of(bundle)}

    def joined(self, other: Display) -> ChartContent | None:
        another = other.content
        return ChartContent(self, another) if isinstance(another, ChartContent) else None


def _shown(op: str, arguments: Changes) -> Display:
    """Show the chart of a function that was called with these arguments."""
    values = [arguments.pop(name) for name in _CHARTS[op][1]]
    contents = [list(cast("Any", v)) if isinstance(v, tuple) else v for v in values]
    while len(contents) > 1 and contents[-1] is None:
        contents.pop()
    value = tuple(contents) if len(contents) > 1 else contents[0]
    return Display(partial(_content, op), value, arguments)


def plot(
    x: Any,
    y: Any = None,
    fmt: str | None = None,
    *,
    label: Any = None,
    color: Any = None,
    c: Any = None,
    linestyle: str | None = None,
    ls: str | None = None,
    linewidth: float | None = None,
    lw: float | None = None,
    marker: str | None = None,
    kind: str = "line",
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Plot one or more lines.

    Above 2000 points, the series is cut into at most 1000 slices, and the minimum and maximum of
    each are drawn; they are computed on the device of the series.

    Parameters
    ----------
    x, y
        ``plot(y)`` plots y against its indices, ``plot(x, y)`` against a 1-D x. y is 1-D, 2-D with
        a series in each column, a list of series, or a dict of labels and series.
    fmt : str, optional
        A colour, a line style and a marker in any order, each optional: ``"r--o"``, ``"k:"``. A
        marker without a line style draws points without a line. ``plot(y, fmt)`` works as well.
        Options given by name take precedence.
    label : str or list of str, optional
        The names of the series in the legend.
    color, c : str or list of str, optional
        A colour name of matplotlib or CSS, such as ``"red"``, ``"C1"`` or ``"k"``, or
        ``"#rrggbb"``. By default each series has its own colour.
    linestyle, ls : {"-", "--", "-.", ":", "solid", "dashed", "dashdot", "dotted", "none"}, optional
    linewidth, lw : float, optional
        In CSS pixels.
    marker : str, optional
        What is drawn at each point: one of ``o . , s D d ^ v < > p h * + x``, as in Matplotlib, or
        ``"none"``. By default, lines of up to 40 points show markers, unless a line style is
        given.
    kind : {"line", "area"}
        ``"area"`` fills the area between a line and 0.
    title, xlabel, ylabel : str
    xscale, yscale : {"linear", "log"}
        Values that are not positive are not drawn on a log axis.

    Returns
    -------
    Display
        Its ``update(y)`` or ``update((x, y))`` draws other series in the same style. The sum of two
        charts, ``pt.plot(y) + pt.scatter(x, z)``, is one chart with the series of both.

    Raises
    ------
    ShapeError
        If a series is not 1-D, or x and y differ in length.
    TypeError
        If an option has the wrong type, or is given under both of its names.
    ValueError
        If a kind, scale, colour, line style, marker or part of `fmt` is unknown, or there are more
        than 20 series.
    """
    options = dict(locals())  # a tracer adds later locals to `locals()` itself
    if isinstance(y, str):
        if fmt is not None:
            raise TypeError(f"plot: y must be numbers, not the str {y!r}; {SEVERAL}")
        options["y"], fmt = None, y
    elif fmt is not None and not isinstance(cast("Any", fmt), str):
        raise TypeError(f"plot: fmt must be a str, not {type(fmt).__name__}; {SEVERAL}")
    del options["fmt"]
    for alias, name in _ALIASES.items():
        value = options.pop(alias)
        if value is not None and options[name] is not None:
            raise TypeError(f"plot: got both {name} and {alias}, which are one option")
        options[name] = options[name] if value is None else value
    if fmt is not None:
        told = format_options("plot", fmt)
        options |= {name: value for name, value in told.items() if options[name] is None}
    return _shown("plot", options)


def scatter(
    x: Any,
    y: Any = None,
    s: float = 24.0,
    c: Any = None,
    *,
    label: Any = None,
    color: Any = None,
    marker: str | None = None,
    cmap: str = "viridis",
    vmin: float | None = None,
    vmax: float | None = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw a scatter plot.

    More than 2000 points are subsampled.

    Parameters
    ----------
    x, y
        As in `plot`.
    s : float
        The area of a point in square CSS pixels.
    c : optional
        A number for each point, which sets its colour; the chart gets a colour bar. A str is a
        colour for all points, like `color`.
    cmap, vmin, vmax
        The colours for `c`, as in `imshow`. The minimum and maximum are computed on its device.
    label, color, marker, title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        As in `plot`.

    Raises
    ------
    ShapeError
        As in `plot`, and if `c` has a different length.
    TypeError
        If an option has the wrong type.
    ValueError
        As in `plot`, and for the colours as in `imshow`.
    """
    options = dict(locals())  # a tracer adds later locals to `locals()` itself
    if isinstance(c, str):
        options |= {"c": None, "color": c}
    return _shown("scatter", options)


def bar(
    x: Any,
    height: Any = None,
    width: float = 0.8,
    *,
    label: Any = None,
    color: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw a bar chart; bars of several series are side by side.

    Parameters
    ----------
    x : optional
        The positions of the bars, or a list of str with their names. ``bar(height)`` puts them at
        0, 1, 2 and so on; a dict of names and numbers gives both.
    height
        1-D, or several series as in `plot`: at most 2000 bars each.
    width : float
        The width of a bar, or of a group of bars, in units of x.
    label, color, title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        As in `plot`.

    Raises
    ------
    ShapeError, TypeError
        As in `plot`.
    ValueError
        As in `plot`, and for more than 2000 bars or a width that is not positive and finite.
    """
    return _shown("bar", dict(locals()))


def hist(
    x: Any,
    bins: Any = None,
    range: Any = None,
    density: bool = False,
    *,
    label: Any = None,
    color: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Draw a histogram; elements are counted on their device.

    Bins include their lower edge, and the last bin also its upper edge, as in `histogram`. Elements
    that are not finite are counted separately.

    Parameters
    ----------
    x
        1-D, or several series as in `plot`, which share the bins.
    bins : int or sequence of float, optional
        The number of bins, up to 1000, or increasing edges. By default ``2 * n ** (1 / 3)`` for n
        elements (Rice's rule), up to 48; for integers each bin has the same number of integers.
    range : (float, float), optional
        The outer edges; by default the smallest and largest finite element.
    density : bool
        Whether to normalize the total area of the bars to 1.
    label, color, title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        Its ``update(x)`` draws the histogram of other elements in the same style.

    Raises
    ------
    ShapeError, TypeError
        As in `plot`.
    ValueError
        As in `plot`, and if edges or the range do not increase.
    """
    return _shown("hist", dict(locals()))


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
    """Draw contour lines of a function of two variables.

    A grid of more than 128 rows or columns is subsampled. The lines are found with marching
    squares, where the chart is drawn.

    Parameters
    ----------
    x, y, z
        ``contour(z)`` draws a 2-D z against its column and row indices, ``contour(x, y, z)``
        against x and y: 1-D coordinates of columns and rows, or 2-D ones as from `meshgrid`.
    levels : int or sequence of float, optional
        The approximate number of levels, up to 50, or increasing levels; by default 8. The minimum
        and maximum are computed on the device of z.
    cmap
        The colour map of the lines, which get a colour bar.
    color : str, optional
        One colour for all lines instead.
    title, xlabel, ylabel, xscale, yscale
        As in `plot`.

    Returns
    -------
    Display
        Its ``update(z)`` or ``update((x, y, z))`` draws other values in the same style.

    Raises
    ------
    ShapeError
        If z is not 2-D or smaller than 2 by 2, or x or y do not match it.
    TypeError
        If an option has the wrong type, or x and y are passed without z.
    ValueError
        If a colour or colour map is unknown, the levels do not increase, or x or y is not finite.
    """
    if (y is None) != (z is None):
        raise TypeError("contour: takes z, or x, y and z")
    return _shown("contour", dict(locals()))
