"""Products that sum over axes, computed with `matmul`: compositions of other ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from operator import index as as_index
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option, check_order
from py_tensor.base.shapes import axes_of, normalize_axis
from py_tensor.ir.arrays import Array, summed_in
from py_tensor.ir.op import CpuOp
from py_tensor.ops.complex import conjugated
from py_tensor.ops.creation import arange
from py_tensor.ops.elementwise import where
from py_tensor.ops.linalg import matmul, with_axes
from py_tensor.ops.movement import converted, in_common_dtype, pad_constant, reshape_copy, stack
from py_tensor.ops.operands import Operand, as_arrays, common_dtype
from py_tensor.ops.out import Out, dtype_into, stored
from py_tensor.ops.rearrange import moveaxis, several, sliding_window_view
from py_tensor.ops.record import build
from py_tensor.ops.reduction import sum
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "convolve", "correlate", "cross", "einsum", "einsum_path", "inner", "kron", "matvec",
    "tensordot", "vdot", "vecdot", "vecmat",
]  # fmt: skip


def inner(a: Operand, b: Operand, /) -> Tensor:
    """Inner product over the last axis of both operands; a scalar multiplies."""
    a, b = in_common_dtype("inner", a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(a, b, (-1, -1))


def vdot(a: Operand, b: Operand, /) -> Tensor:
    """Dot product of the flattened operands, with `a` conjugated.

    Raises ShapeError if their sizes differ.
    """
    a, b = in_common_dtype("vdot", a, b)
    return matmul(conjugated(a.ravel()), b.ravel())


@with_axes(1, 1, 0, signature="(n),(n)->()")
def vecdot(x1: Operand, x2: Operand) -> Tensor:
    """Dot product of vectors along `axis`, with `x1` conjugated; the other axes broadcast.

    Parameters
    ----------
    axis
        The axis of both operands, by default the last.
    axes : list, optional
        The axis in each operand, instead of `axis`; with `keepdims` also the axis in the result.

    Raises
    ------
    ShapeError
        If the vectors differ in length or an operand is 0-d.
    ValueError, TypeError
        If `axes` is not a list with an entry for each operand.
    """
    a, b = _with_axes("vecdot", x1, x2, (1, 1))
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"vecdot: vectors must have equal lengths, not {a.shape[-1]} and {b.shape[-1]}"
        )
    return matmul(conjugated(a).expand_dims(-2), b.expand_dims(-1))[..., 0, 0]


@with_axes(2, 1, 1, signature="(m,n),(n)->(m)")
def matvec(x1: Operand, x2: Operand) -> Tensor:
    """Matrix-vector product, with the vectors along the last axis of `x2`.

    `axes`, `axis` and `keepdims` are as in `matmul`.
    """
    a, b = _with_axes("matvec", x1, x2, (2, 1))
    return matmul(a, b.expand_dims(-1))[..., 0]


@with_axes(1, 2, 1, signature="(n),(n,m)->(m)")
def vecmat(x1: Operand, x2: Operand) -> Tensor:
    """Vector-matrix product, with the vectors along the last axis of `x1`, conjugated.

    `axes`, `axis` and `keepdims` are as in `matmul`.
    """
    a, b = _with_axes("vecmat", x1, x2, (1, 2))
    return matmul(conjugated(a).expand_dims(-2), b)[..., 0, :]


def _with_axes(op: str, x1: Operand, x2: Operand, counts: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Return operands in their common dtype, which have at least so many axes."""
    operands = in_common_dtype(op, x1, x2)
    for name, x, least in zip(("x1", "x2"), operands, counts, strict=True):
        if x.ndim < least:
            raise ShapeError(
                f"{op}: {name} must have at least {axes_of(least)}, not shape {x.shape}"
            )
    return operands


