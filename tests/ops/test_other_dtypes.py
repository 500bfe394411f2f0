"""Numbers, targets and ends whose dtype is not that of the elements, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import py_tensor as pt

np: Any = numpy
Array = numpy.ndarray[Any, Any]
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *INTEGERS, "float16", "float32")


def same(got: pt.Tensor, expected: Any, what: str) -> None:
    np.testing.assert_array_equal(got.numpy(), expected, err_msg=what, strict=True)


# -- Targets of reductions, scans and ufuncs ------------------------------------------------------


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract"])
def test_a_ufunc_stores_in_any_dtype(
    name: str, method: str, device: str, rng: numpy.random.Generator
) -> None:
    shape = {"reduce": (), "accumulate": (5,), "reduceat": (2,)}[method]
    places = ([0, 2],) if method == "reduceat" else ()
    pairs = rng.choice(DTYPES, (3, 2))
    for own, target in pairs:
        if name == "subtract" and own == target == "bool":
            continue  # NumPy subtracts no bools
        x, expected = rng.integers(1, 3, 5).astype(own), np.zeros(shape, target)
        getattr(getattr(np, name), method)(x, *places, out=expected)
        result = pt.zeros(shape, target, device=device)
        if name == "subtract" and target[0] in "ub":  # a negative number has no common result
            continue
        function: Any = getattr(getattr(pt, name), method)
        function(pt.tensor(x, dtype=own, device=device), *places, out=result)
        same(result, expected, f"{own} in {target}: {x}")


@pytest.mark.parametrize("target", ["int32", "uint32", "int64", "uint64"])
def test_floats_are_added_in_double_precision_for_integers(target: str) -> None:
    """On the cpu device: a GPU has no float64."""
    x = np.array([2**24, 1, 3, 3], np.float32)
    for name in ("sum", "cumsum", "nancumsum", "trace"):
        a = np.diag(x) if name == "trace" else x
        out = np.zeros(4 if "cum" in name else (), target)
        expected = getattr(np, name)(a, out=out)
        result = pt.zeros(out.shape, target, device="cpu")
        getattr(pt, name)(pt.tensor(a, device="cpu"), out=result)
        same(result, expected, name)


def test_dot_refuses_a_target_that_would_get_wrapped_numbers(device: str) -> None:
    x = pt.full(3, 2048, "int16", device=device)
    with pytest.raises(ValueError, match=r"^dot: out must have dtype int16, not int64"):
        pt.dot(x, x, out=pt.zeros((), "int64", device=device))
    small = pt.tensor([1, 2], dtype="int8", device=device)
    out = pt.zeros((), "int8", device=device)
    assert pt.dot(small, small, out=(out,)) is out
    assert int(out) == 5


# -- Python's numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64", "float32"])
def test_closeness_to_any_int(dtype: str, device: str, rng: numpy.random.Generator) -> None:
    ends = (0, 2**31 - 1) if dtype == "float32" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = np.array([*ends, 1], dtype)
    t = pt.tensor(x, dtype=dtype, device=device)
    numbers = [*ends, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, 2**64 - 1, 2**70]
    for number in rng.permutation(np.array(numbers, object))[:3]:
        # A number beside floats has their dtype.
        rounded = float(np.float32(number)) if dtype == "float32" else float(number)
        expected = np.isclose(x.astype(float), rounded)
        same(pt.isclose(t, number), expected, f"{x} and {number}")
        same(pt.isclose(number, t), np.isclose(rounded, x.astype(float)), f"{number} and {x}")
        assert not pt.array_equal(t, number)  # other shapes


def test_an_array_as_the_tolerance_of_integers(device: str) -> None:
    x = pt.tensor([1, 5, 7, 9], dtype="int64", device=device)
    result = pt.isclose(x, 7, rtol=0, atol=np.array([1.0, 2.0, 0.5, 1.0]))
    assert result.tolist() == [False, True, True, False]


def test_choices_of_a_wide_number(device: str) -> None:
    choices = [np.array([1, 2], "uint32"), np.uint32(4_000_000_000)]
    expected = np.choose([0, 1], choices)
    tensors = [pt.tensor(choices[0], dtype="uint32", device=device), choices[1]]
    same(pt.choose(pt.tensor([0, 1], device=device), tensors), expected, "uint32")


# -- Ends and shares ------------------------------------------------------------------------------


@pytest.mark.parametrize("lib_function", ["linspace", "logspace"])
def test_a_number_beside_a_float16_end(lib_function: str, device: str) -> None:
    a = np.array([0, 1], np.float16)
    x = pt.tensor(a, dtype="float16", device=device)
    for number in (2, 2.3):
        result = getattr(pt, lib_function)(x, number, 6)
        expected = getattr(np, lib_function)(a, number, 6)
        assert result.dtype is pt.float16
        np.testing.assert_allclose(result.numpy(), expected, 3e-3)


@pytest.mark.parametrize("axis", [0, -1])
def test_lists_of_ends(axis: int, device: str) -> None:
    path = pt.geomspace([1, -1], [-1, 1j], 3, device=device).numpy()
    np.testing.assert_allclose(path, np.geomspace([1, -1], [-1, 1j], 3), 1e-5, 1e-5)
    for lows, highs in (([1, 1], 1000), ([0.5, 2], [4, 1]), (1, [10, 100]), ([[1, 2]], [[3, 4]])):
        for name in ("logspace", "geomspace"):
            a, b = (np.log10(v).tolist() if name == "logspace" else v for v in (lows, highs))
            expected = getattr(np, name)(a, b, 7, axis=axis).astype(np.float32)
            result = getattr(pt, name)(a, b, 7, axis=axis, device=device)
            np.testing.assert_array_max_ulp(result.numpy(), expected, 1)
            assert result.shape == expected.shape


def test_complex_numbers_between_real_ends(device: str) -> None:
    result = pt.geomspace(-1, 1, 4, dtype="complex64", device=device)
    expected = np.geomspace(-1, 1, 4, dtype="complex64")
    np.testing.assert_allclose(result.numpy(), expected, 1e-6, 1e-6)
    real = pt.geomspace(1, 1j, 4, dtype="float32", device=device)
    np.testing.assert_allclose(real.numpy(), [1, 3**0.5 / 2, 0.5, 0], 1e-6, 1e-6)


def test_arange_to_a_stop_by_name(device: str) -> None:
    assert pt.arange(stop=3, device=device).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"^arange: needs stop"):
        pt.arange()


def test_shares_of_a_wider_dtype(device: str) -> None:
    x = pt.tensor([1, 2, 4], dtype="float16", device=device)
    for function, share in ((pt.quantile, 0.5), (pt.nanpercentile, 50.0)):
        assert function(x, pt.tensor([share], device=device)).dtype is pt.float32
        assert function(x, share).dtype is pt.float16
    double_share = pt.tensor([0.5], dtype="float64", device="cpu")
    expected = pt.float64 if device == "cpu" else pt.float32
    assert pt.quantile(pt.ones(3, device=device), double_share).dtype is expected


@pytest.mark.parametrize("rule", ["auto", "doane", "fd", "rice", "scott", "sqrt", "sturges"])
def test_bins_of_large_integers(rule: str, device: str, rng: numpy.random.Generator) -> None:
    """Their number depends on the distances between the elements alone."""
    near = rng.integers(0, 20, 30).astype(np.uint64)
    for offset, dtype in (
        (0, "i4"),
        (2**24, "i4"),
        (2**32 - 60, "u4"),
        (2**40, "i8"),
        (2**62, "u8"),
    ):
        a = (near + np.uint64(offset)).astype(dtype)
        count = len(np.histogram_bin_edges(near.astype(np.int64), rule))
        x = pt.tensor(a, dtype=a.dtype.name, device=device)
        assert len(pt.histogram_bin_edges(x, rule)) == count, (offset, dtype, near)
