"""The console, as a person uses it, and `pyTensor.run`, as a program does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.app import AppPage

OpenPage = Callable[..., AppPage]
Run = Callable[[str], dict[str, Any]]

INTERRUPT_MS = 100
"""How long Ctrl-C may take."""


class Repl:
    """A page's console under a person's hands."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.input = page.locator("#input")
        self.entries = page.locator("#transcript .entry")

    def type(self, text: str) -> None:
        """Type lines; each line's end is Enter."""
        self.input.focus()
        for line in text.split("\n"):
            self.page.keyboard.type(line)
            self.press("Enter")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def last(self, part: str) -> Locator:
        return self.entries.last.locator(part)


@pytest.fixture
def repl(page: Page) -> Iterator[Repl]:
    page.locator("#tab-console").click()
    page.locator("#clear").click()
    repl = Repl(page)
    repl.input.fill("")  # which has the focus from then on
    yield repl
    page.evaluate("pyTensor.interrupt()")


class TestRun:
    def test_an_expression(self, run: Run) -> None:
        assert run("1 + 1") == {"ok": True, "stdout": "", "result": "2", "error": None}

    def test_statements_then_an_expression(self, run: Run) -> None:
        assert run("x = 6\nx * 7")["result"] == "42"

    def test_none_is_not_shown(self, run: Run) -> None:
        assert run("None") == {"ok": True, "stdout": "", "result": None, "error": None}

    def test_the_last_value_is_kept(self, run: Run) -> None:
        run("'kept'")
        run("None")
        run("unshown = 3")
        assert run("_")["result"] == "'kept'"

    def test_output_is_returned(self, run: Run) -> None:
        done = run("import sys\nprint('out', end='')\nprint('err', file=sys.stderr)")
        assert done == {"ok": True, "stdout": "out", "result": None, "error": None}

    def test_top_level_await(self, run: Run) -> None:
        code = "import asyncio\nasync def f():\n    return 5\nawait asyncio.sleep(0)\nawait f()"
        assert run(code)["result"] == "5"

    def test_a_blocking_wait_after_an_await(self, run: Run) -> None:
        code = "import asyncio, time\nawait asyncio.sleep(0.01)\ntime.sleep(0.01)\n'woken'"
        assert run(code)["result"] == "'woken'"

    def test_concurrent_runs_queue(self, page: Page) -> None:
        results = page.evaluate("""async () => {
            const slow = "import time; order = [1]; time.sleep(0.1); 1";
            const runs = [slow, "order.append(2); 2", "order"].map((code) => pyTensor.run(code));
            return (await Promise.all(runs)).map((done) => done.result);
        }""")
        assert results == ["1", "2", "[1, 2]"]

    def test_names_last(self, run: Run) -> None:
        run("remembered = 11")
        assert run("remembered")["result"] == "11"

    def test_classes_can_be_pickled(self, run: Run) -> None:
        run("import pickle\nclass Point:\n    x = 3")
        assert run("pickle.loads(pickle.dumps(Point())).x")["result"] == "3"

    def test_output_streams_while_the_code_runs(self, page: Page) -> None:
        seen = page.evaluate("""async () => {
            const seen = [];
            const listen = ({ detail }) => seen.push([detail.text, performance.now()]);
            window.addEventListener("pytensor:output", listen);
            await pyTensor.run("import time\\nprint('a')\\ntime.sleep(0.4)\\nprint('b')");
            window.removeEventListener("pytensor:output", listen);
            return seen;
        }""")
        assert [text for text, _ in seen] == ["a\n", "b\n"]
        assert seen[1][1] - seen[0][1] > 250

    def test_what_python_posts_is_passed_on(self, page: Page) -> None:
        detail = page.evaluate("""async () => {
            const message = new Promise((resolve) => {
                const take = ({ detail }) => resolve(detail);
                window.addEventListener("pytensor:message", take, { once: true });
            });
            await pyTensor.run("import js; js.postMessage('from python')");
            return await message;
        }""")
        assert detail == "from python"