def tensordot(a: Operand, b: Operand, axes: Any = 2) -> Tensor:
    """Sum of products over given axes of `a` and `b`.

    Parameters
    ----------
    axes
        The number of axes, the last of `a` and the first of `b`; or a pair: the axes of `a` and the
        axes of `b`.

    Raises
    ------
    ShapeError
        If the sizes or the numbers of axes differ.
    """
    a, b = in_common_dtype("tensordot", a, b)
    if hasattr(axes, "__index__"):
        count = as_index(axes)
        if count > min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot: shapes {a.shape} and {b.shape} do not have {count} axes")
        axes = range(a.ndim - count, a.ndim), range(count)
    left, right = (
        [normalize_axis("tensordot", axis, v.ndim) for axis in several(listed)]
        for listed, v in zip(axes, (a, b), strict=True)
    )
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ShapeError(
            f"tensordot: axes {left} of {a.shape} and {right} of {b.shape} differ in size"
        )
    of_b: list[Any] = [f"b{i}" for i in range(b.ndim)]
    for i, j in zip(left, right, strict=True):
        of_b[j] = i
    kept = {*range(a.ndim), *of_b} - {*left}
    product = _product(a, tuple(range(a.ndim)), b, tuple(of_b), kept)[0]
    return product if left else product + 0  # as a sum that begins with 0: -0 becomes 0


def kron(a: Operand, b: Operand) -> Tensor:
    """Kronecker product: a block of `b` times each element of `a`."""
    a, b = in_common_dtype("kron", a, b)
    rank = max(a.ndim, b.ndim)
    left, right = ((1,) * (rank - v.ndim) + v.shape for v in (a, b))
    a = reshape_copy(a, tuple(chain.from_iterable((n, 1) for n in left)))
    b = reshape_copy(b, tuple(chain.from_iterable((1, n) for n in right)))
    return (a * b).reshape(tuple(n * m for n, m in zip(left, right, strict=True)))


