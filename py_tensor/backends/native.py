"""The native bridge: WebGPU through wgpu-native, without a browser.

It executes the same commands and the same WGSL as `web/bridge` in a page, whose `stream.js`
documents the commands, and whose README lists the invariants of both.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from threading import RLock, Thread
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from py_tensor.backends.native_device import (
    AbsentError,
    Device,
    Range,
    Readback,
    StreamError,
    Timer,
    ffi,
    lib,
    released,
    uninterruptible,
)
from py_tensor.runtime import plan
from py_tensor.runtime.failures import OF_THIS_CALL, OUT_OF_RANGE, UNCAPTURED, Failure

P = ParamSpec("P")
T = TypeVar("T")

TRIAL, TRIAL_WORKGROUPS = -1, 256  # the id of the trial's pipeline and buffer; its workgroups
COUNTED = "dispatches", "flushes", "submits", "compiles", "reads"
SIZES = "buffers", "bufferBytes", "stagingBuffers", "stagingBytes", "pipelines", "bindGroups"
POLL_INTERVAL = 0.0005  # seconds, for a coroutine that awaits the GPU
FILLED_AT_ONCE = 1 << 20  # bytes
MAX_BIND_GROUPS = 4096  # bind groups; the oldest are dropped


@dataclass(eq=False)
class Promise(Generic[T]):
    """The result of a method of the bridge; await it, or block with `wait`.

    The rest of the method, such as copying the bytes of a read, runs when it is waited for.
    """

    _bridge: NativeBridge
    _rest: Generator[None, None, T]

    @uninterruptible
    def wait(self, held: RLock | None = None) -> T:
        """Return the result; the lock `held` by this thread is released meanwhile."""
        with released(held), self._bridge.lock:
            try:
                next(self._rest)
            except StopIteration as end:
                return end.value
        raise AssertionError("a method of the bridge has one yield")

    def __await__(self) -> Generator[Any, None, T]:
        yield  # as in a page, where a promise is never fulfilled immediately
        while not self._bridge.is_idle():
            yield from asyncio.sleep(POLL_INTERVAL).__await__()
        return self.wait()


def promised(
    method: Callable[Concatenate[NativeBridge, P], Generator[None, None, T]],
) -> Callable[Concatenate[NativeBridge, P], Promise[T]]:
    """Decorate a method of the bridge that runs up to its `yield`, and on when it is waited for."""

    @wraps(method)
    @uninterruptible
    def promised_method(bridge: NativeBridge, *args: P.args, **kwargs: P.kwargs) -> Promise[T]:
        rest = method(bridge, *args, **kwargs)
        with bridge.lock:
            next(rest)
        return Promise(bridge, rest)

    return promised_method


class Flight(NamedTuple):
    """A flush in flight, and the checks to read when it is done."""

    flush: int
    submission: int
    checks: list[Readback]


class NativeBridge:
    """A `Bridge` over wgpu-native.

    Attributes
    ----------
    lock : RLock
        Held by the thread that uses wgpu-native, and released while it waits for the GPU.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._session: Session | None = None
        self._generation = 0
        self._info = ""
        self._loss = "no device was acquired"
        self._sources: dict[int, Source] = {}
        self._warming: list[int] = []
        self._flights: deque[Flight] = deque()
        self._last_flush = 0
        self._failures: list[Failure] = []
        self._serial = 0
        # By target; a copy ends with the promise of its read.
        self._reads: WeakValueDictionary[int, Readback] = WeakValueDictionary()
        self._counts: dict[str, int] = dict.fromkeys(COUNTED, 0)

    # -- The device -----------------------------------------------------------------------------

    @promised
    def acquire(self, trial: str, counts: int) -> Generator[None, None, str]:
        yield
        if self._session is not None:
            return self._info
        try:
            session = Session(self._sources, self._counts)
        except AbsentError as error:
            return json.dumps({"ok": False, "reason": str(error)})
        answer = {
            "ok": True,
            "generation": self._generation + 1,
            "adapter": session.adapter,
            "features": sorted(session.features),
            "limits": session.limits,
            "wrong": _tried(session, self._sources, trial, counts) if trial else [],
            "choices": _kept_choices(session.adapter),
        }
        session.lock = self.lock  # not earlier: other threads must not see the trial
        self._info = json.dumps(answer)
        self._generation += 1
        self._session = session
        return self._info

    @promised
    def keepChoices(self, text: str) -> Generator[None, None, str]:
        yield
        if self._session is None:
            return self._loss
        try:
            path = _path_of_choices(self._session.adapter)
            if text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            return str(error)
        return ""

    @uninterruptible
    def loseDevice(self) -> None:
        with self.lock:
            if self._session is not None:
                self._end("the device was destroyed on request")

    def _end(self, reason: str) -> None:
        """Release the device after its loss."""
        session, self._session = self._session, None
        self._loss = reason
        self._flights.clear()
        self._record([_failure(UNCAPTURED, "lost", reason)])
        if session is not None:
            session.release()

    # -- Pipelines ------------------------------------------------------------------------------

    def definePipeline(
        self, number: int, wgsl: str, label: str, buffers: int, writable: int, is_foreign: bool
    ) -> None:
        self.dropPipeline(number)
        # naga supports subgroups, but rejects this directive.
        wgsl = wgsl.replace("enable subgroups;\n", "")
        self._sources[number] = Source(wgsl, label, buffers, writable, is_foreign)

    @uninterruptible
    def dropPipeline(self, number: int) -> None:
        with self.lock:
            if self._session is not None:
                self._session.drop_pipeline(number)
            self._sources.pop(number, None)

    def warm(self, number: int) -> None:
        self._warming.append(number)

    @promised
    def warmed(self) -> Generator[None, None, str]:
        yield
        numbers, self._warming = self._warming, []
        if self._session is not None:
            self._session.compile_all(numbers)
        return ""

    # -- Flushing -------------------------------------------------------------------------------

    @uninterruptible
    def flush(
        self, commands: int, words: int, table: int, block: int, nbytes: int, number: int
    ) -> int:
        with self.lock:
            session = self._session
            if session is None:
                return 0
            self._counts["flushes"] += 1
            stream: list[int] = ffi.unpack(ffi.cast("uint32_t *", commands), words)
            try:
                session.replay(stream, ffi.cast("uint32_t *", table), block, nbytes)
            except Exception as error:
                self._record([_thrown(number, error)])
                return -1
            else:
                self._last_flush = number
                return 1 + len(self._flights)
            finally:
                checks, session.checks = session.checks, []
                self._flights.append(Flight(number, session.submitted, checks))
                if session.errors:
                    self._record(self._errors(session, number))

    def lastFlush(self) -> int:
        return self._last_flush

    @promised
    def allocate(self, number: int, nbytes: int, slices: int) -> Generator[None, None, str]:
        session = self._session
        if session is None:
            failures = [self._lost()]
        else:
            session.make_buffer(number, nbytes, slices)
            failures = self._errors(session, OF_THIS_CALL)
            if failures and not session.is_over:
                session.destroy_buffer(number)
        yield
        return json.dumps(failures[0]) if failures else ""

    # -- Waiting --------------------------------------------------------------------------------

    @promised
    def read(
        self, number: int, offset: int, nbytes: int, target: int
    ) -> Generator[None, None, str]:
        readback, failures = None, list[Failure]()
        session = self._session
        if session is not None:
            self._counts["reads"] += 1
            try:
                readback = self._reads[target] = session.fetch(number, offset, nbytes)
            except Exception as error:
                error.add_note(f"buffer {number}")
                failures.append(_thrown(OF_THIS_CALL, error))
            if session.errors:
                failures += self._errors(session, OF_THIS_CALL)
        yield
        if readback is not None and not failures and session is self._session:
            try:
                readback.write_to(ffi.cast("char *", target), nbytes)
            except StreamError as error:
                failures.append(_thrown(OF_THIS_CALL, error))
        return self._outcome(session, failures)

    def isReading(self, target: int) -> bool:
        return target in self._reads  # false, too, if nobody waits for the read any more

    @promised
    def synchronize(self) -> Generator[None, None, str]:
        session = self._session
        yield
        return self._outcome(session, [])

    @promised
    def drain(self, flush: int) -> Generator[None, None, str]:
        session = self._session
        yield
        self._land(session, flush)
        return self.failures()

    @uninterruptible
    def is_idle(self) -> bool:
        with self.lock:
            return self._session is None or self._session.is_idle()

    def _land(self, session: Session | None, last: float = float("inf")) -> None:
        """Wait until the flushes up to number `last` are done, and read their checks."""
        if session is None or session is not self._session:
            return
        landing = [flight for flight in self._flights if flight.flush <= last]
        if landing and landing[-1].submission > session.completed:
            session.wait(landing[-1].submission)
        for flight in landing:
            # Another thread may have been faster, or the device may have been lost.
            if self._flights and self._flights[0] is flight:
                self._flights.popleft()
                for check in flight.checks:
                    self._read_check(flight.flush, check)
        if session.errors:
            self._record(self._errors(session, UNCAPTURED))

    def _read_check(self, flush: int, check: Readback) -> None:
        try:
            noted = [[index, word] for index, word in enumerate(check.numbers()) if word]
        except StreamError as error:
            self._record([_thrown(flush, error)])
            return
        if noted and not any(failure["flush"] == flush for failure in self._failures):
            self._record([_failure(flush, OUT_OF_RANGE, json.dumps(noted))])

    # -- Failures -------------------------------------------------------------------------------

    def failures(self) -> str:
        return json.dumps(self._failures) if self._failures else ""

    @uninterruptible
    def forgetFailures(self, serial: int) -> None:
        with self.lock:
            self._failures = [f for f in self._failures if f["serial"] > serial]

    def _record(self, failures: list[Failure]) -> None:
        for failure in failures:
            self._serial += 1
            self._failures.append({**failure, "serial": self._serial})

    def _errors(self, session: Session, flush: int) -> list[Failure]:
        """Return the device's errors since the last call, as failures of a flush."""
        errors = session.take_errors()
        if session is self._session and any(error["kind"] == "lost" for error in errors):
            self._end(errors[0]["message"])
        return [self._explained(error, flush) for error in errors if error["kind"] != "lost"]

    def _explained(self, error: Failure, flush: int) -> Failure:
        source = next((s for s in self._sources.values() if s.label == error["label"]), None)
        if "line" in error and source is not None:
            number = error["line"]
            error["lineText"] = "".join(source.wgsl.splitlines()[number - 1 : number])
        return {**error, "flush": flush}

    def _lost(self) -> Failure:
        return _failure(OF_THIS_CALL, "lost", self._loss)

    def _outcome(self, session: Session | None, failures: list[Failure]) -> str:
        """Wait for all flushes; return the outcome of a wait that began in `session`.

        `failures` are its own.
        """
        self._land(session)
        is_lost = session is None or session is not self._session
        failures = [*self._failures, *([self._lost()] if is_lost else failures)]
        return json.dumps(failures) if failures else ""

    # -- Painting -------------------------------------------------------------------------------

    def canPaint(self) -> bool:
        return False

    def paint(self, number: int, stride: int, width: int, height: int) -> Promise[Any]:
        raise NotImplementedError("no canvas is available here")

    # -- Reports --------------------------------------------------------------------------------

    def startTimer(self) -> bool:
        session = self._session
        if session is None or "timestamp-query" not in session.features:
            return False
        session.timer = Timer(session)
        return True

    @promised
    def stopTimer(self) -> Generator[None, None, str]:
        session = self._session
        timer = None if session is None else session.timer
        if session is not None:
            session.timer = None
        yield
        return json.dumps([] if timer is None else timer.collect())

    @uninterruptible
    def stats(self) -> str:
        with self.lock:
            session = self._session
            sizes = (0,) * len(SIZES) if session is None else session.sizes()
            is_lost = session is None and self._generation > 0
            counts = {"generation": self._generation, "inFlight": len(self._flights)}
            counts |= dict(zip(SIZES, sizes, strict=True)) | self._counts
            return json.dumps({"isLost": is_lost, **counts})


