"""Runs tests inside the Pyodide worker and reports them as the host's own.

The host's pytest collects tests/ops as usual, so that -k, -x, --junitxml and other options keep
their meaning, but it runs no selected test itself. At the first one, it sends all of them to a
pytest inside the worker (in_worker.py), whose reports stream back to the host's plugins. As with
pytest-xdist, both sides must collect the same node ids. A parametrization that depends on the
machine breaks that, and its tests fail as "not run".

A test that reports nothing for --worker-timeout seconds, or during which the worker dies, fails by
name; the remaining tests then run in a new page.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import shlex
import time
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError

from tests.browser.app import AppPage
from tests.browser.sharing import app_session, shared_app
from tests.environment import ROOT

# pytest and its dependencies, all pure Python: the worker gets the host's copies, so that no
# network is needed and both sides use the same report format.
DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
LEXERS = {"__init__.py", "_mapping.py", "python.py", "diff.py"}  # used by pytest, of 250
HOST_ONLY = {"unit", "perf", "typings"}  # folders of tests/ that are not sent
WORKER_ROOT = "/py_tensor_tests"
MAX_RESTARTS = 3  # then the worker is broken, not hanging in a test
PULL_MS = 1000
INTERRUPT_SECONDS = 5

_LISTEN = """() => {
  const queue = [];
  let wake = () => {};
  const push = (text) => { queue.push(text); wake(); };
  const take = async (milliseconds) => {
    if (!queue.length) {
      await new Promise((resolve) => { wake = resolve; setTimeout(resolve, milliseconds); });
    }
    return queue.splice(0);
  };
  const start = (code) => {
    const ended = (answer) => push(JSON.stringify({kind: "ended", ...answer}));
    pyTensor.run(code).then(ended, (error) => ended({ok: false, error: String(error)}));
  };
  // On the window and capturing: so it is heard wherever the page dispatches it.
  window.addEventListener("pytensor:message", ({detail}) => {
    if (detail?.type === "pytest") push(detail.json);
  }, true);
  window.pyTensorTests = {start, take};
}"""

_PREPARE = f"""
import sys
from pyodide.http import pyfetch
import pyodide_js
_response = await pyfetch("/__tests__/bundle.zip")
await _response.unpack_archive(extract_dir={WORKER_ROOT!r}, format="zip")
await pyodide_js.loadPackage("numpy")
sys.dont_write_bytecode = True
sys.path[:0] = [{WORKER_ROOT!r}, {WORKER_ROOT!r} + "/site"]
"""


class WorkerRunner:
    """The host's pytest plugin: takes over the running of every test below `folder`.

    Parameters
    ----------
    folder, arguments
        The folder of the tests, and arguments for the worker's pytest.
    sent
        Additional folders for the worker, by their names there.
    root
        The one of these that contains the tests, if they are not this project's.
    """

    def __init__(
        self,
        config: pytest.Config,
        folder: Path,
        arguments: list[str],
        sent: Mapping[Path, str] = MappingProxyType({}),
        root: str = ".",
    ) -> None:
        self._config = config
        self._folder = folder
        self._arguments = arguments
        self._sent = sent
        self._root = f"{WORKER_ROOT}/{root}"
        self._timeout: float = config.option.worker_timeout
        self._results: Iterator[tuple[str, list[dict[str, Any]]]] | None = None
        self._finished: dict[str, list[dict[str, Any]]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if not item.path.is_relative_to(self._folder):
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports_of(item):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _reports_of(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Wait for the reports of setup, call and teardown."""
        if self._results is None:
            ours = (i for i in item.session.items if i.path.is_relative_to(self._folder))
            self._results = self._run_all([i.nodeid for i in ours])
        while item.nodeid not in self._finished:
            nodeid, reports = next(self._results, (item.nodeid, None))
            if reports is None:
                return [_failure(item, "not run: the worker's pytest did not collect this test")]
            self._finished[nodeid] = reports
        return [self._report(item, data) for data in self._finished.pop(item.nodeid)]

    def _report(self, item: pytest.Item, data: dict[str, Any]) -> pytest.TestReport:
        if "failure" in data:
            return _failure(item, data["failure"])
        if isinstance(data["longrepr"], list):  # of a skipped test: a tuple in Python
            data["longrepr"] = tuple(data["longrepr"])
        return self._config.hook.pytest_report_from_serializable(config=self._config, data=data)

    def _run_all(self, nodeids: list[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield (node id, serialized reports), over as many workers as needed."""
        left = dict.fromkeys(nodeids)
        for attempt in range(MAX_RESTARTS + 1):
            if attempt:
                app_session(self._config).drop_shared()
            arguments = [*self._arguments, *_shown(self._config)]
            run = _WorkerRun(shared_app(self._config), self._root, arguments, list(left))
            for nodeid, reports in run.results(bundle(self._sent), self._timeout):
                left.pop(nodeid, None)
                yield nodeid, reports
            if run.failure is None:
                return
            if run.current is None:  # not the fault of a test: it would occur in every worker
                pytest.exit(run.failure, returncode=pytest.ExitCode.INTERNAL_ERROR)
            left.pop(run.current, None)
            yield run.current, [{"failure": run.failure}]
        for nodeid in left:
            yield nodeid, [{"failure": f"not run: {MAX_RESTARTS + 1} workers failed before it"}]


class _WorkerRun:
    """One run of pytest in one worker.

    Attributes
    ----------
    current
        The test that has started and not finished, if any.
    failure
        Once `results` is exhausted: None, or why the run ended early.
    """

    def __init__(self, app: AppPage, root: str, arguments: list[str], nodeids: list[str]) -> None:
        self._app = app
        self._root = root
        self._arguments = arguments
        self._nodeids = nodeids
        self.current: str | None = None
        self.failure: str | None = None

    def results(self, archive: bytes, timeout: float) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Run the tests; yield each one's reports as they arrive."""
        try:
            self._start(archive)
            yield from self._follow(timeout)
        except PlaywrightError as error:
            self.failure = f"the page failed: {error}"
        if self.failure is not None:
            log = "\n".join(f"  {line}" for line in self._app.logged[-20:]) or "  (nothing)"
            self.failure += f"\nthe page's last lines in the console:\n{log}"

    def _start(self, archive: bytes) -> None:
        """Unpack the tests in the worker and start pytest there, without waiting for it."""
        page = self._app.page
        page.route("**/__tests__/bundle.zip", lambda route: route.fulfill(body=archive))
        prepared = self._app.run(_PREPARE)
        page.unroute("**/__tests__/bundle.zip")
        if not prepared["ok"]:
            raise PlaywrightError(f"the worker could not unpack the tests:\n{prepared['error']}")
        page.evaluate(_LISTEN)
        call = f"run({self._root!r}, {self._arguments!r}, {self._nodeids!r})"
        # An expression, so that no name is left behind in the REPL's namespace.
        code = f"__import__('tests.browser.in_worker', fromlist=['run']).{call}"
        page.evaluate("code => { pyTensorTests.start(code) }", code)

    def _follow(self, timeout: float) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Poll messages until the run ends or has been silent for too long."""
        messages: deque[dict[str, Any]] = deque()
        heard = time.monotonic()
        while True:
            pulled = self._app.page.evaluate("ms => pyTensorTests.take(ms)", PULL_MS)
            messages.extend(json.loads(text) for text in pulled)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > timeout:
                self.failure = f"timed out: the worker said nothing for {timeout:g} s"
                self.failure += self._interrupt()
                return
            while messages:
                message = messages.popleft()
                match message["kind"]:
                    case "start":
                        self.current = message["nodeid"]
                    case "finish":
                        self.current = None
                        yield message["nodeid"], message["reports"]
                    case "trouble":
                        self.failure = message["text"]
                    case _:  # "ended", with the result of pyTensor.run
                        if not message["ok"]:
                            self.failure = f"the worker died: {message['error']}"
                        return

    def _interrupt(self) -> str:
        """Interrupt a hanging run, so that pytest reports the line."""
        page = self._app.page
        page.evaluate("() => { pyTensor.interrupt() }")
        deadline = time.monotonic() + INTERRUPT_SECONDS
        while time.monotonic() < deadline:
            pulled = page.evaluate("ms => pyTensorTests.take(ms)", PULL_MS)
            for message in map(json.loads, pulled):
                if message["kind"] == "trouble":
                    return f"\n{message['text']}"
        return "\nit did not react to an interrupt either"


def _failure(item: pytest.Item, message: str) -> pytest.TestReport:
    """Return a failure report by the host, if the worker could not make one."""
    return pytest.TestReport(
        item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "failed", message, "call"
    )


def _shown(config: pytest.Config) -> list[str]:
    """The options that affect a failure's text, which the worker writes, and --worker-args."""
    shown = [f"--tb={config.option.tbstyle}", *(["-v"] * config.option.verbose)]
    if config.option.showlocals:
        shown.append("--showlocals")
    return [*shown, *shlex.split(config.option.worker_args)]


# Files for the worker -----------------------------------------------------------------------


def bundle(sent: Mapping[Path, str]) -> bytes:
    """A zip of pytest (below site/), tests/ and pyproject.toml, whose options apply there too.

    `sent` are further folders, by their names in the zip.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(ROOT / "pyproject.toml", "pyproject.toml")
        for path in _files(ROOT / "tests"):
            if path.relative_to(ROOT / "tests").parts[0] not in HOST_ONLY:
                archive.write(path, path.relative_to(ROOT))
        for path, name in _installed_files():
            archive.write(path, f"site/{name}")
        for folder, name in sent.items():
            for path in _files(folder):
                archive.write(path, Path(name, path.relative_to(folder)))
    return buffer.getvalue()


def _installed_files() -> Iterator[tuple[Path, Path]]:
    """Yield the files of pytest and its dependencies: (path, name within site-packages)."""
    for name in DISTRIBUTIONS:
        for file in importlib.metadata.files(name) or ():
            outside = ".." in file.parts  # such as ../../../bin/pytest
            spare_lexer = file.parent.name == "lexers" and file.name not in LEXERS
            if not (outside or spare_lexer or file.suffix == ".pyc"):
                yield Path(str(file.locate())), Path(file)


def _files(folder: Path) -> Iterator[Path]:
    """Return every file below a folder except compiled and hidden ones, in a fixed order."""
    for path in sorted(folder.rglob("*")):
        within = path.relative_to(folder).parts
        hidden = any(part == "__pycache__" or part.startswith(".") for part in within)
        if path.is_file() and not hidden:
            yield path
