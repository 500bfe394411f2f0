"""The cpu device: every op's NumPy meaning, applied to the same graph."""

from __future__ import annotations

from typing import Any

from py_tensor.graph.kernel import Check
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.op import Cast, Elementwise, Movement, Reduction, Scan, Sort
from py_tensor.graph.order import Request, uses_of
from py_tensor.graph.primitives import (
    ASSIGN,
    CONCAT,
    CONST,
    CONTRACT,
    GATHER,
    INDEX,
    PAD,
    SCATTER,
    layout_of,
    leaf_key,
)

Array = Any  # numpy.ndarray: NumPy is imported only when this device is used


class CPU:
    """A backend whose storage is a contiguous NumPy array."""

    def __init__(self, numpy: Any) -> None:
        self.np = numpy
        self.max_bytes = 2**62
        self.pending_work = self.ahead_work = 2**62
        self.computed = 0
        self._out_of_range: list[str] = []

    def info(self) -> dict[str, Any]:
        return {"backend": "cpu", "numpy": self.np.__version__}

    def check(self, op: str, meta: Meta) -> None:
        """Every dtype and any size: memory is the only limit."""

    def upload(self, data: memoryview, meta: Meta) -> Array:
        flat = self.np.frombuffer(bytes(data), dtype=meta.dtype.name)
        return flat.reshape(meta.shape)

    def compute(self, request: Request) -> None:
        values: list[Array] = []
        uses = uses_of(request.order)
        self._out_of_range: list[str] = []
        with self.np.errstate(all="ignore"):
            for node in request.order:
                values.append(
                    node.storage
                    if node.storage is not None
                    else self._value(node, values, uses, request.wanted)
                )
        for slot in request.wanted:
            node = request.order[slot]
            array = self.np.ascontiguousarray(values[slot]).reshape(node.meta.shape)
            node.storage = array.copy() if array.base is not None else array
            node.key = leaf_key(node.meta)
            node.inputs = ()
            self.computed += 1
        if self._out_of_range:  # everything is computed, so that this is raised once
            raise IndexError(self._out_of_range[0])

    def _value(self, node: Node, values: list[Array], uses: list[int], kept: set[int]) -> Array:
        """What a node computes; it is written over if it is used once and not `kept`."""
        np, op = self.np, node.op
        operands = [values[x.slot] for x in node.inputs]
        dtype = node.meta.dtype.name
        if op is CONST:
            return np.array(node.attrs, dtype=dtype)
        if op is INDEX:
            return np.arange(node.meta.size, dtype=np.int64).astype(dtype).reshape(node.meta.shape)
        if isinstance(op, Movement):
            return self._moved(node, operands[0])
        if isinstance(op, Cast):
            return _cast(np, operands[0], dtype)
        if op is PAD:
            return np.pad(operands[0], node.attrs, constant_values=operands[1])
        if op is CONTRACT:
            return _contract(np, operands[0], operands[1], node.attrs)
        if op is ASSIGN:
            whole = node.inputs[0]
            passing = whole.op is ASSIGN and whole.storage is None and whole.slot not in kept
            copy = uses[whole.slot] > 1 or not passing
            return self._assigned(node, *operands, copy=copy)
        if op is CONCAT:
            return np.concatenate(operands, axis=node.attrs)
        if isinstance(op, Reduction):
            return np.asarray(op.numpy(np, operands[0], node.attrs)).astype(dtype, copy=False)
        if op is GATHER:
            axes, at, name = node.attrs
            places, _ = self._places(operands[0], operands[1:], axes, at, name)
            return operands[0][places]
        if op is SCATTER:
            axes, at, name, mode, _ = node.attrs
            places, inside = self._places(operands[0], operands[2:], axes, at, name)
            return _scattered(np, operands[0], places, inside, operands[1], mode)
        if isinstance(op, Scan):
            wide = np.float64 if node.meta.dtype.kind == "f" else dtype
            return op.numpy(np, operands[0].astype(wide, copy=False), node.attrs[0]).astype(dtype)
        if isinstance(op, Sort):
            axis, descending = node.attrs
            return _sorted(np, operands[0], axis, descending, op.indices)
        assert isinstance(op, Elementwise)
        return np.asarray(op.numpy(np, *operands)).astype(dtype, copy=False)

    def _assigned(self, node: Node, whole: Array, value: Array, *, copy: bool) -> Array:
        """`whole` with a value written to the places of a view of it."""
        shape, strides, offset = node.attrs
        written = self.np.array(whole, order="C") if copy else whole
        flat = written.reshape(-1)[offset:]
        strides = tuple(written.itemsize * s for s in strides)
        self.np.lib.stride_tricks.as_strided(flat, shape, strides)[...] = value
        return written

    def _places(
        self, x: Array, indices: list[Array], axes: tuple[int, ...], at: int, op: str
    ) -> tuple[tuple[Array, ...], Array]:
        """An index of NumPy's that names elements of `x`, clipped, and which are in range."""
        np = self.np
        places: list[Array] = [None] * x.ndim
        inside = np.ones(indices[0].shape, bool)
        for axis, given in zip(axes, indices, strict=True):
            n = x.shape[axis]
            place = _from_the_end(np, given.astype(np.int64), n)
            good = (place >= 0) & (place < n)
            inside &= good
            if op and not good.all():
                check = Check(op, axis, x.shape, True)
                self._out_of_range.append(check.message(int(given[~good].reshape(-1)[0])))
            places[axis] = np.clip(place, 0, n - 1)
        rest = [axis for axis in range(x.ndim) if axis not in axes]
        behind = indices[0].ndim - (len(rest) - at)
        dims = [*range(at), *range(behind, indices[0].ndim)]
        for axis, dim in zip(rest, dims, strict=True):
            shape = [-1 if d == dim else 1 for d in range(indices[0].ndim)]
            places[axis] = np.arange(x.shape[axis]).reshape(shape)
        return tuple(places), inside

    def _moved(self, node: Node, operand: Array) -> Array:
        np, layout = self.np, layout_of(node)
        flat = np.ascontiguousarray(operand).reshape(-1)
        if node.meta.size == 0:
            return np.empty(node.meta.shape, operand.dtype)
        width = operand.itemsize
        view = flat[layout.offset :] if layout.offset else flat
        strides = tuple(width * s for s in layout.strides)
        return np.lib.stride_tricks.as_strided(view, layout.shape, strides, writeable=False)

    def may_overwrite(self, node: Node) -> bool:
        """Never: it computes everything into memory of its own."""
        return False

    def read(self, node: Node) -> memoryview:
        return (
            memoryview(node.storage.reshape(-1).view("u1")).cast("B")
            if node.meta.size
            else memoryview(b"")
        )

    async def read_async(self, node: Node) -> memoryview:
        return self.read(node)

    def synchronize(self) -> None:
        """Everything is done as soon as it is computed."""

    async def synchronize_async(self) -> None:
        """Everything is done as soon as it is computed."""

    def memory_info(self) -> dict[str, int]:
        return {"computed": self.computed}

    def empty_cache(self) -> None:
        """There is no cache."""

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Each op waits as it is, and no memory is used before it is written."""


def _cast(np: Any, x: Array, dtype: str) -> Array:
    """A conversion with the meaning that `shaders/lib/convert.wgsl` gives it.

    NumPy leaves a float out of the integer's range to the processor; here, and on the GPU, it is
    what x86-64 does: int32 gets its least value, uint32 wraps through int64.
    """
    if x.dtype.kind == "f" and dtype == "int32":
        inside = (x > -2147483649.0) & (x < 2147483648.0)
        return np.where(inside, x, -2147483648.0).astype(dtype)
    if x.dtype.kind == "f" and dtype == "uint32":
        inside = np.abs(x) < 2.0**63
        return np.where(inside, x, 0.0).astype(np.int64).astype(dtype)
    return x.astype(dtype)


def _from_the_end(np: Any, places: Array, n: int) -> Array:
    """Places along an axis of n, of which negative ones count from its end."""
    return np.where(places < 0, places + n, places)


def _scattered(
    np: Any, base: Array, places: tuple[Array, ...], inside: Array, values: Array, mode: str
) -> Array:
    """A copy of `base` with values at the places in range, in their order."""
    result = base.copy()
    chosen = tuple(np.broadcast_to(place, inside.shape)[inside] for place in places)
    values = np.broadcast_to(values, inside.shape)[inside]
    if mode == "set":
        result[chosen] = values
    else:
        combine = {"min": np.minimum, "max": np.maximum}.get(mode, np.add)
        combine.at(result, chosen, values)
    return result


def _sorted(np: Any, x: Array, axis: int, descending: bool, indices: bool) -> Array:
    """The elements in order, or their places; from the far end, backwards, where descending."""
    if not descending and not indices:
        return np.sort(x, axis=axis, kind="stable")
    order = np.argsort(np.flip(x, axis) if descending else x, axis=axis, kind="stable")
    order = x.shape[axis] - 1 - np.flip(order, axis) if descending else order
    return order.astype(np.int32) if indices else np.take_along_axis(x, order, axis)


def _contract(np: Any, a: Array, b: Array, axes: tuple[int, ...]) -> Array:
    """Sum of a * b over `axes`, kept; by a matrix product where broadcasting shows one."""
    rank = a.ndim
    dims = range(rank)
    kept = [d for d in dims if d not in axes]
    a_only = [d for d in kept if b.strides[d] == 0 and a.strides[d] != 0]
    b_only = [d for d in kept if a.strides[d] == 0 and b.strides[d] != 0]
    both = [d for d in kept if d not in a_only and d not in b_only]
    left = a[tuple(slice(0, 1) if d in b_only else slice(None) for d in dims)]
    right = b[tuple(slice(0, 1) if d in a_only else slice(None) for d in dims)]
    sizes = {d: max(left.shape[d], right.shape[d]) for d in dims}

    def matrix(x: Array, *groups: list[int]) -> Array:
        batch = tuple(sizes[d] for d in both)
        order = [*both, *(d for group in groups for d in group)]
        moved = np.transpose(x, [*order, *(d for d in dims if d not in order)])
        return moved.reshape(
            *batch, *(int(np.prod([sizes[d] for d in g], dtype=int)) for g in groups)
        )

    product = np.matmul(matrix(left, a_only, list(axes)), matrix(right, list(axes), b_only))
    order = [*both, *a_only, *b_only]
    shaped = product.reshape([sizes[d] for d in order])
    placed = np.transpose(shaped, [order.index(d) for d in kept])
    return placed.reshape([1 if d in axes else sizes[d] for d in dims])
