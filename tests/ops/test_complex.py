"""Complex numbers against NumPy in complex128: functions, branch cuts, parts, order, products."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import parts_of, same
from tests.ops.operands import LAYOUTS, PAIRS, pool

Array = Any
C64, C128 = np.complex64, np.complex128
EPS = 2.0**-23
LARGEST, SMALLEST = 1e38, 2.0**-126
ORDINARY = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 100.0, 1e30, -1e30]
ENDS = [np.inf, -np.inf, np.nan]

# Functions of one number: NumPy's function, and the error bound in eps of the absolute value.
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "exp": (np.exp, 4),
    "expm1": (np.expm1, 4),
    "log": (np.log, 4),
    "log2": (np.log2, 4),
    "log10": (np.log10, 4),
    "log1p": (np.log1p, 4),
    "sqrt": (np.sqrt, 4),
    "sin": (np.sin, 4),
    "cos": (np.cos, 4),
    "tan": (np.tan, 4),
    "sinh": (np.sinh, 4),
    "cosh": (np.cosh, 4),
    "tanh": (np.tanh, 4),
    "asin": (np.arcsin, 4),
    "acos": (np.arccos, 4),
    "atan": (np.arctan, 4),
    "asinh": (np.arcsinh, 4),
    "acosh": (np.arccosh, 4),
    "atanh": (np.arctanh, 4),
    "square": (np.square, 2),
    "reciprocal": (np.reciprocal, 2),
    "sign": (np.sign, 2),
    "abs": (np.abs, 2),
    "angle": (np.angle, 4),
}
EXACT: dict[str, Callable[[Array], Array]] = {
    "negative": np.negative,
    "positive": np.positive,
    "conjugate": np.conjugate,
    "real": np.real,
    "imag": np.imag,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isreal": np.isreal,
    "iscomplex": np.iscomplex,
    "logical_not": np.logical_not,
    "round": np.round,
    "rint": np.rint,
}
REAL_ONLY = ("floor", "ceil", "trunc", "relu", "sigmoid", "erf", "signbit", "radians", "invert")
REAL_ONLY_PAIRS = ("floor_divide", "remainder", "arctan2", "hypot", "bitwise_and", "left_shift")


def numbers(rng: np.random.Generator, each: int = 200) -> Array:
    """Return numbers of all sizes and angles, near the unit circle, axes, poles and cuts."""
    size, angle = np.exp(rng.uniform(-20, 20, each)), rng.uniform(-np.pi, np.pi, each)
    zero = np.array([0.0, -0.0])[rng.integers(0, 2, (2, each))]
    near = np.empty((2, each), C128)
    near[0].real, near[0].imag = rng.uniform(-3, 3, each), zero[0]
    near[1].real, near[1].imag = zero[1], rng.uniform(-3, 3, each)
    return np.concatenate(
        [
            size * np.exp(1j * angle),
            rng.uniform(-12, 12, each) + 1j * rng.uniform(-12, 12, each),
            rng.uniform(-90, 90, each) + 1j * rng.uniform(-90, 90, each),
            np.exp(1j * angle) * (1 + rng.choice([0, 1e-3, 1e-6, -1e-4], each)),
            rng.choice([-1, 1, 0.5, 2, -3], each) + 1j * rng.choice([1e-5, -1e-5, 1, -1], each),
            *near,
        ]
    ).astype(C64)


def close(got: Any, expected: Array, bound: float, what: str, size: Any = None) -> None:
    """Check that errors are within `bound` eps of `size`, the expected absolute value.

    Values too large for float32 are ignored.
    """
    found = got.numpy()
    kind = np.complexfloating if np.iscomplexobj(expected) else np.floating
    assert np.issubdtype(found.dtype, kind), f"{what}: {found.dtype}"
    assert found.dtype.itemsize == (8 if np.iscomplexobj(expected) else 4), f"{what}: {found.dtype}"
    assert found.shape == np.shape(expected), f"{what}: shape {found.shape}"
    with np.errstate(all="ignore"):
        apart = np.maximum(np.abs(found.astype(C128) - expected) - 2 * SMALLEST, 0)  # if flushed
        apart /= EPS * np.maximum(np.abs(expected) if size is None else size, SMALLEST)
    seen = np.isfinite(expected) & (np.abs(expected) < LARGEST)
    apart = np.where(seen, np.where(np.isnan(apart), np.inf, apart), 0)
    if not apart.size:
        return
    at = np.unravel_index(np.argmax(apart), apart.shape)
    assert apart[at] <= bound, (
        f"{what}, element {at}: {found[at]!r}, not {expected[at]!r}: {apart[at]:.3g} eps"
    )


def grid(*values: float) -> Array:
    """Return every pair of numbers as a complex number."""
    made = np.empty((len(values), len(values)), C64)
    made.real, made.imag = np.array(values)[:, None], values
    return made.reshape(-1)


# -- Functions ------------------------------------------------------------------------------------


@pytest.mark.computes
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, device: str, rng: np.random.Generator) -> None:
    function, bound = FUNCTIONS[name]
    x = numbers(rng)
    with np.errstate(all="ignore"):
        close(getattr(pt, name)(pt.tensor(x, device=device)), function(x.astype(C128)), bound, name)


def agree(got: Array, expected: Array, operand: Array, what: str) -> None:
    """Parts are infinite, NaN or 0 in the same places, except for signs that C99 leaves open.

    If the operand has a NaN, so has the result; C libraries differ in which part.
    """
    wrong = np.isnan(got) != np.isnan(expected)
    given = np.isnan(operand)
    wrong[given] = (np.isnan(got).any(-1) != np.isnan(expected).any(-1))[given, None]
    open_signs = np.isnan(got).any(-1, keepdims=True) | ~np.isfinite(operand)[:, None]
    a, b = (np.where(open_signs, np.abs(v), v) for v in (got, expected))
    wrong |= np.isinf(b) & (a != b)
    wrong |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    if wrong.any():
        at = int(np.argmax(wrong.any(-1)))
        raise AssertionError(f"{what}({operand[at]}): parts {got[at]}, not {expected[at]}")


@pytest.mark.computes
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("abs", "angle")])
def test_special_values(name: str, device: str) -> None:
    """Zeros of both signs, infinities and NaN, as in NumPy."""
    x = grid(*ORDINARY, *ENDS)
    if name == "expm1":  # NumPy computes exp(x) - 1 by parts, which is NaN where exp has a value
        x = x[np.isfinite(x) & (np.abs(x) < 50)]
    if name == "square":  # with a fused multiply-add, inf - inf is unspecified
        x = x[~np.isfinite(x) | (np.abs(x) < 1e20)]
        x = x[~(np.isinf(x.imag) & (np.abs(x.real) > 1e20))]
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name][0](x)
    if name == "expm1":
        expected.real[x == 0] = 0  # as in the standard; NumPy keeps the sign
    got = getattr(pt, name)(pt.tensor(x, device=device)).numpy()
    agree(parts_of(got), parts_of(expected), x, name)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(expected), SMALLEST)
        off = np.abs(parts_of(got) - parts_of(expected)) / size[:, None]
    both = np.isfinite(expected)[:, None] & np.isfinite(parts_of(got))
    assert np.max(np.where(both, off, 0)) < 16 * EPS, name


@pytest.mark.computes
@pytest.mark.parametrize("places", [-3, -1, 0, 1, 2, 5])
def test_rounding(places: int, device: str, rng: np.random.Generator) -> None:
    """Parts are rounded separately, also beside infinities and NaN."""
    special = grid(0.0, -0.0, 2.5, -1.2345, 1e30, np.inf, -np.inf, np.nan)
    drawn = (rng.standard_normal(50) + 1j * rng.standard_normal(50)) * 10.0 ** rng.integers(-3, 6)
    whole = np.concatenate([special, drawn]).astype(C64)
    x = pt.tensor(whole, device=device)
    expected = np.round(whole, places)
    out = pt.zeros(x.shape, "complex64", device=device)
    for got in (pt.round(x, places), pt.around(x, places, out), x.round(places), round(x, places)):
        same(got, expected, f"to {places}")


@pytest.mark.computes
def test_the_hyperbolic_tangent_of_an_infinity(device: str) -> None:
    """The imaginary part has the sign of the operand's, as in the standard."""
    x = grid(np.inf, -np.inf, 1.0, 2.0, -2.0, 30.0)
    x = x[np.isinf(x.real) & np.isfinite(x.imag)]
    found = pt.tanh(pt.tensor(x, device=device)).numpy()
    assert np.array_equal(found, np.sign(x.real))
    assert np.array_equal(np.signbit(found.imag), np.signbit(x.imag))


