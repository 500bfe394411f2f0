"""The editor and sessions: what a reload, a restart or another session keeps of its files."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.app import AppPage
from tests.browser.editor import Editor, wait_for
from tests.browser.repl import Repl
from tests.browser.test_sessions import Visits, enter

CLICK_AT_ONCE = """
  const observer = new MutationObserver(() => {
    const button = document.querySelector("#editor-button");
    if (!button) return;
    observer.disconnect();
    button.click();
  });
  observer.observe(document, { childList: true, subtree: true });
"""


IS_OPEN = """async (store, of) => {
  const sessions = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
  return sessions.map(({ editor }) => editor.isOpen);
}"""


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
"""Replaces the text and presses a button at once, before the text is saved automatically."""


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


OPEN_AND_CREATE = """async () => {
  const named = (selector, text) =>
    [...document.querySelectorAll(selector)].find(({ textContent }) => textContent.includes(text));
  const create = named("#editor button", "Program (.py)");
  named(".session-row", "Session 1").click();
  const files = document.querySelector("#editor").getElementsByClassName("file");
  for (let i = 0; files.length; i++) {
    if (i === 1000) throw new Error("the files of the first session are still listed");
    await new Promise(requestAnimationFrame);
  }
  create.click();
}"""


DAMAGE_TABS = """async (store, of) => {
  const [about] = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
  await of(store.put({ ...about, editor: { ...about.editor, tabs: 7 } }, ["about", about.id]));
}"""


def open_session(app: AppPage, name: str) -> None:
    app.page.locator("#sessions-button").click()
    app.page.locator(".session-row", has_text=name).click()


class TestKept:
    def test_files_and_tabs_are_there_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.create()
        editor.expect_tabs("main.py", "program.py")
        editor.write("'typed before the reload'")
        visits.reload(app)
        editor.expect_tabs("main.py", "program.py")
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("program.py")
        expect(editor.text).to_have_text("'typed before the reload'")
        assert app.run("open('program.py').read()")["result"] == "\"'typed before the reload'\""
        editor.button.click()
        expect(editor.pane).to_be_hidden()
        wait_for(lambda: visits.in_store(IS_OPEN) == [False], app.page)
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
        editor.press("Control+Enter")  # again: its output replaces the first
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

    def test_a_cell_without_output_says_so(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("n = 2\n")
        editor.act("Run all")

        def expect_note() -> None:
            editor.expect_done(1)
            words = editor.outputs.locator("> .entry").evaluate(
                "(entry) => entry.innerText + getComputedStyle(entry, '::after').content"
            )
            assert "Done. No output." in words
            block, button = (
                part.bounding_box() for part in (editor.outputs, editor.outputs.locator("button"))
            )
            assert block
            assert button
            assert button["y"] + button["height"] <= block["y"] + block["height"]

        expect_note()
        visits.wait_until_ended("n = 2")
        visits.reload(app)
        expect_note()
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript")).to_contain_text("1 input ran again.")
        expect_note()

    def test_a_cell_that_ran_twice_runs_again_at_its_first_place(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        cells = ["# %%\nimport math", "# %%\na = math.pi", "# %%\nprint('a is', a)"]
        editor.write("\n".join(cells))
        editor.act("Run all")
        editor.expect_done(3)
        editor.put("  # edited", after="import")
        editor.press("Shift+Enter")
        editor.expect_done(3)
        visits.wait_until_ended(f"{cells[0]}  # edited", *cells[1:])
        visits.reload(app)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text("3 inputs ran again.")

    def test_running_again_shows_the_cell_that_fails(self, visits: Visits) -> None:
        app = visits.open()
        app.run("given = 1")
        editor = Editor(app.page).open()
        editor.write("# %%\n'works'\n\n# %%\n" + "# a line\n" * 60 + "given\n\n# %%\n'later'\n")
        editor.act("Run all")
        editor.expect_done(3)
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["done"] * 3)
        editor.create()
        editor.expect_tabs("main.py", "program.py")
        visits.reload(app)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text(
            "Stopped at an error in main.py, cell 2. 1 later input did not run."
        )
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("main.py")
        expect(editor.outputs.locator(".error")).to_be_in_viewport()

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
        app.run("import os; os.remove('main.py')")  # a program can do this too
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
        expect(editor.text).to_contain_text("A cell starts with")
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'of the first'")

    def test_a_session_whose_files_are_newer_than_the_list(self, visits: Visits) -> None:
        """Another tab wrote its first file after the menu was opened."""
        app = visits.open()
        repl, editor = Repl(app.page), Editor(app.page)
        enter(repl, "1")
        visits.wait_until_ended("1")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(repl.entries).to_have_count(0)
        editor.open()
        app.page.locator("#sessions-button").click()
        row = app.page.locator(".session-row", has_text="Session 1")
        expect(row).to_be_visible()

        beside = visits.open()
        open_session(beside, "Session 1")
        expect(Repl(beside.page).entries).to_have_count(1)
        other = Editor(beside.page).open()
        other.write("'of the other tab'")
        other.press("ControlOrMeta+s")
        expect(other.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        visits.close(beside)

        row.click()
        expect(repl.entries).to_have_count(1)
        expect(editor.text).to_have_text("'of the other tab'")

    def test_a_file_that_is_created_while_a_session_opens(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.create()
        editor.write("'of the first'")
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        editor.expect_files("main.py")
        app.page.locator("#sessions-button").click()
        expect(app.page.locator(".session-row", has_text="Session 1")).to_be_visible()
        app.page.evaluate(OPEN_AND_CREATE)
        editor.expect_files("main.py", "program.py", "program_2.py")
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("program_2.py")
        assert app.run("open('program.py').read()")["result"] == "\"'of the first'\""

    def test_another_session_is_opened_right_after_typing(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        app.page.locator("#sessions-button").click()
        expect(app.page.get_by_role("button", name="New session")).to_be_visible()
        app.page.evaluate(TYPE_AND_CLICK, ["'of the first'", "New session"])
        expect(editor.text).to_contain_text("A cell starts with")
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'of the first'")

    def test_text_is_typed_until_another_session_is_opened(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        app.page.locator("#sessions-button").click()
        expect(app.page.get_by_role("button", name="New session")).to_be_visible()
        app.page.evaluate(TYPE_UNTIL_CLOSED, "New session")
        expect(editor.text).to_contain_text("A cell starts with")
        open_session(app, "Session 1")
        expect(editor.text).to_have_text(app.page.evaluate("window.typed"))

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
        expect(editor.text).to_contain_text("A cell starts with")
        app.page.evaluate("window.isFull = false")
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'typed'")

    def test_a_file_operation_is_of_the_session_where_it_began(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'of the first'")
        editor.press("ControlOrMeta+s")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with")
        app.page.locator("#sessions-button").click()
        expect(app.page.locator(".session-row")).to_contain_text("Session 1")
        app.page.evaluate(DELETE_AND_LEAVE)
        expect(app.page.locator("#sessions-button")).to_contain_text("Session 1")
        expect(editor.text).to_have_text("'of the first'")
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
        expect(editor.text).to_contain_text("A cell starts with")
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
