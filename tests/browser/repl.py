"""Drives a page's console by keyboard and mouse, as a user does."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.app import EXPECT_SECONDS


class Repl:
    """A page's console, driven by keyboard and mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.input = page.locator("#input .cm-content")
        self.prompts = page.locator("#input .cm-prompts .cm-gutterElement")
        self.entries = page.locator("#transcript .entry")

    def type(self, text: str) -> None:
        """Type lines; each line's end is Enter."""
        self.input.focus()
        for line in text.split("\n"):
            self.page.keyboard.type(line)
            self.press("Enter")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def last(self, part: str) -> Locator:
        return self.entries.last.locator(part)

    @property
    def text(self) -> str:
        """The text of the prompt."""
        return self.input.evaluate(
            """(input) => [...input.querySelectorAll(".cm-line")].map((line) => {
                const placeholder = line.querySelector(".cm-placeholder");
                return placeholder ? "" : line.textContent;
            }).join("\\n")"""
        )

    def expect_text(self, text: str) -> None:
        """Wait until the prompt contains this text."""
        deadline = time.monotonic() + EXPECT_SECONDS
        while self.text != text and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        assert self.text == text


def paste(repl: Repl, text: str) -> None:
    """Paste into the focused field."""
    repl.page.evaluate(
        """(text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            const options = { clipboardData, bubbles: true, cancelable: true };
            let field = document.activeElement;
            while (field.shadowRoot?.activeElement) field = field.shadowRoot.activeElement;
            field.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        text,
    )


ZERO_DELAY = """async (keys) => {
    const { EditorView } = await import("./page/vendor/codemirror.js");
    for (const key of keys) {
        let field = document.activeElement;
        while (field.shadowRoot?.activeElement) field = field.shadowRoot.activeElement;
        const options = { key, bubbles: true, cancelable: true };
        const isFree = field.dispatchEvent(new KeyboardEvent("keydown", options));
        const view = EditorView.findFromDOM(field);
        if (isFree && view) view.dispatch(view.state.replaceSelection(key));
        else if (isFree) document.execCommand("insertText", false, key);
    }
}"""
"""Sends keys to the focused element within one task of the page, like very fast typing."""


def interrupted(page: Page, code: str) -> dict[str, Any]:
    """Return the outcome of code that is interrupted after a while."""
    return page.evaluate(
        """async (code) => {
            const running = pyTensor.run(code);
            await new Promise((resolve) => setTimeout(resolve, 300));
            await pyTensor.interrupt();
            return await running;
        }""",
        code,
    )
