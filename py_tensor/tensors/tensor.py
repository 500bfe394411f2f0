"""The Tensor class: a cell that holds a graph node, or a view of such a cell.

`py_tensor.ops` adds its ops, methods and operators.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from numbers import Complex, Integral, Real
from operator import index as as_index
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn, cast
from weakref import ref

from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DeviceError, check_order
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, parse_shape, parse_sizes, resolve_reshape, size_of
from py_tensor.ir.bind import Recipes, Step, bind, bind_known, follow, step
from py_tensor.ir.node import RELEASED, Device, Meta, Node, meta_of
from py_tensor.ir.op import Elementwise, is_flat, layout_of
from py_tensor.ir.primitives import (
    ASSIGN,
    COMPLEX,
    COPY,
    EXPAND,
    IMAG_PART,
    REAL_PART,
    RESHAPE,
    VIEW,
    bits,
    constant,
)
from py_tensor.ir.recording import check_constant
from py_tensor.runtime.device import MAX_RELEASED
from py_tensor.runtime.host import host
from py_tensor.runtime.pool import COPIED_BYTES
from py_tensor.runtime.registry import WRITING
from py_tensor.schedule.order import bottom

if TYPE_CHECKING:
    from py_tensor.tensors.methods import Methods  # a stub, written by `npm run names`
else:
    Methods = object

__all__ = ["Tensor", "realize"]

_OF_SCALARS = {
    "as_integer_ratio": "f", "bit_count": "iu", "denominator": "iu", "hex": "f",
    "is_integer": "fiu", "numerator": "iu",
}  # fmt: skip
"""Methods of Python numbers that only scalars have, as in NumPy, and the kinds of their dtypes."""
MAX_PICKED = 256  # the most rows of a part that the host takes from its copy of a small tensor
MAX_MASKED_REDUCTIONS = 2
"""After this many reductions of a selection by a mask, the next one stores the elements."""
MAX_EXPORTED_BYTES = 1 << 20
"""The most bytes that are copied whole when NumPy gets a part of them (`View.keeps_strides`)."""
MAX_EXPORTED_RATIO = 4  # the same, as a multiple of the bytes of the part
MAX_DEAD_VIEWS = 64
"""Weak references to deleted views in `Owner.current` are removed beyond this number of entries."""


class Owner:
    """The bookkeeping of a tensor that owns memory: its views.

    Attributes
    ----------
    current : dict of int to weakref
        The views that hold a node made from the owner's current one, by id. All others rebuild
        theirs at the next use, so the cost of a write depends only on the views used since the last
        one.
    exported : tuple of ndarray, optional
        The copy of the memory that NumPy's arrays of the views share since the last write, and for
        each element whether it is in one of them (`convert/host_arrays.py`).
    writeable : bool
    selected : Selected, optional
        The mask and the values from which the node will be made.
    """

    __slots__ = ("__weakref__", "_most", "current", "exported", "selected", "writeable")

    def __init__(self, selected: Selected | None = None) -> None:
        self.current: dict[int, ref[Tensor]] = {}
        self.exported: tuple[Any, Any] | None = None
        self.selected = selected
        self.writeable = True
        self._most = MAX_DEAD_VIEWS

    def note(self, view: Tensor) -> None:
        """Record a view that holds a node made from the owner's current one."""
        current = self.current
        current[id(view)] = ref(view)
        if len(current) > self._most:
            for number, reference in list(current.items()):
                if reference() is None:
                    del current[number]
            self._most = MAX_DEAD_VIEWS + 2 * len(current)


@dataclass(slots=True)
class Selected:
    """The elements of a vector where a mask is true, while their number is unknown.

    Finding the number waits for the GPU. Sums and other reductions do not need it: they reduce all
    values with the mask.

    Attributes
    ----------
    mask, values : Tensor
        Both flat. They keep the elements as they were when the selection was made.
    find : callable
        Returns the values where a mask is true: `values_where` of `ops/gather.py`.
    left : int
        How often the values are still reduced with the mask.
    """

    mask: Tensor
    values: Tensor
    find: Callable[[Tensor, Tensor, int | None], Tensor]
    left: int = MAX_MASKED_REDUCTIONS

    def __post_init__(self) -> None:
        self.mask, self.values = self.mask._snapshot(), self.values._snapshot()  # pyright: ignore[reportPrivateUsage]

    @property
    def nbytes(self) -> int:
        """The bytes that are not freed because of this selection."""
        nodes = [x._node for x in (self.mask, self.values)]  # pyright: ignore[reportPrivateUsage]
        return sum(bottom(node).meta.nbytes for node in nodes)

    def count_reduction(self) -> bool:
        """Count one more reduction; return whether it should reduce all values with the mask.

        In a trace all of them do, because the number of values is never known.
        """
        self.left -= 1
        return self.left >= 0 or self.mask.device.depth > 0


