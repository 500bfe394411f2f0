"""The interface of bridges, through which the library uses a GPU.

`web/bridge/index.js` is the bridge of a browser and `native.py` the one outside; the tests have one
without a GPU. All arguments are integers, strings and addresses in this process's memory.
`web/bridge/stream.js` documents the commands of a flush.

The outcome of a wait is a `str`: "" for success, "interrupted", or a JSON list of failures (see
`Failure` in `failures.py`). A failure of the call itself has flush -1; one that belongs to no flush
has flush 0.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol


class Bridge(Protocol):
    """A GPU device, which is replaced by a new one after a loss. Promises never raise."""

    # -- The device

    def acquire(self, trial: str, counts: int, /) -> Awaitable[str]:
        """Return the current device; after a loss, a new one.

        The result is JSON of {ok: true, generation, adapter, features, limits, wrong, choices}, or
        of {ok: false, reason}. `wrong` has the counts of the trial, which is WGSL with one buffer
        of `counts` u32. `choices` is the text that `keepChoices` stored for this adapter, or null.
        """
        ...

    def keepChoices(self, text: str, /) -> Awaitable[str]:
        """Store a text for later sessions with this adapter; return "" or why it failed."""
        ...

    def loseDevice(self) -> None:
        """Destroy the device, for tests."""
        ...

    # -- Pipelines, which outlive a device

    def definePipeline(
        self, number: int, wgsl: str, label: str, buffers: int, writable: int, is_foreign: bool, /
    ) -> None:
        """Define a program without compiling it.

        Its entry point is "main". Storage buffers are at bindings 0 to `buffers` - 1 and are
        read_write if `writable` has their bit set. The next binding is the uniform of parameters. A
        foreign program was written by a user: all its accesses are bounds-checked, though a host
        may omit checks for the library's own programs.
        """
        ...

    def dropPipeline(self, number: int, /) -> None: ...

    def warm(self, number: int, /) -> None:
        """Start to compile, if there is a device. If that fails, a flush compiles it again."""
        ...

    def warmed(self) -> Awaitable[str]:
        """Wait until nothing is being compiled."""
        ...

    # -- Flushes

    def flush(
        self, commands: int, words: int, table: int, block: int, nbytes: int, number: int, /
    ) -> int:
        """Execute a stream of commands (u32 words at an address) and submit it.

        Parameters
        ----------
        table
            Address of the ids of buffers; commands refer to buffers by position in this table.
        block, nbytes
            Address and size of the host data that commands read: parameters of dispatches, or
            elements of uploads.
        number
            The number of the flush; numbers increase.

        Returns
        -------
        int
            The number of flushes in flight, including this one. 0: there is no device, and nothing
            was done. -1: the flush failed, and `failures` says why; commands that were not
            submitted are dropped, and the same buffers exist as after a successful flush.
        """
        ...

    def lastFlush(self) -> int:
        """Return the number of the last flush that was executed, 0 before the first."""
        ...

    def allocate(self, number: int, nbytes: int, slices: int, /) -> Awaitable[str]:
        """Create a buffer, as CREATE does; return "", or JSON of one failure if there is none."""
        ...

    # -- Waiting

    def read(self, number: int, offset: int, nbytes: int, target: int, /) -> Awaitable[str]:
        """Copy a part of a buffer, with its current contents, to an address.

        When it completes, all earlier flushes are complete. Nothing is written to the address if
        the read itself fails, or after "interrupted".
        """
        ...

    def isReading(self, target: int, /) -> bool:
        """Return whether a read may still write to this address."""
        ...

    def synchronize(self) -> Awaitable[str]:
        """Wait until the GPU has completed all flushes; the outcome is like that of a read."""
        ...

    def drain(self, flush: int, /) -> Awaitable[str]:
        """Wait for the flushes up to this number; a lost device is not reported as a failure."""
        ...

    def failures(self) -> str:
        """Return the failures that have not been forgotten yet."""
        ...

    def forgetFailures(self, serial: int, /) -> None:
        """Forget the failures up to this serial number; the caller has recorded them."""
        ...

    # -- Painting

    def canPaint(self) -> bool:
        """Return whether a buffer of pixels can become an image without a copy to the host."""
        ...

    def paint(self, number: int, stride: int, width: int, height: int, /) -> Awaitable[Any]:
        """Return an image of the pixels in a buffer, and the outcome of waiting for it."""
        ...

    # -- Reports

    def startTimer(self) -> bool:
        """Time every dispatch from now on; return False if the device does not support that."""
        ...

    def stopTimer(self) -> Awaitable[str]:
        """Return JSON of [pipeline, begin, end] for each dispatch, in ns since the first began."""
        ...

    def stats(self) -> str:
        """Return JSON of counts: buffers, pipelines, flushes and so on."""
        ...
