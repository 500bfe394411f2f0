"""Distributions, with NumPy's names and parameters, each defined by one entry.

An entry has the rules of the parameters, the dtype, and how the numbers are drawn from those of a
`Draw`: by inversion, by a transform, or by a kernel of `rejection`. Counts are int32; larger ones
become 2147483520, the largest int32 that float32 can represent.
"""

from __future__ import annotations

import math
from typing import Any

from py_tensor.base import dtypes
from py_tensor.ops.elementwise import minimum, where
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand
from py_tensor.random import rejection
from py_tensor.random.define import COUNTS, Draw, Rule, Size, distribution
from py_tensor.tensors.tensor import Tensor

_MIN_SHAPE = 1e-30  # smaller shapes of gamma variates are equivalent to 0
_LARGEST = 2147483520.0  # the largest int32 that float32 can represent
_MAX_RATE = 2147020237.0  # the largest rate whose Poisson variates fit int32


# -- By inversion ----------------------------------------------------------------------------------


@distribution(loc="a number", scale="at least 0")
def gumbel(draw: Draw, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the Gumbel distribution: ``loc - scale * log(exponential)``.

    Parameters
    ----------
    loc : float or array_like
        The mode.
    scale : float or array_like
        Not negative.
    """
    return loc - draw.exponentials().log() * scale


@distribution(loc="a number", scale="at least 0")
def laplace(draw: Draw, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the Laplace distribution: exponential on both sides of `loc`.

    Parameters
    ----------
    loc : float or array_like
        The mean.
    scale : float or array_like
        The mean absolute deviation; not negative.
    """
    side = draw.centered()
    return loc - side.sign() * (2 * side.abs()).log() * scale


@distribution(loc="a number", scale="at least 0")
def logistic(draw: Draw, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the logistic distribution: ``loc + scale * log(u / (1 - u))``.

    Parameters
    ----------
    loc : float or array_like
        The mean.
    scale : float or array_like
        Not negative.
    """
    side = draw.centered()
    tail = side.abs()
    return loc + side.sign() * ((-tail).log1p() - tail.log()) * scale


@distribution(a="above 0")
def pareto(draw: Draw, a: Operand, size: Size = None) -> Tensor:
    """Draw from the Pareto II (Lomax) distribution of shape `a`, with support from 0.

    Parameters
    ----------
    a : float or array_like
        Above 0.
    """
    return (draw.exponentials() / a).expm1()


@distribution(a="above 0")
def power(draw: Draw, a: Operand, size: Size = None) -> Tensor:
    """Draw from the power distribution: density ``a * x**(a - 1)`` on [0, 1].

    Parameters
    ----------
    a : float or array_like
        Above 0.
    """
    return (-draw.exponentials() / a).exp()


@distribution(scale="at least 0")
def rayleigh(draw: Draw, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the Rayleigh distribution: the length of 2-D normal vectors.

    Parameters
    ----------
    scale : float or array_like
        The mode; not negative.
    """
    return (2 * draw.exponentials()).sqrt() * scale


@distribution()
def standard_cauchy(draw: Draw, size: Size = None) -> Tensor:
    """Draw from the standard Cauchy distribution, as tangents of uniform angles."""
    return 1 / (draw.centered() * math.pi).tan()


def _are_unordered(left: Any, mode: Any, right: Any) -> Any:
    return (left > mode) | (mode > right) | (left == right)


_ORDERED = Rule("needs left <= mode <= right and left < right", _are_unordered)


@distribution(_ORDERED, left="a number", mode="a number", right="a number")
def triangular(
    draw: Draw, left: Operand, mode: Operand, right: Operand, size: Size = None
) -> Tensor:
    """Draw from the triangular distribution from `left` to `right` with peak at `mode`.

    If a parameter is a tensor, their order is not checked.

    Parameters
    ----------
    left : float or array_like
        The lower limit; less than `right`.
    mode : float or array_like
        From `left` to `right`.
    right : float or array_like
        The upper limit.
    """
    u, base = draw.uniforms(), right - left
    below, above = mode - left, right - mode
    rising = left + (u * base * below).sqrt()
    return where(u * base < below, rising, right - ((1 - u) * base * above).sqrt())


@distribution(a="at least 0")
def weibull(draw: Draw, a: Operand, size: Size = None) -> Tensor:
    """Draw from the Weibull distribution of shape `a`; for shape 0, all numbers are 0.

    Uses inversion.

    Parameters
    ----------
    a : float or array_like
        Not negative.
    """
    drawn = draw.exponentials()
    if isinstance(a, Tensor):
        return where(a == 0, 0, drawn ** (1 / a))
    return drawn ** (1 / a) if a else drawn * 0


@distribution(gives=COUNTS, p="above 0 and up to 1")
def geometric(draw: Draw, p: Operand, size: Size = None) -> Tensor:
    """Draw from the geometric distribution: trials of probability `p` until one succeeds.

    Uses inversion. Larger numbers become 2147483520.

    Parameters
    ----------
    p : float or array_like
        Above 0 and up to 1.
    """
    rate = math.inf if not isinstance(p, Tensor) and p == 1 else -_log1p(-p)
    drawn = (draw.exponentials() / rate).ceil().maximum(1)
    return converted(drawn.minimum(_LARGEST), dtypes.int32)


@distribution(gives=COUNTS, p="from 0 to below 1")
def logseries(draw: Draw, p: Operand, size: Size = None) -> Tensor:
    """Draw from the logarithmic series distribution: P(k) is proportional to ``p**k / k``.

    A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables",
    Applied Statistics 30 (1981), algorithm LK.

    Parameters
    ----------
    p : float or array_like
        From 0 to below 1.
    """
    power = draw.uniforms() * _log1p(-p)
    # The formula for the logarithm depends on whether 1 - e**power or e**power is small.
    below = where(power > -0.6931472, (-power.expm1()).log(), (-power.exp()).log1p())
    drawn = (draw.exponentials() / -below).floor() + 1
    return converted(drawn.minimum(_LARGEST), dtypes.int32)


# -- From normal numbers ---------------------------------------------------------------------------


@distribution(mean="above 0", scale="above 0")
def wald(draw: Draw, mean: Operand, scale: Operand, size: Size = None) -> Tensor:
    """Draw from the Wald (inverse Gaussian) distribution.

    J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using
    transformations with multiple roots", The American Statistician 30 (1976). The roots are
    mean / r and mean * r.

    Parameters
    ----------
    mean : float or array_like
        Above 0.
    scale : float or array_like
        Above 0.
    """
    drawn = draw.normals()
    half = drawn * drawn * (mean / scale) / 2
    r = 1 + half + (half * (half + 2)).sqrt()
    return mean * where(draw.uniforms() * (1 + r) < r, 1 / r, r)


# -- From gamma variates ---------------------------------------------------------------------------


@distribution(shape="at least 0")
def standard_gamma(
    draw: Draw, shape: Operand, size: Size = None, dtype: object = None, out: Any = None
) -> Tensor:
    """Draw from the gamma distribution of scale 1.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM
    Transactions on Mathematical Software 26 (2000). For small shapes many numbers underflow to
    0.

    Parameters
    ----------
    shape : float or array_like
        Not negative.
    size, dtype, out : optional
        As in `random`.

    Returns
    -------
    Tensor
        float32, or of `dtype`.

    Raises
    ------
    TypeError
        If the dtype is not floating, or not the dtype of `out`.
    ValueError
        If a host value is negative, the size is not the shape of `out`, or `shape` does not
        broadcast to it.
    """
    return _gammas(draw, shape)


def _gammas(draw: Draw, shape: Any) -> Tensor:
    return _scaled(*gammas_and_powers(draw, shape))


def gammas_and_powers(draw: Draw, shape: Any) -> tuple[Tensor, Tensor | None]:
    """Return gamma variates and the logarithms of the factors by which to multiply them.

    For a shape a below 1, the variates have shape 1 + a and the factor is u**(1/a), which may
    underflow. None instead of logarithms means that all factors are 1.
    """
    if not isinstance(shape, Tensor):
        if shape >= 1:
            return draw.by(rejection.gamma_variate, shape), None
        drawn = draw.by(rejection.gamma_variate, shape + 1)
        return drawn, -draw.exponentials() / max(shape, _MIN_SHAPE)
    is_small = shape < 1
    drawn = draw.by(rejection.gamma_variate, where(is_small, shape + 1, shape))
    return drawn, where(is_small, -draw.exponentials() / shape.maximum(_MIN_SHAPE), 0)


def _quotients(draw: Draw, a: Any, b: Any) -> Tensor:
    """Return quotients of gamma variates of two shapes."""
    above, power = gammas_and_powers(draw, a)
    below, less = gammas_and_powers(draw, b)
    if less is not None:
        power = -less if power is None else power - less
    return _scaled(above / below, power)


def _scaled(x: Tensor, power: Tensor | None) -> Tensor:
    """Return ``x * exp(power)``."""
    return x if power is None else x * power.exp()


@distribution(shape="at least 0", scale="at least 0")
def gamma(draw: Draw, shape: Operand, scale: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the gamma distribution, with the algorithm of `standard_gamma`.

    Parameters
    ----------
    shape : float or array_like
        Not negative.
    scale : float or array_like
        Not negative.
    """
    return _gammas(draw, shape) * scale


@distribution(a="above 0", b="above 0")
def beta(draw: Draw, a: Operand, b: Operand, size: Size = None) -> Tensor:
    """Draw from the beta distribution on [0, 1]: x / (x + y) of gamma variates.

    Parameters
    ----------
    a : float or array_like
        Above 0.
    b : float or array_like
        Above 0.
    """
    return 1 / (1 + _quotients(draw, b, a))


@distribution(df="above 0")
def chisquare(draw: Draw, df: Operand, size: Size = None) -> Tensor:
    """Draw from the chi-square distribution: the sum of `df` squared normal variates.

    Computed as twice a gamma variate.

    Parameters
    ----------
    df : float or array_like
        Degrees of freedom, above 0.
    """
    return 2 * _gammas(draw, df / 2)


@distribution(dfnum="above 0", dfden="above 0")
def f(draw: Draw, dfnum: Operand, dfden: Operand, size: Size = None) -> Tensor:
    """Draw from Fisher's F distribution: the ratio of two mean squares.

    Parameters
    ----------
    dfnum : float or array_like
        Degrees of freedom of the numerator; above 0.
    dfden : float or array_like
        Degrees of freedom of the denominator; above 0.
    """
    return _quotients(draw, dfnum / 2, dfden / 2) * (dfden / dfnum)


@distribution(df="above 0")
def standard_t(draw: Draw, df: Operand, size: Size = None) -> Tensor:
    """Draw from Student's t distribution: a normal variate over the root of a mean square.

    Parameters
    ----------
    df : float or array_like
        Degrees of freedom, above 0.
    """
    drawn, power = gammas_and_powers(draw, df / 2)
    root = draw.normals() * (df / 2 / drawn).sqrt()
    return _scaled(root, None if power is None else power / -2)


@distribution(df="above 0", nonc="at least 0")
def noncentral_chisquare(draw: Draw, df: Operand, nonc: Operand, size: Size = None) -> Tensor:
    """Draw from the noncentral chi-square distribution, with Poisson degrees of freedom.

    N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate Distributions" 2, 1995.

    Parameters
    ----------
    df : float or array_like
        Degrees of freedom, above 0.
    nonc : float or array_like
        The sum of the squares of the means; not negative.
    """
    return _noncentral(draw, df, nonc)


def _noncentral(draw: Draw, df: Any, nonc: Any) -> Tensor:
    more = draw.by(rejection.poisson_variate, nonc / 2)
    return 2 * _gammas(draw, more + df / 2)


@distribution(dfnum="above 0", dfden="above 0", nonc="at least 0")
def noncentral_f(
    draw: Draw, dfnum: Operand, dfden: Operand, nonc: Operand, size: Size = None
) -> Tensor:
    """Draw from the noncentral F distribution: its numerator is `noncentral_chisquare`.

    Parameters
    ----------
    dfnum : float or array_like
        Degrees of freedom of the numerator; above 0.
    dfden : float or array_like
        Degrees of freedom of the denominator; above 0.
    nonc : float or array_like
        As in `noncentral_chisquare`.
    """
    below = 2 * _gammas(draw, dfden / 2)
    return _noncentral(draw, dfnum, nonc) * (dfden / dfnum) / below


@distribution(gives=COUNTS, n="above 0", p="above 0 and up to 1")
def negative_binomial(draw: Draw, n: Operand, p: Operand, size: Size = None) -> Tensor:
    """Draw from the negative binomial distribution: failures before `n` successes.

    Parameters
    ----------
    n : float or array_like
        Above 0; not necessarily an integer.
    p : float or array_like
        Above 0 and up to 1.
    """
    rates = _gammas(draw, n) * ((1 - p) / p)
    return draw.by(rejection.poisson_variate, rates.minimum(_MAX_RATE))


# -- By rejection ----------------------------------------------------------------------------------


@distribution(mu="a number", kappa="at least 0")
def vonmises(draw: Draw, mu: Operand, kappa: Operand, size: Size = None) -> Tensor:
    """Draw angles from -pi to pi from the von Mises distribution with mode `mu`.

    D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", Applied
    Statistics 28 (1979).

    Parameters
    ----------
    mu : float or array_like
        The mode.
    kappa : float or array_like
        The concentration; 0 is uniform; not negative.
    """
    angle = draw.by(rejection.vonmises_variate, kappa)
    if not isinstance(mu, Tensor) and not mu:
        return angle
    turned = (angle + mu + math.pi) % (2 * math.pi) - math.pi
    return turned.maximum(-math.pi).minimum(math.pi)


@distribution(gives=COUNTS, lam="from 0 to 2147020237")
def poisson(draw: Draw, lam: Operand = 1.0, size: Size = None) -> Tensor:
    """Draw from the Poisson distribution of rate `lam`.

    Uses inversion for small rates, else the method PTRS of W. Hörmann, "The transformed
    rejection method for generating Poisson random variables", Insurance: Mathematics and
    Economics 12 (1993).

    Parameters
    ----------
    lam : float or array_like
        From 0 to 2147020237, so that results fit int32.
    """
    return draw.by(rejection.poisson_variate, _least(lam, _MAX_RATE))


@distribution(gives=COUNTS, n="an int from 0 to 2147483647", p="from 0 to 1")
def binomial(draw: Draw, n: Operand, p: Operand, size: Size = None) -> Tensor:
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
    return binomials(draw, as_int(n), p)


def binomials(draw: Draw, n: Any, p: Any) -> Tensor:
    """Draw binomial counts; the kernel counts the rarer outcome, for which it is designed."""
    count = draw.by(rejection.binomial_variate, n, _least(p, 1 - p))
    if isinstance(p, Tensor):
        return where(p <= 0.5, count, n - count)
    return count if p <= 0.5 else n - count


@distribution(gives=COUNTS, a="above 1")
def zipf(draw: Draw, a: Operand, size: Size = None) -> Tensor:
    """Draw from the Zipf distribution: P(k) is proportional to ``k**-a``.

    L. Devroye, "Non-Uniform Random Variate Generation", 1986, X.6.1. Numbers that do not fit
    int32 are drawn again.

    Parameters
    ----------
    a : float or array_like
        Above 1.
    """
    return draw.by(rejection.zipf_variate, a - 1)


def _exceeds(good: Any, bad: Any, sample: Any) -> Any:
    return sample > good + bad


@distribution(
    Rule("nsample must not be above ngood + nbad", _exceeds),
    ngood="an int from 0 to below 1000000000",
    nbad="an int from 0 to below 1000000000",
    nsample="an int from 0 to 2147483647",
    gives=COUNTS,
)
def hypergeometric(
    draw: Draw, ngood: Operand, nbad: Operand, nsample: Operand, size: Size = None
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
    return hypergeometrics(draw, as_int(ngood), as_int(nbad), as_int(nsample))


def hypergeometrics(draw: Draw, good: Any, bad: Any, sample: Any) -> Tensor:
    """Draw hypergeometric counts.

    The kernel counts the rarer kind, in the smaller of the sample and the remaining items.
    """
    total = good + bad
    kind, taken, items = _least(good, bad), _least(sample, total - sample), _least_one(total)
    product, divisor = _wide(kind) * _wide(taken), _wide(items)
    rest = product % divisor
    fraction = (converted(rest, draw.dtype) if isinstance(rest, Tensor) else rest) / items
    whole = product // divisor
    count = draw.by(rejection.hypergeometric_variate, kind, taken, total, whole, fraction)
    count = _choose(sample > total - sample, kind - count, count)
    return _choose(good > bad, sample - count, count)


def as_int(value: Any) -> Any:
    return converted(value, dtypes.int32) if isinstance(value, Tensor) else int(value)


def _wide(value: Any) -> Any:
    return converted(value, dtypes.int64) if isinstance(value, Tensor) else value


def _least(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return minimum(a, b)
    return min(a, b)


def _least_one(a: Any) -> Any:
    return a.maximum(1) if isinstance(a, Tensor) else max(a, 1)


def _choose(condition: Any, x: Any, y: Any) -> Any:
    """Apply `where`, on the host if the condition is a host value."""
    return where(condition, x, y) if isinstance(condition, Tensor) else x if condition else y


def _log1p(x: Any) -> Any:
    return x.log1p() if isinstance(x, Tensor) else math.log1p(x)
