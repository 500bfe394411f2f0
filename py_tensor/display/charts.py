"""Charts as JSON values that a host can draw; long series are reduced on their device."""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from math import ceil, cos, floor, isfinite, log10, pi, sin, sqrt
from typing import Any, NamedTuple, cast

from py_tensor.base.dtypes import float32, int32
from py_tensor.base.errors import ShapeError
from py_tensor.convert.conversion import tensor
from py_tensor.convert.presentation import drawable, is_on_gpu
from py_tensor.display.options import Options
from py_tensor.display.pictures import colours, numbers, value_ends
from py_tensor.ops.creation import arange
from py_tensor.ops.elementwise import isfinite as are_finite
from py_tensor.ops.elementwise import isnan, maximum, minimum
from py_tensor.ops.gather import take, where
from py_tensor.ops.movement import concat, stack
from py_tensor.ops.reduction import argmax, argmin
from py_tensor.ops.reduction import max as largest
from py_tensor.ops.reduction import min as least
from py_tensor.tensors.tensor import Tensor

MAX_POINTS = 2000
"""The largest number of points drawn of a series; a screen has fewer columns."""

MAX_LINES = 128
"""The largest number of rows and of columns of the grid of a contour plot."""

USUAL_LEVELS = 8

MAX_SHOWN, MAX_SHOWN_ON_GPU = 1 << 24, 1 << 26
"""The largest number of elements processed. A larger tensor is subsampled evenly, so that showing
it takes at most a few seconds. The first limit is for the CPU and for software adapters."""

MAX_SERIES = 20

MAX_DEFAULT_BINS = 48
"""The largest default number of bins."""

COUNTED_AT_ONCE = 1 << 24
"""The elements counted per dispatch: int32 counts stay exact, and the dispatch stays short."""

COUNTED_AT_ONCE_ON_CPU = 1 << 17
"""The same for the CPU, where counting takes 48 bytes of memory per element."""

MIN_SPAN = 1e-36
"""A smaller range is one bin, because a GPU may flush its subnormal bin widths to 0."""

INFINITY = float("inf")

DASHES = {"solid": "", "dashed": "5 4", "dashdot": "6 3 1 3", "dotted": "0.5 4"}
"""The SVG dash pattern of each line style."""

TEXTS = ("title", "xlabel", "ylabel", "xscale", "yscale")
"""The options that a bundle has as they are."""

MARKER_RADIUS = 4.0
"""In CSS pixels; Matplotlib's markers are 6 points (8 pixels) wide."""

Json = dict[str, Any]
"""JSON values, as described in web/page/display/bundles.js."""


