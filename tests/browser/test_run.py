"""`pyTensor.run`, called as by a program, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.repl import Repl, interrupted

Run = Callable[[str], dict[str, Any]]


NOT_FOUND = "neither Python's library, the editor's files nor this site have it"

INTERRUPT_MS = 100
"""How long Ctrl-C may take."""

TASKS = """
import asyncio, time
heard = []
def hear(error):
    heard.append(type(error).__name__)
    try:
        {tidy}; time.sleep(0.05)
    except BaseException:
        heard.append("again")
async def spin():
    try:
        while True: await asyncio.sleep(0)
    except BaseException as error: hear(error)
async def rest():
    try: await asyncio.sleep(60)
    except BaseException as error: hear(error)
async def block():
    try: time.sleep(60)
    except BaseException as error: hear(error)
async def blocks():
    try:
        while True: time.sleep(0.001)
    except BaseException as error: hear(error)
async def fails():
    try: time.sleep(60)
    except BaseException as error: hear(error); raise
async def outer(inner):
    try: await asyncio.create_task(inner)
    except BaseException as error: hear(error)
"""
"""Records in `heard` where an interrupt is raised, and whether it is raised in a cleanup."""


WHILE_ANOTHER_WAITS = """
import asyncio
from pyodide.ffi import run_sync
from py_tensor.runtime.device import deferring
from py_tensor.ir.recording import is_recording, recording
pt.ones(3, device="cpu").tolist()  # loads NumPy
async def other():
    stored = (pt.ones(3, device="cpu") * 2)._node.storage is not None
    run_sync(asyncio.sleep(0.02))
    return stored, is_recording()
task = asyncio.ensure_future(other())
with deferring(), recording():
    run_sync(asyncio.sleep(0.05))
    pending = (pt.ones(3, device="cpu") * 3)._node.storage is None
    inside = is_recording()
task.result(), pending, inside
"""
"""What changes recording belongs to a task: one that runs meanwhile records as usual."""


class TestRun:
    def test_a_context_is_of_one_task(self, run: Run) -> None:
        assert run(WHILE_ANOTHER_WAITS)["result"] == "((True, False), True, True)"

    def test_an_expression(self, run: Run) -> None:
        assert run("1 + 1") == {"ok": True, "stdout": "", "result": "2", "error": None}

    def test_statements_then_an_expression(self, run: Run) -> None:
        assert run("x = 6\nx * 7")["result"] == "42"

    def test_none_is_not_shown(self, run: Run) -> None:
        assert run("None") == {"ok": True, "stdout": "", "result": None, "error": None}

    def test_the_last_value_is_kept(self, run: Run) -> None:
        run("globals().pop('_', None)  # as some other test may have left it\n'kept'")
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
                "SystemExit: nothing to exit; reload the page to restart Python, or close the tab",
            ),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            (
                "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E",
                "E: <exception str() failed>",
            ),
            ("x = 1\0", "SyntaxError: source code string cannot contain null bytes"),
            (
                "import os.no_such",
                "ModuleNotFoundError: No module named 'os.no_such'; 'os' is not a package",
            ),
            ("import py_tensor.nn", "ModuleNotFoundError: No module named 'py_tensor.nn'"),
            ("pip = 3 +", "SyntaxError: invalid syntax"),
            ("raise ValueError('b') from TypeError('a')", "ValueError: b"),
        ],
    )
    def test_the_session_goes_on(self, run: Run, code: str, ending: str) -> None:
        done = run(code)
        assert done["ok"] is False
        assert done["result"] is None
        assert done["error"].endswith(ending)
        assert run("'alive'")["result"] == "'alive'"

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("import no_such", f"ModuleNotFoundError: No module named 'no_such': {NOT_FOUND}; to"),
            (
                "from no_such.part import x",
                f"ModuleNotFoundError: No module named 'no_such': {NOT_FOUND}; to",
            ),
            ("pip install tqdm", "SyntaxError: invalid syntax"),
            ("!pip install tqdm", "SyntaxError: invalid syntax"),
            ("%pip install tqdm", "SyntaxError: unknown magic %pip; available: %time"),
        ],
    )
    def test_packages_that_are_not_there(self, run: Run, code: str, words: str) -> None:
        last = run(code)["error"].splitlines()[-1]
        assert last.startswith(words)
        assert "turn on “Packages from the internet” in the status panel (top right)" in last
        assert last.endswith("a wheel of pure Python can be dropped on the page")

    def test_what_was_never_awaited(self, run: Run) -> None:
        """Python reports it when the object is collected, wherever that is."""
        run("import sys, warnings; warnings.simplefilter('always'); sys.stderr = sys.stdout")
        run("import asyncio; asyncio.sleep(0)")
        said = run("1")["stdout"]
        run("sys.stderr = sys.__stderr__; warnings.resetwarnings()")
        assert said == "RuntimeWarning: coroutine 'sleep' was never awaited\n"

    @pytest.mark.parametrize("name", ["exit", "quit"])
    def test_exit_says_what_there_is_instead(self, run: Run, name: str) -> None:
        assert run(name)["result"].startswith("nothing to exit; reload the page")
        assert run(f"{name}(3)")["error"] == "SystemExit: 3"

    def test_what_fails_in_the_last_repr_is_shown_at_its_line(self, run: Run) -> None:
        lines = run("x = pt.zeros((1_000_000, 1_000_000))\npt.concat([x, x])")["error"].splitlines()
        assert lines[:2] == [
            "Traceback (most recent call last):",
            lines[1].partition(",")[0] + ", line 2, in <module>",
        ]
        assert lines[2] == "    pt.concat([x, x])"
        assert lines[-1].startswith("MemoryError: ")

    def test_the_input_stays_open(self, run: Run) -> None:
        """Programs that close it, as Python's own `exit()` does, do not end the session."""
        run("import sys; sys.stdin.close()")
        assert run("import sys; sys.stdin.isatty()")["result"] == "False"

    def test_input_of_a_program_without_a_console_says_so(self, run: Run) -> None:
        assert "assign the value" in run("input('name? ')")["error"]

    @pytest.mark.parametrize("what", ["pt.sum", "pt.Tensor.sum", "len"])
    def test_help_is_printed(self, run: Run, what: str) -> None:
        done = run(f"help({what})")
        assert done["ok"], done["error"]
        assert done["stdout"].startswith("Help on ")
        assert what.rpartition(".")[2] in done["stdout"]


