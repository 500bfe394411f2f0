"""Bin rules and edge cases of histograms, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import py_tensor as pt

Array = numpy.ndarray[Any, Any]
RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")
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
    sizes = (1, 2, 60) if rule == "stone" else (1, 2, 3, int(rng.integers(4, 400)))
    for n in sizes:
        for array in samples(rng, n)[:: 3 if rule == "stone" else 1]:
            x = pt.tensor(array, device=device)
            wide = array if array.dtype.kind == "f" else array.astype(np.int64)
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
        (lambda: pt.histogram(x, "none"), ValueError, "histogram: 'none' is not"),
        (lambda: pt.histogram(x, "auto", weights=x), TypeError, "histogram: the rule 'auto'"),
        (lambda: pt.histogram(nan, "fd"), ValueError, r"histogram: .*\[nan, nan\] is not finite"),
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
        (np.array([4.875] * 3 + [4.891] * 2, np.float16), 4),
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
    array = np.array([-3.1e38, -2e38, 1, 1, 2e38, 3.2e38], np.float32)
    limits = (-3.1e38, 3.1e38)
    counts, edges = pt.histogram(pt.tensor(array, device=device), 4, limits)
    expected, ends = np.histogram(array.astype(float), 4, limits)
    assert counts.tolist() == expected.tolist()
    np.testing.assert_array_equal(edges.numpy(), ends.astype(np.float32))


INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32")


def drawn(rng: numpy.random.Generator, dtype: str, n: int) -> Array:
    """Draw numbers of a grid, and integers near the ends of the dtype and above 2**24."""
    if dtype in FLOATS:
        steps = rng.integers(-50, 100, n) / rng.choice([10, 20, 100, 3])
        return rng.choice([steps, rng.standard_normal(n)]).astype(dtype)
    if dtype == "bool":
        return rng.random(n) < 0.5
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    width = int(rng.choice([1, 3, 20, 100]))
    starts = [low, high - width, rng.integers(low, high, dtype=dtype), 2**24, -50, 2**53]
    start = min(max(int(rng.choice(np.array(starts, object))), low), high - width)
    if rng.random() < 0.2:
        return rng.integers(low, high, n, dtype=dtype, endpoint=True)
    return (np.array(start, dtype) + rng.integers(0, width, n).astype(dtype)).astype(dtype)


def limits_of(rng: numpy.random.Generator, array: Array) -> tuple[float, float] | None:
    least, most = float(array.min()), float(array.max())
    choices = [None, None, (0, 1), (-1.5, 2.25), (least - 0.3, most + 1.7), (least, most)]
    return choices[int(rng.integers(len(choices)))]


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_bins_are_those_of_numpy(
    dtype: str, device: str, few: Any, rng: numpy.random.Generator
) -> None:
    """Counts are exact. Edges are NumPy's, rounded to float32 if they are float64."""
    for number, _ in enumerate(few(range(12), 3)):
        array = drawn(rng, dtype, int(rng.choice([1, 2, 100])))
        x = pt.tensor(array, dtype=dtype, device=device)
        counts = [1, 3, 10, 20, 49, *([] if dtype == "float16" else [1000])]
        count, limits = int(rng.choice(counts)), limits_of(rng, array)
        if not number:  # always valid
            count, limits = 1, (0, 1)
        what = f"{count} bins of {limits} of {array!r}"
        try:
            expected, ends = np.histogram(array, count, limits)
        except (ValueError, IndexError):  # too many bins; or NumPy's fault beyond 2**53
            continue
        counts, edges = pt.histogram(x, count, limits)
        if dtype == "float16" and limits is not None:  # rounded to float32 first
            twice = np.linspace(*limits, count + 1).astype(np.float32).astype(np.float16)
            if limits[0] < limits[1] and not np.array_equal(twice, ends):
                continue
        np.testing.assert_array_equal(counts.numpy(), expected, err_msg=what)
        np.testing.assert_array_equal(edges.numpy(), ends.astype(edges.numpy().dtype), what)
        got = pt.histogram(x, count, limits, density=True)[0]
        expected = np.histogram(array, count, limits, density=True)[0]
        np.testing.assert_allclose(got.numpy(), expected, 1e-3 if dtype == "float16" else 2e-6)
        if dtype in INTEGERS and dtype != "bool" and abs(array.astype(float)).max() < 2**50:
            given = np.sort(array[:20].astype(float) + rng.choice([0, 0.5, -0.3]))
            got = pt.histogram(x, given)[0]
            np.testing.assert_array_equal(got.numpy(), np.histogram(array, given)[0], what)


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "float32"])
def test_bins_of_points_are_those_of_numpy(
    dtype: str, device: str, few: Any, rng: numpy.random.Generator
) -> None:
    for _ in few(range(6), 2):
        arrays = [drawn(rng, dtype, 60) for _ in range(2)]
        bins = [int(n) for n in rng.choice([1, 3, 10, 20], 2)]
        limits = [limits_of(rng, array) for array in arrays]
        x, y = points = [pt.tensor(array, dtype=dtype, device=device) for array in arrays]
        got = pt.histogram2d(x, y, bins, limits)
        expected = np.histogram2d(*arrays, bins, limits)
        also = pt.histogramdd(points, bins, limits)[0]
        what = str((bins, limits, arrays))
        for mine, theirs in zip((*got, also), (*expected, expected[0]), strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs.astype(np.float32), what)


