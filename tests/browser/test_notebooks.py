"""Notebooks in the editor: the file's cell of each cell of the program, and its outputs."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.editor import Editor, cells_of, downloaded, drop, notebook, png, shows, wait_for
from tests.browser.test_sessions import Visits

EDIT = """async (edits) => {
  const { EditorView } = await import("./page/vendor/codemirror.js");
  const root = document.querySelector(".code-editor:not([hidden])").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-content"));
  for (const [before, after] of edits) {
    const text = view.state.doc.toString();
    const from = text.lastIndexOf(before);
    if (from < 0) throw new Error(`${before} is not in ${text}`);
    const changes = { from, to: from + before.length, insert: after };
    view.dispatch({ changes, userEvent: "input" });
  }
}"""
"""Replaces the last occurrences of texts, before anything is saved."""

SAVED = """async (store, of) => {
  const keys = await of(store.getAllKeys(IDBKeyRange.bound(["file"], ["file", []])));
  const contents = {};
  for (const key of keys) contents[key[2]] = new TextDecoder().decode(await of(store.get(key)));
  return contents;
}"""

TRIM = """async (store, of) => {
  for (const key of await of(store.getAllKeys(IDBKeyRange.bound(["input"], ["input", []])))) {
    const record = await of(store.get(key));
    if (record.state !== "done") continue;
    await of(store.put({ ...record, parts: [], outcome: null, isTrimmed: true }, key));
  }
}"""


def said(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": [text]}


def with_ids(*cells: tuple[str, list[Any]]) -> bytes:
    whole = json.loads(notebook(*cells))
    whole["nbformat_minor"] = 5
    for cell, name in zip(whole["cells"], "abcd", strict=False):
        cell["id"] = name
    return json.dumps(whole).encode()


def saved(visits: Visits) -> list[dict[str, Any]]:
    """Return the cells of the notebook in the browser's storage."""
    return json.loads(visits.in_store(SAVED)["book.ipynb"])["cells"]


def outputs_of(cells: list[dict[str, Any]]) -> list[str]:
    """Return the printed text and the results of each cell."""
    texts = [[o.get("text") or o["data"]["text/plain"] for o in cell["outputs"]] for cell in cells]
    return ["".join("".join(text) for text in found) for found in texts]


A = "one = 1\ntwo = 2"
B = "three = 3"
EDITS: dict[str, tuple[list[tuple[str, str]], str, list[str]]] = {
    "split: the output is below the last part": (
        [("two", "\n# %%\ntwo")],
        "?ab",
        ["one = 1", "two = 2", B],
    ),
    "split at the end of a line": ([("\ntwo", "\n\n# %%\ntwo")], "?ab", ["one = 1", "two = 2", B]),
    "a new cell between, and both edited": (
        [("two = 2", "two = 20"), ("# %%\nthree", "# %%\nnew\n\n# %%\nthree"), ("= 3", "= 30")],
        "a?b",
        ["one = 1\ntwo = 20", "new", "three = 30"],
    ),
    "a new cell before the first": (
        [("# %%\none", "# %%\nnew\n\n# %%\none")],
        "?ab",
        ["new", A, B],
    ),
    "the first deleted": ([(f"# %%\n{A}\n\n", "")], "b", [B]),
    "joined": ([("# %%\nthree", "three")], "b", [f"{A}\n\nthree = 3"]),
    "moved": ([(f"\n# %%\n{B}\n", ""), (f"# %%\n{A}", f"# %%\n{B}\n\n# %%\n{A}")], "ba", [B, A]),
    "copied": ([(f"# %%\n{B}", f"# %%\n{B}\n\n# %%\n{B}")], "a?b", [A, B, B]),
    "its code replaced with the blank line after it": (
        [(f"{A}\n", "other\n")],
        "ab",
        ["other", B],
    ),
}


