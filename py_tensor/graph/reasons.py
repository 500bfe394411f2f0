"""Why a value is stored, and a kernel ends with it, instead of being computed where it is used.

Noted where the decision is made, for `pt.explain`; nothing is decided by a reason.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason as a clause that goes on after "stored:"."""

    ASKED = "its value was requested"
    LIVE = "a tensor holds it"
    # By `graph/store.py`.
    FACTOR = "operand of a matrix product, which reads it many times"
    GATHERED = "an index selects from it, which may name any of its elements"
    BASE = "values are scattered among its elements, in passes over the values"
    BUFFERS = "the kernel that uses it would bind too many buffers"
    LONG = "the kernel that uses it would be too long"
    SHARED = "several kernels use it, and reading it costs less than computing it in each"
    REPEATED = "it is broadcast, and would be computed again for every copy"
    REREAD = "its elements are used at several places, and would be computed again for each"
    LOOP = "a loop is cut between two passes, and the next one uses it"
    # By `graph/build.py`.
    VIEW = "it is seen in an order that no strides describe"
    OVERWRITES = "it is computed from what it is written over"
    CONCAT = "kernels for its operands write the parts of a concatenation"
    SEVERAL = "several kernels use what this one reduces"
    AXES = "what uses it reduces over other axes or another shape as well"
    # By `graph/row_fusion.py`, of what is reduced and looked at by a kernel over the same rows.
    SHAPE = "the kernel that uses it runs over another shape"
    ROWS = "its rows are too long, too few or not contiguous, so one kernel would not save time"
    PRODUCT = "a matrix product takes in only what has its result's shape"
    ALONG = "a scan or a sort goes along its rows in passes of its own"
    ORDER = "another kernel has to run between this one and the one that uses it"


Notes = dict[int, Reason]  # by slot of the value
