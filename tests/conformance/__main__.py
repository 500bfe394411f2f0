"""Runs the array API standard's own tests (github.com/data-apis/array-api-tests) on a device.

usage: python3 -m tests.conformance --suite PATH [--device cpu|native|webgpu] [--no-setup]
                                    [pytest options]

    npm run conformance -- --suite PATH                            on the CPU device
    npm run conformance -- --suite PATH --device native            on WebGPU, without a browser
    npm run conformance -- --suite PATH --device webgpu            inside the page's worker
    npm run conformance -- --suite PATH --max-examples=8 -k tanh   fewer values, only some tests

PATH is a checkout of the suite with its submodule; it is not part of this repository. The tests'
further dependencies are installed below `.cache`, in pure Python, so that the worker uses the same.
`--no-setup` is for a machine that has all of them, and a built page.

expected_failures.txt lists the tests that fail, and why that is not a defect of the library. Any
other failure fails the run. A listed test that passes is named at the end: values are random, and a
small number of examples may contain no failing one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests import environment
from tests.environment import ROOT

PACKAGES = ROOT / ".cache" / "conformance"
NEEDS = [
    "hypothesis==6.155.7",  # later versions have no pure-Python wheel
    "ndindex==1.8",  # the latest in pure Python
    "pytest-json-report==1.5.0",
    "pytest-metadata==3.1.1",
    "sortedcontainers==2.4.0",
]


def main() -> int:
    options, for_pytest = parse(sys.argv[1:])
    try:
        python = set_up(options.device) if options.setup else Path(sys.executable)
    except environment.SetupError as error:
        print(error, file=sys.stderr)
        return 1
    paths = [str(ROOT), str(PACKAGES), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # pytest-playwright, if installed, would claim --device.
    plugin = ["-p", "no:playwright", "-p", "tests.conformance.plugin"]
    plugin += [f"--device={options.device}", "-rX"]
    command = [python, "-m", "pytest", "array_api_tests", *plugin, *for_pytest]
    return subprocess.run(command, cwd=options.suite).returncode


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own options, and the rest, which pytest gets."""
    assert __doc__ is not None
    usage, _, description = __doc__.partition("\n\n")[2].partition("\n\n")
    parser = argparse.ArgumentParser(
        usage=usage.removeprefix("usage: "),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--suite", type=Path, required=True, metavar="PATH")
    parser.add_argument("--device", choices=("cpu", "native", "webgpu"), default="cpu")
    parser.add_argument("--no-setup", dest="setup", action="store_false")
    return parser.parse_known_args(arguments)


def set_up(device: str) -> Path:
    """Install requirements and build the page if needed; return the Python that runs pytest."""
    python = environment.ensure_venv()
    environment.ensure_pure(PACKAGES, NEEDS)
    if device == "native":
        environment.ensure_adapter(python)
    elif device == "webgpu":
        environment.ensure_node_modules()
        os.environ["CHROMIUM"] = environment.ensure_chromium(python)
        hint = "The page is needed for --device webgpu."
        environment.call(sys.executable, "web/build/build.py", hint=hint)
    return python


if __name__ == "__main__":
    sys.exit(main())
