"""The list of variables that the page shows."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pytest

import py_tensor as pt
from tests.page_python import load

pytestmark = pytest.mark.usefixtures("on_cpu")

variables: Any = load("variables")


def row(value: object) -> dict[str, Any]:
    (found,) = variables.listed({"x": value})["rows"]
    assert found.pop("name") == "x"
    return found


def test_tensors() -> None:
    x = pt.zeros((3, 4)).realize()
    expected = {"value": "(3, 4)", "type": "float32 tensor", "device": "cpu", "bytes": 48}
    assert row(x) == expected | {"note": ""}
    assert row(x[1:]) == expected | {"value": "(2, 4)", "bytes": 32, "note": "view"}
    assert row(pt.zeros(5))["value"] == "(5,)"
    assert row(pt.zeros((2, 3, 4)))["value"] == "(2, 3, 4)"
    assert row(pt.tensor(True)) == expected | {
        "value": "scalar", "type": "bool tensor", "bytes": 1, "note": "",
    }  # fmt: skip


def test_nothing_is_computed() -> None:
    x = pt.zeros(2**22) + 1
    for _ in range(2):
        assert row(x)["note"] == "not computed yet"
    x.realize()
    assert row(x)["note"] == ""


@pytest.mark.parametrize(
    "make",
    [
        lambda: pt.linspace(0, 1, 50),
        lambda: pt.arange(12).reshape(3, 4) * 2,
        lambda: (pt.arange(12) * 2).reshape(3, 4),
        lambda: pt.eye(3),
        lambda: pt.rand(3, 4).mT,
        lambda: pt.flip(pt.rand(5)),
        lambda: pt.rand(2, 3) @ pt.rand(3, 4),
        lambda: pt.rand(3000) * 2,
    ],
)
def test_what_was_printed_is_computed(make: Callable[[], pt.Tensor]) -> None:
    x = make()
    repr(x)
    assert row(x)["note"] in ("", "view")


@pytest.mark.parametrize(
    "make", [lambda: pt.zeros((3, 4)), lambda: pt.arange(2**22), lambda: pt.ones(2**22)]
)
def test_constants_and_index_ranges_need_no_computing(make: Callable[[], pt.Tensor]) -> None:
    assert row(make())["note"] == ""


def test_a_view_of_a_changed_tensor() -> None:
    x = pt.zeros(8)
    y = x[2:]
    x[...] = 1
    assert row(y)["value"] == "(6,)"


def test_arrays() -> None:
    a = np.zeros((2, 3), "int16")
    assert row(a) == {
        "value": "(2, 3)", "type": "int16 array", "device": "NumPy", "bytes": 12, "note": "",
    }  # fmt: skip
    assert row(a[:1])["note"] == "view"
    assert row(np.array(1.5))["value"] == "scalar"
    assert row(np.float64(1.5))["value"] == "1.5"
    assert row(np.float32(1.5))["type"] == "float32 scalar"
    assert row(np.datetime64("2020-01-01"))["bytes"] == 8


def test_plain_values() -> None:
    for value, text in [(42, "42"), ("a\nb", "'a\\nb'"), (None, "None"), ([1, 2], "2 items")]:
        found = row(value)
        assert (found["value"], found["type"]) == (text, type(value).__name__)
        assert found["bytes"] == sys.getsizeof(value)
    assert len(row("x" * 100_000)["value"]) < 300


def test_no_code_of_others_runs() -> None:
    def fail(*_: object) -> NoReturn:
        raise AssertionError

    names = ("__len__", "__repr__", "__sizeof__", "__getattribute__", "__class__", "__eq__")
    members: dict[str, Any] = dict.fromkeys(names, fail) | {"__class__": property(fail)}
    for base in (object, list, dict, str, int):
        found = row(type("Odd", (base,), members)())
        assert found == {"value": "", "type": "Odd", "device": "", "bytes": None, "note": ""}
    array = np.zeros(3).view(type("Odd", (np.ndarray,), {"__getattribute__": fail, "shape": 1}))
    assert row(array)["value"] == "(3,)"


def test_other_names_are_left_out() -> None:
    class Model:
        def __call__(self) -> None: ...

    names: dict[str, Any] = {
        "math": math, "sin": math.sin, "f": lambda: 1, "Model": Model, "_x": 1, "__name__": "m",
        "p": functools.partial(int), "a": np.add, "s": np.sum, "pt_sum": pt.sum, "dtype": pt.int8,
    }  # fmt: skip
    assert variables.listed(names) == {"rows": [], "more": 0}
    assert row(Model())["type"] == "Model"


def test_order_and_number() -> None:
    found = variables.listed({"b": 1, "A": 2, "a1": 3})
    assert [each["name"] for each in found["rows"]] == ["A", "a1", "b"]
    found = variables.listed({f"x{i:03}": i for i in range(250)})
    assert (len(found["rows"]), found["more"]) == (200, 50)
