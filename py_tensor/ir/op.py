"""The classes of ops, which the scheduler, codegen and both backends share.

An op defines its name, its WGSL, its NumPy implementation, its gradient, and traits for the
scheduler, the evaluator and the backends, so that none of these depends on particular ops. The
public functions made from ops are in `py_tensor.ops`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, ClassVar, cast

from py_tensor.base import dtypes, shapes
from py_tensor.base.dtypes import Accepts, DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.layout import Layout, extent, is_injective
from py_tensor.base.shapes import Shape, size_of
from py_tensor.ir import arrays
from py_tensor.ir.arrays import Array, Run
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, Node, Op, Reason

TERMS_PER_VISIT = 8  # terms of a matrix product that take as long as loading and storing an element
SCATTER_MODES = ("set", "add", "min", "max", "add_atomic")
MAX_SCATTERED = 2**32 - 1  # values; their numbers are u32
MAX_PLACES = 2**31  # positions along an axis that int32 can number
MAX_CHOSEN = 1 << 16  # elements of a small concatenation
MAX_JOINED = 16  # operands of a small concatenation that one kernel chooses from
MAX_JOINED_LARGE = 4  # the same for a larger concatenation
_OF_WGSL: dict[str, DType] = {
    "f32": dtypes.float32,
    "i32": dtypes.int32,
    "u32": dtypes.uint32,
    "bool": dtypes.bool_,
}

# numpy(np, *arrays), spelled out for each number of arrays, so that type checkers know the
# parameters of a lambda.
OnArrays = (
    Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Elementwise(Op):
    """An op that computes each value from the operands' values at the same index.

    Attributes
    ----------
    wgsl : mapping
        WGSL type of the last operand -> expression. "64" covers int64 and uint64, "*" any type.
        ``{0}``, ``{1}`` stand for the operands, ``{t}`` for the type.
    numpy : callable
        ``numpy(np, *arrays)``, the same computation on arrays.
    accepts : Accepts
        The dtypes that it accepts, and how operands are converted to them.
    gives : DType, optional
        The dtype of the result, if it is not that of the last operand; or a function from the
        operand's dtype to the result's.
    leading : tuple of DType
        The fixed dtypes of the first operands.
    decide : callable, optional
        ``decide(x, y)``, for a comparison: its result for Python numbers.
    """

    wgsl: Mapping[str, str]
    numpy: OnArrays
    accepts: Accepts
    gives: DType | Callable[[DType], DType] | None = None
    leading: tuple[DType, ...] = ()
    decide: Callable[[Any, Any], bool] | None = None

    inline: ClassVar[bool] = True

    @property
    def operands(self) -> int:
        return _operands_of(self)

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        """Raise unless the operands have one shape and dtype; constants may have the shape ()."""
        shape: Shape = ()
        for meta in metas:
            if meta.shape and meta.shape != shape:
                if shape:
                    raise ShapeError(
                        f"{self.name}: operands must have one shape, not {shape} and {meta.shape}"
                    )
                shape = meta.shape
        dtype = metas[-1].dtype
        for number, meta in enumerate(metas):
            if number < len(self.leading):
                if meta.dtype is not self.leading[number]:
                    raise DTypeError(
                        f"{self.name}: operand {number} must be {self.leading[number]}, not"
                        f" {meta.dtype}"
                    )
            elif meta.dtype is not dtype:
                raise DTypeError(
                    f"{self.name}: operands must have one dtype, not {meta.dtype} and {dtype}"
                )
        self.accepts.check_converted(self.name, dtype)
        return shape, self.result(dtype)

    def result(self, dtype: DType) -> DType:
        """Return the dtype of the result for operands of this dtype."""
        if self.gives is None or isinstance(self.gives, DType):
            return self.gives or dtype
        return self.gives(dtype)

    def operations(self, node: Node) -> int:
        return node.meta.size

    def batched(self, attrs: Any) -> Any:
        return attrs

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return _in_dtype(run, self.numpy(run.np, *operands), node)


class Cast(Op):
    """Conversion to the dtype in `attrs`; codegen has one function for each pair of types."""

    inline: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        if not isinstance(attrs, DType):
            raise DTypeError(f"{self.name}: converts to a dtype, not to {attrs!r}")
        return metas[0].shape, attrs

    def batched(self, attrs: Any) -> Any:
        return attrs

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return arrays.cast(run.np, operands[0], node.meta.dtype)


class Folding(Op):
    """A fold over some axes, which are kept with length 1; the node's attributes are the axes."""

    is_reduction: ClassVar[bool] = True

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        first, second = metas[0], metas[-1]
        if first.shape != second.shape or first.dtype is not second.dtype:
            raise ShapeError(f"{self.name}: operands {first} and {second} do not match")
        shapes.check_axes(self.name, attrs, len(first.shape))
        fold, shape = self.folding()[0], shapes.reduced(first.shape, attrs)
        fold.accepts.check_converted(self.name, first.dtype)
        if not first.size and size_of(shape):
            raise ShapeError(f"{self.name}: no elements along axes {attrs} of {first.shape}")
        if fold.indexed and first.size > MAX_PLACES * size_of(shape):
            raise ShapeError(
                f"{self.name}: the index along axes {attrs} of {first.shape} does not fit int32"
            )
        return shape, fold.gives or first.dtype

    def folding(self) -> tuple[Reduction, Elementwise | None]:
        """Return the reduction, and the op that first combines several operands, if any."""
        raise NotImplementedError

    def batched(self, attrs: Any) -> Any:
        return tuple([axis + 1 for axis in attrs])

    def words(self, node: Node) -> int:
        """Return the number of words of the accumulator."""
        return sum(x.words for x in self.folding()[0].dtypes(node.inputs[0].meta.dtype))

    def work(self, node: Node) -> int:
        return node.inputs[0].meta.size if node.inputs else node.meta.size

    def operations(self, node: Node) -> int:
        return node.inputs[0].meta.size * (1 if self.folding()[1] is None else 2)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reduction(Folding):
    """A fold of one operand.

    Attributes
    ----------
    components : tuple of str
        The WGSL type of each component of the accumulator: "T" is the operand's own type, "key" the
        type of its order keys.
    identity : callable
        DType of the operand -> the components' start values, as Python scalars.
    element : mapping
        WGSL type -> one expression per component: the accumulator of a single value ``{x}``, whose
        flat index along the reduced axes is ``{i}``.
    combine : mapping
        WGSL type -> one expression per component, in terms of the components ``{a0}``, ``{a1}`` of
        one accumulator and ``{b0}``, ``{b1}`` of another.
    result : str
        The result in terms of the components ``{a0}``, ``{a1}``.
    indexed : bool
        Whether `element` uses ``{i}``.
    rounds : bool
        Whether folding floats rounds, so that a long chain would lose accuracy.
    numpy : callable
        ``numpy(np, array, axes)``, with the axes kept.
    gives : DType, optional
        The dtype of the result, if it is not the operand's.
    accepts : Accepts
        See `Elementwise`.
    product : Elementwise, optional
        The op whose results, folded, are a matrix product.
    """

    components: tuple[str, ...]
    identity: Callable[[Any], tuple[complex, ...]]
    element: Mapping[str, tuple[str, ...]]
    combine: Mapping[str, tuple[str, ...]]
    result: str
    numpy: Callable[[Any, Any, tuple[int, ...]], Any]
    indexed: bool = False
    rounds: bool = False
    gives: DType | None = None
    accepts: Accepts = dtypes.ANY
    product: Elementwise | None = None

    @property
    def pairwise(self) -> Elementwise | None:
        """The op that folds two values; None unless the accumulator is a value of their dtype."""
        return _pairwise(self)

    def folding(self) -> tuple[Reduction, None]:
        return self, None

    def dtypes(self, dtype: DType) -> list[DType]:
        """Return the dtypes of the components, as `components` names them."""
        named = {"T": dtype, "key": dtypes.uint64 if dtype.is_wide else dtypes.uint32, **_OF_WGSL}
        return [named[name] for name in self.components]

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return _in_dtype(run, self.numpy(run.np, operands[0], node.attrs), node)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contract(Folding):
    """The sum of the products of two operands of one shape."""

    fold: Reduction
    product: Elementwise

    arity: ClassVar[int | None] = 2

    def folding(self) -> tuple[Reduction, Elementwise]:
        return self.fold, self.product

    def work(self, node: Node) -> int:
        """Count each term as a fraction of an element, because few are loaded from memory."""
        return Folding.work(self, node) // TERMS_PER_VISIT

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        left, right = operands
        return arrays.contracted(run.np, left, right, node.inputs[0].meta.shape, node.attrs)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Op):
    """A running fold along an axis: each element folded with all before it; attributes (axis,).

    Attributes
    ----------
    fold : Reduction
        Its accumulator has one component, and its identity preserves every value, including -0.
    numpy : callable
        ``numpy(np, array, axis)``
    """

    fold: Reduction
    numpy: Callable[[Any, Any, int], Any]

    barrier: ClassVar[bool] = True
    work_buffers: ClassVar[int] = 1  # results carried from slice to slice

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        shapes.check_axes(self.name, attrs, len(metas[0].shape))
        dtypes.NUMERIC.check_converted(self.name, metas[0].dtype)
        return metas[0].shape, metas[0].dtype

    def batched(self, attrs: Any) -> Any:
        axis, *rest = attrs
        return axis + 1, *rest

    def operations(self, node: Node) -> int:
        return node.meta.size

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        dtype = node.meta.dtype
        wide = operands[0].astype(dtypes.doubled(dtype).name, copy=False)
        return self.numpy(run.np, wide, node.attrs[0]).astype(dtype.host)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sort(Op):
    """A stable sort along an axis; attributes (axis, descending).

    Attributes
    ----------
    indices : bool
        The result has each element's original position (int32) instead of the element.
    """

    indices: bool

    barrier: ClassVar[bool] = True
    work_buffers: ClassVar[int] = 2  # the ends of runs, and positions of elements

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        shape, axis = metas[0].shape, attrs[0]
        shapes.check_axes(self.name, (axis,), len(shape))
        if shape[axis] > MAX_PLACES:
            raise ShapeError(
                f"{self.name}: an index along axis {axis} of {shape} does not fit int32"
            )
        return shape, dtypes.int32 if self.indices else metas[0].dtype

    def batched(self, attrs: Any) -> Any:
        axis, *rest = attrs
        return axis + 1, *rest

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        axis, descending = node.attrs
        return arrays.in_order(run.np, operands[0], axis, descending, self.indices)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Movement(Op):
    """An op whose elements are elements of the operand, found by an affine map.

    Attributes
    ----------
    layout : callable
        ``layout(attrs, shape)`` returns the map for attributes and the operand's shape.
    check : callable, optional
        ``check(name, shape, attrs)`` raises if the attributes do not fit the operand's shape. It is
        needed where such attributes would give a valid map.
    """

    layout: Callable[[Any, Shape], Layout]
    check: Callable[[str, Shape, Any], object] | None = None

    linear: ClassVar[bool] = True
    reads_by_map: ClassVar[bool] = True

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        x = metas[0]
        if self.check is not None:
            self.check(self.name, x.shape, attrs)
        layout = self.layout(attrs, x.shape)
        shape = layout.shape
        _check_places(self.name, shape, layout.strides, layout.offset, x)
        return shape, x.dtype

    def reads_whole(self, node: Node) -> tuple[Node, ...]:
        layout = layout_of(node)
        moves = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if s]
        shape, strides = tuple(n for n, _ in moves), tuple(s for _, s in moves)
        is_whole = size_of(shape) == node.inputs[0].meta.size and is_injective(shape, strides)
        return node.inputs if is_whole else ()

    def work(self, node: Node) -> int:
        below = node.inputs[0]
        return below.meta.size if below.op.reads_by_map else below.op.work(below)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return arrays.moved(run.np, operands[0], _layout(self, node.attrs, operands[0].shape))


