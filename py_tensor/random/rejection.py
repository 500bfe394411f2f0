"""Distributions drawn by rejection: one op each, whose kernel loops until a number is accepted.

The WGSL functions are in `shaders/lib/distributions.wgsl`, which cites the sources. The NumPy
functions here do the same in float64: they accept the same words, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py_tensor.base.dtypes import REAL_FLOATING, DType, int32, uint32
from py_tensor.ir.op import Elementwise
from py_tensor.random.threefry import centered, drawn, fraction, normal, opened, threefry

_ATTEMPTS = 128


class _Words:
    """The random words of a flattened array of elements."""

    def __init__(self, np: Any, index: Any, key0: Any, key1: Any) -> None:
        self.np, self.index, self.keys = np, np.asarray(index).reshape(-1), (key0, key1)

    def flat(self, parameter: Any) -> Any:
        """Return a parameter for each element, in float64."""
        flat = self.np.asarray(parameter).reshape(-1)
        return self.np.broadcast_to(flat, self.index.shape).astype(self.np.float64)

    def fractions(self, where: Any) -> Any:
        return fraction(self.np, self.at(1, where)[0])

    def at(self, t: int, elements: Any) -> tuple[Any, Any]:
        return threefry(self.np, self.index[elements], t, *self.keys)

    def accept(
        self, where: Any, attempt: Callable[..., tuple[Any, Any]], *parameters: Any, steps: int = 1
    ) -> Any:
        """Return the first accepted value of each element where a mask is set; 0 elsewhere.

        ``attempt(*words, *parameters)`` takes two words for each step, and returns values and
        whether each is accepted.
        """
        elements = self.np.nonzero(where)[0]
        accepted = self.np.zeros(self.index.size)
        for t in range(1, _ATTEMPTS, steps):
            if not elements.size:
                break
            words = (word for step in range(steps) for word in self.at(t + step, elements))
            values, good = attempt(*words, *(x[elements] for x in parameters))
            accepted[elements[good]] = values[good]
            elements = elements[~good]
        return accepted


def _kernel(
    name: str, gives: DType | None = None, *, cost: int, counts: int = 0
) -> Callable[[Callable[..., Any]], Elementwise]:
    """Return a decorator that makes an op: the WGSL function has the name of the NumPy function.

    The operands of the op are the index of each element, the key, and the parameters, of which the
    first `counts` are uint32. The NumPy function takes the words and the parameters.
    """

    def made(draw: Callable[..., Any]) -> Elementwise:
        def numpy(np: Any, index: Any, key0: Any, key1: Any, *parameters: Any) -> Any:
            words = _Words(np, index, key0, key1)
            return draw(np, words, *map(words.flat, parameters)).reshape(index.shape)

        wgsl = f"{draw.__name__}({', '.join(f'{{{n}}}' for n in range(counts + 4))})"
        leading = (uint32,) * (counts + 3)
        return drawn(
            name, {"*": wgsl}, numpy, accepts=REAL_FLOATING, gives=gives, leading=leading, cost=cost
        )

    return made


def _gamma_excess(np: Any, s: Any) -> Any:
    p = ((((s / 9 - 1 / 8) * s + 1 / 7) * s - 1 / 6) * s + 1 / 5) * s - 1 / 4
    whole = np.log1p(s) - s + s * s * (1 / 2 - s / 3)
    return 3 * np.where(np.abs(s) < 0.01, s**4 * p, whole)


@_kernel("standard_gamma", cost=400)
def gamma_variate(np: Any, words: _Words, shape: Any) -> Any:
    def attempt(a: Any, b: Any, c: Any, _: Any, d: Any) -> tuple[Any, Any]:
        s = normal(np, a, b) / (3 * np.sqrt(d))
        good = (s > -1) & (np.log(opened(np, c)) < d * _gamma_excess(np, s))
        return d * (1 + s) ** 3, good

    return words.accept(~np.isnan(shape), attempt, shape - 1 / 3, steps=2)


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
    count = np.zeros(u.size)
    for k in range(1, _ATTEMPTS):
        going = (u < above) & (probability > 3e-8) & (count < most) & (count == k - 1)
        if not going.any():
            break
        count[going] = k
        probability = probability * rise(k)
        above = above - probability
    return count


@_kernel("poisson", int32, cost=500)
def poisson_variate(np: Any, words: _Words, rate: Any) -> Any:
    def attempt(first: Any, second: Any, mean: Any) -> tuple[Any, Any]:
        u, margin = _signed(np, first)
        v, wide = opened(np, second), 0.931 + 2.53 * np.sqrt(mean)
        tall = -0.059 + 0.02483 * wide
        k = np.floor((2 * tall / margin + wide) * u + mean + 0.43)
        inverse_alpha, inside = 1.1239 + 1.1328 / (wide - 3.4), 0.9277 - 3.6224 / (wide - 2)
        hat = np.log(v * inverse_alpha / (tall / margin**2 + wide))
        good = (margin >= 0.07) & (v <= inside)
        good |= hat <= -_count_excess(np, k - mean, mean, np.maximum(k, 0))
        return k, good & (k >= 0) & (k <= 2147483520) & ((margin >= 0.013) | (v <= margin))

    is_large = rate >= 10
    count = words.accept(is_large, attempt, rate)
    u, mean = words.fractions(~is_large), rate[~is_large]
    count[~is_large] = _counted(np, u, np.exp(-mean), lambda k: mean / k, _ATTEMPTS)
    return count


def _binomial_excess(np: Any, k: Any, n: Any, p: Any) -> Any:
    mean, k = n * p, np.clip(k, 0, n)
    d = k - mean
    return _count_excess(np, d, mean, k) + _count_excess(np, -d, n - mean, n - k)


@_kernel("binomial", int32, cost=600, counts=1)
def binomial_variate(np: Any, words: _Words, n: Any, p: Any) -> Any:
    def attempt(first: Any, second: Any, size: Any, share: Any) -> tuple[Any, Any]:
        u, margin = _signed(np, first)
        v, mean = opened(np, second), size * share
        deviation = np.sqrt(mean * (1 - share))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * share
        k = np.floor((2 * a / margin + b) * u + mean + 0.5)
        hat = np.log(v * (2.83 + 5.1 / b) * deviation / (a / margin**2 + b))
        top = _binomial_excess(np, np.floor((size + 1) * share), size, share)
        good = (margin >= 0.07) & (v <= 0.92 - 4.2 / b)
        good |= hat <= top - _binomial_excess(np, k, size, share)
        return k, good & (k >= 0) & (k <= size)

    is_large = n * p >= 10
    count = words.accept(is_large, attempt, n, p)
    u, size, share = words.fractions(~is_large), n[~is_large], p[~is_large]
    none, odds = np.exp(size * np.log1p(-share)), share / (1 - share)
    count[~is_large] = _counted(np, u, none, lambda k: (size - k + 1) / k * odds, size)
    return count


def _hypergeometric_excess(np: Any, k: Any, r: Any, m: Any, total: Any) -> Any:
    mean, k = r * m / total, np.clip(k, 0, np.minimum(r, m))
    d, rest = k - mean, total - r - m
    return (
        _count_excess(np, d, mean, k)
        + _count_excess(np, -d, r - mean, r - k)
        + _count_excess(np, -d, m - mean, m - k)
        + _count_excess(np, d, rest + mean, rest + k)
    )


@_kernel("hypergeometric", int32, cost=1000, counts=4)
def hypergeometric_variate(
    np: Any, words: _Words, r: Any, m: Any, total: Any, whole: Any, part: Any
) -> Any:
    def attempt(
        first: Any, second: Any, kind: Any, taken: Any, everything: Any, whole: Any, part: Any
    ) -> tuple[Any, Any]:
        x, y = opened(np, first), opened(np, second)
        share, mean = kind / everything, whole + part
        variance = taken * share * (1 - share) * (everything - taken) / (everything - 1)
        deviation = np.sqrt(variance + 0.5)
        width = 1.7155277699214135 * deviation + 0.8989161620588988
        k = np.floor(mean + 0.5 + width * (y - 0.5) / x)
        mode = np.floor((taken + 1) * (kind + 1) / (everything + 2))
        lower = _hypergeometric_excess(np, mode, kind, taken, everything)
        lower = lower - _hypergeometric_excess(np, k, kind, taken, everything)
        good = (x * (4 - x) - 3 <= lower) | ((x * (x - lower) < 1) & (2 * np.log(x) <= lower))
        inside = (k >= 0) & (k <= np.minimum(kind, taken))
        return k, good & inside & (np.abs(k - whole) <= 16 * deviation + 1)

    count = words.accept(m >= 10, attempt, r, m, total, whole, part)
    few = np.nonzero(~(m >= 10))[0]
    left = r[few]
    for i in range(int(m[few].max(initial=0))):
        word = words.at(i + 1, few)[0]
        position = np.floor(word * (total[few] - i) * 2.0**-32)
        left = left - ((position < left) & (i < m[few]))
    count[few] = r[few] - left
    return count


@_kernel("vonmises", cost=400)
def vonmises_variate(np: Any, words: _Words, kappa: Any) -> Any:
    kappa = np.clip(kappa, 1e-7, 1e15)
    q = np.sqrt(1 + 4 * kappa**2)
    root = np.sqrt(1 + q)
    small = 1 - 2 * kappa * root / ((q + 1) * (root + 2**0.5))
    large = (2**0.5 * root - 1 - 1 / (2 * kappa + q)) / (2 * kappa)
    below = np.where(kappa < 1, small, large)

    def attempt(first: Any, second: Any, kappa: Any, below: Any) -> tuple[Any, Any]:
        turn, v = centered(np, first), opened(np, second)
        slope = np.tan(np.pi * np.minimum(np.abs(turn), 0.5 - 2.0**-33))
        excess = below**2 / (2 * (1 - below))
        c = 1 + 2 * slope**2 / (excess * (1 + slope**2) + 2)
        c = kappa * excess * c
        good = (c * (2 - c) > v) | (np.log(c / v) + 1 >= c)
        return np.copysign(2 * np.arctan(below / (2 - below) * slope), turn), good

    return words.accept(~np.isnan(kappa), attempt, kappa, below)


@_kernel("zipf", int32, cost=500)
def zipf_variate(np: Any, words: _Words, exponent: Any) -> Any:
    def attempt(first: Any, second: Any, exponent: Any) -> tuple[Any, Any]:
        least = np.exp(-21.487562 * exponent)
        u = least + (1 - least) * fraction(np, first)
        x = np.maximum(np.floor(np.exp(-np.log(u) / exponent)), 1)
        rise, two = np.expm1(exponent * np.log1p(1 / x)), np.expm1(exponent * np.log(2))
        good = opened(np, second) * x * rise / two <= (rise + 1) / (two + 1)
        return x, good & (x <= 2147483520)

    exponent = np.minimum(exponent, 60)
    return np.maximum(words.accept(~np.isnan(exponent), attempt, exponent), 1)
