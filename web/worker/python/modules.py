"""Modules of the user's own: an edited file is imported again."""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import machinery
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, WeakSet

_ATTRIBUTES = vars(ModuleType)["__dict__"].__get__


class OwnModules:
    """The imported modules whose files are in a folder.

    If a file changes, the modules that may use it are removed from `sys.modules`. The next import
    of each runs its present code. Python would otherwise keep the first version until it restarts.
    The modules of a top-level package are removed together. A package or module may use another if
    one of its files holds the other's top-level name as a word, or if it may use one that does.
    An import by a computed name is therefore not seen.

    Creating an instance adds a hook to `sys.path_hooks` and replaces `importlib.reload`, which then
    accepts a removed module too and puts it back.

    Parameters
    ----------
    folder
        The folder of the user's files.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "")
        self._others: WeakKeyDictionary[ModuleType, _Source] = WeakKeyDictionary()
        self._removed: WeakSet[ModuleType] = WeakSet()
        # A cached compilation is found by the second and the size: an edit may change neither.
        sys.dont_write_bytecode = True
        sys.path_hooks.insert(0, self._finder)
        sys.path_importer_cache.clear()
        importlib.reload = functools.wraps(importlib.reload)(
            functools.partial(self._reload, importlib.reload)
        )

    def note(self) -> None:
        """Note the files of modules with loaders of their own (pytest's); called after an input."""
        for _, module, source in self._found():
            if source is None:
                with suppress(OSError):
                    self._others[module] = _Source(_ATTRIBUTES(module)["__file__"])

    def refresh(self) -> None:
        """Remove the modules that may use a changed file; called before an input."""
        sources = [(name.partition(".")[0], source) for name, _, source in self._found() if source]
        removed = {top for top, source in sources if source.version != _version(source.path)}
        if not removed:
            return
        while more := {top for top, source in sources if source.words & removed} - removed:
            removed |= more
        for name, module in [*sys.modules.items()]:
            if isinstance(name, str) and name.partition(".")[0] in removed:
                del sys.modules[name]
                if issubclass(type(module), ModuleType):
                    self._removed.add(module)
        importlib.invalidate_caches()

    def _found(self) -> Iterator[tuple[str, ModuleType, _Source | None]]:
        """The names, modules and sources as they were loaded; None for one not noted yet."""
        for name, module in [*sys.modules.items()]:
            # `isinstance`, `vars` and attributes may run code: a lazy module would load.
            if name == "__main__" or not issubclass(type(module), ModuleType):
                continue
            attributes = _ATTRIBUTES(module)
            path, spec = attributes.get("__file__"), attributes.get("__spec__")
            if type(path) is not str or not path.startswith(self._folder):
                continue
            loader = spec.loader if type(spec) is machinery.ModuleSpec else None
            source = loader.source if type(loader) is _Loader else self._others.get(module)
            yield name, module, source

    def _finder(self, path: str) -> Any:
        """Find the modules of a folder, as Python does, with a loader that notes the source."""
        if not os.path.join(os.path.abspath(path), "").startswith(self._folder):
            raise ImportError("only the folder of the user's files", path=path)
        return machinery.FileFinder.path_hook(
            (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
            (_Loader, machinery.SOURCE_SUFFIXES),
            (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
        )(path)

    def _reload(self, reload: Any, module: ModuleType) -> ModuleType:
        if isinstance(module, ModuleType) and module in self._removed:
            parent, _, last = module.__name__.rpartition(".")
            if parent:
                setattr(importlib.import_module(parent), last, module)
            sys.modules[module.__name__] = module
            self._removed.discard(module)
        return reload(module)


class _Source:
    """A file as it is read now."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.version = _version(path)  # first: an edit between the two steps is then seen
        self.words = {*re.findall(r"\w+", Path(path).read_text("utf-8", "replace"))}


class _Loader(machinery.SourceFileLoader):
    """Notes the source that it loads. No frame of it is in a traceback of the module."""

    source: _Source | None = None

    def path_stats(self, path: str) -> NoReturn:  # type: ignore[override]
        """Note the source, which Python is about to compile: no cached compilation is used."""
        self.source = self.source or _Source(path)  # runpy calls it again: not a load
        raise OSError("no cached compilation")


def _version(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size
