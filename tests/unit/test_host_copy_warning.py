"""An implicit copy of a tensor to the host gives a warning, once per process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.environment import ROOT

SETUP = """
import sys, warnings
import numpy as np, py_tensor as pt
pt.set_default_device("cpu")
x = pt.arange(3.0)
"""


def told(code: str) -> list[str]:
    """Return the warnings that a fresh Python prints to the terminal."""
    command = [sys.executable, "-W", "always", "-c", SETUP + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if "HostCopyWarning" in line]


@pytest.mark.parametrize(
    "code",
    [
        "np.asarray(x)",
        "np.array(x, copy=True)",
        "np.linspace(x, x + 1, 3)",
        "np.testing.assert_allclose(x, x)",
        "np.asarray(x); np.asarray(x + 1); np.linspace(x, x + 1, 3)",
    ],
)
def test_once(code: str) -> None:
    (line,) = told(code)
    assert "x.numpy()" in line


@pytest.mark.parametrize(
    "code",
    [
        "x.numpy(); x.tolist(); print(x); pt.asarray(x); float(x[0]); x.tobytes()",
        "np.linalg.norm(x); np.fft.fft(x)",
        "np.sin(x); np.sum(x); np.ones(3) + x; np.concatenate([x, x])",
        "import io; pt.save(io.BytesIO(), x); x.tofile(io.BytesIO())",
        "pt.testing.assert_allclose(x, x)",
        "import pickle; pickle.loads(pickle.dumps(x)); import copy; copy.deepcopy(x)",
        "warnings.simplefilter('ignore', pt.HostCopyWarning); np.asarray(x)",
    ],
)
def test_not_at_all(code: str) -> None:
    assert told(code) == []


@pytest.mark.parametrize("code", ["np.asarray(x)", "np.linspace(x, x + 1, 3)"])
def test_the_line_that_called_numpy(code: str) -> None:
    (line,) = told("pass\n" + code)
    assert line.startswith("<string>:7:")


def test_as_an_error() -> None:
    code = "warnings.simplefilter('error', pt.HostCopyWarning)\nnp.asarray(x)"
    command = [sys.executable, "-c", SETUP + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "py_tensor.base.errors.HostCopyWarning: NumPy works on a copy" in done.stderr
