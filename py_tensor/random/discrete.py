"""Discrete distributions, with NumPy's names and parameters.

As for continuous distributions, values on the host are checked and elements of tensors are not.
Results are int32; larger numbers become 2147483520, the largest int32 that float32 can represent.
"""

from __future__ import annotations

import math
from typing import Any

from py_tensor import dtypes
from py_tensor.ops.elementwise import ceil, exp, floor, log, maximum, minimum, where
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand
from py_tensor.ops.transcendental import expm1, log1p
from py_tensor.random.continuous import Continuous
from py_tensor.random.parameters import (
    CHANCE,
    COUNTS,
    POSITIVE,
    Draw,
    Rule,
    Size,
    check_together,
    distribution,
    draw_of,
)
from py_tensor.random.rejection import BINOMIAL, HYPERGEOMETRIC, POISSON, ZIPF
from py_tensor.tensor import Tensor

_LARGEST = 2147483520.0  # the largest int32 that float32 can represent
_MAX_RATE = 2147020237.0  # the largest rate whose Poisson variates fit int32

_RATE = Rule(f"from 0 to {_MAX_RATE:.0f}", lambda v: (v < 0) | (v > _MAX_RATE) | (v != v))
_SUCCESS = Rule("above 0 and up to 1", lambda v: (v <= 0) | (v > 1) | (v != v))
_BELOW_ONE = Rule("from 0 to below 1", lambda v: (v < 0) | (v >= 1) | (v != v))
_ABOVE_ONE = Rule("above 1", lambda v: (v <= 1) | (v != v))
COUNT = Rule("an int from 0 to 2147483647", lambda v: (v < 0) | (v >= 2**31) | (v % 1 != 0))
KIND = Rule("an int from 0 to below 1000000000", lambda v: (v < 0) | (v >= 10**9) | (v % 1 != 0))


