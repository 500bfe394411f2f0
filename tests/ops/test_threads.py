"""Several threads use one device at the same time; `python -m tests.threads` is a long run."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ir.recording import is_recording, recording
from py_tensor.runtime.device import deferring
from tests import threads

SECONDS = 10


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(threads.SWITCH_INTERVAL)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.computes
def test_every_result_in_sixteen_threads(device: str, pytestconfig: pytest.Config) -> None:
    runs, failures = threads.run(device, SECONDS, pytestconfig.option.seed)
    assert not failures, failures[0]
    assert runs > 2 * threads.THREADS


@pytest.mark.computes
def test_an_executor(device: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        sums = list(pool.map(lambda k: float((pt.ones(10, device=device) * k).sum()), range(40)))
    assert sums == [10 * k for k in range(40)]


@pytest.mark.computes
def test_tasks_in_threads(device: str) -> None:
    async def sums() -> list[float]:
        def total(k: int) -> float:
            return float((pt.arange(100, device=device) + k).sum())

        return await asyncio.gather(*(asyncio.to_thread(total, k) for k in range(30)))

    assert asyncio.run(sums()) == [4950 + 100 * k for k in range(30)]


def test_threads_that_share_a_generator_draw_different_numbers() -> None:
    rng = pt.random.default_rng(3)
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: rng.random(50).tolist(), range(64)))
    assert len({value for row in drawn for value in row}) > 3190  # of 3200; few are equal by chance


@pytest.mark.computes
@pytest.mark.parametrize("index", [lambda x: x[2:5], lambda x: x[x > 4.0]], ids=["view", "mask"])
def test_threads_that_use_one_tensor_at_once(device: str, index: Callable[[Any], Any]) -> None:
    """What is made at first use is made once: a node of a view, the elements of a selection."""
    for _ in range(20):
        x = pt.arange(10.0, device=device)
        y = index(x)
        x += 1
        expected = y.shape, index(np.arange(10.0) + 1) if y.base is not None else None
        with ThreadPoolExecutor(8) as pool:
            rows = list(pool.map(lambda _, y=y: y.tolist(), range(8)))
        assert all(row == rows[0] for row in rows)
        if expected[1] is not None:
            assert rows[0] == expected[1].tolist()


def test_what_changes_recording_is_of_one_thread(device: str) -> None:
    """Another thread records as usual while one defers or has a recording."""
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(60)
        computed.append((pt.ones(3, device="cpu") * 2)._node.storage is not None)
        is_needed.append(is_recording())
        done.set()

    for context, deferred in ((deferring, True), (recording, False)):
        is_needed: list[bool] = []
        computed: list[bool] = []
        inside.clear()
        done.clear()
        thread = threading.Thread(target=other)
        thread.start()
        with context():
            inside.set()
            assert done.wait(60)
            assert is_recording() is not deferred
            tripled = pt.ones(3, device="cpu") * 3
            assert (tripled._node.storage is None) == deferred
        thread.join()
        assert computed == [True]
        assert is_needed == [False]
