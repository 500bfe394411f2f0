"""The build's downloads are pinned by hash."""

from __future__ import annotations

import hashlib
import importlib
import re
import zipfile
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


def test_numpy_travels_compressed(build: ModuleType, tmp_path: Path) -> None:
    """The wheel from npm is stored: 11.7 MB, which hosts send as they are."""
    names = ["numpy/__init__.py", "numpy/a.so", "numpy/LICENSE.txt"]
    others = ["numpy/__init__.pyi", "numpy/a.h", "numpy/lib/a.a"]
    wheel = tmp_path / "numpy-2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in [*names, *others]:
            archive.writestr(name, b"abc" * 10_000)
        record = "".join(f"{name},sha256=x,30000\n" for name in [*names, *others])
        archive.writestr("numpy-2.dist-info/RECORD", record)
    made = build.compressed(wheel)
    assert made.stat().st_size < 3000
    with zipfile.ZipFile(made) as archive:
        assert archive.namelist() == [*names, "numpy-2.dist-info/RECORD"]
        assert archive.testzip() is None
        listed = archive.read("numpy-2.dist-info/RECORD").decode().splitlines()
    assert [line.split(",")[0] for line in listed] == names

    def digest() -> str:
        return hashlib.sha256(build.compressed(wheel).read_bytes()).hexdigest()

    first = digest()
    (made.parent / "made_from.sha256").unlink()
    assert digest() == first  # made again, it has the same bytes


def test_another_numpy_is_not_used(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "wheels" / build.NUMPY_WHEEL
    kept.parent.mkdir()

    def fetch() -> Path:
        kept.write_bytes(b"other")
        return kept

    monkeypatch.setattr(build, "fetch_numpy_from_npm", fetch)
    with pytest.raises(build.BuildError, match=r"numpy.*sha256 differs"):
        build.numpy_package()
    assert not kept.exists()
