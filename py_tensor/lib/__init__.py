"""What NumPy keeps in `lib`: views by strides, in `stride_tricks`."""

from py_tensor.lib import stride_tricks as stride_tricks
