"""The list of variables below the console."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.app import AppPage
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE

OpenPage = Callable[..., AppPage]


def rows(page: Page) -> list[list[str]]:
    lines = page.locator("#variables tbody tr")
    return [line.locator("th, td").all_inner_texts() for line in lines.all()]


def test_it_is_updated_after_each_input_and_remembered(fresh_page: OpenPage) -> None:
    app = fresh_page()
    page, repl = app.page, Repl(app.page)
    page.locator("#variables summary").click()
    expect(page.locator("#variables")).to_contain_text("No variables.")
    repl.type("x = pt.zeros((3, 4)).realize(); n = 42")
    expect(page.locator("#variables tbody tr")).to_have_count(2)
    device = app.run("str(pt.default_device())")["result"].strip("'")
    assert rows(page)[0][:2] == ["n", "42"]
    assert rows(page)[1] == ["x", "(3, 4)", "float32 tensor", device, "48 bytes"]
    repl.type("import numpy as np; a = np.ones(5)")
    expect(page.locator("#variables tbody tr")).to_have_count(3)
    assert rows(page)[0] == ["a", "(5,)", "float64 array", "NumPy", "40 bytes"]
    repl.type("del a, x")
    expect(page.locator("#variables tbody tr")).to_have_count(1)
    repl.type("x = pt.zeros(5)")
    expect(page.locator("#variables tbody tr")).to_have_count(2)
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(AUDIT) == []
    page.reload()
    expect(page.locator("#variables")).to_have_attribute("open", "")
    expect(page.locator("#variables")).to_contain_text("No variables.")
    page.locator("#variables summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#variables table")).to_be_hidden()


def test_what_was_printed_is_computed_and_the_prompt_stays_in_view(fresh_page: OpenPage) -> None:
    page = fresh_page(viewport={"width": 1280, "height": 640}).page
    repl = Repl(page)
    for i, x in enumerate(
        ("pt.arange(40)", "pt.linspace(0, 1, 40)", "pt.rand(40) * 2", "pt.eye(4)")
    ):
        repl.type(f"x{i} = {x}; print(x{i})")
    expect(repl.entries.nth(3)).to_have_class(re.compile("done"))
    expect(repl.input).to_be_in_viewport()
    page.locator("#variables summary").click()
    expect(page.locator("#variables tbody tr")).to_have_count(4)
    assert {memory for *_, memory in rows(page)} == {"160 bytes", "64 bytes"}
    expect(repl.input).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 390, "height": 700})
    expect(repl.input).to_be_in_viewport(ratio=1)
    page.locator("#variables summary").click()
    page.locator("#screen").evaluate("(screen) => { screen.scrollTop = 0; }")
    page.locator("#variables summary").click()
    page.wait_for_timeout(300)
    assert page.locator("#screen").evaluate("(screen) => screen.scrollTop") == 0  # unchanged


def test_they_go_when_python_restarts(fresh_page: OpenPage) -> None:
    page = fresh_page().page
    page.locator("#variables summary").click()
    Repl(page).type("x = 1")
    expect(page.locator("#variables tbody tr")).to_have_count(1)
    page.evaluate("document.querySelector('#restart').click()")
    expect(page.locator("#variables")).to_contain_text("Python is starting.")
    expect(page.locator("#variables table")).to_have_count(0)
    expect(page.locator("#variables")).to_contain_text("No variables.", timeout=60_000)
    Repl(page).type("y = 2")
    expect(page.locator("#variables tbody tr")).to_have_count(1)
    assert rows(page)[0][:2] == ["y", "2"]


def test_it_waits_for_code_that_runs(fresh_page: OpenPage) -> None:
    page = fresh_page().page
    repl = Repl(page)
    repl.type("x = 1")
    expect(repl.entries.first).to_have_class(re.compile("done"))
    repl.type("name = input('Who? ')")
    page.locator(".entry.running input").wait_for()
    page.locator("#variables summary").click()
    said = "The list appears when the running code has finished."
    expect(page.locator("#variables .variables-note")).to_have_text(said)
    page.locator(".entry.running input").fill("ada")
    page.locator(".entry.running input").press("Enter")
    expect(page.locator("#variables tbody tr")).to_have_count(2)


def test_nothing_is_read_or_computed_for_it(fresh_page: OpenPage) -> None:
    app = fresh_page()
    page, repl = app.page, Repl(app.page)
    page.locator("#variables summary").click()
    stats = "__import__('json').loads(pt.default_device().backend.bridge.stats())"
    before = app.run(f"s = {stats}; s['reads'], s['submits']")["result"]
    repl.type("x = pt.rand(3000) * 2")
    expect(page.locator("#variables tbody")).to_contain_text("not computed yet")
    assert app.run(f"s = {stats}; s['reads'], s['submits']")["result"] == before


def test_a_selection_by_a_mask_has_a_shape_once_its_input_has_ended(fresh_page: OpenPage) -> None:
    app = fresh_page()
    page, repl = app.page, Repl(app.page)
    page.locator("#variables summary").click()
    repl.type("x = pt.arange(9); y = x[x > 2]; total = int(y.sum())")
    expect(page.locator("#variables tbody tr")).to_have_count(3)
    assert [row[:3] for row in rows(page)] == [
        ["total", "33", "int"],
        ["x", "(9,)", "int32 tensor"],
        ["y", "(6,)", "int32 tensor"],
    ]
    repl.type("import asyncio; y = x[x > 3]; await asyncio.sleep(0)")
    expect(page.locator("#variables tbody")).to_contain_text("(5,)")
    listed = app.run(  # before the input ends, like the variable of a task beside the inputs
        "from py_tensor_page.variables import listed\nlisted({'z': x[x > 5]})['rows'][0]"
    )
    row = eval(listed["result"])
    assert (row["value"], row["type"], row["note"]) == ("(?,)", "int32 tensor", "not computed yet")
