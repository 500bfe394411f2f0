"""The cpu device computes small nodes as they are recorded, and large ones when they are read."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backend.device import CPU_DEVICE, MOST_AT_ONCE, deferring
from py_tensor.ops.composition import Composition

RNG = np.random.default_rng(5)


def is_stored(x: pt.Tensor) -> bool:
    return x._node.storage is not None


def small(*shape: int) -> pt.Tensor:
    return pt.asarray(RNG.random(shape, np.float32))


def calls(action: Callable[[], object]) -> int:
    """How many Python functions an action calls."""
    action()
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def test_small_results_are_there_and_large_ones_wait() -> None:
    x, large = small(4), small(MOST_AT_ONCE + 1)
    assert is_stored(x + 1)
    assert is_stored((x * x).sum())
    assert is_stored(pt.ones((3, 4)) @ x)
    assert not is_stored(large + 1)
    assert not is_stored(large.sum())
    assert not is_stored((large + 1)[:2] * 2)
    assert not is_stored(small(64, 64, 64).sum(0) + 1)


def test_what_takes_large_pending_operands_has_their_values() -> None:
    large = small(MOST_AT_ONCE + 1)
    total = (large + 1).sum()
    kept = total * 2
    total += 1
    assert float(kept) == pytest.approx(2 * float((large.numpy() + 1).sum()), rel=1e-6)
    assert is_stored(kept)
    assert is_stored(kept + 1)


def test_a_composition_is_worked_out_once_and_computed_each_time() -> None:
    runs: list[pt.Tensor] = []

    def compose(x: pt.Tensor, y: pt.Tensor) -> pt.Tensor:
        runs.append(x)
        return (x * y + x.sum()) / y

    composed = Composition(compose)
    for _ in range(3):
        x, y = small(5), small(5)
        found = composed((x, y))
        assert is_stored(found)
        xs, ys = x.numpy(), y.numpy()
        assert np.allclose(found.numpy(), (xs * ys + xs.sum()) / ys, rtol=1e-5)
    assert len(runs) == 1


def test_nothing_is_computed_as_it_is_recorded_while_deferring() -> None:
    x = small(4)
    with deferring():
        y = x + 1
        z = y.sum()
    assert not is_stored(y)
    assert not is_stored(z)
    assert is_stored(z * 2)
    CPU_DEVICE.settle(y._node)
    assert is_stored(y)
    assert float(z) == float(y.numpy().sum())


def test_results_share_no_memory() -> None:
    x = small(4)
    before = x.numpy()
    same = x.reshape(2, 2) + 0, x.astype(x.dtype), x.copy(), pt.positive(x)
    x[:] = 7
    for y in same:
        assert np.array_equal(y.numpy().ravel(), before)


def test_a_write_leaves_what_was_made_before() -> None:
    x = small(6)
    before = x.numpy()
    doubled, view, element = x * 2, x[1:4], x[2]
    x[2] = -1.0
    x[1:3] += 4
    after = before.copy()
    after[2] = -1
    after[1:3] += 4
    assert np.array_equal(doubled.numpy(), before * 2)
    assert np.array_equal(view.numpy(), after[1:4])
    assert float(element) == before[2]
    assert np.array_equal(x.numpy(), after)


def test_an_index_out_of_range_is_told_by_the_next_read() -> None:
    x, index = small(4), pt.asarray([1, 9])
    taken = x[index]
    assert not is_stored(taken)
    with pytest.raises(IndexError, match="9 is out of range for axis 0"):
        float(pt.sum(taken + x[:2]))
    assert float(x[0]) == x.numpy()[0]  # told once


def test_errors_of_arithmetic_are_as_silent_as_in_a_flush(recwarn: pytest.WarningsRecorder) -> None:
    x = pt.asarray([0.0, -1.0, 1.0])
    with np.errstate(all="raise"):
        assert np.isinf(float((1 / x)[0]))
        assert np.isnan(float(pt.log(x)[1]))
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(1))  # the caller's state is as it was
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_a_read_of_a_small_result_takes_few_calls() -> None:
    x = small(4)
    assert calls(lambda: float(x.sum())) < 50
    assert calls(lambda: float(x[1])) < 60