@dataclass(slots=True, eq=False)
class View:
    """The view data of a tensor: the tensor that owns the memory, and the layout.

    Attributes
    ----------
    base : Tensor
        The owner of the memory, not a view itself.
    known : Layout, optional
        The layout, unless `find` still has to read indices for it, as for ``x[x.argmax()]``.
    writeable : bool
    find : callable, optional
        Returns the layout.
    part : op, optional
        The op from the base's elements to the view's: `REAL_PART` or `IMAG_PART` for complex ones,
        or `bits` for another dtype.
    """

    base: Tensor
    known: Layout | None
    writeable: bool
    find: Callable[[], Layout] | None = None
    part: Elementwise | None = None

    @property
    def layout(self) -> Layout:
        """The map from coordinates to the flat index of the base."""
        find = self.find  # before `known`: another thread may set both
        if self.known is None:
            assert find is not None
            self.known, self.find = find(), None  # the function keeps the tensors of the key
        return self.known

    @property
    def owner(self) -> Owner:
        return self.base._owner()  # pyright: ignore[reportPrivateUsage]

    @property
    def keeps_strides(self) -> bool:
        """Whether `np.asarray` keeps the strides, because it copies all of the base's memory."""
        base, layout = self.base, self.layout
        limit = MAX_EXPORTED_RATIO * layout.size * base.itemsize
        return base.nbytes <= max(MAX_EXPORTED_BYTES, limit)


