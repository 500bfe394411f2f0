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

# What the module signal wraps into enums, which takes 5 us for each change of a handler.
_signal: Any = import_module("_signal")
_NUMBER = int(SIGINT)
_main = threading.main_thread().ident
_is_deferring = False


def undisturbed(function: Callable[P, T]) -> Callable[P, T]:
    """The function, in which an interrupt is raised once it is done.

    Python raises one between any two steps of the main thread: within a callback of a C library, or
    where a command is encoded and not yet noted as such.
    """

    @wraps(function)
    def undisturbed_function(*args: P.args, **kwargs: P.kwargs) -> T:
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

    return undisturbed_function
