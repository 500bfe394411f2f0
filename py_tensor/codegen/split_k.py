"""Matrix products with few results and a long sum: split-K, with the parts as a batch.

A workgroup computes a tile of results over all of k. If there are too few tiles to fill the
device, k is split into parts with their own workgroups, and a reduction adds up their results.
"""

from __future__ import annotations

from py_tensor.base.dtypes import uint32
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.matmul import MatmulWriter, Roles, roles_of
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce import merge
from py_tensor.codegen.writer import Context, stage_of
from py_tensor.ir.primitives import SUM
from py_tensor.schedule.body import Access, Accumulated, Body, Load
from py_tensor.schedule.kernel import Accumulator, Contraction, Kernel, Output, ReduceStage


def lower_product(kernel: Kernel, roles: Roles, context: Context) -> list[Dispatch]:
    """Return the dispatches of a matrix product; k is split into parts where that helps."""
    summed = size_of(kernel.reduced)
    rows, columns = (size_of(tuple(kernel.kept[d] for d in g)) for g in (roles.m, roles.n))
    batch = size_of(kernel.kept) // (rows * columns)
    tile, parts = context.profile.product(rows, columns, batch, summed)
    length = -(-summed // (parts * tile.bk)) * tile.bk  # the length of a part, in whole slices
    parts = -(-summed // max(1, length))
    if parts <= 1:
        return [MatmulWriter(kernel, roles, tile, context).product()]
    first, second, words = _in_parts(kernel, parts, context)
    split = roles_of(first)
    assert split is not None
    return [
        MatmulWriter(first, split, tile, context, length).product(),
        merge(second, (parts,), [words], context),
    ]


def _in_parts(kernel: Kernel, parts: int, context: Context) -> tuple[Kernel, Kernel, Load]:
    """Return the product over each part of k, the sum of these, and a load of the products."""
    stage = stage_of(kernel, Contraction)
    dtype = stage.a.dtype

    def part_of(load: Load) -> Load:
        return Load(load.slot, dtype, Access((0, *load.access.strides), load.access.offset))

    kept = (parts, *kernel.kept)
    slot = context.temporary(size_of(kept) * dtype.itemsize)
    partial = Output(slot, 0, dtype, Access(row_major(kept), 0), whole=False)
    product = Contraction(part_of(stage.a), part_of(stage.b))
    row = Body.of([Accumulated(0, dtype)])
    first = Kernel(kept, kernel.reduced, (product,), row, (partial,), kernel.label)
    access = Access((*row_major(kernel.kept), size_of(kernel.kept)), 0)
    added = ReduceStage(Body(), (Accumulator(SUM, 0, dtype),))
    second = Kernel(kernel.kept, (parts,), (added,), kernel.row, kernel.outputs, kernel.label)
    return first, second, Load(slot, uint32, access)
