"""Pyodide's own JavaScript object, seen from Python."""

from typing import Any

loadPackage: Any  # noqa: N816

def __getattr__(name: str) -> Any: ...
