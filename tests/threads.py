"""Threads that share a device: each computes, and compares every result with NumPy.

    python -m tests.threads webgpu --seconds 600     16 threads, 10 minutes

`tests/ops/test_threads.py` runs it for some seconds.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import py_tensor as pt

THREADS = 16
SWITCH_INTERVAL = 1e-5  # seconds between switches of threads, instead of 0.005
_shared = np.random.default_rng(0).random((64, 64), "float32")


def numbers(rng: np.random.Generator, device: str) -> None:
    k = rng.random()
    compare(float((pt.ones(10, device=device) * k).sum()), 10 * k)


def products(rng: np.random.Generator, device: str) -> None:
    a = rng.random((int(rng.integers(2, 40)), 17), "float32")
    b = rng.random((17, 23), "float32")
    compare((pt.tensor(a, device=device) @ pt.tensor(b, device=device) + 1).numpy(), a @ b + 1)


def writes(rng: np.random.Generator, device: str) -> None:
    a = rng.random(int(rng.integers(10, 3000)), "float32")
    x = pt.tensor(a, device=device)
    for y in (x, a):
        y[3:7] = 2
        view = y[::2]
        view += 1
        y *= 2
    compare(x.numpy(), a)


def shared_operand(rng: np.random.Generator, device: str) -> None:
    x = _on_device[device]
    exponentials = np.exp(_shared)
    expected = exponentials / exponentials.sum(1, keepdims=True) + _shared.T
    compare((pt.softmax(x, 1) + x.T).sum(0).numpy(), expected.sum(0))


def selections(rng: np.random.Generator, device: str) -> None:
    a = rng.random(2000, "float32")
    x = pt.tensor(a, device=device)
    compare(float(x[x > 0.5].sum()), a[a > 0.5].sum())
    compare(pt.sort(x)[:5].numpy(), np.sort(a)[:5])
    compare(pt.cumsum(x)[-1].item(), a.sum())


def loops(rng: np.random.Generator, device: str) -> None:
    a = rng.random((300, 300), "float32")
    x = pt.tensor(a, device=device)
    y, b = x, a
    for _ in range(6):
        y, b = y * 0.5 + x.mean(0), b * 0.5 + a.mean(0)
    compare(y.numpy(), b)
    compare(float(pt.tensor(np.tile(a, (2, 2)), device=device).sum()), 4 * a.sum())


BODIES: tuple[Callable[[np.random.Generator, str], None], ...] = (
    numbers, products, writes, shared_operand, selections, loops,
)  # fmt: skip
_on_device: dict[str, pt.Tensor] = {}


def compare(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


def run(device: str, seconds: float, seed: int, threads: int = THREADS) -> tuple[int, list[str]]:
    """Run the bodies in turn in each thread; return how often one ran, and the failures."""
    _on_device[device] = pt.tensor(_shared, device=device)
    failures: list[str] = []
    counts = [0] * threads
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        rng = np.random.default_rng((seed, number))
        while time.monotonic() < end and not failures:
            body = BODIES[(number + counts[number]) % len(BODIES)]
            try:
                body(rng, device)
            except BaseException:
                failures.append(f"{body.__name__}: {traceback.format_exc()}")
            counts[number] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    return sum(counts), failures


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("device", choices=["cpu", "webgpu"])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=THREADS)
    options = parser.parse_args()
    seed = time.time_ns()
    runs, failures = run(options.device, options.seconds, seed, options.threads)
    print(f"{runs} runs in {options.threads} threads, {len(failures)} failed (seed {seed})")
    print(*failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