@pytest.mark.computes
def test_the_sides_of_cuts(device: str) -> None:
    """The sign of a zero determines on which side of a branch cut a number is."""
    cuts: dict[str, tuple[Callable[[Array], Array], bool]] = {
        "sqrt": (np.sqrt, False),
        "log": (np.log, False),
        "asin": (np.arcsin, False),
        "acos": (np.arccos, False),
        "acosh": (np.arccosh, False),
        "atanh": (np.arctanh, False),
        "atan": (np.arctan, True),
        "asinh": (np.arcsinh, True),
    }
    for name, (function, is_imaginary) in cuts.items():
        beside = np.empty((2, 6), C64)
        along, across = np.array([-5, -2, -1.5, 1.5, 2, 5]), np.array([[0.0], [-0.0]])
        first, second = (across, along) if is_imaginary else (along, across)
        beside.real, beside.imag = first, second
        got = getattr(pt, name)(pt.tensor(beside, device=device))
        close(got, function(beside.astype(C128)), 4, name)
        found, expected = parts_of(got.numpy()), parts_of(function(beside))
        assert np.array_equal(np.signbit(found), np.signbit(expected)), name


@pytest.mark.computes
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name: str, device: str, rng: np.random.Generator) -> None:
    values = pool("complex64", rng)
    for layout, make in LAYOUTS.items():
        x, array = make(values, rng, device)
        with np.errstate(all="ignore"):
            expected = EXACT[name](array)
        same(getattr(pt, name)(x), expected, f"{name}, {layout}")


