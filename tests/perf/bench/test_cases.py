"""The benchmarks' cases compute correct results: on the cpu device, at small sizes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import py_tensor as pt
from tests.perf.bench import cases, operands
from tests.perf.bench.measure import Answer, WrongError

TINY = cases.Scale(
    squares=(8,),
    odd=(7,),
    side=6,
    batches=(2, 5),
    vector=9,
    thin=5,
    long=40,
    flat=60,
    large=operands.WHOLE + operands.ROW,
    middle=(3, 4, 5),
    last=("4 × 5 × 6",),
    sort=(33,),
)
CASES = [
    case
    for name, suite in cases.suites(TINY).items()
    if name not in cases.PANEL  # tests/browser/test_bench_panel.py tests them
    for case in suite
]


@pytest.fixture(autouse=True)
def _on_cpu() -> Iterator[None]:
    before = pt.default_device()
    pt.set_default_device("cpu")
    yield
    pt.set_default_device(before)


@pytest.mark.parametrize("scale", [cases.HARDWARE, cases.SOFTWARE], ids=["hardware", "software"])
def test_labels_are_unique(scale: cases.Scale) -> None:
    for suite in cases.suites(scale).values():
        labels = [case.label for case in suite]
        assert len(labels) == len(set(labels))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_op_and_answer_agree(case: cases.Case) -> None:
    made = [operands.make(operand, seed) for seed, operand in enumerate(case.operands)]
    answer = Answer(case, made)
    result = case.op(pt, *(pt.tensor(one.array) for one in made))
    whole = pt.stack(result) if isinstance(result, list) else result
    assert whole.shape == case.result_shape
    assert case.ops == (len(result) if isinstance(result, list) else 1)
    values = whole.numpy().reshape(-1)[answer.places]
    answer.error(values.tolist())  # raises
    values[-1] = values[-1] * 1.001 + 1
    with pytest.raises(WrongError, match="error"):
        answer.error(values.tolist())


def test_nan_is_wrong() -> None:
    case = next(case for case in CASES if case.name == "exp")
    answer = Answer(case, [operands.make(operand, 0) for operand in case.operands])
    with pytest.raises(WrongError, match="error inf"):
        answer.error([float("nan")] * len(answer.places))


def test_large_operands_are_made_of_parts() -> None:
    made = operands.make(cases.Operand((operands.WHOLE + operands.ROW,)), 0)
    assert [part.size for part in made.parts] == [operands.ROW, operands.WHOLE // operands.ROW + 1]
    array = made.array
    assert array.shape == made.operand.shape
    assert array.min() > 0
    assert array.max() < 2
    assert np.count_nonzero(array == array.max()) == 1
