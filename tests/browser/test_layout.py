"""Nothing is drawn over anything else, and nothing is wider than the window, whatever its size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.app import AppPage, AppSession
from tests.browser.editor import Editor, drop
from tests.browser.repl import Repl

pytestmark = pytest.mark.costly

# Its last statement is a function, which Playwright takes without the semicolon.
OVERLAPS = (Path(__file__).parent / "overlaps.js").read_text("utf-8").rstrip(";\n")

SIZES = [
    (320, 256),  # 1280 x 1024 at 400 %
    (320, 480),
    (360, 640),  # 1440 x 2560 at 400 %
    (390, 844),
    (412, 915),
    (480, 320),
    (568, 320),
    (640, 360),  # 2560 x 1440 at 400 %
    (640, 420),
    (667, 375),
    (720, 450),  # 1440 x 900 at 200 %
    (768, 1024),
    (844, 390),
    (1024, 600),
    (1024, 700),
    (1280, 720),
    (1366, 625),  # a screen of 1366 x 768 less the browser's bars
    (1440, 900),
    (1920, 1080),
    (2560, 1440),
]
LARGE_TEXT_SIZES = [(320, 480), (667, 375), (1024, 700), (1366, 625)]
VIEWS = [
    "gallery",
    "gallery/elementwise",
    "gallery/mandelbrot",
    "learn",
    "reference",
    "reference/softmax",
    "benchmarks",
]
OUTPUTS = [
    "pt.arange(12).reshape(3, 4)",
    "for i in range(60): print(i, 'a line ' * 30)\n",
    "pt.rand(8, 8)",
    "pt.imshow(pt.rand(40, 60), title='An image')",
    "'x' * 900 + str(1 / 0)",
]
CONTROLS = """\
@pt.ui.interact(
    a=pt.ui.slider(0, 5), b=pt.ui.choice(['x', 'y']), c=pt.ui.checkbox(True), d=pt.ui.number(3)
)
def curve(a, b, c, d):
    return pt.plot(pt.linspace(0, a, 50).sin())

