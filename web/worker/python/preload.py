"""Imports what every visit needs, so that a snapshot of Python's memory can hold it.

A snapshot is the memory of another visit: `after_snapshot` gives this one what must be its own.
(The seed of `hash(str)` cannot be changed in a Python that has hashed, so it stays that of the
snapshot; a browser makes its own.)
"""

from __future__ import annotations

import gc
import importlib
import random
import sys

import py_tensor as pt
from py_tensor.backend import webgpu as webgpu  # the library imports it when it finds a GPU
from py_tensor.codegen import library

from . import boot as boot

_generators: list[random.Random] = []


def before_snapshot() -> None:
    """Read the shaders for the first kernel, and leave nothing that the next start does again."""
    library.used_by(" ".join(library.items()))
    sys.path.remove("")  # Pyodide puts it there at every start
    gc.collect()
    _generators.extend(x for x in gc.get_objects() if isinstance(x, random.Random))


def after_snapshot() -> None:
    """Begin random numbers anew, those of the names of temporary files too; look for files anew."""
    importlib.invalidate_caches()
    for generator in _generators:
        generator.seed()
    pt.random.seed()
