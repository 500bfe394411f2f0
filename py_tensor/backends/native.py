"""The native bridge: WebGPU through wgpu-native, without a browser.

It receives the same commands and the same WGSL as `web/bridge` in a page. The work of a promise,
such as copying the bytes of a read, is done when it is waited for or awaited.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from py_tensor.backends.interrupts import released, uninterruptible
from py_tensor.backends.native_device import AbsentError, Device, ffi
from py_tensor.backends.native_session import Readback, Session, Source, StreamError, Timer
from py_tensor.runtime.failures import Failure
from py_tensor.runtime.plan import CREATE, DISPATCH

T = TypeVar("T")

UNATTRIBUTED, THIS_CALL = 0, -1  # flush numbers of failures that belong to no flush, to the call
TRIAL, TRIAL_WORKGROUPS = -1, 256  # the id of the trial's pipeline and buffer; its workgroups
COUNTED = "dispatches", "flushes", "submits", "compiles", "reads"
NO_SIZES = dict.fromkeys(
    ("buffers", "bufferBytes", "stagingBuffers", "stagingBytes", "pipelines", "bindGroups"), 0
)  # if there is no session
POLL_INTERVAL = 0.0005  # seconds, for a coroutine that awaits the GPU


@dataclass(eq=False)  # no slots: Python 3.12.3 forgets the one for weak references
class Promise(Generic[T]):
    """A result that is available once the GPU is done; await it, or block with `wait`.

    `lock` is the bridge's, which is held while the result is found.
    """

    lock: RLock
    find: Callable[[], T]
    is_ready: Callable[[], bool] = lambda: True

    @uninterruptible
    def wait(self, held: RLock | None = None) -> T:
        """Return the result; the lock `held` by this thread is released meanwhile."""
        with released(held), self.lock:
            return self.find()

    def __await__(self) -> Generator[Any, None, T]:
        yield  # as in a page, where a promise is never fulfilled immediately
        while not self.is_ready():
            yield from asyncio.sleep(POLL_INTERVAL).__await__()
        return self.wait()


@dataclass(frozen=True, slots=True)
class Flight:
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
        self._reads: WeakValueDictionary[int, Promise[str]] = WeakValueDictionary()  # by target
        self._counts: dict[str, int] = dict.fromkeys(COUNTED, 0)

    # -- The device -----------------------------------------------------------------------------

    def acquire(self, trial: str, counts: int) -> Promise[str]:
        return Promise(self.lock, lambda: self._acquired(trial, counts))

    def _acquired(self, trial: str, counts: int) -> str:
        if self._session is not None:
            return self._info
        try:
            device = Device()
        except AbsentError as error:
            return json.dumps({"ok": False, "reason": str(error)})
        session = Session(device, self._sources, self._counts)
        answer = {
            "ok": True,
            "generation": self._generation + 1,
            "adapter": device.adapter,
            "features": sorted(device.features),
            "limits": device.limits,
            "wrong": _tried(session, self._sources, trial, counts) if trial else [],
            "choices": _kept_choices(device.adapter),
        }
        device.lock = self.lock  # not earlier: other threads must not see the trial
        self._info = json.dumps(answer)
        self._generation += 1
        self._session = session
        return self._info

    def keepChoices(self, text: str) -> Promise[str]:
        return Promise(self.lock, lambda: self._outcome_of_keeping(text))

    def _outcome_of_keeping(self, text: str) -> str:
        if self._session is None:
            return self._loss
        try:
            path = _path_of_choices(self._session.device.adapter)
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
        self._record(_failure(UNATTRIBUTED, "lost", reason))
        if session is not None:
            session.end()

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

    def warmed(self) -> Promise[str]:
        return Promise(self.lock, self._warmed)

    def _warmed(self) -> str:
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
            session.ahead = None
            stream: list[int] = ffi.unpack(ffi.cast("uint32_t *", commands), words)
            try:
                session.replay(stream, ffi.cast("uint32_t *", table), block, nbytes)
            except Exception as error:
                self._record(_thrown(number, error))
                return -1
            else:
                self._last_flush = number
                return 1 + len(self._flights)
            finally:
                checks, session.checks = session.checks, []
                self._flights.append(Flight(number, session.device.submitted, checks))
                for failure in self._taken(session, number):
                    self._record(failure)

    def lastFlush(self) -> int:
        return self._last_flush

    @uninterruptible
    def allocate(self, number: int, nbytes: int, slices: int) -> Promise[str]:
        with self.lock:
            session = self._session
            if session is None:
                failures = [self._lost()]
            else:
                session.create_buffer(number, nbytes, slices)
                failures = self._taken(session, THIS_CALL)
                if failures and not session.is_over:
                    session.destroy_buffer(number)
        outcome = json.dumps(failures[0]) if failures else ""
        return Promise(self.lock, lambda: outcome)

    # -- Waiting --------------------------------------------------------------------------------

    @uninterruptible
    def read(self, number: int, offset: int, nbytes: int, target: int) -> Promise[str]:
        readback, failures = None, list[Failure]()
        with self.lock:
            session = self._session
            if session is not None:
                self._counts["reads"] += 1
                try:
                    readback = session.fetch(number, offset, nbytes)
                except Exception as error:
                    error.add_note(f"buffer {number}")
                    failures.append(_thrown(THIS_CALL, error))
                failures += self._taken(session, THIS_CALL)

        def deliver() -> str:
            nonlocal readback
            self._land(session)
            if readback is not None and not failures and session is self._session:
                try:
                    ffi.memmove(ffi.cast("char *", target), readback.arrived(), nbytes)
                except StreamError as error:
                    failures.append(_thrown(THIS_CALL, error))
            readback = None
            self._reads.pop(target, None)
            return self._outcome(session, failures)

        promise = self._reads[target] = Promise(self.lock, deliver, self._is_idle)
        return promise

    def isReading(self, target: int) -> bool:
        return target in self._reads  # false, too, if nobody waits for the read any more

    def synchronize(self) -> Promise[str]:
        session = self._session

        def settle() -> str:
            self._land(session)
            return self._outcome(session, [])

        return Promise(self.lock, settle, self._is_idle)

    def drain(self, flush: int) -> Promise[str]:
        session = self._session

        def settle() -> str:
            self._land(session, flush)
            return self.failures()

        return Promise(self.lock, settle, self._is_idle)

    @uninterruptible
    def _is_idle(self) -> bool:
        with self.lock:
            return self._session is None or self._session.device.is_idle()

    def _land(self, session: Session | None, last: float = float("inf")) -> None:
        """Wait until the flushes up to number `last` are done, and read their checks."""
        if session is None or session is not self._session:
            return
        landing = [flight for flight in self._flights if flight.flush <= last]
        if landing:
            session.device.wait(landing[-1].submission)
        for flight in landing:
            # Another thread may have been faster, or the device may have been lost.
            if self._flights and self._flights[0] is flight:
                self._flights.popleft()
                self._read_checks(flight)
        for failure in self._taken(session, UNATTRIBUTED):
            self._record(failure)

    def _read_checks(self, flight: Flight) -> None:
        for check in flight.checks:
            try:
                words = check.numbers()
            except StreamError as error:
                self._record(_thrown(flight.flush, error))
                continue
            noted = [[index, word] for index, word in enumerate(words) if word]
            if noted and not any(f["flush"] == flight.flush for f in self._failures):
                self._record(_failure(flight.flush, "index", json.dumps(noted)))

    # -- Failures -------------------------------------------------------------------------------

    def failures(self) -> str:
        return json.dumps(self._failures) if self._failures else ""

    @uninterruptible
    def forgetFailures(self, serial: int) -> None:
        with self.lock:
            self._failures = [f for f in self._failures if f["serial"] > serial]

    def _record(self, failure: Failure) -> None:
        self._serial += 1
        self._failures.append({**failure, "serial": self._serial})

    def _taken(self, session: Session, flush: int) -> list[Failure]:
        """Return the device's errors since the last call, as failures of a flush."""
        if not session.device.errors:
            return []
        errors = session.device.take_errors()
        if errors[0]["kind"] == "lost" and session is self._session:
            self._end(errors[0]["message"])
        return [self._explained(error, flush) for error in errors if error["kind"] != "lost"]

    def _explained(self, error: Failure, flush: int) -> Failure:
        source = next((s for s in self._sources.values() if s.label == error["label"]), None)
        if "line" in error and source is not None:
            number = error["line"]
            error["lineText"] = "".join(source.wgsl.splitlines()[number - 1 : number])
        return {**error, "flush": flush}

    def _lost(self) -> Failure:
        return _failure(THIS_CALL, "lost", self._loss)

    def _outcome(self, session: Session | None, failures: list[Failure]) -> str:
        """Return the outcome of a wait that began in `session`, with its own failures."""
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
        if session is None or "timestamp-query" not in session.device.features:
            return False
        session.timer = Timer(session)
        return True

    def stopTimer(self) -> Promise[str]:
        session = self._session
        if session is None or session.timer is None:
            return Promise(self.lock, lambda: "[]")
        timer, session.timer = session.timer, None
        return Promise(self.lock, lambda: json.dumps(timer.collect()))

    @uninterruptible
    def stats(self) -> str:
        with self.lock:
            session = self._session
            sizes = NO_SIZES if session is None else session.sizes()
            counts: dict[str, Any] = {
                "generation": self._generation,
                "isLost": session is None and self._generation > 0,
                "inFlight": len(self._flights),
            }
            return json.dumps(counts | sizes | self._counts)


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
    create = CREATE, TRIAL, -(-count // 4) * 16, 0
    dispatch = DISPATCH, TRIAL, 0, 0, TRIAL_WORKGROUPS, 1, 1, 1, 0
    sources[TRIAL] = Source(wgsl, "trial", 1, 1, is_foreign=False)
    session.replay((*create, *dispatch), [TRIAL], 0, 0)
    counted = session.fetch(TRIAL, 0, 4 * count).numbers()
    session.drop_pipeline(TRIAL)
    session.destroy_buffer(TRIAL)
    del sources[TRIAL]
    return [] if session.device.take_errors() else counted


def _failure(flush: int, kind: str, message: str, label: str = "") -> Failure:
    return {"flush": flush, "kind": kind, "label": label, "message": message}


def _thrown(flush: int, error: Exception) -> Failure:
    kind = "validation" if isinstance(error, StreamError) else "exception"
    [label, *_] = getattr(error, "__notes__", [""])
    return _failure(flush, kind, str(error), label)
