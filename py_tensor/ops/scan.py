"""Cumulative sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable

from py_tensor.base import dtypes
from py_tensor.base.dtypes import SUMMED, DType
from py_tensor.base.errors import ShapeError
from py_tensor.base.shapes import normalize_axis
from py_tensor.ir.op import Scan
from py_tensor.ops.creation import full
from py_tensor.ops.define import register
from py_tensor.ops.movement import along_axis, concat, converted
from py_tensor.ops.operands import Operand
from py_tensor.ops.out import Out, dtype_into, stored_whole
from py_tensor.ops.record import build
from py_tensor.ops.reduction import CUMPROD, CUMSUM, as_floats
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]


def scanned(
    op: Scan, name: str, x: Operand, axis: int | None, dtype: object, out: Out = None
) -> Tensor:
    """Return a cumulative op in `dtype`, by default that of a sum into `out`."""
    x, along = along_axis(name, x, axis, of_scalar=True)
    if dtype is not None:
        target = dtypes.parse(dtype)
    else:
        element_dtype = x.dtype
        if out is not None:
            element_dtype = dtype_into(
                name, element_dtype, x.device, out, added=x.size if op is CUMSUM else 0
            )
        target = SUMMED.check(name, element_dtype)
    if target.is_packed:  # for bools: whether any, or all, elements so far are nonzero
        x = converted(x, target)
        return converted(scanned(op, name, x, along, dtypes.in_words(target)), target)

    def compute(dtype: DType) -> Tensor:
        return build(op, (converted(x, dtype),), (along,))

    y = compute(target)
    if dtype is None and out is not None:
        return as_floats(name, x.dtype, x.device, out, compute, y)
    return y


def cumsum(a: Operand, axis: int | None = None, dtype: object = None, out: Out = None) -> Tensor:
    """Cumulative sum along `axis`; None sums over the flattened tensor.

    Dtypes are as in `sum`. Floats are summed pairwise, so errors grow more slowly with the length
    of the axis than in NumPy.
    """
    return stored_whole("cumsum", scanned(CUMSUM, "cumsum", a, axis, dtype, out), out)


def cumprod(a: Operand, axis: int | None = None, dtype: object = None, out: Out = None) -> Tensor:
    """Cumulative product along `axis`; None multiplies over the flattened tensor.

    Dtypes are as in `prod`. Elements after a 0 are NaN if a partial product there overflows.
    """
    return stored_whole("cumprod", scanned(CUMPROD, "cumprod", a, axis, dtype, out), out)


_DOC = """Array API version of `{}`; `include_initial` prepends a {}.

Raises
------
ShapeError
    If there are several axes and `axis` is None.
"""


def _of_standard(op: Scan, name: str, identity: int) -> Callable[..., Tensor]:
    """Return the function of the array API standard for a scan."""

    def function(
        x: Operand,
        /,
        *,
        axis: int | None = None,
        dtype: object = None,
        out: Out = None,
        include_initial: bool = False,
    ) -> Tensor:
        x = tensor_of(x, name)
        if axis is None and x.ndim > 1:
            raise ShapeError(f"{name}: shape {x.shape} has {x.ndim} axes; pass axis")
        y = scanned(op, name, x, axis, dtype, out)
        if include_initial:
            along = normalize_axis(name, 0 if axis is None else axis, y.ndim)
            shape = tuple(1 if a == along else n for a, n in enumerate(y.shape))
            y = concat([full(shape, identity, dtype=y.dtype, device=y.device), y], along)
        return stored_whole(name, y, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(op.name, identity)
    return function


cumulative_sum = _of_standard(CUMSUM, "cumulative_sum", 0)
cumulative_prod = _of_standard(CUMPROD, "cumulative_prod", 1)
for _function, _op in ((cumsum, CUMSUM), (cumprod, CUMPROD)):
    register(_function, _op)
