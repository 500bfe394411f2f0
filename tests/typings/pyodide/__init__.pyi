"""What the project uses of Pyodide, which is no package that could be installed here."""

from typing import Any

__version__: str

def __getattr__(name: str) -> Any: ...
