"""The build's downloads are pinned by hash."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from tests.environment import ROOT

FOLDER = ROOT / "web" / "build"


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The build, with an empty cache."""
    monkeypatch.syspath_prepend(str(FOLDER))
    build = importlib.import_module("build")
    monkeypatch.setattr(build, "CACHE", tmp_path)
    monkeypatch.setattr(build, "pip", lambda: ["pip"])  # the tests' Python has no pip
    return build


def test_build_requirements_have_hashes() -> None:
    lines = (FOLDER / "requirements.txt").read_text("utf-8").splitlines()
    needs = [line for line in lines if not line.startswith("#")]
    assert any(line.startswith("hatchling==") for line in needs)
    for line in needs:
        assert re.fullmatch(r"[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line)


def test_the_wheel_is_built_by_nothing_else(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []

    def run_tool(
        command: list[str], failure: str, environment: Mapping[str, str] | None = None
    ) -> None:
        commands.append(command)
        if "install" in command:
            (tmp_path / "build_tools").mkdir()
        else:
            assert environment == {"PYTHONPATH": str(tmp_path / "build_tools")}
            folder = Path(command[command.index("--wheel-dir") + 1])
            (folder / "py_tensor-0-py3-none-any.whl").touch()

    monkeypatch.setattr(build, "run_tool", run_tool)
    build.ensure_library()
    build.ensure_library()  # nothing has changed
    install, wheel = commands
    assert "--require-hashes" in install
    assert "--no-build-isolation" in wheel


def test_another_micropip_is_not_used(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    downloads = 0

    def run_tool(command: list[str], failure: str) -> None:
        nonlocal downloads
        downloads += 1
        (Path(command[command.index("--dest") + 1]) / build.MICROPIP_WHEEL).write_bytes(b"other")

    monkeypatch.setattr(build, "run_tool", run_tool)
    kept = tmp_path / "wheels" / build.MICROPIP_WHEEL
    kept.parent.mkdir()
    kept.write_bytes(b"damaged")
    with pytest.raises(build.BuildError, match=r"micropip.*sha256 differs"):
        build.ensure_micropip()
    assert downloads == 1
    assert not kept.exists()
