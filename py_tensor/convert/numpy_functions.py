"""NumPy functions of tensors: the library's equivalent, or NumPy on a copy.

NumPy dispatches ``np.f(x)`` to the tensor.

- An elementwise function (a ufunc such as `np.exp`, or an operator of arrays) calls the library's
  function of that name, with `out`, `where` and `dtype`. Other NumPy ufuncs raise an error. Ufuncs
  of other libraries (`scipy.special.erfc`) get copies of the tensors.
- A function in `FUNCTIONS` calls the library's function, so nothing is read and the result is a
  tensor. Options and forms that only NumPy supports raise an error, which suggests an explicit
  copy, ``np.f(x.numpy())``. The library's behaviour applies: sums of int32 stay int32, and an index
  out of range in a tensor raises an error at the next read.
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

from py_tensor.backend.host import host
from py_tensor.errors import AxisError, ShapeError
from py_tensor.ops.operands import goes_first
from py_tensor.tensor import Tensor, public

_FOLD = "a / axis out keepdims"
_SPREAD = "a / axis dtype out correction ddof keepdims mean where"
_LIKE = " / dtype order shape device"
_MIDDLE = "a / axis out overwrite_input"
_SHARES = "a q / axis out overwrite_input method keepdims weights"

FUNCTIONS: dict[str, str] = {
    # A line maps a NumPy function to the parameters that our function accepts: by position, and
    # after the slash by name. Another name of our function precedes a colon; another name of a
    # parameter follows "=".
    # -- Reductions
    "all": f"{_FOLD} where",
    "amax": f"max: {_FOLD} initial where",
    "amin": f"min: {_FOLD} initial where",
    "any": f"{_FOLD} where",
    "argmax": _FOLD,
    "argmin": _FOLD,
    "count_nonzero": "a / axis keepdims",
    "max": f"{_FOLD} initial where",
    "mean": f"{_FOLD} dtype where",
    "min": f"{_FOLD} initial where",
    "prod": f"{_FOLD} dtype initial where",
    "ptp": _FOLD,
    "std": _SPREAD,
    "sum": f"{_FOLD} dtype initial where",
    "trace": "a / offset axis1 axis2 dtype out",
    "var": _SPREAD,
    # -- Statistics
    "average": "a / axis weights returned keepdims",
    "corrcoef": "x / y rowvar dtype",
    "cov": "m / y rowvar bias ddof fweights aweights dtype",
    "histogram": "a / bins range density weights",
    "histogram2d": "x y / bins range density weights",
    "histogram_bin_edges": "a / bins range weights",
    "histogramdd": "sample / bins range density weights",
    "median": f"{_MIDDLE} keepdims",
    "nanargmax": _FOLD,
    "nanargmin": _FOLD,
    "nancumprod": "a / axis dtype out",
    "nancumsum": "a / axis dtype out",
    "nanmax": f"{_FOLD} initial where",
    "nanmean": f"{_FOLD} dtype where",
    "nanmedian": f"{_MIDDLE} keepdims",
    "nanmin": f"{_FOLD} initial where",
    "nanpercentile": _SHARES,
    "nanprod": f"{_FOLD} dtype initial where",
    "nanquantile": _SHARES,
    "nanstd": _SPREAD,
    "nansum": f"{_FOLD} dtype initial where",
    "nanvar": _SPREAD,
    "percentile": _SHARES,
    "quantile": _SHARES,
    # -- Comparisons of whole tensors
    "allclose": "a b / rtol atol equal_nan",
    "array_equal": "a1 a2 / equal_nan",
    "array_equiv": "a1 a2",
    "isclose": "a b / rtol atol equal_nan",
    # -- Scans and sorting
    "argsort": "a / axis stable descending",
    "cumprod": "a / axis dtype out",
    "cumsum": "a / axis dtype out",
    "cumulative_prod": "x / axis dtype out include_initial",
    "cumulative_sum": "x / axis dtype out include_initial",
    "lexsort": "keys / axis",
    "argpartition": "a kth / axis kind order",
    "partition": "a kth / axis kind order",
    "sort": "a / axis stable descending",
    "sort_complex": "a",
    # -- Differences
    "diff": "a / n axis prepend append",
    "ediff1d": "ary / to_end to_begin",
    "gradient": "f varargs / axis edge_order",
    "trapezoid": "y / x dx axis",
    "unwrap": "p / discont axis period",
    # -- Polynomials
    "poly": "seq_of_zeros",
    "polyadd": "a1 a2",
    "polyder": "p / m",
    "polydiv": "u v",
    "polyfit": "x y deg / rcond full w cov",
    "polyint": "p / m k",
    "polymul": "a1 a2",
    "polysub": "a1 a2",
    "polyval": "p x",
    "roots": "p",
    # -- Sets
    "intersect1d": "ar1 ar2 / assume_unique return_indices",
    "isin": "element test_elements / assume_unique invert kind",
    "setdiff1d": "ar1 ar2 / assume_unique",
    "setxor1d": "ar1 ar2 / assume_unique",
    "union1d": "ar1 ar2",
    "can_cast": "from_ to / casting",
    "unstack": "x / axis",
    "unique_all": "x",
    "unique_counts": "x",
    "unique_inverse": "x",
    "unique_values": "x",
    "unique": "ar / return_index return_inverse return_counts axis equal_nan",
    # -- Elementwise
    "angle": "z / deg",
    "around": "round: a / decimals out",
    "astype": "x dtype / copy",
    "fix": "x / out",
    "i0": "x",
    "imag": "val",
    "iscomplex": "x",
    "isneginf": "x / out",
    "isposinf": "x / out",
    "isreal": "x",
    "nan_to_num": "x / copy nan posinf neginf",
    "real": "val",
    "real_if_close": "a / tol",
    "sinc": "x",
    "clip": "a / a_min a_max min max out",
    "round": "a / decimals out",
    "where": "condition x y",
    # -- Choices and Python functions
    "apply_along_axis": "func1d axis arr args",
    "apply_over_axes": "func a axes",
    "choose": "a choices / out mode",
    "piecewise": "x condlist funclist args",
    "select": "condlist choicelist / default",
    # -- Searching and counting
    "argwhere": "a",
    "digitize": "x bins / right",
    "interp": "x xp fp / left right period",
    "searchsorted": "a v / side sorter",
    "bincount": "x weights / minlength",
    "packbits": "a / axis bitorder",
    "unpackbits": "a / axis count bitorder",
    "compress": "condition a / axis out",
    "extract": "condition arr",
    "flatnonzero": "a",
    "nonzero": "a",
    # -- Products
    "dot": "a b / out",
    "outer": "a b / out",
    "convolve": "a v / mode",
    "correlate": "a v / mode",
    "cross": "a b / axisa axisb axisc axis",
    "einsum": "operands / out dtype optimize",
    "einsum_path": "operands / optimize einsum_call",
    "inner": "a b",
    "kron": "a b",
    "tensordot": "a b / axes",
    "vdot": "a b",
    # -- Movement
    "array_split": "ary indices_or_sections / axis",
    "broadcast_to": "array shape",
    "concatenate": "arrays / axis out dtype casting",
    "copy": "a / order",
    "diag": "v / k",
    "diagonal": "a / offset axis1 axis2",
    "expand_dims": "a axis",
    "flip": "m / axis",
    "hstack": "tup / dtype casting",
    "matrix_transpose": "x",
    "may_share_memory": "a b",
    "meshgrid": "xi / copy sparse indexing",
    "moveaxis": "a source destination",
    "pad": "array pad_width / mode constant_values end_values reflect_type stat_length",
    "ravel": "a / order",
    "repeat": "a repeats / axis",
    "reshape": "a shape / order copy",
    "roll": "a shift / axis",
    "shares_memory": "a b",
    "split": "ary indices_or_sections / axis",
    "squeeze": "a / axis",
    "stack": "arrays / axis out dtype casting",
    "swapaxes": "a axis1 axis2",
    "take": "a indices / axis out mode",
    "take_along_axis": "arr indices / axis",
    "tile": "A reps",
    "transpose": "a axes",
    "tril": "m / k",
    "triu": "m / k",
    "vstack": "tup / dtype casting",
    # -- Joining and cutting
    "append": "arr values / axis",
    "atleast_1d": "arys",
    "atleast_2d": "arys",
    "atleast_3d": "arys",
    "block": "arrays",
    "broadcast_arrays": "args",
    "column_stack": "tup",
    "delete": "arr obj / axis",
    "dsplit": "ary indices_or_sections",
    "dstack": "tup",
    "fliplr": "m",
    "flipud": "m",
    "hsplit": "ary indices_or_sections",
    "insert": "arr obj values / axis",
    "resize": "a new_shape",
    "rollaxis": "a / axis start",
    "rot90": "m / k axes",
    "trim_zeros": "filt / trim axis",
    "vsplit": "ary indices_or_sections",
    # -- Grids and indices
    "diag_indices_from": "arr",
    "diagflat": "v / k",
    "ix_": "args",
    "ravel_multi_index": "multi_index dims / mode order",
    "tril_indices_from": "arr / k",
    "triu_indices_from": "arr / k",
    "unravel_index": "indices / shape order",
    "vander": "x / N increasing",
    # -- Properties of operands
    "common_type": "*arrays",
    "iscomplexobj": "x",
    "isrealobj": "x",
    "min_scalar_type": "a",
    "ndim": "a",
    "result_type": "*arrays_and_dtypes",
    "shape": "a",
    "size": "a / axis",
    # -- Writing
    "copyto": "dst src / casting where",
    "fill_diagonal": "a val / wrap",
    "place": "arr mask vals",
    "put": "a ind v / mode",
    "put_along_axis": "arr indices values axis",
    "putmask": "a mask values",
    # -- Creation
    "empty_like": f"prototype{_LIKE}",
    "full_like": f"a fill_value{_LIKE}",
    "ones_like": f"a{_LIKE}",
    "zeros_like": f"a{_LIKE}",
}
"""NumPy functions, other than ufuncs, that call the library's functions."""

