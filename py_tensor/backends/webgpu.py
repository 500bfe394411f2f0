"""The webgpu device: plans, buffers, and one call of the bridge per flush."""

from __future__ import annotations

import json
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from py_tensor.base.errors import DeviceError, DeviceLostError, DTypeError, StaleRequestError
from py_tensor.codegen import trial
from py_tensor.codegen.adapter_profile import AdapterProfile, Choices, tuning_parameters
from py_tensor.codegen.lower import Lowered, assembled, lower_each
from py_tensor.codegen.program import LoweredKernel, Program, Programs
from py_tensor.codegen.rows import fits
from py_tensor.codegen.slabs import Kind, size_class
from py_tensor.ir import program as graph
from py_tensor.ir.bind import set_storage
from py_tensor.ir.node import Meta, Node, Notes
from py_tensor.runtime.connection import Connection, request_device
from py_tensor.runtime.failures import Failure, error_of
from py_tensor.runtime.host import host
from py_tensor.runtime.plan import (
    CREATE,
    FETCH,
    FILL,
    UPLOAD,
    Measure,
    Plan,
    largest_temporary,
    make_plan,
)
from py_tensor.runtime.pool import Slice, Storage, Stored, Submission
from py_tensor.schedule.kernel import Budget, Kernel
from py_tensor.schedule.loops import last_iteration
from py_tensor.schedule.order import OVERWRITTEN_BYTES, Request
from py_tensor.schedule.passes import Schedule, schedules

if TYPE_CHECKING:
    from py_tensor.runtime.bridge import Bridge

MAX_PLANS = 512  # the least recently used ones are dropped
MAX_FORMS = 4096  # keys of programs whose form is known; a full table is cleared
FETCHED_BYTES = 1 << 16  # results up to this size are copied for reading by their own flush
MAX_PIPELINES = 1024
VARIES = -2  # ends the keys of plans whose constants may differ between iterations of a loop
NAN_PATTERN = 0x7FC0DEAD  # the content of poisoned buffers: a NaN, or an unlikely integer
NO_WORDS = array("I")


def acquire(index: int) -> WebGPU:
    """Wait for an adapter, and return the backend of the GPU."""
    bridge = host.load_bridge(index)
    return WebGPU(bridge, host.wait(request_device(bridge), "finding the GPU"))


def _lost() -> DeviceLostError:
    return DeviceLostError("the GPU device was lost; its tensors are gone, but new tensors work")


@dataclass(slots=True)
class Timed:
    """The results of `start_timing` and `stop_timing`.

    Attributes
    ----------
    dispatches : list of Measure
        The dispatches in execution order.
    times : list of (Measure, begin, end)
        The dispatches that the GPU timed, in ns since the first began.
    compiles : list of (Program, ns)
        The time that each new kernel took to compile, including the wait.
    """

    dispatches: list[Measure] = field(default_factory=list[Measure])
    times: list[tuple[Measure, int, int]] = field(default_factory=list[tuple[Measure, int, int]])
    compiles: list[tuple[Program, int]] = field(default_factory=list[tuple[Program, int]])


