"""The views of the page, and links that contain code."""

from __future__ import annotations

import base64
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import SITE, AppPage
from tests.browser.visitor import Regular

OpenPage = Callable[..., AppPage]
WAIT_MS = 60_000


def address_of(links: Locator, i: int) -> str:
    return links.nth(i).get_attribute("href") or ""


def tab(page: Page, name: str) -> None:
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


class TestViews:
    """They share a page."""

    @pytest.fixture(scope="class")
    @classmethod
    def opened(cls, regular: Callable[[bool], Regular]) -> Iterator[Page]:
        page = regular(False).open_page().page
        yield page
        page.close()

    @pytest.fixture
    def page(self, opened: Page) -> Page:
        opened.get_by_role("tab", name="Console").click()
        tab(opened, "Console")
        return opened

    def test_back_and_forward(self, page: Page) -> None:
        page.get_by_role("tab", name="Gallery").click()
        page.get_by_role("link", name="The Game of Life").click()
        expect(page.get_by_role("heading", name="The Game of Life")).to_be_focused()
        page.get_by_role("tab", name="Reference").click()
        expect(page).to_have_url(re.compile("#reference$"))
        page.go_back()
        tab(page, "Gallery")
        expect(page.get_by_role("heading", name="The Game of Life")).to_be_visible()
        page.go_back()
        expect(page.locator(".card")).to_have_count(9)
        page.go_back()
        tab(page, "Console")
        page.go_forward()
        tab(page, "Gallery")

    def test_a_view_is_found_as_it_was_left(self, page: Page) -> None:
        page.goto("#gallery/nbody")
        tab(page, "Gallery")
        page.get_by_role("tab", name="Console").click()
        page.get_by_role("tab", name="Gallery").click()
        expect(page).to_have_url(re.compile("#gallery/nbody$"))
        page.get_by_role("tab", name="Gallery").click()
        expect(page).to_have_url(re.compile("#gallery$"))

    def test_keys(self, page: Page) -> None:
        page.get_by_role("tab", name="Console").focus()
        for key, name in [
            ("ArrowRight", "Gallery"),
            ("End", "Benchmarks"),
            ("ArrowRight", "Console"),
            ("ArrowLeft", "Benchmarks"),
            ("Home", "Console"),
        ]:
            page.keyboard.press(key)
            tab(page, name)
            expect(page.get_by_role("tab", name=name)).to_be_focused()

    def test_headings_are_alike(self, page: Page) -> None:
        page.goto("#gallery")
        looks: set[tuple[str, ...]] = set()
        for name in ("Gallery", "How it works", "Reference", "Benchmarks"):
            page.get_by_role("tab", name=name).click()
            heading = page.get_by_role("heading", level=2, name=name, exact=True)
            expect(heading).to_be_visible(timeout=WAIT_MS)
            page.wait_for_function("() => document.fonts.status === 'loaded'")
            look = """heading => {
                const { fontFamily, fontSize, fontWeight } = getComputedStyle(heading);
                const top = heading.getBoundingClientRect().top + scrollY;
                return [fontFamily, fontSize, fontWeight, String(Math.round(top))];
            }"""
            looks.add(tuple(heading.evaluate(look)))
        assert len(looks) == 1

    def test_links_of_the_foot(self, page: Page, server: str) -> None:
        links = page.locator(".colophon a")
        expect(links).to_have_text(
            ["Readme (install)", "Source (wheel)", "Documentation", "Licences"]
        )
        for link in links.all():
            address = link.get_attribute("href") or ""
            if address.startswith("#"):
                link.click()
                tab(page, "Reference")
            else:
                answer = page.request.get(server + address)
                assert answer.ok, address
        # The test's server has the files of the build alone; the whole wheel lies beside them.
        wheel = zipfile.ZipFile(SITE / address_of(links, 1))
        assert "py_tensor/__init__.py" in wheel.namelist()
        assert "pip install" in page.request.get(server + address_of(links, 0)).text()

    def test_what_was_typed_stays(self, page: Page) -> None:
        page.locator("#screen").click()
        page.keyboard.type("6 * 7")
        page.get_by_role("tab", name="How it works").click()
        page.get_by_role("tab", name="Console").click()
        page.locator("#screen").click()
        page.keyboard.press("Enter")
        expect(page.locator("#transcript .result")).to_have_text("42")


