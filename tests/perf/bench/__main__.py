"""Times py_tensor and the libraries it is compared with, on the browser's adapter.

usage: python3 -m tests.perf.bench [--suite NAME]... [--case TEXT]... [--peers] [--native]
                                   [--json FILE] [--rounds N] [--list] [--no-setup]

    npm run bench                                   only py_tensor, all suites but the page's
    npm run bench -- --peers --json out.json        with tfjs and jax-js, and save the figures
    npm run bench -- --native                       with py_tensor outside a browser
    npm run bench -- --suite matmul --case 1024     some cases
    python3 -m tests.perf.bench --no-setup --peers  with a built page, Python and a browser
                                                    (CHROMIUM, CHROMIUM_GPU_FLAGS), no Node

PyTorch is timed too if it finds a CUDA device. measure.py describes the method, report.py the
JSON. The table gives the number of kernels of an op, py_tensor's median time, the spread of its
samples, the kernels' GPU time by timestamps, the rate by the case's bytes or flops, and that rate
as a fraction of the rate of a plain copy, or of a kernel of multiply-adds, on this device.
"× peer" is the speed relative to the faster of tfjs and jax-js, "of PyTorch" the time as a
multiple of PyTorch's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests import environment


def main() -> int:
    options = parse(sys.argv[1:])
    if options.setup:
        try:
            python = set_up(lists=options.list, native=options.native)
        except environment.SetupError as error:
            print(error, file=sys.stderr)
            return 1
        command = [str(python), "-m", "tests.perf.bench", "--no-setup", *sys.argv[1:]]
        return subprocess.run(command, cwd=environment.ROOT).returncode
    from tests.perf.bench import run  # needs NumPy and Playwright

    return run.run(options)


def parse(arguments: list[str]) -> argparse.Namespace:
    assert __doc__ is not None
    usage, _, description = __doc__.partition("\n\n")[2].partition("\n\n")
    parser = argparse.ArgumentParser(
        usage=usage.removeprefix("usage: "),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--suite", action="append", metavar="NAME", help="only these suites")
    parser.add_argument("--case", action="append", metavar="TEXT", help="only cases named so")
    parser.add_argument("--peers", action="store_true", help="time tfjs and jax-js too")
    parser.add_argument("--native", action="store_true", help="time py_tensor in this Python too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there")
    parser.add_argument("--rounds", type=int, metavar="N", help="samples of each contender")
    parser.add_argument("--list", action="store_true", help="show the suites and cases, run none")
    parser.add_argument("--no-setup", dest="setup", action="store_false")
    options = parser.parse_args(arguments)
    if options.json is not None:
        options.json = options.json.resolve()
    return options


def set_up(*, lists: bool, native: bool) -> Path:
    """Install what this run needs and build the page; return the Python to run it with."""
    python = environment.ensure_venv()
    if lists:
        return python
    os.environ["CHROMIUM"] = environment.ensure_chromium(python)
    if native:
        environment.ensure_adapter(python)
    environment.call(sys.executable, "web/build/build.py", hint="Without the page there is no run.")
    return python


if __name__ == "__main__":
    sys.exit(main())
