"""The seeds' two benchmark suites, as data, and the code that checks and times them.

A case says what is computed (through py_tensor's public API, the same for every contender), what
the right answer is (in float64, at the places asked for), and how much work it is. `run` goes
through the chosen cases and reports each step as a dictionary that JSON can hold. Nothing here
needs a browser: a command line can drive it as the page does.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Report = Callable[[dict[str, Any]], None]

CONTENDERS = {"webgpu": "WebGPU", "cpu": "NumPy"}
"""Devices of py_tensor, and what a reader calls them."""

ROUNDS = 7
MOST_ROUNDS = 30
"""Short rounds are repeated more often, until they add up to `SECONDS`."""
SECONDS = 0.25
QUEUED_OPS = 20
"""At most so many ops are queued before one wait; all their results are kept."""
ROUND_SECONDS = 0.1
"""Fewer are queued where a round would take longer than this."""
WARM_UP_SECONDS = 2.0
"""One that takes longer is not repeated for the warm-up alone."""
RESULT_BYTES = 256 * 2**20
"""Fewer are queued where their results would take more memory than this."""
SAMPLES = 4096
"""Results with more elements are checked at so many places, drawn at random."""


@dataclass(frozen=True)
class Operand:
    """An argument: uniform random float32 in (0, 1], so that sums have no cancellation."""

    shape: tuple[int, ...]
    transposed: bool = False
    """Whether it is the transpose of a contiguous tensor, a view that is not contiguous."""


@dataclass(frozen=True)
class Case:
    name: str
    size: str
    """What a reader calls the size: "512", or "64 × 256 × 1024"."""
    extent: int
    """Its place on a chart's axis."""
    operands: tuple[Operand, ...]
    op: Callable[..., Any]
    """From the module py_tensor and the operands to the result."""
    expected: Callable[..., Any]
    """From NumPy, a tuple of index arrays into the result, and the operands to float64 values."""
    result_shape: tuple[int, ...]
    flops: int
    bytes: int
    """The least traffic: operands read once, the result written once."""
    unit: str
    """"GFLOP/s" or "GB/s": the rate that says something about this case."""
    tolerance: float
    """Relative. A sum of n positive terms that leaves one out is off by about 1/n."""

    @property
    def work(self) -> int:
        return self.flops if self.unit == "GFLOP/s" else self.bytes

    @property
    def label(self) -> str:
        return f"{self.name}, {self.size}"


@dataclass(frozen=True)
class Suite:
    key: str
    title: str
    source: str
    sizes: tuple[str, ...]
    default_sizes: tuple[str, ...]
    """What to choose where the adapter is software, or there is none."""
    cases: Callable[[str], tuple[Case, ...]]
    """The cases of one of the sizes."""


# -- the suites ----------------------------------------------------------------------------------

_FLOAT = 4
_ELEMENTWISE = 1e-6
_SUM = 1e-5


def _square_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    square = Operand((n, n))
    matrix = n * n * _FLOAT

    def case(name: str, **fields: Any) -> Case:
        defaults = {
            "result_shape": (n, n),
            "flops": n * n,
            "unit": "GB/s",
            "tolerance": _ELEMENTWISE,
        }
        return Case(name=name, size=size, extent=n, **(defaults | fields))

    return (
        case(
            "exp",
            operands=(square,),
            op=lambda pt, x: pt.exp(x),
            expected=lambda np, at, x: np.exp(x[at].astype(np.float64)),
            bytes=2 * matrix,
        ),
        case(
            "mul",
            operands=(square, square),
            op=lambda pt, x, y: x * y,
            expected=lambda np, at, x, y: x[at].astype(np.float64) * y[at],
            bytes=3 * matrix,
        ),
        case(
            "mul, transposed",
            operands=(square, Operand((n, n), transposed=True)),
            op=lambda pt, x, y: x * y,
            expected=lambda np, at, x, y: x[at].astype(np.float64) * y[at],
            bytes=3 * matrix,
        ),
        case(
            "sum(0)",
            operands=(square,),
            op=lambda pt, x: x.sum(0),
            expected=lambda np, at, x: x[:, at[0]].sum(0, dtype=np.float64),
            result_shape=(n,),
            bytes=matrix + n * _FLOAT,
            tolerance=_SUM,
        ),
        case(
            "sum()",
            operands=(square,),
            op=lambda pt, x: x.sum(),
            expected=lambda np, at, x: x.sum(dtype=np.float64),
            result_shape=(),
            bytes=matrix,
            tolerance=_SUM,
        ),
        case(
            "matmul",
            operands=(square, square),
            op=lambda pt, x, y: x @ y,
            expected=lambda np, at, x, y: np.einsum(
                "sk,ks->s", x[at[0]].astype(np.float64), y[:, at[1]].astype(np.float64)
            ),
            flops=2 * n**3,
            bytes=3 * matrix,
            unit="GFLOP/s",
            tolerance=_SUM,
        ),
    )


