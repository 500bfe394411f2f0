"""The connection to the device: sending, waiting, reading back, errors and device loss."""

from __future__ import annotations

import json
from array import array
from collections.abc import Awaitable
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from py_tensor.base.errors import DeviceError, DeviceLostError
from py_tensor.base.layout import Layout
from py_tensor.codegen import trial
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.choices import kept_choices
from py_tensor.codegen.slabs import MIB
from py_tensor.ir.node import Node
from py_tensor.runtime.failures import (
    NONE,
    OUT_OF_RANGE,
    Failure,
    Ledger,
    Submission,
    error_of,
    parsed,
)
from py_tensor.runtime.host import host
from py_tensor.runtime.phases import Phase, Phases
from py_tensor.runtime.plan import DESTROY
from py_tensor.runtime.pool import Pool
from py_tensor.runtime.storage import Copies, Storage, Stored, picked
from py_tensor.schedule.body import Check

if TYPE_CHECKING:
    from py_tensor.runtime.bridge import Bridge

T = TypeVar("T")

MAX_BUFFERS = 16  # per kernel: more do not help, and the bridge stores one bit for each
CHECKED_ALLOCATION = 64 * MIB  # from this size on, wait for a new buffer and check that it exists
ADDRESSABLE = 2**32 - 16  # bytes: a size is one word of the command stream
OF_THIS_CALL = -1  # the flush number of a failure of the call itself


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
    """

    profile: AdapterProfile

    def __init__(self, bridge: Bridge, acquired: str) -> None:
        self.bridge = bridge
        self.lock = RLock()
        self.ledger = Ledger()
        self.phases = Phases()
        self.generation = 0
        self.flushes = 0
        self.record = self.unkept = self.unavailable = ""
        self._info: dict[str, Any] = {}
        self._lost_generation = -1
        self._targets: dict[int, tuple[array[int], int]] = {}  # address -> target and buffer id
        self._copies = Copies()
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
        limits = answer["limits"]
        largest = min(limits["maxBufferSize"], limits["maxStorageBufferBindingSize"], ADDRESSABLE)
        self.max_bytes: int = largest // 16 * 16
        again = (
            self._info.get("adapter") == answer["adapter"]
        )  # the same adapter as before the loss
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
        self.eager = None
        self.pool = Pool(limit=256 * MIB)
        self.checked_allocation = CHECKED_ALLOCATION
        self._info = answer
        self.generation: int = answer["generation"]

    def _adopt_choices(self, profile: AdapterProfile, record: str) -> None:
        choices = kept_choices(record, profile.software)
        self.record = record if choices else ""
        self.profile = profile.choosing(choices)

    def keep_choices(self, record: str) -> None:
        """Use the choices of a record ("" for the defaults), except for parameters already in use.

        Waits until the host has stored the record for later sessions, or says why it did not.
        """
        self._adopt_choices(self.profile, record)
        outcome = self._wait(self.bridge.keepChoices(record), "pt.tune()")
        if outcome == "interrupted":
            raise KeyboardInterrupt
        self.unkept = outcome

    @property
    def _is_lost(self) -> bool:
        """Whether the device is known to be lost, and its replacement is not in use yet.

        Nothing is sent in this state, even if the bridge already has a new device: while one task
        waits for it, other tasks run, and they still refer to buffers of the old one.
        """
        return self._lost_generation == self.generation

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
            acquired = await self._outcome(promise, "finding the GPU again", blocking)
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
        commands: array[int],
        table: array[int],
        block: array[int],
        sources: set[Submission],
        made: list[Storage],
        label: str = "",
        work: int = 0,
        checks: tuple[Check, ...] = (),
    ) -> bool:
        """Send one flush as a new submission, which owns the buffers in `made`.

        `table` has the ids of the buffers; dispatches refer to them by position. `block` has the
        parameters of dispatches, or the elements of an upload. `work` is the estimated number of
        instructions. `checks` are the index checks whose words CHECK reads. Returns False if the
        device is lost. Raises if the bridge stopped in the middle of the flush.
        """
        if self._is_lost:
            return False
        submission = self.ledger.submit(sources, label, work, checks)
        unneeded = self.pool.to_destroy()
        if unneeded:  # first, because the new buffers may need their memory
            commands = array("I", (w for number in unneeded for w in (DESTROY, number))) + commands
        count = len(commands)
        if count > len(self._arena):
            self._arena = array("I", [0]) * (2 * count)
        self._arena[:count] = commands
        flying = self.bridge.flush(
            self._arena.buffer_info()[0],
            count,
            table.buffer_info()[0],
            block.buffer_info()[0],
            block.itemsize * len(block),
            submission.number,
        )
        if flying:
            self.pool.destroyed(unneeded)
        if flying < 0:
            raise self._refusal(submission)
        if flying == 0:
            self._lost_generation = self.generation
            self.ledger.close(submission)
            return False
        self._note_sent(made, submission)
        self.flushes += 1
        return True

    def _note_sent(self, made: list[Storage], submission: Submission) -> None:
        """Record that the buffers of a flush exist and belong to its submission."""
        for storage in made:
            storage.buffer.exists = True
        for storage in made:
            storage.buffer.submission = submission

    def _refusal(self, submission: Submission) -> BaseException:
        """Return the error for a flush that the bridge aborted; its nodes stay pending."""
        self._note(parsed(self.bridge.failures()))
        self.ledger.close(submission)
        error, submission.error = submission.error, None
        return error or error_of({"message": "the flush failed in the bridge"})

    def _send_nothing(self) -> bool:
        """Send a flush that only destroys buffers; return False if the device is lost."""
        return self._send(array("I"), array("I"), array("I"), set(), [])

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
            return host.wait(promise, what, self.lock)
        finally:
            self.phases.enter(before)

    async def _outcome(self, promise: Awaitable[T], what: str, blocking: bool) -> T:
        """Return the value of a promise of the bridge; wait by blocking or by suspending."""
        return self._wait(promise, what) if blocking else await promise

    def synchronize(self) -> None:
        with self.lock:
            last = self.ledger.last
            host.check_can_wait("pt.synchronize()")
            self._settle(self._wait(self.bridge.synchronize(), "pt.synchronize()"), last)
            self.ledger.raise_out_of_range()

    async def synchronize_async(self) -> None:
        with self.lock:
            last, promise = self.ledger.last, self.bridge.synchronize()
        outcome = await promise
        with self.lock:
            self._settle(outcome, last)
            self.ledger.raise_out_of_range()

    def _slow_down(self) -> None:
        """If too much work is in flight, wait for the older half of the flushes."""
        under_way = self.ledger.unsettled
        if self.profile.is_crowded(under_way, self.ledger.work) and host.can_wait():
            last = self.ledger.last - under_way // 2
            self._settle(self._wait(self.bridge.drain(last), "pt.synchronize()"), last)

    def _settle(self, outcome: str, last: int, wanted: Submission = NONE) -> None:
        """Process the outcome of a wait for the flushes up to number `last`.

        Raises the error of `wanted` if it has one, otherwise a failure of the wait itself. The
        latter may only be a consequence of the former.
        """
        if outcome == "interrupted":
            raise KeyboardInterrupt
        failures = parsed(outcome)
        self._note(failures)
        self.ledger.settle(last)
        self.ledger.check(wanted)
        for failure in failures:
            if failure["flush"] == OF_THIS_CALL:
                raise error_of(failure)

    def _note(self, failures: list[Failure]) -> None:
        """Record failures. The bridge reports them again until this has completed."""
        if not failures:
            return
        self.ledger.report(failures)
        if any(failure["kind"] != OUT_OF_RANGE for failure in failures):
            self._drain_pool()  # pooled buffers of a failed flush may not exist
        if any(failure["kind"] == "out-of-memory" for failure in failures):
            self.checked_allocation = 0
            self._send_nothing()  # destroys the pooled buffers, to make room for the next attempt
        self.bridge.forgetFailures(self.ledger.reported)

    # -- Reading --------------------------------------------------------------------------------

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        with self.lock:
            data = self._on_host(node)
            if data is None:
                host.check_can_wait("reading a tensor")
                reading = self._start_read(node)
                data = self._end_read(reading, self._wait(reading.promise, "reading a tensor"))
        return data if layout is None else picked(data, layout, node.meta.dtype.itemsize)

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        with self.lock:
            data = self._on_host(node)
            reading = self._start_read(node) if data is None else None
        if reading is not None:
            outcome = await reading.promise
            with self.lock:
                data = self._end_read(reading, outcome)
        assert data is not None
        return data if layout is None else picked(data, layout, node.meta.dtype.itemsize)

    def _on_host(self, node: Node) -> memoryview | None:
        """Return the elements of a stored node if they are available without waiting."""
        if node.meta.size == 0:
            return memoryview(b"")
        storage: Stored = node.storage
        if storage.copy is None or self.ledger.has_checks:
            return None
        self._check_alive(storage)
        self.ledger.check(storage.buffer.submission)
        self.ledger.raise_out_of_range()
        return storage.copy

    def _start_read(self, node: Node) -> Reading:
        storage: Stored = node.storage
        self._check_alive(storage)
        self.ledger.check(storage.buffer.submission)
        # Keep the targets of interrupted or cancelled reads while the bridge may write to them.
        self._targets = {a: t for a, t in self._targets.items() if self.bridge.isReading(a)}
        target, number = array("B", bytes(node.meta.nbytes)), storage.number
        address = target.buffer_info()[0]
        self._targets[address] = target, number
        promise = self.bridge.read(number, 0, node.meta.nbytes, address)
        return Reading(storage, target, address, promise, self.ledger.last)

    def may_overwrite(self, node: Node) -> bool:
        """Return whether no other node shares a stored node's buffer, and no read is in progress.

        Such a read would report an error of the overwriting flush as its own.
        """
        storage: Stored = node.storage
        return isinstance(storage, Storage) and all(
            number != storage.number for _, number in self._targets.values()
        )

    def _end_read(self, reading: Reading, outcome: str) -> memoryview:
        self._targets.pop(reading.address, None)
        self._settle(outcome, reading.last, reading.storage.buffer.submission)
        data = memoryview(reading.target)
        self._copies.keep(reading.storage, data)  # `may_overwrite`: unchanged during the read
        self.ledger.raise_out_of_range()
        kept = reading.storage.copy
        return data if kept is None else kept  # read-only, since others read it too

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
            source, last = storage.buffer.submission, self.ledger.last
            self.ledger.check(source)
            promise = self.bridge.paint(storage.number, node.meta.shape[1], width, height)
        painted = await self._outcome(promise, "drawing a tensor", blocking)
        with self.lock:
            self._settle(painted.outcome, last, source)
            self.ledger.raise_out_of_range()
            return painted.bitmap
