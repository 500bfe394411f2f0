"""The ops that the scheduler treats by their structure: leaves, constants, movement, contraction.

A vjp calls methods of tensors, or records an op of this module (`_recorded`), because the public
functions are in layers above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from py_tensor.base import dtypes, layout
from py_tensor.base.dtypes import ANY, DType, check_range, converter, int32
from py_tensor.base.shapes import (
    Shape,
    broadcast,
    check_axes,
    check_expansion,
    resolve_reshape,
    size_of,
)
from py_tensor.ir import op as ops
from py_tensor.ir.arrays import decoded, encoded, summed_in
from py_tensor.ir.bind import bind, generate
from py_tensor.ir.node import FLAT, NOT_DIFFERENTIABLE, Meta, Node, Op, meta_of

CONST = ops.Constant("const", vjp=NOT_DIFFERENTIABLE)
INDEX = ops.Count("index", vjp=NOT_DIFFERENTIABLE)


def const(value: complex, dtype: DType, device: Any) -> Node:
    """Return a 0-d constant; elementwise ops combine it with operands of any shape."""
    return generate(CONST, value, meta_of((), dtype, device))


def constant(op: str, value: complex, dtype: DType, device: Any) -> Node:
    """Return a Python number as a constant of a dtype; errors name `op`."""
    check_range(op, value, dtype)
    return const(converter(dtype)(value), dtype, device)


def filled(value: complex, meta: Meta) -> Node:
    """Return a node with one value everywhere."""
    node = const(value, meta.dtype, meta.device)
    return bind(EXPAND, (node,), meta.shape) if meta.shape else node


def index(shape: Shape, device: Any, dtype: DType = int32) -> Node:
    return generate(INDEX, None, meta_of(shape, dtype, device))


def _recorded(op: Op, *operands: Any, attrs: Any = None) -> Any:
    """Return the tensor that an op makes of tensors; beside a traced one, others are lifted."""
    deepest = max([x.device for x in operands], key=lambda device: device.depth)
    nodes = [
        x._node if x.device is deepest else deepest.lifted(x._node, type(x)(x._node))
        for x in operands
    ]
    return type(operands[0])(bind(op, tuple(nodes), attrs))


def _number(value: complex, like: Any) -> Any:
    """Return a number as a 0-d tensor of the dtype of another tensor."""
    return type(like)(const(value, like.dtype, like.device))


def _zeros(like: Any, dtype: DType | None = None) -> Any:
    return type(like)(filled(0, meta_of(like.shape, dtype or like.dtype, like.device)))


def _numbered(like: Any) -> Any:
    """Return the numbers of the elements of a tensor, in its shape."""
    return type(like)(index((like.size,), like.device)).reshape(like.shape)


def _grad_cast(g: Any, y: Any, x: Any, attrs: Any) -> tuple[Any, ...]:
    if x.dtype.is_floating and g.dtype.is_complex:
        g = g.real
    return (g.astype(x.dtype) if x.dtype.is_inexact else None,)


def _grad_broadcast(g: Any, y: Any, x: Any, shapes: tuple[Shape, Shape]) -> tuple[Any, ...]:
    before, shape = shapes
    lead = len(shape) - len(before)
    axes = tuple(a for a, n in enumerate(shape) if a < lead or before[a - lead] != n)
    return (g.sum(axes, keepdims=True).reshape(x.shape),)


def _placed(values: Any, where: layout.Layout, x: Any) -> Any:
    """Return the values at the elements of x that a layout selects, each once; 0 elsewhere."""
    for shape in (x.shape, (x.size,)):
        if (window := where.window_of(shape)) is not None:
            inside, widths = window
            values = type(values)(values._node)._view_by(inside)
            if values.size < x.size:
                values = _recorded(PAD, values, _number(0, values), attrs=widths)
            return values.reshape(x.shape)
    spread = type(x)(filled(0, meta_of(x.shape, values.dtype, values.device)))
    spread._assign(where, values._node)
    return spread


def _grad_view(g: Any, y: Any, x: Any, attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add gradients to the elements that the view selects; those of the same element add up."""
    _, strides, offset = attrs
    pairs = enumerate(zip(g.shape, strides, strict=True))
    repeated = tuple(axis for axis, (n, s) in pairs if n > 1 and not s)
    g = g.sum(repeated, keepdims=True) if repeated else g
    where = layout.Layout(g.shape, strides, offset)
    if where.is_injective:
        return (_placed(g, where, x),)
    selected = _numbered(x)._view_by(where).ravel()
    added = _scattered(_zeros(x).ravel(), ((0,), (selected,), 0), g.ravel(), "add")
    return (added.reshape(x.shape),)


