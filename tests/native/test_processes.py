"""Processes forked from one that uses the GPU."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from queue import Empty
from typing import Any

import pytest

import py_tensor as pt

if not hasattr(os, "fork"):
    pytest.skip("this system does not fork", allow_module_level=True)

SECONDS = 120  # a child that hangs is ended after this time

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture
def busy() -> Iterator[None]:
    """Another thread uses both devices, and may hold any lock when a process forks."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            float((pt.ones(10, device="webgpu") * 3).sum())
            float((pt.ones(20_000, device="cpu") * 3).sum())

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stopped.set()
    thread.join()


def outcome_of(function: Callable[[], Any]) -> str:
    try:
        return repr(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def in_child(functions: list[Callable[[], Any]]) -> tuple[list[str], int | None]:
    """Return the outcomes of functions in a forked process, and its exit code."""
    context: Any = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put([outcome_of(f) for f in functions]))
    child.start()
    try:
        outcomes = queue.get(timeout=SECONDS)
    except Empty:
        child.kill()
        pytest.fail("the forked process hangs")
    child.join(SECONDS)
    return outcomes, child.exitcode


@pytest.mark.usefixtures("busy")
def test_the_gpu_in_a_forked_process() -> None:
    x = pt.arange(5.0, device="webgpu").realize()
    tensors = [x, x * 2, x + 1]
    tensors[1].tolist()
    uses: list[Callable[[], Any]] = [
        lambda: pt.ones(3, device="webgpu"),
        lambda: x + 1,
        lambda: x.tolist(),
        lambda: tensors[1][2:].sum().item(),
        lambda: repr(tensors[2]),
        lambda: pt.synchronize(),
        lambda: pt.device_info("webgpu"),
    ]
    for _ in range(5):  # the other thread is elsewhere each time
        outcomes, code = in_child(
            [
                *uses,
                tensors.clear,
                lambda: (pt.arange(4, device="cpu") + 1).tolist(),
                lambda: pt.random.default_rng(0).spawn(1)[0].bit_generator.drawn,
            ]
        )
        assert code == 0
        for outcome in outcomes[: len(uses)]:
            assert outcome.startswith("DeviceError: a forked process cannot use"), outcome
            assert "spawn" in outcome
            assert "forkserver" in outcome
        assert outcomes[len(uses) :] == ["None", "[1, 2, 3, 4]", "0"]
    outcomes, code = in_child([lambda: asyncio.run(pt.init())["backend"], pt.default_device])
    assert (outcomes, code) == (["'cpu'", "device('cpu')"], 0)
    assert tensors[2].tolist() == [1, 2, 3, 4, 5]


def test_a_child_that_ends_by_itself() -> None:
    """A plain fork, with the interpreter's whole shutdown."""
    program = """
import os, sys
import py_tensor as pt
x = pt.ones(3, device="webgpu").realize()
y = (x * 2).tolist()
pid = os.fork()
if pid == 0:
    del x
    sys.exit(int(float(pt.ones(3, device="cpu").sum()) != 3))
assert os.waitpid(pid, 0)[1] == 0
assert (x + 1).tolist() == [2, 2, 2]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=2 * SECONDS)


def test_threads_that_fork_at_once() -> None:
    """Each fork acquires and releases the locks for itself."""
    program = """
import os, threading
import py_tensor as pt
x = pt.ones(3, device="cpu")
def work():
    for _ in range(400):
        pid = os.fork()
        if pid == 0:
            os._exit(int((x + 1).tolist() != [2, 2, 2]))
        assert os.waitpid(pid, 0)[1] == 0
        assert (x * 2).tolist() == [2, 2, 2]
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert (x + 2).tolist() == [3, 3, 3]
"""
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, timeout=SECONDS, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_while_other_threads_compute_and_compile() -> None:
    """No lock that a hook of another module acquires is needed by a thread that has a device's."""
    program = """
import os, threading
import py_tensor as pt
pt.set_default_device("webgpu")
stopped = threading.Event()
def compute():
    while not stopped.is_set():
        float((pt.rand(200) * 2).sum())
def compile():
    for k in range(30):
        x, y = pt.rand(16), pt.rand(33)
        for j in range(k):
            x = (x + j).sin() if k >> j % 8 & 1 else (x * 1.5).cos()
            y = (y + j).tan() if k >> j % 8 & 1 else (y * 1.5).exp()
        pt.realize(x, y)
    stopped.set()
threads = [threading.Thread(target=f) for f in (compute, compute, compute, compile)]
for thread in threads:
    thread.start()
while not stopped.is_set():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
for thread in threads:
    thread.join()
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    subprocess.run(command, check=True, timeout=SECONDS)
