"""Rich results: views of tensors, objects of other libraries, and which tensors are kept."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.display import charts
from py_tensor.display.screen import set_screen

pytestmark = pytest.mark.usefixtures("on_cpu")

SOURCE = Path(__file__).parents[2] / "web" / "worker" / "python"
PACKAGE = "py_tensor_page"


def _module(name: str) -> ModuleType:
    """Return a module of the page's Python, whose package has this name in the page."""
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, SOURCE / "__init__.py", submodule_search_locations=[str(SOURCE)]
        )
        assert spec is not None
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{PACKAGE}.{name}")


rich: Any = _module("rich")
views: Any = _module("views")


def look(x: pt.Tensor, name: str, **place: int) -> dict[str, Any]:
    bundle, _ = asyncio.run(views.view(x, name, place, True))
    return json.loads(json.dumps(bundle, allow_nan=False))


def histogram(x: pt.Tensor) -> dict[str, Any]:
    (series,) = look(x, "histogram")["series"]
    return series


def test_which_views_make_sense() -> None:
    def names(*shape: int) -> str:
        return " ".join(rich.views_of(pt.zeros(shape)))

    assert names() == ""
    assert names(0, 3) == ""
    assert names(1) == "table"
    assert names(5) == "table plot histogram"
    assert names(4, 5) == "table heatmap histogram"
    assert names(2, 4, 5) == "table heatmap histogram"
    assert names(2, 4, 3) == "table heatmap histogram image"
    assert names(6, 1, 1) == "table histogram"


def test_a_table_shows_a_window() -> None:
    a = np.arange(120 * 45, dtype=np.float32).reshape(120, 45) / 7
    x = pt.tensor(a)
    for row, column in ((0, 0), (50, 20), (100, 40), (999, 999), (-5, -5)):
        page = look(x, "table", row=row, column=column)
        top, left = min(max(row, 0), 100), min(max(column, 0), 40)
        assert (page["row"], page["column"]) == (top, left)
        shown = [[str(v) for v in line] for line in a[top : top + 50, left : left + 20]]
        assert page["cells"] == shown
    assert (page["height"], page["width"], page["planes"]) == (120, 45, 1)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([float("nan"), float("inf"), float("-inf"), -0.0], ["nan", "inf", "-inf", "-0.0"]),
        ([True, False], ["True", "False"]),
        ([-3, 2**31 - 1], ["-3", "2147483647"]),
    ],
)
def test_cells_are_printed_as_scalars(values: list[Any], texts: list[str]) -> None:
    assert look(pt.tensor(values), "table")["cells"] == [[text] for text in texts]


def test_planes() -> None:
    a = np.arange(2 * 3 * 2 * 2).reshape(2, 3, 2, 2)
    x = pt.tensor(a.astype(np.int32))
    for plane in range(6):
        page = look(x, "table", plane=plane)
        i, j = divmod(plane, 3)
        assert page["index"] == [i, j]
        assert page["cells"] == [[str(v) for v in line] for line in a[i, j]]
    assert look(x, "heatmap", plane=5)["figure"]["colours"]["range"] == [20, 23]
    assert look(x, "table", plane=99)["plane"] == 5


def test_views_of_complex_numbers_say_that_they_show_absolute_values() -> None:
    z = pt.tensor([3 + 4j, 1 - 1j, -2 + 0j])
    plot, hist = look(z, "plot"), look(z, "histogram")
    assert plot["ylabel"] == hist["xlabel"] == "|z|"
    np.testing.assert_allclose(plot["series"][0]["y"], [5, 2**0.5, 2], rtol=1e-6)
    heatmap = look(z.reshape(1, 3), "heatmap")
    assert heatmap["figure"]["title"] == "|z|"
    assert heatmap["figure"]["colours"]["range"] == [pytest.approx(2**0.5), 5]
    bundle, _ = asyncio.run(views.view(z.reshape(1, 1, 3), "image", {}, True))
    assert bundle["figure"]["title"] == "|z|"
    real = abs(z)
    assert look(real, "plot")["ylabel"] == look(real.reshape(1, 3), "heatmap")["figure"]["title"]
    assert look(real, "histogram")["xlabel"] == "value"


