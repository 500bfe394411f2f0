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
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.ops.record import Composition
from py_tensor.runtime.device import MAX_AT_ONCE, deferring

RNG = np.random.default_rng(5)


def is_stored(x: pt.Tensor) -> bool:
    return x._node.storage is not None


def small(*shape: int) -> pt.Tensor:
    return pt.asarray(RNG.random(shape, np.float32))


def calls(action: Callable[[], object]) -> int:
    """Number of Python function calls of an action."""
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
    x, large = small(4), small(MAX_AT_ONCE + 1)
    assert is_stored(x + 1)
    assert is_stored((x * x).sum())
    assert is_stored(pt.ones((3, 4)) @ x)
    assert not is_stored(large + 1)
    assert not is_stored(large.sum())
    assert is_stored(pt.zeros(4))
    assert not is_stored(pt.zeros(large.shape))  # it takes no memory
    assert not is_stored((large + 1)[:2] * 2)
    assert not is_stored(small(64, 64, 64).sum(0) + 1)


def test_what_takes_large_pending_operands_has_their_values() -> None:
    large = small(MAX_AT_ONCE + 1)
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
    CPU_DEVICE.record_deferred(y._node)
    assert is_stored(y)
    assert float(z) == float(y.numpy().sum())


def test_results_share_no_memory() -> None:
    x = small(4)
    before = x.numpy()
    same = x.reshape(2, 2) + 0, x.astype(x.dtype), x.copy(), pt.positive(x)
    x[:] = 7
    for y in same:
        assert np.array_equal(y.numpy().ravel(), before)


def test_a_write_keeps_earlier_results() -> None:
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


def test_an_index_out_of_range_is_reported_by_the_next_read() -> None:
    x, index = small(4), pt.asarray([1, 9])
    taken = x[index]
    assert not is_stored(taken)
    with pytest.raises(IndexError, match="9 is out of range for axis 0"):
        float(pt.sum(taken + x[:2]))
    assert float(x[0]) == x.numpy()[0]  # reported once


def test_errors_of_arithmetic_are_as_silent_as_in_a_flush(recwarn: pytest.WarningsRecorder) -> None:
    x = pt.asarray([0.0, -1.0, 1.0])
    with np.errstate(all="raise"):
        assert np.isinf(float((1 / x)[0]))
        assert np.isnan(float(pt.log(x)[1]))
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(1))  # the caller's state is unchanged
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_a_read_of_a_small_result_takes_few_calls() -> None:
    x = small(4)
    assert calls(lambda: float(x.sum())) < 50
    assert calls(lambda: float(x[1])) < 60


def test_a_product_of_small_operands_is_one_call_of_numpy() -> None:
    x = small(4)
    assert calls(lambda: x @ x) < 25
    for a, b in (
        (small(4), small(4)),
        (small(3, 4), small(4)),
        (small(4), small(4, 5)),
        (small(3, 4), small(5, 4).T),
        (small(8)[::-2], small(4, 2)[:, 1]),
        (pt.arange(4), pt.eye(4, dtype="int32")),
        (small(4) + small(MAX_AT_ONCE + 4)[2:6], pt.linspace(0, 1, 4)),
    ):
        result = a @ b
        assert is_stored(result)
        with deferring():
            later = a @ b
        assert np.array_equal(result.numpy(), later.numpy()), f"{a.shape} @ {b.shape}"
        assert np.allclose(result.numpy(), a.numpy() @ b.numpy())
    large = small(128, 64)
    for a, b in ((large, large.T), (large.T + 1, large), (small(MAX_AT_ONCE + 4) + 1,) * 2):
        result = a @ b
        assert not is_stored(result)
        assert np.allclose(result.numpy(), a.numpy() @ b.numpy(), rtol=1e-4)
    taken = small(4)[pt.asarray([1, 2, 3, 9])]
    product = taken @ small(4)
    with pytest.raises(IndexError, match="9 is out of range"):
        product.numpy()
    assert np.isnan(float(pt.asarray([np.inf, np.inf]) @ pt.asarray([1.0, -1.0])))


def test_a_part_is_written_to_a_large_array_that_nothing_else_needs() -> None:
    x = pt.zeros((300, 300)) + 0
    x.realize()
    before = x._node.storage
    x[3, 4] = 1.5
    x[5, 2:9] = x[3, 1:8] + 1
    x[7] += 2
    assert x._node.storage is before
    expected = np.zeros((300, 300), np.float32)
    expected[3, 4] = 1.5
    expected[5, 2:9] = expected[3, 1:8] + 1
    expected[7] += 2
    assert np.array_equal(x.numpy(), expected)


