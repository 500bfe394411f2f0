"""The gallery's live pictures: an example's functions applied to what the page asks for.

Imported when the page first asks. `thumbnails.py` takes the examples' functions by `definitions`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import py_tensor as pt
from py_tensor.display.options import ImageOptions

Example = SimpleNamespace

LEVELS = ImageOptions(vmin=0, vmax=1, cmap="gray")
"""What the numbers of a live picture mean."""


@lru_cache
def definitions(code: str) -> Example:
    """What an example defines: imports, constants (in capitals), functions; nothing is run."""
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
    """The picture of an example's page.

    Parameters
    ----------
    name, code
        Of the example.
    values
        What the reader chose.
    frame
        A buffer of uint32, R | G << 8 | B << 16 for each pixel of the reader's own picture.

    Returns
    -------
    Tensor
        float32 from 0 to 1, of shape (height, width), or (height, width, 3) in colours.
    """
    given = values if frame is None else values | {"frame": pt.asarray(frame)}
    return PICTURES[name](definitions(code), **given)


def mandelbrot(
    example: Example, x: float, y: float, width: float, size: int, steps: int
) -> pt.Tensor:
    """The square of the plane about x + yi, black where points stay near for all steps."""
    times = example.escape_times(x, y, width, size, steps)[:, :, None]
    phases = pt.tensor([0.0, 0.55, 1.1])
    colours = 0.5 - 0.5 * pt.cos(0.77 * pt.sqrt(times.astype(pt.float32)) + phases)
    return pt.where(times < steps, colours, 0.0)


def filters(example: Example, frame: pt.Tensor, height: int, width: int, filter: str) -> pt.Tensor:
    """A picture through one of the example's filters."""
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
"""By the example's name."""
