"""Makes the page's Python (web/worker/python) importable outside Pyodide, under the same name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

from tests.environment import ROOT

PACKAGE = "py_tensor_page"


def load(name: str) -> ModuleType:
    """Return a module of web/worker/python that needs no browser: `load("completion")`."""
    if PACKAGE not in sys.modules:
        folder = ROOT / "web" / "worker" / "python"
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[PACKAGE] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.{name}")