class Part(NamedTuple):
    """One curve, scatter series, row of bars, histogram or grid of contour lines.

    Attributes
    ----------
    facts : dict
        What its series in the bundle has without reading: label, size (before it was reduced), step
        (with which points were sampled), mark, colour and style.
    tensors : dict
        What is read, by the names in the series.
    """

    facts: Json
    tensors: dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of a function in plotting.py.

    Attributes
    ----------
    draw : callable
        Reads the tensors of the parts, and returns the series of the bundle.
    categories : list of str or None
        The names of the x values 0, 1, 2 and so on.
    """

    draw: Callable[[Sequence[Part], Options, bool], Awaitable[list[Json]]]
    parts: Sequence[Part]
    options: Options
    categories: list[str] | None = None

    def must_wait(self) -> bool:
        """Return whether `drawn` waits for a GPU."""
        return any(x.device.waits for part in self.parts for x in part.tensors.values())

    async def drawn(self, blocking: bool) -> Json:
        """Return the chart as JSON values; values that are not finite are None."""
        series = await self.draw(self.parts, self.options, blocking)
        chosen = {name: getattr(self.options, name) for name in TEXTS}
        return {"kind": "plot", "series": series, "categories": self.categories, **chosen}


async def _drawn_curves(parts: Sequence[Part], o: Options, blocking: bool) -> list[Json]:
    series: list[Json] = []
    for facts, tensors in parts:
        values = {name: await numbers(x, blocking) for name, x in tensors.items()}
        ends = values.pop("ends", None)
        told: Json = {name: [v if isfinite(v) else None for v in values[name]] for name in values}
        if ends is not None:
            told["colours"] = colours(o.cmap, o.vmin, o.vmax, *ends)
        series.append(facts | told)
    return series


async def _drawn_histograms(parts: Sequence[Part], o: Options, blocking: bool) -> list[Json]:
    """Count the elements of all parts in the same bins."""
    samples = [part.tensors["x"] for part in parts]
    binned = await counted(samples, o.bins, o.range, blocking)
    edges = [edge - 0.5 for edge in binned.edges] if binned.is_whole else binned.edges
    _check_positive("hist", "edges", o.xscale, edges)
    bins = {"mark": "hist", "edges": binned.edges, "isWhole": binned.is_whole}
    series: list[Json] = []
    for part, x, counts in zip(parts, samples, binned.counts, strict=True):
        heights = _densities(counts.inside, binned.edges) if o.density else counts.inside
        series.append(bins | part.facts | {"counts": heights, "other": counts.other(x.size)})
    return series


async def _drawn_contours(parts: Sequence[Part], o: Options, blocking: bool) -> list[Json]:
    ((facts, tensors),) = parts
    x, y, z, (low, high) = [await numbers(values, blocking) for values in tensors.values()]
    levels = list(o.levels) if isinstance(o.levels, tuple) else _levels(low, high, o.levels)
    if not all(map(isfinite, (*x, *y))):
        raise ValueError("contour: x and y must be finite")
    _check_positive("contour", "x", o.xscale, x)
    _check_positive("contour", "y", o.yscale, y)
    span = high * 0.5 - low * 0.5
    # Decimals that divide the range into at least 100,000 steps.
    digits = 5 - floor(log10(span)) if isfinite(span) and span > 0 else 5
    rows = [[round(v, digits) if isfinite(v) else None for v in row] for row in z]
    bar = None
    if o.color is None and levels:
        bar = colours(o.cmap, levels[0], levels[-1], low, high)
    if bar is not None:
        bar["levels"] = levels
    return [facts | {"x": x, "y": y, "z": rows, "levels": levels, "colours": bar}]


def joined(bundles: Sequence[Json]) -> Json:
    """Combine the series of several charts in one chart.

    Each title, axis label and scale is taken from the first chart that sets it.

    Raises
    ------
    ValueError
        If there are more than `MAX_SERIES` series, or the bars have different names.
    """
    series = [one for bundle in bundles for one in bundle["series"]]
    _check_count("plot", len(series))
    named = [bundle["categories"] for bundle in bundles if bundle["categories"] is not None]
    if any(names != named[0] for names in named):
        raise ValueError("plot: the bars of both charts must have the same names")
    told = {
        name: next((b[name] for b in bundles if b[name] not in ("", "linear")), bundles[0][name])
        for name in TEXTS
    }
    return {"kind": "plot", "series": series, "categories": named[0] if named else None, **told}


def summary(bundle: Json) -> str:
    """Return a text description of a chart, with at least one line per series."""
    lines: list[str] = [bundle["title"]] if bundle["title"] else []
    for one in bundle["series"]:
        name = f"{one['label'] or one['mark']}: "
        if one["mark"] == "hist":
            inside = [f"{count:g}" for count in one["counts"]]
            ends = f"{one['edges'][0]:g} to {one['edges'][-1]:g}"
            lines.append(f"{name}{one['size']} elements, {len(inside)} bins from {ends}")
            lines.append(f"  counts {' '.join(inside)}")
        elif one["mark"] == "contour":
            levels = ", ".join(f"{level:g}" for level in one["levels"])
            lines.append(f"{name}{len(one['y'])} × {len(one['x'])} points, levels {levels}")
        else:
            y = [v for v in one["y"] if v is not None]
            ends = f", from {min(y):g} to {max(y):g}" if y else ""
            what = "bars" if one["mark"] == "bar" else "points"
            lines.append(f"{name}{one['size']} {what}{ends}")
    return "\n".join(lines)


def _given(**values: Any) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def marker_path(marker: str | None, radius: float) -> str | None:
    """Return a marker as an SVG path around (0, 0).

    "" (no marker) and None (the default markers) are returned unchanged.
    """
    if not marker:
        return marker
    r = radius
    if marker in "o.,":
        r *= {"o": 1.0, ".": 0.5, ",": 0.125}[marker]
        return f"M{-r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
    if marker in "+x":
        arm = r / 6  # half the width of an arm
        corners = [(arm, r), (arm, arm), (r, arm), (r, -arm), (arm, -arm), (arm, -r)]
        corners += [(-x, -y) for x, y in corners]
    else:
        turn, count = _POLYGONS[marker]
        angles = [turn + 2 * pi * i / count for i in range(count)]
        lengths = [r * (0.4 if marker == "*" and i % 2 else 1.0) for i in range(count)]
        corners = [(s * sin(a), -s * cos(a)) for s, a in zip(lengths, angles, strict=True)]
    if marker == "x":
        corners = [((x - y) / sqrt(2), (x + y) / sqrt(2)) for x, y in corners]
    if marker == "d":
        corners = [(0.6 * x, y) for x, y in corners]
    return "M" + "L".join(f"{x:.3g} {y:.3g}" for x, y in corners) + "z"


_POLYGONS = {
    **{"^": (0.0, 3), "v": (pi, 3), "<": (-pi / 2, 3), ">": (pi / 2, 3), "s": (pi / 4, 4)},
    **{"D": (0.0, 4), "d": (0.0, 4), "p": (0.0, 5), "h": (0.0, 6), "*": (0.0, 10)},
}
"""The rotation of the first corner from the top, and the number of corners, of each marker."""


def max_shown(x: Tensor) -> int:
    """Return the largest number of elements of a tensor to process for showing it."""
    return MAX_SHOWN_ON_GPU if is_on_gpu(x) else MAX_SHOWN


def _check_positive(op: str, what: str, scale: str, values: Sequence[float]) -> None:
    if scale == "log" and any(value <= 0 for value in values):
        raise ValueError(f"{op}: {what} must be positive on a log axis, not {min(values):g}")


def _densities(counts: Sequence[int], edges: Sequence[float]) -> list[float]:
    """Return counts normalized so that the total area of the bars is 1."""
    total = sum(counts) or 1
    widths = [b - a or 1.0 for a, b in pairwise(edges)]
    return [n / total / width for n, width in zip(counts, widths, strict=True)]


def _levels(low: float, high: float, count: int | None) -> list[float]:
    """Return about `count` evenly spaced round values between `low` and `high`."""
    span = high * 0.5 - low * 0.5
    if not (isfinite(low) and isfinite(high)) or span <= 0:
        return []
    wanted = span / (count or USUAL_LEVELS) * 2
    power = 10.0 ** floor(log10(wanted))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= wanted * (1 - 1e-9))
    first, last = floor(low / step) + 1, ceil(high / step) - 1
    return [float(f"{n * step:.12g}") for n in range(first, last + 1)]


# -- Charts from arguments -------------------------------------------------------------------------


def plot_chart(x: Any, y: Any, options: Options) -> Chart:
    """Make a line chart; see `plotting.plot`."""
    dashes = None if options.linestyle is None else DASHES.get(options.linestyle, "")
    width = 0 if options.linestyle == "none" else options.linewidth
    marker = marker_path(options.marker, MARKER_RADIUS)
    if marker is None and options.linestyle is not None:
        marker = ""
    look = _given(dashes=dashes, lineWidth=width, marker=marker)
    return Chart(_drawn_curves, _curves("plot", x, y, options, options.kind, look), options)


def scatter_chart(x: Any, y: Any, options: Options) -> Chart:
    """Make a scatter plot; see `plotting.scatter`."""
    look = _given(s=options.s, marker=marker_path(options.marker, sqrt(options.s / pi)))
    return Chart(_drawn_curves, _curves("scatter", x, y, options, "scatter", look), options)


def bar_chart(x: Any, height: Any, options: Options) -> Chart:
    """Make a bar chart; see `plotting.bar`."""
    if height is None and isinstance(x, Mapping):
        heights = cast("Mapping[Any, Any]", x)
        if all(map(_is_number, heights.values())):
            x, height = list(map(str, heights)), list(heights.values())
    names = None
    if height is not None and isinstance(x, list | tuple):
        each = cast("Sequence[Any]", x)
        if each and all(isinstance(name, str) for name in each):
            names, x = list(cast("Sequence[str]", each)), arange(len(each), device="cpu")
            if options.xscale == "log":
                raise ValueError("bar: named bars need a linear x axis")
    parts = _curves("bar", x, height, options, "bar", {"width": options.width})
    for part in parts:
        if part.facts["size"] > MAX_POINTS:
            raise ValueError(f"bar: takes at most {MAX_POINTS} bars, not {part.facts['size']}")
    return Chart(_drawn_curves, parts, options, names)


def hist_chart(x: Any, options: Options) -> Chart:
    """Make a histogram; see `plotting.hist`."""
    parts: list[Part] = []
    for facts, values in _named("hist", x, options):
        step = max(1, -(-values.size // max_shown(values)))
        parts.append(Part(facts | {"size": values.size, "step": step}, {"x": values[::step]}))
    return Chart(_drawn_histograms, parts, options)


def contour_chart(x: Any, y: Any, z: Any, options: Options) -> Chart:
    """Make a contour plot; see `plotting.contour`."""
    values = _values("contour", x if z is None else z)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ShapeError(f"contour: z must be 2-D and at least 2 by 2, not of shape {values.shape}")
    rows, columns = values.shape
    across = _along("x", None if z is None else x, columns, values, 1)
    up = _along("y", None if z is None else y, rows, values, 0)
    step = -(-max(rows, columns) // MAX_LINES)
    if step > 1:
        values, across, up = values[::step, ::step], across[::step], up[::step]
    tensors = {"x": across, "y": up, "z": values, "ends": value_ends(values)}
    facts: Json = {"mark": "contour", "label": "", "color": options.color}
    facts |= {"size": rows * columns, "step": step * step}
    return Chart(_drawn_contours, [Part(facts, tensors)], options)


def _along(name: str, coordinates: Any, length: int, z: Tensor, axis: int) -> Tensor:
    """Return the 1-D coordinates of a grid along an axis; indices if none are given."""
    if coordinates is None:
        return _counting(length, z)
    values = _values("contour", coordinates)
    if values.ndim == 2 and values.shape == z.shape:
        values = values[0] if axis else values[:, 0]
    if values.shape != (length,):
        raise ShapeError(f"contour: {name} must have shape ({length},), not {values.shape}")
    return values


def _curves(op: str, x: Any, y: Any, options: Options, mark: str, more: Json) -> list[Part]:
    """Return the series of `y` against `x`, or of `x` against its indices.

    Raises
    ------
    ShapeError
        If a series is not 1-D, or x, y and c differ in length.
    ValueError
        If there are more than `MAX_SERIES` series, or more labels than series.
    """
    c = None if options.c is None else _values(op, options.c)
    base = None if y is None else _values(op, x)
    if base is not None and base.ndim != 1:
        raise ShapeError(f"{op}: x must be 1-D, not of shape {base.shape}")
    parts: list[Part] = []
    for facts, values in _named(op, x if y is None else y, options):
        n = values.shape[0]
        if base is not None and base.shape[0] != n:
            raise ShapeError(f"{op}: x has {base.shape[0]} points, y has {n}")
        if c is not None and c.shape != (n,):
            raise ShapeError(f"{op}: c must have shape ({n},), not {c.shape}")
        look = facts | {"mark": mark, **more}
        parts.append(_curve_part(look, base, values, c, is_log=options.yscale == "log"))
    return parts


def _check_count(op: str, series: int, which: str = "") -> None:
    if series > MAX_SERIES:
        raise ValueError(f"{op}: takes at most {MAX_SERIES} series, not {series}{which}")


def _named(op: str, y: Any, options: Options) -> list[tuple[Json, Tensor]]:
    """Return the label and the colour of each series, and its values."""
    label, color = options.label, options.color
    labels: list[Any] = [label] if isinstance(label, str) or label is None else list(label)
    which = ""
    if isinstance(y, Mapping):
        if label is not None:
            raise TypeError(
                f"{op}: label cannot be combined with a dict, whose keys are the labels"
            )
        entries = cast("Mapping[Any, Any]", y)
        labels, curves = [str(name) for name in entries], list(entries.values())
    elif isinstance(y, list | tuple) and not all(map(_is_number, cast("Sequence[Any]", y))):
        curves = list(cast("Sequence[Any]", y))
    else:
        curves = [values := _values(op, y)]
        if values.ndim == 2 and values.shape[1]:
            which = f": the columns of shape {values.shape}; .T has its rows"
            curves = values.T
    _check_count(op, len(curves), which)
    if len(labels) > len(curves):
        raise ValueError(f"{op}: {len(labels)} labels for {len(curves)} series")
    labels += [None] * (len(curves) - len(labels))
    if len(curves) > 1:
        labels = [str(i) if text is None else text for i, text in enumerate(labels)]
    each = [color] if color is None or isinstance(color, str) else [*color, None]
    colors = chain(each, repeat(each[-1]))
    return [
        ({"label": text or "", "color": css}, _curve(op, values))
        for text, css, values in zip(labels, colors, curves, strict=False)
    ]


def _is_number(value: Any) -> bool:
    """Return whether a value is a scalar, and not a series."""
    return isinstance(value, bool | int | float) or getattr(value, "ndim", None) == 0


def _values(op: str, values: Any) -> Tensor:
    x = drawable(values, op)
    return x.astype(int32) if x.dtype.is_bool else x


def _curve(op: str, values: Any) -> Tensor:
    y = _values(op, values)
    if y.ndim > 1:
        raise ShapeError(f"{op}: a series must be 1-D, not of shape {y.shape}")
    return y if y.ndim else y.reshape(1)


def _curve_part(look: Json, x: Tensor | None, y: Tensor, c: Tensor | None, *, is_log: bool) -> Part:
    """Return a series with at most about `MAX_POINTS` points; bars are complete."""
    size = y.shape[0]
    step = max(1, -(-size // max_shown(y)))
    if look["mark"] == "scatter":
        step = max(step, -(-size // MAX_POINTS))
    coloured = {} if c is None else {"c": c[::step], "ends": value_ends(c)}
    if step > 1:
        y, x = y[::step], None if x is None else x[::step]
    n = y.shape[0]
    if n > MAX_POINTS and look["mark"] != "bar":
        kept = _kept(y, is_log)
        x = _scaled(kept, size, step) if x is None else take(x, kept.to(x.device))
        y = take(y, kept)
    elif x is None:
        x = _scaled(_counting(n, y), size, step)
    return Part(look | {"size": size, "step": step}, {"x": x, "y": y, **coloured})


def _scaled(indices: Tensor, size: int, step: int) -> Tensor:
    """Convert indices of sampled points to indices of all points, rounded above 2**31."""
    if step == 1:
        return indices
    return indices.astype(float32) * step if size > 2**31 else indices * step


def _kept(y: Tensor, is_log: bool) -> Tensor:
    """Return the indices of about `MAX_POINTS` points of a line, in increasing order.

    The line is cut into slices of equal length. The indices are those of the minimum and maximum of
    each slice, so that the reduced line covers the same area, and those of both ends.
    """
    n = y.shape[0]
    slices = MAX_POINTS // 2
    length = -(-n // slices)
    slices = -(-n // length)
    begin = arange(0, slices * length, length, dtype=int32, device=y.device)
    indices = minimum(begin.reshape(slices, 1) + _counting(length, y), n - 1)
    values = take(y if y.dtype.is_floating else y.astype(float32), indices)
    drawn = are_finite(values)
    if is_log:
        drawn = drawn & (values > 0)
    low = argmin(where(drawn, values, INFINITY), axis=1)
    high = argmax(where(drawn, values, -INFINITY), axis=1)
    low, high = (minimum(begin + i.astype(int32), n - 1) for i in (low, high))
    pairs = stack([minimum(low, high), maximum(low, high)], axis=1).reshape(-1)
    ends = arange(0, 2, dtype=int32, device=y.device) * (n - 1)
    return concat([ends[:1], pairs, ends[1:]])


def _counting(n: int, beside: Tensor) -> Tensor:
    return arange(n, dtype=int32, device=beside.device)


# -- Bins of histograms --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of elements in each bin, and of NaN, -inf and inf, which are in no bin."""

    inside: list[int]
    nan: int
    minus: int
    plus: int

    def other(self, size: int) -> dict[str, int]:
        """Return the number of elements in no bin by kind, for a tensor of `size` elements."""
        odd = {"nan": self.nan, "-inf": self.minus, "inf": self.plus}
        outside = size - sum(self.inside) - sum(odd.values())
        return odd | ({"outside the range": outside} if outside else {})


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins that several tensors share, and the counts of each tensor.

    Attributes
    ----------
    is_whole : bool
        Whether each bin covers the same number of integers, including its lower edge.
    """

    edges: list[Any]
    is_whole: bool
    counts: list[Counts]


def bins_for(size: int) -> int:
    """Return the number of bins by Rice's rule, at most `MAX_DEFAULT_BINS`."""
    return min(MAX_DEFAULT_BINS, max(1, ceil(2 * size ** (1 / 3) - 1e-9)))


