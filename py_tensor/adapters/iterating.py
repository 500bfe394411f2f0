"""Iterators over elements and indices; `nditer` is NumPy's, on the host.

It iterates over arrays of flat indices that are laid out in memory as the operands are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from itertools import product
from typing import Any, cast

from py_tensor.adapters.hosted import naming
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.shapes import parse_shape
from py_tensor.ir.primitives import constant
from py_tensor.ops.creation import zeros
from py_tensor.ops.gather import take
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand, coerce, common_dtype
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["ndenumerate", "ndindex", "nditer"]

WITHOUT_EFFECT = {"buffered", "copy_if_overlap", "delay_bufalloc", "growinner", "refs_ok"}


def _numpys(name: str, *, is_writable: bool = False) -> property:
    """Return an attribute of NumPy's iterator over indices."""

    def get(it: nditer) -> Any:
        with naming("nditer"):
            return getattr(it._indices, name)  # pyright: ignore[reportPrivateUsage]

    def put(it: nditer, value: Any) -> None:
        it.close()
        with naming("nditer"):
            setattr(it._indices, name, value)  # pyright: ignore[reportPrivateUsage]

    return property(get, put if is_writable else None)


class nditer(AbstractContextManager["nditer"]):  # noqa: N801 - NumPy's name
    """Iterate over the elements of operands, which broadcast.

    Read-only operands are read once, and each element is a 0-d constant. A writable operand yields
    0-d views, and ``x[...] = value`` writes to it. That is one op for each element; an expression
    of whole tensors is one op in all. NumPy determines the order and checks the options.

    Parameters
    ----------
    op
        An operand or a list of operands; None allocates a new tensor to write to.
    flags : list of str, optional
        "multi_index", "c_index" or "f_index" to provide the attributes `multi_index` and `index`;
        "external_loop" to yield all elements as one vector, which is written back at the next
        step; "common_dtype". Flags for buffers have no effect.
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
        The index of the current element; like `index` and `iterindex`, it can be assigned.
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
        If a flag is unknown, operands do not broadcast, or a writable operand would have to be
        broadcast.

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

    __slots__ = (
        "_indices", "_is_single", "_is_whole", "_unwritten", "_values", "_writable", "dtypes",
        "operands",
    )  # fmt: skip

    finished = _numpys("finished")
    has_delayed_bufalloc = _numpys("has_delayed_bufalloc")
    has_index = _numpys("has_index")
    has_multi_index = _numpys("has_multi_index")
    index = _numpys("index", is_writable=True)
    iterationneedsapi = _numpys("iterationneedsapi")
    iterindex = _numpys("iterindex", is_writable=True)
    iterrange = _numpys("iterrange")
    itersize = _numpys("itersize")
    multi_index = _numpys("multi_index", is_writable=True)
    ndim = _numpys("ndim")
    nop = _numpys("nop")
    shape = _numpys("shape")

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
        self._is_single = isinstance(op, Tensor) or not isinstance(op, list | tuple)
        operands: list[Any] = [op] if self._is_single else [*cast("Sequence[Any]", op)]
        tensors = [None if x is None else tensor_of(x, "nditer") for x in operands]
        if all(x is None for x in operands):
            raise ValueError("nditer: needs an operand that is not None")
        names, count = {*(flags or ())}, len(operands)
        arrays = [None if x is None else _indices_of(x) for x in tensors]
        names_used = [*(names - WITHOUT_EFFECT) | {"zerosize_ok"}]
        iterator, int64s = host.load_numpy().nditer, ["int64"] * count
        with naming("nditer"):
            self._indices = iterator(
                arrays, names_used, op_flags, int64s, order, op_axes=op_axes, itershape=itershape
            )
        types = _dtypes(op_dtypes, count)
        common = common_dtype(coerce("nditer", [x for x in operands if x is not None]))
        if "common_dtype" in names:
            types = [dtype or common for dtype in types]
        self._is_whole = "external_loop" in names
        self._writable = [view.flags.writeable for view in self._indices.itviews]
        device = next((x.device for x in operands if isinstance(x, Tensor)), None)
        self.operands = tuple(
            self._allocated(n, types[n] or common, device)
            if x is None
            else _in_dtype(x, types[n] or x.dtype, is_output=self._writable[n])
            for n, x in enumerate(tensors)
        )
        self.dtypes = tuple(x.dtype for x in self.operands)
        self.reset()

    def _allocated(self, number: int, dtype: DType, device: Any) -> Tensor:
        """Return a tensor for an operand that NumPy has allocated, and number its elements."""
        indices = self._indices.operands[number]
        indices[...] = host.load_numpy().arange(indices.size).reshape(indices.shape)
        return zeros(indices.shape, dtype, device=device)

    def copy(self) -> nditer:
        """Return an iterator over the same operands, at the same element."""
        it = copy(self)
        it._indices = self._indices.copy()
        it._unwritten = []
        return it

    def iternext(self) -> bool:
        """Advance to the next element; return whether there is one."""
        self.close()
        return self._indices.iternext()

    def remove_axis(self, i: int, /) -> None:
        """Remove an axis from the iteration, which stays at index 0, and reset; see NumPy's."""
        with naming("nditer"):
            self._indices.remove_axis(i)

    def remove_multi_index(self) -> None:
        """Stop tracking `multi_index`."""
        with naming("nditer"):
            self._indices.remove_multi_index()

    def reset(self) -> None:
        """Reset to the first element."""
        self._indices.reset()
        self._unwritten: list[tuple[Tensor, Any, Tensor]] = []
        self._values: list[list[Any] | None] = [
            None if self._writable[n] or self._is_whole else x.ravel().tolist()
            for n, x in enumerate(self.operands)
        ]

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        self.close()
        if self._is_whole:
            return self._whole()
        next(self._indices)
        return self.value

    def _whole(self) -> Any:
        """Return each operand as a vector."""
        np = host.load_numpy()
        pieces = [np.atleast_2d(np.array(indices)) for indices in self._indices]
        if not pieces:
            raise StopIteration
        vectors: list[Tensor] = []
        for n, indices in enumerate(np.concatenate(pieces, 1)):
            x, vector = self.operands[n], self.operands[n].ravel()
            if len(indices) != x.size or (np.diff(indices) != 1).any():
                vector = take(vector, tensor_of(indices, "nditer", device=x.device))
            if self._writable[n] and vector.base is None:
                self._unwritten.append((x, np.unravel_index(indices, x.shape), vector))
            vectors.append(vector)
        return vectors[0] if self._is_single else tuple(vectors)

    def __getitem__(self, number: int) -> Tensor:
        with naming("nditer"):
            index = int(self._indices[number])
        x, values = self.operands[number], self._values[number]
        if values is None:
            return x[(*map(int, host.load_numpy().unravel_index(index, x.shape)), ...)]
        return Tensor(constant(x.dtype.name, values[index], x.dtype, x.device))

    def __setitem__(self, number: int, value: Operand) -> None:
        if not self._writable[number]:
            raise ValueError(f"nditer: operand {number} is read-only")
        self[number][...] = value

    def __len__(self) -> int:
        return len(self.operands)

    @property
    def value(self) -> Any:
        """The current element of the operand, or a tuple with one for each operand."""
        return self[0] if self._is_single else tuple(self[n] for n in range(len(self)))

    def close(self) -> None:
        """Write vectors back; writes to elements take effect immediately."""
        while self._unwritten:
            x, index, vector = self._unwritten.pop()
            x[index] = vector

    def __exit__(self, *error: object) -> None:
        self.close()


