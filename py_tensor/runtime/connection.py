"""The connection to the device: sending, waiting, reading back, errors and device loss."""

from __future__ import annotations

import json
import warnings
from array import array
from collections import deque
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from itertools import product
from threading import RLock, get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import ref

from py_tensor.base.dtypes import typed
from py_tensor.base.errors import DeviceError, DeviceLostError
from py_tensor.base.layout import Layout
from py_tensor.codegen import trial
from py_tensor.codegen.adapter_profile import AdapterProfile, kept_choices
from py_tensor.codegen.slabs import MIB
from py_tensor.ir.node import Node
from py_tensor.runtime.failures import (
    OF_THIS_CALL,
    OUT_OF_RANGE,
    UNCAPTURED,
    Failure,
    error_of,
    out_of_range,
)
from py_tensor.runtime.host import host
from py_tensor.runtime.plan import DESTROY
from py_tensor.runtime.pool import COPIED_BYTES, Pool, Storage, Stored, Submission

if TYPE_CHECKING:
    from py_tensor.runtime.bridge import Bridge

T = TypeVar("T")

MAX_BUFFERS = 16  # per kernel: more do not help, and the bridge stores one bit for each
CHECKED_ALLOCATION = 64 * MIB  # from this size on, wait for a new buffer and check that it exists
ADDRESSABLE = 2**32 - 16  # bytes: a size is one word of the command stream
MAX_COPIED = 1 << 24  # bytes of all copies on the host
MAX_IN_FLIGHT = 64  # flushes, however small
INVALID_OBJECTS = "[Invalid Buffer ", "[Invalid BindGroup "  # prefixes of such error messages

Phase = Literal["recording", "planning", "compiling", "submitting", "waiting"]
""""recording" is the default: it covers recording ops and everything else that Python does."""

PHASES: tuple[Phase, ...] = ("recording", "planning", "compiling", "submitting", "waiting")


class Phases:
    """Nanoseconds spent in each phase; time in a nested phase counts only for that phase.

    One thread is measured: the one that creates the object.
    """

    def __init__(self) -> None:
        self._thread = get_ident()
        self._times = dict.fromkeys(PHASES, 0)
        self._current: Phase = "recording"
        self._since = perf_counter_ns()

    def times(self) -> dict[Phase, int]:
        """Return the times so far."""
        self.enter(self._current)
        return dict(self._times)

    def enter(self, phase: Phase) -> Phase:
        """Enter a phase; return the previous one, to enter again at its end."""
        before, now = self._current, perf_counter_ns()
        if get_ident() != self._thread:
            return before
        self._times[before] += now - self._since
        self._current, self._since = phase, now
        return before


@dataclass(frozen=True, slots=True)
class Reading:
    """A read in progress: its destination, and the last flush whose outcome it reports."""

    storage: Stored
    target: array[int]
    address: int
    promise: Awaitable[str]
    last: int


def request_device(bridge: Bridge) -> Awaitable[str]:
    """Return a promise of the current device, or of a new one after its trial."""
    return bridge.acquire(trial.source(), len(trial.CANDIDATES))


