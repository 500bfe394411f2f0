"""Tensors for Python that compute on the GPU with WebGPU, in the browser and natively.

>>> import py_tensor as pt
>>> pt.linspace(1, 20, 20).reshape(4, 5).sum(0)
tensor([34., 38., 42., 46., 50.])
"""

import sys as _sys
import typing as _typing

from py_tensor import random as random
from py_tensor.backend import backends as _backends  # pyright: ignore  # noqa: F401
from py_tensor.backend.device import default_device as default_device
from py_tensor.backend.device import set_default_device as set_default_device
from py_tensor.convert import host_arrays as _host_arrays  # pyright: ignore  # noqa: F401
from py_tensor.convert.conversion import array as array
from py_tensor.convert.conversion import asanyarray as asanyarray
from py_tensor.convert.conversion import asarray as asarray
from py_tensor.convert.conversion import ascontiguousarray as ascontiguousarray
from py_tensor.convert.conversion import tensor as tensor
from py_tensor.convert.formatting import set_printoptions as set_printoptions
from py_tensor.convert.libraries import tell_libraries as _tell_libraries
from py_tensor.display.screen import Display as Display
from py_tensor.display.screen import display as display
from py_tensor.display.screen import imshow as imshow
from py_tensor.dtypes import DType as DType
from py_tensor.dtypes import bfloat16 as bfloat16
from py_tensor.dtypes import bool_ as bool_
from py_tensor.dtypes import complex64 as complex64
from py_tensor.dtypes import complex128 as complex128
from py_tensor.dtypes import float16 as float16
from py_tensor.dtypes import float32 as float32
from py_tensor.dtypes import float64 as float64
from py_tensor.dtypes import int8 as int8
from py_tensor.dtypes import int16 as int16
from py_tensor.dtypes import int32 as int32
from py_tensor.dtypes import int64 as int64
from py_tensor.dtypes import uint8 as uint8
from py_tensor.dtypes import uint16 as uint16
from py_tensor.dtypes import uint32 as uint32
from py_tensor.dtypes import uint64 as uint64
from py_tensor.errors import AxisError as AxisError
from py_tensor.errors import ComplexWarning as ComplexWarning
from py_tensor.errors import DeviceError as DeviceError
from py_tensor.errors import DeviceLostError as DeviceLostError
from py_tensor.errors import DTypeError as DTypeError
from py_tensor.errors import GPUError as GPUError
from py_tensor.errors import HostCopyWarning as HostCopyWarning
from py_tensor.errors import RankWarning as RankWarning
from py_tensor.errors import ShapeError as ShapeError
from py_tensor.errors import WaitError as WaitError
from py_tensor.ops.arithmetic import *  # noqa: F403
from py_tensor.ops.assignment import *  # noqa: F403
from py_tensor.ops.bitwise import *  # noqa: F403 - an op is public where it is defined
from py_tensor.ops.closeness import *  # noqa: F403
from py_tensor.ops.complex import *  # noqa: F403
from py_tensor.ops.creation import *  # noqa: F403
from py_tensor.ops.elementwise import *  # noqa: F403
from py_tensor.ops.gather import *  # noqa: F403
from py_tensor.ops.linalg import *  # noqa: F403
from py_tensor.ops.memory import *  # noqa: F403
from py_tensor.ops.methods import *  # noqa: F403
from py_tensor.ops.movement import *  # noqa: F403
from py_tensor.ops.normalization import *  # noqa: F403
from py_tensor.ops.rearrange import *  # noqa: F403
from py_tensor.ops.reduction import *  # noqa: F403
from py_tensor.ops.rounding import *  # noqa: F403
from py_tensor.ops.scan import *  # noqa: F403
from py_tensor.ops.scatter import *  # noqa: F403
from py_tensor.ops.sorting import *  # noqa: F403
from py_tensor.ops.transcendental import *  # noqa: F403
from py_tensor.ops.ufuncs import *  # noqa: F403
from py_tensor.random import Generator as Generator
from py_tensor.random import manual_seed as manual_seed
from py_tensor.random import rand as rand
from py_tensor.random import randint as randint
from py_tensor.random import randn as randn
from py_tensor.session import debug as debug
from py_tensor.session import device_info as device_info
from py_tensor.session import empty_cache as empty_cache
from py_tensor.session import get_default_dtype as get_default_dtype
from py_tensor.session import init as init
from py_tensor.session import memory_info as memory_info
from py_tensor.session import set_default_dtype as set_default_dtype
from py_tensor.session import synchronize as synchronize
from py_tensor.session import synchronize_async as synchronize_async
from py_tensor.tensor import Tensor as Tensor
from py_tensor.tensor import publish as _publish
from py_tensor.tensor import realize as realize

e = 2.718281828459045
pi = 3.141592653589793
inf = float("inf")
nan = float("nan")
euler_gamma = 0.5772156649015329
newaxis = None
ndarray = Tensor
half, single, double = float16, float32, float64
csingle, cdouble = complex64, complex128
int_ = intp = intc = int32
byte, short, long, longlong = int8, int16, int64, int64
ubyte, ushort, ulong, ulonglong = uint8, uint16, uint64, uint64
uint = uintc = uintp = uint32
bool = bool_
__version__ = "0.1.0"
__array_api_version__ = "2025.12"


