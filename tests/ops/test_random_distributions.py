"""Each distribution against NumPy's: Kolmogorov-Smirnov distance, chi-square, moments.

The seeds are fixed. A correct sample would fail with a probability below 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import py_tensor as pt

OURS, NUMPYS = 100_000, 400_000  # size of a sample
LEAST = 25  # numbers in each class of a chi-square test
KS = math.sqrt(-math.log(1e-4 / 2) / 2)
NORMAL = 3.891  # normal numbers exceed this, in absolute value, with a probability of 1e-4
UPPER = 3.719  # signed ones exceed this with the same probability
MOST = 2147483520  # of the int32 results


class Case(NamedTuple):
    """A method, its arguments, and whether moments of the fourth order are finite and tame."""

    name: str
    arguments: tuple[Any, ...]
    tame: bool = True


def cases(name: str, *several: tuple[Any, ...], tame: bool = True) -> list[Case]:
    return [Case(name, arguments, tame) for arguments in several]


CONTINUOUS = [
    *cases("random", ()),
    *cases("uniform", (), (-3, 5), (1e-3, 1e-3 + 1e-6), (-3e38, 1e37)),
    *cases("standard_normal", ()),
    *cases("normal", (), (3, 0.1), (-1e6, 100)),
    *cases("lognormal", (), (1, 0.25)),
    *cases("lognormal", (0, 3), tame=False),
    *cases("standard_exponential", ()),
    *cases("exponential", (), (1e-3,)),
    *cases("gumbel", (), (-4, 7)),
    *cases("laplace", (), (2, 0.5)),
    *cases("logistic", (), (2, 0.5)),
    *cases("rayleigh", (), (12.5,)),
    *cases("weibull", (1,), (3.5,), (40,)),
    *cases("weibull", (0.3,), tame=False),
    *cases("pareto", (9,), (1e3,)),
    *cases("pareto", (0.5,), (2.5,), tame=False),
    *cases("power", (0.1,), (1,), (7.5,)),
    *cases("standard_cauchy", (), tame=False),
    *cases("triangular", (0, 0.25, 1), (-5, -5, 3), (1, 4, 4)),
    *cases("wald", (1, 5), (3, 100)),
    *cases("wald", (1, 0.01), (50, 0.5), tame=False),
    *cases("standard_gamma", (0.05,), (0.7,), (1,), (1.5,), (30,), (1e6,)),
    *cases("gamma", (0.3, 4), (5, 0.1)),
    *cases("chisquare", (0.2,), (1,), (2,), (17.5,), (1e5,)),
    *cases("beta", (0.5, 0.5), (2, 3), (0.05, 0.2), (300, 2), (1, 1e4)),
    *cases("f", (10, 40)),
    *cases("f", (1, 1), (3, 4), tame=False),
    *cases("standard_t", (30,)),
    *cases("standard_t", (0.5,), (1,), (3,), tame=False),
    *cases("noncentral_chisquare", (3, 0), (3, 20), (0.5, 2), (1, 1000)),
    *cases("noncentral_f", (3, 50, 5)),
    *cases("noncentral_f", (2, 3, 0), tame=False),
    *cases("vonmises", (0, 0), (1, 0.3), (0, 4), (-3, 50), (0.5, 1e5)),
]
DISCRETE = [
    *cases("poisson", (0,), (0.01,), (1,), (9.9,), (10,), (33.3,), (1e4,), (1e7,), (2e9,)),
    *cases("binomial", (0, 0.5), (1, 0.3), (20, 0.5), (20, 0), (20, 1), (100, 0.09), (100, 0.95)),
    *cases("binomial", (1000, 0.25), (10**6, 1e-6), (10**6, 0.999), (2 * 10**9, 0.4)),
    *cases("geometric", (1,), (0.9,), (0.5,), (0.03,), (1e-6,)),
    *cases("geometric", (1e-9,), tame=False),
    *cases("negative_binomial", (1, 0.5), (0.3, 0.2), (20, 0.7), (5, 1), (1000, 0.01)),
    *cases("hypergeometric", (5, 7, 4), (0, 7, 4), (7, 0, 4), (50, 60, 0), (50, 60, 110)),
    *cases("hypergeometric", (50, 60, 50), (1000, 20, 30), (10**6, 10**7, 10**5), (30, 20, 45)),
    *cases("hypergeometric", (9 * 10**8, 9 * 10**8, 10**9)),
    *cases("logseries", (0,), (0.01,), (0.6,), (0.99,)),
    *cases("logseries", (0.999999,), tame=False),
    *cases("zipf", (7,), (100,)),
    *cases("zipf", (1.2,), (2,), (3.5,), tame=False),
    *cases("integers", (1,), (7,), (-3, 4), (0, 1000), (-(2**31), 2**31)),
]


def name_of(case: Case) -> str:
    return f"{case.name}{case.arguments}"


def flushed(x: Any) -> Any:
    """float32 numbers as float64, with 0 for subnormal ones, which devices may flush."""
    narrow = x.astype(np.float32)
    return np.where(np.abs(narrow) < np.finfo(np.float32).tiny, 0, narrow).astype(np.float64)


def numpys(case: Case, count: int = NUMPYS) -> Any:
    drawn = getattr(np.random.default_rng(2026), case.name)(*case.arguments, size=count)
    if drawn.dtype.kind == "f":
        return flushed(drawn)
    if case.name == "zipf":  # ours redraws larger values
        drawn = drawn[drawn <= MOST]
    return np.minimum(drawn, MOST).astype(np.float64)


def ours(case: Case, count: int = OURS) -> Any:
    drawn = getattr(pt.random.default_rng(11), case.name)(*case.arguments, size=count)
    return flushed(drawn.numpy()) if drawn.dtype is pt.float32 else drawn.numpy().astype(np.float64)


def distance(a: Any, b: Any) -> float:
    """The Kolmogorov-Smirnov distance, relative to its 99.99 % quantile for a correct sample."""
    a, b = np.sort(a), np.sort(b)
    places = np.concatenate([a, b])
    shares = [np.searchsorted(x, places, "right") / x.size for x in (a, b)]
    return float(np.max(np.abs(shares[0] - shares[1]))) / KS / math.sqrt(1 / a.size + 1 / b.size)


def chi_square(a: Any, b: Any) -> float:
    """Return the same for chi-square over integer values, by the Wilson-Hilferty transform."""
    places, which = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = np.stack([np.bincount(x, minlength=places.size) for x in np.split(which, [a.size])])
    # Neighbours are merged into one class until it is large enough; the rest joins the last.
    whole = np.cumsum(counts.sum(0))
    starts = [0]
    for place, reached in enumerate(whole):
        before = whole[starts[-1] - 1] if starts[-1] else 0
        if reached - before >= LEAST and whole[-1] - reached >= LEAST:
            starts.append(place + 1)
    grouped = np.add.reduceat(counts, starts, axis=1)
    if len(starts) == 1:
        return 0.0 if np.array_equal(places[[0, -1]], np.sort(a)[[0, -1]]) else math.inf
    first, second = grouped
    weight = math.sqrt(b.size / a.size)
    found = float(np.sum((first * weight - second / weight) ** 2 / (first + second)))
    k = len(starts) - 1
    return ((found / k) ** (1 / 3) - 1 + 2 / (9 * k)) / math.sqrt(2 / (9 * k)) / UPPER


def moments(a: Any, b: Any) -> float:
    """Return the larger of the differences of means and of variances, in the units above."""
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return 0.0 if a[0] == b[0] else math.inf
    center, scale = b.mean(), b.std()
    a, b = (a - center) / scale, (b - center) / scale
    off = 0.0
    for x, y in ((a, b), (a**2, b**2)):
        deviation = math.sqrt(y.var() * (1 / x.size + 1 / y.size))
        off = max(off, abs(x.mean() - y.mean()) / deviation)
    return off / NORMAL


@pytest.mark.computes
@pytest.mark.parametrize("case", CONTINUOUS, ids=name_of)
def test_continuous(case: Case, device: str) -> None:
    found, expected = ours(case), numpys(case)
    assert distance(found, expected) < 1
    if case.tame:
        assert moments(found, expected) < 1


@pytest.mark.parametrize("case", DISCRETE, ids=name_of)
def test_discrete(case: Case, device: str) -> None:
    found, expected = ours(case), numpys(case)
    assert np.array_equal(found, np.floor(found))
    assert distance(found, expected) < 1
    if np.ptp(expected) < 5000:
        assert chi_square(found, expected) < 1
    if case.tame:
        assert moments(found, expected) < 1


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        (Case("uniform", (0, 1)), Case("uniform", (0, 1.01))),
        (Case("normal", (0, 1)), Case("normal", (0.03, 1))),
        (Case("standard_gamma", (2,)), Case("standard_gamma", (2.04,))),
        (Case("standard_gamma", (0.05,)), Case("standard_gamma", (0.053,))),
        (Case("standard_t", (3,)), Case("standard_t", (2.6,))),
        (Case("vonmises", (0, 4)), Case("vonmises", (0, 4.1))),
        (Case("poisson", (33.3,)), Case("poisson", (33.5,))),
        (Case("poisson", (1e7,)), Case("poisson", (1e7 + 80,))),
        (Case("binomial", (1000, 0.25)), Case("binomial", (1000, 0.251))),
        (Case("hypergeometric", (50, 60, 50)), Case("hypergeometric", (50, 61, 50))),
        (Case("zipf", (2,)), Case("zipf", (2.02,))),
        (Case("integers", (7,)), Case("integers", (0, 7))),
    ],
    ids=str,
)
def test_small_errors_are_detected(case: Case, wrong: Case) -> None:
    """NumPy's numbers with other parameters are detected; so is one integer 5 % too rare."""
    found, expected = numpys(wrong, OURS), numpys(case)
    if case.name == "integers":
        found = np.where((found == 3) & (np.arange(OURS) % 20 == 0), 4, found)
        assert chi_square(found, expected) > 1
    else:
        assert max(distance(found, expected), moments(found, expected)) > 1