class WebGPU(Connection):
    """A backend over a bridge; `web/bridge/stream.js` documents the commands."""

    def __init__(self, bridge: Bridge, acquired: str) -> None:
        self.programs = Programs()
        self.sync_each_op = False
        self.poison = False
        self.wgsl = False
        self.planned = self.recalled = 0  # plans made, and plans found in the cache
        self._timed: Timed | None = None  # set while dispatches are timed
        self._plans: OrderedDict[tuple[int, ...], Plan] = OrderedDict()  # by the program's form
        self._forms: dict[tuple[int, ...], tuple[int, ...]] = {}  # by the program's key
        self._defined: OrderedDict[int, None] = OrderedDict()
        super().__init__(bridge, acquired)

    def _set_up(self, answer: dict[str, Any]) -> None:
        self._plans.clear()  # plans depend on the adapter
        super()._set_up(answer)
        self.programs.take(self.profile.implementations)

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        self.sync_each_op = sync
        self.poison = poison
        self.wgsl = wgsl

    def info(self) -> dict[str, Any]:
        with self.lock:
            described = {"backend": "webgpu", "generation": self.generation}
            if self._is_lost or json.loads(self.bridge.stats())["isLost"]:
                lost = self.unavailable or "the next tensor requests a new device"
                return described | {"lost": lost}
            choices = self.profile.chosen.named()
            return described | {
                **{name: self._info[name] for name in ("adapter", "features", "limits")},
                "arithmetic": trial.described(self.profile.implementations),
                "tuned": bool(self.record),
                "choices": {n: choices[n] for n in tuning_parameters(self.profile.software)},
            }

    def check(self, op: str, meta: Meta) -> None:
        """Raise if a tensor of this dtype and shape cannot be stored here."""
        if not meta.dtype.on_gpu:
            instead = "complex64" if meta.dtype.is_complex else "float32"
            raise DTypeError(
                f"{op}: {meta.dtype} is not available on the webgpu device; "
                f"use pt.{instead} or device='cpu'"
            )
        nbytes = meta.size * meta.dtype.itemsize
        if nbytes > self.max_bytes:
            raise self._too_large(f"{op}: {meta.dtype} of shape {meta.shape}", nbytes)

    def _too_large(self, what: str, nbytes: int) -> MemoryError:
        needs, largest = (f"{n / 2**30:.2f} GiB" for n in (nbytes, self.max_bytes))
        if needs == largest:
            needs, largest = f"{nbytes} bytes", f"{self.max_bytes} bytes"
        return MemoryError(f"{what} needs {needs}; the largest buffer of this device is {largest}")

    # -- Uploading ------------------------------------------------------------------------------

    def upload(self, data: memoryview, meta: Meta) -> Storage:
        self.check("tensor", meta)
        with self.lock:
            storage = self._send_data(data, meta)
            if storage is None:
                self._revive()
                storage = self._send_data(data, meta)
            if storage is None:
                raise _lost()
            self._slow_down()
            if self.sync_each_op:
                self.synchronize()
                storage.buffer.submission.check()
        return storage

    def _send_data(self, data: memoryview, meta: Meta) -> Storage | None:
        """Upload elements to a buffer; return None if the device is lost."""
        kinds = [Kind(size_class(meta.nbytes))]
        source = array("B")
        source.frombytes(data)
        self._ensure_large(kinds)
        storage = self.pool.allocate(kinds)[0]
        command = UPLOAD, storage.number, 0, 0, len(source)
        commands = array("I", (*self._created(storage, self.poison), *command))
        submission = Submission(label="tensor")
        return storage if self._send(submission, commands, NO_WORDS, source, [storage]) else None

    # -- Computing ------------------------------------------------------------------------------

    def compute(self, request: Request) -> None:
        before = self.phases.enter("submitting")
        try:
            plan = self._plan(request.program)
            request.last_iteration = plan.last_iteration
            self.carry_out(plan, request, poison=self.poison)
        finally:
            self.phases.enter(before)

    def carry_out(self, plan: Plan, request: Request, *, poison: bool) -> None:
        """Run the plan of a request; with `poison`, fill its buffers with NaN first.

        The caller holds the lock.
        """
        nodes = request.program.nodes
        storages: list[Stored] = [nodes[slot].storage for slot in plan.leaves]
        pending = [node for node in nodes if node.storage is None]
        generation = self.generation
        new = self._define(plan.programs)
        waited = bool(new) and self._compile_ahead(new)
        if plan.largest >= self.checked_allocation:
            waited |= self._ensure_large([*plan.slabs, *plan.kinds])
        # Nothing waits from here to the first submit; other tasks may have run before.
        for storage in storages:
            self._check_alive(storage)
        if waited:
            computed = any(node.storage is not None for node in pending)
            if computed or self.generation != generation:
                raise StaleRequestError(is_smaller=computed)
            self._define(plan.programs)
        sent = self._run(plan, request, storages, poison)
        if not sent:
            if storages:  # results computed from a lost device's tensors are lost too
                raise _lost()
            self._revive()
            raise StaleRequestError(is_smaller=False)
        self._slow_down()
        if self.sync_each_op:
            self.synchronize()
            for slot in request.program.outputs:
                nodes[slot].storage.buffer.submission.check()

    def _run(self, plan: Plan, request: Request, leaves: list[Stored], poison: bool) -> bool:
        """Run one flush; return False if the device is lost. Nodes change only after it is sent."""
        nodes = request.program.nodes
        made = self.pool.allocate([*plan.slabs, *plan.kinds])
        slabs, buffers = made[: len(plan.slabs)], made[len(plan.slabs) :]
        slices = [
            Slice(slab, position)
            for slab, kind in zip(slabs, plan.slabs, strict=True)
            for position in range(kind.slices)
        ]
        table = array("I", [x.number for x in (*leaves, *slabs, *slices, *buffers)])
        # The buffers after the outputs are temporaries.
        results: list[tuple[int, Stored]] = [*zip(plan.slices, slices, strict=True)]
        results += zip(plan.outputs, buffers, strict=False)
        new = made if poison else [storage for storage in made if not storage.buffer.exists]
        created = array("I", (word for storage in new for word in self._created(storage, poison)))
        params = plan.patched(nodes)
        commands = created + plan.commands
        if (slot := request.read) is not None and slot in plan.positions:
            nbytes = nodes[slot].meta.nbytes
            fetch = FETCH, plan.positions[slot], nbytes
            commands.extend(fetch if nbytes <= FETCHED_BYTES else ())
        cuts = [len(created) + cut for cut in plan.cuts] if plan.cuts and host.can_wait() else []
        sources = {s.buffer.submission for s in leaves}
        number = self.last + 1
        for _, leaf in plan.replaced:
            nodes[leaf].storage.copy = None
        try:
            if cuts:
                sent = self._send_in_parts(plan, commands, cuts, table, params, sources, made)
            else:
                submission = Submission(sources, plan.label, plan.work, plan.checks)
                sent = self._send(submission, commands, table, params, made)
            if not sent:
                return False
            if self._timed is not None:
                self._timed.dispatches.extend(plan.dispatches)
            self._note_results(plan, nodes, results)
        except BaseException:
            # Interrupted. Overwritten leaves cannot be computed again, so keep the results.
            if plan.replaced and self.bridge.lastFlush() >= number:
                self._note_sent(made, self.unsettled[self.last])
                self._note_results(plan, nodes, results)
            raise
        return True

    def _note_results(
        self, plan: Plan, nodes: Sequence[Node], results: list[tuple[int, Stored]]
    ) -> None:
        """Set the storage of the nodes that a flush computes; repeating this has no effect."""
        for slot, leaf in plan.replaced:
            storage = nodes[leaf].storage
            storage.buffer.submission = self.unsettled[self.last]
            set_storage(nodes[slot], storage)
        for slot, storage in results:
            set_storage(nodes[slot], storage)

    def _send_in_parts(
        self,
        plan: Plan,
        commands: array[int],
        cuts: list[int],
        table: array[int],
        params: array[int],
        sources: set[Submission],
        made: list[Storage],
    ) -> bool:
        """Send long work in parts, because an interrupt can only drop what is not sent yet.

        Other tasks may run in between. If the device is lost meanwhile, the remaining parts are not
        sent to its replacement.
        """
        generation, work = self.generation, plan.work // (len(cuts) + 1)
        for start, end in pairwise((0, *cuts, len(commands))):
            if start:
                self._slow_down()
                if self.generation != generation:
                    return False
            is_last = end == len(commands)
            submission = Submission(sources, plan.label, work, plan.checks if is_last else ())
            if not self._send(submission, commands[start:end], table, params, made):
                return False
            sources = {submission}
        return True

    def _plan(self, program: graph.Program) -> Plan:
        form = self._forms.get(program.key)
        if form is None:
            if len(self._forms) >= MAX_FORMS:
                self._forms.clear()
            form = self._forms[program.key] = program.form
        plan = self._plans.get(form)
        constants_differ = plan is not None and bool(plan.equal) and not plan.holds(program.nodes)
        if constants_differ:
            form = (*form, VARIES)
            plan = self._plans.get(form)
        if plan is None:
            for slot in program.outputs:
                self.check(program.nodes[slot].op.name, program.nodes[slot].meta)
            self.planned += 1
            before = self.phases.enter("planning")
            try:
                plan = self._plans[form] = self.plan_for(
                    self.profile, program, constants_differ=constants_differ
                )
                plan.last_iteration = last_iteration(program)
            finally:
                self.phases.enter(before)
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        else:
            self.recalled += 1
            self._plans.move_to_end(form)
        return plan

    def plan_for(
        self, profile: AdapterProfile, program: graph.Program, *, constants_differ: bool = False
    ) -> Plan:
        """Make a plan for a program with the choices of `profile`; see `schedules`."""
        for candidate in self._schedules(profile, program, constants_differ=constants_differ):
            plan = self._plan_of(profile, program, candidate)
            if plan is not None:
                return plan
        raise AssertionError("the last schedule has kernels for all nodes")

    def kernels_of(self, program: graph.Program) -> tuple[list[Kernel], Notes]:
        """Return the kernels that compute a program, in order, and why values are stored."""
        candidate = next(self._schedules(self.profile, program))
        return candidate.all_kernels(), candidate.all_notes()

    def _schedules(
        self, profile: AdapterProfile, program: graph.Program, *, constants_differ: bool = False
    ) -> Iterator[Schedule]:
        budget = Budget(profile.max_buffers, self.max_bytes)
        return schedules(program, budget, fits(profile), constants_differ=constants_differ)

    def has_planned(self, program: graph.Program) -> bool:
        """Return whether the plan of a program is known."""
        return program.form in self._plans

    def _plan_of(
        self, profile: AdapterProfile, program: graph.Program, candidate: Schedule
    ) -> Plan | None:
        """Return the plan of a schedule; None if lowering makes a difference between iterations."""
        work = profile.submit_work
        # If a later part failed, the next attempt would need leaves already overwritten.
        for overwrites in (True, False):
            lowered = self._lowered(profile, candidate, overwrites=overwrites)
            if lowered is None:
                return None
            nbytes, label = largest_temporary(program, lowered)
            if nbytes > self.max_bytes:
                raise self._too_large(f"{label}: an intermediate result", nbytes)
            plan = make_plan(program, lowered, work, work, profile.dispatch_work)
            plan.equal = candidate.equal
            if not plan.replaced or plan.is_submitted_at_once:
                return plan
        raise AssertionError("a plan overwrites leaves although it must not")

    def _lowered(
        self, profile: AdapterProfile, candidate: Schedule, *, overwrites: bool
    ) -> Lowered | None:
        """Lower kernels, which may overwrite temporaries, and with `overwrites` also leaves."""
        overwritable = overwritable_slots(candidate.planned, candidate.kernels, leaves=overwrites)
        kernels, checks = lower_each(candidate.kernels, profile, self.programs, overwritable)
        if candidate.repeated is not None:
            lost = [[over for _, over in kernel.replaced] for kernel in kernels]
            repeats = candidate.repeated.repeats(kernels, LoweredKernel.with_slots)
            if not repeats or not candidate.repeated.check_dependencies(candidate.kernels, lost):
                return None
            kernels = candidate.repeated.applied(kernels, LoweredKernel.with_slots)
        return assembled(kernels, checks)

    def _compile_ahead(self, new: list[Program]) -> bool:
        """Compile new programs in the background; return whether it waited for that.

        The flush itself would compile them one by one, in the browser's GPU process, and the page
        would freeze.
        """
        if not host.can_wait():
            return False
        # When compiling is timed, one after the other.
        for batch in [new] if self._timed is None else [[program] for program in new]:
            begin = perf_counter_ns()
            for program in batch:
                self.bridge.warm(program.number)
            self._wait(self.bridge.warmed(), "compiling kernels", "compiling")
            if self._timed is not None:
                self._timed.compiles.append((batch[0], perf_counter_ns() - begin))
        return True

    def _define(self, programs: list[Program]) -> list[Program]:
        """Define programs in the bridge; return those that were not defined.

        Above a limit, the least recently used are dropped.
        """
        new: list[Program] = []
        for program in programs:
            if program.number in self._defined:
                self._defined.move_to_end(program.number)
                continue
            if self.wgsl:
                print(program.listing())
            is_foreign = program.family == "custom"
            layout = program.buffers, program.writable, is_foreign
            self.bridge.definePipeline(program.number, program.wgsl, program.label, *layout)
            self._defined[program.number] = None
            new.append(program)
        while len(self._defined) > max(MAX_PIPELINES, len(programs)):
            self.bridge.dropPipeline(self._defined.popitem(last=False)[0])
        return new

    # -- Buffers --------------------------------------------------------------------------------

    def _created(self, storage: Storage, poison: bool) -> tuple[int, ...]:
        """Return the commands that create a missing buffer, and with `poison` fill it."""
        size, slices = self._size(storage)
        create = () if storage.buffer.exists else (CREATE, storage.number, size, slices)
        return (*create, FILL, storage.number, NAN_PATTERN, size) if poison else create

    def _size(self, storage: Storage) -> tuple[int, int]:
        """Return the bytes of a buffer, limited by the device, and its number of slices.

        The size depends on the kind only, so all buffers of a kind are interchangeable.
        """
        kind = self.pool.kind_of(storage.number)
        return min(kind.nbytes, self.max_bytes), kind.slices

    def _ensure_large(self, kinds: Sequence[Kind]) -> bool:
        """Create large buffers that the pool lacks, wait for each, and return whether it waited.

        Running out of memory is thus detected here, where everything can still be retried.
        """
        large = [kind for kind in kinds if kind.nbytes >= self.checked_allocation]
        if not large or self._is_lost or not host.can_wait():
            return False
        for position, kind in enumerate(large):
            self.pool.collect()
            if not self.pool.has(kind, large[: position + 1].count(kind)):
                self._create_checked(kind)
        return True

    def _create_checked(self, kind: Kind) -> None:
        """Create a pooled buffer of this kind; on failure, empty the pool and try once more."""
        for attempt in range(2):
            failure = self._create(kind)
            self.pool.collect()
            if failure is None or failure["kind"] == "lost":
                return  # the flush will detect the loss and get a new device
            if failure["kind"] != "out-of-memory":
                raise error_of(failure)
            self.checked_allocation = 0
            if not attempt:
                self.empty_cache()
        raise MemoryError(
            f"the GPU has no room for a buffer of {kind.nbytes / 2**20:.0f} MiB"
            f" ({self.pool.live_bytes / 2**20:.0f} MiB in use)"
        )

    def _create(self, kind: Kind) -> Failure | None:
        """Create a buffer and leave it to the pool, or return the failure."""
        storage = Storage(self.pool, self.pool.new(kind), exists=False)
        self.pool.handed_over()
        promise = self.bridge.allocate(storage.number, *self._size(storage))
        outcome = self._wait(promise, "allocating GPU memory")
        storage.buffer.exists = not outcome
        return json.loads(outcome) if outcome else None

    # -- Reports --------------------------------------------------------------------------------

    def start_timing(self) -> None:
        """Time every dispatch and every compilation of a kernel from now on."""
        with self.lock:
            if self._timed is not None:
                raise DeviceError("profile: another profile is running")
            if not self.bridge.startTimer():
                raise DeviceError("profile: this adapter does not support timestamp queries")
            self._timed = Timed()

    def stop_timing(self) -> Timed:
        """Return what was timed since `start_timing`.

        Dispatches above a limit of the bridge, and those of a lost device, are left out.
        """
        with self.lock:
            timed, self._timed = self._timed or Timed(), None
            times: list[tuple[int, int, int]] = json.loads(
                self._wait(self.bridge.stopTimer(), "pt.profile()")
            )
        timed.times = [
            (measure, begin, end)
            for measure, (program, begin, end) in zip(timed.dispatches, times, strict=False)
            if measure.program.number == program
        ]
        return timed

    def memory_info(self) -> dict[str, int]:
        with self.lock:
            self.pool.collect()
            stats = json.loads(self.bridge.stats())
            pool = self.pool
        return {
            "live_buffers": pool.live_buffers,
            "live_bytes": pool.live_bytes,
            "pooled_buffers": pool.pooled_buffers,
            "pooled_bytes": pool.pooled_bytes,
            "pool_limit": pool.limit,
            "peak_bytes": pool.peak_bytes,
            "device_buffers": stats["buffers"],
            "device_bytes": stats["bufferBytes"],
            "staging_bytes": stats["stagingBytes"],
        }

    def stats(self) -> dict[str, int]:
        """Return counts for tests and reports: dispatches, flushes, compiles, plans."""
        stats: dict[str, int] = json.loads(self.bridge.stats())
        return stats | {
            "planned": self.planned,
            "recalled": self.recalled,
            "plans": len(self._plans),
            "programs": len(self.programs),
        }