def _refuse_method(name: str, tensor: object) -> _typing.NoReturn:
    from py_tensor.absent import refuse_method

    refuse_method(name, tensor)


_publish(_sys.modules[__name__], _refuse_method)
_tell_libraries()

if _typing.TYPE_CHECKING:
    from py_tensor import emath as emath
    from py_tensor import fft as fft
    from py_tensor import lib as lib
    from py_tensor import linalg as linalg
    from py_tensor import polynomial as polynomial
    from py_tensor import testing as testing
    from py_tensor import typing as typing
    from py_tensor import ui as ui
    from py_tensor.autotune.tuning import Tuning as Tuning
    from py_tensor.autotune.tuning import tune as tune
    from py_tensor.autotune.tuning import tuning as tuning
    from py_tensor.configuration import show_config as show_config
    from py_tensor.convert.requirements import *  # noqa: F403
    from py_tensor.convert.texts import *  # noqa: F403
    from py_tensor.display.plotting import bar as bar
    from py_tensor.display.plotting import contour as contour
    from py_tensor.display.plotting import hist as hist
    from py_tensor.display.plotting import plot as plot
    from py_tensor.display.plotting import scatter as scatter
    from py_tensor.emath import real_if_close as real_if_close
    from py_tensor.emath import sort_complex as sort_complex
    from py_tensor.files import *  # noqa: F403
    from py_tensor.fitting import polyfit as polyfit
    from py_tensor.inspect.explaining import Explanation as Explanation
    from py_tensor.inspect.explaining import explain as explain
    from py_tensor.inspect.profiling import Profile as Profile
    from py_tensor.inspect.profiling import profile as profile
    from py_tensor.namespace import __array_namespace_info__ as __array_namespace_info__
    from py_tensor.namespace import from_dlpack as from_dlpack
    from py_tensor.numeric import can_cast as can_cast
    from py_tensor.numeric import dtype as dtype
    from py_tensor.numeric import errstate as errstate
    from py_tensor.numeric import finfo as finfo
    from py_tensor.numeric import getbufsize as getbufsize
    from py_tensor.numeric import geterr as geterr
    from py_tensor.numeric import geterrcall as geterrcall
    from py_tensor.numeric import iinfo as iinfo
    from py_tensor.numeric import isdtype as isdtype
    from py_tensor.numeric import promote_types as promote_types
    from py_tensor.numeric import result_type as result_type
    from py_tensor.numeric import setbufsize as setbufsize
    from py_tensor.numeric import seterr as seterr
    from py_tensor.numeric import seterrcall as seterrcall
    from py_tensor.ops.attributes import *  # noqa: F403
    from py_tensor.ops.differences import *  # noqa: F403
    from py_tensor.ops.functional import *  # noqa: F403
    from py_tensor.ops.grids import *  # noqa: F403
    from py_tensor.ops.histograms import *  # noqa: F403
    from py_tensor.ops.integers import *  # noqa: F403
    from py_tensor.ops.iterating import *  # noqa: F403
    from py_tensor.ops.joining import *  # noqa: F403
    from py_tensor.ops.kernel import *  # noqa: F403
    from py_tensor.ops.nan_reductions import *  # noqa: F403
    from py_tensor.ops.packing import *  # noqa: F403
    from py_tensor.ops.parts import *  # noqa: F403
    from py_tensor.ops.products import *  # noqa: F403
    from py_tensor.ops.quantiles import *  # noqa: F403
    from py_tensor.ops.searching import *  # noqa: F403
    from py_tensor.ops.setops import *  # noqa: F403
    from py_tensor.ops.statistics import *  # noqa: F403
    from py_tensor.ops.tapers import *  # noqa: F403
    from py_tensor.ops.windows import *  # noqa: F403
    from py_tensor.polynomials import *  # noqa: F403
    from py_tensor.scalar_types import False_ as False_
    from py_tensor.scalar_types import ScalarType as ScalarType
    from py_tensor.scalar_types import True_ as True_
    from py_tensor.scalar_types import bytes_ as bytes_
    from py_tensor.scalar_types import character as character
    from py_tensor.scalar_types import clongdouble as clongdouble
    from py_tensor.scalar_types import common_type as common_type
    from py_tensor.scalar_types import complexfloating as complexfloating
    from py_tensor.scalar_types import datetime64 as datetime64
    from py_tensor.scalar_types import flexible as flexible
    from py_tensor.scalar_types import floating as floating
    from py_tensor.scalar_types import generic as generic
    from py_tensor.scalar_types import inexact as inexact
    from py_tensor.scalar_types import integer as integer
    from py_tensor.scalar_types import issubdtype as issubdtype
    from py_tensor.scalar_types import little_endian as little_endian
    from py_tensor.scalar_types import longdouble as longdouble
    from py_tensor.scalar_types import min_scalar_type as min_scalar_type
    from py_tensor.scalar_types import mintypecode as mintypecode
    from py_tensor.scalar_types import number as number
    from py_tensor.scalar_types import object_ as object_
    from py_tensor.scalar_types import sctypeDict as sctypeDict
    from py_tensor.scalar_types import signedinteger as signedinteger
    from py_tensor.scalar_types import str_ as str_
    from py_tensor.scalar_types import timedelta64 as timedelta64
    from py_tensor.scalar_types import typecodes as typecodes
    from py_tensor.scalar_types import typename as typename
    from py_tensor.scalar_types import unsignedinteger as unsignedinteger
    from py_tensor.scalar_types import void as void
    from py_tensor.text_files import *  # noqa: F403
