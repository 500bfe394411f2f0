"""All passes over the graph in order, from a request to kernels.

The first makes the kernels of a request. Each other one is a function from kernels to kernels, and
`tests/unit/kernel_spec.py` checks what it returns.
"""

from __future__ import annotations

from collections.abc import Iterator

from py_tensor.graph.budget import Budget
from py_tensor.graph.build import schedule
from py_tensor.graph.kernel import Kernel
from py_tensor.graph.order import Request
from py_tensor.graph.pack import pack
from py_tensor.graph.reasons import Notes
from py_tensor.graph.row_fusion import Fits, fuse_rows


def kernels_of(
    request: Request, max_buffers: int, fits: Fits, notes: Notes | None = None
) -> list[Kernel]:
    """Return the kernels that compute a request, in dependency order.

    Parameters
    ----------
    max_buffers
        The number of storage buffers that a kernel may bind.
    fits
        Whether a kernel may pass over its rows several times.
    notes
        The reasons for storing values are added here.
    """
    *_, kernels = after_each_pass(request, Budget(max_buffers), fits, notes)
    return kernels


def after_each_pass(
    request: Request, budget: Budget, fits: Fits, notes: Notes | None = None
) -> Iterator[list[Kernel]]:
    """Yield the kernels after each pass; a pass leaves the kernels that it is given unchanged."""
    kernels = schedule(request, budget, notes)
    yield kernels
    kernels = fuse_rows(kernels, request.wanted, budget, fits, notes)
    yield kernels
    yield pack(kernels, request.wanted, budget)
