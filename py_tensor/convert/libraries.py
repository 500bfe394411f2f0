"""Register tensors with einops and dask, as soon as both libraries are imported, in either order.

einops finds the existing subclasses of `AbstractBackend`, one for each library. dask has lists of
the types of chunks, and of functions for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from threading import local
from types import ModuleType
from typing import Any

from py_tensor.tensors.tensor import Tensor, public

_made: list[type] = []  # keeps the class alive, so that einops finds it


_EINOPS = {
    "from_numpy": "asarray", "arange": "arange", "stack_on_zeroth_dimension": "stack",
    "add_axis": "expand_dims", "tile": "tile", "concat": "concat", "einsum": "einsum",
}  # fmt: skip
"""The methods of a backend of einops that are public functions."""


def make_backend(backends: Any) -> None:
    """Create the class with which einops computes on tensors; this also registers it."""

    class Backend(backends.AbstractBackend):
        framework_name = "py_tensor"
        to_numpy = staticmethod(Tensor.numpy)

        def __init__(self) -> None:
            for method, function in _EINOPS.items():
                setattr(self, method, getattr(public(), function))

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def is_float_type(self, x: Tensor) -> bool:
            return x.dtype.is_floating

    _made.append(Backend)


def register_chunks(backends: Any) -> None:
    """Let dask's arrays hold tensors: its operators take them, and percentiles are computed."""
    array: Any = import_module("dask.array.chunk_types")  # imported after it
    array.register_chunk_type(Tensor)
    lookup = backends.percentile_lookup
    lookup.register(Tensor, lookup.dispatch(backends.np.ndarray))


REGISTERING: dict[str, Callable[[Any], None]] = {
    "einops._backends": make_backend,
    "dask.array.backends": register_chunks,
}
"""Modules, and what registers tensors with them."""


class _Registering(Loader):
    """A loader that loads a module with its own loader, and then registers tensors with it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        REGISTERING[module.__name__](module)


class _Finder(MetaPathFinder):
    """A finder that intercepts only the imports of modules in `REGISTERING`."""

    def __init__(self) -> None:
        self._thread = local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in REGISTERING or getattr(self._thread, "is_asking", False):
            return None
        self._thread.is_asking = True  # the other finders
        try:
            spec = find_spec(fullname)
        finally:
            self._thread.is_asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


def tell_libraries() -> None:
    """Register tensors now, or as soon as a library is imported."""
    for name, register in REGISTERING.items():
        if name in sys.modules:
            register(sys.modules[name])
    sys.meta_path.insert(0, _Finder())
