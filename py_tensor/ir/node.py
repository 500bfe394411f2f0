"""The graph: immutable nodes, and what they refer to: ops, metas and devices.

Here are the bases of ops and devices. The ops are in `py_tensor.ir.op` and `py_tensor.ops`, the
devices in `py_tensor.backends`. Code that records nodes depends on no backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import count
from threading import RLock
from typing import Any, ClassVar, Final, Protocol

from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DeviceError
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, size_of
from py_tensor.ir.arrays import Array, Run

_TABLE_LIMIT = 1 << 16  # entries; a full table is cleared, which only costs time


def name_of(kind: str, index: int) -> str:
    """Return the name of a device, such as "webgpu" or "webgpu:1"."""
    return f"{kind}:{index}" if index else kind


class Eager(Protocol):
    """The interface of a backend that computes small ops as they are recorded."""

    def compute_at_once(self, node: Node, elements: int, alone: bool) -> bool:
        """Compute a node if it and the pending nodes it needs are small; return whether it did.

        Parameters
        ----------
        elements
            The number of elements that the node visits.
        alone
            Whether nothing else needs the first operand.
        """
        ...

    def element(self, node: Node, index: int) -> Node:
        """Return a computed copy of one element of a computed node, by flat index."""
        ...

    def assign(self, node: Node, index: int, value: Any) -> bool:
        """Write one element of a computed node, by flat index; return whether it did.

        `value` is a number or a node. The backend refuses if other code may see the memory, or if
        the value must be converted or checked.
        """
        ...

    def select(self, node: Node, layout: Layout, key: tuple[Any, ...]) -> Node | None:
        """Return the elements that a key selects from a view of a computed node.

        `layout` maps the view to the node's flat indices. Nodes in the key are computed. None if
        the view or the selection is large, or if the key is not valid.
        """
        ...

    def product(self, a: Node, b: Node, meta: Meta) -> Node | None:
        """Return the product of vectors or matrices of one dtype; None if it is large."""
        ...


class Device(ABC):
    """Where tensors are recorded, computed and stored.

    Attributes
    ----------
    kind : str
        The kind of the device, such as "webgpu".
    index : int
        Its number among the devices of its kind.
    name : str
        `str(device)`: the kind for index 0, else the kind and the index, such as "webgpu:1".
    lock : RLock
        Held by the thread that computes or reads, and released while it waits.
    uses_numpy : bool
        Whether NumPy computes its nodes, in all dtypes; that of a trace is its device's.
    computes_cpu_ops : bool
        Whether it computes ops of the class `CpuOp`. A trace does not, so that what is recorded on
        it consists of ops that can be batched.
    sync_each_op : bool
        Compute and wait for each op when it is recorded, so that its error is raised on its line.
    waits : bool
        Whether a read may have to wait for a GPU.
    is_ready : bool
        Whether its limits are known.
    eager : Eager, optional
        What computes small ops as they are recorded.
    unheld : deque of Node
        Nodes that no tensor held when they were counted, by any device.
    depth : int
        0 for a device that computes; that of a trace is one more than that of its device.
    checks : dict of Node to None
        Pending nodes that check indices; they are computed even if nothing needs their results.
    read_work : int
        Reading a result takes about as long as sorting this many 32-bit integers.
    """

    lock: RLock
    sync_each_op: bool
    waits = False
    eager: Eager | None = None

    def __init__(self, kind: str, index: int = 0, *, computes_cpu_ops: bool = False) -> None:
        self.kind = kind
        self.index = index
        self.name = name_of(kind, index)
        self.uses_numpy = self.computes_cpu_ops = computes_cpu_ops
        self.unheld = deque[Node]()
        self.checks: dict[Node, None] = {}
        self.depth = 0

    def __repr__(self) -> str:
        return f"device({self.name!r})"

    def __str__(self) -> str:
        return self.name

    @property
    def storing(self) -> Device:
        """The device that stores what is uploaded to this one."""
        return self

    def lifted(self, node: Node, holder: object) -> Node | None:
        """Return a node of this device for one of another device; None if that is not possible.

        `holder` is a tensor that holds the other node, so that nothing overwrites its elements.
        """
        return None

    @property
    @abstractmethod
    def is_ready(self) -> bool: ...

    @property
    @abstractmethod
    def read_work(self) -> int: ...

    @abstractmethod
    def check(self, op: str, meta: Meta) -> None:
        """Raise an error that names `op` if the device cannot hold tensors of this meta.

        Raises
        ------
        DTypeError
            If it does not have the dtype.
        MemoryError
            If they are too large.
        """

    # -- Recording ------------------------------------------------------------------------------

    @abstractmethod
    def record(self, node: Node, *, replacing: bool = False) -> None:
        """Record a node that a tensor holds.

        `replacing` means that the tensor of the first operand will hold this node instead.
        """

    @abstractmethod
    def collect(self) -> None:
        """Count the nodes that tensors ceased to hold; forget those that no tensor holds now."""

    @abstractmethod
    def forget_unheld(self) -> None:
        """Forget the nodes in `unheld`; the caller holds the lock."""

    @abstractmethod
    def count(self, nodes: int, elements: int) -> None:
        """Note nodes that no tensor holds: those inside a composition."""

    @abstractmethod
    def note_check(self, node: Node) -> None:
        """If a node checks indices, let the next read compute it, even if it is unused."""

    @abstractmethod
    def record_deferred(self, node: Node) -> None:
        """Record again a node that was recorded while `deferring`, so that it may be computed."""

    # -- Elements -------------------------------------------------------------------------------

    @abstractmethod
    def upload(self, data: memoryview, meta: Meta) -> Any:
        """Store elements; return the storage of their leaf."""

    @abstractmethod
    def compute(self, nodes: Iterable[Node], read: Node | None = None) -> object:
        """Compute nodes; `read` is the one that the caller reads as soon as this returns."""

    @abstractmethod
    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        """Return the elements of a computed node, or those in a layout, as bytes."""

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        return self.read(node, layout)

    def at_once(self, *nodes: Node) -> Eager | None:
        """Return what computes small ops at once, if it may and these nodes are computed."""
        return None

    def should_copy(self, node: Node) -> bool:
        """Return whether elements are read faster from a copy of a node, which is a small view."""
        return False

    def assign(self, node: Node, index: int, value: Any) -> bool:
        """Write one element of a node held by one tensor in place; return whether it did."""
        return False


class Meta:
    """Shape, dtype and device of a node: one object for each combination, compared by identity."""

    __slots__ = ("device", "dtype", "layout", "leaf_key", "nbytes", "shape", "size")

    def __init__(self, shape: Shape, dtype: DType, device: Device) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.layout = Layout.contiguous(shape)
        self.size = size_of(shape)
        self.nbytes = self.size * dtype.itemsize
        self.leaf_key = 0  # the key of leaves with this meta, once one was made

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


_metas: dict[tuple[Shape, DType, Device], Meta] = {}
_keys: dict[tuple[Op, Any, Meta], int] = {}
_next_key = count(1).__next__
next_number = count().__next__


def meta_of(shape: Shape, dtype: DType, device: Device) -> Meta:
    """Return the one Meta for this combination."""
    meta = _metas.get((shape, dtype, device))
    if meta is None:
        if len(_metas) >= _TABLE_LIMIT:
            _metas.clear()
        # Another thread may have made it meanwhile.
        meta = _metas.setdefault((shape, dtype, device), Meta(shape, dtype, device))
    return meta


# A vjp gets the incoming gradient, the result, the operands (all of them Tensors) and the node's
# attributes, and returns one gradient (or None) per operand. It is written with public functions,
# or records primitives, so that it can itself be differentiated.
# Spelled out for one to three operands, so that type checkers know the parameters of a lambda.
Vjp = (
    Callable[[Any, Any, Any, Any], tuple[Any, ...]]
    | Callable[[Any, Any, Any, Any, Any], tuple[Any, ...]]
    | Callable[[Any, Any, Any, Any, Any, Any], tuple[Any, ...]]
)


class NotDifferentiable:
    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE: Final = NotDifferentiable()


def _zero(g: Any, y: Any, *operands_and_attrs: Any) -> tuple[Any, ...]:
    return (None,) * (len(operands_and_attrs) - 1)


FLAT: Final[Vjp] = _zero  # of a piecewise constant op
Derivative = Vjp | NotDifferentiable


class Reason(Enum):
    """Why a value is stored at the end of a kernel, instead of fused into its users: a clause.

    A reason is recorded where the decision is made, for `pt.explain`. No decision depends on which
    reason it is, or on the notes of the builder and of row fusion.
    """

    ASKED = "its value was requested"
    LIVE = "a tensor holds it"
    # Set by `schedule/store.py`.
    FACTOR = "operand of a matrix product, which reads it many times"
    GATHERED = "it is indexed, and an index may select any element"
    BASE = "values are scattered into it"
    BUFFERS = "the kernel that uses it would bind too many buffers"
    LONG = "the kernel that uses it would be too long"
    SHARED = "several kernels use it, and reading it is cheaper than recomputing it"
    REPEATED = "it is broadcast, and would be recomputed for every copy"
    REREAD = "its elements are used several times, and would be recomputed for each use"
    LOOP = "a loop is cut between two iterations, and the next one uses it"
    # Set by `schedule/build.py`.
    VIEW = "no strides describe the order in which it is used"
    OVERWRITES = "it is computed from elements that it overwrites"
    CONCAT = "kernels for its operands write the parts of a concatenation"
    SEVERAL = "several kernels use the result of this reduction"
    AXES = "its user also reduces over other axes or another shape"
    # Set by `schedule/row_fusion.py`, for reductions that are not fused with their users.
    SHAPE = "the kernel that uses it runs over another shape"
    ROWS = "its rows are too long, too few or not contiguous, so one kernel would not save time"
    PRODUCT = "only values with the shape of its result can be fused into a matrix product"
    STAGES = "a scan, a sort or a similar op has dispatches of its own"
    ORDER = "another kernel has to run between this one and the one that uses it"


Notes = dict[int, Reason]  # by slot of the value


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """Base of all ops; ops compare by identity.

    Attributes
    ----------
    cost : int
        Approximate number of arithmetic instructions per element: the cost of recomputing.
    inline : bool
        A value can be computed inside the kernel of its consumer.
    is_reduction : bool
        A reduction, whose consumers may join its kernel; the op is a `Folding`.
    barrier : bool
        It ends a kernel in another way: its consumers only see its stored result.
    reads_by_map : bool
        Every element is an element of the first operand, found by an affine map; the op is a
        `Movement`.
    shifts : bool
        An element may be computed from operands at other indices, but the op is not a movement.
    generates : bool
        Elements depend on the attributes only; recomputing them is cheaper than reading them.
    constant : bool
        A 0-d value, which can be combined with operands of any shape and is not part of the key.
    writes : bool
        The result keeps the first operand's elements where the op does not write; it is not a view.
    variadic : bool
        It takes any number of operands, and `attrs` does not contain that number.
    linear : bool
        It is a linear function of all its operands together, so it is its own tangent.
    stops : bool
        The result is a constant to derivatives.
    previews : bool
        It shows a few elements of a large tensor, which need not be stored for that.
    arity : int or None
        The number of operands; None if it depends on the attributes or the operands.
    work_buffers : int
        Storage buffers that a dispatch binds besides operands, accumulators and results.
    stored_because : Reason
        Why the operands returned by `buffered` are stored.
    """

    name: str
    vjp: Derivative = field(kw_only=True)
    cost: int = field(default=1, kw_only=True)

    arity: ClassVar[int | None] = 1
    inline: ClassVar[bool] = False
    is_reduction: ClassVar[bool] = False
    barrier: ClassVar[bool] = False
    reads_by_map: ClassVar[bool] = False
    shifts: ClassVar[bool] = False
    generates: ClassVar[bool] = False
    constant: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    variadic: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    stops: ClassVar[bool] = False
    previews: ClassVar[bool] = False
    stored_because: ClassVar[Reason] = Reason.GATHERED
    work_buffers: ClassVar[int] = 0

    @property
    def operands(self) -> int | None:
        """The number of operands, for an op whose class does not determine it."""
        return self.arity

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        """Return the meta of the result; `bind` calls it once for operands of given metas.

        Raises
        ------
        DeviceError
            If operands are on several devices.
        ShapeError, DTypeError, IndexError, TypeError, ValueError
            If the op does not accept the operands or the attributes.
        """
        if len(metas) > 1:
            for meta in metas:
                if meta.device is not metas[0].device:
                    raise DeviceError(
                        f"{self.name}: operands on {metas[0].device} and {meta.device};"
                        " move one with x.to(device)"
                    )
        count = self.operands
        if not metas or (count is not None and len(metas) != count):
            wanted = f"{count} operands" if count and count > 1 else "1 operand"
            wanted = wanted if count else f"at least {wanted}"
            raise TypeError(f"{self.name}: takes {wanted}, not {len(metas)}")
        shape, dtype = self.shape_and_dtype(metas, attrs)
        return meta_of(shape, dtype, metas[0].device)

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        """Return the shape and dtype of the result; by default those of the first operand."""
        return metas[0].shape, metas[0].dtype

    def buffered(self, node: Node) -> tuple[Node, ...]:
        """Return the operands that are read by indices, so another kernel must store them."""
        return ()

    def reads_through(self, node: Node) -> bool:
        """Return whether a `buffered` operand may be computed at the indices instead."""
        return False

    def reads_whole(self, node: Node) -> tuple[Node, ...]:
        """Return the operands that are used whole if the whole result is computed."""
        return node.inputs

    def notes_faults(self, node: Node) -> bool:
        """Return whether the kernel records indices that are out of range."""
        return False

    def is_idempotent(self, node: Node) -> bool:
        """Return whether applying it to its own result returns the same result."""
        return False

    def is_written_in_pieces(self, node: Node) -> bool:
        """Return whether several kernels each write a piece of the node, which is then stored."""
        return False

    def reads_per_element(self, node: Node) -> int:
        """Return the number of elements of an operand that one element of the result uses."""
        return 1

    def share(self, node: Node, number: int) -> float:
        """Return the fraction of the result's elements that use the operand."""
        return 1.0

    def work(self, node: Node) -> int:
        """Return the number of elements that computing the node visits."""
        return node.meta.size

    def operations(self, node: Node) -> int:
        """Return the number of elementwise ops and folding steps of the node itself."""
        return 0

    def batched(self, attrs: Any) -> Any:
        """Return the attributes for operands and a result with one more axis in front.

        Raises
        ------
        NotImplementedError
            If the op cannot compute several examples at once.
        """
        raise NotImplementedError(f"vmap: {self.name} cannot compute several examples at once")

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        """Compute the node's elements from the arrays of its operands."""
        raise NotImplementedError(f"{self.name}: is not computed")

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def key_of(op: Op, attrs: Any, meta: Meta) -> int:
    """Return the structural key of a node without its operands.

    Nodes with equal keys compute the same and have equally many operands: for a variadic op,
    `attrs` includes that number. Keys are never reused. After the table is cleared, a structure
    gets a new key, and its plan is made again.
    """
    key = _keys.get((op, attrs, meta))
    if key is None:
        if len(_keys) >= _TABLE_LIMIT:
            _keys.clear()
        key = _keys.setdefault((op, attrs, meta), _next_key())
    return key


