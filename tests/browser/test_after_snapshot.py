"""The console and `pyTensor.run` in a Python restored from a snapshot: reruns other tests there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.app import AppPage
from tests.browser.test_repl import TestConsole, TestInput
from tests.browser.test_run import TestErrors, TestInterrupt, TestRun
from tests.browser.visitor import Regular

pytestmark = pytest.mark.costly

# Collected here too, with the fixtures below.
__all__ = ["TestConsole", "TestErrors", "TestInput", "TestInterrupt", "TestRun"]


@pytest.fixture(scope="module")
def app(regular: Callable[[bool], Regular]) -> Iterator[AppPage]:
    again = regular(False).open_page()
    assert again.info["boot"] == "snapshot"
    yield again
    again.page.close()


@pytest.fixture(scope="module")
def page(app: AppPage) -> Page:
    return app.page


@pytest.fixture(scope="module")
def run(app: AppPage) -> Callable[[str], dict[str, Any]]:
    return app.run


Run = Callable[[str], dict[str, Any]]

WHEEL = """
import io, micropip, zipfile
wheel, info = io.BytesIO(), "later-1.0.dist-info/"
with zipfile.ZipFile(wheel, "w") as archive:
    archive.writestr("later.py", "value = 42")
    archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: later\\nVersion: 1.0\\n")
    archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
    archive.writestr(info + "RECORD", "")
with open("/tmp/later-1.0-py3-none-any.whl", "wb") as file:
    file.write(wheel.getvalue())
await micropip.install("emfs:/tmp/later-1.0-py3-none-any.whl")
import later
later.value
"""


class TestPackages:
    def test_modules_of_the_standard_library(self, run: Run) -> None:
        done = run("import csv, decimal, unittest\ndecimal.Decimal(1) / 8")
        assert done["result"] == "Decimal('0.125')"

    def test_numpy(self, run: Run) -> None:
        code = "import numpy as np\nx = pt.tensor(np.arange(6.0, dtype='f4')) * 2\nx.numpy().sum()"
        assert run(code)["result"] == "np.float32(30.0)"
        assert run("float(np.linalg.det(np.eye(3)))")["result"] == "1.0"

    def test_numpys_random_numbers(self, run: Run) -> None:
        code = "import numpy as np\nlen({np.random.default_rng().random() for _ in range(9)})"
        assert run(code)["result"] == "9"

    def test_micropip(self, run: Run) -> None:
        assert "'py-tensor'" in run("import micropip\nsorted(micropip.list())")["result"]

    def test_a_wheel_that_is_made_here(self, run: Run) -> None:
        done = run(WHEEL)
        assert done["error"] is None
        assert done["result"] == "42"

    def test_the_wheel_of_the_library(self, app: AppPage) -> None:
        lock = app.page.evaluate("fetch('pyodide/lock.json').then((response) => response.json())")
        address = f"{app.page.url}wheels/{lock['packages']['py-tensor']['file_name']}"
        done = app.run(f"import micropip\nawait micropip.install({address!r}, deps=False)")
        assert done["error"] is None

    def test_javascript(self, run: Run) -> None:
        """JavaScript objects are those of this visit."""
        done = run("import js, pyodide_js\njs.location.href, pyodide_js.version")
        assert "worker.js" in done["result"]
        assert run("from js import fetch\n(await fetch('../build.json')).status")["result"] == "200"

    def test_sources_are_found(self, run: Run) -> None:
        code = "import inspect\ninspect.getsource(pt.device_info)[:15]"
        assert run(code)["result"] == "'def device_info'"

    def test_frames_of_the_library_have_their_lines(self, run: Run) -> None:
        code = "import traceback\ntry:\n    pt.ones(3) + pt.ones(4)\nexcept ValueError:\n"
        assert "raise ShapeError" in run(code + "    print(traceback.format_exc())")["stdout"]
