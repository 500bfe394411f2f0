"""A tensor that was read is kept on the host, and read from there until it is written to."""

from __future__ import annotations

import asyncio

import pytest

import py_tensor as pt
from py_tensor.base.layout import Layout
from py_tensor.runtime import connection
from tests.unit.fake_bridge import GPU


def reads(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the bytes of each read that reaches the bridge from now on."""
    found: list[int] = []
    read = gpu.bridge.read

    def noted(number: int, offset: int, size: int, target: int) -> object:
        found.append(size)
        return read(number, offset, size, target)

    monkeypatch.setattr(gpu.bridge, "read", noted)
    return found


def read(*tensors: pt.Tensor) -> None:
    for x in tensors:
        x.tolist()


def test_one_read_for_all_elements(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = reads(gpu, monkeypatch)
    x = gpu.tensor(*range(24)).reshape(2, 3, 4)
    for i in range(2):
        for j in range(3):
            assert [x[i, j, k].item() for k in range(4)] == [12 * i + 4 * j + k for k in range(4)]
    assert x.T.tolist() == [[[4 * j + k + 12 * i for i in range(2)] for j in range(3)]
                            for k in range(4)]  # fmt: skip
    assert x[::-1, 1:, ::-2].tolist() == [[[19, 17], [23, 21]], [[7, 5], [11, 9]]]
    assert x[:, None, 0, ::3].tolist() == [[[0, 3]], [[12, 15]]]
    assert pt.broadcast_to(x[0, 0, :2], (2, 2)).tolist() == [[0, 1], [0, 1]]
    assert x.tolist()[1][2] == [20, 21, 22, 23]
    assert [v.tolist() for v in x[0]] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert noted == [96]
    assert asyncio.run(x[1, 1]._read_async()).nbytes == 16
    assert noted == [96]


def test_comparisons_of_elements(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    x = gpu.tensor(0.1, 2, float("nan"), -0.0)
    n = pt.tensor([3, -4], dtype=pt.int32, device=gpu.device)
    read(x, n)
    noted, before = reads(gpu, monkeypatch), dict(gpu.bridge.counts)
    assert x[0] == 0.1  # in float32, as NumPy compares
    assert x[0] < x[1]
    assert not x[1] < x[0]
    assert x[1] >= 2 >= x[1]
    assert x[2] != x[2]
    assert x[3] == 0
    assert n[0] > n[1]
    assert n[1] == -4
    assert 3 == n[0] != 4
    assert n[1:] < 0
    assert not noted
    assert gpu.bridge.counts == before


def test_writes_make_it_stale(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy belongs to one state of a buffer; any change makes it stale."""
    noted = reads(gpu, monkeypatch)
    x = gpu.tensor(*range(8))
    view = x[2:]
    x.tolist()
    x[3] = 7
    read(x, view, view[0])
    assert len(noted) == 2
    x[pt.tensor([1, 2], device=gpu.device)] = 5
    read(view, x)
    assert len(noted) == 3
    x += 1
    read(view[0], view[1])
    assert len(noted) == 4


def test_a_pending_tensor_is_read_whole_where_it_is_held(
    gpu: GPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = reads(gpu, monkeypatch)
    x = gpu.tensor(1, 2, 3, 4) * 2
    read(x[1], x[2])
    assert noted == [16]
    read((x + 1)[1])
    assert noted == [16, 4]
    large = pt.ones(connection.COPIED_BYTES // 4 + 1, device=gpu.device) * 2
    read(large[1], large[2])
    assert noted == [16, 4, 4, 4]


def test_errors_are_raised_all_the_same(gpu: GPU) -> None:
    x, t = gpu.tensor(1, 2, 3), pt.tensor([5], device=gpu.device)
    x.tolist()
    gpu.bridge.bad_words = [(0, 5)]
    x[t].realize()
    with pytest.raises(IndexError, match="5 is out of range"):
        x.tolist()
    assert len(x.tolist()) == 3


def test_copies_are_bounded(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_COPIED", 64)
    noted = reads(gpu, monkeypatch)
    xs = [gpu.tensor(*range(4)) for _ in range(6)]
    for x in xs:
        x.tolist()
    assert len(noted) == 6
    for x in xs[2:]:
        x.tolist()
    assert len(noted) == 6, "the newest are kept"
    xs[0].tolist()
    assert len(noted) == 7


def test_picking() -> None:
    data = memoryview(bytes(range(24)))
    for layout, expected in (
        (Layout((), (), 5), [5]),
        (Layout((3,), (2,), 1), [1, 3, 5]),
        (Layout((3,), (-2,), 4), [4, 2, 0]),
        (Layout((2, 2), (0, 0), 9), [9] * 4),
        (Layout((2, 3), (6, -1), 8), [8, 7, 6, 14, 13, 12]),
        (Layout((2, 1, 2), (3, 7, 0), 1), [1, 1, 4, 4]),
    ):
        assert list(connection.picked(data, layout, 1)) == expected


def test_a_number_of_a_dtype_takes_no_memory(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a constant in the kernels that use it, and known to the host."""
    monkeypatch.setattr("py_tensor.backends.choice._default", gpu.device)
    x = gpu.tensor(1, 2, 3)
    counts = dict(gpu.bridge.counts)
    half, three, yes = pt.float32(0.1), pt.int8(3), pt.bool_(2)
    assert (half.item(), three.tolist(), bool(yes)) == (0.10000000149011612, 3, True)
    assert asyncio.run(pt.float32(1e300)._read_async()).hex() == "0000807f"
    assert (three.dtype, three.is_scalar, hash(three)) == (pt.int8, True, hash(3))
    with pytest.raises(OverflowError, match=r"^uint8: .*300.*\[0, 255\]"):
        pt.uint8(300)
    assert gpu.bridge.counts == counts
    for _ in range(20):
        x = x * half + pt.float32(1.5)
    x.realize()
    assert gpu.bridge.counts["dispatches"] == counts["dispatches"] + 1
