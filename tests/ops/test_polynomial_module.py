"""`pt.polynomial`: functions of coefficients in increasing order, and classes, against NumPy."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import py_tensor as pt

np: Any = numpy
SINCE_2_5: set[str] = (
    set() if hasattr(np.polynomial.polynomial, "polyvalnd") else {"polyvalnd", "valnd"}
)
"""Names that NumPy has from version 2.5 on, if this NumPy is older."""
Array = numpy.ndarray[Any, Any]
Call = Callable[..., Any]

CALLS: dict[str, list[Call]] = {  # of the functions, two vectors of coefficients, and points
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
    "polyvalnd": [
        lambda p, a, b, x: p.polyvalnd((x[0],), a),
        lambda p, a, b, x: p.polyvalnd((x[0], x[1], x[0]), x.reshape(2, 2, -1)),
    ],
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


GIVEN = [  # NumPy computes all others on the host
    pytest.param(n, marks=pytest.mark.computes) if n == "polyval" else n
    for n in CALLS
    if n not in SINCE_2_5
]


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
    assert names == CALLS.keys() - SINCE_2_5
    for name in names:
        mine, numpys = (
            inspect.signature(getattr(module, name)).parameters
            for module in (pt.polynomial.polynomial, theirs)
        )
        assert [*mine] == [*numpys], name


def test_points_keep_the_precision_of_the_coefficients(rng: numpy.random.Generator) -> None:
    c, x, y = rng.random((3, 3)), rng.random(5), rng.random(5)
    for name, function in (("polynomial", "polyval2d"), ("chebyshev", "chebval2d")):
        mine, theirs = (getattr(getattr(m.polynomial, name), function) for m in (pt, np))
        tensor = pt.tensor(c, dtype="float64", device="cpu")
        for points in ((x, y), (0.1, 0.2)):
            found = mine(*points, tensor).numpy()
            np.testing.assert_allclose(found, theirs(*points, c), rtol=1e-13)


def test_coordinates_of_several_shapes(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device)
    for call in (
        lambda: pt.polynomial.polynomial.polyval2d(x, x[:1], [[1.0, 2.0]]),
        lambda: pt.polynomial.chebyshev.chebval3d(x, x, x[:1], [[[1.0]]]),
    ):
        with pytest.raises(ValueError, match=r"val.d: .* are incompatible"):
            call()


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
            given = np.asarray(getattr(mine, name))
            np.testing.assert_allclose(given, getattr(numpys, name), 1e-5)
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


def test_domains_and_windows_are_tensors() -> None:
    for module in (pt, np):
        p: Any = module.polynomial.Polynomial([1, 2], [0, 4])
        assert (p.domain * 2).tolist() == [0, 8]
        assert p.domain.shape == (2,)
        assert (p.window - 1).tolist() == [-2, 0]
        assert module.polynomial.Laguerre.domain.tolist() == [0, 1]
        p.domain = module.asarray([1, 3])
        assert p(module.asarray(1.0)) == -1
        q = module.polynomial.Polynomial([1, 2], [0.1, 0.9])
        assert q == module.polynomial.Polynomial([1, 2], q.domain)
        assert (q + module.polynomial.Polynomial([1, 1], domain=q.domain)).coef.tolist() == [2, 3]
        assert q != module.polynomial.Polynomial([1, 2], [0.1, 0.9001])
        assert module.polynomial.Polynomial([1], [0, 3_000_000_000]).domain.dtype.kind == "f"


@pytest.mark.parametrize("module", [pt, np])
def test_subclasses_with_a_domain_of_their_own(module: Any) -> None:
    class Shifted(module.polynomial.Polynomial):
        domain = np.array([0.0, 2.0])

    assert float(Shifted([1, 2])(1.0)) == 1
    assert Shifted([1, 2]).domain.tolist() == [0, 2]
    assert Shifted([1, 2], [-1, 1])(1.0) == 3


def test_domains_on_the_device_of_the_coefficients(device: str) -> None:
    p = pt.polynomial.Polynomial(pt.tensor([1.0, 2.0], device=device))
    assert p.domain.device == p.coef.device
    assert (p.coef * p.domain).tolist() == [-1, 2]


def test_classes_in_the_modules_of_their_bases() -> None:
    for name in ("polynomial", "chebyshev", "legendre", "laguerre", "hermite", "hermite_e"):
        module = importlib.import_module(f"py_tensor.polynomial.{name}")
        kind = name.title().replace("_E", "E")
        assert getattr(module, kind) is getattr(pt.polynomial, kind)


def test_numbers_and_pickles() -> None:
    p: Any = pt.polynomial.Polynomial([1.0, 2.0], [0, 4])
    assert p.mapparms() == np.polynomial.Polynomial([1.0, 2.0], [0, 4]).mapparms()
    assert (p / pt.tensor(2.0, device="cpu")).coef.tolist() == [0.5, 1]
    function = pt.polynomial.chebyshev.chebval
    assert pickle.loads(pickle.dumps(function)) is function


def test_values_from_integer_roots_are_floats() -> None:
    given: Any = (100, [1, 2, 3, 4, 5, 6])
    mine, numpys = (m.polynomial.polynomial.polyvalfromroots(*given) for m in (pt, np))
    np.testing.assert_allclose(mine.item(), numpys, 1e-6)


def test_text() -> None:
    for coefficients in ([1, 2, 3], [-0.5], [0, 0, 1.25, 0, -7]):
        mine, numpys = (m.polynomial.Polynomial(coefficients, symbol="z") for m in (pt, np))
        assert str(mine) == str(numpys)
        assert repr(mine) == repr(numpys)
        assert f"{mine:ascii}" == f"{numpys:ascii}"


def test_invalid_calls() -> None:
    module: Any = pt.polynomial
    p, f = module.Polynomial([1, 2]), module.polynomial
    refused: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: p + module.Polynomial([1], [0, 2]), TypeError, "^Polynomial: Domains differ"),
        (lambda: p + module.Polynomial([1], symbol="y"), ValueError, "^Polynomial: .*symbol"),
        (lambda: p / p, TypeError, "unsupported types for true division"),
        (lambda: p + module.Laguerre([1]), TypeError, "^Polynomial: Polynomial types differ"),
        (lambda: p.domain.__setitem__(0, 5), ValueError, "read-only"),
        (lambda: module.chebyshev.chebvander([1.0], -1), ValueError, "^chebvander: deg"),
        (lambda: module.chebyshev.chebother, AttributeError, "chebother"),
        (lambda: p.truncate(0), ValueError, "^Polynomial.truncate: size"),
        (lambda: p.basis(-1), ValueError, "^Polynomial.basis: deg"),
        (lambda: module.Polynomial([1], [1, 2, 3]), ValueError, "domain must be two"),
        (lambda: module.Polynomial([]), ValueError, "^Polynomial: Coefficient array is empty"),
        (lambda: f.polyadd([[1]], 1), ValueError, "^polyadd: Coefficient array is not 1-d"),
        (lambda: f.polydiv([1, 2], [0, 0]), ZeroDivisionError, "^polydiv: the divisor is 0"),
        (lambda: f.polypow([1], -1), ValueError, "^polypow: Power must be"),
        (lambda: f.polypow([1, 1], 5, 4), ValueError, "^polypow: Power is too large"),
        (lambda: f.polytrim([1], -1), ValueError, "^polytrim: tol"),
        (lambda: f.polyder([1], -1), ValueError, "^polyder: The order of derivation"),
        (lambda: f.polyint([1], 1, [1, 2]), ValueError, "^polyint: Too many"),
        (lambda: f.polyvander([1.0], -1), ValueError, "^polyvander: deg"),
        (lambda: f.polyfromroots([[1.0]]), ValueError, "^polyfromroots: .*not 1-d"),
        (lambda: f.polycompanion([1]), ValueError, "^polycompanion: Series must have"),
        (lambda: module.fourier, AttributeError, "no attribute 'fourier'"),
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


def test_invalid_calls_of_utilities() -> None:
    p = pt.polynomial.polyutils
    for call, words in (
        (lambda: p.as_series([[True]]), "^as_series: "),
        (lambda: p.as_series([[]]), "^as_series: .*empty"),
        (lambda: p.as_series(pt.ones((2, 2, 2))), "^as_series: .*not 1-d"),
        (lambda: p.trimcoef([1], -1), "^trimcoef: tol"),
        (lambda: p.trimcoef([[1, 2]]), "^trimcoef: .*not 1-d"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


BASES = {
    "chebyshev": ("cheb", "Chebyshev"),
    "legendre": ("leg", "Legendre"),
    "hermite": ("herm", "Hermite"),
    "hermite_e": ("herme", "HermiteE"),
    "laguerre": ("lag", "Laguerre"),
}
IN_BASES: dict[str, list[Call]] = {  # of the function, two vectors of coefficients, and points
    "add": [lambda f, a, b, x: f(a, b)],
    "companion": [lambda f, a, b, x: f(a)],
    "der": [lambda f, a, b, x: f(a), lambda f, a, b, x: f(x, 1, 2, axis=1)],
    "div": [lambda f, a, b, x: f(a, b)],
    "fit": [
        lambda f, a, b, x: f(x[0], x[1], 1),
        lambda f, a, b, x: f(x[0], x.T, 2, w=[1, 2, 1, 0.5]),
        lambda f, a, b, x: f(x[0], x[1], [0, 2]),
    ],
    "fromroots": [lambda f, a, b, x: f(b), lambda f, a, b, x: f([1j, -1j, 2])],
    "gauss": [lambda f, a, b, x: f(4)],
    "grid2d": [lambda f, a, b, x: f(x[0], b, x)],
    "grid3d": [lambda f, a, b, x: f(x[0], b, a, x.reshape(2, 2, -1))],
    "int": [lambda f, a, b, x: f(a, 2, [3, -1], lbnd=0.5, scl=2)],
    "line": [lambda f, a, b, x: f(1.5, 2.0), lambda f, a, b, x: f(3, 0)],
    "mul": [lambda f, a, b, x: f(a, b)],
    "mulx": [lambda f, a, b, x: f(a)],
    "pow": [lambda f, a, b, x: f(b, 3)],
    "roots": [lambda f, a, b, x: f([1.0, -3, 2]), lambda f, a, b, x: f([5.0, 0, 1])],
    "sub": [lambda f, a, b, x: f(a, b)],
    "trim": [lambda f, a, b, x: f([1, 0.1, 2, 0.1, 0], 0.5)],
    "val": [
        lambda f, a, b, x: f(x, a),
        lambda f, a, b, x: f(x[0], x),
        lambda f, a, b, x: f(x[0], x, tensor=False),
        lambda f, a, b, x: f(2.0, a),
        lambda f, a, b, x: f(x, a[:1]),
        lambda f, a, b, x: f(x, [1.0, 2, 3, 4, 5, 6]),
    ],
    "val2d": [lambda f, a, b, x: f(x[0], x[1], x)],
    "val3d": [lambda f, a, b, x: f(x[0], x[1], x[0], x.reshape(2, 2, -1))],
    "valnd": [
        lambda f, a, b, x: f((x[0],), a),
        lambda f, a, b, x: f((x[0], x[1], x[0]), x.reshape(2, 2, -1)),
    ],
    "vander": [lambda f, a, b, x: f(x, 4), lambda f, a, b, x: f(2.0, 0)],
    "vander2d": [lambda f, a, b, x: f(x[0], x[1], [1, 2])],
    "vander3d": [lambda f, a, b, x: f(x[0], x[1], x[0], [1, 2, 1])],
    "weight": [lambda f, a, b, x: f(x / 4)],
}
ALONE: list[Call] = [  # functions of one basis only, or with another name
    lambda p, a, x: p.chebyshev.cheb2poly(a),
    lambda p, a, x: p.chebyshev.poly2cheb(a),
    lambda p, a, x: p.hermite_e.poly2herme(a),
    lambda p, a, x: p.laguerre.lag2poly(a),
    lambda p, a, x: p.chebyshev.chebpts1(5),
    lambda p, a, x: p.chebyshev.chebpts2(5),
    lambda p, a, x: p.chebyshev.chebinterpolate(lambda v: v**3 - v, 3),
    lambda p, a, x: p.chebyshev.chebinterpolate(lambda v, k: v * k, 2, (3,)),
]


@pytest.mark.computes
@pytest.mark.parametrize("basis", BASES)
def test_functions_of_other_bases(basis: str, device: str, rng: numpy.random.Generator) -> None:
    prefix, _ = BASES[basis]
    mine, theirs = (getattr(m.polynomial, basis) for m in (pt, np))
    narrow = [a.astype(np.float32) for a in operands(rng)]
    tensors = [pt.tensor(a, device=device) for a in narrow]
    names = IN_BASES.keys() - SINCE_2_5
    for name in sorted(names):
        for number, call in enumerate(IN_BASES[name]):
            wide = [a.astype(np.float64) for a in narrow]
            expected = call(getattr(theirs, prefix + name), *wide)
            found = call(getattr(mine, prefix + name), *tensors)
            scale = max(1.0, *(np.abs(v).max() for v in _parts(expected)))
            for got, wanted in zip(_parts(found), _parts(expected), strict=True):
                close(got / scale, np.asarray(wanted) / scale, f"{prefix}{name} {number}")
    others = {n for n in theirs.__all__ if n.startswith(prefix) and callable(getattr(theirs, n))}
    rest = {f"{prefix}{n}" for n in ("2poly", "interpolate", "pts1", "pts2")}
    assert others - rest == {prefix + n for n in names}
    assert {*dir(mine)} == {*theirs.__all__}
    assert getattr(mine, f"{prefix}x") == getattr(theirs, f"{prefix}x").tolist()


def _parts(found: Any) -> Any:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("number", range(len(ALONE)))
def test_functions_of_one_basis(number: int, device: str) -> None:
    a, x = np.array([1.5, -2, 3]), np.array([0.5, 1, -1])
    expected = ALONE[number](np.polynomial, a, x)
    found = ALONE[number](pt.polynomial, *(pt.tensor(v, device=device) for v in (a, x)))
    close(found, expected, f"function {number}")


@pytest.mark.parametrize("basis", BASES)
def test_fits_in_other_bases(basis: str, device: str, recwarn: pytest.WarningsRecorder) -> None:
    prefix, _ = BASES[basis]
    x, y = np.array([1, 2, 1, 2.0]), np.array([1, 3, 2, 4.0])
    mine, theirs = (getattr(getattr(m.polynomial, basis), f"{prefix}fit") for m in (pt, np))
    expected, more = theirs(x, y, 3, full=True)
    tensors = [pt.tensor(v, device=device) for v in (x, y)]
    found, others = mine(*tensors, 3, full=True)
    close(found, expected, "the shortest")
    assert others[0].shape == more[0].shape
    assert others[1] == more[1] == 2
    close(others[2], more[2], "singular values")
    mine(*tensors, 3)
    assert [w.category for w in recwarn] == [pt.RankWarning]


@pytest.mark.parametrize("basis", BASES)
def test_objects_of_other_bases(basis: str) -> None:
    name = BASES[basis][1]
    mine, numpys = (getattr(m.polynomial, name) for m in (pt, np))
    for made in (lambda p: p([1.5, 2, 3]), lambda p: p([1, 0, -2], [0, 4], symbol="t"), *MADE[3:]):
        p, q = made(mine), made(numpys)
        in_basis(p, q, name)
        assert str(p).count(name) == str(q).count(name)
        others = [
            k([2, -1, 3.5], list(v.domain), list(v.window), v.symbol)
            for k, v in ((mine, p), (numpys, q))
        ]
        for what, call in OPERATIONS.items():
            if what in ("zeros", "converted"):
                continue
            in_basis(call(p, others[0]), call(q, others[1]), f"{what} of {name}")
        for kind in ("Polynomial", "Chebyshev", "Laguerre"):
            pair = [getattr(m.polynomial, kind) for m in (pt, np)]
            in_basis(p.convert(kind=pair[0]), q.convert(kind=pair[1]), f"{name} as {kind}")
            in_basis(pair[0].cast(p), pair[1].cast(q), f"{name} cast to {kind}")
    if name == "Chebyshev":
        function: Any = lambda v, k: v**2 + k  # noqa: E731
        given = (function, 3, [0, 2], (5,))
        in_basis(mine.interpolate(*given), numpys.interpolate(*given), "interpolated")


def in_basis(mine: Any, numpys: Any, what: str) -> None:
    """Like `alike`, for objects of any basis."""
    if isinstance(numpys, tuple):
        for number, pair in enumerate(zip(mine, numpys, strict=True)):
            in_basis(*pair, f"{what}, part {number}")
    elif hasattr(numpys, "basis_name"):
        assert type(mine).__name__ == type(numpys).__name__, what
        scale = max(1.0, np.abs(numpys.coef).max())
        close(mine.coef / scale, numpys.coef / scale, what)
        for name in ("domain", "window"):
            given = np.asarray(getattr(mine, name))
            np.testing.assert_allclose(given, getattr(numpys, name), 1e-5)
        assert (mine.symbol, mine.basis_name) == (numpys.symbol, numpys.basis_name)
    else:
        scale = max(1.0, float(np.max(np.abs(numpys))))
        got = np.asarray(mine) / scale
        np.testing.assert_allclose(got, np.asarray(numpys) / scale, 3e-4, 3e-4, err_msg=what)
