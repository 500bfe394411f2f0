"""The contract of all bridges, run on the browser's bridge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.bridge_contract import Contract, Driver
from tests.browser.folder_server import served

ROOT = Path(__file__).parents[2]
OPEN = """async () => {
  const { Host } = await import("/tests/browser/bridge_harness.js");
  self.host = new Host();
}"""
FLUSH = """([number, commands, block, table]) => {
  const { bridge } = host;
  const words = host.place(Uint32Array.from(commands));
  const ids = host.place(Uint32Array.from(table));
  return bridge.flush(
    words, commands.length, ids, host.place(Uint8Array.from(block)), block.length, number,
  );
}"""
READ = """async ([number, offset, bytes]) => {
  const target = host.place(new Uint8Array(64).fill(0xee));
  const outcome = await host.bridge.read(number, offset, bytes, target);
  return [outcome, [...host.heap.slice(target, target + 64)], host.bridge.isReading(target)];
}"""


class PageDriver(Driver):
    """Drives the bridge in a page, with its heap there."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def call(self, method: str, *arguments: Any) -> Any:
        return self.page.evaluate(
            "([method, given]) => host.bridge[method](...given)", [method, list(arguments)]
        )

    def flush(self, number: int, commands: list[int], block: bytes, table: list[int]) -> int:
        return self.page.evaluate(FLUSH, [number, commands, list(block), table])

    def read(self, number: int, offset: int, nbytes: int) -> tuple[str, bytes, bool]:
        outcome, data, is_reading = self.page.evaluate(READ, [number, offset, nbytes])
        return outcome, bytes(data), is_reading


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with served(ROOT, "<!doctype html><link rel=icon href=data:,>", isolated=True) as origin:
        yield origin


class TestBrowserBridge(Contract):
    @pytest.fixture
    def driver(self, browser: Browser, origin: str) -> Iterator[Driver]:
        page = browser.new_page()
        page.goto(origin)
        page.evaluate(OPEN)
        yield PageDriver(page)
        page.close()
