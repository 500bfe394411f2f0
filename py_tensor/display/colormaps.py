"""Colour maps: tables of 256 colours, interpolated from a few stops."""

from __future__ import annotations

from array import array
from functools import cache
from itertools import pairwise

COLOURS = 256

# Evenly spaced stops, lowest value first, as hexadecimal RGB. viridis, magma and inferno are
# perceptually uniform maps (Smith and van der Walt, 2015). coolwarm is a diverging map (Moreland,
# 2009).
STOPS = {
    "viridis": "440154 481a6c 472f7d 414487 39568c 31688e 2a788e 23888e"
    " 1f988b 22a884 35b779 54c568 7ad151 a5db36 d2e21b fde725",
    "magma": "000004 180f3e 451077 721f81 9f2f7f cd4071 f1605d fd9567 fec98d fcfdbf",
    "inferno": "000004 1b0c42 4b0c6b 781c6d a52c60 cf4446 ed6925 fb9a06 f7d03c fcffa4",
    "coolwarm": "3b4cc0 6788ee 9abbff c9d7f0 edd1c2 f7a889 e26952 b40426",
    "gray": "000000 ffffff",
}


@cache
def table(name: str) -> array[int]:
    """Return the colours of a map as `COLOURS` opaque pixels, each R | G << 8 | B << 16 | A << 24.

    Each channel is interpolated linearly between two stops and rounded. `name` is in `STOPS`.
    """
    stops = [tuple(bytes.fromhex(stop)) for stop in STOPS[name].split()]
    spans = list(pairwise(stops))
    pixels = array("I")
    for n in range(COLOURS):
        position = n * len(spans) / (COLOURS - 1)
        low, high = spans[min(int(position), len(spans) - 1)]
        share = position - min(int(position), len(spans) - 1)
        r, g, b = (int(x + (y - x) * share + 0.5) for x, y in zip(low, high, strict=True))
        pixels.append(r | g << 8 | b << 16 | 0xFF << 24)
    return pixels
