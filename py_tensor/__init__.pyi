"""The public names; written by `npm run names`."""

from py_tensor import random as random
from py_tensor.backend.choice import *
from py_tensor.convert.conversion import *
from py_tensor.convert.formatting import *
from py_tensor.display.screen import *
from py_tensor.dtypes import *
from py_tensor.errors import *
from py_tensor.ops.arithmetic import *
from py_tensor.ops.assignment import *
from py_tensor.ops.bitwise import *
from py_tensor.ops.closeness import *
from py_tensor.ops.complex import *
from py_tensor.ops.creation import *
from py_tensor.ops.elementwise import *
from py_tensor.ops.gather import *
from py_tensor.ops.linalg import *
from py_tensor.ops.memory import *
from py_tensor.ops.methods import *
from py_tensor.ops.movement import *
from py_tensor.ops.normalization import *
from py_tensor.ops.rearrange import *
from py_tensor.ops.reduction import *
from py_tensor.ops.rounding import *
from py_tensor.ops.scan import *
from py_tensor.ops.scatter import *
from py_tensor.ops.sorting import *
from py_tensor.ops.transcendental import *
from py_tensor.ops.ufuncs import *
from py_tensor.random.default_generator import *
from py_tensor.random.generator import *
from py_tensor.session import *
from py_tensor.tensor import *
e = 2.718281828459045
pi = 3.141592653589793
inf = float('inf')
nan = float('nan')
euler_gamma = 0.5772156649015329
newaxis = None
ndarray = Tensor
half, single, double = (float16, float32, float64)
csingle, cdouble = (complex64, complex128)
int_ = intp = intc = int32
byte, short, long, longlong = (int8, int16, int64, int64)
ubyte, ushort, ulong, ulonglong = (uint8, uint16, uint64, uint64)
uint = uintc = uintp = uint32
bool = bool_
__version__ = '0.1.0'
__array_api_version__ = '2025.12'
from py_tensor.autotune.tuning import *
from py_tensor.complex_results import *
from py_tensor.configuration import *
from py_tensor.convert.requirements import *
from py_tensor.convert.texts import *
from py_tensor.display.plotting import *
from py_tensor import emath as emath
from py_tensor import fft as fft
from py_tensor.files import *
from py_tensor.fitting import *
from py_tensor.inspect.explaining import *
from py_tensor.inspect.profiling import *
from py_tensor import lib as lib
from py_tensor import linalg as linalg
from py_tensor.namespace import *
from py_tensor.numeric import *
from py_tensor.ops.attributes import *
from py_tensor.ops.differences import *
from py_tensor.ops.functional import *
from py_tensor.ops.grids import *
from py_tensor.ops.histograms import *
from py_tensor.ops.integers import *
from py_tensor.ops.iterating import *
from py_tensor.ops.joining import *
from py_tensor.ops.kernel import *
from py_tensor.ops.nan_reductions import *
from py_tensor.ops.packing import *
from py_tensor.ops.parts import *
from py_tensor.ops.products import *
from py_tensor.ops.quantiles import *
from py_tensor.ops.searching import *
from py_tensor.ops.setops import *
from py_tensor.ops.statistics import *
from py_tensor.ops.tapers import *
from py_tensor.ops.windows import *
from py_tensor import polynomial as polynomial
from py_tensor.polynomials import *
from py_tensor.scalar_types import *
from py_tensor import testing as testing
from py_tensor.text_files import *
from py_tensor import typing as typing
from py_tensor import ui as ui
