"""The part of the benchmarks that times py_tensor, in the Python that runs it.

`in_page.py` loads the operands in the page's worker, `native.py` outside a browser. After that come
any number of calls of `sample`, `values` and `gpu_seconds`, and one of `release`. Each returns
values that JSON can represent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import py_tensor as pt
from py_tensor.tools.control import dispatches
from tests.perf.bench import cases

_case: cases.Case
_operands: list[pt.Tensor] = []
_calls: list[list[pt.Tensor]] = []
"""The results of each call of the last sample."""
_numbers: list[float] = []
"""The results of the calls, if they are numbers."""


def prepare(case: cases.Case, operands: Sequence[pt.Tensor]) -> None:
    """Set the case and its operands."""
    global _case
    _case = case
    _operands[:] = operands
    pt.realize(*_operands)
    pt.synchronize()


def operand(parts: Sequence[pt.Tensor], shape: Sequence[int], *, transposed: bool) -> pt.Tensor:
    """Return an operand made of the parts that `operands.Made` describes."""
    x = parts[0] if len(parts) == 1 else parts[0] + parts[1].reshape(-1, 1)
    x = x.reshape(*shape).realize()
    return x.T if transposed else x


def sample(count: int) -> dict[str, Any]:
    """Call the case's op `count` times; all results are kept, and complete when timing ends.

    Returns the `seconds` and `dispatches` of all calls; or as `missing`, what py_tensor lacks.
    """
    _calls.clear()
    _numbers.clear()
    run = {"all": _all, "each": _each, "number": _each_number}[_case.finish]
    before = dispatches()
    started = time.perf_counter()
    try:
        run(count)
    except AttributeError as error:
        if error.obj is not pt:
            raise
        return {"missing": f"pt.{error.name}"}
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "dispatches": dispatches() - before}


def _all(count: int) -> None:
    for _ in range(count):
        _calls.append(_call())
        if _case.ops > 1:  # a loop of its own, as for a training step
            pt.realize(*_calls[-1])
    pt.realize(*(x for call in _calls for x in call))
    pt.synchronize()


def _each(count: int) -> None:
    for _ in range(count):
        _calls.append(_call())
        pt.realize(*_calls[-1])
        pt.synchronize()


def _each_number(count: int) -> None:
    for _ in range(count):
        _numbers.append(float(_case.op(pt, *_operands)))


def _call() -> list[pt.Tensor]:
    result = _case.op(pt, *_operands)
    return result if isinstance(result, list) else [result]


def values(call: int, places: Sequence[int]) -> list[float]:
    """Return elements of a call's results, indexed as one flat tensor."""
    if _numbers:
        return [_numbers[call]]
    results = _calls[call]
    size = results[0].size
    views = [_flat(x) for x in results]
    return [views[place // size][place % size] for place in places]


def _flat(x: pt.Tensor) -> Sequence[float]:
    code: Any = x.dtype.typecode  # type checkers only accept literal codes
    return memoryview(x.tobytes()).cast(code)


def gpu_seconds(count: int) -> float | None:
    """Return the seconds of `count` calls by the GPU's own clock; None if the adapter has none."""
    try:
        with pt.profile() as profile:
            sample(count)
    except pt.DeviceError:
        return None
    return profile.time / 1e9


def release() -> None:
    """Release the memory of the case."""
    _calls.clear()
    _numbers.clear()
    _operands.clear()
    pt.empty_cache()
