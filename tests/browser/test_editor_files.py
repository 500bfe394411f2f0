"""Files of the editor: opened, dropped, created, renamed, deleted, downloaded; seen by Python."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import expect

from tests.browser.app import AppPage
from tests.browser.editor import Editor, drop, png, wait_for
from tests.browser.repl import Repl


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
        expect(editor.outputs).to_contain_text("42")
        editor.pane.get_by_role("button", name="a.npy", exact=True).click()
        Repl(app.page).expect_text('pt.load("a.npy")')

    def test_nothing_is_open(self, editor: Editor) -> None:
        hint = editor.pane.get_by_text("No program is open.")
        expect(hint).to_be_hidden()
        editor.act("Delete main.py")
        expect(hint).to_be_visible()
        drop(editor.page, a__npy=b"\x93NUMPY")
        editor.expect_files("a.npy")
        expect(hint).to_be_visible()
        editor.create()
        expect(hint).to_be_hidden()

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
        editor.create()
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

    def test_undo_of_a_deletion_keeps_a_new_file_of_the_same_name(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.write("'old'\n")
        editor.create()
        editor.expect_files("main.py", "program.py")
        editor.write("'first'\n")
        editor.act("Delete program.py")
        editor.expect_files("main.py")
        editor.create()
        editor.write("'second'\n")
        app.page.wait_for_timeout(3000)  # the text is stored 0.3 s after the last key
        editor.act("Undo")
        editor.expect_files("main.py", "program.py", "program_2.py")
        read = "[open(name).read() for name in ('program.py', 'program_2.py')]"
        expected = repr(["'second'\n", "'first'\n"])
        assert app.run(read)["result"] == expected

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
        expect(editor.pane.locator(".editor-said")).to_have_text(
            "Added book.ipynb. Markdown is shown as comments, not rendered."
        )
        editor.put(" + 1", after="z * 2")

        def saved() -> dict[str, Any]:
            return json.loads(eval(app.run("open('book.ipynb').read()")["result"]))

        wait_for(lambda: "".join(saved()["cells"][1]["source"]) == "z = 3\nz * 2 + 1", app.page)
        assert saved()["cells"][0] == notebook["cells"][0]
        assert saved()["cells"][2] == notebook["cells"][2]
        assert saved()["metadata"] == notebook["metadata"]
        editor.act("Run all")
        editor.expect_done(2)
        expect(editor.outputs.first).to_contain_text("7")

        typed = "# %% A loop\nfor i in range(3):\n    "
        editor.write(typed)
        wait_for(lambda: saved()["cells"][0]["metadata"] == {"title": "A loop"}, app.page)
        shown = editor.text.locator(".cm-line").all_inner_texts()
        assert [line.strip("\n") for line in shown] == typed.split("\n")
