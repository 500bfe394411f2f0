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
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import ref

from py_tensor.backends.interrupts import released, uninterruptible
from py_tensor.backends.native_device import AbsentError, Device, Error, ffi
from py_tensor.backends.native_session import (
    Readback,
    Session,
    Source,
    StreamError,
    Timer,
)
from py_tensor.runtime.plan import CREATE, DISPATCH

P = ParamSpec("P")
T = TypeVar("T")
Failure = dict[str, Any]

UNATTRIBUTED, THIS_CALL = 0, -1  # flush numbers of failures that belong to no flush, to the call
TRIAL, TRIAL_WORKGROUPS = -1, 256  # the id of the trial's pipeline and buffer; its workgroups
POLL_INTERVAL = 0.0005  # seconds, for a coroutine that awaits the GPU


class Promise(Generic[T]):
    """A result that is available once the GPU is done; await it, or block with `wait`.

    `lock` is the bridge's, which is held while the result is found.
    """

    __slots__ = ("__weakref__", "_find", "_is_ready", "_lock")

    def __init__(
        self, lock: RLock, find: Callable[[], T], is_ready: Callable[[], bool] = lambda: True
    ) -> None:
        self._lock = lock
        self._find = find
        self._is_ready = is_ready

    @uninterruptible
    def wait(self, held: RLock | None = None) -> T:
        """Return the result; the lock `held` by this thread is released meanwhile."""
        with released(held), self._lock:
            return self._find()

    @uninterruptible
    def _is_known(self) -> bool:
        with self._lock:
            return self._is_ready()

    def __await__(self) -> Generator[Any, None, T]:
        yield  # as in a page, where a promise is never fulfilled immediately
        while not self._is_known():
            yield from asyncio.sleep(POLL_INTERVAL).__await__()
        return self.wait()


@dataclass(frozen=True, slots=True)
class Flight:
    """A flush in flight, and the checks to read when it is done."""

    flush: int
    submission: int
    checks: list[Readback]