class Candidate:
    """A backend that shares a webgpu device but lowers kernels with its own choices, to try them.

    It keeps its plans separate from the session's, and does not mark any parameter as used there.

    Attributes
    ----------
    times : int
        The number of times that it runs the plan of each request.
    poison : bool
        Fill buffers with NaN before a plan runs.
    """

    def __init__(self, backend: WebGPU, choices: Choices) -> None:
        self.times = 1
        self.poison = False
        self._backend = backend
        self._profile = backend.profile.trying(choices)
        self._plans: dict[tuple[int, ...], Plan] = {}

    def __getattr__(self, name: str) -> Any:
        """Return what it shares with the webgpu device."""
        return getattr(self._backend, name)

    def runs(self) -> list[tuple[Any, ...]]:
        """Return the commands and parameters of its plans, for comparison."""
        return [(plan.commands, plan.params) for plan in self._plans.values()]

    def compute(self, request: Request) -> None:
        with self._backend.lock:
            program = request.program
            plan = self._plans.get(program.key)
            if plan is None or not plan.holds(program.nodes):
                plan = self._plans[program.key] = self._backend.plan_for(self._profile, program)
            self._backend.carry_out(plan.repeated(self.times), request, poison=self.poison)

    def info(self) -> dict[str, Any]:
        return self._backend.info() | {"choices": self._profile.chosen.named()}

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Do nothing: these settings belong to the session."""


def overwritable_slots(
    program: graph.Program, kernels: Iterable[Kernel], *, leaves: bool
) -> dict[int, int]:
    """Return the bytes of the slots that kernels may overwrite: temporaries, and leaves on request.

    Small buffers are only overwritten by kernels that write a part of them; these would need one
    more dispatch for a copy.
    """
    bases = set[int]().union(*(kernel.bases() for kernel in kernels))
    return {
        slot: node.meta.nbytes
        for slot, node in enumerate(program.nodes)
        if (node.meta.nbytes >= OVERWRITTEN_BYTES or slot in bases)
        and (
            (leaves and slot in program.overwritable)
            or (node.storage is None and slot not in program.outputs)
        )
    }
