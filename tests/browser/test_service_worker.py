"""The page in a folder of a static file host: its service worker, and use without a network."""

from __future__ import annotations

import json
import random
import shutil
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Frame, Page, Route, expect
from playwright.sync_api import Error as PlaywrightError

from tests.browser.app import SITE, AppPage, AppSession
from tests.browser.editor import Editor
from tests.browser.repl import Repl
from tests.browser.static_host import StaticHost, static_host
from tests.browser.test_sessions import enter, note
from web.build.serve import CONTENT_SECURITY_POLICY, MIME_TYPES

COMPUTE = "(pt.arange(16) * 2).sum().item()"
NUMPY = "import numpy as np; int(np.arange(5).sum())"
TEN = {"ok": True, "stdout": "", "result": "10", "error": None}
KEPT_NUMPY = """async () => {
  const [name] = (await caches.keys()).filter((name) => / [0-9a-f]{16}$/.test(name));
  const cache = await caches.open(name);
  return (await cache.keys()).filter(({ url }) => url.includes("/wheels/numpy-")).length;
}"""
KEPT_SECONDS = 60  # a quiet machine takes two

READY = """async () => {
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error("not ready after 120 s")), 120_000));
  const ready = async () => {
    while (!window.pyTensor) await new Promise((resolve) => setTimeout(resolve, 20));
    return await pyTensor.ready;
  };
  return await Promise.race([ready(), late]);
}"""

MARKS = {
    "page/app.js": "document.documentElement.dataset.app = 'NAME';\n",
    "page/vendor/codemirror.js": "document.documentElement.dataset.editor = 'NAME';\n",
    "worker/worker.js": "self.mark = 'NAME';\n",
}
"""Lines added to a build that are visible in the page, and in its worker."""

EVAL = """() => new Promise((resolve) => setTimeout(() => {
  try {
    resolve(Function("return 1")());
  } catch (error) {
    resolve(error.name);
  }
}))"""
"""Delayed, because code that Playwright evaluates directly is exempt from the policy."""

OWN_FILE = """() => {
  const { src } = document.querySelector('script[src$="app.js"]');
  return fetch(src).then((response) => response.text());
}"""
"""A file of the page's own build."""


REPLACE = """async () => {
  const registration = await navigator.serviceWorker.ready;
  const old = registration.active;
  await registration.update();
  const deadline = performance.now() + 30_000;
  while (registration.active === old || registration.active.state !== "activated") {
    if (performance.now() > deadline) throw new Error("the service worker was not replaced");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}"""
"""Make the browser fetch a changed service worker, and wait until it has replaced the old one."""


class Guest:
    """One browser profile that visits the host."""

    def __init__(self, session: AppSession, host: StaticHost) -> None:
        self.host = host
        first = session.open_page(service_worker=True, boot=False)
        self.context: BrowserContext = first.page.context
        self._blank = first.page

    def open(self) -> AppPage:
        """Return a new page, still blank."""
        return AppPage(self.context.new_page())

    def visit(self, app: AppPage | None = None) -> AppPage:
        """Return the booted page, after any reloads of its own."""
        app = app or self.open()
        app.page.goto(self.host.url, wait_until="commit")
        app.info = until_ready(app.page)
        return app

    def look(self, app: AppPage | None = None) -> AppPage:
        """The page after any reloads of its own, while Python starts."""
        app = app or self.open()
        app.page.goto(self.host.url, wait_until="commit")
        until_started(app.page)
        return app

    def beside(self) -> Page:
        """A page that is served by the service worker, without the app."""
        page = self.context.new_page()
        page.goto(self.host.url + "build.json")
        return page

    def go_offline(self) -> None:
        self.host.stop()
        self.context.set_offline(True)

    def leave(self) -> None:
        for page in self.context.pages:
            if page is not self._blank:
                page.close()

    def wait_until_kept(self, build: str | None = None) -> str:
        """Wait until a build (default: this one) is cached, with both records intact; return it."""
        deadline = time.monotonic() + KEPT_SECONDS
        page = next(page for page in self.context.pages if page is not self._blank)
        while True:
            found = page.evaluate(
                """async () => {
                  const record = async (name, cacheName) => {
                    const found = await caches.match(new URL(name, location.href), { cacheName });
                    const bytes = await found.arrayBuffer();
                    const hash = await crypto.subtle.digest("SHA-256", bytes);
                    const digest = found.headers.get("Content-SHA256");
                    if (new Uint8Array(hash).toHex() !== digest) throw new Error("damaged");
                    return JSON.parse(new TextDecoder().decode(bytes));
                  };
                  try {
                    const cache = `py_tensor ${new URL("./", location.href).href}`;
                    const { current } = await record("kept", cache);
                    await record("files.json", `${cache} ${current}`);
                    return current;
                  } catch {
                    return null;
                  }
                }"""
            )
            if found and build in (None, found):
                return found
            assert time.monotonic() < deadline, f"no build is kept ({found})"
            page.wait_for_timeout(100)


