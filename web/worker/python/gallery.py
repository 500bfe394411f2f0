"""The gallery's live pictures: applies an example's functions to the parameters from the page.

Imported on first use. `thumbnails.py` gets the examples' functions from `definitions`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import py_tensor as pt
from py_tensor.display.options import Options

Example = SimpleNamespace

LOOKS = {"mandelbrot": Options(), "filters": Options(vmin=0, vmax=1, cmap="gray")}
"""The value range and colour map of each live picture: those of the example."""


@lru_cache
def definitions(code: str) -> Example:
    """Return an example's imports, constants (in capitals) and functions, without other code."""
    module = ast.parse(code)
    module.body = [statement for statement in module.body if _defines(statement)]
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(module, "<example>", "exec"), names)
    return SimpleNamespace(**names)


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        names = [node.id for target in statement.targets for node in ast.walk(target)
                 if isinstance(node, ast.Name)]  # fmt: skip
        return all(name.isupper() for name in names)
    return isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom)


def live_picture(name: str, code: str, values: dict[str, Any], frame: Any = None) -> pt.Tensor:
    """Return the live picture of an example.

    Parameters
    ----------
    name, code
        The example's name and source.
    values
        The parameters that the reader chose.
    frame
        A buffer of uint32, R | G << 8 | B << 16 for each pixel of the reader's own picture.

    Returns
    -------
    Tensor
        float32, of shape (height, width), or (height, width, 3) from 0 to 1 for colour.
    """
    given = values if frame is None else values | {"frame": pt.asarray(frame)}
    return PICTURES[name](definitions(code), **given)


def mandelbrot(
    example: Example, x: float, y: float, width: float, size: int, steps: int
) -> pt.Tensor:
    """Return the square of the plane around x + yi, as in the example."""
    return pt.log(example.escape_times(x, y, width, size, steps).astype(pt.float32))


def filters(example: Example, frame: pt.Tensor, height: int, width: int, filter: str) -> pt.Tensor:
    """Apply one of the example's filters to a picture."""
    shifts = pt.tensor([0, 8, 16], dtype=pt.uint32)
    picture = (frame.reshape(height, width, 1) >> shifts & 255).astype(pt.float32) / 255
    match filter:
        case "none":
            return picture
        case "edges":
            grey = picture @ pt.tensor([0.299, 0.587, 0.114])
            return example.edges(grey)
        case _:
            return example.convolve(picture, getattr(example, filter.upper()))


PICTURES: dict[str, Callable[..., pt.Tensor]] = {"mandelbrot": mandelbrot, "filters": filters}
"""Maps an example's name to the function that makes its picture."""
