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
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE, SIZES
from tests.browser.test_sessions import WRITE_MS, Visits, enter
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


PATHS = """async (store, of) => {
  const records = await of(store.getAll(IDBKeyRange.bound(["input"], ["input", []])));
  return records.map(({ cell }) => cell.path);
}"""

FULL = """
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (...args) {
    if (window.isFull) throw new DOMException("full", "QuotaExceededError");
    return put.apply(this, args);
  };
"""

TYPE_AND_CLICK = """async ([text, name]) => {
  const { EditorView } = await import("./page/vendor/codemirror.js");
  const root = document.querySelector(".code-editor:not([hidden])").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-content"));
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  const buttons = [...document.querySelectorAll("button")];
  buttons.find(({ textContent }) => textContent.trim() === name).click();
}"""
"""In place of the text, and a button at once, before the text is saved by itself."""

TYPE_UNTIL_CLOSED = """async (name) => {
  const { EditorView } = await import("./page/vendor/codemirror.js");
  const root = document.querySelector(".code-editor:not([hidden])").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-content"));
  const type = () => {
    if (!view.dom.isConnected) return clearInterval(timer);
    window.typed = `'typed at ${performance.now()}'`;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: window.typed } });
  };
  const timer = setInterval(type, 1);
  type();
  const buttons = [...document.querySelectorAll("button")];
  buttons.find(({ textContent }) => textContent.trim() === name).click();
}"""

DELETE_AND_LEAVE = """() => {
  document.querySelector("[aria-label='Delete main.py']").click();
  const rows = [...document.querySelectorAll(".session-row")];
  rows.find(({ textContent }) => textContent.includes("Session 1")).click();
}"""

EDITORS = """async (store, of) => {
  const abouts = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
  return abouts.map(({ editor }) => editor?.cleared?.get("book.ipynb")?.length ?? 0);
}"""

DAMAGE_TABS = """async (store, of) => {
  const [about] = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
  await of(store.put({ ...about, editor: { ...about.editor, tabs: 7 } }, ["about", about.id]));
}"""


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


