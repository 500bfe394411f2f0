"""Random tensor programs, and what they must compute: for the tests of fusion and of movement.

A program is a list of lines of Python such as ``v7 = v3.sum((0,), keepdims=True)``. Beside each
line stands the value that NumPy gives it in float64, with a bound of the error that float32 may
make there: `Value.error` is carried through every step, so that the tolerance is as tight as the
program allows, and zero where float32 is exact. What an op means is written out here a second
time; nothing is taken from the library's own op records.
"""

from tests.ops.programs.maker import make as make
from tests.ops.programs.running import check as check