def _indices_of(x: Tensor) -> Any:
    """Return the flat index of each element, in an array with the same order of axes in memory."""
    np, steps = host.load_numpy(), x._steps  # pyright: ignore[reportPrivateUsage]
    axes = sorted(range(x.ndim), key=lambda axis: -abs(steps[axis]))
    sizes = [x.shape[axis] for axis in axes]
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        sizes[-1] += 1  # a gap, so that this array is not contiguous either
    memory = np.empty(sizes, "int64").transpose([axes.index(axis) for axis in range(x.ndim)])
    array = memory[(..., *(slice(None, n) for n in x.shape))]
    array = array[(..., *(slice(None, None, -1 if step < 0 else None) for step in steps))]
    array[...] = np.arange(x.size).reshape(x.shape)
    return array


def _in_dtype(x: Tensor, dtype: DType, *, is_output: bool) -> Tensor:
    if is_output and dtype is not x.dtype:
        raise ValueError(f"nditer: an output of {x.dtype} cannot be iterated as {dtype}")
    return converted(x, dtype)


def _dtypes(op_dtypes: Any, count: int) -> list[DType | None]:
    several = isinstance(op_dtypes, list | tuple)
    names = [*cast("Sequence[Any]", op_dtypes)] if several else [op_dtypes] * count
    if len(names) != count:
        raise ValueError(f"nditer: {len(names)} dtypes do not match {count} operands")
    return [None if name is None else dtypes.parse(name) for name in names]


# -- Iterators ----------------------------------------------------------------------------------


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """Iterate over the indices of a shape in row-major order."""
    sizes = parse_shape("ndindex", shape[0] if len(shape) == 1 else shape)
    return product(*map(range, sizes))


def ndenumerate(x: Operand, /) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Iterate over pairs of index and value (a Python scalar); the elements are read once."""
    x = tensor_of(x, "ndenumerate")
    return zip(product(*map(range, x.shape)), x.ravel().tolist(), strict=True)