"""
CELLS = (
    "# %% [markdown]\n# A text\n\n# %%\npt.imshow(pt.rand(9, 9))\n\n# %%\nprint('x' * 300)\n1 / 0"
)

FOCUSED_PROMPT = """(scrolled) => {
    scrollTo(0, scrolled ? document.documentElement.scrollHeight : 0);
    const content = document.querySelector("#input").shadowRoot.querySelector(".cm-content");
    content.blur();
    content.focus();
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const [prompt, screen] = [content.getBoundingClientRect(), box("#screen")];
    const isShown = prompt.top >= 0 && prompt.bottom <= Math.min(innerHeight, screen.bottom);
    const above = prompt.top - Math.max(0, screen.top);
    const foot = box(".console-foot").bottom;
    if (isShown && above >= 40 && foot <= innerHeight) return [];
    const range = ({ top, bottom }) => `${Math.round(top)} to ${Math.round(bottom)}`;
    return [`prompt ${range(prompt)}, screen ${range(screen)}, foot ends at ${foot}`];
}"""


@pytest.fixture(scope="module")
def page(session: AppSession) -> Iterator[Page]:
    app = session.open_page()
    yield app.page
    app.close()


def resize(page: Page, size: tuple[int, int]) -> None:
    """Resize the window, and wait for a frame: the transcript is scrolled in the next one."""
    page.set_viewport_size(ViewportSize(width=size[0], height=size[1]))
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


def faults(
    page: Page, sizes: list[tuple[int, int]] = SIZES, *, prompt: bool = False
) -> dict[str, Any]:
    """Return what is wrong at each size; with `prompt` also whether the prompt can be used."""
    wrong: dict[str, Any] = {}
    for size in sizes:
        resize(page, size)
        seen = page.evaluate(OVERLAPS)
        if prompt:
            seen += page.evaluate(FOCUSED_PROMPT, False) + page.evaluate(FOCUSED_PROMPT, True)
        if seen:
            wrong[f"{size[0]} x {size[1]}"] = seen
    resize(page, (1366, 800))
    return wrong


def enter(repl: Repl, code: str) -> None:
    repl.input.focus()
    repl.page.keyboard.insert_text(code)
    repl.press("Enter")
    ended = repl.page.locator("#transcript .entry:is(.waiting, .running)")
    expect(repl.input).to_be_focused()
    expect(ended).to_have_count(0)
    expect(repl.page.locator("#busy")).to_be_hidden()


def test_the_check_finds_what_overlaps(page: Page) -> None:
    put = """(style) => {
        const box = Object.assign(document.createElement("p"), { id: "over", textContent: "over" });
        box.style.cssText = style;
        document.querySelector("#variables").append(box);
        document.querySelector("#variables").open = true;
    }"""
    remove = "() => document.querySelector('#over').remove()"
    resize(page, (1366, 800))
    page.evaluate(put, "margin-top: -80px; width: 4rem")
    assert any('p#over "over" over' in fault for fault in page.evaluate(OVERLAPS))
    page.evaluate(remove)
    page.evaluate(put, "width: 2000px")
    [fault] = page.evaluate(OVERLAPS)
    page.evaluate(remove)
    # The window is narrower than 1366 px where scroll bars take room.
    assert re.fullmatch(r"the page is 20\d\d px wide in a window of 13\d\d", fault)
    page.evaluate("() => { document.querySelector('#variables').open = false; }")
    assert page.evaluate(OVERLAPS) == []


def test_the_first_screen(page: Page) -> None:
    wrong = {"with a banner": faults(page, prompt=True)}
    hide = page.locator("#banner").get_by_role("button", name="Hide")
    if hide.is_visible():  # there is no GPU
        hide.click()
    wrong["without a banner"] = faults(page, prompt=True)
    assert {state: seen for state, seen in wrong.items() if seen} == {}


def test_the_console(page: Page) -> None:
    """In each state of its panels, with outputs of all kinds."""
    repl = Repl(page)
    for code in OUTPUTS:
        enter(repl, code)
    tensor = page.locator(".entry", has_text="pt.rand(8")
    tensor.get_by_role("button", name="Table").click()
    expect(tensor.locator("table")).to_be_visible()
    expect(page.locator("#busy")).to_be_hidden()
    wrong = {"outputs": faults(page, prompt=True)}
    enter(repl, CONTROLS)
    expect(repl.last(".controls-output svg")).to_be_visible()
    wrong["controls"] = faults(page)
    page.locator("#variables summary").click()
    expect(page.locator("#variables td").first).to_be_visible()
    repl.entries.nth(1).focus()
    page.evaluate("document.querySelector('#screen').scrollTop = 0")
    repl.entries.nth(1).locator(".printed").evaluate("(output) => { output.scrollTop = 4; }")
    wrong["variables, and an entry with its buttons"] = faults(page)
    enter(repl, "pt.matmul?")
    expect(page.locator(".help")).to_be_visible()
    wrong["help"] = faults(page, prompt=True)
    repl.press("Escape")
    page.locator("#variables summary").click()
    for opener in ("#status-button", "#sessions-button", "#share summary", "#shortcuts-button"):
        page.locator(opener).click()
        wrong[opener] = faults(page)
        repl.press("Escape")
    repl.type("input('? ')")
    expect(page.locator("#interrupt")).to_be_visible()
    wrong["running"] = faults(page)
    page.evaluate("pyTensor.interrupt()")
    assert {state: seen for state, seen in wrong.items() if seen} == {}


def test_the_editor(page: Page) -> None:
    editor = Editor(page).open()
    editor.act("Run all")
    editor.expect_done(2)
    wrong = {"a program": faults(page, prompt=True)}
    drop(page, a_data_file_with_a_long_name__csv=b"1,2\n", other__txt=b"text")
    editor.pane.locator("summary", has_text="New").click()
    wrong["the menu"] = faults(page)
    editor.act("Notebook (.ipynb)")
    editor.expect_tabs("main.py", "notebook.ipynb")
    editor.write(CELLS)
    editor.act("Run all")
    editor.expect_done(2)
    wrong["a notebook"] = faults(page)
    editor.press("Control+f")
    wrong["its search"] = faults(page)
    editor.press("Escape")
    editor.pane.get_by_role("button", name="Close the editor").click()
    assert {state: seen for state, seen in wrong.items() if seen} == {}


def test_the_other_views(page: Page) -> None:
    wrong: dict[str, Any] = {}
    for view in VIEWS:
        show(page, view)
        if view == "gallery/elementwise":
            page.locator("#panel-gallery").get_by_role("button", name="Run", exact=True).click()
            expect(page.locator("#panel-gallery .entry.done").last).to_be_visible()
        wrong[view] = faults(page)
    page.locator("#tab-console").click()
    assert {view: seen for view, seen in wrong.items() if seen} == {}


def test_text_of_twice_the_size(page: Page) -> None:
    """That is, with the font size of the page at 200 %."""
    page.evaluate("() => { document.documentElement.style.fontSize = '200%'; }")
    wrong: dict[str, Any] = {"console": faults(page, LARGE_TEXT_SIZES)}
    for view in VIEWS:
        show(page, view)
        wrong[view] = faults(page, LARGE_TEXT_SIZES)
    page.evaluate("() => { document.documentElement.style.fontSize = ''; }")
    page.locator("#tab-console").click()
    assert {view: seen for view, seen in wrong.items() if seen} == {}


def show(page: Page, view: str) -> None:
    page.evaluate("(view) => { location.hash = view; }", view)
    panel = page.locator(f"#panel-{view.split('/')[0]}")
    expect(panel.locator("h2:visible").first).to_be_visible()


def test_nothing_moves_what_is_below_the_pointer(fresh_page: Callable[..., AppPage]) -> None:
    """From the first paint to a ready Python, a first input, Clear, and the editor."""
    page = fresh_page(boot=False).page
    resize(page, (1366, 800))
    where = """() => ["h1", "#tab-gallery", "#examples", "#editor-button", "#console"].map(
        (selector) => Math.round(document.querySelector(selector).getBoundingClientRect().top))"""
    left = "() => Math.round(document.querySelector('h1').getBoundingClientRect().left)"
    page.goto("/")
    expect(page.locator("#editor-button")).to_be_visible()
    first, first_left = page.evaluate(where), page.evaluate(left)
    page.evaluate("() => pyTensor.ready.then(() => null)")
    expect(page.locator("#transcript .note")).to_be_visible()
    assert page.evaluate(where) == first
    enter(Repl(page), "1 + 1")
    assert page.evaluate(where) == first
    page.locator("#clear").click()
    assert page.evaluate(where) == first
    Editor(page).open()
    assert page.evaluate(where) == first
    for view in VIEWS:
        show(page, view)
        assert page.evaluate(left) == first_left, view
