"""Accessibility of every view: axe's rules, keyboard only, reduced motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage, AppSession
from tests.environment import ROOT

pytestmark = pytest.mark.costly

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SIZES = {"phone": (400, 800), "wide": (1280, 800)}
LOOKS = [("phone", "dark"), ("wide", "light")]
"""Pairs of a size and a colour scheme, each once: no style depends on both."""
ENTRIES = [
    "pt.rand(3, 4)",
    "print('a line')",
    "1 / 0",
    "pt.ones(3) + pt.ones(4)",
    "pt.scatter([1, 2], [2, 1], c=[0, 1], title='Points', xlabel='x')",
    "pt.bar(['a', 'b'], {'one': [1, 2], 'two': [2, 1]})",
    "pt.contour(pt.rand(4, 4))",
    "pt.imshow(pt.rand(4, 300), title='An image')",
]
ITEMS = ["reference/softmax", "gallery/elementwise"]
"""Pages of items in views, whose programs run in place."""
STOPS = 2000  # more than in any view

AUDIT = """async () => {
  const { violations } = await axe.run(document, {
    resultTypes: ["violations"],
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  });
  const told = ({ target, any }) => `${target.join(" ")}: ${any[0]?.message ?? ""}`;
  return violations.map(({ id, impact, nodes }) => ({ id, impact, places: nodes.map(told) }));
}"""

FOCUSED = """() => {
  let found = document.activeElement;
  if (found === null || found === document.body) return null;
  while (found.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  const { outlineStyle, boxShadow } = getComputedStyle(found);
  const isField = found.matches("textarea, [contenteditable]"); // it has its caret
  found.dataset.stop ??= String(performance.now());
  return {
    stop: found.dataset.stop,
    html: found.outerHTML.slice(0, 120),
    shows: isField || outlineStyle !== "none" || boxShadow !== "none",
  };
}"""

FROM_THE_TOP = """() => {
  for (const { dataset } of document.querySelectorAll("[data-stop]")) delete dataset.stop;
  document.activeElement?.blur();
  getSelection().collapse(document.body, 0);
}"""

REACHABLE = """() => {
  const usual = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]";
  return [...document.querySelectorAll(usual)]
    .filter((element) => element.tabIndex >= 0 && !element.disabled)
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .filter((element) => element.type !== "radio" || element.checked)
    .map(({ dataset, outerHTML }) => ({ stop: dataset.stop, html: outerHTML.slice(0, 120) }));
}"""


def grave(page: Page) -> list[dict[str, Any]]:
    return [v for v in page.evaluate(AUDIT) if v["impact"] in ("serious", "critical")]


def tabs(page: Page) -> list[Locator]:
    """Return the tabs of all views of the page."""
    return page.get_by_role("tablist", name="Views").get_by_role("tab").all()


def show(page: Page, tab: Locator) -> None:
    """Open a view and wait until it has loaded."""
    tab.click()
    panel = page.locator("#" + (tab.get_attribute("aria-controls") or ""))
    expect(panel).to_be_visible()
    expect(panel.locator("> *").first).to_be_attached()
    page.wait_for_timeout(500)  # its pictures


@pytest.fixture(scope="module")
def app(session: AppSession) -> Iterator[AppPage]:
    """A page whose console shows one output of each kind."""
    app = session.open_page()
    app.page.locator("#screen").click()
    for entry in ENTRIES:
        app.page.keyboard.insert_text(entry)
        app.page.keyboard.press("Enter")
    over = app.page.locator("#transcript .entry:is(.done, .failed)")
    expect(over).to_have_count(len(ENTRIES), timeout=60_000)
    yield app
    app.close()


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_axe_finds_nothing_serious(
    app: AppPage, size: str, scheme: Literal["light", "dark"]
) -> None:
    page = app.page
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(AXE.read_text("utf-8"))
    found: dict[str, Any] = {}
    for tab in tabs(page):
        show(page, tab)
        found[tab.inner_text()] = grave(page)
    for item in ITEMS:
        page.evaluate("(item) => { location.hash = item; }", item)
        panel = page.locator(f"#panel-{item.split('/')[0]}")
        run = panel.get_by_role("button", name="Run", exact=True)
        expect(run).to_be_visible()
        done = panel.locator(".cell-output .entry.done")
        if not done.count():
            run.click()
        expect(done.last).to_be_visible(timeout=60_000)
        found[item] = grave(page)
        page.evaluate("(item) => { location.hash = item.split('/')[0]; }", item)
    assert {where: violations for where, violations in found.items() if violations} == {}


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_page(app: AppPage, size: str) -> None:
    page = app.page
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    for tab in tabs(page):
        show(page, tab)
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width, tab.inner_text()


def test_the_transcript_is_a_log(app: AppPage) -> None:
    show(app.page, tabs(app.page)[0])
    log = app.page.get_by_role("log", name="Inputs and results")
    expect(log).to_have_attribute("aria-live", "polite")
    for text in ("a line", "ZeroDivisionError", "do not broadcast"):
        expect(log).to_contain_text(text)


def test_every_view_works_by_keyboard(app: AppPage) -> None:
    """Tab reaches each control once, with a visible focus, and then leaves the page."""
    page = app.page
    page.set_viewport_size({"width": 1280, "height": 800})
    for tab in tabs(page):
        show(page, tab)
        view = tab.inner_text()
        page.evaluate(FROM_THE_TOP)
        stops: list[dict[str, Any]] = []
        for _ in range(STOPS):
            page.keyboard.press("Tab")
            stop = page.evaluate(FOCUSED)
            if stop is None or (stops and stop["stop"] == stops[0]["stop"]):
                break
            stops.append(stop)
        else:
            pytest.fail(f"{view}: the keyboard does not come out again: {stops[-3:]}")
        assert [s["html"] for s in stops if not s["shows"]] == [], view
        missed = [e["html"] for e in page.evaluate(REACHABLE) if "stop" not in e]
        assert missed == [], view


def test_views_are_changed_by_the_keyboard(app: AppPage) -> None:
    """Also those that were left at one of their pages, whose headings take the focus otherwise."""
    page = app.page
    for item in ITEMS:
        page.evaluate("(item) => { location.hash = item; }", item)
        expect(page.locator(f"#panel-{item.split('/')[0]} h2:focus")).to_have_count(1)
    all_tabs = tabs(page)
    show(page, all_tabs[0])
    all_tabs[0].focus()
    for tab in [*all_tabs[1:], all_tabs[0]]:
        page.keyboard.press("ArrowRight")
        expect(tab).to_be_focused()
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(page.locator("#" + (tab.get_attribute("aria-controls") or ""))).to_be_visible()
    for item in ITEMS:
        page.evaluate("(item) => { location.hash = item.split('/')[0]; }", item)


def test_nothing_moves_where_less_motion_is_wanted(app: AppPage) -> None:
    page = app.page
    page.emulate_media(reduced_motion="reduce")
    show(page, tabs(page)[0])
    page.evaluate("() => { pyTensor.run('import asyncio; await asyncio.sleep(60)'); }")
    expect(page.get_by_role("button", name="Interrupt")).to_be_visible()
    moving = (
        "() => document.getAnimations().map((animation) => animation.animationName ?? 'transition')"
    )
    assert page.evaluate(moving) == []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) != []
    page.evaluate("() => pyTensor.interrupt()")
