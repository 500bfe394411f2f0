"""What must be atomic: deferring Ctrl-C, and locks that are released during a wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from signal import SIGINT
from types import FrameType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# `signal` wraps this module with enums, which adds 5 us to each change of a handler.
_signal: Any = import_module("_signal")
_NUMBER = int(SIGINT)
_main = threading.main_thread().ident
_is_deferring = False
_handler: Any = None  # the program's own, while interrupts are deferred


def uninterruptible(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an interrupt during it is raised when it returns.

    Otherwise Python may raise an interrupt between any two steps of the main thread: in a callback
    of a C library, or after a command is encoded but before that is recorded.
    """

    @wraps(function)
    def uninterruptible_function(*args: P.args, **kwargs: P.kwargs) -> T:
        global _is_deferring, _handler
        if _is_deferring or threading.get_ident() != _main:
            return function(*args, **kwargs)
        handler = _signal.getsignal(_NUMBER)
        if not callable(handler):
            return function(*args, **kwargs)
        noted: list[tuple[int, FrameType | None]] = []

        def note(number: int, frame: FrameType | None) -> None:
            noted.append((number, frame))

        _handler = handler
        _signal.signal(_NUMBER, note)
        try:
            _is_deferring = True
            return function(*args, **kwargs)
        finally:
            _is_deferring = False
            _signal.signal(_NUMBER, handler)
            if noted:
                handler(*noted[0])

    return uninterruptible_function


def _restore_handler() -> None:
    """Stop deferring in a process that another thread forked while the main one deferred."""
    global _is_deferring, _main
    _main = threading.get_ident()
    if _is_deferring:
        _is_deferring = False
        _signal.signal(_NUMBER, _handler)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_handler)


@contextmanager
def released(lock: threading.RLock | None) -> Generator[None]:
    """Release a lock, however often this thread has acquired it, while the context is active.

    An interrupt in it would leave the lock in an unknown state: use it in `uninterruptible` code.
    """
    depth = 0
    if lock is not None:
        try:
            while True:
                lock.release()
                depth += 1
        except RuntimeError:  # this thread does not hold it any more
            pass
    try:
        yield
    finally:
        for _ in range(depth):
            assert lock is not None
            lock.acquire()
