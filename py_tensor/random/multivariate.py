"""Multivariate distributions, with NumPy's names and parameters."""

from __future__ import annotations

import math
from typing import Any
from warnings import warn

from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.shapes import broadcast
from py_tensor.ops.creation import zeros
from py_tensor.ops.elementwise import where
from py_tensor.ops.movement import broadcast_to, concat, converted, stack
from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.random.define import RULES, Draw, Size, checked, draw_of, sized
from py_tensor.random.distributions import as_int, binomials, gammas_and_powers, hypergeometrics
from py_tensor.random.generator import Core
from py_tensor.random.seed_sequence import count_of
from py_tensor.tensors.tensor import Tensor, tensor_of

_NEAR = 1e-5  # the tolerance for sums of float32 probabilities
_ANY, _NOT_NEGATIVE, _CHANCE = RULES["a number"], RULES["at least 0"], RULES["from 0 to 1"]
_COUNT, _KIND = RULES["an int from 0 to 2147483647"], RULES["an int from 0 to below 1000000000"]


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
    draw, (alpha,) = draw_of(self, "dirichlet", None, ("alpha", alpha, _NOT_NEGATIVE))
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
    (left, chances), device, dtype = checked(op, ("n", n, _COUNT), ("pvals", pvals, _CHANCE))
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
    broken = [color for color in numbers if _KIND.breaks(color) or color % 1]
    if broken:
        raise ValueError(f"{op}: each color must be {_KIND.words}, not {broken[0]}")
    left: Any = count_of(op, "nsample", nsample)
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
    from py_tensor.linalg import LinAlgError

    op = "multivariate_normal"
    check_option(op, "method", method, ("svd", "eigh", "cholesky"))
    check_option(op, "check_valid", check_valid, ("warn", "raise", "ignore"))
    draw, values = draw_of(self, op, None, ("mean", mean, _ANY), ("cov", cov, _ANY))
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
