"""Charts as SVG, for hosts that cannot draw the bundles of `charts.Chart.bundle` themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10, pi
from typing import Any
from zlib import crc32

WIDTH, HEIGHT = 680, 326
"""Size in pixels, without title and legend."""

CHARACTER = 6.7
"""The average width in pixels of a character of 12 px."""

LARGEST_FLOAT64 = 1.7976931348623157e308

# The print colours of the page's style sheet (web/page/charts/charts.css).
COLOURS = (
    *("#0f766e", "#b4541a", "#4059b8", "#a3286a"),
    *("#6b7a12", "#6f42b8", "#8c6a12", "#4b5d66"),
)
DASHES = ("", ' stroke-dasharray="5 4"', ' stroke-dasharray="0.5 4"')
"""When all colours are used, further lines are dashed, then dotted."""

Scale = tuple[Callable[[float], float], list[tuple[float, str]], float]
"""A map from values to positions from 0 to 1; ticks as (value, text); the value at position 0."""

INK = "#33444b"

Curve = list[tuple[float, float] | None]
"""Points; None is a gap."""


Place = Callable[[float, float], tuple[str, str]]
"""Maps a point (x, y) to pixel coordinates, formatted as text."""


def svg_of(bundle: dict[str, Any]) -> str:
    """Return a chart as an SVG document, in the colours of the light theme."""
    series: list[dict[str, Any]] = bundle["series"]
    curves = [_points(one, bundle) for one in series]
    extents = [_extent(one, curve, bundle) for one, curve in zip(series, curves, strict=True)]
    xs, ys = ([v for both in extents for v in both[axis]] for axis in (0, 1))
    names = bundle["categories"]
    is_wide = any(one["mark"] in ("scatter", "bar") for one in series)
    is_flat = all(one["mark"] == "contour" for one in series)
    middles = _middles(series)
    across = (
        _named(names)
        if names
        else _scale(xs, bundle["xscale"], WIDTH / 80, has_room=is_wide, middles=middles)
    )
    down = _scale(ys, bundle["yscale"], 5, has_room=not is_flat)
    head, top = _head(bundle)
    bar = next((one["colours"] for one in series if one.get("colours")), None)
    left = 14 + CHARACTER * max((len(text) for _, text in down[1]), default=0)
    left += 20 if bundle["ylabel"] else 0
    right, bottom = WIDTH - 14, top + HEIGHT - 10 - (46 if bundle["xlabel"] else 28)
    bar_parts: list[str] = []
    if bar:
        bar_parts, width = _bar(bar, top, bottom, None)
        right -= width

    def place(x: float, y: float) -> tuple[str, str]:
        return (
            _fixed(left + across[0](x) * (right - left)),
            _fixed(bottom - down[0](y) * (bottom - top)),
        )

    parts = [*head, *bar_parts, *_axes(across, down, (left, right, top, bottom), bundle)]
    for i, (one, curve) in enumerate(zip(series, curves, strict=True)):
        parts += _mark(one, i, curve, bundle, place, down[2])
    if not xs:
        parts.append(_text((left + right) / 2, (top + bottom) / 2, "No finite values"))
    return _document(WIDTH, top + HEIGHT - 10, parts)


def svg_of_image(png: str, size: tuple[int, int], figure: dict[str, Any]) -> str:
    """Return a picture with title, axes and colour bar (`screen.figure_facts`) as SVG."""
    head, top = _head({"title": figure["title"], "series": []})
    width, height = size
    of, bar = figure["of"], figure["colours"]
    extent = figure["extent"] or (-0.5, of["width"] - 0.5, of["height"] - 0.5, -0.5)
    across = _turned(extent[0], extent[1], width / 80)
    down = _turned(extent[2], extent[3], max(1, height / 40))
    left, below = 14.0, 10.0
    if figure["hasAxes"]:
        left += CHARACTER * max((len(text) for _, text in down[1]), default=0)
        left += 20 if figure["ylabel"] else 0
        below = 46 if figure["xlabel"] else 28
    right, bottom = left + width, top + height
    parts = list(head)
    if figure["hasAxes"]:
        parts += _axes(across, down, (left, right, top, bottom), figure)
    whole = right + 14
    if bar:
        drawn, beside = _bar(bar, top, max(bottom, top + 90), right)
        parts += drawn
        whole += beside
    parts.append(
        f'<image x="{_fixed(left)}" y="{top}" width="{width}" height="{height}"'
        f' href="data:image/png;base64,{png}"/>'
    )
    return _document(ceil(whole), ceil(max(bottom + below, top + 100 if bar else 0)), parts)


def _turned(first: float, last: float, wanted: float) -> Scale:
    """Return a linear scale from `first` to `last`, which may be less than `first`."""
    scaled, ticks, low = _scale([first, last], "linear", max(1, wanted), has_room=False)
    return (scaled, ticks, low) if first <= last else (lambda value: 1 - scaled(value), ticks, low)


def _document(width: float, height: float, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" color="{INK}">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )


# -- Marks ---------------------------------------------------------------------------------------


def _points(series: dict[str, Any], bundle: dict[str, Any]) -> Curve:
    """Return the points of a line, scatter series or bars; an empty list for other marks."""

    def is_shown(value: float | None, scale: str) -> bool:
        return value is not None and (bundle[scale] == "linear" or value > 0)

    if series["mark"] in ("hist", "contour"):
        return []
    return [
        (x, y) if is_shown(x, "xscale") and is_shown(y, "yscale") else None
        for x, y in zip(series["x"], series["y"], strict=True)
    ]


def _extent(
    series: dict[str, Any], curve: Curve, bundle: dict[str, Any]
) -> tuple[list[float], list[float]]:
    """Return values of x and of y that the axes must include."""
    mark = series["mark"]
    base = [] if bundle["yscale"] == "log" else [0.0]
    if mark == "contour":
        return [series["x"][0], series["x"][-1]], [series["y"][0], series["y"][-1]]
    if mark == "hist":
        bins = _bins(series, bundle)
        return [v for bin in bins for v in bin[:2]], [bin[2] for bin in bins] + base * bool(bins)
    points = [point for point in curve if point is not None]
    x, y = [x for x, _ in points], [y for _, y in points]
    if mark == "bar":
        x = [v + half for v in x for half in (-series["width"] / 2, series["width"] / 2)]
    return x, y + (base if points and mark in ("bar", "area") else [])


def _middles(series: list[dict[str, Any]]) -> list[float]:
    """Return the values in the middle of the bars, ascending; none if there are other marks."""
    middles: set[float] = set()
    for one in series:
        if one["mark"] == "bar":
            middles.update(x for x in one["x"] if x is not None)
        elif one["mark"] == "hist" and one["isWhole"] and one["edges"][1] - one["edges"][0] == 1:
            middles.update(one["edges"][:-1])
        else:
            return []
    return sorted(middles)


def _bins(series: dict[str, Any], bundle: dict[str, Any]) -> list[tuple[float, float, float]]:
    """Return both edges and the count of each bin; bins of integers are shifted by -0.5."""
    edges = series["edges"]
    shift = 0.5 if series["isWhole"] else 0.0
    room = (abs(edges[0]) / 20 or 0.1) if edges[0] == edges[-1] else 0.0
    return [
        (low - shift - room, high - shift + room, count)
        for (low, high), count in zip(pairwise(edges), series["counts"], strict=True)
        if count or bundle["yscale"] != "log"
    ]


def _mark(
    series: dict[str, Any],
    i: int,
    curve: Curve,
    bundle: dict[str, Any],
    place: Place,
    lowest: float,
) -> Iterable[str]:
    """Yield the SVG elements of a series; `lowest` is the value at the bottom of the y axis."""
    mark, colour = series["mark"], _colour(series, i)
    base = lowest if bundle["yscale"] == "log" else 0.0
    if mark == "contour":
        for level in series["levels"]:
            bar = series["colours"]
            stroke = colour if bar is None else _colour_of(bar, level)
            yield f'<path d="{_level(series, level, place)}" fill="none" stroke="{stroke}"/>'
    elif mark in ("bar", "hist"):
        for low, high, y in _columns(series, curve, bundle):
            (x0, y0), (x1, y1) = place(low, y), place(high, base)
            upper, lower = sorted((float(y0), float(y1)))
            gap = 1 if float(x1) - float(x0) > 4 else 0
            size = f'width="{_fixed(float(x1) - float(x0) - gap)}" height="{_fixed(lower - upper)}"'
            clear = ' opacity="0.75"' if mark == "hist" and len(bundle["series"]) > 1 else ""
            yield f'<rect x="{x0}" y="{_fixed(upper)}" {size} fill="{colour}"{clear}/>'
    elif mark == "scatter":
        radius = _fixed((series.get("s", 24) / pi) ** 0.5)
        for n, point in enumerate(curve):
            value = series["c"][n] if series.get("c") else None
            if point is None or (series.get("c") and value is None):
                continue
            bar = series.get("colours")
            fill = colour if value is None or bar is None else _colour_of(bar, value)
            yield _spot(series, place(*point), radius, fill)
    else:
        if mark == "area":
            area = _area(curve, place, base)
            yield f'<path d="{area}" fill="{colour}" opacity="0.2"/>'
        if series.get("lineWidth") != 0:
            yield _line(_path(curve, place), colour, i, series)
        marker = series.get("marker")
        if marker or (marker is None and len(curve) <= 40):
            for point in curve:
                if point is not None:
                    yield _spot(series, place(*point), "2", colour)


def _spot(series: dict[str, Any], position: tuple[str, str], radius: str, fill: str) -> str:
    if path := series.get("marker"):
        return (
            f'<path d="{path}" transform="translate({position[0]} {position[1]})" fill="{fill}"/>'
        )
    return f'<circle cx="{position[0]}" cy="{position[1]}" r="{radius}" fill="{fill}"/>'


def _colour(series: dict[str, Any], i: int) -> str:
    color = series.get("color") or f"var(--series-{i % len(COLOURS)})"
    if color.startswith("var(--series-"):  # a variable of the page's style sheet
        return COLOURS[int(color[13:-1])]
    return escape(color.removeprefix("light-dark(").partition(",")[0])


def _colour_of(bar: dict[str, Any], value: float) -> str:
    """Return the colour of a value, interpolated linearly between two stops of a colour map."""
    low, high = bar["range"]
    share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
    stops = [bytes.fromhex(stop[1:]) for stop in bar["stops"]]
    position = min(max(share, 0), 1) * (len(stops) - 1)
    i = min(int(position), len(stops) - 2)
    mixed = (a + (b - a) * (position - i) for a, b in zip(stops[i], stops[i + 1], strict=True))
    return "#" + "".join(f"{int(v + 0.5):02x}" for v in mixed)


def _columns(
    series: dict[str, Any], curve: Curve, bundle: dict[str, Any]
) -> list[tuple[float, float, float]]:
    """Return both sides and the height of each bar; bars of several series are side by side."""
    if series["mark"] == "hist":
        return _bins(series, bundle)
    together = [one for one in bundle["series"] if one["mark"] == "bar"]
    width = series["width"] / len(together)
    begin = next(i for i, one in enumerate(together) if one is series) * width - series["width"] / 2
    return [(x + begin, x + begin + width, y) for x, y in (p for p in curve if p is not None)]


def _level(series: dict[str, Any], level: float, place: Place) -> str:
    """Return the contour line of a level as an SVG path, as in web/page/charts/contour.js."""
    x, y, z = series["x"], series["y"], series["z"]
    parts: list[str] = []
    for (upper, lower), (y0, y1) in zip(pairwise(z), pairwise(y), strict=True):
        for j, (x0, x1) in enumerate(pairwise(x)):
            a, b, c, d = corners = upper[j], upper[j + 1], lower[j + 1], lower[j]
            if None in corners or min(corners) >= level or max(corners) < level:
                continue
            ends = [
                point
                for first, last, point in (
                    (a, b, (x0 + _share(a, b, level) * (x1 - x0), y0)),
                    (b, c, (x1, y0 + _share(b, c, level) * (y1 - y0))),
                    (d, c, (x0 + _share(d, c, level) * (x1 - x0), y1)),
                    (a, d, (x0, y0 + _share(a, d, level) * (y1 - y0))),
                )
                if (first >= level) != (last >= level)
            ]
            if len(ends) == 4 and (a / 4 + b / 4 + c / 4 + d / 4 >= level) != (a >= level):
                ends = [ends[3], *ends[:3]]  # in a saddle, the lines cut off the other two corners
            for one, other in zip(ends[::2], ends[1::2], strict=True):
                parts.append(f"M{' '.join(place(*one))}L{' '.join(place(*other))}")
    return "".join(parts)


def _share(low: float, high: float, level: float) -> float:
    return (level / 2 - low / 2) / (high / 2 - low / 2) if low != high else 0.0


def _bar(
    bar: dict[str, Any], top: float, bottom: float, left: float | None
) -> tuple[list[str], float]:
    """Return a colour bar and its width; with left=None it is at the right edge of the chart."""
    low, high = bar["range"]
    if "levels" in bar:
        ticks = [(level, _plain(f"{level:.4g}")) for level in bar["levels"]]
    elif low == high:
        ticks = [(low, _plain(f"{low:.6g}"))]
    else:
        ticks = _scale([low, high], "linear", 6, has_room=False)[1]
    width = 40 + CHARACTER * max((len(text) for _, text in ticks), default=0)
    x = (WIDTH - width if left is None else left) + 8
    stops = "".join(
        f'<stop offset="{i / (len(bar["stops"]) - 1):.4f}" stop-color="{stop}"/>'
        for i, stop in enumerate(bar["stops"])
    )
    name = f"colours-{crc32(stops.encode()):x}"  # unique, as one page may contain several documents
    parts = [
        f'<linearGradient id="{name}" x1="0" y1="1" x2="0" y2="0">{stops}</linearGradient>',
        f'<rect x="{_fixed(x)}" y="{_fixed(top)}" width="12" height="{_fixed(bottom - top)}"'
        f' fill="url(#{name})"/>',
    ]
    for value, text in ticks:
        share = (value / 2 - low / 2) / (high / 2 - low / 2) if low < high else 0.5
        parts.append(_text(x + 18, bottom - share * (bottom - top) + 4, text, anchor="start"))
    return parts, width


def _head(bundle: dict[str, Any]) -> tuple[list[str], int]:
    """Return the title and the legend, and the y coordinate below them."""
    parts: list[str] = []
    y = 10
    if bundle["title"]:
        y += 20
        parts.append(_text(14, y - 6, bundle["title"], 'font-weight="600" font-size="15"', "start"))
    series = bundle["series"]
    if any(one["label"] for one in series):
        x = 14.0
        y += 20
        for i, one in enumerate(series):
            label = one["label"] or f"series {i}"
            width = 22 + CHARACTER * len(label) + 16
            if x > 14 and x + width > WIDTH:
                x, y = 14.0, y + 20
            if one.get("lineWidth") != 0:
                parts.append(_line(f"M{_fixed(x)} {y - 9}h16", _colour(one, i), i, one))
            if one.get("marker"):
                parts.append(_spot(one, (_fixed(x + 8), str(y - 9)), "", _colour(one, i)))
            parts.append(_text(x + 22, y - 5, label, anchor="start"))
            x += width
    return parts, y


def _axes(
    across: Scale, down: Scale, area: tuple[float, float, float, float], bundle: dict[str, Any]
) -> Iterable[str]:
    left, right, top, bottom = area
    for value, text in down[1]:
        y = bottom - down[0](value) * (bottom - top)
        path = f"M{_fixed(left)} {_fixed(y)}H{_fixed(right)}"
        yield f'<path d="{path}" stroke="#d5dee0"/>'
        yield _text(left - 8, y + 4, text, anchor="end")
    yield f'<path d="M{_fixed(left)} {_fixed(bottom)}H{_fixed(right)}" stroke="#5a6b72"/>'
    for value, text in across[1]:
        x = left + across[0](value) * (right - left)
        yield f'<path d="M{_fixed(x)} {_fixed(bottom)}v4" stroke="#5a6b72"/>'
        yield _text(min(x, right + 12 - CHARACTER * len(text) / 2), bottom + 18, text)
    if bundle["xlabel"]:
        yield _text((left + right) / 2, bottom + 38, bundle["xlabel"])
    if bundle["ylabel"]:
        turned = f'transform="translate(14 {_fixed((top + bottom) / 2)}) rotate(-90)"'
        yield _text(0, 0, bundle["ylabel"], turned)


def _text(x: float, y: float, text: str, more: str = "", anchor: str = "middle") -> str:
    attributes = f'x="{_fixed(x)}" y="{_fixed(y)}" text-anchor="{anchor}"'
    return f'<text {attributes} fill="{INK}" {more}>{escape(_allowed(text))}</text>'


def _allowed(text: str) -> str:
    """Replace the characters that XML forbids."""
    replaced = str.maketrans(
        dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], "�")
    )
    return text.translate(replaced).encode("utf-8", "replace").decode()


def _line(path: str, colour: str, i: int, series: dict[str, Any]) -> str:
    style = f'stroke="{colour}" stroke-width="{series.get("lineWidth") or 1.75:g}"'
    stroke = series.get("dashes")
    dashes = DASHES[i // len(COLOURS) % len(DASHES)]
    if stroke is not None:
        dashes = f' stroke-dasharray="{stroke}"' if stroke else ""
    ends = 'stroke-linecap="round" stroke-linejoin="round"'
    return f'<path d="{path}" fill="none" {style} {ends}{dashes}/>'


def _path(curve: Curve, place: Place) -> str:
    parts: list[str] = []
    is_down = False
    for point in curve:
        if point is not None:
            parts.append(("L" if is_down else "M") + " ".join(place(*point)))
        is_down = point is not None
    return "".join(parts)


def _area(curve: Curve, place: Place, base: float) -> str:
    """Return the area between a line and its base as an SVG path, with a part per piece."""
    parts: list[str] = []
    run: list[tuple[float, float]] = []
    for point in [*curve, None]:
        if point is not None:
            run.append(point)
        elif run:
            ends = [(run[-1][0], base), (run[0][0], base)]
            parts.append("M" + "L".join(" ".join(place(*p)) for p in [*run, *ends]) + "Z")
            run = []
    return "".join(parts)


def _fixed(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# -- Scales --------------------------------------------------------------------------------------


def _scale(
    values: Sequence[float],
    kind: str,
    wanted: float,
    *,
    has_room: bool,
    middles: Sequence[float] = (),
) -> Scale:
    """Return a scale with ticks at 1, 2 and 5 times powers of ten, as web/page/charts/scales.js.

    `middles` are the values of bars, if there are no other marks; a few equidistant ones are the
    ticks.
    """
    low, high = (min(values), max(values)) if values else (1, 10) if kind == "log" else (0, 1)
    if kind == "log":
        return _log(low, high, wanted)
    is_whole = all(float(value).is_integer() for value in middles or values)
    if has_room and low < high:
        room = high / 20 - low / 20
        low, high = max(low - room, -LARGEST_FLOAT64), min(high + room, LARGEST_FLOAT64)
    elif low == high:
        room = abs(low) / 2 or 1
        low, high = max(low - room, -LARGEST_FLOAT64), min(high + room, LARGEST_FLOAT64)
    half = high / 2 - low / 2  # the difference itself may be infinite
    step = _nice(min(half / wanted * 2 or LARGEST_FLOAT64 / 4, LARGEST_FLOAT64 / 4))
    if is_whole:
        step = max(step, 1)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    ticks = [n * step for n in range(first, min(last, first + 50) + 1)]
    most = max(abs(low), abs(high))
    decimals = max(0, -floor(log10(step) + 1e-9))
    if most < 1e6 and decimals <= 6:
        form = f".{decimals}f"
    else:
        form = f".{max(1, floor(log10(most)) - floor(log10(step) + 1e-9) + 1)}g"
    texts = [_plain(format(tick, form)) for tick in ticks]
    names = [_plain(f"{value:.6g}") for value in middles]
    if len(middles) <= wanted and _are_even(middles) and len(set(names)) == len(names):
        ticks, texts = list(middles), names
    return lambda value: (value / 2 - low / 2) / half, list(zip(ticks, texts, strict=True)), low


def _are_even(values: Sequence[float]) -> bool:
    """Return whether ascending values have equal distances; False if there are none."""
    if not values:
        return False
    step = (values[-1] - values[0]) / max(1, len(values) - 1)
    return all(abs(v - values[0] - i * step) <= 1e-6 * step for i, v in enumerate(values))


def _log(low: float, high: float, wanted: float) -> Scale:
    if low == high:
        low, high = low / 2, high * 2
    bottom, top = log10(low), log10(high)
    every = max(1, ceil((top - bottom) / wanted))
    factors = range(1, 10) if top - bottom < 1 else (1, 2, 5) if top - bottom < 3 else (1,)
    ticks = [
        tick
        for n in range(floor(bottom), floor(top) + 1)
        if n % every == 0
        for tick in (float(f"{factor}e{n}") for factor in factors)
        if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)
    ]
    return (
        lambda value: (log10(value) - bottom) / (top - bottom),
        [(tick, _plain(f"{tick:.6g}")) for tick in ticks],
        low,
    )


def _named(names: Sequence[str]) -> Scale:
    """Return a scale whose ticks are the names of 0, 1, 2 and so on, as many as fit."""
    longest = max(len(name) for name in names)
    every = max(1, ceil(len(names) * (longest * CHARACTER + 8) / (WIDTH - 60)))
    ticks = [(float(i), name) for i, name in enumerate(names) if i % every == 0]
    return lambda value: (value + 0.5) / len(names), ticks, -0.5


def _nice(wanted: float) -> float:
    """Return the nearest of 1, 2, 5 and 10 times a power of ten, by ratio."""
    power = 10.0 ** floor(log10(wanted))
    ratio = wanted / power
    limits = ((2**0.5, 1), (10**0.5, 2), (50**0.5, 5))
    return next((factor for limit, factor in limits if ratio < limit), 10) * power


def _plain(text: str) -> str:
    """Format a number: "-0" as "0", a typographic minus sign, and a short exponent."""
    if not text.strip("-0."):
        text = text.removeprefix("-")
    mantissa, _, exponent = text.partition("e")
    return (f"{mantissa}e{int(exponent)}" if exponent else text).replace("-", "\u2212")
