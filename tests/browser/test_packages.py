"""Packages from the internet, by the user's choice. Routes stand for PyPI and Pyodide's CDN."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.app import SITE, AppPage, AppSession
from tests.browser.static_host import FOLDER, StaticHost, static_host
from tests.browser.test_accessibility import AUDIT, AXE
from tests.browser.test_service_worker import Guest, until_ready
from web.build.serve import CONTENT_SECURITY_POLICY, serve

CORS = {"Access-Control-Allow-Origin": "*"}
CDN = "https://cdn.jsdelivr.net/pyodide/v0.29.5/full/"
HOSTS = ["https://pypi.org", "https://files.pythonhosted.org", CDN]
RESTART_MS = 60_000
NOT_RUNNING = (
    "This needs the page’s service worker, which is not running. Reload the page, then try again."
)

ASK = """
from pyodide.http import pyfetch
async def ask(url):
    try:
        return (await pyfetch(url)).status
    except OSError as error:
        return type(error).__name__
"""

NESTED = """
import asyncio, js
from pyodide.ffi import create_proxy
def to_js(x):
    import json
    return js.JSON.parse(json.dumps(x))
address = js.location.href.partition("?")[0] + "?packages=internet"
nested = js.Worker.new(address, to_js({"type": "module"}))
reports = asyncio.Queue()
nested.onmessage = create_proxy(lambda event: reports.put_nowait(event.data))
async def until(kind):
    while True:
        report = await reports.get()
        if report.kind == kind:
            return report
def post(**message):
    nested.postMessage(to_js({"channel": CHANNEL, **message}))
post(kind="boot", interruptBuffer=None, distrusted=False)
await until("ready")
post(kind="run", id=1, source=SOURCE)
(await until("done")).outcome.result
"""
"""Starts a worker from Python at the URL of one with packages; evaluates SOURCE there."""

FIGURES = {
    "matplotlib/__init__.py": "",
    "matplotlib/backends/__init__.py": "",
    "matplotlib/backend_bases.py": (
        "class FigureManagerBase:\n"
        "    def __init__(self, canvas, num): self.canvas, self.num = canvas, num\n"
    ),
    "matplotlib/backends/backend_agg.py": "class FigureCanvasAgg: pass\n",
    "matplotlib/pyplot.py": (
        "import importlib, os\n"
        "open_figures = {}\n"
        "close = open_figures.pop\n"
        "class Figure:\n"
        "    def savefig(self, target, format): target.write(PNG)\n"
        "def plot(values):\n"
        "    name = os.environ['MPLBACKEND'].removeprefix('module://')\n"
        "    canvas = importlib.import_module(name).FigureCanvas()\n"
        "    canvas.figure = Figure()\n"
        "    open_figures[1] = canvas.manager_class(canvas, 1)\n"
        "def show():\n"
        "    for manager in [*open_figures.values()]: manager.show()\n"
    ),
}
"""The parts of Matplotlib that the page's backend uses."""


def png(width: int, height: int) -> bytes:
    """Return a white picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff" * width) * height)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def wheel(name: str, version: str, files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    about = f"{name}-{version}.dist-info"
    texts = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in texts.items():
            archive.writestr(path, text)
    return target.getvalue()


class Internet:
    """PyPI with one package, and Pyodide's CDN, simulated for a browser; `asked` has every URL."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_up = True
        tiny = wheel("tiny_thing", "1.0", {"tiny_thing.py": "answer = 42\n"})
        url = "https://files.pythonhosted.org/packages/tiny_thing-1.0-py3-none-any.whl"
        hashes = {"sha256": hashlib.sha256(tiny).hexdigest()}
        file = {"filename": url.rpartition("/")[2], "url": url, "hashes": hashes, "size": len(tiny)}
        listed = {"name": "tiny-thing", "versions": ["1.0"], "files": [file | {"yanked": False}]}
        self.files: dict[str, tuple[str, bytes]] = {
            "https://pypi.org/simple/tiny-thing/": (
                "application/vnd.pypi.simple.v1+json",
                json.dumps({"meta": {"api-version": "1.1"}, **listed}).encode(),
            ),
            url: ("application/octet-stream", tiny),
        }

    def answer(self, route: Route) -> None:
        url = route.request.url
        self.asked.append(url)
        if not self.is_up:
            route.abort("internetdisconnected")
        elif url in self.files:
            kind, body = self.files[url]
            route.fulfill(body=body, content_type=kind, headers=CORS)
        else:
            route.fulfill(status=404, headers=CORS)


