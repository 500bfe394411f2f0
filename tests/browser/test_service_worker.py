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

from tests.browser.app import AppPage, AppSession
from tests.browser.static_host import StaticHost, static_host
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
"""Lines of a build that show in the page, and in its worker."""

MARKS_FOUND = """
import js
[getattr(js, "mark", None)]
"""


EVAL = """() => new Promise((resolve) => setTimeout(() => {
  try {
    resolve(Function("return 1")());
  } catch (error) {
    resolve(error.name);
  }
}))"""
"""Not at once: what Playwright itself evaluates is free of the policy."""

OWN_FILE = """() => {
  const { src } = document.querySelector('script[src$="app.js"]');
  return fetch(src).then((response) => response.text());
}"""
"""A file of the build that the page is of."""


class Guest:
    """One browser profile that visits the host."""

    def __init__(self, session: AppSession, host: StaticHost) -> None:
        self.host = host
        first = session.open_page(service_worker=True, boot=False)
        self.context: BrowserContext = first.page.context
        self._blank = first.page

    def open(self) -> AppPage:
        """A new page that is blank yet."""
        return AppPage(self.context.new_page())

    def visit(self, app: AppPage | None = None) -> AppPage:
        """The page, booted, however often it has reloaded itself before."""
        app = app or self.open()
        app.page.goto(self.host.url, wait_until="commit")
        app.info = until_ready(app.page)
        return app

    def leave(self) -> None:
        for page in self.context.pages:
            if page is not self._blank:
                page.close()

    def wait_until_kept(self, build: str | None = None) -> str:
        """Wait for a build (this one) to be kept, with both records undamaged; which it is."""
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


def until_ready(page: Page) -> dict[str, Any]:
    """What `pyTensor.ready` gives in a page that may reload itself meanwhile."""
    deadline = time.monotonic() + KEPT_SECONDS
    while True:
        try:
            return page.evaluate(READY)
        except PlaywrightError as error:
            if "Execution context was destroyed" not in str(error):
                raise
            assert time.monotonic() < deadline, "the page reloads itself again and again"


def marks(app: AppPage) -> set[str | None]:
    """The builds of which something is in this page."""
    in_python = app.run(MARKS_FOUND)
    assert in_python["error"] is None
    in_page = app.page.evaluate(
        "() => ['app', 'editor'].map((name) => document.documentElement.dataset[name] ?? null)"
    )
    return {*in_page, *eval(in_python["result"])}


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


def loads(page: Page) -> list[str]:
    """A list that grows with each document that the page goes to."""
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

        # The next one needs no reload; and the policy holds on a host that sends none.
        app = guest.open()
        loaded = loads(app.page)
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is True
        assert loaded == [guest.host.url]
        assert app.page.evaluate(EVAL) == "EvalError"
        assert app.page.workers[0].evaluate(EVAL) == "EvalError"
        assert problems(app) == []

    def test_ctrl_c_ends_a_loop_there(self, guest: Guest) -> None:
        app = guest.visit()
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
        guest.visit(app)  # in the same tab: it does not try again
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

    def test_the_wheel_of_the_foot_is_whole(self, guest: Guest) -> None:
        """In the page of the cache, too: the build has only a part of it, of the same name."""
        app = guest.visit()
        guest.wait_until_kept()
        guest.visit(app)
        with app.page.expect_download() as download:
            app.page.get_by_role("link", name="Source (wheel)").click()
        with zipfile.ZipFile(download.value.path()) as wheel:
            assert "py_tensor/backend/native.py" in wheel.namelist()

    def test_a_policy_of_the_host_does_not_replace_ours(self, guest: Guest) -> None:
        theirs = "object-src 'none'"
        guest.host.headers["Content-Security-Policy"] = theirs
        app = guest.visit()
        for _ in range(2):
            document = app.page.goto(guest.host.url)
            assert document is not None
            policies = document.headers["content-security-policy"]
            assert policies.count(CONTENT_SECURITY_POLICY) == 1
            assert policies.count(theirs) == 2  # ours has these words, too
            until_ready(app.page)
            assert app.page.workers[0].evaluate(EVAL) == "EvalError"
            guest.wait_until_kept()


