"""The prompt while the user types: history, search, paste, completion, help, magics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app import AppPage
from tests.browser.conftest import Console
from tests.browser.repl import Repl, paste
from tests.browser.test_completeness import IS_COMPLETE

Run = Callable[[str], dict[str, Any]]
OpenPage = Callable[..., AppPage]


@pytest.fixture
def repl(page: Page) -> Iterator[Repl]:
    page.locator("#tab-console").click()
    page.locator("#clear").click()
    repl = Repl(page)
    repl.input.fill("")
    yield repl
    repl.press("Escape")
    page.evaluate("pyTensor.interrupt()")


def options(repl: Repl) -> Any:
    return repl.page.locator("#input .cm-tooltip-autocomplete li")


class TestEditing:
    def test_brackets_close_and_are_typed_over(self, repl: Repl) -> None:
        repl.page.keyboard.type("f([{")
        repl.expect_text("f([{}])")
        repl.page.keyboard.type("'a'}])")
        repl.expect_text("f([{'a'}])")
        repl.press("Control+c")
        repl.page.keyboard.type("f([")
        for _ in range(3):
            repl.press("Backspace")
        repl.expect_text("")

    def test_quotes_are_typed_at_both_ends(self, repl: Repl) -> None:
        for text in ("'''a'''", '"""it\'s"""', "r'a' 'b'", '""', "f('{', 2)"):
            repl.page.keyboard.type(text)
            repl.expect_text(text)
            repl.press("Control+c")

    def test_brackets_that_the_prompt_closed_do_not_end_an_input(self, repl: Repl) -> None:
        repl.page.keyboard.type("xs = [")
        repl.press("Enter")
        repl.expect_text("xs = [\n    \n]")
        repl.page.keyboard.type("1,")
        repl.press("Enter")
        repl.page.keyboard.type("2")
        repl.expect_text("xs = [\n    1,\n    2\n]")
        repl.press("Enter")
        repl.type("xs")
        expect(repl.last(".result")).to_have_text("[1, 2]")

    def test_hands_on_a_keyboard_have_hints(self, repl: Repl) -> None:
        expect(repl.page.get_by_text("Enter run", exact=True)).to_be_visible()
        expect(repl.page.get_by_role("group", name="Keys")).to_be_hidden()
        expect(repl.page.locator("#console-foot .run-key")).to_be_hidden()

    def test_undo_and_redo(self, repl: Repl) -> None:
        repl.page.keyboard.type("abc")
        repl.page.wait_for_timeout(600)  # text typed in one go is undone in one step
        repl.page.keyboard.type(" + d")
        repl.press("Control+z")
        repl.expect_text("abc")
        repl.press("Control+y")
        repl.expect_text("abc + d")

    def test_a_line_leaves_its_block_with_else(self, repl: Repl) -> None:
        repl.page.keyboard.type("if x:\npass\nelse:")
        repl.expect_text("if x:\n    pass\nelse:")

    def test_a_long_line_wraps_beneath_one_prompt(self, repl: Repl) -> None:
        repl.input.fill("total = " + " + ".join(f"value_{i}" for i in range(60)) + "\nb")
        expect(repl.prompts).to_have_text([">>>", "..."])
        tops = repl.input.evaluate(
            """(input) => {
                const top = (node) => Math.round(node.getBoundingClientRect().top);
                const tops = (root, selector) => [...root.querySelectorAll(selector)].map(top);
                const prompts = tops(input.getRootNode(), ".cm-prompts .cm-gutterElement");
                const isWithin = input.scrollWidth <= input.clientWidth;
                return [prompts, tops(input, ".cm-line"), isWithin];
            }"""
        )
        assert tops[0] == tops[1]
        assert tops[0][1] - tops[0][0] > 30
        assert tops[2]

    def test_arrows_walk_through_the_rows_of_a_long_line(self, repl: Repl) -> None:
        repl.type("'before'")
        long = "x = '" + "word " * 60 + "'"
        repl.input.fill(long)
        repl.press("ArrowUp")
        repl.expect_text(long)

    def test_python_is_in_colours(self, repl: Repl) -> None:
        repl.input.fill("for x in 'abc': print(1)  # note")
        found = repl.input.evaluate(
            """(input) => Object.fromEntries([...input.querySelectorAll("[class^=tok-]")].map(
                (piece) => [piece.textContent, getComputedStyle(piece).color]))"""
        )
        colours = [found[piece] for piece in ("for", "'abc'", "1", "# note")]
        assert len(set(colours)) == 4

    def test_typing_over_a_selection_obeys_the_policy(self, repl: Repl, console: Console) -> None:
        repl.input.fill("for i in range(3):\n    print('x', i)")
        repl.press("Control+a")
        repl.page.keyboard.type("y")
        repl.expect_text("y")
        repl.press("Control+a")
        repl.page.keyboard.type("(")
        repl.expect_text("(y)")
        assert console.problems == []

    def test_what_is_typed_before_the_editor_is_there_is_kept(self, fresh_page: OpenPage) -> None:
        app = fresh_page(boot=False)
        app.page.route("**/vendor/codemirror.js", lambda route: hold(app.page, route))
        app.page.goto("/")
        repl = Repl(app.page)
        expect(repl.input).to_be_focused()
        repl.expect_text("1 + early")
        app.page.keyboard.type("!")
        repl.expect_text("1 + early!")


