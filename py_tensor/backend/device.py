"""Devices: the interface of backends, pending nodes, and the default device."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Protocol
from weakref import WeakSet

from py_tensor.backend.host import host
from py_tensor.dtypes import DEFAULT, DType
from py_tensor.errors import DeviceError, DeviceLostError, DTypeError, StaleRequestError
from py_tensor.graph.bind import is_traced
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.order import Request, bottom, computed_whole, make_request, topological
from py_tensor.graph.primitives import folded
from py_tensor.graph.uses import Uses, dependents, overwritable_leaves
from py_tensor.layout import Layout

MAX_PENDING_NODES = 1024
MOST_LATE = 2.0  # times what may be pending, where a flush waits for the end of a pass
NEVER = 1 << 62
MAX_TRIES = 2  # of a request that became stale while it waited
MAX_UPLOADED_BYTES = 1 << 28  # that pending nodes may keep from being freed
MAX_LOOKED_THROUGH = 16  # pending nodes, after a flush however small, for what is stored now
LOOK = 16  # nodes, or work that counts as much, between two looks at what is pending
YOUNG = 16  # of the pending nodes, which an expression still being written may have a use for
MOST_AT_ONCE = 1 << 13  # elements of an op, and that it visits, for it to be computed as recorded
FEWEST_AHEAD = 8  # results: computing fewer takes the host longer than the GPU


class Eager(Protocol):
    """What a backend offers if it computes small ops as they are recorded."""

    def compute_at_once(self, node: Node, elements: int, alone: bool) -> bool:
        """Compute a node, if it and the pending nodes that it needs are small; whether it did.

        Parameters
        ----------
        elements
            How many elements the node visits.
        alone
            Whether nothing else needs the first operand.
        """
        ...

    def element(self, node: Node, place: int) -> Node:
        """An element of a computed node, by its flat index, as a computed copy."""
        ...

    def assign(self, node: Node, place: int, value: Any) -> bool:
        """Write an element of a computed node, by its flat index; whether it did.

        `value` is a number or a node. The backend refuses if others may see the memory, and what
        has to be converted or checked.
        """
        ...


class Backend(Protocol):
    """The capabilities of a device. It shares no semantics with other backends."""

    max_bytes: int  # of one tensor
    pending_work: int  # elements visited by pending ops, from which on they are computed
    ahead_work: int  # the same of live results, from which on they are, while others are recorded

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


class Device:
    """A place where tensors live; `str(device)` is its name.

    Nodes are recorded as they are made, and computed when somebody reads; when so many are
    pending that neither memory nor latency may grow further; and where many large results are live,
    so that the GPU has work while Python records more: by functions of the graph alone. Where the
    backend computes small nodes at once, those never become pending.

    Attributes
    ----------
    sync_each_op : bool
        Compute and wait for each op as it is recorded, so that its error stands on its line.
    poison : bool
        Fill every buffer with NaN before it is used.
    wgsl : bool
        Print the WGSL of each kernel before it is compiled.
    absence : str
        Why there is no such device, where it was looked for in vain.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.sync_each_op = False
        self.poison = False
        self.wgsl = False
        self.absence = ""
        self._backend: Backend | None = None
        self._pending: dict[Node, int] = {}  # and elements visited, in the order of recording
        # Views that tensors hold of what is stored, and that: each counts among those that hold it.
        self._views: dict[Node, Node] = {}
        self._uses = Uses()
        # What looks whether indices are in range: it is computed though nobody may need it.
        self._checks: dict[Node, None] = {}
        self._under_way: WeakSet[Request] = WeakSet()  # a backend may wait, and others then run
        # What was recorded since a flush, as a share of what may be pending: nodes, the elements
        # that they visit, and bytes uploaded, each by its own limit.
        self._load = 0.0
        self._per_node = 0.0
        self._per_element = 0.0
        self._step = 0.0  # of the load, from one look at what is pending to the next
        self._look = 0.0  # the load from which on `record` has more to do
        self._most = 1.0  # the load from which on it flushes,
        self._stop = NEVER  # and the number of the node before which it does
        self._eager: Eager | None = None  # as of the backend

    def __repr__(self) -> str:
        return f"device({self.name!r})"

    def __str__(self) -> str:
        return self.name

    @property
    def backend(self) -> Backend:
        """The backend, made at first use."""
        if self._backend is None:
            made = _make(self.name)  # may wait, and others may come here meanwhile
            if self._backend is None:
                self.use(made)
        assert self._backend is not None
        return self._backend

    @property
    def is_ready(self) -> bool:
        return self._backend is not None

    @property
    def pending(self) -> Mapping[Node, int]:
        """The nodes that tensors hold and nothing has computed, youngest last: as it changes."""
        return self._pending

    @property
    def has_checks(self) -> bool:
        """Whether something that looks whether indices are in range has not been computed."""
        return bool(self._checks)

    def note_check(self, node: Node) -> None:
        """Have a node looked at by the next flush or read, whoever holds it then.

        It is one that looks whether indices are in range.
        """
        if node.storage is None and node.op.notes_faults(node):
            self._checks[node] = None

    def use(self, backend: Backend) -> None:
        """Set the backend: `pt.init` does once the adapter is known, and tests do."""
        backend.debug(self.sync_each_op, self.poison, self.wgsl)
        self._backend = backend
        self._per_node = 1 / MAX_PENDING_NODES
        self._per_element = 1 / backend.pending_work
        self._eager = backend.eager
        self._count_anew()

    def debug(
        self, sync: bool | None = None, poison: bool | None = None, wgsl: bool | None = None
    ) -> None:
        """Change `sync_each_op`, `poison` and `wgsl`, now or for when there is a backend."""
        self.sync_each_op = self.sync_each_op if sync is None else sync
        self.poison = self.poison if poison is None else poison
        self.wgsl = self.wgsl if wgsl is None else wgsl
        if self._backend is not None:
            self.use(self._backend)

    def record(self, node: Node, *, replacing: bool = False) -> None:
        """Note a node that a tensor holds; compute what is pending when it is too much.

        `replacing` says that the tensor that holds the first operand will hold the node instead.
        """
        if node.op.inline:
            elements = node.meta.size
        elif (below := bottom(node)).storage is not None:
            if node not in self._views:
                below.taken += 1
                self._views[node] = below
            return
        else:
            elements = node.op.work(node)
        eager = self._eager
        if eager is not None and not _deferring:
            alone = replacing and self._is_idle()
            if eager.compute_at_once(node, elements, alone):
                return
        if self._load >= self._look or node.number >= self._stop:
            self._relieve(node)
            if self._is_stored(node):
                return
        self._pending[node] = elements
        self._load += self._per_node + self._per_element * elements

    def _is_idle(self) -> bool:
        """Whether nothing is pending, which could still read an operand that no tensor holds."""
        return not (self._pending or self._checks or self._under_way)

    def element(self, node: Node, place: int) -> Node | None:
        """An element of a node, by its flat index, if the device computes it at once."""
        if self._eager is None or node.storage is None or _deferring or is_traced():
            return None
        return self._eager.element(node, place)

    def assign(self, node: Node, place: int, value: Any) -> bool:
        """Write an element of a node that one tensor holds, in place if it can; whether it did."""
        if self._eager is None or node.storage is None or _deferring or is_traced():
            return False
        return node.live == 1 and self._is_idle() and self._eager.assign(node, place, value)

    def settle(self, node: Node) -> None:
        """Compute a node that a tensor holds, if recording it computes it and was `deferring`."""
        if self._eager is not None and node.storage is None:
            self.forget(node)
            self.record(node)

    def count(self, nodes: int, elements: int) -> None:
        """Count nodes that no tensor holds as if tensors had: those inside a composition."""
        self._load += self._per_node * nodes + self._per_element * elements

    def _relieve(self, node: Node) -> None:
        """Make room for one more node.

        What is pending is computed without it: its operands may be needed for nothing else, and
        were stored for nothing then.
        """
        if self.sync_each_op:
            self.compute([node])
        elif not self.is_ready:
            _ = self.backend  # and with it the limit
        else:
            # Without memory for all that is live now, what is read later may still find enough.
            with suppress(MemoryError):
                if self._load >= self._most or node.number >= self._stop:
                    self.flush(node)
                else:
                    self._compute_ahead(node)

    def _compute_ahead(self, recorded: Node) -> None:
        """Compute what is live besides the youngest pending nodes, where that is much work.

        It will have to be stored, and a GPU that waits until all is recorded loses the time that
        recording takes. With it 64 results of softmax of 4096 x 4096 take an H200 107 µs each,
        without it 128; the kernel takes 81.
        """
        self._look = min(self._most, self._load + self._step)
        old = len(self._pending) - YOUNG
        if old < FEWEST_AHEAD:
            return
        # list(): finalizers may take nodes out while this runs.
        older = dict(islice(list(self._pending.items()), old))
        work = sum(older.values())
        if work < self.backend.ahead_work:
            return
        self._compute_live(older, recorded)
        self._forget_all_stored(older)
        self._load = max(0.0, self._load - self._per_node * old - self._per_element * work)

    def _compute_live(
        self, nodes: Iterable[Node], recorded: Node | None, *, checks: bool = False
    ) -> Request | None:
        live = self._storable(nodes)
        try:
            return self.compute(live, recorded=recorded, checks=checks)
        except DeviceLostError:
            lost = self._forget_lost(live)
            if not lost:
                raise
            left = [node for node in live if node not in lost]
            return self.compute(left, recorded=recorded, checks=checks)

    def _forget_lost(self, nodes: Iterable[Node]) -> set[Node]:
        """Take off the lists what needs a lost device's tensors: only who reads it is to be told.

        Returns all of it, with those of `nodes`.
        """
        lost: set[Node] = set()
        for node in topological([*nodes, *self._pending, *self._checks]):
            stored = node.storage is not None
            if self.backend.is_lost(node) if stored else not lost.isdisjoint(node.inputs):
                lost.add(node)
        for node in lost:
            self._pending.pop(node, None)
            self._checks.pop(node, None)
        self._uses = Uses()
        return lost

    def _storable(self, nodes: Iterable[Node]) -> list[Node]:
        """Those that tensors hold, and that fit a buffer."""
        limit = self.backend.max_bytes
        return [n for n in nodes if n.live and n.meta.nbytes <= limit]

    def _count_anew(self) -> None:
        """Begin with no load."""
        self._load = 0.0
        self._most, self._stop = 1.0, NEVER
        self._step = LOOK * self._per_node
        looks = self._backend is not None and self._backend.ahead_work < self._backend.pending_work
        self._look = 0.0 if self.sync_each_op else self._step if looks else 1.0

    def note_upload(self, nbytes: int) -> None:
        """Note memory that nodes recorded from now on may hold on to."""
        self._load += nbytes / MAX_UPLOADED_BYTES

    def flush(self, recorded: Node | None = None) -> None:
        """Compute every pending node that a tensor still holds, or that looks at indices.

        Those too large to be stored stay pending: what is made of them may be small. `recorded` is
        a node that is about to become pending.
        """
        self._count_anew()
        # list(): finalizers may take nodes out while this runs.
        request = self._compute_live(list(self._pending), recorded, checks=True)
        if recorded is not None and request is not None and request.last_pass is not None:
            self._flush_between_passes(request, recorded.number)

    def _flush_between_passes(self, request: Request, start: int) -> None:
        """Have the next flush take whole passes of a loop, counted from node `start`.

        So it has the plan of the one after it, and the same kernels.
        """
        assert request.last_pass is not None
        first, end = request.last_pass
        load = sum(
            self._per_node + self._per_element * node.meta.size
            for node in request.order[first:end]
            if not node.op.constant
        )
        passes = max(1, int(1 / load)) if load else 1
        self._stop = start + passes * (request.order[end].number - request.order[first].number)
        self._most = MOST_LATE
        if self._look == 1.0:
            self._look = self._most

    def forget(self, node: Node) -> None:
        """No tensor holds the node any more."""
        if self._pending.pop(node, None) is not None:
            if self._uses and node in self._uses:
                self._uses = Uses()
        elif self._views:
            below = self._views.pop(node, None)
            if below is not None:
                below.dropped += 1

    def _is_stored(self, node: Node) -> bool:
        """Whether the elements of a live node are stored; if it is a view of them, note that."""
        below = bottom(node)
        if below.storage is None:
            return False
        if node is not below and node not in self._views:
            # In this order: an interrupt between the two costs a buffer, the other way a result.
            below.taken += 1
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
    ) -> Request | None:
        """Realize `nodes`, and with them every pending ancestor that a tensor holds.

        What else is live and needs what they compute in passing is computed too, unless `alone` is
        asked for, or memory does not suffice. `read` is the one among `nodes` that the caller reads
        as soon as this returns, `recorded` one that is about to become pending. With a read, or
        where `checks` asks for it, everything is computed if something looks at indices. Returns
        what was computed, if anything was.
        """
        nodes = list(nodes)
        checks = (checks or read is not None) and not alone
        for left in reversed(range(MAX_TRIES)):
            wanted = self.request(nodes, alone=alone, recorded=recorded, checks=checks)
            if not wanted.wanted:
                return None
            wanted.read = None if read is None else wanted.slots[read]
            try:
                self._carry_out(wanted)
            except MemoryError:
                if len(make_request(nodes, self.backend.max_bytes).order) == len(wanted.order):
                    raise
                return self.compute(nodes, read, alone=True, recorded=recorded)
            except StaleRequestError:
                if not left:
                    raise
            except DeviceLostError:
                lost = self._forget_lost(nodes) if checks else set[Node]()
                if not lost or not lost.isdisjoint(nodes):
                    raise
                return self.compute(nodes, read, recorded=recorded)
            else:
                return wanted
        return None

    def _carry_out(self, request: Request) -> None:
        """Compute a request. What runs while the backend waits must not overwrite its operands."""
        uses = self._uses
        counted = uses.counted(request.order)
        self._under_way.add(request)
        try:
            self.backend.compute(request)
            for node in request.checks:
                self._checks.pop(node, None)
            self._forget_computed(request)
            if len(self._under_way) > 1 or self._uses is not uses:  # others ran meanwhile
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
        """What is computed for `nodes`: their ancestors, and what else is live and needs those.

        The arguments are those of `compute`.
        """
        backend = self.backend
        if self._uses.is_changing:
            self._uses = Uses()
        wanted = make_request(nodes, backend.max_bytes)
        others = [] if alone else dependents(wanted, self._pending, self._uses)
        if others:
            wanted = make_request([*nodes, *others], backend.max_bytes)
        if self._checks:
            wanted = self._with_checks([*nodes, *others], wanted, checks)
        wanted.recorded = recorded
        wanted.overwritable = overwritable_leaves(
            wanted,
            self._pending,
            self._uses,
            lambda: [*nodes, *self._used_by_others(wanted)],
            backend.may_overwrite,
        )
        return wanted

    def _with_checks(self, nodes: list[Node], wanted: Request, all_of_them: bool) -> Request:
        """The request of some nodes, with what looks at indices.

        What it leaves out is computed with all that is live, and what nobody needs in one element.
        """
        checks, limit = list(self._checks), self.backend.max_bytes
        whole = computed_whole(wanted)
        if all_of_them and not whole.issuperset(checks):
            nodes = [*nodes, *self._storable(list(self._pending))]
            wanted = make_request(nodes, limit)
            whole = computed_whole(wanted)
            if rest := [folded(node) for node in checks if node not in whole]:
                wanted = make_request([*nodes, *rest], limit)
                whole.update(checks)
        wanted.checks = whole.intersection(checks)
        return wanted

    def _used_by_others(self, request: Request) -> Iterator[Node]:
        """What is computed now by whom a backend has wait, and what is about to become pending."""
        yield from self._checks.keys() - request.checks
        for other in [request, *self._under_way]:
            if other is not request:
                yield from other.order
            if other.recorded is not None:
                yield other.recorded

    def _forget_computed(self, request: Request) -> None:
        """Take what is stored now off the list; once nothing is left there, count anew.

        What is no part of the flush may be views of what it computed: they are looked for in as
        many steps as the flush itself took.
        """
        pending = self._pending
        for node in request.live:
            if node.storage is not None:
                pending.pop(node, None)
            elif node in pending:
                self._forget_stored(node)
        if pending and len(pending) <= max(MAX_LOOKED_THROUGH, len(request.order)):
            self._forget_all_stored(list(pending))
        if not pending:
            self._count_anew()

    def _forget_all_stored(self, nodes: Iterable[Node]) -> None:
        """Take those of the nodes off the list whose elements are stored by now."""
        for node in nodes:
            if node in self._pending and self._forget_stored(node) and node in self._uses:
                self._uses = Uses()

    def _forget_stored(self, node: Node) -> bool:
        """Take a pending node off the list if its elements are stored; whether they are."""
        if not self._is_stored(node):
            return False
        self._pending.pop(node, None)
        if not node.live:  # a finalizer came before it was noted as a view
            self.forget(node)
        return True