class Tensor(Methods):
    """An n-dimensional array of one dtype on one device.

    Create tensors with `pt.array`, `pt.zeros` and similar functions; ``pt.ndarray(shape, dtype)``,
    an alias of this class, returns zeros. Ops check their operands immediately and compute later:
    when elements are read (`print`, `tolist`, `numpy`, `float`), at `realize`, or when many ops are
    pending.

    Assignment and in-place operators change the elements of the tensor and of all its views, as in
    NumPy. Nodes are immutable: a tensor that owns its memory is a cell that holds the current node.
    A write replaces that node; ops recorded earlier keep the old one. A view is rebuilt from its
    base's node after a write.
    """

    __slots__ = ("__weakref__", "_alias", "_node")
    __array_priority__ = 10  # above NumPy, below SciPy (10.1) and dask (11), which hold tensors
    _alias: Owner | View | None
    _node: Node  # unset for a view after a write to its base, and for a selection by a mask

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        """Return a type for annotations such as ``ndarray[Any, dtype]``."""
        return GenericAlias(cls, item)

    def __init__(
        self,
        shape: Node | int | Shape,  # a node, where an op makes the tensor
        dtype: Any = float,
        buffer: None = None,
        offset: int = 0,
        strides: None = None,
        order: str | None = None,
    ) -> None:
        node: Any = shape
        # In this order, an interrupt in between leaks a buffer; in the other, it loses a result.
        try:
            node.retains += 1
        except AttributeError:
            node = _zeros(shape, dtype, order, buffer, strides)
            node.retains += 1
        self._node = node
        self._alias = None
        if node.storage is None:
            node.meta.device.record(node)
        elif len(RELEASED) > MAX_RELEASED:
            node.meta.device.collect()

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """`Tensor`; for a scalar a subclass that is registered as a number.

            As in NumPy, ``isinstance(x.mean(), Real)`` and ``isinstance(x.argmax(), Integral)``.
            """
            if self._alias is None:  # `is_scalar`, without a call
                meta = self._node.meta
                if not meta.shape:
                    return _scalar_class(meta.dtype)
            return Tensor

        def __getattr__(self, name: str) -> Any:
            """Return the node if it is not made yet; raise with a hint for an unknown name."""
            if name == "_node":
                alias = self._alias
                if type(alias) is View:
                    return self._made_current(alias)
                selected = None if alias is None else alias.selected
                if selected is not None:
                    return self._resolve_selection(selected)
                return _node_of(self)  # another thread was faster
            if name == "_alias" or name.startswith("__"):
                # An error left the tensor incomplete; or NumPy asks for a protocol, at each call.
                raise AttributeError(f"'Tensor' object has no attribute '{name}'")
            kinds = _OF_SCALARS.get(name)
            if kinds is not None and self.dtype.kind in kinds and self.is_scalar:
                value = self.item()
                return (
                    getattr(value, name) if hasattr(value, name) else value.__float__().is_integer
                )
            if name == "strides":
                raise AttributeError(
                    f"strides: this is a view of {self.nbytes} of the {self.base.nbytes} bytes of"
                    " another tensor, and NumPy gets a copy without the others; use"
                    " x.copy().strides"
                )
            assert _refuse is not None
            return _refuse(name, self)

    @staticmethod
    def _of_selected(selected: Selected) -> Tensor:
        """Return a tensor whose node is made when it is first needed."""
        y = Tensor.__new__(Tensor)
        y._alias = Owner(selected)
        return y

    def _snapshot(self) -> Tensor:
        """Return a tensor that holds the present node and is not affected by writes."""
        y = Tensor.__new__(Tensor)
        node = self._node
        node.retains += 1
        y._node = node
        y._alias = None
        return y

    def _resolve_selection(self, selected: Selected, count: int | None = None) -> Node:
        """Make the node of a selection by a mask, whose number of elements is read unless given."""
        node = selected.find(selected.mask, selected.values, count)._node
        with WRITING:
            if _has_node(self):  # another thread was faster
                return self._node
            node.retains += 1
            self._node = node
            owner = self._owner()
            owner.selected = None
            if owner.writeable:
                self._alias = None
        return node

    async def _find_async(self) -> None:
        """Find the elements of a selection by a mask, without blocking."""
        selected = self._selected_by_mask
        if selected is not None:
            total = selected.mask.sum()
            (count,) = dtypes.values_of(await total._read_async(), total.dtype)
            self._resolve_selection(selected, int(count))

    @property
    def _selected_by_mask(self) -> Selected | None:
        """The mask and the values of a selection whose elements are not needed yet."""
        alias = self._alias
        if type(alias) is not Owner or alias.selected is None or _has_node(self):
            return None
        return alias.selected

    # -- Views, and writing ---------------------------------------------------------------------

    def _owner(self) -> Owner:
        """Return the record of the views of a tensor that is not a view."""
        if self._alias is None:
            with WRITING:
                self._alias = self._alias or Owner()
        assert type(self._alias) is Owner
        return self._alias

    @property
    def _layout(self) -> Layout:
        """The map from coordinates to flat indices of the memory."""
        alias = self._alias
        return alias.layout if type(alias) is View else self._node.meta.layout

    def _memory(self) -> tuple[Tensor, Elementwise | None]:
        """Return the tensor that owns the memory, and the op from its elements to this one's."""
        alias = self._alias
        return (alias.base, alias.part) if type(alias) is View else (self, None)

    def _view_by(
        self, layout: Layout, *, writeable: bool = True, part: Elementwise | None = None
    ) -> Tensor:
        """Return a view of this tensor's memory; for a scalar, which never changes, its value.

        With a `part`, a view of the real or the imaginary parts of complex elements. If this tensor
        is a view as another dtype, the result is a read-only copy.
        """
        alias = self._alias
        if type(alias) is View:
            if part is not None and alias.part is not None:
                return Tensor(bind(part, (self._node,)))._read_only()
            base, writeable = alias.base, writeable and alias.writeable
            part = alias.part or part
        elif alias is not None:
            base, writeable = self, writeable and alias.writeable
        elif self._node.meta.shape:
            base = self
        else:  # `is_scalar`, without a call
            return Tensor(_view_node(self._node, layout, part))
        seen, view = base._node, View(base, layout, writeable, part=part)
        return Tensor(_view_node(seen, layout, part))._as_view(view, seen)

    def _view_bits(self, dtype: DType) -> Tensor:
        """Return a view of this tensor's memory as elements of another dtype of the same size.

        For the parts of complex elements, and for a scalar, it is a copy.
        """
        base, _ = self._memory()
        if base.itemsize != self.itemsize or self.is_scalar:
            copied = self
            if dtype is not self.dtype:
                copied = Tensor(bind(bits(self.dtype, dtype), (self._node,)))
            return copied if self.is_scalar else copied._read_only()
        part = None if dtype is base.dtype else bits(base.dtype, dtype)
        return base._view_by(self._layout, writeable=self.flags.writeable, part=part)

    def _read_only(self) -> Tensor:
        """Make the tensor read-only and return it."""
        self.flags.writeable = False
        return self

    def _element(self, index: int) -> Tensor:
        """Return the element at a flat index of the memory, as a scalar."""
        base, part = self._memory()
        node = base._node
        whole = node.meta
        if node.storage is None and whole.device.should_copy(node):
            base._record(lambda view: bind(COPY, (view,)))
            node = base._node
        if part is None and (eager := whole.device.at_once(node)) is not None:
            return Tensor(eager.element(node, index))
        if whole.size > 1:
            meta = meta_of((), whole.dtype, whole.device)
            node = bind_known(VIEW, (node,), ((), (), index), meta)
        elif whole.shape:
            node = bind(RESHAPE, (node,), ())
        return Tensor(_copy_if_view(node) if part is None else bind(part, (node,)))

    def _selected(self, key: tuple[Any, ...]) -> Tensor | None:
        """Return the elements that a key of arrays selects, if the device computes them at once."""
        base, part = self._memory()
        if part is not None:
            return None
        items: list[Any] = []
        for item in key:
            if isinstance(item, Tensor):
                item = item._node
                if item.meta.device.at_once(item) is None:
                    return None
            items.append(item)
        node = base._node
        eager = node.meta.device.at_once(node)
        selected = None if eager is None else eager.select(node, self._layout, tuple(items))
        return None if selected is None else Tensor(selected)

    def _assign_element(self, index: int, value: Any) -> bool:
        """Write a value in place at a flat index of the memory, and return True, if possible."""
        base, part = self._memory()
        if part is not None or base._node.meta.device.eager is None:
            return False
        operand = value._node if type(value) is Tensor else value
        if base._alias is not None:
            with WRITING:
                base._forget_views()
        node = base._node
        return node.meta.device.assign(node, index, operand)

    def _found_view(self, read: Callable[[], Tensor], find: Callable[[], Layout]) -> Tensor:
        """Return the result of `read` on this tensor, as a view whose layout `find` returns."""
        base, part = self._memory()
        view, seen = View(base, None, self.flags.writeable, find, part), base._node
        return read()._as_view(view, seen)

    def _as_view(self, view: View, seen: Node) -> Tensor:
        """Turn a tensor whose node was made from the base's node into a view of the base."""
        base = view.base
        self._alias = view
        with WRITING:
            owner = base._alias
            if type(owner) is not Owner:
                owner = base._owner()
            owner.note(self)
            if base._node is not seen:
                self._drop_node()
        return self

    def _made_current(self, view: View) -> Node:
        """Make a view's node from the current node of its base."""
        return view.base._record(lambda base: _view_node(base, view.layout, view.part), self)

    def _record(self, make: Callable[[Node], Node], view: Tensor | None = None) -> Node:
        """Record the node that `make` creates from this tensor's node, which owns its memory.

        A view of this tensor takes the node if one is passed; otherwise it replaces the tensor's
        own. Recording may wait for memory, and other tasks and threads may write to the tensor
        meanwhile. The node is then made again, so that it is made from the current node.
        """
        replaces, holder = view is None, self if view is None else view
        if replaces and self._alias is not None:  # so that views keep no overwritten elements alive
            with WRITING:
                self._forget_views()
        while True:
            before = self._node
            node = make(before)
            if replaces and node.meta.device is not before.meta.device:
                raise traced_write("setitem")
            # First: once it is recorded, a flush of another thread forgets it if nothing holds it.
            node.retains += 1
            try:
                if node.storage is None:
                    # If the device computes pending nodes first, to free memory, it computes
                    # `before` as well: this tensor still holds it.
                    node.meta.device.record(node, replacing=replaces)
                with WRITING:
                    if self._node is before:
                        if view is not None:
                            self._owner().note(view)  # first: a write must find every node
                            view._drop_node()  # if another thread was faster
                            view._node = node
                            return node
                        if self._alias is not None:
                            self._forget_views()
                        self._node = node
                        RELEASED.append(before)
                        return node
            except BaseException:
                if not (_has_node(holder) and holder._node is node):  # else it was taken before
                    RELEASED.append(node)
                raise
            RELEASED.append(node)

    def _drop_node(self) -> None:
        """Drop a view's node, so that it is rebuilt at the next use."""
        with WRITING:
            try:
                node = _node_of(self)
            except AttributeError:
                return
            del self._node
            RELEASED.append(node)

    def _check_writeable(self, op: str) -> None:
        alias = self._alias
        if alias is None:
            if self._node.meta.shape:
                return
            if self._node.op is COPY:
                raise TypeError(f"{op}: a scalar is read-only; x[i, ...] is a writable view")
            self._owner()  # a result of an op becomes an array
        elif not alias.writeable:
            raise ValueError(f"{op}: the tensor is read-only; copy it")

    def _assign(self, layout: Layout, value: Node) -> None:
        """Write `value` to the memory at a layout in which no place occurs twice.

        `value` has the layout's shape and the tensor's dtype, or is a constant.

        Raises
        ------
        MemoryError
            If the tensor is larger than any buffer, so that a part of it cannot be assigned.
        """
        size = size_of(layout.shape)
        if not size:
            return
        base, part = self._memory()
        meta = base._node.meta
        if layout is meta.layout or (size == meta.size and layout.is_contiguous):
            value = _copy_if_view(value)

            def made(whole: Node) -> Node:
                written = value if part is None else _with_part(whole, layout, value, part)
                if written.meta is meta:
                    return written
                return bind(RESHAPE if written.meta.shape else EXPAND, (written,), meta.shape)

        else:
            if base._node.storage is None:  # what is stored is not too large
                meta.device.check("setitem", meta)
            attrs = layout.shape, layout.strides, layout.offset

            def made(whole: Node) -> Node:
                written = value if part is None else _with_part(whole, layout, value, part)
                return bind(ASSIGN, (whole, written), attrs)

        base._record(made)

    def _forget_views(self) -> None:
        """Drop the nodes of all views, so that they are rebuilt at their next use."""
        owner = self._alias
        assert type(owner) is Owner
        owner.exported = None
        current = owner.current
        for number in list(current):
            reference = current.get(number)
            view = reference() if reference is not None else None
            if view is not None:
                view._drop_node()
            current.pop(number, None)  # last, so that an interrupt leaves no view with an old node

    def _is_at(self, x: Tensor, layout: Layout) -> bool:
        """Return whether this is the view of x's memory at a layout: assigning it has no effect."""
        alias = self._alias
        if type(alias) is not View or alias.known is None:
            return False
        if alias.layout is not layout and alias.layout != layout:
            return False
        base, part = (x._alias.base, x._alias.part) if type(x._alias) is View else (x, None)
        return alias.base is base and alias.part is part

    @property
    def is_scalar(self) -> bool:
        """Whether the tensor corresponds to a NumPy scalar: a 0-d result of an op, or one element.

        In-place operators return a new scalar and do not affect other names bound to the old one. A
        scalar is hashed by value, so it can be a key in sets and dicts. Tensors of shape () from
        `array`, `zeros` and similar functions, and 0-d views, are arrays and not hashable.
        """
        return self._alias is None and not self._node.meta.shape

    @property
    def base(self) -> Tensor | None:
        """The tensor that owns the memory of this view; None if this tensor owns its memory."""
        return self._alias.base if type(self._alias) is View else None

    @property
    def flags(self) -> Flags:
        """Information about the memory layout, such as ``x.flags.writeable``."""
        return Flags(self)

    def copy(self, order: str | None = "C") -> Tensor:
        """Return a copy that owns its memory, in row-major order.

        With ``order="F"`` the result is column-major: a view of a copy with its axes reversed.
        Memory is allocated when one of the two is written to.
        """
        check_order("copy", order)
        if order in ("F", "f") and self.ndim > 1:
            reverse: Any = self
            return reverse.T.copy().T
        copied = self._copy_or_scalar()
        if not (self._node.meta.shape or self.is_scalar):
            copied._owner()
        return copied

    def _copy_or_scalar(self) -> Tensor:
        """Return a copy, which is a scalar if it is 0-d."""
        return Tensor(_copy_if_view(self._node))

    # -- Attributes -----------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The size of each axis. Setting it reshapes the tensor in place, without a copy."""
        return self._node.meta.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        target = resolve_reshape("shape", self.shape, parse_sizes("shape", shape))
        layout = self._layout.reshaped(target)
        if layout is None:
            raise AttributeError(
                f"shape: {self.shape} cannot become {target} without a copy; use reshape"
            )
        if type(self._alias) is View:
            self._drop_node()
            self._alias.known = layout
            return
        if not self.is_scalar:
            self._owner()
        self._record(lambda node: _view_node(node, layout))

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self._node.meta.dtype

    @property
    def device(self) -> Device:
        """The device that holds the elements."""
        return self._node.meta.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._node.meta.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._node.meta.size

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, on the host."""
        return self._node.meta.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size of all elements in bytes, on the host."""
        return self._node.meta.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes to step along each axis to reach the next element.

        Raises
        ------
        AttributeError
            If the tensor is a view of less than a quarter of another one of more than 1 MiB:
            `np.asarray` copies its elements alone, and the strides would lead out of that copy.
        """
        alias = self._alias
        if type(alias) is View and not alias.keeps_strides:
            raise AttributeError  # `__getattr__` raises it with the reason
        return self._steps

    @property
    def _steps(self) -> tuple[int, ...]:
        """The strides in bytes, for any view."""
        base, _ = self._memory()
        return tuple(base.itemsize * s for s in self._layout.strides)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Tensor:
        return self.copy()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        """Return whether any element equals `value`, which broadcasts."""
        matches: Any = self == value
        return bool(matches.any()) if isinstance(matches, Tensor) else False

    # -- Computation ----------------------------------------------------------------------------

    def realize(self) -> Tensor:
        """Start computing the elements without waiting for the GPU; return self."""
        realize(self)
        return self

    def _to_read(self) -> Node:
        """Return a node with this tensor's elements, contiguous, for a read."""
        node = self._node
        if node.meta.size == 0:
            return node
        while node.storage is None and is_flat(node):  # the same elements in the same order
            node = node.inputs[0]
        if node.storage is None:
            node.meta.device.check(self._node.op.name, node.meta)
            if node.op.reads_by_map or node.op.generates:
                node = bind(COPY, (node,))
        return node

    def _source(self) -> tuple[Node, Layout | None]:
        """Return the node to read for this tensor's elements, and their layout in it.

        None means all of the node's elements in order. A small node is read as a whole, because the
        host keeps a copy of it. `pt.explain` asks for it, too, and computes nothing.
        """
        return _part_of_small(self._node) or (self._to_read(), None)

    def _stored(self) -> tuple[Node, Layout | None]:
        """Return `_source`, computed."""
        device = self._node.meta.device
        with device.lock:
            device.collect()
            node, layout = self._source()
            if node.meta.size and (node.storage is None or device.checks):
                device.compute([node], read=node)
        return node, layout

    def _read(self) -> memoryview:
        """Return the elements as bytes, waiting for the GPU."""
        node = self._node
        if node.storage is not None and node.meta.size and not node.meta.device.checks:
            return node.meta.device.read(node)
        known = _bytes_known(node) if node.op.constant else None
        if known is not None:
            return known
        node, layout = self._stored()
        return node.meta.device.read(node, layout)

    async def _read_async(self) -> memoryview:
        await self._find_async()
        known = _bytes_known(self._node) if self._node.op.constant else None
        if known is not None:
            return known
        node, layout = self._stored()
        return await node.meta.device.read_async(node, layout)

    # -- Conversion to other types --------------------------------------------------------------

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python scalars; a 0-d tensor returns a scalar."""
        check_constant(self._node, "tolist")
        return _nest(dtypes.values_of(self._read(), self.dtype), self.shape)

    def tobytes(self, order: str = "C") -> bytes:
        """Return the elements as bytes, `x.itemsize` bytes per element.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}
            Row-major ("C") or column-major ("F"). "A" means "F" if the elements are in column-major
            order, else "C". "K" means "C", as in NumPy.
        """
        check_constant(self._node, "tobytes")
        return bytes(self.ravel("C" if order in ("K", "k") else order)._read())

    def item(self, *index: Any) -> Any:
        """Return the only element, or the element at an index, as a Python scalar.

        Parameters
        ----------
        *index
            An int for each axis, a tuple of them, or one int that counts in row-major order.

        Raises
        ------
        ValueError
            If no index is passed and the tensor does not have exactly one element.
        IndexError
            If an index is out of range.
        TypeError
            If an index is not made of ints.
        """
        if index:
            chosen: Any = index[0] if len(index) == 1 else index
            try:
                if isinstance(chosen, tuple):
                    return self[tuple(map(as_index, cast("tuple[Any, ...]", chosen)))].item()
                return self.flat[as_index(chosen)].item()
            except TypeError:
                raise TypeError(f"item: the index must be ints, not {chosen!r}") from None
        if self.size != 1:
            raise ValueError(
                f"item: a tensor of shape {self.shape} must have one element, not {self.size}"
            )
        check_constant(self._node, "item")
        return self._value()

    def _value(self) -> Any:
        """Return the only element; also of what is differentiated, for a branch or an index."""
        return dtypes.values_of(self._read(), self.dtype)[0]

    def __float__(self) -> float:
        return self._as_number(float)

    def __complex__(self) -> complex:
        return self._as_number(complex)

    def __int__(self) -> int:
        return self._as_number(int)

    __trunc__ = __int__

    def _as_number(self, kind: type) -> Any:
        """Return the only element; for a complex one its real part, as in NumPy."""
        if self.size != 1:
            raise TypeError(
                f"{kind.__name__}: takes a tensor of one element, not shape {self.shape}"
            )
        if kind is not int:
            check_constant(self._node, kind.__name__)
        if self.dtype.is_complex and kind is not complex:
            dtypes.warn_of_loss(self.dtype, dtypes.real_of(self.dtype))
            return kind(self._value().real)
        return kind(self._value())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"bool: the truth of a tensor of shape {self.shape} is ambiguous; "
                "use any() or all()"
            )
        node = self._node
        if node.storage is None and isinstance(node.op, Elementwise) and node.op.decide is not None:
            with node.meta.device.lock:
                inputs = node.inputs
                numbers = [number for x in inputs for number in _numbers(x)]
            if 0 < len(numbers) == len(inputs):  # all elements are known to the host
                return node.op.decide(*numbers)
        return bool(self._value())

    def __hash__(self) -> int:
        """Return the hash of a scalar's value, which is read; NaN is hashed by identity.

        Raises
        ------
        TypeError
            If the tensor is an array, whose elements may change, as in NumPy.
        """
        if not self.is_scalar:
            raise TypeError(
                f"unhashable type: a tensor of shape {self.shape} is mutable; use id(x) as a key"
            )
        value = self._value()
        return hash(value) if value == value else object.__hash__(self)  # NaN equals nothing

    def __index__(self) -> int:
        if not self.dtype.is_integer or self.ndim:
            raise TypeError(
                f"only a 0-d integer tensor is an index, not {self.dtype} of shape {self.shape}"
            )
        return int(self._value())

    def __format__(self, spec: str) -> str:
        return format(self._value(), spec) if not self.ndim else object.__format__(self, spec)

    def __bytes__(self) -> bytes:
        """Return the elements as bytes, in row-major order."""
        # There is no `__buffer__`: NumPy ignores errors in it, and would lose an interrupt.
        check_constant(self._node, "bytes")
        return bytes(self._read())

    def numpy(self) -> Any:
        """Return the elements as a new NumPy array of the same shape and dtype."""
        check_constant(self._node, "numpy")
        return self._as_array(host.load_numpy(), self._read())

    async def to_numpy_async(self) -> Any:
        """Asynchronous version of `numpy`, for hosts where Python cannot block."""
        check_constant(self._node, "to_numpy_async")
        return self._as_array(await host.load_numpy_async(), await self._read_async())

    def _as_array(self, np: Any, data: memoryview) -> Any:
        array = np.frombuffer(data, self.dtype.in_numpy(np), self.size).reshape(self.shape)
        return array.copy() if data.readonly else array  # nothing else has a writable buffer


@cache
def _scalar_class(dtype: DType) -> type:
    """Return the class of a dtype's scalars for `isinstance`: a subclass of Tensor.

    It is registered with the abstract classes of `numbers`, as NumPy's scalar types are. No object
    is of this type: calling the class creates a scalar tensor.
    """

    def new(cls: object, value: object = 0) -> object:
        return dtype(value)

    made = type(dtype.name, (Tensor,), {"__module__": "py_tensor", "__slots__": (), "__new__": new})
    numbers: dict[Any, Any] = {int: Integral, float: Real, complex: Complex}
    number = numbers.get(dtypes.converter(dtype))
    if number is not None:
        number.register(made)
    return made


_node_of: Callable[[Tensor], Node] = vars(Tensor)["_node"].__get__  # without `__getattr__`
# Deleting a tensor calls what the slot `_node` contains: `Node.__call__`, without any Python code.
# If the slot is empty, nothing happens.
setattr(Tensor, "__del__", vars(Tensor)["_node"])  # noqa: B010 - unknown to type checkers


def _has_node(tensor: Tensor) -> bool:
    try:
        _node_of(tensor)
    except AttributeError:
        return False
    return True


class Flags:
    """Information about the memory layout of a tensor, like NumPy's `flags`.

    Attributes
    ----------
    writeable : bool
        Whether elements can be assigned. Can be set to False, and to True only if the base is
        writeable.
    owndata : bool
        Whether the tensor owns its memory.
    c_contiguous, f_contiguous : bool
        Whether the elements are contiguous in row-major or column-major order. `forc` is true if
        either is, `fnc` if only the second is.
    aligned : bool
        Always True.
    writebackifcopy : bool
        Always False.

    Notes
    -----
    NumPy's other names are supported too: `contiguous`, `fortran`, `behaved`, `carray`, `farray`
    and `num`, and short keys such as ``x.flags["C"]``.
    """

    __slots__ = ("_tensor",)
    aligned = True
    writebackifcopy = False

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    @property
    def writeable(self) -> bool:
        alias = self._tensor._alias  # pyright: ignore[reportPrivateUsage]
        return alias is None or alias.writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        tensor = self._tensor
        alias = tensor._alias or tensor._owner()  # pyright: ignore[reportPrivateUsage]
        if (value and type(alias) is View) and not (
            alias.owner.writeable and alias.layout.is_injective
        ):
            raise ValueError("flags: the view's memory is read-only")
        alias.writeable = bool(value)

    @property
    def owndata(self) -> bool:
        return self._tensor.base is None

    @property
    def c_contiguous(self) -> bool:
        return self._is_contiguous(tuple(range(self._tensor.ndim)))

    @property
    def f_contiguous(self) -> bool:
        return self._is_contiguous(tuple(reversed(range(self._tensor.ndim))))

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def carray(self) -> bool:
        return self.writeable and self.c_contiguous

    @property
    def farray(self) -> bool:
        return self.writeable and self.fnc

    @property
    def num(self) -> int:
        """The sum of the bits with which NumPy represents the flags."""
        return sum(getattr(self, name) * bit for name, bit in _FLAG_BITS.items())

    contiguous, fortran = c_contiguous, f_contiguous

    @property
    def behaved(self) -> bool:
        return self.writeable

    def _is_contiguous(self, order: tuple[int, ...]) -> bool:
        alias = self._tensor._alias  # pyright: ignore[reportPrivateUsage]
        layout = self._tensor._layout  # pyright: ignore[reportPrivateUsage]
        if type(alias) is View and alias.part in (REAL_PART, IMAG_PART):
            return layout.size <= 1
        return replace(layout, offset=0).permuted(order).is_contiguous or not layout.size

    def __getitem__(self, name: str) -> bool:
        return getattr(self, _flag_of(name))

    def __setitem__(self, name: str, value: bool) -> None:
        attribute = _flag_of(name)
        if attribute not in ("writeable", "aligned"):
            raise KeyError(f"flags: {name} cannot be set")
        if attribute == "writeable":
            self.writeable = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.num == other.num

    __hash__ = None  # type: ignore[assignment] - `writeable` can be changed

    def __repr__(self) -> str:
        return "\n".join(f"  {name.upper()} : {getattr(self, name)}" for name in _FLAG_BITS)


_FLAG_BITS = {
    "c_contiguous": 1,
    "f_contiguous": 2,
    "owndata": 4,
    "writeable": 0x400,
    "aligned": 0x100,
    "writebackifcopy": 0x2000,
}
"""The printed flags, in NumPy's order."""

