"""Prepares a fresh machine for the tests: a venv, node_modules, Chromium.

Uses only the standard library, because it runs under the system's Python before anything is
installed. Each `ensure_*` function does nothing if its result exists.
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
NEWEST = ROOT / ".cache" / "newest-python"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX_NAMES = ("firefox", "firefox-esr")
CHROMIUM_PATHS = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",)


class SetupError(Exception):
    """The machine lacks something that could not be installed; the message says what to do."""


def call(*command: str | Path, hint: str, folder: Path = ROOT) -> None:
    """Run a set-up command and show its output; `hint` says what to do if it fails."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    try:
        code = subprocess.run(words, cwd=folder).returncode
    except OSError as error:
        raise SetupError(f"{words[0]} cannot be started ({error}). {hint}") from error
    if code != 0:
        raise SetupError(f"{' '.join(words)} ended with exit code {code}. {hint}")


def succeeds(*command: str | Path, seconds: float = 60) -> bool:
    """Return whether a command exists and succeeds; its output is discarded."""
    try:
        finished = subprocess.run(
            [str(word) for word in command], cwd=ROOT, capture_output=True, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return finished.returncode == 0


# Python ---------------------------------------------------------------------------------------


def test_needs() -> list[str]:
    """The requirements in pyproject.toml for the tests, and for a GPU without a browser."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [*project["optional-dependencies"]["test"], *project["optional-dependencies"]["gpu"]]


def ensure_venv() -> Path:
    """Create .venv, install the tests' requirements there, and return its interpreter.

    The venv has no pip of its own (Debian packages ensurepip separately, in python3-venv): the
    system's pip installs into it from outside, which PEP 668 allows.
    """
    python = VENV / "bin" / "python"
    if not succeeds(python, "-c", ""):
        call(
            *(sys.executable, "-m", "venv", "--clear", "--without-pip", VENV),
            hint="The tests need Python's venv module (Debian: apt-get install python3-venv).",
        )
    _ensure_needs(VENV)
    return python


def _ensure_needs(venv: Path, *options: str) -> None:
    """Install the tests' requirements into a venv."""
    installed = venv / "test-needs.json"
    needs = test_needs()
    if installed.exists() and json.loads(installed.read_text("utf-8")) == needs:
        return
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "--quiet"]
    call(
        *(*pip, *options, *needs),
        hint="The tests need pip 22.3 or newer (Debian: apt-get install python3-pip) "
        "and a package index that it can reach.",
    )
    installed.write_text(json.dumps(needs), "utf-8")


def ensure_newest_venv() -> Path | None:
    """Return the interpreter of a venv of the machine's newest Python, with the requirements.

    None if it has none that is newer than this one and that all requirements have wheels for.
    """
    for minor, python in sorted(_newer_pythons().items(), reverse=True):
        venv = NEWEST / f"3.{minor}"
        try:
            if not succeeds(venv / "bin" / "python", "-c", ""):
                call(python, "-m", "venv", "--clear", "--without-pip", venv, hint="")
            _ensure_needs(venv, "--only-binary=:all:")
        except SetupError as error:
            print(f"Python 3.{minor} is not tested: {error}")
            continue
        return venv / "bin" / "python"
    return None


def _newer_pythons() -> dict[int, str]:
    """Return the released Pythons that are newer than this one, by their minor version."""
    folders = [None, *(str(path) for path in Path.home().glob(".pyenv/versions/*/bin"))]
    is_released = "import sys; sys.exit(sys.version_info.releaselevel != 'final')"
    newer: dict[int, str] = {}
    for minor in range(sys.version_info.minor + 1, sys.version_info.minor + 10):
        paths = (shutil.which(f"python3.{minor}", path=folder) for folder in folders)
        working = (path for path in paths if path and succeeds(path, "-c", is_released))
        if path := next(working, None):
            newer[minor] = path
    return newer


def ensure_pure(folder: Path, needs: list[str]) -> None:
    """Install these packages into a folder, in pure Python, so that they also run in Pyodide."""
    installed = folder / "needs.json"
    if installed.exists() and json.loads(installed.read_text("utf-8")) == needs:
        return
    shutil.rmtree(folder, ignore_errors=True)
    pure = ["--platform=any", "--implementation=py", "--abi=none", "--only-binary=:all:"]
    call(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder),
        *(*pure, *needs),
        hint="A package index is needed that pip can reach.",
    )
    installed.write_text(json.dumps(needs), "utf-8")


