"""Devices: the interface of backends, and pending nodes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice
from threading import RLock
from typing import Any, Protocol
from weakref import WeakSet

from py_tensor.base.errors import DeviceError, DeviceLostError, StaleRequestError
from py_tensor.base.layout import Layout
from py_tensor.ir.node import RELEASED, Device, Eager, Meta, Node
from py_tensor.ir.primitives import sum_all
from py_tensor.ir.recording import RECORDINGS, is_recording
from py_tensor.runtime.host import host
from py_tensor.schedule.order import (
    Request,
    Uses,
    bottom,
    computed_whole,
    dependents,
    make_request,
    overwritable_leaves,
    topological,
)

MAX_PENDING_NODES = 1024
MAX_LATE_LOAD = 2.0  # the load at which a flush no longer waits for the end of a pass; normally 1
NEVER = 1 << 62
MAX_TRIES = 2  # attempts for a request whose device was lost while it waited
MAX_RELEASED = 16  # deleted tensors that are counted later, together, where that changes nothing
MAX_UPLOADED_BYTES = 1 << 28  # uploaded bytes that pending nodes may keep alive
MAX_LEFT_NODES = 16  # needed by an operand that a flush leaves pending
MAX_LOOKED_THROUGH = 16  # pending nodes that are scanned after even the smallest flush
AHEAD_INTERVAL = 16  # nodes, or equivalent work, between searches for results to compute ahead
NEWEST_KEPT = 16  # newest pending nodes, not computed ahead: the next op may still use them
MAX_AT_ONCE = 1 << 13  # largest op, in elements and elements visited, computed when recorded
MIN_AHEAD = 8  # results: computing fewer ahead takes the host longer than the GPU


class Backend(Protocol):
    """The capabilities of a device. It shares no semantics with other backends."""

    lock: RLock  # of its device; held while the backend works, and released while it waits
    max_bytes: int  # the size limit of a tensor
    pending_work: int  # compute pending ops when they visit this many elements
    ahead_work: int  # compute live results when they visit this many, while recording continues
    read_work: int  # reading a result takes about as long as sorting this many 32-bit integers

    @property
    def eager(self) -> Eager | None:
        """None if recording is cheaper than computing small ops at once."""
        ...

    def info(self) -> dict[str, Any]: ...
    def check(self, op: str, meta: Meta) -> None: ...
    def upload(self, data: memoryview, meta: Meta) -> Any: ...
    def compute(self, request: Request) -> None: ...
    def may_overwrite(self, node: Node) -> bool: ...
    def is_lost(self, node: Node) -> bool: ...
    def read(self, node: Node, layout: Layout | None = None) -> memoryview: ...
    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview: ...
    def synchronize(self) -> None: ...
    async def synchronize_async(self) -> None: ...
    def memory_info(self) -> dict[str, int]: ...
    def empty_cache(self) -> None: ...
    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None: ...


class LazyDevice(Device):
    """A device that computes by a backend what is recorded on it, as late as it pays.

    Nodes are recorded when they are made. They are computed when a result is read; when so much is
    pending that memory or latency would grow too far; and when many large results are live, so that
    the GPU has work while Python records more. These decisions depend on the graph only. If the
    backend computes small nodes immediately, those never become pending.

    Attributes
    ----------
    lock : RLock
        Held by the thread that computes or reads, and released while it waits for the GPU.
        A thread that needs both devices acquires the lock of the cpu device first.
    poison : bool
        Fill every buffer with NaN before it is used.
    wgsl : bool
        Print the WGSL of each kernel before it is compiled.
    absence : str
        Why the device is unavailable, if it was looked for without success.
    """

    def __init__(
        self,
        kind: str,
        index: int = 0,
        *,
        make_backend: Callable[[int], Backend] | None = None,
        computes_cpu_ops: bool = False,
    ) -> None:
        super().__init__(kind, index, computes_cpu_ops=computes_cpu_ops)
        self.waits = not computes_cpu_ops
        self._make_backend = make_backend  # given the index
        self.sync_each_op = False
        self.poison = False
        self.wgsl = False
        self.absence = ""
        self.lock = RLock()
        self._backend: Backend | None = None
        self._is_forked = False
        self._pending: dict[Node, int] = {}  # -> elements visited, in the order of recording
        # Views held by tensors -> the stored node below; each view counts as a use of that node.
        self._views: dict[Node, Node] = {}
        self._uses = Uses()
        self._under_way: WeakSet[Request] = WeakSet()  # other tasks run while a backend waits
        # The work recorded since the last flush, as a fraction of what may be pending: nodes,
        # elements visited and bytes uploaded, each relative to its own limit.
        self._load = 0.0
        self._per_node = 0.0
        self._per_element = 0.0
        self._ahead_interval = 0.0  # the load between two searches for results to compute ahead
        self._next_check = 0.0  # the load at which `record` searches or flushes
        self._flush_threshold = 1.0  # the load at which it flushes
        self._flush_before = NEVER  # the number of the node before which it flushes

    @property
    def backend(self) -> Backend:
        """The backend, which is made at first use.

        Raises
        ------
        DeviceError
            If there is none, or if this process was forked from one that uses the GPU.
        """
        if self._backend is None:
            self.check_fork()
            with self.lock:
                assert self._make_backend is not None
                made = self._backend or self._make_backend(self.index)
                if self._backend is None:  # another task may get here while this one waits
                    self.use(made)
        assert self._backend is not None
        return self._backend

    def check_fork(self) -> None:
        """Raise DeviceError if this process was forked from one that used the device."""
        if self._is_forked:
            raise DeviceError(
                f"a forked process cannot use the {self.name} device of its parent; start it"
                ' with multiprocessing.get_context("spawn") or ("forkserver"), or use'
                " device='cpu' in it"
            )

    @property
    def is_ready(self) -> bool:
        return self._backend is not None

    @property
    def read_work(self) -> int:
        return self.backend.read_work

    def check(self, op: str, meta: Meta) -> None:
        self.backend.check(op, meta)

    def upload(self, data: memoryview, meta: Meta) -> Any:
        """Store elements; count their memory, because pending nodes may keep it alive."""
        if RELEASED:
            self.collect()
        self._load += meta.nbytes / MAX_UPLOADED_BYTES
        return self.backend.upload(data, meta)

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        return self.backend.read(node, layout)

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        return await self.backend.read_async(node, layout)

    @property
    def pending(self) -> Mapping[Node, int]:
        """A live view of the pending nodes, newest last: not computed, and held by tensors.

        After `collect`, there are none in it that no tensor holds.
        """
        return self._pending

    def note_check(self, node: Node) -> None:
        """If a node checks indices, let the next flush or read compute it, even if unused."""
        with self.lock:
            if node.storage is None and node.op.notes_faults(node):
                self.checks[node] = None

    def use(self, backend: Backend) -> None:
        """Set the backend; called by `pt.init` once the adapter is known, and by tests."""
        backend.debug(self.sync_each_op, self.poison, self.wgsl)
        backend.lock = self.lock
        self._backend = backend
        self._per_node = 1 / MAX_PENDING_NODES
        self._per_element = 1 / backend.pending_work
        self.eager = backend.eager
        self._reset_load()

    def note_fork(self) -> None:
        """Make the device unavailable in a forked process, if it was in use before the fork.

        The driver's threads do not exist in that process. Tensors can still be dropped.
        """
        if self._backend is not None:
            self._backend, self._is_forked = None, True
            self._pending.clear()
            self._views.clear()
            self.checks.clear()
            self._under_way.clear()
            self._uses = Uses()
            self._next_check = 0.0  # so that recording a node requires the backend
            host.skip_exit_handlers()

    def debug(
        self, sync: bool | None = None, poison: bool | None = None, wgsl: bool | None = None
    ) -> None:
        """Set `sync_each_op`, `poison` and `wgsl`; None leaves an option unchanged."""
        self.sync_each_op = self.sync_each_op if sync is None else sync
        self.poison = self.poison if poison is None else poison
        self.wgsl = self.wgsl if wgsl is None else wgsl
        if self._backend is not None:
            self.use(self._backend)

    def record(self, node: Node, *, replacing: bool = False) -> None:
        """Record a node that a tensor holds; compute pending nodes if there are too many.

        `replacing` means that the tensor of the first operand will hold this node instead.
        """
        # The lock would take 5 % of the time of an op, so it is held only where it matters. No
        # other thread knows a new node; its operands are live; each table changes in one step.
        if node.op.inline:
            elements = node.meta.size
        elif (below := bottom(node)).storage is not None:
            if node not in self._views:
                below.retains += 1
                self._views[node] = below
            if len(RELEASED) > MAX_RELEASED:
                self.collect()
            return
        else:
            elements = node.op.work(node)
        eager = self.eager
        if eager is not None and not _is_deferring.get():
            if replacing or len(RELEASED) > MAX_RELEASED:
                self.collect()
            if replacing:
                with self.lock:  # it may write to an operand
                    is_done = eager.compute_at_once(node, elements, self._is_idle())
            else:
                is_done = eager.compute_at_once(node, elements, False)
            if is_done:
                return
        if self._load >= self._next_check or node.number >= self._flush_before:
            with self.lock:
                self._make_room(node)
                if self._is_stored(node):
                    return
        self._pending[node] = elements
        self._load += self._per_node + self._per_element * elements

    def collect(self) -> None:
        """Count the nodes that tensors ceased to hold; forget those that no tensor holds now."""
        released = RELEASED
        with self.lock:
            if self.unheld:
                self.forget_unheld()
            while released:
                # CPython switches threads and raises interrupts at calls, and at ends of loops.
                # There are none in the next lines, so that each release is counted once.
                try:
                    node = released[0]
                    del released[0]
                except IndexError:  # another thread was faster
                    break
                node.releases += 1
                if node.retains != node.releases:
                    continue
                if node.meta.device is not self:
                    node.meta.device.unheld.append(node)  # before the call: an interrupt can end it
                    _forget_elsewhere(node.meta.device)
                elif node in self._pending or node in self._views:
                    self._forget(node)

    def forget_unheld(self) -> None:
        unheld = self.unheld
        while unheld:
            node = unheld[0]
            if node.retains == node.releases:  # otherwise another tensor holds it by now
                self._forget(node)
            unheld.popleft()

    def _is_idle(self) -> bool:
        """Return whether no pending node could still read an operand that no tensor holds."""
        return not (self._pending or self.checks or self._under_way)

    def at_once(self, *nodes: Node) -> Eager | None:
        if self.eager is None or _needs_nodes() or any(node.storage is None for node in nodes):
            return None
        return self.eager

    def should_copy(self, node: Node) -> bool:
        """Return whether elements are read faster from a copy of a node, which is a small view."""
        is_view = node in self._views and self.at_once() is not None
        return is_view and node.meta.size <= MAX_AT_ONCE

    def assign(self, node: Node, index: int, value: Any) -> bool:
        """Write one element of a node held by one tensor in place; return whether it did."""
        eager = self.at_once(node)
        if eager is None or RECORDINGS:
            return False
        if node.retains - node.releases != 1:
            self.collect()
        return node.ref_count == 1 and self._is_idle() and eager.assign(node, index, value)

    def record_deferred(self, node: Node) -> None:
        """Record again a node that was recorded while `deferring`, so that it may be computed."""
        if self.eager is not None:
            with self.lock:
                if node.storage is None:  # a flush of another thread may have computed it
                    self._forget(node)
                    self.record(node)

    def count(self, nodes: int, elements: int) -> None:
        """Add to the load nodes that no tensor holds: those inside a composition."""
        self._load += self._per_node * nodes + self._per_element * elements

    def _make_room(self, node: Node) -> None:
        """Make room for one more node by computing pending ones.

        `node` itself is not computed.
        """
        self.collect()
        if self.sync_each_op:
            self.compute([node])
        elif not self.is_ready:
            _ = self.backend  # sets the limits
        else:
            # There may be too little memory for all live results but enough for a later read.
            with suppress(MemoryError):
                if self._load >= self._flush_threshold or node.number >= self._flush_before:
                    self.flush(node)
                else:
                    self._compute_ahead(node)

    def _compute_ahead(self, recorded: Node) -> None:
        """Compute live results other than the newest pending nodes, if they are much work.

        They must be stored anyway, and a GPU that starts only after recording loses the time that
        recording takes. On an H200, 64 softmax results of 4096 x 4096 take 107 µs each with this
        and 128 µs without; the kernel takes 81 µs.
        """
        self._next_check = min(self._flush_threshold, self._load + self._ahead_interval)
        old = len(self._pending) - NEWEST_KEPT
        if old < MIN_AHEAD:
            return
        older = dict(islice(list(self._pending.items()), old))
        work = sum(older.values())
        if work < self.backend.ahead_work:
            return
        self.compute(self._storable(older), recorded=recorded, partly=True)
        self._forget_all_stored(older)
        self._load = max(0.0, self._load - self._per_node * old - self._per_element * work)

    def _forget_lost(self, nodes: Iterable[Node]) -> set[Node]:
        """Forget pending nodes that need a lost device's tensors; only reading them is an error.

        Returns all such nodes, including those among `nodes`.
        """
        lost: set[Node] = set()
        for node in topological([*nodes, *self._pending, *self.checks]):
            stored = node.storage is not None
            if self.backend.is_lost(node) if stored else not lost.isdisjoint(node.inputs):
                lost.add(node)
        for node in lost:
            self._pending.pop(node, None)
            self.checks.pop(node, None)
        self._uses = Uses()
        return lost

    def _storable(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the nodes that tensors hold and that fit in a buffer."""
        limit = self.backend.max_bytes
        return [n for n in nodes if n.ref_count and n.meta.nbytes <= limit]

    def _reset_load(self) -> None:
        """Reset the load and the limits."""
        self._load = 0.0
        self._flush_threshold, self._flush_before = 1.0, NEVER
        self._ahead_interval = AHEAD_INTERVAL * self._per_node
        ahead = self._backend is not None and self._backend.ahead_work < self._backend.pending_work
        self._next_check = 0.0 if self.sync_each_op else self._ahead_interval if ahead else 1.0

    def flush(self, recorded: Node | None = None) -> None:
        """Compute every pending node that a tensor still holds or that checks indices.

        Nodes too large to be stored stay pending, because results computed from them may be small.
        `recorded` is a node that is about to become pending. Its larger operands stay pending
        too: in ``(a[:, :, None] * b).sum(1)``, nothing else needs the products.
        """
        with self.lock:
            self.collect()
            self._reset_load()
            later = () if recorded is None else self._larger_operands(recorded)
            nodes = [node for node in list(self._pending) if node not in later]
            storable = self._storable(nodes)
            request = self.compute(storable, recorded=recorded, checks=True, partly=True)
            if recorded is not None and request is not None and request.last_iteration is not None:
                self._flush_between_iterations(request, recorded.number)

    def _larger_operands(self, recorded: Node) -> set[Node]:
        """Return the pending operands, also through views, that are larger than a node.

        Those that need many nodes are not among them: in ``x = x / x.sum()``, every flush may fall
        on the sum, and would otherwise compute nothing.
        """
        operands = {x for node in self._unheld_before(recorded) for x in node.inputs}
        return {
            x
            for x in operands
            if x in self._pending
            and x.meta.size > recorded.meta.size
            and len(self._unheld_before(x, MAX_LEFT_NODES)) <= MAX_LEFT_NODES
        }

    def _unheld_before(self, node: Node, most: int = NEVER) -> set[Node]:
        """Return a node and what no tensor holds of what is computed for it; a few above `most`."""
        needed = {node}
        stack = [node]
        while stack and len(needed) <= most:
            for x in stack.pop().inputs:
                if x.storage is None and x not in self._pending and x not in needed:
                    needed.add(x)
                    stack.append(x)
        return needed

    def _flush_between_iterations(self, request: Request, start: int) -> None:
        """Let the next flush cover whole iterations of a loop, counted from node `start`.

        The flushes after it then have the same plan and the same kernels.
        """
        assert request.last_iteration is not None
        first, second = request.last_iteration
        nodes = request.program.nodes
        load = sum(
            self._per_node + self._per_element * node.meta.size
            for node in nodes[first:second]
            if not node.op.constant
        )
        iterations = max(1, int(1 / load)) if load else 1
        self._flush_before = start + iterations * (nodes[second].number - nodes[first].number)
        self._flush_threshold = MAX_LATE_LOAD
        if self._next_check == 1.0:
            self._next_check = self._flush_threshold

    def _forget(self, node: Node) -> None:
        """Forget a node that no tensor holds any more."""
        if self._pending.pop(node, None) is not None:
            if self._uses and node in self._uses:
                self._uses = Uses()
        elif node in self._views:
            below = self._views[node]
            del self._views[node]  # not `pop`: an interrupt must not come before the count
            below.releases += 1

    def _is_stored(self, node: Node) -> bool:
        """Return whether the elements of a live node are stored; record it if it is a view."""
        below = bottom(node)
        if below.storage is None:
            return False
        if node is not below and node not in self._views:
            # In this order, an interrupt between the two wastes a buffer; in the other it would
            # lose a result.
            below.retains += 1
            self._views[node] = below
        return True

    def compute(
        self,
        nodes: Iterable[Node],
        read: Node | None = None,
        *,
        alone: bool = False,
        recorded: Node | None = None,
        checks: bool = False,
        partly: bool = False,
    ) -> Request | None:
        """Compute `nodes`, and with them every pending ancestor that a tensor holds.

        Other live nodes that need their intermediate results are computed too, unless `alone` is
        set or memory does not suffice. `read` is the node that the caller reads as soon as this
        returns; `recorded` is one that is about to become pending. With `read` or `checks`,
        all live nodes are computed if any pending node checks indices. With `partly`, nodes that
        need a lost device's tensors are left out. Returns the request that was computed, if any.
        """
        nodes, left = list(nodes), MAX_TRIES
        checks = (checks or read is not None) and not alone
        with self.lock:
            while True:
                wanted = self.request(nodes, alone=alone, recorded=recorded, checks=checks)
                if not wanted.program.outputs:
                    return None
                wanted.read = None if read is None else wanted.program.slots[read]
                try:
                    self._carry_out(wanted)
                except MemoryError:
                    least = make_request(nodes, self.backend.max_bytes)
                    if len(least.program.nodes) == len(wanted.program.nodes):
                        raise
                    alone, checks = True, False
                except StaleRequestError as error:
                    left -= not error.is_smaller  # a new device can be lost again
                    if not left:
                        raise
                except DeviceLostError:
                    lost = self._forget_lost(nodes) if checks or partly else set[Node]()
                    if not lost or not (partly or lost.isdisjoint(nodes)):
                        raise
                    nodes = [node for node in nodes if node not in lost]
                    checks = checks and (partly or read is not None)
                else:
                    return wanted

    def _carry_out(self, request: Request) -> None:
        """Compute a request; tasks that run while the backend waits must not overwrite operands."""
        uses = self._uses
        counted = uses.counted(request.program.nodes) if uses else []
        self._under_way.add(request)
        try:
            self.backend.compute(request)
            for node in request.checks:
                self.checks.pop(node, None)
            self._forget_computed(request)
            if len(self._under_way) > 1 or self._uses is not uses:  # other tasks ran meanwhile
                self._uses = Uses()
            elif counted:
                uses.remove(counted, self._pending)
        except BaseException:
            self._uses = Uses()
            raise
        finally:
            self._under_way.discard(request)

    def request(
        self,
        nodes: Sequence[Node],
        *,
        alone: bool = False,
        recorded: Node | None = None,
        checks: bool = False,
    ) -> Request:
        """Return the request for `nodes`: their ancestors, and other live nodes that need those.

        The arguments are those of `compute`.
        """
        backend = self.backend
        self.collect()
        if self._uses.is_changing:
            self._uses = Uses()
        wanted = make_request(nodes, backend.max_bytes)
        others = [] if alone else dependents(wanted, self._pending, self._uses)
        if others:
            wanted = make_request([*nodes, *others], backend.max_bytes)
        if self.checks:
            wanted = self._with_checks([*nodes, *others], wanted, checks)
        wanted.recorded = recorded
        if not RECORDINGS:
            leaves = overwritable_leaves(
                wanted,
                self._pending,
                self._uses,
                lambda: [*nodes, *self._used_by_others(wanted)],
                backend.may_overwrite,
            )
            if leaves:
                wanted.program = replace(wanted.program, overwritable=leaves)
        return wanted

    def _with_checks(self, nodes: list[Node], wanted: Request, all_of_them: bool) -> Request:
        """Return the request for some nodes, extended by nodes that check indices.

        If `all_of_them` is set and some checks are missing, all live nodes are added. Checks that
        are still missing are added as a fold to one element, because nothing needs their results.
        """
        checks, limit = list(self.checks), self.backend.max_bytes
        whole = computed_whole(wanted)
        if all_of_them and not whole.issuperset(checks):
            nodes = [*nodes, *self._storable(list(self._pending))]
            wanted = make_request(nodes, limit)
            whole = computed_whole(wanted)
            if rest := [sum_all(node) for node in checks if node not in whole]:
                wanted = make_request([*nodes, *rest], limit)
                whole.update(checks)
        wanted.checks = whole.intersection(checks)
        return wanted

    def _used_by_others(self, request: Request) -> Iterator[Node]:
        """Yield nodes used by checks, by other requests in progress, or about to be pending."""
        yield from self.checks.keys() - request.checks
        for other in [request, *self._under_way]:
            if other is not request:
                yield from other.program.nodes
            if other.recorded is not None:
                yield other.recorded

    def _forget_computed(self, request: Request) -> None:
        """Forget pending nodes that are stored now; if none is left, reset the load.

        Nodes outside the flush may be views of what it computed. The search for them takes no more
        steps than the flush itself.
        """
        pending = self._pending
        for node in request.live:
            if node.storage is not None:
                pending.pop(node, None)
            elif node in pending:
                self._forget_stored(node)
        if pending and len(pending) <= max(MAX_LOOKED_THROUGH, len(request.program.nodes)):
            self._forget_all_stored(list(pending))
        if not pending:
            self._reset_load()

    def _forget_all_stored(self, nodes: Iterable[Node]) -> None:
        """Forget those of the nodes whose elements are stored now."""
        for node in nodes:
            if node in self._pending and self._forget_stored(node) and node in self._uses:
                self._uses = Uses()

    def _forget_stored(self, node: Node) -> bool:
        """Forget a pending node if its elements are stored; return whether they are."""
        if not self._is_stored(node):
            return False
        self._pending.pop(node, None)
        if not node.ref_count:  # it was counted before it was recorded as a view
            self._forget(node)
        return True


def _forget_elsewhere(device: Device) -> None:
    """Let another device forget its unheld nodes; later, if a thread has its lock."""
    # One call that acquires and notes it: an interrupt can only come after it.
    acquired: list[bool] = []
    try:
        acquired.extend(map(device.lock.acquire, (False,)))
        if acquired[0]:  # else the thread that has it does this
            device.forget_unheld()
    finally:
        if acquired and acquired[0]:
            device.lock.release()


_is_deferring: ContextVar[bool] = ContextVar("is_deferring", default=False)


@contextmanager
def deferring() -> Generator[None]:
    """Keep devices from computing nodes when they are recorded, so that they can be inspected.

    Other threads and other tasks record as usual.
    """
    before = _is_deferring.get()
    try:
        _is_deferring.set(True)
        yield
    finally:
        _is_deferring.set(before)


def _needs_nodes() -> bool:
    """Return whether results must be nodes with their operands: they are inspected later."""
    return _is_deferring.get() or is_recording()


def with_backend(device: Device) -> LazyDevice:
    """Return the device that computes: the given one, or the one below a trace."""
    lazy = device.storing
    assert isinstance(lazy, LazyDevice)
    return lazy