def test_functions_of_real_numbers(device: str) -> None:
    x = pt.tensor([1 + 2j, 3], device=device)
    for name in REAL_ONLY:
        with pytest.raises(pt.DTypeError, match=rf"^{name}: takes .*, not complex64"):
            getattr(pt, name)(x)
    for name in REAL_ONLY_PAIRS:
        with pytest.raises(pt.DTypeError, match=rf"^{name}: takes .*, not complex64"):
            getattr(pt, name)(x, x)
    for convert in (float, int):
        with pytest.warns(pt.ComplexWarning, match="discards the imaginary parts"):
            assert convert(x[0]) == 1
    with pytest.raises(pt.DTypeError, match="exp: cannot cast complex64 to float32"):
        pt.exp(x, dtype="float32")
    with pytest.warns(pt.ComplexWarning):
        pt.sum(x, out=pt.array(0.0, device=device))
    with pytest.raises(TypeError, match="float32 cannot hold the complex number 1j"):
        pt.zeros(2, device=device)[0] = 1j
    y = pt.ones(2, device=device)
    with pytest.raises(pt.DTypeError, match="complex64 cannot be stored in float32"):
        y += x
    same(x * 2, np.array([2 + 4j, 6], C64), "the session afterwards")


# -- Arithmetic -----------------------------------------------------------------------------------


def _power(x: Array, y: Array) -> tuple[Array, Array]:
    """The power, and the size to which its error is relative: it grows with the exponent of e."""
    with np.errstate(all="ignore"):
        exponent = np.abs(y * np.log(x))
        return np.power(x, y), np.abs(np.power(x, y)) * np.maximum(1, exponent)


PAIRWISE: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "add": lambda x, y: (x + y, np.abs(x) + np.abs(y)),
    "subtract": lambda x, y: (x - y, np.abs(x) + np.abs(y)),
    "multiply": lambda x, y: (x * y, np.abs(x * y)),
    "divide": lambda x, y: (x / y, np.abs(x / y)),
    "power": _power,
}


