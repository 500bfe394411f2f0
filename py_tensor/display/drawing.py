"""Charts as SVG, for hosts that draw none: from the bundle that the page draws.

`charts.Chart.bundle` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

WIDTH, HEIGHT = 680, 326
"""Pixels, without title and legend."""

CHARACTER = 6.7
"""Pixels of a character of 12 px, on average."""

LARGEST = 1.7976931348623157e308

# Those of the page's style sheet (web/page/display/display.css) on paper.
COLOURS = (
    *("#0f766e", "#b4541a", "#4059b8", "#a3286a"),
    *("#6b7a12", "#6f42b8", "#8c6a12", "#4b5d66"),
)
DASHES = ("", ' stroke-dasharray="5 4"', ' stroke-dasharray="0.5 4"')
"""When colours run out, lines are dashed, then dotted."""

Scale = tuple[Callable[[float], float], list[tuple[float, str]]]
"""Where a value stands between 0 and 1, and the ticks: value and text."""

Curve = list[tuple[float, float] | None]
"""Points; None is a gap."""


def svg_of(bundle: dict[str, Any]) -> str:
    """The SVG document of a chart, in light colours on white."""
    curves = [_points(series, bundle) for series in bundle["series"]]
    points = [point for curve in curves for point in curve if point is not None]
    has_room = bundle["mark"] == "scatter"
    across = _scale([x for x, _ in points], bundle["xscale"], WIDTH / 80, has_room=has_room)
    down = _scale([y for _, y in points], bundle["yscale"], 5, has_room=True)
    head, top = _head(bundle)
    left = 14 + CHARACTER * max((len(text) for _, text in down[1]), default=0)
    left += 20 if bundle["ylabel"] else 0
    right, bottom = WIDTH - 14, top + HEIGHT - 10 - (46 if bundle["xlabel"] else 28)

    def place(point: tuple[float, float]) -> tuple[str, str]:
        x = left + across[0](point[0]) * (right - left)
        return _fixed(x), _fixed(bottom - down[0](point[1]) * (bottom - top))

    parts = [*head, *_axes(across, down, (left, right, top, bottom), bundle)]
    for i, curve in enumerate(curves):
        colour = COLOURS[i % len(COLOURS)]
        if bundle["mark"] == "line":
            parts.append(_line(_path(curve, place), i))
        if bundle["mark"] == "scatter" or len(curve) <= 40:
            for cx, cy in (place(point) for point in curve if point is not None):
                parts.append(f'<circle cx="{cx}" cy="{cy}" r="2.5" fill="{colour}"/>')
    if not points:
        middle = (left + right) / 2, (top + bottom) / 2
        parts.append(_text(*middle, "No finite points"))
    height = top + HEIGHT - 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )


def _points(series: dict[str, Any], bundle: dict[str, Any]) -> Curve:
    def is_shown(value: float | None, scale: str) -> bool:
        return value is not None and (bundle[scale] == "linear" or value > 0)

    return [
        (x, y) if is_shown(x, "xscale") and is_shown(y, "yscale") else None
        for x, y in zip(series["x"], series["y"], strict=True)
    ]


def _head(bundle: dict[str, Any]) -> tuple[list[str], int]:
    """Title and legend, and where the area below them begins."""
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
            parts.append(_line(f"M{_fixed(x)} {y - 9}h16", i))
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
    place = f'x="{_fixed(x)}" y="{_fixed(y)}" text-anchor="{anchor}"'
    return f'<text {place} fill="#33444b" {more}>{escape(_allowed(text))}</text>'


def _allowed(text: str) -> str:
    """Text without the characters that XML forbids."""
    is_odd = str.maketrans(dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], "�"))
    return text.translate(is_odd).encode("utf-8", "replace").decode()


def _line(path: str, i: int) -> str:
    style = f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="1.75"'
    dashes = DASHES[i // len(COLOURS)]
    return f'<path d="{path}" fill="none" {style} stroke-linejoin="round"{dashes}/>'


def _path(curve: Curve, place: Callable[[tuple[float, float]], tuple[str, str]]) -> str:
    parts: list[str] = []
    is_down = False
    for point in curve:
        if point is not None:
            parts.append(("L" if is_down else "M") + " ".join(place(point)))
        is_down = point is not None
    return "".join(parts)


def _fixed(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# -- Scales --------------------------------------------------------------------------------------


def _scale(values: Sequence[float], kind: str, wanted: float, *, has_room: bool) -> Scale:
    """As web/page/ui/axis.js makes it: ticks at 1, 2 and 5 times powers of ten."""
    low, high = (min(values), max(values)) if values else (1, 10) if kind == "log" else (0, 1)
    if kind == "log":
        return _log(low, high, wanted)
    is_whole = all(float(value).is_integer() for value in values)
    if has_room and low < high:
        room = high / 20 - low / 20
        low, high = max(low - room, -LARGEST), min(high + room, LARGEST)
    elif low == high:
        room = abs(low) / 2 or 1
        low, high = max(low - room, -LARGEST), min(high + room, LARGEST)
    half = high / 2 - low / 2  # the difference itself may be infinite
    step = _nice(min(half / wanted * 2 or LARGEST / 4, LARGEST / 4))
    if is_whole:
        step = max(step, 1)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    ticks = [n * step for n in range(first, min(last, first + 50) + 1)]
    most = max(abs(low), abs(high))
    decimals = max(0, -floor(log10(step) + 1e-9))
    if most < 1e6 and decimals <= 6:
        form = f".{decimals}f"
    else:
        form = f".{max(1, ceil(log10(most / step)))}g"
    texts = [_plain(format(tick, form)) for tick in ticks]
    return lambda value: (value / 2 - low / 2) / half, list(zip(ticks, texts, strict=True))


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
    )


def _nice(wanted: float) -> float:
    """The nearest of 1, 2, 5 and 10 times a power of ten, as ratios go."""
    power = 10.0 ** floor(log10(wanted))
    ratio = wanted / power
    limits = ((2**0.5, 1), (10**0.5, 2), (50**0.5, 5))
    return next((factor for limit, factor in limits if ratio < limit), 10) * power


def _plain(text: str) -> str:
    """A number without a sign of zero, with a minus sign, and a short exponent."""
    if not text.strip("-0."):
        text = text.removeprefix("-")
    mantissa, _, exponent = text.partition("e")
    return (f"{mantissa}e{int(exponent)}" if exponent else text).replace("-", "\u2212")