class TestCells:
    def test_edits(self, editor: Editor, tmp_path: Path) -> None:
        """Each begins with the same file: cells `a` and `b`, each with an output."""
        for name, (edits, ids, sources) in EDITS.items():
            # The outputs are of this case alone, to tell the file from that of the case before.
            outputs = {"a": f"{name}: a", "b": f"{name}: b", "?": ""}
            content = with_ids((A, [said(outputs["a"])]), (B, [said(outputs["b"])]))
            drop(editor.page, book__ipynb=content)
            expect(editor.outputs.last).to_contain_text(outputs["b"])
            editor.expect_done(2)
            editor.page.evaluate(EDIT, edits)
            found = cells_of(editor, tmp_path)
            got = "".join(cell["id"] if cell["id"] in "ab" else "?" for cell in found)
            assert got == ids, name
            assert ["".join(cell["source"]) for cell in found] == sources, name
            if "replaced" in name:
                outputs["a"] = ""
            assert outputs_of(found) == [outputs[i] for i in ids], name
            for _ in edits:
                editor.text.focus()
                editor.press("ControlOrMeta+z")
            found = cells_of(editor, tmp_path)
            assert "".join(cell["id"] for cell in found) == "ab", name

    def test_the_first_of_two_equal_cells_is_deleted(self, editor: Editor, tmp_path: Path) -> None:
        drop(editor.page, book__ipynb=with_ids(("x", [said("first")]), ("x", [said("second")])))
        editor.expect_done(2)
        editor.text.locator(".cm-line").first.click()
        for key in ("Home", *["Shift+ArrowDown"] * 3, "Delete"):
            editor.press(key)
        expect(editor.outputs).to_have_count(1)
        expect(editor.outputs).to_contain_text("second")
        (cell,) = cells_of(editor, tmp_path)
        assert (cell["id"], outputs_of([cell])) == ("b", ["second"])

    def test_an_equal_cell_was_removed_before(self, editor: Editor, tmp_path: Path) -> None:
        cells = [("x", [said("first")]), ("x", [said("second")]), ("y", [])]
        drop(editor.page, book__ipynb=with_ids(*cells))
        editor.expect_done(2)
        text = editor.text.evaluate("(content) => content.innerText")
        assert text.count("x") == 2
        editor.text.locator(".cm-line").first.click()
        for key in ("Home", *["Shift+ArrowDown"] * 3, "Delete"):
            editor.press(key)
        assert [cell["id"] for cell in cells_of(editor, tmp_path)] == ["b", "c"]
        editor.page.evaluate(EDIT, [("# %%\nx\n\n", "")])
        assert [cell["id"] for cell in cells_of(editor, tmp_path)] == ["c"]
        editor.page.evaluate(EDIT, [("# %%\ny\n", "# %%\ny\n\n# %%\nx\n")])
        found = cells_of(editor, tmp_path)
        assert [cell["id"] for cell in found] == ["c", "b"]
        assert outputs_of(found) == ["", "second"]

    def test_text_that_was_not_saved(self, visits: Visits) -> None:
        """The page is left before the text is saved; the cell keeps its id and its output."""
        app = visits.open()
        editor = Editor(app.page).open()
        drop(app.page, book__ipynb=with_ids((A, [said("of a")]), (B, [said("of b")])))
        editor.expect_done(2)
        wait_for(lambda: "book.ipynb" in visits.in_store(SAVED), app.page)
        leave = "window.dispatchEvent(new Event('pagehide'))"
        app.page.evaluate(
            f"async (edits) => {{ await ({EDIT})(edits); {leave}; }}",
            [("# %%\none", "# %%\nnew\n\n# %%\nzero = 0\none")],
        )
        visits.reload(app)
        editor.expect_done(2)
        found = saved(visits)
        assert "".join(cell["id"] if cell["id"] in "ab" else "?" for cell in found) == "?ab"
        assert outputs_of(found) == ["", "of a", "of b"]


ASKS = "name = input('Who? ')\nname.upper()"


