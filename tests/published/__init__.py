"""Published NumPy programs, renamed for py_tensor, beside what NumPy makes of them."""