def check_histogram(a: Any, found: dict[str, Any]) -> None:
    """The counts are those of `numpy.histogram` with the same edges, and no element is missing."""
    finite = a[np.isfinite(a)]
    edges = np.array(found["edges"], dtype=a.dtype if a.dtype.kind == "f" else object)
    assert edges[0] == finite.min()
    if a.dtype.kind == "f":
        assert edges[-1] == finite.max()
        expected, _ = np.histogram(finite, edges)
    else:  # its last bin is open at an edge that the dtype may not have
        places = [sum(int(v) >= edge for edge in edges[:-1]) - 1 for v in finite]
        expected = np.bincount(places, minlength=len(edges) - 1)
    assert found["counts"] == expected.tolist()
    assert sum(found["counts"]) + sum(found["other"].values()) == a.size
    assert found["other"] == {
        "nan": int(np.isnan(a).sum()),
        "-inf": int((a == -np.inf).sum()),
        "inf": int((a == np.inf).sum()),
    }


def test_a_histogram_counts(rng_like: np.random.Generator) -> None:
    a = rng_like.normal(size=5000).astype(np.float32)
    a[:3], a[3:5], a[5] = np.nan, np.inf, -np.inf
    found = histogram(pt.tensor(a.reshape(50, 100)))
    assert len(found["counts"]) == 35  # 2 * 5000 ** (1 / 3)
    check_histogram(a, found)
    low, high = found["edges"][0], found["edges"][-1]
    edges = np.linspace(low, high, 36)
    np.testing.assert_allclose(found["edges"], edges, atol=1e-6)


LIMITS = np.finfo(np.float32).max, np.finfo(np.float64).max


@pytest.mark.parametrize(
    "a",
    [
        np.array([-LIMITS[0], LIMITS[0], 0, 1, -1], np.float32),
        np.array([-LIMITS[1], LIMITS[1], 0, 1, -1], np.float64),
        np.array([1e-45, 0, 3e-45, 1e-40], np.float32),
        np.array([5e-324, 0, 1e-310], np.float64),
        np.array([1, 1 + 2**-23, 1 + 2**-22, 1], np.float32),
        np.array([1e16, 1e16 + 2, 1e16 + 4], np.float64),
        np.array([2.5, np.nan, 2.5, np.inf, -np.inf]),
        np.array([-0.0, 0.0, np.nan]),
        np.array([-1e300, np.inf, 1e-300]),
        np.array([65504, -65504, 6e-8], np.float16).astype(np.float32),
        np.array([-(2**31), 2**31 - 1, 0, -1], np.int32),
        np.array([0, 2**32 - 1, 2**31], np.uint32),
        np.array([-(2**63), 2**63 - 1, 0, -1, 2**63 - 2], np.int64),
        np.array([2**63 - 1, 2**63 - 1], np.int64),
        np.array([-(2**63), -(2**63) + 47, -(2**63) + 48], np.int64),
    ],
    ids=lambda a: f"{a.dtype}-{a[0]}",
)
def test_histograms_of_extremes(a: Any) -> None:
    check_histogram(a, histogram(pt.tensor(a, dtype=a.dtype)))