_deferring = 0  # how many want to see what is recorded


@contextmanager
def deferring() -> Generator[None]:
    """Have no device compute a node as it is recorded, so that the nodes can be seen."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1


def _make(name: str) -> Backend:
    if name == "cpu":
        from py_tensor.backend.cpu import CPU

        return CPU(host.load_numpy())
    from py_tensor.backend.webgpu import acquire

    return acquire()


CPU_DEVICE = Device("cpu")
GPU_DEVICE = Device("webgpu")
_BY_NAME = {"cpu": CPU_DEVICE, "webgpu": GPU_DEVICE}
_default: Device | None = None


def default_device() -> Device:
    """Return the device of new tensors: webgpu if available, else cpu; chosen at first use.

    On CPython a software adapter does not count: NumPy is faster, and Mesa's silently ends loops
    after 65,535 iterations.
    """
    global _default
    if _default is None:
        _default = GPU_DEVICE if _found_gpu() else CPU_DEVICE
    return _default


def _found_gpu() -> bool:
    try:
        adapter = GPU_DEVICE.backend.info()["adapter"]  # made when asked for
    except DeviceError as error:
        GPU_DEVICE.absence = str(error)
        return False
    if adapter["isFallbackAdapter"] and not host.computes_in_software:
        GPU_DEVICE.absence = "the adapter is a software adapter; device='webgpu' computes on it"
        return False
    return True


def set_default_device(device: str | Device) -> None:
    """Set the device of new tensors: "webgpu" or "cpu".

    Raises
    ------
    DTypeError
        If `set_default_dtype` has set a dtype that the device does not have.
    """
    global _default
    place = parse(device)
    check_default(place, DEFAULT.floating)
    _default = place


def check_default(device: Device, dtype: DType) -> None:
    """Raise DTypeError unless a device has what is to be the default dtype."""
    if device is not CPU_DEVICE and not dtype.on_gpu:
        raise DTypeError(
            f"{dtype} cannot be the default dtype on the device {device.name!r}, only on 'cpu'; see"
            " set_default_dtype and set_default_device"
        )


def parse(device: object) -> Device:
    """A device by name; None means the default one.

    Raises
    ------
    DeviceError
        For an unknown name.
    """
    if device is None:
        return default_device()
    if isinstance(device, Device):
        return device
    if not isinstance(device, str) or device not in _BY_NAME:
        words = f"unknown device {device!r}; there are 'webgpu' and 'cpu'"
        if isinstance(device, DType):
            words += f", and x.astype(pt.{device.name}) for dtypes"
        raise DeviceError(words)
    return _BY_NAME[device]
