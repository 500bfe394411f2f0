"""The ops that the scheduler treats by their structure: leaves, constants, movement, contraction.

A vjp calls the tensors' own methods, so that this module needs no other: it runs long after every
module is there.
"""

from __future__ import annotations

from typing import Any

from py_tensor import layout
from py_tensor.dtypes import DType, int32
from py_tensor.graph.node import Meta, Node, key_of, make, meta_of
from py_tensor.graph.op import (
    NOT_DIFFERENTIABLE,
    Cast,
    Elementwise,
    Movement,
    Reduction,
    Structural,
)
from py_tensor.shapes import Shape

LEAF = Structural("leaf", vjp=NOT_DIFFERENTIABLE)
CONST = Structural("const", vjp=NOT_DIFFERENTIABLE)
# The row-major number of each element, as int32 or uint32.
INDEX = Structural("index", vjp=NOT_DIFFERENTIABLE)


def leaf(meta: Meta, storage: Any) -> Node:
    """A node whose elements are there already."""
    node = Node(LEAF, (), None, meta, leaf_key(meta))
    node.storage = storage
    return node


def leaf_key(meta: Meta) -> int:
    """The structural key of a node whose elements are there: its meta is all that matters."""
    if not meta.leaf_key:
        meta.leaf_key = key_of(LEAF, None, meta)
    return meta.leaf_key


def const(value: int | float | bool, dtype: DType, device: Any) -> Node:
    """A 0-d constant, which any elementwise op takes as operand beside tensors of any shape."""
    meta = meta_of((), dtype, device)
    return Node(CONST, (), value, meta, key_of(CONST, None, meta))


def index(shape: Shape, device: Any, dtype: DType = int32) -> Node:
    return make(INDEX, (), None, meta_of(shape, dtype, device))


def _grad_cast(g: Any, y: Any, x: Any, attrs: Any) -> tuple[Any, ...]:
    return (g.astype(x.dtype) if x.dtype.kind == "f" else None,)


def _grad_reshape(g: Any, y: Any, x: Any, attrs: Any) -> tuple[Any, ...]:
    return (g.reshape(x.shape),)


def _grad_permute(g: Any, y: Any, x: Any, order: tuple[int, ...]) -> tuple[Any, ...]:
    return (g.permute(tuple(order.index(axis) for axis in range(len(order)))),)


def _grad_expand(g: Any, y: Any, x: Any, attrs: Any) -> tuple[Any, ...]:
    lead = g.ndim - x.ndim
    axes = tuple(a for a in range(g.ndim) if a < lead or x.shape[a - lead] != g.shape[a])
    return (g.sum(axes, keepdims=True).reshape(x.shape),)


def _grad_flip(g: Any, y: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any, ...]:
    return (g.flip(axes),)


def _grad_slice(
    g: Any, y: Any, x: Any, slices: tuple[tuple[int, int, int], ...]
) -> tuple[Any, ...]:
    """Spread the gradient of each axis by its step, then pad to where the slice lay."""
    negative = tuple(a for a, (_, _, step) in enumerate(slices) if step < 0)
    g = g.flip(negative) if negative else g
    for axis, (start, n, step) in enumerate(slices):
        width, size = abs(step), x.shape[axis]
        first = start + (n - 1) * step if step < 0 else start
        if width > 1 and n:
            before, behind = g.shape[:axis], g.shape[axis + 1 :]
            spread = g.reshape((*before, n, 1, *behind)).pad(
                tuple((0, width - 1 if a == axis + 1 else 0) for a in range(g.ndim + 1))
            )
            g = spread.reshape((*before, n * width, *behind))
            covered = (n - 1) * width + 1
            g = g.crop(tuple((0, covered if a == axis else m) for a, m in enumerate(g.shape)))
        left = first if n else 0
        right = size - left - g.shape[axis]
        g = g.pad(tuple((left, right) if a == axis else (0, 0) for a in range(g.ndim)))
    return (g,)