# -- Vectors ------------------------------------------------------------------------------------


def each(drawn: Any, expected: Any) -> None:
    """The distribution of each component of a vector, and of sums of adjacent components."""
    assert drawn.shape[1:] == expected.shape[1:]
    for place in range(drawn.shape[-1]):
        for a, b in (
            (drawn[..., place], expected[..., place]),
            (
                drawn[..., place] - 2 * drawn[..., place - 1],
                expected[..., place] - 2 * expected[..., place - 1],
            ),
        ):
            assert distance(a, b) < 1, place
            assert moments(a, b) < 1, place


@pytest.mark.computes
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dirichlet", ([1, 2, 3.5],)),
        ("dirichlet", ([0.1, 0.02, 5],)),
        ("dirichlet", ([0.5, 0],)),
        ("multinomial", (10, [0.2, 0.3, 0.5])),
        ("multinomial", (1000, [0.9, 0.1, 0.0])),
        ("multinomial", (50, [0.2, 0.2, 0.2])),
        ("multinomial", (3, [0.0, 1.0])),
        ("multivariate_hypergeometric", ([5, 10, 15], 8)),
        ("multivariate_hypergeometric", ([5, 0, 3], 8)),
        ("multivariate_hypergeometric", ([1000, 10**6, 300], 1000)),
        ("multivariate_normal", ([1, -2], [[2, 0.6], [0.6, 0.5]])),
        ("multivariate_normal", ([0, 0, 1], [[1, 1, 0], [1, 1, 0], [0, 0, 4]])),
    ],
    ids=str,
)
def test_vectors(name: str, arguments: tuple[Any, ...], device: str) -> None:
    expected = getattr(np.random.default_rng(1), name)(*arguments, size=NUMPYS)
    found = getattr(pt.random.default_rng(2), name)(*arguments, size=OURS).numpy()
    each(flushed(found), flushed(expected))
    if expected.dtype.kind == "i":
        assert np.array_equal(np.unique(found.sum(-1)), np.unique(expected.sum(-1)))


