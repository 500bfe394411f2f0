"""Bin rules and edge cases of histograms, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from numpy.lib import NumpyVersion

import py_tensor as pt
from py_tensor.ops.histograms import RULES

Array = numpy.ndarray[Any, Any]
np: Any = numpy  # its annotations do not accept a str for a rule


def samples(rng: numpy.random.Generator, n: int) -> list[Array]:
    return [
        rng.standard_normal(n).astype(np.float32),
        rng.exponential(size=n).astype(np.float32),
        np.append(rng.standard_normal(n) / 64, 3).astype(np.float32),
        np.full(n, 3, np.float32),
        rng.integers(0, 50, n, dtype=np.int32),
        rng.random(n) < 0.5,
    ]


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str, device: str, rng: numpy.random.Generator) -> None:
    if rule == "auto" and NumpyVersion(numpy.__version__) < "2.3.0":
        pytest.skip("NumPy of the page has an older rule of that name")
    sizes = (1, 2, 60) if rule == "stone" else (1, 2, 3, int(rng.integers(4, 400)))
    for n in sizes:
        for array in samples(rng, n)[:: 3 if rule == "stone" else 1]:
            x = pt.tensor(array, device=device)
            wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
            for limits in (None,) if rule == "stone" else (None, (-0.75, 2.5)):
                what = f"{rule} of {n} {array.dtype} from {limits}"
                counts, edges = np.histogram(wide, rule, limits)
                mine, found = pt.histogram(x, rule, limits)
                if len(edges) > 1000:  # of two nearly equal numbers; the last digit changes it
                    assert len(found) == pytest.approx(len(edges), 1e-4), what
                    edges = np.linspace(edges[0], edges[-1], len(found))
                assert found.shape == edges.shape, what
                np.testing.assert_allclose(found.numpy(), edges, 1e-5, 1e-5, err_msg=what)
                assert int(mine.sum()) == counts.sum(), what
                got = pt.histogram_bin_edges(x, rule, limits)
                np.testing.assert_array_equal(got.numpy(), found.numpy(), err_msg=what)


@pytest.mark.computes
def test_nothing_has_one_bin(device: str) -> None:
    for rule in RULES:
        counts, edges = pt.histogram(pt.zeros(0, device=device), rule)
        assert (counts.tolist(), edges.tolist()) == ([0], [0.0, 1.0])
    edges = pt.histogram_bin_edges(pt.ones(3, device=device), "auto", (4, 6))
    assert edges.tolist() == [4.0, 6.0]


@pytest.mark.computes
def test_edges(device: str) -> None:
    array = np.array([1, 2, 2, 3, np.nan, np.inf], np.float32)
    x = pt.tensor(array, device=device)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda np, a: np.histogram(a, [2]),
        lambda np, a: np.histogram(a, [2], weights=a),
        lambda np, a: np.histogram(a, [2, 2, 3]),
        lambda np, a: np.histogram(a, [1, 2, 3], weights=a * 1j),
        lambda np, a: np.histogram(a[:4], [7, 8], density=True),
        lambda np, a: np.histogram(a[:4], 2, weights=[1, 2, 3, 4], density=True),
        lambda np, a: np.histogram(a[:4], [1, 2, 4, 8], density=True),
        lambda np, a: np.histogramdd([a[:4], a[:4]], [[2], 3])[0],
    ]
    for number, call in enumerate(calls):
        with np.errstate(invalid="ignore"):
            expected = call(np, array)
        for mine, theirs in zip(call(pt, x), expected, strict=True):
            assert mine.shape == theirs.shape, f"call {number}"
            np.testing.assert_allclose(mine.numpy(), theirs, 1e-6, err_msg=f"call {number}")


def test_invalid_calls(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device)
    nan = pt.tensor([1.0, float("nan")], device=device)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: pt.histogram(x, "none"), ValueError, "histogram: bins .*'none'"),
        (lambda: pt.histogram(x, "auto", weights=x), TypeError, "histogram: the rule 'auto'"),
        (lambda: pt.histogram(nan, "fd"), ValueError, "histogram: .*, nan to nan, is not"),
        (lambda: pt.histogram(x, 2, (0, float("inf"))), ValueError, "histogram: range"),
        (lambda: pt.histogram(x, [1j, 2]), pt.DTypeError, "histogram: .*complex64"),
        (lambda: pt.histogram(x * 1j), pt.DTypeError, "histogram: .*complex64"),
        (lambda: pt.histogram(x, [[1, 2]]), pt.ShapeError, r"histogram: edges .*\(1, 2\)"),
        (lambda: pt.histogram(x, 2.5), TypeError, "histogram: bins must .*2.5"),
        (lambda: pt.histogram2d(x, x, "auto"), TypeError, "histogram2d: bins must be ints"),
        (lambda: pt.histogramdd([x], ["fd"]), TypeError, "histogramdd: bins must be ints"),
    ]
    for call, error, match in wrong:
        with pytest.raises(error, match=f"^{match}"):
            call()


@pytest.mark.computes
def test_elements_at_the_edges_of_bins_of_one_width(
    device: str, rng: numpy.random.Generator
) -> None:
    """They are in the bins found by a search of the edges, although positions are rounded."""
    for count in (1, 3, 10, 1000, 20_000):
        for limits in (None, (-1.5, 2.25), (0.0, 1.0), (-1e-3, 7e4), (-3e20, 1e20)):
            low, high = limits or (-0.7, 0.9)
            drawn = rng.uniform(low, high, 500).astype(np.float32)
            edges = pt.histogram_bin_edges(pt.tensor(drawn, device=device), count, limits).numpy()
            beside = [np.nextafter(edges, np.float32(v)) for v in (-np.inf, np.inf)]
            array = np.concatenate([drawn, edges, *beside, drawn[:3] * 3])
            if limits is None:  # the range stays that of `drawn`
                array = np.clip(array, drawn.min(), drawn.max())
            counts, found = pt.histogram(pt.tensor(array, device=device), count, limits)
            np.testing.assert_array_equal(found.numpy(), edges)
            inside = array[(array >= edges[0]) & (array <= edges[-1])]
            place = np.minimum(np.searchsorted(edges, inside, "right") - 1, count - 1)
            expected = np.bincount(place, minlength=count)
            np.testing.assert_array_equal(counts.numpy(), expected, f"{count} bins of {limits}")


def test_too_many_bins(device: str) -> None:
    """The cpu device raises an error, as NumPy does; on the GPU, edges are equal."""
    array = np.array([1e6, 1e6 + 1], np.float32)
    x = pt.tensor(array, device=device)
    assert pt.histogram(x, 4)[0].tolist() == np.histogram(array, 4)[0].tolist() == [1, 0, 0, 1]
    with pytest.raises(ValueError, match="Too many bins"):
        np.histogram(array, 1000)
    for limits in (None, (1e6, 1e6 + 1)):
        if device == "cpu":
            with pytest.raises(ValueError, match=r"^histogram: .* too few float32 .* 1000 bins"):
                pt.histogram(x, 1000, limits)
        else:
            assert int(pt.histogram(x, 1000, limits)[0].sum()) == 2


@pytest.mark.computes
def test_counts_agree_with_the_edges_returned(device: str, rng: numpy.random.Generator) -> None:
    """Ranges are narrow too, dtypes include float16, and there are too many bins for positions."""
    single = np.float32
    cases: list[tuple[Array, int]] = [
        (np.linspace(-1e-30, 1e-30, 41, dtype=single), 7),
        (np.linspace(-1e38, 1e38, 41, dtype=single), 9),
        (np.array([4.875] * 3 + [4.8789] * 2, np.float16), 5),
        (rng.uniform(-3, 4, 300).astype(np.float16), 11),
        (rng.uniform(0, 1, 100).astype(single), (1 << 20) + 3),
    ]
    if device == "cpu":  # GPUs may flush widths that are subnormal
        cases.append((np.linspace(0, 1e-36, 50, dtype=single), 1000))
    for array, bins in cases:
        counts, edges = pt.histogram(pt.tensor(array, dtype=array.dtype, device=device), bins)
        ends = edges.numpy()
        expected = np.searchsorted(ends, array.astype(single), "right") - 1
        expected[array.astype(single) == ends[-1]] = bins - 1
        found = np.bincount(expected, minlength=bins)
        np.testing.assert_array_equal(counts.numpy(), found, str((array[:3], bins)))


def test_a_range_wider_than_float32(device: str) -> None:
    if device == "cpu":
        with pytest.raises(ValueError, match=r"^histogram: the range .* is wider than float32"):
            pt.histogram(pt.ones(3, device=device), 4, (-3.1e38, 3.1e38))
    else:
        pt.histogram(pt.ones(3, device=device), 4, (-3.1e38, 3.1e38))