_SHORT_FLAGS = {
    "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "F": "f_contiguous",
    "FORTRAN": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned",
    "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray",
}  # fmt: skip


def _flag_of(name: object) -> str:
    """Return the attribute for a key of `flags`, as NumPy writes it."""
    text = str(name)
    attribute = _SHORT_FLAGS.get(text, text.lower())
    known = {*_FLAG_BITS, *_SHORT_FLAGS.values(), "forc", "fnc"}
    if text != text.upper() or attribute not in known:
        raise KeyError(f"flags: unknown flag {name!r}")
    return attribute


def _zeros(shape: Any, dtype: Any, order: str | None, buffer: None, strides: None) -> Node:
    """Return the node of ``pt.ndarray(shape, dtype)``: zeros, although NumPy's is uninitialized."""
    if buffer is not None or strides is not None:
        raise TypeError("ndarray: buffer and strides are not supported; use pt.frombuffer")
    check_order("ndarray", order, "CF")
    if not (isinstance(shape, tuple) or hasattr(shape, "__index__")):  # a list would be elements
        raise TypeError(
            f"Tensor: takes a shape, an int or a tuple of ints, not {type(shape).__name__};"
            " use pt.tensor(...) to create a tensor from data"
        )
    sizes = parse_shape("ndarray", cast("Any", shape))
    meta = meta_of(sizes, dtypes.parse(dtype), default_device())
    meta.device.check("ndarray", meta_of((), meta.dtype, meta.device))
    return bind(EXPAND, (constant("ndarray", 0, meta.dtype, meta.device),), meta.shape)


