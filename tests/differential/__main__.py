"""Runs many programs: python -m tests.differential --programs 5000 --device cpu.

On WebGPU the programs run inside the page's worker: python -m pytest tests/ops/test_differential.py
--device webgpu --programs 500.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from contextlib import AbstractContextManager, nullcontext

from tests.differential.run import DifferenceError, NumPyArrays, Tensors, check, tensors_on
from tests.unit import simulate


def _other(name: str) -> AbstractContextManager[NumPyArrays | Tensors]:
    """Return the module that is compared with NumPy."""
    if name == "numpy":
        return nullcontext(NumPyArrays())
    return tensors_on(simulate.device(10) if name == "simulated" else name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=5000)
    parser.add_argument("--seed", type=int, help="of the first; those of the others follow it")
    parser.add_argument(
        "--device",
        choices=["cpu", "numpy", "simulated"],
        default="cpu",
        help="numpy: NumPy against itself, which finds nothing unless the test is wrong;"
        " simulated: the kernels for a GPU, executed by NumPy",
    )
    parser.add_argument("--failures", type=int, default=5, help="after so many it ends")
    options = parser.parse_args()
    first = random.SystemRandom().getrandbits(31) if options.seed is None else options.seed
    print(f"{options.programs} programs on {options.device}, --seed {first}")
    failures, began, seed = 0, time.perf_counter(), first
    with _other(options.device) as other:
        for seed in range(first, first + options.programs):
            try:
                check(seed, other)
            except DifferenceError as error:
                failures += 1
                print(f"\n{error}")
            if failures == options.failures:
                break
    count = seed - first + 1
    each = (time.perf_counter() - began) / count
    print(f"\n{count} programs, {failures} differ; {1000 * each:.1f} ms each")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
