"""The README's examples run."""

from __future__ import annotations

import doctest
from pathlib import Path

from py_tensor.backend.device import CPU_DEVICE, default_device, set_default_device

README = Path(__file__).parents[2] / "README.md"


def test_examples_of_the_readme() -> None:
    before = default_device()
    set_default_device(CPU_DEVICE)
    try:
        failed, tried = doctest.testfile(str(README), module_relative=False)
    finally:
        set_default_device(before)
    assert tried >= 6
    assert not failed
