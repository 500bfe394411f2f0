"""DLPack of bfloat16, which NumPy does not exchange: its capsules get another type code.

NumPy makes and reads the capsules of the bits, as uint16. Only the type code in them differs.
"""

from __future__ import annotations

import ctypes
from typing import Any

UNSIGNED, BFLOAT = 1, 4  # DLPack's type codes


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def recoded(capsule: Any, old: int, new: int) -> bool:
    """Change the type code of an unused capsule from one to another; return whether it was that."""
    for name, kind in ((b"dltensor", _Tensor), (b"dltensor_versioned", _Versioned)):
        if ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), name):
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype = ctypes.POINTER(kind)
            held: Any = pointer(ctypes.py_object(capsule), name).contents
            held = getattr(held, "tensor", held)
            if held.code == old:
                held.code = new
                return True
    return False


class BfloatAsBits:
    """An object that exports DLPack, whose bfloat16 elements are exported as uint16.

    Attributes
    ----------
    is_bfloat : bool
        Whether the elements that were exported are of bfloat16.
    """

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self.is_bfloat = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._exporter.__dlpack__(**options)
        self.is_bfloat = recoded(capsule, BFLOAT, UNSIGNED)
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._exporter.__dlpack_device__()
