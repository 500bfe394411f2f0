"""What NumPy keeps in `lib`: views by strides, in `stride_tricks`."""

from py_tensor.lib import stride_tricks

__all__ = ["stride_tricks"]


def __dir__() -> list[str]:
    return __all__
