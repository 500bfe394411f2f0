"""The page's editor, operated like a user, and files for it."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_sessions import WRITE_MS

DROP = """async (files) => {
  const dataTransfer = new DataTransfer();
  for (const [name, base64] of files) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    dataTransfer.items.add(new File([bytes], name));
  }
  const options = { dataTransfer, bubbles: true, cancelable: true };
  const target = document.querySelector("#screen");
  for (const type of ["dragover", "drop"]) target.dispatchEvent(new DragEvent(type, options));
}"""

DELETE_ALL = """() => {
  for (const button of document.querySelectorAll("#editor [aria-label^='Delete ']")) button.click();
}"""

FIRST = "# %%\nx = pt.linspace(0, 6, 200)\nx.sin().sum()\n\n# %%\npt.plot(x.sin())\n"


class Editor:
    """The editor, operated like a user."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.pane = page.locator("#editor")
        self.button = page.locator("#editor-button")
        self.text = self.pane.locator(".code-editor:not([hidden]) .cm-content")
        self.outputs = self.pane.locator(".code-editor:not([hidden]) .cell-output")

    def open(self) -> Editor:
        self.button.click()
        expect(self.text).to_be_visible()
        return self

    def write(self, text: str) -> None:
        """Replace the text."""
        self.text.focus()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def put(self, text: str, *, after: str) -> None:
        """Put the caret after some text, and insert more text there."""
        line = self.text.locator(".cm-line", has_text=after)
        line.click()
        self.page.keyboard.press("End")
        if text:
            self.page.keyboard.insert_text(text)

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def act(self, name: str) -> None:
        self.pane.get_by_role("button", name=name, exact=True).click()

    def create(self, kind: str = "Program (.py)") -> None:
        """Create a file by the menu New."""
        self.pane.locator("summary", has_text="New").click()
        self.act(kind)

    def rename(self, name: str, new: str) -> None:
        row = self.pane.locator(".file", has_text=name)
        row.hover()
        row.get_by_role("button", name="Rename").click()
        self.pane.locator(".file input").fill(new)
        self.press("Enter")

    def start_again(self) -> None:
        """Delete all files, and start with the first program of a visitor."""
        self.page.evaluate(DELETE_ALL)
        self.expect_files()
        self.page.evaluate("document.querySelector('.editor-offers').replaceChildren()")
        drop(self.page, main__py=FIRST.encode())
        self.expect_tabs("main.py")
        self.page.locator("#clear").click()

    @property
    def files(self) -> list[str]:
        return self.pane.locator(".file-name").all_inner_texts()

    def expect_files(self, *names: str) -> None:
        expect(self.pane.locator(".file-name")).to_have_text([*names])

    def expect_tabs(self, *names: str) -> None:
        expect(self.pane.locator(".editor-tab")).to_have_text([*names])

    def expect_done(self, count: int) -> None:
        """Wait for this many outputs, none of which is running."""
        expect(self.outputs).to_have_count(count)
        ended = self.outputs.locator("> .entry:is(.done, .failed, .dropped)")
        expect(ended).to_have_count(count)

    @property
    def lines(self) -> list[str]:
        """The lines of the text and the outputs, from top to bottom."""
        return self.text.evaluate(
            """(content) => [...content.children].map((child) => {
                const slot = child.querySelector("slot");
                const shown = slot?.assignedElements()[0]?.querySelector(".entry");
                if (!slot) return child.textContent;
                const parts = [...shown.children].slice(1).map((part) => part.innerText.trim());
                return "= " + parts.filter(Boolean);
            })"""
        )


def drop(page: Page, **files: bytes) -> None:
    named = [(name.replace("__", "."), base64.b64encode(b).decode()) for name, b in files.items()]
    page.evaluate(DROP, named)


def wait_for(is_true: Callable[[], bool], page: Page) -> None:
    for _ in range(WRITE_MS // 50):
        if is_true():
            return
        page.wait_for_timeout(50)
    pytest.fail("it never became true")


def png(rgba: Any) -> bytes:
    """Return a file of 8-bit pixels, (height, width, 4)."""
    height, width, _ = rgba.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    rows = b"".join(b"\0" + row.tobytes() for row in rgba)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def notebook(*cells: tuple[str, list[Any]]) -> bytes:
    """Return a notebook of code cells with outputs; the page itself writes another form of it."""
    made = [
        {"outputs": outputs, "cell_type": "code", "source": source, "metadata": {"mine": i}}
        for i, (source, outputs) in enumerate(cells)
    ]
    whole = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": made}
    return json.dumps(whole, indent=3).encode()


def downloaded(editor: Editor, name: str, folder: Path) -> bytes:
    """Return the content of a file of the editor, which is downloaded into a folder."""
    row = editor.pane.locator(".file", has_text=name)
    row.hover()
    with editor.page.expect_download() as download:
        row.get_by_role("button", name="Download").click()
    download.value.save_as(folder / name)
    return (folder / name).read_bytes()


def cells_of(editor: Editor, folder: Path) -> list[dict[str, Any]]:
    """Return the cells of the downloaded notebook."""
    return json.loads(downloaded(editor, "book.ipynb", folder))["cells"]


def shows(**mimes: str | list[str]) -> dict[str, Any]:
    """Return an output of a notebook's cell that shows data, by MIME type: `image__svg_xml=...`."""
    data = {name.replace("__", "/").replace("_xml", "+xml"): text for name, text in mimes.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}
