"""Charts, and what is around images, as SVG.

All hosts show these drawings: notebooks as documents, and the page as part of itself, in the
colours of its style sheet (web/page/charts/charts.css).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from math import ceil
from zlib import crc32

from py_tensor.display.axes import (
    LARGEST,
    TICK_SIZE,
    TITLE_SIZE,
    Axis,
    fitting,
    linear,
    logarithmic,
    named,
    short,
    shortened,
    width_of,
    wrapped,
)
from py_tensor.display.marks import Area, Axes, Json, Mark, marks_of

WIDTH, LEAST_WIDTH = 680, 220
"""The usual and the smallest width of a chart in pixels."""

RATIO, LEAST_HEIGHT = 0.48, 220
"""The height of the axes with the texts below them: by the width, and at least."""

MARGIN = 10
"""Around a drawing that is a document."""

EDGE, LINE, KEY = 14, 18, 22
"""The room right of the axes, and of the lines and signs of a legend."""

BAR_GAP, BAR_WIDTH = 14, 12
"""Of a colour bar."""

MAX_LABEL = 500
"""The most characters of a text that are read."""

SMALL, MOST = 256, 48
"""Smaller images are enlarged to about `SMALL` pixels, by an integer factor up to `MOST`."""

SMALLEST = 5e-324
"""The smallest positive float."""

INK, MUTED, GRID = "#33444b", "#5a6b72", "#d5dee0"

Window = Mapping[str, Sequence[float]]
"""The range of each axis, in a part of a chart."""


def drawn(bundle: Json, width: float, window: Window | None = None) -> Json:
    """Draw a chart for the page.

    Parameters
    ----------
    bundle
        A chart of `charts.Chart.bundle`.
    width
        The width available to it, in pixels.
    window
        The range of each axis, to show a part of the chart.

    Returns
    -------
    dict
        The "svg", its "width" and "area", the ends of its "axes", and for each series the places
        of its bars ("hits").
    """
    chart = _Chart(bundle, min(WIDTH, max(LEAST_WIDTH, width)), window)
    x, y, area = chart.axes
    return {
        "svg": _document(chart.width, chart.height, chart.parts(), 0),
        "width": chart.width,
        "area": list(area),
        "axes": {n: [axis.low, axis.high, axis.is_log] for n, axis in (("x", x), ("y", y))},
        "hits": [mark.hits(chart.axes) for mark in chart.marks],
    }


def svg_of(bundle: Json) -> str:
    """Return a chart as an SVG document, in the colours of a light page."""
    chart = _Chart(bundle, WIDTH, None)
    return _document(chart.width, chart.height, chart.parts(), MARGIN)


class _Chart:
    """The layout of a chart: axes take the room that their ticks and names need."""

    def __init__(self, bundle: Json, width: float, window: Window | None) -> None:
        self.bundle = bundle
        self.width = width
        self.window = window
        self.marks = marks_of(bundle)
        self.head, top = _title(bundle["title"], width)
        legend, top = _legend(self.marks, top, width)
        self.head += legend
        self.height = top + round(max(LEAST_HEIGHT, width * RATIO))
        bars = (mark.series.get("colours") for mark in self.marks)
        self.bar: Json | None = next((bar for bar in bars if bar), None)
        bottom = self.height - (42 if bundle["xlabel"] else 24)
        y = self._axis("y")(max(2, min(8, (bottom - top) / 48)))
        left = _left_of(y, bundle["ylabel"])
        room = _bar_room(self.bar, bottom - top - 8) if self.bar else 0
        area = Area(left, width - max(EDGE, room), top + 8, bottom)
        x = fitting(self._axis("x"), area.right - left)
        self.axes = Axes(x, y, area)

    def parts(self) -> list[str]:
        """Return the elements of the drawing."""
        area = self.axes.area
        elements = _axes(self.axes, self.bundle, self.width, has_grid=True)
        elements += _bar(self.bar, area.right, area.top, area.bottom) if self.bar else []
        marks = "".join(element for mark in self.marks for element in mark.draw(self.axes))
        clip = ""
        if self.window:
            size = f'width="{area.right - area.left}" height="{area.bottom - area.top}"'
            box = f'<rect x="{area.left}" y="{area.top}" {size}/>'
            name = _unique("part", box)
            elements.append(f'<clipPath id="{name}">{box}</clipPath>')
            clip = f' clip-path="url(#{name})"'
        elements.append(f'<g class="marks"{clip}>{marks}</g>')
        if not any(mark.xs for mark in self.marks):
            middle = (area.top + area.bottom) / 2
            elements.append(_text("name", self.width / 2, middle, "No finite values"))
        return elements + self.head

    def _axis(self, name: str) -> Callable[[float], Axis]:
        """Return a function that makes the axis "x" or "y" with about as many ticks as wanted."""
        is_x, is_log = name == "x", self.bundle[f"{name}scale"] == "log"
        values = [value for mark in self.marks for value in (mark.xs if is_x else mark.ys)]
        ends = self.window[name] if self.window else None
        if is_x and self.bundle["categories"]:
            axis = partial(named, [_bounded(text) for text in self.bundle["categories"]])
            return lambda wanted: axis(wanted).within(*ends) if ends else axis(wanted)
        if ends is None and values:
            if not is_log:
                return self._linear_axis(is_x, values)
            ends = min(values), max(values)
            ends = ends if is_x else self._with_room(*ends)
        low, high = ends or ((1, 10) if is_log else (0, 1))
        return partial(logarithmic if is_log else linear, low, high)

    def _with_room(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of a logarithmic y axis."""
        room = (high / low) ** 0.04
        has_columns = any(mark.series["mark"] in ("bar", "hist") for mark in self.marks)
        low = low / 2 if has_columns else low / room
        return max(low, SMALLEST), min(high * room, LARGEST)

    def _linear_axis(self, is_x: bool, values: list[float]) -> Callable[[float], Axis]:
        low, high = min(values), max(values)
        middles = _middles(self.bundle) if is_x else []
        is_whole = all(map(float.is_integer, map(float, middles or values)))
        # A margin, so that points are not drawn on an edge; lines span the full width.
        if is_x:
            has_room = not any(mark.is_tight for mark in self.marks)
            has_room &= any(mark.key != "line" for mark in self.marks)
        else:
            has_room = not all(mark.series["mark"] == "contour" for mark in self.marks)
        room = (high / 20 - low / 20) if has_room and low < high else 0
        has_base = any(mark.key == "area" for mark in self.marks)
        start = 0 if low == 0 and has_base else max(low - room, -LARGEST)
        end = 0 if high == 0 and has_base else min(high + room, LARGEST)
        named_middles = [(value, short(value)) for value in middles]
        have_ticks = _are_even(middles) and len({text for _, text in named_middles}) == len(middles)

        def axis(wanted: float) -> Axis:
            usual = linear(start, end, wanted, is_whole)
            if have_ticks and len(middles) <= wanted:
                return Axis(usual.low, usual.high, named_middles)
            return usual

        return axis


