"""Ranges, grids and index tensors: functions of positions only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, cast

from py_tensor.adapters.hosted import from_host, naming
from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError, ShapeError, check_order
from py_tensor.base.shapes import Shape, normalize_axis, parse_shape, row_major, size_of
from py_tensor.numpy.joining import broadcast_arrays
from py_tensor.ops import movement, operands
from py_tensor.ops.arithmetic import rint
from py_tensor.ops.creation import arange, eye, linspace, ones
from py_tensor.ops.elementwise import multiply, power, sign, where
from py_tensor.ops.gather import flatnonzero, in_mode, nonzero
from py_tensor.ops.movement import as_floating, converted, expand_dims, reshape_copy, stack
from py_tensor.ops.operands import Operand, coerce, common_dtype, is_array_like, whole_number
from py_tensor.ops.rearrange import diag, lower_half
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "c_", "diag_indices", "diag_indices_from", "diagflat", "fromfunction", "geomspace", "identity",
    "index_exp", "indices", "ix_", "logspace", "mask_indices", "mgrid", "ogrid", "r_",
    "ravel_multi_index", "s_", "tri", "tril_indices", "tril_indices_from", "triu_indices",
    "triu_indices_from", "unravel_index", "vander",
]  # fmt: skip


# -- Matrices -----------------------------------------------------------------------------------


def identity(n: int, dtype: object = None, *, device: Any = None, like: Any = None) -> Tensor:
    """Return an ``n x n`` tensor with ones on the diagonal, float32 by default."""
    return eye(whole_number("identity", "n", n), dtype=dtype, device=device)


def tri(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: object = None,
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Return an ``N x M`` tensor with ones on and below the `k`-th diagonal, float32 by default."""
    hit = lower_half((N, N if M is None else M), k, parse(device))
    return converted(hit, dtypes.DEFAULT.floating if dtype is None else dtypes.parse(dtype))


def diagflat(v: Operand, k: int = 0) -> Tensor:
    """Return a matrix with the flattened elements on its `k`-th diagonal and zeros elsewhere."""
    return diag(tensor_of(v, "diagflat").ravel(), k)