class Broadcast(Movement):
    """An operand of a matrix product, with the axes of the whole contraction."""

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        layout = _layout(self, node.attrs, operands[0].shape)
        return arrays.broadcast_for_product(run.np, operands[0], layout)


class Reshape(Movement):
    """The same elements in the same order, in another shape."""

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return operands[0].reshape(node.meta.shape)


class Stop(Reshape):
    """The same elements, of which no derivative is wanted."""

    stops: ClassVar[bool] = True


class View(Movement):
    """A strided view; the attributes are (shape, strides, offset).

    Most views occur only once, so inference does not make a `Layout`.
    """

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        shape, strides, offset = attrs
        _check_places(self.name, shape, strides, offset, metas[0])
        return shape, metas[0].dtype

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        shape, _, offset = node.attrs
        if shape:
            return Movement.compute(self, run, node, *operands)
        return operands[0].reshape(-1)[offset : offset + 1].reshape(())  # the common case


class Preview(Movement):
    """The printed elements of a large tensor."""

    previews: ClassVar[bool] = True


class Constant(Op):
    """A 0-d constant; its value is the node's attributes."""

    constant: ClassVar[bool] = True
    generates: ClassVar[bool] = True

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return run.np.array(node.attrs, dtype=node.meta.dtype.host)


class Count(Op):
    """The row-major number of each element, as an integer."""

    generates: ClassVar[bool] = True

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        numbers = run.np.arange(node.meta.size, dtype=run.np.int64)
        return numbers.astype(node.meta.dtype.host).reshape(node.meta.shape)