class Visitor:
    """A browser profile on a host of the page, with a simulated internet."""

    def __init__(self, guest: Guest, internet: Internet) -> None:
        self.guest = guest
        self.internet = internet
        guest.context.route(re.compile(r"^https:"), internet.answer)
        self.app: AppPage = guest.visit()

    @property
    def page(self) -> Page:
        return self.app.page

    @property
    def panel(self) -> Locator:
        panel = self.page.locator("#status-panel")
        if not panel.is_visible():
            self.page.locator("#status-button").click()
        return panel

    @property
    def switch(self) -> Locator:
        return self.panel.locator("#packages-switch")

    @property
    def is_on(self) -> bool:
        """Whether this Python was started with the wider policy."""
        return self.result("import js\njs.location.search") == "'?packages=internet'"

    @property
    def stored(self) -> dict[str, str]:
        """The stored setting."""
        entries = self.page.evaluate("Object.entries(localStorage)")
        return {name: value for name, value in entries if name.startswith("py_tensor packages")}

    def turn(self, name: str) -> None:
        """Press "Turn on" or "Turn off", and wait for the new Python."""
        button = self.switch
        expect(button).to_have_text(name)
        button.click()
        other = {"Turn on": "Turn off", "Turn off": "Turn on"}[name]
        expect(button).to_have_text(other, timeout=RESTART_MS)
        until_ready(self.page)

    def result(self, code: str) -> Any:
        """Return the value of the last expression; fails with the traceback."""
        done = self.app.run(code)
        assert done["ok"], done["error"]
        return done["result"]

    def error(self, code: str) -> str:
        return self.app.run(code)["error"].splitlines()[-1]