def vander(x: Operand, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return a Vandermonde matrix: `N` powers of a vector as columns, the highest first.

    The dtype is promoted with int32, so powers of float16 are float32.

    Raises
    ------
    ShapeError
        If `x` is not a vector.
    ValueError
        If `N` is negative.
    """
    x = tensor_of(x, "vander")
    if x.ndim != 1:
        raise ShapeError(f"vander: takes a vector, not shape {x.shape}")
    count = x.size if N is None else whole_number("vander", "N", N, 0)
    base = converted(x, dtypes.promote(x.dtype, dtypes.DEFAULT_INT))
    one = ones(x.shape, base.dtype, device=x.device)
    columns = [*accumulate([base] * (count - 1), multiply, initial=one)]
    columns = columns if increasing else columns[::-1]
    return stack(columns, 1) if count else reshape_copy(base[:0], (x.size, 0))


# -- Ranges -------------------------------------------------------------------------------------


def logspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    base: Operand = 10.0,
    dtype: object = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Tensor:
    """Return `num` numbers from ``base**start`` to ``base**stop``, evenly spaced on a log scale.

    If the ends and the base are numbers or lists of them, the result is computed on the host by
    NumPy. `start`, `stop` and `base` may have axes, as in `linspace`.
    """
    if is_array_like(base):
        if not any(isinstance(v, Tensor) for v in (start, stop, base)):
            base = tensor_of(base, "logspace", device=device)
        start, stop, base = broadcast_arrays(*coerce("logspace", (start, stop, base)))
        base = expand_dims(as_floating(base, "logspace"), axis)
    else:
        base = float(operands.real_number_of("logspace", "base", base))
        numbers = _by_numpy("logspace", start, stop, num, endpoint, base, None, axis)
        if numbers is not None:
            powers = from_host("logspace", numbers, _default_of(numbers), parse(device))
            return _rounded(powers, dtype)
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis, device=device)
    return _rounded(power(base, exponents), dtype)


def _are_real(ends: Operand) -> bool:
    """Return whether ends are Python's real numbers, or lists of them."""
    if isinstance(ends, list | tuple):
        return all(map(_are_real, cast("Sequence[Any]", ends)))
    return isinstance(ends, int | float)


def _by_numpy(op: str, start: Operand, stop: Operand, num: Any, *options: Any) -> Any:
    """Return NumPy's numbers between numbers or lists of them; None between other ends."""
    if not (is_array_like(start) or is_array_like(stop)):
        start, stop = (operands.number_of(op, "an end", v) for v in (start, stop))
    elif not _are_real((start, stop)):
        return None
    np, axis = host.load_numpy(), options[-1]
    normalize_axis(op, axis, max(np.ndim(start), np.ndim(stop)) + 1)
    with naming(op), np.errstate(all="ignore"):
        return getattr(np, op)(start, stop, whole_number(op, "num", num), *options)


def _default_of(numbers: Any) -> dtypes.DType:
    is_complex = host.load_numpy().iscomplexobj(numbers)
    return dtypes.DEFAULT.complex if is_complex else dtypes.DEFAULT.floating


def _rounded(x: Tensor, dtype: object) -> Tensor:
    """Round powers to a dtype; values within float32 rounding of an integer become that integer."""
    target = x.dtype if dtype is None else dtypes.parse(dtype)
    if target.is_integer:
        whole = rint(x)
        x = where(abs(x - whole) <= abs(whole) * 2.0**-20, whole, x)
    return converted(x, target)


def geomspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    dtype: object = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Tensor:
    """Return `num` numbers from `start` to `stop` in geometric progression.

    If both ends are numbers or lists of them, the result is computed on the host by NumPy. Ends
    that are tensors or have axes broadcast, and the numbers are along a new `axis`; the inner
    numbers are NaN if such an end is 0 or the signs differ. Complex ends are joined by a
    logarithmic spiral.

    Raises
    ------
    ValueError
        If an end is the number 0, or `num` is negative.
    """
    target = None if dtype is None else dtypes.parse(dtype)
    wide = "D" if target is not None and target.is_complex else None
    numbers = _by_numpy("geomspace", start, stop, num, endpoint, wide, axis)
    if numbers is None:
        if not any(isinstance(v, Tensor) for v in (start, stop)):
            start = tensor_of(start, "geomspace", device=device)
        return _rounded(_between(start, stop, num, endpoint, axis), dtype)
    target = target or _default_of(numbers)
    numbers = numbers if target.is_complex else numbers.real
    if target.is_integer:  # to 12 digits, so that 9.999999999999998 is 10
        np = host.load_numpy()
        numbers = np.trunc(np.vectorize("{:.12g}".format, "O")(numbers).astype("d"))
    return from_host("geomspace", numbers, target, parse(device))


def _between(start: Operand, stop: Operand, num: int, endpoint: bool, axis: int) -> Tensor:
    """`geomspace` between ends that are tensors or have axes."""
    ends = movement.in_common_dtype("geomspace", start, stop)
    low, high = broadcast_arrays(*(as_floating(v, "geomspace") for v in ends))
    new_axis = normalize_axis("geomspace", axis, low.ndim + 1)
    share = linspace(low.real * 0, low.real * 0 + 1, num, endpoint, axis=new_axis)
    turn = sign(low)
    low, high, turn = (expand_dims(v, new_axis) for v in (low, high, turn))
    powers = power(low / turn, 1 - share) * power(high / turn, share) * turn
    return where(share == 0, low, where(share == 1, high, powers))


# -- Grids --------------------------------------------------------------------------------------


def indices(
    dimensions: Sequence[int], dtype: object = int, sparse: bool = False, *, device: Any = None
) -> Any:
    """Return the index along each axis for every element of a shape.

    Parameters
    ----------
    dimensions
        The shape.
    sparse : bool
        Whether to return a tuple of tensors that broadcast, instead of one tensor with an extra
        first axis.
    """
    shape = parse_shape("indices", tuple(dimensions))
    target = dtypes.parse(dtype)
    if not shape and not sparse:
        return converted(arange(0, device=device), target)
    return _spanned([converted(arange(n, device=device), target) for n in shape], sparse)


def _spanned(vectors: Sequence[Tensor], sparse: bool) -> Any:
    """Return the coordinates of a grid: tensors that broadcast, or one with a first axis more."""
    shape = tuple(x.size for x in vectors)
    one = (1,) * len(shape)
    along = tuple(x.reshape(*one[:a], x.size, *one[a + 1 :]) for a, x in enumerate(vectors))
    return along if sparse else stack([movement.broadcast_to(x, shape) for x in along])


def fromfunction(
    function: Callable[..., Any],
    shape: Sequence[int],
    *,
    dtype: object = float,
    device: Any = None,
    like: Any = None,
    **options: Any,
) -> Any:
    """Call a function with the `indices` of a shape, one operand for each axis."""
    return function(*indices(shape, dtype, device=device), **options)


def _range_of(key: slice, dtype: dtypes.DType | None = None) -> Tensor:
    """Return the numbers of a grid slice; an imaginary step is the number of points."""
    start, stop, step = map(_end, (key.start, key.stop, key.step))
    start = 0 if start is None else start
    common = _dtype_of("slice", [key]) if dtype is None else dtype
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)), dtype=common)
    if common is not None and common.is_signed and common.has_64_bits:
        dtype = common
    return arange(start, stop, 1 if step is None else step, dtype=dtype)


