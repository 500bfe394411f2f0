"""Modules of the library and of Python that a start does not need load from archives, when used."""

from __future__ import annotations

import gzip
import json
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.app import DIST, SITE, AppPage, AppSession
from tests.browser.repl import Repl
from tests.browser.static_host import static_host
from tests.browser.test_service_worker import COMPUTE, KEPT_SECONDS, Guest
from tests.environment import ROOT

ARCHIVE = "worker/python/first_use.zip"
RARE = "pyodide/stdlib_rare.zip"
MEDIAN = "pt.median(pt.tensor([3.0, 1.0, 2.0])).item()"
NEEDS_KERNELS = """
x = pt.tensor([[4.0, 1.0], [1.0, 3.0]])
[float(abs(pt.linalg.inv(x) @ x - pt.eye(2)).max()) < 1e-5,
 float(abs(pt.fft.ifft(pt.fft.fft(pt.arange(8))) - pt.arange(8)).max()) < 1e-5,
 float(abs(pt.linalg.eigvalsh(x).sum() - 7)) < 1e-5]
"""
IS_KEPT = """async () => {
  const [name] = (await caches.keys()).filter((name) => / [0-9a-f]{16}$/.test(name));
  const keys = await (await caches.open(name)).keys();
  return keys.some(({ url }) => url.endsWith("/python/first_use.zip"));
}"""
OpenPage = Callable[..., AppPage]


