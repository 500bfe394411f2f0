"""The built page in Chromium, as used by the fixtures and by the runner of worker tests.

A test run has one `AppSession`: one server, one browser, one page with its worker. A test that must
not affect that page (other browser flags, a replaced file, a page that is meant to fail) opens its
own with `AppSession.open_page`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Route, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.environment import ROOT, SetupError, find_chromium

SITE = Path(os.environ.get("PY_TENSOR_DIST", ROOT / "web" / "dist"))
"""The output of `web/build/build.py`, as served by a host."""
DIST = max((SITE / "builds").glob("*"), default=SITE)
"""The files of its build, which are a complete page: tests name them relative to this folder."""
GPU_FLAGS = os.environ.get("CHROMIUM_GPU_FLAGS", "").split()
# Each window otherwise gets two pages for the popup of its address bar, and each page a process in
# reserve: together a third of a boot's CPU time. The flag replaces Playwright's of this name, so it
# names those features of Playwright's list that a test could notice, too.
DISABLED_FEATURES = [
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding"),
    "ThirdPartyStoragePartitioning",
]
SOFTWARE_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    f"--disable-features={','.join(DISABLED_FEATURES)}",
]
# V8 otherwise optimizes Python's code while it boots, which takes a fifth of a boot's CPU time.
LATE_TIER_UP_FLAG = "--js-flags=--wasm-tiering-budget=2000000000"
CAMERA_FLAG = "--use-fake-device-for-media-stream"  # a disc that moves over a plain background
WEBGPU_FLAG = "--enable-unsafe-webgpu"
# Without these, headless Chromium without a GPU leaves canvases drawn by WebGPU blank.
CANVAS_FLAGS = ["--enable-features=Vulkan", "--use-angle=swiftshader", "--use-vulkan=swiftshader"]
BOOT_SECONDS = 120  # two busy cores boot in ten; a loaded CI machine takes longer
ADAPTER_SECONDS = 20
EXPECT_SECONDS = (
    30  # timeout of `expect`: a loaded CI machine takes five times as long as a quiet one
)

_BOOT = """async (seconds) => {
  const late = new Promise((_, reject) => setTimeout(
    () => reject(new Error(`pyTensor.ready did not settle in ${seconds} s`)), seconds * 1000));
  while (!window.pyTensor) {
    await Promise.race([late, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
  return await Promise.race([late, window.pyTensor.ready]);
}"""

_HARDWARE_ADAPTER = """async () => {
  const adapter = await navigator.gpu?.requestAdapter({powerPreference: "high-performance"});
  return Boolean(adapter && !adapter.info.isFallbackAdapter);
}"""


class BootError(Exception):
    """The page did not become ready; the message contains its log."""


@dataclass(frozen=True)
class Logged:
    """One line that the page or its worker logged, or an uncaught error."""

    kind: str  # console.<kind>: "log", "warning", "error", ...; or "pageerror"
    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"[{self.kind}] {self.text} ({self.where})" if self.where else self.text


@dataclass
class AppPage:
    """A page of the app with its log."""

    page: Page
    logged: list[Logged] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)  # the result of pyTensor.ready

    def __post_init__(self) -> None:
        def on_console(message: ConsoleMessage) -> None:
            place = message.location
            where = f"{place['url']}:{place['lineNumber']}"
            self.logged.append(Logged(message.type, message.text, where))

        self.page.on("console", on_console)
        self.page.on("pageerror", lambda error: self.logged.append(Logged("pageerror", str(error))))
        self.page.on("crash", lambda _: self.logged.append(Logged("crash", "the page crashed")))

    def close(self) -> None:
        """Close the page and its context, even with pending routes."""
        self.page.context.unroute_all(behavior="ignoreErrors")
        self.page.context.close()

    def boot(self, url: str, seconds: float = BOOT_SECONDS) -> dict[str, Any]:
        """Open the app and wait for it; return the result of `pyTensor.ready`."""
        try:
            self.page.goto(url)
            self.info = self.page.evaluate(_BOOT, seconds)
        except PlaywrightError as error:
            lines = "\n".join(f"  {line}" for line in self.logged) or "  (nothing)"
            message = f"the page at {url} did not boot: {error}\nit logged:\n{lines}"
            raise BootError(message) from error
        return self.info

    def run(self, code: str) -> dict[str, Any]:
        """`pyTensor.run(code)`: a dict of ok, stdout, result and error."""
        return self.page.evaluate("code => pyTensor.run(code)", code)

    def settle(self) -> None:
        """Wait until everything logged so far has arrived here."""
        self.page.evaluate("() => new Promise((resolve) => setTimeout(resolve))")


def lay_out(root: Path) -> None:
    """Put the built page into an empty folder, and the sources of its bundles below `sources/`.

    So a test can import a single module, such as `./sources/page/repl/text.js`, in the page.

    The list of kernels to compile at startup is empty: on the software adapter they take a third of
    the CPU time of a boot, and few tests use one.
    """
    shutil.copytree(DIST, root, copy_function=_link, dirs_exist_ok=True)
    usual = root / "kernels" / "software.json"
    usual.unlink()  # it may be a link
    usual.write_text("[]")
    for room in ("page", "worker", "bridge"):
        shutil.copytree(ROOT / "web" / room, root / "sources" / room)
    shutil.copy(DIST / "build.json", root / "sources")
    for bundle in DIST.glob("*/vendor/*.js"):  # the sources import npm packages
        shutil.copy(bundle, root / "sources" / bundle.relative_to(DIST))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy2(source, target)


class AppSession:
    """The server, the browsers and the shared page of one run; each is created at its first use."""

    def __init__(self, folder: Path | None = None, flags: Sequence[str] = ()) -> None:
        """`folder` is served; without one, the result of `lay_out`. `flags`: Chromium's."""
        self._folder = folder
        self._flags = flags
        self._closing = contextlib.ExitStack()
        self._browsers: dict[tuple[bool, bool], Browser] = {}
        self._spare: Page | None = None

    def close(self) -> None:
        self._closing.close()

    @cached_property
    def url(self) -> str:
        """The URL of the built page, with a slash at the end."""
        folder = self._folder
        if folder is None:
            scratch = tempfile.TemporaryDirectory(prefix="py_tensor-page-")
            folder = Path(self._closing.enter_context(scratch))
            lay_out(folder)
        try:
            server = _web_module("serve").serve(folder, 0)
        except FileNotFoundError as error:
            raise BootError(str(error)) from error
        self._closing.callback(server.server_close)
        self._closing.callback(server.shutdown)
        return server.url

    @cached_property
    def shared(self) -> AppPage:
        """The booted page that all tests share."""
        self.browser()
        if self._spare is None:
            return self.open_page()
        # On a GPU machine without a display, only a browser's first page survives its first frame.
        app, self._spare = AppPage(self._spare), None
        app.boot(self.url)
        return app

    def drop_shared(self) -> None:
        """Close the shared page, which hangs or has crashed; its next use opens a new one."""
        self.shared.close()
        del self.shared

    @cached_property
    def _playwright(self) -> Playwright:
        return self._closing.enter_context(sync_playwright())

    def browser(self, *, webgpu: bool = True, canvas: bool = False) -> Browser:
        """The browser of this run, or another one: without WebGPU, or with it on canvases."""
        kind = webgpu, canvas and not GPU_FLAGS
        if kind not in self._browsers:
            self._browsers[kind] = self._launch(*kind)
        return self._browsers[kind]

    def another_browser(self) -> Browser:
        """Return a browser for a test that makes it unusable."""
        return self._launch(webgpu=True, canvas=False)

    def _launch(self, webgpu: bool, canvas: bool) -> Browser:
        executable = find_chromium()
        if executable is None:
            raise SetupError("No Chromium was found; name one in the environment variable CHROMIUM")
        flags = GPU_FLAGS or [*SOFTWARE_FLAGS, *self._flags, *(CANVAS_FLAGS if canvas else [])]
        try:
            browser = self._playwright.chromium.launch(
                executable_path=executable,
                headless=False,  # the flags select the headless mode that has WebGPU
                args=[CAMERA_FLAG, *(flag for flag in flags if webgpu or flag != WEBGPU_FLAG)],
                # Playwright's own flag would select the software adapter even if there is a GPU.
                ignore_default_args=["--enable-unsafe-swiftshader"] if GPU_FLAGS else [],
            )
        except PlaywrightError as error:
            raise BootError(f"{executable} does not start: {error}") from error
        self._closing.callback(browser.close)
        if webgpu and GPU_FLAGS:
            self._await_hardware(browser)
        return browser

    def _await_hardware(self, browser: Browser) -> None:
        """Wait until the GPU process offers the GPU; at first it may offer the fallback."""
        page = browser.new_page()
        page.goto(self.url + "pyodide/lock.json")
        deadline = time.monotonic() + ADAPTER_SECONDS
        while not page.evaluate(_HARDWARE_ADAPTER):
            if time.monotonic() > deadline:
                raise BootError(f"no hardware adapter in {ADAPTER_SECONDS} s under {GPU_FLAGS}")
            page.wait_for_timeout(500)
        self._spare = page

    def open_page(
        self,
        *,
        webgpu: bool = True,
        canvas: bool = False,
        isolated: bool = True,
        service_worker: bool = False,
        routes: Mapping[str, Callable[[Route], Any]] | None = None,
        path: str = "",
        boot: bool = True,
        **context_options: Any,
    ) -> AppPage:
        """Open the app in its own context; the caller may close `page.context`.

        Parameters
        ----------
        webgpu
            False: in a browser without WebGPU.
        canvas
            True: in a browser that shows WebGPU's drawings on canvases; others may not.
        isolated
            False: without the headers that make the page cross-origin isolated.
        service_worker
            True: in a browser with service workers. Requests through one do not reach routes.
        routes
            URL pattern -> handler (Playwright's `route`), to replace or reject a file.
        path
            The part of the URL after the origin, such as "?code=1%2B1".
        boot
            False: the page stays blank; the test opens it by `app.boot(...)` or `page.goto`.
        context_options
            Further options of Playwright's `new_context`.
        """
        context = self.browser(webgpu=webgpu, canvas=canvas).new_context(
            base_url=self.url, **context_options
        )
        if not service_worker:
            context.add_init_script("delete Navigator.prototype.serviceWorker;")
        if not isolated:
            context.route("**/*", _without_isolation)
        for pattern, handler in (routes or {}).items():
            context.route(pattern, handler)
        app = AppPage(context.new_page())
        if boot:
            try:
                app.boot(self.url + path)
            except BootError:
                context.close()
                raise
        return app


def _without_isolation(route: Route) -> None:
    """Serve the server's files without the headers for cross-origin isolation."""
    response = route.fetch()
    kept = {k: v for k, v in response.headers.items() if not k.startswith("cross-origin-")}
    route.fulfill(response=response, headers=kept)


def _web_module(name: str) -> ModuleType:
    """Return a program of web/build, a folder of programs that is not a package."""
    spec = importlib.util.spec_from_file_location(
        f"web_{name}", ROOT / "web" / "build" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