def wait_for(is_true: Callable[[], bool], page: Page) -> None:
    for _ in range(WRITE_MS // 50):
        if is_true():
            return
        page.wait_for_timeout(50)
    pytest.fail("it never became true")


def width_of(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["width"]


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


class TestFocus:
    def test_after_an_answer(self, editor: Editor) -> None:
        editor.write("# %%\nname = input('Who? ')\nname.upper()")
        editor.put("", after="input")
        editor.press("Control+Enter")
        field = editor.outputs.locator("input")
        expect(field).to_be_focused()
        editor.page.keyboard.type("ada")
        editor.press("Enter")
        editor.expect_done(1)
        expect(editor.text).to_be_focused()
        editor.page.keyboard.insert_text("  # here")
        expect(editor.text).to_contain_text("name = input('Who? ')  # here")

    def test_in_the_file_tree(self, editor: Editor) -> None:
        page = editor.page
        drop(page, a__txt=b"", b__txt=b"", c__txt=b"")
        editor.expect_files("a.txt", "b.txt", "c.txt", "main.py")

        def press(verb: str, name: str) -> None:
            button = editor.pane.get_by_role("button", name=f"{verb} {name}", exact=True)
            button.focus()
            editor.press("Enter")

        def expect_focus(name: str) -> None:
            focused = editor.page.locator(":is(.file-name, .editor-bar button):focus")
            expect(focused).to_have_text(name)

        press("Rename", "b.txt")
        page.keyboard.type("z")
        editor.press("Enter")
        editor.expect_files("a.txt", "c.txt", "main.py", "z.txt")
        expect_focus("z.txt")
        press("Rename", "c.txt")
        editor.press("Escape")
        expect_focus("c.txt")
        press("Delete", "c.txt")
        editor.expect_files("a.txt", "main.py", "z.txt")
        expect_focus("main.py")
        press("Delete", "z.txt")
        editor.expect_files("a.txt", "main.py")
        expect_focus("main.py")
        editor.pane.get_by_role("button", name="Undo").focus()
        editor.press("Enter")
        editor.expect_files("a.txt", "main.py", "z.txt")
        expect_focus("z.txt")
        press("Delete", "main.py")
        expect_focus("z.txt")
        press("Delete", "z.txt")
        expect_focus("a.txt")
        press("Delete", "a.txt")
        editor.expect_files()
        expect_focus("New")

    def test_an_undo_button_with_the_focus_stays(self, editor: Editor) -> None:
        page = editor.page
        page.clock.install()
        editor.act("Delete main.py")
        undo = editor.pane.get_by_role("button", name="Undo")
        undo.focus()
        page.clock.run_for(20_000)
        expect(undo).to_be_focused()
        editor.pane.get_by_role("button", name="New", exact=True).focus()
        page.clock.run_for(7_000)
        expect(undo).to_have_count(0)


class TestDivider:
    def test_the_pointer_moves_it(self, editor: Editor) -> None:
        page = editor.page
        divider = page.get_by_role("separator", name="Width of the editor")
        usual = width_of(page.locator("#editor"))
        at = divider.bounding_box()
        assert at
        x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 150, y, steps=3)
        page.mouse.up()
        assert width_of(page.locator("#editor")) == pytest.approx(usual - 150, abs=1)
        both = width_of(page.locator(".workplace")) - at["width"]
        percent = round(100 * (usual - 150) / both)
        expect(divider).to_have_attribute("aria-valuenow", str(percent))
        page.mouse.move(x, y)  # which drags it no more
        assert width_of(page.locator("#editor")) == pytest.approx(usual - 150, abs=1)
        divider.dblclick()
        assert width_of(page.locator("#editor")) == pytest.approx(usual, abs=1)

    def test_the_keyboard_moves_it_within_bounds(self, editor: Editor) -> None:
        divider = editor.page.get_by_role("separator", name="Width of the editor")
        divider.focus()
        before = width_of(editor.pane)
        now = int(divider.get_attribute("aria-valuenow") or "")
        editor.press("ArrowLeft")
        expect(divider).to_have_attribute("aria-valuenow", str(now - 2))
        assert width_of(editor.pane) < before
        editor.press("ArrowRight")
        expect(divider).to_have_attribute("aria-valuenow", str(now))
        for key, bound in (("Home", "aria-valuemin"), ("End", "aria-valuemax")):
            editor.press(key)
            editor.press("ArrowLeft" if key == "Home" else "ArrowRight")
            limit = divider.get_attribute(bound)
            assert limit
            expect(divider).to_have_attribute("aria-valuenow", limit)
        editor.press("Enter")
        expect(divider).to_have_attribute("aria-valuenow", str(now))
        expect(divider).to_be_focused()

    def test_it_stays_where_it_was_put(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        divider = app.page.get_by_role("separator", name="Width of the editor")
        divider.press("Home")
        width = width_of(editor.pane)
        visits.reload(app)
        expect(divider).to_have_attribute("aria-valuenow", "30")
        assert width_of(editor.pane) == pytest.approx(width, abs=1)
        editor.button.click()
        expect(divider).to_be_hidden()
        editor.button.click()
        expect(divider).to_be_visible()
        app.page.set_viewport_size({"width": 390, "height": 800})
        expect(divider).to_be_hidden()
        assert width_of(editor.pane) == pytest.approx(width_of(app.page.locator("#console")), abs=1)


def notebook(*cells: tuple[str, list[Any]]) -> bytes:
    """Of cells of code, each with its outputs, written as no page writes them."""
    made = [
        {"outputs": outputs, "cell_type": "code", "source": source, "metadata": {"mine": i}}
        for i, (source, outputs) in enumerate(cells)
    ]
    whole = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": made}
    return json.dumps(whole, indent=3).encode()


def shows(**mimes: str | list[str]) -> dict[str, Any]:
    data = {name.replace("__", "/").replace("_xml", "+xml"): text for name, text in mimes.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}


class TestOutputsOfANotebook:
    @pytest.fixture
    def cells(self, editor: Editor) -> list[tuple[str, list[Any]]]:
        jpeg = editor.page.evaluate(
            """async () => {
              const canvas = new OffscreenCanvas(16, 8);
              canvas.getContext("2d").fillRect(0, 0, 16, 8);
              const blob = await canvas.convertToBlob({ type: "image/jpeg" });
              return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
            }"""
        )
        picture = base64.encodebytes(png(np.full((5, 7, 4), 255, np.uint8))).decode()
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.ran = 1">'
            "<script>window.ran = 1</script></svg>"
        )
        html = '<b id="theirs">bold</b><img src="x" onerror="window.ran = 1">'
        traceback = ["\x1b[0;31mZeroDivisionError\x1b[0m", "by \x1b[1mzero\x1b[0m"]
        return [
            (
                "x = 1\nx",
                [
                    {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
                    {"output_type": "stream", "name": "stderr", "text": "\x1b[31mthree\x1b[0m\n"},
                    {"output_type": "execute_result", "data": {"text/plain": ["1"]}},
                ],
            ),
            ("# %% within\n'none'", []),
            (
                "pictures",
                [
                    shows(image__png=picture, text__html=html, text__plain="<a figure>"),
                    shows(image__jpeg=jpeg),
                    shows(image__svg_xml=svg),
                ],
            ),
            (
                "\n\nfails",
                [
                    {"output_type": "error", "traceback": traceback, "ename": "", "evalue": ""},
                    shows(text__html=html, text__plain="<b>as text</b>"),
                ],
            ),
            ("html", [shows(text__html=html)]),
            ("junk", [1, None, {"output_type": "stream"}, {"output_type": "display_data"}]),
        ]

    def test_safe_kinds_are_shown(self, editor: Editor, cells: list[tuple[str, list[Any]]]) -> None:
        drop(editor.page, book__ipynb=notebook(*cells))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.expect_done(4)
        expect(editor.outputs.locator("> .note")).to_have_text(["From the file"] * 4)
        assert editor.lines[:4] == ["# %%", "x = 1", "x", "= one\ntwo\nthree,1"]
        expect(editor.outputs.first.locator(".stderr.colour-1")).to_have_text("three")
        for i, alt in enumerate(["<a figure>", "Picture", "Picture"]):
            image = editor.outputs.nth(1).locator("img").nth(i)
            expect(image).to_have_attribute("alt", alt)
            editor.page.wait_for_function("(image) => image.complete", arg=image.element_handle())
            width = image.evaluate("(image) => image.naturalWidth")
            assert width == [7, 16, 9][i]
        failed = editor.outputs.nth(2)
        expect(failed.locator(".error")).to_have_text("ZeroDivisionError\nby zero")
        expect(failed.locator("pre.result")).to_have_text("<b>as text</b>")
        expect(editor.outputs.nth(3)).to_contain_text("Not shown: output of type text/html.")
        assert editor.page.locator("#theirs").count() == 0
        assert editor.page.evaluate("window.ran") is None

    def test_they_stay_in_the_file(
        self, editor: Editor, cells: list[tuple[str, list[Any]]], tmp_path: Path
    ) -> None:
        content = notebook(*cells)
        drop(editor.page, book__ipynb=content)
        editor.expect_done(4)

        def outputs() -> list[Any]:
            row = editor.pane.locator(".file", has_text="book.ipynb")
            row.hover()
            with editor.page.expect_download() as download:
                row.get_by_role("button", name="Download").click()
            download.value.save_as(tmp_path / "book.ipynb")
            found = json.loads((tmp_path / "book.ipynb").read_text())
            return [cell["outputs"] for cell in found["cells"] if cell["cell_type"] == "code"]

        editor.put("", after="x = 1")
        editor.press("Control+Enter")
        expect(editor.outputs.filter(has_text="From the file")).to_have_count(3)
        editor.expect_done(4)
        assert editor.lines[:4] == ["# %%", "x = 1", "x", "= 1"]
        assert outputs() == [of for _, of in cells]
        assert (tmp_path / "book.ipynb").read_bytes() == content
        editor.put("0", after="x = 1")
        changed = outputs()
        assert changed[0] == []  # they are of other code
        assert changed[3:] == [of for _, of in cells[2:]]  # the second is two cells now
        editor.put("", after="x = 10")
        editor.press("Backspace")
        assert outputs()[0] == cells[0][1]

    def test_another_version_of_the_file(self, editor: Editor) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "first"}
        drop(editor.page, book__ipynb=notebook(("a", [said]), ("b", [said])))
        expect(editor.outputs).to_have_count(2)
        drop(editor.page, book__ipynb=notebook(("a", []), ("b", [said | {"text": "second"}])))
        expect(editor.outputs).to_have_count(1)
        assert editor.lines == ["# %%", "a", "", "# %%", "b", "= second", ""]

    def test_another_version_while_a_cell_runs(self, editor: Editor) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "first"}
        asks = "name = input('Who? ')\nname.upper()"
        drop(editor.page, book__ipynb=notebook((asks, [said]), ("b", [said])))
        expect(editor.outputs).to_have_count(2)
        editor.put("", after="upper")
        editor.press("Control+Enter")
        field = editor.outputs.locator("input")
        expect(field).to_be_visible()
        said = said | {"text": "second"}
        drop(editor.page, book__ipynb=notebook((asks, [said]), ("b", [said])))
        expect(editor.outputs.filter(has_text="From the file")).to_contain_text("second")
        field.fill("ada")
        field.press("Enter")
        expect(editor.outputs.filter(has_text="ADA")).to_have_count(1)
        editor.expect_done(2)

    def test_values_that_are_no_text(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        bad = {"toString": 1, "valueOf": 1}
        outputs = [
            {"output_type": "error", "ename": "E", "evalue": bad, "traceback": [bad]},
            {"output_type": "stream", "name": bad, "text": [bad]},
            {"output_type": "display_data", "data": {"image/png": bad, "text/plain": [bad]}},
        ]
        drop(app.page, book__ipynb=notebook(("a", outputs), ("b", [shows(text__plain="sound")])))
        for _ in range(2):
            editor.expect_tabs("main.py", "book.ipynb")
            editor.expect_done(2)
            expect(editor.outputs.first.locator(".error")).to_have_text("E: ")
            expect(editor.outputs.first).to_contain_text("Not shown: output of type image/png")
            expect(editor.outputs.last).to_contain_text("sound")
            visits.reload(app)
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    def test_the_number_that_is_shown_has_a_limit(self, editor: Editor) -> None:
        cells = [(f"{i}", [shows(text__plain=f"<{i}>")]) for i in range(2000)]
        drop(editor.page, book__ipynb=notebook(*cells))
        expect(editor.outputs).to_have_count(300, timeout=30_000)
        expect(editor.outputs.last).to_contain_text("1,700 more outputs are not shown.")

    def test_cleared_ones_stay_cleared(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        said = {"output_type": "stream", "name": "stdout", "text": "of the file"}
        sources = ("'here'", "'twice'", "'twice'", "'else'")
        drop(app.page, book__ipynb=notebook(*((source, [said]) for source in sources)))
        expect(editor.outputs).to_have_count(4)
        editor.put("", after="here")
        editor.press("Control+Enter")
        expect(editor.outputs.filter(has_text="From the file")).to_have_count(3)
        editor.expect_done(4)
        editor.act("Clear the output of cell 1")
        editor.act("Clear the output of cell 3")
        editor.expect_done(2)
        wait_for(lambda: visits.in_store(EDITORS) == [2], app.page)
        visits.wait_until(lambda kept: not kept)
        visits.reload(app)
        editor.expect_done(2)
        lines = [line for line in editor.lines if line.strip()]
        assert lines[:5] == ["# %%", "'here'", "# %%", "'twice'", "= of the file"]
        editor.act("Clear outputs")
        wait_for(lambda: visits.in_store(EDITORS) == [4], app.page)
        said = said | {"text": "anew"}
        drop(app.page, book__ipynb=notebook(*((source, [said]) for source in sources)))
        editor.expect_done(4)

    def test_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        said = {"output_type": "stream", "name": "stdout", "text": "of the file"}
        drop(app.page, book__ipynb=notebook(("'here'", [said]), ("'else'", [said])))
        expect(editor.outputs).to_have_count(2)
        editor.put("", after="here")
        editor.press("Control+Enter")
        visits.wait_until_ended("# %%\n'here'")
        visits.reload(app)
        editor.expect_done(2)
        assert editor.lines[:3] == ["# %%", "'here'", "= 'here'"]
        expect(editor.outputs.filter(has_text="From the file")).to_contain_text("of the file")


def open_session(app: AppPage, name: str) -> None:
    app.page.locator("#sessions-button").click()
    app.page.locator(".session-row", has_text=name).click()


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

    def test_outputs_leave_the_session_with_their_file(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("# %%\n'a result'\n\n# %%\n1 / 0\n")
        editor.act("Run all")
        editor.expect_done(2)
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["done", "failed"])
        visits.reload(app)
        editor.expect_done(2)
        editor.act("Delete main.py")
        editor.expect_files()
        visits.wait_until(lambda kept: not kept)
        enter(Repl(app.page), "'at the prompt'")
        editor.act("Undo")
        editor.expect_done(2)
        visits.wait_until(lambda kept: [s for _, s, _ in kept] == ["done", "failed", "done"])
        visits.reload(app)
        editor.expect_done(2)
        assert "= 'a result'" in editor.lines
        expect(editor.outputs.last).to_contain_text("ZeroDivisionError")
        app.run("import os; os.remove('main.py')")  # which a program can do, too
        editor.expect_files()
        visits.wait_until_ended("'at the prompt'")

    def test_undo_acts_once(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("# %%\n'one'\n\n# %%\n'two'\n")
        editor.act("Run all")
        editor.expect_done(2)
        editor.act("Delete main.py")
        editor.expect_files()
        visits.wait_until(lambda kept: not kept)
        undo = editor.pane.get_by_role("button", name="Undo")
        undo.evaluate("(button) => { button.click(); button.click(); }")
        editor.expect_tabs("main.py")
        editor.expect_done(2)
        visits.wait_until_ended("# %%\n'one'", "# %%\n'two'")
        app.page.locator("#sessions-button").click()
        expect(app.page.locator("#sessions-panel")).to_contain_text("2 inputs")

    def test_outputs_go_with_a_file_that_is_renamed(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'a result'")
        editor.press("Control+Enter")
        editor.expect_done(1)
        visits.wait_until_ended("'a result'")
        visits.reload(app)
        editor.expect_done(1)
        editor.act("Rename main.py")
        editor.page.keyboard.type("other")
        editor.press("Enter")
        editor.expect_tabs("other.py")
        while visits.in_store(PATHS) != ["other.py"]:
            app.page.wait_for_timeout(50)
        visits.reload(app)
        editor.expect_tabs("other.py")
        editor.expect_done(1)
        assert "= 'a result'" in editor.lines

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
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)

    def test_another_session_is_opened_right_after_typing(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        app.page.locator("#sessions-button").click()
        expect(app.page.get_by_role("button", name="New session")).to_be_visible()
        app.page.evaluate(TYPE_AND_CLICK, ["'of the first'", "New session"])
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)

    def test_text_is_typed_until_another_session_is_opened(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        app.page.locator("#sessions-button").click()
        expect(app.page.get_by_role("button", name="New session")).to_be_visible()
        app.page.evaluate(TYPE_UNTIL_CLOSED, "New session")
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        open_session(app, "Session 1")
        expect(editor.text).to_have_text(app.page.evaluate("window.typed"), timeout=30_000)

    def test_another_session_is_opened_while_the_storage_is_full(self, visits: Visits) -> None:
        app = visits.open(script=FULL)
        editor = Editor(app.page).open()
        editor.write("'saved'")
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        app.page.evaluate("window.isFull = true")
        editor.write("'typed'")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        app.page.evaluate("window.isFull = false")
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'typed'", timeout=30_000)

    def test_a_file_operation_is_of_the_session_where_it_began(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'of the first'")
        editor.press("ControlOrMeta+s")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        app.page.locator("#sessions-button").click()
        expect(app.page.locator(".session-row")).to_contain_text("Session 1")
        app.page.evaluate(DELETE_AND_LEAVE)
        expect(app.page.locator("#sessions-button")).to_contain_text("Session 1")
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)
        app.run("0")
        editor.expect_files("main.py")

    def test_a_damaged_list_of_tabs(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        visits.in_store(DAMAGE_TABS)
        visits.reload(app)
        expect(app.page.locator("#transcript")).to_contain_text(
            "The editor could not show the files"
        )
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        expect(app.page.locator(".divider")).to_have_count(1)

    def test_two_tabs_keep_their_unsaved_text(self, visits: Visits) -> None:
        tabs = [visits.open(script=FULL) for _ in range(2)]
        editors = [Editor(app.page).open() for app in tabs]
        for i, (app, editor) in enumerate(zip(tabs, editors, strict=True)):
            editor.write(f"'saved {i}'")
            editor.press("ControlOrMeta+s")
            expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
            app.page.evaluate("window.isFull = true")
            editor.write(f"'typed {i}'")
        for is_full in (True, False):
            for app in tabs:
                app.page.add_init_script(f"window.isFull = {str(is_full).lower()}")
                app.page.goto("about:blank")
            for i, (app, editor) in enumerate(zip(tabs, editors, strict=True)):
                visits.boot(app)
                expect(editor.text).to_have_text(f"'typed {i}'")
        kept = (
            "() => Object.keys(localStorage).filter((key) => key.startsWith('py_tensor.editor '))"
        )
        wait_for(lambda: visits.evaluate(kept) == [], tabs[0].page)


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

    def audit() -> None:
        violations = page.evaluate(AUDIT)
        assert [v for v in violations if v["impact"] in ("serious", "critical")] == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width

    audit()
    picture = base64.b64encode(png(np.full((5, 7, 4), 255, np.uint8))).decode()
    error = {"output_type": "error", "traceback": ["E: e"]}
    drop(page, book__ipynb=notebook(("1", [shows(image__png=picture), error])))
    editor.expect_done(1)
    audit()


def test_the_keyboard_leaves_the_text(editor: Editor) -> None:
    editor.text.focus()
    editor.press("Tab")
    expect(editor.text).to_be_focused()
    editor.press("Escape")
    editor.press("Tab")
    expect(editor.text).not_to_be_focused()