def _dtype_of(op: str, keys: Sequence[slice]) -> dtypes.DType | None:
    """Return the common dtype of the ends and steps of slices; None if all are Python numbers.

    An imaginary step, which is a number of points, counts as a float.
    """
    ends: list[Any] = [v for key in keys for v in (key.start, key.stop, key.step) if v is not None]
    if not any(hasattr(v, "dtype") for v in ends):
        return None
    return common_dtype(coerce(op, [0, *(0.0 if _is_count(v) else v for v in ends)]))


def _is_count(step: Any) -> bool:
    return isinstance(step, complex) or getattr(getattr(step, "dtype", None), "kind", None) == "c"


def _end(value: Any) -> Any:
    """Return a number in a slice of a grid; a 0-d tensor is read."""
    if getattr(value, "ndim", 0):
        raise TypeError(f"a slice of a grid takes numbers, not a tensor of shape {value.shape}")
    return value.item() if hasattr(value, "item") else value


class _Brackets:
    """What is called by brackets: its name, and its options."""

    def __init__(self, name: str, *options: int) -> None:
        self._name, self._options = name, options

    def __repr__(self) -> str:
        return f"py_tensor.{self._name}"


class _Grid(_Brackets):
    """``mgrid[0:3, 0:1:5j]``: the coordinates of a grid spanned by slices.

    An imaginary step is the number of points, the last of which is the end of the slice. 0-d
    tensors in slices are read. The dtype of several slices is the common one of their numbers.
    """

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            return _range_of(key)
        dtype = _dtype_of(self._name, key)
        ranges = [_range_of(item, dtype) for item in key]
        floats = [x.dtype for x in ranges if x.dtype.is_floating]
        ranges = [converted(x, floats[0]) if floats else x for x in ranges]
        return _spanned(ranges, self._name == "ogrid")


