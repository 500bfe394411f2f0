"""From kernels to dispatches: the one place that picks a family of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py_tensor.codegen.map import lower_map
from py_tensor.codegen.matmul import roles_of
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Dispatch, Programs
from py_tensor.codegen.reduce import Context, lower_reduce
from py_tensor.codegen.rows import lower_rows
from py_tensor.codegen.scan import lower_scan
from py_tensor.codegen.sort import lower_sort
from py_tensor.codegen.split_k import lower_product
from py_tensor.graph.kernel import Apply, Body, Contraction, Fold, Kernel, Scanned, Sorted, Stage
from py_tensor.graph.primitives import MUL, SUM


@dataclass(frozen=True, slots=True)
class Lowered:
    """Dispatches in order, and the bytes of each temporary between them: slot -1, -2, ..."""

    dispatches: tuple[Dispatch, ...]
    temporaries: tuple[int, ...]


def lower(kernels: Sequence[Kernel], profile: Profile, programs: Programs) -> Lowered:
    """Lower kernels that are in order."""
    sizes: list[int] = []

    def temporary(nbytes: int) -> int:
        sizes.append(nbytes)
        return -len(sizes)

    context = Context(profile, programs, temporary)
    dispatches = [d for kernel in kernels for d in _lower_one(kernel, context)]
    return Lowered(tuple(dispatches), tuple(sizes))


def _lower_one(kernel: Kernel, context: Context) -> list[Dispatch]:
    if not kernel.stages:
        return [lower_map(kernel, context.profile, context.programs)]
    if isinstance(kernel.stages[0], Contraction):
        roles = roles_of(kernel)
        if roles is not None:
            return lower_product(kernel, roles, context)
        kernel = _as_reduction(kernel, kernel.stages[0])
    if isinstance(kernel.stages[0], Scanned):
        return lower_scan(kernel, context)
    if isinstance(kernel.stages[0], Sorted):
        return lower_sort(kernel, context)
    if kernel.revisits:
        return [lower_rows(kernel, context)]
    return lower_reduce(kernel, context)


def _as_reduction(kernel: Kernel, contraction: Contraction) -> Kernel:
    """A contraction that is no product of matrices, as a sum of products."""
    element = Body()
    a, b = element.add(contraction.a), element.add(contraction.b)
    dtype = contraction.a.dtype
    fold = Fold(SUM, element.add(Apply(MUL, dtype, (a, b))), dtype)
    return Kernel(
        kernel.kept,
        kernel.reduced,
        (Stage(element, (fold,)),),
        kernel.row,
        kernel.outputs,
        kernel.label,
    )
