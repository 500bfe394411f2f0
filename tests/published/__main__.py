"""Runs published NumPy programs with py_tensor instead of NumPy, and reports the outcomes.

usage: python3 -m tests.published FOLDER [--device cpu|native|webgpu] [--random host|tensor]
                                  [--dtype float32|float64] [--only TEXT] [--seconds N]
                                  [--json FILE]

FOLDER holds the programs, one file each, in folders by origin; none of them is part of this
repository. Each runs with NumPy in its own process, then renamed (`rename.py`) on the device: on
webgpu inside the page's worker, for which the page must be built, on native in a process with wgpu.
The numbers that both runs leave in their variables are compared (`compare.py`). Random numbers come
from NumPy in both runs: as arrays on the host, or with `--random tensor` as tensors.

A program is skipped if it fails with NumPy, takes too long there, or leaves no numbers. Values that
NumPy itself does not reproduce, such as times, are not compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import py_tensor
from tests.browser.app import AppPage, AppSession
from tests.environment import ROOT
from tests.published import compare, execute, rename

Run = Callable[[str], dict[str, Any]]
SAME, DIFFERS, STOPS, OUT = "same", "differs", "stops", "left out"


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cpu", "native", "webgpu"), default="cpu")
    parser.add_argument("--random", choices=("host", "tensor"), default="host")
    parser.add_argument(
        "--dtype", choices=("float32", "float64"), default="float32", help="the default dtype"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs named so")
    parser.add_argument("--seconds", type=float, default=60, metavar="N", help="limit of one run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there")
    options = parser.parse_args()
    if options.dtype == "float64" and options.device != "cpu":
        parser.error("--dtype float64 needs --device cpu")
    rows: dict[str, dict[str, Any]] = {}
    device = "webgpu" if options.device == "native" else options.device
    with contextlib.ExitStack() as closing:
        run: Run = partial(in_process, options.seconds, options.random, device, options.dtype)
        if options.device == "webgpu":
            run = InPage(options.random, options.seconds)
            closing.callback(run.close)
        for path in sorted(options.folder.rglob("*.py")):
            name = path.relative_to(options.folder).with_suffix("").as_posix()
            if options.only in name:
                rows[name] = judged(path.read_text("utf-8"), run, options.seconds)
                print(f"{name}: {line(rows[name])}", flush=True)
    print(report(rows))
    if options.json is not None:
        about = {
            **{"device": options.device, "random": options.random, "dtype": options.dtype},
            "programs": rows,
        }
        options.json.write_text(json.dumps(about, indent=1), "utf-8")
    return 0


def judged(text: str, run: Run, seconds: float) -> dict[str, Any]:
    """Run one program; return its verdict and all results."""
    by_numpy = partial(in_process, seconds, "host", "", "float32")
    expected = by_numpy(text)
    if expected["error"] or not expected["values"]:
        why = expected["error"] or {"type": "nothing", "message": "it leaves no numbers"}
        return {"state": OUT, "error": why}
    found = run(rename.renamed(text))
    row = {
        "state": STOPS if found["error"] else SAME,
        "missing": rename.missing_names(text, py_tensor),
        "numpy_seconds": round(expected["seconds"], 3),
        "seconds": round(found["seconds"], 3),
    }
    if found["error"]:
        kind, what = compare.reason(found["error"])
        return {**row, "error": found["error"], "kind": kind, "what": what}
    row["tensors"] = sum(value["tensor"] for value in found["values"].values())
    wrong = compare.differing(expected["values"], found["values"])
    if wrong:
        unsteady = compare.differing(expected["values"], by_numpy(text)["values"])
        wrong = {name: how for name, how in wrong.items() if name not in unsteady}
    return {**row, "state": DIFFERS, "differing": wrong} if wrong else row


# Where a program runs -----------------------------------------------------------------------


def in_process(
    seconds: float, random_as: str, device: str, dtype: str, text: str
) -> dict[str, Any]:
    """Run a program in its own process: with NumPy, or renamed on a device."""
    command = [sys.executable, "-m", execute.__name__, random_as, device, dtype]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = subprocess.run(
                *(command,), input=text, cwd=folder, env=environment, timeout=seconds,
                capture_output=True, encoding="utf-8",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return _failed("time", f"not done after {seconds:g} s")
    return json.loads(ended.stdout) if ended.stdout else _failed("died", ended.stderr[-200:])


class InPage:
    """Runs renamed programs in the page's worker; replaces a page that hangs."""

    def __init__(self, random_as: str, seconds: float) -> None:
        self._session = AppSession()
        self._random_as = random_as
        self._seconds = seconds
        self._app: AppPage | None = None

    def __call__(self, text: str) -> dict[str, Any]:
        if self._app is None:
            self._app = self._session.open_page()
            self._app.run("import pyodide_js; await pyodide_js.loadPackage('numpy')")
        source = Path(execute.__file__).read_text("utf-8")
        words = f"{text!r}, {self._random_as!r}, 'webgpu'"
        # An expression, so that no name is left behind in the REPL's namespace.
        code = f"(lambda s: (exec({source!r}, s), s['answer']({words})))({{'__name__': 'page'}})[1]"
        answer = self._app.page.evaluate(
            "([code, ms]) => Promise.race([pyTensor.run(code),"
            " new Promise((resolve) => setTimeout(resolve, ms, null))])",
            [code, self._seconds * 1000],
        )
        if answer is None:
            self._app.page.context.close()
            self._app = None
            return _failed("time", f"not done after {self._seconds:g} s")
        return json.loads(answer["stdout"]) if answer["ok"] else _failed("died", answer["error"])

    def close(self) -> None:
        self._session.close()


