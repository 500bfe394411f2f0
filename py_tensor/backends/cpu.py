"""The cpu device: runs the NumPy implementation of every op on the same graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar, copy_context
from threading import RLock
from types import EllipsisType, NoneType
from typing import Any

from py_tensor.base.layout import Layout
from py_tensor.base.shapes import MAX_RANK, Shape, row_major, size_of
from py_tensor.ir import arrays
from py_tensor.ir.arrays import Array, Run, computed
from py_tensor.ir.bind import leaf, set_storage
from py_tensor.ir.node import Eager, Meta, Node, meta_of
from py_tensor.ir.op import TERMS_PER_VISIT, Assign, Cast, Count, Elementwise, layout_of
from py_tensor.ir.primitives import COPY
from py_tensor.ir.recording import RECORDINGS
from py_tensor.runtime.device import MAX_AT_ONCE
from py_tensor.runtime.failures import out_of_range
from py_tensor.runtime.pool import COPIED_BYTES
from py_tensor.schedule.body import Check
from py_tensor.schedule.order import PREVIEWED_BYTES, Request

MAX_ARRAY_BYTES = 1 << 40  # larger arrays are never made; elements of them can be computed
MAX_ANCESTORS = 64  # pending nodes that are computed together with a node that needs them
MAX_SAMPLED = 1 << 25  # elements of a sampled node
MAX_COUNTED = 1 << 27  # those of all its ancestors: a few seconds, and about 1.5 GiB
LEAST_COUNTED = 1 << 10  # what an ancestor with few elements counts: NumPy's time for it
OBJECT_COUNTED = 8  # what an element with an index beyond 64 bits counts
MAX_INT64 = 2**63 - 1

Key = tuple[Node, int]  # a node, and the number of the indices at which it is needed


class _Flush:
    """The arrays of a flush; each is kept as long as something needs it.

    Attributes
    ----------
    arrays : dict
        Computed or stored node -> array.
    wanted : set of Node
        The nodes that are stored at the end.
    max_bytes : int
        The largest array; elements of larger nodes are computed where they are used.
    """

    def __init__(self, request: Request) -> None:
        order = request.program.nodes
        pending = [x for x in order if x.storage is None and not x.op.constant]
        samples = request.previews and all(map(can_sample, pending))
        self.max_bytes = PREVIEWED_BYTES if samples else MAX_ARRAY_BYTES
        self.arrays: dict[Node, Array] = {}
        self.wanted = {order[slot] for slot in request.program.outputs}
        self._uses = Counter([x for node in order if node.storage is None for x in node.inputs])
        self._left = self._uses.copy()
        # Nodes in the array of a leaf that nothing can read after the flush.
        self._lent = {order[slot] for slot in request.program.overwritable}

    def may_overwrite_operand(self, node: Node) -> bool:
        """Return whether a node may overwrite the array of its first operand.

        A flush that fails is computed again from the stored arrays. An array that was stored before
        the flush is therefore only overwritten if nothing else in the flush reads it, and only by
        an operation that can be repeated.
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
        """Count down the uses of an array; after the last, drop it and the base of a view."""
        while True:
            self._left[node] -= 1
            if self._left[node] or node in self.wanted or node not in self.arrays:
                return
            del self.arrays[node]
            if node.storage is not None or not node.op.reads_by_map:
                return
            node = node.inputs[0]


def _is_small(node: Node) -> bool:
    op = node.op
    moves = op.reads_by_map and node.meta.nbytes <= MAX_ARRAY_BYTES
    return moves or op.constant or op.work(node) <= MAX_AT_ONCE


class _OutOfRangeError(Exception):
    """An index is out of range."""


def _out_of_range(op: str, axis: int, shape: Shape, index: int) -> None:
    raise _OutOfRangeError


def _ignoring(np: Any) -> tuple[ContextVar[Any], Any]:
    """Return the context variable that `np.errstate` sets, and its value for ignoring errors.

    Setting it directly is faster, since entering `np.errstate` takes longer than a small op.
    """
    outside = copy_context()
    with np.errstate(all="ignore"):
        inside = copy_context()
    (key,) = [v for v, value in inside.items() if v not in outside or outside[v] is not value]
    return key, inside[key]