class TestOffline:
    def test_a_visit_without_a_network(self, guest: Guest) -> None:
        app = guest.visit()
        assert app.run(NUMPY) == TEN
        guest.wait_until_kept()
        assert app.page.evaluate(KEPT_NUMPY) == 1
        guest.host.stop()
        guest.context.set_offline(True)
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is True
        assert app.run(COMPUTE)["result"] == "240"
        # It was used before.
        assert app.run(NUMPY) == TEN
        assert problems(app) == []
        again = guest.visit()
        assert again.run(COMPUTE)["result"] == "240"

    def test_what_was_not_used_is_not_fetched(self, guest: Guest) -> None:
        app = guest.visit()
        guest.wait_until_kept()
        wanted = {"numpy", "micropip"}
        assert [path for path in guest.host.requested if any(name in path for name in wanted)] == []
        # At its first use by a page that the worker serves it is fetched, and kept.
        guest.visit(app)
        assert app.run(NUMPY) == TEN
        assert sum("numpy" in path for path in guest.host.requested) == 1
        guest.host.stop()
        guest.context.set_offline(True)
        guest.visit(app)
        assert app.run(NUMPY) == TEN

    def test_every_file_of_the_build_is_there(self, guest: Guest) -> None:
        app = guest.visit()
        guest.wait_until_kept()
        listed = json.loads((guest.host.site / "files.json").read_text("utf-8"))
        on_disk = {
            path.relative_to(guest.host.files).as_posix()
            for path in guest.host.files.rglob("*")
            if path.is_file()
        }
        assert on_disk == set(listed["files"])
        guest.host.stop()
        found = app.page.evaluate(
            """async ([build, files]) => Promise.all(files.map(async (file) => {
              const { status } = await fetch(`builds/${build}/${file}`);
              return status;
            }))""",
            [listed["build"], [f for f in listed["files"] if f not in listed["onDemand"]]],
        )
        assert set(found) == {200}


