"""Exceptions: each subclasses the builtin that NumPy users expect, and its message names the op."""

from __future__ import annotations

from collections.abc import Collection

__all__ = [
    "AxisError", "ComplexWarning", "DTypeError", "DeviceError", "DeviceLostError", "GPUError",
    "HostCopyWarning", "NotDifferentiableError", "RankWarning", "ShapeError", "TracedValueError",
    "WaitError",
]  # fmt: skip


class ShapeError(ValueError):
    """Shapes that are invalid for the op: broadcasting, reshape, an axis or index out of range."""


class AxisError(ShapeError, IndexError):
    """An axis outside ``[-ndim, ndim)``, or a repeated axis."""


class DTypeError(TypeError):
    """A dtype that the op, the device or the promotion rules do not support."""


class ComplexWarning(RuntimeWarning):
    """Complex numbers were cast to real ones and lost their imaginary parts."""


class RankWarning(UserWarning):
    """A polynomial fit is rank-deficient, so several polynomials fit equally well."""


class HostCopyWarning(UserWarning):
    """NumPy code copied a tensor to the host; issued once per process."""


class DeviceError(RuntimeError):
    """A device is not available, or operands are on different devices."""


class DeviceLostError(DeviceError):
    """The tensor's device was lost; new tensors are created on a new device."""


class StaleRequestError(DeviceLostError):
    """Internal: the request must be made again.

    Either the device was lost and there is a new one, or other Python code has computed some of the
    requested nodes while the request waited. In the second case `is_smaller` is True.
    """

    def __init__(self, is_smaller: bool) -> None:
        self.is_smaller = is_smaller
        # The message is for a request that failed repeatedly.
        super().__init__("the GPU device was lost, and so was its replacement; try again")


class TracedValueError(TypeError):
    """The elements of a tensor were needed while its function is traced, when there are none."""


class NotDifferentiableError(TypeError):
    """A derivative was wanted through an op that has none."""


class WaitError(RuntimeError):
    """A read had to wait for the GPU where Python cannot block (no JSPI)."""


class GPUError(RuntimeError):
    """The GPU rejected a kernel; the message names the op and, if known, the WGSL line."""


def check_option(op: str, name: str, value: object, accepted: Collection[object]) -> None:
    """Raise ValueError unless the value of an option is one of the valid ones."""
    if value not in accepted:
        words = " or ".join(", ".join(map(repr, accepted)).rsplit(", ", 1))
        raise ValueError(f"{op}: {name} must be {words}, not {value!r}")


def check_order(op: str, order: object, accepted: str = "CFAK") -> None:
    """Raise ValueError for an unknown order of elements in memory.

    Lower-case letters are allowed, and None means the default, as in NumPy.
    """
    value = order.upper() if isinstance(order, str) else order
    if value is not None and value not in tuple(accepted):
        check_option(op, "order", order, tuple(accepted))
