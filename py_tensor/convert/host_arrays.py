"""NumPy's protocols, and arrays of tensors for `np.asarray`: private, writable copies.

Libraries walk memory by the strides of an array, also beyond its elements: SciPy's ``circulant``
passes a slice to ``as_strided`` with negative strides. So the array of a view is itself a view,
with the strides of the tensor, of a copy of the memory that the tensor is a view of, unless that
memory is too large (`View.keeps_strides`).

The arrays of all views of one tensor share that copy until the tensor is written to, or copies of
several others are kept, so that ``for row in x`` copies x once. An array never shares elements with
an earlier one, to which a caller may have written: it gets another copy instead.
"""

from __future__ import annotations

import sys
from typing import Any
from warnings import warn
from weakref import ref

from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base.errors import HostCopyWarning
from py_tensor.ir.primitives import IMAG_PART
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import WRITING
from py_tensor.tensors.tensor import Owner, Tensor, View, install

MAX_KEPT, MAX_KEPT_BYTES = 16, 16 << 20
_kept: list[tuple[ref[Owner], int]] = []
"""Owners whose copies may be kept, the latest last, and the sizes of these in bytes."""


def _array(x: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    if copy is False:
        raise ValueError("__array__: a tensor cannot be converted to a NumPy array without a copy")
    _tell_of_copies()
    array = _array_of(x) if dtype is None or x.dtype.is_numpys else on_host(x)
    return array if dtype is None else array.astype(dtype, copy=False)


def on_host(x: Any) -> Any:
    """Return the elements of a tensor in `DType.host`, which NumPy has without a package."""
    return x.numpy() if x.dtype.is_numpys else x.astype(x.dtype.host).numpy()


def _array_of(x: Any) -> Any:
    """Return the elements of a tensor as a writable NumPy array that nothing else writes to.

    If an element occurs more than once in a view, its array is read-only, as in NumPy.
    """
    view = x._alias
    if type(view) is not View or not x.size:
        return x.numpy()
    np = host.load_numpy()
    base: Any = view.base
    if not view.keeps_strides:
        if base.device is not CPU_DEVICE or base._node.storage is None:
            return x.numpy()
        return _walked(np, x, view, np.frombuffer(base._read(), "u1")).copy()
    exported = view.owner.exported
    while exported is None or not _take(np, view, exported[1]):
        seen = base._node
        exported = base.numpy(), np.zeros(base.size, "?")
        with WRITING:
            if base._node is seen:  # nothing was written meanwhile
                _keep(view.owner, exported, base.nbytes)
    array = _walked(np, x, view, exported[0])
    if not view.layout.is_injective:
        array.flags.writeable = False
    return array


def _keep(owner: Owner, exported: tuple[Any, Any], nbytes: int) -> None:
    """Keep a copy of an owner's memory until the next write, or until too many are kept."""
    owner.exported = None
    # Others may have been deleted, or written to.
    _kept[:] = [each for each in _kept if getattr(each[0](), "exported", None) is not None]
    while len(_kept) >= MAX_KEPT or (_kept and sum(n for _, n in _kept) + nbytes > MAX_KEPT_BYTES):
        _drop_oldest()
    owner.exported = exported
    _kept.append((ref(owner), nbytes))


def _drop_oldest() -> None:
    owner = _kept.pop(0)[0]()
    if owner is not None:
        owner.exported = None


def release_copies() -> None:
    """Release the copies of tensors' memory; arrays that share one keep it."""
    with WRITING:
        while _kept:
            _drop_oldest()


def _take(np: Any, view: View, used: Any) -> bool:
    """Mark the elements of a view as used; return False if some of them are."""
    layout = view.layout
    with WRITING:
        marks = np.ndarray(layout.shape, "?", used, layout.offset, layout.strides)
        if marks.any():
            return False
        marks[...] = True
        return True


def _walked(np: Any, x: Any, view: View, memory: Any) -> Any:
    """Return x as a view of a copy of the memory that it is a view of."""
    step = view.base.itemsize
    offset = view.layout.offset * step + (x.itemsize if view.part is IMAG_PART else 0)
    strides = [step * stride for stride in view.layout.strides]
    return np.ndarray(x.shape, x.dtype.in_numpy(np), memory, offset, strides)


_told_of_copies = False


def _tell_of_copies() -> None:
    """Warn, once per process, that NumPy computes with a copy of a tensor.

    The warning names the line that called NumPy.
    """
    global _told_of_copies
    if not _told_of_copies:
        _told_of_copies = True
        level, frame = 3, sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        while frame and frame.f_globals.get("__name__", "").startswith(("numpy.", "py_tensor.")):
            level, frame = level + 1, frame.f_back
        warn(
            "NumPy works on a copy of the tensor in host memory;"
            " use x.numpy() for an explicit copy. This warning is shown once",
            HostCopyWarning,
            stacklevel=level,
        )


def _ufunc(x: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    from py_tensor.convert.numpy_functions import of_ufunc  # which most programs never use

    return of_ufunc(ufunc, method, inputs, options)


def _function(x: Tensor, function: Any, types: Any, args: Any, options: Any) -> Any:
    from py_tensor.convert.numpy_functions import of_function

    return of_function(function, args, options, x)


install("__array__", _array)
install("__array_ufunc__", _ufunc)
install("__array_function__", _function)
