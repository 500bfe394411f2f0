"""Executes a program's statements, with NumPy or another module under the name `np`."""

from __future__ import annotations

import warnings
from types import CodeType
from typing import Any

import numpy as np

Names = dict[str, Any]
"""The variables of a program."""
CATEGORIES = (IndexError, ValueError, TypeError, OverflowError)
"""What statements raise: errors are alike if they are of the same ones."""


def execute(statement: str | CodeType, names: Names) -> Exception | None:
    """Execute a statement; what it raised, if anything."""
    try:
        exec(statement, names)
    except Exception as error:
        return error
    return None


def execute_numpy(statement: str | CodeType, names: Names) -> Exception | None:
    """Execute a statement under NumPy, with results in C order.

    NumPy chooses the order of a result by that of the operands, on which depends whether a later
    reshape is a view. Results are always C-ordered in py_tensor, so they are made so here; views
    of older arrays stay what they are.
    """
    older = [value for value in names.values() if isinstance(value, np.ndarray)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # NumPy before 2.4 only warns of such an index where nothing is selected.
        warnings.filterwarnings("error", "Out of bound index found", DeprecationWarning)
        error = execute(statement, names)
    if isinstance(error, DeprecationWarning):
        error = IndexError(str(error))
    for name, value in names.items():
        if not isinstance(value, np.ndarray) or value.flags.c_contiguous:
            continue
        if not any(value is old or np.may_share_memory(value, old) for old in older):
            names[name] = np.array(value, order="C", subok=True)
    return error
