"""Discrete Fourier transforms of any length, with the names of NumPy's `fft`.

Transforms are computed in complex64, or complex128 for float64 and complex128. On a GPU a length
with a prime factor above 13 is computed as a convolution whose length is a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from operator import index as as_index
from typing import Any, ParamSpec

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.shapes import normalize_axes, normalize_axis
from py_tensor.ops.complex import conjugate
from py_tensor.ops.creation import arange
from py_tensor.ops.define import declared, declared_like
from py_tensor.ops.elementwise import where
from py_tensor.ops.fourier import transformed
from py_tensor.ops.movement import concat, converted, flip, pad_constant, sliced
from py_tensor.ops.operands import Operand, whole_number
from py_tensor.ops.out import Out, stored_whole
from py_tensor.ops.rearrange import roll
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Axes = Sequence[int] | None
P = ParamSpec("P")


def __dir__() -> list[str]:
    return __all__


# -- One axis -----------------------------------------------------------------------------------


def fft(
    a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None
) -> Tensor:
    """Discrete Fourier transform along an axis.

    Parameters
    ----------
    n : int, optional
        The length of the result; the axis is truncated or padded with zeros.
    norm : {"backward", "ortho", "forward"}
        The normalization: divide the inverse transform by the length, both transforms by its square
        root, or the forward transform by the length.

    Raises
    ------
    ValueError
        If the length is below 1 or `norm` is unknown.
    """
    return stored_whole("fft", _along("fft", a, n, axis, norm), out)


def _like(plain: Callable[P, Tensor]) -> Callable[[Callable[..., Tensor]], Callable[P, Tensor]]:
    """Return a decorator that gives a transform the parameters of another one, with `out`."""

    def made(transform: Callable[..., Tensor]) -> Callable[P, Tensor]:
        name = transform.__name__

        def call(out: Out, **options: Any) -> Tensor:
            return stored_whole(name, transform(**options), out)

        call.__doc__ = transform.__doc__
        return declared_like(plain, call, name)

    return made


@_like(fft)
def ifft(a: Operand, n: int | None, axis: int, norm: str | None) -> Tensor:
    """Inverse of `fft`, with the same parameters."""
    return _along("ifft", a, n, axis, norm, is_inverse=True)


@_like(fft)
def rfft(a: Operand, n: int | None, axis: int, norm: str | None) -> Tensor:
    """`fft` of real numbers: only the first ``n // 2 + 1`` results, without the conjugates.

    Raises
    ------
    DTypeError
        If the operand is complex.
    """
    x = _real("rfft", a)
    along = normalize_axis("rfft", axis, x.ndim)
    spectrum = _along("rfft", x, n, along, norm)
    return sliced(spectrum, along, 0, spectrum.shape[along] // 2 + 1)


@_like(fft)
def irfft(a: Operand, n: int | None, axis: int, norm: str | None) -> Tensor:
    """Inverse of `rfft`, with a real result of even length by default.

    Parameters
    ----------
    n : int, optional
        The length of the result; by default ``2 * (m - 1)`` for an axis of length m.
    """
    x = _floating("irfft", a)
    along = normalize_axis("irfft", axis, x.ndim)
    length = whole_number("irfft", "n", 2 * (x.shape[along] - 1) if n is None else n, 1)
    half = _sized(x, along, length // 2 + 1)
    rest = flip(conjugate(sliced(half, along, 1, (length + 1) // 2)), along)
    whole = concat([half, rest], along)
    return _along("irfft", whole, None, along, norm, is_inverse=True).real.copy()


@_like(fft)
def hfft(a: Operand, n: int | None, axis: int, norm: str | None) -> Tensor:
    """`fft` of a Hermitian-symmetric signal, given by its first half; the result is real."""
    x = _floating("hfft", a)
    length = 2 * (x.shape[normalize_axis("hfft", axis, x.ndim)] - 1) if n is None else as_index(n)
    return irfft(conjugate(x), length, axis, _SWAPPED[_checked("hfft", norm)])


@_like(fft)
def ihfft(a: Operand, n: int | None, axis: int, norm: str | None) -> Tensor:
    """Inverse of `hfft`: only the first ``n // 2 + 1`` results."""
    x = _real("ihfft", a)
    return conjugate(rfft(x, n, axis, _SWAPPED[_checked("ihfft", norm)]))


# -- Several axes -------------------------------------------------------------------------------


def fftn(
    a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None, out: Out = None
) -> Tensor:
    """N-dimensional `fft` over several axes, by default all.

    Parameters
    ----------
    s : tuple of int, optional
        The lengths of the result along the axes; without `axes`, along the last axes.
    """
    return stored_whole("fftn", _along_axes("fftn", fft, _floating("fftn", a), s, axes, norm), out)


@_like(fftn)
def ifftn(a: Operand, s: Axes, axes: Axes, norm: str | None) -> Tensor:
    """Inverse of `fftn`, with the same parameters."""
    return _along_axes("ifftn", ifft, _floating("ifftn", a), s, axes, norm)


@_like(fftn)
def rfftn(a: Operand, s: Axes, axes: Axes, norm: str | None) -> Tensor:
    """`fftn` of real numbers, with `rfft` along the last of the axes."""
    x = _real("rfftn", a)
    lengths, transformed_axes = _axes("rfftn", x, s, axes)
    first = rfft(x, lengths[-1], transformed_axes[-1], norm)
    return _along_axes("rfftn", fft, first, lengths[:-1], transformed_axes[:-1], norm)


