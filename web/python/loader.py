"""Vendored packages load by themselves when they are first imported, by anyone.

What an input's own `import` lines name is loaded before it runs. The finder covers the rest:
imports inside functions, modules and the library (`x.numpy()`). It needs a wait that blocks.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from pyodide.code import find_imports
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
    deferred
        Defers interrupts: a wheel is not left half unpacked.
    """

    def __init__(
        self,
        packages: Mapping[str, str],
        load: Load,
        deferred: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._packages = packages
        self._load = load
        self._deferred = deferred
        self._loading: set[str] = set()

    async def load_imports(self, source: str) -> None:
        """Load what the `import` lines of `source` name."""
        if "import" not in source:
            return
        for name in find_imports(source):
            if name in self._packages and name not in sys.modules:
                with self._deferred():
                    await self._load(self._packages[name])

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
            with self._deferred():
                run_sync(self._load(package))
        finally:
            self._loading.discard(package)
        importlib.invalidate_caches()
        found = importlib.machinery.PathFinder.find_spec(name)
        if found is None:
            message = f"{name} could not be loaded from the server of this page"
            raise ModuleNotFoundError(message, name=name)
        return found
