"""The contenders of the benchmarks (`measuring.Contender`): py_tensor, NumPy, other libraries."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from .benchmarks import Case
from .measuring import Contender, First, Metered, MissingError, as_seen

OURS = "py_tensor"
ON_CPU = "py_tensor (cpu)"
NUMPY = "NumPy"

Ask = Callable[[str, str, dict[str, Any], Sequence[Any]], Awaitable[Any]]
"""Calls another library's worker: takes its name, the method, the arguments, and the arrays."""


class PyTensor:
    """py_tensor on one of its devices, which is the default device while this runs.

    Parameters
    ----------
    pt : module
        py_tensor.
    device : {"webgpu", "cpu"}
        The device.
    can_block : callable
        Whether a blocking read works; if not, the asynchronous forms are awaited, and neither
        compilation nor GPU time can be measured.
    software : bool
        Whether the adapter is a software adapter.
    """

    def __init__(
        self, pt: Any, device: str, can_block: Callable[[], bool], *, software: bool
    ) -> None:
        self.name = ON_CPU if device == "cpu" else OURS
        self.version: str | None = pt.__version__
        self.on_gpu = device != "cpu" and not software
        self._pt = pt
        self._device = device
        self._can_block = can_block
        self._operands: list[Any] = []
        self._calls: list[list[Any]] = []
        self._numbers: list[float] = []
        self._has_clock: bool | None = False if device == "cpu" else None

    @contextlib.contextmanager
    def _as_default(self) -> Iterator[None]:
        before = self._pt.default_device()
        self._pt.set_default_device(self._device)
        try:
            yield
        finally:
            self._pt.set_default_device(before)

    async def prepare(self, case: Case, operands: Sequence[Any]) -> None:
        with self._as_default():
            if self._has_clock is None:
                self._has_clock = self._find_clock()
            self._case = case
            self._operands += [
                as_seen(self._pt.tensor(array), operand)
                for array, operand in zip(operands, case.operands, strict=True)
            ]
            self._pt.realize(*self._operands)
            await self._synchronize()

    def _find_clock(self) -> bool:
        if not self._can_block():
            return False
        try:
            with self._pt.profile():
                pass
        except self._pt.DeviceError:
            return False
        return True

    async def first(self) -> First:
        if not self._has_clock:
            return First(await self.sample(1, 1), None)
        with self._as_default(), self._pt.profile() as profile:
            seconds = await self.sample(1, 1)
        return First(seconds, sum(c.time for c in profile.compilations) / 1e9)

    async def sample(self, count: int, kept: int) -> float:
        with self._as_default():
            return await self._sample(count, kept)

    async def _sample(self, count: int, kept: int) -> float:
        self._calls = []
        self._numbers.clear()
        case, pt = self._case, self._pt
        group: list[list[Any]] = []
        started = time.perf_counter()
        for number in range(count):
            result = case.op(pt, *self._operands)
            if case.finish == "number":
                self._numbers.append(await self._number(result))
                continue
            group.append(result if isinstance(result, list) else [result])
            if case.finish == "each" or case.ops > 1:
                pt.realize(*group[-1])
            if case.finish == "each":
                await self._synchronize()
            if len(group) == kept or number == count - 1:
                pt.realize(*(x for call in group for x in call))
                self._calls, group = group, []
        await self._synchronize()
        return time.perf_counter() - started

    async def _number(self, x: Any) -> float:
        return float(x) if self._can_block() else float(await x.to_numpy_async())

    async def _synchronize(self) -> None:
        if self._can_block():
            self._pt.synchronize()
        else:
            await self._pt.synchronize_async()

    async def values(self, call: int, places: Sequence[int]) -> list[float]:
        if self._numbers:
            return [self._numbers[call]]
        return _at([await self._array(x) for x in self._calls[call]], places)

    async def _array(self, x: Any) -> Any:
        return x.numpy() if self._can_block() else await x.to_numpy_async()

    async def metered(self, count: int, kept: int) -> Metered:
        from py_tensor.tools.control import stats

        if self._device == "cpu":
            return Metered()
        with self._as_default():
            before = stats()
            timing = self._pt.profile() if self._has_clock else contextlib.nullcontext()
            with timing as profile:
                await self._sample(count, kept)
                after = stats()
        gpu = None if profile is None else profile.time / 1e9
        dispatches, submits = (after[name] - before[name] for name in ("dispatches", "submits"))
        return Metered(gpu, dispatches, submits)

    async def release(self) -> None:
        self._calls.clear()
        self._numbers.clear()
        self._operands.clear()
        self._pt.empty_cache()


