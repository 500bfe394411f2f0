"""The page on a phone: keys that on-screen keyboards lack, and the size of what is touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppSession
from tests.browser.editor import Editor
from tests.browser.repl import Repl

PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}
MIN_PX = 24  # WCAG 2.2, success criterion 2.5.8
MIN_KEY_PX = 44

SMALL_TARGETS = """(least) => {
    const targets = "button, a[href], summary, input, select, textarea, [role=tab]";
    const all = (root) => [...root.querySelectorAll("*")].flatMap((one) =>
        [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
    const isWithinText = (one) =>
        getComputedStyle(one).display === "inline" && one.matches(":is(p, dd, dt, td) *");
    return all(document.body)
        .filter((one) => one.matches(targets) && !one.matches(".visually-hidden"))
        .filter((one) => !isWithinText(one))
        .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        .map((one) => [one, (one.closest("label") ?? one).getBoundingClientRect()])
        .filter(([, { width, height }]) => Math.min(width, height) < least)
        .map(([one, { width, height }]) => `${width} x ${height}: ${one.outerHTML.slice(0, 100)}`);
}"""


@pytest.fixture(scope="module")
def phone(session: AppSession) -> Iterator[Page]:
    app = session.open_page(**PHONE)
    yield app.page
    app.close()


@pytest.fixture
def repl(phone: Page) -> Iterator[Repl]:
    phone.locator("#clear").tap()
    repl = Repl(phone)
    repl.input.fill("")
    yield repl
    repl.press("Escape")
    phone.evaluate("pyTensor.interrupt()")
    expect(phone.locator("#transcript .entry:is(.running, .waiting)")).to_have_count(0)


def key(repl: Repl, name: str) -> Locator:
    return repl.page.locator("#console-foot").get_by_role("button", name=name, exact=True)


def type_and_run(repl: Repl, text: str) -> None:
    repl.page.keyboard.type(text)
    key(repl, "Run").tap()


def test_run_runs_the_input(repl: Repl) -> None:
    repl.input.tap()
    type_and_run(repl, "1+1")
    expect(repl.last(".result")).to_have_text("2")
    expect(repl.input).to_be_focused()  # the keyboard stays open
    repl.expect_text("")


def test_new_line_continues_the_input(repl: Repl) -> None:
    repl.page.keyboard.type("one = 1")
    key(repl, "New line").tap()
    expect(repl.prompts).to_have_text([">>>", "..."])
    type_and_run(repl, "one + 1")
    expect(repl.entries).to_have_count(1)
    expect(repl.last(".result")).to_have_text("2")


def test_run_ends_a_block(repl: Repl) -> None:
    """Enter would begin another line."""
    type_and_run(repl, "for i in range(3):")
    repl.expect_text("for i in range(3):\n    ")
    type_and_run(repl, "print(i * 10)")
    expect(repl.last(".printed")).to_have_text("0\n10\n20\n")


def test_symbols(repl: Repl) -> None:
    for key_or_text in ("a", "_", "=", "sum", "(", "[", "3", "]", ")"):
        if key_or_text.isalnum():
            repl.page.keyboard.type(key_or_text)
        else:
            key(repl, key_or_text).tap()
    repl.expect_text("a_=sum([3])")  # the closing brackets were typed over
    repl.page.keyboard.press("Escape")
    key(repl, "Run").tap()
    type_and_run(repl, "a_")
    expect(repl.last(".result")).to_have_text("3")


def test_history_and_completion(repl: Repl) -> None:
    long = "words = '" + "and " * 30 + "'"  # it wraps
    type_and_run(repl, "total = 12")
    type_and_run(repl, long)
    key(repl, "Earlier input").tap()
    repl.expect_text(long)
    key(repl, "Earlier input").tap()
    repl.expect_text("total = 12")
    expect(repl.input).to_be_focused()
    key(repl, "Later input").tap()
    key(repl, "Later input").tap()
    repl.expect_text("")
    repl.page.keyboard.type("tota")
    key(repl, "Complete").tap()
    repl.expect_text("total")


def test_run_while_something_runs(repl: Repl) -> None:
    """The input waits, as after Enter; Interrupt is beside the keys."""
    type_and_run(repl, "import time; time.sleep(60)")
    interrupt = repl.page.locator("#interrupt")
    expect(interrupt).to_be_in_viewport(ratio=1)
    for size in ((320, 480), (390, 844), (844, 390)):
        repl.page.set_viewport_size({"width": size[0], "height": size[1]})
        tops = [box["y"] for box in map(Locator.bounding_box, (interrupt, key(repl, "Run"))) if box]
        assert len(tops) == 2
        assert tops[0] == tops[1], size
    repl.page.set_viewport_size({"width": 390, "height": 844})
    type_and_run(repl, "'next'")
    expect(repl.entries.last).to_contain_class("waiting")
    interrupt.tap()
    expect(repl.last(".result")).to_have_text("'next'")
    type_and_run(repl, "'after'")
    expect(repl.last(".result")).to_have_text("'after'")


def test_run_answers_a_question(repl: Repl) -> None:
    type_and_run(repl, "name = input('Name? ')")
    answer = repl.last(".answer")
    how = "Type here, then tap Run or press Enter"
    expect(answer).to_have_attribute("placeholder", how)
    answer.tap()
    repl.page.keyboard.type("Ada")
    key(repl, "_").tap()
    expect(answer).to_have_value("Ada_")
    key(repl, "Run").tap()
    expect(repl.last(".printed")).to_have_text("Name? Ada_\n")
    repl.input.tap()
    type_and_run(repl, "name")
    expect(repl.last(".result")).to_have_text("'Ada_'")


def test_the_keys_stay_above_the_keyboard(repl: Repl) -> None:
    """An on-screen keyboard shrinks the window."""
    repl.input.tap()
    try:
        repl.page.set_viewport_size({"width": 390, "height": 380})
        for name in ("(", "New line", "Run"):
            expect(key(repl, name)).to_be_in_viewport(ratio=1)
        expect(repl.input).to_be_in_viewport(ratio=1)
    finally:
        repl.page.set_viewport_size({"width": 390, "height": 844})


def test_help_has_no_escape_key(repl: Repl) -> None:
    type_and_run(repl, "pt.sum?")
    note = "Help on pt.sum is open in the console. Close it with Close."
    expect(repl.last(".note")).to_have_text(note)
    repl.page.get_by_role("button", name="Close").tap()
    expect(repl.page.get_by_role("region", name="Help on pt.sum")).to_be_hidden()


def test_a_link_names_the_run_key(repl: Repl) -> None:
    repl.page.evaluate("() => { location.hash = 'code=6*7'; }")
    expect(repl.page.locator("#offered")).to_contain_text("tap Run")
    repl.expect_text("6*7")
    key(repl, "Run").tap()
    expect(repl.last(".result")).to_have_text("42")


def test_the_editor(repl: Repl) -> None:
    repl.page.locator("#editor-button").tap()
    editor = Editor(repl.page)
    editor.write("# %%\nname = input('Name? ')\n# %%\n")
    keys = editor.pane.get_by_role("group", name="Keys")
    run = editor.pane.get_by_role("button", name="Run", exact=True)
    editor.text.focus()
    for part in ("print", "(", "name", ")"):
        if part.isalnum():
            editor.page.keyboard.type(part)
        else:
            keys.get_by_role("button", name=part, exact=True).tap()
    expect(editor.text).to_be_focused()
    editor.put("", after="input(")
    run.tap()
    answer = editor.outputs.locator(".answer")
    answer.fill("Ada")
    run.tap()
    expect(editor.outputs.first).to_contain_text("Name? Ada")
    editor.put("", after="print(")
    run.tap()
    expect(editor.outputs.last.locator(".printed")).to_have_text("Ada\n")
    editor.pane.get_by_role("button", name="Close the editor").tap()


def test_keys_and_all_other_targets_are_large_enough(repl: Repl) -> None:
    page = repl.page
    for size in ((320, 480), (390, 844), (844, 390)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        boxes = [button.bounding_box() for button in page.locator("#console-foot .touch-key").all()]
        assert len(boxes) == 11
        for box in boxes:
            assert box
            assert box["height"] >= MIN_KEY_PX
            assert box["width"] >= MIN_PX
    page.set_viewport_size({"width": 390, "height": 844})
    type_and_run(repl, "pt.rand(200, 5)")
    repl.last("button:has-text('Table')").tap()
    for code in ("pt.plot([1, 3, 2])", "f = lambda: 1 / 0", "f()"):
        type_and_run(repl, code)
    page.locator("#variables summary").tap()
    small: dict[str, Any] = {"console": page.evaluate(SMALL_TARGETS, MIN_PX)}
    page.locator("#editor-button").tap()
    expect(page.locator("#editor .cm-content")).to_be_visible()
    small["editor"] = page.evaluate(SMALL_TARGETS, MIN_PX)
    page.get_by_role("button", name="Close the editor").tap()
    for tab in page.get_by_role("tablist", name="Views").get_by_role("tab").all():
        tab.tap()
        expect(page.locator("[role=tabpanel]:visible > *").first).to_be_visible()
        small[tab.inner_text()] = page.evaluate(SMALL_TARGETS, MIN_PX)
    page.locator("#tab-console").tap()
    assert {view: found for view, found in small.items() if found} == {}
