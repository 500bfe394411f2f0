"""The memory that the cpu device uses, and the arrays that it overwrites."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.schedule.order import OVERWRITTEN_BYTES
from tests.unit.test_faults import DEVICES, GRAPH, Interrupter

SIDE = 512
NBYTES = 4 * SIDE * SIDE
assert NBYTES >= OVERWRITTEN_BYTES
ufuncs: Any = pt
Step = Callable[[pt.Tensor, int], object]


def numbers() -> pt.Tensor:
    """Return a computed array, because uploaded ones are not overwritten."""
    return (pt.arange(SIDE * SIDE, dtype=pt.float32, device="cpu") + 0.5).realize()


def array_of(x: pt.Tensor) -> int:
    """Return the array that holds the elements, without reading them."""
    return x.realize()._stored()[0].storage.ctypes.data


def assign(x: pt.Tensor, i: int) -> None:
    x[i] = 1.0


def assign_by_list(x: pt.Tensor, i: int) -> None:
    x[[i, i + 2]] = 1.0


def assign_what_follows(x: pt.Tensor, i: int) -> None:
    x[i + 1] = x[i] + 1.0


def add_at(x: pt.Tensor, i: int) -> None:
    ufuncs.add.at(x, [i, i], 1.0)


def lower(x: pt.Tensor, i: int) -> None:
    ufuncs.minimum.at(x, [i], -1.0)


def increase(x: pt.Tensor, i: int) -> None:
    x += 1.0


def smooth(x: pt.Tensor, i: int) -> None:
    u: Any = x.reshape(SIDE, SIDE)
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25


def pending_writes() -> pt.Tensor:
    x = numbers()
    assign(x, 2)
    assign(x, 9)
    return x


# -- What is pending ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "arrays"),
    [
        (assign, 2),
        (assign_by_list, 2),
        (assign_what_follows, 2),
        (add_at, 2),
        (increase, 3),
        (smooth, 5),
    ],
)
def test_memory_does_not_grow_with_pending_nodes(step: Step, arrays: int) -> None:
    """Memory holds the stored array and those of one step; a node takes a few hundred bytes."""
    x = numbers()
    step(x, 0)
    x.realize()
    tracemalloc.start()
    try:
        x = numbers()
        tracemalloc.reset_peak()
        for i in range(40):
            step(x, i)
        x.realize()
        assert tracemalloc.get_traced_memory()[1] < (arrays + 0.5) * NBYTES
    finally:
        tracemalloc.stop()


def put_rows(x: Any, rows: Any, y: Any) -> object:
    x[rows] = y
    return x


@pytest.mark.parametrize(
    ("act", "bytes_of_result"),
    [
        (lambda x, rows, y: x[rows], NBYTES // 2),
        (lambda x, rows, y: x[:, rows], NBYTES // 2),
        (lambda x, rows, y: x[rows, 1:-1], NBYTES // 2),
        (lambda x, rows, y: x[rows[:, None], rows], NBYTES // 4),
        (put_rows, NBYTES),
    ],
)
def test_rows_are_selected_without_an_index_for_each_element(
    act: Callable[..., Any], bytes_of_result: int
) -> None:
    x = numbers().reshape(SIDE, SIDE).realize()
    rows = pt.array(np.random.default_rng().permutation(SIDE)[: SIDE // 2] - SIDE // 4)
    y = pt.ones((SIDE // 2, SIDE), device="cpu").realize()
    expected = act(x.numpy().copy(), rows.numpy(), y.numpy())
    tracemalloc.start()
    try:
        found = act(x, rows.to("cpu"), y).realize()
        assert tracemalloc.get_traced_memory()[1] < bytes_of_result * 1.5 + 100_000
    finally:
        tracemalloc.stop()
    assert np.array_equal(found.numpy(), expected)


def test_a_long_chain_of_views(source: Any) -> None:
    """The base of views is freed with the last view, however many there are."""
    x = y = numbers()
    for _ in range(3000):
        y = y.reshape(SIDE, -1).reshape(-1)
    assert float((y + 1)[3]) == float(x[3]) + 1


# -- Overwritten arrays ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "in_place"),
    [
        (assign, True),
        (assign_by_list, True),
        (lower, True),
        (lambda x, i: (assign(x, i), assign_by_list(x, i), lower(x, i)), True),
        (add_at, False),  # repeating it after an interrupt would add twice
        (assign_what_follows, True),  # its operands are computed before
        (lambda x, i: (assign(x, i), add_at(x, i)), False),
        (increase, False),
    ],
)
def test_a_write_to_a_part_of_a_stored_tensor(step: Step, in_place: bool) -> None:
    x, expected = numbers(), numbers()
    before = array_of(x)
    for i in range(3):
        step(x, i)
        copied = expected.copy()
        step(expected, i)
        assert array_of(x) == before or not in_place
        assert in_place or array_of(x) != before
        before = array_of(x)
        assert array_of(expected) != array_of(copied)  # still live
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: x.copy(),
        lambda x: x + 1,
        lambda x: +x,
        lambda x: (+x).realize(),
        lambda x: x[5:] * 2,
        lambda x: memoryview(x._read()).cast("f"),
        lambda x: iter(x.copy()),
    ],
)
@pytest.mark.parametrize("make", [numbers, lambda: numbers() * 2, pending_writes])
def test_live_tensors_keep_their_elements(
    make: Callable[[], pt.Tensor], hold: Callable[[pt.Tensor], Any]
) -> None:
    def elements(live: Any) -> list[float]:
        return [float(v) for v, _ in zip(live, range(20), strict=False)]

    expected = elements(hold(make()))
    x = make()
    live = hold(x)
    for i in range(3):
        assign(x, i)
        assign_by_list(x, i + 3)
        assert float(x[i]) == 1.0
    assert elements(live) == expected


def test_uploaded_arrays_are_not_overwritten() -> None:
    given = np.zeros(SIDE * SIDE, np.float32)
    x, y = pt.tensor(given, device="cpu"), pt.tensor(given, device="cpu")
    x[3] = 1.0
    assert float(x.sum()) == 1
    assert not given.any()
    assert float(y.sum()) == 0


def test_views_are_read_before_their_base_is_overwritten() -> None:
    x = numbers()
    expected = x.numpy()
    x[0] = 7.0
    first = x[:4] * 2
    shown = x[1:]
    x[1:] = x[:-1]
    x[[0, 1, 2]] = x[[2, 1, 0]]
    second = x[:4] + first
    expected[0] = 7
    doubled = expected[:4] * 2
    expected[1:] = expected[:-1].copy()
    expected[[0, 1, 2]] = expected[[2, 1, 0]]
    pt.realize(x, shown, second)
    assert x.tolist() == expected.tolist()
    assert shown.tolist() == expected[1:].tolist()
    assert second.tolist() == (expected[:4] + doubled).tolist()


def test_an_operand_in_fortran_order_is_overwritten_in_place() -> None:
    """NumPy returns the sum of transposed arrays in Fortran order."""
    x = pt.arange(12.0, device="cpu").reshape(3, 4)
    y = x.T + x.T
    y[1, 2] = -1.0
    y[[3], [0]] = -2.0
    expected = np.arange(12.0, dtype=np.float32).reshape(3, 4).T * 2
    expected[1, 2], expected[3, 0] = -1, -2
    assert y.tolist() == expected.tolist()


def test_arrays_of_the_users_own_functions_are_theirs() -> None:
    mine = np.zeros(SIDE * SIDE, np.float32)
    ready = pt.kernel(
        "ready", "y[index] = 0.0;", inputs=("x",), outputs={"y": "x"}, numpy=lambda np, x: mine
    )
    for stored in (False, True):
        x = ready(numbers())
        if stored:
            x.realize()
        assign(x, 3)
        assert float(x[3]) == 1
        assert not mine.any()


# -- Faults ---------------------------------------------------------------------------------------


def write(x: pt.Tensor) -> None:
    """Make writes that can be made in place, overlapping ones, and some that cannot."""
    x[1:5] = 7.0
    x[[6, 7, 6]] = pt.tensor([1.0, 2.0, 3.0], device="cpu")
    ufuncs.minimum.at(x, [2, 8], -1.0)
    ufuncs.add.at(x, [2, 9, 9], 4.0)
    x[10:20] = x[:10] + 1
    x[3] = 0.25


def increase_a_part(x: pt.Tensor) -> None:
    """Each step reads what it writes."""
    x[3:6] += 1.0
    x[4:8] += 1.0


@pytest.mark.parametrize("folders", [DEVICES, GRAPH])
@pytest.mark.parametrize("writes", [write, increase_a_part])
@pytest.mark.parametrize("live", [False, True])
def test_an_interrupt_loses_nothing(
    folders: Sequence[str], writes: Callable[[pt.Tensor], object], live: bool
) -> None:
    """Recomputed results have their operands, and live tensors are unchanged."""
    whole = numbers()
    writes(whole)
    expected, old = whole.tolist()[:32], numbers().tolist()[:32]
    count, interrupter = 0, None
    while interrupter is None or interrupter.where:
        count += 1
        x = numbers()
        kept = x.copy() if live else None
        writes(x)
        sums = x.sum(), x[:32] * 2
        interrupter = Interrupter(folders, count * 7)
        try:
            with interrupter:
                pt.realize(x, *sums)
        except KeyboardInterrupt:
            pass
        assert x[:32].tolist() == expected, interrupter.where
        assert sums[1].tolist() == [2 * value for value in expected]
        assert kept is None or kept[:32].tolist() == old
    assert count > 10


def test_a_write_before_a_failure_can_be_repeated() -> None:
    failing = [True]

    def checked(np: Any, x: Any) -> Any:
        if failing:
            raise ArithmeticError(failing.pop())
        return x + 1

    step = pt.kernel(
        "checked", "y[index] = x[index] + 1.0;", inputs=("x",), outputs={"y": "x"}, numpy=checked
    )
    x, expected = numbers(), numbers()
    for y in (x, expected):
        write(y)
    after = step(x)
    with pytest.raises(ArithmeticError):
        pt.realize(x, after)
    assert x.tolist() == expected.tolist()
    assert after[:32].tolist() == (expected[:32] + 1).tolist()
    assert not CPU_DEVICE._under_way


HUGE = (2**32, 2**32)
LARGE: dict[str, Callable[[Any], Any]] = {
    "constant": lambda shape: pt.zeros(shape, device="cpu"),
    "computed": lambda shape: (pt.zeros(shape, device="cpu") + 1) * 2,
    "broadcast": lambda shape: pt.broadcast_to(pt.arange(3.0, device="cpu"), (*shape, 3)),
    "transposed": lambda shape: -pt.full(shape, 3, device="cpu").T,
    "flat": lambda shape: pt.ones(shape, device="cpu").reshape(-1) * 0.5,
    "converted": lambda shape: pt.ones(shape, device="cpu").astype(pt.int32),
    "chosen": lambda shape: pt.where(pt.ones(shape, device="cpu") > 0, 5.0, 6.0),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("shape", [HUGE, (2**19, 2**17)])
def test_elements_of_tensors_too_large_to_exist(kind: str, shape: tuple[int, int]) -> None:
    """They are those of a small tensor, which is computed whole."""
    small, x = LARGE[kind]((20, 10)), LARGE[kind](shape)
    with pt.printoptions(threshold=0):
        assert str(x) == f"{x}" == str(small)
        assert repr(x) == repr(small).replace(str(small.shape), str(x.shape))
    assert x.size == shape[0] * shape[1] * (3 if kind == "broadcast" else 1)
    assert x.nbytes == x.size * 4
    if shape == HUGE:
        assert x[5].ravel()[1].item() == small[5].ravel()[1].item() if kind != "flat" else True
        last = (slice(-3, None),) * min(2, x.ndim)
        assert x[last].tolist() == small[last].tolist()


def test_a_tensor_too_large_to_exist_is_a_clear_error() -> None:
    x = pt.zeros(HUGE, device="cpu")
    words = r"^\w+: float32 of shape \(.*\) needs 73786976294838206464 bytes, more than the cpu "
    for use in (lambda: x.sum(), lambda: x.numpy(), lambda: x.cumsum(), lambda: x.tolist()):
        with pytest.raises(MemoryError, match=words):
            getattr(use(), "realize", lambda: None)()
    assert x[3, 4].item() == 0


def test_sampling_takes_linear_time_in_shared_movement() -> None:
    x = pt.zeros(HUGE, device="cpu") + 1
    for _ in range(100):
        x = x * 0.5 + x.T * 0.5
    assert x[0, :2].tolist() == [1, 1]


def test_sampling_elements_of_too_many_ancestors_is_a_clear_error() -> None:
    x = pt.zeros(2**62, device="cpu") + 1
    for k in range(30):  # one element depends on 2**k elements of the k-th sum before
        x = x[: -(2**k)] + x[2**k :]
    start = process_time()
    with pytest.raises(MemoryError, match=r"^\w+: its elements, of shape .* depend on more than"):
        x[:2].tolist()
    assert process_time() - start < 60


@pytest.mark.parametrize("shape", [(2**20, 2**18), (2**21, 2**18), HUGE, (2**70, 2**70)])
def test_a_slice_of_a_tensor_too_large_to_exist(shape: tuple[int, int]) -> None:
    x = pt.zeros(shape, device="cpu")
    for view in (x[:1000, :1000], (x + 1)[-1000:, -1000:] - 1, x.T[:1000, -1000:]):
        assert view.sum().item() == 0
        assert view.numpy().shape == (1000, 1000)
    assert x[0, :0].tolist() == x[:0, :2].tolist() == []
    with pytest.raises(MemoryError, match=r"^\w+: 137438953472 elements of a tensor of shape "):
        (x + 1)[: 2**20, : 2**17].sum().item()


def test_sampled_indices_are_exact_on_both_sides_of_64_bits() -> None:
    """A coordinate of a row and a column tell the elements apart."""
    rows = pt.arange(1000.0, device="cpu").reshape(-1, 1, 1)
    x = pt.broadcast_to(rows, (1000, 2**40, 2**40)).transpose(1, 0, 2) + 0
    for y, expected in (
        (x[-3:, ::-333, -2:], x[:3, ::-333, :2]),
        (x.reshape(-1)[-3:], pt.full(3, 999.0, device="cpu")),
        (x.transpose(2, 0, 1)[-1, -1], pt.arange(1000.0, device="cpu")),
        (x.flip(1)[0, :3, 0], pt.tensor([999.0, 998.0, 997.0], device="cpu")),
    ):
        assert y.tolist() == expected.tolist()
    assert x[5, ::-333, 2**40 - 1].tolist() == [999, 666, 333, 0]