def _middles(bundle: Json) -> list[float]:
    """Return the values in the middle of the bars, ascending; none if there are other marks."""
    middles: set[float] = set()
    for one in bundle["series"]:
        if one["mark"] == "bar":
            middles.update(x for x in one["x"] if x is not None)
        elif one["mark"] == "hist" and one["isWhole"] and one["edges"][1] - one["edges"][0] == 1:
            middles.update(one["edges"][:-1])
        else:
            return []
    return sorted(middles)


def _are_even(values: Sequence[float]) -> bool:
    """Return whether ascending values have equal distances; False if there are none."""
    if not values:
        return False
    step = (values[-1] - values[0]) / max(1, len(values) - 1)
    return all(abs(v - values[0] - i * step) <= 1e-6 * step for i, v in enumerate(values))


# -- Images --------------------------------------------------------------------------------------


def framed(
    figure: Json, size: Callable[[float, float], tuple[float, float]], width: float
) -> tuple[list[str], Area, float, float]:
    """Draw what is around an image.

    Parameters
    ----------
    figure
        A result of `pictures.figure_facts`.
    size
        Returns the size of the image, for the width that is left for it and the height around it.
    width
        The width available to the figure.

    Returns
    -------
    tuple
        The elements, the rectangle of the image, and the size of the figure.
    """
    of, bar, has_axes = figure["of"], figure["colours"], figure["hasAxes"]
    is_counted = figure["extent"] is None
    pixels = -0.5, of["width"] - 0.5, of["height"] - 0.5, -0.5
    left, right, bottom, top = figure["extent"] or pixels

    def y_axis(height: float) -> Axis:
        return linear(bottom, top, max(1, height / 40), is_counted)

    parts, start = _title(figure["title"], width)
    start += 8
    before = _left_of(y_axis(400), figure["ylabel"]) if has_axes else 0
    behind = max(_bar_room(bar, 400) if bar else 0, 8)
    below = (42 if figure["xlabel"] else 24) if has_axes else 0
    across, high = size(width - before - behind, start + below)
    area = Area(before, before + across, start, start + high)
    bar_end = max(area.bottom, start + (90 if bar else 0))
    height = max(area.bottom + below, bar_end + 8)
    whole = max(before + across + behind, min(width, 160))
    if has_axes:
        x = fitting(lambda wanted: linear(left, right, wanted, is_counted), across)
        parts += _axes(Axes(x, y_axis(high), area), figure, whole, has_grid=False)
    parts += _bar(bar, area.right, area.top, bar_end) if bar else []
    return parts, area, whole, height


