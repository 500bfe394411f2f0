"""What a node computes: the op values that nodes, the scheduler, codegen and both backends share.

An op says its name, its WGSL and its NumPy meaning, how a gradient passes through it, and by its
traits what the scheduler, the evaluator and the backends ask about it: none of them has to know
which ops there are. The public functions made from these values stand in `py_tensor.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from py_tensor.dtypes import DType, int32
from py_tensor.errors import DTypeError, ShapeError
from py_tensor.graph import arrays
from py_tensor.graph.arrays import Array, Run
from py_tensor.graph.node import Meta, Node, meta_of
from py_tensor.graph.reasons import Reason
from py_tensor.layout import Layout
from py_tensor.shapes import Shape, reduced

TERMS_PER_VISIT = 8  # of a matrix product, in the time of one element that is loaded and stored
SCATTER_BUFFERS = 4  # of a pass, beside operands': addresses, their order, sums, target

# A vjp gets the incoming gradient, the result, the operands (all of them Tensors) and the node's
# attributes, and returns one gradient (or None) per operand. It is written with public functions,
# so that it can itself be differentiated.
Vjp = Callable[..., tuple[Any, ...]]
# numpy(np, *arrays), spelled out by the number of arrays, so that type checkers know the
# parameters of a lambda.
OnArrays = (
    Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)


class NotDifferentiable:
    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE: Final = NotDifferentiable()
Derivative = Vjp | NotDifferentiable


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """Base of all ops; ops compare by identity.

    Attributes
    ----------
    cost : int
        Rough number of arithmetic instructions for an element: what recomputing is weighed by.
    inline : bool
        A value can be computed inside the kernel of what uses it.
    folds : bool
        A reduction, whose consumers may join its kernel; the op is a `Folding`.
    barrier : bool
        It ends a kernel in any other way: those that use it see only its stored result.
    reads_by_map : bool
        Every element is one of the first operand, found by an affine map; the op is a `Movement`.
    shifts : bool
        An element may be computed from operands at other indices, though it is no movement.
    generates : bool
        Elements follow from the attributes alone: cheaper to compute anew than to read.
    constant : bool
        A 0-d value, which stands beside operands of any shape, and is no part of the key.
    writes : bool
        The first operand's elements stay where the op does not write; the result is no view.
    variadic : bool
        It takes any number of operands, which `attrs` does not tell.
    work_buffers : int
        Storage buffers that a pass binds beside what it reads.
    stored_because : Reason
        Why the operands that `buffered` names are stored.
    """

    name: str
    vjp: Derivative = field(kw_only=True)
    cost: int = field(default=1, kw_only=True)

    inline: ClassVar[bool] = False
    folds: ClassVar[bool] = False
    barrier: ClassVar[bool] = False
    reads_by_map: ClassVar[bool] = False
    shifts: ClassVar[bool] = False
    generates: ClassVar[bool] = False
    constant: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    variadic: ClassVar[bool] = False
    stored_because: ClassVar[Reason] = Reason.GATHERED

    @property
    def work_buffers(self) -> int:
        return 1

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        """Shape, dtype and device of the result, from those of the operands: here the first's.

        Raises
        ------
        ShapeError, DTypeError
            Where the op does not apply to such operands.
        """
        return metas[0]

    def buffered(self, node: Node) -> tuple[Node, ...]:
        """The operands that are read from a buffer by indices, so that no kernel computes both."""
        return ()

    def notes_faults(self, node: Node) -> bool:
        """Whether a kernel notes indices out of range for it."""
        return False

    def work(self, node: Node) -> int:
        """Elements that computing the node visits."""
        return node.meta.size

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        """The node's elements from the arrays of its operands."""
        raise NotImplementedError(f"{self.name}: is not computed")

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Elementwise(Op):
    """One value per index from the operands' values at that index.

    Attributes
    ----------
    wgsl : mapping
        An expression per WGSL type of the last operand, "*" for any type: ``{0}``, ``{1}`` stand
        for the operands.
    numpy : callable
        ``numpy(np, *arrays)``, the same on arrays.
    gives : DType, optional
        The dtype of the result, where it is not that of the last operand.
    """

    wgsl: Mapping[str, str]
    numpy: OnArrays
    gives: DType | None = None

    inline: ClassVar[bool] = True

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        """Operands have one shape; constants may stand beside them."""
        shape: Shape = ()
        for meta in metas:
            if meta.shape and meta.shape != shape:
                if shape:
                    raise ShapeError(f"{self.name}: operands of shapes {shape} and {meta.shape}")
                shape = meta.shape
        return meta_of(shape, self.gives or metas[-1].dtype, metas[0].device)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return _in_dtype(run, self.numpy(run.np, *operands), node)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cast(Op):
    """Conversion to the dtype `attrs`; codegen has one function for each pair of types."""

    inline: ClassVar[bool] = True

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        return meta_of(metas[0].shape, attrs, metas[0].device)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return arrays.cast(run.np, operands[0], node.meta.dtype.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Folding(Op):
    """A fold over some axes, which stay as length 1; the node's attributes are those axes."""

    folds: ClassVar[bool] = True

    @property
    def result_dtype(self) -> DType | None:
        """Where it is not that of the first operand."""
        return None

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        first, second = metas[0], metas[-1]
        if first.shape != second.shape or first.dtype is not second.dtype:
            raise ShapeError(f"{self.name}: operands {first} and {second} are not alike")
        dtype = self.result_dtype or first.dtype
        return meta_of(reduced(first.shape, attrs), dtype, first.device)

    def folding(self) -> tuple[Reduction, Elementwise | None]:
        """How values are folded, and what makes one of several operands."""
        raise NotImplementedError

    def work(self, node: Node) -> int:
        return node.inputs[0].meta.size if node.inputs else node.meta.size


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reduction(Folding):
    """A fold of one operand.

    Attributes
    ----------
    parts : tuple of str
        The WGSL type of each part of the accumulator, "T" for the operand's own type.
    identity : callable
        DType of the operand -> the parts' start values, as Python scalars.
    element : mapping
        WGSL type -> one expression per part: the accumulator of the single value ``{x}`` whose
        flat index along the reduced axes is ``{i}``.
    combine : mapping
        WGSL type -> one expression per part, over the parts ``{a0}``, ``{a1}`` of one accumulator
        and ``{b0}``, ``{b1}`` of another.
    result : str
        The result from the parts ``{a0}``, ``{a1}``.
    indexed : bool
        Whether `element` uses ``{i}``.
    rounds : bool
        Whether folding floats rounds, so that a long chain would lose digits.
    numpy : callable
        ``numpy(np, array, axes)`` with the axes kept.
    gives : DType, optional
        The dtype of the result, where it is not the operand's.
    """

    parts: tuple[str, ...]
    identity: Callable[[Any], tuple[int | float | bool, ...]]
    element: Mapping[str, tuple[str, ...]]
    combine: Mapping[str, tuple[str, ...]]
    result: str
    numpy: Callable[[Any, Any, tuple[int, ...]], Any]
    indexed: bool = False
    rounds: bool = False
    gives: DType | None = None

    @property
    def result_dtype(self) -> DType | None:
        return self.gives

    @property
    def work_buffers(self) -> int:
        return len(self.parts)

    def folding(self) -> tuple[Reduction, None]:
        return self, None

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return _in_dtype(run, self.numpy(run.np, operands[0], node.attrs), node)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contract(Folding):
    """The sum of the products of two operands of one shape."""

    fold: Reduction
    product: Elementwise

    def folding(self) -> tuple[Reduction, Elementwise]:
        return self.fold, self.product

    def work(self, node: Node) -> int:
        """The terms cost a fraction of an element each: they do not come from memory."""
        return Folding.work(self, node) // TERMS_PER_VISIT

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return arrays.contracted(run.np, operands[0], operands[1], node.attrs)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Op):
    """Each element folded with all that come before it along an axis; the attributes are (axis,).

    Attributes
    ----------
    fold : Reduction
        With an accumulator of one part, whose identity leaves every value as it is, -0 too.
    numpy : callable
        ``numpy(np, array, axis)``
    """

    fold: Reduction
    numpy: Callable[[Any, Any, int], Any]

    barrier: ClassVar[bool] = True

    @property
    def work_buffers(self) -> int:
        """The part that it goes on from, and its result."""
        return 2

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        dtype = node.meta.dtype
        wide = operands[0].astype(run.np.float64 if dtype.kind == "f" else dtype.name, copy=False)
        return self.numpy(run.np, wide, node.attrs[0]).astype(dtype.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sort(Op):
    """The elements along an axis in order, equal ones as they were; attributes (axis, descending).

    Attributes
    ----------
    indices : bool
        Where each element was, as int32, in place of the element.
    """

    indices: bool

    barrier: ClassVar[bool] = True

    @property
    def work_buffers(self) -> int:
        """Where things go, the elements and their places."""
        return 3

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        return meta_of(metas[0].shape, int32 if self.indices else metas[0].dtype, metas[0].device)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        axis, descending = node.attrs
        return arrays.in_order(run.np, operands[0], axis, descending, self.indices)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Movement(Op):
    """A result whose every element is an element of the operand, found by an affine map."""

    layout: Callable[[Any, Shape], Layout]  # of attributes and the operand's shape

    reads_by_map: ClassVar[bool] = True

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        shape = self.layout(attrs, metas[0].shape).shape
        return meta_of(shape, metas[0].dtype, metas[0].device)

    def work(self, node: Node) -> int:
        below = node.inputs[0]
        return below.meta.size if below.op.reads_by_map else below.op.work(below)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return arrays.moved(run.np, operands[0], layout_of(node))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Op):
    """One value, the node's attributes."""

    constant: ClassVar[bool] = True
    generates: ClassVar[bool] = True

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return run.np.array(node.attrs, dtype=node.meta.dtype.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Count(Op):
    """The row-major number of each element, as an integer."""

    generates: ClassVar[bool] = True

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        numbers = run.np.arange(node.meta.size, dtype=run.np.int64)
        return numbers.astype(node.meta.dtype.name).reshape(node.meta.shape)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pad(Op):
    """(x, fill): x inside a window of the result, the constant `fill` around it.

    The attributes are what the window leaves before and behind it along each axis.
    """

    inline: ClassVar[bool] = True
    shifts: ClassVar[bool] = True

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        x, fill = metas
        if fill.shape or fill.dtype is not x.dtype:
            raise DTypeError(f"{self.name}: fills {x.dtype} with one {x.dtype}, not {fill}")
        shape = tuple(low + n + high for n, (low, high) in zip(x.shape, attrs, strict=True))
        return meta_of(shape, x.dtype, x.device)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return run.np.pad(operands[0], node.attrs, constant_values=operands[1])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Concat(Op):
    """Operands side by side along the axis `attrs`, each written by a dispatch of its own."""

    barrier: ClassVar[bool] = True
    variadic: ClassVar[bool] = True

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        """Raises unless all axes but the one agree."""
        first, axis = metas[0], int(attrs)
        beside = first.shape[:axis], first.shape[axis + 1 :]
        for x in metas[1:]:
            if len(x.shape) != len(first.shape) or (x.shape[:axis], x.shape[axis + 1 :]) != beside:
                raise ShapeError(
                    f"{self.name}: shapes {first.shape} and {x.shape} differ beside axis {axis}"
                )
        n = sum(x.shape[axis] for x in metas)
        return meta_of((*beside[0], n, *beside[1]), first.dtype, first.device)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return run.np.concatenate(operands, axis=node.attrs)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assign(Op):
    """(x, value): x with `value` at the places of a view of it, (shape, strides, offset).

    No place occurs twice. `value` has the view's shape, or is a constant.
    """

    barrier: ClassVar[bool] = True
    writes: ClassVar[bool] = True

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        whole, value = operands
        return arrays.assigned(run.np, whole, value, Layout(*node.attrs), copy=not run.spare)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gather(Op):
    """(x, i1, ..., ik): elements of `x` that the indices name along some axes.

    Attributes are (axes, at, op). The result's shape is that of x's other axes in their order, with
    the axes over which the indices are broadcast inserted at `at`; each index has that shape.
    Negative indices count from the end; those out of range raise IndexError in the name of `op`,
    and count as the nearest in range. "" says that all are known to be in range.
    """

    inline: ClassVar[bool] = True

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[:1]

    def notes_faults(self, node: Node) -> bool:
        return bool(node.attrs[2])

    def infer(self, metas: tuple[Meta, ...], attrs: Any) -> Meta:
        return meta_of(metas[1].shape, metas[0].dtype, metas[0].device)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        return operands[0][arrays.places(run, operands[0], operands[1:], *node.attrs)[0]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scatter(Op):
    """(base, values, i1, ..., ik): `base` with values at the places that the indices name.

    Attributes are (axes, at, op, mode, unique), the first three as those of a gather that would
    give `values`. Mode "set" keeps the last of several at one place, "add", "min" and "max" combine
    them all with the element; "add_atomic" adds floats in any order. `unique` promises one value
    for each place. Nothing is written out of range.
    """

    barrier: ClassVar[bool] = True
    writes: ClassVar[bool] = True
    stored_because: ClassVar[Reason] = Reason.BASE

    @property
    def work_buffers(self) -> int:
        return SCATTER_BUFFERS

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[:1]

    def notes_faults(self, node: Node) -> bool:
        return bool(node.attrs[2])

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        base, values, *indices = operands
        axes, at, op, mode, _ = node.attrs
        where, inside = arrays.places(run, base, tuple(indices), axes, at, op)
        return arrays.scattered(run.np, base, where, inside, values, mode)


def layout_of(node: Node) -> Layout:
    """The map of a movement node, from its coordinates to its operand's flat index."""
    assert isinstance(node.op, Movement)
    return node.op.layout(node.attrs, node.inputs[0].meta.shape)


def _in_dtype(run: Run, result: Array, node: Node) -> Array:
    return run.np.asarray(result).astype(node.meta.dtype.name, copy=False)
