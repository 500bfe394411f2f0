"""Imports the modules that every visit needs, so that a snapshot of Python's memory holds them.

A snapshot is the memory of an earlier visit; `after_snapshot` resets what must differ per visit.
The seed of `hash(str)` cannot be changed once Python has hashed strings, so it stays that of the
snapshot, which each browser makes for itself.
"""

from __future__ import annotations

import gc
import importlib
import random
import sys

import py_tensor as pt
from py_tensor.backends import webgpu as webgpu  # the library imports it only if there is a GPU
from py_tensor.codegen import library

from . import boot as boot

_generators: list[random.Random] = []


def before_snapshot() -> None:
    """Read the shaders for the first kernel, and undo what every start repeats."""
    library.used_by(" ".join(library.items()))
    sys.path.remove("")  # Pyodide adds it at every start
    gc.collect()
    _generators.extend(x for x in gc.get_objects() if isinstance(x, random.Random))


def after_snapshot() -> None:
    """Reseed all random generators, including that of `tempfile`; clear the import caches."""
    importlib.invalidate_caches()
    for generator in _generators:
        generator.seed()
    pt.manual_seed(None)