class TestErrors:
    def test_the_traceback_has_the_users_lines_alone(self, run: Run) -> None:
        done = run("def divide(x):\n    return 1 / x\ndivide(0)")
        assert done["ok"] is False
        assert "Traceback (most recent call last):" in done["error"]
        assert "return 1 / x" in done["error"]
        assert done["error"].endswith("ZeroDivisionError: division by zero")
        assert "session.py" not in done["error"]
        assert "pyodide" not in done["error"]

    def test_frames_of_the_library_are_left_out(self, run: Run) -> None:
        done = run("a = pt.ones((2, 3))\na @ a")
        assert done["ok"] is False
        assert "a @ a" in done["error"]
        assert "py_tensor/" not in done["error"]

    def test_a_syntax_error_points_at_the_place(self, run: Run) -> None:
        lines = run("x = 1\ny = = 2")["error"].splitlines()
        assert lines[1:] == ["    y = = 2", "        ^", "SyntaxError: invalid syntax"]

    def test_a_syntax_error_runs_nothing(self, run: Run) -> None:
        run("ran = False")
        run("ran = True\nreturn 5")
        assert run("ran")["result"] == "False"

    @pytest.mark.parametrize(
        ("code", "ending"),
        [
            (
                "class R:\n    def __repr__(self): return 1 / 0\nR()",
                "ZeroDivisionError: division by zero",
            ),
            ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded"),
            (
                "class R:\n    def __repr__(self): return repr([self])\nR()",
                "RecursionError: maximum recursion depth exceeded",
            ),
            (
                "def f(x): return sorted([1, 2], key=f)\nf(1)",
                "RecursionError: maximum recursion depth exceeded",
            ),
            ("raise SystemExit(3)", "SystemExit: 3"),
            (
                "exit()",
                "SystemExit: there is nothing to exit; reload the page to start Python anew,"
                " or close its tab",
            ),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            (
                "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E",
                "E: <exception str() failed>",
            ),
            ("x = 1\0", "SyntaxError: source code string cannot contain null bytes"),
            ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
            ("raise ValueError('b') from TypeError('a')", "ValueError: b"),
        ],
    )
    def test_the_session_goes_on(self, run: Run, code: str, ending: str) -> None:
        done = run(code)
        assert done["ok"] is False
        assert done["result"] is None
        assert done["error"].endswith(ending)
        assert run("'alive'")["result"] == "'alive'"

    def test_what_fails_in_the_last_repr_is_shown_at_its_line(self, run: Run) -> None:
        lines = run("x = pt.zeros((1_000_000, 1_000_000))\npt.concat([x, x])")["error"].splitlines()
        assert lines[:2] == [
            "Traceback (most recent call last):",
            lines[1].partition(",")[0] + ", line 2, in <module>",
        ]
        assert lines[2] == "    pt.concat([x, x])"
        assert lines[-1].startswith("MemoryError: ")

    def test_exit_leaves_the_input_open(self, run: Run) -> None:
        run("exit()")
        assert run("import sys; sys.stdin.isatty()")["result"] == "False"

    def test_input_of_a_program_without_a_console_says_so(self, run: Run) -> None:
        assert "assign the value" in run("input('name? ')")["error"]

    @pytest.mark.parametrize("what", ["pt.sum", "pt.Tensor.sum", "len"])
    def test_help_is_printed(self, run: Run, what: str) -> None:
        done = run(f"help({what})")
        assert done["ok"], done["error"]
        assert done["stdout"].startswith("Help on ")
        assert what.rpartition(".")[2] in done["stdout"]


INTERRUPTED = {
    "a loop": "while True: pass",
    "a loop that allocates": "while True: x = [0] * 1000",
    "a generator": "def g():\n    while True: yield 1\nsum(g())",
    "a loop that prints": "while True: print('flood')",
    "await": "import asyncio\nawait asyncio.sleep(60)",
    "a blocking sleep": "import time\ntime.sleep(60)",
    "a loop of short sleeps": "import time\nwhile True: time.sleep(0.001)",
    "asyncio.run": "import asyncio\nasyncio.run(asyncio.sleep(60))",
    "a promise that never settles": (
        "import js\nfrom pyodide.ffi import run_sync\nrun_sync(js.Promise.new(lambda *_: None))"
    ),
    "a loop of finalizers": (
        "class D:\n    def __del__(self):\n        for i in range(20): pass\nwhile True: D()"
    ),
    "a loop of weakref callbacks": (
        "import weakref\nclass D: pass\ndef spin(_):\n    for i in range(50): pass\n"
        "while True:\n    d = D()\n    r = weakref.ref(d, spin)\n    del d"
    ),
    "a loop that reads tensors": "x = pt.ones((4,))\nwhile True: (x * 2).tolist()",
}


