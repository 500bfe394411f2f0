"""Sessions: saved continuously, and restored after any failure of the page or of its storage."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect
from playwright.sync_api import Error as PlaywrightError

from tests.browser.app import (
    EXPECT_SECONDS,
    GPU_FLAGS,
    LATE_TIER_UP_FLAG,
    SOFTWARE_FLAGS,
    AppPage,
    AppSession,
)
from tests.browser.repl import Repl, paste
from tests.browser.test_accessibility import AUDIT, AXE, LOOKS, SIZES
from tests.browser.visitor import Regular
from tests.environment import find_chromium

WRITE_MS = 30_000  # an input is written in tens of ms on an idle machine

IN_STORE = """async (argument) => {
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("py_tensor sessions", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("sessions");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const store = database.transaction("sessions", "readwrite").objectStore("sessions");
  const of = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  try {
    return await (WORK)(store, of, argument);
  } finally {
    database.close();
  }
}"""

FILES = "(store, of) => of(store.getAllKeys(IDBKeyRange.bound(['file'], ['file', []])))"

STATES = """async (store, of) => {
  const records = await of(store.getAll(IDBKeyRange.bound(["input"], ["input", []])));
  return records.map(({ source, state, parts }) => [source, state, parts.length]);
}"""

INPUTS = """async (store, of) => (
  JSON.stringify(await of(store.getAll(IDBKeyRange.bound(["input"], ["input", []]))))
)"""

Kept = list[list[Any]]


def in_store(page: Page, work: str, argument: object = None) -> Any:
    """Call a JavaScript function, (store, of, argument), for the sessions of a page's origin."""
    return page.evaluate(IN_STORE.replace("WORK", work), argument)


def wait_until_written(page: Page, text: str) -> None:
    """Wait until a stored input contains a text, in JSON."""
    deadline = time.monotonic() + EXPECT_SECONDS
    while text not in in_store(page, INPUTS):
        assert time.monotonic() < deadline, f"not written: {text}"
        page.wait_for_timeout(100)


HELD_LOCKS = "navigator.locks.query().then(({ held }) => held.length)"


class Visits:
    """One user's tabs, and a separate page that accesses their storage."""

    def __init__(self, regular: Regular) -> None:
        self._regular = regular
        regular.open_page(boot=False).page.close()  # it leaves nothing stored
        self._beside = regular.open().page
        self._beside.goto(regular.url + "blank")

    def open(self, *, boot: bool = True, script: str = "") -> AppPage:
        app = self._regular.open()
        if script:
            app.page.add_init_script(script)
        if boot:
            self.boot(app)
        return app

    def boot(self, app: AppPage) -> Repl:
        app.boot(self._regular.url)
        return Repl(app.page)

    @staticmethod
    def reload(app: AppPage) -> Repl:
        app.page.reload()
        app.page.evaluate("pyTensor.ready.then(() => null)")
        return Repl(app.page)

    def close(self, app: AppPage) -> None:
        """Close a tab, and wait until its session can be opened again."""
        held = self.evaluate(HELD_LOCKS)
        app.page.close()
        deadline = time.monotonic() + EXPECT_SECONDS
        while self.evaluate(HELD_LOCKS) >= held:
            assert time.monotonic() < deadline, "the closed tab has its session"
            self._beside.wait_for_timeout(50)

    def in_store(self, work: str, argument: object = None) -> Any:
        return in_store(self._beside, work, argument)

    def evaluate(self, work: str) -> Any:
        """Evaluate JavaScript in a page of the same origin without a policy."""
        return self._beside.evaluate(work)

    def wait_until(self, is_kept: Callable[[Kept], bool]) -> None:
        """Wait until the stored inputs, [source, state, parts], are as expected."""
        kept: Kept = []
        for _ in range(WRITE_MS // 50):
            kept = self.in_store(STATES)
            if is_kept(kept):
                return
            self._beside.wait_for_timeout(50)
        pytest.fail(f"kept are {kept}")

    def wait_until_written(self, text: str) -> None:
        wait_until_written(self._beside, text)

    def wait_until_ended(self, *sources: str) -> None:
        """Wait until these inputs and their outcomes are stored."""
        self.wait_until(
            lambda kept: (
                [source for source, state, _ in kept if state not in ("waiting", "running")]
                == [*sources]
            )
        )


OLDER = "older entries are not shown. Links and saved files of the session contain their inputs."


def test_many_entries(visits: Visits) -> None:
    """The oldest are not shown, which a note says. They are cleared with the others."""
    app = visits.open()
    repl = Repl(app.page)
    note = app.page.locator("#screen > .note")
    sources = [f"n = {i}" for i in range(303)]
    repl.input.focus()
    paste(repl, "".join(f">>> {source}\n" for source in sources[:301]))
    repl.press("Enter")
    expect(app.page.locator("#transcript .entry.done")).to_have_count(300, timeout=60_000)
    expect(note).to_have_text(re.compile(r"^1 older entry is not shown\..* its input\.$"))
    enter(repl, *sources[301:])
    expect(note).to_have_text(f"3 {OLDER}")
    visits.wait_until_ended(*sources)
    repl = visits.reload(app)
    expect(note).to_have_text(f"5 {OLDER}")  # notes take the place of two
    app.page.locator("#clear").click()
    expect(note).to_be_hidden()
    app.page.locator("#share summary").click()
    expect(app.page.get_by_role("checkbox", name="Include 303 cleared inputs")).to_be_visible()
    app.page.keyboard.press("Escape")
    app.page.get_by_role("button", name="Undo").click()
    expect(note).to_have_text(f"5 {OLDER}")
    app.page.locator("#share summary").click()
    expect(app.page.locator("#share label")).to_be_hidden()


def enter(repl: Repl, *sources: str) -> None:
    for source in sources:
        repl.input.fill(source)
        repl.press("Enter")
        expect(repl.entries.last).to_have_class(re.compile("done|failed"))


def note(repl: Repl) -> Locator:
    """Return the note that this session was restored, or is open in another tab."""
    return repl.page.locator("#transcript .kept-note")


def menu(repl: Repl) -> Locator:
    panel = repl.page.get_by_role("dialog", name="Sessions")
    if not panel.is_visible():
        repl.page.locator("#sessions-button").click()
    expect(panel.get_by_role("textbox")).to_be_visible()
    return panel


def sources(repl: Repl) -> list[str]:
    return [
        text.removeprefix(">>> ") for text in repl.page.locator(".entry .source").all_inner_texts()
    ]


class TestRestoring:
    def test_charts_that_were_added_are_one(self, visits: Visits) -> None:
        """The update that joins them is drawn after the input has ended."""
        app = visits.open()
        repl = Repl(app.page)
        code = "pt.plot({'a': [1., 4.]}) + pt.plot({'b': [1., 2.]})"
        enter(repl, code)
        visits.wait_until_ended(code)
        for _ in range(2):
            expect(repl.page.locator("#transcript figure.plotted")).to_have_count(1)
            names = repl.page.locator("#transcript .legend text")
            expect(names).to_have_text(["a", "b"])
            repl = visits.reload(app)

    def test_a_reload_brings_back_everything_but_variables(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        inputs = [
            "x = pt.arange(12).reshape(3, 4)",
            "x.sum(0)",
            "print('to stdout'); import sys; print('to stderr', file=sys.stderr); 1 / 0",
            "pt.imshow(pt.tensor([[0., 1.], [1., 0.]]))",
            "pt.plot([1., 4., 9.])",
            "print('\\x1b[31mred')",
        ]
        enter(repl, *inputs)
        repl.input.fill("a draft")
        visits.wait_until_ended(*inputs)
        shown = repl.page.locator("#transcript .entry").all_inner_texts()
        pixels = "(c) => [...c.getContext('2d').getImageData(0, 0, 2, 2).data]"
        copied = """(c) => {
          const copy = new OffscreenCanvas(2, 2).getContext("2d");
          copy.drawImage(c, 0, 0);
          return [...copy.getImageData(0, 0, 2, 2).data];
        }"""
        colours = repl.page.locator("canvas.picture").evaluate(copied)
        assert len({*colours}) > 2

        repl = visits.reload(app)
        expect(note(repl)).to_contain_text("Variables were not saved.")
        again = repl.page.locator("#transcript .entry").all_inner_texts()
        # The buttons of tensors that no longer exist are gone; those of pictures stay.
        buttons = re.compile(r"\n(Table|Plot|Heat map|Histogram|Image|Save(?=$))\b")
        assert again == [buttons.sub("", text) if "tensor(" in text else text for text in shown]
        expect(repl.page.locator(".entry.restored")).to_have_count(len(inputs))
        repl.page.wait_for_function(
            f"() => ({pixels})(document.querySelector('canvas.picture')).some(Boolean)"
        )
        assert repl.page.locator("canvas.picture").evaluate(pixels) == colours
        expect(repl.page.locator(".entry .colour-1")).to_have_text("red\n")
        expect(repl.page.locator(".entry .stderr")).to_have_text("to stderr\n")
        repl.expect_text("a draft")
        assert "NameError" in app.run("x")["error"]
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    def test_what_follows_comes_behind(self, visits: Visits) -> None:
        """Three visits to one session."""
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "1 + 1")
        visits.wait_until_ended("1 + 1")
        for i in range(2):
            repl = visits.reload(app)
            expect(note(repl)).to_have_count(1)
            enter(repl, f"{i} + 10")
            visits.wait_until_ended("1 + 1", *(f"{j} + 10" for j in range(i + 1)))
            assert sources(repl) == ["1 + 1", *(f"{j} + 10" for j in range(i + 1))]

    def test_a_reload_in_the_middle_of_a_program(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "1 + 1")
        program = "for i in range(10**9): i < 5 and print('step', i)"
        repl.input.fill(program)
        repl.press("Enter")
        repl.input.fill("2 + 2")
        repl.press("Enter")
        repl.input.fill("a draft")
        visits.wait_until(lambda kept: [program, "running", 1] in kept)
        dialogs: list[str] = []

        def accept(dialog: Dialog) -> None:
            dialogs.append(dialog.type)
            dialog.accept()

        app.page.on("dialog", accept)
        repl = visits.reload(app)
        assert dialogs == ["beforeunload"]
        expect(repl.entries.nth(1)).to_contain_text("step 4")
        expect(repl.entries.nth(1).locator(".note")).to_contain_text(
            "Interrupted: the page was closed"
        )
        expect(repl.entries.nth(2).locator(".note")).to_contain_text("Not run")
        repl.expect_text("a draft")
        assert app.run("40 + 2")["result"] == "42"

    def test_what_no_input_shows(self, visits: Visits) -> None:
        """Tasks that outlive their input print between the others."""
        app = visits.open()
        repl = Repl(app.page)
        task = (
            "import asyncio\nasync def later():\n    await asyncio.sleep(0.3); print('late')\n"
            "    pt.display(pt.zeros((2, 2)).sum())\ntask = asyncio.ensure_future(later())"
        )
        app.run(task)
        expect(repl.page.locator("#transcript")).to_contain_text("late")
        expect(repl.page.locator("#transcript")).to_contain_text("tensor(0.)")
        enter(repl, "'behind'")
        visits.wait_until(lambda kept: ["'behind'", "done", 0] in kept and ["", "done", 1] in kept)
        repl = visits.reload(app)
        expect(repl.page.locator("#transcript")).to_contain_text("late")
        expect(menu(repl)).to_contain_text("1 input ·")

    def test_a_closed_tab(self, visits: Visits) -> None:
        app = visits.open()
        enter(Repl(app.page), "'before'")
        visits.wait_until_ended("'before'")
        visits.close(app)
        repl = Repl(visits.open().page)
        expect(note(repl)).to_contain_text("Restored your session of")
        expect(repl.entries.first.locator(".result")).to_have_text("'before'")

    def test_a_crash_of_the_page(self, session: AppSession) -> None:
        app = session.open_page()  # in its own process
        repl = Repl(app.page)
        enter(repl, "'before'")
        wait_until_written(app.page, '"state":"done"')
        with pytest.raises(PlaywrightError):
            app.page.goto("chrome://crash", timeout=5000)
        after = AppPage(app.page.context.new_page())
        after.boot(session.url)
        repl = Repl(after.page)
        expect(repl.entries.first.locator(".result")).to_have_text("'before'")
        expect(note(repl)).to_contain_text("Restored your session of")
        app.close()

    def test_what_was_cleared_is_kept_and_not_shown(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "y = 5")
        visits.wait_until_ended("y = 5")
        repl.page.locator("#clear").click()
        enter(repl, "y + 1")
        visits.wait_until_ended("y = 5", "y + 1")
        repl = visits.reload(app)
        expect(note(repl)).to_contain_text("1 cleared input is not shown.")
        assert sources(repl) == ["y + 1"]
        note(repl).get_by_role("button", name="Run all again").click()
        expect(repl.page.locator("#transcript .note").last).to_have_text(
            "Stopped at an error in y + 1."
        )
        expect(repl.entries.last).to_contain_text("NameError")  # the cleared input did not run

    def test_what_was_cleared_runs_again_by_choice(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        notes = app.page.locator("#transcript .note")
        inputs = ["aa = 5", "bb = input()", "print(aa * 2)", "print(bb)"]
        enter(repl, inputs[0])
        repl.input.fill(inputs[1])
        repl.press("Enter")
        expect(app.page.locator("#transcript .answer")).to_be_focused()
        app.page.keyboard.type("typed\n")
        visits.wait_until_ended(*inputs[:2])
        app.page.locator("#clear").click()
        enter(repl, *inputs[2:])
        visits.wait_until_ended(*inputs)

        repl = visits.reload(app)
        again = note(repl).get_by_role("button", name="Run all again", exact=True)
        again.click()
        expect(notes.last).to_have_text(
            "Stopped at an error in print(aa * 2). 1 later input did not run."
        )
        expect(notes.nth(-2)).to_contain_text("2 cleared inputs did not run.")
        also = app.page.get_by_role("button", name="Run all again, with the 2 cleared inputs")
        expect(also).to_be_visible()
        visits.wait_until(lambda kept: [inputs[2], "failed", 0] in kept)

        repl = visits.reload(app)  # an input that failed only since others did not run is not lost
        choice = note(repl).get_by_role("checkbox", name="Also run the 2 cleared inputs")
        again.click()
        expect(notes.last).to_contain_text("Stopped at an error")
        choice.check()
        again.click()
        field = repl.page.locator("#transcript .answer")
        expect(field).to_be_focused()
        also.click()  # while the inputs run again it has no effect
        expect(also).to_be_visible()
        field.focus()
        app.page.keyboard.type("again\n")
        expect(notes.last).to_have_text("4 inputs ran again.")
        expect(again).to_have_count(0)
        assert app.run("aa, bb")["result"] == "(5, 'again')"
        expect(repl.entries.nth(0)).to_contain_text("10")
        app.page.locator("#share summary").click()
        expect(
            app.page.get_by_role("checkbox", name="Include 2 cleared inputs")
        ).not_to_be_checked()

    def test_what_was_cleared_runs_again_after_an_error(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "aa = 5")
        app.page.locator("#clear").click()
        enter(repl, "aa * 2")
        visits.wait_until_ended("aa = 5", "aa * 2")
        repl = visits.reload(app)
        note(repl).get_by_role("button", name="Run all again").click()
        app.page.get_by_role("button", name="Run all again, with the cleared input").click()
        expect(app.page.locator("#transcript .note").last).to_have_text("2 inputs ran again.")
        assert sources(repl) == ["aa * 2"]
        expect(repl.entries.last.locator(".result")).to_have_text("10")

    def test_nothing_that_is_stored_runs(self, visits: Visits) -> None:
        app = visits.open()
        enter(Repl(app.page), "1 + 1")
        visits.wait_until_ended("1 + 1")
        visits.close(app)
        hostile = "<img src=x onerror='window.bad=1'><script>window.bad=1</script><b>text</b>"
        drawing = (
            "<svg xmlns='http://www.w3.org/2000/svg' onload='parent.bad=1'>"
            "<script>parent.bad=1</script></svg>"
        )
        visits.in_store(
            """async (store, of, [html, svg]) => {
              const key = await of(store.getAllKeys(IDBKeyRange.bound(["input"], ["input", []])));
              const record = await of(store.get(key[0]));
              const shown = (kind, data) =>
                ({ kind: "display", bundle: { kind, data, label: html } });
              const runs = [{ text: html, className: "busy' onclick='bad" }];
              const parts = [shown("html", html), shown("svg", svg),
                { kind: "printed", runs, isCut: false }];
              const rich = { kind: "html", data: html, label: html };
              const outcome = { ...record.outcome, result: html, rich };
              await of(store.put({ ...record, source: html, parts, outcome }, key[0]));
            }""",
            [hostile, drawing],
        )
        app = visits.open()
        entry = Repl(app.page).entries.first
        expect(entry.locator(".foreign b").first).to_have_text("text")
        expect(entry.locator(".printed span span")).to_have_text(hostile)
        expect(entry.locator(".printed span span")).to_have_class("")
        app.page.wait_for_timeout(300)
        assert app.page.evaluate("() => window.bad ?? null") is None
        assert entry.locator("script, [onerror], [onclick]").count() == 0


class TestRunAgain:
    def test_in_place_without_what_failed(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        inputs = ["z = 4", "1 / 0", "import random; z + 1", "raise KeyboardInterrupt"]
        enter(repl, *inputs)
        visits.wait_until_ended(*inputs)
        repl = visits.reload(app)
        note(repl).get_by_role("button", name="Run all again").click()
        expect(repl.page.locator("#transcript .note").last).to_have_text(
            "2 inputs ran again. 2 inputs that failed or stopped before did not."
        )
        assert sources(repl) == inputs
        expect(repl.page.locator(".entry.restored")).to_have_count(2)
        expect(repl.entries.nth(2).locator(".result")).to_have_text("5")
        assert app.run("z")["result"] == "4"
        expect(repl.input).to_be_focused()
        repl = visits.reload(app)
        assert sources(repl) == inputs

    def test_it_stops_where_an_input_fails(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        app.run("given = 1")
        inputs = ["a = 1", "given", "print('behind\\n' * 60)"]
        enter(repl, *inputs)
        visits.wait_until_ended(*inputs)
        repl = visits.reload(app)
        repl.page.get_by_role("button", name="Run all again").click()
        expect(repl.page.locator("#transcript .note").last).to_have_text(
            "Stopped at an error in given. 1 later input did not run."
        )
        expect(repl.entries.nth(1).locator(".error")).to_contain_text("NameError")
        expect(repl.entries.nth(1).locator(".error")).to_be_in_viewport()
        expect(repl.entries.nth(2)).to_have_class(re.compile("restored"))
        visits.wait_until(
            lambda kept: [state for _, state, _ in kept] == ["done", "failed", "done"]
        )


class TestStorage:
    DAMAGED = "The stored sessions were corrupt and have been removed."
    REFUSED = "The session is lost when the page closes: the browser stores no data"
    FULL = "Browser storage is full"

    def expect_working(self, app: AppPage, sentence: str) -> None:
        repl = Repl(app.page)
        enter(repl, "20 + 2")
        expect(repl.entries.last.locator(".result")).to_have_text("22")
        said = repl.page.locator("#transcript .note").filter(has_text=sentence)
        expect(said).to_have_count(1)
        expect(menu(repl)).to_be_visible()
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    @pytest.mark.parametrize(
        "script",
        [
            "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };",
            "Object.defineProperty(window, 'indexedDB', { value: undefined });",
            """for (const name of ["indexedDB", "localStorage", "sessionStorage"]) {
              Object.defineProperty(window, name, {
                get() { throw new DOMException("no", "SecurityError"); } });
            }""",
        ],
    )
    def test_refused(self, visits: Visits, script: str) -> None:
        app = visits.open(script=script)
        self.expect_working(app, self.REFUSED)
        expect(menu(Repl(app.page)).locator(".sessions-problem")).to_have_count(1)

    def test_without_an_answer(self, visits: Visits) -> None:
        """A database that is being deleted while a page keeps it open cannot be opened again."""
        visits.evaluate(
            """async () => {
              const request = indexedDB.open("py_tensor sessions", 1);
              request.onupgradeneeded = () => request.result.createObjectStore("sessions");
              await new Promise((resolve) => { request.onsuccess = resolve; });
              window.open_ = request.result;
              indexedDB.deleteDatabase("py_tensor sessions");
            }"""
        )
        app = visits.open()
        self.expect_working(app, "Browser storage does not respond")
        visits.evaluate("() => window.open_.close()")

    def test_full(self, session: AppSession, tmp_path: Path) -> None:
        """The profile is on disk, because the quota of a private window cannot be set."""
        context = session.browser().browser_type.launch_persistent_context(
            tmp_path,
            executable_path=find_chromium(),
            headless=False,
            args=GPU_FLAGS or [*SOFTWARE_FLAGS, LATE_TIER_UP_FLAG],
        )
        app = AppPage(context.new_page())
        # Before the browser first determines the free space, which it caches.
        quota = {"origin": session.url.rstrip("/"), "quotaSize": 1}
        devtools = context.new_cdp_session(app.page)
        devtools.send("Storage.overrideQuotaForOrigin", quota)
        app.boot(session.url)
        repl = Repl(app.page)
        said = repl.page.locator("#transcript .note").filter(has_text=self.FULL)
        problem = repl.page.locator(".sessions-problem")
        enter(repl, "'first'", "open('large.bin', 'wb').write(bytes(30 * 2**20))")
        expect(said).to_have_count(1)
        menu(repl)
        expect(problem).to_contain_text(self.FULL)
        repl.press("Escape")
        del quota["quotaSize"]
        devtools.send("Storage.overrideQuotaForOrigin", quota)
        enter(repl, "'again'")  # and with it the data that could not be written
        app.page.wait_for_timeout(2000)
        menu(repl)
        expect(problem).to_have_count(0)
        repl = Visits.reload(app)
        assert len(sources(repl)) == 3
        assert app.run("len(open('large.bin', 'rb').read()) == 30 * 2**20")["result"] == "True"
        assert [line for line in app.logged if line.kind == "pageerror"] == []
        context.close()

    def test_without_its_store(self, visits: Visits) -> None:
        visits.evaluate(
            """() => new Promise((resolve) => {
              const request = indexedDB.open("py_tensor sessions", 1);
              request.onsuccess = () => resolve(request.result.close());
            })"""
        )
        app = visits.open()
        self.expect_working(app, self.DAMAGED)
        visits.wait_until_ended("20 + 2")  # it is stored again
        Repl(app.page).press("Escape")
        expect(menu(Repl(app.page)).locator(".sessions-problem")).to_have_count(0)

    def test_damaged_records(self, visits: Visits) -> None:
        """Each affects only its own input."""
        damages = [
            "() => 7",
            "() => null",
            "(record) => ({ ...record, parts: 'none' })",
            "(record) => ({ ...record, state: 'other' })",
            "(record) => ({ ...record, parts: [{ kind: 'display', bundle: { kind: 'plot' } }] })",
            "(record) => ({ ...record, outcome: { ok: true } })",
        ]
        app = visits.open()
        inputs = ["'sound'", *(f"{i}" for i in range(len(damages)))]
        enter(Repl(app.page), *inputs)
        visits.wait_until_ended(*inputs)
        visits.close(app)
        visits.in_store(
            """async (store, of, damages) => {
              const keys = await of(store.getAllKeys(IDBKeyRange.bound(["input"], ["input", []])));
              for (const [i, damage] of damages.entries()) {
                const key = keys[i + 1];
                await of(store.put((0, eval)(damage)(await of(store.get(key))), key));
              }
            }""",
            damages,
        )
        app = visits.open()
        repl = Repl(app.page)
        expect(note(repl)).to_contain_text("6 inputs could not be read.")
        assert sources(repl) == ["'sound'"]
        enter(repl, "'behind'")
        expect(repl.entries.last.locator(".result")).to_have_text("'behind'")
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    def test_a_damaged_picture_and_damaged_facts(self, visits: Visits) -> None:
        app = visits.open()
        enter(Repl(app.page), "pt.imshow(pt.ones((2, 2)))")
        visits.wait_until_ended("pt.imshow(pt.ones((2, 2)))")
        visits.close(app)
        visits.in_store(
            """async (store, of) => {
              const [key] = await of(store.getAllKeys(IDBKeyRange.bound(["input"], ["input", []])));
              const record = await of(store.get(key));
              record.parts[0].bundle.png = new Uint8Array([1, 2, 3]);
              await of(store.put(record, key));
              await of(store.put({ name: 3 }, ["about", "odd"]));
            }"""
        )
        app = visits.open()
        repl = Repl(app.page)
        expect(repl.page.locator("canvas.picture")).to_be_visible()
        expect(menu(repl)).to_contain_text("None.")
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    def test_outputs_are_bounded_and_inputs_stay(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        large = [f"'{i}' * 3_500_000" for i in range(5)]  # 7 MB each
        enter(repl, *large, "'9' * 5_000_000")
        visits.wait_until_ended(*large, "'9' * 5_000_000")
        visits.wait_until(
            lambda _: (
                visits.in_store(
                    """async (store, of) => {
              const records = await of(store.getAll(IDBKeyRange.bound(["input"], ["input", []])));
              return records.map(({ isTrimmed }) => isTrimmed);
            }"""
                )
                == [True, False, False, False, False, True]
            )
        )
        repl = visits.reload(app)
        assert sources(repl) == [*large, "'9' * 5_000_000"]
        expect(repl.entries.first.locator(".note")).to_contain_text("Output removed")
        expect(repl.entries.nth(1).locator(".result")).to_be_visible()


CHANGES_AT_ONCE = """async () => {
  const { KeptSession } = await import("./sources/page/sessions/kept.js");
  const numbers = { created: 0, changed: 0, inputs: 0, bytes: 0, files: 0, fileBytes: 0 };
  const about = { format: 1, id: "of a test", name: "of a test", ...numbers };
  const session = new KeptSession(about, { updated: Promise.resolve() }, () => {});
  const order = [];
  session.attempt = async (work) => {
    order.push("begins");
    await work;
    order.push("ends");
  };
  const entries = ["a", "b"].map((source) => {
    const entry = { element: document.createElement("article"), draw: () => {} };
    session.enter(entry, source, { path: "main.py", line: 1 });
    return entry;
  });
  session.start();
  await session.write();
  session.isStored = true;
  order.length = 0;
  session.clear([entries[0].element], true);
  session.drop(entries[1]);
  session.keepAbout();
  session.enter({ element: document.createElement("article"), draw: () => {} }, "c", null);
  await session.write(); // a change of session waits for this
  session.removeCells("main.py");
  await session.write();
  return order;
}"""


def test_changes_of_the_store_follow_one_another(app: AppPage) -> None:
    """All changes have ended when a session is left."""
    assert app.page.evaluate(CHANGES_AT_ONCE) == ["begins", "ends"] * 5


class TestTabs:
    def test_a_second_tab_has_a_session_of_its_own(self, visits: Visits) -> None:
        first = visits.open()
        one = Repl(first.page)
        enter(one, "'of the first'")
        visits.wait_until_ended("'of the first'")
        second = visits.open()
        two = Repl(second.page)
        expect(note(two)).to_contain_text("“Session 1” is open in another tab")
        expect(two.entries).to_have_count(0)
        enter(two, "'of the second'")
        enter(one, "'of the first, too'")
        visits.wait_until(lambda kept: len(kept) == 3)
        one, two = visits.reload(first), visits.reload(second)
        assert sources(one) == ["'of the first'", "'of the first, too'"]
        assert sources(two) == ["'of the second'"]
        assert "Session 2" in (two.page.locator("#sessions-button").inner_text())

    def test_a_copy(self, visits: Visits) -> None:
        first = visits.open()
        enter(Repl(first.page), "open('data.txt', 'w').write('text')")
        visits.wait_until_ended("open('data.txt', 'w').write('text')")
        second = visits.open()
        two = Repl(second.page)
        note(two).get_by_role("button", name="Open a copy").click()
        expect(two.page.locator("#sessions-button")).to_contain_text("Session 1 (copy)")
        assert sources(two) == ["open('data.txt', 'w').write('text')"]
        assert second.run("open('data.txt').read()")["result"] == "'text'"
        enter(two, "'of the copy'")
        visits.wait_until(lambda kept: len(kept) == 3)
        assert sources(visits.reload(first)) == ["open('data.txt', 'w').write('text')"]

    def test_a_session_that_is_open_elsewhere_is_not_taken(self, visits: Visits) -> None:
        first = visits.open()
        enter(Repl(first.page), "1")
        visits.wait_until_ended("1")
        two = Repl(visits.open().page)
        row = menu(two).get_by_role("listitem")
        expect(row).to_contain_text("open in another tab")
        expect(row.get_by_role("button", name="Delete")).to_have_count(0)


class TestNamed:
    def test_new_renamed_opened_cleared_and_deleted(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        name = repl.page.locator("#sessions-button")
        enter(repl, "u = 1", "'of the first'")
        repl.input.fill("first draft")
        menu(repl).get_by_role("textbox", name="Name of this session").fill("Filters")
        repl.press("Enter")
        expect(name).to_contain_text("Filters")
        expect(repl.input).to_be_focused()

        menu(repl).get_by_role("button", name="New session").click()
        expect(name).to_contain_text("Session 1")
        expect(repl.entries).to_have_count(0)
        repl.expect_text("")
        assert "NameError" in app.run("u")["error"]
        enter(repl, "'of the second'")

        menu(repl).get_by_role("button", name=re.compile("^Filters.*Open$")).click()
        expect(name).to_contain_text("Filters")
        assert sources(repl) == ["u = 1", "'of the first'"]
        repl.expect_text("first draft")
        repl.input.fill("")

        repl = visits.reload(app)  # the tab continues with the session it had open
        assert sources(repl) == ["u = 1", "'of the first'"]
        panel = menu(repl)
        expect(panel.get_by_role("listitem")).to_contain_text("Session 1")
        panel.get_by_role("button", name="Delete Session 1").click()
        panel.get_by_role("button", name="Delete for good").click()
        expect(panel.get_by_role("listitem")).to_have_count(0)
        visits.wait_until_ended("u = 1", "'of the first'")

        panel.get_by_role("button", name="Clear").click()
        panel.get_by_role("button", name="Clear inputs, outputs and files").click()
        expect(name).to_contain_text("Filters")
        expect(repl.entries).to_have_count(0)
        visits.wait_until(lambda kept: kept == [])
        enter(repl, "3")
        visits.wait_until_ended("3")
        panel = menu(repl)
        panel.get_by_role("button", name="Delete", exact=True).click()
        panel.get_by_role("button", name="Delete for good").click()
        visits.wait_until(lambda kept: kept == [])
        expect(repl.entries).to_have_count(0)
        expect(name).to_contain_text("Session 1")

    def test_two_changes_at_once(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "1")
        menu(repl).get_by_role("button", name="New session").click()
        expect(repl.entries).to_have_count(0)
        enter(repl, "2")
        visits.wait_until_ended("1", "2")
        expect(menu(repl).locator(".session-row")).to_contain_text("Session 1")
        app.page.evaluate(
            """() => {
              document.querySelector(".session-row").click();
              const buttons = [...document.querySelectorAll("#sessions-panel button")];
              buttons.find(({ textContent }) => textContent === "New session").click();
            }"""
        )
        expect(repl.page.locator("#sessions-button")).to_contain_text(re.compile("Session [13]"))
        app.page.wait_for_timeout(2000)  # also until the second one has ended
        held, own = app.page.evaluate(
            """async () => [
              (await navigator.locks.query()).held.map(({ name }) => name.split(" ").at(-1)),
              sessionStorage.getItem("py_tensor.tools.control"),
            ]"""
        )
        assert held == [own]
        enter(repl, "3")
        visits.wait_until(lambda kept: sorted(source for source, *_ in kept) == ["1", "2", "3"])

    def test_cleared_and_another_one_at_once(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "1")
        menu(repl).get_by_role("textbox").fill("Mine")
        menu(repl).get_by_role("textbox").press("Enter")
        menu(repl)
        app.page.evaluate(
            """() => {
              const buttons = [...document.querySelectorAll("#sessions-panel button")];
              const named = (name) => buttons.find(({ textContent }) => textContent === name);
              const clear = named("Clear");
              clear.click();
              clear.click(); // it asks for confirmation
              named("New session").click();
            }"""
        )
        expect(repl.page.locator("#sessions-button")).to_contain_text("Session 1")
        expect(menu(repl).locator(".session-title")).to_have_text(["Mine"])
        visits.wait_until(lambda kept: not kept)

    def test_a_new_one_stays_new(self, visits: Visits) -> None:
        """Although nothing of it is stored before it has content."""
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "1")
        menu(repl).get_by_role("button", name="New session").click()
        expect(repl.entries).to_have_count(0)
        assert app.run("1 + 1")["result"] == "2"
        repl = visits.reload(app)
        expect(repl.page.locator("#sessions-button")).to_contain_text("Session 2")
        expect(repl.entries).to_have_count(0)
        expect(menu(repl).get_by_role("listitem")).to_have_count(1)

    def test_there_is_a_largest_number(self, visits: Visits) -> None:
        app = visits.open()
        enter(Repl(app.page), "1")
        visits.wait_until_ended("1")
        visits.in_store(
            """async (store, of) => {
              const [about] = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
              for (let i = 1; i < 50; i++) {
                store.put({ ...about, id: `${i}`, changed: 0 }, ["about", `${i}`]);
              }
            }"""
        )
        second = visits.open()
        repl = Repl(second.page)
        said = repl.page.locator("#transcript .note")
        expect(said.filter(has_text="50 sessions are stored")).to_have_count(1)
        enter(repl, "'works'")
        expect(repl.last(".result")).to_have_text("'works'")
        visits.wait_until_ended("1")

    def test_a_question_that_is_not_answered(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        enter(repl, "1")
        panel = menu(repl)
        panel.get_by_role("button", name="Delete", exact=True).click()
        expect(panel.get_by_role("button", name="Delete for good")).to_be_focused()
        repl.press("Tab")
        expect(panel.get_by_role("button", name="Delete", exact=True)).to_be_visible()
        repl.press("Escape")
        expect(panel).to_be_hidden()
        expect(repl.page.locator("#sessions-button")).to_be_focused()
        visits.wait_until_ended("1")

    def test_what_runs_is_ended_after_a_question(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        repl.input.fill("while True: pass")
        repl.press("Enter")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        panel = menu(repl)
        panel.get_by_role("button", name="New session").click()
        expect(repl.entries).to_have_count(1)
        panel.get_by_role("button", name="Stop running code").click()
        expect(repl.entries).to_have_count(0)
        assert app.run("1 + 1")["result"] == "2"
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["interrupted"])


class TestFiles:
    def test_they_are_there_for_the_next_python(self, visits: Visits) -> None:
        app = visits.open()
        write = (
            "import os\nos.makedirs('a/b')\nopen('a/b/one.txt', 'w').write('1')\n"
            "open('two.bin', 'wb').write(bytes(range(256)))\nopen('gone.txt', 'w').write('x')"
        )
        assert app.run(write)["ok"]
        assert app.run("os.remove('gone.txt'); open('a/b/one.txt', 'a').write('2')")["ok"]
        read = (
            "import os; open('a/b/one.txt').read(), os.listdir(), "
            "open('two.bin', 'rb').read() == bytes(range(256))"
        )
        expected = ["12", "True", "a", "two.bin"]
        visits.wait_until(lambda _: len(visits.in_store(FILES)) == 2)
        visits.reload(app)
        assert words(app.run(read)["result"]) == expected
        app.page.evaluate("() => document.querySelector('#status-button').click()")
        app.page.locator("#restart-now").click()
        assert words(app.run(read)["result"]) == expected


def words(text: str) -> list[str]:
    """Return the words of a repr, sorted."""
    return sorted(re.findall(r"[\w.]+", text))


class TestLeaving:
    def test_it_asks_only_while_something_runs(self, visits: Visits) -> None:
        app = visits.open()
        repl = Repl(app.page)
        asked: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        app.page.on("dialog", dismiss)
        enter(repl, "1 + 1")
        repl = visits.reload(app)
        assert asked == []
        repl.input.fill("while True: pass")
        repl.press("Enter")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        app.page.evaluate("() => setTimeout(() => location.reload())")
        for _ in range(100):
            if asked:
                break
            app.page.wait_for_timeout(50)
        assert asked == ["beforeunload"]
        expect(repl.page.locator("#interrupt")).to_be_visible()  # the page still exists
        repl.page.locator("#interrupt").click()
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")
        app.page.close(run_before_unload=True)
        assert asked == ["beforeunload"]


@pytest.fixture(scope="module")
def restored(regular: Callable[[bool], Regular]) -> Iterator[Page]:
    """A restored session, and a second session."""
    app = regular(False).open_page()
    repl = Repl(app.page)
    enter(repl, "1 + 1")
    menu(repl).get_by_role("button", name="New session").click()
    expect(repl.entries).to_have_count(0)
    enter(repl, "pt.rand(3, 4)", "1 / 0")
    wait_until_written(app.page, "ZeroDivisionError")
    app.page.reload()
    app.page.evaluate("pyTensor.ready.then(() => null)")
    expect(note(repl)).to_be_visible()
    yield app.page
    app.page.close()


LATE_ANSWER = """() => {
  navigator.locks.query = async () => {
    delete navigator.locks.query;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return await navigator.locks.query();
  };
}"""
"""The list of the sessions that are open comes late, once."""


class TestForEveryone:
    @pytest.mark.parametrize(("size", "scheme"), LOOKS)
    def test_axe_finds_nothing_serious(
        self, restored: Page, size: str, scheme: Literal["light", "dark"]
    ) -> None:
        page = restored
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.evaluate(AXE.read_text("utf-8"))
        for is_open in (False, True):
            if is_open:
                expect(menu(Repl(page)).get_by_role("listitem")).to_have_count(1)
            violations = page.evaluate(AUDIT)
            assert [v for v in violations if v["impact"] in ("serious", "critical")] == []
            wide = page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= width
        page.keyboard.press("Escape")

    def test_the_menu_by_the_keyboard(self, restored: Page) -> None:
        page = restored
        page.set_viewport_size({"width": 1280, "height": 800})
        page.evaluate(LATE_ANSWER)
        page.locator("#sessions-button").focus()
        page.keyboard.press("Enter")
        panel = page.get_by_role("dialog", name="Sessions")
        names = [
            "Run all again",
            "Clear",
            "Delete$",
            "New session",
            "Session 1 ",
            "Delete Session 1",
        ]
        page.keyboard.press("Tab")
        expect(panel.get_by_role("textbox")).to_be_focused()
        for name in names:
            if name == "Session 1 ":
                expect(panel.get_by_role("listitem")).to_have_count(1)
            page.keyboard.press("Tab")
            expect(panel.get_by_role("button", name=re.compile(f"^{name}"))).to_be_focused()
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        expect(page.locator("#sessions-button")).to_be_focused()
