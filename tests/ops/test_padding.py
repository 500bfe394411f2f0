"""`pad` in every mode, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from numpy.lib import NumpyVersion

import py_tensor as pt
from tests.ops.compare import same

Array = numpy.ndarray[Any, Any]
np: Any = numpy  # its annotations do not accept a str for a mode
DTYPES = ("float32", "int32", "uint8", "int8", "bool", "complex64")
LENGTHS: list[Any] = [None, 1, 2, (1, 3), [[2, 1], [1, 2]], [[1], [3]]]
VALUES: list[Any] = [0, 3, (1, 5), [(2, 7), (0, 1)], [[4], [6]]]


def operand(rng: numpy.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    numbers = rng.integers(0, 9, shape).astype(dtype)
    return numbers + np.float32(0.25) if dtype == "float32" else numbers


def agree(device: str, array: Array, widths: Any, mode: str, **options: Any) -> None:
    what = f"{mode} of {array.dtype} {array.shape} by {widths}, {options}"
    got = pt.pad(pt.tensor(array, device=device), widths, mode, **options)
    expected = np.pad(array, widths, mode, **options)
    assert got.shape == expected.shape, what
    assert got.numpy().dtype == expected.dtype, what
    np.testing.assert_allclose(got.numpy(), expected, rtol=3e-7, atol=1e-6, err_msg=what)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_mode(dtype: str, device: str, rng: numpy.random.Generator) -> None:
    for shape in ((1, 1), (1, 4), (2, 5), (3, 2)):
        array = operand(rng, shape, dtype)
        widths = [tuple(int(n) for n in rng.integers(0, 12, 2)) for _ in shape]
        for mode in ("edge", "wrap"):
            agree(device, array, widths, mode)
        for mode in ("reflect", "symmetric"):
            for kind in ("even", "odd"):
                agree(device, array, widths, mode, reflect_type=kind)
        for mode in ("maximum", "mean", "median", "minimum"):
            if dtype != "complex64" or mode == "mean":
                length = LENGTHS[rng.integers(len(LENGTHS))]
                agree(device, array, widths, mode, stat_length=length)
        for mode, option in (("linear_ramp", "end_values"), ("constant", "constant_values")):
            agree(device, array, widths, mode, **{option: VALUES[rng.integers(len(VALUES))]})


@pytest.mark.computes
@pytest.mark.parametrize("mode", ["maximum", "minimum", "mean", "median"])
def test_statistics_of_integers(mode: str, device: str, rng: numpy.random.Generator) -> None:
    """NumPy's mean and median are exact as far as float64 holds the sums."""
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        ends = np.iinfo(dtype)
        low, high = ends.min, ends.max
        if mode in ("mean", "median"):
            low, high = max(low, -(2**50)), min(high, 2**50)
        for least, most in ((low, high), (max(low, -2), 2)):
            shape = tuple(int(n) for n in rng.integers(1, 5, 2))
            array = rng.integers(least, most, shape, dtype, endpoint=True)
            length = LENGTHS[rng.integers(len(LENGTHS))]
            x = pt.tensor(array, dtype=dtype, device=device)
            got = pt.pad(x, (1, 2), mode, stat_length=length)
            expected = np.pad(array, (1, 2), mode, stat_length=length)
            same(got, expected, f"{mode} of {dtype} {array.tolist()} by {length}")


@pytest.mark.computes
def test_statistics_of_large_integers(device: str) -> None:
    """Sums beyond 64 bits, where NumPy rounds to float64."""
    ends = np.iinfo("int64")
    x = pt.tensor([ends.max, ends.max - 3, ends.max - 3], dtype="int64", device=device)
    assert pt.pad(x, 1, "mean")[0].item() == ends.max - 2
    assert pt.pad(x[:2], 1, "median")[0].item() == ends.max - 1  # half to even
    assert pt.pad(-x, 1, "mean")[0].item() == -(ends.max - 2)
    assert pt.pad(x, 1, constant_values=(2**40, -3)).tolist() == [2**40, *x.tolist(), -3]


