"""From kernels to dispatches: the one place that picks a family of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from py_tensor.codegen.map import lower_map, writing_over
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
    """Dispatches in order.

    Attributes
    ----------
    temporaries : tuple of int
        The bytes of each buffer that dispatches need between them: slot -1, -2, ...
    replaced : dict of int to int
        Slots whose elements are written over those of another slot, into the same buffer.
    """

    dispatches: tuple[Dispatch, ...]
    temporaries: tuple[int, ...]
    replaced: dict[int, int] = field(default_factory=dict[int, int])


def lower(
    kernels: Sequence[Kernel],
    profile: Profile,
    programs: Programs,
    spare: Mapping[int, int] | None = None,
) -> Lowered:
    """Lower kernels that are in order.

    `spare` has the bytes of the slots that nobody needs after their last use by these kernels.
    """
    sizes: list[int] = []
    replaced: dict[int, int] = {}

    def temporary(nbytes: int) -> int:
        sizes.append(nbytes)
        return -len(sizes)

    context = Context(profile, programs, temporary)
    last_use = {slot: n for n, kernel in enumerate(kernels) for slot in kernel.reads()}
    dispatches: list[Dispatch] = []
    for n, kernel in enumerate(kernels):
        if spare and not kernel.stages:
            over = {
                slot: spare[slot] for slot in kernel.reads() & spare.keys() if last_use[slot] == n
            }
            kernel, pairs = writing_over(kernel, over)
            replaced |= pairs
        dispatches += _lower_one(kernel, context)
    return Lowered(tuple(dispatches), tuple(sizes), replaced)


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
