"""A second visit: Python starts from the first visit's snapshot, or plainly if that fails."""

from __future__ import annotations

import json
import re
import time
from ast import literal_eval
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.browser.app import AppPage, AppSession
from tests.browser.visitor import Visitor

STATE = """
import builtins, gc, json, os, random, signal, sys, time, warnings
import importlib.metadata, pyodide_js
json.dumps({
    "path": sys.path, "modules": sorted(sys.modules), "environ": dict(os.environ),
    "cwd": os.getcwd(), "time zone": time.tzname,
    "finders": [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path],
    "streams": [type(s).__name__ for s in (sys.stdin, sys.stdout, sys.stderr)],
    "limit": sys.getrecursionlimit(), "argv": sys.argv, "flags": list(sys.flags),
    "signal": repr(signal.getsignal(signal.SIGINT)), "gc": [gc.isenabled(), gc.get_threshold()],
    "globals": sorted(globals()), "builtins": sorted(dir(builtins)),
    "warnings": len(warnings.filters),
    "packages": sorted((d.name, d.version, d.read_text("INSTALLER"))
                       for d in importlib.metadata.distributions()),
    "loaded": pyodide_js.loadedPackages.to_py(),
    "files": sorted(os.path.join(folder, name) for folder, _, names in os.walk("/lib")
                    for name in names if not folder.endswith("/__pycache__")),
})
"""

CHOOSE = """
import json
found = json.loads(pt.tuning().to_json())
wanted = "256" if pt.device_info()["choices"]["map_workgroup"] == "64" else "64"
record = json.dumps(found | {"when": "now", "choices": {"map_workgroup": wanted}})
later = next(k.later for k in pt.Tuning.from_json(record).parameters if k.name == "map_workgroup")
(wanted, later)
"""

CHOSEN = """
size = pt.device_info()["choices"]["map_workgroup"]
wgsl = pt.explain(pt.ones(3) + 1).wgsl()
(size, f"const WORKGROUP = {size}u" in wgsl, pt.device_info()["tuned"], pt.tuning().when,
 (pt.arange(10) * 2).tolist() == list(range(0, 20, 2)))
"""

FRESH = """
import random, secrets, tempfile, uuid
str((random.random(), random.Random().random(), secrets.token_hex(8), tempfile.mktemp(),
     uuid.uuid4(), uuid.uuid1(), pt.rand(4).tolist()))
"""


def in_worker(name: str, code: str) -> dict[str, Callable[[Route], Any]]:
    """Return a route under which a worker begins with `code`."""

    def serve(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=code + response.text())

    return {f"**/{name}": serve}


def until_it_is_being_made(app: AppPage, visitor: Visitor) -> None:
    """Open the page, and wait for the second worker."""
    is_maker = lambda worker: "snapshot_worker" in worker.url  # noqa: E731
    with app.page.expect_event("worker", is_maker, timeout=120_000):
        app.page.goto(visitor.url)


