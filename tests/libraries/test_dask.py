"""dask with chunks that are tensors, by its default scheduler, which computes in threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import dask.array
import dask.config
import numpy as np
import pytest

import py_tensor as pt
from tests.environment import ROOT

da: Any = dask.array


@pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")
def test_chunks_in_threads(device: str, rng: np.random.Generator) -> None:
    a = rng.random((60, 40), "float32")
    x = da.from_array(pt.tensor(a, device=device), chunks=(20, 15), asarray=False)
    cases = {
        "elementwise": (da.exp(x) + x * 2, np.exp(a) + a * 2),
        "sums": (x.sum(0), a.sum(0)),
        "mean": (x.mean(), a.mean()),
        "product": (x @ x.T, a @ a.T),
        "transposed": (x.T.rechunk((13, 20)), a.T),
        "blocks": (x.map_blocks(lambda b: pt.sort(b * 2, axis=1).cumsum(1)).sum(), None),
        "clip": (da.clip(x, 0.2, 0.7).max(1), a.clip(0.2, 0.7).max(1)),
    }
    with dask.config.set(scheduler="threads", num_workers=8):
        for name, (lazy, expected) in cases.items():
            result = lazy.compute()
            assert isinstance(result, pt.Tensor), name
            if expected is None:
                blocks = (
                    np.sort(a[i : i + 20, j : j + 15] * 2, axis=1).cumsum(1).sum()
                    for i in range(0, 60, 20)
                    for j in range(0, 40, 15)
                )
                expected = sum(blocks)
            np.testing.assert_allclose(result.numpy(), expected, rtol=2e-5, err_msg=name)


def _assigned(x: Any) -> Any:
    copied = x.copy()
    copied[2:5] = 0
    copied[copied > 0.9] = 1
    return copied


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    # Of dask or NumPy, a matrix and a vector.
    "argmax": lambda np, a, b: a.argmax(0),
    "argmin": lambda np, a, b: a.argmin(),
    "average": lambda np, a, b: np.average(a, 0, weights=b),
    "bincount": lambda np, a, b: np.bincount((b * 9).astype("int32"), minlength=9),
    "cumprod": lambda np, a, b: b.cumprod(0),
    "dot": lambda np, a, b: a.dot(b),
    "histogram": lambda np, a, b: np.histogram(b, 5, (0, 1))[0],
    "nanstd": lambda np, a, b: np.nanstd(a, 0),
    "pad": lambda np, a, b: np.pad(a, 2),
    "pad reflect": lambda np, a, b: np.pad(a, 2, "reflect"),
    "isin": lambda np, a, b: np.isin((b * 9).astype("int32"), [1, 2]),
    "setitem": lambda np, a, b: _assigned(a),
    "std": lambda np, a, b: a.std(),
    "tensordot": lambda np, a, b: np.tensordot(a, b, 1),
    "triangle": lambda np, a, b: np.tril(a),
    "var": lambda np, a, b: a.var(0),
}
WIDE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "covariances": lambda np, a, b: np.cov(a),
}
"""dask computes this in float64, which a GPU does not have."""


@pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")
def test_functions(device: str, rng: np.random.Generator) -> None:
    a, b = rng.random((40, 40), "float32"), rng.random(40, "float32")
    arrays = a, b
    chunked = [
        da.from_array(pt.tensor(each, device=device), chunks=20, asarray=False) for each in arrays
    ]
    for name, call in (FUNCTIONS | WIDE if device == "cpu" else FUNCTIONS).items():
        result, expected = call(da, *chunked).compute(), call(np, *arrays)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-3, atol=1e-5, err_msg=name)
    halves = da.percentile(chunked[1], [0, 100], method="lower").compute()
    np.testing.assert_array_equal(np.asarray(halves), [b.min(), b.max()])


def test_operators_with_a_tensor_are_of_dask(device: str, rng: np.random.Generator) -> None:
    a = rng.random((4, 6), "float32")
    x = pt.tensor(a, device=device)
    chunked = da.from_array(x, chunks=3, asarray=False)
    lazy = [chunked * x, x * chunked, x - chunked, chunked < x, x**chunked, x @ chunked.T]
    for each in (*lazy, np.add(x, chunked), np.hypot(chunked, x)):
        assert isinstance(each, da.Array)
    np.testing.assert_array_equal((x - chunked * 2).compute().numpy(), a - a * 2)


@pytest.mark.parametrize("first", ["dask.array", "py_tensor"])
def test_dask_knows_tensors_whichever_is_imported_first(first: str) -> None:
    code = (
        f"import {first}, dask.array as da, py_tensor as pt\n"
        "pt.set_default_device('cpu')\n"
        "print((da.ones(4, chunks=2) * pt.arange(4)).compute().tolist())"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert printed == "[0.0, 1.0, 2.0, 3.0]\n"


SOLVE = """
import sys
import dask.array as da, numpy as np, py_tensor as pt
pt.set_default_device(sys.argv[1])
a = np.random.default_rng().random((40, 40), "float32") + 20 * np.eye(40, dtype="float32")
x, y = (da.from_array(pt.tensor(each), chunks=20, asarray=False) for each in (a, a[0]))
np.testing.assert_allclose(da.linalg.solve(x, y).compute(), np.linalg.solve(a, a[0]), atol=1e-5)
if sys.argv[1] == "cpu":  # dask computes it in float64
    np.testing.assert_allclose(da.linalg.inv(x).compute(), np.linalg.inv(a), atol=1e-5)
"""


def test_solving(device: str) -> None:
    """SciPy mixes the arrays of dask's LU decomposition with tensors, if it need not tell apart."""
    without = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    command = [sys.executable, "-W", "ignore", "-c", SOLVE, device]
    subprocess.run(command, cwd=ROOT, env=without, check=True)
