"""Kinds of buffers: size classes, which make them easy to reuse, and slabs of small results."""

from __future__ import annotations

from typing import NamedTuple

MIB = 1 << 20
_LARGE_STEP = MIB // 4
_LEAST = 256  # bytes: the largest alignment that WebGPU requires for the offset of a binding


def size_class(nbytes: int) -> int:
    """Return the size allocated for `nbytes`: powers of two up to 1 MiB, then steps of 256 KiB."""
    if nbytes <= _LEAST:
        return _LEAST
    if nbytes <= MIB:
        return 1 << (nbytes - 1).bit_length()
    return -(-nbytes // _LARGE_STEP) * _LARGE_STEP


class Kind(NamedTuple):
    """The kind of a buffer, which is reused for the same kind.

    A slab is cut into slices of one size class (suballocation). One dispatch writes all slices
    through one binding. After that, each slice is read like a separate buffer. WebGPU does not
    allow a dispatch to read one part of a buffer and write another, so the slab is reused only when
    none of its slices is needed.
    """

    nbytes: int
    slices: int = 0