class Connection:
    """The current device, reached over the host's bridge (`bridge.py`); replaced after a loss.

    Attributes
    ----------
    generation : int
        The generation of the device; data stored on an earlier device is lost.
    max_bytes : int
        The largest size of a buffer, a multiple of 16 like every size.
    checked_allocation : int
        From this size on, wait for a new buffer and check it; 0 once memory has run out.
    record : str
        The stored tuning record of this adapter, as JSON; "" if it was not tuned.
    unkept : str
        Why the record could not be stored for later sessions; "" if it was.
    unavailable : str
        Why no other device was available after a loss; "" if none was requested without success.
    unsettled : dict
        The submissions whose outcome is not known yet, by number.
    work : int
        Their estimated number of instructions.
    last : int
        The number of the last submission.
    """

    profile: AdapterProfile

    def __init__(self, bridge: Bridge, acquired: str) -> None:
        self.bridge = bridge
        self.lock = RLock()
        self.phases = Phases()
        self.generation = self.last = self.work = 0
        self.unsettled: dict[int, Submission] = {}
        self.record = self.unkept = self.unavailable = ""
        self._info: dict[str, Any] = {}
        # Whether the device is known to be lost, and its replacement is not in use yet. Nothing is
        # sent in this state, even if the bridge already has a new device: while one task waits for
        # it, other tasks run, and they still refer to buffers of the old one.
        self._is_lost = False
        self._targets: dict[int, tuple[array[int], int]] = {}  # address -> target and buffer id
        self._copies: deque[tuple[ref[Stored], int]] = deque()  # with host copies, oldest first
        self._copied_bytes = 0
        self._reported = 0  # the serial number of the last recorded failure
        self._ran_out = False  # whether memory ever ran out
        self._out_of_range: list[str] = []  # messages not raised yet
        self._arena = array("I", [0]) * 4096
        self._adopt(acquired)

    # -- The device, and its loss ---------------------------------------------------------------

    def _adopt(self, acquired: str) -> None:
        """Switch to the acquired device, unless another task has done so while waiting."""
        if acquired == "interrupted":
            raise KeyboardInterrupt
        answer = json.loads(acquired)
        if not answer["ok"]:
            if not self.generation:
                raise DeviceError(f"no WebGPU device: {answer['reason']}")
            self.unavailable = answer["reason"]
            raise DeviceError(
                f"the GPU device was lost, and no other is available: {answer['reason']}. "
                "pt.set_default_device('cpu') switches to the cpu device"
            )
        self.unavailable = ""
        if answer["generation"] > self.generation:
            self._set_up(answer)

    def _set_up(self, answer: dict[str, Any]) -> None:
        """Switch to a new device. The generation is set last; until then, the old one is lost."""
        limits, generation = answer["limits"], answer["generation"]
        largest = min(limits["maxBufferSize"], limits["maxStorageBufferBindingSize"], ADDRESSABLE)
        self.max_bytes: int = largest // 16 * 16
        # Whether it is the adapter from before the loss.
        again = self._info.get("adapter") == answer["adapter"]
        before = self.profile if again else AdapterProfile()
        profile = AdapterProfile(
            max_buffers=min(limits["maxStorageBuffersPerShaderStage"], MAX_BUFFERS),
            software=answer["adapter"]["isFallbackAdapter"],
            workgroup_memory=limits["maxComputeWorkgroupStorageSize"],
            implementations=trial.passed(answer["wrong"]),
            choices=before.choices,
            used=before.used,
        )
        record = self.record if again else ""
        self._adopt_choices(profile, answer.get("choices") or record)
        self.pending_work = self.profile.pending_work
        self.ahead_work = self.profile.ahead_work
        self.read_work = self.profile.read_work
        self._few_flushes, self._light_work = self.profile.few_flushes, self.profile.light_work
        self.eager = None
        self.pool = Pool(limit=256 * MIB)
        self.checked_allocation = CHECKED_ALLOCATION
        self._info = answer
        # In one line: CPython raises interrupts at calls, and at ends of loops.
        self.generation, self._is_lost = generation, False

    def _adopt_choices(self, profile: AdapterProfile, record: str) -> None:
        choices = kept_choices(record, profile.software)
        self.record = record if choices else ""
        self.profile = profile.choosing(choices)

    def keep_choices(self, record: str) -> None:
        """Use the choices of a record ("" for the defaults), except for parameters already in use.

        Waits until the host has stored the record for later sessions, or says why it did not.
        """
        self._adopt_choices(self.profile, record)
        self.unkept = self._wait(self.bridge.keepChoices(record), "pt.tune()")

    @property
    def adapter(self) -> dict[str, Any]:
        """The identity of the adapter; also available after a loss."""
        return self._info["adapter"]

    async def revive(self, *, blocking: bool) -> None:
        """Replace the device if it is lost. Raises DeviceError if no device is available."""
        with self.lock:
            is_lost = not self._send_nothing()
        if is_lost:
            promise = request_device(self.bridge)
            acquired = self._wait(promise, "finding the GPU again") if blocking else await promise
            with self.lock:
                self._adopt(acquired)

    def _revive(self) -> None:
        """Switch to a new device after a loss."""
        self._adopt(self._wait(request_device(self.bridge), "finding the GPU again"))

    def is_lost(self, node: Node) -> bool:
        """Return whether the elements of a stored node were on a lost device."""
        return node.meta.size > 0 and (node.storage.pool is not self.pool or self._is_lost)

    def _check_alive(self, storage: Stored) -> None:
        if storage.pool is not self.pool or self._is_lost:
            raise DeviceLostError(
                "this tensor was on a GPU device that has been lost; create it again from its"
                " source"
            )

    # -- Sending --------------------------------------------------------------------------------

    def _send(
        self,
        submission: Submission,
        commands: array[int],
        table: array[int],
        block: array[int],
        made: Sequence[Storage],
    ) -> bool:
        """Send one flush as a new submission, which owns the buffers in `made`.

        `table` has the ids of the buffers; dispatches refer to them by position. `block` has the
        parameters of dispatches, or the elements of an upload. Returns False if the device is lost.
        Raises if the bridge stopped in the middle of the flush.
        """
        if self._is_lost:
            return False
        self.last = submission.number = self.last + 1
        submission.note_sources()
        self.unsettled[submission.number] = submission
        self.work += submission.work
        unneeded = self.pool.to_destroy()
        if unneeded:  # first, because the new buffers may need their memory
            commands = array("I", (w for number in unneeded for w in (DESTROY, number))) + commands
        count = len(commands)
        if count > len(self._arena):
            self._arena = array("I", [0]) * (2 * count)
        self._arena[:count] = commands
        stream = self._arena.buffer_info()[0], count
        data = block.buffer_info()[0], block.itemsize * len(block)
        flying = self.bridge.flush(*stream, table.buffer_info()[0], *data, submission.number)
        if unneeded and flying:
            self.pool.destroyed(unneeded)
        if flying < 0:
            raise self._refusal(submission)
        if flying == 0:
            self._is_lost = True
            self._close(submission)
            return False
        self._note_sent(made, submission)
        return True

    def _note_sent(self, made: Sequence[Storage], submission: Submission) -> None:
        """Record that the buffers of a flush exist and belong to its submission."""
        for storage in made:
            storage.buffer.exists = True
        for storage in made:
            storage.buffer.submission = submission

    def _close(self, submission: Submission) -> None:
        """Remove a submission that was not sent."""
        if self.unsettled.pop(submission.number, None) is not None:
            self.work -= submission.work
        submission.settled = True

    def _refusal(self, submission: Submission) -> BaseException:
        """Return the error for a flush that the bridge aborted; its nodes stay pending."""
        self._note(json.loads(self.bridge.failures() or "[]"))
        self._close(submission)
        error, submission.error = submission.error, None
        return error or error_of({"message": "the flush failed in the bridge"})

    def _send_nothing(self) -> bool:
        """Send a flush that only destroys buffers; return False if the device is lost."""
        return self._send(Submission(), array("I"), array("I"), array("I"), ())

    def empty_cache(self) -> None:
        with self.lock:
            self._drain_pool()
            if self.pool.to_destroy():
                self._send_nothing()

    def _drain_pool(self) -> None:
        self.pool.collect()
        self.pool.drain()

    # -- Waiting --------------------------------------------------------------------------------

    def _wait(self, promise: Awaitable[T], what: str, phase: Phase = "waiting") -> T:
        """Wait for a promise of the bridge, and return its value.

        The lock is released meanwhile: other threads and other tasks may use the device.
        """
        before = self.phases.enter(phase)
        try:
            value = host.wait(promise, what, self.lock)
        finally:
            self.phases.enter(before)
        if value == "interrupted":
            raise KeyboardInterrupt
        return value

    def synchronize(self) -> None:
        with self.lock:
            last, promise = self.last, self.bridge.synchronize()
            self._settle(self._wait(promise, "pt.synchronize()"), last)
            self._raise_out_of_range()

    async def synchronize_async(self) -> None:
        with self.lock:
            last, promise = self.last, self.bridge.synchronize()
        outcome = await promise
        with self.lock:
            self._settle(outcome, last)
            self._raise_out_of_range()

    def _slow_down(self) -> None:
        """If too much work is in flight, wait for the older half of the flushes."""
        under_way = len(self.unsettled)
        is_crowded = self.work > self._light_work or under_way > MAX_IN_FLIGHT
        if under_way > self._few_flushes and is_crowded and host.can_wait():
            last = self.last - under_way // 2
            self._settle(self._wait(self.bridge.drain(last), "pt.synchronize()"), last)

    def _settle(self, outcome: str, last: int, wanted: Submission | None = None) -> None:
        """Process the outcome of a wait for the flushes up to number `last`.

        Raises the error of `wanted` if it has one, otherwise a failure of the wait itself. The
        latter may only be a consequence of the former.
        """
        if outcome == "interrupted":
            raise KeyboardInterrupt
        failures: list[Failure] = json.loads(outcome) if outcome else []
        if failures:
            self._note(failures)
        for number in [n for n in self.unsettled if n <= last]:
            submission = self.unsettled.pop(number)
            submission.settled = True
            submission.note_sources()
        self.work = sum(submission.work for submission in self.unsettled.values())
        if wanted is not None:
            wanted.check()
        for failure in failures:
            if failure["flush"] == OF_THIS_CALL:
                raise error_of(failure)

    def _note(self, failures: list[Failure]) -> None:
        """Record failures. The bridge reports them again until this has completed."""
        new = [failure for failure in failures if failure.get("serial", 0) > self._reported]
        self._ran_out |= any(failure["kind"] == "out-of-memory" for failure in new)
        for failure in new:
            self._assign(failure)
        self._reported = max([self._reported, *(failure["serial"] for failure in new)])
        kinds = {failure["kind"] for failure in failures}
        if kinds - {OUT_OF_RANGE}:
            self._drain_pool()  # pooled buffers of a failed flush may not exist
        if "out-of-memory" in kinds:
            self.checked_allocation = 0
            self._send_nothing()  # destroys the pooled buffers, to make room for the next attempt
        self.bridge.forgetFailures(self._reported)
        for failure in new:  # last, because a filter may turn a warning into an exception
            if failure["flush"] == UNCAPTURED and failure["kind"] != "lost":
                warnings.warn(str(error_of(failure)), RuntimeWarning, stacklevel=4)

    def _assign(self, failure: Failure) -> None:
        """Record a failure of a submission.

        After memory ran out once, invalid buffers and bind groups are out of memory, too.
        """
        submission = self.unsettled.get(failure["flush"])
        if submission is None:
            return
        if failure["kind"] == OUT_OF_RANGE:
            words: list[tuple[int, int]] = json.loads(failure["message"])
            self._out_of_range += (submission.checks[n].message_of_bits(word) for n, word in words)
        elif submission.error is None:
            if self._ran_out and failure["message"].startswith(INVALID_OBJECTS):
                failure = failure | {"kind": "out-of-memory"}
            submission.error = error_of(failure, submission.label)

    def _raise_out_of_range(self) -> None:
        """Raise the error for the first recorded out-of-range index, and forget the others."""
        if self._out_of_range:
            message, self._out_of_range = self._out_of_range[0], []
            raise out_of_range(message)

    # -- Reading --------------------------------------------------------------------------------

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        with self.lock:
            data = self._start_read(node)
            if isinstance(data, Reading):
                data = self._end_read(data, self._wait(data.promise, "reading a tensor"))
        return data if layout is None else picked(data, layout, node.meta.dtype.itemsize)

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        with self.lock:
            data = self._start_read(node)
        if isinstance(data, Reading):
            outcome = await data.promise
            with self.lock:
                data = self._end_read(data, outcome)
        return data if layout is None else picked(data, layout, node.meta.dtype.itemsize)

    def _start_read(self, node: Node) -> Reading | memoryview:
        """Start to read a stored node; return its elements if they are known on the host."""
        if not node.meta.size:
            return memoryview(b"")
        storage: Stored = node.storage
        self._check_alive(storage)
        storage.buffer.submission.check()
        if storage.copy is not None and not any(s.checks for s in self.unsettled.values()):
            self._raise_out_of_range()
            return storage.copy
        # Keep the targets of interrupted or cancelled reads while the bridge may write to them.
        self._targets = {a: t for a, t in self._targets.items() if self.bridge.isReading(a)}
        target = array("B", bytes(node.meta.nbytes))
        address = target.buffer_info()[0]
        self._targets[address] = target, storage.number
        promise = self.bridge.read(storage.number, 0, node.meta.nbytes, address)
        return Reading(storage, target, address, promise, self.last)

    def may_overwrite(self, node: Node) -> bool:
        """Return whether no other node shares a stored node's buffer, and no read is in progress.

        Such a read would report an error of the overwriting flush as its own.
        """
        storage: Stored = node.storage
        return isinstance(storage, Storage) and all(
            number != storage.number for _, number in self._targets.values()
        )

    def _end_read(self, reading: Reading, outcome: str) -> memoryview:
        """Return the elements; small ones also stay on the host, in place of the oldest ones."""
        storage, data = reading.storage, memoryview(reading.target)
        self._targets.pop(reading.address, None)
        self._settle(outcome, reading.last, storage.buffer.submission)
        if data.nbytes <= COPIED_BYTES:
            data = data.toreadonly()  # others read it, too
            storage.copy = data  # `may_overwrite`: unchanged during the read
            self._copies.append((ref(storage), data.nbytes))
            self._copied_bytes += data.nbytes
        while self._copied_bytes > MAX_COPIED:
            oldest, nbytes = self._copies.popleft()
            self._copied_bytes -= nbytes
            if (held := oldest()) is not None:
                held.copy = None
        self._raise_out_of_range()  # last: the elements are right, if another flush had the index
        return data

    # -- Painting -------------------------------------------------------------------------------

    def can_paint(self) -> bool:
        """Return whether a buffer of pixels can become an image without a copy to the host."""
        return self.bridge.canPaint()

    async def paint(self, node: Node, width: int, height: int, *, blocking: bool) -> Any:
        """Return a JavaScript ImageBitmap of a node's uint32 pixels, in rows padded to 64.

        The bridge copies the pixels immediately, because they may be overwritten before the image
        is ready. Waits until the GPU is done, so that errors are raised here.
        """
        with self.lock:
            if blocking:
                host.check_can_wait("drawing a tensor")
            storage: Stored = node.storage
            self._check_alive(storage)
            source, last = storage.buffer.submission, self.last
            source.check()
            promise = self.bridge.paint(storage.number, node.meta.shape[1], width, height)
        painted = self._wait(promise, "drawing a tensor") if blocking else await promise
        with self.lock:
            self._settle(painted.outcome, last, source)
            self._raise_out_of_range()
            return painted.bitmap


def picked(data: memoryview, layout: Layout, itemsize: int) -> memoryview:
    """Return the elements that a layout selects from all elements, in row-major order."""
    if layout.size == 1:
        return data[layout.offset * itemsize : (layout.offset + 1) * itemsize]
    words = typed(data, {1: "B", 2: "H", 4: "I", 8: "Q"}[itemsize])
    *outer, (n, step) = zip(layout.shape, layout.strides, strict=True)
    lines = bytearray()
    for index in product(*(range(m) for m, _ in outer)):
        start = layout.offset + sum(i * s for i, (_, s) in zip(index, outer, strict=True))
        last = start + step * (n - 1)
        ends = last + 1 if step >= 0 else last - 1 if last else None
        lines += words[start : ends : step or 1].tobytes() * (1 if step else n)
    return memoryview(lines)