INTERRUPT = """async (code) => {
    const running = pyTensor.run(code);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const start = performance.now();
    await pyTensor.interrupt();
    const ms = performance.now() - start;
    const { error } = await running;
    return { ms, error, next: (await pyTensor.run("6 * 7")).result };
}"""

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
    def test_what_an_earlier_input_left_behind_goes_on(self, page: Page, run: Run) -> None:
        """A signal ends the task that computes, so this one seldom does."""
        run(
            "import asyncio, time; rounds = 0\nasync def back():\n    global rounds\n"
            "    while True: time.sleep(2); rounds += 1\n"
            "left = asyncio.create_task(back()); await asyncio.sleep(0.05)"
        )
        for work in ("time.sleep(60)", "await asyncio.sleep(60)", "asyncio.run(asyncio.sleep(60))"):
            assert interrupted(page, work)["error"].endswith("KeyboardInterrupt")
        assert run("before = rounds; time.sleep(3); rounds > before")["result"] == "True"
        done = interrupted(page, "await left")  # except for the awaited task
        assert done["error"].endswith("KeyboardInterrupt")
        assert run("left.done()")["result"] == "True"

    def test_one_beside_what_computes(self, page: Page, run: Run) -> None:
        """The signal ends the running task; the message ends what the program awaits."""
        run(
            "import asyncio, time; x = pt.ones(4)\nasync def back():\n"
            "    while True: (x * 2).sum().item()"
        )
        for _ in range(5):
            done = interrupted(
                page, "beside = asyncio.create_task(back()); await asyncio.sleep(60)"
            )
            assert done["error"].endswith("KeyboardInterrupt")
            # The interrupt may have ended it, which asyncio reports when it is collected.
            run("beside.cancel(); del beside; import gc; gc.collect()")

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
        error = interrupted(page, f"x = 1\n{line}")["error"]
        lines = [text for text in error.splitlines() if set(text) - set(" ~^")]
        assert len(lines) == 4, error
        assert lines[1].endswith(", line 2, in <module>")
        assert lines[2:] == [f"    {line}", "KeyboardInterrupt"]

    def test_nothing_else_is_printed(self, repl: Repl) -> None:
        repl.type("import time; time.sleep(60)")
        repl.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        assert repl.last(".printed").all_inner_texts() == []

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

    def test_another_one_spoils_no_traceback(self, run: Run) -> None:
        """An impatient user sends several, possibly one while the traceback is made."""
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