@pytest.mark.computes
@pytest.mark.parametrize("name", PAIRWISE)
def test_arithmetic(name: str, device: str, rng: np.random.Generator) -> None:
    """Operands have all layouts, and are also real, integer, or Python complex numbers."""
    op = getattr(pt, name)
    a, b = numbers(rng, 60), rng.permutation(numbers(rng, 60))
    if name == "power":
        b = (b / np.abs(b) * rng.uniform(0, 3, b.size)).astype(C64)
    with np.errstate(all="ignore"):
        for layout, (first, second) in PAIRS.items():
            (x, p), (y, q) = first(a, rng, device), second(b, rng, device)
            expected, size = PAIRWISE[name](p.astype(C128), q.astype(C128))
            close(op(x, y), expected, 4, f"{name}, {layout}", size)
        x = pt.tensor(a, device=device)
        for other in (2.5, 3, -2, 1.5 - 2j, True, np.complex64(1j), np.float32(0.5)):
            expected, size = PAIRWISE[name](a.astype(C128), C128(other))
            close(op(x, other), expected, 4, f"{name} with {other!r}", size)
            expected, size = PAIRWISE[name](C128(other), a.astype(C128))
            close(op(other, x), expected, 4, f"{name} of {other!r}", size)
        for dtype in ("bool", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float32"):
            real = rng.integers(0, 2 if dtype == "bool" else 5, a.size).astype(dtype)
            expected, size = PAIRWISE[name](a.astype(C128), real.astype(C128))
            y = pt.tensor(real, dtype=dtype, device=device)
            close(op(x, y), expected, 4, f"{name} with {dtype}", size)


SPECIAL = [0.0, -0.0, 1.0, -2.0, 3e38, *ENDS]


@pytest.mark.computes
def test_special_operands(device: str) -> None:
    """Infinities, NaN and zeros of both signs, with complex, real and integer operands."""
    numbers_, reals = grid(*SPECIAL), np.array(SPECIAL, np.float32)
    a, b = (v.reshape(-1) for v in np.meshgrid(numbers_, numbers_))
    c, d = (v.reshape(-1) for v in np.meshgrid(numbers_, reals))
    e, f = (v.reshape(-1) for v in np.meshgrid(numbers_, np.array([0, 1, -2], np.int32)))
    for name in ("add", "subtract", "divide", "multiply"):
        for p, q in ((a, b), (c, d), (d, c), (e, f), (f, e)):
            x, y = pt.tensor(p, device=device), pt.tensor(q, device=device)
            with np.errstate(all="ignore"):
                expected = parts_of(getattr(np, name)(p.astype(C64), q.astype(C64)))
            got = parts_of(getattr(pt, name)(x, y).numpy())
            wrong = np.isnan(got) != np.isnan(expected)
            finite = np.isfinite(got) & np.isfinite(expected)
            wrong |= ~finite & ~np.isnan(expected) & (got != expected)
            if name in ("multiply", "divide"):  # a sum of huge products may be fused
                huge = (np.abs(parts_of(p.astype(C64))) > 1e38).any(-1)
                huge |= (np.abs(parts_of(q.astype(C64))) > 1e38).any(-1)
                wrong[huge] = False
            zero = (got == 0) & (expected == 0) & (np.signbit(got) != np.signbit(expected))
            wrong |= zero if name in ("add", "subtract") else False
            at = wrong.any(-1)
            assert not at.any(), f"{name}({p[at][0]}, {q[at][0]}): {got[at][0]}, {expected[at][0]}"
    cut = pt.tensor([complex(-4, -0.0)], device=device) + pt.tensor([0.0], device=device)
    same(pt.sqrt(cut).real, np.zeros(1, np.float32), "the real part of a root")
    assert pt.sqrt(cut).tolist()[0].imag == 2.0  # -0 + 0 is 0: above the cut


@pytest.mark.computes
def test_powers_by_integers(device: str, rng: np.random.Generator) -> None:
    """Small powers are products, whose error does not grow with the logarithm."""
    a = (rng.standard_normal(500) + 1j * rng.standard_normal(500)).astype(C64)
    x = pt.tensor(a, device=device)
    for n in (0, 1, 2, 3, 5, 10, -1, -2, -7):
        close(x**n, a.astype(C128) ** n, 4 + abs(n), f"x ** {n}")
    for n in (0.5, -1, 2.0):
        special = pt.tensor(ORDERED, device=device) ** n
        with np.errstate(all="ignore"):
            same_parts(special.numpy()[:9], (ORDERED**n)[:9], f"special values to {n}")
    zero = pt.tensor([0j, 0j, 0j], device=device)
    powers = zero ** pt.tensor([0j, 2, 0.5], device=device)
    same(powers, np.array([1, 0, 0], C64), "powers of 0")


@pytest.mark.computes
def test_powers_of_two_and_sinc(device: str, rng: np.random.Generator) -> None:
    """The error of an angle grows with the imaginary part."""
    a = (rng.uniform(-100, 100, 500) + 1j * rng.uniform(-4, 4, 500)).astype(C64)
    bound = 64 if device == "cpu" else 8  # NumPy computes e to the power of a rounded product
    close(pt.exp2(pt.tensor(a, device=device)), np.exp2(a.astype(C128)), bound, "exp2")
    a = numbers(rng)[200:400]
    exact = np.sinc(a.astype(C128))
    size = np.abs(exact) + np.abs(np.cos(np.pi * a.astype(C128)))  # pi * x is rounded
    close(pt.sinc(pt.tensor(a, device=device)), exact, 8, "sinc", size)


@pytest.mark.computes
def test_in_place(device: str, rng: np.random.Generator) -> None:
    a, b = numbers(rng, 20), numbers(rng, 20)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    whole = x
    x += y
    x *= 2j
    x[3:10] -= 1 - 1j
    x[::-2] /= 4
    a = a.astype(C128)
    a += b
    a *= 2j
    a[3:10] -= 1 - 1j
    a[::-2] /= 4
    size = np.maximum(np.abs(a), 2 * (np.abs(a) + np.abs(b)))
    close(whole, a, 8, "in place", size)


@pytest.mark.computes
def test_a_loop(device: str) -> None:
    """A Mandelbrot set in complex numbers; a loop of many passes is one kernel."""
    height, width, steps = 24, 36, 60

    def escape(np: Any, c: Any) -> tuple[Any, Any]:
        z, counts = 0 * c, np.zeros(c.shape, "int32")
        for _ in range(steps):
            inside = abs(z) < 2
            z = np.where(inside, z * z + c, z)
            counts = counts + inside
        return z, counts

    real, imag = np.linspace(-2, 0.5, width), np.linspace(-1.1, 1.1, height)[:, None]
    c = (real + 1j * imag).astype(C64)
    z, counts = escape(pt, pt.tensor(c, device=device))
    ends, expected = escape(np, c)
    assert np.mean(counts.numpy() != expected) < 0.01
    calm = expected == expected.max()  # points that stay bounded agree up to rounding
    assert np.max(np.abs(z.numpy()[calm] - ends[calm])) < 1e-2


# -- Order ----------------------------------------------------------------------------------------


ORDERED = grid(0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan)


@pytest.mark.computes
def test_comparisons(device: str) -> None:
    a, b = (v.reshape(-1) for v in np.meshgrid(ORDERED, ORDERED))
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        same(getattr(pt, name)(x, y), getattr(np, name)(a, b), name)
        same(getattr(pt, name)(x, 1 - 1j), getattr(np, name)(a, 1 - 1j), f"{name} with a number")
        same(getattr(pt, name)(x, 1), getattr(np, name)(a, 1), f"{name} with an integer")
    for name in ("logical_and", "logical_or", "logical_xor"):
        same(getattr(pt, name)(x, y), getattr(np, name)(a, b), name)
    for name in ("maximum", "minimum"):
        got, expected = getattr(pt, name)(x, y).numpy(), getattr(np, name)(a, b)
        same_parts(got, expected, name)
    z = pt.tensor([2, 1j, 1 + 1j, complex(np.nan, 1)], device=device)
    for p, q in ((0, 1), (1, 0), (1, 2), (2, 2), (0, 3)):
        u, v = z[p], z[q]
        m, n = C64(u.item()), C64(v.item())
        assert (bool(u < v), bool(u <= v)) == (m < n, m <= n)
        assert (bool(u > v), bool(u >= v), bool(u == v)) == (m > n, m >= n, m == n)
    assert [w.item() for w in sorted(z[:3])] == [1j, 1 + 1j, 2]
    integers = pt.tensor([1, 2, 3], device=device)
    same(integers == 2 + 0j, np.array([False, True, False]), "integers beside a complex number")
    same(integers == 1j, np.array([False, False, False]), "integers beside an imaginary one")


def same_parts(got: Array, expected: Array, what: str) -> None:
    """Assert that parts are equal, except for the sign of zero."""
    a, b = parts_of(got), parts_of(expected)
    wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    assert not wrong.any(), f"{what}: {got[wrong.any(-1)][:3]}, not {expected[wrong.any(-1)][:3]}"


@pytest.mark.computes
@pytest.mark.parametrize("size", [5, 300, 5000])
def test_sorting(size: int, device: str, rng: np.random.Generator) -> None:
    """The order is lexicographic with NaN last, as documented for `numpy.sort`."""
    a = rng.choice(np.concatenate([ORDERED, rng.choice(3, 20) + 1j * rng.choice(3, 20)]), size)
    a = a.astype(C64)
    x = pt.tensor(a, device=device)
    order = np.argsort(a, kind="stable")
    same(pt.argsort(x, stable=True), order.astype(np.int32), "argsort")
    same(pt.sort(x), a[order], "sort")
    twice = np.stack([a, a[::-1]], 1)
    y = pt.tensor(twice, device=device)
    same(pt.sort(y, axis=0), np.sort(twice, 0, kind="stable"), "sort along an axis")


@pytest.mark.computes
@pytest.mark.parametrize("shape", [(7,), (3, 50), (2, 5, 3), (1, 3000)])
def test_extremes(shape: tuple[int, ...], device: str, rng: np.random.Generator) -> None:
    for with_nan in (False, True):
        values = ORDERED if with_nan else ORDERED[~np.isnan(ORDERED)]
        a = rng.choice(values, shape)
        x = pt.tensor(a, device=device)
        for axis in (None, 0, -1):
            for name in ("max", "min"):
                expected = getattr(np, name)(a, axis)
                got = getattr(pt, name)(x, axis).numpy()
                if with_nan:  # which of several NaN is found is unspecified
                    assert np.array_equal(np.isnan(got), np.isnan(expected)), name
                else:
                    same_parts(np.asarray(got).reshape(-1), np.asarray(expected).reshape(-1), name)
            for name in ("argmax", "argmin"):
                expected = np.asarray(getattr(np, name)(a, axis), np.int32)
                same(getattr(pt, name)(x, axis), expected, f"{name}, {axis}")


# -- Sums and products ----------------------------------------------------------------------------


@pytest.mark.computes
@pytest.mark.parametrize("shape", [(), (1,), (7,), (5, 33), (2, 9, 4, 5), (3, 20_001), (20_001, 3)])
def test_reductions(shape: tuple[int, ...], device: str, rng: np.random.Generator) -> None:
    a = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(C64)
    wide, x = a.astype(C128), pt.tensor(a, device=device)
    for axis in (None, *range(len(shape))):
        count = wide.size if axis is None else shape[axis]
        size = np.sum(np.abs(wide), axis)
        close(x.sum(axis), np.sum(wide, axis), 8, f"sum, {axis}", size)
        close(x.mean(axis), np.mean(wide, axis), 8, f"mean, {axis}", size / count)
        close(x.var(axis), np.var(wide, axis), 256, f"var, {axis}")  # NumPy adds rows one by one
        close(x.std(axis), np.std(wide, axis), 256, f"std, {axis}")
        if count < 100:
            close(x.prod(axis), np.prod(wide, axis), 4 * count, f"prod, {axis}")
        same(x.any(axis), np.any(a, axis), "any")
        same(pt.count_nonzero(x, axis), np.asarray(np.count_nonzero(a, axis), np.int32), "count")
    if shape:
        size = np.cumsum(np.abs(wide), -1)
        close(x.cumsum(-1), np.cumsum(wide, -1), 16, "cumsum", size)
        short = x[..., :30]
        close(short.cumprod(-1), np.cumprod(wide[..., :30], -1), 200, "cumprod")
        close((x * 2j).sum(-1) + 1j, np.sum(wide * 2j, -1) + 1j, 16, "fused", 2 * size[..., -1] + 1)


@pytest.mark.computes
def test_reductions_of_nothing(device: str) -> None:
    x = pt.zeros((0, 3), "complex64", device=device)
    same(x.sum(0), np.zeros(3, C64), "sum")
    same(x.prod(0), np.ones(3, C64), "prod")
    same(x + 1j, np.zeros((0, 3), C64), "an empty sum of tensors")
    same(x.real, np.zeros((0, 3), np.float32), "the real part of nothing")
    same(x.T @ x, np.zeros((3, 3), C64), "an empty product")
    same(pt.nansum(pt.tensor([1j, np.nan], device=device)), np.array(1j, C64), "nansum")
    with pytest.raises(ValueError, match="max: no elements"):
        x.max(0)


SHAPES = [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (3, 4, 5)), ((65, 130), (130, 33)), ((2, 0), (0, 3)), ((128, 128), (128, 128)),
]  # fmt: skip


