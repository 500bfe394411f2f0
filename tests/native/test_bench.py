"""The benchmarks' contender outside a browser: its results pass the checks of `npm run bench`."""

from __future__ import annotations

import dataclasses

import pytest

from tests.perf.bench import cases, measure
from tests.perf.bench.native import Native

SMALL = dataclasses.replace(cases.SOFTWARE, squares=(8,), side=6, flat=60, sort=(33,))
CASES = {
    case.name: case
    for suite in ("square", "reductions", "small-ops", "bytes")
    for case in cases.suites(SMALL)[suite]
    if case.bytes < 2**22
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_timed(name: str) -> None:
    effort = dataclasses.replace(measure.ON_SOFTWARE, rounds=1)
    outcome = measure.measure(CASES[name], [Native()], effort, lambda: False)["native"]
    assert outcome.status == "measured", outcome.reason
    assert outcome.median > 0