def _copy_if_view(node: Node) -> Node:
    """Return the same elements, copied if they are a part of a larger buffer."""
    if node.op.reads_by_map and bottom(node).meta.size > node.meta.size > 0:
        return bind(COPY, (node,))
    return node


def _view_node(node: Node, layout: Layout, part: Elementwise | None = None) -> Node:
    """Return the elements of a node at a layout of its flat indices, or a part of each."""
    if part is not None:
        return bind(part, (_view_node(node, layout),))
    return follow(node, _views[node.meta, layout.shape, layout.strides, layout.offset])


def _with_part(whole: Node, layout: Layout, value: Node, part: Elementwise) -> Node:
    """Return the elements to write so that `value` becomes a part of them, or their bits.

    The other part of complex elements is unchanged.
    """
    if part is REAL_PART:
        return bind(COMPLEX, (value, _view_node(whole, layout, IMAG_PART)))
    if part is IMAG_PART:
        return bind(COMPLEX, (_view_node(whole, layout, REAL_PART), value))
    source, target = value.meta.dtype, whole.meta.dtype
    if value.op.constant:
        (number,) = dtypes.values_of(source.bytes_of(value.attrs), target)
        return constant(target.name, number, target, value.meta.device)
    return bind(bits(source, target), (value,))


def _steps_to(
    source: Meta, shape: Shape, strides: tuple[int, ...], offset: int
) -> tuple[Step, ...]:
    layout = Layout(shape, strides, offset)
    if layout.size == source.size and layout.is_contiguous:
        return () if shape == source.shape else (step(RESHAPE, source, shape),)
    return (step(VIEW, source, (shape, strides, offset)),)


