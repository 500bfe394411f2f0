"""Some elements of an expression whose arrays are too large to exist, on the cpu device.

A tensor such as ``zeros((2**32, 2**32))`` is not computed until it is used. Its printed part, or a
slice, is computed from the elements that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py_tensor.base.shapes import row_major
from py_tensor.ir.arrays import Array, Run, computed
from py_tensor.ir.node import Node
from py_tensor.ir.op import Cast, Count, Elementwise, layout_of

MAX_SAMPLED = 1 << 25  # elements of a sampled node
MAX_COUNTED = 1 << 27  # those of all its ancestors: a few seconds, and about 1.5 GiB
LEAST_COUNTED = 1 << 10  # what an ancestor with few elements counts: NumPy's time for it
OBJECT_COUNTED = 8  # what an element with an index beyond 64 bits counts
MAX_INT64 = 2**63 - 1

Key = tuple[Node, int]  # a node, and the number of the indices at which it is needed


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
