"""Traces: devices on which a function is recorded without values.

The function runs on arguments that have a shape and a dtype only. Every node that depends on one
is on the trace, because results are on the device of their operands. What the function needs of
other devices becomes an argument too, which refers to the node.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn, Protocol

from py_tensor.base.dtypes import DType
from py_tensor.base.errors import TracedValueError
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape
from py_tensor.ir.bind import ARGUMENT, argument
from py_tensor.ir.node import RELEASED, Device, Meta, Node, meta_of
from py_tensor.runtime.device import MAX_RELEASED


class Trace(Device):
    """A device whose tensors have no elements.

    There is one for each device and depth, so that the caches of metas and recipes serve all
    functions that are traced.

    Attributes
    ----------
    below : Device
        The device that the function is for, which may be a trace.
    depth : int
        The number of traces, with this one, above a device that computes.
    """

    def __init__(self, below: Device) -> None:
        super().__init__(below.kind, below.index)
        self.uses_numpy = below.uses_numpy
        self.below = below
        self.depth = below.depth + 1
        self.lock = below.lock  # one that a fork acquires
        self.sync_each_op = False

    def __repr__(self) -> str:
        return f"trace({self.below!r})"

    def argument(self, shape: Shape, dtype: DType) -> Node:
        """Return a node whose elements are given later."""
        return argument(meta_of(shape, dtype, self))

    def lifted(self, node: Node, holder: object) -> Node | None:
        """Return an argument for a node of a device below; None for one of another device.

        Its attribute is the tensor that holds the node.
        """
        device = node.meta.device
        below = self.below
        while below is not device:
            if not isinstance(below, Trace):
                return None
            below = below.below
        return argument(meta_of(node.meta.shape, node.meta.dtype, self), holder)

    @property
    def storing(self) -> Device:
        return self.below.storing

    @property
    def is_ready(self) -> bool:
        return self.below.is_ready

    @property
    def read_work(self) -> int:
        return self.below.read_work

    def check(self, op: str, meta: Meta) -> None:
        self.below.check(op, meta)

    def record(self, node: Node, *, replacing: bool = False) -> None:
        """Do nothing but count releases: what is not computed need not be remembered."""
        if len(RELEASED) > MAX_RELEASED:
            self.collect()

    def collect(self) -> None:
        self.storing.collect()

    def forget_unheld(self) -> None:
        self.unheld.clear()

    def count(self, nodes: int, elements: int) -> None:
        """Do nothing."""

    def note_check(self, node: Node) -> None:
        """Do nothing."""

    def record_deferred(self, node: Node) -> None:
        """Do nothing."""

    def upload(self, data: memoryview, meta: Meta) -> NoReturn:
        raise AssertionError("uploads go to the device that stores them")

    def compute(self, nodes: Iterable[Node], read: Node | None = None) -> None:
        """Do nothing, unless the elements are needed.

        Raises
        ------
        TracedValueError
            If they are read.
        """
        if read is not None:
            raise _no_elements(read)

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        if node.meta.size:
            raise _no_elements(node)
        return memoryview(b"")


def _no_elements(node: Node) -> TracedValueError:
    name = "argument" if node.op is ARGUMENT else f"result of {node.op.name}"
    return TracedValueError(
        f"the elements of a traced tensor were needed: the {name} {node.meta} has no values while"
        " its function is traced; use pt.where for a branch, where= for a selection"
    )


class Drawing(Protocol):
    """A bit generator: the words follow from the number of those that were drawn before."""

    drawn: int


# A random draw: the bit generator, how many words it had drawn, and the number of words.
Draw = tuple[Drawing, int, int]
_noted: ContextVar[tuple[list[Draw], ...]] = ContextVar("draws", default=())


@contextmanager
def noting_draws() -> Generator[list[Draw]]:
    """Note the random draws of this thread or task, in order; a context around it does too.

    A function that was traced once can be computed again with the next words of its generators.
    """
    draws: list[Draw] = []
    outer = _noted.get()
    try:
        _noted.set((*outer, draws))
        yield draws
    finally:
        _noted.set(outer)


def note_draw(generator: Drawing, words: int) -> None:
    for draws in _noted.get():
        draws.append((generator, generator.drawn, words))


@contextmanager
def repeating(draws: Iterable[Draw]) -> Generator[None]:
    """Let the generators draw the same words again in this context; then they go on."""
    first: dict[Drawing, int] = {}
    for generator, drawn, _ in draws:
        first.setdefault(generator, drawn)
    before = {generator: generator.drawn for generator in first}
    try:
        for generator, drawn in first.items():
            generator.drawn = drawn
        yield
    finally:
        for generator, drawn in before.items():
            generator.drawn = drawn


_active: ContextVar[tuple[Trace, ...]] = ContextVar("traces", default=())


@contextmanager
def tracing(trace: Trace) -> Generator[None]:
    """Trace a function in this thread or task: `innermost_trace` is this one."""
    outer = _active.get()
    try:
        _active.set((*outer, trace))
        yield
    finally:
        _active.set(outer)


def innermost_trace() -> Trace | None:
    """Return the trace of the function that is traced now, if any."""
    return next(reversed(_active.get()), None)


_traces: dict[Device, Trace] = {}


def trace_on(device: Device) -> Trace:
    """Return the trace above a device, which may be a trace itself."""
    return _traces.get(device) or _traces.setdefault(device, Trace(device))