class TestOutputsOfRuns:
    def ask(self, editor: Editor) -> None:
        before = [said("from before")]
        drop(editor.page, book__ipynb=with_ids((ASKS, before), ("'last'", before)))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.act("Run all")
        expect(editor.outputs.locator("input")).to_be_visible()

    def answer(self, editor: Editor) -> None:
        field = editor.pane.locator(".cell-output input")
        field.evaluate(
            """(field) => {
              field.value = "ada";
              const enter = { key: "Enter", bubbles: true, cancelable: true };
              field.dispatchEvent(new KeyboardEvent("keydown", enter));
            }"""
        )

    def expect_written(self, editor: Editor, folder: Path, name: str = "book.ipynb") -> None:
        def is_written() -> bool:
            cells = json.loads(downloaded(editor, name, folder))["cells"]
            return outputs_of(cells) == ["Who? ada\n'ADA'", "'last'"]

        wait_for(is_written, editor.page)

    def test_the_tab_is_closed_while_a_cell_runs(self, editor: Editor, tmp_path: Path) -> None:
        self.ask(editor)
        editor.act("Close book.ipynb")
        editor.expect_tabs("main.py")
        self.answer(editor)
        self.expect_written(editor, tmp_path)
        expect(editor.pane.locator(".code-editor")).to_have_count(1)
        editor.pane.get_by_role("button", name="book.ipynb", exact=True).click()
        editor.expect_done(2)
        self.ask(editor)
        editor.act("Close book.ipynb")
        editor.pane.get_by_role("button", name="book.ipynb", exact=True).click()
        editor.expect_tabs("main.py", "book.ipynb")
        self.answer(editor)
        editor.expect_done(2)
        self.expect_written(editor, tmp_path)

    def test_the_file_is_renamed_while_a_cell_runs(self, editor: Editor, tmp_path: Path) -> None:
        self.ask(editor)
        editor.rename("book.ipynb", "new.ipynb")
        editor.expect_tabs("main.py", "new.ipynb")
        expect(editor.text).to_have_attribute("aria-label", "new.ipynb")
        self.answer(editor)
        editor.expect_done(2)
        self.expect_written(editor, tmp_path, "new.ipynb")

    def test_the_file_is_deleted_and_back_while_a_cell_runs(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        self.ask(editor)
        row = editor.pane.locator(".file", has_text="book.ipynb")
        row.hover()
        row.get_by_role("button", name="Delete").click()
        editor.expect_tabs("main.py")
        editor.act("Undo")
        editor.expect_tabs("main.py", "book.ipynb")
        self.answer(editor)
        editor.expect_done(2)
        expect(editor.outputs.get_by_role("button", name="Clear the output")).to_have_count(2)
        self.expect_written(editor, tmp_path)

    def test_the_code_is_replaced_while_it_runs(self, editor: Editor, tmp_path: Path) -> None:
        drop(editor.page, book__ipynb=with_ids((ASKS, [])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.act("Run all")
        expect(editor.outputs.locator("input")).to_be_visible()
        editor.page.evaluate("pyTensor.interrupt()")
        editor.write("# %%\n'other'")
        expect(editor.outputs).to_have_count(0)
        expect(editor.page.locator("#editor .stop")).to_be_hidden()
        (cell,) = cells_of(editor, tmp_path)
        assert ("".join(cell["source"]), cell["outputs"]) == ("'other'", [])

    def test_a_selection_runs_while_the_file_comes_again(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        content = with_ids((f"'first'\n{ASKS}", [said("of a")]))
        drop(editor.page, book__ipynb=content)
        editor.expect_done(1)
        editor.put("", after="input(")
        editor.press("Shift+Home")
        editor.press("Control+Enter")
        expect(editor.outputs.locator("input")).to_be_visible()
        drop(editor.page, book__ipynb=content)
        self.answer(editor)
        editor.expect_done(1)
        assert outputs_of(cells_of(editor, tmp_path)) == ["of a"]

    def test_a_failure_in_a_closed_tab_is_linked(self, editor: Editor) -> None:
        editor.write("input('Go? ')\n1 / 0")
        editor.act("Run all")
        expect(editor.outputs.locator("input")).to_be_visible()
        editor.create()
        editor.act("Close main.py")
        self.answer(editor)
        editor.act("main.py: The program failed.")
        editor.expect_tabs("main.py", "program.py")
        expect(editor.outputs.locator(".error")).to_be_in_viewport()
        expect(editor.pane.locator(".editor-said")).to_have_text("The program failed.")

    def test_running_again_while_cells_wait(self, editor: Editor, tmp_path: Path) -> None:
        errors: list[str] = []
        editor.page.on("pageerror", lambda error: errors.append(str(error)))
        self.ask(editor)
        editor.page.locator("#sessions-button").click()
        editor.page.get_by_role("button", name="Run all again").click()
        self.answer(editor)
        expect(editor.page.locator("#transcript .note").last).to_have_text("1 input ran again.")
        editor.expect_done(2)
        self.expect_written(editor, tmp_path)
        assert errors == []

    def test_running_again_writes_to_closed_notebooks_while_text_is_saved(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        names = [f"book_{i}.ipynb" for i in range(4)]
        for name in names:
            drop(editor.page, **{name: with_ids(("1 + 1", []))})
            editor.expect_tabs("main.py", name)
            editor.act("Run all")
            editor.expect_done(1)
            editor.act(f"Close {name}")
        editor.page.locator("#sessions-button").click()
        editor.page.get_by_role("button", name="Run all again").click()
        editor.text.focus()
        for _ in range(20):
            editor.press("ControlOrMeta+s")
        expect(editor.page.locator("#transcript .note").last).to_have_text("4 inputs ran again.")
        for name in names:
            (cell,) = json.loads(downloaded(editor, name, tmp_path))["cells"]
            assert cell["execution_count"] == 2
        expect(editor.pane.locator(".code-editor")).to_have_count(1)

    def test_running_again_writes_to_a_closed_notebook(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        marked = 'm = """\n# %% within\n"""\nm, n'
        drop(app.page, book__ipynb=with_ids(("n = 1\nn", []), (marked, []), ("n * 2", [])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.act("Run all")
        editor.expect_done(3)
        editor.act("Close book.ipynb")
        editor.button.click()
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["done"] * 3)
        visits.reload(app)
        expect(editor.pane).to_be_hidden()
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text("3 inputs ran again.")

        wait_for(lambda: [c["execution_count"] for c in saved(visits)] == [4, 5, 6], app.page)
        assert outputs_of(saved(visits)) == ["1", "('\\n# %% within\\n', 1)", "2"]
        expect(editor.pane.locator(".code-editor")).to_have_count(1)

    def test_an_edited_cell_keeps_the_output_that_it_had(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        """Running again runs the code that ran before, whose output is not that of the new code."""
        drop(editor.page, book__ipynb=with_ids(("n = 1\nn", []), ("n * 2", [])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.act("Run all")
        editor.expect_done(2)
        editor.page.evaluate(EDIT, [("n * 2", "n * 3")])
        editor.page.locator("#sessions-button").click()
        editor.page.get_by_role("button", name="Run all again").click()
        expect(editor.page.locator("#transcript .note").last).to_have_text("2 inputs ran again.")
        found = cells_of(editor, tmp_path)
        assert [cell["execution_count"] for cell in found] == [3, 2]
        assert outputs_of(found) == ["1", "2"]

    def test_an_input_without_output_leaves_those_of_the_file(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        asks = "input('Go? ')"
        drop(app.page, book__ipynb=with_ids(("n = 1\nn", []), (asks, [said("from before")])))
        editor.expect_done(1)
        editor.act("Run all")
        expect(editor.outputs.locator("input")).to_be_visible()
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["done", "running"])
        wait_for(lambda: saved(visits)[0].get("execution_count") == 1, app.page)
        visits.in_store(TRIM)
        visits.reload(app)
        editor.expect_done(2)
        interrupted = "Interrupted: the page was closed while this was running."
        assert [line for line in editor.lines if line.startswith("= ")] == [
            "= From the file,1",
            f"= Go?,{interrupted},From the file,from before",
        ]

    def test_a_selection_leaves_the_input_of_its_cell(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("# %%\nn = 1\nn += 1\nn\n")
        editor.act("Run all")
        editor.expect_done(1)
        for _ in range(2):  # the second replaces the first
            editor.text.locator(".cm-line").get_by_text("n", exact=True).last.click()
            editor.press("Home")
            editor.press("Shift+End")
            editor.press("Control+Enter")
            editor.expect_done(2)
        visits.wait_until_ended("# %%\nn = 1\nn += 1\nn", "n")
        visits.reload(app)
        editor.expect_done(2)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text("2 inputs ran again.")
        editor.act("Run all")  # replaces both
        editor.expect_done(1)

    def test_selections_are_shown_again_where_they_ran(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        cells = ["# %%\nn = 5", "# %%\nabs(-n) + abs(n)", "# %%\nm = 6\nm + n\nn"]
        editor.write("\n\n".join(cells))
        editor.act("Run all")
        editor.expect_done(3)
        editor.text.locator(".cm-line").get_by_text("n", exact=True).last.click()
        editor.press("Home")
        editor.press("Shift+End")
        editor.press("Control+Enter")
        editor.expect_done(4)
        editor.put("", after="abs(-n)")
        editor.press("Home")
        for _ in "abs(-n)":
            editor.press("Shift+ArrowRight")
        editor.press("Control+Enter")
        editor.expect_done(5)  # the output of the whole line is still there
        before = editor.lines
        visits.wait_until_ended(*cells, "n", "abs(-n)")
        visits.reload(app)
        editor.expect_done(5)
        assert sorted(editor.lines) == sorted(before)
        assert editor.lines[:3] == ["# %%", "n = 5", "= "]
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text("5 inputs ran again.")


class TestPrograms:
    def test_a_program_becomes_a_notebook_and_a_program_again(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        text = "# %% [markdown]\n# # Title\n#\n# words\n\n# %% One\nx = 1\nx\n\n# %%\nx + 1\n"
        editor.write(text)
        editor.put("", after="x + 1")
        editor.press("Control+Enter")
        editor.expect_done(1)
        editor.rename("main.py", "book.ipynb")
        editor.expect_tabs("book.ipynb")
        editor.expect_done(1)
        whole = json.loads(downloaded(editor, "book.ipynb", tmp_path))
        assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
        found = [(cell["cell_type"], "".join(cell["source"])) for cell in whole["cells"]]
        title = ("markdown", "# Title\n\nwords")
        assert found == [title, ("code", "x = 1\nx"), ("code", "x + 1")]
        assert [len(cell["outputs"]) for cell in whole["cells"][1:]] == [0, 1]
        editor.rename("book.ipynb", "again.py")
        editor.expect_tabs("again.py")
        assert downloaded(editor, "again.py", tmp_path).decode() == text
        editor.expect_done(1)
        editor.act("Undo")
        editor.expect_tabs("book.ipynb")
        assert json.loads(downloaded(editor, "book.ipynb", tmp_path)) == whole
        editor.rename("book.ipynb", "book.json")
        assert json.loads(downloaded(editor, "book.json", tmp_path)) == whole

    def test_a_renamed_program_that_holds_a_notebook(self, editor: Editor, tmp_path: Path) -> None:
        content = with_ids(("1", [said("of a")]))
        drop(editor.page, book__py=content)
        editor.expect_tabs("main.py", "book.py")
        editor.rename("book.py", "book.ipynb")
        editor.expect_tabs("main.py", "book.ipynb")
        assert downloaded(editor, "book.ipynb", tmp_path) == content

    def test_undo_leaves_a_program_that_was_edited(self, editor: Editor) -> None:
        drop(editor.page, book__ipynb=with_ids(("x", [said("of a")])))
        editor.expect_done(1)
        editor.rename("book.ipynb", "book.py")
        editor.expect_tabs("main.py", "book.py")
        editor.put(" = 5", after="x")
        editor.act("Undo")
        editor.expect_tabs("main.py", "book.py", "book.ipynb")
        editor.expect_done(1)

    def test_a_new_notebook(self, editor: Editor, tmp_path: Path) -> None:
        editor.create("Notebook (.ipynb)")
        editor.expect_tabs("main.py", "notebook.ipynb")
        expect(editor.text).to_be_focused()
        editor.page.keyboard.insert_text("6 * 7")
        editor.press("Control+Enter")
        editor.expect_done(1)
        cells = json.loads(downloaded(editor, "notebook.ipynb", tmp_path))["cells"]
        assert [cell["cell_type"] for cell in cells] == ["markdown", "code"]
        assert (cells[1]["source"], outputs_of(cells[1:])) == (["6 * 7"], ["42"])

    def test_an_edited_module_is_imported_again(self, editor: Editor) -> None:
        main = b"%matplotlib inline\nimport helper\nhelper.scaled(3)"
        drop(editor.page, **{"helper.py": b"def scaled(x):\n    return x * 2\n"})
        editor.expect_tabs("main.py", "helper.py")
        drop(editor.page, book__ipynb=notebook((main.decode(), [])))
        editor.expect_tabs("main.py", "helper.py", "book.ipynb")
        editor.act("Run all")
        editor.expect_done(1)
        expect(editor.outputs.locator("pre.result")).to_have_text("6")
        editor.pane.locator(".editor-tab", has_text="helper.py").click()
        editor.page.evaluate(EDIT, [("* 2", "* 100")])
        editor.pane.locator(".editor-tab", has_text="book.ipynb").click()
        editor.act("Run all")
        expect(editor.outputs.locator("pre.result")).to_have_text("300")


STORED_OUTPUTS = """async (store, of) => {
  const keys = await of(store.getAllKeys(IDBKeyRange.bound(["file"], ["file", []])));
  const bytes = await of(store.get(keys.find(([, , path]) => path === "book.ipynb")));
  const { cells } = JSON.parse(new TextDecoder().decode(bytes));
  return cells.map(({ outputs }) => outputs.length);
}"""


class TestStoredOutputs:
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

    def test_they_stay_in_the_file_where_cells_do_not_run(
        self, editor: Editor, cells: list[tuple[str, list[Any]]], tmp_path: Path
    ) -> None:
        content = notebook(*cells)
        drop(editor.page, book__ipynb=content)
        editor.expect_done(4)
        assert downloaded(editor, "book.ipynb", tmp_path) == content
        before = json.loads(content)["cells"]
        editor.put("", after="x = 1")
        editor.press("Control+Enter")
        expect(editor.outputs.filter(has_text="From the file")).to_have_count(3)
        editor.expect_done(4)
        assert editor.lines[:4] == ["# %%", "x = 1", "x", "= 1"]
        found = cells_of(editor, tmp_path)
        result = {"data": {"text/plain": ["1"]}, "execution_count": 1, "metadata": {}}
        ran = [result | {"output_type": "execute_result"}]
        assert found == [before[0] | {"outputs": ran, "execution_count": 1}, *before[1:]]
        editor.put("0", after="x = 1")
        found = cells_of(editor, tmp_path)
        assert found[0]["source"] == "x = 10\nx"
        assert found[0]["outputs"] == ran  # as it is shown
        assert found[1:] == before[1:]
        editor.put("", after="fails")
        editor.press("Shift+Home")
        editor.page.keyboard.insert_text("anew")
        found = cells_of(editor, tmp_path)
        assert found[3]["source"] == "anew"
        expect(editor.outputs.filter(has_text="by zero")).to_have_count(1)
        assert found[3]["outputs"] == before[3]["outputs"]  # as it is shown

    def test_what_ran_is_in_the_file(self, editor: Editor, tmp_path: Path) -> None:
        """Everything else is unchanged, byte for byte."""
        said = [{"name": "stdout", "output_type": "stream", "text": ["old\n"]}]
        sources = [
            "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7",
            "pt.display(pt.rand(4, 4))",
            "pt.plot(pt.arange(3))",
            "1 / 0",
            "'never'",
        ]
        made: list[dict[str, Any]] = [
            {
                "cell_type": "code",
                "execution_count": 1,
                "id": f"mine-{i}",
                "metadata": {"a": 1.0},
                "outputs": said,
                "source": source.splitlines(keepends=True),
            }
            for i, source in enumerate(sources)
        ]
        made.insert(
            1, {"cell_type": "markdown", "id": "text", "metadata": {}, "source": ["# Title"]}
        )
        whole = {
            "cells": made,
            "metadata": {"theirs": {"b": [1e20, "\u00e4"]}},
            "nbformat": 4,
            "nbformat_minor": 5,
            "unknown": None,
        }
        for ascii_only in (True, False):
            content = json.dumps(whole, indent=1, ensure_ascii=ascii_only) + "\n"
            drop(editor.page, book__ipynb=content.encode())
            expect(editor.outputs.filter(has_text="From the file")).to_have_count(5)
            editor.act("Run all")
            expect(editor.outputs.filter(has_text="Not run")).to_have_count(1)
            editor.expect_done(5)
            text = downloaded(editor, "book.ipynb", tmp_path).decode()
            found = json.loads(text)
            first, _, image, plot, failed, skipped = found["cells"]
            assert first["outputs"] == [
                {"output_type": "stream", "name": "stdout", "text": ["out\n"]},
                {"output_type": "stream", "name": "stderr", "text": ["err\n"]},
                {
                    "output_type": "execute_result",
                    "execution_count": 2,
                    "data": {"text/plain": ["42"]},
                    "metadata": {},
                },
            ]
            (shown,) = image["outputs"]
            assert base64.b64decode(shown["data"]["image/png"]).startswith(b"\x89PNG")
            (shown,) = plot["outputs"]
            assert "".join(shown["data"]["image/svg+xml"]).startswith("<svg")
            (error,) = failed["outputs"]
            assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
            assert error["traceback"][0] == "Traceback (most recent call last):"
            assert skipped["outputs"] == said
            counts = [c["execution_count"] for c in (first, image, plot, failed, skipped)]
            assert counts == [2, 3, 4, 5, 1]
            for got in (first, image, plot, failed):  # with its previous contents
                got |= {"outputs": said, "execution_count": 1}
            assert json.dumps(found, indent=1, ensure_ascii=ascii_only) + "\n" == content
            assert text.count('"a": 1.0') == 5
            assert ("\\u00e4" in text) is ascii_only

    def test_a_plot_that_is_not_in_view_is_in_the_file(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        asks = "answer = input('Go? ')\npt.plot(pt.arange(3))"
        drop(editor.page, book__ipynb=notebook((asks, [])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.act("Run cell")
        field = editor.page.locator("#editor .cell-output input")
        field.fill("yes")
        editor.pane.locator(".editor-tab", has_text="main.py").click()
        expect(field).to_be_hidden()
        field.evaluate(
            """(field) => {
              const enter = { key: "Enter", bubbles: true, cancelable: true };
              field.dispatchEvent(new KeyboardEvent("keydown", enter));
            }"""
        )
        ended = editor.page.locator("#editor .cell-output > .entry.done")
        expect(ended).to_have_count(1)
        (cell,) = cells_of(editor, tmp_path)
        svg = "".join(cell["outputs"][-1]["data"]["image/svg+xml"])
        width = re.search(r'viewBox="\S+ \S+ (\S+) ', svg)
        assert width
        assert float(width[1]) > 100

    def test_cells_keep_what_is_theirs(self, editor: Editor, tmp_path: Path) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "said"}
        marked = 'm = """\n# %% within\n"""\nm'
        whole = json.loads(notebook(("a = 1", [said]), (marked, [said]), ("c = 3", [said])))
        whole["nbformat_minor"] = 5
        for i, cell in enumerate(whole["cells"]):
            cell["id"] = f"id-{i}"
        text = {"cell_type": "markdown", "id": "t", "metadata": {}, "source": "words\n%% of text"}
        whole["cells"].append(text | {"attachments": {"x": {}}})
        drop(editor.page, book__ipynb=json.dumps(whole).encode())
        editor.expect_done(3)
        before = cells_of(editor, tmp_path)
        editor.put("0", after="a = 1")
        editor.put("\n\n# %% new\nn = 4", after="a = 10")
        found = cells_of(editor, tmp_path)
        assert [cell["id"] for cell in found] == ["id-0", "cell-2", "id-1", "id-2", "t"]
        assert found[0] == before[0] | {"source": "a = 10"}
        assert found[1]["metadata"] == {"title": "new"}
        assert found[2:] == before[1:]
        editor.text.locator(".cm-line").get_by_text("m", exact=True).last.click()
        editor.press("End")
        editor.page.keyboard.insert_text(" + '!'")
        editor.press("Control+Enter")
        expect(editor.outputs.last).to_contain_text(r"'\n# %% within\n!'")
        found = cells_of(editor, tmp_path)
        assert [cell["id"] for cell in found] == ["id-0", "cell-2", "id-1", "id-2", "t"]
        assert found[2]["source"] == marked + " + '!'"
        assert found[2]["metadata"] == {"mine": 1}
        editor.put(" and more", after="of text")
        source = {"source": "words\n%% of text and more"}
        assert cells_of(editor, tmp_path)[4] == before[3] | source

    def test_they_come_back_with_the_same_file(self, editor: Editor) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "said"}
        content = notebook(("a", [said]), ("b", [said]))
        drop(editor.page, book__ipynb=content)
        expect(editor.outputs).to_have_count(2)
        editor.act("Clear outputs")
        expect(editor.outputs).to_have_count(0)
        drop(editor.page, book__ipynb=content)
        expect(editor.outputs).to_have_count(2)

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

    def test_a_keyboard_interrupt_of_the_program_is_an_error(self, editor: Editor) -> None:
        outputs = [
            {
                "output_type": "error",
                "ename": "KeyboardInterrupt",
                "evalue": e,
                "traceback": [f"K: {e}"],
            }
            for e in ("", "mine")
        ]
        drop(
            editor.page,
            book__ipynb=notebook(*((f"{i}", [output]) for i, output in enumerate(outputs))),
        )
        editor.expect_tabs("main.py", "book.ipynb")
        editor.expect_done(2)
        expect(editor.outputs.first.locator("summary")).to_have_text("Stopped")
        expect(editor.outputs.last.locator(".error")).to_have_text("K: mine")
        expect(editor.outputs.last.locator(".interrupted")).to_have_count(0)

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
        wait_for(lambda: visits.in_store(STORED_OUTPUTS) == [0, 1, 0, 1], app.page)
        visits.wait_until(lambda kept: not kept)
        visits.reload(app)
        editor.expect_done(2)
        lines = [line for line in editor.lines if line.strip()]
        assert lines[:5] == ["# %%", "'here'", "# %%", "'twice'", "= of the file"]
        editor.act("Clear outputs")
        wait_for(lambda: visits.in_store(STORED_OUTPUTS) == [0] * 4, app.page)
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

    def test_counts_go_on_from_one_that_is_a_float(self, editor: Editor, tmp_path: Path) -> None:
        whole = json.loads(notebook(("'first'", []), ("'second'", [])))
        for cell, count in zip(whole["cells"], (1.0, 7.0), strict=True):
            cell["execution_count"] = count
        drop(editor.page, book__ipynb=json.dumps(whole).encode())
        editor.expect_tabs("main.py", "book.ipynb")
        editor.put("", after="first")
        editor.press("Control+Enter")
        editor.expect_done(1)
        text = downloaded(editor, "book.ipynb", tmp_path).decode()
        assert [cell["execution_count"] for cell in json.loads(text)["cells"]] == [8, 7]
        assert re.search(r'"execution_count":\s*7\.0\b', text)
        assert not re.search(r'"execution_count":\s*8\.0', text)

    def test_outputs_of_other_code_are_not_stored_in_its_cell(self, visits: Visits) -> None:
        """After a reload an output of earlier code is shown below the cell that took its place."""
        app = visits.open()
        editor = Editor(app.page).open()
        said = {"output_type": "stream", "name": "stdout", "text": "of the file"}
        drop(app.page, book__ipynb=notebook(("'here'", []), ("'else'", [said])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.put("", after="here")
        editor.press("Control+Enter")
        visits.wait_until_ended("# %%\n'here'")
        wait_for(lambda: visits.in_store(STORED_OUTPUTS) == [1, 1], app.page)
        editor.put("", after="here")
        editor.press("Shift+Home")
        editor.page.keyboard.insert_text("'other'")
        wait_for(lambda: "other" in app.run("open('book.ipynb').read()")["result"], app.page)
        visits.reload(app)
        editor.expect_done(3)  # also that of the file
        editor.act("Clear the output of a cell")
        visits.wait_until(lambda kept: not kept)
        app.page.wait_for_timeout(1000)  # the file would be written by now
        assert visits.in_store(STORED_OUTPUTS) == [1, 1]