def drawn_frame(figure: Json, image: Json, width: float, height: float) -> Json:
    """Draw what is around an image for the page.

    Parameters
    ----------
    image
        Its bundle.
    width, height
        The size available to it, in pixels. An image as large as fits leaves room for the prompt.
    """
    natural = image["width"], image["height"]

    def size(room: float, around: float) -> tuple[float, float]:
        across = min(natural[0] * (image["scale"] or enlargement(*natural)), max(room, 40))
        if image["scale"] is None:
            across = min(across, max(240, height - around - 150) * natural[0] / natural[1])
        return max(across, 12), max(across * natural[1] / natural[0], 12)

    parts, area, whole, tall = framed(figure, size, width)
    return {"svg": _document(whole, tall, parts, 0), "area": list(area), "width": whole}


def svg_of_image(png: str, size: tuple[int, int], figure: Json) -> str:
    """Return a PNG in base64 with title, axes and colour bar as SVG."""
    parts, area, width, height = framed(figure, lambda room, around: size, max(WIDTH, 2 * size[0]))
    box = f'x="{area.left}" y="{area.top}" width="{size[0]}" height="{size[1]}"'
    parts.append(f'<image {box} href="data:image/png;base64,{png}"/>')
    return _document(width, height, parts, MARGIN)


def enlargement(width: int, height: int, scale: float | None = None) -> int:
    """Return the integer factor by which an image is enlarged.

    By default small images are enlarged to about `SMALL` pixels.
    """
    factor = SMALL // max(width, height) if scale is None else round(scale)
    return min(MOST, max(1, factor))


# -- Parts ---------------------------------------------------------------------------------------


def _document(width: float, height: float, parts: Sequence[str], margin: float) -> str:
    size = ceil(width + 2 * margin), ceil(height + 2 * margin)
    box = f"{-margin} {-margin} {size[0]} {size[1]}"
    paper = f'<rect x="{-margin}" y="{-margin}" width="100%" height="100%" fill="#fff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plotted-picture" width="{size[0]}"'
        f' height="{size[1]}" viewBox="{box}" font-family="sans-serif" font-size="{TICK_SIZE}"'
        f' color="{INK}">{paper if margin else ""}{"".join(parts)}</svg>'
    )


def _title(title: str, width: float) -> tuple[list[str], float]:
    """Return the lines of a title, and their height."""
    lines = wrapped(_bounded(title), width)
    look = f'font-weight="600" font-size="{TITLE_SIZE}"'
    parts = [
        _text("title", 0, TITLE_SIZE + 20 * i, text, "start", look) for i, text in enumerate(lines)
    ]
    return parts, 20 * len(lines) + 6 * bool(lines)


def _legend(marks: Sequence[Mark], top: float, width: float) -> tuple[list[str], float]:
    """Return the legend, if any mark has a label, and the y coordinate below it."""
    entries: list[str] = []
    left = 0.0
    for mark in marks:
        if not mark.series["label"]:
            continue
        text = shortened(_bounded(mark.series["label"]), width - KEY)
        room = KEY + width_of(text)
        if left and left + room > width:
            left, top = 0.0, top + LINE
        words = _text("tick", KEY, 13, text, "start")
        moved = f'transform="translate({left:.1f} {top})"'
        entries.append(f'<g class="key" {moved}>{_sign(mark)}{words}</g>')
        left += room + 18
    if not entries:
        return [], top
    return [f'<g class="legend">{"".join(entries)}</g>'], top + LINE + 6


def _sign(mark: Mark) -> str:
    """Return how the legend shows a mark, 16 by 18 pixels."""
    sign = ""
    if mark.key == "area":
        sign = f'<rect {mark.ink.attributes("column")} x="2" y="3" width="12" height="12" rx="2"/>'
    if mark.key == "line":
        sign = f'<path {mark.ink.attributes("curve")} d="M1 9H15"/>'
    if mark.key == "spot" or mark.series.get("marker"):
        sign += mark.spot(mark.ink.attributes("spot"), 3.5) % (8, 9)
    return sign


