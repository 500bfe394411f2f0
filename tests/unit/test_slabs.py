"""Results that share a buffer: lifetimes and faults, on a fake bridge."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from random import Random

import pytest

import py_tensor as pt
from py_tensor.base.errors import DeviceLostError, GPUError
from py_tensor.runtime.pool import Slice, Storage
from py_tensor.schedule.pack import MAX_PACK, MIN_SIMILAR
from tests.unit.fake_bridge import GPU
from tests.unit.test_faults import DEVICES, data, interrupted_at_every_line, realize

COUNT = 2 * MAX_PACK + 1  # results: two slabs, and one separate
LARGEST = 256  # elements, so that a slice is as large as the size class of its results


def scaled(x: pt.Tensor, count: int = COUNT) -> list[pt.Tensor]:
    """Results of one packed kernel if there are `MAX_PACK` of them."""
    return [x * (n + 2) for n in range(count)]


def operand(gpu: GPU) -> pt.Tensor:
    return pt.arange(LARGEST, dtype=pt.float32, device=gpu.device).realize()


def storage(x: pt.Tensor) -> Storage | Slice:
    return x._node.storage


def slabs(results: list[pt.Tensor]) -> list[int]:
    """Return the ids of the slabs that contain results, in order."""
    stored = [storage(x) for x in results]
    return sorted({x.slab.number for x in stored if isinstance(x, Slice)})


# -- Lifetimes ---------------------------------------------------------------------------------


def test_results_share_buffers(gpu: GPU) -> None:
    x = operand(gpu)
    results = scaled(x)
    before = gpu.bridge.counts["dispatches"]
    realize(results)
    assert gpu.bridge.counts["dispatches"] - before == 3
    assert len(slabs(results)) == 2
    assert isinstance(storage(results[-1]), Storage)
    assert len({storage(y).number for y in results}) == COUNT
    assert len({data(y) for y in results}) == COUNT
    info = gpu.memory_info()
    assert (info["live_buffers"], info["device_buffers"]) == (4, 4)
    assert info["live_bytes"] == info["device_bytes"] == 4 * LARGEST * (COUNT + 1)
    del x, results
    assert gpu.is_clean()


def test_one_result_keeps_its_slab_and_no_more(gpu: GPU) -> None:
    x = operand(gpu)
    results = scaled(x)
    realize(results)
    own = 4 * LARGEST
    kept = results[3]
    expected = data(kept)
    del results
    info = gpu.memory_info()
    assert info["live_bytes"] == own + MAX_PACK * own
    assert info["pooled_bytes"] == MAX_PACK * own + own
    others = scaled(x + 1)
    realize(others)
    assert slabs([kept]) != slabs(others)
    assert data(kept) == expected
    del kept, others
    assert gpu.memory_info()["live_bytes"] == own
    del x
    assert gpu.is_clean()


def test_a_loop_has_the_same_slabs_in_turns(gpu: GPU) -> None:
    state = scaled(operand(gpu))
    realize(state)
    seen: list[list[int]] = []
    for _ in range(6):
        state = [x * 1.5 for x in state]
        realize(state)
        seen.append(slabs(state))
    assert seen[2:] == seen[:2] * 2
    assert gpu.memory_info()["live_bytes"] <= 2 * 4 * LARGEST * (COUNT + 3)


def test_whatever_is_live_keeps_its_values(gpu: GPU, source: Random) -> None:
    """No slab is written while a result in it is live, which the fake bridge checks."""
    x = operand(gpu)
    live: list[tuple[pt.Tensor, bytes]] = []
    for step in range(60):
        operands = [y for y, _ in live] or [x]
        new = [source.choice(operands) * (n + step) for n in range(source.randrange(2, 40))]
        realize(new)
        live += [(y, data(y)) for y in new]
        source.shuffle(live)
        del live[source.randrange(50) :], operands, new
        assert [data(y) for y, _ in live] == [expected for _, expected in live]
        info = gpu.memory_info()
        assert info["live_buffers"] + info["pooled_buffers"] == info["device_buffers"]
        assert info["live_bytes"] + info["pooled_bytes"] == info["device_bytes"]
        assert info["live_bytes"] <= 4 * LARGEST * (MAX_PACK * len(live) + 1)
    del x, live
    assert gpu.is_clean()


def test_temporaries_are_in_no_slab(gpu: GPU) -> None:
    """They share memory with each other instead."""
    x = operand(gpu)
    # Operands of matrix products are stored, although nothing holds them.
    realize(results := [y @ y for y in scaled(x.reshape(16, 16), MIN_SIMILAR)])
    info = gpu.memory_info()
    assert info["device_buffers"] < 2 * MIN_SIMILAR
    assert slabs(results) == []
    del x, results
    assert gpu.is_clean()


def test_poison_and_reads_ahead(gpu: GPU) -> None:
    """A slab is poisoned as a whole before anything is stored there; reads find their copy."""
    x = operand(gpu)
    realize(results := scaled(x))
    expected = [data(y) for y in results]
    gpu.backend.debug(False, True, False)
    results = scaled(x)
    submits = gpu.bridge.counts["submits"]
    gpu.device.compute([y._node for y in results], results[5]._node)
    assert data(results[5]) == expected[5]
    assert gpu.bridge.counts["submits"] == submits + 1
    assert len(slabs(results)) == 2
    assert [data(y) for y in results] == expected


# -- Faults -------------------------------------------------------------------------------------


def assert_fail(results: Iterable[pt.Tensor], error: type[Exception], words: str) -> None:
    for y in results:
        with pytest.raises(error, match=words):
            data(y)


def test_a_flush_that_throws(gpu: GPU) -> None:
    x = operand(gpu)
    results = scaled(x)
    for _ in range(10):
        gpu.bridge.faults = ["throw"]
        with pytest.raises(GPUError, match="thrown for a test"):
            realize(results)
        assert all(storage(y) is None for y in results)
    assert len(gpu.bridge.buffers) < 10
    realize(results)
    expected = [data(y) for y in results]
    realize(again := scaled(x))
    assert [data(y) for y in again] == expected
    del x, results, again
    assert gpu.is_clean()


def test_a_late_error_reaches_every_result_of_the_flush(gpu: GPU) -> None:
    x = operand(gpu)
    realize(good := scaled(x))
    gpu.bridge.faults = ["validation"]
    realize(results := scaled(x))
    realize(after := [y + 1 for y in results])
    assert_fail((*results, *after), GPUError, "refused for a test")
    assert all(data(y) for y in (x, *good))
    del x, good, results, after
    assert gpu.is_clean()


def test_slabs_that_were_not_made(gpu: GPU) -> None:
    """All their results raise; they are never reused, and slabs are checked from then on."""
    x = operand(gpu)
    gpu.bridge.faults = ["out-of-memory"]
    realize(results := scaled(x))
    assert_fail(results, MemoryError, "out of memory")
    del results
    gpu.bridge.allocations = ["", "out-of-memory", ""]  # the second is retried
    realize(again := scaled(x))
    assert len(slabs(again)) == 2
    assert all(data(y) for y in again)
    gpu.bridge.allocations = ["out-of-memory"] * 2
    more = scaled(x + 1)
    with pytest.raises(MemoryError, match="no room"):
        realize(more)
    realize(more)
    assert all(data(y) for y in more)
    assert gpu.bridge.invalid.isdisjoint(gpu.backend.pool._kinds)
    del x, again, more
    assert gpu.is_clean()


def test_a_lost_device(gpu: GPU) -> None:
    x = operand(gpu)
    realize(lost := scaled(x))
    pending = [y + 1 for y in lost]
    gpu.bridge.loseDevice()
    for results in (lost, pending):
        with pytest.raises(DeviceLostError):
            data(results[0])
    x = operand(gpu)
    realize(results := scaled(x))
    assert all(data(y) for y in results)
    del lost, pending  # ids of another device, some of them reused
    gc.collect()
    assert all(data(y) for y in results)
    del x, results
    assert gpu.is_clean()


def check_all(results: list[pt.Tensor]) -> None:
    assert len({data(y) for y in results}) == len(results)


@pytest.mark.parametrize("planned", [True, False])
def test_interrupts_at_every_line(gpu: GPU, planned: bool) -> None:
    realize(scaled(operand(gpu), MAX_PACK + 2))

    def prepare() -> list[pt.Tensor]:
        results = scaled(operand(gpu), MAX_PACK + 2)
        if not planned:
            gpu.backend._plans.clear()
        return results

    assert interrupted_at_every_line(gpu, DEVICES, prepare, realize, check_all) > 50


@pytest.mark.parametrize("answers", [[], ["", "interrupted"], ["out-of-memory"]])
def test_interrupts_where_slabs_are_checked(gpu: GPU, answers: list[str]) -> None:
    def prepare() -> list[pt.Tensor]:
        results = scaled(operand(gpu), MAX_PACK + 2)
        gpu.backend.checked_allocation = 0
        gpu.bridge.allocations = [*answers]
        return results

    assert interrupted_at_every_line(gpu, DEVICES, prepare, realize, check_all) > 50
