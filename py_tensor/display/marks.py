"""What charts draw for their series: lines, points, bars and contour lines, as SVG elements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, compress, groupby, pairwise, repeat
from math import hypot, pi
from operator import itemgetter
from typing import Any, NamedTuple

from py_tensor.display.axes import Axis, short

# The print colours of the page's style sheet (web/page/charts/charts.css).
COLOURS = (
    *("#0f766e", "#b4541a", "#4059b8", "#a3286a"),
    *("#6b7a12", "#6f42b8", "#8c6a12", "#4b5d66"),
)
DASHES = ("", "5 4", "0.5 4")
"""When all colours are used, further lines are dashed, then dotted."""

FEW_POINTS = 40
"""A line with at most this many points shows a spot at each."""
MANY_POINTS = 500
"""With more points than this, a scatter chart is one path."""

DENSE = 24
"""Between points that are closer than this, in pixels, markers leave no room for dashes."""

MAX_RECTANGLES = 200
"""More bars of one series are drawn as one element."""

MAX_SEGMENTS = 30_000
"""The most segments of the contour lines of one series: noise has hundreds of thousands."""

Json = dict[str, Any]
Point = tuple[float, float]
Box = tuple[float, float, float, float]
Floats = Sequence[float]
Run = tuple[Floats, Floats]
"""The x and the y of points."""


class Area(NamedTuple):
    """The rectangle inside the axes, in pixels."""

    left: float
    right: float
    top: float
    bottom: float


class Axes(NamedTuple):
    """Maps values to pixels."""

    x: Axis
    y: Axis
    area: Area

    def across(self, values: Sequence[float]) -> list[float]:
        return self.x.positions(values, self.area.left, self.area.right)

    def up(self, values: Sequence[float]) -> list[float]:
        return self.y.positions(values, self.area.bottom, self.area.top)

    @property
    def base(self) -> float:
        """The position of 0, or of the nearest end of the y axis."""
        if self.y.is_log:
            return self.area.bottom
        return min(max(self.up([0.0])[0], self.area.top), self.area.bottom)


@dataclass(frozen=True, slots=True)
class Ink:
    """How a series looks.

    The attributes are those of a light page. The page's style sheet has the colours of the class
    ``series-n``; a colour that depends on the theme is also the attribute ``data-colour``.
    """

    color: str | None
    number: int
    dashes: str | None = None
    width: float | None = None

    def attributes(self, kind: str, **more: Any) -> str:
        """Return the attributes of an element; lines are of the kind "curve"."""
        color = self.color or f"var(--series-{self.number % len(COLOURS)})"
        classes, theme = kind, ""
        if color.startswith("var(--series-"):  # a variable of the page's style sheet
            number = int(color[13:-1])
            color, classes = COLOURS[number], f"{kind} series-{number}"
        elif color.startswith("light-dark("):
            theme = f' data-colour="{escape(color)}"'
            color = color.removeprefix("light-dark(").partition(",")[0]
        look = {"fill": color} | more
        if kind.startswith("curve"):
            dashes = self.dashes
            if dashes is None:
                dashes = DASHES[self.number // len(COLOURS) % len(DASHES)]
            look = {"fill": "none", "stroke": color, "stroke-width": f"{self.width or 1.75:g}"}
            look |= {"stroke-linecap": "round", "stroke-linejoin": "round"} | more
            look |= {"stroke-dasharray": dashes} if dashes else {}
        written = "".join(f' {name}="{escape(str(value))}"' for name, value in look.items())
        return f'class="{classes}"{theme}{written}'


@dataclass(frozen=True, slots=True)
class Mark:
    """What is drawn for a series.

    Attributes
    ----------
    key : "line", "area" or "spot"
        How the legend shows it.
    xs, ys : sequence of float
        Values that the axes include.
    is_tight : bool
        Whether the axes end where the mark does.
    """

    series: Json
    ink: Ink
    key: str
    xs: Sequence[float]
    ys: Sequence[float]
    is_tight: bool = False

    def draw(self, axes: Axes) -> Iterable[str]:
        """Return SVG elements."""
        raise NotImplementedError

    def hits(self, axes: Axes) -> list[list[Any]]:
        """Return where the pointer finds each bar, for the page; empty for other marks."""
        return []

    def spot(self, look: str, radius: float) -> str:
        """Return the marker of a point, to be formatted with its position: ``spot % (x, y)``."""
        if path := self.series.get("marker"):
            return f'<path d="{escape(path)}" {look} transform="translate(%.1f %.1f)"/>'
        return f'<circle r="{radius:.2f}" {look} cx="%.1f" cy="%.1f"/>'


@dataclass(frozen=True, slots=True)
class Curve(Mark):
    """A line, the area below it, or points.

    Attributes
    ----------
    runs : list of (xs, ys)
        The coordinates between gaps.
    values : list or None
        The values that set the colours of the points.
    """

    runs: Sequence[Run] = ()
    values: Sequence[float | None] | None = None

    def draw(self, axes: Axes) -> Iterator[str]:
        series, ink, marker = self.series, self.ink, self.series.get("marker")
        runs = [list(zip(axes.across(xs), axes.up(ys), strict=True)) for xs, ys in self.runs]
        if series["mark"] == "scatter":
            yield from self._scattered([point for run in runs for point in run])
            return
        if series["mark"] == "area":
            for run in runs:
                ends = f"L{run[-1][0]:.1f} {axes.base:.1f}L{run[0][0]:.1f} {axes.base:.1f}Z"
                yield f'<path {ink.attributes("fill", opacity=0.2)} d="{_path(run)}{ends}"/>'
        if series.get("lineWidth") != 0:
            if marker and ink.dashes and _is_dense(runs):
                ink = Ink(ink.color, ink.number, "", ink.width)
            yield f'<path {ink.attributes("curve")} d="{"".join(map(_path, runs))}"/>'
        has_few = marker is None and len(series["x"]) <= FEW_POINTS and series["mark"] == "line"
        if marker or has_few:
            spot = self.spot(ink.attributes("spot"), 2)
            yield from (spot % point for run in runs for point in run)

    def _scattered(self, points: list[Point]) -> Iterator[str]:
        """Yield points, each in the colour of its value; a point without a value is left out."""
        bar = self.series.get("colours")
        radius = (self.series.get("s", 24) / pi) ** 0.5
        if self.values and bar is not None:
            for point, value in zip(points, self.values, strict=True):
                if value is not None:
                    look = f'class="spot valued" fill="{colour_of(bar, value)}"'
                    yield self.spot(look, radius) % point
        elif len(points) > MANY_POINTS and not self.series.get("marker"):
            # Dots of one path: an element for each takes a browser ten times as long.
            dots = Ink(self.ink.color, self.ink.number, "", 2 * radius).attributes("curve")
            yield f'<path {dots} d="{"".join(map("M%.1f %.1fh0".__mod__, points))}"/>'
        else:
            spot = self.spot(self.ink.attributes("spot"), radius)
            yield from (spot % point for point in points)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from `low` to `high`; the pointer finds it in the range `hit`."""

    low: float
    high: float
    y: float
    name: str
    hit: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Columns(Mark):
    """Bars, or the bins of a histogram, from left to right."""

    bars: Sequence[Bar] = ()
    is_clear: bool = False

    def draw(self, axes: Axes) -> Iterator[str]:
        boxes: list[Box] = []
        for left, right, y in self._sides(axes):
            gap = 1 if right - left > 4 else 0
            top, bottom = sorted((y, axes.base))
            boxes.append((left, top, max(0.5, right - left - gap), bottom - top))
        clear = {"opacity": 0.75} if self.is_clear else {}
        look = self.ink.attributes("column", **clear)
        if len(boxes) > MAX_RECTANGLES:
            d = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}Z" for x, y, w, h in boxes)
            yield f'<path {look} d="{d}"/>'
            return
        for x, y, w, h in boxes:
            yield f'<rect {look} x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}"/>'

    def hits(self, axes: Axes) -> list[list[Any]]:
        return [
            [*axes.across(bar.hit), (left + right) / 2, y, bar.name, bar.y]
            for bar, (left, right, y) in zip(self.bars, self._sides(axes), strict=True)
        ]

    def _sides(self, axes: Axes) -> Iterator[tuple[float, float, float]]:
        """Yield the left, the right and the end of each bar in pixels."""
        sides = axes.across([side for bar in self.bars for side in (bar.low, bar.high)])
        ends = axes.up([bar.y for bar in self.bars])
        return zip(sides[::2], sides[1::2], ends, strict=True)


