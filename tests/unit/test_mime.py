"""The MIME bundles of tensors, pictures and charts in notebooks, and displays in IPython."""

from __future__ import annotations

import binascii
import struct
import sys
import zlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.display.colormaps import table

pytestmark = pytest.mark.usefixtures("on_cpu")

SVG = "{http://www.w3.org/2000/svg}"


class Shell:
    """The parts of IPython's shell that are used."""

    def __init__(self) -> None:
        self.execution_count = 1
        self.display_pub = self.display_formatter = self
        self.published: list[tuple[dict[str, str], str, bool]] = []

    def publish(self, data: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        self.published.append((data, transient["display_id"], update))

    def format(self, value: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Like IPython's formatters, but with only one."""
        return value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else ({}, {})

    def end_cell(self, value: object) -> None:
        """Like IPython's display hook: an object that can display itself does so."""
        value._ipython_display_()  # type: ignore[attr-defined]
        self.execution_count += 1


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: made))  # type: ignore[arg-type]
    return made


def pixels(data: str) -> np.ndarray[Any, Any]:
    """A PNG of 8-bit RGBA without filters, as (height, width, 4); all checksums are verified."""
    rest = binascii.a2b_base64(data)
    assert rest[:8] == b"\x89PNG\r\n\x1a\n"
    rest, chunks = rest[8:], dict[bytes, bytes]()
    while rest:
        (size,) = struct.unpack(">I", rest[:4])
        kind, body = rest[4:8], rest[8 : 8 + size]
        assert struct.unpack(">I", rest[8 + size : 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind], rest = body, rest[12 + size :]
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert form == [8, 6, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 4 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 4)


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_colour_picture_keeps_its_levels_and_alpha() -> None:
    levels = np.random.default_rng(3).integers(0, 256, (300, 5, 4))
    mimes = pt.imshow(levels)._repr_mimebundle_()
    assert set(mimes) == {"text/plain", "image/png", "image/svg+xml"}  # the SVG has the axes
    assert (pixels(mimes["image/png"]) == levels).all()


def test_small_pictures_are_enlarged_by_whole_factors() -> None:
    x = pt.tensor([[0.0, 1.0, float("nan")]])
    colours = np.array([*table("gray")], np.uint32).view(np.uint8).reshape(-1, 4)
    for scale, factor in ((None, 48), (2, 2), (0.25, 1)):
        shown = pixels(pt.imshow(x, cmap="gray", scale=scale)._repr_mimebundle_()["image/png"])
        assert shown.shape == (factor, 3 * factor, 4)
        expected = [colours[0], colours[-1], np.zeros(4)]
        assert (shown == np.repeat(expected, factor, 0)[None]).all()


def test_a_picture_is_that_of_its_time() -> None:
    x = pt.zeros((2, 2, 3))
    d = pt.imshow(x)
    x[...] = 1
    assert pixels(d._repr_mimebundle_()["image/png"])[0, 0].tolist() == [0, 0, 0, 255]
    d.update(x)
    assert pixels(d._repr_mimebundle_()["image/png"])[0, 0].tolist() == [255] * 4


def test_tensors_have_text_and_a_picture() -> None:
    x = pt.arange(6).reshape(2, 3)
    mimes = x._repr_mimebundle_()
    assert mimes["text/plain"] == repr(x)
    assert mimes["text/html"] == f"<pre>{x!r}</pre>"
    assert pixels(mimes["image/png"]).shape == (96, 144, 4)
    large = pt.rand(1030, 40)._repr_mimebundle_()
    assert pixels(large["image/png"]).shape[:2] == (1030 // 3 + 1, 40)
    assert f'src="data:image/png;base64,{large["image/png"]}"' in large["text/html"]
    for other in (pt.tensor(3), pt.arange(5), pt.zeros((2, 0)), pt.zeros((2, 2, 2))):
        assert other._repr_mimebundle_() == {"text/plain": repr(other)}
    assert "image/png" in pt.ones((2, 2), dtype=pt.complex64)._repr_mimebundle_()
    assert "image/png" in (pt.ones((2, 2)) > 0)._repr_mimebundle_()


def test_a_notebook_chooses() -> None:
    x = pt.ones((2, 2))
    assert set(x._repr_mimebundle_(include={"image/png"}, exclude=None)) == {"image/png"}
    d = pt.imshow(x, colorbar=False)
    assert set(d._repr_mimebundle_(include=None, exclude={"image/png"})) == {"text/plain"}
    assert d._repr_mimebundle_({"text/html"}, ()) == {}


def test_a_chart_is_svg() -> None:
    x = pt.linspace(0, 10, 100)
    series = {"<sine>": pt.sin(x), "cosine\0": pt.cos(x)}
    svg = pt.plot(series, title="A & B", xlabel="t")._repr_mimebundle_()["image/svg+xml"]
    assert {"A & B", "<sine>", "cosine�", "t", "\u22120.5", "0.5", "50"} <= set(texts(svg))
    paths = [p.get("d", "") for p in ElementTree.fromstring(svg).iter(f"{SVG}path")]
    assert sorted(path.count("L") for path in paths)[-2:] == [99, 99]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    "values",
    [[], [5.0], [float("nan")], [1e308, -1e308], [1e-300, 1e-299], [0.0, 1e300], [-1.0, -2.0]],
)
def test_charts_of_odd_values_are_svg(values: list[float], scale: str) -> None:
    d = pt.plot(np.array(values), xscale=scale, yscale=scale)
    svg = d._repr_mimebundle_()["image/svg+xml"]
    assert "nan" not in svg
    assert "inf" not in svg
    is_empty = "No finite values" in texts(svg)
    assert is_empty == (
        not any(v > 0 or (scale == "linear" and v == v) for v in values[scale == "log" :])
    )


def shapes(d: pt.Display, kind: str) -> list[dict[str, str]]:
    svg = d._repr_mimebundle_()["image/svg+xml"]
    assert "nan" not in svg
    return [found.attrib for found in ElementTree.fromstring(svg).iter(f"{SVG}{kind}")]


def test_bars_stand_on_zero_side_by_side() -> None:
    one, other = shapes(pt.bar(["a", "b"], [[1.0, -2.0], [3.0, 1.0]]), "rect")[1:3]
    x, y, width, height = (float(one[name]) for name in ("x", "y", "width", "height"))
    assert float(other["x"]) > x + width  # the second category
    assert float(other["y"]) == pytest.approx(y + height, abs=0.2)
    assert float(other["height"]) == pytest.approx(2 * height, abs=0.3)
    svg = pt.bar({"ab": 1.0, "c<": 2.0})._repr_mimebundle_()["image/svg+xml"]
    assert {"ab", "c<"} <= set(texts(svg))


@pytest.mark.parametrize(
    ("draw", "ticks"),
    [
        (lambda: pt.bar([1, 2, 3], [3, 1, 2]), {"1", "2", "3"}),
        (lambda: pt.bar([0.5, 1.5], [[3, 1], [2, 2]]), {"0.5", "1.5"}),
        (lambda: pt.bar([1, 2, 4], [3, 1, 2]), {"1", "2", "3", "4"}),
        (lambda: pt.hist([1, 2, 3]), {"1", "2", "3"}),
    ],
)
def test_ticks_of_bars_are_at_their_values(draw: Callable[[], pt.Display], ticks: set[str]) -> None:
    svg = draw()._repr_mimebundle_()["image/svg+xml"]
    below = [
        text.text
        for text in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if text.get("text-anchor") == "middle"
    ]
    assert set(below) == ticks


def test_ticks_of_bars_differ() -> None:
    svg = pt.bar([1600000000, 1600000128, 1600000256], [1, 2, 3])._repr_mimebundle_()[
        "image/svg+xml"
    ]
    below = [text for text in texts(svg) if text.startswith("16")]
    assert len(below) == len(set(below)) > 1


def test_a_histogram_has_a_bar_for_each_bin() -> None:
    x = np.array([0.0, 0.1, 0.9, 1.0, 0.95])
    bars = shapes(pt.hist(x, bins=2), "rect")[1:]
    first, second = (float(bar["height"]) for bar in bars)
    assert second == pytest.approx(1.5 * first, abs=0.2)


def test_points_have_the_colours_of_their_values() -> None:
    d = pt.scatter([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], c=[0.0, 5.0, float("nan")], cmap="gray")
    assert [point["fill"] for point in shapes(d, "circle")] == ["#000000", "#ffffff"]
    assert len(shapes(d, "linearGradient")) == 1


def test_a_format_string_sets_how_a_line_is_drawn() -> None:
    d = pt.plot([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], "r--s", lw=3, label="a")
    strokes = [p for p in shapes(d, "path") if p.get("stroke") == "red"]
    assert len(strokes) == 2  # also the legend's
    assert {(p["stroke-dasharray"], p["stroke-width"]) for p in strokes} == {("5 4", "3")}
    assert len([p for p in shapes(d, "path") if p.get("fill") == "red"]) == 4
    assert shapes(d, "circle") == []
    d = pt.plot([0.0, 1.0, 2.0], "bo")
    assert [p for p in shapes(d, "path") if p.get("stroke") == "#0000ff"] == []
    assert len([p for p in shapes(d, "path") if p.get("fill") == "#0000ff"]) == 3
    (path,) = (p for p in shapes(pt.plot([0.0, 1.0], "g-"), "path") if p.get("stroke") == "#008000")
    assert "stroke-dasharray" not in path


def test_a_circle_is_a_contour_line() -> None:
    side = np.linspace(-1, 1, 41)
    d = pt.contour(side, side, np.add.outer(side**2, side**2), levels=[0.25], color="C1")
    (path,) = (p["d"] for p in shapes(d, "path") if p.get("stroke") == "#b4541a")
    points = np.array([end.split(" ") for end in path.replace("L", "M").split("M")[1:]], float)
    # Half of a square chart, in its own values.
    spans = np.ptp(points, 0)
    grid = [p["d"] for p in shapes(d, "path") if p["d"].startswith("M") and "H" in p["d"]]
    left, right = (float(word) for word in grid[0][1:].replace("H", " ").split()[::2])
    assert spans[0] == pytest.approx((right - left) / 2, rel=0.01)


def test_a_saddle_keeps_its_two_lines_apart() -> None:
    for z, level in (([[0.0, 1.0], [1.0, 0.0]], 0.4), ([[1.0, 0.0], [0.0, 1.0]], 0.6)):
        d = pt.contour(np.array(z), levels=[level], color="C1")
        (path,) = (p["d"] for p in shapes(d, "path") if p.get("stroke") == "#b4541a")
        assert path.count("M") == 2
        lines = [line.split("L") for line in path[1:].split("M")]
        lengths = [
            np.hypot(*(np.subtract(*[np.array(e.split(), float) for e in li]))) for li in lines
        ]
        # They cut off the corners on the other side of the level from the centre.
        assert max(lengths) < 350


def test_a_picture_with_axes_is_svg_too() -> None:
    d = pt.imshow(
        pt.arange(6.0).reshape(2, 3),
        colorbar=True,
        title="A < B",
        xlabel="time",
        extent=(0, 9, 4, 2),
    )
    mimes = d._repr_mimebundle_()
    svg = mimes["image/svg+xml"]
    assert {"A < B", "time", "0", "5"} <= set(texts(svg))
    (image,) = shapes(d, "image")
    assert image["href"] == f"data:image/png;base64,{mimes['image/png']}"
    assert (image["width"], image["height"]) == ("144", "96")
    assert "image/svg+xml" not in pt.imshow([[1, 2]], colorbar=False)._repr_mimebundle_()


def test_gaps_part_a_line() -> None:
    svg = pt.plot([1.0, 2.0, float("nan"), 3.0, 4.0])._repr_mimebundle_()["image/svg+xml"]
    curve = [p for p in ElementTree.fromstring(svg).iter(f"{SVG}path") if p.get("fill") == "none"]
    assert [path.get("d", "").count("M") for path in curve] == [2]


def test_ipython_shows_each_display_once(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    d = pt.imshow([[1, 2]])
    d.update([[3, 4]])
    shell.end_cell(d)
    first, second = shell.published
    assert (first[2], second[2]) == (False, True)
    assert first[1] == second[1]
    assert set(second[0]) == {"text/plain", "image/png", "image/svg+xml"}
    shell.end_cell(d)  # another cell, with it as result
    assert shell.published[2] == (second[0], second[1], False)
    shell.end_cell(pt.plot([1, 2]))
    assert len(shell.published) == 4
    assert shell.published[3][1] != first[1]
    assert capsys.readouterr().out == ""


def test_a_chart_moves_in_ipython(shell: Shell) -> None:
    d = pt.display("x")
    for i in range(3):
        d.update(pt.plot([1, i]))
    shown = {number: data for data, number, _ in shell.published}
    assert [set(data) for data in shown.values()] == [{"text/plain", "image/svg+xml"}, *[set()] * 3]
    g = pt.plot([4])
    d.update(g)
    before = len(shell.published)
    shell.end_cell(g)  # this cell has shown it in d
    assert len(shell.published) == before


def test_display_asks_objects_for_their_own_forms(shell: Shell) -> None:
    class Table:
        def _repr_mimebundle_(self) -> tuple[dict[str, str], dict[str, str]]:
            return {"text/html": "<b>1</b>"}, {}

        def __repr__(self) -> str:
            return "1"

    pt.display(Table())
    pt.display("words")
    assert [data for data, *_ in shell.published] == [
        {"text/plain": "1", "text/html": "<b>1</b>"},
        {"text/plain": "'words'"},
    ]
