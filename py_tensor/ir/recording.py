"""Recordings: what derivatives need of the nodes that a function records.

Derivatives walk from results to arguments. A node that is computed drops its operands, so a
recording keeps them. It also knows the rules of functions that have a derivative of their own, and
the arguments of the functions that are being differentiated, whose dependents must not be read as
numbers.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import ref

from py_tensor.base.errors import TracedValueError
from py_tensor.ir.node import Node, next_number


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The derivative of a function, which is used instead of those of the ops that it records.

    Attributes
    ----------
    name : str
        The function, for errors.
    arguments : tuple of Node
        What the derivative is with respect to.
    results : tuple of Node
        Its results: a node for each that nothing else has, in the order of recording.
    pullback : callable
        ``pullback(cotangents)``: a cotangent or None for each result -> one for each argument.
    pushforward : callable, optional
        ``pushforward(tangents)``: a tangent or None for each argument -> one for each result. By
        default it is derived from the pullback.
    """

    name: str
    arguments: tuple[Node, ...]
    results: tuple[Node, ...]
    pullback: Callable[[list[Any]], Sequence[Any]]
    pushforward: Callable[[list[Any]], Sequence[Any]] | None = None


class Recording:
    """The operands of the nodes that were made in a `recording` context.

    Those that other threads and tasks made meanwhile are kept too. As long as it exists, no leaf of
    any thread is overwritten: a pullback may need its elements.

    Attributes
    ----------
    rules : dict of Node to Rule
        By each of the rule's results.
    """

    __slots__ = (
        "__weakref__", "_depends", "_end", "_omitted", "_operands", "_start", "_variables", "rules",
    )  # fmt: skip

    def __init__(self) -> None:
        self.rules: dict[Node, Rule] = {}
        self._operands: dict[Node, tuple[Node, ...]] = {}
        self._variables: list[Node] = []  # of the functions that run now
        self._depends: dict[Node, bool] = {}
        self._omitted: list[int] = []  # first and last number of each part, in turns
        self._start = next_number()
        self._end: int | None = None
        RECORDINGS.append(ref(self, RECORDINGS.remove))

    def operands(self, node: Node) -> tuple[Node, ...]:
        """Return what a node's derivative is with respect to; nothing for one stored before."""
        if node in self.rules:
            return self.rules[node].arguments
        return () if node.op.stops else self._operands.get(node, node.inputs)

    def omit(self, start: int, end: int) -> None:
        """Do not keep the operands of the nodes with numbers from `start` to `end`."""
        if len(self._omitted) and self._omitted[-1] > start:  # it contains earlier parts
            del self._omitted[bisect(self._omitted, start) :]
        self._omitted += start, end
        for node in [node for node in self._operands if start < node.number < end]:
            del self._operands[node]

    def outside(self, results: Iterable[Node], start: int) -> list[Node]:
        """Return the nodes older than `start` that results are computed from directly."""
        nodes: dict[Node, None] = {}
        outside: list[Node] = []
        stack = [*results]
        while stack:
            node = stack.pop()
            if node not in nodes and node.meta.dtype.is_inexact:
                nodes[node] = None
                if node.number < start:
                    outside.append(node)
                else:
                    stack += self.operands(node)
        return outside

    @contextmanager
    def varying(self, variables: Sequence[Node]) -> Generator[None]:
        """Let `depends` find the dependents of these nodes, too."""
        before = self._variables
        self._variables, self._depends = [*before, *variables], {}
        try:
            yield
        finally:
            self._variables, self._depends = before, {}

    def depends(self, node: Node) -> bool:
        """Return whether a derivative of the node is wanted; each node is looked at once."""
        if not self._variables:
            return False
        known = self._depends
        known.update(dict.fromkeys(self._variables, True))
        first = min(variable.number for variable in self._variables)
        stack = [node]
        while stack:
            top = stack[-1]
            if top not in known:
                if top.number < first or not top.meta.dtype.is_inexact:
                    known[top] = False
                elif missing := [x for x in self.operands(top) if x not in known]:
                    stack += missing
                    continue
                else:
                    known[top] = any(known[x] for x in self.operands(top))
            stack.pop()
        return known[node]

    @property
    def has_ended(self) -> bool:
        return self._end is not None

    def end(self) -> None:
        """Do not keep the operands of nodes that are made from now on."""
        self._end = next_number()

    def keep(self, node: Node) -> None:
        """Keep the operands of a node that is about to drop them, if it was recorded."""
        if node.number > self._start and (self._end is None or node.number < self._end):
            after = bisect(self._omitted, node.number)
            if not after % 2:  # it is outside of all pairs of numbers
                self._operands[node] = node.inputs


RECORDINGS: list[ref[Recording]] = []
"""Those that exist: while there are any, they may need the elements of leaves without tensors."""
_current: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recording() -> Generator[Recording]:
    """Keep the operands of what is recorded; a context within another shares its recording.

    A task that starts in a context has that recording until it ends. A generator that is suspended
    in one leaves it to its caller.
    """
    outer = _current.get()
    if outer is not None and not outer.has_ended:
        yield outer
        return
    made = Recording()
    try:
        _current.set(made)
        yield made
    finally:
        made.end()
        _current.set(outer)


def current_recording() -> Recording | None:
    """Return the recording of this thread or task, if it is in one."""
    current = _current.get() if RECORDINGS else None
    return None if current is None or current.has_ended else current


def is_recording() -> bool:
    """Return whether this thread or task is in a `recording` context.

    Then results are not computed without their node, as some small ones are otherwise.
    """
    return current_recording() is not None


def recording_of(nodes: Iterable[Node]) -> Recording | None:
    """Return a recording whose function is differentiated and one of the nodes depends on.

    It may be that of another thread, which waits for what this one computes.
    """
    if RECORDINGS:
        nodes = [*nodes]
        for reference in tuple(RECORDINGS):
            made = reference()
            if made is not None and any(map(made.depends, nodes)):
                return made
    return None


def check_constant(node: Node, reader: str) -> None:
    """Refuse to make a number of a node of which a derivative is wanted.

    Raises
    ------
    TracedValueError
        If the node depends on an argument of a function that is being differentiated: what is
        computed from the number would have no derivative.
    """
    if recording_of([node]) is not None:
        raise TracedValueError(
            f"{reader}: this value depends on an argument of the function that is differentiated,"
            " and what is computed from a number has no derivative; use"
            f" {reader}(pt.stop_gradient(x)) if it needs none, or compute with the tensor itself"
        )