class Discrete(Continuous):
    """Methods of `Generator` for discrete distributions."""

    @distribution(COUNTS)
    def poisson(self, lam: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the Poisson distribution of rate `lam`.

        Uses inversion for small rates, else the method PTRS of W. Hörmann, "The transformed
        rejection method for generating Poisson random variables", Insurance: Mathematics and
        Economics 12 (1993).

        Parameters
        ----------
        lam : float or array_like
            From 0 to 2147020237, so that results fit int32.
        """
        draw = draw_of("poisson", size, ("lam", lam, _RATE))
        (lam,) = draw.values
        return self._drawn_by(POISSON, draw, _at_most(lam, _MAX_RATE))

    @distribution(COUNTS)
    def binomial(self, n: Operand, p: Operand, size: Size = None) -> Tensor:
        """Draw from the binomial distribution: successes in `n` trials of probability `p`.

        Uses inversion for small means, else the method BTRS of W. Hörmann, "The generation of
        binomial random variates", Journal of Statistical Computation and Simulation 46 (1993).

        Parameters
        ----------
        n : int or array_like
            From 0 to 2147483647.
        p : float or array_like
            From 0 to 1.
        """
        draw = draw_of("binomial", size, ("n", n, COUNT), ("p", p, CHANCE))
        n, p = draw.values
        return self._binomials(draw, as_int(n), p)

    def _binomials(self, draw: Draw, n: Any, p: Any) -> Tensor:
        """Draw binomial counts; the kernel counts the rarer outcome, for which it is designed."""
        if not isinstance(p, Tensor):
            found = self._drawn_by(BINOMIAL, draw, n, min(p, 1 - p))
            return found if p <= 0.5 else n - found
        found = self._drawn_by(BINOMIAL, draw, n, minimum(p, 1 - p))
        return where(p <= 0.5, found, n - found)

    @distribution(COUNTS)
    def geometric(self, p: Operand, size: Size = None) -> Tensor:
        """Draw from the geometric distribution: trials of probability `p` until one succeeds.

        Uses inversion. Larger numbers become 2147483520.

        Parameters
        ----------
        p : float or array_like
            Above 0 and up to 1.
        """
        draw = draw_of("geometric", size, ("p", p, _SUCCESS))
        (p,) = draw.values
        if not isinstance(p, Tensor):
            rate = math.inf if p == 1 else -math.log1p(-p)
        else:
            rate = -log1p(-p)
        drawn = maximum(ceil(self._exponentials(draw) / rate), 1)
        return converted(minimum(drawn, _LARGEST), dtypes.int32)

    @distribution(COUNTS)
    def logseries(self, p: Operand, size: Size = None) -> Tensor:
        """Draw from the logarithmic series distribution: P(k) is proportional to ``p**k / k``.

        A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables",
        Applied Statistics 30 (1981), algorithm LK.

        Parameters
        ----------
        p : float or array_like
            From 0 to below 1.
        """
        draw = draw_of("logseries", size, ("p", p, _BELOW_ONE))
        (p,) = draw.values
        rate = log1p(-p) if isinstance(p, Tensor) else math.log1p(-p)
        power = self._uniforms(draw) * rate
        # The formula for the logarithm depends on whether 1 - e**power or e**power is small.
        below = where(power > -0.6931472, log(-expm1(power)), log1p(-exp(power)))
        drawn = floor(self._exponentials(draw) / -below) + 1
        return converted(minimum(drawn, _LARGEST), dtypes.int32)

    @distribution(COUNTS)
    def negative_binomial(self, n: Operand, p: Operand, size: Size = None) -> Tensor:
        """Draw from the negative binomial distribution: failures before `n` successes.

        Parameters
        ----------
        n : float or array_like
            Above 0; not necessarily an integer.
        p : float or array_like
            Above 0 and up to 1.
        """
        draw = draw_of("negative_binomial", size, ("n", n, POSITIVE), ("p", p, _SUCCESS))
        n, p = draw.values
        rates = self._gammas(draw, n) * ((1 - p) / p)
        return self._drawn_by(POISSON, draw, minimum(rates, _MAX_RATE))

    @distribution(COUNTS)
    def zipf(self, a: Operand, size: Size = None) -> Tensor:
        """Draw from the Zipf distribution: P(k) is proportional to ``k**-a``.

        L. Devroye, "Non-Uniform Random Variate Generation", 1986, X.6.1. Numbers that do not fit
        int32 are drawn again.

        Parameters
        ----------
        a : float or array_like
            Above 1.
        """
        draw = draw_of("zipf", size, ("a", a, _ABOVE_ONE))
        return self._drawn_by(ZIPF, draw, draw.values[0] - 1)

    @distribution(COUNTS)
    def hypergeometric(
        self, ngood: Operand, nbad: Operand, nsample: Operand, size: Size = None
    ) -> Tensor:
        """Draw from the hypergeometric distribution: good items in a sample of `nsample`.

        Items are drawn one by one for small samples, else by the method HRUA of E. Stadlober, "The
        ratio of uniforms approach for generating discrete random variates", Journal of
        Computational and Applied Mathematics 31 (1990).

        Parameters
        ----------
        ngood : int or array_like
            Below 10**9.
        nbad : int or array_like
            Below 10**9.
        nsample : int or array_like
            At most ``ngood + nbad``, which is not checked if a parameter is a tensor.
        """
        check_together(
            "hypergeometric",
            "nsample must not be above ngood + nbad",
            lambda good, bad, sample: sample > good + bad,
            *(ngood, nbad, nsample),
        )
        draw = draw_of(
            "hypergeometric",
            size,
            ("ngood", ngood, KIND),
            ("nbad", nbad, KIND),
            ("nsample", nsample, COUNT),
        )
        return self._hypergeometrics(draw, *map(as_int, draw.values))

    def _hypergeometrics(self, draw: Draw, good: Any, bad: Any, sample: Any) -> Tensor:
        """Draw hypergeometric counts.

        The kernel counts the rarer kind, in the smaller of the sample and the remaining items.
        """
        total = good + bad
        kind, taken = _least(good, bad), _least(sample, total - sample)
        if isinstance(kind, Tensor) or isinstance(taken, Tensor):
            wide = _as_wide(kind) * _as_wide(taken)
            whole, part = wide // _as_wide(_least_one(total)), wide % _as_wide(_least_one(total))
            part = converted(part, draw.dtype) if isinstance(part, Tensor) else part
            part = part / _least_one(total)
        else:
            whole, rest = divmod(kind * taken, total or 1)
            part = rest / (total or 1)
        found = self._drawn_by(HYPERGEOMETRIC, draw, kind, taken, total, whole, part)
        found = _choose(sample > total - sample, kind - found, found)
        return _choose(good > bad, sample - found, found)


def _at_most(value: Any, limit: float) -> Any:
    return minimum(value, limit) if isinstance(value, Tensor) else value


def as_int(value: Any) -> Any:
    if isinstance(value, Tensor):
        return converted(value, dtypes.int32)
    return int(value)


def _as_wide(value: Any) -> Any:
    return converted(value, dtypes.int64) if isinstance(value, Tensor) else value


def _least(a: Any, b: Any) -> Any:
    return minimum(a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else min(a, b)


def _least_one(a: Any) -> Any:
    return maximum(a, 1) if isinstance(a, Tensor) else max(a, 1)


def _choose(condition: Any, x: Any, y: Any) -> Any:
    """Apply `where`, on the host if the condition is a host value."""
    return where(condition, x, y) if isinstance(condition, Tensor) else x if condition else y
