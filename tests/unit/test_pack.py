"""Similar small kernels are packed into one: the number of kernels and of programs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise, product

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.codegen.program import Programs
from py_tensor.runtime.device import LazyDevice
from py_tensor.schedule.pack import MAX_CODE, MIN_SIMILAR, SMALL
from tests.unit import simulate

Make = Callable[[list[pt.Tensor]], list[pt.Tensor]]


def sums(xs: list[pt.Tensor]) -> list[pt.Tensor]:
    """Return the sums of each tensor of the first half with each of the second."""
    half = len(xs) // 2
    return [a + b for a, b in product(xs[:half], xs[half:])]


def pairs(xs: list[pt.Tensor]) -> list[pt.Tensor]:
    return [a - b for a, b in zip(xs[::2], xs[1::2], strict=True)]


def neighbours(xs: list[pt.Tensor]) -> list[pt.Tensor]:
    return [a * b for a, b in pairwise(xs)]


def scaled(xs: list[pt.Tensor]) -> list[pt.Tensor]:
    return [x * (n + 2) for n, x in enumerate(xs)]


def powers(xs: list[pt.Tensor]) -> list[pt.Tensor]:
    """Each step depends on the one before."""
    return [y for x in xs for y in (x * x, x * x * x)]


def dispatches(
    make: Make, count: int, *, shape: tuple[int, ...] = (3, 5), max_buffers: int = 10
) -> int:
    """Return the number of kernels; its values are checked."""
    rng = np.random.default_rng()
    arrays = [rng.integers(-9, 9, shape).astype("float32") for _ in range(count)]
    place = simulate.device(max_buffers, programs=Programs())
    results = make([pt.tensor(a, device=place) for a in arrays])
    pt.realize(*results)
    kernels = len(simulate.kernels_of(place))
    expected = make([pt.tensor(a, device=CPU_DEVICE) for a in arrays])
    for found, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), right.numpy())
    return kernels


@pytest.mark.parametrize(
    ("make", "count", "max_buffers", "kernels"),
    [
        (sums, 16, 10, 8),  # 64 results; of eight that share an operand, nine buffers and a slab
        (sums, 16, 8, 12),  # of six, seven and a slab; for two columns again 6, and twice 2
        (sums, 16, 4, 32),  # of two, three and a slab
        (sums, 20, 10, 14),  # for each row 8, for two columns 8, and twice the 2 left of these
        (pairs, 48, 10, 6),  # of four, eight and a slab
        (pairs, 50, 10, 7),  # 25 results, one by itself
        (pairs, 52, 10, 7),  # 26 results, two of them in one
        (scaled, 24, 10, 3),  # of eight, eight and a slab
        (scaled, 24, 4, 8),  # of three
        (neighbours, 25, 10, 24),  # an operand read twice counts twice
    ],
)
def test_number_of_kernels_in_a_pack(
    make: Make, count: int, max_buffers: int, kernels: int
) -> None:
    assert dispatches(make, count, max_buffers=max_buffers) == kernels


def test_dependent_kernels_are_not_packed_together() -> None:
    def chain(xs: list[pt.Tensor]) -> list[pt.Tensor]:
        results = xs[:1]
        for _ in range(20):
            results.append(pt.flip(results[-1]) + xs[1])
        return results[1:]

    assert dispatches(chain, 2) == 20


def test_few_are_left_alone() -> None:
    assert dispatches(scaled, MIN_SIMILAR - 1) == MIN_SIMILAR - 1
    assert dispatches(scaled, MIN_SIMILAR) < MIN_SIMILAR


def test_large_ones_are_left_alone() -> None:
    assert dispatches(scaled, 20, shape=(SMALL,)) < 20
    assert dispatches(scaled, 20, shape=(SMALL + 1,)) == 20


def test_code_is_bounded() -> None:
    """The time to compile straight-line code grows faster than the code."""
    place = simulate.device(10, execute=False)
    for steps in range(1, 8):
        results: list[pt.Tensor] = []
        for n in range(20):
            y = pt.full((3,), float(n), device=place).realize()
            for _ in range(steps):
                y = pt.sinh(y)
            results.append(y)
        pt.realize(*results)
        kernels = simulate.kernels_of(place)
        assert all(k.row.cost <= MAX_CODE or len(k.outputs) == 1 for k in kernels)
        assert (len(kernels) < 20) == (steps <= 2)


def test_only_similar_results_share_a_slab() -> None:
    """Temporaries of the flush have their own buffers."""
    place = simulate.device(10)
    xs = [pt.full((4, 4), float(n), device=place).realize() for n in range(1, 25)]
    live = [x * 2 for x in xs]
    products = [pt.exp(x) @ x for x in xs]
    mixed = [y for x in xs for y in (x > 3, x.astype(pt.int32))]
    pt.realize(*live, *products, *mixed)
    kernels = [k for k in simulate.kernels_of(place) if not k.stages]
    slabs = [k for k in kernels if k.slab]
    backend = place.backend
    assert isinstance(backend, simulate.Simulator)
    wanted = backend.requests[-1].program.outputs
    for kernel in kernels:
        assert kernel.slab == (kernel.writes() <= wanted and len(kernel.outputs) > 1)
    assert sum(len(k.outputs) for k in slabs) == len(live) + len(mixed)


@pytest.mark.parametrize(
    ("make", "most"), [(sums, 6), (pairs, 3), (neighbours, 1), (scaled, 3), (powers, 6)]
)
def test_loops_of_any_length_share_their_programs(make: Make, most: int) -> None:
    programs = Programs()
    for count in range(4, 60, 2):
        place: LazyDevice = simulate.device(10, execute=False, programs=programs)
        leaves = [pt.tensor([1.0, 2.0, 3.0], device=place) for _ in range(count)]
        pt.realize(*islice(make(leaves), 300))
    assert len(programs) <= most
