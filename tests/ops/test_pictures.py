"""Pixels of pictures, means of thumbnails, and the points drawn of a long series."""

from __future__ import annotations

import asyncio
import colorsys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.convert.conversion import drawable
from py_tensor.display import colormaps, pictures
from py_tensor.display.charts import MAX_POINTS, Chart, counted, plot_chart, scatter_chart
from py_tensor.display.options import Options

Array = np.ndarray[Any, Any]
AMBIGUOUS = 1e-3  # of a colour's width: nearer to a boundary, the result depends on rounding


def series(chart: Chart) -> list[Any]:
    """Return what is known of each series, and its tensors, as attributes."""
    return [SimpleNamespace(**part.facts, **part.tensors) for part in chart.parts]


def channels(words: Array) -> Array:
    """R, G, B and A of packed pixels, in a last axis."""
    return np.stack([(words >> shift) & 255 for shift in (0, 8, 16, 24)], axis=-1)


def pixels(picture: pictures.Picture) -> Array:
    assert picture.pixels.shape == (picture.height, -(-picture.width // 64) * 64)
    assert picture.pixels.dtype is pt.uint32
    words = picture.pixels.numpy()
    assert not words[:, picture.width :].any()
    return words[:, : picture.width]


def places(a: Array, low: float, high: float) -> tuple[Array, Array]:
    """The index of each finite element's colour, and whether it is independent of rounding."""
    at = (a.astype(np.float64) - low) / (high - low) * 255
    index = np.clip(np.floor(at + 0.5), 0, 255)
    return index.astype(int), np.abs(at + 0.5 - np.round(at + 0.5)) > AMBIGUOUS


@pytest.mark.computes
@pytest.mark.parametrize("cmap", sorted(colormaps.STOPS))
def test_colours(cmap: str, device: str, rng: np.random.Generator) -> None:
    colours = np.array(colormaps.table(cmap), dtype=np.uint32)
    for shape in ((1, 1), (3, 64), (37, 65), (130, 2)):
        a = (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7)).astype(np.float32)
        drawn = pixels(pictures.picture(pt.tensor(a, device=device), Options(cmap=cmap)))
        low, high = float(a.min()), float(a.max())
        index, is_sure = places(a, low, high if high > low else low + 1)
        np.testing.assert_array_equal(drawn[is_sure], colours[index][is_sure])
        near = [colours[np.clip(index + step, 0, 255)] for step in (-1, 0, 1)]
        assert (drawn == near).any(axis=0).all()


@pytest.mark.computes
def test_bounds_and_special_values(device: str) -> None:
    nan, inf = float("nan"), float("inf")
    colours = colormaps.table("viridis")
    a = np.array([[nan, inf, -inf, -1, 0, 1, 3e38, -3e38]], dtype=np.float32)
    x = pt.tensor(a, device=device)
    first, last = colours[0], colours[-1]
    bounded = pixels(pictures.picture(x, Options(vmin=0, vmax=1))).tolist()[0]
    assert bounded == [0, last, first, first, first, last, last, first]
    free = pixels(pictures.picture(x)).tolist()[0]
    middle = colours[128]
    assert free == [0, last, first, middle, middle, middle, last, first]
    above = pixels(pictures.picture(x[:, 3:6], Options(vmax=-2))).tolist()[0]
    below = pixels(pictures.picture(x[:, 3:6], Options(vmin=2))).tolist()[0]
    assert (above, below) == ([last] * 3, [first] * 3)
    none = pixels(pictures.picture(x[:, :3])).tolist()[0]
    assert none == [0, last, first]


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint32"])
def test_whole_values(dtype: str, device: str, rng: np.random.Generator) -> None:
    a = rng.integers(0, 2 if dtype == "bool" else 256, (9, 11)).astype(dtype)
    a[0, :2] = 0, 1 if dtype == "bool" else 255
    drawn = pixels(pictures.picture(pt.tensor(a, device=device), Options(cmap="gray")))
    level = a.astype(int) * (255 if dtype == "bool" else 1)
    np.testing.assert_array_equal(channels(drawn)[..., 0], level)


@pytest.mark.computes
@pytest.mark.parametrize("depth", [3, 4])
def test_channels(depth: int, device: str, rng: np.random.Generator) -> None:
    levels = rng.integers(-30, 300, (7, 66, depth))
    shown = np.clip(levels, 0, 255)
    if depth == 3:
        shown = np.concatenate([shown, np.full((7, 66, 1), 255)], axis=2)
    for values in (levels.astype(np.int32), (levels / 255).astype(np.float32)):
        found = channels(pixels(pictures.picture(pt.tensor(values, device=device))))
        np.testing.assert_array_equal(found, shown)
    unsigned = pictures.picture(pt.tensor(shown.astype(np.uint32), device=device))
    np.testing.assert_array_equal(channels(pixels(unsigned)), shown)
    alpha = shown[..., 3:]
    multiplied = np.concatenate([np.round(shown[..., :3] * alpha / 255), alpha], axis=2)
    drawn = pictures.picture(pt.tensor(shown.astype(np.int32), device=device), premultiplied=True)
    np.testing.assert_array_equal(channels(pixels(drawn)), multiplied)


@pytest.mark.computes
def test_a_channel_that_is_no_number_is_dark(device: str) -> None:
    x = pt.tensor([[[float("nan"), 1.0, float("inf")]]], device=device)
    assert channels(pixels(pictures.picture(x))).tolist() == [[[0, 255, 255, 255]]]


def test_a_large_side_is_thinned(device: str) -> None:
    x = pt.arange(9000, dtype=pt.float32, device=device).reshape(1, 9000)
    made = pictures.picture(x)
    assert (made.height, made.width) == (1, 3000)


@pytest.mark.computes
def test_thumbnail(device: str, rng: np.random.Generator) -> None:
    a = rng.normal(size=(23, 50)).astype(np.float32)
    a[rng.random(a.shape) < 0.2] = np.nan
    a[:8, :8] = np.inf
    found = pictures.thumbnail(pt.tensor(a, device=device), 3, 7).numpy()
    assert found.shape == (3, 7)
    for i in range(3):
        for j in range(7):
            block = a[i * 8 : i * 8 + 8, j * 8 : j * 8 + 8].astype(np.float64)
            kept = block[np.isfinite(block)]
            if kept.size:
                bound = 2e-7 * np.abs(kept).sum() + 1e-12
                assert abs(found[i, j] - kept.mean()) <= bound
            else:
                assert np.isnan(found[i, j])
    x = pt.tensor(a, device=device)
    assert pictures.thumbnail(x, 23, 50) is x


def test_lightness_grows() -> None:
    """The sequential colour maps can also be read in grey."""
    for name in ("viridis", "magma", "inferno", "gray"):
        words = np.array(colormaps.table(name), dtype=np.uint32)
        assert (channels(words)[:, 3] == 255).all()
        luma = np.array([colorsys.rgb_to_yiq(*(c / 255))[0] for c in channels(words)[:, :3]])
        assert (luma[8:] > luma[:-8]).all(), name
        assert luma[-1] - luma[0] > 0.6, name


@pytest.mark.computes
def test_a_long_line_keeps_its_extremes(device: str, rng: np.random.Generator) -> None:
    for n in (2001, 10_000, 123_457):
        y = rng.normal(size=n).astype(np.float32)
        y[rng.integers(0, n, 5)] = np.nan
        y[rng.integers(0, n, n // 4)] = rng.choice([np.inf, -np.inf])
        low, high = (int(i) for i in rng.choice(n, 2, replace=False))
        y[low], y[high] = -100, 100
        (on_device,) = series(plot_chart(pt.tensor(y, device=device), None, Options()))
        assert on_device.size == n
        x, kept = on_device.x.numpy().astype(int), on_device.y.numpy()
        assert len(x) <= MAX_POINTS + 2
        assert (x[0], x[-1]) == (0, n - 1)
        assert (np.diff(x) >= 0).all()
        assert {low, high} <= set(x.tolist())
        np.testing.assert_array_equal(kept, y[x])
        width = -(-n // (MAX_POINTS // 2))
        for start in range(0, n, width):
            part = y[start : start + width]
            drawn = kept[(x >= start) & (x < start + width)]
            if np.isfinite(part).any():
                assert drawn[np.isfinite(drawn)].min() == part[np.isfinite(part)].min()
                assert drawn[np.isfinite(drawn)].max() == part[np.isfinite(part)].max()


@pytest.mark.computes
def test_on_a_log_axis_the_least_that_is_shown_is_kept(device: str) -> None:
    y = np.full(9000, 5.0, dtype=np.float32)
    y[4321], y[4322] = 0.0, 0.5  # in one slice
    (made,) = series(plot_chart(pt.tensor(y, device=device), None, Options(yscale="log")))
    assert 4322 in made.x.tolist()
    assert min(v for v in made.y.tolist() if v > 0) == 0.5


@pytest.mark.computes
def test_a_cloud_is_sampled(device: str, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 5000)).astype(np.float32)
    given = pt.tensor(x, device=device), pt.tensor(y, device=device)
    (made,) = series(scatter_chart(*given, Options()))
    np.testing.assert_array_equal(made.x.numpy(), x[::3])
    np.testing.assert_array_equal(made.y.numpy(), y[::3])
    assert (made.size, made.step) == (5000, 3)


def test_series_of_a_chart(device: str) -> None:
    y = pt.tensor([[1, 2, 3], [4, 5, float("nan")]], device=device)
    columns = asyncio.run(plot_chart(y, None, Options()).drawn(blocking=True))["series"]
    assert [s["y"] for s in columns] == [[1, 4], [2, 5], [3, None]]
    rows = series(plot_chart([7, 8, 9], [y[0], y[1]], Options(label=["a", "b"])))
    assert [s.label for s in rows] == ["a", "b"]
    assert rows[1].x.tolist() == [7, 8, 9]
    named = series(plot_chart({"p": [1, 2], "q": [True, False]}, None, Options()))
    assert [(s.label, s.y.tolist()) for s in named] == [("p", [1, 2]), ("q", [1, 0])]
    losses = [y[0, 0], np.float32(5), 6]
    (points,) = series(plot_chart(losses, None, Options()))
    assert points.y.tolist() == [1, 5, 6]
    assert series(plot_chart(3, None, Options()))[0].size == 1
    assert series(plot_chart([], None, Options()))[0].size == 0


def test_arrays_of_others(rng: np.random.Generator) -> None:
    """They keep their own precision, so that times stay distinct."""
    seconds = 1.7e9 + np.arange(5)
    (given,) = series(plot_chart(seconds, np.linspace(0, 1, 5), Options()))
    bundle = asyncio.run(plot_chart(seconds, [1.0, 2, 3, 4, 5], Options()).drawn(True))
    assert bundle["series"][0]["x"] == given.x.tolist() == seconds.tolist()
    assert given.y.tolist() == [0, 0.25, 0.5, 0.75, 1]
    large = [2**24 + i for i in range(5)]
    (counts,) = series(plot_chart(large, np.array(large), Options()))
    assert counts.x.tolist() == counts.y.tolist() == large
    for dtype in ("uint8", "int16", "uint64", "float16"):
        assert drawable(np.ones((2, 2), dtype), "imshow").tolist() == [[1, 1], [1, 1]]


def test_unfit_series(device: str) -> None:
    y = pt.zeros(3, device=device)
    with pytest.raises(pt.ShapeError, match="plot: x has 2 points, y has 3"):
        plot_chart([1, 2], y, Options())
    with pytest.raises(pt.ShapeError, match=r"plot: a series must be 1-D, .* shape \(2, 2, 2\)"):
        plot_chart(pt.zeros((2, 2, 2), device=device), None, Options())
    with pytest.raises(ValueError, match="3 labels for 1 series"):
        plot_chart(y, None, Options(label=["a", "b", "c"]))
    many = r"plot: takes at most 20 series, not 1000000: the columns of .* \.T has its rows"
    with pytest.raises(ValueError, match=many):
        plot_chart(pt.zeros((2, 1_000_000), device=device), None, Options())
    with pytest.raises(TypeError, match="plot: label cannot be combined with a dict"):
        plot_chart({"a": y}, None, Options(label="b"))


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
@pytest.mark.parametrize("bins", [5, [-2.5, 0, 0.5, 3, 200], None])
def test_elements_are_counted_on_their_device(
    dtype: str, bins: Any, device: str, rng: np.random.Generator
) -> None:
    a = (rng.normal(size=3001) * 30).clip(0 if dtype == "uint32" else -100, 100).astype(dtype)
    a[:4] = 0, 3, 3, 100
    special = [np.nan, np.inf, -np.inf, -0.0] if dtype == "float32" else []
    x = pt.tensor(np.concatenate([a, np.array(special, a.dtype)]), device=device)
    found = asyncio.run(counted([x], bins, None, blocking=True))
    (counts,) = found.counts
    edges = np.array(found.edges, np.float64)
    if found.is_whole:
        edges -= 0.5  # the last bin is open at an edge that is not an element
    expected = np.histogram(np.concatenate([a, special[3:]]).astype(np.float64), edges)[0]
    assert counts.inside == expected.tolist()
    assert [counts.nan, counts.plus, counts.minus] == ([1, 1, 1] if special else [0, 0, 0])


@pytest.mark.computes
def test_equal_and_nearly_equal_elements_are_counted(device: str) -> None:
    for values, total in (([2.5] * 7, 7), ([1e-40, 2e-40, 0.0], 3), ([np.nan] * 3, 0)):
        x = pt.tensor(values, dtype=pt.float32, device=device)
        (counts,) = asyncio.run(counted([x], None, None, blocking=True)).counts
        assert sum(counts.inside) == total