def _path_of_choices(adapter: dict[str, Any]) -> Path:
    """Return the file for the choices of `pt.tune()` for an adapter, in the user's cache folder."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    identity = json.dumps(adapter, sort_keys=True).encode()
    name = f"choices-{hashlib.sha256(identity).hexdigest()[:16]}.json"
    return (Path(folder) if folder else Path.home() / ".cache") / "py_tensor" / name


def _kept_choices(adapter: dict[str, Any]) -> str | None:
    try:
        return _path_of_choices(adapter).read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):  # missing, not text, no home directory
        return None


def _tried(session: Session, sources: dict[int, Source], wgsl: str, count: int) -> list[int]:
    """Run the trial kernel and return its counts; empty if it does not compile or run."""
    create = plan.CREATE, TRIAL, -(-count // 4) * 16, 0
    dispatch = plan.DISPATCH, TRIAL, 0, 0, TRIAL_WORKGROUPS, 1, 1, 1, 0
    sources[TRIAL] = Source(wgsl, "trial", 1, 1, is_foreign=False)
    session.replay((*create, *dispatch), [TRIAL], 0, 0)
    counted = session.fetch(TRIAL, 0, 4 * count).numbers()
    session.drop_pipeline(TRIAL)
    session.destroy_buffer(TRIAL)
    del sources[TRIAL]
    return [] if session.take_errors() else counted


def _failure(flush: int, kind: str, message: str, label: str = "") -> Failure:
    return {"flush": flush, "kind": kind, "label": label, "message": message}


def _thrown(flush: int, error: Exception) -> Failure:
    kind = "validation" if isinstance(error, StreamError) else "exception"
    [label, *_] = getattr(error, "__notes__", [""])
    return _failure(flush, kind, str(error), label)


# -- The command stream ---------------------------------------------------------------------------


class Source(NamedTuple):
    """The source of a pipeline."""

    wgsl: str
    label: str
    buffers: int
    writable: int
    is_foreign: bool


class Pipeline(NamedTuple):
    """A compiled pipeline."""

    source: Source
    layout: Any
    handle: Any


class Ranges(dict[int, Range]):
    """Buffers and slices by id."""

    def __missing__(self, number: int) -> Range:
        raise LookupError(f"buffer {number} does not exist")


class Session(Device):
    """A device with its buffers, pipelines and bind groups, which executes commands.

    Attributes
    ----------
    checks : list of Readback
        The checks of the current flush, to be read once it is done.
    timer : Timer, optional
        Set while dispatches are timed; each dispatch then has its own pass.
    """

    def __init__(self, sources: dict[int, Source], counts: dict[str, int]) -> None:
        super().__init__(counts)
        self.checks: list[Readback] = []
        self.timer: Timer | None = None
        # The copies that the last flush made for the next read: by buffer, offset and size.
        self._ahead: dict[tuple[int, int, int], Readback] = {}
        self._most = self.limits["maxComputeWorkgroupsPerDimension"]
        self._slices: dict[int, int] = {}  # id of a buffer -> its number of slices
        self._ranges = Ranges()
        self._sources = sources
        self._layouts: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._pipelines: dict[int, Pipeline] = {}
        # Keys are the pipeline, the size of the parameters and the ids of the buffers.
        self._groups: dict[tuple[int, ...], Any] = {}
        self._users: dict[int, set[tuple[int, ...]]] = {}  # buffer id -> keys of its bind groups
        self._params = Range(self.create_buffer(plan.PARAM_WINDOW, "parameters"), 0, 0)
        self._table: Any = None  # of the ids of buffers, and the block of host data
        self._block = self._block_size = 0
        self._start = self._end = 0  # the part of the block that is in the uniform buffer
        self._in_pass: Pipeline | None = None
        self._offset = ffi.new("uint32_t[1]")

    def sizes(self) -> tuple[int, ...]:
        """Return how much of `SIZES` it has."""
        nbytes = sum(self._ranges[number].size for number in self._slices)
        staging = len(self.staging), sum(staging.size for staging in self.staging)
        return len(self._slices), nbytes, *staging, len(self._pipelines), len(self._groups)

    def replay(self, stream: Sequence[int], table: Any, block: int, size: int) -> None:
        """Execute commands and submit them.

        After an exception, unsubmitted commands are dropped, and only the CREATE and DESTROY
        commands in the rest of the stream are executed. The same buffers then exist as after a
        successful flush.
        """
        self._block, self._block_size, self._table = block, size, table
        self._start = self._end = 0
        self._ahead.clear()
        commands, method, operands = _commands(stream), None, [0]
        try:
            for method, operands in commands:
                method(self, *operands)
            method = None
            self.submit()
            # Mapped when the flush is done: reading them then needs no wait, which would release
            # the lock after the flush was taken from those in flight.
            for check in self.checks:
                check.map()
        except BaseException as error:
            self.abandon()
            self._ahead.clear()
            self.checks.clear()
            if method is Session.dispatch and operands[0] in self._sources:
                error.add_note(self._sources[operands[0]].label)
            for method, operands in commands:
                if method in (Session.make_buffer, Session.destroy_buffer):
                    method(self, *operands)
            raise

    def start(self) -> None:
        """Submit what is encoded if the GPU is idle."""
        if self.is_idle():
            self.submit()

    # -- Reading --------------------------------------------------------------------------------

    def fetch_ahead(self, position: int, size: int) -> None:
        number = self._table[position]
        self._ahead[number, 0, size] = Readback(self, self._ranges[number], 0, size)

    def check(self, position: int, size: int) -> None:
        self.checks.append(Readback(self, self._ranges[self._table[position]], 0, size))

    def fetch(self, number: int, offset: int, size: int) -> Readback:
        """Return a copy of a part of a buffer: the one made ahead if it matches, else a new one."""
        readback = self._ahead.pop((number, offset, size), None)
        if readback is None:
            readback = Readback(self, self._ranges[number], offset, size)
            self.submit()
        return readback

    # -- Dispatches -----------------------------------------------------------------------------

    def dispatch(
        self, number: int, offset: int, size: int, x: int, y: int, z: int, count: int, *bound: int
    ) -> None:
        """Encode a dispatch; `bound` has the positions of its buffers in the table."""
        pipeline = self._pipelines.get(number) or self._compile(number)
        if max(x, y, z) > self._most:
            limit = f"exceed the limit of {self._most} per dimension"
            raise StreamError(f"{x} x {y} x {z} workgroups {limit}")
        if count != pipeline.source.buffers:
            raise StreamError(f"the pipeline takes {pipeline.source.buffers} buffers, not {count}")
        if offset < self._start or offset + size > self._end:
            self._move_window(offset, size)
        key = (number, max(16, -(-size // 16) * 16), *[self._table[n] for n in bound])
        group = self._groups.get(key) or self._make_group(pipeline, key)
        if self.compute_pass is None or self.timer is not None:
            descriptor = ffi.NULL if self.timer is None else self.timer.next(number)
            self.compute_pass = lib.wgpuCommandEncoderBeginComputePass(
                self.outside_pass(), descriptor
            )
            self._in_pass = None
        if pipeline is not self._in_pass:
            lib.wgpuComputePassEncoderSetPipeline(self.compute_pass, pipeline.handle)
            self._in_pass = pipeline
        self._offset[0] = offset - self._start
        lib.wgpuComputePassEncoderSetBindGroup(self.compute_pass, 0, group, 1, self._offset)
        lib.wgpuComputePassEncoderDispatchWorkgroups(self.compute_pass, x, y, z)
        self.counts["dispatches"] += 1

    def _move_window(self, offset: int, size: int) -> None:
        """Write the parameters from an offset of the block on into the uniform buffer."""
        if offset + size > self._block_size or size > plan.PARAM_WINDOW:
            raise LookupError(f"the block has no parameters at {offset}")
        if self._end:
            self.submit()
        self._start, self._end = offset, min(self._block_size, offset + plan.PARAM_WINDOW)
        self.write(self._params, 0, self._block + offset, self._end - offset)

    def _make_group(self, pipeline: Pipeline, key: tuple[int, ...]) -> Any:
        _, size, *ids = key
        ranges = [self._ranges[number] for number in ids]
        _refuse_aliases(ids, ranges, pipeline.source.writable)
        ranges.append(Range(self._params.buffer, 0, size))
        group = self.create_bind_group(pipeline.layout, ranges, pipeline.source.label)
        if len(self._groups) >= MAX_BIND_GROUPS:
            self._drop_group(next(iter(self._groups)))
        self._groups[key] = group
        for number in ids:
            self._users.setdefault(number, set()).add(key)
        return group

    def _drop_group(self, key: tuple[int, ...]) -> None:
        self.free(self._groups.pop(key))
        for number in set(key[2:]):
            self._users[number].remove(key)
            if not self._users[number]:
                del self._users[number]

    # -- Pipelines ------------------------------------------------------------------------------

    def _compile(self, number: int) -> Pipeline:
        """Compile a pipeline; several threads may do so at a time."""
        source = self._sources.get(number)
        if source is None:
            raise LookupError(f"pipeline {number} is not defined")
        of_group, of_pipeline = self._layout(source)
        handle = self.create_pipeline(of_pipeline, source.wgsl, not source.is_foreign, source.label)
        pipeline = self._pipelines[number] = Pipeline(source, of_group, handle)
        self.counts["compiles"] += 1
        return pipeline

    def _layout(self, source: Source) -> tuple[Any, Any]:
        key = source.buffers, source.writable
        if key not in self._layouts:
            self._layouts[key] = self.create_layouts(*key)
        return self._layouts[key]

    def compile_all(self, numbers: Sequence[int]) -> None:
        """Compile pipelines in parallel; drop all after an error, so that a flush reports it.

        Not by `concurrent.futures`: a fork in another thread holds its lock while it waits for the
        device's, which this thread has.
        """
        new = [n for n in dict.fromkeys(numbers) if n in self._sources and n not in self._pipelines]
        for number in new:
            self._layout(self._sources[number])  # here, because threads would make it twice
        left = iter(new)

        def work() -> None:
            for number in left:  # which the threads share
                self._compile(number)

        threads = [Thread(target=work) for _ in range(min(len(new) - 1, os.cpu_count() or 1))]
        for thread in threads:
            thread.start()
        try:
            work()
        finally:
            for thread in threads:
                thread.join()
        if self.take_errors():
            for number in new:
                self.drop_pipeline(number)

    def drop_pipeline(self, number: int) -> None:
        pipeline = self._pipelines.pop(number, None)
        if pipeline is not None:
            for key in [key for key in self._groups if key[0] == number]:
                self._drop_group(key)
            self.free(pipeline.handle)

    # -- Buffers --------------------------------------------------------------------------------

    def make_buffer(self, number: int, size: int, slices: int) -> None:
        """Create a buffer, or a slab, whose slices have the ids after its own."""
        buffer = self.create_buffer(size, "storage", f"buffer {number}")
        self._slices[number] = slices
        self._ranges[number] = Range(buffer, 0, size)
        for n in range(slices):
            slice_size = size // slices
            self._ranges[number + 1 + n] = Range(buffer, n * slice_size, slice_size)

    def destroy_buffer(self, number: int) -> None:
        """Release a buffer and its slices, if it exists; encoded commands keep its memory."""
        if number not in self._slices:
            return
        self.free(self._ranges[number].buffer)
        for each in range(number, number + 1 + self._slices.pop(number)):
            del self._ranges[each]
            for key in list(self._users.get(each, ())):
                self._drop_group(key)

    def upload(self, number: int, offset: int, start: int, size: int) -> None:
        self.submit()  # queue writes take effect before all later submissions
        data: Any = self._block + start
        padded = -(-size // 4) * 4
        if padded > size:  # only whole words can be written
            data = bytes(ffi.buffer(ffi.cast("char *", data), size)).ljust(padded, b"\0")
        self.write(self._ranges[number], offset, data, padded)

    def fill(self, number: int, value: int, size: int) -> None:
        self.submit()
        pattern = array("I", [value]) * (min(size, FILLED_AT_ONCE) // 4)
        for offset in range(0, size, FILLED_AT_ONCE):
            count = min(FILLED_AT_ONCE, size - offset)
            self.write(self._ranges[number], offset, pattern, count)

    def clear(self, position: int, size: int) -> None:
        target = self._ranges[self._table[position]]
        encoder = self.outside_pass()
        lib.wgpuCommandEncoderClearBuffer(encoder, target.buffer, target.offset, size)


COMMANDS: dict[int, tuple[int, Callable[..., object]]] = {
    plan.CREATE: (4, Session.make_buffer),
    plan.DESTROY: (2, Session.destroy_buffer),
    plan.UPLOAD: (5, Session.upload),
    plan.DISPATCH: (8, Session.dispatch),  # and the positions of its buffers
    plan.FILL: (4, Session.fill),
    plan.SUBMIT: (1, Session.submit),
    plan.START: (1, Session.start),
    plan.FETCH: (3, Session.fetch_ahead),
    plan.CLEAR: (3, Session.clear),
    plan.CHECK: (3, Session.check),
}
"""Commands: the number of their words, and what executes them."""


def _commands(stream: Sequence[int]) -> Iterator[tuple[Callable[..., object], Sequence[int]]]:
    """Yield what executes each command of a stream, and its operands."""
    position = 0
    while position < len(stream):
        op = stream[position]
        if op not in COMMANDS:
            raise LookupError(f"unknown command {op}")
        words, method = COMMANDS[op]
        end = position + words + (stream[position + 7] if op == plan.DISPATCH else 0)
        yield method, stream[position + 1 : end]
        position = end


def _refuse_aliases(ids: Sequence[int], ranges: Sequence[Range], writable: int) -> None:
    """Raise if a dispatch binds one buffer twice and at least one binding is writable."""
    for i, one in enumerate(ranges):
        other = next(j for j, earlier in enumerate(ranges) if earlier.buffer == one.buffer)
        if other < i and (writable >> i | writable >> other) & 1:
            same = ids[other] == ids[i]
            what = f"buffer {ids[i]}" if same else f"the buffer of {ids[other]} and {ids[i]}"
            raise StreamError(f"{what} is bound at {other} and at {i}, and one of them is writable")
