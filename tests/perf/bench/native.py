"""py_tensor outside a browser, on the same adapter: a contender with `--native`."""

from __future__ import annotations

from collections.abc import Sequence

import py_tensor as pt
from tests.perf.bench import report, sampling
from tests.perf.bench.cases import Case
from tests.perf.bench.contender import MissingError, Sample
from tests.perf.bench.operands import Made


def absence() -> str | None:
    """Return why there is no GPU without a browser, if there is none."""
    try:
        pt.set_default_device("webgpu")
        pt.ones(1).tolist()
    except pt.DeviceError as error:
        return str(error)
    return None


class Native:
    """py_tensor in this process, on WebGPU through the package wgpu."""

    name = report.NATIVE

    def __init__(self) -> None:
        self.version = f"{pt.__version__} without a browser"

    def prepare(self, case: Case, operands: Sequence[Made]) -> None:
        sampling.prepare(case, [self._operand(made) for made in operands])

    def _operand(self, made: Made) -> pt.Tensor:
        parts = [pt.tensor(part).realize() for part in made.parts]
        shape, transposed = made.operand.shape, made.operand.transposed
        return sampling.operand(parts, shape, transposed=transposed)

    def sample(self, count: int) -> Sample:
        given = sampling.sample(count)
        if "missing" in given:
            raise MissingError(given["missing"])
        return Sample(given["seconds"], given["dispatches"])

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        return sampling.values(call, places)

    def gpu_seconds(self, count: int) -> float | None:
        return sampling.gpu_seconds(count)

    def release(self) -> None:
        sampling.release()