_views = Recipes[tuple[Meta, Shape, tuple[int, ...], int], tuple[Step, ...]](_steps_to)


def _nest(flat: list[Any], shape: Shape) -> Any:
    if not shape:
        return flat[0]
    for axis in range(len(shape) - 1, 0, -1):
        n = shape[axis]
        flat = [flat[i * n : i * n + n] for i in range(size_of(shape[:axis]))]
    return flat


def _numbers(node: Node) -> list[Any]:
    """Return the element of a constant or of one element of a small tensor as a list; else []."""
    dtype, device = node.meta.dtype, node.meta.device
    if node.op.constant:
        return dtypes.values_of(dtype.bytes_of(node.attrs), dtype)
    if node.meta.size != 1 or device.checks:
        return []
    selection = None if node.storage is not None else _part_of_small(node)
    whole, layout = selection or (node, None)
    if whole.storage is None:
        return []
    return dtypes.values_of(device.read(whole, layout), dtype)


def _bytes_known(node: Node) -> memoryview | None:
    """Return the bytes of a constant; None if the read has indices to check, and so computes it."""
    if node.storage is not None or node.meta.device.checks:
        return None
    return node.meta.dtype.bytes_of(node.attrs)


def _part_of_small(node: Node) -> tuple[Node, Layout | None] | None:
    """Return a small node that is or will be stored, and the part of it that a node copies.

    None for the part means all of it, in order.
    """
    if node.storage is None and node.op is COPY:
        node = node.inputs[0]
    if node.storage is not None or not node.op.reads_by_map or not node.meta.size:
        return None
    below, shape = node.inputs[0], node.meta.shape
    is_small = node.meta.size <= below.meta.size and below.meta.nbytes <= COPIED_BYTES
    is_held = below.storage is not None or (below.ref_count and not below.op.reads_by_map)
    if not is_small or not is_held or size_of(shape[:-1]) > MAX_PICKED:
        return None
    return below, None if is_flat(node) else layout_of(node)