@pytest.mark.computes
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul(
    left: tuple[int, ...], right: tuple[int, ...], device: str, rng: np.random.Generator
) -> None:
    a, b = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in (left, right))
    a, b = a.astype(C64), b.astype(C64)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    size = np.abs(a.astype(C128)) @ np.abs(b.astype(C128)) + SMALLEST
    close(x @ y, a.astype(C128) @ b.astype(C128), 16, "x @ y", size)
    close(x.real @ y, a.real.astype(C128) @ b.astype(C128), 16, "a real matrix first", size)
    close(x @ y.real, a.astype(C128) @ b.real.astype(C128), 16, "a real matrix behind", size)
    if len(left) == len(right) == 1:
        close(pt.vdot(x, y), np.vdot(a.astype(C128), b.astype(C128)), 16, "vdot", size)


@pytest.mark.computes
def test_other_products(device: str, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6)) for _ in range(2))
    a, b = a.astype(C64), b.astype(C64)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    a, b = a.astype(C128), b.astype(C128)
    pairs: dict[str, tuple[Any, Array]] = {
        "einsum": (pt.einsum("ij,kj->ik", x, y), np.einsum("ij,kj->ik", a, b)),
        "trace": (pt.trace(x), np.trace(a)),
        "outer": (pt.outer(x[0], y[1]), np.outer(a[0], b[1])),
        "inner": (pt.inner(x, y), np.inner(a, b)),
        "dot": (pt.dot(x, y), np.dot(a, b)),
        "tensordot": (pt.tensordot(x, y, 1), np.tensordot(a, b, 1)),
        "kron": (pt.kron(x[:2], y[:2]), np.kron(a[:2], b[:2])),
        "convolve": (pt.convolve(x[0], y[0, :3]), np.convolve(a[0], b[0, :3])),
        "correlate": (
            pt.correlate(x[0], y[0, :3], "full"),
            np.correlate(a[0], b[0, :3], "full"),
        ),
        "cov": (pt.cov(x), np.cov(a)),
        "corrcoef": (pt.corrcoef(x), np.corrcoef(a)),
        "norm": (pt.linalg.norm(x), np.linalg.norm(a)),
        "norms": (pt.linalg.norm(x, 1, 1), np.linalg.norm(a, 1, 1)),
        "matrix_power": (pt.linalg.matrix_power(x, 3), np.linalg.matrix_power(a, 3)),
        "fused": (
            pt.fused_multiply_add(x, y, 1)[:, 0],
            np.sum(a * b, 1),
        ),
        "vander": (pt.vander(x[0], 3), np.vander(a[0], 3)),
        "polyval": (pt.polyval([1, 2j, 3], x), np.polyval([1, 2j, 3], a)),
        "average": (pt.average(x, 0), np.average(a, 0)),
    }
    for name, (got, expected) in pairs.items():
        close(got, expected, 64, name, np.abs(expected) + 40)
    assert pt.allclose(x @ y, pt.tensor(a @ b, device=device), 1e-4, 1e-4)
    assert not pt.allclose(x, x + 1j)


