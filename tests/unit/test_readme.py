"""The README's examples run, and the targets of its links exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from py_tensor.backends.choice import default_device, set_default_device
from py_tensor.backends.kinds import CPU_DEVICE

README = Path(__file__).parents[2] / "README.md"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_examples_of_the_readme() -> None:
    before = default_device()
    set_default_device(CPU_DEVICE)
    try:
        failed, tried = doctest.testfile(str(README), module_relative=False)
    finally:
        set_default_device(before)
    assert tried >= 6
    assert not failed


def anchors(document: Path) -> set[str]:
    """Return the anchors of its headings, as on GitHub."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def test_links_of_the_readme() -> None:
    text = README.read_text("utf-8")
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert {"#install", "py_tensor", "#more"} <= {*links}  # install, source, documentation
    for link in links:
        path, _, anchor = link.partition("#")
        target = README.parent / path if path else README
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
