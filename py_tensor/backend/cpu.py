"""The cpu device: every op's NumPy meaning, applied to the same graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

from py_tensor.graph.arrays import Array, Run
from py_tensor.graph.bind import leaf_key
from py_tensor.graph.body import Check
from py_tensor.graph.node import Meta, Node
from py_tensor.graph.order import Request
from py_tensor.shapes import Shape


class CPU:
    """A backend whose storage is a contiguous NumPy array."""

    def __init__(self, numpy: Any) -> None:
        self.np = numpy
        self.max_bytes = 2**62
        self.pending_work = self.ahead_work = 2**62
        self.computed = 0
        self._out_of_range: list[str] = []
        self._sync = False

    def info(self) -> dict[str, Any]:
        return {"backend": "cpu", "numpy": self.np.__version__}

    def check(self, op: str, meta: Meta) -> None:
        """Every dtype and any size: memory is the only limit."""

    def upload(self, data: memoryview, meta: Meta) -> Array:
        flat = self.np.frombuffer(bytes(data), dtype=meta.dtype.name)
        return flat.reshape(meta.shape)

    def compute(self, request: Request) -> None:
        values: dict[Node, Array] = {}
        pending = [node for node in request.order if node.storage is None]
        uses = Counter([operand for node in pending for operand in node.inputs])
        kept = {request.order[slot] for slot in request.wanted}
        with self.np.errstate(all="ignore"):
            for node in request.order:
                values[node] = (
                    node.storage
                    if node.storage is not None
                    else self._value(node, values, uses, kept)
                )
        for slot in request.wanted:
            node = request.order[slot]
            array = self.np.ascontiguousarray(values[node]).reshape(node.meta.shape)
            node.storage = array.copy() if array.base is not None else array
            node.key = leaf_key(node.meta)
            node.inputs = ()
            self.computed += 1
        if self._sync:
            self._report()

    def _value(
        self, node: Node, values: dict[Node, Array], uses: Counter[Node], kept: set[Node]
    ) -> Array:
        """What a node computes.

        What it writes to it may write over, if that was made by another such op for nothing else.
        """
        spare = False
        if node.op.writes:
            whole = node.inputs[0]
            made = whole.op.writes and whole.storage is None
            spare = made and whole not in kept and uses[whole] == 1
        run = Run(self.np, self._note, spare)
        return node.op.compute(run, node, *[values[x] for x in node.inputs])

    def _note(self, op: str, axis: int, shape: Shape, index: int) -> None:
        self._out_of_range.append(Check(op, axis, shape, True).message(index))

    def may_overwrite(self, node: Node) -> bool:
        """Never: it computes everything into memory of its own."""
        return False

    def _report(self) -> None:
        """Raise what was noted since the last report, once."""
        found, self._out_of_range = self._out_of_range, []
        if found:
            raise IndexError(found[0])

    def read(self, node: Node) -> memoryview:
        self._report()
        return (
            memoryview(node.storage.reshape(-1).view("u1")).cast("B")
            if node.meta.size
            else memoryview(b"")
        )

    async def read_async(self, node: Node) -> memoryview:
        return self.read(node)

    def synchronize(self) -> None:
        """Everything is done as soon as it is computed."""
        self._report()

    async def synchronize_async(self) -> None:
        """Everything is done as soon as it is computed."""
        self._report()

    def memory_info(self) -> dict[str, int]:
        return {"computed": self.computed}

    def empty_cache(self) -> None:
        """There is no cache."""

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Each op waits as it is, and no memory is used before it is written."""
        self._sync = sync
