"""How many bytes of buffers a program needs, at most."""

from __future__ import annotations

import py_tensor as pt
from tests.unit.fake_bridge import GPU, MIB

SIZE = 256 * MIB


def large(gpu: GPU) -> pt.Tensor:
    return pt.full((SIZE // 4,), 0.5, device=gpu.device).realize()


def needed(gpu: GPU) -> int:
    """Buffers of `SIZE` that there were at most; everything else is small."""
    info = gpu.backend.memory_info()
    assert info["device_bytes"] <= info["peak_bytes"]
    return -(-info["peak_bytes"] // SIZE)


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
    assert needed(gpu) == 3
    assert x.nbytes == SIZE


def test_a_chain_whose_every_step_is_realized_holds_one_temporary_besides(gpu: GPU) -> None:
    x = y = large(gpu)
    for _ in range(20):
        y = y * 1.0001 + 0.1
        y.realize()
    assert needed(gpu) == 3
    assert x.nbytes == SIZE