class Server:
    """Answers requests for the archive as a test requires, and counts them."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: Callable[[Route], None] = lambda route: route.continue_()

    def __call__(self, route: Route) -> None:
        self.asked += 1
        self.answer(route)

    @property
    def routes(self) -> dict[str, Callable[[Route], None]]:
        return {f"**/{ARCHIVE}": self}

    @property
    def rare_routes(self) -> dict[str, Callable[[Route], None]]:
        return {f"**/{RARE}": self}


@pytest.fixture
def asked() -> Server:
    return Server()


def test_nothing_of_the_library_is_lost() -> None:
    """Together they contain the wheel, except files that only other hosts read."""
    (published,) = SITE.glob("wheels/py_tensor-*.whl")
    (start,) = DIST.glob("wheels/py_tensor-*.whl")
    parts = [zipfile.ZipFile(path).namelist() for path in (start, DIST / ARCHIVE)]
    with gzip.open(DIST / "worker" / "python" / "modules.bin") as file:
        paths = [path.partition("site-packages/")[2] for path, _ in json.loads(file.readline())]
    parts.append([path for path in paths if path.startswith("py_tensor/") and path.endswith(".py")])
    names = [name for part in parts for name in part]
    assert len(names) == len(set(names))
    missing = set(zipfile.ZipFile(published).namelist()) - set(names)
    elsewhere = (
        "backends/native",
        "runtime/bridge.py",
        ".pyi",
        "backends/interrupts.py",
        "bridge.js",
        "RECORD",
        "py_tensor_pytest.py",
        "entry_points.txt",
    )
    assert {name for name in missing if not any(part in name for part in elsewhere)} == set()
    kernel = "py_tensor/shaders/kernels/jacobi.wgsl"
    assert {"py_tensor/numpy/polynomials.py", kernel} < set(parts[1])


@pytest.mark.parametrize("options", [{}, {"first_visit": True}], ids=["snapshot", "plain"])
def test_it_is_requested_once(
    fresh_page: OpenPage, asked: Server, options: dict[str, bool]
) -> None:
    app = fresh_page(routes=asked.routes, **options)
    assert app.info["boot"] == ("plain" if options else "snapshot")
    assert app.run(COMPUTE)["result"] == "240"
    assert app.run("pt.tensor([1, 2]) + 0.5, pt.random.rand(3).shape")["ok"]
    assert asked.asked == 0
    assert app.run(MEDIAN)["result"] == "2.0"
    assert app.run(NEEDS_KERNELS)["result"] == "[True, True, True]"
    assert app.run("from py_tensor.numpy.polynomials import roots")["ok"]
    assert asked.asked == 1


def test_a_start_without_a_gpu_does_not_ask(fresh_page: OpenPage, asked: Server) -> None:
    app = fresh_page(first_visit=True, webgpu=False, routes=asked.routes)
    assert app.info["backend"] == "cpu"
    assert app.run(COMPUTE)["result"] == "240"
    assert asked.asked == 0
    assert app.run(MEDIAN)["result"] == "2.0"


FAILURES: list[tuple[Callable[[Route], None], str]] = [
    (lambda route: route.abort(), "the server of this page did not answer"),
    (lambda route: route.fulfill(status=404), f"the server of this page answered 404 .*{ARCHIVE}"),
    (lambda route: route.fulfill(body="<html>"), "the server of this page sent a damaged file"),
]


def test_a_failure_says_so_and_can_be_tried_again(fresh_page: OpenPage, asked: Server) -> None:
    app = fresh_page(routes=asked.routes)
    for number, (answer, words) in enumerate(FAILURES, 1):
        asked.answer = answer
        for code, name in (
            (MEDIAN, "numpy.quantiles"),
            ("import py_tensor.numpy.fitting", "numpy.fitting"),
        ):
            done = app.run(f"try:\n    {code}\nexcept ImportError as e:\n    print(e.name, str(e))")
            assert done["ok"], done["error"]
            beginning = f"py_tensor.{name} py_tensor.{name} could not be loaded: "
            assert re.match(beginning + words, done["stdout"]), done["stdout"]
        assert asked.asked == 2 * number
        assert app.run(COMPUTE)["result"] == "240"
    asked.answer = lambda route: route.continue_()
    assert app.run(MEDIAN)["result"] == "2.0"


def test_names_are_listed_and_rejected_without_it(fresh_page: OpenPage, asked: Server) -> None:
    listed = "hash(tuple(sorted(dir(pt))))"
    app = fresh_page(routes=asked.routes)
    assert "AttributeError" in app.run("pt.no_such_name")["error"]
    assert "use pt.concat" in app.run("pt.cat")["error"]
    before = app.run(listed)["result"]
    assert asked.asked == 0
    app.run(MEDIAN)
    assert app.run(listed)["result"] == before


def test_the_prompt_shows_the_signature_of_a_function_not_loaded_yet(
    fresh_page: OpenPage, asked: Server
) -> None:
    app = fresh_page(routes=asked.routes)
    asked.answer = lambda route: route.abort()
    repl = Repl(app.page)
    repl.input.focus()
    with app.page.expect_event("requestfailed", lambda asked: asked.url.endswith(ARCHIVE)):
        app.page.keyboard.type("pt.median(")
    assert app.run(COMPUTE)["result"] == "240"
    asked.answer = lambda route: route.continue_()
    repl.input.fill("")
    app.page.keyboard.type("pt.median(")
    expect(app.page.locator("#input .cm-signature")).to_contain_text("keepdims")


EVERYDAY = """
import csv, datetime, decimal, fractions, json, pickle, random, statistics, urllib.parse
len(pickle.loads(pickle.dumps(pt.ones(3)))), statistics.mean([1, 2]), "é".encode("cp1252")
"""
USES_RARE = """
import doctest, email.mime.text, xml.etree.ElementTree
from unittest import mock
import email.message, encodings.cp850
(str(email.mime.text.MIMEText("x")).count("text/plain"), "é".encode("cp850"),
 xml.etree.ElementTree.fromstring("<a/>").tag, mock.Mock(return_value=2)())
