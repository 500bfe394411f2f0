"""Drawings of charts, and of what is around images, in the size at which the page shows them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from py_tensor.display.screen import Bundle

KEPT_SIZES = 200
"""The number of displays whose size is remembered; the page updates no more."""

LARGEST_FIGURE = 960
"""The largest width of an image with what is around it."""


class Drawings:
    """Adds drawings to bundles.

    A display is drawn in the size that the page told for it last, and a new one in that of the
    console.
    """

    def __init__(self) -> None:
        self._usual: tuple[float, float] = (680, 800)
        self._sizes: OrderedDict[int, tuple[float, float]] = OrderedDict()
        self._last: tuple[Bundle, tuple[float, float], Bundle] | None = None

    def resize(self, width: float, height: float) -> None:
        """Set the size that a new display can have, in CSS pixels."""
        self._usual = width, height

    def added(self, number: int, bundle: Bundle) -> Bundle:
        """Return the bundle of a display with its drawing, if its kind has one."""
        if bundle["kind"] != "plot" and bundle.get("figure") is None:
            return bundle
        size = self._sizes.get(number, self._usual)
        if self._last is None or self._last[0] is not bundle or self._last[1] != size:
            self._last = bundle, size, _drawing(bundle, *size)
        # A chart that moves into a display, `d.update(pt.plot(y))`, is drawn once.
        return bundle | {"display": number, "drawing": self._last[2]}

    def again(
        self, bundle: Bundle, width: float, height: float, window: dict[str, Any] | None
    ) -> Bundle:
        """Draw a bundle that the page shows in another size, or a part of its chart."""
        number = bundle.get("display", 0)
        self._sizes[number] = width, height
        self._sizes.move_to_end(number)
        while len(self._sizes) > KEPT_SIZES:
            self._sizes.popitem(last=False)
        return _drawing(bundle, width, height, window)


def _drawing(
    bundle: Bundle, width: float, height: float, window: dict[str, Any] | None = None
) -> Bundle:
    from py_tensor.display import drawing  # at first use, with the other modules of charts

    if bundle["kind"] == "plot":
        drawn = drawing.drawn(bundle, width, window)
    else:
        drawn = drawing.drawn_frame(bundle["figure"], bundle, min(width, LARGEST_FIGURE), height)
    return drawn | {"size": [width, height]}