@_like(fftn)
def irfftn(a: Operand, s: Axes, axes: Axes, norm: str | None) -> Tensor:
    """Inverse of `rfftn`, with a real result."""
    x = _floating("irfftn", a)
    lengths, transformed_axes = _axes("irfftn", x, s, axes)
    if s is None:
        lengths = (*lengths[:-1], 2 * (lengths[-1] - 1))
    before = _along_axes("irfftn", ifft, x, lengths[:-1], transformed_axes[:-1], norm)
    return irfft(before, lengths[-1], transformed_axes[-1], norm)


def _over_two(transform: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Return a transform over several axes, by default the last two."""
    n_name, of = transform.__name__, signature(transform)
    name = f"{n_name[:-1]}2"
    of_axes: Callable[..., Tensor] = transform  # which is called by names only

    def call(out: Out, **options: Any) -> Tensor:
        return stored_whole(name, of_axes(**options), out)

    axes = of.parameters["axes"].replace(default=(-2, -1))
    parameters = [*{**of.parameters, "axes": axes}.values()]
    doc = f"`{n_name}` over the last two axes."
    return declared(name, of.replace(parameters=parameters), call, doc)


fft2, ifft2, rfft2, irfft2 = map(_over_two, (fftn, ifftn, rfftn, irfftn))


# -- Frequencies --------------------------------------------------------------------------------


def fftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: object = None) -> Tensor:
    """Return the frequencies of the bins of `fft`, for samples with spacing `d`."""
    n = whole_number("fftfreq", "n", n, 1)
    half = (n + 1) // 2
    bins = arange(n, device=device)
    return _scaled(where(bins < half, bins, bins - n), n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: object = None) -> Tensor:
    """Return the frequencies of the bins of `rfft`; see `fftfreq`."""
    n = whole_number("rfftfreq", "n", n, 1)
    return _scaled(arange(n // 2 + 1, device=device), n, d, dtype)


def _scaled(bins: Tensor, n: int, d: float, dtype: object) -> Tensor:
    target = dtypes.DEFAULT.floating if dtype is None else dtypes.parse(dtype)
    return converted(bins, target) / float(n * d)


def fftshift(x: Operand, axes: int | Axes = None) -> Tensor:
    """Shift frequency 0 to the middle of the axes, by default all axes."""
    return _shifted("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x: Operand, axes: int | Axes = None) -> Tensor:
    """Inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes, lambda n: -(n // 2))


def _shifted(op: str, x: Operand, axes: Any, shift: Callable[[int], int]) -> Tensor:
    x = tensor_of(x, op)
    shifted = normalize_axes(op, axes, x.ndim)
    return roll(x, [shift(x.shape[a]) for a in shifted], shifted) if shifted else x


# -- Implementation -----------------------------------------------------------------------------

_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _checked(op: str, norm: str | None) -> str:
    checked = "backward" if norm is None else norm
    check_option(op, "norm", checked, _SWAPPED)
    return checked


def _floating(op: str, x: Operand) -> Tensor:
    """Convert an operand to floating point of at least 32 bits."""
    x = tensor_of(x, op)
    return converted(x, dtypes.promote(dtypes.FLOATING.check(op, x.dtype), dtypes.float32))


def _real(op: str, x: Operand) -> Tensor:
    x = tensor_of(x, op)
    dtypes.REAL.check(op, x.dtype)
    return _floating(op, x)


def _axes(op: str, x: Tensor, s: Axes, axes: Axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lengths of a transform along several axes, and the axes."""
    if axes is None:
        numbers = tuple(range(x.ndim))[-len(s) if s is not None and len(s) else 0 :]
    else:
        numbers = tuple(normalize_axis(op, a, x.ndim) for a in axes)
    if s is not None and len(s) != len(numbers):
        raise ShapeError(f"{op}: lengths {tuple(s)} do not match axes {numbers}")
    lengths = (-1,) * len(numbers) if s is None else map(as_index, s)
    sizes = tuple(x.shape[a] if n == -1 else n for n, a in zip(lengths, numbers, strict=True))
    return sizes, numbers


def _along_axes(op: str, one: Any, x: Tensor, s: Axes, axes: Axes, norm: str | None) -> Tensor:
    _checked(op, norm)
    lengths, numbers = _axes(op, x, s, axes)
    for n, axis in reversed(list(zip(lengths, numbers, strict=True))):
        x = one(x, n, axis, norm)
    return x if x.dtype.is_complex else converted(x, dtypes.complex_of(x.dtype))


def _sized(x: Tensor, axis: int, n: int) -> Tensor:
    """Crop an axis to a length, or pad it with zeros."""
    if x.shape[axis] >= n:
        return sliced(x, axis, 0, n)
    return pad_constant(x, [(0, n - x.shape[axis] if a == axis else 0) for a in range(x.ndim)])


def _along(
    op: str, x: Operand, n: int | None, axis: int, norm: str | None, *, is_inverse: bool = False
) -> Tensor:
    """Transform along an axis."""
    norm, x = _checked(op, norm), _floating(op, x)
    along = normalize_axis(op, axis, x.ndim)
    length = whole_number(op, "n", x.shape[along] if n is None else n, 1)
    power = {"ortho": 0.5, "backward": is_inverse, "forward": not is_inverse}[norm]
    return transformed(_sized(x, along, length), along, is_inverse, float(length) ** -power)