class Pad(Op):
    """(x, fill): x inside a window of the result, the constant `fill` outside.

    The attributes are the widths before and after the window along each axis.
    """

    arity: ClassVar[int | None] = 2
    inline: ClassVar[bool] = True
    shifts: ClassVar[bool] = True

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        x, fill = metas
        if fill.shape or fill.dtype is not x.dtype:
            raise DTypeError(f"{self.name}: the fill value must be a {x.dtype} scalar, not {fill}")
        if len(attrs) != len(x.shape) or any(w < 0 for pair in attrs for w in pair) or not x.size:
            raise ShapeError(f"{self.name}: widths {attrs} do not fit the shape {x.shape}")
        return tuple(low + n + high for n, (low, high) in zip(x.shape, attrs, strict=True)), x.dtype

    def batched(self, attrs: Any) -> Any:
        return (0, 0), *attrs

    def share(self, node: Node, number: int) -> float:
        return 1.0 if number else node.inputs[0].meta.size / node.meta.size

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return run.np.pad(operands[0], node.attrs, constant_values=operands[1])


class Roll(Op):
    """A cyclic shift of x: along each axis `a`, element i is x's ``(i + attrs[a]) % n``."""

    inline: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    shifts: ClassVar[bool] = True

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        (x,) = metas
        if len(attrs) != len(x.shape) or any(
            not 0 <= by < max(n, 1) for n, by in zip(x.shape, attrs, strict=True)
        ):
            raise ShapeError(f"{self.name}: shifts {attrs} do not fit the shape {x.shape}")
        return x.shape, x.dtype

    def batched(self, attrs: Any) -> Any:
        return 0, *attrs

    def reads_per_element(self, node: Node) -> int:
        return 2 ** sum(map(bool, node.attrs))

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        axes = tuple(range(len(node.attrs)))
        return run.np.roll(operands[0], tuple(-by for by in node.attrs), axes)