@pytest.mark.parametrize(
    "keep",
    [
        lambda x: x.copy(),
        lambda x: x.reshape(-1)[5:7].copy(),
        lambda x: x + 1 - 1,
        lambda x: x.astype(x.dtype),
        lambda x: x.T + 0,
        lambda x: x[0] * 1,
        lambda x: x[0, 5],
        lambda x: pt.concat([x, x]),
        lambda x: x.sum(0),
        lambda x: x[pt.asarray([0, 1])],
        lambda x: memoryview(x.tobytes()),
    ],
)
def test_what_was_made_before_keeps_its_values(keep: Callable[[pt.Tensor], Any]) -> None:
    values = RNG.random((100, 200), np.float32)
    x = pt.asarray(values) + 0
    x.realize()
    x[1, 1] = 0.5  # to an array of its own
    expected = np.asarray(keep(x)).copy()
    kept = keep(x)
    x[0] = -1
    x[0, 5] = 9
    x[:, 6] = 8
    assert np.array_equal(np.asarray(kept), expected)
    values[1, 1] = 0.5
    values[0], values[0, 5], values[:, 6] = -1, 9, 8
    assert np.array_equal(x.numpy(), values)


def test_a_write_that_reads_what_it_writes_over_reads_it_before() -> None:
    values = RNG.random((100, 200), np.float32)
    x = pt.asarray(values) + 0
    x.realize()
    for y in (x, values):
        y[1:] = y[:-1]
        y[:, 2:5] = y[:, 1:4] * 2 - y[:, 2:5]
        y[0, ::-1] = y[0]
        y[:50, :50] = y[:50, :50].T
        y[3] = y[:200, 3].sum() + y[3]
    np.testing.assert_allclose(x.numpy(), values, rtol=1e-5)


def test_parts_of_complex_elements_are_written_to_the_array() -> None:
    values = RNG.random((100, 200)).astype(np.complex64)
    x = pt.asarray(values) + 0
    x.realize()
    for y in (x, values):
        y[2, 2:5].imag[...] = 3
        y.real[1] = y.imag[2]
        y[4] = y[4].conj() * 1j
    assert np.array_equal(x.numpy(), values)


def test_a_scalar_that_is_computed_is_an_int_in_a_key() -> None:
    values = RNG.random((4, 5), np.float32)
    x = pt.asarray(values)
    for dtype in ("int32", "int8", "uint8"):
        i = pt.array([2, 3], dtype=dtype)[1]
        assert calls(lambda i=i: x[i, i]) < 50
        assert x[i, i] == values[3, 3]
        row = x[i]
        row[:] = 7  # a view, as in NumPy
        values[3] = 7
        np.testing.assert_array_equal(x.numpy(), values)
        assert not np.shares_memory(values, values[np.array(3)])
        row = x[pt.array(3, dtype=dtype)]  # of an array, a copy
        row[:] = 8
        np.testing.assert_array_equal(x.numpy(), values)
        x[i, i - 2] += 1
        values[3, 1] += 1
        np.testing.assert_array_equal(x.numpy(), values)
    with pytest.raises(IndexError, match="index 4 is out of range for axis 0"):
        x[x.argmax() * 0 + 4]


def test_elements_of_a_range_are_read_from_a_copy() -> None:
    x = pt.arange(6.0)
    copy, view = x.copy(), x[::-1]
    assert x[2] == 2
    assert is_stored(x)
    x[2] = 9
    assert copy.tolist() == [0, 1, 2, 3, 4, 5]
    assert view.tolist() == [5, 4, 3, 9, 1, 0]


@pytest.mark.parametrize(
    "key", [([1, 2],), ([-1, 2], [3, 0]), (slice(None), [1, 2]), (1, [2, 3]), (..., [0]), ([1], 2)]
)
def test_lists_and_tensors_select_at_once(key: tuple[Any, ...]) -> None:
    values = RNG.random((4, 5), np.float32)
    x = pt.asarray(values)
    tensors = tuple(pt.array(k) if isinstance(k, list) else k for k in key)
    for given in (key, tensors):
        found = x[given]
        assert is_stored(found)
        np.testing.assert_array_equal(found.numpy(), values[key])
        found[...] = 0  # a copy
        np.testing.assert_array_equal(x.numpy(), values)


def test_what_selects_many_waits() -> None:
    x = small(8, 8)
    rows, columns = (pt.zeros(shape, dtype=int) + 0 for shape in ((1000, 1), (1, 1000)))
    assert not is_stored(x[rows, columns])
