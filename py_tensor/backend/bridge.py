"""The interface of bridges, through which the library uses a GPU.

`web/bridge/index.js` is the bridge of a browser and `native.py` the one outside; the tests have one
without a GPU. All take only integers, strings and addresses in this process's memory.
`web/bridge/stream.js` documents the commands of a flush.

A `str` that is empty means that all is well; otherwise it is JSON, or "interrupted". A failure in
it is a `Failure` of `failures.py`; those of the very call have flush -1, those of no flush 0.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol


class Bridge(Protocol):
    """A GPU device, replaced by another one after a loss. Promises never raise."""

    # -- The device

    def acquire(self, trial: str, counts: int, /) -> Awaitable[str]:
        """The device, the same as long as it lives; after a loss a new one.

        JSON of {ok: true, generation, adapter, features, limits, wrong, choices}, or of {ok: false,
        reason}. `wrong` is what the trial, WGSL of one buffer of `counts` u32, counted on it.
        `choices` is what `keepChoices` kept for this adapter, or null.
        """
        ...

    def keepChoices(self, text: str, /) -> Awaitable[str]:
        """Keep a text for the next session with this adapter; "", or why it is not kept."""
        ...

    def loseDevice(self) -> None:
        """Destroy the device: for tests."""
        ...

    # -- Pipelines, which outlive a device

    def definePipeline(
        self, number: int, wgsl: str, label: str, buffers: int, writable: int, is_foreign: bool, /
    ) -> None:
        """Name a program, without compiling it.

        Its entry point is "main". Storage buffers are at bindings 0 to `buffers` - 1, read_write
        where `writable` has the bit; then the parameters, a uniform. A foreign program is a user's:
        all its accesses are checked, though the host may leave checks out of the library's own.
        """
        ...

    def dropPipeline(self, number: int, /) -> None: ...

    def warm(self, number: int, /) -> None:
        """Start to compile, if there is a device. What fails is compiled again by its flush."""
        ...

    def warmed(self) -> Awaitable[str]:
        """That nothing is being compiled any more."""
        ...

    # -- Flushes

    def flush(
        self, commands: int, words: int, table: int, block: int, nbytes: int, number: int, /
    ) -> int:
        """Carry out a stream of commands, u32 at an address, and submit it.

        Parameters
        ----------
        table
            Address of the ids of buffers that commands name by their position there.
        block, nbytes
            What commands read of the host: parameters of dispatches, elements of uploads.
        number
            Of the flush; counts up.

        Returns
        -------
        int
            The flushes under way, with this one. 0: there is no device, and nothing was done. -1:
            it was stopped; `failures` says why. What was not submitted is dropped, and the table of
            buffers is as after a good flush.
        """
        ...

    def lastFlush(self) -> int:
        """The last flush that was carried out, 0 before the first."""
        ...

    def allocate(self, number: int, nbytes: int, slices: int, /) -> Awaitable[str]:
        """Make a buffer, as CREATE does; or JSON of one failure, and then it does not exist."""
        ...

    # -- Waiting

    def read(self, number: int, offset: int, nbytes: int, target: int, /) -> Awaitable[str]:
        """Copy a part of a buffer, as it is at this moment, to an address.

        All flushes before are done then. It is not written to if a failure is the read's own, or
        after "interrupted".
        """
        ...

    def isReading(self, target: int, /) -> bool:
        """Whether a read may still write to this address."""
        ...

    def synchronize(self) -> Awaitable[str]:
        """That the GPU is done with all flushes; as of a read."""
        ...

    def drain(self, flush: int, /) -> Awaitable[str]:
        """That it is done with those up to this number; a loss is no failure of it."""
        ...

    def failures(self) -> str:
        """Those of flushes that were not forgotten."""
        ...

    def forgetFailures(self, serial: int, /) -> None:
        """Forget failures up to this serial number, because they were noted."""
        ...

    # -- Painting

    def canPaint(self) -> bool:
        """Whether a buffer of pixels can become an image without being read."""
        ...

    def paint(self, number: int, stride: int, width: int, height: int, /) -> Awaitable[Any]:
        """An image of pixels in a buffer, with the outcome of a wait for it."""
        ...

    # -- Reports

    def startTimer(self) -> bool:
        """Time every dispatch from now on; False where the device cannot."""
        ...

    def stopTimer(self) -> Awaitable[str]:
        """JSON of [pipeline, begin, end] of each, in ns since the first began."""
        ...

    def stats(self) -> str:
        """JSON of counts."""
        ...
