"""Checks that tests of scans, sorts, gathers and scatters fail for slightly wrong kernels.

On webgpu a line of the WGSL is changed, on the cpu device the op's NumPy function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.codegen import program
from py_tensor.ir import arrays
from py_tensor.ops import reduction
from py_tensor.ops.gather import scatter
from tests.ops.compare import same
from tests.ops.test_scan import check as check_scan
from tests.ops.test_scatter import expected_of
from tests.ops.test_sorting import check as check_sort

Array = np.ndarray[Any, Any]
Check = Callable[[str, np.random.Generator], None]


def rows(n: int) -> Check:
    """Running sums along both axes of a few rows."""

    def check(device: str, rng: np.random.Generator) -> None:
        array = rng.integers(-9, 9, (5, n)).astype(np.float32)
        for axis in (0, 1):
            check_scan("cumsum", pt.tensor(array, device=device), array, axis, "mutated")

    return check


def ties(n: int) -> Check:
    """Return a check of both sorts on rows with many equal elements."""

    def check(device: str, rng: np.random.Generator) -> None:
        array = rng.integers(-300, 300, (3, n)).astype(np.float32)
        array[:, ::3] = np.where(rng.random((3, len(array[0, ::3]))) < 0.5, 0.0, -0.0)
        check_sort(pt.tensor(array, device=device), array, 1, "mutated")

    return check


def put(mode: str) -> Check:
    """Put with many repeated indices."""

    def check(device: str, rng: np.random.Generator) -> None:
        array = rng.integers(-99, 99, 30).astype(np.float32)
        at = np.repeat(rng.integers(-30, 30, 40), 50).astype(np.int32)
        values = rng.integers(-99, 99, at.size).astype(np.float32)
        x, t, v = (pt.tensor(a, device=device) for a in (array, at, values))
        expected = expected_of(array, (at,), values, mode)
        same(scatter(x, (0,), (t,), 0, v, mode), expected, f"{mode}, mutated")

    return check


def taken(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(-99, 99, (20, 30)).astype(np.int32)
    at = rng.integers(-20, 20, 50).astype(np.int32)
    x, t = pt.tensor(array, device=device), pt.tensor(at, device=device)
    same(x.take(t, 0), array.take(at, 0), "take, mutated")


@dataclass(frozen=True)
class Mutation:
    """A change of one kernel, and the check that must notice it."""

    kernel: str
    old: str
    new: str
    check: Check


SOFTWARE = {
    "a slice goes on from nothing": Mutation(
        "scan_serial", "if (slice > 0u) {", "if (slice > 1u) {", rows(3000)
    ),
    "a part is forgotten": Mutation(
        "scan_serial", "large0 = combine(large0, part0);", "", rows(3000)
    ),
    "negative indices name the next": Mutation(
        "map", "v0 < 0);", "v0 < 0) + select(0, 1, v0 < -1);", taken
    ),
}  # fmt: skip
SOFTWARE |= {
    "the first value stays": Mutation("scatter", "atomicMax(", "atomicMin(", put("set")),
    "the least of a few": Mutation("scatter", ">= rank_min_f32(", "<= rank_min_f32(", put("min")),
    "heads of chunks are left out": Mutation(
        "scatter_add", "total = combined(total, head_of(next));", "", put("add")
    ),
    "heads are one short": Mutation(
        "scatter_heads", "p < last && place_of", "p + 1u < last && place_of", put("add")
    ),
}
GPUS = {
    "a round does not count": Mutation(
        "scan_tiles", "combine(round2, before.z)", "combine(round1, before.z)", rows(4000)
    ),
    "lanes fold too few": Mutation(
        "scan_tiles", "if (lane >= apart)", "if (lane > apart)", rows(60)
    ),
    "the padding is sorted in": Mutation(
        "sort_bitonic", "var key = 0xffffffffu;", "var key = 0u;", ties(100)
    ),
    "places do not count": Mutation(
        "sort_bitonic", " || (key_low == key_high && place_low > place_high)", "", ties(100)
    ),
    "a copy is left out": Mutation(
        "radix_count", "var k = 0u; k < COPIES", "var k = 1u; k < COPIES", ties(1100)
    ),
    "high digits come first": Mutation("radix_scatter", "before += all << 16u;", "", ties(1100)),
    "ranks do not count what is before": Mutation(
        "radix_scatter", "ranks[k] = (cells[cell] >> half) % 65536u;", "ranks[k] = 0u;", ties(1100)
    ),
}


def mutate(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the text of every kernel made from the template from now on."""
    original = program.fill

    def fill(name: str, *args: Any, **options: Any) -> str:
        text = original(name, *args, **options)
        if name == mutation.kernel and mutation.old in text:
            return text.replace(mutation.old, mutation.new)
        return text

    forget(monkeypatch)
    monkeypatch.setattr(program, "fill", fill)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the cached kernels, so that each is generated again."""
    backend: Any = pt.default_device().backend
    monkeypatch.setattr(backend.programs, "_known", {})
    monkeypatch.setattr(backend.programs, "lowerings", {})
    backend._plans.clear()


def fails(mutation: Mutation, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        mutate(mutation, patch)
        with pytest.raises(AssertionError, match="mutated"):
            mutation.check("webgpu", rng)
    with monkeypatch.context() as patch:
        forget(patch)
        mutation.check("webgpu", rng)
    pt.default_device().backend._plans.clear()  # type: ignore[attr-defined]


WRONG_ON_CPU: dict[str, tuple[Any, str, Any, Check]] = {
    "a sum leaves out its own element": (
        reduction,
        "CUMSUM",
        replace(reduction.CUMSUM, numpy=lambda np, x, axis: np.cumsum(x, axis) - x),
        rows(30),
    ),
    "equal elements change places": (
        arrays,
        "in_order",
        lambda np, x, axis, descending, indices: (
            np.argsort(x, axis, kind="stable")[..., ::-1] if indices else np.sort(x, axis)
        ),
        ties(30),
    ),
    "negative indices are clipped": (
        arrays,
        "_resolved",
        lambda run, x, indices, axes, op: ([np.maximum(index, 0) for index in indices], None),
        taken,
    ),
}


@pytest.mark.computes
@pytest.mark.usefixtures("software_kernels")
def test_wrong_kernels_of_a_software_adapter(
    device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device == "webgpu":
        for mutation in SOFTWARE.values():
            fails(mutation, rng, monkeypatch)
        return
    for module, name, wrong, check in WRONG_ON_CPU.values():
        with monkeypatch.context() as patch:
            patch.setattr(module, name, wrong)
            with pytest.raises(AssertionError, match="mutated"):
                check(device, rng)
        check(device, rng)


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize("what", GPUS)
def test_wrong_kernels_of_a_gpu(
    what: str, device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device == "webgpu":
        fails(GPUS[what], rng, monkeypatch)
    else:
        GPUS[what].check(device, rng)