@pytest.mark.computes
def test_data_on_a_grid(device: str) -> None:
    """Hundredths in 20 bins: 5 in each, although 30 of 101 edges in float32 steps are not exact."""
    array = (np.arange(100) / 100).astype(np.float32)
    x = pt.tensor(array, device=device)
    assert pt.histogram(x, 20, (0, 1))[0].tolist() == [5] * 20
    numbers = pt.tensor([2**24, 2**24 + 1, 2**24 + 2], dtype="int32", device=device)
    assert pt.histogram(numbers, 2)[0].tolist() == [1, 2]


def ranges_of(rng: numpy.random.Generator, array: Array, x: Any) -> list[tuple[Any, Any]]:
    """Return ranges of each kind, for NumPy and for py_tensor."""
    ends = [0, 0.1, -0.3, 1, 2.25, -1.5, 0.7, 3, 60, -49.9]
    low, high = sorted(rng.choice(ends, 2, replace=False).tolist())
    singles, halves = (tuple(dtype([low, high])) for dtype in (np.float32, np.float16))
    ranges = [(low, high), singles, halves, (low, low), (singles[0],) * 2]
    if array.dtype != np.float16:  # NumPy rounds only `high` to float16 there
        ranges.append((np.float32(low), high))
    ranges += [np.array(singles), (-2, -0.0), (-0.0, 2), (1e20, 2e20), (-1e19, -1e18)]
    if array.dtype.kind == "b":  # NumPy does not subtract bools
        least = most = None
    else:
        least, most = (array.min(), array.max()), (x.min(), x.max())
    single = pt.tensor(np.array(singles), device=x.device)
    of_tensors = [(singles, single), (singles, tuple(single)), (least, most), (None, None)]
    return [(given, given) for given in ranges] + of_tensors


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [*INTEGERS[:7], *FLOATS])
@pytest.mark.parametrize("has_rule", [False, True])
def test_ranges_and_rules_are_those_of_numpy(
    dtype: str, has_rule: bool, device: str, few: Any, rng: numpy.random.Generator
) -> None:
    """Edges between float32 or float16 ends are computed in that dtype."""
    array = drawn(rng, dtype, int(rng.choice([1, 3, 10, 40])))
    rules = ["rice", "sqrt", "sturges"]
    if dtype in INTEGERS and has_rule:
        array = (array % 100).astype(dtype)
    if dtype != "float16":  # other widths are sums of many roundings there
        rules += ["doane", "fd", "scott"]
    x = pt.tensor(array, dtype=dtype, device=device)
    for theirs, mine in [((0, 3), (0, 3)), *few(ranges_of(rng, array, x), 4)]:
        bins: Any = str(rng.choice(rules)) if has_rule else int(rng.choice([1, 3, 4, 10, 50]))
        what = f"{bins!r} bins of {theirs} of {array!r}"
        try:
            expected, ends = np.histogram(array, bins, theirs)
        except (TypeError, ValueError):  # too many bins, or a difference of bools
            continue
        if has_rule and len(ends) > 1000:
            continue  # deviations are float32 numbers; the last digit changes such a count
        counts, edges = pt.histogram(x, bins, mine)
        found = edges.numpy()
        rounded = ends.astype(np.float32).astype(found.dtype)
        if not np.array_equal(found, rounded):
            # Between Python numbers, float16 edges are rounded to float32 first.
            assert dtype == ends.dtype.name == "float16", what
            np.testing.assert_allclose(found, ends, 1e-3, err_msg=what)
            continue
        np.testing.assert_array_equal(counts.numpy(), expected, err_msg=what)