class _Joined(_Brackets):
    """``r_[0:3, 7, x]``: slices as ranges, numbers and tensors, joined along the last axis.

    A leading string gives numbers, as in ``r_["0,2,0", x, y]``: the axis to join along, the minimum
    number of axes, and the position at which the axes of an operand with fewer axes begin. If the
    last number is missing or -1, its axes are the last ones. ``c_`` is ``r_["-1,2,0"]``: vectors
    are columns.
    """

    def __getitem__(self, key: Any) -> Tensor:
        items: list[Any] = [*key] if type(key) is tuple else [key]
        axis, least, start = self._options
        if isinstance(items[0], str):
            text = str(items.pop(0))
            if text in ("r", "c"):
                words = f"{text!r} asks for a matrix, and there is no matrix class; leave it out"
                raise ValueError(f"{self._name}: {words}")
            try:
                numbers = tuple(map(int, text.split(",")))
                axis, least, start = (*numbers, *self._options[len(numbers) :])
            except ValueError:
                raise ValueError(f"{self._name}: invalid directive {text!r}") from None
        coerced = coerce(self._name, [_range_of(p) if type(p) is slice else p for p in items])
        device, dtype = operands.device_of(coerced), common_dtype(coerced)
        joined: list[Tensor] = []
        for item in coerced:
            shape = item.shape if isinstance(item, Tensor) else ()
            x = Tensor(operands.lift(self._name, item, shape, dtype, device))
            missing = max(least - x.ndim, 0)
            before = start if start >= 0 else start + missing + 1
            joined.append(reshape_copy(x, (1,) * before + x.shape + (1,) * (missing - before)))
        return movement.concat(joined, axis)


class _Key(_Brackets):
    """``s_[1:, ::2]``: the key in the brackets, for later use as an index."""

    def __getitem__(self, key: Any) -> Any:
        is_whole = isinstance(key, tuple) or self._name == "s_"
        return cast("Any", key) if is_whole else (key,)


mgrid, ogrid = _Grid("mgrid"), _Grid("ogrid")
r_, c_ = _Joined("r_", 0, 1, -1), _Joined("c_", -1, 2, 0)
s_, index_exp = _Key("s_"), _Key("index_exp")

# -- Indices ------------------------------------------------------------------------------------


def ix_(*args: Operand) -> tuple[Tensor, ...]:
    """Return indices of the grid spanned by index vectors; a mask counts as its nonzero indices.

    Raises
    ------
    ShapeError
        If an operand is not a vector.
    """
    vectors: list[Tensor] = []
    for index in args:
        empty = isinstance(index, list | tuple) and not index
        x = tensor_of(index, "ix_", dtype=dtypes.int32 if empty else None)
        if x.ndim != 1:
            raise ShapeError(f"ix_: takes vectors, not shape {x.shape}")
        vectors.append(flatnonzero(x) if x.dtype.is_bool else x)
    return _spanned(vectors, sparse=True)


