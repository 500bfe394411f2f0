"""Loads operands into the Pyodide worker, where `sampling.py` computes with them.

`in_browser.py` calls both by running code in the page's session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyodide.http import pyfetch

import py_tensor as pt
from tests.perf.bench import cases, sampling


async def prepare(label: str, *, software: bool, operands: Sequence[dict[str, Any]]) -> None:
    """Prepare the case with this label: move its operands (`operands.Served.spec`) to the GPU."""
    case = cases.find(label, cases.SOFTWARE if software else cases.HARDWARE)
    sampling.prepare(case, [await _operand(spec) for spec in operands])


async def _operand(spec: dict[str, Any]) -> pt.Tensor:
    parts = [await _fetched(url, spec["format"]) for url in spec["files"]]
    return sampling.operand(parts, spec["shape"], transposed=spec["transposed"])


async def _fetched(url: str, form: str) -> pt.Tensor:
    data = (await (await pyfetch(url)).memoryview()).cast("B").cast(form)
    return pt.tensor(data).realize()
