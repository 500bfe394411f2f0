"""Tensors as the page saves them: NumPy files, CSV, lists."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.page_python import load

pytestmark = pytest.mark.usefixtures("on_cpu")

saving: Any = load("saving")

SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (0,), (0, 3), (2, 0), (2, 2, 1, 3)]


@pytest.fixture(params=[True, False], ids=["blocking", "awaiting"])
def blocking(request: pytest.FixtureRequest) -> bool:
    return request.param


def saved(x: pt.Tensor, form: str, blocking: bool = True) -> tuple[dict[str, Any], Any]:
    return asyncio.run(saving.saved(x, form, blocking))


def text(x: pt.Tensor, form: str, blocking: bool = True) -> str:
    bundle, data = saved(x, form, blocking)
    assert bundle["kind"] == "file"
    assert data is None
    return bundle["text"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "float32"])
def test_npy(shape: tuple[int, ...], dtype: str, blocking: bool) -> None:
    a = np.random.default_rng(1).uniform(0, 100, shape).astype(dtype)
    bundle, data = saved(pt.tensor(a, dtype=getattr(pt, dtype)), "npy", blocking)
    assert bundle["kind"] == "file"
    back = np.load(io.BytesIO(data))
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back, a)


ODD = [0.0, -0.0, 0.1, 1 / 3, 1e-45, 3.4028235e38, -1e20, float("nan"), float("inf"), -float("inf")]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_are_read_back(dtype: str, blocking: bool) -> None:
    rng = np.random.default_rng(2)
    with np.errstate(over="ignore"):
        a = np.concatenate([ODD, rng.uniform(-1, 1, 500) * 10.0 ** rng.integers(-8, 8, 500)])
        a = a.astype(dtype)
    x = pt.tensor(a, dtype=getattr(pt, dtype))
    words = text(x, "csv", blocking).splitlines()
    np.testing.assert_array_equal(np.array([float(w) for w in words]).astype(dtype), a)
    assert [w for w, v in zip(words, a.tolist(), strict=True) if np.signbit(v)] == [
        w for w in words if w.startswith("-")
    ]
    found = np.array(eval(text(x, "list", blocking))).astype(dtype)
    np.testing.assert_array_equal(found, a)
    assert text(pt.tensor([0.1, 0.3], dtype=pt.float32), "list") == "[0.1, 0.3]"


@pytest.mark.parametrize("shape", SHAPES)
def test_lists_have_the_shape(shape: tuple[int, ...]) -> None:
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert eval(text(pt.tensor(a), "list")) == a.tolist()
    assert eval(text(pt.tensor(a % 2 == 0), "list")) == (a % 2 == 0).tolist()


@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_csv_has_a_row_for_each_last_axis(shape: tuple[int, ...]) -> None:
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    rows = a.reshape(-1, shape[-1] if len(shape) > 1 else 1)
    file = io.StringIO()
    np.savetxt(file, rows, "%d", ",")
    assert text(pt.tensor(a), "csv") == file.getvalue()


def test_complex_numbers_are_read_back() -> None:
    a = np.array([1 + 2j, -0.1 - 0.3j, complex("nan+infj"), 0], np.complex64)
    x = pt.tensor(a, dtype=pt.complex64)
    np.testing.assert_array_equal(np.array(eval(text(x, "list")), np.complex64), a)
    words = text(x, "csv").splitlines()
    assert words[:2] == ["1.0+2.0j", "-0.1-0.3j"]
    np.testing.assert_array_equal(np.array([complex(w) for w in words], np.complex64), a)


@pytest.mark.parametrize(("form", "most"), [("csv", 1_000_000), ("list", 100_000)])
def test_tensors_that_are_too_large_are_reported(form: str, most: int) -> None:
    bundle, _ = saved(pt.zeros(most + 1), form)
    assert bundle["kind"] == "text"
    assert f"{most + 1:,}" in bundle["text"]
    assert len(saved(pt.zeros((7, most + 1)), "npy")[1]) > 28 * most
