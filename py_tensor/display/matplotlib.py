"""Matplotlib's backend for hosts that show displays: figures as PNG.

The page uses it (``MPLBACKEND=module://py_tensor.display.matplotlib``). ``plt.show()`` displays the
open figures in order, and closes them, as the inline backend of notebooks does.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, ClassVar

from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from py_tensor.display.screen import display


class FigurePicture:
    """A figure as it was when it was shown."""

    def __init__(self, figure: Any) -> None:
        target = BytesIO()
        figure.savefig(target, format="png")
        self._png = target.getvalue()
        self._repr = repr(figure)

    def _repr_png_(self) -> bytes:
        return self._png

    def __repr__(self) -> str:
        return self._repr


class FigureManager(FigureManagerBase):
    """Shows its figure once."""

    def show(self) -> None:
        """Display the figure and close it."""
        try:
            display(FigurePicture(self.canvas.figure))
        finally:  # a figure that cannot be drawn would be in the way of later ones
            pyplot.close(self.num)


class FigureCanvas(FigureCanvasAgg):
    """Matplotlib looks for this name in a backend."""

    manager_class: ClassVar[Any] = FigureManager
