"""The editor beside the console: files, tabs, cells with their output below them."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.app import AppPage
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE, SIZES
from tests.browser.test_sessions import Visits
from tests.browser.visitor import Regular

DROP = """async (files) => {
  const dataTransfer = new DataTransfer();
  for (const [name, base64] of files) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    dataTransfer.items.add(new File([bytes], name));
  }
  const options = { dataTransfer, bubbles: true, cancelable: true };
  const target = document.querySelector("#screen");
  for (const type of ["dragover", "drop"]) target.dispatchEvent(new DragEvent(type, options));
}"""


CLICK_AT_ONCE = """
  const observer = new MutationObserver(() => {
    const button = document.querySelector("#editor-button");
    if (!button) return;
    observer.disconnect();
    button.click();
  });
  observer.observe(document, { childList: true, subtree: true });
"""


class Editor:
    """The editor under a person's hands."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.pane = page.locator("#editor")
        self.button = page.locator("#editor-button")
        self.text = self.pane.locator(".code-editor:not([hidden]) .cm-content")
        self.outputs = self.pane.locator(".code-editor:not([hidden]) .cell-output")

    def open(self) -> Editor:
        self.button.click()
        expect(self.text).to_be_visible()
        return self

    def write(self, text: str) -> None:
        """In place of what stands there."""
        self.text.focus()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def put(self, text: str, *, after: str) -> None:
        """The caret behind some text, and more text there."""
        line = self.text.locator(".cm-line", has_text=after)
        line.click()
        self.page.keyboard.press("End")
        if text:
            self.page.keyboard.insert_text(text)

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def act(self, name: str) -> None:
        self.pane.get_by_role("button", name=name, exact=True).click()

    @property
    def files(self) -> list[str]:
        return self.pane.locator(".file-name").all_inner_texts()

    def expect_files(self, *names: str) -> None:
        expect(self.pane.locator(".file-name")).to_have_text([*names])

    def expect_tabs(self, *names: str) -> None:
        expect(self.pane.locator(".editor-tab")).to_have_text([*names])

    def expect_done(self, count: int) -> None:
        """So many outputs, none of which goes on."""
        expect(self.outputs).to_have_count(count)
        ended = self.outputs.locator("> .entry:is(.done, .failed)")
        expect(ended).to_have_count(count, timeout=30_000)

    @property
    def lines(self) -> list[str]:
        """The text's lines and the outputs, as they stand below each other."""
        return self.text.evaluate(
            """(content) => [...content.children].map((child) => {
                const slot = child.querySelector("slot");
                const shown = slot?.assignedElements()[0]?.querySelector(".entry");
                if (!slot) return child.textContent;
                const parts = [...shown.children].slice(1).map((part) => part.innerText.trim());
                return "= " + parts.filter(Boolean);
            })"""
        )


@pytest.fixture
def editor(fresh_page: Callable[..., AppPage]) -> Editor:
    return Editor(fresh_page().page).open()


@pytest.fixture
def visits(regular: Callable[[bool], Regular]) -> Iterator[Visits]:
    visitor = regular(False)
    yield Visits(visitor)
    visitor.leave()


def drop(page: Page, **files: bytes) -> None:
    named = [(name.replace("__", "."), base64.b64encode(b).decode()) for name, b in files.items()]
    page.evaluate(DROP, named)


def png(rgba: Any) -> bytes:
    """A file of 8-bit pixels, (height, width, 4)."""
    height, width, _ = rgba.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    rows = b"".join(b"\0" + row.tobytes() for row in rgba)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def test_a_first_visit_has_the_button_alone(app: AppPage) -> None:
    expect(app.page.locator("#editor")).to_be_hidden()
    assert app.page.locator("#editor > *").count() == 0
    button = app.page.locator("#editor-button")
    expect(button).to_have_attribute("aria-expanded", "false")


