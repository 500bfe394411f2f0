"""Requests through the browser."""

from typing import Any

async def pyfetch(url: str, /, **options: Any) -> Any: ...
