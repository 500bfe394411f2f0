"""`isinstance` on scalars: they are numbers, as NumPy's scalars are."""

from __future__ import annotations

import copy
import io
import json
import numbers
import pickle
from functools import singledispatch
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.runtime.device import deferring
from tests.ops.compare import same

pytestmark = pytest.mark.usefixtures("default_device")

PYTHONS: tuple[Any, ...] = (bool, int, float, complex, str, list)
NUMBERS: tuple[Any, ...] = (
    numbers.Number,
    numbers.Complex,
    numbers.Real,
    numbers.Rational,
    numbers.Integral,
)


def is_of(value: object) -> list[bool]:
    return [isinstance(value, kind) for kind in (*PYTHONS, *NUMBERS)]


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "uint8", "int32", "uint32", "int64"),
        *("float16", "float32", "complex64"),
    ],
)
def test_scalars_are_numbers_as_in_numpy(dtype: str) -> None:
    x, a = pt.ones((2, 3), dtype=dtype), np.ones((2, 3), dtype)
    for of in (lambda v: v[0, 1], lambda v: v.max(), lambda v: v[1].min(), lambda v: v.ravel()[2]):
        assert is_of(of(x)) == is_of(of(a))
        assert isinstance(of(x), pt.Tensor)
        assert type(of(x)) is pt.Tensor
    for array in (x, x[0], pt.asarray(1, dtype=dtype), x[0, 1:2].reshape(()), x[0, 1, ...]):
        assert not any(is_of(array))
        assert array.__class__ is pt.Tensor


def test_a_check_reads_nothing() -> None:
    x = pt.arange(10.0)
    with deferring():
        s = x.sum()
        assert isinstance(s, numbers.Real)
        assert not isinstance(s, numbers.Integral)
        assert s._node.storage is None


def test_a_scalar_stays_a_tensor_in_ops() -> None:
    """A Python number is weak beside a tensor, a scalar is not."""
    half = pt.ones(3, dtype="float16")
    single: Any = pt.ones(3, dtype="float32").sum()
    assert isinstance(single, numbers.Real)
    assert pt.result_type(half, single) is pt.float32
    assert (half + single).dtype is pt.float32
    assert pt.full(2, single).dtype is pt.float32
    ints, a = pt.arange(5), np.arange(5)
    for value in (2.5, -0.5, np.nan, np.inf):
        scalar, number = pt.asarray([value])[0], np.float32(value)
        for name in ("less", "less_equal", "equal", "greater", "not_equal"):
            same(getattr(pt, name)(ints, scalar), getattr(np, name)(a, number), f"{name} {value}")
            same(getattr(pt, name)(scalar, ints), getattr(np, name)(number, a), f"{name} {value}")


def test_a_scalar_is_copied_pickled_and_dispatched() -> None:
    x = pt.arange(4.0).sum()
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is pt.Tensor
        assert isinstance(made, numbers.Real)
        assert float(made) == 6

    @singledispatch
    def kind(value: object) -> str:
        return "other"

    kind.register(pt.Tensor)(lambda value: "tensor")
    assert [kind(v) for v in (x, x.astype("int32"), pt.arange(3), 3.0)] == [
        *["tensor"] * 3,
        "other",
    ]


@pytest.mark.parametrize(
    ("dtype", "text"),
    [("float32", "2.5"), ("float16", "-inf"), ("int32", " 7 "), ("int64", "-9"), ("uint8", "255")],
)
def test_a_scalar_is_read_from_text(dtype: str, text: str) -> None:
    expected = getattr(np, dtype)(text)
    same(getattr(pt, dtype)(text), expected, dtype)
    same(pt.array(text, dtype=dtype), np.array(text, dtype=dtype), f"array of {dtype}")
    with pytest.raises(ValueError, match=rf"^{dtype}: .*'one' is not {dtype}"):
        getattr(pt, dtype)("one")


def test_a_scalar_is_converted_for_json() -> None:
    x = pt.arange(4.0).sum()
    file = io.StringIO()
    json.dump({"loss": x}, file, default=float)
    assert file.getvalue() == '{"loss": 6.0}'
    assert json.dumps([x], indent=0, default=float) == "[\n6.0\n]"


def test_the_class_of_a_scalar() -> None:
    x = pt.arange(4, dtype="int8").max()
    kind: Any = x.__class__
    assert kind.__name__ == "int8"
    assert issubclass(kind, pt.Tensor)
    assert {"reshape", "numpy", "shape"} <= {*dir(x)}
    made = kind(3)
    assert type(made) is pt.Tensor
    assert (made.dtype, int(made)) == (pt.int8, 3)
    assert isinstance(made, x.__class__)
    assert not isinstance(pt.arange(4).max(), x.__class__)
