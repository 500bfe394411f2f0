"""`pt.polynomial`: functions of coefficients that rise, and the class, beside NumPy's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import py_tensor as pt

np: Any = numpy
Array = numpy.ndarray[Any, Any]
Call = Callable[..., Any]

CALLS: dict[str, list[Call]] = {  # of the functions, two vectors of coefficients, and places
    "polyadd": [lambda p, a, b, x: p.polyadd(a, b), lambda p, a, b, x: p.polyadd(b, [1, 2, 0, 0])],
    "polysub": [lambda p, a, b, x: p.polysub(a, b), lambda p, a, b, x: p.polysub(a, a)],
    "polymul": [lambda p, a, b, x: p.polymul(a, b), lambda p, a, b, x: p.polymul(a, 2)],
    "polymulx": [lambda p, a, b, x: p.polymulx(a)],
    "polydiv": [lambda p, a, b, x: p.polydiv(a, b), lambda p, a, b, x: p.polydiv(b, a)],
    "polypow": [lambda p, a, b, x, n=n: p.polypow(b, n) for n in (0, 1, 3)],
    "polytrim": [
        lambda p, a, b, x: p.polytrim([1, 0.1, 2, 0.1, 0]),
        lambda p, a, b, x: p.polytrim([1, 0.1, 2, 0.1, 0], 0.5),
        lambda p, a, b, x: p.polytrim([0.1, 0], 0.5),
    ],
    "polyline": [lambda p, a, b, x: p.polyline(1.5, 2), lambda p, a, b, x: p.polyline(3, 0)],
    "polyder": [
        *(lambda p, a, b, x, m=m: p.polyder(a, m) for m in (0, 1, 2, 9)),
        lambda p, a, b, x: p.polyder(a, scl=3),
        lambda p, a, b, x: p.polyder(x, axis=1),
    ],
    "polyint": [
        *(lambda p, a, b, x, m=m: p.polyint(a, m) for m in (0, 1, 2)),
        lambda p, a, b, x: p.polyint(a, 2, [3, -1], lbnd=0.5, scl=2),
        lambda p, a, b, x: p.polyint(a, 2, [3]),
        lambda p, a, b, x: p.polyint(a, k=4),
        lambda p, a, b, x: p.polyint(x, axis=1),
    ],
    "polyval": [
        lambda p, a, b, x: p.polyval(x, a),
        lambda p, a, b, x: p.polyval(x[0], x),
        lambda p, a, b, x: p.polyval(x[0], x, tensor=False),
        lambda p, a, b, x: p.polyval(2, a),
    ],
    "polyval2d": [lambda p, a, b, x: p.polyval2d(x[0], x[1], x)],
    "polyval3d": [lambda p, a, b, x: p.polyval3d(x[0], x[1], x[0], x.reshape(2, 2, -1))],
    "polygrid2d": [lambda p, a, b, x: p.polygrid2d(x[0], b, x)],
    "polygrid3d": [lambda p, a, b, x: p.polygrid3d(x[0], b, a, x.reshape(2, 2, -1))],
    "polyvalfromroots": [
        lambda p, a, b, x: p.polyvalfromroots(x, b),
        lambda p, a, b, x: p.polyvalfromroots(x[0], x),
        lambda p, a, b, x: p.polyvalfromroots(x[0], x, tensor=False),
    ],
    "polyvander": [lambda p, a, b, x: p.polyvander(x, 3), lambda p, a, b, x: p.polyvander(2, 0)],
    "polyvander2d": [lambda p, a, b, x: p.polyvander2d(x[0], x[1], [1, 2])],
    "polyvander3d": [lambda p, a, b, x: p.polyvander3d(x[0], x[1], x[0], [1, 2, 1])],
    "polyfromroots": [
        lambda p, a, b, x: p.polyfromroots(b),
        lambda p, a, b, x: p.polyfromroots([]),
        lambda p, a, b, x: p.polyfromroots([1j, -1j, 2]),
    ],
    "polyroots": [
        lambda p, a, b, x: p.polyroots([2, -3, 1]),
        lambda p, a, b, x: p.polyroots([1, 0, 1]),
        lambda p, a, b, x: p.polyroots([5]),
    ],
    "polycompanion": [lambda p, a, b, x: p.polycompanion(a), lambda p, a, b, x: p.polycompanion(b)],
    "polyfit": [
        lambda p, a, b, x: p.polyfit(x[0], x[1], 1),
        lambda p, a, b, x: p.polyfit(x[0], x.T, 1, w=[1, 2, 1, 0.5]),
    ],
}


def close(got: Any, expected: Any, what: str) -> None:
    if isinstance(expected, tuple):
        for number, pair in enumerate(zip(got, expected, strict=True)):
            close(*pair, f"{what}, part {number}")
        return
    assert got.shape == np.shape(expected), f"{what}: {got.shape}, not {np.shape(expected)}"
    assert got.dtype.kind == np.asarray(expected).dtype.kind, f"{what}: {got.dtype}"
    np.testing.assert_allclose(got.numpy(), expected, rtol=3e-4, atol=3e-4, err_msg=what)


def operands(rng: numpy.random.Generator) -> tuple[Array, ...]:
    places = np.cumsum(rng.uniform(0.3, 1, (2, 4)), 1)
    return rng.uniform(1, 2, 4), rng.uniform(1, 2, 3), places


AT_ONCE = {"polyline"}  # which computes nothing
GIVEN = [n if n in AT_ONCE else pytest.param(n, marks=pytest.mark.computes) for n in CALLS]


@pytest.mark.parametrize("name", GIVEN)
def test_functions(name: str, device: str, rng: numpy.random.Generator) -> None:
    arrays = operands(rng)
    narrow = [a.astype(np.float32) for a in arrays]
    tensors = [pt.tensor(a, device=device) for a in narrow]
    for number, call in enumerate(CALLS[name]):
        expected = call(np.polynomial.polynomial, *(a.astype(np.float64) for a in narrow))
        if name == "polyline":
            expected = np.asarray(expected)
        close(call(pt.polynomial.polynomial, *tensors), expected, f"{name} {number}")


def test_every_function_is_called_and_has_numpys_signature() -> None:
    theirs = np.polynomial.polynomial
    names = {n for n in dir(theirs) if n.startswith("poly") and callable(getattr(theirs, n))}
    assert names == CALLS.keys()
    for name in names:
        mine, numpys = (
            inspect.signature(getattr(module, name)).parameters
            for module in (pt.polynomial.polynomial, theirs)
        )
        assert [*mine] == [*numpys], name


@pytest.mark.computes
def test_full_fit(device: str, rng: numpy.random.Generator) -> None:
    _, _, (x, y) = operands(rng)
    found, more = pt.polynomial.polynomial.polyfit(
        pt.tensor(x, device=device), pt.tensor(y, device=device), 1, full=True
    )
    expected, theirs = np.polynomial.polynomial.polyfit(x, y, 1, full=True)
    close(found, expected, "the polynomial")
    close(more[0], theirs[0], "what is left")
    assert more[1] == theirs[1]


PAIR = [1, 2]
OPERATIONS: dict[str, Call] = {
    "value": lambda p, q: p(2.0),
    "values": lambda p, q: p([0.5, -1]),
    "composed": lambda p, q: p(q),
    "sum": lambda p, q: (p + q, p + 1, 1 + p, p + PAIR),
    "difference": lambda p, q: (p - q, 1 - p, -p, +p),
    "product": lambda p, q: (p * q, p * 2, 2 * p, [1, 1] * p),
    "power": lambda p, q: (q**2, q**0),
    "quotient": lambda p, q: (p / 2, p // q, p % q, *divmod(p, q), [1, 2, 1, 5] // q, [1, 2] % q),
    "calculus": lambda p, q: (p.deriv(), q.deriv(2), p.integ(), q.integ(2, [1, 2], 0.5)),
    "same": lambda p, q: (p == p, p == q, p != q, p == 1, p.has_samecoef(q)),
    "alike": lambda p, q: (p.has_samedomain(q), p.has_samewindow(q), p.has_sametype(q)),
    "degree": lambda p, q: (p.degree(), len(q)),
    "mapped": lambda p, q: tuple(float(v) for v in p.mapparms()),
    "fewer": lambda p, q: (p.trim(1.5), p.truncate(2), q.cutdeg(1), p.copy()),
    "line": lambda p, q: p.linspace(5),
    "over a domain": lambda p, q: p.linspace(3, [0, 1]),
    "converted": lambda p, q: (p.convert(), q.convert(domain=[0, 2]), type(p).cast(q, [0, 3])),
    "zeros": lambda p, q: (q * [-1, 1] * [-2, 1]).roots()[-1].real.round(3) * 1,
}
MADE: list[Call] = [
    lambda p: p([1.5, 2, 3]),
    lambda p: p([1, 0, -2], domain=[0, 4], window=[-1, 1]),
    lambda p: p([0.5, 1, 1], [1, 3], [0, 1], symbol="t"),
    lambda p: p.basis(3),
    lambda p: p.identity([0, 2]),
    lambda p: p.fromroots([1, 2, 4]),
    lambda p: p.fromroots([1, 2, 4], None),
    lambda p: p.fit([0.0, 1, 2, 4], [1.0, 3, 2, 5], 2),
    lambda p: p.fit([0.0, 1, 2, 4], [1.0, 3, 2, 5], 1, domain=[0, 8], w=[1, 2, 1, 1]),
    lambda p: p.fit([0.0, 1, 2, 4], [1.0, 3, 2, 5], 1, domain=[]),
    lambda p: p.fit([1.0, 1], [2.0, 4], 0),
]


def alike(mine: Any, numpys: Any, what: str) -> None:
    if isinstance(numpys, tuple):
        for number, pair in enumerate(zip(mine, numpys, strict=True)):
            alike(*pair, f"{what}, part {number}")
    elif isinstance(numpys, np.polynomial.Polynomial):
        assert isinstance(mine, pt.polynomial.Polynomial), what
        close(mine.coef, numpys.coef, what)
        for name in ("domain", "window"):
            np.testing.assert_allclose(getattr(mine, name), getattr(numpys, name), 1e-5)
        assert mine.symbol == numpys.symbol
    else:
        np.testing.assert_allclose(np.asarray(mine), numpys, 3e-4, 3e-4, err_msg=what)


@pytest.mark.parametrize("number", range(len(MADE)))
def test_objects(number: int) -> None:
    mine, numpys = (MADE[number](m.polynomial.Polynomial) for m in (pt, np))
    alike(mine, numpys, f"polynomial {number}")
    assert repr(mine)[:10] == repr(numpys)[:10]
    assert len(str(mine).split("+")) == len(str(numpys).split("+"))
    others = [
        m.polynomial.Polynomial([2, -1, 3.5], list(p.domain), list(p.window), p.symbol)
        for m, p in ((pt, mine), (np, numpys))
    ]
    for name, call in OPERATIONS.items():
        what = f"{name} of polynomial {number}"
        alike(call(mine, others[0]), call(numpys, others[1]), what)


def test_text() -> None:
    for coefficients in ([1, 2, 3], [-0.5], [0, 0, 1.25, 0, -7]):
        mine, numpys = (m.polynomial.Polynomial(coefficients, symbol="z") for m in (pt, np))
        assert str(mine) == str(numpys)
        assert repr(mine) == repr(numpys)
        assert f"{mine:ascii}" == f"{numpys:ascii}"


def test_what_is_refused() -> None:
    module: Any = pt.polynomial
    p, f = module.Polynomial([1, 2]), module.polynomial
    refused: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: p + pt.polynomial.Polynomial([1], [0, 2]), TypeError, "domains, windows"),
        (lambda: p / p, TypeError, "divides by numbers"),
        (lambda: p.convert(kind=int), TypeError, "only basis"),
        (lambda: p.truncate(0), ValueError, "size is 0"),
        (lambda: p.basis(-1), ValueError, "degree is -1"),
        (lambda: pt.polynomial.Polynomial([1], [1, 2, 3]), ValueError, "domain has two ends"),
        (lambda: pt.polynomial.Polynomial([]).deriv(), ValueError, "coefficients"),
        (lambda: f.polyadd([[1]], 1), pt.ShapeError, "^polyadd: coefficients are a vector"),
        (lambda: f.polydiv([1, 2], [0, 0]), ZeroDivisionError, "^polydiv: the divisor is 0"),
        (lambda: f.polypow([1], -1), ValueError, "^polypow: the power is -1"),
        (lambda: f.polypow([1, 1], 5, 4), ValueError, "^polypow: the power is 5"),
        (lambda: f.polytrim([1], -1), ValueError, "^polytrim: tol is -1"),
        (lambda: f.polyder([1], -1), ValueError, "^polyder: m is"),
        (lambda: f.polyint([1], 1, [1, 2]), ValueError, "^polyint: 2 constants for 1"),
        (lambda: f.polyvander([1.0], -1), ValueError, "^polyvander: the degree is -1"),
        (lambda: f.polyfromroots([[1.0]]), pt.ShapeError, "^polyfromroots: takes a vector"),
        (lambda: f.polycompanion([1]), ValueError, "^polycompanion: takes two"),
        (lambda: f.polyfit([1.0, 2], [1.0, 2], [0, 1]), TypeError, "list"),
        (lambda: module.Chebyshev, AttributeError, r"np\.polynomial\.Chebyshev"),
    ]
    for call, error, words in refused:
        with pytest.raises(error, match=words):
            call()


UTILITIES: list[Call] = [
    lambda p, x: p.as_series([[1, 2, 0], [0, 0], [3.5]]),
    lambda p, x: p.as_series([[1, 2, 0], [0, 0]], trim=False),
    lambda p, x: p.as_series(x),
    lambda p, x: p.as_series(x[0]),
    lambda p, x: p.as_series([[1j, 0], [2.0]]),
    lambda p, x: p.as_series([]),
    lambda p, x: [p.trimseq(c) for c in (x[0], x[1], [1, 0, 0], [0, 0], [0], [1, 2])],
    lambda p, x: [p.trimcoef(c) for c in (x[0], x[1], [0, 0, 0], [1, 0])],
    lambda p, x: p.trimcoef([1, 0.1, 2, 0.1, 0], 0.5),
    lambda p, x: [p.getdomain(c) for c in (x[0], [3, -2, 1], [1 + 2j, 0 - 1j], 4)],
    lambda p, x: [*p.mapparms((-1, 1), (0, 4)), *p.mapparms((0, 2), (1j, 3))],
    lambda p, x: [p.mapdomain(v, (-1, 1), (0, 4)) for v in (x, [-1.0, 0, 1], 0.5)],
]


@pytest.mark.parametrize("number", range(len(UTILITIES)))
def test_utilities(number: int, device: str) -> None:
    array = np.array([[1.5, 0, 2, 0], [0, 0, 0, 0]], np.float32)
    mine = UTILITIES[number](pt.polynomial.polyutils, pt.tensor(array, device=device))
    numpys = UTILITIES[number](np.polynomial.polyutils, array)
    if isinstance(numpys, numpy.ndarray):
        mine, numpys = [mine], [numpys]
    assert len(mine) == len(numpys)
    for got, expected in zip(mine, numpys, strict=True):
        assert np.shape(got) == np.shape(expected)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


def test_what_utilities_refuse() -> None:
    p = pt.polynomial.polyutils
    for call, words in (
        (lambda: p.as_series([[True]]), "^as_series: .*bool"),
        (lambda: p.as_series([[]]), r"^as_series: .*\(0,\)"),
        (lambda: p.as_series(pt.ones((2, 2, 2))), r"^as_series: .*\(2, 2\)"),
        (lambda: p.trimcoef([1], -1), "tol is -1"),
        (lambda: p.trimcoef([[1, 2]]), r"\(1, 2\)"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
