"""Matrix products: the tile, the parts of k, and those computed elementwise in other kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

import py_tensor as pt
from py_tensor.codegen.adapter_profile import (
    FLAT_LONG,
    FLAT_SHORT,
    LARGE,
    LEAST,
    SMALL,
    TALL_SHORT,
    AdapterProfile,
)
from py_tensor.codegen.lower import assembled, lower_each
from py_tensor.codegen.matmul import tile_for
from py_tensor.codegen.program import Dispatch, Programs
from py_tensor.codegen.rows import fits
from py_tensor.ir.bind import leaf
from py_tensor.ir.node import meta_of
from py_tensor.schedule.kernel import Budget, Contraction, Kernel
from py_tensor.schedule.order import make_request
from py_tensor.schedule.passes import kernels_of
from tests.unit import simulate

PROFILE = AdapterProfile(max_buffers=10, workgroup_memory=32768)
Shape = tuple[int, ...]


def stored(shape: Shape) -> pt.Tensor:
    place = simulate.device(execute=False)
    place.backend.max_bytes = 2**40
    return pt.Tensor(leaf(meta_of(shape, pt.float32, place), ()))


def kernels(result: pt.Tensor) -> list[Kernel]:
    result.device.collect()
    program = make_request([result._to_read()]).program
    return kernels_of(program, Budget(PROFILE.max_buffers), fits(PROFILE)).kernels


def dispatches(a: Shape, b: Shape) -> tuple[Dispatch, ...]:
    x = stored(a)
    y = pt.Tensor(leaf(meta_of(b, pt.float32, x.device), ()))
    return assembled(*lower_each(kernels(x @ y), PROFILE, Programs())).dispatches


def tile_of(m: int, k: int, n: int) -> tuple[str, int]:
    tile, parts = tile_for(PROFILE, m, n, 1, k)
    return str(tile), parts


def test_the_tile_follows_the_shape() -> None:
    assert tile_of(4096, 4096, 4096) == (str(LARGE), 1)
    assert tile_of(512, 512, 512) == (str(SMALL), 1)
    assert tile_of(4, 64, 500_000) == (str(FLAT_SHORT), 1)
    assert tile_of(500_000, 64, 8) == (str(TALL_SHORT), 1)
    assert tile_of(16, 64, 16) == (str(LEAST), 1)
    assert tile_of(3, 96_392, 1376)[0] == str(FLAT_LONG)


@pytest.mark.parametrize("k", [1, 4, 5])
@pytest.mark.parametrize("n", [64, 63])
def test_products_of_few_terms_are_elementwise_kernels(k: int, n: int) -> None:
    families = {d.program.family for d in dispatches((300, k), (k, n))}
    assert families == {"map" if k <= PROFILE.max_terms else "matmul_tiled"}


@pytest.mark.parametrize(("m", "k", "n"), [(16, 200_000, 8), (2, 93_612, 78), (5, 70_033, 4)])
def test_few_results_are_summed_in_parts(m: int, k: int, n: int) -> None:
    """The number of parts need not divide k."""
    first, second = dispatches((m, k), (k, n))
    assert first.count >= 100
    assert "slices" in second.program.variant


def test_parts_cover_k(source: Random) -> None:
    """They are whole slices, except the last, and none is empty."""
    for _ in range(200):
        m, k, n = source.randint(2, 64), source.randint(5, 2**18), source.randint(2, 64)
        first = dispatches((m, k), (k, n))[0]
        count, length, batch = first.params[4:7]
        parts = count // batch
        assert (parts - 1) * length < k <= parts * length
        assert parts == 1 or length % 4 == 0


def distances(x: pt.Tensor, c: pt.Tensor) -> pt.Tensor:
    return (x * x).sum(1)[:, None] - 2 * (x @ c.T) + (c * c).sum(1)


@pytest.mark.parametrize(
    ("f", "a", "b", "fused"),
    [
        (lambda x, c: distances(x, c).argmin(1), (2000, 8), (16, 8), True),
        (lambda x, c: (x @ c.T).max(1), (2000, 3), (5, 3), True),
        (lambda x, c: x @ c.T * 2, (2000, 8), (16, 8), False),  # stored
        (lambda x, c: (x @ c.T).max(1), (2000, 17), (16, 17), False),  # long
        (lambda x, c: (x @ c.T).max(1), (2000, 8), (100, 8), False),  # wide
        (lambda x, c: x @ c.T @ c, (2000, 8), (16, 8), False),  # an operand of another product
    ],
)
def test_short_products_are_arithmetic(
    f: Callable[..., pt.Tensor], a: Shape, b: Shape, fused: bool
) -> None:
    x = stored(a)
    c = pt.Tensor(leaf(meta_of(b, pt.float32, x.device), ()))
    found = [isinstance(s, Contraction) for k in kernels(f(x, c)) for s in k.stages]
    assert any(found) is not fused


def test_a_software_adapter_has_one_tile_and_only_for_large_products() -> None:
    profile = replace(PROFILE, software=True)
    x = stored((300, 100))

    def families(y: Shape) -> set[str]:
        right = pt.Tensor(leaf(meta_of(y, pt.float32, x.device), ()))
        lowered = assembled(*lower_each(kernels(x @ right), profile, Programs()))
        return {d.program.family for d in lowered.dispatches}

    assert families((100, 100)) == {"matmul_tiled"}
    assert families((100, 20)) == {"reduce"}
