"""NumPy functions of tensors: the library's equivalent, or NumPy on a copy.

NumPy dispatches ``np.f(x)`` to the tensor.

- An elementwise function (a ufunc such as `np.exp`, or an operator of arrays) calls the library's
  function of that name, with `out`, `where` and `dtype`. Other NumPy ufuncs raise an error. Ufuncs
  of other libraries (`scipy.special.erfc`) get copies of the tensors.
- A function that the library has too, unless it is in `ON_COPIES`, calls the library's, so nothing
  is read and the result is a tensor. Arguments go to the parameters of the same names. Options and
  forms that only NumPy supports raise an error, which suggests an explicit copy,
  ``np.f(x.numpy())``. The library's behaviour applies: sums of int32 stay int32, and an index out
  of range in a tensor raises an error at the next read.
- A function that creates an array ``like=`` a tensor calls ours of that name, on the device of the
  tensor.
- A function of `np.linalg` or `np.fft` calls ours of that name, whose signature is the same.
- Any other function gets copies of the tensors, waits for them, and returns what it returns for
  arrays. So do functions in `WRITING` if they write to an array, and `broadcast_arrays` if an
  operand is None, which a tensor cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

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

IGNORED = frozenset({"kind", "subok"})
"""Options of NumPy's functions that do not change the elements of a result."""


class _Ours(NamedTuple):
    """One of our functions, NumPy's signature, and which of its arguments ours gets by position."""

    function: Callable[..., Any]
    numpys: Signature
    places: frozenset[str]
    names: frozenset[str]
    takes_others: bool


def _name_of(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


@cache
def _counterpart_of(function: Any) -> _Ours | None:
    """Return our function for a NumPy function; cached, because inspecting a signature is slow."""
    name = _name_of(function)
    ours = None if name in ON_COPIES else getattr(public(), name, None)
    # A function with `like=` has no implementation: it creates an array.
    if ours is None or not hasattr(function, "_implementation"):
        return None
    our_signature = signature(ours)
    try:
        numpys = signature(function)
    except ValueError:  # a function in C, before NumPy 2.4
        numpys = our_signature
    return _matched(ours, our_signature, numpys)


def _matched(ours: Callable[..., Any], signature_of_ours: Signature, numpys: Signature) -> _Ours:
    """Match the parameters of two signatures by their names."""
    kinds = {name: parameter.kind for name, parameter in signature_of_ours.parameters.items()}
    has_many = Parameter.VAR_POSITIONAL in kinds.values()
    first = {Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL}
    if has_many:  # nothing before them can be passed by name
        first.add(Parameter.POSITIONAL_OR_KEYWORD)
    positional = frozenset(name for name, kind in kinds.items() if kind in first)
    takes_others = Parameter.VAR_KEYWORD in kinds.values()
    return _Ours(ours, numpys, positional, frozenset(kinds) - positional, takes_others)


@cache
def _namesake_of(function: Any) -> Callable[..., Any] | None:
    """Return our function of `linalg` or `fft` with the name of a NumPy function."""
    namespace, _, name = _name_of(function).rpartition(".")
    if namespace not in ("linalg", "fft"):
        return None
    return getattr(getattr(public(), namespace), name, None)


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
    TypeError
        If our function lacks an option of NumPy's function.
    ShapeError, TypeError
        If our function does not support the operands; a note says how to call NumPy's function.
    """
    namesake = _namesake_of(function)
    if namesake is not None:
        return namesake(*args, **options)
    ours = _counterpart_of(function)
    name = _name_of(function)
    has_none = name == "broadcast_arrays" and any(arg is None for arg in args)  # Matplotlib's bar
    is_numpys = has_none or (name in WRITING and _writes_to_an_array(args, options))
    if ours is not None and not is_numpys:
        by_place, by_name, unknown = _match_arguments(ours, args, options)
        if unknown:
            raise TypeError(
                f"np.{name}: does not take {', '.join(unknown)} with a tensor; use pt.{name},"
                f" or np.{name} of x.numpy()"
            )
        try:
            return ours.function(*by_place, **by_name)
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


def _match_arguments(
    ours: _Ours, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[Any], dict[str, Any], list[str]]:
    """Return our positional and keyword arguments, and the names of those that ours lacks."""
    by_place: list[Any] = []
    by_name: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value, is_many in _given(ours.numpys, args, options):
        if name in ours.places:
            by_place += value if is_many else [value]
        elif name in ours.names or ours.takes_others:
            by_name[name] = value
        elif name not in IGNORED and value is not None:
            unknown.append(name)
    return by_place, by_name, unknown


def _given(
    numpys: Signature, args: tuple[Any, ...], options: dict[str, Any]
) -> list[tuple[str, Any, bool]]:
    """Return the name and value of non-default arguments, and whether the parameter is variadic."""
    arguments: list[tuple[str, Any, bool]] = []
    for name, value in numpys.bind_partial(*args, **options).arguments.items():
        parameter = numpys.parameters[name]
        if parameter.kind is Parameter.VAR_KEYWORD:
            arguments += [(inner, each, False) for inner, each in value.items()]
        elif not _is_default(value, parameter.default):
            arguments.append((name, value, parameter.kind is Parameter.VAR_POSITIONAL))
    return arguments


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a value is the default; None counts as one, unless the default is an int."""
    if value is None:
        return default is not Parameter.empty and not isinstance(default, int)
    return value is default or (isinstance(value, str | bool) and value == default)
