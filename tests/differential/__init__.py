"""Random programs over arrays, run under NumPy and under another module, compared by statement.

`programs` makes them from a seed, `operands` their expressions, `run` compares and shrinks.
"""