class TestRunning:
    def test_all_cells_show_below_themselves(self, editor: Editor) -> None:
        editor.write("# %% one\nx = 2\nx + 1\n\n# %% two\nprint('two')\nx * 10\n")
        editor.act("Run all")
        editor.expect_done(2)
        wanted = ["# %% one", "x = 2", "x + 1", "= 3", "", "# %% two", "print('two')", "x * 10"]
        assert editor.lines[:9] == [*wanted, "= two,20"]
        assert editor.page.locator("#transcript .entry").count() == 0

    def test_the_cell_with_the_caret(self, editor: Editor) -> None:
        editor.write("# %%\n'first'\n\n# %%\n'second'\n")
        editor.put("", after="second")
        editor.press("Control+Enter")
        editor.expect_done(1)
        assert "= 'second'" in editor.lines
        editor.put("", after="second")
        editor.page.keyboard.type(" + '!'")  # which the prompt leaves alone
        editor.press("Control+Enter")
        expect(editor.outputs).to_contain_text("second!")  # in the place of the one before
        editor.expect_done(1)

    def test_shift_enter_walks_through_the_cells(self, editor: Editor) -> None:
        editor.write("# %%\n'a'\n# %%\n'b'")
        editor.put("", after="'a'")
        editor.press("Shift+Enter")
        editor.press("Shift+Enter")
        editor.expect_done(2)
        editor.page.keyboard.insert_text("'c'")
        editor.press("Control+Enter")
        editor.expect_done(3)
        assert editor.lines == [
            "# %%",
            "'a'",
            "= 'a'",
            "# %%",
            "'b'",
            "= 'b'",
            "",
            "# %%",
            "'c'",
            "= 'c'",
        ]

    def test_the_selection(self, editor: Editor) -> None:
        editor.write("y = 1\ny + 1\ny + 2\n")
        editor.put("", after="y + 1")
        editor.press("Shift+ArrowUp")
        expect(editor.pane.get_by_role("button", name="Run selection")).to_be_enabled()
        editor.press("ControlOrMeta+a")
        editor.press("ArrowLeft")
        editor.press("Shift+ArrowDown")
        editor.press("Shift+ArrowDown")
        editor.press("Control+Enter")
        editor.expect_done(1)
        assert editor.lines[:4] == ["y = 1", "y + 1", "= 2", "y + 2"]

    def test_a_failure_ends_the_run_and_names_the_line_of_the_file(self, editor: Editor) -> None:
        editor.write("# %%\na = 1\n\n# %%\na\na / 0\n\n# %%\n'never'\n")
        editor.act("Run all")
        editor.expect_done(3)
        failed = editor.outputs.nth(1)
        expect(failed).to_contain_text("ZeroDivisionError")
        expect(failed.locator(".error-number")).to_have_text("6")
        expect(editor.outputs.nth(2)).to_contain_text("Not run")

    def test_an_output_stays_with_its_cell(self, editor: Editor) -> None:
        editor.write("# %%\n'a'")
        editor.press("Control+Enter")
        editor.expect_done(1)
        editor.put("\n# %%\n'b'", after="'a'")
        assert editor.lines == ["# %%", "'a'", "= 'a'", "# %%", "'b'"]
        editor.put("  # a note", after="'a'")
        assert editor.lines[1:3] == ["'a'  # a note", "= 'a'"]
        editor.act("Clear outputs")
        expect(editor.outputs).to_have_count(0)

    def test_pictures_and_questions_are_shown_there(self, editor: Editor) -> None:
        editor.write("pt.imshow(pt.rand(4, 4))\nname = input('Who? ')\nname.upper()")
        editor.press("Control+Enter")
        field = editor.outputs.locator("input")
        field.fill("ada")
        field.press("Enter")
        editor.expect_done(1)
        expect(editor.outputs.locator("canvas")).to_be_visible()
        expect(editor.outputs).to_contain_text("ADA")

    def test_an_interrupt(self, editor: Editor) -> None:
        editor.write("while True: pass")
        editor.press("Control+Enter")
        expect(editor.outputs.locator("> .entry.running")).to_be_visible()
        editor.act("Interrupt")
        editor.expect_done(1)
        expect(editor.pane.get_by_role("button", name="Interrupt")).to_be_hidden()
        expect(editor.outputs).to_contain_text("KeyboardInterrupt")


