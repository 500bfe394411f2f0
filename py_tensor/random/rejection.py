"""Distributions drawn by rejection: one op each, whose kernel loops until a number is accepted.

The WGSL functions are in `shaders/lib/distributions.wgsl`, which cites the sources. The NumPy
functions here do the same in float64: they accept the same words, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py_tensor.dtypes import REAL_FLOATING, int32, uint32
from py_tensor.random.threefry import centered, drawn_by, fraction, normal, opened, threefry

_ATTEMPTS = 128
_KEYED = (uint32, uint32, uint32)  # the index of the element, and the key


class _Words:
    """The random words of a flattened array of elements."""

    def __init__(self, np: Any, index: Any, key0: Any, key1: Any) -> None:
        self.np, self.index, self.keys = np, np.asarray(index).reshape(-1), (key0, key1)

    def flat(self, parameter: Any) -> Any:
        """Return a parameter broadcast to all elements."""
        return self.np.broadcast_to(self.np.asarray(parameter).reshape(-1), self.index.shape)

    def at(self, t: int, elements: Any) -> tuple[Any, Any]:
        return threefry(self.np, self.index[elements], t, *self.keys)

    def accept(
        self, elements: Any, attempt: Callable[[int, Any], tuple[Any, Any]], steps: int = 1
    ) -> Any:
        """Return the first accepted value of each element.

        ``attempt(t, elements)`` returns values and whether each is accepted.
        """
        found = self.np.zeros(self.index.size)
        for t in range(1, _ATTEMPTS, steps):
            if not elements.size:
                break
            values, good = attempt(t, elements)
            found[elements[good]] = values[good]
            elements = elements[~good]
        return found


def _gamma_excess(np: Any, s: Any) -> Any:
    p = ((((s / 9 - 1 / 8) * s + 1 / 7) * s - 1 / 6) * s + 1 / 5) * s - 1 / 4
    whole = np.log1p(s) - s + s * s * (1 / 2 - s / 3)
    return 3 * np.where(np.abs(s) < 0.01, s**4 * p, whole)


def _gamma(np: Any, *operands: Any) -> Any:
    index, key0, key1, shape = operands
    words = _Words(np, index, key0, key1)
    d = words.flat(shape).astype(np.float64) - 1 / 3

    def attempt(t: int, elements: Any) -> tuple[Any, Any]:
        x = normal(np, *words.at(t, elements))
        u = opened(np, words.at(t + 1, elements)[0])
        wide = d[elements]
        s = x / (3 * np.sqrt(wide))
        good = (s > -1) & (np.log(u) < wide * _gamma_excess(np, s))
        return wide * (1 + s) ** 3, good

    return words.accept(np.arange(d.size), attempt, 2).reshape(index.shape)


def _deviance(np: Any, d: Any, mean: Any) -> Any:
    x = d / mean
    near = x * x * (1 / 2 - x * (1 / 6 - x * (1 / 12 - x * (1 / 20 - x * (1 / 30 - x / 42)))))
    ratio = np.maximum(1 + x, 1e-30)
    return mean * np.where(np.abs(x) < 1e-3, near, ratio * np.log(ratio) - x)


def _stirling_excess(np: Any, k: Any) -> Any:
    y = 1 / np.maximum(k, 1)
    z = y * y
    series = y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680)))
    return np.where(k < 1.5, k, np.log(2 * np.pi * np.maximum(k, 1)) / 2 + series)


def _count_excess(np: Any, d: Any, mean: Any, k: Any) -> Any:
    return _deviance(np, d, mean) + _stirling_excess(np, k)


def _signed(np: Any, bits: Any) -> tuple[Any, Any]:
    """Return a uniform number between -1/2 and 1/2, and its distance from the nearer bound."""
    margin = (((bits >> np.uint32(8)) & np.uint32(0x7FFFFF)) + 0.5) * 2.0**-24
    return np.where(bits >= 2**31, margin - 0.5, 0.5 - margin), margin


def _counted(np: Any, u: Any, first: Any, rise: Callable[[int], Any], most: Any) -> Any:
    """Draw by inversion: return the smallest k with P(X > k) <= u.

    `first` is P(X = 0), and ``rise(k)`` is P(X = k) / P(X = k - 1).
    """
    probability, above = first.copy(), 1 - first
    found = np.zeros(u.size)
    for k in range(1, _ATTEMPTS):
        going = (u < above) & (probability > 3e-8) & (found < most) & (found == k - 1)
        if not going.any():
            break
        found[going] = k
        probability = probability * rise(k)
        above = above - probability
    return found


def _poisson(np: Any, *operands: Any) -> Any:
    index, key0, key1, rates = operands
    words = _Words(np, index, key0, key1)
    rate = words.flat(rates).astype(np.float64)
    large = np.nonzero(rate >= 10)[0]
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b

    def attempt(t: int, elements: Any) -> tuple[Any, Any]:
        first, second = words.at(t, elements)
        u, margin = _signed(np, first)
        v, mean, wide, tall = opened(np, second), rate[elements], b[elements], a[elements]
        k = np.floor((2 * tall / margin + wide) * u + mean + 0.43)
        inverse_alpha, inside = 1.1239 + 1.1328 / (wide - 3.4), 0.9277 - 3.6224 / (wide - 2)
        hat = np.log(v * inverse_alpha / (tall / margin**2 + wide))
        good = (margin >= 0.07) & (v <= inside)
        good |= hat <= -_count_excess(np, k - mean, mean, np.maximum(k, 0))
        return k, good & (k >= 0) & (k <= 2147483520) & ((margin >= 0.013) | (v <= margin))

    found = words.accept(large, attempt)
    small = np.nonzero(~(rate >= 10))[0]
    u, mean = fraction(np, words.at(1, small)[0]), rate[small]
    found[small] = _counted(np, u, np.exp(-mean), lambda k: mean / k, _ATTEMPTS)
    return found.reshape(index.shape)


def _binomial_excess(np: Any, k: Any, n: Any, p: Any) -> Any:
    mean, k = n * p, np.clip(k, 0, n)
    d = k - mean
    return _count_excess(np, d, mean, k) + _count_excess(np, -d, n - mean, n - k)


def _binomial(np: Any, *operands: Any) -> Any:
    index, key0, key1, sizes, chances = operands
    words = _Words(np, index, key0, key1)
    n, p = (words.flat(x).astype(np.float64) for x in (sizes, chances))
    large = np.nonzero(n * p >= 10)[0]

    def attempt(t: int, elements: Any) -> tuple[Any, Any]:
        first, second = words.at(t, elements)
        u, margin = _signed(np, first)
        v, size, share = opened(np, second), n[elements], p[elements]
        mean = size * share
        deviation = np.sqrt(mean * (1 - share))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * share
        k = np.floor((2 * a / margin + b) * u + mean + 0.5)
        hat = np.log(v * (2.83 + 5.1 / b) * deviation / (a / margin**2 + b))
        top = _binomial_excess(np, np.floor((size + 1) * share), size, share)
        good = (margin >= 0.07) & (v <= 0.92 - 4.2 / b)
        good |= hat <= top - _binomial_excess(np, k, size, share)
        return k, good & (k >= 0) & (k <= size)

    found = words.accept(large, attempt)
    small = np.nonzero(~(n * p >= 10))[0]
    size, share = n[small], p[small]
    found[small] = _counted(
        np,
        fraction(np, words.at(1, small)[0]),
        np.exp(size * np.log1p(-share)),
        lambda k: (size - k + 1) / k * (share / (1 - share)),
        size,
    )
    return found.reshape(index.shape)


def _hypergeometric_excess(np: Any, k: Any, r: Any, m: Any, total: Any) -> Any:
    mean, k = r * m / total, np.clip(k, 0, np.minimum(r, m))
    d, rest = k - mean, total - r - m
    return (
        _count_excess(np, d, mean, k)
        + _count_excess(np, -d, r - mean, r - k)
        + _count_excess(np, -d, m - mean, m - k)
        + _count_excess(np, d, rest + mean, rest + k)
    )


def _hypergeometric(np: Any, *operands: Any) -> Any:
    index, key0, key1, *rest = operands
    words = _Words(np, index, key0, key1)
    r, m, total, whole, part = (words.flat(x).astype(np.float64) for x in rest)

    def attempt(t: int, elements: Any) -> tuple[Any, Any]:
        first, second = words.at(t, elements)
        x, y = opened(np, first), opened(np, second)
        kind, taken, everything = r[elements], m[elements], total[elements]
        share, mean = kind / everything, (whole + part)[elements]
        variance = taken * share * (1 - share) * (everything - taken) / (everything - 1)
        deviation = np.sqrt(variance + 0.5)
        width = 1.7155277699214135 * deviation + 0.8989161620588988
        k = np.floor(mean + 0.5 + width * (y - 0.5) / x)
        mode = np.floor((taken + 1) * (kind + 1) / (everything + 2))
        lower = _hypergeometric_excess(np, mode, kind, taken, everything)
        lower = lower - _hypergeometric_excess(np, k, kind, taken, everything)
        good = (x * (4 - x) - 3 <= lower) | ((x * (x - lower) < 1) & (2 * np.log(x) <= lower))
        inside = (k >= 0) & (k <= np.minimum(kind, taken))
        return k, good & inside & (np.abs(k - whole[elements]) <= 16 * deviation + 1)

    found = words.accept(np.nonzero(m >= 10)[0], attempt)
    few = np.nonzero(~(m >= 10))[0]
    left = r[few]
    for i in range(int(m[few].max(initial=0))):
        word = words.at(i + 1, few)[0]
        place = np.floor(word * (total[few] - i) * 2.0**-32)
        left = left - ((place < left) & (i < m[few]))
    found[few] = r[few] - left
    return found.reshape(index.shape)


def _vonmises(np: Any, *operands: Any) -> Any:
    index, key0, key1, kappas = operands
    words = _Words(np, index, key0, key1)
    kappa = np.clip(words.flat(kappas).astype(np.float64), 1e-7, 1e15)
    q = np.sqrt(1 + 4 * kappa**2)
    root = np.sqrt(1 + q)
    small = 1 - 2 * kappa * root / ((q + 1) * (root + 2**0.5))
    large = (2**0.5 * root - 1 - 1 / (2 * kappa + q)) / (2 * kappa)
    below = np.where(kappa < 1, small, large)
    e = below**2 / (2 * (1 - below))

    def attempt(t: int, elements: Any) -> tuple[Any, Any]:
        first, second = words.at(t, elements)
        turn, v = centered(np, first), opened(np, second)
        slope = np.tan(np.pi * np.minimum(np.abs(turn), 0.5 - 2.0**-33))
        excess, narrow = e[elements], (below / (2 - below))[elements]
        c = 1 + 2 * slope**2 / (excess * (1 + slope**2) + 2)
        c = kappa[elements] * excess * c
        good = (c * (2 - c) > v) | (np.log(c / v) + 1 >= c)
        return np.copysign(2 * np.arctan(narrow * slope), turn), good

    return words.accept(np.arange(kappa.size), attempt).reshape(index.shape)


def _zipf(np: Any, *operands: Any) -> Any:
    index, key0, key1, exponents = operands
    words = _Words(np, index, key0, key1)
    a = np.minimum(words.flat(exponents).astype(np.float64), 60)

    def attempt(t: int, elements: Any) -> tuple[Any, Any]:
        first, second = words.at(t, elements)
        exponent = a[elements]
        least = np.exp(-21.487562 * exponent)
        u = least + (1 - least) * fraction(np, first)
        x = np.maximum(np.floor(np.exp(-np.log(u) / exponent)), 1)
        rise, two = np.expm1(exponent * np.log1p(1 / x)), np.expm1(exponent * np.log(2))
        good = opened(np, second) * x * rise / two <= (rise + 1) / (two + 1)
        return x, good & (x <= 2147483520)

    return np.maximum(words.accept(np.arange(a.size), attempt), 1).reshape(index.shape)


# The operands are the index of each element, the key, and the parameters.
GAMMA = drawn_by(
    "standard_gamma",
    "gamma_variate({0}, {1}, {2}, {3})",
    _gamma,
    accepts=REAL_FLOATING,
    cost=400,
    leading=_KEYED,
)
POISSON = drawn_by(
    "poisson",
    "poisson_variate({0}, {1}, {2}, {3})",
    _poisson,
    int32,
    REAL_FLOATING,
    cost=500,
    leading=_KEYED,
)
BINOMIAL = drawn_by(
    "binomial",
    "binomial_variate({0}, {1}, {2}, {3}, {4})",
    _binomial,
    int32,
    REAL_FLOATING,
    cost=600,
    leading=(*_KEYED, uint32),
)
HYPERGEOMETRIC = drawn_by(
    "hypergeometric",
    "hypergeometric_variate({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})",
    _hypergeometric,
    int32,
    REAL_FLOATING,
    cost=1000,
    leading=(*_KEYED, uint32, uint32, uint32, uint32),
)
VONMISES = drawn_by(
    "vonmises",
    "vonmises_variate({0}, {1}, {2}, {3})",
    _vonmises,
    accepts=REAL_FLOATING,
    cost=400,
    leading=_KEYED,
)
ZIPF = drawn_by(
    "zipf",
    "zipf_variate({0}, {1}, {2}, {3})",
    _zipf,
    int32,
    REAL_FLOATING,
    cost=500,
    leading=_KEYED,
)
