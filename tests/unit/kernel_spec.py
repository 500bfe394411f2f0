"""What a list of kernels must satisfy after each pass, whatever the pass; see `check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from py_tensor.base.shapes import Shape, size_of
from py_tensor.ir.primitives import CONCAT
from py_tensor.ir.program import Program
from py_tensor.schedule.body import Accumulated, Addressed, Body, Const, Gather, Load, Mask
from py_tensor.schedule.kernel import Budget, Kernel, Output, ReduceStage, Scattered, Stage
from py_tensor.schedule.order import OVERWRITTEN_BYTES
from py_tensor.schedule.pack import MAX_PACK


def checked(after_passes: Iterable[list[Kernel]], program: Program, budget: Budget) -> list[Kernel]:
    """Return the kernels after the last pass; check them after each, and that it changed none."""
    previous: list[Kernel] = []
    copies: list[Kernel] = []
    for kernels in after_passes:
        assert previous == copies, "a pass changed a kernel"
        check(kernels, program, budget)
        previous, copies = kernels, [kernel.with_slots(lambda slot: slot) for kernel in kernels]
    return previous


def check(kernels: list[Kernel], program: Program, budget: Budget) -> None:
    """Assert that kernels compute a program on a device, in this order, without unnecessary work.

    Every read slot is a leaf or written earlier, and every wanted slot is written once and whole.
    So there is no cycle, and nothing is computed for nobody.
    """
    ready = {slot for slot, node in enumerate(program.nodes) if node.storage is not None}
    written: Counter[int] = Counter()  # slot -> elements written
    for kernel in kernels:
        for slot in kernel.reads():
            whole = slot in ready or written[slot] >= program.nodes[slot].meta.size
            assert whole, f"{kernel.label}: reads slot {slot}, which is not computed yet"
        assert not kernel.reads() & kernel.writes(), f"{kernel.label}: reads what it writes"
        _check_budget(kernel, budget)
        _check_slab(kernel, program)
        _check_bodies(kernel, program)
        for slot, elements in _written(kernel, program).items():
            again = slot in written and program.nodes[slot].op is not CONCAT
            assert not again, f"slot {slot} is computed twice"
            assert slot not in ready, f"slot {slot} was computed before"
            written[slot] += elements
    for slot, elements in written.items():
        size = program.nodes[slot].meta.size
        assert elements == size, f"slot {slot}: {elements} of {size} elements are written"
    missing = program.outputs - ready - written.keys()
    assert not missing, f"wanted but not computed: {missing}"
    needed = set[int](program.outputs).union(*(kernel.reads() for kernel in kernels))
    assert written.keys() <= needed, f"computed for nobody: {written.keys() - needed}"


def _written(kernel: Kernel, program: Program) -> dict[int, int]:
    """Return the slots that a kernel writes, and the number of elements of each."""
    written = {s: program.nodes[s].meta.size for x in kernel.stages for s in x.writes()}
    outputs = [(output, kernel.kept) for output in kernel.outputs]
    outputs += [(output, kernel.kept + kernel.reduced) for output in kernel.spread_outputs]
    for output, extents in outputs:
        meta = program.nodes[output.slot].meta
        assert output.slot not in written, f"{kernel.label}: two outputs for slot {output.slot}"
        assert output.dtype is meta.dtype
        start = output.access.start
        begin = 0 if start is None else program.nodes[start.slot].attrs[2]
        _check_stored(kernel, output, extents, meta.size, begin)
        written[output.slot] = size_of(extents) if kernel.in_place_target is None else meta.size
    return written


def _check_stored(kernel: Kernel, output: Output, extents: Shape, size: int, begin: int) -> None:
    """Assert that each point stores to an element of its own, in a view from element `begin`."""
    access, points = output.access.over(output.access.strides, begin), size_of(extents)
    if points:
        last = sum((n - 1) * s for n, s in zip(extents, access.strides, strict=True) if s > 0)
        first = sum((n - 1) * s for n, s in zip(extents, access.strides, strict=True) if s < 0)
        inside = access.offset + first >= 0 and access.offset + last < size
        assert inside, f"{kernel.label}: stores outside slot {output.slot}"
        assert access.footprint(extents) == points, f"{kernel.label}: stores elements twice"
    if output.whole:
        assert points == size, f"{kernel.label}: output {output.slot} does not fill its buffer"


def _check_budget(kernel: Kernel, budget: Budget) -> None:
    """Assert that a kernel fits, by `Budget` and by a count of its bindings that is independent.

    A reduction may take two dispatches; the first stores every part of every accumulator.
    """
    assert budget.fits(kernel.draft()), f"{kernel.label}: too many buffers"
    most = budget.max_buffers
    outputs = len(kernel.outputs) + len(kernel.spread_outputs)
    stored = (1 if kernel.slab else outputs) + bool(kernel.checks())
    if not any(isinstance(stage, Scattered) for stage in kernel.stages):
        assert len(kernel.reads()) + stored <= most, f"{kernel.label}: too many buffers"
    for stage in () if kernel.revisits else kernel.stages:
        if isinstance(stage, ReduceStage):
            parts = sum(len(fold.op.components) for fold in stage.accumulators())
            assert len(stage.element.slots()) + parts <= most
            assert len(kernel.row.slots()) + parts + len(kernel.outputs) <= most


def _check_slab(kernel: Kernel, program: Program) -> None:
    """Assert that slabs contain only small results, which are never overwritten."""
    if kernel.slab:
        metas = [program.nodes[output.slot].meta for output in kernel.outputs]
        assert not kernel.stages, f"{kernel.label}: a slab for results of stages"
        assert kernel.writes() <= program.outputs
        assert len({(meta.nbytes, meta.dtype.storage) for meta in metas}) == 1
        assert metas[0].nbytes < OVERWRITTEN_BYTES
        assert 2 <= len(metas) <= MAX_PACK


def _check_bodies(kernel: Kernel, program: Program) -> None:
    whole, folded = kernel.kept + kernel.reduced, 0
    for stage in kernel.stages:
        for body in stage.bodies():
            _check_body(kernel, body, whole, folded, program)
        _check_alive(kernel, stage)
        folded += len(stage.accumulators()) or 1  # a stage of another kind leaves one result
    for body, extents, outputs in (
        (kernel.row, kernel.kept, kernel.outputs),
        (kernel.spread, whole, kernel.spread_outputs),
    ):
        _check_body(kernel, body, extents, folded, program)
        _check_used(kernel, body, {output.value for output in outputs})


def _check_body(kernel: Kernel, body: Body, extents: Shape, folded: int, program: Program) -> None:
    """Assert that instructions use earlier ones, the space's dimensions and known accumulators."""
    for number, x in enumerate(body.instructions):
        label = f"{kernel.label}: {x}"
        assert all(operand < number for operand in x.operands), f"{label} uses a later value"
        if isinstance(x, Addressed):
            assert len(x.access.strides) == len(extents), f"{label} is over another space"
        if isinstance(x, Mask):
            inside = all(0 <= low < high <= extents[d] for d, low, high in x.ranges)
            assert inside, f"{label} is beyond the space"
        if isinstance(x, Load | Gather | Const):
            assert x.dtype is program.nodes[x.slot].meta.dtype, f"{label} has another dtype"
        if isinstance(x, Const):
            assert program.nodes[x.slot].op.constant, f"{label} is no constant"
        if isinstance(x, Accumulated):
            assert x.number < folded, f"{label} is not folded yet"


def _check_alive(kernel: Kernel, stage: Stage) -> None:
    if isinstance(stage, ReduceStage):
        folds = {v for f in stage.accumulators() for v in (f.value, f.index) if v is not None}
        _check_used(kernel, stage.element, folds)
    elif isinstance(stage, Scattered):
        _check_used(kernel, stage.element, {stage.at, stage.value})


def _check_used(kernel: Kernel, body: Body, used: set[int]) -> None:
    """Assert that a body has these values, and computes nothing else."""
    assert all(value < len(body.instructions) for value in used), f"{kernel.label}: no such value"
    for number in range(len(body.instructions) - 1, -1, -1):
        unused = f"{kernel.label}: {body.instructions[number]} is computed for nobody"
        assert number in used, unused
        used.update(body.instructions[number].operands)
