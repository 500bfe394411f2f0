"""Methods and weights of quantiles, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from numpy.lib import NumpyVersion

import py_tensor as pt

np: Any = numpy  # its annotations do not accept a str for a method
STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")


@pytest.mark.computes
@pytest.mark.parametrize("method", STEPS)
@pytest.mark.filterwarnings("ignore")
def test_methods_of_steps(method: str, device: str, rng: numpy.random.Generator) -> None:
    """Positions are between elements, and at elements, where the methods differ."""
    for n in (1, 2, 5, 10, 20):
        wide = rng.integers(0, 99, (2, n))
        special = np.where(rng.random((2, n)) < 0.2, np.nan, wide)
        special[0, 0], special[-1, -1] = np.inf, -np.inf
        for array in (wide.astype(np.int32), special.astype(np.float32)):
            x = pt.tensor(array, device=device)
            shares = [k / 20 for k in range(21)]
            for name in ("quantile", "nanquantile"):
                got = getattr(pt, name)(x, shares, axis=1, method=method, keepdims=True)
                reference = array.astype(np.float64)
                expected = getattr(np, name)(reference, shares, 1, None, False, method, True)
                what = f"{name} of {array.tolist()}"
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, err_msg=what)
            if method != "averaged_inverted_cdf":
                assert got.dtype is x.dtype


ELEMENTS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
BETWEEN = (
    *("linear", "weibull", "hazen", "median_unbiased", "normal_unbiased", "midpoint"),
    *("interpolated_inverted_cdf", "averaged_inverted_cdf"),
)
DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32"),
)


def array_of(dtype: str, shape: tuple[int, ...], rng: Any) -> Any:
    if "float" in dtype:
        numbers = rng.uniform(-100, 100, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.3, np.nan, numbers).astype(dtype)
    ends: Any = [0, 1] if dtype == "bool" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    return rng.integers(*ends, shape, dtype, endpoint=True)


@pytest.mark.computes
@pytest.mark.parametrize("method", [*ELEMENTS, *BETWEEN, "median"])
@pytest.mark.filterwarnings("ignore")
def test_dtypes(method: str, device: str, rng: numpy.random.Generator) -> None:
    """The reference is in float64, because NumPy's differences of integers wrap around."""
    for dtype in DTYPES if device == "cpu" else ("float16", rng.choice(DTYPES)):
        array = array_of(dtype, (int(rng.integers(1, 9)), 3), rng)
        reference = array if method in ELEMENTS and dtype != "float16" else array.astype("f8")
        shares = [float(rng.random()), int(rng.integers(0, 11)) / 10]
        for name in ("nanquantile", "nanpercentile", "quantile"):
            what = f"{name} by {method} of {dtype} {array.tolist()}, {shares}"
            x = pt.tensor(array, dtype=dtype, device=device)
            if method == "median":
                median = "median" if name == "quantile" else "nanmedian"
                got, expected = getattr(pt, median)(x, 0), getattr(np, median)(reference, 0)
            else:
                q = np.multiply(shares, 100 if "percent" in name else 1).tolist()
                got = getattr(pt, name)(x, q, 0, method=method)
                expected = getattr(np, name)(reference, q, 0, method=method)
            assert got.dtype == (dtype if method in ELEMENTS or "float" in dtype else "float32")
            if method in ELEMENTS:
                np.testing.assert_array_equal(got.numpy(), expected, what)
            else:
                most = np.nanmax(np.abs(array.astype("f8")), initial=0)
                error = 1e-3 if dtype == "float16" else 1e-6
                np.testing.assert_allclose(got.numpy(), expected, error, error * most, True, what)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", [*ELEMENTS, *BETWEEN])