# Node -----------------------------------------------------------------------------------------


def ensure_node_modules() -> None:
    """Run `npm ci` if node_modules is outdated, or has only the packages that the page needs."""
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

    Starting it distinguishes a browser from Ubuntu's stub, a script that asks for a snap.
    """
    if chosen := os.environ.get("CHROMIUM"):
        return chosen
    found = [path for name in CHROMIUM_NAMES if (path := shutil.which(name))]
    candidates = [*found, *(path for path in CHROMIUM_PATHS if Path(path).exists())]
    return next((path for path in candidates if succeeds(path, "--version")), None)


def ensure_chromium(python: Path) -> str:
    """Return the path of a Chromium, which is installed first if there is none."""
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
    """Return the installed Firefox: `FIREFOX` if set, else the first on the path that starts."""
    if chosen := os.environ.get("FIREFOX"):
        return chosen
    found = (path for name in FIREFOX_NAMES if (path := shutil.which(name)))
    return next((path for path in found if succeeds(path, "--version")), None)


def ensure_firefox() -> None:
    """Install Firefox if it is missing and permitted; otherwise its tests are skipped."""
    if find_firefox() is None:
        _install_from_apt("firefox-esr", hint="The tests in Firefox will be skipped.")


# The adapter of the native device --------------------------------------------------------------

LAVAPIPE = ROOT / ".cache" / "lavapipe"
"""Where Debian's packages are unpacked if they cannot be installed."""


def ensure_adapter(python: Path) -> None:
    """Ensure that wgpu finds an adapter: lavapipe, Mesa's on the CPU, if there is no other."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(ROOT / ".cache"))  # Vulkan warns without it
    # For lavapipe: kernels that run once compile in two thirds of the time.
    os.environ.setdefault("GALLIVM_PERF", "nopt")
    if _finds_adapter(python):
        return
    package = "mesa-vulkan-drivers"
    if not _install_from_apt(package, hint="Unpacking it below .cache instead."):
        _unpack_from_apt(package)
    if not _finds_adapter(python):
        raise SetupError(
            "wgpu found no adapter. Install a driver for Vulkan; Debian's mesa-vulkan-drivers"
            " computes on the CPU."
        )


def _finds_adapter(python: Path) -> bool:
    driver = LAVAPIPE / "lavapipe.json"
    if driver.exists():
        libraries = next(LAVAPIPE.glob("usr/lib/*/libvulkan_lvp.so")).parent
        os.environ |= {"VK_ICD_FILENAMES": str(driver), "LD_LIBRARY_PATH": str(libraries)}
    return succeeds(python, "-c", "from wgpu import gpu; gpu.request_adapter_sync()")


def _unpack_from_apt(package: str) -> None:
    """Unpack Debian's package and its missing dependencies."""
    LAVAPIPE.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        ["apt-get", "install", "--simulate", "-q", package], capture_output=True, text=True
    )
    missing = [line.split()[1] for line in listed.stdout.splitlines() if line[:5] == "Inst "]
    hint = f"Install {package}, or run as root."
    for name in missing:
        call("apt-get", "download", "-q", name, hint=hint, folder=LAVAPIPE)
    for archive in LAVAPIPE.glob("*.deb"):
        call("dpkg", "-x", archive, LAVAPIPE, hint=hint)
        archive.unlink()
    # Debian's file contains the path where the library would be installed.
    library = next(LAVAPIPE.glob("usr/lib/*/libvulkan_lvp.so"))
    icd = {"library_path": str(library), "api_version": "1.3.0"}
    (LAVAPIPE / "lavapipe.json").write_text(
        json.dumps({"file_format_version": "1.0.0", "ICD": icd})
    )


def _install_from_apt(package: str, hint: str) -> bool:
    """Install Debian's package if permitted: as root, or by sudo without a password."""
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
    """Download Playwright's own Chromium, which needs internet access."""
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
