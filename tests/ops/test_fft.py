"""Discrete Fourier transforms against NumPy's in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.codegen import fourier
from tests.ops.compare import same
from tests.ops.operands import Few

Array = Any
LENGTHS = (
    *range(1, 18),
    *(30, 61, 64, 67, 100, 127, 128, 210, 256, 331, 500, 1009, 1024, 2310, 4096, 5003),
)
CLOSE = 1e-6  # of the largest element


def complexes(rng: np.random.Generator, *shape: int) -> Array:
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def close(got: Any, expected: Array, what: str) -> None:
    found = got.numpy()
    narrow = np.complex64 if np.iscomplexobj(expected) else np.float32
    assert found.dtype == narrow, f"{what}: {found.dtype}"
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    if not expected.size:
        return
    apart = np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-30)
    assert apart < CLOSE, f"{what}: off by {apart:.3g} of the largest"


@pytest.mark.computes
@pytest.mark.parametrize("part", range(4))
def test_lengths(part: int, device: str, rng: np.random.Generator) -> None:
    """Small lengths, powers of two, several factors, primes up to and above the largest radix."""
    for n in LENGTHS[part::4]:
        z = complexes(rng, 2, n)
        x, wide = pt.tensor(z, device=device), z.astype(np.complex128)
        close(pt.fft.fft(x), np.fft.fft(wide), f"fft of {n}")
        close(pt.fft.ifft(x), np.fft.ifft(wide), f"ifft of {n}")
        half = np.fft.rfft(wide.real)
        close(pt.fft.rfft(x.real), half, f"rfft of {n}")
        given = pt.tensor(half.astype(np.complex64), device=device)
        close(pt.fft.irfft(given, n), np.fft.irfft(half, n), f"irfft of {n}")


@pytest.mark.computes
def test_transposed_operands(device: str, rng: np.random.Generator) -> None:
    """Along each axis, in each order of the axes in memory."""
    a = rng.standard_normal((2, 3, 4)).astype(np.float32)
    x = pt.tensor(a, device=device)
    for order in itertools.permutations(range(3)):
        for axis in range(3):
            expected = np.fft.fft(a.transpose(order).astype(np.float64), axis=axis)
            close(pt.fft.fft(x.transpose(order), axis=axis), expected, f"{order}, along {axis}")


@pytest.mark.computes
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_options(name: str, device: str, rng: np.random.Generator) -> None:
    """Axes, lengths that truncate or pad, and normalization."""
    a = rng.standard_normal((3, 6, 5))
    a = a if name in ("rfft", "ihfft") else a + 1j * rng.standard_normal((3, 6, 5))
    x = pt.tensor(a, device=device)
    ours, numpys = getattr(pt.fft, name), getattr(np.fft, name)
    for axis in (0, 1, -1):
        for norm in (None, "backward", "ortho", "forward"):
            for n in (None, 2, 5, 12):
                what = f"{name}, axis {axis}, {norm}, n = {n}"
                close(ours(x, n, axis, norm), numpys(a, n, axis, norm), what)
    close(ours(x.mT[::-1]), numpys(np.swapaxes(a, -1, -2)[::-1]), f"{name} of a view")


@pytest.mark.computes
@pytest.mark.parametrize(
    "name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
)
def test_several_axes(name: str, device: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal((4, 6, 5))
    x = pt.tensor(a, device=device)
    options: list[dict[str, Any]] = [
        *({}, {"norm": "ortho"}, {"norm": "forward"}, {"axes": (1, 0)}),
        {"s": (3, 7), "axes": (0, 2)},
    ]
    for given in options:
        close(getattr(pt.fft, name)(x, **given), getattr(np.fft, name)(a, **given), f"{given}")
    with pytest.raises(pt.ShapeError, match=f"^{name}: out has shape"):
        getattr(pt.fft, name)(x, out=pt.zeros(2, device=device))


@pytest.mark.computes
def test_a_round_trip(device: str, rng: np.random.Generator) -> None:
    for shape in ((1000,), (48, 60), (2, 3, 97)):
        a = rng.standard_normal(shape).astype(np.float32)
        x = pt.tensor(a, device=device)
        close(pt.fft.ifftn(pt.fft.fftn(x)).real, a, "there and back")
        close(pt.fft.irfftn(pt.fft.rfftn(x), shape), a, "there and back, real")


def test_frequencies(device: str) -> None:
    for n in (1, 2, 5, 8):
        for name in ("fftfreq", "rfftfreq"):
            got = getattr(pt.fft, name)(n, 0.1, device=device)
            close(got, getattr(np.fft, name)(n, 0.1), f"{name} of {n}")
        a = np.arange(3 * n, dtype=np.int32).reshape(3, n)
        x = pt.tensor(a, device=device)
        for axes in (None, 0, 1, (0, 1)):
            for name in ("fftshift", "ifftshift"):
                same(getattr(pt.fft, name)(x, axes), getattr(np.fft, name)(a, axes), name)


def test_invalid_arguments(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for call, error, match in (
        (lambda: pt.fft.fft(x, 0), ValueError, "fft: n must be at least 1, not 0"),
        (lambda: pt.fft.fft(x, norm="none"), ValueError, "fft: norm must be 'backward'"),
        (lambda: pt.fft.rfft(x * 1j), pt.DTypeError, "rfft: takes real dtypes, not complex64"),
        (lambda: pt.fft.fft(x, axis=2), pt.AxisError, "2"),
        (lambda: pt.fft.fftn(x, (2,), (0, 1)), pt.ShapeError, "fftn: lengths"),
    ):
        with pytest.raises(error, match=match):
            call()
    close(pt.fft.fft(x), np.fft.fft(np.ones((2, 3))), "the session afterwards")


@pytest.mark.computes
@pytest.mark.parametrize("tile", [2048, 4096])
def test_passes_of_a_gpu(
    tile: int, device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, few: Few
) -> None:
    """Passes of several radices, exchanged between invocations; also on a software adapter."""
    monkeypatch.setattr(fourier, "_tile", lambda profile: tile)  # no other test uses these shapes
    rows = tile // 1024 + 1
    shapes = {
        **{(rows, n): -1 for n in (6, 36, 63, 286, 360, 512, 1320, 2048, 2197, 4095)},
        (rows + 6, 8192): -1,
        (rows, 66, 7): 1,
        (4096, rows): 0,
        (625, rows + 30): 0,
        (rows, 1 << 16): 1,
        (rows, 30030): 1,
    }
    for shape, axis in few(list(shapes.items()), 5):
        z = complexes(rng, *shape)
        x, wide = pt.tensor(z, device=device), z.astype(np.complex128)
        close(pt.fft.fft(x, axis=axis), np.fft.fft(wide, axis=axis), f"fft of {shape}")
        close(pt.fft.ifft(x * 2, axis=axis), np.fft.ifft(wide * 2, axis=axis), f"ifft of {shape}")


def test_the_lengths_of_passes() -> None:
    """Their product is the length, for any factors, and each fits in a tile."""
    for n in {
        2**a * 3**b * 5**c * m
        for a in range(12)
        for b in (0, 1, 4)
        for c in (0, 2)
        for m in (1, 91, 143)
    }:
        for inner, tile in ((1, 4096), (5, 4096), (1, 2048), (1, 0)):
            found = fourier.passes(n, inner, tile)
            assert math.prod(found) == n
            for length in found:
                radices = fourier.radices(length)
                assert math.prod(radices) == length
                assert max(radices) <= 16
                assert not tile or length <= tile
                assert not tile or length // radices[0] <= 256
