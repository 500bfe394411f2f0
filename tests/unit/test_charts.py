"""The parts of charts: counts in bins, levels, colours, and the bundles that a page draws."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.display.charts import bins_for, counted, marker_path
from py_tensor.display.drawing import drawn, drawn_frame
from py_tensor.display.options import COLOUR_NAMES, MARKERS
from py_tensor.display.screen import set_screen
from py_tensor.runtime.host import host
from tests.unit.test_displaying import Recorder

pytestmark = pytest.mark.usefixtures("on_cpu")

NAN, INF = float("nan"), float("inf")

loose: Any = pt
"""For calls that type checkers reject."""


@pytest.fixture
def screen() -> Iterator[Recorder]:
    recorder = Recorder()
    set_screen(recorder)
    yield recorder
    set_screen(None)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


def shown(screen: Recorder) -> dict[str, Any]:
    return screen.posted[-1][1]


def series(screen: Recorder) -> dict[str, Any]:
    (one,) = shown(screen)["series"]
    return one


# -- Histograms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64"])
@pytest.mark.parametrize("bins", [1, 7, [-3, -1.5, 0, 0.25, 40, 300], [0, 1]])
@pytest.mark.parametrize("limits", [None, (-2.5, 100)])
def test_counts_are_those_of_numpy(
    dtype: str, bins: Any, limits: Any, rng: np.random.Generator, screen: Recorder
) -> None:
    a = (rng.normal(size=500) * 40).clip(0 if dtype[0] == "u" else -200, 200).astype(dtype)
    pt.hist(pt.tensor(a, dtype=dtype), bins=bins, range=limits)
    found = series(screen)
    edges = np.array(found["edges"])
    by_numpy = np.histogram(a.astype(np.float64), edges)[0]
    assert found["counts"] == by_numpy.tolist()
    outer = np.histogram_bin_edges(a.astype(np.float64), bins, limits)
    np.testing.assert_allclose(edges, outer, rtol=1e-6, atol=1e-5)
    outside = found["other"].get("outside the range", 0)
    assert sum(found["counts"]) + outside == a.size


@pytest.mark.parametrize(
    ("dtype", "limits"),
    [("uint8", (-9, -1)), ("uint8", (256, 300)), ("int32", (2**31, 2**33)), ("int64", (1, 2**63))],
)
def test_bins_that_the_dtype_does_not_reach(
    dtype: str, limits: tuple[int, int], screen: Recorder
) -> None:
    x = pt.tensor([0, 0, 5, 100], dtype=dtype)
    pt.hist(x, bins=3, range=limits)
    inside = sum(limits[0] <= v <= limits[1] for v in (0, 0, 5, 100))
    assert sum(series(screen)["counts"]) == inside


def test_extreme_edges_count(screen: Recorder) -> None:
    x = pt.tensor([-3e38, 0.0, 3e38, INF, -INF, NAN])
    pt.hist(x, bins=[-1e300, -1, 1, 1e300])
    found = series(screen)
    assert found["counts"] == [1, 1, 1]
    assert found["other"] == {"nan": 1, "-inf": 1, "inf": 1}


def test_few_elements_have_few_bins(screen: Recorder, rng: np.random.Generator) -> None:
    """A bin for each element would be useless."""
    assert [bins_for(n) for n in (0, 1, 8, 27, 1000, 13_824, 10**9)] == [1, 2, 4, 6, 20, 48, 48]
    pt.hist(pt.tensor(rng.normal(size=27)))
    assert len(series(screen)["counts"]) == 6
    pt.hist(pt.arange(40))
    assert (series(screen)["counts"], series(screen)["isWhole"]) == ([6] * 6 + [4], True)


def test_several_histograms_share_their_bins(screen: Recorder, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 300)).astype(np.float32)
    b = b[:200] + 5
    pt.hist({"a": a, "b": b}, density=True)
    first, second = shown(screen)["series"]
    assert first["edges"] == second["edges"]
    assert (first["edges"][0], first["edges"][-1]) == (a.min(), b.max())
    widths = np.diff(first["edges"])
    for one in (first, second):
        assert (np.array(one["counts"]) * widths).sum() == pytest.approx(1)
    assert [first["label"], second["label"]] == ["a", "b"]


def test_nothing_to_count(screen: Recorder) -> None:
    pt.hist([])
    assert sum(series(screen)["counts"]) == 0
    pt.hist([NAN, INF], bins=4)
    assert series(screen)["counts"] == [0] * 4
    pt.hist([2.5, 2.5])
    assert series(screen)["counts"] == [2]
    pt.hist([2.5, 2.5], bins=2)
    assert (series(screen)["edges"], series(screen)["counts"]) == ([2, 2.5, 3], [0, 2])


def test_counts_come_without_blocking() -> None:
    x = pt.tensor([1.0, 2.0, 2.0])
    found = asyncio.run(counted([x], 2, None, blocking=False))
    assert (found.edges, found.counts[0].inside) == ([1, 1.5, 2], [1, 2])


# -- Bars, points and contours ---------------------------------------------------------------------


def test_bars(screen: Recorder) -> None:
    pt.bar({"a": 1, "b": 2.5})
    assert shown(screen)["categories"] == ["a", "b"]
    assert (series(screen)["x"], series(screen)["y"]) == ([0, 1], [1, 2.5])
    pt.bar([10, 20], [3, 4], width=5, color="k")
    assert shown(screen)["categories"] is None
    told = series(screen)
    assert (told["mark"], told["x"], told["width"]) == ("bar", [10, 20], 5)
    assert told["color"] == "currentcolor"
    pt.bar(["p", "q"], {"one": [1, 2], "two": [3, 4]})
    assert [one["y"] for one in shown(screen)["series"]] == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="bar: takes at most 2000 bars, not 2001"):
        pt.bar(pt.ones(2001))


def test_points_with_colours(screen: Recorder) -> None:
    pt.scatter([1, 2, 3], [4, 5, 6], c=[7, NAN, 9], cmap="gray", s=50)
    told = series(screen)
    assert (told["mark"], told["c"], told["s"]) == ("scatter", [7, None, 9], 50)
    assert told["colours"] == {"stops": ["#000000", "#ffffff"], "range": [7, 9]}
    pt.scatter([1, 2], c=[NAN, INF])
    assert series(screen)["colours"] is None
    pt.scatter([1, 2], c=[0, 1], vmin=-5, vmax=5)
    assert series(screen)["colours"]["range"] == [-5, 5]
    pt.scatter(pt.arange(5000), c=pt.arange(5000))
    told = series(screen)
    assert told["x"] == told["y"] == told["c"] == list(range(0, 5000, 3))
    with pytest.raises(pt.ShapeError, match=r"scatter: c must have shape \(3,\), not \(2,\)"):
        pt.scatter([1, 2, 3], c=[1, 2])


def test_contours(screen: Recorder) -> None:
    z = pt.tensor([[0.0, 1.0, 2.0], [10.0, NAN, 12.0]])
    pt.contour(z)
    told = series(screen)
    assert told["z"] == [[0, 1, 2], [10, None, 12]]
    assert (told["x"], told["y"]) == ([0, 1, 2], [0, 1])
    assert told["levels"] == [2, 4, 6, 8, 10]
    assert told["colours"]["range"] == [2, 10]
    x, y = pt.tensor([5.0, 6.0, 7.0]), pt.tensor([1.0, 2.0])
    pt.contour(x, y, z, levels=[3, 7], color="red")
    told = series(screen)
    assert (told["x"], told["y"], told["levels"]) == ([5, 6, 7], [1, 2], [3, 7])
    assert (told["colours"], told["color"]) == (None, "red")
    loose.contour(*pt.meshgrid(x, y), z)
    assert (series(screen)["x"], series(screen)["y"]) == ([5, 6, 7], [1, 2])
    pt.contour(pt.zeros((300, 200)))
    told = series(screen)
    assert (len(told["z"]), len(told["z"][0]), told["step"], told["levels"]) == (100, 67, 9, [])


def test_levels_are_round_and_inside(screen: Recorder, rng: np.random.Generator) -> None:
    for _ in range(50):
        scale = 10.0 ** rng.integers(-20, 20)
        a = (rng.normal(size=(4, 5)) * scale + rng.normal() * scale).astype(np.float32)
        count = int(rng.integers(1, 20))
        pt.contour(pt.tensor(a), levels=count)
        levels = series(screen)["levels"]
        assert all(a.min() < level < a.max() for level in levels)
        assert count / 2.5 - 1 <= len(levels) <= count + 1
        np.testing.assert_allclose(np.diff(levels, 2), 0, atol=scale * 1e-6)


def test_places_of_arguments_are_those_of_matplotlib(screen: Recorder) -> None:
    pt.hist([1, 2], 4, (0, 4), True)
    assert series(screen)["counts"] == [0, 0.5, 0.5, 0]
    pt.bar([1, 2], [3, 4], 0.5)
    assert series(screen)["width"] == 0.5
    pt.scatter([1, 2], [3, 4], 9, [5, 6])
    assert (series(screen)["s"], series(screen)["c"]) == (9, [5, 6])
    pt.imshow([[1, 2]], "gray")
    assert shown(screen)["figure"]["colours"]["stops"] == ["#000000", "#ffffff"]


USUAL = {"color": None, "dashes": None, "lineWidth": None, "marker": None}
CROSS = marker_path("x", 4)
CIRCLE = marker_path("o", 4)


@pytest.mark.parametrize(
    ("fmt", "look"),
    [
        ("", {}),
        ("r", {"color": "red"}),
        ("--", {"dashes": "5 4", "marker": ""}),
        ("r--o", {"color": "red", "dashes": "5 4", "marker": CIRCLE}),
        ("o--r", {"color": "red", "dashes": "5 4", "marker": CIRCLE}),
        ("C1-.", {"color": "var(--series-1)", "dashes": "6 3 1 3", "marker": ""}),
        ("k:", {"color": "currentcolor", "dashes": "0.5 4", "marker": ""}),
        ("x", {"dashes": "", "lineWidth": 0, "marker": CROSS}),
        ("gx-", {"color": "light-dark(#008000, #4cc24c)", "dashes": "", "marker": CROSS}),
        ("teal", {"color": "teal"}),
        ("tab:red", {"color": "#d62728"}),
        ("#0a0", {"color": "#0a0"}),
    ],
)
def test_format_strings(fmt: str, look: dict[str, Any], screen: Recorder) -> None:
    for call in (lambda: pt.plot([1, 2], [3, 4], fmt, label="a"), lambda: pt.plot([3, 4], fmt)):
        call()
        found = series(screen)
        assert {name: found.get(name) for name in USUAL} == USUAL | look
        assert found["y"] == [3, 4]


@pytest.mark.parametrize("letter", "bgcmy")
def test_letters_are_visible_in_light_and_dark(letter: str) -> None:
    found = COLOUR_NAMES[letter].removeprefix("light-dark(").removesuffix(")").split(", ")
    for colour, surface in zip(found, ("#ffffff", "#171b1e"), strict=True):
        low, high = sorted(map(luminance, (colour, surface)))
        assert (high + 0.05) / (low + 0.05) >= 3  # as WCAG requires of graphics


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG."""
    levels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in levels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_styles_by_keyword(screen: Recorder) -> None:
    pt.plot([1, 2], ls="dashed", lw=3, c="r", marker="x")
    by_alias = series(screen)
    d = pt.plot([1, 2], linestyle="--", linewidth=3, color="r", marker="x")
    assert series(screen) == by_alias
    assert (by_alias["dashes"], by_alias["lineWidth"], by_alias["marker"]) == ("5 4", 3, CROSS)
    d.update([2, 1])
    assert series(screen) == by_alias | {"y": [2, 1]}
    pt.plot([1, 2], "r--o", color="blue", marker="none", ls=":")  # as in Matplotlib
    found = series(screen)
    assert (found["color"], found["dashes"], found["marker"]) == ("blue", "0.5 4", "")
    pt.plot([1, 2], linestyle="none")
    assert series(screen)["lineWidth"] == 0
    pt.scatter([1, 2], [3, 4], s=4 * np.pi, marker="s")
    assert series(screen)["marker"] == marker_path("s", 2)