def _grad_assign(g: Any, y: Any, x: Any, value: Any, attrs: Any) -> tuple[Any, ...]:
    """Return 0 for overwritten elements; the gradient of the value is that of the window."""
    where = layout.Layout(*attrs)
    window = type(g)(g._node)._view_by(where)
    is_written = type(g)(filled(True, meta_of(where.shape, dtypes.bool_, g.device)))
    kept = _chosen(_placed(is_written, where, g), _number(0, g), g)
    return kept, window if value.ndim else window.sum()


def _grad_pad(
    g: Any, y: Any, x: Any, fill: Any, widths: tuple[tuple[int, int], ...]
) -> tuple[Any, ...]:
    window = tuple((low, low + n) for (low, _), n in zip(widths, x.shape, strict=True))
    return g.crop(window), None


def _grad_roll(g: Any, y: Any, x: Any, by: tuple[int, ...]) -> tuple[Any, ...]:
    back = tuple(-b % n if n else 0 for b, n in zip(by, x.shape, strict=True))
    return (type(g)(bind(ROLL, (g._node,), back)),)


def _grad_product(g: Any, y: Any, a: Any, b: Any, attrs: Any) -> tuple[Any, ...]:
    return g * b, g * a


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


# The axes, the indices along them, and the position of their shape in the result.
_Selection = tuple[tuple[int, ...], Sequence[Any], int]


def _gathered(x: Any, selection: _Selection) -> Any:
    axes, indices, at = selection
    return _recorded(GATHER, x, *indices, attrs=(axes, at, ""))


def _scattered(x: Any, selection: _Selection, values: Any, mode: str, unique: bool = False) -> Any:
    axes, indices, at = selection
    if not values.size:
        return x
    return _recorded(SCATTER, x, values, *indices, attrs=(axes, at, "", mode, unique))


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    return _recorded(WHERE, condition, x, y)


def _grad_where(g: Any, y: Any, condition: Any, a: Any, b: Any, attrs: Any) -> tuple[Any, ...]:
    zero = _number(0, g)
    return None, _chosen(condition, g, zero), _chosen(condition, zero, g)


def _grad_gather(g: Any, y: Any, x: Any, *indices_and_attrs: Any) -> tuple[Any, ...]:
    """Return the sum of the gradients for an element that was selected several times."""
    *indices, (axes, at, _) = indices_and_attrs
    no_gradients = (None,) * len(indices)
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    if size_of(kept) == y.size:  # one index for each slice: comparing needs no order of addition
        is_selected = _selects(x, axes, [index.reshape(kept) for index in indices])
        spread = _chosen(is_selected, g.reshape(kept).expand(x.shape), _number(0, g))
    else:
        spread = _scattered(_zeros(x), (axes, indices, at), g, "add")
    return spread, *no_gradients


def _selects(x: Any, axes: tuple[int, ...], indices: Sequence[Any]) -> Any:
    """Return whether the indices, one along each of some axes, select each element."""
    is_selected = None
    for axis, index_along in zip(axes, indices, strict=True):
        n = x.shape[axis]
        shape = tuple(n if a == axis else 1 for a in range(x.ndim))
        numbers = type(x)(index((n,), x.device)).reshape(shape)
        chosen = index_along.astype(int32)
        is_along = (chosen == numbers) | (chosen == numbers - n)
        is_selected = is_along if is_selected is None else is_selected & is_along
    return is_selected


