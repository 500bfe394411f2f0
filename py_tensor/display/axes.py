"""Axes of charts: ticks, their texts, and the room that texts need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

TICK_SIZE, TITLE_SIZE = 12, 14
"""The sizes of texts in pixels."""

LARGEST = sys.float_info.max

LARGEST_STEP = LARGEST / 4
"""The largest step between ticks: a few steps span the whole range of floats."""

MAX_TICKS = 50

Tick = tuple[float, str]
"""A value and its text; a minor tick has none."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A map from values to shares of a length, and its ticks.

    Attributes
    ----------
    low, high : float
        The values at both ends; `low` is the greater one if the axis is reversed.
    """

    low: float
    high: float
    ticks: Sequence[Tick]
    is_log: bool = False

    def positions(self, values: Sequence[float], start: float, end: float) -> list[float]:
        """Return where values lie if the axis reaches from `start` to `end`."""
        low, high = self.low, self.high
        if self.is_log:
            values, low, high = [log10(value) for value in values], log10(low), log10(high)
        half = low / 2  # halves, because a difference may be infinite
        scale = (end - start) / (high / 2 - half)
        return [start + (value / 2 - half) * scale for value in values]

    def placed(self, start: float, end: float) -> Iterator[Tick]:
        """Yield the position and the text of each tick."""
        positions = self.positions([value for value, _ in self.ticks], start, end)
        return zip(positions, (text for _, text in self.ticks), strict=True)

    def within(self, low: float, high: float) -> Axis:
        """Return a part of the axis, with the same ticks."""
        ticks = [tick for tick in self.ticks if low <= tick[0] <= high]
        return Axis(low, high, ticks, self.is_log)


def linear(low: float, high: float, wanted: float, is_whole: bool = False) -> Axis:
    """Return an axis with about `wanted` ticks at 1, 2 or 5 times powers of ten.

    Ticks are integers if `is_whole`. A single value is put into the middle.
    """
    if low == high:
        room = abs(low) / 2 or 1
        low, high = max(low - room, -LARGEST), min(high + room, LARGEST)
    least, most = min(low, high), max(low, high)
    about = min((most / 2 - least / 2) / wanted * 2 or LARGEST_STEP, LARGEST_STEP)
    smallest = 1 if is_whole else 0
    ticks = _ticks(least, most, max(_nice(about), smallest))
    if len(ticks) < 2:
        ticks = _ticks(least, most, max(_nice(about / 2), smallest))
    return Axis(low, high, ticks)


def _ticks(low: float, high: float, step: float) -> list[Tick]:
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    write = _writer(step, max(abs(low), abs(high)))
    values = [n * step for n in range(first, min(last, first + MAX_TICKS - 1) + 1)]
    return [(value, write(value)) for value in values]


def _writer(step: float, most: float) -> Callable[[float], str]:
    """Return a format for all ticks of an axis, in which neighbours differ.

    `most` is the largest absolute value.
    """
    power = floor(log10(step) + 1e-9)
    decimals, digits = max(0, -power), floor(log10(most)) - power
    if most < 1e6 and decimals <= 6:
        return lambda value: _plain(f"{value:.{decimals}f}")
    if digits <= 3:
        return _scientific
    if most < 1e12 and decimals <= 3:
        return lambda value: _plain(f"{value:.{decimals}f}")
    return lambda value: _plain(f"{value:.{digits}e}") if value else "0"


def logarithmic(low: float, high: float, wanted: float) -> Axis:
    """Return a logarithmic axis; both ends are positive."""
    if low == high:
        low, high = low / 2, high * 2
    bottom, top = log10(low), log10(high)
    every = max(1, ceil((top - bottom) / wanted))
    factors = range(1, 10) if top - bottom < 1 else (1, 2, 5) if top - bottom < 3 else (1,)
    powers = range(floor(bottom), floor(top) + 1)
    values = [float(f"{factor}e{n}") for n in powers if n % every == 0 for factor in factors]
    values = [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    write = _scientific if any(map(_is_extreme, values)) else short
    ticks = [(value, write(value)) for value in values]
    if len(factors) == 1 and top - bottom <= 8:
        minor = [float(f"{factor}e{n}") for n in powers for factor in range(2, 10)]
        ticks += [(value, "") for value in minor if low <= value <= high]
    return Axis(low, high, ticks, is_log=True)


def named(names: Sequence[str], wanted: float) -> Axis:
    """Return an axis with names at 0, 1, 2 and so on, of which at most about `wanted` are shown."""
    every = max(1, ceil(len(names) / max(1, wanted)))
    ticks = [(float(i), name) for i, name in enumerate(names) if i % every == 0]
    return Axis(-0.5, max(1, len(names)) - 0.5, ticks)


def fitting(make: Callable[[float], Axis], length: float) -> Axis:
    """Return a horizontal axis of this length whose texts do not overlap.

    `make` returns an axis with about as many ticks as its argument says.
    """
    wanted = max(1, floor(length / 64))
    while True:
        axis = make(wanted)
        needed = sum(width_of(text) + 12 for _, text in axis.ticks if text)
        if needed <= length + 40 or wanted <= 1:
            return axis
        wanted = min(wanted - 1, floor(wanted * length / needed))


def _nice(wanted: float) -> float:
    """Return the nearest of 1, 2, 5 and 10 times a power of ten, by ratio."""
    power = 10.0 ** floor(log10(wanted))
    ratio = wanted / power
    limits = ((2**0.5, 1), (10**0.5, 2), (50**0.5, 5))
    return next((factor for limit, factor in limits if ratio < limit), 10) * power


# -- Texts ---------------------------------------------------------------------------------------


def short(value: float) -> str:
    """Return a number with at most six digits."""
    return _scientific(value) if _is_extreme(value) else _plain(f"{value:.6g}")


def _is_extreme(value: float) -> bool:
    """Return whether a number has too many zeros to read."""
    return abs(value) >= 1e6 or 0 < abs(value) < 1e-4


def _scientific(value: float) -> str:
    """Return a number as at most four digits and a power of ten."""
    digits, _, exponent = f"{value:.3e}".partition("e")
    return _plain(f"{digits.rstrip('0').rstrip('.')}e{exponent}") if value else "0"


def _plain(text: str) -> str:
    """Format a number: "-0" as "0", a typographic minus sign, and a short exponent."""
    digits, _, exponent = text.partition("e")
    if not digits.strip("-0."):
        digits = digits.removeprefix("-")
    return (f"{digits}e{int(exponent)}" if exponent else digits).replace("-", "\u2212")


_NARROW, _WIDE = set(" .,:;!|'ijltfrI()[]"), set("mwMW@%—…")


def width_of(text: str, size: float = TICK_SIZE) -> float:
    """Return about the width of a text in pixels, in a usual font without serifs."""
    wide = sum(char in _WIDE or ord(char) > 0x2E80 for char in text)
    narrow = sum(char in _NARROW for char in text)
    return size * (0.57 * len(text) + 0.38 * wide - 0.25 * narrow)


def shortened(text: str, width: float, size: float = TICK_SIZE) -> str:
    """Return as much of a text as fits into a width, with an ellipsis if anything is missing."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, width: float) -> list[str]:
    """Return the lines of a title."""
    lines: list[str] = []
    width /= 1.12  # titles are bold
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, TITLE_SIZE) <= width:
            lines[-1] = longer
        else:
            lines.append(shortened(word, width, TITLE_SIZE))
    return lines
