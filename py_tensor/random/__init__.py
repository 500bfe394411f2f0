"""Random numbers from a counter-based generator, with NumPy's names.

The functions are methods of one `Generator`, which `seed` and `manual_seed` reseed. Rarely used
distributions are imported on first use.
"""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

from py_tensor.base import first_use as _first_use
from py_tensor.random.bit_generator import *
from py_tensor.random.generator import *
from py_tensor.random.generator import function_of as _function_of


def __getattr__(name: str) -> _Any:
    """Return a method of the default generator, or import a name on first use."""
    if name in _first_use.RANDOM:
        value = getattr(_import_module(_first_use.RANDOM[name]), name)
    elif name in _first_use.METHODS:
        value = _function_of(getattr(Generator, name))
    else:
        words = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(words, name=name, obj=_import_module(__name__))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    here = {name for name, value in globals().items() if not isinstance(value, _ModuleType)}
    public = {name for name in here if name[0] != "_"}
    return sorted(public | _first_use.RANDOM.keys() | _first_use.METHODS.keys())
