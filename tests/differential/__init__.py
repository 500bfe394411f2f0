"""Random programs over arrays, run with NumPy and another module, compared after each statement.

`programs` makes programs from a seed, `operands` their expressions; `run` compares and shrinks.
"""