# -- Parts ----------------------------------------------------------------------------------------


@pytest.mark.computes
def test_parts_are_views(device: str, rng: np.random.Generator) -> None:
    """Writing to a part changes the complex numbers, through any views in between."""
    a = numbers(rng, 5)[:24].reshape(4, 6)
    x, b = pt.tensor(a, device=device), a.copy()
    for z in (x, b):
        z.real[1] = 5
        z.imag[:, ::2] = 7
        z[2:].T.real[::-1] += 1
        z[::-1].imag[z[::-1].real > 0] = -3
        part = z.imag
        part[0, 0] = 11
        part *= 2
        z.real = z.imag
        z[0].imag = 0.5
        z.imag[[1, 3], [0, 2]] = 42
        z.T[3].real.fill(9)
    same(x, b, "after writing to parts")
    seen, part = x[1:3], x.real
    assert part.base is x
    assert pt.shares_memory(seen.real, x)
    assert part.strides == (48, 8)
    x[1] = 3 - 4j
    same(part[1], np.full(6, 3, np.float32), "a part after a write to the whole")
    same(seen.imag[0], np.full(6, -4, np.float32), "a part of a view")
    same(part.reshape(-1)[6:12], np.full(6, 3, np.float32), "a part in another shape")
    assert not part.flags.c_contiguous
    assert not pt.shares_memory(x.real, x.imag)
    assert x.imag.T.tobytes("A") == x.numpy().imag.T.tobytes("A")
    copied = x.real.ravel()
    copied[0] = 1e6
    assert x.real[0, 0] != 1e6
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.real[0] = 1


