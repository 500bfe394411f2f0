"""What the browser puts before Python: anything that the worker's global scope has."""

from typing import Any

def __getattr__(name: str) -> Any: ...
