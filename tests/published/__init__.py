"""Published NumPy programs, renamed for py_tensor, and compared with NumPy."""