"""


class TestStandardLibrary:
    def test_nothing_of_it_is_lost(self) -> None:
        with (
            zipfile.ZipFile(ROOT / "node_modules" / "pyodide" / "python_stdlib.zip") as whole,
            gzip.open(DIST / "pyodide" / "python_stdlib.bin") as unpacked,
            zipfile.ZipFile(unpacked) as start,
            zipfile.ZipFile(DIST / RARE) as rare,
        ):
            sources = [name for name in start.namelist() if not name.endswith(".pyc")]
            assert len({*sources, *rare.namelist()}) == len(sources) + len(rare.namelist())
            missing = {*whole.namelist()} - {*sources, *rare.namelist()}
            left_out = (ROOT / "web" / "build" / "bytecode.py").read_text("utf-8")
            assert {name for name in missing if f'"{name}"' not in left_out} == set()
            for part in (start, rare):
                for name in {*part.namelist()} & {*whole.namelist()}:
                    assert part.read(name) == whole.read(name), name
        assert "encodings/cp850.py" in rare.namelist()

    @pytest.mark.parametrize("options", [{}, {"first_visit": True}], ids=["snapshot", "plain"])
    def test_its_rare_modules_are_requested_once(
        self, fresh_page: OpenPage, asked: Server, options: dict[str, bool]
    ) -> None:
        app = fresh_page(routes=asked.rare_routes, **options)
        assert app.run(EVERYDAY)["result"] == r"(3, 1.5, b'\xe9')"
        assert "ModuleNotFoundError" in app.run("import no_such_module")["error"]
        assert "LookupError" in app.run("b'x'.decode('no such encoding')")["error"]
        assert asked.asked == 0
        assert app.run(USES_RARE)["result"] == r"(1, b'\x82', 'a', 2)"
        assert app.run("import pdb, http.client")["ok"]
        assert asked.asked == 1

    def test_a_failure_says_so_and_can_be_tried_again(
        self, fresh_page: OpenPage, asked: Server
    ) -> None:
        app = fresh_page(routes=asked.rare_routes)
        for answer, words in FAILURES:
            asked.answer = answer
            error = app.run("import pydoc")["error"]
            line = error.strip().splitlines()[-1]
            beginning = "ImportError: pydoc could not be loaded: "
            assert re.match(beginning + words.replace(ARCHIVE, RARE), line), error
            assert app.run(COMPUTE)["result"] == "240"
        asked.answer = lambda route: route.continue_()
        assert app.run("import pydoc")["ok"]


@pytest.fixture
def guest(session: AppSession, tmp_path: Path) -> Iterator[Guest]:
    with static_host(tmp_path) as host:
        guest = Guest(session, host)
        yield guest
        guest.context.close()


class TestWithoutNetwork:
    def offline(self, guest: Guest, app: AppPage) -> None:
        """The next visit of a page, after the server has gone."""
        guest.go_offline()
        guest.visit(app)
        assert app.run(COMPUTE)["result"] == "240"

    def wait_until_kept(self, app: AppPage) -> None:
        """Wait until the archive is cached."""
        deadline = time.monotonic() + KEPT_SECONDS
        while not app.page.evaluate(IS_KEPT):
            assert time.monotonic() < deadline, "the archive is not kept"
            app.page.wait_for_timeout(100)

    def requests(self, guest: Guest) -> int:
        return sum(ARCHIVE in path for path in guest.host.requested)

    def test_parts_used_by_the_first_visit_are_available(self, guest: Guest) -> None:
        app = guest.visit()
        assert app.run(MEDIAN)["result"] == "2.0"
        guest.wait_until_kept()
        self.wait_until_kept(app)
        self.offline(guest, app)
        assert app.run(MEDIAN)["result"] == "2.0"
        assert app.run(NEEDS_KERNELS)["result"] == "[True, True, True]"

    def test_a_second_visit_has_everything(self, guest: Guest) -> None:
        app = guest.look()
        guest.wait_until_kept()
        assert self.requests(guest) == 0
        guest.look(app)
        self.wait_until_kept(app)
        assert self.requests(guest) == 1
        self.offline(guest, app)
        assert app.run(MEDIAN)["result"] == "2.0"

    def test_a_package_that_cannot_be_loaded_is_reported_once(self, guest: Guest) -> None:
        app = guest.visit()
        guest.wait_until_kept()
        self.offline(guest, app)
        Repl(app.page).type("import micropip\n")
        entry = app.page.locator("#transcript .entry.failed")
        expect(entry).to_contain_text("micropip could not be loaded from the server of this page")
        texts = "\n".join(app.page.locator("#transcript").all_inner_texts())
        assert texts.count("Failed to fetch") == 1

    def test_parts_not_used_by_the_first_visit_are_reported(self, guest: Guest) -> None:
        app = guest.visit()
        guest.wait_until_kept()
        self.offline(guest, app)
        error = app.run(MEDIAN)["error"]
        assert "ImportError: py_tensor.numpy.quantiles could not be loaded: the server of" in error
        assert self.requests(guest) == 0
        assert app.run(COMPUTE)["result"] == "240"
