"""Pyodide's event loop, of which no documentation speaks: the name in it that the page replaces."""

from typing import Any

run_sync: Any
