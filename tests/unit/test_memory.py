"""How many bytes of buffers a program needs, at most, and what may be written over."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable

import pytest

import py_tensor as pt
from py_tensor.backend.connection import CHECKED_ALLOCATION
from py_tensor.backend.device import is_at_hand
from py_tensor.errors import GPUError
from py_tensor.graph.order import OVERWRITTEN_BYTES
from tests.unit.fake_bridge import GPU, MIB
from tests.unit.test_faults import data, interrupted_at_every_line, realize

SIZE = 256 * MIB
LARGE = OVERWRITTEN_BYTES


def large(gpu: GPU, nbytes: int = SIZE, value: float = 0.5) -> pt.Tensor:
    return pt.full((nbytes // 4,), value, device=gpu.device).realize()


def needed(gpu: GPU) -> int:
    """Buffers of `SIZE` that there were at most; everything else is small."""
    info = gpu.backend.memory_info()
    assert info["device_bytes"] <= info["peak_bytes"]
    return -(-info["peak_bytes"] // SIZE)


def buffer_of(x: pt.Tensor) -> int:
    """Where the elements are, or those that it is a view of."""
    return x._stored().storage.number


def contents(gpu: GPU, x: pt.Tensor) -> bytes:
    """What the elements depend on, without reading all of them."""
    return gpu.bridge.contents[buffer_of(x.realize())]


def test_a_fused_chain_holds_its_input_and_its_output(gpu: GPU) -> None:
    x = y = large(gpu)
    for _ in range(20):
        y = y * 1.0001 + 0.1
    y.realize()
    assert needed(gpu) == 2
    assert x.nbytes == SIZE


def test_a_chain_of_several_kernels_holds_one_temporary_besides(gpu: GPU) -> None:
    x = y = large(gpu)
    dispatches = gpu.bridge.counts["dispatches"]
    for _ in range(400):  # flushed by itself on the way
        y = y * 1.0001 + 0.1
    y.realize()
    assert gpu.bridge.counts["dispatches"] - dispatches >= 8
    assert needed(gpu) <= 3
    assert x.nbytes == SIZE


@pytest.mark.parametrize("held", [False, True])
def test_a_chain_whose_every_step_is_realized(gpu: GPU, held: bool) -> None:
    """Each step is written over the one before; the first one over x, if nobody holds that."""
    y = large(gpu)
    x = y if held else None
    for _ in range(20):
        y = y * 1.0001 + 0.1
        y.realize()
    assert needed(gpu) == 1 + held
    assert (x is None) != held


def test_a_chain_of_reductions_and_maps(gpu: GPU) -> None:
    """Of a flush the temporaries are written over as well."""
    x = large(gpu)
    y = x
    for _ in range(8):
        y = y - y.sum()
    y.realize()
    assert needed(gpu) <= 3
    assert x.nbytes == SIZE


# -- What may not be written over ---------------------------------------------------------------

Expression = Callable[[pt.Tensor], pt.Tensor]


def is_written_over(gpu: GPU, f: Expression, nbytes: int = LARGE) -> bool:
    """Whether the result of `f` is where its operand was, which nobody holds."""
    side = int((nbytes / 4) ** 0.5)
    x = pt.full((side, side), 0.5, device=gpu.device).realize()
    before = buffer_of(x)
    y = f(x)
    del x
    return buffer_of(y.realize()) == before


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1,
        lambda x: x * x + x,
        lambda x: pt.tanh(x) * pt.arange(x.shape[1], device=x.device, dtype=pt.float32),
        lambda x: (x.reshape(-1) + 1).reshape(x.shape),
        lambda x: x - x.sum(),  # by a second kernel
        lambda x: x + pt.full(x.shape, 2.0, device=x.device).realize().T,
    ],
)
def test_what_is_read_in_place_is_written_over(gpu: GPU, f: Expression) -> None:
    assert is_written_over(gpu, f)
    assert is_written_over(gpu, f)  # planned before


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + x.T,
        lambda x: x.T + 1,
        lambda x: pt.flip(x, 0) + x,
        lambda x: x[1:] + x[:-1],
        lambda x: x[:-1] + 1,
        lambda x: x + x[0],
        lambda x: x - x.sum(1, keepdims=True),
        lambda x: x.pad(1) * 2,
        lambda x: pt.concat([x, x]) + 1,
        lambda x: x @ x,
        lambda x: x > 0.5,
        lambda x: (x + 1).reshape(-1)[::2] + 1,
    ],
)
def test_what_is_read_elsewhere_is_not(gpu: GPU, f: Expression) -> None:
    assert not is_written_over(gpu, f)


def test_small_tensors_are_not(gpu: GPU) -> None:
    assert not is_written_over(gpu, lambda x: x + 1, OVERWRITTEN_BYTES // 4)


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[:5],
        lambda x: copy.deepcopy(x),
        lambda x: pt.exp(x),
        lambda x: pt.exp(x.T).sum(),
        lambda x: iter(x),
    ],
)
def test_what_somebody_may_still_need_is_not(gpu: GPU, hold: Callable[[pt.Tensor], object]) -> None:
    x = large(gpu, LARGE).reshape(512, 512)
    before = buffer_of(x)
    held = hold(x)
    y = x + 1
    del x
    assert buffer_of(y.realize()) != before
    del held
    assert data(y)


def test_what_needs_a_value_computed_in_passing_is_computed_with_it(gpu: GPU) -> None:
    x = large(gpu, LARGE)
    shared = x * 2
    first, second, other = shared + 1, shared.sum(), x + 3
    del shared
    first.realize()
    assert is_at_hand(second._node)
    assert not is_at_hand(other._node)


def test_of_states_that_depend_on_each_other_one_may_be_read(gpu: GPU) -> None:
    """The work of a round stays the same, and does not grow by what the rounds before took."""
    u, v = large(gpu), large(gpu)
    dispatches: list[int] = []
    for _ in range(6):
        before = gpu.backend.stats()["dispatches"]
        for _ in range(3):
            u, v = u - u * v, v + u * v
        v.realize()
        assert is_at_hand(u._node)
        dispatches.append(gpu.backend.stats()["dispatches"] - before)
    assert dispatches == dispatches[:1] * 6


def test_a_request_without_dependents_stays_as_it_was(gpu: GPU) -> None:
    """What holds a value that is computed in passing may be no tensor that is pending."""
    x, y = large(gpu, LARGE), large(gpu, LARGE, 2.0)
    shared = x * 2
    held = shared._node
    result = shared + y
    _other = (y - 1, x - y)
    del shared
    wanted = gpu.device.request([result._node])
    assert [node.slot for node in wanted.order] == list(range(len(wanted.order)))
    assert held in wanted.order


def test_without_memory_for_them_others_are_left(gpu: GPU) -> None:
    x = large(gpu)
    shared = pt.exp(x)
    first = shared + 1
    others = [shared * i for i in range(2, 9)]
    del shared
    gpu.bridge.allocations = ["out-of-memory"] * 2  # the pool is emptied after the first
    first.realize()
    assert gpu.bridge.allocations == []
    assert is_at_hand(first._node)
    assert not any(is_at_hand(other._node) for other in others)


def test_two_results_of_one_operand(gpu: GPU) -> None:
    x = large(gpu, LARGE)
    y, z = x + 1, pt.exp(x)
    before = buffer_of(x)
    del x
    pt.realize(y, z)
    assert (buffer_of(y) == before) + (buffer_of(z) == before) <= 1
    assert contents(gpu, y) != contents(gpu, z)


def test_the_plan_depends_on_who_holds_the_operand(gpu: GPU) -> None:
    buffers: list[bool] = []
    for hold in (True, False, True, False):
        x = large(gpu, LARGE)
        before, held = buffer_of(x), x if hold else None
        y = x + 1
        del x
        buffers.append(buffer_of(y.realize()) == before)
        del held
    assert buffers == [False, True, False, True]


# -- Faults -------------------------------------------------------------------------------------


def test_a_flush_that_throws_writes_nothing_over(gpu: GPU) -> None:
    y = large(gpu, LARGE) + 1
    expected = contents(gpu, large(gpu, LARGE) + 1)
    gpu.bridge.faults = ["throw"]
    with pytest.raises(GPUError):
        y.realize()
    assert contents(gpu, y) == expected


def test_without_memory_nothing_is_written_over(gpu: GPU) -> None:
    def expression() -> pt.Tensor:
        x = large(gpu, 2 * CHECKED_ALLOCATION)
        return pt.concat([x * 2, pt.exp(x)]) + 1

    expected = contents(gpu, expression())
    gpu.backend.empty_cache()
    y = expression()
    gpu.bridge.allocations = ["out-of-memory"] * 2
    with pytest.raises(MemoryError):
        y.realize()
    assert contents(gpu, y) == expected


def test_a_late_error_of_what_was_written_over(gpu: GPU) -> None:
    y = large(gpu, LARGE) + 1
    gpu.bridge.faults = ["validation"]
    y.realize()
    for _ in range(2):
        with pytest.raises(GPUError, match="refused"):
            data(y)
    del y
    assert gpu.is_clean()


def test_a_read_under_way_keeps_its_error_to_itself(gpu: GPU) -> None:
    """Who reads a tensor holds its storage, so it is not written over meanwhile."""
    x = large(gpu, LARGE)
    before = buffer_of(x)
    reading = gpu.backend._start_read(x._node)
    y = x + 1
    del x
    assert buffer_of(y.realize()) != before
    gpu.backend._end_read(reading, reading.promise.value)


def test_interrupts_at_every_line(gpu: GPU) -> None:
    """Whatever is interrupted, the result can be had, from what was there before or by itself."""
    expected = contents(gpu, large(gpu, LARGE) + 1)

    def prepare() -> list[pt.Tensor]:
        return [large(gpu, LARGE) + 1]

    def check(tensors: list[pt.Tensor]) -> None:
        assert contents(gpu, tensors[0]) == expected

    assert interrupted_at_every_line(gpu, "backend", prepare, realize, check) > 30


def test_an_unread_loop_writes_over_its_own_results(gpu: GPU) -> None:
    y = large(gpu, LARGE)
    buffers = set[int]()
    for _ in range(50):
        y = y * 2 + 1
        y.realize()
        buffers.add(buffer_of(y))
    assert len(buffers) == 1
    del y
    gc.collect()
    assert gpu.is_clean()