def _last_axis_cases(size: str) -> tuple[Case, ...]:
    shape = tuple(int(part) for part in size.split(" × "))
    elements = shape[0] * shape[1] * shape[2]
    return (
        Case(
            name="sum(-1)",
            size=size,
            extent=shape[2],
            operands=(Operand(shape),),
            op=lambda pt, x: x.sum(-1),
            expected=lambda np, at, x: x[at].sum(-1, dtype=np.float64),
            result_shape=shape[:2],
            flops=elements,
            bytes=(elements + shape[0] * shape[1]) * _FLOAT,
            unit="GB/s",
            tolerance=_SUM,
        ),
    )


SUITES = {
    suite.key: suite
    for suite in (
        Suite(
            key="square",
            title="Elementwise, sums, matmul",
            source="Tensorken's benchmarks: exp, mul, sum and matmul of n × n matrices",
            sizes=("64", "128", "256", "512", "1024", "2048"),
            default_sizes=("64", "128", "256", "512"),
            cases=_square_cases,
        ),
        Suite(
            key="last-axis",
            title="Sum over the last axis",
            source="CubeCL's benchmark: many rows, each summed",
            sizes=("64 × 256 × 1024", "64 × 64 × 4096"),
            default_sizes=("64 × 256 × 1024", "64 × 64 × 4096"),
            cases=_last_axis_cases,
        ),
    )
}


def describe() -> list[dict[str, Any]]:
    """What there is to choose from."""
    return [
        {
            "key": suite.key,
            "title": suite.title,
            "source": suite.source,
            "sizes": suite.sizes,
            "defaultSizes": suite.default_sizes,
            "cases": [case.name for case in suite.cases(suite.sizes[0])],
            "work": [
                {"case": case.name, "size": size, "work": case.work, "unit": case.unit}
                for size in suite.sizes
                for case in suite.cases(size)
            ],
        }
        for suite in SUITES.values()
    ]


# -- running -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """What to run; the names are those of `describe` and `CONTENDERS`."""

    suite: str
    sizes: Sequence[str]
    cases: Sequence[str]
    contenders: Sequence[str]
    budget: float
    """Seconds that checking and timing one case on one contender may take."""
    total: float
    """Seconds that all of it may take. What comes too late is skipped."""

    def chosen(self) -> Iterator[Case]:
        suite = SUITES[self.suite]
        for name in self.cases:
            for size in suite.sizes:
                if size in self.sizes:
                    yield next(case for case in suite.cases(size) if case.name == name)


async def run(config: Config, report: Report, can_block: Callable[[], bool]) -> None:
    """Check and time every chosen case on every contender, and report as it goes.

    Parameters
    ----------
    config : Config
        What to run.
    report : callable
        Takes the steps: `begin`, `working`, and for each case and contender one of `measured`,
        `skipped` (no time, no such device) and `wrong` (a wrong answer, or an exception).
    can_block : callable
        Whether a blocking read works; else the asynchronous forms are awaited.
    """
    import py_tensor as pt

    bench = Bench(pt, can_block, report, config)
    cases = list(config.chosen())
    report({"event": "begin", "total": len(cases) * len(config.contenders)})
    for case in cases:
        arrays = [_random_array(operand, seed) for seed, operand in enumerate(case.operands)]
        for device in config.contenders:
            await bench.try_case(case, device, arrays)


