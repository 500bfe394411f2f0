"""Polynomials against NumPy's: arithmetic, roots, fits, and printing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.test_compositions import compare

Array = Any
Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, list[Call]] = {
    "polyadd": [
        lambda np, a, b: np.polyadd(a, b),
        lambda np, a, b: np.polyadd(3, a),
        lambda np, a, b: np.polyadd([1, 2], [3, 4, 5]),
    ],
    "polysub": [lambda np, a, b: np.polysub(b, a), lambda np, a, b: np.polysub([1, 2], 3)],
    "polymul": [
        lambda np, a, b: np.polymul(a, b),
        lambda np, a, b: np.polymul(a * 0, b),
        lambda np, a, b: np.polymul([0, 0, 1, 2], [0, 3]),
    ],
    "polydiv": [
        lambda np, a, b: np.polydiv(a, b),
        lambda np, a, b: np.polydiv(b, a),
        lambda np, a, b: np.polydiv([1, 3, 2], [1, 1]),
    ],
    "polyder": [
        lambda np, a, b: np.polyder(a),
        lambda np, a, b: np.polyder(a, 2),
        lambda np, a, b: np.polyder(a, 0),
        lambda np, a, b: np.polyder(b, m=9),
    ],
    "polyint": [
        lambda np, a, b: np.polyint(a),
        lambda np, a, b: np.polyint(a, 3, 2),
        lambda np, a, b: np.polyint(a, 2, k=[1, -1]),
        lambda np, a, b: np.polyint([3, 2, 1]),
    ],
    "roots": [
        lambda np, a, b: np.roots([1, -3, 2]),
        lambda np, a, b: np.roots([0, 1, 0, 1, 0, 0]),
        lambda np, a, b: np.roots([0, 0]),
        lambda np, a, b: np.roots([]),
    ],
    "poly": [
        lambda np, a, b: np.poly(a),
        lambda np, a, b: np.poly(b),
        lambda np, a, b: np.poly([1j, -1j, 2]),
        lambda np, a, b: np.poly([1j]),
        lambda np, a, b: np.poly([[1, 2], [3, 4]]),
        lambda np, a, b: np.poly([[0, 1], [-1, 0]]),
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_against_numpy(name: str, device: str, rng: np.random.Generator) -> None:
    operands = {
        "floats": (rng.standard_normal(5), rng.uniform(1, 2, 3)),
        "zeros in front": (np.array([0.0, 0, 1.5, 0, -2]), np.array([0.0, 2, 1])),
        "complex": (np.array([1 + 2j, -1, 0.5j]), np.array([2 - 1j, 3])),
        "integers": (rng.integers(1, 5, 4), rng.integers(1, 5, 2)),
    }
    for kind, arrays in operands.items():
        narrow = [a.astype({"f": "f4", "c": "c8", "i": "i4"}[a.dtype.kind]) for a in arrays]
        tensors = [pt.tensor(a, device=device) for a in narrow]
        wide = [a.astype(b.dtype) for a, b in zip(narrow, arrays, strict=True)]
        for number, call in enumerate(CALLS[name]):
            if name == "polydiv" and kind == "zeros in front" and number != 2:
                continue  # a division by 0
            compare_numbers(call(pt, *tensors), call(np, *wide), f"{name} {number} of {kind}")


def compare_numbers(mine: Any, numpys: Any, what: str) -> None:
    """Like `compare`, with complex64 in place of complex128."""
    narrow = {"complex128": "complex64"}
    if isinstance(numpys, np.ndarray) and numpys.dtype.name in narrow:
        numpys = numpys.astype(narrow[numpys.dtype.name])
    if isinstance(numpys, tuple):
        for number, pair in enumerate(zip(mine, numpys, strict=True)):
            compare_numbers(*pair, f"{what}, part {number}")
        return
    compare(mine, numpys, what)


POLYNOMIALS: list[Callable[[Any], Any]] = [
    lambda np: np.poly1d([1, 2, 3]),
    lambda np: np.poly1d([0, 0, 1.5, 0, -2.25]),
    lambda np: np.poly1d([2, 1], True),
    lambda np: np.poly1d([1j, 2, 1 - 2j, 0, 3 + 1j]),
    lambda np: np.poly1d([k / 2 for k in range(1, 22)], variable="z"),
    lambda np: np.poly1d([-1, 0, 1, -1, 0]),
    lambda np: np.poly1d([0]),
    lambda np: np.poly1d(7),
]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda p, q: p(2),
    "values": lambda p, q: p([0.5, -1]),
    "composed": lambda p, q: p(q).coeffs,
    "sum": lambda p, q: (p + q, p + 1, 1 + p),
    "difference": lambda p, q: (p - q, 1 - p, -p, +p),
    "product": lambda p, q: (p * q, p * 2, 2 * p, [1, 1] * p),
    "power": lambda p, q: (q**2, q**0),
    "quotient": lambda p, q: (p / 2, *(p / q), *([1, 2, 1, 5] / q)),
    "calculus": lambda p, q: (p.deriv(), q.deriv(2), p.integ(), q.integ(2, [1, 2])),
    "same": lambda p, q: (p == p, p == q, p != q, p == 1),
    "order": lambda p, q: (p.order, p.o, len(q)),
    "powers": lambda p, q: (float(q[0].real), float(q[q.order].real), q[99] == 0, q[-1] == 0),
    "coefficients": lambda p, q: (p.c, p.coef, p.coefficients),
}


@pytest.mark.parametrize("first", range(len(POLYNOMIALS)))
def test_objects(first: int) -> None:
    given = [POLYNOMIALS[first], lambda np: np.poly1d([2, -1, 3])]
    mine, numpys = ([f(np) for f in given] for np in (pt, np_))
    for name, call in OPERATIONS.items():
        alike(call(*mine), call(*numpys), f"{name} of polynomial {first}")
    assert str(mine[0]) == str(numpys[0])
    assert repr(mine[1]) == repr(numpys[1])


np_ = np


def alike(mine: Any, numpys: Any, what: str) -> None:
    if isinstance(numpys, tuple):
        assert len(mine) == len(numpys), what
        for number, pair in enumerate(zip(mine, numpys, strict=True)):
            alike(*pair, f"{what}, part {number}")
        return
    assert isinstance(mine, pt.poly1d) == isinstance(numpys, np.poly1d), what
    expected = np.asarray(numpys)
    got = np.asarray(mine)
    assert got.shape == expected.shape, what
    np.testing.assert_allclose(got, expected, 1e-4, 1e-5, err_msg=what)


def test_assigned_powers() -> None:
    for module in (np, pt):
        p: Any = module.poly1d([1.0, 2])
        p[0], p[3] = 7, 5
        assert [float(c) for c in p] == [5, 0, 1, 7]
        with pytest.raises(ValueError, match="power"):
            p[-1] = 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_constants_of_integration(dtype: str) -> None:
    """As in NumPy, products with integers widen float16."""
    p = pt.tensor([1, 2], dtype=dtype, device="cpu")
    wide = "float64" if dtype == "float64" else "float32"
    y = pt.polyint(p, 1, 1e6 + 0.1)
    assert y.dtype == pt.polyder(p).dtype == wide
    np.testing.assert_array_equal(y.numpy(), np.polyint([1, 2], 1, 1e6 + 0.1).astype(wide))
    assert pt.polyint(p, 0).dtype == dtype


def test_integer_coefficients_wrap() -> None:
    p = pt.tensor([2**30, 1, 1], device="cpu")
    assert pt.polyadd(p, p).tolist() == [-(2**31), 2, 2]
    assert pt.polyder(p).tolist() == [-(2**31), 1]


@pytest.mark.computes
@pytest.mark.parametrize("offset", [0, 2000])
def test_fits(offset: int, device: str, rng: np.random.Generator) -> None:
    """Values are accurate to 1e-5 of the largest term, also for points far from 0."""
    a = np.sort(rng.uniform(-10, 10, 60)).astype(np.float32) + np.float32(offset)
    b = (0.3 * (a - offset) ** 2 - 2 * (a - offset) + rng.standard_normal(60)).astype(np.float32)
    weights = rng.uniform(0.5, 2, 60).astype(np.float32)
    x, y, w = (pt.tensor(v, device=device) for v in (a, b, weights))
    wide = [v.astype(np.float64) for v in (a, b, weights)]
    for degree in (0, 1, 2, 3) if not offset else (0, 1, 2):
        for mine, numpys in (
            (pt.polyfit(x, y, degree), np.polyfit(wide[0], wide[1], degree)),
            (pt.polyfit(x, y, degree, w=w), np.polyfit(wide[0], wide[1], degree, w=wide[2])),
        ):
            assert mine.shape == numpys.shape
            terms = np.abs(numpys) * np.max(np.abs(wide[0])) ** np.arange(degree, -1, -1.0)
            scale = np.max(np.abs(wide[0])) ** np.arange(degree, -1, -1.0)
            np.testing.assert_allclose(mine.numpy() * scale, numpys * scale, 0, 2e-5 * terms.max())


@pytest.mark.computes
def test_additional_results_of_a_fit(device: str, rng: np.random.Generator) -> None:
    a = rng.uniform(-2, 2, 40).astype(np.float32)
    b = rng.standard_normal((40, 2)).astype(np.float32)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    wide = a.astype(np.float64), b.astype(np.float64)
    expected = np.polyfit(*wide, 3, full=True)
    found = pt.polyfit(x, y, 3, full=True)
    for mine, numpys in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_allclose(np.asarray(mine), numpys, 2e-4, 2e-5)
    assert found[4] == 40 * 2.0**-23
    for cov in (True, "unscaled"):
        for columns in (slice(None), 0):
            expected = np.polyfit(wide[0], wide[1][:, columns], 3, cov=cov)
            found = pt.polyfit(x, y[:, columns], 3, cov=cov)
            for mine, numpys in zip(found, expected, strict=True):
                assert mine.shape == numpys.shape
                np.testing.assert_allclose(mine.numpy(), numpys, 1e-3, 1e-5)
    assert pt.polyfit(x[:2], y[:2], 1, full=True)[1].shape == (0,)


@pytest.mark.computes
@pytest.mark.parametrize("weights", [None, [1, 2, 0.5, 1, 3]])
def test_fits_of_too_few_points(
    weights: Any, device: str, rng: np.random.Generator, recwarn: pytest.WarningsRecorder
) -> None:
    """The shortest of all equally good fits, and on the cpu device a warning."""
    for count in (1, 2, 3):
        apart = rng.permutation([-1.7, -0.6, 0.5, 1.6])[:count]
        places = (apart + rng.uniform(-0.2, 0.2, count)).astype(np.float32)
        a = np.append(places, rng.choice(places, 5 - count))
        b = rng.standard_normal((5, 2)).astype(np.float32)
        x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
        for degree in (2, 5):
            wide = a.astype(np.float64), b.astype(np.float64), degree
            expected = np.polyfit(*wide, w=weights)
            is_full = count > degree
            recwarn.clear()
            found = pt.polyfit(x, y, degree, w=weights)
            warned = [w for w in recwarn if w.category is pt.RankWarning]
            assert bool(warned) == (device == "cpu" and not is_full)
            np.testing.assert_allclose(found.numpy(), expected, 1e-2, 2e-3)
            theirs = np.polyfit(*wide, w=weights, full=True)
            full = pt.polyfit(x, y, degree, w=weights, full=True)
            assert full[2] == theirs[2] == min(count, degree + 1)
            assert full[1].shape == theirs[1].shape
            np.testing.assert_allclose(full[3].numpy(), theirs[3], 1e-3, 1e-5)
            if device == "cpu" and not is_full:
                with pytest.raises(pt.linalg.LinAlgError, match=r"^polyfit: .*rank"):
                    pt.polyfit(x, y, degree, w=weights, cov="unscaled")


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: pt.polyfit([1, 2], [1, 2], -1), ValueError, "polyfit: deg .*-1"),
        (lambda: pt.polyfit([1, 2], [1, 2, 3], 1), TypeError, r"polyfit: .*\(2,\).*\(3,\)"),
        (lambda: pt.polyfit([], [], 1), TypeError, "polyfit: x of shape"),
        (lambda: pt.polyfit([1, 2], [1, 2], 1, w=[1]), TypeError, "polyfit: weights"),
        (lambda: pt.polyfit([1, 2], [1, 2], 1, cov=True), ValueError, "polyfit: .* 2 points"),
        (lambda: pt.polyder([1, 2], -1), ValueError, "polyder: Order .* positive"),
        (lambda: pt.polyint([1, 2], 3, [1, 2]), ValueError, "polyint: k must be"),
        (lambda: pt.polyadd([1, 2], [[1]]), ValueError, r"polyadd: .*\(1, 1\)"),
        (lambda: pt.poly([[1, 2, 3]]), ValueError, r"poly: .*\(1, 3\)"),
        (lambda: pt.roots([[1, 2, 3]]), ValueError, r"roots: .*\(1, 3\)"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_no_zeros() -> None:
    assert pt.poly([]) == np.poly([]) == 1.0
