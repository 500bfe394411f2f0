"""DLPack of bfloat16, which NumPy does not exchange: its capsules get another type code.

NumPy makes and reads the capsules of the bits, as uint16. Only the type code in them differs.
"""

from __future__ import annotations

import ctypes
from typing import Any

UNSIGNED, BFLOAT = 1, 4  # DLPack's type codes


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
    )  # fmt: skip


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


# Prototypes of our own: the functions of `ctypes.pythonapi` are shared by all modules.
_ARGUMENTS = ctypes.py_object, ctypes.c_char_p
_IS_VALID = ctypes.PYFUNCTYPE(ctypes.c_int, *_ARGUMENTS)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, *_ARGUMENTS)
_is_valid: Any = _IS_VALID(("PyCapsule_IsValid", ctypes.pythonapi))
_address_of: Any = _POINTER(("PyCapsule_GetPointer", ctypes.pythonapi))


def recoded(capsule: Any, old: int, new: int) -> bool:
    """Change the type code of an unused capsule from one to another; return whether it was that."""
    for name, kind in ((b"dltensor", _Tensor), (b"dltensor_versioned", _Versioned)):
        if _is_valid(capsule, name):
            held: Any = kind.from_address(_address_of(capsule, name))
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
