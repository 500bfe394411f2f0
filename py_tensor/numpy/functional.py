"""Python functions applied to elements, slices and indices, and selection among tensors.

Functions that call a Python function for each element read the elements and compute on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import Any, cast

from py_tensor.adapters.hosted import naming
from py_tensor.base import dtypes
from py_tensor.base.shapes import broadcast, normalize_axis, size_of
from py_tensor.convert.host_arrays import on_host
from py_tensor.ir.recording import check_constant
from py_tensor.numpy.joining import broadcast_arrays
from py_tensor.ops import operands
from py_tensor.ops.creation import zeros
from py_tensor.ops.elementwise import where
from py_tensor.ops.gather import as_given, gathered, in_mode, indices_of
from py_tensor.ops.movement import broadcast_to, converted, members_of, stack
from py_tensor.ops.operands import Operand, Scalar, coerce, common_dtype, device_of, node_of
from py_tensor.ops.out import Out, stored_whole
from py_tensor.ops.rearrange import moveaxis
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "apply_along_axis", "apply_over_axes", "choose", "fromiter", "frompyfunc", "piecewise",
    "select", "vectorize",
]  # fmt: skip


def fromiter(
    iter: Iterable[Scalar], dtype: object, count: int = -1, *, device: Any = None, like: Any = None
) -> Tensor:
    """Create a vector from the numbers of an iterable, or from the first `count` of them.

    Raises
    ------
    ValueError
        If the iterable has fewer than `count` numbers.
    """
    values = [*islice(iter, count if count >= 0 else None)]
    if len(values) < count:
        raise ValueError(f"fromiter: the iterable has {len(values)} elements, not {count}")
    return tensor_of(values, "fromiter", dtype=dtypes.parse(dtype), device=device)


# -- Functions of Python ------------------------------------------------------------------------


class vectorize:  # noqa: N801 - NumPy's name
    """Turn a function of Python scalars into one of tensors, called for each element by NumPy.

    Operands broadcast and are read.

    Parameters
    ----------
    pyfunc : callable, optional
        A function of one or more scalars that returns a scalar or a tuple of scalars. Without it,
        the first call takes it, so that ``@vectorize(otypes=[float])`` is a decorator.
    otypes : optional
        The dtypes of the results, as a list. By default they are found by one more call, on the
        first elements as NumPy's scalars.
    cache : bool
        Whether to keep the result of that call instead of calling again.
    excluded : set, optional
        Positions and names of the operands that are passed unchanged.
    signature : str, optional
        The core axes of the function, such as ``"(m,n),(n)->(m)"``. The function is then called
        with read-only tensors, once for each index of the other axes, and nothing is read.
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any] | None = None,
        otypes: Sequence[Any] | None = None,
        doc: str | None = None,
        excluded: Iterable[int | str] | None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self.signature, self.cache = signature, cache
        if signature is not None:
            with naming("vectorize"):  # raises for an invalid one
                host.load_numpy().vectorize(abs, signature=signature)
        self.otypes = otypes
        self.excluded: frozenset[int | str] = frozenset(excluded or ())
        self.pyfunc: Any = None
        self.__doc__ = doc
        if pyfunc is not None:
            self._take(pyfunc)

    def _take(self, *functions: Any, **options: Any) -> None:
        if len(functions) != 1 or options or not callable(functions[0]):
            words = f"takes one function, not {', '.join(map(repr, functions))}"
            raise TypeError(f"vectorize: {words}; as a decorator, only keyword options")
        (self.pyfunc,) = functions
        self.__doc__ = self.__doc__ or self.pyfunc.__doc__
        self.__name__ = getattr(self.pyfunc, "__name__", "vectorize")

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.pyfunc is None:
            self._take(*args, **options)
            return self
        if self.signature is not None:
            return self._over_axes(args, options)
        named: dict[Any, Any] = {**dict(enumerate(args)), **options}
        tensors = [tensor_of(x, "vectorize") for k, x in named.items() if k not in self.excluded]
        shape = broadcast("vectorize", *(x.shape for x in tensors))
        if not (size_of(shape) or self.otypes):
            raise ValueError("vectorize: empty input needs otypes")
        types = [_parsed(dtype) for dtype in self.otypes or ()]
        otypes = "O" * len(types) or None  # objects, which are converted below with checks
        split = host.load_numpy().vectorize(self.pyfunc, otypes, None, self.excluded, self.cache)

        for key, x in named.items():
            if isinstance(x, Tensor) and key not in self.excluded:
                check_constant(node_of(x), "vectorize")
                named[key] = on_host(x)
        positional = [named.pop(position) for position in range(len(args))]
        arrays = _as_tuple(split(*positional, **named))
        device = device_of(tensors) if tensors else None
        made: list[Tensor] = []
        for y, dtype in zip(arrays, types or [_dtype_for(y, tensors) for y in arrays], strict=True):
            numbers = y.ravel().tolist() if tensors else [y]
            x = tensor_of(numbers, "vectorize", dtype=dtype, device=device)
            made.append(x.reshape(shape))
        if len(made) > 1:
            return tuple(made)
        return made[0] if shape else operands.copy_or_scalar(made[0])

    def _over_axes(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call a function with core axes on tensors, and assemble its results.

        NumPy splits the axes of arrays of flat indices, and checks the shapes of the results.
        """
        np = host.load_numpy()
        positions = [i for i in range(len(args)) if i not in self.excluded]
        tensors = [tensor_of(args[i], "vectorize") for i in positions]
        calls: list[list[Tensor]] = []

        def call(*indices: Any) -> Any:
            row = [*args]
            for position, x, index in zip(positions, tensors, indices, strict=True):
                start = int(index.flat[0]) if index.size else 0
                if index.ndim:
                    row[position] = x.ravel()[start : start + index.size].reshape(index.shape)
                    row[position].flags.writeable = False  # as in NumPy
                else:
                    row[position] = x.ravel()[start]
            try:
                result: Any = self.pyfunc(*row, **options)
            except Exception as error:
                raise _FunctionError from error
            results = _as_tuple(result)
            calls.append([tensor_of(y, "vectorize", device=device_of(tensors)) for y in results])
            shaped = [np.empty(y.shape, "?") for y in calls[-1]]
            return tuple(shaped) if len(shaped) > 1 else shaped[0]

        types = None if self.otypes is None else [_parsed(dtype) for dtype in self.otypes]
        split = np.vectorize(call, types and "?" * len(types), signature=self.signature)
        try:
            with naming("vectorize"):
                result = split(*(np.arange(x.size).reshape(x.shape) for x in tensors))
        except _FunctionError as error:
            raise cast("Exception", error.__cause__) from None
        shaped = _as_tuple(result)
        made: list[Tensor] = []
        for n, (array, dtype) in enumerate(zip(shaped, types or [None] * len(shaped), strict=True)):
            whole = stack([results[n] for results in calls]) if calls else zeros(0, dtype)
            made.append(converted(whole, dtype or whole.dtype).reshape(array.shape))
        return tuple(made) if len(made) > 1 else made[0]


class _FunctionError(Exception):
    """An error of a function that is vectorized, which NumPy must not be blamed for."""


class frompyfunc(vectorize):  # noqa: N801 - NumPy's name
    """Turn a function of Python scalars into one of tensors with a fixed number of operands.

    Otherwise like `vectorize`. NumPy's version returns objects; this one uses the dtype of the
    values.

    Parameters
    ----------
    func : callable
    nin, nout : int
        The number of operands and of results.
    identity : optional
        Stored as an attribute.

    Raises
    ------
    TypeError
        When called with a different number of operands.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.frompyfunc(lambda x, y: x * 10 + y, 2, 1)(pt.tensor([1, 2]), 3)
    tensor([13, 23])
    """

    def __init__(
        self, func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None
    ) -> None:
        super().__init__(func)
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin + nout, identity

    def __call__(self, *args: Any, **options: Any) -> Any:
        name = self.__name__
        if len(args) != self.nin or options:
            raise TypeError(f"{name}: takes {self.nin} operands, not {len(args)}")
        result: Any = super().__call__(*args)
        count = len(_as_tuple(result))
        if count != self.nout:
            raise ValueError(f"{name}: the function returned {count} results, not {self.nout}")
        return result


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)


def _dtype_for(result: Any, operands: Sequence[Tensor]) -> dtypes.DType:
    """Return the dtype of results like one for NumPy's scalars of the operands."""
    x = result if isinstance(result, Tensor) else host.load_numpy().asarray(result)
    alike = [operand.dtype for operand in operands if operand.dtype.host == x.dtype.name]
    # Other results of 64 bits are narrowed.
    return max(alike, key=lambda dtype: dtype.is_numpys, default=tensor_of(x, "vectorize").dtype)


def _parsed(dtype: Any) -> Any:
    codes = {"d": "float", "f": "float32", "i": "int32", "l": "int", "?": "bool"}
    return None if dtype is None else dtypes.parse(codes.get(dtype, dtype))


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Operand, *args: Any, **options: Any
) -> Tensor:
    """Apply a function to each vector along `axis`; its results replace that axis.

    The function is called with a tensor, once for each vector, and the results are stacked.
    """
    x = tensor_of(arr, "apply_along_axis")
    along = normalize_axis("apply_along_axis", axis, x.ndim)
    rows = moveaxis(x, along, -1)
    kept = rows.shape[:-1]
    results = [
        tensor_of(func1d(rows[index], *args, **options), "apply_along_axis", device=x.device)
        for index in product(*map(range, kept))
    ]
    if not results:
        raise ValueError(f"apply_along_axis: no vectors along axis {axis} of shape {x.shape}")
    whole = stack(results).reshape(*kept, *results[0].shape)
    result_axes = range(len(kept), whole.ndim)
    return moveaxis(whole, result_axes, range(along, along + len(result_axes)))