def cross(
    a: Operand,
    b: Operand,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Cross product of vectors of 3 elements, or of 2 with a third element of 0.

    Parameters
    ----------
    axisa, axisb, axisc
        The axes of the vectors in `a`, `b` and the result; `axis` sets all three. For vectors of 2
        elements the result is the third component only, without this axis.

    Raises
    ------
    ShapeError
        If the vectors have a different length.
    """
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a, b = in_common_dtype("cross", a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if not {a.shape[-1], b.shape[-1]} <= {2, 3}:
        raise ShapeError(
            f"cross: vectors must have 2 or 3 elements, not shapes {a.shape}, {b.shape}"
        )
    a1, a2, *a3 = (a[..., i] for i in range(a.shape[-1]))
    b1, b2, *b3 = (b[..., i] for i in range(b.shape[-1]))
    third = a1 * b2 - a2 * b1
    if not a3 and not b3:
        return third
    of_a, of_b = (v[0] if v else 0 * w for v, w in ((a3, a1), (b3, b1)))
    parts = a2 * of_b - of_a * b2, of_a * b1 - a1 * of_b, third
    return moveaxis(stack(parts, -1), -1, axisc)


def convolve(a: Operand, v: Operand, mode: str = "full") -> Tensor:
    """Discrete convolution of two vectors.

    Parameters
    ----------
    mode : {"full", "same", "valid"}
        "full": the whole convolution. "same": as many elements as the longer vector. "valid": only
        where the vectors overlap completely.

    Raises
    ------
    ShapeError
        If an operand is not a nonempty vector.
    """
    a, b = (x.reshape((1,)) if not x.ndim else x for x in in_common_dtype("convolve", a, v))
    a, b = (b, a) if b.size > a.size else (a, b)
    return _slid("convolve", a, b.flip(), mode)


def correlate(a: Operand, v: Operand, mode: str = "valid") -> Tensor:
    """Cross-correlation of two vectors, with the second conjugated.

    `mode` is as in `convolve`.

    Raises
    ------
    ShapeError
        If an operand is not a nonempty vector.
    """
    a, b = in_common_dtype("correlate", a, v)
    b = conjugated(b)
    if b.size > a.size:
        return _slid("correlate", b, a, mode).flip()
    return _slid("correlate", a, b, mode)


def _grad_slide(g: Any, y: Any, a: Any, b: Any, mode: Any) -> tuple[Any, ...]:
    n = b.size - 1
    before = {"full": 0, "same": n - (n + 1) // 2, "valid": n}[mode]
    whole = pad_constant(g, (before, a.size + n - before - g.size))
    of_a, of_b = (_slid("correlate", whole, v, "valid") for v in (b.flip(), a))
    return of_a, of_b.flip()


def _slid_products(np: Any, operands: tuple[Array, ...], mode: Any) -> Array:
    a, b = operands
    wide = a.astype(summed_in(np, a), copy=False)  # rounded once
    return np.convolve(wide, b[::-1].astype(wide.dtype), mode).astype(a.dtype)


_SLIDE = CpuOp(
    "correlate",
    vjp=_grad_slide,
    result=lambda metas, mode: (
        (metas[0].size + {"full": 1, "same": 0, "valid": -1}[mode] * (metas[1].size - 1),),
        metas[0].dtype,
    ),
    numpy=_slid_products,
)


def _slid(op: str, a: Tensor, b: Tensor, mode: str) -> Tensor:
    """Return the products of `b` with the windows of `a`, which is at least as long."""
    if a.ndim != 1 or b.ndim != 1 or not b.size:
        raise ShapeError(f"{op}: takes nonempty vectors, not shapes {a.shape}, {b.shape}")
    n = b.size - 1
    half = (n + 1) // 2
    sides = {"full": (n, n), "same": (half, n - half), "valid": (0, 0)}
    check_option(op, "mode", mode, sides)
    before, behind = sides[mode]
    if a.device.computes_cpu_ops and b.size <= a.size:
        return build(_SLIDE, (a, b), mode)
    windows = sliding_window_view(pad_constant(a, (before, behind)), b.size)
    first = arange(windows.shape[0], device=a.device).expand_dims(1) - before
    step = max(_AT_ONCE // windows.shape[0], 1)
    total = None
    for start in range(0, b.size, step):
        window, factors = windows[:, start : start + step], b[start : start + step]
        if mode == "valid":
            products = matmul(window, factors)
        else:  # do not pad with 0: 0 * inf is NaN
            position = first + (arange(factors.size, device=a.device) + start)
            inside = (position >= 0) & (position < a.size)
            products = sum(where(inside, window * factors, 0), 1, a.dtype)
        total = products if total is None else total + products
    assert total is not None
    return total


_AT_ONCE = 2**23
"""The number of products computed at a time, because the cpu device holds them in memory."""


# -- Einstein summation -------------------------------------------------------------------------

Labels = tuple[Any, ...]
Factor = tuple[Tensor, Labels]


def einsum(
    *operands: Any,
    out: Out = None,
    optimize: Any = False,
    dtype: object = None,
    order: str = "K",
    casting: str = "safe",
) -> Tensor:
    """Einstein summation: ``einsum("ij,jk->ik", x, y)``.

    Parameters
    ----------
    operands
        The subscripts and the tensors. Each letter labels an axis. A letter missing after ``->`` is
        summed over, and a letter repeated in one operand takes its diagonal. ``...`` stands for
        axes that broadcast. Without ``->`` the result has the letters that occur once, sorted.
        Alternatively each tensor followed by a list of numbers that label its axes, and optionally
        a list for the result.
    dtype
        The dtype to compute in; by default the common one of the operands and `out`, or int64 for
        integers and an `out` of floats.
    order, casting
        Accepted; have no effect: results are row-major, and `dtype` may be any dtype.
    optimize
        False contracts operands in pairs from the left, each with a matrix product. True, "greedy"
        and "optimal" use `einsum_path`, whose result can also be passed.

    Raises
    ------
    ShapeError, ValueError
        If the subscripts do not match the operands.
    """
    check_option("einsum", "casting", casting, dtypes.CASTINGS)
    check_order("einsum", order)
    text, tensors = _as_text(operands)
    converted_operands = as_arrays("einsum", tensors)
    target = common_dtype(converted_operands) if dtype is None else dtypes.parse(dtype)
    if dtype is None and out is not None:
        terms = math.prod(max(x.size, 1) for x in converted_operands)
        added = terms << 8 * target.itemsize * (len(converted_operands) - 1)
        target = dtype_into("einsum", target, converted_operands[0].device, out, added=added)
    converted_operands = [converted(x, target) for x in converted_operands]
    labels, kept = _labels(text, converted_operands)
    sizes: dict[Any, int] = {}
    for x, operand_labels in zip(converted_operands, labels, strict=True):
        if len(set(zip(operand_labels, x.shape, strict=True))) > len(set(operand_labels)):
            raise ShapeError(
                f"einsum: {text!r}: axes with the same letter differ in length in {x.shape}"
            )
        for n, label in zip(x.shape, operand_labels, strict=True):
            if sizes.setdefault(label, n) != n and 1 not in (n, sizes[label]):
                raise ShapeError(f"einsum: {text!r}: {label!r} has sizes {sizes[label]} and {n}")
            sizes[label] = n if sizes[label] == 1 else sizes[label]
    pairs = zip(converted_operands, labels, strict=True)
    factors: list[Factor] = [_plain(x, operand_labels, sizes) for x, operand_labels in pairs]

    path = [*_path(text, converted_operands, optimize)]
    while len(factors) > 1:
        combined = path.pop(0) if path else range(len(factors))
        others = [factors[position] for position in combined]
        first = others.pop(0)
        factors = [factor for position, factor in enumerate(factors) if position not in combined]
        for n, second in enumerate(others, 1):
            remaining = (*factors, *others[n:])
            needed = {*kept, *chain.from_iterable(term for _, term in remaining)}
            first = _product(*first, *second, needed)
        factors.append(first)
    ((result, result_labels),) = factors
    result, result_labels = _summed(result, result_labels, set(kept))
    return stored("einsum", result.permute(tuple(map(result_labels.index, kept))), out)


def einsum_path(
    *operands: Any, optimize: Any = "greedy", einsum_call: bool = False
) -> tuple[list[Any], str]:
    """Return the contraction order for `einsum`, and a report of its cost.

    NumPy plans it from the shapes only: nothing is read or computed.

    Parameters
    ----------
    operands
        As in `einsum`.
    optimize
        True or "greedy", "optimal", False, or a pair of a name and the largest size of an
        intermediate.
    einsum_call
        Must be False; True is internal to NumPy.
    """
    if einsum_call:
        raise ValueError("einsum_path: einsum_call must be False")
    text, tensors = _as_text(operands)
    np = host.load_numpy()
    shapes = (tensor_of(x, "einsum_path").shape for x in tensors)
    return np.einsum_path(
        text, *(np.broadcast_to(np.float32(0), shape) for shape in shapes), optimize=optimize
    )


def _path(text: str, operands: Sequence[Tensor], optimize: Any) -> Sequence[tuple[int, ...]]:
    """Return the contraction path, given or from NumPy: positions of operands to combine.

    What it leaves is contracted from the left.
    """
    is_one = not isinstance(optimize, list | tuple)
    name, *path = [optimize] if is_one else cast("list[Any]", optimize)
    if name == "einsum_path":
        return path
    if name not in (True, False, "greedy", "optimal"):
        raise ValueError(
            f"einsum: optimize must be a bool, 'greedy', 'optimal' or a path, not {name!r}"
        )
    if not name or len(operands) < 3:
        return ()
    return einsum_path(text, *operands, optimize=optimize)[0][1:]


def _as_text(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the subscripts as text, and the operands; subscripts may also be lists of numbers."""
    if len(operands) < 2:
        raise ValueError("einsum: takes subscripts and at least one operand")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])

    def letters(numbers: Sequence[Any]) -> str:
        return "".join("..." if n is Ellipsis else chr(ord("A") + as_index(n)) for n in numbers)

    count = len(operands) // 2
    text = ",".join(letters(numbers) for numbers in operands[1 : 2 * count : 2])
    text += f"->{letters(operands[-1])}" if len(operands) % 2 else ""
    return text, list(operands[: 2 * count : 2])