class TestUpdate:
    def test_a_new_build_is_taken_whole(self, guest: Guest) -> None:
        first = guest.visit()
        old = guest.wait_until_kept()
        assert marks(guest.visit(first)) == {None}

        new = guest.host.publish(marked("new"))
        second = guest.visit()
        assert len(marks(second)) == 1
        assert guest.wait_until_kept(new) != old
        assert marks(guest.visit(second)) == {"new"}

        # The page that is open still has its own files.
        guest.host.stop()
        guest.context.set_offline(True)
        again = guest.visit()
        assert marks(again) == {"new"}
        assert "dataset.app" in again.page.evaluate(OWN_FILE)
        assert "dataset.app" not in first.page.evaluate(OWN_FILE)
        assert problems(again) == []

    def test_one_that_comes_back_is_kept_anew(self, guest: Guest, tmp_path: Path) -> None:
        app = guest.visit()
        first = guest.wait_until_kept()
        shutil.copytree(guest.host.site, tmp_path / "first")
        for name in ("second", "third"):
            new = guest.host.publish(marked(name))
            guest.visit(app)
            guest.wait_until_kept(new)
        shutil.rmtree(guest.host.site)
        # As newly written files, or the server would say that nothing has changed.
        shutil.copytree(tmp_path / "first", guest.host.site, copy_function=shutil.copyfile)
        guest.visit(app)
        guest.wait_until_kept(first)
        guest.host.stop()
        guest.context.set_offline(True)
        assert marks(guest.visit(app)) == {None}

    def test_the_servers_list_is_asked_for_once(self, guest: Guest) -> None:
        """By a page whose build is neither kept nor what the server has now."""
        app = guest.visit()
        guest.wait_until_kept()
        before = len(guest.host.requested)
        found = app.page.evaluate(
            """async () => {
              const statuses = [];
              for (const name of ["a.js", "b.js", "c.js", "d.js"]) {
                statuses.push((await fetch(`builds/0123456789abcdef/${name}`)).status);
              }
              return statuses;
            }"""
        )
        assert found == [404] * 4
        asked = [path for path in guest.host.requested[before:] if path.endswith("/files.json")]
        assert len(asked) == 1

    def test_one_that_is_published_by_halves_is_not_taken(self, guest: Guest) -> None:
        app = guest.visit()
        old = guest.wait_until_kept()
        guest.host.publish(marked("new"), wrongly=True)
        before = len(guest.host.requested)
        for _ in range(2):
            assert marks(guest.visit(app)) == {None}
        while not any("files.json" in path for path in guest.host.requested[before:]):
            app.page.wait_for_timeout(100)
        app.page.wait_for_timeout(1000)
        guest.host.stop()
        guest.context.set_offline(True)
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
    """What a browser has damaged of its caches is fetched again."""

    def kept(self, guest: Guest) -> AppPage:
        """A page whose build is kept, with all that a visit may use later."""
        app = guest.visit()
        guest.wait_until_kept()
        assert guest.visit(app).run(NUMPY) == TEN
        return app

    def damage(self, app: AppPage, part: str = "", kinds: Sequence[str] = KINDS) -> None:
        """Damage the entries whose address ends so, while the service worker does not run."""
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
            for cache, url in app.page.evaluate(ENTRIES)
            if url.endswith(part)
        ]
        assert damages
        app.page.evaluate(DAMAGE, damages)
        devtools = app.page.context.new_cdp_session(app.page)
        devtools.send("ServiceWorker.enable")
        devtools.send("ServiceWorker.stopAllWorkers")
        devtools.detach()

    def test_each_file_in_turn(self, guest: Guest) -> None:
        app = self.kept(guest)
        listed = json.loads((guest.host.site / "files.json").read_text("utf-8"))
        entries = app.page.evaluate(ENTRIES)
        root = guest.host.url
        found = {url.removeprefix(root) for _, url in entries} - {"kept", "files.json"}
        assert found <= set(listed["files"])
        assert len(found) > 20
        seed = random.randrange(10**6)
        draw = random.Random(seed)
        for path in sorted(found - {"index.html"}):
            kind = draw.choice(KINDS)
            (cache,) = [name for name, url in entries if url == root + path]
            one = {"cache": cache, "url": root + path, "kind": kind}
            app.page.evaluate(DAMAGE, [{**one, "at": draw.random(), "bit": draw.randrange(8)}])
            status, content_type, digest = app.page.evaluate(FETCHED, [listed["build"], path])
            said = f"{path}, {kind}, seed {seed}"
            assert (status, digest) == (200, listed["files"][path]), said
            assert content_type == MIME_TYPES[Path(path).suffix], said
        # What was fetched is kept in their place.
        guest.host.stop()
        guest.context.set_offline(True)
        assert guest.visit(app).run(NUMPY) == TEN

    def test_all_entries_at_once(self, guest: Guest) -> None:
        app = self.kept(guest)
        self.damage(app)
        guest.visit(app)
        assert app.info["crossOriginIsolated"] is True
        assert app.run(NUMPY) == TEN
        assert problems(app) == []

    @pytest.mark.parametrize("record", ["/kept", "/files.json"])
    def test_a_record(self, guest: Guest, record: str) -> None:
        app = self.kept(guest)
        self.damage(app, record, ["truncate", "empty", "flip"])
        guest.visit(app)
        assert app.run(COMPUTE)["result"] == "240"
        assert problems(app) == []
        # It is written anew, and the build is there without the server.
        guest.wait_until_kept()
        guest.host.stop()
        guest.context.set_offline(True)
        assert guest.visit(app).run(COMPUTE)["result"] == "240"

    def test_what_the_server_has_no_more_comes_of_its_new_build(self, guest: Guest) -> None:
        app = self.kept(guest)
        new = guest.host.publish(marked("new"))
        self.damage(app, ".js", ["truncate"])
        guest.visit(app)
        assert len(marks(app)) == 1
        guest.wait_until_kept(new)
        assert marks(guest.visit(app)) == {"new"}

    def test_caches_that_cannot_be_read_at_all(self, guest: Guest) -> None:
        app = self.kept(guest)
        sw = guest.host.site / "sw.js"
        lines = """for (const name of ["match", "open", "keys", "delete"]) {
          CacheStorage.prototype[name] = () => Promise.reject(new DOMException("", "UnknownError"));
        }"""
        sw.write_text(f"{lines}\n{sw.read_text('utf-8')}", "utf-8")
        for _ in range(2):
            guest.visit(app)
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
    """What an open page loads after the server has another build."""

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
    def test_what_is_gone_is_told_with_a_reload(
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
        until_ready(served.page)
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

    def test_what_is_kept_goes_on(self, guest: Guest) -> None:
        """Of the page of a first visit, too."""
        app = guest.visit()
        guest.wait_until_kept()
        guest.host.publish(marked("new"))
        assert "newer version" not in app.page.evaluate(LEARN)
        assert app.run(NUMPY) == TEN  # from the new build, which has the same
        app.page.evaluate("document.getElementById('restart').click()")
        assert until_ready(app.page)["boot"] in ("plain", "snapshot")
        assert marks(app) == {None}
        assert problems(app) == []

    def test_a_visit_takes_only_what_has_changed(self, guest: Guest) -> None:
        first = guest.visit()
        guest.wait_until_kept()
        new = guest.host.publish(marked("new"))
        before = len(guest.host.requested)
        assert marks(guest.visit(first)) == {"new"}
        of_build = f"/builds/{new}/"
        asked = {path.partition(of_build)[2] for path in guest.host.requested[before:]} - {""}
        # The last two have to be of their build.
        assert {*MARKS} <= asked <= {*MARKS, "build.json", "index.html"}


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

    def test_one_that_is_over_is_not_told(self, page: Page, host: StaticHost) -> None:
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
