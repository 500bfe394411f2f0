"""Runs all checks of the project, after installing what a fresh machine lacks.

usage: python3 tests/run.py [--only PART]... [--no-setup] [--lanes N] [-m MARKS] [pytest options]

    npm test                                   everything
    npm test -- -k exp                         the tests whose name contains "exp"
    npm test -- --only unit --only lint        only some parts
    python3 tests/run.py --no-setup --only ops-webgpu    on a machine with a built page, Python and
                                               a browser (CHROMIUM, CHROMIUM_GPU_FLAGS), no Node

Parts: lint (ruff, pyright, tsc, the JavaScript linter), audit (known vulnerabilities of
dependencies, if a registry answers), unit (no browser), ops (every op on the CPU device), native
(the GPU without a browser, a random third of the tests of ops on it, or all of them with --only or
-k, and the lines and calls of the package), libraries (SciPy, einops and others on tensors), newest
(unit, ops and libraries on the machine's newest Python, if the one in use is older: a random eighth
of their files, or all of them with --only or -k), browser (the page, and a random part of the tests
of ops inside it, or all of them with -k; of the tests that load the page anew, a random twelfth, or
all of them with --only or -k), ops-webgpu (every op inside the page), perf (counts, which unit and
browser include too).
Unknown options are passed to pytest. The last line is the total, "N passed, N failed"; the exit
code is 0 only if something ran and nothing failed.

The parts are split into pieces, and as many pieces run at a time as there are lanes. The output of
a piece is shown when it is finished, or immediately with `--lanes 1` (for --pdb, say). Tests that
measure time or need much memory are marked `alone`: they run last, one at a time.

Up to 5 tests of the page that fail run again at the end, with nothing beside them: a busy machine
can be late for them. The summary names those that pass then.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  (before code that fails on an older Python)
    sys.exit(f"The tests need Python 3.11 or newer; this is {sys.version.split()[0]}.")

import environment

ROOT = environment.ROOT
RESULTS = ROOT / ".cache" / "test-results"
TESTS_FAILED = 1  # pytest's exit code after a complete run
NO_TESTS_COLLECTED = 5  # pytest's exit code if -k selects nothing in a part

PIECE_SECONDS = 1800
"""Timeout of a piece: one that hangs must end, or its output is never shown."""
REPEATED = 5
"""How many failed tests of the page run again, at most; more are no accident."""
LANES = 2  # three take as long on two cores, which are busy all the time

ON_WEBGPU = ["--device", "webgpu"]
ON_NATIVE = ["--device", "native", "--few", "--programs", "20"]
ON_NATIVE_SAMPLED = [*ON_NATIVE, f"--shard={random.randint(1, 3)}/3"]
CROWDED, ALONE = "not alone", "alone"
"""Values for pytest's -m."""

PAGE_SHARDS = 64
"""The number of shards of tests/ops; a random one runs in the page.

On 2 cores all of them take 2,700 s in the page and 350 s on the native device, which has the same
kernels and the same Python, and runs a random third of them. With `--few` some of them draw their
cases; without it, `python3 tests/run.py --only ops-webgpu` and `pytest tests/ops --device native`
run all cases.
"""
SHARD = f"--shard={random.randint(1, PAGE_SHARDS)}/{PAGE_SHARDS}"


COSTLY = ["--costly", "12"]
"""Of the tests of tests/browser that load the page anew, a random twelfth runs.

All of them take two thirds of the CPU time of all tests of the page; `--only browser` runs them.
"""


