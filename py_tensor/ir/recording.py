"""Recordings: the nodes of a function with their operands, also of those that are computed.

A node that is computed becomes a leaf and drops its operands, so that their memory can be used
again. Derivatives walk from results to arguments, so a recording keeps these operands.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import ref

from py_tensor.ir.bind import leaf_key
from py_tensor.ir.node import Node, next_number


class Recording:
    """The operands of the nodes that were made in a `recording` context.

    Those that other threads and tasks made meanwhile are kept too. As long as it exists, no leaf of
    any thread is overwritten: a pullback may need its elements.
    """

    __slots__ = ("__weakref__", "_end", "_operands", "_start")

    def __init__(self) -> None:
        self._operands: dict[Node, tuple[Node, ...]] = {}
        self._start = next_number()
        self._end: int | None = None
        _existing.append(ref(self, _existing.remove))

    def operands(self, node: Node) -> tuple[Node, ...]:
        """Return the operands of a node; none of one that was stored before."""
        return self._operands.get(node, node.inputs)

    @property
    def has_ended(self) -> bool:
        return self._end is not None

    def end(self) -> None:
        """Do not keep the operands of nodes that are made from now on."""
        self._end = next_number()

    def keep(self, node: Node) -> None:
        """Keep the operands of a node that is about to drop them, if it was recorded."""
        if node.number > self._start and (self._end is None or node.number < self._end):
            self._operands[node] = node.inputs


_existing: list[ref[Recording]] = []
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


def is_recording() -> bool:
    """Return whether this thread or task is in a `recording` context.

    Then results are not computed without their node, as some small ones are otherwise.
    """
    if not _existing:
        return False
    current = _current.get()
    return current is not None and not current.has_ended


def may_overwrite() -> bool:
    """Return whether the elements of a leaf that no tensor holds are needed by no recording."""
    return not _existing


def set_storage(node: Node, storage: Any) -> None:
    """Make a node a leaf, because its elements are computed."""
    node.storage = storage  # first: any node with storage is a leaf
    if _existing and node.inputs:
        for reference in tuple(_existing):
            if (recording := reference()) is not None:
                recording.keep(node)
    node.key = node.meta.leaf_key or leaf_key(node.meta)
    node.inputs = ()
