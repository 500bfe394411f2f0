"""`nditer`: iterate over the elements of one or more operands on the host.

The common forms are supported. Buffering options are accepted and have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.dtypes import DType
from py_tensor.errors import ShapeError, check_order
from py_tensor.graph.primitives import constant
from py_tensor.ops.creation import zeros
from py_tensor.ops.movement import broadcast_to, converted, reshape
from py_tensor.ops.operands import Operand, coerce, common_dtype
from py_tensor.shapes import broadcast, normalize_axis
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["nditer"]

Axes = Sequence[int | None] | None

FLAGS = frozenset({"multi_index", "c_index", "f_index", "external_loop", "common_dtype"})
ACCEPTED = frozenset(
    {"buffered", "copy_if_overlap", "delay_bufalloc", "growinner", "refs_ok", "zerosize_ok"}
)
TRACKED = frozenset({"multi_index", "c_index", "f_index"})
ACCESS = frozenset({"readonly", "readwrite", "writeonly"})
ACCEPTED_OF_OPERANDS = frozenset(
    {
        *("aligned", "allocate", "arraymask", "contig", "copy", "nbo", "no_broadcast"),
        *("no_subtype", "updateifcopy"),
    }
)


class nditer:  # noqa: N801 - NumPy's name
    """Iterate over the elements of operands, which broadcast.

    Read-only operands are read once, and each element is a 0-d constant. A writable operand yields
    0-d views, and ``x[...] = value`` writes to it. That is one op for each element; an expression
    of whole tensors is one op in all.

    Parameters
    ----------
    op
        An operand or a list of operands; None allocates a new tensor to write to.
    flags : list of str, optional
        "multi_index", "c_index" or "f_index" to provide the attributes `multi_index` and `index`;
        "external_loop" to yield all elements as one vector; "common_dtype".
    op_flags : optional
        "readonly", "readwrite" or "writeonly" in a list, or one list for each operand. By default
        operands are read-only, and an allocated one is writable. Without `op_axes`, an operand
        with "no_broadcast" must have the shape of the iteration.
    op_dtypes : optional
        The dtype of each operand; read-only operands are converted.
    order : {"C", "F", "A", "K"}
        Row-major ("C") or column-major ("F"). "A" means "F" if all operands are in column-major
        order. "K" is the memory order of the first operand with all axes.
    casting : str
        Accepted; has no effect: any conversion is allowed.
    op_axes : list, optional
        For each operand None or a list that maps each axis of the iteration to an axis of the
        operand; -1 or None means a broadcast axis. An axis that is not listed stays at index 0.
    itershape : tuple, optional
        The size of each axis of the iteration; -1 takes it from the operands.
    buffersize : int
        Accepted; has no effect.

    Attributes
    ----------
    multi_index : tuple of int
        The index of the current element.
    index : int
        Its flat index in row-major ("c_index") or column-major order ("f_index").
    operands : tuple of Tensor
    value : Tensor or tuple of Tensor
    finished : bool
    iterindex : int
        The number of elements before the current one.

    Raises
    ------
    ValueError
        If a flag is not supported.
    ShapeError
        If operands do not broadcast, or a writable operand would have to be broadcast.

    Examples
    --------
    >>> import py_tensor as pt
    >>> x = pt.array([[1, 2], [3, 4]])
    >>> [int(v) for v in pt.nditer(x.T)]
    [1, 2, 3, 4]
    >>> with pt.nditer(x, op_flags=["readwrite"]) as it:
    ...     for v in it:
    ...         v[...] = 2 * v
    >>> x
    tensor([[2, 4],
            [6, 8]])
    """

    def __init__(
        self,
        op: Any,
        flags: Sequence[str] | None = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        casting: str = "safe",
        op_axes: Sequence[Sequence[int | None] | None] | None = None,
        itershape: Sequence[int] | None = None,
        buffersize: int = 0,
    ) -> None:
        check_order("nditer", order)
        self._flags = frozenset(flags or ())
        unknown = self._flags - FLAGS - ACCEPTED
        if unknown:
            raise ValueError(f"nditer: unsupported flags: {', '.join(sorted(unknown))}")
        if "external_loop" in self._flags and self._flags & TRACKED:
            raise ValueError(f"nditer: external_loop excludes {', '.join(sorted(TRACKED))}")
        self._single = isinstance(op, Tensor) or not isinstance(op, list | tuple)
        given: list[Any] = [op] if self._single else [*cast("Sequence[Any]", op)]
        flags_of = _flags_of(op_flags, len(given))
        self._writable = [
            bool(own & {"readwrite", "writeonly"}) or x is None
            for x, own in zip(given, flags_of, strict=True)
        ]
        axes: list[Axes] = [*op_axes] if op_axes is not None else [None] * len(given)
        if len(axes) != len(given):
            raise ValueError(
                f"nditer: {len(axes)} lists of op_axes do not match {len(given)} operands"
            )
        there = [
            _along(tensor_of(x, "nditer"), a)
            for x, a in zip(given, axes, strict=True)
            if x is not None
        ]
        self.shape = broadcast("nditer", *(x.shape for x in there))
        if itershape is not None:
            asked = [1 if n < 0 else n for n in itershape]
            self.shape = broadcast("nditer", self.shape, tuple(asked))
            if len(self.shape) != len(asked) or any(
                n >= 0 and n != own for n, own in zip(itershape, self.shape, strict=True)
            ):
                raise ShapeError(
                    f"nditer: itershape {tuple(itershape)} does not match {self.shape}"
                )
        self.operands, self._seen = self._prepared(given, _dtypes(op_dtypes, len(given)), axes)
        for x, writable, own in zip(self._seen, self._writable, flags_of, strict=True):
            if writable and x.shape != self.shape:
                raise ShapeError(
                    f"nditer: an output of shape {x.shape} cannot broadcast to {self.shape}"
                )
            if "no_broadcast" in own and op_axes is None and x.shape != self.shape:
                raise ShapeError(
                    f"nditer: an operand of shape {x.shape} with no_broadcast must have the shape"
                    f" {self.shape}"
                )
        self.nop, self.ndim = len(self.operands), len(self.shape)
        self.itersize = prod(self.shape)
        self._axes, self._reversed = self._order(order)
        self.dtypes = tuple(x.dtype for x in self.operands)
        self.has_multi_index = "multi_index" in self._flags
        self.has_index = bool(self._flags & {"c_index", "f_index"})
        self.has_delayed_bufalloc = self.iterationneedsapi = False
        self.reset()

    def _prepared(
        self, given: list[Any], types: list[DType | None], axes: list[Axes]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the operands in their dtypes (new ones for None), and along the iteration."""
        there = [x for x in given if x is not None]
        if not there:
            raise ValueError("nditer: needs an operand that is not None")
        common = common_dtype("nditer", coerce("nditer", there))
        found: list[Tensor] = []
        for x, writable, dtype, own_axes in zip(given, self._writable, types, axes, strict=True):
            if x is None:
                device = next((y.device for y in there if isinstance(y, Tensor)), None)
                shape = self.shape if own_axes is None else _sizes(self.shape, own_axes)
                found.append(zeros(shape, dtype or common, device=device))
                continue
            own = tensor_of(x, "nditer")
            target = dtype or (common if "common_dtype" in self._flags else own.dtype)
            if writable and target is not own.dtype:
                raise ValueError(f"nditer: an output of {own.dtype} cannot be iterated as {target}")
            found.append(converted(own, target))
        return tuple(found), tuple(_along(x, a) for x, a in zip(found, axes, strict=True))

    def _order(self, order: str) -> tuple[list[int], list[bool]]:
        """Return the axes, the fastest last, and whether the elements along each are reversed."""
        axes = [*range(len(self.shape))]
        whole = [x for x in self._seen if x.shape == self.shape]
        if order == "F" or (order == "A" and whole and all(x.flags.f_contiguous for x in whole)):
            return axes[::-1], [False] * len(axes)
        if order != "K" or not whole or not self.itersize:
            return axes, [False] * len(axes)
        strides = [x._steps for x in whole]  # pyright: ignore[reportPrivateUsage]
        reversed_ = [
            all(steps[a] <= 0 for steps in strides) and any(steps[a] < 0 for steps in strides)
            for a in axes
        ]
        return sorted(axes, key=lambda a: -abs(strides[0][a])), reversed_

    # -- Iteration ------------------------------------------------------------------------------

    def reset(self) -> None:
        """Reset to the first element."""
        self.iterindex = 0
        self._values = [
            None if writable else self._read(x)
            for x, writable in zip(self._seen, self._writable, strict=True)
        ]
        sizes = [
            range(self.shape[a])[::-1] if self._reversed[a] else range(self.shape[a])
            for a in self._axes
        ]
        self._places: Iterator[tuple[int, ...]] = product(*sizes)
        self._started = False
        self._advance()

    def _read(self, x: Tensor) -> list[Any]:
        return reshape(broadcast_to(x, self.shape), -1).tolist()

    def _advance(self) -> None:
        place = next(self._places, None)
        self.finished = place is None
        if place is not None:
            index = [0] * self.ndim
            for axis, at in zip(self._axes, place, strict=True):
                index[axis] = at
            self._index = tuple(index)

    def iternext(self) -> bool:
        """Advance to the next element; return whether there is one."""
        if not self.finished:
            self._advance()
            self.iterindex += 1
        return not self.finished

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        if self._started:
            self.iternext()
        self._started = True
        if self.finished:
            raise StopIteration
        if "external_loop" in self._flags:
            whole = self._whole()
            self.finished = True
            return whole
        return self.value

    def _whole(self) -> Any:
        """Return each operand as a vector; it is a view for operands that are written to."""
        found: list[Tensor] = []
        for x, writable in zip(self._seen, self._writable, strict=True):
            spread = x if x.shape == self.shape else broadcast_to(x, self.shape)
            key = tuple(slice(None, None, -1 if back else None) for back in self._reversed)
            moved = (spread[key] if any(self._reversed) else spread).transpose(self._axes)
            vector = reshape(moved, -1)
            if writable and vector.base is None:
                raise ValueError("nditer: external_loop needs contiguous elements")
            found.append(vector)
        return found[0] if self._single else tuple(found)

    # -- The current element --------------------------------------------------------------------

    def __getitem__(self, number: int) -> Tensor:
        if self.finished:
            raise ValueError("nditer: the iterator is past the end")
        x, values = self._seen[number], self._values[number]
        if values is None:
            return x[(*self._index, ...)]
        value = values[_flat(self._index, self.shape)]
        return Tensor(constant(x.dtype.name, value, x.dtype, x.device))

    def __setitem__(self, number: int, value: Operand) -> None:
        if not self._writable[number]:
            raise ValueError(f"nditer: operand {number} is read-only")
        self._seen[number][self._index] = value

    def __len__(self) -> int:
        return self.nop

    @property
    def value(self) -> Any:
        """The current element of the operand, or a tuple with one for each operand."""
        return self[0] if self._single else tuple(self[n] for n in range(self.nop))

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the current element."""
        if not self.has_multi_index:
            raise ValueError('nditer: multi_index needs the flag "multi_index"')
        return self._index

    @property
    def index(self) -> int:
        """The flat index of the current element, in the order that the flag selects."""
        if not self.has_index:
            raise ValueError('nditer: index needs the flag "c_index" or "f_index"')
        if "c_index" in self._flags:
            return _flat(self._index, self.shape)
        return _flat(self._index[::-1], self.shape[::-1])

    def close(self) -> None:
        """Do nothing; writes take effect immediately."""

    def __enter__(self) -> nditer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _along(x: Tensor, axes: Axes) -> Tensor:
    """Return a view of an operand with its axes in the order of the iteration."""
    if axes is None:
        return x
    named = [normalize_axis("nditer", a, x.ndim) for a in axes if a is not None and a >= 0]
    if len(set(named)) < len(named):
        raise ValueError(f"nditer: op_axes {[*axes]} repeat an axis")
    rest = [a for a in range(x.ndim) if a not in named]
    moved = x.transpose((*rest, *named))[(0,) * len(rest)]
    return moved[tuple(None if a is None or a < 0 else slice(None) for a in axes)]


def _sizes(shape: Sequence[int], axes: Sequence[int | None]) -> tuple[int, ...]:
    """Return the shape of a new operand with its axes mapped to those of the iteration."""
    sizes = {a: n for a, n in zip(axes, shape, strict=True) if a is not None and a >= 0}
    if sorted(sizes) != [*range(len(sizes))]:
        raise ValueError(f"nditer: op_axes {[*axes]} leave out an axis of an allocated operand")
    return tuple(sizes[a] for a in range(len(sizes)))


def _flat(index: Sequence[int], shape: Sequence[int]) -> int:
    at = 0
    for i, n in zip(index, shape, strict=True):
        at = at * n + i
    return at


def _flags_of(op_flags: Any, count: int) -> list[set[str]]:
    """Return the flags of each operand."""
    flags = [*op_flags] if op_flags is not None else []
    if not flags or isinstance(flags[0], str):
        flags = [flags] * count
    if len(flags) != count:
        raise ValueError(f"nditer: {len(flags)} lists of flags do not match {count} operands")
    found = [{*cast("Sequence[str]", own)} for own in flags]
    for own in found:
        unknown = own - ACCESS - ACCEPTED_OF_OPERANDS
        if unknown:
            raise ValueError(f"nditer: unsupported operand flags: {', '.join(sorted(unknown))}")
        if len(own & ACCESS) > 1:
            raise ValueError(f"nditer: {' and '.join(sorted(own & ACCESS))} exclude each other")
    return found


def _dtypes(op_dtypes: Any, count: int) -> list[DType | None]:
    several = isinstance(op_dtypes, list | tuple)
    given = [*cast("Sequence[Any]", op_dtypes)] if several else [op_dtypes] * count
    if len(given) != count:
        raise ValueError(f"nditer: {len(given)} dtypes do not match {count} operands")
    return [None if one is None else dtypes.parse(one) for one in given]
