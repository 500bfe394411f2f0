"""Shapes and axes: broadcasting and its error diagram, axes, reshape."""

from __future__ import annotations

from itertools import product
from textwrap import dedent

import numpy as np
import pytest

from py_tensor.base import shapes
from py_tensor.base.errors import AxisError, ShapeError
from py_tensor.base.shapes import Shape

SHAPES = tuple(s for rank in range(4) for s in product((0, 1, 2, 3), repeat=rank))


def test_broadcast_is_numpys() -> None:
    for a, b in product(SHAPES, repeat=2):
        try:
            expected = np.broadcast_shapes(a, b)
        except ValueError:
            with pytest.raises(ShapeError):
                shapes.broadcast("add", a, b)
        else:
            assert shapes.broadcast("add", a, b) == expected


def test_broadcast_of_none_one_and_three() -> None:
    assert shapes.broadcast("f") == ()
    assert shapes.broadcast("f", (2, 3)) == (2, 3)
    assert shapes.broadcast("f", (2, 1), (1, 3), (4, 1, 1)) == (4, 2, 3)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            ((8, 3, 4), (5, 4)),
            """\
            add: shapes (8, 3, 4) and (5, 4) do not broadcast
                (8, 3, 4)
                   (5, 4)
                    ^ axis -2: 3 vs 5 (sizes must be equal, or one must be 1)""",
        ),
        (
            ((3,), (4,)),
            """\
            add: shapes (3,) and (4,) do not broadcast
                (3,)
                (4,)
                 ^ axis -1: 3 vs 4 (sizes must be equal, or one must be 1)""",
        ),
        (
            ((2, 3), (3,), (2, 4)),
            """\
            add: shapes (2, 3) and (3,) and (2, 4) do not broadcast
                (2, 3)
                (2, 4)
                    ^ axis -1: 3 vs 4 (sizes must be equal, or one must be 1)""",
        ),
        (
            ((7,), (2, 5)),
            """\
            add: shapes (7,) and (2, 5) do not broadcast
                   (7,)
                (2, 5)
                    ^ axis -1: 7 vs 5 (sizes must be equal, or one must be 1)""",
        ),
        (
            ((10, 200, 3), (1, 20, 3)),
            """\
            add: shapes (10, 200, 3) and (1, 20, 3) do not broadcast
                (10, 200, 3)
                 (1,  20, 3)
                       ^ axis -2: 200 vs 20 (sizes must be equal, or one must be 1)""",
        ),
        (
            ((4, 1, 6, 1, 2), (3, 5, 1, 2)),
            """\
            add: shapes (4, 1, 6, 1, 2) and (3, 5, 1, 2) do not broadcast
                (4, 1, 6, 1, 2)
                   (3, 5, 1, 2)
                       ^ axis -3: 6 vs 5 (sizes must be equal, or one must be 1)""",
        ),
    ],
    ids=str,
)
def test_broadcast_error_draws_the_axis(given: tuple[Shape, ...], text: str) -> None:
    with pytest.raises(ShapeError) as caught:
        shapes.broadcast("add", *given)
    assert str(caught.value) == dedent(text)


def test_the_caret_is_under_the_axis() -> None:
    """It is under the last digit of both sizes, for every axis of every rank."""
    for rank in range(1, 6):
        for axis in range(-rank, 0):
            a, b = [1, 22, 1, 4444, 1][:rank], [1, 22, 1, 4444, 1][:rank]
            a[axis], b[axis] = 777, 55
            with pytest.raises(ShapeError) as caught:
                shapes.broadcast("f", tuple(a), tuple(b))
            _, first, second, caret = str(caught.value).split("\n")
            column = caret.index("^")
            assert first[: column + 1].endswith("777")
            assert second[: column + 1].endswith(" 55" if axis > -rank else "(55")
            assert f"^ axis {axis}: 777 vs 55" in caret


def test_parse_shape() -> None:
    assert shapes.parse_shape("zeros", 3) == (3,)
    assert shapes.parse_shape("zeros", [2, np.int64(3)]) == (2, 3)
    with pytest.raises(TypeError, match=r"zeros: shape must be .* not 1\.5"):
        shapes.parse_shape("zeros", 1.5)
    with pytest.raises(TypeError, match="zeros: shape must be"):
        shapes.parse_shape("zeros", (2, "3"))
    with pytest.raises(ShapeError, match=r"zeros: negative size in shape \(2, -3\)"):
        shapes.parse_shape("zeros", (2, -3))
    with pytest.raises(ShapeError, match="has 65 axes; at most 64"):
        shapes.parse_shape("zeros", (1,) * 65)


def test_axes() -> None:
    assert shapes.normalize_axes("sum", None, 3) == (0, 1, 2)
    assert shapes.normalize_axes("sum", -1, 3) == (2,)
    assert shapes.normalize_axes("sum", (2, -3), 3) == (0, 2)
    assert shapes.normalize_axes("sum", (), 3) == ()
    for axis in (3, -4):
        with pytest.raises(AxisError, match=f"sum: axis {axis} is out of bounds .* 3 axes"):
            shapes.normalize_axis("sum", axis, 3)
    with pytest.raises(AxisError, match=r"sum: repeated axis in \(1, -2\)"):
        shapes.normalize_axes("sum", (1, -2), 3)
    with pytest.raises(TypeError, match=r"sum: axis must be an int, not 1\.0"):
        shapes.normalize_axis("sum", 1.0, 3)
    assert issubclass(AxisError, IndexError)
    assert issubclass(AxisError, ValueError)


def test_reshape_is_numpys() -> None:
    targets = [t for n in range(4) for t in product((-1, 0, 1, 2, 3, 6), repeat=n)]
    for shape in ((), (0,), (6,), (2, 3), (0, 3), (1, 1)):
        for target in targets:
            try:
                expected = np.empty(shape).reshape(target).shape
            except ValueError:
                with pytest.raises(ShapeError, match=r"^reshape: "):
                    shapes.resolve_reshape("reshape", shape, target)
            else:
                assert shapes.resolve_reshape("reshape", shape, target) == expected


def test_strides_and_sizes() -> None:
    for shape in SHAPES:
        assert shapes.size_of(shape) == np.empty(shape).size
        if 0 not in shape:
            strides = tuple(s // 8 for s in np.empty(shape).strides)
            assert shapes.row_major(shape) == strides
    assert shapes.reduced((2, 3, 4), (0, 2)) == (1, 3, 1)
    assert shapes.dropped((2, 3, 4), (0, 2)) == (3,)