@pytest.mark.parametrize("shape", [(3_000_000,), (3000, 1000), (10, 300_001), (2, 3, 500_000)])
def test_of_too_many_elements_a_part_is_looked_at(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MAX_SHOWN", 1 << 20)
    x = pt.arange(int(np.prod(shape))).reshape(shape)
    found = histogram(x)
    assert 1 < found["step"] < 10
    assert found["size"] == x.size
    assert x.size / found["step"] <= sum(found["counts"]) <= min(1 << 20, x.size / 2)
    share = np.array(found["counts"]) / sum(found["counts"])
    np.testing.assert_allclose(share[:-1], 1 / len(share), rtol=0.05)
    if len(shape) > 1:
        heatmap = look(x, "heatmap")
        steps, blocks = heatmap["of"]["steps"], heatmap["of"]["blocks"]
        size = [heatmap["height"], heatmap["width"]]
        kept = [-(-n // step) for n, step in zip(x.shape[-2:], steps, strict=True)]
        assert size == [-(-n // block) for n, block in zip(kept, blocks, strict=True)]
        assert np.prod(steps) > 1 or x.shape[-2] * x.shape[-1] <= 1 << 20
    else:
        (series,) = look(x, "plot")["series"]
        assert (series["step"], series["size"]) == (3, 3_000_000)
        assert series["x"] == series["y"]
        assert (series["x"][0], series["x"][-1]) == (0, 2_999_997)


@pytest.fixture
def rng_like() -> np.random.Generator:
    return np.random.default_rng()


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_a_histogram_of_integers(dtype: str, rng_like: np.random.Generator) -> None:
    a = rng_like.integers(3, 9, 400).astype(dtype)
    found = histogram(pt.tensor(a))
    expected = {value: int((a == value).sum()) for value in range(a.min(), a.max() + 1)}
    assert dict(zip(found["edges"][:-1], found["counts"], strict=True)) == expected
    wide = rng_like.integers(0, 2**31, 1000).astype(dtype)
    if dtype == "int32":
        wide[:2] = -(2**31), 2**31 - 1  # their difference does not fit the dtype
    found = histogram(pt.tensor(wide))
    expected_counts, _ = np.histogram(wide.astype(np.float64), np.array(found["edges"]) - 0.5)
    assert found["counts"] == expected_counts.tolist()


def test_histograms_without_a_spread() -> None:
    assert histogram(pt.full((7,), 2.5))["counts"] == [7]
    none = histogram(pt.full((2, 2), float("nan")))
    assert (none["counts"], none["other"]["nan"]) == ([0], 4)
    bools = histogram(pt.tensor([True, False, True]))
    assert (bools["mark"], bools["x"], bools["y"]) == ("bar", [0, 1], [1, 2])
    extreme = histogram(pt.tensor([-3e38, 3e38, 0.0]))
    assert (sum(extreme["counts"]), extreme["counts"][0], extreme["counts"][-1]) == (3, 1, 1)


def test_heat_maps() -> None:
    small = look(pt.tensor([[1.0, float("nan")], [2.5, float("inf")]]), "heatmap")
    assert (small["width"], small["height"]) == (2, 2)
    assert small["figure"]["colours"]["range"] == [1, 2.5]
    large = look(pt.zeros((5, 1300)), "heatmap")
    assert (large["width"], large["height"]) == (434, 5)
    assert large["of"]["width"] == 1300
    assert look(pt.full((2, 2), float("nan")), "heatmap")["figure"]["colours"] is None


# -- Which tensors are kept ----------------------------------------------------------------------


def test_the_last_tensors_are_kept() -> None:
    kept = rich.Kept()
    numbers = [kept.add(pt.zeros(3)) for _ in range(rich.KEPT_TENSORS + 5)]
    assert [kept.get(n) is None for n in numbers[:6]] == [True] * 5 + [False]
    assert kept.get(0) is None


def test_large_ones_live_as_long_as_others_hold_them() -> None:
    kept = rich.Kept()
    held = pt.zeros((4096, 4096)).realize()
    first = kept.add(held)
    second = kept.add(pt.zeros((4096, 2048)))
    third = kept.add(pt.zeros((4096, 4096)))
    gc.collect()
    assert kept.get(first) is held
    assert kept.get(second) is None
    assert kept.get(third) is not None
    kept.add(pt.zeros(1))
    gc.collect()
    assert kept.get(third) is None


def test_a_view_keeps_its_base() -> None:
    kept = rich.Kept()
    large = pt.zeros((4096, 8192)).realize()
    row, total = kept.add(large[0]), kept.add((large * 2)[5, 5])
    gc.collect()
    assert kept.get(row) is kept.get(total) is None


class Posted:
    """A channel to a page that records messages."""

    def __init__(self) -> None:
        self.bundles: list[dict[str, Any]] = []

    def post(self, number: int, bundle: str, pixels: Any, is_update: bool) -> None:
        self.bundles.append(json.loads(bundle))

    async def drawn(self, number: int) -> None: ...


def test_an_update_takes_the_place_of_its_own_tensor_alone() -> None:
    port = Posted()
    made = rich.Rich(port, None, lambda: False, lambda: None)
    other = made.describe(pt.arange(5))["number"]
    set_screen(made)
    try:
        displays = [pt.display(pt.arange(3)), pt.display(pt.arange(4))]
        updates = 2 * rich.KEPT_TENSORS
        for i in range(updates):
            displays[0].update(pt.full((3,), i))
        first, second = port.bundles[-1]["number"], port.bundles[1]["number"]
        kept = [made._kept.get(number) for number in (other, first, second)]
        assert [x.tolist() for x in kept] == [[0, 1, 2, 3, 4], [updates - 1] * 3, [0, 1, 2, 3]]
        displays[0].update("words")
        assert made._kept.get(first) is None
        displays[0].update(pt.ones(2))
        assert made._kept.get(port.bundles[-1]["number"]).tolist() == [1, 1]
    finally:
        set_screen(None)


def test_a_live_picture_of_the_gallery() -> None:
    frame = np.array([[0xFF0000, 0x00FF00, 0x0000FF], [0, 0x808080, 0xFFFFFF]], np.uint32)
    posted: list[Any] = []

    class Port(Posted):
        def post(self, number: int, bundle: str, pixels: Any, is_update: bool) -> None:
            super().post(number, bundle, pixels, is_update)
            posted.append(bytes(pixels))

    values = {"height": 2, "width": 3, "filter": "none"}
    request = {"name": "filters", "code": "", "values": values}
    port = Port()
    made = rich.Rich(port, lambda awaitable: None, lambda: True, lambda: None)
    asyncio.run(made.draw(json.dumps(request), memoryview(frame.tobytes()).cast("I")))
    (bundle,) = port.bundles
    assert (bundle["kind"], bundle["width"], bundle["height"]) == ("image", 3, 2)
    pixels = np.frombuffer(posted[0], np.uint32).reshape(2, -1)[:, :3]
    np.testing.assert_array_equal(pixels & 0xFFFFFF, frame)


def test_an_update_evicts_no_other_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rich, "KEPT_BYTES", 1000)
    monkeypatch.setattr(rich, "KEPT_TENSORS", 2)
    port = Posted()
    made = rich.Rich(port, None, lambda: False, lambda: None)
    result = made.describe(pt.zeros(100))["number"]
    set_screen(made)
    try:
        d = pt.display(pt.zeros(120))
        d.update(pt.ones(120))
    finally:
        set_screen(None)
    gc.collect()
    assert made._kept.get(result) is not None
    assert made._kept.get(port.bundles[-1]["number"]).tolist() == [1] * 120


def test_a_late_update_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later update overtook it, so the page never receives its tensor."""
    late = asyncio.Event()

    async def text(self: pt.Tensor) -> str:
        if self.shape == (2,):
            await late.wait()
        return "text"

    async def program() -> None:
        d = pt.display(pt.zeros(1))
        first = asyncio.ensure_future(d.update_async(pt.zeros(2)))
        await asyncio.sleep(0)
        await d.update_async(pt.zeros(3))
        late.set()
        await first

    monkeypatch.setattr(pt.Tensor, "__repr_async__", text)
    port = Posted()
    made = rich.Rich(port, None, lambda: False, lambda: None)
    set_screen(made)
    try:
        asyncio.run(program())
    finally:
        set_screen(None)
    assert [bundle["shape"] for bundle in port.bundles] == [[1], [3]]
    assert [reference().shape for reference in made._kept._known.values()] == [(3,)]


# -- Objects of other libraries ------------------------------------------------------------------


class Html:
    def _repr_html_(self) -> str:
        return "<b>bold</b>"


class Png:
    def _repr_png_(self) -> bytes:
        return b"\x89PNG"


class Jpeg:
    def _repr_jpeg_(self) -> bytes:
        return b"\xff\xd8\xff"


class Raises:
    def _repr_html_(self) -> str:
        raise RuntimeError("no")


class RaisesAndDraws(Raises):
    def _repr_svg_(self) -> str:
        return "<svg/>"


class Bundled(Png):
    def _repr_mimebundle_(self) -> Any:
        return {"text/plain": "words", "image/svg+xml": "<svg/>"}, {"metadata": 1}


class Anything:
    def __getattr__(self, name: str) -> Any:
        return lambda: "made up"


@pytest.mark.parametrize(
    ("value", "kind", "data"),
    [
        (Html(), "html", "<b>bold</b>"),
        (Png(), "png", "iVBORw=="),
        (Jpeg(), "jpeg", "/9j/"),
        (RaisesAndDraws(), "svg", "<svg/>"),
        (Bundled(), "svg", "<svg/>"),
    ],
)
def test_forms_of_objects(value: object, kind: str, data: str) -> None:
    label = f"Output of type {type(value).__name__}"
    assert rich.described_object(value) == {"kind": kind, "data": data, "label": label}


@pytest.mark.parametrize("value", [1, "text", Raises(), Anything(), object()])
def test_objects_without_a_form(value: object) -> None:
    assert rich.described_object(value) is None


def test_a_class_is_no_instance() -> None:
    made = rich.Rich(None, None, None, None)
    assert made.describe(Html) is None
    assert made.describe(Html())["kind"] == "html"