@pytest.mark.parametrize("marker", MARKERS)
def test_markers_have_the_size_given(marker: str) -> None:
    path = marker_path(marker, 100.0)
    assert path is not None
    size = {".": 50, ",": 12.5}.get(marker, 100)
    numbers = [abs(float(number)) for number in re.findall(r"-?[\d.]+(?:e[-+]\d+)?", path)]
    assert 0.7 * size <= max(numbers) <= (2 if "a" in path else 1.02) * size


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (
            lambda: loose.plot([1], "r&"),
            ValueError,
            "plot: '&' in the format string 'r&' is not a colour .*, a line style .* or a marker",
        ),
        (lambda: loose.plot([1], "rg"), ValueError, "'rg' gives the color twice, 'r' and 'g'"),
        (lambda: loose.plot([1], "ox"), ValueError, "'ox' gives the marker twice, 'o' and 'x'"),
        (
            lambda: loose.scatter([1], [2], marker="none"),
            ValueError,
            r"^scatter: marker must be one of .* 'x' \(.*\), not 'none'",
        ),
        (lambda: loose.plot([1], "reddish"), ValueError, "plot: 'e.*' in the format string"),
        (lambda: loose.plot([1], [2], [3]), TypeError, "fmt must be a str, not list; draw several"),
        (
            lambda: loose.plot([1], "k", [3]),
            TypeError,
            "y must be numbers, not .*'k'; draw several",
        ),
        (
            lambda: loose.plot([1], ls="-", linestyle="-"),
            TypeError,
            "plot: got both linestyle and ls, which are one option",
        ),
        (lambda: loose.plot([1], c="r", color="r"), TypeError, "got both color and c"),
        (lambda: loose.plot([1], lw=1, linewidth=1), TypeError, "got both linewidth and lw"),
        (
            lambda: loose.plot([1], linestyle="wavy"),
            ValueError,
            "plot: linestyle must be one of '-', '--', .*, not 'wavy'",
        ),
        (lambda: loose.plot([1], lw=-1), ValueError, "linewidth must be positive and finite"),
        (
            lambda: loose.plot([1], marker="q"),
            ValueError,
            r"plot: marker must be one of 'o' \(circle\), .* or 'none', not 'q'",
        ),
        (lambda: loose.plot([1], marker=3), TypeError, "plot: marker must be a str, not int 3"),
        (lambda: loose.contour([1, 2]), pt.ShapeError, "contour: z must be 2-D"),
        (
            lambda: loose.contour([[1, 2]]),
            pt.ShapeError,
            "contour: z must be 2-D and at least 2 by 2",
        ),
        (lambda: loose.contour([1], [2]), TypeError, "contour: takes z, or x, y and z"),
        (
            lambda: loose.contour([1], [1, 2], [[1, 2], [3, 4]]),
            pt.ShapeError,
            r"contour: x must have shape \(2,\), not \(1,\)",
        ),
        (lambda: loose.contour([NAN, 1], [1, 2], [[1, 2], [3, 4]]), ValueError, "must be finite"),
        (
            lambda: loose.contour([[1, 2], [3, 4]], levels=[2, 1]),
            ValueError,
            "must be increasing",
        ),
        (
            lambda: loose.contour([[1, 2], [3, 4]], levels=51),
            ValueError,
            "levels must be from 1 to",
        ),
        (lambda: loose.hist([1], bins=0), ValueError, "hist: bins must be from 1 to 1000, not 0"),
        (
            lambda: loose.hist([1], bins="auto"),
            TypeError,
            "hist: bins must be numbers, not str 'auto'",
        ),
        (
            lambda: loose.hist([1], bins=[1, 1]),
            ValueError,
            "hist: bins must be increasing",
        ),
        (lambda: loose.hist([1], bins=[1, NAN]), ValueError, "hist: bins must be finite"),
        (
            lambda: loose.hist([1], range=(2, 1)),
            ValueError,
            "hist: range must be increasing",
        ),
        (
            lambda: loose.hist([1], range=(1, 2, 3)),
            ValueError,
            r"hist: range must be \(low, high\), not 3",
        ),
        (
            lambda: loose.hist([1], density=1),
            TypeError,
            "hist: density must be True or False, not int 1",
        ),
        (
            lambda: loose.hist([1], bins=pt.ones(2)),
            TypeError,
            "hist: bins must be numbers, not a tensor",
        ),
        (
            lambda: loose.plot([1], color="reddish"),
            ValueError,
            "plot: color must be a name such as",
        ),
        (lambda: loose.plot([1], color=3), TypeError, "plot: color must be a str or a list of str"),
        (lambda: loose.plot([1], color="#12345"), ValueError, "plot: color must be a name such as"),
        (
            lambda: loose.bar([1], width=0),
            ValueError,
            "bar: width must be positive and finite, not 0",
        ),
        (lambda: loose.bar(["a"], [1, 2]), pt.ShapeError, "bar: x has 1 points, y has 2"),
        (lambda: loose.scatter([1], s=-1), ValueError, "scatter: s must be positive and finite"),
        (
            lambda: loose.scatter([1], cmap="jet"),
            ValueError,
            "scatter: cmap must be one of viridis",
        ),
        (
            lambda: loose.imshow([[1]], extent=(0, 0, 1, 2)),
            ValueError,
            "imshow: extent must have a width",
        ),
        (lambda: loose.imshow([[1]], extent=(0, 1)), ValueError, "imshow: extent must be .* not 2"),
        (
            lambda: loose.imshow([[1]], colorbar="yes"),
            TypeError,
            "imshow: colorbar must be True or False",
        ),
    ],
)
def test_unfit_calls(screen: Recorder, call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()
    assert screen.posted == []


def test_an_update_keeps_the_style(screen: Recorder) -> None:
    d = pt.hist([1, 2], bins=[0, 1, 2], color="C1")
    d.update([0, 0, 1])
    assert series(screen)["counts"] == [2, 1]
    assert series(screen)["color"] == "var(--series-1)"
    d.update([0, 0, 1], density=True)
    assert series(screen)["counts"] == pytest.approx([2 / 3, 1 / 3])
    with pytest.raises(pt.ShapeError, match="hist: takes x, not a tuple of 2"):
        d.update(([1], [2]))


# -- Sums ------------------------------------------------------------------------------------------


def test_a_sum_has_the_series_of_both(screen: Recorder) -> None:
    a = pt.plot([1, 2], label="a", xlabel="x")
    b = pt.scatter([3, 4], label="b", title="Both", yscale="log")
    whole = a + b
    assert whole is a
    (number, bundle, _, is_update), (emptied, nothing, _, _) = screen.posted[-2:]
    assert (number, is_update, emptied) == (a.number, True, b.number)
    assert nothing == {"kind": "shown"}
    assert [(one["label"], one["mark"]) for one in bundle["series"]] == [
        ("a", "line"),
        ("b", "scatter"),
    ]
    assert (bundle["title"], bundle["xlabel"], bundle["yscale"]) == ("Both", "x", "log")
    whole = whole + pt.hist([1.0])
    assert len(screen.posted[-2][1]["series"]) == 3
    with pytest.raises(TypeError, match="a sum of charts cannot be updated"):
        whole.update([1])


def test_what_cannot_be_added(screen: Recorder) -> None:
    d = pt.plot([1, 2])
    other: Any
    for other in (1, pt.imshow([[1]]), pt.display("words")):
        with pytest.raises(TypeError, match="unsupported operand"):
            _ = d + other
    with pytest.raises(ValueError, match="bars of both charts must have the same names"):
        _ = pt.bar(["a"], [1]) + pt.bar(["b"], [1])
    many = pt.plot({str(i): [i] for i in range(19)})
    with pytest.raises(ValueError, match="takes at most 20 series, not 21"):
        _ = many + pt.plot([[1], [2]])


def test_a_sum_where_python_cannot_block(screen: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pt.ones(1).device, "waits", True)
    monkeypatch.setattr(host, "can_wait", lambda: False)

    async def program() -> None:
        _ = pt.plot([1, 2]) + pt.plot([3, 4])
        await asyncio.sleep(0.01)

    asyncio.run(program())
    first = screen.posted[0][0]
    last = [bundle for number, bundle, _, _ in screen.posted if number == first][-1]
    assert [one["y"] for one in last["series"]] == [[1, 2], [3, 4]]


# -- Images ----------------------------------------------------------------------------------------


def test_what_stands_around_an_image(screen: Recorder) -> None:
    pt.imshow([[1, 2], [3, 5]], cmap="gray", title="T")
    assert shown(screen)["figure"] == {
        "title": "T",
        "xlabel": "",
        "ylabel": "",
        "hasAxes": True,
        "hasValues": True,
        "isWhole": True,
        "colours": {"stops": ["#000000", "#ffffff"], "range": [1, 5]},
        "extent": None,
        "of": {"width": 2, "height": 2},
    }
    assert shown(screen)["label"].endswith("(2, 2) in gray colours from 1 to 5")
    pt.imshow([[1, 2]], colorbar=False)
    assert shown(screen)["figure"] is None
    pt.imshow(pt.ones((2, 2, 3)))
    figure = shown(screen)["figure"]
    assert (figure["hasAxes"], figure["colours"]) == (True, None)
    pt.imshow(pt.ones((2, 2, 3)), colorbar=False)
    assert shown(screen)["figure"] is None
    pt.imshow([[NAN, INF]])
    assert shown(screen)["figure"]["colours"] is None
    pt.imshow([[1, 2]], vmin=-1, extent=(0, 4, 0, 1))
    figure = shown(screen)["figure"]
    assert (figure["colours"]["range"], figure["extent"]) == ([-1, 2], (0, 4, 0, 1))
    pt.display(pt.ones((2, 2)))
    assert shown(screen)["figure"] is None


# -- As drawings for the page ----------------------------------------------------------------------


def test_a_chart_is_drawn_in_the_width_that_it_has(screen: Recorder) -> None:
    pt.plot(list(range(50)), xlabel="x")
    for width, expected in ((300, 300), (100, 220), (5000, 680)):
        made = drawn(shown(screen), width)
        assert made["width"] == expected
        assert f'width="{expected}"' in made["svg"]
        left, right, top, bottom = made["area"]
        assert 0 < left < right < expected
        assert 0 < top < bottom
    ticks = [len(drawn(shown(screen), width)["svg"].split('"tick"')) for width in (300, 680)]
    assert ticks[0] < ticks[1]


def test_a_part_of_a_chart(screen: Recorder) -> None:
    pt.plot([1, 2, 4], yscale="log")
    whole = drawn(shown(screen), 680)["axes"]
    assert (whole["x"], whole["y"][2]) == ([0, 2, False], True)
    part = drawn(shown(screen), 680, {"x": [0.5, 1.5], "y": [1, 2]})
    assert part["axes"] == {"x": [0.5, 1.5, False], "y": [1, 2, True]}
    assert 'class="marks" clip-path=' in part["svg"]
    pt.bar({"a": 1, "b": 2, "c": 3})
    names = drawn(shown(screen), 680, {"x": [0.5, 2.5], "y": [0, 3]})["svg"]
    assert [f">{name}<" in names for name in "abc"] == [False, True, True]


def test_where_the_pointer_finds_bars(screen: Recorder) -> None:
    pt.bar(["a", "b"], {"one": [1, 2], "two": [3, -1]})
    made = drawn(shown(screen), 680)
    (first, second), others = made["hits"]
    assert [bar[4:] for bar in (first, second, *others)] == [
        *(["a", 1], ["b", 2], ["a", 3], ["b", -1])
    ]
    assert first[0] == others[0][0] < first[2] < others[0][2] < first[1] < second[0]
    pt.hist([1, 2, 2, 9], bins=[0, 2, 10])
    assert [bar[4:] for bar in drawn(shown(screen), 680)["hits"][0]] == [
        ["0 to 2", 1],
        ["2 to 10", 3],
    ]


def test_what_is_around_an_image_fits(screen: Recorder) -> None:
    pt.imshow(pt.ones((40, 20)))
    bundle = shown(screen)
    for width, height in ((960, 900), (300, 900), (960, 500)):
        left, right, top, bottom = drawn_frame(bundle["figure"], bundle, width, height)["area"]
        assert right < width
        assert bottom + 150 <= max(height, 240 + top + 150 + 24)
        assert bottom - top == pytest.approx(2 * (right - left))


# -- As text ---------------------------------------------------------------------------------------


def test_charts_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    pt.hist([1, 2, 2, 9], bins=[0, 2, 10], title="Counts")
    pt.bar(["a"], [4])
    pt.contour([[0, 1], [2, 3]], levels=[1, 2])
    pt.plot([NAN])
    _ = pt.plot([1], label="a") + pt.plot([2], label="b")
    assert capsys.readouterr().out.splitlines() == [
        "Counts",
        "hist: 4 elements, 2 bins from 0 to 10",
        "  counts 1 3",
        "bar: 1 bars, from 4 to 4",
        "contour: 2 × 2 points, levels 1, 2",
        "line: 1 points",
        *("a: 1 points, from 1 to 1", "b: 1 points, from 2 to 2"),
        *("a: 1 points, from 1 to 1", "b: 1 points, from 2 to 2"),
    ]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: pt.contour([[1, 2], [3, 4]], xscale="log"),
        lambda: pt.hist([0, 1, 2, 3], xscale="log"),
        lambda: pt.bar(["a", "b"], [1, 2], xscale="log"),
    ],
)
def test_a_log_axis_needs_positive_values(draw: Callable[[], Any], screen: Recorder) -> None:
    with pytest.raises(ValueError, match=r"log axis|linear x axis"):
        draw()


def test_bins_of_large_integers_are_those_of_numpy(screen: Recorder) -> None:
    times = np.arange(1_700_000_000, 1_700_000_100, dtype=np.int32)
    pt.hist(times, bins=10)
    assert shown(screen)["series"][0]["counts"] == [10] * 10


def test_contours_of_a_small_range_about_a_large_value(screen: Recorder) -> None:
    z = 101325 + np.linspace(-2, 2, 64).reshape(8, 8)
    pt.contour(pt.tensor(z, dtype="float64", device="cpu"))
    rows = shown(screen)["series"][0]["z"]
    np.testing.assert_allclose(rows, z, atol=1e-4)