def test_a_rule_of_float16_numbers_divides_in_float16(device: str) -> None:
    """The divisor of the range is rounded first, which changes the number of bins."""
    array = np.array([0.1222, 0.1309], np.float16)
    expected = np.histogram_bin_edges(array, "rice", (0, 3)).size
    x = pt.tensor(array, dtype="float16", device=device)
    assert expected == pt.histogram_bin_edges(x, "rice", (0, 3)).size == 873


@pytest.mark.parametrize("rule", ["sturges", "sqrt", "rice", "auto"])
def test_rules_of_the_widest_range(rule: str, device: str) -> None:
    """The range of int64 elements may exceed what int64 holds."""
    array = np.array([-(2**63), 2**63 - 1])
    counts = pt.histogram(pt.tensor(array, dtype="int64", device=device), rule)[0]
    assert counts.tolist() == np.histogram(array, rule)[0].tolist()


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "float16", "float32"])
def test_negative_zero_as_an_edge(dtype: str, device: str) -> None:
    array = np.array([0, 1, 2]).astype(dtype)
    if dtype != "uint32":
        array = np.append(array, -array)
    x = pt.tensor(array, dtype=dtype, device=device)
    for bins, limits in [(-np.arange(5.0)[::-1], None), ([-0.0, 1.0], None), (2, (-1, -0.0))]:
        expected = np.histogram(array, bins, limits)[0]
        np.testing.assert_array_equal(pt.histogram(x, bins, limits)[0].numpy(), expected)
        limits = limits and [limits] * 2
        pair = bins if isinstance(bins, int) else [bins, bins]
        expected = np.histogram2d(array, array, pair, limits)[0]
        np.testing.assert_array_equal(pt.histogram2d(x, x, pair, limits)[0].numpy(), expected)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", INTEGERS)
def test_ranges_beyond_the_integers(dtype: str, device: str) -> None:
    array = np.array([0, 1, 1]).astype(dtype)
    x = pt.tensor(array, dtype=dtype, device=device)
    for limits in [(1e19, 2e19), (-2e300, -1e300), (1e50, 1e50 + 3e38), (0.2, 0.7), (-1e20, 1e20)]:
        expected = np.histogram(array.astype(float), 4, limits)[0]
        np.testing.assert_array_equal(pt.histogram(x, 4, limits)[0].numpy(), expected, str(limits))


@pytest.mark.computes
def test_density_between_large_integers(device: str) -> None:
    edges = [907123292, 907123295, 907123396]
    x = pt.tensor(edges[:2], dtype="int32", device=device)
    density = pt.histogram(x, edges, density=True)[0].numpy()
    np.testing.assert_allclose(density, np.histogram(edges[:2], edges, density=True)[0], 1e-6)
