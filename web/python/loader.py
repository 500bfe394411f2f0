"""Vendored packages load by themselves when they are first imported, by anyone.

The worker loads what an input's own `import` lines name before it runs. This covers the rest:
imports inside functions, modules and the library (`x.numpy()`). It needs a wait that blocks.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from pyodide.ffi import can_run_sync, run_sync

Load = Callable[[str], Awaitable[Any]]


class VendoredFinder:
    """The last on `sys.meta_path`: loads the wheel that provides a module nobody else found.

    Parameters
    ----------
    packages
        From a module's name to the name of the package in the lock file that provides it.
    load
        Loads a package by its name.
    """

    def __init__(self, packages: Mapping[str, str], load: Load) -> None:
        self._packages = packages
        self._load = load
        self._loading: set[str] = set()

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        package = self._packages.get(name)
        if path is not None or package is None or package in self._loading or not can_run_sync():
            return None
        self._loading.add(package)
        try:
            run_sync(self._load(package))
        finally:
            self._loading.discard(package)
        importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name)


def install(packages: Mapping[str, str], load: Load) -> None:
    sys.meta_path.append(VendoredFinder(packages, load))
