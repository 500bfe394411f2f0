"""Windows that taper a signal to its ends, and the Bessel function that one of them is made of."""

from __future__ import annotations

import math
from typing import Any

from py_tensor import dtypes
from py_tensor.dtypes import REAL_FLOATING
from py_tensor.graph.op import NOT_DIFFERENTIABLE
from py_tensor.ops.creation import arange
from py_tensor.ops.define import register, unary
from py_tensor.ops.elementwise import abs, cos, sqrt
from py_tensor.ops.operands import Real
from py_tensor.tensor import Tensor

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]

i0 = unary(
    "i0",
    REAL_FLOATING,
    "i0_f32({0})",
    lambda np, x: np.where(np.isinf(x), np.inf, np.i0(x.astype("d"))),  # which NumPy has NaN of
    vjp=NOT_DIFFERENTIABLE,
    cost=60,
    ulp=4,
    doc="The modified Bessel function of the first kind and order 0 of each element.",
    method=False,
)


def _numbers(M: Real, device: Any) -> Tensor:  # noqa: N803 - NumPy's name
    """Numbers from -1 to 1, one for each place of a window of `M`; 0 for one of a single place."""
    places = arange(1 - M, M, 2, dtype=dtypes.DEFAULT_FLOAT, device=device)
    return places / (M - 1) if M > 1 else places * 0


def bartlett(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """The window of `M` places that is a triangle, with zeros at its ends."""
    numbers = _numbers(M, device)
    return 1 - abs(numbers)


def blackman(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Blackman's window of `M` places, by cosines of one and two periods."""
    angles = _numbers(M, device) * math.pi
    return 0.42 + 0.08 * cos(angles * 2) + 0.5 * cos(angles)


def hamming(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Hamming's window of `M` places: one period of a cosine, 0.08 at its ends."""
    return 0.54 + 0.46 * cos(_numbers(M, device) * math.pi)


def hanning(M: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Von Hann's window of `M` places: one period of a cosine, 0 at its ends."""
    return 0.5 + 0.5 * cos(_numbers(M, device) * math.pi)


def kaiser(M: Real, beta: Real, *, device: Any = None) -> Tensor:  # noqa: N803
    """Kaiser's window of `M` places, by `i0`; the larger `beta` is, the narrower it is.

    In float32 `beta` is at most 91, where `i0` overflows.
    """
    numbers = _numbers(M, device)
    return i0(beta * sqrt((1 - numbers) * (1 + numbers))) / i0(numbers * 0 + beta)


for _function in (bartlett, blackman, hamming, hanning, kaiser):
    register(_function, method=False)
