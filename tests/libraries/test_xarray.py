"""xarray's arrays of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray

import py_tensor as pt

CALLS: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda d: d.argmax("y"),
    "arithmetic": lambda d: np.exp(d) * 2 - d,
    "assignment": lambda d: _assigned(d.copy()),
    "coarsen": lambda d: d.coarsen(y=2).mean(),
    "concat": lambda d: xarray.concat([d, d], "z"),
    "cumsum": lambda d: d.cumsum("x"),
    "differentiate": lambda d: d.differentiate("x"),
    "dot": lambda d: xarray.dot(d, d),
    "groupby": lambda d: d.groupby("x").sum(),
    "integrate": lambda d: d.integrate("x"),
    "interp": lambda d: d.interp(x=[0.5, 1.5]),
    "isel": lambda d: d.isel(x=[0, 2]),
    "median": lambda d: d.median("x"),
    "pad": lambda d: d.pad(x=1, constant_values=0),
    "quantile": lambda d: d.quantile(0.3, "y"),
    "sortby": lambda d: d.sortby("y", ascending=False),
    "std": lambda d: d.std("x"),
    "transposed": lambda d: d.T,
    "var": lambda d: d.var(),
    "where": lambda d: d.where(d > 0.5, 0),
}


def _assigned(d: Any) -> Any:
    d[0, 1] = 5
    return d


def labelled(values: Any) -> Any:
    return xarray.DataArray(values, dims=("x", "y"), coords={"x": [0.0, 1, 2], "y": [0.0, 1, 2, 3]})


@pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, device: str, rng: np.random.Generator) -> None:
    a = rng.random((3, 4), "float32")
    x = pt.tensor(a, device=device)
    result, expected = CALLS[name](labelled(x)), CALLS[name](labelled(a))
    if name != "interp":  # SciPy computes it
        assert isinstance(result.data, pt.Tensor)
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-5)
    assert result.dims == expected.dims


def test_operators_with_a_tensor_are_of_xarray(device: str) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = pt.tensor(a, device=device)
    for result in (labelled(x) * x, x * labelled(x)):
        assert isinstance(result, xarray.DataArray)
        np.testing.assert_array_equal(result.values, a * a)