RELEASED: deque[Node] = deque()
"""A node for each tensor that ceased to hold it; a device counts these (`Device.collect`)."""


class Node:
    """One op applied to operands.

    Only `ir/bind.py` makes nodes, itself or by the makers in its recipes.

    A node never changes its value. Only these change: `storage`, when the node is computed (it then
    drops its operands and becomes a leaf), and the counts of how often tensors began and ceased
    to hold it.

    Attributes
    ----------
    op, inputs, attrs
        The computation. A constant's value is in `attrs` but not part of the key, so that one plan
        serves every value.
    meta : Meta
    key : int
        The structural key, without operands.
    number : int
        The position in the order of recording; operands come first.
    storage : object or None
        The backend's handle of the computed elements, which are contiguous.
    retains, releases : int
        How often a tensor began and ceased to hold this node, or a view of its stored elements.
        Calling a node adds it to `RELEASED`, from where `Device.collect` counts it.
    """

    __slots__ = ("attrs", "inputs", "key", "meta", "number", "op", "releases", "retains", "storage")

    # In this order, so that a recipe can hold all but the last, or for constants all but two.
    def __init__(self, op: Op, meta: Meta, key: int, attrs: Any, inputs: tuple[Node, ...]) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.meta = meta
        self.key = key
        self.number = next_number()
        self.storage: Any = None
        self.retains = 0
        self.releases = 0

    # Tensors call this when they are deleted (`Tensor.__del__`). A finalizer must not run any
    # Python code: an interrupt in it would be lost, and it may come while any lock is held. An
    # uncached `lru_cache` turns a function implemented in C into a method implemented in C.
    __call__ = lru_cache(maxsize=0)(RELEASED.append)

    def over(self, inputs: tuple[Node, ...]) -> Node:
        """Return a copy with other operands for planning; it is not computed and has no number."""
        node = Node.__new__(Node)
        node.op, node.inputs, node.attrs = self.op, inputs, self.attrs
        node.meta, node.key, node.storage = self.meta, self.key, None
        return node

    @property
    def ref_count(self) -> int:
        """An upper bound of the number of tensors that hold it, or a view of its elements."""
        return self.retains - self.releases

    def __repr__(self) -> str:
        state = "realized" if self.storage is not None else "pending"
        return f"<{self.op.name} {self.meta} {state}>"
