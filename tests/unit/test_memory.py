"""The peak of a program's buffer memory, and which buffers may be overwritten."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from threading import RLock, Semaphore, Thread, get_ident
from typing import Any, cast

import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.backends.native_device import released
from py_tensor.base.errors import GPUError
from py_tensor.ir.node import RELEASED, Node
from py_tensor.runtime.connection import CHECKED_ALLOCATION
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import WRITING
from py_tensor.schedule.order import FEW, OVERWRITTEN_BYTES, Uses, bottom
from tests.environment import ROOT
from tests.unit.fake_bridge import GPU, MIB, new_gpu
from tests.unit.test_faults import (
    DEVICES,
    Interrupter,
    data,
    interrupted_at_every_line,
    realize,
)

SIZE = 256 * MIB
LARGE = OVERWRITTEN_BYTES


def large(gpu: GPU, nbytes: int = SIZE, value: float = 0.5) -> pt.Tensor:
    return pt.full((nbytes // 4,), value, device=gpu.device).realize()


def needed(gpu: GPU) -> int:
    """Return the peak number of buffers of `SIZE`; everything else is small."""
    info = gpu.memory_info()
    assert info["device_bytes"] <= info["peak_bytes"]
    return -(-info["peak_bytes"] // SIZE)


def buffer_of(x: pt.Tensor) -> int:
    """Return the buffer of the elements, or of those of its base."""
    return x._stored()[0].storage.number


def contents(gpu: GPU, x: pt.Tensor) -> bytes:
    """Return the digest of the elements, without reading all of them."""
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
    for _ in range(400):  # flushed automatically in between
        y = y * 1.0001 + 0.1
    y.realize()
    assert gpu.bridge.counts["dispatches"] - dispatches >= 8
    assert needed(gpu) <= 3
    assert x.nbytes == SIZE


@pytest.mark.parametrize("live", [False, True])
def test_a_chain_whose_every_step_is_realized(gpu: GPU, live: bool) -> None:
    """Each step overwrites the one before; the first one overwrites x, if nothing holds it."""
    y = large(gpu)
    x = y if live else None
    for _ in range(20):
        y = y * 1.0001 + 0.1
        y.realize()
    assert needed(gpu) == 1 + live
    assert (x is None) != live


def test_a_chain_of_reductions_and_maps(gpu: GPU) -> None:
    """Temporaries of a flush are overwritten too."""
    x = large(gpu)
    y = x
    for _ in range(8):
        y = y - y.sum()
    y.realize()
    assert needed(gpu) <= 3
    assert x.nbytes == SIZE


# -- What may not be overwritten ----------------------------------------------------------------

Expression = Callable[[pt.Tensor], pt.Tensor]


def is_written_over(gpu: GPU, f: Expression, nbytes: int = LARGE) -> bool:
    """Return whether the result of `f` overwrites its operand, which nothing holds."""
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
def test_operands_read_in_place_are_overwritten(gpu: GPU, f: Expression) -> None:
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
def test_operands_read_elsewhere_are_not_overwritten(gpu: GPU, f: Expression) -> None:
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
def test_operands_still_needed_are_not_overwritten(
    gpu: GPU, hold: Callable[[pt.Tensor], object]
) -> None:
    x = large(gpu, LARGE).reshape(512, 512)
    before = buffer_of(x)
    live = hold(x)
    y = x + 1
    del x
    assert buffer_of(y.realize()) != before
    del live
    assert data(y)


def _summed(gpu: GPU) -> pt.Tensor:
    """Return the result of a reduction is a view of its kernel's output."""
    return pt.full((2, LARGE // 4), 0.5, device=gpu.device).sum(0).realize()


def _reshaped(gpu: GPU) -> pt.Tensor:
    x = large(gpu, LARGE)
    x.shape = (512, 512)
    return x


@pytest.mark.parametrize("make", [_summed, _reshaped])
@pytest.mark.parametrize("live", [False, True])
def test_a_stored_view_keeps_its_elements(
    gpu: GPU, make: Callable[[GPU], pt.Tensor], live: bool
) -> None:
    """No tensor holds the stored node."""
    x = make(gpu)
    assert x._node.storage is None
    before = buffer_of(x)
    y, kept = x + 1, x if live else None
    del x
    assert (buffer_of(y.realize()) != before) == live
    assert (kept is None) != live


def test_views_of_views_are_counted_once_each(gpu: GPU) -> None:
    x = _summed(gpu)
    stored = x._stored()[0]
    tensors = [pt.Tensor(x._node) for _ in range(3)]
    assert stored.ref_count == 1
    del x
    assert stored.ref_count == 1
    tensors.clear()
    gpu.device.collect()
    assert stored.ref_count == 0
    assert not gpu.device._views


def test_a_late_finalizer_only_prevents_it(gpu: GPU) -> None:
    for collected in (False, True):
        x = large(gpu, LARGE)
        before = buffer_of(x)
        cycle: list[object] = [x, x.T]
        cycle.append(cycle)
        y = x + 1
        gc.disable()
        try:
            del x, cycle
            if collected:
                gc.collect()
            assert (buffer_of(y.realize()) == before) == collected
        finally:
            gc.enable()


@pytest.mark.parametrize("hold", [None, lambda x: x + 2, lambda x: x.copy()])
def test_a_write_to_a_part_is_made_in_place(
    gpu: GPU, hold: Callable[[pt.Tensor], object] | None
) -> None:
    x = large(gpu, LARGE)
    view, before, info = x[5:], buffer_of(x), gpu.memory_info()
    live = None if hold is None else hold(x)
    for place in range(1, 4):
        x[place] = 7.0
        x.realize()
        if hold is not None:
            break
    assert (buffer_of(x) == before) == (live is None)
    assert view.shape == (x.size - 5,)
    after = gpu.memory_info()
    assert after["live_buffers"] - info["live_buffers"] == (live is not None)
    assert after["device_buffers"] - info["device_buffers"] == (live is not None)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_node_that_is_recorded_keeps_its_operands(gpu: GPU, recorded: bool) -> None:
    """Freeing memory for it finds no tensor that holds it."""
    x = large(gpu, LARGE)
    before, y = buffer_of(x), x + 1
    node = (x * 3)._node
    gpu.device.collect()
    assert not node.ref_count
    del x
    gpu.device.flush(node if recorded else None)
    assert (buffer_of(y) != before) == recorded


# -- Tasks that run while another one waits -----------------------------------------------------


class Tasks:
    """Functions in threads, of which one runs at a time, until it waits or ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._turns: dict[int, Semaphore] = {}
        self._waits = Semaphore(0)
        monkeypatch.setattr(host, "wait", self._wait)

    def _wait(self, promise: Any, what: str, lock: RLock) -> Any:
        turn = self._turns.get(get_ident())
        with released(lock):
            if turn is not None:
                self._waits.release()
                assert turn.acquire(timeout=60)
            return promise.wait()

    def start(self, function: Callable[[], object]) -> Callable[[], bool]:
        """Run until its first wait; the returned function continues it, and returns if it ended."""
        turn = Semaphore(0)
        errors: list[BaseException] = []

        def run() -> None:
            self._turns[get_ident()] = turn
            try:
                function()
            except BaseException as error:
                errors.append(error)
            finally:
                del self._turns[get_ident()]
                self._waits.release()

        thread = Thread(target=run, daemon=True)

        def go_on() -> bool:
            turn.release()
            assert self._waits.acquire(timeout=60)
            if thread.ident in self._turns:
                return False
            thread.join()
            if errors:
                raise errors[0]
            return True

        thread.start()
        assert self._waits.acquire(timeout=60)
        assert thread.ident in self._turns, "it did not wait"
        return go_on


def finish(go_on: Callable[[], bool]) -> None:
    while not go_on():
        pass


def test_operands_of_a_waiting_task_are_not_overwritten(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one task waits for its kernels, another one drops the operand and computes."""
    other = new_gpu()
    x = large(other, LARGE)
    expected = contents(other, pt.tanh(x) * 3)
    x = large(gpu, LARGE)
    before, first, second = buffer_of(x), pt.tanh(x) * 3, x + 1
    del x
    node = first._node
    go_on = Tasks(monkeypatch).start(lambda: gpu.device.compute([node]))
    del first  # now only the waiting task uses the old x
    assert buffer_of(second.realize()) != before
    finish(go_on)
    assert gpu.bridge.contents[node.storage.number] == expected


def test_a_task_restarts_if_its_operand_was_overwritten(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result computed along the way replaced its operand in the same memory."""
    other = new_gpu()
    expected = contents(other, pt.exp((large(other, LARGE) + 1).realize()))
    x = large(gpu, LARGE)
    before, tensors = buffer_of(x), [x + 1]
    del x
    tasks = Tasks(monkeypatch)
    node = tensors[0]._node
    first = tasks.start(lambda: gpu.device.compute([node]))
    results = [pt.exp(tensors.pop())]
    gpu.device.collect()
    assert not node.ref_count
    second = tasks.start(lambda: results[0].realize())
    finish(first)
    assert node.storage.number == before
    finish(second)
    assert contents(gpu, results[0]) == expected


def is_stored(node: Node) -> bool:
    """Return whether the elements are stored, those of the node or of its base."""
    return bottom(node).storage is not None


def test_users_of_an_intermediate_are_computed_with_it(gpu: GPU) -> None:
    x = large(gpu, LARGE)
    shared = x * 2
    first, second, other = shared + 1, shared.sum(), x + 3
    del shared
    first.realize()
    assert is_stored(second._node)
    assert not is_stored(other._node)


def test_of_states_that_depend_on_each_other_one_may_be_read(gpu: GPU) -> None:
    """The work per round is constant, and does not grow with previous rounds."""
    u, v = large(gpu), large(gpu)
    dispatches: list[int] = []
    for _ in range(6):
        before = gpu.backend.stats()["dispatches"]
        for _ in range(3):
            u, v = u - u * v, v + u * v
        v.realize()
        assert is_stored(u._node)
        dispatches.append(gpu.backend.stats()["dispatches"] - before)
    assert dispatches == dispatches[:1] * 6


def test_a_request_without_dependents_stays_as_it_was(gpu: GPU) -> None:
    """The holder of a value computed along the way may not be a pending tensor."""
    x, y = large(gpu, LARGE), large(gpu, LARGE, 2.0)
    shared = x * 2
    live = shared._node
    result = shared + y
    _other = (y - 1, x - y)
    del shared
    wanted = gpu.device.request([result._node]).program
    assert [wanted.slots[node] for node in wanted.nodes] == list(range(len(wanted.nodes)))
    assert live in wanted.nodes


def test_without_memory_for_them_others_are_left(gpu: GPU) -> None:
    x = large(gpu)
    shared = pt.exp(x)
    first = shared + 1
    others = [shared * i for i in range(2, 9)]
    del shared
    gpu.bridge.allocations = ["out-of-memory"] * 2  # the pool is emptied after the first
    first.realize()
    assert gpu.bridge.allocations == []
    assert is_stored(first._node)
    assert not any(is_stored(other._node) for other in others)


def test_two_results_of_one_operand(gpu: GPU) -> None:
    x = large(gpu, LARGE)
    y, z = x + 1, pt.exp(x)
    before = buffer_of(x)
    del x
    pt.realize(y, z)
    assert (buffer_of(y) == before) + (buffer_of(z) == before) <= 1
    assert contents(gpu, y) != contents(gpu, z)


def test_the_plan_depends_on_other_references_to_the_operand(gpu: GPU) -> None:
    buffers: list[bool] = []
    for hold in (True, False, True, False):
        x = large(gpu, LARGE)
        before, live = buffer_of(x), x if hold else None
        y = x + 1
        del x
        buffers.append(buffer_of(y.realize()) == before)
        del live
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
    gpu.empty_cache()
    y = expression()
    gpu.bridge.allocations = ["out-of-memory"] * 2
    with pytest.raises(MemoryError):
        y.realize()
    assert contents(gpu, y) == expected


def test_a_late_error_of_an_overwritten_operand(gpu: GPU) -> None:
    y = large(gpu, LARGE) + 1
    gpu.bridge.faults = ["validation"]
    y.realize()
    for _ in range(2):
        with pytest.raises(GPUError, match="refused"):
            data(y)
    del y
    assert gpu.is_clean()


def test_a_read_under_way_keeps_its_error_to_itself(gpu: GPU) -> None:
    """A read holds the storage, so it is not overwritten in the meantime."""
    x = large(gpu, LARGE)
    before = buffer_of(x)
    reading: Any = gpu.backend._start_read(x._node)
    y = x + 1
    del x
    assert buffer_of(y.realize()) != before
    gpu.backend._end_read(reading, reading.promise.wait())


def test_interrupts_at_every_line(gpu: GPU) -> None:
    """After any interrupt the result is available, stored or from its operands."""
    expected = contents(gpu, large(gpu, LARGE) + 1)

    def prepare() -> list[pt.Tensor]:
        return [large(gpu, LARGE) + 1]

    def check(tensors: list[pt.Tensor]) -> None:
        assert contents(gpu, tensors[0]) == expected

    assert interrupted_at_every_line(gpu, DEVICES, prepare, realize, check) > 30


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


# -- With many pending nodes ---------------------------------------------------------------------


def test_many_reads_among_much_that_is_pending_count_each_node_once(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    class Counting(Uses):
        def __setitem__(self, node: Node, count: int) -> None:
            nonlocal steps
            steps += 1
            super().__setitem__(node, count)

    monkeypatch.setattr(gpu.device, "_uses", Counting())
    x = large(gpu, LARGE)
    before = buffer_of(x)
    results = [x * i + 1 for i in range(200)]
    del x
    for y in results[:-1]:
        assert buffer_of(y.realize()) != before
    assert isinstance(gpu.device._uses, Counting), "it began anew"
    assert 200 < steps < 8 * len(results)
    assert buffer_of(results[-1].realize()) == before


@pytest.mark.parametrize("dropped", [False, True])
def test_operands_of_many_pending_nodes_are_not_overwritten(gpu: GPU, dropped: bool) -> None:
    """The only other use of `x` is below nodes already counted, or was dropped since."""
    x, y = large(gpu, LARGE), large(gpu, LARGE)
    before, after = buffer_of(x), x + 1
    small = pt.full((4,), 2.0, device=gpu.device).realize()
    others = [small * i for i in range(2 * FEW + len(gpu.device.pending))]
    use = [pt.exp(x * 3) * y]
    del x
    (small * 3 - 1).realize()  # many are outside, so uses are counted
    assert gpu.device._uses
    if dropped:
        use.clear()
    assert (buffer_of(after.realize()) == before) == dropped
    assert len(others) > FEW


def test_a_node_that_becomes_pending_again_hides_no_other(gpu: GPU) -> None:
    """It was counted as an operand, but nodes recorded before it were not."""
    x = large(gpu, LARGE)
    small = pt.full((4,), 2.0, device=gpu.device).realize()
    inner = small * 5
    node = inner._node
    others = [inner + i for i in range(2 * FEW)]
    del inner
    (small * 3 - 1).realize()
    assert node in gpu.device._uses
    before, first, second = buffer_of(x), x + 1, x + 2
    del x
    again = pt.Tensor(node)
    assert list(gpu.device.pending)[-1] is again._node
    assert buffer_of(first.realize()) != before
    assert buffer_of(second.realize()) == before
    assert others


def test_nothing_that_was_counted_is_kept(gpu: GPU) -> None:
    small = pt.full((4,), 2.0, device=gpu.device).realize()
    others = [small * i for i in range(4 * FEW)]
    x = large(gpu, LARGE)
    y = x + 1
    (small * 3 - 1).realize()
    assert y._node in gpu.device._uses
    live = gpu.memory_info()["live_buffers"]
    del x, y  # pending, and counted
    assert gpu.memory_info()["live_buffers"] == live - 1
    while others:
        others.pop().realize()
    assert not gpu.device._uses


def test_an_interrupt_while_uses_are_counted(gpu: GPU) -> None:
    """Wherever it occurs, the next request sees all other uses of the operand."""

    def prepare() -> tuple[int, list[pt.Tensor], list[pt.Tensor]]:
        x = large(gpu, LARGE)
        small = pt.full((4,), 2.0, device=gpu.device).realize()
        others = [small * i for i in range(2 * FEW)]
        return buffer_of(x), [x + 1, pt.exp(x)], others

    last = 0
    counting = {Uses.count.__code__, Uses.counted.__code__, Uses.outside.__code__}
    counting |= {Uses.remove.__code__}

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal steps
        if frame.f_code in counting and event == "line":
            steps += 1
            if steps == last:
                raise KeyboardInterrupt
        return trace

    while True:
        before, (first, second), others = prepare()
        last += 1
        steps = 0
        sys.settrace(trace)
        try:
            first.realize()
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            sys.settrace(None)
        assert buffer_of(first.realize()) != before, f"step {last}"
        assert buffer_of(second.realize()) == before, f"step {last}"
        del first, second
        others.clear()
        gpu.device.flush()
    assert last > 50


# -- Finalizers that run late, or in another thread ----------------------------------------------


def test_late_finalizers_cost_only_memory(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drops may be counted at any later time."""

    def run(device: LazyDevice) -> list[float]:
        x = pt.full((LARGE,), 0.5, device=device).realize()
        found: list[float] = []
        for n in range(4):
            view = x[5:]
            y = pt.exp(view) + view.sum()
            del view
            x[n] = 3.0
            found += [float(y[n]), float(x.sum())]
            x = x * 2 + 1
        return found

    expected = run(CPU_DEVICE)
    with monkeypatch.context() as patch:
        patch.setattr(LazyDevice, "collect", lambda device: None)
        assert run(CPU_DEVICE) == expected
        run(gpu.device)
    assert len(RELEASED) > 50
    gpu.device.collect()
    assert not gpu.device._views
    assert not gpu.device.pending


def test_counts_lost_by_finalizers_keep_a_node(gpu: GPU) -> None:
    """Two threads that drop a node at once may count as one; the node then stays in use."""
    x = large(gpu, LARGE)
    node, before, y = x._node, buffer_of(x), x + 1
    node.retains += 1  # by a tensor whose release was lost
    del x
    gpu.device.collect()
    assert node.ref_count == 1
    assert buffer_of(y.realize()) != before


# -- Threads that write concurrently -------------------------------------------------------------


WRITERS = """
import subprocess
import sys
from threading import Thread
import py_tensor as pt

def add_along(row):
    for start in range(100):
        row[start:] += 1

sys.setswitchinterval(1e-6)
x = pt.zeros((4, 100), device="cpu")
threads = [Thread(target=add_along, args=(x[k],)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert x.tolist() == [list(range(1, 101))] * 4
"""


def test_threads_write_to_parts_of_their_own() -> None:
    """Writes of one thread survive those of others, wherever threads switch.

    In a process of its own: simulated interrupts of other tests may have left a lock acquired.
    """
    done = subprocess.run(
        [sys.executable, "-c", WRITERS], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_interrupts_at_every_line_of_a_write(gpu: GPU) -> None:
    """The node that a tensor holds counts as held, or a later flush would overwrite it."""
    values, lock, line = gpu.tensor(*range(8)), cast("Any", WRITING), 0
    for line in count(1):
        x = gpu.tensor(*range(8))
        view, y = x[2:5], pt.exp(values)
        interrupter = Interrupter(["tensors"], line)
        try:
            with interrupter:
                x[:] = y
                _ = view._node
        except KeyboardInterrupt:
            pass
        else:
            break
        while lock._is_owned():  # tracing comes before the end of a context, a signal does not
            lock.release()
        gpu.device.collect()
        assert all(t._node.ref_count >= 1 for t in (x, view, y)), f"interrupted at {line}"
        assert data(x) in (data(values), data(y))
    assert line > 30
