"""How the page starts: under its security policy, from its own origin, and with files missing."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.browser.app import DIST, AppPage

OpenPage = Callable[..., AppPage]
Run = Callable[[str], dict[str, Any]]

SERVED = [
    "",
    "index.html",
    "page/app.js",
    "worker/worker.js",
    "page/index.css",
    "page/icon.svg",
    "pyodide/pyodide.mjs",
    "pyodide/pyodide.asm.wasm",
    "pyodide/lock.json",
    "worker/python/modules.bin",
]


def serve_without_jspi(route: Route) -> None:
    """Serve the worker for a browser in which Python cannot block."""
    response = route.fetch()
    without = "delete WebAssembly.Suspending; delete WebAssembly.promising;\n"
    route.fulfill(response=response, body=without + response.text())


def fetch(url: str, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10)


SOURCES_TAKEN = """
import _imp, importlib.util, pathlib, sys
from_source, stale = [], []
for name, module in sorted(sys.modules.items()):
    origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
    if origin.startswith("/lib/python313.zip/asyncio") and not origin.endswith(".pyc"):
        from_source.append(name)
    if name.partition(".")[0] in ("py_tensor", "py_tensor_page") and origin.endswith(".py"):
        compiled = pathlib.Path(importlib.util.cache_from_source(origin))
        head = compiled.read_bytes()[:16] if compiled.exists() else b""
        source = importlib.util.source_hash(pathlib.Path(origin).read_bytes())
        if head != importlib.util.MAGIC_NUMBER + bytes([3, 0, 0, 0]) + source:
            stale.append(name)
from_source, stale
"""
"""Modules of a first visit that are not loaded from the build's bytecode."""


