"""Interrupts at random times in loops on the cpu device: each must end its loop, and lock nothing.

    python -m tests.interrupts 1000

Runs in a process of its own, because the interrupts are real (SIGINT). Prints the interrupts that
did not end a loop, and those that left a lock acquired.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable

import numpy as np

import py_tensor as pt
from py_tensor.backends.kinds import GPU_DEVICE
from py_tensor.runtime.registry import WRITING, devices

LATEST = 0.004  # seconds from the start of a loop to the interrupt
LOST = 10.0  # seconds after which an interrupt counts as lost, and another is sent

_x = pt.arange(10.0, device="cpu")
_y = pt.ones((50, 50), device="cpu")


def ops() -> None:
    (_x * 2 + 1).sum()
    z = _x[1:4]
    z += 0


def elements() -> None:
    for i in range(5):
        _x[i] = _x[i] + 0


def arrays() -> None:
    np.asarray(_x)
    np.asarray(_y[::2]).sum()


def numpy_functions() -> None:
    np.exp(_x)
    np.concatenate([_x, _x])
    np.add(np.ones(10), _x)
    np.allclose(_x, _x)


def weak_references() -> None:
    _ = [weakref.ref(pt.ones(3, device="cpu")) for _ in range(5)]


def cycles() -> None:
    cycle: list[object] = [pt.ones(3, device="cpu")]
    cycle.append(cycle)


def drops() -> None:
    """The other device is the first that counts the tensors deleted here."""
    for _ in range(5):
        pt.ones(3, device="cpu")
        GPU_DEVICE.collect()


LOOPS: tuple[Callable[[], None], ...] = (
    ops, elements, arrays, numpy_functions, weak_references, cycles, drops,
)  # fmt: skip


def lost(body: Callable[[], None], count: int) -> int:
    """Return how many of `count` interrupts did not end a loop, or left a lock acquired."""
    sent = ended = locked = 0
    body()
    while ended < count:
        done = threading.Event()
        delay = random.uniform(0, LATEST)

        def interrupt(done: threading.Event = done, delay: float = delay) -> None:
            nonlocal sent, locked
            time.sleep(delay)
            while True:
                sent += 1
                os.kill(os.getpid(), signal.SIGINT)
                if done.wait(LOST):
                    break
            for lock in (WRITING, *(device.lock for device in devices())):
                if lock.acquire(blocking=False):
                    lock.release()
                else:
                    locked += 1

        thread = threading.Thread(target=interrupt)
        try:
            thread.start()
            while True:
                body()
        except KeyboardInterrupt:
            done.set()
        ended += 1
        thread.join()
    return sent - ended + locked


def main() -> int:
    count = int(sys.argv[1])
    warnings.simplefilter("ignore")
    outcome = {body.__name__: lost(body, -(-count // len(LOOPS))) for body in LOOPS}
    print(outcome)
    return 1 if any(outcome.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