@pytest.mark.computes
def test_parts_of_real_numbers(device: str) -> None:
    x = pt.tensor([1.0, -2.0], device=device)
    assert x.real is x
    same(x.imag, np.zeros(2, np.float32), "imag")
    with pytest.raises(ValueError, match="read-only"):
        x.imag[0] = 1
    with pytest.raises(TypeError, match="float32 has no imaginary part"):
        x.imag = 1
    x.real = 4
    same(x, np.full(2, 4, np.float32), "real, assigned")
    same(
        pt.angle(pt.tensor([1.0, -1.0], device=device), deg=True),
        np.array([0, 180], np.float32),
        "angle",
    )
    assert pt.isrealobj(x)
    assert pt.iscomplexobj(x + 0j)
    others: list[Any] = [None, "text", [1j], object(), np.ones(2)]
    for other in others:
        assert pt.isrealobj(other) == np.isrealobj(other), other


# -- To and from other dtypes, and the host -------------------------------------------------------


@pytest.mark.computes
def test_conversions(device: str) -> None:
    """Every dtype is converted to complex and back, which drops the imaginary part and warns."""
    values = [0, 1, 2, 100]
    z = pt.tensor([0j, 1 + 5j, 2 - 1j, 100], device=device)
    for dtype in (*ref.DTYPES, *ref.SMALL_DTYPES, "float16"):
        real = np.array(values).astype(dtype)
        x = pt.tensor(real, dtype=dtype, device=device)
        same(x.astype("complex64"), real.astype(C64), f"from {dtype}")
        if dtype == "bool":
            same(z.astype(dtype), real, "to bool")
            continue
        with pytest.warns(pt.ComplexWarning, match="discards the imaginary parts"):
            same(z.astype(dtype), real, f"to {dtype}")
    truth = pt.tensor([0j, -0.0, 1e-40j, np.nan, 1j], device=device).astype("bool")
    same(truth, np.array([False, False, True, True, True]), "truth")
    y = pt.zeros(4, device=device)
    with pytest.warns(pt.ComplexWarning):
        y[:] = z
    same(y, np.array(values, np.float32), "assigned to real elements")


@pytest.mark.computes
def test_host(device: str, rng: np.random.Generator) -> None:
    """Round trips through bytes, Python numbers, NumPy and pickles."""
    a = pool("complex64", rng, 300)
    for given in (
        a,
        a.astype(C128),
        a.tolist(),
        list(a),
        memoryview(a),
        memoryview(a.astype(C128)),
    ):
        with np.errstate(over="ignore"):
            same(pt.tensor(given, device=device), a, f"from {type(given).__name__}")
    x = pt.tensor(a, device=device)
    assert repr(x.tolist()) == repr(a.tolist())
    assert x.tobytes() == a.tobytes()
    assert (x.itemsize, x.nbytes, x.dtype.kind) == (8, 8 * a.size, "c")
    same(pickle.loads(pickle.dumps(x)).to(device), a, "out of a pickle")
    same(
        pt.array([[1, 2.5], [3j, True]], device=device), np.array([[1, 2.5], [3j, 1]], C64), "mixed"
    )
    same(pt.full(3, 2 - 1j, device=device), np.full(3, 2 - 1j, C64), "full")
    same(pt.full_like(x, 1j), np.full_like(a, 1j), "full_like")
    same(pt.eye(3, dtype=complex, device=device), np.eye(3, dtype=C64), "eye")
    same(pt.complex64(1 + 2j) * pt.ones(2).to(device), np.array([1 + 2j] * 2, C64), "a scalar")
    one = pt.tensor([3 + 4j], device=device)
    assert complex(one) == one.item() == 3 + 4j
    assert abs(one[0]) == 5
    assert bool(one)
    assert 3 + 4j in {one[0]}
    assert pt.isscalar(one[0])
    same(pt.linspace(0, 2 - 4j, 5, device=device), np.linspace(0, 2 - 4j, 5, dtype=C64), "linspace")
    same(pt.geomspace(1, 8j, 4, device=device), np.geomspace(1, 8j, 4).astype(C64), "geomspace")
    x = pt.tensor([1.0, 2.0], device=device)
    close(pt.arcsinh(x.sum()) * 1j, np.arcsinh(C128(3)) * 1j, 4, "of a sum, made complex")
    end: Any = 2j
    with pytest.raises(TypeError, match="arange: an end or a step must be a real number, not 2j"):
        pt.arange(end, device=device)
    assert f"{one[0]:.1f}" == "3.0+4.0j"
    assert one[0] == 3 + 4j
    assert one[0] != 3
    assert pt.result_type("float32", 1j) == pt.result_type("int64", "complex64") == "complex64"
    assert pt.finfo("complex64").eps == np.finfo(C64).eps


def test_missing_on_a_gpu(device: str) -> None:
    """complex128 exists only on the cpu device."""
    if device == "webgpu":
        with pytest.raises(pt.DTypeError, match="complex128"):
            pt.zeros(3, "complex128", device=device)
        return
    z: Any = np.array([1 + 2j, 0.1 - 3j, np.inf])
    x = pt.tensor(z, dtype="complex128", device="cpu")
    same(pt.exp(x) * 1j, np.exp(z) * 1j, "complex128")
    same(abs(x), np.abs(z), "its absolute values")
    same(x.real, z.real, "its real parts")
    same(x[:2] @ x[:2], np.asarray(z[:2] @ z[:2]), "a product")
    same(pt.tensor([1.0], dtype="float64", device="cpu") * 1j, np.array([1j]), "beside a number")


