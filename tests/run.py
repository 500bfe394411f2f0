"""Runs every check of the project, after setting up what a fresh machine lacks.

usage: python3 tests/run.py [--only PART]... [--no-setup] [options for pytest ...]

    npm test                                   everything
    npm test -- -k exp                         the tests whose name holds "exp"
    npm test -- --only unit --only lint        some parts alone
    python3 tests/run.py --no-setup --only ops-webgpu    on a machine with a built page, Python and
                                               a browser (CHROMIUM, CHROMIUM_GPU_FLAGS), no Node

Parts: lint (ruff, pyright, tsc, the JavaScript linter), unit (no browser), ops (every op on the
CPU device), browser (the page, and every op on WebGPU, in one browser), ops-webgpu (the latter
alone), perf (counts and ratios, which unit and browser hold as well). What is not an option of this
program goes to pytest. The last line is
"N passed, N failed", over everything; the exit code is 0 only if something ran and nothing failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  (before anything that an older Python stumbles on)
    sys.exit(f"The tests need Python 3.11 or newer; this is {sys.version.split()[0]}.")

import environment

ROOT = environment.ROOT
RESULTS = ROOT / ".cache" / "test-results"
NO_TESTS_COLLECTED = 5  # pytest's exit code, which -k may well cause in one part of several

# pytest's targets and options per part, in the order in which they run.
SUITES = {
    "unit": ["tests/unit", "tests/perf/counts"],
    "ops": ["tests/ops", "--device", "cpu"],
    "browser": [
        "tests/browser",
        "tests/perf/page",
        "tests/perf/bench",
        "tests/ops",
        "--device",
        "webgpu",
    ],
    "ops-webgpu": ["tests/ops", "--device", "webgpu"],
    "perf": ["tests/perf"],
}
IN_BROWSER = {"browser", "ops-webgpu", "perf"}
EVERYTHING = ["lint", "unit", "ops", "browser"]  # "unit" and "browser" hold "ops-webgpu" and "perf"


@dataclass(frozen=True)
class Outcome:
    """What one command found, for the summary."""

    name: str
    passed: int
    failed: int
    seconds: float
    skipped: int = 0


def main() -> int:
    options, for_pytest = parse(sys.argv[1:])
    os.environ["PYTHONUNBUFFERED"] = "1"
    # pytest-playwright, where installed, would claim --device and the fixture names.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"  # that a newer pyright exists is no news
    parts: list[str] = options.only or EVERYTHING
    try:
        python = set_up(parts) if options.setup else Path(sys.executable)
    except environment.SetupError as error:
        print(f"\nset-up failed: {error}\n\n0 passed, 1 failed")
        return 1
    outcomes = list(run_parts(parts, python, for_pytest, build=options.setup))
    return summarize(outcomes)


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our own options, and the rest, which is pytest's."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        usage="%(prog)s [--only PART]... [--no-setup] [options for pytest ...]",
        description=__doc__.partition("\n\n")[2].partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # or an option of pytest's could pass for one of ours
    )
    parser.add_argument("--only", action="append", choices=["lint", *SUITES], metavar="PART")
    parser.add_argument("--no-setup", dest="setup", action="store_false")
    return parser.parse_known_args(arguments)


def set_up(parts: list[str]) -> Path:
    """Installs what these parts need, and no more; gives the Python that runs them."""
    python = environment.ensure_venv()
    if "lint" in parts or IN_BROWSER.intersection(parts):
        environment.ensure_node_modules()
    if IN_BROWSER.intersection(parts):
        os.environ["CHROMIUM"] = environment.ensure_chromium(python)
    return python


def run_parts(
    parts: list[str], python: Path, for_pytest: list[str], *, build: bool
) -> Iterator[Outcome]:
    """Runs the parts, each whatever the ones before it found."""
    if "lint" in parts:
        yield from lint(python)
    for part in (name for name in SUITES if name in parts):
        if part in IN_BROWSER and build:
            # By the Python that has pip: the venv's has none.
            built = check("build the page", [sys.executable, "web/build.py"])
            yield built
            if built.failed:
                return  # an older build must not pass for this one
            build = False
        yield suite(part, python, for_pytest)


def lint(python: Path) -> Iterator[Outcome]:
    """The checks that read the code without running it."""
    tool = [str(python), "-m"]
    yield check("ruff check", [*tool, "ruff", "check", "."])
    yield check("ruff format", [*tool, "ruff", "format", "--check", "."])
    # Named, or pyright would prefer a pyrightconfig.json in a folder above this one.
    project = ["--project", str(ROOT / "pyproject.toml")]
    yield check("pyright", [*tool, "pyright", *project, "--pythonpath", str(python)])
    yield check("tsc (check:js)", ["npm", "run", "--silent", "check:js"])
    yield check("lint:js", ["npm", "run", "--silent", "lint:js"])


def check(name: str, command: list[str]) -> Outcome:
    """Runs a command that either passes or fails as a whole."""
    code, seconds = timed(name, command)
    return Outcome(name, passed=int(code == 0), failed=int(code != 0), seconds=seconds)


def suite(part: str, python: Path, for_pytest: list[str]) -> Outcome:
    """Runs one of pytest's suites and counts its results from the JUnit file."""
    results = RESULTS / f"{part}.xml"
    results.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", *SUITES[part], f"--junitxml={results}", *for_pytest]
    code, seconds = timed(f"pytest {part}", command)
    passed, failed, skipped = counts(results)
    if code not in (0, NO_TESTS_COLLECTED) and failed == 0:
        failed = 1  # pytest itself broke: a usage error, a page that does not boot, an interrupt
    return Outcome(f"pytest {part}", passed, failed, seconds, skipped)


def counts(junit: Path) -> tuple[int, int, int]:
    """The tests passed, failed and skipped according to a JUnit file, zeros where there is none."""
    if not junit.exists():
        return 0, 0, 0
    suites = list(ET.parse(junit).iter("testsuite"))

    def total(attribute: str) -> int:
        return sum(int(found.get(attribute, 0)) for found in suites)

    failed, skipped = total("failures") + total("errors"), total("skipped")
    return total("tests") - failed - skipped, failed, skipped


def timed(name: str, command: list[str]) -> tuple[int, float]:
    """Runs a command under a headline; gives its exit code and seconds."""
    print(f"\n=== {name}: {' '.join(command)}", flush=True)
    start = time.monotonic()
    try:
        code = subprocess.run(command, cwd=ROOT).returncode
    except OSError as error:
        print(error)
        code = 127
    return code, time.monotonic() - start


def summarize(outcomes: list[Outcome]) -> int:
    """Prints the table and the closing line; gives the exit code."""
    print("\n" + "=" * 60)
    for outcome in outcomes:
        mark = "FAILED" if outcome.failed else "ok"
        skipped = f", {outcome.skipped} skipped" if outcome.skipped else ""
        print(
            f"{outcome.name:<20} {mark:<7} {outcome.seconds:7.1f} s   "
            f"{outcome.passed} passed, {outcome.failed} failed{skipped}"
        )
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    suites = [outcome for outcome in outcomes if outcome.name.startswith("pytest")]
    nothing_ran = not passed or (suites and not any(o.passed or o.failed for o in suites))
    if nothing_ran and not failed:
        print("No test ran.")
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed or nothing_ran else 0


if __name__ == "__main__":
    sys.exit(main())
