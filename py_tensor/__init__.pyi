"""The public names; written by `npm run names`."""

from py_tensor import random as random
from py_tensor.backends.choice import *
from py_tensor.base.dtypes import *
from py_tensor.base.errors import *
from py_tensor.convert.conversion import *
from py_tensor.convert.formatting import *
from py_tensor.display.screen import *
from py_tensor.numpy.closeness import *
from py_tensor.numpy.methods import *
from py_tensor.numpy.normalization import *
from py_tensor.ops.arithmetic import *
from py_tensor.ops.assignment import *
from py_tensor.ops.bitwise import *
from py_tensor.ops.complex import *
from py_tensor.ops.creation import *
from py_tensor.ops.elementwise import *
from py_tensor.ops.gather import *
from py_tensor.ops.linalg import *
from py_tensor.ops.memory import *
from py_tensor.ops.movement import *
from py_tensor.ops.rearrange import *
from py_tensor.ops.reduction import *
from py_tensor.ops.sorting import *
from py_tensor.ops.transcendental import *
from py_tensor.ops.ufuncs import *
from py_tensor.random.generator import *
from py_tensor.tensors.tensor import *
from py_tensor.tools.control import *
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
from py_tensor.adapters.iterating import *
from py_tensor.adapters.texts import *
from py_tensor.display.plotting import *
from py_tensor import emath as emath
from py_tensor import fft as fft
from py_tensor import lib as lib
from py_tensor import linalg as linalg
from py_tensor.numpy.attributes import *
from py_tensor.numpy.complex_results import *
from py_tensor.numpy.conversions import *
from py_tensor.numpy.differences import *
from py_tensor.numpy.files import *
from py_tensor.numpy.functional import *
from py_tensor.numpy.grids import *
from py_tensor.numpy.histograms import *
from py_tensor.numpy.joining import *
from py_tensor.numpy.numeric import *
from py_tensor.numpy.polynomials import *
from py_tensor.numpy.setops import *
from py_tensor.numpy.statistics import *
from py_tensor.ops.kernel import *
from py_tensor.ops.products import *
from py_tensor.ops.window_functions import *
from py_tensor import polynomial as polynomial
from py_tensor import testing as testing
from py_tensor.tools.explaining import *
from py_tensor.tools.profiling import *
from py_tensor.tools.tuning import *
from py_tensor.transforms.batching import *
from py_tensor.transforms.custom import *
from py_tensor.transforms.derivatives import *
from py_tensor import tree as tree
from py_tensor import typing as typing
from py_tensor import ui as ui
