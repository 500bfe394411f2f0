"""Distributions, with NumPy's names and parameters, each defined by one entry.

An entry has the rules of the parameters, the dtype, and how the numbers are drawn from those of a
`Draw`: by inversion, by a transform, or by a kernel of `rejection`. Counts are int32; larger ones
become 2147483520, the largest int32 that float32 can represent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any
from warnings import warn

from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.shapes import broadcast
from py_tensor.ops.creation import zeros
from py_tensor.ops.elementwise import maximum, minimum, where
from py_tensor.ops.movement import broadcast_to, concat, converted, stack
from py_tensor.ops.operands import Operand, numbers_of, whole_number
from py_tensor.ops.transcendental import log1p
from py_tensor.random import rejection
from py_tensor.random.define import COUNTS, Draw, Rule, Size, checked, distribution, draw_of, sized
from py_tensor.random.generator import Core
from py_tensor.tensors.tensor import Tensor, tensor_of

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
    kind, taken, items = _least(good, bad), _least(sample, total - sample), _most(total, 1)
    product, divisor = _wide(kind) * _wide(taken), _wide(items)
    rest = product % divisor
    fraction = (converted(rest, draw.dtype) if isinstance(rest, Tensor) else rest) / items
    whole = product // divisor
    count = draw.by(rejection.hypergeometric_variate, kind, taken, total, whole, fraction)
    count = _choose(sample > total - sample, kind - count, count)
    return _choose(good > bad, sample - count, count)


def _by_kind(of_tensors: Callable[..., Tensor], of_numbers: Callable[..., Any]) -> Any:
    """Return a function that applies one function if it gets a tensor, and else the other."""

    def function(*values: Any) -> Any:
        has_tensor = any(isinstance(value, Tensor) for value in values)
        return of_tensors(*values) if has_tensor else of_numbers(*values)

    return function


as_int = _by_kind(partial(converted, dtype=dtypes.int32), int)
_wide = _by_kind(partial(converted, dtype=dtypes.int64), int)
_least, _most = _by_kind(minimum, min), _by_kind(maximum, max)
_log1p = _by_kind(log1p, math.log1p)


def _choose(condition: Any, x: Any, y: Any) -> Any:
    """Apply `where`, on the host if the condition is a host value."""
    return where(condition, x, y) if isinstance(condition, Tensor) else x if condition else y


# -- Distributions of vectors --------------------------------------------------------------------

_NEAR = 1e-5  # the tolerance for sums of float32 probabilities


def dirichlet(self: Core, alpha: Operand, size: Size = None) -> Tensor:
    """Draw from the Dirichlet distribution, as normalized gamma variates.

    Parameters
    ----------
    alpha : array_like
        A vector of nonnegative numbers.
    size : int or tuple of ints, optional
        The shape of the result without its last axis, which holds the vectors.

    Returns
    -------
    Tensor
        float32, or float64 if `alpha` is.

    Raises
    ------
    ValueError
        If a number is negative or `alpha` is not a vector.
    """
    draw, (alpha,) = draw_of(self, "dirichlet", None, ("alpha", alpha, "at least 0"))
    if not isinstance(alpha, Tensor) or alpha.ndim != 1:
        raise ShapeError(f"dirichlet: alpha must be a vector, not of shape {draw.shape}")
    draw = draw._replace(shape=(*sized("dirichlet", size, ()), *alpha.shape))
    drawn, power = gammas_and_powers(draw, alpha)
    if power is not None:  # relative to the largest factor of a vector, so the sum is not 0
        drawn = drawn * (power - power.max(-1, keepdims=True)).exp() if drawn.size else drawn
    return drawn / drawn.sum(-1, keepdims=True)


def multinomial(self: Core, n: Operand, pvals: Operand, size: Size = None) -> Tensor:
    """Draw from the multinomial distribution: counts (int32) of outcomes in `n` experiments.

    Outcomes are along the last axis of `pvals` and of the result; the other axes broadcast with
    `n`. The last outcome has the remaining probability. Each count is binomial among the
    remaining experiments (Devroye, "Non-Uniform Random Variate Generation", 1986, XI.1.2): one
    kernel for each outcome.

    Parameters
    ----------
    n : int or array_like
        From 0 to 2147483647.
    pvals : array_like
        From 0 to 1; their sum is 1.
    size : int or tuple of ints, optional
        The shape of the result without its last axis; by default the broadcast shape of `n` and
        the other axes of `pvals`.

    Raises
    ------
    ValueError
        If host values other than the last sum to more than 1, or there is no outcome.
    """
    op = "multinomial"
    trials = "n", n, "an int from 0 to 2147483647"
    (left, chances), device, dtype = checked(op, trials, ("pvals", pvals, "from 0 to 1"))
    if not getattr(chances, "ndim", 0) or not chances.shape[-1]:
        raise ShapeError(f"{op}: pvals must have at least one outcome along the last axis")
    if not isinstance(pvals, Tensor):
        _check_sums(pvals)
    left = as_int(left)
    shape = sized(op, size, broadcast(op, getattr(left, "shape", ()), chances.shape[:-1]))
    draw = Draw(self.bit_generator, shape, device, dtype)
    # The conditional probability of each outcome among the remaining ones. Sums from the end
    # avoid cancellation. They start with the given last probability if the total is 1.
    first, last = chances[..., :-1], chances[..., -1:]
    rest = 1 - first.sum(-1, keepdims=True)
    last = where(abs(rest - last) < _NEAR, last, rest.maximum(0))
    chances = concat([first, last], -1)
    behind = chances.flip(-1).cumsum(-1).flip(-1)
    shares = where(behind > 0, chances / behind, 0).minimum(1)
    counts: list[Tensor] = []
    for outcome in range(chances.shape[-1] - 1):
        counts.append(binomials(draw, left, shares[..., outcome]))
        left = left - counts[-1]
    left = tensor_of(left, op, device=device)
    counts.append(broadcast_to(converted(left, dtypes.int32), shape))
    return stack(counts, -1)


def multivariate_hypergeometric(
    self: Core, colors: Operand, nsample: int, size: Size = None, method: str = "marginals"
) -> Tensor:
    """Draw from the multivariate hypergeometric distribution: counts (int32) of each color.

    Each count is hypergeometric among the remaining items: one kernel for each color.

    Parameters
    ----------
    colors : array_like
        A vector of ints below 10**9: the number of items of each color. A tensor is read.
    nsample : int
        The number of items drawn, without replacement.
    size : int or tuple of ints, optional
        The shape of the result without its last axis, which holds the colors.
    method : {"marginals", "count"}
        Accepted; has no effect.

    Raises
    ------
    ValueError
        If `nsample` exceeds the number of items, a color is 10**9 or more or has a fraction, or
        the method is unknown.
    """
    op = "multivariate_hypergeometric"
    check_option(op, "method", method, ("marginals", "count"))
    numbers, shape = numbers_of(op, colors)
    if len(shape) != 1:
        raise ShapeError(f"{op}: colors must be a vector, not of shape {shape}")
    checked(op, ("each color", numbers, "an int from 0 to below 1000000000"))
    left: Any = whole_number(op, "nsample", nsample, 0)
    total = math.fsum(numbers)
    if left > total or total >= 2**31:
        raise ValueError(f"{op}: nsample must be at most sum(colors), which must be below 2**31")
    draw, _ = draw_of(self, op, size)
    if isinstance(colors, Tensor):
        draw = draw._replace(device=colors.device)
    counts: list[Tensor] = []
    behind = int(total)
    for color in map(int, numbers[:-1]):
        behind -= color
        counts.append(hypergeometrics(draw, color, behind, left))
        left = left - counts[-1]
    last = broadcast_to(tensor_of(left, op, device=draw.device), draw.shape)
    if not numbers:
        return zeros((*draw.shape, 0), dtypes.int32, device=draw.device)
    return stack([*counts, last], -1)


def multivariate_normal(
    self: Core,
    mean: Operand,
    cov: Operand,
    size: Size = None,
    check_valid: str = "warn",
    tol: float = 1e-8,
    *,
    method: str = "svd",
) -> Tensor:
    """Draw from the multivariate normal distribution with a mean and a covariance matrix.

    Parameters
    ----------
    mean, cov : array_like
        A vector of n numbers, and a symmetric matrix of n by n.
    size : int or tuple of ints, optional
        The shape of the result without its last axis, which holds the n numbers.
    check_valid : {"warn", "raise", "ignore"}
        What to do if `cov` is not symmetric or has a negative eigenvalue, within `tol`. A
        tensor is read only for "raise".
    method : {"svd", "eigh", "cholesky"}
        How to find a square root of the matrix; host values use float64 on the host.

    Raises
    ------
    ValueError
        If `method` or `check_valid` is unknown, or the shapes do not match.
    LinAlgError
        With "cholesky", if a matrix on the host or the cpu device is not positive definite.
    """
    from py_tensor.linalg.decompositions import LinAlgError

    op = "multivariate_normal"
    check_option(op, "method", method, ("svd", "eigh", "cholesky"))
    check_option(op, "check_valid", check_valid, ("warn", "raise", "ignore"))
    draw, values = draw_of(self, op, None, ("mean", mean, "a number"), ("cov", cov, "a number"))
    mean = tensor_of(values[0], op, device=draw.device)
    shape = getattr(values[1], "shape", ())
    if mean.ndim != 1 or shape != (mean.size, mean.size):
        raise ShapeError(f"{op}: mean of shape {mean.shape} does not match cov of shape {shape}")
    known = not isinstance(cov, Tensor)
    matrix = tensor_of(cov, op, dtype=dtypes.float64, device=parse("cpu")) if known else cov
    try:
        root = _root(matrix, method)
    except LinAlgError:
        raise LinAlgError(f"{op}: cov is not positive definite or contains NaN") from None
    if check_valid == "raise" or (known and check_valid == "warn"):
        _check_covariance(matrix, root, tol, check_valid)
    root = tensor_of(root, op, dtype=draw.dtype, device=draw.device)
    drawn = draw._replace(shape=(*sized(op, size, ()), mean.size)).normals()
    if not drawn.size:
        return drawn
    return (drawn.reshape(-1, mean.size) @ root.swapaxes(0, 1)).reshape(drawn.shape) + mean


def _check_sums(pvals: Operand) -> None:
    """Raise ValueError if the probabilities of all outcomes but the last sum to more than 1."""
    numbers, shape = numbers_of("multinomial", pvals)
    for start in range(0, len(numbers), shape[-1] or 1):
        total = math.fsum(numbers[start : start + shape[-1] - 1])
        if total > 1 + 1e-6:  # allows for the rounding of float32 probabilities
            raise ValueError(f"multinomial: the sum of pvals[:-1] must be at most 1, not {total}")


def _root(matrix: Tensor, method: str) -> Tensor:
    """Return a square root: a matrix whose product with its transpose is the given matrix."""
    from py_tensor import linalg

    if method == "cholesky":
        return linalg.cholesky(matrix)
    if method == "eigh":
        values, vectors = linalg.eigh(matrix)
        return vectors * values.maximum(0).sqrt()
    left, values, _ = linalg.svd(matrix)
    return left * values.sqrt()


def _check_covariance(matrix: Tensor, root: Tensor, tol: float, check_valid: str) -> None:
    """Raise an error or warn unless a matrix is the product of a root and its transpose."""
    off = abs(root @ root.swapaxes(0, 1) - matrix)
    if not bool((off <= tol + tol * abs(matrix)).all()):
        words = "multivariate_normal: cov is not symmetric positive-semidefinite"
        if check_valid == "raise":
            raise ValueError(words)
        warn(words, RuntimeWarning, stacklevel=3)