def apply_over_axes(
    func: Callable[[Any, int], Tensor], a: Operand, axes: int | Sequence[int]
) -> Tensor:
    """Apply a function of a tensor and an axis for each axis in turn; the axes are kept."""
    x = tensor_of(a, "apply_over_axes")
    rank = x.ndim
    one = operands.int_like(axes)
    for axis in cast("Sequence[int]", axes) if one is None else (one,):
        along = normalize_axis("apply_over_axes", axis, rank, of_scalar=True)
        result = func(x, along)
        x = result if result.ndim == rank else result.expand_dims(along)
    return x


# -- Choices ------------------------------------------------------------------------------------


def select(
    condlist: Sequence[Operand], choicelist: Sequence[Operand], default: Operand = 0
) -> Tensor:
    """Return elements from the first choice whose condition is true, else `default`.

    The dtype is the common one of the choices and the default.

    Raises
    ------
    ValueError
        If the numbers of conditions and choices differ, or are 0.
    OverflowError
        If the common dtype cannot hold a Python int.
    """
    if not condlist:
        raise ValueError("select: needs at least one condition")
    if len(condlist) != len(choicelist):
        counts = f"{len(condlist)} conditions do not match {len(choicelist)} choices"
        raise ValueError(f"select: {counts}")
    values = (*condlist, *choicelist, default)
    # First, for an error that names this op.
    broadcast("select", *(tuple(getattr(v, "shape", ())) for v in values))
    result: Any = default
    if not _have_one_dtype([choicelist[-1], *choicelist, default]):
        count = len(condlist)
        coerced = coerce("select", values, count)
        condlist, choicelist, last = coerced[:count], coerced[count:-1], coerced[-1]
        dtype = common_dtype(coerced[count:])
        shape = last.shape if isinstance(last, Tensor) else ()
        result = Tensor(operands.lift("select", last, shape, dtype, device_of(coerced)))
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