@pytest.mark.computes
def test_counts_and_probabilities_that_broadcast(device: str) -> None:
    drawn = pt.random.default_rng(3)
    n, p = [[5], [600]], [[0.5, 0.5, 0], [0.1, 0.2, 0.7], [1, 0, 0]]
    found = drawn.multinomial(n, p, (4000, 2, 3)).numpy()
    assert found.shape == (4000, 2, 3, 3)
    for i in range(2):
        for j in range(3):
            expected = np.random.default_rng(4).multinomial(n[i][0], p[j], 16_000)
            each(found[:, i, j].astype(float), expected.astype(float))
    assert drawn.multinomial(pt.tensor([3, 4, 5]), [0.5, 0.5]).sum(-1).tolist() == [3, 4, 5]
    assert drawn.multinomial(3, [0.5, 0.5], 0).shape == (0, 2)
    assert drawn.multivariate_hypergeometric([], 0, 3).shape == (3, 0)
    assert drawn.multivariate_hypergeometric([3, 4], 2).tolist() in [[0, 2], [1, 1], [2, 0]]


@pytest.mark.computes
def test_methods_of_the_covariance(device: str) -> None:
    cov = [[2, 0.6], [0.6, 0.5]]
    expected = np.random.default_rng(1).multivariate_normal([0, 0], cov, NUMPYS)
    for method in ("svd", "eigh", "cholesky"):
        drawn = pt.random.default_rng(5)
        each(drawn.multivariate_normal([0, 0], cov, OURS, method=method).numpy(), expected)
        tensor = pt.tensor(cov)
        each(drawn.multivariate_normal([0, 0], tensor, OURS, method=method).numpy(), expected)