# -- Movement, choice and writing -----------------------------------------------------------------


@pytest.mark.computes
def test_plans_find_their_constants(device: str) -> None:
    """The same expression with other numbers reuses one plan."""
    x = pt.ones(5, "complex64", device=device)
    for number in (1j, -1j, 2 + 3j, complex(-0.0, 0.0), complex(0.0, -0.0), complex("nan")):
        expected = np.ones(5, C64) * C64(number) + C64(number)
        same_parts((x * number + number).numpy(), expected, repr(number))
    for first, second in ((0.0, -0.0), (0.0, 0.0), (1.0, 2.0)):
        a, b = complex(first, 1), complex(second, 1)
        same(pt.where(x.real > 0, a, b), np.full(5, a, C64), "two constants")
        same(pt.where(x.real > 0, b, a), np.full(5, b, C64), "the same, exchanged")
        same(pt.stack([x * 0 + a, pt.full_like(x, b)])[1].real, np.full(5, second, np.float32), "b")


@pytest.mark.computes
def test_movement(device: str, rng: np.random.Generator) -> None:
    a = pool("complex64", rng, 60).reshape(3, 4, 5)
    x = pt.tensor(a, device=device)
    mask = a.real > 0
    pairs: list[tuple[Any, Array]] = [
        (pt.roll(x, 2, 1), np.roll(a, 2, 1)),
        (pt.pad(x, 1), np.pad(a, 1)),
        (pt.pad(x, 1, constant_values=1j), np.pad(a, 1, constant_values=1j)),
        (pt.concatenate([x, x[:1]]), np.concatenate([a, a[:1]])),
        (pt.concatenate([x.real, x]), np.concatenate([a.real, a])),
        (pt.tril(x[0]), np.tril(a[0])),
        (pt.where(x.real > 0, x, 0), np.where(mask, a, 0)),
        (x[pt.tensor(mask, device=device)], a[mask]),
        (x[[2, 0], :, [1, 4]], a[[2, 0], :, [1, 4]]),
        (pt.take_along_axis(x, pt.argsort(x, 1, stable=True), 1), np.sort(a, 1, kind="stable")),
        (pt.unique(pt.tensor([1j, 2, 1j, 0], device=device)), np.array([0, 1j, 2])),
        (pt.flip(x).mT, np.flip(a).swapaxes(1, 2)),
    ]
    for number, (got, expected) in enumerate(pairs):
        with np.errstate(all="ignore"):
            same_parts(
                got.numpy().reshape(-1), expected.astype(C64).reshape(-1), f"number {number}"
            )


@pytest.mark.computes
def test_combining_at_indices(device: str, rng: np.random.Generator) -> None:
    """Results are reproducible: values are combined in order."""
    values = (rng.standard_normal(500) + 1j * rng.standard_normal(500)).astype(C64)
    places = rng.integers(0, 20, 500)
    at, given = pt.tensor(places, device=device), pt.tensor(values, device=device)
    pairs: list[tuple[Any, Any]] = [
        (pt.add, np.add),
        (pt.subtract, np.subtract),
        (pt.maximum, np.maximum),
    ]
    for op, numpy in pairs:
        x, again = (pt.zeros(20, "complex64", device=device) for _ in range(2))
        a, size = np.zeros(20, C128), np.zeros(20)
        op.at(x, at, given)
        op.at(again, at, given)
        numpy.at(a, places, values)
        np.add.at(size, places, np.abs(values))
        close(x, a, 8, f"{numpy.__name__}.at", size + SMALLEST)
        same(again, x.numpy(), "once more")


@pytest.mark.computes
def test_masks_and_products_of_two_words(device: str, rng: np.random.Generator) -> None:
    """Kernels that load two-word elements and store vectors of other dtypes; and the reverse."""
    for shape in ((1000,), (37, 64), (5, 7, 12)):
        a = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(C64)
        whole = rng.integers(-(2**40), 2**40, shape)
        x, n = pt.tensor(a, device=device), pt.tensor(whole, dtype="int64", device=device)
        same(x == x.conj(), a == a.conj(), "a mask of complex numbers")
        same(x.T.real > 0, a.T.real > 0, "a transposed mask")
        same(n > 0, whole > 0, "a mask of integers")
        same((n > 0)[..., 1:], (whole > 0)[..., 1:], "a part of a mask")
        same((n & 255).astype("uint8"), (whole & 255).astype("uint8"), "bytes")
        close(abs(x), np.abs(a.astype(C128)), 2, "absolute values")
    b = rng.integers(-3, 4, (128, 64)).astype(np.float32)
    y = pt.tensor(b, device=device)
    same((y @ y.T).astype("int64"), (b @ b.T).astype(np.int64), "a product in int64")
    same((y @ y.T) * 1j, (b @ b.T) * C64(1j), "a product in complex64")
