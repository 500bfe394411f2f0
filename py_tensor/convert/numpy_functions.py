"""NumPy functions of tensors: the library's equivalent, or NumPy on a copy.

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
  arrays. So do functions in `WRITING` if they write to an array, and `broadcast_arrays` if an
  operand is None, which a tensor cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from py_tensor.base.errors import AxisError, ShapeError
from py_tensor.ops.operands import goes_first
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, public

ON_COPIES = frozenset(
    {"array2string", "array_repr", "array_str", "geomspace", "linspace", "logspace"}
    | {"save", "savetxt", "savez", "savez_compressed"}
)
"""Functions that NumPy computes on copies, although the library has them too."""

WRITING = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
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


def of_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
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


def of_function(
    function: Any, args: tuple[Any, ...], options: dict[str, Any], tensor: Tensor
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
    is_numpys = has_none or (name in WRITING and _writes_to_an_array(args, options))
    if ours is not None and not is_numpys:
        try:
            return ours(*args, **options)
        except (ShapeError, TypeError) as error:
            if not isinstance(error, AxisError):  # NumPy's function would raise it as well
                error.add_note(f"If NumPy has this form, np.{name} of x.numpy() computes it.")
            raise
    if not hasattr(function, "_implementation"):  # it was called with `like=`
        return _created_like(tensor, name, args, options)
    return function._implementation(*args, **options)  # NumPy calls `__array__`


def _created_like(tensor: Tensor, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    create = getattr(public(), name, None)
    if create is None:
        raise TypeError(f"np.{name}: a tensor cannot be like=; use np.{name}(...) without it")
    if "device" not in signature(create).parameters:
        return create(*args, **options).to(tensor.device)
    if options.get("device") is None:
        options = {**options, "device": tensor.device}
    return create(*args, **options)


def _writes_to_an_array(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    return not isinstance(next(iter((*args, *options.values()))), Tensor)
