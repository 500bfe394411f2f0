"""Controls: their values and bounds, and functions that are called when they change."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import sys
from collections.abc import Generator, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor import ui
from py_tensor.display.screen import set_screen
from tests.page_python import load

pytestmark = pytest.mark.usefixtures("on_cpu")

loose: Any = ui  # arguments of any type
rich: Any = load("rich")
session: Any = load("session")


class Page:
    """The page: records messages, and acts for the user."""

    def __init__(self) -> None:
        self.posted: list[tuple[int, dict[str, Any], bool]] = []
        self.rich = rich.Rich(self, lambda work: None, lambda: True, lambda: None)

    def post(self, number: int, bundle: str, pixels: Any, is_update: bool) -> None:
        self.posted.append((number, json.loads(bundle), is_update))

    def drawn(self, number: int) -> Any:
        return None

    def panel(self) -> dict[str, Any]:
        """Return the controls shown last."""
        return [bundle for _, bundle, _ in self.posted if bundle["kind"] == "controls"][-1]

    def take(self) -> list[tuple[int, str, bool]]:
        """Take the new messages: number, text or kind, and whether it is an update."""
        taken = [(n, b.get("text", b["kind"]), update) for n, b, update in self.posted]
        self.posted.clear()
        return taken

    def move(self, control: ui.Control[Any], sent: Any) -> None:
        """Change a control, and run the functions that are due."""
        for target in ui.changed(control.id, sent) or []:
            asyncio.run(ui.run(target))


@pytest.fixture
def page() -> Iterator[Page]:
    page = Page()
    set_screen(page.rich)
    yield page
    set_screen(None)


# -- Values --------------------------------------------------------------------------------------


def test_first_values() -> None:
    controls: list[ui.Control[Any]] = [
        ui.slider(2, 9),
        ui.slider(2, 9, value=5),
        ui.slider(0.0, 1.0),
        ui.slider(0, 1, 0.25, value=0.3),
        ui.number(),
        ui.number(3, 8),
        ui.number(value=0.5),
        ui.checkbox(),
        ui.checkbox(True),
        ui.choice(["a", "b"]),
        ui.choice({"first": 1, "second": 2.5}, value=2.5),
        ui.button("Go"),
    ]
    values = [control.value for control in controls]
    assert values == [2, 5, 0.0, 0.3, 0, 3, 0.5, False, True, "a", 2.5, 0]
    kinds = [int, int, float, float, int, int, float, bool, bool, str, float, int]
    assert [type(value) for value in values] == kinds


def test_a_slider_steps_in_decimals() -> None:
    slider = ui.slider(0.01, 0.1, 0.0001, value=0.0367)
    assert slider.value == 0.0367
    for k in range(901):
        ui.changed(slider.id, 0.01 + k * 0.0001)
        assert slider.value == float(f"{0.01 + k * 0.0001:.4f}")


def test_values_from_the_page_are_limited_to_the_bounds() -> None:
    rng = np.random.default_rng()
    whole, part, number = ui.slider(-3, 7, 2), ui.slider(0.0, 0.7, 0.3), ui.number(0, 10)
    for sent in [*rng.uniform(-20, 20, 100).tolist(), -1e300, 1e300]:
        for control in (whole, part, number):
            ui.changed(control.id, sent)
        assert whole.value in range(-3, 8, 2)
        assert part.value in (0.0, 0.3, 0.6)
        assert number.value == round(min(max(sent, 0), 10))


def test_a_range_that_is_no_whole_number_of_steps() -> None:
    for slider in (ui.slider(0, 11, 4, value=11), ui.slider(0.0, 11.5, 4.0, value=11.0)):
        assert slider.value == 11
        ui.changed(slider.id, 1e300)
        assert slider.value == 8


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (0.5, 5, 0.05),
        (0.0, 1.0, 0.01),
        (0, 2.0, 0.02),
        (-30.0, -5.0, 0.25),
        (0.0, 2e-9, 2e-11),
        (0.0, 0.001, 1e-5),
        (-5e8, 5e8, 1e7),
        (0.0, 3.2, 0.025),
    ],
)
def test_the_default_step_is_round(start: float, stop: float, step: float) -> None:
    slider = ui.slider(start, stop)
    assert slider.described()["step"] == step
    ui.changed(slider.id, start + 0.49 * step)
    assert slider.value == start
    ui.changed(slider.id, start + 3.4 * step)
    assert slider.value == float(Decimal(repr(start)) + 3 * Decimal(repr(step)))


def test_a_slider_holds_the_value_asked_for() -> None:
    for args, value in (
        ((0.5, 5), 1),
        ((0, 1.0), 0.12345),
        ((0, 1, 0.25), 0.3),
        ((0, 10, 4), 9),
        ((-5, -1.5), -math.pi),
    ):
        slider = ui.slider(*args, value=value)
        assert slider.value == slider.described()["value"] == value
        ui.changed(slider.id, args[0])
        assert slider.value == args[0]
        ui.changed(slider.id, value)
        assert slider.value == value


def test_a_slider_of_any_range() -> None:
    rng = np.random.default_rng(34)
    for _ in range(2000):
        scale = 10.0 ** rng.integers(-300, 300)
        start, stop = sorted(float(x) for x in rng.uniform(-1, 1, 2) * scale)
        if rng.random() < 0.5:
            start, stop = float(f"{start:.2e}"), float(f"{stop:.2e}")
        if start == stop:
            continue
        value = min(max(start + float(rng.random()) * (stop - start), start), stop)
        slider = ui.slider(start, stop, value=value)
        assert slider.value == value
        for end in (stop, start):  # reachable
            ui.changed(slider.id, end)
            assert slider.value == end
        form = slider.described()
        step = Decimal(repr(form["step"]))
        assert step.normalize().as_tuple().digits in ((1,), (2,), (2, 5), (5,))
        assert 50 <= (Decimal(repr(stop)) - Decimal(repr(start))) / step <= 200
        ends = Decimal(repr(float(form["start"]))), Decimal(repr(float(form["stop"])))
        steps = int((ends[1] - ends[0]) / step)
        for k in {0, steps, *rng.integers(0, steps + 1, 3).tolist()}:
            position = ends[0] + k * step  # as the browser counts
            ui.changed(slider.id, float(position))
            assert slider.value == min(max(float(position), start), stop)


def test_sliders_of_extreme_ranges() -> None:
    most = sys.float_info.max
    for start, stop in ((-most, most), (0.0, 5e-324), (-5e-324, 1e-323), (1.0, 1.0 + 2**-52)):
        slider = ui.slider(start, stop)
        for sent in (start, stop):
            ui.changed(slider.id, sent)
            assert slider.value == sent
        form = slider.described()
        assert all(math.isfinite(form[name]) for name in ("start", "stop"))
        assert form["step"] > 0


def test_a_choice_gives_the_very_object() -> None:
    options = [pt.zeros(2), pt.ones(3)]
    choice = ui.choice({"zeros": options[0], "ones": options[1]})
    assert choice.value is options[0]
    ui.changed(choice.id, 1)
    assert choice.value is options[1]


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (
            lambda: loose.slider(3, 3),
            ValueError,
            "slider: start must be less than stop, got 3 and 3",
        ),
        (lambda: loose.slider(0, 1, value=2), ValueError, "value must be from 0 to 1, not 2"),
        (lambda: loose.slider(0, 1, 0), ValueError, "slider: step must be positive, not 0"),
        (lambda: loose.slider(0, float("inf")), ValueError, "slider: stop must be finite, not inf"),
        (
            lambda: loose.slider(float("nan"), 1),
            ValueError,
            "slider: start must be finite, not nan",
        ),
        (lambda: loose.slider(0, 10**5000), ValueError, "slider: stop must be at most 1.8e308"),
        (lambda: loose.slider(5, 0.5), ValueError, "start must be less than stop, got 5 and 0.5"),
        (
            lambda: loose.slider(0.5, 5, value=float("nan")),
            ValueError,
            "slider: value must be finite, not nan",
        ),
        (
            lambda: loose.interact(lambda a: a, a=(1.0, 0.5)),
            ValueError,
            "slider: start must be less than stop, got 1.0 and 0.5",
        ),
        (
            lambda: loose.slider(0, True),
            TypeError,
            "slider: stop must be an int or a float, not bool True",
        ),
        (lambda: loose.slider(0, 1, label=3), TypeError, "slider: label must be a str, not int 3"),
        (
            lambda: loose.number(4, 1),
            ValueError,
            "number: start must be less than stop, got 4 and 1",
        ),
        (
            lambda: loose.number(value="x"),
            TypeError,
            "value must be an int or a float, not str 'x'",
        ),
        (lambda: loose.number(1, value=0), ValueError, "value must be from 1 to inf, not 0"),
        (lambda: loose.checkbox(1), TypeError, "checkbox: value must be a bool, not int 1"),
        (lambda: loose.choice([]), ValueError, "choice: needs at least one option"),
        (lambda: loose.choice("ab"), TypeError, "options must be a list or a dict, not str 'ab'"),
        (lambda: loose.choice(["a"], value="b"), ValueError, "must be one of a, not 'b'"),
        (lambda: loose.interact(print), TypeError, "interact: needs a control"),
        (lambda: loose.interact(3, a=1), TypeError, "interact: takes a function, not int 3"),
        (
            lambda: loose.interact(lambda a: a, a="x"),
            TypeError,
            "interact: a must be a control, .* 'x'",
        ),
        (lambda: loose.interact(lambda a: a, b=1), TypeError, "interact: missing .* argument: 'a'"),
        (lambda: loose.interact(lambda: 0, b=1), TypeError, "unexpected keyword argument 'b'"),
        (lambda: loose.button().on_change(3), TypeError, "on_change: takes a function, not int 3"),
    ],
)
def test_unfit_arguments(make: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make()


# -- Without a screen ----------------------------------------------------------------------------


def test_elsewhere_the_function_is_called_once(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[Any] = []

    @ui.interact(a=ui.slider(1, 9, value=3), b=True, c=0.5, d=(2, 4), e=["x", "y"])
    def show(**values: Any) -> pt.Tensor:
        calls.append(values)
        return pt.arange(3)

    assert calls == [{"a": 3, "b": True, "c": 0.5, "d": 2, "e": "x"}]
    assert capsys.readouterr().out == "tensor([0, 1, 2])\n"
    show(a=1)
    assert calls[1:] == [{"a": 1}]


def test_elsewhere_an_error_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        ui.interact(lambda a: 1 // a, a=0)


def test_elsewhere_a_coroutine_function_must_not_wait(capsys: pytest.CaptureFixture[str]) -> None:
    async def show(a: int) -> int:
        return a

    class Wait:
        def __await__(self) -> Generator[None, None, None]:
            yield

    async def sleep(a: int) -> None:
        await Wait()

    ui.interact(show, a=4)
    assert capsys.readouterr().out == "4\n"
    with pytest.raises(pt.WaitError, match="interact: a coroutine function that waits"):
        ui.interact(sleep, a=4)


def test_a_control_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pt.display(ui.slider(1, 9, label="zoom"))
    assert capsys.readouterr().out == "<slider 'zoom': 1>\n"


# -- In a page -----------------------------------------------------------------------------------


def test_messages_to_the_page(page: Page) -> None:
    ui.interact(lambda a, b: None, a=ui.slider(1, 9, value=3), b=ui.checkbox(label="Both"))
    first, second = page.panel()["controls"]
    assert first == {
        "type": "slider",
        "number": first["number"],
        "label": "a",
        "value": 3,
        "start": 1,
        "stop": 9,
        "step": 1,
    }
    assert (second["label"], second["value"]) == ("Both", False)


def test_each_call_shows_in_the_same_places(page: Page) -> None:
    count = ui.slider(0, 5, value=2)

    def show(n: int) -> str | None:
        for i in range(n):
            pt.display(f"{i} of {n}")
        return "end" if n else None

    shown = ui.interact(show, n=count)
    assert page.take() == [(shown.shown_as, "controls", False)]  # the first call is the page's
    asyncio.run(ui.run(shown.id))
    (a, *_), (b, *_), (c, *_) = first = page.take()
    assert [text for _, text, _ in first] == ["'0 of 2'", "'1 of 2'", "'end'"]
    assert not any(update for *_, update in first)
    page.move(count, 1)
    assert page.take() == [(a, "'0 of 1'", True), (b, "'end'", True), (c, "shown", True)]
    page.move(count, 3)
    *same, (d, text, update) = page.take()
    assert same == [(a, "'0 of 3'", True), (b, "'1 of 3'", True), (c, "'2 of 3'", True)]
    assert (text, update) == ("'end'", False)
    page.move(count, 0)
    assert page.take() == [(n, "shown", True) for n in (a, b, c, d)]


def test_an_error_keeps_the_previous_output(page: Page) -> None:
    bottom = ui.number(value=2)
    ui.interact(lambda a: pt.display(6 // a), a=bottom)
    page.move(bottom, 3)
    page.take()
    with pytest.raises(ZeroDivisionError):
        page.move(bottom, 0)
    assert page.take() == []
    page.move(bottom, 6)
    assert [(text, update) for _, text, update in page.take()] == [("1", True)]


def test_displays_of_inputs_are_left_alone(page: Page) -> None:
    outside = pt.display("outside")
    control = ui.checkbox()
    ui.interact(lambda a: outside.update(a), a=control)
    page.move(control, True)
    other = pt.display("other")
    assert page.take()[-2:] == [(outside.number, "True", True), (other.number, "'other'", False)]


def test_charts_moved_by_a_call(page: Page) -> None:
    outside, steps = pt.display("outside"), ui.slider(1, 9)

    def show(n: int) -> None:
        inside = pt.display("inside")
        for i in range(n):
            outside.update(pt.plot([0, i]))
            inside.update(pt.plot([1, i]))
        if n == 3:
            pt.plot([n])

    ui.interact(show, n=steps)
    for n in (2, 3, 1, 3, 3, 2):
        page.move(steps, n)
        shown = {number: bundle for number, bundle, _ in page.posted}
        charts = {i: b["series"][0]["y"] for i, b in shown.items() if b["kind"] == "plot"}
        kept = [[0, n - 1], [1, n - 1], *([[3]] if n == 3 else [])]
        assert sorted(charts.values()) == sorted(kept)
        assert charts[outside.number] == [0, n - 1]
    assert len(shown) < 12  # the displays of later calls are those of the first


def test_on_change(page: Page) -> None:
    control = ui.choice(["a", "b", "c"])
    pt.display(control)
    seen: list[str] = []

    @control.on_change
    def note(value: str) -> str:
        seen.append(value)
        return value.upper()

    page.move(control, 2)
    page.move(control, 1)
    assert seen == ["c", "b"]
    assert note("d") == "D"
    texts = [(text, update) for _, text, update in page.take()]
    assert texts == [("controls", False), ("'C'", False), ("'B'", True)]


def test_one_control_of_two_functions(page: Page) -> None:
    control = ui.slider(1, 5)
    seen: list[str] = []
    ui.interact(lambda a: seen.append(f"first {a}"), a=control)
    ui.interact(lambda a, b: seen.append(f"second {a} {b}"), a=control, b=control)
    page.move(control, 4)
    assert seen == ["first 4", "second 4 4"]


# -- Repeated registration -----------------------------------------------------------------------

RERUNS = 1000


def alive(kind: type) -> int:
    gc.collect()
    return sum(isinstance(x, kind) for x in gc.get_objects())


def test_a_cell_that_runs_again_registers_again(page: Page) -> None:
    control = ui.slider(0, 2 * RERUNS)
    pt.display(control)
    seen: list[str] = []

    def cell(run: int) -> None:
        page.rich.begin(run)
        control.on_change(lambda value: seen.append(f"changed in {run}"))
        ui.interact(lambda a, b: seen.append(f"called in {run}"), a=control, b=ui.checkbox())

    async def reruns() -> None:
        for run in range(RERUNS):
            ui.forget(("input", run - 1))  # as the page does
            cell(run)

    before = alive(ui.Interaction), alive(ui.Control)
    asyncio.run(reruns())
    page.move(control, 1)
    assert seen == [f"called in {RERUNS - 1}", f"changed in {RERUNS - 1}"]
    assert alive(ui.Interaction) - before[0] == 1
    assert alive(ui.Control) - before[1] <= ui.KEPT  # the checkboxes, which the page may still show


def test_a_call_registers_again(page: Page) -> None:
    count, kept = ui.slider(0, RERUNS), ui.slider(0, RERUNS)
    seen: list[str] = []

    def show(n: int) -> None:
        kept.on_change(lambda value: seen.append(f"changed by {n}"))
        ui.interact(lambda a: seen.append(f"called by {n}"), a=kept)

    before = alive(ui.Interaction)
    ui.interact(show, n=count)
    for n in range(1, RERUNS + 1):
        page.move(count, n)
    page.move(kept, 3)
    assert seen == [f"called by {RERUNS}", f"changed by {RERUNS}"]
    assert alive(ui.Interaction) - before == 2


def test_interactions_without_references_are_dropped(page: Page) -> None:
    control = ui.checkbox()
    named = ui.interact(lambda a: None, a=control)
    for _ in range(RERUNS):
        ui.interact(lambda a: None, a=control)
    gc.collect()
    targets = ui.changed(control.id, True) or []
    assert len(targets) <= ui.KEPT + 1
    assert targets[0] == named.id


def test_interactions_shown_again_are_called_again(page: Page) -> None:
    control = ui.slider(0, 9)
    seen: list[int] = []

    async def inputs() -> ui.Interaction:
        page.rich.begin(1)
        return ui.interact(lambda a: seen.append(a), a=control)

    shown = asyncio.run(inputs())
    ui.forget(("input", 1))
    page.move(control, 4)
    assert seen == []
    pt.display(shown)
    page.move(control, 5)
    assert seen == [5]


def test_a_coroutine_function_is_awaited(page: Page) -> None:
    control = ui.checkbox()

    async def show(a: bool) -> bool:
        await asyncio.sleep(0)
        return a

    ui.interact(show, a=control)
    page.move(control, True)
    assert page.take()[-1][1:] == ("True", False)


def test_shown_interactions_stay_alive_without_a_name(page: Page) -> None:
    seen: list[bool] = []
    ui.interact(lambda a: seen.append(a), a=ui.checkbox())
    pt.display(ui.checkbox())
    gc.collect()
    panels = [b for _, b, _ in page.posted if b["kind"] == "controls"]
    for panel in panels:
        (control,) = panel["controls"]
        for target in ui.changed(control["number"], True) or []:
            asyncio.run(ui.run(target))
    assert seen == [True]
    assert ui.changed(10**9, True) is None


def test_a_value_of_an_input_is_shown_once(page: Page) -> None:
    page.rich.begin()
    control = ui.slider(1, 5)
    assert page.rich.describe(control) == {"kind": "shown"}
    interaction = ui.interact(lambda a: None, a=control)
    assert page.rich.describe(interaction) == {"kind": "shown"}
    assert [text for _, text, _ in page.take()] == ["controls"] * 2
    page.rich.begin()
    assert page.rich.describe(interaction) == {"kind": "shown"}
    assert [text for _, text, _ in page.take()] == ["controls"]


def test_a_call_ends_as_an_input_does() -> None:
    names: dict[str, Any] = {}
    console = session.Session(names)
    asyncio.run(console.run("def bad(): return 1 / 0"))

    async def call() -> None:
        names["bad"]()

    outcome = asyncio.run(console.react(call))
    assert not outcome.ok
    assert outcome.failure.type == "ZeroDivisionError"
    assert outcome.failure.places[-1].function == "bad"
    assert asyncio.run(console.run("x = 1 + 1")).ok
    assert names["x"] == 2


def test_numbers_and_options_of_numpy() -> None:
    control = ui.slider(np.float64(0), np.float64(1), value=np.float64(0.5))
    assert control.value == 0.5
    assert ui.choice(["a", None], value=None).value is None
    arrays = [np.zeros(2), np.ones(2)]
    assert ui.choice(arrays, value=arrays[1]).value is arrays[1]
    assert ui.choice(range(3), value=2).value == 2
