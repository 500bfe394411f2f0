"""The user's files in the browser's storage: one vanishes only if it was removed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.app import GPU_FLAGS, LATE_TIER_UP_FLAG, SOFTWARE_FLAGS, AppPage, AppSession
from tests.browser.editor import Editor, drop, wait_for
from tests.browser.repl import Repl
from tests.browser.test_sessions import FILES, HELD_LOCKS, Visits, enter, in_store, menu
from tests.environment import find_chromium

CONTENTS = """async (store, of) => {
  const range = IDBKeyRange.bound(["file"], ["file", []]);
  const [keys, values] = [await of(store.getAllKeys(range)), await of(store.getAll(range))];
  const text = new TextDecoder();
  return Object.fromEntries(keys.map((key, i) => [key[2], text.decode(values[i].slice(0, 20))]));
}"""
"""The beginning of each stored file, by its path."""

REFUSE = """
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (value, key) {
    const request = put.call(this, value, key);
    request.addEventListener("success", () => {
      if (key[2] === window.refused) this.transaction.abort();
    });
    return request;
  };
"""
"""A file with this path aborts the transaction that writes it."""

UNREADABLE = """
import js, pyodide_js
folder = pyodide_js.FS.lookupPath("/home/pyodide/data").node
sound = folder.node_ops
folder.node_ops = js.Object.assign(js.Object.new(), sound, readdir=js.BigInt)  # which raises
"""

BREAK_LOOKING = """
import js, pyodide_js
raises = js.Object.assign(js.Object.new(), get=js.BigInt, configurable=True)
js.Object.defineProperty(pyodide_js.FS, 'ignorePermissions', raises)
"""
"""After this, looking for changed files raises, until REPAIR_LOOKING."""

REPAIR_LOOKING = """
js.Reflect.deleteProperty(pyodide_js.FS, 'ignorePermissions')
pyodide_js.FS.ignorePermissions = False
"""

NO_ROOM_IN_PYTHON = """
import js
space = js.Object.assign(js.Object.new(), quota=50, usage=40)
js.navigator.storage.estimate = js.Promise.resolve.bind(js.Promise, space)
"""

NO_ROOM_IN_PAGE = "navigator.storage.estimate = async () => ({ quota: 50, usage: 40 });"

SIZES_OF_REPORTS = """
  window.sizes = [];
  window.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data: { kind, changed } }) => {
        if (kind !== "files") return;
        window.sizes.push(changed.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
      });
    }
  };
"""
"""The bytes of the files in each message of the worker."""

BACKGROUND = """
import asyncio
async def later():
    await asyncio.sleep(0.5)
    open('later.txt', 'w').write('later')