class TestSharing:
    def test_a_link_comes_back_and_does_not_run(self, fresh_page: OpenPage) -> None:
        code = "ran = True\nfor i in range(3):\n    print('π', i)"
        page = fresh_page(permissions=["clipboard-read", "clipboard-write"]).page
        page.evaluate("code => pyTensor.run(code)", "ran = False")
        page.locator("#screen").click()
        page.keyboard.insert_text(code)
        page.locator("#share summary").click()
        page.get_by_role("button", name="Copy a link to this input").click()
        expect(page.locator(".said")).to_contain_text("Link copied")
        link = page.evaluate("navigator.clipboard.readText()")
        packed = base64.urlsafe_b64decode(link.split("#code=")[1] + "==")
        assert zlib.decompress(packed, -15).decode() == code
        opened = fresh_page(path=link[link.index("#") :])
        notice = opened.page.locator("#offered")
        expect(notice).to_contain_text("came with the link")
        expect(opened.page.locator("#transcript .entry")).to_have_count(0)
        assert opened.run("'ran' in globals()")["result"] == "False"
        opened.page.keyboard.press("Enter")
        expect(notice).to_be_hidden()
        expect(opened.page.locator("#transcript .printed")).to_have_text("π 0\nπ 1\nπ 2\n")

    def test_the_plain_form(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#code=print(6*7)").page
        page.locator("#screen").click()
        page.keyboard.press("Enter")
        expect(page.locator("#transcript .printed")).to_have_text("42\n")

    def test_files(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        for code in ("x = 6\nx * 7", "print('hello')", "1 / 0", "pt.ones(2)"):
            page.locator("#screen").click()
            page.keyboard.insert_text(code)
            page.keyboard.press("Enter")
        expect(page.locator("#transcript .entry:is(.done, .failed)")).to_have_count(4)
        page.locator("#share summary").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as a script").click()
        script = download.value.path().read_text("utf-8")
        assert script.split("\n\n") == [
            "import py_tensor as pt", "x = 6\nx * 7", "print('hello')", "pt.ones(2)\n",
        ]  # fmt: skip
        expect(page.locator(".said")).to_contain_text(
            "One input that failed or did not finish is left out."
        )
        page.locator("#share summary").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as a notebook").click()
        notebook = json.loads(download.value.path().read_text("utf-8"))
        assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
        cells = notebook["cells"]
        assert len({cell["id"] for cell in cells}) == 5
        assert all(
            set(cell) == {"cell_type", "id", "execution_count", "metadata", "outputs", "source"}
            for cell in cells
        )
        outputs = [cell["outputs"] for cell in cells]
        assert outputs[1][0]["data"] == {"text/plain": ["42"]}
        assert outputs[2] == [{"output_type": "stream", "name": "stdout", "text": ["hello\n"]}]
        assert outputs[3][0]["output_type"] == "error"
        assert outputs[3][0]["ename"] == "ZeroDivisionError"
        assert outputs[4][0]["data"]["text/plain"][0].startswith("tensor([1., 1.])")

    @pytest.mark.parametrize("width", [1280, 390])
    def test_cleared_inputs(self, fresh_page: OpenPage, width: int) -> None:
        """They are in links and files only by choice, with a note."""
        page = fresh_page(permissions=["clipboard-read", "clipboard-write"]).page
        page.set_viewport_size({"width": width, "height": 800})
        summary = page.locator("#share summary")
        choice = page.get_by_role("checkbox", name="Include 1 cleared input")
        said = page.locator(".said")

        def enter(code: str) -> None:
            page.locator("#screen").click()
            page.keyboard.insert_text(code)
            page.keyboard.press("Enter")
            expect(page.locator("#transcript .entry.done")).to_have_count(1)

        def script() -> str:
            summary.click()
            with page.expect_download() as download:
                page.get_by_role("button", name="Save as a script").click()
            return download.value.path().read_text("utf-8")

        def linked(item: str) -> str:
            summary.click()
            page.get_by_role("button", name=item).click()
            expect(said).to_contain_text("Link copied")
            packed = page.evaluate("navigator.clipboard.readText()").split("#code=")[1]
            return zlib.decompress(base64.urlsafe_b64decode(packed + "=="), -15).decode()

        enter("secret = 'my password'")
        summary.click()
        expect(page.locator("#share label")).to_be_hidden()
        page.keyboard.press("Escape")
        page.locator("#clear").click()
        summary.click()
        page.get_by_role("button", name="Copy a link to the last input that ran").click()
        expect(said).to_have_text("No inputs yet.")
        enter("1 + 1")
        assert script() == "import py_tensor as pt\n\n1 + 1\n"
        expect(said).to_have_text("Script saved: 1 input.")
        assert linked("Copy a link to the session") == ">>> 1 + 1"
        summary.click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as a notebook").click()
        assert "secret" not in download.value.path().read_text("utf-8")
        expect(said).to_have_text("Notebook saved, with its outputs: 1 input.")
        summary.click()
        choice.check()
        expect(choice).to_be_visible()  # the menu stays open
        summary.click()
        assert "secret" in script()
        expect(said).to_have_text("Script saved: 2 inputs, 1 of them cleared.")
        assert "secret" in linked("Copy a link to the session")
        expect(said).to_contain_text("characters): 2 inputs, 1 of them cleared.")
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0
        page.locator("#clear").click()  # the choice was not made for these
        assert script() == "import py_tensor as pt\n"

    def test_a_link_to_the_session_parts_its_inputs(self, fresh_page: OpenPage) -> None:
        page = fresh_page(permissions=["clipboard-read", "clipboard-write"]).page
        for code in ("x = 6\nx * 7", "y", "%who", "x", "1 / 0"):
            page.locator("#screen").click()
            page.keyboard.insert_text(code)
            page.keyboard.press("Enter")
        expect(page.locator("#transcript .entry:is(.done, .failed)")).to_have_count(5)
        page.locator("#share summary").click()
        page.get_by_role("button", name="Copy a link to the session").click()
        expect(page.locator(".said")).to_contain_text("Link copied")
        link = page.evaluate("navigator.clipboard.readText()")
        packed = base64.urlsafe_b64decode(link.split("#code=")[1] + "==")
        shown = zlib.decompress(packed, -15).decode()
        assert shown == ">>> x = 6\n... x * 7\n>>> %who\n>>> x"
        expect(page.locator(".said")).to_contain_text(
            "2 inputs that failed or did not finish are left out."
        )
        page.locator("#share summary").click()
        page.get_by_role("button", name="Copy a link to the last input that ran").click()
        expect(page.locator(".said")).to_have_text(
            re.compile(r"^Link copied \(\d+ characters\)\.$")
        )
        link = page.evaluate("navigator.clipboard.readText()")
        packed = base64.urlsafe_b64decode(link.split("#code=")[1] + "==")
        assert zlib.decompress(packed, -15).decode() == "x"

    def test_the_notice_of_long_code_stays_in_view(self, fresh_page: OpenPage) -> None:
        code = "\n".join(f"x{i} = {i}" for i in range(200))
        packed = zlib.compressobj(wbits=-15)
        data = packed.compress(code.encode()) + packed.flush()
        link = "#code=" + base64.urlsafe_b64encode(data).decode().rstrip("=")
        page = fresh_page(path=link).page
        notice = page.locator("#offered")
        expect(notice).to_contain_text("came with the link")
        for key in ("Control+Home", "Control+End"):
            page.locator("#screen").click()
            page.keyboard.press(key)
            expect(notice).to_be_in_viewport(ratio=1)
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        expect(notice).to_be_hidden()

    def test_escape_closes_the_menu(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        page.locator("#share summary").click()
        expect(page.locator("#share .menu-items")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#share .menu-items")).to_be_hidden()
        expect(page.locator("#share summary")).to_be_focused()
