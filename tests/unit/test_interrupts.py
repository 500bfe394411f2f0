"""Ctrl-C is never lost on the cpu device; `python -m tests.interrupts` is a long run."""

from __future__ import annotations

import subprocess
import sys

from tests.environment import ROOT

INTERRUPTS = 300


def test_every_interrupt_ends_its_loop() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.interrupts", str(INTERRUPTS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exception ignored" not in done.stderr
