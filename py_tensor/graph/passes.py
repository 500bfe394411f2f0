"""All passes over the graph in order, from a request to kernels."""

from __future__ import annotations

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
    budget = Budget(max_buffers)
    kernels = schedule(request, budget, notes)
    kernels = fuse_rows(kernels, request.wanted, budget, fits, notes)
    return pack(kernels, request.wanted, budget)
