"""NumPy's protocols: arrays of tensors for `np.asarray`, and NumPy's functions called on tensors.

Arrays are private, writable copies.

Libraries walk memory by the strides of an array, also beyond its elements: SciPy's ``circulant``
passes a slice to ``as_strided`` with negative strides. So the array of a view is itself a view,
with the strides of the tensor, of a copy of the memory that the tensor is a view of, unless that
memory is too large (`View.keeps_strides`).

The arrays of all views of one tensor share that copy until the tensor is written to, or copies of
several others are kept, so that ``for row in x`` copies x once. An array never shares elements with
an earlier one, to which a caller may have written: it gets another copy instead.

NumPy dispatches ``np.f(x)`` to the tensor.

- An elementwise function (a ufunc such as `np.exp`, or an operator of arrays) calls the library's
  function of that name, with `out`, `where` and `dtype`. Other NumPy ufuncs raise an error. Ufuncs
  of other libraries (`scipy.special.erfc`) get copies of the tensors.
- A function that the library has too, also in `linalg` or `fft`, unless it is in `ON_COPIES`, calls
  the library's, so nothing is read and the result is a tensor. Its signature is the same
  (`tests/unit/test_signatures.py`). Forms that only NumPy supports raise an error, which suggests
  an explicit copy, ``np.f(x.numpy())``. The library's behaviour applies: sums of int32 stay int32,
  and an index out of range in a tensor raises an error at the next read.
- A function that creates an array ``like=`` a tensor calls ours of that name, on the device of the
  tensor.
- Any other function gets copies of the tensors, waits for them, and returns what it returns for
  arrays. So do functions in `OVERWRITING` if they write to an array, and `broadcast_arrays` if an
  operand is None, which a tensor cannot hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any
from warnings import warn
from weakref import ref

from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base.errors import AxisError, HostCopyWarning, ShapeError
from py_tensor.ir.primitives import IMAG_PART
from py_tensor.ir.recording import check_constant
from py_tensor.ops.operands import goes_first
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import WRITING
from py_tensor.tensors.tensor import Owner, Tensor, View, install, public

MAX_KEPT, MAX_KEPT_BYTES = 16, 16 << 20
_kept: list[tuple[ref[Owner], int]] = []
"""Owners whose copies may be kept, the latest last, and the sizes of these in bytes."""


def _array(x: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    if copy is False:
        raise ValueError("__array__: a tensor cannot be converted to a NumPy array without a copy")
    check_constant(x._node, "__array__")
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


# -- NumPy's functions ---------------------------------------------------------------------------

ON_COPIES = frozenset(
    {"array2string", "array_repr", "array_str", "geomspace", "linspace", "logspace"}
    | {"save", "savetxt", "savez", "savez_compressed"}
)
"""Functions that NumPy computes on copies, although the library has them too."""

OVERWRITING = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""Functions that write to their first operand; the library's are used if it is a tensor."""


def _name_of(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


def _counterpart_of(function: Any) -> Callable[..., Any] | None:
    """Return our function for a NumPy function."""
    namespace, _, name = _name_of(function).rpartition(".")
    # A function with `like=` has no implementation: it creates an array.
    if name in ON_COPIES or not hasattr(function, "_implementation"):
        return None
    if namespace:
        known = namespace in ("linalg", "fft")
        return getattr(getattr(public(), namespace), name, None) if known else None
    return getattr(public(), name, None)


def _ufunc(x: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Call a ufunc on tensors: the library's function of the same name.

    If there is none, a ufunc of another library, such as `scipy.special.erfc`, gets copies of the
    tensors and returns an array, on the host.

    Raises
    ------
    TypeError
        If a NumPy function or one of its features is not supported.
    """
    name = ufunc.__name__
    np = host.load_numpy()
    ours = getattr(public(), name, None)
    kinds: list[Any] = [type(x) for x in inputs if goes_first(x)]
    first = [getattr(kind, "__array_ufunc__", None) for kind in kinds]
    is_of_array = np.ndarray.__array_ufunc__ in first  # a masked array
    if any(first) and not is_of_array:
        return NotImplemented  # NumPy asks dask, pandas or xarray next
    if is_of_array or (ours is None and getattr(np, name, None) is not ufunc):
        arrays = [x.__array__() if isinstance(x, Tensor) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)
    if ours is None:
        raise TypeError(f"np.{name}: not supported for tensors; use np.{name}(x.numpy())")
    if method != "__call__":
        name = f"{name}.{method}"
        ours = getattr(ours, method, None)
    if ours is None:
        raise TypeError(f"np.{name}: does not take tensors; pass x.numpy(), a copy")
    unknown = options.keys() - signature(ours).parameters.keys() if options else ()
    if unknown:
        names = ", ".join(sorted(unknown))
        raise TypeError(f"np.{name}: does not take {names} with a tensor; use pt.{name}")
    return ours(*inputs, **options)


def _function(
    tensor: Tensor, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call another NumPy function on tensors: ours if there is one, else NumPy's on arrays.

    `tensor` is the first one among the arguments, or the one that the result should be like.

    Raises
    ------
    ShapeError, TypeError
        If our function does not support the operands; a note says how to call NumPy's function.
    """
    name, ours = _name_of(function), _counterpart_of(function)
    has_none = name == "broadcast_arrays" and any(arg is None for arg in args)  # Matplotlib's bar
    overwritten = next(iter((*args, *options.values()))) if name in OVERWRITING else tensor
    if ours is not None and not has_none and isinstance(overwritten, Tensor):
        args, options = _as_given(ours, args, options)
        try:
            return ours(*args, **options)
        except (ShapeError, TypeError) as error:
            if not isinstance(error, AxisError):  # NumPy's function would raise it as well
                error.add_note(f"If NumPy has this form, np.{name} of x.numpy() computes it.")
            raise
    if not hasattr(function, "_implementation"):  # it was called with `like=`
        return _created_like(tensor, name, args, options)
    return function._implementation(*args, **options)  # NumPy calls `__array__`


def _as_given(
    ours: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Leave out arguments that are NumPy's mark for one not given, or None for a default."""
    unset = host.load_numpy()._NoValue
    if not any(value is None or value is unset for value in (*args, *options.values())):
        return args, options
    try:
        bound = signature(ours).bind(*args, **options)
    except TypeError:  # the call raises it, too
        return args, {name: value for name, value in options.items() if value is not unset}
    for name, value in tuple(bound.arguments.items()):
        default = bound.signature.parameters[name].default
        # None for an int is a value: `axis=None`. An operand that is not optional may be None, too.
        has_other = default is not Parameter.empty and not isinstance(default, int | None)
        if value is unset or (value is None and has_other):
            del bound.arguments[name]
    return bound.args, bound.kwargs


def _created_like(tensor: Tensor, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    create = getattr(public(), name, None)
    if create is None:
        raise TypeError(f"np.{name}: a tensor cannot be like=; use np.{name}(...) without it")
    if "device" not in signature(create).parameters:
        return create(*args, **options).to(tensor.device)
    if options.get("device") is None:
        options = {**options, "device": tensor.device}
    return create(*args, **options)


install("__array__", _array)
install("__array_ufunc__", _ufunc)
install("__array_function__", _function)