def _left_of(axis: Axis, name: str) -> float:
    """Return the room left of a y axis."""
    return ceil(12 + max((width_of(text) for _, text in axis.ticks), default=0)) + 22 * bool(name)


def _axes(axes: Axes, about: Json, width: float, *, has_grid: bool) -> list[str]:
    parts: list[str] = []
    left, right, top, bottom = axes.area
    for y, text in axes.y.placed(bottom, top):
        if has_grid and text:
            path = f"M{left} {y:.1f}H{right}"
            parts.append(f'<path class="grid" stroke="{GRID}" d="{path}"/>')
        else:
            parts.append(_line(left - (4 if text else 3), left, y, y))
        if text:
            parts.append(_text("tick", left - 8, y + TICK_SIZE / 3, text, "end"))
    parts += [_line(left, right, bottom, bottom)] if has_grid else []
    for x, text in axes.x.placed(left, right):
        parts.append(_line(x, x, bottom, bottom + (4 if text else 3)))
        if text:
            half = width_of(text) / 2
            parts.append(_text("tick", max(half, min(x, width - half)), bottom + 18, text))
    if about["xlabel"]:
        name = shortened(_bounded(about["xlabel"]), width)
        parts.append(_text("name", (left + right) / 2, bottom + 37, name))
    if about["ylabel"]:
        name = shortened(_bounded(about["ylabel"]), bottom - top + 20)
        turned = f'transform="translate(12 {(top + bottom) / 2:.1f}) rotate(-90)"'
        parts.append(_text("name", 0, 0, name, more=turned))
    return parts


def _bar_axis(bar: Json, height: float) -> Axis:
    low, high = bar["range"]
    axis = linear(low, high, max(3, height / 36))
    if low == high:
        return replace(axis, ticks=[tick for tick in axis.ticks if tick[0] == low])
    if "levels" not in bar:
        return axis
    levels = bar["levels"]
    every = ceil(len(levels) * 16 / max(height, 16))
    ticks = [(level, short(float(f"{level:.4g}"))) for level in levels[::every]]
    return replace(axis, ticks=ticks)


def _bar_room(bar: Json, height: float) -> float:
    """Return the width of a colour bar with its texts."""
    longest = max((width_of(text) for _, text in _bar_axis(bar, height).ticks), default=0)
    return BAR_GAP + BAR_WIDTH + 8 + longest


def _bar(bar: Json, left: float, top: float, bottom: float) -> list[str]:
    """Return a colour bar; `left` is the right end of what it is beside."""
    last = len(bar["stops"]) - 1
    stops = "".join(
        f'<stop offset="{i / last:.4f}" stop-color="{escape(stop)}"/>'
        for i, stop in enumerate(bar["stops"])
    )
    name = _unique("colours", stops)
    x = left + BAR_GAP
    size = f'width="{BAR_WIDTH}" height="{bottom - top:.1f}"'
    parts = [
        f'<linearGradient id="{name}" x1="0" y1="1" x2="0" y2="0">{stops}</linearGradient>',
        f'<rect x="{x:.1f}" y="{top:.1f}" {size} fill="url(#{name})"/>',
    ]
    for y, text in _bar_axis(bar, bottom - top).placed(bottom, top):
        parts.append(_line(x + BAR_WIDTH, x + BAR_WIDTH + 4, y, y))
        parts.append(_text("tick", x + BAR_WIDTH + 8, y + 4, text, "start"))
    return [f'<g class="colour-bar">{"".join(parts)}</g>']


def _unique(kind: str, content: str) -> str:
    """Return the id of an element in a page with many drawings: equal ones may share it."""
    return f"{kind}-{crc32(content.encode()):x}"


def _line(x1: float, x2: float, y1: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"'
    return f'<line class="base" stroke="{MUTED}" {ends}/>'


def _text(look: str, x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    fill = MUTED if look == "tick" else INK
    attributes = f'class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"'
    return f"<text {attributes} {more}>{escape(_allowed(text))}</text>"


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_LABEL else f"{text[:MAX_LABEL]}…"


def _allowed(text: str) -> str:
    """Replace the characters that XML forbids."""
    forbidden = [*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF]
    replaced = text.translate(dict.fromkeys(forbidden, "\ufffd"))
    return replaced.encode("utf-8", "replace").decode()