def slices(folder: str, count: int) -> list[list[str]]:
    """Return the folder's test files in `count` sets; files with similar names are separated."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("test_*.py"))
    return [files[i::count] for i in range(count)]


def drawn(folder: str) -> list[str]:
    """Return a random eighth of the test files of a folder, or one of fewer files."""
    return random.choice([files for files in slices(folder, 8) if files])


OPS_IN_PAGE = ["tests/ops", *ON_WEBGPU, SHARD]
PERF_IN_PAGE = ["tests/perf/page", "tests/perf/bench"]
# pytest's targets and options: per part, and per piece of it.
SUITES = {
    "browser": [OPS_IN_PAGE, *slices("tests/browser", 6), PERF_IN_PAGE],
    "ops-webgpu": [["tests/ops", *ON_WEBGPU]],
    "perf": [["tests/perf"]],
    "ops": [["tests/ops", "--device", "cpu"]],
    "native": [["tests/native"], *([*files, *ON_NATIVE] for files in slices("tests/ops", 2))],
    "libraries": [["tests/libraries"]],
    "unit": [["tests/unit", "tests/perf/counts"]],
    "newest": [["tests/unit"], ["tests/ops", "--device", "cpu"], ["tests/libraries"]],
}
# What runs instead of a part if all parts run. For `newest`, the others do the rest, on another
# Python.
SAMPLES = {
    "browser": [
        OPS_IN_PAGE,
        *([*files, *COSTLY] for files in slices("tests/browser", 4)),
        PERF_IN_PAGE,
    ],
    "native": [
        ["tests/native"],
        *([*files, *ON_NATIVE_SAMPLED] for files in slices("tests/ops", 2)),
    ],
    "newest": [
        drawn("tests/unit"),
        [*drawn("tests/ops"), "--device", "cpu"],
        drawn("tests/libraries"),
    ],
}
# The tests marked `alone`, of the parts that have any.
SUITES_ALONE = {
    "browser": ["tests/browser", "tests/ops", *ON_WEBGPU],
    "ops-webgpu": ["tests/ops", *ON_WEBGPU],
    "ops": ["tests/ops", "--device", "cpu"],
    "native": ["tests/native", "tests/ops", *ON_NATIVE],
}
IN_BROWSER = {"browser", "ops-webgpu", "perf"}
EVERYTHING = [
    "lint",
    "audit",
    "unit",
    "ops",
    "native",
    "libraries",
    "newest",
    "browser",
]  # "unit" and "browser" include "perf"


@dataclass(frozen=True)
class Piece:
    """A command that can run in parallel: a pytest run, or a check that passes or fails."""

    name: str
    command: Sequence[str]
    results: Path | None = None  # pytest's JUnit file


@dataclass(frozen=True)
class Outcome:
    """The result of one command, for the summary."""

    name: str
    passed: int
    failed: int
    seconds: float
    skipped: int = 0
    failures: tuple[str, ...] = ()  # the tests of the page
    late: tuple[str, ...] = ()  # those of them that passed when they ran again


def main() -> int:
    options, for_pytest = parse(sys.argv[1:])
    os.environ["PYTHONUNBUFFERED"] = "1"
    # pytest-playwright, if installed, would claim --device and the fixture names.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"  # do not report newer versions of pyright
    parts: list[str] = options.only or EVERYTHING
    try:
        python = set_up(parts) if options.setup else Path(sys.executable)
    except environment.SetupError as error:
        print(f"\nset-up failed: {error}\n\n0 passed, 1 failed")
        return 1
    newest = environment.ensure_newest_venv() if "newest" in parts and options.setup else None
    if newest is None:
        parts = [part for part in parts if part != "newest"]
    is_everything = not options.only and "-k" not in for_pytest
    in_pytest = Pytest(python, newest, options.marks, for_pytest, is_everything)
    lanes = 1 if os.environ.get("CHROMIUM_GPU_FLAGS") else options.lanes  # one GPU, one browser
    outcomes = list(run_parts(parts, in_pytest, lanes, build=options.setup))
    return summarize(repeat(outcomes, python))


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own options, and the rest, which pytest gets."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        usage="%(prog)s [--only PART]... [--no-setup] [--lanes N] [-m MARKS] [pytest options]",
        description=__doc__.partition("\n\n")[2].partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # otherwise an option of pytest could be taken for one of ours
    )
    parser.add_argument(
        "--only", action="append", choices=["lint", "audit", *SUITES], metavar="PART"
    )
    parser.add_argument("--no-setup", dest="setup", action="store_false")
    parser.add_argument("--lanes", type=int, default=LANES, metavar="N")
    parser.add_argument("-m", dest="marks", metavar="MARKS", help="as pytest has it")
    return parser.parse_known_args(arguments)


def set_up(parts: list[str]) -> Path:
    """Install only what these parts need; return the Python that runs them."""
    python = environment.ensure_venv()
    if "lint" in parts or IN_BROWSER.intersection(parts):
        environment.ensure_node_modules()
    if IN_BROWSER.intersection(parts):
        os.environ["CHROMIUM"] = environment.ensure_chromium(python)
    if "browser" in parts:
        environment.ensure_firefox()
    if {"native", "libraries", "newest"}.intersection(parts):
        environment.ensure_adapter(python)
    return python


def run_parts(parts: list[str], in_pytest: Pytest, lanes: int, *, build: bool) -> Iterator[Outcome]:
    """Run all parts, also after failures."""
    if build and IN_BROWSER.intersection(parts):
        # With the Python that has pip: the venv's has none.
        built = run(Piece("build the page", [sys.executable, "web/build/build.py"]))
        yield built
        if built.failed:  # an older build must not be used instead
            parts = [part for part in parts if part not in IN_BROWSER]
    suites = [part for part in SUITES if part in parts]
    # The shortest pieces last, so that the lanes end at about the same time.
    crowd = [piece for part in suites for piece in in_pytest.pieces(part)]
    crowd += lint(in_pytest.python) if "lint" in parts else []
    if "native" in parts:
        crowd.append(Piece("structure", [str(in_pytest.python), "-m", "tests.structure"]))
    if "audit" in parts:  # also with the Python that has pip
        crowd.append(Piece("audit", [sys.executable, "tests/audit.py"]))
    if lanes == 1 or len(crowd) == 1:
        yield from map(run, crowd)
    else:
        with ThreadPoolExecutor(lanes) as pool:
            yield from pool.map(run_quietly, crowd)
    for part in suites:
        if part in SUITES_ALONE:
            sampled = COSTLY if part == "browser" and in_pytest.is_everything else []
            yield run(in_pytest.piece(f"{part}-alone", [*SUITES_ALONE[part], *sampled], ALONE))


@dataclass(frozen=True)
class Pytest:
    """How this run calls pytest.

    Attributes
    ----------
    newest
        The interpreter for the part of that name.
    marks, options
        The command line: the value of -m, and all other options.
    is_everything
        Neither --only nor -k was given: samples suffice for some parts.
    """

    python: Path
    newest: Path | None
    marks: str | None
    options: Sequence[str]
    is_everything: bool

    def pieces(self, part: str) -> list[Piece]:
        """Return the pieces of a part, without tests that must run alone."""
        targets = (self.is_everything and SAMPLES.get(part)) or SUITES[part]
        if len(targets) == 1 or "-k" in self.options:  # for a few tests, one browser is enough
            words = (word for target in targets for word in target)
            whole = dict.fromkeys(word for word in words if word != SHARD)
            return [self.piece(part, list(whole), CROWDED)]
        return [self.piece(f"{part}-{i}", target, CROWDED) for i, target in enumerate(targets, 1)]

    def piece(self, name: str, target: list[str], marks: str) -> Piece:
        results = RESULTS / f"{name}.xml"
        marks = f"({self.marks}) and {marks}" if self.marks else marks
        options = ["-m", marks, f"--junitxml={results}", *self.options]
        python = self.newest if name.startswith("newest") else self.python
        command = [str(python), "-m", "pytest", *target, *options]
        return Piece(f"pytest {name}", command, results)


def repeat(outcomes: list[Outcome], python: Path) -> list[Outcome]:
    """Run the failed tests of the page again, one at a time, if they are few."""
    if sum(len(outcome.failures) for outcome in outcomes) > REPEATED:
        return outcomes
    repeated = []
    for outcome in outcomes:
        late = tuple(
            test
            for test in outcome.failures
            if not run(Piece(f"{test} again", [str(python), "-m", "pytest", test])).failed
        )
        passed, failed = outcome.passed + len(late), outcome.failed - len(late)
        repeated.append(dataclasses.replace(outcome, passed=passed, failed=failed, late=late))
    return repeated


def lint(python: Path) -> list[Piece]:
    """Return the static checks."""
    tool = [str(python), "-m"]
    # Given explicitly, or pyright would prefer a pyrightconfig.json in a parent folder.
    project = ["--project", str(ROOT / "pyproject.toml")]
    return [
        Piece("pyright", [*tool, "pyright", *project, "--pythonpath", str(python)]),
        Piece("tsc (check:js)", ["npm", "run", "--silent", "check:js"]),
        Piece("lint:js", ["npm", "run", "--silent", "lint:js"]),
        Piece("ruff check", [*tool, "ruff", "check", "."]),
        Piece("ruff format", [*tool, "ruff", "format", "--check", "."]),
    ]


def run(piece: Piece) -> Outcome:
    """Run a piece and show its output immediately."""
    print(headline(piece), flush=True)
    code, seconds, output = timed(piece, None)
    print(output, end="", flush=True)
    return outcome(piece, code, seconds)


_showing = threading.Lock()


def run_quietly(piece: Piece) -> Outcome:
    """Run a piece in parallel with others, and show its output at the end."""
    code, seconds, output = timed(piece, subprocess.PIPE)
    with _showing:
        print(headline(piece), output, sep="\n", flush=True)
    return outcome(piece, code, seconds)


def timed(piece: Piece, stream: int | None) -> tuple[int, float, str]:
    """Return the exit code, the seconds, and the output, if `stream` is a pipe."""
    if piece.results is not None:
        piece.results.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        joined = None if stream is None else subprocess.STDOUT
        done = subprocess.run(
            piece.command, cwd=ROOT, stdout=stream, stderr=joined, timeout=PIECE_SECONDS
        )
        code, output = done.returncode, (done.stdout or b"").decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        code, output = 124, f"{(error.output or b'').decode(errors='replace')}\n{error}"
    except OSError as error:
        code, output = 127, str(error)
    return code, time.monotonic() - start, output


def headline(piece: Piece) -> str:
    return f"\n=== {piece.name}: {' '.join(piece.command)}"


def outcome(piece: Piece, code: int, seconds: float) -> Outcome:
    """Return the outcome of a piece: counted from the JUnit file, if it is a pytest run."""
    if piece.results is None:
        return Outcome(piece.name, passed=int(code == 0), failed=int(code != 0), seconds=seconds)
    passed, failed, skipped = counts(piece.results)
    if code not in (0, NO_TESTS_COLLECTED) and failed == 0:
        failed = 1  # pytest itself failed: a usage error, a page that does not boot, an interrupt
    # After -x, an interrupt or an internal error, tests have not run that could fail.
    is_complete = code == TESTS_FAILED and not {"-x", "--exitfirst"}.intersection(piece.command)
    failures = tuple(failed_in_page(piece.results)) if is_complete else ()
    return Outcome(piece.name, passed, failed, seconds, skipped, failures)


def counts(junit: Path) -> tuple[int, int, int]:
    """Return the tests passed, failed and skipped according to a JUnit file; zeros without one."""
    if not junit.exists():
        return 0, 0, 0
    suites = list(ET.parse(junit).iter("testsuite"))

    def total(attribute: str) -> int:
        return sum(int(found.get(attribute, 0)) for found in suites)

    failed, skipped = total("failures") + total("errors"), total("skipped")
    return total("tests") - failed - skipped, failed, skipped


def failed_in_page(junit: Path) -> Iterator[str]:
    """Yield pytest's names of the tests in tests/browser that failed according to a JUnit file."""
    for case in ET.parse(junit).iter("testcase") if junit.exists() else ():
        *folders, module = case.get("classname", "").split(".")[:3]
        classes = case.get("classname", "").split(".")[3:]
        failed = case.find("failure") is not None or case.find("error") is not None
        if failed and folders == ["tests", "browser"]:
            yield "::".join([f"tests/browser/{module}.py", *classes, case.get("name", "")])


def summarize(outcomes: list[Outcome]) -> int:
    """Print the table and the last line; return the exit code."""
    print("\n" + "=" * 60)
    for outcome in outcomes:
        mark = "FAILED" if outcome.failed else "ok"
        skipped = f", {outcome.skipped} skipped" if outcome.skipped else ""
        print(
            f"{outcome.name:<20} {mark:<7} {outcome.seconds:7.1f} s   "
            f"{outcome.passed} passed, {outcome.failed} failed{skipped}"
        )
    for test in (test for outcome in outcomes for test in outcome.late):
        print(f"failed once, and passed alone: {test}")
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
