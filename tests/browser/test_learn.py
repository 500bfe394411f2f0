"""How it works: the reader's own expression, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app import AppPage
from tests.browser.visitor import Regular

WAIT_MS = 60_000

BEHIND_BOXES = """(drawing) => {
    const boxes = [...drawing.querySelectorAll("rect")].map((box) => box.getBBox());
    return [...drawing.querySelectorAll("path.edge")].flatMap((edge) => {
        const inside = [];
        for (let at = 0; at <= edge.getTotalLength(); at++) {
            const { x, y } = edge.getPointAtLength(at);
            inside.push(...boxes.filter((box) => x > box.x + 1 && x < box.x + box.width - 1
                && y > box.y + 1 && y < box.y + box.height - 1));
        }
        return inside.length ? [edge.getAttribute("d")] : [];
    });
}"""


@pytest.fixture(scope="module")
def opened(regular: Callable[[bool], Regular]) -> Iterator[tuple[AppPage, str]]:
    """A page with the view open, and the expression that it shows at first."""
    app = regular(False).open_page(path="#learn")
    expect(app.page.locator(".learn .note")).to_contain_text("1 kernel", timeout=WAIT_MS)
    yield app, app.page.get_by_label("Your expression").input_value()
    app.page.close()


@pytest.fixture
def learn(opened: tuple[AppPage, str]) -> AppPage:
    """A page that shows the first expression."""
    app, expression = opened
    app.page.get_by_role("tab", name="How it works").click()
    said, field = app.page.locator(".learn .note"), app.page.get_by_label("Your expression")
    field.fill("x")
    field.press("Enter")
    expect(said).to_contain_text("no kernels", timeout=WAIT_MS)
    field.fill(expression)
    field.press("Enter")
    expect(said).to_contain_text("1 kernel", timeout=WAIT_MS)
    return app


@pytest.fixture
def page(learn: AppPage) -> Page:
    return learn.page


class TestLearn:
    def test_the_readers_expression(self, page: Page) -> None:
        said = page.locator(".learn .note")
        expect(said).to_have_text(re.compile(r"\d+ nodes, 1 kernel\."), timeout=WAIT_MS)
        kernel = page.locator(".kernel")
        expect(kernel).to_contain_text("multiply, add, square, sum")
        expect(kernel).to_contain_text("reduce")
        threads = page.locator("#learn-threads")
        expect(threads.locator(".code").first).to_contain_text("@compute")
        expect(threads).to_contain_text(re.compile(r"It runs in \d+ workgroups? of \d+ threads\."))
        numbers = r"\d+ workgroups? of \d+ threads"
        drawn = threads.locator("svg").get_attribute("aria-label") or ""
        assert re.findall(numbers, drawn) == re.findall(numbers, threads.inner_text())
        expect(page.locator(".stream tbody tr")).to_have_count(1)
        page.get_by_label("Your expression").fill("x @ w + y")
        page.get_by_label("Your expression").press("Enter")
        expect(kernel.last).to_contain_text("matmul", timeout=WAIT_MS)
        expect(page.locator("#learn-graph text", has_text=re.compile("^w$"))).to_have_count(1)

    def test_it_leaves_no_trace(self, learn: AppPage) -> None:
        app = learn
        app.run("'mine'")
        before = app.run("sorted(globals())")["result"]
        app.page.get_by_label("Your expression").fill("pt.exp(x)")
        app.page.get_by_role("button", name="Trace").click()
        expect(app.page.locator(".kernel-name")).to_contain_text("exp", timeout=WAIT_MS)
        assert app.run("sorted(globals())")["result"] == before
        app.page.get_by_role("tab", name="Console").click()
        expect(app.page.locator("#transcript .entry")).to_have_count(0)

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("x +", "SyntaxError"),
            ("z = x + 1", "not a statement"),
            ("", "enter an expression"),
            ("len('abc')", "not a tensor but int, so there is no graph to show"),
            ("x.sum().item()", "leave out a call that reads the values, such as .item()"),
            ("x + pt.ones(3)", "ShapeError"),
        ],
    )
    def test_mistakes(self, page: Page, code: str, words: str) -> None:
        said, field = page.locator(".learn .note"), page.get_by_label("Your expression")
        default = field.input_value()
        field.fill(code)
        field.press("Enter")
        expect(page.locator(".learn .note.failed")).to_contain_text(words, timeout=WAIT_MS)
        expect(said).to_contain_text(f"Still showing {default}.")
        expect(page.locator("#panel-learn")).to_have_class(re.compile("stale"))
        field.fill("x + 1")
        field.press("Enter")
        expect(said).to_have_text("3 nodes, 1 kernel.")
        expect(page.locator("#panel-learn")).not_to_have_class(re.compile("stale"))

    @pytest.mark.parametrize("width", [1280, 390])
    def test_the_printed_result_fits(self, page: Page, width: int) -> None:
        before = page.viewport_size
        assert before is not None
        page.set_viewport_size({"width": width, "height": 800})
        field = page.get_by_label("Your expression")
        field.fill("x * 1000")
        field.press("Enter")
        expect(page.locator(".learn .note")).to_have_text("3 nodes, 1 kernel.")
        block = page.get_by_role("region", name="Your result")
        expect(block).to_contain_text("tensor([[")
        assert block.evaluate("e => e.scrollWidth <= e.clientWidth")
        page.set_viewport_size(before)

    def test_a_single_node(self, page: Page) -> None:
        said, field = page.locator(".learn .note"), page.get_by_label("Your expression")
        field.fill("x")
        field.press("Enter")
        expect(said).to_have_text("1 node, no kernels: already stored.")
        expect(page.locator("#learn-queue")).to_contain_text("the result is already stored")
        drawing = page.locator("#learn-graph svg")
        box = drawing.locator("rect").evaluate("(box) => box.getBBox().x")
        assert box >= 0

    def test_edges_do_not_cross_boxes(self, page: Page) -> None:
        said, field = page.locator(".learn .note"), page.get_by_label("Your expression")
        field.fill("pt.exp(x).sum() * (x + y) - x * 3 + (x @ w).sin() * y")
        field.press("Enter")
        expect(said).to_contain_text("21 nodes", timeout=WAIT_MS)
        assert page.locator("#learn-graph svg").evaluate(BEHIND_BOXES) == []