async def counted(
    series: Sequence[Tensor],
    bins: int | Sequence[float] | None,
    limits: tuple[float, float] | None,
    blocking: bool,
) -> Bins:
    """Count the finite elements of 1-D tensors between the same edges.

    Bins include their lower edge, and the last bin also its upper edge, as in `numpy.histogram`.
    Elements are only compared with edges, so no value of any dtype can overflow. The comparisons
    run on the device of each tensor, and the counts are read.

    Parameters
    ----------
    bins
        The number of bins of equal width, or their edges; by default `bins_for` the largest tensor.
    limits
        The outer edges; by default the smallest and the largest finite element.
    """
    is_whole = bins is None and limits is None and all(not x.dtype.is_floating for x in series)
    if bins is not None and not isinstance(bins, int):
        edges: list[Any] = list(bins)
    else:
        low, high = limits or await _limits(series, blocking)
        if bins is not None and low == high:
            low, high = low - 0.5, high + 0.5
        number = bins or bins_for(max((x.size for x in series), default=0))
        if is_whole:
            edges = _whole_edges(low, high, number)
        else:
            is_single = {x.dtype.has_64_bits for x in series if x.dtype.is_floating} == {False}
            edges = _real_edges(low, high, number, is_single)
        on_gpu = not all(x.device.computes_cpu_ops for x in series)
        if on_gpu and not is_whole and edges[-1] * 0.5 - edges[0] * 0.5 <= MIN_SPAN:
            edges = [edges[0], edges[-1]]
    return Bins(edges, is_whole, [await _counts(x, edges, blocking) for x in series])