class TestFiles:
    def test_python_reads_what_is_dropped(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        editor = Editor(app.page)
        app.run("import numpy as np, io; f = io.BytesIO(); np.save(f, np.arange(3))")
        npy = base64.b64decode(
            app.run("import base64; base64.b64encode(f.getvalue()).decode()")["result"]
        )
        drop(app.page, data__csv=b"1,2\n3,4\n", a__npy=npy, prog__py=b"6 * 7\n")
        editor.expect_files("a.npy", "data.csv", "main.py", "prog.py")
        editor.expect_tabs("main.py", "prog.py")
        assert app.run("pt.load('a.npy').tolist()")["result"] == "[0, 1, 2]"
        assert app.run("np.load('a.npy').tolist()")["result"] == "[0, 1, 2]"
        assert app.run("open('data.csv').read()")["result"] == r"'1,2\n3,4\n'"
        editor.text.focus()
        editor.press("Control+Enter")
        expect(editor.outputs).to_contain_text("42", timeout=30_000)
        editor.pane.get_by_role("button", name="a.npy", exact=True).click()
        Repl(app.page).expect_text('pt.load("a.npy")')

    def test_pictures_are_read(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        rgba = np.random.default_rng(0).integers(0, 256, (5, 7, 4), np.uint8)
        rgba[..., 3] = 255
        rgba[0, 0] = 0  # transparent
        drop(app.page, cat__png=png(rgba), bad__png=b"no picture")
        Editor(app.page).expect_files("bad.png", "cat.png", "main.py")
        read = app.run("x = pt.imread('cat.png', 'RGBA'); x.shape, str(x.dtype), x.tolist()")
        assert eval(read["result"]) == ((5, 7, 4), "uint8", rgba.tolist())
        read = app.run(
            "x = pt.imread(open('cat.png', 'rb'), device='cpu'); str(x.device), x.tolist()"
        )
        assert eval(read["result"]) == ("cpu", rgba[..., :3].tolist())
        app.page.evaluate(
            """async () => {
              const canvas = new OffscreenCanvas(16, 8);
              const context = canvas.getContext("2d");
              context.fillStyle = "rgb(200 100 50)";
              context.fillRect(0, 0, 16, 8);
              const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 1 });
              const dataTransfer = new DataTransfer();
              dataTransfer.items.add(new File([blob], "flat.jpg"));
              const options = { dataTransfer, bubbles: true, cancelable: true };
              document.querySelector("#screen").dispatchEvent(new DragEvent("drop", options));
            }"""
        )
        Editor(app.page).expect_files("bad.png", "cat.png", "flat.jpg", "main.py")
        read = app.run("x = pt.imread('flat.jpg'); x.shape, x[4, 8].tolist()")
        shape, colour = eval(read["result"])
        assert shape == (8, 16, 3)
        assert np.abs(np.subtract(colour, (200, 100, 50))).max() <= 2  # JPEG is lossy
        error = app.run("pt.imread('bad.png')")["error"]
        assert error.endswith("ValueError: imread: the browser cannot decode this as an image")

    def test_a_folder_comes_with_what_is_in_it(self, app: AppPage) -> None:
        found = app.page.evaluate(
            """async () => {
              const { droppedFiles } = await import("./sources/page/editor/dropped.js");
              const file = (name) => ({
                name, isFile: true, file: (done) => done(new File(["1"], name)),
              });
              const folder = (name, ...parts) => ({
                name, isDirectory: true,
                createReader: () => ({ readEntries: (done) => done(parts.splice(0, 2)) }),
              });
              const inner = [folder("in", file("d")), folder(".git", file("e"))];
              const dropped = folder("data", file("a"), file("b"), file("c"), ...inner);
              const items = [dropped, file("f")].map((entry) => ({
                webkitGetAsEntry: () => entry,
              }));
              return (await droppedFiles({ items, files: [] })).map(({ path }) => path);
            }"""
        )
        assert found == ["data/a", "data/b", "data/c", "data/in/d", "f"]

    def test_a_button_opens_files(self, editor: Editor, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("some words")
        with editor.page.expect_file_chooser() as chooser:
            editor.act("Open…")
        chooser.value.set_files(tmp_path / "notes.txt")
        editor.expect_files("main.py", "notes.txt")
        editor.pane.get_by_role("button", name="notes.txt", exact=True).click()
        expect(editor.text).to_have_text("some words")

    def test_what_is_typed_is_there_for_python_and_the_other_way_round(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.write("def double(x):\n    return 2 * x\n")
        editor.press("ControlOrMeta+s")
        assert app.run("from main import double; double(21)")["result"] == "42"
        app.run("open('main.py', 'a').write('# by Python\\n')")
        expect(editor.text).to_contain_text("# by Python")
        app.run("import os; os.makedirs('out'); open('out/a.txt', 'w').write('1')")
        expect(editor.pane.locator(".files summary")).to_have_text("out/")
        expect(editor.pane.locator(".file-name", has_text="a.txt")).to_be_visible()

    def test_new_rename_delete_undo(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.act("New")
        editor.expect_tabs("main.py", "program.py")
        editor.write("'renamed'")
        row = editor.pane.locator(".file", has_text="program.py")
        row.hover()
        row.get_by_role("button", name="Rename").click()
        editor.page.keyboard.type("other")
        editor.press("Enter")
        editor.expect_files("main.py", "other.py")
        editor.expect_tabs("main.py", "other.py")
        assert app.run("open('other.py').read()")["result"] == "\"'renamed'\""
        row = editor.pane.locator(".file", has_text="other.py")
        row.hover()
        row.get_by_role("button", name="Delete").click()
        editor.expect_files("main.py")
        editor.expect_tabs("main.py")
        assert app.run("import os; os.path.exists('other.py')")["result"] == "False"
        editor.act("Undo")
        editor.expect_tabs("main.py", "other.py")
        assert app.run("os.path.exists('other.py')")["result"] == "True"

    def test_a_file_is_downloaded_as_it_is(self, editor: Editor, tmp_path: Path) -> None:
        editor.write("x = 'ä'\n")
        row = editor.pane.locator(".file")
        row.hover()
        with editor.page.expect_download() as download:
            row.get_by_role("button", name="Download").click()
        assert download.value.suggested_filename == "main.py"
        download.value.save_as(tmp_path / "got.py")
        assert (tmp_path / "got.py").read_text("utf-8") == "x = 'ä'\n"

    def test_a_notebook_is_a_program_and_stays_a_notebook(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        notebook: dict[str, Any] = {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
                {"cell_type": "code", "metadata": {}, "source": "z = 3\nz * 2", "outputs": []},
                {
                    "cell_type": "code",
                    "id": "k",
                    "metadata": {},
                    "source": "'kept'",
                    "outputs": [1],
                },
            ],
            "metadata": {"mine": 1},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        app = fresh_page()
        editor = Editor(app.page)
        drop(app.page, book__ipynb=json.dumps(notebook).encode())
        expect(editor.text).to_contain_text("# # Title")
        editor.put(" + 1", after="z * 2")
        editor.act("Run all")
        editor.expect_done(2)
        expect(editor.outputs.first).to_contain_text("7")
        again = json.loads(eval(app.run("open('book.ipynb').read()")["result"]))
        sources = [(cell["cell_type"], "".join(cell["source"])) for cell in again["cells"]]
        assert sources[:2] == [("markdown", "# Title\nwords"), ("code", "z = 3\nz * 2 + 1")]
        assert again["cells"][2]["outputs"] == [1]  # it is as it was
        assert again["metadata"]["mine"] == 1

        typed = "# %% A loop\nfor i in range(3):\n    "
        editor.write(typed)
        app.page.wait_for_timeout(1000)  # until it is saved
        shown = editor.text.locator(".cm-line").all_inner_texts()
        assert [line.strip("\n") for line in shown] == typed.split("\n")
        again = json.loads(eval(app.run("open('book.ipynb').read()")["result"]))
        assert again["cells"][0]["metadata"] == {"title": "A loop"}

    def test_a_file_that_is_too_large_is_for_python_alone(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        app.page.evaluate(
            """() => {
              const dataTransfer = new DataTransfer();
              dataTransfer.items.add(new File([new Uint8Array(33 * 2 ** 20)], "big.bin"));
              const options = { dataTransfer, bubbles: true, cancelable: true };
              document.querySelector("#screen").dispatchEvent(new DragEvent("drop", options));
            }"""
        )
        expect(editor.pane.locator(".file", has_text="big.bin")).to_contain_text("not saved")
        expect(app.page.locator("#transcript")).to_contain_text("Not saved: big.bin")
        assert app.run("import os; os.path.getsize('big.bin') >> 20")["result"] == "33"
        app.run("open('small.txt', 'w').write('kept')")
        expect(editor.pane.locator(".file", has_text="small.txt")).not_to_contain_text("not saved")


class TestKept:
    def test_files_and_tabs_are_there_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.act("New")
        editor.expect_tabs("main.py", "program.py")
        editor.write("'typed before the reload'")
        visits.reload(app)
        editor.expect_tabs("main.py", "program.py")
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("program.py")
        expect(editor.text).to_have_text("'typed before the reload'")
        assert app.run("open('program.py').read()")["result"] == "\"'typed before the reload'\""
        editor.button.click()
        expect(editor.pane).to_be_hidden()
        visits.reload(app)
        expect(editor.pane).to_be_hidden()

    def test_outputs_are_there_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write(
            "# %%\nn = 2\nprint('printed')\n\n# %%\npt.plot(pt.arange(3))\n\n# %%\nn / 0\n"
        )
        editor.act("Run all")
        editor.expect_done(3)
        editor.put("", after="printed")
        editor.press("Control+Enter")  # once more: its output takes the place of the first
        editor.expect_done(3)
        visits.wait_until(lambda kept: len(kept) == 3 and all(s != "running" for _, s, _ in kept))
        visits.reload(app)
        editor.expect_done(3)
        assert editor.lines[:4] == ["# %%", "n = 2", "print('printed')", "= printed"]
        expect(editor.outputs.locator("svg, canvas").first).to_be_visible()
        expect(editor.outputs.filter(has_text="ZeroDivisionError")).to_have_count(1)
        expect(app.page.locator("#transcript .entry")).to_have_count(0)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript")).to_contain_text("2 inputs ran again.")
        assert app.run("n")["result"] == "2"
        editor.act("Clear outputs")
        visits.wait_until(lambda kept: not kept)

    def test_a_restart_keeps_the_files(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.write("'still here'")
        editor.press("ControlOrMeta+s")
        editor.page.locator("#status-button").click()
        editor.page.get_by_role("button", name="Restart Python").click()
        editor.page.keyboard.press("Escape")
        assert app.run("open('main.py').read()")["result"] == "\"'still here'\""
        editor.text.focus()
        editor.press("Control+Enter")
        editor.expect_done(1)
        expect(editor.outputs).to_contain_text("still here")

    def test_an_editor_that_is_opened_at_once_overwrites_nothing(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'mine'")
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        editor.button.click()
        app.page.add_init_script(CLICK_AT_ONCE)
        visits.reload(app)
        expect(editor.text).to_have_text("'mine'")
        editor.expect_tabs("main.py")

    def test_another_session_has_its_own(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'of the first'")
        editor.press("ControlOrMeta+s")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        app.page.locator("#sessions-button").click()
        app.page.locator(".session-row", has_text="Session 1").click()
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(fresh_page: Callable[..., AppPage], size: str, scheme: Any) -> None:
    page = fresh_page().page
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    editor = Editor(page).open()
    editor.write("# %%\nprint('shown')\n\n# %%\n1 / 0\n")
    editor.act("Run all")
    editor.expect_done(2)
    page.evaluate(AXE.read_text("utf-8"))
    violations = page.evaluate(AUDIT)
    assert [v for v in violations if v["impact"] in ("serious", "critical")] == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_the_keyboard_leaves_the_text(editor: Editor) -> None:
    editor.text.focus()
    editor.press("Tab")
    expect(editor.text).to_be_focused()
    editor.press("Escape")
    editor.press("Tab")
    expect(editor.text).not_to_be_focused()
