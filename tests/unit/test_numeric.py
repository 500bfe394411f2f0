"""finfo, iinfo, dtype, the supported parts of NumPy's error handling, names for annotations."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor import typing


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_limits_of_floats(name: str) -> None:
    ours, numpys = pt.finfo(name), np.finfo(name)
    for field in (
        *("bits", "eps", "epsneg", "max", "min", "tiny", "smallest_normal"),
        *("smallest_subnormal", "precision", "resolution", "nmant"),
    ):
        assert getattr(ours, field) == pytest.approx(float(getattr(numpys, field)), 1e-6), field
    assert ours.dtype == name
    assert repr(ours) == repr(numpys)
    with pytest.raises(pt.DTypeError, match=r"^finfo: .*int32"):
        pt.finfo(pt.int32)


@pytest.mark.parametrize("name", ["int32", "uint32", "int64"])
def test_limits_of_integers(name: str) -> None:
    ours, numpys = pt.iinfo(name), np.iinfo(name)
    assert (ours.min, ours.max, ours.bits, ours.kind) == (
        *(numpys.min, numpys.max, numpys.bits),
        numpys.kind,
    )
    assert repr(ours) == repr(numpys)
    with pytest.raises(pt.DTypeError, match=r"^iinfo: .*float32"):
        pt.iinfo(float)


def test_limits_of_objects_with_a_dtype() -> None:
    assert pt.finfo(pt.ones(2, device="cpu")).dtype is pt.float32
    assert pt.finfo(1.5).dtype is pt.float32
    assert pt.iinfo(3).dtype is pt.int32


def test_errors_are_accepted() -> None:
    with pt.errstate(divide="ignore", invalid="ignore"), pt.errstate(all="raise"):
        assert (pt.ones(1, device="cpu") / 0).tolist() == [float("inf")]

    @pt.errstate(over="ignore")
    def decorated() -> int:
        return 3

    assert decorated() == 3
    assert pt.seterr(all="ignore") == pt.geterr()
    assert set(pt.geterr()) == set(np.geterr())
    with pytest.raises(TypeError, match=r"^errstate: unknown argument divid"):
        pt.errstate(divid="ignore")


def test_dtypes() -> None:
    assert cast("Any", pt.dtype("float32")) is pt.float32
    assert cast("Any", pt.dtype(np.int32)) is pt.int32
    x = pt.ones(2, device="cpu")
    assert pt.result_type(x, 1) is pt.float32
    with pytest.raises(ValueError, match=r"^result_type: needs at least one"):
        pt.result_type()
    assert pt.result_type(pt.int32, 1.5) is pt.float32
    assert pt.result_type(1, 2) is pt.int32
    assert pt.result_type(np.zeros(3), x) is pt.float32
    assert pt.result_type(np.zeros(3, np.int64)) is pt.int32
    assert pt.result_type(np.float64, x) is pt.float64
    assert pt.promote_types("bool", "uint32") is pt.uint32
    assert pt.double is pt.float64
    assert pt.int_ is pt.int32


def test_values_of_a_dtype() -> None:
    half = pt.float32(0.5)
    assert (half.dtype, half.shape, half.is_scalar) == (pt.float32, (), True)
    assert pt.int32(2.7).item() == 2
    assert pt.float32([1, 2]).tolist() == [1, 2]
    assert pt.bool_(3).item() is True
    assert pt.float32().item() == 0


def test_annotations() -> None:
    assert typing.NDArray is pt.ndarray
    assert cast("Any", typing.NDArray)[pt.float32] is not None
    assert cast("Any", typing).ArrayLike is not None
    assert isinstance(pt.ones(1, device="cpu"), pt.ndarray)
    assert cast("Any", pt.ndarray)[Any, cast("Any", pt.dtype)[pt.float32]] is not None


def test_shapes_from_arrays() -> None:
    x = pt.arange(6, device="cpu")
    assert x.reshape(np.array([2, 3])).shape == (2, 3)
    assert pt.zeros(cast("Any", np.array([2, 3])), device="cpu").shape == (2, 3)
    assert float(pt.tensor([[2.5]], device="cpu")) == 2.5