class Bench:
    """One run over the cases: remembers how long the smaller sizes took, and when it must end."""

    def __init__(
        self, pt: Any, can_block: Callable[[], bool], report: Report, config: Config
    ) -> None:
        self._pt = pt
        self._can_block = can_block
        self._report = report
        self._config = config
        self._end = time.perf_counter() + config.total
        self._seconds_per_work: dict[tuple[str, str], float] = {}
        self._has_gpu = pt.device_info()["backend"] == "webgpu"

    async def try_case(self, case: Case, device: str, arrays: Sequence[Any]) -> None:
        about = {"case": case.name, "size": case.size, "extent": case.extent, "device": device}
        if device == "webgpu" and not self._has_gpu:
            self._report({"event": "skipped", **about, "reason": "no WebGPU here"})
            return
        budget = min(self._config.budget, self._end - time.perf_counter())
        if reason := self._reason_to_skip(self._estimate(case, device), budget):
            self._report({"event": "skipped", **about, "reason": reason})
            return
        self._report(
            {"event": "working", **about, "label": f"{case.label} on {CONTENDERS[device]}"}
        )
        try:
            measured = await self._measure(case, device, arrays, budget)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self._report({"event": "wrong", **about, "reason": reason})
            return
        self._report({"event": "measured", **about, "unit": case.unit, **measured})

    def _estimate(self, case: Case, device: str) -> float:
        """Seconds for one, from the size before; 0 when nothing is known."""
        return self._seconds_per_work.get((case.name, device), 0.0) * case.work

    def _reason_to_skip(self, estimate: float, budget: float) -> str | None:
        if budget <= 0:
            return f"the {_duration(self._config.total)} for all are over"
        if 2 * estimate <= budget:  # once to check, once to time
            return None
        limit = "the budget is" if budget == self._config.budget else "what is left for all is"
        return f"one would take about {_duration(estimate)}; {limit} {_duration(budget)}"

    async def _measure(
        self, case: Case, device: str, arrays: Sequence[Any], budget: float
    ) -> dict[str, Any]:
        tensors = [self._pt.tensor(array, device=device) for array in arrays]
        operands = [_as_seen(t, operand) for t, operand in zip(tensors, case.operands, strict=True)]
        self._pt.realize(*operands)
        started = time.perf_counter()
        error = await self._check(case, operands, arrays)
        single = await self._time(case, operands, 1)
        if single < WARM_UP_SECONDS:  # the first may have compiled something
            single = min(single, await self._time(case, operands, 1))
        count = self._ops_to_queue(case, single)
        if count > 1:
            single = min(single, await self._time(case, operands, count))
            count = self._ops_to_queue(case, single)
            await self._time(case, operands, count)
        samples: list[float] = []
        while not _is_enough(samples, count):
            samples.append(await self._time(case, operands, count))
            elapsed = time.perf_counter() - started
            if elapsed + samples[-1] * count > budget:
                break
        median = statistics.median(samples)
        self._seconds_per_work[case.name, device] = median / case.work
        return {
            "median": median,
            "least": min(samples),
            "most": max(samples),
            "samples": samples,
            "queued": count,
            "rate": case.work / median / 1e9,
            "error": error,
        }

    def _ops_to_queue(self, case: Case, single: float) -> int:
        elements = 1
        for length in case.result_shape:
            elements *= length
        by_memory = RESULT_BYTES // (elements * _FLOAT)
        by_time = int(ROUND_SECONDS / max(single, 1e-9))
        return max(1, min(QUEUED_OPS, by_memory, by_time))

    async def _time(self, case: Case, operands: Sequence[Any], count: int) -> float:
        """Seconds for one, over `count` queued ops whose results are all kept and computed."""
        pt, op = self._pt, case.op
        started = time.perf_counter()
        results = [op(pt, *operands) for _ in range(count)]
        pt.realize(*results)
        if self._can_block():
            pt.synchronize()
        else:
            await pt.synchronize_async()
        return (time.perf_counter() - started) / count

    async def _check(self, case: Case, operands: Sequence[Any], arrays: Sequence[Any]) -> float:
        """The largest relative error against float64; raises when it is too large."""
        import numpy as np

        result = case.op(self._pt, *operands)
        got = result.numpy() if self._can_block() else await result.to_numpy_async()
        if got.shape != case.result_shape:
            raise AssertionError(f"the result has shape {got.shape}, not {case.result_shape}")
        views = [_as_seen(a, operand) for a, operand in zip(arrays, case.operands, strict=True)]
        at = _places(case.result_shape)
        expected = np.asarray(case.expected(np, at, *views))
        error = float(np.max(np.abs(got[at] - expected) / np.abs(expected)))
        if not error <= case.tolerance:  # also when it is NaN
            raise AssertionError(
                f"wrong by {error:.2g} (relative); at most {case.tolerance:.0e} is right"
            )
        return error


def _is_enough(samples: Sequence[float], count: int) -> bool:
    if len(samples) < ROUNDS:
        return False
    return len(samples) >= MOST_ROUNDS or sum(samples) * count >= SECONDS


def _as_seen(value: Any, operand: Operand) -> Any:
    """The operand from its contiguous tensor or array."""
    return value.T if operand.transposed else value


def _places(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Index arrays: every place of a small result, a random choice of a large one."""
    import numpy as np

    elements = int(np.prod(shape))
    if not shape:
        return ()
    if elements <= SAMPLES:
        flat = np.arange(elements)
    else:
        # The corners too: it is there that kernels go wrong.
        inside = np.random.default_rng(0).integers(0, elements, SAMPLES - 2)
        flat = np.concatenate([[0, elements - 1], inside])
    return np.unravel_index(flat, shape)


def _random_array(operand: Operand, seed: int) -> Any:
    """Uniform in (0, 1]: no zero, so that relative errors are defined."""
    import numpy as np

    return np.float32(1) - np.random.default_rng(seed).random(operand.shape, dtype=np.float32)


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
