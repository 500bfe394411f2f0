"""Pyodide's own JavaScript object, seen from Python."""

from typing import Any

def __getattr__(name: str) -> Any: ...
