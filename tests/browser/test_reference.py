"""The reference: it lists everything public, and its examples print what it says."""

from __future__ import annotations

import inspect
import json
import re
import urllib.request
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import py_tensor as pt
from tests.browser.app import DIST, AppPage

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
Entry = dict[str, Any]

ENTRIES: dict[str, Entry] = {
    entry["name"]: entry
    for entry in json.loads((DIST / "reference.json").read_text("utf-8"))["entries"]
}


def test_everything_public_is_there() -> None:
    public = {n: getattr(pt, n) for n in dir(pt) if n[0] != "_"}
    functions = {f.__name__ for f in public.values() if inspect.isfunction(f)}
    assert functions <= set(ENTRIES)
    in_modules = {
        f"{module}.{name}"
        for module in ("fft", "linalg", "random")
        for name in dir(getattr(np, module))
        if inspect.isfunction(getattr(getattr(pt, module), name, None))
    }
    assert {f"ui.{name}" for name in dir(pt.ui) if name[0].islower()} <= set(ENTRIES)
    in_package = {name for name in in_modules if name.partition(".")[2] in functions}
    assert in_modules - in_package <= set(ENTRIES)
    shown = {name.removeprefix("Tensor.") for name in ENTRIES}
    shown |= {alias[2:] for entry in ENTRIES.values() for alias in entry["aliases"]}
    methods = {name for name in vars(pt.Tensor) if not name.startswith("_")}
    assert methods <= shown


