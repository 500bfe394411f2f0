"""The page in an installed Firefox, from a host that sets no headers; skipped without Firefox."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.firefox import Firefox, FirefoxError, running_firefox
from tests.browser.static_host import StaticHost, static_host
from tests.environment import find_firefox

SECONDS = 120  # to boot, with NumPy, on a busy machine

READY = """async () => {
  while (!window.pyTensor) await new Promise((resolve) => setTimeout(resolve, 50));
  return JSON.stringify(await pyTensor.ready);
}"""
RUN = "async (code) => JSON.stringify(await pyTensor.run(code))"
KEPT = """async () => {
  while (!(await caches.match(new URL("kept", location.href)))) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}"""
INTERRUPTED = """async () => {
  const running = pyTensor.run("while True: pass");
  await new Promise((resolve) => setTimeout(resolve, 500));
  await pyTensor.interrupt();
  return (await running).error;
}"""


def visit(firefox: Firefox, host: StaticHost) -> dict[str, Any]:
    """Return the result of `pyTensor.ready`, after the page has reloaded itself if necessary."""
    firefox.open(host.url)
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return json.loads(firefox.evaluate(READY))
        except FirefoxError as error:
            if "unloaded" not in str(error) or time.monotonic() > deadline:
                raise


def run(firefox: Firefox, code: str) -> dict[str, Any]:
    return json.loads(firefox.evaluate(RUN, code))


@pytest.fixture(scope="module")
def visited(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Firefox, StaticHost, dict[str, Any]]]:
    executable = find_firefox()
    if executable is None:
        pytest.skip("no Firefox is installed (FIREFOX, firefox, firefox-esr)")
    folder: Path = tmp_path_factory.mktemp("site")
    with static_host(folder) as host, running_firefox(executable) as firefox:
        yield firefox, host, visit(firefox, host)


Visited = tuple[Firefox, StaticHost, dict[str, Any]]


def test_it_is_isolated_and_computes(visited: Visited) -> None:
    firefox, _, info = visited
    assert info["crossOriginIsolated"] is True
    done = run(firefox, "pt.linspace(1, 20, 20).reshape(4, 5).sum(0)")
    assert done["result"] == "tensor([34., 38., 42., 46., 50.])"
    assert run(firefox, "import numpy as np; int(np.arange(5).sum())")["result"] == "10"


def test_it_says_what_is_missing(visited: Visited) -> None:
    firefox, _, info = visited
    banner = firefox.evaluate("() => document.getElementById('banner').textContent")
    assert ("No WebGPU here" in banner) == (info["backend"] != "webgpu")
    assert "isolation" not in banner


def test_ctrl_c_ends_a_loop(visited: Visited) -> None:
    firefox, _, _ = visited
    assert "KeyboardInterrupt" in firefox.evaluate(INTERRUPTED)
    assert run(firefox, "1 + 1")["result"] == "2"


def test_a_visit_without_a_network(visited: Visited) -> None:
    firefox, host, _ = visited
    firefox.evaluate(KEPT)
    host.stop()
    info = visit(firefox, host)
    assert info["crossOriginIsolated"] is True
    assert run(firefox, "(pt.ones(3) + 1).tolist()")["result"] == "[2.0, 2.0, 2.0]"
