"""The steps in CONTRIBUTING.md are sufficient to add what they describe.

Its code is applied to a copy of the package, in which the tests of `contributed.py` then run.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PRODUCT = ("py_tensor", "shaders")
TESTS = (
    "contributed.py",
    "kernel_spec.py",
    "simulate.py",
    "test_api.py",
    "test_imports.py",
    "test_typing.py",
)


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the path before each piece of code, and the code."""
    yield from re.findall(r"`([\w/.]+)`[^`]*:\n\n```\w+\n(.*?)^```$", text, re.S | re.M)


def files(folder: Path) -> dict[str, str]:
    """Return the text of each file of the product."""
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for part in PRODUCT
        for path in (folder / part).rglob("*")
        if path.suffix in (".py", ".wgsl")
    }


def apply(folder: Path, title: str) -> set[str]:
    """Apply a section's code to a copy; return the product's files that it changed or added."""
    before, text = files(folder), section(title)
    for path, code in blocks(text):
        file = folder / path
        old = file.read_text("utf-8") if file.exists() else ""
        if path.endswith("passes.py"):  # the end of the last function
            assert "Import `numbered`" in text
            imported = "from py_tensor.schedule.numbered import numbered\n"
            new = f"{old}{code}".replace("\n\n\n@", f"\n{imported}\n\n@", 1)
        elif code.startswith("    "):  # an entry of a table
            new = re.sub(r"(?m)^(UNARY: .*= \{\n)", lambda found, code=code: found[1] + code, old)
        else:
            new = f"{old}\n\n{code}" if old else code
        if definition := re.match(r"@(?:unary|reduction)\(.*\)\ndef (\w+)\(", code):
            name = definition[1]
            assert re.search(r"[Aa]dd (its|the) name to `__all__`.*, and run `npm run names`", text)
            new = new.replace("__all__ = [", f'__all__ = ["{name}", ', 1)
        if "logical_xor" in code:
            assert "Import `logical_xor` there" in text
            new = new.replace("logical_or, maximum", "logical_or, logical_xor, maximum", 1)
        assert new != old, path
        file.write_text(new, "utf-8")
    return {path for path, found in files(folder).items() if before.get(path) != found}


@dataclass
class Copy:
    """A copy of the package, and the files of the product that each section changes."""

    folder: Path
    elementwise: set[str]
    reduction: set[str]
    composed: set[str]
    family: set[str]
    passes: set[str]

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    folder = tmp_path_factory.mktemp("contributed")
    ignore = shutil.ignore_patterns("__pycache__")
    for part in PRODUCT:
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    (folder / "tests" / "unit").mkdir(parents=True)
    (folder / "tests" / "ops").mkdir()
    (folder / "web" / "build").mkdir(parents=True)
    for path in (
        "pyproject.toml", "tests/functions.py", "tests/ops/references.py", "web/build/kernels.py",
        "web/build/names.py", "web/build/reference.py",
        "web/build/examples.txt", *(f"tests/unit/{name}" for name in TESTS),
    ):  # fmt: skip
        shutil.copy(ROOT / path, folder / path)
    titles = (
        "Add an op", "Add a reduction", "Add a function made of others", "Add a kernel family",
        "Add a pass",
    )  # fmt: skip
    made = Copy(folder, *(apply(folder, title) for title in titles))
    made.run("-m", "web.build.names")  # what `npm run names` runs
    return made


def test_an_elementwise_op_takes_one_file(copy: Copy) -> None:
    assert copy.elementwise == {"py_tensor/ops/elementwise.py"}


def test_a_reduction_takes_one_file(copy: Copy) -> None:
    assert copy.reduction == {"py_tensor/ops/reduction.py"}


def test_a_composed_function_takes_one_file(copy: Copy) -> None:
    assert copy.composed == {"py_tensor/numpy/root_mean_square.py"}


def test_a_kernel_family_takes_three_files(copy: Copy) -> None:
    assert copy.family == {
        "shaders/kernels/distances.wgsl",
        "py_tensor/codegen/distances.py",
        "py_tensor/ops/distances.py",
    }


def test_a_pass_takes_two_files(copy: Copy) -> None:
    assert copy.passes == {"py_tensor/schedule/numbered.py", "py_tensor/schedule/passes.py"}


def test_the_added_ops_compute(copy: Copy) -> None:
    """Checks values and derivatives, and types, imports, docstrings and examples."""
    found = copy.run("-m", "pytest", "-q", *(f"tests/unit/{n}" for n in TESTS if n[:2] != "si"))
    assert " passed" in found
    assert "failed" not in found


def test_the_reference_lists_the_added_ops(copy: Copy) -> None:
    """An op without an example is listed too."""
    known = ROOT / "web/build/examples.txt"
    given = copy.folder / "web/build/examples.txt"
    command = "web/build/reference.py", str(copy.folder), "reference.json"
    for text, is_complete in ((known.read_text("utf-8"), False), (given.read_text("utf-8"), True)):
        given.write_text(text, "utf-8")
        said = copy.run(*command)
        assert ("deg2rad: no example" in said) is not is_complete
        written = json.loads((copy.folder / "reference.json").read_text("utf-8"))["entries"]
        entries = {entry["name"]: entry for entry in written}
        assert bool(entries["deg2rad"]["example"]) is is_complete
        assert entries["deg2rad"]["section"] == "Elementwise"
        assert ["derivative", "defined"] in entries["deg2rad"]["facts"]
        assert entries["squared_distances"]["section"] == "Distances"


def test_the_added_example_runs(copy: Copy) -> None:
    example = dict(blocks(section("Add an op")))["web/build/examples.txt"]
    assert doctest.DocTestParser().get_examples(example)
    text = example.replace(
        "deg2rad\n", ">>> import py_tensor as pt; pt.set_default_device('cpu')\n", 1
    )
    (copy.folder / "example.txt").write_text(text, "utf-8")
    copy.run("-c", "import doctest, sys; sys.exit(doctest.testfile('example.txt')[0])")
