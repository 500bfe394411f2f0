"""The cpu device: the NumPy implementation of every op, applied to the same graph."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar, copy_context
from operator import attrgetter
from typing import Any

from py_tensor.backend.device import MOST_AT_ONCE, Eager
from py_tensor.backend.failures import out_of_range
from py_tensor.backend.storage import COPIED_BYTES
from py_tensor.dtypes import float16, int32
from py_tensor.graph import arrays
from py_tensor.graph.arrays import Array, Run
from py_tensor.graph.bind import leaf_key
from py_tensor.graph.body import Check
from py_tensor.graph.node import Meta, Node, meta_of
from py_tensor.graph.op import Assign
from py_tensor.graph.order import Request
from py_tensor.graph.primitives import COPY
from py_tensor.layout import Layout
from py_tensor.shapes import Shape, size_of

MOST_IN_PASSING = 64  # nodes that are computed at once with one that takes them
_number = attrgetter("number")


class _Flush:
    """The arrays of a flush, each for as long as something needs it.

    Attributes
    ----------
    arrays : dict
        Of nodes that are computed or stored.
    wanted : set of Node
        Those that are stored at the end.
    """

    def __init__(self, request: Request) -> None:
        order = request.order
        self.arrays: dict[Node, Array] = {}
        self.wanted = {order[slot] for slot in request.wanted}
        self._uses = Counter([x for node in order if node.storage is None for x in node.inputs])
        self._left = self._uses.copy()
        # Nodes whose arrays are a stored one's that nobody can read once the flush is done.
        self._lent = {order[slot] for slot in request.overwritable}

    def may_overwrite_operand(self, node: Node) -> bool:
        """Whether a node may be written over the array of its first operand.

        A flush that fails is computed again from what is stored. So what was stored before is
        written over only where nothing else reads it, and by what may be repeated.
        """
        whole = node.inputs[0]
        flags = self.arrays[whole].flags
        if whole in self.wanted or not (flags.owndata and flags.carray):
            return False
        if whole not in self._lent:
            return whole.storage is None and self._left[whole] == 1
        if self._uses[whole] > 1 or not node.op.is_idempotent(node):
            return False
        self._lent.add(node)
        return True

    def drop(self, node: Node) -> None:
        """Note one use less of an array; without any, it goes, and what it is a view of with it."""
        while True:
            self._left[node] -= 1
            if self._left[node] or node in self.wanted:
                return
            del self.arrays[node]
            if node.storage is not None or not node.op.reads_by_map:
                return
            node = node.inputs[0]


def _is_small(node: Node) -> bool:
    op = node.op
    return op.reads_by_map or op.constant or op.work(node) <= MOST_AT_ONCE


class _OutOfRangeError(Exception):
    """An index is out of range."""


def _out_of_range(op: str, axis: int, shape: Shape, index: int) -> None:
    raise _OutOfRangeError


def _ignoring(np: Any) -> tuple[ContextVar[Any], Any]:
    """The variable that `np.errstate` sets, and its value where errors are ignored.

    To enter an `errstate` takes longer than a small op.
    """
    outside = copy_context()
    with np.errstate(all="ignore"):
        inside = copy_context()
    (found,) = [v for v, value in inside.items() if v not in outside or outside[v] is not value]
    return found, inside[found]


class CPU:
    """A backend whose storage is a contiguous NumPy array."""

    def __init__(self, numpy: Any) -> None:
        self.np = numpy
        self.max_bytes = 2**62
        self.pending_work = self.ahead_work = 2**62
        self.computed = 0
        self._out_of_range: list[str] = []
        self._sync = False
        self._run = Run(numpy, _out_of_range, False)
        self._writing = Run(numpy, _out_of_range, True)
        self._errors = _ignoring(numpy)

    def info(self) -> dict[str, Any]:
        return {"backend": "cpu", "numpy": self.np.__version__}

    def check(self, op: str, meta: Meta) -> None:
        """Accept every dtype and size; memory is the only limit."""

    def upload(self, data: memoryview, meta: Meta) -> Array:
        flat = self.np.frombuffer(bytes(data), dtype=meta.dtype.name)
        return flat.reshape(meta.shape)

    def compute(self, request: Request) -> None:
        flush = _Flush(request)
        with self.np.errstate(all="ignore"):
            for node in request.order:
                if node.storage is None:
                    self._compute(node, flush)
                else:
                    flush.arrays[node] = node.storage
        for node in flush.wanted:
            array = flush.arrays[node]
            own = array.flags.owndata and array.flags.c_contiguous
            self._keep(node, array if own else self.np.array(array, order="C"))
        if self._sync:
            self._report()

    @property
    def eager(self) -> Eager:
        return self

    def compute_at_once(self, node: Node, elements: int, alone: bool) -> bool:
        """Compute a node, and in passing the small pending ones that it takes; whether it did.

        It does not where it takes many or large ones, or where an index is out of range: such nodes
        wait for a read, which tells of the index. Where a small part is written to an array that
        is needed for nothing else, it is written to.
        """
        run = self._run
        if alone and self._may_write_to(node):
            run = self._writing
        elif elements > MOST_AT_ONCE or node.meta.size > MOST_AT_ONCE:
            return False
        variable, ignoring = self._errors
        before = variable.set(ignoring)
        try:
            operands = self._operands(node)
            if operands is None:
                return False
            array = node.op.compute(run, node, *operands)
        except _OutOfRangeError:
            return False
        finally:
            variable.reset(before)
        if run is self._writing:
            pass
        elif array.flags.carray and array.flags.owndata:
            for x in operands:
                if x is array:
                    array = array.copy()
        else:
            array = self.np.array(array, order="C")
        self._keep(node, array)
        if self._sync:
            self._report()
        return True

    def element(self, node: Node, place: int) -> Node:
        storage = node.storage
        flat = storage if storage.ndim == 1 else storage.reshape(-1)
        made = Node(COPY, (), None, meta_of((), node.meta.dtype, node.meta.device), 0)
        self._keep(made, self.np.array(flat[place]))
        return made

    def assign(self, node: Node, place: int, value: Any) -> bool:
        storage, dtype = node.storage, node.meta.dtype
        if not storage.flags.writeable:
            return False
        if type(value) is Node:
            if value.storage is None or value.meta.dtype is not dtype or value.meta.shape:
                return False
            value = value.storage
        elif dtype.kind == "f":
            limit = 1e4 if dtype is float16 else 1e38  # NumPy warns of what becomes infinite
            if type(value) not in (int, float) or not -limit < value < limit:
                return False
        elif type(value) is not int or dtype is not int32 or not -(2**31) <= value < 2**31:
            return False
        storage.reshape(-1)[place] = value
        return True

    def _may_write_to(self, node: Node) -> bool:
        """Whether a node assigns to a small part of an array that only its operand holds."""
        if type(node.op) is not Assign or size_of(node.attrs[0]) > MOST_AT_ONCE:
            return False
        whole = node.inputs[0]
        return whole.live == 1 and whole.storage is not None and whole.storage.flags.writeable

    def _operands(self, node: Node) -> list[Array] | None:
        """The arrays of a node's operands, if they are there or take few small nodes."""
        found: list[Array] = []
        for x in node.inputs:
            array = x.storage
            if array is None:
                below = [operand.storage for operand in x.inputs]
                if any(y is None for y in below) or not _is_small(x):
                    return self._in_passing(node)
                array = x.op.compute(self._run, x, *below)
            found.append(array)
        return found

    def _in_passing(self, node: Node) -> list[Array] | None:
        order = [node]
        for taker in order:  # grows on the way
            for x in taker.inputs:
                if x.storage is None and x not in order:
                    if not _is_small(x):
                        return None
                    order.append(x)
            if len(order) > MOST_IN_PASSING:
                return None
        order.sort(key=_number)
        arrays: dict[Node, Array] = {}
        found: list[Array] = []
        for each in order:
            found = [arrays[x] if x.storage is None else x.storage for x in each.inputs]
            if each is not node:
                arrays[each] = each.op.compute(self._run, each, *found)
        return found

    def _keep(self, node: Node, array: Array) -> None:
        node.storage = array
        node.key = leaf_key(node.meta)
        node.inputs = ()
        self.computed += 1

    def _compute(self, node: Node, flush: _Flush) -> None:
        """Compute a node, and let go of what nothing else in the flush needs."""
        inputs = node.inputs
        operands = [flush.arrays[x] for x in inputs]
        overwrite = node.op.writes and flush.may_overwrite_operand(node)
        array = node.op.compute(Run(self.np, self._note, overwrite), node, *operands)
        if node.op.reads_by_map:
            flush.arrays[node] = array
            return  # a view: its operand is needed for as long as it is
        if not overwrite and any(self.np.may_share_memory(array, x) for x in operands):
            array = array.copy()
        flush.arrays[node] = array
        for operand in inputs:
            flush.drop(operand)

    def _note(self, op: str, axis: int, shape: Shape, index: int) -> None:
        self._out_of_range.append(Check(op, axis, shape, True).message(index))

    def may_overwrite(self, node: Node) -> bool:
        """Unless it was uploaded or read: others may see that memory."""
        return node.storage.flags.writeable

    def is_lost(self, node: Node) -> bool:
        """Memory is there as long as somebody holds it."""
        return False

    def _report(self) -> None:
        """Raise what was noted since the last report, once."""
        found, self._out_of_range = self._out_of_range, []
        if found:
            raise out_of_range(found[0])

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        self._report()
        if not node.meta.size:
            return memoryview(b"")
        if layout is not None:
            return memoryview(arrays.moved(self.np, node.storage, layout).tobytes())
        if node.meta.nbytes <= COPIED_BYTES:
            return memoryview(node.storage.tobytes())
        return self.share(node)

    def share(self, node: Node) -> memoryview:
        """The memory of a stored node itself, which nothing writes to from now on."""
        node.storage.flags.writeable = False
        return memoryview(node.storage.reshape(-1).view("u1")).cast("B")

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        return self.read(node, layout)

    def synchronize(self) -> None:
        """Do nothing: results are complete as soon as they are computed."""
        self._report()

    async def synchronize_async(self) -> None:
        """Do nothing: results are complete as soon as they are computed."""
        self._report()

    def memory_info(self) -> dict[str, int]:
        return {"computed": self.computed}

    def empty_cache(self) -> None:
        """There is no cache."""

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Each op waits as it is, and no memory is used before it is written."""
        self._sync = sync