@pytest.mark.computes
def test_forms_of_widths(device: str, rng: numpy.random.Generator) -> None:
    array = operand(rng, (2, 3), "float32")
    forms: list[Any] = [2, (1, 2), [[1, 2]], [[1], [2]], ((1, 0), (2, 3)), np.array([[1, 2]])]
    by_axis: list[Any] = [{1: (1, 2)}, {-1: 2}, {0: 1, 1: (0, 3)}, {}]
    takes_them = NumpyVersion(numpy.__version__) >= "2.3.0"  # the page's NumPy is older
    for widths in (*forms, *(by_axis if takes_them else ())):
        for mode in ("constant", "mean", "reflect"):
            agree(device, array, widths, mode)
    for widths in (0, ((0, 0),) * 2):
        for mode in ("constant", "edge", "mean"):
            x = pt.tensor(array, device=device)
            got = pt.pad(x, widths, mode)
            got[0, 0] = 99
            assert x[0, 0].item() == array[0, 0], "a copy"
    assert pt.pad(pt.tensor(array, device=device), 2, "empty").shape == (6, 7)
    same(pt.pad(pt.tensor(3.0, device=device), 1, "edge"), np.pad(np.float32(3), 1, "edge"), "0-d")


@pytest.mark.computes
def test_values_are_converted(device: str) -> None:
    x = pt.tensor([1, 2], device=device)
    for value in (0.5, -1.5, True, np.float64(7.9)):
        expected = np.pad(np.array([1, 2], np.int32), 1, constant_values=value)
        same(pt.pad(x, 1, constant_values=value), expected, f"{value}")
    same(pt.pad(x, 1, constant_values=x.max()), np.array([2, 1, 2, 2], np.int32), "a tensor")
    same(pt.pad(x == 1, 1, constant_values=7), np.array([1, 1, 0, 1], bool), "bools")


@pytest.mark.computes
def test_special_values(device: str) -> None:
    array = np.array([np.inf, -0.0, np.nan, -np.inf, 2], np.float32)
    with np.errstate(invalid="ignore"):
        for mode in ("maximum", "minimum", "mean", "median"):
            agree(device, array, (2, 1), mode, stat_length=2)
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            agree(device, array, (3, 7), mode)
        agree(device, array, (3, 4), "reflect", reflect_type="odd")
    agree(device, np.zeros((0, 2), np.float32), ((1, 2), (0, 1)), "constant", constant_values=3)
    agree(device, np.zeros((0, 2), np.float32), ((0, 0), (1, 1)), "edge")
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="empty slice"):
        agree(device, array, 1, "mean", stat_length=0)


@pytest.mark.computes
def test_a_function_writes(device: str, rng: numpy.random.Generator) -> None:
    def write(vector: Any, width: tuple[int, int], axis: int, options: dict[str, Any]) -> None:
        before, after = width
        vector[:before] = options["value"] + axis
        if after:
            vector[-after:] = vector[before]

    array = operand(rng, (2, 3), "float32")
    for widths in (2, ((1, 0), (2, 3))):
        got = pt.pad(pt.tensor(array, device=device), widths, write, value=10)
        same(got, np.pad(array, widths, write, value=10), f"by {widths}")


def test_invalid_calls(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    wrong: list[tuple[Any, str, dict[str, Any], type[Exception], str]] = [
        (1, "none", {}, ValueError, "mode must be one of empty, .* not 'none'"),
        (1, "edge", {"constant_values": 1}, ValueError, ".* 'edge' does not take constant_values"),
        (1, "constant", {"value": 1}, ValueError, "mode 'constant' does not take value"),
        (1, "reflect", {"reflect_type": "none"}, ValueError, "reflect_type must .*'none'"),
        (1, "maximum", {"stat_length": 0}, ValueError, "mode 'maximum' is undefined"),
        (1, "mean", {"stat_length": -1}, ValueError, "mode 'mean' is undefined"),
        (1, "mean", {"stat_length": 1.5}, TypeError, "stat_length must be an int"),
        (1, "linear_ramp", {"end_values": [1, 2, 3]}, pt.ShapeError, r"end_values \[1, 2, 3\]"),
        (1.5, "edge", {}, TypeError, "takes pairs of ints"),
        (-1, "edge", {}, pt.ShapeError, "negative width"),
        ({2: 1}, "edge", {}, pt.AxisError, "axis 2"),
    ]
    for widths, mode, options, error, match in wrong:
        with pytest.raises(error, match=f"^pad: {match}"):
            pt.pad(x, widths, mode, **options)
