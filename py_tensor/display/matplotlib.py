"""A Matplotlib backend that shows figures as PNG with `pt.display`.

The page uses it (``MPLBACKEND=module://py_tensor.display.matplotlib``). ``plt.show()`` displays the
open figures in order and closes them, like the inline backend of notebooks.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, ClassVar

from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from py_tensor.display.screen import display


class FigurePicture:
    """A snapshot of a figure as PNG."""

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
    """A figure manager that shows its figure once."""

    def show(self) -> None:
        """Display the figure and close it."""
        try:
            display(FigurePicture(self.canvas.figure))
        finally:  # Otherwise a figure that cannot be drawn would fail again in every later show.
            pyplot.close(self.num)


class FigureCanvas(FigureCanvasAgg):
    """The canvas; Matplotlib looks for this name in a backend."""

    manager_class: ClassVar[Any] = FigureManager
