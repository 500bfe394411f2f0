"""The choices of `pt.tune()` are kept for the next process with the same adapter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from py_tensor.backends.native import NativeBridge
from tests.environment import ROOT


def acquired() -> tuple[NativeBridge, str | None]:
    """Return a bridge of a new session, and the choices that it found."""
    bridge = NativeBridge()
    return bridge, json.loads(bridge.acquire("", 0).wait())["choices"]


def test_they_are_kept_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    bridge, found = acquired()
    assert found is None
    assert bridge.keepChoices("text é").wait() == ""
    assert acquired()[1] == "text é"
    assert bridge.keepChoices("").wait() == ""
    assert bridge.keepChoices("").wait() == ""
    assert acquired()[1] is None


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    bridge, found = acquired()
    assert found is None
    assert "file" in bridge.keepChoices("text").wait()


def test_a_new_process_uses_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bridge, _ = acquired()
    program = """
import py_tensor as pt
pt.set_default_device("webgpu")
print(float(pt.ones(3).sum()), pt.device_info()["choices"]["unroll"])
"""

    def printed() -> str:
        command = [sys.executable, "-c", program]
        return subprocess.check_output(command, cwd=ROOT, text=True).strip()

    default = printed()
    other = "2" if default.endswith("1") else "1"
    for kept in ("nonsense", "[]"):  # an unreadable file counts as empty
        assert bridge.keepChoices(kept).wait() == ""
        assert printed() == default
    assert bridge.keepChoices(json.dumps({"choices": {"unroll": other}})).wait() == ""
    assert printed() == f"3.0 {other}"
