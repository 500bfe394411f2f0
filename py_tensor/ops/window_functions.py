"""Window functions for signals, and the Bessel function for the Kaiser window."""

from __future__ import annotations

import math
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import REAL_FLOATING
from py_tensor.ops.creation import arange
from py_tensor.ops.define import unary
from py_tensor.ops.elementwise import abs, cos, exp, sqrt
from py_tensor.ops.operands import Real
from py_tensor.tensors.tensor import Tensor

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


ANGLES = 128
"""So many points of a half circle give the means below in double precision for |x| < 700."""


def _grad_i0(g: Tensor, y: Tensor, x: Tensor, attrs: object) -> tuple[Tensor]:
    """I1(x) is the mean of exp(x cos t) cos t (Abramowitz and Stegun, 9.6.19).

    The mean over equal steps of a periodic function converges exponentially.
    """
    steps = arange(1, 2 * ANGLES, 2, dtype=x.dtype, device=x.device)
    cosines = cos(steps * (math.pi / (2 * ANGLES)))
    return (g * (exp(x[..., None] * cosines) * cosines).mean(-1),)


@unary(REAL_FLOATING, vjp=_grad_i0, cost=60, ulp=4, method=False)
def i0(np: Any, x: Any) -> Any:
    """Modified Bessel function of the first kind, order 0."""
    return np.where(np.isinf(x), np.inf, np.i0(x.astype("d")))


def _numbers(M: Real, device: Any) -> Tensor:  # noqa: N803 - NumPy's name
    """Return `M` numbers from -1 to 1, one for each point of a window; 0 for a single point."""
    points = arange(1 - M, M, 2, dtype=dtypes.DEFAULT.floating, device=device)
    return points / (M - 1) if M > 1 else points * 0


def bartlett(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Return the Bartlett window of `M` points: a triangle with zeros at its ends."""
    return 1 - abs(_numbers(M, device))


def blackman(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Return the Blackman window of `M` points: a sum of cosines with one and two periods."""
    angles = _numbers(M, device) * math.pi
    return 0.42 + 0.08 * cos(angles * 2) + 0.5 * cos(angles)


def hamming(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Return the Hamming window of `M` points: one period of a cosine, 0.08 at its ends."""
    return 0.54 + 0.46 * cos(_numbers(M, device) * math.pi)


def hanning(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Return the Hann window of `M` points: one period of a cosine, 0 at its ends."""
    return 0.5 + 0.5 * cos(_numbers(M, device) * math.pi)


def kaiser(M: Real, beta: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Return the Kaiser window of `M` points; a larger `beta` makes it narrower.

    In float32 `beta` must be at most 91, because `i0` overflows above.
    """
    numbers = _numbers(M, device)
    return i0(beta * sqrt((1 - numbers) * (1 + numbers))) / i0(numbers * 0 + beta)
