"""The part of worker_pytest.py that runs inside the Pyodide worker.

It runs pytest on the tests that the host selected, and posts each result to the page, which
forwards it as a DOM event. Messages are JSON texts: {"kind": "start", "nodeid"}; {"kind": "finish",
"nodeid", "reports"}, with reports serialized by pytest's own functions, as for pytest-xdist;
{"kind": "trouble", "text"} if pytest itself failed or was interrupted.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import traceback
from typing import Any

import js
import pytest
from pyodide.ffi import to_js

INTERRUPT_FRAMES = 5


def run(root: str, arguments: list[str], nodeids: list[str]) -> None:
    """Run these tests and post their results.

    Parameters
    ----------
    root
        Where the tests were unpacked; node ids are relative to it.
    arguments
        Further arguments of pytest's command line.
    nodeids
        The tests to run.
    """
    os.chdir(root)
    files = list(dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids))
    printed = io.StringIO()
    poster = _Poster(nodeids)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = pytest.main(
            # File descriptors cannot be captured here, and no written file persists.
            [
                *files,
                f"--rootdir={root}",
                "--capture=sys",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:faulthandler",
                *arguments,
            ],
            plugins=[poster],
        )
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not poster.interrupted:
        text = f"pytest in the worker ended with exit code {int(code)}:\n{printed.getvalue()}"
        _post(kind="trouble", text=text)


class _Poster:
    """A pytest plugin that runs only the selected tests and posts their results."""

    def __init__(self, nodeids: list[str]) -> None:
        self.interrupted = False
        self._selected = set(nodeids)
        self._reports: list[dict[str, Any]] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._selected]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._reports = []
        _post(kind="start", nodeid=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        _post(kind="finish", nodeid=nodeid, reports=self._reports)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, pytest.Session.Interrupted):  # by pytest: an import failed
            return
        self.interrupted = True
        # Before pytest's own report, which takes too long: the page repeats the interrupt.
        frames = "".join(traceback.format_tb(excinfo.tb)[-INTERRUPT_FRAMES:])
        _post(kind="trouble", text=f"interrupted at\n{frames}")


def _post(**message: Any) -> None:
    text = json.dumps(message, default=str)
    js.postMessage(to_js({"type": "pytest", "json": text}, dict_converter=js.Object.fromEntries))
