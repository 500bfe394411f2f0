"""The wheel in Pyodide outside our page: no registered bridge, no security policy, one wheel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.app import BOOT_SECONDS, DIST, SITE
from tests.browser.folder_server import served
from tests.environment import ROOT

HOST = """<!doctype html><link rel=icon href=data:,><script type="module">
  if (location.hash === "#no-jspi") delete WebAssembly.Suspending;
  const { loadPyodide } = await import("/pyodide/pyodide.mjs");
  const pyodide = await loadPyodide({
    indexURL: "/pyodide/", lockFileURL: "/lock.json",
    packageBaseUrl: `${location.origin}/wheels/`,
  });
  await pyodide.loadPackage("micropip");
  globalThis.runSynchronously = (code) => String(pyodide.runPython(code));
  globalThis.run = async (code) => String(await pyodide.runPythonAsync(code));
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


@pytest.fixture(scope="module")
def hosts(browser: Browser, origin: str) -> Iterator[Callable[[str], Page]]:
    """Return the page of an address on the host, where the library was installed once."""
    (wheel,) = (SITE / "wheels").glob("py_tensor-*.whl")
    opened: dict[str, Page] = {}

    def page(address: str) -> Page:
        if address not in opened:
            host = browser.new_page()
            host.goto(f"{origin}/{address}")
            host.wait_for_function("() => 'run' in globalThis", timeout=BOOT_SECONDS * 1000)
            run(host, INSTALL.replace("WHEEL", wheel.name))
            opened[address] = host
        return opened[address]

    yield page
    for made in opened.values():
        made.close()


@pytest.mark.parametrize("address", ["#without-a-read", "#no-jspi"])
def test_two_inits_at_once_are_one_device(hosts: Callable[[str], Page], address: str) -> None:
    code = """
import asyncio
first, second = await asyncio.gather(pt.init(), pt.init())
x = pt.arange(3) + 1
first["generation"], second["generation"], await x.__repr_async__()
"""
    assert run(hosts(address), code) == "(1, 1, 'tensor([1, 2, 3])')"


def test_reads_block_with_jspi(hosts: Callable[[str], Page]) -> None:
    """Also without a call of `init`."""
    code = "repr(pt.linspace(1, 20, 20).reshape(4, 5).sum(0)), pt.device_info()['backend']"
    assert run(hosts(""), code) == "('tensor([34., 38., 42., 46., 50.])', 'webgpu')"


def test_reads_are_awaited_without_jspi(hosts: Callable[[str], Page]) -> None:
    code = """
await pt.init()
x = pt.arange(3) + 1
try:
    x.tolist()
except pt.WaitError as error:
    told = "to_numpy_async" in str(error)
told, await x.__repr_async__(), (await x.to_numpy_async()).tolist(), str(x.device)
"""
    assert run(hosts("#no-jspi"), code) == "(True, 'tensor([1, 2, 3])', [1, 2, 3], 'webgpu')"


@pytest.mark.parametrize("address", ["#without-a-read", "#no-jspi"])
def test_synchronous_code_is_told_of_asynchronous_code(
    hosts: Callable[[str], Page], address: str
) -> None:
    """`await` cannot be written in it."""
    code = """
try:
    pt.arange(3).tolist()
except pt.WaitError as error:
    told = str(error)
told
"""
    told = hosts(address).evaluate("code => runSynchronously(code)", code)
    assert "runPythonAsync" in told
    assert "to_numpy_async" not in told


def test_numpy_that_cannot_be_loaded(hosts: Callable[[str], Page]) -> None:
    page = hosts("#without-a-read")
    code = """
try:
    pt.ones(3, device="cpu").tolist()
except pt.DeviceError as error:
    told = str(error)
told
"""
    page.route("**/numpy*", lambda route: route.abort())
    told = run(page, code)
    page.unroute("**/numpy*")
    assert "NumPy, which is not installed" in told
    assert "micropip.install" in told


def test_arrays_of_javascript(hosts: Callable[[str], Page]) -> None:
    code = """
import js
told = []
for array in (js.Float32Array.new([1, 2]), js.Array.of(1, 2)):
    try:
        pt.asarray(array)
    except TypeError as error:
        told.append(".to_py()" in str(error))
    told.append(pt.asarray(array.to_py()).tolist())
told
"""
    assert run(hosts(""), code) == "[True, [1.0, 2.0], True, [1, 2]]"


def test_a_lost_device_is_replaced_by_init_without_jspi(hosts: Callable[[str], Page]) -> None:
    code = """
from py_tensor.backends.kinds import GPU_DEVICE
before = (await pt.init())["generation"]
old = pt.arange(3) + 1
GPU_DEVICE.backend.bridge.loseDevice()
told = []
for wait in (old.__repr_async__, pt.init, (pt.arange(3) + 2).__repr_async__):
    try:
        told.append(str(await wait())[:9])
    except (pt.WaitError, pt.DeviceLostError) as error:
        told.append(type(error).__name__)
told, pt.device_info()["generation"] - before
"""
    found = run(hosts("#no-jspi"), code)
    assert found == "(['WaitError', 'webgpu: G', 'tensor([2'], 1)"


def run(page: Page, code: str) -> Any:
    """Return the value of `code` as text."""
    return page.evaluate("code => run(code)", code)