# -- Parameters in arrays -----------------------------------------------------------------------

IN_ARRAYS = [
    Case("normal", ([-4, 0.5], [2, 1e-3])),
    Case("uniform", ([-4, 0.5], [2, 1e3])),
    Case("exponential", ([2, 1e-3],)),
    Case("standard_gamma", ([0.3, 30],)),
    Case("gamma", ([0.3, 30], 2)),
    Case("beta", ([0.3, 30], [0.1, 2])),
    Case("standard_t", ([3, 100],)),
    Case("f", ([3, 5], [30, 9])),
    Case("vonmises", ([0, 2], [0.5, 100])),
    Case("weibull", ([0.5, 3],)),
    Case("triangular", ([0, 1], [0.5, 1], [3, 2])),
    Case("wald", ([1, 2], [3, 4])),
    Case("noncentral_chisquare", ([3, 4], [0, 5])),
    Case("poisson", ([0.3, 300],)),
    Case("binomial", ([3, 3000], [0.7, 0.1])),
    Case("geometric", ([0.3, 1],)),
    Case("negative_binomial", ([0.3, 10], [0.5, 0.9])),
    Case("hypergeometric", ([5, 3000], [10, 100], [4, 2000])),
    Case("logseries", ([0.3, 0.9],)),
    Case("zipf", ([1.5, 4],)),
    Case("integers", ([-3, 0], [5, 1000])),
]


@pytest.mark.computes
@pytest.mark.parametrize("case", IN_ARRAYS, ids=name_of)
@pytest.mark.parametrize("form", [pt.tensor, np.array, list], ids=["tensor", "array", "list"])
def test_parameters_in_arrays(case: Case, form: Callable[..., Any], device: str) -> None:
    """Each column has the distribution of its parameters."""
    arguments = [form(v) if isinstance(v, list) else v for v in case.arguments]
    method = getattr(pt.random.default_rng(21), case.name)
    assert method(*arguments).shape == (2,)
    found = method(*arguments, size=(20_000, 2)).numpy().astype(np.float64)
    for column in range(2):
        alone = [v[column] if isinstance(v, list) else v for v in case.arguments]
        expected = numpys(Case(case.name, tuple(alone)), 80_000)
        assert distance(found[:, column], expected) < 1, column
    if isinstance(case.arguments[0], list) and form is pt.tensor:
        column = arguments[0][:, None]
        wide = any(isinstance(v, list) for v in case.arguments[1:])
        assert method(column, *arguments[1:]).shape == (2, 1 + wide)