@dataclass(frozen=True, slots=True)
class Levels(Mark):
    """Contour lines."""

    def draw(self, axes: Axes) -> Iterator[str]:
        series = self.series
        levels: list[float] = series["levels"]
        bar = series["colours"]
        lines = contour_lines(series["z"], levels, axes.across(series["x"]), axes.up(series["y"]))
        every = max(1, -(-sum(map(len, lines)) // MAX_SEGMENTS))
        for level, segments in list(zip(levels, lines, strict=True))[::every]:
            colour = {} if bar is None else {"stroke": colour_of(bar, level)}
            kind = "curve level valued" if colour else "curve level"
            look = self.ink.attributes(kind, **{"stroke-width": 1.5}, **colour)
            yield f'<path {look} d="{"".join(segments)}"/>'


def marks_of(bundle: Json) -> list[Mark]:
    """Return what is drawn for each series of a chart."""
    return [_mark(series, i, bundle) for i, series in enumerate(bundle["series"])]


def _mark(series: Json, i: int, bundle: Json) -> Mark:
    kind, is_log = series["mark"], bundle["yscale"] == "log"
    ink = Ink(series.get("color"), i, series.get("dashes"), series.get("lineWidth"))
    if kind == "contour":
        return Levels(series, ink, "line", series["x"], series["y"], is_tight=True)
    if kind in ("bar", "hist"):
        bars = _bars(series, bundle) if kind == "bar" else _bins(series, is_log)
        xs = [side for bar in bars for side in (bar.low, bar.high)]
        ys = [bar.y for bar in bars] + ([] if is_log or not bars else [0.0])
        is_clear = kind == "hist" and len(bundle["series"]) > 1
        return Columns(series, ink, "area", xs, ys, kind == "hist", bars, is_clear)
    runs = _runs(series, bundle)
    xs, ys = ([value for run in runs for value in run[axis]] for axis in (0, 1))
    values: list[float | None] | None = series.get("c")
    if values:
        values = list(compress(values, _are_shown(series, bundle)))
    key = "spot" if kind == "scatter" or series.get("lineWidth") == 0 else "line"
    if kind == "area":
        key = "area"
        ys += [0.0] if ys and not is_log else []
    return Curve(series, ink, key, xs, ys, runs=runs, values=values)


def _are_shown(series: Json, bundle: Json) -> list[bool]:
    """Return for each point whether the axes can show it."""
    least = {"log": 0.0, "linear": -float("inf")}
    least_x, least_y = least[bundle["xscale"]], least[bundle["yscale"]]
    return [
        x is not None and y is not None and x > least_x and y > least_y
        for x, y in zip(series["x"], series["y"], strict=True)
    ]


def _runs(series: Json, bundle: Json) -> list[Run]:
    """Return the coordinates of the points that are shown; one that is not parts a line."""
    x, y = series["x"], series["y"]
    is_linear = bundle["xscale"] == bundle["yscale"] == "linear"
    if x and is_linear and None not in x and None not in y:
        return [(x, y)]
    points = zip(_are_shown(series, bundle), x, y, strict=True)
    runs: list[Run] = []
    for is_shown, group in groupby(points, itemgetter(0)):
        if is_shown:
            _, xs, ys = zip(*group, strict=True)
            runs.append((xs, ys))
    return runs


def _bars(series: Json, bundle: Json) -> list[Bar]:
    """Return bars; those of several series are side by side."""
    together = [one for one in bundle["series"] if one["mark"] == "bar"]
    width, half = series["width"] / len(together), series["width"] / 2
    begin = next(i for i, one in enumerate(together) if one is series) * width - half
    names: dict[float, str] = dict(enumerate(bundle["categories"] or ()))
    return [
        Bar(x + begin, x + begin + width, y, names.get(x) or short(x), (x - half, x + half))
        for xs, ys in _runs(series, bundle)
        for x, y in zip(xs, ys, strict=True)
    ]


def _bins(series: Json, is_log: bool) -> list[Bar]:
    """Return the bars of a histogram; those of integers are centred on them."""
    edges, is_whole = series["edges"], series["isWhole"]
    shift = 0.5 if is_whole else 0.0
    room = (abs(edges[0]) / 20 or 0.1) if edges[0] == edges[-1] else 0.0  # all values are equal
    bars: list[Bar] = []
    for (low, high), count in zip(pairwise(edges), series["counts"], strict=True):
        if count or not is_log:
            sides = low - shift - room, high - shift + room
            name = f"{short(low)} to {short(high - 1 if is_whole else high)}"
            if is_whole and high - low == 1:
                name = short(low)
            bars.append(Bar(*sides, count, name, sides))
    return bars


def colour_of(bar: Json, value: float) -> str:
    """Return the colour of a value, interpolated linearly between two stops of a colour map."""
    low, high = bar["range"]
    share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
    stops = bar["stops"]
    position = min(max(share, 0), 1) * (len(stops) - 1)
    i = min(int(position), len(stops) - 2)
    ends = zip(*(bytes.fromhex(stop[1:]) for stop in stops[i : i + 2]), strict=True)
    return "#" + "".join(f"{int(a + (b - a) * (position - i) + 0.5):02x}" for a, b in ends)


# -- Paths ---------------------------------------------------------------------------------------


def _path(run: Sequence[Point]) -> str:
    return "M" + ("%.1f %.1fL" * len(run))[:-1] % tuple(chain.from_iterable(run))


def _is_dense(runs: Sequence[Sequence[Point]]) -> bool:
    steps = [hypot(x1 - x0, y1 - y0) for run in runs for (x0, y0), (x1, y1) in pairwise(run)]
    return sum(steps) < DENSE * len(steps)


def contour_lines(
    z: Sequence[Sequence[float | None]], levels: Floats, across: Floats, up: Floats
) -> list[list[str]]:
    """Return the segments of the contour lines of each level as parts of SVG paths.

    Marching squares (Lorensen and Cline, 1987, in two dimensions). Cells with a corner that is not
    finite have no lines. `across` and `up` are the positions of columns and rows.
    """
    lines: list[list[str]] = [[] for _ in levels]
    for (first, second), (y0, y1) in zip(pairwise(z), pairwise(up), strict=True):
        cells: list[Any] = list(zip(first, first[1:], second[1:], second, strict=False))
        if None in first or None in second:
            cells = [_EMPTY if None in cell else cell for cell in cells]
        # Levels are crossed that are above the lowest corner, and at most the highest.
        begins = map(bisect_right, repeat(levels), map(min, cells))
        ends = map(bisect_right, repeat(levels), map(max, cells))
        for j, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            for n in range(begin, end):
                box = across[j], across[j + 1], y0, y1
                lines[n] += _segments(cells[j], levels[n], box)
    return lines


_EMPTY = (0.0, 0.0, 0.0, 0.0)
"""A cell without lines."""


def _segments(corners: Box, level: float, box: Box) -> list[str]:
    """Return the lines of a level in one cell; its corners are given clockwise."""
    a, b, c, d = corners
    x0, x1, y0, y1 = box
    ends: list[Point] = []
    if (a >= level) != (b >= level):
        ends.append((x0 + _share(a, b, level) * (x1 - x0), y0))
    if (b >= level) != (c >= level):
        ends.append((x1, y0 + _share(b, c, level) * (y1 - y0)))
    if (d >= level) != (c >= level):
        ends.append((x0 + _share(d, c, level) * (x1 - x0), y1))
    if (a >= level) != (d >= level):
        ends.append((x0, y0 + _share(a, d, level) * (y1 - y0)))
    if len(ends) == 4 and (a / 4 + b / 4 + c / 4 + d / 4 >= level) != (a >= level):
        ends = [ends[3], *ends[:3]]  # in a saddle, the lines cut off the other two corners
    return [_path(ends[i : i + 2]) for i in range(0, len(ends), 2)]


def _share(low: float, high: float, level: float) -> float:
    return (level / 2 - low / 2) / (high / 2 - low / 2)  # the difference itself may be infinite
