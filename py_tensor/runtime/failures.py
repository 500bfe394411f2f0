"""GPU errors, and the tensors they affect.

A flush is one submission. Its error is reported later. It affects every result of that flush and
everything computed from these; all other tensors remain usable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from py_tensor.base.errors import DeviceLostError, GPUError
from py_tensor.schedule.body import Check

Failure = dict[str, Any]  # flush, kind, message; if known, label, line and serial


@dataclass(eq=False, slots=True)
class Submission:
    """One flush: the submissions that it reads from, a label, its number, and its error.

    Attributes
    ----------
    work : int
        The estimated number of instructions.
    checks : tuple of Check
        Its index checks. An index out of range is not an error of its results.
    settled : bool
        Whether its failures are known.
    """

    sources: set[Submission] = field(default_factory=set["Submission"])
    label: str = ""
    work: int = 0
    checks: tuple[Check, ...] = ()
    number: int = 0
    error: BaseException | None = None
    settled: bool = False

    def note_sources(self) -> None:
        """Keep those of its sources that may still affect it."""
        self.sources = {s for s in self.sources if s.error or s.sources or not s.settled}

    def check(self) -> None:
        """Raise the first error of the submission and its transitive sources."""
        if self.settled and not self.sources and self.error is None:
            return
        seen: set[Submission] = set()
        stack: list[Submission] = [self]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(current.sources)
        errors = {s.number: s.error for s in seen if s.error is not None}
        if errors:
            first = errors[min(errors)]  # the others are consequences
            # A new exception: the stored one would accumulate tracebacks and keep their frames.
            raise type(first)(*first.args)
        if all(s.settled for s in seen):
            self.sources = set()


NONE = Submission(settled=True)


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
