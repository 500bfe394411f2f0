"""GPU errors: the reports of a bridge, and the exceptions for them."""

from __future__ import annotations

from typing import Any

from py_tensor.base.errors import DeviceLostError, GPUError

UNCAPTURED = 0  # the flush number of an error that belongs to no flush
OF_THIS_CALL = -1  # the flush number of a failure of the call itself
OUT_OF_RANGE = "index"  # the kind of a CHECK failure; its message lists [position, nonzero word]

Failure = dict[str, Any]  # flush, kind, message; if known, label, line and serial


def out_of_range(message: str) -> IndexError:
    """Return the error for an out-of-range index, which may be raised on a line after its use."""
    error = IndexError(message)
    error.add_note(
        "The device checks indices as it computes: the index was used on the line of this error or"
        " on an earlier one. With pt.debug(sync=True) each op raises on its own line."
    )
    return error


def error_of(failure: Failure, flush: str = "") -> BaseException:
    """Convert a failure of the bridge to an exception whose message names the op.

    If the failure only names a buffer, `flush` is used as the label.
    """
    label, message = failure.get("label", ""), failure.get("message", "")
    if not label or label.startswith("buffer "):
        label = flush or label or "gpu"
    if failure.get("line"):
        message += f"\n    WGSL line {failure['line']}: {failure.get('lineText', '').strip()}"
    kind = failure.get("kind")
    if kind == "out-of-memory":
        return MemoryError(f"{label}: the GPU is out of memory: {message}")
    if kind == "lost":
        return DeviceLostError(
            f"the GPU device was lost ({message}); its tensors are gone, but new tensors work"
        )
    return GPUError(f"{label}: {message}")