def test_no_elements_are_nan(method: str, device: str) -> None:
    for dtype in DTYPES:
        for shape, axis in (((0, 3), 0), ((0, 3), 1), ((3, 0), 0), ((0,), None), ((2, 0), (0, 1))):
            x = pt.zeros(shape, dtype, device=device)
            for keep in (False, True):
                options = {"axis": axis, "method": method, "keepdims": keep}
                expected = np.nanquantile(np.zeros(shape, dtype), 0.5, **options)
                got = pt.nanquantile(x, 0.5, **options)
                assert got.dtype == (dtype if "float" in dtype else "float32")
                np.testing.assert_array_equal(got.numpy(), expected, f"{dtype} {shape}, {options}")
                several = pt.nanpercentile(x, [10, 20, 30], **options)
                assert several.shape == (3, *expected.shape)
                assert several.dtype is got.dtype


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    NumpyVersion(numpy.__version__) < "2.3.0",
    reason="NumPy of the page takes weights along several axes in another order",
)
def test_weights(device: str, rng: numpy.random.Generator) -> None:
    shares = [0.0, 0.25, 0.5, 0.9, 1.0]
    for _ in range(3):
        shape = tuple(int(n) for n in rng.integers(1, 8, 2))
        floats = np.where(rng.random(shape) < 0.2, np.nan, rng.standard_normal(shape))
        for array in (floats.astype(np.float32), rng.integers(0, 9, shape, dtype=np.int32)):
            x = pt.tensor(array, device=device)
            for axis, sizes in (
                *((None, shape), (0, shape), (1, shape[1:]), (0, shape[:1])),
                *(((0, 1), shape), ((1, 0), shape[::-1])),
            ):
                weights = rng.integers(0, 4, sizes)
                weights[(0,) * weights.ndim] = 1
                for name, factor in (("quantile", 1), ("percentile", 100), ("nanquantile", 1)):
                    options = {"axis": axis, "weights": weights, "method": "inverted_cdf"}
                    q = [factor * share for share in shares]
                    what = f"{name} of {array.tolist()}, {options}"
                    try:
                        expected = getattr(np, name)(array, q, **options)
                    except IndexError:
                        continue  # NumPy's own result for weights of one axis and NaN
                    except ValueError:
                        with pytest.raises(ValueError, match=f"^{name}: weights must be"):
                            getattr(pt, name)(x, q, **options)
                        continue
                    got = getattr(pt, name)(x, q, **options)
                    assert got.dtype is x.dtype, what
                    np.testing.assert_array_equal(got.numpy(), expected, err_msg=what)
                    kept = getattr(pt, name)(x, q[2], **options, keepdims=True)
                    again = getattr(np, name)(array, q[2], **options, keepdims=True)
                    np.testing.assert_array_equal(kept.numpy(), again, err_msg=what)


@pytest.mark.computes
def test_out_and_overwriting(device: str, rng: numpy.random.Generator) -> None:
    array = rng.standard_normal((3, 4)).astype(np.float32)
    x = pt.tensor(array, device=device)
    for name, q in (
        ("quantile", [0.5]),
        ("nanpercentile", [30]),
        ("median", []),
        ("nanmedian", []),
    ):
        out = pt.zeros(4, device=device)
        assert getattr(pt, name)(x, *q, axis=0, out=out, overwrite_input=True) is out
        expected = getattr(np, name)(array.astype(np.float64), *q, axis=0)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-6, err_msg=name)
        np.testing.assert_array_equal(x.numpy(), array)


def test_weights_that_are_refused(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: pt.quantile(x, 0.5, weights=x), ValueError, "quantile: .*not 'linear'"),
        *(
            (
                lambda w=w: pt.percentile(x, 50, 1, weights=w, method="inverted_cdf"),
                ValueError,
                "percentile: weights must be nonnegative",
            )
            for w in ([1, -1, 2], [0, 0, 0], [1, float("nan"), 1], [1, float("inf"), 1])
        ),
        (
            lambda: pt.nanquantile(x, 0.5, 1, weights=[1, 2], method="inverted_cdf"),
            pt.ShapeError,
            r"nanquantile: weights of shape \(2,\)",
        ),
    ]
    for call, error, match in wrong:
        with pytest.raises(error, match=f"^{match}"):
            call()
    assert pt.average(pt.ones((2, 3), device=device), (1, 0), weights=np.ones((3, 2))).item() == 1