def expect_workers(app: AppPage, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(app.page.workers) != count:
        assert time.monotonic() < deadline, [worker.url for worker in app.page.workers]
        app.page.wait_for_timeout(50)


@pytest.fixture(scope="module")
def profile(session: AppSession) -> Iterator[tuple[Visitor, AppPage]]:
    """A visitor whose first visit made a snapshot, and the page of that visit."""
    visitor = Visitor(session)
    first = visitor.visit()
    visitor.wait_until_kept()
    visitor.remember()
    yield visitor, first
    visitor.close()


@pytest.fixture
def visitor(profile: tuple[Visitor, AppPage]) -> Iterator[Visitor]:
    visitor, _ = profile
    visitor.put_back()
    yield visitor
    visitor.leave()


class TestSecondVisit:
    def test_the_first_is_plain_and_leaves_one(self, profile: tuple[Visitor, AppPage]) -> None:
        visitor, first = profile
        assert first.info["boot"] == "plain"
        (record,) = visitor.kept()
        assert record["snapshot"]
        # Before the tests below close that page: Python is the same as without a snapshot.
        again = visitor.visit()
        assert again.info["boot"] == "snapshot"
        assert {**again.info, "boot": "plain"} == first.info
        here, there = (json.loads(eval(app.run(STATE)["result"])) for app in (first, again))
        plain, restored = (set(state.pop("modules")) for state in (here, there))
        assert plain <= restored
        # It has read the shaders already.
        assert {name.partition(".")[0] for name in restored - plain} <= {"importlib"}
        addresses = re.compile(r"0x[0-9a-f]+")
        here, there = ({k: addresses.sub("", str(v)) for k, v in s.items()} for s in (here, there))
        assert here == there

    def test_nothing_is_logged(self, visitor: Visitor) -> None:
        app = visitor.visit()
        app.run("pt.ones(3) + 1")
        app.settle()
        assert [str(line) for line in app.logged if line.kind != "log"] == []

    def test_random_numbers_are_new(self, visitor: Visitor) -> None:
        first, second = (visitor.visit().run(FRESH) for _ in range(2))
        assert first["error"] is None
        here, there = (
            eval(done["result"][1:-1].replace("UUID", "str")) for done in (first, second)
        )
        assert [value for value, other in zip(here, there, strict=True) if value == other] == []

    @pytest.mark.alone
    def test_it_is_sooner_than_a_plain_boot(self, visitor: Visitor) -> None:
        """Medians of alternating visits: .5 to .6 of the time; the build compiles for both."""

        def milliseconds(boot: str) -> float:
            app = visitor.visit()
            assert app.info["boot"] == boot
            taken = app.page.evaluate(
                """async () => {
                  const done = await pyTensor.run("(pt.arange(16) * 2).sum().item()");
                  return done.result === "240" ? performance.now() : Infinity;
                }"""
            )
            app.page.close()
            return taken

        with_snapshot, plain = [], []
        for _ in range(3):
            visitor.put_back()
            with_snapshot.append(milliseconds("snapshot"))
            visitor.put_back("() => ({ unusable: 'for a test' })")
            plain.append(milliseconds("plain"))
        assert median(with_snapshot) < 0.8 * median(plain), (with_snapshot, plain)
        assert median(with_snapshot) < 10_000  # 900 on two idle cores


class TestFallback:
    """Whatever is wrong with the snapshot, Python starts, and the snapshot is replaced."""

    def test_damaged_ones_are_removed(self, visitor: Visitor) -> None:
        for damage in (
            "(good) => ({ ...good, memory: good.memory.with(good.memory.length >> 1, 99) })",
            "(good) => ({ ...good, memory: good.memory.slice(0, good.memory.length >> 1) })",
            "(good) => ({ ...good, digest: undefined })",
            "(good) => ({ ...good, files: good.files.slice(1) })",
            """(good) => {
              good = structuredClone(good);
              good.files.find(({ data }) => data.length).data[0] ^= 1;
              return good;
            }""",
            "() => ({})",
        ):
            visitor.leave()
            visitor.put_back(damage)
            app = visitor.open()
            app.page.goto(visitor.url)
            deadline = time.monotonic() + 60
            while visitor.kept():
                assert time.monotonic() < deadline, damage
                app.page.wait_for_timeout(100)
        assert app.page.evaluate("pyTensor.ready.then((info) => info.boot)") == "plain"
        assert app.run("(pt.ones(3) * 2).tolist()")["result"] == "[2.0, 2.0, 2.0]"

    def test_one_that_python_refuses_is_not_tried_again(self, visitor: Visitor) -> None:
        visitor.put_back(
            """async (good) => {
              const memory = good.memory.with(0, 99); // of the number that marks a snapshot
              const { files, packages } = good;
              const hash = (bytes) => crypto.subtle.digest("SHA-256", bytes);
              const sizes = files.map(({ path, data }) => [path, data.length]);
              const others = [...files.map(({ data }) => data), JSON.stringify([sizes, packages])];
              const hashes = [await hash(memory), await hash(await new Blob(others).arrayBuffer())];
              const digest = await hash(await new Blob(hashes).arrayBuffer());
              return { ...good, memory, digest };
            }"""
        )
        for _ in range(2):
            app = visitor.visit()
            assert app.info["boot"] == "plain"
            assert app.run("1 + 1")["result"] == "2"
            (record,) = visitor.kept()
            assert "magic number" in record["unusable"]

    def test_another_build_makes_its_own(self, visitor: Visitor) -> None:
        (old,) = visitor.kept()
        app = visitor.visit({"**/build.json": lambda route: route.fulfill(json={"build": "new"})})
        assert app.info["boot"] == "plain"
        assert app.run("1 + 1")["result"] == "2"
        app.page.wait_for_timeout(500)
        while visitor.wait_until_kept() == [old]:
            app.page.wait_for_timeout(200)
        (new,) = visitor.kept()
        assert new["key"] != old["key"]

    @pytest.mark.parametrize(
        "code",
        [
            "Object.defineProperty(self, 'indexedDB', { value: undefined });\n",
            "Object.defineProperty(self, 'indexedDB', { get() { throw new Error('no'); } });\n",
            "IDBFactory.prototype.open = () => ({});\n",  # it never answers
            "IDBObjectStore.prototype.get = () => { throw new DOMException('unreadable'); };\n",
        ],
    )
    def test_a_storage_that_cannot_be_read(self, visitor: Visitor, code: str) -> None:
        app = visitor.visit(in_worker("worker.js", code))
        assert app.info["boot"] == "plain"
        assert app.run("1 + 1")["result"] == "2"

    def test_no_room(self, visitor: Visitor) -> None:
        visitor.clear()
        full = "throw new DOMException('full', 'QuotaExceededError')"
        code = f"IDBObjectStore.prototype.put = () => {{ {full}; }};\n"
        app = visitor.open(in_worker("snapshot_worker.js", code))
        until_it_is_being_made(app, visitor)
        expect_workers(app, 1)
        assert visitor.kept() == []
        assert app.run("1 + 1")["result"] == "2"

    def test_a_boot_that_does_not_end_is_done_without(self, visitor: Visitor) -> None:
        """A boot from the snapshot hangs: the next and later attempts are plain boots."""
        hang = "navigator.gpu.requestAdapter = () => new Promise(() => {});\n"
        app = visitor.open(in_worker("worker.js", hang))
        app.page.clock.install()
        app.page.goto(visitor.url)
        expect(app.page.locator("#status-text")).to_contain_text(
            "Requesting the GPU", timeout=60_000
        )
        app.page.clock.run_for(61_000)
        banner = app.page.locator("#banner")
        expect(banner).to_contain_text("did not start within 60 seconds")
        visitor.unroute()
        banner.get_by_role("button", name="Try again").click()
        app.page.clock.resume()
        assert app.page.evaluate("pyTensor.ready.then((info) => info.boot)") == "plain"
        (record,) = visitor.kept()
        assert "did not finish" in record["unusable"]


class TestChoices:
    def test_tuned_choices_are_not_part_of_the_snapshot(self, visitor: Visitor) -> None:
        """It is stored separately, for the kernels of this visit and of the next one."""
        first = visitor.visit()
        default = literal_eval(first.run(CHOSEN)["result"])
        assert default[1:] == (True, False, None, True)
        wanted, later = literal_eval(first.run(CHOOSE)["result"])
        assert wanted == later != default[0]
        again = visitor.visit()
        assert again.info["boot"] == "snapshot"
        assert literal_eval(again.run(CHOSEN)["result"]) == (wanted, True, True, "now", True)
        again.run("pt.tuning().reset()")
        assert literal_eval(visitor.visit().run(CHOSEN)["result"]) == default


class TestMaking:
    def test_it_stops_when_the_user_runs_something(self, visitor: Visitor) -> None:
        visitor.clear()
        app = visitor.open()
        until_it_is_being_made(app, visitor)
        app.page.evaluate("() => { pyTensor.run('import asyncio; await asyncio.sleep(60)'); }")
        expect_workers(app, 1)
        assert visitor.kept() == []
        app.page.evaluate("() => pyTensor.interrupt()")
        assert visitor.wait_until_kept()[0]["snapshot"]

    def test_nothing_is_made_where_there_is_one(self, visitor: Visitor) -> None:
        app = visitor.visit()
        app.page.wait_for_timeout(4000)
        assert len(app.page.workers) == 1
