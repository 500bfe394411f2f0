"""GPU errors, and the tensors they affect.

A flush is one submission. Its error is reported later. It affects every result of that flush and
everything computed from these; all other tensors remain usable.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from py_tensor.base.errors import DeviceLostError, GPUError
from py_tensor.schedule.body import Check

OUT_OF_RANGE = "index"  # the kind of a CHECK failure; its message lists [position, nonzero word]
UNCAPTURED = 0  # the flush number of an error that no error scope caught
INVALID_OBJECTS = "[Invalid Buffer ", "[Invalid BindGroup "  # prefixes of such error messages


Failure = dict[str, Any]  # flush, kind, message; if known, label, line and serial


def parsed(outcome: str) -> list[Failure]:
    """Parse the failures in the bridge's reply to a wait; "" means none."""
    return json.loads(outcome) if outcome else []


class Submission:
    """One flush: its number, a label, the submissions that it reads from, and its error.

    `checks` describes its index checks. An index out of range is not an error of its results.
    """

    __slots__ = ("checks", "error", "label", "number", "settled", "sources", "work")

    def __init__(
        self,
        number: int,
        sources: set[Submission],
        label: str,
        work: int,
        checks: tuple[Check, ...] = (),
    ) -> None:
        self.checks = checks
        self.number = number
        self.sources = sources
        self.label = label
        self.work = work
        self.error: BaseException | None = None
        self.settled = False


NONE = Submission(0, set(), "", 0)
NONE.settled = True


class Ledger:
    """The submissions whose outcome is not known yet.

    Attributes
    ----------
    work : int
        Their estimated number of instructions.
    last : int
        The number of the submission opened last.
    """

    def __init__(self) -> None:
        self.work = self.last = 0
        self.reported = 0  # the serial number of the last recorded failure
        self._ran_out = False  # whether memory ever ran out
        self._open: dict[int, Submission] = {}
        self._out_of_range: list[str] = []  # messages not raised yet

    def submit(
        self,
        sources: set[Submission],
        label: str,
        work: int = 0,
        checks: tuple[Check, ...] = (),
    ) -> Submission:
        """Open a submission that reads results of `sources`."""
        relevant = {s for s in sources if s.error is not None or s.sources or not s.settled}
        self.last += 1
        submission = Submission(self.last, relevant, label, work, checks)
        self._open[submission.number] = submission
        self.work += work
        return submission

    def report(self, failures: list[Failure]) -> None:
        """Record failures; those reported before are ignored."""
        new = [failure for failure in failures if failure.get("serial", 0) > self.reported]
        self._ran_out |= any(failure["kind"] == "out-of-memory" for failure in new)
        for failure in new:
            submission = self._open.get(failure["flush"])
            if failure["kind"] == OUT_OF_RANGE:
                if submission is not None:
                    words: list[tuple[int, int]] = json.loads(failure["message"])
                    self._out_of_range += (
                        submission.checks[n].message_of_bits(word) for n, word in words
                    )
            elif submission is not None and submission.error is None:
                submission.error = error_of(self._explained(failure), submission.label)
        self.reported = max([self.reported, *(failure["serial"] for failure in new)])
        for failure in (
            f for f in new if f["flush"] == UNCAPTURED and f["kind"] != "lost"
        ):  # last, because a filter may turn a warning into an exception
            warnings.warn(str(error_of(failure)), RuntimeWarning, stacklevel=4)

    def raise_out_of_range(self) -> None:
        """Raise for the first recorded out-of-range index, and forget the others."""
        if self._out_of_range:
            message, self._out_of_range = self._out_of_range[0], []
            raise out_of_range(message)

    def _explained(self, failure: Failure) -> Failure:
        """After memory ran out once, report invalid buffers and bind groups as out of memory."""
        if self._ran_out and failure["message"].startswith(INVALID_OBJECTS):
            return failure | {"kind": "out-of-memory"}
        return failure

    def settle(self, last: int) -> None:
        """Mark submissions up to number `last` as settled: their failures are known."""
        for number in sorted(n for n in self._open if n <= last):
            submission = self._open.pop(number)
            submission.settled = True
            submission.sources = {
                s for s in submission.sources if s.error or s.sources or not s.settled
            }
        self.work = sum(submission.work for submission in self._open.values())

    def close(self, submission: Submission) -> None:
        """Remove a submission that was not sent."""
        if self._open.pop(submission.number, None) is not None:
            self.work -= submission.work
        submission.settled = True

    @property
    def has_checks(self) -> bool:
        """Whether a submission with an unknown outcome checks indices."""
        return any(submission.checks for submission in self._open.values())

    @property
    def newest(self) -> Submission:
        """The submission opened last, if its outcome is not known yet."""
        return self._open[self.last]

    @property
    def unsettled(self) -> int:
        return len(self._open)

    def check(self, submission: Submission) -> None:
        """Raise the first error of a submission and its transitive sources."""
        if submission.settled and not submission.sources and submission.error is None:
            return
        seen: set[Submission] = set()
        stack = [submission]
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
        if submission.settled and all(s.settled for s in seen):
            submission.sources = set()


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