class CPU:
    """A backend whose storage is a contiguous NumPy array."""

    def __init__(self, numpy: Any) -> None:
        self.np = numpy
        self.lock = RLock()
        self.max_bytes = MAX_ARRAY_BYTES
        self.pending_work = self.ahead_work = 2**62
        self.read_work = 0
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
        flat = self.np.frombuffer(bytes(data), f"u{meta.dtype.alignment}")
        return arrays.decoded(self.np, flat, meta.dtype).reshape(meta.shape)

    def compute(self, request: Request) -> None:
        flush = _Flush(request)
        with self.np.errstate(all="ignore"):
            for node in request.program.nodes:
                if node.storage is None:
                    self._compute_or_sample(node, flush)
                else:
                    flush.arrays[node] = node.storage
        for node in flush.wanted:
            array = flush.arrays[node]
            is_contiguous = array.flags.owndata and array.flags.c_contiguous
            self._keep(node, array if is_contiguous else self.np.array(array, order="C"))
        if self._sync:
            self._report()

    @property
    def eager(self) -> Eager:
        return self

    def compute_at_once(self, node: Node, elements: int, alone: bool) -> bool:
        """Compute a node and the small pending nodes that it needs; return whether that was done.

        Nothing is computed if it needs many or large nodes, or if an index is out of range: such
        nodes stay pending until a read, which reports the index. If the node assigns to a small
        part of an array that nothing else needs, the array is modified in place.
        """
        run = self._run
        if alone and self._may_write_to(node):
            run = self._writing
        elif elements > MAX_AT_ONCE or node.meta.size > MAX_AT_ONCE:
            return False
        variable, ignoring = self._errors
        before = variable.set(ignoring)
        try:
            operands = self._operands(node.inputs)
            if operands is None:
                return False
            array = node.op.compute(run, node, *operands)
            if not node.meta.dtype.is_numpys:  # as in `computed`, without a call
                array = arrays.fitted(run, node, array)
        except (_OutOfRangeError, MemoryError):
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

    def element(self, node: Node, index: int) -> Node:
        storage = node.storage
        flat = storage if storage.ndim == 1 else storage.reshape(-1)
        self.computed += 1
        return leaf(
            meta_of((), node.meta.dtype, node.meta.device), self.np.array(flat[index]), COPY
        )

    def assign(self, node: Node, index: int, value: Any) -> bool:
        storage, dtype = node.storage, node.meta.dtype
        if not storage.flags.writeable:
            return False
        if type(value) is Node:
            if value.storage is None or value.meta is not meta_of((), dtype, node.meta.device):
                return False
            value = value.storage
        elif not dtype.stores(value):
            return False
        elif not dtype.is_numpys:
            value = dtype.rounded(value)
        storage.reshape(-1)[index] = value
        return True

    def select(self, node: Node, layout: Layout, key: tuple[Any, ...]) -> Node | None:
        if not 0 < layout.size <= MAX_AT_ONCE:
            return None
        view = arrays.moved(self.np, node.storage, layout)
        try:
            if self._most_selected(layout.shape, key) > MAX_AT_ONCE:
                return None
            array = view[tuple([k.storage if type(k) is Node else k for k in key])]
        except (IndexError, ValueError):
            return None  # the op raises a clearer error
        if not array.size or array.ndim > MAX_RANK:
            return None
        meta = meta_of(array.shape, node.meta.dtype, node.meta.device)
        self.computed += 1
        return leaf(meta, self.np.array(array, order="C"), COPY)

    def _most_selected(self, shape: Shape, key: tuple[Any, ...]) -> int:
        """Return an upper bound of the number of elements that a key with arrays selects.

        Raises
        ------
        ValueError
            If the shapes of the arrays do not broadcast.
        """
        integers = [
            k.meta.shape if isinstance(k, Node) else (len(k),)
            for k in key
            if not isinstance(k, int | slice | NoneType | EllipsisType)
            and not (isinstance(k, Node) and k.meta.dtype.is_bool)
        ]
        spread = integers[0] if len(integers) == 1 else self.np.broadcast_shapes(*integers)
        rest = shape[len(key) :] if len(integers) == len(key) else shape
        return size_of(spread) * size_of(rest)

    def product(self, a: Node, b: Node, meta: Meta) -> Node | None:
        if len(a.meta.shape) > 2 or len(b.meta.shape) > 2 or meta.size > MAX_AT_ONCE:
            return None
        columns = b.meta.shape[1] if len(b.meta.shape) > 1 else 1
        if a.meta.size * columns // TERMS_PER_VISIT > MAX_AT_ONCE:
            return None
        variable, ignoring = self._errors
        before = variable.set(ignoring)
        try:
            operands = self._operands((a, b))
            if operands is None:
                return None
            # Contiguous, as in a flush: NumPy rounds products of other layouts differently.
            left, right = map(self.np.ascontiguousarray, operands)
            array = self.np.matmul(left, right, self.np.empty(meta.shape, left.dtype))
        except _OutOfRangeError:
            return None
        finally:
            variable.reset(before)
        self.computed += 1
        return leaf(meta, array)

    def _may_write_to(self, node: Node) -> bool:
        """Return whether a node assigns to a small part of an array that only its operand uses."""
        if type(node.op) is not Assign or size_of(node.attrs[0]) > MAX_AT_ONCE:
            return False
        if RECORDINGS:
            return False
        whole = node.inputs[0]
        return whole.ref_count == 1 and whole.storage is not None and whole.storage.flags.writeable

    def _operands(self, inputs: tuple[Node, ...]) -> list[Array] | None:
        """Return the arrays of operands; None if that needs many or large nodes."""
        operands: list[Array] = []
        visited: dict[Node, Array] | None = None
        for x in inputs:
            array = x.storage
            if array is None and x.op.constant:
                array = x.op.compute(self._run, x)  # as in `computed`, without a call
                if not x.meta.dtype.is_numpys:
                    array = arrays.fitted(self._run, x, array)
            elif array is None:
                visited = visited or {}
                with self.lock:  # a flush of another thread may store pending operands
                    array = self._array_of(x, visited)
                if array is None:
                    return None
            operands.append(array)
        return operands

    def _array_of(self, x: Node, visited: dict[Node, Array]) -> Array | None:
        """Return the array of a node, after computing its small pending ancestors.

        None if these are many or large. `visited` has the pending nodes that were met, and their
        arrays.
        """
        if x.storage is not None:
            return x.storage
        if x in visited:
            return visited[x]
        if len(visited) >= MAX_ANCESTORS or not _is_small(x):
            return None
        visited[x] = None  # counts while its ancestors are visited
        operands = [
            self._array_of(y, visited) if y.storage is None else y.storage for y in x.inputs
        ]
        if not any(operand is None for operand in operands):
            visited[x] = computed(self._run, x, *operands)
        return visited[x]

    def _keep(self, node: Node, array: Array) -> None:
        set_storage(node, array)
        self.computed += 1

    def _compute_or_sample(self, node: Node, flush: _Flush) -> None:
        """Compute a node; one too large to exist is left out, and its consumers sample it."""
        large = [x for x in node.inputs if x not in flush.arrays]
        if node.meta.nbytes <= flush.max_bytes:
            if not large:
                try:
                    self._compute(node, flush)
                except MemoryError:
                    pass  # perhaps only its elements that are needed can be computed
                else:
                    return
            if not can_sample(node):
                raise too_large(large[0] if large else node)
            if node.meta.size <= MAX_SAMPLED:
                flush.arrays[node] = sampled(self._run, node, flush.arrays)
                return
        if node in flush.wanted:
            raise too_large(node)

    def _compute(self, node: Node, flush: _Flush) -> None:
        """Compute a node, and drop operands that nothing else in the flush needs."""
        inputs = node.inputs
        operands = [flush.arrays[x] for x in inputs]
        overwrite = node.op.writes and flush.may_overwrite_operand(node)
        run = Run(self.np, self._note, overwrite)
        array = node.op.compute(run, node, *operands)  # as in `computed`, without a call
        if not node.meta.dtype.is_numpys:
            array = arrays.fitted(run, node, array)
        if node.op.reads_by_map:
            flush.arrays[node] = array
            return  # a view keeps its operand
        if not overwrite and any(self.np.may_share_memory(array, x) for x in operands):
            array = array.copy()
        flush.arrays[node] = array
        for operand in inputs:
            flush.drop(operand)

    def _note(self, op: str, axis: int, shape: Shape, index: int) -> None:
        self._out_of_range.append(Check(op, axis, shape, True).message(index))

    def may_overwrite(self, node: Node) -> bool:
        """Return whether a node may be overwritten: other code may see uploaded or read memory."""
        return node.storage.flags.writeable

    def is_lost(self, node: Node) -> bool:
        """Return False: host memory is not lost."""
        return False

    def _report(self) -> None:
        """Raise for the first out-of-range index since the last report, and forget the others."""
        reports, self._out_of_range = self._out_of_range, []
        if reports:
            raise out_of_range(reports[0])

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        with self.lock:
            self._report()
            if not node.meta.size:
                return memoryview(b"")
            if layout is None and node.meta.nbytes > COPIED_BYTES:
                return self.share(node)
            whole = layout is None
            array = node.storage if whole else arrays.moved(self.np, node.storage, layout)
            if not node.meta.dtype.is_numpys:
                array = arrays.encoded(self.np, array, node.meta.dtype)
            return memoryview(array.tobytes())

    def share(self, node: Node) -> memoryview:
        """Return the memory of a stored node itself; it is read-only from now on."""
        node.storage.flags.writeable = False
        array = arrays.encoded(self.np, node.storage, node.meta.dtype)
        return memoryview(array.reshape(-1).view("u1")).cast("B")

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
        """Do nothing: there is no cache."""

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Set `sync`, which raises errors immediately; `poison` and `wgsl` have no effect here."""
        self._sync = sync


# -- Arrays too large to exist --------------------------------------------------------------------
#
# A tensor such as ``zeros((2**32, 2**32))`` is not computed until it is used. Its printed part, or
# a slice, is computed from the elements that it needs.


def can_sample(node: Node) -> bool:
    """Return whether each element of a node needs only few elements of its operands."""
    return node.op.reads_by_map or isinstance(node.op, Elementwise | Cast | Count)


def sampled(run: Run, root: Node, arrays: Mapping[Node, Array]) -> Array:
    """Return the elements of `root`; its ancestors without an array are sampled.

    Raises
    ------
    MemoryError
        If the elements are too many, counting each node once for each set of its elements that is
        needed.
    """
    np: Any = run.np
    if root.meta.size > MAX_SAMPLED:
        raise too_large(root)
    indices = _Indices(np)
    needs: dict[Key, list[Key]] = {}
    values: dict[Key, Array] = {}
    counted = 0
    first = root, indices.number(np.arange(root.meta.size, dtype=np.int64))
    stack: list[Key] = [first]
    while stack:
        key = stack[-1]
        node, number = key
        if key in values:
            stack.pop()
        elif node in arrays and node is not root:
            values[key] = _picked(np, arrays[node], indices.arrays[number])
        elif isinstance(node.op, Count):
            values[key] = indices.arrays[number].astype(node.meta.dtype.host)
        elif not can_sample(node):
            raise too_large(node)
        elif key not in needs:
            flat = indices.arrays[number]
            counted += max(LEAST_COUNTED, flat.size * (OBJECT_COUNTED if flat.dtype == "O" else 1))
            if counted > MAX_COUNTED:
                raise MemoryError(
                    f"{root.op.name}: its elements, of shape {root.meta.shape}, depend on more than"
                    f" {MAX_COUNTED} elements of tensors that the cpu device cannot hold"
                )
            if node.op.reads_by_map:
                number = indices.number(_moved(np, flat, node))
            needs[key] = [(x, number) for x in node.inputs]
            stack += needs[key]
        else:
            operands = [values[x] for x in needs[key]]
            moves = node.op.reads_by_map
            values[key] = operands[0] if moves else computed(run, node, *operands)
    return values[first].reshape(root.meta.shape)


def too_large(node: Node) -> MemoryError:
    """Return the error for a node whose array cannot be made."""
    meta = node.meta
    whole = max((x.meta for x in node.inputs), key=lambda x: x.nbytes, default=meta)
    if whole.nbytes > meta.nbytes:
        return MemoryError(
            f"{node.op.name}: {meta.size} elements of a tensor of shape {whole.shape}, which the"
            f" cpu device cannot hold; at most {MAX_SAMPLED} of its elements can be computed alone"
        )
    return MemoryError(
        f"{node.op.name}: {meta.dtype} of shape {meta.shape} needs {meta.nbytes} bytes, more than"
        " the cpu device can hold"
    )


class _Indices:
    """Arrays of flat indices, each once: movement often leads to the same elements again."""

    def __init__(self, np: Any) -> None:
        self.arrays: list[Array] = []
        self._np = np
        self._by_hash: dict[int, list[int]] = {}

    def number(self, flat: Array) -> int:
        """Return the number of the array that is equal to the given one."""
        code = hash(tuple(flat) if flat.dtype == "O" else flat.tobytes())
        numbers = self._by_hash.setdefault(code, [])
        for number in numbers:
            if self._np.array_equal(self.arrays[number], flat):
                return number
        numbers.append(len(self.arrays))
        self.arrays.append(flat)
        return numbers[-1]


def _moved(np: Any, flat: Array, node: Node) -> Array:
    """Return the flat indices of a movement's operand for those of its result.

    They are int64 if that can hold the sum of all terms, and Python integers otherwise.
    """
    layout = layout_of(node)
    terms: list[tuple[Array, int]] = []
    bound = layout.offset
    for n, unit, stride in zip(layout.shape, row_major(layout.shape), layout.strides, strict=True):
        if n > 1 and stride and (flat.dtype == "O" or unit <= MAX_INT64):
            coordinates = flat // unit
            if flat.dtype == "O" or n <= MAX_INT64:
                coordinates %= n
            terms.append((coordinates, stride))
            bound += int(coordinates.max(initial=0)) * abs(stride)
    kind = np.int64 if bound <= MAX_INT64 else object
    moved = np.full(flat.shape, layout.offset, kind)
    for coordinates, stride in terms:
        if abs(stride) <= MAX_INT64 or kind is object:  # else all coordinates are 0
            moved += coordinates.astype(kind) * stride
    return moved


def _picked(np: Any, array: Array, flat: Array) -> Array:
    if array.ndim == 0:
        return np.full(flat.shape, array)
    return array[np.unravel_index(flat.astype(np.int64), array.shape)]
