"""PyTorch on CUDA in eager mode, TF32 off: a contender if the machine has it."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.perf.bench.cases import Case
from tests.perf.bench.contender import Sample
from tests.perf.bench.operands import Made


def _added_to_window(y: Any) -> Any:
    y[1:-1, 1:-1] += 1
    return y


def _added_by_index(y: Any, i: Any, value: Any) -> Any:
    y[i] += value
    return y


CASES: dict[str, Callable[..., Any]] = {
    "softmax": lambda torch, x: torch.softmax(x, -1),
    "log-softmax": lambda torch, x: torch.log_softmax(x, -1),
    "layer norm": lambda torch, x: torch.layer_norm(x, x.shape[-1:]),
    "variance": lambda torch, x: torch.var(x, -1, correction=0),
    "transposed copy": lambda torch, x: x.T.contiguous(),
    "pad by 1": lambda torch, x: torch.nn.functional.pad(x, (1, 1, 1, 1)),
    "every second column": lambda torch, x: x[:, ::2].contiguous(),
    "every second row": lambda torch, x: x[::2].contiguous(),
    "take rows": lambda torch, x, i: torch.index_select(x, 0, i),
    "take elements": lambda torch, x, i: torch.index_select(x, 0, i),
    "add at": lambda torch, base, i, x: base.index_add(0, i, x),
    "write at": lambda torch, x, i: torch.zeros_like(x).index_fill_(0, i.long(), 1),
    "write by mask": lambda torch, x: x.masked_fill(x > 0.5, 0),
    "add to a window": lambda torch, x: _added_to_window(x.clone()),
    "sort": lambda torch, x: torch.sort(x).values,
    "unique": lambda torch, i: torch.unique(i).float().sum(),
    "add by index": lambda torch, x, i, v: _added_by_index(x.clone(), i, v),
}
"""By a case's name. All others are written the same in PyTorch as in py_tensor."""


class PyTorch:
    """Wall time, as for the others: all calls are queued, then one wait."""

    name = "PyTorch"

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.version = f"{torch.__version__} on {torch.cuda.get_device_name()}"
        self._calls: list[Any] = []
        self._operands: list[Any] = []
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def prepare(self, case: Case, operands: Sequence[Made]) -> None:
        self._case = case
        self._run = CASES.get(case.name, case.op)
        self._operands = [self._operand(made) for made in operands]

    def _operand(self, made: Made) -> Any:
        row, *column = (self._torch.from_numpy(part).cuda() for part in made.parts)
        whole = row + column[0][:, None] if column else row
        whole = whole.reshape(made.operand.shape)
        return whole.T if made.operand.transposed else whole

    def sample(self, count: int) -> Sample:
        self._calls.clear()
        finish = self._case.finish
        self._torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(count):
            result = self._run(self._torch, *self._operands)
            self._calls.append(float(result) if finish == "number" else result)
            if finish == "each":
                self._torch.cuda.synchronize()
        self._torch.cuda.synchronize()
        return Sample(time.perf_counter() - started)

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        result = self._calls[call]
        if isinstance(result, float):
            return [result]
        whole = self._torch.stack(result) if isinstance(result, list) else result
        return whole.cpu().numpy().reshape(-1)[np.asarray(places)].tolist()

    def gpu_seconds(self, count: int) -> float | None:
        start, stop = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.sample(count)
        stop.record()
        self._torch.cuda.synchronize()
        return start.elapsed_time(stop) / 1e3

    def release(self) -> None:
        self._calls.clear()
        self._operands.clear()
        self._torch.cuda.empty_cache()


def find() -> PyTorch | None:
    """Return PyTorch with a CUDA device, or None."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return PyTorch(torch) if torch.cuda.is_available() else None
