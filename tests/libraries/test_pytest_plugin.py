"""The plugin of pytest: an error that the GPU reports late fails the test that caused it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.environment import ROOT

TESTS = """
import py_tensor as pt
import pytest

pt.set_default_device("webgpu")
kept = []

def test_unused():
    pt.arange(5)[pt.tensor([7])]

def test_after_it():
    assert pt.ones(3).sum() == 3

def test_kept():
    kept.append(pt.arange(5)[pt.tensor([7])] + 1)

def test_after_it_again():
    assert pt.ones(3).tolist() == [1, 1, 1]

def test_of_another_error():
    y = pt.arange(5)[pt.tensor([8])]
    assert False, "its own"

def test_after_it_too():
    assert pt.ones(2).tolist() == [1, 1]

def test_that_reads():
    with pytest.raises(IndexError):
        print(pt.arange(5)[pt.tensor([7])])

@pytest.fixture
def bad():
    pt.arange(5)[pt.tensor([7])]

def test_with_a_fixture(bad):
    pass

def test_last():
    assert pt.ones(2).tolist() == [1, 1]
"""


def test_only_the_tests_that_use_a_bad_index_fail(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "py_tensor.tools.pytest_plugin",
        "-rA",
        "--tb=short",
    ]
    run = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    reports, _, summary = run.stdout.partition("short test summary info")
    passed = {line.split("::")[1] for line in summary.splitlines() if line.startswith("PASSED")}
    assert passed == {
        *("test_after_it", "test_after_it_again", "test_after_it_too", "test_that_reads"),
        "test_last",
    }, run.stdout
    assert "3 failed, 5 passed, 1 error" in summary, run.stdout
    assert reports.count("IndexError: index 7 is out of range") == 3
    assert "AssertionError: its own" in reports
    assert "Its device also reports: index 8 is out of range" in reports
