"""A bridge without a GPU, with the contract of `web/bridge/index.js` and the faults it may report.

It computes nothing. A buffer holds a digest of what its elements depend on: the program, its
parameters and the digests of the buffers it read. Two buffers hold the same bytes if they result
from the same computation, so results computed twice, or again after a fault, can be compared.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import py_tensor as pt
from py_tensor.backends.webgpu import WebGPU
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.plan import (
    CHECK,
    CLEAR,
    CREATE,
    DESTROY,
    DISPATCH,
    FETCH,
    FILL,
    START,
    SUBMIT,
    UPLOAD,
)

LENGTHS = {CREATE: 4, DESTROY: 2, UPLOAD: 5, DISPATCH: 8, FILL: 4, SUBMIT: 1, START: 1, FETCH: 3}
LENGTHS |= {CLEAR: 3, CHECK: 3}
MIB = 1 << 20


class Promise:
    """A promise that is fulfilled when it is waited for, after all others that are ready."""

    def __init__(self, settle: Callable[[], Any]) -> None:
        self._settle = settle

    def wait(self, held: object = None) -> Any:
        return self._settle()

    def __await__(self) -> Generator[Any, None, Any]:
        yield
        return self.wait()


class InvalidError(Exception):
    """A command that WebGPU would reject."""


class FakeBridge:
    """See `Bridge`.

    Attributes
    ----------
    faults : list of str
        Faults of the next flushes, in turn: "" none, "throw" an exception halfway (-1),
        "validation" an error that is reported later, "out-of-memory" buffers that are not made,
        which is also reported later, "lost" a lost device.
    allocations : list of str
        Faults of the next calls of `allocate`, in turn: "" none, "out-of-memory", "lost",
        "interrupted".
    waits : list of str
        The same for reads and other waits: "" or "interrupted".
    max_bytes : int
        The largest buffer.
    features : list of str
        Features of the device.
    missing : str
        Why there is no device; "" if there is one.
    kept : str
        The kernel choices stored by the host; None if it cannot store them.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.alive = False
        self.buffers: dict[int, int] = {}
        self.slices: dict[int, tuple[int, int]] = {}  # the slab of each, and its bytes
        self.contents: dict[int, bytes] = {}
        self.ahead: tuple[int, int] | None = None  # data that the last flush copied for a read
        self.ids: set[int] = set()
        self.pipelines: dict[int, tuple[str, str, int, int]] = {}
        self.unnoted: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.serial = 0
        self.invalid: set[int] = set()
        self.reading: set[int] = set()
        self.allocations: list[str] = []
        self.waits: list[str] = []
        self.max_bytes = 1024 * MIB
        self.last_flush = 0
        self.features: list[str] = []
        self.missing = ""
        self.kept: str | None = ""
        self.counts = {"flushes": 0, "dispatches": 0, "submits": 0, "compiles": 0}
        self.compiled: set[int] = set()
        self.bad_words: list[tuple[int, int]] = []  # the next CHECK finds this: position, word
        self.timed: list[int] | None = None  # the pipelines that ran since the timer was started

    # -- The device -----------------------------------------------------------------------------

    def acquire(self, trial: str = "", counts: int = 0) -> Promise:
        if not self.alive and self.missing:
            refused = json.dumps({"ok": False, "reason": self.missing})
            return Promise(lambda: refused)
        if not self.alive:
            self.alive = True
            self.generation += 1
        limits = {
            "maxBufferSize": self.max_bytes,
            "maxStorageBufferBindingSize": self.max_bytes,
            "maxStorageBuffersPerShaderStage": 8,
            "maxComputeWorkgroupStorageSize": 32768,
        }
        adapter = {"isFallbackAdapter": False, "vendor": "fake"}
        found = {
            "ok": True,
            "generation": self.generation,
            "adapter": adapter,
            "features": self.features,
            "limits": limits,
            "wrong": [1] * counts,
            "choices": self.kept or None,
        }
        acquired = json.dumps(found)
        return Promise(lambda: "interrupted" if self._is_interrupted() else acquired)

    def keepChoices(self, text: str) -> Promise:  # noqa: N802
        if self.kept is None:
            return Promise(lambda: "this host has no storage")
        self.kept = text
        return Promise(lambda: "interrupted" if self._is_interrupted() else "")

    def loseDevice(self) -> None:  # noqa: N802 - JavaScript's name
        self.alive = False
        for table in (self.buffers, self.slices, self.contents, self.ids, self.invalid):
            table.clear()

    def dropPipeline(self, number: int) -> None:  # noqa: N802
        del self.pipelines[number]

    def warm(self, number: int) -> None:
        assert number in self.pipelines, "only a pipeline that is defined can be compiled"
        self._compile(number)

    def _compile(self, number: int) -> None:
        self.counts["compiles"] += number not in self.compiled
        self.compiled.add(number)

    def warmed(self) -> Promise:
        return Promise(lambda: "")

    def definePipeline(  # noqa: N802
        self, number: int, wgsl: str, label: str, count: int, mask: int, is_foreign: bool
    ) -> None:
        self.pipelines[number] = wgsl, label, count, mask

    # -- Flushing -------------------------------------------------------------------------------

    def flush(
        self, address: int, words: int, table: int, block: int, size: int, flush_id: int
    ) -> int:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "lost":
            self.loseDevice()
        if not self.alive:
            return 0
        self.counts["flushes"] += 1
        self.counts["submits"] += 1
        self.ahead = None
        stream = array("I", ctypes.string_at(address, 4 * words))
        data = ctypes.string_at(block, size)
        commands = list(_commands(stream, ctypes.cast(table, ctypes.POINTER(ctypes.c_uint32))))
        broken = len(commands) // 2 if fault == "throw" else len(commands)
        written: dict[int, bool] = {}  # whether it has not been read since
        failure = None
        for number, command in enumerate(commands):
            if failure is None:
                try:
                    if number == broken:
                        raise RuntimeError("thrown for a test")
                    self._perform(command, data, written)
                    continue
                except (InvalidError, RuntimeError) as error:
                    failure = self._failure(flush_id, "exception", str(error))
            self._keep_table(command)
        if failure is None and fault == "throw":
            failure = self._failure(flush_id, "exception", "thrown for a test")
        if failure is not None:
            self.fail(failure)
            return -1
        self._fail_later(fault, flush_id, commands, written)
        if self.bad_words and any(command[0] == CHECK for command in commands):
            self.fail(self._failure(flush_id, "index", json.dumps(self.bad_words)))
            self.bad_words = []
        self.last_flush = flush_id
        return 1

    def lastFlush(self) -> int:  # noqa: N802
        return self.last_flush

    def _fail_later(
        self, fault: str, flush: int, commands: list[tuple[int, ...]], written: dict[int, bool]
    ) -> None:
        """Record an error that is reported at the next wait."""
        if fault == "out-of-memory":
            made = [command[1] for command in commands if command[0] == CREATE]
            self.invalid.update(made)  # for a slab also its slices, see `_is_invalid`
            message = "no memory for a test"
            self.fail(self._failure(flush, fault, message, f"buffer {made[0]}"))
        elif fault == "validation":
            label = next(iter(self.pipelines.values()))[1]
            self.fail(self._failure(flush, "validation", "refused for a test", label))
        elif any(map(self._is_invalid, _used(commands))):
            message = '[Invalid Buffer "buffer 1"] is invalid due to a previous error.'
            self.fail(self._failure(flush, "validation", message, "buffer 1"))
        else:
            return
        for buffer in written:
            self.contents[buffer] = b"invalid"

    def fail(self, failure: dict[str, Any]) -> None:
        """Report a failure until it is forgotten."""
        self.serial += 1
        self.unnoted.append({**failure, "serial": self.serial})

    @staticmethod
    def _failure(flush: int, kind: str, message: str, label: str = "") -> dict[str, Any]:
        return {"flush": flush, "kind": kind, "label": label, "message": message}

    def _keep_table(self, command: tuple[int, ...]) -> None:
        if command[0] in (CREATE, DESTROY):
            with suppress(InvalidError):
                self._perform(command, b"", {})

    def _perform(self, command: tuple[int, ...], block: bytes, written: dict[int, bool]) -> None:
        match command:
            case (op, number, size, slices) if op == CREATE:
                self._create(number, size, slices)
            case (op, number) if op == DESTROY:
                assert number not in self.slices, "slices go with their slab"
                self.buffers.pop(number, None)  # a missing one is not an error
                for each in (number, *self._slices_of(number)):
                    self.slices.pop(each, None)
                    self.contents.pop(each, None)
                self.invalid.discard(number)
            case (op, number, 0, start, size) if op == UPLOAD:
                self._check(number, size)
                self.contents[number] = block[start : start + size]
            case (op, program, offset, size, x, y, z, _, *slots) if op == DISPATCH:
                assert max(x, y, z) <= 65535
                self._dispatch(program, block[offset : offset + size], (x, y, z), slots, written)
            case (op, number, value, size) if op == FILL:
                self._check(number, size)
                for each in (number, *self._slices_of(number)):
                    self.contents[each] = value.to_bytes(4, "little")
            case (op, number, size) if op == FETCH:
                self._check(number, size)
                self.ahead = number, size
            case (op, number, size) if op == CLEAR:
                self._check(number, size)
                self.contents[number] = b"zeros"
            case (op, number, size) if op == CHECK:
                self._check(number, size)
                assert size // 4 >= len(self.bad_words)
            case (op,) if op in (SUBMIT, START):
                self.counts["submits"] += op == SUBMIT
            case _:
                raise InvalidError(f"unknown command {command}")

    def _create(self, number: int, size: int, slices: int) -> None:
        ids = range(number, number + 1 + slices)
        if not self.ids.isdisjoint(ids):
            raise InvalidError(f"buffer {number} was there before: ids are never reused")
        assert size % 16 == 0
        assert not slices or size % (256 * slices) == 0, "slices begin where bindings may"
        self.ids.update(ids)
        self.buffers[number] = size
        self.slices |= dict.fromkeys(ids[1:], (number, size // max(1, slices)))

    def _whole(self, number: int) -> int:
        """Return the buffer itself, or the slab of a slice."""
        return self.slices.get(number, (number, 0))[0]

    def _slices_of(self, slab: int) -> list[int]:
        return [number for number, (whole, _) in self.slices.items() if whole == slab]

    def _is_invalid(self, number: int) -> bool:
        return self._whole(number) in self.invalid

    def _check(self, number: int, size: int = 0) -> None:
        of_slice = self.slices.get(number, (0, -1))[1]
        if self.buffers.get(number, of_slice) < size:
            raise InvalidError(f"no buffer {number} of {size} bytes")

    def _dispatch(
        self,
        program: int,
        params: bytes,
        grid: tuple[int, int, int],
        slots: list[int],
        written: dict[int, bool],
    ) -> None:
        self.counts["dispatches"] += 1
        if program not in self.pipelines:
            raise InvalidError(f"pipeline {program} is not defined")
        wgsl, label, count, mask = self.pipelines[program]
        self._compile(program)
        if self.timed is not None:
            self.timed.append(program)
        if count != len(slots):
            raise InvalidError(f"{label}: the pipeline takes {count} buffers, not {len(slots)}")
        for slot in slots:
            self._check(slot)
        writes = [s for n, s in enumerate(slots) if mask >> n & 1]
        reads = [s for n, s in enumerate(slots) if not mask >> n & 1]
        wholes = [self._whole(slot) for slot in writes]
        if {self._whole(slot) for slot in reads} & set(wholes) or len(set(wholes)) < len(writes):
            raise InvalidError(f"{label}: a buffer is bound as read and as read_write")
        digest = hashlib.sha256(repr((wgsl, params, grid)).encode())
        for slot in reads:
            digest.update(self.contents.get(slot, b"nothing"))
            if slot in written:
                written[slot] = False
        for n, slot in enumerate(writes):
            one = digest.copy()
            one.update(b"%d" % n)
            binding = next(m for m, s in enumerate(slots) if s == slot)
            # A buffer that is written again after a read belongs to another tensor.
            if written.get(slot) or any(
                f"{c}b{binding}[" in wgsl for c in ("= ", "(")
            ):  # it is read
                one.update(self.contents.get(slot, b"nothing"))
            for each in (slot, *self._slices_of(slot)):
                one.update(b"%d" % (each - slot))
                self.contents[each] = one.digest()
                written[each] = True

    # -- Waiting --------------------------------------------------------------------------------

    def failures(self) -> str:
        return json.dumps(self.unnoted) if self.unnoted else ""

    def forgetFailures(self, serial: int) -> None:  # noqa: N802
        self.unnoted = [failure for failure in self.unnoted if failure["serial"] > serial]

    def _is_interrupted(self) -> bool:
        return bool(self.waits) and self.waits.pop(0) == "interrupted"

    def _wait(self, generation: int | None = None, *failures: dict[str, Any]) -> Promise:
        """A wait that began with a device of this generation, or does not depend on the device."""

        def settle() -> str:
            if self._is_interrupted():
                return "interrupted"
            alive = generation is None or (self.alive and generation == self.generation)
            own = failures if alive else [self._failure(-1, "lost", "lost for a test")]
            found = [*self.unnoted, *own]
            return json.dumps(found) if found else ""

        return Promise(settle)

    def allocate(self, number: int, size: int, slices: int) -> Promise:
        answer = self.allocations.pop(0) if self.allocations else ""
        if answer == "lost":
            self.loseDevice()
        if not self.alive:
            answer = "lost"
        if answer in ("", "interrupted"):  # an interrupted one continues by itself
            self._create(number, size, slices)
            return Promise(lambda: answer)
        return Promise(lambda: json.dumps(self._failure(-1, answer, "none left")))

    def read(self, number: int, offset: int, size: int, target: int) -> Promise:
        if self.alive:
            self._check(number, size)
        self.counts["submits"] += offset != 0 or self.ahead != (number, size)
        data = self.contents.get(number, b"nothing") * size
        message = f'[Invalid Buffer "buffer {number}"] is invalid due to a previous error.'
        bad = [self._failure(-1, "validation", message)] if self._is_invalid(number) else []
        ended = self._wait(self.generation if self.alive else -1, *bad)
        self.reading.add(target)

        def settle() -> str:
            outcome = ended.wait()
            self.reading.discard(target)
            own = outcome == "interrupted" or '"flush": -1' in outcome
            if not own:
                ctypes.memmove(target, data, size)
            return outcome

        return Promise(settle)

    def isReading(self, target: int) -> bool:  # noqa: N802
        return target in self.reading

    def synchronize(self) -> Promise:
        return self._wait(self.generation if self.alive else -1)

    def drain(self, flush: int) -> Promise:
        return self._wait()

    def canPaint(self) -> bool:  # noqa: N802
        return False

    def paint(self, number: int, stride: int, width: int, height: int) -> Promise:
        raise AssertionError("it cannot paint")

    def startTimer(self) -> bool:  # noqa: N802
        self.timed = []
        return True

    def stopTimer(self) -> Promise:  # noqa: N802
        """Dispatch n begins at 10 µs * n, and takes n + 1 µs."""
        times = [
            [p, 10_000 * n, 10_000 * n + 1000 * (n + 1)] for n, p in enumerate(self.timed or [])
        ]
        self.timed = None
        return Promise(lambda: json.dumps(times))

    def stats(self) -> str:
        total = sum(self.buffers.values())
        return json.dumps(
            {
                **self.counts,
                "isLost": not self.alive and self.generation > 0,
                "buffers": len(self.buffers),
                "bufferBytes": total,
                "stagingBytes": 0,
            }
        )


def _used(commands: list[tuple[int, ...]]) -> set[int]:
    """Return the buffers that commands read or write."""
    uploads = {command[1] for command in commands if command[0] in (UPLOAD, FILL)}
    return uploads | {
        slot for command in commands if command[0] == DISPATCH for slot in command[8:]
    }


def _commands(stream: array[int], table: Any) -> Iterator[tuple[int, ...]]:
    """Yield the commands, with ids of buffers instead of positions."""
    at = 0
    while at < len(stream):
        end = at + LENGTHS[stream[at]]
        ids: list[int] = []
        if stream[at] == DISPATCH:
            ids = [table[n] for n in stream[end : end + stream[at + 7]]]
        command = (*stream[at:end], *ids)
        if stream[at] in (FETCH, CLEAR, CHECK):
            command = stream[at], table[command[1]], command[2]
        yield command
        at = end + len(ids)


@dataclass
class GPU:
    """A webgpu device on a fake bridge."""

    bridge: FakeBridge
    backend: WebGPU
    device: LazyDevice

    def tensor(self, *values: float) -> pt.Tensor:
        return pt.tensor(list(values), dtype=pt.float32, device=self.device)

    def memory_info(self) -> dict[str, int]:
        self.device.collect()
        return self.backend.memory_info()

    def empty_cache(self) -> None:
        self.device.collect()
        self.backend.empty_cache()

    def is_clean(self) -> bool:
        """Return whether every buffer was returned, and is destroyed when the cache is emptied."""
        gc.collect()
        self.empty_cache()
        info = self.memory_info()
        return not any(info[k] for k in ("live_buffers", "live_bytes", "pooled_bytes")) and not (
            info["device_buffers"] or self.bridge.buffers
        )


def new_gpu(max_bytes: int = 1024 * MIB) -> GPU:
    bridge = FakeBridge()
    bridge.max_bytes = max_bytes
    backend = WebGPU(bridge, bridge.acquire().wait())
    device = LazyDevice("webgpu")
    device.use(backend)
    return GPU(bridge, backend, device)