def exclusive(
    method: Callable[Concatenate[NativeBridge, P], T],
) -> Callable[Concatenate[NativeBridge, P], T]:
    """Decorate a method of the bridge: no other thread and no interrupt comes in between."""

    @uninterruptible
    @wraps(method)
    def exclusive_method(self: NativeBridge, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.lock:
            return method(self, *args, **kwargs)

    return exclusive_method


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
        self._reads: dict[int, ref[Promise[str]]] = {}  # by target
        self._counts = {"dispatches": 0, "flushes": 0, "submits": 0, "compiles": 0, "reads": 0}

    # -- The device -----------------------------------------------------------------------------

    def acquire(self, trial: str, counts: int) -> Promise[str]:
        return self._promise(lambda: self._acquired(trial, counts))

    def _promise(
        self, find: Callable[[], T], is_ready: Callable[[], bool] = lambda: True
    ) -> Promise[T]:
        return Promise(self.lock, find, is_ready)

    def _acquired(self, trial: str, counts: int) -> str:
        if self._session is None:
            try:
                device = Device(RLock())  # the trial's waits do not release the bridge's lock
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
            device.lock = self.lock
            self._info = json.dumps(answer)
            self._generation += 1
            self._session = session
        return self._info

    def keepChoices(self, text: str) -> Promise[str]:
        session = self._session

        def keep() -> str:
            if session is None:
                return self._loss
            try:
                path = _path_of_choices(session.device.adapter)
                if text:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                return str(error)
            return ""

        return self._promise(keep)

    @exclusive
    def loseDevice(self) -> None:
        if self._session is not None:
            self._end("the device was destroyed on request")

    def _end(self, reason: str) -> None:
        """Release the device after its loss."""
        session, self._session = self._session, None
        self._loss = reason
        self._flights.clear()
        self._record({"flush": UNATTRIBUTED, "kind": "lost", "label": "", "message": reason})
        if session is not None:
            session.end()

    # -- Pipelines ------------------------------------------------------------------------------

    @exclusive
    def definePipeline(
        self, number: int, wgsl: str, label: str, buffers: int, writable: int, is_foreign: bool
    ) -> None:
        self._drop_compiled(number)
        # naga supports subgroups, but rejects this directive.
        wgsl = wgsl.replace("enable subgroups;\n", "")
        self._sources[number] = Source(wgsl, label, buffers, writable, is_foreign)

    @exclusive
    def dropPipeline(self, number: int) -> None:
        self._drop_compiled(number)
        self._sources.pop(number, None)

    def _drop_compiled(self, number: int) -> None:
        if self._session is not None:
            self._session.drop_pipeline(number)

    def warm(self, number: int) -> None:
        self._warming.append(number)

    def warmed(self) -> Promise[str]:
        return self._promise(self._warmed)

    def _warmed(self) -> str:
        numbers, self._warming = self._warming, []
        if self._session is not None:
            self._session.compile_all(numbers)
        return ""

    # -- Flushing -------------------------------------------------------------------------------

    @exclusive
    def flush(
        self, commands: int, words: int, table: int, block: int, nbytes: int, number: int
    ) -> int:
        session = self._session
        if session is None:
            return 0
        self._counts["flushes"] += 1
        session.drop_ahead()
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

    @exclusive
    def allocate(self, number: int, nbytes: int, slices: int) -> Promise[str]:
        session = self._session
        if session is None:
            lost = json.dumps(self._lost())
            return self._promise(lambda: lost)
        session.create_buffer(number, nbytes, slices)
        failures = self._taken(session, THIS_CALL)
        if failures and not session.is_over:
            session.destroy_buffer(number)
        outcome = json.dumps(failures[0]) if failures else ""
        return self._promise(lambda: outcome)

    # -- Waiting --------------------------------------------------------------------------------

    @exclusive
    def read(self, number: int, offset: int, nbytes: int, target: int) -> Promise[str]:
        session = self._session
        if session is None:
            return self._promise(self._no_device)
        self._counts["reads"] += 1
        readback, failures = None, list[Failure]()
        try:
            readback = session.fetch(number, offset, nbytes)
        except Exception as error:
            failures.append({**_thrown(THIS_CALL, error), "label": f"buffer {number}"})
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

        promise = self._promise(deliver, self._is_idle)
        self._reads[target] = ref(promise)
        return promise

    @exclusive
    def isReading(self, target: int) -> bool:
        promise = self._reads.get(target)
        if promise is not None and promise() is None:  # nobody waits for it any more
            del self._reads[target]
        return target in self._reads

    def synchronize(self) -> Promise[str]:
        session = self._session
        if session is None:
            return self._promise(self._no_device)

        def settle() -> str:
            self._land(session)
            if session is self._session:
                session.device.wait(session.device.submitted)
            return self._outcome(session, [])

        return self._promise(settle, self._is_idle)

    def drain(self, flush: int) -> Promise[str]:
        session = self._session

        def settle() -> str:
            if session is not None:
                self._land(session, flush)
            return _report(self._failures)

        return self._promise(settle, self._is_idle)

    def _is_idle(self) -> bool:
        session = self._session
        return session is None or session.device.is_idle()

    def _land(self, session: Session, last: float = float("inf")) -> None:
        """Wait until the flushes up to number `last` are done, and read their checks."""
        if session is not self._session:
            return
        landing = [flight for flight in self._flights if flight.flush <= last]
        if landing:
            session.device.wait(landing[-1].submission)
        for flight in landing:
            if not self._flights or self._flights[0] is not flight:
                continue  # another thread was faster, or the device was lost
            self._flights.popleft()
            for check in flight.checks:
                try:
                    memory = ffi.cast("uint32_t *", check.arrived())
                except StreamError as error:
                    self._record(_thrown(flight.flush, error))
                    continue
                words: list[int] = ffi.unpack(memory, check.part[2] // 4)
                noted = [[index, word] for index, word in enumerate(words) if word]
                if noted and not any(f["flush"] == flight.flush for f in self._failures):
                    message = json.dumps(noted)
                    kind = "index"
                    self._record(
                        {"flush": flight.flush, "kind": kind, "label": "", "message": message}
                    )
        for failure in self._taken(session, UNATTRIBUTED):
            self._record(failure)

    # -- Failures -------------------------------------------------------------------------------

    @exclusive
    def failures(self) -> str:
        return _report(self._failures)

    @exclusive
    def forgetFailures(self, serial: int) -> None:
        self._failures = [failure for failure in self._failures if failure["serial"] > serial]

    def _record(self, failure: Failure) -> None:
        self._serial += 1
        self._failures.append({**failure, "serial": self._serial})

    def _taken(self, session: Session, flush: int) -> list[Failure]:
        """Return the device's errors since the last call, as failures of a flush."""
        errors = session.device.take_errors()
        if errors and errors[0].kind == "lost" and session is self._session:
            self._end(errors[0].message)
        return [self._explained(error, flush) for error in errors if error.kind != "lost"]

    def _explained(self, error: Error, flush: int) -> Failure:
        failure: Failure = {"flush": flush, "kind": error.kind, "label": error.label}
        failure["message"] = error.message
        source = next((s for s in self._sources.values() if s.label == error.label), None)
        if error.line and source is not None:
            lines = source.wgsl.splitlines()
            text = lines[error.line - 1] if error.line <= len(lines) else ""
            failure |= {"line": error.line, "lineText": text}
        return failure

    def _lost(self) -> Failure:
        return {"flush": THIS_CALL, "kind": "lost", "label": "", "message": self._loss}

    def _no_device(self) -> str:
        return _report([*self._failures, self._lost()])

    def _outcome(self, session: Session, failures: list[Failure]) -> str:
        """Return the outcome of a wait that began in `session`, with its own failures."""
        return _report(
            [*self._failures, *(failures if session is self._session else [self._lost()])]
        )

    # -- Painting -------------------------------------------------------------------------------

    def canPaint(self) -> bool:
        return False

    def paint(self, number: int, stride: int, width: int, height: int) -> Promise[Any]:
        raise NotImplementedError("no canvas is available here")

    # -- Reports --------------------------------------------------------------------------------

    @exclusive
    def startTimer(self) -> bool:
        session = self._session
        if session is None or "timestamp-query" not in session.device.features:
            return False
        session.timer = Timer(session)
        return True

    @exclusive
    def stopTimer(self) -> Promise[str]:
        session = self._session
        if session is None or session.timer is None:
            return self._promise(lambda: "[]")
        timer, session.timer = session.timer, None
        return self._promise(lambda: json.dumps(timer.collect()))

    @exclusive
    def stats(self) -> str:
        session = self._session
        counts: dict[str, Any] = {
            "generation": self._generation,
            "isLost": session is None and self._generation > 0,
            "inFlight": len(self._flights),
            **dict.fromkeys(("buffers", "bufferBytes", "stagingBuffers", "stagingBytes"), 0),
            **dict.fromkeys(("pipelines", "bindGroups"), 0),
            **self._counts,
        }
        if session is not None:
            counts |= {
                "buffers": len(session.buffers),
                "bufferBytes": sum(size for _, size, _ in session.buffers.values()),
                "stagingBuffers": session.staging.count,
                "stagingBytes": session.staging.size,
                "pipelines": len(session.pipelines),
                "bindGroups": len(session.groups),
            }
        return json.dumps(counts)


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
    memory = session.fetch(TRIAL, 0, 4 * count).arrived()
    counted: list[int] = ffi.unpack(ffi.cast("uint32_t *", memory), count)
    session.drop_pipeline(TRIAL)
    session.destroy_buffer(TRIAL)
    del sources[TRIAL]
    return [] if session.device.take_errors() else counted


def _thrown(flush: int, error: Exception) -> Failure:
    kind = "validation" if isinstance(error, StreamError) else "exception"
    label = error.__notes__[0] if getattr(error, "__notes__", None) else ""
    return {"flush": flush, "kind": kind, "label": label, "message": str(error)}


def _report(failures: list[Failure]) -> str:
    return json.dumps(failures) if failures else ""