def added_to_distribution(host: StaticHost, name: str, content: bytes) -> str:
    """Add this to Pyodide's distribution as `name`, with its hash; return its URL."""
    path = host.files / "pyodide" / "distribution.json"
    lock = json.loads(path.read_text("utf-8"))
    entry = lock["packages"][name]
    lock["packages"][name] = entry | {"depends": [], "sha256": hashlib.sha256(content).hexdigest()}
    path.write_text(json.dumps(lock), "utf-8")
    list_path = host.site / "files.json"
    listed = json.loads(list_path.read_text("utf-8"))
    listed["files"]["pyodide/distribution.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    list_path.write_text(json.dumps(listed), "utf-8")
    return entry["file_name"]


@pytest.fixture(scope="module")
def visitor(session: AppSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A visitor on a static file host."""
    with static_host(tmp_path_factory.mktemp("host")) as host:
        internet = Internet()
        source = FIGURES["matplotlib/pyplot.py"].replace("PNG", repr(png(60, 40)))
        figures = wheel("matplotlib", "3.8.4", FIGURES | {"matplotlib/pyplot.py": source})
        url = added_to_distribution(host, "matplotlib", figures)
        internet.files[url] = ("application/octet-stream", figures)
        damaged = json.loads((host.files / "pyodide" / "distribution.json").read_text("utf-8"))
        url = damaged["packages"]["six"]["file_name"]
        internet.files[url] = ("application/octet-stream", figures)
        guest = Guest(session, host)
        yield Visitor(guest, internet)
        guest.context.close()


def wider_policy(site: Path) -> str:
    found = re.search(r'const PACKAGES_POLICY = "(.*)";', (site / "sw.js").read_text("utf-8"))
    assert found is not None
    return found[1]


def test_the_policy_has_these_hosts_and_no_others() -> None:
    expected = f"{CONTENT_SECURITY_POLICY}; connect-src 'self' {' '.join(HOSTS)}"
    assert wider_policy(SITE) == expected


class TestOff:
    """Until the user turns it on."""

    @pytest.fixture(autouse=True)
    def _off(self, visitor: Visitor) -> None:
        if visitor.stored:
            visitor.turn("Turn off")
        visitor.internet.asked.clear()

    def test_the_policy_blocks_every_host(self, visitor: Visitor) -> None:
        assert not visitor.is_on
        expect(visitor.panel).to_contain_text("Off: micropip installs only")
        visitor.result(ASK)
        for url in [*HOSTS, "https://example.com/"]:
            assert visitor.result(f"await ask({url!r})") == "'AbortError'"
        assert visitor.internet.asked == []

    def test_failures_name_the_setting(self, visitor: Visitor) -> None:
        setting = "turn on “Packages from the internet” in the status panel (top right)"
        url = "https://files.pythonhosted.org/packages/tiny_thing-1.0-py3-none-any.whl"
        for name in ("tiny-thing", "matplotlib", url):
            said = visitor.error(f"import micropip\nawait micropip.install({name!r})")
            assert setting in said, said
            assert "can be dropped on the page" in said
        assert setting in visitor.error("import matplotlib")
        assert visitor.internet.asked == []

    def test_no_link_turns_it_on(self, visitor: Visitor) -> None:
        for ending in ("?packages=internet", "#packages=internet"):
            visitor.page.goto("about:blank")
            visitor.page.goto(visitor.guest.host.url + ending, wait_until="commit")
            until_ready(visitor.page)
            assert not visitor.is_on
            assert visitor.stored == {}

    def test_no_program_turns_it_on(self, visitor: Visitor) -> None:
        visitor.guest.wait_until_kept()
        visitor.guest.visit(visitor.app)
        # It has no access to the caches either, which contain the scripts of the page.
        source = (
            f"{ASK}\nimport js\n"
            "[await ask('https://pypi.org/simple/tiny-thing/'), hasattr(js, 'caches'),"
            " hasattr(js.navigator, 'storageBuckets')]"
        )
        code = NESTED.replace("SOURCE", repr(source)).replace("CHANNEL", '"py_tensor"')
        refused = ["AbortError", False, False]
        assert visitor.result(code) == repr(repr(refused))
        assert visitor.result(source) == repr(refused)
        assert visitor.internet.asked == []
        assert visitor.stored == {}

    def test_no_message_changes_what_is_shown(self, visitor: Visitor) -> None:
        info = json.dumps({**visitor.app.info, "allowsPackages": True})
        message = f'{{"channel": "py_tensor", "kind": "ready", "info": {info}}}'
        visitor.result(f"import js\njs.postMessage(js.JSON.parse({message!r}))")
        visitor.app.settle()
        expect(visitor.panel).to_contain_text("Off: micropip installs only")
        expect(visitor.switch).to_have_text("Turn on")
        visitor.guest.visit(visitor.app)


class TestOn:
    @pytest.fixture(autouse=True)
    def _on(self, visitor: Visitor) -> None:
        if not visitor.stored:
            visitor.turn("Turn on")

    def test_the_panel_names_the_hosts(self, visitor: Visitor) -> None:
        expect(visitor.panel).to_contain_text("On: Python and every program")
        for host in HOSTS:
            expect(visitor.panel).to_contain_text(host)

    def test_it_is_stored_for_this_page_alone(self, visitor: Visitor) -> None:
        assert visitor.stored == {f"py_tensor packages /{FOLDER}/": "allowed"}

    def test_another_tab_shows_a_change(self, visitor: Visitor) -> None:
        other = Visitor.__new__(Visitor)
        other.app = visitor.guest.visit()
        expect(other.switch).to_have_text("Turn off")
        visitor.turn("Turn off")
        expect(other.switch).to_have_text("Turn on")
        expect(other.panel).to_contain_text("On: Python and every program")
        expect(other.panel).to_contain_text("Takes effect when Python restarts.")
        # Undoing it loses nothing.
        other.result("kept = 1")
        other.switch.click()
        expect(other.panel).not_to_contain_text("Takes effect")
        assert other.result("kept") == "1"
        assert visitor.stored != {}
        expect(visitor.panel).to_contain_text("Takes effect when Python restarts.")
        visitor.panel.get_by_role("button", name="Restart Python").click()
        expect(visitor.panel).to_contain_text("On: Python", timeout=RESTART_MS)
        until_ready(visitor.page)
        assert visitor.is_on
        other.page.close()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, visitor: Visitor, scheme: Literal["light", "dark"]) -> None:
        expect(visitor.panel).to_be_visible()
        visitor.page.emulate_media(color_scheme=scheme)
        visitor.page.evaluate(AXE.read_text("utf-8"))
        assert visitor.page.evaluate(AUDIT) == []

    def test_a_package_of_pypi(self, visitor: Visitor) -> None:
        install = "import micropip\nawait micropip.install('tiny-thing')\n"
        assert visitor.result(f"{install}import tiny_thing\ntiny_thing.answer") == "42"
        assert set(visitor.internet.asked) == {
            "https://pypi.org/simple/tiny-thing/",
            "https://files.pythonhosted.org/packages/tiny_thing-1.0-py3-none-any.whl",
        }

    def test_a_figure_is_shown(self, visitor: Visitor) -> None:
        """The CDN serves a substitute for Matplotlib, whose own wheel is not available here."""
        visitor.page.keyboard.press("Escape")
        visitor.page.locator("#screen").click()
        visitor.page.keyboard.insert_text(
            "import micropip; await micropip.install('matplotlib')\n"
            "import matplotlib.pyplot as plt; plt.plot([1, 2, 3]); plt.show()"
        )
        visitor.page.keyboard.press("Enter")
        picture = visitor.page.locator("#transcript .entry").last.get_by_role("img")
        expect(picture).to_be_visible(timeout=RESTART_MS)
        assert picture.evaluate("({ naturalWidth: w, naturalHeight: h }) => [w, h]") == [60, 40]

    def test_a_file_with_another_hash_is_refused(self, visitor: Visitor) -> None:
        said = visitor.error("import micropip\nawait micropip.install('six')")
        assert said == "ConnectionError: six could not be downloaded, or is not the expected file"
        assert visitor.error("import six").startswith("ModuleNotFoundError")

    def test_other_hosts_and_the_page_are_blocked(self, visitor: Visitor) -> None:
        visitor.internet.asked.clear()
        visitor.result(ASK)
        for url in ("https://example.com/", "https://cdn.jsdelivr.net/npm/x"):
            assert visitor.result(f"await ask({url!r})") == "'AbortError'"
        get = "fetch('https://pypi.org/').then(() => 'sent', () => 'blocked')"
        # Delayed, because code that Playwright evaluates directly is exempt from the policy.
        later = f"() => new Promise((resolve) => setTimeout(() => resolve({get})))"
        assert visitor.page.evaluate(later) == "blocked"
        assert visitor.internet.asked == []

    def test_without_a_network(self, visitor: Visitor) -> None:
        visitor.internet.is_up = False
        assert visitor.error("import micropip\nawait micropip.install('other-thing')") == (
            "ValueError: micropip: 'other-thing' cannot be installed: PyPI does not have it, or"
            " PyPI cannot be reached"
        )
        assert visitor.error("await micropip.install('six')").endswith(
            "six could not be downloaded, or is not the expected file"
        )
        visitor.internet.is_up = True

    def test_it_stays_on_and_can_be_turned_off(self, visitor: Visitor) -> None:
        visitor.guest.visit(visitor.app)
        assert visitor.is_on
        visitor.turn("Turn off")
        assert not visitor.is_on
        visitor.internet.asked.clear()
        visitor.result(ASK)
        assert visitor.result("await ask('https://pypi.org/')") == "'AbortError'"
        assert visitor.internet.asked == []


def test_without_a_service_worker_it_cannot_be_turned_on(app: AppPage) -> None:
    page = app.page
    page.locator("#status-button").click()
    page.locator("#packages-switch").click()
    expect(page.locator(".packages .problem")).to_have_text(NOT_RUNNING)
    expect(page.locator("#packages-switch")).to_have_text("Turn on")
    assert "packages" not in page.evaluate("Object.keys(localStorage).join()")
    page.keyboard.press("Escape")


def test_it_says_that_it_waits_for_the_service_worker(session: AppSession) -> None:
    app = session.open_page(service_worker=True, boot=False)
    app.page.add_init_script(
        "ServiceWorkerContainer.prototype.register = () => new Promise(() => {});"
    )
    app.boot(session.url)
    page = app.page
    page.locator("#status-button").click()
    switch = page.locator("#packages-switch")
    switch.click()
    expect(page.locator(".packages [role=status]")).to_have_text("Waiting for the service worker…")
    expect(switch).to_have_attribute("aria-busy", "true")
    expect(switch).to_be_focused()
    expect(page.locator(".packages .problem")).to_have_text(NOT_RUNNING)
    expect(switch).to_have_attribute("aria-busy", "false")
    app.close()


def test_before_python_is_there(session: AppSession) -> None:
    app = session.open_page(boot=False, routes={"**/pyodide.mjs": lambda route: None})
    app.page.goto(session.url)
    app.page.locator("#status-button").click()
    expect(app.page.locator(".packages")).to_contain_text("Off: micropip installs only")
    expect(app.page.locator("#packages-switch")).to_have_text("Turn on")
    app.page.evaluate(AXE.read_text("utf-8"))
    assert app.page.evaluate(AUDIT) == []
    app.close()


def test_it_can_be_turned_off_if_python_does_not_start(session: AppSession, tmp_path: Path) -> None:
    with static_host(tmp_path) as host:
        (host.files / "pyodide" / "distribution.json").unlink()
        guest = Guest(session, host)
        visitor = Visitor(guest, Internet())
        banner = visitor.page.locator("#banner")
        visitor.switch.click()
        expect(banner).to_contain_text("distribution.json", timeout=RESTART_MS)
        visitor.page.reload()
        expect(banner).to_contain_text("distribution.json", timeout=RESTART_MS)
        expect(visitor.panel).to_contain_text("On: Python and every program")
        visitor.page.evaluate(AXE.read_text("utf-8"))
        assert visitor.page.evaluate(AUDIT) == []
        visitor.turn("Turn off")
        assert not visitor.is_on
        guest.context.close()


def test_an_error_tells_of_a_policy_of_the_host(session: AppSession, tmp_path: Path) -> None:
    with static_host(tmp_path) as host:
        host.headers["Content-Security-Policy"] = "connect-src 'self'"
        guest = Guest(session, host)
        visitor = Visitor(guest, Internet())
        visitor.turn("Turn on")
        ending = "the server of this site does not allow it (by its Content-Security-Policy)"
        for name in ("tiny-thing", "six"):
            said = visitor.error(f"import micropip\nawait micropip.install({name!r})")
            assert said.endswith(ending), said
        assert visitor.internet.asked == []
        guest.context.close()


def test_under_the_server_of_the_project(session: AppSession) -> None:
    """Its header has the strict policy for every file; a first visit, so nothing is cached yet."""
    server = serve(SITE)
    app = session.open_page(service_worker=True, boot=False)
    internet = Internet()
    app.page.context.route(re.compile(r"^https:"), internet.answer)
    app.boot(server.url)
    visitor = Visitor.__new__(Visitor)
    visitor.app, visitor.internet = app, internet
    visitor.turn("Turn on")
    install = "import micropip\nawait micropip.install('tiny-thing')\n"
    assert visitor.result(f"{install}import tiny_thing\ntiny_thing.answer") == "42"

    # A reload by Shift-reload bypasses the service worker.
    app.page.context.new_cdp_session(app.page).send("Page.reload", {"ignoreCache": True})
    app.page.wait_for_function("() => !navigator.serviceWorker.controller && window.pyTensor")
    until_ready(app.page)
    assert not visitor.is_on
    expect(visitor.panel).to_contain_text("Off: micropip installs only")
    expect(visitor.panel).to_contain_text("Takes effect when the page is reloaded.")
    visitor.switch.click()
    expect(visitor.panel).not_to_contain_text("Takes effect")
    assert visitor.stored == {}
    app.close()
    server.shutdown()
    server.server_close()
