"""`pt.explain(x)`: the kernels that a read would run, without running them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from textwrap import wrap

from py_tensor.adapters.hosted import computed_by
from py_tensor.base.errors import TracedValueError
from py_tensor.base.shapes import Shape
from py_tensor.codegen.lower import lower_each
from py_tensor.codegen.program import Dispatch, Programs
from py_tensor.convert.printing import label_lines
from py_tensor.ir.node import Device, Node, Notes, Reason
from py_tensor.ir.program import Program
from py_tensor.runtime.device import with_backend
from py_tensor.schedule.body import Apply, Body, Convert, Gather, Select
from py_tensor.schedule.kernel import Kernel as GraphKernel
from py_tensor.schedule.order import topological
from py_tensor.tensors.tensor import Tensor
from py_tensor.tools.profiling import count_text

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor that a kernel reads or writes.

    Attributes
    ----------
    name : str
        "x0", "x1", ... for stored tensors, "t0", "t1", ... for results that the kernels store.
    shape : tuple of int
    dtype : str
    kernel : int or None
        The number of the kernel that writes it; None if it is already stored.
    reasons : tuple of str
        Why it is stored instead of fused into the kernel that uses it; empty if already stored.
    on_host : str or None
        The function that computed it on the host with NumPy, if any.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kernel: int | None = None
    reasons: tuple[str, ...] = ()
    on_host: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that a read would run.

    Attributes
    ----------
    number : int
        Counted from 1, in execution order.
    name : str
        The distinct ops it computes: its label in `pt.profile()` and in messages.
    family : str
        "map" (elementwise), "reduce", "rows" (several passes over the same rows), "matmul", "scan",
        "sort", "scatter", "fourier", "factorization", "jacobi" or "custom".
    variants : tuple of str
        The implementation of each of its programs. A map is a "run" (one contiguous run), "vectors"
        (along the last axis), "blocks" (4 by 4, for transposed operands), "elements" or "loop"
        (elements, each with a loop).
    ops : tuple of str
        The ops it computes in order, including repetitions.
    inputs, outputs : tuple of Value
    dispatches : int
    traffic : int
        Bytes it has to move; each buffer counts once per dispatch.
    operations : int
        Elementwise ops and additions.
    wgsl : str
        The source of its programs.
    """

    number: int
    name: str
    family: str
    variants: tuple[str, ...]
    ops: tuple[str, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    dispatches: int
    traffic: int
    operations: int
    wgsl: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The kernels that a read would run. Its `repr` is a report as wide as the terminal.

    Attributes
    ----------
    kernels : tuple of Kernel
        In execution order.
    is_planned : bool
        Whether the plan is cached, so that nothing has to be planned.
    remarks : tuple of str
        Notes on results that need no kernel.
    operations_op_by_op : int
        The number of elementwise ops and additions without fusion.
    """

    kernels: tuple[Kernel, ...]
    is_planned: bool
    remarks: tuple[str, ...]
    operations_op_by_op: int = 0

    @property
    def dispatches(self) -> int:
        """The number of dispatches of all kernels."""
        return sum(k.dispatches for k in self.kernels)

    @property
    def traffic(self) -> int:
        """Bytes that all kernels have to move."""
        return sum(k.traffic for k in self.kernels)

    @property
    def operations(self) -> int:
        """Elementwise ops and additions of all kernels."""
        return sum(k.operations for k in self.kernels)

    def wgsl(self) -> str:
        """Return the WGSL of all kernels."""
        return "\n\n".join(k.wgsl for k in self.kernels)

    def __repr__(self) -> str:
        return self.text(shutil.get_terminal_size().columns)

    def text(self, columns: int) -> str:
        """Return the explanation as text of limited width."""
        lines = [line for remark in self.remarks for line in _wrapped(remark, columns)]
        if self.kernels:
            plan = "planned before" if self.is_planned else "not planned yet"
            head = (
                f"{_counted(len(self.kernels), 'kernel')} in"
                f" {_counted(self.dispatches, 'dispatch')}: {_cost(self)}"
                f" (unfused {count_text(self.operations_op_by_op)}flop); {plan}"
            )
            lines += _wrapped(head, columns)
            if self.operations > self.operations_op_by_op:
                more = f"{self.operations / max(1, self.operations_op_by_op):.3g} times"
                why = "some values are recomputed instead of stored"
                lines += _wrapped(f"{more} the operations without fusion: {why}", columns)
        for kernel in self.kernels:
            lines += ["", *_kernel_lines(kernel, columns)]
        return "\n".join(lines)


def explain(*tensors: Tensor) -> Explanation:
    """Explain what reading tensors would run: kernels, fused ops and reasons for boundaries.

    Nothing is run or changed. Several tensors are explained as if they were read together. The cpu
    device computes small results as they are recorded, so nothing is left to run for them.

    Raises
    ------
    MemoryError, DTypeError
        As for the read itself.

    Examples
    --------
    >>> import py_tensor as pt
    >>> x = pt.ones((200, 300), device="cpu")
    >>> pt.explain(x * 2 + 1)
    The cpu device runs no kernels: NumPy computes add and multiply, op
    by op.
    """
    if not tensors:
        raise TypeError("explain: needs at least one tensor")
    kernels: list[Kernel] = []
    remarks: list[str] = []
    planned, op_by_op = True, 0
    by_device: dict[Device, list[tuple[Node, Shape]]] = {}
    for x in tensors:
        if not isinstance(x, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"explain: takes one or more tensors, not {type(x).__name__}")
        if x.device.depth:
            raise TracedValueError("explain: a traced tensor is not computed")
        node, layout = x._source()  # pyright: ignore[reportPrivateUsage]
        shape = x.shape if layout is None else node.meta.shape
        by_device.setdefault(node.meta.device, []).append((node, shape))
    for device, nodes in by_device.items():
        pending = [(n, shape) for n, shape in nodes if n.storage is None and n.meta.size]
        if not pending:
            remarks.append(_why_nothing_runs([n for n, _ in nodes]))
        elif device.kind != "webgpu":
            remarks.append(_without_kernels(device, (n for n, _ in pending)))
        else:
            with device.lock:
                planned_kernels, known, alone = _on_gpu(device, pending)
            kernels, planned = [*kernels, *planned_kernels], planned and known
            op_by_op += alone
    return Explanation(tuple(kernels), planned, tuple(remarks), op_by_op)


def _why_nothing_runs(nodes: Sequence[Node]) -> str:
    if all(n.meta.size == 0 for n in nodes):
        return "Nothing to run: there are no elements."
    functions = sorted({function for n in nodes if (function := computed_by(n))})
    told = f" NumPy computed them on the host: {', '.join(functions)}." if functions else ""
    return f"Nothing to run: the elements are stored.{told}"


def _without_kernels(device: Device, nodes: Iterable[Node]) -> str:
    order = topological(nodes)
    pending = [n for n in order if n.storage is None and not n.op.reads_by_map]
    *first, last = sorted({n.op.name for n in pending if not n.op.constant})
    listed = f"{', '.join(first)} and {last}" if first else last
    computed = f"NumPy computes {listed}" if device.uses_numpy else f"it computes {listed}"
    return f"The {device} device runs no kernels: {computed}, op by op."


def _on_gpu(device: Device, nodes: Sequence[tuple[Node, Shape]]) -> tuple[list[Kernel], bool, int]:
    """Return the kernels that compute nodes, whether they are planned, and unfused operations."""
    from py_tensor.backends.webgpu import WebGPU, overwritable_slots

    lazy = with_backend(device)
    backend = lazy.backend
    assert isinstance(backend, WebGPU)
    program = lazy.request([node for node, _ in nodes]).program
    for slot in program.outputs:
        backend.check(program.nodes[slot].op.name, program.nodes[slot].meta)
    asked = {program.slots[node]: shape for node, shape in nodes}
    planned, notes = backend.kernels_of(program)
    described = _Description(program, asked, notes, backend.profile.submit_work)
    profile = backend.profile.trying(backend.profile.chosen)
    programs = Programs()
    programs.take(profile.implementations)
    overwritable = overwritable_slots(program, planned, leaves=True)
    lowered, _ = lower_each(planned, profile, programs, overwritable)
    kernels = [
        described.kernel(n, kernel, each.dispatches)
        for n, (kernel, each) in enumerate(zip(planned, lowered, strict=True), 1)
    ]
    alone = sum(node.op.operations(node) for node in program.nodes if node.storage is None)
    return kernels, backend.has_planned(program), alone


@dataclass
class _Description:
    """Describes the kernels of one program in order, and names the tensors."""

    program: Program
    asked: dict[int, Shape]
    notes: Notes
    submit_work: int
    values: dict[int, Value] = field(default_factory=dict[int, Value])
    stored: Iterator[int] = field(default_factory=count)  # numbers of names
    results: Iterator[int] = field(default_factory=count)

    def kernel(self, number: int, kernel: GraphKernel, lowered: Sequence[Dispatch]) -> Kernel:
        pieces = [piece for d in lowered for piece in d.pieces(self.submit_work)]
        used = list(dict.fromkeys(d.program for d in lowered))
        family = next((stage.family for stage in kernel.stages if stage.family), "")
        return Kernel(
            number,
            kernel.label,
            family or used[0].family.removesuffix("_tiled"),
            tuple(p.variant for p in used),
            tuple(_ops(kernel)),
            tuple(self._value(slot, None) for slot in sorted(kernel.reads())),
            tuple(self._value(slot, number) for slot in sorted(kernel.writes())),
            len(pieces),
            sum(d.traffic for d in lowered),
            sum(d.operations for d in lowered),
            "\n\n".join(p.listing() for p in used),
        )

    def _value(self, slot: int, kernel: int | None) -> Value:
        """Describe a tensor that a kernel computes, or that is stored already (None)."""
        if slot not in self.values:
            node = self.program.nodes[slot]
            is_stored = kernel is None
            self.values[slot] = Value(
                f"x{next(self.stored)}" if is_stored else f"t{next(self.results)}",
                node.meta.shape if is_stored else self.asked.get(slot, node.meta.shape),
                str(node.meta.dtype),
                kernel,
                () if is_stored else tuple(reason.value for reason in self._reasons(slot)),
                computed_by(node) if is_stored else None,
            )
        return self.values[slot]

    def _reasons(self, slot: int) -> Iterator[Reason]:
        if slot in self.asked:
            yield Reason.ASKED
        elif slot in self.program.outputs:
            yield Reason.LIVE
        if slot in self.notes:
            yield self.notes[slot]


def _ops(kernel: GraphKernel) -> Iterator[str]:
    """Yield the names of a kernel's ops, in execution order."""
    for stage in kernel.stages:
        for body in stage.bodies():
            yield from _ops_of(body)
        yield from stage.ops()
    yield from _ops_of(kernel.row)
    yield from _ops_of(kernel.spread)


_NAMES: dict[type, str] = {Convert: "astype", Select: "select", Gather: "take_along_axis"}


def _ops_of(body: Body) -> Iterator[str]:
    for instruction in body.instructions:
        if isinstance(instruction, Apply):
            yield instruction.op.name
        elif type(instruction) in _NAMES:
            yield _NAMES[type(instruction)]


# -- Text ---------------------------------------------------------------------------------------


def _kernel_lines(kernel: Kernel, columns: int) -> Iterator[str]:
    head = f"{kernel.number}. "
    first, *more = label_lines(kernel.name, columns - len(head))
    yield head + first
    yield from (f"{' ' * len(head)}{line}" for line in more)
    variants = "; ".join(kernel.variants)
    yield from _item("how", f"{kernel.family}: {variants}", columns)
    ops = ", ".join(f"{op} x{n}" if n > 1 else op for op, n in Counter(kernel.ops).items())
    yield from _item("ops", ops or "none", columns)
    for value in kernel.inputs:
        origin = "" if value.kernel is None else f" of kernel {value.kernel}"
        origin += "" if value.on_host is None else f", computed on the host by {value.on_host}"
        yield from _item("in", f"{value}{origin}", columns)
    for value in kernel.outputs:
        yield from _item("out", str(value), columns)
        for reason in value.reasons:
            yield from _item("", f"stored: {reason}", columns)
    runs = _counted(kernel.dispatches, "dispatch")
    yield from _item("cost", f"{runs}, {_cost(kernel)}", columns)


def _item(name: str, text: str, columns: int) -> list[str]:
    return _wrapped(f"   {name:4} {text}", columns, 8)


def _wrapped(text: str, columns: int, indent: int = 0) -> list[str]:
    return wrap(
        text,
        max(20, columns),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _counted(n: int, noun: str) -> str:
    plural = "es" if noun.endswith("ch") else "s"
    return f"{n} {noun}{'' if n == 1 else plural}"


def _cost(x: Kernel | Explanation) -> str:
    return f"{count_text(x.traffic)}B moved, {count_text(x.operations)}flop"
