"""Notebooks in the editor: the file's cell of each cell of the program, and its outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.editor import Editor, drop, wait_for
from tests.browser.test_editor import cells_of, downloaded, notebook
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
  const found = {};
  for (const key of keys) found[key[2]] = new TextDecoder().decode(await of(store.get(key)));
  return found;
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
        content = with_ids((A, [said("of a")]), (B, [said("of b")]))
        for name, (edits, ids, sources) in EDITS.items():
            drop(editor.page, book__ipynb=content)
            editor.expect_done(2)
            editor.page.evaluate(EDIT, edits)
            found = cells_of(editor, tmp_path)
            got = "".join(cell["id"] if cell["id"] in "ab" else "?" for cell in found)
            assert got == ids, name
            assert ["".join(cell["source"]) for cell in found] == sources, name
            replaced = "replaced" in name
            expected = {"a": "" if replaced else "of a", "b": "of b", "?": ""}
            assert outputs_of(found) == [expected[i] for i in ids], name
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


class TestOutputs:
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