def _grad_pad(
    g: Any, y: Any, x: Any, fill: Any, widths: tuple[tuple[int, int], ...]
) -> tuple[Any, ...]:
    window = tuple((low, low + n) for (low, _), n in zip(widths, x.shape, strict=True))
    return g.crop(window), None


def _grad_product(g: Any, y: Any, a: Any, b: Any, attrs: Any) -> tuple[Any, ...]:
    return g * b, g * a


def _grad_copy(g: Any, y: Any, x: Any, attrs: Any) -> tuple[Any, ...]:
    return (g,)


def _grad_sum(g: Any, y: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any, ...]:
    return (g.expand(x.shape),)


def _grad_concat(g: Any, y: Any, *operands_and_axis: Any) -> tuple[Any, ...]:
    *operands, axis = operands_and_axis
    start = 0
    parts: list[Any] = []
    for x in operands:
        window = [(0, n) for n in g.shape]
        window[axis] = (start, start + x.shape[axis])
        parts.append(g.crop(tuple(window)))
        start += x.shape[axis]
    return tuple(parts)


CAST = Cast("astype", vjp=_grad_cast)
RESHAPE = Movement(
    "reshape",
    vjp=_grad_reshape,
    layout=lambda attrs, source, target: layout.Layout.contiguous(target),
)
PERMUTE = Movement(
    "permute", vjp=_grad_permute, layout=lambda order, source, target: layout.permute(source, order)
)
EXPAND = Movement(
    "expand", vjp=_grad_expand, layout=lambda attrs, source, target: layout.expand(source, target)
)
FLIP = Movement(
    "flip", vjp=_grad_flip, layout=lambda axes, source, target: layout.flip(source, axes)
)
SLICE = Movement(
    "slice",
    vjp=_grad_slice,
    layout=lambda slices, source, target: layout.take_slices(source, slices),
)
# (axes, items): the first and the last items along each of the axes, as a large tensor is shown.
EDGES = Movement(
    "edges",
    vjp=NOT_DIFFERENTIABLE,
    layout=lambda attrs, source, target: layout.edges(source, *attrs),
)
# (x, fill): x inside a window of the result, the constant `fill` around it.
PAD = Structural("pad", vjp=_grad_pad)
# (a, b) of one shape: the sum over `attrs`, kept as length 1, of a * b. Matmul is this on expanded
# operands, and so is the seeds' fused_multiply_add.
CONTRACT = Structural("fused_multiply_add", vjp=_grad_product)
# Operands side by side along the axis `attrs`, each written by a dispatch of its own.
CONCAT = Structural("concat", vjp=_grad_concat)

# (x, indices): the element of `x` at the same place, but along the axis `attrs` where the index
# says; negative ones count from the end, others are clipped. `indices` has the result's shape, `x`
# too but for the axis. The derivative needs a scatter.
GATHER = Structural("take_along_axis", vjp=NOT_DIFFERENTIABLE)

# Known to the scheduler, which recognises a product summed and can copy anything into order.
MUL = Elementwise(
    "multiply",
    wgsl={"f32": "{0} * {1}", "i32": "{0} * {1}", "u32": "{0} * {1}", "bool": "{0} && {1}"},
    numpy=lambda np, x, y: np.multiply(x, y),
    vjp=_grad_product,
)
COPY = Elementwise("copy", wgsl={"*": "{0}"}, numpy=lambda np, x: x.copy(), vjp=_grad_copy)
SUM = Reduction(
    "sum",
    parts=("T",),
    identity=lambda dtype: (0,),
    element={"*": ("{x}",)},
    combine={"bool": ("{a0} || {b0}",), "*": ("{a0} + {b0}",)},
    result="{a0}",
    numpy=lambda np, x, axes: np.sum(x, axis=axes, keepdims=True, dtype=x.dtype),
    rounds=True,
    vjp=_grad_sum,
)


def layout_of(node: Node) -> layout.Layout:
    """The map of a movement node, from its coordinates to its operand's flat index."""
    assert isinstance(node.op, Movement)
    return node.op.layout(node.attrs, node.inputs[0].meta.shape, node.meta.shape)
