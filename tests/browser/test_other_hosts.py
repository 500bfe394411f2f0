"""The wheel in Pyodide outside our page: no registered bridge, no security policy, one wheel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.app import DIST, SITE
from tests.browser.folder_server import served
from tests.environment import ROOT

HOST = """<!doctype html><link rel=icon href=data:,><script type="module">
  if (location.hash === "#no-jspi") delete WebAssembly.Suspending;
  const { loadPyodide } = await import("/pyodide/pyodide.mjs");
  globalThis.run = async (code) => {
    const pyodide = await loadPyodide({
      indexURL: "/pyodide/", lockFileURL: "/lock.json",
      packageBaseUrl: `${location.origin}/wheels/`,
    });
    await pyodide.loadPackage("micropip");
    return String(await pyodide.runPythonAsync(code));
  };
</script>"""

INSTALL = """
import js, micropip
await micropip.install(f"{js.location.origin}/published/WHEEL")
import py_tensor as pt
"""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A host with the published Pyodide, and the page's wheels."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "pyodide").symlink_to(ROOT / "node_modules" / "pyodide")
    (folder / "wheels").symlink_to(DIST / "wheels")
    (folder / "published").symlink_to(SITE / "wheels")
    (folder / "lock.json").symlink_to(DIST / "pyodide" / "lock.json")
    with served(folder, HOST) as origin:
        yield origin


def run(browser: Browser, address: str, code: str) -> Any:
    """Return the value of `code` after the library is installed, as text."""
    (wheel,) = (SITE / "wheels").glob("py_tensor-*.whl")
    page = browser.new_page()
    try:
        page.goto(address)
        page.wait_for_function("() => 'run' in globalThis")
        return page.evaluate("code => run(code)", INSTALL.replace("WHEEL", wheel.name) + code)
    finally:
        page.close()


def test_reads_block_with_jspi(browser: Browser, origin: str) -> None:
    code = "repr(pt.linspace(1, 20, 20).reshape(4, 5).sum(0)), pt.device_info()['backend']"
    assert run(browser, origin, code) == "('tensor([34., 38., 42., 46., 50.])', 'webgpu')"


def test_reads_are_awaited_without_jspi(browser: Browser, origin: str) -> None:
    code = """
await pt.init()
x = pt.arange(3) + 1
try:
    x.tolist()
except pt.WaitError as error:
    told = "to_numpy_async" in str(error)
told, await x.__repr_async__(), (await x.to_numpy_async()).tolist(), str(x.device)
"""
    found = run(browser, f"{origin}/#no-jspi", code)
    assert found == "(True, 'tensor([1, 2, 3])', [1, 2, 3], 'webgpu')"


@pytest.mark.parametrize("jspi", ["", "#no-jspi"])
def test_two_inits_at_once_are_one_device(browser: Browser, origin: str, jspi: str) -> None:
    code = """
import asyncio
first, second = await asyncio.gather(pt.init(), pt.init())
x = pt.arange(3) + 1
first["generation"], second["generation"], await x.__repr_async__()
"""
    assert run(browser, f"{origin}/{jspi}", code) == "(1, 1, 'tensor([1, 2, 3])')"


def test_a_lost_device_is_replaced_by_init_without_jspi(browser: Browser, origin: str) -> None:
    code = """
from py_tensor.backend.device import GPU_DEVICE
await pt.init()
old = pt.arange(3) + 1
GPU_DEVICE.backend.bridge.loseDevice()
told = []
for wait in (old.__repr_async__, pt.init, (pt.arange(3) + 2).__repr_async__):
    try:
        told.append(str(await wait())[:9])
    except (pt.WaitError, pt.DeviceLostError) as error:
        told.append(type(error).__name__)
told, pt.device_info()["generation"]
"""
    found = run(browser, f"{origin}/#no-jspi", code)
    assert found == "(['WaitError', 'webgpu: G', 'tensor([2'], 2)"