def _labels(text: str, operands: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    """Return the axis labels of each operand and of the result; those of ``...`` are numbers."""
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {text!r} names {len(terms)} operands, not {len(operands)}")

    def of(term: str, rank: int) -> Labels:
        before, dots, behind = term.partition("...")
        inside = rank - len(before) - len(behind)
        if inside < 0 or (inside and not dots):
            raise ShapeError(f"einsum: {term!r} does not match an operand of {rank} axes")
        return (*before, *range(-inside, 0), *behind)

    labels = [of(term, x.ndim) for term, x in zip(terms, operands, strict=True)]
    every = list(chain.from_iterable(labels))
    dotted = sorted({label for label in every if isinstance(label, int)})
    if arrow:
        before, dots, behind = output.partition("...")
        if dotted and not dots:
            raise ValueError(f"einsum: {text!r}: the result needs ..., as the operands do")
        kept = (*before, *dotted, *behind)
    else:
        once = sorted(c for c in set(every) if isinstance(c, str) and every.count(c) == 1)
        kept = (*dotted, *once)
    if len(set(kept)) != len(kept) or not set(kept) <= set(every):
        raise ValueError(
            f"einsum: {text!r}: the result repeats an axis or names one that no operand has"
        )
    return labels, kept


def _plain(x: Tensor, labels: Labels, sizes: dict[Any, int]) -> tuple[Tensor, Labels]:
    """Take diagonals, so that the labels are distinct, and expand to the full sizes."""
    for label in [c for i, c in enumerate(labels) if c in labels[:i]]:
        first = labels.index(label)
        second = labels.index(label, first + 1)
        is_writeable = x.flags.writeable
        x = x.diagonal(0, first, second)
        x.flags.writeable = is_writeable  # unlike NumPy's einsum, `diagonal` makes it read-only
        labels = (*(c for i, c in enumerate(labels) if i not in (first, second)), label)
    shape = tuple(sizes[c] for c in labels)
    return (x if x.shape == shape else x.expand(shape)), labels


def _summed(x: Tensor, labels: Labels, needed: set[Any]) -> tuple[Tensor, Labels]:
    """Sum over labels that are not needed."""
    gone = tuple(i for i, c in enumerate(labels) if c not in needed)
    kept = tuple(c for c in labels if c in needed)
    return (sum(x, gone, dtype=x.dtype) if gone else x), kept


def _product(
    a: Tensor, of_a: Labels, b: Tensor, of_b: Labels, needed: set[Any]
) -> tuple[Tensor, Labels]:
    """Return the product of two operands, summed over labels that are not needed afterwards."""
    a, of_a = _summed(a, of_a, needed | set(of_b))
    b, of_b = _summed(b, of_b, needed | set(of_a))
    both = [c for c in of_a if c in of_b]
    batch, inside = [c for c in both if c in needed], [c for c in both if c not in needed]
    rows, columns = [c for c in of_a if c not in both], [c for c in of_b if c not in both]
    size = {**dict(zip(of_a, a.shape, strict=True)), **dict(zip(of_b, b.shape, strict=True))}

    def shaped(x: Tensor, axis_labels: Labels, *groups: list[Any]) -> Tensor:
        """Order the axes by groups, and merge each group into one axis."""
        order = tuple(axis_labels.index(c) for group in (batch, *groups) for c in group)
        merged = (math.prod(size[c] for c in group) for group in groups)
        return reshape_copy(x.permute(order), (*(size[c] for c in batch), *merged))

    product_labels = (*batch, *rows, *columns)
    if inside:
        product = matmul(shaped(a, of_a, rows, inside), shaped(b, of_b, inside, columns))
    else:
        product = shaped(a, of_a, rows, []) * shaped(b, of_b, [], columns)
    return product.reshape(tuple(size[c] for c in product_labels)), product_labels
