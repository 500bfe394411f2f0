"""The console, operated like a user."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.repl import ZERO_DELAY, Repl, paste


class TestConsole:
    def test_an_expression(self, repl: Repl) -> None:
        repl.type("40 + 2")
        expect(repl.last(".result")).to_have_text("42")
        expect(repl.last(".source")).to_have_text(">>> 40 + 2")

    def test_the_example_of_the_first_line(self, repl: Repl) -> None:
        repl.page.get_by_role("button", name="Column sums").click()
        expect(repl.last(".result")).to_have_text("tensor([34., 38., 42., 46., 50.])")
        expect(repl.input).to_be_focused()

    @pytest.mark.parametrize("name", ["Matrix product", "Softmax", "Estimate of π", "This device"])
    def test_the_other_examples(self, repl: Repl, name: str) -> None:
        repl.page.get_by_role("button", name=name).click()
        expect(repl.last(".result")).to_be_visible()
        expect(repl.last(".error")).to_have_count(0)

    def test_the_example_of_a_picture(self, repl: Repl) -> None:
        repl.page.get_by_role("button", name="A picture").click()
        expect(repl.last("canvas")).to_be_visible()
        expect(repl.last(".error")).to_have_count(0)

    def test_the_example_of_an_error(self, repl: Repl) -> None:
        repl.page.get_by_role("button", name="An error").click()
        expect(repl.last(".error")).to_contain_text("(8, 3, 4)")
        expect(repl.last(".error")).to_contain_text("pt.ones((8, 3, 4)) + pt.ones((5, 4))")

    def test_what_is_typed_after_a_click_goes_to_the_prompt(self, repl: Repl) -> None:
        repl.type("pt.linspace(0, 1, 12).reshape(3, 4)")
        repl.last(".tensor").get_by_role("button", name="Table").click()
        expect(repl.last("table")).to_be_visible()
        repl.page.keyboard.type("1 + [2, 3][0]")
        repl.expect_text("1 + [2, 3][0]")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("3")

    def test_what_is_pasted_after_a_click_too(self, repl: Repl) -> None:
        repl.type("pt.linspace(0, 1, 12).reshape(3, 4)")
        repl.last(".tensor").get_by_role("button", name="Table").click()
        expect(repl.last("table")).to_be_visible()
        paste(repl, "20 + 3")
        repl.expect_text("20 + 3")

    def test_shortcuts_and_spaces_stay_where_they_are(self, repl: Repl) -> None:
        repl.type("pt.linspace(0, 1, 12).reshape(3, 4)")
        button = repl.last(".tensor").get_by_role("button", name="Table")
        button.focus()
        for key in ("Control+b", "Alt+x", "Shift", "F7"):
            repl.press(key)
        expect(button).to_be_focused()
        repl.press(" ")
        expect(repl.last("table")).to_be_visible()
        repl.expect_text("")

    def test_a_block_takes_lines_until_an_empty_one(self, repl: Repl) -> None:
        repl.type("for i in range(2):\nprint('line', i)")
        repl.expect_text("for i in range(2):\n    print('line', i)\n    ")
        expect(repl.prompts).to_have_text([">>>", "...", "..."])
        repl.press("Enter")
        expect(repl.last(".printed")).to_have_text("line 0\nline 1")
        repl.expect_text("")

    def test_an_open_bracket_takes_lines(self, repl: Repl) -> None:
        repl.type("sum([1,\n2])")
        expect(repl.last(".result")).to_have_text("3")

    def test_shift_enter_adds_a_line(self, repl: Repl) -> None:
        repl.input.fill("a = 20")
        repl.press("Shift+Enter")
        repl.page.keyboard.type("a + 1")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("21")

    def test_history_with_the_arrows(self, repl: Repl) -> None:
        repl.type("'first'\n'second'")
        expect(repl.last(".result")).to_have_text("'second'")
        repl.page.keyboard.type("draft")
        repl.press("Home")
        repl.press("ArrowUp")
        repl.expect_text("'second'")
        repl.press("ArrowUp")
        repl.expect_text("'first'")
        repl.press("ArrowDown")
        repl.press("ArrowDown")
        repl.expect_text("draft")

    def test_arrows_move_within_several_lines(self, repl: Repl) -> None:
        repl.type("'before'")
        repl.input.fill("one\ntwo")
        repl.press("ArrowUp")
        repl.expect_text("one\ntwo")
        repl.press("Home")
        repl.press("ArrowUp")
        repl.expect_text("'before'")

    def test_an_error_is_shown_with_a_way_to_every_frame(self, repl: Repl) -> None:
        repl.type("import json; json.loads('{')")
        expect(repl.last(".error")).to_contain_text("JSONDecodeError")
        repl.type("a = pt.ones((2, 3)); a @ a")
        expect(repl.last(".error")).to_contain_text("a @ a")
        expect(repl.last(".frames pre")).to_be_hidden()
        repl.last(".frames summary").click()
        expect(repl.last(".frames pre")).to_contain_text("py_tensor/")

    def test_standard_error_is_marked(self, repl: Repl) -> None:
        repl.type("import sys; print('careful', file=sys.stderr)")
        expect(repl.last(".printed .stderr")).to_have_text("careful")

    def test_output_is_shown_while_the_code_runs(self, repl: Repl) -> None:
        repl.type("import time; print('begun'); time.sleep(60)")
        expect(repl.last(".printed")).to_have_text("begun")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        expect(repl.page.locator("#busy-text")).to_contain_text("Running")
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        expect(repl.page.locator("#interrupt")).to_be_hidden()

    def test_the_button_interrupts(self, repl: Repl) -> None:
        repl.type("while True: pass\n")
        repl.page.locator("#interrupt").click()
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        repl.type("'unharmed'")
        expect(repl.last(".result")).to_have_text("'unharmed'")

    def test_what_is_typed_ahead_runs_afterwards(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(0.5); 'slow'")
        repl.type("'ahead'")
        expect(repl.entries.nth(0).locator(".result")).to_have_text("'slow'")
        expect(repl.entries.nth(1).locator(".result")).to_have_text("'ahead'")

    def test_what_is_typed_ahead_runs_after_an_interrupt(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(60)")
        repl.type("'ahead'\n'further'")
        notes = repl.entries.locator(".note")
        waits = r"^Waiting for “import time; time\.sleep\(60\)” \(\d+ s\) · Stop it$"
        expect(notes).to_have_text([re.compile(waits)] * 2)
        expect(notes.first).not_to_contain_text("(0 s)")
        silent = notes.first.locator("[aria-live=off]")  # the rest is announced
        expect(silent).to_have_text(re.compile(r"^ ?\(\d+ s\)$"))
        notes.first.get_by_role("button", name="Stop it").click()
        expect(repl.entries.nth(0)).to_contain_text("Stopped after")
        expect(repl.entries.locator(".result")).to_have_text(["'ahead'", "'further'"])
        expect(notes).to_have_count(0)

    def test_an_interrupt_drops_the_rest_of_what_was_pasted(self, repl: Repl) -> None:
        inputs = ["import time; time.sleep(60)", "'second'", "1 / 0", "'fourth'"]
        paste(repl, "".join(f">>> {code}\n" for code in inputs))
        repl.press("Enter")
        repl.type("'typed'")
        waiting = repl.entries.locator(".note")
        expect(waiting).to_have_count(1)  # the others were entered with it
        expect(waiting).to_contain_text("Waiting for “import time")
        repl.press("Control+c")
        expect(repl.last(".result")).to_have_text("'typed'")
        for i, which in (
            (1, "the input before it"),
            (2, "an earlier input"),
            (3, "an earlier input"),
        ):
            reason = f"Not run: {which} was interrupted."
            expect(repl.entries.nth(i).locator(".note")).to_have_text(reason)
            expect(repl.entries.nth(i)).to_have_class("entry dropped")
        paste(repl, "".join(f">>> {code}\n" for code in inputs[2:]))
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("'fourth'")  # a failure does not drop it

    def test_control_c_empties_the_prompt(self, repl: Repl) -> None:
        repl.input.fill("half an inp")
        repl.press("Control+c")
        repl.expect_text("")

    def test_clearing(self, repl: Repl) -> None:
        repl.type("1")
        expect(repl.last(".result")).to_be_visible()
        repl.press("Control+l")
        expect(repl.entries).to_have_count(0)
        repl.type("2")
        expect(repl.last(".result")).to_be_visible()
        repl.page.locator("#clear").click()
        expect(repl.entries).to_have_count(0)
        expect(repl.input).to_be_focused()

    def test_clearing_can_be_undone(self, repl: Repl) -> None:
        repl.type("'first'\n'second'")
        expect(repl.last(".result")).to_have_text("'second'")
        repl.press("Control+l")
        repl.type("'third'")
        expect(repl.entries).to_have_count(1)
        repl.page.get_by_role("button", name="Undo").click()
        expect(repl.entries.locator(".result")).to_have_text(["'first'", "'second'", "'third'"])

    def test_what_was_cleared_is_of_the_session_once(self, repl: Repl) -> None:
        share = repl.page.locator("#share")
        for code in ("kept_1 = 1", "kept_2 = 2"):
            repl.type(code)
        repl.press("Control+l")
        repl.type("kept_1 + kept_2")
        expect(repl.last(".result")).to_have_text("3")
        for is_undone in (False, True):
            if is_undone:
                repl.page.get_by_role("button", name="Undo").click()
            share.locator("summary").click()
            if not is_undone:
                share.get_by_role("checkbox").check()
            with repl.page.expect_download() as download:
                repl.page.get_by_role("button", name="Save as a script (.py)").click()
            assert download.value.suggested_filename == "py_tensor_session.py"
            script = Path(download.value.path()).read_text("utf-8")
            inputs = [line for line in script.splitlines() if "kept_" in line]
            assert inputs[-3:] == ["kept_1 = 1", "kept_2 = 2", "kept_1 + kept_2"]
            assert script.count("kept_1 = 1") == 1

    def test_clearing_leaves_what_still_runs(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(0.3); 'slow'")
        repl.press("Control+l")
        expect(repl.last(".result")).to_have_text("'slow'")

    def test_pasting_several_lines(self, repl: Repl) -> None:
        paste(repl, "def double(x):\n    return 2 * x\n\ndouble(21)\n")
        repl.expect_text("def double(x):\n    return 2 * x\n\ndouble(21)")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("42")

    def test_a_copy_of_the_transcript_can_be_pasted(self, repl: Repl) -> None:
        repl.type("x = 20\nprint(x)\n\n1 / 0")
        expect(repl.last(".error")).to_be_visible()
        repl.page.evaluate("""() => {
            const transcript = document.getElementById("transcript");
            const note = document.createElement("p");
            transcript.prepend(Object.assign(note, { className: "note", textContent: "a note" }));
            const keep = ({ clipboardData }) => {
                window.copied = clipboardData.getData("text/plain");
            };
            addEventListener("paste", keep, { capture: true, once: true });
            document.activeElement.blur();
            getSelection().selectAllChildren(transcript);
        }""")
        repl.press("Control+c")
        repl.input.focus()
        repl.press("Control+v")
        repl.expect_text(">>> x = 20\n>>> print(x)\n>>> 1 / 0")
        copied = repl.page.evaluate("window.copied")
        assert copied.startswith(">>> x = 20\n")
        assert "\n20\n" in copied
        assert not any(words in copied for words in ("Copy", "Full traceback", "a note"))

    def test_a_pasted_block_needs_one_enter(self, repl: Repl) -> None:
        paste(repl, "for i in range(2):\n    print('line', i)\n")
        repl.press("Enter")
        expect(repl.last(".printed")).to_have_text("line 0\nline 1")
        expect(repl.entries).to_have_count(1)

    def test_a_pasted_block_that_is_edited_does_not_end_there(self, repl: Repl) -> None:
        paste(repl, "for i in range(2):\n    x = i\n")
        repl.page.keyboard.type("0")
        repl.press("Enter")
        repl.expect_text("for i in range(2):\n    x = i0\n    ")

    def test_each_prompt_of_a_pasted_session_is_an_input_of_its_own(self, repl: Repl) -> None:
        paste(
            repl, ">>> x = [1,\n...      2]\n>>> x\n[1, 2]\n>>> 1 / 0\nTraceback\n>>> len(x)\n2\n"
        )
        repl.expect_text(">>> x = [1,\n...      2]\n>>> x\n>>> 1 / 0\n>>> len(x)")
        expect(repl.prompts).to_have_count(0)
        expect(repl.entries).to_have_count(0)
        repl.press("Enter")
        expect(repl.entries).to_have_count(4)
        expect(repl.entries.nth(0).locator("code")).to_have_text(["x = [1,", "     2]"])
        expect(repl.entries.nth(1).locator(".result")).to_have_text("[1, 2]")
        expect(repl.entries.nth(2).locator(".error")).to_contain_text("ZeroDivisionError")
        expect(repl.entries.nth(3).locator(".result")).to_have_text("2")
        expect(repl.prompts).to_have_text([">>>"])

    def test_tab_indents(self, repl: Repl) -> None:
        repl.input.fill("if x:\n")
        repl.press("Tab")
        repl.page.keyboard.type("ab")
        repl.expect_text("if x:\n    ab")
        repl.press("Shift+Tab")
        repl.expect_text("if x:\nab")
        repl.press("Control+a")
        repl.press("Tab")
        repl.expect_text("    if x:\n    ab")
        expect(repl.input).to_be_focused()

    def test_tab_leaves_an_empty_prompt_and_any_after_escape(self, repl: Repl) -> None:
        for text, keys in (("", ["Tab"]), ("x", ["Escape", "Tab"]), ("x", ["Escape", "Shift+Tab"])):
            repl.input.fill(text)
            for key in keys:
                repl.press(key)
            expect(repl.input).not_to_be_focused()
            repl.expect_text(text)

    def test_the_foot_says_what_tab_does(self, repl: Repl) -> None:
        hint = repl.page.locator("#keys > span").filter(has_text="Tab").first
        for text, words in (("", "leave"), ("x", "complete"), ("", "leave")):
            repl.input.fill(text)
            shown = [each for each in hint.locator(".either > *").all() if each.is_visible()]
            assert [each.inner_text() for each in shown] == [words]

    def test_no_key_after_the_prompt_clears(self, repl: Repl) -> None:
        repl.type("'kept'")
        expect(repl.last(".result")).to_be_visible()
        for key in ("Tab", "Enter", "Tab", "Enter", "Escape"):  # the last one closes what is open
            repl.press(key)
        expect(repl.page.get_by_role("dialog")).to_have_count(0)
        expect(repl.entries).to_have_count(1)
        described = repl.input.evaluate(
            "(input) => input.ariaDescribedByElements.map((element) => element.innerText).join()"
        )
        assert "Esc Tab leave the prompt" in " ".join(described.split())

    def test_the_transcript_is_one_stop_of_the_tab_key(self, repl: Repl) -> None:
        repl.type("'first'\n'second'\n'third'")
        expect(repl.last(".result")).to_have_text("'third'")
        repl.input.focus()
        repl.press("Shift+Tab")
        expect(repl.entries.nth(2)).to_be_focused()
        for key, place in (("ArrowUp", 1), ("Home", 0), ("ArrowUp", 0), ("ArrowDown", 1)):
            repl.press(key)
            expect(repl.entries.nth(place)).to_be_focused()
        repl.press("Tab")
        expect(repl.entries.nth(1).locator(".copy")).to_be_focused()
        repl.press("Tab")
        expect(repl.input).to_be_focused()
        repl.press("Shift+Tab")
        expect(repl.entries.nth(1)).to_be_focused()

    def test_output_is_text_and_never_markup(self, repl: Repl) -> None:
        repl.type("print('<b id=bold>x</b>'); '<i id=italic>'")
        expect(repl.last(".printed")).to_have_text("<b id=bold>x</b>")
        expect(repl.page.locator("#bold, #italic")).to_have_count(0)

    def test_the_last_lines_are_in_view_unless_one_reads_others(self, repl: Repl) -> None:
        left = "(e) => Math.abs(e.scrollHeight - e.clientHeight - e.scrollTop) <= 1"
        repl.type("for i in range(300): print(i)\n\nimport time; [print(i) for i in range(300)]")
        expect(repl.last(".result")).to_be_visible()
        for entry in range(2):
            assert repl.entries.nth(entry).locator(".printed").evaluate(left)
        repl.input.fill("for i in range(300): print(i)\ntime.sleep(1); print('end')")
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("299")
        repl.last(".printed").evaluate("(e) => { e.scrollTop = 0; }")
        expect(repl.last(".printed")).to_contain_text("end")
        assert repl.last(".printed").evaluate("(e) => e.scrollTop") == 0

    def test_a_flood_leaves_the_page_usable(self, repl: Repl) -> None:
        repl.type("for i in range(200_000): print(i)\n")
        expect(repl.last(".printed")).to_contain_text("199999", timeout=120_000)
        assert len(repl.last(".printed").inner_text()) < 500_000
        words, first, again, old = repl.last(".printed").evaluate(CUT)
        assert 150_000 < first < 199_999
        assert f"… {first:,} earlier lines not kept" in words  # the first line left is a number
        assert again == words
        assert "… earlier output not kept" in old
        repl.type("'after'")
        expect(repl.last(".result")).to_have_text("'after'")


CUT = """async (pre) => {
  const { partsOf, partAgain } = await import("./sources/page/sessions/record.js");
  const wordsOf = (element) => {
    pre.after(element);
    const { content } = getComputedStyle(element.firstElementChild, "::before");
    element.remove();
    return content;
  };
  const [part] = await partsOf({ element: pre, draw() {} }, null);
  const { lost, ...old } = structuredClone(part);
  const again = [part, old].map((each) => wordsOf(partAgain(each, null)));
  const first = Number(pre.firstElementChild.textContent.split("\\n")[0]);
  return [wordsOf(pre.cloneNode(true)), first, ...again];
}"""
"""What is said above printed text, its first line, and what is said if it is shown again, from a
record with the number of lines and from one without it."""


class TestZeroDelay:
    def test_what_follows_enter_belongs_to_the_next_input(self, repl: Repl) -> None:
        repl.page.evaluate(ZERO_DELAY, [*"x=1", "Enter", *"x+1", "Enter", "Enter", *"le"])
        repl.expect_text("le")
        expect(repl.last(".result")).to_have_text("2")
        expect(repl.entries.locator(".source")).to_have_text([">>> x=1", ">>> x+1"])

    def test_a_block(self, repl: Repl) -> None:
        keys = [*"for i in 'ab':", "Enter", *"print(i)", "Enter", "Enter", *"i", "Enter"]
        repl.page.evaluate(ZERO_DELAY, keys)
        expect(repl.entries.nth(0).locator(".printed")).to_have_text("a\nb")
        expect(repl.entries.nth(1).locator(".result")).to_have_text("'b'")


class TestShare:
    def test_what_is_being_typed_is_shared(self, repl: Repl) -> None:
        repl.page.evaluate("""() => {
            window.copied = "";
            const writeText = async (text) => { window.copied = text; };
            const clipboard = { value: { writeText }, configurable: true };
            Object.defineProperty(navigator, "clipboard", clipboard);
        }""")
        repl.type("first = 1")
        item = repl.page.locator("#share .menu-items button").first
        repl.page.locator("#share summary").click()
        expect(item).to_have_text("Copy a link to the last input that ran")
        repl.page.locator("#share summary").click()
        repl.input.fill("second = 2")
        repl.page.locator("#share summary").click()
        expect(item).to_have_text("Copy a link to this input")
        repl.page.get_by_role("button", name="Copy a link to the session").click()
        expect(repl.page.locator(".said")).to_contain_text("Link copied")
        link = repl.page.evaluate("() => { delete navigator.clipboard; return window.copied; }")
        packed = link.partition("#code=")[2]
        packed += "=" * (-len(packed) % 4)
        code = zlib.decompress(base64.urlsafe_b64decode(packed), -15).decode()
        assert code.splitlines()[-2:] == [">>> first = 1", ">>> second = 2"]

    @pytest.mark.parametrize(
        "refusal",
        ["{ writeText: () => Promise.reject(new DOMException()) }", "undefined"],
        ids=["no permission", "no secure origin"],
    )
    def test_a_link_that_cannot_be_copied_is_shown(self, repl: Repl, refusal: str) -> None:
        how = f"{{ value: {refusal}, configurable: true }}"
        repl.page.evaluate(f"() => {{ Object.defineProperty(navigator, 'clipboard', {how}); }}")
        repl.input.fill("1 + 1")
        repl.page.locator("#share summary").click()
        repl.page.get_by_role("button", name="Copy a link to this input").click()
        link = repl.page.get_by_label("Text to copy")
        expect(link).to_be_focused()
        expect(link).to_have_value(re.compile(r"^http.*#code=[\w-]+$"))
        expect(link).to_have_attribute("readonly", "")
        selected = "(link) => link.value.slice(link.selectionStart, link.selectionEnd)"
        assert link.evaluate(selected) == link.input_value()
        repl.press("Escape")
        expect(link).to_have_count(0)
        expect(repl.page.locator("#share summary")).to_be_focused()
        repl.page.evaluate("() => { delete navigator.clipboard; }")


class TestInput:
    def ask(self, repl: Repl, code: str) -> Locator:
        repl.input.fill(code)
        repl.press("Enter")
        field = repl.page.get_by_label("Input for the program")
        expect(field).to_be_focused()
        return field

    def test_a_line_is_typed_where_it_is_asked_for(self, repl: Repl) -> None:
        field = self.ask(repl, "name = input('name? '); name.upper()")
        expect(repl.last(".printed")).to_have_text("name?")
        repl.page.keyboard.type("ada")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("'ADA'")
        expect(repl.last(".printed")).to_have_text("name? ada")
        expect(field).to_have_count(0)
        expect(repl.input).to_be_focused()

    def test_several_lines_and_the_end(self, repl: Repl) -> None:
        field = self.ask(repl, "import sys; sys.stdin.read()")
        for line in ("one", "two"):
            expect(field).to_be_focused()
            field.press_sequentially(line)
            repl.press("Enter")
        expect(field).to_be_focused()
        repl.press("Control+d")
        expect(repl.last(".result")).to_have_text("'one\\ntwo\\n'")

    def test_the_end_of_the_input(self, repl: Repl) -> None:
        self.ask(repl, "input()")
        repl.press("Control+d")
        expect(repl.last(".error")).to_contain_text("EOFError")

    def test_it_can_be_interrupted(self, repl: Repl) -> None:
        field = self.ask(repl, "input('never? ')")
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        expect(field).to_have_count(0)
        expect(repl.input).to_be_focused()
        self.ask(repl, "int(input())")
        repl.page.keyboard.type("7")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("7")

    def test_what_is_being_typed_is_not_torn_apart(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(0.3); input('late? ')")
        repl.page.keyboard.type("half")
        expect(repl.page.get_by_label("Input for the program")).to_be_visible()
        repl.page.keyboard.type(" done")
        repl.expect_text("half done")
        repl.press("Control+c")

    def test_answers_typed_ahead(self, repl: Repl) -> None:
        self.ask(repl, "a, b, c = input('x '), input('y '), input('z '); a, b, c")
        repl.page.evaluate(ZERO_DELAY, [*"1", "Enter", *"2", "Enter", *"3"])
        expect(repl.last(".printed")).to_have_text("x 1\ny 2\nz")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("('1', '2', '3')")
        expect(repl.entries).to_have_count(1)
        expect(repl.input).to_be_focused()

    def test_lines_pasted_are_answers(self, repl: Repl) -> None:
        self.ask(repl, "import time; a = input('x '); time.sleep(0.3); a, input('y ')")
        paste(repl, "Ada\nBob\r\nleft\nover\n")
        expect(repl.last(".result")).to_have_text("('Ada', 'Bob')")
        expect(repl.last(".printed")).to_have_text("x Ada\ny Bob")
        expect(repl.entries).to_have_count(1)
        repl.expect_text("left\nover")
        expect(repl.input).to_be_focused()

    def test_the_prompt_is_back_where_no_question_follows(self, repl: Repl) -> None:
        field = self.ask(repl, "import time; input(); time.sleep(30)")
        repl.press("Enter")
        expect(field).to_have_count(0)
        expect(repl.input).to_be_focused()
        expect(repl.page.locator(".running")).to_have_count(1)

    def test_an_interrupt_forgets_what_was_typed_ahead(self, repl: Repl) -> None:
        field = self.ask(repl, "import time; input(); time.sleep(30)")
        repl.page.evaluate(ZERO_DELAY, ["Enter", *"ahead", "Enter"])
        expect(field).to_have_attribute("placeholder", "ahead ⏎ ")
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        repl.expect_text("")

    def test_a_display_that_arrives_leaves_the_question_open(self, repl: Repl) -> None:
        field = self.ask(
            repl,
            "import asyncio\n"
            "async def later():\n"
            "    await asyncio.sleep(0.5)\n"
            "    pt.imshow(pt.zeros((4, 4)))\n"
            "task = asyncio.ensure_future(later())\n"
            "print('first'); name = input('name? '); print('last'); name",
        )
        repl.page.keyboard.type("ada l")
        for _ in range(2):
            repl.press("ArrowLeft")
        expect(repl.last("canvas")).to_be_visible()
        expect(field).to_be_focused()
        expect(field).to_have_value("ada l")
        expect(field).to_have_js_property("selectionStart", 3)
        expect(repl.last(".printed")).to_have_text(["first", "name?"])
        order = "(entry) => [...entry.querySelectorAll('.printed, canvas')].map((e) => e.localName)"
        assert repl.entries.last.evaluate(order) == ["pre", "canvas", "pre"]
        repl.press("End")
        repl.page.keyboard.type("ovelace")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("'ada lovelace'")
        expect(repl.last(".printed")).to_have_text(["first", "name? ada lovelace\nlast"])
        expect(repl.input).to_be_focused()

    def test_ctrl_r_reloads_no_page_that_asks(self, repl: Repl) -> None:
        self.ask(repl, "answer = input(); answer")
        repl.page.evaluate(
            """() => addEventListener("keydown", (event) => setTimeout(() => {
                window.taken = event.defaultPrevented;
            }))"""
        )
        repl.press("Control+r")
        assert repl.page.evaluate("new Promise((go) => setTimeout(() => go(window.taken)))")
        repl.page.keyboard.type("here\n")
        expect(repl.last(".result")).to_have_text("'here'")

    def test_interactive_help(self, repl: Repl) -> None:
        self.ask(repl, "import pydoc; pydoc.help()")
        repl.page.keyboard.type("len")
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("Return the number of items")
        repl.page.keyboard.type("q")
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("You are now leaving help")