def _have_one_dtype(values: Sequence[Operand]) -> bool:
    """Return whether the first operand is a tensor that determines the dtype beside the others."""
    if type(values[0]) is not Tensor:
        return False
    dtype = values[0].dtype
    return all(
        x.dtype is dtype
        if type(x) is Tensor
        else type(x) in (int, float) and dtypes.with_scalar(dtype, x) is dtype
        for x in values
    )


def piecewise(
    x: Operand, condlist: Any, funclist: Sequence[Any], *args: Any, **options: Any
) -> Tensor:
    """Evaluate functions or numbers piecewise; the last condition that is true decides.

    Each function is called with all of `x`, and its result is used where its condition is true.

    Parameters
    ----------
    condlist
        Conditions with the shape of `x`.
    funclist
        One for each condition, and optionally one more for elements where no condition is true.

    Raises
    ------
    ValueError
        If the number of functions does not match.
    OverflowError
        If the dtype of `x` cannot hold a number.
    """
    x = tensor_of(x, "piecewise")
    conditions = cast("list[Any]", condlist if isinstance(condlist, list) else [condlist])
    if not isinstance(condlist, list) and getattr(condlist, "ndim", 0) > x.ndim:
        conditions = list(condlist)  # along the first axis
    funclist = list(funclist)
    if conditions and isinstance(conditions[0], bool) and x.ndim:
        conditions = [conditions]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        counts = f"{len(funclist)} functions do not match {len(conditions)} conditions"
        raise ValueError(f"piecewise: {counts}")

    def of(function: Any) -> Tensor:
        value = function(x, *args, **options) if callable(function) else function
        return converted(as_given(x, value, "piecewise"), x.dtype)

    chosen = of(funclist[len(conditions)] if len(funclist) > len(conditions) else 0)
    for condition, function in zip(conditions, funclist, strict=False):
        chosen = where(condition, of(function), chosen)
    return broadcast_to(chosen, x.shape).copy()


def choose(
    a: Operand, choices: Operand | Sequence[Operand], out: Out = None, mode: str = "raise"
) -> Tensor:
    """Return elements from the choice whose number is in `a`; all operands broadcast.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}
        For a number out of range, including a negative one: raise IndexError at the next read, take
        it modulo the number of choices, or use the nearest valid number.
    """
    number = tensor_of(a, "choose")
    options = coerce("choose", members_of("choose", choices))
    dtype = common_dtype(options)
    options = [tensor_of(v, "choose", dtype=dtype, device=number.device) for v in options]
    number, *spread = broadcast_arrays(number, *options)
    number = converted(number, dtypes.numeric(number.dtype))
    number = in_mode("choose", number, len(options), mode, number.device)
    if mode == "raise":
        number = where(number < 0, len(options), number)  # also out of range
    every = stack(spread)
    index = indices_of("choose", number.expand_dims(0), every, 0)
    chosen = gathered(every, (0,), (index.tensor,), 0, index.op).reshape(number.shape)
    return stored_whole("choose", chosen, out)