def unravel_index(indices: Operand, shape: int | Shape, order: str = "C") -> tuple[Tensor, ...]:
    """Convert flat indices into a shape to an index along each axis.

    Parameters
    ----------
    order : {"C", "F"}
        Whether the last or the first index changes fastest.

    Raises
    ------
    ValueError
        If an index is out of range. GPU tensors are not read: their indices wrap around.
    DTypeError
        If the indices are neither integers nor bools.
    """
    sizes = parse_shape("unravel_index", shape)
    units = _units("unravel_index", sizes, order)
    _check_range("unravel_index", indices, size_of(sizes))
    x = _places("unravel_index", indices)
    return tuple(x // unit % n for unit, n in zip(units, sizes, strict=True))


def _places(op: str, operand: Operand) -> Tensor:
    """Return indices as a tensor of at least 32 bits, so that their products do not wrap around."""
    x = tensor_of(operand, op)
    if x.dtype.is_inexact:
        raise DTypeError(f"{op}: indices must be integers or bools, not {x.dtype}")
    return movement.widened(x)


def _check_range(op: str, indices: Operand, n: int) -> None:
    """Raise ValueError for a number outside ``range(n)``, if it is known on the host."""
    if isinstance(indices, Tensor):
        values = operands.known(indices)
        wrong: Any = () if values is None else values[(values < 0) | (values >= n)]
    else:
        wrong = [i for i in operands.numbers_of(op, indices)[0] if not 0 <= i < n]
    if len(wrong):
        raise ValueError(f"{op}: index {wrong[0]} is out of range for {n} elements")


def ravel_multi_index(
    multi_index: Sequence[Operand],
    dims: int | Shape,
    mode: str | Sequence[str] = "raise",
    order: str = "C",
) -> Tensor:
    """Convert an index along each axis to flat indices into a shape.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}
        How to treat an index out of range, as in `take`; or one mode for each axis.
    order : {"C", "F"}
        Whether the last or the first index changes fastest.

    Raises
    ------
    ValueError
        If an index is out of range. GPU tensors are not read: such an index is used unchanged.
    ShapeError
        If there is not one index for each axis.
    DTypeError
        If the indices are neither integers nor bools.
    """
    sizes = parse_shape("ravel_multi_index", dims)
    units = _units("ravel_multi_index", sizes, order)
    if len(multi_index) != len(sizes):
        raise ShapeError(f"ravel_multi_index: {len(multi_index)} indices for shape {sizes}")
    modes = (mode,) * len(sizes) if isinstance(mode, str) else mode
    offsets: list[Tensor] = []
    for index, n, axis_mode, unit in zip(multi_index, sizes, modes, units, strict=True):
        if axis_mode == "raise":
            _check_range("ravel_multi_index", index, n)
        x = _places("ravel_multi_index", index)
        offsets.append(in_mode("ravel_multi_index", x, n, axis_mode, x.device) * unit)
    flat = sum(offsets[1:], offsets[0])
    return converted(flat, dtypes.DEFAULT_INT) if flat.dtype.is_unsigned else flat


def _units(op: str, shape: Shape, order: str | None) -> tuple[int, ...]:
    """Return the distance between neighbours along each axis."""
    check_order(op, order, "CF")
    if size_of(shape) >= 2**31:
        raise ShapeError(f"{op}: a flat index into shape {shape} does not fit int32")
    return tuple(reversed(row_major(shape[::-1]))) if order in ("F", "f") else row_major(shape)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Return the indices of the diagonal of a tensor of `ndim` axes of length `n`."""
    return (arange(n),) * ndim


def diag_indices_from(arr: Operand) -> tuple[Tensor, ...]:
    """Return `diag_indices` for the shape of a tensor of at least two axes of equal length.

    Raises
    ------
    ShapeError
        If there are fewer axes, or their lengths differ.
    """
    shape = tensor_of(arr, "diag_indices_from").shape
    if len(shape) < 2 or len(set(shape)) > 1:
        words = f"takes two or more axes of equal length, not shape {shape}"
        raise ShapeError(f"diag_indices_from: {words}")
    return diag_indices(shape[0], len(shape))


def mask_indices(
    n: int, mask_func: Callable[[Tensor, Any], Tensor], k: Any = 0
) -> tuple[Tensor, ...]:
    """Return the indices of an ``n x n`` matrix where ``mask_func(ones, k)`` is not 0.

    Waits for the GPU, because the number of indices depends on the elements.
    """
    return nonzero(mask_func(ones((n, n), dtypes.int32), k))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """Return indices on and below the `k`-th diagonal of an ``n x m`` matrix. Waits for the GPU."""
    return nonzero(tri(n, m, k, dtypes.bool_))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """Return indices on and above the `k`-th diagonal of an ``n x m`` matrix. Waits for the GPU."""
    return nonzero(~tri(n, m, k - 1, dtypes.bool_))


def _of_matrix(name: str, indices_of: Callable[..., Any], arr: Operand, k: int) -> Any:
    x = tensor_of(arr, name)
    if x.ndim != 2:
        raise ShapeError(f"{name}: takes a matrix, not shape {x.shape}")
    return indices_of(x.shape[0], k, x.shape[1])


def tril_indices_from(arr: Operand, k: int = 0) -> tuple[Tensor, ...]:
    """Return `tril_indices` for the shape of a matrix."""
    return _of_matrix("tril_indices_from", tril_indices, arr, k)


def triu_indices_from(arr: Operand, k: int = 0) -> tuple[Tensor, ...]:
    """Return `triu_indices` for the shape of a matrix."""
    return _of_matrix("triu_indices_from", triu_indices, arr, k)