class Concat(Op):
    """Operands concatenated along the axis in `attrs`; several kernels write many operands."""

    arity: ClassVar[int | None] = None
    inline: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    shifts: ClassVar[bool] = True
    variadic: ClassVar[bool] = True

    def batched(self, attrs: Any) -> Any:
        return attrs + 1

    def is_written_in_pieces(self, node: Node) -> bool:
        """Return True for many operands: one kernel would load from all of them at each element."""
        count = len(node.inputs)
        return count > (MAX_JOINED if node.meta.size <= MAX_CHOSEN else MAX_JOINED_LARGE)

    def share(self, node: Node, number: int) -> float:
        return node.inputs[number].meta.size / max(1, node.meta.size)

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        """Raise unless the dtypes, and the lengths of all other axes, agree."""
        first = metas[0]
        shapes.check_axes(self.name, (attrs,), len(first.shape))
        for x in metas:
            if x.dtype is not first.dtype:
                raise DTypeError(
                    f"{self.name}: operands must have one dtype, not {first.dtype} and {x.dtype}"
                )
        return shapes.joined(self.name, [x.shape for x in metas], attrs), first.dtype

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return run.np.concatenate(operands, axis=node.attrs)


class Assign(Op):
    """(x, value): x with `value` assigned to a view of it; attributes (shape, strides, offset).

    No element occurs twice in the view. `value` has the view's shape, or is a constant.
    """

    arity: ClassVar[int | None] = 2
    barrier: ClassVar[bool] = True
    writes: ClassVar[bool] = True

    def is_idempotent(self, node: Node) -> bool:
        return True

    def reads_whole(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[1:]

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        whole, value = metas
        shape, strides, offset = attrs
        _check_places(self.name, shape, strides, offset, whole)
        if not is_injective(shape, strides):
            raise ShapeError(
                f"{self.name}: shape {shape} with strides {strides} has overlapping elements"
            )
        _check_value(self.name, whole, value, (shape, ()))
        return whole.shape, whole.dtype

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        whole, value = operands
        return arrays.assigned(run.np, whole, value, Layout(*node.attrs), copy=not run.overwrite)


class Gather(Op):
    """(x, i1, ..., ik): the elements of `x` that the indices select along some axes.

    Attributes are (axes, at, op). The result has x's other axes in order, with the axes over which
    the indices vary inserted at `at`; each index has the result's shape. Negative indices count
    from the end. An index out of range raises an IndexError that names `op`, and is clamped. If
    `op` is "", all indices are known to be in range.
    """

    arity: ClassVar[int | None] = None
    inline: ClassVar[bool] = True

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[:1]

    def reads_through(self, node: Node) -> bool:
        return not node.attrs[2]

    def notes_faults(self, node: Node) -> bool:
        return bool(node.attrs[2])

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        axes, at, op = attrs
        return _taken_shape(op or self.name, metas[0], metas[1:], axes, at), metas[0].dtype

    def batched(self, attrs: Any) -> Any:
        axes, at, *rest = attrs
        return tuple([axis + 1 for axis in axes]), at + 1, *rest

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        x, *indices = operands
        return arrays.gathered(run, x, tuple(indices), *node.attrs)


class Scatter(Op):
    """(base, values, i1, ..., ik): `base` with values written at the indices.

    Attributes are (axes, at, op, mode, unique). The first three are those of a gather that would
    return `values`. Mode "set" keeps the last of several values for one element. "add", "min" and
    "max" combine all of them with the element, and "add_atomic" adds floats in any order. `unique`
    promises at most one value per element. Nothing is written out of range.
    """

    arity: ClassVar[int | None] = None
    barrier: ClassVar[bool] = True
    writes: ClassVar[bool] = True
    stored_because: ClassVar[Reason] = Reason.BASE
    work_buffers: ClassVar[int] = 3  # addresses, order and heads

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[:1]

    def notes_faults(self, node: Node) -> bool:
        return bool(node.attrs[2])

    def is_idempotent(self, node: Node) -> bool:
        return node.attrs[3] in ("set", "min", "max")

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        axes, at, op, mode, _ = attrs
        op = op or self.name
        if mode not in SCATTER_MODES:
            raise ValueError(f"{op}: mode must be one of {', '.join(SCATTER_MODES)}, not {mode!r}")
        base, *rest = metas
        shape = _taken_shape(op, base, tuple(rest[1:]), axes, at)
        _check_value(op, base, rest[0], (shape,))
        if rest[0].size > MAX_SCATTERED:
            raise ShapeError(f"{op}: {rest[0].size} values; at most 2**32 - 1 are supported")
        return base.shape, base.dtype

    def batched(self, attrs: Any) -> Any:
        axes, at, *rest = attrs
        return tuple([axis + 1 for axis in axes]), at + 1, *rest

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        base, values, *indices = operands
        return arrays.scattered(run, base, values, tuple(indices), *node.attrs[:4])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CpuOp(Op):
    """An op that only the device "cpu" computes; for a GPU its function records other ops.

    Attributes
    ----------
    result
        The shape and dtype of the result, from the operands' metas and the attributes.
    numpy
        The result, from NumPy, the operands and the attributes.
    """

    result: Callable[[tuple[Meta, ...], Any], tuple[Shape, DType]] = field(kw_only=True)
    numpy: Callable[[Any, tuple[Array, ...], Any], Array] = field(kw_only=True)

    arity: ClassVar[int | None] = None
    barrier: ClassVar[bool] = True

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        return self.result(metas, attrs)

    def work(self, node: Node) -> int:
        return max(x.meta.size for x in (node, *node.inputs))

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return self.numpy(run.np, operands, node.attrs)


@lru_cache(1 << 12)
def _layout(op: Movement, attrs: Any, shape: Shape) -> Layout:
    return op.layout(attrs, shape)


def layout_of(node: Node) -> Layout:
    """Return the map of a movement node, from its coordinates to its operand's flat index."""
    return cast("Movement", node.op).layout(node.attrs, node.inputs[0].meta.shape)


def is_flat(node: Node) -> bool:
    """Return whether a movement keeps every flat index: a reshape or a trivial permutation."""
    return (
        node.storage is None  # a stored node has no operands
        and node.op.reads_by_map
        and node.meta.size == node.inputs[0].meta.size
        and (isinstance(node.op, Reshape) or layout_of(node).is_contiguous)
    )


@cache
def _pairwise(fold: Reduction) -> Elementwise | None:
    if fold.components != ("T",) or fold.element != {"*": ("{x}",)} or fold.result != "{a0}":
        return None
    texts = {
        kind: text.replace("{a0}", "{0}").replace("{b0}", "{1}")
        for kind, (text,) in fold.combine.items()
    }

    def folded(np: Any, x: Any, y: Any) -> Any:
        return fold.numpy(np, np.stack([x, y]), (0,))[0]

    vjp, accepts = NOT_DIFFERENTIABLE, fold.accepts
    return Elementwise(fold.name, vjp=vjp, wgsl=texts, numpy=folded, accepts=accepts)


@cache
def _operands_of(op: Elementwise) -> int:
    """Return the number of operands that its WGSL uses."""
    return 1 + max(int(n) for text in op.wgsl.values() for n in re.findall(r"\{(\d+)\}", text))


def _check_places(op: str, shape: Shape, strides: tuple[int, ...], offset: int, x: Meta) -> None:
    """Raise ShapeError unless a layout selects only elements of an operand."""
    if len(strides) != len(shape) or (shape and min(shape) < 0):
        raise ShapeError(f"{op}: invalid shape {shape} and strides {strides}")
    if len(shape) > shapes.MAX_RANK:
        shapes.check_rank(op, shape)
    low, high = extent(shape, strides, offset)
    if not (0 <= low <= high < x.size or 0 in shape):
        raise ShapeError(
            f"{op}: shape {shape} with strides {strides} from {offset}"
            f" is outside the elements of {x.shape}"
        )


def _check_value(op: str, x: Meta, value: Meta, shapes: tuple[Shape, ...]) -> None:
    """Raise unless a value to assign has the operand's dtype and one of the shapes."""
    if value.dtype is not x.dtype:
        raise DTypeError(f"{op}: cannot assign a value of {value.dtype} to a tensor of {x.dtype}")
    if value.shape not in shapes:
        raise ShapeError(
            f"{op}: cannot assign a value of shape {value.shape} to a selection of shape"
            f" {shapes[0]}"
        )


def _taken_shape(
    op: str, x: Meta, indices: tuple[Meta, ...], axes: tuple[int, ...], at: int
) -> Shape:
    """Return the shape of the selected elements, which is also that of each index."""
    shapes.check_axes(op, axes, len(x.shape))
    if not axes or len(indices) != len(axes):
        raise ShapeError(f"{op}: {len(indices)} indices do not match the axes {axes}")
    shape, rest = indices[0].shape, shapes.dropped(x.shape, axes)
    for index in indices:
        if not index.dtype.is_integer:
            raise DTypeError(f"{op}: indices must be integers, not {index.dtype}")
        if index.shape != shape:
            raise ShapeError(f"{op}: indices must have one shape, not {shape} and {index.shape}")
    behind = len(rest) - at
    if at < 0 or behind < 0 or (*shape[:at], *shape[max(at, len(shape) - behind) :]) != rest:
        raise ShapeError(
            f"{op}: indices of shape {shape} do not match axes {axes} of {x.shape} inserted at {at}"
        )
    if not x.size and size_of(shape):
        raise IndexError(f"{op}: shape {x.shape} has no elements to take")
    return shape


def _in_dtype(run: Run, result: Array, node: Node) -> Array:
    return run.np.asarray(result).astype(node.meta.dtype.host, copy=False)
