"""How it works: the reader's own expression, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.app import AppPage

OpenPage = Callable[..., AppPage]
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


class TestLearn:
    def test_the_readers_expression(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#learn").page
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

    def test_it_leaves_no_trace(self, fresh_page: OpenPage) -> None:
        app = fresh_page(path="#learn")
        app.run("'mine'")
        before = app.run("sorted(globals())")["result"]
        said = app.page.locator(".learn .note")
        expect(said).to_contain_text("1 kernel", timeout=WAIT_MS)
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
            ("len('abc')", "not a tensor but int"),
            ("x + pt.ones(3)", "ShapeError"),
        ],
    )
    def test_mistakes(self, fresh_page: OpenPage, code: str, words: str) -> None:
        page = fresh_page(path="#learn").page
        said, field = page.locator(".learn .note"), page.get_by_label("Your expression")
        expect(said).to_contain_text("1 kernel", timeout=WAIT_MS)
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

    def test_a_single_node(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#learn").page
        said, field = page.locator(".learn .note"), page.get_by_label("Your expression")
        expect(said).to_contain_text("1 kernel", timeout=WAIT_MS)
        field.fill("x")
        field.press("Enter")
        expect(said).to_have_text("1 node, no kernels: already stored.")
        expect(page.locator("#learn-queue")).to_contain_text("the result is already stored")
        drawing = page.locator("#learn-graph svg")
        box = drawing.locator("rect").evaluate("(box) => box.getBBox().x")
        assert box >= 0

    def test_edges_run_behind_no_box(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#learn").page
        said, field = page.locator(".learn .note"), page.get_by_label("Your expression")
        field.fill("pt.exp(x).sum() * (x + y) - x * 3 + (x @ w).sin() * y")
        field.press("Enter")
        expect(said).to_contain_text("21 nodes", timeout=WAIT_MS)
        assert page.locator("#learn-graph svg").evaluate(BEHIND_BOXES) == []
