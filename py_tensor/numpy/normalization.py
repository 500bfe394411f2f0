"""Softmax and layer norm: compositions of ops that fuse into one kernel over rows."""

from __future__ import annotations

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError
from py_tensor.base.shapes import normalize_axes
from py_tensor.ops.elementwise import exp, log, sqrt, square
from py_tensor.ops.movement import as_floating, converted, reshape
from py_tensor.ops.operands import Operand, as_arrays
from py_tensor.ops.record import Composition
from py_tensor.ops.reduction import Axes, max, mean, sum
from py_tensor.tensors.tensor import Tensor

__all__ = ["layer_norm", "log_softmax", "softmax"]


def softmax(x: Operand, axis: Axes = -1) -> Tensor:
    """Softmax ``exp(x) / sum(exp(x))`` over `axis`, without overflow.

    Values along `axis` (an int, a tuple, or None for all) sum to 1. They are all NaN if any is NaN
    or positive infinity, or if all are negative infinity.
    """
    x = as_floating(x, "softmax", dtypes.REAL_FLOATING)
    axes = normalize_axes("softmax", axis, x.ndim)
    return _softmax((x,), axes) if x.size else x.copy()


@Composition
def _softmax(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    e = exp(x - max(x, axes, keepdims=True))
    return e / sum(e, axes, keepdims=True)


def log_softmax(x: Operand, axis: Axes = -1) -> Tensor:
    """Logarithm of `softmax`, accurate even where `softmax` underflows."""
    x = as_floating(x, "log_softmax", dtypes.REAL_FLOATING)
    axes = normalize_axes("log_softmax", axis, x.ndim)
    return _log_softmax((x,), axes) if x.size else x.copy()


@Composition
def _log_softmax(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    shifted = x - max(x, axes, keepdims=True)
    return shifted - log(sum(exp(shifted), axes, keepdims=True))


def layer_norm(
    x: Operand,
    weight: Operand | None = None,
    bias: Operand | None = None,
    axis: Axes = -1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize over `axis`: subtract the mean and divide by the standard deviation.

    Parameters
    ----------
    weight, bias
        Scale and offset applied to the result, with the shape of the axes.
    eps : float
        A small number added to the variance to avoid a division by zero.

    Raises
    ------
    ShapeError
        If the shape of `weight` or `bias` is not ``tuple(x.shape[a] for a in axis)``.
    """
    operands = [x, *(v for v in (weight, bias) if v is not None)]
    x, *rest = as_arrays("layer_norm", operands)
    x = as_floating(x, "layer_norm", dtypes.REAL_FLOATING)
    axes = normalize_axes("layer_norm", axis, x.ndim)
    rest = iter([_along(v, x, axes) for v in rest])
    if not x.size:
        x = x.copy()
    elif type(eps) is float and eps == eps:
        x = _normalized((x,), axes, eps)
    else:
        x = _normalize(x, axes, eps)
    x = x if weight is None else x * next(rest)
    return x if bias is None else x + next(rest)


def _normalize(x: Tensor, axes: tuple[int, ...], eps: Operand) -> Tensor:
    centred = x - mean(x, axes, keepdims=True)
    return centred / sqrt(mean(square(centred), axes, keepdims=True) + eps)


_normalized = Composition(_normalize)


def _along(v: Tensor, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return a weight with the shape of some axes, reshaped to broadcast along the others."""
    expected = tuple(x.shape[a] for a in axes)
    if v.shape != expected:
        words = f"does not fit axes {axes} of shape {x.shape}, which have shape {expected}"
        raise ShapeError(f"layer_norm: a weight or bias of shape {v.shape} {words}")
    shaped = tuple(n if a in axes else 1 for a, n in enumerate(x.shape))
    return reshape(converted(v, dtypes.floating(v.dtype)), shaped)