# -- Devices, and how a program is split ----------------------------------------------------------


@pytest.mark.parametrize("case", [*CONTINUOUS, *DISCRETE], ids=name_of)
def test_all_devices_draw_the_same(case: Case, device: str) -> None:
    """Up to rounding, which may change whether a number is redrawn, or an integer by 1."""
    drawn = getattr(pt.random.default_rng(8), case.name)(*case.arguments, size=4000).numpy()
    before = pt.default_device()
    pt.set_default_device("cpu")
    try:
        numpys = getattr(pt.random.default_rng(8), case.name)(*case.arguments, size=4000).numpy()
    finally:
        pt.set_default_device(before)
    assert drawn.dtype == numpys.dtype
    a, b = drawn.astype(np.float64), numpys.astype(np.float64)
    near = (a == b) | (np.abs(a - b) <= 2e-5 * np.maximum(np.abs(b), np.median(np.abs(b))))
    assert np.count_nonzero(~near) <= 4, (a[~near][:5], b[~near][:5])


@pytest.mark.parametrize("case", [*CONTINUOUS, *DISCRETE], ids=name_of)
def test_the_flushes_do_not_matter(case: Case, device: str) -> None:
    def program(realized: bool) -> list[Any]:
        generator = pt.random.default_rng(5)
        drawn = []
        for size in (7, (3, 5), ()):
            drawn.append(getattr(generator, case.name)(*case.arguments, size=size))
            if realized:
                drawn[-1].realize()
        return [x.numpy() for x in (drawn if realized else drawn[::-1])]

    for a, b in zip(program(True), program(False)[::-1], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.computes
def test_float64_on_the_cpu(device: str) -> None:
    """Both words are used; the webgpu device lacks the dtype and raises."""
    if device != "cpu":
        pt.rand(3).realize()
        with pytest.raises(TypeError, match=r"^random: .*float64"):
            pt.random.default_rng(0).random(3, dtype="float64")
        return
    for name in ("random", "standard_normal", "standard_exponential"):
        drawn = getattr(pt.random.default_rng(6), name)(OURS, dtype="float64").numpy()
        expected = getattr(np.random.default_rng(7), name)(NUMPYS)
        assert drawn.dtype == np.float64
        assert np.unique(drawn).size == OURS
        assert distance(drawn, expected) < 1
        assert moments(drawn, expected) < 1
    scale = np.ones(OURS)
    for name in ("laplace", "logistic", "gumbel", "exponential", "gamma", "standard_t", "vonmises"):
        first = (0,) if name in ("laplace", "logistic", "gumbel", "vonmises") else ()
        parameter = pt.tensor(scale, dtype="float64")
        drawn = getattr(pt.random.default_rng(6), name)(*first, parameter)
        assert drawn.dtype is pt.float64
        expected = getattr(np.random.default_rng(7), name)(*first, 1, size=NUMPYS)
        assert distance(drawn.numpy(), expected) < 1, name


@pytest.mark.computes
def test_tails(device: str) -> None:
    """Rare values among 4 million have the right frequency, and the rarest occur."""
    n = 2**22
    generator = pt.random.default_rng(12)
    z, e = (getattr(generator, name)(n) for name in ("standard_normal", "standard_exponential"))
    for drawn, limit, chance in (
        (abs(z), 4, math.erfc(4 / math.sqrt(2))),
        (abs(z), 4.75, math.erfc(4.75 / math.sqrt(2))),
        (z, 4.5, math.erfc(4.5 / math.sqrt(2)) / 2),
        (e, 9, math.exp(-9)),
        (e, 13, math.exp(-13)),
    ):
        found = int((drawn > limit).sum())
        assert abs(found - n * chance) < NORMAL * math.sqrt(n * chance), (limit, found, n * chance)
    assert 1e-8 < float(e.min()) < 5e-6
    assert float(e.max()) < 22.9  # of 2**-33
    assert float(abs(z).max()) < 6.8