def _failed(kind: str, message: str) -> dict[str, Any]:
    error = {"type": kind, "message": message, "statement": ""}
    return {"error": error, "values": {}, "stdout": "", "seconds": 0.0}


# Output -----------------------------------------------------------------------------------


def line(row: dict[str, Any]) -> str:
    """Return one program's result in a line."""
    if row["state"] == DIFFERS:
        first = next(iter(row["differing"].items()))
        return f"differs in {len(row['differing'])} names: {first[0]} {first[1]}"
    error = row.get("error")
    if error is None:
        return SAME
    at = f" at: {error['statement'][:80]}" if error.get("statement") else ""
    return f"{row['state']}: {error['type']}: {error['message'][:100]}{at}"


def report(rows: dict[str, dict[str, Any]]) -> str:
    """Return the tables: by folder, by reason, and by missing name."""
    states = (SAME, DIFFERS, STOPS, OUT)
    lines = ["", f"{'folder':28}" + "".join(f"{state:>10}" for state in states)]
    folders = {name: name.rpartition("/")[0] for name in rows}
    for folder in [*sorted(set(folders.values())), "all"]:
        found = Counter(r["state"] for n, r in rows.items() if folder in ("all", folders[n]))
        lines.append(f"{folder:28}" + "".join(f"{found[state]:10}" for state in states))
    without = sum(row["state"] == SAME and not row["tensors"] for row in rows.values())
    lines += ["", f"{without} of those with the same values end without a tensor"]
    stops = [row for row in rows.values() if row["state"] == STOPS]
    for kind, count in Counter(row["kind"] for row in stops).most_common():
        lines += ["", f"stopped first by: {kind} ({count})"]
        lines += _counted(row["what"] for row in stops if row["kind"] == kind)
    lines += ["", "names that are missing, by the programs that have them in their text"]
    lines += _counted(n for row in rows.values() for n in row.get("missing", ()))
    return "\n".join(lines)


def _counted(words: Iterable[str]) -> list[str]:
    return [f"{count:5}  {word}" for word, count in Counter(words).most_common()]


if __name__ == "__main__":
    sys.exit(main())