def hold(page: Page, route: Any) -> None:
    """Type into the plain field, and only then let the editor's script load."""
    page.locator("#input textarea").focus()
    page.keyboard.type("1 + early")
    route.continue_()


def test_help_of_the_users_own(page: Page, repl: Repl, run: Run) -> None:
    repl.type("def help(*names): return ['mine', *names]\n\nhelp()")
    expect(repl.last(".result")).to_have_text("['mine']")
    run("del help")
    repl.type("help()")
    expect(page.locator(".help h2")).to_contain_text("py_tensor")
    expect(page.locator(".help")).to_contain_text("%timeit")


class TestHistory:
    def test_what_stands_before_the_caret_filters(self, repl: Repl) -> None:
        repl.type("'alpha one'\n'beta'\n'alpha two'")
        expect(repl.last(".result")).to_have_text("'alpha two'")
        repl.page.keyboard.type("'alp")
        for key, text in (
            ("ArrowUp", "'alpha two'"),
            ("ArrowUp", "'alpha one'"),
            ("ArrowUp", "'alpha one'"),
            ("ArrowDown", "'alpha two'"),
            ("ArrowDown", "'alp"),
        ):
            repl.press(key)
            repl.expect_text(text)

    def test_an_edit_begins_another_walk(self, repl: Repl) -> None:
        repl.type("'one'\n'two'")
        repl.press("ArrowUp")
        repl.press("Control+a")
        repl.page.keyboard.type("'o")
        repl.press("ArrowUp")
        repl.expect_text("'one'")

    def test_a_search_from_elsewhere(self, repl: Repl) -> None:
        """Ctrl-R reloads a page that does not handle it."""
        repl.type("'found from afar'")
        field = repl.page.get_by_label("Search the history")
        for focus in ("#clear", "#status"):
            repl.page.locator(focus).focus()
            repl.press("Control+r")
            expect(field).to_be_focused()
            repl.page.keyboard.type("afar")
            repl.expect_text("'found from afar'")
            repl.press("Escape")
            expect(repl.input).to_be_focused()

    def test_a_search_backwards(self, repl: Repl) -> None:
        repl.type("'needle 1'\n'hay'\n'needle 2'\n'hay again'")
        repl.page.keyboard.type("draft")
        field = repl.page.get_by_label("Search the history")
        repl.press("Control+r")
        expect(field).to_be_focused()
        repl.page.keyboard.type("needle")
        repl.expect_text("'needle 2'")
        repl.press("Control+r")
        repl.expect_text("'needle 1'")
        repl.press("Control+r")
        expect(repl.page.locator(".search-state")).to_have_text("nothing found")
        repl.expect_text("'needle 1'")
        repl.press("Escape")
        expect(field).to_be_hidden()
        expect(repl.input).to_be_focused()
        repl.expect_text("draft")
        repl.press("Control+r")
        repl.page.keyboard.type("hay")
        repl.press("Enter")
        expect(repl.input).to_be_focused()
        repl.expect_text("'hay again'")
        expect(repl.entries).to_have_count(4)


