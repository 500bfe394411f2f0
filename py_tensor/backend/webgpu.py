"""The webgpu device: plans, buffers, and one call into JavaScript per flush."""

from __future__ import annotations

import gc
import json
from array import array
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from py_tensor.backend import bridge as js
from py_tensor.backend.failures import NONE, Ledger, Submission, error_of, parsed
from py_tensor.backend.plan import CREATE, DESTROY, FILL, UPLOAD, Plan, make_plan
from py_tensor.backend.pool import MIB, Pool, size_class
from py_tensor.codegen.lower import lower
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Program, Programs
from py_tensor.codegen.rows import fits
from py_tensor.errors import DeviceError, DeviceLostError, DeviceReplacedError, DTypeError
from py_tensor.graph.build import schedule
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.order import Request
from py_tensor.graph.primitives import leaf_key
from py_tensor.graph.rows import fuse_rows

MAX_PLANS = 512
MAX_PIPELINES = 1024
MAX_BUFFERS = 16  # of one kernel: more are of no use, and the bridge has a bit for each
CHECKED_ALLOCATION = 64 * MIB  # from this size on, a new buffer is waited for and checked
OF_THIS_CALL = -1  # in a failure's place for the number of its flush
NAN_PATTERN = 0x7FC0DEAD  # what poisoned buffers hold: a NaN, and an unlikely integer


class Storage:
    """A buffer with the elements of one node; goes back to the pool with its last reference."""

    __slots__ = ("exists", "generation", "nbytes", "number", "pool", "submission")

    def __init__(self, number: int, nbytes: int, pool: Pool, generation: int, exists: bool) -> None:
        self.pool = pool
        self.number = number
        self.nbytes = nbytes
        self.generation = generation
        self.exists = exists  # False until the flush that creates the buffer came to its end
        self.submission: Submission = NONE

    def __del__(self) -> None:
        if hasattr(self, "submission"):  # else: interrupted in __init__
            sound = self.exists and self.submission.error is None
            (self.pool.released if sound else self.pool.abandoned).append(self.number)


def acquire() -> WebGPU:
    """The backend of the browser's GPU, waiting for the adapter."""
    bridge = js.load()
    return WebGPU(bridge, js.wait(bridge.acquire(), "finding the GPU"))


async def acquire_async() -> WebGPU:
    """The same, awaited."""
    bridge = js.load()
    return WebGPU(bridge, await bridge.acquire())


def _lost() -> DeviceLostError:
    return DeviceLostError("the GPU device was lost; its tensors are gone, new tensors work")


