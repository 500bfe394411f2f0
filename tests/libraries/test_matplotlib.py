"""Matplotlib with tensors, and the backend that shows its figures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.display.screen import Bundle, set_screen
from tests.environment import ROOT

BACKEND = "module://py_tensor.display.matplotlib"

pytestmark = pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")


class Screen:
    """Records displays as PNG."""

    def __init__(self) -> None:
        self.shown: list[bytes] = []

    def post(self, number: int, bundle: Bundle, beside: Any, is_update: bool) -> None:
        assert not is_update
        self.shown.append(bundle["png"])

    async def drawn(self, number: int, blocking: bool) -> None: ...

    async def present(self, value: Any, blocking: bool) -> Bundle:
        return {"kind": "png", "png": value._repr_png_()}

    def pictures(self) -> list[Any]:
        """Return the pixels of each display, (height, width, 4)."""
        image = import_module("matplotlib.image")
        return [image.imread(BytesIO(png), format="png") for png in self.shown]


@pytest.fixture
def screen() -> Iterator[Screen]:
    screen = Screen()
    set_screen(screen)
    yield screen
    set_screen(None)


@pytest.fixture
def plt(screen: Screen) -> Iterator[Any]:
    plt = import_module("matplotlib.pyplot")
    plt.switch_backend(BACKEND)
    yield plt
    plt.close("all")
    plt.switch_backend("agg")


class TestShow:
    def test_a_figure_is_shown_and_closed(self, plt: Any, screen: Screen) -> None:
        plt.figure(figsize=(4, 3), dpi=50, facecolor="red")
        plt.plot([1, 2, 3])
        plt.show()
        (pixels,) = screen.pictures()
        assert pixels.shape == (150, 200, 4)
        assert tuple(pixels[0, 0]) == (1, 0, 0, 1)
        assert plt.get_fignums() == []
        plt.show()
        assert len(screen.shown) == 1

    def test_several_in_the_order_in_which_they_were_made(self, plt: Any, screen: Screen) -> None:
        for colour in ("red", "lime", "blue"):
            plt.figure(facecolor=colour)
        plt.show()
        corners = [tuple(pixels[0, 0, :3]) for pixels in screen.pictures()]
        assert corners == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]

    def test_one_of_several(self, plt: Any, screen: Screen) -> None:
        _, second = plt.figure(facecolor="red"), plt.figure(facecolor="lime")
        second.show()
        (pixels,) = screen.pictures()
        assert tuple(pixels[0, 0, :3]) == (0, 1, 0)
        assert plt.get_fignums() == [1]

    def test_the_variable_selects_it(self) -> None:
        """MPLBACKEND, as set by the page. Without a screen the figure's repr is printed."""
        program = (
            "import matplotlib.pyplot as plt\n"
            "plt.plot([1, 2, 3])\n"
            "plt.show()\n"
            "print(plt.get_backend().lower(), plt.get_fignums())"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "MPLBACKEND": BACKEND},
            capture_output=True,
            text=True,
            check=True,
        )
        shown = "<Figure size 640x480 with 1 Axes>\n"
        assert done.stdout == f"{shown}{BACKEND} []\n"


def data_of_lines(plt: Any) -> list[tuple[Any, Any]]:
    return [line.get_data() for line in plt.gca().get_lines()]


class TestTensors:
    """Tensors are drawn like NumPy arrays of the same values."""

    def test_lines(self, plt: Any, device: str, rng: np.random.Generator) -> None:
        x, y = np.sort(rng.random(50, np.float32)), rng.standard_normal((50, 3)).astype(np.float32)
        plt.plot(pt.tensor(x), pt.tensor(y))
        plt.plot(pt.tensor(y[:, 0]))
        found = data_of_lines(plt)
        assert len(found) == 4
        for i in range(3):
            np.testing.assert_array_equal(found[i][0], x)
            np.testing.assert_array_equal(found[i][1], y[:, i])
        np.testing.assert_array_equal(found[3][0], np.arange(50))
        np.testing.assert_array_equal(found[3][1], y[:, 0])

    @pytest.mark.parametrize(
        "draw",
        [
            pytest.param(lambda a, u, v, m: a.scatter(u, v, c=v, s=10 * abs(u)), id="scatter"),
            pytest.param(lambda a, u, v, m: a.stem(u, v), id="stem"),
            pytest.param(lambda a, u, v, m: a.bar(u, v), id="bar"),
            pytest.param(lambda a, u, v, m: a.bar(u, v, yerr=abs(v), bottom=v), id="bar, bottom"),
            pytest.param(lambda a, u, v, m: a.barh(u, v, height=0.5), id="barh"),
            pytest.param(lambda a, u, v, m: a.bar(list(map(str, u)), v), id="bar, names"),
            pytest.param(lambda a, u, v, m: a.hist(v, bins=7), id="hist"),
            pytest.param(lambda a, u, v, m: a.step(u, v), id="step"),
            pytest.param(lambda a, u, v, m: a.errorbar(u, v, yerr=abs(v)), id="errorbar"),
            pytest.param(lambda a, u, v, m: a.fill_between(u, v, v + 1), id="fill_between"),
            pytest.param(lambda a, u, v, m: a.imshow(m), id="imshow"),
            pytest.param(lambda a, u, v, m: a.pcolormesh(m), id="pcolormesh"),
            pytest.param(lambda a, u, v, m: a.contourf(m), id="contourf"),
            pytest.param(lambda a, u, v, m: a.boxplot(v), id="boxplot"),
            pytest.param(lambda a, u, v, m: a.plot(u, v > 0), id="booleans"),
            pytest.param(lambda a, u, v, m: a.plot(u[:0], v[:0]), id="empty"),
            pytest.param(lambda a, u, v, m: a.axhline(v.max()), id="a scalar"),
        ],
    )
    def test_every_pixel(
        self,
        plt: Any,
        screen: Screen,
        device: str,
        rng: np.random.Generator,
        draw: Callable[..., Any],
    ) -> None:
        u, v = np.arange(20, dtype=np.int32), rng.standard_normal(20).astype(np.float32)
        m = rng.standard_normal((6, 9)).astype(np.float32)
        for make in (np.asarray, pt.tensor):
            _, axes = plt.subplots(dpi=50)
            draw(axes, make(u), make(v), make(m))
        plt.show()
        expected, found = screen.pictures()
        np.testing.assert_array_equal(found, expected)

    def test_what_needs_an_array(self, plt: Any) -> None:
        """docs/interoperability.md names these: functions that take lists of series."""
        x = pt.tensor([[1.0, 2.0, 3.0], [3.0, 5.0, 4.0]], device="cpu")
        _, axes = plt.subplots()
        assert len(axes.boxplot(x)["boxes"]) == 2
        assert len(axes.boxplot(x.numpy())["boxes"]) == 3
