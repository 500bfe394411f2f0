"""Tensors for Python that compute on the GPU with WebGPU, in the browser and natively.

>>> import py_tensor as pt
>>> pt.linspace(1, 20, 20).reshape(4, 5).sum(0)
tensor([34., 38., 42., 46., 50.])
"""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from py_tensor import random as random
from py_tensor.backends.choice import *
from py_tensor.base import first_use as _first_use
from py_tensor.base.dtypes import *
from py_tensor.base.errors import *
from py_tensor.convert import host_arrays as _host_arrays  # pyright: ignore  # noqa: F401
from py_tensor.convert.conversion import *
from py_tensor.convert.formatting import *
from py_tensor.convert.libraries import tell_libraries as _tell_libraries
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
from py_tensor.tensors.tensor import publish as _publish
from py_tensor.tools.control import *

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
    from py_tensor.tools.hints import refuse_method

    refuse_method(name, tensor)


_publish(_sys.modules[__name__], _refuse_method)
_tell_libraries()


def __getattr__(name: str) -> _typing.Any:
    """Import a public name on first use; for unknown names, raise an error with a hint."""
    if name in _first_use.PACKAGE:
        module = _import_module(_first_use.PACKAGE[name])
        value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
        globals()[name] = value
        return value
    from py_tensor.tools.hints import refuse_function

    return refuse_function(name, _sys.modules[__name__])


def __dir__() -> list[str]:
    """Return the public names. Of the modules imported here, only `random` is public."""
    here = {name for name, value in globals().items() if not isinstance(value, _ModuleType)}
    return [*here | {"random"} | _first_use.PACKAGE.keys()]


__all__ = [n for n in __dir__() if n[0] != "_"]  # pyright: ignore[reportUnsupportedDunderAll]