class WebGPU:
    """A backend over the JavaScript bridge, see `web/bridge/index.js` for the commands."""

    def __init__(self, bridge: Any, acquired: str) -> None:
        self.bridge = bridge
        self.programs = Programs()
        self.ledger = Ledger()
        self.sync_each_op = False
        self.poison = False
        self.planned = 0
        self.flushes = 0
        self._flying = 0
        self._abandoned_reads: list[array[int]] = []
        self._arena = array("I", [0]) * 4096
        self._set_up(acquired)

    def _set_up(self, acquired: str) -> None:
        if acquired == "interrupted":
            raise KeyboardInterrupt
        found = json.loads(acquired)
        if not found["ok"]:
            raise DeviceError(f"no WebGPU device: {found['reason']}")
        self._info = found
        self.generation: int = found["generation"]
        limits = found["limits"]
        self.max_bytes: int = min(limits["maxBufferSize"], limits["maxStorageBufferBindingSize"])
        self.profile = Profile(
            max_buffers=min(limits["maxStorageBuffersPerShaderStage"], MAX_BUFFERS),
            software=found["adapter"]["isFallbackAdapter"],
        )
        self.pending_work = self.profile.pending_work
        self.pool = Pool(limit=256 * MIB)
        self._plans: OrderedDict[tuple[int, ...], Plan] = OrderedDict()
        self._defined: OrderedDict[int, None] = OrderedDict()

    def info(self) -> dict[str, Any]:
        adapter, limits = self._info["adapter"], self._info["limits"]
        return {
            "backend": "webgpu",
            "adapter": adapter,
            "features": self._info["features"],
            "limits": limits,
            "generation": self.generation,
        }

    # -- Checks ---------------------------------------------------------------------------------

    def check(self, op: str, meta: Meta) -> None:
        """Raise where a tensor of this kind cannot be stored here."""
        if not meta.dtype.on_gpu:
            hint = "float32" if meta.dtype.kind == "f" else "int32"
            raise DTypeError(
                f"{op}: {meta.dtype} is not available on the webgpu device, "
                f"which computes in 32 bits; convert with dtype=pt.{hint}, or use device='cpu'"
            )
        nbytes = meta.size * meta.dtype.stored_itemsize
        if nbytes > self.max_bytes:
            raise MemoryError(
                f"{op}: {meta.dtype} of shape {meta.shape} needs {nbytes / 2**30:.2f} GiB; "
                f"the largest buffer of this device is {self.max_bytes / 2**30:.2f} GiB"
            )

    def _check_alive(self, storage: Storage) -> None:
        if storage.generation != self.generation:
            raise DeviceLostError(
                "this tensor was on a GPU device that has been lost; make it anew from its source"
            )

    # -- Data in and out ------------------------------------------------------------------------

    def upload(self, data: memoryview, meta: Meta) -> Storage:
        self.check("tensor", meta)
        nbytes = meta.size * meta.dtype.stored_itemsize
        source = array("B")
        source.frombytes(data)
        widen = int(meta.dtype.kind == "b")
        for attempt in range(2):
            self._ensure_large([nbytes])
            with self._books():
                storage = self._allocate([nbytes])[0]
                command = UPLOAD, storage.number, 0, *source.buffer_info(), widen
                commands = array("I", (*self._created(storage), *command))
                sent = self._send(commands, array("I"), set(), [storage])
            if sent:
                self._slow_down()
                return storage
            if not attempt:
                self._revive()
        raise _lost()

    def read(self, node: Node) -> memoryview:
        if node.meta.size == 0:
            return memoryview(b"")
        js.check_can_wait("reading a tensor")
        target, promise, last = self._start_read(node)
        with self._kept(target):
            outcome = js.wait(promise, "reading a tensor")
        self._settle(outcome, last)
        self.ledger.check(node.storage.submission)
        return memoryview(target)

    async def read_async(self, node: Node) -> memoryview:
        if node.meta.size == 0:
            return memoryview(b"")
        target, promise, last = self._start_read(node)
        with self._kept(target):
            outcome = await promise
        self._settle(outcome, last)
        self.ledger.check(node.storage.submission)
        return memoryview(target)

    def _start_read(self, node: Node) -> tuple[array[int], Any, int]:
        storage: Storage = node.storage
        self._check_alive(storage)
        self.ledger.check(storage.submission)
        target = array("B", bytes(node.meta.nbytes))
        stored = node.meta.size * node.meta.dtype.stored_itemsize
        narrow = int(node.meta.dtype.kind == "b")
        address = target.buffer_info()[0]
        promise = self.bridge.read(storage.number, 0, stored, address, narrow)
        return target, promise, self.ledger.last

    @contextmanager
    def _kept(self, target: array[int]) -> Generator[None, None, None]:
        """Keep the memory that JavaScript will write to, though nobody waits for it any more."""
        try:
            yield
        except BaseException:
            self._abandoned_reads.append(target)
            raise
        # Reads end in the order in which they began.
        self._abandoned_reads.clear()

    def synchronize(self) -> None:
        last = self.ledger.last
        js.check_can_wait("pt.synchronize()")
        self._settle(js.wait(self.bridge.synchronize(), "pt.synchronize()"), last)

    async def synchronize_async(self) -> None:
        last = self.ledger.last
        self._settle(await self.bridge.synchronize(), last)

    def _settle(self, outcome: str, last: int) -> None:
        """Note what a wait brought to light."""
        if outcome == "interrupted":
            raise KeyboardInterrupt
        self.ledger.report(outcome)
        self.ledger.settle(last)
        failures = parsed(outcome)
        if any(failure["kind"] == "out-of-memory" for failure in failures):
            self.empty_cache()  # what is pooled may not exist, and takes room if it does
        for failure in failures:
            if failure["flush"] == OF_THIS_CALL:
                raise error_of(failure)

    # -- Computing ------------------------------------------------------------------------------

    def compute(self, request: Request) -> None:
        plan = self._plan(request)
        storages: list[Storage] = [request.order[slot].storage for _, slot in plan.leaves]
        self._warm(plan.programs)
        self._ensure_large(plan.allocations())
        # From here to the end of the flush nothing waits.
        for storage in storages:
            self._check_alive(storage)
        with self._books():
            sent = self._run(plan, request, storages)
        if not sent:
            if storages:  # what would be computed from a lost device's tensors is lost with them
                raise _lost()
            self._revive()
            raise DeviceReplacedError
        self._slow_down()
        if self.sync_each_op:
            self.synchronize()
            for slot in request.wanted:
                self.ledger.check(request.order[slot].storage.submission)

    def _run(self, plan: Plan, request: Request, leaves: list[Storage]) -> bool:
        """One flush; False where the device is lost. Until it is sent, nodes stay as they are."""
        made = self._allocate(plan.allocations())
        ids = [0] * plan.buffers
        for (buffer, _), storage in zip(plan.leaves, leaves, strict=True):
            ids[buffer] = storage.number
        numbers = [n for n, _, _ in plan.outputs] + [n for n, _ in plan.temporaries]
        for buffer, storage in zip(numbers, made, strict=True):
            ids[buffer] = storage.number
        self._define(plan.programs)
        new = made if self.poison else [storage for storage in made if not storage.exists]
        commands = array("I", (word for storage in new for word in self._created(storage)))
        commands.extend(plan.filled(ids))
        params = (
            plan.patched([node.attrs for node in request.order]) if plan.consts else plan.params
        )
        results = made[: len(plan.outputs)]
        if not self._send(commands, params, {s.submission for s in leaves}, made):
            return False
        for (_, slot, _), storage in zip(plan.outputs, results, strict=True):
            node = request.order[slot]
            # In this order: a node with storage is a leaf whatever else it holds.
            node.storage = storage
            node.key = leaf_key(node.meta)
            node.inputs = ()
        return True

    def _revive(self) -> None:
        """Go on with a new device after a loss."""
        self.bridge.takeFailures()
        acquired = js.wait(self.bridge.acquire(), "finding the GPU again")
        if acquired != "interrupted" and json.loads(acquired).get("generation") == self.generation:
            return  # somebody else, waiting too, has done it
        self._set_up(acquired)

    def _plan(self, request: Request) -> Plan:
        signature = request.signature()
        plan = self._plans.get(signature)
        if plan is None:
            for slot in request.wanted:
                self.check(request.order[slot].op.name, request.order[slot].meta)
            self.planned += 1
            most = self.profile.max_buffers
            kernels = schedule(request, most)
            kernels = fuse_rows(kernels, request.wanted, most, fits(self.profile))
            lowered = lower(kernels, self.profile, self.programs)
            work = self.profile.submit_work
            plan = self._plans[signature] = make_plan(request, lowered, work, work)
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(signature)
        return plan

    def _warm(self, programs: list[Program]) -> None:
        """Compile the new ones of a plan side by side; the flush would do it one by one."""
        new = [program for program in programs if program.number not in self._defined]
        if len(new) < 2 or not js.can_wait():
            return
        self._define(new)
        for program in new:
            self.bridge.warm(program.number)
        if js.wait(self.bridge.warmed(), "compiling kernels") == "interrupted":
            raise KeyboardInterrupt

    def _define(self, programs: list[Program]) -> None:
        """Make programs known to the bridge; those used least recently are dropped past a bound."""
        for program in programs:
            if program.number in self._defined:
                self._defined.move_to_end(program.number)
            else:
                self.bridge.definePipeline(
                    program.number, program.wgsl, program.label, program.buffers, program.writable
                )
                self._defined[program.number] = None
        while len(self._defined) > max(MAX_PIPELINES, len(programs)):
            self.bridge.dropPipeline(self._defined.popitem(last=False)[0])

    # -- Buffers --------------------------------------------------------------------------------

    def _allocate(self, sizes: list[int]) -> list[Storage]:
        """Buffers from the pool, or new ones that `_created` makes in the same flush."""
        self.pool.collect()
        return [self._take(n) for n in sizes]

    def _take(self, nbytes: int) -> Storage:
        number = self.pool.take(nbytes)
        if number is not None:
            return Storage(number, nbytes, self.pool, self.generation, exists=True)
        number = self.pool.new_id()
        self.pool.adopt(number, nbytes)
        return Storage(number, nbytes, self.pool, self.generation, exists=False)

    def _created(self, storage: Storage) -> tuple[int, ...]:
        """The commands that make a buffer there, and poison it where that was asked for."""
        size = self._size(storage.nbytes)
        create = () if storage.exists else (CREATE, storage.number, size)
        return (*create, FILL, storage.number, NAN_PATTERN, size) if self.poison else create

    def _size(self, nbytes: int) -> int:
        """Bytes of the buffer for `nbytes`: a size class, unless only the exact size fits."""
        return size_class(nbytes) if size_class(nbytes) <= self.max_bytes else -(-nbytes // 16) * 16

    def _ensure_large(self, sizes: list[int]) -> None:
        """Make large buffers that the pool lacks at once, and wait for each.

        So running out of memory is known here, where everything can still be tried again.
        """
        if max(sizes, default=0) < CHECKED_ALLOCATION or not js.can_wait():
            return
        large = sorted(size_class(n) for n in sizes if n >= CHECKED_ALLOCATION)
        for position, size in enumerate(large):
            self.pool.collect()
            same = large[: position + 1].count(size)
            if not self.pool.has(size, same):
                self._create_checked(size)

    def _create_checked(self, size: int) -> None:
        """A pooled buffer of this size, made now; empties the pool and tries again if need be."""
        for attempt in range(2):
            number = self.pool.new_id()
            try:
                promise = self.bridge.allocate(number, self._size(size))
                outcome = js.wait(promise, "allocating GPU memory")
            except BaseException:
                self.pool.doom(number)
                raise
            if outcome == "interrupted":
                self.pool.doom(number)
                raise KeyboardInterrupt
            if not outcome:
                self.pool.adopt(number, size)
                self.pool.released.append(number)
                self.pool.collect()
                return
            failure = json.loads(outcome)
            if failure["kind"] == "lost":
                return  # the flush will find out, and go on with a new device
            if failure["kind"] != "out-of-memory":
                raise error_of(failure)
            if attempt:
                raise MemoryError(
                    f"the GPU has no room for a buffer of {size / 2**20:.0f} MiB"
                    f" ({self.pool.live_bytes / 2**20:.0f} MiB in use)"
                )
            self.empty_cache()

    def _send(
        self,
        commands: array[int],
        params: array[int],
        sources: set[Submission],
        made: list[Storage],
    ) -> bool:
        """One call into JavaScript; the buffers made for it belong to a new submission.

        False where the device is lost. Raises for a flush that failed halfway.
        """
        submission = self.ledger.submit(sources)
        doomed = self.pool.doomed()
        for number in doomed:
            commands.extend((DESTROY, number))
        count = len(commands)
        if count > len(self._arena):
            self._arena = array("I", [0]) * (2 * count)
        self._arena[:count] = commands
        flying = self.bridge.flush(
            self._arena.buffer_info()[0],
            count,
            params.buffer_info()[0],
            4 * len(params),
            submission.number,
        )
        if flying:
            self.pool.destroyed(doomed)
        if flying < 0:
            raise self._refusal(submission)
        if flying == 0:
            self.ledger.close(submission)
            return False
        for storage in made:
            storage.exists = True
        for storage in made:
            storage.submission = submission
        self.flushes += 1
        self._flying = flying
        return True

    def _slow_down(self) -> None:
        """Wait for some flushes to end where many are in flight."""
        most = self.profile.max_in_flight
        if (
            self._flying > most
            and js.can_wait()
            and js.wait(self.bridge.drain(most // 2), "pt.synchronize()") == "interrupted"
        ):
            raise KeyboardInterrupt

    @contextmanager
    def _books(self) -> Generator[None, None, None]:
        """Keep the pool's books whatever happens inside, an interrupt above all."""
        try:
            yield
        except BaseException:
            alive = (x for x in gc.get_objects() if type(x) is Storage and hasattr(x, "submission"))
            self.pool.reconcile({x.number for x in alive if x.pool is self.pool})
            raise

    def _refusal(self, submission: Submission) -> BaseException:
        """Why JavaScript threw in the middle of a flush; its nodes stay pending."""
        reported = self.bridge.takeFailures()
        self.ledger.report(reported)
        self.ledger.close(submission)
        error, submission.error = submission.error, None
        return error or error_of({"message": "the flush failed in JavaScript"})

    # -- Reports --------------------------------------------------------------------------------

    def memory_info(self) -> dict[str, int]:
        self.pool.collect()
        stats = json.loads(self.bridge.stats())
        return {
            "live_buffers": self.pool.live_buffers,
            "live_bytes": self.pool.live_bytes,
            "pooled_buffers": self.pool.pooled_buffers,
            "pooled_bytes": self.pool.pooled_bytes,
            "pool_limit": self.pool.limit,
            "peak_bytes": self.pool.peak_bytes,
            "device_buffers": stats["buffers"],
            "device_bytes": stats["bufferBytes"],
            "staging_bytes": stats["stagingBytes"],
        }

    def stats(self) -> dict[str, int]:
        """Counts for tests and figures: dispatches, flushes, compiles, plans."""
        stats: dict[str, int] = json.loads(self.bridge.stats())
        return stats | {
            "planned": self.planned,
            "plans": len(self._plans),
            "programs": len(self.programs),
        }

    def empty_cache(self) -> None:
        self.pool.collect()
        self.pool.drain()
        if self.pool.doomed():
            self._send(array("I"), array("I"), set(), [])