else:
    from importlib import import_module as _import_module

    _ON_FIRST_USE = {
        "autotune.tuning": "Tuning tune tuning",
        "convert.requirements": "asarray_chkfinite asfortranarray require",
        "convert.texts": (
            "array2string array_repr array_str base_repr binary_repr format_float_positional "
            "format_float_scientific get_printoptions printoptions"
        ),
        "display.plotting": "bar contour hist plot scatter",
        "emath": "emath real_if_close sort_complex",
        "fft": "fft",
        "files": "frombuffer fromfile imread load save savez savez_compressed",
        "fitting": "polyfit",
        "configuration": "show_config",
        "inspect.explaining": "Explanation explain",
        "inspect.profiling": "Profile profile",
        "lib": "lib",
        "linalg": "linalg",
        "namespace": "__array_namespace_info__ from_dlpack",
        "numeric": (
            "can_cast dtype errstate finfo getbufsize geterr geterrcall "
            "iinfo isdtype promote_types result_type setbufsize seterr seterrcall"
        ),
        "ops.attributes": ("array_equiv isscalar iterable ndim shape size"),
        "ops.differences": "diff ediff1d gradient trapezoid trapz unwrap",
        "ops.functional": (
            "apply_along_axis apply_over_axes choose fromiter frompyfunc ndenumerate ndindex "
            "piecewise select vectorize"
        ),
        "ops.grids": (
            "c_ diag_indices diag_indices_from diagflat fromfunction geomspace identity index_exp "
            "indices ix_ logspace mask_indices mgrid ogrid r_ ravel_multi_index s_ tri "
            "tril_indices tril_indices_from triu_indices triu_indices_from unravel_index vander"
        ),
        "ops.histograms": "histogram histogram2d histogram_bin_edges histogramdd",
        "ops.integers": "bitwise_count gcd lcm",
        "ops.iterating": "nditer",
        "ops.joining": (
            "append atleast_1d atleast_2d atleast_3d block broadcast broadcast_arrays "
            "broadcast_shapes column_stack delete dsplit dstack fliplr flipud hsplit insert resize "
            "rollaxis rot90 trim_zeros vsplit"
        ),
        "ops.kernel": "kernel",
        "ops.nan_reductions": (
            "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum "
            "nanvar"
        ),
        "ops.packing": "packbits unpackbits",
        "ops.parts": "frexp isneginf isposinf ldexp modf spacing",
        "ops.products": (
            "convolve correlate cross einsum einsum_path inner kron matvec tensordot vdot "
            "vecdot vecmat"
        ),
        "ops.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
        "ops.searching": "argpartition digitize interp isin lexsort partition searchsorted",
        "ops.setops": (
            "intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts "
            "unique_inverse unique_values"
        ),
        "ops.statistics": "average corrcoef cov",
        "ops.tapers": "bartlett blackman hamming hanning i0 kaiser",
        "ops.windows": "as_strided sliding_window_view",
        "polynomial": "polynomial",
        "polynomials": (
            "poly poly1d polyadd polyder polydiv polyint polymul polysub polyval roots"
        ),
        "scalar_types": (
            "False_ ScalarType True_ bytes_ character clongdouble common_type complexfloating "
            "datetime64 flexible floating generic inexact integer issubdtype little_endian "
            "longdouble min_scalar_type mintypecode number object_ sctypeDict signedinteger "
            "str_ timedelta64 typecodes typename unsignedinteger void"
        ),
        "testing": "testing",
        "text_files": "fromstring genfromtxt loadtxt savetxt",
        "typing": "typing",
        "ui": "ui",
    }
    """The public names of modules that most programs never use. Each module is imported when one of
    its names is first used."""
    _MODULES = {name: module for module, names in _ON_FIRST_USE.items() for name in names.split()}

    def __getattr__(name: str) -> _typing.Any:
        """Import a public name on first use; for unknown names, raise an error with a hint."""
        if name in _MODULES:
            module = _import_module(f"py_tensor.{_MODULES[name]}")
            found = module if name == _MODULES[name] else getattr(module, name)
            globals()[name] = found
            return found
        from py_tensor.absent import refuse_function

        return refuse_function(name, _sys.modules[__name__])

    def __dir__() -> list[str]:
        """Return the public names. Of the modules imported here, only `random` is public."""
        from types import ModuleType

        there = {n for n, v in globals().items() if not isinstance(v, ModuleType)}
        return [*there | {"random"} | _MODULES.keys()]

    __all__ = [name for name in __dir__() if not name.startswith("_")]