task = asyncio.ensure_future(later())
"""


class Stored:
    """The stored files of a visitor, who runs programs."""

    def __init__(self, visits: Visits, app: AppPage) -> None:
        self._visits = visits
        self._app = app

    def run(self, code: str) -> None:
        outcome = self._app.run(code)
        assert outcome["ok"], outcome["error"]

    @property
    def contents(self) -> dict[str, str]:
        return self._visits.in_store(CONTENTS)

    def expect(self, **files: str) -> None:
        """Wait until these files are stored, and no others: `a__b="1"` is a/b."""
        expected = {path.replace("__", "/"): text for path, text in files.items()}
        wait_for(lambda: self.contents == expected, self._app.page)


@pytest.fixture
def stored(visits: Visits) -> Stored:
    return Stored(visits, visits.open())


class TestNothingVanishes:
    def test_programs_that_write_many_files(self, visits: Visits) -> None:
        app = visits.open()
        stored = Stored(visits, app)
        stored.run("for name in ('main', 'train'): open(f'{name}.py', 'w').write(name)")
        stored.run(
            "import os\nos.makedirs('a/pictures')\n"
            "for i in range(1500): open(f'a/pictures/{i}.png', 'w').write(str(i))\n"
            "os.makedirs('/'.join('d' * 40))\nopen('/'.join('d' * 40) + '/deep', 'w').write('deep')"
        )
        wait_for(lambda: len(stored.contents) == 1503, app.page)
        stored.run("open('train.py', 'a').write('ed')")
        wait_for(lambda: stored.contents["train.py"] == "trained", app.page)
        assert stored.contents["main.py"] == "main"
        visits.reload(app)
        counted = app.run("import os; sum(len(names) for _, _, names in os.walk('.'))")
        assert counted["result"] == "1503"
        assert app.run("open('/'.join('d' * 40) + '/deep').read()")["result"] == "'deep'"
        editor = Editor(app.page).open()  # pictures do not hide programs
        editor.expect_files("main.py", "train.py")
        editor.pane.locator("summary", has_text="a/").first.click()
        editor.pane.locator("summary", has_text="pictures/").click()
        expect(editor.pane.locator(".file")).to_have_count(202)
        editor.act("Show more (1300 not shown)")
        expect(editor.pane.locator(".file")).to_have_count(402)
        stored.run("import shutil; shutil.rmtree('a'); shutil.rmtree('d')")
        stored.expect(**{"main.py": "main", "train.py": "trained"})
        editor.expect_files("main.py", "train.py")

    def test_whatever_a_program_does_to_a_folder(self, stored: Stored) -> None:
        stored.run("import os\nos.mkdir('data')\nopen('data/a', 'w').write('a')")
        stored.expect(data__a="a")
        stored.run("os.chmod('data', 0)\nopen('b', 'w').write('b')")
        stored.expect(data__a="a", b="b")
        stored.run("os.chmod('data', 0o777)\nos.chmod('b', 0)\nopen('c', 'w').write('c')")
        stored.expect(data__a="a", b="b", c="c")
        stored.run("os.chmod('b', 0o777)\n" + UNREADABLE + "open('c', 'w').write('C')")
        stored.expect(data__a="a", b="b", c="C")
        stored.run("folder.node_ops = sound\nopen('data/a', 'w').write('A')")
        stored.expect(data__a="A", b="b", c="C")
        # A link to a file is stored as a file; one to a folder, to itself or to nothing is not.
        stored.run(
            "links = ('b', 'link'), ('data', 'd'), ('x', 'y'), ('y', 'x'), ('.', 'z'), (' ', 'w')\n"
            "for to, link in links: os.symlink(to, link)"
        )
        stored.expect(data__a="A", b="b", c="C", link="b")
        stored.run("os.rename('data', '/tmp/data'); os.symlink('/tmp/data', 'data')")
        stored.run("open('data/a', 'w').write('moved')")
        stored.expect(data__a="moved", b="b", c="C", link="b")
        stored.run("os.remove('c'); os.symlink('c', 'c')")
        stored.run("os.remove('link')")
        stored.expect(data__a="moved", b="b", c="C")
        stored.run("os.remove('data'); os.remove('c')")
        stored.expect(b="b")
        stored.run("os.remove('b'); os.mkdir('b'); open('b/file', 'w').write('1')")
        stored.expect(b__file="1")
        stored.run("os.remove('b/file'); os.rmdir('b'); open('b', 'w').write('2')")
        stored.expect(b="2")

    def test_files_of_the_same_size_and_time(self, stored: Stored) -> None:
        stored.run("import os\nfor name in 'abc': open(name, 'w').write(name)")
        stored.run("for name in 'abc': os.utime(name, (1, 1))")
        stored.expect(a="a", b="b", c="c")
        stored.run("os.replace('b', 'a')")
        stored.expect(a="b", c="c")
        stored.run("os.rename('a', 't'); os.rename('c', 'a'); os.rename('t', 'c')")
        stored.expect(a="c", c="b")

    def test_a_failure_of_looking_for_changes(self, stored: Stored) -> None:
        """It ends neither the input nor later looking."""
        stored.run(BREAK_LOOKING)
        stored.run("6 * 7")
        stored.run(REPAIR_LOOKING + BACKGROUND)
        stored.expect(**{"later.txt": "later"})

    def test_files_are_copied_in_groups(self, visits: Visits) -> None:
        app = visits.open(script=SIZES_OF_REPORTS)
        app.page.evaluate("window.sizes = []")
        code = "for i in range(3): open(f'{i}', 'wb').write(bytes([48 + i]) * (30 << 20))"
        Stored(visits, app).run(code)
        wait_for(lambda: sum(app.page.evaluate("sizes")) == 90 << 20, app.page)
        assert app.page.evaluate("sizes") == [60 << 20, 30 << 20]
        names = "(store, of) => of(store.getAllKeys(IDBKeyRange.bound(['file'], ['file', []])))"
        wait_for(lambda: len(visits.in_store(names)) == 3, app.page)

    def test_a_program_that_is_ended(self, visits: Visits) -> None:
        app = visits.open()
        stored = Stored(visits, app)
        stored.run(BACKGROUND)
        stored.expect(**{"later.txt": "later"})  # without another input
        crash = "open('before.txt', 'w').write('before')\nimport os\nos.abort()"
        assert "Python crashed" in app.run(crash)["error"]
        stored.expect(**{"later.txt": "later", "before.txt": "before"})
        repl = Repl(app.page)
        repl.input.fill("open('loop.txt', 'w').write('loop')\nwhile True: pass")
        repl.press("Enter")
        repl.press("Enter")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        panel = menu(repl)
        panel.get_by_role("button", name="New session").click()
        panel.get_by_role("button", name="Stop running code").click()
        expect(app.page.locator("#sessions-button")).to_contain_text("Session 2")
        stored.expect(**{"later.txt": "later", "before.txt": "before", "loop.txt": "loop"})


class TestNotSaved:
    def test_one_that_cannot_be_written(self, visits: Visits) -> None:
        """It does not keep the others from being written."""
        app = visits.open(script=REFUSE + "window.refused = 'bad';")
        stored = Stored(visits, app)
        stored.run("for name in ('a', 'bad', 'c'): open(name, 'w').write(name)")
        stored.expect(a="a", c="c")
        notes = app.page.locator("#transcript .note", has_text="Not saved: bad (3 bytes): the ")
        expect(notes).to_have_count(1)
        stored.run("open('d', 'w').write('d'); open('bad', 'w').write('other')")
        stored.expect(a="a", c="c", d="d")
        expect(notes).to_have_count(1)
        assert app.page.locator("#transcript .note", has_text="Not saved").count() == 1
        editor = Editor(app.page)
        editor.button.click()
        row = editor.pane.locator(".file", has_text="bad")
        expect(row).to_contain_text("not saved")
        expect(menu(Repl(app.page)).locator(".sessions-problem")).to_have_text(
            "1 file is not saved."
        )
        Repl(app.page).press("Escape")
        app.page.evaluate("window.refused = null")
        stored.run("open('bad', 'w').write('good')")
        stored.expect(a="a", bad="good", c="c", d="d")
        expect(row).not_to_contain_text("not saved")

    def test_one_that_only_an_ended_python_had(self, visits: Visits) -> None:
        """It is not listed any more."""
        app = visits.open()
        stored = Stored(visits, app)
        editor = Editor(app.page)
        editor.button.click()
        stored.run(NO_ROOM_IN_PYTHON)
        said = app.page.locator("#transcript .note", has_text="Not saved: ")
        count = 0
        while said.count() == 0:  # Python measures the room every few seconds
            count += 1
            assert count < 60
            stored.run(f"open('{count}.txt', 'w').write('x' * 20)")
            app.page.wait_for_timeout(500)
        row = editor.pane.locator(".file", has_text=f"{count}.txt")
        expect(row).to_contain_text("not saved")
        assert "Python crashed" in app.run("import os; os.abort()")["error"]
        app.run("1")
        expect(editor.pane.locator(".file", has_text="main.py")).to_have_count(1)
        expect(row).to_have_count(0)

    def test_dropped_files_for_which_there_is_no_room(self, visits: Visits) -> None:
        """They are not even read."""
        app = visits.open(script=NO_ROOM_IN_PAGE)
        names = [f"{i}__txt" for i in range(5)]
        drop(app.page, **dict.fromkeys(names, b"x" * 20))
        expect(app.page.locator("#transcript .note").last).to_have_text(
            "Not added: 0.txt, 1.txt, 2.txt and 2 more files (100 bytes). "
            "The browser has room for 10 bytes."
        )
        drop(app.page, a__txt=b"12345")
        expect(app.page.locator(".editor-said")).to_contain_text("Added a.txt.")
        listed = app.run("import os; sorted(os.listdir())")["result"]
        assert listed == "['a.txt', 'main.py']"

    def test_files_for_which_there_is_no_room(self, session: AppSession, tmp_path: Path) -> None:
        """The profile is on disk, because the quota of a private window cannot be set."""
        context = session.browser().browser_type.launch_persistent_context(
            tmp_path,
            executable_path=find_chromium(),
            headless=False,
            args=GPU_FLAGS or [*SOFTWARE_FLAGS, LATE_TIER_UP_FLAG],
        )
        app = AppPage(context.new_page())
        devtools = context.new_cdp_session(app.page)
        origin = session.url.rstrip("/")
        devtools.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 50 << 20})
        app.boot(session.url)

        def names() -> list[str]:
            return [path for _, _, path in in_store(app.page, FILES)]

        # Random, because the browser compresses what it stores.
        app.run("import os; block = os.urandom(1 << 20); open('model', 'wb').write(b'old' + block)")
        wait_for(lambda: names() == ["model"], app.page)
        app.run("open('model', 'wb').write(b'new' + 60 * block)")
        said = app.page.locator("#transcript .note", has_text="Not saved: ")
        expect(said).to_have_count(1)
        expect(said).to_contain_text(
            "Not saved: model (60 MiB). The browser has no room for more; "
        )
        app.run(
            "for i in range(6): open(f'{i}.bin', 'wb').write(10 * block)\n"
            "for i in range(30): open(f'{i}.txt', 'w').write(str(i))"
        )
        expect(said).to_have_count(2)
        for i in range(3):
            assert app.run(f"open('0.txt', 'w').write('{i}')")["ok"]
        wait_for(lambda: in_store(app.page, CONTENTS)["0.txt"] == "2", app.page)
        expect(said).to_have_count(2)
        assert in_store(app.page, CONTENTS)["model"].startswith("old")  # the stored one stays
        assert sum(name.endswith(".txt") for name in names()) == 30
        assert len(names()) < 37
        devtools.send("Storage.overrideQuotaForOrigin", {"origin": origin})
        app.run("os.remove('29.txt')")  # then the others are tried again at once
        wait_for(lambda: len(names()) == 36, app.page)
        wait_for(lambda: in_store(app.page, CONTENTS)["model"].startswith("new"), app.page)
        app.page.reload()
        app.page.evaluate("pyTensor.ready.then(() => null)")
        sizes = app.run("import os; sum(map(os.path.getsize, os.listdir())) >> 20")
        assert sizes["result"] == str(60 + 60)
        assert [line for line in app.logged if line.kind == "pageerror"] == []
        context.close()


NEWER = """async () => {
  for (const name of ["sessions", "benchmark runs", "choices", "boot"]) {
    await new Promise((resolve, reject) => {
      const request = indexedDB.open(`py_tensor ${name}`, 7);
      request.onupgradeneeded = () => {
        const { result } = request;
        for (const store of [...result.objectStoreNames]) result.deleteObjectStore(store);
        result.createObjectStore("newer").put("kept", "key");
      };
      request.onsuccess = () => resolve(request.result.close());
      request.onerror = () => reject(request.error);
    });
  }
  localStorage.setItem("py_tensor.history", '{"version": 2}');
}"""

STILL_NEWER = """async () => {
  const found = {};
  for (const { name } of await indexedDB.databases()) {
    const request = indexedDB.open(name);
    await new Promise((resolve) => { request.onsuccess = resolve; });
    const { result } = request;
    const stores = [...result.objectStoreNames];
    const get = result.transaction(stores[0]).objectStore(stores[0]).get("key");
    await new Promise((resolve) => { get.onsuccess = resolve; });
    found[name] = [result.version, ...stores, get.result];
    result.close();
  }
  return [found, localStorage.getItem("py_tensor.history")];
}"""


def test_storage_of_a_newer_version(session: AppSession) -> None:
    """The page says so, leaves it unchanged, and works."""
    app = session.open_page(boot=False)
    app.page.context.route("**/blank", lambda route: route.fulfill(body=""))
    app.page.goto(session.url + "blank")
    app.page.evaluate(NEWER)
    app.boot(session.url)
    repl = Repl(app.page)
    enter(repl, "20 + 2", "open('a.txt', 'w').write('a')")
    notes = app.page.locator("#transcript .note")
    why = "a newer version of this page has written the stored data, which this version leaves"
    advice = "unchanged. Save it with “Share”, then reload the page to get the newer version."
    said = re.compile(f"^The session is not saved: {why} {advice}$")
    expect(notes.filter(has_text=said)).to_have_count(1)
    expect(
        notes.filter(has_text="A newer version of this page has written the input history")
    ).to_have_count(1)
    expect(menu(repl).locator(".sessions-problem")).to_contain_text(why)
    repl.press("Escape")

    app.page.locator("#tab-benchmarks").click()
    expect(app.page.locator("#panel-benchmarks")).to_contain_text(
        f"Kept only while this page is open: {why}"
    )
    app.page.locator("#tab-console").click()
    app.page.wait_for_timeout(3000)  # a snapshot for the next visit would be stored
    stored, history = app.page.evaluate(STILL_NEWER)
    kept = [7, "newer", "kept"]
    names = ("sessions", "benchmark runs", "choices", "boot")
    assert stored == {f"py_tensor {name}": kept for name in names}
    assert json.loads(history) == {"version": 2}
    assert [line for line in app.logged if line.kind == "pageerror"] == []
    app.close()


UNKNOWN_STORE = """() => new Promise((resolve) => {
  const request = indexedDB.open("py_tensor sessions", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("other").put("kept", "key");
  request.onsuccess = () => resolve(request.result.close());
})"""

FAILS_ONCE = """
  const open = IDBFactory.prototype.open;
  IDBFactory.prototype.open = function (...args) {
    if (window.isFailing ?? args[0] === "py_tensor sessions") {
      throw new DOMException("Internal error opening backing store.", "UnknownError");
    }
    return open.apply(this, args);
  };
"""


class TestNotOpened:
    def test_a_database_of_another_form(self, visits: Visits) -> None:
        """It is not removed, since it has data."""
        visits.evaluate(UNKNOWN_STORE)
        app = visits.open()
        expect(app.page.locator("#transcript .note", has_text="has an unknown form")).to_have_count(
            1
        )
        assert app.run("1 + 1")["result"] == "2"
        stored = visits.evaluate(STILL_NEWER)[0]["py_tensor sessions"]
        assert stored == [1, "other", "kept"]

    def test_a_failure_that_ends(self, visits: Visits) -> None:
        """What could not be saved is saved with the next input."""
        app = visits.open(script=FAILS_ONCE)
        repl = Repl(app.page)
        enter(repl, "'first'")
        said = app.page.locator(
            "#transcript .note", has_text="The session is not saved: the browser could not open"
        )
        expect(said).to_have_count(1)
        expect(said).to_contain_text("Internal error opening backing store.")
        app.page.evaluate("window.isFailing = false")
        enter(repl, "'second'")
        visits.wait_until_ended("'first'", "'second'")
        expect(menu(repl).locator(".sessions-problem")).to_have_count(0)
        assert visits.evaluate(HELD_LOCKS) == 1
