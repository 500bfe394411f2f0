"""Random programs that change arrays through views, masks and indices, compared with NumPy.

`--programs` sets their number, `--seed` the seed of the first one; `python -m tests.differential`
runs many.
"""

from __future__ import annotations

import pytest

from tests.differential.run import check, tensors_on

BATCH = 10


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    count: int = metafunc.config.option.programs
    metafunc.parametrize("start", range(0, count, BATCH))


def test_programs_match_numpy(start: int, device: str, request: pytest.FixtureRequest) -> None:
    options = request.config.option
    with tensors_on(device) as tensors:
        for number in range(start, min(start + BATCH, options.programs)):
            check(options.seed + number, tensors)