def until_started(page: Page) -> None:
    """Wait until the page has its files and has heard from its worker."""
    milliseconds = KEPT_SECONDS * 1000
    expect(page.locator("#input .cm-content")).to_be_attached(timeout=milliseconds)
    said = page.locator("#status-text")
    expect(said).not_to_have_text("Loading the page", timeout=milliseconds)


def until_ready(page: Page) -> dict[str, Any]:
    """Return the result of `pyTensor.ready` in a page that may reload itself in the meantime."""
    deadline = time.monotonic() + KEPT_SECONDS
    while True:
        try:
            return page.evaluate(READY)
        except PlaywrightError as error:
            if "Execution context was destroyed" not in str(error):
                raise
            assert time.monotonic() < deadline, "the page reloads itself again and again"


def marks(app: AppPage) -> set[str | None]:
    """Return the builds from which this page has files."""
    in_page = app.page.evaluate(
        "() => ['app', 'editor'].map((name) => document.documentElement.dataset[name] ?? null)"
    )
    return {*in_page, app.page.workers[0].evaluate("self.mark ?? null")}


def marked(name: str) -> dict[str, str]:
    return {path: lines.replace("NAME", name) for path, lines in MARKS.items()}


def problems(app: AppPage) -> list[str]:
    app.settle()
    return [str(line) for line in app.logged if line.kind not in ("log", "info")]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[StaticHost]:
    with static_host(tmp_path) as host:
        yield host


@pytest.fixture
def guest(session: AppSession, host: StaticHost) -> Iterator[Guest]:
    guest = Guest(session, host)
    yield guest
    guest.context.close()