def test_a_phone_shows_whole_names(fresh_page: Callable[..., AppPage]) -> None:
    page = fresh_page(path="#reference", viewport={"width": 390, "height": 800}).page
    names = page.locator("#panel-reference .index a")
    names.first.wait_for()
    expect(page.get_by_role("heading", name="Reference", exact=True)).to_be_in_viewport()
    cut = "(all) => all.filter((a) => a.scrollWidth > a.clientWidth).map((a) => a.textContent)"
    assert names.evaluate_all(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_page_has_what_the_build_wrote(server: str) -> None:
    with urllib.request.urlopen(server + "reference.json") as response:
        assert {entry["name"] for entry in json.load(response)["entries"]} == set(ENTRIES)


@pytest.mark.costly
@pytest.mark.parametrize("name", ENTRIES)
def test_an_example(app: AppPage, name: str) -> None:
    """Every input's output is the documented one; floating-point results within 4 ulp.

    For pictures, only that they are made: their contents are tested in test_display.py.
    """
    assert ENTRIES[name]["example"], f"{name}: there is no example; see web/build/examples.txt"
    forget_others(app)
    parts = session(ENTRIES[name]["example"])
    results: list[str] = []
    for code, _ in parts:
        done = app.run(code)
        assert done["ok"], done["error"]
        results.append("\n".join(filter(None, [done["stdout"].rstrip("\n"), done["result"]])))
    if ENTRIES[name]["section"] in ("Charts and pictures", "Controls"):  # these show no text
        return
    for shown, (_, expected) in zip(results, parts, strict=True):
        assert_same(shown, expected)


FORGET = """
def forget(names):
    for name in set(names) - {"pt"}:
        if not name.startswith("__"): del names[name]
forget(globals())
import dataclasses, secrets
from py_tensor.convert.printing import DEFAULT_OPTIONS
pt.set_printoptions(**dataclasses.asdict(DEFAULT_OPTIONS) | {"linewidth": 75})
pt.manual_seed(secrets.randbits(32))
pt.debug(sync=False, poison=False, wgsl=False)
pt.set_default_device("DEVICE")
del dataclasses, secrets, DEFAULT_OPTIONS
"""


def forget_others(app: AppPage) -> None:
    """Reset to a new session for the next example: only `pt`, and the defaults."""
    done = app.run(FORGET.replace("DEVICE", app.info["backend"]))
    assert done["ok"], done["error"]


def test_an_example_finds_nothing_of_another(app: AppPage) -> None:
    app.run("x = pt.ones(3)\npt.set_printoptions(precision=1)")
    forget_others(app)
    names = app.run("sorted(name for name in globals() if name[:2] != '__')")
    assert names["result"] == "['pt']"
    assert app.run("pt.tensor(1.25)")["result"] == "tensor(1.25)"


def session(text: str) -> list[tuple[str, str]]:
    parts: list[tuple[list[str], list[str]]] = []
    for line in text.split("\n"):
        if line.startswith(">>> "):
            parts.append(([line[4:]], []))
        elif line.startswith("..."):
            parts[-1][0].append(line[4:])
        else:
            parts[-1][1].append(line)
    return [("\n".join(code), "\n".join(output)) for code, output in parts]


def assert_same(shown: str, expected: str) -> None:
    """Assert equality, except that a number with a point may differ by 4 ulp and in its width."""
    if shown == expected:
        return
    assert "." in expected
    assert NUMBER.sub("#", "".join(shown.split())) == NUMBER.sub("#", "".join(expected.split()))
    found = np.array([float(n) for n in NUMBER.findall(shown)], np.float32)
    wanted = np.array([float(n) for n in NUMBER.findall(expected)], np.float32)
    np.testing.assert_array_max_ulp(found, wanted, maxulp=4)


class TestPage:
    def test_search_and_open(self, fresh_page: Callable[..., AppPage]) -> None:
        page = fresh_page(path="#reference").page
        search = page.get_by_role("searchbox")
        search.fill("soft")
        named = page.locator(".index section", has_text="By name").locator("a")
        expect(named).to_have_text(["softmax", "log_softmax"])
        expect(page.locator(".overview dt").first).to_have_text("softmax")
        search.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("#reference/softmax$"))
        expect(page.locator(".entry-page h2")).to_have_text("softmax")
        expect(page.locator(".index [aria-current]")).to_have_text("softmax")
        page.go_back()
        expect(page.locator(".entry-page h2")).to_have_text("Search: soft")
        search.fill("")
        expect(page.locator(".entry-page h2")).to_have_text("Reference")

    def test_search_of_the_text(self, fresh_page: Callable[..., AppPage]) -> None:
        page = fresh_page(path="#reference").page
        search = page.get_by_role("searchbox")
        search.fill("standard deviation")
        expect(page.locator(".index a", has_text=re.compile("^std$"))).to_be_visible()
        expect(page.locator(".side .count")).to_have_text(re.compile(r"^\d+ found$"))
        search.fill("no such words")
        expect(page.locator(".side .count")).to_have_text("No matches.")
        expect(page.locator(".index a")).to_have_count(0)
        expect(page.locator(".overview")).to_have_count(0)
        for words in ("backward", "pt.no_grad", "requires_grad()"):
            search.fill(words)
            expect(page.locator(".entry-page p").first).to_contain_text(
                ": pt.grad(f)(x) returns the gradient of a function."
            )

    def test_exact_names_are_first(self, fresh_page: Callable[..., AppPage]) -> None:
        page = fresh_page(path="#reference").page
        links = page.locator(".index a")
        for words, first in {"T": "Tensor.T", "t": "Tensor.T", "norm": "linalg.norm"}.items():
            page.get_by_role("searchbox").fill(words)
            expect(links.first).to_have_text(first)
        page.get_by_role("searchbox").fill("T")
        last_parts = [name.split(".")[-1].lower() for name in links.all_inner_texts()]
        assert last_parts[1].startswith("t")

    def test_a_search_without_matches_shows_no_entry(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        page = fresh_page(path="#reference/softmax").page
        heading, search = page.locator(".entry-page h2"), page.get_by_role("searchbox")
        search.fill("exp")
        expect(heading).to_have_text("softmax")
        search.fill("no such words")
        expect(heading).to_have_text("Search: no such words")
        expect(page.locator(".entry-page p")).to_have_text("No matches.")
        search.fill("")
        expect(heading).to_have_text("softmax")

    def test_run_an_example(self, fresh_page: Callable[..., AppPage]) -> None:
        page = fresh_page(path="#reference/matmul").page
        expect(page.locator(".facts")).to_contain_text("derivative")
        page.get_by_role("button", name="Run", exact=True).click()
        outputs = page.locator("#panel-reference .cell-output")
        expect(outputs.first).to_contain_text("[15., 22.]")
        page.get_by_role("button", name="Open in the editor").click()
        tab = page.locator("#editor .editor-tab[aria-current]")
        expect(tab).to_have_text("example_matmul.py")

    def test_facts(self, page: Page) -> None:
        facts = dict(ENTRIES["exp"]["facts"])
        assert facts["accuracy"] == "within 4 ulp in float32"
        assert facts["derivative"] == "defined"
        integers = "bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64"
        assert facts["dtypes"] == f"float16, complex64; {integers}, float32 → float32"
        assert dict(ENTRIES["sum"]["facts"])["dtypes"] == (
            "int64, uint64, float16, float32, complex64; bool, int8, int16, int32 → int32;"
            " uint8, uint16, uint32 → uint32"
        )
        assert dict(ENTRIES["floor"]["facts"])["accuracy"].startswith("exact")
        assert dict(ENTRIES["argmax"]["facts"])["derivative"] == "none"
        assert ENTRIES["add"]["aliases"][0] == "x + y"
        assert "accuracy" not in dict(ENTRIES["equal"]["facts"])
