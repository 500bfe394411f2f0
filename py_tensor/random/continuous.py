"""Continuous distributions, with NumPy's names and parameters.

Parameters are numbers, lists, arrays or tensors, and broadcast. Values on the host are checked.
Elements of tensors are not checked: invalid ones give NaN or an arbitrary number. Results have the
default dtype, or float64 if a parameter is float64.
"""

from __future__ import annotations

import math
from typing import Any

from py_tensor.ops.elementwise import (
    abs,
    exp,
    log,
    maximum,
    minimum,
    remainder,
    sign,
    sqrt,
    tan,
    where,
)
from py_tensor.ops.operands import Operand
from py_tensor.ops.transcendental import expm1, log1p
from py_tensor.random.core import Core
from py_tensor.random.parameters import (
    ANY,
    FLOATS,
    NOT_NEGATIVE,
    POSITIVE,
    Draw,
    Size,
    check_together,
    distribution,
    draw_of,
)
from py_tensor.random.rejection import GAMMA, POISSON, VONMISES
from py_tensor.tensor import Tensor

_MIN_SHAPE = 1e-30  # smaller shapes of gamma variates are equivalent to 0


class Continuous(Core):
    """Methods of `Generator` for continuous distributions."""

    # -- By inversion ------------------------------------------------------------------------------

    @distribution(FLOATS)
    def gumbel(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the Gumbel distribution: ``loc - scale * log(exponential)``.

        Parameters
        ----------
        loc : float or array_like
            The mode.
        scale : float or array_like
            Not negative.
        """
        draw = draw_of("gumbel", size, ("loc", loc, ANY), ("scale", scale, NOT_NEGATIVE))
        loc, scale = draw.values
        return loc - log(self._exponentials(draw)) * scale

    @distribution(FLOATS)
    def laplace(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the Laplace distribution: exponential on both sides of `loc`.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            The mean absolute deviation; not negative.
        """
        draw = draw_of("laplace", size, ("loc", loc, ANY), ("scale", scale, NOT_NEGATIVE))
        loc, scale = draw.values
        side = self._centered(draw)
        return loc - sign(side) * log(2 * abs(side)) * scale

    @distribution(FLOATS)
    def logistic(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the logistic distribution: ``loc + scale * log(u / (1 - u))``.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            Not negative.
        """
        draw = draw_of("logistic", size, ("loc", loc, ANY), ("scale", scale, NOT_NEGATIVE))
        loc, scale = draw.values
        side = self._centered(draw)
        tail = abs(side)
        return loc + sign(side) * (log1p(-tail) - log(tail)) * scale

    @distribution(FLOATS)
    def pareto(self, a: Operand, size: Size = None) -> Tensor:
        """Draw from the Pareto II (Lomax) distribution of shape `a`, with support from 0.

        Parameters
        ----------
        a : float or array_like
            Above 0.
        """
        draw = draw_of("pareto", size, ("a", a, POSITIVE))
        return expm1(self._exponentials(draw) / draw.values[0])

    @distribution(FLOATS)
    def power(self, a: Operand, size: Size = None) -> Tensor:
        """Draw from the power distribution: density ``a * x**(a - 1)`` on [0, 1].

        Parameters
        ----------
        a : float or array_like
            Above 0.
        """
        draw = draw_of("power", size, ("a", a, POSITIVE))
        return exp(-self._exponentials(draw) / draw.values[0])

    @distribution(FLOATS)
    def rayleigh(self, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the Rayleigh distribution: the length of 2-D normal vectors.

        Parameters
        ----------
        scale : float or array_like
            The mode; not negative.
        """
        draw = draw_of("rayleigh", size, ("scale", scale, NOT_NEGATIVE))
        return sqrt(2 * self._exponentials(draw)) * draw.values[0]

    def standard_cauchy(self, size: Size = None) -> Tensor:
        """Draw from the standard Cauchy distribution, as tangents of uniform angles.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result, float32.
        """
        return 1 / tan(self._centered(draw_of("standard_cauchy", size)) * math.pi)

    @distribution(FLOATS)
    def triangular(self, left: Operand, mode: Operand, right: Operand, size: Size = None) -> Tensor:
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
        check_together(
            "triangular",
            "needs left <= mode <= right and left < right",
            lambda a, b, c: (a > b) | (b > c) | (a == c),
            *(left, mode, right),
        )
        draw = draw_of(
            "triangular", size, ("left", left, ANY), ("mode", mode, ANY), ("right", right, ANY)
        )
        left, mode, right = draw.values
        u, base = self._uniforms(draw), right - left
        below, above = mode - left, right - mode
        rising = left + sqrt(u * base * below)
        return where(u * base < below, rising, right - sqrt((1 - u) * base * above))

    @distribution(FLOATS)
    def weibull(self, a: Operand, size: Size = None) -> Tensor:
        """Draw from the Weibull distribution of shape `a`; for shape 0, all numbers are 0.

        Uses inversion.

        Parameters
        ----------
        a : float or array_like
            Not negative.
        """
        draw = draw_of("weibull", size, ("a", a, NOT_NEGATIVE))
        (a,) = draw.values
        drawn = self._exponentials(draw)
        if not isinstance(a, Tensor):
            return drawn ** (1 / a) if a else drawn * 0
        return where(a == 0, 0, drawn ** (1 / a))

    # -- From normal numbers ----------------------------------------------------------------------

    @distribution(FLOATS)
    def wald(self, mean: Operand, scale: Operand, size: Size = None) -> Tensor:
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
        draw = draw_of("wald", size, ("mean", mean, POSITIVE), ("scale", scale, POSITIVE))
        mean, scale = draw.values
        drawn = self._normals(draw)
        half = drawn * drawn * (mean / scale) / 2
        r = 1 + half + sqrt(half * (half + 2))
        return mean * where(self._uniforms(draw) * (1 + r) < r, 1 / r, r)

    # -- From gamma variates ----------------------------------------------------------------------

    def standard_gamma(
        self, shape: Operand, size: Size = None, dtype: object = None, out: Any = None
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
        given = ("shape", shape, NOT_NEGATIVE)

        def fill(draw: Draw) -> Tensor:
            return self._gammas(draw, draw.values[0])

        return self._filled("standard_gamma", fill, size, dtype, out, given)

    def _gammas(self, draw: Draw, shape: Any) -> Tensor:
        return _scaled(*self._gammas_and_powers(draw, shape))

    def _gammas_and_powers(self, draw: Draw, shape: Any) -> tuple[Tensor, Tensor | None]:
        """Return gamma variates and the logarithms of the factors by which to multiply them.

        For a shape a below 1, the variates have shape 1 + a and the factor is u**(1/a), which may
        underflow. None instead of logarithms means that all factors are 1.
        """
        if not isinstance(shape, Tensor):
            if shape >= 1:
                return self._drawn_by(GAMMA, draw, shape), None
            drawn = self._drawn_by(GAMMA, draw, shape + 1)
            return drawn, -self._exponentials(draw) / max(shape, _MIN_SHAPE)
        is_small = shape < 1
        drawn = self._drawn_by(GAMMA, draw, where(is_small, shape + 1, shape))
        return drawn, where(is_small, -self._exponentials(draw) / maximum(shape, _MIN_SHAPE), 0)

    def _quotients(self, draw: Draw, a: Any, b: Any) -> tuple[Tensor, Tensor | None]:
        """Return the quotient of gamma variates of two shapes, and the logarithm of its factor."""
        above, power = self._gammas_and_powers(draw, a)
        below, less = self._gammas_and_powers(draw, b)
        if less is not None:
            power = -less if power is None else power - less
        return above / below, power

    @distribution(FLOATS)
    def gamma(self, shape: Operand, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the gamma distribution, with the algorithm of `standard_gamma`.

        Parameters
        ----------
        shape : float or array_like
            Not negative.
        scale : float or array_like
            Not negative.
        """
        draw = draw_of(
            "gamma", size, ("shape", shape, NOT_NEGATIVE), ("scale", scale, NOT_NEGATIVE)
        )
        shape, scale = draw.values
        return self._gammas(draw, shape) * scale

    @distribution(FLOATS)
    def beta(self, a: Operand, b: Operand, size: Size = None) -> Tensor:
        """Draw from the beta distribution on [0, 1]: x / (x + y) of gamma variates.

        Parameters
        ----------
        a : float or array_like
            Above 0.
        b : float or array_like
            Above 0.
        """
        draw = draw_of("beta", size, ("a", a, POSITIVE), ("b", b, POSITIVE))
        a, b = draw.values
        return 1 / (1 + _scaled(*self._quotients(draw, b, a)))

    @distribution(FLOATS)
    def chisquare(self, df: Operand, size: Size = None) -> Tensor:
        """Draw from the chi-square distribution: the sum of `df` squared normal variates.

        Computed as twice a gamma variate.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.
        """
        draw = draw_of("chisquare", size, ("df", df, POSITIVE))
        return 2 * self._gammas(draw, draw.values[0] / 2)

    @distribution(FLOATS)
    def f(self, dfnum: Operand, dfden: Operand, size: Size = None) -> Tensor:
        """Draw from Fisher's F distribution: the ratio of two mean squares.

        Parameters
        ----------
        dfnum : float or array_like
            Degrees of freedom of the numerator; above 0.
        dfden : float or array_like
            Degrees of freedom of the denominator; above 0.
        """
        draw = draw_of("f", size, ("dfnum", dfnum, POSITIVE), ("dfden", dfden, POSITIVE))
        dfnum, dfden = draw.values
        return _scaled(*self._quotients(draw, dfnum / 2, dfden / 2)) * (dfden / dfnum)

    @distribution(FLOATS)
    def standard_t(self, df: Operand, size: Size = None) -> Tensor:
        """Draw from Student's t distribution: a normal variate over the root of a mean square.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.
        """
        draw = draw_of("standard_t", size, ("df", df, POSITIVE))
        half = draw.values[0] / 2
        drawn, power = self._gammas_and_powers(draw, half)
        found = self._normals(draw) * sqrt(half / drawn)
        return _scaled(found, None if power is None else power / -2)

    @distribution(FLOATS)
    def noncentral_chisquare(self, df: Operand, nonc: Operand, size: Size = None) -> Tensor:
        """Draw from the noncentral chi-square distribution, with Poisson degrees of freedom.

        N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate Distributions" 2, 1995.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.
        nonc : float or array_like
            The sum of the squares of the means; not negative.
        """
        draw = draw_of(
            "noncentral_chisquare", size, ("df", df, POSITIVE), ("nonc", nonc, NOT_NEGATIVE)
        )
        return self._noncentral(draw, *draw.values)

    def _noncentral(self, draw: Draw, df: Any, nonc: Any) -> Tensor:
        more = self._drawn_by(POISSON, draw, nonc / 2)
        return 2 * self._gammas(draw, more + df / 2)

    @distribution(FLOATS)
    def noncentral_f(
        self, dfnum: Operand, dfden: Operand, nonc: Operand, size: Size = None
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
        draw = draw_of(
            "noncentral_f",
            size,
            ("dfnum", dfnum, POSITIVE),
            ("dfden", dfden, POSITIVE),
            ("nonc", nonc, NOT_NEGATIVE),
        )
        dfnum, dfden, nonc = draw.values
        below = 2 * self._gammas(draw, dfden / 2)
        return self._noncentral(draw, dfnum, nonc) * (dfden / dfnum) / below

    # -- On the circle ----------------------------------------------------------------------------

    @distribution(FLOATS)
    def vonmises(self, mu: Operand, kappa: Operand, size: Size = None) -> Tensor:
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
        draw = draw_of("vonmises", size, ("mu", mu, ANY), ("kappa", kappa, NOT_NEGATIVE))
        mu, kappa = draw.values
        found = self._drawn_by(VONMISES, draw, kappa)
        if not isinstance(mu, Tensor) and not mu:
            return found
        turned = remainder(found + mu + math.pi, 2 * math.pi) - math.pi
        return minimum(maximum(turned, -math.pi), math.pi)


def _scaled(x: Tensor, power: Tensor | None) -> Tensor:
    """Return ``x * exp(power)``."""
    return x if power is None else x * exp(power)
