"""Displays: printed if there is no screen, else the bundles that the screen receives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.display import pictures
from py_tensor.display import screen as displays
from py_tensor.display.screen import set_screen
from py_tensor.runtime.host import host

pytestmark = pytest.mark.usefixtures("on_cpu")


class Recorder:
    """A screen that records its bundles."""

    def __init__(self) -> None:
        self.posted: list[tuple[int, dict[str, Any], Any, bool]] = []
        self.waits: list[tuple[int, bool]] = []

    def post(self, number: int, bundle: dict[str, Any], beside: Any, is_update: bool) -> None:
        self.posted.append((number, bundle, beside, is_update))

    async def drawn(self, number: int, blocking: bool) -> None:
        self.waits.append((number, blocking))
        if not blocking:
            await asyncio.sleep(0)

    async def present(self, value: Any, blocking: bool) -> dict[str, Any]:
        return {"kind": "text", "text": repr(value)}

    def shown(self, but: int | None = None) -> dict[int, dict[str, Any]]:
        """Return what each display shows, except the empty ones."""
        latest = {number: bundle for number, bundle, _, _ in self.posted}
        return {n: b for n, b in latest.items() if b["kind"] != "shown" and n != but}


@pytest.fixture
def screen() -> Iterator[Recorder]:
    recorder = Recorder()
    set_screen(recorder)
    yield recorder
    set_screen(None)


def test_elsewhere_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    d = pt.imshow([[1, 2]])
    d.update(pt.tensor([[3, 4]]))
    pt.display("words")
    pt.plot({"up": [1, 2, 3]}, title="Both")
    asyncio.run(d.update_async([[5, 6]]))
    printed = [
        "tensor([[1, 2]])",
        "tensor([[3, 4]])",
        "'words'",
        "Both",
        "up: 3 points, from 1 to 3",
    ]
    assert capsys.readouterr().out.splitlines() == [*printed, "tensor([[5, 6]])"]


def test_bundles_of_a_screen(screen: Recorder) -> None:
    d = pt.imshow(pt.zeros((2, 3, 3)), scale=4)
    [(number, bundle, pixels, is_update)] = screen.posted
    assert number == d.number
    assert (bundle["kind"], bundle["width"], bundle["height"]) == ("image", 3, 2)
    assert bundle["scale"] == 4
    assert bundle["label"] == "Image of a tensor of shape (2, 3, 3)"
    assert bytes(pixels) == bytes([0, 0, 0, 255]) * 6
    assert not is_update
    assert screen.waits == []


def test_an_update_waits_for_the_one_before(screen: Recorder) -> None:
    d = pt.display(pt.zeros((1, 1)), cmap="gray", vmin=0, vmax=1)
    d.update(pt.ones((1, 1)))
    asyncio.run(d.update_async(pt.ones((1, 2)), vmax=2))
    assert [(number, update) for number, _, _, update in screen.posted] == [
        (d.number, False),
        (d.number, True),
        (d.number, True),
    ]
    assert screen.waits == [(d.number, True), (d.number, False)]
    shown = [bytes(pixels) for _, _, pixels, _ in screen.posted]
    white, gray = bytes([255] * 4), bytes([128, 128, 128, 255])
    assert shown == [bytes([0, 0, 0, 255]), white, gray * 2]


def test_a_display_may_become_another_kind(screen: Recorder) -> None:
    d = pt.display(pt.zeros((2, 2)))
    d.update(pt.ones((3, 3)))
    text = pt.display("a")
    text.update(pt.zeros((2, 2)))
    text.update("b")
    assert [bundle["kind"] for _, bundle, _, _ in screen.posted] == [
        "image",
        "image",
        "text",
        "image",
        "text",
    ]


def test_a_chart_keeps_its_style(screen: Recorder) -> None:
    d = pt.plot([1, 2], [3, 4], label="loss", yscale="log")
    d.update(([1, 2, 3], [5, 6, 7]))
    d.update([9])
    first, second, third = (bundle for _, bundle, _, _ in screen.posted)
    points = {"mark": "line", "x": [1, 2], "y": [3, 4], "size": 2, "step": 1}
    assert first["series"] == [{"label": "loss", "color": None, **points}]
    assert second["series"][0]["y"] == [5, 6, 7]
    assert third["series"][0]["x"] == [0]
    assert {b["yscale"] for b in (first, second, third)} == {"log"}


VALUES: dict[str, Callable[[int], Any]] = {
    "chart": lambda i: pt.plot([1, i]),
    "joined charts": lambda i: pt.plot([1, i]) + pt.scatter([2, i]),
    "picture": lambda i: pt.imshow([[1, i]]),
    "text": lambda i: pt.display(f"step {i}"),
    "tensor": lambda i: pt.display(pt.arange(i)),
    "display of a chart": lambda i: pt.display(pt.hist([1, i])),
}


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("first", [lambda: pt.display("x"), lambda: pt.plot([0])])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_display_takes_the_content_of_another(
    screen: Recorder, make: Any, first: Any, is_async: bool
) -> None:
    d = shown = first()
    number = d.number
    for i in range(2, 5):
        shown = make(i)
        (expected,) = screen.shown(but=number).values()
        if is_async:
            asyncio.run(d.update_async(shown))
        else:
            d.update(shown)
        assert list(screen.shown()) == [number]
        assert screen.shown()[number] == expected
    assert shown.number == d.number == number


def test_a_moved_display_is_updated_where_it_is(screen: Recorder) -> None:
    d = pt.display("x")
    g = pt.plot([1], title="Loss")
    d.update(g)
    g.update([1, 2, 3])
    assert list(screen.shown()) == [d.number]
    assert screen.shown()[d.number]["series"][0]["y"] == [1, 2, 3]
    assert screen.shown()[d.number]["title"] == "Loss"
    assert d._repr_mimebundle_() == g._repr_mimebundle_()
    d.update("done")
    assert screen.shown() == {d.number: {"kind": "text", "text": "'done'"}}
    other = pt.display("other")
    other.update(d)
    assert screen.shown() == {other.number: {"kind": "text", "text": "'done'"}}
    g.update([5])  # its own place again
    assert [bundle["kind"] for bundle in screen.shown().values()] == ["plot", "text"]


def test_a_display_updated_with_itself(screen: Recorder) -> None:
    d = pt.plot([1, 2])
    d.update(d)
    both = pt.plot([1]) + pt.plot([2])
    both.update(both)
    assert [len(bundle["series"]) for bundle in screen.shown().values()] == [1, 2]
    with pytest.raises(TypeError, match="display: title is for images, not for Display"):
        d.update(both, title="A")
    assert len(screen.shown()) == 2


def test_moved_displays_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    d = pt.display("x")
    for i in (1, 2):
        d.update(pt.plot([1, i]))
    d.update(d)
    d.update("end")
    lines = ["'x'", "line: 2 points, from 1 to 1", "line: 2 points, from 1 to 2", "'end'"]
    assert capsys.readouterr().out.splitlines() == lines


def test_numbers_differ(screen: Recorder) -> None:
    a, b = pt.display(1), pt.display(2)
    assert a.number != b.number
    assert repr(a) == f"<Display {a.number}>"


def test_an_error_shows_nothing(screen: Recorder) -> None:
    for draw in (lambda: pt.imshow(pt.zeros(3)), lambda: pt.plot(pt.zeros((2, 2, 2)))):
        with pytest.raises(pt.ShapeError):
            draw()
    with pytest.raises(ValueError, match="scale"):
        pt.imshow(pt.zeros((2, 2)), scale=0)
    assert screen.posted == []


SQUARE = [[1.0, 2.0], [3.0, 4.0]]
NAN, INF = float("nan"), float("inf")
SHAPES = r"x must have shape \(H, W\), \(H, W, 3\) or \(H, W, 4\), not "


@pytest.mark.parametrize("op", ["imshow", "display", "update"])
@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"scale": INF}, ValueError, "scale must be positive and finite, not inf"),
        ({"scale": NAN}, ValueError, "scale must be positive and finite, not nan"),
        ({"scale": 0}, ValueError, "scale must be positive and finite, not 0"),
        ({"scale": "2"}, TypeError, "scale must be a number, not str '2'"),
        ({"scale": [1, 2]}, TypeError, "scale must be a number, not list"),
        ({"vmin": NAN}, ValueError, "vmin must be a finite float32, not nan"),
        ({"vmax": INF}, ValueError, "vmax must be a finite float32, not inf"),
        ({"vmin": -1e300}, ValueError, "vmin must be a finite float32, not -1e"),
        ({"vmin": 10**400}, ValueError, "vmin must be finite, not int"),
        ({"vmin": 1j}, TypeError, "vmin must be a number, not complex"),
        ({"vmin": 2, "vmax": 1}, ValueError, "vmin must be less than vmax, got 2 and 1"),
        ({"vmin": 1, "vmax": 1}, ValueError, "vmin must be less than vmax, got 1 and 1"),
        ({"cmap": "jet"}, ValueError, "cmap must be one of viridis, .*, gray, not 'jet'"),
        ({"cmap": None}, TypeError, "cmap must be a str, not NoneType"),
    ],
)
def test_unfit_options_of_images(
    screen: Recorder, op: str, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    draw: Any = {"imshow": pt.imshow, "display": pt.display}.get(op) or pt.imshow(SQUARE).update
    with pytest.raises(error, match=("display: " if op == "display" else "imshow: ") + told):
        draw(pt.tensor(SQUARE), **options)
    assert len(screen.posted) == (op == "update")


def test_a_bound_is_a_number_and_no_tensor(screen: Recorder) -> None:
    largest: Any = pt.tensor(SQUARE).max()
    with pytest.raises(TypeError, match="imshow: vmax must be a number, not a tensor; use float"):
        pt.imshow(SQUARE, vmax=largest)


def test_float64_has_bounds_of_its_own(screen: Recorder) -> None:
    wide = pt.tensor([[-1e300, 0.0, 1e300]], dtype=pt.float64)
    pt.imshow(wide, vmin=-1e300, vmax=1e300, cmap="gray")
    assert bytes(screen.posted[0][2])[::4] == bytes([0, 128, 255])
    with pytest.raises(ValueError, match="vmin must be a finite float64, not -inf"):
        pt.imshow(wide, vmin=-INF)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"title": 5}, TypeError, "title must be a str, not int 5"),
        ({"xlabel": None}, TypeError, "xlabel must be a str, not NoneType"),
        ({"ylabel": b"y"}, TypeError, "ylabel must be a str, not bytes b'y'"),
        ({"label": 3}, TypeError, "label must be a str or a list of str, not int 3"),
        ({"label": ["a", 3]}, TypeError, "each label must be a str, not int 3"),
        ({"label": ["a", "b"]}, ValueError, "2 labels for 1 series"),
        ({"kind": "bar"}, ValueError, "kind must be one of line, area, not 'bar'"),
        ({"kind": ["line"]}, TypeError, "kind must be a str, not list"),
        ({"xscale": "sqrt"}, ValueError, "xscale must be one of linear, log, not 'sqrt'"),
        ({"yscale": True}, TypeError, "yscale must be a str, not bool True"),
    ],
)
def test_unfit_options_of_charts(
    screen: Recorder, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=f"plot: {told}"):
        pt.plot([1, 2, 3], **options)
    chart = pt.plot([1, 2, 3])
    with pytest.raises(error, match=f"plot: {told}"):
        chart.update([1, 2, 3], **options)
    assert len(screen.posted) == 1


def test_unknown_options(screen: Recorder) -> None:
    draw: Any
    for draw in (pt.imshow, pt.plot):
        with pytest.raises(TypeError, match=rf"{draw.__name__}\(\) got an unexpected .* 'colour'"):
            draw(SQUARE, colour="red")
    known = "unknown option colour; the options are vmin, vmax, cmap, scale, colorbar, .*, extent"
    with pytest.raises(TypeError, match=f"display: {known}"):
        pt.display(pt.tensor(SQUARE), colour="red")
    with pytest.raises(TypeError, match=f"imshow: {known}"):
        pt.imshow(SQUARE).update(SQUARE, colour="red")
    with pytest.raises(TypeError, match=r"plot: unknown option colour; .* title, .*, kind"):
        pt.plot([1]).update([1], colour="red")
    words = pt.display("words")
    for show in (words.update, pt.display):
        with pytest.raises(TypeError, match="display: cmap is for images, not for str"):
            show("others", cmap="gray")
    with pytest.raises(TypeError, match=r"display: cmap is for images, not for a tensor .* \(3,\)"):
        pt.display(pt.zeros(3), cmap="gray")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 2), (2, 2, 2, 3)])
def test_unfit_shapes_of_images(screen: Recorder, shape: tuple[int, ...]) -> None:
    with pytest.raises(pt.ShapeError, match="^imshow: " + SHAPES):
        pt.imshow(pt.zeros(shape))
    with pytest.raises(pt.ShapeError, match=r"imshow: .*\(0, 3\) has no pixels"):
        pt.imshow(pt.zeros((0, 3)))


def test_unfit_values_of_charts(screen: Recorder) -> None:
    d = pt.plot([1, 2])
    with pytest.raises(pt.ShapeError, match=r"plot: takes y or a pair \(x, y\), not a tuple of 3"):
        d.update((1, 2, 3))
    for value in ("text", None, {"a": "text"}, [1, 2j]):
        with pytest.raises(TypeError, match=r"^plot: "):
            pt.plot(value)


# -- Where Python cannot block --------------------------------------------------------------------


class Slow(Recorder):
    """A screen that receives each value only on request."""

    def __init__(self) -> None:
        super().__init__()
        self.ready: dict[Any, asyncio.Event] = {}

    async def present(self, value: Any, blocking: bool) -> dict[str, Any]:
        await self.ready.setdefault(value, asyncio.Event()).wait()
        if value == "bad":
            raise pt.GPUError("exp: it was refused")
        return {"kind": "text", "text": value}

    @property
    def texts(self) -> list[str]:
        return [bundle["text"] for _, bundle, _, _ in self.posted]


@pytest.fixture
def slow(screen: Recorder, monkeypatch: pytest.MonkeyPatch) -> Slow:
    """A screen on which every display waits for the GPU, and a Python that cannot block."""
    monkeypatch.setattr(displays.Content, "must_wait", lambda self: True)
    monkeypatch.setattr(host, "can_wait", lambda: False)
    found = Slow()
    set_screen(found)
    return found


def test_without_blocking_a_display_ends_in_its_value_or_error(slow: Slow) -> None:
    async def program() -> None:
        pt.display("good")
        pt.display("bad")
        await asyncio.sleep(0)
        assert slow.texts == ["…", "…"]
        for event in slow.ready.values():
            event.set()
        await asyncio.sleep(0.01)

    asyncio.run(program())
    first, second = [number for number, _, _, is_update in slow.posted if not is_update]
    assert {number: bundle for number, bundle, _, is_update in slow.posted if is_update} == {
        first: {"kind": "text", "text": "good"},
        second: {"kind": "error", "text": "GPUError: exp: it was refused"},
    }


def test_an_interrupted_display_says_so(slow: Slow) -> None:
    async def program() -> None:
        before = asyncio.all_tasks()
        pt.display("good")
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - before:
            task.cancel()
        await asyncio.sleep(0.01)

    asyncio.run(program())
    assert slow.texts == ["…", "KeyboardInterrupt"]


def test_a_chart_that_moves_while_it_is_computed_is_shown_once(slow: Slow) -> None:
    async def program() -> None:
        d, other = pt.display("x"), pt.display("other")
        await asyncio.sleep(0)
        moved = asyncio.ensure_future(d.update_async(other))
        await asyncio.sleep(0)
        for event in slow.ready.values():
            event.set()
        await moved
        await asyncio.sleep(0.01)
        assert slow.shown() == {d.number: {"kind": "text", "text": "other"}}

    asyncio.run(program())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_last_update_made_is_the_one_that_stays(slow: Slow, order: tuple[int, ...]) -> None:
    async def program() -> None:
        d = pt.display("first")
        updates = [asyncio.ensure_future(d.update_async(word)) for word in ("second", "third")]
        await asyncio.sleep(0)
        for i in order:
            slow.ready[("first", "second", "third")[i]].set()
            await asyncio.sleep(0.01)
        await asyncio.gather(*updates)

    asyncio.run(program())
    assert slow.texts[-1] == "third"
    places = [("…", "first", "second", "third").index(text) for text in slow.texts]
    assert places == sorted(places)


def test_an_update_that_waits_for_nothing_is_not_overtaken(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def program() -> None:
        d = pt.display("first")
        monkeypatch.undo()  # the rest runs on the CPU
        slow.ready["second"] = asyncio.Event()
        slow.ready["second"].set()
        d.update("second")
        slow.ready.setdefault("first", asyncio.Event()).set()
        await asyncio.sleep(0.01)

    asyncio.run(program())
    assert slow.texts == ["…", "second"]


def test_without_a_screen_an_update_is_awaited(capsys: pytest.CaptureFixture[str]) -> None:
    d = pt.display("words")
    asyncio.run(d.update_async(pt.tensor([1.5])))
    assert capsys.readouterr().out.splitlines() == ["'words'", "tensor([1.5])"]


def test_a_picture_that_comes_too_late_is_released(
    screen: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bitmap:
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    late, made = asyncio.Event(), list[Bitmap]()

    async def taken(picture: object, blocking: bool) -> Bitmap:
        found = Bitmap()
        made.append(found)
        if len(made) == 2:
            await late.wait()
        return found

    async def program() -> None:
        d = pt.imshow(pt.zeros((1, 1)))
        first = asyncio.ensure_future(d.update_async(pt.zeros((1, 1))))
        await asyncio.sleep(0)
        await d.update_async(pt.zeros((1, 1)))
        late.set()
        await first

    monkeypatch.setattr(pictures, "taken", taken)
    asyncio.run(program())
    assert [pixels for _, _, pixels, _ in screen.posted] == [made[0], made[2]]
    assert [bitmap.is_closed for bitmap in made] == [False, True, False]


def test_a_chart_of_nothing_leaves_no_point_out(screen: Recorder) -> None:
    pt.plot([])
    (series,) = screen.posted[0][1]["series"]
    assert (series["size"], series["step"]) == (0, 1)