@pytest.mark.alone
class TestInterruptInTime:
    @pytest.mark.parametrize("code", INTERRUPTED.values(), ids=INTERRUPTED.keys())
    def test_it_ends_what_runs_and_spares_what_follows(self, page: Page, code: str) -> None:
        rounds = [page.evaluate(INTERRUPT, code) for _ in range(3)]
        for done in rounds:
            assert done["error"].endswith("KeyboardInterrupt")
            assert done["next"] == "42"
        assert median(done["ms"] for done in rounds) < INTERRUPT_MS

    def test_little_of_long_work_on_the_gpu_is_left_to_finish(self, page: Page) -> None:
        """It is sent in parts: the whole sum would take half a minute here."""
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
        ("code", "rounds", "longest"),
        [
            ("while True: pass", 100, 30),  # CPython's check erased 4 of 100
            ("while True: x + 1", 40, 5),
            ("while True: print('.')", 40, 5),  # half of the time is spent in the session's stream
            ("while True: time.sleep(0.001)", 40, 5),
            ("while True: (x * 2).tolist()", 40, 5),
            ("await asyncio.sleep(0)\nwhile True: pass", 40, 5),
            ("await asyncio.sleep(0)\nwhile True: (x * 2).tolist()", 40, 5),
        ],
        ids=["a loop", "ops", "prints", "sleeps", "reads", "a task", "reads in a task"],
    )
    def test_none_is_lost(
        self, page: Page, run: Run, code: str, rounds: int, longest: float
    ) -> None:
        """Whenever it arrives: before the program begins, in the event loop, or in between."""
        run("import asyncio, time; x = pt.ones(4); (x * 3).sum().item()")
        errors = page.evaluate(
            """async ([code, rounds, longest]) => {
                const errors = [];
                for (let round = 0; round < rounds; round++) {
                    const running = pyTensor.run(code);
                    await new Promise((go) => setTimeout(go, (longest * round) / rounds));
                    const late = new Promise((go) => setTimeout(go, 3000, { error: "lost" }));
                    pyTensor.interrupt();
                    const { error } = await Promise.race([running, late]);
                    errors.push(error);
                    if (error === "lost") break;
                }
                if (errors.at(-1) === "lost") pyTensor.interrupt();
                return errors;
            }""",
            [code, rounds, longest],
        )
        assert [error for error in errors if not error.endswith("KeyboardInterrupt")] == []
        assert run("'alive'")["result"] == "'alive'"

    @pytest.mark.parametrize("turns", range(4))
    @pytest.mark.parametrize("wait", ["time.sleep(1)", "asyncio.run(asyncio.sleep(1))"])
    def test_it_ends_a_wait_however_far_that_is(self, run: Run, wait: str, turns: int) -> None:
        done = run(
            "import asyncio, time, py_tensor_page.boot\ncaught = None; began = time.time()\n"
            "def interrupt(turns):\n"
            "    if turns: asyncio.get_event_loop().call_soon(interrupt, turns - 1)\n"
            "    else: py_tensor_page.boot._interrupts.told()\n"
            f"try:\n    asyncio.get_event_loop().call_soon(interrupt, {turns})\n    {wait}\n"
            "except KeyboardInterrupt: caught = time.time() - began; time.sleep(0.01)\ncaught"
        )
        assert done["error"] is None
        assert float(done["result"]) < 0.8

    def test_a_loop_after_waits_that_overtook_each_other(self, page: Page, run: Run) -> None:
        """Afterwards Pyodide uses another thread state than the one that CPython signals."""
        run(
            "import asyncio, time\nasync def sleep(): time.sleep(0.1)\n"
            "first = asyncio.create_task(sleep()); await asyncio.sleep(0.02); time.sleep(0.3)"
        )
        done = page.evaluate(INTERRUPT, "while True: pass")
        assert done["error"].endswith("KeyboardInterrupt")
        assert done["ms"] < 1000


class TestInterruptedOnce:
    """Which tasks are interrupted, and how often."""

    @pytest.mark.parametrize("before", ["", "await asyncio.sleep(0)\n"], ids=["plain", "a task"])
    @pytest.mark.parametrize(
        "work",
        [
            "while True: pass",
            "while True: D()",
            "time.sleep(60)",
            "while True: time.sleep(0.001)",
            "while True: (x * 2).tolist()",
            "asyncio.run(asyncio.sleep(60))",
            "asyncio.run(loop())",
        ],
    )
    def test_one_is_one(self, page: Page, run: Run, work: str, before: str) -> None:
        """A cleanup after an interrupt that waits is not interrupted again by the same one."""
        run(
            "import asyncio, time; x = pt.ones(4); (x * 3).sum().item()\n"
            "class D:\n    def __del__(self):\n        for i in range(20): pass\n"
            "async def loop():\n    while True: pass"
        )
        done = interrupted(
            page,
            f"{before}try:\n    {work}\nexcept KeyboardInterrupt:\n"
            "    time.sleep(1.2); total = (x * 3).sum().item(); time.sleep(0.1)\ntotal",
        )
        assert done["error"] is None
        assert done["result"] == "12.0"

    @pytest.mark.parametrize("before", ["", "await asyncio.sleep(0)\n"], ids=["plain", "a task"])
    @pytest.mark.parametrize("tidy", ["time.sleep(0.05)", "(pt.ones(4) * 3).sum().item()"])
    @pytest.mark.parametrize(
        ("work", "heard"),
        [
            ("asyncio.run(spin())", 1),
            ("asyncio.run(outer(block()))", 1),
            ("await outer(blocks())", 1),
            ("await outer(fails())", 2),
            ("await outer(rest())", 1),
            ("await asyncio.gather(block(), spin())", 2),
            ("beside = asyncio.create_task(spin()); await rest()", 2),
            ("await asyncio.wait([*map(asyncio.create_task, (spin(), block()))])", 2),
            ("%time await block()", 1),
        ],
    )
    def test_each_task_hears_one(
        self, page: Page, run: Run, work: str, heard: int, before: str, tidy: str
    ) -> None:
        """Blocking tasks and tasks that await them: none is interrupted again during cleanup."""
        run(TASKS.format(tidy=tidy))
        interrupted(page, before + work)
        found = run("await asyncio.sleep(0.2); ' '.join(heard)")["result"]
        assert len(found.split()) == heard, found
        assert "again" not in found
