"""Checks the project's dependencies from npm and PyPI for known vulnerabilities.

usage: python3 tests/audit.py

`npm audit` checks the npm packages in package-lock.json. pip-audit, which is installed below
.cache, checks the Python packages that the page ships and those that build it. Exit code 1 means
that a package has a known vulnerability. If a registry does not answer, or does not know a package,
a line says so, and the exit code stays 0.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "audit"
BUILD = ROOT / "web" / "build"
PIP_AUDIT = "pip-audit==2.10.1"
SECONDS = 120
"""Timeout for a registry's answer."""


@dataclass(frozen=True)
class Found:
    """The answer of a registry.

    Attributes
    ----------
    checked
        Number of packages that it knows.
    known
        A line for each vulnerable package.
    unchecked
        Why some or all packages are not checked; empty if all are.
    """

    checked: int = 0
    known: tuple[str, ...] = ()
    unchecked: str = ""


def call(command: Sequence[str | Path]) -> str:
    """Return the standard output of a tool, which is not JSON if the tool fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout if done.stdout.strip() else done.stderr


def parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def of_npm(text: str) -> Found:
    """Parse the output of `npm audit --json`."""
    report = parsed(text)
    if "vulnerabilities" not in report or "metadata" not in report:
        return Found(unchecked=str(report.get("message") or last_line(text)))
    known = [
        f"{name} ({entry['severity']}): {', '.join(map(title, entry['via']))}"
        for name, entry in sorted(report["vulnerabilities"].items())
    ]
    return Found(report["metadata"]["dependencies"]["total"], tuple(known))


def title(cause: str | dict[str, Any]) -> str:
    """Return the title of a cause according to npm: an advisory, or another vulnerable package."""
    return cause if isinstance(cause, str) else f"{cause['title']} ({cause['url']})"


def of_python(text: str) -> Found:
    """Parse the output of `pip-audit --format json`."""
    report = parsed(text)
    if "dependencies" not in report:
        return Found(unchecked=last_line(text))
    entries = report["dependencies"]
    known = [
        f"{entry['name']} {entry['version']}: {', '.join(found['id'] for found in entry['vulns'])}"
        for entry in entries
        if entry.get("vulns")
    ]
    skipped = [entry["name"] for entry in entries if "skip_reason" in entry]
    unchecked = f"the index knows nothing of {', '.join(skipped)}" if skipped else ""
    return Found(len(entries) - len(skipped), tuple(known), unchecked)


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no answer"


def python_packages() -> list[str]:
    """Return the packages that build the page and those that it ships, with their versions."""
    needs = (BUILD / "requirements.txt").read_text("utf-8")
    source = (BUILD / "build.py").read_text("utf-8")
    micropip = re.search(r'MICROPIP_VERSION = "([^"]+)"', source)
    numpy = re.search(r'NUMPY_WHEEL = "numpy-([^-]+)-', source)
    assert micropip is not None
    assert numpy is not None
    built_by = re.findall(r"^[\w.-]+==\S+", needs, re.MULTILINE)
    return [*built_by, f"micropip=={micropip[1]}", f"numpy=={numpy[1]}"]


def ask_npm() -> Found:
    return of_npm(call(["npm", "audit", "--json"]))


def ask_python() -> Found:
    tool = FOLDER / PIP_AUDIT
    if not (tool / "pip_audit").is_dir():
        options = ["--quiet", "--only-binary=:all:", "--target", tool]
        said = call([sys.executable, "-m", "pip", "install", *options, PIP_AUDIT])
        if not (tool / "pip_audit").is_dir():
            return Found(unchecked=last_line(said))
    listed = FOLDER / "packages.txt"
    listed.write_text("\n".join(python_packages()), "utf-8")
    run = (
        f"import sys; sys.path.insert(0, {str(tool)!r}); from pip_audit._cli import audit; audit()"
    )
    options = ["--requirement", listed, "--no-deps", "--disable-pip", "--format", "json"]
    return of_python(call([sys.executable, "-c", run, *options, "--progress-spinner", "off"]))


def report(name: str, found: Found) -> bool:
    """Print the findings; return whether no vulnerability is known."""
    print(f"{name}: {found.checked} packages checked, {len(found.known)} vulnerable")
    for line in found.known:
        print(f"  {line}")
    if found.unchecked:
        print(f"  not checked: {found.unchecked}")
    return not found.known


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    clean = [report("npm", ask_npm()), report("PyPI", ask_python())]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
