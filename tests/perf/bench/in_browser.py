"""py_tensor and other libraries as contenders, all in one page of one browser."""

from __future__ import annotations

import ast
import json
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Error as PlaywrightError

from tests.browser.app import AppSession, lay_out
from tests.environment import ROOT
from tests.perf.bench.cases import Case
from tests.perf.bench.contender import MissingError, Sample
from tests.perf.bench.operands import Made, Served

PEERS = {"tfjs": "@tensorflow/tfjs-core", "jax-js": "@jax-js/jax"}
"""The peers, and the npm packages whose versions `package.json` pins."""
SENT = (
    "tests/__init__.py",
    "tests/perf/bench/cases.py",
    "tests/perf/bench/in_page.py",
    "tests/perf/bench/sampling.py",
    "web/worker/python/benchmarks.py",
)
"""Files for the worker, which gets them in a separate folder."""
WORKER_ROOT = "/py_tensor_bench"
PATIENCE = 60
"""Seconds after which a step inside the page counts as hanging."""
PING = 10
"""The same for a page that has just failed."""
HANGS = "no end after"
_MODULE = 'import(new URL("__bench__/peers.js", location.href).href)'

_START = f"""
import sys
from pyodide.http import pyfetch
sent = await pyfetch("/__bench__/worker.zip")
await sent.unpack_archive(extract_dir={WORKER_ROOT!r}, format="zip")
sys.path.insert(0, {WORKER_ROOT!r})
from tests.perf.bench import in_page, sampling
"""


class PageError(Exception):
    """Something inside the page failed."""


class BenchPage:
    """The app's page, served with the benchmarks' own files beside it (below `__bench__/`)."""

    def __init__(self, peers: Sequence[str] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="py_tensor-bench-")
        self._root = root = Path(self._folder.name)
        lay_out(root)
        self.served = Served(root / "__bench__" / "operands", "/__bench__/operands/")
        with zipfile.ZipFile(root / "__bench__" / "worker.zip", "w") as archive:
            for name in SENT:
                archive.write(ROOT / name, name)
        shutil.copy(ROOT / "tests" / "perf" / "bench" / "peers.js", root / "__bench__")
        self._peers = peers
        self.open()

    def open(self) -> None:
        """Start a browser with the page; `info` is the page's description of itself."""
        self._hangs = False
        self._session = AppSession(self._root)
        self._app = self._session.shared
        # It would boot a second Python during the timing.
        self._app.page.context.route("**/snapshot_worker.js", lambda route: route.abort())
        self.info = self._app.info
        self.browser = self._session.browser().version
        self.python(_START)
        for name in self._peers:
            function = f"async (options) => (await {_MODULE}).start({name!r}, options)"
            self.javascript(function, {"software": self.is_software})

    def mend(self) -> bool:
        """After a failure: opens a new page if this one is unusable; returns whether it did."""
        if self._works():
            return False
        self._session.close()
        self.open()
        return True

    def _works(self) -> bool:
        if self._hangs:
            return False
        try:
            self.python("None", seconds=PING)
            return not (self._peers and self.javascript(f"async () => (await {_MODULE}).anyLost()"))
        except PageError:
            return False

    def close(self) -> None:
        self._session.close()
        self._folder.cleanup()

    @property
    def is_software(self) -> bool:
        return bool(self.info["isFallbackAdapter"]) or self.info["backend"] != "webgpu"

    def python(self, code: str, seconds: float = PATIENCE) -> Any:
        """Run code in the worker; return its last expression, a literal."""
        done = self.javascript("(code) => pyTensor.run(code)", code, seconds)
        if not done["ok"]:
            raise PageError(done["error"].strip().splitlines()[-1])
        return ast.literal_eval(done["result"]) if done["result"] else None

    def javascript(self, function: str, argument: Any = None, seconds: float = PATIENCE) -> Any:
        """Call a function of the page; await a promise for at most this time."""
        script = f"""async ([argument, seconds]) => {{
          const late = new Promise((_, reject) => setTimeout(
            () => reject(new Error(`{HANGS} ${{seconds}} s`)), seconds * 1000));
          return await Promise.race([({function})(argument), late]);
        }}"""
        try:
            return self._app.page.evaluate(script, [argument, seconds])
        except PlaywrightError as error:
            self._hangs = HANGS in error.message
            message = error.message.splitlines()[0].removeprefix("Page.evaluate: ")
            raise PageError(message) from error


class PyTensor:
    """py_tensor on WebGPU, in the page's worker (`in_page.py`, `sampling.py`)."""

    name = "py_tensor"

    def __init__(self, page: BenchPage) -> None:
        self._page = page
        self.version = str(page.info["version"])

    def prepare(self, case: Case, operands: Sequence[Made]) -> None:
        specs = self._page.served.specs(operands)
        software = self._page.is_software
        code = f"in_page.prepare({case.label!r}, software={software}, operands={specs!r})"
        self._page.python(f"await {code}")

    def sample(self, count: int) -> Sample:
        given = self._page.python(f"sampling.sample({count})")
        if "missing" in given:
            raise MissingError(given["missing"])
        return Sample(given["seconds"], given["dispatches"])

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        return self._page.python(f"sampling.values({call}, {list(places)})")

    def gpu_seconds(self, count: int) -> float | None:
        return self._page.python(f"sampling.gpu_seconds({count})")

    def release(self) -> None:
        self._page.python("sampling.release()")


class Peer:
    """tfjs or jax-js on WebGPU, in the page itself (`peers.js`)."""

    def __init__(self, page: BenchPage, name: str) -> None:
        self._page = page
        self.name = name
        package = json.loads((ROOT / "package.json").read_text("utf-8"))
        self.version = str(package["dependencies"][PEERS[name]])

    def prepare(self, case: Case, operands: Sequence[Made]) -> None:
        about: dict[str, Any] = {"name": case.name, "finish": case.finish}
        about["operands"] = self._page.served.specs(operands)
        function = f"async (a) => (await {_MODULE}).prepare({self.name!r}, a)"
        if not self._page.javascript(function, about):
            raise MissingError("")

    def sample(self, count: int) -> Sample:
        return Sample(self._do("sample", {"count": count}))

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        return self._do("values", {"call": call, "places": list(places)})

    def gpu_seconds(self, count: int) -> float | None:
        return self._do("metered", {"count": count})["gpu"]

    def release(self) -> None:
        self._do("release", None)

    def _do(self, method: str, argument: Any) -> Any:
        function = f"async (a) => (await {_MODULE}).peers[{self.name!r}].{method}(a)"
        return self._page.javascript(function, argument)
