"""Strided views, with the name of NumPy's module."""

from py_tensor.numpy.attributes import broadcast_shapes as broadcast_shapes
from py_tensor.numpy.joining import broadcast_arrays as broadcast_arrays
from py_tensor.ops.movement import broadcast_to as broadcast_to
from py_tensor.ops.rearrange import as_strided as as_strided
from py_tensor.ops.rearrange import sliding_window_view as sliding_window_view
