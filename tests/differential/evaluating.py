"""Executes a program's statements, with NumPy or another module under the name `np`."""

from __future__ import annotations

import warnings
from types import CodeType
from typing import Any

import numpy as np

Names = dict[str, Any]
"""The variables of a program."""
CATEGORIES = (IndexError, ValueError, TypeError, OverflowError)
"""Exceptions of statements: errors are equivalent if they are instances of the same ones."""


def execute(statement: str | CodeType, names: Names) -> Exception | None:
    """Execute a statement; return its exception, if any."""
    try:
        exec(statement, names)
    except Exception as error:
        return error
    return None


def execute_numpy(statement: str | CodeType, names: Names) -> Exception | None:
    """Execute a statement under NumPy, with results in C order.

    NumPy chooses the memory order of a result by those of the operands, which determines whether a
    later reshape is a view. Results are always C-ordered in py_tensor, so they are converted here;
    views of older arrays, and slices of new ones in C order, are unchanged.
    """
    older = [value for value in names.values() if isinstance(value, np.ndarray)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # NumPy before 2.4 only warns of such an index if nothing is selected.
        warnings.filterwarnings("error", "Out of bound index found", DeprecationWarning)
        error = execute(statement, names)
    if isinstance(error, DeprecationWarning):
        error = IndexError(str(error))
    for name, value in names.items():
        if not isinstance(value, np.ndarray) or value.flags.c_contiguous:
            continue
        if any(value is old or np.may_share_memory(value, old) for old in older):
            continue
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        steps = [abs(step) for step in value.strides]
        if not owner.flags.c_contiguous or steps != sorted(steps, reverse=True):
            names[name] = np.array(value, order="C", subok=True)
    return error