async def _limits(series: Sequence[Tensor], blocking: bool) -> tuple[Any, Any]:
    """Return the smallest and the largest finite element of all tensors; zeros if none is."""
    ends: list[Any] = [(INFINITY, -INFINITY)]
    for x in series:
        if x.size:
            both = value_ends(x) if x.dtype.is_floating else stack([least(x), largest(x)])
            ends.append(await numbers(both, blocking))
    low, high = min(a for a, _ in ends), max(b for _, b in ends)
    return (low, high) if low <= high else (0, 0)


def _whole_edges(low: Any, high: Any, bins: int) -> list[int]:
    """Return the edges of at most `bins` bins that cover the same number of integers each."""
    width = -(-(high - low + 1) // bins)
    return [low + i * width for i in range(-(-(high - low + 1) // width) + 1)]


def _real_edges(low: float, high: float, bins: int, is_single: bool) -> list[float]:
    """Return strictly increasing edges of equal distances, in float32 if `is_single`."""
    half = high * 0.5 - low * 0.5  # the difference itself may be infinite
    shares = (i / bins for i in range(1, bins))
    inner = (low * (1 - t) + high * t if half > 1e300 else low + 2 * half * t for t in shares)
    edges = [low, *inner, high]
    first, *between, last = array("f", edges) if is_single else edges
    return [first, *sorted({edge for edge in between if first < edge < last}), last]


async def _counts(x: Tensor, edges: Sequence[Any], blocking: bool) -> Counts:
    """Count the elements in each bin, and those that are not finite."""
    if x.dtype.is_floating:
        most, last = x.dtype.highest, edges[-1]
        # Beyond the dtype: no finite element is there, and infinities are counted separately.
        first = [INFINITY if edge > most else max(edge, -most) for edge in edges[:-1]]
        last = -INFINITY if last < -most else min(last, most)
    else:  # The first integer of each bin, and the first one above the last bin.
        low, high = int(x.dtype.lowest), int(x.dtype.highest)
        whole = [*map(ceil, edges[:-1]), floor(edges[-1]) + 1]
        first, last = [max(start, low) for start in whole if start <= high], None
    starts = tensor(first, dtype=x.dtype, device=x.device).reshape(len(first), 1)
    limit = COUNTED_AT_ONCE_ON_CPU if x.device.computes_cpu_ops else COUNTED_AT_ONCE
    at_once = max(1, limit * MAX_DEFAULT_BINS // max(len(edges), MAX_DEFAULT_BINS))
    totals = [0] * (len(edges) + 3)  # in each bin and above it, above the last bin, and not finite
    for begin in range(0, x.size, at_once):
        piece = x[begin : begin + at_once]
        sums = (piece.reshape(1, -1) >= starts).sum(axis=1)
        if last is not None:
            masks = (piece > last, isnan(piece), piece == -INFINITY, piece == INFINITY)
            sums = concat([sums, stack([mask.sum() for mask in masks])])
        for i, n in enumerate(await numbers(sums, blocking)):
            totals[i] += n
    *from_there_on, nan, minus, plus = totals
    return Counts([a - b for a, b in pairwise(from_there_on)], nan, minus, plus)
