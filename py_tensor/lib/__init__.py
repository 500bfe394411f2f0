"""The part of NumPy's `lib` that is supported: `stride_tricks`."""

from py_tensor.lib import stride_tricks

__all__ = ["stride_tricks"]


def __dir__() -> list[str]:
    return __all__
