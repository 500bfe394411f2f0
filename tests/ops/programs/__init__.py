"""Random tensor programs with their expected values, for the tests of fusion and of movement.

A program is a list of lines of Python such as ``v7 = v3.sum((0,), keepdims=True)``. Each line has
its value in float64, computed by NumPy, with a bound on the error in float32: `Value.error` is
propagated through every step, so that the tolerance is as tight as the program allows, and zero
where float32 is exact. The meaning of each op is written out here independently of the library's
own op records.
"""

from tests.ops.programs.maker import make as make
from tests.ops.programs.running import check as check
