"""Floats split and combined: frexp, modf and ldexp, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt

Array = np.ndarray[Any, Any]


def numbers(rng: np.random.Generator) -> Array:
    """Floats of every exponent except subnormal ones, and the edges."""
    bits = rng.integers(0, 2**32, 2000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    edges = [0.0, -0.0, 0.5, -0.5, 1, 2.75, -2.75, 2.0**23 + 1, -3e38, 2.0**-126, np.inf, -np.inf]
    array = np.array([*edges, np.nan, *bits], np.float32)
    return array[~((np.abs(array) < 2.0**-126) & (array != 0))]


def exactly(got: Any, expected: Array, what: str) -> None:
    found = got.numpy()
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, not {expected.dtype}"
    np.testing.assert_array_equal(found, expected, what)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(expected[there]), what)


def both(np: Any, name: str, x: Any) -> tuple[Any, Any]:
    """Two results; C leaves the exponents of NaN and infinities unspecified, here they are 0."""
    first, second = getattr(np, name)(x)
    return first, np.where(np.isfinite(x), second, 0) if name == "frexp" else second


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_two_parts(name: str, device: str, rng: np.random.Generator) -> None:
    array = numbers(rng)
    x = pt.tensor(array, device=device)
    for got, expected in zip(getattr(pt, name)(x), both(np, name, array), strict=True):
        exactly(got, expected.astype({"i": "i4"}.get(expected.dtype.kind, "f4")), name)
    for part in getattr(pt, name)(pt.tensor([3, -7, 0], device=device)):
        assert part.shape == (3,)


@pytest.mark.computes
@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_out_of_two_parts(name: str, device: str) -> None:
    """Each result has its own `out`, and `where` selects the elements of both that change."""
    x = pt.tensor([2.75, -7.5, 0.0], device=device)
    plain = getattr(pt, name)(x)
    targets = tuple(pt.full(3, 9, part.dtype, device=device) for part in plain)
    found = getattr(pt, name)(x, targets, where=[True, False, True])
    for got, target, part in zip(found, targets, plain, strict=True):
        assert got is target
        assert got.tolist() == [part.tolist()[0], 9, part.tolist()[2]]
    first, second = getattr(pt, name)(x, (None, targets[1]))
    assert second is targets[1]
    assert first.tolist() == plain[0].tolist()
    with pytest.raises(TypeError, match=f"^{name}: out must be a tuple of two"):
        getattr(pt, name)(x, targets[0])


@pytest.mark.computes
def test_out_of_divmod(device: str) -> None:
    x = pt.tensor([7.5, -7.5, 3.0], device=device)
    quotient, rest = (pt.full(3, 9.0, device=device) for _ in range(2))
    found = pt.divmod(x, 2, (quotient, rest), where=[True, True, False])
    assert found[0] is quotient
    assert found[1] is rest
    assert quotient.tolist() == [3, -4, 9]
    assert rest.tolist() == [1.5, 0.5, 9]
    assert [v.tolist() for v in pt.divmod(x, 2)] == [[3, -4, 1], [1.5, 0.5, 1]]


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ldexp(device: str, rng: np.random.Generator) -> None:
    array = numbers(rng)
    powers = rng.integers(-300, 300, array.shape).astype(np.int32)
    powers[:40] = rng.choice([0, 1, -1, 127, -127, 2**31 - 1, -(2**31)], 40)
    expected = np.ldexp(array, powers)
    tiny = (np.abs(expected) < 2.0**-126) & (expected != 0)  # subnormal, which GPUs may flush
    x, y = pt.tensor(array[~tiny], device=device), pt.tensor(powers[~tiny], device=device)
    exactly(pt.ldexp(x, y), expected[~tiny], "ldexp")
    exactly(pt.ldexp(x, 3), np.ldexp(array[~tiny], 3), "ldexp by a number")
    fraction, power = pt.frexp(x)
    exactly(pt.ldexp(fraction, power), array[~tiny], "ldexp of what frexp gives")
    with pytest.raises(pt.DTypeError, match=r"^ldexp: the exponents must be integers"):
        pt.ldexp(x, x)
