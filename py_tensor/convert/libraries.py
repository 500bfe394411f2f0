"""Register tensors with einops.

einops finds the existing subclasses of `AbstractBackend`, one for each library. The class for
tensors is created as soon as both libraries are imported, in either order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from py_tensor.tensor import Tensor

BACKENDS = "einops._backends"


_made: list[type] = []  # keeps the class alive, so that einops finds it


def make_backend(backends: Any) -> None:
    """Create the class with which einops computes on tensors; this also registers it."""

    class Backend(backends.AbstractBackend):
        framework_name = "py_tensor"

        def __init__(self) -> None:
            import py_tensor

            self.pt = py_tensor

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return self.pt.asarray(x)

        def to_numpy(self, x: Tensor) -> Any:
            return x.numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return self.pt.arange(start, stop)

        def stack_on_zeroth_dimension(self, tensors: Sequence[Tensor]) -> Tensor:
            return self.pt.stack(tensors)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return self.pt.expand_dims(x, new_position)

        def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
            return self.pt.tile(x, repeats)

        def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
            return self.pt.concat(tensors, axis=axis)

        def is_float_type(self, x: Tensor) -> bool:
            return x.dtype.kind == "f"

        def einsum(self, pattern: str, *operands: Tensor) -> Tensor:
            return self.pt.einsum(pattern, *operands)

    _made.append(Backend)


class _Found(Loader):
    """A loader that loads einops with its own loader, and then creates the class."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        make_backend(module)


class _Finder(MetaPathFinder):
    """A finder that intercepts only the import of einops."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != BACKENDS:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Found(spec.loader)
        return spec


def tell_einops() -> None:
    """Create the class now, or as soon as einops is imported."""
    if BACKENDS in sys.modules:
        make_backend(sys.modules[BACKENDS])
    else:
        sys.meta_path.insert(0, _Finder())
