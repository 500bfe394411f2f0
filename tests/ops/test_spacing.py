"""`linspace`, `logspace` and `geomspace` between tensors, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt

Array = np.ndarray[Any, Any]
ENDS: list[tuple[Any, Any]] = [
    (3.0, 7.5),
    ([1.0, 2.0], [4.0, 0.5]),
    (3.0, [[1.0], [7.0]]),
    ([-3.0, -1.0], [-7.0, -0.25]),
]


def close(got: Any, expected: Any, what: str, tolerance: float = 2e-6) -> None:
    assert got.shape == np.shape(expected), f"{what}: {got.shape}, not {np.shape(expected)}"
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, err_msg=what)


@pytest.mark.computes
@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_between_tensors(name: str, device: str) -> None:
    for start, stop in ENDS:
        rank = np.broadcast(np.asarray(start), np.asarray(stop)).ndim
        for axis in (0, -1, rank):
            for count in (0, 1, 2, 5):
                for endpoint in (True, False):
                    what = f"{name} from {start} to {stop}, {count} along {axis}"
                    options: dict[str, Any] = {"endpoint": endpoint, "axis": axis}
                    expected = getattr(np, name)(start, stop, count, **options)
                    x, y = (pt.tensor(v, device=device) for v in (start, stop))
                    for ends in ((x, y), (x, stop), (start, y)):
                        got = getattr(pt, name)(*ends, count, **options)
                        assert got.device is x.device
                        close(got, expected, what)
                    if rank:
                        got = getattr(pt, name)(start, stop, count, **options, device=device)
                        assert got.device is x.device
                        close(got, expected, what)


@pytest.mark.computes
def test_integers_are_exact(device: str, rng: np.random.Generator) -> None:
    start, stop = rng.integers(-(2**31), 2**31, (2, 6)).astype(np.int32)
    x, y = (pt.tensor(v, device=device) for v in (start, stop))
    for count in (2, 7, 50):
        got = pt.linspace(x, y, count, dtype="int32")
        apart = stop.astype(object) - start
        expected = [[int(a) + i * int(d) // (count - 1) for a, d in zip(start, apart, strict=True)]
                    for i in range(count)]  # fmt: skip
        assert got.tolist() == expected
    tens = pt.geomspace(pt.tensor([1, 10], device=device), 100_000, 6, dtype="int32")
    assert tens[:, 0].tolist() == [1, 10, 100, 1000, 10_000, 100_000]
    powers = pt.logspace(0, 8, 9, base=pt.tensor([2, 3], device=device), dtype="int32")
    assert powers.tolist() == [[2**i, 3**i] for i in range(9)]


@pytest.mark.computes
def test_steps_and_far_ends(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device)
    got, step = pt.linspace(x, 5, 5, retstep=True)
    expected, numpys = np.linspace([1.0, 2.0], 5, 5, retstep=True)
    close(got, expected, "numbers")
    close(step, numpys, "the step")
    far = pt.geomspace(pt.tensor(1e-30, device=device), 1e30, 7)
    close(far, np.geomspace(1e-30, 1e30, 7), "of a ratio beyond float32", 2e-5)
    between = pt.geomspace(pt.tensor([0.0, -1.0], device=device), pt.tensor([3.0, 2.0]), 3)
    assert between[0].tolist() == [0.0, -1.0]
    assert between[2].tolist() == [3.0, 2.0]
    assert bool(pt.isnan(between[1, 1]))


@pytest.mark.computes
def test_complex_ends(device: str) -> None:
    start, stop = np.array([1j, 2, -3]), np.array([3, 8j, 1 - 1j])
    x, y = (pt.tensor(v, device=device) for v in (start, stop))
    for name in ("linspace", "geomspace"):
        close(getattr(pt, name)(x, y, 5), getattr(np, name)(start, stop, 5), name, 1e-5)


@pytest.mark.computes
def test_bases(device: str) -> None:
    for start, stop, base, axis in (
        (0, 2, [2.0, 3.0, 10.0], 0),
        ([0, 1], [[2], [3]], [2.0, 3.0], -1),
        ([0.5, 1], 2, 4.0, 0),
    ):
        expected = np.logspace(start, stop, 5, base=base, axis=axis)  # pyright: ignore
        b: Any = pt.tensor(base, device=device)
        close(pt.logspace(start, stop, 5, base=b, axis=axis), expected, f"base {base}")
        got = pt.logspace(start, stop, 5, base=base, axis=axis, device=device)
        close(got, expected, f"base {base}")
    with pytest.raises(pt.AxisError, match=r"^geomspace: axis 2"):
        pt.geomspace(pt.ones(2, device=device), 3, axis=2)
