"""Multivariate distributions, with NumPy's names and parameters."""

from __future__ import annotations

import math
from typing import Any
from warnings import warn

from py_tensor import dtypes
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import zeros
from py_tensor.ops.elementwise import abs, exp, maximum, minimum, sqrt, where
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import broadcast_to, concat, converted, flip, stack, swapaxes
from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.ops.reduction import all, max, sum
from py_tensor.ops.scan import cumsum
from py_tensor.random.discrete import COUNT, KIND, Discrete, as_int
from py_tensor.random.parameters import (
    ANY,
    CHANCE,
    NOT_NEGATIVE,
    Draw,
    Size,
    checked,
    count_of,
    draw_of,
    sized,
)
from py_tensor.shapes import broadcast, parse_shape
from py_tensor.tensor import Tensor, tensor_of

_NEAR = 1e-5  # the tolerance for sums of float32 probabilities


class Multivariate(Discrete):
    """Methods of `Generator` for multivariate distributions."""

    def dirichlet(self, alpha: Operand, size: Size = None) -> Tensor:
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
        draw = draw_of("dirichlet", None, ("alpha", alpha, NOT_NEGATIVE))
        (alpha,) = draw.values
        if not isinstance(alpha, Tensor) or alpha.ndim != 1:
            raise ShapeError(f"dirichlet: alpha must be a vector, not of shape {draw.shape}")
        draw = draw._replace(shape=(*_size("dirichlet", size), *alpha.shape))
        drawn, power = self._gammas_and_powers(draw, alpha)
        if power is not None:  # relative to the largest factor of a vector, so the sum is not 0
            drawn = drawn * exp(power - max(power, -1, keepdims=True)) if drawn.size else drawn
        return drawn / sum(drawn, -1, keepdims=True)

    def multinomial(self, n: Operand, pvals: Operand, size: Size = None) -> Tensor:
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
        (left, chances), device, dtype = checked(op, ("n", n, COUNT), ("pvals", pvals, CHANCE))
        if not getattr(chances, "ndim", 0) or not chances.shape[-1]:
            raise ShapeError(f"{op}: pvals must have at least one outcome along the last axis")
        if not isinstance(pvals, Tensor):
            _check_sums(pvals)
        left = as_int(left)
        shape = sized(op, size, broadcast(op, getattr(left, "shape", ()), chances.shape[:-1]))
        draw = Draw((), shape, device, dtype)
        # The conditional probability of each outcome among the remaining ones. Sums from the end
        # avoid cancellation. They start with the given last probability if the total is 1.
        first, last = chances[..., :-1], chances[..., -1:]
        rest = 1 - sum(first, -1, keepdims=True)
        last = where(abs(rest - last) < _NEAR, last, maximum(rest, 0))
        chances = concat([first, last], -1)
        behind = flip(cumsum(flip(chances, -1), -1), -1)
        shares = minimum(where(behind > 0, chances / behind, 0), 1)
        counts: list[Tensor] = []
        for outcome in range(chances.shape[-1] - 1):
            counts.append(self._binomials(draw, left, shares[..., outcome]))
            left = left - counts[-1]
        left = tensor_of(left, op, device=device)
        counts.append(broadcast_to(converted(left, dtypes.int32), shape))
        return stack(counts, -1)

    def multivariate_hypergeometric(
        self, colors: Operand, nsample: int, size: Size = None, method: str = "marginals"
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
        if method not in ("marginals", "count"):
            raise ValueError(f"{op}: method must be 'marginals' or 'count', not {method!r}")
        numbers, shape = numbers_of(op, colors)
        if len(shape) != 1:
            raise ShapeError(f"{op}: colors must be a vector, not of shape {shape}")
        broken = [color for color in numbers if KIND.is_broken(color) or color % 1]
        if broken:
            raise ValueError(f"{op}: colors must be ints {KIND.words}, not {broken[0]}")
        left: Any = count_of(op, "nsample", nsample)
        total = math.fsum(numbers)
        if left > total or total >= 2**31:
            raise ValueError(
                f"{op}: nsample must be at most sum(colors), which must be below 2**31"
            )
        draw = draw_of(op, size)
        if isinstance(colors, Tensor):
            draw = draw._replace(device=colors.device)
        counts: list[Tensor] = []
        behind = int(total)
        for color in map(int, numbers[:-1]):
            behind -= color
            counts.append(self._hypergeometrics(draw, color, behind, left))
            left = left - counts[-1]
        last = broadcast_to(tensor_of(left, op, device=draw.device), draw.shape)
        return (
            stack([*counts, last], -1)
            if numbers
            else zeros((*draw.shape, 0), dtypes.int32, device=draw.device)
        )

    def multivariate_normal(
        self,
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
        from py_tensor.linalg import LinAlgError

        op = "multivariate_normal"
        for name, value, known in (
            ("method", method, ("svd", "eigh", "cholesky")),
            ("check_valid", check_valid, ("warn", "raise", "ignore")),
        ):
            if value not in known:
                raise ValueError(f"{op}: {name} must be one of {known}, not {value!r}")
        draw = draw_of(op, None, ("mean", mean, ANY), ("cov", cov, ANY))
        mean = tensor_of(draw.values[0], op, device=draw.device)
        shape = getattr(draw.values[1], "shape", ())
        if mean.ndim != 1 or shape != (mean.size, mean.size):
            raise ShapeError(
                f"{op}: mean of shape {mean.shape} does not match cov of shape {shape}"
            )
        known = not isinstance(cov, Tensor)
        matrix = tensor_of(cov, op, dtype=dtypes.float64, device=_cpu()) if known else cov
        try:
            root = _root(matrix, method)
        except LinAlgError:
            raise LinAlgError(f"{op}: cov is not positive definite or contains NaN") from None
        if check_valid == "raise" or (known and check_valid == "warn"):
            _check_covariance(matrix, root, tol, check_valid)
        root = tensor_of(root, op, dtype=draw.dtype, device=draw.device)
        drawn = self._normals(draw._replace(shape=(*_size(op, size), mean.size)))
        if not drawn.size:
            return drawn
        rows = matmul(drawn.reshape(-1, mean.size), swapaxes(root, 0, 1))
        return rows.reshape(drawn.shape) + mean


def _size(op: str, size: Size) -> Any:
    return () if size is None else parse_shape(op, size)


def _check_sums(pvals: Operand) -> None:
    """Raise ValueError if the probabilities of all outcomes but the last sum to more than 1."""
    numbers, shape = numbers_of("multinomial", pvals)
    for start in range(0, len(numbers), shape[-1] or 1):
        total = 0.0
        for number in numbers[start : start + shape[-1] - 1]:
            total += number
        if total > 1 + 1e-6:  # allows for the rounding of float32 probabilities
            raise ValueError(f"multinomial: the sum of pvals[:-1] must be at most 1, not {total}")


def _cpu() -> Any:
    from py_tensor.backend.choice import parse

    return parse("cpu")


def _root(matrix: Tensor, method: str) -> Tensor:
    """Return a square root: a matrix whose product with its transpose is the given matrix."""
    from py_tensor import linalg

    if method == "cholesky":
        return linalg.cholesky(matrix)
    if method == "eigh":
        values, vectors = linalg.eigh(matrix)
        return vectors * sqrt(maximum(values, 0))
    left, values, _ = linalg.svd(matrix)
    return left * sqrt(values)


def _check_covariance(matrix: Tensor, root: Tensor, tol: float, check_valid: str) -> None:
    """Raise an error or warn unless a matrix is the product of a root and its transpose."""
    off = abs(matmul(root, swapaxes(root, 0, 1)) - matrix)
    if not bool(all(off <= tol + tol * abs(matrix))):
        words = "multivariate_normal: cov is not symmetric positive-semidefinite"
        if check_valid == "raise":
            raise ValueError(words)
        warn(words, RuntimeWarning, stacklevel=3)