@pytest.fixture(scope="module")
def lasting(session: AppSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    with static_host(tmp_path_factory.mktemp("host")) as host:
        guest = Guest(session, host)
        app = guest.visit()
        guest.wait_until_kept()
        assert guest.visit(app).run(NUMPY) == TEN
        yield guest
        guest.context.close()


@pytest.fixture
def kept(lasting: Guest) -> Iterator[Guest]:
    """A guest whose build is cached, with all files that later visits may use."""
    lasting.leave()
    yield lasting
    lasting.leave()
    lasting.host.stop()
    lasting.host.start()
    lasting.context.set_offline(False)


def loads(page: Page) -> list[str]:
    """Return a list to which each document loaded by the page is added."""
    found: list[str] = []

    def add(frame: Frame) -> None:
        if frame == page.main_frame:
            found.append(frame.url)

    page.on("framenavigated", add)
    return found


class TestStaticHost:
    def test_it_becomes_isolated_by_one_reload(self, guest: Guest) -> None:
        app = guest.open()
        loaded = loads(app.page)
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is True
        assert loaded == [guest.host.url] * 2
        assert app.run(COMPUTE)["result"] == "240"
        assert problems(app) == []

        # The next one needs no reload; and the policy applies on a host that sends none.
        app = guest.open()
        loaded = loads(app.page)
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is True
        assert loaded == [guest.host.url]
        assert app.page.evaluate(EVAL) == "EvalError"
        assert app.page.workers[0].evaluate(EVAL) == "EvalError"
        assert problems(app) == []

    def test_ctrl_c_ends_a_loop_there(self, kept: Guest) -> None:
        app = kept.visit()
        done = app.page.evaluate(
            """async () => {
              const running = pyTensor.run("while True: pass");
              await new Promise((resolve) => setTimeout(resolve, 300));
              await pyTensor.interrupt();
              return await running;
            }"""
        )
        assert done["error"].endswith("KeyboardInterrupt")

    @pytest.mark.parametrize(
        ("sw", "times"),
        [(None, 1), ("self.addEventListener('fetch', () => {});", 2), ("this is no script", 1)],
        ids=["missing", "without effect", "broken"],
    )
    def test_no_loop_where_the_worker_does_not_help(
        self, guest: Guest, sw: str | None, times: int
    ) -> None:
        path = guest.host.site / "sw.js"
        if sw is None:
            path.unlink()
        else:
            path.write_text(sw, "utf-8")
        app = guest.open()
        loaded = loads(app.page)
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is False
        assert app.run(COMPUTE)["result"] == "240"
        assert len(loaded) == times
        expect(app.page.locator("#banner")).to_contain_text("no cross-origin isolation")
        guest.look(app)  # in the same tab: it does not try again
        assert len(loaded) == times + 1

    def test_without_session_storage_there_is_no_reload(self, guest: Guest) -> None:
        app = guest.open()
        app.page.add_init_script("delete window.sessionStorage;")
        loaded = loads(app.page)
        guest.visit(app)
        assert loaded == [guest.host.url]
        assert app.run(COMPUTE)["result"] == "240"

    def test_in_a_frame_it_does_not_reload(self, guest: Guest) -> None:
        (guest.host.site / "frame.html").write_text(
            '<!doctype html><title>Frame</title><iframe src="./"></iframe>', "utf-8"
        )
        app = guest.open()
        app.page.goto(guest.host.url + "frame.html")
        frame = app.page.frames[1]
        assert frame.evaluate(READY)["crossOriginIsolated"] is False
        assert frame.evaluate("code => pyTensor.run(code)", COMPUTE)["result"] == "240"
        documents = [path for path in guest.host.requested if path.endswith("/where/")]
        assert len(documents) == 1

    def test_the_wheel_of_the_footer_is_complete(self, kept: Guest) -> None:
        """The cached page serves it too: the build contains only a part, with the same name."""
        app = kept.look()
        with app.page.expect_download() as download:
            app.page.get_by_role("link", name="Source (wheel)").click()
        with zipfile.ZipFile(download.value.path()) as wheel:
            assert "py_tensor/backends/native.py" in wheel.namelist()

    def test_a_policy_of_the_host_does_not_replace_ours(self, guest: Guest) -> None:
        theirs = "object-src 'none'"
        guest.host.headers["Content-Security-Policy"] = theirs
        app = guest.look()
        for _ in range(2):
            document = app.page.goto(guest.host.url)
            assert document is not None
            policies = document.headers["content-security-policy"]
            assert policies.count(CONTENT_SECURITY_POLICY) == 1
            assert policies.count(theirs) == 2  # ours has these words too
            until_started(app.page)
            assert app.page.workers[0].evaluate(EVAL) == "EvalError"
            guest.wait_until_kept()


class TestOffline:
    def test_a_visit_without_a_network(self, guest: Guest) -> None:
        app = guest.visit()
        assert app.run(NUMPY) == TEN
        guest.wait_until_kept()
        assert app.page.evaluate(KEPT_NUMPY) == 1
        guest.go_offline()
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is True
        assert app.run(COMPUTE)["result"] == "240"
        # It was used before.
        assert app.run(NUMPY) == TEN
        assert problems(app) == []
        again = guest.visit()
        assert again.run(COMPUTE)["result"] == "240"

    def test_unused_files_are_not_fetched(self, guest: Guest) -> None:
        app = guest.visit()  # until Python has all that it fetches
        guest.wait_until_kept()
        wanted = {"numpy", "micropip"}
        assert [path for path in guest.host.requested if any(name in path for name in wanted)] == []
        # At its first use by a page that the worker serves, it is fetched and cached.
        guest.visit(app)
        assert app.run(NUMPY) == TEN
        assert sum("numpy" in path for path in guest.host.requested) == 1
        assert app.page.evaluate(KEPT_NUMPY) == 1

    def test_every_file_of_the_build_is_there(self, kept: Guest) -> None:
        page = kept.beside()
        listed = json.loads((kept.host.site / "files.json").read_text("utf-8"))
        on_disk = {
            path.relative_to(kept.host.files).as_posix()
            for path in kept.host.files.rglob("*")
            if path.is_file()
        }
        assert on_disk == set(listed["files"])
        kept.host.stop()
        found = page.evaluate(
            """async ([build, files]) => Promise.all(files.map(async (file) => {
              const { status } = await fetch(`builds/${build}/${file}`);
              return status;
            }))""",
            [listed["build"], [f for f in listed["files"] if f not in listed["onDemand"]]],
        )
        assert set(found) == {200}


class TestUpdate:
    def test_a_new_build_is_taken_whole(self, guest: Guest) -> None:
        first = guest.look()
        old = guest.wait_until_kept()
        assert marks(guest.look(first)) == {None}

        new = guest.host.publish(marked("new"))
        second = guest.look()
        assert len(marks(second)) == 1
        assert guest.wait_until_kept(new) != old
        assert marks(guest.look(second)) == {"new"}

        # The open page still has its own files.
        guest.go_offline()
        again = guest.visit()
        assert marks(again) == {"new"}
        assert "dataset.app" in again.page.evaluate(OWN_FILE)
        assert "dataset.app" not in first.page.evaluate(OWN_FILE)
        assert problems(again) == []

    def test_the_session_is_there_in_the_new_build(self, guest: Guest) -> None:
        app = guest.visit()
        guest.wait_until_kept()
        repl = Repl(app.page)
        inputs = [
            "y = 5; y",
            "pt.plot([1., 4., 9.], title='Squares')",
            "open('kept.txt', 'w').write('of a file')",
        ]
        editor = Editor(app.page).open()
        enter(repl, *inputs)
        editor.write("print(y * 2)")
        editor.press("Control+Enter")
        editor.expect_done(1)
        repl.input.fill("a draft")
        app.page.wait_for_timeout(6000)  # stored by then

        new = guest.host.publish(marked("new"))
        guest.visit(app)
        guest.wait_until_kept(new)
        guest.visit(app)
        assert marks(app) == {"new"}
        expect(note(repl)).to_contain_text("Restored your session")
        prompted = [f">>> {source}" for source in inputs]
        expect(repl.entries.locator(".source")).to_have_text(prompted)
        expect(repl.entries.nth(0).locator(".result")).to_have_text("5")
        expect(repl.entries.nth(1).locator("figure.plotted")).to_contain_text("Squares")
        repl.expect_text("a draft")
        editor.expect_files("kept.txt", "main.py")
        assert app.run("open('kept.txt').read()")["result"] == "'of a file'"
        editor.expect_done(1)
        assert editor.lines == ["print(y * 2)", "= 10"]
        assert "NameError" in app.run("y")["error"]

    def test_a_build_that_returns_is_cached_again(self, guest: Guest, tmp_path: Path) -> None:
        app = guest.look()
        first = guest.wait_until_kept()
        shutil.copytree(guest.host.site, tmp_path / "first")
        for name in ("second", "third"):
            new = guest.host.publish(marked(name))
            guest.look(app)
            guest.wait_until_kept(new)
        shutil.rmtree(guest.host.site)
        # With new modification times, or the server would answer that nothing has changed.
        shutil.copytree(tmp_path / "first", guest.host.site, copy_function=shutil.copyfile)
        guest.look(app)
        guest.wait_until_kept(first)
        guest.go_offline()
        assert marks(guest.visit(app)) == {None}

    def test_the_servers_list_is_requested_once(self, kept: Guest) -> None:
        """The page has a build that is neither cached nor the server's current one."""
        page = kept.beside()
        before = len(kept.host.requested)
        found = page.evaluate(
            """async () => {
              const statuses = [];
              for (const name of ["a.js", "b.js", "c.js", "d.js"]) {
                statuses.push((await fetch(`builds/0123456789abcdef/${name}`)).status);
              }
              return statuses;
            }"""
        )
        assert found == [404] * 4
        asked = [path for path in kept.host.requested[before:] if path.endswith("/files.json")]
        assert len(asked) == 1

    def test_one_that_is_published_by_halves_is_not_taken(self, guest: Guest) -> None:
        app = guest.look()
        old = guest.wait_until_kept()
        guest.host.publish(marked("new"), wrongly=True)
        before = len(guest.host.requested)
        for _ in range(2):
            assert marks(guest.look(app)) == {None}
        while not any("files.json" in path for path in guest.host.requested[before:]):
            app.page.wait_for_timeout(100)
        app.page.wait_for_timeout(1000)
        guest.go_offline()
        assert marks(guest.visit(app)) == {None}
        assert guest.wait_until_kept() == old


KINDS = ["truncate", "empty", "flip", "type", "status", "missing"]
DAMAGE = """async (damages) => {
  for (const { cache: name, url, kind, at, bit } of damages) {
    const cache = await caches.open(name);
    const found = await cache.match(url);
    let bytes = new Uint8Array(await found.arrayBuffer());
    const headers = new Headers(found.headers);
    let status = 200;
    if (kind === "truncate") bytes = bytes.slice(0, Math.floor(at * bytes.length));
    if (kind === "empty") bytes = new Uint8Array();
    if (kind === "flip") bytes[Math.floor(at * bytes.length)] ^= 1 << bit;
    if (kind === "type") headers.set("Content-Type", "text/wrong");
    if (kind === "status") status = 404;
    if (kind === "missing") await cache.delete(url);
    else await cache.put(url, new Response(bytes, { status, headers }));
  }
}"""
ENTRIES = """async () => {
  const entries = [];
  for (const name of await caches.keys()) {
    for (const { url } of await (await caches.open(name)).keys()) entries.push([name, url]);
  }
  return entries.sort();
}"""
FETCHED = """async ([build, path]) => {
  const response = await fetch(`builds/${build}/${path}`);
  const bytes = await response.arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [response.status, response.headers.get("Content-Type"), hex];
}"""


class TestDamage:
    """Damaged cache entries are fetched again. The last test leaves another site."""

    def damage(self, page: Page, part: str = "", kinds: Sequence[str] = KINDS) -> None:
        """Damage the entries whose URL ends like this, while the service worker is not running."""
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        draw = random.Random(seed)
        damages = [
            {
                "cache": cache,
                "url": url,
                "kind": draw.choice(kinds),
                "at": draw.random(),
                "bit": draw.randrange(8),
            }
            for cache, url in page.evaluate(ENTRIES)
            if url.endswith(part)
        ]
        assert damages
        page.evaluate(DAMAGE, damages)
        devtools = page.context.new_cdp_session(page)
        devtools.send("ServiceWorker.enable")
        devtools.send("ServiceWorker.stopAllWorkers")
        devtools.detach()

    @pytest.mark.parametrize("record", ["/kept", "/files.json"])
    def test_a_record(self, kept: Guest, record: str) -> None:
        self.damage(kept.beside(), record, ["truncate", "empty", "flip"])
        app = kept.visit()
        assert app.run(COMPUTE)["result"] == "240"
        assert problems(app) == []
        # It is written again, and the build is available without the server.
        kept.wait_until_kept()
        kept.go_offline()
        assert kept.visit().run(COMPUTE)["result"] == "240"

    def test_each_file_in_turn(self, kept: Guest) -> None:
        page = kept.beside()
        listed = json.loads((kept.host.site / "files.json").read_text("utf-8"))
        entries = page.evaluate(ENTRIES)
        root = kept.host.url
        found = {url.removeprefix(root) for _, url in entries} - {"kept", "files.json"}
        assert found <= set(listed["files"])
        assert len(found) > 20
        seed = random.randrange(10**6)
        draw = random.Random(seed)
        for path in sorted(found - {"index.html"}):
            kind = draw.choice(KINDS)
            (cache,) = [name for name, url in entries if url == root + path]
            one = {"cache": cache, "url": root + path, "kind": kind}
            page.evaluate(DAMAGE, [{**one, "at": draw.random(), "bit": draw.randrange(8)}])
            status, content_type, digest = page.evaluate(FETCHED, [listed["build"], path])
            said = f"{path}, {kind}, seed {seed}"
            assert (status, digest) == (200, listed["files"][path]), said
            assert content_type == MIME_TYPES[Path(path).suffix], said
        # The fetched files replace them in the cache.
        kept.go_offline()
        assert kept.visit().run(NUMPY) == TEN

    def test_all_entries_at_once(self, kept: Guest) -> None:
        self.damage(kept.beside())
        app = kept.visit()
        assert app.info["crossOriginIsolated"] is True
        assert app.run(NUMPY) == TEN
        assert problems(app) == []

    def test_files_that_the_server_lacks_come_from_its_new_build(self, guest: Guest) -> None:
        app = guest.visit()
        guest.wait_until_kept()
        new = guest.host.publish(marked("new"))
        self.damage(app.page, ".js", ["truncate"])
        guest.visit(app)
        assert len(marks(app)) == 1
        guest.wait_until_kept(new)
        assert marks(guest.look(app)) == {"new"}

    def test_caches_that_cannot_be_read_at_all(self, kept: Guest) -> None:
        sw = kept.host.site / "sw.js"
        lines = """for (const name of ["match", "open", "keys", "delete"]) {
          CacheStorage.prototype[name] = () => Promise.reject(new DOMException("", "UnknownError"));
        }"""
        page = kept.beside()
        sw.write_text(f"{lines}\n{sw.read_text('utf-8')}", "utf-8")
        # Chromium may never answer a navigation that began while one worker replaced another.
        page.evaluate(REPLACE)
        app = kept.open()
        for _ in range(2):
            kept.visit(app)
            assert app.run(NUMPY) == TEN
        assert problems(app) == []


LEARN = """() => {
  document.getElementById("tab-learn").click();
  return new Promise((resolve) => {
    const look = () => {
      const shown = document.querySelector("#panel-learn h2, #panel-learn .note");
      if (shown) resolve(shown.textContent);
      else setTimeout(look, 20);
    };
    look();
  });
}"""


class TestDeploymentUnderAVisit:
    """Files that an open page loads after the server has another build."""

    @pytest.fixture
    def served(self, session: AppSession, host: StaticHost) -> Iterator[AppPage]:
        """A page in a browser without service workers."""
        app = session.open_page(boot=False)
        app.page.goto(host.url)
        app.info = until_ready(app.page)
        yield app
        app.close()

    @pytest.mark.parametrize(
        "load",
        [
            f"async () => {{ await ({LEARN})(); }}",
            'async () => { window.done = await pyTensor.run("import numpy"); }',
            'async () => { window.done = await pyTensor.run("pt.median"); }',
            "async () => { document.getElementById('restart').click(); }",
        ],
        ids=["a view", "NumPy", "a part of the library", "a new Python"],
    )
    def test_missing_files_are_reported_with_a_reload(
        self, served: AppPage, host: StaticHost, load: str
    ) -> None:
        banner = served.page.locator("#banner")
        assert served.run("1 + 1")["result"] == "2"
        host.publish(marked("new"))
        expect(banner).not_to_contain_text("newer version")
        served.page.evaluate(load)
        expect(banner).to_contain_text("A newer version of this page is available", timeout=60_000)
        if "numpy" in load:
            error = served.page.evaluate("window.done.error")
            assert "numpy could not be loaded from the server of this page" in error
        banner.get_by_role("button", name="Reload").click()
        expect(served.page.locator("html")).to_have_attribute("data-editor", "new")
        until_started(served.page)
        assert marks(served) == {"new"}
        expect(banner).not_to_contain_text("newer version")

    def test_a_failure_of_a_build_that_is_still_there_is_not_blamed_on_it(
        self, served: AppPage, host: StaticHost
    ) -> None:
        old = host.files
        host.publish(marked("new"))
        shutil.copytree(host.files, old)
        served.page.route("**/numpy-*.whl", lambda route: route.fulfill(status=500))
        with served.page.expect_request_finished(lambda request: "/numpy-" in request.url):
            served.page.evaluate('async () => { await pyTensor.run("import numpy"); }')
        served.page.wait_for_timeout(500)
        expect(served.page.locator("#banner")).not_to_contain_text("newer version")

    def test_cached_files_stay_usable(self, guest: Guest) -> None:
        """They stay usable for the page of a first visit too."""
        app = guest.visit()
        guest.wait_until_kept()
        guest.host.publish(marked("new"))
        assert "newer version" not in app.page.evaluate(LEARN)
        assert app.run(NUMPY) == TEN  # from the new build, which has the same file
        app.page.evaluate("document.getElementById('restart').click()")
        assert until_ready(app.page)["boot"] in ("plain", "snapshot")
        assert marks(app) == {None}
        assert problems(app) == []

    def test_a_visit_takes_only_what_has_changed(self, guest: Guest) -> None:
        first = guest.look()
        guest.wait_until_kept()
        new = guest.host.publish(marked("new"))
        before = len(guest.host.requested)
        assert marks(guest.visit(first)) == {"new"}
        of_build = f"/builds/{new}/"
        asked = {path.partition(of_build)[2] for path in guest.host.requested[before:]} - {""}
        of_their_build = {"build.json", "index.html"}
        # Not used by the first visit, and cached once Python is ready at the second.
        on_return = json.loads((SITE / "files.json").read_text())["onReturn"]
        assert {*MARKS} <= asked <= {*MARKS, *of_their_build, *on_return}


class TestFailure:
    """A start that fails, on a host that may have another build by then."""

    @pytest.fixture
    def page(self, session: AppSession) -> Iterator[Page]:
        app = session.open_page(boot=False)
        yield app.page
        app.close()

    def test_a_newer_build_does_not_hide_it(self, page: Page, host: StaticHost) -> None:
        held: list[Route] = []
        loaded: list[str] = []
        page.route("**/lock.json", lambda route: held.append(route))
        page.on("requestfinished", lambda request: loaded.append(request.url.rpartition("/")[2]))
        page.goto(host.url)
        page.wait_for_function("() => window.pyTensor")
        while not held or "worker.js" not in loaded:
            page.wait_for_timeout(20)
        host.publish(marked("new"))
        for route in held:
            route.fulfill(status=404)
        banner = page.locator("#banner")
        expect(banner).to_contain_text("Python could not be started", timeout=60_000)
        expect(banner).to_contain_text("A newer version of this page is available")
        expect(banner.get_by_role("button")).to_have_text(["Reload", "Try again"])

    def test_a_server_that_does_not_answer_hides_it_for_two_seconds(
        self, page: Page, host: StaticHost
    ) -> None:
        page.route("**/lock.json", lambda route: route.fulfill(status=404))
        page.route("**/where/build.json", lambda route: None)
        page.goto(host.url)
        banner = page.locator("#banner")
        expect(banner).to_contain_text("lock.json could not be loaded (404", timeout=60_000)

    def test_a_failure_that_is_over_is_not_reported(self, page: Page, host: StaticHost) -> None:
        held: list[Route] = []
        page.route("**/lock.json", lambda route: route.fulfill(status=404))
        page.route("**/where/build.json", lambda route: held.append(route))
        page.goto(host.url)
        status = page.locator("#status-text")
        expect(status).to_have_text("Python did not start", timeout=60_000)
        page.unroute("**/lock.json")
        page.evaluate("document.getElementById('restart').click()")
        expect(status).not_to_have_text("Python did not start")
        until_ready(page)
        for route in held:
            route.continue_()
        page.wait_for_timeout(500)
        expect(page.locator("#banner")).not_to_contain_text("could not be started")