def traced_write(op: str) -> DeviceError:
    """Return the error for a write that would make a tensor depend on a traced value."""
    return DeviceError(
        f"{op}: a traced value cannot be written to a tensor that is not traced; pass the tensor as"
        " an argument, or create it like one: pt.zeros_like(x), or device=x.device"
    )


def realize(*tensors: Tensor) -> None:
    """Start computing all `tensors` together, without waiting for the GPU.

    Raises
    ------
    MemoryError
        If a tensor is larger than the device's largest buffer.
    """
    by_device = defaultdict[Device, list[Node]](list)
    checked: Meta | None = None
    for x in tensors:
        node = x._node  # pyright: ignore[reportPrivateUsage]
        meta = node.meta
        if node.storage is None and meta.size:
            if meta is not checked:
                lowest = bottom(node)
                if lowest.storage is None and lowest.meta.size == meta.size:
                    meta.device.check(node.op.name, meta)
                    checked = meta
            by_device[meta.device].append(node)
    for device, nodes in by_device.items():
        device.compute(nodes)


Method = Callable[..., Any]
INSTALLED: set[str] = set()  # names of methods, operators and properties that definitions add


def install(name: str, function: Method | property) -> None:
    """Install `function` as a method of Tensor; its first parameter is the tensor."""
    INSTALLED.add(name)
    setattr(Tensor, name, function)


