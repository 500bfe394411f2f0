"""Printed output, shown as in a terminal."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.repl import Repl


def printed(repl: Repl, *chunks: str) -> str:
    """Return the console's text after these writes, each of which reaches the page separately."""
    steps = [f"sys.stdout.write({chunk!r}); sys.stdout.flush()" for chunk in chunks]
    repl.type("import sys, asyncio")
    repl.input.fill("; await asyncio.sleep(0.02); ".join(steps) + "; 'end'")
    repl.press("Enter")
    expect(repl.last(".result")).to_have_text("'end'")
    return repl.last(".printed").evaluate("(element) => element.textContent")


NUMBERED = "\n".join("X8" if n == 18 else str(n) for n in range(50))
"""The cursor can move back to the last 32 of these lines."""

INNER = ["\n\rinner   0%|  |\x1b[A", "\n\rinner  50%|# |\x1b[A", "\n\rinner 100%|##|\x1b[A"]
NESTED = [
    *("\router   0%|  |", *INNER, "\n\r              \x1b[A"),
    *("\router  50%|# |", *INNER, "\n\r              \x1b[A"),
    *("\router 100%|##|", "\router 100%|##|\n"),
]
"""The output of tqdm 4.70 for nested bars, the inner one with `leave=False`."""
KEPT = ["\router   0%|  |", *INNER, "\rinner 100%|##|\n", "\router 100%|##|", "\router 100%|##|\n"]
"""The same if the inner bar is kept."""


WATCH = """() => {
    const changes = [];
    const observer = new MutationObserver((records) => changes.push(...records));
    observer.observe(document.getElementById("transcript"), { childList: true, subtree: true });
    const textOf = (nodes) => [...nodes].map((node) => node.textContent);
    window.watched = { texts() {
        const printed = changes.filter(({ target }) => target.closest?.(".printed"));
        return [
            printed.flatMap(({ addedNodes }) => textOf(addedNodes)),
            printed.flatMap(({ removedNodes }) => textOf(removedNodes)),
        ];
    } };
}"""
"""Records insertions into printed text, and removals."""


class TestTerminal:
    @pytest.mark.parametrize(
        ("chunks", "shown"),
        [
            (["10 %\r", "50 %\r", "100 %\n"], "100 %\n"),
            (["abc\rX\n"], "Xbc\n"),
            (["abc\r", "\nd"], "abc\nd"),
            (["a\r\nb\r\n"], "a\nb\n"),
            (["ab\b", "c\n"], "ac\n"),
            (["\b\ba\n\bb"], "a\nb"),
            (["long line\r\x1b[Kshort\n"], "short\n"),
            (["abc\x1b[2K\rd\n"], "d  \n"),
            (["\x1b[31mred\x1b[0m \x1b[1;", "4mbold\x1b[m\n"], "red bold\n"),
            (["\x1b]0;title\x07a\x1b[?25lb\x1b(Bc\x07\n"], "abc\n"),
            (["\x1b[38;5;1mx\x1b[38;2;1;2;3my\x1b[48;5;9mz\n"], "xyz\n"),
            (["one\ntwo\rTWO\nthree"], "one\nTWO\nthree"),
            (["a\nb\nc\x1b[2", "AX\n"], "aX\nb\nc"),
            (["a\x1b[9AX\x1b[9BY\n"], "aXY\n"),
            (["one\x1b[6GX\x1b[3DY\x1b[2C!"], "oneY X!"),
            (["a\nbcd\ne\x1b[A\x1b[Jz"], "a\nbz"),
            (["\n\n"], "\n\n"),
            (["⠋ work\r\x1b[2K⠙ work", "\r\x1b[2K"], ""),
            (["\n".join(map(str, range(50))), "\x1b[99A\rX"], NUMBERED),
            (["\r 0%|    |\r50%|█▌  |", "\r99%|████|\n"], "99%|████|\n"),
            (["\rone 0% | |", "\rone 100%|#|", "\r           \r"], ""),
            (NESTED, "outer 100%|##|\n"),
            (KEPT, "inner 100%|##|\nouter 100%|##|\n"),
        ],
    )
    def test_control_characters(self, repl: Repl, chunks: list[str], shown: str) -> None:
        assert printed(repl, *chunks) == shown

    def test_colours_are_classes(self, repl: Repl) -> None:
        printed(repl, "\x1b[1;31mbad\x1b[22m <b>worse</b>\x1b[39m plain\n")
        spans = repl.last(".printed span span")
        expect(spans).to_have_text(["bad", " <b>worse</b>", " plain\n"])
        expect(spans.nth(0)).to_have_class("stdout bold colour-1")
        expect(spans.nth(1)).to_have_class("stdout colour-1")
        expect(spans.nth(2)).to_have_class("stdout")

    def test_text_of_a_repr(self, repl: Repl) -> None:
        repl.input.fill("type('R', (), {'__repr__': lambda _: '\\x1b[32mgreen\\x1b[0m'})()")
        repl.press("Enter")
        expect(repl.last(".result")).to_have_text("green")
        expect(repl.last(".result .colour-2")).to_have_text("green")

    def test_unchanged_text_is_not_inserted_again(self, repl: Repl) -> None:
        """A screen reader reads everything inserted into a log, even unchanged text."""
        repl.type("import asyncio, sys; print('begun')")
        expect(repl.last(".printed")).to_have_text("begun")
        repl.page.evaluate(WATCH)
        parts = [f"line {i}\n" for i in range(50)]
        parts += ["bar 10%", "\rbar 90%", "\rbar done\n", "end\n"]
        steps = [f"sys.stdout.write({part!r}); sys.stdout.flush()" for part in parts]
        repl.input.fill("; await asyncio.sleep(0.02); ".join(steps))
        repl.press("Enter")
        expect(repl.last(".printed")).to_contain_text("end")
        added, removed = repl.page.evaluate("window.watched.texts()")
        lines = [f"line {i}" for i in range(50)]
        assert [line for line in "".join(added).split("\n") if line.startswith("line")] == lines
        assert all(text.startswith("bar") for text in removed), removed

    def test_output_between_inputs(self, repl: Repl) -> None:
        repl.input.fill(
            "async def later():\n"
            "    for i in range(3):\n"
            "        await asyncio.sleep(0.03); print(i, end='\\r', flush=True)\n"
            "import asyncio; task = asyncio.ensure_future(later())"
        )
        repl.press("Enter")
        stray = repl.page.locator("#transcript > .printed")
        expect(stray).to_have_text("2")
        expect(stray).to_have_count(1)