class NumPy:
    """NumPy in the same Python."""

    name = NUMPY
    on_gpu = False

    def __init__(self) -> None:
        self.version: str | None = None
        self._operands: list[Any] = []
        self._calls: list[Any] = []

    async def prepare(self, case: Case, operands: Sequence[Any]) -> None:
        import numpy as np

        self.version = np.__version__
        self._case = case
        self._operands += [as_seen(a, o) for a, o in zip(operands, case.operands, strict=True)]

    async def first(self) -> First:
        return First(await self.sample(1, 1), None)

    async def sample(self, count: int, kept: int) -> float:
        import numpy as np

        self._calls = []
        case = self._case
        group: list[Any] = []
        started = time.perf_counter()
        for number in range(count):
            result = case.op(np, *self._operands)
            group.append(float(result) if case.finish == "number" else result)
            if len(group) == kept or number == count - 1:
                self._calls, group = group, []
        return time.perf_counter() - started

    async def values(self, call: int, places: Sequence[int]) -> list[float]:
        result = self._calls[call]
        return _at(result if isinstance(result, list) else [result], places)

    async def metered(self, count: int, kept: int) -> Metered:
        return Metered()

    async def release(self) -> None:
        self._calls.clear()
        self._operands.clear()


class Peer:
    """A library in its own worker, which also reads the clock (web/worker/peer_worker.js)."""

    def __init__(self, name: str, ask: Ask, is_open: Callable[[], bool], *, software: bool) -> None:
        self.name = name
        self.version: str | None = None
        self._ask = ask
        self._is_open = is_open
        self._software = software
        self.on_gpu = not software

    async def prepare(self, case: Case, operands: Sequence[Any]) -> None:
        if not self._is_open():  # before the first case, and after a failed one
            about = {"name": self.name, "software": self._software}
            self.version = await self._ask(self.name, "start", about, [])
        about = {
            "name": case.name,
            "finish": case.finish,
            "operands": [{"shape": list(operand.shape)} for operand in operands],
        }
        parts = [operand.reshape(-1) for operand in operands]
        if not await self._ask(self.name, "prepare", about, parts):
            raise MissingError("")

    async def first(self) -> First:
        return First(**await self._ask(self.name, "first", {}, []))

    async def sample(self, count: int, kept: int) -> float:
        return await self._ask(self.name, "sample", {"count": count, "kept": kept}, [])

    async def values(self, call: int, places: Sequence[int]) -> list[float]:
        return await self._ask(self.name, "values", {"call": call, "places": list(places)}, [])

    async def metered(self, count: int, kept: int) -> Metered:
        return Metered(**await self._ask(self.name, "meter", {"count": count, "kept": kept}, []))

    async def release(self) -> None:
        if self._is_open():
            await self._ask(self.name, "release", {}, [])


def contenders(
    names: Sequence[str],
    pt: Any,
    can_block: Callable[[], bool],
    peer: Callable[[str], Contender],
    *,
    software: bool,
) -> list[Contender]:
    """Return the contenders with these names, in order; `peer` makes those of other libraries."""
    made: dict[str, Callable[[], Contender]] = {
        OURS: lambda: PyTensor(pt, "webgpu", can_block, software=software),
        ON_CPU: lambda: PyTensor(pt, "cpu", can_block, software=software),
        NUMPY: NumPy,
    }
    return [made[name]() if name in made else peer(name) for name in names]


def _at(arrays: Sequence[Any], places: Sequence[int]) -> list[float]:
    """Return elements of equally sized arrays, indexed as one flat array."""
    import numpy as np

    whole = np.concatenate([np.asarray(array).reshape(-1) for array in arrays])
    return whole[np.asarray(places)].tolist()