Refuse = Callable[[str, object], NoReturn]
_refuse: Refuse | None = None
_public: Any = None


def publish(namespace: Any, refuse: Refuse) -> None:
    """Set the package, and the function that raises the error for an attribute that is missing.

    Modules that find public functions by their names get them from `public`.
    """
    global _public, _refuse
    _public, _refuse = namespace, refuse


def public() -> Any:
    """Return the package with its public functions, as `__array_namespace__` does."""
    return _public


Convert = Callable[..., Tensor]  # as `convert.conversion.asarray`
_convert: Convert | None = None


def convert_by(convert: Convert) -> None:
    """Set the function that `tensor_of` uses; it is in a layer above the ops."""
    global _convert
    _convert = convert


def tensor_of(
    x: Any, op: str, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Convert an operand to a tensor; a tensor is returned unchanged unless it must be converted.

    Ops convert operands only through this function. Errors name `op`.
    """
    if isinstance(x, Tensor) and dtype is None and device is None:
        return x
    assert _convert is not None, "py_tensor.convert is not imported"
    return _convert(x, dtype, device=device, op=op)


def _scalar_of(value: Any, dtype: DType) -> Tensor:
    """Return what a dtype makes of a value when it is called; a Python number takes no memory."""
    if type(value) in (bool, int, float, complex) and dtype.on_gpu:
        return Tensor(constant(dtype.name, value, dtype, default_device()))
    made = tensor_of(value, dtype.name, dtype=dtype)
    return made if made.ndim else made._copy_or_scalar()  # pyright: ignore[reportPrivateUsage]


dtypes.make_scalars_by(_scalar_of)
