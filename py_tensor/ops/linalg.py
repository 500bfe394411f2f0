"""`fused_multiply_add`, and matrix products as that op on expanded operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import AxisError, ShapeError
from py_tensor.base.shapes import MAX_RANK, Shape, broadcast, normalize_axes, reduced, size_of
from py_tensor.ir.bind import Recipe, Recipes, Step, recipe, record, steps
from py_tensor.ir.node import Meta, Op, meta_of
from py_tensor.ir.primitives import BROADCAST, CAST, CONTRACT, EXPAND, RESHAPE
from py_tensor.ops.complex import joined, parts_of
from py_tensor.ops.creation import zeros
from py_tensor.ops.define import add_operator, count_operands, in_options, register
from py_tensor.ops.movement import converted, in_common_dtype, reshape_copy
from py_tensor.ops.operands import Operand, as_arrays, common_dtype, node_of
from py_tensor.ops.out import SAME_KIND, Out, stored, stored_whole, target_of
from py_tensor.ops.rearrange import moveaxis
from py_tensor.ops.record import build
from py_tensor.tensors.tensor import Tensor

__all__ = ["dot", "fused_multiply_add", "matmul"]


def fused_multiply_add(x: Operand, y: Operand, /, axes: int | tuple[int, ...]) -> Tensor:
    """Multiply and sum over `axes`, kept with length 1, in one kernel without storing the product.

    Operands broadcast. Integers wrap around.
    """
    a, b = as_arrays("fused_multiply_add", (x, y))
    dtype = dtypes.numeric(common_dtype((a, b)))
    inner = dtypes.in_words(dtype)
    shape = broadcast("fused_multiply_add", a.shape, b.shape)
    summed = normalize_axes("fused_multiply_add", axes, len(shape))
    if not size_of(tuple(shape[axis] for axis in summed)):
        return zeros(reduced(shape, summed), dtype=dtype, device=a.device)
    a, b = (converted(v, inner).expand(shape) for v in (a, b))
    return converted(build(CONTRACT, (a, b), summed) if summed else a * b, dtype)


def with_axes(*cores: int, signature: str) -> Callable[[Callable[..., Tensor]], Any]:
    """Return a decorator that gives a product of vectors and matrices NumPy's options.

    Parameters
    ----------
    cores
        The number of core axes of each operand and of the result. The decorated function takes the
        operands with these axes last.
    signature
        The attribute of that name, such as ``"(m,n),(n)->(m)"``.
    """
    axes_of_cores, text = cores, signature

    def decorate(compute: Callable[..., Tensor]) -> Any:
        name = compute.__name__

        def function(
            x1: Operand,
            x2: Operand,
            /,
            out: Out = None,
            *,
            axes: list[Any] | None = None,
            axis: int | None = None,
            keepdims: bool = False,
            casting: str = SAME_KIND,
            order: str = "K",
            dtype: object = None,
            subok: bool = True,
            signature: None = None,
        ) -> Tensor:
            options = dtype, casting, signature, order
            if options != (None, SAME_KIND, None, "K"):
                x1, x2 = in_options(name, dtypes.ANY, (x1, x2), options)
            if axes is not None or axis is not None or keepdims:
                y = _along_axes(compute, axes_of_cores, x1, x2, axes, axis, keepdims)
            else:
                y = compute(x1, x2)
            return y if out is None else stored(name, y, out, True, casting)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = compute.__doc__
        count_operands(function, 2, signature=text)
        return function

    return decorate


def _along_axes(
    compute: Callable[..., Tensor],
    cores: tuple[int, ...],
    x1: Operand,
    x2: Operand,
    axes: Any,
    axis: int | None,
    keepdims: bool,
) -> Tensor:
    """Compute a product with vectors and matrices along given axes of operands and result."""
    op = compute.__name__
    first, second, kept = cores
    are_vectors = not kept
    if axis is not None and axes is not None:
        raise TypeError(f"{op}: takes axis or axes, not both")
    if are_vectors and axes is None:
        axes = [-1 if axis is None else axis] * (2 + keepdims)
    if axes is None or (keepdims and not are_vectors):
        option = "keepdims" if axis is None else "axis"
        raise TypeError(
            f"{op}: {option} is not supported, because operands differ in core axes; use axes"
        )
    operands = in_common_dtype(op, x1, x2)
    if not all(x.ndim for x in operands):
        raise ShapeError(
            f"{op}: operands must have at least one axis, not shapes {[x.shape for x in operands]}"
        )
    if (first, second) == (2, 2):  # a vector is a matrix with one row or column
        first, second = (min(x.ndim, 2) for x in operands)
        kept = first + second - 2
    if not isinstance(axes, list):
        raise TypeError(f"{op}: axes must be a list, not {axes!r}")
    entries = [*cast("list[Any]", axes)]
    if len(entries) == 2 and are_vectors:
        entries.append(entries[1] if keepdims else ())
    kept += keepdims
    if len(entries) != 3:
        raise ValueError(
            f"{op}: axes must have an entry for each operand and the result, not {axes}"
        )
    counts = first, second, kept
    for item, count in zip(entries, counts, strict=True):
        of_item = cast("tuple[Any, ...]", item if isinstance(item, tuple) else (item,))
        if len(of_item) != count:
            raise AxisError(f"{op}: an entry of axes must be a tuple of {count}, not {item!r}")
    of_a, of_b, of_y = (tuple(range(-count, 0)) for count in counts)
    a, b = operands
    y = compute(moveaxis(a, entries[0], of_a), moveaxis(b, entries[1], of_b))
    return moveaxis(y.expand_dims(-1) if keepdims else y, of_y, entries[2])


@with_axes(2, 2, 2, signature="(n?,k),(k,m?)->(n?,m?)")
def matmul(x: Operand, y: Operand) -> Tensor:
    """Matrix product over the last two axes; leading axes broadcast, vectors as in NumPy.

    For bools, multiplication is AND and addition is OR. Integers wrap around.

    Parameters
    ----------
    axes : list, optional
        The axes of the matrices in both operands and in the result: three pairs, with an int for a
        vector and an empty tuple for a number.
    axis, keepdims
        Not supported, as in NumPy.

    Raises
    ------
    ShapeError
        If the inner sizes differ or an operand is 0-d.
    ValueError, TypeError
        If `axes` is not a list of three entries.
    """
    if type(x) is not Tensor or type(y) is not Tensor or x.device is not y.device:
        x, y = as_arrays("matmul", (x, y))
    a, b = node_of(x), node_of(y)
    if a.meta.dtype.is_complex or b.meta.dtype.is_complex:
        return _of_parts(x, y)
    recipe = _recipes[a.meta, b.meta]
    if isinstance(recipe, Meta):
        return zeros(recipe.shape, dtype=recipe.dtype, device=recipe.device)
    made, eager = None, a.meta.device.at_once()
    if eager is not None and a.meta.dtype is b.meta.dtype and not a.meta.dtype.is_packed:
        made = eager.product(a, b, recipe.meta)
    return Tensor(made or record(recipe, a, b))


def _of_parts(x: Tensor, y: Tensor) -> Tensor:
    """Return a product of complex matrices from products of their parts, by tiled kernels."""
    dtype = dtypes.real_of(dtypes.promote(x.dtype, y.dtype))
    if not x.dtype.is_complex:
        return joined(*(matmul(converted(x, dtype), component) for component in parts_of(y)))
    a, b = parts_of(x)
    if not y.dtype.is_complex:
        return joined(*(matmul(component, converted(y, dtype)) for component in (a, b)))
    c, d = (a, b) if y is x else parts_of(y)
    return joined(matmul(a, c) - matmul(b, d), matmul(a, d) + matmul(b, c))


def _recipe_of(a: Meta, b: Meta) -> Recipe | Meta:
    """Return the recipe of a product; a vector is a matrix with one row or one column."""
    dtype = dtypes.promote(a.dtype, b.dtype)
    batch, m, k, n = _sizes(a.shape, b.shape)
    # The true products of bools are counted, then it is tested whether there are any.
    inner = dtypes.in_words(dtypes.numeric(dtype))
    lead = (size_of(batch),) if len(batch) + 3 > MAX_RANK else batch
    shape = (*lead, m, k, n)
    left = _operand_steps(a, batch, (m, k), (m, k, 1), shape, inner)
    right = _operand_steps(b, batch, (k, n), (1, k, n), shape, inner)
    kept = (*batch, *((m,) if len(a.shape) > 1 else ()), *((n,) if len(b.shape) > 1 else ()))
    if not size_of(shape):
        return meta_of(kept, dtype, a.device)
    after = [] if inner is dtype else [(CAST, dtype)]
    return recipe(CONTRACT, (left, right), (a, b), (len(shape) - 2,), (RESHAPE, kept), *after)


# The recipe of `matmul`; a meta if there is nothing to multiply, so the result is zeros or empty.
_recipes = Recipes[tuple[Meta, Meta], Recipe | Meta](_recipe_of)


def _sizes(a: Shape, b: Shape) -> tuple[Shape, int, int, int]:
    """Return the batch axes of a product, the left operand's rows and columns, and the right's.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    """
    if not a or not b:
        raise ShapeError(f"matmul: operands must have at least one axis, not shapes {a} and {b}")
    m, k = a[-2:] if len(a) > 1 else (1, *a)
    k2, n = b[-2:] if len(b) > 1 else (*b, 1)
    if k != k2:
        left = f"{k} columns" if len(a) > 1 else f"{k} elements"
        right = f"{k2} rows" if len(b) > 1 else f"{k2} elements"
        raise ShapeError(f"matmul: inner sizes differ: {a} has {left}, {b} has {right}")
    try:
        return broadcast("matmul", a[:-2], b[:-2]), m, k, n
    except ShapeError:
        raise ShapeError(
            f"matmul: the batch axes of {a} and {b} do not broadcast: {a[:-2]} and {b[:-2]}"
        ) from None


def _operand_steps(
    x: Meta, batch: Shape, matrix: Shape, inner: Shape, shape: Shape, dtype: DType
) -> tuple[Step, ...]:
    """Return the steps from an operand to a product's input: a cast, and the axes.

    A batch with too many axes is merged into one.
    """
    applied: list[tuple[Op, Any]] = [] if x.dtype is dtype else [(CAST, dtype)]
    lead = x.shape[:-2]
    if len(batch) + 3 > len(shape):
        applied += [(RESHAPE, (*lead, *matrix)), (EXPAND, (*batch, *matrix))]
        lead = shape[:-3]
        applied.append((RESHAPE, (*lead, *matrix)))
    return steps(x, *applied, (BROADCAST, ((*lead, *inner), shape)))


def dot(a: Operand, b: Operand, out: Out = None) -> Tensor:
    """Dot product over the last axis of `a` and the second-to-last (or only) axis of `b`.

    The other axes of `a` come first, then those of `b`. For vectors and matrices it is `matmul`;
    with a scalar it is `multiply`.

    Raises
    ------
    ShapeError
        If those two axes differ in size.
    """
    if type(a) is not Tensor or type(b) is not Tensor or a.device is not b.device:
        a, b = as_arrays("dot", (a, b))
    product = _dot(a, b) if a.ndim and b.ndim else a * b
    dtype, target = product.dtype, target_of("dot", out)
    must_match = dtype.is_small and dtype.is_integer
    if must_match and target is not None and target.dtype != dtype:
        raise ValueError(f"dot: out must have dtype {dtype}, not {target.dtype}")
    return stored_whole("dot", product, out)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    (*rows, n), axis_of_b = a.shape, max(b.ndim - 2, 0)
    if b.shape[axis_of_b] != n:
        raise ShapeError(
            f"dot: inner sizes differ: {a.shape} has {n}, {b.shape} has {b.shape[axis_of_b]}"
        )
    if b.ndim < 3:
        return matmul(a, b)
    order = axis_of_b, *(axis for axis in range(b.ndim) if axis != axis_of_b)
    columns = tuple(b.shape[axis] for axis in order[1:])
    left = reshape_copy(a, (size_of(tuple(rows)), n))
    right = reshape_copy(b.permute(order), (n, size_of(columns)))
    return matmul(left, right).reshape((*rows, *columns))


register(fused_multiply_add, CONTRACT)
register(matmul)
register(dot)
add_operator("matmul", matmul)