WRITING = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""Functions that write to their first operand; the library's are used if it is a tensor."""

IGNORED = frozenset({"kind", "subok"})
"""Options of NumPy's functions that do not change the elements of a result."""


class _Ours(NamedTuple):
    """One of our functions, and the mapping of NumPy's parameters to its own."""

    name: str
    function: Callable[..., Any]
    signature: Signature
    numpys: Signature
    places: tuple[str, ...]
    names: dict[str, str]  # NumPy's parameter names, and ours


def _name_of(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


@cache
def _counterpart_of(function: Any) -> _Ours | None:
    """Return our function for a NumPy function; cached, because inspecting a signature is slow."""
    numpys_name = _name_of(function)
    if numpys_name not in FUNCTIONS:
        return None
    own_name, colon, rest = FUNCTIONS[numpys_name].rpartition(": ")
    name = own_name if colon else numpys_name
    function_of_ours = getattr(public(), name)
    places, _, names = rest.partition(" / ")
    pairs = (part.partition("=") for part in names.split())
    by_name = {numpys: ours or numpys for numpys, _, ours in pairs}
    by_place = tuple(places.split())
    return _Ours(
        name,
        function_of_ours,
        signature(function_of_ours),
        _signature_of(function, (*by_place, *by_name)),
        tuple(place.lstrip("*") for place in by_place),
        by_name,
    )


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
        given = ", ".join(sorted(unknown))
        raise TypeError(f"np.{name}: does not take {given} with a tensor; use pt.{name}")
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
                f"np.{name}: does not take {', '.join(unknown)} with a tensor; use pt.{ours.name},"
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


def _signature_of(function: Any, taken: tuple[str, ...]) -> Signature:
    """Return NumPy's signature, or one made from `FUNCTIONS` for C functions that have none."""
    try:
        return signature(function)
    except ValueError:
        one, many = Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL
        told = [
            Parameter(name.lstrip("*"), many if name.startswith("*") else one) for name in taken
        ]
        return Signature([*told, Parameter("options", Parameter.VAR_KEYWORD)])


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
        elif name in ours.names:
            by_name[ours.names[name]] = value
        elif name not in IGNORED and value is not None:
            unknown.append(name)
    return by_place, by_name, unknown


def _given(
    numpys: Signature, args: tuple[Any, ...], options: dict[str, Any]
) -> list[tuple[str, Any, bool]]:
    """Return the name and value of non-default arguments, and whether the parameter is variadic."""
    found: list[tuple[str, Any, bool]] = []
    for name, value in numpys.bind_partial(*args, **options).arguments.items():
        parameter = numpys.parameters[name]
        if parameter.kind is Parameter.VAR_KEYWORD:
            found += [(inner, each, False) for inner, each in value.items()]
        elif not _is_default(value, parameter.default):
            found.append((name, value, parameter.kind is Parameter.VAR_POSITIONAL))
    return found


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a value is the default; None counts as one, unless the default is an int."""
    if value is None:
        return default is not Parameter.empty and not isinstance(default, int)
    return value is default or (isinstance(value, str | bool) and value == default)