def _grad_scatter(g: Any, y: Any, base: Any, values: Any, *rest: Any) -> tuple[Any, ...]:
    """Return the gradients of the base and of the values.

    With "set", overwritten elements get 0, and only the last value of an element gets the gradient.
    With "add", all values get it. With "min" and "max", all that equal the result share it.
    """
    *indices, (axes, at, op, mode, unique) = rest
    written = axes, indices, at
    of_values = _gathered(g, written)
    if not op:  # values out of range were not written
        for axis, index in zip(axes, indices, strict=True):
            size = base.shape[axis]
            is_inside = (index >= -size) & (index < size)
            of_values = _chosen(is_inside, of_values, _number(0, of_values))
    of_base = g
    if mode == "set":
        of_base = _scattered(g, written, _zeros(values), mode, unique)
        if not unique:
            number = _numbered(values)
            last = _scattered(_zeros(base, number.dtype), written, number, mode)
            is_last = _gathered(last, written) == number
            of_values = _chosen(is_last, of_values, _number(0, of_values))
    elif mode in ("min", "max"):  # shared among all that are equal to the result
        equal = (_gathered(y, written) == values).astype(g.dtype)
        base_equal = (base == y).astype(g.dtype)
        share = g / _scattered(base_equal, written, equal, "add")
        of_base, of_values = share * base_equal, _gathered(share, written) * equal
    return of_base, of_values, *(None for _ in indices)


def _grad_compress(g: Any, y: Any, mask: Any, values: Any, count: Any) -> tuple[Any, ...]:
    selected = _recorded(COMPRESS, mask, _numbered(values), attrs=count)
    return None, _scattered(_zeros(values), ((0,), (selected,), 0), g, "set", unique=True)


# The attribute is the dtype.
CAST = ops.Cast("astype", vjp=_grad_cast)
# The attribute is the shape.
RESHAPE = ops.Reshape(
    "reshape",
    vjp=lambda g, y, x, attrs: (g.reshape(x.shape),),
    layout=lambda shape, source: layout.Layout.contiguous(shape),
    check=resolve_reshape,
)
# An argument with respect to which something is differentiated, a result that has a rule, and one
# that is a constant to derivatives. They are movement, so they take no kernel.
VARIABLE, RESULT = replace(RESHAPE, name="variable"), replace(RESHAPE, name="result")
STOP = ops.Stop(
    "stop_gradient",
    vjp=FLAT,
    layout=lambda shape, source: layout.Layout.contiguous(shape),
)
EXPAND = ops.Movement(
    "expand",
    vjp=lambda g, y, x, shape: _grad_broadcast(g, y, x, (x.shape, shape)),
    layout=lambda shape, source: layout.Layout.contiguous(source).expanded(shape),
    check=check_expansion,
)
# The attributes are (before, shape): reshape to `before`, then expand to `shape`.
BROADCAST = ops.Broadcast(
    "broadcast",
    vjp=_grad_broadcast,
    layout=lambda shapes, source: layout.Layout.contiguous(shapes[0]).expanded(shapes[1]),
    check=lambda name, source, shapes: (
        resolve_reshape(name, source, shapes[0]),
        check_expansion(name, *shapes),
    ),
)
# A strided view; the attributes are (shape, strides, offset).
VIEW = ops.View("view", vjp=_grad_view, layout=lambda attrs, source: layout.Layout(*attrs))
# The first and last items along each axis, for printing; the attributes are (axes, items).
EDGES = ops.Preview(
    "edges",
    vjp=NOT_DIFFERENTIABLE,
    layout=lambda attrs, source: layout.edges(source, *attrs),
    check=lambda name, source, attrs: check_axes(name, attrs[0], len(source)),
)
PAD = ops.Pad("pad", vjp=_grad_pad)
ASSIGN = ops.Assign("setitem", vjp=_grad_assign)
ROLL = ops.Roll("roll", vjp=_grad_roll)
CONCAT = ops.Concat("concat", vjp=_grad_concat)
GATHER = ops.Gather("take_along_axis", vjp=_grad_gather)
SCATTER = ops.Scatter("scatter", vjp=_grad_scatter)
# (mask, values): the values where a mask is true, both flat. The attribute is their number.
COMPRESS = ops.CpuOp(
    "compress",
    vjp=_grad_compress,
    result=lambda metas, count: ((count,), metas[1].dtype),
    # Faster than a mask.
    numpy=lambda np, operands, count: operands[1].take(np.flatnonzero(operands[0])),
)

