"""The op for `py_tensor.fft`: a discrete Fourier transform along one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from py_tensor.base import dtypes
from py_tensor.base.dtypes import FLOATING, DType
from py_tensor.base.shapes import Shape, check_axes
from py_tensor.codegen.fourier import Transformed, has_radices
from py_tensor.ir.arrays import Array, Run
from py_tensor.ir.node import Meta, Node, Op
from py_tensor.ops.complex import conjugate, joined
from py_tensor.ops.creation import arange
from py_tensor.ops.elementwise import cos, sin, where
from py_tensor.ops.movement import concat, converted, pad_constant, sliced
from py_tensor.ops.record import build
from py_tensor.schedule import build as kernels
from py_tensor.schedule.body import Body
from py_tensor.schedule.build import Builder, Family
from py_tensor.schedule.kernel import Stage
from py_tensor.tensors.tensor import Tensor

MAX_TO_SQUARE = 46340  # the largest number whose square fits in int32


def _grad(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int, bool, float]) -> tuple[Tensor]:
    """Return the same transform of the gradient, because its matrix is symmetric."""
    spectrum = transformed(g, *attrs)
    return (spectrum if x.dtype.is_complex else spectrum.real,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FourierTransform(Op):
    """The transform along an axis; the node's attributes are (axis, is_inverse, scale)."""

    barrier: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    work_buffers: ClassVar[int] = 1  # between passes

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        (meta,) = metas
        check_axes(self.name, attrs[:1], len(meta.shape))
        FLOATING.check_converted(self.name, meta.dtype)
        return meta.shape, dtypes.complex_of(meta.dtype)

    def batched(self, attrs: Any) -> Any:
        axis, *rest = attrs
        return axis + 1, *rest

    def operations(self, node: Node) -> int:
        axis: int = node.attrs[0]
        return 5 * node.meta.size * max(1, node.meta.shape[axis].bit_length() - 1)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        axis, is_inverse, scale = node.attrs
        function = run.np.fft.ifft if is_inverse else run.np.fft.fft
        wide = operands[0].astype("complex128", copy=False)
        spectrum = function(wide, axis=axis, norm="forward" if is_inverse else "backward")
        return (spectrum * scale).astype(node.meta.dtype.host)


def _build(builder: Builder, slot: int, node: Node) -> None:
    axis, is_inverse, scale = node.attrs
    inner = math.prod(node.meta.shape[axis + 1 :])

    def stage(element: Body, value: int, dtype: DType) -> Stage:
        return Transformed(element, value, inner, is_inverse, scale)

    builder.along(slot, node, stage)


FOURIER = FourierTransform("fft", vjp=_grad, cost=50)
kernels.FAMILIES.insert(0, Family(FourierTransform, _build))


def transformed(x: Tensor, axis: int, is_inverse: bool, scale: float) -> Tensor:
    """Transform along an axis of at least one element; results are multiplied by `scale`.

    Parameters
    ----------
    x : Tensor
        Of a floating or complex dtype of at least 32 bits per part.
    is_inverse : bool
        Whether the exponents are positive.
    """
    n = x.shape[axis]
    if not x.size or n == 1:
        return converted(x, dtypes.complex_of(x.dtype)) * scale
    if x.device.uses_numpy or has_radices(n):
        return build(FOURIER, (x,), (axis, is_inverse, scale))
    return _convolved(x, axis, is_inverse, scale)


def _convolved(x: Tensor, axis: int, is_inverse: bool, scale: float) -> Tensor:
    """Return the transform as a convolution with a chirp, whose length is a power of two.

    L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform,
    1970.
    """
    n = x.shape[axis]
    length = 1 << (2 * n - 2).bit_length()
    behind = (1,) * (x.ndim - 1 - axis)
    chirp = _chirp(n, x)
    mirrored = conjugate(chirp)
    gap = pad_constant(mirrored, (0, length - 2 * n + 1))
    filter_ = transformed(concat([gap, mirrored[1:].flip()]), 0, False, 1.0)
    x = conjugate(x) if is_inverse else x
    spread = pad_constant(
        x * chirp.reshape((n, *behind)),
        [(0, length - n if a == axis else 0) for a in range(x.ndim)],
    )
    product = transformed(spread, axis, False, 1.0) * filter_.reshape((length, *behind))
    spectrum = transformed(product, axis, True, scale / length)
    spectrum = sliced(spectrum, axis, n) * chirp.reshape((n, *behind))
    return conjugate(spectrum) if is_inverse else spectrum


def _chirp(n: int, x: Tensor) -> Tensor:
    """Return ``exp(-pi i k**2 / n)`` for the numbers k below n.

    The square is taken modulo ``2 n``, and the angle is measured from the nearest quarter turn, so
    that it is small and exact.
    """
    numbers = arange(n, device=x.device)
    numbers = converted(numbers, dtypes.int64) if n > MAX_TO_SQUARE else numbers
    numbers = numbers * numbers % (2 * n)
    quarter = (numbers * 4 + n) // (2 * n)
    angle = converted(numbers * 2 - quarter * n, dtypes.real_of(x.dtype)) * (-math.pi / 2 / n)
    along, across = cos(angle), sin(angle)
    is_odd, is_behind = (quarter & 1) != 0, (quarter & 2) != 0
    first, second = where(is_odd, across, along), where(is_odd, -along, across)
    return joined(where(is_behind, -first, first), where(is_behind, -second, second))
