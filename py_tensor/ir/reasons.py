"""Reasons why a value is stored at the end of a kernel instead of fused into its users.

A reason is recorded where the decision is made, for `pt.explain`. No decision depends on which
reason it is, or on the notes of the builder and of row fusion.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason as a clause after "stored:"."""

    ASKED = "its value was requested"
    LIVE = "a tensor holds it"
    # Set by `schedule/store.py`.
    FACTOR = "operand of a matrix product, which reads it many times"
    GATHERED = "it is indexed, and an index may select any element"
    BASE = "values are scattered into it"
    BUFFERS = "the kernel that uses it would bind too many buffers"
    LONG = "the kernel that uses it would be too long"
    SHARED = "several kernels use it, and reading it is cheaper than recomputing it"
    REPEATED = "it is broadcast, and would be recomputed for every copy"
    REREAD = "its elements are used several times, and would be recomputed for each use"
    LOOP = "a loop is cut between two iterations, and the next one uses it"
    # Set by `schedule/build.py`.
    VIEW = "no strides describe the order in which it is used"
    OVERWRITES = "it is computed from elements that it overwrites"
    CONCAT = "kernels for its operands write the parts of a concatenation"
    SEVERAL = "several kernels use the result of this reduction"
    AXES = "its user also reduces over other axes or another shape"
    # Set by `schedule/row_fusion.py`, for reductions that are not fused with their users.
    SHAPE = "the kernel that uses it runs over another shape"
    ROWS = "its rows are too long, too few or not contiguous, so one kernel would not save time"
    PRODUCT = "only values with the shape of its result can be fused into a matrix product"
    STAGES = "a scan, a sort or a similar op has dispatches of its own"
    ORDER = "another kernel has to run between this one and the one that uses it"


Notes = dict[int, Reason]  # by slot of the value