# The scheduler knows some of these: it recognizes sums of products, and copies views into C order.
MUL = ops.Elementwise(
    "multiply",
    wgsl={
        "bool": "{0} && {1}",
        "64": "mul_64({0}, {1})",
        "complex64": "mul_complex64({0}, {1})",
        "*": "{0} * {1}",
    },
    numpy=lambda np, x, y: np.multiply(x, y),
    accepts=ANY,
    vjp=_grad_product,
)
WHERE = ops.Elementwise(
    "where",
    wgsl={"*": "select({2}, {1}, {0})"},
    numpy=lambda np, c, x, y: np.where(c, x, y),
    accepts=ANY,
    leading=(dtypes.bool_,),
    vjp=_grad_where,
)
COPY = ops.Elementwise(
    "copy",
    wgsl={"*": "{0}"},
    numpy=lambda np, x: x.copy(),
    accepts=ANY,
    vjp=lambda g, y, x, attrs: (g,),
)
COMPLEX = ops.Elementwise(
    "complex",
    wgsl={"f32": "vec2f({0}, {1})"},
    numpy=lambda np, x, y: _joined(np, x, y),
    accepts=dtypes.REAL_FLOATING,
    gives=dtypes.complex_of,
    vjp=lambda g, y, a, b, attrs: (g.real, -g.imag),
)
REAL_PART = ops.Elementwise(
    "real",
    wgsl={"complex64": "{0}.x"},
    numpy=lambda np, x: x.real,
    accepts=dtypes.COMPLEX,
    gives=dtypes.real_of,
    vjp=_grad_cast,
)
IMAG_PART = ops.Elementwise(
    "imag",
    wgsl={"complex64": "{0}.y"},
    numpy=lambda np, x: x.imag,
    accepts=dtypes.COMPLEX,
    gives=dtypes.real_of,
    vjp=lambda g, y, x, attrs: (_recorded(COMPLEX, g * 0, -g),),
)
# Keys of 64 bits that order complex numbers, for sort kernels.
SORT_KEY = ops.Elementwise(
    "sort_key",
    wgsl={"complex64": "sort_key_complex64({0})"},
    numpy=lambda np, x: NotImplemented,  # NumPy sorts complex numbers
    accepts=dtypes.COMPLEX,
    gives=dtypes.uint64,
    vjp=NOT_DIFFERENTIABLE,
)


@cache
def bits(source: DType, target: DType) -> ops.Elementwise:
    """Return the op that reinterprets one dtype as another of the same size.

    As bool, any nonzero byte is True.
    """
    return ops.Elementwise(
        f"view_{target.name}",
        wgsl={"*": _wgsl(source, target)},
        numpy=lambda np, x: (
            x != 0 if target.is_bool else decoded(np, encoded(np, x, source), target)
        ),
        accepts=dtypes.Accepts(source.kind, lambda dtype: source, f"{source}"),
        gives=target,
        vjp=NOT_DIFFERENTIABLE,
    )


def _wgsl(source: DType, target: DType) -> str:
    """Return WGSL for values as kernels hold them: small integers as i32, float16 as f32."""
    if source.is_packed:
        return f"load_{target.name}(store_{source.name}({{0}}), 0u)"
    whole = "vec2<f32>" if target.is_complex else "vec2<u32>"
    return f"bitcast<{target.wgsl if target.words == 1 else whole}>({{0}})"


def _joined(np: Any, real: Any, imag: Any) -> Any:
    """Return complex numbers with these parts; an infinite part does not affect the other one."""
    made = np.empty(broadcast("complex", real.shape, imag.shape), np.result_type(real, "complex64"))
    made.real, made.imag = real, imag
    return made


def _numpy_sum(np: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """Sum float16 in float32 and round once at the end, as on a GPU; NumPy may round each step."""
    total = np.add.reduce(x, axis=axes, keepdims=True, dtype=summed_in(np, x))
    return total.astype(x.dtype, copy=False)


SUM = ops.Reduction(
    "sum",
    components=("T",),
    identity=lambda dtype: (0,),
    element={"*": ("{x}",)},
    combine={"bool": ("{a0} || {b0}",), "64": ("add_64({a0}, {b0})",), "*": ("{a0} + {b0}",)},
    result="{a0}",
    numpy=_numpy_sum,
    rounds=True,
    product=MUL,
    vjp=lambda g, y, x, axes: (g.expand(x.shape),),
)


def sum_all(node: Node) -> Node:
    """Return the sum of a node, which needs all of its elements."""
    axes = tuple(range(len(node.meta.shape)))
    return bind(SUM, (node,), axes) if axes else node


# `matmul` and `fused_multiply_add` apply this op to expanded operands.
CONTRACT = ops.Contract("fused_multiply_add", fold=SUM, product=MUL, vjp=_grad_product)