class TestServer:
    @pytest.mark.parametrize("path", [*SERVED, "nowhere"])
    def test_every_response_carries_the_policy(self, server: str, path: str) -> None:
        try:
            headers = fetch(server + path).headers
        except urllib.error.HTTPError as error:
            headers = error.headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "script-src 'self' 'wasm-unsafe-eval'" in policy
        assert "unsafe-inline" not in policy
        assert "'unsafe-eval'" not in policy
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"

    def test_types(self, server: str) -> None:
        def content_type(path: str) -> str:
            return fetch(server + path).headers["Content-Type"]

        assert content_type("pyodide/pyodide.asm.wasm") == "application/wasm"
        assert content_type("pyodide/pyodide.mjs").startswith("text/javascript")
        assert content_type("worker/worker.js").startswith("text/javascript")
        assert content_type("").startswith("text/html")

    def test_an_unchanged_file_is_not_sent_again(self, server: str) -> None:
        etag = fetch(server + "page/app.js").headers["ETag"]
        with pytest.raises(urllib.error.HTTPError) as caught:
            fetch(server + "page/app.js", **{"If-None-Match": etag})
        assert caught.value.code == 304

    @pytest.mark.parametrize("path", ["page/", "../build/build.py", "..%2fbuild/build.py"])
    def test_nothing_else_is_served(self, server: str, path: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as caught:
            fetch(server + path)
        assert caught.value.code == 404


class TestReady:
    def test_what_it_says(self, app: AppPage) -> None:
        info = app.info
        assert info["pyodide"] == "0.29.5"
        assert info["crossOriginIsolated"] is True
        assert info["jspi"] is True
        assert info["problem"] is None
        assert info["boot"] in ("plain", "snapshot")
        assert isinstance(info["isFallbackAdapter"], bool)
        assert isinstance(info["features"], list)
        assert info["adapter"]["vendor"]
        assert info["limits"]["maxBufferSize"] >= 2**28

    def test_imported_modules_were_compiled_by_the_build(self, fresh_page: OpenPage) -> None:
        app = fresh_page(first_visit=True)
        assert app.run(SOURCES_TAKEN)["result"] == "([], [])"
        assert (
            int(app.run("import sys; len([n for n in sys.modules if 'tensor' in n])")["result"])
            > 90
        )

    def test_the_shipped_wheel_is_installed(self, run: Run) -> None:
        where = run("pt.__file__")["result"]
        assert "/site-packages/py_tensor/__init__.py" in where

    def test_a_software_adapter_is_announced(self, app: AppPage) -> None:
        banner = app.page.locator("#banner")
        if app.info["isFallbackAdapter"]:
            expect(banner).to_be_visible()
            expect(banner).to_contain_text("not a GPU")
        else:
            expect(banner).to_be_hidden()

    def test_the_status_line_names_the_adapter(self, app: AppPage) -> None:
        expect(app.page.locator("#status-text")).to_contain_text(
            app.info["adapter"]["vendor"], ignore_case=True
        )


USUAL = [
    "(pt.arange(16) * 2).sum().item()",
    "pt.ones((4, 4)) @ pt.ones((4, 4))",
    "pt.exp(pt.linspace(0, 1, 5))",
    "pt.linspace(1, 20, 20).reshape(4, 5).sum(0)",
    "pt.tensor([1.0, 2.0, 3.0]) * 2",
    "pt.rand(4, 6)",
]
"""First expressions of visitors, included in web/build/kernels.py."""

STATS = "__import__('json').loads(pt.default_device().backend.bridge.stats())"

LONGEST_GAP = """async (code) => {
  let last = performance.now(), longest = 0, ended = false;
  const frame = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (!ended) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const begun = performance.now();
  const { error } = await pyTensor.run(code);
  ended = true;
  frame();
  return { error, longest, taken: performance.now() - begun };
}"""


class TestKernels:
    def test_usual_ones_are_compiled_while_python_boots(self, fresh_page: OpenPage) -> None:
        usual = DIST / "kernels" / "software.json"  # the test's server has an empty one
        routes = {"**/kernels/software.json": lambda route: route.fulfill(path=usual)}
        app = fresh_page(first_visit=True, routes=routes)
        while app.run(f"{STATS}['precompiles'] >= 20")["result"] == "False":
            app.page.wait_for_timeout(50)
        # Each could be the first: earlier ones have not compiled any kernel that it could use.
        compiled = {code: app.run(f"{code}\n{STATS}['compiles']")["result"] for code in USUAL}
        assert compiled == dict.fromkeys(USUAL, "0")

    def test_without_the_list_each_is_compiled_when_it_is_used(self, fresh_page: OpenPage) -> None:
        app = fresh_page(
            first_visit=True, routes={"**/kernels/*.json": lambda route: route.fulfill(status=404)}
        )
        assert app.run(USUAL[0])["result"] == "240"
        assert app.run(f"{STATS}['compiles'] > 0, {STATS}['precompiles']")["result"] == "(True, 0)"

    @pytest.mark.alone
    def test_the_page_is_drawn_while_one_compiles(self, fresh_page: OpenPage) -> None:
        """One kernel with 40 functions takes seconds on a software adapter."""
        app = fresh_page(first_visit=True)
        found = app.page.evaluate(
            LONGEST_GAP,
            "x = pt.rand(1000)\nfor _ in range(8):\n"
            "    x = pt.tanh(x * x + pt.erf(x)) - pt.sin(x) * pt.log1p(pt.cosh(x))\nx.sum().item()",
        )
        assert found["error"] is None
        assert found["longest"] < max(100, found["taken"] / 4)


class TestOwnOriginAlone:
    """One page is opened for all of these, because booting takes most of the time."""

    @pytest.fixture(scope="class")
    @classmethod
    def booted(cls, session: Any) -> Any:
        app = session.open_page(boot=False)
        requested: list[str] = []
        app.page.on("request", lambda request: requested.append(request.url))
        app.boot(session.url)
        yield app, requested, session.url
        app.close()

    def test_nothing_is_logged_and_no_policy_is_violated(self, booted: Any) -> None:
        app, _, _ = booted
        app.settle()
        assert [str(line) for line in app.logged if line.kind != "log"] == []

    def test_numpy_is_not_needed_to_boot(self, booted: Any) -> None:
        app, requested, _ = booted
        assert not [url for url in requested if "numpy" in url]
        if app.info["backend"] == "webgpu":
            assert app.run("import sys; 'numpy' in sys.modules")["result"] == "False"

    def test_numpy_and_micropip_load_when_imported(self, booted: Any) -> None:
        app, _, _ = booted
        # Two tasks ask for it at once.
        done = app.run(
            "import asyncio\n"
            "async def total(n):\n"
            "    np = __import__('numpy')\n"
            "    return int(np.arange(n).sum())\n"
            "await asyncio.gather(total(5), total(4))"
        )
        assert done["result"] == "[10, 6]", done["error"]
        assert app.run("def f():\n    import micropip\n    return micropip.__name__\nf()") == {
            "ok": True,
            "stdout": "",
            "result": "'micropip'",
            "error": None,
        }
        app.settle()
        assert [str(line) for line in app.logged if line.kind != "log"] == []

    def test_micropip_installs_a_wheel_of_this_origin(self, booted: Any) -> None:
        app, requested, _ = booted
        (wheel,) = {u for u in requested if "/wheels/py_tensor-" in u}
        done = app.run(f"import micropip\nawait micropip.install({wheel!r}, deps=False)")
        assert done["error"] is None

    def test_all_requests_went_to_this_origin(self, booted: Any) -> None:
        _, requested, url = booted
        assert requested
        assert [u for u in requested if not u.startswith((url, "data:"))] == []


class TestWithoutWebGPU:
    @pytest.mark.parametrize("jspi", [True, False])
    def test_it_runs_on_the_cpu_and_says_so(self, fresh_page: OpenPage, jspi: bool) -> None:
        app = fresh_page(
            first_visit=True,
            webgpu=False,
            routes={} if jspi else {"**/worker.js": serve_without_jspi},
        )
        assert app.info["jspi"] is jspi
        assert app.info["backend"] == "cpu"
        assert app.info["adapter"] is None
        assert app.info["problem"] is None
        expect(app.page.locator("#banner")).to_contain_text("No WebGPU here")
        expect(app.page.locator("#banner")).to_contain_text("turn on graphics acceleration")
        expect(app.page.locator(".tagline")).to_contain_text("computed on the CPU")
        expect(app.page.locator("#status-text")).to_contain_text("CPU")
        done = app.run("x = pt.linspace(1, 20, 20).reshape(4, 5); x.sum(0), pt.device_info()")
        assert done["error"] is None
        assert "34., 38., 42., 46., 50." in done["result"]
        assert app.run("x.max().item(), x.numpy()[0, 0]")["error"] is None
        app.page.get_by_role("tab", name="How it works").click()
        expect(app.page.locator(".learn .note")).to_contain_text("explains the GPU device")
        expect(app.page.locator("#learn-graph")).to_contain_text(
            "computes small operations at once"
        )
        expect(app.page.locator("#learn-threads")).to_contain_text("no kernels to show")


class TestNotIsolated:
    def test_it_runs_and_waits_can_be_interrupted(self, fresh_page: OpenPage) -> None:
        app = fresh_page(first_visit=True, isolated=False)
        assert app.info["crossOriginIsolated"] is False
        assert app.run("1 + 1")["result"] == "2"
        done = app.page.evaluate("""async () => {
            const running = pyTensor.run("import asyncio\\nawait asyncio.sleep(60)");
            await new Promise((resolve) => setTimeout(resolve, 200));
            await pyTensor.interrupt();
            return await running;
        }""")
        assert done["error"].endswith("KeyboardInterrupt")
        assert app.run("2 + 2")["result"] == "4"

    def test_it_says_so_and_a_loop_ends_by_a_restart(self, fresh_page: OpenPage) -> None:
        app = fresh_page(first_visit=True, isolated=False)
        expect(app.page.locator("#banner")).to_contain_text("no cross-origin isolation")
        app.page.evaluate("() => { window.done = pyTensor.run('while True: pass'); }")
        restart = app.page.get_by_role("button", name="Restart Python")
        expect(restart).to_be_hidden()
        app.page.wait_for_timeout(300)
        app.page.keyboard.press("Control+c")
        expect(restart).to_be_visible(timeout=10_000)
        restart.click()
        assert "restarted" in app.page.evaluate("() => window.done")["error"]
        assert app.run("(pt.ones(3) + 1).tolist()")["result"] == "[2.0, 2.0, 2.0]"


class TestWithoutJSPI:
    """Then nothing can block: the page awaits its displays."""

    @pytest.fixture(scope="class")
    @classmethod
    def without(cls, session: Any) -> Any:
        app = session.open_page(routes={"**/worker.js": serve_without_jspi})
        yield app
        app.close()

    def test_it_says_so(self, without: AppPage) -> None:
        assert without.info["jspi"] is False
        banner = without.page.locator("#banner")
        expect(banner).to_contain_text("no JSPI")
        expect(banner).to_contain_text("await x.to_numpy_async()")

    def test_the_last_expression_is_shown(self, without: AppPage) -> None:
        done = without.run("pt.linspace(1, 20, 20).reshape(4, 5).sum(0)")
        assert done["result"] == "tensor([34., 38., 42., 46., 50.])"
        assert without.run("_.shape")["result"] == "(5,)"

    def test_a_read_inside_code_names_the_way_out(self, without: AppPage) -> None:
        error = without.run("print(pt.ones((2,)) * 2)")["error"]
        assert "await x.to_numpy_async()" in error
        done = without.run("x = pt.ones((2,)) * 2\nprint(await x.to_numpy_async())")
        assert done["stdout"] == "[2. 2.]\n"

    def test_an_await_can_be_interrupted(self, without: AppPage) -> None:
        done = without.page.evaluate("""async () => {
            const running = pyTensor.run("import asyncio\\nawait asyncio.sleep(60)");
            await new Promise((resolve) => setTimeout(resolve, 200));
            await pyTensor.interrupt();
            return await running;
        }""")
        assert done["error"].endswith("KeyboardInterrupt")


class TestFailure:
    def test_it_is_shown_and_can_be_tried_again(self, fresh_page: OpenPage, server: str) -> None:
        broken = {"now": True}

        def refuse(route: Route) -> None:
            if broken["now"]:
                route.fulfill(status=404)
            else:
                route.continue_()

        app = fresh_page(first_visit=True, boot=False, routes={"**/lock.json": refuse})
        app.page.goto(server)
        banner = app.page.locator("#banner")
        expect(banner).to_contain_text("Python could not be started", timeout=60_000)
        expect(banner).to_contain_text("lock.json")
        done = app.run("1 + 1")
        assert done["ok"] is False
        assert "could not be started" in done["error"]
        reason = app.page.evaluate("pyTensor.ready.catch((error) => error.message)")
        assert "lock.json" in reason

        broken["now"] = False
        banner.get_by_role("button", name="Try again").click()
        app.page.evaluate("pyTensor.ready.then(() => null)")
        assert app.run("1 + 1")["result"] == "2"

    @pytest.mark.parametrize(
        "name", ["pyodide.asm.wasm", "python_stdlib.bin", "pyodide.asm.js", "py_tensor-*.whl"]
    )
    def test_a_file_that_is_missing_is_named_at_once(
        self, fresh_page: OpenPage, server: str, name: str
    ) -> None:
        refuse = {f"**/{name}": lambda route: route.fulfill(status=404)}
        app = fresh_page(first_visit=True, boot=False, routes=refuse)
        app.page.clock.install()  # the page does not give up on its own
        app.page.goto(server)
        banner = app.page.locator("#banner")
        expect(banner).to_contain_text("Python could not be started")
        expect(banner).to_contain_text(name.partition("*")[0])
        expect(banner.get_by_role("button", name="Try again")).to_be_visible()

    @pytest.mark.parametrize(
        "name", ["page/start.js", "page/app.js", "page/chunk-*.js", "vendor/codemirror.js"]
    )
    def test_a_page_that_does_not_come_whole_says_so(
        self, fresh_page: OpenPage, server: str, name: str
    ) -> None:
        refuse = {f"**/{name}": lambda route: route.fulfill(status=404)}
        app = fresh_page(first_visit=True, boot=False, routes=refuse)
        app.page.goto(server)
        banner = app.page.locator("#banner")
        expect(banner).to_contain_text("Part of this page could not be loaded.")
        expect(banner.get_by_role("button")).to_have_text(["Try again"])
        expect(app.page.locator("#status-text")).to_have_text("The page did not load")
        app.page.context.unroute(f"**/{name}")
        banner.get_by_role("button", name="Try again").click()
        app.page.wait_for_function("() => Boolean(window.pyTensor)")

    @pytest.mark.parametrize("name", ["page/start.js", "page/app.js"])
    def test_a_server_that_stops_answering_is_reported(
        self, fresh_page: OpenPage, server: str, name: str
    ) -> None:
        """The page still starts once the server answers."""
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        app = fresh_page(first_visit=True, boot=False, routes={f"**/{name}": hold})
        app.page.goto(server, wait_until="commit")
        late = app.page.locator("#late")
        expect(late).to_be_hidden()
        expect(late).to_contain_text("The server of this page is slow or does not respond.")
        expect(late).to_be_visible(timeout=8000)
        expect(late.get_by_role("link", name="Try again")).to_be_visible()
        for route in held:
            route.continue_()
        app.page.wait_for_function("() => Boolean(window.pyTensor)")
        expect(late).to_have_count(0)

    def test_a_page_without_any_script_says_so(self, fresh_page: OpenPage, server: str) -> None:
        refuse = {"**/page/*.js": lambda route: route.abort()}
        app = fresh_page(first_visit=True, boot=False, routes=refuse)
        app.page.goto(server)
        expect(app.page.locator("#late")).to_be_visible(timeout=8000)

    def test_a_server_that_goes_away_while_python_starts(
        self, fresh_page: OpenPage, server: str
    ) -> None:
        def hold(route: Route) -> None:
            pass

        names = ("**/pyodide/pyodide.mjs", "**/build.json")
        app = fresh_page(first_visit=True, boot=False, routes=dict.fromkeys(names, hold))
        app.page.goto(server)
        banner = app.page.locator("#banner")
        expect(banner).to_contain_text("The server of this page does not respond.", timeout=15_000)
        banner.get_by_role("button", name="Try again").click()
        for name in names:
            app.page.context.unroute(name)
        app.page.wait_for_function("() => window.pyTensor?.ready")
        assert app.run("1 + 1")["result"] == "2"
        expect(banner).not_to_contain_text("The server of this page")

    def test_a_policy_without_webassembly_is_named_at_once(
        self, fresh_page: OpenPage, server: str
    ) -> None:
        def forbid(route: Route) -> None:
            response = route.fetch()
            policy = response.headers["content-security-policy"]
            strict = policy.replace(" 'wasm-unsafe-eval'", "")
            headers = response.headers | {"content-security-policy": strict}
            route.fulfill(response=response, headers=headers)

        app = fresh_page(first_visit=True, boot=False, routes={"**/*.js": forbid})
        app.page.clock.install()
        app.page.goto(server)
        banner = app.page.locator("#banner")
        expect(banner).to_contain_text("WebAssembly")
        expect(banner).to_contain_text("wasm-unsafe-eval")

    def test_a_boot_that_hangs_is_given_up(self, fresh_page: OpenPage, server: str) -> None:
        app = fresh_page(
            first_visit=True, boot=False, routes={"**/pyodide.asm.wasm": lambda route: None}
        )
        app.page.clock.install()
        app.page.goto(server)
        expect(app.page.locator("#status-text")).to_contain_text("Starting Python")
        app.page.clock.run_for(61_000)
        expect(app.page.locator("#banner")).to_contain_text("did not start within 60 seconds")
