"""Loads vendored packages, and parts of the library, when they are first imported.

Packages named in an input's `import` lines are loaded before it runs. `VendoredFinder` covers the
rest: imports inside functions, modules and the library (`x.numpy()`). It needs a blocking wait.
`FirstUseFinder` loads the modules of the library and of the standard library that a start does not
need.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import io
import re
import sys
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pyodide.code import find_imports
from pyodide.ffi import can_run_sync, run_sync

from .failures import REFUSED, packages

Load = Callable[[str], Awaitable[Any]]

FIRST_USE = "worker/python/first_use.zip"
RARE = "pyodide/stdlib_rare.zip"
"""The archives for `FirstUseFinder`, within the page's folder (web/build/build.py)."""
STDLIB = "/lib/python313.zip"

NOT_LOADED = re.compile(r"The following error occurred while loading (.+):")
"""The start of Pyodide's message about a package that it could not load."""


def raising(load: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Pyodide's `loadPackage`, which prints what goes wrong, as one that raises ConnectionError."""

    async def load_packages(names: Any, **options: Any) -> Any:
        lines: list[str] = []
        loaded = await load(names, **options, errorCallback=lines.append)
        failed = [found[1] for line in lines if (found := NOT_LOADED.match(line))]
        if failed:
            words = f"{', '.join(failed)} could not be downloaded"
            reason = f": {REFUSED}" if packages.are_refused else ", or is not the expected file"
            raise ConnectionError(words + reason)
        return loaded

    return load_packages


class VendoredFinder:
    """The last on `sys.meta_path`: loads the wheel of a module that no other finder found.

    Parameters
    ----------
    packages
        Maps a module's name to the name of the package in the lock file that provides it.
    load
        Loads a package by its name.
    deferred
        Defers interrupts, so that no wheel is left half unpacked.
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
        self._missing: set[str] = set()
        """The modules that `load_imports` could not load: the input does not try again."""

    async def load_imports(self, source: str) -> None:
        """Load the packages named in the `import` lines of `source`."""
        self._missing.clear()
        if "import" not in source:
            return
        for name in find_imports(source):
            if name in self._packages and name not in sys.modules:
                with self._deferred():
                    await self._load(self._packages[name])
                importlib.invalidate_caches()
                if importlib.machinery.PathFinder.find_spec(name) is None:
                    self._missing.add(name)

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        package = self._packages.get(name)
        if path is not None or package is None:
            return None
        found = None
        if name not in self._missing:
            if not can_run_sync():
                return None
            with self._deferred():
                run_sync(self._load(package))  # another task that imports it waits here, too
            importlib.invalidate_caches()
            found = importlib.machinery.PathFinder.find_spec(name)
        if found is None:
            message = f"{name} could not be loaded from the server of this page"
            raise ModuleNotFoundError(message, name=name)
        return found


class FirstUseFinder:
    """Unpacks modules that are not needed at startup, when one of them is first imported.

    All of them are in one archive. It is fetched synchronously: the library may import one of them
    between a plan and its submit, where nothing may suspend.

    Parameters
    ----------
    has
        Whether a module may be in the archive, by its name.
    fetch
        Returns the archive as a Uint8Array, or a message that says why it could not be fetched.
    unpack
        Puts the modules of the archive where Python finds them.
    deferred
        Defers interrupts, so that the archive is not left half unpacked.
    """

    def __init__(
        self,
        has: Callable[[str], bool],
        fetch: Callable[[], Any],
        unpack: Callable[[zipfile.ZipFile], None],
        deferred: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._has = has
        self._fetch = fetch
        self._unpack = unpack
        self._deferred = deferred
        self._is_unpacked = False

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if self._is_unpacked or not self._has(name):
            return None
        with self._deferred():
            archive = self._fetch()
            if isinstance(archive, str):
                raise ImportError(f"{name} could not be loaded: {archive}", name=name)
            try:
                with zipfile.ZipFile(io.BytesIO(archive.to_bytes())) as modules:
                    self._unpack(modules)
            except (zipfile.BadZipFile, zlib.error) as error:
                words = f"{name} could not be loaded: the server of this page sent a damaged file"
                raise ImportError(f"{words} ({error})", name=name) from None
            self._is_unpacked = True
        importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name, path)


def of_library(
    fetch: Callable[[str], Any], deferred: Callable[[], AbstractContextManager[None]]
) -> FirstUseFinder:
    """Return the finder of the library's modules; `fetch` gets the path of the archive."""

    def unpack(archive: zipfile.ZipFile) -> None:
        archive.extractall(Path(str(sys.modules["py_tensor"].__file__)).parents[1])

    def has(name: str) -> bool:
        return name.startswith("py_tensor.")

    return FirstUseFinder(has, partial(fetch, FIRST_USE), unpack, deferred)


def of_stdlib(
    fetch: Callable[[str], Any], deferred: Callable[[], AbstractContextManager[None]]
) -> FirstUseFinder:
    """Return the finder of the standard library's modules; `fetch` gets the path of the archive."""

    def unpack(archive: zipfile.ZipFile) -> None:
        files = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
        # Appended to the archive of the others, because a package may have modules in both.
        with zipfile.ZipFile(STDLIB, "a") as whole:
            for name, content in files:
                whole.writestr(name, content)

    names = frozenset(Path(__file__).with_name("rare_modules.txt").read_text("utf-8").split())
    return FirstUseFinder(names.__contains__, partial(fetch, RARE), unpack, deferred)