class TestInterrupt:
    @pytest.mark.parametrize("code", INTERRUPTED.values(), ids=INTERRUPTED.keys())
    def test_it_ends_what_runs_and_spares_what_follows(self, page: Page, code: str) -> None:
        done = page.evaluate(
            """async (code) => {
                const running = pyTensor.run(code);
                await new Promise((resolve) => setTimeout(resolve, 300));
                const start = performance.now();
                await pyTensor.interrupt();
                const ms = performance.now() - start;
                const { error } = await running;
                return { ms, error, next: (await pyTensor.run("6 * 7")).result };
            }""",
            code,
        )
        assert done["error"].endswith("KeyboardInterrupt")
        assert done["next"] == "42"
        assert done["ms"] < INTERRUPT_MS

    def test_little_of_long_work_on_the_gpu_is_left_to_finish(self, page: Page) -> None:
        """It is sent in parts: the sum alone would take half a minute here."""
        done = page.evaluate(
            """async () => {
                const running = pyTensor.run("pt.rand(20000, 20000).sum()");
                await new Promise((resolve) => setTimeout(resolve, 1500));
                await pyTensor.interrupt();
                const { error } = await running;
                const start = performance.now();
                const { result } = await pyTensor.run("(pt.ones(2) + 1).tolist()");
                return { error, result, ms: performance.now() - start };
            }"""
        )
        assert done["error"].endswith("KeyboardInterrupt")
        assert done["result"] == "[2.0, 2.0]"
        assert done["ms"] < 10_000

    @pytest.mark.parametrize(
        "line",
        [
            "time.sleep(60)",
            "await asyncio.sleep(60)",
            "asyncio.run(asyncio.sleep(60))",
            "while True: big.tolist()",
        ],
    )
    def test_it_is_shown_at_the_users_line_alone(self, page: Page, run: Run, line: str) -> None:
        run("import asyncio, time; big = pt.ones((200_000,))")
        error = page.evaluate(
            """async (code) => {
                const running = pyTensor.run(code);
                await new Promise((resolve) => setTimeout(resolve, 300));
                await pyTensor.interrupt();
                return (await running).error;
            }""",
            f"x = 1\n{line}",
        )
        lines = [text for text in error.splitlines() if set(text) - set(" ~^")]
        assert len(lines) == 4, error
        assert lines[1].endswith(", line 2, in <module>")
        assert lines[2:] == [f"    {line}", "KeyboardInterrupt"]

    def test_nothing_else_is_printed(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(60)")
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        expect(repl.last(".printed")).to_have_count(0)

    def test_a_program_may_catch_it_in_a_wait(self, page: Page) -> None:
        done = page.evaluate("""async () => {
            const wait = "import time\\ntry:\\n    time.sleep(60)\\n";
            const running = pyTensor.run(wait + "except KeyboardInterrupt:\\n    'caught'\\n'on'");
            await new Promise((resolve) => setTimeout(resolve, 200));
            await pyTensor.interrupt();
            return await running;
        }""")
        assert done["result"] == "'on'", done["error"]

    def test_a_program_may_clean_up(self, page: Page) -> None:
        done = page.evaluate("""async () => {
            const loop = "try:\\n    while True: pass\\n";
            const running = pyTensor.run(loop + "except KeyboardInterrupt:\\n    print('swept')");
            await new Promise((resolve) => setTimeout(resolve, 100));
            await pyTensor.interrupt();
            return await running;
        }""")
        assert done == {"ok": True, "stdout": "swept\n", "result": None, "error": None}

    def test_one_that_is_sent_again_spoils_no_traceback(self, run: Run) -> None:
        """The page sends it until the run has ended, hence perhaps while the traceback is made."""
        error = run(
            "import traceback\n"
            "class Interrupted(traceback.TracebackException):\n"
            "    @classmethod\n"
            "    def from_exception(cls, *_, **__):\n"
            "        traceback.TracebackException = cls.__base__\n"
            "        raise KeyboardInterrupt\n"
            "traceback.TracebackException = Interrupted\n"
            "raise KeyboardInterrupt"
        )["error"]
        assert error.splitlines()[2:] == ["    raise KeyboardInterrupt", "KeyboardInterrupt"]

    def test_with_nothing_running_it_does_nothing(self, page: Page, run: Run) -> None:
        page.evaluate("pyTensor.interrupt()")
        assert run("sum(range(1000))")["result"] == "499500"

    def test_what_waits_in_the_queue_still_runs(self, page: Page) -> None:
        results = page.evaluate("""async () => {
            const first = pyTensor.run("while True: pass");
            const second = pyTensor.run("'second'");
            await new Promise((resolve) => setTimeout(resolve, 100));
            await pyTensor.interrupt();
            return [(await first).ok, (await second).result];
        }""")
        assert results == [False, "'second'"]


class TestConsole:
    def test_an_expression(self, repl: Repl) -> None:
        repl.type("40 + 2")
        expect(repl.last(".result")).to_have_text("42")
        expect(repl.last(".source")).to_have_text(">>> 40 + 2")

    def test_the_example_of_the_first_line(self, repl: Repl) -> None:
        repl.page.get_by_role("button", name="Column sums").click()
        expect(repl.last(".result")).to_have_text("tensor([34., 38., 42., 46., 50.])")
        expect(repl.input).to_be_focused()

    @pytest.mark.parametrize(
        "name", ["Matrix product", "Softmax", "π from a million points", "This device"]
    )
    def test_the_other_examples(self, repl: Repl, name: str) -> None:
        repl.page.get_by_role("button", name=name).click()
        expect(repl.last(".result")).to_be_visible(timeout=30_000)
        expect(repl.last(".error")).to_have_count(0)

    def test_the_example_of_an_error(self, repl: Repl) -> None:
        repl.page.get_by_role("button", name="An error").click()
        expect(repl.last(".error")).to_contain_text("(8, 3, 4)")
        expect(repl.last(".error")).to_contain_text("pt.ones((8, 3, 4)) + pt.ones((5, 4))")

    def test_a_block_takes_lines_until_an_empty_one(self, repl: Repl) -> None:
        repl.type("for i in range(2):\nprint('line', i)")
        expect(repl.input).to_have_value("for i in range(2):\n    print('line', i)\n    ")
        expect(repl.page.locator("#prompt-gutter")).to_have_text(">>>\n...\n...")
        repl.press("Enter")
        expect(repl.last(".printed")).to_have_text("line 0\nline 1")
        expect(repl.input).to_have_value("")

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
        repl.press("ArrowUp")
        expect(repl.input).to_have_value("'second'")
        repl.press("ArrowUp")
        expect(repl.input).to_have_value("'first'")
        repl.press("ArrowDown")
        repl.press("ArrowDown")
        expect(repl.input).to_have_value("draft")

    def test_arrows_move_within_several_lines(self, repl: Repl) -> None:
        repl.type("'before'")
        repl.input.fill("one\ntwo")
        repl.press("ArrowUp")
        expect(repl.input).to_have_value("one\ntwo")
        repl.press("ArrowUp")
        expect(repl.input).to_have_value("'before'")

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

    def test_an_interrupt_drops_what_was_typed_ahead(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(60)")
        repl.type("'ahead'")
        repl.press("Control+c")
        expect(repl.entries.nth(0).locator(".error")).to_contain_text("KeyboardInterrupt")
        reason = "Not run: what ran before it was interrupted."
        expect(repl.entries.nth(1).locator(".error")).to_have_text(reason)

    def test_control_c_empties_the_prompt(self, repl: Repl) -> None:
        repl.input.fill("half an inp")
        repl.press("Control+c")
        expect(repl.input).to_have_value("")

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

    def test_clearing_leaves_what_still_runs(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(0.3); 'slow'")
        repl.press("Control+l")
        expect(repl.last(".result")).to_have_text("'slow'")

    def test_pasting_several_lines(self, repl: Repl) -> None:
        paste(repl, "def double(x):\n    return 2 * x\n\ndouble(21)\n")
        expect(repl.input).to_have_value("def double(x):\n    return 2 * x\n\ndouble(21)")
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
        expect(repl.input).to_have_value(">>> x = 20\n>>> print(x)\n>>> 1 / 0")
        copied = repl.page.evaluate("window.copied")
        assert copied.startswith(">>> x = 20\n")
        assert "\n20\n" in copied
        assert not any(words in copied for words in ("Copy", "Every frame", "a note"))

    def test_a_pasted_block_needs_one_enter(self, repl: Repl) -> None:
        paste(repl, "for i in range(2):\n    print('line', i)\n")
        repl.press("Enter")
        expect(repl.last(".printed")).to_have_text("line 0\nline 1")
        expect(repl.entries).to_have_count(1)

    def test_a_pasted_block_that_is_edited_does_not_end_there(self, repl: Repl) -> None:
        paste(repl, "for i in range(2):\n    x = i\n")
        repl.page.keyboard.type("0")
        repl.press("Enter")
        expect(repl.input).to_have_value("for i in range(2):\n    x = i0\n    ")

    def test_each_prompt_of_a_pasted_session_is_an_input_of_its_own(self, repl: Repl) -> None:
        paste(
            repl, ">>> x = [1,\n...      2]\n>>> x\n[1, 2]\n>>> 1 / 0\nTraceback\n>>> len(x)\n2\n"
        )
        expect(repl.input).to_have_value(">>> x = [1,\n...      2]\n>>> x\n>>> 1 / 0\n>>> len(x)")
        expect(repl.page.locator("#prompt-gutter")).to_be_hidden()
        expect(repl.entries).to_have_count(0)
        repl.press("Enter")
        expect(repl.entries).to_have_count(4)
        expect(repl.entries.nth(0).locator("code")).to_have_text(["x = [1,", "     2]"])
        expect(repl.entries.nth(1).locator(".result")).to_have_text("[1, 2]")
        expect(repl.entries.nth(2).locator(".error")).to_contain_text("ZeroDivisionError")
        expect(repl.entries.nth(3).locator(".result")).to_have_text("2")
        expect(repl.page.locator("#prompt-gutter")).to_be_visible()

    def test_tab_indents(self, repl: Repl) -> None:
        repl.input.fill("if x:\n")
        repl.press("Tab")
        repl.page.keyboard.type("ab")
        repl.press("Tab")
        expect(repl.input).to_have_value("if x:\n    ab  ")
        repl.press("Shift+Tab")
        expect(repl.input).to_have_value("if x:\nab  ")
        repl.press("Control+a")
        repl.press("Tab")
        expect(repl.input).to_have_value("    if x:\n    ab  ")
        expect(repl.input).to_be_focused()

    def test_tab_leaves_an_empty_prompt_and_any_after_escape(self, repl: Repl) -> None:
        for text, keys in (("", ["Tab"]), ("x", ["Escape", "Tab"]), ("x", ["Escape", "Shift+Tab"])):
            repl.input.fill(text)
            for key in keys:
                repl.press(key)
            expect(repl.input).not_to_be_focused()
            expect(repl.input).to_have_value(text)

    def test_no_key_after_the_prompt_clears(self, repl: Repl) -> None:
        repl.type("'kept'")
        expect(repl.last(".result")).to_be_visible()
        for key in ("Tab", "Enter", "Tab", "Enter"):
            repl.press(key)
        expect(repl.entries).to_have_count(1)
        described = repl.input.evaluate(
            "(input) => document.getElementById(input.getAttribute('aria-describedby')).innerText"
        )
        assert "Esc Tab leaves" in " ".join(described.split())

    def test_output_is_text_and_never_markup(self, repl: Repl) -> None:
        repl.type("print('<b id=bold>x</b>'); '<i id=italic>'")
        expect(repl.last(".printed")).to_have_text("<b id=bold>x</b>")
        expect(repl.page.locator("#bold, #italic")).to_have_count(0)

    def test_a_flood_leaves_the_page_usable(self, repl: Repl) -> None:
        repl.type("for i in range(200_000): print(i)\n")
        expect(repl.last(".printed")).to_contain_text("199999", timeout=30_000)
        assert len(repl.last(".printed").inner_text()) < 500_000
        repl.type("'after'")
        expect(repl.last(".result")).to_have_text("'after'")


def paste(repl: Repl, text: str) -> None:
    """Into the field with the focus."""
    repl.page.evaluate(
        """(text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            const options = { clipboardData, bubbles: true, cancelable: true };
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        text,
    )


ZERO_DELAY = """(keys) => {
    for (const key of keys) {
        const options = { key, bubbles: true, cancelable: true };
        const isFree = document.activeElement.dispatchEvent(new KeyboardEvent("keydown", options));
        if (isFree) document.execCommand("insertText", false, key);
    }
}"""
"""Keys to what has the focus, within one turn of the page: a fast hand, a paste into a terminal."""


class TestZeroDelay:
    def test_what_follows_enter_belongs_to_the_next_input(self, repl: Repl) -> None:
        repl.page.evaluate(ZERO_DELAY, [*"x=1", "Enter", *"x+1", "Enter", "Enter", *"le"])
        expect(repl.input).to_have_value("le")
        expect(repl.last(".result")).to_have_text("2")
        expect(repl.entries.locator(".source")).to_have_text([">>> x=1", ">>> x+1"])

    def test_a_block(self, repl: Repl) -> None:
        keys = [*"for i in 'ab':", "Enter", *"print(i)", "Enter", "Enter", *"i", "Enter"]
        repl.page.evaluate(ZERO_DELAY, keys)
        expect(repl.entries.nth(0).locator(".printed")).to_have_text("a\nb")
        expect(repl.entries.nth(1).locator(".result")).to_have_text("'b'")


COMPLETE = r"""
1
x = 'abc
x = )
(]
x = (1, '(')
'a' "b"
# only a comment (
for x in y: pass
@dec\ndef f(): pass
if'a'=='a': pass
class A:\n    x = 1\n
for x in y:\n    pass\n    \t
def f(x):\n    return x\n\nf(1)
  x = 1
x[1:]
x = [1, # (\n2]
x = '''a\n'''
x = 'a\\\nb'
x = 1 \\\n+ 2
f'{x}'
f'{{'
f'}'
f'{x!r:>10}'
f'{x:{w}.{p}}'
f'{d['a']}'
f'{'a' if x else "b"}'
f'''{x\n}'''
rf'\\{x}'
f'\\N{DASH}'
f'{x:">10}'
f'{(lambda x: 1)(2):>{3}}'
f'{ {'a': 1}['a'] }'
""".strip().split("\n")

INCOMPLETE = r"""
x = (1,
x = [1, # )
x = '''abc
x = 'abc\\
x = 1 \\
for x in y:
for x in y:  # why
for x in y:\n
for x in y:\n    pass
if x: pass\nelse: pass
try:\n    f()\n\nexcept E:
@dec
class A:\n    x = '''a\nb'''
def f():\n    return (1,\n2)
async def f():
x[1:
print('#', (
f'''{x}
f'''{x
f'{f(
f'{x:%H:%M}' + (
'\\'' + (
""".strip().split("\n")

IS_COMPLETE = """async (texts) => {
    const { isComplete } = await import("./repl/completeness.js");
    return texts.map(isComplete);
}"""


class TestCompleteness:
    @pytest.mark.parametrize("text", COMPLETE)
    def test_complete(self, page: Page, text: str) -> None:
        assert page.evaluate(IS_COMPLETE, [_unescaped(text)]) == [True]

    @pytest.mark.parametrize("text", INCOMPLETE)
    def test_incomplete(self, page: Page, text: str) -> None:
        assert page.evaluate(IS_COMPLETE, [_unescaped(text)]) == [False]

    def test_pythons_own_answer_for_each_line_of_some_modules(self, page: Page, run: Run) -> None:
        code = (
            "import codeop, inspect, json, py_tensor.display, shlex, textwrap\n"
            "texts, answers = [], []\n"
            "for module in (py_tensor.display, shlex, textwrap):\n"
            "    lines = inspect.getsource(module).split('\\n')\n"
            "    for n in range(1, len(lines)):\n"
            "        if lines[n - 1].endswith('\\\\'):\n"
            "            continue  # Python's answers differ with what it is in\n"
            "        texts.append('\\n'.join(lines[:n]) + '\\n')\n"
            "        try:\n"
            "            answer = codeop.compile_command(texts[-1], '', 'exec') is not None\n"
            "        except SyntaxError:\n"
            "            answer = True\n"
            "        answers.append(answer)\n"
            "print(json.dumps([texts, answers]))"
        )
        texts, answers = json.loads(run(code)["stdout"])
        assert len(texts) > 500
        found = page.evaluate(IS_COMPLETE, texts)
        wrong = [t[-80:] for t, a, b in zip(texts, answers, found, strict=True) if a != b]
        assert wrong == []


def _unescaped(text: str) -> str:
    """Of one line of a list here, in which backslashes stand for what they do in a string."""
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")


def printed(repl: Repl, *chunks: str) -> str:
    """What stands in the console after these writes, each of which reaches the page by itself."""
    steps = [f"sys.stdout.write({chunk!r}); sys.stdout.flush()" for chunk in chunks]
    repl.type("import sys, asyncio")
    repl.input.fill("; await asyncio.sleep(0.02); ".join(steps) + "; 'end'")
    repl.press("Enter")
    expect(repl.last(".result")).to_have_text("'end'")
    return repl.last(".printed").evaluate("(element) => element.textContent")


class TestTerminal:
    @pytest.mark.parametrize(
        ("chunks", "shown"),
        [
            (["10 %\r", "50 %\r", "100 %\n"], "100 %\n"),
            (["abc\rX\n"], "Xbc\n"),
            (["abc\r", "\nd"], "abc\nd"),
            (["a\r\nb\r\n"], "a\nb\n"),
            (["ab\b", "c\n"], "ac\n"),
            (["\b\ba\n\bb"], "a\nb"),
            (["long line\r\x1b[Kshort\n"], "short\n"),
            (["abc\x1b[2K\rd\n"], "d  \n"),
            (["\x1b[31mred\x1b[0m \x1b[1;", "4mbold\x1b[m\n"], "red bold\n"),
            (["\x1b]0;title\x07a\x1b[?25lb\x1b(Bc\x07\n"], "abc\n"),
            (["\x1b[38;5;1mx\x1b[38;2;1;2;3my\x1b[48;5;9mz\n"], "xyz\n"),
            (["one\ntwo\rTWO\nthree"], "one\nTWO\nthree"),
        ],
    )
    def test_control_characters(self, repl: Repl, chunks: list[str], shown: str) -> None:
        assert printed(repl, *chunks) == shown

    def test_colours_are_classes(self, repl: Repl) -> None:
        printed(repl, "\x1b[1;31mbad\x1b[22m <b>worse</b>\x1b[39m plain\n")
        spans = repl.last(".printed span span")
        expect(spans).to_have_text(["bad", " <b>worse</b>", " plain\n"])
        expect(spans.nth(0)).to_have_class("stdout bold colour-1")
        expect(spans.nth(1)).to_have_class("stdout colour-1")
        expect(spans.nth(2)).to_have_class("stdout")

    def test_what_a_repr_says(self, repl: Repl) -> None:
        repl.input.fill("type('R', (), {'__repr__': lambda _: '\\x1b[32mgreen\\x1b[0m'})()")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("green")
        expect(repl.last(".result .colour-2")).to_have_text("green")

    def test_what_is_printed_between_inputs(self, repl: Repl) -> None:
        repl.input.fill(
            "async def later():\n"
            "    for i in range(3):\n"
            "        await asyncio.sleep(0.03); print(i, end='\\r', flush=True)\n"
            "import asyncio; task = asyncio.ensure_future(later())"
        )
        repl.press("Enter")
        stray = repl.page.locator("#transcript > .printed")
        expect(stray).to_have_text("2")
        expect(stray).to_have_count(1)


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
        expect(repl.input).to_have_value("half done")
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
        expect(repl.input).to_have_value("left\nover")
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
        expect(repl.input).to_have_value("")

    def test_interactive_help(self, repl: Repl) -> None:
        self.ask(repl, "help()")
        repl.page.keyboard.type("len")
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("Return the number of items")
        repl.page.keyboard.type("q")
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("You are now leaving help")


class TestPageOfItsOwn:
    def test_a_reload_a_crash_and_what_cannot_be_interrupted(self, fresh_page: OpenPage) -> None:
        """One page for three things that end its Python: each boot takes seconds."""
        app = fresh_page()
        repl = Repl(app.page)
        repl.type("'typed before'")
        expect(repl.last(".result")).to_be_visible()
        app.page.reload()
        app.page.evaluate("pyTensor.ready.then(() => null)")
        repl.input.focus()
        repl.press("ArrowUp")
        expect(repl.input).to_have_value("'typed before'")

        app.run("gone = 1")
        done = app.run("import os; os.abort()")
        assert "Python crashed" in done["error"]
        assert "NameError" in app.run("gone")["error"]

        repl.input.fill("sum(range(10**12))")
        repl.press("Enter")
        repl.page.locator("#interrupt").click()
        repl.page.locator("#restart").click()
        expect(repl.last(".error")).to_contain_text("Python was restarted")
        assert app.run("1 + 1")["result"] == "2"

    def test_packages_are_unpacked_and_imported_whole(self, fresh_page: OpenPage) -> None:
        """An interrupt waits for it: a NumPy imported by half could not be imported again."""
        app = fresh_page()

        def fetched(route: Route) -> None:
            app.page.evaluate("() => void pyTensor.interrupt()")
            route.continue_()

        app.page.route("**/wheels/micropip-*", fetched)
        app.run(
            "import _thread, sys\n"
            "moments, reached = [], []\n"
            "def look(event, args):\n"
            "    if event == 'shutil.unpack_archive' or args[:1] == ('numpy.lib',):\n"
            "        moments.append(event); _thread.interrupt_main()\n"
            "sys.addaudithook(look)"
        )
        inside = "def f():\n    import numpy\n    reached.append(numpy)\nf()"
        for code in ("import micropip", "import numpy", inside):
            done = app.run(f"{code}\nreached.append(1)")
            assert done["error"].endswith("KeyboardInterrupt"), done
        assert app.run("moments, reached")["result"] == (
            "(['shutil.unpack_archive', 'shutil.unpack_archive', 'import'], [])"
        )
        assert app.run("import micropip\nmicropip.__name__")["result"] == "'micropip'"
        assert app.run("import numpy as np\nint(np.arange(5).sum())")["result"] == "10"

    def test_code_in_a_link_is_shown_and_not_run(self, fresh_page: OpenPage) -> None:
        app = fresh_page(path="#code=print(1)%0Aran%20%3D%20True")
        repl = Repl(app.page)
        expect(repl.input).to_have_value("print(1)\nran = True")
        expect(repl.entries).to_have_count(0)
        assert "NameError" in app.run("ran")["error"]

    def test_a_narrow_screen_has_no_sideways_scrolling(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 360, "height": 700})
        repl = Repl(app.page)
        repl.type("list(range(300))\nprint('x' * 500)")
        expect(repl.last(".printed")).to_be_visible()
        for view in ("console", "benchmarks"):
            app.page.locator(f"#tab-{view}").click()
            width = app.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, view

    def test_errors_wrap_and_rows_scroll(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 400, "height": 700})
        repl = Repl(app.page)
        overflow = "(block) => block.scrollWidth - block.clientWidth"
        repl.type("pt.zeros((8, 3, 4)) + pt.ones((5, 4))")
        expect(repl.last(".error")).to_contain_text("ShapeError")
        assert repl.last(".error").evaluate(overflow) <= 0
        expect(repl.last(".error")).not_to_have_attribute("tabindex", "0")

        repl.type("type('Rows', (), {'__repr__': lambda _: '0 ' * 40 + '\\n' + '1 ' * 40})()")
        result = repl.last(".result")
        expect(result).to_have_attribute("tabindex", "0")
        assert result.evaluate(overflow) > 0
        result.focus()
        repl.press("ArrowRight")
        expect(result).not_to_have_js_property("scrollLeft", 0)
        app.page.set_viewport_size({"width": 1280, "height": 700})
        expect(result).not_to_have_attribute("tabindex", "0")

    def test_tensors_fit_the_width(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 400, "height": 700})
        repl = Repl(app.page)

        def longest_line() -> int:
            repl.type("pt.ones((100,)) / 3")
            expect(repl.last(".result")).to_be_visible()
            overflow = "(result) => result.scrollWidth - result.clientWidth"
            assert repl.last(".result").evaluate(overflow) <= 0
            return max(map(len, repl.last(".result").inner_text().split("\n")))

        assert 30 < longest_line() < 50
        app.page.set_viewport_size({"width": 1280, "height": 700})
        expect(app.page.locator("#transcript")).not_to_have_css("width", "0px")
        app.page.wait_for_timeout(100)
        repl.type("import shutil; 40 < shutil.get_terminal_size().columns <= 120")
        expect(repl.last(".result")).to_have_text("True")
        assert longest_line() > 80
