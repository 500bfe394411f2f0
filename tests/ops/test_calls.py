"""Random calls of every public function, compared with NumPy, including calls that raise.

`--examples` sets the number of calls of each function. Hypothesis generates them, and minimizes
those that differ; inside the page, which has no Hypothesis, they depend only on `--seed`. A long
run:

    python3 -m pytest tests/ops/test_calls.py --device native --examples 1000
"""

from __future__ import annotations

import random
import sys
import zlib

import pytest

import py_tensor as pt
from tests.differential.calls import CALLS, call
from tests.differential.compare_calls import check

EXAMPLES = {"cpu": 10, "native": 2, "webgpu": 2}
"""A number that takes one minute on two cores."""


@pytest.mark.parametrize("name", CALLS)
def test_calls_match_numpys(name: str, device: str, request: pytest.FixtureRequest) -> None:
    options = request.config.option
    examples: int = options.examples or EXAMPLES[options.device]
    seed = options.seed + zlib.crc32(name.encode())
    if sys.platform == "emscripten":
        source = random.Random(seed)
        for _ in range(examples):
            check(call(name, source.choice), pt)
    else:
        _by_hypothesis(name, seed, examples)


def _by_hypothesis(name: str, number: int, examples: int) -> None:
    from hypothesis import HealthCheck, given, seed, settings, strategies

    @strategies.composite
    def calls(draw: strategies.DrawFn) -> str:
        return call(name, lambda options: draw(strategies.sampled_from(options)))

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
    @given(calls())
    def run(text: str) -> None:
        check(text, pt)

    run()