PASTED = {
    "a script": ("def f():\n    return 1\n\nf()\n", "def f():\n    return 1\n\nf()"),
    "of Windows": ("a = 1\r\nb = 2\r\n", "a = 1\nb = 2"),
    "indented": ("    a = 1\n\n    if a:\n        b\n", "a = 1\n\nif a:\n    b"),
    "with tabs": ("\n\tx\n\t\ty\n", "x\n\ty"),
    "a transcript": (">>> f(1,\n...   2)\n3\n>>> x\n", ">>> f(1,\n...   2)\n>>> x"),
    "IPython's": (
        "In [1]: x = 2\n\nIn [2]: for i in y:\n   ...:     print(i)\n   ...: \n0\n\n"
        "In [3]: x\nOut[3]: 2\n",
        ">>> x = 2\n>>> for i in y:\n...     print(i)\n... \n>>> x",
    ),
    "IPython's, indented": ("  In [12]: x\r\n  Out[12]: 2\r\n", ">>> x"),
    "one line": ("  x + 1", "x + 1"),
}


class TestPaste:
    @pytest.mark.parametrize(("text", "shown"), PASTED.values(), ids=PASTED.keys())
    def test_what_reaches_the_prompt(self, repl: Repl, text: str, shown: str) -> None:
        paste(repl, text)
        repl.expect_text(shown)

    def test_a_session_of_ipython_runs_input_by_input(self, repl: Repl) -> None:
        paste(repl, "In [1]: x = [1,\n   ...:      2]\n\nIn [2]: len(x)\nOut[2]: 2\n")
        repl.press("Enter")
        expect(repl.entries).to_have_count(2)
        expect(repl.last(".result")).to_have_text("2")


