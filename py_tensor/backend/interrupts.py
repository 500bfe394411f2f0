"""Deferring Ctrl-C during operations that must be atomic."""

from __future__ import annotations

import threading
from collections.abc import Callable
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


def uninterruptible(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an interrupt during it is raised when it returns.

    Otherwise Python may raise an interrupt between any two steps of the main thread: in a callback
    of a C library, or after a command is encoded but before that is recorded.
    """

    @wraps(function)
    def uninterruptible_function(*args: P.args, **kwargs: P.kwargs) -> T:
        global _is_deferring
        if _is_deferring or threading.get_ident() != _main:
            return function(*args, **kwargs)
        handler = _signal.getsignal(_NUMBER)
        if not callable(handler):
            return function(*args, **kwargs)
        noted: list[tuple[int, FrameType | None]] = []

        def note(number: int, frame: FrameType | None) -> None:
            noted.append((number, frame))

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
