"""Brings a fresh machine to where the tests can run: a venv, node_modules, a Chromium.

Standard library only: this runs before anything is installed, under the system's Python. Each
`ensure_*` function does nothing where its result is already there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX_NAMES = ("firefox", "firefox-esr")
CHROMIUM_PATHS = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",)


class SetupError(Exception):
    """The machine lacks something that could not be installed; the message says what to do."""


def call(*command: str | Path, hint: str) -> None:
    """Runs a set-up command and shows its output; `hint` tells what to do where it fails."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    try:
        code = subprocess.run(words, cwd=ROOT).returncode
    except OSError as error:
        raise SetupError(f"{words[0]} cannot be started ({error}). {hint}") from error
    if code != 0:
        raise SetupError(f"{' '.join(words)} ended with exit code {code}. {hint}")


def succeeds(*command: str | Path, seconds: float = 60) -> bool:
    """Whether a command exists and ends well; its output is dropped."""
    try:
        finished = subprocess.run(
            [str(word) for word in command], cwd=ROOT, capture_output=True, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return finished.returncode == 0


# Python ---------------------------------------------------------------------------------------


def test_needs() -> list[str]:
    """The requirements that pyproject.toml lists for the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return list(project["optional-dependencies"]["test"])


def ensure_venv() -> Path:
    """Makes .venv and installs the tests' needs there; gives its interpreter.

    The venv gets no pip of its own (Debian ships ensurepip apart, in python3-venv): the system's
    pip installs into it from outside, which PEP 668 does not forbid.
    """
    python = VENV / "bin" / "python"
    if not succeeds(python, "-c", ""):
        call(
            *(sys.executable, "-m", "venv", "--clear", "--without-pip", VENV),
            hint="The tests need Python's venv module (Debian: apt-get install python3-venv).",
        )
    installed = VENV / "test-needs.json"
    needs = test_needs()
    if not installed.exists() or json.loads(installed.read_text("utf-8")) != needs:
        call(
            *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *needs),
            hint="The tests need pip 22.3 or newer (Debian: apt-get install python3-pip) "
            "and a package index that it can reach.",
        )
        installed.write_text(json.dumps(needs), "utf-8")
    return python


# Node -----------------------------------------------------------------------------------------


def ensure_node_modules() -> None:
    """Runs `npm ci` where node_modules is old, or holds no more than the page needs."""
    installed = ROOT / "node_modules" / ".package-lock.json"
    wanted = ROOT / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        there = json.loads(installed.read_text("utf-8"))["packages"]
        needs = json.loads((ROOT / "package.json").read_text("utf-8"))["devDependencies"]
        if all(f"node_modules/{name}" in there for name in needs):
            return
    call("npm", "ci", "--no-audit", "--no-fund", hint="Node 20 or newer with npm is needed.")


# The browser ----------------------------------------------------------------------------------


def find_chromium() -> str | None:
    """The installed Chromium: `CHROMIUM` if set, else the first on the usual paths that starts.

    Starting it tells a browser from Ubuntu's stand-in, a script that asks for a snap.
    """
    if chosen := os.environ.get("CHROMIUM"):
        return chosen
    found = [path for name in CHROMIUM_NAMES if (path := shutil.which(name))]
    candidates = [*found, *(path for path in CHROMIUM_PATHS if Path(path).exists())]
    return next((path for path in candidates if succeeds(path, "--version")), None)


def ensure_chromium(python: Path) -> str:
    """The path of a Chromium, which is installed first where there is none."""
    found = find_chromium() or _chromium_from_apt() or _chromium_from_playwright(python)
    if found is None:
        raise SetupError(
            "No Chromium: none of "
            + ", ".join(CHROMIUM_NAMES)
            + " is on the path, and neither apt-get nor Playwright could install one. Install "
            "Chromium 121 or newer, or name its executable in the environment variable CHROMIUM."
        )
    return found


def _chromium_from_apt() -> str | None:
    installed = _install_from_apt("chromium", hint="Trying Playwright's browser instead.")
    return find_chromium() if installed else None


def find_firefox() -> str | None:
    """The installed Firefox: `FIREFOX` if set, else the first on the path that starts."""
    if chosen := os.environ.get("FIREFOX"):
        return chosen
    found = (path for name in FIREFOX_NAMES if (path := shutil.which(name)))
    return next((path for path in found if succeeds(path, "--version")), None)


def ensure_firefox() -> None:
    """Installs a Firefox where there is none and we may; else the tests in it are skipped."""
    if find_firefox() is None:
        _install_from_apt("firefox-esr", hint="The tests in Firefox will be skipped.")


def _install_from_apt(package: str, hint: str) -> bool:
    """Installs Debian's package where we may: as root, or by a sudo that asks for no password."""
    if shutil.which("apt-get") is None:
        return False
    if os.geteuid() == 0:
        sudo: list[str] = []
    elif succeeds("sudo", "-n", "true"):
        sudo = ["sudo", "-n"]
    else:
        return False
    try:
        call(*sudo, "apt-get", "update", "-q", hint=hint)
        call(*sudo, "apt-get", "install", "-yq", package, hint=hint)
    except SetupError as error:
        print(error, flush=True)
        return False
    return True


def _chromium_from_playwright(python: Path) -> str | None:
    """Has Playwright download its own Chromium, which needs an open internet."""
    program = (
        "from playwright.sync_api import sync_playwright as s\n"
        "with s() as p: print(p.chromium.executable_path)"
    )
    try:
        call(python, "-m", "playwright", "install", "chromium", hint="")
    except SetupError as error:
        print(error, flush=True)
        return None
    shown = subprocess.run([str(python), "-c", program], capture_output=True, text=True)
    path = shown.stdout.strip()
    return path if path and succeeds(path, "--version") else None