class TestCompletion:
    def test_attributes_open_after_a_dot_and_enter_runs(self, repl: Repl) -> None:
        repl.type("numbers = [3, 1]")
        expect(repl.entries.last).to_have_class("entry done")  # no requests while it runs
        repl.page.keyboard.type("numbers.")
        expect(options(repl).first).to_be_visible()
        repl.page.keyboard.type("cop")
        expect(options(repl)).to_have_text(["copyfunction"])
        repl.page.keyboard.type("y()")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("[3, 1]")

    def test_enter_runs_although_the_list_is_open(self, repl: Repl) -> None:
        repl.type("x = pt.ones(2)")
        expect(repl.entries.last).to_have_class("entry done")
        repl.page.keyboard.type("x.T")
        expect(options(repl).first).to_be_visible()
        repl.press("Enter")
        expect(repl.last(".source")).to_have_text(">>> x.T")
        expect(options(repl)).to_have_count(0)

    def test_what_the_arrows_select_is_taken_with_its_signature_shown(self, repl: Repl) -> None:
        repl.page.keyboard.type("pt.softm")
        expect(options(repl).first).to_be_visible()
        repl.page.wait_for_timeout(100)
        repl.press("ArrowDown")
        info = repl.page.locator("#input .cm-completionInfo")
        expect(info).to_contain_text("softmax(x, axis=-1)")
        expect(info).to_contain_text("without overflow")
        repl.press("Enter")
        repl.expect_text("pt.softmax")
        expect(repl.entries).to_have_count(0)

    @pytest.mark.parametrize(
        ("typed", "completed"),
        [
            ("pt.softm", "pt.softmax"),
            ("import micro", "import micropip"),
            ("from py_tensor import softm", "from py_tensor import softmax"),
            ("pt.sum(x, keepd", "pt.sum(x, keepdims=)"),
            ("table['gam", "table['gamma']"),
            ("table[", "table['gamma']"),
            ("isinst", "isinstance"),
            ("pt.ones(3).argma", "pt.ones(3).argmax"),
        ],
    )
    def test_tab_completes(self, repl: Repl, run: Run, typed: str, completed: str) -> None:
        run("table = {'gamma': 1}")
        repl.page.keyboard.type(typed)
        repl.press("Tab")
        repl.expect_text(completed)

    def test_tab_goes_as_far_as_all_agree_and_then_through_the_list(self, repl: Repl) -> None:
        repl.type("alphabet_a, alphabet_b = 'one', 'two'")
        expect(repl.entries.last).to_have_class("entry done")  # no requests while it runs
        repl.page.keyboard.type("alp")
        repl.press("Tab")
        repl.expect_text("alphabet_")
        expect(options(repl)).to_have_text(["alphabet_avalue", "alphabet_bvalue"])
        expect(options(repl).first).to_have_attribute("aria-selected", "true")
        repl.page.wait_for_timeout(100)
        repl.press("ArrowDown")
        repl.press("Tab")
        repl.expect_text("alphabet_b")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("'two'")

    def test_enter_takes_what_tab_has_selected_and_runs_what_stands_there(self, repl: Repl) -> None:
        repl.type("alphabet_a, alphabet_b = 'one', 'two'")
        expect(repl.entries.last).to_have_class("entry done")
        repl.page.keyboard.type("alp")
        repl.press("Tab")
        expect(options(repl).first).to_have_attribute("aria-selected", "true")
        repl.page.wait_for_timeout(100)
        repl.press("Enter")
        repl.expect_text("alphabet_a")
        repl.page.keyboard.press("Backspace")
        repl.press("Tab")
        expect(options(repl).first).to_have_attribute("aria-selected", "true")
        repl.page.keyboard.type("b")
        expect(options(repl)).to_have_text(["alphabet_bvalue"])
        repl.page.wait_for_timeout(100)
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("'two'")

    def test_control_space_opens_the_list_and_escape_closes_it(self, repl: Repl) -> None:
        repl.page.keyboard.type("pri")
        repl.press("Control+Space")
        expect(options(repl)).to_contain_text(["print"])
        repl.press("Escape")
        expect(options(repl)).to_have_count(0)
        repl.press("Tab")
        repl.expect_text("print")

    def test_the_call_that_is_typed_is_explained(self, repl: Repl) -> None:
        repl.page.keyboard.type("pt.softmax(")
        tooltip = repl.page.locator("#input .cm-signature")
        expect(tooltip).to_contain_text("softmax(x, axis=-1)")
        expect(tooltip.locator("strong")).to_have_text("x")
        repl.page.keyboard.type("pt.ones(3), ")
        expect(tooltip.locator("strong")).to_have_text("axis=-1")
        repl.page.keyboard.type("0)")
        expect(tooltip).to_have_count(0)
        repl.press("Control+c")
        repl.page.keyboard.type("len(")
        expect(tooltip).to_contain_text("len(obj, /)")
        repl.press("Escape")
        expect(tooltip).to_have_count(0)

    def test_there_is_no_answer_while_python_runs(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(60)")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        repl.page.keyboard.type("pt.")
        repl.page.wait_for_timeout(300)
        expect(options(repl)).to_have_count(0)
        repl.page.keyboard.type("softm")
        repl.press("Tab")
        repl.expect_text("pt.softm")
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")

    def test_what_an_object_raises_is_no_answer_and_no_harm(self, repl: Repl, run: Run) -> None:
        run(
            "class Hostile:\n"
            "    def __dir__(self): raise SystemExit\n"
            "    def __getattr__(self, name): raise KeyboardInterrupt\n"
            "hostile = Hostile(); globals().pop('_', None); 'kept'"
        )
        repl.page.keyboard.type("hostile.")
        repl.press("Tab")
        repl.page.keyboard.type("a.")
        repl.press("Tab")
        repl.page.wait_for_timeout(200)
        repl.press("Control+c")
        repl.type("_")
        expect(repl.last(".result")).to_have_text("'kept'")
        expect(repl.entries).to_have_count(1)


class TestHelp:
    def test_a_name_and_a_question_mark(self, repl: Repl) -> None:
        panel = repl.page.locator(".help")
        for text in ("pt.softmax?", "?pt.softmax", "help(pt.softmax)"):
            repl.type(text)
            expect(panel).to_be_visible()
            expect(panel).to_have_attribute("aria-label", "Help on pt.softmax")
            expect(panel.locator(".help-signature")).to_contain_text("pt.softmax(x: Operand")
            expect(panel).to_contain_text("without overflow")
            expect(repl.last(".note")).to_contain_text("Help on pt.softmax")
            expect(repl.input).to_be_focused()
            repl.press("Escape")
            expect(panel).to_be_hidden()
        repl.press("ArrowUp")
        repl.expect_text("help(pt.softmax)")

    def test_escape_closes_it_from_anywhere(self, repl: Repl) -> None:
        panel = repl.page.locator(".help")
        for focused in ("#transcript .entry", "#editor-button", ".help", "#clear"):
            repl.type("pt.softmax?")
            expect(panel).to_be_visible()
            repl.page.locator(focused).last.focus()
            repl.press("Escape")
            expect(panel).to_be_hidden()
            expect(repl.input).to_be_focused()
        repl.type("pt.softmax?")
        repl.page.locator("#sessions-button").click()
        repl.press("Escape")  # closes the menu
        expect(repl.page.locator("#sessions-panel")).to_be_hidden()
        expect(panel).to_be_visible()
        repl.press("Escape")
        expect(panel).to_be_hidden()

    def test_sections_and_the_source(self, repl: Repl, run: Run) -> None:
        run(
            "def scaled(x, factor=2):\n"
            '    """Multiply `x`.\n\n    Parameters\n    ----------\n    x : tensor\n'
            "        What is multiplied.\n\n    Examples\n    --------\n    >>> scaled(1)\n    2\n"
            '    """\n    return x * factor'
        )
        panel = repl.page.locator(".help")
        repl.type("scaled??")
        expect(panel.locator("h3")).to_have_text(["Parameters", "Examples", "Source"])
        expect(panel.locator("dt")).to_have_text("x tensor")
        expect(panel.locator("dd")).to_have_text("What is multiplied.")
        expect(panel.locator("pre").nth(1)).to_have_text(">>> scaled(1)\n2")
        expect(panel.locator("pre").nth(2)).to_contain_text("return x * factor")
        panel.get_by_role("button", name="Close").click()
        expect(panel).to_be_hidden()
        expect(repl.input).to_be_focused()

    def test_a_tensor_is_described_and_not_read(self, repl: Repl, run: Run) -> None:
        run("huge = pt.zeros((1_000_000, 1_000_000)) + 1")
        repl.type("huge?")
        expect(repl.page.locator(".help-facts")).to_contain_text(
            "shape (1000000, 1000000), float32"
        )
        repl.press("Escape")

    def test_it_waits_for_what_was_typed_before(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(0.5); late_name = 1\nlate_name?")
        expect(repl.page.locator(".help")).to_have_attribute("aria-label", "Help on late_name")
        repl.press("Escape")

    def test_each_of_a_pasted_session_is_answered_in_its_place(self, repl: Repl) -> None:
        paste(repl, ">>> a = 1\n>>> a?\n>>> a = 'changed'\n>>> help(nope)\n>>> a\n")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("'changed'")
        expect(repl.entries.nth(1).locator(".note")).to_contain_text(
            "Help on a is open in the console"
        )
        expect(repl.page.locator(".help-facts")).to_contain_text("1")
        expect(repl.page.locator(".help-facts")).not_to_contain_text("changed")
        expect(repl.entries.nth(3).locator(".error")).to_contain_text("NameError")
        repl.press("Escape")

    def test_an_expression_is_not_run_for_its_help(self, repl: Repl, run: Run) -> None:
        run("calls, t = [], pt.ones((2, 2))\ndef f():\n    calls.append(1)")
        panel = repl.page.locator(".help")
        for text, name in (("pt.sum(t)?", "pt.sum(t)"), ("?(t + 1)", "(t + 1)")):
            repl.type(text)
            expect(panel).to_have_attribute("aria-label", f"Help on {name}")
            expect(panel).to_contain_text("It was not run")
            expect(panel.locator(".help-facts")).to_contain_text("Tensor")
            repl.press("Escape")
        repl.type("f()?")
        expect(repl.last(".error")).to_have_text(
            "Help on f() needs its value. Run y = f(), then y?"
        )
        assert run("calls")["result"] == "[]"

    def test_a_magic(self, repl: Repl) -> None:
        repl.type("%%timeit?")
        expect(repl.page.locator(".help-signature")).to_have_text(
            "%%timeit [-n LOOPS] [-r RUNS] code"
        )
        repl.press("Escape")

    def test_what_is_not_there(self, repl: Repl) -> None:
        repl.type("no_such_name?")
        expect(repl.last(".error")).to_have_text("No help on no_such_name: not found.")
        repl.type("help(no_such_name)")
        expect(repl.last(".error")).to_contain_text("NameError")

    def test_what_an_object_does_to_its_help(self, repl: Repl, run: Run) -> None:
        run(
            "import types\nclass File:\n    def __init__(self, error):\n"
            "        self.error = error\n    def __str__(self):\n        raise self.error\n"
            "def module(error):\n    made = types.ModuleType('made')\n"
            "    made.__file__ = File(error)\n    return made\n"
            "odd, endless = module(ValueError('no file')), module(KeyboardInterrupt())"
        )
        repl.type("odd?")
        expect(repl.last(".error")).to_have_text("Help on odd failed with ValueError: no file")
        repl.type("endless?")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        expect(repl.last(".error")).not_to_contain_text("There is no")

    def test_a_docstring_is_text_and_never_markup(self, repl: Repl, run: Run) -> None:
        run("def f():\n    '''<b id=bold>x</b>'''")
        repl.type("f?")
        expect(repl.page.locator(".help")).to_have_attribute("aria-label", "Help on f")
        expect(repl.page.locator(".help p")).to_have_text("<b id=bold>x</b>")
        expect(repl.page.locator("#bold")).to_have_count(0)
        repl.press("Escape")


LOOPS = re.compile(
    r"[\d.]+ (s|ms|µs|ns) ± [\d.]+ (s|ms|µs|ns) per loop"
    r" \(mean ± std\. dev\. of 7 runs, [\d,]+ loops? each\)"
)


class TestMagics:
    def test_time(self, repl: Repl) -> None:
        repl.type("%time (pt.ones(1000) + 1).sum()")
        expect(repl.last(".result")).to_have_text("tensor(2000.)")
        expect(repl.last(".printed")).to_have_text(re.compile(r"Wall time: [\d.]+ \w+"))

    def test_timeit(self, repl: Repl) -> None:
        repl.type("%timeit pt.ones(64) * 2")
        expect(repl.last(".printed")).to_have_text(LOOPS, timeout=60_000)

    def test_timeit_waits_for_the_gpu(self, run: Run) -> None:
        """A loop with a thousand times the work takes longer, with the same Python work."""
        run("small, large = pt.ones((8, 8)), pt.ones((512, 512))")
        found = {}
        for name in ("small", "large"):
            done = run(f"%timeit -n 3 -r 3 {name} @ {name}")
            assert done["error"] is None
            number, unit = done["stdout"].split()[:2]
            found[name] = float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit]
        assert found["large"] > 2 * found["small"]

    def test_profile(self, repl: Repl) -> None:
        repl.type("%profile pt.softmax(pt.rand(8, 8))")
        expect(repl.last(".printed")).to_contain_text("kernel")
        expect(repl.last(".printed")).to_contain_text("dispatches:")

    def test_a_block_after_a_magic_takes_lines(self, repl: Repl) -> None:
        repl.type("%time for i in range(2):\nprint('line', i)")
        expect(repl.entries).to_have_count(0)
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("line 0\nline 1\nWall time:")

    def test_an_unknown_one(self, repl: Repl) -> None:
        repl.type("%nothing x")
        expect(repl.last(".error")).to_contain_text("unknown magic %nothing; available: %time")

    def test_it_can_be_interrupted(self, repl: Repl) -> None:
        repl.type("import time\n%timeit time.sleep(0.2)")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")

    @pytest.mark.parametrize(
        ("text", "is_complete"),
        [
            ("%time x", True),
            ("%who", True),
            ("%time f(1,", False),
            ("%time for i in x:", False),
            ("%timeit -n 10 for i in x:", False),
            ("%%time", False),
            ("%%time\nx = 1", False),
            ("%%time\nx = 1\n", True),
            ("x = 1\n%time x", True),
            ("x = (7\n%time", False),
            ("name?", True),
            ("?pt.sum", True),
            ("name??", True),
        ],
    )
    def test_completeness(self, page: Page, text: str, is_complete: bool) -> None:
        assert page.evaluate(IS_COMPLETE, [text]) == [is_complete]


HELP_REQUEST = """async (texts) => {
    const { helpRequest } = await import("./sources/page/repl/text.js");
    return texts.map((text) => helpRequest(text)?.expression ?? null);
}"""

STORED_HISTORY = """async (texts) => {
  const { History } = await import("./sources/page/repl/history.js");
  const before = localStorage.getItem("py_tensor.history");
  try {
    localStorage.removeItem("py_tensor.history");
    const history = new History();
    for (const text of texts) history.add(text);
    return new History().entries.map((entry) => entry.slice(0, 5));
  } finally {
    localStorage.setItem("py_tensor.history", before ?? "[]");
  }
}"""

FULL = """() => {
  window.setItem ??= Storage.prototype.setItem;
  Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
}"""
WITH_ROOM = "() => { Storage.prototype.setItem = window.setItem; }"


def test_a_long_input_does_not_displace_the_history(page: Page) -> None:
    long = "x" * 600_000
    assert page.evaluate(STORED_HISTORY, ["1 + 1", long, "2 + 2"]) == ["1 + 1", "2 + 2"]
    assert page.evaluate(STORED_HISTORY, ["1 + 1", long]) == ["1 + 1"]


def test_a_history_that_is_not_saved_is_reported_once(repl: Repl) -> None:
    note = repl.page.get_by_text("The input history is not saved: browser storage is full.")
    try:
        for count in (1, 2):
            repl.page.evaluate(FULL)
            for text in (f"{count}", f"{count} + 1"):
                repl.page.keyboard.type(text)
                repl.press("Enter")
            expect(note).to_have_count(count)
            repl.page.evaluate(WITH_ROOM)
            repl.page.keyboard.type("0")
            repl.press("Enter")
    finally:
        repl.page.evaluate(WITH_ROOM)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("x?", "x"),
        (" pt.sum ?", "pt.sum"),
        ("?? pt.sum", "pt.sum"),
        ("d['a'][0]?", "d['a'][0]"),
        ("help( pt.sum )", "pt.sum"),
        ("help()", ""),
        ("help( )", ""),
        ("help() + 1", None),
        ("help('topics')", None),
        ("f(x)?", "f(x)"),
        ("(x + 1) ??", "(x + 1)"),
        ("d['#?']?", "d['#?']"),
        ("%timeit?", "%timeit"),
        ("x??? ", None),
        ("x if y? else z", None),
        ("?", None),
        ("x  # is it?", None),
        ("x = '?'", None),
        ("x = 1\nx?", None),
    ],
)
def test_what_asks_for_help(page: Page, text: str, expression: str | None) -> None:
    assert page.evaluate(HELP_REQUEST, [text]) == [expression]
